//! Elimination through a tile of block rows.
//!
//! A panel has 2b rows. The first b rows are the carried equations, and the others are the next block row. The columns
//! of a panel are
//!
//! - `near`, the b unknowns that are eliminated,
//! - `next` and `after`, the b unknowns of each of the next two blocks,
//! - the right-hand sides,
//! - in `reduce`, `spike`, the b unknowns at the far end of the partition.

use super::super::prefetch::Prefetcher;
use super::super::sweep::{CHECK_VECTORS, COMPLEX_SLACK, Check, Least, MAX_RHS, read_check};
use super::super::tile_runs::{CheckResult, Span};
use super::panel_step::{PANEL_ROWS, PanelColumn, PanelStep};
use super::stage::Tile;
use super::system::{BlockPivots, BlockTarget, Task};
use crate::number::{Element, Lanes, MAX_LANES, Scalar};
use crate::tuning::SMALL_BLOCK_MAX;
use core::mem::MaybeUninit;

/// The direction of a walk: the indices of the blocks behind, on and ahead of the diagonal, among the blocks left of,
/// on and right of it.
#[derive(Clone, Copy)]
struct Walk {
    behind: usize,
    ahead: usize,
}

const DOWN: Walk = Walk { behind: 0, ahead: 2 };
const UP: Walk = Walk { behind: 2, ahead: 0 };
const ON_DIAGONAL: usize = 1;

/// Groups of columns of the panel after `near`.
const NEXT: usize = 0;
const AFTER: usize = 1;
const RHS: usize = 2;
const SPIKE: usize = 3;

/// Where the entries of a column are stored.
#[derive(Clone, Copy)]
struct ColumnPlace {
    /// Index of the first entry.
    at: usize,
    /// Distance from one entry to the next.
    step: isize,
}

impl ColumnPlace {
    #[inline(always)]
    fn row(self, r: usize) -> usize {
        self.at.wrapping_add_signed(r as isize * self.step)
    }

    /// Column `c` of the block that begins here, with the distance `stride` between columns. Rows and columns are
    /// counted from the last one if `from_last`.
    #[inline(always)]
    fn counted(self, b: usize, from_last: bool, (c, stride): (usize, usize)) -> ColumnPlace {
        if from_last {
            // A right-hand side has only one column.
            let column = if stride == 0 { 0 } else { b - 1 - c };
            ColumnPlace { at: self.row(b - 1) + column * stride, step: -self.step }
        } else {
            ColumnPlace { at: self.at + c * stride, step: self.step }
        }
    }
}

/// Where the next b equations are stored.
struct More {
    /// Their blocks of the unknowns `near`, `next` and `after`.
    blocks: [usize; 3],
    /// Distances from row to row of a block, and from column to column.
    strides: (usize, usize),
    rhs: usize,
    rhs_stride: usize,
    /// Whether rows and unknowns are counted from the last one.
    from_last: bool,
    /// Whether, in this order, the block of `near` is upper triangular and that of `after` lower triangular.
    banded: bool,
}

impl More {
    /// Column `c` of block `k`.
    #[inline(always)]
    fn block(&self, b: usize, k: usize, c: usize) -> ColumnPlace {
        let place = ColumnPlace { at: self.blocks[k], step: self.strides.0 as isize };
        place.counted(b, self.from_last, (c, self.strides.1))
    }

    /// Right-hand side `s`.
    #[inline(always)]
    fn rhs(&self, b: usize, s: usize) -> ColumnPlace {
        ColumnPlace { at: self.rhs + s * self.rhs_stride, step: 1 }.counted(b, self.from_last, (0, 0))
    }
}

impl<T: Scalar, V: Lanes<Real = T::Real>, const B: usize> Tile<T, V, B> {
    /// Index of row r, column w of the panel.
    #[inline(always)]
    fn panel(&self, r: usize, w: usize) -> usize {
        self.at.panel + w * 2 * self.b() + r
    }

    /// Index of entry r of right-hand side s of block row j.
    #[inline(always)]
    fn rhs(&self, j: usize, s: usize, r: usize) -> usize {
        self.at.rhs + (s * self.m + j) * self.b() + r
    }

