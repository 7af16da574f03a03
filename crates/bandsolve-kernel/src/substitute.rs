//! `substitute`: compute x of a run of tiles from the coarse unknowns, and check the residuals.

use super::Job;
use super::sweep::{
    self, CHECK_VECTORS, Check, CheckResult, Eliminator, LanePivots, Least, MAX_RHS, PartitionEnds, rule, slack,
};
use super::tile::{SweepOptions, TileRun, copy_streaming, special};
use super::tile_sweep::TileSweep;
use crate::job::kernel;
use crate::number::{Element, Lanes, MAX_LANES, Scalar};

/// The arguments of a substitution.
pub struct Substitute<T: Scalar> {
    pub(super) run: TileRun<T>,
    pub(super) tile: *mut T::Real,
    pub(super) pivot_rows: *mut T::Real,
    pub(super) how: SweepOptions<T::Real>,
    pub(super) verify: bool,
    pub(super) n_rhs: usize,
    pub(super) x_max: [T::Real; MAX_RHS],
    pub(super) coarse: [*const T; MAX_RHS],
    /// Distance in coarse unknowns from one partition to the next.
    pub(super) coarse_step: usize,
    pub(super) out: [*mut T; MAX_RHS],
    /// Buffers from which x is stored past the caches. Null if x is stored directly.
    pub(super) buffers: [*mut T; MAX_RHS],
    pub(super) gaps: [*mut T::Real; MAX_RHS],
}

kernel!(SubstituteKernel: Substitute<> => [CheckResult; MAX_RHS]);

impl<T: Scalar> Job<T> for Substitute<T> {
    type Output = [CheckResult; MAX_RHS];
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output {
        match self.n_rhs {
            1 => self.sweep::<V, 1>(),
            _ => self.sweep::<V, MAX_RHS>(),
        }
    }
}

impl<T: Scalar> Substitute<T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const R: usize>(&self) -> [CheckResult; MAX_RHS] {
        if const { V::PORTABLE && R == 1 } && self.how.pivots.noise > T::Real::ZERO {
            return self.sweep_with::<V, R, true, { rule::NOISE }>(self.run.m);
        }
        match (self.how.pivots.eliminator, self.verify, self.run.m) {
            (Eliminator::Diagonal, _, m) if const { R == 1 || !T::COMPLEX } => {
                self.sweep_with::<V, R, true, { rule::DIAGONAL }>(m)
            }
            (Eliminator::Rotation, _, m) if const { R == 1 || !T::COMPLEX } => {
                self.sweep_with::<V, R, true, { rule::ROTATION }>(m)
            }
            (_, _, 32) if const { special::<T, V, R>() } && self.how.pivots.fixed => {
                self.sweep_with::<V, R, true, { rule::FIRST }>(32)
            }
            (_, false, m) if const { special::<T, V, R>() } => self.sweep_with::<V, R, false, { rule::LARGER }>(m),
            (_, true, 32) if const { special::<T, V, R>() } => self.sweep_with::<V, R, true, { rule::LARGER }>(32),
            (_, _, m) => self.sweep_with::<V, R, true, { rule::LARGER }>(m),
        }
    }

    #[inline(always)]
    fn sweep_with<V: Lanes<Real = T::Real>, const R: usize, const VERIFY: bool, const RULE: usize>(
        &self,
        m: usize,
    ) -> [CheckResult; MAX_RHS] {
        let memory = [self.tile, self.pivot_rows, core::ptr::null_mut()];
        let work =
            TileSweep::<V, R, RULE, false, false>::new::<T::Element<V>>(memory, m, LanePivots::new(&self.how.pivots));
        let (mut total, mut least) = ([Check::<V>::new(T::Real::ZERO); R], Least::new());
        // SAFETY: `Workspace::substitute` made room for a tile of m ≥ 2 rows and its pivot rows, and checked all
        // arrays.
        unsafe {
            for t in 0..self.run.tiles {
                let around = self.around::<V, R>(t);
                let chain = work.eliminate::<T>(&self.run, (t, Some(self.how.scaling)), &around.first, &mut least);
                let (mut checks, mut out) = (total, [core::ptr::null_mut(); R]);
                for r in 0..R {
                    checks[r] = Check::new(self.x_max[r]);
                    let (buffer, target) = (self.buffers[r], self.out[r].wrapping_add(t * self.run.step));
                    out[r] = if buffer.is_null() { target } else { buffer };
                }
                work.substitute::<T, VERIFY>(&chain, &around, &mut checks, (out, self.run.plain.strides));
                for r in 0..R {
                    if !self.buffers[r].is_null() {
                        let len = self.run.step * T::Element::<V>::REALS;
                        let target = self.out[r].wrapping_add(t * self.run.step);
                        copy_streaming::<V>(out[r].cast(), target.cast(), len);
                    }
                    if VERIFY && self.verify {
                        checks[r].gap().store(self.gaps[r].add(t * V::W));
                    }
                    total[r] = total[r].and(&checks[r]);
                }
            }
        }
        let mut results = read_checks::<T, V, R, VERIFY>(&total);
        let suspect = least.suspect();
        for r in 0..R {
            results[r].suspect = suspect;
        }
        results
    }

    /// The unknowns around the partitions of tile `t`.
    ///
    /// # Safety
    /// `t` is a tile of the run.
    #[inline(always)]
    unsafe fn around<V: Lanes<Real = T::Real>, const R: usize>(&self, t: usize) -> PartitionEnds<T::Element<V>, R> {
        let zero = [T::Element::<V>::splat(T::Real::ZERO); R];
        let mut around = PartitionEnds { before: zero, first: zero, last: zero, after: zero };
        for r in 0..R {
            let at = self.coarse[r].wrapping_add(t * V::W * self.coarse_step);
            // SAFETY: there are four coarse unknowns per partition, at the distance `coarse_step`.
            // `Workspace::substitute` checked the length or made the copy.
            [around.before[r], around.first[r], around.last[r], around.after[r]] =
                unsafe { load_around::<T, V>(at, self.coarse_step) };
        }
        around
    }
}

