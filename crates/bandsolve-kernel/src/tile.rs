//! Tiles: partitions of a system, one per SIMD lane, copied into cache so that row j of all partitions is one vector.

use super::prefetch::{CACHE_LINE_BYTES, prefetch};
use super::sweep::{MAX_RHS, Pivots, Row, each};
use crate::number::{Element, Lanes, RealScalar, Scalar};

/// How rows are scaled during staging. All scale factors are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// Scale every row by itself. Pivots then do not depend on the row scaling of the matrix.
    Rows,
    /// Scale all rows of a partition by the same factor. Pivots are then those of the unscaled matrix.
    Partition,
}

/// The options of the sweeps through tiles.
#[derive(Clone, Copy)]
pub struct SweepOptions<X> {
    pub pivots: Pivots<X>,
    pub scaling: Scaling,
}

/// Number of arrays of a tile: sub, diag, sup and at most [`MAX_RHS`] right-hand sides.
pub const ARRAYS: usize = 3 + MAX_RHS;

/// Where the partitions of a tile, or of x, lie in memory.
#[derive(Clone, Copy)]
pub struct Strides {
    /// Distance in scalars from one partition to the next.
    pub lane: usize,
    /// Distance in scalars from one row to the next.
    pub row: usize,
}

impl Strides {
    /// The strides of consecutive partitions of `m` rows.
    pub fn contiguous(m: usize) -> Self {
        Self { lane: m, row: 1 }
    }

    /// Whether blocks of rows can be loaded as vectors, along partitions or across them. This is always true unless
    /// `OPEN`.
    #[inline(always)]
    pub fn vectors<const OPEN: bool>(&self) -> bool {
        !OPEN || self.row == 1 || self.lane == 1
    }
}

/// Where a block of rows is loaded from. Only the first 3 + R arrays are used.
#[derive(Clone, Copy)]
pub struct Source<T> {
    /// The first row of the block in the first partition, for each array.
    pub arrays: [*const T; ARRAYS],
    /// What is prefetched meanwhile: the same row in the next tile, or the next block of rows if rows lie far apart. This memory need not be
    /// readable.
    pub ahead: [*const T; ARRAYS],
    pub strides: Strides,
    /// Conjugate every entry of the matrix.
    pub conj: bool,
    /// Keep the first `sub` and the last `sup`, which are the corner entries of a periodic system.
    pub periodic: bool,
}

impl<T> Source<T> {
    /// Move to the next block of rows, for vectors with `lanes` lanes.
    #[inline(always)]
    pub fn next_block<const R: usize, const OPEN: bool>(&mut self, lanes: usize) {
        let row = if OPEN { self.strides.row } else { 1 };
        // A contiguous tile is prefetched block by block, in memory order.
        let ahead = if row == 1 { lanes * STAGED_ROWS } else { row * STAGED_ROWS };
        for k in 0..3 + R {
            self.arrays[k] = opaque(self.arrays[k].wrapping_add(row * STAGED_ROWS).cast_mut());
            self.ahead[k] = opaque(self.ahead[k].wrapping_add(ahead).cast_mut());
        }
    }

    /// Move the first row of the block by `step` scalars.
    #[inline(always)]
    pub fn advance<const R: usize>(&mut self, step: usize) {
        for array in &mut self.arrays[..3 + R] {
            *array = array.wrapping_add(step);
        }
    }

    /// Prefetch the block at `ahead`.
    #[inline(always)]
    pub fn prefetch<const R: usize, const OPEN: bool>(&self, lanes: usize) {
        let interleaved = OPEN && self.strides.row != 1;
        let lines = if interleaved { STAGED_ROWS } else { lanes * STAGED_ROWS * size_of::<T>() / CACHE_LINE_BYTES };
        for at in &self.ahead[..3 + R] {
            for i in 0..lines {
                let row = at.wrapping_add(i * self.strides.row).cast::<u8>();
                prefetch(if interleaved { row } else { at.cast::<u8>().wrapping_add(CACHE_LINE_BYTES * i) });
            }
        }
    }
}

/// Consecutive tiles.
#[derive(Clone, Copy)]
pub(super) struct TileRun<T: Scalar> {
    /// The first tile in the caller's arrays.
    pub(super) plain: Source<T>,
    /// The first and the last tile, including copied data.
    pub(super) first: [*const T; ARRAYS],
    pub(super) last: [*const T; ARRAYS],
    pub(super) tiles: usize,
    pub(super) m: usize,
    /// Distance in scalars from one tile to the next.
    pub(super) step: usize,
}

