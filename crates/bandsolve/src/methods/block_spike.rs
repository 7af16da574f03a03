//! Block SPIKE: threads eliminate partitions of block rows. A separator, which is one block row, remains between two partitions.
//!
//! Partition p is between the separators s and t. Block LU eliminates its block rows one by one, starting next to s. D, A and C are the
//! blocks of row k on the diagonal, to the previous row and to the next row. W_k is the coupling of row k to separator s, and V_k the coupling of
//! separator s to row k:
//!
//! ```text
//! Ĉ_k = D_k⁻¹ C_k,   Ŵ_k = D_k⁻¹ W_k
//! D_(k+1) ← D_(k+1) − A_(k+1) Ĉ_k,   W_(k+1) = −A_(k+1) Ŵ_k
//! V_(k+1) = −V_k Ĉ_k,   D_s ← D_s − V_k Ŵ_k
//! ```
//!
//! The row after the last one is separator t. W and V are the spikes. If the entries of W or V are below ε / (8·block) relative to their
//! row, they are dropped. The rest of the partition then costs no more than block LU. This is truncated SPIKE, applied only to rows where
//! truncation is below rounding.
//!
//! In an open system, the first and the last partition are eliminated from the ends and have no spikes. With the usual two partitions, the
//! method is block LU from both ends.
//!
//! The separators form the coarse system, open or periodic, which BCYCLIC solves.
//!
//! Source: A. Lamas Daviña, J. E. Roman, Parallel Comput. 74 (2018), section 3.2 and Algorithms 4 and 5. Their partitions touch, and
//! the coarse system has two block rows per partition. Separators make it half as large, and partitions are factored from one end only.

use crate::decision::Options;
use crate::error::Result;
use crate::memory::{allocate, filled, places, reserved};
use crate::methods::bcyclic;
use crate::methods::bcyclic::Bcyclic;
use crate::methods::block_dense::{
    ChainRow, Coupling, DiagonalBlock, ScaledBlocks, fill_in, subtract_from, subtract_product,
};
use crate::methods::block_stored::BlockElimination;
use crate::methods::dense_lu::Team;
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::rows::BlockRows;
use bandsolve_kernel::spread::{RowsOf, spread};
use bandsolve_kernel::threads::join;
use dyn_stack::{PodStack, StackReq};

/// Factors of an open system (a chain of block rows) or a periodic one (a ring).
///
/// # Cost
/// Per block row without spikes: 4⅔ block³ flops to factor, 6 block² flops per right-hand side to solve, and 3 block² words. With spikes:
/// 12⅔ block³ flops, 10 block² flops and 5 block² words.
#[derive(Debug)]
pub(crate) struct BlockSpike<T> {
    team: Team,
    cut: ChainCut,
    partitions: Vec<Vec<EliminatedBlock<T>>>,
    /// Factors of the coarse system of the separators.
    coarse: Bcyclic<T>,
    place: Vec<usize>,
    singular: bool,
}

/// An eliminated block row. Its first neighbour is the next row, its second one the separator at which the partition starts.
#[derive(Debug)]
struct EliminatedBlock<T> {
    pivot: DiagonalBlock<T>,
    /// Ĉ and Ŵ.
    hats: [Coupling<T>; 2],
    /// The couplings of the neighbours to this row: A of the next row, and V.
    links: [Coupling<T>; 2],
}

/// The partitions of a chain or a ring, with one separator at each boundary between two of them.
#[derive(Debug, Clone, Copy)]
pub struct ChainCut {
    count: usize,
    partitions: usize,
    ring: bool,
}

impl ChainCut {
    /// Divide `count` block rows into partitions of `rows` rows, or into `partitions` partitions if `rows` is none.
    pub fn new(count: usize, ring: bool, rows: Option<usize>, partitions: usize) -> Self {
        // Each partition and each separator needs a row.
        let most = if ring { count / 2 } else { count.div_ceil(2) };
        let wish = rows.map_or(partitions, |rows| count.div_ceil(rows + 1));
        // Dividing a system of three rows or fewer does not pay off.
        let partitions = if count < 4 { 0 } else { wish.clamp(2, most) };
        Self { count, partitions, ring }
    }

    /// Number of partitions; 0 if the system is too small to divide it.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Number of separators.
    pub fn separators(&self) -> usize {
        match self.partitions {
            0 => self.count,
            parts => parts - usize::from(!self.ring),
        }
    }

    /// Block rows of spare memory for a solve: three per partition, or the memory that the separators need.
    fn spare_rows(&self) -> usize {
        (3 * self.partitions).max(bcyclic::spare_rows(self.separators()))
    }

