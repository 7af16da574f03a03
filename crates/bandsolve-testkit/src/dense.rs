//! Determinants and componentwise errors, computed in double-double from the dense matrix, for small n.

use bandsolve::{Complex64, Scalar};
use bandsolve_gallery::oracle::{MatrixRows, largest_exponent, scaled_row, shifted};
use bandsolve_gallery::wide::{Double, DoubleComplex, Wide, power_of_two};

/// Compute det A / |det A| and ln |det A| by dense LU with partial pivoting of the row-scaled matrix. (0, −∞) if elimination finds no pivot.
///
/// The relative error of det A is about 1e-30 times n times the condition number of the row-scaled matrix.
pub fn determinant<T: Scalar>(a: &impl MatrixRows<T>) -> (Complex64, f64) {
    let (pivots, exponents) = eliminate_any(a);
    let (mut phase, mut log) = (Complex64::new(1.0, 0.0), 0.0);
    for pivot in pivots {
        let size = libm::hypot(pivot.re, pivot.im);
        if size == 0.0 {
            return (Complex64::default(), f64::NEG_INFINITY);
        }
        phase *= pivot / size;
        log += size.ln();
    }
    (phase, log + exponents as f64 * core::f64::consts::LN_2)
}

/// Compute the moduli of the pivots of the same elimination. The last one is zero if elimination finds no pivot.
///
/// The rows are scaled to largest entries in \[1, 2). If columns 0 … k are linearly dependent, one of the first k + 1 pivots is at the level of rounding
/// errors, about 1e-30.
pub fn pivots<T: Scalar>(a: &impl MatrixRows<T>) -> Vec<f64> {
    eliminate_any(a).0.iter().map(|pivot| libm::hypot(pivot.re, pivot.im)).collect()
}

fn eliminate_any<T: Scalar>(a: &impl MatrixRows<T>) -> (Vec<Complex64>, i64) {
    if T::COMPLEX { eliminate::<T, DoubleComplex>(a) } else { eliminate::<T, Double>(a) }
}

/// The pivots up to the first zero, negative if rows were exchanged, and the power of two by which all rows together were divided.
fn eliminate<T: Scalar, W: Wide>(a: &impl MatrixRows<T>) -> (Vec<Complex64>, i64) {
    let n = a.n();
    let mut lu = vec![vec![W::ZERO; n]; n];
    let (mut entries, mut row) = (Vec::new(), Vec::<(usize, W)>::new());
    let mut exponents = 0i64;
    for (i, dense) in lu.iter_mut().enumerate() {
        exponents += i64::from(scaled_row(a, i, &mut entries, &mut row));
        row.iter().for_each(|(j, v)| dense[*j] = *v);
    }
    let mut pivots = Vec::with_capacity(n);
    for k in 0..n {
        let pivot = (k..n).fold(k, |p, i| if lu[i][k].abs() > lu[p][k].abs() { i } else { p });
        lu.swap(pivot, k);
        let (re, im) = lu[k][k].parts();
        let value = Complex64::new(re, im);
        pivots.push(if pivot == k { value } else { -value });
        if lu[k][k].abs() == 0.0 {
            break;
        }
        let (done, rest) = lu.split_at_mut(k + 1);
        for row in rest {
            let factor = row[k] / done[k][k];
            row.iter_mut().zip(&done[k]).skip(k).for_each(|(v, p)| *v = *v - factor * *p);
        }
    }
    (pivots, exponents)
}

/// Compute the componentwise backward error maxᵢ |r|ᵢ / (|A||x| + |rhs|)ᵢ, with the residual r = rhs − A·x in double-double, and 0/0 = 0. NaN if an
/// input is not finite.
///
/// # Panics
/// If `rhs` or `x` does not have n elements.
pub fn componentwise_error<T: Scalar>(a: &impl MatrixRows<T>, rhs: &[T], x: &[T]) -> f64 {
    assert_eq!((a.n(), a.n()), (rhs.len(), x.len()), "one right-hand side");
    if T::COMPLEX { largest_ratio::<T, DoubleComplex>(a, rhs, x) } else { largest_ratio::<T, Double>(a, rhs, x) }
}

