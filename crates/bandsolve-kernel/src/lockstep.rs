//! Batches solved in lockstep: each lane of a tile is a whole system.

use super::Job;
use super::prefetch::prefetch;
use super::sweep::{Check, LanePivots, Least, PartitionEnds, TRIDIAGONAL_ENTRIES, rule};
use super::tile::{ARRAYS, STAGED_ROWS, Scaling, Source, Strides, SweepOptions, TileRows, TileRun, special};
use super::tile_runs::Workspace;
use super::tile_sweep::TileSweep;
use crate::job::kernel;
use crate::number::{Element, Lanes, MAX_LANES, Scalar, lanes_of};
use crate::simd::Simd;
use core::ops::Range;

/// Systems of `n` rows in memory: `tiles` full tiles, from the first system of a tile on.
#[derive(Clone, Copy)]
pub struct Systems<'a, T> {
    /// sub, diag, sup, rhs
    pub arrays: [&'a [T]; 4],
    pub n: usize,
    /// Distance in scalars from one system to the next, and from one row to the next.
    pub strides: Strides,
    pub tiles: usize,
}

/// How a batch is solved, and where its errors are written.
pub struct LockstepOptions<'a, T: Scalar> {
    pub sweep: SweepOptions<T::Real>,
    /// Whether the entries of the matrix are replaced by their conjugates.
    pub conj: bool,
    /// Whether residuals are computed. If not, only the test for singularity is made.
    pub verify: bool,
    /// One value per system: the largest |residual| / scale. It is infinite if the residual cannot be trusted, or if the
    /// system may be singular.
    pub errors: &'a mut [T::Real],
    /// One value per system: ‖x‖∞ if [`Check::size_if_large`] finds x large, otherwise 0. Valid only if an x is large.
    pub sizes: &'a mut [T::Real],
    /// If the systems are periodic, with n ≥ 3, memory for one vector of scalars per row ([`spikes`]).
    pub spikes: Option<&'a mut [T::Real]>,
}

/// Number of reals of memory for the coefficients of the last unknown of periodic systems with n rows.
pub fn spikes<T: Scalar>(simd: Simd, n: usize) -> usize {
    (n * T::lanes(simd) * size_of::<T>() / size_of::<T::Real>()).next_multiple_of(16)
}

/// An array that several threads write. No two threads write the same entry.
pub struct Shared<'a, T> {
    pub(super) base: *mut T,
    pub(super) len: usize,
    array: core::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: the entries are plain numbers, and the caller assigns every system to exactly one thread.
unsafe impl<T: Scalar> Sync for Shared<'_, T> {}

impl<'a, T: Scalar> Shared<'a, T> {
    /// Borrow the array `all`.
    pub fn new(all: &'a mut [T]) -> Self {
        Self { base: all.as_mut_ptr(), len: all.len(), array: core::marker::PhantomData }
    }

    /// Write entry `i`.
    pub fn put(&self, i: usize, x: T) {
        assert!(i < self.len);
        // SAFETY: inside the array, and only one thread writes this entry.
        unsafe { *self.base.add(i) = x }
    }

    /// Read entry `i`.
    pub fn get(&self, i: usize) -> T {
        assert!(i < self.len);
        // SAFETY: inside the array.
        unsafe { *self.base.add(i) }
    }
}

