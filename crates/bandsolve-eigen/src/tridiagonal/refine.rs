//! Refinement of eigenvalue brackets by Sturm counts.
//!
//! A bracket with several eigenvalues is cut into approximately as many equal pieces. In a bracket with one eigenvalue, the determinant changes
//! its sign once. The next shift is then the zero of the chord, moved slightly towards the farther end so that both ends converge. If the bracket
//! is not halved twice in a row, the next shift is the middle. All brackets are refined together, to use all SIMD lanes.

use super::sturm::{SturmMatrix, SturmPoint};
use bandsolve::Result;
use bandsolve::memory::{allocate, collected, more, push, reserved};
use bandsolve_kernel::exact::{exponent, pow2};
use core::ops::Range;

/// The smallest number of shifts per round, if brackets with several eigenvalues are cut.
const SHIFTS_AT_LEAST: usize = 32;

/// The number of bits of a round number, which may be an exact eigenvalue.
const ROUND: i32 = 20;

/// An interval (lower, upper] that contains upper.count − lower.count eigenvalues.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    lower: SturmPoint,
    upper: SturmPoint,
    /// The width of the first bracket that contained only this eigenvalue.
    alone_at: f64,
    /// The number of successive rounds that did not halve the bracket.
    slow: u32,
}

impl Bracket {
    fn new(lower: SturmPoint, upper: SturmPoint) -> Self {
        Self { lower, upper, alone_at: upper.shift - lower.shift, slow: 0 }
    }

    fn width(&self) -> f64 {
        self.upper.shift - self.lower.shift
    }

    fn inside(&self) -> usize {
        self.upper.count - self.lower.count
    }

    /// Whether the bracket is narrow enough for the tolerance.
    fn is_done(&self, tolerance: f64) -> bool {
        let largest = self.lower.shift.abs().max(self.upper.shift.abs());
        self.width() <= tolerance + 2.0 * f64::EPSILON * largest
    }

    fn middle(&self) -> f64 {
        self.lower.shift + 0.5 * self.width()
    }

    /// The zero of the chord.
    fn chord(&self) -> f64 {
        self.lower.shift + self.width() / (1.0 + self.upper.determinant_ratio(&self.lower))
    }

    /// The next shift of a bracket with a single eigenvalue.
    fn guess(&self, tolerance: f64) -> f64 {
        let (from, to) = (self.lower.shift, self.upper.shift);
        if self.slow >= 2 {
            return self.middle();
        }
        let zero = self.chord();
        let near = (zero - from).min(to - zero);
        // The error of the chord is approximately near·width / (distance of the next eigenvalue).
        let share = (0.5 * self.width() / self.alone_at).min(0.5) * f64::from(1 + 7 * self.slow);
        let beyond = (near * share).max(0.4 * tolerance).max(f64::EPSILON * zero.abs());
        let guess = if zero - from < to - zero { zero + beyond } else { zero - beyond };
        if guess > from && guess < to { guess } else { self.middle() }
    }

    /// A round number in a narrow bracket, which may be the exact eigenvalue: 0, or a number of [`ROUND`] bits.
    ///
    /// Very few brackets of random eigenvalues contain one.
    fn round_number(&self) -> Option<f64> {
        let (from, to) = (self.lower.shift, self.upper.shift);
        if from < 0.0 && 0.0 <= to {
            return Some(0.0);
        }
        let step = pow2(exponent(from.abs().max(to.abs())) - ROUND);
        let round = (to / step).floor() * step;
        (round > from && self.width() < step / 1024.0).then_some(round)
    }

    /// Set the history of a bracket that is a part of `before`.
    fn after(mut self, before: &Bracket) -> Self {
        if before.inside() == 1 {
            self.alone_at = before.alone_at;
            self.slow = if self.width() > 0.5 * before.width() && before.slow < 2 { before.slow + 1 } else { 0 };
        }
        self
    }

    /// Add the shifts that cut the bracket into `cuts + 1` parts.
    fn add_shifts(&self, cuts: usize, tolerance: f64, points: &mut Vec<SturmPoint>) {
        let mut add = |shift| points.push(SturmPoint::new(shift));
        if self.inside() == 1 && cuts == 1 {
            return add(self.guess(tolerance));
        }
        let step = self.width() / (cuts + 1) as f64;
        (1..=cuts).for_each(|k| add(self.lower.shift + step * k as f64));
    }
}

