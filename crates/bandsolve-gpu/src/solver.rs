//! RPTS on a device: Klein's recursive partitioned Schur complement.

use crate::cut::{ALONE_AT_MOST, Cut, Kind, Rows, System, THREADS, batch, levels, spike_levels};
use crate::device::{Device, DeviceSlice, DeviceSliceMut, DeviceVec, Element, check_len};
use crate::factored::{Factored, LevelFactors};
use crate::launch::{Arguments, Coarse, Columns, Peaks, Rule};
use crate::matrix::{Blocks, Matrix, Source};
use crate::scan::Scan;
use crate::sparse::Rhs;
use crate::tuned::Sizes;
use bandsolve::direct::contract::{ACCEPTED_AT_ONCE, MAX_REFINEMENTS, good};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{
    Banded, BlockTridiagonal, Error, Factor, Factorize, Layout, Method, Op, Pivoting, Plan, Report, Result, Shape,
    Tridiagonal,
};

/// Rows of the largest blocks.
const MOST_ROWS: usize = 4;

/// The system of a level below the first; the solution takes the place of the right-hand sides.
#[derive(Debug)]
struct Level<T> {
    bands: [DeviceVec<T>; 3],
    rhs: DeviceVec<T>,
}

/// Who solves a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// The whole device, level by level; the last level a block of threads, on chip.
    Levels,
    /// A thread each system of a contiguous batch, in shared memory.
    Alone,
    /// A thread each system of an interleaved batch.
    Interleaved,
    /// Recurrences over all rows, in one pass each.
    Scan,
    /// A block of threads each system of a contiguous batch, by cyclic reduction.
    Cyclic,
}

/// Levels that the kernel for systems which fit the whole device knows (`card.cuh`).
const MOST_LEVELS: usize = 5;

/// A system that fits the shared memory of the whole device, as the kernel sees it (`card.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Card {
    levels: u32,
    before: u32,
    arrived: u64,
    cuts: [Cut; MOST_LEVELS],
    below: [Coarse; MOST_LEVELS],
    peaks: [Peaks; MOST_LEVELS],
}

/// Solves systems of one shape on a device: tridiagonal (also periodic, or batches of them), block tridiagonal with up to 4 rows a
/// block, and banded with up to 4 diagonals on either side.
///
/// It owns the memory for what is left of the system on coarser levels; nothing is allocated by a solve, unless it has to be
/// refined.
///
/// # Cost
/// With M = 31 rows a partition, in numbers a row of a tridiagonal system with one right-hand side: reads 8 and writes 1, and
/// 2/31 of that for each further level; memory for 4·(2/31 + (2/31)² + …).
///
/// # Source
/// Klein, dissertation, 2.5 and 2.6.
#[derive(Debug)]
pub struct Solver<T: Element> {
    device: Device,
    plan: Plan,
    route: Route,
    method: Method,
    /// Threads of a block that eliminates.
    threads: u32,
    block: usize,
    most_columns: usize,
    /// Level by level, with the kernels for it.
    cuts: Vec<(Cut, Kind)>,
    levels: Vec<Level<T>>,
    /// Factors of all levels but the last, if they are kept.
    factors: Vec<LevelFactors<T>>,
    /// What solving an interleaved batch keeps on the way.
    kept: DeviceVec<T>,
    /// Largest backward error, |x| and |right-hand side| of every column, as bits, level by level.
    peaks: DeviceVec<u8>,
    /// Bytes of shared memory to solve in one launch, if that is possible, and what its blocks of threads meet at.
    card: Option<(usize, DeviceVec<u32>)>,
    scan: Option<Scan<T>>,
}

impl<T: Element> Solver<T> {
    /// Takes the memory to solve systems of the plan's shape with up to `n_rhs` right-hand sides. Of the plan it follows the method
    /// (`Auto` is `Rpts`; scalar systems also by `SpikeThomas` and `SpikeDiagonalPivoting`, tridiagonal ones by `SpikeCr`, open
    /// ones by `CfLu` and `ParallelDiagonalPivoting`, contiguous batches by `Cr` or `Pcr`, which are one hybrid), pivoting, noise threshold, verification and rows of a partition.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for systems of another kind, or with 2³¹ rows and more; [`Error::Device`] if there is no memory.
    pub fn new(device: &Device, plan: &Plan, n_rhs: usize) -> Result<Self> {
        Self::with_sizes(device, plan, n_rhs, device.sizes(T::NAME))
    }

