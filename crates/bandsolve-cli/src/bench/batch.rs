//! `bandsolve bench batch`: many small systems.

use crate::args::BenchBatchArgs;
use crate::exit::Failure;

/// Measures both layouts.
pub fn run(_args: &BenchBatchArgs) -> Result<(), Failure> {
    Err(Failure::Other("this measurement is not part of this build yet".into()))
}
