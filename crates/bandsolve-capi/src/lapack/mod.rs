//! LAPACK's names: `gttrf`, `gbtrf`, `pttrf`, `pbtrf`, their solves and condition numbers, with LAPACK's arguments.
//!
//! A handle owns the factors and a copy of the matrix, which verification and refinement need. The arrays of the caller are free after
//! the call that factors.

mod matrices;
mod routine;

pub(crate) use matrices::{
    BandArguments, BatchSizes, BlockArguments, Lifetime, StoredDiagonals, band_batch, batch, bgt, block_batch, gb, gt,
    pb, pt,
};

use crate::csr::{destroy, opened};
use crate::memory::{ArgumentPlace, RawArray, apart, elements, heap, size};
use crate::report;
use crate::status::{CallFailure, CallResult};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{ColumnStrides, Complex32, Complex64, Inspect, Method, Norm, Op, RealScalar, Scalar, Shape};
use bandsolve_kernel::memory::Array;
use core::ffi::c_char;
use routine::LapackRoutine;
use std::any::Any;
use std::sync::Mutex;

/// Factors of a matrix of any kind and number type.
pub struct bandsolve_factor {
    factors: Option<StoredFactors>,
}

/// A handle that `bandsolve_factor_create` made.
pub type bandsolve_factor_t = *mut bandsolve_factor;

/// Factors with what a solve needs to know of the call that factored.
pub(crate) struct StoredFactors {
    routine: LapackRoutine,
    shape: Shape,
    method: Method,
    /// A `Box<dyn Inspect<T>>`.
    factors: Box<dyn Any + Send + Sync>,
    /// The arrays of the caller that the factors borrow.
    borrowed: Vec<ArgumentPlace>,
    /// Scratch memory of the last solve, for the next one. A solve on another thread at the same time allocates its own.
    scratch: Mutex<Option<Array<u8>>>,
}

/// Right-hand sides from C, which the solutions overwrite: column k starts at `rhs[k·leading]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LapackColumns<T> {
    pub n_rhs: i64,
    pub rhs: *mut T,
    pub leading: i64,
}

impl<T> LapackColumns<T> {
    /// Check the arguments for a matrix with `rows` rows.
    fn array(&self, rows: usize) -> CallResult<(RawArray<T>, ColumnStrides)> {
        let (n_rhs, leading) = (size("n_rhs", self.n_rhs)?, size("ld_rhs", self.leading)?);
        if leading < rows {
            let message = format!("ld_rhs is {leading}, expected at least {rows}, the number of rows");
            return Err(CallFailure::argument(message));
        }
        let strides = ColumnStrides::column_major(rows, n_rhs, leading);
        let rhs = RawArray::new("rhs", self.rhs, elements::<T>("rhs", &[strides.len()?])?)?;
        Ok((rhs, strides))
    }
}

/// Write an empty handle to `out` (`bandsolve_factor_create`).
///
/// # Safety
/// `out` is null, or may be written.
pub(crate) unsafe fn create(out: *mut bandsolve_factor_t) -> CallResult {
    let out = RawArray::new("factor", out, 1)?;
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = Box::into_raw(Box::new(bandsolve_factor { factors: None })) };
    Ok(())
}

/// Free a handle and its factors (`bandsolve_factor_destroy`).
///
/// # Safety
/// As [`destroy`].
pub(crate) unsafe fn destroy_factor(factor: bandsolve_factor_t) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { destroy(factor) }
}

/// Store new factors in a handle. The old ones are freed first, so that there is memory for the new ones.
///
/// # Safety
/// The handle is null, or nobody else uses it during the call.
pub(crate) unsafe fn store(factor: bandsolve_factor_t, make: impl FnOnce() -> CallResult<StoredFactors>) -> CallResult {
    // SAFETY: the caller's promise.
    let handle = unsafe { factor.as_mut() };
    let handle =
        handle.ok_or_else(|| CallFailure::argument("factor is null; create it with bandsolve_factor_create".into()))?;
    drop(handle.factors.take());
    handle.factors = Some(make()?);
    Ok(())
}

impl StoredFactors {
    fn of<T: Scalar>(&self) -> CallResult<&dyn Inspect<T>> {
        let factors = self.factors.downcast_ref::<Box<dyn Inspect<T>>>();
        let other = || CallFailure::buffer("factor has another number type; call the routine of that type".into());
        Ok(&**factors.ok_or_else(other)?)
    }

    fn rcond<T: Scalar>(&self, by: Norm) -> CallResult<f64> {
        self.of::<T>()?.rcond(by).map_err(|error| self.routine.matrix_failure(error))
    }

