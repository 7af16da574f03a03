//! The condition of a factored matrix, estimated with a few solves.

use bandsolve::{RealScalar, Scalar};
use bandsolve_kernel::estimate::norm_1;
use core::convert::Infallible;

/// An upper bound of 1/(‖A‖₁·‖A⁻¹‖₁), in most cases within a factor of three of it; 0 if A⁻¹ cannot be had.
///
/// `norm` is ‖A‖₁, `solve` replaces v by A⁻¹·v, `solve_adjoint` by A⁻ᴴ·v. For the norm ‖·‖∞ exchange the two.
///
/// # Shapes and cost
/// As [`norm_1`], of the matrix s·A⁻¹·s with s² ≈ ‖A‖: neither A nor A⁻¹ near the ends of the range does harm.
pub fn reciprocal<T: Scalar>(
    norm: T::Real,
    solve: impl Fn(&mut [T]),
    solve_adjoint: impl Fn(&mut [T]),
    v: &mut [T],
    sign: &mut [T],
) -> T::Real {
    let s = power_of_two_near(norm.sqrt());
    let Ok(inverse) = norm_1([v, sign], |adjoint, v: &mut [T]| {
        v.iter_mut().for_each(|v| *v = v.scale(s));
        if adjoint {
            solve_adjoint(v)
        } else {
            solve(v)
        }
        v.iter_mut().for_each(|v| *v = v.scale(s));
        Ok::<_, Infallible>(())
    });
    let product = T::Real::from_f64(inverse) * (norm / s / s);
    if product == T::Real::ZERO { T::Real::ZERO } else { T::Real::ONE / product }
}

/// A power of two within a factor of two of x; 1 if x is zero or not finite.
fn power_of_two_near<R: RealScalar>(x: R) -> R {
    if x.is_finite() && x > R::ZERO { R::ONE / x.normalizer() } else { R::ONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_at_the_ends_of_the_range() {
        for e in [-305, -150, 0, 150, 305] {
            let s = 10f64.powi(e);
            let diagonal = [4.0 * s, 1.0 * s, 0.5 * s];
            let solve = |v: &mut [f64]| v.iter_mut().zip(&diagonal).for_each(|(v, d)| *v /= d);
            let c = reciprocal(4.0 * s, solve, solve, &mut [0.0; 3], &mut [0.0; 3]);
            assert!((c - 0.125).abs() < 1e-15, "{e}: {c}");
        }
        let singular = |v: &mut [f64]| v.iter_mut().for_each(|v| *v /= 0.0);
        assert_eq!(reciprocal(1.0, singular, singular, &mut [0.0; 3], &mut [0.0; 3]), 0.0);
    }
}
