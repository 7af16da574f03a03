//! Inertia of a Hermitian band by elimination of dense fronts, from both ends of the matrix to its middle.
//!
//! A front contains the columns that wait, a block of rows whose entries are complete, and the neighbouring block. Elimination of the
//! complete columns computes
//!
//! ```text
//! F = L·D·Lᴴ,   D: diagonal blocks of 1 × 1 or 2 × 2 entries
//! ```
//!
//! The entries of L are at most 1/[`THRESHOLD`] in modulus. A column without such a pivot waits for the next front. In the last front, in
//! the middle, all columns are complete. A pivot then always exists, unless numbers overflow.
//!
//! If processes own consecutive rows ([`InertiaPart`]), each process eliminates all its rows except the last block. The last block of the
//! previous process stays in the fronts as a border. Merging two neighbouring parts eliminates the block between them, until one part is
//! left: In(A) = In(D) + In(A / D) (Haynsworth).

use bandsolve::memory::{allocate, collected, zeroed};
use bandsolve::{RealScalar, Result, Scalar, Simd};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::vectors::subtract_multiple;
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Job, Lanes, dispatch, threads};
use core::mem;
use core::ops::Range;

/// A function that returns an entry of a Hermitian matrix, in the lower or the upper triangle.
pub(crate) type HermitianEntry<'a, T> = &'a (dyn Fn(usize, usize) -> T + Sync);

/// The smallest modulus of a pivot, relative to the largest entry of its column. Up to 1/2, the last front always has a pivot.
const THRESHOLD: f64 = 0.25;

/// The number of columns to eliminate before one update of all other columns.
const PANEL: usize = 32;

/// The number of columns to update together. The update also computes entries above the diagonal, which nothing reads.
const STRIP: usize = 48;

/// Count the negative eigenvalues of a matrix of n rows. `None` if numbers overflow.
///
/// Entries couple a block of `step` rows only with itself and its two neighbours.
///
/// # Errors
/// [`OutOfMemory`](bandsolve::Error::OutOfMemory).
pub(crate) fn negatives<T: Scalar>(
    n: usize,
    step: usize,
    simd: Simd,
    entry: HermitianEntry<'_, T>,
) -> Result<Option<usize>> {
    let blocks = n.div_ceil(step);
    let middle = blocks / 2;
    let rows = |block: usize| block * step..((block + 1) * step).min(n);
    let half = |ends: &mut dyn Iterator<Item = usize>| -> Result<HermitianFront<T>> {
        let mut front = HermitianFront::default();
        for block in ends {
            let next = if block < middle { block + 1 } else { block - 1 };
            front.assemble(rows(block), rows(next), 0..0, entry)?;
            front.eliminate(simd)?;
        }
        Ok(front)
    };
    let (above, below) = threads::join(|| half(&mut (0..middle)), || half(&mut (middle + 1..blocks).rev()));
    let mut last = above?.meet(below?, rows(middle), entry)?;
    last.eliminate(simd)?;
    Ok((last.done == last.order).then_some(last.negatives))
}

/// The Schur complement after elimination of consecutive rows of a distributed Hermitian matrix.
///
/// ```text
/// A = (A_ii A_ib; A_bi A_bb),   In(A) = In(A_ii) + In(A_bb − A_bi·A_ii⁻¹·A_ib)
/// ```
///
/// # Source
/// E. V. Haynsworth, Linear Algebra Appl. 1 (1968).
#[derive(Debug, Clone)]
pub struct InertiaPart<T> {
    /// The number of negative pivots so far.
    pub negatives: usize,
    /// The number of columns without a pivot, of the last block, and of the last block of the previous process.
    pub columns: [usize; 3],
    /// The lower triangle of the Schur complement, by columns. The columns have the same order as in `columns`.
    pub matrix: Vec<T>,
}

