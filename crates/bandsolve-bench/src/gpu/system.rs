//! A system in the memory of a device, and its solvers.

use crate::args::Data;
use crate::batch;
use crate::contest::{Contestant, MeasuredAnswer, TimedSolve};
use crate::cusparse::{Cusparse, CusparseRoutine};
use crate::peers::PeerScalar;
use crate::row::{RepairCounts, UNVERIFIED};
use crate::system::ORACLE_MAX_N;
use bandsolve::{Plan, Report, Result, Shape, Tridiagonal, TridiagonalBatch};
use bandsolve_gallery::{Random, oracle};
use bandsolve_gpu::{Device, DeviceMatrix, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceSolver, DeviceVec};
use std::time::{Duration, Instant};

/// Number of random numbers per diagonal; a longer diagonal repeats them.
const DRAWN: usize = 1 << 20;
/// Name of bandsolve in the table.
pub const OURS: &str = "bandsolve";
/// Name of the copy of the right-hand side in the table.
pub const COPY: &str = "copy";

/// Number types of the measured systems.
pub trait PeerNumber: DeviceScalar + PeerScalar {}
/// The timed part of a solve. `Unverified` and `Kernels` are kernel times by the clock of the device, without and with verification.
/// `Answered` is the time by the clock of the host until the verified solution is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    Unverified,
    Kernels,
    Answered,
}

/// The partitions of a system.
pub struct Cutting {
    /// Rows per partition on every level.
    pub rows: Vec<usize>,
    /// Whether the kernels read the first level only once.
    pub one_launch: bool,
}

impl<T: DeviceScalar + PeerScalar> PeerNumber for T {}

/// Matrix and right-hand sides.
pub struct DeviceSystem<T> {
    device: Device,
    shape: Shape,
    n_rhs: usize,
    /// The arrays sub, diag and sup, or one array with all diagonals of a band.
    matrix: Vec<DeviceVec<T>>,
    rhs: DeviceVec<T>,
}

/// Memory that all solvers share.
pub struct DeviceMemory<T> {
    x: DeviceVec<T>,
    /// Copies of diagonals and right-hand sides, which cuSPARSE overwrites; empty without cuSPARSE.
    copies: Vec<DeviceVec<T>>,
    /// Whether the last solution is in the copies, not in `x`.
    foreign: bool,
    report: Option<Report>,
}

impl<T: PeerNumber> DeviceSystem<T> {
    /// Draw a system. cuSPARSE sees it as `interleaved` systems, so the entries outside of these systems are zero.
    pub fn new(device: &Device, (shape, n_rhs): (Shape, usize), data: Data, interleaved: usize) -> Result<Self> {
        let (arrays, parts, len) = match shape {
            Shape::Banded { n, lower, upper } => (1, lower + upper + 1, n),
            Shape::BlockTridiagonal { block_rows, block, .. } => (3, 1, block_rows * block * block),
            _ => (3, 1, shape.rows()),
        };
        let mut random = Random::new(len as u64);
        let mut matrix = Vec::new();
        for array in 0..arrays {
            let mut numbers = device.zeros(len * parts)?;
            for part in 0..parts {
                let distance = (array + part) as isize - (arrays * parts / 2) as isize;
                let shift = if data == Data::Dominant && distance == 0 { 4.0 } else { 0.0 };
                let mut diagonal = numbers.slice_mut(part * len..(part + 1) * len);
                draw(device, &mut diagonal, &mut random, shift)?;
                let outside = (distance.unsigned_abs() * interleaved).min(len);
                diagonal.part(if distance < 0 { 0..outside } else { len - outside..len }).clear()?;
            }
            matrix.push(numbers);
        }
        let mut rhs = device.zeros(shape.rows() * n_rhs)?;
        draw(device, &mut rhs.slice_mut(..), &mut random, 0.0)?;
        Ok(Self { device: device.clone(), shape, n_rhs, matrix, rhs })
    }

    /// Allocate the memory for the solvers, with `foreign` also for cuSPARSE.
    pub fn work(&self, foreign: bool) -> Result<DeviceMemory<T>> {
        let x = self.device.zeros(self.rhs.len())?;
        let copied = self.diagonals().into_iter().chain([self.rhs.slice(..)]).filter(|_| foreign);
        let copies = copied.map(|array| self.device.zeros(array.len())).collect::<Result<_>>()?;
        Ok(DeviceMemory { x, copies, foreign: false, report: None })
    }

