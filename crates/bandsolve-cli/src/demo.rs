//! `bandsolve` without arguments: the demo, and what to try next.

use bandsolve_program::exit::Failure;
use bandsolve_program::{progress, report};

/// Run the demo.
///
/// # Errors
/// [`Failure::Other`] if too little memory is free.
pub fn run() -> Result<(), Failure> {
    let progress = progress::spinner();
    let facts = bandsolve_demo::run(|step| progress.set_message(step))?;
    progress.finish_and_clear();
    report::print(&format!("{facts}{NEXT}"))
}

const NEXT: &str = "
Next:
  bandsolve solve A.mtx --rhs b.mtx --out x.mtx      solve your own system
  bandsolve generate random 1000000 --out A.mtx      write a matrix of a known family
  bandsolve stability tridiagonal                    compare the accuracy with published results
  bandsolve bench tridiagonal --quick                compare the speed with LAPACK, OpenBLAS and MKL
  bandsolve --help                                   list all commands
";
