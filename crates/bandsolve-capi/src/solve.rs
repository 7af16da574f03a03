//! The solvers behind the C functions: check sizes and pointers, plan, factor and solve.
//!
//! All checks come before the first slice, and all slices before the first write.

use crate::memory::{ArgumentPlace, RawArray, apart, elements, heap, size};
use crate::report;
use crate::settings::{PivotingArgument, Plans, plans};
#[cfg(feature = "cuda")]
use crate::status::bandsolve_status_t;
use crate::status::{CallFailure, CallResult};
#[cfg(feature = "cuda")]
use bandsolve::Layout;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Banded, BlockTridiagonal, Error, Factor, Op, Plan, Report, Result, Scalar, Shape, Tridiagonal};
use core::ffi::c_void;
use core::slice;

/// The kind of system, with the sizes from C.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SystemKind {
    /// Three arrays of `n` numbers.
    Tridiagonal { n: i64, periodic: bool },
    /// Three arrays of `n` blocks.
    Blocks { n: i64, block: i64, periodic: bool },
    /// Three arrays of `n` blocks, to factor once and solve many times.
    Factors { n: i64, block: i64 },
    /// Rows of bands, the lowest band first.
    Banded { n: i64, lower: i64, upper: i64 },
    /// `count` systems of `n` numbers, on a device: contiguous or interleaved.
    #[cfg(feature = "cuda")]
    Batch { n: i64, count: i64, row_stride: i64, system_stride: i64 },
}

/// Right-hand sides, solutions and scratch memory from C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides<T> {
    pub n_rhs: i64,
    pub x: *mut T,
    pub rhs: *const T,
    pub buffer: *mut c_void,
}

/// A system whose sizes are checked.
#[derive(Debug)]
pub(crate) struct CheckedSystem {
    pub plan: Plan,
    /// Number of elements of each array of the matrix.
    pub matrix_len: usize,
    /// Number of elements of the right-hand sides.
    pub rhs_len: usize,
    /// Number of right-hand sides. It is 0 if the matrix has no rows.
    pub n_rhs: usize,
    /// Scratch for the rearranged matrix.
    storage: StackReq,
    /// Scratch memory in the buffer of the caller, for the matrix and for a solve. For all settings of both threads, it does not exceed
    /// the size that `…_bufferSizeExt` returns.
    buffer: StackReq,
}

impl SystemKind {
    /// Get the shape, and the factors of the length of each array of the matrix.
    fn shape<T: Scalar>(self) -> CallResult<(Shape, [usize; 3])> {
        match self {
            SystemKind::Tridiagonal { n, periodic } => {
                let n = size("n", n)?;
                Ok((Shape::Tridiagonal { n, periodic }, [n, 1, 1]))
            }
            SystemKind::Factors { n, block } => SystemKind::Blocks { n, block, periodic: false }.shape::<T>(),
            SystemKind::Blocks { n, block, periodic } => {
                let (block_rows, block) = (size("n", n)?, size("block", block)?);
                if elements::<T>("a block", &[block, block])? == 0 {
                    return Err(CallFailure::argument("block is 0, expected at least 1".into()));
                }
                Ok((Shape::BlockTridiagonal { block_rows, block, periodic }, [block_rows, block, block]))
            }
            SystemKind::Banded { n, lower, upper } => {
                let (n, lower, upper) = (size("n", n)?, size("lower", lower)?, size("upper", upper)?);
                // On 64-bit machines the sum always fits, because sizes have 63 bits.
                let bands = lower.checked_add(upper).and_then(|sum| sum.checked_add(1));
                let bands =
                    bands.ok_or_else(|| CallFailure::argument("lower + upper is more than can be addressed".into()))?;
                Ok((Shape::Banded { n, lower, upper }, [n, bands, 1]))
            }
            #[cfg(feature = "cuda")]
            SystemKind::Batch { n, count, row_stride, system_stride } => {
                let layout = match (row_stride, system_stride) {
                    (1, system) if system == n => Layout::Contiguous,
                    (row, 1) if row == count => Layout::Interleaved,
                    _ => {
                        let strides = format!("row_stride is {row_stride} and system_stride is {system_stride}");
                        let message = format!("{strides}, but a GPU solves batches with 1 and n, or with count and 1");
                        return Err(CallFailure { status: bandsolve_status_t::BANDSOLVE_UNSUPPORTED, message });
                    }
                };
                let (n, count) = (size("n", n)?, size("count", count)?);
                Ok((Shape::Batch { n, count, layout, periodic: false }, [n, count, 1]))
            }
        }
    }
}

