//! Many right-hand sides of one banded matrix: each lane is a right-hand side, and all lanes use the same factors.
//!
//! The matrix is factored once, with scaled partial pivoting (LAPACK's `gbtrf`). A solve has no division and no choice of pivots:
//!
//! ```text
//! downwards:  exchange y[c] and y[c + p];   y[c + r] ← y[c + r] − l[c + r, c]·y[c]       for r = 1 … lower
//! upwards:    x[c] = (y[c] − Σ u[c, c + j]·x[c + j]) · 1/u[c, c]                         for j = 1 … lower + upper
//! ```
//!
//! A tile of rows stays in a buffer that fits into the second-level cache, with the rows that L and U reach beyond it. If there are several
//! tiles, y goes through the array of x. Rows may have another order than in memory.
//!
//! Cost per row and right-hand side with q = lower + upper: lower + q multiplications and additions, and q + 1 with the verification; 1 word
//! read and 1 written, with several tiles 3 and 2.

use super::Job;
use super::band_form::BandRun;
use super::lockstep::Shared;
use super::shared_matrix::{Group, SharedSystems, TOGETHER, load, put_checks, splat, store, vector_starts};
use super::sweep::{Check, each};
use super::tile::{STAGED_ROWS, Strides};
use crate::job::kernel;
use crate::memory::Array;
use crate::number::{Element, Lanes, Scalar};
use crate::simd::Simd;
use core::marker::PhantomData;
use core::ops::Range;

/// Maximum number of rows of a tile. Its right-hand sides and its y take four vectors of real numbers per row each, 256 bytes with AVX-512, and twice as
/// many of complex numbers.
const TILE: usize = 1024;

/// The factors of a banded matrix, row by row: S·A, L and U with P·S·A = L·U.
#[derive(Debug)]
pub struct SharedBandFactors<T: Scalar> {
    pub lower: usize,
    pub upper: usize,
    /// The power of two that scales each row, and Σ|aᵢⱼ| of the scaled row.
    pub scales: Vec<T::Real>,
    pub sums: Vec<T::Real>,
    /// Step c exchanges rows c and c + `exchange[c]`.
    pub exchange: Vec<u32>,
    /// [`stride`](Self::stride) numbers of each row c: the scaled row from the lowest diagonal on, L below the diagonal of column c, 1/u[c, c],
    /// and row c of U after its diagonal. Numbers outside of the matrix are zero.
    pub numbers: Array<T>,
}

impl<T: Scalar> SharedBandFactors<T> {
    /// Number of numbers of a row.
    pub const fn stride(lower: usize, upper: usize) -> usize {
        (lower + upper + 1) + lower + 1 + (lower + upper)
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.scales.len()
    }

    /// Number of off-diagonals.
    fn q(&self) -> usize {
        self.lower + self.upper
    }

    /// The scaled row c of A, the column of L, 1/pivot, and the row of U.
    #[inline(always)]
    fn row(&self, c: usize) -> (&[T], &[T], T, &[T]) {
        let q = self.q();
        let (row, rest) = self.numbers[c * Self::stride(self.lower, self.upper)..].split_at(q + 1);
        let (l, rest) = rest.split_at(self.lower);
        (row, l, rest[0], &rest[1..=q])
    }
}

/// Number of rows that are staged together, of a tile, and of those after it that are staged with it: the rows that L reaches.
fn tile(n: usize, lower: usize, rows: &[BandRun]) -> (usize, usize, usize) {
    let block = rows.first().map_or(1, BandRun::side_by_side);
    let tile = (TILE / block).max(1) * block;
    (block, tile.min(n), lower.next_multiple_of(block))
}

/// Number of reals of memory that a thread needs for n rows, also with Aᵀ. `rows` as for [`solve`].
pub fn memory<T: Scalar>(simd: Simd, (n, lower, upper): (usize, usize, usize), rows: &[BandRun]) -> usize {
    // y and the rows after it, and the right-hand sides. The widths of Aᵀ are exchanged.
    let (_, tile, after) = tile(n, lower.max(upper), rows);
    let rows = 2 * (tile + after) + lower + upper;
    (rows * TOGETHER * T::lanes(simd) * size_of::<T>() / size_of::<T::Real>()).next_multiple_of(16)
}

