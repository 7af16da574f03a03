//! Use vectors and matrices of `ndarray`, `nalgebra` and `faer` as matrices, right-hand sides and solutions.
//!
//! Each library has a feature of this crate, which is off by default:
//!
//! | feature | arrays | used without a copy |
//! | --- | --- | --- |
//! | `ndarray` | `ArrayBase` of one or two dimensions, such as `Array1` and `ArrayView2` | Fortran order (`ShapeBuilder::f`), or one column without stride |
//! | `nalgebra` | `Matrix`, such as `DVector`, `DMatrixView` and `SVector` | all except views of some rows of several columns, and views with strides |
//! | `faer` | `Col`, `ColRef`, `ColMut`, `Mat`, `MatRef`, `MatMut` | columns, and matrices without padding between columns |
//!
//! [`Tridiagonal::from_arrays`] and [`Banded::from_array`] borrow these arrays as matrices. [`SolveArray`] solves for them. Implement
//! [`AsColumns`] to use your own type in the same way; this needs no feature.

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

/// An array with rows and columns, in any order in memory. A vector is one column.
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
    /// The type of an array of the same kind that owns its memory.
    type Owned;

    /// Number of rows and number of columns.
    fn dimensions(&self) -> (usize, usize);

    /// The entry in this row and column. The caller must pass a valid row and column.
    fn entry(&self, row: usize, column: usize) -> T;

    /// All entries, column by column, if they are in this order in memory without gaps.
    fn as_columns(&self) -> Option<&[T]>;

    /// An array of the same dimensions with the entries `columns`, column by column.
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
    /// The entry in this row and column. The caller must pass a valid row and column.
    fn entry_mut(&mut self, row: usize, column: usize) -> &mut T;

    /// All entries, column by column, if they are in this order in memory without gaps.
    fn as_columns_mut(&mut self) -> Option<&mut [T]>;
}

/// Solves for arrays of other libraries. Each [`Factor`] has these functions.
///
/// # Shapes
/// A right-hand side is a vector of [`Shape::rows`](crate::Shape::rows) entries, or a matrix of as many rows and any number of columns.
///
/// # Cost
/// One solve. An array with another order in memory, or with gaps between columns, is copied before the solve, and x is copied back. The
/// copy needs memory of the size of the array.
///
/// # Errors
/// Those of [`Factor`], and [`Error::Shape`] if the columns have the wrong length.
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
    /// Solve A·x = rhs and return x as an array of the same kind as `rhs`.
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

    /// Solve op(A)·x = rhs and overwrite `rhs` with x.
    fn solve_array_in_place<A: AsColumnsMut<T>>(&self, op: Op, rhs: &mut A) -> Result<Report> {
        check_rows(self, rhs)?;
        if let Some(columns) = rhs.as_columns_mut() {
            return solve_in_place(self, op, columns);
        }
        let mut values = gathered(rhs)?;
        let solved = solve_in_place(self, op, &mut values);
        // Copied also after an error, because the caller gets the best x.
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

/// A copy of the entries, column by column.
fn gathered<T: Scalar, A: AsColumns<T>>(array: &A) -> Result<Vec<T>> {
    let (rows, columns) = array.dimensions();
    collected((0..rows * columns).map(|k| array.entry(k % rows, k / rows)))
}

/// The entries of a vector, or `Err(Layout)`.
fn vector<'a, T, A: AsColumns<T>>(name: &'static str, array: &'a A) -> Result<&'a [T]> {
    let columns = if array.dimensions().1 == 1 { array.as_columns() } else { None };
    columns.ok_or(Error::Layout { array: name, expected: "one column, its entries next to each other" })
}

/// Whether the entries are column by column in memory, without gaps.
#[cfg(any(feature = "faer", feature = "nalgebra"))]
fn is_gapless((rows, columns): (usize, usize), (row_stride, column_stride): (isize, isize)) -> bool {
    let is_gapless = |len: usize, stride: isize, expected: usize| len == 1 || stride == expected as isize;
    rows == 0 || columns == 0 || is_gapless(rows, row_stride, 1) && is_gapless(columns, column_stride, rows)
}

impl<'a, T: Scalar> Tridiagonal<'a, T> {
    /// An open matrix that borrows three vectors of another library.
    ///
    /// # Errors
    /// [`Error::Layout`] unless each array is one column with contiguous entries, and those of [`new`](Self::new).
    pub fn from_arrays(
        sub: &'a impl AsColumns<T>,
        diag: &'a impl AsColumns<T>,
        sup: &'a impl AsColumns<T>,
    ) -> Result<Self> {
        Self::new(vector("sub", sub)?, vector("diag", diag)?, vector("sup", sup)?)
    }

    /// A periodic matrix that borrows three vectors of another library.
    ///
    /// # Errors
    /// [`Error::Layout`] unless each array is one column with contiguous entries, and those of [`periodic`](Self::periodic).
    pub fn periodic_from_arrays(
        sub: &'a impl AsColumns<T>,
        diag: &'a impl AsColumns<T>,
        sup: &'a impl AsColumns<T>,
    ) -> Result<Self> {
        Self::periodic(vector("sub", sub)?, vector("diag", diag)?, vector("sup", sup)?)
    }
}

impl<'a, T: Scalar> Banded<'a, T> {
    /// A banded matrix that borrows band storage in a matrix of another library.
    ///
    /// # Shapes
    /// `bands` has n columns and one row per diagonal, the topmost diagonal first. The main diagonal is in row `upper`. Rows after the
    /// first lower + upper + 1 are ignored.
    ///
    /// # Errors
    /// [`Error::Layout`] unless `bands` is column-major without gaps, and [`Error::Shape`] if it has too few rows.
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
