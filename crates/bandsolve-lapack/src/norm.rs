//! Norms of matrices, computed entry by entry.

use bandsolve::{RealScalar, Scalar};

/// The kind of norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixNorm {
    /// max |aᵢⱼ|, which is not an operator norm.
    Max,
    /// maxⱼ Σᵢ |aᵢⱼ|
    One,
    /// maxᵢ Σⱼ |aᵢⱼ|
    Infinity,
    /// √Σ |aᵢⱼ|²
    Frobenius,
}

impl MatrixNorm {
    /// The norm for LAPACK's letter.
    pub fn from_letter(letter: u8) -> Option<Self> {
        Some(match letter.to_ascii_uppercase() {
            b'M' => MatrixNorm::Max,
            b'O' | b'1' => MatrixNorm::One,
            b'I' => MatrixNorm::Infinity,
            b'F' | b'E' => MatrixNorm::Frobenius,
            _ => return None,
        })
    }
}

/// The largest of the non-negative numbers that `visit` passes; NaN if one of them is NaN.
pub fn largest<R: RealScalar>(visit: impl Fn(&mut dyn FnMut(R))) -> R {
    let mut largest = R::ZERO;
    visit(&mut |a| largest = largest.max_nan(a));
    largest
}

/// The square root of the sum of the squares, without overflow or underflow if the result has none. Visits the numbers twice.
pub fn root_of_squares<R: RealScalar>(visit: impl Fn(&mut dyn FnMut(R))) -> R {
    let peak = largest(&visit);
    if peak == R::ZERO || !peak.is_finite() {
        return peak;
    }
    // In two steps, no factor leaves the exponent range. The largest number is then near 1.
    let half = peak.sqrt().normalizer();
    let mut sum = R::ZERO;
    visit(&mut |a| {
        let a = a * half * half;
        sum += a * a;
    });
    sum.sqrt() / half / half
}

/// A norm of the tridiagonal matrix (sub, diag, sup), whose diagonal may have another type. NaN if an entry is NaN.
pub fn tridiagonal<T: Scalar, D: Scalar<Real = T::Real>>(
    norm: MatrixNorm,
    (sub, diag, sup): (&[T], &[D], &[T]),
) -> T::Real {
    let all = |f: &mut dyn FnMut(T::Real)| {
        diag.iter().for_each(|a| f(a.abs()));
        sub.iter().chain(sup).for_each(|a| f(a.abs()));
    };
    // The off-diagonal entries: in column j sup_{j−1} and sub_j, in row i sub_{i−1} and sup_i.
    let widest = |before: &[T], after: &[T]| {
        let size = |a: &[T], i: usize| a.get(i).map_or(T::Real::ZERO, |a| a.abs());
        diag.iter()
            .enumerate()
            .fold(T::Real::ZERO, |m, (i, d)| m.max_nan(d.abs() + size(before, i.wrapping_sub(1)) + size(after, i)))
    };
    match norm {
        MatrixNorm::Max => largest(all),
        MatrixNorm::Frobenius => root_of_squares(all),
        MatrixNorm::One => widest(sup, sub),
        MatrixNorm::Infinity => widest(sub, sup),
    }
}
