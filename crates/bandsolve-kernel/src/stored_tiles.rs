//! Tiles whose factors are stored, for many right-hand sides of one matrix: each solve reads the factors instead of
//! eliminating again.
//!
//! A partition has the rows 0 … m − 1 and the unknowns x₀ … xₘ₋₁. Its rows are scaled, and its inner unknowns are
//! eliminated once from each end with row exchanges. What a solve needs of this is linear in the right-hand side d:
//!
//! ```text
//! reduce:      two equations between x_before, x₀, xₘ₋₁ and x_after, with the right-hand sides pᵀd and qᵀd
//! substitute:  c = d₁ − sub₁ x₀;  per row j: (u, v) = (c, dⱼ) or (dⱼ, c),  yⱼ₋₁ = u,  c = v − lⱼ u
//!              xⱼ = yⱼ/pivot − (next/pivot) xⱼ₊₁ − (far/pivot) xⱼ₊₂
//! ```
//!
//! Cost per row and right-hand side: 13 words read and 2 written. The factors are 10 words and a mask per row.

use super::Job;
use super::reduce::put_pairs;
use super::substitute::{load_around, read_checks};
use super::sweep::{Check, CheckResult, Least, MAX_RHS, Row, check_row, each};
use super::tile::STAGED_ROWS;
use super::tile_runs::{Columns, ColumnsMut};
use crate::job::kernel;
use crate::lane_columns::{StagedMatrix, stage_matrix, write};
use crate::number::{Element, Lanes, Machine, RealScalar, Scalar};
use crate::rows::Rows;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Maximum number of rows of a partition with stored factors.
pub const MAX_ROWS: usize = 123;
/// Minimum number of rows of a partition with stored factors.
pub const MIN_ROWS: usize = 4;

/// Number of real vectors of the weights of a row: its scale, and the elements p and q.
const fn weight_vectors(reals: usize) -> usize {
    1 + 2 * reals
}
/// Number of elements of the step of a row: l, 1/pivot, next/pivot, far/pivot, sub, diag and sup.
const STEP: usize = 7;
const MULTIPLIER: usize = 0;
const RECIP: usize = 1;
const NEXT: usize = 2;
const FAR: usize = 3;
const MATRIX: usize = 4;

/// Number of real vectors of the factors of a tile of `m` rows.
const fn vectors(m: usize, reals: usize) -> usize {
    // The row that may give x₁, the weights, the steps, and the masks.
    (reals + 1) + m * weight_vectors(reals) + m * STEP * reals + m
}

/// Number of reals of the factors of a tile of `m` rows, for vectors with `lanes` lanes.
pub fn stored_len<T: Scalar>(lanes: usize, m: usize) -> usize {
    (vectors(m, reals::<T>()) * lanes).next_multiple_of(16)
}

const fn reals<T: Scalar>() -> usize {
    if T::COMPLEX { 2 } else { 1 }
}

/// The factors of a tile in memory.
#[derive(Clone, Copy)]
struct TileFactors<V: Lanes, E> {
    base: *mut V::Real,
    m: usize,
    of: PhantomData<E>,
}

impl<V: Lanes, E: Element<V>> TileFactors<V, E> {
    const ELEMENT: usize = E::REALS * V::W;

    /// # Safety
    /// `memory` has the [`stored_len`] of `m` rows.
    #[inline(always)]
    unsafe fn new(base: *mut V::Real, m: usize) -> Self {
        const { assert!(size_of::<V::Mask>() <= size_of::<V::Real>() * V::W) }
        Self { base, m, of: PhantomData }
    }

    /// 1/sup of row 0, and behind it the mask of the partitions that take x₁ from row 0.
    #[inline(always)]
    fn first_row(&self) -> *mut V::Real {
        self.base
    }

    /// The scale of row `j`, then p and q.
    #[inline(always)]
    fn weights(&self, j: usize) -> *mut V::Real {
        self.base.wrapping_add((E::REALS + 1 + j * weight_vectors(E::REALS)) * V::W)
    }

    /// Element `k` of the step of row `j`.
    #[inline(always)]
    fn step(&self, j: usize, k: usize) -> *mut V::Real {
        let rows = E::REALS + 1 + self.m * weight_vectors(E::REALS);
        self.base.wrapping_add((rows + (j * STEP + k) * E::REALS) * V::W)
    }

