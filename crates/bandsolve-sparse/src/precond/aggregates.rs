//! Aggregates of unknowns, and the prolongation from them.

use crate::csr::Csr;
use crate::multiply::{RowTerms, sum_rows};
use crate::rows::each_row;
use bandsolve::memory::{allocate, collected};
use bandsolve::vectors::{narrow, widen};
use bandsolve::{RealScalar, Result, Scalar};

/// No aggregate yet.
const NONE: u32 = u32::MAX;

/// The damping factor ω of the Jacobi step that smooths the prolongation. The step divides each row by the sum of its moduli.
const DAMPING: f64 = 1.6;

/// The aggregate of each unknown, or [`NONE`].
pub(super) struct Aggregates {
    own: Vec<u32>,
    count: usize,
}

/// Properties of a row.
#[derive(Clone, Copy)]
struct RowFacts<T> {
    /// The factor of the row in the Jacobi step. 0 if the row is not smoothed.
    step: T,
    /// The smallest modulus of a strong coupling.
    least: f64,
    /// The sign of couplings that are never strong.
    sign: f64,
}

/// The matrix, with the properties of its rows for aggregation.
pub(super) struct CoarseningGraph<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    facts: Vec<RowFacts<T>>,
}

fn modulus<T: Scalar>(value: T) -> f64 {
    Scalar::abs(value).to_f64()
}

/// 1 or −1 for a number near the positive or the negative real axis, otherwise 0.
#[inline]
fn sign_of<T: Scalar>(value: T, modulus: f64) -> f64 {
    let re = value.re().to_f64();
    if re > 0.5 * modulus {
        1.0
    } else if re < -0.5 * modulus {
        -1.0
    } else {
        0.0
    }
}

impl<T: Scalar> RowFacts<T> {
    fn of(row: impl Iterator<Item = (usize, T)> + Clone, i: usize, threshold: f64) -> Self {
        let couplings = row.clone().filter(|(j, _)| *j != i).map(|(_, value)| value);
        let mut d = row.fold(T::ZERO, |d, (j, value)| if j == i { value } else { d });
        let sign = sign_of(d, modulus(d));
        let (mut most, mut all) = (0.0_f64, 0.0_f64);
        for value in couplings.clone() {
            let modulus = modulus(value);
            all = all.max(modulus);
            most = most.max(if sign_of(value, modulus) == sign { 0.0 } else { modulus });
        }
        let (sign, most) = if sign != 0.0 && most > 0.0 { (sign, most) } else { (0.0, all) };
        let mut facts = Self { step: T::ZERO, least: (threshold * most).max(f64::MIN_POSITIVE), sign };
        let mut moduli = 0.0;
        for value in couplings {
            if facts.is_strong(value) { moduli += modulus(value) } else { d += value }
        }
        let own = modulus(d);
        if own > 0.0 {
            facts.step = narrow(widen(d).conj() / own * (DAMPING / (own + moduli)));
        }
        facts
    }

    /// Whether a coupling of the row is strong: it can join unknowns to an aggregate.
    #[inline]
    fn is_strong(&self, value: T) -> bool {
        let modulus = modulus(value);
        modulus >= self.least && (self.sign == 0.0 || sign_of(value, modulus) != self.sign)
    }
}

/// A row is a hub if it has more entries than `MANY`, and more than `TIMES_MEAN` times the mean. A hub is not smoothed: its row of P would have an entry for
/// the aggregate of each neighbor, and the next matrix one for each pair of neighbors.
const MANY: usize = 128;
const TIMES_MEAN: usize = 16;

impl<'a, T: Scalar> CoarseningGraph<'a, T> {
    /// Neighbors are unknowns with strong couplings: at least `threshold` times the strongest coupling of the row. Couplings with the sign of the diagonal
    /// are not strong if there are others, since smooth errors need not be equal along them.
    ///
    /// # Errors
    /// [`bandsolve::Error::OutOfMemory`], here and below.
    pub fn new(a: &'a Csr<'a, T, u32>, threshold: f64) -> Result<Self> {
        let mut facts = allocate(a.rows(), RowFacts { step: T::ZERO, least: 0.0, sign: 0.0 })?;
        let most = MANY.max(TIMES_MEAN * (a.entries() / a.rows().max(1)));
        each_row(&mut facts, &|i, facts| {
            *facts = RowFacts::of(a.row(i), i, threshold);
            if a.range(i).len() > most {
                facts.step = T::ZERO;
            }
            0
        });
        Ok(Self { a, facts })
    }

    /// Neighbors of an unknown, and the moduli of their couplings.
    fn strong(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let facts = self.facts[i];
        let couplings = self.a.row(i).filter(move |(j, value)| *j != i && facts.is_strong(*value));
        couplings.map(|(j, value)| (j, modulus(value)))
    }

