//! amg-lines: aggregation multigrid whose smoother solves along linear forests.
//!
//! Couplings that are strong lie on the forests, whatever their direction, and are solved for exactly; so aggregates may be
//! made along all couplings that are not far weaker than others, and few levels do.

use super::alternating::sweep;
use super::lines::ForestSolver;
use super::splitting::{comparable_graph, forests};
use crate::csr::Csr;
use crate::factor::GraphFactorOptions;
use crate::krylov::{buffer, stack};
use crate::multiply::{RowSum, adjoint, extent, multiply};
use crate::random::mixed;
use crate::rows::{each_row, make_rows};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::{Reducer, widen};
use bandsolve::{Alone, AnyFactor, Banded, Error, Factor, LinearOperator, Op, Plan, RealScalar, Result, Scalar};

/// How a hierarchy is made.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MultigridOptions {
    /// Linear forests of each level. Default: 2.
    pub forests: usize,
    /// ω of the forests. Default: 0.01.
    pub omega: f64,
    /// How the forests are found.
    pub factors: GraphFactorOptions,
    /// Couplings below this part of the strongest of their row do not join aggregates. Default: 0.003.
    pub threshold: f64,
    /// Visits of each level but the first and the last in a cycle: 1 is a V-cycle, 2 a W-cycle. Default: 2.
    pub visits: usize,
    /// Unknowns from which on a level is solved directly. Default: 300.
    pub coarsest: usize,
}

impl Default for MultigridOptions {
    fn default() -> Self {
        Self {
            forests: 2,
            omega: 0.01,
            factors: GraphFactorOptions::default(),
            threshold: 0.003,
            visits: 2,
            coarsest: 300,
        }
    }
}

/// One V-cycle: for Hermitian A a Hermitian operator.
///
/// On every level, from fine to coarse: one sweep of [ALT-i](super::AlternatingInner) with the forests in order, restriction of the
/// residual; back, prolongation and a sweep with the forests in reverse. Prolongation is by aggregates, smoothed once by Jacobi's
/// method; the matrix of the next level is Pᴴ·A·P.
#[derive(Debug)]
pub struct LineMultigrid<'a, T: Scalar> {
    visits: usize,
    levels: Vec<MultigridLevel<'a, T>>,
    coarsest: CoarsestLevel<'a, T>,
}

#[derive(Debug)]
struct MultigridLevel<'a, T: Scalar> {
    a: Csr<'a, T, u32>,
    solvers: Vec<ForestSolver<T>>,
    /// From the next level to this one.
    prolongation: Csr<'static, T, u32>,
    /// Its adjoint.
    restriction: Csr<'static, T, u32>,
}

#[derive(Debug)]
enum CoarsestLevel<'a, T: Scalar> {
    Direct(AnyFactor<'static, T>),
    /// What does not get smaller: sweeps must do.
    Smoothed {
        a: Csr<'a, T, u32>,
        solvers: Vec<ForestSolver<T>>,
    },
}

impl<'a, T: Scalar> LineMultigrid<'a, T> {
    /// Makes the hierarchy of a square matrix, which is kept as it is given where its rows are sorted.
    ///
    /// # Errors
    /// [`Error::Singular`] if a row has no diagonal entry, or the tridiagonal system of a forest is singular.
    pub fn new(a: Csr<'a, T, u32>, options: &MultigridOptions) -> Result<Self> {
        let mut a = if a.is_sorted() { a } else { a.sorted() };
        let mut candidate = vec![T::ONE; a.rows()];
        let mut levels = Vec::new();
        loop {
            if a.rows() <= options.coarsest {
                return Ok(Self { visits: options.visits, levels, coarsest: CoarsestLevel::Direct(direct(&a)?) });
            }
            let forests = forests(comparable_graph(&a)?, options.forests.max(1), options.omega, &options.factors)?;
            let solvers =
                forests.into_iter().map(|forest| ForestSolver::new(&a, forest)).collect::<Result<Vec<_>>>()?;
            if levels.is_empty() {
                improve(&a, &solvers, &mut candidate)?;
            }
            let (aggregates, count) = occupied(aggregate(&a, options.threshold), &candidate);
            if count == 0 || count * 10 > a.rows() * 9 {
                let coarsest = if a.rows() <= 10 * options.coarsest {
                    CoarsestLevel::Direct(direct(&a)?)
                } else {
                    CoarsestLevel::Smoothed { a, solvers }
                };
                return Ok(Self { visits: options.visits, levels, coarsest });
            }
            let (prolongation, coarse_candidate) = prolong(&a, &aggregates, count, &candidate)?;
            let restriction = adjoint(&prolongation);
            let next = multiply(&restriction, &multiply(&a, &prolongation));
            levels.push(MultigridLevel { a, solvers, prolongation, restriction });
            (a, candidate) = (next, coarse_candidate);
        }
    }

