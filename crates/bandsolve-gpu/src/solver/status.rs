//! Solves that the host does not wait for, with a status that the device keeps.

use super::DeviceSolver;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec};
use crate::matrix::DeviceMatrix;
use bandsolve::{Error, Result};

/// The status of enqueued solves, in the memory of a device: the largest backward error, and whether a solution needs attention.
///
/// Each solve of [`DeviceSolver::enqueue_solve`] raises it. The host can therefore look at it after many steps of a loop.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve::{Plan, Shape};
/// use bandsolve_gpu::{Device, DeviceMatrix, DeviceSolver, DeviceStatus, Emulation};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let (off, diag) = (device.upload(&[-1.0; 100])?, device.upload(&[3.0; 100])?);
/// let (mut u, mut next) = (device.upload(&[1.0; 100])?, device.zeros(100)?);
/// let mut solver = DeviceSolver::new(&device, &Plan::new(Shape::Tridiagonal { n: 100, periodic: false }), 1)?;
/// let mut status = DeviceStatus::new(&device)?;
/// for _ in 0..50 {
///     solver.enqueue_solve(DeviceMatrix::tridiagonal(&off, &diag, &off), &u, &mut next, &mut status)?;
///     std::mem::swap(&mut u, &mut next);
/// }
/// // Only here, the host waits.
/// let error = status.read()?.expect("no solution needs attention");
/// assert!(error <= 8.0 * f64::EPSILON);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceStatus {
    device: Device,
    /// The bits of the largest backward error, and a word that is set if a solution needs attention.
    words: DeviceVec<u64>,
}

impl DeviceStatus {
    /// Allocate a status of no solves.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self { device: device.clone(), words: device.zeros(2)? })
    }

    /// Get the address of the status on the device: the bits of the largest backward error as a 64-bit number, and a 32-bit word that is not 0 if a
    /// solution needs attention.
    pub fn address(&self) -> u64 {
        self.words.slice(..).address()
    }

    /// Wait for the enqueued solves, and get the largest backward error of all of them. `None` if a solution needs attention: the matrix may be singular, or x may
    /// have no correct digit.
    ///
    /// A backward error above 8ε, or `None`, means that the contract is not met: solve again with [`DeviceSolver::solve`], which repairs x.
    ///
    /// # Errors
    /// [`Error::Device`], also for kernels that ran before.
    pub fn read(&self) -> Result<Option<f64>> {
        let words = self.words.download()?;
        Ok((words[1] == 0).then(|| f64::from_bits(words[0])))
    }

    /// Forget all solves. The host does not wait.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn reset(&mut self) -> Result<()> {
        self.words.slice_mut(..).clear()
    }
}

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Enqueue a solve of op(A)·x = rhs, and return without waiting for the device.
    ///
    /// The device measures the backward error, as in [`solve`](Self::solve), and raises `status`. Nobody repairs x: if the status says that a solution is not
    /// accurate, solve again with [`solve`](Self::solve). The call allocates nothing and copies nothing between host and device, so that a step of a loop
    /// can be captured in a CUDA graph, with all arrays, the status and the solver on the same stream.
    ///
    /// # Shapes
    /// As [`solve`](Self::solve).
    ///
    /// # Cost
    /// One kernel launch more than the start of a solve.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::InvalidArgument`] if an array is on another device, or if the plan has no verification; [`Error::Device`].
    pub fn enqueue_solve<'a>(
        &'a mut self,
        a: DeviceMatrix<'a, T>,
        rhs: impl Into<DeviceSlice<'a, T>>,
        x: impl Into<DeviceSliceMut<'a, T>>,
        status: &mut DeviceStatus,
    ) -> Result<()> {
        if !self.plan.options().verify {
            return Err(Error::invalid("plan", "has no verification", "verify(true), which the status needs"));
        }
        let device = self.device.clone();
        device.receive(&[("status", &status.device)])?;
        // When it is dropped, later work on the streams of the arrays waits for the solve.
        let pending = self.begin(a, rhs.into(), x.into(), false)?;
        if pending.rhs.is_empty() {
            return Ok(());
        }
        let solver = &*pending.solver;
        let columns = (solver.columns(), solver.cuts[0].0.columns);
        let words = [0, 8].map(|at| status.address() + at);
        solver.measurements.summarize::<T>(&device, columns, solver.scales_rows(), words)?;
        status.device.wait_for(&device)
    }
}
