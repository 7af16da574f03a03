//! Problems with two tridiagonal matrices per axis, from files.

use crate::args::PoissonArgs;
use bandsolve_poisson::{AxisPencil, SeparablePencils};
use bandsolve_program::exit::Failure;
use bandsolve_program::io;
use bandsolve_program::report::sizes;
use std::path::Path;

/// Read the problem and its shape from the files.
pub(super) fn problem(args: &PoissonArgs) -> Result<(SeparablePencils, Vec<usize>), Failure> {
    if args.pencils.len() > 3 {
        let count = args.pencils.len();
        return Err(Failure::Usage(format!(
            "--pencils: {count} files are given, but a box has at most three axes. Pass one file per axis"
        )));
    }
    let pencils = args.pencils.iter().map(|file| pencil(file)).collect::<Result<Vec<_>, Failure>>()?;
    let shape = pencils.iter().map(AxisPencil::len).collect();
    let problem = SeparablePencils::new(&pencils).shift(args.shift).method(args.method);
    let problem = match args.threads {
        Some(threads) => problem.threads(usize::from(threads)),
        None => problem,
    };
    Ok((problem, shape))
}

/// Read the matrices of one axis.
fn pencil(file: &Path) -> Result<AxisPencil, Failure> {
    let (shape, numbers) = io::read_reals(file)?;
    let [rows @ (3 | 6), n] = shape[..] else {
        let reason = format!(
            "the array is {}, expected 6 × n (sub, diag and sup of A, then of M) or 3 × n (sub, diag and sup of A)",
            sizes(&shape)
        );
        return Err(Failure::in_file(&file.display().to_string(), reason));
    };
    let row = |k: usize| &numbers[k * n..(k + 1) * n];
    let a = [row(0), row(1), row(2)];
    Ok(if rows == 3 { AxisPencil::with_identity(a) } else { AxisPencil::new(a, [row(3), row(4), row(5)]) })
}
