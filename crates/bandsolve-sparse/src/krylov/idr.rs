//! IDR(s), in its bi-orthogonal form.
//!
//! # Source
//! M. B. van Gijzen and P. Sonneveld, ACM Trans. Math. Softw. 38 (2011), algorithm 1 in the bi-orthogonal form of section 4.

use super::monitor::Monitor;
use super::{Ending, KrylovRun, broken};
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
    (x, r, vectors, spare): (&mut [T], &mut [T], &mut [T], &mut [T]),
    stack: &mut PodStack,
) -> Result<Ending> {
    let n = run.n;
    let (shadow, rest) = vectors.split_at_mut(s * n);
    let (g, rest) = rest.split_at_mut(s * n);
    let (u, rest) = rest.split_at_mut(s * n);
    let (v, rest) = rest.split_at_mut(n);
    let (t, rest) = rest.split_at_mut(n);
    let z = &mut rest[..n];
    let (small, stack) = stack.make_with(s * s, |k| if k % (s + 1) == 0 { Complex64::from(1.0) } else { ZERO });
    let (f, stack) = stack.make_with(s, |_| ZERO);
    let (c, stack) = stack.make_with(s, |_| ZERO);
    let (again, stack) = stack.make_with(s, |_| ZERO);
    random_basis(run, shadow, c, again);
    g.fill(T::ZERO);
    u.fill(T::ZERO);
    let mut omega = Complex64::from(1.0);
    loop {
        let kept = &*r;
        products(run, shadow, kept, f);
        for k in 0..s {
            // Solve the small system, which is lower triangular from row and column k on.
            for i in k..s {
                let known: Complex64 = (k..i).map(|j| small[i * s + j] * c[j]).sum();
                c[i] = divide(f[i] - known, small[i * s + i]);
            }
            // v = r − G·c; z = M⁻¹·v; U_k = U·c + ω·z.
            {
                let (r, g, c) = (&*r, &*g, &*c);
                each_piece(n, RowsOf(&mut *v, PIECE), &|rows, v| {
                    v.0.copy_from_slice(&r[rows.clone()]);
                    (k..s).for_each(|j| subtract(v.0, c[j], &g[j * n..][rows.clone()]));
                });
            }
            run.precondition(v, z, stack)?;
            {
                let (before, rest) = u.split_at_mut(k * n);
                let (own, behind) = rest.split_at_mut(n);
                let (_, behind, z, c) = (before, &*behind, &*z, &*c);
                let (w, by): (T, T) = (narrow(omega), narrow(c[k]));
                each_piece(n, RowsOf(own, PIECE), &|rows, own| {
                    own.0.iter_mut().zip(&z[rows.clone()]).for_each(|(u, z)| *u = by * *u + w * *z);
                    (k + 1..s).for_each(|j| subtract(own.0, -c[j], &behind[(j - k - 1) * n..][rows.clone()]));
                });
            }
            let (g_before, rest) = g.split_at_mut(k * n);
            let g_own = &mut rest[..n];
            let (u_before, rest) = u.split_at_mut(k * n);
            let u_own = &mut rest[..n];
            run.apply(u_own, g_own, spare, stack)?;
            // Make the vectors orthogonal to the shadow vectors before k.
            for i in 0..k {
                let alpha = divide(run.reducer.dot(&shadow[i * n..][..n], g_own), small[i * s + i]);
                let (g, u) = (&g_before[i * n..][..n], &u_before[i * n..][..n]);
                let out = (RowsOf(&mut *g_own, PIECE), RowsOf(&mut *u_own, PIECE));
                each_piece(n, out, &|rows, (g_own, u_own)| {
                    subtract(g_own.0, alpha, &g[rows.clone()]);
                    subtract(u_own.0, alpha, &u[rows]);
                });
            }
            products(run, &shadow[k * n..], g_own, &mut c[k..]);
            (k..s).for_each(|i| small[i * s + k] = c[i]);
            let beta = divide(f[k], small[k * s + k]);
            if !beta.is_finite() {
                return Ok(broken(&[f[k], small[k * s + k]]));
            }
            let norm = advance(run, (x, u_own), (r, g_own), beta);
            if let Some(ending) = monitor.step_to(norm, x) {
                return Ok(ending);
            }
            (k + 1..s).for_each(|i| f[i] -= beta * small[i * s + k]);
        }
        run.precondition(r, z, stack)?;
        run.apply(z, t, spare, stack)?;
        let mut sums = [ZERO; 2];
        {
            let (t, r) = (&*t, &*r);
            run.reducer.sums((), &mut sums[..1], &|rows, (), sums| sums[0] += dot(&t[rows.clone()], &r[rows]));
        }
        let (t_norm, r_norm) = (run.reducer.norm(t), run.reducer.norm(r));
        omega = sums[0] / t_norm / t_norm;
        let cosine = sums[0].norm() / t_norm / r_norm;
        if cosine < KAPPA {
            omega *= KAPPA / cosine;
        }
        if !omega.is_finite() || omega.norm() == 0.0 {
            return Ok(broken(&[sums[0], t_norm.into()]));
        }
        let norm = advance(run, (x, z), (r, t), omega);
        if let Some(ending) = monitor.step_to(norm, x) {
            return Ok(ending);
        }
    }
}

/// x ← x + c·u, r ← r − c·g. Returns ‖r‖₂.
fn advance<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    (x, u): (&mut [T], &[T]),
    (r, g): (&mut [T], &[T]),
    c: Complex64,
) -> f64 {
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
        let own = &mut rest[..n];
        for (i, v) in own.iter_mut().enumerate() {
            let bits = crate::random::mixed(((k as u64) << 40) + i as u64);
            let part = |shift: u32| f64::from((bits >> shift) as u32) / f64::from(u32::MAX) - 0.5;
            *v = T::from_parts(T::Real::from_f64(part(0)), T::Real::from_f64(part(32)));
        }
        let norm = run.reducer.orthogonalize(before, own, &mut h[..k], &mut again[..k]);
        let by: T = narrow(Complex64::from(1.0 / norm));
        own.iter_mut().for_each(|v| *v *= by);
    }
}
