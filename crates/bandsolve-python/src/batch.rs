//! Many systems at a time.

use crate::arrays::{Number, check_rhs, filled, rows, slice, with_number};
use crate::errors::{exception, lin_alg_error};
use crate::interrupt::detached;
use crate::options::CallOptions;
use crate::solve::{answer, arguments, once};
use bandsolve::{Error, Factorize, Layout, Op, Plan, Shape, TridiagonalBatch};
use bandsolve_gpu::Device;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Solves systems whose arrays have two dimensions, systems and rows; or rows and systems, if they are interleaved.
#[pyfunction]
#[pyo3(signature = (interleaved, sub, diag, sup, rhs, *, method="auto", pivoting="scaled-partial", verify=true, threads=None,
    device="cpu", full_output=false))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_batch<'py>(
    interleaved: bool,
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    method: &str,
    pivoting: &str,
    verify: bool,
    threads: Option<isize>,
    device: &str,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(rhs.py())?;
    let (arrays, kind) = arguments([sub, diag, sup, rhs])?;
    let [first, second] = *arrays[1].shape() else {
        return Err(PyValueError::new_err("diag is expected to have two dimensions"));
    };
    if arrays.iter().any(|array| array.shape() != [first, second]) {
        return Err(PyValueError::new_err("sub, diag, sup and rhs are expected to have one shape"));
    }
    let (layout, count, n) = match interleaved {
        true => (Layout::Interleaved, second, first),
        false => (Layout::Contiguous, first, second),
    };
    check_rhs(&arrays[3], first)?;
    let plan = options.plan(Plan::once(Shape::Batch { count, n, layout }))?;
    with_number!(kind, batch(arrays.each_ref(), (&plan, device.as_ref()), full_output))
}

fn batch<'py, T: Number>(
    arrays: [&Bound<'py, PyUntypedArray>; 4],
    (plan, device): (&Plan, Option<&Device>),
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>>
where
    for<'a> TridiagonalBatch<'a, T>: Factorize<Scalar = T>,
{
    let py = arrays[3].py();
    let [sub, diag, sup, rhs] =
        [rows::<T>(arrays[0])?, rows::<T>(arrays[1])?, rows::<T>(arrays[2])?, rows::<T>(arrays[3])?];
    let Shape::Batch { count, n, layout } = plan.shape() else { unreachable!("a plan for batches") };
    let a = TridiagonalBatch::new(count, n, layout, slice(&sub), slice(&diag), slice(&sup))
        .map_err(|error| exception(py, &error))?;
    let rhs = slice(&rhs);
    let solve = |x: &mut [T]| detached(py, || once(&a, (plan, device), Op::Plain, rhs, x));
    let (x, report) = filled(py, arrays[3].shape(), false, solve)?;
    let wrong = |error| match error {
        // Rows of one system after the other, however they lie in memory.
        Error::Singular { row } => {
            lin_alg_error(py, format!("system {} is singular: no pivot in row {}", row / n, row % n))
        }
        error => exception(py, &error),
    };
    answer(x.into_any(), report?.map_err(wrong)?, full_output)
}
