//! Krylov methods for systems on a device: the methods of the CPU, with vectors on the device.

use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut, check_len};
use crate::operator::DeviceOperator;
use crate::system::{DeviceOperators, SystemOnDevice};
use bandsolve::vectors::VectorId;
use bandsolve::{Error, Result, Scalar};
use bandsolve_sparse::{IterationReport, KrylovSolver, Preconditioning};

/// Solve A·x = rhs on a device by a Krylov method, starting from the x that you pass.
///
/// The method is the one of the CPU ([`KrylovSolver`]); only its vectors are on the device. It keeps its scalars on the host, which waits for the device
/// at each inner product. In `f32`, `c32` and `c64`, x has the bits of the CPU if the products and residuals of the operators have. In `f64`, inner products are summed in
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
/// If A is a [`DeviceCsr`](crate::DeviceCsr), the last residual has twice the working precision, and the report says that the iteration has converged if its norm
/// and a bound on its error are at most the tolerance. For other operators, an estimate of the rounding error takes the place of the bound: see [`KrylovSolver`].
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
pub fn solve_krylov<'v, T: DeviceScalar>(
    solver: &KrylovSolver<'_>,
    a: &dyn DeviceOperator<T>,
    m: Option<&dyn DeviceOperator<T>>,
    rhs: impl Into<DeviceSlice<'v, T>>,
    x: impl Into<DeviceSliceMut<'v, T>>,
) -> Result<IterationReport> {
    let (n, rhs, mut x) = (a.rows(), rhs.into(), x.into());
    check_len("rhs", n, rhs.len())?;
    check_len("x", n, x.as_slice().len())?;
    if let Some(m) = m {
        check_len("rows of the preconditioner", n, m.rows())?;
    }
    let preconditioner = m.map(|m| if m.changes() { Preconditioning::Changing } else { Preconditioning::Constant });
    let device = rhs.device().clone();
    let operators = DeviceOperators { a, b: None, m };
    let mut system = SystemOnDevice::new(&device, operators, solver.work_vectors(n, preconditioner))?;
    system.vector_mut(VectorId::Rhs).copy_from(rhs)?;
    system.vector_mut(VectorId::Solution).copy_from(x.as_slice())?;
    let report = solver.solve_vectors(&mut system, n, preconditioner);
    let report = system.result_of(report).map_err(|error| located(error, rhs, x.as_slice()))?;
    x.copy_from(system.vector(VectorId::Solution))?;
    device.synchronize()?;
    Ok(report)
}

/// The error with the place of the number that is not finite.
fn located<T: DeviceScalar>(error: Error, rhs: DeviceSlice<'_, T>, x: DeviceSlice<'_, T>) -> Error {
    let Error::NotFinite { array, .. } = error else { return error };
    let elements = if array == "rhs" { rhs } else { x }.download();
    let place = |elements: Vec<T>| elements.iter().position(|v| !Scalar::is_finite(*v));
    elements.map_or_else(|error| error, |elements| Error::NotFinite { array, index: place(elements).unwrap_or(0) })
}
