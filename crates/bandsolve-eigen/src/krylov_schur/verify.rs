//! Checks of the arguments before a search, and residuals of the pairs after the search.
//!
//! Residuals are complex and in double precision, for all number types. So only products are computed by the vectors of the search.

use super::vectors::{IMAGE, SPARE, SearchVectors};
use crate::problem::EigenProblem;
use crate::projected::ZERO;
use crate::random::unit;
use crate::report::EigenEnding;
use crate::solver::{EigenSolver, SearchSettings};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::{collected, reserved, zeroed};
use bandsolve::vectors::{Operator, Reducer, agree, agree_alike, agree_on, digest};
use bandsolve::{Communicator, Complex64, Error, Result, Scalar};

/// The scratch memory of a search.
pub(super) struct SearchMemory(Vec<f64>);

impl SearchMemory {
    /// Allocate this memory. All processes call it.
    pub fn new(communicator: &dyn Communicator, needed: StackReq) -> Result<Self> {
        let bytes = needed.unaligned_bytes_required();
        agree_on(communicator, zeroed(bytes.div_ceil(size_of::<f64>()))).map(Self)
    }

    pub fn stack(&mut self) -> &mut PodStack {
        PodStack::new(bytemuck::cast_slice_mut(&mut self.0))
    }
}

/// Check the arguments on all processes. Returns the total number of rows, which is also the number of eigenvalues.
pub(super) fn check<T: Scalar>(solver: &EigenSolver<'_, T>, problem: &EigenProblem<'_, T>) -> Result<usize> {
    let (n, settings) = (problem.a.rows(), &solver.settings);
    let start = || check_start(solver.start.unwrap_or(&[]), solver.start.map_or(0, |_| n));
    let result = problem.check().and(settings.check_tolerance()).and_then(|()| start());
    let total = agree(settings.communicator, n, result)?;
    // With different settings, processes would run different searches and wait for each other for ever.
    let SearchSettings { k, which, ncv, tol, max_restarts, norms, second_look, .. } = settings;
    let operator = problem.operator();
    let optional = [settings.has_start, settings.count.is_some(), operator.mass, operator.is_shifted()];
    let options = digest(&(k, which, ncv, tol, max_restarts, norms, second_look, optional, operator.shift()));
    agree_alike(settings.communicator, options)?;
    settings.check_number(total)?;
    Ok(total)
}

impl SearchSettings<'_> {
    pub(super) fn check_tolerance(&self) -> Result<()> {
        match self.tol >= 0.0 && self.tol < 1.0 {
            true => Ok(()),
            false => Err(Error::invalid("tol", format!("is {}", self.tol), "a number of at least 0 and less than 1")),
        }
    }

    pub(super) fn check_number(&self, total: usize) -> Result<()> {
        let expected = || format!("at most one eigenvalue for each of the {total} rows");
        match self.k <= total {
            true => Ok(()),
            false => Err(Error::invalid("k", format!("is {}", self.k), expected())),
        }
    }
}

/// Check the length of the start vector, and that its numbers are finite.
pub(super) fn check_start<T: Scalar>(start: &[T], expected: usize) -> Result<()> {
    if start.len() != expected {
        return Err(Error::Shape { what: "start", expected, got: start.len() });
    }
    let bad = start.iter().position(|v| !Scalar::is_finite(*v));
    bad.map_or(Ok(()), |index| Err(Error::NotFinite { array: "start", index }))
}

/// Values and residuals, computed from the vectors.
pub(super) struct Verified {
    pub values: Vec<Complex64>,
    pub residuals: Vec<f64>,
    pub norms: [f64; 2],
    pub orthogonality: f64,
    /// Whether all residuals are at most [`SearchSettings::limit`].
    pub sound: bool,
}

/// The largest residual that rounding errors explain, in units of ε·√n.
const ROUNDING: f64 = 32.0;

