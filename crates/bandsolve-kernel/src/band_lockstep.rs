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
//!
//! Hermitian positive definite matrices are eliminated without row exchanges, A = Uᴴ·D⁻¹·U with D the diagonal of U. Only the entries on the main
//! diagonal and above are read:
//!
//! ```text
//! a[r, j] ← a[r, j] − conj(u[c, r])·u[c, j]/d[c]     for c < r ≤ j ≤ c + upper
//! ```
//!
//! Cost per row: upper·(upper + 5)/2 multiplications and additions for the solution and 2·upper for its check, 1 reciprocal; upper + 2 words
//! read and 1 written.

use super::Job;
use super::band_form::{BandForm, BandRun, StoredAs};
use super::blocks::BlockPivots;
use super::blocks::panel_step::{PANEL_ROWS, PanelColumn, PanelStep};
use super::lockstep::Shared;
use super::prefetch::{CACHE_LINE_BYTES, prefetch};
use super::sweep::{Check, Least};
use super::tile::{Scaling, Strides, copy_in, copy_out, load_vectors, store_vectors};
use crate::job::kernel;
use crate::lanes::PairedLanes;
use crate::number::{Element, Lanes, MAX_LANES, Scalar, lanes_of};
use crate::simd::Simd;
use crate::tuning::{BATCH_DIAGONALS, TOGETHER_BYTES, TOGETHER_ROW_BYTES};
use core::mem::MaybeUninit;

/// Distance, in rows, over which interleaved entries are prefetched.
const AHEAD: usize = 16;

/// Systems in memory. The first one begins at the beginning of all arrays.
#[derive(Clone, Copy)]
pub struct BandSystems<'a, T> {
    pub form: BandForm<'a>,
    /// The arrays of the matrices, and the distance from one system to the next.
    pub arrays: &'a [&'a [T]],
    pub system: usize,
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
    fn new(form: &BandForm<'_>) -> Self {
        let x = form.n * (form.entries() + 1);
        Self { x, total: x + form.n + 2 * form.q() }
    }

    /// Number of elements of the pivot rows: 1/pivot, and the entries after it.
    fn pivots(form: &BandForm<'_>) -> usize {
        form.n * form.entries()
    }
}

/// Number of systems that are solved together. Each pivot of a positive definite matrix waits for the previous one, and there is little other work. Two
/// vectors therefore take little longer than one.
pub fn group<T: Scalar>(simd: Simd, form: &BandForm<'_>) -> usize {
    let lanes = T::lanes(simd);
    if form.definite && are_paired(lanes) { 2 * lanes } else { lanes }
}

/// Whether two vectors with this number of lanes are used as one.
const fn are_paired(lanes: usize) -> bool {
    2 * lanes <= MAX_LANES
}

/// Number of tiles that are copied together. Interleaved rows of neighboring tiles lie side by side in the same pages and cache lines.
fn tiles<T: Scalar>(simd: Simd, form: &BandForm<'_>, interleaved: bool) -> usize {
    let of_row = group::<T>(simd, form) * size_of::<T>();
    let most = TOGETHER_BYTES / (BandTileLayout::new(form).total * of_row);
    let tiles = if interleaved { (TOGETHER_ROW_BYTES / of_row).min(most).max(1) } else { 1 };
    // Whole cache lines.
    let of_line = (CACHE_LINE_BYTES / of_row).max(1);
    if tiles > of_line { tiles / of_line * of_line } else { tiles }
}

/// Number of reals of memory that a thread needs, for right-hand sides that are interleaved or not.
pub fn memory<T: Scalar>(simd: Simd, form: &BandForm<'_>, interleaved: bool) -> usize {
    let of_tiles = tiles::<T>(simd, form, interleaved) * BandTileLayout::new(form).total;
    let elements = of_tiles + BandTileLayout::pivots(form);
    (elements * group::<T>(simd, form) * size_of::<T>() / size_of::<T::Real>()).next_multiple_of(16)
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
    let BandSystems { form, strides, count, .. } = *systems;
    assert!(form.n > 0 && count > 0 && form.lower.max(form.upper) <= BATCH_DIAGONALS);
    // The transpose of a Hermitian matrix is its conjugate.
    assert!(!form.definite || (form.lower == form.upper && !systems.transposed));
    let end = (count - 1) * strides.lane + (form.n - 1) * strides.row + 1;
    assert!(systems.rhs.len() >= end && first + end <= out.len);
    assert!(form.runs.iter().all(|run| {
        let last = run.last().and_then(|last| last.checked_add((count - 1).checked_mul(systems.system)?));
        last.is_some_and(|last| last < systems.arrays[run.array].len()) && run.is_inside(&form)
    }));
    assert!(form.rows.iter().all(|run| run.last().is_some_and(|last| last < form.n) && run.is_inside(&form)));
    assert!(errors.len() == count && sizes.len() == count);
    let interleaved = strides.row != 1;
    assert!(memory.len() >= self::memory::<T>(simd, &form, interleaved));
    let (tiles, out) = (tiles::<T>(simd, &form, interleaved), out.base.wrapping_add(first));
    BandLockstep { systems: *systems, how, tiles, out, errors, sizes, memory }.run_on(simd)
}