    /// Set rows `first .. first + b` of the panel to zero in the columns of block `w`.
    #[inline(always)]
    fn clear(&self, first: usize, w: usize) {
        let b = self.b();
        for c in 0..b {
            for r in 0..b {
                self.store(self.panel(first + r, w + c), self.zero);
            }
        }
    }

    /// Copy block `k` of block row `j` to rows `first ..` and columns `w ..` of the panel.
    #[inline(always)]
    fn lay(&self, (j, k): (usize, usize), first: usize, w: usize) {
        let b = self.b();
        for c in 0..b {
            for r in 0..b {
                self.store(self.panel(first + r, w + c), self.entry((j, k), r, c));
            }
        }
    }

    /// Copy the right-hand sides of block row `j`.
    #[inline(always)]
    fn lay_rhs(&self, j: usize, first: usize) {
        let b = self.b();
        for s in 0..self.n_rhs {
            for r in 0..b {
                self.store(self.panel(first + r, 3 * b + s), self.load(self.rhs(j, s, r)));
            }
        }
    }

    /// Subtract block `k` of block row `j` times the unknowns `x` from the right-hand sides in the panel.
    #[inline(always)]
    fn move_known(&self, (j, k): (usize, usize), first: usize, x: usize) {
        let b = self.b();
        for s in 0..self.n_rhs {
            for r in 0..b {
                let at = self.panel(first + r, 3 * b + s);
                let mut sum = self.load(at);
                for c in 0..b {
                    sum = self.entry((j, k), r, c).neg_mul_add(self.load(self.x(s, x, c)), sum);
                }
                self.store(at, sum);
            }
        }
    }

    /// One step: eliminate the first b unknowns between the carried equations and the next b rows.
    ///
    /// The pivots are the largest candidates, or those on the diagonal if rows may not be exchanged. The remaining
    /// equations are carried on, where `next` becomes `near` and `after` becomes `next`. The pivot rows are stored as
    /// those of unknown block `keep`.
    #[inline(always)]
    fn step(&self, more: &More, choice: BlockPivots<T::Real>, spike: bool, keep: Option<usize>) {
        // With a constant block size, loops are unrolled. Such code is compiled for real numbers only, and not for
        // plain arrays. Larger blocks gain less and take minutes to compile.
        let small = const { B == 0 && !T::COMPLEX && !V::PORTABLE };
        match (self.b(), more.banded) {
            (3, true) if small => self.step_of::<3, true>(more, choice, spike, keep),
            (3, false) if small => self.step_of::<3, false>(more, choice, spike, keep),
            (4, true) if small => self.step_of::<4, true>(more, choice, spike, keep),
            (4, false) if small => self.step_of::<4, false>(more, choice, spike, keep),
            (8, true) if small => self.step_of::<8, true>(more, choice, spike, keep),
            (_, true) => self.step_of::<B, true>(more, choice, spike, keep),
            (_, false) => self.step_of::<B, false>(more, choice, spike, keep),
        }
    }

