//! LAPACK's names: `gttrf`, `gbtrf`, `pttrf`, `pbtrf`, their solves and condition numbers, with LAPACK's arguments.
//!
//! A handle owns the factors and a copy of the matrix, which verification and refinement need. The arrays of the caller are free after
//! the call that factors.

use crate::csr::{destroy, opened};
use crate::memory::{ArgumentPlace, RawArray, apart, elements, heap, size};
use crate::report;
use crate::settings::{BoolArgument, plans};
use crate::status::{CallFailure, CallResult};
use bandsolve::dyn_stack::{PodBuffer, PodStack, StackReq};
use bandsolve::memory::{collected, copied, zeroed};
use bandsolve::{
    Banded, BlockTridiagonal, ColumnStrides, Complex32, Complex64, Error, Factorize, Inspect, Layout, Method, Norm, Op,
    Plan, RealScalar, Scalar, Shape, Tridiagonal, TridiagonalBatch,
};
use core::ffi::c_char;
use std::any::Any;
use std::sync::Mutex;

/// Factors of a matrix of any kind and number type.
pub struct bandsolve_factor {
    factors: Option<StoredFactors>,
}

/// A handle that `bandsolve_factor_create` made.
pub type bandsolve_factor_t = *mut bandsolve_factor;

/// The matrices of the routines, with the storage in the memory of the caller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LapackRoutine {
    Gt,
    Cgt,
    Bgt,
    Gb(BandStorage),
    Pt,
    Pb(BandStorage),
    Batch { strides: ColumnStrides, shared: bool },
}

use LapackRoutine::*;

/// LAPACK's band storage: A(i, j) is at `diagonal + i − j + j·leading`, of a whole band or of one triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BandStorage {
    n: usize,
    lower: usize,
    upper: usize,
    diagonal: usize,
    leading: usize,
}

impl BandStorage {
    /// The index of A(i, j), which is inside the band.
    fn index(&self, i: usize, j: usize) -> usize {
        self.diagonal + i + j * self.leading - j
    }

    /// The number of entries that the array of the caller must have.
    fn len<T>(&self, rows: usize) -> CallResult<usize> {
        match self.n {
            0 => Ok(0),
            n => elements::<T>("ab", &[n - 1, self.leading])?
                .checked_add(rows)
                .ok_or_else(|| CallFailure::argument("ab would exceed the address space".into())),
        }
    }
}

impl LapackRoutine {
    /// The first letters of the routines.
    fn prefix(&self) -> &'static str {
        match self {
            Gt => "gt",
            Cgt => "cgt",
            Bgt => "bgt",
            Gb(_) => "gb",
            Pt => "pt",
            Pb(_) => "pb",
            Batch { .. } => "gt…_batch: gt",
        }
    }

    /// The storage of the caller of an entry of `bands`, which has `lower + upper + 1` rows.
    fn band_index(storage: &BandStorage, (lower, upper): (usize, usize), index: usize) -> usize {
        let rows = lower + upper + 1;
        let (j, i) = (index / rows, (index / rows + index % rows).saturating_sub(upper));
        // The other triangle is stored for a Hermitian matrix.
        let inside = i <= j + storage.lower && j <= i + storage.upper;
        if inside { storage.index(i, j) } else { storage.index(j, i) }
    }

    /// Convert an error of the library to a failure with the arrays and indices of C.
    fn failure(&self, error: Error, strides: &ColumnStrides) -> CallFailure {
        let Error::NotFinite { array, index } = error else { return error.into() };
        let placed = |at: &ColumnStrides| index % at.rows * at.row + index / at.rows * at.column;
        let (array, index) = match (self, array) {
            (Batch { strides, .. }, "rhs") if !strides.is_empty() => ("rhs", placed(strides)),
            (_, "rhs") if !strides.is_empty() => ("rhs", placed(strides)),
            (Pt, "sub" | "sup") => ("off", index),
            (Gb(storage), "bands") => ("ab", Self::band_index(storage, (storage.lower, storage.upper), index)),
            (Pb(storage), "bands") => {
                let width = storage.lower.max(storage.upper);
                ("ab", Self::band_index(storage, (width, width), index))
            }
            (Batch { strides, shared: false }, array) if !strides.is_empty() => (array, placed(strides)),
            _ => (array, index),
        };
        Error::NotFinite { array, index }.into()
    }
}

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
    scratch: Mutex<Option<PodBuffer>>,
}

