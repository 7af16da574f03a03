//! Poisson and Helmholtz problems on boxes, distributed over ranks: each rank owns consecutive planes along the first axis.
//!
//! Each rank transforms its planes along the other axes. Along the first axis, there is one tridiagonal system for each coefficient of a plane.
//! These systems are a batch along a distributed axis.
//!
//! Source: R. W. Hockney, J. ACM 12 (1965); K.-H. Kim et al., Comput. Phys. Commun. 260 (2021).

use crate::agreement::{RankError, agree, agree_alike};
use crate::batch::{BatchCostModel, DistributedBatch, DistributedBatchFactors};
use crate::halo::Halo;
use crate::model::{AGREEMENT, NUMBER, RankCost};
use crate::ranges::RankRanges;
use crate::ranks::{Ranks, room};
use bandsolve::memory::copied;
use bandsolve::vectors::digest;
use bandsolve::{Error, Layout, RealScalar, RefinedColumns, RefinedSystem, StoppingRule, good, refine, tolerable};
use bandsolve_poisson::distributed::{SlabConstant, SlabMean, SlabParts, SlabResidual, Solved};
use bandsolve_poisson::distributed::{largest_modulus, levelled};
use bandsolve_poisson::{Poisson, PoissonReport, PoissonScalar, PoissonSolution};
use core::cell::Cell;

/// A Poisson or Helmholtz problem (−Δ + c)·u = f on a box of one to three dimensions.
///
/// The ranks own planes along the first axis.
///
/// # Shapes
/// The problem is the problem of the whole box: its shape, boundaries and boundary values. f and u contain the planes of this
/// rank, with the last axis contiguous, as in the solver for one machine. Several right-hand sides follow each other.
///
/// # Examples
/// ```
/// use bandsolve_mpi::{DistributedPoisson, RankRanges, on_threads};
/// use bandsolve_poisson::Poisson;
/// let problem = Poisson::new(&[40, 63]);
/// let errors = on_threads(3, |ranks| {
///     let planes = RankRanges::even(40, ranks.size()).range(ranks.rank()).len();
///     let plan = DistributedPoisson::<f64>::new(ranks, &problem, planes)?;
///     Ok::<f64, bandsolve_mpi::RankError>(plan.solve(&vec![1.0; planes * 63])?.report.backward_error)
/// });
/// assert!(errors.into_iter().all(|error| error.unwrap() <= 8.0 * f64::EPSILON));
/// ```
#[derive(Debug)]
pub struct DistributedPoisson<T: PoissonScalar> {
    ranks: Ranks,
    parts: SlabParts<T>,
    ranges: RankRanges,
    batch: DistributedBatch<T>,
    factors: DistributedBatchFactors<T>,
    residual: SlabResidual<T>,
    constant: Option<SlabConstant>,
    mean: Option<SlabMean>,
    halos: Halo,
}

/// The memory for a right-hand side: f, the residual, and u between the planes of the neighbouring ranks.
struct SlabMemory<T> {
    f: Vec<T>,
    r: Vec<T>,
    around: Vec<T>,
}

impl<T: PoissonScalar> DistributedPoisson<T> {
    /// Create the solver: compute transforms and factors. Collective.
    ///
    /// `planes` is the number of planes of this rank along the first axis. It may be 0.
    ///
    /// # Cost
    /// Stores 7 numbers per unknown. Sends a message of 6 numbers per line along the first axis to all ranks in total.
    ///
    /// # Errors
    /// The errors of [`Poisson::plan`]; `Shape` if the planes of all ranks do not add up to the box, or if an axis has no
    /// unknowns.
    pub fn new(ranks: &Ranks, problem: &Poisson, planes: usize) -> Result<Self, RankError> {
        let parts = agree_alike(ranks, problem.slabs::<T>(), [digest(problem)])?;
        let counts = ranks.all_gather(&[planes as u64]);
        let ranges = RankRanges::of_counts(counts.iter().map(|count| *count as usize));
        let (expected, got) = (parts.shape()[0], ranges.rows());
        let fits = if expected == got { Ok(()) } else { Err(Error::Shape { what: "planes", expected, got }) };
        agree(ranks, fits)?;
        let (local, plane, constant) = (ranges.range(ranks.rank()), parts.plane(), parts.constant());
        let mut arrays = agree(ranks, parts.systems(local.clone()))?;
        if let Some(constant) = constant.as_ref().filter(|_| local.contains(&0)) {
            // A singular problem leaves the constant free: set u of its system to 0 in the first plane. The solve sets the mean afterwards.
            let [sub, diag, sup] = &mut arrays;
            (sub[constant.mode], diag[constant.mode], sup[constant.mode]) = (T::ZERO, T::ONE, T::ZERO);
        }
        let new = if parts.is_periodic() { DistributedBatch::periodic } else { DistributedBatch::new };
        let batch = new(ranks, (plane, Layout::Interleaved), arrays.each_ref().map(Vec::as_slice))?;
        let factors = batch.factor()?;
        let numbers = RankRanges::of_counts((0..ranks.size()).map(|rank| ranges.range(rank).len() * plane));
        let halos = Halo::new(ranks.clone(), numbers, (plane, parts.is_periodic()));
        let measures = || Ok((parts.residual(local.clone())?, parts.mean(local.clone())?));
        let (residual, mean) = agree(ranks, measures())?;
        Ok(Self { ranks: ranks.clone(), parts, ranges, batch, factors, residual, constant, mean, halos })
    }