    /// The same with sizes other than those measured on the device.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_sizes(device: &Device, plan: &Plan, n_rhs: usize, sizes: Sizes) -> Result<Self> {
        let unsupported = |what| Err(Error::Unsupported { method: plan.asked_method().name(), what });
        let (block, n, periodic, systems) = match plan.shape() {
            Shape::Tridiagonal { n, periodic } => (1, n, periodic, 1),
            Shape::BlockTridiagonal { block_rows, block, periodic } => (block, block_rows, periodic, 1),
            Shape::Banded { n, lower, upper } => {
                let block = lower.max(upper).max(1);
                (block, n.div_ceil(block), false, 1)
            }
            Shape::Batch { n, count, .. } => (1, n, false, count),
        };
        if block > MOST_ROWS || block == 0 {
            return unsupported("blocks of more than 4 rows, or more than 4 diagonals on either side, on a GPU");
        }
        let open = matches!(plan.shape(), Shape::Tridiagonal { periodic: false, .. });
        let contiguous = matches!(plan.shape(), Shape::Batch { layout: Layout::Contiguous, .. });
        let method = match plan.asked_method() {
            Method::Auto | Method::Rpts => Method::Rpts,
            scalar @ (Method::SpikeThomas | Method::SpikeDiagonalPivoting) if block == 1 => scalar,
            cyclic @ (Method::Cr | Method::Pcr) if contiguous => cyclic,
            Method::SpikeCr if matches!(plan.shape(), Shape::Tridiagonal { .. }) => Method::SpikeCr,
            scan @ (Method::CfLu | Method::ParallelDiagonalPivoting) if open => scan,
            _ => return unsupported("systems of this kind on a GPU"),
        };
        let route = match plan.shape() {
            _ if matches!(method, Method::CfLu | Method::ParallelDiagonalPivoting) => Route::Scan,
            _ if matches!(method, Method::Cr | Method::Pcr) => Route::Cyclic,
            Shape::Batch { layout: Layout::Interleaved, .. } => Route::Interleaved,
            Shape::Batch { n, .. } if n <= ALONE_AT_MOST => Route::Alone,
            _ => Route::Levels,
        };
        let banded = matches!(plan.shape(), Shape::Banded { .. });
        let together = n_rhs > 2 && block == 1 && !banded && route == Route::Levels;
        // Eight complex ones would not fit the registers.
        let on_chip = if together { sizes.rhs_on_chip.min(if T::COMPLEX { 4 } else { 8 }) } else { 1 };
        let kind = Kind { block, on_chip, bytes: size_of::<T>() };
        if route == Route::Cyclic && kind.lines_bytes(n, 1) > device.limits().shared_per_block {
            return unsupported("systems that are too large for a block of threads of a GPU");
        }
        let system = System { n, rows: plan.shape().n(), periodic, columns: n_rhs, systems };
        let cuts = if n * systems * n_rhs == 0 {
            Vec::new()
        } else if route == Route::Scan {
            vec![(batch(system, kind, &device.limits(), false)?, kind)]
        } else if route != Route::Levels {
            vec![(batch(system, kind, &device.limits(), route == Route::Interleaved)?, kind)]
        } else {
            let rows = Rows { asked: plan.options().partition_rows, large: sizes.partition_rows };
            match method {
                Method::SpikeCr => spike_levels(system, kind, &device.limits(), rows)?,
                _ => levels(system, kind, &device.limits(), rows)?,
            }
        };
        let level = |(cut, _): &(Cut, Kind)| {
            let blocks = cut.n as usize * systems;
            let array = |numbers| device.zeros(numbers);
            let bands =
                [array(blocks * block * block)?, array(blocks * block * block)?, array(blocks * block * block)?];
            Ok(Level { bands, rhs: array(blocks * block * n_rhs)? })
        };
        let coarse = cuts.iter().skip(1).map(level).collect::<Result<_>>()?;
        let kept = match (route, cuts.first()) {
            (Route::Interleaved, Some((cut, kind))) => kind.interleaved_kept(cut),
            _ => 0,
        };
        let kept = device.zeros(kept)?;
        let scan = match route {
            Route::Scan if !cuts.is_empty() => Some(Scan::new(device, n, method != Method::CfLu)?),
            _ => None,
        };
        let peaks = device.zeros(Peaks::KINDS * cuts.len() * n_rhs * systems * T::REAL_BYTES)?;
        let card = match (route, n_rhs, systems, block) {
            (Route::Levels, 1, 1, 1..=2) if !banded && method != Method::SpikeCr => fits_card::<T>(device, &cuts)?,
            _ => None,
        };
        let threads = sizes.threads;
        let (device, plan) = (device.clone(), plan.clone());
        Ok(Self {
            card,
            scan,
            threads,
            device,
            plan,
            route,
            method,
            block,
            most_columns: n_rhs,
            cuts,
            levels: coarse,
            factors: Vec::new(),
            kept,
            peaks,
        })
    }

    /// Whether systems fit the device as a whole: their rows are read once, and solved in one launch.
    pub fn in_one_launch(&self) -> bool {
        self.card.is_some() && self.factors.is_empty()
    }

    /// Rows of a partition, level by level.
    pub fn partition_rows(&self) -> Vec<usize> {
        self.cuts.iter().map(|(cut, _)| cut.m as usize).collect()
    }

    /// Right-hand sides that it has memory for.
    pub fn n_rhs(&self) -> usize {
        self.most_columns
    }

    /// Bytes of memory that it owns on the device.
    pub fn bytes(&self) -> usize {
        let factors = self.factors.iter().map(LevelFactors::bytes).sum::<usize>();
        let factors = factors + self.scan.as_ref().map_or(0, Scan::bytes);
        let level = |level: &Level<T>| level.bands.iter().chain([&level.rhs]).map(DeviceVec::len).sum::<usize>();
        (self.levels.iter().map(level).sum::<usize>() + self.kept.len()) * size_of::<T>() + self.peaks.len() + factors
    }

    /// Solves op(A)·x = rhs under the accuracy contract of `bandsolve`: the backward error is measured as x is written; above 8ε
    /// an answer is refined on the device, and at last solved again by the sequential pivoted method of the host, for which all
    /// is copied there and back. The report says so.
    ///
    /// # Shapes
    /// `rhs` and `x`: columns of as many numbers as the shape has rows, up to as many columns as there is memory for.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Device`]; those of the host's method, if it was tried.
    pub fn solve<'a>(
        &'a mut self,
        a: Matrix<'a, T>,
        rhs: impl Into<DeviceSlice<'a, T>>,
        x: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<Report> {
        self.start(a, rhs, x)?.wait()
    }

    /// The same, but returns when the kernels have been handed to the device's stream. The answer is verified, and repaired where
    /// it has to be, when the handle is waited for.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Device`].
    pub fn start<'a>(
        &'a mut self,
        a: Matrix<'a, T>,
        rhs: impl Into<DeviceSlice<'a, T>>,
        x: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<Pending<'a, T>> {
        let (rhs, x) = (rhs.into(), x.into());
        check_len("x", rhs.len(), x.as_slice().len())?;
        self.prepare(rhs.len(), "rhs")?;
        let pending = Pending::new(self, a, rhs, x)?;
        if !pending.rhs.is_empty() {
            let given = pending.solver.dense(pending.rhs);
            pending.solver.enqueue(pending.source, given, pending.x.as_slice())?;
        }
        Ok(pending)
    }

    /// Looks at the length of an array of columns, called `what`, and gets ready for as many; returns how many there are.
    pub(crate) fn prepare(&mut self, len: usize, what: &'static str) -> Result<usize> {
        let columns = self.shape().n_rhs(what, len)?;
        if columns > self.most_columns {
            return Err(Error::Shape { what, expected: self.shape().rows() * self.most_columns, got: len });
        }
        self.cuts.iter_mut().for_each(|(cut, _)| cut.columns = columns as u32);
        Ok(columns)
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn shape(&self) -> Shape {
        self.plan.shape()
    }

    /// Solves, and returns the report if nothing has to be repaired.
    pub(crate) fn solve_unrepaired(
        &mut self,
        source: Source,
        rhs: Rhs,
        x: DeviceSlice<'_, T>,
    ) -> Result<Option<Report>> {
        if x.is_empty() {
            return Ok(Some(self.gathered(&[], None)));
        }
        self.enqueue(source, rhs, x)?;
        if !self.plan.options().verify {
            self.device.synchronize()?;
            return Ok(Some(self.gathered(&[], None)));
        }
        let errors = self.errors()?;
        let good = errors.iter().all(|error| *error <= ACCEPTED_AT_ONCE * good::<T>());
        Ok(good.then(|| self.gathered(&errors, None)))
    }

    /// A report with these backward errors, and what was done according to another one.
    pub(crate) fn gathered(&self, errors: &[f64], done: Option<Report>) -> Report {
        let reason = format!("solved on {}", self.device.name());
        let verified = self.plan.options().verify.then_some(errors);
        let mut report = Report::external(self.method, &reason, verified);
        if let Some(done) = done {
            (report.refinement_steps, report.fallback) = (done.refinement_steps, done.fallback);
        }
        report
    }

    fn dense(&self, slice: DeviceSlice<'_, T>) -> Rhs {
        Rhs::Dense(Columns { first: slice.address(), step: self.step() })
    }

    /// Factors a tridiagonal or block tridiagonal matrix, open or periodic, or a contiguous batch, to solve with it again and
    /// again.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other matrices, [`Error::Shape`], [`Error::Device`].
    pub fn factor<'a>(mut self, a: Matrix<'a, T>) -> Result<Factored<'a, T>> {
        let blocks = a.source(self.plan.shape())?;
        let (Source::Blocks(top), true) = (blocks, self.partitions_are_lanes()) else {
            return Err(Error::Unsupported {
                method: "factors on a GPU",
                what: "banded matrices or interleaved batches",
            });
        };
        let mut source = top;
        for k in 0..self.levels.len() {
            let (cut, kind) = &self.cuts[k];
            let kept = LevelFactors::new(&self.device, &self.cuts[k])?;
            let (cut, one) = (Cut { columns: 1, ..*cut }, Kind { on_chip: 1, ..*kind });
            let coarse = self.coarse(k + 1);
            let arguments =
                Arguments::new(&cut).with(source).with(coarse).with(kept.addresses()).with(rule(&self.plan));
            let (blocks, name) =
                (cut.spans as usize * cut.systems as usize, format!("factor_{}_{}_1", T::NAME, self.block));
            // SAFETY: what the kernel takes; the arrays are as long as the cut says, or were looked at by `source`.
            unsafe { arguments.launch(&self.device, &name, blocks, one.reduce_bytes(&cut)) }?;
            self.factors.push(kept);
            source = Blocks::new(coarse.arrays, Op::Plain);
        }
        Ok(Factored::new(self, a))
    }

    /// Whether systems are solved level by level, a partition a lane.
    pub(crate) fn partitions_are_lanes(&self) -> bool {
        self.route == Route::Levels && self.method != Method::SpikeCr
    }

    /// The system of a level below the first.
    fn coarse(&self, k: usize) -> Coarse {
        let (level, cut) = (&self.levels[k - 1], &self.cuts[k].0);
        let step = u64::from(cut.n) * u64::from(cut.systems) * self.block as u64;
        let d = Columns { first: level.rhs.slice(..).address(), step };
        Coarse { arrays: level.bands.each_ref().map(|band| band.slice(..).address()), d }
    }

    fn step(&self) -> u64 {
        self.plan.shape().rows() as u64
    }

    /// The peaks of a level, or none if nothing is to be verified.
    fn peaks(&self, level: usize) -> Peaks {
        if !self.plan.options().verify {
            return Peaks { gap: 0, size: 0, rhs: 0 };
        }
        let columns = self.columns();
        let before = level * Peaks::KINDS * columns * T::REAL_BYTES;
        Peaks::at(self.peaks.slice(before..).address(), columns, T::REAL_BYTES)
    }

    /// Columns of all systems.
    fn columns(&self) -> usize {
        self.cuts[0].0.all_columns()
    }

    /// Hands the kernels to the stream: x is solved for, and what is found out about it is in the peaks of level 0.
    pub(crate) fn enqueue(&mut self, source: Source, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        if self.plan.options().verify {
            self.peaks.slice_mut(..).clear()?;
        }
        match (self.route, source, rhs) {
            (Route::Levels, Source::Blocks(_), Rhs::Dense(_)) if self.card.is_some() && self.factors.is_empty() => {
                self.enqueue_card(source, rhs, x)
            }
            (Route::Levels, ..) => self.enqueue_levels(source, rhs, x),
            (Route::Scan, Source::Blocks(source), Rhs::Dense(rhs)) => self.enqueue_scan(source, rhs, x),
            _ => self.enqueue_batch(source, rhs, x),
        }
    }

    /// Pivots by their recurrence, once; then forwards and backwards, one right-hand side after the other.
    fn enqueue_scan(&mut self, source: Blocks, rhs: Columns, x: DeviceSlice<'_, T>) -> Result<()> {
        let (cut, peaks) = (self.cuts[0].0, self.peaks(0));
        let (device, step) = (self.device.clone(), self.step());
        let Some(scan) = &mut self.scan else { return Ok(()) };
        let head = || Arguments::new(&cut).with(source);
        scan.factor(&device, &head)?;
        for column in 0..cut.columns {
            let at = |first: u64| first + u64::from(column) * step * size_of::<T>() as u64;
            scan.solve(&device, &head, [at(rhs.first), at(x.address())], (peaks, column))?;
        }
        if peaks.gap == 0 {
            return Ok(());
        }
        let x = Columns { first: x.address(), step: self.step() };
        let nowhere = Columns { first: 0, step: 0 };
        let arguments = Arguments::new(&cut).with(source).with(rhs).with(x).with(nowhere).with(peaks);
        // SAFETY: what the kernel takes; the arrays were looked at by `source` and `start`.
        unsafe { arguments.launch(&self.device, &format!("residual_{}_1", T::NAME), self.blocks_by_rows(), 0) }
    }

    /// A thread, or a block of them, each system.
    fn enqueue_batch(&self, source: Source, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        let (cut, kind) = &self.cuts[0];
        let x = Columns { first: x.address(), step: self.step() };
        let arguments = rhs.with(source.with(Arguments::new(cut)).0).0.with(x);
        // SAFETY: what the kernels take; the arrays are as long as the cut says, and were looked at by `source` and `start`.
        unsafe {
            if self.route == Route::Cyclic {
                let arguments = arguments.with(self.peaks(0)).with(rule(&self.plan));
                let shared = kind.lines_bytes(cut.n as usize, 1);
                return arguments.launch(&self.device, &format!("cyclic_{}", T::NAME), cut.all_columns(), shared);
            }
            if self.route == Route::Alone {
                let arguments = arguments.with(self.peaks(0)).with(rule(&self.plan));
                let (blocks, shared) = (cut.spans as usize * cut.columns as usize, kind.alone_bytes(cut));
                return arguments.launch(&self.device, &format!("alone_{}", T::NAME), blocks, shared);
            }
            let arguments = arguments.with(self.kept.slice(..).address()).with(self.peaks(0)).with(rule(&self.plan));
            let (threads, shared) = kind.interleaved_block(&self.device.limits());
            let blocks = cut.all_columns().div_ceil(threads as usize);
            arguments.launch_blocks(&self.device, &format!("interleaved_{}", T::NAME), (blocks, threads), shared)
        }
    }

    /// In one launch: the rows stay on chip while the coarse system is solved.
    fn enqueue_card(&mut self, source: Source, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        let shape = self.step();
        let last = self.levels.len();
        let (cut, kind) = self.cuts[0];
        let cuts = core::array::from_fn(|k| self.cuts[k.min(last)].0);
        let below = core::array::from_fn(|k| self.coarse((k + 1).min(last)));
        let peaks = core::array::from_fn(|k| self.peaks(k.min(last)));
        let before = (kind.substitute_bytes(&cut) / size_of::<T>()) as u32;
        let Some((shared, arrived)) = &mut self.card else { return Ok(()) };
        arrived.slice_mut(..).clear()?;
        let arrived = arrived.slice(..).address();
        let all = Card { levels: last as u32 + 1, before, arrived, cuts, below, peaks };
        let arguments = rhs.with(source.with(Arguments::default().with(all)).0).0;
        let arguments = arguments.with(Columns { first: x.address(), step: shape }).with(rule(&self.plan));
        let name = format!("card_{}_{}", T::NAME, self.block);
        // SAFETY: what the kernel takes; the arrays are as long as the cuts say, or were looked at by `source` and `start`.
        unsafe { arguments.launch_together(&self.device, &name, cut.spans as usize, *shared) }
    }

    /// Level by level.
    fn enqueue_levels(&self, source: Source, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        let last = self.levels.len();
        let x = Columns { first: x.address(), step: self.step() };
        // What is solved on level k: matrix, right-hand sides, and where the solution goes.
        let system = |k: usize| {
            if k == 0 {
                return (source, rhs, x);
            }
            let Coarse { arrays, d } = self.coarse(k);
            (Source::Blocks(Blocks::new(arrays, Op::Plain)), Rhs::Dense(d), d)
        };
        for k in 0..last {
            let ((source, rhs, _), coarse) = (system(k), self.coarse(k + 1));
            if k == 0 && self.method == Method::SpikeCr {
                self.launch_spike("spikereduce", source, rhs, 3, |head| head.with(coarse).with(rule(&self.plan)))?;
            } else if let Some(factors) = self.factors.get(k) {
                let tail = |head: Arguments| head.with(coarse.d).with(factors.addresses());
                self.launch("reducefactored", k, (None, rhs), Kind::vector_bytes, tail)?;
            } else {
                let tail = |head: Arguments| head.with(coarse).with(rule(&self.plan));
                self.launch("reduce", k, (Some(source), rhs), Kind::reduce_bytes, tail)?;
            }
        }
        let (end, rhs, out) = system(last);
        let tail = |head: Arguments| head.with(out).with(self.peaks(last)).with(rule(&self.plan));
        self.launch("finish", last, (Some(end), rhs), Kind::finish_bytes, tail)?;
        for k in (0..last).rev() {
            let ((source, rhs, out), y) = (system(k), self.coarse(k + 1).d);
            let ends = |head: Arguments| head.with(self.peaks(k + 1)).with(self.peaks(k)).with(rule(&self.plan));
            if k == 0 && self.method == Method::SpikeCr {
                self.launch_spike("spikesubstitute", source, rhs, 1, |head| ends(head.with(y).with(out)))?;
            } else if let Some(factors) = self.factors.get(k) {
                let tail = |head: Arguments| ends(head.with(y).with(out).with(factors.addresses()));
                self.launch("substitutefactored", k, (Some(source), rhs), Kind::vector_bytes, tail)?;
            } else {
                let tail = |head: Arguments| ends(head.with(y).with(out));
                self.launch("substitute", k, (Some(source), rhs), Kind::substitute_bytes, tail)?;
            }
        }
        Ok(())
    }

    /// Launches a kernel for partitions that are a block of threads each, with so many right-hand sides in shared memory.
    fn launch_spike(
        &self,
        kernel: &str,
        source: Source,
        rhs: Rhs,
        on_chip: usize,
        tail: impl FnOnce(Arguments) -> Arguments,
    ) -> Result<()> {
        let (cut, kind) = &self.cuts[0];
        let arguments = tail(rhs.with(source.with(Arguments::new(cut)).0).0);
        let (blocks, shared) = (cut.spans as usize * cut.columns as usize, kind.lines_bytes(cut.m as usize, on_chip));
        // SAFETY: what the kernel takes; the arrays are as long as the cut says, or were looked at by `source` and `start`.
        unsafe { arguments.launch(&self.device, &format!("{kernel}_{}", T::NAME), blocks, shared) }
    }

    /// Launches a kernel for the partitions of a level; its arguments are the cut, the matrix if it takes one, right-hand
    /// sides, and a tail.
    fn launch(
        &self,
        kernel: &str,
        level: usize,
        (source, rhs): (Option<Source>, Rhs),
        shared: fn(&Kind, &Cut) -> usize,
        tail: impl FnOnce(Arguments) -> Arguments,
    ) -> Result<()> {
        let (cut, kind) = &self.cuts[level];
        // Kernels with factors exist for one right-hand side on chip.
        let kind = if kernel.ends_with("factored") { Kind { on_chip: 1, ..*kind } } else { *kind };
        let Kind { block, on_chip, .. } = kind;
        let blocks = cut.spans as usize * cut.systems as usize * (cut.columns as usize).div_ceil(on_chip);
        let head = Arguments::new(cut);
        let (arguments, ending) = match source {
            Some(source) => source.with(head),
            None => (head, ""),
        };
        let (arguments, rhs_ending) = rhs.with(arguments);
        let name = format!("{kernel}_{}_{block}_{on_chip}{ending}{rhs_ending}", T::NAME);
        let size = (blocks, self.threads);
        // SAFETY: what the kernel takes; the arrays are as long as the cut says, or were looked at by `source` and `start`.
        unsafe { tail(arguments).launch_blocks(&self.device, &name, size, shared(&kind, cut)) }
    }

    /// Blocks of threads of a kernel with a thread for every number of x.
    fn blocks_by_rows(&self) -> usize {
        self.cuts[0].0.rows.div_ceil(THREADS) as usize * self.columns()
    }

    /// So many bytes of the peaks of the first level.
    pub(crate) fn first_peaks(&self, bytes: usize) -> Result<Vec<u8>> {
        self.peaks.slice(..bytes).download()
    }

    /// Backward errors of every column; infinite where x is so much larger than the right-hand side that a pivot that was zero is
    /// the likely cause.
    fn errors(&self) -> Result<Vec<f64>> {
        let [mut errors, sizes, rhs] = [0, 1, 2].map(|kind| read_peaks::<T>(&self.peaks, kind, self.columns()));
        for ((error, size), rhs) in errors.iter_mut().flatten().zip(sizes?).zip(rhs?) {
            if !(size <= rhs * T::IMPLAUSIBLE) {
                *error = f64::INFINITY;
            }
        }
        errors
    }
}

