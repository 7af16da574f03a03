//! `amg-lines`: smoothed aggregation multigrid whose smoother solves along linear forests.
//!
//! The forests contain the strong couplings in any direction, and the smoother solves along them exactly. Aggregates can therefore include all
//! couplings except very weak ones, so few levels suffice.
//!
//! Each level of the set-up takes the steps of smoothed aggregation: strength of connection, aggregates and prolongation P (`aggregates.rs`), then the
//! matrix Pᴴ·A·P of the next level (`galerkin.rs`).
//!
//! # Source
//! Smoothed aggregation: P. Vaněk, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems,
//! Computing 56 (1996), 179–196, doi:10.1007/BF02238511. The smoother along forests is our own.

use super::aggregates::CoarseningGraph;
use super::galerkin::galerkin;
use super::kind::PreconditionerOptions;
use super::lines::ForestSolver;
use super::strong_edges::StrongEdges;
use crate::csr::{Csr, cast};
use crate::factor::GraphFactorOptions;
use crate::multiply::{adjoint, triple_product};
use crate::rounded::{RowScale, apply_rounded, rounded_scratch};
use crate::rows::{TASK, each_row};
use crate::scratch::{buffer, stack};
use crate::sliced::SlicedMatrix;
use crate::structure::{EntryList, Structure};
use crate::tuning::{
    FOREST_OMEGA, HALF_PRECISION_MAX_CONDITION, HALF_PRECISION_MAX_GROWTH, MAX_FILL, SAMPLED_COARSE_ROWS, SINGLE_RANGE,
    STRENGTH_THRESHOLD, SWEEP_DAMPING,
};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::{allocate, reserved, zeroed};
use bandsolve::{
    AnyFactor, Complex32, Complex64, Error, Factor, Inspect, LinearOperator, Norm, Op, Plan, RealScalar, Result,
    Scalar, interrupt,
};
use bandsolve_kernel::ByType;
use bandsolve_kernel::spread::each_chunk;
use bandsolve_kernel::threads;
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering};

/// Options of [`LineMultigrid`].
///
/// # Examples
/// ```
/// use bandsolve_sparse::{LineMultigrid, MultigridOptions, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (40, 40));
/// let mut options = MultigridOptions::default();
/// options.forests = 2;
/// options.visits = 1;
/// let m = LineMultigrid::new(a.view(), &options)?;
/// assert_eq!(m.sizes()[0].0, 1600);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MultigridOptions {
    /// Number of linear forests per level. The sweeps of a single forest are damped by 0.8. Two forests need fewer iterations, but more time.
    /// Default: 1.
    pub forests: usize,
    /// The factor ω for the edge weights of a forest before the search for the next forest. Default: 0.01.
    pub omega: f64,
    /// Options of the search for forests.
    pub factors: GraphFactorOptions,
    /// Aggregates do not include couplings below this share of the strongest coupling in their row. Choose at least ω, since the forests solve along
    /// no weaker couplings. Default: 0.02.
    pub threshold: f64,
    /// Visits per cycle of each level except the first and the last: 1 for a V-cycle, 2 for a W-cycle. Default: 2.
    pub visits: usize,
    /// Maximum number of unknowns of a level that is solved directly. Default: 300.
    pub coarsest: usize,
}

impl MultigridOptions {
    /// The options for `forests` forests per level, with ω and the search of a preconditioner's options.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{MultigridOptions, PreconditionerOptions};
    /// assert_eq!(MultigridOptions::of(2, &PreconditionerOptions::default()).forests, 2);
    /// ```
    #[must_use]
    pub fn of(forests: usize, options: &PreconditionerOptions) -> Self {
        Self { forests, omega: options.omega, factors: options.factors, ..Self::default() }
    }
}

impl Default for MultigridOptions {
    fn default() -> Self {
        Self {
            forests: 1,
            omega: FOREST_OMEGA,
            factors: GraphFactorOptions::default(),
            threshold: STRENGTH_THRESHOLD,
            visits: 2,
            coarsest: 300,
        }
    }
}

