//! Aggregates of unknowns, and the prolongation that they make.

use crate::csr::Csr;
use crate::krylov::{buffer, stack};
use crate::multiply::RowSum;
use crate::random::mixed;
use crate::rows::{each_row, make_rows};
use bandsolve::dyn_stack::StackReq;
use bandsolve::vectors::{Reducer, widen};
use bandsolve::{Alone, RealScalar, Result, Scalar};

/// No aggregate yet.
const NONE: u32 = u32::MAX;

/// Steps of the power method, and by how much they are below twice as many.
const STEPS: usize = 4;
const MISSING: f64 = 1.08;

/// The aggregate of each unknown, or [`NONE`].
pub(super) struct Aggregates {
    own: Vec<u32>,
    count: usize,
}

/// What is known of a row.
#[derive(Clone, Copy)]
struct RowFacts<T> {
    /// 1/aᵢᵢ, or 0.
    inverse: T,
    /// The least modulus of a coupling that joins aggregates.
    least: f64,
}

/// Rows and columns as aggregation sees them.
pub(super) struct CoarseningGraph<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    facts: Vec<RowFacts<T>>,
}

fn modulus<T: Scalar>(value: T) -> f64 {
    Scalar::abs(value).to_f64()
}

impl<'a, T: Scalar> CoarseningGraph<'a, T> {
    /// Neighbors are those coupled by at least `threshold` of the strongest coupling of the row.
    pub fn new(a: &'a Csr<'a, T, u32>, threshold: f64) -> Self {
        let n = a.rows();
        let mut facts = vec![RowFacts { inverse: T::ZERO, least: 0.0 }; n];
        each_row(&mut facts, &|i, facts| {
            let (mut d, mut largest) = (T::ZERO, 0.0_f64);
            for (j, value) in a.row(i) {
                if j == i {
                    d = value;
                } else {
                    largest = largest.max(modulus(value));
                }
            }
            if d != T::ZERO {
                facts.inverse = T::ONE / d;
            }
            facts.least = (threshold * largest).max(f64::MIN_POSITIVE);
            0
        });
        Self { a, facts }
    }

    /// Neighbors of an unknown, and the moduli of their couplings.
    fn strong(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let least = self.facts[i].least;
        let couplings = self.a.row(i).filter(move |(j, _)| *j != i).map(|(j, value)| (j, modulus(value)));
        couplings.filter(move |(_, modulus)| *modulus >= least)
    }

    /// Cuts the unknowns into aggregates: first all neighbors of an unknown of which none has one; what is left joins the strongest of its
    /// neighbors', or makes one of its own. Those on which the candidate is 0 are none: the smoother solves for their unknowns, such as
    /// those that are coupled to no other, and a column of zeros would make the next matrix singular.
    ///
    /// The first step is sequential: where pieces of the unknowns meet, aggregates and the next matrix would be irregular.
    pub fn aggregates(&self, candidate: &[T]) -> Aggregates {
        let (mut first, mut count) = (vec![NONE; self.a.rows()], 0);
        for i in 0..first.len() {
            if first[i] == NONE && self.is_free(i, &first) {
                first[i] = count;
                self.strong(i).for_each(|(j, _)| first[j] = count);
                count += 1;
            }
        }
        let mut own = vec![NONE; first.len()];
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
        Aggregates { own, count: count as usize }.occupied(candidate)
    }

    /// Whether an unknown has neighbors, and none of them an aggregate.
    fn is_free(&self, i: usize, own: &[u32]) -> bool {
        let mut neighbors = self.strong(i).peekable();
        neighbors.peek().is_some() && neighbors.all(|(j, _)| own[j] == NONE)
    }

    /// The aggregate of the strongest neighbor that has one.
    fn strongest(&self, i: usize, first: &[u32]) -> u32 {
        let joined = self.strong(i).filter(|(j, _)| first[*j] != NONE);
        joined.fold((0.0, NONE), |best, (j, modulus)| if modulus > best.0 { (modulus, first[j]) } else { best }).1
    }

