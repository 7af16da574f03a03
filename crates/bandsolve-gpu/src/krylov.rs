//! Krylov methods for systems on a device: the methods of the CPU, with vectors on the device.

use crate::csr::DeviceCsr;
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::vectors::DeviceVectors;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::vectors::{LinearCombination, Operator, Reducer, VectorId, Vectors, narrow, times, widen};
use bandsolve::{Alone, Complex64, Error, RealScalar, Result, Scalar};
use bandsolve_sparse::{IterationReport, KrylovSolver, Preconditioning};

/// A linear operator on vectors of a device: a matrix, or the inverse M⁻¹ of a preconditioner.
///
/// # Examples
/// The preconditioner by the diagonal, as a sparse matrix:
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceCsr, DeviceOperator, Emulation, solve_krylov};
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let inverse = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 0.25), (1, 1, 0.5)])?;
/// let [a, inverse] = [DeviceCsr::new(&device, &a)?, DeviceCsr::new(&device, &inverse)?];
/// let m: &dyn DeviceOperator<f64> = &inverse;
/// let (rhs, mut x) = (device.upload(&[5.0, 3.0])?, device.zeros(2)?);
/// assert!(solve_krylov(&KrylovSolver::new(KrylovMethod::Cg), &a, Some(m), &rhs, &mut x)?.converged());
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait DeviceOperator<T: DeviceScalar> {
    /// Number of rows and columns.
    fn rows(&self) -> usize;

    /// Compute y = A·x.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::Device`].
    fn apply(&self, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()>;

    /// Whether a preconditioner changes from step to step. GMRES then runs as FGMRES.
    fn changes(&self) -> bool {
        false
    }

    /// Compute y = M⁻¹·x in a step of the iteration, counted from 0.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    fn apply_step(&self, _step: usize, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        self.apply(x, y)
    }
}

impl<T: DeviceScalar> DeviceOperator<T> for DeviceCsr<T> {
    fn rows(&self) -> usize {
        DeviceCsr::rows(self)
    }

    fn apply(&self, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        self.multiply(x, y)
    }
}

/// Solve A·x = rhs on a device by a Krylov method, starting from the x that you pass.
///
/// The method is the one of the CPU ([`KrylovSolver`]); only its vectors are on the device. It keeps its scalars on the host, which waits for the device
/// at each inner product. In `f32`, `c32` and `c64`, x has the bits of the CPU if the products of the operators have. In `f64`, inner products are summed in
/// another order.
///
/// # Shapes
/// A and M have n rows and columns; rhs and x have n elements.
///
/// # Cost
/// Memory for [`KrylovSolver::work_vectors`] and two more vectors.
///
/// # Errors
/// An iteration that does not converge is not an error: check [`IterationReport::converged`]. [`Error::Shape`]; [`Error::NotFinite`] if rhs or x contains NaN or
/// infinity; [`Error::OutOfMemory`]; [`Error::Device`].
///
/// # Accuracy
/// The entries of A are not known here. The report says that the iteration has converged if the norm of the residual and an estimate of its rounding error are at
/// most the tolerance: see [`KrylovSolver`].
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceCsr, Emulation, solve_krylov};
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let a = DeviceCsr::new(&device, &a)?;
/// let (rhs, mut x) = (device.upload(&[5.0, 2.0])?, device.zeros(2)?);
/// let report = solve_krylov(&KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }), &a, None, &rhs, &mut x)?;
/// assert!(report.converged());
/// assert!(x.download()?.iter().all(|x| (x - 1.0).abs() < 1e-7));
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn solve_krylov<T: DeviceScalar>(
    solver: &KrylovSolver<'_>,
    a: &dyn DeviceOperator<T>,
    m: Option<&dyn DeviceOperator<T>>,
    rhs: &DeviceVec<T>,
    x: &mut DeviceVec<T>,
) -> Result<IterationReport> {
    let n = a.rows();
    check_len("rhs", n, rhs.len())?;
    check_len("x", n, x.len())?;
    if let Some(m) = m {
        check_len("rows of the preconditioner", n, m.rows())?;
    }
    let preconditioner = m.map(|m| if m.changes() { Preconditioning::Changing } else { Preconditioning::Constant });
    let device = rhs.slice(..).device().clone();
    let mut vectors = DeviceVectors::new(&device, n, OTHERS + solver.work_vectors(n, preconditioner))?;
    vectors.vector_mut(RHS).copy_from(rhs.slice(..))?;
    vectors.vector_mut(SOLUTION).copy_from(x.slice(..))?;
    let mut system = SystemOnDevice { a, m, vectors, error: None };
    let report = solver.solve_vectors(&mut system, n, preconditioner);
    let SystemOnDevice { vectors, error, .. } = system;
    // An error of the device is the cause of what the method saw.
    error.map_or(Ok(()), Err)?;
    let report = report.map_err(|error| located(error, rhs, x))?;
    x.slice_mut(..).copy_from(vectors.vector(SOLUTION))?;
    device.synchronize()?;
    Ok(report)
}

