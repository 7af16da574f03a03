//! One call that does all.

use crate::arrays::{DtypeKind, Number, OutputArray, array, check_rhs, columns, filled, rows, slice, with_number};
use crate::device::{Device, HostMatrix, any_on_gpu, factor_on};
use crate::diagonals::{SLICES, check_off_diagonals, without_numbers};
use crate::errors::{exception, exception_for, lin_alg_error};
use crate::options::{CallOptions, ThreadCount, op, threads_set};
use crate::report::PyReport;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::buffer;
use bandsolve::{
    Banded, BlockTridiagonal, Diagonals, Error, Factor, Factorize, Op, PeriodicBanded, Plan, RealScalar, Shape,
    Tridiagonal,
};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::memory::Array;
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyList, PyTuple};
use std::cell::Cell;
use std::sync::Arc;

/// Whether an argument is an array in the memory of a GPU.
pub fn on_gpu<const N: usize>(values: [&Bound<'_, PyAny>; N]) -> PyResult<bool> {
    // The usual case, without a tuple.
    if values.iter().all(|value| value.is_instance_of::<PyUntypedArray>()) {
        return Ok(false);
    }
    any_on_gpu(&PyTuple::new(values[0].py(), values)?)
}

/// x, or x and a report.
pub fn answer<'py>(x: Bound<'py, PyAny>, report: bandsolve::Report, full_output: bool) -> PyResult<Bound<'py, PyAny>> {
    if !full_output {
        return Ok(x);
    }
    let py = x.py();
    (x, PyReport::new(report)).into_bound_py_any(py)
}

/// Give x the labels of the right-hand side, if it is an object of pandas or xarray. `answer` is x, or x and a report.
///
/// # Errors
/// Exceptions of these packages.
pub fn with_labels<'py>(rhs: &Bound<'py, PyAny>, answer: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if rhs.is_instance_of::<PyUntypedArray>() || rhs.is_instance_of::<PyList>() {
        return Ok(answer);
    }
    rhs.py().import("bandsolve._labels")?.call_method1("restored", (rhs, answer))
}

/// Arrays of a call and the type in which they are worked on.
pub fn arguments<'py, const N: usize>(
    values: [&Bound<'py, PyAny>; N],
) -> PyResult<([Bound<'py, PyUntypedArray>; N], DtypeKind)> {
    let mut kind = DtypeKind { complex: false, double: false };
    let mut arrays = Vec::with_capacity(N);
    for value in values {
        let (array, own) = array(value)?;
        kind = kind.join(own);
        arrays.push(array);
    }
    Ok((arrays.try_into().expect("as many"), kind))
}

/// Right-hand sides and how they are solved for.
pub struct SolveCall<'a, 'py> {
    pub rhs: &'a Bound<'py, PyUntypedArray>,
    pub op: Op,
    pub target: OutputArray<'a, 'py>,
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
        self.solve_by(plan.shape(), |rhs, x| once(a, (plan, device), op, rhs, x))
    }

    /// Solves for a matrix of this shape by a function that runs without the interpreter.
    pub fn solve_by<T: Number>(
        &self,
        shape: Shape,
        solve: impl FnOnce(&[T], &mut [T]) -> bandsolve::Result<bandsolve::Report> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        check_rhs(self.rhs, shape.n())?;
        let py = self.rhs.py();
        let rhs = columns::<T>(self.rhs)?;
        let (x, report) = match self.target.array::<T>(self.rhs, true)? {
            Some(x) => {
                let [from, to] = [CallerNumbers::of(&rhs), CallerNumbers::of(&x)];
                (x, py.detach(move || from.solve_to(to, solve)))
            }
            None => {
                let rhs = slice(&rhs);
                filled(py, self.rhs.shape(), true, |x| py.detach(|| solve(rhs, x)))?
            }
        };
        let report = report.map_err(|error| self.exception::<T>(shape, &error))?;
        answer(x.into_any(), report, self.full_output)
    }

    /// The exception for an error. An entry of `rhs` that is finite in the caller's array is too large for `T`.
    fn exception<T: Number>(&self, shape: Shape, error: &Error) -> PyErr {
        let py = self.rhs.py();
        let Error::NotFinite { array: "rhs", index } = *error else { return exception_for(py, shape, error) };
        let at = match self.rhs.ndim() {
            2 => format!("{}, {}", index % shape.n(), index / shape.n()),
            _ => index.to_string(),
        };
        let wrong = match self.is_finite(index).unwrap_or(false) {
            true => format!("is beyond the range of {}, the type of x", numpy::dtype::<T>(py)),
            false => "is not finite".into(),
        };
        PyValueError::new_err(format!("rhs[{at}] {wrong}"))
    }

    /// Whether an entry of the right-hand sides is finite in the caller's array.
    fn is_finite(&self, index: usize) -> PyResult<bool> {
        let number = self.rhs.call_method1("flatten", ("F",))?.get_item(index)?;
        self.rhs.py().import("numpy")?.call_method1("isfinite", (number,))?.extract()
    }
}