/// The numbers of rows of one process. Row 0 is the first row of the last block of the previous process.
#[derive(Debug, Clone, Copy)]
pub struct InertiaRows {
    /// Rows in the last block of the previous process. 0 on the first process.
    pub before: usize,
    /// Rows to eliminate. Entries couple these rows with at most `before` rows before and `behind` rows behind.
    pub inner: usize,
    /// Rows in the last block, which stays. 0 on the last process.
    pub behind: usize,
    /// Rows per block of inner rows, at least `before` and `behind`. Entries couple only neighbouring blocks.
    pub step: usize,
}

impl<T: Scalar> InertiaPart<T> {
    /// Make a part without rows.
    pub const fn nothing() -> Self {
        Self { negatives: 0, columns: [0; 3], matrix: Vec::new() }
    }

    /// Eliminate the inner rows. `entry` returns entries of both triangles, and zeros outside the band.
    ///
    /// # Cost
    /// 19/3·step² flops per row (7/3·step² on the first process), and memory for two fronts of 3·step rows.
    ///
    /// # Errors
    /// [`OutOfMemory`](bandsolve::Error::OutOfMemory).
    pub fn of_rows(rows: InertiaRows, entry: HermitianEntry<'_, T>) -> Result<Self> {
        let InertiaRows { before, inner, behind, step } = rows;
        let (simd, end) = (Simd::detect(), before + inner);
        let mut front = HermitianFront::default();
        for first in (before..end).step_by(step) {
            let last = (first + step).min(end);
            let next = if last == end { end..end + behind } else { last..(last + step).min(end) };
            front.assemble(first..last, next, 0..before, entry)?;
            front.eliminate(simd)?;
        }
        front.assemble(end..end + behind, 0..0, 0..before, entry)?;
        let columns = [front.complete - behind, behind, before];
        Ok(Self { negatives: front.negatives, columns, matrix: front.matrix })
    }

    /// Merge this part with the next one, and eliminate the block between them. A part without rows changes nothing.
    ///
    /// # Cost
    /// 19/3·K³ flops for blocks of K rows, and memory for a front of 3·K rows.
    ///
    /// # Errors
    /// [`OutOfMemory`](bandsolve::Error::OutOfMemory).
    pub fn merge(self, next: Self) -> Result<Self> {
        let negatives = self.negatives + next.negatives;
        if self.order() == 0 || next.order() == 0 {
            let part = if self.order() == 0 { next } else { self };
            return Ok(Self { negatives, ..part });
        }
        let ([waiting, shared, before], [next_waiting, behind, _]) = (self.columns, next.columns);
        let (between, complete) = (waiting + shared, waiting + shared + next_waiting);
        let inside = complete + behind;
        let order = inside + before;
        let mut front = HermitianFront::zero(order, complete, negatives)?;
        front.add(&self.into(), |place| if place < between { place } else { place - between + inside });
        let edge = next_waiting + behind;
        front.add(&next.into(), |place| if place < edge { between + place } else { waiting + place - edge });
        front.eliminate(Simd::detect())?;
        let (negatives, columns) = (front.negatives, [front.waiting(), behind, before]);
        let remaining = front.remaining();
        let inside = remaining.clone().flat_map(|j| remaining.clone().map(move |i| i + j * order));
        let places = inside.take(remaining.len() * remaining.len());
        Ok(Self { negatives, columns, matrix: collected(places.map(|place| front.matrix[place]))? })
    }

    /// Count the negative eigenvalues of the matrix, if this part has all its rows. `None` if numbers overflow.
    ///
    /// # Errors
    /// [`OutOfMemory`](bandsolve::Error::OutOfMemory).
    pub fn count(self) -> Result<Option<usize>> {
        let mut last: HermitianFront<T> = self.into();
        last.eliminate(Simd::detect())?;
        Ok((last.done == last.order).then_some(last.negatives))
    }

    /// The order of the Schur complement.
    pub fn order(&self) -> usize {
        self.columns.iter().sum()
    }
}