/// One cycle of algebraic multigrid as a preconditioner (`amg-lines`). The smoother solves along linear forests.
///
/// If A is Hermitian, the cycle is a Hermitian operator.
///
/// On each level, from fine to coarse, the cycle does one sweep of [ALT-i](super::AlternatingInner) with the forests in order. It then restricts the
/// residual. On the way back, it prolongates the correction, and does one sweep with the forests in reverse order. The prolongation P is
/// piecewise constant on aggregates, smoothed by one step of Jacobi's method. The matrix of the next level is Pᴴ·A·P. By default the cycle is a
/// W-cycle, which visits coarse levels twice.
///
/// For a matrix in double precision, the hierarchy and the cycle use single precision. They use double precision if an entry does not fit the range,
/// or if the coarsest matrix is ill-conditioned.
///
/// # Cost
/// With m forests ([`MultigridOptions::forests`]), one cycle costs approximately 2·m products with A and 2·m tridiagonal solves. The coarse levels add
/// a third.
///
/// # Errors
/// [`new`](Self::new) lists the errors of the set-up.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{KrylovMethod, KrylovSolver, LineMultigrid, MultigridOptions, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (40, 40));
/// let m = LineMultigrid::new(a.view(), &MultigridOptions::default())?;
/// let mut x = vec![0.0; 1600];
/// let report = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-8).solve(&a, Some(&m), &vec![1.0; 1600], &mut x)?;
/// assert!(report.converged() && report.iterations < 30);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub struct LineMultigrid<'a, T: Scalar> {
    sizes: Vec<(usize, usize)>,
    cycle: Box<dyn LinearOperator<T> + Send + 'a>,
}

impl<T: Scalar> Debug for LineMultigrid<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineMultigrid").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl<'a, T: Scalar> LineMultigrid<'a, T> {
    /// Set up the hierarchy of a square matrix. If the rows of the matrix are not sorted by column, the hierarchy uses a sorted copy.
    ///
    /// # Errors
    /// [`Error::Singular`] if a row has no diagonal entry, or the tridiagonal system of a forest is singular. [`Error::OutOfMemory`].
    /// [`Error::Interrupted`] if the caller stops the set-up.
    pub fn new(a: Csr<'a, T, u32>, options: &MultigridOptions) -> Result<Self> {
        on_threads(a.rows(), || Self::set_up(a, options))
    }

    fn set_up(a: Csr<'a, T, u32>, options: &MultigridOptions) -> Result<Self> {
        let (a, fits) = surveyed(a)?;
        // A hierarchy in half the precision, or else in the precision of the matrix.
        let half_precision = if fits { T::by_type::<MakeSingleCycle<'_>>((a, *options)) } else { Err((a, None)) };
        match half_precision {
            Ok(multigrid) => Ok(multigrid),
            // A second attempt would need no less memory, and an interruption is final.
            Err((_, Some(error))) if matches!(*error, Error::OutOfMemory { .. } | Error::Interrupted) => Err(*error),
            Err((a, _)) => {
                let cycle = MultigridCycle::new(&a, options, f64::INFINITY, &mut drop)?;
                Ok(Self { sizes: cycle.sizes.clone(), cycle: Box::new(cycle) })
            }
        }
    }

    /// Number of unknowns and of matrix entries of each level, the finest level first.
    pub fn sizes(&self) -> Vec<(usize, usize)> {
        self.sizes.clone()
    }
}

/// A matrix without a hierarchy, and the reason.
type Unmade<'a, T> = (Csr<'a, T, u32>, Option<Box<Error>>);

/// The hierarchy of a matrix in half its precision, if possible; otherwise the matrix.
struct MakeSingleCycle<'a>(PhantomData<&'a ()>);

