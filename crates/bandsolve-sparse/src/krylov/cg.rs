//! Conjugate gradients. The flexible variant (Polak–Ribière) runs if the preconditioner changes.
//!
//! # Source
//! Y. Saad, Iterative methods for sparse linear systems, 2nd edition, algorithm 9.1; G. H. Golub and Q. Ye, SIAM J. Sci. Comput. 21
//! (1999), for preconditioners that change.

use super::monitor::Monitor;
use super::{Ending, KrylovRun, broken};
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{PIECE, dot, each_piece, narrow, norm_squared};
use bandsolve::{Complex64, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// The first iteration in which the preconditioner is tested. Further tests follow at powers of two.
const FIRST_LOOK: usize = 32;
/// The largest cosine between successive residuals, in the inner product of M⁻¹, at which M counts as Hermitian. If M is Hermitian, the cosine is 0
/// except for rounding errors.
const COSINE: f64 = 0.1;

/// Iterate from x, which has the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    (x, r, vectors, spare): (&mut [T], &mut [T], &mut [T], &mut [T]),
    stack: &mut PodStack,
) -> Result<Ending> {
    let (n, flexible) = (run.n, run.is_flexible());
    let (p, rest) = vectors.split_at_mut(n);
    let (q, rest) = rest.split_at_mut(n);
    let z = &mut rest[..n];
    run.precondition(r, z, stack)?;
    p.copy_from_slice(z);
    let mut rho = run.reducer.dot(r, z);
    loop {
        run.apply(p, q, spare, stack)?;
        let curvature = run.reducer.dot(p, q).re;
        // Both are positive if matrix and preconditioner are positive definite.
        if !(curvature > 0.0 && rho.re > 0.0) {
            return Ok(broken(&[rho, curvature.into()]));
        }
        let alpha = rho.re / curvature;
        let mut squared = [Complex64::default()];
        {
            let a: T = narrow(Complex64::from(alpha));
            let (p, q) = (&*p, &*q);
            run.reducer.sums((RowsOf(&mut *x, PIECE), RowsOf(&mut *r, PIECE)), &mut squared, &|rows, (x, r), sums| {
                let (p, q) = (&p[rows.clone()], &q[rows]);
                for k in 0..p.len() {
                    x.0[k] += a * p[k];
                    r.0[k] -= a * q[k];
                }
                sums[0].re += norm_squared(r.0);
            });
        }
        let norm = run.reducer.root(squared[0].re, r);
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
        run.precondition(r, z, stack)?;
        let mut sums = [Complex64::default(); 2];
        let looks = monitor.iterations >= FIRST_LOOK && monitor.iterations.is_power_of_two();
        let (r, z, q) = (&*r, &*z, &*q);
        run.reducer.sums((), &mut sums, &|rows, (), sums| {
            sums[0] += dot(&r[rows.clone()], &z[rows.clone()]);
            if flexible || looks {
                sums[1] += dot(&q[rows.clone()], &z[rows]);
            }
        });
        // rᴴz. For a preconditioner that changes, (r − r_before)ᴴz with r − r_before = −α·q.
        let next = sums[0];
        // r_beforeᴴz
        let across = next + alpha * sums[1];
        if looks && !monitor.has_halved() && across.norm() > COSINE * (rho.re * next.re.abs()).sqrt() && !flexible {
            return Ok(broken(&[across]));
        }
        let beta = if flexible { -alpha * sums[1].re / rho.re } else { next.re / rho.re };
        rho = next;
        let b: T = narrow(Complex64::from(beta));
        each_piece(n, RowsOf(&mut *p, PIECE), &|rows, p| {
            p.0.iter_mut().zip(&z[rows]).for_each(|(p, z)| *p = *z + b * *p);
        });
    }
}
