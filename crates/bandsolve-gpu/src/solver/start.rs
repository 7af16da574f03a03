//! Start of a solve.

use super::{DeviceSolver, Pending};
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut, check_len};
use crate::matrix::DeviceMatrix;
use bandsolve::{Report, Result};

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Solve op(A)·x = rhs under the accuracy contract of `bandsolve`.
    ///
    /// The device computes the backward error while it writes x. It repairs rows whose error is above 4ε, and refines solutions
    /// whose error is above 8ε. If the error is still above 8ε, the solver copies the system to the host and solves it with the
    /// sequential pivoted method. The report says so.
    ///
    /// `attention` in the report uses the largest |x| and |rhs| that the device measures. If rows are not scaled
    /// ([`Pivoting`](bandsolve::Pivoting)), only solutions of the host are checked.
    ///
    /// # Shapes
    /// `rhs` and `x`: any number of columns up to [`n_rhs`](Self::n_rhs), with one number for each row of the shape.
    ///
    /// # Errors
    /// [`Error::Shape`](bandsolve::Error::Shape); [`Error::InvalidArgument`](bandsolve::Error::InvalidArgument) if an array is on another device; [`Error::Device`](bandsolve::Error::Device); the errors of the pivoted method,
    /// if it was used.
    pub fn solve<'a>(
        &'a mut self,
        a: DeviceMatrix<'a, T>,
        rhs: impl Into<DeviceSlice<'a, T>>,
        x: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<Report> {
        self.start(a, rhs, x)?.wait()
    }

    /// Start a solve and return when the kernels are on the stream of the device.
    ///
    /// Call [`Pending::wait`] on the result: it verifies the solution and repairs it if necessary.
    ///
    /// # Errors
    /// [`Error::Shape`](bandsolve::Error::Shape), [`Error::Device`](bandsolve::Error::Device).
    pub fn start<'a>(
        &'a mut self,
        a: DeviceMatrix<'a, T>,
        rhs: impl Into<DeviceSlice<'a, T>>,
        x: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<Pending<'a, T>> {
        self.begin(a, rhs.into(), x.into(), true)
    }

    /// Start a solve. With `repairs`, the device lists inaccurate rows for repair.
    pub(super) fn begin<'a>(
        &'a mut self,
        a: DeviceMatrix<'a, T>,
        rhs: DeviceSlice<'a, T>,
        x: DeviceSliceMut<'a, T>,
        repairs: bool,
    ) -> Result<Pending<'a, T>> {
        check_len("x", rhs.len(), x.as_slice().len())?;
        self.prepare(rhs.len(), "rhs")?;
        let pending = Pending::new(self, a, rhs, x)?;
        if !pending.rhs.is_empty() {
            let given = pending.solver.dense(pending.rhs);
            pending.solver.repairs = repairs;
            let enqueued = pending.solver.enqueue(pending.source, given, pending.x.as_slice());
            pending.solver.repairs = true;
            enqueued?;
        }
        Ok(pending)
    }
}
