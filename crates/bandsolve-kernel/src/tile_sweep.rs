//! Elimination of one tile, which stores its pivot rows, and substitution through them.
//!
//! Each step of the elimination depends on the step before, but staging depends on nothing. The two therefore alternate
//! block by block.

use super::Machine;
use super::border::CarriedEquation;
use super::sweep::{
    Chain, Check, Choice, LanePivots, Least, PartitionEnds, Rotation, Row, check_row, each, prefer_first_row, rule,
};
use super::tile::{STAGED_ROWS, Scaling, Strides, TileRows, TileRun, opaque};
use crate::number::{Element, Lanes, Scalar};

/// Memory for the pivot rows of a tile.
///
/// `rows` holds 1/pivot, the coefficient of the next unknown, and the right-hand sides of each pivot row. `part` holds
/// a factor: the coefficient of the second next unknown divided by `sup` of the row. This factor is one if the row is
/// the pivot row, and otherwise zero. After a rotation, the factor is any number.
#[derive(Clone, Copy)]
struct PivotRows<V: Lanes, const R: usize, const RULE: usize> {
    rows: *mut V::Real,
    part: *mut V::Real,
}

/// One pivot row. Rules that select use `take`, rotations use `share`.
#[derive(Clone, Copy)]
struct PivotRow<M, E, const R: usize> {
    recip: E,
    next: E,
    rhs: [E; R],
    take: M,
    share: E,
}

impl<V: Lanes, const R: usize, const RULE: usize> PivotRows<V, R, RULE> {
    /// The pivot rows of m rows. `memory` holds m·(3 + R) elements.
    #[inline(always)]
    fn new(memory: *mut V::Real, m: usize, reals: usize) -> Self {
        const { assert!(size_of::<V::Mask>() <= size_of::<V::Real>() * V::W) }
        Self { rows: memory, part: memory.wrapping_add(m * (2 + R) * reals * V::W) }
    }

    /// The pivot rows from row `j` on.
    #[inline(always)]
    fn at<E: Element<V>>(&self, j: usize) -> Self {
        let rows = self.rows.wrapping_add(j * (2 + R) * E::REALS * V::W);
        let part = if RULE == rule::ROTATION {
            self.part.wrapping_add(j * E::REALS * V::W)
        } else {
            self.part.cast::<V::Mask>().wrapping_add(j).cast()
        };
        Self { rows: opaque(rows), part: opaque(part) }
    }

    /// Store `row` as the first of these pivot rows.
    ///
    /// # Safety
    /// There is room for one more, and all have the same type `E`.
    #[inline(always)]
    unsafe fn put<E: Element<V>>(&self, row: &PivotRow<V::Mask, E, R>) {
        let step = E::REALS * V::W;
        // SAFETY: a pivot row is 2 + R elements of `step` reals in `rows`, and one element or one mask in `part`. A
        // mask is not larger than a vector and has its alignment: `new` asserts the size, and `part` begins W reals
        // after a row.
        unsafe {
            row.recip.store(self.rows);
            row.next.store(self.rows.add(step));
            for r in 0..R {
                row.rhs[r].store(self.rows.add((2 + r) * step));
            }
            match RULE {
                rule::FIRST => {}
                rule::ROTATION => row.share.store(self.part),
                _ => *self.part.cast() = row.take,
            }
        }
    }

