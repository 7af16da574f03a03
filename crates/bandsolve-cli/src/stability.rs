//! `bandsolve stability`: the accuracy tables of the literature, beside our own numbers.

use crate::args::{StabilityArgs, StabilityTable};
use crate::exit::Failure;

/// Prints one table.
pub fn run(args: &StabilityArgs) -> Result<(), Failure> {
    match &args.table {
        StabilityTable::Tridiagonal(args) => {
            let n = args.n;
            Err(Failure::Other(format!("the stability table for n = {n} is not part of this build yet")))
        }
    }
}
