//! The memory and the settings of a solver.

use super::card::fits_card;
use super::level_factors::LevelFactors;
use super::route::{DevicePlan, Route};
use super::verdict::{SingularSystems, Verdict};
use crate::cut::{DeviceCut, KernelKind};
use crate::dense_factors::{ChainSize, DenseFactors, DenseMethod};
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceVec};
use crate::launch::{Coarse, DeviceColumns, Peaks, PivotOptions};
use crate::matrix::Blocks;
use crate::rhs::Rhs;
use crate::scan::DeviceScan;
use crate::tuning::Sizes;
use bandsolve::{Error, Method, Pivoting, Plan, RealScalar, Report, Result, Shape, accepted_at_once};
use std::sync::Arc;

/// Block rows on a device: of a coarse system, in which the solution replaces the right-hand sides, or of a part of a
/// system.
#[derive(Debug)]
pub(crate) struct DeviceRows<T> {
    pub bands: [DeviceVec<T>; 3],
    pub rhs: DeviceVec<T>,
}

impl<T: DeviceScalar> DeviceRows<T> {
    /// Memory for `rows` block rows with `n_rhs` right-hand sides.
    pub fn new(device: &Device, rows: usize, block: usize, n_rhs: usize) -> Result<Self> {
        let band = || device.zeros(rows * block * block);
        Ok(Self { bands: [band()?, band()?, band()?], rhs: device.zeros(rows * block * n_rhs)? })
    }

    /// The addresses of the arrays. Right-hand sides have the distance `step`.
    pub fn addresses(&self, step: u64) -> Coarse {
        let d = DeviceColumns { first: self.rhs.slice(..).address(), step };
        Coarse { arrays: self.bands.each_ref().map(|band| band.slice(..).address()), d }
    }
}

/// From this number of systems on, the device summarizes the measurements of a batch.
const MANY_SYSTEMS: usize = 64;

