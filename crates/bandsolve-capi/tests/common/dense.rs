//! Dense matrices, from which the arrays of all functions are read.

use bandsolve::{RealScalar, Scalar};
use bandsolve_gallery::oracle::MatrixRows;
use bandsolve_gallery::{Random, random_vec};

/// A dense matrix, from which the arrays of all routines are read.
#[derive(Clone)]
pub struct Dense<T> {
    pub n: usize,
    entries: Vec<T>,
}

impl<T: Scalar> Dense<T> {
    pub fn new(n: usize, entry: impl Fn(usize, usize) -> T) -> Self {
        Self { n, entries: (0..n * n).map(|k| entry(k / n, k % n)).collect() }
    }

    /// A random matrix with these bandwidths and, if `cyclic`, corner entries.
    pub fn random(n: usize, (lower, upper): (usize, usize), cyclic: bool, seed: u64) -> Self {
        let values = random_vec::<T>(n * n, &mut Random::new(seed));
        let corner = |i: usize, j: usize| cyclic && n > 2 && (i == 0 && j == n - 1 || i == n - 1 && j == 0);
        let four = T::from_real(T::Real::from_f64(3.0 + (lower + upper) as f64));
        Self::new(n, |i, j| match values[i * n + j] {
            v if i == j => v + four,
            v if j <= i + upper && i <= j + lower || corner(i, j) => v,
            _ => T::ZERO,
        })
    }

    pub fn hermitian(n: usize, width: usize, seed: u64) -> Self {
        let a = Self::random(n, (width, width), false, seed);
        Self::new(n, |i, j| match i.cmp(&j) {
            core::cmp::Ordering::Less => a.at(i, j),
            core::cmp::Ordering::Equal => T::from_real(a.at(i, j).re() + T::Real::from_f64(2.0 * width as f64)),
            core::cmp::Ordering::Greater => Scalar::conj(a.at(j, i)),
        })
    }

    pub fn at(&self, i: usize, j: usize) -> T {
        self.entries[i * self.n + j]
    }

    /// op(A) for LAPACK's letter.
    pub fn op(&self, trans: u8) -> Self {
        Self::new(self.n, |i, j| match trans {
            b'N' => self.at(i, j),
            b'T' => self.at(j, i),
            _ => Scalar::conj(self.at(j, i)),
        })
    }

    pub fn off(&self, down: bool) -> Vec<T> {
        (1..self.n).map(|i| if down { self.at(i, i - 1) } else { self.at(i - 1, i) }).collect()
    }

    pub fn diag(&self) -> Vec<T> {
        (0..self.n).map(|i| self.at(i, i)).collect()
    }
}

impl<T: Scalar> MatrixRows<T> for Dense<T> {
    fn n(&self) -> usize {
        self.n
    }
    fn bandwidths(&self) -> (usize, usize) {
        (self.n.saturating_sub(1), self.n.saturating_sub(1))
    }
    fn entries(&self, i: usize, entries: &mut Vec<(usize, T)>) {
        entries.clear();
        entries.extend((0..self.n).map(|j| (j, self.at(i, j))));
    }
}