impl<T: Scalar> Workspace<'_, T> {
    /// Solve systems that fill whole tiles. x goes to `out` from entry `first` on, in the same layout. Returns whether an
    /// x is large.
    pub fn solve_systems(
        &mut self,
        systems: &Systems<T>,
        options: LockstepOptions<T>,
        (out, first): (&Shared<'_, T>, usize),
    ) -> bool {
        let Systems { n, strides, tiles, .. } = *systems;
        let lanes = self.lanes;
        let end = (tiles * lanes - 1) * strides.lane + (n - 1) * strides.row + 1;
        assert!(strides.lane == 1 || strides.row == 1);
        assert!(systems.arrays.iter().all(|a| a.len() >= end) && first + end <= out.len);
        let arrays = systems.arrays.map(|a| a.as_ptr());
        self.solve_at(arrays, (n, strides, tiles), options, out.base.wrapping_add(first))
    }

    /// Solve fewer systems than a tile holds. Scalars are read and written one at a time.
    ///
    /// `at(k, s, i)` is entry i of array k of system s, with s < `count`.
    pub fn solve_few(
        &mut self,
        (n, count): (usize, usize),
        at: impl Fn(usize, usize, usize) -> T,
        options: LockstepOptions<T>,
        put: impl Fn(usize, usize, T),
    ) -> bool {
        let lanes = self.lanes;
        let mut copies = [core::ptr::null_mut(); 4];
        for (k, copied) in copies.iter_mut().enumerate() {
            let copy = self.copy_of(n, k);
            for lane in 0..lanes {
                let s = if lane < count { lane } else { 0 };
                copy[lane * n..(lane + 1) * n].iter_mut().enumerate().for_each(|(i, x)| *x = at(k, s, i));
            }
            *copied = copy.as_mut_ptr();
        }
        let LockstepOptions { errors, sizes, .. } = options;
        let [mut all_errors, mut all_sizes] = [[T::Real::ZERO; MAX_LANES]; 2];
        let of_tile = LockstepOptions { errors: &mut all_errors[..lanes], sizes: &mut all_sizes[..lanes], ..options };
        // x replaces the right-hand sides, which are staged before x is written.
        let large =
            self.solve_at(copies.map(|copy| copy.cast_const()), (n, Strides::contiguous(n), 1), of_tile, copies[3]);
        errors.copy_from_slice(&all_errors[..errors.len()]);
        sizes.copy_from_slice(&all_sizes[..sizes.len()]);
        for s in 0..count {
            for i in 0..n {
                // SAFETY: inside the copy.
                put(s, i, unsafe { *copies[3].add(s * n + i) });
            }
        }
        large
    }

    /// Solve `tiles` full tiles. All their entries are readable, and writable at `out`.
    fn solve_at(
        &mut self,
        arrays: [*const T; 4],
        (n, strides, tiles): (usize, Strides, usize),
        options: LockstepOptions<T>,
        out: *mut T,
    ) -> bool {
        let lanes = self.lanes;
        let LockstepOptions { sweep, conj, verify, errors, sizes, spikes } = options;
        assert!(errors.len() == tiles * lanes && sizes.len() == tiles * lanes);
        let room = |spikes: &[T::Real]| n >= 3 && spikes.len() >= self::spikes::<T>(self.simd, n);
        assert!(spikes.as_deref().is_none_or(room));
        let mut plain = [core::ptr::null(); ARRAYS];
        plain[..4].copy_from_slice(&arrays);
        let step = lanes * strides.lane;
        let last = plain.map(|a| a.wrapping_add((tiles - 1) * step));
        let plain = Source { arrays: plain, ahead: plain, strides, conj, periodic: spikes.is_some() };
        let run = TileRun { plain, first: plain.arrays, last, tiles, m: n, step };
        let (errors, sizes) = (errors.as_mut_ptr(), sizes.as_mut_ptr());
        let spikes = spikes.map_or(core::ptr::null_mut(), |spikes| spikes.as_mut_ptr());
        let [tiles, pivot_rows] = self.tiles_and_pivot_rows(n);
        let group = if strides.row == 1 { 1 } else { self.tiles };
        let memory = [tiles, pivot_rows, spikes];
        Lockstep { run, memory, group, sweep, verify, out, errors, sizes }.run_on(self.simd)
    }
}

pub struct Lockstep<T: Scalar> {
    run: TileRun<T>,
    /// The memory of the tiles, of the pivot rows, and of the spikes of periodic systems, which is null for open systems.
    memory: [*mut T::Real; 3],
    /// The number of tiles that are staged as a group.
    group: usize,
    sweep: SweepOptions<T::Real>,
    verify: bool,
    out: *mut T,
    /// As in [`LockstepOptions`].
    errors: *mut T::Real,
    sizes: *mut T::Real,
}

kernel!(LockstepKernel: Lockstep<> => bool);

impl<T: Scalar> Job<T> for Lockstep<T> {
    type Output = bool;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> bool {
        let noise = const { V::PORTABLE } && self.sweep.pivots.noise > T::Real::ZERO;
        match (noise, self.memory[2].is_null()) {
            (true, true) => self.sweep::<V, true, { rule::NOISE }, false>(),
            (true, false) => self.sweep::<V, true, { rule::NOISE }, true>(),
            (false, false) => self.sweep::<V, true, { rule::LARGER }, true>(),
            _ if const { special::<T, V, 1>() } && !self.verify => self.sweep::<V, false, { rule::LARGER }, false>(),
            _ => self.sweep::<V, true, { rule::LARGER }, false>(),
        }
    }
}

