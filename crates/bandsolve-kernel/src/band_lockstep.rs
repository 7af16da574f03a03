//! Batches of banded systems solved in lockstep: each lane of a tile is a whole system.
//!
//! The method is LU with partial pivoting of scaled rows. Step c eliminates unknown c among the `lower + 1` rows that can contain it:
//! the carried rows c … c + lower − 1, and row c + lower, which enters.
//!
//! ```text
//! choose the pivot row p of column c;   row r ← row r − a[r, c]/a[p, c] · row p   for the other rows, which are carried on
//! x[c] = (y[c] − Σ u[c, c + j]·x[c + j]) / u[c, c]                                for j = 1 … lower + upper, from the last row upwards
//! ```
//!
//! Cost per row with q = lower + upper: lower·q multiplications and additions, 2·lower·q selections, 1 reciprocal; q + 2 words read and 1
//! written.

use super::Job;
use super::blocks::BlockPivots;
use super::blocks::panel_step::{PANEL_ROWS, PanelColumn, PanelStep};
use super::lockstep::Shared;
use super::prefetch::prefetch;
use super::sweep::{Check, Least};
use super::tile::{STAGED_ROWS, Scaling, Strides, copy_in, copy_out, vectors};
use crate::job::kernel;
use crate::number::{Element, Lanes, Scalar, lanes_of};
use crate::simd::Simd;
use crate::tuning::BATCH_DIAGONALS;
use core::mem::MaybeUninit;
use core::ops::Range;

/// Distance, in rows, over which interleaved entries are prefetched.
const AHEAD: usize = 16;

/// Distances in memory between the entries of the bands of a batch, counted in numbers.
///
/// # Examples
/// ```
/// use bandsolve_kernel::band_lockstep::BandStrides;
/// // Pentadiagonal systems of 100 unknowns, one after the other, each in LAPACK band storage:
/// let lapack = BandStrides { system: 500, column: 5, diagonal: 1 };
/// // The same with each diagonal in a row of its own, as in SciPy:
/// let scipy = BandStrides { system: 500, column: 1, diagonal: 100 };
/// assert_ne!(lapack, scipy);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandStrides {
    /// From one system to the next.
    pub system: usize,
    /// From entry (i, j) to entry (i + 1, j + 1).
    pub column: usize,
    /// From entry (i, j) to entry (i + 1, j).
    pub diagonal: usize,
}

/// Where each of a batch of bands stores its entries. Entry (i, j) is at `j·column + (upper + i − j)·diagonal` of its system.
#[derive(Debug, Clone, Copy)]
pub struct BandShape {
    pub n: usize,
    pub lower: usize,
    pub upper: usize,
    pub strides: BandStrides,
}

impl BandShape {
    /// Number of diagonals.
    fn diagonals(&self) -> usize {
        self.lower + self.upper + 1
    }

    /// The largest index of an entry that is read, of `count` systems. `None` if it overflows.
    pub fn last(&self, count: usize) -> Option<usize> {
        let steps = [
            (count.saturating_sub(1), self.strides.system),
            (self.n.saturating_sub(1), self.strides.column),
            (self.lower + self.upper, self.strides.diagonal),
        ];
        steps.into_iter().try_fold(0usize, |sum, (steps, stride)| sum.checked_add(steps.checked_mul(stride)?))
    }
}

/// Systems in memory. The first one begins at the beginning of both arrays.
#[derive(Clone, Copy)]
pub struct BandSystems<'a, T> {
    pub shape: BandShape,
    pub bands: &'a [T],
    pub rhs: &'a [T],
    /// Distances in `rhs` and x: from one system to the next, and from one row to the next.
    pub strides: Strides,
    /// Number of systems.
    pub count: usize,
    /// Whether Aᵀ takes the place of A, and whether the entries are replaced by their conjugates.
    pub transposed: bool,
    pub conj: bool,
}

