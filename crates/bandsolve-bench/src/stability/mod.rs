//! `bandsolve stability`: accuracy tables of the literature, compared with the errors of bandsolve and LAPACK.

mod bands;
mod cells;
mod columns;
mod csv;
mod errors;
mod files;
mod heat_map;
mod text;
mod tridiagonal;

use crate::args::{StabilityArgs, StabilityTable};
use bandsolve_program::exit::Failure;

/// Print one table.
///
/// # Errors
/// [`Failure::Other`] if a report cannot be written.
pub fn run(args: &StabilityArgs) -> Result<(), Failure> {
    match &args.table {
        StabilityTable::Tridiagonal(args) => tridiagonal::run(args),
        StabilityTable::Pentadiagonal(args) => bands::pentadiagonal(args),
        StabilityTable::Block(args) => bands::block(args),
        StabilityTable::Banded(args) => bands::real(args),
        StabilityTable::Files(args) => files::run(args),
    }
}