impl<T> From<InertiaPart<T>> for HermitianFront<T> {
    fn from(part: InertiaPart<T>) -> Self {
        let [waiting, behind, before] = part.columns;
        let order = waiting + behind + before;
        Self { matrix: part.matrix, order, complete: waiting, done: 0, negatives: part.negatives, kept: None }
    }
}

/// A dense front: the rows and columns under elimination.
#[derive(Debug)]
pub(crate) struct HermitianFront<T> {
    /// The lower triangle, in columns of `order` entries.
    pub matrix: Vec<T>,
    pub order: usize,
    /// The number of complete columns, which come first. Only complete columns can be eliminated.
    pub complete: usize,
    /// The number of eliminated columns.
    pub done: usize,
    /// The number of negative eigenvalues of D so far, in all fronts.
    pub negatives: usize,
    /// The exchanges, if the factors are kept.
    pub kept: Option<KeptPivots>,
}

/// The order of the rows of a front whose factors are kept. The front then contains the columns of L, with D in place of the diagonal of L.
#[derive(Debug)]
pub(crate) struct KeptPivots {
    /// The row before the elimination of each row.
    pub rows: Vec<u32>,
    /// Whether a column is the first of a pivot of two columns.
    pub pairs: Vec<bool>,
}

impl<T> Default for HermitianFront<T> {
    fn default() -> Self {
        Self { matrix: Vec::new(), order: 0, complete: 0, done: 0, negatives: 0, kept: None }
    }
}

impl<T: Scalar> HermitianFront<T> {
    /// Make a front of zeros.
    pub fn zero(order: usize, complete: usize, negatives: usize) -> Result<Self> {
        Ok(Self { matrix: zeroed(order.saturating_mul(order))?, order, complete, done: 0, negatives, kept: None })
    }

    /// Keep the columns of L and D.
    pub fn keep(&mut self) -> Result<()> {
        let pairs = allocate(self.complete, false)?;
        self.kept = Some(KeptPivots { rows: collected(0..self.order as u32)?, pairs });
        Ok(())
    }

    /// Eliminate all complete columns with a pivot.
    pub fn eliminate(&mut self, simd: Simd) -> Result<()> {
        dispatch::<T, _>(simd, EliminateFront(self))
    }

    /// The columns that are not eliminated: those that wait, and those that were not complete.
    pub fn remaining(&self) -> Range<usize> {
        self.done..self.order
    }

    /// The number of columns that wait.
    pub fn waiting(&self) -> usize {
        self.complete - self.done
    }

    /// Add the remaining columns of another front. Its row and column i become row and column `to(i)` of this front.
    pub fn add(&mut self, other: &Self, to: impl Fn(usize) -> usize) {
        for j in other.remaining() {
            for i in j..other.order {
                let (row, column, value) = (to(i), to(j), other.matrix[i + j * other.order]);
                if row >= column {
                    self.matrix[row + column * self.order] += value;
                } else {
                    self.matrix[column + row * self.order] += value.conj();
                }
            }
        }
    }

    /// Add the entries of a diagonal block. Its first row becomes row `at` of the front.
    fn add_block(&mut self, at: usize, rows: Range<usize>, entry: HermitianEntry<'_, T>) {
        for (j, column) in rows.clone().enumerate() {
            for (i, row) in rows.clone().enumerate().skip(j) {
                let value = entry(row, column);
                self.matrix[at + i + (at + j) * self.order] += if i == j { T::from_real(value.re()) } else { value };
            }
        }
    }