impl<'a> ByType for MakeSingleCycle<'a> {
    type Argument<T: Scalar> = (Csr<'a, T, u32>, MultigridOptions);
    type Output<T: Scalar> = Result<LineMultigrid<'a, T>, Unmade<'a, T>>;

    fn of_f32((a, _): Self::Argument<f32>) -> Self::Output<f32> {
        Err((a, None))
    }
    fn of_f64((a, options): Self::Argument<f64>) -> Self::Output<f64> {
        rounded_cycle::<f64, f32>(a, &options)
    }
    fn of_c32((a, _): Self::Argument<Complex32>) -> Self::Output<Complex32> {
        Err((a, None))
    }
    fn of_c64((a, options): Self::Argument<Complex64>) -> Self::Output<Complex64> {
        rounded_cycle::<Complex64, Complex32>(a, &options)
    }
}

/// Whether the columns ascend in every row, and whether all entries fit the range of single precision.
fn survey<T: Scalar>(a: &Csr<'_, T, u32>) -> (bool, bool) {
    let (sorted, fits) = (AtomicBool::new(true), AtomicBool::new(true));
    let (_, columns, values) = a.parts();
    each_chunk((a.rows().div_ceil(TASK), 2), (), &|task, ()| {
        let rows = task * TASK..((task + 1) * TASK).min(a.rows());
        if !rows.clone().all(|i| columns[a.range(i)].is_sorted_by(|left, right| left < right)) {
            sorted.store(false, Ordering::Relaxed);
        }
        let entries = a.range(rows.start).start..a.range(rows.end - 1).end;
        let spoils = |value: &T| (*value != T::ZERO) & !SINGLE_RANGE.contains(&Scalar::abs1(*value).to_f64());
        if values[entries].iter().fold(false, |any, value| any | spoils(value)) {
            fits.store(false, Ordering::Relaxed);
        }
    });
    (sorted.into_inner(), fits.into_inner())
}

/// The matrix with sorted rows, and whether all its entries fit the range of single precision.
pub(super) fn surveyed<T: Scalar>(a: Csr<'_, T, u32>) -> Result<(Csr<'_, T, u32>, bool)> {
    let (sorted, fits) = survey(&a);
    if sorted {
        return Ok((a, fits));
    }
    let a = a.sorted()?;
    let (_, fits) = survey(&a);
    Ok((a, fits))
}

/// Estimate the number of entries of R·A·P from some of its rows.
fn entries_of_next<T: Scalar>(a: &Csr<'_, T, u32>, r: &Csr<'_, T, u32>, p: &Csr<'_, T, u32>) -> Result<usize> {
    let count = r.rows();
    let samples = (count / 16).clamp(1, SAMPLED_COARSE_ROWS);
    let (mut marks, mut entries) = (allocate(count, 0_u32)?, 0);
    for sample in 0..samples {
        let mark = sample as u32 + 1;
        let columns = r.row(count * sample / samples).flat_map(|(i, _)| a.row(i)).flat_map(|(j, _)| p.row(j));
        for (column, _) in columns {
            entries += usize::from(marks[column] != mark);
            marks[column] = mark;
        }
    }
    Ok(entries * count / samples)
}

fn rounded_cycle<'a, T: Scalar, S: Scalar>(
    a: Csr<'a, T, u32>,
    options: &MultigridOptions,
) -> Result<LineMultigrid<'a, T>, Unmade<'a, T>> {
    match MultigridCycle::<S>::new(&a, options, HALF_PRECISION_MAX_CONDITION, &mut drop) {
        Err(error) => Err((a, Some(error.into()))),
        Ok(inner) => Ok(LineMultigrid { sizes: inner.sizes.clone(), cycle: Box::new(RoundedOperator { inner }) }),
    }
}

/// A cycle in another precision.
struct RoundedOperator<'a, S: Scalar> {
    inner: MultigridCycle<'a, S>,
}

impl<T: Scalar, S: Scalar> LinearOperator<T> for RoundedOperator<'_, S> {
    fn rows(&self) -> usize {
        self.inner.unknowns(0)
    }

    fn columns(&self) -> usize {
        self.inner.unknowns(0)
    }

    fn apply_scratch(&self) -> StackReq {
        rounded_scratch::<S>(self.inner.unknowns(0), self.inner.scratch_from(0))
    }

    /// Scales x by a power of two to near 1, so that no intermediate result leaves the range.
    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        apply_rounded(&RowScale::All(1.0), (x, y), stack, |rhs, z, stack| self.inner.cycle(0, rhs, z, stack))
    }
}

/// The damping of the sweeps with this number of forests.
///
/// A sweep can change the sign of an error that alternates from path to path. A single forest needs damping; a second forest removes the error.
pub(super) fn damping(forests: usize) -> f64 {
    if forests == 1 { SWEEP_DAMPING } else { 1.0 }
}

/// The solvers along the forests of a matrix.
struct Smoother<S: Scalar> {
    lines: Vec<ForestSolver<S>>,
    /// The largest growth of the inverse of a path's system.
    growth: f64,
    /// Whether the pattern of the matrix is symmetric.
    mutual: bool,
}