    /// The step for blocks of `N` rows (0: any size). All eliminations are applied to one column after the other.
    ///
    /// `BAND`: the block of `near` is upper triangular, and that of `after` is lower triangular. There are then b
    /// candidates in addition to the pivot row, instead of up to 2b − 1, and half of the eliminations do not reach
    /// `after`. In an upward walk, the triangles are exchanged, and rows and unknowns of all blocks are counted from
    /// the last one.
    #[inline(always)]
    fn step_of<const N: usize, const BAND: bool>(
        &self,
        more: &More,
        choice: BlockPivots<T::Real>,
        spike: bool,
        keep: Option<usize>,
    ) {
        let b = if N == 0 { self.b() } else { N };
        let mut steps = [const { PanelStep::<T, V, N, BAND>::NONE }; SMALL_BLOCK_MAX];
        for c in 0..b {
            let mut column = self.column::<N>([self.carried(more, c), more.block(b, 0, c)]);
            for p in 0..c {
                steps[p].apply(b, p, &mut column);
            }
            let recip = steps[c].choose(b, c, choice, &mut column);
            if let Some(j) = keep {
                let width = 3 * b + self.n_rhs;
                for r in 0..c {
                    // SAFETY: `column` filled this entry in.
                    self.store(self.pivots(j, width, (r, c)), unsafe { column[r].assume_init() });
                }
                self.store(self.pivots(j, width, (c, c)), recip);
            }
        }
        let far = if spike { b } else { 0 };
        if N == 2 {
            self.group(&steps, more, (NEXT, b), keep);
            self.group(&steps, more, (AFTER, b), keep);
            self.group(&steps, more, (RHS, self.n_rhs), keep);
            self.group(&steps, more, (SPIKE, far), keep);
        } else {
            // A single call for all groups, because the inlined code takes long to compile.
            for (group, count) in [b, b, self.n_rhs, far].into_iter().enumerate() {
                self.group(&steps, more, (group, count), keep);
            }
        }
    }

    /// Apply all eliminations to the columns of a group. The carried equations have no entries in `after`, and the
    /// other equations have none at the far end of the partition.
    #[inline(always)]
    fn group<const N: usize, const BAND: bool>(
        &self,
        steps: &[PanelStep<T, V, N, BAND>; SMALL_BLOCK_MAX],
        more: &More,
        (group, count): (usize, usize),
        keep: Option<usize>,
    ) {
        let b = if N == 0 { self.b() } else { N };
        let none = ColumnPlace { at: self.at.zero, step: 0 };
        for c in 0..count {
            let (from, top, bottom, to) = match group {
                NEXT => (0, self.carried(more, b + c), more.block(b, 1, c), self.carried(more, c)),
                AFTER => (if BAND { c } else { 0 }, none, more.block(b, 2, c), self.carried(more, b + c)),
                RHS => (0, self.carried_rhs(more, c), more.rhs(b, c), self.carried_rhs(more, c)),
                _ => {
                    let at = self.carried_rhs(more, self.n_rhs + c);
                    (0, at, none, at)
                }
            };
            self.pass(steps, from, [top, bottom], to, (keep, b + group * b + c));
        }
    }

    /// Apply the eliminations from number `from` on to one column. The remainder is written to `to`. The pivot rows are
    /// stored as column `keep.1` of those of an unknown block.
    #[inline(always)]
    fn pass<const N: usize, const BAND: bool>(
        &self,
        steps: &[PanelStep<T, V, N, BAND>; SMALL_BLOCK_MAX],
        from: usize,
        places: [ColumnPlace; 2],
        to: ColumnPlace,
        keep: (Option<usize>, usize),
    ) {
        let b = if N == 0 { self.b() } else { N };
        let mut column = self.column::<N>(places);
        for p in 0..b {
            if p >= from {
                steps[p].apply(b, p, &mut column);
            }
        }
        for r in 0..b {
            // SAFETY: `column` filled this entry in.
            self.store(to.row(r), unsafe { column[b + r].assume_init() });
        }
        if let (Some(j), w) = keep {
            for r in 0..b {
                // SAFETY: as above.
                self.store(self.pivots(j, 3 * b + self.n_rhs, (r, w)), unsafe { column[r].assume_init() });
            }
        }
    }

    /// Column `c` of unknown block `near` (or, from b on, `next`) of the carried equations.
    #[inline(always)]
    fn carried(&self, more: &More, c: usize) -> ColumnPlace {
        let b = self.b();
        ColumnPlace { at: self.panel(0, c - c % b), step: 1 }.counted(b, more.from_last, (c % b, 2 * b))
    }

    /// Column `s` after those of the unknowns.
    #[inline(always)]
    fn carried_rhs(&self, more: &More, s: usize) -> ColumnPlace {
        let b = self.b();
        ColumnPlace { at: self.panel(0, 3 * b + s), step: 1 }.counted(b, more.from_last, (0, 0))
    }