/// The entries of stored numbers.
#[inline(always)]
fn entry<T: Scalar, V: Lanes<Real = T::Real>>(element: T::Element<V>, stored: StoredAs) -> T::Element<V> {
    match stored {
        StoredAs::Conjugate if T::COMPLEX => element.conj(),
        StoredAs::RealPart if T::COMPLEX => {
            T::Element::<V>::from_columns(&[element.columns()[0], V::splat(T::Real::ZERO)])
        }
        _ => element,
    }
}

/// Systems that are copied together: the number of the first one, and how many there are.
#[derive(Clone, Copy)]
struct SystemsTogether {
    first: usize,
    live: usize,
}

impl SystemsTogether {
    /// Number of tiles with `lanes` lanes.
    #[inline(always)]
    fn tiles(self, lanes: usize) -> usize {
        self.live.div_ceil(lanes)
    }

    /// Number of systems in tile `t`.
    #[inline(always)]
    fn of_tile(self, t: usize, lanes: usize) -> usize {
        lanes.min(self.live - t * lanes)
    }
}

/// The places of the numbers of some lines in a tile.
#[derive(Clone, Copy)]
struct TilePlaces {
    /// The place of the first number of the line, and the distance to that of the next line.
    line: usize,
    jump: isize,
    /// The place of the next number, and the distance from one to the next.
    place: usize,
    step: isize,
    /// How many numbers of the line are before the next one, and how many it has.
    done: usize,
    count: usize,
}

impl TilePlaces {
    #[inline(always)]
    fn next(&mut self) -> usize {
        let place = self.place;
        self.done += 1;
        if self.done == self.count {
            self.done = 0;
            self.line = self.line.wrapping_add_signed(self.jump);
            self.place = self.line;
        } else {
            self.place = place.wrapping_add_signed(self.step);
        }
        place
    }
}

pub struct BandLockstep<'a, T: Scalar> {
    systems: BandSystems<'a, T>,
    how: BandOptions<T::Real>,
    /// Number of tiles that are copied together.
    tiles: usize,
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
        let BandForm { lower, upper, definite, .. } = self.systems.form;
        // With constant widths, all rows stay in registers. Such code is compiled for real numbers only, and not for plain arrays.
        let constant = const { !T::COMPLEX && !V::PORTABLE };
        match (definite, lower, upper) {
            (false, 2, 2) if constant => self.sweep::<V, 2, 4, false>(),
            (false, ..) => self.sweep::<V, 0, 0, false>(),
            (true, ..) if const { are_paired(V::W) } => self.definite::<PairedLanes<V>>(constant),
            (true, ..) => self.definite::<V>(constant),
        }
    }
}