/// Solve for all right-hand sides. x goes to `out` from entry `first` on, in the same layout. Returns whether an x is large.
///
/// `rows` is the order of the rows ([`BandForm::rows`](super::band_form::BandForm::rows)), empty for that of memory. `errors` and `sizes`
/// are those of [`LockstepOptions`](super::lockstep::LockstepOptions). `memory` has at least the size that [`memory`](fn@memory) returns. If
/// `conj`, the matrix is replaced by its conjugate.
pub fn solve<T: Scalar>(
    simd: Simd,
    (factors, conj, rows): (&SharedBandFactors<T>, bool, &[BandRun]),
    systems: SharedSystems<'_, T>,
    (out, first): (&Shared<'_, T>, usize),
    ([errors, sizes], memory): ([&mut [T::Real]; 2], &mut [T::Real]),
) -> bool {
    let SharedSystems { rhs, n, strides, count } = systems;
    let SharedBandFactors { lower, upper, scales, sums, exchange, numbers } = factors;
    assert!(n > 0 && count >= T::lanes(simd));
    assert!(scales.len() == n && sums.len() == n && exchange.len() == n);
    assert!(numbers.len() == n * SharedBandFactors::<T>::stride(*lower, *upper));
    assert!(exchange.iter().enumerate().all(|(c, p)| *p as usize <= (*lower).min(n - 1 - c)));
    assert!(strides.lane == 1 || strides.row == 1);
    let end = (count - 1) * strides.lane + (n - 1) * strides.row + 1;
    assert!(rhs.len() >= end && first + end <= out.len);
    let (block, ..) = tile(n, *lower, rows);
    for run in rows {
        assert!(run.stride == 1 && run.last().is_some_and(|last| last < n));
        // Lines are whole blocks, which tiles do not cut.
        assert!(run.side_by_side() == block && (block == 1 || run.step_row == 1));
        run.each(|index, row, _| assert!(row < n && (index - run.from) % block == row % block));
    }
    assert!(rows.is_empty() || rows.iter().map(|run| run.outer * run.count).sum::<usize>() == n);
    assert!(errors.len() == count && sizes.len() == count);
    assert!(memory.len() >= self::memory::<T>(simd, (n, *lower, *upper), rows));
    let (rhs, out) = (rhs.as_ptr(), out.base.wrapping_add(first));
    SharedBandSubstitution { factors, conj, rows, rhs, out, strides, count, errors, sizes, memory }.run_on(simd)
}

pub struct SharedBandSubstitution<'a, T: Scalar> {
    factors: &'a SharedBandFactors<T>,
    conj: bool,
    rows: &'a [BandRun],
    rhs: *const T,
    out: *mut T,
    strides: Strides,
    count: usize,
    errors: &'a mut [T::Real],
    sizes: &'a mut [T::Real],
    memory: &'a mut [T::Real],
}

kernel!(SharedBandSubstitutionKernel: SharedBandSubstitution<'a> => bool);

impl<T: Scalar> Job<T> for SharedBandSubstitution<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> bool {
        if self.count <= 2 * V::W { self.solve::<V, 2>() } else { self.solve::<V, TOGETHER>() }
    }
}

impl<T: Scalar> SharedBandSubstitution<'_, T> {
    /// Solve in groups of `K` vectors.
    #[inline(always)]
    fn solve<V: Lanes<Real = T::Real>, const K: usize>(self) -> bool {
        let in_group = self.count.min(K * V::W);
        let starts = vector_starts::<K>(in_group, V::W);
        let (block, tile, after) = tile(self.factors.n(), self.factors.lower, self.rows);
        let y = self.memory.as_mut_ptr();
        let reach = self.factors.q();
        let d = y.wrapping_add((tile + after + reach) * K * T::Element::<V>::REALS * V::W);
        let mut large = false;
        for first in (0..self.count).step_by(in_group) {
            // The last group may overlap the group before, whose systems are then solved twice, with the same result.
            let first = first.min(self.count - in_group);
            let group = SharedBandGroup::<'_, T, K> {
                factors: self.factors,
                conj: self.conj,
                rows: self.rows,
                block,
                tile,
                after,
                rhs: self.rhs.wrapping_add(first * self.strides.lane),
                out: self.out.wrapping_add(first * self.strides.lane),
                strides: self.strides,
                starts,
            };
            // SAFETY: `solve` checked that the group lies inside both arrays, and the size of the memory.
            let checks = unsafe { group.solve::<V>(GroupRows::new(y), GroupRows::new(d)) };
            let (errors, sizes) = (&mut self.errors[first..], &mut self.sizes[first..]);
            large |= put_checks(&checks, &starts, reach + 1, [errors, sizes]);
        }
        large
    }
}