    /// Whether row `j` is the pivot row of xⱼ₋₁.
    #[inline(always)]
    fn mask(&self, j: usize) -> *mut V::Mask {
        self.step(self.m, 0).cast::<V::Mask>().wrapping_add(j)
    }

    /// The weight `k` of row `j`: 0 for p, 1 for q.
    #[inline(always)]
    fn weight(&self, j: usize, k: usize) -> *mut V::Real {
        self.weights(j).wrapping_add(V::W + k * Self::ELEMENT)
    }

    /// # Safety
    /// The matrix of row `j` has been stored.
    #[inline(always)]
    unsafe fn row(&self, j: usize) -> [E; 3] {
        // SAFETY: the caller's promise.
        unsafe { [E::load(self.step(j, MATRIX)), E::load(self.step(j, MATRIX + 1)), E::load(self.step(j, MATRIX + 2))] }
    }
}

/// Compute the factors of one tile: W partitions of `m` rows.
pub struct FactorTile<'a, T: Scalar> {
    pub m: usize,
    pub rows: Rows<'a, T>,
    /// The first row of the tile.
    pub first: usize,
    /// [`stored_len`] reals.
    pub memory: &'a mut [T::Real],
    /// sub, diag and sup of the coarse rows, two for each partition.
    pub coarse: [&'a mut [T]; 3],
}

kernel!(FactorTileKernel: FactorTile<'a> => bool);

impl<V: Lanes, E: Element<V>> StagedMatrix<E> for TileFactors<V, E> {
    /// The row is multiplied by the power of two that brings its largest entry near 1.
    #[inline(always)]
    unsafe fn put_row(&self, j: usize, row: [E; 3]) {
        let scale = E::largest(row[0], row[1], row[2]).equilibrate();
        // SAFETY: the caller's promise.
        unsafe {
            scale.store(self.weights(j));
            for k in 0..3 {
                row[k].scale(scale).store(self.step(j, MATRIX + k));
            }
        }
    }
}

/// The power of two that brings the largest entry of a row near 1, and the scaled row.
pub fn scaled<T: Scalar>(row: [T; 3]) -> (T::Real, [T; 3]) {
    let larger = |a: T::Real, b: T::Real| if a > b { a } else { b };
    let scale = larger(larger(Scalar::abs1(row[0]), Scalar::abs1(row[1])), Scalar::abs1(row[2])).equilibrate();
    (scale, row.map(|v| v.scale(scale)))
}

/// An elimination with row exchanges: the equation that remains.
#[derive(Clone, Copy)]
struct Remainder<E> {
    /// The coefficient of the unknown at the end where the elimination began.
    spike: E,
    near: E,
    next: E,
}

impl<T: Scalar> Job<T> for FactorTile<'_, T> {
    /// Whether a pivot or an equation nearly vanished.
    type Output = bool;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> bool {
        let Self { m, rows, first, memory, coarse } = self;
        assert!((MIN_ROWS..=MAX_ROWS).contains(&m) && memory.len() == stored_len::<T>(V::W, m));
        let n = rows.n();
        assert!(first + V::W * m <= n && rows.sub.len() + 1 == n && rows.sup.len() + 1 == n);
        assert!(coarse.iter().all(|array| array.len() == 2 * V::W));
        let mut least = Least::<V>::new();
        // SAFETY: the tile has m rows, and the matrix has them; `coarse` has two scalars for each partition.
        unsafe {
            let tile = TileFactors::<V, T::Element<V>>::new(memory.as_mut_ptr(), m);
            stage_matrix::<T, V, _>(&rows, (first, m), &tile);
            let (top, by) = tile.eliminate_upwards(&mut least);
            tile.join_weights::<false>(by);
            let (bottom, by_bottom) = tile.eliminate_downwards(&mut least);
            tile.join_weights::<true>(by_bottom);
            let rows = [(top.next, bottom.spike), (top.near, bottom.near), (top.spike, bottom.next)];
            for (array, (top, bottom)) in coarse.into_iter().zip(rows) {
                put_pairs::<T, V>((top.scale(by), bottom.scale(by_bottom)), array.as_mut_ptr());
            }
        }
        least.suspect()
    }
}

