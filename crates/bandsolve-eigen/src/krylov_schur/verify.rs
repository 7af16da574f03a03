//! Checks of the arguments before a search, and residuals of the pairs after the search.

use crate::problem::EigenProblem;
use crate::projected::ZERO;
use crate::random::unit;
use crate::report::EigenEnding;
use crate::solver::EigenSolver;
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::{collected, reserved, zeroed};
use bandsolve::vectors::{Reducer, agree, agree_alike, agree_on, digest, narrow, widen};
use bandsolve::{Complex64, Error, LinearOperator, RealScalar, Result, Scalar};

/// The scratch memory of a search.
pub(super) struct SearchMemory(Vec<f64>);

impl SearchMemory {
    /// Allocate memory for products with the operators, and for this number of simultaneous sums. All processes call it.
    pub fn new<T: Scalar>(solver: &EigenSolver<'_, T>, problem: &EigenProblem<'_, T>, sums: usize) -> Result<Self> {
        let needed = Reducer::scratch(problem.a.rows(), sums).and(problem.scratch());
        let bytes = needed.unaligned_bytes_required();
        agree_on(solver.communicator, zeroed(bytes.div_ceil(size_of::<f64>()))).map(Self)
    }

    pub fn stack(&mut self) -> &mut PodStack {
        PodStack::new(bytemuck::cast_slice_mut(&mut self.0))
    }
}

/// Check the arguments on all processes. Returns the total number of rows, which is also the number of eigenvalues.
pub(super) fn check<T: Scalar>(solver: &EigenSolver<'_, T>, problem: &EigenProblem<'_, T>) -> Result<usize> {
    let n = problem.a.rows();
    let tolerance = match solver.tol >= 0.0 && solver.tol < 1.0 {
        true => Ok(()),
        false => Err(Error::invalid("tol", format!("is {}", solver.tol), "a number of at least 0 and less than 1")),
    };
    let start = || check_start(solver.start.unwrap_or(&[]), solver.start.map_or(0, |_| n));
    let total = agree(solver.communicator, n, problem.check().and(tolerance).and_then(|()| start()))?;
    // With different settings, processes would run different searches and wait for each other for ever.
    let EigenSolver { k, which, ncv, tol, max_restarts, norms, second_look, .. } = solver;
    let optional = [solver.start.is_some(), solver.count.is_some(), problem.b.is_some(), problem.is_shifted()];
    let shift: Option<Complex64> = problem.shift().map(widen);
    agree_alike(solver.communicator, digest(&(k, which, ncv, tol, max_restarts, norms, second_look, optional, shift)))?;
    if solver.k > total {
        let expected = format!("at most one eigenvalue for each of the {total} rows");
        return Err(Error::invalid("k", format!("is {}", solver.k), expected));
    }
    Ok(total)
}

fn check_start<T: Scalar>(start: &[T], expected: usize) -> Result<()> {
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
    /// Whether all residuals are at most [`EigenSolver::limit`].
    pub sound: bool,
}

/// The largest residual that rounding errors explain, in units of ε·√n.
const ROUNDING: f64 = 32.0;

impl<T: Scalar> EigenSolver<'_, T> {
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
        ROUNDING * T::Real::EPSILON.to_f64() * total.sqrt()
    }
}