/// Right-hand sides from C, which the solutions overwrite: column k starts at `rhs[k·leading]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LapackColumns<T> {
    pub n_rhs: i64,
    pub rhs: *mut T,
    pub leading: i64,
}

/// How long the factors live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// During the call, so that they may borrow the arrays of the caller.
    Call,
    /// Until the handle is destroyed or factors again.
    Handle,
}

use Lifetime::*;

const DEFAULT_PIVOTING: i32 = 3;

/// Get the plan of a call.
fn plan(lifetime: Lifetime, shape: Shape) -> CallResult<Plan> {
    Ok(plans(DEFAULT_PIVOTING, shape, lifetime == Call)?.solve)
}

/// Factor a matrix that owns its arrays, or borrows arrays of the caller.
fn factor<T: Scalar, M>(routine: LapackRoutine, plan: Plan, a: M, borrowed: &[RawArray<T>]) -> CallResult<StoredFactors>
where
    M: Factorize<Scalar = T, OwningFactor: 'static>,
{
    let (shape, method) = (plan.shape(), plan.chosen_method());
    let nowhere = ColumnStrides::column_major(0, 0, 0);
    let factors = plan.factor_owned(a).map_err(|error| routine.failure(error, &nowhere))?;
    let factors: Box<dyn Inspect<T>> = Box::new(factors);
    let borrowed = borrowed.iter().map(RawArray::place).collect();
    Ok(StoredFactors { routine, shape, method, factors: Box::new(factors), borrowed, scratch: Mutex::new(None) })
}

/// The arrays of a tridiagonal or block tridiagonal matrix, with `off` and `diag` elements.
fn three<T>([sub, diag, sup]: [*const T; 3], (on, off): (usize, usize)) -> CallResult<[RawArray<T>; 3]> {
    Ok([RawArray::new("sub", sub, off)?, RawArray::new("diag", diag, on)?, RawArray::new("sup", sup, off)?])
}

