//! Batches of tridiagonal systems.

use crate::arrays::{Number, OutputArray, filled, rows, slice, transpose, with_number};
use crate::device::Device;
use crate::errors::{exception, of_system};
use crate::interrupt::detached;
use crate::memory::room;
use crate::options::{CallOptions, ThreadCount, op};
use crate::solve::{CallerNumbers, answer, arguments, once, solve_by};
use bandsolve::{Error, Factorize, Layout, Op, Plan, Report, Shape, TridiagonalBatch};
use bandsolve_kernel::spread::{RowsOf, spread, tasks};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;

/// Systems along the middle axis of C-contiguous arrays with three dimensions.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    pub before: usize,
    pub n: usize,
    pub after: usize,
}

impl Places {
    pub fn count(self) -> usize {
        self.before * self.after
    }

    pub fn len(self) -> usize {
        self.count() * self.n
    }

    /// Call `each(from, at, length)` for every contiguous run in row i of some systems. The run starts at index `from` of the array, and at system
    /// `at` of these systems.
    fn runs(self, systems: Range<usize>, i: usize, mut each: impl FnMut(usize, usize, usize)) {
        let mut s = systems.start;
        while s < systems.end {
            let (plane, first) = (s / self.after, s % self.after);
            let length = (self.after - first).min(systems.end - s);
            each((plane * self.n + i) * self.after + first, s - systems.start, length);
            s += length;
        }
    }

    /// Copy all systems to consecutive memory, one after the other: the columns of a matrix in Fortran order.
    pub fn copy_to_columns<T: Copy>(self, array: &[T], columns: &mut [T]) {
        let plane = (self.n * self.after).max(1);
        let planes = array.chunks_exact(plane).zip(columns.chunks_exact_mut(plane));
        planes.for_each(|(rows, columns)| transpose(rows, self.after, columns));
    }

    /// Copy all systems back from the memory that [`Self::copy_to_columns`] fills.
    pub fn copy_from_columns<T: Copy>(self, columns: &[T], array: &mut [T]) {
        let plane = (self.n * self.after).max(1);
        let planes = columns.chunks_exact(plane).zip(array.chunks_exact_mut(plane));
        planes.for_each(|(columns, rows)| transpose(columns, self.n, rows));
    }

    /// The index of row i of system `s`.
    pub fn place(self, s: usize, i: usize) -> usize {
        (s / self.after * self.n + i) * self.after + s % self.after
    }

    /// Copy some systems to rows of `width` numbers. If there are fewer than `width` systems, copies of the last one fill the rows.
    fn gather<T: Copy>(self, array: &[T], systems: Range<usize>, rows: &mut [T], width: usize) {
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            self.runs(systems.clone(), i, |from, at, length| {
                row[at..at + length].copy_from_slice(&array[from..from + length]);
            });
            let last = row[systems.len() - 1];
            row[systems.len()..].fill(last);
        }
    }

    /// Copy x of some systems back to the array.
    fn scatter<T: Copy>(self, rows: &[T], systems: Range<usize>, x: &SharedOutput<'_, T>, width: usize) {
        for (i, row) in rows.chunks_exact(width).enumerate() {
            self.runs(systems.clone(), i, |to, at, length| x.put(to, &row[at..at + length]));
        }
    }
}

/// An array that several threads write. Each thread writes only the entries of its systems.
struct SharedOutput<'a, T> {
    base: *mut T,
    len: usize,
    array: PhantomData<&'a mut [T]>,
}

// SAFETY: no two threads write the same entry, because every system belongs to one part, and every part to one thread.
unsafe impl<T: Number> Sync for SharedOutput<'_, T> {}

impl<'a, T: Copy> SharedOutput<'a, T> {
    fn new(all: &'a mut [T]) -> Self {
        Self { base: all.as_mut_ptr(), len: all.len(), array: PhantomData }
    }

    /// Write consecutive numbers, starting at entry `first`.
    fn put(&self, first: usize, values: &[T]) {
        assert!(first.checked_add(values.len()).is_some_and(|end| end <= self.len));
        // SAFETY: the range is inside the array. The array is borrowed exclusively, so `values` does not overlap it.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.base.add(first), values.len()) }
    }
}

/// Number of bytes of a row of interleaved systems that are solved together: eight cache lines of 64 bytes.
pub const BYTES_TOGETHER: usize = 512;
/// Number of systems with one matrix from which they are solved as a batch: enough for the kernel with any number type.
pub const SYSTEMS_TOGETHER: usize = 64;