    /// The first row of partition `p`. For p = `partitions`, this is the row after the last separator.
    fn start(&self, p: usize) -> usize {
        let inside = self.count - self.separators();
        let (each, more) = (inside / self.partitions, inside % self.partitions);
        p * (each + 1) + p.min(more)
    }

    /// Number of rows of partition `p`, which separator p follows.
    pub fn len(&self, p: usize) -> usize {
        let inside = self.count - self.separators();
        inside / self.partitions + usize::from(p < inside % self.partitions)
    }

    /// Whether partition `p` is eliminated upwards, as the last one of a chain.
    pub fn is_upward(&self, p: usize) -> bool {
        !self.ring && p + 1 == self.partitions
    }

    /// The row that is number k of partition `p` in the order of elimination.
    pub fn row(&self, p: usize, k: usize) -> usize {
        self.start(p) + if self.is_upward(p) { self.len(p) - 1 - k } else { k }
    }

    /// The row of separator `s`.
    pub fn separator(&self, s: usize) -> usize {
        if self.partitions == 0 { s } else { self.start(s) + self.len(s) }
    }

    /// The separator at which the elimination of partition `p` starts, if there is one, and the separator at which it ends.
    pub fn ends(&self, p: usize) -> (Option<usize>, usize) {
        if self.ring {
            return (Some((p + self.partitions - 1) % self.partitions), p);
        }
        if self.is_upward(p) { (None, p - 1) } else { (p.checked_sub(1), p) }
    }

    /// The position of the first row of partition `p` in the order of elimination.
    fn position(&self, p: usize) -> usize {
        self.start(p) - p
    }
}

/// The contributions of a partition to the blocks (end, end), (end, start), (start, end) and (start, start) of the coarse system.
#[derive(Debug)]
struct Schur<T> {
    end: Vec<T>,
    to_start: Coupling<T>,
    from_start: Coupling<T>,
    start: Vec<T>,
}

/// The state of the elimination of one partition: the current row and the couplings that it changes.
struct Front<T> {
    diag: Vec<T>,
    ahead: Coupling<T>,
    /// W of the current row.
    spike: Coupling<T>,
    /// V of the current row.
    from_start: Coupling<T>,
    /// The sum of −V Ŵ so far.
    start: Vec<T>,
}

impl<T: Scalar> Front<T> {
    /// Eliminate the current row. `next` is the next row, and `back` its coupling to the current one.
    fn step(&mut self, next: (Vec<T>, Coupling<T>), back: Coupling<T>, team: Team) -> Result<EliminatedBlock<T>> {
        let pivot = DiagonalBlock::new(core::mem::take(&mut self.diag), team)?;
        let hats = [pivot.divide(self.ahead.as_deref(), team)?, pivot.divide(self.spike.as_deref(), team)?];
        let links = [back, self.from_start.take()];
        let [ahead, spike] = hats.each_ref().map(Option::as_deref);
        (self.diag, self.ahead) = next;
        subtract_product(&mut self.diag, links[0].as_deref(), ahead, team);
        subtract_product(&mut self.start, links[1].as_deref(), spike, team);
        self.spike = fill_in(links[0].as_deref(), spike, team)?;
        self.from_start = fill_in(links[1].as_deref(), ahead, team)?;
        Ok(EliminatedBlock { pivot, hats, links })
    }
}

/// The blocks of a row in the direction of elimination: the coupling to the previous row, the diagonal, the coupling to the next row.
fn turned<T>(row: ChainRow<T>, upward: bool) -> (Coupling<T>, Vec<T>, Coupling<T>) {
    if upward { (row.right, row.diag, row.left) } else { (row.left, row.diag, row.right) }
}

/// The factors of a partition and its contributions to the coarse system.
type PartitionFactors<T> = (Vec<EliminatedBlock<T>>, Schur<T>);

/// Eliminate partition `p`. From the separators, it reads only their couplings to the partition.
fn eliminate<T: Scalar>(
    source: &ScaledBlocks<'_, T>,
    cut: ChainCut,
    p: usize,
    team: Team,
) -> Result<PartitionFactors<T>> {
    let (square, upward) = (team.block * team.block, cut.is_upward(p));
    let (start, end) = cut.ends(p);
    let mut from_start = None;
    if let Some(start) = start {
        from_start = source.row(cut.separator(start))?.right;
    }
    let (spike, diag, ahead) = turned(source.row(cut.row(p, 0))?, upward);
    let mut front = Front { diag, ahead, spike, from_start, start: allocate(square, T::ZERO)? };
    let mut steps = reserved(cut.len(p))?;
    for k in 1..cut.len(p) {
        let (back, diag, ahead) = turned(source.row(cut.row(p, k))?, upward);
        let step = front.step((diag, ahead), back, team)?;
        let singular = step.pivot.is_singular();
        steps.push(step);
        if singular {
            break;
        }
    }
    let (back, ..) = turned(source.row(cut.separator(end))?, upward);
    steps.push(front.step((allocate(square, T::ZERO)?, None), back, team)?);
    Ok((steps, Schur { end: front.diag, to_start: front.spike, from_start: front.from_start, start: front.start }))
}