/// The error with the place of the number that is not finite.
fn located<T: DeviceScalar>(error: Error, rhs: &DeviceVec<T>, x: &DeviceVec<T>) -> Error {
    let Error::NotFinite { array, .. } = error else { return error };
    let elements = if array == "rhs" { rhs } else { x }.download();
    let place = |elements: Vec<T>| elements.iter().position(|v| !Scalar::is_finite(*v));
    elements.map_or_else(|error| error, |elements| Error::NotFinite { array, index: place(elements).unwrap_or(0) })
}

/// The numbers of the right-hand side and of the solution, and of the first work vector.
const RHS: usize = 0;
const SOLUTION: usize = 1;
const OTHERS: usize = 2;

const ONE: Complex64 = Complex64::ONE;

fn number(id: VectorId) -> usize {
    match id {
        VectorId::Rhs => RHS,
        VectorId::Solution => SOLUTION,
        VectorId::Work(k) => OTHERS + k,
    }
}

/// A system whose vectors are on a device.
///
/// After an error of the device, inner products are NaN, so that a method ends, and operators return the error.
struct SystemOnDevice<'a, T> {
    a: &'a dyn DeviceOperator<T>,
    m: Option<&'a dyn DeviceOperator<T>>,
    vectors: DeviceVectors<T>,
    error: Option<Error>,
}

