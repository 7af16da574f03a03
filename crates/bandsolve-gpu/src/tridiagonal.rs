//! RPTS on a device: Klein's recursive partitioned Schur complement.

use crate::device::{Device, DeviceVec, Element, Error, Launch, Result};
use bandsolve::direct::contract::{ACCEPTED_AT_ONCE, MAX_REFINEMENTS, good};
use bandsolve::{Factor, Method, Plan};
use core::ffi::c_void;

/// Threads of a warp, and partitions of a block.
const LANES: usize = 32;
/// Threads of a block: a warp or two eliminate, all load and store.
const THREADS: u32 = 128;
/// Rows of the longest partition: one bit of a word for each pivot.
const LONGEST: usize = 64;
/// Rows of a partition, where shared memory allows.
const PARTITION_ROWS: usize = 31;
/// Arrays of a partition in shared memory: rows, what is carried, and x.
const ARRAYS: usize = 7;

/// What the kernels that eliminate are told: rows may be exchanged, and are scaled.
const SCALED_PARTIAL: [i32; 2] = [1, 1];

/// How good an answer is, and what was done for it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Row-wise backward error, or an upper bound of it, as `bandsolve::Report` defines it.
    pub backward_error: f64,
    /// Refinement steps.
    pub refinement_steps: usize,
    /// Whether the host had to solve the system, for which all was copied there and back.
    pub fallback: bool,
}

/// A system and how it is cut, as the kernels see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Cut {
    n: u32,
    m: u32,
    partitions: u32,
    periodic: u32,
}

impl Cut {
    fn new(n: usize, m: usize, periodic: bool) -> Self {
        // No partition has but one row.
        let partitions = if n <= LONGEST { 1 } else { n / m + usize::from(n % m > 1) };
        let m = if partitions == 1 { n } else { m };
        Self { n: n as u32, m: m as u32, partitions: partitions as u32, periodic: periodic.into() }
    }

    /// Elements from partition to partition in shared memory.
    fn pitch(&self) -> usize {
        (self.m as usize + 1) | 1
    }
}

/// A level of the recursion below the first: its system and its solution.
#[derive(Debug)]
struct Level<T> {
    bands: [DeviceVec<T>; 4],
    x: DeviceVec<T>,
}

/// Solves tridiagonal systems of one size on a device.
///
/// Row i of A·x = rhs reads sub_i·x_{i−1} + diag_i·x_i + sup_i·x_{i+1} = rhs_i; `sub[0]` and `sup[n − 1]` are the corners of a
/// periodic matrix, else ignored.
///
/// # Cost
/// Reads 9 numbers a row and writes one, and 2/31 of that for each further level; memory for 5·(2/31 + (2/31)² + …) numbers a row.
///
/// # Source
/// Klein, dissertation, 2.5 and 2.6.
#[derive(Debug)]
pub struct Tridiagonal<T> {
    device: Device,
    cuts: Vec<Cut>,
    levels: Vec<Level<T>>,
    /// Two words a level: largest backward error and largest |x|, as bits.
    peaks: Vec<DeviceVec<u8>>,
}

impl<T: Element> Tridiagonal<T> {
    /// Takes the memory that solves need.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Driver`] if there is no memory.
    pub fn new(device: &Device, n: usize, periodic: bool) -> Result<Self> {
        let room = device.machine().shared_limit() / (ARRAYS * size_of::<T>() * LANES);
        // An odd pitch that fits holds so many rows.
        Self::with_partitions(device, n, periodic, PARTITION_ROWS.min(room.saturating_sub(2)))
    }

