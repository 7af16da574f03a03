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
use super::run::{KrylovRun, broken};
use super::vectors::{FIRST, ONE, R, own};
use crate::random::mixed;
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{LinearCombination, MOST_TERMS, VectorId, divide};
use bandsolve::{Complex64, Result};
use core::iter::once;

const ZERO: Complex64 = Complex64::new(0.0, 0.0);
/// The smallest cosine between t and r at which ω is taken as it minimises the residual.
const KAPPA: f64 = 0.7;

/// Number of complex numbers in the small systems.
pub(super) fn small_numbers(space: usize) -> usize {
    space.saturating_mul(space.saturating_add(3))
}

/// Iterate from x, which has the residual r.
pub(super) fn cycle(
    run: &mut KrylovRun<'_>,
    monitor: &mut Monitor<'_>,
    s: usize,
    stack: &mut PodStack,
) -> Result<Ending> {
    // The shadow vectors P, G and U, s each, then v, t and z.
    let (p, g, u) = (own, |k| own(s + k), |k| own(2 * s + k));
    let [v, t, z] = core::array::from_fn(|k| own(3 * s + k));
    // `small` is S = Pᴴ·G by rows, which starts as the identity.
    let (small, stack) = stack.make_with(s * s, |k| if k % (s + 1) == 0 { ONE } else { ZERO });
    let (f, stack) = stack.make_with(s, |_| ZERO);
    let (c, stack) = stack.make_with(s, |_| ZERO);
    let (again, _) = stack.make_with(s, |_| ZERO);
    random_basis(run, c, again);
    (0..2 * s).for_each(|k| run.compute(LinearCombination::of(g(k), &[])));
    let mut omega = ONE;
    loop {
        // f = Pᴴ·r
        products(run, 0, R, f);
        for k in 0..s {
            // Solve S·c = f, which is lower triangular, from row and column k on.
            for i in k..s {
                let known: Complex64 = (k..i).map(|j| small[i * s + j] * c[j]).sum();
                c[i] = divide(f[i] - known, small[i * s + i]);
            }
            // v = r − Σⱼ cⱼ·gⱼ for j ≥ k
            set_sum(run, v, once((ONE, R)).chain((k..s).map(|j| (-c[j], g(j)))));
            // z = M⁻¹·v
            run.precondition(v, z)?;
            // uₖ = ω·z + Σⱼ cⱼ·uⱼ for j ≥ k
            let first = [(c[k], u(k)), (omega, z)];
            set_sum(run, u(k), first.into_iter().chain((k + 1..s).map(|j| (c[j], u(j)))));
            // gₖ = A·uₖ
            run.apply(u(k), g(k))?;
            // Make gₖ orthogonal to the shadow vectors before k: α = pᵢᴴ·gₖ / sᵢᵢ, gₖ ← gₖ − α·gᵢ, uₖ ← uₖ − α·uᵢ.
            for i in 0..k {
                let alpha = divide(run.vectors.dot(p(i), g(k)), small[i * s + i]);
                let (of_g, of_u) = ([(-alpha, g(i))], [(-alpha, u(i))]);
                let both = [LinearCombination::add_to(g(k), &of_g), LinearCombination::add_to(u(k), &of_u)];
                run.vectors.combine(&both, &[], &mut []);
            }
            // sᵢₖ = pᵢᴴ·gₖ for i ≥ k
            products(run, k, g(k), &mut c[k..]);
            (k..s).for_each(|i| small[i * s + k] = c[i]);
            // β = fₖ / sₖₖ, r ← r − β·gₖ, x ← x + β·uₖ
            let beta = divide(f[k], small[k * s + k]);
            if !beta.is_finite() {
                return Ok(broken(&[f[k], small[k * s + k]]));
            }
            let norm = advance(run, [u(k), g(k)], beta);
            if let Some(ending) = monitor.step_to(norm, run.vectors) {
                return Ok(ending);
            }
            // fᵢ ← fᵢ − β·sᵢₖ for i > k
            (k + 1..s).for_each(|i| f[i] -= beta * small[i * s + k]);
        }
        // z = M⁻¹·r, t = A·z
        run.precondition(R, z)?;
        run.apply(z, t)?;
        // ω = tᴴ·r / ‖t‖₂², enlarged if the cosine of t and r is small
        let product = run.vectors.dot(t, R);
        let (t_norm, r_norm) = (run.vectors.norm(t), run.vectors.norm(R));
        omega = product / t_norm / t_norm;
        let cosine = product.norm() / t_norm / r_norm;
        if cosine < KAPPA {
            omega *= KAPPA / cosine;
        }
        if !omega.is_finite() || omega.norm() == 0.0 {
            return Ok(broken(&[product, t_norm.into()]));
        }
        // x ← x + ω·z, r ← r − ω·t
        let norm = advance(run, [z, t], omega);
        if let Some(ending) = monitor.step_to(norm, run.vectors) {
            return Ok(ending);
        }
    }
}

/// x ← x + c·u, r ← r − c·g. Returns ‖r‖₂.
fn advance(run: &mut KrylovRun<'_>, [u, g]: [VectorId; 2], c: Complex64) -> f64 {
    let (of_u, of_g) = ([(c, u)], [(-c, g)]);
    let both = [LinearCombination::add_to(VectorId::Solution, &of_u), LinearCombination::add_to(R, &of_g)];
    let mut squared = [ZERO];
    run.vectors.combine(&both, &[(R, R)], &mut squared);
    run.vectors.root(squared[0].re, R)
}

/// Compute the sum of the terms c·v, from left to right.
fn set_sum(run: &mut KrylovRun<'_>, out: VectorId, terms: impl Iterator<Item = (Complex64, VectorId)>) {
    let (mut some, mut count) = ([(ZERO, out); MOST_TERMS], 0);
    for term in terms {
        if count == MOST_TERMS {
            run.compute(LinearCombination::of(out, &some));
            (some[0], count) = ((ONE, out), 1);
        }
        some[count] = term;
        count += 1;
    }
    run.compute(LinearCombination::of(out, &some[..count]));
}

/// Inner products of the shadow vectors from `first` on with v.
fn products(run: &mut KrylovRun<'_>, first: usize, v: VectorId, out: &mut [Complex64]) {
    for (block, out) in out.chunks_mut(MOST_TERMS).enumerate() {
        let pairs: [_; MOST_TERMS] = core::array::from_fn(|k| (own(first + block * MOST_TERMS + k), v));
        run.vectors.combine(&[], &pairs[..out.len()], out);
    }
}

/// An orthonormal basis of random vectors, the same in every run.
fn random_basis(run: &mut KrylovRun<'_>, h: &mut [Complex64], again: &mut [Complex64]) {
    for k in 0..h.len() {
        run.vectors.set(own(k), None, &|i| {
            let bits = mixed(((k as u64) << 40) + i as u64);
            let part = |shift: u32| f64::from((bits >> shift) as u32) / f64::from(u32::MAX) - 0.5;
            Complex64::new(part(0), part(32))
        });
        let norm = run.vectors.orthogonalize([FIRST; 2], own(k), &mut h[..k], &mut again[..k]);
        run.compute(LinearCombination::of(own(k), &[((1.0 / norm).into(), own(k))]));
    }
}
