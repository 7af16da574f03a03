//! LU of an open tridiagonal matrix, from both ends at once.

use super::{BitMask, Rule};
use crate::contract::determinant::ScaledProduct;
use crate::error::Result;
use crate::memory::array;
use crate::tuning::PIVOTED_STEPS;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::reciprocal;
use core::ops::Range;
use smallvec::SmallVec;

/// The order of elimination: unknowns 0, 1, … downwards and n−1, n−2, … upwards, to the unknown `middle` in which both meet.
///
/// Each step waits for the pivot of the step before. The two eliminations do not wait for each other, so that they take the time of one.
///
/// ```text
/// step    unknown     its rows
///  k      k           the running row of the upper half, k+1
///  k      last − k    the running row of the lower half, last − k − 1
/// ```
///
/// If n is odd, the lower half eliminates one more unknown, n−1, before step 0. After all steps, unknown `middle` − 1 is eliminated from the
/// two running rows, and one row with unknown `middle` is left.
#[derive(Debug, Clone, Copy)]
struct InwardOrder {
    middle: usize,
    /// The unknown that step 0 eliminates from below.
    last: usize,
    steps: usize,
}

impl InwardOrder {
    /// The order for n ≥ 1 rows.
    fn new(n: usize) -> Self {
        let middle = n / 2;
        let steps = middle.saturating_sub(1);
        Self { middle, last: middle + steps, steps }
    }

    /// The unknown n−1 if it is eliminated before step 0.
    fn first(&self, n: usize) -> Option<usize> {
        (self.last + 1 < n).then_some(n - 1)
    }

    /// The unknowns of step `k`.
    fn unknowns(&self, k: usize) -> [usize; 2] {
        [k, self.last - k]
    }

    /// The rows that are read in step `k`.
    fn rows(&self, k: usize) -> [usize; 2] {
        [k + 1, self.last - k - 1]
    }
}

/// The row of one half to which multiples of others have been added so far.
#[derive(Debug, Clone, Copy)]
struct RunningRow<T> {
    /// The entries of the unknown that is eliminated next and of the one after it.
    entries: [T; 2],
    rhs: T,
}

/// A row of U, and how it was found.
#[derive(Debug, Clone, Copy)]
struct RowOfU<T> {
    /// 1/u, and the entries of the next two unknowns towards the middle.
    upper: [T; 3],
    rhs: T,
    multiplier: T,
    /// Whether the other row became the row of U.
    exchange: BitMask,
    /// Whether the pivot is zero.
    singular: bool,
}

impl<T: Scalar> RunningRow<T> {
    /// Eliminate an unknown: subtract the row with its larger entry from the one with its smaller entry, this row or `other`.
    #[inline(always)]
    fn eliminate(&mut self, (other, rhs): ([T; 3], T), rule: Rule<T::Real>) -> RowOfU<T> {
        let (p, c) = (rule.denoise(self.entries[0]), rule.denoise(other[0]));
        let exchange = rule.prefers(c, p);
        let (u0, l0) = exchange.exchange(p, c);
        let (u1, l1) = exchange.exchange(self.entries[1], other[1]);
        let (u2, l2) = exchange.exchange(T::ZERO, other[2]);
        let (y, r) = exchange.exchange(self.rhs, rhs);
        let inverse = reciprocal(u0);
        let multiplier = l0 * inverse;
        *self = Self { entries: [l1 - multiplier * u1, l2 - multiplier * u2], rhs: r - multiplier * y };
        RowOfU { upper: [inverse, u1, u2], rhs: y, multiplier, exchange, singular: u0 == T::ZERO }
    }
}

/// The matrix and the right-hand side.
///
/// `USUAL` is for [`Rule::usual`], which takes fewer operations than any rule.
#[derive(Clone, Copy)]
struct InwardElimination<'a, T: Scalar, const USUAL: bool> {
    rows: Rows<'a, T>,
    rhs: &'a [T],
    rule: Rule<T::Real>,
}

