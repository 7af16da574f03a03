//! Tridiagonal solves inside programs of XLA, for `bandsolve.jax`. XLA calls the solver without Python.

use crate::arrays::{Number, with_number};
use crate::batch::{BatchCall, Places, solved_as_columns, zeros};
use crate::errors::exception;
use crate::interrupt::interruptible_by_signals;
use crate::memory::room;
use crate::options::CallOptions;
use crate::solve::once;
use crate::xla_interface::{Call, CallFrame, Handler, XlaArray, XlaError, answer, unexpected};
use bandsolve::{Error, Factorize, Op, Plan, Shape, Tridiagonal, TridiagonalBatch};
use core::ffi::c_void;
use core::ptr::NonNull;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::borrow::Cow;

/// Return the function that XLA calls for tridiagonal systems, for `jax.ffi.register_ffi_target`.
///
/// Its arguments are those of `bandsolve._differentiable.solve_tridiagonal`: sub, diag and sup with n entries along the last axis, and rhs, whose
/// shape is (..., n) or (..., n, k). Axes in front broadcast. The attributes `periodic` and `transpose` are true or false.
#[pyfunction]
pub fn xla_solve_tridiagonal(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    let handler: Handler = solve_tridiagonal;
    let handler = NonNull::new(handler as *mut c_void).expect("a function has an address");
    // SAFETY: Python does not unload modules, so the address of the function stays valid.
    unsafe { PyCapsule::new_with_pointer(py, handler, c"xla._CUSTOM_CALL_TARGET") }
}

/// # Safety
/// The frame comes from XLA.
unsafe extern "C" fn solve_tridiagonal(frame: *mut CallFrame) -> *mut XlaError {
    let compute = |mut call: Call<'_>| {
        call.check_stage()?;
        with_number!(call.kind()?, solve(&mut call))
    };
    // SAFETY: as the caller says.
    unsafe { answer(frame, compute) }
}

fn solve<T: Number>(call: &mut Call<'_>) -> PyResult<()>
where
    for<'a> Tridiagonal<'a, T>: Factorize<Scalar = T>,
    for<'a> TridiagonalBatch<'a, T>: Factorize<Scalar = T>,
{
    let (periodic, transpose) = (call.flag("periodic")?, call.flag("transpose")?);
    let [sub, diag, sup, rhs] = [call.argument(0)?, call.argument(1)?, call.argument(2)?, call.argument::<T>(3)?];
    let x = call.result::<T>()?;
    let systems = XlaSystems::new(&diag.dims, &x.dims)?;
    let Places { n, after, .. } = systems.places;
    let count = systems.places.count();
    let alone = [&sub, &diag, &sup].iter().all(|array| array.numbers.len() == n);
    let matrix = match alone {
        true => [sub, diag, sup].map(|array| Cow::Borrowed(array.numbers)),
        false => [systems.all(&sub, after)?, systems.all(&diag, after)?, systems.all(&sup, after)?],
    };
    let rhs = systems.all(&rhs, 1)?;
    // A batch with one matrix is solved in the order of the right-hand sides. Otherwise, the systems follow each other.
    let batch = alone && !solved_as_columns(count);
    let call = BatchCall {
        places: if batch { systems.places } else { Places { before: count, n, after: 1 } },
        options: CallOptions::DEFAULT,
        device: None,
        alone,
        periodic,
        op: if transpose { Op::Transpose } else { Op::Plain },
    };
    systems.solve(&call, matrix.each_ref().map(|array| &array[..]), &rhs, x.numbers)
}

/// Where the systems are in the arrays of a call.
struct XlaSystems<'a> {
    /// The lengths of the axes in front.
    batch: &'a [usize],
    /// The lengths of all axes of x, without a last axis for one column.
    dims: &'a [usize],
    places: Places,
}

impl<'a> XlaSystems<'a> {
    fn new(diag: &[usize], x: &'a [usize]) -> PyResult<Self> {
        let front = diag.len().saturating_sub(1);
        let (n, after) = match x.get(front..) {
            Some(&[n]) => (n, 1),
            Some(&[n, columns]) => (n, columns),
            _ => return Err(other_shapes()),
        };
        let batch = &x[..front];
        let dims = if after == 1 { &x[..=front] } else { x };
        Ok(Self { batch, dims, places: Places { before: batch.iter().product(), n, after } })
    }

