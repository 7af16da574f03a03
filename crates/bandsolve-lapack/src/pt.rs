//! Positive definite tridiagonal matrices: L·D·Lᴴ in LAPACK's storage.
//!
//! A is Hermitian with a real diagonal; L is unit lower bidiagonal, D a positive diagonal matrix:
//!
//! ```text
//! A = L·D·Lᴴ,   d₀ = a₀₀,   lᵢ = aᵢ₊₁,ᵢ / dᵢ,   dᵢ₊₁ = aᵢ₊₁,ᵢ₊₁ − lᵢ·conj(aᵢ₊₁,ᵢ)
//! ```
//!
//! The off-diagonal array contains the entries below the diagonal ([`TriangleSide::Lower`]) or above it.

use crate::norm::{self, MatrixNorm};
use crate::number::{divided, larger, power_of_two_near};
use crate::refine::{FactoredMatrix, MatrixEntries};
use bandsolve::{Op, RealScalar, Scalar};

/// The triangle that the off-diagonal array contains. The other triangle is its conjugate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriangleSide {
    /// Below the diagonal.
    Lower,
    /// Above the diagonal.
    Upper,
}

impl TriangleSide {
    /// Convert an entry of this side to one below the diagonal, or back.
    #[inline(always)]
    pub fn below<T: Scalar>(self, e: T) -> T {
        if self == TriangleSide::Lower { e } else { Scalar::conj(e) }
    }
}

/// A matrix with n diagonal and n − 1 off-diagonal entries, or its factors: D and the off-diagonal entries of L.
#[derive(Debug, Clone, Copy)]
pub struct Symmetric<'a, T: Scalar> {
    /// Diagonal.
    pub diag: &'a [T::Real],
    /// Off-diagonal entries.
    pub off: &'a [T],
    /// The side of the off-diagonal entries.
    pub side: TriangleSide,
}

/// Factor in place. Stops at the first row whose pivot is not positive, and returns this row.
///
/// # Cost
/// Per row: one division and 3 other operations; 2 words read and written.
pub fn factor<T: Scalar>(diag: &mut [T::Real], off: &mut [T]) -> Option<usize> {
    let (first, rest) = diag.split_first_mut()?;
    // The pivot stays in a register: each row needs that of the row before.
    let mut pivot = *first;
    for (i, (e, next)) in off.iter_mut().zip(rest).enumerate() {
        if pivot <= T::Real::ZERO {
            return Some(i);
        }
        let below = *e;
        *e = divided(below, pivot);
        pivot = *next - if T::COMPLEX { e.re() * below.re() + e.im() * below.im() } else { e.re() * below.re() };
        *next = pivot;
    }
    (pivot <= T::Real::ZERO).then(|| diag.len() - 1)
}

impl<T: Scalar> Symmetric<'_, T> {
    /// v ← |(L·D·Lᴴ)⁻¹|·v.
    ///
    /// Each entry of the inverse of a bidiagonal matrix is a single product. The terms in each sum of L⁻ᴴ·D⁻¹·L⁻¹ have
    /// the same sign. The moduli can therefore be computed first.
    pub fn solve_moduli(&self, v: &mut [T::Real]) {
        let n = self.n();
        for i in 1..n {
            let before = v[i - 1];
            v[i] += self.off[i - 1].abs() * before;
        }
        for i in (0..n).rev() {
            let after = if i + 1 < n { self.off[i].abs() * v[i + 1] } else { T::Real::ZERO };
            v[i] = v[i] / self.diag[i] + after;
        }
    }

    /// 1/(‖A‖₁·‖A⁻¹‖₁) of the matrix with these factors, exact except for rounding errors. `norm` = ‖A‖₁, and `v` is
    /// scratch.
    ///
    /// # Source
    /// N. J. Higham, SIAM J. Sci. Stat. Comput. 7 (1986).
    pub fn reciprocal_condition(&self, norm: T::Real, v: &mut [T::Real]) -> T::Real {
        if self.n() == 0 {
            return T::Real::ONE;
        }
        if norm == T::Real::ZERO || self.diag.iter().any(|d| *d <= T::Real::ZERO) {
            return T::Real::ZERO;
        }
        // The condition of s·A⁻¹·s with s² ≈ ‖A‖, so that A and A⁻¹ can be near the ends of the exponent range.
        let s = power_of_two_near(norm.sqrt());
        v.fill(s);
        self.solve_moduli(v);
        let inverse = v.iter().fold(T::Real::ZERO, |m, v| m.max_nan(*v * s));
        let product = inverse * (norm / s / s);
        // The inverse of a singular matrix overflows, or contains NaN.
        if product.is_nan() { T::Real::ZERO } else { T::Real::ONE / product }
    }

    /// A norm of the matrix.
    pub fn norm(&self, norm: MatrixNorm) -> T::Real {
        norm::tridiagonal(norm, (self.off, self.diag, self.off))
    }
}

impl<T: Scalar> MatrixEntries<T> for Symmetric<'_, T> {
    fn row_entries(&self) -> usize {
        3
    }

    #[inline(always)]
    fn visit(&self, mut visit: impl FnMut(usize, usize, T)) {
        let n = self.diag.len();
        for i in 0..n {
            if i > 0 {
                visit(i, i - 1, self.side.below(self.off[i - 1]));
            }
            visit(i, i, T::from_real(self.diag[i]));
            if i + 1 < n {
                visit(i, i + 1, Scalar::conj(self.side.below(self.off[i])));
            }
        }
    }
}

