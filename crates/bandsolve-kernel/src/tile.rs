//! Tiles: partitions of a system, one a SIMD lane, copied into cache so that row j of all of them is one vector.

use super::ahead::prefetch;
use super::element::Element;
use super::lanes::Lanes;
use super::sweep::{MAX_RHS, Row, each};
use crate::{RealScalar, Scalar};

/// How rows are scaled as they are staged, always by powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// Every row by itself: pivots become independent of row scaling.
    Rows,
    /// All rows of a partition alike: pivots are those of the unscaled matrix.
    Partition,
}

/// Arrays of a tile: sub, diag, sup and at most [`MAX_RHS`] right-hand sides.
pub const ARRAYS: usize = 3 + MAX_RHS;

/// Where the partitions of a tile, or x of them, lie in memory.
#[derive(Clone, Copy)]
pub struct Strides {
    /// Scalars from one partition to the next.
    pub lane: usize,
    /// Scalars from one row to the next.
    pub row: usize,
}

impl Strides {
    /// Partitions of `m` rows one after the other.
    pub fn contiguous(m: usize) -> Self {
        Self { lane: m, row: 1 }
    }

    /// Whether blocks of rows lie in memory as vectors: along partitions or across. (Unless `OPEN` they do.)
    #[inline(always)]
    pub fn vectors<T: Scalar, const OPEN: bool>(&self) -> bool {
        !OPEN || self.row == 1 || (self.lane == 1 && !T::COMPLEX)
    }
}

/// Where a block of rows comes from; only the first 3 + R arrays are used.
#[derive(Clone, Copy)]
pub struct Source<T> {
    /// Its first row in the first partition in each array.
    pub arrays: [*const T; ARRAYS],
    /// The same in the tile after, which is prefetched. Need not be readable.
    pub ahead: [*const T; ARRAYS],
    pub strides: Strides,
    /// Every entry of the matrix is read as its conjugate.
    pub conj: bool,
}

impl<T> Source<T> {
    /// The block of rows after, for vectors of `lanes`.
    #[inline(always)]
    pub fn next_block<const R: usize, const OPEN: bool>(&mut self, lanes: usize) {
        let row = if OPEN { self.strides.row } else { 1 };
        // Of a contiguous tile one block after the other is prefetched as it lies in memory.
        let ahead = if row == 1 { lanes * BLOCK } else { row * BLOCK };
        for k in 0..3 + R {
            self.arrays[k] = opaque(self.arrays[k].wrapping_add(row * BLOCK).cast_mut());
            self.ahead[k] = opaque(self.ahead[k].wrapping_add(ahead).cast_mut());
        }
    }

    /// Prefetches a block of the tile after.
    #[inline(always)]
    pub fn prefetch<const R: usize, const OPEN: bool>(&self, lanes: usize) {
        let interleaved = OPEN && self.strides.row != 1;
        let lines = if interleaved { BLOCK } else { lanes * BLOCK * size_of::<T>() / 64 };
        for at in &self.ahead[..3 + R] {
            for i in 0..lines {
                let row = at.wrapping_add(i * self.strides.row).cast::<u8>();
                prefetch(if interleaved { row } else { at.cast::<u8>().wrapping_add(64 * i) });
            }
        }
    }
}