impl CheckedSystem {
    pub fn new<T: Scalar>(p: PivotingArgument, kind: SystemKind, n_rhs: i64) -> CallResult<Self> {
        let (shape, factors) = kind.shape::<T>()?;
        let n_rhs = size("n_rhs", n_rhs)?;
        let is_band = matches!(kind, SystemKind::Banded { .. });
        let matrix_len = elements::<T>(if is_band { "bands" } else { "diag" }, &factors)?;
        // If the matrix has no rows, the number of right-hand sides has no bound and is not used.
        let (rows, n_rhs) = if matrix_len == 0 { (0, 0) } else { (shape.rows(), n_rhs) };
        let rhs_len = elements::<T>("rhs", &[rows, n_rhs])?;
        let storage = if is_band { StackReq::new::<T>(matrix_len) } else { StackReq::EMPTY };
        let Plans { buffer, solve } = plans(p, shape, !matches!(kind, SystemKind::Factors { .. }), None)?;
        let buffer = storage.and(buffer.solve_in_place_scratch::<T>(n_rhs).unwrap_or(StackReq::EMPTY));
        Ok(Self { plan: solve, matrix_len, rhs_len, n_rhs, storage, buffer })
    }

    /// Convert an error of the library to a failure with the indices of C.
    fn failure(&self, error: Error) -> CallFailure {
        match (self.plan.shape(), error) {
            (Shape::Banded { n, lower, upper }, Error::NotFinite { array, index }) if array != "rhs" => {
                let index = match array {
                    // With three bands, the matrix is tridiagonal.
                    "sub" => index,
                    "diag" => n + index,
                    "sup" => 2 * n + index,
                    _ => row_indexed((n, lower, upper), index),
                };
                Error::NotFinite { array: "bands", index }.into()
            }
            (_, error) => error.into(),
        }
    }

    /// Store the report of a solve.
    pub fn record(&self, solved: Result<Report>) -> CallResult {
        report::keep(&solved, self.plan.chosen_method());
        solved.map(|_| ()).map_err(|error| self.failure(error))
    }

    /// Get the number of bytes that a buffer of any alignment must have.
    fn buffer_bytes(&self) -> CallResult<usize> {
        match self.buffer.unaligned_bytes_required() {
            usize::MAX => {
                Err(CallFailure::argument("the buffer would be larger than can be addressed; reduce the sizes".into()))
            }
            bytes => Ok(bytes),
        }
    }
}

/// Write the size of the buffer to `out`.
///
/// # Safety
/// `out` is null, or may be written.
pub(crate) unsafe fn buffer_size<T: Scalar>(
    p: PivotingArgument,
    kind: SystemKind,
    n_rhs: i64,
    out: *mut usize,
) -> CallResult {
    let out = RawArray::new("size", out, 1)?;
    let bytes = CheckedSystem::new::<T>(p, kind, n_rhs)?.buffer_bytes()?;
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = bytes };
    Ok(())
}

/// Check the other arguments and write `bytes` to `out`, for functions whose buffer has the same size for all systems.
///
/// # Safety
/// `out` is null, or may be written.
pub(crate) unsafe fn fixed_size<T: Scalar>(
    p: PivotingArgument,
    kind: SystemKind,
    n_rhs: i64,
    bytes: usize,
    out: *mut usize,
) -> CallResult {
    let out = RawArray::new("size", out, 1)?;
    CheckedSystem::new::<T>(p, kind, n_rhs)?;
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = bytes };
    Ok(())
}

/// Right-hand sides and solutions.
enum RhsSlices<'a, T> {
    Apart { rhs: &'a [T], x: &'a mut [T] },
    InPlace(&'a mut [T]),
}

/// The arrays of a solve, except the matrix.
pub(crate) struct SolveBuffers<'a, T> {
    columns: RhsSlices<'a, T>,
    /// The buffer of the caller; `None` means heap memory.
    stack: Option<&'a mut PodStack>,
}

/// Check the arrays of right-hand sides and solutions. They are the same array or disjoint, and disjoint from `matrix`.
pub(crate) fn columns<T: Scalar>(
    system: &CheckedSystem,
    matrix: &[ArgumentPlace],
    sides: &Sides<T>,
) -> CallResult<[RawArray<T>; 2]> {
    let rhs = RawArray::new("rhs", sides.rhs, system.rhs_len)?;
    let x = RawArray::new("x", sides.x, system.rhs_len)?;
    apart(&[x.place()], &[matrix])?;
    if !x.begins_with(&rhs) && x.place().overlapped(&[rhs.place()]).is_some() {
        return Err(CallFailure::argument(
            "x overlaps rhs; pass the same pointer, or arrays that do not overlap".into(),
        ));
    }
    Ok([rhs, x])
}

