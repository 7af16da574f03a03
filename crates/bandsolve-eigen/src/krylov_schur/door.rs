//! Entry points of a search: scale problems with extreme numbers, and repeat a search whose residuals are too large.

use super::scaling::{ProblemScaling, times_power};
use super::vectors::SearchVectors;
use super::verify::probe;
use super::{general, hermitian};
use crate::report::{EigenEnding, GeneralEigen};
use crate::solver::SearchSettings;
use bandsolve::Result;
use bandsolve_kernel::exact::ldexp;

/// Find eigenpairs of a Hermitian problem. The search scales A and B by powers of two, so that no entry is too large or too small.
pub(super) fn hermitian(vectors: &mut SearchVectors<'_>, settings: &SearchSettings<'_>) -> Result<GeneralEigen> {
    let (mut eigen, scaling) = scaled(hermitian::find, vectors, settings)?;
    if scaling.b != 0 {
        // Restore xᴴ·B·x = 1.
        let by = ldexp(1.0, scaling.b / 2);
        eigen.vectors.iter_mut().for_each(|x| *x *= by);
    }
    Ok(eigen)
}

/// Find eigenpairs of any problem. The search scales A and B as [`hermitian`].
pub(super) fn general(vectors: &mut SearchVectors<'_>, settings: &SearchSettings<'_>) -> Result<GeneralEigen> {
    scaled(general::find, vectors, settings).map(|(eigen, _)| eigen)
}

/// A search.
type Find = fn(&mut SearchVectors<'_>, &SearchSettings<'_>) -> Result<GeneralEigen>;

/// Run a search for the scaled problem. The values and norms of the result are those of the problem itself; the vectors are not scaled back.
fn scaled(
    find: Find,
    vectors: &mut SearchVectors<'_>,
    settings: &SearchSettings<'_>,
) -> Result<(GeneralEigen, ProblemScaling)> {
    let probed = probe(vectors)?;
    let scaling = ProblemScaling::of(probed, vectors.operator, settings.is_double());
    if scaling == ProblemScaling::default() {
        let settings = SearchSettings { probed: Some(probed), ..*settings };
        return Ok((repeated(find, vectors, &settings)?, scaling));
    }
    let by = scaling.of_values();
    let below = |shift: f64| match settings.count {
        Some(below) => below(ldexp(shift, by)),
        None => Ok(0),
    };
    let settings = SearchSettings {
        probed: Some(scaling.norms(probed)),
        norms: settings.norms.map(|norms| scaling.norms(norms)),
        count: settings.count.map(|_| &below as _),
        ..*settings
    };
    let operator = scaling.operator(vectors.operator);
    let mut vectors = SearchVectors { of: &mut *vectors.of, operator, scaling, ..*vectors };
    let mut eigen = repeated(find, &mut vectors, &settings)?;
    eigen.report.norms = scaling.norms_back(eigen.report.norms);
    eigen.values.iter_mut().chain(&mut eigen.offsets).for_each(|value| *value = times_power(*value, by));
    Ok((eigen, scaling))
}

/// Run a search. If residuals of A·x = λ·B·x exceed the tolerance, run the search again with a smaller tolerance for the operator.
///
/// With OP = (A − σB)⁻¹·B and r = OP·x − θ·x, the residual is ‖A·x − λ·B·x‖ = ‖(A − σB)·r‖/|θ| ≤ ‖A − σB‖·tol. It can exceed the tolerance
/// because ‖A − σB‖ can be larger than the estimated norms.
fn repeated(find: Find, vectors: &mut SearchVectors<'_>, settings: &SearchSettings<'_>) -> Result<GeneralEigen> {
    let eigen = find(vectors, settings)?;
    if eigen.report.ending != EigenEnding::LargeResiduals {
        return Ok(eigen);
    }
    let first = eigen.report.clone();
    let largest = first.residuals.iter().fold(0.0_f64, |largest, residual| largest.max(*residual));
    let inner = 0.5 * settings.tol * settings.tol / largest;
    // A smaller tolerance does not help below a few rounding errors, and a very large residual has other causes.
    if settings.tol <= 4.0 * settings.epsilon || largest > settings.tol.sqrt() {
        return Ok(eigen);
    }
    drop(eigen);
    let mut eigen = find(vectors, &SearchSettings { inner: Some(inner), ..*settings })?;
    let report = &mut eigen.report;
    (report.solves, report.restarts) = (report.solves + first.solves, report.restarts + first.restarts);
    Ok(eigen)
}
