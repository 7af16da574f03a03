//! Systems that exceed the memory of one device, or are distributed over several.

use crate::cut::{self, DeviceCut, KernelKind, UncutSystem, levels};
use crate::device::{Device, DeviceScalar, DeviceVec, check_len};
use crate::host::HostMatrix;
use crate::host_repair::{HostSystem, repair};
use crate::launch::{Arguments, Coarse, DeviceColumns, Peaks};
use crate::matrix::{Blocks, MatrixSource};
use crate::rhs::Rhs;
use crate::solver::verdict::{self, SingularSystems, Verdict};
use crate::solver::{DeviceRows, DeviceSolver, fallback_plan, largest, rule};
use bandsolve::{Error, Factor, Factorize, Method, Op, Plan, Report, Result, Shape};
use core::ops::Range;

/// Device memory for some rows of a system, with the stream for their work.
#[derive(Debug)]
struct Slot<T: DeviceScalar> {
    device: Device,
    system: DeviceRows<T>,
    x: DeviceVec<T>,
    measurements: SingularSystems,
    /// The index of the coarse system on this device.
    coarse: usize,
}

/// The coarse system on a device, and its solution.
#[derive(Debug)]
struct OnOne<T: DeviceScalar> {
    system: DeviceRows<T>,
    peaks: DeviceVec<u8>,
}

/// A solver for large tridiagonal and block tridiagonal systems in host memory, with one right-hand side. The systems
/// need not fit in the memory of one device.
///
/// The first device solves the coarse system, which has 2/31 of the rows. All other work is done in parts. Each row is
/// copied to a device twice, once for the reduction and once for the substitution, unless each part has its own device.
/// On one device, two streams overlap copies and computation. x is the same as from a [`DeviceSolver`], bit for bit.
///
/// # Cost
/// Copies 8 numbers per row to the device (4 if each part has its own device), and one number back.
#[derive(Debug)]
pub struct Spread<T: DeviceScalar> {
    plan: Plan,
    cut: DeviceCut,
    kind: KernelKind,
    /// The thread blocks of each part.
    parts: Vec<Range<u32>>,
    slots: Vec<Slot<T>>,
    coarse: Vec<OnOne<T>>,
    /// The solver of the coarse system, on the first device.
    solver: DeviceSolver<T>,
}

impl<T: DeviceScalar> Spread<T> {
    /// Distribute a system over devices, one part each. The plan options are those of [`DeviceSolver`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other systems, and for systems that fit in one thread block; [`Error::Device`] if the
    /// memory cannot be allocated.
    pub fn over(devices: &[Device], plan: &Plan) -> Result<Self> {
        let (cut, kind) = Self::cut(&devices[0], plan)?;
        let each = (cut.spans as usize).div_ceil(devices.len()) as u32;
        Self::new(devices.to_vec(), (0..devices.len()).collect(), plan, (cut, kind), each)
    }

    /// Stream a system through one device, approximately `rows` rows at the same time.
    ///
    /// # Errors
    /// As [`over`](Self::over).
    pub fn through(device: &Device, plan: &Plan, rows: usize) -> Result<Self> {
        let (cut, kind) = Self::cut(device, plan)?;
        let of_one = kind.block * (cut.lanes * cut.m) as usize;
        let each = (rows / of_one).max(1) as u32;
        Self::new(vec![device.stream()?, device.stream()?], vec![0, 0], plan, (cut, kind), each)
    }

    /// The partitions and kernels of the first level.
    fn cut(device: &Device, plan: &Plan) -> Result<(DeviceCut, KernelKind)> {
        let (block, n, periodic) = match plan.shape() {
            Shape::Tridiagonal { n, periodic } => (1, n, periodic),
            Shape::BlockTridiagonal { block_rows, block: block @ 1..=4, periodic } => (block, block_rows, periodic),
            _ => {
                return Err(Error::Unsupported {
                    method: plan.asked_method().name(),
                    what: "systems of this kind in parts",
                });
            }
        };
        let system = UncutSystem { n, rows: n * block, periodic, columns: 1, systems: 1 };
        let kind = KernelKind { block, on_chip: 1, bytes: size_of::<T>() };
        if n == 0 {
            return Err(Error::Unsupported {
                method: plan.asked_method().name(),
                what: "systems without rows in parts",
            });
        }
        let rows =
            cut::PartitionRows { asked: plan.options().partition_rows, large: device.sizes(T::NAME).partition_rows };
        if !matches!(
            plan.asked_method(),
            Method::Auto | Method::Rpts | Method::SpikeThomas | Method::SpikeDiagonalPivoting
        ) {
            return Err(Error::Unsupported { method: plan.asked_method().name(), what: "systems in parts" });
        }
        match &*levels(system, kind, &device.limits(), rows)? {
            [_] => Err(Error::Unsupported {
                method: plan.asked_method().name(),
                what: "systems in parts that fit in one thread block; use `DeviceSolver`",
            }),
            [first, ..] => Ok(*first),
            [] => unreachable!("there is at least one level"),
        }
    }