/// Build the coarse system from the separators and the contributions of the partitions.
fn reduced<T: Scalar>(source: &ScaledBlocks<'_, T>, cut: ChainCut, parts: Vec<Schur<T>>) -> Result<Vec<ChainRow<T>>> {
    let rows = (0..cut.separators()).map(|s| source.row(cut.separator(s)));
    let mut rows = filled(rows.map(Some))?;
    if cut.partitions == 0 {
        return Ok(rows);
    }
    let add = |to: &mut [T], from: Vec<T>| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    for row in &mut rows {
        (row.left, row.right) = (None, None);
    }
    for (p, part) in parts.into_iter().enumerate() {
        let (start, end) = cut.ends(p);
        add(&mut rows[end].diag, part.end);
        if let Some(start) = start {
            add(&mut rows[start].diag, part.start);
            (rows[end].left, rows[start].right) = (part.to_start, part.from_start);
        }
    }
    Ok(rows)
}

/// Block rows of spare memory for a solve of `count` block rows.
fn spare_rows(count: usize, ring: bool, options: &Options) -> usize {
    ChainCut::new(count, ring, options.partition_rows, tuning::BLOCK_PARTITIONS).spare_rows()
}

impl<T: Scalar> BlockSpike<T> {
    fn spare_rows(&self) -> usize {
        self.cut.spare_rows()
    }

    /// Eliminate the rows z of partition p from right-hand sides. The contributions to its separators go to `ends`.
    fn down(&self, p: usize, transposed: bool, z: &mut [T], (ends, spare): (&mut [T], &mut [T])) {
        let chunk = spare.len();
        let (end, start) = ends.split_at_mut(chunk);
        for (k, step) in self.partitions[p].iter().enumerate() {
            let (z, after) = z[k * chunk..].split_at_mut(chunk);
            if !transposed {
                step.pivot.solve(false, z, spare);
            }
            let blocks = if transposed { &step.hats } else { &step.links };
            let next = if after.is_empty() { &mut *end } else { &mut after[..chunk] };
            subtract_from(next, blocks[0].as_deref(), transposed, z, self.team);
            subtract_from(start, blocks[1].as_deref(), transposed, z, self.team);
        }
    }

    /// Solve for the rows of partition p, from the separators `end` and `start`.
    fn up(&self, p: usize, transposed: bool, z: &mut [T], ((end, start), spare): ((&[T], &[T]), &mut [T])) {
        let chunk = spare.len();
        for (k, step) in self.partitions[p].iter().enumerate().rev() {
            let (z, after) = z[k * chunk..].split_at_mut(chunk);
            let blocks = if transposed { &step.links } else { &step.hats };
            let next = if after.is_empty() { end } else { &after[..chunk] };
            subtract_from(z, blocks[0].as_deref(), transposed, next, self.team);
            subtract_from(z, blocks[1].as_deref(), transposed, start, self.team);
            if transposed {
                step.pivot.solve(true, z, spare);
            }
        }
    }

    /// Call `work` for each partition, with its rows of z and its three block rows of spare memory.
    fn each(&self, z: &mut [T], spare: &mut [T], chunk: usize, work: &(impl Fn(usize, &mut [T], &mut [T]) + Sync)) {
        let cut = self.cut;
        let flops = z.len().saturating_mul(6 * self.team.block) / cut.partitions;
        let (tasks, _) = self.team.share(cut.partitions, flops);
        // The lengths of partitions differ by at most one row. The longer partitions come first.
        let long = (cut.count - cut.separators()) % cut.partitions;
        let (first, second) = z.split_at_mut(cut.position(long) * chunk);
        let (spare_first, spare_second) = spare.split_at_mut(long * 3 * chunk);
        let run = |range: core::ops::Range<usize>, z: &mut [T], spare: &mut [T], tasks: usize| {
            if range.is_empty() {
                return;
            }
            let rows = cut.len(range.start) * chunk;
            spread(
                tasks,
                range,
                (RowsOf(z, rows), RowsOf(spare, 3 * chunk)),
                &|range, (RowsOf(z, _), RowsOf(spare, _))| {
                    let memory = z.chunks_exact_mut(rows).zip(spare.chunks_exact_mut(3 * chunk));
                    range.zip(memory).for_each(|(p, (z, spare))| work(p, z, spare));
                },
            );
        };
        if tasks == 1 || long == 0 || long == cut.partitions {
            run(0..long, first, spare_first, tasks);
            return run(long..cut.partitions, second, spare_second, tasks);
        }
        join(|| run(0..long, first, spare_first, tasks), || run(long..cut.partitions, second, spare_second, tasks));
    }
}