    /// A column: b carried entries, then b more.
    #[inline(always)]
    fn column<const N: usize>(&self, [top, bottom]: [ColumnPlace; 2]) -> PanelColumn<T, V> {
        let b = if N == 0 { self.b() } else { N };
        let mut column = [const { MaybeUninit::uninit() }; PANEL_ROWS];
        for r in 0..b {
            column[r].write(self.load(top.row(r)));
            column[b + r].write(self.load(bottom.row(r)));
        }
        column
    }

    /// Eliminate through the partitions.
    ///
    /// With `reduce`, the inner unknowns are eliminated from both ends. One equation remains for the last unknowns
    /// (`ends` 1) and one for the first unknowns (`ends` 0). Otherwise, one downward pass with known ends solves for
    /// the inner unknowns. A single loop serves all cases, because the inlined code takes long to compile.
    #[inline(always)]
    pub fn eliminate_inside(
        &self,
        choice: BlockPivots<T::Real>,
        reduce: bool,
        least: &mut Least<V>,
        prefetcher: &mut Prefetcher,
    ) {
        let (b, m) = (self.b(), self.m);
        for pass in 0..2 {
            // The second pass of `substitute` has only one step.
            let (walk, steps) = if reduce {
                (if pass == 0 { DOWN } else { UP }, 1..m)
            } else {
                (DOWN, 1..if pass == 0 { m } else { 3.min(m) })
            };
            for step in steps {
                let j = if walk.behind == 0 { step } else { m - 1 - step };
                prefetcher.prefetch_next();
                if step == 1 {
                    match (reduce, pass) {
                        (true, _) => self.lay_row(walk, j),
                        (false, 0) => self.lay_known_row(j, 0),
                        (false, _) => self.lay_first_row(0),
                    }
                    continue;
                }
                let inside = reduce || (pass == 0 && step + 2 < m);
                if !inside {
                    match pass {
                        0 => self.lay_known_row(j, b),
                        _ => self.lay_first_row(b),
                    }
                }
                let more = if inside { self.row(walk, j) } else { self.laid(pass == 0) };
                self.step(&more, choice, reduce, if reduce { None } else { Some(step - 1) });
                if inside && !reduce {
                    self.see_equations(self.panel(0, 0), (b, 2 * b), 2 * b, least);
                }
            }
            // No closure, because it would be compiled without the instruction set.
            if reduce {
                self.keep_end(walk);
                let ends = self.at.ends + if walk.behind == 0 { self.ends_len() } else { 0 };
                self.see_equations(ends, (b, b), 3 * b, least);
            } else {
                let last = if pass == 0 { m } else { 3.min(m) };
                for j in (1..last - 1).rev() {
                    self.back_substitute(j);
                }
            }
        }
    }

    /// Copy block row `j`, and its block at the far end of the partition, to the carried equations.
    #[inline(always)]
    fn lay_row(&self, walk: Walk, j: usize) {
        let b = self.b();
        self.lay_rhs(j, 0);
        self.lay((j, walk.behind), 0, 3 * b + self.n_rhs);
        self.lay((j, ON_DIAGONAL), 0, 0);
        self.lay((j, walk.ahead), 0, b);
    }

    /// Block row `j` at its place in the staged tile.
    #[inline(always)]
    fn row(&self, walk: Walk, j: usize) -> More {
        let b = self.b();
        let block = j * b * b;
        let at = self.at.blocks;
        let blocks = [at[walk.behind] + block, at[ON_DIAGONAL] + block, at[walk.ahead] + block];
        let (from_last, rhs) = (walk.behind > 0, self.rhs(j, 0, 0));
        More { blocks, strides: self.strides, rhs, rhs_stride: self.m * b, from_last, banded: self.banded }
    }

    /// The rows that were copied to the panel, in a downward walk. They are not triangular if they come before the
    /// carried ones.
    #[inline(always)]
    fn laid(&self, in_order: bool) -> More {
        let b = self.b();
        let blocks = [self.panel(b, 0), self.panel(b, b), self.panel(b, 2 * b)];
        let (rhs, banded) = (self.panel(b, 3 * b), self.banded && in_order);
        More { blocks, strides: (1, 2 * b), rhs, rhs_stride: 2 * b, from_last: false, banded }
    }