    /// Replace this front by the next one.
    ///
    /// The next front contains the remaining columns of this front, the block `next`, and the `border`. The block `rows` becomes complete. The
    /// border is the same for all fronts.
    fn assemble(
        &mut self,
        rows: Range<usize>,
        next: Range<usize>,
        border: Range<usize>,
        entry: HermitianEntry<'_, T>,
    ) -> Result<()> {
        let last = mem::take(self);
        let waiting = last.waiting();
        let complete = waiting + rows.len();
        let inside = complete + next.len();
        let order = inside + border.len();
        *self = Self::zero(order, complete, last.negatives)?;
        let edge = last.order.saturating_sub(border.len());
        self.add(&last, |place| if place < edge { place - last.done } else { place - edge + inside });
        self.add_block(waiting, rows.clone(), entry);
        // Only the block next to the border has entries in the border.
        let near = rows.start == border.end;
        for (j, column) in rows.enumerate() {
            let beside = &mut self.matrix[(waiting + j) * order..][complete..order];
            let outside = border.clone().filter(|_| near);
            beside.iter_mut().zip(next.clone().chain(outside)).for_each(|(value, row)| *value += entry(row, column));
        }
        Ok(())
    }

    /// Make the last front, from the remaining columns on both sides of the middle block of rows.
    fn meet(self, other: Self, rows: Range<usize>, entry: HermitianEntry<'_, T>) -> Result<Self> {
        let [first, second] = [self.waiting(), other.waiting()];
        let before = first + second;
        let order = before + rows.len();
        let mut last = Self::zero(order, order, self.negatives + other.negatives)?;
        last.add(&self, |place| if place < self.complete { place - self.done } else { place - self.complete + before });
        last.add(&other, |place| {
            if place < other.complete { first + place - other.done } else { place - other.complete + before }
        });
        last.add_block(before, rows, entry);
        Ok(last)
    }

    /// Exchange rows and columns p < q. Columns before `from` are no longer needed, unless they are kept.
    fn exchange(&mut self, from: usize, p: usize, q: usize) {
        let m = self.order;
        let a = &mut self.matrix;
        let from = match &mut self.kept {
            Some(kept) => {
                kept.rows.swap(p, q);
                0
            }
            None => from,
        };
        (from..p).for_each(|j| a.swap(p + j * m, q + j * m));
        a.swap(p + p * m, q + q * m);
        a[q + p * m] = a[q + p * m].conj();
        for i in p + 1..q {
            let (in_column, in_row) = (a[i + p * m].conj(), a[q + i * m].conj());
            (a[i + p * m], a[q + i * m]) = (in_row, in_column);
        }
        (q + 1..m).for_each(|i| a.swap(i + p * m, i + q * m));
    }
}

/// Columns of L·D whose updates of the front are pending. The conjugate of entry j of row i is at place j + i·[`PANEL`].
struct FrontPanel<T> {
    /// The first column.
    from: usize,
    rows: Vec<T>,
    /// Two updated columns of the front: the candidate for a pivot, and a possible partner.
    columns: [Vec<T>; 2],
}

/// The job that eliminates all complete columns with a pivot.
struct EliminateFront<'a, T>(&'a mut HermitianFront<T>);

/// The pivot for a column.
enum Pivot {
    /// The diagonal entry of the column.
    Single,
    /// The diagonal entry of another column.
    Other(usize),
    /// The 2 × 2 block of the column and another one.
    Pair(usize),
    /// No pivot: the column waits.
    None,
}

impl<T: Scalar> Job<T> for EliminateFront<'_, T> {
    type Output = Result<()>;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Result<()> {
        let front = self.0;
        if front.complete == 0 {
            return Ok(());
        }
        let m = front.order;
        let mut panel = FrontPanel { from: 0, rows: zeroed(m * PANEL)?, columns: [zeroed(m)?, zeroed(m)?] };
        // Columns from `candidates` on have had no pivot since the last elimination.
        let mut candidates = front.complete;
        while front.done < front.complete {
            if candidates <= front.done {
                break;
            }
            if front.done + 2 > panel.from + PANEL {
                panel.update::<V>(front);
            }
            match panel.pivot::<V>(front, candidates) {
                Pivot::Single => panel.single(front),
                Pivot::Other(r) => {
                    panel.exchange(front, front.done, r);
                    panel.columns.swap(0, 1);
                    panel.columns[0].swap(front.done, r);
                    panel.single(front);
                }
                Pivot::Pair(r) => panel.pair(front, r),
                Pivot::None => {
                    candidates -= 1;
                    if candidates > front.done {
                        panel.exchange(front, front.done, candidates);
                    }
                    continue;
                }
            }
            candidates = front.complete;
        }
        panel.update::<V>(front);
        Ok(())
    }
}

