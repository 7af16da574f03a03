//! Operators that compute in another number type. Powers of two scale the vectors to its range.

use crate::csr::{Csr, cast};
use crate::rows::each_row;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::zeroed;
use bandsolve::vectors::{PIECE, each_piece};
use bandsolve::{RealScalar, Result, Scalar};
use bandsolve_kernel::scalar::{largest, peak};
use bandsolve_kernel::spread::{RowsOf, chunks};

/// Powers of two that scale the rows.
#[derive(Debug)]
pub(crate) enum RowScale {
    All(f64),
    Each(Vec<f64>),
}

/// A power of two that is far from the ends of the range of double precision.
const FAR: f64 = f64::from_bits((1023 + 600) << 52);

impl RowScale {
    pub(crate) fn at(&self, row: usize) -> f64 {
        match self {
            Self::All(scale) => *scale,
            Self::Each(scales) => scales[row],
        }
    }

    /// One scale for all rows, if each row then has an entry far above the smallest normal number of single precision. Otherwise one per row.
    pub(crate) fn of<T: Scalar>(a: &Csr<'_, T, u32>) -> Result<Self> {
        let mut largest = zeroed(a.rows())?;
        each_row(&mut largest, &|i, largest| {
            *largest = a.row(i).map(|(_, value)| peak(value).to_f64()).fold(0.0, f64::max);
            0
        });
        let rows = || largest.iter().copied().filter(|largest| *largest > 0.0);
        let all = rows().fold(0.0, f64::max).equilibrate();
        if rows().all(|largest| largest * all >= 2.0_f64.powi(-100)) {
            return Ok(Self::All(all));
        }
        largest.iter_mut().for_each(|largest| *largest = largest.equilibrate());
        Ok(Self::Each(largest))
    }

    /// The largest modulus of a vector after scaling its rows and multiplying by a number.
    fn largest<T: Scalar>(&self, x: &[T], by: f64) -> f64 {
        match self {
            Self::All(all) => largest_of(x, &|_, v| peak(scale(scale(v, by), *all)).to_f64()),
            Self::Each(scales) => largest_of(x, &|i, v| peak(scale(scale(v, by), scales[i])).to_f64()),
        }
    }

    /// Two powers of two whose product brings the scaled vector near 1. `None` for a vector of zeros.
    fn factors<T: Scalar>(&self, x: &[T]) -> Option<[f64; 2]> {
        // If the rows are far smaller or larger than the vector, a single product leaves the range of double precision.
        let first = match self.largest(x, 1.0) {
            size if !size.is_finite() => 1.0 / FAR,
            size if size < 1.0 / FAR => FAR,
            size => return Some([1.0, size.equilibrate()]),
        };
        let size = self.largest(x, first);
        (size != 0.0).then(|| [first, size.equilibrate()])
    }
}

/// The largest `size(i, xᵢ)`; NaN if one of them is not finite.
fn largest_of<T: Scalar>(x: &[T], size: &(impl Fn(usize, T) -> f64 + Sync)) -> f64 {
    let of_piece = |piece: usize, ()| {
        let part = &x[piece * PIECE..x.len().min((piece + 1) * PIECE)];
        largest(part, |i, x| size(piece * PIECE + i, x))
    };
    chunks((x.len().div_ceil(PIECE), 2), (), &of_piece, (0.0, &f64::max_nan))
}

/// Multiply v by a real number.
#[inline(always)]
fn scale<T: Scalar>(v: T, by: f64) -> T {
    v.scale(T::Real::from_f64(by))
}

/// The scratch memory of [`apply_rounded`] for an operator with n rows and the scratch memory `inner`.
pub(crate) fn rounded_scratch<S: Scalar>(n: usize, inner: StackReq) -> StackReq {
    StackReq::new::<S>(2 * n).and(inner)
}

/// Compute y = B·R·x, where R has the powers of two of the rows, and `inner` computes z = B·rhs in the type S. `inner` is not called if x is zero.
///
/// # Errors
/// Those of `inner`.
pub(crate) fn apply_rounded<T: Scalar, S: Scalar>(
    rows: &RowScale,
    (x, y): (&[T], &mut [T]),
    stack: &mut PodStack,
    inner: impl FnOnce(&[S], &mut [S], &mut PodStack) -> Result<()>,
) -> Result<()> {
    let Some([first, second]) = rows.factors(x) else {
        y.fill(T::ZERO);
        return Ok(());
    };
    let (rhs, stack) = stack.make_raw::<S>(x.len());
    let (z, stack) = stack.make_raw::<S>(x.len());
    each_piece(x.len(), RowsOf(&mut *rhs, PIECE), &|rows_of_piece, rhs| match rows {
        RowScale::All(all) => {
            rhs.0
                .iter_mut()
                .zip(&x[rows_of_piece])
                .for_each(|(rhs, x)| *rhs = cast(scale(scale(scale(*x, first), *all), second)));
        }
        RowScale::Each(_) => {
            for (i, rhs) in rows_of_piece.zip(rhs.0) {
                *rhs = cast(scale(scale(scale(x[i], first), rows.at(i)), second));
            }
        }
    });
    inner(rhs, z, stack)?;
    let z = &*z;
    each_piece(x.len(), RowsOf(y, PIECE), &|rows_of_piece, y| {
        for (y, z) in y.0.iter_mut().zip(&z[rows_of_piece]) {
            *y = scale(scale(cast(*z), 1.0 / first), 1.0 / second);
        }
    });
    Ok(())
}