/// The rows that one half reads in its steps, in the order of the matrix.
struct HalfRows<'a, T> {
    /// The entries of the unknown that is eliminated.
    outer: &'a [T],
    diag: &'a [T],
    inner: &'a [T],
    rhs: &'a [T],
}

/// The rows of U before the first step and after the last one, with their unknowns, and the scales of the first rows.
struct OuterRows<T: Scalar> {
    rows: SmallVec<[(usize, RowOfU<T>); 3]>,
    scales: SmallVec<[(usize, T::Real); 3]>,
}

impl<'a, T: Scalar, const USUAL: bool> InwardElimination<'a, T, USUAL> {
    #[inline(always)]
    fn rule(&self) -> Rule<T::Real> {
        if USUAL { Rule::usual() } else { self.rule }
    }

    /// Scale a row and its right-hand side. Returns the scale, too.
    #[inline(always)]
    fn scaled(&self, row: [T; 3], rhs: T) -> (([T; 3], T), T::Real) {
        let row = row.map(|v| if T::COMPLEX && self.rows.conj { Scalar::conj(v) } else { v });
        let scale = self.rule().scale_of((row[0], row[1], row[2]));
        ((row.map(|v| v.scale(scale)), rhs.scale(scale)), scale)
    }

    /// Row `i`, which is read outside of the steps, from the side of row i−1, or of row i+1 if `reversed`.
    fn load(&self, i: usize, reversed: bool) -> (([T; 3], T), T::Real) {
        let (sub, diag, sup) = Rows { conj: false, ..self.rows }.row(i);
        self.scaled(if reversed { [sup, diag, sub] } else { [sub, diag, sup] }, self.rhs[i])
    }

    /// What precedes step 0. Returns the running rows.
    fn begin(&self, order: InwardOrder) -> ([RunningRow<T>; 2], OuterRows<T>) {
        let n = self.rows.n();
        let mut outer = OuterRows { rows: SmallVec::new(), scales: SmallVec::new() };
        let mut running = [0, n - 1].map(|i| {
            let (([_, diag, next], rhs), scale) = self.load(i, i > 0);
            outer.scales.push((i, scale));
            RunningRow { entries: [diag, next], rhs }
        });
        if let Some(first) = order.first(n) {
            let (row, scale) = self.load(first - 1, true);
            outer.scales.push((first - 1, scale));
            outer.rows.push((first, running[1].eliminate(row, self.rule())));
        }
        (running, outer)
    }

    /// What follows the last step.
    fn end(&self, order: InwardOrder, [mut above, mut below]: [RunningRow<T>; 2], outer: &mut OuterRows<T>) {
        if order.middle > 0 {
            let other = [below.entries[1], below.entries[0], T::ZERO];
            outer.rows.push((order.middle - 1, above.eliminate((other, below.rhs), self.rule())));
            below = above;
        }
        // A row of zeros changes nothing.
        outer.rows.push((order.middle, below.eliminate(([T::ZERO; 3], T::ZERO), self.rule())));
    }

    /// The rows that both halves read in all steps.
    #[inline(always)]
    fn parts(&self, order: InwardOrder) -> [HalfRows<'a, T>; 2] {
        let Rows { sub, diag, sup, .. } = self.rows;
        // Without a step, there may be no row 1.
        let start = order.steps.min(1);
        let above = start..start + order.steps;
        let below = order.last - order.steps..order.last;
        let neighbours = |rows: &Range<usize>| rows.start.max(1) - 1..rows.end.max(1) - 1;
        [
            HalfRows {
                outer: &sub[neighbours(&above)],
                diag: &diag[above.clone()],
                inner: &sup[above.clone()],
                rhs: &self.rhs[above],
            },
            HalfRows {
                outer: &sup[below.clone()],
                diag: &diag[below.clone()],
                inner: &sub[neighbours(&below)],
                rhs: &self.rhs[below],
            },
        ]
    }

    /// The first row without a pivot in an elimination from above alone.
    fn first_without_pivot(&self) -> Option<usize> {
        let n = self.rows.n();
        let (([_, diag, next], rhs), _) = self.load(0, false);
        let mut running = RunningRow { entries: [diag, next], rhs };
        (0..n).find(|i| {
            let other = if i + 1 < n { self.load(i + 1, false).0 } else { ([T::ZERO; 3], T::ZERO) };
            running.eliminate(other, self.rule()).singular
        })
    }

