//! The kernels and arguments of a solve, enqueued on a stream.

use super::DeviceSolver;
use super::card::{Card, card_kernel};
use super::level_factors::LevelFactors;
use super::route::{ON_CHIP_FROM, Route};
use crate::cut::{DeviceCut, KernelKind, THREADS};
use crate::dense_factors::BlockColumns;
use crate::device::{DeviceScalar, DeviceSlice};
use crate::launch::{Arguments, Coarse, DeviceColumns, Peaks};
use crate::matrix::{Blocks, MatrixSource};
use crate::rhs::Rhs;
use crate::scan::ScanColumn;
use bandsolve::{Method, Op, Report, Result};

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Enqueue the kernels that compute x. They write their measurements to `measurements`, and the errors to the peaks
    /// of level 0.
    pub(crate) fn enqueue(&mut self, source: MatrixSource, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        self.measurements.clear(self.plan.options().verify)?;
        match (self.route, source, rhs) {
            (Route::Levels, MatrixSource::Blocks(_), Rhs::Dense(_))
                if self.card.is_some() && self.factors.is_empty() =>
            {
                self.enqueue_card(source, rhs, x)
            }
            (Route::Levels, ..) => self.enqueue_levels(source, rhs, x),
            (Route::DeviceScan, MatrixSource::Blocks(source), Rhs::Dense(rhs)) => self.enqueue_scan(source, rhs, x),
            (Route::DenseBlocks, MatrixSource::Blocks(source), Rhs::Dense(rhs)) => {
                if self.stored.is_none() {
                    self.factor_blocks(source, source.is_transposed())?;
                }
                self.enqueue_blocks(source, (rhs, x), self.peaks(0))
            }
            _ => self.enqueue_batch(source, rhs, x),
        }
    }

    /// Enqueue a solve with the matrix of the last solve, for a correction, which is not measured.
    pub(super) fn enqueue_correction(
        &mut self,
        source: MatrixSource,
        rhs: DeviceSlice<'_, T>,
        x: DeviceSlice<'_, T>,
    ) -> Result<()> {
        let given = self.dense(rhs);
        match (self.route, source, given) {
            // The factors still exist.
            (Route::DenseBlocks, MatrixSource::Blocks(source), Rhs::Dense(rhs)) => {
                self.enqueue_blocks(source, (rhs, x), Peaks::NONE)
            }
            _ => self.enqueue(source, given, x),
        }
    }

    /// Factor dense blocks, and note singular ones.
    pub(super) fn factor_blocks(&mut self, source: Blocks, transposes: bool) -> Result<()> {
        let suspects = self.measurements.suspects_at();
        self.dense_factors.as_mut().map_or(Ok(()), |factors| factors.factor(source, suspects, transposes))
    }

    /// Solve with the factors of dense blocks.
    fn enqueue_blocks(
        &mut self,
        source: Blocks,
        (rhs, x): (DeviceColumns, DeviceSlice<'_, T>),
        peaks: Peaks,
    ) -> Result<()> {
        let (cut, x) = (self.cuts[0].0, DeviceColumns { first: x.address(), step: self.step() });
        self.dense_factors
            .as_mut()
            .map_or(Ok(()), |factors| factors.solve(&cut, source, BlockColumns { rhs, x, peaks }))
    }

    /// Solve for one right-hand side after the other: pivots and the downward pass, then the upward pass.
    fn enqueue_scan(&mut self, source: Blocks, rhs: DeviceColumns, x: DeviceSlice<'_, T>) -> Result<()> {
        let (cut, peaks, suspects) = (self.cuts[0].0, self.peaks(0), self.measurements.suspects_at());
        let (device, step) = (self.device.clone(), self.step());
        let Some(scan) = &mut self.scan else { return Ok(()) };
        for column in 0..cut.columns {
            let at = |first: u64| first + u64::from(column) * step * size_of::<T>() as u64;
            let (rhs, x) = (at(rhs.first), at(x.address()));
            scan.solve(&device, &cut, ScanColumn { source, rhs, x, peaks, column, suspects })?;
        }
        if peaks.gap == 0 {
            return Ok(());
        }
        let x = DeviceColumns { first: x.address(), step: self.step() };
        let nowhere = DeviceColumns { first: 0, step: 0 };
        let arguments = Arguments::new(&cut).with(source).with(rhs).with(x).with(nowhere).with(peaks);
        // SAFETY: these are the kernel's arguments, and `source` and `start` checked the arrays.
        unsafe { arguments.launch(&self.device, &format!("residual_{}_1", T::NAME), self.blocks_by_rows(), 0) }
    }

    /// Solve a batch with one thread, or one thread block, per system.
    fn enqueue_batch(&self, source: MatrixSource, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        let (cut, kind) = &self.cuts[0];
        let x = DeviceColumns { first: x.address(), step: self.step() };
        let arguments = rhs.with(source.with(Arguments::new(cut)).0).0.with(x);
        let (peaks, rule) = (self.peaks(0), self.rule());
        let kernel = |name: &str| format!("{name}_{}{}", T::NAME, rule.ending());
        // SAFETY: these are the kernels' arguments. The arrays have the lengths of the cut, and `source` and `start`
        // checked them.
        unsafe {
            if self.route == Route::Cyclic {
                let arguments = arguments.with(peaks).with(rule);
                let shared = kind.cyclic_bytes(cut.n as usize);
                return arguments.launch(&self.device, &format!("cyclic_{}", T::NAME), cut.all_columns(), shared);
            }
            if self.route == Route::Alone {
                let arguments = arguments.with(peaks).with(rule);
                let (blocks, shared) = (cut.spans as usize * cut.columns as usize, kind.alone_bytes(cut));
                return arguments.launch(&self.device, &kernel("alone"), blocks, shared);
            }
            let arguments = arguments.with(self.intermediate.slice(..).address()).with(peaks).with(rule);
            let (threads, shared) = kind.interleaved_block(&self.device.limits());
            let blocks = cut.all_columns().div_ceil(threads as usize);
            arguments.launch_blocks(&self.device, &kernel("interleaved"), (blocks, threads), shared)
        }
    }

    /// Solve in one launch. The rows remain on chip while the coarse system is solved.
    fn enqueue_card(&mut self, source: MatrixSource, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        let shape = self.step();
        let last = self.levels.len();
        let (cut, kind) = self.cuts[0];
        let cuts = core::array::from_fn(|k| self.cuts[k.min(last)].0);
        let below = core::array::from_fn(|k| self.coarse((k + 1).min(last)));
        let peaks = core::array::from_fn(|k| self.peaks(k.min(last)));
        let before = (kind.substitute_bytes(&cut) / size_of::<T>()) as u32;
        let rule = self.rule();
        let Some((shared, arrived)) = &mut self.card else { return Ok(()) };
        arrived.slice_mut(..).clear()?;
        let arrived = arrived.slice(..).address();
        let all = Card { levels: last as u32 + 1, before, arrived, cuts, below, peaks };
        let arguments = rhs.with(source.with(Arguments::default().with(all)).0).0;
        let arguments = arguments.with(DeviceColumns { first: x.address(), step: shape }).with(rule);
        let name = card_kernel::<T>(self.block, &rule);
        // SAFETY: these are the kernel's arguments. The arrays have the lengths of the cuts, or `source` and `start`
        // checked them.
        unsafe { arguments.launch_cooperative(&self.device, &name, cut.spans as usize, *shared) }
    }

    /// Solve level by level.
    fn enqueue_levels(&self, source: MatrixSource, rhs: Rhs, x: DeviceSlice<'_, T>) -> Result<()> {
        let last = self.levels.len();
        let x = DeviceColumns { first: x.address(), step: self.step() };
        // The system of level k: its matrix, its right-hand sides, and where the solution goes.
        let system = |k: usize| {
            if k == 0 {
                return (source, rhs, x);
            }
            let Coarse { arrays, d } = self.coarse(k);
            (MatrixSource::Blocks(Blocks::new(arrays, Op::Plain)), Rhs::Dense(d), d)
        };
        for k in 0..last {
            let ((source, rhs, _), coarse) = (system(k), self.coarse(k + 1));
            if k == 0 && self.method == Method::SpikeCr {
                self.launch_spike("spikereduce", source, rhs, 3, |head| head.with(coarse).with(self.rule()))?;
            } else if let Some(factors) = self.level_factors(k) {
                let tail = |head: Arguments| head.with(coarse.d).with(factors.addresses());
                self.launch("reducefactored", k, (None, rhs), KernelKind::vector_bytes, tail)?;
            } else {
                let tail = |head: Arguments| head.with(coarse).with(self.rule());
                self.launch("reduce", k, (Some(source), rhs), KernelKind::reduce_bytes, tail)?;
            }
        }
        let (end, rhs, out) = system(last);
        let tail = |head: Arguments| head.with(out).with(self.peaks(last)).with(self.rule());
        self.launch("finish", last, (Some(end), rhs), KernelKind::finish_bytes, tail)?;
        for k in (0..last).rev() {
            let ((source, rhs, out), y) = (system(k), self.coarse(k + 1).d);
            let ends = |head: Arguments| head.with(self.peaks(k + 1)).with(self.peaks(k)).with(self.rule());
            if k == 0 && self.method == Method::SpikeCr {
                self.launch_spike("spikesubstitute", source, rhs, 1, |head| ends(head.with(y).with(out)))?;
            } else if let Some(factors) = self.level_factors(k) {
                let tail = |head: Arguments| ends(head.with(y).with(out).with(factors.addresses()));
                self.launch("substitutefactored", k, (Some(source), rhs), KernelKind::vector_bytes, tail)?;
            } else {
                let tail = |head: Arguments| ends(head.with(y).with(out));
                let bytes = match rhs {
                    Rhs::Dense(_) => KernelKind::reload_bytes,
                    Rhs::Sparse(_) => KernelKind::substitute_bytes,
                };
                self.launch("substitute", k, (Some(source), rhs), bytes, tail)?;
            }
        }
        Ok(())
    }

    /// The stored factors of a level, if a solve reads them.
    ///
    /// The elimination reads the matrix once for all right-hand sides on chip, but a solve with factors reads them for each right-hand side. x is
    /// the same, bit for bit.
    fn level_factors(&self, k: usize) -> Option<&LevelFactors<T>> {
        let (cut, kind) = &self.cuts[k];
        self.factors.get(k).filter(|_| kind.on_chip == 1 || cut.columns < ON_CHIP_FROM)
    }

    /// Launch a kernel with one thread block per partition and the given number of right-hand sides in shared memory.
    fn launch_spike(
        &self,
        kernel: &str,
        source: MatrixSource,
        rhs: Rhs,
        on_chip: usize,
        tail: impl FnOnce(Arguments) -> Arguments,
    ) -> Result<()> {
        let (cut, kind) = &self.cuts[0];
        let arguments = tail(rhs.with(source.with(Arguments::new(cut)).0).0);
        let (blocks, shared) = (cut.spans as usize * cut.columns as usize, kind.lines_bytes(cut.m as usize, on_chip));
        // SAFETY: these are the kernel's arguments. The arrays have the lengths of the cut, or `source` and `start`
        // checked them.
        unsafe { arguments.launch(&self.device, &format!("{kernel}_{}", T::NAME), blocks, shared) }
    }

    /// Launch a kernel for the partitions of a level. Its arguments are the cut, the matrix if the kernel needs it,
    /// right-hand sides, and a tail.
    fn launch(
        &self,
        kernel: &str,
        level: usize,
        (source, rhs): (Option<MatrixSource>, Rhs),
        shared: fn(&KernelKind, &DeviceCut) -> usize,
        tail: impl FnOnce(Arguments) -> Arguments,
    ) -> Result<()> {
        let (cut, kind) = &self.cuts[level];
        // Kernels with stored factors exist only for one right-hand side on chip.
        let kind = if kernel.ends_with("factored") { KernelKind { on_chip: 1, ..*kind } } else { *kind };
        let KernelKind { block, on_chip, .. } = kind;
        let blocks = cut.spans as usize * cut.systems as usize * (cut.columns as usize).div_ceil(on_chip);
        let head = Arguments::new(cut);
        let (arguments, ending) = match source {
            Some(source) => source.with(head),
            None => (head, ""),
        };
        let (arguments, rhs_ending) = rhs.with(arguments);
        let common = block == 1 && matches!(on_chip, 1 | 4) && ending.is_empty() && rhs_ending.is_empty();
        let larger = if common && !kernel.ends_with("factored") { self.rule().ending() } else { "" };
        let name = format!("{kernel}_{}_{block}_{on_chip}{ending}{rhs_ending}{larger}", T::NAME);
        let size = (blocks, self.threads);
        // SAFETY: these are the kernel's arguments. The arrays have the lengths of the cut, or `source` and `start`
        // checked them.
        unsafe { tail(arguments).launch_blocks(&self.device, &name, size, shared(&kind, cut)) }
    }

    /// The number of thread blocks of a kernel with one thread per entry of x.
    pub(super) fn blocks_by_rows(&self) -> usize {
        self.cuts[0].0.rows.div_ceil(THREADS) as usize * self.columns()
    }

    /// Solve, and return the report if no repair is necessary.
    pub(crate) fn solve_unrepaired(
        &mut self,
        source: MatrixSource,
        rhs: Rhs,
        x: DeviceSlice<'_, T>,
    ) -> Result<Option<Report>> {
        if x.is_empty() {
            return Ok(Some(self.gathered(&[])));
        }
        self.enqueue(source, rhs, x)?;
        if !self.plan.options().verify {
            return Ok(self.measurements.suspects()?.is_empty().then(|| self.gathered(&[])));
        }
        if let Some(report) = self.accepted()? {
            return Ok(Some(report));
        }
        let verdict = self.verdict()?;
        Ok(verdict.is_good::<T>().then(|| {
            let mut report = self.gathered(&verdict.errors);
            report.attention = self.attention(&verdict.errors, &verdict.rconds).map(|(_, text)| text);
            report
        }))
    }
}