/// Factor a tridiagonal matrix (`gttrf`), or a cyclic one (`cgttrf`).
///
/// # Safety
/// Pointers that are not null point to arrays of the given sizes, which nobody changes for as long as `lifetime` says.
pub(crate) unsafe fn gt<T: Scalar>(
    lifetime: Lifetime,
    (n, cyclic): (i64, bool),
    matrix: [*const T; 3],
) -> CallResult<StoredFactors> {
    let n = size("n", n)?;
    let n = elements::<T>("diag", &[n])?;
    let arrays = three(matrix, (n, if cyclic { n } else { n.saturating_sub(1) }))?;
    let plan = plan(lifetime, Shape::Tridiagonal { n, periodic: cyclic })?;
    let routine = if cyclic { Cgt } else { Gt };
    if lifetime == Call {
        // SAFETY: the caller's promise.
        let [sub, diag, sup]: [&'static [T]; 3] = unsafe { arrays.each_ref().map(|a| a.read()) };
        let new = if cyclic { Tridiagonal::periodic } else { Tridiagonal::new };
        return factor(routine, plan, new(sub, diag, sup)?, &arrays);
    }
    // SAFETY: as above.
    let [sub, diag, sup] = unsafe { arrays.each_ref().map(|a| copied(a.read())) };
    factor(routine, plan, Tridiagonal::from_vecs(sub?, diag?, sup?, cyclic)?, &[])
}

/// Factor a block tridiagonal matrix (`bgttrf`).
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn bgt<T: Scalar>(
    lifetime: Lifetime,
    (n, block): (i64, i64),
    matrix: [*const T; 3],
) -> CallResult<StoredFactors> {
    let (n, block) = (size("n", n)?, size("block", block)?);
    let square = elements::<T>("a block", &[block, block])?;
    if square == 0 {
        return Err(CallFailure::argument("block is 0, expected at least 1".into()));
    }
    let on = elements::<T>("diag", &[n, block, block])?;
    let arrays = three(matrix, (on, on.saturating_sub(square)))?;
    let plan = plan(lifetime, Shape::BlockTridiagonal { block_rows: n, block, periodic: false })?;
    if lifetime == Call {
        // SAFETY: the caller's promise.
        let [sub, diag, sup]: [&'static [T]; 3] = unsafe { arrays.each_ref().map(|a| a.read()) };
        return factor(Bgt, plan, BlockTridiagonal::new(block, sub, diag, sup)?, &arrays);
    }
    // SAFETY: as above.
    let [sub, diag, sup] = unsafe { arrays.each_ref().map(|a| copied(a.read())) };
    factor(Bgt, plan, BlockTridiagonal::from_vecs(block, [sub?, diag?, sup?], false)?, &[])
}

/// Factor a banded matrix (`gbtrf`). Row `lower + upper` of `ab` contains the main diagonal.
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn gb<T: Scalar>(
    lifetime: Lifetime,
    (n, lower, upper): (i64, i64, i64),
    (ab, leading): (*const T, i64),
) -> CallResult<StoredFactors> {
    let (n, lower, upper) = (size("n", n)?, size("kl", lower)?, size("ku", upper)?);
    let leading = size("ldab", leading)?;
    // All rows below the space for fill-in belong to the matrix.
    let rows = elements::<T>("a column of ab", &[lower.saturating_mul(2).saturating_add(upper).saturating_add(1)])?;
    if leading < rows {
        return Err(CallFailure::argument(format!(
            "ldab is {leading}, expected at least 2 kl + ku + 1, which is {rows}"
        )));
    }
    let storage = BandStorage { n, lower, upper, diagonal: lower + upper, leading };
    let array = RawArray::new("ab", ab, storage.len::<T>(rows)?)?;
    let plan = plan(lifetime, Shape::Banded { n, lower, upper })?;
    // SAFETY: the caller's promise.
    let ab = unsafe { array.read() };
    let column = lower + upper + 1;
    let mut bands = zeroed(n.saturating_mul(column))?;
    for (j, to) in bands.chunks_exact_mut(column).enumerate() {
        let (first, end) = (j.saturating_sub(upper), (j + lower + 1).min(n));
        let from = storage.index(first, j);
        to[upper + first - j..][..end - first].copy_from_slice(&ab[from..from + end - first]);
    }
    factor(Gb(storage), plan, Banded::from_vec(n, lower, upper, bands)?, &[])
}

/// Factor a Hermitian positive definite tridiagonal matrix (`pttrf`).
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn pt<T: Scalar>(
    lifetime: Lifetime,
    n: i64,
    diag: *const T::Real,
    off: *const T,
) -> CallResult<StoredFactors> {
    let n = size("n", n)?;
    let n = elements::<T>("diag", &[n])?;
    let diag = RawArray::new("diag", diag, n)?;
    let off = RawArray::new("off", off, n.saturating_sub(1))?;
    let plan = plan(lifetime, Shape::Tridiagonal { n, periodic: false })?.method(Method::Cholesky);
    // SAFETY: the caller's promise.
    let (diag, off) = unsafe { (diag.read(), off.read()) };
    let diag = collected(diag.iter().map(|v| T::from_real(*v)))?;
    let sup = collected(off.iter().map(|v| Scalar::conj(*v)))?;
    factor(Pt, plan, Tridiagonal::from_vecs(copied(off)?, diag, sup, false)?, &[])
}

/// Factor a Hermitian positive definite banded matrix (`pbtrf`), of which `ab` contains one triangle.
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn pb<T: Scalar>(
    lifetime: Lifetime,
    uplo: c_char,
    (n, width): (i64, i64),
    (ab, leading): (*const T, i64),
) -> CallResult<StoredFactors> {
    let (n, width, leading) = (size("n", n)?, size("kd", width)?, size("ldab", leading)?);
    let is_upper = match letter(uplo) {
        b'U' => true,
        b'L' => false,
        _ => return Err(CallFailure::argument(format!("uplo is {}, expected 'U' or 'L'", shown(uplo)))),
    };
    let rows = elements::<T>("a column of ab", &[width.saturating_add(1)])?;
    if leading < rows {
        return Err(CallFailure::argument(format!("ldab is {leading}, expected at least kd + 1, which is {rows}")));
    }
    let (lower, upper) = if is_upper { (0, width) } else { (width, 0) };
    let storage = BandStorage { n, lower, upper, diagonal: upper, leading };
    let array = RawArray::new("ab", ab, storage.len::<T>(rows)?)?;
    let plan = plan(lifetime, Shape::Banded { n, lower: width, upper: width })?.method(Method::Cholesky);
    // SAFETY: the caller's promise.
    let ab = unsafe { array.read() };
    let column = elements::<T>("a column of the band", &[width.saturating_mul(2).saturating_add(1)])?;
    let mut bands = zeroed(n.saturating_mul(column))?;
    for j in 0..n {
        for i in j.saturating_sub(upper)..(j + lower + 1).min(n) {
            let entry = ab[storage.index(i, j)];
            bands[width + i - j + j * column] = entry;
            // LAPACK ignores the imaginary part of the diagonal.
            bands[width + j - i + i * column] = if i == j { T::from_real(entry.re()) } else { Scalar::conj(entry) };
        }
    }
    factor(Pb(storage), plan, Banded::from_vec(n, width, width, bands)?, &[])
}

/// The sizes of a batch from C, and the distances between entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchArguments {
    pub n: i64,
    pub count: i64,
    pub row_stride: i64,
    pub system_stride: i64,
    /// Whether all systems have the same matrix.
    pub shared: BoolArgument,
}

/// Factor a batch of tridiagonal matrices (`gttrf_batch`).
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn batch<T: Scalar>(
    lifetime: Lifetime,
    sizes: BatchArguments,
    matrix: [*const T; 3],
) -> CallResult<StoredFactors> {
    let (n, count, shared) = (size("n", sizes.n)?, size("count", sizes.count)?, sizes.shared != 0);
    let (row, system) = (size("row_stride", sizes.row_stride)?, size("system_stride", sizes.system_stride)?);
    elements::<T>("rhs", &[n, count])?;
    let layout = if row > system { Layout::Interleaved } else { Layout::Contiguous };
    let strides = match layout {
        Layout::Contiguous => ColumnStrides { rows: n, columns: count, row, column: system },
        Layout::Interleaved => ColumnStrides { rows: count, columns: n, row: system, column: row },
    };
    let len = elements::<T>("rhs", &[strides.len()?])?;
    let plan = plan(lifetime, Shape::Batch { n, count, layout })?;
    let routine = Batch { strides, shared };
    let arrays = three(matrix, if shared { (n, n) } else { (len, len) })?;
    // SAFETY: the caller's promise; only a call borrows them.
    let [sub, diag, sup]: [&'static [T]; 3] = unsafe { arrays.each_ref().map(|a| a.read()) };
    let gathered;
    let a = if shared {
        TridiagonalBatch::shared(count, n, layout, sub, diag, sup)?
    } else if strides.is_contiguous() {
        TridiagonalBatch::new(count, n, layout, sub, diag, sup)?
    } else {
        gathered = [strides.gather("sub", sub)?, strides.gather("diag", diag)?, strides.gather("sup", sup)?];
        let [sub, diag, sup] = &gathered;
        return factor(routine, plan, TridiagonalBatch::new(count, n, layout, sub, diag, sup)?.into_owned(), &[]);
    };
    if lifetime == Call { factor(routine, plan, a, &arrays) } else { factor(routine, plan, a.into_owned(), &[]) }
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
        self.of::<T>()?.rcond(by).map_err(|error| self.routine.failure(error, &ColumnStrides::column_major(0, 0, 0)))
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

    fn memory(&self, needed: StackReq) -> CallResult<PodBuffer> {
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
    let other = factors.routine.prefix();
    if other == prefix {
        return Ok(factors);
    }
    let message = format!("factor comes from {other}trf, but this routine needs factors of {prefix}trf");
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

/// Factor and solve (`gtsv`, `gbsv`, …).
///
/// # Safety
/// The right-hand sides belong to this call alone.
pub(crate) unsafe fn solve_once<T: Scalar>(
    factors: CallResult<StoredFactors>,
    columns: LapackColumns<T>,
) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    unsafe { solve_columns(&factors?, Op::Plain, columns) }
}

unsafe fn solve_columns<T: Scalar>(factors: &StoredFactors, op: Op, columns: LapackColumns<T>) -> CallResult {
    let (n, n_rhs) = (factors.shape.rows(), size("n_rhs", columns.n_rhs)?);
    let leading = size("ld_rhs", columns.leading)?;
    if leading < n {
        return Err(CallFailure::argument(format!("ld_rhs is {leading}, expected at least {n}, the number of rows")));
    }
    let strides = ColumnStrides::column_major(n, n_rhs, leading);
    let rhs = RawArray::new("rhs", columns.rhs, elements::<T>("rhs", &[strides.len()?])?)?;
    apart(&[rhs.place()], &[&factors.borrowed])?;
    // SAFETY: the caller's promise.
    factors.solve(op, unsafe { rhs.write() }, strides)
}

/// Solve the systems of a batch with factors (`gttrs_batch`).
///
/// # Safety
/// As [`solve`].
pub(crate) unsafe fn solve_batch<T: Scalar>(op: Op, factor: bandsolve_factor_t, rhs: *mut T) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    unsafe { batch_in_place(stored(factor)?, op, rhs) }
}

/// Factor a batch and solve (`gtsv_batch`).
///
/// # Safety
/// As [`solve_once`].
pub(crate) unsafe fn solve_batch_once<T: Scalar>(factors: CallResult<StoredFactors>, rhs: *mut T) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    unsafe { batch_in_place(&factors?, Op::Plain, rhs) }
}

unsafe fn batch_in_place<T: Scalar>(factors: &StoredFactors, op: Op, rhs: *mut T) -> CallResult {
    let Batch { strides, .. } = factors.routine else {
        let message =
            format!("factor comes from {}trf, but this routine needs factors of a batch", factors.routine.prefix());
        return Err(CallFailure::buffer(message));
    };
    let len = strides.len()?;
    let rhs = RawArray::new("rhs", rhs, len)?;
    apart(&[rhs.place()], &[&factors.borrowed])?;
    // A batch is one right-hand side of all systems, in the order of the memory.
    // SAFETY: the caller's promise.
    let rhs = unsafe { rhs.write() };
    let whole = ColumnStrides::column_major(len, 1, len);
    if strides.is_contiguous() {
        return factors.solve(op, rhs, whole);
    }
    let mut columns = strides.gather("rhs", rhs)?;
    let rows = columns.len();
    let solved = factors.solve(op, &mut columns, ColumnStrides::column_major(rows, 1, rows));
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
    let nowhere = ColumnStrides::column_major(0, 0, 0);
    let determinant = factors.of::<T>()?.determinant().map_err(|error| factors.routine.failure(error, &nowhere))?;
    // SAFETY: the pointers are not null and aligned, and do not overlap; the rest is the caller's promise.
    unsafe {
        phase.write()[0] = determinant.phase;
        log_abs.write()[0] = determinant.log_abs;
    }
    Ok(())
}
