//! `bandsolve` without arguments: a short demonstration.

use crate::exit::Failure;

/// Runs the demonstration.
pub fn run() -> Result<(), Failure> {
    crate::report::print("bandsolve solves narrow-band systems; see `bandsolve --help`.\n")
}