impl<V: Lanes, E: Element<V>> TileFactors<V, E> {
    /// Eliminate xₘ₋₂ … x₁ from row m − 2 up to row 0. The weights receive the factors of both equations of each step.
    ///
    /// Returns the equation and the power of two that brings its largest coefficient near 1.
    ///
    /// # Safety
    /// The matrix has been stored.
    #[inline(always)]
    unsafe fn eliminate_upwards(&self, least: &mut Least<V>) -> (Remainder<E>, V) {
        let (zero, one) = (E::splat(<V::Real as Scalar>::ZERO), E::splat(<V::Real as Scalar>::ONE));
        // SAFETY: all rows are rows of the tile.
        unsafe {
            let [sub, diag, sup] = self.row(self.m - 2);
            let mut chain = Remainder { spike: sup, near: diag, next: sub };
            for j in (0..self.m - 2).rev() {
                let [sub, diag, sup] = self.row(j);
                let near = chain.near + E::splat(V::Real::GUARD);
                let (take, pivot) = E::pivot(near, sup);
                let l = E::select(take, near, sup) * pivot.recip();
                let minus = -l;
                E::select(take, minus, one).store(self.weight(j, 0));
                E::select(take, one, minus).store(self.weight(j, 1));
                chain = Remainder {
                    spike: l.neg_mul_add(E::select(take, zero, chain.spike), E::select(take, chain.spike, zero)),
                    near: l.neg_mul_add(E::select(take, diag, chain.next), E::select(take, chain.next, diag)),
                    next: l.neg_mul_add(E::select(take, sub, zero), E::select(take, zero, sub)),
                };
            }
            (chain, see_equation(&chain, least))
        }
    }

    /// Eliminate x₁ … xₘ₋₂ from row 1 down to row m − 1, and store the steps.
    ///
    /// # Safety
    /// The matrix has been stored.
    #[inline(always)]
    unsafe fn eliminate_downwards(&self, least: &mut Least<V>) -> (Remainder<E>, V) {
        let zero = E::splat(<V::Real as Scalar>::ZERO);
        // SAFETY: all rows are rows of the tile.
        unsafe {
            let ([_, _, above], [first_sub, diag, sup]) = (self.row(0), self.row(1));
            let mut chain = Remainder { spike: first_sub, near: diag, next: sup };
            for j in 2..self.m {
                let [sub, diag, sup] = self.row(j);
                let near = chain.near + E::splat(V::Real::GUARD);
                let (take, pivot) = E::pivot(near, sub);
                let recip = pivot.recip();
                if j == 2 {
                    least.see_first((pivot, above), (near, chain.next, first_sub));
                    let first = (above * recip).abs1().gt(V::splat(<V::Real as Scalar>::ONE));
                    (above + E::splat(V::Real::GUARD)).recip().store(self.first_row());
                    *self.first_row().wrapping_add(Self::ELEMENT).cast::<V::Mask>() = first;
                } else {
                    least.see_last(pivot, near, chain.next);
                }
                let l = E::select(take, near, sub) * recip;
                let (next, far) = (E::select(take, diag, chain.next), E::select(take, sup, zero));
                l.store(self.step(j, MULTIPLIER));
                *self.mask(j) = take;
                recip.store(self.step(j - 1, RECIP));
                (next * recip).store(self.step(j - 1, NEXT));
                (far * recip).store(self.step(j - 1, FAR));
                chain = Remainder {
                    spike: l.neg_mul_add(E::select(take, zero, chain.spike), E::select(take, chain.spike, zero)),
                    near: l.neg_mul_add(next, E::select(take, chain.next, diag)),
                    next: l.neg_mul_add(far, E::select(take, zero, sup)),
                };
            }
            (chain, see_equation(&chain, least))
        }
    }

    /// The factors of row `j` and of the chain in a step downwards.
    ///
    /// # Safety
    /// The step has been stored.
    #[inline(always)]
    unsafe fn of_both(&self, j: usize) -> (E, E) {
        let one = E::splat(<V::Real as Scalar>::ONE);
        // SAFETY: the caller's promise.
        unsafe {
            let (take, minus) = (*self.mask(j), -E::load(self.step(j, MULTIPLIER)));
            (E::select(take, minus, one), E::select(take, one, minus))
        }
    }

