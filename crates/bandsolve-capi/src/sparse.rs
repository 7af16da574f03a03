//! Tridiagonal systems with sparse right-hand sides: `gtsv_csc2dense` and `gtsv_csc2csc`.

use crate::memory::{ArgumentPlace, RawArray, apart, elements, size};
use crate::report;
use crate::settings::PivotingArgument;
use crate::solve::{CheckedSystem, SystemKind, bands};
use crate::status::{CallFailure, CallResult};
use bandsolve::{Csc, CscMut, Error, Op, Report, Result, Scalar, Tridiagonal};

/// Sparse columns (CSC) from C, zero-based.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SparseColumns<T> {
    pub values: *const T,
    pub row_indices: *const i32,
    pub pointers: *const i32,
    pub nnz: i64,
}

/// Sparse columns for the results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SparseColumnsMut<T> {
    pub values: *mut T,
    pub row_indices: *mut i32,
    pub pointers: *const i32,
    pub nnz: i64,
}

/// Sparse columns with checked pointers.
pub(crate) struct CheckedColumns<T> {
    pub values: RawArray<T>,
    pub row_indices: RawArray<i32>,
    pub pointers: RawArray<i32>,
}

impl<T: Scalar> SparseColumns<T> {
    /// Check the pointers. `names` has the names of values, row indices, column pointers and the number of entries.
    fn arrays(&self, columns: usize, names: [&'static str; 4]) -> CallResult<CheckedColumns<T>> {
        let nnz = elements::<T>(names[0], &[size(names[3], self.nnz)?])?;
        // Without columns, the column pointers may be empty.
        let count = if columns == 0 { 0 } else { elements::<i32>(names[2], &[columns.saturating_add(1)])? };
        Ok(CheckedColumns {
            values: RawArray::new(names[0], self.values, nnz)?,
            row_indices: RawArray::new(names[1], self.row_indices, nnz)?,
            pointers: RawArray::new(names[2], self.pointers, count)?,
        })
    }
}

pub(crate) const RHS: [&str; 4] = ["rhs_values", "rhs_row_indices", "rhs_col_ptrs", "rhs_nnz"];
pub(crate) const RESULT: [&str; 4] = ["result_values", "result_row_indices", "result_col_ptrs", "result_nnz"];

impl<T: Scalar> CheckedColumns<T> {
    fn places(&self) -> [ArgumentPlace; 3] {
        [self.values.place(), self.row_indices.place(), self.pointers.place()]
    }

    /// Get the column pointers.
    ///
    /// # Safety
    /// As [`RawArray::read`].
    unsafe fn read_pointers<'a>(&self) -> &'a [i32] {
        // SAFETY: the caller's promise.
        let pointers = unsafe { self.pointers.read() };
        if pointers.is_empty() { &[0] } else { pointers }
    }