/// How a batch of bands is solved.
#[derive(Clone, Copy)]
pub struct BandOptions<R> {
    pub choice: BlockPivots<R>,
    pub scaling: Scaling,
    /// Whether residuals are computed. If not, only the test for singularity is made.
    pub verify: bool,
    /// Number of tiles that are staged together.
    pub group: usize,
}

/// The offsets of the parts of a tile, in elements. A tile begins with its rows: the entries of op(A) from the lowest diagonal on, and the
/// right-hand side.
#[derive(Debug, Clone, Copy)]
struct BandTileLayout {
    /// x, between `lower` and `lower + upper` zeros.
    x: usize,
    total: usize,
}

impl BandTileLayout {
    fn new(shape: &BandShape) -> Self {
        let (n, q) = (shape.n, shape.lower + shape.upper);
        let x = n * (q + 2);
        Self { x, total: x + n + 2 * q }
    }

    /// Number of elements of the pivot rows: 1/pivot and `lower + upper` entries after it.
    fn pivots(shape: &BandShape) -> usize {
        shape.n * (shape.lower + shape.upper + 1)
    }
}

/// Number of reals of memory with which a thread solves `group` tiles together.
pub fn memory<T: Scalar>(simd: Simd, shape: &BandShape, group: usize) -> usize {
    let elements = group * BandTileLayout::new(shape).total + BandTileLayout::pivots(shape);
    (elements * T::lanes(simd) * size_of::<T>() / size_of::<T::Real>()).next_multiple_of(16)
}

/// Solve the systems. x goes to `out` from entry `first` on, in the order of the right-hand sides. Returns whether an x is large.
///
/// `errors` and `sizes` are those of [`LockstepOptions`](super::lockstep::LockstepOptions). `memory` has the size that
/// [`memory`](fn@memory) returns.
pub fn solve<T: Scalar>(
    simd: Simd,
    systems: &BandSystems<'_, T>,
    how: BandOptions<T::Real>,
    (out, first): (&Shared<'_, T>, usize),
    ([errors, sizes], memory): ([&mut [T::Real]; 2], &mut [T::Real]),
) -> bool {
    let BandSystems { shape, strides, count, .. } = *systems;
    let BandShape { n, lower, upper, .. } = shape;
    assert!(n > 0 && count > 0 && how.group > 0 && lower.max(upper) <= BATCH_DIAGONALS);
    let end = (count - 1) * strides.lane + (n - 1) * strides.row + 1;
    assert!(systems.rhs.len() >= end && first + end <= out.len);
    assert!(shape.last(count).is_some_and(|last| last < systems.bands.len()));
    assert!(errors.len() == count && sizes.len() == count);
    assert!(memory.len() >= self::memory::<T>(simd, &shape, how.group));
    BandLockstep { systems: *systems, how, out: out.base.wrapping_add(first), errors, sizes, memory }.run_on(simd)
}

pub struct BandLockstep<'a, T: Scalar> {
    systems: BandSystems<'a, T>,
    how: BandOptions<T::Real>,
    out: *mut T,
    errors: &'a mut [T::Real],
    sizes: &'a mut [T::Real],
    memory: &'a mut [T::Real],
}

kernel!(BandLockstepKernel: BandLockstep<'a> => bool);

impl<T: Scalar> Job<T> for BandLockstep<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> bool {
        let BandShape { lower, upper, .. } = self.systems.shape;
        // With constant widths, all rows stay in registers. Such code is compiled for real numbers only, and not for plain arrays.
        match (lower, upper) {
            (2, 2) if const { !T::COMPLEX && !V::PORTABLE } => self.sweep::<V, 2, 4>(),
            _ => self.sweep::<V, 0, 0>(),
        }
    }
}

