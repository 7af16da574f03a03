//! Solves over ranks under the accuracy contract: verification, refinement, and fallback to the pivoted solver on one rank.

use crate::agreement::{RankError, agree};
use crate::condition;
use crate::matrix::DistributedMatrix;
use crate::ranks::collected;
use bandsolve::memory::{allocate, copied, zeroed};
use bandsolve::{Error, Inspect, Method, Norm, Op, RealScalar, RefinedSystem, Report, Scalar, Solution, StoppingRule};
use bandsolve::{RefinedColumns, good, refine, tolerable};
use core::convert::Infallible;
use std::sync::{Arc, OnceLock};

/// The interface of a method over ranks.
pub(crate) trait RankSolver<T: Scalar>: Send + Sync + core::fmt::Debug {
    /// Whether the factors are singular and cannot solve; the same on all ranks.
    fn is_singular(&self) -> bool;

    /// Reserve the memory for a solve of `n_rhs` columns that grows with the rows of this rank.
    fn reserve(&self, n_rhs: usize) -> bandsolve::Result<()>;

    /// Replace right-hand sides by solutions with A, or Aᵀ if `transposed`, without verification. Collective.
    fn solve(&self, transposed: bool, x: &mut [T], n_rhs: usize);

    /// Compute slower, more accurate factors, if the method has them. They serve if refinement does not improve a solution. Collective.
    fn careful(&self) -> Result<Option<Box<dyn RankSolver<T>>>, RankError> {
        Ok(None)
    }
}

/// The rows for the backward error, of A or of Aᵀ, and whether they are those of Aᵀ.
type MeasuredRows<'a, T> = (&'a DistributedMatrix<T>, bool);

/// Factors of the whole matrix, on rank 0.
type WholeFactors<T> = Result<Option<Box<dyn Inspect<T>>>, RankError>;

/// Factors of a matrix over ranks, for any number of right-hand sides.
///
/// All ranks get the same report, or the same error.
///
/// # Examples
/// ```
/// use bandsolve_mpi::{DistributedBlocks, Ranks};
/// // [ 2 −1]
/// // [−1  2]
/// let a = DistributedBlocks::new(&Ranks::alone(), 1, [&[0.0, -1.0], &[2.0, 2.0], &[-1.0, 0.0]])?;
/// let factors = a.factor()?;
/// let mut x = [1.0, 1.0];
/// let report = factors.solve_in_place(&mut x)?;
/// assert!(x.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15) && !report.fallback);
/// # Ok::<(), bandsolve_mpi::RankError>(())
/// ```
pub struct DistributedFactors<T: Scalar> {
    matrix: Arc<DistributedMatrix<T>>,
    solver: Box<dyn RankSolver<T>>,
    method: Method,
    reason: &'static str,
    /// The slower factors, after their first use.
    careful: OnceLock<Option<Box<dyn RankSolver<T>>>>,
    /// The estimate, after the first call.
    rcond: OnceLock<f64>,
    /// The factors of the whole matrix after their first use, or the error.
    whole: OnceLock<WholeFactors<T>>,
}

impl<T: Scalar> core::fmt::Debug for DistributedFactors<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "factors by {} on {:?}", self.method.name(), self.matrix.ranks)
    }
}

impl<T: Scalar> DistributedFactors<T> {
    pub(crate) fn new(
        matrix: Arc<DistributedMatrix<T>>,
        solver: Box<dyn RankSolver<T>>,
        (method, reason): (Method, &'static str),
    ) -> Self {
        Self {
            matrix,
            solver,
            method,
            reason,
            careful: OnceLock::new(),
            rcond: OnceLock::new(),
            whole: OnceLock::new(),
        }
    }

    pub(crate) fn matrix(&self) -> &DistributedMatrix<T> {
        &self.matrix
    }

    /// Get the method of the factors.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Solve A·x = rhs and return x. Collective.
    ///
    /// # Shapes
    /// `rhs`: the rows of this rank × any number of columns, column-major. The number of columns is the same on all ranks. x
    /// has the same shape.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>, RankError> {
        let mut values = copied(rhs);
        let given = values.as_deref_mut().map_err(|error| error.clone());
        let report = self.solve_given(Op::Plain, given)?;
        Ok(Solution { values: values.unwrap_or_default(), report })
    }

