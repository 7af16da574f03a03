//! The partitions of a band, called parts here, and their factors.

use crate::contract::determinant::ScaledProduct;
use crate::contract::verify::Facts;
use crate::decision::{Decision, Options};
use crate::error::Result;
use crate::matrix::Banded;
use crate::memory::{allocate, filled, places};
use crate::method::Method;
use crate::pivoted::band_lu::{BandLu, BandSource, FactorFacts, FactorOptions, RectangleSize, Spike, pivoted};
use crate::tuned::Tuning;
use crate::tuning::SPIKE_MIN_ROWS;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::each_chunk;
use core::ops::Range;
use std::time::Instant;

/// Consecutive rows of a band, and the factors of the unknowns that have entries in these rows only.
#[derive(Debug)]
pub(crate) struct Part<T: Scalar> {
    pub rows: Range<usize>,
    pub lu: BandLu<T>,
    /// Whether the part is eliminated from its end, as the last part is.
    pub reversed: bool,
    /// The row of the part in which its unknowns start.
    pub offset: usize,
    /// Entries of scaled rows in the unknowns between this part and the previous one: an upper triangle, column by column. A reversed
    /// part has none.
    pub left: Vec<T>,
}

/// A banded matrix that is factored by parts. A small matrix has a single part.
///
/// If two parts meet at row ρ, the unknowns ρ − lower … ρ + upper − 1 have entries in the rows of both. These unknowns are eliminated last,
/// from the remaining equations of all parts.
#[derive(Debug)]
pub(crate) struct Partitions<T: Scalar> {
    pub n: usize,
    pub lower: usize,
    pub upper: usize,
    pub parts: Vec<Part<T>>,
    /// The coarse system of the unknowns between the parts, which is also banded.
    pub coarse: Option<Box<Partitions<T>>>,
    pub parallel: bool,
    facts: FactorFacts,
}

impl<T: Scalar> Partitions<T> {
    /// Factor `a`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(decision: &Decision, a: &Banded<'_, T>) -> Result<Self> {
        let boosted = FactorOptions { boost: true, ..FactorOptions::new(decision) };
        let half = a.lower().max(a.upper());
        let cost = decision.options.inner_row_cost.unwrap_or_else(|| Tuning::current().inner_row_cost(half));
        let cuts = cuts(a.n(), width_between(a), (decision.options.partitions.unwrap_or(2), cost));
        Self::factor(a, &cuts, [boosted, pivoted(decision)])
    }

    /// Factor the parts at the ends with the options `how[0]`, and all other parts with `how[1]`.
    fn factor(a: &Banded<'_, T>, cuts: &[usize], how: [FactorOptions<'_, T::Real>; 2]) -> Result<Self> {
        let n = a.n();
        let [lower, upper] = [a.lower(), a.upper()].map(|width| width.min(n.saturating_sub(1)));
        let make = |p: usize| Part::new(a, cuts[p]..cuts[p + 1], how[usize::from(p > 0 && p + 2 < cuts.len())]);
        let count = cuts.len() - 1;
        let mut factored = places(count)?;
        let put = |p: usize, place: &mut [Option<Result<_>>]| place[0] = Some(make(p));
        each_chunk((count, usize::from(how[0].parallel)), &mut factored[..], &put);
        let factored = filled(factored)?;
        let mut facts = FactorFacts::default();
        for (part, _, findings) in &factored {
            let column = |k: usize| if part.reversed { n - 1 - k } else { part.rows.start + part.offset + k };
            facts = worse(facts, FactorFacts { singular: findings.singular.map(column), ..*findings });
        }
        let coarse = if count > 1 && lower + upper > 0 {
            let coarse = coarse(&factored, (lower, upper))?;
            let halves = self::cuts(coarse.n(), width_between(&coarse), (2, 1.0));
            let coarse = Self::factor(&coarse, &halves, [how[1]; 2])?;
            let column = |k: usize| cuts[1 + k / (lower + upper)] - lower + k % (lower + upper);
            let findings = FactorFacts { singular: coarse.facts.singular.map(column), ..coarse.facts };
            facts = worse(facts, findings);
            Some(Box::new(coarse))
        } else {
            None
        };
        let parts = factored.into_iter().map(|(part, _, _)| part).collect();
        Ok(Self { n, lower, upper, parts, coarse, parallel: how[0].parallel, facts })
    }

    /// Add the findings of the factorisation to `facts`.
    pub fn facts(&self, mut facts: Facts) -> Facts {
        (facts.singular, facts.pivot_growth) = (self.facts.singular, self.facts.growth);
        if self.facts.boosted > 0 {
            let pivots = if self.facts.boosted == 1 { "pivot" } else { "pivots" };
            facts.reason = format!("{}; {} small {pivots} enlarged", facts.reason, self.facts.boosted).into();
        }
        facts
    }

    /// Return det A if the matrix has one part.
    pub fn product(&self) -> Option<ScaledProduct> {
        if let [part] = &self.parts[..] { Some(part.lu.product()) } else { None }
    }

    /// Number of unknowns between two parts.
    pub fn between(&self) -> usize {
        self.lower + self.upper
    }
}