    fn matrix(&self) -> DeviceMatrix<'_, T> {
        match &*self.matrix {
            [sub, diag, sup] => DeviceMatrix::tridiagonal(sub, diag, sup),
            diagonals => DeviceMatrix::diagonals(&diagonals[0]),
        }
    }

    /// The diagonals from the lowest to the highest.
    fn diagonals(&self) -> Vec<DeviceSlice<'_, T>> {
        match (&*self.matrix, self.shape) {
            ([bands], Shape::Banded { n, .. }) => {
                (0..bands.len() / n).map(|k| bands.slice(k * n..(k + 1) * n)).collect()
            }
            (arrays, _) => arrays.iter().map(|array| array.slice(..)).collect(),
        }
    }

    /// The solver of bandsolve, and its partitions.
    pub fn ours(&self, timed: Timed) -> Result<(Contestant<'_, DeviceMemory<T>>, Cutting)> {
        let plan = Plan::new(self.shape).verify(timed != Timed::Unverified);
        let mut solver = DeviceSolver::<T>::new(&self.device, &plan, self.n_rhs)?;
        let cutting = Cutting { rows: solver.partition_rows(), one_launch: solver.in_one_launch() };
        let mut report = None;
        let solve: TimedSolve<'_, DeviceMemory<T>> = Box::new(move |work| {
            let begin = Instant::now();
            if timed == Timed::Answered || report.is_none() {
                let solved = solver.solve(self.matrix(), &self.rhs, &mut work.x);
                report = Some(solved.map_err(|e| e.to_string())?);
            }
            let answered = begin.elapsed();
            (work.foreign, work.report) = (false, report.clone());
            if timed == Timed::Answered {
                return Ok(answered);
            }
            let seconds = self.device.time(|| solver.start(self.matrix(), &self.rhs, &mut work.x).map(drop));
            seconds.map(Duration::from_secs_f64).map_err(|e| e.to_string())
        });
        let name = match timed {
            Timed::Unverified => format!("{OURS}{UNVERIFIED}"),
            Timed::Kernels => OURS.into(),
            Timed::Answered => format!("{OURS}, host time"),
        };
        Ok((Contestant { name, threads: 1, solve }, cutting))
    }

    /// A copy of the right-hand sides in device memory.
    pub fn copy(&self) -> Contestant<'_, DeviceMemory<T>> {
        let solve: TimedSolve<'_, DeviceMemory<T>> = Box::new(|work| {
            (work.foreign, work.report) = (false, None);
            let seconds = self.device.time(|| work.x.slice_mut(..).copy_from(self.rhs.slice(..)));
            seconds.map(Duration::from_secs_f64).map_err(|e| e.to_string())
        });
        Contestant { name: COPY.into(), threads: 1, solve }
    }

    /// A routine of cuSPARSE for `systems` systems, or for all right-hand sides. `None` if this cuSPARSE does not have the routine.
    pub fn theirs<'a>(
        &'a self,
        cusparse: &'a Cusparse,
        routine: CusparseRoutine,
        systems: usize,
        work: &DeviceMemory<T>,
    ) -> Result<Option<Contestant<'a, DeviceMemory<T>>>> {
        let size = [self.shape.rows() / systems, systems * self.n_rhs];
        let Some(solver) = cusparse.solver::<T>(routine, &self.device, size, &work.copies)? else { return Ok(None) };
        let solve: TimedSolve<'_, DeviceMemory<T>> = Box::new(move |work| {
            let solved = self.restore(work).and_then(|()| self.device.time(|| solver.solve(&mut work.copies)));
            (work.foreign, work.report) = (true, None);
            solved.map(Duration::from_secs_f64).map_err(|e| e.to_string())
        });
        Ok(Some(Contestant { name: routine.name.into(), threads: 1, solve }))
    }

    /// Restore the copies that cuSPARSE overwrote.
    fn restore(&self, work: &mut DeviceMemory<T>) -> Result<()> {
        let originals = self.diagonals().into_iter().chain([self.rhs.slice(..)]);
        work.copies.iter_mut().zip(originals).try_for_each(|(copy, original)| copy.slice_mut(..).copy_from(original))
    }

    /// The backward error and the repairs of the last solution: from the report of bandsolve, or for cuSPARSE from the oracle if the
    /// system is small enough.
    pub fn verdict(&self, work: &DeviceMemory<T>) -> MeasuredAnswer {
        if let Some(report) = &work.report {
            return (Some(report.backward_error).filter(|error| !error.is_nan()), Some(RepairCounts::of(report)));
        }
        let judged = work.foreign && self.n_rhs == 1 && self.shape.rows() <= ORACLE_MAX_N;
        let x = work.copies.last().filter(|_| judged);
        (x.and_then(|x| self.backward_error(x).ok().flatten()), None)
    }

    /// The backward error from the oracle; `None` if the system is not tridiagonal.
    fn backward_error(&self, x: &DeviceVec<T>) -> Result<Option<f64>> {
        let [sub, diag, sup] = &*self.matrix else { return Ok(None) };
        let [sub, diag, sup] = [sub.download()?, diag.download()?, sup.download()?];
        let (rhs, x) = (self.rhs.download()?, x.download()?);
        Ok(match self.shape {
            Shape::Tridiagonal { periodic, .. } => {
                Some(oracle::backward_error(&Tridiagonal::from_vecs(sub, diag, sup, periodic)?, &rhs, &x))
            }
            Shape::Batch { n, count, layout, .. } => {
                let a = TridiagonalBatch::new(count, n, layout, &sub, &diag, &sup)?;
                Some(batch::backward_error(&a, &rhs, &x))
            }
            _ => None,
        })
    }
}

/// Fill an array with numbers from U(−1, 1) plus `shift`.
fn draw<T: PeerNumber>(
    device: &Device,
    numbers: &mut DeviceSliceMut<'_, T>,
    random: &mut Random,
    shift: f64,
) -> Result<()> {
    let len = numbers.as_slice().len();
    let drawn: Vec<T> = (0..len.min(DRAWN)).map(|_| T::from_f64(shift + random.uniform(-1.0, 1.0))).collect();
    let drawn = device.upload(&drawn)?;
    (0..len).step_by(DRAWN).try_for_each(|first| {
        let end = len.min(first + DRAWN);
        numbers.part(first..end).copy_from(drawn.slice(..end - first))
    })
}