    /// x of the row if the next two unknowns are known: xⱼ = (rhs − next·xⱼ₊₁ − part·sup·xⱼ₊₂) / pivot.
    ///
    /// `row` is the row after it, which contains `sup`. `last` is the coefficient and the value of the last unknown of a
    /// periodic system, whose product is subtracted, too.
    ///
    /// # Safety
    /// [`put`](Self::put) stored the first of these pivot rows with the same `E`.
    #[inline(always)]
    unsafe fn solve<E: Element<V>>(
        &self,
        row: &Row<E, R>,
        [mid, right]: [&[E; R]; 2],
        last: Option<(E, &[E; R])>,
    ) -> ([E; R], E) {
        let step = E::REALS * V::W;
        // SAFETY: this reads the values that `put` wrote, at the same places and with the same types.
        unsafe {
            let (recip, next) = (E::load(self.rows), E::load(self.rows.add(step)));
            let far = if RULE == rule::ROTATION { E::load(self.part) * row.sup } else { row.sup };
            let mut x = *mid;
            for r in 0..R {
                let mut rhs = E::load(self.rows.add((2 + r) * step));
                if let Some((coefficient, last)) = last {
                    rhs = coefficient.neg_mul_add(last[r], rhs);
                }
                let rest = match RULE {
                    rule::FIRST => rhs,
                    rule::ROTATION => far.neg_mul_add(right[r], rhs),
                    _ => far.neg_mul_add_where(*self.part.cast(), right[r], rhs),
                };
                x[r] = next.neg_mul_add(mid[r], rest) * recip;
            }
            (x, recip)
        }
    }
}

/// The sweeps of one tile. With `OPEN`, every partition is a system of its own, without neighbors, and `PERIODIC` systems
/// are bordered open systems.
#[derive(Clone, Copy)]
pub(super) struct TileSweep<V: Lanes, const R: usize, const RULE: usize, const OPEN: bool, const PERIODIC: bool> {
    pub(super) tile: TileRows<V::Real, R>,
    pivot_rows: PivotRows<V, R, RULE>,
    /// The coefficients of the last unknown of a periodic system in the pivot rows.
    spikes: *mut V::Real,
    m: usize,
    pivots: LanePivots<V, RULE>,
}

/// What the elimination carries from one row to the next.
#[derive(Clone, Copy)]
struct Carried<M, E, const R: usize> {
    chain: Chain<E, R>,
    /// Whether the row was the pivot row of the previous unknown.
    was_pivot: M,
    /// Of a periodic system.
    border: CarriedEquation<E, R>,
}