/// A solver for systems of one shape on a device.
///
/// The systems can be:
///
/// - tridiagonal, also periodic, and batches,
/// - block tridiagonal,
/// - banded with at most 4 diagonals on each side.
///
/// The solver owns the memory of the coarse systems. A solve allocates nothing, unless it needs refinement.
///
/// # Cost
/// For a tridiagonal system with one right-hand side and M = 31 rows per partition: 8 numbers read and 1 written per
/// row, and 2/31 of this for each further level. The solver has memory for 4·(2/31 + (2/31)² + …) numbers per row.
///
/// For blocks of more than 4 rows, with `Bcyclic` or `BlockSpike`: at most 14⅔·b³ operations per block row to factor, 16·b² per
/// right-hand side, and memory for approximately 6·b² + 2·b·n_rhs numbers per block row. Blocks are multiplied and factored by cuBLAS.
///
/// # Source
/// Klein, dissertation, 2.5 and 2.6.
#[derive(Debug)]
pub struct DeviceSolver<T: DeviceScalar> {
    pub(super) device: Device,
    pub(super) plan: Plan,
    pub(super) route: Route,
    pub(super) method: Method,
    /// Threads per block in the elimination.
    pub(super) threads: u32,
    pub(super) block: usize,
    pub(super) most_columns: usize,
    /// The partitions of each level, with its kernels.
    pub(super) cuts: Vec<(DeviceCut, KernelKind)>,
    pub(super) levels: Vec<DeviceRows<T>>,
    /// Factors of all levels except the last, if they are stored.
    pub(super) factors: Vec<LevelFactors<T>>,
    /// Intermediate results of an interleaved batch.
    pub(super) intermediate: DeviceVec<T>,
    pub(super) measurements: SingularSystems,
    /// Bytes of shared memory for a solve in one launch, and the memory of the barrier of its thread blocks. `None` if
    /// this is not possible.
    pub(super) card: Option<(usize, DeviceVec<u32>)>,
    pub(super) scan: Option<DeviceScan<T>>,
    /// The factors of dense blocks.
    pub(super) dense_factors: Option<DenseFactors<T>>,
    /// The matrix whose factors are stored for all solves.
    pub(super) stored: Option<Blocks>,
    /// Whether inaccurate rows are listed for repair, unless the route repairs none.
    pub(super) repairs: bool,
}

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Allocate the memory to solve systems of the shape of the plan, with at most `n_rhs` right-hand sides.
    ///
    /// The solver follows the method, pivoting, noise threshold, verification and partition rows of the plan. `Auto` is
    /// `Rpts`, or `Bcyclic` for blocks of more than 4 rows. Other methods are available for some systems:
    ///
    /// - scalar systems: `SpikeThomas` and `SpikeDiagonalPivoting`,
    /// - tridiagonal systems: `SpikeCr`,
    /// - open tridiagonal systems: `CfLu` and `ParallelDiagonalPivoting`,
    /// - contiguous batches: `Cr` and `Pcr`, which are one hybrid method,
    /// - block tridiagonal systems: `Bcyclic` and `BlockSpike`. By default, `BlockSpike` divides n block rows into √n partitions.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for systems of another kind, or with 2³¹ rows or more; [`Error::Device`] if the memory cannot be
    /// allocated, or if `Bcyclic` or `BlockSpike` does not find cuBLAS.
    pub fn new(device: &Device, plan: &Plan, n_rhs: usize) -> Result<Self> {
        Self::with_sizes(device, plan, n_rhs, device.sizes(T::NAME))
    }

    /// Create a solver with your own sizes instead of the sizes measured on the device. Otherwise as [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_sizes(device: &Device, plan: &Plan, n_rhs: usize, sizes: Sizes) -> Result<Self> {
        let decision = DevicePlan::of(plan)?;
        let DevicePlan { method, route, block, n, systems, .. } = decision;
        let cuts = decision.cuts::<T>(device, plan, n_rhs, sizes)?;
        let level =
            |(cut, _): &(DeviceCut, KernelKind)| DeviceRows::new(device, cut.n as usize * systems, block, n_rhs);
        let coarse = cuts.iter().skip(1).map(level).collect::<Result<_>>()?;
        let interleaved = cuts.first().filter(|_| route == Route::Interleaved);
        let intermediate = device.zeros(interleaved.map_or(0, |(cut, kind)| kind.interleaved_intermediate(cut)))?;
        let scan = match route {
            Route::DeviceScan if !cuts.is_empty() => Some(DeviceScan::new(device, n, method != Method::CfLu)?),
            _ => None,
        };
        let size = ChainSize { n, block, periodic: decision.periodic() };
        let dense_method = match method {
            Method::BlockSpike => DenseMethod::BlockSpike(plan.options().partition_rows),
            _ => DenseMethod::Bcyclic,
        };
        let dense = (route == Route::DenseBlocks && !cuts.is_empty())
            .then(|| DenseFactors::new(device, size, n_rhs, dense_method));
        let measurements = SingularSystems::new::<T>(device, cuts.len(), (n_rhs, systems), n * block)?;
        let card = match (route, n_rhs, systems, block) {
            (Route::Levels, 1, 1, 1..=2) if !decision.banded() && method != Method::SpikeCr => {
                fits_card::<T>(device, &cuts, &rule(plan, &measurements))?
            }
            _ => None,
        };
        let threads = sizes.threads;
        let (device, plan) = (device.clone(), plan.clone());
        Ok(Self {
            card,
            scan,
            dense_factors: dense.transpose()?,
            stored: None,
            repairs: true,
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
            intermediate,
            measurements,
        })
    }

    /// Whether systems fit on the device as a whole. Their rows are then read once and solved in one kernel launch.
    pub fn in_one_launch(&self) -> bool {
        self.card.is_some() && self.factors.is_empty()
    }

    /// Get the rows of a partition, level by level.
    pub fn partition_rows(&self) -> Vec<usize> {
        self.cuts.iter().map(|(cut, _)| cut.m as usize).collect()
    }

    /// Get the maximum number of right-hand sides.
    pub fn n_rhs(&self) -> usize {
        self.most_columns
    }

    /// Get the bytes of device memory of the solver.
    pub fn bytes(&self) -> usize {
        let factors = self.factors.iter().map(LevelFactors::bytes).sum::<usize>();
        let factors = factors + self.scan.as_ref().map_or(0, DeviceScan::bytes);
        let factors = factors + self.dense_factors.as_ref().map_or(0, DenseFactors::bytes);
        let level = |level: &DeviceRows<T>| level.bands.iter().chain([&level.rhs]).map(DeviceVec::len).sum::<usize>();
        (self.levels.iter().map(level).sum::<usize>() + self.intermediate.len()) * size_of::<T>()
            + self.measurements.bytes()
            + factors
    }

    /// Check the length of an array of columns with the name `what`, and prepare for them. Returns the number of
    /// columns.
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

    /// A report with the given backward errors.
    pub(crate) fn gathered(&self, errors: &[f64]) -> Report {
        let reason = format!("solved on {}", self.device.name());
        let verified = self.plan.options().verify.then_some(errors);
        Report::external(self.method, &reason, verified)
    }

    /// The first column whose x may have no correct digit, and the text for the report.
    ///
    /// `rconds` are upper bounds of the reciprocal condition number. They hold if the device scales rows.
    pub(crate) fn attention(&self, errors: &[f64], rconds: &[f64]) -> Option<(usize, Arc<str>)> {
        let epsilon = T::Real::EPSILON.to_f64();
        let column = rconds.iter().position(|rcond| self.scales_rows() && *rcond < epsilon)?;
        let text = bandsolve::attention(epsilon, Some(rconds[column]), errors[column], None)?;
        Some((column, text.into()))
    }

    pub(crate) fn dense(&self, slice: DeviceSlice<'_, T>) -> Rhs {
        Rhs::Dense(DeviceColumns { first: slice.address(), step: self.step() })
    }

    /// Whether systems are solved level by level, with one partition per lane.
    pub(crate) fn partitions_are_lanes(&self) -> bool {
        self.route == Route::Levels && self.method != Method::SpikeCr
    }

    /// The system of a level below the first.
    pub(super) fn coarse(&self, k: usize) -> Coarse {
        let (level, cut) = (&self.levels[k - 1], &self.cuts[k].0);
        let step = u64::from(cut.n) * u64::from(cut.systems) * self.block as u64;
        level.addresses(step)
    }

    pub(super) fn step(&self) -> u64 {
        self.plan.shape().rows() as u64
    }

    /// The peaks of a level, or [`Peaks::NONE`] without verification.
    pub(super) fn peaks(&self, level: usize) -> Peaks {
        match self.plan.options().verify {
            true => self.measurements.peaks::<T>(level, self.columns(), self.repairs && self.route.repairs_rows()),
            false => Peaks::NONE,
        }
    }

    /// The number of columns of all systems.
    pub(super) fn columns(&self) -> usize {
        self.cuts[0].0.all_columns()
    }

    /// The peaks of the first level.
    pub(crate) fn first_peaks(&self) -> Result<Vec<u8>> {
        self.measurements.first::<T>(self.columns()).download()
    }

    pub(super) fn verdict(&self) -> Result<Verdict> {
        self.measurements.verdict::<T>(self.columns())
    }

    /// The report of a large batch in which every system is accurate, after a summary on the device. `None` if a system
    /// needs attention, or if the host may as well read all measurements.
    pub(super) fn accepted(&self) -> Result<Option<Report>> {
        let cut = self.cuts[0].0;
        if cut.columns != 1 || (cut.systems as usize) < MANY_SYSTEMS {
            return Ok(None);
        }
        let error = self.measurements.summary::<T>(&self.device, cut.systems, self.scales_rows())?;
        Ok(error.filter(|error| *error <= accepted_at_once::<T>()).map(|error| self.gathered(&[error])))
    }

    /// Systems that may be singular, because a pivot or an equation became very small.
    pub(crate) fn suspects(&self) -> Result<Vec<usize>> {
        self.measurements.suspects()
    }

    /// Whether the device scales rows.
    pub(super) fn scales_rows(&self) -> bool {
        self.plan.options().pivoting == Pivoting::ScaledPartial
    }

    pub(super) fn rule(&self) -> PivotOptions {
        rule(&self.plan, &self.measurements)
    }
}

