//! BiCGStab.
//!
//! # Source
//! H. A. van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13 (1992).

use super::monitor::Monitor;
use super::{Ending, KrylovRun, broken};
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{PIECE, divide, dot, each_piece, narrow, norm_squared};
use bandsolve::{Complex64, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// Iterate from x, which has the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    (x, r, vectors, spare): (&mut [T], &mut [T], &mut [T], &mut [T]),
    stack: &mut PodStack,
) -> Result<Ending> {
    let n = run.n;
    let (shadow, rest) = vectors.split_at_mut(n);
    let (p, rest) = rest.split_at_mut(n);
    let (v, rest) = rest.split_at_mut(n);
    let (ph, rest) = rest.split_at_mut(n);
    let (sh, rest) = rest.split_at_mut(n);
    let (t, _) = rest.split_at_mut(n);
    shadow.copy_from_slice(r);
    p.copy_from_slice(r);
    let mut rho = run.reducer.dot(shadow, r);
    loop {
        run.precondition(p, ph, stack)?;
        run.apply(ph, v, spare, stack)?;
        let product = run.reducer.dot(shadow, v);
        let alpha = divide(rho, product);
        if !alpha.is_finite() || alpha.norm() == 0.0 {
            return Ok(broken(&[rho, product]));
        }
        // s overwrites r.
        let by: T = narrow(alpha);
        let own = &*v;
        each_piece(n, RowsOf(&mut *r, PIECE), &|rows, r| {
            r.0.iter_mut().zip(&own[rows]).for_each(|(r, v)| *r -= by * *v);
        });
        run.precondition(r, sh, stack)?;
        run.apply(sh, t, spare, stack)?;
        let mut sums = [Complex64::default(); 2];
        let (t_kept, s_kept) = (&*t, &*r);
        run.reducer.sums((), &mut sums, &|rows, (), sums| {
            sums[0] += dot(&t_kept[rows.clone()], &s_kept[rows.clone()]);
            sums[1].re += norm_squared(&t_kept[rows]);
        });
        // If t = 0 and the matrix is regular, then s = 0, and the first half of the step already gives x.
        let size = run.reducer.root(sums[1].re, t);
        let omega = if size > 0.0 { sums[0] / size / size } else { Complex64::default() };
        let mut next = [Complex64::default(); 2];
        {
            let (a, w): (T, T) = (narrow(alpha), narrow(omega));
            let (ph, sh, t, shadow) = (&*ph, &*sh, &*t, &*shadow);
            let out = (RowsOf(&mut *x, PIECE), RowsOf(&mut *r, PIECE));
            run.reducer.sums(out, &mut next, &|rows, (x, r), sums| {
                let (ph, sh, t) = (&ph[rows.clone()], &sh[rows.clone()], &t[rows.clone()]);
                for k in 0..rows.len() {
                    x.0[k] += a * ph[k] + w * sh[k];
                    r.0[k] -= w * t[k];
                }
                sums[0] += dot(&shadow[rows], r.0);
                sums[1].re += norm_squared(r.0);
            });
        }
        let norm = run.reducer.root(next[1].re, r);
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
        let beta = divide(next[0], rho) * divide(alpha, omega);
        if !beta.is_finite() || beta.norm() == 0.0 {
            return Ok(broken(&[next[0], omega]));
        }
        rho = next[0];
        let (b, w): (T, T) = (narrow(beta), narrow(omega));
        let (r, v) = (&*r, &*v);
        each_piece(n, RowsOf(&mut *p, PIECE), &|rows, p| {
            let (r, v) = (&r[rows.clone()], &v[rows]);
            for (k, p) in p.0.iter_mut().enumerate() {
                *p = r[k] + b * (*p - w * v[k]);
            }
        });
    }
}
