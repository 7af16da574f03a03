//! Generalized eigenvectors of two symmetric tridiagonal matrices A and M, where M is positive definite.
//!
//! The steps are:
//!
//! 1. M = LLᵀ, where L is bidiagonal.
//! 2. C = L⁻¹AL⁻ᵀ.
//! 3. Householder reflections reduce C to tridiagonal form.
//! 4. The QL iteration computes C = QΛQᵀ.
//! 5. V = L⁻ᵀQ.
//!
//! # Source
//! - Steps 1, 2 and 5: R. S. Martin, J. H. Wilkinson, Numer. Math. 11 (1968), 99–110.
//! - Reflections: R. S. Martin, C. Reinsch, J. H. Wilkinson, Numer. Math. 11 (1968), 181–195.
//! - QL: the sources of the module `dense`.

use super::axis::AxisPencil;
use crate::dense::{Pairs, diagonalize};
use crate::reflections::reflected;
use bandsolve::Result;
use bandsolve::memory::{allocate, reserved};

/// The diagonal and the subdiagonal of L, or `None` if M is not positive definite.
fn cholesky(m: &[Vec<f64>; 3]) -> Result<Option<[Vec<f64>; 2]>> {
    let n = m[1].len();
    let (mut diag, mut sub) = (reserved(n)?, reserved(n)?);
    for [pivot, beside] in pivots(m) {
        if pivot.is_nan() || pivot <= 0.0 {
            return Ok(None);
        }
        diag.push(pivot.sqrt());
        sub.push(beside);
    }
    Ok(Some([diag, sub]))
}

/// For each row of L, the square of the diagonal entry and the subdiagonal entry.
fn pivots(m: &[Vec<f64>; 3]) -> impl Iterator<Item = [f64; 2]> + '_ {
    let mut before = 0.0f64;
    (0..m[1].len()).map(move |i| {
        let beside = if i > 0 { m[0][i] / before.sqrt() } else { 0.0 };
        before = m[1][i] - beside * beside;
        [before, beside]
    })
}

/// Whether M is positive definite.
pub(super) fn is_definite(m: &[Vec<f64>; 3]) -> bool {
    pivots(m).all(|[pivot, _]| pivot > 0.0)
}

/// Whether generalized eigenvectors make A and M diagonal. The condition is a symmetric A and a symmetric positive definite M.
pub(crate) fn has_eigenvectors(axis: &AxisPencil) -> bool {
    axis.is_symmetric() && is_definite(&axis.m)
}

/// Eigenvalues, and V with VᵀAV = Λ and VᵀMV = I. V is stored column by column. All values are NaN if M is not positive definite.
///
/// # Cost
/// Approximately 6n³ flops.
pub(super) fn eigenvectors(axis: &AxisPencil) -> Result<Pairs> {
    let n = axis.len();
    let entries = n.saturating_mul(n);
    let Some([diag, sub]) = cholesky(&axis.m)? else {
        return Ok((allocate(n, f64::NAN)?, allocate(entries, f64::NAN)?));
    };
    let mut c = allocate(entries, 0.0)?;
    for i in 0..n {
        c[i * n + i] = axis.a[1][i];
        if i > 0 {
            let beside = 0.5 * (axis.a[0][i] + axis.a[2][i - 1]);
            (c[i * n + i - 1], c[(i - 1) * n + i]) = (beside, beside);
        }
    }
    // C = (L⁻¹ (L⁻¹A)ᵀ)ᵀ = L⁻¹AL⁻ᵀ, since A is symmetric.
    for _ in 0..2 {
        for i in 0..n {
            let (above, row) = c.split_at_mut(i * n);
            let before = if i > 0 { &above[(i - 1) * n..] } else { &[][..] };
            row[..n].iter_mut().zip(before).for_each(|(x, y)| *x -= sub[i] * y);
            row[..n].iter_mut().for_each(|x| *x /= diag[i]);
        }
        transpose_square(&mut c, n);
    }
    let (mut d, mut e, mut q) = reflected(c, n)?;
    diagonalize(&mut d, &mut e, &mut q)?;
    // V = L⁻ᵀQ
    for v in q.chunks_exact_mut(n.max(1)) {
        for i in (0..n).rev() {
            let ahead = if i + 1 < n { sub[i + 1] * v[i + 1] } else { 0.0 };
            v[i] = (v[i] - ahead) / diag[i];
        }
    }
    rayleigh_quotients(axis, &mut d, &q);
    Ok((d, q))
}

/// Recompute the eigenvalues as Rayleigh quotients:
///
/// `vᵀAv = Σᵢ (Σⱼ aᵢⱼ) vᵢ² − Σᵢ a(i, i+1) (vᵢ − vᵢ₊₁)²`
///
/// Small eigenvalues then have more correct digits than after QL. An example is the eigenvalue of the constant vector if the row sums of A
/// are close to 0.
fn rayleigh_quotients(axis: &AxisPencil, values: &mut [f64], vectors: &[f64]) {
    let (n, [sub, diag, sup]) = (axis.len(), &axis.a);
    for (value, v) in values.iter_mut().zip(vectors.chunks_exact(n.max(1))) {
        let row = |i: usize| {
            let diagonal = (sub[i] + diag[i] + sup[i]) * v[i] * v[i];
            let ahead = |next: &f64| 0.5 * (sup[i] + sub[i + 1]) * (v[i] - next) * (v[i] - next);
            diagonal - v.get(i + 1).map_or(0.0, ahead)
        };
        *value = (0..n).map(row).sum();
    }
}

/// Transpose an n × n matrix in place.
fn transpose_square(c: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            c.swap(i * n + j, j * n + i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_matrices_become_diagonal() {
        for n in [1usize, 2, 3, 5, 17, 40] {
            let step: Vec<f64> = (0..=n).map(|i| 0.5 + ((i * 7) % 5) as f64).collect();
            let beside = |f: &dyn Fn(f64) -> f64| -> Vec<f64> { step.iter().map(|h| f(*h)).collect() };
            let (s, m) = (beside(&|h| -1.0 / h), beside(&|h| h / 6.0));
            let diag = |f: &dyn Fn(f64) -> f64| -> Vec<f64> { step.windows(2).map(|h| f(h[0]) + f(h[1])).collect() };
            let (sd, md) = (diag(&|h| 1.0 / h), diag(&|h| h / 3.0));
            let axis = AxisPencil::new([&s[..n], &sd, &s[1..]], [&m[..n], &md, &m[1..]]);
            let (values, v) = eigenvectors(&axis).unwrap();
            let form = |x: &[Vec<f64>; 3], a: usize, b: usize| -> f64 {
                let row = |i: usize| {
                    let at = |j: usize| v[b * n + j];
                    let below = if i > 0 { x[0][i] * at(i - 1) } else { 0.0 };
                    below + x[1][i] * at(i) + if i + 1 < n { x[2][i] * at(i + 1) } else { 0.0 }
                };
                (0..n).map(|i| v[a * n + i] * row(i)).sum()
            };
            let most = values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            for a in 0..n {
                for b in 0..n {
                    let one = f64::from(u8::from(a == b));
                    assert!((form(&axis.m, a, b) - one).abs() < 1e-14 * (n + 9) as f64);
                    assert!((form(&axis.a, a, b) - one * values[a]).abs() < 1e-14 * (n + 9) as f64 * most);
                }
            }
        }
    }
}
