//! Conjugate gradients. The flexible variant (Polak–Ribière) runs if the preconditioner changes.
//!
//! # Memory traffic of one iteration
//! 17 words per row of vectors (12 loads, 5 stores), 4 of them in the product with A and the application of M⁻¹. The flexible variant needs one more
//! load.
//!
//! # Source
//! Y. Saad, Iterative methods for sparse linear systems, 2nd edition (2003), algorithm 9.1, doi:10.1137/1.9780898718003; G. H. Golub and Q. Ye, SIAM
//! J. Sci. Comput. 21 (1999), 1305–1320, doi:10.1137/S1064827597323415, for preconditioners that change. Here ρ is rᴴ·z, and q is A·p.

use super::monitor::Monitor;
use super::report::Ending;
use super::run::{KrylovRun, broken};
use super::vectors::{R, own};
use bandsolve::vectors::{LinearCombination, VectorId};
use bandsolve::{Complex64, Result};

/// The first iteration in which the preconditioner is tested. Further tests follow at powers of two.
const FIRST_TEST: usize = 32;
/// The largest cosine between successive residuals, in the inner product of M⁻¹, at which M counts as Hermitian. If M is Hermitian, the cosine is 0
/// except for rounding errors.
const COSINE: f64 = 0.1;

/// Iterate from x, which has the residual r.
pub(super) fn cycle(run: &mut KrylovRun<'_>, monitor: &mut Monitor<'_>) -> Result<Ending> {
    let (x, flexible) = (VectorId::Solution, run.flexible);
    let [p, q, z] = [own(0), own(1), own(2)];
    // z = M⁻¹·r, p = z, ρ = rᴴ·z
    run.precondition(R, z)?;
    run.vectors.copy(z, p);
    let mut rho = run.vectors.dot(R, z);
    loop {
        // q = A·p, α = ρ / (pᴴ·q). Both numbers are positive if matrix and preconditioner are positive definite.
        run.apply(p, q)?;
        let curvature = run.vectors.dot(p, q).re;
        if !(curvature > 0.0 && rho.re > 0.0) {
            return Ok(broken(&[rho, curvature.into()]));
        }
        let alpha = rho.re / curvature;
        // x ← x + α·p, r ← r − α·q, with ‖r‖₂
        let mut squared = [Complex64::default()];
        let (steps, along) = ([(alpha.into(), p)], [((-alpha).into(), q)]);
        let both = [LinearCombination::add_to(x, &steps), LinearCombination::add_to(R, &along)];
        run.vectors.combine(&both, &[(R, R)], &mut squared);
        let norm = run.vectors.root(squared[0].re, R);
        if let Some(ending) = monitor.step_to(norm, run.vectors) {
            return Ok(ending);
        }
        // z = M⁻¹·r, ρ_next = rᴴ·z, and qᴴ·z for a preconditioner that changes or is tested
        run.precondition(R, z)?;
        let is_test = monitor.iterations >= FIRST_TEST && monitor.iterations.is_power_of_two();
        let mut sums = [Complex64::default(); 2];
        let count = if flexible || is_test { 2 } else { 1 };
        run.vectors.combine(&[], &[(R, z), (q, z)][..count], &mut sums[..count]);
        let next = sums[0];
        // The previous residual is r + α·q. Its product with z is 0 if M is Hermitian.
        let across = next + alpha * sums[1];
        if is_test && !monitor.has_halved() && across.norm() > COSINE * (rho.re * next.re.abs()).sqrt() && !flexible {
            return Ok(broken(&[across]));
        }
        // β = ρ_next / ρ. For a preconditioner that changes, β = (r − r_previous)ᴴ·z / ρ with r − r_previous = −α·q.
        let beta = if flexible { -alpha * sums[1].re / rho.re } else { next.re / rho.re };
        rho = next;
        // p = z + β·p
        run.compute(LinearCombination { plus: Some(z), ..LinearCombination::of(p, &[(beta.into(), p)]) });
    }
}
