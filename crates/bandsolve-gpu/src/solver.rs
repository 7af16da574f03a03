//! RPTS on a device: Klein's recursive partitioned Schur complement.

use crate::cut::{Cut, Kind, System, THREADS, levels};
use crate::device::{Device, DeviceSlice, DeviceSliceMut, DeviceVec, Element, check_len};
use crate::launch::{Arguments, Coarse, Columns, Peaks, Rule};
use crate::matrix::{Matrix, Source};
use bandsolve::direct::contract::{ACCEPTED_AT_ONCE, MAX_REFINEMENTS, good};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{
    Banded, BlockTridiagonal, Error, Factor, Factorize, Layout, Method, Op, Pivoting, Plan, Report, Result, Shape,
    Tridiagonal,
};

/// Rows of the largest blocks.
const MOST_ROWS: usize = 4;
/// Right-hand sides that are on chip together where there are many. Source: Klein 2.6.7.
const ON_CHIP: usize = 4;

/// The system of a level below the first; the solution takes the place of the right-hand sides.
#[derive(Debug)]
struct Level<T> {
    bands: [DeviceVec<T>; 3],
    rhs: DeviceVec<T>,
}

/// Solves systems of one shape on a device: tridiagonal (also periodic, or a contiguous batch), block tridiagonal with up to 4
/// rows a block, and banded with up to 4 diagonals on either side.
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
pub struct Solver<T> {
    device: Device,
    plan: Plan,
    kind: Kind,
    most_columns: usize,
    cuts: Vec<Cut>,
    levels: Vec<Level<T>>,
    /// Largest backward error and largest |x| of every column, as bits, level by level.
    peaks: DeviceVec<u8>,
}

impl<T: Element> Solver<T> {
    /// Takes the memory to solve systems of the plan's shape with up to `n_rhs` right-hand sides. Of the plan's options it follows
    /// pivoting, noise threshold, verification and rows of a partition.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for systems of another kind, or with 2³¹ rows and more; [`Error::Device`] if there is no memory.
    pub fn new(device: &Device, plan: &Plan, n_rhs: usize) -> Result<Self> {
        let unsupported = |what| Err(Error::Unsupported { method: "rpts on a GPU", what });
        let (block, n, periodic, systems) = match plan.shape() {
            Shape::Tridiagonal { n, periodic } => (1, n, periodic, 1),
            Shape::BlockTridiagonal { block_rows, block, periodic } => (block, block_rows, periodic, 1),
            Shape::Banded { n, lower, upper } => {
                let block = lower.max(upper).max(1);
                (block, n.div_ceil(block), false, 1)
            }
            Shape::Batch { n, count, layout: Layout::Contiguous } => (1, n, false, count),
            Shape::Batch { .. } => return unsupported("interleaved batches"),
        };
        if block > MOST_ROWS || block == 0 {
            return unsupported("blocks of more than 4 rows, or more than 4 diagonals on either side");
        }
        let banded = matches!(plan.shape(), Shape::Banded { .. });
        let on_chip = if n_rhs > 2 && block == 1 && !banded { ON_CHIP } else { 1 };
        let kind = Kind { block, on_chip, bytes: size_of::<T>() };
        let system = System { n, rows: plan.shape().n(), periodic, columns: n_rhs, systems };
        let cuts = if n * systems * n_rhs == 0 {
            Vec::new()
        } else {
            levels(system, kind, &device.limits(), plan.options().partition_rows)?
        };
        let level = |cut: &Cut| {
            let blocks = cut.n as usize * systems;
            let array = |numbers| device.zeros(numbers);
            let bands =
                [array(blocks * block * block)?, array(blocks * block * block)?, array(blocks * block * block)?];
            Ok(Level { bands, rhs: array(blocks * block * n_rhs)? })
        };
        let coarse = cuts.iter().skip(1).map(level).collect::<Result<_>>()?;
        let peaks = device.zeros(2 * cuts.len() * n_rhs * systems * T::REAL_BYTES)?;
        let (device, plan) = (device.clone(), plan.clone());
        Ok(Self { device, plan, kind, most_columns: n_rhs, cuts, levels: coarse, peaks })
    }

    /// Rows of a partition, level by level.
    pub fn partition_rows(&self) -> Vec<usize> {
        self.cuts.iter().map(|cut| cut.m as usize).collect()
    }

    /// Right-hand sides that it has memory for.
    pub fn n_rhs(&self) -> usize {
        self.most_columns
    }

