//! Richardson's iteration: x ← x + ω·M⁻¹·(rhs − A·x).

use super::monitor::Monitor;
use super::{Ending, Known, KrylovRun};
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{PIECE, each_piece, narrow};
use bandsolve::{Complex64, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// Number of steps without a smaller residual after which iterative refinement has stagnated. Each step should gain digits. With a constant
/// preconditioner, the limit is the number of unknowns: a residual can move through all of them before it vanishes.
const FRUITLESS: usize = 20;
/// A residual counts as smaller if it is below this share of the smallest so far.
const GAIN: f64 = 1.0 - 1e-5;

/// Iterate from x, which has the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    damping: f64,
    (x, r, vectors, spare): (&mut [T], &mut [T], &mut [T], &mut [T]),
    stack: &mut PodStack,
) -> Result<Ending> {
    let z = &mut vectors[..run.n];
    let by: T = narrow(Complex64::from(damping));
    let most = if run.is_flexible() { FRUITLESS } else { run.all.max(FRUITLESS) };
    let (mut least, mut fruitless) = (f64::INFINITY, 0);
    loop {
        run.precondition(r, z, stack)?;
        let step = &*z;
        each_piece(run.n, RowsOf(&mut *x, PIECE), &|rows, x| {
            x.0.iter_mut().zip(&step[rows]).for_each(|(x, z)| *x += by * *z);
        });
        let norm = run.start(x, Known::Step, r, spare, stack)?.norm;
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
        if norm < GAIN * least {
            (least, fruitless) = (norm, 0);
        } else if fruitless < most {
            fruitless += 1;
        } else {
            return Ok(Ending::Stagnated);
        }
    }
}