/// Bytes of shared memory that a block of threads takes for a system that the device solves in one launch, and memory for what
/// its blocks meet at; `None` if not all of them can run at the same time.
fn fits_card<T: Element>(device: &Device, levels: &[(Cut, Kind)]) -> Result<Option<(usize, DeviceVec<u32>)>> {
    let Some((top, below)) = levels.split_first().filter(|(_, below)| !below.is_empty()) else { return Ok(None) };
    let bytes = |(k, (cut, kind)): (usize, &(Cut, Kind))| match k + 1 == below.len() {
        true => kind.finish_bytes(cut),
        false => kind.substitute_bytes(cut),
    };
    let rest = below.iter().enumerate().map(bytes).max().unwrap_or(0);
    let shared = top.1.substitute_bytes(&top.0) + rest;
    let limits = device.limits();
    // Blocks of threads that any kernel could have there.
    let most = limits.multiprocessors * limits.shared_per_multiprocessor / shared;
    if levels.len() > MOST_LEVELS || shared > limits.shared_per_block || top.0.spans as usize > most {
        return Ok(None);
    }
    let kernel = format!("card_{}_{}", T::NAME, top.1.block);
    let resident = device.machine().resident(&kernel, THREADS, shared)?;
    if top.0.spans as usize > limits.multiprocessors * resident {
        return Ok(None);
    }
    Ok(Some((shared, device.zeros(1)?)))
}

