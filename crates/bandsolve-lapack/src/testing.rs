//! What the tests of several files share.

use bandsolve::{RealScalar, Scalar};

/// Xorshift.
pub struct TestRng(pub u64);

impl TestRng {
    /// In [−1, 1).
    pub fn real(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Real and imaginary part in [−1, 1).
    pub fn scalar<T: Scalar>(&mut self) -> T {
        let (re, im) = (self.real(), self.real());
        T::from_parts(T::Real::from_f64(re), T::Real::from_f64(im))
    }

    /// `n` of them.
    pub fn vector<T: Scalar>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| self.scalar()).collect()
    }
}

/// Unit roundoff as `f64`.
pub fn eps<T: Scalar>() -> f64 {
    T::Real::EPSILON.to_f64()
}

/// The largest of numbers that are not negative; NaN if one is.
pub fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |m, v| if m.is_nan() || v <= m { m } else { v })
}

/// A dense column-major matrix.
pub struct DenseMatrix<T> {
    pub rows: usize,
    pub elements: Vec<T>,
}

impl<T: Scalar> DenseMatrix<T> {
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self { rows, elements: vec![T::ZERO; rows * columns] }
    }

    pub fn column(&mut self, j: usize) -> &mut [T] {
        &mut self.elements[j * self.rows..][..self.rows]
    }

    /// Largest difference of two.
    pub fn distance(&self, other: &Self) -> f64 {
        let apart = |(a, b): (&T, &T)| (*a - *b).abs().to_f64();
        largest(self.elements.iter().zip(&other.elements).map(apart))
    }
}
