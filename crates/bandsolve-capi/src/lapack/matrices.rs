//! The matrices of the caller, copied or borrowed, and factored.

use super::StoredFactors;
use super::routine::{BandStorage, LapackRoutine};
use super::{letter, shown};
use crate::memory::{RawArray, elements, size};
use crate::settings::bandsolve_pivoting_t::BANDSOLVE_DEFAULT_PIVOTING;
use crate::settings::{BoolArgument, plans};
use crate::solve::arrays;
use crate::status::{CallFailure, CallResult};
use bandsolve::memory::{collected, copied, zeroed};
use bandsolve::{
    BandStrides, Banded, BandedBatch, BlockStrides, BlockTridiagonal, ColumnStrides, Factorize, Inspect, Layout,
    Method, Plan, Scalar, Shape, Tridiagonal, TridiagonalBatch,
};
use core::ffi::c_char;
use std::sync::Mutex;

/// How long the factors live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// During the call, so that they may borrow the arrays of the caller.
    Call,
    /// Until the handle is destroyed or factors again.
    Handle,
}

use LapackRoutine::*;
use Lifetime::*;

/// Get the plan of a call.
fn plan(lifetime: Lifetime, shape: Shape, method: Option<Method>) -> CallResult<Plan> {
    Ok(plans(BANDSOLVE_DEFAULT_PIVOTING as i32, shape, lifetime == Call, method)?.solve)
}

/// Factor a matrix that owns its arrays, or borrows arrays of the caller.
fn factor<T: Scalar, M>(routine: LapackRoutine, plan: Plan, a: M, borrowed: &[RawArray<T>]) -> CallResult<StoredFactors>
where
    M: Factorize<Scalar = T, OwningFactor: 'static>,
{
    let (shape, method) = (plan.shape(), plan.chosen_method());
    let factors: Box<dyn Inspect<T>> = Box::new(plan.factor_owned(a).map_err(|error| routine.matrix_failure(error))?);
    let borrowed = borrowed.iter().map(RawArray::place).collect();
    Ok(StoredFactors { routine, shape, method, factors: Box::new(factors), borrowed, scratch: Mutex::new(None) })
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
    let arrays = arrays(matrix, (n, if cyclic { n } else { n.saturating_sub(1) }))?;
    let plan = plan(lifetime, Shape::Tridiagonal { n, periodic: cyclic }, None)?;
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
    let arrays = arrays(matrix, (on, on.saturating_sub(square)))?;
    let plan = plan(lifetime, Shape::BlockTridiagonal { block_rows: n, block, periodic: false }, None)?;
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
    let plan = plan(lifetime, Shape::Banded { n, lower, upper }, None)?;
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
    let plan = plan(lifetime, Shape::Tridiagonal { n, periodic: false }, Some(Method::Cholesky))?;
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
    let is_upper = !is_lower(uplo)?;
    let rows = elements::<T>("a column of ab", &[width.saturating_add(1)])?;
    if leading < rows {
        return Err(CallFailure::argument(format!("ldab is {leading}, expected at least kd + 1, which is {rows}")));
    }
    let (lower, upper) = if is_upper { (0, width) } else { (width, 0) };
    let storage = BandStorage { n, lower, upper, diagonal: upper, leading };
    let array = RawArray::new("ab", ab, storage.len::<T>(rows)?)?;
    let plan = plan(lifetime, Shape::Banded { n, lower: width, upper: width }, Some(Method::Cholesky))?;
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

/// Whether the argument `uplo` selects the lower triangle.
fn is_lower(uplo: c_char) -> CallResult<bool> {
    match letter(uplo) {
        b'U' => Ok(false),
        b'L' => Ok(true),
        _ => Err(CallFailure::argument(format!("uplo is {}, expected 'U' or 'L'", shown(uplo)))),
    }
}

/// The sizes of a batch from C, and the distances between entries of `rhs`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchSizes {
    pub n: i64,
    pub count: i64,
    pub row_stride: i64,
    pub system_stride: i64,
}

/// The checked sizes of a batch.
struct CheckedSizes {
    n: usize,
    count: usize,
    layout: Layout,
    strides: ColumnStrides,
    /// Number of elements from the first entry of `rhs` to the last one.
    len: usize,
}