impl<V: Lanes, const R: usize, const RULE: usize, const OPEN: bool, const PERIODIC: bool>
    TileSweep<V, R, RULE, OPEN, PERIODIC>
{
    /// The first unknown that the tile solves for.
    const FIRST_UNKNOWN: usize = if OPEN { 0 } else { 1 };

    #[inline(always)]
    pub(super) fn new<E: Element<V>>(
        [tile, pivot_rows, spikes]: [*mut V::Real; 3],
        m: usize,
        pivots: LanePivots<V, RULE>,
    ) -> Self {
        let pivot_rows = PivotRows::new(pivot_rows, m, E::REALS);
        Self { tile: TileRows { base: tile }, pivot_rows, spikes, m, pivots }
    }

    /// Stage tile `t` of a run, and eliminate downwards. Stores the pivot rows, and returns the equation of the last
    /// unknown.
    ///
    /// `first` is x at the first row. `scaling` is the scaling of the staged rows; with `None`, the tile is already
    /// staged. `least` receives all steps.
    ///
    /// # Safety
    /// Tile and pivot rows have room for m ≥ 2 rows (`OPEN`: m ≥ 1, `PERIODIC`: m ≥ 3, with room for m spikes). Tile `t` of
    /// the run is readable, or staged.
    #[inline(always)]
    pub(super) unsafe fn eliminate<T: Scalar<Real = V::Real>>(
        &self,
        run: &TileRun<T>,
        (t, scaling): (usize, Option<Scaling>),
        first: &[T::Element<V>; R],
        least: &mut Least<V>,
    ) -> Chain<T::Element<V>, R> {
        let mut source = run.source(t);
        // SAFETY: rows below m of a readable run are staged before their elimination, and one pivot row per row is
        // stored.
        unsafe {
            match scaling {
                // The loop below stages and eliminates block by block.
                Some(Scaling::Rows) => self.tile.stage_rest::<T, V, OPEN>(&source, self.m, true),
                // The common scale is known only after all rows were read. All rows are therefore staged before the
                // elimination.
                Some(Scaling::Partition) => self.tile.stage_all::<T, V, OPEN>(source, self.m, Scaling::Partition),
                None => {}
            }
            let end = if OPEN { self.m } else { self.m - 1 };
            let chain = Chain { spike: first[0], near: first[0], next: first[0], rhs: *first };
            let zero = V::splat(V::Real::ZERO);
            let mut carried = Carried { chain, was_pivot: zero.gt(zero), border: CarriedEquation::new() };
            for block in 0..self.m.div_ceil(STAGED_ROWS) {
                let j = block * STAGED_ROWS;
                if scaling.is_some() {
                    source.prefetch::<R, OPEN>(V::W);
                }
                if scaling == Some(Scaling::Rows) {
                    self.tile.at::<V, T::Element<V>>(j).stage::<T, V, OPEN>(&source, (self.m, j, true));
                }
                source.next_block::<R, OPEN>(V::W);
                if block == 0 {
                    carried.chain = self.start(first);
                    if Self::FIRST_UNKNOWN + 1 < end {
                        carried = self.step::<T::Element<V>>(carried, Self::FIRST_UNKNOWN + 1, least);
                    }
                } else {
                    // One test per block suffices: an equation that vanished remains zero for some steps.
                    least.see_chain(carried.chain.near, carried.chain.next);
                }
                for j in j.max(Self::FIRST_UNKNOWN + 2)..end.min(j + STAGED_ROWS) {
                    carried = self.step::<T::Element<V>>(carried, j, least);
                }
            }
            self.see_last(&carried.chain, least);
            least.include_reciprocals();
            carried.chain
        }
    }

    /// The chain before any elimination. `first` is x at the first row, unless the tile solves for it.
    ///
    /// # Safety
    /// The first block of the tile has been staged.
    #[inline(always)]
    unsafe fn start<E: Element<V>>(&self, first: &[E; R]) -> Chain<E, R> {
        // SAFETY: the first block contains this row, which is row 0 or 1.
        let row = unsafe { self.tile.row::<V, E>(Self::FIRST_UNKNOWN) };
        let mut chain = Chain::start(row, V::Real::GUARD);
        if !OPEN {
            chain.rhs = each!(r < R, row.sub, row.sub.neg_mul_add(first[r], row.rhs[r]));
        }
        chain
    }

    /// Eliminate xⱼ₋₁ between the chain and row `j`, and store its pivot row.
    ///
    /// # Safety
    /// 1 ≤ j < m, and row `j` of the tile has been staged.
    #[inline(always)]
    unsafe fn step<E: Element<V>>(
        &self,
        carried: Carried<V::Mask, E, R>,
        j: usize,
        least: &mut Least<V>,
    ) -> Carried<V::Mask, E, R> {
        let Carried { mut chain, was_pivot, mut border } = carried;
        // SAFETY: row j < m of the tile is staged, and j − 1 is one of the m pivot rows and, if periodic, of the m spikes.
        unsafe {
            let mut row = self.tile.at::<V, E>(j).row::<V, E>(0);
            if PERIODIC && j + 1 == self.m {
                (chain, row) = border.join(chain, row);
            }
            let choice = self.pivots.step(&chain, &row, was_pivot);
            if !OPEN && j == 2 {
                self.see_first(self.pivot(&choice, &chain, row.sub), &chain, least);
            }
            let (pivot_row, rough) = if RULE == rule::ROTATION {
                let turn = Rotation::new(chain.near, row.sub);
                let recip = E::splat(V::Real::ONE).scale(turn.recip);
                let pivot_row = PivotRow {
                    recip,
                    next: turn.of_row.mul_add(row.diag, turn.of_chain * chain.next),
                    rhs: each!(r < R, recip, turn.of_row.mul_add(row.rhs[r], turn.of_chain * chain.rhs[r])),
                    take: choice.take,
                    share: turn.of_row,
                };
                (pivot_row, recip)
            } else {
                let [rough, recip] = choice.pivot.recips();
                let pivot_row = PivotRow {
                    recip,
                    next: self.selected(&choice, row.diag, chain.next),
                    rhs: each!(r < R, recip, self.selected(&choice, row.rhs[r], chain.rhs[r])),
                    take: choice.take,
                    share: recip,
                };
                (pivot_row, rough)
            };
            if OPEN || j > 2 {
                least.see_reciprocal(pivot_row.recip);
            }
            self.pivot_rows.at::<E>(j - 1).put::<E>(&pivot_row);
            if PERIODIC {
                let zero = E::splat(V::Real::ZERO);
                let (far, spike) = (self.selected(&choice, row.sup, zero), self.selected(&choice, zero, chain.spike));
                spike.store(self.spike::<E>(j - 1));
                border = border.eliminate(([pivot_row.recip, pivot_row.next, far, spike], pivot_row.rhs));
                chain = chain.eliminate_bordered(row, &choice, rough);
            } else {
                chain = chain.eliminate(row, &choice, rough);
            }
            Carried { chain, was_pivot: choice.take, border }
        }
    }

    /// The place of the coefficient of the last unknown in pivot row `j`.
    #[inline(always)]
    fn spike<E: Element<V>>(&self, j: usize) -> *mut V::Real {
        self.spikes.wrapping_add(j * E::REALS * V::W)
    }

    /// The pivot of a step. For a rotation, this is the larger of the two rotated entries.
    #[inline(always)]
    fn pivot<E: Element<V>>(&self, choice: &Choice<V::Mask, E>, chain: &Chain<E, R>, sub: E) -> E {
        if RULE == rule::ROTATION { E::pivot(chain.near, sub).1 } else { choice.pivot }
    }

    /// Add the step that eliminates x₁ between row 1, with which the chain begins, and row 2.
    ///
    /// # Safety
    /// Rows 0 and 1 have been staged.
    #[inline(always)]
    unsafe fn see_first<E: Element<V>>(&self, pivot: E, chain: &Chain<E, R>, least: &mut Least<V>) {
        // SAFETY: rows 0 and 1 of a staged tile.
        let (above, row): (Row<E, R>, Row<E, R>) = unsafe { (self.tile.row::<V, E>(0), self.tile.row::<V, E>(1)) };
        least.see_first((pivot, self.pivots.if_free(above.sup)), (chain.near, chain.next, row.sub));
    }

    /// Add the step of [`last`](Self::last).
    ///
    /// # Safety
    /// The tile has been staged.
    #[inline(always)]
    unsafe fn see_last<E: Element<V>>(&self, chain: &Chain<E, R>, least: &mut Least<V>) {
        if OPEN {
            let pivot = self.pivots.choose(chain.near, E::splat(V::Real::ZERO)).pivot;
            least.see_last(pivot, pivot, pivot);
        } else if self.m > 2 {
            // SAFETY: the last of the m staged rows.
            let row: Row<E, R> = unsafe { self.tile.row::<V, E>(self.m - 1) };
            let pivot = self.pivot(&self.pivots.choose(chain.near, row.sub), chain, row.sub);
            if self.m == 3 {
                // SAFETY: all rows are staged.
                unsafe { self.see_first(pivot, chain, least) }
            } else {
                least.see_last(pivot, chain.near, chain.next);
            }
        }
    }

    /// The value of the pivot row: `of_row` or `of_chain`.
    #[inline(always)]
    fn selected<E: Element<V>>(&self, choice: &Choice<V::Mask, E>, of_row: E, of_chain: E) -> E {
        if RULE == rule::FIRST { of_chain } else { E::select(choice.take, of_row, of_chain) }
    }

    /// x of the last unknown that the tile solves for.
    ///
    /// The chain gives x = (rhs − next·x_last) / near. In a partition, the last row is used if it has the larger
    /// coefficient: x = (rhs − diag·x_last − sup·x_after) / sub.
    ///
    /// # Safety
    /// The tile has been staged.
    #[inline(always)]
    unsafe fn last<E: Element<V>>(&self, chain: &Chain<E, R>, around: &PartitionEnds<E, R>) -> [E; R] {
        if OPEN {
            let recip = self.pivots.choose(chain.near, E::splat(V::Real::ZERO)).pivot.recip();
            return each!(r < R, recip, chain.rhs[r] * recip);
        }
        // SAFETY: the last of the m staged rows.
        let row: Row<E, R> = unsafe { self.tile.row::<V, E>(self.m - 1) };
        let choice = self.pivots.choose(chain.near, row.sub);
        let recip = choice.pivot.recip();
        let mut x = around.last;
        for r in 0..R {
            let of_chain = chain.next.neg_mul_add(around.last[r], chain.rhs[r]);
            let of_row = row.diag.neg_mul_add(around.last[r], row.sup.neg_mul_add(around.after[r], row.rhs[r]));
            x[r] = E::select(choice.take, of_row, of_chain) * recip;
        }
        if self.m == 3 {
            // SAFETY: the first staged row.
            let row = unsafe { self.tile.row::<V, E>(0) };
            x = prefer_first_row(&row, around, x, recip, &self.pivots);
        }
        x
    }

    /// Substitute upwards and write x. An `OPEN` tile does not write x if `out` is null. With `VERIFY`, the residual of
    /// every row is added to `checks`.
    ///
    /// # Safety
    /// The tile is eliminated, and `out` is writable for all of it, or null.
    #[inline(always)]
    pub(super) unsafe fn substitute<T: Scalar<Real = V::Real>, const VERIFY: bool>(
        &self,
        chain: &Chain<T::Element<V>, R>,
        around: &PartitionEnds<T::Element<V>, R>,
        checks: &mut [Check<V>; R],
        to: ([*mut T; R], Strides),
    ) {
        let m = self.m;
        // SAFETY: the rows 0..m are staged, `eliminate` stored the pivot rows, and the caller guarantees `out`.
        unsafe {
            // x_j is `mid`, x_{j+1} is `right`.
            let (mut mid, mut right, top) = if OPEN {
                (self.last(chain, around), [T::Element::<V>::splat(V::Real::ZERO); R], m - 1)
            } else if m == 2 {
                (around.first, around.last, 0)
            } else {
                (self.last(chain, around), around.last, m - 2)
            };
            if VERIFY {
                see_x::<V, T::Element<V>, R>(checks, &mid);
                see_x::<V, T::Element<V>, R>(checks, &right);
            }
            // The last row of a periodic system contains x₀, so its residual is computed at the end.
            let (last, last_row) = (mid, self.tile.at::<V, T::Element<V>>(m - 1).row::<V, T::Element<V>>(0));
            if !OPEN {
                finish::<T, V, R, VERIFY>(
                    self.tile.at::<V, T::Element<V>>(m - 1),
                    [&mid, &right, &around.after],
                    checks,
                );
            }
            for j in (Self::FIRST_UNKNOWN..top).rev() {
                let tile = self.tile.at::<V, T::Element<V>>(j + 1);
                let row: Row<T::Element<V>, R> = tile.row::<V, T::Element<V>>(0);
                let pivot_row = self.pivot_rows.at::<T::Element<V>>(j);
                let of_last =
                    if PERIODIC { Some((T::Element::<V>::load(self.spike::<T::Element<V>>(j)), &last)) } else { None };
                let (mut left, recip) = pivot_row.solve::<T::Element<V>>(&row, [&mid, &right], of_last);
                if !OPEN && j == 1 {
                    let row = self.tile.row::<V, T::Element<V>>(0);
                    left = prefer_first_row(&row, around, left, recip, &self.pivots);
                }
                if VERIFY {
                    see_x::<V, T::Element<V>, R>(checks, &left);
                }
                if PERIODIC && j + 2 == m {
                    tile.put_rhs::<V, T::Element<V>>(0, &mid);
                } else {
                    finish::<T, V, R, VERIFY>(tile, [&left, &mid, &right], checks);
                }
                if (j + 1).is_multiple_of(STAGED_ROWS) {
                    self.write(j + 1, to);
                }
                (right, mid) = (mid, left);
            }
            if !OPEN && m > 2 {
                finish::<T, V, R, VERIFY>(self.tile.at::<V, T::Element<V>>(1), [&around.first, &mid, &right], checks);
                (right, mid) = (mid, around.first);
            }
            let before = if PERIODIC { &last } else { &around.before };
            finish::<T, V, R, VERIFY>(self.tile, [before, &mid, &right], checks);
            if PERIODIC && VERIFY {
                let above: Row<T::Element<V>, R> = self.tile.at::<V, T::Element<V>>(m - 2).row::<V, T::Element<V>>(0);
                check_row::<V, T::Element<V>, R>(checks, &last_row, &above.rhs, &last, &mid);
            }
            self.write(0, to);
            self.write_rest(to);
        }
    }

    /// Write x of the block of rows that begins with row `j`, unless `out` is null.
    ///
    /// # Safety
    /// As [`substitute`](Self::substitute).
    #[inline(always)]
    pub(super) unsafe fn write<T: Scalar<Real = V::Real>>(&self, j: usize, (out, strides): ([*mut T; R], Strides)) {
        if OPEN && out[0].is_null() {
            return;
        }
        for r in 0..R {
            // SAFETY: rows j to j + STAGED_ROWS, as far as they exist, of a tile with known x from row j on; the caller
            // guarantees `out`.
            unsafe {
                let tile = self.tile.at::<V, T::Element<V>>(j);
                tile.write::<T, V, OPEN>(r, (self.m, j), (out[r].wrapping_add(j * strides.row), strides));
            }
        }
    }

    /// Write x of the remaining rows, unless `out` is null.
    ///
    /// # Safety
    /// As [`substitute`](Self::substitute).
    #[inline(always)]
    pub(super) unsafe fn write_rest<T: Scalar<Real = V::Real>>(&self, (out, strides): ([*mut T; R], Strides)) {
        if OPEN && out[0].is_null() {
            return;
        }
        for r in 0..R {
            // SAFETY: x of the tile is complete, and `out` is writable for all of it.
            unsafe { self.tile.write_rest::<T, V, OPEN>(r, self.m, (out[r], strides)) }
        }
    }
}

/// Finish a row, the first one of `tile`: check the residual, and store x in place of the right-hand side. x left of,
/// at and right of the diagonal is known.
///
/// # Safety
/// `tile` points to a staged row.
#[inline(always)]
unsafe fn finish<T: Scalar, V: Lanes<Real = T::Real>, const R: usize, const VERIFY: bool>(
    tile: TileRows<T::Real, R>,
    [left, mid, right]: [&[T::Element<V>; R]; 3],
    checks: &mut [Check<V>; R],
) {
    // SAFETY: reads and writes the first row of `tile`, which is staged.
    unsafe {
        if VERIFY {
            let row = tile.row::<V, T::Element<V>>(0);
            check_row::<V, T::Element<V>, R>(checks, &row, left, mid, right);
        }
        tile.put_rhs::<V, T::Element<V>>(0, mid);
    }
}

#[inline(always)]
fn see_x<V: Lanes, E: Element<V>, const R: usize>(checks: &mut [Check<V>; R], x: &[E; R]) {
    for r in 0..R {
        checks[r].see_x(x[r].measure());
    }
}
