//! Powers of two that scale problems with extreme numbers.

use crate::problem::{SearchOperator, SpectralTransform};
use bandsolve::Complex64;
use bandsolve::vectors::Operator;
use bandsolve_kernel::exact::{exponent, ldexp};

/// Exponents a and b of powers of two, for the scaled problem 2^a·A·x' = λ'·2^b·B·x'. b is even.
///
/// So λ' = 2^(a−b)·λ and, in the norm of B, x = 2^(b/2)·x'. In the scaled problem, squares of A, of θ = 1/(λ − σ) and of their products
/// neither overflow nor underflow. Problems with numbers of ordinary size are not scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ProblemScaling {
    pub a: i32,
    pub b: i32,
}

impl ProblemScaling {
    /// The scaling for operators with these norms. `double` says whether the numbers are in double precision.
    pub fn of([a, b]: [f64; 2], operator: SearchOperator, double: bool) -> Self {
        let sigma = operator.shift().map_or(0.0, |sigma| sigma.norm());
        // Squares of numbers with exponents up to this one are in the range of the type, with a margin.
        let usual = if double { 200 } else { 40 };
        let power = |size: f64| match exponent(size) {
            exponent if size > 0.0 && size.is_finite() && exponent.abs() > usual => -exponent,
            _ => 0,
        };
        let of_b = if operator.mass { power(b) } else { 0 };
        Self { a: power(a.max(sigma * b)), b: of_b - of_b % 2 }
    }

    /// The exponent of the factor of an operator.
    pub fn power(self, operator: Operator, transform: SpectralTransform) -> i32 {
        match operator {
            Operator::Matrix => self.a,
            Operator::Mass => self.b,
            Operator::Preconditioner | Operator::Step(_) if transform == SpectralTransform::Mass => -self.b,
            Operator::Preconditioner | Operator::Step(_) => -self.a,
        }
    }

    /// The exponent c in λ = 2^c·λ'.
    pub fn of_values(self) -> i32 {
        self.b - self.a
    }

    /// The norms of A and B in the scaled problem.
    pub fn norms(self, [a, b]: [f64; 2]) -> [f64; 2] {
        [ldexp(a, self.a), ldexp(b, self.b)]
    }

    /// The norms of A and B from those in the scaled problem.
    pub fn norms_back(self, [a, b]: [f64; 2]) -> [f64; 2] {
        [ldexp(a, -self.a), ldexp(b, -self.b)]
    }

    /// The operator of the scaled problem.
    pub fn operator(self, operator: SearchOperator) -> SearchOperator {
        let sigma = |sigma| times_power(sigma, -self.of_values());
        let transform = match operator.transform {
            SpectralTransform::Shifted(shift) => SpectralTransform::Shifted(sigma(shift)),
            SpectralTransform::Cayley(shift) => SpectralTransform::Cayley(sigma(shift)),
            other => other,
        };
        SearchOperator { transform, ..operator }
    }
}

/// 2^power·value.
pub(super) fn times_power(value: Complex64, power: i32) -> Complex64 {
    Complex64::new(ldexp(value.re, power), ldexp(value.im, power))
}