/// The requested eigenvalues and their tolerance.
pub struct Wanted {
    /// The indices of the eigenvalues in ascending order. Indices outside the interval are ignored.
    pub indices: Range<usize>,
    /// The width at which a bracket is narrow enough.
    pub tolerance: f64,
}

/// Compute the wanted eigenvalues between two points, in ascending order. The counts at the ends determine which eigenvalues are inside.
pub fn eigenvalues(matrix: &SturmMatrix, ends: [SturmPoint; 2], wanted: &Wanted) -> Result<Vec<f64>> {
    let indices = wanted.indices.start.max(ends[0].count)..wanted.indices.end.min(ends[1].count);
    if indices.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = allocate(indices.len(), f64::NAN)?;
    let mut brackets = vec![Bracket::new(ends[0], ends[1])];
    let (mut points, mut exact) = (Vec::new(), Exact::default());
    while !brackets.is_empty() {
        let cuts = cuts(&brackets, &indices)?;
        points.clear();
        more(&mut points, cuts.iter().sum())?;
        for (bracket, cuts) in brackets.iter().zip(&cuts) {
            bracket.add_shifts(*cuts, wanted.tolerance, &mut points);
        }
        matrix.count(&mut points);
        brackets = narrowed(&brackets, &cuts, &points, &indices)?;
        let is_done = |bracket: &Bracket| bracket.is_done(wanted.tolerance);
        for bracket in brackets.iter().filter(|bracket| is_done(bracket)) {
            let place = place(bracket, &indices);
            let place = place.start - indices.start..place.end - indices.start;
            exact.note(place.start, bracket)?;
            values[place].fill(value(bracket));
        }
        brackets.retain(|bracket| !is_done(bracket));
    }
    exact.replace(matrix, &mut values);
    Ok(values)
}

/// Round numbers that may be exact eigenvalues, and the places of these eigenvalues.
#[derive(Default)]
struct Exact {
    places: Vec<usize>,
    points: Vec<SturmPoint>,
}

impl Exact {
    fn note(&mut self, place: usize, bracket: &Bracket) -> Result<()> {
        if let (1, Some(round)) = (bracket.inside(), bracket.round_number()) {
            push(&mut self.places, place)?;
            push(&mut self.points, SturmPoint::new(round))?;
        }
        Ok(())
    }

    /// Replace an eigenvalue by its round number if the determinant is zero at the round number.
    fn replace(mut self, matrix: &SturmMatrix, values: &mut [f64]) {
        matrix.count(&mut self.points);
        let exact = self.places.iter().zip(&self.points).filter(|(_, point)| point.mantissa == 0.0);
        exact.for_each(|(place, point)| values[*place] = point.shift);
    }
}

/// The wanted indices in a bracket.
fn place(bracket: &Bracket, indices: &Range<usize>) -> Range<usize> {
    bracket.lower.count.max(indices.start)..bracket.upper.count.min(indices.end)
}

/// The eigenvalue of a narrow bracket.
fn value(bracket: &Bracket) -> f64 {
    let chord = bracket.chord();
    if bracket.inside() == 1 && chord.is_finite() { chord } else { bracket.middle() }
}

/// The number of shifts that cut each bracket.
fn cuts(brackets: &[Bracket], indices: &Range<usize>) -> Result<Vec<usize>> {
    let least = SHIFTS_AT_LEAST / brackets.len();
    let cuts = |bracket: &Bracket| match place(bracket, indices).len() {
        1 if bracket.inside() == 1 => 1,
        several => (several - 1).max(least).max(1),
    };
    collected(brackets.iter().map(cuts))
}

/// The brackets between neighbouring points that contain wanted eigenvalues.
fn narrowed(
    brackets: &[Bracket],
    cuts: &[usize],
    mut points: &[SturmPoint],
    indices: &Range<usize>,
) -> Result<Vec<Bracket>> {
    let mut out = reserved(2 * brackets.len())?;
    for (bracket, cuts) in brackets.iter().zip(cuts) {
        let (inside, rest) = points.split_at(*cuts);
        points = rest;
        let mut lower = bracket.lower;
        for point in inside.iter().chain([&bracket.upper]) {
            // Because of rounding errors, the count can decrease between close shifts.
            let count = point.count.clamp(lower.count, bracket.upper.count);
            let next = Bracket::new(lower, SturmPoint { count, ..*point });
            if !place(&next, indices).is_empty() {
                push(&mut out, next.after(bracket))?;
            }
            lower = next.upper;
        }
    }
    Ok(out)
}