    /// Solve A·x = rhs; x replaces rhs. Collective.
    ///
    /// The solver computes the backward error of each column over all ranks. It computes rows whose error is above 4ε again in
    /// twice the working precision. It refines columns while their error is above 8ε. SPIKE first solves without verification
    /// on each rank; if an error is above 8ε, it factors again with verified solves on each rank and keeps these factors. If an
    /// error is still above 8ε, rank 0 gathers the whole system and solves it with the pivoted method.
    ///
    /// # Errors
    /// `Shape`, `NotFinite`, `Singular`, `NotConverged`, `OutOfMemory`; the same on all ranks.
    pub fn solve_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::Plain, rhs)
    }

    /// Solve Aᵀ·x = rhs with the same factors; x replaces rhs. Collective.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::Transpose, rhs)
    }

    /// Solve Aᴴ·x = rhs with the same factors; x replaces rhs. Collective.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve_conj_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::ConjTranspose, rhs)
    }

    /// Solve op(A)·x = rhs, where op(A) is A, Aᵀ or Aᴴ; x replaces rhs. Collective.
    ///
    /// # Cost
    /// As [`solve_in_place`](Self::solve_in_place). The first solve with a transpose also creates the rows of Aᵀ, which the
    /// verification needs: each rank receives entries of the neighbouring rows, and stores as many numbers as A has.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Op;
    /// use bandsolve_mpi::{DistributedBanded, Ranks};
    /// // [4 1]
    /// // [2 4]
    /// let a = DistributedBanded::new(&Ranks::alone(), (1, 1), &[0.0, 4.0, 1.0, 2.0, 4.0, 0.0])?;
    /// let mut x = [6.0, 5.0];
    /// a.factor()?.solve_in_place_with(Op::Transpose, &mut x)?;
    /// assert!(x.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
    /// # Ok::<(), bandsolve_mpi::RankError>(())
    /// ```
    pub fn solve_in_place_with(&self, op: Op, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_given(op, Ok(rhs))
    }

    /// Solve in place, with an error of this rank instead of the right-hand sides if their copy failed.
    fn solve_given(&self, op: Op, rhs: bandsolve::Result<&mut [T]>) -> Result<Report, RankError> {
        let matrix = &*self.matrix;
        let values = rhs.as_deref().unwrap_or_default();
        let (n_rhs, d) = matrix.columns(("rhs", values), (true, op), |n_rhs| {
            rhs.as_ref().map_err(|error| error.clone())?;
            // Keep `d` during the other reservations, so that they do not get its memory.
            let d = matrix.padded(values, n_rhs)?;
            self.solver().reserve(n_rhs)?;
            matrix.reserve(n_rhs)?;
            Ok(d)
        })?;
        let Ok(rhs) = rhs else { unreachable!("agreed on") };
        // A rank without rows gets the number of columns from the other ranks.
        let mut d = if matrix.local_rows() == 0 { matrix.memory(matrix.extended() * n_rhs) } else { d };
        if matrix.local_rows() == 0 {
            d.fill(T::ZERO);
        }
        if op == Op::Plain {
            return self.solve_rows((matrix, false), (&d, rhs), n_rhs);
        }
        let transposed = matrix.transposed()?;
        conjugate_for(op, rhs);
        conjugate_for(op, &mut d);
        let solved = self.solve_rows((transposed, true), (&d, rhs), n_rhs);
        conjugate_for(op, rhs);
        solved
    }

    /// Get the factors for solves: the slower ones if they exist.
    fn solver(&self) -> &dyn RankSolver<T> {
        self.careful.get().and_then(Option::as_deref).unwrap_or(&*self.solver)
    }

    /// Compute the backward error η of each column of x, a solution of A·x = rhs. Collective.
    ///
    /// ```text
    /// η = maxᵢ |dᵢ − (A·x)ᵢ| / ((Σⱼ |aᵢⱼ|)·‖x‖∞ + |dᵢ|),   d: the column of rhs
    /// ```
    ///
    /// # Shapes
    /// `rhs`, `x`: the rows of this rank × any number of columns, the same number on all ranks.
    ///
    /// # Errors
    /// `Shape`.
    pub fn backward_errors(&self, rhs: &[T], x: &[T]) -> Result<Vec<f64>, RankError> {
        let matrix = &*self.matrix;
        let (n_rhs, ()) = matrix.columns(("rhs", rhs), (false, Op::Plain), |_| Ok(()))?;
        let (expected, got) = (rhs.len(), x.len());
        let same = if expected == got { Ok(()) } else { Err(Error::Shape { what: "x", expected, got }) };
        let memory = || {
            let d = matrix.padded(rhs, n_rhs)?;
            matrix.reserve(n_rhs).map(|()| d)
        };
        let d = agree(&matrix.ranks, same.and_then(|()| memory()))?;
        Ok(matrix.errors(&d, x, n_rhs))
    }

    /// Estimate the reciprocal of the row-wise condition number κ = ‖A⁻¹·diag(Σⱼ|aᵢⱼ|)‖∞. Collective.
    ///
    /// The result is 0 for a singular matrix, and NaN if it is unknown. A backward error η allows an error of x of
    /// approximately η·κ, relative to its largest entry; see [`attention`](Self::attention). The first call computes the
    /// estimate, and later calls return the same number.
    ///
    /// # Cost
    /// At most 13 solves. If these solves are too inaccurate, rank 0 gathers the whole matrix and estimates with the pivoted
    /// method.
    ///
    /// # Errors
    /// `OutOfMemory`.
    ///
    /// # Source
    /// N. J. Higham, ACM Trans. Math. Softw. 14 (1988).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_mpi::{DistributedBanded, Ranks};
    /// // [1 1    ]
    /// // [1 1+1e-9]
    /// let a = DistributedBanded::new(&Ranks::alone(), (1, 1), &[0.0, 1.0, 1.0, 1.0, 1.0 + 1e-9, 0.0])?;
    /// let rcond = a.factor()?.rcond()?;
    /// assert!(rcond > 1e-11 && rcond < 1e-9);
    /// # Ok::<(), bandsolve_mpi::RankError>(())
    /// ```
    pub fn rcond(&self) -> Result<f64, RankError> {
        if let Some(rcond) = self.rcond.get() {
            return Ok(*rcond);
        }
        let mut rcond = self.rcond_over_ranks()?;
        if rcond.is_nan() {
            rcond = self.rcond_on_first()?;
        }
        Ok(*self.rcond.get_or_init(|| rcond))
    }

    /// Estimate with the factors over ranks. The result is NaN if these factors are too inaccurate. Collective.
    fn rcond_over_ranks(&self) -> Result<f64, RankError> {
        let (matrix, solver) = (&*self.matrix, self.solver());
        if matrix.ranges.rows() == 0 {
            return Ok(1.0);
        }
        if solver.is_singular() {
            // Only the rows of one rank or a diagonal block are singular. The whole matrix need not be.
            return Ok(f64::NAN);
        }
        let (ranks, local) = (&matrix.ranks, matrix.ranges.range(matrix.ranks.rank()));
        let memory = || {
            let sums = matrix.sums()?;
            let x = collected(local.len(), local.clone().zip(&sums).map(|(i, sum)| condition::sample::<T>(i, *sum)))?;
            let d = matrix.padded(&x, 1)?;
            solver.reserve(1)?;
            matrix.reserve(1)?;
            Ok((sums, x, d))
        };
        let (sums, mut x, d) = agree(ranks, memory())?;
        solver.solve(false, &mut x, 1);
        let eta = matrix.errors(&d, &x, 1).into_iter().fold(0.0, f64::max_nan);
        let solve = &mut |transposed: bool, x: &mut [T]| solver.solve(transposed, x, 1);
        condition::rcond((ranks, &matrix.ranges), (Ok(sums), eta), solve)
    }

    /// Estimate with the pivoted method on rank 0, which gathers the whole matrix. Collective.
    ///
    /// With row sums of approximately 1, the condition number ‖A‖∞·‖A⁻¹‖∞ differs from the row-wise one by a factor of at most 2.
    fn rcond_on_first(&self) -> Result<f64, RankError> {
        let (ranks, rows) = (&self.matrix.ranks, &self.matrix.rows);
        let scaled = || {
            let (sums, mut entries) = (self.matrix.sums()?, rows.entries()?);
            let scale = |(k, entry): (usize, &mut T)| *entry = condition::equilibrated(*entry, sums[rows.row_of(k)]);
            entries.iter_mut().enumerate().for_each(scale);
            Ok(entries)
        };
        let parts = self.gather_entries(scaled())?;
        let mut rcond = Ok(0.0);
        if ranks.rank() == 0 {
            rcond = condition::pivoted(rows.factor_whole(&parts).and_then(|whole| whole.rcond(Norm::Infinity)));
        }
        let mut rcond = [agree(ranks, rcond)?];
        ranks.max(&mut rcond);
        Ok(rcond[0])
    }

    /// Return a warning if x of a solve may have no correct digit, however small the backward error is; otherwise `None`.
    /// Collective.
    ///
    /// `report.attention` contains the same warning, at no cost, if the size of x shows the problem. This function finds all
    /// such matrices, with [`rcond`](Self::rcond).
    ///
    /// # Errors
    /// As [`rcond`](Self::rcond).
    pub fn attention(&self, report: &Report) -> Result<Option<String>, RankError> {
        let rcond = self.rcond()?;
        Ok(bandsolve::attention(T::Real::EPSILON.to_f64(), Some(rcond), report.backward_error, None))
    }

    /// Solve in place: x contains the right-hand sides, and `d` contains them with zeros as halos.
    fn solve_rows(
        &self,
        rows: MeasuredRows<'_, T>,
        (d, x): (&[T], &mut [T]),
        n_rhs: usize,
    ) -> Result<Report, RankError> {
        let (matrix, transposed) = rows;
        let (mut errors, mut bounds, mut steps) = (vec![f64::NAN; n_rhs], vec![f64::NAN; n_rhs], 0);
        let solver = self.solver();
        if !solver.is_singular() {
            solver.solve(transposed, x, n_rhs);
            (errors, bounds) = matrix.measured(d, x, n_rhs);
        }
        let good = errors.iter().all(|eta| *eta <= good::<T>());
        if !good {
            (errors, steps) = self.solve_with_care(rows, (d, x), errors)?;
        }
        let open = missed::<T>(&errors);
        if !open.is_empty() {
            self.solve_on_first((d, transposed), x, (&open, &mut errors), steps)?;
        }
        if !good {
            bounds = matrix.measured(d, x, n_rhs).1;
        }
        let mut report = Report::external(self.method, self.reason, Some(&errors));
        (report.refinement_steps, report.fallback) = (steps, !open.is_empty());
        let least = bounds.into_iter().filter(|bound| *bound > 0.0).fold(1.0, f64::min);
        let epsilon = T::Real::EPSILON.to_f64();
        report.attention = bandsolve::attention(epsilon, Some(least), report.backward_error, None).map(Arc::from);
        Ok(report)
    }

    /// Solve again with the slower factors, and refine. Return the errors and the number of steps. Collective.
    ///
    /// Later solves use the slower factors, too. `errors` has the errors of x before the call.
    fn solve_with_care(
        &self,
        rows: MeasuredRows<'_, T>,
        (d, x): (&[T], &mut [T]),
        mut errors: Vec<f64>,
    ) -> Result<(Vec<f64>, usize), RankError> {
        let ((matrix, transposed), n_rhs) = (rows, errors.len());
        let mut solver = self.solver();
        if self.careful.get().is_none() {
            // Store `None` for singular factors, so that later solves do not compute them again.
            _ = self.careful.set(self.solver.careful()?.filter(|careful| !careful.is_singular()));
            if let Some(Some(careful)) = self.careful.get() {
                solver = &**careful;
                agree(&matrix.ranks, solver.reserve(n_rhs))?;
                let columns = x.chunks_exact_mut(matrix.local_rows().max(1)).zip(d.chunks_exact(matrix.extended()));
                columns.for_each(|(x, d)| x.copy_from_slice(&d[matrix.inside()]));
                solver.solve(transposed, x, n_rhs);
                errors = matrix.errors(d, x, n_rhs);
            }
        }
        if solver.is_singular() { Ok((errors, 0)) } else { refine_columns(solver, rows, (d, x), errors) }
    }

    /// Solve columns with the pivoted method on rank 0, which verifies its solutions.
    fn solve_on_first(
        &self,
        (d, transposed): (&[T], bool),
        x: &mut [T],
        (columns, errors): (&[usize], &mut [f64]),
        refinement_steps: usize,
    ) -> Result<(), RankError> {
        let (ranks, local_rows, len) = (&self.matrix.ranks, self.matrix.local_rows(), self.matrix.extended());
        self.gather_whole()?;
        let local_d = columns.iter().flat_map(|k| &d[k * len..][self.matrix.inside()]).copied();
        let part = agree(ranks, collected(local_rows * columns.len(), local_d))?;
        let parts = ranks.gather(part, |rank| self.matrix.ranges.range(rank).len() * columns.len())?;
        let mut solved = Ok((Vec::new(), Vec::new()));
        if ranks.rank() == 0 {
            solved = self.solve_whole(transposed, &parts, columns.len());
        }
        let (parts, solved_errors) = agree(ranks, solved)?;
        let mut solved_errors = if ranks.rank() == 0 { solved_errors } else { vec![0.0; columns.len()] };
        ranks.max(&mut solved_errors);
        let part = ranks.scatter(parts, local_rows * columns.len())?;
        for (i, k) in columns.iter().enumerate() {
            x[k * local_rows..(k + 1) * local_rows].copy_from_slice(&part[i * local_rows..(i + 1) * local_rows]);
            errors[*k] = solved_errors[i];
        }
        let worst = solved_errors.iter().copied().fold(0.0, f64::max_nan);
        let failed = || Err(Error::NotConverged { backward_error: worst, refinement_steps });
        agree(ranks, if worst <= tolerable::<T>() { Ok(()) } else { failed() })
    }

    /// Gather the entries of each rank on rank 0. Collective.
    fn gather_entries(&self, entries: bandsolve::Result<Vec<T>>) -> Result<Vec<Vec<T>>, RankError> {
        let (ranks, matrix) = (&self.matrix.ranks, &self.matrix);
        let entries = agree(ranks, entries)?;
        let per_row = entries.len().checked_div(matrix.local_rows()).unwrap_or(0);
        let per_row = ranks.all_gather(&[per_row as u64]).into_iter().max().unwrap_or(0) as usize;
        ranks.gather(entries, |rank| matrix.ranges.range(rank).len() * per_row)
    }

    /// Factor the whole matrix on rank 0, once.
    fn gather_whole(&self) -> Result<(), RankError> {
        let (ranks, matrix) = (&self.matrix.ranks, &self.matrix);
        if self.whole.get().is_none() {
            let parts = self.gather_entries(matrix.rows.entries())?;
            let whole = (ranks.rank() == 0).then(|| matrix.rows.factor_whole(&parts)).transpose();
            match agree(ranks, whole) {
                // Do not store this error, because the next call may have enough memory.
                Err(error) if matches!(error.error, Error::OutOfMemory { .. }) => return Err(error),
                whole => _ = self.whole.set(whole),
            }
        }
        self.whole.get().map_or(Ok(()), |whole| whole.as_ref().map(|_| ()).map_err(Clone::clone))
    }

    /// Solve on rank 0 for columns, from the parts of all ranks.
    fn solve_whole<'p>(
        &'p self,
        transposed: bool,
        parts: &'p [Vec<T>],
        columns: usize,
    ) -> bandsolve::Result<(Vec<Vec<T>>, Vec<f64>)> {
        let (n, rows) = (self.matrix.ranges.rows(), |rank: usize| self.matrix.ranges.range(rank));
        let of_column = |k: usize| {
            let part = move |(rank, part): (usize, &'p Vec<T>)| &part[k * rows(rank).len()..][..rows(rank).len()];
            parts.iter().enumerate().flat_map(part).copied()
        };
        let mut rhs = collected(n * columns, (0..columns).flat_map(of_column))?;
        let Some(Ok(Some(whole))) = self.whole.get() else { unreachable!("made before") };
        let report =
            if transposed { whole.solve_transpose_in_place(&mut rhs) } else { whole.solve_in_place(&mut rhs) }?;
        let part = |rank: usize| {
            let of_columns = rhs.chunks_exact(n).flat_map(|x| &x[rows(rank)]).copied();
            collected(rows(rank).len() * columns, of_columns)
        };
        let parts: bandsolve::Result<Vec<Vec<T>>> = (0..parts.len()).map(part).collect();
        Ok((parts?, report.backward_errors.to_vec()))
    }
}