    /// Divide the unknowns into aggregates. First, an unknown and its neighbors form an aggregate if none of them has one. Each remaining unknown joins the
    /// aggregate of its strongest neighbor, or forms a new one.
    ///
    /// The first step is sequential. In parallel pieces, aggregates and the next matrix would be irregular at the borders of the pieces.
    pub fn aggregates(&self) -> Result<Aggregates> {
        let (mut first, mut count) = (allocate(self.a.rows(), NONE)?, 0);
        for i in 0..first.len() {
            if first[i] == NONE && self.is_free(i, &first) {
                first[i] = count;
                self.strong(i).for_each(|(j, _)| first[j] = count);
                count += 1;
            }
        }
        let mut own = allocate(first.len(), NONE)?;
        let left = each_row(&mut own, &|i, own| {
            *own = if first[i] == NONE { self.strongest(i, &first) } else { first[i] };
            usize::from(*own == NONE)
        });
        for i in (0..own.len()).filter(|_| left > 0) {
            if own[i] == NONE {
                own[i] = count;
                self.strong(i).for_each(|(j, _)| {
                    if own[j] == NONE {
                        own[j] = count;
                    }
                });
                count += 1;
            }
        }
        Ok(Aggregates { own, count: count as usize })
    }

    /// Whether an unknown has neighbors, and none of them has an aggregate.
    fn is_free(&self, i: usize, own: &[u32]) -> bool {
        let mut neighbors = self.strong(i).peekable();
        neighbors.peek().is_some() && neighbors.all(|(j, _)| own[j] == NONE)
    }

    /// The aggregate of the strongest neighbor that has one.
    fn strongest(&self, i: usize, first: &[u32]) -> u32 {
        let joined = self.strong(i).filter(|(j, _)| first[*j] != NONE);
        joined.fold((0.0, NONE), |best, (j, modulus)| if modulus > best.0 { (modulus, first[j]) } else { best }).1
    }

    /// Compute the prolongation P = (I − ω·D⁻¹·Ā)·T and the candidate vector of the next level.
    ///
    /// Column k of T is the normalised candidate on aggregate k. Ā is A with its weak couplings added to the diagonal, so that P has no negligible entries.
    /// D has the sums of the moduli of the rows of Ā. Without `smoothed`, P = T.
    pub fn prolongation(
        &self,
        (aggregates, candidate): (&Aggregates, &[T]),
        smoothed: bool,
    ) -> Result<(Csr<'static, T, u32>, Vec<T>)> {
        let (n, count) = (self.a.rows(), aggregates.count);
        let mut norms = allocate(count, 0.0)?;
        for (k, value) in aggregates.own.iter().zip(candidate).filter(|(k, _)| **k != NONE) {
            norms[*k as usize] += widen(*value).norm_sqr();
        }
        norms.iter_mut().for_each(|own| *own = if *own > 0.0 { own.sqrt() } else { 1.0 });
        let mut tentative = allocate(n, (NONE, T::ZERO))?;
        each_row(&mut tentative, &|i, own| {
            let k = aggregates.own[i];
            if k != NONE {
                *own = (k, candidate[i].scale(T::Real::from_f64(1.0 / norms[k as usize])));
            }
            0
        });
        let rows = SmoothedRows { graph: self, tentative: &tentative, smoothed };
        let prolongation = sum_rows((n, count), if smoothed { n * 3 } else { n }, false, &rows)?;
        Ok((prolongation, collected(norms.into_iter().map(|norm| T::from_real(T::Real::from_f64(norm))))?))
    }
}

/// The rows of P.
struct SmoothedRows<'a, T: Scalar> {
    graph: &'a CoarseningGraph<'a, T>,
    smoothed: bool,
    /// The entry of each row of T.
    tentative: &'a [(u32, T)],
}

impl<T: Scalar> RowTerms<T> for SmoothedRows<'_, T> {
    #[inline(always)]
    fn each_term(&self, row: usize, add: &mut impl FnMut(u32, T)) {
        let (own, facts) = (self.tentative[row], self.graph.facts[row]);
        let mut sum = own.1;
        if !self.smoothed || facts.step == T::ZERO {
            if own.0 != NONE {
                add(own.0, sum);
            }
            return;
        }
        for (j, entry) in self.graph.a.row(row) {
            let by = -(facts.step * entry);
            let (k, value) = self.tentative[j];
            if j == row || !facts.is_strong(entry) {
                sum += by * own.1;
            } else if k != NONE {
                add(k, by * value);
            }
        }
        if own.0 != NONE {
            add(own.0, sum);
        }
    }

    fn most(&self, row: usize) -> usize {
        self.graph.a.range(row).len() + 1
    }
}

impl Aggregates {
    pub fn count(&self) -> usize {
        self.count
    }

    /// Remove aggregates on which the candidate is 0. The smoother solves for their unknowns, and a column of zeros would make the next matrix singular.
    /// `rounding` is the error of the candidate, relative to its largest element. Renumbers the aggregates by their first unknowns.
    pub fn occupied<T: Scalar>(mut self, candidate: &[T], rounding: f64) -> Result<Self> {
        let (mut number, mut kept) = (allocate(self.count, NONE)?, 0);
        // A number at the level of rounding errors counts as 0.
        let largest = candidate.iter().map(|value| modulus(*value)).fold(0.0, f64::max);
        let least = largest * 64.0 * rounding;
        for (k, value) in self.own.iter().zip(candidate) {
            if number[*k as usize] == NONE && modulus(*value) > least {
                number[*k as usize] = kept;
                kept += 1;
            }
        }
        // Unknowns of removed aggregates get no entry in P.
        each_row(&mut self.own, &|_, k| {
            *k = number[*k as usize];
            0
        });
        Ok(Self { count: kept as usize, ..self })
    }
}
