//! Eigenvalues of operators on a device: the searches of the CPU, with vectors on the device.

use crate::device::{Device, DeviceScalar, check_len};
use crate::operator::DeviceOperator;
use crate::system::{DeviceOperators, SystemOnDevice};
use bandsolve::Result;
use bandsolve::vectors::{VectorId, Vectors, widen};
use bandsolve_eigen::anywhere::{SearchAnywhere, SearchOperator, SpectralTransform};
use bandsolve_eigen::{EigenSolver, GeneralEigen, HermitianEigen};

/// An eigenvalue problem A·x = λ·x or A·x = λ·B·x with operators on a device.
///
/// This type is for operators on a device what [`EigenProblem`](bandsolve_eigen::EigenProblem) is for operators on the CPU.
///
/// # Shapes
/// All operators are n × n.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_eigen::EigenSolver;
/// use bandsolve_gpu::{Device, DeviceCsr, DeviceEigenProblem, Emulation};
/// use bandsolve_sparse::Csr;
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// // λ = 1, …, 30
/// let entries: Vec<_> = (0..30).map(|i| (i, i, i as f64 + 1.0)).collect();
/// let a = DeviceCsr::new(&device, &Csr::<f64>::from_triplets(30, 30, &entries)?)?;
/// let eigen = DeviceEigenProblem::new(&device, &a).hermitian(&EigenSolver::new(2))?;
/// assert!(eigen.converged() && (eigen.values[0] - 30.0).abs() < 1e-6 && (eigen.values[1] - 29.0).abs() < 1e-6);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct DeviceEigenProblem<'a, T: DeviceScalar> {
    device: &'a Device,
    operators: DeviceOperators<'a, T>,
    transform: SpectralTransform,
}

impl<'a, T: DeviceScalar> DeviceEigenProblem<'a, T> {
    /// Make the problem A·x = λ·x. The vectors of a search are on this device.
    pub fn new(device: &'a Device, a: &'a dyn DeviceOperator<T>) -> Self {
        Self { device, operators: DeviceOperators { a, b: None, m: None }, transform: SpectralTransform::Plain }
    }

    /// Set B of A·x = λ·B·x. The problem then also needs an inverse of A − σB or of B.
    pub fn mass(mut self, b: &'a dyn DeviceOperator<T>) -> Self {
        self.operators.b = Some(b);
        self
    }

    /// Use shift-and-invert, to find the eigenvalues nearest to σ. `inverse` is (A − σB)⁻¹.
    pub fn shifted(self, sigma: T, inverse: &'a dyn DeviceOperator<T>) -> Self {
        self.with_inverse(inverse, SpectralTransform::Shifted(widen(sigma)))
    }

    /// Use the operator B⁻¹·A, without a shift. `inverse` is B⁻¹.
    pub fn mass_inverse(self, inverse: &'a dyn DeviceOperator<T>) -> Self {
        self.with_inverse(inverse, SpectralTransform::Mass)
    }

    fn with_inverse(mut self, inverse: &'a dyn DeviceOperator<T>, transform: SpectralTransform) -> Self {
        self.operators.m = Some(inverse);
        Self { transform, ..self }
    }

    /// Find eigenpairs of a Hermitian problem, as [`EigenSolver::hermitian`] does.
    ///
    /// Only vectors and products are on the device. The host computes with the projected matrix, and waits for the device at each inner product. The vectors
    /// of the result are on the host, which also computes the residuals from products on the device. One process does the search: the function ignores the
    /// communicator of the solver.
    ///
    /// # Cost
    /// Memory for at most m + 5 vectors on the device, or 2·m + 6 with B. Here m is `ncv`, and at least k + 17 during a second look.
    ///
    /// # Errors
    /// Those of [`EigenSolver::hermitian`]; [`Error::Device`](bandsolve::Error::Device).
    ///
    /// # Examples
    /// The largest eigenvalue of a second difference:
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_eigen::{EigenSolver, Which};
    /// use bandsolve_gpu::{Device, DeviceCsr, DeviceEigenProblem, Emulation};
    /// use bandsolve_sparse::Csr;
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// // λ = 2 − 2·cos(π·k/41)
    /// let beside = (1..40).flat_map(|i| [(i, i - 1, -1.0), (i - 1, i, -1.0)]);
    /// let entries: Vec<_> = (0..40).map(|i| (i, i, 2.0)).chain(beside).collect();
    /// let a = DeviceCsr::new(&device, &Csr::<f64>::from_triplets(40, 40, &entries)?)?;
    /// let eigen = DeviceEigenProblem::new(&device, &a).hermitian(&EigenSolver::new(1).which(Which::LargestReal))?;
    /// assert!((eigen.values[0] - (2.0 - 2.0 * (core::f64::consts::PI * 40.0 / 41.0).cos())).abs() < 1e-12);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn hermitian(&self, solver: &EigenSolver<'_, T>) -> Result<HermitianEigen<T>> {
        self.find(solver, true, SearchAnywhere::hermitian)
    }

    /// Find eigenpairs of any problem, as [`EigenSolver::general`] does.
    ///
    /// # Cost
    /// As [`hermitian`](Self::hermitian), without vectors for B.
    ///
    /// # Errors
    /// Those of [`EigenSolver::general`]; [`Error::Device`](bandsolve::Error::Device).
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_eigen::EigenSolver;
    /// use bandsolve_gpu::{Device, DeviceCsr, DeviceEigenProblem, Emulation};
    /// use bandsolve_sparse::Csr;
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// // The eigenvalues of [[2, −1], [1, 2]] are 2 ± i.
    /// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
    /// let a = DeviceCsr::new(&device, &a)?;
    /// let eigen = DeviceEigenProblem::new(&device, &a).general(&EigenSolver::new(2))?;
    /// assert!(eigen.values.iter().all(|value| (value.re - 2.0).abs() < 1e-12 && (value.im.abs() - 1.0).abs() < 1e-12));
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn general(&self, solver: &EigenSolver<'_, T>) -> Result<GeneralEigen> {
        self.find(solver, false, SearchAnywhere::general)
    }

    fn find<'s, R>(
        &self,
        solver: &EigenSolver<'s, T>,
        hermitian: bool,
        find: impl FnOnce(&SearchAnywhere<'s, T>, &mut dyn Vectors) -> Result<R>,
    ) -> Result<R> {
        let DeviceOperators { a, b, m } = self.operators;
        let n = a.rows();
        b.map_or(Ok(()), |b| check_len("rows of B", n, b.rows()))?;
        m.map_or(Ok(()), |m| check_len("rows of the inverse", n, m.rows()))?;
        let search = SearchAnywhere::new(solver, SearchOperator { mass: b.is_some(), transform: self.transform }, n)?;
        let mut vectors = SystemOnDevice::new(self.device, self.operators, search.work_vectors(hermitian))?;
        if let Some(start) = search.start() {
            vectors.vector_mut(VectorId::Rhs).write(start)?;
        }
        let found = find(&search, &mut vectors);
        vectors.result_of(found)
    }
}