impl<T: Scalar> TileRun<T> {
    /// The first block of tile `t`.
    #[inline(always)]
    pub(super) fn source(&self, t: usize) -> Source<T> {
        let mut source = self.plain;
        // Rows that lie far apart can displace each other in the caches before the next tile needs them.
        let row = self.plain.strides.row;
        let ahead = if row == 1 { self.step } else { STAGED_ROWS * row };
        for k in 0..ARRAYS {
            source.ahead[k] = self.plain.arrays[k].wrapping_add(t * self.step + ahead);
            source.arrays[k] = self.plain.arrays[k].wrapping_add(t * self.step);
        }
        if t == 0 {
            source.arrays = self.first;
        } else if t + 1 == self.tiles {
            source.arrays = self.last;
        }
        source
    }
}

/// Whether the sweeps have their own code for this case: real numbers and one right-hand side, which are the most
/// common. In other cases, the residuals are computed even if nothing is verified.
pub(super) const fn special<T: Scalar, V: Lanes, const R: usize>() -> bool {
    R == 1 && !T::COMPLEX && !V::PORTABLE
}

/// Return the same pointer, and hide its origin from the compiler.
///
/// The compiler then addresses neighbors with constant offsets from this pointer. Otherwise it would address all of
/// them from one common index, which costs one instruction and one register each.
#[inline(always)]
pub fn opaque<P>(mut p: *mut P) -> *mut P {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[allow(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written")]
    // SAFETY: the assembly contains no instruction.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) p, options(pure, nomem, nostack, preserves_flags));
    }
    p
}

/// The rows of a tile: sub, diag, sup and R right-hand sides of one row after the other.
#[derive(Clone, Copy)]
pub struct TileRows<X, const R: usize> {
    pub base: *mut X,
}

/// Number of rows that are staged as a group.
pub const STAGED_ROWS: usize = 4;

impl<X: RealScalar, const R: usize> TileRows<X, R> {
    /// The rows from row `j` on.
    #[inline(always)]
    pub fn at<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize) -> Self {
        Self { base: opaque(self.base.wrapping_add(j * (3 + R) * E::REALS * V::W)) }
    }

    /// # Safety
    /// Row `j` lies inside the tile.
    #[inline(always)]
    pub unsafe fn array<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize, k: usize) -> *mut X {
        // SAFETY: the caller's promise.
        unsafe { self.base.add((j * (3 + R) + k) * E::REALS * V::W) }
    }

    /// # Safety
    /// Row `j` lies inside the tile, which has been staged.
    #[inline(always)]
    pub unsafe fn row<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize) -> Row<E, R> {
        // SAFETY: the caller's promise.
        unsafe {
            Row {
                sub: E::load(self.array::<V, E>(j, 0)),
                diag: E::load(self.array::<V, E>(j, 1)),
                sup: E::load(self.array::<V, E>(j, 2)),
                rhs: each!(r < R, E::splat(X::ZERO), E::load(self.array::<V, E>(j, 3 + r))),
            }
        }
    }

    /// # Safety
    /// Row `j` lies inside the tile.
    #[inline(always)]
    pub unsafe fn put_rhs<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize, rhs: &[E; R]) {
        for r in 0..R {
            // SAFETY: the caller's promise.
            unsafe { rhs[r].store(self.array::<V, E>(j, 3 + r)) }
        }
    }

    /// Stage the rows of a tile that [`stage`](Self::stage) omits.
    ///
    /// These are the rows of `m` after the last whole block, or all rows if they cannot be loaded as vectors.
    ///
    /// # Safety
    /// The tile has `m` rows, and the source as many for every lane.
    #[inline(always)]
    pub unsafe fn stage_rest<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        m: usize,
        scaled: bool,
    ) {
        let first = if source.strides.vectors::<OPEN>() { m / STAGED_ROWS * STAGED_ROWS } else { 0 };
        for j in first..m {
            // SAFETY: the caller's promise.
            unsafe { self.stage_row::<T, V, OPEN>(source, (m, j, scaled)) }
        }
    }

    /// Stage rows `j .. j + STAGED_ROWS` of `m` if all of them exist. They are the first rows of the tile and of the source.
    ///
    /// If `scaled`, each row is multiplied by the power of two that brings its largest entry near 1. With `OPEN`, every
    /// partition is a system of its own, and its first `sub` and last `sup` are ignored unless it is periodic. Otherwise
    /// partitions are contiguous.
    ///
    /// # Safety
    /// The tile has `m` rows, and the source as many for every lane.
    #[inline(always)]
    pub unsafe fn stage<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
    ) {
        if j + STAGED_ROWS <= m && source.strides.vectors::<OPEN>() {
            for i in (0..STAGED_ROWS).step_by(STAGED_ROWS / T::Element::<V>::REALS) {
                // SAFETY: the caller's promise.
                unsafe { self.stage_vectors::<T, V, OPEN>(source, i, (m, j, scaled)) }
            }
        }
    }

    /// Stage and scale all `m` rows.
    ///
    /// # Safety
    /// As [`stage`](Self::stage).
    #[inline(always)]
    pub unsafe fn stage_all<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        mut source: Source<T>,
        m: usize,
        scaling: Scaling,
    ) {
        let scaled = scaling == Scaling::Rows;
        // SAFETY: the caller's promise.
        unsafe {
            self.stage_rest::<T, V, OPEN>(&source, m, scaled);
            for j in (0..m).step_by(STAGED_ROWS) {
                self.at::<V, T::Element<V>>(j).stage::<T, V, OPEN>(&source, (m, j, scaled));
                source.next_block::<R, OPEN>(V::W);
            }
            if !scaled {
                self.scale_alike::<V, T::Element<V>>(m);
            }
        }
    }

    /// Stage four vectors of every array, from row `first` of the block on: four real rows or two complex ones.
    #[inline(always)]
    unsafe fn stage_vectors<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        first: usize,
        (m, j, scaled): (usize, usize, bool),
    ) {
        let reals = T::Element::<V>::REALS;
        // With a constant stride, all addresses are constant offsets.
        let strides = if OPEN { source.strides } else { Strides::contiguous(m) };
        let load = |k: usize| (source.arrays[k].wrapping_add(first * strides.row), strides);
        // SAFETY: the caller's promise.
        unsafe {
            let (sub, diag, sup) =
                (load_vectors::<T, V>(load(0)), load_vectors::<T, V>(load(1)), load_vectors::<T, V>(load(2)));
            let mut scales = [V::splat(X::ONE); STAGED_ROWS];
            for i in 0..STAGED_ROWS / reals {
                let matrix = [
                    T::Element::<V>::from_columns(&sub[i * reals..]),
                    T::Element::<V>::from_columns(&diag[i * reals..]),
                    T::Element::<V>::from_columns(&sup[i * reals..]),
                ];
                scales[i] = self.put_matrix::<T, V, OPEN>(source, first + i, (m, j, scaled), matrix);
            }
            for r in 0..R {
                let rhs = load_vectors::<T, V>(load(3 + r));
                for i in 0..STAGED_ROWS / reals {
                    let x = T::Element::<V>::from_columns(&rhs[i * reals..]);
                    let x = if scaled { x.scale(scales[i]) } else { x };
                    x.store(self.array::<V, T::Element<V>>(first + i, 3 + r));
                }
            }
        }
    }

    /// Stage row `j` of `m`, the first row of the tile and of the source, for systems that lie side by side in memory.
    ///
    /// # Safety
    /// The tile and the source have this row.
    #[inline(always)]
    pub unsafe fn stage_side_by_side<T: Scalar<Real = X>, V: Lanes<Real = X>>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let load = |k: usize| load_side_by_side::<T, V>(source.arrays[k]);
            let scale = self.put_matrix::<T, V, true>(source, 0, (m, j, scaled), [load(0), load(1), load(2)]);
            let of_row = |r: usize| if scaled { load(3 + r).scale(scale) } else { load(3 + r) };
            let mut rhs = [of_row(0); R];
            for r in 1..R {
                rhs[r] = of_row(r);
            }
            self.put_rhs::<V, T::Element<V>>(0, &rhs);
        }
    }

    /// Stage row `j` lane by lane.
    #[inline(always)]
    unsafe fn stage_row<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            for k in 0..3 + R {
                let from = source.arrays[k].add(j * source.strides.row);
                copy_in(from, (V::W, V::W, source.strides.lane), self.array::<V, T::Element<V>>(j, k));
            }
            let row: Row<T::Element<V>, R> = self.row::<V, T::Element<V>>(j);
            let scale = self.put_matrix::<T, V, OPEN>(source, j, (m, 0, scaled), [row.sub, row.diag, row.sup]);
            if scaled {
                self.put_rhs::<V, T::Element<V>>(j, &each!(r < R, row.sub, row.rhs[r].scale(scale)));
            }
        }
    }

    /// Store row `i` of the block that begins with row `j`.
    ///
    /// Returns the power of two by which the row was multiplied to bring its largest entry near 1.
    #[inline(always)]
    unsafe fn put_matrix<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        i: usize,
        (m, j, scaled): (usize, usize, bool),
        [mut sub, diag, mut sup]: [T::Element<V>; 3],
    ) -> V {
        if OPEN && !source.periodic && j + i == 0 {
            sub = T::Element::<V>::splat(X::ZERO);
        }
        if OPEN && !source.periodic && j + i + 1 == m {
            sup = T::Element::<V>::splat(X::ZERO);
        }
        let mut scale = V::splat(X::ONE);
        let mut matrix = [sub, diag, sup];
        if scaled {
            scale = T::Element::<V>::largest(sub, diag, sup).equilibrate();
            matrix = [sub.scale(scale), diag.scale(scale), sup.scale(scale)];
        }
        if T::COMPLEX && source.conj {
            matrix = [matrix[0].conj(), matrix[1].conj(), matrix[2].conj()];
        }
        for k in 0..3 {
            // SAFETY: the caller's promise.
            unsafe { matrix[k].store(self.array::<V, T::Element<V>>(i, k)) }
        }
        scale
    }

    /// Multiply all `m` rows of a partition by the power of two that brings its largest entry near 1.
    ///
    /// # Safety
    /// The tile has `m` staged rows.
    #[inline(always)]
    pub unsafe fn scale_alike<V: Lanes<Real = X>, E: Element<V>>(&self, m: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut size = V::splat(X::ZERO);
            for j in 0..m {
                let row: Row<E, R> = self.row::<V, E>(j);
                size = E::largest(row.sub, row.diag, row.sup).max(size);
            }
            let scale = size.equilibrate();
            for j in 0..m {
                for k in 0..3 + R {
                    let place = self.array::<V, E>(j, k);
                    E::load(place).scale(scale).store(place);
                }
            }
        }
    }

    /// Copy x from the place of right-hand side `r` to `out`, for rows `j .. j + STAGED_ROWS` of `m`.
    ///
    /// These are the first rows of the tile and of `out`. Nothing is copied unless all these rows exist and can be
    /// stored as vectors.
    ///
    /// # Safety
    /// The tile has `m` rows, and `out` is writable for as many of every lane.
    #[inline(always)]
    pub unsafe fn write<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        r: usize,
        (m, j): (usize, usize),
        (out, strides): (*mut T, Strides),
    ) {
        if j + STAGED_ROWS > m || !strides.vectors::<OPEN>() {
            return;
        }
        let reals = T::Element::<V>::REALS;
        let strides = if OPEN { strides } else { Strides::contiguous(m) };
        for i in (0..STAGED_ROWS).step_by(STAGED_ROWS / reals) {
            // SAFETY: the caller's promise.
            unsafe {
                let x = self.array::<V, T::Element<V>>(i, 3 + r);
                let step = (3 + R) * reals * V::W;
                let columns = if T::COMPLEX {
                    [V::load(x), V::load(x.add(V::W)), V::load(x.add(step)), V::load(x.add(step + V::W))]
                } else {
                    [V::load(x), V::load(x.add(step)), V::load(x.add(2 * step)), V::load(x.add(3 * step))]
                };
                store_vectors::<T, V>(columns, (out.add(i * strides.row), strides));
            }
        }
    }

    /// Copy the rows of x that [`write`](Self::write) omits.
    ///
    /// # Safety
    /// As [`write`](Self::write).
    #[inline(always)]
    pub unsafe fn write_rest<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        r: usize,
        m: usize,
        (out, strides): (*mut T, Strides),
    ) {
        let first = if strides.vectors::<OPEN>() { m / STAGED_ROWS * STAGED_ROWS } else { 0 };
        for j in first..m {
            // SAFETY: the caller's promise.
            unsafe {
                let place = self.array::<V, T::Element<V>>(j, 3 + r);
                copy_out(place, (V::W, V::W), out.add(j * strides.row), strides.lane);
            }
        }
    }
}

