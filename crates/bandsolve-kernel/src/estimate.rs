//! Estimate the 1-norm of a matrix from products with vectors.

use crate::number::{RealScalar, Scalar};

/// Maximum number of unit vectors. Two are nearly always sufficient.
const MAX_ROUNDS: usize = 5;

/// A lower bound of ‖B‖₁, rarely less than a third of it.
///
/// `apply(false, x)` replaces x by B·x, and `apply(true, x)` replaces it by Bᴴ·x. The result is infinite if a product
/// is not finite.
///
/// ‖B‖₁ is the maximum of ‖Bx‖₁ over ‖x‖₁ ≤ 1, which is attained at a unit vector. The estimator starts at x = (1/n, …,
/// 1/n) and ascends. Each step computes the gradient z = Bᴴ·sign(Bx), whose largest component determines the next unit
/// vector. Finally, a vector of alternating signs is tried, for matrices that are constructed to stop the ascent.
///
/// # Shapes
/// `x` and `signs` are scratch of length n.
///
/// # Cost
/// At most 7 products with B and 5 with Bᴴ, usually 3 and 2.
///
/// # Errors
/// Those of `apply`.
///
/// # Source
/// Higham, ACM TOMS 14 (1988) 381, algorithm 4.1, with the sign of a complex number y/|y|.
///
/// # Examples
/// ```
/// let diagonal = [1.0, -7.0, 3.0];
/// let times = |_, v: &mut [f64]| Ok::<_, ()>(v.iter_mut().zip(&diagonal).for_each(|(v, d)| *v *= d));
/// assert_eq!(bandsolve_kernel::estimate::norm_1([&mut [0.0; 3], &mut [0.0; 3]], times), Ok(7.0));
/// ```
pub fn norm_1<T: Scalar, E>(
    [x, signs]: [&mut [T]; 2],
    mut apply: impl FnMut(bool, &mut [T]) -> Result<(), E>,
) -> Result<f64, E> {
    let n = x.len();
    x.fill(T::from_real(T::Real::from_f64(1.0 / n as f64)));
    apply(false, x)?;
    let mut estimate = sum_of_moduli(x);
    if n < 2 || !estimate.is_finite() {
        return Ok(finite(estimate));
    }
    signs.fill(T::ZERO);
    let mut tried = None;
    for _ in 0..MAX_ROUNDS {
        x.iter_mut().for_each(|v| *v = sign(*v));
        if x == signs {
            break;
        }
        signs.copy_from_slice(x);
        apply(true, x)?;
        let Some((steepest, slope)) = largest(x) else { return Ok(f64::INFINITY) };
        if tried.is_some_and(|j: usize| Scalar::abs(x[j]).to_f64() >= slope) {
            break;
        }
        tried = Some(steepest);
        x.fill(T::ZERO);
        x[steepest] = T::ONE;
        apply(false, x)?;
        let norm = finite(sum_of_moduli(x));
        if norm.is_infinite() {
            return Ok(norm);
        }
        if norm <= estimate {
            break;
        }
        estimate = norm;
    }
    for (i, v) in x.iter_mut().enumerate() {
        let size = 1.0 + i as f64 / (n - 1) as f64;
        *v = T::from_real(T::Real::from_f64(if i % 2 == 0 { size } else { -size }));
    }
    apply(false, x)?;
    Ok(estimate.max(finite(2.0 * sum_of_moduli(x) / (3.0 * n as f64))))
}

/// The number, or infinity if it is NaN.
fn finite(v: f64) -> f64 {
    if v.is_nan() { f64::INFINITY } else { v }
}

fn sum_of_moduli<T: Scalar>(x: &[T]) -> f64 {
    x.iter().map(|v| Scalar::abs(*v).to_f64()).sum()
}

/// x/|x|, or 1 if x is 0 or too small to divide by.
fn sign<T: Scalar>(x: T) -> T {
    let modulus = Scalar::abs(x);
    if modulus >= T::Real::MIN_POSITIVE { x.scale(T::Real::ONE / modulus) } else { T::ONE }
}