impl<S: Scalar> Smoother<S> {
    fn new<T: Scalar>(
        (a, sliced): (&Csr<'_, T, u32>, &SlicedMatrix<'_, T>),
        options: &MultigridOptions,
    ) -> Result<Self> {
        let edges = StrongEdges::of(a, sliced, options.forests > 1)?;
        let mutual = edges.mutual;
        let forests = edges.forests(options.forests.max(1), options.omega, &options.factors)?;
        let damping = damping(forests.len());
        let mut smoother = Self { lines: reserved(forests.len())?, growth: 0.0, mutual };
        for forest in forests {
            let (solver, growth) = ForestSolver::smoother(a, forest, damping)?;
            smoother.lines.push(solver);
            smoother.growth = growth.max(smoother.growth);
        }
        Ok(smoother)
    }
}

/// The matrix and the candidate vector of the next level.
struct CoarseProblem<T: Scalar> {
    a: Csr<'static, T, u32>,
    candidate: Vec<T>,
}

/// The smoother of a level, and the transfer to and from the next level.
#[derive(Debug)]
pub(super) struct MultigridLevel<T: Scalar> {
    pub lines: Vec<ForestSolver<T>>,
    /// From the next level to this one.
    pub prolongation: Csr<'static, T, u32>,
    /// The adjoint of the prolongation.
    pub restriction: Csr<'static, T, u32>,
}

#[derive(Debug)]
pub(super) enum CoarsestLevel<T: Scalar> {
    Direct(AnyFactor<'static, T>),
    /// A matrix that aggregation does not make smaller: the cycle only smooths.
    Smoothed(Vec<ForestSolver<T>>),
}

/// A hierarchy of one number type.
#[derive(Debug)]
pub(super) struct MultigridCycle<'a, S: Scalar> {
    pub visits: usize,
    /// Unknowns and entries of each level.
    sizes: Vec<(usize, usize)>,
    matrices: Vec<SlicedMatrix<'a, S>>,
    pub levels: Vec<MultigridLevel<S>>,
    pub coarsest: CoarsestLevel<S>,
}

