//! Block SPIKE: partitions of block rows are eliminated by threads, a separating block row between each two is left.
//!
//! A partition p lies between the separators s and t. Its block rows are eliminated one after the other, away from s, by block
//! LU. With D, A, C the blocks of its row k, W_k what row k holds of separator s, V_k what the separator holds of row k,
//!
//! $$ \hat C_k = D_k^{-1} C_k, \qquad \hat W_k = D_k^{-1} W_k $$
//!
//! $$ D_{k+1} \leftarrow D_{k+1} - A_{k+1} \hat C_k, \quad W_{k+1} = -A_{k+1} \hat W_k, \quad
//!    V_{k+1} = -V_k \hat C_k, \quad D_s \leftarrow D_s - V_k \hat W_k $$
//!
//! and row k + 1 after the last one is separator t. W and V are the spikes, as they come out of elimination. They are *measured*
//! as they grow: once the entries of W or V are below ε / (8·block) of their row they are dropped for good, and the partition
//! costs no more than block LU. This is the reduced, or truncated, SPIKE where it is proved to do no harm, row by row. The
//! first and the last partition of a chain are eliminated from the ends of the chain and have no spikes at all, so that two
//! partitions, a chain's usual number, are block LU from both ends at once.
//!
//! The separators are the reduced system, a chain or a ring a block row each, solved by BCYCLIC.
//!
//! Source: A. Lamas Daviña, J. E. Roman, Parallel Comput. 74 (2018), section 3.2 and Algorithms 4 and 5. There partitions touch and
//! the reduced system has two block rows for each; here a row between them makes it half as large, and partitions need not
//! be factored from both ends.

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

/// Factors of a chain or a ring of block rows.
///
/// # Cost
/// Where there are no spikes 4⅔ block³ flops a block row to factor, 6 block² a block row and right-hand side to solve, and 3 block²
/// words a block row; with spikes 12⅔, 10 and 5.
#[derive(Debug)]
pub(crate) struct BlockSpike<T> {
    team: Team,
    cut: ChainCut,
    partitions: Vec<Vec<EliminatedBlock<T>>>,
    /// The separators.
    coarse: Bcyclic<T>,
    place: Vec<usize>,
    singular: bool,
}

/// An eliminated block row. Of the two neighbours it had then, the first is the next row, the second the separator where the
/// partition starts.
#[derive(Debug)]
struct EliminatedBlock<T> {
    pivot: DiagonalBlock<T>,
    /// Ĉ and Ŵ.
    hats: [Coupling<T>; 2],
    /// What the neighbours hold of this row: A of the next one, V.
    links: [Coupling<T>; 2],
}

/// How a chain or a ring is cut: as many separators as boundaries between partitions.
#[derive(Debug, Clone, Copy)]
struct ChainCut {
    count: usize,
    partitions: usize,
    ring: bool,
}

impl ChainCut {
    fn new(count: usize, ring: bool, rows: Option<usize>) -> Self {
        // A row in every partition, and one between them.
        let most = if ring { count / 2 } else { count.div_ceil(2) };
        let wish = rows.map_or(tuning::BLOCK_PARTITIONS, |rows| count.div_ceil(rows + 1));
        // Nothing to win by cutting up three rows.
        let partitions = if count < 4 { 0 } else { wish.clamp(2, most) };
        Self { count, partitions, ring }
    }

    fn separators(&self) -> usize {
        match self.partitions {
            0 => self.count,
            parts => parts - usize::from(!self.ring),
        }
    }

    /// Block rows' worth of spare memory for a solve: three for each partition, or what the separators need.
    fn spare_rows(&self) -> usize {
        (3 * self.partitions).max(bcyclic::spare_rows(self.separators()))
    }

    /// First row of partition `p`; one partition further, it is the row after the last separator.
    fn start(&self, p: usize) -> usize {
        let inside = self.count - self.separators();
        let (each, more) = (inside / self.partitions, inside % self.partitions);
        p * (each + 1) + p.min(more)
    }

    /// Rows of partition `p`, which separator p follows.
    fn len(&self, p: usize) -> usize {
        let inside = self.count - self.separators();
        inside / self.partitions + usize::from(p < inside % self.partitions)
    }

    /// Whether partition `p` is eliminated upwards: the last one of a chain.
    fn is_upward(&self, p: usize) -> bool {
        !self.ring && p + 1 == self.partitions
    }

    /// Row k of partition `p` in the order of elimination.
    fn row(&self, p: usize, k: usize) -> usize {
        self.start(p) + if self.is_upward(p) { self.len(p) - 1 - k } else { k }
    }

    /// The row of separator `s`.
    fn separator(&self, s: usize) -> usize {
        if self.partitions == 0 { s } else { self.start(s) + self.len(s) }
    }

    /// The separators where elimination of partition `p` starts, if there is one, and where it ends.
    fn ends(&self, p: usize) -> (Option<usize>, usize) {
        if self.ring {
            return (Some((p + self.partitions - 1) % self.partitions), p);
        }
        if self.is_upward(p) { (None, p - 1) } else { (p.checked_sub(1), p) }
    }

