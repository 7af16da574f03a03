//! Device handles for C, with the solvers and factors that functions keep between calls.

use crate::memory::{RawArray, text};
use crate::status::{CallFailure, CallResult};
use bandsolve::Plan;
use bandsolve_gpu::{Device, DeviceScalar, DeviceSolver, DeviceVec};
use core::any::Any;
use core::ffi::c_char;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open GPU, with the solvers and factors that the library keeps on it.
pub struct bandsolve_gpu_device {
    pub(super) device: Device,
    /// `KeptSolver` of any type, the most recently used at the end. A solve takes one out and returns it.
    solvers: Mutex<Vec<Box<dyn Any + Send>>>,
    /// The factors, by the address of the factorization buffer.
    factors: Mutex<HashMap<usize, SharedFactors>>,
}

/// A device that `bandsolveGpuOpen` opened.
pub type bandsolve_gpu_device_t = *mut bandsolve_gpu_device;

/// Factors of any number type.
pub(super) type SharedFactors = Arc<dyn Any + Send + Sync>;

/// Maximum number of solvers that a device keeps. Calls that alternate between more kinds of systems allocate again.
const MOST_SOLVERS: usize = 8;

/// A solver and the call for which it was created.
pub(super) struct KeptSolver<T: DeviceScalar> {
    pub stream: u64,
    pub plan: Plan,
    pub solver: DeviceSolver<T>,
    /// Copy of right-hand sides for solves in place.
    pub copy: DeviceVec<T>,
}

impl<T: DeviceScalar> KeptSolver<T> {
    /// Whether the solver was created for such a call.
    pub fn fits(&self, stream: u64, plan: &Plan, n_rhs: usize) -> bool {
        self.stream == stream && self.plan == *plan && self.solver.n_rhs() == n_rhs
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl bandsolve_gpu_device {
    /// Take out the solver for this call.
    pub(super) fn take<T: DeviceScalar>(&self, stream: u64, plan: &Plan, n_rhs: usize) -> Option<Box<KeptSolver<T>>> {
        let mut solvers = lock(&self.solvers);
        let fits = |stored: &KeptSolver<T>| stored.fits(stream, plan, n_rhs);
        let place = solvers.iter().rposition(|any| any.downcast_ref().is_some_and(fits))?;
        solvers.remove(place).downcast().ok()
    }

    /// Keep a solver. If there are too many, the least recently used one is freed.
    pub(super) fn keep<T: DeviceScalar>(&self, solver: Box<KeptSolver<T>>) {
        let mut solvers = lock(&self.solvers);
        solvers.push(solver);
        let oldest = (solvers.len() > MOST_SOLVERS).then(|| solvers.remove(0));
        // Release the lock first, so that other threads need not wait.
        drop(solvers);
        drop(oldest);
    }

    /// Get the factors that a buffer identifies.
    pub(super) fn factors(&self, buffer: usize) -> Option<SharedFactors> {
        lock(&self.factors).get(&buffer).cloned()
    }

    /// Make a buffer identify these factors, or no factors.
    pub(super) fn set_factors(&self, buffer: usize, factors: Option<SharedFactors>) {
        let mut all = lock(&self.factors);
        let before = match factors {
            Some(factors) => all.insert(buffer, factors),
            None => all.remove(&buffer),
        };
        drop(all);
        drop(before);
    }
}

/// Get the object of a handle.
///
/// # Safety
/// The handle is null, or open for `'a`.
pub(super) unsafe fn handle<'a>(device: bandsolve_gpu_device_t) -> CallResult<&'a bandsolve_gpu_device> {
    // SAFETY: the caller's promise.
    let handle = unsafe { device.as_ref() };
    handle.ok_or_else(|| CallFailure::argument("device is null; open a device with bandsolveGpuOpen first".into()))
}

/// Open the device with this name.
///
/// # Safety
/// `name` is null, or a string with a zero at the end; `out` is null, or may be written.
pub(crate) unsafe fn open(name: *const c_char, out: *mut bandsolve_gpu_device_t) -> CallResult {
    let out = RawArray::new("device", out, 1)?;
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) }
        .ok_or_else(|| CallFailure::argument("name is null, expected a string such as \"cuda\"".into()))?;
    let device = Device::open(&name.to_string_lossy())?;
    let opened = bandsolve_gpu_device { device, solvers: Mutex::default(), factors: Mutex::default() };
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = Box::into_raw(Box::new(opened)) };
    Ok(())
}

/// Close a device and free everything that is kept on it.
///
/// # Safety
/// `device` is null or open; and nobody uses it any more.
pub(crate) unsafe fn close(device: bandsolve_gpu_device_t) -> CallResult {
    if !device.is_null() {
        // SAFETY: the handle comes from `open`.
        drop(unsafe { Box::from_raw(device) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve::{Pivoting, Shape};

    #[test]
    fn those_used_last_are_kept() {
        let device = Device::open("emulated").unwrap();
        let handle =
            bandsolve_gpu_device { device: device.clone(), solvers: Mutex::default(), factors: Mutex::default() };
        let plan = |n| Plan::new(Shape::Tridiagonal { n, periodic: false });
        let solver = |n| {
            let (solver, copy) = (DeviceSolver::<f64>::new(&device, &plan(n), 1).unwrap(), device.zeros(0).unwrap());
            Box::new(KeptSolver { stream: 7, plan: plan(n), solver, copy })
        };
        (1..=MOST_SOLVERS + 1).for_each(|n| handle.keep(solver(n)));
        assert!(handle.take::<f64>(7, &plan(1), 1).is_none(), "the first had to go");
        let reused = handle.take::<f64>(7, &plan(2), 1).unwrap();
        assert!(handle.take::<f64>(7, &plan(2), 1).is_none(), "taken out");
        handle.keep(reused);
        handle.keep(solver(1));
        assert!(handle.take::<f64>(7, &plan(3), 1).is_none(), "used before the others");
        for (stream, plan, n_rhs) in [(8, plan(2), 1), (7, plan(2), 2), (7, plan(2).pivoting(Pivoting::None), 1)] {
            assert!(handle.take::<f64>(stream, &plan, n_rhs).is_none());
        }
        assert!(handle.take::<f32>(7, &plan(2), 1).is_none());
        assert!(handle.take::<f64>(7, &plan(2), 1).is_some());
    }
}