    /// Copy block row `j` of a downward walk to rows `first ..` of the panel: 0 for the carried equations, b for the
    /// next row.
    ///
    /// The ends of the partition are known, so their contributions are moved to the right-hand sides.
    #[inline(always)]
    fn lay_known_row(&self, j: usize, first: usize) {
        let (b, m) = (self.b(), self.m);
        self.lay_rhs(j, first);
        let [left, on, right] = if first == 0 { [2 * b, 0, b] } else { [0, b, 2 * b] };
        for (k, w, inside) in [(0, left, j > 1), (1, on, j + 1 < m), (2, right, j + 2 < m)] {
            if inside {
                self.lay((j, k), first, w);
            } else {
                self.move_known((j, k), first, j + k);
                self.clear(first, w);
            }
        }
    }

    /// Prepare the solution for the unknowns next to the first ones, with all others known.
    ///
    /// The candidates are their pivot rows (`first` 0) and the first row of the partition (b), which the elimination
    /// omits. If the first row has larger coefficients, it corrects the effect of an error in the first unknowns.
    #[inline(always)]
    fn lay_first_row(&self, first: usize) {
        let (b, width) = (self.b(), 3 * self.b() + self.n_rhs);
        self.clear(first, b);
        self.clear(first, 2 * b);
        if first > 0 {
            self.lay((0, DOWN.ahead), first, 0);
            self.lay_rhs(0, first);
            self.move_known((0, DOWN.behind), first, 0);
            self.move_known((0, ON_DIAGONAL), first, 1);
            return;
        }
        for r in 0..b {
            for c in 0..b {
                let pivot = self.load(self.pivots(1, width, (r, c)));
                let entry = if c == r {
                    pivot.recip()
                } else if c > r {
                    pivot
                } else {
                    self.zero
                };
                self.store(self.panel(r, c), entry);
            }
            for s in 0..self.n_rhs {
                let mut sum = self.load(self.pivots(1, width, (r, 3 * b + s)));
                for w in b..3 * b {
                    sum = self.load(self.pivots(1, width, (r, w))).neg_mul_add(self.load(self.x(s, 2, w)), sum);
                }
                self.store(self.panel(r, 3 * b + s), sum);
            }
        }
    }

    /// Store the equation that remains at an end of the partition.
    #[inline(always)]
    fn keep_end(&self, walk: Walk) {
        let b = self.b();
        let spike = 3 * b + self.n_rhs;
        // The order of blocks is left of, on, right of the diagonal. The far end of the partition is behind.
        let (which, columns) = if walk.behind == 0 { (1, [spike, 0, b]) } else { (0, [b, 0, spike]) };
        let to = self.at.ends + which * self.ends_len();
        for k in 0..3 {
            for c in 0..b {
                for r in 0..b {
                    self.store(to + k * b * b + c * b + r, self.load(self.panel(r, columns[k] + c)));
                }
            }
        }
        for s in 0..self.n_rhs {
            for r in 0..b {
                self.store(to + 3 * b * b + s * b + r, self.load(self.panel(r, 3 * b + s)));
            }
        }
    }

    /// Index of row r, column w of the pivot rows of unknown block `j`.
    #[inline(always)]
    fn pivots(&self, j: usize, width: usize, (r, w): (usize, usize)) -> usize {
        self.at.pivots + (j * width + w) * self.b() + r
    }

    /// Compute unknown block `j` from its pivot rows and the two blocks after it:
    /// xⱼ = U⁻¹·(rhs − next·xⱼ₊₁ − after·xⱼ₊₂).
    #[inline(always)]
    fn back_substitute(&self, j: usize) {
        let b = self.b();
        let width = 3 * b + self.n_rhs;
        for s in 0..self.n_rhs {
            for r in (0..b).rev() {
                let mut sum = self.load(self.pivots(j, width, (r, 3 * b + s)));
                for w in r + 1..3 * b {
                    // Block j is at index j + 1, followed by the two blocks after it.
                    let x = self.load(self.x(s, j + 1, w));
                    sum = self.load(self.pivots(j, width, (r, w))).neg_mul_add(x, sum);
                }
                let recip = self.load(self.pivots(j, width, (r, r)));
                self.store(self.x(s, j + 1, r), sum * recip);
            }
        }
    }