    /// P = (I − ω·D⁻¹·A)·T, where column k of T is the candidate on aggregate k, normed; and the candidate of the next level.
    /// ω = 4/3 of the reciprocal of the spectral radius of D⁻¹·A.
    pub fn prolongation(&self, aggregates: &Aggregates, candidate: &[T]) -> Result<(Csr<'static, T, u32>, Vec<T>)> {
        let (n, count) = (self.a.rows(), aggregates.count);
        let mut squares = vec![0.0; count];
        for (k, value) in aggregates.own.iter().zip(candidate).filter(|(k, _)| **k != NONE) {
            squares[*k as usize] += widen(*value).norm_sqr();
        }
        let norms: Vec<f64> = squares.iter().map(|square| if *square > 0.0 { square.sqrt() } else { 1.0 }).collect();
        let mut tentative = vec![(NONE, T::ZERO); n];
        each_row(&mut tentative, &|i, own| {
            let k = aggregates.own[i];
            if k != NONE {
                *own = (k, candidate[i].scale(T::Real::from_f64(1.0 / norms[k as usize])));
            }
            0
        });
        let omega = T::from_real(T::Real::from_f64(4.0 / 3.0 / self.spectral_radius()?));
        let prolongation = make_rows((n, count), n * 3, &|rows, made| {
            let mut sum = RowSum::new(count);
            for i in rows {
                self.smoothed_row(i, omega, &tentative, &mut sum);
                sum.finish_sorted(made);
            }
        });
        Ok((prolongation, norms.into_iter().map(|norm| T::from_real(T::Real::from_f64(norm))).collect()))
    }

    /// About the largest modulus of an eigenvalue of D⁻¹·A, by some steps of the power method: some percent too small.
    fn spectral_radius(&self) -> Result<f64> {
        let n = self.a.rows();
        let mut memory = buffer(StackReq::new::<T>(2 * n).and(Reducer::scratch(n, 1)))?;
        let (mut v, stack) = stack(&mut memory).make_raw::<T>(n);
        let (mut w, stack) = stack.make_raw::<T>(n);
        let (mut reducer, _) = Reducer::new(&Alone, n, 1, stack);
        let random = |i: usize| (mixed(i as u64) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        each_row(v, &|i, v| {
            *v = T::from_real(T::Real::from_f64(random(i)));
            0
        });
        let (mut before, mut radius) = (reducer.norm(v), 0.0);
        for _ in 0..STEPS {
            if before == 0.0 {
                break;
            }
            let by = T::from_real(T::Real::from_f64(1.0 / before));
            self.a.each_sum(v, w, |i, sum, w| *w = self.facts[i].inverse * sum * by);
            radius = reducer.norm(w);
            before = radius;
            core::mem::swap(&mut v, &mut w);
        }
        Ok(if radius > 0.0 { MISSING * radius } else { 1.0 })
    }

    /// A row of P: weak couplings count as if they were on the diagonal, so that P has no entries that hardly matter.
    fn smoothed_row(&self, i: usize, omega: T, tentative: &[(u32, T)], sum: &mut RowSum<T>) {
        let RowFacts { inverse, least } = self.facts[i];
        let (own, by) = (tentative[i], omega * inverse);
        let mut add = |(k, value)| {
            if k != NONE {
                sum.reserve(1);
                sum.add(k, value);
            }
        };
        add(own);
        for (j, entry) in self.a.row(i) {
            let (k, value) = if modulus(entry) < least { own } else { tentative[j] };
            add((k, -(by * entry * value)));
        }
    }
}

impl Aggregates {
    pub fn count(&self) -> usize {
        self.count
    }

    /// Without those on which the candidate is 0; numbered by their first unknowns.
    fn occupied<T: Scalar>(mut self, candidate: &[T]) -> Self {
        let (mut number, mut kept) = (vec![NONE; self.count], 0);
        // What rounding leaves counts as 0.
        let largest = candidate.iter().map(|value| modulus(*value)).fold(0.0, f64::max);
        let least = largest * 64.0 * T::Real::EPSILON.to_f64();
        for (k, value) in self.own.iter().zip(candidate) {
            if number[*k as usize] == NONE && modulus(*value) > least {
                number[*k as usize] = kept;
                kept += 1;
            }
        }
        // Of an aggregate that is no more: nothing is added to any column for its zeros.
        each_row(&mut self.own, &|_, k| {
            *k = number[*k as usize];
            0
        });
        Self { count: kept as usize, ..self }
    }
}