impl<T: Scalar> BandLockstep<'_, T> {
    /// Solve with `L` lower diagonals and `Q` off-diagonals in all (0: any numbers).
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const L: usize, const Q: usize>(mut self) -> bool {
        let (count, group) = (self.systems.count, self.how.group);
        let tiles = count.div_ceil(V::W);
        let mut large = false;
        for first in (0..tiles).step_by(group) {
            let tiles = first..tiles.min(first + group);
            for t in tiles.clone() {
                self.tile::<V, L, Q>(t).clear_outside();
            }
            // In blocks of rows, so that adjacent memory of neighbouring tiles is read consecutively.
            let rows = if group == 1 { self.systems.shape.n } else { STAGED_ROWS };
            for run in 0..self.systems.shape.diagonals() + 1 {
                for first in (0..self.systems.shape.n).step_by(rows) {
                    for t in tiles.clone() {
                        let tile = self.tile::<V, L, Q>(t);
                        tile.stage(&self.systems, t * V::W, (run, first..first + rows));
                    }
                }
            }
            for t in tiles.clone() {
                let tile = self.tile::<V, L, Q>(t);
                let (gap, size) = tile.solve(&self.how, self.systems.conj);
                let live = V::W.min(count - t * V::W);
                let at = t * V::W..t * V::W + live;
                self.errors[at.clone()].copy_from_slice(&lanes_of(gap)[..live]);
                self.sizes[at].copy_from_slice(&lanes_of(size)[..live]);
                large |= size.peak().first() > T::Real::ZERO;
            }
            for first in (0..self.systems.shape.n).step_by(rows) {
                for t in tiles.clone() {
                    let (tile, live) = (self.tile::<V, L, Q>(t), V::W.min(count - t * V::W));
                    let strides = self.systems.strides;
                    let out = self.out.wrapping_add(t * V::W * strides.lane);
                    tile.write((out, strides), live, first..self.systems.shape.n.min(first + rows));
                }
            }
        }
        large
    }

    /// The memory of tile `t`.
    #[inline(always)]
    fn tile<V: Lanes<Real = T::Real>, const L: usize, const Q: usize>(&mut self, t: usize) -> BandTile<T, V, L, Q> {
        let shape = self.systems.shape;
        let at = BandTileLayout::new(&shape);
        let (lower, upper) =
            if self.systems.transposed { (shape.upper, shape.lower) } else { (shape.lower, shape.upper) };
        let element = T::Element::<V>::REALS * V::W;
        let base = self.memory.as_mut_ptr();
        BandTile {
            base: base.wrapping_add((t % self.how.group * at.total) * element),
            pivots: base.wrapping_add(self.how.group * at.total * element),
            n: shape.n,
            lower,
            upper,
            at,
            lanes: core::marker::PhantomData,
        }
    }
}

/// A tile of op(A), with the numbers of diagonals of op(A).
struct BandTile<T: Scalar, V: Lanes<Real = T::Real>, const L: usize, const Q: usize> {
    base: *mut T::Real,
    pivots: *mut T::Real,
    n: usize,
    lower: usize,
    upper: usize,
    at: BandTileLayout,
    lanes: core::marker::PhantomData<V>,
}

impl<T: Scalar, V: Lanes<Real = T::Real>, const L: usize, const Q: usize> BandTile<T, V, L, Q> {
    const REALS: usize = T::Element::<V>::REALS;

    /// Number of diagonals below the main one.
    #[inline(always)]
    fn lower(&self) -> usize {
        if Q == 0 { self.lower } else { L }
    }

    /// Number of off-diagonals.
    #[inline(always)]
    fn q(&self) -> usize {
        if Q == 0 { self.lower + self.upper } else { Q }
    }

    #[inline(always)]
    fn at(&self, i: usize) -> *mut T::Real {
        debug_assert!(i < self.at.total);
        self.base.wrapping_add(i * Self::REALS * V::W)
    }

    #[inline(always)]
    fn load(&self, i: usize) -> T::Element<V> {
        // SAFETY: `solve` checked that there is memory for all elements, and every index is inside the layout.
        unsafe { T::Element::<V>::load(self.at(i)) }
    }

    #[inline(always)]
    fn store(&self, i: usize, value: T::Element<V>) {
        // SAFETY: as in `load`; only this tile uses the memory.
        unsafe { value.store(self.at(i)) }
    }

