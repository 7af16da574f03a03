//! Helpers that several test modules share.

use bandsolve::{RealScalar, Scalar};

/// A xorshift random number generator.
pub struct TestRng(pub u64);

impl TestRng {
    /// A random number in [−1, 1).
    pub fn real(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A random number with real and imaginary part in [−1, 1).
    pub fn scalar<T: Scalar>(&mut self) -> T {
        let (re, im) = (self.real(), self.real());
        T::from_parts(T::Real::from_f64(re), T::Real::from_f64(im))
    }

    /// A vector of `n` random numbers.
    pub fn vector<T: Scalar>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| self.scalar()).collect()
    }
}

/// The machine epsilon as `f64`.
pub fn eps<T: Scalar>() -> f64 {
    T::Real::EPSILON.to_f64()
}

/// The largest of several non-negative numbers, or NaN if one is NaN.
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

    /// The largest difference between the entries of two matrices.
    pub fn distance(&self, other: &Self) -> f64 {
        let apart = |(a, b): (&T, &T)| (*a - *b).abs().to_f64();
        largest(self.elements.iter().zip(&other.elements).map(apart))
    }
}
