//! Solves over ranks under the accuracy contract: measured, refined, solved again by the pivoted method on one rank.

use crate::agreement::{RankError, agree, agree_on_columns};
use crate::matrix::DistributedMatrix;
use bandsolve::{Error, Factor, MAX_REFINEMENTS, Method, Op, RealScalar, Report, Scalar, Solution};
use bandsolve::{TOLERABLE, good};
use std::sync::{Arc, OnceLock};

/// What a method over ranks implements.
pub(crate) trait RankSolver<T: Scalar>: Send + Sync + core::fmt::Debug {
    /// Whether it has nothing to solve with; the same on all ranks.
    fn is_singular(&self) -> bool;

    /// Replaces right-hand sides by solutions, of Aᵀ if `transposed`, unverified. Collective.
    fn solve(&self, transposed: bool, x: &mut [T], n_rhs: usize);

    /// Slower factors of the same matrix for answers that refinement does not mend, if the method has such. Collective.
    fn careful(&self) -> Result<Option<Box<dyn RankSolver<T>>>, RankError> {
        Ok(None)
    }
}

/// The rows with which errors are measured: those of A, or of Aᵀ, and which of them.
type MeasuredRows<'a, T> = (&'a DistributedMatrix<T>, bool);

/// Factors of a matrix over ranks, for any number of right-hand sides.
///
/// The report of a solve and its errors are the same on all ranks.
pub struct DistributedFactors<T: Scalar> {
    matrix: Arc<DistributedMatrix<T>>,
    solver: Box<dyn RankSolver<T>>,
    method: Method,
    reason: &'static str,
    /// When they were needed.
    careful: OnceLock<Option<Box<dyn RankSolver<T>>>>,
    /// On rank 0, when it was needed.
    whole: OnceLock<Option<bandsolve::Result<Box<dyn Factor<T>>>>>,
}

impl<T: Scalar> core::fmt::Debug for DistributedFactors<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "factors by {} on {:?}", self.method.name(), self.matrix.ranks)
    }
}

impl<T: Scalar> DistributedMatrix<T> {
    /// Number of columns of an array of own rows, which is the same on all ranks; if asked, all numbers have to be finite. Collective.
    pub fn columns(&self, array: (&'static str, &[T]), finite: bool) -> Result<usize, RankError> {
        agree_on_columns(&self.ranks, array, |rank| self.ranges.range(rank).len(), finite)
    }
}

impl<T: Scalar> DistributedFactors<T> {
    pub(crate) fn new(
        matrix: Arc<DistributedMatrix<T>>,
        solver: Box<dyn RankSolver<T>>,
        (method, reason): (Method, &'static str),
    ) -> Self {
        Self { matrix, solver, method, reason, careful: OnceLock::new(), whole: OnceLock::new() }
    }

    pub(crate) fn matrix(&self) -> &DistributedMatrix<T> {
        &self.matrix
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Solves A·x = rhs. Collective.
    ///
    /// # Shapes
    /// `rhs`: own rows × any number of columns, the same on all ranks; x alike.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>, RankError> {
        let mut values = rhs.to_vec();
        let report = self.solve_in_place(&mut values)?;
        Ok(Solution { values, report })
    }

    /// Solves A·x = rhs; x replaces rhs. Collective.
    ///
    /// Every column is measured over all ranks; rows whose error is above 4ε, in twice the working precision. SPIKE solves without
    /// verification on each rank; where an error is above 8ε, it makes factors again whose answers are verified on each rank, and solves by
    /// them from then on. Columns are refined while their error exceeds 8ε.
    /// What is still above is solved by the pivoted method on rank 0, which then holds the whole system.
    ///
    /// # Errors
    /// `Shape`, `NotFinite`, `Singular`, `NotConverged`, `OutOfMemory`, the same on all ranks.
    pub fn solve_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::Plain, rhs)
    }

