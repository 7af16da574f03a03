//! Sparse matrices (CSR) for C and their products. `forest`, `precond` and `krylov` use these matrices.
//!
//! A handle borrows the arrays of the caller and checks their structure once. Preconditioners share the matrix, so handles may be destroyed
//! in any order.

mod forest;
mod krylov;
mod precond;

pub(crate) use forest::{arrays, destroy_forest, factor, forest, forest_defaults, info, tridiagonal};
pub use forest::{bandsolve_forest, bandsolve_forest_info_t, bandsolve_forest_options_t, bandsolve_forest_t};
pub(crate) use krylov::{IterationCall, iteration_defaults};
pub use krylov::{
    bandsolve_ending_t, bandsolve_iteration_options_t, bandsolve_iteration_report_t, bandsolve_side_t,
    bandsolve_watch_t,
};
pub(crate) use precond::{apply, apply_size, destroy_precond, kind, precond, reason};
pub use precond::{bandsolve_precond, bandsolve_precond_t};

use crate::memory::{ArgumentPlace, RawArray, apart, elements, size};
use crate::status::{CallFailure, CallResult};
use bandsolve::matrix::Index;
use bandsolve::{Error, LinearOperator, Op, Scalar};
use bandsolve_sparse::{Csr, PreparedProduct};
use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// The operation op that a function applies to a matrix.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_operation_t {
    /// No transposition: op(A) = A.
    BANDSOLVE_PLAIN = 0,
    /// Transpose: op(A) = A^T.
    BANDSOLVE_TRANSPOSE = 1,
    /// Conjugate transpose: op(A) = A^H.
    BANDSOLVE_CONJ_TRANSPOSE = 2,
}

use bandsolve_operation_t::*;

/// An operation from C. It may be any number, so it is not the Rust enum.
pub type OperationArgument = i32;

fn operation(op: OperationArgument) -> CallResult<Op> {
    const PLAIN: i32 = BANDSOLVE_PLAIN as i32;
    const TRANSPOSE: i32 = BANDSOLVE_TRANSPOSE as i32;
    const CONJ_TRANSPOSE: i32 = BANDSOLVE_CONJ_TRANSPOSE as i32;
    match op {
        PLAIN => Ok(Op::Plain),
        TRANSPOSE => Ok(Op::Transpose),
        CONJ_TRANSPOSE => Ok(Op::ConjTranspose),
        _ => Err(CallFailure::argument(format!("op is {op}, expected a bandsolve_operation_t, 0 to 2"))),
    }
}

/// A sparse matrix by rows, of any number type.
pub struct bandsolve_csr {
    /// A `HeldCsr`.
    matrix: Arc<dyn Any + Send + Sync>,
}

/// A sparse matrix that `bandsolve<t>csr_create` made.
pub type bandsolve_csr_t = *mut bandsolve_csr;

/// Sparse rows (CSR) from C, zero-based. The row pointers may have another type than the column indices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SparseRows<T, I, P = I> {
    pub values: *const T,
    pub col_indices: *const I,
    pub row_ptrs: *const P,
    pub nnz: i64,
}

/// A matrix over the caller's arrays.
struct HeldCsr<T: Scalar> {
    rows: IndexedRows<T>,
    places: [ArgumentPlace; 3],
}

/// The matrix, with the index types of the caller.
pub(crate) enum IndexedRows<T: Scalar> {
    Narrow(PreparableCsr<T, i32>),
    Wide(PreparableCsr<T, i64>),
}

/// Rows with indices of one type, and the prepared copy for products, if requested.
pub(crate) struct PreparableCsr<T: Scalar, I: Index> {
    a: Csr<'static, T, I>,
    prepared: OnceLock<PreparedProduct<'static, T, I>>,
}

impl<T: Scalar, I: Index> PreparableCsr<T, I> {
    fn operator(&self) -> &dyn LinearOperator<T> {
        match self.prepared.get() {
            Some(prepared) => prepared,
            None => &self.a,
        }
    }

    fn prepare(&self) -> bandsolve::Result<()> {
        if self.prepared.get().is_none() {
            let _ = self.prepared.set(PreparedProduct::from_csr(self.a.clone())?);
        }
        Ok(())
    }

    fn product(&self, op: Op, alpha: T, x: &[T], beta: T, y: &mut [T]) -> bandsolve::Result<()> {
        match self.prepared.get() {
            Some(prepared) => prepared.product(op, alpha, x, beta, y),
            None => self.a.product(op, alpha, x, beta, y),
        }
    }
}

