//! Test matrices with known properties.
//!
//! Indices in the formulas count from 1 to n, as in the sources. Every function accepts any n, including 0.
//!
//! # Source
//! N. J. Higham, The test matrix toolbox for MATLAB, and Accuracy and Stability of Numerical Algorithms, chapter 28.

use crate::random::Random;
use bandsolve::{Banded, Tridiagonal};

/// An open tridiagonal matrix from functions of the row, counted from 0.
pub fn from_rows(n: usize, row: impl Fn(usize) -> (f64, f64, f64)) -> Tridiagonal<'static, f64> {
    let (mut sub, mut diag, mut sup) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    for i in 0..n {
        (sub[i], diag[i], sup[i]) = row(i);
    }
    open(sub, diag, sup)
}

/// An open tridiagonal matrix from three arrays of length n. The function sets the entries outside the matrix to zero.
pub(crate) fn open(mut sub: Vec<f64>, diag: Vec<f64>, mut sup: Vec<f64>) -> Tridiagonal<'static, f64> {
    if let Some(first) = sub.first_mut() {
        *first = 0.0;
    }
    if let Some(last) = sup.last_mut() {
        *last = 0.0;
    }
    Tridiagonal::from_vecs(sub, diag, sup, false).expect("three arrays of length n are a tridiagonal matrix")
}

/// A tridiagonal matrix with constant diagonals.
pub fn toeplitz(n: usize, sub: f64, diag: f64, sup: f64) -> Tridiagonal<'static, f64> {
    from_rows(n, |_| (sub, diag, sup))
}

/// The matrix `gallery('lesp', n)`, with sensitive eigenvalues between approximately −2n − 3.5 and −4.5.
///
/// ```text
/// aᵢ,ᵢ₋₁ = 1/i,   aᵢᵢ = −(2i + 3),   aᵢ,ᵢ₊₁ = i + 1
/// ```
pub fn lesp(n: usize) -> Tridiagonal<'static, f64> {
    from_rows(n, |i| {
        let i = (i + 1) as f64;
        (1.0 / i, -(2.0 * i + 3.0), i + 1.0)
    })
}

/// The matrix `inv(gallery('kms', n, rho))`: the inverse of the Kac–Murdock–Szegő matrix, whose entries are ρ^|i−j|.
pub fn kms_inverse(n: usize, rho: f64) -> Tridiagonal<'static, f64> {
    let scale = 1.0 / (1.0 - rho * rho);
    from_rows(n, |i| {
        let diag = match (i == 0, i + 1 == n) {
            (true, true) => 1.0 - rho * rho,
            (false, false) => 1.0 + rho * rho,
            _ => 1.0,
        };
        (-rho * scale, diag * scale, -rho * scale)
    })
}

/// The matrix `gallery('dorr', n, theta)`: diagonally dominant in exact arithmetic, and ill-conditioned for small θ.
///
/// With h = 1/(n+1) and m = ⌊(n+1)/2⌋:
///
/// ```text
/// i ≤ m:   aᵢ,ᵢ₋₁ = −θ/h²,   aᵢ,ᵢ₊₁ = aᵢ,ᵢ₋₁ − (1/2 − i·h)/h
/// i > m:   aᵢ,ᵢ₊₁ = −θ/h²,   aᵢ,ᵢ₋₁ = aᵢ,ᵢ₊₁ + (1/2 − i·h)/h
/// aᵢᵢ = −(aᵢ,ᵢ₋₁ + aᵢ,ᵢ₊₁)
/// ```
///
/// The sum for aᵢᵢ includes entries outside the matrix.
pub fn dorr(n: usize, theta: f64) -> Tridiagonal<'static, f64> {
    let h = 1.0 / (n + 1) as f64;
    let term = theta / (h * h);
    from_rows(n, |i| {
        let i = i + 1;
        let drift = (0.5 - i as f64 * h) / h;
        let (sub, sup) = if i <= n.div_ceil(2) { (-term, -term - drift) } else { (-term + drift, -term) };
        (sub, -(sub + sup), sup)
    })
}

/// The matrix `gallery('clement', n, 0)`, with zero diagonal and the eigenvalues n−1, n−3, …, −(n−1). Singular for odd n.
///
/// ```text
/// aᵢ₊₁,ᵢ = n − i,   aᵢ,ᵢ₊₁ = i
/// ```
pub fn clement(n: usize) -> Tridiagonal<'static, f64> {
    from_rows(n, |i| ((n - i) as f64, 0.0, (i + 1) as f64))
}