impl<T: Scalar> BandLockstep<'_, T> {
    /// Solve with positive definite matrices, with constant widths if there are any and `constant`.
    #[inline(always)]
    fn definite<V: Lanes<Real = T::Real>>(self, constant: bool) -> bool {
        match self.systems.form.upper {
            1 if constant => self.sweep::<V, 1, 2, true>(),
            2 if constant => self.sweep::<V, 2, 4, true>(),
            _ => self.sweep::<V, 0, 0, true>(),
        }
    }

    /// Solve with `L` lower diagonals and `Q` off-diagonals in all (0: any numbers), of positive definite matrices if `D`.
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const L: usize, const Q: usize, const D: bool>(mut self) -> bool {
        let BandSystems { form, strides, count, .. } = self.systems;
        let tiles = self.tile::<V, L, Q, D>();
        let mut large = false;
        let mut first = 0;
        while first < count {
            // Whole tiles first, then the last systems.
            let rest = count - first;
            let whole = (rest / V::W).min(self.tiles) * V::W;
            let some = SystemsTogether { first, live: if whole > 0 { whole } else { rest } };
            for t in 0..some.tiles(V::W) {
                tiles.number(t).clear(form.gaps || form.add);
            }
            for run in form.runs {
                tiles.stage(&self.systems, some, run);
            }
            for run in form.rows {
                tiles.stage_rhs(&self.systems, some, run);
            }
            for t in 0..some.tiles(V::W) {
                let (gap, size) = tiles.number(t).solve(&self.how, self.systems.conj);
                let (first, live) = (first + t * V::W, some.of_tile(t, V::W));
                self.errors[first..first + live].copy_from_slice(&lanes_of(gap)[..live]);
                self.sizes[first..first + live].copy_from_slice(&lanes_of(size)[..live]);
                large |= size.peak().first() > T::Real::ZERO;
            }
            for run in form.rows {
                tiles.write((self.out.wrapping_add(first * strides.lane), strides), some, run);
            }
            first += some.live;
        }
        large
    }

    /// The memory of the first tile.
    #[inline(always)]
    fn tile<V: Lanes<Real = T::Real>, const L: usize, const Q: usize, const D: bool>(
        &mut self,
    ) -> BandTile<T, V, L, Q, D> {
        let form = self.systems.form;
        let at = BandTileLayout::new(&form);
        let (lower, upper) = if self.systems.transposed { (form.upper, form.lower) } else { (form.lower, form.upper) };
        let of_tiles = self.tiles * at.total * T::Element::<V>::REALS * V::W;
        let base = self.memory.as_mut_ptr();
        BandTile {
            base,
            pivots: base.wrapping_add(of_tiles),
            n: form.n,
            lower,
            upper,
            at,
            lanes: core::marker::PhantomData,
        }
    }
}

/// A tile of op(A), with the numbers of diagonals of op(A). If `D`, op(A) is positive definite, and its rows begin with the main diagonal.
struct BandTile<T: Scalar, V: Lanes<Real = T::Real>, const L: usize, const Q: usize, const D: bool> {
    base: *mut T::Real,
    pivots: *mut T::Real,
    n: usize,
    lower: usize,
    upper: usize,
    at: BandTileLayout,
    lanes: core::marker::PhantomData<V>,
}

impl<T: Scalar, V: Lanes<Real = T::Real>, const L: usize, const Q: usize, const D: bool> BandTile<T, V, L, Q, D> {
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

    /// Number of diagonals below the main one that are not stored.
    #[inline(always)]
    fn skipped(&self) -> usize {
        if D { self.lower() } else { 0 }
    }