    /// Solves Aᵀ·x = rhs with the same factors; x replaces rhs. Collective.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::Transpose, rhs)
    }

    /// Solves Aᴴ·x = rhs with the same factors; x replaces rhs. Collective.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve_conj_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::ConjTranspose, rhs)
    }

    /// Solves op(A)·x = rhs; x replaces rhs. Collective.
    ///
    /// $$ A x = d, \qquad A^T x = d, \qquad A^H x = d $$
    ///
    /// # Cost
    /// That of a plain solve. The first solve of a transpose also makes the rows of Aᵀ, with which errors are measured: each rank gets the
    /// entries of neighbouring rows, and keeps as many numbers again as A has.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    ///
    /// # Example
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
        if op == Op::Plain {
            return self.solve_rows((&self.matrix, false), rhs);
        }
        let transposed = self.matrix.transposed()?;
        conjugate_for(op, rhs);
        let solved = self.solve_rows((transposed, true), rhs);
        conjugate_for(op, rhs);
        solved
    }

    /// The backward error η of each column of x as solutions of A·x = rhs, as solves measure it. Collective.
    ///
    /// $$ \eta = \max_i \frac{|d_i - (Ax)_i|}{(\sum_j |a_{ij}|)\,\|x\|_\infty + |d_i|} $$
    ///
    /// # Shapes
    /// `rhs`, `x`: own rows × any number of columns, the same on all ranks.
    ///
    /// # Errors
    /// `Shape`.
    pub fn backward_errors(&self, rhs: &[T], x: &[T]) -> Result<Vec<f64>, RankError> {
        let matrix = &*self.matrix;
        let n_rhs = matrix.columns(("rhs", rhs), false)?;
        let (expected, got) = (rhs.len(), x.len());
        agree(&matrix.ranks, if expected == got { Ok(()) } else { Err(Error::Shape { what: "x", expected, got }) })?;
        Ok(matrix.errors(&matrix.padded(rhs, n_rhs), x, n_rhs))
    }

    fn solve_rows(&self, rows: MeasuredRows<'_, T>, rhs: &mut [T]) -> Result<Report, RankError> {
        let (matrix, transposed) = rows;
        let n_rhs = matrix.columns(("rhs", rhs), true)?;
        let d = matrix.padded(rhs, n_rhs);
        let (mut errors, mut steps) = (vec![f64::NAN; n_rhs], 0);
        let solver = self.careful.get().and_then(Option::as_deref).unwrap_or(&*self.solver);
        if !solver.is_singular() {
            solver.solve(transposed, rhs, n_rhs);
            errors = matrix.errors(&d, rhs, n_rhs);
        }
        if !errors.iter().all(|eta| *eta <= good::<T>()) {
            (errors, steps) = self.solve_with_care(rows, (&d, rhs), errors)?;
        }
        let open = missed::<T>(&errors);
        if !open.is_empty() {
            self.solve_on_first((&d, transposed), rhs, (&open, &mut errors))?;
        }
        let mut report = Report::external(self.method, self.reason, Some(&errors));
        (report.refinement_steps, report.fallback) = (steps, !open.is_empty());
        Ok(report)
    }

    /// Solves again by the careful factors of the method, which then serve all later solves, and refines; returns errors and steps. `errors`
    /// are those of x now. Collective.
    fn solve_with_care(
        &self,
        rows: MeasuredRows<'_, T>,
        (d, x): (&[T], &mut [T]),
        mut errors: Vec<f64>,
    ) -> Result<(Vec<f64>, usize), RankError> {
        let ((matrix, transposed), n_rhs) = (rows, errors.len());
        let mut solver = self.careful.get().and_then(Option::as_deref).unwrap_or(&*self.solver);
        if self.careful.get().is_none() {
            // Singular ones are of no use, and are not made again.
            _ = self.careful.set(self.solver.careful()?.filter(|careful| !careful.is_singular()));
            if let Some(Some(careful)) = self.careful.get() {
                solver = &**careful;
                let columns = x.chunks_exact_mut(matrix.own().max(1)).zip(d.chunks_exact(matrix.extended()));
                columns.for_each(|(x, d)| x.copy_from_slice(&d[matrix.inside()]));
                solver.solve(transposed, x, n_rhs);
                errors = matrix.errors(d, x, n_rhs);
            }
        }
        Ok(if solver.is_singular() { (errors, 0) } else { refine(solver, rows, (d, x), errors) })
    }

    /// Solves columns by the pivoted method on rank 0, which answers for itself.
    fn solve_on_first(
        &self,
        (d, transposed): (&[T], bool),
        x: &mut [T],
        (columns, errors): (&[usize], &mut [f64]),
    ) -> Result<(), RankError> {
        let (ranks, own, len) = (&self.matrix.ranks, self.matrix.own(), self.matrix.extended());
        self.gather_whole()?;
        let part: Vec<T> = columns.iter().flat_map(|k| &d[k * len..][self.matrix.inside()]).copied().collect();
        let parts = self.gather(part, |rows| rows * columns.len());
        let mut solved = Ok((Vec::new(), Vec::new()));
        if ranks.rank() == 0 {
            solved = self.solve_whole(transposed, &parts, columns.len());
        }
        let (parts, found) = agree(ranks, solved)?;
        let mut found = if ranks.rank() == 0 { found } else { vec![0.0; columns.len()] };
        ranks.max(&mut found);
        let part = ranks.scatter(parts, own * columns.len());
        for (i, k) in columns.iter().enumerate() {
            x[k * own..(k + 1) * own].copy_from_slice(&part[i * own..(i + 1) * own]);
            errors[*k] = found[i];
        }
        let worst = found.iter().copied().fold(0.0, f64::max);
        let limit = TOLERABLE * T::Real::EPSILON.to_f64();
        let settled = if worst <= limit { Ok(()) } else { Err(not_converged(worst)) };
        agree(ranks, settled)
    }

    /// Makes the factors of the whole matrix on rank 0, once.
    fn gather_whole(&self) -> Result<(), RankError> {
        let ranks = &self.matrix.ranks;
        if self.whole.get().is_none() {
            let entries = self.matrix.rows.entries();
            let per_row = entries.len().checked_div(self.matrix.own()).unwrap_or(0);
            let per_row = ranks.all_gather(&[per_row as u64]).into_iter().max().unwrap_or(0) as usize;
            let parts = self.gather(entries, |rows| rows * per_row);
            // Set on all ranks, so that all know that it is made.
            let whole = (ranks.rank() == 0).then(|| self.matrix.rows.factor_whole(parts.concat()));
            _ = self.whole.set(whole);
        }
        let made = self
            .whole
            .get()
            .and_then(Option::as_ref)
            .map_or(Ok(()), |whole| whole.as_ref().map(|_| ()).map_err(Clone::clone));
        agree(ranks, made)
    }

    /// Solves for columns whose parts are given, on rank 0.
    fn solve_whole(
        &self,
        transposed: bool,
        parts: &[Vec<T>],
        columns: usize,
    ) -> bandsolve::Result<(Vec<Vec<T>>, Vec<f64>)> {
        let rows = |rank: usize| self.matrix.ranges.range(rank).len();
        let mut rhs = Vec::with_capacity(self.matrix.ranges.rows() * columns);
        for k in 0..columns {
            parts
                .iter()
                .enumerate()
                .for_each(|(rank, part)| rhs.extend_from_slice(&part[k * rows(rank)..][..rows(rank)]));
        }
        let whole = self.whole.get().and_then(Option::as_ref).expect("made before").as_ref().map_err(Clone::clone)?;
        let report =
            if transposed { whole.solve_transpose_in_place(&mut rhs) } else { whole.solve_in_place(&mut rhs) }?;
        let n = self.matrix.ranges.rows();
        let part = |rank: usize| {
            let range = self.matrix.ranges.range(rank);
            rhs.chunks_exact(n).flat_map(|x| &x[range.clone()]).copied().collect()
        };
        Ok(((0..parts.len()).map(part).collect(), report.backward_errors.to_vec()))
    }

    /// What all ranks hold on rank 0, as much as `len_of` of their numbers of rows.
    fn gather(&self, own: Vec<T>, len_of: impl Fn(usize) -> usize) -> Vec<Vec<T>> {
        self.matrix.ranks.gather(own, |rank| len_of(self.matrix.ranges.range(rank).len()))
    }
}