/// Four vectors of an array, from `at` on: four real rows or two complex ones. A contiguous source is transposed, an interleaved one is not.
///
/// # Safety
/// The rows are readable in every lane, and `strides` are those of [`Strides::vectors`].
#[inline(always)]
pub(super) unsafe fn load_vectors<T: Scalar, V: Lanes<Real = T::Real>>((at, strides): (*const T, Strides)) -> [V; 4] {
    let reals = T::Element::<V>::REALS;
    // SAFETY: the caller's promise.
    unsafe {
        if strides.row == 1 {
            return V::load_columns(at.cast(), strides.lane * reals);
        }
        let row = |i: usize| load_side_by_side::<T, V>(at.add(i * strides.row)).columns();
        if T::COMPLEX {
            let ([a, b], [c, d]) = (row(0), row(1));
            [a, b, c, d]
        } else {
            [row(0)[0], row(1)[0], row(2)[0], row(3)[0]]
        }
    }
}

/// The inverse of [`load_vectors`].
///
/// # Safety
/// As [`load_vectors`], with writable rows.
#[inline(always)]
pub(super) unsafe fn store_vectors<T: Scalar, V: Lanes<Real = T::Real>>(
    columns: [V; 4],
    (to, strides): (*mut T, Strides),
) {
    let reals = T::Element::<V>::REALS;
    // SAFETY: the caller's promise.
    unsafe {
        if strides.row == 1 {
            return V::store_columns(columns, to.cast(), strides.lane * reals);
        }
        for i in 0..STAGED_ROWS / reals {
            store_side_by_side::<T, V>(T::Element::<V>::from_columns(&columns[i * reals..]), to.add(i * strides.row));
        }
    }
}