    /// Get the planes of each rank.
    pub fn ranges(&self) -> &RankRanges {
        &self.ranges
    }

    /// Solve for the planes of this rank, and return u and a report. Collective.
    ///
    /// The residual is computed for the whole box, from the equations with −Δ and the boundary values, not from the transformed
    /// systems.
    ///
    /// # Cost
    /// As on one machine, plus communication. Per rank and line along the first axis, one exchange sends 2 numbers, and a second
    /// one sends 4 numbers back. Each neighbour gets one plane.
    ///
    /// # Errors
    /// `Shape`; `NotFinite`; `Incompatible` if the problem is singular and too much would have to be removed from f; `Singular`
    /// or `NotConverged` if no answer met the accuracy contract.
    pub fn solve(&self, f: &[T]) -> Result<PoissonSolution<T>, RankError> {
        let mut values = copied(f);
        let given = values.as_deref_mut().map_err(|error| error.clone());
        let report = self.solve_given(given)?;
        Ok(PoissonSolution { values: values.unwrap_or_default(), report })
    }

    /// Solve for the planes of this rank; u replaces f. Collective.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_in_place(&self, x: &mut [T]) -> Result<PoissonReport, RankError> {
        self.solve_given(Ok(x))
    }

    /// Solve in place, with an error of this rank instead of the right-hand sides if their copy failed.
    fn solve_given(&self, x: bandsolve::Result<&mut [T]>) -> Result<PoissonReport, RankError> {
        let local = self.ranges.range(self.ranks.rank());
        let column = local.len() * self.parts.plane();
        let values = x.as_deref().unwrap_or_default();
        let (columns, mut memory) = self.batch.columns(("f", values), |_| {
            x.as_ref().map_err(|error| error.clone())?;
            let around = room(self.halos.len(usize::from(column > 0)))?;
            Ok(SlabMemory { f: room(column)?, r: room(column)?, around })
        })?;
        let Ok(x) = x else { unreachable!("agreed on") };
        let mut solved = Vec::new();
        for k in 0..columns {
            // A rank without planes also takes part, with an empty slice.
            let x = &mut x[k * column..(k + 1) * column];
            solved.push(self.solve_one(x, &mut memory)?);
        }
        Ok(self.parts.report(&solved))
    }

    /// Solve, compute the backward error, and refine. x contains f.
    fn solve_one(&self, x: &mut [T], memory: &mut SlabMemory<T>) -> Result<Solved, RankError> {
        let of = |x: &[T]| if self.constant.is_some() { largest_modulus(x) } else { 0.0 };
        let term = of(x) + self.parts.largest_of_sides();
        self.parts.add_sides(x, self.ranges.range(self.ranks.rank()).start);
        let sizes = [of(x), term];
        let SlabMemory { f, r, around } = &mut *memory;
        f.copy_from_slice(x);
        // The constant to subtract from f, and the part of it that was subtracted.
        let (removed, mut subtracted) = (Cell::new(self.solve_unverified(x, self.parts.free().0)?), 0.0);
        let solve = |r: &mut [T]| {
            removed.set(removed.get() + self.solve_unverified(r, 0.0)?);
            Ok(())
        };
        let measure = |x: &[T], r: &mut [T], systems: &mut [RefinedSystem]| {
            let more = <T as RealScalar>::from_f64(removed.get() - subtracted);
            f.iter_mut().for_each(|f| *f -= more);
            subtracted = removed.get();
            systems[0].error = self.error(f, x, (r, around));
        };
        let (mut system, rule) = ([RefinedSystem::open()], StoppingRule::contract::<T>().without_copy());
        let mut slab = RefinedColumns { x: &mut *x, r, before: None, solve, measure };
        let refinement_steps = refine(&rule, &mut system, &mut slab)?;
        let (error, removed) = (system[0].error, removed.get());
        if !(error <= tolerable::<T>()) {
            return agree(&self.ranks, Err(Error::NotConverged { backward_error: error, refinement_steps }));
        }
        self.balanced(removed, sizes)?;
        self.levelled(Solved { error, removed, refinement_steps, mean: None }, x, memory)
    }

    /// Compute u in place of f, and return the constant that was subtracted from f. The function verifies the tridiagonal systems, but not u.
    fn solve_unverified(&self, x: &mut [T], mean: f64) -> Result<f64, RankError> {
        self.parts.transform(x, false);
        let removed = self.constant.as_ref().map_or(0.0, |constant| self.level(constant, x));
        self.shift_level(x, -removed);
        if let Some(constant) = self.constant.as_ref().filter(|_| self.ranges.range(self.ranks.rank()).contains(&0)) {
            x[constant.mode] = T::ZERO;
        }
        self.factors.solve_in_place(x)?;
        if let Some(constant) = &self.constant {
            let level = mean - self.level(constant, x);
            self.shift_level(x, level);
        }
        self.parts.transform(x, true);
        Ok(removed)
    }

    /// Compute the mean over all ranks from the coefficients of the constant.
    fn level(&self, constant: &SlabConstant, x: &[T]) -> f64 {
        let weights = &constant.weights[self.ranges.range(self.ranks.rank())];
        let column = x.iter().skip(constant.mode).step_by(self.parts.plane());
        let mut sum = [column.zip(weights).map(|(x, w)| RealScalar::to_f64(*x) * w).sum::<f64>()];
        self.ranks.sum(&mut sum);
        sum[0] / constant.of_ones
    }

    /// Add `level` to every number, by a change of the coefficients of the constant.
    fn shift_level(&self, x: &mut [T], level: f64) {
        let Some(constant) = &self.constant else { return };
        let add = <T as RealScalar>::from_f64(level * constant.of_ones);
        x.iter_mut().skip(constant.mode).step_by(self.parts.plane()).for_each(|x| *x += add);
    }

    /// Compute the backward error, or an upper bound that is small enough, and the residual r.
    fn error(&self, f: &[T], u: &[T], (r, around): (&mut [T], &mut [T])) -> f64 {
        self.halos.fill_into(u, around, usize::from(!u.is_empty()));
        let around = around.get(..u.len() + 2 * self.parts.plane()).unwrap_or_default();
        let mut measured = [0.0; 2];
        if !u.is_empty() {
            measured = self.residual.of(f, around, r, None);
        }
        self.ranks.max(&mut measured);
        let [ratio, largest] = measured;
        if ratio.is_nan() || !largest.is_finite() {
            return f64::NAN;
        }
        let largest = largest.max(RealScalar::to_f64(T::MIN_POSITIVE));
        if ratio <= good::<T>() * largest {
            return ratio / largest;
        }
        let mut exact = [0.0];
        if !u.is_empty() {
            exact[0] = self.residual.of(f, around, r, Some(largest))[0];
        }
        self.ranks.max(&mut exact);
        exact[0]
    }

    /// Return `Incompatible` if more was subtracted from f than the problem allows.
    ///
    /// `sizes` has the largest entry of f with the contributions of boundary values, and the largest term of these sums.
    fn balanced(&self, removed: f64, mut sizes: [f64; 2]) -> Result<(), RankError> {
        if self.constant.is_none() {
            return Ok(());
        }
        self.ranks.max(&mut sizes);
        let [largest, term] = sizes;
        let allowed = self.parts.free().1 * largest;
        // A difference from rounding errors of the sums is always allowed.
        let fine = removed.abs() <= allowed || removed.abs() <= good::<T>() * term;
        agree(&self.ranks, if fine { Ok(()) } else { Err(Error::Incompatible { removed, allowed }) })
    }

    /// If the mean of u is free, compute it, and add a constant to u if it differs from the requested mean. Collective.
    fn levelled(&self, mut solved: Solved, u: &mut [T], memory: &mut SlabMemory<T>) -> Result<Solved, RankError> {
        let Some(mean) = &self.mean else { return Ok(solved) };
        let asked = self.parts.free().0;
        let (level, changed) = levelled(asked, |level: Option<T>| {
            if let Some(level) = level {
                u.iter_mut().for_each(|u| *u += level);
            }
            SlabMean::joined(&self.ranks.all_gather(&mean.part(u)))
        });
        solved.mean = Some([asked, level]);
        if changed {
            solved.error = self.error(&memory.f, u, (&mut memory.r, &mut memory.around));
        }
        let Solved { error, refinement_steps, .. } = solved;
        let fine = error <= tolerable::<T>();
        agree(
            &self.ranks,
            if fine { Ok(solved) } else { Err(Error::NotConverged { backward_error: error, refinement_steps }) },
        )
    }

    /// Get the cost of one right-hand side on a rank, if no refinement is needed and the problem is not singular.
    #[doc(hidden)]
    pub fn cost(&self, rank: usize) -> RankCost {
        let (model, plane) = (BatchCostModel::of(&self.batch), self.parts.plane());
        let (mut cost, several) = (model.solve(rank, 1), u64::from(self.ranks.size() > 1));
        cost.send(self.halos.sends_of(rank), (plane * size_of::<T>()) as u64);
        cost.gather(several, 2 * NUMBER);
        // The ranks also agree on the number of right-hand sides.
        cost.gather(1, AGREEMENT + NUMBER);
        let numbers = (self.ranges.range(rank).len() * plane) as f64;
        cost.flops += numbers * (12.0 + 5.0 * (plane.max(2) as f64).log2());
        cost
    }
}
