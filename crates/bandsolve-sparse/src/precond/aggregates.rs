//! Strength of connection, aggregates of unknowns, and the smoothed prolongation from them.
//!
//! The steps are those of smoothed aggregation: strength of connection → aggregates → tentative prolongation T → smoothed prolongation P.
//!
//! # Source
//! - Strength of connection by sign, relative to the strongest coupling of the row: K. Stüben, A review of algebraic multigrid, J. Comput. Appl. Math.
//!   128 (2001), 281–309, doi:10.1016/S0377-0427(00)00516-1.
//! - Aggregates, and P from the matrix without weak couplings: P. Vaněk, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation for second
//!   and fourth order elliptic problems, Computing 56 (1996), 179–196, doi:10.1007/BF02238511. Here weak couplings are added to the diagonal, so that
//!   row sums stay the same.

use crate::csr::Csr;
use crate::multiply::{RowTerms, sum_rows};
use crate::rows::each_row;
use crate::tuning::{HUB_MIN_ENTRIES, HUB_TIMES_MEAN, PROLONGATION_DAMPING};
use bandsolve::memory::{allocate, collected};
use bandsolve::vectors::{narrow, widen};
use bandsolve::{RealScalar, Result, Scalar};

/// No aggregate yet.
const NONE: u32 = u32::MAX;

/// A division of the unknowns into aggregates.
pub(super) struct Aggregates {
    /// The aggregate of each unknown, or [`NONE`].
    of_unknown: Vec<u32>,
    count: usize,
}

/// Which couplings of a row are strong, and the Jacobi step of the row.
#[derive(Clone, Copy)]
struct RowStrength<T> {
    /// The factor ω/dᵢ of the row in the Jacobi step. 0 if the row is not smoothed.
    step: T,
    /// The smallest modulus of a strong coupling.
    min_strong: f64,
    /// The sign of couplings that are never strong: the sign of the diagonal, or 0.
    sign: f64,
}

/// The matrix, with the strength of connection of its rows.
pub(super) struct CoarseningGraph<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    rows: Vec<RowStrength<T>>,
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

impl<T: Scalar> RowStrength<T> {
    fn of(row: impl Iterator<Item = (usize, T)> + Clone, i: usize, threshold: f64) -> Self {
        let couplings = row.clone().filter(|(j, _)| *j != i).map(|(_, value)| value);
        let mut d = row.fold(T::ZERO, |d, (j, value)| if j == i { value } else { d });
        // The strongest coupling of row i: maxⱼ |aᵢⱼ| over the couplings whose sign is not that of aᵢᵢ, or over all if there are none.
        let sign = sign_of(d, modulus(d));
        let (mut opposite_max, mut max) = (0.0_f64, 0.0_f64);
        for value in couplings.clone() {
            let modulus = modulus(value);
            max = max.max(modulus);
            opposite_max = opposite_max.max(if sign_of(value, modulus) == sign { 0.0 } else { modulus });
        }
        let (sign, strongest) = if sign != 0.0 && opposite_max > 0.0 { (sign, opposite_max) } else { (0.0, max) };
        // Coupling j is strong if |aᵢⱼ| ≥ θ·strongest.
        let min_strong = (threshold * strongest).max(f64::MIN_POSITIVE);
        let mut strength = Self { step: T::ZERO, min_strong, sign };
        // āᵢᵢ = aᵢᵢ + Σ aᵢⱼ over the weak couplings
        let mut moduli = 0.0;
        for value in couplings {
            if strength.is_strong(value) { moduli += modulus(value) } else { d += value }
        }
        // ω/dᵢ with dᵢ = (āᵢᵢ/|āᵢᵢ|)·Σⱼ |āᵢⱼ|
        let diagonal = modulus(d);
        if diagonal > 0.0 {
            strength.step = narrow(widen(d).conj() / diagonal * (PROLONGATION_DAMPING / (diagonal + moduli)));
        }
        strength
    }

    /// Whether a coupling of the row is strong: it can join unknowns to an aggregate.
    #[inline]
    fn is_strong(&self, value: T) -> bool {
        let modulus = modulus(value);
        modulus >= self.min_strong && (self.sign == 0.0 || sign_of(value, modulus) != self.sign)
    }
}

impl<'a, T: Scalar> CoarseningGraph<'a, T> {
    /// Neighbors are unknowns with strong couplings: at least `threshold` times the strongest coupling of the row. Couplings with the sign of the diagonal
    /// are not strong if there are others, since smooth errors need not be equal along them.
    ///
    /// # Errors
    /// [`bandsolve::Error::OutOfMemory`], here and below.
    pub fn new(a: &'a Csr<'a, T, u32>, threshold: f64) -> Result<Self> {
        let mut rows = allocate(a.rows(), RowStrength { step: T::ZERO, min_strong: 0.0, sign: 0.0 })?;
        let hub = HUB_MIN_ENTRIES.max(HUB_TIMES_MEAN * (a.entries() / a.rows().max(1)));
        each_row(&mut rows, &|i, strength| {
            *strength = RowStrength::of(a.row(i), i, threshold);
            // A hub is not smoothed: its row of P would have an entry for the aggregate of each neighbor, and the next matrix one for each pair of
            // neighbors.
            if a.range(i).len() > hub {
                strength.step = T::ZERO;
            }
            0
        });
        Ok(Self { a, rows })
    }

