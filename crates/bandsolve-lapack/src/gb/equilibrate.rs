//! Row and column scales that bring the largest entry of every row and column to 1.

use super::GbMatrix;
use crate::number::larger;
use crate::refine::MatrixEntries;
use bandsolve::{RealScalar, Scalar};

/// What the scales say of the matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GbScales<R> {
    /// Smallest row scale over largest.
    pub rows: R,
    /// Smallest column scale over largest.
    pub columns: R,
    /// Largest entry of the matrix.
    pub largest: R,
}

/// Finds r and c such that r_i·|a_ij|·c_j is at most 1, with a 1 in every row and column.
///
/// # Errors
/// The first row that is zero; the number of rows plus the first column that is zero once rows are scaled. What `scales`
/// would say is returned as far as it is known, the rest 0.
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

/// Replaces sizes, none of them zero, by their reciprocals within the range; returns the smallest over the largest.
fn invert<R: RealScalar>(sizes: &mut [R]) -> R {
    let ratio = spread(sizes);
    let (low, high) = (R::MIN_POSITIVE, R::ONE / R::MIN_POSITIVE);
    sizes.iter_mut().for_each(|s| *s = R::ONE / smaller(larger(*s, low), high));
    ratio
}

/// The smallest over the largest, both kept within the range.
pub(crate) fn spread<R: RealScalar>(sizes: &[R]) -> R {
    let (low, high) = (R::MIN_POSITIVE, R::ONE / R::MIN_POSITIVE);
    let least = sizes.iter().fold(high, |m, s| smaller(*s, m));
    let most = sizes.iter().fold(R::ZERO, |m, s| larger(*s, m));
    larger(least, low) / smaller(most, high)
}

fn smaller<R: RealScalar>(a: R, b: R) -> R {
    if a < b { a } else { b }
}
