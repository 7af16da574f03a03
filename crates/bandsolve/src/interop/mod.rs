//! Vectors and matrices of other libraries as matrices, right-hand sides and solutions.
//!
//! What a feature of this crate brings, each off by default:
//!
//! | feature | arrays | fit as they are |
//! | --- | --- | --- |
//! | `ndarray` | `ArrayBase` of one or two dimensions: `Array1`, `ArrayView2`, … | Fortran order (`ShapeBuilder::f`), or one column without stride |
//! | `nalgebra` | `Matrix`: `DVector`, `DMatrixView`, `SVector`, … | all but views of some rows of a matrix of several columns, and views with strides |
//! | `faer` | `Col`, `ColRef`, `ColMut`, `Mat`, `MatRef`, `MatMut` | columns; of `Mat` only those whose columns need no padding |
//!
//! Matrices borrow such arrays ([`Tridiagonal::from_arrays`], [`Banded::from_array`]); [`SolveArray`] solves for them. A type that has
//! [`AsColumns`] can be used in the same way without a feature.

#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "nalgebra")]
pub mod nalgebra;
#[cfg(feature = "ndarray")]
pub mod ndarray;

use crate::contract::{Factor, Op, Report, solve_in_place};
use crate::error::{Error, Result, check_len};
use crate::matrix::{Banded, Tridiagonal};
use crate::memory::collected;
use bandsolve_kernel::Scalar;

/// An array of rows and columns, wherever its entries lie; a vector is one column.
///
/// # Examples
/// ```
/// use bandsolve::{Plan, Tridiagonal, interop::{AsColumns, SolveArray}};
/// struct Pair([f64; 2]);
/// impl AsColumns<f64> for Pair {
///     type Owned = Pair;
///     fn dimensions(&self) -> (usize, usize) {
///         (2, 1)
///     }
///     fn entry(&self, row: usize, _column: usize) -> f64 {
///         self.0[row]
///     }
///     fn as_columns(&self) -> Option<&[f64]> {
///         Some(&self.0)
///     }
///     fn with_columns(&self, columns: Vec<f64>) -> Pair {
///         Pair([columns[0], columns[1]])
///     }
/// }
/// let a = Tridiagonal::new(&[0.0], &[2.0, 4.0], &[0.0])?;
/// let (x, _report) = Plan::new(a.shape()).factor(&a)?.solve_array(&Pair([2.0, 4.0]))?;
/// assert_eq!(x.0, [1.0, 1.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait AsColumns<T> {
    /// A new array of the same kind, which has memory of its own.
    type Owned;

    /// Rows and columns.
    fn dimensions(&self) -> (usize, usize);

    /// The entry in this row and column, which the array has.
    fn entry(&self, row: usize, column: usize) -> T;

    /// The entries column after column, if they lie so in memory, without gaps.
    fn as_columns(&self) -> Option<&[T]>;

    /// An array of the same dimensions that holds `columns`, column after column.
    fn with_columns(&self, columns: Vec<T>) -> Self::Owned;
}

/// An array that can be written to.
///
/// # Examples
/// ```
/// use bandsolve::{Op, Plan, Tridiagonal, interop::{AsColumns, AsColumnsMut, SolveArray}};
/// # struct Pair([f64; 2]);
/// # impl AsColumns<f64> for Pair {
/// #     type Owned = Pair;
/// #     fn dimensions(&self) -> (usize, usize) {
/// #         (2, 1)
/// #     }
/// #     fn entry(&self, row: usize, _column: usize) -> f64 {
/// #         self.0[row]
/// #     }
/// #     fn as_columns(&self) -> Option<&[f64]> {
/// #         Some(&self.0)
/// #     }
/// #     fn with_columns(&self, columns: Vec<f64>) -> Pair {
/// #         Pair([columns[0], columns[1]])
/// #     }
/// # }
/// impl AsColumnsMut<f64> for Pair { // a type of two numbers, with `AsColumns`
///     fn entry_mut(&mut self, row: usize, _column: usize) -> &mut f64 {
///         &mut self.0[row]
///     }
///     fn as_columns_mut(&mut self) -> Option<&mut [f64]> {
///         Some(&mut self.0)
///     }
/// }
/// let a = Tridiagonal::new(&[0.0], &[2.0, 4.0], &[0.0])?;
/// let mut x = Pair([2.0, 4.0]);
/// Plan::new(a.shape()).factor(&a)?.solve_array_in_place(Op::Plain, &mut x)?;
/// assert_eq!(x.0, [1.0, 1.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait AsColumnsMut<T>: AsColumns<T> {
    /// The entry in this row and column, which the array has.
    fn entry_mut(&mut self, row: usize, column: usize) -> &mut T;

    /// The entries column after column, if they lie so in memory, without gaps.
    fn as_columns_mut(&mut self) -> Option<&mut [T]>;
}

