//! Solves with the factors of the parts: reduce the parts to their interfaces, solve the coarse system, substitute.
//!
//! Of the columns to the left of an inner part, only the tips are stored. The sweep through L is repeated to compute their contribution.

use super::partitions::{Part, Partitions, cuts};
use crate::pivoted::band_lu;
use crate::pivoted::band_lu::{RhsColumns, RhsRows};
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::view::ViewMut;
use core::ops::Range;

/// Scratch of one part, each array column by column.
struct Scratch<'a, T> {
    window: &'a mut [T],
    /// The remaining equations.
    rest: &'a mut [T],
    /// The unknowns to the right, or to the left of a reversed part.
    tail: &'a mut [T],
    /// The unknowns to the left of an inner part.
    tip: &'a mut [T],
}

impl<T: Scalar> Part<T> {
    /// Words of scratch for the part.
    fn words(&self, columns: usize) -> usize {
        self.lu.window(columns) + (self.equations() + self.behind()) * columns + self.tip_rows() * columns
    }

    /// Number of unknowns after the pivots.
    fn behind(&self) -> usize {
        self.lu.size().columns - self.lu.size().pivots
    }

    /// Number of unknowns to the left.
    fn tip_rows(&self) -> usize {
        self.left.len().isqrt()
    }

    fn divide<'a>(&self, scratch: &'a mut [T], columns: usize) -> Scratch<'a, T> {
        let (window, scratch) = scratch.split_at_mut(self.lu.window(columns));
        let (rest, scratch) = scratch.split_at_mut(self.equations() * columns);
        let (tail, scratch) = scratch.split_at_mut(self.behind() * columns);
        Scratch { window, rest, tail, tip: &mut scratch[..self.tip_rows() * columns] }
    }

    /// The rows of the part, with the offsets and scales for reading and writing.
    fn columns<'a>(&'a self, x: ViewMut<'a, T>, offset: [usize; 2], scale: [bool; 2]) -> RhsColumns<'a, T> {
        let scale = scale.map(|scaled| scaled.then(|| self.lu.scale()));
        RhsColumns { x, reversed: self.reversed, offset, scale }
    }

    /// Eliminate the unknowns of the part from right-hand sides.
    fn reduce(&self, x: ViewMut<'_, T>, s: &mut Scratch<'_, T>) {
        self.lu.lower(&mut self.columns(x, [0, 0], [true, false]), s.window, s.rest);
    }

    /// Solve for the unknowns of the part from the adjacent ones.
    fn substitute(&self, mut x: ViewMut<'_, T>, s: &mut Scratch<'_, T>) {
        if self.tip_rows() > 0 {
            let rows = self.tip_rows();
            for tip in s.tip.chunks_exact_mut(rows) {
                self.times_left(tip);
            }
            let x = self.columns(x.as_mut(), [0, 0], [false, false]);
            self.lu.lower(&mut Correction { tip: s.tip, rows, x }, s.window, s.rest);
        }
        self.lu.upper(&mut self.columns(x, [0, self.offset], [false, false]), s.window, s.tail);
    }

    /// Compute tip ← A_left·tip, where A_left is an upper triangle.
    fn times_left(&self, tip: &mut [T]) {
        for i in 0..tip.len() {
            tip[i] = (i..tip.len()).fold(T::ZERO, |sum, c| sum + self.left[i + c * tip.len()] * tip[c]);
        }
    }

    /// Compute tip ← −A_leftᵀ·tip.
    fn times_left_transposed(&self, tip: &mut [T]) {
        for c in (0..tip.len()).rev() {
            tip[c] = (0..=c).fold(T::ZERO, |sum, i| sum - self.left[i + c * tip.len()] * tip[i]);
        }
    }

    /// Do the first half of a transposed solve: compute the numbers to subtract from the adjacent unknowns.
    fn reduce_transposed(&self, mut x: ViewMut<'_, T>, s: &mut Scratch<'_, T>) {
        s.tail.fill(T::ZERO);
        self.lu.upper_transposed(&mut self.columns(x.as_mut(), [self.offset, 0], [false, false]), s.window, s.tail);
        if self.tip_rows() > 0 {
            let rows = self.tip_rows();
            s.rest.fill(T::ZERO);
            let x = self.columns(x, [0, 0], [false, false]);
            self.lu.lower_transposed(&mut Tip { tip: s.tip, rows, x }, s.window, s.rest);
            s.tip.chunks_exact_mut(rows).for_each(|tip| self.times_left_transposed(tip));
        }
    }

    /// Do the second half of a transposed solve, from the multipliers of the remaining equations.
    fn substitute_transposed(&self, x: ViewMut<'_, T>, s: &mut Scratch<'_, T>) {
        self.lu.lower_transposed(&mut self.columns(x, [0, 0], [false, true]), s.window, s.rest);
    }
}