impl<T: Scalar> BlockElimination<T> for BlockSpike<T> {
    fn spare_rows(block_rows: usize, periodic: bool, options: &Options) -> usize {
        spare_rows(block_rows, periodic, options)
    }

    fn new(rows: &BlockRows<'_, T>, scale: &[T::Real], options: &Options) -> Result<Self> {
        let invert = rows.block <= tuning::BLOCK_SPIKE_INVERSE_MAX;
        let team = Team { block: rows.block, threads: options.threads, simd: options.simd, invert };
        let cut = ChainCut::new(rows.block_rows(), rows.periodic(), options.partition_rows, tuning::BLOCK_PARTITIONS);
        let source = ScaledBlocks::new(rows, scale);
        let mut factors = places::<PartitionFactors<T>>(cut.partitions)?;
        let flops = (cut.count / cut.partitions.max(1)).saturating_mul(4 * team.block.pow(3));
        let (tasks, each) = team.share(cut.partitions, flops);
        spread(tasks, 0..cut.partitions, &mut factors[..], &|range, factors| {
            range.zip(factors).for_each(|(p, factors)| *factors = Some(eliminate(&source, cut, p, each)));
        });
        let (mut partitions, mut parts) = (reserved(cut.partitions)?, reserved(cut.partitions)?);
        for (steps, part) in filled(factors)? {
            partitions.push(steps);
            parts.push(part);
        }
        let singular = partitions.iter().flatten().any(|step: &EliminatedBlock<T>| step.pivot.is_singular());
        let coarse = if singular { Vec::new() } else { reduced(&source, cut, parts)? };
        let coarse = Bcyclic::factor(coarse, cut.ring, team)?;
        let mut place = allocate(cut.count, 0)?;
        for p in 0..cut.partitions {
            (0..cut.len(p)).for_each(|k| place[cut.row(p, k)] = cut.position(p) + k);
        }
        let inside = cut.count - cut.separators();
        if !singular {
            (0..cut.separators()).for_each(|s| place[cut.separator(s)] = inside + coarse.place(s));
        }
        let singular = singular || coarse.is_singular();
        Ok(Self { team, cut, partitions, coarse, place, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    fn place(&self, row: usize) -> usize {
        self.place[row]
    }

    fn scratch(&self, n_rhs: usize) -> StackReq {
        StackReq::new::<T>((self.spare_rows() * self.team.block).saturating_mul(n_rhs))
    }

    fn solve(&self, transposed: bool, z: &mut [T], stack: &mut PodStack) {
        let cut = self.cut;
        let chunk = z.len() / cut.count.max(1);
        let (spare, _) = stack.make_raw::<T>(self.spare_rows() * chunk);
        let (inside, separators) = z.split_at_mut((cut.count - cut.separators()) * chunk);
        if cut.partitions == 0 {
            return self.coarse.solve_ordered(transposed, separators, spare);
        }
        let of = |s: usize| self.coarse.place(s) * chunk..(self.coarse.place(s) + 1) * chunk;
        let shares = 3 * cut.partitions * chunk;
        self.each(inside, &mut spare[..shares], chunk, &|p, z, memory| {
            let (ends, spare) = memory.split_at_mut(2 * chunk);
            ends.fill(T::ZERO);
            self.down(p, transposed, z, (ends, spare));
        });
        for (p, memory) in spare[..shares].chunks_exact(3 * chunk).enumerate() {
            let (start, end) = cut.ends(p);
            let mut add = |s: usize, from: &[T]| separators[of(s)].iter_mut().zip(from).for_each(|(z, d)| *z += *d);
            add(end, &memory[..chunk]);
            start.into_iter().for_each(|start| add(start, &memory[chunk..2 * chunk]));
        }
        self.coarse.solve_ordered(transposed, separators, spare);
        let separators = &*separators;
        self.each(inside, &mut spare[..shares], chunk, &|p, z, memory| {
            let (start, end) = cut.ends(p);
            let ends = (&separators[of(end)], &separators[of(start.unwrap_or(end))]);
            self.up(p, transposed, z, (ends, &mut memory[..chunk]));
        });
    }
}