    /// Entry `k` of row `i`, from the lowest diagonal on. Entry q + 1 is the right-hand side.
    #[inline(always)]
    fn row(&self, i: usize, k: usize) -> usize {
        i * (self.q() + 2) + k
    }

    /// x of row `i`, plus `k` rows, minus `lower` rows.
    #[inline(always)]
    fn x(&self, i: usize, k: usize) -> usize {
        self.at.x + i + k
    }

    /// Entry `j` after the pivot of row `c`. Entry 0 is 1/pivot.
    #[inline(always)]
    fn pivot(&self, c: usize, j: usize) -> *mut T::Real {
        self.pivots.wrapping_add((c * (self.q() + 1) + j) * Self::REALS * V::W)
    }

    /// Set to zero what lies outside of the matrix, and x before and after it.
    #[inline(always)]
    fn clear_outside(&self) {
        let (n, q, zero) = (self.n, self.q(), T::Element::<V>::splat(T::Real::ZERO));
        for i in (0..self.lower().min(n)).chain(n.saturating_sub(self.upper)..n) {
            for k in 0..=q {
                self.store(self.row(i, k), zero);
            }
        }
        for k in 0..self.lower() {
            self.store(self.x(0, k), zero);
        }
        for k in 0..q {
            self.store(self.x(n, self.lower() + k), zero);
        }
    }

    /// Copy the entries with these numbers of a stored diagonal, or of the right-hand side if `run` is the number of diagonals, for the
    /// systems from number `first` on. Lanes without a system repeat the first one.
    #[inline(always)]
    fn stage(&self, systems: &BandSystems<'_, T>, first: usize, (run, entries): (usize, Range<usize>)) {
        let BandSystems { shape, bands, rhs, strides, count, transposed, .. } = *systems;
        let (n, q, of_band) = (self.n, self.q(), shape.strides);
        let live = V::W.min(count - first);
        if run == shape.diagonals() {
            let (i, entries) = (entries.start, entries.start..n.min(entries.end));
            let from = rhs.as_ptr().wrapping_add(first * strides.lane + i * strides.row);
            self.copy((from, strides), live, (self.row(i, q + 1), entries.len()));
            return;
        }
        // Entry (i, j) of A, on stored diagonal r = upper + i − j, is entry (i, j) or (j, i) of op(A).
        let r = run;
        let columns = entries.start.max(shape.upper.saturating_sub(r))
            ..entries.end.min(n).min((n + shape.upper).saturating_sub(r));
        if columns.is_empty() {
            return;
        }
        let j = columns.start;
        let (row, k) = if transposed { (j, r) } else { (j + r - shape.upper, q - r) };
        let from = bands.as_ptr().wrapping_add(first * of_band.system + j * of_band.column + r * of_band.diagonal);
        let source = (from, Strides { lane: of_band.system, row: of_band.column });
        self.copy(source, live, (self.row(row, k), columns.len()));
    }

    /// Copy `count` scalars of every lane to elements from `to` on, row by row.
    #[inline(always)]
    fn copy(&self, (from, strides): (*const T, Strides), live: usize, (to, count): (usize, usize)) {
        let step = self.q() + 2;
        let mut done = 0;
        if live == V::W && strides.vectors::<T, true>() {
            let together = 4 / Self::REALS;
            done = count / together * together;
            for i in (0..done).step_by(together) {
                // SAFETY: `solve` checked that the rows of all lanes lie inside the array.
                unsafe {
                    let at = from.wrapping_add(i * strides.row).cast::<T::Real>();
                    let columns = vectors::<V>((at, strides), Self::REALS);
                    if strides.row != 1 {
                        for k in 0..together {
                            prefetch(at.wrapping_add((AHEAD + k) * strides.row * Self::REALS));
                        }
                    }
                    for k in 0..together {
                        let element = T::Element::<V>::from_columns(&columns[k * Self::REALS..]);
                        self.store(to + (i + k) * step, element);
                    }
                }
            }
        }
        for i in done..count {
            // SAFETY: as above.
            unsafe { copy_in(from.wrapping_add(i * strides.row), (V::W, live, strides.lane), self.at(to + i * step)) }
        }
    }

