//! A matrix of any number type in the memory of a GPU, with its solvers.

use super::given::GivenArray;
use super::solvers::MatrixSolvers;
use crate::arrays::{DtypeKind, Number};
use crate::device::Device;
use bandsolve::{Op, Plan, Report, Shape, accepted_at_once};
use bandsolve_gpu::{DeviceMatrix, DeviceSlice, DeviceSliceMut, DeviceStatus, DeviceVec};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An array of the matrix.
enum MatrixPart<T> {
    /// That of the caller.
    Given(GivenArray),
    /// A copy with an entry, or a block, for each row.
    Padded(DeviceVec<T>),
}

/// The memory of the solves, and what the deferred ones measured.
struct SolverState<T: Number> {
    solvers: MatrixSolvers<T>,
    status: DeviceStatus,
    /// Whether deferred solves were enqueued after the last check.
    unchecked: bool,
    /// Whether work that reads the matrix may still be on the stream.
    pending: bool,
    /// Copy of right-hand sides for solves in place.
    copy: DeviceVec<T>,
}

/// A matrix on a GPU, with a solver.
struct HeldOnGpu<T: Number> {
    /// The device, with the stream of the solves.
    device: Device,
    plan: Plan,
    parts: Vec<MatrixPart<T>>,
    state: Mutex<SolverState<T>>,
}

/// The arrays of a solve.
pub struct SolveOnGpu<'a> {
    pub rhs: &'a GivenArray,
    /// The address of x, and the device with the stream of x.
    pub x: (u64, &'a Device),
    pub op: Op,
    pub deferred: bool,
    /// A stream whose work comes before the solve, and whose later work comes after it.
    pub stream: Option<&'a Device>,
}

/// How the arrays of a matrix are used.
pub struct HeldOptions {
    /// Numbers of each array of the solver.
    pub full: usize,
    /// Whether factors are stored where the GPU stores them.
    pub stores_factors: bool,
}

/// The device with the stream of an array.
pub fn device_of(device: &Device, array: &GivenArray) -> Device {
    match array.stream {
        // SAFETY: the array names a stream of its device, for this call.
        Some(stream) => unsafe { device.with_stream(stream) },
        None => device.clone(),
    }
}