impl SearchSettings<'_> {
    /// The largest acceptable residual, relative to ‖A‖ + |λ|·‖B‖: the tolerance, or the residual that rounding errors explain.
    ///
    /// A rounded vector differs from the eigenvector by ε/2 of its norm. Each product, projection and restart adds a few ε. So ‖A·x − λ·x‖ is a
    /// few ε·‖A‖₂. The residual uses an estimate of ‖A‖₂ from a product with a random vector, which can be too small by a factor of √n.
    ///
    /// Products with B⁻¹·A have rounding errors of the size of the largest |θ|. For A·x = λ·B·x without a shift, [`verify`] therefore raises
    /// the limit by the ratio of ‖A‖ + |θ|·‖B‖, for the largest |θ|, to ‖A‖ + |λ|·‖B‖.
    pub(crate) fn limit(&self, total: f64) -> f64 {
        self.tol.max(self.rounding(total))
    }

    fn rounding(&self, total: f64) -> f64 {
        ROUNDING * self.epsilon * total.sqrt()
    }
}

/// Compute ‖A·x‖/‖x‖ and ‖B·x‖/‖x‖ for a random vector x.
pub(super) fn probe(vectors: &mut SearchVectors<'_>) -> Result<[f64; 2]> {
    vectors.of.set(SPARE, None, &|i| Complex64::from(unit(1, i as u64)));
    let size = vectors.of.norm(SPARE);
    let mut norms = [0.0, 1.0];
    let operators = [Some(Operator::Matrix), vectors.operator.mass.then_some(Operator::Mass)];
    for (norm, operator) in norms.iter_mut().zip(operators) {
        let Some(operator) = operator else { continue };
        vectors.apply(operator, SPARE, IMAGE)?;
        let of_image = vectors.of.norm(IMAGE);
        *norm = if size > 0.0 { of_image / size } else { 0.0 };
    }
    Ok(norms)
}

impl EigenEnding {
    pub(super) fn of(all: bool, sound: bool) -> Self {
        match (all, sound) {
            (true, true) => Self::Converged,
            (false, true) => Self::RestartLimit,
            (_, false) => Self::LargeResiduals,
        }
    }
}

/// Approximate eigenpairs λ = σ + offset, x.
pub(super) struct RitzPairs<'a> {
    pub offsets: &'a [Complex64],
    /// The vectors x, one after another.
    pub vectors: &'a [Complex64],
    /// The largest modulus of a Ritz value of the operator during the search.
    pub largest: f64,
}