/// Index types of C.
pub(crate) trait CsrIndex: Index {
    fn rows<T: Scalar>(a: Csr<'static, T, Self>) -> IndexedRows<T>;
}

impl CsrIndex for i32 {
    fn rows<T: Scalar>(a: Csr<'static, T, i32>) -> IndexedRows<T> {
        IndexedRows::Narrow(PreparableCsr { a, prepared: OnceLock::new() })
    }
}

impl CsrIndex for i64 {
    fn rows<T: Scalar>(a: Csr<'static, T, i64>) -> IndexedRows<T> {
        IndexedRows::Wide(PreparableCsr { a, prepared: OnceLock::new() })
    }
}

/// Evaluate `$body` with the rows, for any index type.
macro_rules! with_rows {
    ($csr:expr, $rows:ident => $body:expr) => {
        match &$csr.rows {
            $crate::csr::IndexedRows::Narrow($rows) => $body,
            $crate::csr::IndexedRows::Wide($rows) => $body,
        }
    };
}
use with_rows;

impl<T: Scalar> HeldCsr<T> {
    fn operator(&self) -> &dyn LinearOperator<T> {
        with_rows!(self, rows => rows.operator())
    }

    /// Get the number of rows and columns.
    fn sizes(&self) -> (usize, usize) {
        with_rows!(self, rows => (rows.a.rows(), rows.a.columns()))
    }

    /// Return an error if an array in `written` overlaps the matrix, an array in `read`, or another written array.
    fn apart(&self, written: &[ArgumentPlace], read: &[ArgumentPlace]) -> CallResult {
        apart(written, &[&self.places, read])
    }
}

/// Convert an error about a matrix to a failure, with the array names of C.
fn named(error: Error) -> CallFailure {
    match error {
        Error::Structure { array: "row_pointers", index } => Error::Structure { array: "row_ptrs", index },
        Error::Structure { array: "column_indices", index } => Error::Structure { array: "col_indices", index },
        other => other,
    }
    .into()
}

/// Get the object of a handle.
///
/// # Safety
/// The handle is null, or not destroyed for `'a`.
pub(crate) unsafe fn opened<'a, H>(handle: *mut H, name: &str, made_by: &str) -> CallResult<&'a H> {
    // SAFETY: the caller's promise.
    let handle = unsafe { handle.as_ref() };
    handle.ok_or_else(|| CallFailure::argument(format!("{name} is null; create it with {made_by} first")))
}

/// Get the matrix of a handle.
///
/// # Safety
/// The handle is null, or not destroyed during the call.
unsafe fn csr_of<T: Scalar>(matrix: bandsolve_csr_t) -> CallResult<Arc<HeldCsr<T>>> {
    // SAFETY: the caller's promise.
    let handle = unsafe { opened(matrix, "matrix", "csr_create")? };
    Arc::downcast(handle.matrix.clone()).map_err(|_| {
        CallFailure::argument(
            "matrix has another number type than the function; use the function of the type that created the matrix"
                .into(),
        )
    })
}

/// Free the object of a handle. Does nothing if the handle is null.
///
/// # Safety
/// The handle is null, or comes from [`Box::into_raw`], and nobody uses it any more.
pub(crate) unsafe fn destroy<H>(handle: *mut H) -> CallResult {
    if !handle.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(handle) });
    }
    Ok(())
}

/// Create a matrix over the caller's arrays (`csr_create`).
///
/// # Safety
/// Pointers that are not null point to arrays of the given sizes; nobody changes or frees the arrays during the lifetime of
/// the matrix and of the objects that are created from it.
pub(crate) unsafe fn create<T: Scalar, I: CsrIndex>(
    sizes: (i64, i64),
    arrays: SparseRows<T, I>,
    out: *mut bandsolve_csr_t,
) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        create_by(sizes, arrays, out, |columns, pointers, indices, values| Csr::new(columns, pointers, indices, values))
    }
}

/// Create a matrix with row pointers of another type, which are copied (`csr_create_mixed`).
///
/// # Safety
/// As [`create`].
pub(crate) unsafe fn create_mixed<T: Scalar, I: CsrIndex, P: Index>(
    sizes: (i64, i64),
    arrays: SparseRows<T, I, P>,
    out: *mut bandsolve_csr_t,
) -> CallResult {
    let create =
        |columns, pointers: Cow<'static, [P]>, indices, values| Csr::with_pointers(columns, &pointers, indices, values);
    // SAFETY: the caller's promise.
    unsafe { create_by(sizes, arrays, out, create) }
}

