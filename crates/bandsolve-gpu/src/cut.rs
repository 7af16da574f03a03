//! The division of systems into partitions, level by level.

use crate::device::Limits;
use bandsolve::{Error, Result};

/// Rows between two carried equations that the kernel for interleaved batches stores (`CHUNK` in `batch.cuh`).
const CHUNK: usize = 8;

/// Threads of a warp: the maximum number of partitions of a thread block.
pub const LANES: usize = 32;
/// Threads per block: two warps eliminate, and all threads load and store.
pub const THREADS: u32 = 128;
/// Maximum number of rows of a partition: one bit of a word for each pivot.
const LONGEST: usize = 64;
/// Rows per partition of systems that would leave multiprocessors idle with longer partitions.
///
/// Fewer rows per partition mean more thread blocks, but also more memory for the coarse system: 2/m of the system.
///
/// # Source
/// Klein 2.6.8, Algorithm 3.
const SHORTER_ROWS: [usize; 2] = [23, 17];
/// Rows of a partition on chip from the second level on, and maximum rows of a system with one partition on chip
/// (`rpts.cuh`).
const DEEPER_ROWS: usize = 8;
const ALONE: usize = 16;
/// Maximum number of thread blocks on a multiprocessor.
const RESIDENT: usize = 2048 / THREADS as usize;

/// A level of the recursion, in the form that the kernels use (`system.cuh`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DeviceCut {
    /// Number of block rows.
    pub n: u32,
    /// Number of rows.
    pub rows: u32,
    /// Block rows per partition.
    pub m: u32,
    pub partitions: u32,
    /// Partitions per thread block.
    pub lanes: u32,
    pub periodic: u32,
    /// Right-hand sides per system.
    pub columns: u32,
    pub systems: u32,
    /// The first thread block of each system in a launch, and the number of thread blocks per system.
    pub first: u32,
    pub spans: u32,
    /// Distance in memory from one system to the next, and from one row to the next.
    pub system_step: u32,
    pub row_step: u32,
}

impl DeviceCut {
    /// The coarse system of a level on chip. It is a single partition if it has at most [`ALONE`] block rows.
    fn deeper(self) -> Self {
        let n = 2 * self.partitions as usize;
        let m = if n <= ALONE { n } else { DEEPER_ROWS };
        Self { n: n as u32, m: m as u32, partitions: partitions(n, m) as u32, ..self }
    }

    /// The number of columns of all systems.
    pub fn all_columns(&self) -> usize {
        self.columns as usize * self.systems as usize
    }
}

/// The number of partitions of m rows. The last one has 2 to m + 1 rows.
fn partitions(n: usize, m: usize) -> usize {
    if n <= m { 1 } else { n / m + usize::from(n % m > 1) }
}

/// A kind of kernels: block size, number of right-hand sides on chip, and bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelKind {
    pub block: usize,
    pub on_chip: usize,
    pub bytes: usize,
}

impl KernelKind {
    /// Bytes of shared memory for reducing a level (`Tile` in `system.cuh`).
    pub fn reduce_bytes(&self, cut: &DeviceCut) -> usize {
        self.bytes * self.plane(cut) * self.row_numbers()
    }

    /// Bytes of shared memory for substitution in a level whose rows are loaded again for the residuals.
    pub fn reload_bytes(&self, cut: &DeviceCut) -> usize {
        self.substitute_bytes_with(cut, 0)
    }

    /// Bytes of shared memory for substitution in a level whose rows remain.
    ///
    /// The partitions, and so the last bits of x, depend on this number.
    pub fn substitute_bytes(&self, cut: &DeviceCut) -> usize {
        self.substitute_bytes_with(cut, if self.block == 1 { 2 + self.on_chip } else { 0 })
    }

    fn substitute_bytes_with(&self, cut: &DeviceCut, stored: usize) -> usize {
        let lanes = cut.lanes.min(cut.partitions) as usize;
        self.bytes * (self.plane(cut) * (self.row_numbers() + stored) + 2 * self.block * self.on_chip * lanes)
    }

    /// Bytes of shared memory for right-hand sides only, if factors are stored.
    pub fn vector_bytes(&self, cut: &DeviceCut) -> usize {
        let lanes = cut.lanes.min(cut.partitions) as usize;
        self.bytes * self.block * self.on_chip * (self.plane(cut) + 2 * lanes)
    }

    /// Bytes of shared memory for solving a system on chip.
    pub fn finish_bytes(&self, cut: &DeviceCut) -> usize {
        let (mut cut, mut bytes) = (*cut, self.substitute_bytes(cut));
        while cut.partitions > 1 {
            cut = cut.deeper();
            bytes += self.substitute_bytes(&cut);
        }
        bytes + self.substitute_bytes(&cut.deeper())
    }