/// An element of scalars that lie side by side.
///
/// # Safety
/// W scalars are readable from `at` on.
#[inline(always)]
pub(super) unsafe fn load_side_by_side<T: Scalar, V: Lanes<Real = T::Real>>(at: *const T) -> T::Element<V> {
    let at = at.cast::<T::Real>();
    // SAFETY: the caller's promise. A complex number is its real and its imaginary part.
    unsafe {
        let first = V::load(at);
        let columns = if T::COMPLEX { first.deinterleave(V::load(at.add(V::W))) } else { [first; 2] };
        T::Element::<V>::from_columns(&columns)
    }
}

/// The inverse of [`load_side_by_side`].
///
/// # Safety
/// W scalars are writable from `to` on.
#[inline(always)]
pub(super) unsafe fn store_side_by_side<T: Scalar, V: Lanes<Real = T::Real>>(element: T::Element<V>, to: *mut T) {
    let (to, [re, im]) = (to.cast::<T::Real>(), element.columns());
    // SAFETY: as in `load_side_by_side`.
    unsafe {
        if T::COMPLEX {
            let [low, high] = re.interleave(im);
            low.store(to);
            high.store(to.add(V::W));
        } else {
            re.store(to);
        }
    }
}

/// Copy a scalar of each live lane, with the distance `step` between them, to an element. The other lanes repeat the first one.
#[inline(never)]
pub(super) unsafe fn copy_in<T: Scalar>(from: *const T, (lanes, live, step): (usize, usize, usize), to: *mut T::Real) {
    for lane in 0..lanes {
        // SAFETY: the scalars are readable and the element is writable, as the caller promises.
        unsafe {
            let x = *from.add(if lane < live { lane * step } else { 0 });
            *to.add(lane) = x.re();
            if T::COMPLEX {
                *to.add(lanes + lane) = x.im();
            }
        }
    }
}

