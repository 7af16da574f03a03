//! The condition of a problem, and the limit at which its solution can have no correct digit.

use crate::scalar::PoissonScalar;
use bandsolve::RealScalar;

/// The condition of a problem, and whether rounding decides its smallest eigenvalue.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// An estimate of the reciprocal condition number; NaN if not known.
    pub rcond: f64,
    /// Whether the smallest eigenvalue is a difference of larger numbers, so rounding errors can be as large as the eigenvalue.
    pub cancelling: bool,
}

impl Condition {
    /// A bound of the rounding errors of the coefficients, relative to each row, if the smallest eigenvalue is a difference. Otherwise 0.
    ///
    /// Coefficients for variable spacing have four rounding errors, and the sum of three axes and c has four more. Then the coefficients are rounded to
    /// `T`. Without a difference, these errors change the smallest eigenvalue by a small relative amount only.
    pub fn rounding<T: PoissonScalar>(&self) -> f64 {
        if self.cancelling { 0.5 * RealScalar::to_f64(T::EPSILON) + 4.0 * f64::EPSILON } else { 0.0 }
    }

    /// Whether u can have no correct digit, because the smallest eigenvalue may have either sign.
    ///
    /// Two errors are added. Rounding of the coefficients to `T` changes eigenvalues by at most ε_T/2·S. The closed formulas, in double precision, have
    /// a relative error of 5ε. This error is at most 2.5ε·S if λ₁ + λ₂ + λ₃ = −c, because the sum of these two numbers is at most S.
    pub fn is_hopeless<T: PoissonScalar>(&self) -> bool {
        let limit = 0.5 * RealScalar::to_f64(T::EPSILON) + 2.5 * f64::EPSILON;
        self.cancelling && self.rcond <= limit
    }
}
