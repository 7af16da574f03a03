//! Tiles: partitions of a system, one a SIMD lane, copied into cache so that row j of all of them is one vector.

use super::element::Element;
use super::lanes::Lanes;
use super::sweep::{MAX_RHS, Row, each};
use crate::scalar::{RealScalar, Scalar};

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
}

/// Where a tile comes from; only the first 3 + R arrays are used.
pub struct Source<T> {
    /// First row of the first partition in each array.
    pub arrays: [*const T; ARRAYS],
    pub strides: Strides,
    /// Every entry of the matrix is read as its conjugate.
    pub conj: bool,
}

impl<T> Clone for Source<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Source<T> {}

/// The rows of a tile: arrays sub, diag, sup and R right-hand sides of one row after another.
#[derive(Clone, Copy)]
pub struct TileRows<X, const R: usize> {
    pub base: *mut X,
}

/// Rows that are staged together.
pub const BLOCK: usize = 4;

impl<X: RealScalar, const R: usize> TileRows<X, R> {
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

    /// Stages rows `j .. j + BLOCK`, or up to `m`, each `scaled` by a power of two that brings its largest entry near 1, or
    /// as it is. `OPEN`: every partition is a system of its own, and what stands in its first `sub` and its last `sup` is
    /// ignored; else partitions are contiguous.
    ///
    /// # Safety
    /// The tile has `m` rows, and the source as many for every lane.
    #[inline(always)]
    pub unsafe fn stage<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let strides = source.strides;
            if j + BLOCK > m || (OPEN && strides.row != 1 && (strides.lane != 1 || T::COMPLEX)) {
                for j in j..m.min(j + BLOCK) {
                    self.stage_row::<T, V, OPEN>(source, (m, j, scaled));
                }
            } else if T::COMPLEX {
                self.stage_vectors::<T, V, OPEN>(source, (m, j, scaled));
                self.stage_vectors::<T, V, OPEN>(source, (m, j + 2, scaled));
            } else {
                self.stage_vectors::<T, V, OPEN>(source, (m, j, scaled));
            }
        }
    }

    /// Stages all `m` rows as they are, or scaled one by one.
    ///
    /// # Safety
    /// As [`stage`](Self::stage).
    #[inline(always)]
    pub unsafe fn stage_all<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        m: usize,
        scaled: bool,
    ) {
        for j in (0..m).step_by(BLOCK) {
            // SAFETY: the caller's promise.
            unsafe { self.stage::<T, V, OPEN>(source, (m, j, scaled)) }
        }
    }

    /// Four vectors of every array: four real rows or two complex ones.
    #[inline(always)]
    unsafe fn stage_vectors<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
    ) {
        let reals = T::Element::<V>::REALS;
        // A constant stride makes all addresses constant offsets.
        let strides = if OPEN { source.strides } else { Strides::contiguous(m) };
        let load = |k: usize| (source.arrays[k].cast::<X>().wrapping_add(j * strides.row * reals), strides);
        // SAFETY: the caller's promise.
        unsafe {
            let (sub, diag, sup) = (vectors::<V>(load(0), reals), vectors::<V>(load(1), reals), vectors::<V>(load(2), reals));
            let mut scales = [V::splat(X::ONE); BLOCK];
            for i in 0..BLOCK / reals {
                let matrix = [
                    T::Element::<V>::from_columns(&sub[i * reals..]),
                    T::Element::<V>::from_columns(&diag[i * reals..]),
                    T::Element::<V>::from_columns(&sup[i * reals..]),
                ];
                scales[i] = self.put_matrix::<T, V, OPEN>(source, (m, j + i, scaled), matrix);
            }
            for r in 0..R {
                let rhs = vectors::<V>(load(3 + r), reals);
                for i in 0..BLOCK / reals {
                    let x = T::Element::<V>::from_columns(&rhs[i * reals..]);
                    let x = if scaled { x.scale(scales[i]) } else { x };
                    x.store(self.array::<V, T::Element<V>>(j + i, 3 + r));
                }
            }
        }
    }

    /// One row, lane by lane.
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
            let scale = self.put_matrix::<T, V, OPEN>(source, (m, j, scaled), [row.sub, row.diag, row.sup]);
            if scaled {
                self.put_rhs::<V, T::Element<V>>(j, &each!(r < R, row.sub, row.rhs[r].scale(scale)));
            }
        }
    }

    /// Stores row `j` of the matrix; returns the power of two by which it was multiplied to bring its largest entry near 1.
    #[inline(always)]
    unsafe fn put_matrix<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        source: &Source<T>,
        (m, j, scaled): (usize, usize, bool),
        [mut sub, diag, mut sup]: [T::Element<V>; 3],
    ) -> V {
        if OPEN && j == 0 {
            sub = T::Element::<V>::splat(X::ZERO);
        }
        if OPEN && j + 1 == m {
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
            unsafe { matrix[k].store(self.array::<V, T::Element<V>>(j, k)) }
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

    /// Copies x, which stands in place of right-hand side `r`, in rows `j .. j + BLOCK` or up to `m`, to `out`.
    ///
    /// # Safety
    /// The tile has `m` rows, and `out` is writable for as many of every lane.
    #[inline(always)]
    pub unsafe fn write<T: Scalar<Real = X>, V: Lanes<Real = X>, const OPEN: bool>(
        &self,
        r: usize,
        (m, j): (usize, usize),
        out: *mut T,
        strides: Strides,
    ) {
        let reals = T::Element::<V>::REALS;
        let strides = if OPEN { strides } else { Strides::contiguous(m) };
        // SAFETY: the caller's promise.
        unsafe {
            if strides.row == 1 && j + BLOCK <= m {
                for j in (j..j + BLOCK).step_by(BLOCK / reals) {
                    let (x, y) = (self.array::<V, T::Element<V>>(j, 3 + r), self.array::<V, T::Element<V>>(j + 1, 3 + r));
                    let columns = if T::COMPLEX {
                        [V::load(x), V::load(x.add(V::W)), V::load(y), V::load(y.add(V::W))]
                    } else {
                        let step = y.offset_from(x);
                        [V::load(x), V::load(y), V::load(y.offset(step)), V::load(y.offset(2 * step))]
                    };
                    V::store_columns(columns, out.add(j).cast::<X>(), strides.lane * reals);
                }
                return;
            }
            for j in j..m.min(j + BLOCK) {
                let place = self.array::<V, T::Element<V>>(j, 3 + r);
                if OPEN && strides.lane == 1 && !T::COMPLEX {
                    V::load(place).store(out.add(j * strides.row).cast::<X>());
                    continue;
                }
                copy_out(place, V::W, out.add(j * strides.row), strides.lane);
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