/// The n singular values of [`randsvd`], in descending order (mode 5: in random order).
///
/// | mode | singular values |
/// | --- | --- |
/// | 1 | one large: 1, then 1/κ |
/// | 2 | one small: all 1, the last 1/κ |
/// | 3 | geometric: κ^(−(i−1)/(n−1)) |
/// | 4 | arithmetic: 1 − (i−1)/(n−1)·(1 − 1/κ) |
/// | 5 | random, their logarithms uniform in \[−ln κ, 0\] |
///
/// # Panics
/// If `mode` is not 1 … 5.
pub fn singular_values(n: usize, kappa: f64, mode: usize, random: &mut Random) -> Vec<f64> {
    let last = n.saturating_sub(1);
    let fraction = |i: usize| i as f64 / last.max(1) as f64;
    match mode {
        1 => (0..n).map(|i| if i == 0 { 1.0 } else { 1.0 / kappa }).collect(),
        2 => (0..n).map(|i| if i == last { 1.0 / kappa } else { 1.0 }).collect(),
        3 => (0..n).map(|i| libm::pow(kappa, -fraction(i))).collect(),
        4 => (0..n).map(|i| 1.0 - fraction(i) * (1.0 - 1.0 / kappa)).collect(),
        5 => (0..n).map(|_| libm::exp(-random.unit() * libm::log(kappa))).collect(),
        _ => panic!("randsvd has the modes 1 to 5, not {mode}"),
    }
}

/// A random banded matrix with given singular values: `gallery('randsvd', n, kappa, mode, lower, upper)`.
///
/// The function forms U·Σ·Vᵀ with random orthogonal U and V. It then reduces this matrix to the band by Householder reflections from both sides, which
/// do not change the singular values.
///
/// # Cost
/// Approximately 8n³ flops, and memory for n² numbers.
///
/// # Panics
/// If `mode` is not 1 … 5, or if `lower` and `upper` are both 0 (a finite number of reflections cannot diagonalise a matrix).
pub fn randsvd(n: usize, kappa: f64, mode: usize, lower: usize, upper: usize, seed: u64) -> Banded<'static, f64> {
    assert!(lower + upper > 0, "a random matrix cannot be reduced to a diagonal one in finitely many steps");
    let mut random = Random::new(seed);
    let sigma = singular_values(n, kappa, mode, &mut random);
    let mut a = Square::diagonal(&sigma);
    a.multiply_left_by_random_orthogonal(&mut random);
    a.transpose();
    a.multiply_left_by_random_orthogonal(&mut random);
    // Aᵀ stands there now, which is as random as A. Without upper diagonals the transposed matrix is reduced: the
    // reflections from the left must leave the columns alone that those from the right have done.
    if upper == 0 {
        a.reduce_to_band(upper, lower);
        a.transpose();
    } else {
        a.reduce_to_band(lower, upper);
    }
    a.band(lower, upper)
}

/// A random tridiagonal matrix with given singular values: [`randsvd`] with `lower` = `upper` = 1.
pub fn randsvd_tridiagonal(n: usize, kappa: f64, mode: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let a = randsvd(n, kappa, mode, 1, 1, seed);
    from_rows(n, |i| {
        let left = if i > 0 { a.get(i, i - 1) } else { 0.0 };
        let right = if i + 1 < n { a.get(i, i + 1) } else { 0.0 };
        (left, a.get(i, i), right)
    })
}

/// A banded matrix from a function of row and column.
pub fn banded(
    n: usize,
    lower: usize,
    upper: usize,
    mut entry: impl FnMut(usize, usize) -> f64,
) -> Banded<'static, f64> {
    let leading = lower + upper + 1;
    let mut bands = vec![0.0; n * leading];
    for j in 0..n {
        for i in j.saturating_sub(upper)..(j + lower + 1).min(n) {
            bands[upper + i - j + j * leading] = entry(i, j);
        }
    }
    Banded::from_vec(n, lower, upper, bands).expect("n columns of lower + upper + 1 entries are a banded matrix")
}

/// A dense square matrix in row-major order, the workspace of `randsvd`.
struct Square {
    n: usize,
    entries: Vec<f64>,
}

/// The reflection I − β·v·vᵀ.
struct Reflection {
    v: Vec<f64>,
    beta: f64,
}

