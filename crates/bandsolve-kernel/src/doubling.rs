//! One level of parallel cyclic reduction: each row with its neighbors at a distance.
//!
//! The loops are ordinary ones over arrays. The compiler vectorizes them for each instruction set. Products and sums are not fused, so
//! that all rows have the same bits wherever they are cut.

use crate::job::kernel;
use crate::scalar::{peak, reciprocal};
use crate::{Job, Lanes, RealScalar, Scalar};
use core::ops::Range;

/// Compute the rows of a level: `r = 1 / (1 − a c₋ − c a₊)`, `a′ = −r a a₋`, `c′ = −r c c₊`.
///
/// Entries of rows beyond the ends are zero.
pub struct DoubleRows<'a, T: Scalar> {
    /// All a and c of the level before.
    pub fine: [&'a [T]; 2],
    pub distance: usize,
    /// The first row to compute.
    pub first: usize,
    /// For a′, c′ and r.
    pub to: [&'a mut [T]; 3],
}

/// What the rows of a level have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelFacts {
    /// Whether a pivot is zero.
    pub singular: bool,
    /// Whether each a′ and c′ [is below ε/8](is_below_rounding).
    pub diagonal: bool,
}

/// Whether a coupling of a row with a unit diagonal is below ε/8. Without all such couplings, x changes by less than ε/2 times its largest element.
#[inline(always)]
pub fn is_below_rounding<T: Scalar>(coupling: T) -> bool {
    peak(coupling) <= T::Real::EPSILON * T::Real::from_f64(0.125)
}

kernel!(DoubleRowsKernel: DoubleRows<'a> => LevelFacts);

/// Compute right-hand sides of a level: `d′ = r (d − a d₋ − c d₊)`.
pub struct DoubleRhs<'a, T: Scalar> {
    /// All a and c of the level before.
    pub fine: [&'a [T]; 2],
    /// All r of the level.
    pub recip: &'a [T],
    pub distance: usize,
    /// All d.
    pub d: &'a [T],
    /// The first row to compute.
    pub first: usize,
    pub out: &'a mut [T],
}

kernel!(DoubleRhsKernel: DoubleRhs<'a> => ());

/// The parts of `rows` whose rows have a neighbor above and below, or lack one of them, or both.
fn segments(rows: Range<usize>, n: usize, distance: usize) -> [(Range<usize>, [bool; 2]); 3] {
    let ends = (distance, n.saturating_sub(distance));
    let [first, second] = [ends.0.min(ends.1), ends.0.max(ends.1)].map(|end| end.clamp(rows.start, rows.end));
    [rows.start..first, first..second, second..rows.end].map(|part| {
        let has = [part.start >= distance, part.start + distance < n];
        (part, has)
    })
}

impl<T: Scalar> Job<T> for DoubleRows<'_, T> {
    type Output = LevelFacts;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> LevelFacts {
        let rows = self.first..self.first + self.to[0].len();
        let mut facts = [false; 2];
        for (part, has) in segments(rows, self.fine[0].len(), self.distance) {
            match has {
                [true, true] => self.part::<true, true>(part, &mut facts),
                [true, false] => self.part::<true, false>(part, &mut facts),
                [false, true] => self.part::<false, true>(part, &mut facts),
                [false, false] => self.part::<false, false>(part, &mut facts),
            }
        }
        LevelFacts { singular: facts[0], diagonal: !facts[1] }
    }
}

impl<T: Scalar> DoubleRows<'_, T> {
    #[inline(always)]
    fn part<const ABOVE: bool, const BELOW: bool>(&mut self, rows: Range<usize>, [zero, coupled]: &mut [bool; 2]) {
        let ([a, c], len) = (self.fine, rows.len());
        let [above, below] = neighbors::<ABOVE, BELOW>(rows.start, self.distance).map(|from| from..from + len);
        let ([a_above, c_above], [a_below, c_below]) = ([&a[above.clone()], &c[above]], [&a[below.clone()], &c[below]]);
        let (a, c, here) = (&a[rows.clone()], &c[rows.clone()], rows.start - self.first..rows.end - self.first);
        let [sub, sup, recip] = self.to.each_mut().map(|to| &mut to[here.clone()]);
        for i in 0..len {
            let mut rest = T::ONE;
            if ABOVE {
                rest -= a[i] * c_above[i];
            }
            if BELOW {
                rest -= c[i] * a_below[i];
            }
            let r = reciprocal(rest);
            *zero |= r == T::ZERO;
            recip[i] = r;
            sub[i] = if ABOVE { -(r * (a[i] * a_above[i])) } else { T::ZERO };
            sup[i] = if BELOW { -(r * (c[i] * c_below[i])) } else { T::ZERO };
            *coupled |= (ABOVE && !is_below_rounding(sub[i])) || (BELOW && !is_below_rounding(sup[i]));
        }
    }
}

/// The first of the neighbors above and below rows that begin with `start`. If there are none, these are the rows themselves.
fn neighbors<const ABOVE: bool, const BELOW: bool>(start: usize, distance: usize) -> [usize; 2] {
    [if ABOVE { start - distance } else { start }, if BELOW { start + distance } else { start }]
}

impl<T: Scalar> Job<T> for DoubleRhs<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
        for (part, has) in segments(self.first..self.first + self.out.len(), self.d.len(), self.distance) {
            match has {
                [true, true] => self.part::<true, true>(part),
                [true, false] => self.part::<true, false>(part),
                [false, true] => self.part::<false, true>(part),
                [false, false] => self.part::<false, false>(part),
            }
        }
    }
}

impl<T: Scalar> DoubleRhs<'_, T> {
    #[inline(always)]
    fn part<const ABOVE: bool, const BELOW: bool>(&mut self, rows: Range<usize>) {
        let ([a, c], d, len) = (self.fine, self.d, rows.len());
        let [d_above, d_below] = neighbors::<ABOVE, BELOW>(rows.start, self.distance).map(|from| &d[from..from + len]);
        let [a, c, d, r] = [a, c, d, self.recip].map(|array| &array[rows.clone()]);
        let out = &mut self.out[rows.start - self.first..rows.end - self.first];
        for i in 0..len {
            let mut rest = d[i];
            if ABOVE {
                rest -= a[i] * d_above[i];
            }
            if BELOW {
                rest -= c[i] * d_below[i];
            }
            out[i] = r[i] * rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_all_rows_with_their_neighbors() {
        for n in 1..12 {
            for distance in 1..15 {
                for rows in [0..n, n / 3..n, 0..n / 2, n / 4..n - n / 4] {
                    let mut next = rows.start;
                    for (part, has) in segments(rows.clone(), n, distance) {
                        for i in part {
                            assert_eq!((i, has), (next, [i >= distance, i + distance < n]), "{n} {distance}");
                            next += 1;
                        }
                    }
                    assert_eq!(next, rows.end.max(rows.start), "{n} {distance}");
                }
            }
        }
    }
}
