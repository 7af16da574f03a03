//! Eigenvalues of a small Hermitian matrix by Jacobi rotations.
//!
//! # Source
//! G. H. Golub, C. F. Van Loan, Matrix computations, 4th edition, section 8.5: cyclic Jacobi.

use super::{ProjectedMatrix, ZERO};
use bandsolve::{Complex64, Error, Result};

/// The maximum number of sweeps over all pairs. Convergence is quadratic, so approximately 10 are enough.
const SWEEPS: usize = 40;

/// Compute λ and U of A = U·diag(λ)·Uᴴ. A may differ from Aᴴ by rounding errors.
///
/// # Cost
/// Approximately 10 sweeps of 24·n³ flops.
///
/// # Errors
/// [`Error::NotConverged`] if A is not finite or the sweeps do not converge, [`Error::OutOfMemory`].
pub fn hermitian_eigen(mut a: ProjectedMatrix) -> Result<(Vec<f64>, ProjectedMatrix)> {
    let n = a.rows();
    let norm = a.norm();
    let failed = Error::NotConverged { backward_error: f64::NAN, refinement_steps: SWEEPS };
    if !a.is_finite() {
        return Err(failed);
    }
    let mut u = ProjectedMatrix::identity(n)?;
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                rotated |= annihilate(&mut a, &mut u, (p, q), norm);
            }
        }
        if !rotated {
            return Ok(((0..n).map(|k| a[(k, k)].re).collect(), u));
        }
    }
    let error = (0..n).flat_map(|j| (0..j).map(move |i| (i, j))).map(|place| a[place].norm()).fold(0.0, f64::max);
    if error <= 4.0 * f64::EPSILON * norm { Ok(((0..n).map(|k| a[(k, k)].re).collect(), u)) } else { Err(failed) }
}

/// Annihilate entry (p, q) by a rotation. If the entry is negligible, set it to zero and return `false`.
fn annihilate(a: &mut ProjectedMatrix, u: &mut ProjectedMatrix, (p, q): (usize, usize), norm: f64) -> bool {
    let (app, aqq, apq) = (a[(p, p)].re, a[(q, q)].re, a[(p, q)]);
    let r = apq.norm();
    if r <= 0.5 * f64::EPSILON * (app.abs() * aqq.abs()).sqrt() || r <= f64::EPSILON * f64::EPSILON * norm {
        (a[(p, q)], a[(q, p)]) = (ZERO, ZERO);
        return false;
    }
    let tau = (aqq - app) / (2.0 * r);
    let t = if tau < 0.0 { -1.0 } else { 1.0 } / (tau.abs() + tau.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    // With a_pq = r·e^(iφ), the columns become p ← c·p − s·e^(−iφ)·q and q ← s·e^(iφ)·p + c·q.
    let s = -(t * c) * (apq / r);
    a.rotate_columns((p, q), (c, s), a.rows());
    a.rotate_rows((p, q), (c, s), 0);
    u.rotate_columns((p, q), (c, s), u.rows());
    (a[(p, p)], a[(q, q)]) = (Complex64::from(app - t * r), Complex64::from(aqq + t * r));
    (a[(p, q)], a[(q, p)]) = (ZERO, ZERO);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::unit;

    fn check(a: &ProjectedMatrix) -> Vec<f64> {
        let (values, u) = hermitian_eigen(a.copy().unwrap()).unwrap();
        let n = a.rows();
        let mut scaled = u.copy().unwrap();
        (0..n).for_each(|j| scaled.column_mut(j).iter_mut().for_each(|x| *x *= values[j]));
        let au = a.times(&u).unwrap();
        let residual = (0..n).flat_map(|j| (0..n).map(move |i| (i, j))).map(|at| (au[at] - scaled[at]).norm());
        // Sums of n terms have errors of n·ε. Each entry takes part in a few rotations per sweep.
        let allowed = 20.0 * n as f64 * f64::EPSILON;
        assert!(residual.fold(0.0, f64::max) <= allowed * a.norm(), "{values:?}");
        let gram = u.adjoint().and_then(|adjoint| adjoint.times(&u)).unwrap();
        for i in 0..n {
            (0..n).for_each(|j| assert!((gram[(i, j)] - f64::from(u8::from(i == j))).norm() <= allowed));
        }
        values
    }

    #[test]
    fn residuals_and_orthogonality() {
        for n in [0, 1, 2, 3, 8, 31] {
            let mut a = ProjectedMatrix::zeros(n, n).unwrap();
            for j in 0..n {
                for i in 0..=j {
                    let [re, im] = [0, 1].map(|part| unit(7, (2 * (i + n * j) + part) as u64));
                    (a[(i, j)], a[(j, i)]) = (Complex64::new(re, im), Complex64::new(re, -im));
                }
                a[(j, j)].im = 0.0;
            }
            check(&a);
        }
    }

    #[test]
    fn graded_multiple_and_zero() {
        assert_eq!(check(&ProjectedMatrix::zeros(4, 4).unwrap()), [0.0; 4]);
        assert_eq!(check(&ProjectedMatrix::identity(5).unwrap()), [1.0; 5]);
        let mut flip = ProjectedMatrix::zeros(2, 2).unwrap();
        (flip[(0, 1)], flip[(1, 0)]) = (Complex64::new(0.0, 1.0), Complex64::new(0.0, -1.0));
        let mut values = check(&flip);
        values.sort_by(f64::total_cmp);
        assert!((values[0] + 1.0).abs() < 1e-15 && (values[1] - 1.0).abs() < 1e-15);
        let mut nan = ProjectedMatrix::identity(2).unwrap();
        nan[(0, 1)].re = f64::NAN;
        assert!(hermitian_eigen(nan).is_err());
    }
}