/// Columns whose errors are above 8ε.
fn missed<T: Scalar>(errors: &[f64]) -> Vec<usize> {
    (0..errors.len()).filter(|k| !(errors[*k] <= good::<T>())).collect()
}

/// Improves columns until their errors are at most 8ε, or do not shrink; returns the errors, which are known, and the steps. Collective.
fn refine<T: Scalar>(
    solver: &dyn RankSolver<T>,
    (matrix, transposed): MeasuredRows<'_, T>,
    (d, x): (&[T], &mut [T]),
    mut best: Vec<f64>,
) -> (Vec<f64>, usize) {
    let (own, good, n_rhs) = (matrix.own(), good::<T>(), best.len());
    if best.iter().all(|eta| *eta <= good) {
        return (best, 0);
    }
    let (mut r, mut steps) = (vec![T::ZERO; x.len()], 0);
    best = matrix.residuals(d, x, &mut r);
    let mut open: Vec<bool> = best.iter().map(|eta| *eta > good).collect();
    while open.contains(&true) && steps < MAX_REFINEMENTS {
        for k in (0..n_rhs).filter(|k| !open[*k]) {
            r[k * own..(k + 1) * own].fill(T::ZERO);
        }
        solver.solve(transposed, &mut r, n_rhs);
        let before = x.to_vec();
        x.iter_mut().zip(&r).for_each(|(x, dx)| *x += *dx);
        steps += 1;
        let errors = matrix.residuals(d, x, &mut r);
        for k in 0..n_rhs {
            if open[k] && errors[k] < best[k] {
                (best[k], open[k]) = (errors[k], errors[k] > good);
            } else {
                x[k * own..(k + 1) * own].copy_from_slice(&before[k * own..(k + 1) * own]);
                open[k] = false;
            }
        }
    }
    (best, steps)
}

fn not_converged(backward_error: f64) -> Error {
    Error::NotConverged { backward_error, refinement_steps: MAX_REFINEMENTS }
}

/// x, conjugated where op(A) = Aᴴ: the conjugate of Aᴴx = d is Aᵀ conj(x) = conj(d).
pub(crate) fn conjugate_for<T: Scalar>(op: Op, x: &mut [T]) {
    if op == Op::ConjTranspose {
        x.iter_mut().for_each(|x| *x = Scalar::conj(*x));
    }
}
