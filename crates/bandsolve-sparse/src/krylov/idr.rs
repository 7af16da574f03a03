//! IDR(s), in its bi-orthogonal form.
//!
//! # Memory traffic of s + 1 iterations
//! 5.5·s² + 13.5·s + 15 words per row of vectors, 4·(s + 1) of them in the s + 1 products with A and as many applications of M⁻¹. For s = 4, this is 31.4
//! words per iteration. Step k = 0, …, s − 1 moves 15 + 3·s + 5·k words, Pᴴ·r moves s + 1, and the step with ω moves 14.
//!
//! # Source
//! M. B. van Gijzen and P. Sonneveld, Algorithm 913: an elegant IDR(s) variant that efficiently exploits biorthogonality properties, ACM Trans. Math.
//! Softw. 38 (2011), article 5, doi:10.1145/2049662.2049667. Here P is `shadow`, and the paper's
//! M is S (`small`), since M is the preconditioner.

use super::monitor::Monitor;
use super::report::Ending;
use super::run::{KrylovRun, KrylovVectors, broken, cut};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::{PIECE, divide, dot, each_piece, narrow, norm_squared, subtract};
use bandsolve::{Complex64, RealScalar, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

const ZERO: Complex64 = Complex64::new(0.0, 0.0);
/// The smallest cosine between t and r at which ω is taken as it minimises the residual.
const KAPPA: f64 = 0.7;

/// Scratch memory for the small systems.
pub(super) fn small_scratch(space: usize) -> StackReq {
    StackReq::new::<Complex64>(space.saturating_mul(space.saturating_add(3)))
}

/// Iterate from x, which has the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    s: usize,
    KrylovVectors { x, r, workspace, spare }: KrylovVectors<'_, T>,
    stack: &mut PodStack,
) -> Result<Ending> {
    let n = run.n;
    let ([shadow, g, u], workspace) = cut(workspace, s * n);
    let ([v, t, z], _) = cut(workspace, n);
    // `small` is S = Pᴴ·G by rows, which starts as the identity.
    let (small, stack) = stack.make_with(s * s, |k| if k % (s + 1) == 0 { Complex64::from(1.0) } else { ZERO });
    let (f, stack) = stack.make_with(s, |_| ZERO);
    let (c, stack) = stack.make_with(s, |_| ZERO);
    let (again, stack) = stack.make_with(s, |_| ZERO);
    random_basis(run, shadow, c, again);
    g.fill(T::ZERO);
    u.fill(T::ZERO);
    let mut omega = Complex64::from(1.0);
    loop {
        // f = Pᴴ·r
        products(run, shadow, r, f);
        for k in 0..s {
            // Solve S·c = f, which is lower triangular, from row and column k on.
            for i in k..s {
                let known: Complex64 = (k..i).map(|j| small[i * s + j] * c[j]).sum();
                c[i] = divide(f[i] - known, small[i * s + i]);
            }
            // v = r − Σⱼ cⱼ·gⱼ for j ≥ k
            each_piece(n, RowsOf(&mut *v, PIECE), &|rows, v| {
                v.0.copy_from_slice(&r[rows.clone()]);
                (k..s).for_each(|j| subtract(v.0, c[j], &g[j * n..][rows.clone()]));
            });
            // z = M⁻¹·v
            run.precondition(v, z, stack)?;
            let (u_before, u_rest) = u.split_at_mut(k * n);
            let (u_k, u_later) = u_rest.split_at_mut(n);
            let (g_before, g_rest) = g.split_at_mut(k * n);
            let g_k = &mut g_rest[..n];
            // uₖ = ω·z + Σⱼ cⱼ·uⱼ for j ≥ k
            let (w, by): (T, T) = (narrow(omega), narrow(c[k]));
            each_piece(n, RowsOf(&mut *u_k, PIECE), &|rows, u_k| {
                u_k.0.iter_mut().zip(&z[rows.clone()]).for_each(|(u, z)| *u = by * *u + w * *z);
                (k + 1..s).for_each(|j| subtract(u_k.0, -c[j], &u_later[(j - k - 1) * n..][rows.clone()]));
            });
            // gₖ = A·uₖ
            run.apply(u_k, g_k, spare, stack)?;
            // Make gₖ orthogonal to the shadow vectors before k: α = pᵢᴴ·gₖ / sᵢᵢ, gₖ ← gₖ − α·gᵢ, uₖ ← uₖ − α·uᵢ.
            for i in 0..k {
                let alpha = divide(run.reducer.dot(&shadow[i * n..][..n], g_k), small[i * s + i]);
                let (g, u) = (&g_before[i * n..][..n], &u_before[i * n..][..n]);
                let out = (RowsOf(&mut *g_k, PIECE), RowsOf(&mut *u_k, PIECE));
                each_piece(n, out, &|rows, (g_k, u_k)| {
                    subtract(g_k.0, alpha, &g[rows.clone()]);
                    subtract(u_k.0, alpha, &u[rows]);
                });
            }
            // sᵢₖ = pᵢᴴ·gₖ for i ≥ k
            products(run, &shadow[k * n..], g_k, &mut c[k..]);
            (k..s).for_each(|i| small[i * s + k] = c[i]);
            // β = fₖ / sₖₖ, r ← r − β·gₖ, x ← x + β·uₖ
            let beta = divide(f[k], small[k * s + k]);
            if !beta.is_finite() {
                return Ok(broken(&[f[k], small[k * s + k]]));
            }
            let norm = advance(run, [&mut *x, &mut *r], [u_k, g_k], beta);
            if let Some(ending) = monitor.step_to(norm, x) {
                return Ok(ending);
            }
            // fᵢ ← fᵢ − β·sᵢₖ for i > k
            (k + 1..s).for_each(|i| f[i] -= beta * small[i * s + k]);
        }
        // z = M⁻¹·r, t = A·z
        run.precondition(r, z, stack)?;
        run.apply(z, t, spare, stack)?;
        // ω = tᴴ·r / ‖t‖₂², enlarged if the cosine of t and r is small
        let product = run.reducer.dot(t, r);
        let (t_norm, r_norm) = (run.reducer.norm(t), run.reducer.norm(r));
        omega = product / t_norm / t_norm;
        let cosine = product.norm() / t_norm / r_norm;
        if cosine < KAPPA {
            omega *= KAPPA / cosine;
        }
        if !omega.is_finite() || omega.norm() == 0.0 {
            return Ok(broken(&[product, t_norm.into()]));
        }
        // x ← x + ω·z, r ← r − ω·t
        let norm = advance(run, [&mut *x, &mut *r], [z, t], omega);
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
    }
}

