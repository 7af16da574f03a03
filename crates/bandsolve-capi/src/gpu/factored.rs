//! `bgtf`, `bgtrfs` on a device. The device handle owns the factors. The address of the factorization buffer identifies them; its bytes
//! are never read.

use super::handle::{bandsolve_gpu_device_t, handle};
use super::{CallSettings, DeviceCall, apart};
use crate::factored::{FactorCall, no_factors, other_type};
use crate::memory::RawArray;
use crate::settings::PivotingArgument;
use crate::solve::{Sides, SystemKind, bands, columns, fixed_size};
use crate::status::CallResult;
use bandsolve::Plan;
use bandsolve_gpu::{Device, DeviceMatrix, DeviceScalar, DeviceSolver, DeviceVec};
use core::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// Size of a factorization buffer in bytes. It is above 0, so that each buffer has its own address.
const DEVICE_BUFFER_BYTES: usize = 1;

/// A solver with stored factors, and the call for which they were created.
struct DeviceFactors<T: DeviceScalar> {
    solver: DeviceSolver<T>,
    /// Copy of right-hand sides for solves in place.
    copy: DeviceVec<T>,
    stream: u64,
    /// Maximum number of right-hand sides.
    n_rhs: usize,
    plan: Plan,
    call: FactorCall,
}

impl<T: DeviceScalar> DeviceFactors<T> {
    /// Factor the matrix of a job.
    fn new(job: &DeviceCall, a: DeviceMatrix<'_, T>, n_rhs: usize, call: FactorCall) -> CallResult<Self> {
        let plan = job.system.plan.clone();
        let mut solver = DeviceSolver::new(&job.device, &plan, n_rhs)?;
        solver.store(a)?;
        let copy = job.complete(job.device.zeros(0))?;
        Ok(Self { solver, copy, stream: job.stream, n_rhs, plan, call })
    }
}

/// The matrix of these arrays.
///
/// # Safety
/// The arrays have the given sizes and are on the device, and nobody changes them as long as the result exists.
unsafe fn matrix<'a, T: DeviceScalar>(device: &'a Device, arrays: &[RawArray<T>; 3]) -> DeviceMatrix<'a, T> {
    // SAFETY: the caller's promise.
    let [sub, diag, sup] = arrays.each_ref().map(|array| unsafe { array.read_on(device) });
    DeviceMatrix::block_tridiagonal(sub, diag, sup)
}

/// Get the address of a factorization buffer.
fn address(buffer: *const c_void) -> CallResult<usize> {
    RawArray::<u8>::new("factorization_buffer", buffer.cast(), DEVICE_BUFFER_BYTES)?;
    Ok(buffer.addr())
}

fn open_blocks((n, block): (i64, i64)) -> SystemKind {
    SystemKind::Factors { n, block }
}

/// Write the size of the factorization buffer to `out`.
///
/// # Safety
/// `device` is null or open; `out` is null, or may be written.
pub(crate) unsafe fn storage_size<T: DeviceScalar>(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    sizes: (i64, i64),
    out: *mut usize,
) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        handle(device)?;
        fixed_size::<T>(p, open_blocks(sizes), 1, DEVICE_BUFFER_BYTES, out)
    }
}

/// Factor a block tridiagonal matrix (`bgtf`).
///
/// # Safety
/// `call` as for [`DeviceCall::new`]; pointers that are not null point to arrays of the given sizes, on the device; the matrix is not changed
/// before the factors are destroyed.
pub(crate) unsafe fn factor<T: DeviceScalar>(
    call: CallSettings,
    sizes: (i64, i64),
    matrix: [*const T; 3],
    buffer: *mut c_void,
) -> CallResult {
    // SAFETY: the caller's promise.
    let (handle, buffer, factors) = unsafe {
        let job = DeviceCall::new::<T>(call, open_blocks(sizes), 1)?;
        let (arrays, _) = bands(matrix, job.system.matrix_len)?;
        let a = self::matrix(&job.device, &arrays);
        (job.handle, address(buffer)?, DeviceFactors::new(&job, a, 1, FactorCall::new(call.p, sizes, matrix))?)
    };
    handle.set_factors(buffer, Some(Arc::new(Mutex::new(factors))));
    Ok(())
}

/// Solve or enqueue a solve with the factors (`bgtrfs`). More right-hand sides than before, or another stream, require a new factorization.
///
/// # Safety
/// As [`factor`].
pub(crate) unsafe fn solve_factored<T: DeviceScalar>(
    call: CallSettings,
    sizes: (i64, i64),
    matrix: [*const T; 3],
    sides: Sides<T>,
    buffer: *const c_void,
) -> CallResult {
    // SAFETY: the caller's promise.
    let mut job = unsafe { DeviceCall::new::<T>(call, open_blocks(sizes), sides.n_rhs)? };
    let stored = job.handle.factors(address(buffer)?).ok_or_else(no_factors)?;
    let factors = stored.downcast_ref::<Mutex<DeviceFactors<T>>>().ok_or_else(other_type)?;
    let mut factors = factors.lock().unwrap_or_else(PoisonError::into_inner);
    let call = FactorCall::new(call.p, sizes, matrix);
    factors.call.check(&call)?;
    job.system.plan = factors.plan.clone();
    let (arrays, places) = bands(matrix, job.system.matrix_len)?;
    let sides = columns(&job.system, &places, &sides)?;
    if job.system.rhs_len == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let a = unsafe { self::matrix(&job.device, &arrays) };
    if factors.stream != job.stream || factors.n_rhs < job.system.n_rhs {
        *factors = DeviceFactors::new(&job, a, job.system.n_rhs.max(factors.n_rhs), call)?;
    }
    let most = job.system.rhs_len / job.system.n_rhs * factors.n_rhs;
    let DeviceFactors { solver, copy, .. } = &mut *factors;
    if let Some(status) = job.status()? {
        return status.record(job.system.plan.chosen_method(), |words| {
            // SAFETY: the caller's promise.
            unsafe { apart(&job.device, &sides, (copy, most), |rhs, x| solver.enqueue_solve(a, rhs, x, words)) }
        });
    }
    // SAFETY: the caller's promise.
    let solved = unsafe { apart(&job.device, &sides, (copy, most), |rhs, x| solver.solve(a, rhs, x)) };
    let solved = job.complete(solved);
    job.system.record(solved)
}

/// Free the factors, if there are any (`bgtf_destroy`).
///
/// # Safety
/// `device` is null or open.
pub(crate) unsafe fn destroy(device: bandsolve_gpu_device_t, buffer: *mut c_void) -> CallResult {
    // SAFETY: the caller's promise.
    let handle = unsafe { handle(device)? };
    if buffer.is_null() {
        return Ok(());
    }
    handle.factors(buffer.addr()).ok_or_else(no_factors)?;
    handle.set_factors(buffer.addr(), None);
    Ok(())
}