impl BatchSizes {
    fn check<T>(self) -> CallResult<CheckedSizes> {
        let (n, count) = (size("n", self.n)?, size("count", self.count)?);
        let (row, system) = (size("row_stride", self.row_stride)?, size("system_stride", self.system_stride)?);
        elements::<T>("rhs", &[n, count])?;
        let layout = if row > system { Layout::Interleaved } else { Layout::Contiguous };
        let strides = match layout {
            Layout::Contiguous => ColumnStrides { rows: n, columns: count, row, column: system },
            Layout::Interleaved => ColumnStrides { rows: count, columns: n, row: system, column: row },
        };
        let len = elements::<T>("rhs", &[strides.len()?])?;
        Ok(CheckedSizes { n, count, layout, strides, len })
    }
}

/// Factor a batch of tridiagonal matrices (`gttrf_batch`, `cgttrf_batch`). If `shared`, all systems have the same matrix.
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn batch<T: Scalar>(
    lifetime: Lifetime,
    sizes: BatchSizes,
    (shared, periodic): (BoolArgument, bool),
    matrix: [*const T; 3],
) -> CallResult<StoredFactors> {
    let CheckedSizes { n, count, layout, strides, len } = sizes.check::<T>()?;
    let shared = shared != 0;
    let plan = plan(lifetime, Shape::Batch { n, count, layout, periodic }, None)?;
    let routine = Batch { strides, shared };
    let arrays = arrays(matrix, if shared { (n, n) } else { (len, len) })?;
    // SAFETY: the caller's promise; only a call borrows them.
    let [sub, diag, sup]: [&'static [T]; 3] = unsafe { arrays.each_ref().map(|a| a.read()) };
    if !shared && !strides.is_contiguous() {
        let gathered = [strides.gather("sub", sub)?, strides.gather("diag", diag)?, strides.gather("sup", sup)?];
        let a = TridiagonalBatch::from_vecs(count, n, layout, gathered)?;
        return factor(routine, plan, if periodic { a.periodic() } else { a }, &[]);
    }
    let new = if shared { TridiagonalBatch::shared } else { TridiagonalBatch::new };
    let a = new(count, n, layout, sub, diag, sup)?;
    let a = if periodic { a.periodic() } else { a };
    if lifetime == Call { factor(routine, plan, a, &arrays) } else { factor(routine, plan, a.try_into_owned()?, &[]) }
}

/// The diagonals that `ab` has: all, or those of one triangle of Hermitian positive definite matrices.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredDiagonals {
    Both { kl: i64, ku: i64 },
    Triangle { uplo: c_char, kd: i64 },
}

/// The bands of a batch from C: the diagonals, and the distances between entries of `ab`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BandArguments {
    pub diagonals: StoredDiagonals,
    pub ab_row_stride: i64,
    pub ab_column_stride: i64,
    pub ab_system_stride: i64,
}