impl<T: Scalar> Lockstep<T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const VERIFY: bool, const RULE: usize, const PERIODIC: bool>(&self) -> bool {
        let mut large = false;
        for first in (0..self.run.tiles).step_by(self.group) {
            let tiles = first..self.run.tiles.min(first + self.group);
            if self.group > 1 {
                self.stage::<V>(tiles.clone());
            }
            for t in tiles.clone() {
                let work = self.work::<V, RULE, PERIODIC>(t);
                let scaling = (self.group == 1).then_some(self.sweep.scaling);
                let size = self.solve::<V, VERIFY, RULE, PERIODIC>(&work, t, scaling);
                if size.peak().first() > T::Real::ZERO {
                    self.keep_sizes(t, &lanes_of(size)[..V::W], large);
                    large = true;
                }
            }
            if self.group > 1 {
                self.write::<V>(tiles);
            }
        }
        large
    }

    /// Store the sizes of x of tile `t`. The sizes of all other systems are zero, unless some were stored `before`.
    #[cold]
    #[inline(never)]
    fn keep_sizes(&self, t: usize, sizes: &[T::Real], before: bool) {
        let (to, lanes) = (self.sizes, sizes.len());
        // SAFETY: `solve_at` checked that there is room for the sizes of all tiles.
        unsafe {
            if !before {
                (0..self.run.tiles * lanes).for_each(|k| *to.add(k) = T::Real::ZERO);
            }
            core::ptr::copy_nonoverlapping(sizes.as_ptr(), to.add(t * lanes), lanes);
        }
    }

    /// The memory of tile `k` of a group.
    #[inline(always)]
    fn tile<V: Lanes<Real = T::Real>>(&self, k: usize) -> TileRows<T::Real, 1> {
        let len = self.run.m * (TRIDIAGONAL_ENTRIES + 1) * T::Element::<V>::REALS * V::W;
        TileRows { base: self.memory[0].wrapping_add(k * len) }
    }

    /// The sweep of tile `t` with its memory.
    #[inline(always)]
    fn work<V: Lanes<Real = T::Real>, const RULE: usize, const PERIODIC: bool>(
        &self,
        t: usize,
    ) -> TileSweep<V, 1, RULE, true, PERIODIC> {
        let ([_, pivot_rows, spikes], tile) = (self.memory, self.tile::<V>(t % self.group).base);
        TileSweep::new::<T::Element<V>>([tile, pivot_rows, spikes], self.run.m, LanePivots::new(&self.sweep.pivots))
    }

    /// Stage neighboring tiles row by row, so that adjacent memory is read consecutively.
    #[inline(always)]
    fn stage<V: Lanes<Real = T::Real>>(&self, tiles: Range<usize>) {
        let (m, scaled) = (self.run.m, self.sweep.scaling == Scaling::Rows);
        let mut row = self.run.source(tiles.start);
        // SAFETY: `solve_at` checked all arrays, and there is memory for this number of tiles. Tiles of a group lie side by side in the caller's arrays.
        unsafe {
            for j in 0..m {
                // One row at a time: with a power of two as the number of systems, all rows compete for the same places in the cache.
                let mut source = row;
                for k in 0..tiles.len() {
                    for array in &source.arrays[..TRIDIAGONAL_ENTRIES + 1] {
                        prefetch(array.wrapping_add(STAGED_ROWS * source.strides.row));
                    }
                    let tile = self.tile::<V>(k).at::<V, T::Element<V>>(j);
                    tile.stage_side_by_side::<T, V>(&source, (m, j, scaled));
                    source.advance::<1>(self.run.step);
                }
                row.advance::<1>(row.strides.row);
            }
            if !scaled {
                (0..tiles.len()).for_each(|k| self.tile::<V>(k).scale_alike::<V, T::Element<V>>(m));
            }
        }
    }

    /// Write x of neighboring tiles row by row.
    #[inline(always)]
    fn write<V: Lanes<Real = T::Real>>(&self, tiles: Range<usize>) {
        let (m, strides) = (self.run.m, self.run.plain.strides);
        let to = |k: usize| self.out.wrapping_add((tiles.start + k) * self.run.step);
        // SAFETY: `solve_at` checked all arrays.
        unsafe {
            for j in (0..m).step_by(STAGED_ROWS) {
                for k in 0..tiles.len() {
                    let tile = self.tile::<V>(k).at::<V, T::Element<V>>(j);
                    tile.write::<T, V, true>(0, (m, j), (to(k).wrapping_add(j * strides.row), strides));
                }
            }
            for k in 0..tiles.len() {
                self.tile::<V>(k).write_rest::<T, V, true>(0, m, (to(k), strides));
            }
        }
    }

    /// Solve the systems of tile `t`. Returns the sizes of x that are large.
    #[inline(always)]
    fn solve<V: Lanes<Real = T::Real>, const VERIFY: bool, const RULE: usize, const PERIODIC: bool>(
        &self,
        work: &TileSweep<V, 1, RULE, true, PERIODIC>,
        t: usize,
        scaling: Option<Scaling>,
    ) -> V {
        let zero = [T::Element::<V>::splat(T::Real::ZERO)];
        let around = PartitionEnds { before: zero, first: zero, last: zero, after: zero };
        let (mut checks, mut least) = ([Check::new(T::Real::ZERO)], Least::new());
        // SAFETY: `solve_at` checked all arrays.
        unsafe {
            let chain = work.eliminate::<T>(&self.run, (t, scaling), &zero, &mut least);
            let out = if self.group > 1 { core::ptr::null_mut() } else { self.out.wrapping_add(t * self.run.step) };
            let out = [out];
            work.substitute::<T, VERIFY>(&chain, &around, &mut checks, (out, self.run.plain.strides));
            let gap = if self.verify { checks[0].judged_gap(&least) } else { least.judge(checks[0].gap()) };
            gap.store(self.errors.add(t * V::W));
        }
        if self.verify { checks[0].size_if_large(TRIDIAGONAL_ENTRIES) } else { V::splat(T::Real::ZERO) }
    }
}