fn largest_ratio<T: Scalar, W: Wide>(a: &impl MatrixRows<T>, rhs: &[T], x: &[T]) -> f64 {
    if x.iter().chain(rhs).any(|v| !Scalar::is_finite(*v)) {
        return f64::NAN;
    }
    // A number in units of a power of two near it, and its exponent.
    let split = |v: T| {
        let e = if v == T::ZERO { 0 } else { largest_exponent(v) };
        let (re, im) = shifted(v, -e);
        (W::from_parts(re, im), e)
    };
    let mut entries = Vec::new();
    let mut largest: f64 = 0.0;
    for (i, d) in rhs.iter().enumerate() {
        a.entries(i, &mut entries);
        if entries.iter().any(|(_, v)| !Scalar::is_finite(*v)) {
            return f64::NAN;
        }
        let minus = W::from_parts(-1.0, 0.0);
        let mut terms: Vec<(W, i32)> = vec![split(*d)];
        for (j, v) in &entries {
            let ((v, e), (x, f)) = (split(*v), split(x[*j]));
            terms.push((minus * v * x, e + f));
        }
        terms.retain(|(v, _)| v.abs() > 0.0);
        let unit = terms.iter().map(|(_, e)| *e).max().unwrap_or(0);
        // Terms below 2⁻⁹⁰⁰ times the largest one are negligible.
        let terms = terms.iter().filter(|(_, e)| e - unit > -900).map(|(v, e)| v.scale(power_of_two(e - unit)));
        let size: f64 = terms.clone().map(|v| v.abs()).sum();
        let residual = terms.fold(W::ZERO, |sum, v| sum + v).abs();
        if residual > 0.0 {
            largest = largest.max(residual / size);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve::Tridiagonal;
    use bandsolve_gallery::matrices::{clement, toeplitz};

    #[test]
    fn determinants_by_hand() {
        // tridiag(−1, 2, −1) has determinant n + 1.
        for n in 0..20 {
            let (phase, log) = determinant(&toeplitz(n, -1.0, 2.0, -1.0));
            assert!(phase.re == 1.0 && (log - ((n + 1) as f64).ln()).abs() < 1e-14, "n = {n}");
        }
        // Clement's of odd size is singular; of size 4 its eigenvalues are ±1, ±3.
        assert_eq!(determinant(&clement(5)), (Complex64::default(), f64::NEG_INFINITY));
        let (phase, log) = determinant(&clement(4));
        assert!(phase.re == 1.0 && (log - 9f64.ln()).abs() < 1e-14);
        let i = Complex64::new(0.0, 1.0);
        let (phase, log) = determinant(&Tridiagonal::new(&[i], &[i, i], &[i + i]).unwrap());
        assert!((phase - 1.0).norm() < 1e-15 && log.abs() < 1e-15); // i·i − i·2i = 1
    }

    #[test]
    fn componentwise_errors_by_hand() {
        // [2 1; 1 2]·(1, −1) = (1, −1); rhs (1, −1.5): row 1 is off by 0.5 of 1 + 2 + 1.5.
        let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0]).unwrap();
        assert_eq!(componentwise_error(&a, &[1.0, -1.5], &[1.0, -1.0]), 0.5 / 4.5);
        assert_eq!(componentwise_error(&a, &[0.0, 0.0], &[0.0, 0.0]), 0.0);
        assert_eq!(componentwise_error(&a, &[1e300, 0.0], &[0.0, 0.0]), 1.0);
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(componentwise_error(&a, &[1.0, -1.0], &[1.0, bad]).is_nan());
            assert!(componentwise_error(&a, &[bad, -1.0], &[1.0, -1.0]).is_nan());
            let diag = [2.0, bad];
            let a = Tridiagonal::new(&[1.0], &diag, &[1.0]).unwrap();
            assert!(componentwise_error(&a, &[1.0, -1.0], &[1.0, -1.0]).is_nan());
        }
    }

    #[test]
    fn pivots_by_hand() {
        // Rows scaled to [0.5 1], [1 1.5], and exchanged: the second pivot is 1 − 0.5·1.5.
        let a = Tridiagonal::new(&[2.0], &[4.0, 3.0], &[8.0]).unwrap();
        assert_eq!(pivots(&a), [1.0, 0.25]);
        // [1 1 0; 1 1 1; 0 1 1] needs an exchange; Clement's of size 5 is singular in its last column.
        let a = toeplitz(3, 1.0, 1.0, 1.0);
        assert_eq!(pivots(&a), [1.0, 1.0, 1.0]);
        assert_eq!(pivots(&clement(5))[4], 0.0);
        // A zero column ends it.
        let a = Tridiagonal::new(&[1.0, 0.0], &[1.0, 0.0, 1.0], &[0.0, 1.0]).unwrap();
        assert_eq!(pivots(&a), [1.0, 0.0]);
    }
}
