//! Tiles whose lanes are whole systems: a batch solved in lockstep.

use super::element::Element;
use super::lanes::Lanes;
use super::run::{How, Run, Work, Workspace, read_checks, special};
use super::sweep::{Boundary, Check, Found, LanePivots};
use super::tile::{ARRAYS, Source, Strides};
use super::Job;
use crate::scalar::Scalar;

/// Systems of `n` rows as they lie in memory, from the first one of a tile on: `tiles` full tiles of them.
#[derive(Clone, Copy)]
pub struct Systems<'a, T> {
    /// sub, diag, sup, rhs
    pub arrays: [&'a [T]; 4],
    pub n: usize,
    /// Scalars from one system to the next, and from one row to the next.
    pub strides: Strides,
    pub tiles: usize,
}

/// An array that several threads write, each its own entries.
pub struct Shared<'a, T> {
    base: *mut T,
    len: usize,
    array: core::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: the entries are plain numbers; who writes which is decided by the caller, who hands every system to one thread.
unsafe impl<T: Scalar> Sync for Shared<'_, T> {}

impl<'a, T: Scalar> Shared<'a, T> {
    /// Borrows `all`.
    pub fn new(all: &'a mut [T]) -> Self {
        Self { base: all.as_mut_ptr(), len: all.len(), array: core::marker::PhantomData }
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

impl<T: Scalar> Workspace<'_, T> {
    /// Solves systems that fill whole tiles; x goes to `out` from entry `first` on, in the same layout. `gaps`: for every
    /// system the largest |residual| / scale; empty: nothing is verified.
    pub fn solve_systems(
        &mut self,
        systems: &Systems<T>,
        (how, conj): (How<T::Real>, bool),
        gaps: &mut [T::Real],
        (out, first): (&Shared<'_, T>, usize),
    ) -> Found {
        let Systems { n, strides, tiles, .. } = *systems;
        let lanes = self.lanes();
        let end = (tiles * lanes - 1) * strides.lane + (n - 1) * strides.row + 1;
        assert!(systems.arrays.iter().all(|a| a.len() >= end) && first + end <= out.len);
        self.solve_at(systems, (how, conj), gaps, out.base.wrapping_add(first))
    }

    /// The same for fewer systems than a tile holds, taken and given one scalar at a time: `at(k, s, i)` is entry i of array
    /// k of system s < `count`.
    pub fn solve_few(
        &mut self,
        (n, count): (usize, usize),
        at: impl Fn(usize, usize, usize) -> T,
        (how, conj): (How<T::Real>, bool),
        gaps: &mut [T::Real],
        put: impl Fn(usize, usize, T),
    ) -> Found {
        let lanes = self.lanes();
        let mut copies = [core::ptr::null_mut(); 4];
        for (k, copied) in copies.iter_mut().enumerate() {
            let copy = self.copy_of(n, k);
            for lane in 0..lanes {
                let s = if lane < count { lane } else { 0 };
                copy[lane * n..(lane + 1) * n].iter_mut().enumerate().for_each(|(i, x)| *x = at(k, s, i));
            }
            *copied = copy.as_mut_ptr();
        }
        // SAFETY: the copies, which stay where they are; x replaces the right-hand sides, which are staged before it is
        // written.
        let arrays = copies.map(|copy| unsafe { core::slice::from_raw_parts(copy.cast_const(), lanes * n) });
        let systems = Systems { arrays, n, strides: Strides::contiguous(n), tiles: 1 };
        let mut all = [T::Real::ZERO; super::run::MAX_LANES];
        let own = if gaps.is_empty() { &mut [][..] } else { &mut all[..lanes] };
        let found = self.solve_at(&systems, (how, conj), own, copies[3]);
        gaps.copy_from_slice(&all[..gaps.len()]);
        for s in 0..count {
            for i in 0..n {
                // SAFETY: inside the copy.
                put(s, i, unsafe { *copies[3].add(s * n + i) });
            }
        }
        found
    }

    fn solve_at(
        &mut self,
        systems: &Systems<T>,
        (how, conj): (How<T::Real>, bool),
        gaps: &mut [T::Real],
        out: *mut T,
    ) -> Found {
        let Systems { arrays, n, strides, tiles } = *systems;
        let lanes = self.lanes();
        assert!(gaps.is_empty() || gaps.len() == tiles * lanes);
        let mut plain = [core::ptr::null(); ARRAYS];
        plain[..4].copy_from_slice(&arrays.map(|a| a.as_ptr()));
        let step = lanes * strides.lane;
        let last = plain.map(|a| a.wrapping_add((tiles - 1) * step));
        let plain = Source { arrays: plain, ahead: plain, strides, conj };
        let run = Run { plain, first: plain.arrays, last, tiles, m: n, step };
        let gap = if gaps.is_empty() { core::ptr::null_mut() } else { gaps.as_mut_ptr() };
        let (tile, pivot_rows) = self.tile_and_pivot_rows(n);
        T::lockstep(self.simd(), Lockstep { run, tile, pivot_rows, how, out, gaps: gap })
    }
}

pub struct Lockstep<T: Scalar> {
    run: Run<T>,
    tile: *mut T::Real,
    pivot_rows: *mut T::Real,
    how: How<T::Real>,
    out: *mut T,
    /// Null: nothing is verified.
    gaps: *mut T::Real,
}

impl<T: Scalar> Job<T> for Lockstep<T> {
    type Output = Found;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Found {
        if const { V::PORTABLE } && self.how.pivots.noise > T::Real::ZERO {
            return self.sweep::<V, true, true>();
        }
        match self.gaps.is_null() {
            true if const { special::<T, V, 1>() } => self.sweep::<V, false, false>(),
            _ => self.sweep::<V, true, false>(),
        }
    }
}

impl<T: Scalar> Lockstep<T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const VERIFY: bool, const NOISE: bool>(&self) -> Found {
        let memory = [self.tile, self.pivot_rows];
        let pivots = LanePivots::new(&self.how.pivots);
        let work = Work::<V, 1, NOISE, true>::new::<T::Element<V>>(memory, self.run.m, pivots);
        let zero = [T::Element::<V>::splat(T::Real::ZERO)];
        let around = Boundary { before: zero, first: zero, last: zero, after: zero };
        let mut total = [Check::<V>::new(T::Real::ZERO)];
        for t in 0..self.run.tiles {
            let mut checks = [Check::new(T::Real::ZERO)];
            // SAFETY: `solve_at` has checked all arrays.
            unsafe {
                let chain = work.eliminate::<T>(&self.run, (t, self.how.scaling), &zero);
                let out = [self.out.wrapping_add(t * self.run.step)];
                work.substitute::<T, VERIFY>(&chain, &around, &mut checks, (out, self.run.plain.strides));
                if VERIFY && !self.gaps.is_null() {
                    checks[0].gap().store(self.gaps.add(t * V::W));
                }
            }
            total[0] = total[0].and(&checks[0]);
        }
        read_checks::<T, V, 1, VERIFY>(&total)[0]
    }
}
