//! Richardson's iteration: x ← x + ω·M⁻¹·(rhs − A·x).

use super::monitor::Monitor;
use super::{Ending, KrylovRun};
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{PIECE, each_piece, narrow};
use bandsolve::{Complex64, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// Iterations from x with the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    damping: f64,
    (x, r, vectors, spare): (&mut [T], &mut [T], &mut [T], &mut [T]),
    stack: &mut PodStack,
) -> Result<Ending> {
    let z = &mut vectors[..run.n];
    let by: T = narrow(Complex64::from(damping));
    loop {
        run.precondition(r, z, stack)?;
        let step = &*z;
        each_piece(run.n, RowsOf(&mut *x, PIECE), &|rows, x| {
            x.0.iter_mut().zip(&step[rows]).for_each(|(x, z)| *x += by * *z);
        });
        let [_, norm] = run.start(x, false, r, spare, stack)?;
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
    }
}