/// Do the same as [`create`], with a function that builds the matrix from columns, pointers, indices and values.
///
/// # Safety
/// As [`create`].
unsafe fn create_by<T: Scalar, I: CsrIndex, P: Index>(
    (rows, columns): (i64, i64),
    arrays: SparseRows<T, I, P>,
    out: *mut bandsolve_csr_t,
    create: impl FnOnce(usize, Cow<'static, [P]>, &'static [I], &'static [T]) -> bandsolve::Result<Csr<'static, T, I>>,
) -> CallResult {
    let out = RawArray::new("matrix", out, 1)?;
    let (rows, columns) = (size("rows", rows)?, size("columns", columns)?);
    let nnz = elements::<T>("values", &[size("nnz", arrays.nnz)?])?;
    // Without rows, the row pointers may be empty.
    let count = if rows == 0 { 0 } else { elements::<P>("row_ptrs", &[rows.saturating_add(1)])? };
    let values = RawArray::new("values", arrays.values, nnz)?;
    let col_indices = RawArray::new("col_indices", arrays.col_indices, nnz)?;
    let row_ptrs = RawArray::new("row_ptrs", arrays.row_ptrs, count)?;
    let places = [values.place(), col_indices.place(), row_ptrs.place()];
    // SAFETY: the caller's promise, also that the arrays live as long as the matrix.
    let (values, col_indices, row_ptrs): (&'static [T], &'static [I], &'static [P]) =
        unsafe { (values.read(), col_indices.read(), row_ptrs.read()) };
    let row_ptrs = if rows == 0 { Cow::Owned(vec![P::from_usize(0)]) } else { Cow::Borrowed(row_ptrs) };
    let a = create(columns, row_ptrs, col_indices, values).map_err(named)?;
    let matrix = Arc::new(HeldCsr { rows: I::rows(a), places });
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = Box::into_raw(Box::new(bandsolve_csr { matrix })) };
    Ok(())
}

/// Free a matrix, but not its arrays (`bandsolveCsrDestroy`).
///
/// # Safety
/// As [`destroy`].
pub(crate) unsafe fn destroy_csr(matrix: bandsolve_csr_t) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { destroy(matrix) }
}

/// Prepare a matrix for many products (`csr_prepare`).
///
/// # Safety
/// `matrix` is null, or is not destroyed during the call.
pub(crate) unsafe fn prepare<T: Scalar>(matrix: bandsolve_csr_t) -> CallResult {
    // SAFETY: the caller's promise.
    let csr = unsafe { csr_of::<T>(matrix)? };
    with_rows!(csr, rows => rows.prepare())?;
    Ok(())
}

/// Read a number of the caller.
///
/// # Safety
/// `at` is null or points to a number.
unsafe fn number<T: Copy>(name: &'static str, at: *const T) -> CallResult<T> {
    // SAFETY: the caller's promise.
    Ok(unsafe { RawArray::new(name, at, 1)?.read()[0] })
}

/// Compute y ← alpha·op(A)·x + beta·y (`csrmv`).
///
/// # Safety
/// `matrix` is null, or is not destroyed during the call; pointers that are not null point to arrays of the given sizes. Written arrays belong
/// to this call alone.
pub(crate) unsafe fn product<T: Scalar>(
    op: OperationArgument,
    matrix: bandsolve_csr_t,
    (alpha, beta): (*const T, *const T),
    x: *const T,
    y: *mut T,
) -> CallResult {
    let op = operation(op)?;
    // SAFETY: the caller's promise.
    let (csr, alpha, beta) = unsafe { (csr_of::<T>(matrix)?, number("alpha", alpha)?, number("beta", beta)?) };
    let (rows, columns) = csr.sizes();
    let (rows, columns) = if op == Op::Plain { (rows, columns) } else { (columns, rows) };
    let x = RawArray::new("x", x, elements::<T>("x", &[columns])?)?;
    let y = RawArray::new("y", y, elements::<T>("y", &[rows])?)?;
    csr.apart(&[y.place()], &[x.place()])?;
    // SAFETY: the caller's promise; y overlaps no array that is read.
    let (x, y) = unsafe { (x.read(), y.write()) };
    with_rows!(csr, rows => rows.product(op, alpha, x, beta, y))?;
    Ok(())
}
