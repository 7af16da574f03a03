//! Richardson's iteration: x ← x + ω·M⁻¹·(rhs − A·x).
//!
//! # Memory traffic of one iteration
//! 9 words per row of vectors (6 loads, 3 stores), 5 of them in the residual, which is one product with A, and the application of M⁻¹.

use super::monitor::Monitor;
use super::report::Ending;
use super::run::{Known, KrylovRun, KrylovVectors, cut};
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
    KrylovVectors { x, r, workspace, spare }: KrylovVectors<'_, T>,
    stack: &mut PodStack,
) -> Result<Ending> {
    let ([z], _) = cut(workspace, run.n);
    let omega: T = narrow(Complex64::from(damping));
    let limit = if run.is_flexible() { FRUITLESS } else { run.all.max(FRUITLESS) };
    let (mut smallest, mut fruitless) = (f64::INFINITY, 0);
    loop {
        // z = M⁻¹·r
        run.precondition(r, z, stack)?;
        // x ← x + ω·z
        each_piece(run.n, RowsOf(&mut *x, PIECE), &|rows, x| {
            x.0.iter_mut().zip(&z[rows]).for_each(|(x, z)| *x += omega * *z);
        });
        // r = rhs − A·x, and ‖r‖₂
        let norm = run.start(x, Known::Step, r, spare, stack)?.norm;
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
        if norm < GAIN * smallest {
            (smallest, fruitless) = (norm, 0);
        } else if fruitless < limit {
            fruitless += 1;
        } else {
            return Ok(Ending::Stagnated);
        }
    }
}