    /// Multiply the factors of all steps to the weights p (`DOWN`: q) of the rows in the equation that remains, times
    /// `by`.
    ///
    /// Weights below ε² are zero: their rows do not change any digit, and products with subnormal numbers are slow.
    ///
    /// # Safety
    /// The elimination in this direction has stored its factors.
    #[inline(always)]
    unsafe fn join_weights<const DOWN: bool>(&self, by: V) {
        let zero = E::splat(<V::Real as Scalar>::ZERO);
        let tiny = V::splat(V::Real::EPSILON * V::Real::EPSILON);
        let mut total = E::splat(<V::Real as Scalar>::ONE).scale(by);
        // SAFETY: all rows are rows of the tile.
        unsafe {
            for i in 0..self.m {
                // The last row of the elimination comes first.
                let j = if DOWN { self.m - 1 - i } else { i };
                let (of_row, of_chain) = match (DOWN, i) {
                    (_, i) if i + 1 == self.m => (zero, zero),
                    (_, i) if i + 2 == self.m => (E::splat(<V::Real as Scalar>::ONE), zero),
                    (true, _) => self.of_both(j),
                    (false, _) => (E::load(self.weight(j, 0)), E::load(self.weight(j, 1))),
                };
                let weight = of_row * total;
                total = E::select(tiny.gt(total.abs1()), zero, total) * of_chain;
                E::select(tiny.gt(weight.abs1()), zero, weight).store(self.weight(j, usize::from(DOWN)));
            }
        }
    }
}

impl<V: Lanes, E: Element<V>> TileFactors<V, E> {
    /// Scale the right-hand side `d` of row `j` and store it in its place of the column `to`. Returns the sums pᵀd and
    /// qᵀd with this row.
    ///
    /// # Safety
    /// Row `j` is one of the tile, and `to` has as many.
    #[inline(always)]
    unsafe fn weigh(&self, j: usize, d: E, to: *mut V::Real, (top, bottom): (E, E)) -> (E, E) {
        // SAFETY: the caller's promise.
        unsafe {
            let d = d.scale(V::load(self.weights(j)));
            d.store(to.add(j * Self::ELEMENT));
            (E::load(self.weight(j, 0)).mul_add(d, top), E::load(self.weight(j, 1)).mul_add(d, bottom))
        }
    }

    /// Row `j` of a column of the tile.
    ///
    /// # Safety
    /// The column has this row.
    #[inline(always)]
    unsafe fn of_column<T>(column: *const T, j: usize) -> E {
        // SAFETY: the caller's promise.
        unsafe { E::load(column.cast::<V::Real>().add(j * Self::ELEMENT)) }
    }

    /// Add the residual of row `j` to the checks. `d` has the columns of the tile.
    ///
    /// # Safety
    /// Row `j` is one of the tile.
    #[inline(always)]
    unsafe fn check<T, const R: usize>(
        &self,
        (j, d): (usize, &[*const T; R]),
        [left, mid, right]: [&[E; R]; 3],
        checks: &mut [Check<V>; R],
    ) {
        // SAFETY: the caller's promise.
        let ([sub, diag, sup], rhs) = unsafe { (self.row(j), each!(r < R, mid[0], Self::of_column(d[r], j))) };
        check_row::<V, E, R>(checks, &Row { sub, diag, sup, rhs }, left, mid, right);
    }
}

/// Add the equation that remains to `least`. Returns the power of two that brings its largest coefficient near 1.
#[inline(always)]
fn see_equation<V: Lanes, E: Element<V>>(chain: &Remainder<E>, least: &mut Least<V>) -> V {
    let size = E::largest(chain.spike, chain.near, chain.next);
    least.see_size(size);
    size.equilibrate()
}

/// Scale the right-hand sides of a tile and compute those of its two coarse equations.
pub struct ReduceTile<'a, T: Scalar> {
    pub m: usize,
    pub memory: &'a [T::Real],
    pub n_rhs: usize,
    /// The right-hand sides in the rows of the tile.
    pub rhs: Columns<'a, T>,
    /// For the scaled right-hand sides in the order of the tile, as many numbers.
    pub scaled: ColumnsMut<'a, T>,
    /// The right-hand sides of the coarse rows, two for each partition.
    pub out: ColumnsMut<'a, T>,
    /// Whether to conjugate the right-hand sides.
    pub conj: bool,
}

kernel!(ReduceTileKernel: ReduceTile<'a> => ());

impl<T: Scalar> Job<T> for ReduceTile<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.n_rhs {
            1 => self.reduce::<V, 1>(),
            _ => self.reduce::<V, MAX_RHS>(),
        }
    }
}