    /// The same with partitions of `m` rows (3 … 63).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_partitions(device: &Device, n: usize, periodic: bool, m: usize) -> Result<Self> {
        if u32::try_from(n).is_err() {
            return Err(Error::TooLarge { n });
        }
        let m = m.clamp(3, LONGEST - 1);
        let mut cuts = vec![Cut::new(n, m, periodic)];
        let mut levels = Vec::new();
        while let Some(cut) = cuts.last().filter(|cut| cut.partitions > 1) {
            let n = 2 * cut.partitions as usize;
            cuts.push(Cut::new(n, m, periodic));
            let array = || device.zeros(n);
            levels.push(Level { bands: [array()?, array()?, array()?, array()?], x: array()? });
        }
        let peaks = cuts.iter().map(|_| device.zeros(2 * T::REAL_BYTES)).collect::<Result<_>>()?;
        Ok(Self { device: device.clone(), cuts, levels, peaks })
    }

    /// Solves A·x = rhs under the accuracy contract of `bandsolve`: the backward error is measured as x is written; above 8ε the
    /// answer is refined on the device, and at last solved again by the sequential pivoted method of the host.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Driver`]; [`Error::Solve`] if the host's method fails, too.
    pub fn solve_into(
        &mut self,
        bands: [&DeviceVec<T>; 3],
        rhs: &DeviceVec<T>,
        x: &mut DeviceVec<T>,
    ) -> Result<Report> {
        let [sub, diag, sup] = bands;
        let expected = self.cuts[0].n as usize;
        let lengths =
            [("sub", sub.len()), ("diag", diag.len()), ("sup", sup.len()), ("rhs", rhs.len()), ("x", x.len())];
        if let Some((array, got)) = lengths.into_iter().find(|(_, got)| *got != expected) {
            return Err(Error::Length { array, got, expected });
        }
        let mut report = Report { backward_error: 0.0, refinement_steps: 0, fallback: false };
        if expected == 0 {
            return Ok(report);
        }
        let good = good::<T>();
        let system = [sub, diag, sup, rhs];
        report.backward_error = self.solve_once(system.map(DeviceVec::address), x)?;
        if report.backward_error <= ACCEPTED_AT_ONCE * good {
            return Ok(report);
        }
        self.refine(system, x, good, &mut report)?;
        if !(report.backward_error <= good) {
            fall_back(system, self.cuts[0].periodic != 0, x, &mut report)?;
        }
        Ok(report)
    }

    /// Solves with these arrays; returns an upper bound of the backward error.
    fn solve_once(&mut self, given: [u64; 4], x: &DeviceVec<T>) -> Result<f64> {
        for peaks in &mut self.peaks {
            peaks.clear()?;
        }
        let last = self.levels.len();
        let system =
            |k: usize| if k == 0 { given } else { self.levels[k - 1].bands.each_ref().map(DeviceVec::address) };
        let solution = |k: usize| if k == 0 { x.address() } else { self.levels[k - 1].x.address() };
        for k in 0..last {
            self.eliminate("reduce", k, 4, &[system(k), system(k + 1)].concat())?;
        }
        let end = [&system(last)[..], &[solution(last), self.peaks[last].address()]].concat();
        self.eliminate("finish", last, ARRAYS, &end)?;
        for k in (0..last).rev() {
            let peaks = [self.peaks[k + 1].address(), self.peaks[k].address()];
            let arrays = [&system(k)[..], &[solution(k + 1), solution(k)], &peaks].concat();
            self.eliminate("substitute", k, ARRAYS, &arrays)?;
        }
        peak::<T>(&self.peaks[0])
    }

    /// Refines with the same elimination while that helps.
    fn refine(
        &mut self,
        system: [&DeviceVec<T>; 4],
        x: &mut DeviceVec<T>,
        good: f64,
        report: &mut Report,
    ) -> Result<()> {
        let array = || self.device.zeros::<T>(x.len());
        let (rest, dx, mut kept) = (array()?, array()?, array()?);
        // The largest |x| is what the elimination has found.
        let mut sizes = self.device.zeros::<u8>(2 * T::REAL_BYTES)?;
        sizes.copy_from(&self.peaks[0])?;
        report.backward_error = self.residual(system, (x, &sizes), &rest)?;
        while !(report.backward_error <= good) && report.refinement_steps < MAX_REFINEMENTS {
            let [sub, diag, sup, _] = system;
            self.solve_once([sub, diag, sup, &rest].map(DeviceVec::address), &dx)?;
            kept.copy_from(x)?;
            sizes.clear()?;
            self.by_rows("correct", &[dx.address(), x.address(), sizes.address()])?;
            report.refinement_steps += 1;
            let eta = self.residual(system, (x, &sizes), &rest)?;
            if !(eta < report.backward_error) {
                return x.copy_from(&kept);
            }
            report.backward_error = eta;
        }
        Ok(())
    }

    /// rest ← rhs − A·x, formed in twice the working precision; returns the backward error.
    fn residual(
        &self,
        system: [&DeviceVec<T>; 4],
        (x, sizes): (&DeviceVec<T>, &DeviceVec<u8>),
        rest: &DeviceVec<T>,
    ) -> Result<f64> {
        let peaks = self.device.zeros::<u8>(2 * T::REAL_BYTES)?;
        let others = [x.address(), rest.address(), sizes.address(), peaks.address()];
        self.by_rows("residual", &[system.map(DeviceVec::address), others].concat())?;
        peak::<T>(&peaks)
    }

    /// Runs a kernel over the partitions of level `k`, with so many arrays in shared memory.
    fn eliminate(&self, kernel: &str, k: usize, arrays: usize, addresses: &[u64]) -> Result<()> {
        let cut = self.cuts[k];
        let partitions = (cut.partitions as usize).min(LANES);
        // Unknowns beside the partitions, two each.
        let elements = arrays * cut.pitch() * partitions + if arrays == ARRAYS { 2 * partitions } else { 0 };
        self.run(kernel, (cut.partitions.div_ceil(LANES as u32), elements), cut, addresses, &SCALED_PARTIAL)
    }

    /// Runs a kernel over the rows of the system.
    fn by_rows(&self, kernel: &str, addresses: &[u64]) -> Result<()> {
        let cut = self.cuts[0];
        self.run(kernel, (cut.n.div_ceil(THREADS), 0), cut, addresses, &[])
    }

    /// Runs a kernel of so many blocks, with so many numbers in shared memory.
    fn run(
        &self,
        kernel: &str,
        (blocks, shared): (u32, usize),
        cut: Cut,
        addresses: &[u64],
        flags: &[i32],
    ) -> Result<()> {
        let kernel = format!("{kernel}_{}", T::SUFFIX);
        let launch = Launch { kernel, blocks, threads: THREADS, shared: shared * size_of::<T>() };
        let (mut cut, mut addresses, mut flags) = (cut, addresses.to_vec(), flags.to_vec());
        let mut arguments: Vec<*mut c_void> = vec![(&raw mut cut).cast()];
        arguments.extend(addresses.iter_mut().map(|address| core::ptr::from_mut(address).cast::<c_void>()));
        arguments.extend(flags.iter_mut().map(|flag| core::ptr::from_mut(flag).cast::<c_void>()));
        // SAFETY: what the kernels take: the cut, arrays as long as the levels' systems, of which the first level's were looked up,
        // and two flags.
        unsafe { self.device.machine().launch(&launch, &mut arguments) }
    }
}

/// The first of two words: a real number.
fn peak<T: Element>(peaks: &DeviceVec<u8>) -> Result<f64> {
    let mut bits = [0_u8; 8];
    bits[..T::REAL_BYTES].copy_from_slice(&peaks.download()?[..T::REAL_BYTES]);
    Ok(T::real_of_bits(u64::from_le_bytes(bits)))
}

/// Solves on the host, by the sequential pivoted method.
fn fall_back<T: Element>(
    system: [&DeviceVec<T>; 4],
    periodic: bool,
    x: &mut DeviceVec<T>,
    report: &mut Report,
) -> Result<()> {
    let [sub, diag, sup, rhs] = system.map(DeviceVec::download);
    let (sub, diag, sup, rhs) = (sub?, diag?, sup?, rhs?);
    let a = if periodic {
        bandsolve::Tridiagonal::periodic(&sub, &diag, &sup)
    } else {
        bandsolve::Tridiagonal::new(&sub, &diag, &sup)
    }?;
    let solution = Plan::new(a.shape()).method(Method::Pivoted).factor(&a)?.solve(&rhs)?;
    x.write(&solution.values)?;
    *report = Report { backward_error: solution.report.backward_error, fallback: true, ..*report };
    Ok(())
}