/// The same pointer, but the compiler does not know: so neighbours are addressed from it by constant offsets. Else it would
/// address all from one common index, at the cost of an instruction and a register each.
#[inline(always)]
pub fn opaque<P>(mut p: *mut P) -> *mut P {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[allow(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written")]
    // SAFETY: no instruction.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) p, options(pure, nomem, nostack, preserves_flags));
    }
    p
}

/// The rows of a tile: arrays sub, diag, sup and R right-hand sides of one row after another.
#[derive(Clone, Copy)]
pub struct TileRows<X, const R: usize> {
    pub base: *mut X,
}

/// Rows that are staged together.
pub const BLOCK: usize = 4;

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

    /// Stages the rows of a tile that [`stage`](Self::stage) does not: what is left of `m` rows after the last whole block, or
    /// all where rows do not lie in memory as vectors.
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
        let first = if source.strides.vectors::<T, OPEN>() { m / BLOCK * BLOCK } else { 0 };
        for j in first..m {
            // SAFETY: the caller's promise.
            unsafe { self.stage_row::<T, V, OPEN>(source, (m, j, scaled)) }
        }
    }

    /// Stages rows `j .. j + BLOCK` of `m`, which are the first ones of tile and source, if all are there; each `scaled` by a
    /// power of two that brings its largest entry near 1, or as it is. `OPEN`: every partition is a system of its own, and
    /// what stands in its first `sub` and its last `sup` is ignored; else partitions are contiguous.
    ///
    /// # Safety
    /// The tile has `m` rows, and the source as many for every lane.
    #[inline(always)]
    pub unsafe fn stage<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
    ) {
        if j + BLOCK <= m && source.strides.vectors::<T, OPEN>() {
            for i in (0..BLOCK).step_by(BLOCK / T::Element::<V>::REALS) {
                // SAFETY: the caller's promise.
                unsafe { self.stage_vectors::<T, V, OPEN>(source, i, (m, j, scaled)) }
            }
        }
    }

    /// Stages and scales all `m` rows.
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
            for j in (0..m).step_by(BLOCK) {
                self.at::<V, T::Element<V>>(j).stage::<T, V, OPEN>(&source, (m, j, scaled));
                source.next_block::<R, OPEN>(V::W);
            }
            if !scaled {
                self.scale_alike::<V, T::Element<V>>(m);
            }
        }
    }

    /// Four vectors of every array: four real rows or two complex ones, from row `first` of the block on.
    #[inline(always)]
    unsafe fn stage_vectors<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        first: usize,
        (m, j, scaled): (usize, usize, bool),
    ) {
        let reals = T::Element::<V>::REALS;
        // A constant stride makes all addresses constant offsets.
        let strides = if OPEN { source.strides } else { Strides::contiguous(m) };
        let load = |k: usize| (source.arrays[k].wrapping_add(first * strides.row).cast::<X>(), strides);
        // SAFETY: the caller's promise.
        unsafe {
            let (sub, diag, sup) =
                (vectors::<V>(load(0), reals), vectors::<V>(load(1), reals), vectors::<V>(load(2), reals));
            let mut scales = [V::splat(X::ONE); BLOCK];
            for i in 0..BLOCK / reals {
                let matrix = [
                    T::Element::<V>::from_columns(&sub[i * reals..]),
                    T::Element::<V>::from_columns(&diag[i * reals..]),
                    T::Element::<V>::from_columns(&sup[i * reals..]),
                ];
                scales[i] = self.put_matrix::<T, V, OPEN>(source, first + i, (m, j, scaled), matrix);
            }
            for r in 0..R {
                let rhs = vectors::<V>(load(3 + r), reals);
                for i in 0..BLOCK / reals {
                    let x = T::Element::<V>::from_columns(&rhs[i * reals..]);
                    let x = if scaled { x.scale(scales[i]) } else { x };
                    x.store(self.array::<V, T::Element<V>>(first + i, 3 + r));
                }
            }
        }
    }

    /// Row `j`, lane by lane.
    #[inline(always)]
    unsafe fn stage_row<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            copy_in(source, (j, 3 + R, V::W), self.array::<V, T::Element<V>>(j, 0));
            let row: Row<T::Element<V>, R> = self.row::<V, T::Element<V>>(j);
            let scale = self.put_matrix::<T, V, OPEN>(source, j, (m, 0, scaled), [row.sub, row.diag, row.sup]);
            if scaled {
                self.put_rhs::<V, T::Element<V>>(j, &each!(r < R, row.sub, row.rhs[r].scale(scale)));
            }
        }
    }

    /// Stores row `i` of the block that begins with row `j`; returns the power of two by which it was multiplied to bring its
    /// largest entry near 1.
    #[inline(always)]
    unsafe fn put_matrix<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        i: usize,
        (m, j, scaled): (usize, usize, bool),
        [mut sub, diag, mut sup]: [T::Element<V>; 3],
    ) -> V {
        if OPEN && j + i == 0 {
            sub = T::Element::<V>::splat(X::ZERO);
        }
        if OPEN && j + i + 1 == m {
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

    /// Multiplies all `m` rows of a partition by one power of two that brings its largest entry near 1.
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

    /// Copies x, which stands in place of right-hand side `r`, in rows `j .. j + BLOCK` of `m`, which are the first ones of the
    /// tile and of `out`, if all are there and lie in memory as vectors.
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
        if j + BLOCK > m || !strides.vectors::<T, OPEN>() {
            return;
        }
        let reals = T::Element::<V>::REALS;
        let strides = if OPEN { strides } else { Strides::contiguous(m) };
        for i in (0..BLOCK).step_by(BLOCK / reals) {
            // SAFETY: the caller's promise.
            unsafe {
                let x = self.array::<V, T::Element<V>>(i, 3 + r);
                let step = (3 + R) * reals * V::W;
                let columns = if T::COMPLEX {
                    [V::load(x), V::load(x.add(V::W)), V::load(x.add(step)), V::load(x.add(step + V::W))]
                } else {
                    [V::load(x), V::load(x.add(step)), V::load(x.add(2 * step)), V::load(x.add(3 * step))]
                };
                let out = out.add(i * strides.row).cast::<X>();
                if strides.row == 1 {
                    V::store_columns(columns, out, strides.lane * reals);
                } else {
                    for (k, column) in columns.into_iter().enumerate() {
                        column.store(out.add(k * strides.row));
                    }
                }
            }
        }
    }

    /// The same for the rows of a tile that [`write`](Self::write) does not copy.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn write_rest<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        r: usize,
        m: usize,
        (out, strides): (*mut T, Strides),
    ) {
        let first = if strides.vectors::<T, OPEN>() { m / BLOCK * BLOCK } else { 0 };
        for j in first..m {
            // SAFETY: the caller's promise.
            unsafe {
                copy_out(self.array::<V, T::Element<V>>(j, 3 + r), V::W, out.add(j * strides.row), strides.lane);
            }
        }
    }
}