impl<T: Scalar> ReduceTile<'_, T> {
    #[inline(always)]
    fn reduce<V: Lanes<Real = T::Real>, const R: usize>(self) {
        let Self { m, memory, rhs, scaled, out, conj, .. } = self;
        assert!((MIN_ROWS..=MAX_ROWS).contains(&m) && memory.len() == stored_len::<T>(V::W, m));
        for r in 0..R {
            assert!(rhs[r].len() == V::W * m && scaled[r].len() == V::W * m && out[r].len() == 2 * V::W);
        }
        let (reals, zero) = (T::Element::<V>::REALS, T::Element::<V>::splat(T::Real::ZERO));
        let (mut top, mut bottom) = ([zero; R], [zero; R]);
        // SAFETY: the factors have m rows, which are only read, and each column has m scalars per lane.
        unsafe {
            let tile = TileFactors::<V, T::Element<V>>::new(memory.as_ptr().cast_mut(), m);
            let whole = m / STAGED_ROWS * STAGED_ROWS;
            for j in (0..whole).step_by(STAGED_ROWS / reals) {
                for r in 0..R {
                    let columns = V::load_columns(rhs[r].as_ptr().add(j).cast(), m * reals);
                    for k in 0..STAGED_ROWS / reals {
                        let d =
                            conjugated::<V, T::Element<V>>(T::Element::<V>::from_columns(&columns[k * reals..]), conj);
                        let to = scaled[r].as_mut_ptr().cast();
                        (top[r], bottom[r]) = tile.weigh(j + k, d, to, (top[r], bottom[r]));
                    }
                }
            }
            for j in whole..m {
                for r in 0..R {
                    let to = scaled[r].as_mut_ptr().cast::<T::Real>();
                    let place = to.add(j * TileFactors::<V, T::Element<V>>::ELEMENT);
                    for lane in 0..V::W {
                        let d = rhs[r][lane * m + j];
                        *place.add(lane) = d.re();
                        if T::COMPLEX {
                            *place.add(V::W + lane) = d.im();
                        }
                    }
                    let d = conjugated::<V, T::Element<V>>(T::Element::<V>::load(place), conj);
                    (top[r], bottom[r]) = tile.weigh(j, d, to, (top[r], bottom[r]));
                }
            }
            for r in 0..R {
                put_pairs::<T, V>((top[r], bottom[r]), out[r].as_mut_ptr());
            }
        }
    }
}

/// Compute x in the rows of a tile from the coarse unknowns, and check the residual of each row.
pub struct SubstituteTile<'a, T: Scalar> {
    pub m: usize,
    pub memory: &'a [T::Real],
    pub n_rhs: usize,
    /// The coarse unknowns from the one before the first partition to the one after the last.
    pub coarse: Columns<'a, T>,
    /// The scaled right-hand sides of [`ReduceTile`], which x replaces.
    pub x: ColumnsMut<'a, T>,
    /// For the largest |residual| / scale of each partition. Empty if nothing is verified.
    pub gaps: ColumnsMut<'a, T::Real>,
    /// Known lower bounds of ‖x‖∞.
    pub x_max: [T::Real; MAX_RHS],
    /// Whether to conjugate x.
    pub conj: bool,
}

kernel!(SubstituteTileKernel: SubstituteTile<'a> => [CheckResult; MAX_RHS]);

/// Memory for one column of a tile, on the stack.
#[repr(align(64))]
struct TileColumn {
    _bytes: [MaybeUninit<u8>; 64 * 2 * MAX_ROWS],
}

impl<T: Scalar> Job<T> for SubstituteTile<'_, T> {
    type Output = [CheckResult; MAX_RHS];
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output {
        match self.n_rhs {
            1 => self.substitute::<V, 1>(),
            _ => self.substitute::<V, MAX_RHS>(),
        }
    }
}