/// Columns that start with `tip` and are zero after it. The result of the sweep is subtracted from x.
struct Correction<'a, T: Scalar> {
    tip: &'a [T],
    rows: usize,
    x: RhsColumns<'a, T>,
}

impl<T: Scalar> RhsRows<T> for Correction<'_, T> {
    fn count(&self) -> usize {
        self.x.count()
    }

    fn load(&mut self, column: usize, rows: Range<usize>, to: &mut [T]) {
        let tip = &self.tip[column * self.rows..(column + 1) * self.rows];
        for (to, i) in to.iter_mut().zip(rows) {
            *to = tip.get(i).copied().unwrap_or(T::ZERO);
        }
    }

    fn store(&mut self, column: usize, rows: Range<usize>, from: &[T]) {
        self.x.slice(column, rows, 0).iter_mut().zip(from).for_each(|(x, v)| *x -= *v);
    }
}

/// Columns of x. Only the first rows of the result are stored.
struct Tip<'a, T: Scalar> {
    tip: &'a mut [T],
    rows: usize,
    x: RhsColumns<'a, T>,
}

impl<T: Scalar> RhsRows<T> for Tip<'_, T> {
    fn count(&self) -> usize {
        self.x.count()
    }

    fn load(&mut self, column: usize, rows: Range<usize>, to: &mut [T]) {
        self.x.load(column, rows, to);
    }

    fn store(&mut self, column: usize, rows: Range<usize>, from: &[T]) {
        let tip = &mut self.tip[column * self.rows..(column + 1) * self.rows];
        for (v, i) in from.iter().zip(rows).filter(|(_, i)| *i < self.rows) {
            tip[i] = *v;
        }
    }
}

/// The work on each part.
type PartWork<'w, T> = &'w (dyn Fn(&Part<T>, ViewMut<'_, T>, &mut Scratch<'_, T>) + Sync);

/// Words of scratch that suffice for a band of n rows with two parts, or with one part if two would be too short.
pub(crate) fn words_at_most(n: usize, (lower, upper): (usize, usize), n_rhs: usize) -> usize {
    let between = lower.saturating_add(upper);
    let window = band_lu::words_at_most(lower, upper, 1);
    let two = cuts(n, between, (2, 1.0)).len() > 2;
    // Per column: three windows, of two parts and of the coarse system; the remaining equations, as many in total as unknowns between the
    // parts; the unknowns after the pivots of each part; and the coarse unknowns.
    n_rhs.saturating_mul(if two { window.saturating_mul(3).saturating_add(between.saturating_mul(4)) } else { window })
}

impl<T: Scalar> Partitions<T> {
    /// Words of scratch for `n_rhs` right-hand sides.
    pub fn scratch(&self, n_rhs: usize) -> usize {
        let group = tuning::BAND_RHS;
        (n_rhs / group).saturating_mul(self.words(group)).saturating_add(self.words(n_rhs % group))
    }