    /// The entries of an array for all systems, those of each system `repeats` times: those of the array itself where it has as many.
    fn all<'b, T: Number>(&self, array: &XlaArray<'b, T>, repeats: usize) -> PyResult<Cow<'b, [T]>> {
        let front = array.dims.get(..self.batch.len()).ok_or_else(other_shapes)?;
        let one: usize = array.dims[front.len()..].iter().product();
        let fits = front.iter().zip(self.batch).all(|(own, length)| own == length || *own == 1);
        if !fits || one * repeats != self.places.n * self.places.after {
            return Err(other_shapes());
        }
        if front == self.batch && repeats == 1 {
            return Ok(Cow::Borrowed(array.numbers));
        }
        let mut all = room(self.places.len()).map_err(|error| Python::attach(|py| exception(py, &error)))?;
        for system in 0..self.places.before {
            let (mut rest, mut at, mut stride) = (system, 0, one);
            for (own, length) in front.iter().zip(self.batch).rev() {
                at += if *own == 1 { 0 } else { rest % length * stride };
                (rest, stride) = (rest / length, stride * own);
            }
            let entries = &array.numbers[at..at + one];
            (0..repeats).for_each(|_| all.extend_from_slice(entries));
        }
        Ok(Cow::Owned(all))
    }

    fn solve<T: Number>(&self, call: &BatchCall<'_>, matrix: [&[T]; 3], rhs: &[T], x: &mut [T]) -> PyResult<()>
    where
        for<'b> Tridiagonal<'b, T>: Factorize<Scalar = T>,
        for<'b> TridiagonalBatch<'b, T>: Factorize<Scalar = T>,
    {
        let plan = Plan::once(Shape::Tridiagonal { n: self.places.n, periodic: call.periodic });
        let plan = call.options.plan(plan)?;
        let plans = (!self.solved_as_columns(call)).then(|| call.plans::<T>()).transpose()?;
        let solve = |rhs: &[T], x: &mut [T]| match &plans {
            None => solve_columns(call, &plan, matrix, rhs, x),
            Some(plans) => call.solve(matrix, plans, rhs, x).map(|_| ()),
        };
        let solved = interruptible_by_signals(|| {
            if call.places.after == self.places.after {
                return solve(rhs, x);
            }
            let (mut ordered, mut solved) = (zeros(rhs.len())?, zeros(rhs.len())?);
            self.places.copy_to_columns(rhs, &mut ordered);
            solve(&ordered, &mut solved)?;
            self.places.copy_from_columns(&solved, x);
            Ok(())
        });
        solved?.map_err(|error| Python::attach(|py| self.exception(py, call, error, rhs)))
    }

    fn solved_as_columns(&self, call: &BatchCall<'_>) -> bool {
        call.alone && solved_as_columns(self.places.count())
    }

    /// The exception for an error: that of the functions of the package with NumPy arrays.
    fn exception<T: Number>(&self, py: Python<'_>, call: &BatchCall<'_>, error: Error, rhs: &[T]) -> PyErr {
        let indices = |mut entry: usize| {
            let mut indices: Vec<String> = Vec::new();
            for length in self.dims.iter().rev() {
                indices.insert(0, (entry % length).to_string());
                entry /= length;
            }
            indices.join(", ")
        };
        let bad = rhs.iter().position(|entry| !entry.is_finite());
        match (error.cause(), bad) {
            (Error::NotFinite { array: "rhs", .. }, Some(entry)) => {
                PyValueError::new_err(format!("rhs[{}] is not finite", indices(entry)))
            }
            _ if self.solved_as_columns(call) => exception(py, &error),
            _ => call.exception(py, error, |number, of_entry| {
                Ok(match of_entry {
                    true if call.places.after == self.places.after => indices(number),
                    true => indices(self.places.place(number / self.places.n, number % self.places.n)),
                    false => number.to_string(),
                })
            }),
        }
    }
}

/// Solve systems with the same matrix as right-hand sides of one system.
fn solve_columns<T: Number>(
    call: &BatchCall<'_>,
    plan: &Plan,
    [sub, diag, sup]: [&[T]; 3],
    rhs: &[T],
    x: &mut [T],
) -> bandsolve::Result<()>
where
    for<'a> Tridiagonal<'a, T>: Factorize<Scalar = T>,
{
    let make = if call.periodic { Tridiagonal::periodic } else { Tridiagonal::new };
    let a = make(sub, diag, sup)?;
    once(&a, (plan, None), call.op, rhs, x).map(|_| ())
}

fn other_shapes() -> PyErr {
    unexpected("arrays whose shapes do not fit together")
}