/// Copy the live lanes of an element to scalars with the distance `step`.
#[inline(never)]
pub(super) unsafe fn copy_out<T: Scalar>(
    place: *const T::Real,
    (lanes, live): (usize, usize),
    out: *mut T,
    step: usize,
) {
    for lane in 0..live {
        // SAFETY: the caller's promise.
        unsafe {
            let im = if T::COMPLEX { *place.add(lanes + lane) } else { T::Real::ZERO };
            *out.add(lane * step) = T::from_parts(*place.add(lane), im);
        }
    }
}

/// Copy with stores that bypass the caches, for results that are not read again soon.
///
/// # Safety
/// `len` numbers are readable at `src`, writable at `dst`.
#[inline(always)]
pub unsafe fn copy_streaming<V: Lanes>(src: *const V::Real, dst: *mut V::Real, len: usize) {
    let head = dst.align_offset(V::W * size_of::<V::Real>()).min(len);
    let tail = head + (len - head) / V::W * V::W;
    // SAFETY: the caller's promise; from `head` on, `dst` is aligned.
    unsafe {
        core::ptr::copy_nonoverlapping(src, dst, head);
        for i in (head..tail).step_by(V::W) {
            V::load(src.add(i)).stream(dst.add(i));
        }
        core::ptr::copy_nonoverlapping(src.add(tail), dst.add(tail), len - tail);
    }
}

/// Make streaming stores visible before all later operations.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the architecture.
    unsafe {
        core::arch::x86_64::_mm_sfence()
    }
}