    /// Eliminate the unknowns of step `k`, and call `keep` with the half, the row of U, and the scale of the row that was read.
    #[inline(always)]
    fn step(
        &self,
        [above, below]: &[HalfRows<'a, T>; 2],
        k: usize,
        running: &mut [RunningRow<T>; 2],
        mut keep: impl FnMut(usize, RowOfU<T>, T::Real),
    ) {
        let opposite = below.diag.len() - 1 - k;
        for (half, (part, i)) in [(above, k), (below, opposite)].into_iter().enumerate() {
            let (row, scale) = self.scaled([part.outer[i], part.diag[i], part.inner[i]], part.rhs[i]);
            keep(half, running[half].eliminate(row, self.rule()), scale);
        }
    }
}

/// x_k = (y_k − u_k,k+1 x_k+1 − u_k,k+2 x_k+2) / u_kk, where `known` are the two unknowns towards the middle. Returns x_k with the next one.
#[inline(always)]
fn back<T: Scalar>([inverse, u1, u2]: [T; 3], y: T, known: [T; 2]) -> [T; 2] {
    [(y - u2 * known[1] - u1 * known[0]) * inverse, known[0]]
}

/// Factors of an open tridiagonal matrix.
///
/// S scales the rows. Each step Pₖ exchanges two rows or does nothing, and then Lₖ subtracts a multiple of one from the other:
///
/// ```text
/// Lₙ₋₂ Pₙ₋₂ ⋯ L₀ P₀ S A = U
/// ```
///
/// The rows of U have two entries beside the diagonal, towards the middle.
///
/// # Source
/// LAPACK `gttrf`, `gttrs`, with rows equilibrated first, and from both ends as in LINPACK's `ptsl` (Dongarra, Bunch, Moler & Stewart, *LINPACK
/// Users' Guide*, 1979).
#[derive(Debug)]
pub(crate) struct Open<T: Scalar> {
    scale: Array<T::Real>,
    /// For each unknown: 1 if rows were exchanged before it was eliminated.
    exchange: Array<u8>,
    multiplier: Array<T>,
    /// For each unknown 1/u, and the entries of the next two unknowns towards the middle.
    upper: Array<T>,
    /// The first row without a pivot.
    singular: Option<usize>,
}

impl<T: Scalar> Open<T> {
    /// Memory for the factors of a matrix of n rows, without factors.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn empty(n: usize, pool: Option<&MemoryPool>) -> Result<Self> {
        let (scale, exchange, upper) = (array(n, pool)?, array(n, pool)?, array(n.saturating_mul(3), pool)?);
        Ok(Self { scale, exchange, multiplier: array(n, pool)?, upper, singular: None })
    }

    /// Factor the matrix.
    ///
    /// # Cost
    /// Per row: 1 division, 6 other operations and 2 exchanges of values; 3 words read, 5 written.
    pub fn factor(&mut self, rows: Rows<'_, T>, rule: Rule<T::Real>) {
        // Of the elimination of a right-hand side, nothing is kept.
        self.eliminate((rows, rule), rows.diag, |_, _| {});
    }

