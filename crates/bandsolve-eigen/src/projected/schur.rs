//! The Schur form of a small matrix by shifted QR steps, with eigenvalues in any order.
//!
//! # Source
//! G. H. Golub, C. F. Van Loan, Matrix computations, 4th edition, sections 7.5 (QR steps, here with one complex shift) and 7.6.2
//! (exchanges of eigenvalues).

use super::{ProjectedMatrix, ZERO, rotation};
use bandsolve::memory::zeroed;
use bandsolve::{Complex64, Error, Result};

/// The Schur form A = U·T·Uᴴ with an upper triangular T and a unitary U.
#[derive(Debug)]
pub(crate) struct SchurForm {
    pub t: ProjectedMatrix,
    pub u: ProjectedMatrix,
}

/// The maximum mean number of QR steps per eigenvalue. Usually, 3 are enough.
const STEPS: usize = 40;

/// Compute the Schur form of a square matrix.
///
/// # Cost
/// Approximately 25·n³ complex multiplications.
///
/// # Errors
/// [`Error::NotConverged`] if A is not finite, or if the QR steps do not converge. [`Error::OutOfMemory`].
pub(crate) fn schur(mut a: ProjectedMatrix) -> Result<SchurForm> {
    let n = a.rows();
    let failed = Error::NotConverged { backward_error: f64::NAN, refinement_steps: STEPS * n };
    if !a.is_finite() {
        return Err(failed);
    }
    let norm = a.norm();
    if norm > 0.0 && !(1e-100..1e100).contains(&norm) {
        // After scaling, squares of entries neither overflow nor underflow.
        a.scale(1.0 / norm);
        let mut form = schur(a)?;
        form.t.scale(norm);
        return Ok(form);
    }
    let mut form = SchurForm { t: a, u: ProjectedMatrix::identity(n)? };
    form.make_hessenberg();
    let (mut high, mut steps, mut since) = (n, 0, 0);
    while high > 1 {
        let low = form.active_from(high, norm);
        if low + 1 == high {
            (high, since) = (high - 1, 0);
            continue;
        }
        (steps, since) = (steps + 1, since + 1);
        if steps > STEPS * n {
            return Err(failed);
        }
        let shift = form.shift(high, since);
        form.step((low, high), shift);
    }
    for j in 0..n {
        (j + 1..n).for_each(|i| form.t[(i, j)] = ZERO);
    }
    Ok(form)
}

impl SchurForm {
    /// The eigenvalues, in the order of T.
    pub fn values(&self) -> Vec<Complex64> {
        (0..self.t.rows()).map(|k| self.t[(k, k)]).collect()
    }

    fn rotate(&mut self, (p, q): (usize, usize), by: (f64, Complex64), (begin, end): (usize, usize)) {
        self.t.rotate_rows((p, q), by, begin);
        self.t.rotate_columns((p, q), by, end);
        self.u.rotate_columns((p, q), by, self.u.rows());
    }

    fn make_hessenberg(&mut self) {
        let n = self.t.rows();
        for k in 0..n.saturating_sub(2) {
            for i in (k + 2..n).rev() {
                if self.t[(i, k)] != ZERO {
                    let by = rotation(self.t[(i - 1, k)], self.t[(i, k)]);
                    self.rotate((i - 1, i), by, (k, n));
                    self.t[(i, k)] = ZERO;
                }
            }
        }
    }

    /// The first row of the last block without negligible subdiagonal entries. Sets the negligible entry before this block to zero.
    fn active_from(&mut self, high: usize, norm: f64) -> usize {
        for k in (1..high).rev() {
            let beside = self.t[(k, k)].norm() + self.t[(k - 1, k - 1)].norm();
            let scale = if beside > 0.0 { beside } else { norm };
            let entry = self.t[(k, k - 1)].norm();
            if entry <= f64::EPSILON * scale || entry <= f64::MIN_POSITIVE {
                self.t[(k, k - 1)] = ZERO;
                return k;
            }
        }
        0
    }

    /// The shift: the eigenvalue of the last 2 × 2 block that is nearer to the last entry. Every tenth shift is different, to break cycles.
    fn shift(&self, high: usize, since: usize) -> Complex64 {
        let (p, q) = (high - 2, high - 1);
        let (a, b, c, d) = (self.t[(p, p)], self.t[(p, q)], self.t[(q, p)], self.t[(q, q)]);
        if since.is_multiple_of(10) {
            return d + Complex64::new(0.75 * c.norm(), 0.25 * c.norm());
        }
        let half = (a - d) * 0.5;
        let root = (half * half + b * c).sqrt();
        let larger = if (half.conj() * root).re < 0.0 { half - root } else { half + root };
        if larger == ZERO { d } else { d - b * c / larger }
    }

    /// Perform one QR step on the rows `low .. high`.
    fn step(&mut self, (low, high): (usize, usize), shift: Complex64) {
        let (mut f, mut g) = (self.t[(low, low)] - shift, self.t[(low + 1, low)]);
        for k in low..high - 1 {
            let by = rotation(f, g);
            self.rotate((k, k + 1), by, (k.saturating_sub(1).max(low), (k + 3).min(high)));
            if k > low {
                self.t[(k + 1, k - 1)] = ZERO;
            }
            if k + 2 < high {
                (f, g) = (self.t[(k + 1, k)], self.t[(k + 2, k)]);
            }
        }
    }

    /// Reorder the eigenvalues. The eigenvalue at place `order[k]` moves to place k.
    pub fn reorder(&mut self, order: &[usize]) {
        let mut at: Vec<usize> = (0..order.len()).collect();
        for (to, wanted) in order.iter().enumerate() {
            let from = at.iter().position(|k| k == wanted).expect("`order` contains each index once");
            for k in (to..from).rev() {
                self.exchange(k);
                at.swap(k, k + 1);
            }
        }
    }

