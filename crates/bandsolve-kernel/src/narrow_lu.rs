//! LU with scaled partial pivoting of a band with at most four diagonals on each side, row by row.
//!
//! Let `W` be 2, 3 or 4, at least the number of diagonals on each side. Before step c, `W` rows have been updated by the steps before and not
//! yet been a pivot row: the *carried* rows. They and row c + W, which enters, are the candidates for the pivot of column c:
//!
//! ```text
//! exchange rows c and c + p;   l[r] = a[c + r, c] / u[c, c];   row c + r ← row c + r − l[r]·row c       for r = 1 … W
//! ```
//!
//! The carried rows are local variables, so that each entry of A is read once, and each of L and U written once. A step waits for the division
//! and one update of the step before. Solves carry rows of the right-hand side in the same way.
//!
//! Cost per row: 2·W² multiplications and additions, and a division, to factor; 3·W multiplications and additions to solve.

use super::Job;
use super::band_rectangle::Rectangle;
use crate::job::kernel;
use crate::number::{Lanes, RealScalar, Scalar};
use crate::scalar::{larger, reciprocal};

/// Largest number of diagonals on each side.
pub const MAX_WIDTH: usize = 4;

/// Factor a square matrix as a whole.
///
/// `to` has the columns of L and U one after the other: element (i, j) is at `fill` + i + j·(`fill` + lower) for j − `fill` ≤ i ≤ j + lower.
pub struct NarrowLu<'a, T: Scalar> {
    pub from: Rectangle<'a, T>,
    pub to: &'a mut [T],
    /// Number of diagonals of U above the main one: at least lower + upper, or n − 1.
    pub fill: usize,
    /// 1/u[c, c], or 0 if it is zero.
    pub inverse: &'a mut [T],
    /// Step c exchanges rows c and c + `exchange[c]`.
    pub exchange: &'a mut [u32],
    /// The powers of two that scale the rows.
    pub scale: &'a mut [T::Real],
}

/// Facts about a matrix and its factors.
#[derive(Debug, Clone, Copy)]
pub struct NarrowFacts<R> {
    /// First column without a pivot.
    pub singular: Option<usize>,
    /// The largest entry of the scaled matrix, and of U.
    pub largest: [R; 2],
}

kernel!(NarrowLuKernel: NarrowLu<'a> => NarrowFacts<<T as Scalar>::Real>);

impl<T: Scalar> Job<T> for NarrowLu<'_, T> {
    type Output = NarrowFacts<T::Real>;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> NarrowFacts<T::Real> {
        match self.from.lower.max(self.from.upper) {
            0..=2 => self.eliminate::<2, 5>(),
            3 => self.eliminate::<3, 7>(),
            _ => self.eliminate::<4, 9>(),
        }
    }
}

/// Solve A·x = d for one right-hand side d.
pub struct NarrowSolve<'a, T: Scalar> {
    /// L and U, where [`NarrowLu`] writes them.
    pub elements: &'a [T],
    /// Number of diagonals of L, and of A above the main one.
    pub lower: usize,
    pub upper: usize,
    /// Number of diagonals of U above the main one.
    pub fill: usize,
    pub inverse: &'a [T],
    pub exchange: &'a [u32],
    pub scale: &'a [T::Real],
    /// d, which is replaced by x.
    pub x: &'a mut [T],
}

kernel!(NarrowSolveKernel: NarrowSolve<'a> => ());

impl<T: Scalar> Job<T> for NarrowSolve<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.lower.max(self.upper) {
            0..=2 => self.with_constants::<2, 4>(),
            3 => self.with_constants::<3, 6>(),
            _ => self.with_constants::<4, 8>(),
        }
    }
}

impl<T: Scalar> NarrowSolve<'_, T> {
    /// [`solve`](Self::solve) for the usual numbers of diagonals as constants, or for any.
    #[inline(always)]
    fn with_constants<const W: usize, const FILL: usize>(self) {
        // Diagonals of U after the first `FILL` are zero.
        let diagonals = (self.lower, self.fill.min(FILL));
        if diagonals == (W, FILL) {
            self.solve::<W, FILL>((W, FILL));
        } else {
            self.solve::<W, FILL>(diagonals);
        }
    }

    /// Solve with at most `W` diagonals of L and `FILL` of U.
    #[inline(always)]
    fn solve<const W: usize, const FILL: usize>(self, (of_l, of_u): (usize, usize)) {
        let Self { elements, lower, fill, inverse, exchange, scale, x, .. } = self;
        let (n, column_len) = (x.len(), fill + lower + 1);
        assert!(inverse.len() == n && exchange.len() == n && scale.len() == n && elements.len() >= n * column_len);
        // Rows c … c + W − 1 of y.
        let mut carried = [T::ZERO; W];
        for (i, y) in carried.iter_mut().enumerate().take(n) {
            *y = x[i].scale(scale[i]);
        }
        for (c, column) in elements.chunks_exact(column_len).take(n).enumerate() {
            let entering = if c + W < n { x[c + W].scale(scale[c + W]) } else { T::ZERO };
            let mut pivot = carried[0];
            let mut rows = [entering; W];
            rows[..W - 1].copy_from_slice(&carried[1..]);
            let p = exchange[c] as usize;
            if p > 0 {
                core::mem::swap(&mut pivot, &mut rows[p - 1]);
            }
            x[c] = pivot;
            for r in 0..W {
                carried[r] = if r < of_l { rows[r] - column[fill + 1 + r] * pivot } else { rows[r] };
            }
        }
        // Rows c, c − 1, … of y, from which all known unknowns were subtracted.
        let mut carried = [T::ZERO; FILL];
        for (k, y) in carried.iter_mut().enumerate().take(n) {
            *y = x[n - 1 - k];
        }
        for (c, column) in elements.chunks_exact(column_len).take(n).enumerate().rev() {
            let unknown = carried[0] * inverse[c];
            x[c] = unknown;
            let entering = if c >= FILL { x[c - FILL] } else { T::ZERO };
            for k in 0..FILL {
                let row = if k + 1 < FILL { carried[k + 1] } else { entering };
                carried[k] = if k < of_u { row - column[fill - 1 - k] * unknown } else { row };
            }
        }
    }
}