    /// Unknowns and entries of each level, the finest first.
    pub fn sizes(&self) -> Vec<(usize, usize)> {
        let coarsest = match &self.coarsest {
            CoarsestLevel::Direct(factor) => (factor.shape().rows(), factor.shape().rows().pow(2)),
            CoarsestLevel::Smoothed { a, .. } => (a.rows(), a.entries()),
        };
        self.levels.iter().map(|level| (level.a.rows(), level.a.entries())).chain([coarsest]).collect()
    }

    /// Scratch of the levels from one on.
    fn scratch_from(&self, level: usize) -> StackReq {
        let of_solvers = |solvers: &[ForestSolver<T>]| {
            solvers.iter().fold(StackReq::EMPTY, |all, solver| all.or(solver.apply_scratch()))
        };
        match (self.levels.get(level), &self.coarsest) {
            (Some(own), _) => {
                let (n, coarse) = (own.a.rows(), own.prolongation.columns());
                let below = StackReq::new::<T>(4 * coarse).and(self.scratch_from(level + 1));
                StackReq::new::<T>(n).and(of_solvers(&own.solvers)).or(below.or(StackReq::new::<T>(n + 2 * coarse)))
            }
            (None, CoarsestLevel::Direct(factor)) => factor.solve_scratch(1),
            (None, CoarsestLevel::Smoothed { a, solvers }) => StackReq::new::<T>(a.rows()).and(of_solvers(solvers)),
        }
    }

    /// One cycle from the zero vector.
    fn cycle(&self, level: usize, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<()> {
        let Some(own) = self.levels.get(level) else { return self.coarsest.solve(rhs, x, stack) };
        smooth(&own.a, &own.solvers, rhs, x, stack)?;
        {
            let (coarse_rhs, stack) = stack.make_raw::<T>(own.prolongation.columns());
            let (coarse, stack) = stack.make_raw::<T>(own.prolongation.columns());
            {
                let (r, stack) = stack.make_raw::<T>(rhs.len());
                own.a.residual(x, rhs, r, stack)?;
                own.restriction.apply(r, coarse_rhs, stack)?;
            }
            self.cycle(level + 1, coarse_rhs, coarse, stack)?;
            if let Some(next) = self.levels.get(level + 1).filter(|_| self.visits > 1) {
                // Once more for what is left.
                let (left, stack) = stack.make_raw::<T>(coarse.len());
                let (step, stack) = stack.make_raw::<T>(coarse.len());
                for _ in 1..self.visits {
                    next.a.residual(coarse, coarse_rhs, left, stack)?;
                    self.cycle(level + 1, left, step, stack)?;
                    coarse.iter_mut().zip(&*step).for_each(|(x, step)| *x += *step);
                }
            }
            let coarse = &*coarse;
            own.prolongation.each_sum(coarse, x, |_, sum, x| *x += sum);
        }
        own.solvers.iter().rev().try_for_each(|solver| sweep(&own.a, solver, rhs, x, stack))
    }
}

/// From the zero vector, with every forest once.
fn smooth<T: Scalar>(
    a: &Csr<'_, T, u32>,
    solvers: &[ForestSolver<T>],
    rhs: &[T],
    x: &mut [T],
    stack: &mut PodStack,
) -> Result<()> {
    solvers[0].apply(rhs, x, stack)?;
    solvers[1..].iter().try_for_each(|solver| sweep(a, solver, rhs, x, stack))
}

impl<T: Scalar> CoarsestLevel<'_, T> {
    fn solve(&self, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<()> {
        match self {
            Self::Direct(factor) => factor.solve_into_with(Op::Plain, rhs, x, stack).map(|_| ()),
            Self::Smoothed { a, solvers } => {
                smooth(a, solvers, rhs, x, stack)?;
                solvers.iter().rev().try_for_each(|solver| sweep(a, solver, rhs, x, stack))
            }
        }
    }
}

impl<T: Scalar> LinearOperator<T> for LineMultigrid<'_, T> {
    fn rows(&self) -> usize {
        self.sizes()[0].0
    }