impl<'a, S: Scalar> MultigridCycle<'a, S> {
    /// Set up the hierarchy of a matrix with sorted rows. All computations use the precision of the matrix; the results are then rounded to S. `end`
    /// takes the matrices of the coarse levels when the set-up needs them no longer.
    ///
    /// # Errors
    /// Those of [`LineMultigrid::new`]. [`Error::Unsupported`] if type S is not precise enough, or if the condition number of the coarsest matrix is
    /// above `condition`.
    pub fn new<T: Scalar>(
        a: &Csr<'a, T, u32>,
        options: &MultigridOptions,
        condition: f64,
        end: &mut dyn FnMut(Csr<'static, T, u32>),
    ) -> Result<Self> {
        let (sizes, coarsest) = (vec![], CoarsestLevel::Smoothed(vec![]));
        let mut cycle = Self { visits: options.visits, sizes, matrices: vec![], levels: vec![], coarsest };
        let mut next = cycle.add_level((a, None), options, condition)?;
        while let Some(CoarseProblem { a, candidate }) = next {
            next = cycle.add_level((&a, Some(candidate)), options, condition)?;
            end(a);
        }
        Ok(cycle)
    }

    /// Add a level with this matrix and candidate vector. Returns the problem of the next level, if there is one.
    fn add_level<T: Scalar>(
        &mut self,
        (a, candidate): (&Csr<'a, T, u32>, Option<Vec<T>>),
        options: &MultigridOptions,
        condition: f64,
    ) -> Result<Option<CoarseProblem<T>>> {
        interrupt::check()?;
        self.sizes.push((a.rows(), a.entries()));
        let sliced = SlicedMatrix::new(a)?;
        self.matrices.push(sliced.rounded(a)?);
        if a.rows() <= options.coarsest {
            self.coarsest = CoarsestLevel::Direct(direct(a, condition)?);
            return Ok(None);
        }
        // Forests for the smoother; strength of connection and aggregates. These two are independent, and both have sequential steps: do them at the
        // same time.
        let graph = || -> Result<_> {
            let graph = CoarseningGraph::new(a, options.threshold)?;
            let aggregates = graph.aggregates()?;
            Ok((graph, aggregates))
        };
        let (smoother, graph) = threads::join(|| Smoother::new((a, &sliced), options), graph);
        let (Smoother { lines, growth, mutual }, (graph, aggregates)) = (smoother?, graph?);
        if condition.is_finite() && growth > HALF_PRECISION_MAX_GROWTH {
            return Err(Error::Unsupported { method: "a hierarchy in half precision", what: "a long chain" });
        }
        // On the finest level, the candidate is (1, …, 1) after one sweep for A·v = 0.
        let candidate = candidate.map_or_else(|| smooth_ones(&self.matrices[0], &lines), Ok)?;
        let aggregates = aggregates.occupied(&candidate, S::Real::EPSILON.to_f64())?;
        if aggregates.count() == 0 || aggregates.count() * 10 > a.rows() * 9 {
            self.coarsest = match a.rows() <= 10 * options.coarsest {
                true => CoarsestLevel::Direct(direct(a, condition)?),
                false => CoarsestLevel::Smoothed(lines),
            };
            return Ok(None);
        }
        // P = (I − ω·D⁻¹·Ā)·T, or P = T if Pᴴ·A·P would have too many entries; R = Pᴴ
        let (mut prolongation, mut coarse_candidate) = graph.prolongation((&aggregates, &candidate), true)?;
        let mut restriction = adjoint(&prolongation)?;
        if entries_of_next(a, &restriction, &prolongation)? > MAX_FILL * a.entries() {
            (prolongation, coarse_candidate) = graph.prolongation((&aggregates, &candidate), false)?;
            restriction = adjoint(&prolongation)?;
        }
        // The matrix of the next level: R·A·P
        let next = if mutual {
            galerkin((a, &sliced), &restriction, &prolongation)?
        } else {
            triple_product(&restriction, a, &prolongation)?
        };
        let (prolongation, restriction) = (prolongation.rounded()?, restriction.rounded()?);
        self.levels.push(MultigridLevel { lines, prolongation, restriction });
        Ok(Some(CoarseProblem { a: next, candidate: coarse_candidate }))
    }

    fn unknowns(&self, level: usize) -> usize {
        self.matrices[level].size()
    }

    /// Scratch memory of this level and the coarser ones.
    fn scratch_from(&self, level: usize) -> StackReq {
        let of_lines =
            |lines: &[ForestSolver<S>]| lines.iter().fold(StackReq::EMPTY, |all, lines| all.or(lines.sweep_scratch()));
        match (self.levels.get(level), &self.coarsest) {
            (Some(MultigridLevel { lines, prolongation, .. }), _) => {
                let (n, coarse) = (self.unknowns(level), prolongation.columns());
                let below = StackReq::new::<S>(4 * coarse).and(self.scratch_from(level + 1));
                of_lines(lines).or(below.or(StackReq::new::<S>(n + 2 * coarse)))
            }
            (None, CoarsestLevel::Direct(factor)) => factor.solve_scratch(1),
            (None, CoarsestLevel::Smoothed(lines)) => of_lines(lines),
        }
    }

    /// One cycle from the zero vector.
    fn cycle(&self, level: usize, rhs: &[S], x: &mut [S], stack: &mut PodStack) -> Result<()> {
        let Some(MultigridLevel { lines, prolongation, restriction }) = self.levels.get(level) else {
            return self.solve_coarsest(rhs, x, stack);
        };
        let a = &self.matrices[level];
        // One sweep with the forests in order, from x = 0.
        smooth(a, lines, rhs, x, stack)?;
        {
            let (coarse_rhs, stack) = stack.make_raw::<S>(prolongation.columns());
            let (coarse, stack) = stack.make_raw::<S>(prolongation.columns());
            // rhs_c = R·(rhs − A·x)
            {
                let (r, stack) = stack.make_raw::<S>(rhs.len());
                a.residual(x, rhs, r);
                restriction.apply(r, coarse_rhs, stack)?;
            }
            // x_c ≈ A_c⁻¹·rhs_c by one cycle of the next level
            self.cycle(level + 1, coarse_rhs, coarse, stack)?;
            if self.levels.len() > level + 1 && self.visits > 1 {
                // Further visits: x_c ← x_c + e with e ≈ A_c⁻¹·(rhs_c − A_c·x_c)
                let (residual, stack) = stack.make_raw::<S>(coarse.len());
                let (correction, stack) = stack.make_raw::<S>(coarse.len());
                for _ in 1..self.visits {
                    self.matrices[level + 1].residual(coarse, coarse_rhs, residual);
                    self.cycle(level + 1, residual, correction, stack)?;
                    coarse.iter_mut().zip(&*correction).for_each(|(x, e)| *x += *e);
                }
            }
            // x ← x + P·x_c
            prolongation.each_sum(coarse, x, |_, sum, x| *x += sum);
        }
        // One sweep with the forests in reverse order.
        lines.iter().rev().try_for_each(|lines| lines.sweep(a, rhs, x, stack))
    }

    fn solve_coarsest(&self, rhs: &[S], x: &mut [S], stack: &mut PodStack) -> Result<()> {
        let a = &self.matrices[self.levels.len()];
        match &self.coarsest {
            CoarsestLevel::Direct(factor) => factor.solve_into_with(Op::Plain, rhs, x, stack).map(|_| ()),
            CoarsestLevel::Smoothed(lines) => {
                smooth(a, lines, rhs, x, stack)?;
                lines.iter().rev().try_for_each(|lines| lines.sweep(a, rhs, x, stack))
            }
        }
    }
}

impl<T: Scalar> LinearOperator<T> for MultigridCycle<'_, T> {
    fn rows(&self) -> usize {
        self.unknowns(0)
    }

    fn columns(&self) -> usize {
        self.unknowns(0)
    }

    fn apply_scratch(&self) -> StackReq {
        self.scratch_from(0)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.cycle(0, x, y, stack)
    }
}

/// One sweep with every forest, from the zero vector.
fn smooth<T: Scalar>(
    a: &SlicedMatrix<'_, T>,
    lines: &[ForestSolver<T>],
    rhs: &[T],
    x: &mut [T],
    stack: &mut PodStack,
) -> Result<()> {
    lines[0].apply(rhs, x, stack)?;
    lines[1..].iter().try_for_each(|lines| lines.sweep(a, rhs, x, stack))
}

impl<T: Scalar> LinearOperator<T> for LineMultigrid<'_, T> {
    fn rows(&self) -> usize {
        self.cycle.rows()
    }