    /// Exchange the eigenvalues at k and k + 1.
    fn exchange(&mut self, k: usize) {
        let (first, second) = (self.t[(k, k)], self.t[(k + 1, k + 1)]);
        let by = rotation(self.t[(k, k + 1)], second - first);
        self.rotate((k, k + 1), by, (k, k + 2));
        (self.t[(k, k)], self.t[(k + 1, k + 1)], self.t[(k + 1, k)]) = (second, first, ZERO);
    }

    /// Compute the eigenvector of A for the eigenvalue at k, with norm 1.
    ///
    /// For equal eigenvalues that are not defective, off-diagonal entries of T are errors of at most `equal`. Dividing such an error by the tiny
    /// difference of the eigenvalues would give both the same vector. If the quotient is large, the function treats the error as zero. The
    /// residual of the vector is then at most `equal`.
    pub fn vector(&self, k: usize, equal: f64) -> Result<Vec<Complex64>> {
        let (n, lambda) = (self.t.rows(), self.t[(k, k)]);
        let norm = self.t.norm();
        let small = f64::EPSILON * if norm > 0.0 { norm } else { 1.0 };
        let mut y: Vec<Complex64> = zeroed(n)?;
        y[k] = Complex64::from(1.0);
        for i in (0..k).rev() {
            let sum: Complex64 = (i + 1..=k).map(|j| self.t[(i, j)] * y[j]).sum();
            let gap = self.t[(i, i)] - lambda;
            // Divide without squares, which can underflow.
            let size = gap.norm();
            if sum.norm() <= equal && sum.norm() > size {
                continue;
            }
            y[i] = if size < small { -sum / small } else { -sum * (gap.conj() / size) / size };
            // For nearly defective matrices, entries can be very large, so scale the vector.
            let size = y[i].norm();
            if size > 1e100 {
                y.iter_mut().for_each(|y| *y /= size);
            }
        }
        let mut x: Vec<Complex64> = zeroed(n)?;
        for (j, factor) in y.iter().enumerate().take(k + 1) {
            x.iter_mut().zip(self.u.column(j)).for_each(|(x, u)| *x += u * factor);
        }
        let norm = x.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
        Ok(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::unit;

    fn check(a: &ProjectedMatrix) -> SchurForm {
        let n = a.rows();
        let mut form = schur(a.copy().unwrap()).unwrap();
        let reversed: Vec<usize> = (0..n).rev().collect();
        let mut values = form.values();
        for _ in 0..2 {
            let adjoint = form.u.adjoint().unwrap();
            let back = form.u.times(&form.t).unwrap().times(&adjoint).unwrap();
            let gram = adjoint.times(&form.u).unwrap();
            let allowed = 50.0 * (n.max(1) as f64) * f64::EPSILON;
            for at in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
                assert!((back[at] - a[at]).norm() <= allowed * a.norm(), "{n} {at:?}");
                assert!((gram[at] - f64::from(u8::from(at.0 == at.1))).norm() <= allowed);
                assert!(at.0 <= at.1 || form.t[at] == ZERO);
            }
            form.reorder(&reversed);
            values.reverse();
            assert_eq!(form.values(), values);
        }
        form
    }

    fn random(n: usize, complex: bool) -> ProjectedMatrix {
        let mut a = ProjectedMatrix::zeros(n, n).unwrap();
        for at in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
            let [re, im] = [0, 1].map(|part| unit(3, (2 * (at.0 + n * at.1) + part) as u64));
            a[at] = Complex64::new(re, if complex { im } else { 0.0 });
        }
        a
    }

    #[test]
    fn random_matrices() {
        for n in [0, 1, 2, 3, 5, 16, 40] {
            for complex in [false, true] {
                let (a, form) = (random(n, complex), check(&random(n, complex)));
                for k in 0..n {
                    let x = form.vector(k, 0.0).unwrap();
                    let mut residual = 0.0_f64;
                    for i in 0..n {
                        let ax: Complex64 = (0..n).map(|j| a[(i, j)] * x[j]).sum();
                        residual = residual.max((ax - form.t[(k, k)] * x[i]).norm());
                    }
                    assert!(residual <= 200.0 * n as f64 * f64::EPSILON * a.norm(), "{n} {k} {residual}");
                }
            }
        }
    }

    #[test]
    fn matrices_that_are_hard_for_shifts() {
        // A cycle, whose eigenvalues all have modulus 1; a Jordan block; a graded matrix; a zero matrix.
        let n = 12;
        let zero = || ProjectedMatrix::zeros(n, n).unwrap();
        let (mut cycle, mut jordan, mut graded) = (zero(), zero(), random(n, true));
        for k in 0..n {
            cycle[((k + 1) % n, k)] = Complex64::from(1.0);
            if k + 1 < n {
                jordan[(k, k + 1)] = Complex64::from(1.0);
            }
            graded.column_mut(k).iter_mut().for_each(|a| *a *= 10_f64.powi(-2 * k as i32));
        }
        let form = check(&cycle);
        assert!(form.values().iter().all(|value| (value.norm() - 1.0).abs() < 1e-14));
        check(&jordan);
        check(&jordan.adjoint().unwrap());
        check(&graded);
        check(&ProjectedMatrix::zeros(5, 5).unwrap());
        let mut bad = ProjectedMatrix::identity(3).unwrap();
        bad[(2, 0)].im = f64::INFINITY;
        assert!(schur(bad).is_err());
    }
}
