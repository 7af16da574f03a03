//! What is checked before a search, and what is computed from the vectors that it found.

use crate::problem::EigenProblem;
use crate::projected::ZERO;
use crate::random::unit;
use crate::report::EigenEnding;
use crate::solver::EigenSolver;
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{Reducer, agree, narrow, widen};
use bandsolve::{Complex64, Error, LinearOperator, RealScalar, Result, Scalar};
use bandsolve_kernel::memory::zeros;

/// Scratch of a search.
pub(super) struct SearchMemory(Vec<f64>);

impl SearchMemory {
    /// For products with the operators, and so many sums at a time.
    pub fn new<T: Scalar>(problem: &EigenProblem<'_, T>, sums: usize) -> Result<Self> {
        let needed = Reducer::scratch(problem.a.rows(), sums).and(problem.scratch());
        let bytes = needed.unaligned_bytes_required();
        Ok(Self(zeros(bytes.div_ceil(size_of::<f64>())).ok_or(Error::OutOfMemory { bytes })?))
    }

    pub fn stack(&mut self) -> &mut PodStack {
        PodStack::new(bytemuck::cast_slice_mut(&mut self.0))
    }
}

/// Refuses what makes no sense; returns the number of rows on all processes, of which there are as many eigenvalues.
pub(super) fn check<T: Scalar>(solver: &EigenSolver<'_, T>, problem: &EigenProblem<'_, T>) -> Result<usize> {
    problem.check()?;
    let n = problem.a.rows();
    if !(solver.tol >= 0.0 && solver.tol < 1.0) {
        return Err(Error::Unsupported { method: "Krylov-Schur", what: "to a tolerance outside of 0 to below 1" });
    }
    let start = check_start(solver.start.unwrap_or(&[]), solver.start.map_or(0, |_| n));
    let total = agree(solver.communicator, n, start)?;
    if solver.k > total {
        return Err(Error::Shape { what: "the list of eigenvalues asked for", expected: total, got: solver.k });
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

/// What was computed from vectors.
pub(super) struct Verified {
    pub values: Vec<Complex64>,
    pub residuals: Vec<f64>,
    pub norms: [f64; 2],
    pub orthogonality: f64,
    /// Whether residuals are at most [`limit`].
    pub sound: bool,
}

/// Residuals that rounding explains, times ε·√n.
const ROUNDING: f64 = 32.0;

impl<T: Scalar> EigenSolver<'_, T> {
    /// The largest residual, relative to ‖A‖ + |λ|·‖B‖, of a pair that is found, of `total` rows: what was asked for, or what rounding
    /// explains.
    ///
    /// A vector of the type differs from the eigenvector by ε/2 of its norm, and each product, projection and restart adds a few ε. So
    /// ‖A·x − λ·x‖ is a few ε·‖A‖₂. The norm in the residual is that of a product with a random vector. It can be smaller than ‖A‖₂ by a
    /// factor of √n.
    pub(crate) fn limit(&self, total: f64) -> f64 {
        self.tol.max(ROUNDING * T::Real::EPSILON.to_f64() * total.sqrt())
    }
}

/// ‖A·x‖/‖x‖ and ‖B·x‖/‖x‖ of a random vector x.
pub(super) fn probe<T: Scalar>(
    problem: &EigenProblem<'_, T>,
    (reducer, stack): (&mut Reducer<'_>, &mut PodStack),
) -> Result<[f64; 2]> {
    let n = problem.a.rows();
    let x: Vec<T> = (0..n).map(|i| T::from_real(T::Real::from_f64(unit(1, i as u64)))).collect();
    let (mut image, size) = (vec![T::ZERO; n], reducer.norm(&x));
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

/// Residuals of pairs λ = σ + offset, x; of Hermitian problems also how orthogonal the vectors are.
pub(super) fn verify<T: Scalar>(
    solver: &EigenSolver<'_, T>,
    problem: &EigenProblem<'_, T>,
    (offsets, vectors): (&[Complex64], &[Complex64]),
    hermitian: bool,
    (reducer, stack): (&mut Reducer<'_>, &mut PodStack),
) -> Result<Verified> {
    let n = problem.a.rows();
    let sigma = problem.shift().map_or(ZERO, widen);
    let values: Vec<Complex64> = offsets.iter().map(|offset| sigma + offset).collect();
    let mut spare = vec![T::ZERO; 2 * n];
    let mut products = vec![ZERO; 2 * n];
    let mut seen = match solver.probed {
        Some(probed) => probed,
        None => probe(problem, (&mut *reducer, &mut *stack))?,
    };
    let mut parts = Vec::with_capacity(offsets.len());
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
            let own = [reducer.norm(ax) / size, reducer.norm(bx) / size];
            seen.iter_mut().zip(own).for_each(|(seen, own)| *seen = seen.max(own));
        }
        let inner = if hermitian { &*bx } else { x };
        // Vectors of general problems are not orthogonal.
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
    let limit = if solver.judged { solver.limit(total[0]) } else { f64::INFINITY };
    let sound = residuals.iter().all(|residual| *residual <= limit);
    Ok(Verified { values, residuals, norms, orthogonality: gram, sound })
}

/// Whether real and imaginary part of a vector are zero on all processes; in complex arithmetic they are not looked at.
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

/// y = A·x of a complex vector; in real arithmetic part by part, but for those that are zero. All processes make the same products.
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