    /// Solve in place, with the scratch memory of the last solve if no other thread uses it, and store the report.
    fn solve<T: Scalar>(&self, op: Op, rhs: &mut [T], strides: ColumnStrides) -> CallResult {
        let factor = self.of::<T>()?;
        let solved = if strides.is_contiguous() {
            let needed = factor.solve_in_place_scratch(strides.columns);
            let mut memory = self.memory(needed)?;
            let solved = factor.solve_in_place_with(op, rhs, PodStack::new(&mut memory));
            if let Ok(mut place) = self.scratch.try_lock() {
                *place = Some(memory);
            }
            solved
        } else {
            factor.solve_strided_in_place(op, rhs, strides)
        };
        report::keep(&solved, self.method);
        solved.map(|_| ()).map_err(|error| self.routine.failure(error, &strides))
    }

    fn memory(&self, needed: StackReq) -> CallResult<Array<u8>> {
        let last = self.scratch.try_lock().ok().and_then(|mut place| place.take());
        if let Some(mut memory) = last
            && PodStack::new(&mut memory).can_hold(needed)
        {
            return Ok(memory);
        }
        heap(needed)
    }
}

/// Get the factors of a handle.
///
/// # Safety
/// The handle is null, or not destroyed during the call.
unsafe fn stored<'a>(factor: bandsolve_factor_t) -> CallResult<&'a StoredFactors> {
    // SAFETY: the caller's promise.
    let handle = unsafe { opened(factor, "factor", "bandsolve_factor_create")? };
    let empty =
        || CallFailure::buffer("factor is empty; factor a matrix first, for example with bandsolve_dgttrf".into());
    handle.factors.as_ref().ok_or_else(empty)
}

/// Get the factors of a handle, if the routine that factored has the prefix `prefix`.
///
/// # Safety
/// As [`stored`].
unsafe fn stored_by<'a>(factor: bandsolve_factor_t, prefix: &str) -> CallResult<&'a StoredFactors> {
    // SAFETY: the caller's promise.
    let factors = unsafe { stored(factor)? };
    let (other, wanted) = (factors.routine.name(), format!("{prefix}trf"));
    if other == wanted {
        return Ok(factors);
    }
    let message = format!("factor comes from {other}, but this routine needs factors of {wanted}");
    Err(CallFailure::buffer(message))
}

/// The letter of an argument, in upper case.
pub(crate) fn letter(argument: c_char) -> u8 {
    (argument as u8).to_ascii_uppercase()
}

/// A letter as it is shown in a message.
pub(crate) fn shown(argument: c_char) -> String {
    format!("'{}'", (argument as u8).escape_ascii())
}

/// Read LAPACK's TRANS.
pub(crate) fn op(trans: c_char) -> CallResult<Op> {
    match letter(trans) {
        b'N' => Ok(Op::Plain),
        b'T' => Ok(Op::Transpose),
        b'C' => Ok(Op::ConjTranspose),
        _ => Err(CallFailure::argument(format!("trans is {}, expected 'N', 'T' or 'C'", shown(trans)))),
    }
}

/// Read LAPACK's NORM.
fn norm(argument: c_char) -> CallResult<Norm> {
    match letter(argument) {
        b'1' | b'O' => Ok(Norm::One),
        b'I' => Ok(Norm::Infinity),
        _ => Err(CallFailure::argument(format!("norm is {}, expected '1', 'O' or 'I'", shown(argument)))),
    }
}

/// Solve op(A)·X = RHS with factors (`gttrs`, `gbtrs`, …).
///
/// # Safety
/// As [`stored`]; the right-hand sides belong to this call alone.
pub(crate) unsafe fn solve<T: Scalar>(
    prefix: &str,
    op: Op,
    factor: bandsolve_factor_t,
    columns: LapackColumns<T>,
) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    unsafe { solve_columns(stored_by(factor, prefix)?, op, columns) }
}

/// Factor a matrix with `rows` rows and solve (`gtsv`, `gbsv`, …).
///
/// # Safety
/// The right-hand sides belong to this call alone.
pub(crate) unsafe fn solve_once<T: Scalar>(
    rows: i64,
    factor: impl FnOnce() -> CallResult<StoredFactors>,
    columns: LapackColumns<T>,
) -> CallResult {
    report::clear();
    // A wrong argument is reported even if the matrix has no factors. `factor` rejects negative sizes.
    if let Ok(rows) = usize::try_from(rows) {
        columns.array(rows)?;
    }
    // SAFETY: the caller's promise.
    unsafe { solve_columns(&factor()?, Op::Plain, columns) }
}

/// # Safety
/// The right-hand sides belong to this call alone.
unsafe fn solve_columns<T: Scalar>(factors: &StoredFactors, op: Op, columns: LapackColumns<T>) -> CallResult {
    let (rhs, strides) = columns.array(factors.shape.rows())?;
    apart(&[rhs.place()], &[&factors.borrowed])?;
    // SAFETY: the caller's promise.
    factors.solve(op, unsafe { rhs.write() }, strides)
}