/// Check that written arrays overlap no other array, and create slices.
///
/// # Safety
/// Pointers that are not null point to arrays of the given sizes; `matrix` has the address ranges of the matrix;
/// nobody else uses the memory for `'a`.
pub(crate) unsafe fn open<'a, T: Scalar>(
    system: &CheckedSystem,
    matrix: &[ArgumentPlace],
    sides: Sides<T>,
) -> CallResult<SolveBuffers<'a, T>> {
    let [rhs, x] = columns(system, matrix, &sides)?;
    let mut stack = None;
    if !sides.buffer.is_null() {
        let buffer = RawArray::<u8>::new("buffer", sides.buffer.cast(), system.buffer_bytes()?)?;
        apart(&[buffer.place()], &[matrix, &[x.place(), rhs.place()]])
            .map_err(|failure| CallFailure::buffer(failure.message))?;
        // SAFETY: the buffer is not null, has the required size, and overlaps no other array, as checked above. Every byte value is valid,
        // and solves write before they read.
        stack = Some(PodStack::new(unsafe { buffer.write() }));
    }
    // SAFETY: checked above; `x` is written and overlaps no array that is read.
    let columns = unsafe {
        if x.begins_with(&rhs) {
            RhsSlices::InPlace(x.write())
        } else {
            RhsSlices::Apart { rhs: rhs.read(), x: x.write() }
        }
    };
    Ok(SolveBuffers { columns, stack })
}

/// Solve with the factors and store the report. Uses the buffer of the caller. Uses heap memory if there is no buffer, or if a method
/// that was set by name needs more memory.
pub(crate) fn run<T: Scalar>(factor: &impl Factor<T>, system: &CheckedSystem, work: SolveBuffers<'_, T>) -> CallResult {
    let n_rhs = system.n_rhs;
    let needed = match work.columns {
        RhsSlices::Apart { .. } => factor.solve_scratch(n_rhs),
        RhsSlices::InPlace(_) => factor.solve_in_place_scratch(n_rhs),
    };
    let mut heap_memory;
    let stack = match work.stack {
        Some(stack) if stack.can_hold(needed) => stack,
        _ => {
            heap_memory = heap(needed)?;
            PodStack::new(&mut heap_memory)
        }
    };
    let solved = match work.columns {
        RhsSlices::Apart { rhs, x } => factor.solve_into_with(Op::Plain, rhs, x, stack),
        RhsSlices::InPlace(x) => factor.solve_in_place_with(Op::Plain, x, stack),
    };
    system.record(solved)
}

/// The three arrays of a matrix, and their address ranges.
pub(crate) fn bands<T>(pointers: [*const T; 3], len: usize) -> CallResult<([RawArray<T>; 3], [ArgumentPlace; 3])> {
    let arrays = arrays(pointers, (len, len))?;
    let places = arrays.each_ref().map(RawArray::place);
    Ok((arrays, places))
}

/// The three arrays of a matrix, with `on` elements on the diagonal and `off` elements in the other two.
pub(crate) fn arrays<T>([sub, diag, sup]: [*const T; 3], (on, off): (usize, usize)) -> CallResult<[RawArray<T>; 3]> {
    Ok([RawArray::new("sub", sub, off)?, RawArray::new("diag", diag, on)?, RawArray::new("sup", sup, off)?])
}

/// Solve a tridiagonal system (`gtsv`, `cgtsv`).
///
/// # Safety
/// Pointers that are not null point to arrays of the given sizes. Written arrays belong to this call alone.
pub(crate) unsafe fn tridiagonal<T: Scalar>(
    p: PivotingArgument,
    (n, periodic): (i64, bool),
    matrix: [*const T; 3],
    sides: Sides<T>,
) -> CallResult {
    report::clear();
    let system = CheckedSystem::new::<T>(p, SystemKind::Tridiagonal { n, periodic }, sides.n_rhs)?;
    let (arrays, places) = bands(matrix, system.matrix_len)?;
    // SAFETY: the caller's promise.
    let (work, [sub, diag, sup]) = unsafe { (open(&system, &places, sides)?, arrays.each_ref().map(|a| a.read())) };
    let a = if periodic { Tridiagonal::periodic(sub, diag, sup) } else { Tridiagonal::new(sub, diag, sup) }?;
    run(&system.plan.factor(&a)?, &system, work)
}

/// Solve a block tridiagonal system (`bgtsv`, `cbgtsv`).
///
/// # Safety
/// As [`tridiagonal`].
pub(crate) unsafe fn blocks<T: Scalar>(
    p: PivotingArgument,
    (n, block, periodic): (i64, i64, bool),
    matrix: [*const T; 3],
    sides: Sides<T>,
) -> CallResult {
    report::clear();
    let system = CheckedSystem::new::<T>(p, SystemKind::Blocks { n, block, periodic }, sides.n_rhs)?;
    let (arrays, places) = bands(matrix, system.matrix_len)?;
    // SAFETY: the caller's promise.
    let (work, [sub, diag, sup]) = unsafe { (open(&system, &places, sides)?, arrays.each_ref().map(|a| a.read())) };
    let new = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
    let a = new(size("block", block)?, sub, diag, sup)?;
    run(&system.plan.factor(&a)?, &system, work)
}