    /// Neighbors of an unknown, and the moduli of their couplings.
    fn strong(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let strength = self.rows[i];
        let couplings = self.a.row(i).filter(move |(j, value)| *j != i && strength.is_strong(*value));
        couplings.map(|(j, value)| (j, modulus(value)))
    }

    /// Divide the unknowns into aggregates.
    ///
    /// The first pass is sequential. In parallel pieces, aggregates and the next matrix would be irregular at the borders of the pieces.
    pub fn aggregates(&self) -> Result<Aggregates> {
        // Pass 1: an unknown and its neighbors form an aggregate if none of them has one.
        let (mut first, mut count) = (allocate(self.a.rows(), NONE)?, 0);
        for i in 0..first.len() {
            if first[i] == NONE && self.is_free(i, &first) {
                first[i] = count;
                self.strong(i).for_each(|(j, _)| first[j] = count);
                count += 1;
            }
        }
        // Pass 2: each remaining unknown joins the aggregate of its strongest neighbor that got one in pass 1.
        let mut of_unknown = allocate(first.len(), NONE)?;
        let remaining = each_row(&mut of_unknown, &|i, aggregate| {
            *aggregate = if first[i] == NONE { self.strongest(i, &first) } else { first[i] };
            usize::from(*aggregate == NONE)
        });
        // Pass 3: an unknown that still has no aggregate forms one with its neighbors that have none.
        for i in (0..of_unknown.len()).filter(|_| remaining > 0) {
            if of_unknown[i] == NONE {
                of_unknown[i] = count;
                self.strong(i).for_each(|(j, _)| {
                    if of_unknown[j] == NONE {
                        of_unknown[j] = count;
                    }
                });
                count += 1;
            }
        }
        Ok(Aggregates { of_unknown, count: count as usize })
    }

    /// Whether an unknown has neighbors, and none of them has an aggregate.
    fn is_free(&self, i: usize, aggregates: &[u32]) -> bool {
        let mut neighbors = self.strong(i).peekable();
        neighbors.peek().is_some() && neighbors.all(|(j, _)| aggregates[j] == NONE)
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
        // ‖v‖₂ on each aggregate k, which is also element k of the candidate vector of the next level
        let mut norms = allocate(count, 0.0)?;
        for (k, value) in aggregates.of_unknown.iter().zip(candidate).filter(|(k, _)| **k != NONE) {
            norms[*k as usize] += widen(*value).norm_sqr();
        }
        norms.iter_mut().for_each(|norm| *norm = if *norm > 0.0 { norm.sqrt() } else { 1.0 });
        // tᵢₖ = vᵢ / ‖v‖₂ for the aggregate k of unknown i
        let mut tentative = allocate(n, (NONE, T::ZERO))?;
        each_row(&mut tentative, &|i, entry| {
            let k = aggregates.of_unknown[i];
            if k != NONE {
                *entry = (k, candidate[i].scale(T::Real::from_f64(1.0 / norms[k as usize])));
            }
            0
        });
        // P = (I − ω·D⁻¹·Ā)·T, row by row
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
        let ((aggregate, value), strength) = (self.tentative[row], self.graph.rows[row]);
        let mut sum = value;
        if !self.smoothed || strength.step == T::ZERO {
            if aggregate != NONE {
                add(aggregate, sum);
            }
            return;
        }
        // pᵢ = tᵢ − (ω/dᵢ)·Σⱼ āᵢⱼ·tⱼ: the diagonal and weak couplings multiply tᵢ, strong couplings tⱼ.
        for (j, entry) in self.graph.a.row(row) {
            let by = -(strength.step * entry);
            let (k, neighbor) = self.tentative[j];
            if j == row || !strength.is_strong(entry) {
                sum += by * value;
            } else if k != NONE {
                add(k, by * neighbor);
            }
        }
        if aggregate != NONE {
            add(aggregate, sum);
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
        let (mut number, mut count) = (allocate(self.count, NONE)?, 0);
        // A number at the level of rounding errors counts as 0.
        let largest = candidate.iter().map(|value| modulus(*value)).fold(0.0, f64::max);
        let zero = largest * 64.0 * rounding;
        for (k, value) in self.of_unknown.iter().zip(candidate) {
            if number[*k as usize] == NONE && modulus(*value) > zero {
                number[*k as usize] = count;
                count += 1;
            }
        }
        // Unknowns of removed aggregates get no entry in P.
        each_row(&mut self.of_unknown, &|_, k| {
            *k = number[*k as usize];
            0
        });
        Ok(Self { count: count as usize, ..self })
    }
}
