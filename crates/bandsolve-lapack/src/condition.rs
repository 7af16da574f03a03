//! The 1-norm of a matrix that is known by its products only.

use crate::number::{divide, larger};
use bandsolve::{RealScalar, Scalar};

/// Steps after which the search for a larger column ends.
const MAX_STEPS: usize = 5;

/// A lower bound of ‖B‖₁, in most cases within a factor of three of it.
///
/// $$ \|B\|_1 = \max_{\|x\|_1 = 1} \|Bx\|_1 $$
///
/// The norm is convex in x, so its maximum is taken at a unit vector. From the mean of all of them the search climbs: at x
/// the subgradient is Bᴴ·sign(Bx), and its largest entry says which unit vector is next. A vector of growing entries with
/// alternating signs guards against matrices that are made to deceive.
///
/// `apply` replaces v by B·v, `apply_adjoint` by Bᴴ·v. The result is infinite if a product is not finite.
///
/// # Shapes
/// `v` and `sign` are scratch of length n > 0.
///
/// # Cost
/// At most 6 products with B and 5 with Bᴴ, mostly 3 and 2.
///
/// # Source
/// W. W. Hager, SIAM J. Sci. Stat. Comput. 5 (1984); N. J. Higham, ACM TOMS 14 (1988), algorithm 4.1.
///
/// ```
/// let diagonal = [1.0, -7.0, 3.0];
/// let times = |v: &mut [f64]| v.iter_mut().zip(&diagonal).for_each(|(v, d)| *v *= d);
/// assert_eq!(lapack_bandsolve::condition::norm1(times, times, &mut [0.0; 3], &mut [0.0; 3]), 7.0);
/// ```
pub fn norm1<T: Scalar>(
    mut apply: impl FnMut(&mut [T]),
    mut apply_adjoint: impl FnMut(&mut [T]),
    v: &mut [T],
    sign: &mut [T],
) -> T::Real {
    let n = v.len();
    v.fill(T::from_real(T::Real::ONE / real(n)));
    apply(v);
    let mut estimate = sum(v);
    if n == 1 {
        return finite(estimate);
    }
    sign.fill(T::ZERO);
    let mut last = n;
    for _ in 0..MAX_STEPS {
        if !take_signs(v, sign) {
            break;
        }
        v.copy_from_slice(sign);
        apply_adjoint(v);
        let next = largest(v);
        if next == last || (last < n && v[next].abs() <= v[last].abs()) {
            break;
        }
        last = next;
        v.fill(T::ZERO);
        v[next] = T::ONE;
        apply(v);
        let reached = sum(v);
        if !(reached > estimate) {
            estimate = if reached.is_nan() { reached } else { estimate };
            break;
        }
        estimate = reached;
    }
    alternate(v);
    apply(v);
    let other = sum(v) * T::Real::from_f64(2.0) / (T::Real::from_f64(3.0) * real(n));
    finite(estimate.max_nan(other))
}

/// An upper bound of 1/(‖A‖₁·‖A⁻¹‖₁), in most cases within a factor of three of it; 0 if A⁻¹ cannot be had.
///
/// `norm` is ‖A‖₁, `solve` replaces v by A⁻¹·v, `solve_adjoint` by A⁻ᴴ·v. For the norm ‖·‖∞ exchange the two.
///
/// # Shapes and cost
/// As [`norm1`], of the matrix s·A⁻¹·s with s² ≈ ‖A‖: neither A nor A⁻¹ near the ends of the range does harm.
pub fn reciprocal<T: Scalar>(
    norm: T::Real,
    solve: impl Fn(&mut [T]),
    solve_adjoint: impl Fn(&mut [T]),
    v: &mut [T],
    sign: &mut [T],
) -> T::Real {
    let s = power_of_two_near(norm.sqrt());
    let around = |v: &mut [T], solve: &dyn Fn(&mut [T])| {
        v.iter_mut().for_each(|v| *v = v.scale(s));
        solve(v);
        v.iter_mut().for_each(|v| *v = v.scale(s));
    };
    let product = norm1(|v| around(v, &solve), |v| around(v, &solve_adjoint), v, sign) * (norm / s / s);
    if product == T::Real::ZERO { T::Real::ZERO } else { T::Real::ONE / product }
}

