//! Statuses of enqueued solves for C, with the solvers whose memory these solves use.

use super::handle::{KeptSolver, bandsolve_gpu_device_t, handle};
use crate::memory::RawArray;
use crate::report;
use crate::status::bandsolve_status_t::BANDSOLVE_NOT_CONVERGED;
use crate::status::{CallFailure, CallResult};
use bandsolve::{Method, Plan, Result, accepted_at_once};
use bandsolve_gpu::{Device, DeviceScalar, DeviceStatus};
use core::any::Any;
use core::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The status of enqueued solves of one number type: the largest backward error, and whether a solution needs attention.
pub struct bandsolve_gpu_status {
    state: Mutex<EnqueuedSolves>,
    number_type: &'static str,
    /// The largest backward error that meets the accuracy contract without repair.
    accepted: f64,
}

/// A status that `bandsolveGpuDstatus_create` or the function of another number type created.
pub type bandsolve_gpu_status_t = *mut bandsolve_gpu_status;

struct EnqueuedSolves {
    words: DeviceStatus,
    /// `KeptSolver` of the number type. All are kept, because a captured graph uses their memory.
    solvers: Vec<Box<dyn Any + Send>>,
    /// The method of the last solve.
    method: Option<Method>,
}

const ATTENTION: &str = "the matrix of an enqueued solve may be singular, or its x may have no correct digit";

impl bandsolve_gpu_status {
    fn new<T: DeviceScalar>(device: &Device) -> Result<Self> {
        let state = EnqueuedSolves { words: DeviceStatus::new(device)?, solvers: Vec::new(), method: None };
        Ok(Self { state: Mutex::new(state), number_type: T::NAME, accepted: accepted_at_once::<T>() })
    }

    fn lock(&self) -> MutexGuard<'_, EnqueuedSolves> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueue a solve with the solver of an earlier call on the same stream, with the same plan and number of right-hand sides, or with a new
    /// solver.
    pub(super) fn enqueue<T: DeviceScalar>(
        &self,
        (stream, plan, n_rhs): (u64, &Plan, usize),
        create: impl FnOnce() -> CallResult<Box<KeptSolver<T>>>,
        enqueue: impl FnOnce(&mut KeptSolver<T>, &mut DeviceStatus) -> Result<()>,
    ) -> CallResult {
        let mut state = self.lock();
        let EnqueuedSolves { words, solvers, method } = &mut *state;
        let fits = |stored: &KeptSolver<T>| stored.fits(stream, plan, n_rhs);
        let earlier = solvers.iter_mut().filter_map(|any| any.downcast_mut()).find(|stored| fits(stored));
        match earlier {
            Some(solver) => enqueue(solver, words)?,
            None => {
                let mut solver = create()?;
                enqueue(&mut solver, words)?;
                solvers.push(solver);
            }
        }
        *method = Some(plan.chosen_method());
        Ok(())
    }

    /// Enqueue a solve by `used`, with memory that belongs to others.
    pub(super) fn record(&self, used: Method, enqueue: impl FnOnce(&mut DeviceStatus) -> Result<()>) -> CallResult {
        let mut state = self.lock();
        enqueue(&mut state.words)?;
        state.method = Some(used);
        Ok(())
    }

    /// Wait for the enqueued solves and judge them.
    fn read(&self) -> CallResult {
        let state = self.lock();
        let error = state.words.read()?;
        let Some(method) = state.method else { return Ok(()) };
        let attention = if error.is_none() { ATTENTION } else { "" };
        report::keep_several(error.unwrap_or(f64::NAN), attention, method.name());
        let problem = match error {
            Some(error) if error <= self.accepted => return Ok(()),
            Some(error) => {
                format!("an enqueued solve has a backward error of {error:.1e}, expected at most {:.1e}", self.accepted)
            }
            None => ATTENTION.into(),
        };
        let message = format!("{problem}; solve again with a function that waits, which repairs x");
        Err(CallFailure { status: BANDSOLVE_NOT_CONVERGED, message })
    }
}