    /// Bytes of memory that it owns on the device.
    pub fn bytes(&self) -> usize {
        let level = |level: &Level<T>| level.bands.iter().chain([&level.rhs]).map(DeviceVec::len).sum::<usize>();
        self.levels.iter().map(level).sum::<usize>() * size_of::<T>() + self.peaks.len()
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
        let source = a.source(self.plan.shape())?;
        let columns = self.plan.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.as_slice().len())?;
        if columns > self.most_columns {
            let expected = self.plan.shape().rows() * self.most_columns;
            return Err(Error::Shape { what: "rhs", expected, got: rhs.len() });
        }
        self.cuts.iter_mut().for_each(|cut| cut.columns = columns as u32);
        let pending = Pending { solver: self, a, source, rhs, x };
        if !pending.rhs.is_empty() {
            pending.solver.enqueue(source, pending.rhs, pending.x.as_slice())?;
        }
        Ok(pending)
    }

    fn step(&self) -> u64 {
        self.plan.shape().rows() as u64
    }

    fn rule(&self) -> Rule {
        let options = self.plan.options();
        let (exchange, scaled) = (options.pivoting != Pivoting::None, options.pivoting == Pivoting::ScaledPartial);
        // The threshold is meant for rows with a largest entry in [2, 4); here it is in [1, 2).
        let noise = options.noise_threshold * if scaled { 0.5 } else { 1.0 };
        Rule { exchange: exchange.into(), scale_rows: scaled.into(), noise }
    }

    /// The peaks of a level, or none if nothing is to be verified.
    fn peaks(&self, level: usize) -> Peaks {
        if !self.plan.options().verify {
            return Peaks { gap: 0, size: 0 };
        }
        let bytes = self.cuts[0].all_columns() * T::REAL_BYTES;
        let gap = self.peaks.slice(..).address() + (2 * level * bytes) as u64;
        Peaks { gap, size: gap + bytes as u64 }
    }

    /// Hands the kernels to the stream: x is solved for, and what is found out about it is in the peaks of level 0.
    fn enqueue(&mut self, source: Source, rhs: DeviceSlice<'_, T>, x: DeviceSlice<'_, T>) -> Result<()> {
        if self.plan.options().verify {
            self.peaks.slice_mut(..).clear()?;
        }
        let last = self.levels.len();
        let step = self.step();
        let column = |slice: DeviceSlice<'_, T>| Columns { first: slice.address(), step };
        let coarse = |k: usize| {
            let level = &self.levels[k - 1];
            let step = u64::from(self.cuts[k].n) * u64::from(self.cuts[k].systems) * self.kind.block as u64;
            let d = Columns { first: level.rhs.slice(..).address(), step };
            Coarse { arrays: level.bands.each_ref().map(|band| band.slice(..).address()), d }
        };
        // What is solved on level k: matrix, right-hand sides, and where the solution goes.
        let system = |k: usize| {
            if k == 0 {
                return (source, column(rhs), column(x));
            }
            let Coarse { arrays, d } = coarse(k);
            (Source::blocks(arrays, Op::Plain), d, d)
        };
        for k in 0..last {
            let (source, rhs, _) = system(k);
            let tail = |head: Arguments| head.with(rhs).with(coarse(k + 1)).with(self.rule());
            self.launch("reduce", k, source, self.kind.reduce_bytes(&self.cuts[k]), tail)?;
        }
        let (end, rhs, out) = system(last);
        let tail = |head: Arguments| head.with(rhs).with(out).with(self.peaks(last)).with(self.rule());
        self.launch("finish", last, end, self.kind.finish_bytes(&self.cuts[last]), tail)?;
        for k in (0..last).rev() {
            let (source, rhs, out) = system(k);
            let tail = |head: Arguments| {
                let head = head.with(rhs).with(coarse(k + 1).d).with(out);
                head.with(self.peaks(k + 1)).with(self.peaks(k)).with(self.rule())
            };
            self.launch("substitute", k, source, self.kind.substitute_bytes(&self.cuts[k]), tail)?;
        }
        Ok(())
    }

    /// Launches a kernel for the partitions of a level; its arguments are the cut, the matrix, and a tail.
    fn launch(
        &self,
        kernel: &str,
        level: usize,
        source: Source,
        shared: usize,
        tail: impl Fn(Arguments) -> Arguments,
    ) -> Result<()> {
        let cut = &self.cuts[level];
        let Kind { block, on_chip, .. } = self.kind;
        let blocks = cut.spans as usize * cut.systems as usize * (cut.columns as usize).div_ceil(on_chip);
        let name = format!("{kernel}_{}_{block}_{on_chip}", T::NAME);
        // SAFETY: what the kernel takes; the arrays are as long as the cut says, or were looked at by `source` and `start`.
        unsafe {
            match source {
                Source::Blocks(source) => {
                    tail(Arguments::new(cut).with(source)).launch(&self.device, &name, blocks, shared)
                }
                Source::Band(source) => {
                    let name = name + "_band";
                    tail(Arguments::new(cut).with(source)).launch(&self.device, &name, blocks, shared)
                }
            }
        }
    }

    /// Blocks of threads of a kernel with a thread for every number of x.
    fn blocks_by_rows(&self) -> usize {
        self.cuts[0].rows.div_ceil(THREADS) as usize * self.cuts[0].all_columns()
    }

    /// A word of every column: those of one kind of peak of level 0.
    fn read_peaks(&self, memory: &DeviceVec<u8>) -> Result<Vec<f64>> {
        let bytes = memory.slice(..self.cuts[0].all_columns() * T::REAL_BYTES).download()?;
        let word = |bytes: &[u8]| {
            let mut word = [0_u8; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            T::real_of_bits(u64::from_le_bytes(word))
        };
        Ok(bytes.chunks_exact(T::REAL_BYTES).map(word).collect())
    }
}