/// Rows of a group in memory: `K` elements of each.
#[derive(Clone, Copy)]
struct GroupRows<V: Lanes, E, const K: usize> {
    base: *mut V::Real,
    of: PhantomData<E>,
}

/// The rows of numbers of type `T`.
type GroupRowsOf<T, V, const K: usize> = GroupRows<V, <T as Scalar>::Element<V>, K>;

impl<V: Lanes, E: Element<V>, const K: usize> GroupRows<V, E, K> {
    /// # Safety
    /// There is memory for all rows that the other functions are called for.
    #[inline(always)]
    unsafe fn new(base: *mut V::Real) -> Self {
        Self { base, of: PhantomData }
    }

    /// Element `k` of row `i`.
    #[inline(always)]
    fn at(self, i: usize, k: usize) -> *mut V::Real {
        self.base.wrapping_add((i * K + k) * E::REALS * V::W)
    }

    /// # Safety
    /// The row was written.
    #[inline(always)]
    unsafe fn load(self, i: usize) -> Group<E, K> {
        // SAFETY: the caller's promise.
        unsafe { each!(k < K, E::splat(V::Real::ZERO), E::load(self.at(i, k))) }
    }

    /// # Safety
    /// The row exists.
    #[inline(always)]
    unsafe fn store(self, i: usize, group: Group<E, K>) {
        for (k, element) in group.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { element.store(self.at(i, k)) }
        }
    }

    /// Copy rows to those from `to` on.
    ///
    /// # Safety
    /// The rows were written, and the others exist.
    #[inline(always)]
    unsafe fn shift(self, rows: Range<usize>, to: usize) {
        let len = rows.len() * K * E::REALS * V::W;
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy(self.at(rows.start, 0), self.at(to, 0), len) }
    }
}

/// A group of right-hand sides.
#[derive(Clone, Copy)]
struct SharedBandGroup<'a, T: Scalar, const K: usize> {
    factors: &'a SharedBandFactors<T>,
    conj: bool,
    rows: &'a [BandRun],
    /// Number of rows that are staged together, a divisor of the next two numbers.
    block: usize,
    /// Number of rows of a tile, and of those that are staged after it.
    tile: usize,
    after: usize,
    rhs: *const T,
    out: *mut T,
    strides: Strides,
    starts: [usize; K],
}

