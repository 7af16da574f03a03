//! `bandsolve bench`: speed beside the peers and the memory bus.

use crate::args::{BenchArgs, BenchTable};
use crate::exit::Failure;

/// Runs one measurement.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    match &args.table {
        BenchTable::Tridiagonal { json: _ } => {
            Err(Failure::Other("this measurement is not part of this build yet".into()))
        }
    }
}