/// A solve that was started. Dropped without being waited for, x is neither verified nor repaired.
#[derive(Debug)]
#[must_use = "the answer is verified when it is waited for"]
pub struct Pending<'a, T> {
    solver: &'a mut Solver<T>,
    a: Matrix<'a, T>,
    source: Source,
    rhs: DeviceSlice<'a, T>,
    x: DeviceSliceMut<'a, T>,
}

impl<T: Element> Pending<'_, T> {
    /// Waits for the kernels, and sees to it that the answer is good.
    ///
    /// # Errors
    /// [`Error::Device`]; those of the host's method, if it was tried.
    pub fn wait(mut self) -> Result<Report> {
        let reason = format!("solved on {}", self.solver.device.name());
        if self.rhs.is_empty() {
            return Ok(Report::external(Method::Rpts, &reason, Some(&[])));
        }
        if !self.solver.plan.options().verify {
            self.solver.device.synchronize()?;
            return Ok(Report::external(Method::Rpts, &reason, None));
        }
        let mut errors = self.solver.read_peaks(&self.solver.peaks)?;
        let (mut steps, mut fallback) = (0, false);
        let good = good::<T>();
        if errors.iter().any(|error| !(*error <= ACCEPTED_AT_ONCE * good)) {
            steps = self.refine(&mut errors, good)?;
            fallback = errors.iter().any(|error| !(*error <= good));
            if fallback {
                self.fall_back(&mut errors, good)?;
            }
        }
        // Those of the systems of a batch together: it is one right-hand side.
        let columns = self.solver.cuts[0].columns as usize;
        let largest = |k: usize| errors.iter().skip(k).step_by(columns).fold(0.0, |a, b| if a >= *b { a } else { *b });
        let by_column: Vec<f64> = (0..columns).map(largest).collect();
        let mut report = Report::external(Method::Rpts, &reason, Some(&by_column));
        report.refinement_steps = steps;
        report.fallback = fallback;
        Ok(report)
    }

    /// Where a column of a system begins in x.
    fn place(&self, column: usize) -> core::ops::Range<usize> {
        let cut = self.solver.cuts[0];
        let (system, column, rows) = (column / cut.columns as usize, column % cut.columns as usize, cut.rows as usize);
        let first = column * self.solver.step() as usize + system * rows;
        first..first + rows
    }

    /// Refines with the same elimination while that helps; returns how often.
    fn refine(&mut self, errors: &mut [f64], good: f64) -> Result<usize> {
        let device = self.solver.device.clone();
        let array = || device.zeros::<T>(self.rhs.len());
        let (mut rest, dx, mut kept) = (array()?, array()?, array()?);
        let word = T::REAL_BYTES * errors.len();
        let mut found = device.zeros::<u8>(2 * word)?;
        // The largest |x| is what the elimination has found.
        found.slice_mut(word..).copy_from(self.solver.peaks.slice(word..2 * word))?;
        errors.copy_from_slice(&self.residual(&mut found, &mut rest)?);
        for step in 0..MAX_REFINEMENTS {
            if errors.iter().all(|error| *error <= good) {
                return Ok(step);
            }
            self.solver.enqueue(self.source, (&rest).into(), dx.slice(..))?;
            kept.slice_mut(..).copy_from(self.x.as_slice())?;
            found.slice_mut(..).clear()?;
            self.correct(&dx, &found)?;
            let new = self.residual(&mut found, &mut rest)?;
            let mut helped = false;
            for (column, (error, new)) in errors.iter_mut().zip(new).enumerate() {
                if new < *error {
                    *error = new;
                    helped = true;
                } else {
                    let place = self.place(column);
                    self.x.part(place.clone()).copy_from(kept.slice(place))?;
                }
            }
            if !helped {
                return Ok(step + 1);
            }
        }
        Ok(MAX_REFINEMENTS)
    }

    /// rest ← rhs − A·x, formed in twice the working precision, with the largest |x| from `found`; returns the backward errors.
    fn residual(&self, found: &mut DeviceVec<u8>, rest: &mut DeviceVec<T>) -> Result<Vec<f64>> {
        let solver = &*self.solver;
        let word = found.len() / 2;
        found.slice_mut(..word).clear()?;
        let address = found.slice(..).address();
        let peaks = Peaks { gap: address, size: address + word as u64 };
        let column = |address| Columns { first: address, step: solver.step() };
        let tail = |head: Arguments| {
            let head = head.with(column(self.rhs.address())).with(column(self.x.as_slice().address()));
            head.with(column(rest.slice(..).address())).with(peaks)
        };
        let name = format!("residual_{}_{}", T::NAME, solver.kind.block);
        let head = Arguments::new(&solver.cuts[0]);
        // SAFETY: what the kernel takes; all arrays are as long as x.
        unsafe {
            match self.source {
                Source::Blocks(source) => {
                    tail(head.with(source)).launch(&solver.device, &name, solver.blocks_by_rows(), 0)
                }
                Source::Band(source) => {
                    let name = name + "_band";
                    tail(head.with(source)).launch(&solver.device, &name, solver.blocks_by_rows(), 0)
                }
            }?;
        }
        solver.read_peaks(found)
    }

    /// x ← x + dx; the largest |x| go to `found`.
    fn correct(&mut self, dx: &DeviceVec<T>, found: &DeviceVec<u8>) -> Result<()> {
        let solver = &*self.solver;
        let address = found.slice(..).address();
        let peaks = Peaks { gap: address, size: address + (found.len() / 2) as u64 };
        let column = |address| Columns { first: address, step: solver.step() };
        let arguments = Arguments::new(&solver.cuts[0])
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
        let given = self.rhs.download()?;
        let op = self.a.chosen_op();
        for column in 0..errors.len() {
            if errors[column] <= good {
                continue;
            }
            let place = self.place(column);
            let rhs = &given[place.clone()];
            let mut x = self.x.part(place.clone()).as_slice().download()?;
            let solved = match (shape, &*arrays) {
                (Shape::Tridiagonal { periodic, .. }, [sub, diag, sup]) => {
                    let a = if periodic { Tridiagonal::periodic } else { Tridiagonal::new };
                    on_host(&plan, &a(sub, diag, sup)?, op, rhs, &mut x)
                }
                (Shape::BlockTridiagonal { block, periodic, .. }, [sub, diag, sup]) => {
                    let a = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
                    on_host(&plan, &a(block, sub, diag, sup)?, op, rhs, &mut x)
                }
                (Shape::Banded { n, lower, upper }, [bands]) => {
                    on_host(&plan, &Banded::with_leading(n, lower, upper, leading, bands)?, op, rhs, &mut x)
                }
                (Shape::Batch { .. }, [sub, diag, sup]) => {
                    let first = place.start % shape.rows();
                    let own = first..first + place.len();
                    let a = Tridiagonal::new(&sub[own.clone()], &diag[own.clone()], &sup[own])?;
                    on_host(&plan, &a, op, rhs, &mut x)
                }
                _ => unreachable!("a matrix of the shape planned for"),
            };
            // The best that was found, even where it is not good.
            self.x.part(place).write(&x)?;
            errors[column] = solved?.backward_error;
        }
        Ok(())
    }
}

/// Solves a system on the host.
fn on_host<T: Element, M: Factorize<Scalar = T>>(plan: &Plan, a: &M, op: Op, rhs: &[T], x: &mut [T]) -> Result<Report> {
    let factor = plan.factor(a)?;
    let mut memory = PodBuffer::new(factor.solve_scratch(1));
    factor.solve_into_with(op, rhs, x, PodStack::new(&mut memory))
}