/// Merge findings: the first singular column, the largest growth and the number of all enlarged pivots.
fn worse(a: FactorFacts, b: FactorFacts) -> FactorFacts {
    let growth = a.growth.map_or(b.growth, |a| Some(b.growth.map_or(a, |b| b.max(a))));
    FactorFacts { singular: a.singular.or(b.singular), growth, boosted: a.boosted + b.boosted }
}

/// Number of unknowns between two parts.
fn width_between<T: Scalar>(a: &Banded<'_, T>) -> usize {
    [a.lower(), a.upper()].map(|width| width.min(a.n().saturating_sub(1))).iter().sum()
}

/// The first rows of all parts, and n.
///
/// There are `wanted` parts, or fewer so that all are large enough. The parts at the ends have `cost` times as many rows as inner parts.
pub(crate) fn cuts(n: usize, between: usize, (wanted, cost): (usize, f64)) -> Vec<usize> {
    let least = between.saturating_mul(SPIKE_MIN_ROWS).max(2);
    let rows_of_inner = |count: usize| n as f64 / (2.0 * cost + (count - 2) as f64);
    let mut count = wanted.clamp(1, (n / least).max(1));
    // All inner parts have the same size.
    while count > 2 && rows_of_inner(count) < least as f64 {
        count -= 1;
    }
    let end = if count <= 2 { n.div_ceil(2) } else { (rows_of_inner(count) * cost) as usize };
    let inner = |p: usize| end + n.saturating_sub(end.saturating_mul(2)) * (p - 1) / (count - 2).max(1);
    (0..=count)
        .map(|p| {
            if p == 0 {
                0
            } else if p == count {
                n
            } else {
                inner(p)
            }
        })
        .collect()
}

impl<T: Scalar> Part<T> {
    /// Factor these rows, and return the columns to the left after the elimination, too.
    fn new(
        a: &Banded<'_, T>,
        rows: Range<usize>,
        how: FactorOptions<'_, T::Real>,
    ) -> Result<(Self, Spike<T>, FactorFacts)> {
        let (n, count) = (a.n(), rows.len());
        let [lower, upper] = [a.lower(), a.upper()].map(|width| width.min(n.saturating_sub(1)));
        if rows.start > 0 && rows.end < n {
            return Self::inner(a, rows, how);
        }
        let (reversed, [lower, upper]) = if rows.start > 0 { (true, [upper, lower]) } else { (false, [lower, upper]) };
        let size = if count == n {
            RectangleSize { rows: n, columns: n, pivots: n, lower, upper }
        } else {
            RectangleSize { rows: count, columns: count + upper, pivots: count - lower, lower, upper }
        };
        let (lu, facts) = BandLu::new(&BandSource { a, first: [0, 0], reversed, size }, how)?;
        Ok((Self { rows, lu, reversed, offset: 0, left: Vec::new() }, Spike::none(), facts))
    }

    /// Factor a part with neighbours on both sides, whose band is below the diagonal.
    fn inner(
        a: &Banded<'_, T>,
        rows: Range<usize>,
        how: FactorOptions<'_, T::Real>,
    ) -> Result<(Self, Spike<T>, FactorFacts)> {
        let (lower, upper, count) = (a.lower(), a.upper(), rows.len());
        let between = lower + upper;
        let size = RectangleSize { rows: count, columns: count, pivots: count - between, lower: between, upper: 0 };
        let source = BandSource { a, first: [rows.start, rows.start + upper], reversed: false, size };
        let mut spike = Spike::new(between, between, |i, c| a.get(rows.start + i, rows.start + c - lower))?;
        let (lu, facts) = BandLu::with_spike(&source, how, &mut spike)?;
        let mut left = allocate(between * between, T::ZERO)?;
        for (k, v) in left.iter_mut().enumerate() {
            let (i, c) = (k % between, k / between);
            *v = a.get(rows.start + i, rows.start + c - lower).scale(lu.scale()[i]);
        }
        Ok((Self { rows, lu, reversed: false, offset: upper, left }, spike, facts))
    }