/// How pivots are chosen.
pub(crate) fn rule(plan: &Plan) -> Rule {
    let options = plan.options();
    let scaled = options.pivoting == Pivoting::ScaledPartial;
    // As `Exchange` in `panel.cuh` has it.
    let exchange = match (plan.asked_method(), options.pivoting) {
        (Method::SpikeThomas, _) | (_, Pivoting::None) => 0,
        (Method::SpikeDiagonalPivoting, _) => 2,
        _ => 1,
    };
    // The threshold is meant for rows with a largest entry in [2, 4); here it is in [1, 2).
    let noise = options.noise_threshold * if scaled { 0.5 } else { 1.0 };
    Rule { exchange, scale_rows: scaled.into(), noise }
}

/// The peaks of one kind of so many columns.
pub(crate) fn read_peaks<T: Element>(memory: &DeviceVec<u8>, kind: usize, columns: usize) -> Result<Vec<f64>> {
    let bytes = columns * T::REAL_BYTES;
    let words = memory.slice(kind * bytes..(kind + 1) * bytes).download()?;
    let real = |bytes: &[u8]| {
        let mut word = [0_u8; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        T::real_of_bits(u64::from_le_bytes(word))
    };
    Ok(words.chunks_exact(T::REAL_BYTES).map(real).collect())
}

/// A solve that was started. Dropped without being waited for, x is neither verified nor repaired.
#[derive(Debug)]
#[must_use = "the answer is verified when it is waited for"]
pub struct Pending<'a, T: Element> {
    solver: &'a mut Solver<T>,
    a: Matrix<'a, T>,
    source: Source,
    rhs: DeviceSlice<'a, T>,
    x: DeviceSliceMut<'a, T>,
}