/// Solves for arrays of other libraries; every [`Factor`] can.
///
/// # Shapes
/// Right-hand sides are a vector of `rows` entries or a matrix of `rows` × any number of columns, `rows` being
/// [`Shape::rows`](crate::Shape::rows).
///
/// # Cost
/// That of a solve. Arrays whose columns do not lie one after another without gaps are copied column by column before it, and x back
/// after it: one more array of their size.
///
/// # Errors
/// Those of [`Factor`]; [`Error::Shape`] unless the columns have `rows` entries.
///
/// # Examples
/// ```
/// use bandsolve::{Plan, Tridiagonal, interop::{AsColumns, SolveArray}};
/// # struct Pair([f64; 2]);
/// # impl AsColumns<f64> for Pair {
/// #     type Owned = Pair;
/// #     fn dimensions(&self) -> (usize, usize) {
/// #         (2, 1)
/// #     }
/// #     fn entry(&self, row: usize, _column: usize) -> f64 {
/// #         self.0[row]
/// #     }
/// #     fn as_columns(&self) -> Option<&[f64]> {
/// #         Some(&self.0)
/// #     }
/// #     fn with_columns(&self, columns: Vec<f64>) -> Pair {
/// #         Pair([columns[0], columns[1]])
/// #     }
/// # }
/// // `Pair` is a type of two numbers, with `AsColumns`.
/// let a = Tridiagonal::new(&[0.0], &[2.0, 4.0], &[0.0])?;
/// let (x, _report) = Plan::new(a.shape()).factor(&a)?.solve_array(&Pair([2.0, 8.0]))?;
/// assert_eq!(x.0, [1.0, 2.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait SolveArray<T: Scalar>: Factor<T> {
    /// Solves A·x = rhs and returns x, an array of the kind of `rhs`.
    fn solve_array<A: AsColumns<T>>(&self, rhs: &A) -> Result<(A::Owned, Report)> {
        check_rows(self, rhs)?;
        let (values, report) = match rhs.as_columns() {
            Some(columns) => self.solve(columns).map(|x| (x.values, x.report))?,
            None => {
                let mut values = gathered(rhs)?;
                let report = self.solve_in_place(&mut values)?;
                (values, report)
            }
        };
        Ok((rhs.with_columns(values), report))
    }

    /// Solves op(A)·x = rhs; x replaces rhs.
    fn solve_array_in_place<A: AsColumnsMut<T>>(&self, op: Op, rhs: &mut A) -> Result<Report> {
        check_rows(self, rhs)?;
        if let Some(columns) = rhs.as_columns_mut() {
            return solve_in_place(self, op, columns);
        }
        let mut values = gathered(rhs)?;
        let solved = solve_in_place(self, op, &mut values);
        // Also the best x that was found where none is good.
        let (rows, columns) = rhs.dimensions();
        for column in 0..columns {
            for row in 0..rows {
                *rhs.entry_mut(row, column) = values[column * rows + row];
            }
        }
        solved
    }
}

impl<T: Scalar, F: Factor<T> + ?Sized> SolveArray<T> for F {}

/// `Err(Shape)` unless the columns of `rhs` have as many entries as the system has rows.
fn check_rows<T: Scalar, F: Factor<T> + ?Sized, A: AsColumns<T>>(factor: &F, rhs: &A) -> Result<()> {
    check_len("a column of rhs", factor.shape().rows(), rhs.dimensions().0)
}

/// The entries column after column.
fn gathered<T: Scalar, A: AsColumns<T>>(array: &A) -> Result<Vec<T>> {
    let (rows, columns) = array.dimensions();
    collected((0..rows * columns).map(|k| array.entry(k % rows, k / rows)))
}

/// The entries of a vector, or `Err(Layout)`.
fn vector<'a, T, A: AsColumns<T>>(name: &'static str, array: &'a A) -> Result<&'a [T]> {
    let columns = if array.dimensions().1 == 1 { array.as_columns() } else { None };
    columns.ok_or(Error::Layout { array: name, expected: "one column, its entries next to each other" })
}

/// Whether entries lie column after column without gaps.
#[cfg(any(feature = "faer", feature = "nalgebra"))]
fn is_gapless((rows, columns): (usize, usize), (row_stride, column_stride): (isize, isize)) -> bool {
    let is_gapless = |len: usize, stride: isize, expected: usize| len == 1 || stride == expected as isize;
    rows == 0 || columns == 0 || is_gapless(rows, row_stride, 1) && is_gapless(columns, column_stride, rows)
}

impl<'a, T: Scalar> Tridiagonal<'a, T> {
    /// Open matrix of three vectors of another library; borrows them.
    ///
    /// # Errors
    /// [`Error::Layout`] unless each is one column whose entries are next to each other; [`Error::Shape`] as in
    /// [`new`](Self::new).
    pub fn from_arrays(
        sub: &'a impl AsColumns<T>,
        diag: &'a impl AsColumns<T>,
        sup: &'a impl AsColumns<T>,
    ) -> Result<Self> {
        Self::new(vector("sub", sub)?, vector("diag", diag)?, vector("sup", sup)?)
    }

    /// Periodic matrix of three vectors of another library; borrows them.
    ///
    /// # Errors
    /// [`Error::Layout`] as in [`from_arrays`](Self::from_arrays); [`Error::Shape`] as in [`periodic`](Self::periodic).
    pub fn periodic_from_arrays(
        sub: &'a impl AsColumns<T>,
        diag: &'a impl AsColumns<T>,
        sup: &'a impl AsColumns<T>,
    ) -> Result<Self> {
        Self::periodic(vector("sub", sub)?, vector("diag", diag)?, vector("sup", sup)?)
    }
}

impl<'a, T: Scalar> Banded<'a, T> {
    /// Band storage in a matrix of another library; borrows it.
    ///
    /// # Shapes
    /// `bands` has n columns and a row for each diagonal, the topmost first, the main one in row `upper`; rows after the
    /// lower + upper + 1 that are needed are ignored.
    ///
    /// # Errors
    /// [`Error::Layout`] unless the columns of `bands` lie one after another without gaps; [`Error::Shape`] if it has too few rows.
    pub fn from_array(lower: usize, upper: usize, bands: &'a impl AsColumns<T>) -> Result<Self> {
        let (leading, n) = bands.dimensions();
        let entries = bands.as_columns();
        let entries =
            entries.ok_or(Error::Layout { array: "bands", expected: "columns one after another without gaps" })?;
        Self::with_leading(n, lower, upper, leading, entries)
    }
}

#[cfg(all(test, feature = "faer", feature = "nalgebra", feature = "ndarray", feature = "serde"))]
mod tests;