    fn new(
        devices: Vec<Device>,
        coarse_of: Vec<usize>,
        plan: &Plan,
        (cut, kind): (DeviceCut, KernelKind),
        each: u32,
    ) -> Result<Self> {
        let parts: Vec<Range<u32>> =
            (0..cut.spans).step_by(each as usize).map(|first| first..cut.spans.min(first + each)).collect();
        let (b, n) = (kind.block, 2 * cut.partitions as usize);
        let peaks = Peaks::KINDS * T::REAL_BYTES;
        let longest = parts.iter().map(|part| rows_of(&cut, part).len()).max().unwrap_or(0);
        let slot = |(device, coarse): (&Device, &usize)| {
            let (system, x) = (DeviceRows::new(device, longest, b, 1)?, device.zeros(longest * b)?);
            let measurements = SingularSystems::new::<T>(device, 1, (1, 1), cut.rows as usize)?;
            Ok(Slot { device: device.clone(), system, x, measurements, coarse: *coarse })
        };
        let slots = devices.iter().zip(&coarse_of).map(slot).collect::<Result<_>>()?;
        let coarse_count = coarse_of.iter().max().map_or(0, |last| last + 1);
        let coarse =
            |device: &Device| Ok(OnOne { system: DeviceRows::new(device, n, b, 1)?, peaks: device.zeros(peaks)? });
        let coarse = devices[..coarse_count].iter().map(coarse).collect::<Result<_>>()?;
        let periodic = cut.periodic != 0;
        let shape = match b {
            1 => Shape::Tridiagonal { n, periodic },
            block => Shape::BlockTridiagonal { block_rows: n, block, periodic },
        };
        let solver = DeviceSolver::new(&devices[0], &plan.with_shape(shape), 1)?;
        Ok(Self { plan: plan.clone(), cut, kind, parts, slots, coarse, solver })
    }

    /// Get the number of parts.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Solve A·x = rhs under the accuracy contract.
    ///
    /// If a few rows are not accurate enough, the host repairs them. If the repair is not sufficient, the host solves the whole
    /// system with the pivoted method, and the report says so.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Device`]; the errors of the pivoted method, if it was used.
    pub fn solve<M: HostMatrix<T> + Factorize<Scalar = T>>(&mut self, a: &M, rhs: &[T], x: &mut [T]) -> Result<Report> {
        let shape = self.plan.shape();
        if a.shape() != shape {
            return Err(Error::Shape { what: "matrix", expected: shape.n(), got: a.shape().n() });
        }
        check_len("rhs", shape.n(), rhs.len())?;
        check_len("x", shape.n(), x.len())?;
        let system = HostSystem { bands: a.full_arrays(), rhs };
        self.reduce(&system)?;
        self.solve_coarse()?;
        self.substitute(&system, x)?;
        if !self.may_be_singular()? {
            if !self.plan.options().verify {
                return Ok(self.solver.gathered(&[]));
            }
            if let Some((error, rcond)) = self.verified(&system, x)? {
                let mut report = self.solver.gathered(&[error]);
                report.attention = self.solver.attention(&[error], &[rcond]).map(|(_, text)| text);
                return Ok(report);
            }
        }
        let of_host = fallback_plan(&self.plan, shape).factor(a)?.solve_into(rhs, x)?;
        let mut report = self.solver.gathered(&[of_host.backward_error]);
        (report.fallback, report.attention) = (true, of_host.attention);
        Ok(report)
    }

    /// Whether a pivot or an equation nearly vanished on any device.
    fn may_be_singular(&self) -> Result<bool> {
        let mut suspect = !self.solver.suspects()?.is_empty();
        for slot in &self.slots {
            suspect |= !slot.measurements.suspects()?.is_empty();
        }
        Ok(suspect)
    }