impl<'a, T: Element> Pending<'a, T> {
    /// A solve that may have been started.
    pub(crate) fn new(
        solver: &'a mut Solver<T>,
        a: Matrix<'a, T>,
        rhs: DeviceSlice<'a, T>,
        x: DeviceSliceMut<'a, T>,
    ) -> Result<Self> {
        let source = a.source(solver.shape())?;
        Ok(Self { solver, a, source, rhs, x })
    }

    /// Waits for the kernels, and sees to it that the answer is good.
    ///
    /// # Errors
    /// [`Error::Device`]; those of the host's method, if it was tried.
    pub fn wait(mut self) -> Result<Report> {
        if !self.solver.plan.options().verify {
            self.solver.device.synchronize()?;
            return Ok(self.solver.gathered(&[], None));
        }
        if self.rhs.is_empty() {
            return Ok(self.solver.gathered(&[], None));
        }
        let mut errors = self.solver.errors()?;
        let (mut steps, mut fallback) = (0, false);
        let good = good::<T>();
        if errors.iter().any(|error| !(*error <= ACCEPTED_AT_ONCE * good)) {
            if errors.iter().all(|error| error.is_finite()) {
                steps = self.refine(&mut errors, good)?;
            }
            fallback = errors.iter().any(|error| !(*error <= good));
            if fallback {
                self.fall_back(&mut errors, good)?;
            }
        }
        // Those of the systems of a batch together: it is one right-hand side.
        let columns = self.solver.cuts[0].0.columns as usize;
        let largest = |k: usize| errors.iter().skip(k).step_by(columns).fold(0.0, |a, b| if a >= *b { a } else { *b });
        let by_column: Vec<f64> = (0..columns).map(largest).collect();
        let mut report = self.solver.gathered(&by_column, None);
        report.refinement_steps = steps;
        report.fallback = fallback;
        Ok(report)
    }