/// Get the object of a handle.
///
/// # Safety
/// The handle is null, or not destroyed for `'a`.
unsafe fn status<'a>(status: bandsolve_gpu_status_t) -> CallResult<&'a bandsolve_gpu_status> {
    // SAFETY: the caller's promise.
    unsafe { status.as_ref() }.ok_or_else(|| {
        CallFailure::argument("status is null; create a status with bandsolveGpu<t>status_create first".into())
    })
}

/// Get the object of a handle for solves in the number type `T`.
///
/// # Safety
/// The handle is null, or not destroyed for `'a`.
pub(super) unsafe fn checked<'a, T: DeviceScalar>(
    handle: bandsolve_gpu_status_t,
) -> CallResult<&'a bandsolve_gpu_status> {
    // SAFETY: the caller's promise.
    let status = unsafe { status(handle)? };
    if status.number_type == T::NAME {
        return Ok(status);
    }
    Err(CallFailure::argument(
        "status has another number type than the function; use the function of the type that created it".into(),
    ))
}

/// Create a status (`status_create`).
///
/// # Safety
/// `device` is null or open, and `stream` belongs to it; `out` is null, or may be written.
pub(crate) unsafe fn create_status<T: DeviceScalar>(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    out: *mut bandsolve_gpu_status_t,
) -> CallResult {
    // SAFETY: the caller's promise.
    let handle = unsafe { handle(device)? };
    let out = RawArray::new("status", out, 1)?;
    // SAFETY: the stream belongs to this device. Without a later call, the object only frees memory, which needs no stream.
    let device = unsafe { handle.device.with_stream(stream.expose_provenance() as u64) };
    let created = bandsolve_gpu_status::new::<T>(&device)?;
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = Box::into_raw(Box::new(created)) };
    Ok(())
}

/// Wait for the enqueued solves, and store their report.
///
/// # Safety
/// `handle` is null, or a status that is not destroyed.
pub(crate) unsafe fn read_status(handle: bandsolve_gpu_status_t) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    unsafe { status(handle)? }.read()
}

/// Forget all solves, without waiting.
///
/// # Safety
/// As [`read_status`].
pub(crate) unsafe fn reset_status(handle: bandsolve_gpu_status_t) -> CallResult {
    // SAFETY: the caller's promise.
    let mut state = unsafe { status(handle)? }.lock();
    state.words.reset()?;
    state.method = None;
    Ok(())
}

/// Free a status and its solvers.
///
/// # Safety
/// `handle` is null, or a status that nobody uses any more.
pub(crate) unsafe fn destroy_status(handle: bandsolve_gpu_status_t) -> CallResult {
    if !handle.is_null() {
        // SAFETY: the handle comes from `create_status`.
        drop(unsafe { Box::from_raw(handle) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve::Shape;
    use bandsolve_gpu::DeviceSolver;

    /// A captured graph may use any of the solvers, however many there are.
    #[test]
    fn all_solvers_are_kept() {
        let device = Device::open("emulated").unwrap();
        let status = bandsolve_gpu_status::new::<f64>(&device).unwrap();
        let mut created = 0;
        for n in (1..=20).chain(1..=20) {
            let plan = Plan::new(Shape::Tridiagonal { n, periodic: false });
            let create = || {
                created += 1;
                let solver = DeviceSolver::<f64>::new(&device, &plan, 1)?;
                Ok(Box::new(KeptSolver { stream: 7, plan: plan.clone(), solver, copy: device.zeros(0)? }))
            };
            let mut rows = 0;
            let enqueue = |stored: &mut KeptSolver<f64>, _: &mut DeviceStatus| {
                rows = stored.plan.shape().rows();
                Ok(())
            };
            status.enqueue((7, &plan, 1), create, enqueue).unwrap();
            assert_eq!(rows, n);
        }
        assert_eq!((created, status.lock().solvers.len()), (20, 20));
    }
}