impl<T: Scalar> FrontPanel<T> {
    /// Apply the pending updates to column c of the front. `columns[which]` contains its rows from `first` on.
    #[inline(always)]
    fn subtract<V: Lanes<Real = T::Real>>(
        &mut self,
        front: &HermitianFront<T>,
        which: usize,
        (c, first): (usize, usize),
    ) {
        let m = front.order;
        for j in self.from..front.done {
            let factor = self.rows[c * PANEL + j - self.from];
            subtract_multiple::<V, T>(
                &mut self.columns[which][first..m],
                factor,
                &front.matrix[j * m + first..][..m - first],
            );
        }
    }

    /// Update the next column, and choose a pivot for it among the first `candidates` columns.
    #[inline(always)]
    fn pivot<V: Lanes<Real = T::Real>>(&mut self, front: &HermitianFront<T>, candidates: usize) -> Pivot {
        let (m, q) = (front.order, front.done);
        let threshold = T::Real::from_f64(THRESHOLD);
        self.columns[0][q..].copy_from_slice(&front.matrix[q * m + q..][..m - q]);
        self.subtract::<V>(front, 0, (q, q));
        let diagonal_q = self.columns[0][q].re();
        let (r, inside) = largest(&self.columns[0], q + 1..candidates, m);
        let (_, outside) = largest(&self.columns[0], candidates..m, m);
        let most = if outside > inside { outside } else { inside };
        if Scalar::is_finite(diagonal_q) && diagonal_q.abs1() >= threshold * most {
            return Pivot::Single;
        }
        if inside <= T::Real::ZERO {
            return Pivot::None;
        }
        let (left, right) = self.columns[1].split_at_mut(r);
        left[q..].iter_mut().enumerate().for_each(|(k, x)| *x = front.matrix[r + (q + k) * m].conj());
        right.copy_from_slice(&front.matrix[r * m + r..][..m - r]);
        self.subtract::<V>(front, 1, (r, q));
        let diagonal_r = self.columns[1][r].re();
        let beside = |column: &[T]| {
            let parts = [q + 1..r, r + 1..m].map(|rows| largest(column, rows, m).1);
            if parts[1] > parts[0] { parts[1] } else { parts[0] }
        };
        let [beside_q, beside_r] = [beside(&self.columns[0]), beside(&self.columns[1])];
        let size = self.columns[0][r].abs();
        let most = if self.columns[1][q].abs1() > beside_r { self.columns[1][q].abs1() } else { beside_r };
        if Scalar::is_finite(diagonal_r) && diagonal_r.abs1() >= threshold * most {
            return Pivot::Other(r);
        }
        // The entries of L are bounded by |D⁻¹| times the largest entries outside D.
        let [diagonal_q, diagonal_r] = [diagonal_q / size, diagonal_r / size];
        let bound = (diagonal_q * diagonal_r - T::Real::ONE).abs1() * size;
        let [first, second] = [diagonal_r.abs1() * beside_q + beside_r, beside_q + diagonal_q.abs1() * beside_r];
        let holds = first * threshold <= bound && second * threshold <= bound;
        if holds { Pivot::Pair(r) } else { Pivot::None }
    }

    /// Exchange rows and columns p < q of the front and the panel.
    fn exchange(&mut self, front: &mut HermitianFront<T>, p: usize, q: usize) {
        front.exchange(self.from, p, q);
        (0..PANEL).for_each(|j| self.rows.swap(p * PANEL + j, q * PANEL + j));
    }

