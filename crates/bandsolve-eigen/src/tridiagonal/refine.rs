//! Brackets of eigenvalues, narrowed from Sturm counts.
//!
//! A bracket with several eigenvalues is cut into about as many equal pieces. One with a single eigenvalue has the determinant change its sign
//! once: the next shift is the zero of the chord, moved a little towards the far end so that both ends come closer. Where that does not halve
//! the bracket twice in a row, the middle is next. All brackets move together, so that the lanes are full.

use super::sturm::{SturmMatrix, SturmPoint};
use bandsolve::Result;
use bandsolve::memory::{allocate, collected, more, push, reserved};
use bandsolve_kernel::exact::{exponent, pow2};
use core::ops::Range;

/// Shifts of a round at least, where brackets with several eigenvalues are cut.
const SHIFTS_AT_LEAST: usize = 32;

/// Bits of a number that an eigenvalue may be exactly.
const ROUND: i32 = 20;

/// An interval (lower, upper] with upper.count − lower.count eigenvalues.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    lower: SturmPoint,
    upper: SturmPoint,
    /// Its width when it came to hold a single eigenvalue.
    alone_at: f64,
    /// Rounds in a row that did not halve it.
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

    /// Whether it is as narrow as is asked for.
    fn is_done(&self, tolerance: f64) -> bool {
        let largest = self.lower.shift.abs().max(self.upper.shift.abs());
        self.width() <= tolerance + 2.0 * f64::EPSILON * largest
    }

    fn middle(&self) -> f64 {
        self.lower.shift + 0.5 * self.width()
    }

    /// Where the chord is zero.
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
        // The chord errs by about near · width / (distance of the next eigenvalue).
        let share = (0.5 * self.width() / self.alone_at).min(0.5) * f64::from(1 + 7 * self.slow);
        let beyond = (near * share).max(0.4 * tolerance).max(f64::EPSILON * zero.abs());
        let guess = if zero - from < to - zero { zero + beyond } else { zero - beyond };
        if guess > from && guess < to { guess } else { self.middle() }
    }

    /// A number of few bits in a narrow bracket with a single eigenvalue, which may be the eigenvalue exactly: 0, or one of [`ROUND`] bits.
    /// Of the brackets of random numbers hardly any holds one.
    fn round_number(&self) -> Option<f64> {
        let (from, to) = (self.lower.shift, self.upper.shift);
        if from < 0.0 && 0.0 <= to {
            return Some(0.0);
        }
        let step = pow2(exponent(from.abs().max(to.abs())) - ROUND);
        let round = (to / step).floor() * step;
        (round > from && self.width() < step / 1024.0).then_some(round)
    }

    /// The bracket after a cut of what was `before`.
    fn after(mut self, before: &Bracket) -> Self {
        if before.inside() == 1 {
            self.alone_at = before.alone_at;
            self.slow = if self.width() > 0.5 * before.width() && before.slow < 2 { before.slow + 1 } else { 0 };
        }
        self
    }

    /// Adds shifts that cut it, `cuts` of them if it has several eigenvalues.
    fn add_shifts(&self, cuts: usize, tolerance: f64, points: &mut Vec<SturmPoint>) {
        let mut add = |shift| points.push(SturmPoint::new(shift));
        if self.inside() == 1 && cuts == 1 {
            return add(self.guess(tolerance));
        }
        let step = self.width() / (cuts + 1) as f64;
        (1..=cuts).for_each(|k| add(self.lower.shift + step * k as f64));
    }
}

/// What is looked for, and how precisely.
pub struct Wanted {
    /// Numbers of eigenvalues, counted from the smallest; clipped to those in the interval.
    pub indices: Range<usize>,
    /// Width of brackets that are narrow enough.
    pub tolerance: f64,
}

/// Eigenvalues of `matrix` with the wanted numbers between two points, ascending. The counts at the ends say which are inside.
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

/// Round numbers that may be eigenvalues exactly, and the places of these.
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

    /// Puts those in their places at which the determinant is zero.
    fn replace(mut self, matrix: &SturmMatrix, values: &mut [f64]) {
        matrix.count(&mut self.points);
        let exact = self.places.iter().zip(&self.points).filter(|(_, point)| point.mantissa == 0.0);
        exact.for_each(|(place, point)| values[*place] = point.shift);
    }
}

/// The wanted numbers in a bracket.
fn place(bracket: &Bracket, indices: &Range<usize>) -> Range<usize> {
    bracket.lower.count.max(indices.start)..bracket.upper.count.min(indices.end)
}

/// The eigenvalue of a bracket that is narrow enough.
fn value(bracket: &Bracket) -> f64 {
    let chord = bracket.chord();
    if bracket.inside() == 1 && chord.is_finite() { chord } else { bracket.middle() }
}

/// How many shifts cut each bracket.
fn cuts(brackets: &[Bracket], indices: &Range<usize>) -> Result<Vec<usize>> {
    let least = SHIFTS_AT_LEAST / brackets.len();
    let cuts = |bracket: &Bracket| match place(bracket, indices).len() {
        1 if bracket.inside() == 1 => 1,
        several => (several - 1).max(least).max(1),
    };
    collected(brackets.iter().map(cuts))
}

/// Brackets between neighbouring points that have wanted eigenvalues.
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
            // Rounding may let counts of close shifts decrease.
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