impl<T: DeviceScalar> SystemOnDevice<'_, T> {
    /// Keep the first error.
    fn note(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    /// Compute one combination and inner products of its result, in one launch where this is possible.
    fn combine_one(
        &mut self,
        combination: &LinearCombination<'_>,
        products: &[(usize, usize)],
        sums: &mut [Complex64],
    ) -> Result<()> {
        let LinearCombination { out, plus, factor, terms } = *combination;
        let (out, mut all, mut count) = (number(out), [(ONE, 0); DeviceVectors::<f64>::MAX_TERMS], terms.len());
        all[..count].iter_mut().zip(terms).for_each(|(to, (c, v))| *to = (*c, number(*v)));
        if factor != ONE {
            assert!(plus.map(number) != Some(out), "`plus` is overwritten before it is added");
            self.vectors.combine(out, &all[..count], &[], &mut [])?;
            (all[0], count) = ((factor, out), 1);
        }
        if let Some(plus) = plus {
            all[count] = (ONE, number(plus));
            count += 1;
        }
        if count == 0 {
            self.vectors.vector_mut(out).clear()?;
        }
        self.vectors.combine(out, &all[..count], products, sums)
    }

    fn try_combine(
        &mut self,
        combinations: &[LinearCombination<'_>],
        products: &[(VectorId, VectorId)],
        sums: &mut [Complex64],
    ) -> Result<()> {
        let mut pairs = [(0, 0); DeviceVectors::<f64>::MAX_DOTS];
        let pairs = &mut pairs[..products.len()];
        pairs.iter_mut().zip(products).for_each(|(to, (a, b))| *to = (number(*a), number(*b)));
        match combinations {
            [] => self.vectors.combine(0, &[], pairs, sums),
            [before @ .., last] => {
                before.iter().try_for_each(|combination| self.combine_one(combination, &[], &mut []))?;
                self.combine_one(last, pairs, sums)
            }
        }
    }

    /// h = Vᴴ·w with the vectors from `basis` on.
    fn project(&mut self, basis: usize, w: usize, h: &mut [Complex64]) -> Result<()> {
        const TOGETHER: usize = DeviceVectors::<f64>::MAX_DOTS;
        for (block, h) in h.chunks_mut(TOGETHER).enumerate() {
            let pairs: [_; TOGETHER] = core::array::from_fn(|k| (basis + block * TOGETHER + k, w));
            self.vectors.combine(0, &[], &pairs[..h.len()], h)?;
        }
        Ok(())
    }

    /// y ← y − V·c with the vectors from `basis` on.
    fn subtract(&mut self, y: usize, basis: usize, c: &[Complex64]) -> Result<()> {
        const TOGETHER: usize = DeviceVectors::<f64>::MAX_TERMS - 1;
        for (block, c) in c.chunks(TOGETHER).enumerate() {
            let mut terms = [(ONE, y); TOGETHER + 1];
            let of_basis = c.iter().enumerate().map(|(k, c)| (-c, basis + block * TOGETHER + k));
            terms[1..].iter_mut().zip(of_basis).for_each(|(to, term)| *to = term);
            self.vectors.combine(y, &terms[..=c.len()], &[], &mut [])?;
        }
        Ok(())
    }

    /// Replace a vector by new elements that the host computes from those of another vector.
    fn on_host(&mut self, (from, to): (usize, usize), new: impl Fn(usize, T) -> T) -> Result<()> {
        let mut elements = self.vectors.vector(from).download()?;
        elements.iter_mut().enumerate().for_each(|(i, v)| *v = new(i, *v));
        self.vectors.vector_mut(to).write(&elements)
    }
}

impl<T: DeviceScalar> Vectors for SystemOnDevice<'_, T> {
    fn epsilon(&self) -> f64 {
        T::Real::EPSILON.to_f64()
    }

    fn rows_before(&self) -> usize {
        0
    }

    fn sum(&self, _: &mut [f64]) {}

    fn apply(&mut self, operator: Operator, x: VectorId, y: VectorId) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)?;
        let m = || self.m.expect("methods apply a preconditioner only if there is one");
        let (x, y) = self.vectors.pair(number(x), number(y));
        match operator {
            Operator::Matrix => self.a.apply(x, y),
            Operator::Preconditioner => m().apply(x, y),
            Operator::Step(step) => m().apply_step(step, x, y),
        }
    }

    fn residual(&mut self, x: VectorId, rhs: VectorId, r: VectorId) -> Result<()> {
        self.apply(Operator::Matrix, x, r)?;
        self.combine(&[LinearCombination::of(r, &[(-ONE, r), (ONE, rhs)])], &[], &mut []);
        Ok(())
    }

    fn accurate_residual(&mut self, _: VectorId, _: VectorId, _: VectorId) -> Result<Option<f64>> {
        Ok(None)
    }

    fn combine(
        &mut self,
        combinations: &[LinearCombination<'_>],
        products: &[(VectorId, VectorId)],
        sums: &mut [Complex64],
    ) {
        let result = self.try_combine(combinations, products, sums);
        if result.is_err() {
            sums.fill(Complex64::new(f64::NAN, f64::NAN));
        }
        self.note(result);
    }

    fn orthogonalize(&mut self, basis: usize, w: VectorId, h: &mut [Complex64], again: &mut [Complex64]) -> f64 {
        let (first, at) = (OTHERS + basis, number(w));
        for h in [&mut *h, &mut *again] {
            let result = self.project(first, at, h).and_then(|()| self.subtract(at, first, h));
            if result.is_err() {
                self.note(result);
                return f64::NAN;
            }
        }
        h.iter_mut().zip(&*again).for_each(|(h, again)| *h += *again);
        self.norm(w)
    }

    fn subtract_combination(&mut self, y: VectorId, basis: usize, c: &[Complex64]) {
        let result = self.subtract(number(y), OTHERS + basis, c);
        self.note(result);
    }

    fn root(&mut self, squared: f64, v: VectorId) -> f64 {
        if (1e-200..1e200).contains(&squared) {
            return squared.sqrt();
        }
        let elements = match self.vectors.vector(number(v)).download() {
            Ok(elements) => elements,
            Err(error) => {
                self.note(Err(error));
                return f64::NAN;
            }
        };
        let mut memory = PodBuffer::new(Reducer::scratch(elements.len(), 1));
        Reducer::new(&Alone, elements.len(), 1, PodStack::new(&mut memory)).0.root(squared, &elements)
    }

    fn scale(&mut self, from: VectorId, to: VectorId, by: f64) {
        let (from, to, factor) = (number(from), number(to), narrow::<T>(by.into()));
        // A factor beyond the range of the number type, by which the device cannot multiply, can have a product in the range.
        let result = if widen(factor) == Complex64::from(by) {
            self.vectors.combine(to, &[(by.into(), from)], &[], &mut [])
        } else {
            self.on_host((from, to), |_, v| times(v, by))
        };
        self.note(result);
    }

    fn set(&mut self, v: VectorId, times: Option<VectorId>, value: &(dyn Fn(usize) -> Complex64 + Sync)) {
        let to = number(v);
        let value = |i| narrow::<T>(value(i));
        let result = match times {
            Some(times) => self.on_host((number(times), to), |i, v| value(i) * v),
            None => self.on_host((to, to), |i, _| value(i)),
        };
        self.note(result);
    }

    fn read(&mut self, v: VectorId, to: &mut dyn FnMut(&[u8])) {
        match self.vectors.vector(number(v)).download() {
            Ok(elements) => to(bytemuck::cast_slice(&elements)),
            Err(error) => self.note(Err(error)),
        }
    }
}