/// Solve systems along the middle axis of C-contiguous arrays of shape `shape`. sub, diag and sup may also be one matrix of n rows.
///
/// `place` converts the position of a system or of a number in memory to the position in the arrays of the caller, for error messages.
#[pyfunction]
#[pyo3(signature = (shape, sub, diag, sup, rhs, place, *, method="auto", pivoting="scaled-partial", verify=true, threads=None,
    periodic=false, transpose=None, device="cpu", out=None, overwrite_rhs=false, full_output=false))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn solve_batch<'py>(
    shape: (usize, usize, usize),
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    place: &Bound<'py, PyAny>,
    method: &str,
    pivoting: &str,
    verify: bool,
    threads: Option<ThreadCount>,
    periodic: bool,
    transpose: Option<&Bound<'py, PyAny>>,
    device: &str,
    out: Option<&Bound<'py, PyAny>>,
    overwrite_rhs: bool,
    full_output: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(rhs.py())?;
    let (arrays, kind) = arguments([sub, diag, sup, rhs])?;
    let places = Places { before: shape.0, n: shape.1, after: shape.2 };
    let [one, all] = [places.n, places.len()];
    let alone = arrays[..3].iter().all(|array| array.shape() == [one]);
    if arrays[3].len() != all || !(alone || arrays[..3].iter().all(|array| array.len() == all)) {
        return Err(PyValueError::new_err("sub, diag, sup and rhs have different shapes, expected the same shape"));
    }
    let op = transpose.map_or(Ok(Op::Plain), op)?;
    if periodic && device.is_some() && !alone {
        return Err(PyValueError::new_err(
            "periodic is True, expected False: a device solves batches of open systems only",
        ));
    }
    let call = BatchCall { places, options, device: device.as_ref(), alone, periodic, op };
    with_number!(kind, batch(arrays.each_ref(), &call, place, (OutputArray::new(out, overwrite_rhs), full_output)))
}

/// Whether to solve `count` systems with the same matrix as right-hand sides of one system, not as a batch.
#[pyfunction]
pub fn solved_as_columns(count: usize) -> bool {
    count < SYSTEMS_TOGETHER
}

/// Check the arguments `out` and `overwrite_rhs` for a batch in C order. Return the array to write to, or None.
#[pyfunction]
pub fn target_of<'py>(
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    overwrite_rhs: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    fn of<'py, T: Number>(
        target: OutputArray<'_, 'py>,
        rhs: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(target.array::<T>(rhs, false)?.map(Bound::into_any))
    }
    let ([_, _, _, rhs], kind) = arguments([sub, diag, sup, rhs])?;
    with_number!(kind, of(OutputArray::new(out, overwrite_rhs), &rhs))
}

/// A batch and its options.
pub struct BatchCall<'a> {
    pub places: Places,
    pub options: CallOptions<'a>,
    pub device: Option<&'a Device>,
    /// Whether all systems have the same matrix.
    pub alone: bool,
    /// Whether the systems are periodic.
    pub periodic: bool,
    pub op: Op,
}

fn batch<'py, T: Number>(
    arrays: [&Bound<'py, PyUntypedArray>; 4],
    call: &BatchCall<'_>,
    place: &Bound<'py, PyAny>,
    (target, full_output): (OutputArray<'_, 'py>, bool),
) -> PyResult<Bound<'py, PyAny>>
where
    for<'a> TridiagonalBatch<'a, T>: Factorize<Scalar = T>,
{
    let py = arrays[3].py();
    let [sub, diag, sup, rhs] =
        [rows::<T>(arrays[0])?, rows::<T>(arrays[1])?, rows::<T>(arrays[2])?, rows::<T>(arrays[3])?];
    let matrix = [slice(&sub), slice(&diag), slice(&sup)];
    let plans = call.plans::<T>()?;
    let solve = |rhs: &[T], x: &mut [T]| detached(py, || call.solve(matrix, &plans, rhs, x));
    let (x, report) = match target.array::<T>(arrays[3], false)? {
        Some(x) => {
            let solved = CallerNumbers::of(&rhs).solve_to(CallerNumbers::of(&x), |rhs, x| Ok(solve(rhs, x)));
            (x, solved.map_err(|error| exception(py, &error))?)
        }
        None => filled(py, &[call.places.len()], false, |x| solve(slice(&rhs), x))?,
    };
    let at = |number: usize, of_entry: bool| Ok(place.call1((number, of_entry))?.str()?.to_string());
    let report = report?.map_err(|error| call.exception(py, error, at))?;
    answer(x.into_any(), numbered_by(place, report)?, full_output)
}