    /// Bytes of shared memory for the systems of a batch, each solved by one thread, between two rows of zeros.
    pub fn alone_bytes(&self, cut: &DeviceCut) -> usize {
        self.substitute_bytes(&DeviceCut { m: cut.m + 2, ..*cut })
    }

    /// Threads per block and bytes of shared memory for interleaved batches: seven numbers per row of a chunk.
    pub fn interleaved_block(&self, limits: &Limits) -> (u32, usize) {
        let bytes = |threads: u32| 7 * CHUNK * self.bytes * threads as usize;
        let threads = [THREADS, THREADS / 2].into_iter().find(|threads| bytes(*threads) <= limits.shared_per_block / 2);
        let threads = threads.unwrap_or(LANES as u32);
        (threads, bytes(threads))
    }

    /// Number of intermediate results for solving an interleaved batch (`batch.cuh`).
    pub fn interleaved_intermediate(&self, cut: &DeviceCut) -> usize {
        3 * (cut.n as usize - 1).div_ceil(CHUNK) * cut.all_columns()
    }

    /// Number of entries of a plane of a tile. Every partition has an odd number of entries, with room for one more
    /// row.
    fn plane(&self, cut: &DeviceCut) -> usize {
        ((cut.m as usize + 1) | 1) * cut.lanes.min(cut.partitions) as usize
    }

    fn row_numbers(&self) -> usize {
        self.block * (3 * self.block + self.on_chip)
    }
}

/// A system before its division into partitions.
#[derive(Debug, Clone, Copy)]
pub struct UncutSystem {
    pub n: usize,
    pub rows: usize,
    pub periodic: bool,
    pub columns: usize,
    pub systems: usize,
}

impl UncutSystem {
    /// Check that the sizes fit in the integers of the kernels.
    fn check(&self) -> Result<()> {
        match [self.rows * self.systems, self.columns * self.systems].into_iter().all(|count| count < 1 << 31) {
            true => Ok(()),
            false => Err(Error::Unsupported { method: "rpts", what: "systems of 2³¹ rows or more on a GPU" }),
        }
    }
}

/// One system that is not divided into partitions.
pub fn whole(system: UncutSystem) -> Result<DeviceCut> {
    system.check()?;
    let (n, rows) = (system.n as u32, system.rows as u32);
    Ok(DeviceCut {
        n,
        rows,
        m: n,
        partitions: 1,
        lanes: 1,
        periodic: system.periodic.into(),
        columns: system.columns as u32,
        systems: 1,
        first: 0,
        spans: 1,
        system_step: rows,
        row_step: 1,
    })
}

/// Maximum number of rows of systems in a contiguous batch that one thread each can solve.
pub const ALONE_AT_MOST: usize = LONGEST - 3;

/// A batch of systems, each solved by one thread.
pub fn batch(system: UncutSystem, kind: KernelKind, limits: &Limits, interleaved: bool) -> Result<DeviceCut> {
    system.check()?;
    let (n, systems) = (system.n as u32, system.systems as u32);
    let (system_step, row_step) = if interleaved { (1, systems) } else { (n, 1) };
    let cut = |lanes: usize| DeviceCut {
        n,
        rows: n,
        m: n,
        partitions: systems,
        lanes: lanes as u32,
        periodic: 0,
        columns: system.columns as u32,
        systems,
        first: 0,
        spans: system.systems.div_ceil(lanes) as u32,
        system_step,
        row_step,
    };
    let fits = |cut: &DeviceCut| kind.alone_bytes(cut) <= limits.shared_per_block;
    Ok([LANES, LANES / 2, LANES / 4].map(cut).into_iter().find(fits).unwrap_or_else(|| cut(1)))
}

/// Rows per partition of SPIKE with cyclic reduction, if there is enough shared memory: eight rows per thread.
const SPIKE_ROWS: usize = 8 * THREADS as usize;

impl KernelKind {
    /// Bytes of shared memory for cyclic reduction with `rows` rows and `n_rhs` right-hand sides (`Lines` in `cr.cuh`).
    pub fn lines_bytes(&self, rows: usize, n_rhs: usize) -> usize {
        self.bytes * rows * (3 + n_rhs)
    }

    /// Bytes of shared memory for a system of a batch, including one word per warp.
    pub fn cyclic_bytes(&self, rows: usize) -> usize {
        self.lines_bytes(rows, 1) + self.bytes * THREADS as usize / LANES
    }
}

/// A window of block rows of a system that one thread solves. It has the maximum number of rows of a partition, or
/// fewer if shared memory is too small.
pub fn window(cut: &DeviceCut, kind: KernelKind, limits: &Limits) -> DeviceCut {
    let make = |most: usize| {
        let n = cut.n.min(most as u32);
        let rows = n * kind.block as u32;
        DeviceCut {
            n,
            rows,
            m: n,
            partitions: 1,
            lanes: LANES as u32,
            periodic: 0,
            columns: 1,
            systems: 1,
            first: 0,
            spans: 1,
            system_step: rows,
            row_step: 1,
        }
    };
    let fits = |cut: &DeviceCut| kind.finish_bytes(cut) <= limits.shared_per_block;
    [LONGEST, LONGEST / 2].map(make).into_iter().find(fits).unwrap_or_else(|| make(LONGEST / 4))
}