/// The numbers of an array of the caller, which may be the same as another.
#[derive(Clone, Copy)]
pub struct CallerNumbers<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: the arrays stay alive, and one thread at a time uses the pointer.
unsafe impl<T: Number> Send for CallerNumbers<T> {}

impl<T: Number> CallerNumbers<T> {
    pub fn of(array: &Bound<'_, PyArrayDyn<T>>) -> Self {
        Self { first: array.data(), len: array.len() }
    }

    /// Solves for `self` and writes `x`. If both are the same array, the right-hand sides are copied first.
    pub fn solve_to<R>(
        self,
        x: Self,
        solve: impl FnOnce(&[T], &mut [T]) -> bandsolve::Result<R>,
    ) -> bandsolve::Result<R> {
        // SAFETY: the arrays are contiguous, aligned and alive. `OutputArray::array` has checked that x is writable, and either is `self` or
        // does not overlap it. No reference to `self` exists together with one to x if they are the same.
        unsafe {
            if self.first != x.first {
                let rhs = std::slice::from_raw_parts(self.first, self.len);
                return solve(rhs, std::slice::from_raw_parts_mut(x.first, x.len));
            }
            with_scratch(StackReq::new::<T>(self.len), |stack| {
                let (rhs, _) = stack.make_raw::<T>(self.len);
                std::ptr::copy_nonoverlapping(self.first, rhs.as_mut_ptr(), self.len);
                solve(rhs, std::slice::from_raw_parts_mut(x.first, x.len))
            })
        }
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
        Some(device) => solve_by(&*factor_on(device, plan, Arc::new(a))?, op, rhs, x),
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
    with_scratch(factor.solve_scratch(n_rhs), |stack| factor.solve_into_with(op, rhs, x, stack))
}

thread_local! {
    /// Scratch memory of the last calls, for the next: fresh memory costs about a tenth of the time of a large system. There are two pieces, for
    /// the solve and for a copy of the right-hand sides.
    static SCRATCH: Cell<[Option<Array<u8>>; 2]> = const { Cell::new([const { None }; 2]) };
}

/// Bytes of a piece of scratch memory that a thread keeps at most.
const SCRATCH_KEPT: usize = 16 << 20;

/// Call `work` with memory for `needed`: what the thread has kept, if it is enough.
fn with_scratch<R>(needed: StackReq, work: impl FnOnce(&mut PodStack) -> bandsolve::Result<R>) -> bandsolve::Result<R> {
    let bytes = needed.unaligned_bytes_required();
    let mut pieces = SCRATCH.take();
    let enough = pieces.iter().position(|piece| piece.as_ref().is_some_and(|memory| memory.len() >= bytes));
    let kept = enough.and_then(|place| pieces[place].take());
    SCRATCH.set(pieces);
    let mut memory = match kept {
        Some(memory) => memory,
        None => buffer(needed)?,
    };
    let result = work(PodStack::new(&mut memory));
    if memory.len() <= SCRATCH_KEPT {
        let mut pieces = SCRATCH.take();
        // The smaller piece makes room.
        let size = |piece: &Option<Array<u8>>| piece.as_ref().map_or(0, |memory| memory.len());
        let smaller = usize::from(size(&pieces[1]) < size(&pieces[0]));
        if size(&pieces[smaller]) < memory.len() {
            pieces[smaller] = Some(memory);
        }
        SCRATCH.set(pieces);
    }
    result
}

/// One dimension.
pub fn check_vector(array: &Bound<'_, PyUntypedArray>, name: &str) -> PyResult<()> {
    match array.ndim() {
        1 => Ok(()),
        ndim => Err(PyValueError::new_err(format!("{name} has {ndim} dimensions, expected 1"))),
    }
}

/// Solve a tridiagonal system, open or periodic.
///
/// Row i of an open system is ``sub[i-1] * x[i-1] + diag[i] * x[i] + sup[i] * x[i+1] == rhs[i]``.
///
/// Parameters
/// ----------
/// sub : (n - 1,) array_like, or number
///     Entries below the diagonal: ``sub[i]`` is in row i + 1 and column i. With `periodic` or `padded`, `sub` has n entries, and ``sub[i]`` is
///     in row i. A number is the entry of every row.
/// diag : (n,) array_like, or number
///     Entries on the diagonal.
/// sup : (n - 1,) array_like, or number
///     Entries above the diagonal: ``sup[i]`` is in row i and column i + 1. With `periodic` or `padded`, `sup` has n entries.
/// rhs : (n,) or (n, k) array_like
///     One right-hand side, or k right-hand sides as columns.
/// periodic : bool, default False
///     Solve a periodic system: the first and the last unknown are neighbours. ``sub[0]`` is then in row 0 and column n - 1, ``sup[n-1]`` in
///     row n - 1 and column 0.
/// padded : bool, default False
///     Pass `sub` and `sup` with n entries, indexed by row. The solver ignores ``sub[0]`` and ``sup[n-1]``.
/// method : str, default "auto"
///     A name from `bandsolve.methods`. "auto" chooses by the number of unknowns.
/// pivoting : str, default "scaled-partial"
///     How the solver chooses pivot rows. "scaled-partial" compares each candidate with the size of its row; "partial" compares the candidates
///     alone. "none" exchanges no rows: use it only if the matrix needs no pivoting.
/// transpose : bool or "conj", default False
///     True: solve with the transpose of the matrix. "conj": solve with its conjugate transpose.
/// verify : bool, default True
///     Compute the backward error of x, and repair x if the error is too large. With False, NaN and infinities are not errors either.
/// threads : int, optional
///     Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
/// device : str, default "cpu"
///     "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. The function copies the system to the GPU, and x back. Arrays
///     on a GPU, such as those of CuPy, are solved there without copies (see `bandsolve.gpu`), and `device` is not needed.
/// out : ndarray, optional
///     Array for x: the shape of `rhs`, the number type of x, and contiguous in order F, as all arrays with one dimension that are no slices with
///     a step. It may be `rhs` itself.
/// overwrite_rhs : bool, default False
///     Write x to `rhs` if its type and order allow it. Else x is a new array.
/// full_output : bool, default False
///     Return a `Report` too.
///
/// Returns
/// -------
/// x : ndarray, shape of rhs
///     The solution; `out` if you pass it. It has single precision if all arrays have at most single precision, else double precision. It is complex if an array is.
///     It has the labels of `rhs` if `rhs` is a Series or DataFrame of pandas, or a DataArray of xarray.
/// report : Report
///     Only with ``full_output=True``: the method, its reason, and the backward error.
///
/// Raises
/// ------
/// ValueError
///     An array has the wrong length, an entry is NaN or infinite, or an option is unknown.
/// TypeError
///     An array does not hold numbers.
/// numpy.linalg.LinAlgError
///     The matrix is singular, or no method reached a backward error of 64 ε. ε is 2.2e-16 in double precision, 1.2e-7 in single precision.
/// MemoryError
///     The memory is not sufficient.
/// RuntimeError
///     The GPU that `device` names does not exist, or it reports an error.
///
/// See Also
/// --------
/// - `bandsolve.factor_tridiagonal`: factor a matrix once, solve many times.
/// - `bandsolve.solve_batch`: solve many tridiagonal systems.
/// - `bandsolve.solve_banded`: take the matrix in SciPy's band storage.
///
/// Notes
/// -----
/// **SciPy's band storage.** `scipy.linalg.solve_banded((1, 1), ab, b)` takes the diagonals as the rows of `ab`. Column j of `ab` holds column j
/// of the matrix, so the first entry of ``ab[0]`` and the last entry of ``ab[2]`` are unused (``*``):
///
/// ```text
/// matrix                    ab
/// d0  u0                    ab[0] =  *   u0  u1  u2      sup  = ab[0, 1:]
/// l0  d1  u1                ab[1] =  d0  d1  d2  d3      diag = ab[1]
///     l1  d2  u2            ab[2] =  l0  l1  l2  *       sub  = ab[2, :-1]
///         l2  d3
/// ```
///
/// The right call is ``solve_tridiagonal(ab[2, :-1], ab[1], ab[0, 1:], b)``. ``solve_tridiagonal(ab[2], ab[1], ab[0], b)`` raises a
/// `ValueError`. Do not add ``padded=True`` to that call: `padded` ignores other entries, and x would solve another system.
///
/// **Cost.** Time and memory are proportional to n · (1 + k).
///
/// **Accuracy.** The solver computes the row-wise backward error of every right-hand side. Up to 8 ε, it returns x. Above, it solves the rows
/// around the error again, refines x, or solves the system again with the sequential pivoted method. It returns x only if the error is then
/// at most 64 ε. A small backward error does not show that the matrix is well-conditioned: see `Report.attention` and `Factor.rcond`.
///
/// **Threads.** x is the same, bit for bit, for any number of threads. The function releases the interpreter's lock while it solves.
///
/// Examples
/// --------
/// Second differences with u = 0 at both ends:
///
/// >>> import numpy as np, bandsolve
/// >>> off, diag = np.full(4, -1.0), np.full(5, 2.0)
/// >>> rhs = np.ones(5)
/// >>> x, report = bandsolve.solve_tridiagonal(off, diag, off, rhs, full_output=True)
/// >>> print(np.round(x, 9))
/// [2.5 4.  4.5 4.  2.5]
/// >>> report.backward_error < 1e-15
/// True
///
/// The same with numbers for the constant diagonals:
///
/// >>> print(np.round(bandsolve.solve_tridiagonal(-1, 2, -1, rhs), 9))
/// [2.5 4.  4.5 4.  2.5]
///
/// The same system in SciPy's band storage:
///
/// >>> ab = np.array([[0.0, -1, -1, -1, -1], [2, 2, 2, 2, 2], [-1, -1, -1, -1, 0]])
/// >>> x = bandsolve.solve_tridiagonal(ab[2, :-1], ab[1], ab[0, 1:], rhs)
/// >>> print(np.round(x, 9))
/// [2.5 4.  4.5 4.  2.5]
///
/// A periodic system with two right-hand sides:
///
/// >>> three = np.full(3, 3.0)
/// >>> rhs = np.array([[5.0, 1], [5, 1], [5, 1]])
/// >>> x = bandsolve.solve_tridiagonal(np.ones(3), three, np.ones(3), rhs, periodic=True)
/// >>> print(np.round(x, 9))
/// [[1.  0.2]
///  [1.  0.2]
///  [1.  0.2]]
#[pyfunction]
#[pyo3(signature = (sub, diag, sup, rhs, *, periodic=false, padded=false, method="auto", pivoting="scaled-partial", transpose=None,
    verify=true, threads=None, device="cpu", out=None, overwrite_rhs=false, full_output=false),
    text_signature = "(sub, diag, sup, rhs, *, periodic=False, padded=False, method=\"auto\", pivoting=\"scaled-partial\", \
    transpose=False, verify=True, threads=None, device=\"cpu\", out=None, overwrite_rhs=False, full_output=False)")]
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
    out: Option<&Bound<'py, PyAny>>,
    overwrite_rhs: bool,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = sub.py();
    if on_gpu([sub, diag, sup, rhs])? {
        let flags = [("periodic", periodic), ("padded", padded), ("verify", verify), ("store_factors", false)];
        let keywords = flags.into_py_dict(py)?;
        keywords.set_item("method", method)?;
        keywords.set_item("pivoting", pivoting)?;
        keywords.set_item("device", device)?;
        let module = py.import("bandsolve.gpu")?;
        let (factor, matrix) = (module.getattr("factor_tridiagonal")?, (sub, diag, sup));
        let transpose = transpose.map_or_else(|| PyBool::new(py, false).to_owned().into_any(), Clone::clone);
        let task = (factor, matrix, rhs, transpose, out, overwrite_rhs, full_output);
        return module.getattr("solved")?.call(task, Some(&keywords));
    }
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(py)?;
    let [sub, diag, sup] = without_numbers([sub, diag, sup], Some(rhs), periodic || padded)?;
    let given = rhs;
    let ([sub, diag, sup, rhs], kind) = arguments([&sub, &diag, &sup, rhs])?;
    for (array, name) in [(&sub, "sub"), (&diag, "diag"), (&sup, "sup")] {
        check_vector(array, name)?;
    }
    check_off_diagonals((sub.len(), sup.len()), diag.len(), Some(periodic), padded, SLICES)?;
    let plan = options.plan(Plan::once(Shape::Tridiagonal { n: diag.len(), periodic }))?;
    let target = OutputArray::new(out, overwrite_rhs);
    let task = SolveCall { rhs: &rhs, op: transpose.map_or(Ok(Op::Plain), op)?, target, full_output };
    let answer = with_number!(kind, tridiagonal([&sub, &diag, &sup], (&plan, device.as_ref()), periodic, &task))?;
    if out.is_some() { Ok(answer) } else { with_labels(given, answer) }
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
#[pyo3(signature = (lower, upper, bands, rhs, *, periodic=false, method="auto", pivoting="scaled-partial", transpose=None, verify=true,
    threads=None, device="cpu", full_output=false),
    text_signature = "(lower, upper, bands, rhs, *, periodic=False, method=\"auto\", pivoting=\"scaled-partial\", transpose=False, \
    verify=True, threads=None, device=\"cpu\", full_output=False)")]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_banded<'py>(
    lower: usize,
    upper: usize,
    bands: &Bound<'py, PyAny>,
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
    let ([bands, rhs], kind) = arguments([bands, rhs])?;
    let n = check_bands(&bands, lower, upper)?;
    let task = SolveCall { rhs: &rhs, op: transpose.map_or(Ok(Op::Plain), op)?, target: OutputArray::New, full_output };
    if periodic {
        check_periodic_device(device.as_ref())?;
        return with_number!(kind, periodic_banded((n, lower, upper), &bands, &options, &task));
    }
    let plan = options.plan(Plan::once(Shape::Banded { n, lower, upper }))?;
    with_number!(kind, banded([lower, upper], &bands, (&plan, device.as_ref()), &task))
}