    /// Check x, and repair it if necessary. Returns its backward error if this is accepted, and an upper bound of the
    /// reciprocal condition number.
    fn verified(&self, system: &HostSystem<T>, x: &mut [T]) -> Result<Option<(f64, f64)>> {
        let verdicts = self.slots.iter().map(|slot| slot.measurements.verdict::<T>(1)).collect::<Result<Vec<_>>>()?;
        if !verdicts.iter().all(Verdict::errors_are_good::<T>) {
            return Ok(None);
        }
        let (mut rows, mut x_max, mut rhs_max) = (Vec::new(), 0.0_f64, 0.0_f64);
        for (slot, verdict) in self.slots.iter().zip(&verdicts) {
            let Some(bad) = slot.measurements.bad_rows(verdict.bad)? else { return Ok(None) };
            rows.extend(bad.iter().map(|[_, row]| *row as usize));
            let peaks = slot.measurements.first::<T>(1).download()?;
            let [size, rhs] = [1, 2].map(|kind| verdict::read::<T>(&peaks, kind)[0]);
            (x_max, rhs_max) = (x_max.max(size), rhs_max.max(rhs));
        }
        rows.sort_unstable();
        let repaired = repair(system, (self.kind.block, self.cut.periodic != 0), &rows, x, x_max)?;
        let all = verdicts.iter().flat_map(|verdict| &verdict.errors);
        Ok(repaired.map(|error| (error.max(largest(all)), verdict::rcond::<T>(rhs_max, x_max))))
    }

    /// Whether every part has its own memory, and remains on its device.
    fn resident(&self) -> bool {
        self.parts.len() <= self.slots.len()
    }

    fn reduce(&mut self, system: &HostSystem<T>) -> Result<()> {
        let verify = self.plan.options().verify;
        self.slots.iter_mut().try_for_each(|slot| slot.measurements.clear(verify))?;
        for k in 0..self.parts.len() {
            let slot = k % self.slots.len();
            self.upload(k, slot, system)?;
            let (source, rhs) = self.shifted(k, slot);
            let out = self.coarse[self.slots[slot].coarse].system.addresses(self.rows_below());
            let rule = rule(&self.plan, &self.slots[slot].measurements);
            let arguments = Arguments::new(&self.part(k)).with(source).with(rhs).with(out).with(rule);
            self.launch("reduce", k, slot, arguments, self.kind.reduce_bytes(&self.cut))?;
        }
        self.slots.iter().try_for_each(|slot| slot.device.synchronize())
    }

    /// Gather the coarse system on the first device, and send its solution to all devices.
    fn solve_coarse(&mut self) -> Result<()> {
        let b = self.kind.block;
        for k in 1..self.coarse.len() {
            let Some(part) = self.parts.get(k) else { break };
            let last = self.cut.partitions.min(part.end * self.cut.lanes);
            let rows = 2 * (part.start * self.cut.lanes) as usize..2 * last as usize;
            let (first, others) = self.coarse.split_at_mut(1);
            let (to, from) = (&mut first[0].system, &others[k - 1].system);
            let blocks = rows.start * b * b..rows.end * b * b;
            for (to, from) in to.bands.iter_mut().zip(&from.bands) {
                to.slice_mut(blocks.clone()).write(&from.slice(blocks.clone()).download()?)?;
            }
            let numbers = rows.start * b..rows.end * b;
            to.rhs.slice_mut(numbers.clone()).write(&from.rhs.slice(numbers).download()?)?;
        }
        let main = &self.coarse[0].system;
        let Coarse { arrays, d } = main.addresses(self.rows_below());
        let source = MatrixSource::Blocks(Blocks::new(arrays, Op::Plain));
        self.solver.prepare(main.rhs.len(), "rhs")?;
        // The solution replaces the right-hand side.
        self.solver.enqueue(source, Rhs::Dense(d), main.rhs.slice(..))?;
        self.solver.device().synchronize()?;
        let words = self.solver.first_peaks()?;
        let y = if self.coarse.len() > 1 { self.coarse[0].system.rhs.download()? } else { Vec::new() };
        for (k, coarse) in self.coarse.iter_mut().enumerate() {
            coarse.peaks.slice_mut(..).write(&words)?;
            if k > 0 {
                coarse.system.rhs.slice_mut(..).write(&y)?;
            }
        }
        Ok(())
    }