/// The implementation is valid if these are the factors of A.
impl<T: Scalar> FactoredMatrix<T> for Symmetric<'_, T> {
    fn n(&self) -> usize {
        self.diag.len()
    }

    /// x ← (L·D·Lᴴ)⁻¹·x
    fn solve(&self, op: Op, x: &mut [T]) {
        debug_assert!(op != Op::Transpose);
        let Some((first, rest)) = x.split_first_mut() else { return };
        // The last result stays in a register: each row needs that of its neighbour.
        let mut before = *first;
        for (x, l) in rest.iter_mut().zip(self.off) {
            before = *x - self.side.below(*l) * before;
            *x = before;
        }
        let last = x.len() - 1;
        let mut after = divided(x[last], self.diag[last]);
        x[last] = after;
        for ((x, d), l) in x[..last].iter_mut().zip(self.diag).zip(self.off).rev() {
            after = divided(*x, *d) - Scalar::conj(self.side.below(*l)) * after;
            *x = after;
        }
    }

    fn amplify(&self, _: Op, w: &mut [T::Real], _first: &mut [T], _second: &mut [T]) -> T::Real {
        self.solve_moduli(w);
        w.iter().fold(T::Real::ZERO, |m, w| larger(*w, m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refine::{FactoredSystem, RefineScratch, refine};
    use crate::testing::{TestRng, largest};
    use bandsolve::Complex64;

    /// A diagonally dominant matrix and its factors, for off-diagonal entries from either side.
    fn system(n: usize, side: TriangleSide) -> [(Vec<f64>, Vec<Complex64>); 2] {
        let mut rng = TestRng(3);
        let diag: Vec<f64> = (0..n).map(|_| 3.0 + rng.real()).collect();
        let below = rng.vector::<Complex64>(n - 1).iter().map(|e| e * 0.7).collect::<Vec<_>>();
        let (mut d, mut l) = (diag.clone(), below.clone());
        assert_eq!(factor(&mut d, &mut l), None);
        let on_side = |v: Vec<Complex64>| v.iter().map(|e| side.below(*e)).collect();
        [(diag, on_side(below)), (d, on_side(l))]
    }

    #[test]
    fn solutions_bounds_and_conditions() {
        let n = 30;
        for side in [TriangleSide::Lower, TriangleSide::Upper] {
            let [(diag, off), (d, l)] = system(n, side);
            let a = Symmetric { diag: &diag, off: &off, side };
            let factors = Symmetric { diag: &d, off: &l, side };
            let expected = TestRng(5).vector::<Complex64>(n);
            let entry = |i: usize, j: usize| match () {
                () if i == j => Complex64::from(diag[i]),
                () if i == j + 1 => side.below(off[j]),
                () if j == i + 1 => side.below(off[i]).conj(),
                () => Complex64::ZERO,
            };
            let rhs: Vec<Complex64> = (0..n).map(|i| (0..n).map(|j| entry(i, j) * expected[j]).sum()).collect();
            let mut x = rhs.clone();
            factors.solve(Op::Plain, &mut x);
            x[3] += 1e-3; // an error that refinement must remove
            let (mut weights, mut first) = (vec![0.0; n], vec![Complex64::ZERO; n]);
            let scratch = RefineScratch { weights: &mut weights, first: &mut first, second: &mut [] };
            let bounds = refine(&FactoredSystem { a, factors, op: Op::Plain }, &rhs, &mut x, scratch);
            let error = largest(x.iter().zip(&expected).map(|(x, e)| (x - e).norm()));
            let size = largest(x.iter().map(|x| x.norm()));
            assert!(bounds.backward <= f64::EPSILON && bounds.forward <= 100.0 * f64::EPSILON, "{bounds:?}");
            // The right-hand side has rounding errors too, from sums of three products.
            assert!(error <= 2.0 * bounds.forward * size, "{error:.1e}, bound {:.1e}", bounds.forward * size);
            // The columns of the inverse, one by one.
            let inverse = (0..n).map(|j| {
                let mut e = vec![Complex64::ZERO; n];
                e[j] = Complex64::ONE;
                factors.solve(Op::Plain, &mut e);
                e.iter().map(|e| e.norm()).sum::<f64>()
            });
            let exact = 1.0 / (largest(inverse) * a.norm(MatrixNorm::One));
            let ours = factors.reciprocal_condition(a.norm(MatrixNorm::One), &mut weights);
            assert!((ours / exact - 1.0).abs() < 1e-13, "{ours} {exact}");
        }
    }

    #[test]
    fn conditions_at_the_ends_of_the_range() {
        for number in [f64::MAX, 1.0, f64::MIN_POSITIVE, 1e-310] {
            let a = Symmetric::<f64> { diag: &[number], off: &[], side: TriangleSide::Lower };
            // The last number has 47 bits.
            assert!((a.reciprocal_condition(number, &mut [0.0]) - 1.0).abs() < 1e-13, "{number}");
        }
    }

    #[test]
    fn the_first_minor_that_is_not_positive_is_reported() {
        let (mut d, mut e) = (vec![2.0, 2.0, 0.5, 2.0], vec![1.0, 1.0, 1.0]);
        // 2, 3/2, 1/2 − 2/3 < 0
        assert_eq!(factor(&mut d, &mut e), Some(2));
        assert_eq!(factor::<f64>(&mut [-1.0], &mut []), Some(0));
        assert_eq!(factor::<f64>(&mut [], &mut []), None);
    }
}
