//! Diagonal preconditioners.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, equations (39) to (43).

use crate::csr::Csr;
use crate::rows::each_row;
use bandsolve::dyn_stack::PodStack;
use bandsolve::matrix::Index;
use bandsolve::memory::zeroed;
use bandsolve::vectors::{PIECE, divide, each_piece};
use bandsolve::{Error, LinearOperator, Op, RealScalar, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

/// The rule for the diagonal matrix that approximates A.
///
/// With dᵢ = aᵢᵢ, sᵢ = Σ |aᵢⱼ| over j ≠ i, and u(d) = d/|d| (1 if d = 0), each variant gives element i of the diagonal.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, DiagonalRule};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -3.0), (1, 1, 4.0)])?;
/// assert_eq!(DiagonalRule::Jacobi.of(&a)?, [2.0, 4.0]);
/// assert_eq!(DiagonalRule::P1.of(&a)?, [3.0, 4.0]);
/// assert_eq!(DiagonalRule::L1.of(&a)?, [5.0, 4.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagonalRule {
    /// dᵢ, as in Jacobi's method.
    Jacobi,
    /// u(dᵢ)·max(|dᵢ|, sᵢ). The result is weakly diagonally dominant over row i of A.
    P1,
    /// u(dᵢ)·(|dᵢ| + sᵢ).
    P2,
    /// dᵢ + u(dᵢ)·sᵢ, as in the ℓ₁ smoother.
    L1,
}

impl DiagonalRule {
    /// All rules.
    pub(super) const ALL: [Self; 4] = [Self::Jacobi, Self::P1, Self::P2, Self::L1];

    /// The name of the preconditioner.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Jacobi => "jacobi",
            Self::P1 => "diagp1",
            Self::P2 => "diagp2",
            Self::L1 => "l1",
        }
    }

    /// Compute the diagonal for a matrix.
    ///
    /// # Errors
    /// [`Error::Singular`] with the first row whose element is 0, NaN or infinite. [`Error::OutOfMemory`].
    pub fn of<T: Scalar, I: Index>(self, a: &Csr<'_, T, I>) -> Result<Vec<T>> {
        let mut diagonal = zeroed(a.rows())?;
        each_row(&mut diagonal, &|i, entry| {
            let d = a.row(i).filter(|(j, _)| *j == i).fold(T::ZERO, |sum, (_, value)| sum + value);
            let modulus = Scalar::abs(d).to_f64();
            let s = sum_of_moduli(a.row(i).map(|(_, value)| Scalar::abs(value).to_f64())) - modulus;
            let unit = if modulus > 0.0 { d.scale(T::Real::from_f64(1.0 / modulus)) } else { T::ONE };
            let real = |v: f64| T::Real::from_f64(v);
            *entry = match self {
                Self::Jacobi => d,
                // A dominant diagonal entry stays as it is, without rounding.
                Self::P1 if modulus >= s => d,
                Self::P1 => unit.scale(real(s)),
                Self::P2 => unit.scale(real(modulus + s)),
                // For a positive d, omit u(d) and its rounding error.
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

/// The sum of a row, in the order of summation that NumPy uses for rows of up to 128 entries: the first element, plus eight partial sums of the
/// others. The order matters if two weights differ by rounding errors only.
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

/// The inverse of a diagonal matrix as a preconditioner: z = D⁻¹·r.
///
/// # Cost
/// One application costs one operation and 3 words of memory traffic per row.
///
/// # Examples
/// ```
/// use bandsolve::{LinearOperator, dyn_stack::PodStack};
/// use bandsolve_sparse::{Csr, DiagonalInverse, DiagonalRule};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -3.0), (1, 1, 4.0)])?;
/// let m = DiagonalInverse::new(&a, DiagonalRule::Jacobi)?;
/// let mut z = [0.0; 2];
/// m.apply(&[1.0, 1.0], &mut z, PodStack::new(&mut []))?;
/// assert_eq!(z, [0.5, 0.25]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiagonalInverse<T: Scalar> {
    inverse: Vec<T>,
}

impl<T: Scalar> DiagonalInverse<T> {
    /// Invert the diagonal that `rule` computes for a matrix.
    ///
    /// # Errors
    /// As [`DiagonalRule::of`].
    pub fn new<I: Index>(a: &Csr<'_, T, I>, rule: DiagonalRule) -> Result<Self> {
        let mut inverse = rule.of(a)?;
        inverse.iter_mut().for_each(|d| *d = divide(T::ONE, *d));
        Ok(Self { inverse })
    }

    /// The diagonal of D⁻¹.
    pub fn diagonal(&self) -> &[T] {
        &self.inverse
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

    /// A diagonal entry of any sign, or complex direction, grows by the moduli of the off-diagonal entries.
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