/// The report with the caller's numbers of the systems. `place` is that of [`solve_batch`].
pub fn numbered_by(place: &Bound<'_, PyAny>, mut report: Report) -> PyResult<Report> {
    for s in &mut report.fallback_systems {
        *s = place.call1((*s, false))?.extract()?;
    }
    report.fallback_systems.sort_unstable();
    Ok(report)
}

/// Plans for all systems, for a group of `width` systems, and for the systems of a plane.
pub struct BatchPlans {
    all: Plan,
    together: Plan,
    plane: Plan,
    /// Number of systems of a group, which are solved together.
    width: usize,
    layout: Layout,
}

impl BatchCall<'_> {
    /// Solve with matrices that have n entries in every diagonal: one matrix, or one for each system in the order of `rhs`.
    pub fn solve<T: Number>(
        &self,
        matrix: [&[T]; 3],
        plans: &BatchPlans,
        rhs: &[T],
        x: &mut [T],
    ) -> bandsolve::Result<Report>
    where
        for<'a> TridiagonalBatch<'a, T>: Factorize<Scalar = T>,
    {
        let Places { before, n, after } = self.places;
        match (self.alone, before == 1, after == 1) {
            _ if rhs.is_empty() => whole(([&[]; 3], plans.layout), (&plans.all, None), self.op, rhs, x),
            (false, _, true) => whole((matrix, Layout::Contiguous), (&plans.all, self.device), self.op, rhs, x),
            (false, true, _) => whole((matrix, Layout::Interleaved), (&plans.all, self.device), self.op, rhs, x),
            (true, _, true) => {
                let [sub, diag, sup] = matrix;
                let a = TridiagonalBatch::shared(before, n, Layout::Contiguous, sub, diag, sup)?;
                once(&in_kind(a, self.periodic), (&plans.all, None), self.op, rhs, x)
            }
            (true, ..) if after >= SYSTEMS_TOGETHER => by_planes(matrix, (plans, self), rhs, x),
            _ => gathered(matrix, (plans, self), rhs, x),
        }
    }

    /// The exception for an error. `place` converts the number of a system, or the position of an entry in memory if its second argument is true,
    /// to the position in the arrays of the caller.
    pub fn exception(&self, py: Python<'_>, error: Error, place: impl Fn(usize, bool) -> PyResult<String>) -> PyErr {
        let n = self.places.n;
        match error {
            Error::Singular { .. } | Error::NotDefinite { .. } if self.alone => {
                exception(py, &error.with_row(|row| row % n))
            }
            Error::NotFinite { array, index } if self.alone && array != "rhs" => {
                exception(py, &Error::NotFinite { array, index })
            }
            Error::NotFinite { array, index } => match place(index, true) {
                Ok(at) => PyValueError::new_err(format!("{array}[{at}] is not finite")),
                Err(error) => error,
            },
            error => of_system(py, &error, n, |s| place(s, false)),
        }
    }

    /// Plans for the batch and its parts.
    pub fn plans<T: Number>(&self) -> PyResult<BatchPlans> {
        let Places { n, after, .. } = self.places;
        let count = self.places.count();
        let (layout, width) = match after {
            1 => (Layout::Contiguous, SYSTEMS_TOGETHER),
            _ => (Layout::Interleaved, BYTES_TOGETHER / size_of::<T>()),
        };
        let periodic = self.periodic;
        let plan = |count: usize| self.options.plan(Plan::once(Shape::Batch { count, n, layout, periodic }));
        let (together, plane) = (plan(width)?.threads(1), plan(after)?);
        Ok(BatchPlans { all: plan(count)?, together, plane, width, layout })
    }

    /// Number of threads that solve groups.
    fn tasks(&self) -> usize {
        tasks(self.options.thread_count(), self.places.len())
    }
}

/// Solve systems that are stored as a batch.
fn whole<T: Number>(
    ([sub, diag, sup], layout): ([&[T]; 3], Layout),
    on: (&Plan, Option<&Device>),
    op: Op,
    rhs: &[T],
    x: &mut [T],
) -> bandsolve::Result<Report>
where
    for<'a> TridiagonalBatch<'a, T>: Factorize<Scalar = T>,
{
    let Shape::Batch { count, n, periodic, .. } = on.0.shape() else { unreachable!("a plan for batches") };
    once(&in_kind(TridiagonalBatch::new(count, n, layout, sub, diag, sup)?, periodic), on, op, rhs, x)
}