/// A power of two within a factor of two of x; 1 if x is zero or not finite.
fn power_of_two_near<R: RealScalar>(x: R) -> R {
    if x.is_finite() && x > R::ZERO { R::ONE / x.normalizer() } else { R::ONE }
}

fn real<R: RealScalar>(n: usize) -> R {
    R::from_f64(n as f64)
}

fn finite<R: RealScalar>(x: R) -> R {
    if x.is_finite() { x } else { R::INFINITY }
}

fn sum<T: Scalar>(v: &[T]) -> T::Real {
    v.iter().fold(T::Real::ZERO, |s, v| s + v.abs())
}

fn largest<T: Scalar>(v: &[T]) -> usize {
    let mut best = (v[0].abs(), 0);
    for (i, v) in v.iter().enumerate().skip(1) {
        if v.abs() > best.0 {
            best = (v.abs(), i);
        }
    }
    best.1
}

/// sign ← v/|v|, 1 where v is 0; whether this changed anything.
fn take_signs<T: Scalar>(v: &[T], sign: &mut [T]) -> bool {
    let mut changed = false;
    for (v, sign) in v.iter().zip(sign) {
        let size = v.abs();
        let new = if size > T::Real::ZERO { divide(*v, T::from_real(size)) } else { T::ONE };
        changed |= new != *sign;
        *sign = new;
    }
    changed
}

/// 1, −(1 + 1/(n−1)), 1 + 2/(n−1), …, ±2
fn alternate<T: Scalar>(v: &mut [T]) {
    let step = T::Real::ONE / larger(real(v.len() - 1), T::Real::ONE);
    for (i, v) in v.iter_mut().enumerate() {
        let size = T::Real::ONE + real::<T::Real>(i) * step;
        *v = T::from_real(if i % 2 == 0 { size } else { -size });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;
    use bandsolve::Complex64;

    /// Exact 1-norm and the estimate of a dense matrix.
    fn both<T: Scalar<Real = f64>>(n: usize, entry: impl Fn(usize, usize) -> T) -> (f64, f64) {
        let times = |v: &mut [T]| {
            let old = v.to_vec();
            (0..n).for_each(|i| v[i] = (0..n).fold(T::ZERO, |s, j| s + entry(i, j) * old[j]));
        };
        let adjoint = |v: &mut [T]| {
            let old = v.to_vec();
            (0..n).for_each(|i| v[i] = (0..n).fold(T::ZERO, |s, j| s + Scalar::conj(entry(j, i)) * old[j]));
        };
        let exact = (0..n).map(|j| (0..n).map(|i| Scalar::abs(entry(i, j))).sum::<f64>()).fold(0.0, f64::max);
        (exact, norm1(times, adjoint, &mut vec![T::ZERO; n], &mut vec![T::ZERO; n]))
    }

    #[test]
    fn never_above_and_mostly_near() {
        let mut rng = Rng(1);
        for n in [1, 2, 3, 10, 40] {
            for _ in 0..20 {
                let a: Vec<f64> = rng.vector(n * n);
                let (exact, estimate) = both(n, |i, j| a[i + j * n]);
                assert!(estimate <= exact * (1.0 + 1e-13) && 3.0 * estimate >= exact, "{estimate} of {exact}");
                let a: Vec<Complex64> = rng.vector(n * n);
                let (exact, estimate) = both(n, |i, j| a[i + j * n]);
                assert!(estimate <= exact * (1.0 + 1e-13) && 3.0 * estimate >= exact, "{estimate} of {exact}");
            }
        }
        // Entries that cancel for the first vector, which is all that a search from there would see.
        let (exact, estimate) = both::<f64>(6, |i, j| if i == 0 { [1.0, -1.0][j % 2] } else { 0.0 });
        assert_eq!((exact, estimate), (1.0, 1.0));
    }

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
