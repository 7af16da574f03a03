//! One call that does all.

use crate::arrays::{DtypeKind, Number, array, check_rhs, columns, filled, rows, slice, with_number};
use crate::diagonals::{SLICES, check_off_diagonals};
use crate::errors::{exception, lin_alg_error};
use crate::options::{CallOptions, ThreadCount, op, threads_set};
use crate::report::PyReport;
use bandsolve::dyn_stack::{PodBuffer, PodStack, StackReq};
use bandsolve::{
    Banded, BlockTridiagonal, Diagonals, Error, Factor, Factorize, Op, Plan, RealScalar, Shape, Tridiagonal,
};
use bandsolve_gpu::{Device, HostMatrix};
use bandsolve_kernel::arithmetic::Standard;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::cell::Cell;

/// x, or x and a report.
pub fn answer<'py>(x: Bound<'py, PyAny>, report: bandsolve::Report, full_output: bool) -> PyResult<Bound<'py, PyAny>> {
    if !full_output {
        return Ok(x);
    }
    let py = x.py();
    (x, PyReport::new(report)).into_bound_py_any(py)
}

/// Arrays of a call and the type in which they are worked on.
pub fn arguments<'py, const N: usize>(
    values: [&Bound<'py, PyAny>; N],
) -> PyResult<([Bound<'py, PyUntypedArray>; N], DtypeKind)> {
    let mut kind = DtypeKind { complex: false, double: false };
    let mut found = Vec::with_capacity(N);
    for value in values {
        let (array, own) = array(value)?;
        kind = kind.join(own);
        found.push(array);
    }
    Ok((found.try_into().expect("as many"), kind))
}

/// Right-hand sides and how they are solved for.
pub struct SolveCall<'a, 'py> {
    pub rhs: &'a Bound<'py, PyUntypedArray>,
    pub op: Op,
    pub full_output: bool,
}

impl<'py> SolveCall<'_, 'py> {
    /// Factors a matrix and solves.
    pub fn solve<T, M>(&self, a: &M, (plan, device): (&Plan, Option<&Device>)) -> PyResult<Bound<'py, PyAny>>
    where
        T: Number,
        M: Factorize<Scalar = T> + HostMatrix<T>,
    {
        let op = self.op;
        self.solve_by(plan.shape().n(), |rhs, x| once(a, (plan, device), op, rhs, x))
    }

    /// Solves n rows by a function that does it without the interpreter.
    pub fn solve_by<T: Number>(
        &self,
        n: usize,
        solve: impl FnOnce(&[T], &mut [T]) -> bandsolve::Result<bandsolve::Report> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        check_rhs(self.rhs, n)?;
        let py = self.rhs.py();
        let given = columns::<T>(self.rhs)?;
        let rhs = slice(&given);
        let (x, report) = filled(py, self.rhs.shape(), true, |x| py.detach(|| solve(rhs, x)))?;
        let report = report.map_err(|error| self.exception::<T>(&error))?;
        answer(x.into_any(), report, self.full_output)
    }

    /// The exception for an error. Numbers that are finite as they were given are beyond the range of the type.
    fn exception<T: Number>(&self, error: &Error) -> PyErr {
        let py = self.rhs.py();
        match *error {
            Error::NotFinite { array: "rhs", index } if self.is_finite(index).unwrap_or(false) => {
                let dtype = numpy::dtype::<T>(py);
                PyValueError::new_err(format!(
                    "rhs[{index}] is beyond the range of {dtype}, the type in which is solved"
                ))
            }
            _ => exception(py, error),
        }
    }

    /// Whether a number of the right-hand sides is finite, as it was given.
    fn is_finite(&self, index: usize) -> PyResult<bool> {
        let number = self.rhs.call_method1("flatten", ("F",))?.get_item(index)?;
        self.rhs.py().import("numpy")?.call_method1("isfinite", (number,))?.extract()
    }
}

/// Factors a matrix and solves, here or on a device.
pub fn once<T, M>(
    a: &M,
    (plan, device): (&Plan, Option<&Device>),
    op: Op,
    rhs: &[T],
    x: &mut [T],
) -> bandsolve::Result<bandsolve::Report>
where
    T: Number,
    M: Factorize<Scalar = T> + HostMatrix<T>,
{
    match device {
        None => solve_by(&plan.factor(a)?, op, rhs, x),
        Some(device) => solve_by(&device.factor(plan, a)?, op, rhs, x),
    }
}

