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
use super::run::{KrylovRun, KrylovVectors, broken, cut};
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{PIECE, dot, each_piece, narrow, norm_squared};
use bandsolve::{Complex64, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// The first iteration in which the preconditioner is tested. Further tests follow at powers of two.
const FIRST_TEST: usize = 32;
/// The largest cosine between successive residuals, in the inner product of M⁻¹, at which M counts as Hermitian. If M is Hermitian, the cosine is 0
/// except for rounding errors.
const COSINE: f64 = 0.1;

/// Iterate from x, which has the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    KrylovVectors { x, r, workspace, spare }: KrylovVectors<'_, T>,
    stack: &mut PodStack,
) -> Result<Ending> {
    let (n, flexible) = (run.n, run.is_flexible());
    let ([p, q, z], _) = cut(workspace, n);
    // z = M⁻¹·r, p = z, ρ = rᴴ·z
    run.precondition(r, z, stack)?;
    p.copy_from_slice(z);
    let mut rho = run.reducer.dot(r, z);
    loop {
        // q = A·p, α = ρ / (pᴴ·q). Both numbers are positive if matrix and preconditioner are positive definite.
        run.apply(p, q, spare, stack)?;
        let curvature = run.reducer.dot(p, q).re;
        if !(curvature > 0.0 && rho.re > 0.0) {
            return Ok(broken(&[rho, curvature.into()]));
        }
        let alpha = rho.re / curvature;
        // x ← x + α·p, r ← r − α·q, with ‖r‖₂
        let a: T = narrow(Complex64::from(alpha));
        let mut squared = [Complex64::default()];
        run.reducer.sums((RowsOf(&mut *x, PIECE), RowsOf(&mut *r, PIECE)), &mut squared, &|rows, (x, r), sums| {
            let (p, q) = (&p[rows.clone()], &q[rows]);
            for k in 0..p.len() {
                x.0[k] += a * p[k];
                r.0[k] -= a * q[k];
            }
            sums[0].re += norm_squared(r.0);
        });
        let norm = run.reducer.root(squared[0].re, r);
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
        // z = M⁻¹·r, ρ_next = rᴴ·z, and qᴴ·z for a preconditioner that changes or is tested
        run.precondition(r, z, stack)?;
        let is_test = monitor.iterations >= FIRST_TEST && monitor.iterations.is_power_of_two();
        let mut sums = [Complex64::default(); 2];
        run.reducer.sums((), &mut sums, &|rows, (), sums| {
            sums[0] += dot(&r[rows.clone()], &z[rows.clone()]);
            if flexible || is_test {
                sums[1] += dot(&q[rows.clone()], &z[rows]);
            }
        });
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
        let b: T = narrow(Complex64::from(beta));
        each_piece(n, RowsOf(&mut *p, PIECE), &|rows, p| {
            p.0.iter_mut().zip(&z[rows]).for_each(|(p, z)| *p = *z + b * *p);
        });
    }
}
