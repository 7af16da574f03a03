//! The implementation of the C functions for device memory. Arguments are checked as in `solve` and `sparse`. The device keeps the
//! solvers for later calls.

mod factored;
mod handle;
mod sparse;
mod status;

pub(crate) use factored::{destroy, factor, solve_factored, storage_size};
pub use handle::{bandsolve_gpu_device, bandsolve_gpu_device_t};
pub(crate) use handle::{close, open};
pub(crate) use sparse::{to_dense, to_sparse};
pub use status::{bandsolve_gpu_status, bandsolve_gpu_status_t};
pub(crate) use status::{create_status, destroy_status, read_status, reset_status};

use crate::memory::{ArgumentPlace, RawArray};
use crate::report;
use crate::settings::PivotingArgument;
use crate::solve::{CheckedSystem, Sides, SystemKind, bands, columns, fixed_size};
use crate::status::{CallFailure, CallResult};
use bandsolve::Result;
use bandsolve_gpu::{Device, DeviceMatrix, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceSolver, DeviceVec};
use core::ffi::c_void;
use core::slice;
use handle::{KeptSolver, handle};

/// The device, the stream and the pivoting of a call, from C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallSettings {
    pub device: bandsolve_gpu_device_t,
    /// A `cudaStream_t`.
    pub stream: *mut c_void,
    pub p: PivotingArgument,
    /// The status of a call that only enqueues; `None` for a call that waits.
    status: Option<bandsolve_gpu_status_t>,
}

impl CallSettings {
    pub fn waiting(device: bandsolve_gpu_device_t, stream: *mut c_void, p: PivotingArgument) -> Self {
        Self { device, stream, p, status: None }
    }

    pub fn enqueuing(
        device: bandsolve_gpu_device_t,
        stream: *mut c_void,
        p: PivotingArgument,
        status: bandsolve_gpu_status_t,
    ) -> Self {
        Self { device, stream, p, status: Some(status) }
    }
}

/// A call with checked sizes, on its device and stream.
struct DeviceCall<'a> {
    handle: &'a bandsolve_gpu_device,
    device: Device,
    stream: u64,
    system: CheckedSystem,
    /// The status of a call that only enqueues.
    status: Option<&'a bandsolve_gpu_status>,
}

impl DeviceCall<'_> {
    /// Start a call.
    ///
    /// # Safety
    /// `call` has null or an open device, a stream of it, and null or a status, which nobody closes or destroys during the call.
    unsafe fn new<T: DeviceScalar>(call: CallSettings, kind: SystemKind, n_rhs: i64) -> CallResult<Self> {
        report::clear();
        // SAFETY: the caller's promise.
        let handle = unsafe { handle(call.device)? };
        // SAFETY: the caller's promise.
        let status = call.status.map(|status| unsafe { status::checked::<T>(status) }).transpose()?;
        let stream = call.stream.expose_provenance() as u64;
        // SAFETY: the stream belongs to this device. Objects that outlive the call only free memory, which needs no stream, unless a later
        // call passes this stream again.
        let device = unsafe { handle.device.with_stream(stream) };
        let mut system = CheckedSystem::new::<T>(call.p, kind, n_rhs)?;
        system.plan = device.plan(&system.plan)?;
        Ok(Self { handle, device, stream, system, status })
    }

    /// Get the status of a call that only enqueues.
    fn status(&self) -> CallResult<Option<&bandsolve_gpu_status>> {
        if self.status.is_some() && !self.system.plan.options().verify {
            return Err(CallFailure::argument(
                "verification is off, but a status needs the measured backward error; call bandsolveSetVerify(1)"
                    .into(),
            ));
        }
        Ok(self.status)
    }

    /// Get a solver for `n_rhs` right-hand sides, from an earlier call if it exists.
    fn solver<T: DeviceScalar>(&self, n_rhs: usize) -> CallResult<Box<KeptSolver<T>>> {
        if let Some(stored) = self.handle.take(self.stream, &self.system.plan, n_rhs) {
            return Ok(stored);
        }
        self.new_solver(n_rhs)
    }

    fn new_solver<T: DeviceScalar>(&self, n_rhs: usize) -> CallResult<Box<KeptSolver<T>>> {
        let solver = DeviceSolver::new(&self.device, &self.system.plan, n_rhs)?;
        let (plan, copy) = (self.system.plan.clone(), self.device.zeros(0)?);
        Ok(Box::new(KeptSolver { stream: self.stream, plan, solver, copy }))
    }

    /// The result of a call, once all its work on the stream is done: what a function returns is complete.
    fn complete<V>(&self, result: Result<V>) -> Result<V> {
        let waited = self.device.synchronize();
        result.and_then(|value| waited.map(|()| value))
    }

    /// Solve for dense right-hand sides with a matrix in the address ranges `places`.
    ///
    /// # Safety
    /// Pointers that are not null point to arrays of the given sizes, on the device. Written arrays belong to this call alone.
    unsafe fn solve<T: DeviceScalar>(
        &self,
        a: DeviceMatrix<'_, T>,
        places: &[ArgumentPlace],
        sides: Sides<T>,
    ) -> CallResult {
        let sides = columns(&self.system, places, &sides)?;
        if self.system.rhs_len == 0 {
            return Ok(());
        }
        let n = self.system.rhs_len;
        if let Some(status) = self.status()? {
            let kind = (self.stream, &self.system.plan, self.system.n_rhs);
            return status.enqueue(
                kind,
                || self.new_solver(kind.2),
                |KeptSolver { solver, copy, .. }, words| {
                    // SAFETY: the caller's promise.
                    unsafe { apart(&self.device, &sides, (copy, n), |rhs, x| solver.enqueue_solve(a, rhs, x, words)) }
                },
            );
        }
        let mut stored = self.solver::<T>(self.system.n_rhs)?;
        let KeptSolver { solver, copy, .. } = &mut *stored;
        // SAFETY: the caller's promise.
        let solved = unsafe { apart(&self.device, &sides, (copy, n), |rhs, x| solver.solve(a, rhs, x)) };
        self.handle.keep(stored);
        self.system.record(self.complete(solved))
    }
}

