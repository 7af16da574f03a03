//! Diagonal preconditioners.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, equations (39) to (43).

use crate::csr::Csr;
use crate::rows::each_row;
use bandsolve::dyn_stack::PodStack;
use bandsolve::matrix::Index;
use bandsolve::vectors::{PIECE, divide, each_piece};
use bandsolve::{Error, LinearOperator, Op, RealScalar, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// Which diagonal stands for a matrix. With dᵢ = aᵢᵢ, sᵢ = Σ_{j≠i} |aᵢⱼ| and u(d) = d/|d| (1 for 0):
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagonalRule {
    /// dᵢ: Jacobi's method.
    Jacobi,
    /// u(dᵢ)·max(|dᵢ|, sᵢ): as dominant as the row needs it.
    P1,
    /// u(dᵢ)·(|dᵢ| + sᵢ).
    P2,
    /// dᵢ + u(dᵢ)·sᵢ: the ℓ₁ smoother.
    L1,
}

impl DiagonalRule {
    /// The diagonal of a matrix.
    ///
    /// # Errors
    /// [`Error::Singular`] with the first row in which it is 0 or not finite.
    pub fn of<T: Scalar, I: Index>(self, a: &Csr<'_, T, I>) -> Result<Vec<T>> {
        let mut diagonal = vec![T::ZERO; a.rows()];
        each_row(&mut diagonal, &|i, own| {
            let d = a.row(i).filter(|(j, _)| *j == i).fold(T::ZERO, |sum, (_, value)| sum + value);
            let modulus = Scalar::abs(d).to_f64();
            let s = sum_of_moduli(a.row(i).map(|(_, value)| Scalar::abs(value).to_f64())) - modulus;
            let unit = if modulus > 0.0 { d.scale(T::Real::from_f64(1.0 / modulus)) } else { T::ONE };
            let real = |v: f64| T::Real::from_f64(v);
            *own = match self {
                Self::Jacobi => d,
                // As it is, where it is dominant.
                Self::P1 if modulus >= s => d,
                Self::P1 => unit.scale(real(s)),
                Self::P2 => unit.scale(real(modulus + s)),
                // Without a rounding of u(d), where d is positive.
                Self::L1 if d == T::from_real(real(modulus)) => d + T::from_real(real(s)),
                Self::L1 => d + unit.scale(real(s)),
            };
            0
        });
        match diagonal.iter().position(|d| *d == T::ZERO || !Scalar::is_finite(*d)) {
            Some(row) => Err(Error::Singular { row }),
            None => Ok(diagonal),
        }
    }
}

/// The sum of a row: its first element, and the others in eight sums side by side. The order matters where couplings are compared
/// that differ by rounding alone: it is that of NumPy, in rows of up to 128 entries.
fn sum_of_moduli(mut moduli: impl Iterator<Item = f64>) -> f64 {
    let first = moduli.next().unwrap_or(0.0);
    let (mut sums, mut whole, mut buffer, mut filled) = ([0.0; 8], false, [0.0; 8], 0);
    for value in moduli {
        buffer[filled] = value;
        filled += 1;
        if filled == 8 {
            sums.iter_mut().zip(buffer).for_each(|(sum, value)| *sum += value);
            (whole, filled) = (true, 0);
        }
    }
    let pair = |k: usize| sums[k] + sums[k + 1];
    let sum = if whole { (pair(0) + pair(2)) + (pair(4) + pair(6)) } else { 0.0 };
    first + buffer[..filled].iter().fold(sum, |sum, value| sum + value)
}

/// z = D⁻¹·r.
#[derive(Debug, Clone)]
pub struct DiagonalInverse<T: Scalar> {
    inverse: Vec<T>,
}

impl<T: Scalar> DiagonalInverse<T> {
    /// The inverse of the diagonal that stands for a matrix.
    ///
    /// # Errors
    /// As [`DiagonalRule::of`].
    pub fn new<I: Index>(a: &Csr<'_, T, I>, rule: DiagonalRule) -> Result<Self> {
        Ok(Self { inverse: rule.of(a)?.into_iter().map(|d| divide(T::ONE, d)).collect() })
    }
}

impl<T: Scalar> LinearOperator<T> for DiagonalInverse<T> {
    fn rows(&self) -> usize {
        self.inverse.len()
    }

    fn columns(&self) -> usize {
        self.inverse.len()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        each_piece(y.len(), RowsOf(y, PIECE), &|rows, y| {
            for ((y, x), d) in y.0.iter_mut().zip(&x[rows.clone()]).zip(&self.inverse[rows]) {
                *y = *x * if op == Op::ConjTranspose { d.conj() } else { *d };
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve::Complex64;

    /// A diagonal of any sign, or direction, grows by what stands beside it.
    #[test]
    fn l1_keeps_the_direction_of_the_diagonal() {
        let a = Csr::<f64>::from_triplets(3, 3, &[(0, 0, -2.0), (0, 1, 2.0), (1, 1, 3.0), (1, 2, -1.0), (2, 0, 4.0)]);
        assert_eq!(DiagonalRule::L1.of(&a.unwrap()).unwrap(), [-4.0, 4.0, 4.0]);
        let (d, coupling) = (Complex64::new(3.0, -4.0), Complex64::new(0.0, 5.0));
        let a = Csr::<Complex64>::from_triplets(2, 2, &[(0, 0, d), (0, 1, coupling), (1, 1, -d)]).unwrap();
        let got = DiagonalRule::L1.of(&a).unwrap();
        assert!((got[0] - 2.0 * d).norm() < 1e-15 && got[1] == -d, "{got:?}");
    }
}