    /// Solve the parts, with the coarse solution known.
    fn substitute(&mut self, system: &HostSystem<T>, x: &mut [T]) -> Result<()> {
        let last = self.parts.len();
        // The copy of one part overlaps the work on the next.
        for k in 0..=last {
            if k < last {
                self.substitute_part(k, system)?;
            }
            if let Some(k) = k.checked_sub(1) {
                let rows = self.rows(k);
                let numbers = rows.start * self.kind.block..rows.end * self.kind.block;
                let slot = &self.slots[k % self.slots.len()];
                slot.x.slice(..numbers.len()).read(&mut x[numbers])?;
            }
        }
        Ok(())
    }

    fn substitute_part(&mut self, k: usize, system: &HostSystem<T>) -> Result<()> {
        let index = k % self.slots.len();
        if !self.resident() {
            self.upload(k, index, system)?;
        }
        let (source, rhs) = self.shifted(k, index);
        let slot = &self.slots[index];
        let coarse = &self.coarse[slot.coarse];
        let y = coarse.system.addresses(self.rows_below()).d;
        let first = (self.rows(k).start * self.kind.block * size_of::<T>()) as u64;
        let out =
            DeviceColumns { first: slot.x.slice(..).address().wrapping_sub(first), step: u64::from(self.cut.rows) };
        let peaks = match self.plan.options().verify {
            true => [
                Peaks::at(coarse.peaks.slice(..).address(), 1, T::REAL_BYTES),
                slot.measurements.peaks::<T>(0, 1, true),
            ],
            false => [Peaks::NONE; 2],
        };
        let arguments = Arguments::new(&self.part(k)).with(source).with(rhs).with(y).with(out);
        let arguments = arguments.with(peaks[0]).with(peaks[1]).with(rule(&self.plan, &slot.measurements));
        self.launch("substitute", k, index, arguments, self.kind.reload_bytes(&self.cut))
    }

    /// The number of rows of the coarse system.
    fn rows_below(&self) -> u64 {
        2 * u64::from(self.cut.partitions) * self.kind.block as u64
    }

    /// The block rows of a part.
    fn rows(&self, part: usize) -> Range<usize> {
        rows_of(&self.cut, &self.parts[part])
    }

    /// The level with the thread blocks of a part.
    fn part(&self, k: usize) -> DeviceCut {
        DeviceCut { first: self.parts[k].start, spans: self.parts[k].len() as u32, ..self.cut }
    }

    /// Copy the rows of a part to a device.
    fn upload(&mut self, part: usize, slot: usize, system: &HostSystem<T>) -> Result<()> {
        let (rows, b) = (self.rows(part), self.kind.block);
        let slot = &mut self.slots[slot].system;
        for (to, from) in slot.bands.iter_mut().zip(&system.bands) {
            to.slice_mut(..rows.len() * b * b).write(&from[rows.start * b * b..rows.end * b * b])?;
        }
        slot.rhs.slice_mut(..rows.len() * b).write(&system.rhs[rows.start * b..rows.end * b])
    }

    /// The matrix and the right-hand sides of a part, with addresses shifted to the first row of the system.
    fn shifted(&self, part: usize, slot: usize) -> (Blocks, DeviceColumns) {
        let (first, b, slot) = (self.rows(part).start, self.kind.block, &self.slots[slot].system);
        let before = |numbers: usize| (first * numbers * size_of::<T>()) as u64;
        let bands = slot.bands.each_ref().map(|band| band.slice(..).address().wrapping_sub(before(b * b)));
        let rhs = DeviceColumns {
            first: slot.rhs.slice(..).address().wrapping_sub(before(b)),
            step: u64::from(self.cut.rows),
        };
        (Blocks::new(bands, Op::Plain), rhs)
    }

    fn launch(&self, kernel: &str, part: usize, slot: usize, arguments: Arguments, shared: usize) -> Result<()> {
        let name = format!("{kernel}_{}_{}_1", T::NAME, self.kind.block);
        // SAFETY: these are the kernel's arguments. The kernel accesses only the rows of this part in the shifted
        // arrays.
        unsafe { arguments.launch(&self.slots[slot].device, &name, self.parts[part].len(), shared) }
    }
}

/// The block rows of some thread blocks.
fn rows_of(cut: &DeviceCut, spans: &Range<u32>) -> Range<usize> {
    let row = |span: u32| if span >= cut.spans { cut.n as usize } else { (span * cut.lanes) as usize * cut.m as usize };
    row(spans.start)..row(spans.end)
}
