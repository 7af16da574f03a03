//! Transforms of a few numbers, by the matrix.

use super::core::half_turns;
use crate::scalar::{PoissonScalar, real};
use num_complex::Complex;

/// A small real matrix by rows.
#[derive(Clone)]
pub(super) struct SmallMatrix<T> {
    n: usize,
    entries: Vec<T>,
}

impl<T: PoissonScalar> SmallMatrix<T> {
    /// Entry (k, j) is `entry(k, j)`, the sine and the cosine of so many parts of a half turn being at hand.
    pub fn new(n: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let entries = (0..n * n).map(|e| real::<T>(entry(e / n, e % n))).collect();
        Self { n, entries }
    }

    /// sin(π(j+1)(k+1)/N) of N − 1 numbers.
    pub fn sine(parts: usize) -> Self {
        Self::new(parts - 1, |k, j| half_turns((j + 1) * (k + 1), parts).0)
    }

    /// cos(πjk/N) of N + 1 numbers.
    pub fn cosine(parts: usize) -> Self {
        Self::new(parts + 1, |k, j| half_turns(j * k, parts).1)
    }

    /// out = scale · matrix · z; the matrix is symmetric.
    pub fn multiply(&self, z: &[Complex<T>], out: &mut [Complex<T>], scale: T) {
        for (row, out) in self.entries.chunks_exact(self.n.max(1)).zip(out) {
            let sum = row.iter().zip(z).fold(Complex::new(T::ZERO, T::ZERO), |sum, (m, z)| sum + z * *m);
            *out = sum * scale;
        }
    }
}
