//! Searches with vectors in the memory of the CPU.

use super::door;
use super::limits::Dimensions;
use super::vectors::{FIRST, SearchVectors};
use super::verify::{RitzPairs, SearchMemory, check, verify};
use crate::problem::EigenProblem;
use crate::report::{EigenEnding, EigenReport, GeneralEigen, HermitianEigen};
use crate::solver::{EigenSolver, SearchSettings};
use bandsolve::dyn_stack::StackReq;
use bandsolve::memory::reserved;
use bandsolve::vectors::{HostVectors, Reducer, agree_on, narrow};
use bandsolve::{Communicator, Complex64, Result, Scalar};

/// The settings of a search, and its problem.
pub(super) type Search<'a, T> = (EigenSolver<'a, T>, EigenProblem<'a, T>);

/// Find eigenpairs of a Hermitian problem.
pub(super) fn hermitian<T: Scalar>(search: Search<'_, T>) -> Result<HermitianEigen<T>> {
    let communicator = search.0.settings.communicator;
    searched(search, true, door::hermitian).and_then(|eigen| eigen.into_hermitian(communicator))
}

/// Find eigenpairs of any problem.
pub(super) fn general<T: Scalar>(search: Search<'_, T>) -> Result<GeneralEigen> {
    searched(search, false, door::general)
}

fn searched<T: Scalar>(
    search: Search<'_, T>,
    hermitian: bool,
    find: fn(&mut SearchVectors<'_>, &SearchSettings<'_>) -> Result<GeneralEigen>,
) -> Result<GeneralEigen> {
    let (solver, problem) = &search;
    let total = check(solver, problem)?;
    let most = Dimensions::of(&solver.settings, hermitian, total).most;
    with_vectors(&search, total, (most, hermitian), |vectors| find(vectors, &solver.settings))
}

/// Number of work vectors of a search whose space has at most `most` dimensions.
pub(super) fn work_vectors(most: usize, weighted: bool) -> usize {
    (most.saturating_add(1)).saturating_mul(if weighted { 2 } else { 1 }).saturating_add(FIRST)
}

/// Call `work` with vectors for a search whose space has at most `most` dimensions.
fn with_vectors<T: Scalar, R>(
    (solver, problem): &Search<'_, T>,
    total: usize,
    (most, hermitian): (usize, bool),
    work: impl FnOnce(&mut SearchVectors<'_>) -> Result<R>,
) -> Result<R> {
    let (n, operator, communicator) = (problem.a.rows(), problem.operator(), solver.settings.communicator);
    let (stride, alignment) = (HostVectors::<T>::stride(n), HostVectors::<T>::ALIGNMENT);
    let length = stride.saturating_mul(work_vectors(most, operator.mass && hermitian));
    let of = |length| StackReq::new_aligned::<T>(length, alignment);
    let scratch = problem.scratch().or(HostVectors::<T>::rotate_scratch(n, most));
    let needed = of(length).and(of(stride)).and(Reducer::scratch(n, most)).and(scratch);
    let mut memory = SearchMemory::new(communicator, needed)?;
    let (work_memory, stack) = memory.stack().make_aligned_raw::<T>(length, alignment);
    let (x, stack) = stack.make_aligned_raw::<T>(n, alignment);
    let (reducer, stack) = Reducer::new(communicator, n, most, stack);
    let (a, b, m, rhs) = (problem.a, problem.b, problem.inverse(), solver.start.unwrap_or_default());
    let mut vectors = HostVectors { a, b, m, rhs, x, work: work_memory, reducer, stack };
    work(&mut SearchVectors { of: &mut vectors, rows: n, total, operator, scaling: Default::default() })
}

/// Replace the residuals in a report by the residuals of these pairs. `total` is the number of rows on all processes.
pub(crate) fn residuals_of<T: Scalar>(
    search: Search<'_, T>,
    total: usize,
    (offsets, vectors): (&[Complex64], &[Complex64]),
    report: EigenReport,
) -> Result<EigenReport> {
    let checked = with_vectors(&search, total, (0, false), |of| {
        verify(&search.0.settings, RitzPairs { offsets, vectors, largest: 0.0 }, false, of)
    })?;
    // The caller prescribes the values, so missing eigenvalues do not change the ending.
    let all = matches!(report.ending, EigenEnding::Converged | EigenEnding::Incomplete);
    let ending = EigenEnding::of(all, checked.sound);
    let (residuals, norms, orthogonality) = (checked.residuals, checked.norms, checked.orthogonality);
    Ok(EigenReport { ending, residuals, norms, orthogonality, ..report })
}

impl GeneralEigen {
    /// The result of a Hermitian problem, with vectors of its number type.
    pub(super) fn into_hermitian<T: Scalar>(self, communicator: &dyn Communicator) -> Result<HermitianEigen<T>> {
        let mut vectors: Vec<T> = agree_on(communicator, reserved(self.vectors.len()))?;
        vectors.extend(self.vectors.iter().map(|x| narrow::<T>(*x)));
        let real = |values: &[Complex64]| values.iter().map(|value| value.re).collect();
        Ok(HermitianEigen { values: real(&self.values), offsets: real(&self.offsets), vectors, report: self.report })
    }
}
