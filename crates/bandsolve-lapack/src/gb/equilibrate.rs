//! Row and column scales with which the largest entry of every row and column is 1.

use super::GbMatrix;
use crate::number::larger;
use crate::refine::MatrixEntries;
use bandsolve::{RealScalar, Scalar};

/// Ratios of the scales, and the size of the matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GbScales<R> {
    /// The smallest row scale divided by the largest.
    pub rows: R,
    /// The smallest column scale divided by the largest.
    pub columns: R,
    /// The largest entry of the matrix.
    pub largest: R,
}

/// Compute r and c such that rᵢ·|aᵢⱼ|·cⱼ is at most 1, with a 1 in every row and column.
///
/// # Errors
/// The first zero row, or the number of rows plus the first column that is zero after row scaling. The returned
/// [`GbScales`] contains the values that are known, and otherwise 0.
pub fn scales<T: Scalar>(
    a: &GbMatrix<'_, T>,
    r: &mut [T::Real],
    c: &mut [T::Real],
) -> (GbScales<T::Real>, Option<usize>) {
    let mut known = GbScales { rows: T::Real::ONE, columns: T::Real::ONE, largest: T::Real::ZERO };
    if r.is_empty() || c.is_empty() {
        return (known, None);
    }
    r.fill(T::Real::ZERO);
    a.visit(|i, _, a| r[i] = larger(a.abs1(), r[i]));
    known.largest = r.iter().fold(T::Real::ZERO, |m, r| larger(*r, m));
    if let Some(row) = r.iter().position(|r| *r == T::Real::ZERO) {
        return (known, Some(row));
    }
    known.rows = invert(r);
    c.fill(T::Real::ZERO);
    a.visit(|i, j, a| c[j] = larger(a.abs1() * r[i], c[j]));
    if let Some(column) = c.iter().position(|c| *c == T::Real::ZERO) {
        return (known, Some(r.len() + column));
    }
    known.columns = invert(c);
    (known, None)
}

/// Replace non-zero sizes by their reciprocals, limited to the exponent range. Returns the smallest divided by the
/// largest.
fn invert<R: RealScalar>(sizes: &mut [R]) -> R {
    let ratio = spread(sizes);
    let (low, high) = (R::MIN_POSITIVE, R::ONE / R::MIN_POSITIVE);
    sizes.iter_mut().for_each(|s| *s = R::ONE / smaller(larger(*s, low), high));
    ratio
}

/// The smallest size divided by the largest, both limited to the exponent range.
pub(crate) fn spread<R: RealScalar>(sizes: &[R]) -> R {
    let (low, high) = (R::MIN_POSITIVE, R::ONE / R::MIN_POSITIVE);
    let least = sizes.iter().fold(high, |m, s| smaller(*s, m));
    let most = sizes.iter().fold(R::ZERO, |m, s| larger(*s, m));
    larger(least, low) / smaller(most, high)
}

fn smaller<R: RealScalar>(a: R, b: R) -> R {
    if a < b { a } else { b }
}