    fn columns(&self) -> usize {
        self.sizes()[0].0
    }

    fn apply_scratch(&self) -> StackReq {
        self.scratch_from(0)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.cycle(0, x, y, stack)
    }
}

/// Factors of the whole matrix; of a singular one, as those of a problem without boundary values are, with a small multiple of the
/// unit matrix added.
fn direct<T: Scalar>(a: &Csr<'_, T, u32>) -> Result<AnyFactor<'static, T>> {
    let n = a.rows();
    let entries = || (0..n).flat_map(|i| a.row(i).map(move |(j, value)| (i, j, value)));
    let (lower, upper) = entries()
        .fold((0, 0), |(lower, upper), (i, j, _)| (lower.max(i.saturating_sub(j)), upper.max(j.saturating_sub(i))));
    let rows = lower + upper + 1;
    let mut bands = vec![T::ZERO; n * rows];
    entries().for_each(|(i, j, value)| bands[upper + i - j + j * rows] += value);
    let largest = entries().map(|(.., value)| Scalar::abs(value).to_f64()).fold(0.0, f64::max);
    let factor = |bands: Vec<T>| {
        let banded = Banded::from_vec(n, lower, upper, bands)?;
        Plan::new(banded.shape()).verify(false).factor_owned(banded)
    };
    match factor(bands.clone()) {
        Err(Error::Singular { .. }) => {
            let shift = T::from_real(T::Real::from_f64(largest * 64.0 * T::Real::EPSILON.to_f64()));
            (0..n).for_each(|i| bands[upper + i * rows] += shift);
            factor(bands)
        }
        made => made,
    }
}

/// Sweeps of the smoother for A·v = 0, so that v is what the smoother leaves.
fn improve<T: Scalar>(a: &Csr<'_, T, u32>, solvers: &[ForestSolver<T>], v: &mut [T]) -> Result<()> {
    let needed = solvers.iter().fold(StackReq::EMPTY, |all, solver| all.or(solver.apply_scratch()));
    let mut memory = buffer(StackReq::new::<T>(v.len()).and(needed))?;
    let zeros = vec![T::ZERO; v.len()];
    solvers.iter().try_for_each(|solver| sweep(a, solver, &zeros, v, stack(&mut memory)))
}

/// No aggregate yet.
const NONE: u32 = u32::MAX;

/// Cuts the unknowns into aggregates: first all neighbors of an unknown of which none has one, then what is left joins one of a neighbor.
/// Neighbors are those coupled by more than `threshold` of the strongest coupling of the row.
fn aggregate<T: Scalar>(a: &Csr<'_, T, u32>, threshold: f64) -> (Vec<u32>, usize) {
    let n = a.rows();
    let (mut own, mut count) = (vec![NONE; n], 0);
    let modulus = |value: T| Scalar::abs(value).to_f64();
    let mut least = vec![0.0; n];
    each_row(&mut least, &|i, least| {
        let off = a.row(i).filter(|(j, _)| *j != i);
        *least = threshold * off.map(|(_, value)| modulus(value)).fold(0.0, f64::max);
        0
    });
    let strong = |i: usize| {
        let least = least[i];
        a.row(i).filter(move |(j, value)| *j != i && modulus(*value) >= least && modulus(*value) > 0.0)
    };
    for i in 0..n {
        if own[i] == NONE && strong(i).next().is_some() && strong(i).all(|(j, _)| own[j] == NONE) {
            own[i] = count;
            strong(i).for_each(|(j, _)| own[j] = count);
            count += 1;
        }
    }
    let first = own.clone();
    for i in 0..n {
        if own[i] == NONE {
            let joined = strong(i).filter(|(j, _)| first[*j] != NONE);
            let strongest =
                joined.fold(
                    (0.0, NONE),
                    |best, (j, value)| {
                        if modulus(value) > best.0 { (modulus(value), first[j]) } else { best }
                    },
                );
            own[i] = strongest.1;
        }
    }
    for i in 0..n {
        if own[i] == NONE {
            own[i] = count;
            strong(i).for_each(|(j, _)| {
                if own[j] == NONE {
                    own[j] = count;
                }
            });
            count += 1;
        }
    }
    (own, count as usize)
}

/// Without the aggregates on which the candidate is 0: the smoother solves for their unknowns, such as those that are coupled to no other,
/// and a column of zeros would make the next matrix singular.
fn occupied<T: Scalar>((mut own, count): (Vec<u32>, usize), candidate: &[T]) -> (Vec<u32>, usize) {
    let (mut number, mut kept) = (vec![NONE; count], 0);
    let modulus = |value: T| Scalar::abs(value).to_f64();
    // What rounding leaves counts as 0.
    let least = candidate.iter().map(|value| modulus(*value)).fold(0.0, f64::max) * 64.0 * T::Real::EPSILON.to_f64();
    for (k, value) in own.iter().zip(candidate) {
        if number[*k as usize] == NONE && modulus(*value) > least {
            number[*k as usize] = kept;
            kept += 1;
        }
    }
    // Of an aggregate that is no more: nothing is added to any column for its zeros.
    own.iter_mut().for_each(|k| *k = number[*k as usize]);
    (own, kept as usize)
}

/// P = (I − ω·D⁻¹·A)·T, where column k of T is the candidate on aggregate k, normed; and the candidate of the next level.
/// ω = 4/3 of the reciprocal of the spectral radius of D⁻¹·A.
fn prolong<T: Scalar>(
    a: &Csr<'_, T, u32>,
    aggregates: &[u32],
    count: usize,
    candidate: &[T],
) -> Result<(Csr<'static, T, u32>, Vec<T>)> {
    let n = a.rows();
    let mut squares = vec![0.0; count];
    for (i, k) in aggregates.iter().enumerate().filter(|(_, k)| **k != NONE) {
        squares[*k as usize] += widen(candidate[i]).norm_sqr();
    }
    let norms: Vec<f64> = squares.iter().map(|square| if *square > 0.0 { square.sqrt() } else { 1.0 }).collect();
    let mut inverse = vec![T::ZERO; n];
    each_row(&mut inverse, &|i, inverse| {
        let d = a.row(i).find(|(j, _)| *j == i).map_or(T::ZERO, |(_, value)| value);
        *inverse = if d == T::ZERO { T::ZERO } else { T::ONE / d };
        0
    });
    let radius = spectral_radius(a, &inverse)?;
    let omega = T::from_real(T::Real::from_f64(4.0 / 3.0 / radius));
    let tentative = |i: usize| {
        let k = aggregates[i];
        (k != NONE).then(|| (k, candidate[i].scale(T::Real::from_f64(1.0 / norms[k as usize]))))
    };
    let prolongation = make_rows((n, count), a.entries(), &|rows, made| {
        let mut sum = RowSum::new();
        for i in rows {
            let own = || a.row(i).map(|(j, _)| j).chain([i]).map(|j| aggregates[j]).filter(|k| *k != NONE);
            sum.reserve(own().count(), extent(own()));
            if let Some((k, value)) = tentative(i) {
                sum.add(k, value);
            }
            let by = omega * inverse[i];
            for (j, entry) in a.row(i) {
                if let Some((k, value)) = tentative(j) {
                    sum.add(k, -(by * entry * value));
                }
            }
            sum.finish(made);
        }
    });
    let coarse = norms.iter().map(|norm| T::from_real(T::Real::from_f64(*norm))).collect();
    Ok((prolongation, coarse))
}

/// Steps of the power method.
const STEPS: usize = 8;

/// About the largest modulus of an eigenvalue of D⁻¹·A, by some steps of the power method: some percent too small.
fn spectral_radius<T: Scalar>(a: &Csr<'_, T, u32>, inverse: &[T]) -> Result<f64> {
    let n = a.rows();
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
        a.each_sum(v, w, |i, sum, w| *w = inverse[i] * sum * by);
        radius = reducer.norm(w);
        before = radius;
        std::mem::swap(&mut v, &mut w);
    }
    Ok(if radius > 0.0 { radius } else { 1.0 })
}
