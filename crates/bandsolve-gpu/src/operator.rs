//! Linear operators on vectors of a device.

use crate::csr::DeviceCsr;
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut};
use bandsolve::Result;

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
pub trait DeviceOperator<T: DeviceScalar>: Send + Sync {
    /// Number of rows and columns.
    fn rows(&self) -> usize;

    /// Compute y = A·x.
    ///
    /// # Errors
    /// [`Error::Shape`](bandsolve::Error::Shape); [`Error::Device`](bandsolve::Error::Device).
    fn apply(&self, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()>;

    /// Compute r = rhs − A·x in about twice the working precision, and return a bound on the error of its elements, as
    /// [`LinearOperator::accurate_residual`](bandsolve::LinearOperator::accurate_residual) does. The default returns `None`, because the entries are not
    /// known.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    fn accurate_residual(
        &self,
        _x: DeviceSlice<'_, T>,
        _rhs: DeviceSlice<'_, T>,
        _r: DeviceSliceMut<'_, T>,
    ) -> Result<Option<f64>> {
        Ok(None)
    }

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

    fn accurate_residual(
        &self,
        x: DeviceSlice<'_, T>,
        rhs: DeviceSlice<'_, T>,
        r: DeviceSliceMut<'_, T>,
    ) -> Result<Option<f64>> {
        self.bounded_residual(x, rhs, r).map(Some)
    }
}
