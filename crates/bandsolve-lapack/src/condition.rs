//! The condition of a factored matrix, estimated with a few solves.

use crate::number::power_of_two_near;
use crate::refine::FactoredMatrix;
use bandsolve::{Op, RealScalar, Scalar};
use bandsolve_kernel::estimate::norm_1;
use core::convert::Infallible;

/// Estimate 1/(‖A‖₁·‖A⁻¹‖₁), or 1/(‖A‖∞·‖A⁻¹‖∞) if `infinity`.
///
/// The result is an upper bound, usually within a factor of three; it is 0 if A⁻¹ does not exist. `norm` is ‖A‖.
///
/// # Shapes
/// `work` has 2n elements.
///
/// # Cost
/// As [`norm_1`], applied to s·A⁻¹·s with s² ≈ ‖A‖. This scaling allows entries of A or A⁻¹ near the limits of the
/// number type.
pub fn reciprocal<T: Scalar>(
    factors: &impl FactoredMatrix<T>,
    infinity: bool,
    norm: T::Real,
    work: &mut [T],
) -> T::Real {
    if factors.n() == 0 {
        return T::Real::ONE;
    }
    if norm == T::Real::ZERO {
        return T::Real::ZERO;
    }
    let s = power_of_two_near(norm.sqrt());
    let (v, sign) = work.split_at_mut(factors.n());
    let Ok(inverse) = norm_1([v, sign], |adjoint, v: &mut [T]| {
        v.iter_mut().for_each(|v| *v = v.scale(s));
        factors.solve(if adjoint == infinity { Op::Plain } else { Op::ConjTranspose }, v);
        v.iter_mut().for_each(|v| *v = v.scale(s));
        Ok::<_, Infallible>(())
    });
    let product = T::Real::from_f64(inverse) * (norm / s / s);
    if product == T::Real::ZERO { T::Real::ZERO } else { T::Real::ONE / product }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Diagonal([f64; 3]);

    impl FactoredMatrix<f64> for Diagonal {
        fn n(&self) -> usize {
            3
        }
        fn solve(&self, _: Op, v: &mut [f64]) {
            v.iter_mut().zip(self.0).for_each(|(v, d)| *v /= d);
        }
    }

    #[test]
    fn conditions_at_the_ends_of_the_range() {
        for e in [-305, -150, 0, 150, 305] {
            let s = 10f64.powi(e);
            let c = reciprocal(&Diagonal([4.0 * s, 1.0 * s, 0.5 * s]), e > 0, 4.0 * s, &mut [0.0; 6]);
            assert!((c - 0.125).abs() < 1e-15, "{e}: {c}");
        }
        assert_eq!(reciprocal(&Diagonal([0.0; 3]), false, 1.0, &mut [0.0; 6]), 0.0);
    }
}