    /// Where a row of a column is in x; columns of all systems are counted together.
    fn place(&self, column: usize, row: usize) -> usize {
        let cut = self.solver.cuts[0].0;
        let (system, column) = (column / cut.columns as usize, column % cut.columns as usize);
        column * self.solver.step() as usize + system * cut.system_step as usize + row * cut.row_step as usize
    }

    /// Refines with the same elimination while that helps; returns how often.
    fn refine(&mut self, errors: &mut [f64], good: f64) -> Result<usize> {
        let device = self.solver.device.clone();
        let array = || device.zeros::<T>(self.rhs.len());
        let (mut rest, dx, mut kept) = (array()?, array()?, array()?);
        let word = T::REAL_BYTES * errors.len();
        // The largest |x| is what the elimination has found.
        let mut found = device.zeros::<u8>(Peaks::KINDS * word)?;
        found.slice_mut(..).copy_from(self.solver.peaks.slice(..Peaks::KINDS * word))?;
        errors.copy_from_slice(&self.residual(&mut found, &mut rest)?);
        for step in 0..MAX_REFINEMENTS {
            if errors.iter().all(|error| *error <= good) {
                return Ok(step);
            }
            let given = self.solver.dense(rest.slice(..));
            self.solver.enqueue(self.source, given, dx.slice(..))?;
            kept.slice_mut(..).copy_from(self.x.as_slice())?;
            found.slice_mut(..).clear()?;
            self.correct(&dx, &found)?;
            let new = self.residual(&mut found, &mut rest)?;
            let helped = self.keep_better(errors, &new, &kept)?;
            if !helped {
                return Ok(step + 1);
            }
        }
        Ok(MAX_REFINEMENTS)
    }