    /// Add the pivots of a complete elimination to `least`.
    ///
    /// The unknowns next to the first ones have several sets of pivots. The last set counts, with the first row of the
    /// partition among its candidates.
    #[inline(always)]
    pub fn see_pivots(&self, least: &mut Least<V>) {
        let (b, width) = (self.b(), 3 * self.b() + self.n_rhs);
        let mut largest = V::splat(T::Real::ONE);
        for j in 1..(self.m - 1).max(1) {
            for r in 0..b {
                largest = self.load(self.pivots(j, width, (r, r))).abs1().max(largest);
            }
        }
        least.see_size(largest.recip());
    }

    /// Add the largest coefficient of each remaining equation to `least`. The equations begin at `at`, with the
    /// distance `step` between columns.
    #[inline(always)]
    fn see_equations(&self, at: usize, (rows, step): (usize, usize), columns: usize, least: &mut Least<V>) {
        for r in 0..rows {
            let mut size = V::splat(T::Real::ZERO);
            for c in 0..columns {
                size = self.load(at + r + c * step).abs1().max(size);
            }
            least.see_size(size);
        }
    }

    #[inline(always)]
    pub fn new_checks(&self, task: &Task<'_, T>) -> [Check<V>; MAX_RHS] {
        let mut checks = [Check::new(T::Real::ZERO); MAX_RHS];
        if let Task::Substitute(BlockTarget { x_max, .. }) = task {
            for s in 0..MAX_RHS {
                checks[s] = Check::new(x_max[s]);
            }
        }
        checks
    }

    /// Add the residuals of all rows of tile `t` to the checks, and store the largest |residual| / scale of every
    /// partition.
    #[inline(always)]
    pub fn check(&self, checks: &mut [Check<V>; MAX_RHS], to: &mut BlockTarget<'_, T>, (span, t): (Span, usize)) {
        let b = self.b();
        for s in 0..self.n_rhs {
            let mut check = Check::<V>::new(to.x_max[s]);
            for j in 0..self.m {
                for i in 0..b {
                    check.see_x(self.load(self.x(s, j + 1, i)).measure());
                }
                for r in 0..b {
                    let rhs = self.load(self.rhs(j, s, r));
                    let (mut residual, mut sum) = (rhs, V::splat(T::Real::ZERO));
                    for k in 0..3 {
                        for c in 0..b {
                            let a = self.entry((j, k), r, c);
                            residual = a.neg_mul_add(self.load(self.x(s, j + k, c)), residual);
                            sum = sum + a.measure();
                        }
                    }
                    check.see_row(residual.measure(), sum, rhs.measure());
                }
            }
            checks[s] = checks[s].and(&check);
            let mut gaps = [T::Real::ZERO; MAX_LANES];
            // SAFETY: there is room for the lanes of the widest vector.
            unsafe { check.gap().store(gaps.as_mut_ptr()) }
            to.gaps[s][t * span.lanes..][..span.lanes].copy_from_slice(&gaps[..span.lanes]);
        }
    }

    #[inline(always)]
    pub fn check_results(&self, checks: &[Check<V>; MAX_RHS], suspect: bool) -> [CheckResult; MAX_RHS] {
        let mut results = [CheckResult::default(); MAX_RHS];
        // The number of lanes of the widest vector.
        let mut stored = [T::Real::ZERO; CHECK_VECTORS * MAX_LANES];
        let slack = if T::COMPLEX { COMPLEX_SLACK } else { 1.0 };
        for s in 0..self.n_rhs {
            // SAFETY: there is room for the vectors of all lanes.
            unsafe { checks[s].store(stored.as_mut_ptr()) }
            results[s] = CheckResult { suspect, ..read_check(&stored[..CHECK_VECTORS * V::W], slack) };
        }
        results
    }
}