    /// Multiply row `i` by `by`, or by the power of two that brings its largest entry in \[2, 4).
    #[inline(always)]
    fn scale_row(&self, i: usize, by: Option<V>, conj: bool) {
        let q = self.q();
        let by = match by {
            Some(by) => by,
            None => self.largest_in_row(i).equilibrate(),
        };
        for k in 0..=q {
            let value = self.load(self.row(i, k)).scale(by);
            self.store(self.row(i, k), if T::COMPLEX && conj { value.conj() } else { value });
        }
        self.store(self.row(i, q + 1), self.load(self.row(i, q + 1)).scale(by));
    }

    #[inline(always)]
    fn largest_in_row(&self, i: usize) -> V {
        let mut largest = V::splat(T::Real::ZERO);
        for k in 0..=self.q() {
            largest = self.load(self.row(i, k)).abs1().max(largest);
        }
        largest
    }

    /// Solve the systems of the tile. Returns the judged gaps and the sizes of large x.
    #[inline(always)]
    fn solve(&self, how: &BandOptions<T::Real>, conj: bool) -> (V, V) {
        let mut by = None;
        if how.scaling == Scaling::Partition {
            let mut largest = V::splat(T::Real::ZERO);
            for i in 0..self.n {
                largest = largest.max(self.largest_in_row(i));
            }
            by = Some(largest.equilibrate());
        }
        let mut least = Least::new();
        self.eliminate(how.choice, (by, conj), &mut least);
        let mut check = Check::<V>::new(T::Real::ZERO);
        self.substitute(how.verify, &mut check);
        if how.verify {
            (check.judged_gap(&least), check.size_if_large(self.q() + 1))
        } else {
            (least.judge(check.gap()), V::splat(T::Real::ZERO))
        }
    }

    /// Compute the pivot rows. Write y to the elements of x.
    #[inline(always)]
    fn eliminate(&self, choice: BlockPivots<T::Real>, (by, conj): (Option<V>, bool), least: &mut Least<V>) {
        const { assert!(BATCH_DIAGONALS < PANEL_ROWS) };
        let (n, lower, q) = (self.n, self.lower(), self.q());
        let zero = T::Element::<V>::splat(T::Real::ZERO);
        // Column j of the carried rows c … c + lower − 1 holds their entries in column c + j.
        let mut carried = [[const { MaybeUninit::<T::Element<V>>::uninit() }; BATCH_DIAGONALS]; 2 * BATCH_DIAGONALS];
        let mut carried_rhs = [const { MaybeUninit::<T::Element<V>>::uninit() }; BATCH_DIAGONALS];
        for r in 0..lower {
            if r < n {
                self.scale_row(r, by, conj);
            }
            for j in 0..q {
                let inside = r < n && j + lower <= q + r;
                carried[j][r].write(if inside { self.load(self.row(r, j + lower - r)) } else { zero });
            }
            carried_rhs[r].write(if r < n { self.load(self.row(r, q + 1)) } else { zero });
        }
        let mut largest = V::splat(T::Real::ONE);
        for c in 0..n {
            let i = c + lower;
            if i < n {
                self.scale_row(i, by, conj);
            }
            let mut step = PanelStep::<T, V, L, true>::NONE;
            let mut column: PanelColumn<T, V> = [const { MaybeUninit::uninit() }; PANEL_ROWS];
            column[..lower].copy_from_slice(&carried[0][..lower]);
            column[lower].write(self.entering(i, 0));
            let recip = step.choose(lower, 0, choice, &mut column);
            largest = recip.abs1().max(largest);
            // SAFETY: `solve` checked that there is memory for all pivot rows.
            unsafe { recip.store(self.pivot(c, 0)) }
            for j in 1..=q {
                for r in 0..lower {
                    column[r] = if j < q { carried[j][r] } else { MaybeUninit::new(zero) };
                }
                column[lower].write(self.entering(i, j));
                step.apply(lower, 0, &mut column);
                // SAFETY: as above; `apply` wrote the column.
                unsafe { column[0].assume_init().store(self.pivot(c, j)) }
                carried[j - 1][..lower].copy_from_slice(&column[1..=lower]);
            }
            column[..lower].copy_from_slice(&carried_rhs[..lower]);
            column[lower].write(self.entering(i, q + 1));
            step.apply(lower, 0, &mut column);
            // SAFETY: `apply` wrote the column.
            self.store(self.x(c, lower), unsafe { column[0].assume_init() });
            carried_rhs[..lower].copy_from_slice(&column[1..=lower]);
        }
        least.see_size(largest.recip());
    }

