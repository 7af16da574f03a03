//! `gtsv_csc2dense` and `gtsv_csc2csc` on a device.

use super::{CallSettings, DeviceCall};
use crate::memory::size;
use crate::solve::SystemKind;
use crate::sparse::{CheckedColumns, SparseColumns, SparseColumnsMut, dense_arrays, pruned_arrays, record};
use crate::status::CallResult;
use bandsolve::Result;
use bandsolve_gpu::{Device, DeviceCsc, DeviceCscMut, DeviceMatrix, DeviceScalar, DeviceSolver};

impl<T: DeviceScalar> CheckedColumns<T> {
    /// Use as right-hand sides on the device.
    ///
    /// # Safety
    /// The arrays are on the device, and nobody writes them for `'a`.
    unsafe fn rhs_on<'a>(&self, device: &'a Device) -> Result<DeviceCsc<'a, T>> {
        // SAFETY: the caller's promise.
        unsafe {
            DeviceCsc::new(self.pointers.read_on(device), self.row_indices.read_on(device), self.values.read_on(device))
        }
    }

    /// Use as results on the device.
    ///
    /// # Safety
    /// The arrays are on the device, and nobody else uses them for `'a`.
    unsafe fn result_on<'a>(&self, device: &'a Device) -> Result<DeviceCscMut<'a, T>> {
        // SAFETY: the caller's promise.
        unsafe {
            let (rows, values) = (self.row_indices.write_on(device), self.values.write_on(device));
            DeviceCscMut::new(self.pointers.read_on(device), rows, values)
        }
    }
}

/// Solve for sparse right-hand sides, with dense solutions (`gtsv_csc2dense`).
///
/// # Safety
/// As [`three`](super::three).
pub(crate) unsafe fn to_dense<T: DeviceScalar>(
    call: CallSettings,
    (n, n_rhs): (i64, i64),
    matrix: [*const T; 3],
    rhs: SparseColumns<T>,
    x: *mut T,
) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        let job = DeviceCall::new::<T>(call, SystemKind::Tridiagonal { n, periodic: false }, n_rhs)?;
        let (matrix, rhs, x) = dense_arrays(&job.system, n_rhs, matrix, rhs, x)?;
        if job.system.rhs_len == 0 {
            return Ok(());
        }
        let [sub, diag, sup] = matrix.each_ref().map(|array| array.read_on(&job.device));
        let (rhs, x) = (rhs.rhs_on(&job.device)?, x.write_on(&job.device));
        let mut solver = job.solver::<T>(job.system.n_rhs)?;
        let solved = solver.solver.solve_sparse(DeviceMatrix::tridiagonal(sub, diag, sup), rhs, x);
        job.handle.keep(solver);
        record(job.complete(solved), &job.system)
    }
}

/// Solve for sparse right-hand sides, and return the largest entries of every solution (`gtsv_csc2csc`).
///
/// # Safety
/// As [`three`](super::three).
pub(crate) unsafe fn to_sparse<T: DeviceScalar>(
    call: CallSettings,
    (n, n_rhs): (i64, i64),
    matrix: [*const T; 3],
    rhs: SparseColumns<T>,
    result: SparseColumnsMut<T>,
) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        // The function never stores the whole X, so the size of X has no limit.
        let job = DeviceCall::new::<T>(call, SystemKind::Tridiagonal { n, periodic: false }, 0)?;
        let (matrix, rhs, result) = pruned_arrays(&job.system, n_rhs, matrix, rhs, result)?;
        let (rows, columns) = (job.system.matrix_len, size("n_rhs", n_rhs)?);
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let [sub, diag, sup] = matrix.each_ref().map(|array| array.read_on(&job.device));
        let (rhs, result) = (rhs.rhs_on(&job.device)?, result.result_on(&job.device)?);
        let mut solver = job.solver::<T>(columns.min(DeviceSolver::<T>::pruned_together(rows)))?;
        let solved = solver.solver.solve_pruned(DeviceMatrix::tridiagonal(sub, diag, sup), rhs, result);
        job.handle.keep(solver);
        record(job.complete(solved), &job.system)
    }
}
