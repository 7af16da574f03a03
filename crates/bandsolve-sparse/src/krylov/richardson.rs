//! Richardson's iteration: x ← x + ω·M⁻¹·(rhs − A·x).
//!
//! # Memory traffic of one iteration
//! 9 words per row of vectors (6 loads, 3 stores), 5 of them in the residual, which is one product with A, and the application of M⁻¹.

use super::monitor::Monitor;
use super::report::Ending;
use super::run::{Known, KrylovRun};
use super::vectors::{R, own};
use bandsolve::Result;
use bandsolve::vectors::{LinearCombination, VectorId};

/// Number of steps without a smaller residual after which iterative refinement has stagnated. Each step should gain digits. With a constant
/// preconditioner, the limit is the number of unknowns: a residual can move through all of them before it vanishes.
const FRUITLESS: usize = 20;
/// A residual counts as smaller if it is below this share of the smallest so far.
const GAIN: f64 = 1.0 - 1e-5;

/// Iterate from x, which has the residual r.
pub(super) fn cycle(run: &mut KrylovRun<'_>, monitor: &mut Monitor<'_>, damping: f64) -> Result<Ending> {
    let z = own(0);
    let limit = if run.flexible { FRUITLESS } else { run.all.max(FRUITLESS) };
    let (mut smallest, mut fruitless) = (f64::INFINITY, 0);
    loop {
        // z = M⁻¹·r
        run.precondition(R, z)?;
        // x ← x + ω·z
        run.compute(LinearCombination::add_to(VectorId::Solution, &[(damping.into(), z)]));
        // r = rhs − A·x, and ‖r‖₂
        let norm = run.start(Known::Step)?.norm;
        if let Some(ending) = monitor.step_to(norm, run.vectors) {
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