    /// Position of the first row of partition `p` in the order of elimination.
    fn position(&self, p: usize) -> usize {
        self.start(p) - p
    }
}

/// What the elimination of a partition adds to the separators: to the blocks (end, end), (end, start), (start, end) and
/// (start, start) of the reduced system.
#[derive(Debug)]
struct Schur<T> {
    end: Vec<T>,
    to_start: Coupling<T>,
    from_start: Coupling<T>,
    start: Vec<T>,
}

/// Elimination of one partition: the row at hand, and what its neighbours are to become.
struct Front<T> {
    diag: Vec<T>,
    ahead: Coupling<T>,
    /// W
    spike: Coupling<T>,
    /// V
    held: Coupling<T>,
    /// Sum of −V Ŵ
    start: Vec<T>,
}

impl<T: Scalar> Front<T> {
    /// Eliminates the row at hand; `next` is the one after it, `back` what that holds of this one.
    fn step(&mut self, next: (Vec<T>, Coupling<T>), back: Coupling<T>, team: Team) -> Result<EliminatedBlock<T>> {
        let pivot = DiagonalBlock::new(core::mem::take(&mut self.diag), team)?;
        let hats = [pivot.divide(self.ahead.as_deref(), team)?, pivot.divide(self.spike.as_deref(), team)?];
        let links = [back, self.held.take()];
        let [ahead, spike] = hats.each_ref().map(Option::as_deref);
        (self.diag, self.ahead) = next;
        subtract_product(&mut self.diag, links[0].as_deref(), ahead, team);
        subtract_product(&mut self.start, links[1].as_deref(), spike, team);
        self.spike = fill_in(links[0].as_deref(), spike, team)?;
        self.held = fill_in(links[1].as_deref(), ahead, team)?;
        Ok(EliminatedBlock { pivot, hats, links })
    }
}

/// A row as the direction of elimination sees it: what it holds of the row before, itself, what it holds of the row after.
fn turned<T>(row: ChainRow<T>, upward: bool) -> (Coupling<T>, Vec<T>, Coupling<T>) {
    if upward { (row.right, row.diag, row.left) } else { (row.left, row.diag, row.right) }
}

/// A partition's factors and what it adds to the reduced system.
type PartitionFactors<T> = (Vec<EliminatedBlock<T>>, Schur<T>);

/// Eliminates partition `p`. What stands in the blocks of the separators is left to the caller, but for what they hold of the
/// partition.
fn eliminate<T: Scalar>(
    source: &ScaledBlocks<'_, T>,
    cut: ChainCut,
    p: usize,
    team: Team,
) -> Result<PartitionFactors<T>> {
    let (square, upward) = (team.block * team.block, cut.is_upward(p));
    let (start, end) = cut.ends(p);
    let mut held = None;
    if let Some(start) = start {
        held = source.row(cut.separator(start))?.right;
    }
    let (spike, diag, ahead) = turned(source.row(cut.row(p, 0))?, upward);
    let mut front = Front { diag, ahead, spike, held, start: allocate(square, T::ZERO)? };
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
    Ok((steps, Schur { end: front.diag, to_start: front.spike, from_start: front.held, start: front.start }))
}

/// The reduced system: the separators, with what the partitions add.
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

/// Block rows' worth of spare memory for a solve of `count` block rows.
fn spare_rows(count: usize, ring: bool, options: &Options) -> usize {
    ChainCut::new(count, ring, options.partition_rows).spare_rows()
}

impl<T: Scalar> BlockSpike<T> {
    fn spare_rows(&self) -> usize {
        self.cut.spare_rows()
    }

    /// One direction of elimination in the rows z of partition p, whose neighbours are the next row, `end` and `start`.
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

    /// Solves for the rows of partition p, from the separators `end` and `start`.
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

    /// Calls `work` for every partition, with its rows of z and its three block rows of spare memory.
    fn each(&self, z: &mut [T], spare: &mut [T], chunk: usize, work: &(impl Fn(usize, &mut [T], &mut [T]) + Sync)) {
        let cut = self.cut;
        let flops = z.len().saturating_mul(6 * self.team.block) / cut.partitions;
        let (tasks, _) = self.team.share(cut.partitions, flops);
        // Partitions differ in length by a row: the longer ones come first.
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
        let cut = ChainCut::new(rows.block_rows(), rows.periodic(), options.partition_rows);
        let source = ScaledBlocks::new(rows, scale);
        let mut made = places::<PartitionFactors<T>>(cut.partitions)?;
        let flops = (cut.count / cut.partitions.max(1)).saturating_mul(4 * team.block.pow(3));
        let (tasks, each) = team.share(cut.partitions, flops);
        spread(tasks, 0..cut.partitions, &mut made[..], &|range, made| {
            range.zip(made).for_each(|(p, made)| *made = Some(eliminate(&source, cut, p, each)));
        });
        let (mut partitions, mut parts) = (reserved(cut.partitions)?, reserved(cut.partitions)?);
        for (steps, part) in filled(made)? {
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
