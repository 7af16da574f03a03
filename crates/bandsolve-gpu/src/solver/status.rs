//! Solves that the host does not wait for, with a status that the device keeps.

use super::DeviceSolver;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, HeldResource};
use crate::matrix::DeviceMatrix;
use bandsolve::{Error, Result};
use core::fmt::{self, Debug, Formatter};

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
pub struct DeviceStatus {
    device: Device,
    /// The bits of the largest backward error, and a word that is set if a solution needs attention.
    words: DeviceVec<u64>,
    /// The words on the host, which the device writes.
    on_host: HeldResource,
    /// Whether the device writes, or may still write, the words on the host.
    sent: bool,
}

/// Bytes of the status.
const STATUS_BYTES: usize = 2 * size_of::<u64>();

/// The largest backward error, or `None` if a solution needs attention.
fn verdict([error, attention]: [u64; 2]) -> Option<f64> {
    (attention == 0).then(|| f64::from_bits(error))
}

impl Debug for DeviceStatus {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceStatus on {}", self.device.name())
    }
}

impl Drop for DeviceStatus {
    fn drop(&mut self) {
        if self.sent {
            // The device may still write to the host. Errors can no longer be reported.
            _ = self.device.synchronize();
        }
    }
}

impl DeviceStatus {
    /// Allocate a status of no solves.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn new(device: &Device) -> Result<Self> {
        let on_host = device.machine().allocate_on_host(STATUS_BYTES)?;
        Ok(Self { device: device.clone(), words: device.zeros(2)?, on_host, sent: false })
    }

    /// Get the address of the status on the device: the bits of the largest backward error as a 64-bit number, and a 32-bit word that is not 0 if a
    /// solution needs attention.
    pub fn address(&self) -> u64 {
        self.words.slice(..).address()
    }

    /// Wait for the enqueued solves, and get the largest backward error of all of them. `None` if a solution needs attention: the matrix may be singular, or x may
    /// have no correct digit.
    ///
    /// If the measured error is above 4ε, the backward error can exceed 8ε. In this case, and for `None`, solve again with [`DeviceSolver::solve`], which repairs x.
    ///
    /// # Errors
    /// [`Error::Device`], also for kernels that ran before.
    pub fn read(&self) -> Result<Option<f64>> {
        let words = self.words.download()?;
        Ok(verdict([words[0], words[1]]))
    }

    /// Let the device send the status of the solves that are enqueued to the host. The host does not wait: [`arrived`](Self::arrived) returns what has
    /// arrived. The call can be captured in a CUDA graph.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn send(&mut self) -> Result<()> {
        self.sent = true;
        let (machine, stream) = (self.device.machine(), self.device.stream_handle());
        // SAFETY: both have two words, which live until `drop` has waited.
        unsafe { machine.read_later(stream, self.address(), self.on_host.handle, STATUS_BYTES) }
    }

    /// Get what [`read`](Self::read) returns, for the solves whose status has arrived from the device. The host does not wait.
    ///
    /// In a loop, call [`send`](Self::send) after each step, and this function before each step: an error is then seen a few steps late.
    pub fn arrived(&self) -> Option<f64> {
        let words: *const u64 = core::ptr::with_exposed_provenance(self.on_host.handle as usize);
        // SAFETY: both words exist as long as `self`. The device may write them at the same time, so each is read once.
        verdict([0, 1].map(|k| unsafe { words.add(k).read_volatile() }))
    }

    /// Forget all solves. The host does not wait. Until the device has reset the status, [`arrived`](Self::arrived) can return the old one.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn reset(&mut self) -> Result<()> {
        self.words.slice_mut(..).clear()?;
        if self.sent { self.send() } else { Ok(()) }
    }
}

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Enqueue a solve of op(A)·x = rhs, and return without waiting for the device.
    ///
    /// The device measures the backward error, as in [`solve`](Self::solve), and raises `status`. The library does not repair x: if the status says that a solution is not
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