/// Divide a system for SPIKE with cyclic reduction: one thread block per partition. The coarse system is divided as
/// usual.
pub fn spike_levels(
    system: UncutSystem,
    kind: KernelKind,
    limits: &Limits,
    rows: PartitionRows,
) -> Result<Vec<CutLevel>> {
    system.check()?;
    let asked = rows.asked.map_or(SPIKE_ROWS, |m| m.clamp(3, SPIKE_ROWS));
    let m = asked.min(room(limits) / kind.lines_bytes(1, 3));
    let count = partitions(system.n, m);
    let (n, m) = (system.n as u32, if count == 1 { system.n } else { m } as u32);
    let first = DeviceCut {
        n,
        rows: n,
        m,
        partitions: count as u32,
        lanes: 1,
        periodic: system.periodic.into(),
        columns: system.columns as u32,
        systems: 1,
        first: 0,
        spans: count as u32,
        system_step: n,
        row_step: 1,
    };
    let below = UncutSystem { n: 2 * count, rows: 2 * count, ..system };
    let one = KernelKind { on_chip: 1, ..kind };
    Ok([(first, one)].into_iter().chain(levels(below, kind, limits, rows)?).collect())
}

/// A level and its kernels.
pub type CutLevel = (DeviceCut, KernelKind);

/// Rows per partition: the requested number, and otherwise the number for large systems.
#[derive(Debug, Clone, Copy)]
pub struct PartitionRows {
    pub asked: Option<usize>,
    pub large: usize,
}

/// Divide a system into partitions, level by level. The last level is solved on chip.
///
/// The partitions do not depend on the number of right-hand sides. x is therefore the same for any number of them, bit
/// for bit.
pub fn levels(system: UncutSystem, kind: KernelKind, limits: &Limits, rows: PartitionRows) -> Result<Vec<CutLevel>> {
    let one = KernelKind { on_chip: 1, ..kind };
    let cuts = cuts(system, one, limits, rows)?;
    let last = cuts.len() - 1;
    let level = |(k, cut): (usize, DeviceCut)| {
        // Process several right-hand sides at the same time if they fit.
        let fits = |cut: &DeviceCut| match k == last {
            true => kind.finish_bytes(cut) <= limits.shared_per_block,
            false => kind.substitute_bytes(cut) <= room(limits),
        };
        let lanes = if k == last { &[LANES][..] } else { &[LANES, LANES / 2] };
        let narrowed = lanes.iter().filter(|lanes| **lanes <= cut.lanes as usize).map(|lanes| DeviceCut {
            lanes: *lanes as u32,
            spans: cut.partitions.div_ceil(*lanes as u32),
            ..cut
        });
        narrowed.into_iter().find(fits).map_or((cut, one), |cut| (cut, kind))
    };
    Ok(cuts.into_iter().enumerate().map(level).collect())
}

/// Shared memory that one thread block may use. A multiprocessor has room for at least two, so that one computes while
/// the other waits for memory.
fn room(limits: &Limits) -> usize {
    limits.shared_per_block.min(limits.shared_per_multiprocessor / 2)
}

fn cuts(system: UncutSystem, kind: KernelKind, limits: &Limits, rows: PartitionRows) -> Result<Vec<DeviceCut>> {
    system.check()?;
    let make = |n: usize, m: usize, lanes: usize| {
        let all_rows = if n == system.n { system.rows } else { n * kind.block };
        let count = partitions(n, m);
        let m = if count == 1 { n } else { m };
        DeviceCut {
            n: n as u32,
            rows: all_rows as u32,
            m: m as u32,
            partitions: count as u32,
            lanes: lanes as u32,
            periodic: system.periodic.into(),
            columns: system.columns as u32,
            systems: system.systems as u32,
            first: 0,
            spans: count.div_ceil(lanes) as u32,
            system_step: all_rows as u32,
            row_step: 1,
        }
    };
    let asked = rows.asked.map(|m| m.clamp(3, LONGEST - 1));
    let mut cuts = Vec::new();
    let mut n = system.n;
    loop {
        if let Some(m) = on_chip(n, asked) {
            let cut = make(n, m, LANES);
            if kind.finish_bytes(&cut) <= limits.shared_per_block {
                cuts.push(cut);
                return Ok(cuts);
            }
        }
        let cut = choose(|m, lanes| make(n, m, lanes), kind, limits, PartitionRows { asked, ..rows })?;
        n = 2 * cut.partitions as usize;
        cuts.push(cut);
    }
}