/// Devices do not solve periodic bands.
pub fn check_periodic_device(device: Option<&Device>) -> PyResult<()> {
    match device {
        None => Ok(()),
        Some(_) => Err(PyValueError::new_err("periodic is True, expected False: a device solves open bands only")),
    }
}

/// The periodic band with the diagonals of `bands` as rows.
pub fn folded<T: Number>(
    (n, lower, upper): (usize, usize, usize),
    bands: &Bound<'_, PyUntypedArray>,
) -> PyResult<PeriodicBanded<T>> {
    let py = bands.py();
    let held = columns::<T>(bands)?;
    let entries = slice(&held);
    py.detach(|| Banded::new(n, lower, upper, entries)?.periodic())
        .map_err(|error| exception_for(py, Shape::Banded { n, lower, upper }, &error))
}

fn periodic_banded<'py, T: Number>(
    size: (usize, usize, usize),
    bands: &Bound<'py, PyUntypedArray>,
    options: &CallOptions<'_>,
    task: &SolveCall<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let a = folded::<T>(size, bands)?;
    let plan = options.plan(Plan::once(a.shape()))?;
    let op = task.op;
    task.solve_by(a.shape(), |rhs, x| solve_by(&plan.factor(&a)?, op, rhs, x))
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

/// Number of rows of a matrix whose diagonals are the rows of `bands`, which is `ab` in Python.
pub fn check_bands(bands: &Bound<'_, PyUntypedArray>, lower: usize, upper: usize) -> PyResult<usize> {
    // If the sum overflows, no array has as many rows.
    let expected = lower.checked_add(upper).and_then(|sum| sum.checked_add(1));
    match *bands.shape() {
        [diagonals, n] if Some(diagonals) == expected => Ok(n),
        _ => {
            let shape = bands.getattr("shape")?.str()?;
            let rows = expected.map_or("l + u + 1".into(), |rows| rows.to_string());
            Err(PyValueError::new_err(format!(
                "ab has the shape {shape}, expected ({rows}, n): one row for each of the l + u + 1 diagonals"
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
    let task = SolveCall { rhs: &rhs, op: transpose.map_or(Ok(Op::Plain), op)?, target: OutputArray::New, full_output };
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