    /// Use as right-hand sides of `n` rows.
    ///
    /// # Safety
    /// As [`RawArray::read`], for each array.
    unsafe fn rhs<'a>(&self, n: usize) -> CallResult<Csc<'a, T, i32>> {
        // SAFETY: the caller's promise.
        let (pointers, rows, values) = unsafe { (self.read_pointers(), self.row_indices.read(), self.values.read()) };
        Csc::new(n, pointers, rows, values).map_err(|error| named(error, RHS))
    }
}

/// Convert an error of the library to a failure, with the array names of C.
pub(crate) fn named(error: Error, names: [&'static str; 4]) -> CallFailure {
    let name = |array| match array {
        "values" => names[0],
        "row_indices" => names[1],
        "column_pointers" => names[2],
        // The array names of results on a device.
        "x.column_pointers" => RESULT[2],
        other => other,
    };
    match error {
        Error::Structure { array, index } => Error::Structure { array: name(array), index },
        Error::NotFinite { array, index } => Error::NotFinite { array: name(array), index },
        other => other,
    }
    .into()
}

/// Store the report of a solve.
pub(crate) fn record(solved: Result<Report>, system: &CheckedSystem) -> CallResult {
    report::keep(&solved, system.plan.chosen_method());
    solved.map(|_| ()).map_err(|error| named(error, RHS))
}

/// Matrix, right-hand sides, and written arrays.
type Parts<T, X> = ([RawArray<T>; 3], CheckedColumns<T>, X);

/// Check the arrays of `gtsv_csc2dense`: matrix, right-hand sides, and x, which must not overlap the others.
pub(crate) fn dense_arrays<T: Scalar>(
    system: &CheckedSystem,
    n_rhs: i64,
    matrix: [*const T; 3],
    rhs: SparseColumns<T>,
    x: *mut T,
) -> CallResult<Parts<T, RawArray<T>>> {
    let (matrix, places) = bands(matrix, system.matrix_len)?;
    let rhs = rhs.arrays(size("n_rhs", n_rhs)?, RHS)?;
    let x = RawArray::new("x", x, system.rhs_len)?;
    apart(&[x.place()], &[&places, &rhs.places()])?;
    Ok((matrix, rhs, x))
}

/// Check the arrays of `gtsv_csc2csc`: matrix, right-hand sides, and results, which must not overlap the others.
pub(crate) fn pruned_arrays<T: Scalar>(
    system: &CheckedSystem,
    n_rhs: i64,
    matrix: [*const T; 3],
    rhs: SparseColumns<T>,
    result: SparseColumnsMut<T>,
) -> CallResult<Parts<T, CheckedColumns<T>>> {
    let n = system.matrix_len;
    if i32::try_from(n).is_err() {
        return Err(CallFailure::argument(format!(
            "n is {n}, but result_row_indices has 32-bit integers; n must be below 2^31"
        )));
    }
    let (matrix, places) = bands(matrix, n)?;
    let columns = size("n_rhs", n_rhs)?;
    let rhs = rhs.arrays(columns, RHS)?;
    let SparseColumnsMut { values, row_indices, pointers, nnz } = result;
    let result = SparseColumns { values: values.cast_const(), row_indices: row_indices.cast_const(), pointers, nnz };
    let result = result.arrays(columns, RESULT)?;
    let [values, rows, pointers] = result.places();
    apart(&[values], &[&places, &rhs.places(), &[rows.clone(), pointers.clone()]])?;
    apart(&[rows], &[&places, &rhs.places(), &[pointers]])?;
    Ok((matrix, rhs, result))
}

/// Solve for sparse right-hand sides, with dense solutions (`gtsv_csc2dense`).
///
/// # Safety
/// Pointers that are not null point to arrays of the given sizes. Written arrays belong to this call alone.
pub(crate) unsafe fn to_dense<T: Scalar>(
    p: PivotingArgument,
    (n, n_rhs): (i64, i64),
    matrix: [*const T; 3],
    rhs: SparseColumns<T>,
    x: *mut T,
) -> CallResult {
    report::clear();
    let system = CheckedSystem::new::<T>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs)?;
    let (matrix, rhs, x) = dense_arrays(&system, n_rhs, matrix, rhs, x)?;
    // SAFETY: the caller's promise; x overlaps no array that is read.
    let (rhs, x, [sub, diag, sup]) =
        unsafe { (rhs.rhs(system.matrix_len)?, x.write(), matrix.each_ref().map(|a| a.read())) };
    let a = Tridiagonal::new(sub, diag, sup)?;
    record(system.plan.factor(&a)?.solve_sparse_into(Op::Plain, &rhs, x), &system)
}

/// Solve for sparse right-hand sides, and return the largest entries of every solution (`gtsv_csc2csc`).
///
/// # Safety
/// As [`to_dense`].
pub(crate) unsafe fn to_sparse<T: Scalar>(
    p: PivotingArgument,
    (n, n_rhs): (i64, i64),
    matrix: [*const T; 3],
    rhs: SparseColumns<T>,
    result: SparseColumnsMut<T>,
) -> CallResult {
    report::clear();
    // The function never stores the whole X, so the size of X has no limit.
    let system = CheckedSystem::new::<T>(p, SystemKind::Tridiagonal { n, periodic: false }, 0)?;
    let (matrix, rhs, result) = pruned_arrays(&system, n_rhs, matrix, rhs, result)?;
    // SAFETY: the caller's promise; the written arrays overlap no other array.
    let (rhs, [sub, diag, sup]) = unsafe { (rhs.rhs(system.matrix_len)?, matrix.each_ref().map(|a| a.read())) };
    // SAFETY: as above.
    let (pointers, rows, values) =
        unsafe { (result.read_pointers(), result.row_indices.write(), result.values.write()) };
    let x = CscMut::new(system.matrix_len, pointers, rows, values).map_err(|error| named(error, RESULT))?;
    let a = Tridiagonal::new(sub, diag, sup)?;
    record(system.plan.factor(&a)?.solve_pruned_into(Op::Plain, &rhs, x), &system)
}