/// Solve the systems of a batch with factors (`gttrs_batch`, `gbtrs_batch`, `pbtrs_batch`, `bgttrs_batch`). `kind` is "gt", "gb", "pb" or "bgt".
///
/// # Safety
/// As [`solve`].
pub(crate) unsafe fn solve_batch<T: Scalar>(kind: &str, op: Op, factor: bandsolve_factor_t, rhs: *mut T) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    let factors = unsafe { stored(factor)? };
    let (stored, wanted) = (factors.routine.name(), format!("{kind}trf_batch"));
    if stored != wanted {
        let message = format!("factor comes from {stored}, but this routine needs factors of {wanted}");
        return Err(CallFailure::buffer(message));
    }
    // SAFETY: the caller's promise.
    unsafe { batch_in_place(factors, op, rhs) }
}

/// Factor a batch and solve (`gtsv_batch`, `gbsv_batch`, `pbsv_batch`, `bgtsv_batch` and their periodic relatives).
///
/// # Safety
/// As [`solve_once`].
pub(crate) unsafe fn solve_batch_once<T: Scalar>(factors: CallResult<StoredFactors>, rhs: *mut T) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    unsafe { batch_in_place(&factors?, Op::Plain, rhs) }
}

/// # Safety
/// As [`solve_columns`].
unsafe fn batch_in_place<T: Scalar>(factors: &StoredFactors, op: Op, rhs: *mut T) -> CallResult {
    use LapackRoutine::{BandBatch, Batch, BlockBatch};
    let (Batch { strides, .. } | BandBatch { strides, .. } | BlockBatch { strides }) = factors.routine else {
        unreachable!("factors of a batch")
    };
    let len = strides.len()?;
    let rhs = RawArray::new("rhs", rhs, len)?;
    apart(&[rhs.place()], &[&factors.borrowed])?;
    // A batch is one right-hand side of all systems, in the order of the memory.
    // SAFETY: the caller's promise.
    let rhs = unsafe { rhs.write() };
    let rows = factors.shape.rows();
    let whole = ColumnStrides::column_major(rows, 1, rows);
    if strides.is_contiguous() {
        return factors.solve(op, rhs, whole);
    }
    let mut columns = strides.gather("rhs", rhs)?;
    let solved = factors.solve(op, &mut columns, whole);
    strides.scatter("rhs", &columns, rhs)?;
    solved
}

/// Estimate the reciprocal condition number (`gtcon`, `gbcon`, …).
///
/// # Safety
/// As [`stored`]; `rcond` is null, or may be written.
pub(crate) unsafe fn condition<T: Scalar>(
    prefix: &str,
    by: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut T::Real,
) -> CallResult {
    let rcond = RawArray::new("rcond", rcond, 1)?;
    let by = norm(by)?;
    // SAFETY: the caller's promise.
    let factors = unsafe { stored_by(factor, prefix)? };
    let estimate = factors.rcond::<T>(by)?;
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { rcond.write()[0] = T::Real::from_f64(estimate) };
    Ok(())
}

/// Estimate the reciprocal condition number of factors of any routine and number type (`bandsolve_factor_rcond`).
///
/// # Safety
/// As [`condition`].
pub(crate) unsafe fn condition_of_any(by: c_char, factor: bandsolve_factor_t, rcond: *mut f64) -> CallResult {
    let rcond = RawArray::new("rcond", rcond, 1)?;
    let by = norm(by)?;
    // SAFETY: the caller's promise.
    let factors = unsafe { stored(factor)? };
    let estimate = if factors.of::<f64>().is_ok() {
        factors.rcond::<f64>(by)
    } else if factors.of::<Complex64>().is_ok() {
        factors.rcond::<Complex64>(by)
    } else if factors.of::<f32>().is_ok() {
        factors.rcond::<f32>(by)
    } else {
        factors.rcond::<Complex32>(by)
    };
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { rcond.write()[0] = estimate? };
    Ok(())
}

/// Get the determinant as phase and logarithm (`bandsolve_<t>factor_det`).
///
/// # Safety
/// As [`stored`]; `phase` and `log_abs` are null, or may be written.
pub(crate) unsafe fn determinant<T: Scalar>(
    factor: bandsolve_factor_t,
    phase: *mut T,
    log_abs: *mut f64,
) -> CallResult {
    let (phase, log_abs) = (RawArray::new("phase", phase, 1)?, RawArray::new("log_abs", log_abs, 1)?);
    apart(&[phase.place(), log_abs.place()], &[])?;
    // SAFETY: the caller's promise.
    let factors = unsafe { stored(factor)? };
    let determinant = factors.of::<T>()?.determinant().map_err(|error| factors.routine.matrix_failure(error))?;
    // SAFETY: the pointers are not null and aligned, and do not overlap; the rest is the caller's promise.
    unsafe {
        phase.write()[0] = determinant.phase;
        log_abs.write()[0] = determinant.log_abs;
    }
    Ok(())
}
