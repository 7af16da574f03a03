//! Searches with vectors that the caller provides and that may be anywhere, such as on a GPU.

use super::door;
use super::host::work_vectors;
use super::limits::Dimensions;
use super::vectors::SearchVectors;
use super::verify::check_start;
use crate::problem::SearchOperator;
use crate::report::{GeneralEigen, HermitianEigen};
use crate::solver::EigenSolver;
use bandsolve::vectors::Vectors;
use bandsolve::{Alone, Result, Scalar};

/// A search of one process for a problem of `rows` rows, whose operators belong to the vectors.
pub struct SearchAnywhere<'s, T: Scalar> {
    solver: EigenSolver<'s, T>,
    operator: SearchOperator,
    rows: usize,
}

impl<'s, T: Scalar> SearchAnywhere<'s, T> {
    /// Check the settings. The communicator of the solver is ignored.
    ///
    /// # Errors
    /// Those of [`EigenSolver::hermitian`] for wrong arguments.
    pub fn new(solver: &EigenSolver<'s, T>, operator: SearchOperator, rows: usize) -> Result<Self> {
        let solver = solver.communicator(&Alone);
        solver.settings.check_tolerance()?;
        operator.check()?;
        check_start(solver.start.unwrap_or_default(), solver.start.map_or(0, |_| rows))?;
        solver.settings.check_number(rows)?;
        Ok(Self { solver, operator, rows })
    }

    /// The start vector, which the vectors must have as [`VectorId::Rhs`](bandsolve::vectors::VectorId::Rhs).
    pub fn start(&self) -> Option<&'s [T]> {
        self.solver.start
    }

    /// Number of work vectors that the search needs.
    pub fn work_vectors(&self, hermitian: bool) -> usize {
        let most = Dimensions::of(&self.solver.settings, hermitian, self.rows).most;
        work_vectors(most, self.operator.mass && hermitian)
    }

    fn vectors<'v>(&self, of: &'v mut dyn Vectors) -> SearchVectors<'v> {
        let (rows, operator) = (self.rows, self.operator);
        SearchVectors { of, rows, total: rows, operator, scaling: Default::default() }
    }

    /// Do the same as [`EigenSolver::hermitian`].
    ///
    /// # Errors
    /// Those of [`EigenSolver::hermitian`].
    pub fn hermitian(&self, vectors: &mut dyn Vectors) -> Result<HermitianEigen<T>> {
        door::hermitian(&mut self.vectors(vectors), &self.solver.settings)?.into_hermitian(&Alone)
    }

    /// Do the same as [`EigenSolver::general`].
    ///
    /// # Errors
    /// Those of [`EigenSolver::general`].
    pub fn general(&self, vectors: &mut dyn Vectors) -> Result<GeneralEigen> {
        door::general(&mut self.vectors(vectors), &self.solver.settings)
    }
}