/// x ← x + c·u, r ← r − c·g. Returns ‖r‖₂.
fn advance<T: Scalar>(run: &mut KrylovRun<'_, T>, [x, r]: [&mut [T]; 2], [u, g]: [&[T]; 2], c: Complex64) -> f64 {
    let mut squared = [ZERO];
    run.reducer.sums((RowsOf(x, PIECE), RowsOf(&mut *r, PIECE)), &mut squared, &|rows, (x, r), sums| {
        subtract(x.0, -c, &u[rows.clone()]);
        subtract(r.0, c, &g[rows]);
        sums[0].re += norm_squared(r.0);
    });
    run.reducer.root(squared[0].re, r)
}

/// Inner products of the first vectors of a basis with v.
fn products<T: Scalar>(run: &mut KrylovRun<'_, T>, basis: &[T], v: &[T], out: &mut [Complex64]) {
    let n = run.n;
    run.reducer.sums((), out, &|rows, (), sums| {
        sums.iter_mut().enumerate().for_each(|(k, sum)| *sum = dot(&basis[k * n..][rows.clone()], &v[rows.clone()]));
    });
}

/// An orthonormal basis of random vectors, the same in every run.
fn random_basis<T: Scalar>(run: &mut KrylovRun<'_, T>, basis: &mut [T], h: &mut [Complex64], again: &mut [Complex64]) {
    let n = run.n;
    for k in 0..h.len() {
        let (before, rest) = basis.split_at_mut(k * n);
        let v_k = &mut rest[..n];
        for (i, v) in v_k.iter_mut().enumerate() {
            let bits = crate::random::mixed(((k as u64) << 40) + i as u64);
            let part = |shift: u32| f64::from((bits >> shift) as u32) / f64::from(u32::MAX) - 0.5;
            *v = T::from_parts(T::Real::from_f64(part(0)), T::Real::from_f64(part(32)));
        }
        let norm = run.reducer.orthogonalize(before, v_k, &mut h[..k], &mut again[..k]);
        let by: T = narrow(Complex64::from(1.0 / norm));
        v_k.iter_mut().for_each(|v| *v *= by);
    }
}