    /// Eliminate the next column, which is updated, with its diagonal entry.
    #[inline(always)]
    fn single(&mut self, front: &mut HermitianFront<T>) {
        let (m, q) = (front.order, front.done);
        let pivot = self.columns[0][q].re();
        let l = &mut front.matrix[q * m..][..m];
        for i in q + 1..m {
            let x = self.columns[0][i];
            self.rows[i * PANEL + q - self.from] = x.conj();
            // The pivot is zero only if the whole column is zero.
            l[i] = if pivot == T::Real::ZERO { T::ZERO } else { T::from_parts(x.re() / pivot, x.im() / pivot) };
        }
        l[q] = T::from_real(pivot);
        front.negatives += usize::from(pivot < T::Real::ZERO);
        front.done += 1;
    }

    /// Eliminate the next column and column r, both updated, with their common 2 × 2 block.
    #[inline(always)]
    fn pair(&mut self, front: &mut HermitianFront<T>, r: usize) {
        let (m, q) = (front.order, front.done);
        if r > q + 1 {
            self.exchange(front, q + 1, r);
            self.columns.iter_mut().for_each(|column| column.swap(q + 1, r));
        }
        let [first, second] = &self.columns;
        let size = first[q + 1].abs();
        let [first_diagonal, second_diagonal] = [first[q].re() / size, second[q + 1].re() / size];
        let unit = first[q + 1].scale(T::Real::ONE / size);
        let determinant = first_diagonal * second_diagonal - T::Real::ONE;
        let scale = T::Real::ONE / (determinant * size);
        let (left, right) = front.matrix[q * m..].split_at_mut(m);
        for i in q + 2..m {
            let (x, y) = (first[i], second[i]);
            let row = &mut self.rows[i * PANEL + q - self.from..][..2];
            (row[0], row[1]) = (x.conj(), y.conj());
            left[i] = (x.scale(second_diagonal) - y * unit).scale(scale);
            right[i] = (y.scale(first_diagonal) - x * unit.conj()).scale(scale);
        }
        left[q] = T::from_real(first[q].re());
        left[q + 1] = first[q + 1];
        right[q + 1] = T::from_real(second[q + 1].re());
        if let Some(kept) = &mut front.kept {
            kept.pairs[q] = true;
        }
        front.negatives += match (determinant < T::Real::ZERO, first_diagonal < T::Real::ZERO) {
            (true, _) => 1,
            (false, true) => 2,
            (false, false) => 0,
        };
        front.done += 2;
    }

    /// Apply the pending updates to all remaining columns, and begin the next panel.
    #[inline(always)]
    fn update<V: Lanes<Real = T::Real>>(&mut self, front: &mut HermitianFront<T>) {
        let (m, to) = (front.order, front.done);
        let width = to - self.from;
        let (before, rest) = front.matrix.split_at_mut(to * m);
        let l = View::with_stride(&before[self.from * m..], m, width, m);
        for at in (to..m).step_by(STRIP) {
            let columns = STRIP.min(m - at);
            let c = ViewMut::with_stride(&mut rest[(at - to) * m + at..], m - at, columns, m);
            let b = View::with_stride(&self.rows[at * PANEL..], width, columns, PANEL);
            Product::subtract(c, l.part(at..m, 0..width), b).run::<V>();
        }
        self.from = to;
    }
}

/// The index and the size of the largest entry in some rows of a column with `m` rows.
#[inline(always)]
fn largest<T: Scalar>(column: &[T], rows: Range<usize>, m: usize) -> (usize, T::Real) {
    let first = rows.start.min(m);
    let mut most = (first, T::Real::ZERO);
    for (i, x) in column[first..rows.end.max(first)].iter().enumerate() {
        if x.abs1() > most.1 {
            most = (first + i, x.abs1());
        }
    }
    most
}