/// List the columns with an error above 8ε.
fn missed<T: Scalar>(errors: &[f64]) -> Vec<usize> {
    (0..errors.len()).filter(|k| !(errors[*k] <= good::<T>())).collect()
}

/// Refine columns until their errors are at most 8ε, or no longer decrease; return the errors and the number of steps. Collective.
fn refine_columns<T: Scalar>(
    solver: &dyn RankSolver<T>,
    (matrix, transposed): MeasuredRows<'_, T>,
    (d, x): (&[T], &mut [T]),
    mut errors: Vec<f64>,
) -> Result<(Vec<f64>, usize), RankError> {
    let n_rhs = errors.len();
    if errors.iter().all(|eta| *eta <= good::<T>()) {
        return Ok((errors, 0));
    }
    let memory = || {
        matrix.reserve_residuals(n_rhs)?;
        Ok(([zeroed(x.len())?, zeroed(x.len())?], allocate(n_rhs, RefinedSystem::open())?))
    };
    let ([mut r, mut before], mut systems) = agree(&matrix.ranks, memory())?;
    let solve = |r: &mut [T]| {
        solver.solve(transposed, r, n_rhs);
        Ok::<_, Infallible>(())
    };
    let measure = |x: &[T], r: &mut [T], systems: &mut [RefinedSystem]| {
        systems.iter_mut().zip(matrix.residuals(d, x, r)).for_each(|(system, error)| system.error = error);
    };
    let mut columns = RefinedColumns { x, r: &mut r, before: Some(&mut before), solve, measure };
    let Ok(steps) = refine(&StoppingRule::contract::<T>(), &mut systems, &mut columns);
    errors.iter_mut().zip(&systems).for_each(|(error, system)| *error = system.error);
    Ok((errors, steps))
}

/// Conjugate x if op(A) = Aᴴ, because Aᴴx = d is equivalent to Aᵀ conj(x) = conj(d).
pub(crate) fn conjugate_for<T: Scalar>(op: Op, x: &mut [T]) {
    if op == Op::ConjTranspose {
        x.iter_mut().for_each(|x| *x = Scalar::conj(*x));
    }
}