impl Reflection {
    /// The reflection that maps x to ∓‖x‖·e₁, and ∓‖x‖.
    fn annihilate(x: &[f64]) -> (Self, f64) {
        let mut v = x.to_vec();
        let norm = v.iter().map(|a| a * a).sum::<f64>().sqrt();
        if norm == 0.0 {
            return (Self { v, beta: 0.0 }, 0.0);
        }
        let signed = if v[0] < 0.0 { -norm } else { norm };
        v[0] += signed;
        let beta = 1.0 / (signed * v[0]);
        (Self { v, beta }, -signed)
    }
}

impl Square {
    fn diagonal(values: &[f64]) -> Self {
        let n = values.len();
        let mut entries = vec![0.0; n * n];
        for (i, v) in values.iter().enumerate() {
            entries[i * n + i] = *v;
        }
        Self { n, entries }
    }

    fn transpose(&mut self) {
        for i in 0..self.n {
            for j in 0..i {
                self.entries.swap(i * self.n + j, j * self.n + i);
            }
        }
    }

    /// Rows `row…` and columns `column…` become (I − β·v·vᵀ) times themselves.
    fn reflect_rows(&mut self, h: &Reflection, row: usize, column: usize) {
        let mut product = vec![0.0; self.n - column];
        for (line, v) in self.entries.chunks_exact(self.n).skip(row).zip(&h.v) {
            product.iter_mut().zip(&line[column..]).for_each(|(p, a)| *p += v * a);
        }
        for (line, v) in self.entries.chunks_exact_mut(self.n).skip(row).zip(&h.v) {
            let factor = h.beta * v;
            line[column..].iter_mut().zip(&product).for_each(|(a, p)| *a -= factor * p);
        }
    }

    /// Rows `row…` and columns `column…` become themselves times (I − β·v·vᵀ).
    fn reflect_columns(&mut self, h: &Reflection, row: usize, column: usize) {
        for line in self.entries.chunks_exact_mut(self.n).skip(row) {
            let line = &mut line[column..];
            let factor = h.beta * line.iter().zip(&h.v).map(|(a, v)| a * v).sum::<f64>();
            line.iter_mut().zip(&h.v).for_each(|(a, v)| *a -= factor * v);
        }
    }

    /// A ← Q·A, Q from the Haar distribution: reflections of normal vectors of growing length, then random signs
    /// (G. W. Stewart, The efficient generation of random orthogonal matrices, SINUM 17, 1980).
    fn multiply_left_by_random_orthogonal(&mut self, random: &mut Random) {
        let n = self.n;
        let mut signs = vec![1.0; n];
        for k in (0..n).rev() {
            let (h, image) = Reflection::annihilate(&random.normal_vec(n - k, 0.0, 1.0));
            signs[k] = if image < 0.0 { -1.0 } else { 1.0 };
            if k + 1 < n {
                self.reflect_rows(&h, k, 0);
            }
        }
        for (line, sign) in self.entries.chunks_exact_mut(n.max(1)).zip(signs) {
            line.iter_mut().for_each(|a| *a *= sign);
        }
    }

    /// Orthogonal reduction to `lower` and `upper` ≥ 1 diagonals, MATLAB's `bandred`.
    fn reduce_to_band(&mut self, lower: usize, upper: usize) {
        let n = self.n;
        for k in 0..n {
            if k + lower + 1 < n {
                let below: Vec<f64> = (k + lower..n).map(|i| self.entries[i * n + k]).collect();
                let (h, image) = Reflection::annihilate(&below);
                self.reflect_rows(&h, k + lower, k);
                (k + lower..n).for_each(|i| self.entries[i * n + k] = 0.0);
                self.entries[(k + lower) * n + k] = image;
            }
            if k + upper + 1 < n {
                let (h, image) = Reflection::annihilate(&self.entries[k * n + k + upper..(k + 1) * n]);
                self.reflect_columns(&h, k, k + upper);
                self.entries[k * n + k + upper..(k + 1) * n].fill(0.0);
                self.entries[k * n + k + upper] = image;
            }
        }
    }

    fn band(&self, lower: usize, upper: usize) -> Banded<'static, f64> {
        banded(self.n, lower, upper, |i, j| self.entries[i * self.n + j])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(a: &Banded<'_, f64>) -> Vec<Vec<f64>> {
        (0..a.n()).map(|i| (0..a.n()).map(|j| a.get(i, j)).collect()).collect()
    }