    /// Words of scratch for `columns` right-hand sides that are solved together.
    fn words(&self, columns: usize) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.words(columns)).sum();
        parts + self.coarse.as_ref().map_or(0, |coarse| coarse.n * columns + coarse.words(columns))
    }

    /// Solve A·x = x or Aᵀ·x = x for columns x.
    pub fn solve(&self, transposed: bool, x: &mut [T], scratch: &mut [T]) {
        let group = tuning::BAND_RHS;
        let each = self.words(group).max(1);
        let solve = |_: usize, (RowsOf(x, _), RowsOf(scratch, _)): (RowsOf<'_, T>, RowsOf<'_, T>)| {
            let columns = x.len() / self.n;
            self.solve_group(transposed, ViewMut::new(x, self.n, columns), scratch);
        };
        let groups = x.len().div_ceil((group * self.n).max(1));
        let out = (RowsOf(x, group * self.n), RowsOf(scratch, each));
        each_chunk((groups, usize::from(self.parallel)), out, &solve);
    }

    fn solve_group(&self, transposed: bool, mut x: ViewMut<'_, T>, scratch: &mut [T]) {
        let count = x.ncols();
        let Some(coarse) = &self.coarse else {
            return self.each(x, scratch, &|part, mut x, s| {
                if !transposed {
                    part.reduce(x.as_mut(), s);
                    part.substitute(x, s);
                } else {
                    part.reduce_transposed(x.as_mut(), s);
                    part.substitute_transposed(x, s);
                }
            });
        };
        let parts = self.parts.iter().map(|part| part.words(count)).sum();
        let (scratch, rest) = scratch.split_at_mut(parts);
        let (y, inner) = rest.split_at_mut(coarse.n * count);
        if !transposed {
            self.each(x.as_mut(), scratch, &|part, x, s| part.reduce(x, s));
            self.equations(scratch, y, count, |rest, y| y.copy_from_slice(rest));
            coarse.solve_group(transposed, ViewMut::new(y, coarse.n, count), inner);
            self.unknowns(scratch, y, count, |tail, y| tail.copy_from_slice(y));
            self.each(x.as_mut(), scratch, &|part, x, s| part.substitute(x, s));
            self.interfaces(x, y, |x, y| x.copy_from_slice(y));
        } else {
            self.interfaces(x.as_mut(), y, |x, y| y.copy_from_slice(x));
            self.each(x.as_mut(), scratch, &|part, x, s| part.reduce_transposed(x, s));
            self.unknowns(scratch, y, count, |tail, y| y.iter_mut().zip(&*tail).for_each(|(y, v)| *y += *v));
            coarse.solve_group(transposed, ViewMut::new(y, coarse.n, count), inner);
            self.equations(scratch, y, count, |rest, y| rest.copy_from_slice(y));
            self.each(x, scratch, &|part, x, s| part.substitute_transposed(x, s));
        }
    }

    /// Do `work` for each part, with its rows and its scratch.
    fn each(&self, x: ViewMut<'_, T>, scratch: &mut [T], work: PartWork<'_, T>) {
        each(&self.parts, x, scratch, self.parallel, work);
    }

    /// Call `pass(rest, y)` for the remaining equations of each part and column, and the rows of the coarse system that they are.
    fn equations(&self, scratch: &mut [T], y: &mut [T], count: usize, pass: impl Fn(&mut [T], &mut [T])) {
        let (mut scratch, mut first, n) = (scratch, 0, y.len() / count);
        for part in &self.parts {
            let (of_part, others) = scratch.split_at_mut(part.words(count));
            let rows = part.equations();
            let rest = part.divide(of_part, count).rest;
            for (rest, y) in rest.chunks_exact_mut(rows.max(1)).zip(y.chunks_exact_mut(n)) {
                around_reversal(part.reversed, rest, |rest| pass(rest, &mut y[first..first + rows]));
            }
            (scratch, first) = (others, first + rows);
        }
    }

    /// Call `pass(values, y)` for the unknowns to the right and to the left of each part, and for each column.
    fn unknowns(&self, scratch: &mut [T], y: &mut [T], count: usize, pass: impl Fn(&mut [T], &mut [T])) {
        let (mut scratch, between, n) = (scratch, self.between().max(1), y.len() / count);
        for (p, part) in self.parts.iter().enumerate() {
            let (of_part, others) = scratch.split_at_mut(part.words(count));
            let Scratch { tail, tip, .. } = part.divide(of_part, count);
            let right = if part.reversed { p - 1 } else { p } * between;
            for (tail, y) in tail.chunks_exact_mut(between).zip(y.chunks_exact_mut(n)) {
                around_reversal(part.reversed, tail, |tail| pass(tail, &mut y[right..right + between]));
            }
            for (tip, y) in tip.chunks_exact_mut(between).zip(y.chunks_exact_mut(n)) {
                pass(tip, &mut y[right - between..right]);
            }
            scratch = others;
        }
    }

    /// Call `pass(x, y)` for the unknowns between the parts.
    fn interfaces(&self, mut x: ViewMut<'_, T>, y: &mut [T], pass: impl Fn(&mut [T], &mut [T])) {
        let (between, count) = (self.between().max(1), x.ncols());
        let n = y.len() / count;
        for (c, y) in y.chunks_exact_mut(n.max(1)).enumerate() {
            let x = x.as_mut().column(c);
            for (part, y) in self.parts[1..].iter().zip(y.chunks_exact_mut(between)) {
                let first = part.rows.start - self.lower;
                pass(&mut x[first..first + between], y);
            }
        }
    }
}

/// Call `pass` with the values in reverse order, if `reversed`.
fn around_reversal<T>(reversed: bool, values: &mut [T], pass: impl FnOnce(&mut [T])) {
    if reversed {
        values.reverse();
    }
    pass(values);
    if reversed {
        values.reverse();
    }
}

fn each<T: Scalar>(parts: &[Part<T>], x: ViewMut<'_, T>, scratch: &mut [T], parallel: bool, work: PartWork<'_, T>) {
    let count = x.ncols();
    if let [part] = parts {
        return work(part, x, &mut part.divide(scratch, count));
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let (top, bottom) = x.split_at_row(right[0].rows.start - left[0].rows.start);
    let (one, two) = scratch.split_at_mut(left.iter().map(|part| part.words(count)).sum());
    let halves = [(left, top, one), (right, bottom, two)];
    if parallel {
        let [a, b] = halves;
        join(|| each(a.0, a.1, a.2, true, work), || each(b.0, b.1, b.2, true, work));
    } else {
        halves.into_iter().for_each(|(parts, x, scratch)| each(parts, x, scratch, false, work));
    }
}