/// The largest backward error; NaN if one of them is NaN.
pub(crate) fn largest<'a>(errors: impl IntoIterator<Item = &'a f64>) -> f64 {
    errors.into_iter().fold(0.0, |a: f64, b| if a >= *b || a.is_nan() { a } else { *b })
}

/// The plan for a fallback on the host, with the sequential pivoted method. The host solves systems whose device
/// solution is not accurate enough, and systems that may be singular.
pub(crate) fn fallback_plan(plan: &Plan, shape: Shape) -> Plan {
    plan.with_shape(shape).method(Method::Pivoted)
}

/// The pivoting rule, and the address of the flags for zero pivots.
pub(crate) fn rule(plan: &Plan, measurements: &SingularSystems) -> PivotOptions {
    let options = plan.options();
    let scaled = options.pivoting == Pivoting::ScaledPartial;
    // The numbers of `Exchange` in `panel.cuh`.
    let exchange = match (plan.asked_method(), options.pivoting) {
        (Method::SpikeThomas, _) | (_, Pivoting::None) => 0,
        (Method::SpikeDiagonalPivoting, _) => 2,
        _ => 1,
    };
    // The threshold is defined for rows with a largest entry in [2, 4). Here the largest entry is in [1, 2).
    let noise = options.noise_threshold * if scaled { 0.5 } else { 1.0 };
    PivotOptions { exchange, scale_rows: scaled.into(), noise, suspects: measurements.suspects_at() }
}