/// Solves with factors.
pub fn solve_by<T: Number>(
    factor: &(impl Factor<T> + ?Sized),
    op: Op,
    rhs: &[T],
    x: &mut [T],
) -> bandsolve::Result<bandsolve::Report> {
    let n_rhs = factor.shape().n_rhs("rhs", rhs.len())?;
    let mut memory = scratch(factor.solve_scratch(n_rhs))?;
    let report = factor.solve_into_with(op, rhs, x, PodStack::new(&mut memory));
    if memory.len() <= SCRATCH_KEPT {
        SCRATCH.set(Some(memory));
    }
    report
}

thread_local! {
    /// Scratch memory of the last call, for the next: fresh memory costs about a tenth of the time of a large system.
    static SCRATCH: Cell<Option<PodBuffer>> = const { Cell::new(None) };
}

/// Bytes of scratch memory that a thread keeps at most.
const SCRATCH_KEPT: usize = 16 << 20;

/// Memory for `needed`: what the thread has kept, if it is enough.
fn scratch(needed: StackReq) -> bandsolve::Result<PodBuffer> {
    let bytes = needed.unaligned_bytes_required();
    match SCRATCH.take() {
        Some(memory) if memory.len() >= bytes => return Ok(memory),
        // What will not be kept does not take the place of what was.
        kept if bytes > SCRATCH_KEPT => SCRATCH.set(kept),
        _ => {}
    }
    PodBuffer::try_new(StackReq::new_aligned::<u8>(bytes, needed.align_bytes()))
        .map_err(|_| Error::OutOfMemory { bytes })
}

/// One dimension.
pub fn check_vector(array: &Bound<'_, PyUntypedArray>, name: &str) -> PyResult<()> {
    match array.ndim() {
        1 => Ok(()),
        ndim => Err(PyValueError::new_err(format!("{name} has {ndim} dimensions, expected 1"))),
    }
}

/// Solve a tridiagonal system.
///
/// Row i reads ``sub[i-1] * x[i-1] + diag[i] * x[i] + sup[i] * x[i+1] == rhs[i]``. With `periodic` or `padded`, ``sub[i]`` takes the
/// place of ``sub[i-1]``.
///
/// Parameters
/// ----------
/// sub, diag, sup : (n - 1,), (n,) and (n - 1,) array_like
///     Entries below, on and above the diagonal. From SciPy's band storage take ``ab[2, :-1]``, ``ab[1]`` and ``ab[0, 1:]``. With
///     `periodic` or `padded` all three have n entries.
/// rhs : (n,) or (n, k) array_like
///     Right-hand sides.
/// periodic : bool
///     Whether the first and the last row are neighbours. ``sub[0]`` and ``sup[n-1]`` then couple them.
/// padded : bool
///     `sub` and `sup` have n entries, indexed by row: ``sub[0]`` and ``sup[n-1]`` are ignored.
/// method : str
///     One of `bandsolve.methods()`; "auto" chooses by size.
/// pivoting : str
///     How rows are chosen: "scaled-partial", "partial", or "none" for matrices that do not need it.
/// transpose : bool or "conj"
///     Solve with the transpose, or with the conjugate transpose.
/// verify : bool
///     Measure the backward error, and repair answers that are not good.
/// threads : int, optional
///     By default what `bandsolve.set_num_threads` says. The answer is the same, bit for bit, for any number.
/// device : str
///     "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU, to which the system is copied.
/// full_output : bool
///     Return a `Report`, too.
///
/// Returns
/// -------
/// x : ndarray
///     The solution, of the shape of `rhs`, in single precision if all arrays are; with `full_output` a tuple of it and a
///     `Report`.
///
/// Raises
/// ------
/// ValueError
///     Shapes do not fit, a number is not finite, or an option is unknown.
/// TypeError
///     An array does not hold numbers.
/// numpy.linalg.LinAlgError
///     The matrix is singular.
/// RuntimeError
///     There is no such GPU.
///
/// Examples
/// --------
/// >>> import numpy as np, bandsolve
/// >>> off, diag = np.full(4, -1.0), np.full(5, 2.0)
/// >>> x, report = bandsolve.solve_tridiagonal(off, diag, off, np.ones(5), full_output=True)
/// >>> np.round(x, 9)
/// array([2.5, 4. , 4.5, 4. , 2.5])
/// >>> report.backward_error < 1e-15
/// True
#[pyfunction]
#[pyo3(signature = (sub, diag, sup, rhs, *, periodic=false, padded=false, method="auto", pivoting="scaled-partial", transpose=None,
    verify=true, threads=None, device="cpu", full_output=false),
    text_signature = "(sub, diag, sup, rhs, *, periodic=False, padded=False, method=\"auto\", pivoting=\"scaled-partial\", \
    transpose=False, verify=True, threads=None, device=\"cpu\", full_output=False)")]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_tridiagonal<'py>(
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    periodic: bool,
    padded: bool,
    method: &str,
    pivoting: &str,
    transpose: Option<&Bound<'py, PyAny>>,
    verify: bool,
    threads: Option<ThreadCount>,
    device: &str,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(sub.py())?;
    let ([sub, diag, sup, rhs], kind) = arguments([sub, diag, sup, rhs])?;
    for (array, name) in [(&sub, "sub"), (&diag, "diag"), (&sup, "sup")] {
        check_vector(array, name)?;
    }
    check_off_diagonals((sub.len(), sup.len()), diag.len(), Some(periodic), padded, SLICES)?;
    let plan = options.plan(Plan::once(Shape::Tridiagonal { n: diag.len(), periodic }))?;
    let task = SolveCall { rhs: &rhs, op: transpose.map_or(Ok(Op::Plain), op)?, full_output };
    with_number!(kind, tridiagonal([&sub, &diag, &sup], (&plan, device.as_ref()), periodic, &task))
}