/// Factor a batch of banded matrices (`gbtrf_batch`, `pbtrf_batch`, `cgbtrf_batch`, `cpbtrf_batch`).
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn band_batch<T: Scalar>(
    lifetime: Lifetime,
    sizes: BatchSizes,
    (band, periodic): (BandArguments, bool),
    ab: *const T,
) -> CallResult<StoredFactors> {
    let CheckedSizes { n, count, layout, strides, .. } = sizes.check::<T>()?;
    // Whether the lower triangle is stored, if it is one triangle, and the numbers of diagonals.
    let (triangle, lower, upper) = match band.diagonals {
        StoredDiagonals::Both { kl, ku } => (None, size("kl", kl)?, size("ku", ku)?),
        StoredDiagonals::Triangle { uplo, kd } => (Some(is_lower(uplo)?), size("kd", kd)?, 0),
    };
    let most = match periodic {
        true => BandedBatch::<T>::MAX_PERIODIC_DIAGONALS,
        false => BandedBatch::<T>::MAX_DIAGONALS,
    };
    if lower.max(upper) > most {
        return Err(CallFailure::argument(match triangle {
            None => format!("kl is {lower} and ku is {upper}, expected at most {most} each"),
            Some(_) => format!("kd is {lower}, expected at most {most}"),
        }));
    }
    let of_band = BandStrides {
        system: size("ab_system_stride", band.ab_system_stride)?,
        column: size("ab_column_stride", band.ab_column_stride)?,
        diagonal: size("ab_row_stride", band.ab_row_stride)?,
    };
    let steps = [(count, of_band.system), (n, of_band.column), (lower + upper + 1, of_band.diagonal)];
    let len = elements::<T>("ab", &[reach(&steps)])?;
    let array = RawArray::new("ab", ab, len)?;
    // SAFETY: the caller's promise; only a call borrows the array.
    let bands: &'static [T] = unsafe { array.read() };
    let a = match triangle {
        None => BandedBatch::with_strides(count, n, (lower, upper), layout, of_band, bands)?,
        Some(is_lower) => BandedBatch::hermitian(count, n, (lower, is_lower), layout, of_band, bands)?,
    };
    let a = if periodic { a.periodic()? } else { a };
    let plan = plan(lifetime, a.shape(), triangle.map(|_| Method::Cholesky))?;
    let routine = BandBatch { strides, definite: triangle.is_some() };
    if lifetime == Call { factor(routine, plan, a, &[array]) } else { factor(routine, plan, a.try_into_owned()?, &[]) }
}

/// Number of entries of an array from the first one to the last, for the numbers of steps and the strides `steps`.
fn reach(steps: &[(usize, usize)]) -> usize {
    if steps.iter().any(|(count, _)| *count == 0) {
        return 0;
    }
    let last =
        steps.iter().try_fold(1_usize, |sum, (count, stride)| sum.checked_add((count - 1).checked_mul(*stride)?));
    last.unwrap_or(usize::MAX)
}

/// The blocks of a batch from C: the number of rows of a block, and the distances between entries of `sub`, `diag` and `sup`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockArguments {
    pub block: i64,
    pub block_stride: i64,
    pub entry_row_stride: i64,
    pub entry_column_stride: i64,
    pub matrix_stride: i64,
}

/// Factor a batch of block tridiagonal matrices (`bgttrf_batch`, `cbgttrf_batch`), with `n` block rows each.
///
/// # Safety
/// As [`gt`].
pub(crate) unsafe fn block_batch<T: Scalar>(
    lifetime: Lifetime,
    sizes: BatchSizes,
    (blocks, periodic): (BlockArguments, bool),
    matrix: [*const T; 3],
) -> CallResult<StoredFactors> {
    let (block_rows, block) = (size("n", sizes.n)?, size("block", blocks.block)?);
    let most = BandedBatch::<T>::max_block(periodic);
    if !(1..=most).contains(&block) {
        return Err(CallFailure::argument(format!("block is {block}, expected 1 to {most}")));
    }
    let n = sizes.n.checked_mul(blocks.block);
    let n = n.ok_or_else(|| CallFailure::argument("n * block is more than can be addressed".into()))?;
    let CheckedSizes { count, layout, strides, .. } = BatchSizes { n, ..sizes }.check::<T>()?;
    let of_blocks = BlockStrides {
        system: size("matrix_stride", blocks.matrix_stride)?,
        block: size("block_stride", blocks.block_stride)?,
        row: size("entry_row_stride", blocks.entry_row_stride)?,
        column: size("entry_column_stride", blocks.entry_column_stride)?,
    };
    let steps =
        [(count, of_blocks.system), (block_rows, of_blocks.block), (block, of_blocks.row), (block, of_blocks.column)];
    let len = elements::<T>("diag", &[reach(&steps)])?;
    let arrays = arrays(matrix, (len, len))?;
    // SAFETY: the caller's promise; only a call borrows them.
    let blocks: [&'static [T]; 3] = unsafe { arrays.each_ref().map(|a| a.read()) };
    let a = BandedBatch::from_blocks(count, (block_rows, block), layout, of_blocks, blocks)?;
    let a = if periodic { a.periodic()? } else { a };
    let (plan, routine) = (plan(lifetime, a.shape(), None)?, BlockBatch { strides });
    if lifetime == Call { factor(routine, plan, a, &arrays) } else { factor(routine, plan, a.try_into_owned()?, &[]) }
}