/// The index and the value of the first of the largest moduli. `None` if one is not finite.
fn largest<T: Scalar>(z: &[T]) -> Option<(usize, f64)> {
    let mut best = (0, -1.0);
    for (i, v) in z.iter().enumerate() {
        let modulus = Scalar::abs(*v).to_f64();
        if !modulus.is_finite() {
            return None;
        }
        if modulus > best.1 {
            best = (i, modulus);
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex64;

    fn estimate(b: &[&[f64]]) -> f64 {
        let n = b.len();
        let product = |transposed: bool, x: &mut [f64]| {
            let entry = |i: usize, j: usize| if transposed { b[j][i] } else { b[i][j] };
            let y: Vec<f64> = (0..n).map(|i| (0..n).map(|j| entry(i, j) * x[j]).sum()).collect();
            x.copy_from_slice(&y);
            Ok::<_, ()>(())
        };
        norm_1([&mut vec![0.0; n], &mut vec![0.0; n]], product).unwrap()
    }

    #[test]
    fn norms_by_hand() {
        assert_eq!(estimate(&[&[-3.0]]), 3.0);
        assert_eq!(estimate(&[&[1.0, 2.0], &[3.0, -4.0]]), 6.0);
        assert_eq!(estimate(&[&[0.0, 0.0], &[0.0, 0.0]]), 0.0);
        // The columns cancel at the start and in every gradient. The ascent ends at ½, and the alternating vector (1,
        // −3/2, 2) gives 2·6/9 of 2.
        let estimated = estimate(&[&[1.0, -1.0, 0.0], &[-1.0, 1.0, 0.0], &[0.0, 0.0, 0.5]]);
        assert!((estimated - 4.0 / 3.0).abs() < 1e-15, "{estimated}");
    }

    /// Pseudorandom numbers in [−1, 1).
    fn random(n: usize, seed: &mut u64) -> Vec<f64> {
        let mut next = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    /// The exact 1-norm of a dense matrix, and its estimate.
    fn both<T: Scalar<Real = f64>>(n: usize, entry: impl Fn(usize, usize) -> T) -> (f64, f64) {
        let product = |adjoint: bool, v: &mut [T]| {
            let entry = |i: usize, j: usize| if adjoint { Scalar::conj(entry(j, i)) } else { entry(i, j) };
            let old = v.to_vec();
            (0..n).for_each(|i| v[i] = (0..n).fold(T::ZERO, |s, j| s + entry(i, j) * old[j]));
            Ok::<_, ()>(())
        };
        let exact = (0..n).map(|j| (0..n).map(|i| Scalar::abs(entry(i, j))).sum::<f64>()).fold(0.0, f64::max);
        (exact, norm_1([&mut vec![T::ZERO; n], &mut vec![T::ZERO; n]], product).unwrap())
    }

    #[test]
    fn never_above_and_mostly_near() {
        let mut seed = 1;
        for n in [1, 2, 3, 10, 40] {
            for _ in 0..20 {
                let (a, b) = (random(n * n, &mut seed), random(n * n, &mut seed));
                let (exact, estimate) = both(n, |i, j| a[i + j * n]);
                assert!(estimate <= exact * (1.0 + 1e-13) && 3.0 * estimate >= exact, "{estimate} of {exact}");
                let (exact, estimate) = both(n, |i, j| Complex64::new(a[i + j * n], b[i + j * n]));
                assert!(estimate <= exact * (1.0 + 1e-13) && 3.0 * estimate >= exact, "{estimate} of {exact}");
            }
        }
        // Entries that cancel for the first vector, which hides all of them from a search that starts there.
        let (exact, estimate) = both::<f64>(6, |i, j| if i == 0 { [1.0, -1.0][j % 2] } else { 0.0 });
        assert_eq!((exact, estimate), (1.0, 1.0));
    }

    #[test]
    fn what_is_not_finite_is_infinite() {
        assert_eq!(estimate(&[&[f64::NAN, 1.0], &[1.0, 1.0]]), f64::INFINITY);
        assert_eq!(estimate(&[&[f64::MAX, f64::MAX], &[1.0, 1.0]]), f64::INFINITY);
    }
}
