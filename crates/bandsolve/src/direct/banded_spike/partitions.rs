//! How a band is cut, and the factors of its parts.

use crate::direct::band_lu::{BandLu, Findings, How, Size, Source, Spike, pivoted};
use crate::direct::pivoted::allocate;
use crate::error::Result;
use crate::matrix::Banded;
use crate::plan::Plan;
use crate::scalar::Scalar;
use crate::tuning::{SPIKE_END_WEIGHT, SPIKE_MIN_ROWS};
use core::ops::Range;
use rayon::prelude::*;

/// Consecutive rows of a band, and the factors of the unknowns that have entries in no other rows.
#[derive(Debug)]
pub(super) struct Part<T: Scalar> {
    pub rows: Range<usize>,
    pub lu: BandLu<T>,
    /// The last part is eliminated from its end.
    pub reversed: bool,
    /// Where, in the rows, the unknowns begin.
    pub offset: usize,
    /// Entries in the unknowns between this and the part before, an upper triangle, column by column, rows scaled. The last
    /// part, being reversed, has none.
    pub left: Vec<T>,
}

/// A banded matrix factored by parts; of one part only if it is small.
///
/// Between two parts that meet at row ρ the unknowns ρ − lower … ρ + upper − 1 have entries in the rows of both. They are
/// eliminated last, from what is left of the equations of all parts.
#[derive(Debug)]
pub(super) struct Partitions<T: Scalar> {
    pub n: usize,
    pub lower: usize,
    pub upper: usize,
    pub parts: Vec<Part<T>>,
    /// The system of the unknowns between the parts: banded again.
    pub coarse: Option<Box<Partitions<T>>>,
    pub parallel: bool,
    found: Findings,
}

impl<T: Scalar> Partitions<T> {
    /// Factors `a`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(plan: &Plan, a: &Banded<'_, T>) -> Result<Self> {
        let boosted = How { boost: true, ..How::new(plan) };
        Self::factor(a, plan.options.partitions.unwrap_or(2), [boosted, pivoted(plan)])
    }

    /// Factors the parts at the ends as `how[0]` says, everything else as `how[1]`.
    fn factor(a: &Banded<'_, T>, wanted: usize, how: [How<'_, T::Real>; 2]) -> Result<Self> {
        let n = a.n();
        let [lower, upper] = [a.lower(), a.upper()].map(|width| width.min(n.saturating_sub(1)));
        let cuts = cuts(n, lower + upper, wanted);
        let make = |p: usize| Part::new(a, cuts[p]..cuts[p + 1], how[usize::from(p > 0 && p + 2 < cuts.len())]);
        let count = cuts.len() - 1;
        let made: Vec<_> = if how[0].parallel {
            (0..count).into_par_iter().map(make).collect::<Result<_>>()?
        } else {
            (0..count).map(make).collect::<Result<_>>()?
        };
        let mut found = Findings::default();
        for (part, (_, _, findings)) in cuts.windows(2).zip(&made) {
            let column = |k: usize| if part[1] == n { n - 1 - k } else { part[0] + k };
            found = worse(found, Findings { singular: findings.singular.map(column), ..*findings });
        }
        let coarse = if count > 1 && lower + upper > 0 {
            let coarse = Self::factor(&coarse(&made, (lower, upper))?, 2, [how[1]; 2])?;
            let column = |k: usize| cuts[1 + k / (lower + upper)] - lower + k % (lower + upper);
            let findings = Findings { singular: coarse.found.singular.map(column), ..coarse.found };
            found = worse(found, findings);
            Some(Box::new(coarse))
        } else {
            None
        };
        let parts = made.into_iter().map(|(part, _, _)| part).collect();
        Ok(Self { n, lower, upper, parts, coarse, parallel: how[0].parallel, found })
    }

    /// What the factorisation found out.
    pub fn found(&self) -> Findings {
        self.found
    }

    /// Unknowns between two parts.
    pub fn between(&self) -> usize {
        self.lower + self.upper
    }
}

/// The first singular column, the largest growth and all boosted pivots.
fn worse(a: Findings, b: Findings) -> Findings {
    let growth = a.growth.map_or(b.growth, |a| Some(b.growth.map_or(a, |b| b.max(a))));
    Findings { singular: a.singular.or(b.singular), growth, boosted: a.boosted + b.boosted }
}

