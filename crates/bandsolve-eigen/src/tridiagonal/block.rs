//! Blocks of a symmetric tridiagonal matrix without negligible off-diagonal entries, scaled by powers of two.

use super::precise::count_at_most;
use super::refine::{self, Wanted};
use super::sturm::{SturmMatrix, SturmPoint};
use bandsolve::Result;
use bandsolve::memory::{collected, push};
use core::ops::Range;

/// A block: consecutive rows that are coupled to each other and to no other row.
pub struct CoupledRows {
    pub rows: Range<usize>,
    /// The diagonal entries, times 2^−exponent. The largest entry of the scaled block is in [1, 2).
    pub diag: Vec<f64>,
    pub off: Vec<f64>,
    exponent: i32,
    matrix: SturmMatrix,
    /// Bounds of all eigenvalues, in scaled numbers.
    ends: (f64, f64),
}

/// Compute x·2^exponent with at most one rounding error.
fn times_power(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    x * f64::exp2(half.into()) * f64::exp2((exponent - half).into())
}

/// The exponent of the largest power of two that is at most x > 0.
fn exponent_of(x: f64) -> i32 {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    if x < f64::MIN_POSITIVE {
        return exponent_of(x * f64::exp2(64.0)) - 64;
    }
    (x.to_bits() >> MANTISSA) as i32 - 1023
}

impl CoupledRows {
    pub fn new(diag: &[f64], off: &[f64], rows: Range<usize>) -> Result<Self> {
        let (diag, off) = (&diag[rows.clone()], &off[rows.start..rows.end - 1]);
        let largest = diag.iter().chain(off).fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let exponent = if largest > 0.0 { exponent_of(largest) } else { 0 };
        let scaled = |x: &[f64]| collected(x.iter().map(|x| times_power(*x, -exponent)));
        let (diag, off) = (scaled(diag)?, scaled(off)?);
        let matrix = SturmMatrix::new(&diag, &off)?;
        let ends = gershgorin(&diag, &off);
        Ok(Self { rows, diag, off, exponent, matrix, ends })
    }

    pub fn n(&self) -> usize {
        self.diag.len()
    }

    /// An upper bound of max |λ|, in scaled numbers.
    pub fn norm(&self) -> f64 {
        self.ends.0.abs().max(self.ends.1.abs())
    }

    /// Convert a scaled number to the caller's units.
    pub fn unscaled(&self, x: f64) -> f64 {
        times_power(x, self.exponent)
    }

    /// Convert a number in the caller's units to a scaled number.
    fn scaled(&self, x: f64) -> f64 {
        times_power(x, -self.exponent)
    }

    /// Count the eigenvalues that are at most a shift in the caller's units.
    pub fn count(&self, shift: f64) -> usize {
        if self.n() == 1 {
            return usize::from(self.unscaled(self.diag[0]) <= shift);
        }
        self.count_ends([shift])[0].count
    }

    /// Compute the scaled eigenvalues with these indices in (from, to]. The interval and the tolerance are in the caller's units.
    pub fn eigenvalues(&self, (from, to): (f64, f64), indices: Range<usize>, tolerance: f64) -> Result<Vec<f64>> {
        if self.n() == 1 {
            let value = self.unscaled(self.diag[0]);
            let inside = indices.contains(&0) && from < value && value <= to;
            return Ok(if inside { vec![self.diag[0]] } else { Vec::new() });
        }
        let tolerance = self.scaled(tolerance).max(f64::EPSILON * self.norm());
        refine::eigenvalues(&self.matrix, self.count_ends([from, to]), &Wanted { indices, tolerance })
    }

    /// Compute Sturm points with counts that do not depend on rounding errors. The shifts are in the caller's units.
    ///
    /// Three rounding errors disturb each term of the recurrence. With u = ε/2, the count is therefore exact for a matrix T + E with
    /// |E| ≤ 3u·(|dₖ| + |σ|) on the diagonal and ‖E‖ ≤ 6u·‖T‖ off the diagonal. So the counts at σ ± 16ε·‖T‖ enclose the count of T at σ. If they
    /// differ, the function counts at σ again with twice the precision.
    fn count_ends<const N: usize>(&self, shifts: [f64; N]) -> [SturmPoint; N] {
        let around = 16.0 * f64::EPSILON * self.norm();
        let shifts = shifts.map(|shift| self.scaled(shift).clamp(self.ends.0, self.ends.1));
        let mut points = [-around, 0.0, around].map(|by| shifts.map(|shift| SturmPoint::new(shift + by)));
        self.matrix.count(points.as_flattened_mut());
        let [below, mut at, above] = points;
        for k in 0..N {
            at[k].count = match below[k].count == above[k].count {
                true => below[k].count,
                false => count_at_most(&self.diag, &self.off, shifts[k]),
            };
        }
        at
    }

    /// Bounds of all eigenvalues, in the caller's units.
    pub fn ends(&self) -> (f64, f64) {
        (self.unscaled(self.ends.0), self.unscaled(self.ends.1))
    }
}

/// The smallest interval that contains all Gershgorin intervals, extended by a few rounding errors.
fn gershgorin(diag: &[f64], off: &[f64]) -> (f64, f64) {
    let coupling = |k: usize| off.get(k).map_or(0.0, |e| e.abs());
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    for (k, d) in diag.iter().enumerate() {
        let radius = coupling(k) + if k > 0 { coupling(k - 1) } else { 0.0 };
        (from, to) = (from.min(d - radius), to.max(d + radius));
    }
    let more = 16.0 * f64::EPSILON * from.abs().max(to.abs());
    (from - more, to + more)
}

/// Cut the matrix into blocks where an off-diagonal entry is negligible.
///
/// The first cuts are where |eₖ| ≤ ε·√|dₖ·dₖ₊₁|. In each part, further cuts are where |eₖ| is at most ε/8 times the largest entry.
pub fn coupled_rows(diag: &[f64], off: &[f64]) -> Result<Vec<CoupledRows>> {
    let beside = |k: usize| f64::EPSILON * diag[k].abs().sqrt() * diag[k + 1].abs().sqrt();
    let mut blocks = Vec::new();
    for part in cut(0..diag.len(), |k| off[k].abs() <= beside(k))? {
        let entries = diag[part.clone()].iter().chain(&off[part.start..part.end - 1]);
        let largest = entries.fold(0.0, |largest: f64, x| largest.max(x.abs()));
        for rows in cut(part, |k| off[k].abs() <= f64::EPSILON / 8.0 * largest)? {
            push(&mut blocks, CoupledRows::new(diag, off, rows)?)?;
        }
    }
    Ok(blocks)
}

/// Cut `rows` into parts. A part ends where the off-diagonal entry between a row and the next is negligible.
fn cut(rows: Range<usize>, negligible: impl Fn(usize) -> bool) -> Result<Vec<Range<usize>>> {
    let (mut parts, mut first) = (Vec::new(), rows.start);
    for k in rows.clone() {
        if k + 1 == rows.end || negligible(k) {
            push(&mut parts, first..k + 1)?;
            first = k + 1;
        }
    }
    Ok(parts)
}