    /// Takes back what did not help, column by column, or of an interleaved batch as a whole; returns whether anything did.
    fn keep_better(&mut self, errors: &mut [f64], new: &[f64], kept: &DeviceVec<T>) -> Result<bool> {
        if self.solver.route == Route::Interleaved {
            let largest = |errors: &[f64]| errors.iter().fold(0.0, |a, b| if a >= *b { a } else { *b });
            let helped = largest(new) < largest(errors);
            if helped {
                errors.copy_from_slice(new);
            } else {
                self.x.copy_from(kept.slice(..))?;
            }
            return Ok(helped);
        }
        let rows = self.solver.cuts[0].0.rows as usize;
        let mut helped = false;
        for (column, (error, new)) in errors.iter_mut().zip(new).enumerate() {
            if new < error {
                *error = *new;
                helped = true;
            } else {
                let first = self.place(column, 0);
                self.x.part(first..first + rows).copy_from(kept.slice(first..first + rows))?;
            }
        }
        Ok(helped)
    }

    /// rest ← rhs − A·x, formed in twice the working precision, with the largest |x| from `found`; returns the backward errors.
    fn residual(&self, found: &mut DeviceVec<u8>, rest: &mut DeviceVec<T>) -> Result<Vec<f64>> {
        let solver = &*self.solver;
        let word = found.len() / Peaks::KINDS;
        found.slice_mut(..word).clear()?;
        let peaks = Peaks::at(found.slice(..).address(), solver.columns(), T::REAL_BYTES);
        let column = |address| Columns { first: address, step: solver.step() };
        let (arguments, ending) = self.source.with(Arguments::new(&solver.cuts[0].0));
        let name = format!("residual_{}_{}{ending}", T::NAME, solver.block);
        let arguments = arguments
            .with(column(self.rhs.address()))
            .with(column(self.x.as_slice().address()))
            .with(column(rest.slice(..).address()))
            .with(peaks);
        // SAFETY: what the kernel takes; all arrays are as long as x.
        unsafe { arguments.launch(&solver.device, &name, solver.blocks_by_rows(), 0) }?;
        read_peaks::<T>(found, 0, solver.columns())
    }