/// The batch with open or periodic systems.
fn in_kind<T: Number>(a: TridiagonalBatch<'_, T>, periodic: bool) -> TridiagonalBatch<'_, T> {
    if periodic { a.periodic() } else { a }
}

/// A list of zeros.
pub fn zeros<T: Number>(count: usize) -> bandsolve::Result<Vec<T>> {
    let mut list = room(count)?;
    list.resize(count, T::ZERO);
    Ok(list)
}

/// The result of every part.
type Outcomes = Vec<Option<bandsolve::Result<Report>>>;

fn outcomes(parts: usize) -> bandsolve::Result<Outcomes> {
    let mut list = room(parts)?;
    list.resize_with(parts, || None);
    Ok(list)
}

/// Combine the reports of all parts, or return the first error.
fn joined(parts: Outcomes) -> bandsolve::Result<Report> {
    let mut parts = parts.into_iter().flatten();
    let mut all = parts.next().expect("a part")?;
    for part in parts {
        all.take_systems(&part?);
    }
    Ok(all)
}

/// Solve systems with the same matrix along a middle axis, plane by plane. Each plane is an interleaved batch of its own.
fn by_planes<T: Number>(
    [sub, diag, sup]: [&[T]; 3],
    (plans, call): (&BatchPlans, &BatchCall<'_>),
    rhs: &[T],
    x: &mut [T],
) -> bandsolve::Result<Report>
where
    for<'a> TridiagonalBatch<'a, T>: Factorize<Scalar = T>,
{
    let Places { before, n, after } = call.places;
    let a = in_kind(TridiagonalBatch::shared(after, n, Layout::Interleaved, sub, diag, sup)?, call.periodic);
    // Many planes are shared among the threads, and so are the systems of a few planes.
    let many = before >= 2 * call.tasks();
    let plan = if many { plans.plane.clone().threads(1) } else { plans.plane.clone() };
    let (factor, tasks) = (plan.factor(&a)?, if many { call.tasks() } else { 1 });
    each_plane(call.places, tasks, (rhs, x), &|_, rhs, x| solve_by(&factor, call.op, rhs, x))
}

/// Solve the systems of each plane by `solve(plane, rhs, x)`. `tasks` planes are solved at the same time.
pub fn each_plane<T: Number>(
    Places { before, n, after }: Places,
    tasks: usize,
    (rhs, x): (&[T], &mut [T]),
    solve: &(impl Fn(usize, &[T], &mut [T]) -> bandsolve::Result<Report> + Sync),
) -> bandsolve::Result<Report> {
    let plane = n * after;
    let mut results = outcomes(before)?;
    spread(tasks, 0..before, (RowsOf(x, plane), &mut results[..]), &|range, (RowsOf(x, _), results)| {
        for ((p, x), result) in range.zip(x.chunks_mut(plane)).zip(results) {
            let solved = solve(p, &rhs[p * plane..(p + 1) * plane], x);
            let solved = solved.map(|report| renumbered(report, |s| p * after + s));
            *result = Some(solved.map_err(|error| match error {
                Error::NotFinite { array: "rhs", index } => Error::NotFinite { array: "rhs", index: p * plane + index },
                other => other.with_row(|row| p * plane + row),
            }));
        }
    });
    joined(results)
}

/// The report with other numbers of the systems, in the same order. The last numbers may become the same.
fn renumbered(mut report: Report, number: impl Fn(usize) -> usize) -> Report {
    report.fallback_systems.iter_mut().for_each(|s| *s = number(*s));
    report.fallback_systems.dedup();
    report
}

/// Solve systems along a middle axis. Each thread copies groups of systems to interleaved storage.
fn gathered<T: Number>(
    matrix: [&[T]; 3],
    (plans, call): (&BatchPlans, &BatchCall<'_>),
    rhs: &[T],
    x: &mut [T],
) -> bandsolve::Result<Report>
where
    for<'a> TridiagonalBatch<'a, T>: Factorize<Scalar = T>,
{
    let width = plans.width;
    let shared = match matrix {
        [sub, diag, sup] if call.alone => {
            let a = TridiagonalBatch::shared(width, call.places.n, Layout::Interleaved, sub, diag, sup)?;
            Some(plans.together.factor_owned(in_kind(a, call.periodic))?)
        }
        _ => None,
    };
    let groups = Groups { places: call.places, width, tasks: call.tasks(), fill: true, matrices: shared.is_none() };
    groups.each((rhs, x), &|memory| match &shared {
        Some(factor) => solve_by(factor, call.op, &memory.rhs, &mut memory.x),
        None => {
            memory.take_matrices(matrix);
            let arrays = ([&memory.sub[..], &memory.diag, &memory.sup], Layout::Interleaved);
            whole(arrays, (&plans.together, None), call.op, &memory.rhs, &mut memory.x)
        }
    })
}

/// Groups of systems, which are copied to interleaved storage.
#[derive(Debug, Clone, Copy)]
pub struct Groups {
    pub places: Places,
    /// Number of systems of a group.
    pub width: usize,
    /// Number of groups that are solved at the same time.
    pub tasks: usize,
    /// Whether copies of the last system fill the last group. Else the last group may have fewer systems.
    pub fill: bool,
    /// Whether the matrices of a group are copied, too. The positions in errors are then those of copied matrices.
    pub matrices: bool,
}

impl Groups {
    /// Copy the right-hand sides of each group, call `solve`, and copy x back. Each thread has memory of its own.
    pub fn each<T: Number>(
        self,
        (rhs, x): (&[T], &mut [T]),
        solve: &(impl Fn(&mut GatheredSystems<T>) -> bandsolve::Result<Report> + Sync),
    ) -> bandsolve::Result<Report> {
        let Self { places, width, tasks, matrices, .. } = self;
        let mut results = outcomes(places.count().div_ceil(width))?;
        let (parts, x) = (results.len(), SharedOutput::new(x));
        spread(tasks, 0..parts, &mut results[..], &|range, results| {
            let mut memory = GatheredSystems::new(self);
            for (part, result) in range.zip(results) {
                let solved = memory.as_mut().map_err(|error| error.clone()).and_then(|memory| {
                    memory.take(part, rhs);
                    let report = solve(memory).map_err(|error| memory.in_place(error, !matrices))?;
                    places.scatter(&memory.x, memory.systems.clone(), &x, memory.width);
                    Ok(renumbered(report, |s| memory.number(s)))
                });
                *result = Some(solved);
            }
        });
        joined(results)
    }
}

/// The memory of a thread for one group of systems, interleaved.
pub struct GatheredSystems<T> {
    groups: Groups,
    /// Number of systems in memory, with those that fill the group.
    width: usize,
    /// The systems of the current group.
    pub systems: Range<usize>,
    sub: Vec<T>,
    diag: Vec<T>,
    sup: Vec<T>,
    pub rhs: Vec<T>,
    pub x: Vec<T>,
}

impl<T: Number> GatheredSystems<T> {
    /// Allocate memory for right-hand sides and, if each system has its own matrix, for matrices.
    fn new(groups: Groups) -> bandsolve::Result<Self> {
        let Groups { places, width, matrices, .. } = groups;
        let (all, some) = (places.n * width, if matrices { places.n * width } else { 0 });
        let (sub, diag, sup) = (zeros(some)?, zeros(some)?, zeros(some)?);
        Ok(Self { groups, width, systems: 0..0, sub, diag, sup, rhs: zeros(all)?, x: zeros(all)? })
    }

    /// Copy the right-hand sides of a part.
    fn take(&mut self, part: usize, rhs: &[T]) {
        let Groups { places, width, fill, .. } = self.groups;
        self.systems = part * width..((part + 1) * width).min(places.count());
        self.width = if fill { width } else { self.systems.len() };
        for list in [&mut self.rhs, &mut self.x] {
            list.resize(places.n * self.width, T::ZERO);
        }
        places.gather(rhs, self.systems.clone(), &mut self.rhs, self.width);
    }

    /// Copy the matrices of the current group.
    fn take_matrices(&mut self, [sub, diag, sup]: [&[T]; 3]) {
        for (from, to) in [(sub, &mut self.sub), (diag, &mut self.diag), (sup, &mut self.sup)] {
            self.groups.places.gather(from, self.systems.clone(), to, self.width);
        }
    }

    /// The number in the whole batch of system `k` of the group.
    fn number(&self, k: usize) -> usize {
        self.systems.start + k.min(self.systems.len() - 1)
    }

    /// Convert the positions in an error to positions in the whole batch.
    fn in_place(&self, error: Error, alone: bool) -> Error {
        let n = self.groups.places.n;
        match error {
            Error::NotFinite { array, .. } if alone && array != "rhs" => error,
            Error::NotFinite { array, index } => {
                let (i, s) = (index / self.width, self.number(index % self.width));
                Error::NotFinite { array, index: self.groups.places.place(s, i) }
            }
            other => other.with_row(|row| self.number(row / n) * n + row % n),
        }
    }
}
