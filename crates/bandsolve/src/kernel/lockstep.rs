//! Tiles whose lanes are whole systems: a batch solved in lockstep.
//!
//! A system of n rows is staged as a partition of n + 2 rows whose first and last are x = 0, so that the sweeps of
//! [`Group`](super::tile::Group) solve it by plain elimination with pivoting.

use super::lanes::Lanes;
use super::tile::{Ahead, Group, Scaling};
use super::{Job, dispatch};
use crate::kernel::sweep::Pivots;
use crate::scalar::Scalar;
use core::ops::Range;

/// Rows of a tile that holds systems of `n` rows.
pub fn tile_rows(n: usize) -> usize {
    n + 2
}

/// The systems of one tile in memory: entry of array k (sub, diag, sup, rhs) in row i of lane l.
pub enum Systems<'a, T> {
    /// One after the other, `n` rows each, as many as there are lanes.
    Contiguous([&'a [T]; 4]),
    /// Row by row, `count` apart; the slices begin with the first row of the first lane. Real numbers, all lanes used.
    Interleaved([&'a [T]; 4], usize),
    /// Anything else: `used` lanes, the others repeat the first.
    Any(&'a dyn Fn(usize, usize, usize) -> T, usize),
}

/// Stages the systems of tile `p`.
pub fn stage<T: Scalar>(group: &mut Group<T>, p: usize, n: usize, systems: &Systems<T>, scaling: Scaling, conj: bool) {
    let simd = group.simd();
    let lanes = group.size().lanes;
    let (tile, element) = group.tile_memory(p);
    let row = 4 * element;
    let (first, rest) = tile.split_at_mut(row);
    let (body, rest) = rest.split_at_mut(n * row);
    for edge in [first, &mut rest[..row]] {
        edge.fill(crate::Scalar::ZERO);
        edge[element..element + lanes].fill(crate::Scalar::ONE);
    }
    let mut sources = [None; 4];
    match systems {
        Systems::Contiguous(arrays) => sources = arrays.map(Some),
        Systems::Interleaved(arrays, count) => {
            dispatch::<T, _>(simd, LoadRows { body, n, arrays: *arrays, count: *count });
        }
        Systems::Any(at, used) => {
            for i in 0..n {
                for lane in 0..lanes {
                    for k in 0..4 {
                        let x = at(k, if lane < *used { lane } else { 0 }, i);
                        let base = i * row + k * element + lane;
                        body[base] = x.re();
                        if T::COMPLEX {
                            body[base + lanes] = x.im();
                        }
                    }
                }
            }
        }
    }
    super::tile::stage_open(simd, body, sources, n, scaling, conj);
}

/// Solves every lane; [`Group::check`] then bounds the backward error.
pub fn solve<T: Scalar>(group: &mut Group<T>, pivots: Pivots<T::Real>, verify: bool) {
    group.substitute(pivots, [crate::Scalar::ZERO; super::sweep::MAX_RHS], verify, &Ahead::nothing());
}

/// An array that several threads write, each its own entries.
pub struct Shared<T> {
    base: *mut T,
    len: usize,
}

// SAFETY: the entries are plain numbers; who writes which is decided by the caller, who hands every system to one thread.
unsafe impl<T: Scalar> Sync for Shared<T> {}

impl<T: Scalar> Shared<T> {
    /// Borrows `all`, which must not be used until this is gone.
    pub fn new(all: &mut [T]) -> Self {
        Self { base: all.as_mut_ptr(), len: all.len() }
    }

    /// Writes entry `i`.
    pub fn put(&self, i: usize, x: T) {
        assert!(i < self.len);
        // SAFETY: inside the array, written by one thread only.
        unsafe { *self.base.add(i) = x }
    }

    /// Reads entry `i`.
    pub fn get(&self, i: usize) -> T {
        assert!(i < self.len);
        // SAFETY: inside the array.
        unsafe { *self.base.add(i) }
    }
}

/// Copies x of the lanes of tile `p` to consecutive entries of `out`.
pub fn write_contiguous<T: Scalar>(group: &mut Group<T>, p: usize, n: usize, out: &Shared<T>, span: Range<usize>) {
    assert!(span.start <= span.end && span.end <= out.len);
    // SAFETY: inside the array; the systems of a tile belong to one thread.
    let out = unsafe { core::slice::from_raw_parts_mut(out.base.add(span.start), span.len()) };
    group.write_rows(p, 1, n, out.len() / n, out);
}

/// Copies x of the first `used` lanes of tile `p` to `out`: row i of lane l to entry `first + i·count + l`.
pub fn write_interleaved<T: Scalar>(
    group: &mut Group<T>,
    p: usize,
    n: usize,
    used: usize,
    out: &Shared<T>,
    (first, count): (usize, usize),
) {
    let (simd, lanes) = (group.simd(), group.size().lanes);
    let (tile, element) = group.tile_memory(p);
    assert!(first + (n - 1) * count + used <= out.len);
    if used == lanes && !T::COMPLEX {
        return dispatch::<T, _>(simd, StoreRows { tile, n, out: out.base.wrapping_add(first), count });
    }
    for i in 0..n {
        for lane in 0..used {
            let base = (i + 1) * 4 * element + 3 * element + lane;
            let im = if T::COMPLEX { tile[base + lanes] } else { crate::Scalar::ZERO };
            out.put(first + i * count + lane, T::from_parts(tile[base], im));
        }
    }
}

struct StoreRows<'a, T: Scalar> {
    tile: &'a mut [T::Real],
    n: usize,
    /// Writable, by [`write_interleaved`], in rows 0..n for W lanes.
    out: *mut T,
    count: usize,
}

impl<T: Scalar> Job<T> for StoreRows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        assert!(!T::COMPLEX && self.tile.len() >= (self.n + 1) * 4 * V::W);
        for i in 0..self.n {
            // SAFETY: checked above and by the caller; a real scalar is its own real part.
            unsafe {
                let x = V::load(self.tile.as_ptr().add((4 * (i + 1) + 3) * V::W));
                x.store(self.out.cast::<T::Real>().add(i * self.count));
            }
        }
    }
}

struct LoadRows<'a, T: Scalar> {
    body: &'a mut [T::Real],
    n: usize,
    arrays: [&'a [T]; 4],
    count: usize,
}

impl<T: Scalar> Job<T> for LoadRows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        assert!(!T::COMPLEX && self.body.len() == self.n * 4 * V::W);
        assert!(self.arrays.iter().all(|a| a.len() >= (self.n - 1) * self.count + V::W));
        let base = self.body.as_mut_ptr();
        for i in 0..self.n {
            for k in 0..4 {
                // SAFETY: checked above; a real scalar is its own real part.
                unsafe {
                    let x = self.arrays[k].as_ptr().cast::<T::Real>().add(i * self.count);
                    V::load(x).store(base.add((4 * i + k) * V::W));
                }
            }
        }
    }
}