impl<T: Number> HeldOnGpu<T> {
    fn new((device, plan): (&Device, &Plan), arrays: Vec<GivenArray>, options: HeldOptions) -> bandsolve::Result<Self> {
        let (parts, full) = (arrays.into_iter().enumerate(), options.full);
        let parts: Vec<_> =
            parts.map(|(k, array)| MatrixPart::new(device, array, full, k == 0)).collect::<Result<_, _>>()?;
        let plan = device.plan(plan)?;
        let a = matrix(device, &parts, plan.shape());
        let state = SolverState {
            status: DeviceStatus::new(device)?,
            unchecked: false,
            pending: options.stores_factors,
            copy: device.zeros(0)?,
            solvers: MatrixSolvers::new(device, &plan, a, options.stores_factors)?,
        };
        Ok(Self { device: device.clone(), plan, parts, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, SolverState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The matrix of these arrays.
fn matrix<'a, T: Number>(device: &'a Device, parts: &'a [MatrixPart<T>], shape: Shape) -> DeviceMatrix<'a, T> {
    let slices: Vec<_> = parts.iter().map(|part| part.slice(device)).collect();
    match (&slices[..], shape) {
        ([sub, diag, sup], _) => DeviceMatrix::tridiagonal(*sub, *diag, *sup),
        ([bands], Shape::Banded { lower, upper, .. }) => DeviceMatrix::banded(*bands, lower + upper + 1),
        _ => unreachable!("a matrix has three arrays, or one in band storage"),
    }
}

impl<T: Number> Drop for HeldOnGpu<T> {
    fn drop(&mut self) {
        // The arrays of the matrix are released next, so nothing may read them any more. Errors can no longer be reported.
        if self.state().pending {
            _ = self.device.synchronize();
        }
    }
}

impl<T: Number> MatrixPart<T> {
    /// An array of the matrix. `is_first`: missing entries are in front.
    fn new(device: &Device, array: GivenArray, full: usize, is_first: bool) -> bandsolve::Result<Self> {
        let theirs = device_of(device, &array);
        if array.len() == full {
            device.wait_for(&theirs)?;
            return Ok(Self::Given(array));
        }
        let mut copy = device.zeros(full)?;
        let first = if is_first { full - array.len() } else { 0 };
        // SAFETY: the array has this length and is on this device, and the caller does not write it during the call.
        let given = unsafe { DeviceSlice::from_raw(&theirs, array.address, array.len()) };
        copy.slice_mut(first..first + array.len()).copy_from(given)?;
        // The caller may free the array after the call.
        device.synchronize()?;
        Ok(Self::Padded(copy))
    }

    fn slice<'a>(&'a self, device: &'a Device) -> DeviceSlice<'a, T> {
        match self {
            // SAFETY: the array has this length and is on this device. The documentation tells the caller when it may be written.
            Self::Given(array) => unsafe { DeviceSlice::from_raw(device, array.address, array.len()) },
            Self::Padded(copy) => copy.slice(..),
        }
    }
}

/// A matrix of any number type on a GPU.
pub trait DynOnGpu: Send + Sync {
    fn kind(&self) -> DtypeKind;
    fn plan(&self) -> &Plan;
    fn device(&self) -> &Device;
    /// Solve, or enqueue a solve, which has no report.
    fn solve(&self, task: &SolveOnGpu<'_>) -> bandsolve::Result<Option<Report>>;
    /// The largest backward error since the last check, the limit, and whether any deferred solve was enqueued.
    fn check(&self) -> bandsolve::Result<(Option<f64>, f64, bool)>;
    /// Whether the status of an earlier solve, which has arrived from the GPU, is bad. The host does not wait.
    fn failed_before(&self) -> bool;
    /// The given arrays of the matrix.
    fn given(&self) -> Vec<&GivenArray>;
}

impl<T: Number> DynOnGpu for HeldOnGpu<T> {
    fn kind(&self) -> DtypeKind {
        DtypeKind { complex: T::COMPLEX, double: size_of::<T::Real>() == 8 }
    }
    fn plan(&self) -> &Plan {
        &self.plan
    }
    fn device(&self) -> &Device {
        &self.device
    }

    fn solve(&self, task: &SolveOnGpu<'_>) -> bandsolve::Result<Option<Report>> {
        let (len, mut state) = (task.rhs.len(), self.state());
        let n_rhs = self.plan.shape().n_rhs("rhs", len)?;
        let SolverState { solvers, status, unchecked, pending, copy } = &mut *state;
        *pending = true;
        let solver = solvers.solver(matrix(&self.device, &self.parts, self.plan.shape()), task.op, n_rhs)?;
        if let Some(stream) = task.stream {
            self.device.wait_for(stream)?;
        }
        let (theirs, (x, device_of_x)) = (device_of(&self.device, task.rhs), task.x);
        // SAFETY: the arrays have this length and are on this device. Nobody else uses x during the solve, and `given` is not used after x is
        // written if both are the same array.
        let (given, x) = unsafe {
            (DeviceSlice::<T>::from_raw(&theirs, task.rhs.address, len), DeviceSliceMut::from_raw(device_of_x, x, len))
        };
        let rhs = if given.address() == x.as_slice().address() && len > 0 {
            if copy.len() < len {
                *copy = self.device.zeros(len)?;
            }
            copy.slice_mut(..len).copy_from(given)?;
            copy.slice(..len)
        } else {
            given
        };
        let a = matrix(&self.device, &self.parts, self.plan.shape()).op(task.op);
        if task.deferred {
            *unchecked = true;
            solver.enqueue_solve(a, rhs, x, status)?;
            status.send()?;
            return task.stream.map_or(Ok(()), |stream| stream.wait_for(&self.device)).map(|()| None);
        }
        let solved = solver.solve(a, rhs, x);
        // What the function returns is complete, also if it is an error.
        let waited = self.device.synchronize();
        *pending = false;
        solved.and_then(|report| waited.map(|()| Some(report)))
    }

    fn check(&self) -> bandsolve::Result<(Option<f64>, f64, bool)> {
        let mut state = self.state();
        let error = state.status.read()?;
        state.status.reset()?;
        // Afterwards, no old status arrives any more.
        self.device.synchronize()?;
        state.pending = false;
        let any = core::mem::take(&mut state.unchecked);
        Ok((error, accepted_at_once::<T>(), any))
    }

    fn failed_before(&self) -> bool {
        self.state().status.arrived().is_none_or(|error| !(error <= accepted_at_once::<T>()))
    }

    fn given(&self) -> Vec<&GivenArray> {
        let mut arrays = Vec::new();
        for part in &self.parts {
            if let MatrixPart::Given(array) = part {
                arrays.push(array);
            }
        }
        arrays
    }
}

/// Prepare a matrix.
pub fn build<T: Number>(
    (device, plan): (&Device, &Plan),
    arrays: Vec<GivenArray>,
    options: HeldOptions,
) -> bandsolve::Result<Box<dyn DynOnGpu>> {
    Ok(Box::new(HeldOnGpu::<T>::new((device, plan), arrays, options)?))
}