/// Run `solve`, which needs right-hand sides and x in different arrays. If they are the same array, the right-hand sides are first copied
/// to `copy`, because verification needs them. A copy has room for `most` numbers from the first call on.
///
/// # Safety
/// As [`DeviceCall::solve`].
unsafe fn apart<T: DeviceScalar, R>(
    device: &Device,
    [rhs, x]: &[RawArray<T>; 2],
    (copy, most): (&mut DeviceVec<T>, usize),
    solve: impl FnOnce(DeviceSlice<'_, T>, DeviceSliceMut<'_, T>) -> Result<R>,
) -> Result<R> {
    // SAFETY: the caller's promise; if both are the same array, `given` is not used after x is written.
    let (given, x_on) = unsafe { (rhs.read_on(device), x.write_on(device)) };
    if !x.begins_with(rhs) {
        return solve(given, x_on);
    }
    let len = given.len();
    if copy.len() < len {
        *copy = device.zeros(most)?;
    }
    copy.slice_mut(..len).copy_from(given)?;
    solve(copy.slice(..len), x_on)
}

/// Write the size of a buffer to `out`. The size is 0.
///
/// # Safety
/// `device` is null or open; `out` is null, or may be written.
pub(crate) unsafe fn no_buffer<T: DeviceScalar>(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    kind: SystemKind,
    n_rhs: i64,
    out: *mut usize,
) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        handle(device)?;
        fixed_size::<T>(p, kind, n_rhs, 0, out)
    }
}

/// Solve or enqueue a tridiagonal or block tridiagonal system or a batch (`gtsv`, `cgtsv`, `bgtsv`, `cbgtsv`, `gtsv_batch`).
///
/// # Safety
/// `call` as for [`DeviceCall::new`]; pointers that are not null point to arrays of the given sizes, on the device. Written arrays belong
/// to this call alone.
pub(crate) unsafe fn three<T: DeviceScalar>(
    call: CallSettings,
    kind: SystemKind,
    matrix: [*const T; 3],
    sides: Sides<T>,
) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        let job = DeviceCall::new::<T>(call, kind, sides.n_rhs)?;
        let (arrays, places) = bands(matrix, job.system.matrix_len)?;
        let [sub, diag, sup] = arrays.each_ref().map(|array| array.read_on(&job.device));
        job.solve(DeviceMatrix::tridiagonal(sub, diag, sup), &places, sides)
    }
}

/// Solve or enqueue a banded system (`gbsv`).
///
/// # Safety
/// As [`three`].
pub(crate) unsafe fn banded<T: DeviceScalar>(
    call: CallSettings,
    kind: SystemKind,
    bands: *const T,
    sides: Sides<T>,
) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        let job = DeviceCall::new::<T>(call, kind, sides.n_rhs)?;
        let array = RawArray::new("bands", bands, job.system.matrix_len)?;
        job.solve(DeviceMatrix::diagonals(array.read_on(&job.device)), slice::from_ref(&array.place()), sides)
    }
}