    /// Number of entries after the pivot in a pivot row.
    #[inline(always)]
    fn after(&self) -> usize {
        self.q() - self.skipped()
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

    /// Entry `k` of row `i`, from the lowest stored diagonal on.
    #[inline(always)]
    fn row(&self, i: usize, k: usize) -> usize {
        i * (self.after() + 2) + k
    }

    /// The right-hand side of row `i`, after the entries.
    #[inline(always)]
    fn rhs(&self, i: usize) -> usize {
        self.row(i, self.after() + 1)
    }

    /// x of row `i`, plus `k` rows, minus `lower` rows.
    #[inline(always)]
    fn x(&self, i: usize, k: usize) -> usize {
        self.at.x + i + k
    }

    /// Entry `j` after the pivot of row `c`. Entry 0 is 1/pivot.
    #[inline(always)]
    fn pivot(&self, c: usize, j: usize) -> *mut T::Real {
        self.pivots.wrapping_add((c * (self.after() + 1) + j) * Self::REALS * V::W)
    }

    /// Set the entries outside of the matrix to zero, and x before and after it. `all`: set the entries of the matrix to zero, too.
    #[inline(always)]
    fn clear(&self, all: bool) {
        let (n, q, zero) = (self.n, self.q(), T::Element::<V>::splat(T::Real::ZERO));
        let (above, below) = match (all, D) {
            (true, _) => (0, n),
            (false, true) => (0, self.upper),
            (false, false) => (self.lower().min(n), self.upper),
        };
        for i in (0..above).chain(n.saturating_sub(below)..n) {
            for k in 0..=self.after() {
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

    /// Tile number `t` of those that are copied together.
    #[inline(always)]
    fn number(&self, t: usize) -> Self {
        let base = self.base.wrapping_add(t * self.at.total * Self::REALS * V::W);
        Self { base, pivots: self.pivots, lanes: self.lanes, ..*self }
    }

    /// Copy a run of op(A). Lanes without a system repeat the first one of their tile.
    #[inline(always)]
    fn stage(&self, systems: &BandSystems<'_, T>, some: SystemsTogether, run: &BandRun) {
        let run = if systems.transposed { run.transposed(&systems.form) } else { *run };
        let from = systems.arrays[run.array].as_ptr().wrapping_add(some.first * systems.system);
        self.stage_from((from, systems.system, 1), some, (&run, systems.form.add));
    }

    /// Copy a run of the right-hand sides.
    #[inline(always)]
    fn stage_rhs(&self, systems: &BandSystems<'_, T>, some: SystemsTogether, run: &BandRun) {
        let (strides, run) = (systems.strides, BandRun { k: self.q() + 1, ..*run });
        let from = systems.rhs.as_ptr().wrapping_add(some.first * strides.lane);
        self.stage_from((from, strides.lane, strides.row), some, (&run, false));
    }

    /// Copy a run, whose indices are counted in `unit` numbers.
    #[inline(always)]
    fn stage_from(
        &self,
        (from, lane, unit): (*const T, usize, usize),
        some: SystemsTogether,
        (run, add): (&BandRun, bool),
    ) {
        let row_step = (self.after() + 2) as isize;
        let step = run.step_row * row_step + run.step_k;
        // Lines without gaps between them are one line, in which the places jump after each of them.
        let joined = run.outer_stride == run.count && run.stride == 1 && unit == 1 && !add;
        let (outer, lines) = if joined { (1, run.outer) } else { (run.outer, 1) };
        for o in 0..outer {
            let (index, row, k) = run.place(o, 0);
            let source = (from.wrapping_add(index * unit), Strides { lane, row: run.stride * unit });
            let jump = run.outer_row * row_step + run.outer_k;
            let place = self.row(row, k - self.skipped());
            let to = TilePlaces { line: place, jump, place, step, done: 0, count: run.count };
            if add {
                self.add(source, some, (to, run.stored));
            } else {
                self.copy(source, some, (to, lines * run.count, run.stored));
            }
        }
    }

    /// Copy `count` scalars of every lane.
    #[inline(always)]
    fn copy(
        &self,
        (from, strides): (*const T, Strides),
        some: SystemsTogether,
        (mut to, count, stored): (TilePlaces, usize, StoredAs),
    ) {
        let tiles = some.tiles(V::W);
        let mut done = 0;
        if some.live == tiles * V::W && strides.vectors::<true>() {
            let together = 4 / Self::REALS;
            done = count / together * together;
            for i in (0..done).step_by(together) {
                let at = from.wrapping_add(i * strides.row);
                let places: [usize; 4] = core::array::from_fn(|k| if k < together { to.next() } else { 0 });
                for t in 0..tiles {
                    let (at, tile) = (at.wrapping_add(t * V::W * strides.lane), self.number(t));
                    if strides.row != 1 {
                        for k in 0..together {
                            prefetch(at.wrapping_add((AHEAD + k) * strides.row));
                        }
                    }
                    // SAFETY: `solve` checked that the numbers of all lanes lie inside the array.
                    let columns = unsafe { load_vectors::<T, V>((at, strides)) };
                    for (k, place) in places[..together].iter().enumerate() {
                        let element = T::Element::<V>::from_columns(&columns[k * Self::REALS..]);
                        tile.store(*place, entry::<T, V>(element, stored));
                    }
                }
            }
        }
        for i in done..count {
            let place = to.next();
            for t in 0..tiles {
                let (tile, live) = (self.number(t), some.of_tile(t, V::W));
                let at = from.wrapping_add(i * strides.row + t * V::W * strides.lane);
                // SAFETY: as above.
                unsafe { copy_in(at, (V::W, live, strides.lane), tile.at(place)) }
                if T::COMPLEX && stored != StoredAs::Entry {
                    tile.store(place, entry::<T, V>(tile.load(place), stored));
                }
            }
        }
    }

    /// Add the scalars of a line of every lane.
    #[inline(always)]
    fn add(
        &self,
        (from, strides): (*const T, Strides),
        some: SystemsTogether,
        (mut to, stored): (TilePlaces, StoredAs),
    ) {
        for i in 0..to.count {
            let place = to.next();
            for t in 0..some.tiles(V::W) {
                let (tile, live) = (self.number(t), some.of_tile(t, V::W));
                let at = from.wrapping_add(i * strides.row + t * V::W * strides.lane);
                // SAFETY: as in `copy`. There are no pivot rows yet.
                let number = unsafe {
                    copy_in(at, (V::W, live, strides.lane), self.pivots);
                    T::Element::<V>::load(self.pivots)
                };
                tile.store(place, tile.load(place) + entry::<T, V>(number, stored));
            }
        }
    }

    /// Multiply row `i` by `by`, or by the power of two that brings its largest entry in \[2, 4).
    #[inline(always)]
    fn scale_row(&self, i: usize, by: Option<V>, conj: bool) {
        let by = match by {
            Some(by) => by,
            None => self.largest_in_row(i).equilibrate(),
        };
        for k in 0..=self.after() {
            let value = self.load(self.row(i, k)).scale(by);
            self.store(self.row(i, k), if T::COMPLEX && conj { value.conj() } else { value });
        }
        self.store(self.rhs(i), self.load(self.rhs(i)).scale(by));
    }

    #[inline(always)]
    fn largest_in_row(&self, i: usize) -> V {
        let mut largest = V::splat(T::Real::ZERO);
        // No entry of a positive definite matrix is larger than the largest one on the diagonal.
        for k in 0..=if D { 0 } else { self.q() } {
            largest = self.load(self.row(i, k)).abs1().max(largest);
        }
        largest
    }

    /// Solve the systems of the tile. Returns the judged gaps and the sizes of large x.
    #[inline(always)]
    fn solve(&self, how: &BandOptions<T::Real>, conj: bool) -> (V, V) {
        let mut by = None;
        if D || how.scaling == Scaling::Partition {
            let mut largest = V::splat(T::Real::ZERO);
            for i in 0..self.n {
                largest = largest.max(self.largest_in_row(i));
            }
            by = Some(largest.equilibrate());
        }
        let mut least = Least::new();
        if D {
            self.eliminate_definite((by, conj), &mut least);
        } else {
            self.eliminate(how.choice, (by, conj), &mut least);
        }
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
            carried_rhs[r].write(if r < n { self.load(self.rhs(r)) } else { zero });
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
            column[lower].write(self.entering(i, self.after() + 1));
            step.apply(lower, 0, &mut column);
            // SAFETY: `apply` wrote the column.
            self.store(self.x(c, lower), unsafe { column[0].assume_init() });
            carried_rhs[..lower].copy_from_slice(&column[1..=lower]);
        }
        least.see_size(largest.recip());
    }

    /// Compute the pivot rows of positive definite matrices. Write y to the elements of x. In lanes with a pivot that is not positive, `least`
    /// becomes 0.
    #[inline(always)]
    fn eliminate_definite(&self, (by, conj): (Option<V>, bool), least: &mut Least<V>) {
        let (n, width) = (self.n, self.lower());
        let (zero, one) = (V::splat(T::Real::ZERO), V::splat(T::Real::ONE));
        // Entry [r][j], r ≤ j, is that of row c + r in column c + j. Column j = width and row r = width enter in step c.
        let mut carried =
            [[const { MaybeUninit::<T::Element<V>>::uninit() }; BATCH_DIAGONALS + 1]; BATCH_DIAGONALS + 1];
        let mut carried_rhs = [const { MaybeUninit::<T::Element<V>>::uninit() }; BATCH_DIAGONALS + 1];
        for r in 0..width {
            if r < n {
                self.scale_row(r, by, conj);
            }
            for j in r..width {
                carried[r][j].write(self.entering(r, j - r));
            }
            carried_rhs[r].write(self.entering(r, width + 1));
        }
        let mut positive = one;
        for c in 0..n {
            if c + width < n {
                self.scale_row(c + width, by, conj);
            }
            for r in 0..=width {
                carried[r][width].write(self.entering(c + r, width - r));
            }
            carried_rhs[width].write(self.entering(c + width, width + 1));
            let pivot_row = carried[0];
            // SAFETY: here and below, all entries [r][j] with r ≤ j ≤ width were written.
            let (first, y) = unsafe { (pivot_row[0].assume_init(), carried_rhs[0].assume_init()) };
            let pivot = first.columns()[0];
            let recip = pivot.recip();
            positive = V::select(pivot.gt(zero), positive, zero);
            // SAFETY: here and below, `solve` checked that there is memory for all pivot rows.
            unsafe { T::Element::<V>::from_columns(&[recip, zero]).store(self.pivot(c, 0)) }
            self.store(self.x(c, width), y);
            for r in 1..=width {
                // SAFETY: see above.
                let (above, rhs) = unsafe { (pivot_row[r].assume_init(), carried_rhs[r].assume_init()) };
                // SAFETY: see above.
                unsafe { above.store(self.pivot(c, r)) }
                let factor = above.conj().scale(recip);
                for j in r..=width {
                    // SAFETY: see above.
                    let (above, entry) = unsafe { (pivot_row[j].assume_init(), carried[r][j].assume_init()) };
                    carried[r - 1][j - 1].write(factor.neg_mul_add(above, entry));
                }
                carried_rhs[r - 1].write(factor.neg_mul_add(y, rhs));
            }
        }
        least.see_size(positive);
    }

    /// Entry `k` of row `i`, zero beyond the last row.
    #[inline(always)]
    fn entering(&self, i: usize, k: usize) -> T::Element<V> {
        if i < self.n { self.load(self.row(i, k)) } else { T::Element::<V>::splat(T::Real::ZERO) }
    }

    /// Compute x upwards, and the residual of each row whose unknowns are known.
    #[inline(always)]
    fn substitute(&self, verify: bool, check: &mut Check<V>) {
        let (n, lower) = (self.n, self.lower());
        for c in (0..n).rev() {
            let mut sum = self.load(self.x(c, lower));
            for j in (1..=self.after()).rev() {
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
        let rhs = self.load(self.rhs(i));
        let (mut residual, mut sum) = (rhs, V::splat(T::Real::ZERO));
        for k in 0..=self.after() {
            let entry = self.load(self.row(i, k));
            residual = entry.neg_mul_add(self.load(self.x(i, k + self.skipped())), residual);
            sum = sum + entry.measure();
        }
        // Entries below the main diagonal are those above it in earlier rows.
        for k in 1..=self.skipped().min(i) {
            let entry = self.load(self.row(i - k, k)).conj();
            residual = entry.neg_mul_add(self.load(self.x(i - k, self.lower())), residual);
            sum = sum + entry.measure();
        }
        check.see_row(residual.measure(), sum, rhs.measure());
    }

    /// Copy the rows of x in a run to `out`.
    #[inline(always)]
    fn write(&self, (out, strides): (*mut T, Strides), some: SystemsTogether, run: &BandRun) {
        let tiles = some.tiles(V::W);
        for o in 0..run.outer {
            let (index, row, _) = run.place(o, 0);
            let out = out.wrapping_add(index * strides.row);
            let x = |t: usize, i: usize| {
                let place = self.x(row.wrapping_add_signed(run.step_row * i as isize), self.lower());
                self.number(t).at(place)
            };
            let step = run.stride * strides.row;
            let to = Strides { row: step, ..strides };
            let mut done = 0;
            if some.live == tiles * V::W && to.vectors::<true>() {
                let together = 4 / Self::REALS;
                done = run.count / together * together;
                for (i, t) in (0..done).step_by(together).flat_map(|i| (0..tiles).map(move |t| (i, t))) {
                    // SAFETY: `solve` checked that all rows lie inside the array.
                    unsafe {
                        let column = |k: usize| V::load(x(t, i + k / Self::REALS).add(k % Self::REALS * V::W));
                        let columns = [column(0), column(1), column(2), column(3)];
                        let out = out.wrapping_add(i * step + t * V::W * strides.lane);
                        store_vectors::<T, V>(columns, (out, to));
                    }
                }
            }
            for (i, t) in (done..run.count).flat_map(|i| (0..tiles).map(move |t| (i, t))) {
                let to = out.wrapping_add(i * step + t * V::W * strides.lane);
                // SAFETY: as above.
                unsafe { copy_out(x(t, i), (V::W, some.of_tile(t, V::W)), to, strides.lane) }
            }
        }
    }
}