fn tridiagonal<'py, T: Number>(
    arrays: [&Bound<'py, PyUntypedArray>; 3],
    on: (&Plan, Option<&Device>),
    periodic: bool,
    task: &SolveCall<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>>
where
    for<'a> Tridiagonal<'a, T>: Factorize<Scalar = T>,
{
    let [sub, diag, sup] = [columns::<T>(arrays[0])?, columns::<T>(arrays[1])?, columns::<T>(arrays[2])?];
    let make = if periodic { Tridiagonal::periodic } else { Tridiagonal::new };
    let a = make(slice(&sub), slice(&diag), slice(&sup)).map_err(|error| exception(task.rhs.py(), &error))?;
    task.solve(&a, on)
}

#[pyfunction]
#[pyo3(signature = (lower, upper, bands, rhs, *, method="auto", pivoting="scaled-partial", transpose=None, verify=true, threads=None,
    device="cpu", full_output=false),
    text_signature = "(lower, upper, bands, rhs, *, method=\"auto\", pivoting=\"scaled-partial\", transpose=False, verify=True, \
    threads=None, device=\"cpu\", full_output=False)")]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_banded<'py>(
    lower: usize,
    upper: usize,
    bands: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    method: &str,
    pivoting: &str,
    transpose: Option<&Bound<'py, PyAny>>,
    verify: bool,
    threads: Option<ThreadCount>,
    device: &str,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(rhs.py())?;
    let ([bands, rhs], kind) = arguments([bands, rhs])?;
    let n = check_bands(&bands, lower, upper)?;
    let plan = options.plan(Plan::once(Shape::Banded { n, lower, upper }))?;
    let task = SolveCall { rhs: &rhs, op: transpose.map_or(Ok(Op::Plain), op)?, full_output };
    with_number!(kind, banded([lower, upper], &bands, (&plan, device.as_ref()), &task))
}

/// `scipy.linalg.solveh_banded` for one matrix: `ab` has the diagonals of one triangle as rows.
#[pyfunction]
pub fn solveh_banded<'py>(
    ab: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    lower: bool,
    verify: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let ([ab, rhs], kind) = arguments([ab, rhs])?;
    match *ab.shape() {
        [diagonals, n] if diagonals > 0 => {
            with_number!(kind, hermitian((&ab, n, diagonals - 1), &rhs, (lower, verify)))
        }
        _ => Err(PyValueError::new_err("ab is expected to have two dimensions, and one diagonal at least")),
    }
}

fn hermitian<'py, T: Number>(
    (ab, n, width): (&Bound<'py, PyUntypedArray>, usize, usize),
    rhs: &Bound<'py, PyUntypedArray>,
    (lower, verify): (bool, bool),
) -> PyResult<Bound<'py, PyAny>> {
    let py = ab.py();
    let held = rows::<T>(ab)?;
    let a = Diagonals::new(n, width, lower, slice(&held)).map_err(|error| exception(py, &error))?;
    check_rhs(rhs, n)?;
    let given = columns::<T>(rhs)?;
    let rhs_columns = slice(&given);
    let once = |x: &mut [T]| {
        let _mode = Standard::enter();
        if verify && !a.rest_is_finite() {
            return Err(Error::NotFinite { array: "ab", index: 0 });
        }
        solve_by(&*a.factor((verify, threads_set()))?, Op::Plain, rhs_columns, x)
    };
    let solve = |x: &mut [T]| match py.detach(|| once(&mut *x)) {
        // As SciPy, if numbers that are not finite are not looked for.
        Err(Error::NotFinite { .. }) if !verify => {
            x.fill(T::from_parts(T::Real::NAN, T::Real::NAN));
            Ok(())
        }
        solved => solved.map(|_| ()),
    };
    let (x, solved) = filled(py, rhs.shape(), true, solve)?;
    match solved {
        Ok(()) => Ok(x.into_any()),
        Err(Error::NotDefinite { row }) => {
            Err(lin_alg_error(py, format!("{}th leading minor not positive definite", row + 1)))
        }
        Err(Error::NotFinite { array: "ab" | "sub" | "diag" | "sup", .. }) => {
            Err(PyValueError::new_err("array must not contain infs or NaNs"))
        }
        Err(error) => Err(exception(py, &error)),
    }
}