    /// Factor the matrix and solve A·x = d. Each bit of x is that of [`solve`](Self::solve). Whenever more unknowns are known, `solved` is
    /// called with x and the range of all that are known.
    ///
    /// # Cost
    /// Less than that of [`factor`](Self::factor) and `solve`: L is not read.
    pub fn factor_and_solve(
        &mut self,
        of: (Rows<'_, T>, Rule<T::Real>),
        (rhs, x): (&[T], &mut [T]),
        solved: impl FnMut(&[T], Range<usize>),
    ) {
        self.eliminate(of, rhs, |unknown, y| x[unknown] = y);
        self.back(x, solved);
    }

    /// Compute the factors, and call `keep` with each unknown and the right-hand side of its row of U.
    fn eliminate(&mut self, (rows, rule): (Rows<'_, T>, Rule<T::Real>), rhs: &[T], keep: impl FnMut(usize, T)) {
        if rows.n() == 0 {
            return;
        }
        if rule.is_usual() {
            self.eliminate_by(InwardElimination::<T, true> { rows, rhs, rule }, keep);
        } else {
            self.eliminate_by(InwardElimination::<T, false> { rows, rhs, rule }, keep);
        }
    }

    fn eliminate_by<const USUAL: bool>(
        &mut self,
        system: InwardElimination<'_, T, USUAL>,
        mut keep: impl FnMut(usize, T),
    ) {
        let order = InwardOrder::new(system.rows.n());
        let (scales, exchanges, multipliers) = (&mut *self.scale, &mut *self.exchange, &mut *self.multiplier);
        let (uppers, mut singular) = (self.upper.as_chunks_mut::<3>().0, false);
        let mut store = |unknown: usize, row: RowOfU<T>| {
            singular |= row.singular;
            uppers[unknown] = row.upper;
            multipliers[unknown] = row.multiplier;
            exchanges[unknown] = u8::from(row.exchange.is_set());
            keep(unknown, row.rhs);
        };
        let (mut running, mut outer) = system.begin(order);
        let parts = system.parts(order);
        for k in 0..order.steps {
            system.step(&parts, k, &mut running, |half, row, scale| {
                scales[order.rows(k)[half]] = scale;
                store(order.unknowns(k)[half], row);
            });
        }
        system.end(order, running, &mut outer);
        outer.scales.iter().for_each(|(row, scale)| scales[*row] = *scale);
        outer.rows.into_iter().for_each(|(unknown, row)| store(unknown, row));
        // Rows are counted in the order of LAPACK. If rounding finds a pivot for each of them in that order, all columns are dependent.
        let last = system.rows.n() - 1;
        self.singular = singular.then(|| system.first_without_pivot().unwrap_or(last));
    }

    /// The first row without a pivot.
    pub fn singular(&self) -> Option<usize> {
        self.singular
    }

    /// The rows of U.
    fn upper(&self) -> &[[T; 3]] {
        self.upper.as_chunks().0
    }

    /// Return det A.
    pub fn product(&self) -> ScaledProduct {
        let exchanges = self.exchange.iter().filter(|exchange| **exchange != 0).count();
        ScaledProduct::of_factors(self.upper().iter().map(|row| row[0]), &self.scale, exchanges)
    }

    /// Solve A·x = x in place.
    ///
    /// # Cost
    /// Per row: 8 operations; 6 words of factors read, x read and written twice.
    pub fn solve(&self, x: &mut [T]) {
        let n = x.len();
        if n == 0 {
            return;
        }
        let (order, scale, exchange, multiplier) =
            (InwardOrder::new(n), &*self.scale, &*self.exchange, &*self.multiplier);
        let scaled = |x: &[T], i: usize| x[i].scale(scale[i]);
        // Eliminate an unknown from the right-hand sides of two rows. Returns the one that belongs to U, and the other.
        let forward = |unknown: usize, running: T, other: T| {
            let (y, r) = BitMask::from_bool(exchange[unknown] != 0).exchange(running, other);
            (y, r - multiplier[unknown] * y)
        };
        let mut running = [scaled(x, 0), scaled(x, n - 1)];
        if let Some(first) = order.first(n) {
            (x[first], running[1]) = forward(first, running[1], scaled(x, first - 1));
        }
        for k in 0..order.steps {
            for half in 0..2 {
                let (unknown, row) = (order.unknowns(k)[half], order.rows(k)[half]);
                (x[unknown], running[half]) = forward(unknown, running[half], scaled(x, row));
            }
        }
        x[order.middle] = running[1];
        if order.middle > 0 {
            (x[order.middle - 1], x[order.middle]) = forward(order.middle - 1, running[0], running[1]);
        }
        self.back(x, |_, _| {});
    }

    /// Solve U·x = x in place, from the middle. Whenever more unknowns are known, `solved` is called with x and the range of all that are known.
    fn back(&self, x: &mut [T], mut solved: impl FnMut(&[T], Range<usize>)) {
        let n = x.len();
        if n == 0 {
            return;
        }
        let (order, upper) = (InwardOrder::new(n), self.upper());
        let mut known = meet(order, x, upper);
        let mut end = order.steps;
        while end > 0 {
            let steps = end.saturating_sub(PIVOTED_STEPS)..end;
            for k in steps.clone().rev() {
                for (known, unknown) in known.iter_mut().zip(order.unknowns(k)) {
                    *known = back(upper[unknown], x[unknown], *known);
                    x[unknown] = known[0];
                }
            }
            end = steps.start;
            let [first, last] = order.unknowns(end);
            solved(x, first..last + 1);
        }
        if let Some(first) = order.first(n) {
            [x[first], _] = back(upper[first], x[first], known[1]);
        }
        solved(x, 0..n);
    }

    /// Solve Aᵀ·x = x in place.
    ///
    /// # Cost
    /// That of [`solve`](Self::solve).
    pub fn solve_transpose(&self, x: &mut [T]) {
        let n = x.len();
        if n == 0 {
            return;
        }
        let (order, upper, scale) = (InwardOrder::new(n), self.upper(), &*self.scale);
        let (exchange, multiplier) = (&*self.exchange, &*self.multiplier);
        // Uᵀ: z_k = (x_k − Σ u_jk z_j) / u_kk. The sums of one half for its next two unknowns are carried along.
        let carry = |x: &mut [T], unknown: usize, sums: [T; 2]| {
            let [inverse, u1, u2] = upper[unknown];
            let z = (x[unknown] - sums[0]) * inverse;
            x[unknown] = z;
            [sums[1] + u1 * z, u2 * z]
        };
        let mut sums = [[T::ZERO; 2]; 2];
        if let Some(first) = order.first(n) {
            sums[1] = carry(x, first, sums[1]);
        }
        for k in 0..order.steps {
            for (sums, unknown) in sums.iter_mut().zip(order.unknowns(k)) {
                *sums = carry(x, unknown, *sums);
            }
        }
        let [mut above, below] = sums;
        if order.middle > 0 {
            above = carry(x, order.middle - 1, [above[0] + below[1], above[1]]);
        }
        carry(x, order.middle, [above[0] + below[0], T::ZERO]);
        // Lᵀ, exchanges and scales, from the middle. Returns what belongs to the running row, and to the other row.
        let backward = |unknown: usize, z: T, other: T| {
            BitMask::from_bool(exchange[unknown] != 0).exchange(z - multiplier[unknown] * other, other)
        };
        let mut running = [T::ZERO, x[order.middle]];
        if order.middle > 0 {
            running = backward(order.middle - 1, x[order.middle - 1], x[order.middle]).into();
        }
        let mut step = |half: usize, unknown: usize, row: usize| {
            let (of_running, of_row) = backward(unknown, x[unknown], running[half]);
            (running[half], x[row]) = (of_running, of_row.scale(scale[row]));
        };
        for k in (0..order.steps).rev() {
            (0..2).for_each(|half| step(half, order.unknowns(k)[half], order.rows(k)[half]));
        }
        if let Some(first) = order.first(n) {
            step(1, first, first - 1);
        }
        x[n - 1] = running[1].scale(scale[n - 1]);
        if order.middle > 0 {
            x[0] = running[0].scale(scale[0]);
        }
    }
}

/// Solve for the unknowns `middle` and `middle` − 1, whose right-hand sides are in x. Returns the last two unknowns of each half.
fn meet<T: Scalar>(order: InwardOrder, x: &mut [T], upper: &[[T; 3]]) -> [[T; 2]; 2] {
    let middle = order.middle;
    let below = back(upper[middle], x[middle], [T::ZERO; 2]);
    x[middle] = below[0];
    if middle == 0 {
        return [[T::ZERO; 2], below];
    }
    let above = back(upper[middle - 1], x[middle - 1], below);
    x[middle - 1] = above[0];
    [above, [below[0], above[0]]]
}
