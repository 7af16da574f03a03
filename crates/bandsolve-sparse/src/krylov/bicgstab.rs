//! BiCGStab.
//!
//! # Memory traffic of one iteration
//! 27 words per row of vectors (19 loads, 8 stores), 8 of them in the 2 products with A and the 2 applications of M⁻¹.
//!
//! # Source
//! H. A. van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of nonsymmetric linear systems, SIAM J. Sci.
//! Stat. Comput. 13 (1992), 631–644, doi:10.1137/0913035. Here p̂ and ŝ are `p_hat` and `s_hat`, r̂₀ is `shadow`, and s overwrites r.

use super::monitor::Monitor;
use super::report::Ending;
use super::run::{KrylovRun, KrylovVectors, broken, cut};
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{PIECE, divide, dot, each_piece, narrow, norm_squared};
use bandsolve::{Complex64, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// Iterate from x, which has the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    KrylovVectors { x, r, workspace, spare }: KrylovVectors<'_, T>,
    stack: &mut PodStack,
) -> Result<Ending> {
    let n = run.n;
    let ([shadow, p, v, p_hat, s_hat, t], _) = cut(workspace, n);
    // r̂₀ = r, p = r, ρ = r̂₀ᴴ·r
    shadow.copy_from_slice(r);
    p.copy_from_slice(r);
    let mut rho = run.reducer.dot(shadow, r);
    loop {
        // p̂ = M⁻¹·p, v = A·p̂
        run.precondition(p, p_hat, stack)?;
        run.apply(p_hat, v, spare, stack)?;
        // α = ρ / (r̂₀ᴴ·v)
        let product = run.reducer.dot(shadow, v);
        let alpha = divide(rho, product);
        if !alpha.is_finite() || alpha.norm() == 0.0 {
            return Ok(broken(&[rho, product]));
        }
        // s = r − α·v
        let a: T = narrow(alpha);
        each_piece(n, RowsOf(&mut *r, PIECE), &|rows, s| {
            s.0.iter_mut().zip(&v[rows]).for_each(|(s, v)| *s -= a * *v);
        });
        // ŝ = M⁻¹·s, t = A·ŝ
        run.precondition(r, s_hat, stack)?;
        run.apply(s_hat, t, spare, stack)?;
        // ω = (tᴴ·s) / (tᴴ·t). If t = 0 and the matrix is regular, then s = 0, and the first half of the step already gives x.
        let mut sums = [Complex64::default(); 2];
        run.reducer.sums((), &mut sums, &|rows, (), sums| {
            sums[0] += dot(&t[rows.clone()], &r[rows.clone()]);
            sums[1].re += norm_squared(&t[rows]);
        });
        let size = run.reducer.root(sums[1].re, t);
        let omega = if size > 0.0 { sums[0] / size / size } else { Complex64::default() };
        // x ← x + α·p̂ + ω·ŝ, r = s − ω·t, with the next ρ = r̂₀ᴴ·r and ‖r‖₂
        let w: T = narrow(omega);
        let mut next = [Complex64::default(); 2];
        run.reducer.sums((RowsOf(&mut *x, PIECE), RowsOf(&mut *r, PIECE)), &mut next, &|rows, (x, r), sums| {
            let (p_hat, s_hat, t) = (&p_hat[rows.clone()], &s_hat[rows.clone()], &t[rows.clone()]);
            for k in 0..rows.len() {
                x.0[k] += a * p_hat[k] + w * s_hat[k];
                r.0[k] -= w * t[k];
            }
            sums[0] += dot(&shadow[rows], r.0);
            sums[1].re += norm_squared(r.0);
        });
        let norm = run.reducer.root(next[1].re, r);
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
        // β = (ρ_next / ρ)·(α / ω)
        let beta = divide(next[0], rho) * divide(alpha, omega);
        if !beta.is_finite() || beta.norm() == 0.0 {
            return Ok(broken(&[next[0], omega]));
        }
        rho = next[0];
        // p = r + β·(p − ω·v)
        let b: T = narrow(beta);
        each_piece(n, RowsOf(&mut *p, PIECE), &|rows, p| {
            let (r, v) = (&r[rows.clone()], &v[rows]);
            for (k, p) in p.0.iter_mut().enumerate() {
                *p = r[k] + b * (*p - w * v[k]);
            }
        });
    }
}