    /// Number of remaining equations.
    pub fn equations(&self) -> usize {
        self.lu.size().rows - self.lu.size().pivots
    }
}

/// The coarse system: the remaining equations in the unknowns between the parts.
fn coarse<T: Scalar>(
    factored: &[(Part<T>, Spike<T>, FactorFacts)],
    (lower, upper): (usize, usize),
) -> Result<Banded<'static, T>> {
    let between = lower + upper;
    let n = (factored.len() - 1) * between;
    let [below, above] =
        [lower + between, upper + between].map(|width| width.saturating_sub(1).min(n.saturating_sub(1)));
    let leading = below + above + 1;
    let mut bands = allocate(n.saturating_mul(leading), T::ZERO)?;
    let mut set = |i: usize, j: usize, v: T| bands[above + i - j + j * leading] = v;
    let mut first = 0;
    for (p, (part, spike, _)) in factored.iter().enumerate() {
        let equations = part.equations();
        for (i, c) in (0..equations).flat_map(|i| (0..between).map(move |c| (i, c))) {
            if part.reversed {
                set(first + equations - 1 - i, p * between - 1 - c, part.lu.rest(i, c));
                continue;
            }
            set(first + i, p * between + c, part.lu.rest(i, c));
            if p > 0 {
                set(first + i, (p - 1) * between + c, spike.rest(i, c));
            }
        }
        first += equations;
    }
    Banded::from_vec(n, below, above, bands)
}

/// Measure the time to factor a row of an inner part relative to a row of the first part. Returns the median of several runs.
fn inner_row_cost(half: usize) -> Result<f64> {
    const TURNS: usize = 7;
    // A run takes some ten milliseconds.
    let rows = (1 << 24) / (half * half + 64 * half) + 8 * half;
    let n = 3 * rows;
    // Irregular numbers, so that rows are exchanged.
    let random = |k: usize| (k as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
    let bands = (0..n * (2 * half + 1)).map(|k| random(k * k)).collect();
    let a = Banded::<f64>::from_vec(n, half, half, bands)?;
    let options = Options { threads: 1, ..Options::new(false) };
    let decision = Decision::new(a.shape(), Method::Spike, options);
    let time = |rows: Range<usize>| {
        let started = Instant::now();
        Part::new(&a, rows, pivoted(&decision)).map(|_| started.elapsed().as_secs_f64())
    };
    let mut ratios = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        let end = time(0..rows)?;
        ratios.push(time(rows..2 * rows)? / end);
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[TURNS / 2].clamp(1.0, 100.0))
}

impl Tuning {
    /// Measure the tuning numbers of this machine. The measurement uses one thread and takes about a second.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn measure() -> Result<Tuning> {
        let measured = |half: usize| Ok((half, inner_row_cost(half)?));
        Ok(Tuning { inner_row_cost: [4, 16, 64].into_iter().map(measured).collect::<Result<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::cuts;

    #[test]
    fn parts_cover_all_rows_and_ends_are_larger() {
        assert_eq!(cuts(100, 4, (2, 4.0)), [0, 50, 100]);
        assert_eq!(cuts(100, 4, (4, 4.0)), [0, 40, 50, 60, 100]);
        assert_eq!(cuts(100, 4, (4, 1.5)), [0, 30, 50, 70, 100]);
        assert_eq!(cuts(7, 4, (2, 4.0)), [0, 7]);
        for n in [0, 1, 2, 3, 17, 100, 1001] {
            for (between, wanted) in [(0, 2), (1, 2), (2, 3), (3, 5), (16, 4), (3, 1000)] {
                for cost in [1.0, 3.5, 4.0, 100.0] {
                    let cuts = cuts(n, between, (wanted, cost));
                    assert!(cuts[0] == 0 && cuts[cuts.len() - 1] == n);
                    let large = |c: &[usize]| c[1] >= c[0] + 2 * between.max(1);
                    assert!(cuts.len() == 2 || between == 0 || cuts.windows(2).all(large), "{n} {cuts:?}");
                }
            }
        }
    }
}