    fn columns(&self) -> usize {
        self.cycle.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.cycle.apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        on_threads(x.len(), || self.cycle.apply(x, y, stack))
    }
}

/// Run `work` on a thread of the pool. A thread outside the pool would take part in each of many short steps, one thread more than there are cores.
pub(super) fn on_threads<R: Send>(n: usize, work: impl FnOnce() -> R + Send) -> R {
    if n <= 2 * TASK || threads::count() < 2 {
        return work();
    }
    interrupt::on_worker(work)
}

/// Factor the matrix of the coarsest level. If the matrix is singular (for example for pure Neumann problems), add a small multiple of the unit
/// matrix first.
///
/// # Errors
/// [`Error::Unsupported`] if its condition number is above `condition`.
fn direct<T: Scalar, S: Scalar>(a: &Csr<'_, T, u32>, condition: f64) -> Result<AnyFactor<'static, S>> {
    let largest = a.parts().2.iter().map(|value| Scalar::abs(*value).to_f64()).fold(0.0, f64::max);
    let a = a.view().rounded::<S>()?;
    let Structure { lower, upper, .. } = Structure::of(&a)?;
    let factor = |a: &Csr<'_, S, u32>| {
        let banded = a.to_banded(lower, upper)?;
        Plan::new(banded.shape()).verify(false).factor_owned(banded)
    };
    let factors = factor(&a);
    if condition.is_finite() {
        let factors = factors?;
        return match factors.rcond(Norm::One) {
            Ok(reciprocal) if reciprocal * condition >= 1.0 => Ok(factors),
            _ => Err(Error::Unsupported {
                method: "a hierarchy in half precision",
                what: "a matrix near a singular one",
            }),
        };
    }
    match factors {
        Err(Error::Singular { .. }) => {
            let shift = S::from_real(S::Real::from_f64(largest * 64.0 * S::Real::EPSILON.to_f64()));
            factor(&a.shifted(-shift, None)?)
        }
        factors => factors,
    }
}

/// The candidate vector of the finest level: the result of one smoothing sweep for A·v = 0 that starts from a vector of ones.
fn smooth_ones<T: Scalar, S: Scalar>(a: &SlicedMatrix<'_, S>, lines: &[ForestSolver<S>]) -> Result<Vec<T>> {
    let n = a.size();
    let needed = lines.iter().fold(StackReq::EMPTY, |all, lines| all.or(lines.sweep_scratch()));
    let mut memory = buffer(needed)?;
    let (zeros, mut v) = (zeroed(n)?, allocate(n, S::ONE)?);
    lines.iter().try_for_each(|lines| lines.sweep(a, &zeros, &mut v, stack(&mut memory)))?;
    let mut candidate = zeroed(n)?;
    each_row(&mut candidate, &|i, value| {
        *value = cast(v[i]);
        0
    });
    Ok(candidate)
}