impl<T: Scalar, const K: usize> SharedBandGroup<'_, T, K> {
    /// Compute x of the group, and return the checks.
    ///
    /// # Safety
    /// All rows of the group lie inside both arrays. `y` has `tile` + `after` + lower + upper rows, and `d` has `tile` + `after`.
    #[inline(always)]
    unsafe fn solve<V: Lanes<Real = T::Real>>(
        &self,
        y: GroupRowsOf<T, V, K>,
        d: GroupRowsOf<T, V, K>,
    ) -> [Check<V>; K] {
        let (n, lower, q) = (self.factors.n(), self.factors.lower, self.factors.q());
        let tiles = n.div_ceil(self.tile);
        let rows_of = |t: usize| t * self.tile..((t + 1) * self.tile).min(n);
        let after = |i: usize| (i + self.after).min(n);
        let mut checks = [Check::<V>::new(T::Real::ZERO); K];
        // SAFETY: the caller's promise. Row i of a tile that begins with row s is row i − s of the buffers.
        unsafe {
            for t in 0..tiles {
                let rows = rows_of(t);
                let first = if t == 0 { 0 } else { after(rows.start) };
                // The right-hand sides of a single tile are still there when they are checked.
                let to = [y, d];
                let to = if tiles == 1 { &to[..] } else { &to[..1] };
                self.stage::<V>((self.rhs, true), first..after(rows.end), (to, rows.start));
                for c in rows.clone() {
                    self.eliminate::<V>(c, y, c - rows.start);
                }
                if t + 1 < tiles {
                    self.write::<V>(rows.clone(), y);
                    y.shift(rows.len()..after(rows.end) - rows.start, 0);
                }
            }
            for t in (0..tiles).rev() {
                let rows = rows_of(t);
                if t + 1 < tiles {
                    y.shift(0..q.min(n - rows.end), self.tile);
                    self.stage::<V>((self.out, false), rows.clone(), (&[y], rows.start));
                }
                if tiles > 1 {
                    // Rows from the first one on that is checked here, or from the block that it is in.
                    let first = if t == 0 { 0 } else { (rows.start + lower).min(n) / self.block * self.block };
                    self.stage::<V>((self.rhs, true), first..after(rows.end), (&[d], rows.start));
                }
                for c in rows.clone().rev() {
                    self.substitute::<V>(c, y, c - rows.start, &mut checks);
                    if c + lower < n {
                        self.check::<V>(c + lower, (y, d), rows.start, &mut checks);
                    }
                }
                if t == 0 {
                    for i in 0..lower.min(n) {
                        self.check::<V>(i, (y, d), 0, &mut checks);
                    }
                }
                self.write::<V>(rows, y);
            }
        }
        checks
    }

    /// The given rows as runs in memory.
    #[inline(always)]
    fn runs(&self, rows: Range<usize>) -> impl Iterator<Item = BandRun> {
        (0..self.rows.len().max(1)).map(move |r| match self.rows.get(r) {
            Some(run) => run.within(&rows),
            None => BandRun::line(0, (rows.start, 1), (rows.start, 0), rows.len()),
        })
    }

    /// Copy rows of an array to buffers whose first row is row `start`, and multiply them by their scales if `scaled`.
    ///
    /// # Safety
    /// The rows lie inside the array and the buffers.
    #[inline(always)]
    unsafe fn stage<V: Lanes<Real = T::Real>>(
        &self,
        from: (*const T, bool),
        rows: Range<usize>,
        to: (&[GroupRowsOf<T, V, K>], usize),
    ) {
        for run in self.runs(rows) {
            for b in 0..run.blocks() {
                let (index, count, place) = run.block(b);
                // SAFETY: the caller's promise. For most blocks, the number of rows is a constant.
                unsafe {
                    if count == STAGED_ROWS {
                        self.stage_block::<V>(from, (index, STAGED_ROWS), place, to);
                    } else {
                        self.stage_block::<V>(from, (index, count), place, to);
                    }
                }
            }
        }
    }

    /// Copy `count` rows from `index` on to the rows from `row` on, with the distance `step`.
    ///
    /// # Safety
    /// As for `stage`.
    #[inline(always)]
    unsafe fn stage_block<V: Lanes<Real = T::Real>>(
        &self,
        (from, scaled): (*const T, bool),
        (index, count): (usize, usize),
        (row, step): (usize, isize),
        (to, start): (&[GroupRowsOf<T, V, K>], usize),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let block = load::<T, V, K>(from, (self.strides, &self.starts), (index, count));
            for i in 0..count {
                let row = row.wrapping_add_signed(step * i as isize);
                let scale = V::splat(if scaled { self.factors.scales[row] } else { T::Real::ONE });
                let group = each!(k < K, T::Element::<V>::splat(T::Real::ZERO), block[i][k].scale(scale));
                for to in to {
                    to.store(row - start, group);
                }
            }
        }
    }

    /// Copy rows of y, whose first row is the first of them, to x.
    ///
    /// # Safety
    /// As for `stage`.
    #[inline(always)]
    unsafe fn write<V: Lanes<Real = T::Real>>(&self, rows: Range<usize>, y: GroupRowsOf<T, V, K>) {
        let start = rows.start;
        for run in self.runs(rows) {
            for b in 0..run.blocks() {
                let (index, count, place) = run.block(b);
                // SAFETY: the caller's promise. For most blocks, the number of rows is a constant.
                unsafe {
                    if count == STAGED_ROWS {
                        self.write_block::<V>((index, STAGED_ROWS), place, (y, start));
                    } else {
                        self.write_block::<V>((index, count), place, (y, start));
                    }
                }
            }
        }
    }

    /// Copy the rows from `row` on, with the distance `step`, to `count` rows from `index` on.
    ///
    /// # Safety
    /// As for `stage`.
    #[inline(always)]
    unsafe fn write_block<V: Lanes<Real = T::Real>>(
        &self,
        (index, count): (usize, usize),
        (row, step): (usize, isize),
        (y, start): (GroupRowsOf<T, V, K>, usize),
    ) {
        let mut block = [[T::Element::<V>::splat(T::Real::ZERO); K]; STAGED_ROWS];
        // SAFETY: the caller's promise.
        unsafe {
            for i in 0..count {
                block[i] = y.load(row.wrapping_add_signed(step * i as isize) - start);
            }
            store::<T, V, K>(&block, self.out, (self.strides, &self.starts), (index, count));
        }
    }

    /// Exchange row `at` of y, that of unknown `c`, with its pivot row, and subtract multiples of the pivot row from the rows below.
    ///
    /// # Safety
    /// The rows were written.
    #[inline(always)]
    unsafe fn eliminate<V: Lanes<Real = T::Real>>(&self, c: usize, y: GroupRowsOf<T, V, K>, at: usize) {
        let (_, l, ..) = self.factors.row(c);
        let below = l.len().min(self.factors.n() - 1 - c);
        // SAFETY: the caller's promise.
        unsafe {
            let mut pivot = y.load(at);
            match self.factors.exchange[c] as usize {
                0 => {}
                p => {
                    let other = y.load(at + p);
                    y.store(at + p, pivot);
                    y.store(at, other);
                    pivot = other;
                }
            }
            for (r, l) in l[..below].iter().enumerate() {
                let l = self.splat::<V>(*l);
                let mut row = y.load(at + 1 + r);
                for k in 0..K {
                    row[k] = l.neg_mul_add(pivot[k], row[k]);
                }
                y.store(at + 1 + r, row);
            }
        }
    }

    /// Replace row `at` of y by unknown `c`.
    ///
    /// # Safety
    /// The unknowns below were computed.
    #[inline(always)]
    unsafe fn substitute<V: Lanes<Real = T::Real>>(
        &self,
        c: usize,
        y: GroupRowsOf<T, V, K>,
        at: usize,
        checks: &mut [Check<V>; K],
    ) {
        let (.., recip, u) = self.factors.row(c);
        let below = u.len().min(self.factors.n() - 1 - c);
        // SAFETY: the caller's promise.
        unsafe {
            let mut x = y.load(at);
            for (j, u) in u[..below].iter().enumerate().rev() {
                let (u, other) = (self.splat::<V>(*u), y.load(at + 1 + j));
                for k in 0..K {
                    x[k] = u.neg_mul_add(other[k], x[k]);
                }
            }
            let recip = self.splat::<V>(recip);
            for k in 0..K {
                x[k] = x[k] * recip;
                checks[k].see_x(x[k].measure());
            }
            y.store(at, x);
        }
    }

    /// Add the residuals of row `i` to the checks. The buffers begin with row `start`.
    ///
    /// # Safety
    /// The unknowns of the row were computed.
    #[inline(always)]
    unsafe fn check<V: Lanes<Real = T::Real>>(
        &self,
        i: usize,
        (x, d): (GroupRowsOf<T, V, K>, GroupRowsOf<T, V, K>),
        start: usize,
        checks: &mut [Check<V>; K],
    ) {
        let (n, lower) = (self.factors.n(), self.factors.lower);
        let (row, ..) = self.factors.row(i);
        let (first, end) = (lower.saturating_sub(i), row.len().min(n + lower - i));
        // SAFETY: the caller's promise.
        unsafe {
            let rhs = d.load(i - start);
            let mut residual = rhs;
            for (k, entry) in row[first..end].iter().enumerate() {
                let entry = self.splat::<V>(*entry);
                let x = x.load(i + first + k - lower - start);
                for k in 0..K {
                    residual[k] = entry.neg_mul_add(x[k], residual[k]);
                }
            }
            let sum = V::splat(self.factors.sums[i]);
            for k in 0..K {
                checks[k].see_row(residual[k].measure(), sum, rhs[k].measure());
            }
        }
    }

    /// The number in every lane, conjugated if the matrix is.
    #[inline(always)]
    fn splat<V: Lanes<Real = T::Real>>(&self, number: T) -> T::Element<V> {
        splat::<T, V>(number, self.conj)
    }
}