    /// Entry `k` of row `i`, zero beyond the last row.
    #[inline(always)]
    fn entering(&self, i: usize, k: usize) -> T::Element<V> {
        if i < self.n { self.load(self.row(i, k)) } else { T::Element::<V>::splat(T::Real::ZERO) }
    }

    /// Compute x upwards, and the residual of each row whose unknowns are known.
    #[inline(always)]
    fn substitute(&self, verify: bool, check: &mut Check<V>) {
        let (n, lower, q) = (self.n, self.lower(), self.q());
        for c in (0..n).rev() {
            let mut sum = self.load(self.x(c, lower));
            for j in (1..=q).rev() {
                // SAFETY: `eliminate` wrote the pivot row.
                let entry = unsafe { T::Element::<V>::load(self.pivot(c, j)) };
                sum = entry.neg_mul_add(self.load(self.x(c, lower + j)), sum);
            }
            // SAFETY: as above.
            let x = sum * unsafe { T::Element::<V>::load(self.pivot(c, 0)) };
            self.store(self.x(c, lower), x);
            check.see_x(x.measure());
            if verify && c + lower < n {
                self.check_row(c + lower, check);
            }
        }
        if verify {
            for i in 0..lower.min(n) {
                self.check_row(i, check);
            }
        }
    }

    /// Add the residual of row `i`.
    #[inline(always)]
    fn check_row(&self, i: usize, check: &mut Check<V>) {
        let rhs = self.load(self.row(i, self.q() + 1));
        let (mut residual, mut sum) = (rhs, V::splat(T::Real::ZERO));
        for k in 0..=self.q() {
            let entry = self.load(self.row(i, k));
            residual = entry.neg_mul_add(self.load(self.x(i, k)), residual);
            sum = sum + entry.measure();
        }
        check.see_row(residual.measure(), sum, rhs.measure());
    }

    /// Copy these rows of x of the first `live` lanes to `out`, which begins with the first row.
    #[inline(always)]
    fn write(&self, (out, strides): (*mut T, Strides), live: usize, rows: Range<usize>) {
        let mut done = rows.start;
        if live == V::W && strides.vectors::<T, true>() {
            let together = 4 / Self::REALS;
            done += rows.len() / together * together;
            for i in (rows.start..done).step_by(together) {
                // SAFETY: `solve` checked that all rows lie inside the array.
                unsafe {
                    let x = self.at(self.x(i, self.lower()));
                    let columns =
                        [V::load(x), V::load(x.add(V::W)), V::load(x.add(2 * V::W)), V::load(x.add(3 * V::W))];
                    let out = out.wrapping_add(i * strides.row).cast::<T::Real>();
                    if strides.row == 1 {
                        V::store_columns(columns, out, strides.lane * Self::REALS);
                    } else {
                        for (k, column) in columns.into_iter().enumerate() {
                            column.store(out.add(k * strides.row));
                        }
                    }
                }
            }
        }
        for i in done..rows.end {
            let x = self.at(self.x(i, self.lower()));
            // SAFETY: as above.
            unsafe { copy_out(x, (V::W, live), out.wrapping_add(i * strides.row), strides.lane) }
        }
    }
}
