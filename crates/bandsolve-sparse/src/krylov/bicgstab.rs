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
use super::run::{KrylovRun, broken};
use super::vectors::{ONE, R, own};
use bandsolve::vectors::{LinearCombination, VectorId, divide};
use bandsolve::{Complex64, Result};

/// Iterate from x, which has the residual r.
pub(super) fn cycle(run: &mut KrylovRun<'_>, monitor: &mut Monitor<'_>) -> Result<Ending> {
    let x = VectorId::Solution;
    let [shadow, p, v, p_hat, s_hat, t] = core::array::from_fn(own);
    // r̂₀ = r, p = r, ρ = r̂₀ᴴ·r
    run.vectors.copy(R, shadow);
    run.vectors.copy(R, p);
    let mut rho = run.vectors.dot(shadow, R);
    loop {
        // p̂ = M⁻¹·p, v = A·p̂
        run.precondition(p, p_hat)?;
        run.apply(p_hat, v)?;
        // α = ρ / (r̂₀ᴴ·v)
        let product = run.vectors.dot(shadow, v);
        let alpha = divide(rho, product);
        if !alpha.is_finite() || alpha.norm() == 0.0 {
            return Ok(broken(&[rho, product]));
        }
        // s = r − α·v
        run.compute(LinearCombination::add_to(R, &[(-alpha, v)]));
        // ŝ = M⁻¹·s, t = A·ŝ
        run.precondition(R, s_hat)?;
        run.apply(s_hat, t)?;
        // ω = (tᴴ·s) / (tᴴ·t). If t = 0 and the matrix is regular, then s = 0, and the first half of the step already gives x.
        let mut sums = [Complex64::default(); 2];
        run.vectors.combine(&[], &[(t, R), (t, t)], &mut sums);
        let size = run.vectors.root(sums[1].re, t);
        let omega = if size > 0.0 { sums[0] / size / size } else { Complex64::default() };
        // x ← x + α·p̂ + ω·ŝ, r = s − ω·t, with the next ρ = r̂₀ᴴ·r and ‖r‖₂
        let (steps, along) = ([(alpha, p_hat), (omega, s_hat)], [(-omega, t)]);
        let both = [LinearCombination::add_to(x, &steps), LinearCombination::add_to(R, &along)];
        run.vectors.combine(&both, &[(shadow, R), (R, R)], &mut sums);
        let [next, squared] = sums;
        let norm = run.vectors.root(squared.re, R);
        if let Some(ending) = monitor.step_to(norm, run.vectors) {
            return Ok(ending);
        }
        // β = (ρ_next / ρ)·(α / ω)
        let beta = divide(next, rho) * divide(alpha, omega);
        if !beta.is_finite() || beta.norm() == 0.0 {
            return Ok(broken(&[next, omega]));
        }
        rho = next;
        // p = r + β·(p − ω·v)
        run.compute(LinearCombination { out: p, plus: Some(R), factor: beta, terms: &[(ONE, p), (-omega, v)] });
    }
}