/// Rows per partition of a system that is small enough to be solved on chip.
fn on_chip(n: usize, rows: Option<usize>) -> Option<usize> {
    let m = if n <= ALONE { n } else { rows.unwrap_or(DEEPER_ROWS.max(n.div_ceil(LANES))) };
    (m < LONGEST && partitions(n, m) <= LANES).then_some(m)
}

/// The longest partitions that use the whole device. If shared memory is too small, partitions are shorter, with fewer
/// per thread block.
fn choose(
    make: impl Fn(usize, usize) -> DeviceCut,
    kind: KernelKind,
    limits: &Limits,
    rows: PartitionRows,
) -> Result<DeviceCut> {
    let fits = |cut: &DeviceCut| kind.substitute_bytes(cut) <= room(limits);
    let longest = |most: usize| {
        let sizes = [LANES, LANES / 2, LANES / 4, 1].into_iter().flat_map(|lanes| {
            let shortest = if lanes == 1 { 3 } else { 7.min(most) };
            (shortest..=most).rev().map(move |m| (m, lanes))
        });
        sizes.map(|(m, lanes)| make(m, lanes)).find(fits)
    };
    let too_small = Error::Unsupported {
        method: "rpts",
        what: "blocks of this size on this GPU, which has too little shared memory",
    };
    if let Some(m) = rows.asked {
        return longest(m).ok_or(too_small);
    }
    let mut chosen = None;
    for m in [rows.large].into_iter().chain(SHORTER_ROWS.into_iter().filter(|m| *m < rows.large)) {
        let cut = longest(m).ok_or(too_small.clone())?;
        let resident = RESIDENT.min(limits.shared_per_multiprocessor / kind.substitute_bytes(&cut));
        let blocks = cut.spans as usize * cut.systems as usize;
        chosen = Some(cut);
        if blocks >= limits.multiprocessors * resident {
            break;
        }
    }
    chosen.ok_or(too_small)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        shared_per_block: 227 << 10,
        shared_per_multiprocessor: 228 << 10,
        multiprocessors: 132,
        memory: 141 << 30,
    };

    const USUAL: PartitionRows = PartitionRows { asked: None, large: 31 };

    fn scalar(n: usize, bytes: usize) -> Vec<DeviceCut> {
        let system = UncutSystem { n, rows: n, periodic: false, columns: 1, systems: 1 };
        cuts(system, KernelKind { block: 1, on_chip: 1, bytes }, &LIMITS, USUAL).unwrap()
    }

    #[test]
    fn large_systems_take_little_memory_and_few_levels() {
        for bytes in [4, 8, 16] {
            let cuts = scalar(1 << 28, bytes);
            assert!(cuts.len() <= 7, "{:?}", cuts.iter().map(|cut| cut.m).collect::<Vec<_>>());
            // Four numbers per row of each level except the first, in addition to five numbers of the system.
            let coarse: usize = cuts[1..].iter().map(|cut| cut.n as usize).sum();
            assert!(4 * coarse * 100 <= 6 * 5 * (1 << 28), "{bytes}: {coarse}");
        }
        // Small systems have shorter partitions, to use the whole device.
        let cuts = scalar(1 << 18, 8);
        assert_eq!(cuts[0].m, 17);
        let coarse: usize = cuts[1..].iter().map(|cut| cut.n as usize).sum();
        assert!(4 * coarse * 100 <= 12 * 5 * (1 << 18));
    }

    #[test]
    fn every_size_is_cut_into_partitions_that_fit() {
        for block in 1..=4 {
            for on_chip in [1, 4] {
                for bytes in [4, 8, 16] {
                    let kind = KernelKind { block, on_chip, bytes };
                    let limits = Limits { shared_per_block: 96 << 10, shared_per_multiprocessor: 96 << 10, ..LIMITS };
                    for n in (1..200).chain([1000, 4096, 100_000, 1 << 22]) {
                        let system = UncutSystem { n, rows: n * block, periodic: true, columns: 5, systems: 1 };
                        let cuts = levels(system, kind, &limits, USUAL).unwrap();
                        for ((cut, kind), (next, _)) in cuts.iter().zip(&cuts[1..]) {
                            assert_eq!(next.n, 2 * cut.partitions);
                            assert!(next.n < cut.n && kind.substitute_bytes(cut) <= limits.shared_per_block);
                        }
                        for (cut, _) in &cuts {
                            let last = cut.n - (cut.partitions - 1) * cut.m;
                            assert!((last >= 2 || cut.n == 1) && last <= cut.m + 1 && cut.m < 64);
                        }
                        let (last, kind) = cuts.last().unwrap();
                        assert!(last.spans == 1 && kind.finish_bytes(last) <= limits.shared_per_block);
                    }
                }
            }
        }
    }
}