/// Load four scalars for each of W lanes, with the distance `step` between lanes.
///
/// # Safety
/// `at` is readable for (W − 1)·`step` + 4 scalars.
#[inline(always)]
pub(super) unsafe fn load_around<T: Scalar, V: Lanes<Real = T::Real>>(at: *const T, step: usize) -> [T::Element<V>; 4] {
    let (at, step) = (at.cast::<T::Real>(), step * T::Element::<V>::REALS);
    // SAFETY: lane l < W reads four scalars from l·`step` on, which are readable.
    unsafe {
        let c = V::load_columns(at, step);
        if T::COMPLEX {
            let d = V::load_columns(at.add(4), step);
            let element = T::Element::<V>::from_columns;
            [element(&c[..2]), element(&c[2..]), element(&d[..2]), element(&d[2..])]
        } else {
            let element = T::Element::<V>::from_columns;
            [element(&c[..1]), element(&c[1..2]), element(&c[2..3]), element(&c[3..])]
        }
    }
}

/// The results of the checks of a run over all lanes. They are empty unless `VERIFY`.
#[inline(always)]
pub(super) fn read_checks<T: Scalar, V: Lanes<Real = T::Real>, const R: usize, const VERIFY: bool>(
    checks: &[Check<V>; R],
) -> [CheckResult; MAX_RHS] {
    let mut results = [CheckResult::default(); MAX_RHS];
    if VERIFY {
        for r in 0..R {
            let mut stored = [T::Real::ZERO; CHECK_VECTORS * MAX_LANES];
            let stored = &mut stored[..CHECK_VECTORS * V::W];
            // SAFETY: `stored` holds CHECK_VECTORS·W numbers.
            unsafe { checks[r].store(stored.as_mut_ptr()) }
            results[r] = sweep::read_check(stored, slack::<T>());
        }
    }
    results
}