/// Four vectors of an array from `at` on: rows of a contiguous source transposed, or of an interleaved one as they are.
#[inline(always)]
unsafe fn vectors<V: Lanes>((at, strides): (*const V::Real, Strides), reals: usize) -> [V; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        if strides.row == 1 {
            V::load_columns(at, strides.lane * reals)
        } else {
            let row = strides.row;
            [V::load(at), V::load(at.add(row)), V::load(at.add(2 * row)), V::load(at.add(3 * row))]
        }
    }
}

/// Copies row `j` of `arrays` arrays of a source, one scalar at a time, to consecutive elements of `lanes` lanes.
#[inline(never)]
unsafe fn copy_in<T: Scalar>(source: &Source<T>, (j, arrays, lanes): (usize, usize, usize), row: *mut T::Real) {
    let reals = if T::COMPLEX { 2 } else { 1 };
    for (k, array) in source.arrays[..arrays].iter().enumerate() {
        for lane in 0..lanes {
            // SAFETY: the caller's promise: row j of every lane is readable, the row of the tile writable.
            unsafe {
                let x = *array.add(lane * source.strides.lane + j * source.strides.row);
                let place = row.add(k * reals * lanes + lane);
                *place = x.re();
                if T::COMPLEX {
                    *place.add(lanes) = x.im();
                }
            }
        }
    }
}

/// Copies the lanes of an element to scalars `step` apart.
#[inline(never)]
unsafe fn copy_out<T: Scalar>(place: *const T::Real, lanes: usize, out: *mut T, step: usize) {
    for lane in 0..lanes {
        // SAFETY: the caller's promise.
        unsafe {
            let im = if T::COMPLEX { *place.add(lanes + lane) } else { T::Real::ZERO };
            *out.add(lane * step) = T::from_parts(*place.add(lane), im);
        }
    }
}

/// Copies with stores that bypass the caches: for results that will not be read again soon.
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

/// Makes streamed stores visible before what follows.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the architecture.
    unsafe {
        core::arch::x86_64::_mm_sfence()
    }
}