/// Compute ‖A·x‖/‖x‖ and ‖B·x‖/‖x‖ for a random vector x.
pub(super) fn probe<T: Scalar>(
    problem: &EigenProblem<'_, T>,
    (reducer, stack): (&mut Reducer<'_>, &mut PodStack),
) -> Result<[f64; 2]> {
    let n = problem.a.rows();
    let (mut x, mut image): (Vec<T>, Vec<T>) = reducer.agree_on(zeroed(n).and_then(|x| Ok((x, zeroed(n)?))))?;
    x.iter_mut().enumerate().for_each(|(i, x)| *x = T::from_real(T::Real::from_f64(unit(1, i as u64))));
    let size = reducer.norm(&x);
    let mut norms = [0.0, 1.0];
    for (norm, operator) in norms.iter_mut().zip([Some(problem.a), problem.b]) {
        let Some(operator) = operator else { continue };
        operator.apply(&x, &mut image, stack)?;
        let of_image = reducer.norm(&image);
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
pub(super) fn verify<T: Scalar>(
    solver: &EigenSolver<'_, T>,
    problem: &EigenProblem<'_, T>,
    RitzPairs { offsets, vectors, largest }: RitzPairs<'_>,
    hermitian: bool,
    (reducer, stack): (&mut Reducer<'_>, &mut PodStack),
) -> Result<Verified> {
    let n = problem.a.rows();
    let sigma = problem.shift().map_or(ZERO, widen);
    let values = || collected(offsets.iter().map(|offset| sigma + offset));
    let memory = || Ok((zeroed(2 * n)?, zeroed(2 * n)?, values()?, reserved(offsets.len())?));
    let (mut spare, mut products, values, mut parts): (Vec<T>, Vec<Complex64>, _, Vec<(f64, f64)>) =
        reducer.agree_on(memory())?;
    let mut seen = match solver.probed {
        Some(probed) => probed,
        None => probe(problem, (&mut *reducer, &mut *stack))?,
    };
    let mut gram = 0.0_f64;
    for k in 0..offsets.len() {
        let x = &vectors[k * n..][..n];
        let (ax, bx) = products.split_at_mut(n);
        let zero = zero_parts::<T>(x, reducer);
        product(problem.a, (x, zero), ax, &mut spare, stack)?;
        match problem.b {
            Some(b) => product(b, (x, zero), bx, &mut spare, stack)?,
            None => bx.copy_from_slice(x),
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
    let norms = solver.norms.unwrap_or(seen);
    let scaled = |(value, (residual, size)): (&Complex64, &(f64, f64))| {
        let scale = (norms[0] + value.norm() * norms[1]) * size;
        if scale > 0.0 { residual / scale } else { *residual }
    };
    let residuals: Vec<f64> = values.iter().zip(&parts).map(scaled).collect();
    let mut total = [n as f64];
    solver.communicator.sum(&mut total);
    // Products with B⁻¹·A have rounding errors of the size of its largest eigenvalue.
    let largest = if problem.b.is_some() && !problem.is_shifted() { largest } else { 0.0 };
    let limit = |value: Complex64| {
        let [of_value, of_largest] = [value.norm(), largest.max(value.norm())].map(|size| norms[0] + size * norms[1]);
        let spread = if of_value > 0.0 { of_largest / of_value } else { 1.0 };
        solver.tol.max(solver.rounding(total[0]) * spread)
    };
    let sound = !solver.judged || values.iter().zip(&residuals).all(|(value, residual)| *residual <= limit(*value));
    Ok(Verified { values, residuals, norms, orthogonality: gram, sound })
}

/// Whether the real and the imaginary part of a vector are zero on all processes. In complex arithmetic, the result is `[false; 2]`.
fn zero_parts<T: Scalar>(x: &[Complex64], reducer: &mut Reducer<'_>) -> [bool; 2] {
    let mut sums = [ZERO; 2];
    if !T::COMPLEX {
        reducer.sums((), &mut sums, &|rows, (), sums| {
            for x in &x[rows] {
                sums[0] += x.re.abs();
                sums[1] += x.im.abs();
            }
        });
    }
    sums.map(|sum| !T::COMPLEX && sum.re == 0.0)
}

/// Compute y = A·x for a complex vector.
///
/// In real arithmetic, the real and the imaginary part are separate products, and zero parts are skipped. All processes skip the same parts.
fn product<T: Scalar>(
    a: &dyn LinearOperator<T>,
    (x, zero): (&[Complex64], [bool; 2]),
    y: &mut [Complex64],
    spare: &mut [T],
    stack: &mut PodStack,
) -> Result<()> {
    let (part, image) = spare.split_at_mut(x.len());
    y.fill(ZERO);
    let parts: &[Complex64] = if T::COMPLEX { &[Complex64::ONE] } else { &[Complex64::ONE, Complex64::I] };
    for (unit, _) in parts.iter().zip(zero).filter(|(_, zero)| !zero) {
        let of = |x: &Complex64| if T::COMPLEX { *x } else { x * unit.conj() };
        part.iter_mut().zip(x).for_each(|(part, x)| *part = narrow(of(x)));
        a.apply(part, image, stack)?;
        y.iter_mut().zip(&*image).for_each(|(y, image)| *y += unit * widen(*image));
    }
    Ok(())
}