/// Rows of a matrix whose diagonals are the rows of `bands`.
pub fn check_bands(bands: &Bound<'_, PyUntypedArray>, lower: usize, upper: usize) -> PyResult<usize> {
    // Where it does not fit, no array has as many rows.
    let expected = lower.checked_add(upper).and_then(|sum| sum.checked_add(1));
    match *bands.shape() {
        [diagonals, n] if Some(diagonals) == expected => Ok(n),
        ref other => {
            let expected = expected.map_or("more than can be addressed".into(), |rows| rows.to_string());
            Err(PyValueError::new_err(format!(
                "bands has the shape {other:?}, expected ({expected}, n): lower + upper + 1 diagonals"
            )))
        }
    }
}

fn banded<'py, T: Number>(
    [lower, upper]: [usize; 2],
    bands: &Bound<'py, PyUntypedArray>,
    on: (&Plan, Option<&Device>),
    task: &SolveCall<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>>
where
    for<'a> Banded<'a, T>: Factorize<Scalar = T>,
{
    let columns = columns::<T>(bands)?;
    let a = Banded::new(on.0.shape().n(), lower, upper, slice(&columns))
        .map_err(|error| exception(task.rhs.py(), &error))?;
    task.solve(&a, on)
}

#[pyfunction]
#[pyo3(signature = (sub, diag, sup, rhs, *, periodic=false, method="auto", pivoting="scaled-partial", transpose=None, verify=true,
    threads=None, device="cpu", full_output=false),
    text_signature = "(sub, diag, sup, rhs, *, periodic=False, method=\"auto\", pivoting=\"scaled-partial\", transpose=False, \
    verify=True, threads=None, device=\"cpu\", full_output=False)")]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_block_tridiagonal<'py>(
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    periodic: bool,
    method: &str,
    pivoting: &str,
    transpose: Option<&Bound<'py, PyAny>>,
    verify: bool,
    threads: Option<ThreadCount>,
    device: &str,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(rhs.py())?;
    let ([sub, diag, sup, rhs], kind) = arguments([sub, diag, sup, rhs])?;
    let (block_rows, block) = check_blocks(&diag)?;
    let plan = options.plan(Plan::once(Shape::BlockTridiagonal { block_rows, block, periodic }))?;
    let task = SolveCall { rhs: &rhs, op: transpose.map_or(Ok(Op::Plain), op)?, full_output };
    with_number!(kind, block_tridiagonal([&sub, &diag, &sup], (&plan, device.as_ref()), (block, periodic), &task))
}

/// Block rows, and rows of a block, of an array of blocks by columns: the first two indices are those of a block.
pub fn check_blocks(diag: &Bound<'_, PyUntypedArray>) -> PyResult<(usize, usize)> {
    match *diag.shape() {
        [rows, columns, block_rows] if rows == columns => Ok((block_rows, rows)),
        ref other => {
            Err(PyValueError::new_err(format!("diag has the shape {other:?}, expected (block, block, block rows)")))
        }
    }
}

fn block_tridiagonal<'py, T: Number>(
    arrays: [&Bound<'py, PyUntypedArray>; 3],
    on: (&Plan, Option<&Device>),
    (block, periodic): (usize, bool),
    task: &SolveCall<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>>
where
    for<'a> BlockTridiagonal<'a, T>: Factorize<Scalar = T>,
{
    let [sub, diag, sup] = [columns::<T>(arrays[0])?, columns::<T>(arrays[1])?, columns::<T>(arrays[2])?];
    let make = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
    let a = make(block, slice(&sub), slice(&diag), slice(&sup)).map_err(|error| exception(task.rhs.py(), &error))?;
    task.solve(&a, on)
}