    /// x ← x + dx; the largest |x| go to `found`.
    fn correct(&mut self, dx: &DeviceVec<T>, found: &DeviceVec<u8>) -> Result<()> {
        let solver = &*self.solver;
        let peaks = Peaks::at(found.slice(..).address(), solver.columns(), T::REAL_BYTES);
        let column = |address| Columns { first: address, step: solver.step() };
        let arguments = Arguments::new(&solver.cuts[0].0)
            .with(column(dx.slice(..).address()))
            .with(column(self.x.as_slice().address()))
            .with(peaks);
        // SAFETY: what the kernel takes; both arrays are as long as x.
        unsafe { arguments.launch(&solver.device, &format!("correct_{}", T::NAME), solver.blocks_by_rows(), 0) }
    }

    /// Solves on the host, by the sequential pivoted method, the columns that are not good.
    fn fall_back(&mut self, errors: &mut [f64], good: f64) -> Result<()> {
        let (shape, options) = (self.solver.plan.shape(), self.solver.plan.options());
        let plan = Plan::new(match shape {
            Shape::Batch { n, .. } => Shape::Tridiagonal { n, periodic: false },
            other => other,
        });
        let plan = plan.method(Method::Pivoted).pivoting(options.pivoting).threads(options.threads);
        let plan = plan.noise_threshold(options.noise_threshold);
        let (arrays, leading) = self.a.download(shape)?;
        let (given, mut all) = (self.rhs.download()?, self.x.as_slice().download()?);
        let rows = self.solver.cuts[0].0.rows as usize;
        let mut failed = Ok(());
        for column in 0..errors.len() {
            if errors[column] <= good {
                continue;
            }
            let places: Vec<usize> = (0..rows).map(|row| self.place(column, row)).collect();
            let [rhs, mut x] = [&given, &all].map(|array| places.iter().map(|at| array[*at]).collect::<Vec<T>>());
            let solved = self.on_host(&plan, shape, (&arrays, leading), &places, (&rhs, &mut x));
            // The best that was found, even where it is not good.
            places.iter().zip(x).for_each(|(at, value)| all[*at] = value);
            match solved {
                Ok(report) => errors[column] = report.backward_error,
                // As the caller passed it.
                Err(Error::NotFinite { array: "rhs", index }) => {
                    failed = failed.and(Err(Error::NotFinite { array: "rhs", index: places[index] }));
                }
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        self.x.write(&all)?;
        failed
    }

    /// Solves the system of a column on the host; `places`: where its rows are in x.
    fn on_host(
        &self,
        plan: &Plan,
        shape: Shape,
        (arrays, leading): (&[Vec<T>], usize),
        places: &[usize],
        (rhs, x): (&[T], &mut [T]),
    ) -> Result<Report> {
        let op = self.a.chosen_op();
        match (shape, arrays) {
            (Shape::Tridiagonal { periodic, .. }, [sub, diag, sup]) => {
                let a = if periodic { Tridiagonal::periodic } else { Tridiagonal::new };
                solve_one(plan, &a(sub, diag, sup)?, op, rhs, x)
            }
            (Shape::BlockTridiagonal { block, periodic, .. }, [sub, diag, sup]) => {
                let a = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
                solve_one(plan, &a(block, sub, diag, sup)?, op, rhs, x)
            }
            (Shape::Banded { n, lower, upper }, [bands]) => {
                solve_one(plan, &Banded::with_leading(n, lower, upper, leading, bands)?, op, rhs, x)
            }
            (Shape::Batch { .. }, [sub, diag, sup]) => {
                let part = |array: &[T]| places.iter().map(|at| array[at % shape.rows()]).collect::<Vec<T>>();
                solve_one(plan, &Tridiagonal::from_vecs(part(sub), part(diag), part(sup), false)?, op, rhs, x)
            }
            _ => unreachable!("a matrix of the shape planned for"),
        }
    }
}

/// Solves a system on the host.
fn solve_one<T: Element, M: Factorize<Scalar = T>>(
    plan: &Plan,
    a: &M,
    op: Op,
    rhs: &[T],
    x: &mut [T],
) -> Result<Report> {
    let factor = plan.factor(a)?;
    let mut memory = PodBuffer::new(factor.solve_scratch(1));
    factor.solve_into_with(op, rhs, x, PodStack::new(&mut memory))
}