/// Rows where parts begin, and n: as many parts as wanted, or as are large enough.
pub(super) fn cuts(n: usize, between: usize, wanted: usize) -> Vec<usize> {
    let least = (SPIKE_MIN_ROWS * between).max(2);
    let weight = |count: usize| if count > 1 { 2 * SPIKE_END_WEIGHT + count - 2 } else { 1 };
    let mut count = wanted.clamp(1, (n / least).max(1));
    // All inner parts are of the same size.
    while count > 2 && n / weight(count) < least {
        count -= 1;
    }
    let end = if count == 2 { n.div_ceil(2) } else { n / weight(count) * SPIKE_END_WEIGHT };
    let inner = |p: usize| end + n.saturating_sub(2 * end) * (p - 1) / (count - 2).max(1);
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
    /// Factors these rows; also returns the columns to the left, as they are after elimination.
    fn new(a: &Banded<'_, T>, rows: Range<usize>, how: How<'_, T::Real>) -> Result<(Self, Spike<T>, Findings)> {
        let (n, count) = (a.n(), rows.len());
        let [lower, upper] = [a.lower(), a.upper()].map(|width| width.min(n.saturating_sub(1)));
        if rows.start > 0 && rows.end < n {
            return Self::inner(a, rows, how);
        }
        let (reversed, [lower, upper]) = if rows.start > 0 { (true, [upper, lower]) } else { (false, [lower, upper]) };
        let size = if count == n {
            Size { rows: n, columns: n, pivots: n, lower, upper }
        } else {
            Size { rows: count, columns: count + upper, pivots: count - lower, lower, upper }
        };
        let (lu, found) = BandLu::new(&Source { a, first: [0, 0], reversed, size }, how)?;
        Ok((Self { rows, lu, reversed, offset: 0, left: Vec::new() }, Spike::none(), found))
    }

    /// A part with neighbours on both sides: its band lies below the diagonal.
    fn inner(a: &Banded<'_, T>, rows: Range<usize>, how: How<'_, T::Real>) -> Result<(Self, Spike<T>, Findings)> {
        let (lower, upper, count) = (a.lower(), a.upper(), rows.len());
        let between = lower + upper;
        let size = Size { rows: count, columns: count, pivots: count - between, lower: between, upper: 0 };
        let source = Source { a, first: [rows.start, rows.start + upper], reversed: false, size };
        let mut spike = Spike::new(between, between, |i, c| a.get(rows.start + i, rows.start + c - lower))?;
        let (lu, found) = BandLu::with_spike(&source, how, &mut spike)?;
        let mut left = allocate(between * between, T::ZERO)?;
        for (k, v) in left.iter_mut().enumerate() {
            let (i, c) = (k % between, k / between);
            *v = a.get(rows.start + i, rows.start + c - lower).scale(lu.scale()[i]);
        }
        Ok((Self { rows, lu, reversed: false, offset: upper, left }, spike, found))
    }

    /// Equations that are left.
    pub fn equations(&self) -> usize {
        self.lu.size().rows - self.lu.size().pivots
    }
}

/// The equations that are left, in the unknowns between the parts.
fn coarse<T: Scalar>(
    made: &[(Part<T>, Spike<T>, Findings)],
    (lower, upper): (usize, usize),
) -> Result<Banded<'static, T>> {
    let between = lower + upper;
    let n = (made.len() - 1) * between;
    let [below, above] =
        [lower + between, upper + between].map(|width| width.saturating_sub(1).min(n.saturating_sub(1)));
    let leading = below + above + 1;
    let mut bands = allocate(n.saturating_mul(leading), T::ZERO)?;
    let mut set = |i: usize, j: usize, v: T| bands[above + i - j + j * leading] = v;
    let mut first = 0;
    for (p, (part, spike, _)) in made.iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::cuts;

    #[test]
    fn parts_cover_all_rows_and_ends_are_larger() {
        assert_eq!(cuts(100, 4, 2), [0, 50, 100]);
        assert_eq!(cuts(100, 4, 4), [0, 40, 50, 60, 100]);
        assert_eq!(cuts(7, 4, 2), [0, 7]);
        for n in [0, 1, 2, 3, 17, 100, 1001] {
            for (between, wanted) in [(0, 2), (1, 2), (2, 3), (3, 5), (16, 4), (3, 1000)] {
                let cuts = cuts(n, between, wanted);
                assert!(cuts[0] == 0 && cuts[cuts.len() - 1] == n);
                let large = |c: &[usize]| c[1] >= c[0] + 2 * between.max(1);
                assert!(cuts.len() == 2 || between == 0 || cuts.windows(2).all(large), "{n} {cuts:?}");
            }
        }
    }
}