impl<T: Scalar> NarrowLu<'_, T> {
    /// Row `i`, scaled: `ROW` = 2·W + 1 entries from column i − W on. Returns the scale, too.
    #[inline(always)]
    fn row<const W: usize, const ROW: usize>(&self, i: usize) -> ([T; ROW], T::Real) {
        let Rectangle { bands, first, step, lower, upper, columns, .. } = self.from;
        let mut row = [T::ZERO; ROW];
        if (lower, upper) == (W, W) && i >= W && i + W < columns {
            let start = first + i + (i - W) * step;
            let entries = &bands[start..=start + 2 * W * step];
            for (k, entry) in row.iter_mut().enumerate() {
                *entry = entries[k * step];
            }
        } else {
            for j in i.saturating_sub(lower)..(i + upper + 1).min(columns) {
                row[j + W - i] = bands[first + i + j * step];
            }
        }
        let largest = row.iter().fold(T::Real::ZERO, |most, entry| larger(most, entry.abs1()));
        let scale = largest.equilibrate();
        (row.map(|entry| entry.scale(scale)), scale)
    }

    #[inline(always)]
    fn eliminate<const W: usize, const ROW: usize>(mut self) -> NarrowFacts<T::Real> {
        let (n, lower, fill) = (self.from.columns, self.from.lower, self.fill);
        let column_len = fill + lower + 1;
        let mut facts = NarrowFacts { singular: None, largest: [T::Real::ZERO; 2] };
        // Above row 0 of the first columns, and after the last column.
        for j in 0..fill.min(n) {
            self.to[j * column_len..][..fill - j].fill(T::ZERO);
        }
        self.to[n * column_len..].fill(T::ZERO);
        // The carried rows c … c + W − 1, from column c on.
        let mut carried = [[T::ZERO; ROW]; W];
        for i in 0..W.min(n) {
            let row = self.next_row::<W, ROW>(i, &mut facts);
            carried[i][..ROW - (W - i)].copy_from_slice(&row[W - i..]);
        }
        for c in 0..n {
            let entering = if c + W < n { self.next_row::<W, ROW>(c + W, &mut facts) } else { [T::ZERO; ROW] };
            // The first of the largest candidates.
            let (mut p, mut most) = (0, carried[0][0].abs1());
            for r in 1..=W {
                let size = if r < W { carried[r][0] } else { entering[0] }.abs1();
                (p, most) = if size > most { (r, size) } else { (p, most) };
            }
            let mut pivot = carried[0];
            let mut rows = [entering; W];
            rows[..W - 1].copy_from_slice(&carried[1..]);
            if p > 0 {
                core::mem::swap(&mut pivot, &mut rows[p - 1]);
            }
            facts.singular = facts.singular.or((pivot[0] == T::ZERO).then_some(c));
            let mut recip = T::ONE / pivot[0];
            self.inverse[c] = recip;
            if pivot[0].abs1() < T::Real::MIN_POSITIVE {
                // 1/u of a subnormal number would overflow, and that of zero is 0.
                let lift = T::Real::ONE / T::Real::EPSILON;
                recip = reciprocal(pivot[0].scale(lift));
                self.inverse[c] = recip.scale(lift);
                rows.iter_mut().for_each(|row| row[0] = row[0].scale(lift));
            }
            self.exchange[c] = p as u32;
            let diagonal = c * column_len + fill;
            self.to[diagonal] = pivot[0];
            for (r, row) in rows.iter().enumerate() {
                let l = row[0] * recip;
                for k in 1..ROW {
                    carried[r][k - 1] = row[k] - l * pivot[k];
                }
                carried[r][ROW - 1] = T::ZERO;
                if r < lower {
                    self.to[diagonal + 1 + r] = l;
                }
            }
            facts.largest[1] = pivot.iter().fold(facts.largest[1], |most, u| larger(most, u.abs1()));
            for j in 1..=fill.min(n - 1 - c) {
                self.to[diagonal + j * (column_len - 1)] = if j < ROW { pivot[j] } else { T::ZERO };
            }
        }
        facts
    }

    /// [`row`](Self::row) with its scale stored.
    #[inline(always)]
    fn next_row<const W: usize, const ROW: usize>(&mut self, i: usize, facts: &mut NarrowFacts<T::Real>) -> [T; ROW] {
        let (row, scale) = self.row::<W, ROW>(i);
        self.scale[i] = scale;
        facts.largest[0] = row.iter().fold(facts.largest[0], |most, entry| larger(most, entry.abs1()));
        row
    }
}