/// Compute the residuals of the pairs. For Hermitian problems, also compute the orthogonality of the vectors.
pub(super) fn verify(
    settings: &SearchSettings<'_>,
    RitzPairs { offsets, vectors, largest }: RitzPairs<'_>,
    hermitian: bool,
    search: &mut SearchVectors<'_>,
) -> Result<Verified> {
    let (n, communicator, operator) = (search.rows, settings.communicator, search.operator);
    let sigma = operator.shift().unwrap_or(ZERO);
    let values = || collected(offsets.iter().map(|offset| sigma + offset));
    let memory = || Ok((zeroed(n)?, zeroed(2 * n)?, values()?, reserved(offsets.len())?));
    let (mut image, mut products, values, mut parts): (Vec<Complex64>, Vec<Complex64>, _, Vec<(f64, f64)>) =
        agree_on(communicator, memory())?;
    let mut seen = match settings.probed {
        Some(probed) => probed,
        None => probe(search)?,
    };
    let mut memory = SearchMemory::new(communicator, Reducer::scratch(n, 2))?;
    let (mut reducer, _) = Reducer::new(communicator, n, 2, memory.stack());
    let mut gram = 0.0_f64;
    for k in 0..offsets.len() {
        let x = &vectors[k * n..][..n];
        let (ax, bx) = products.split_at_mut(n);
        let zero = if settings.real { zero_parts(x, &mut reducer) } else { [false; 2] };
        let x_parts = ComplexParts { x, zero, real: settings.real };
        x_parts.product(Operator::Matrix, ax, &mut image, search)?;
        if operator.mass {
            x_parts.product(Operator::Mass, bx, &mut image, search)?;
        } else {
            bx.copy_from_slice(x);
        }
        let size = reducer.norm(x);
        if size > 0.0 {
            let ratios = [reducer.norm(ax) / size, reducer.norm(bx) / size];
            seen.iter_mut().zip(ratios).for_each(|(seen, ratio)| *seen = seen.max(ratio));
        }
        let inner = if hermitian { &*bx } else { x };
        // Vectors of general problems are not orthogonal, so check only their norms.
        for j in if hermitian { 0..k + 1 } else { k..k + 1 } {
            let expected = f64::from(u8::from(j == k));
            gram = gram.max((reducer.dot(&vectors[j * n..][..n], inner) - expected).norm());
        }
        ax.iter_mut().zip(&*bx).for_each(|(a, b)| *a -= values[k] * b);
        parts.push((reducer.norm(ax), size));
    }
    let norms = settings.norms.unwrap_or(seen);
    let scaled = |(value, (residual, size)): (&Complex64, &(f64, f64))| {
        let scale = (norms[0] + value.norm() * norms[1]) * size;
        if scale > 0.0 { residual / scale } else { *residual }
    };
    let residuals: Vec<f64> = values.iter().zip(&parts).map(scaled).collect();
    // Products with B⁻¹·A have rounding errors of the size of its largest eigenvalue.
    let largest = if operator.mass && !operator.is_shifted() { largest } else { 0.0 };
    let limit = |value: Complex64| {
        let [of_value, of_largest] = [value.norm(), largest.max(value.norm())].map(|size| norms[0] + size * norms[1]);
        let spread = if of_value > 0.0 { of_largest / of_value } else { 1.0 };
        settings.tol.max(settings.rounding(search.total as f64) * spread)
    };
    let sound = !settings.judged || values.iter().zip(&residuals).all(|(value, residual)| *residual <= limit(*value));
    Ok(Verified { values, residuals, norms, orthogonality: gram, sound })
}

/// Whether the real and the imaginary part of a vector are zero on all processes.
fn zero_parts(x: &[Complex64], reducer: &mut Reducer<'_>) -> [bool; 2] {
    let mut sums = [ZERO; 2];
    reducer.sums((), &mut sums, &|rows, (), sums| {
        for x in &x[rows] {
            sums[0] += x.re.abs();
            sums[1] += x.im.abs();
        }
    });
    sums.map(|sum| sum.re == 0.0)
}

/// A complex vector whose products are computed in real arithmetic if the number type is real.
struct ComplexParts<'x> {
    x: &'x [Complex64],
    /// Whether the real and the imaginary part are zero on all processes, so that all processes skip the same products.
    zero: [bool; 2],
    real: bool,
}

impl ComplexParts<'_> {
    /// Compute y = A·x. In real arithmetic, the real and the imaginary part are separate products, and zero parts are skipped.
    fn product(
        &self,
        operator: Operator,
        y: &mut [Complex64],
        image: &mut [Complex64],
        search: &mut SearchVectors<'_>,
    ) -> Result<()> {
        let Self { x, zero, real } = *self;
        y.fill(ZERO);
        let parts: &[Complex64] = if real { &[Complex64::ONE, Complex64::I] } else { &[Complex64::ONE] };
        for (unit, _) in parts.iter().zip(zero).filter(|(_, zero)| !zero) {
            search.of.set(SPARE, None, &|i| if real { x[i] * unit.conj() } else { x[i] });
            search.apply(operator, SPARE, IMAGE)?;
            search.of.elements(IMAGE, image);
            y.iter_mut().zip(&*image).for_each(|(y, image)| *y += unit * image);
        }
        Ok(())
    }
}