/// Solve a banded system (`gbsv`).
///
/// # Safety
/// As [`tridiagonal`].
pub(crate) unsafe fn banded<T: Scalar>(
    p: PivotingArgument,
    (n, lower, upper): (i64, i64, i64),
    bands: *const T,
    sides: Sides<T>,
) -> CallResult {
    report::clear();
    let system = CheckedSystem::new::<T>(p, SystemKind::Banded { n, lower, upper }, sides.n_rhs)?;
    let array = RawArray::new("bands", bands, system.matrix_len)?;
    // SAFETY: the caller's promise.
    let (mut work, rows) = unsafe { (open(&system, slice::from_ref(&array.place()), sides)?, array.read()) };
    let (n, lower, upper) = (size("n", n)?, size("lower", lower)?, size("upper", upper)?);
    let tridiagonal = Shape::Tridiagonal { n, periodic: false };
    if (lower, upper) == (1, 1) && system.plan.chosen_method().solves(tridiagonal) {
        // The three rows are the arrays of a tridiagonal matrix.
        let a = Tridiagonal::new(&rows[..n], &rows[n..2 * n], &rows[2 * n..])?;
        return run(&system.plan.with_shape(tridiagonal).factor(&a)?, &system, work);
    }
    let mut heap_memory;
    let columns = match work.stack.take() {
        Some(stack) => {
            let (columns, rest) = stack.make_raw::<T>(rows.len());
            work.stack = Some(rest);
            columns
        }
        None => {
            heap_memory = heap(system.storage)?;
            PodStack::new(&mut heap_memory).make_raw::<T>(rows.len()).0
        }
    };
    to_lapack((n, lower, upper), rows, columns);
    let a = Banded::new(n, lower, upper, columns)?;
    run(&system.plan.factor(&a)?, &system, work)
}

/// Number of rows to rearrange at the same time, so that the result stays in the first-level cache.
const REARRANGED_ROWS: usize = 32;

/// Convert the band storage of C, `rows[band·n + i] = A(i, i + band − lower)`, to that of LAPACK,
/// `columns[upper + i − j + j·(lower + upper + 1)] = A(i, j)`. Entries outside A become zero.
fn to_lapack<T: Scalar>((n, lower, upper): (usize, usize, usize), rows: &[T], columns: &mut [T]) {
    let leading = lower + upper + 1;
    for j in (0..upper.min(n)).chain(n.saturating_sub(lower)..n) {
        columns[j * leading..][..leading].fill(T::ZERO);
    }
    for tile in (0..n).step_by(REARRANGED_ROWS) {
        for band in 0..leading {
            // j = i + band − lower lies in 0..n.
            let (first, end) =
                (tile.max(lower.saturating_sub(band)), (tile + REARRANGED_ROWS).min((n + lower).saturating_sub(band)));
            for i in first..end.min(n) {
                let j = i + band - lower;
                columns[leading - 1 - band + j * leading] = rows[band * n + i];
            }
        }
    }
}

/// Get the index in the storage of C of the entry with index `at` in the storage of LAPACK.
fn row_indexed((n, lower, upper): (usize, usize, usize), at: usize) -> usize {
    let leading = lower + upper + 1;
    let (j, row) = (at / leading, at % leading);
    // row = upper + i − j, band = j − i + lower
    let (i, band) = (j + row - upper, leading - 1 - row);
    band * n + i
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_by_rows_and_by_columns() {
        for (n, lower, upper) in [(1, 0, 0), (1, 2, 1), (5, 1, 2), (7, 9, 3), (100, 3, 0), (70, 2, 5), (64, 33, 40)] {
            let entry = |i: usize, j: usize| (1 + i * 1000 + j) as f64;
            let leading = lower + upper + 1;
            let mut rows = vec![f64::NAN; n * leading];
            for (i, band) in (0..n).flat_map(|i| (0..leading).map(move |band| (i, band))) {
                if let Some(j) = (i + band).checked_sub(lower).filter(|j| *j < n) {
                    rows[band * n + i] = entry(i, j);
                }
            }
            let mut columns = vec![f64::NAN; n * leading];
            to_lapack((n, lower, upper), &rows, &mut columns);
            assert!(columns.iter().all(|v| v.is_finite()), "n = {n}, lower = {lower}, upper = {upper}");
            let a = Banded::new(n, lower, upper, &columns).unwrap();
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let inside = i <= j + lower && j <= i + upper;
                assert_eq!(a.get(i, j), if inside { entry(i, j) } else { 0.0 });
                if inside {
                    let at = row_indexed((n, lower, upper), upper + i - j + j * leading);
                    assert_eq!(rows[at], entry(i, j));
                }
            }
        }
    }
}