    /// Singular values, smallest first, by one-sided Jacobi rotations of the columns.
    fn jacobi_svd(mut a: Vec<Vec<f64>>) -> Vec<f64> {
        let n = a.len();
        let dot = |a: &[Vec<f64>], p: usize, q: usize| a.iter().map(|r| r[p] * r[q]).sum::<f64>();
        for _ in 0..30 {
            for p in 0..n {
                for q in p + 1..n {
                    let (alpha, beta, gamma) = (dot(&a, p, p), dot(&a, q, q), dot(&a, p, q));
                    if gamma == 0.0 {
                        continue;
                    }
                    let zeta = (beta - alpha) / (2.0 * gamma);
                    let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
                    let c = 1.0 / t.hypot(1.0);
                    for r in &mut a {
                        (r[p], r[q]) = (c * (r[p] - t * r[q]), c * (t * r[p] + r[q]));
                    }
                }
            }
        }
        let mut sigma: Vec<f64> = (0..n).map(|p| dot(&a, p, p).sqrt()).collect();
        sigma.sort_by(f64::total_cmp);
        sigma
    }

    #[test]
    fn randsvd_has_the_singular_values_asked_for() {
        let (n, kappa) = (20, 1e3);
        for mode in 1..=5 {
            for (lower, upper) in [(1, 1), (2, 1), (0, 1), (1, 0), (3, 0), (0, 4), (19, 19)] {
                let seed = (mode * 100 + lower * 10 + upper) as u64;
                let a = randsvd(n, kappa, mode, lower, upper, seed);
                assert_eq!((a.n(), a.lower(), a.upper()), (n, lower, upper));
                let mut expected = singular_values(n, kappa, mode, &mut Random::new(seed));
                expected.sort_by(f64::total_cmp);
                // Each of about 4n reflections perturbs by a few ε in norm: 100·n·ε with room.
                for (got, want) in jacobi_svd(dense(&a)).iter().zip(&expected) {
                    assert!((got - want).abs() <= 100.0 * n as f64 * f64::EPSILON, "mode {mode}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn randsvd_of_any_size() {
        for n in 0..5 {
            for mode in 1..=5 {
                assert_eq!(randsvd_tridiagonal(n, 10.0, mode, 1).n(), n);
            }
        }
        let start = std::time::Instant::now();
        let a = randsvd_tridiagonal(512, 1e15, 3, 1);
        assert!((0..512).all(|i| a.row(i).1.is_finite()));
        println!("randsvd of size 512: {:?}", start.elapsed());
    }

    #[test]
    fn lesp_by_hand() {
        let a = lesp(3);
        assert_eq!([a.row(0), a.row(1), a.row(2)], [(0.0, -5.0, 2.0), (0.5, -7.0, 3.0), (1.0 / 3.0, -9.0, 0.0)]);
    }

    #[test]
    fn clement_by_hand() {
        let a = clement(4);
        let rows = [(0.0, 0.0, 1.0), (3.0, 0.0, 2.0), (2.0, 0.0, 3.0), (1.0, 0.0, 0.0)];
        assert_eq!([a.row(0), a.row(1), a.row(2), a.row(3)], rows);
    }

    #[test]
    fn kms_inverse_times_kms_is_the_identity() {
        for n in [1, 2, 3, 9] {
            let a = kms_inverse(n, 0.5);
            for j in 0..n {
                let column: Vec<f64> = (0..n).map(|i| 0.5_f64.powi(i.abs_diff(j) as i32)).collect();
                let unit = a.apply(&column).unwrap();
                for (i, v) in unit.iter().enumerate() {
                    // Three products of size at most 5/3.
                    assert!((v - f64::from(u8::from(i == j))).abs() <= 8.0 * f64::EPSILON, "{n} {i} {j} {v}");
                }
            }
        }
    }

    #[test]
    fn dorr_by_hand() {
        // n = 3, θ = 1/16: h = 1/4, term = 1, drift = 4(1/2 − i/4) = 1, 0, −1.
        let a = dorr(3, 1.0 / 16.0);
        assert_eq!([a.row(0), a.row(1), a.row(2)], [(0.0, 3.0, -2.0), (-1.0, 2.0, -1.0), (-2.0, 3.0, 0.0)]);
        // Interior rows add up to zero.
        let a = dorr(50, 1e-4);
        for i in 1..49 {
            let (b, d, c) = a.row(i);
            assert!((b + d + c).abs() <= 4.0 * f64::EPSILON * d.abs());
        }
    }
}