impl<T: Scalar> SubstituteTile<'_, T> {
    #[inline(always)]
    fn substitute<V: Lanes<Real = T::Real>, const R: usize>(self) -> [CheckResult; MAX_RHS] {
        let Self { m, memory, coarse, x, gaps, x_max, conj, .. } = self;
        assert!((MIN_ROWS..=MAX_ROWS).contains(&m) && memory.len() == stored_len::<T>(V::W, m));
        for r in 0..R {
            assert!(coarse[r].len() == 2 * V::W + 2 && x[r].len() == V::W * m);
            assert!(gaps[r].is_empty() || gaps[r].len() == V::W);
        }
        const { assert!(size_of::<V::Real>() * V::W <= 64) }
        let zero = T::Element::<V>::splat(T::Real::ZERO);
        let mut memory_of_columns = MaybeUninit::<[TileColumn; R]>::uninit();
        let columns = memory_of_columns.as_mut_ptr().cast::<TileColumn>();
        let mut checks = each!(r < R, Check::<V>::new(T::Real::ZERO), Check::new(x_max[r]));
        // SAFETY: the factors have m rows, which are only read. Each column of x has m scalars per lane, and so has each
        // of `columns`. An element of `columns` is written before it is read.
        unsafe {
            let tile = TileFactors::<V, T::Element<V>>::new(memory.as_ptr().cast_mut(), m);
            let step = TileFactors::<V, T::Element<V>>::ELEMENT;
            let d = each!(r < R, core::ptr::null::<T>(), x[r].as_ptr());
            let to = each!(r < R, core::ptr::null_mut::<T::Real>(), columns.add(r).cast());
            let (mut before, mut first, mut last, mut after) = ([zero; R], [zero; R], [zero; R], [zero; R]);
            let mut chain = [zero; R];
            for r in 0..R {
                [before[r], first[r], last[r], after[r]] = load_around::<T, V>(coarse[r].as_ptr(), 2);
                let of_row = TileFactors::<V, T::Element<V>>::of_column(d[r], 1);
                chain[r] = T::Element::<V>::load(tile.step(1, MATRIX)).neg_mul_add(first[r], of_row);
            }
            for j in 2..m {
                let (l, take) = (T::Element::<V>::load(tile.step(j, MULTIPLIER)), *tile.mask(j));
                for r in 0..R {
                    let of_row = TileFactors::<V, T::Element<V>>::of_column(d[r], j);
                    let pivot = T::Element::<V>::select(take, of_row, chain[r]);
                    pivot.store(to[r].add((j - 1) * step));
                    chain[r] = l.neg_mul_add(pivot, T::Element::<V>::select(take, chain[r], of_row));
                }
            }
            let (mut mid, mut right) = (last, after);
            for r in 0..R {
                checks[r].see_x(first[r].measure());
                checks[r].see_x(mid[r].measure());
                conjugated::<V, T::Element<V>>(mid[r], conj).store(to[r].add((m - 1) * step));
            }
            for j in (1..m - 1).rev() {
                let recip = T::Element::<V>::load(tile.step(j, RECIP));
                let (next, far) = (T::Element::<V>::load(tile.step(j, NEXT)), T::Element::<V>::load(tile.step(j, FAR)));
                let mut left = mid;
                for r in 0..R {
                    let y = TileFactors::<V, T::Element<V>>::of_column(to[r], j);
                    left[r] = next.neg_mul_add(mid[r], far.neg_mul_add(right[r], y * recip));
                    if j == 1 {
                        let take = *tile.first_row().wrapping_add(step).cast::<V::Mask>();
                        let [sub, diag, _] = tile.row(0);
                        let of_row = TileFactors::<V, T::Element<V>>::of_column(d[r], 0);
                        let rest = diag.neg_mul_add(first[r], sub.neg_mul_add(before[r], of_row));
                        let of_first = rest * T::Element::<V>::load(tile.first_row());
                        left[r] = T::Element::<V>::select(take, of_first, left[r]);
                    }
                    checks[r].see_x(left[r].measure());
                    conjugated::<V, T::Element<V>>(left[r], conj).store(to[r].add(j * step));
                }
                tile.check((j + 1, &d), [&left, &mid, &right], &mut checks);
                (right, mid) = (mid, left);
            }
            tile.check((1, &d), [&first, &mid, &right], &mut checks);
            tile.check((0, &d), [&before, &first, &mid], &mut checks);
            for r in 0..R {
                conjugated::<V, T::Element<V>>(first[r], conj).store(to[r]);
                write::<T, V>((to[r], step), m, x[r].as_mut_ptr());
                if !gaps[r].is_empty() {
                    checks[r].gap().store(gaps[r].as_mut_ptr());
                }
            }
        }
        read_checks::<T, V, R, true>(&checks)
    }
}

/// The element, or its conjugate.
#[inline(always)]
fn conjugated<V: Lanes, E: Element<V>>(element: E, conj: bool) -> E {
    if E::REALS == 2 && conj { element.conj() } else { element }
}
