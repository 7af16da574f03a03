//! Batches of banded and of block tridiagonal systems.

use crate::arrays::{Number, OutputArray, filled, rows, slice, strided, strided_slice, with_number};
use crate::batch::{BYTES_TOGETHER, Groups, Places, SYSTEMS_TOGETHER, each_plane, numbered_by};
use crate::errors::{exception, of_system};
use crate::interrupt::detached;
use crate::options::{CallOptions, ThreadCount, op};
use crate::solve::{CallerNumbers, answer, arguments, solve_by};
use bandsolve::{BandStrides, BandedBatch, BlockStrides, Error, Layout, Method, Op, Plan, Report, Shape};
use bandsolve_kernel::spread::tasks;
use numpy::{PyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Solve banded systems along the middle axis of a C-contiguous array `rhs` of shape `shape`. `ab` has the shape (count, l + u + 1, n), in any order
/// in memory, with one matrix for each system in the order of `rhs`, or a single one. With `definite`, the matrices are Hermitian positive definite, and
/// `ab` has one triangle of each: `definite` says whether it is the lower one, and one of the widths is 0.
///
/// `place` converts the position of a system or of a number in `rhs` to the position in the arrays of the caller.
#[pyfunction]
#[pyo3(signature = (shape, widths, ab, rhs, place, *, definite=None, periodic=false, pivoting="scaled-partial", verify=true, threads=None, transpose=None,
    out=None, overwrite_rhs=false, full_output=false))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_banded_batch<'py>(
    shape: (usize, usize, usize),
    widths: (usize, usize),
    ab: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    place: &Bound<'py, PyAny>,
    definite: Option<bool>,
    periodic: bool,
    pivoting: &str,
    verify: bool,
    threads: Option<ThreadCount>,
    transpose: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    overwrite_rhs: bool,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let method = if definite.is_some() { Method::Cholesky } else { Method::Auto }.name();
    let options = CallOptions { method, pivoting, verify, threads, ..CallOptions::DEFAULT };
    let ([ab, rhs], kind) = arguments([ab, rhs])?;
    let places = Places { before: shape.0, n: shape.1, after: shape.2 };
    let fits = |count: usize| *ab.shape() == [count, widths.0 + widths.1 + 1, places.n];
    if rhs.len() != places.len() || !(fits(1) || fits(places.count())) {
        return Err(PyValueError::new_err("the shapes of ab and rhs do not fit together"));
    }
    let op = transpose.map_or(Ok(Op::Plain), op)?;
    let call = BandedCall { places, widths, definite, periodic, options, op };
    with_number!(kind, batch([&ab, &rhs], &call, place, (OutputArray::new(out, overwrite_rhs), full_output)))
}

/// A batch and its options.
struct BandedCall<'a> {
    places: Places,
    /// Numbers of diagonals below and above the main one.
    widths: (usize, usize),
    /// Whether the matrices are positive definite, with one triangle in memory, and whether it is the lower one.
    definite: Option<bool>,
    periodic: bool,
    options: CallOptions<'a>,
    op: Op,
}

/// Matrices in the array of the caller.
#[derive(Clone, Copy)]
struct BandsOfBatch<'a, T> {
    numbers: &'a [T],
    strides: BandStrides,
}

impl<'a, T: Number> BandsOfBatch<'a, T> {
    /// The matrices of an array that [`strided`] returned. One matrix is that of all systems.
    fn of(array: &'a Bound<'_, PyArrayDyn<T>>) -> Self {
        let (shape, strides) = (array.shape(), array.strides());
        let [system, diagonal, column] = [0, 1, 2].map(|axis| match shape[axis] {
            0 | 1 => 0,
            _ => strides[axis].unsigned_abs() / size_of::<T>(),
        });
        Self { numbers: strided_slice(array), strides: BandStrides { system, column, diagonal } }
    }

    /// The matrices from system `first` on.
    fn from(self, first: usize) -> Self {
        Self { numbers: &self.numbers[first * self.strides.system..], ..self }
    }
}

fn batch<'py, T: Number>(
    [ab, rhs]: [&Bound<'py, PyUntypedArray>; 2],
    call: &BandedCall<'_>,
    place: &Bound<'py, PyAny>,
    (target, full_output): (OutputArray<'_, 'py>, bool),
) -> PyResult<Bound<'py, PyAny>> {
    let py = rhs.py();
    let (ab, rhs_of_type) = (strided::<T>(ab)?, rows::<T>(rhs)?);
    let bands = BandsOfBatch::of(&ab);
    let plan = call.options.plan(Plan::once(call.shape(call.places.count(), Layout::Contiguous)))?;
    let solve = |rhs: &[T], x: &mut [T]| detached(py, || call.solve(bands, &plan, rhs, x));
    let (x, report) = match target.array::<T>(rhs, false)? {
        Some(x) => {
            let [from, to] = [CallerNumbers::of(&rhs_of_type), CallerNumbers::of(&x)];
            let solved = from.solve_to(to, |rhs, x| Ok(solve(rhs, x)));
            (x, solved.map_err(|error| exception(py, &error))?)
        }
        None => filled(py, &[call.places.len()], false, |x| solve(slice(&rhs_of_type), x))?,
    };
    let report = report?.map_err(|error| call.exception(error, place))?;
    answer(x.into_any(), numbered_by(place, report)?, full_output)
}

impl BandedCall<'_> {
    fn shape(&self, count: usize, layout: Layout) -> Shape {
        let (lower, upper) = self.widths;
        Shape::BandedBatch { n: self.places.n, count, layout, lower, upper }
    }

    /// Solve all systems. Right-hand sides are copied only along a middle axis with few systems after it.
    fn solve<T: Number>(
        &self,
        bands: BandsOfBatch<'_, T>,
        plan: &Plan,
        rhs: &[T],
        x: &mut [T],
    ) -> bandsolve::Result<Report> {
        let places @ Places { before, after, .. } = self.places;
        if after == 1 || rhs.is_empty() {
            return self.part(bands, plan, (before * after, Layout::Contiguous), rhs, x);
        }
        if before == 1 {
            return self.part(bands, plan, (after, Layout::Interleaved), rhs, x);
        }
        let available = tasks(self.options.thread_count(), places.len());
        if after >= SYSTEMS_TOGETHER {
            // Many planes are shared among the threads, and so are the systems of a few planes.
            let many = before >= 2 * available;
            let plan = if many { plan.clone().threads(1) } else { plan.clone() };
            return each_plane(places, if many { available } else { 1 }, (rhs, x), &|p, rhs, x| {
                self.part(bands.from(p * after), &plan, (after, Layout::Interleaved), rhs, x)
            });
        }
        let (width, plan) = (BYTES_TOGETHER / size_of::<T>(), plan.clone().threads(1));
        let groups = Groups { places, width, tasks: available, fill: false, matrices: false };
        groups.each((rhs, x), &|memory| {
            let (bands, count) = (bands.from(memory.systems.start), memory.systems.len());
            self.part(bands, &plan, (count, Layout::Interleaved), &memory.rhs, &mut memory.x)
        })
    }

    /// Solve `count` systems that are stored as a batch.
    fn part<T: Number>(
        &self,
        bands: BandsOfBatch<'_, T>,
        plan: &Plan,
        (count, layout): (usize, Layout),
        rhs: &[T],
        x: &mut [T],
    ) -> bandsolve::Result<Report> {
        let BandsOfBatch { numbers, strides } = bands;
        let (n, (lower, upper)) = (self.places.n, self.widths);
        let a = match self.definite {
            Some(triangle) => BandedBatch::hermitian(count, n, (lower.max(upper), triangle), layout, strides, numbers)?,
            None => BandedBatch::with_strides(count, n, self.widths, layout, strides, numbers)?,
        };
        let a = if self.periodic { a.periodic()? } else { a };
        solve_by(&plan.with_shape(a.shape()).factor(&a)?, self.op, rhs, x)
    }

    /// The exception for an error. The place of a NaN or infinity in `bands` is that in the memory of a part: the caller of this module finds the
    /// indices.
    fn exception(&self, error: Error, place: &Bound<'_, PyAny>) -> PyErr {
        let (py, n) = (place.py(), self.places.n);
        let at = |number: usize, of_entry: bool| Ok(place.call1((number, of_entry))?.str()?.to_string());
        match error {
            Error::NotFinite { array: "rhs", index } => match at(index, true) {
                Ok(at) => PyValueError::new_err(format!("rhs[{at}] is not finite")),
                Err(error) => error,
            },
            error => of_system(py, &error, n, |s| at(s, false)),
        }
    }
}

/// Solve block tridiagonal systems, whose right-hand sides are the rows of `rhs`. `sub`, `diag` and `sup` have the shape (count, n, b, b), with one
/// matrix for each system, or a single one.
#[pyfunction]
#[pyo3(signature = (sub, diag, sup, rhs, *, periodic=false, pivoting="scaled-partial", verify=true, threads=None, transpose=None,
    full_output=false))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_block_batch<'py>(
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    periodic: bool,
    pivoting: &str,
    verify: bool,
    threads: Option<ThreadCount>,
    transpose: Option<&Bound<'py, PyAny>>,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = CallOptions { pivoting, verify, threads, ..CallOptions::DEFAULT };
    let ([sub, diag, sup, rhs], kind) = arguments([sub, diag, sup, rhs])?;
    let op = transpose.map_or(Ok(Op::Plain), op)?;
    with_number!(kind, blocks([&sub, &diag, &sup], &rhs, (periodic, op), (&options, full_output)))
}

fn blocks<'py, T: Number>(
    arrays: [&Bound<'py, PyUntypedArray>; 3],
    rhs: &Bound<'py, PyUntypedArray>,
    (periodic, op): (bool, Op),
    (options, full_output): (&CallOptions<'_>, bool),
) -> PyResult<Bound<'py, PyAny>> {
    let py = rhs.py();
    let (&[matrices, block_rows, block, _], &[count, n]) = (arrays[1].shape(), rhs.shape()) else {
        return Err(PyValueError::new_err("diag and rhs are expected to have four and two dimensions"));
    };
    let held = [rows::<T>(arrays[0])?, rows::<T>(arrays[1])?, rows::<T>(arrays[2])?];
    let (sides, size) = (rows::<T>(rhs)?, block_rows * block * block);
    let strides =
        BlockStrides { system: if matrices == 1 { 0 } else { size }, block: block * block, row: block, column: 1 };
    let (numbers, right) = (held.each_ref().map(|array| slice(array)), slice(&sides));
    let plan =
        options.plan(Plan::once(Shape::BandedBatch { n, count, layout: Layout::Contiguous, lower: 0, upper: 0 }))?;
    let solve = |x: &mut [T]| {
        detached(py, || {
            let a = BandedBatch::from_blocks(count, (block_rows, block), Layout::Contiguous, strides, numbers)?;
            let a = if periodic { a.periodic()? } else { a };
            solve_by(&plan.with_shape(a.shape()).factor(&a)?, op, right, x)
        })
    };
    let (x, report) = filled(py, &[count, n], false, solve)?;
    let report = report?.map_err(|error| of_system(py, &error, n, |s| Ok(s.to_string())))?;
    answer(x.into_any(), report, full_output)
}
