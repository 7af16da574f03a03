//! BCYCLIC: block cyclic reduction. Each level eliminates every other block row.
//!
//! Row e is eliminated, its neighbours stay, and A, D and C are the blocks of a row left of, on and right of the diagonal:
//!
//! ```text
//! Âₑ = Dₑ⁻¹ Aₑ,   Ĉₑ = Dₑ⁻¹ Cₑ
//! Aₖ′ = −Aₖ Âₖ₋₁,   Dₖ′ = Dₖ − Aₖ Ĉₖ₋₁ − Cₖ Âₖ₊₁,   Cₖ′ = −Cₖ Ĉₖ₊₁
//! ```
//!
//! Each level keeps the rows of even index, counted from zero. In a periodic system (a ring) with an odd number of rows, the last and the
//! first row both stay and remain neighbours. A ring of two rows is a chain whose couplings are added.
//!
//! Right-hand sides are in the order of elimination: the rows of the first level, those of the next level, …, the last row. The same factors
//! solve transposed systems.
//!
//! Source: A. Lamas Daviña, J. E. Roman, Parallel Comput. 74 (2018), equations (7a)–(7c), Algorithms 1 and 2. Rings are an extension.
//! Bᵢ → diag, ℓ → block rows, k → block.

use crate::decision::Options;
use crate::error::Result;
use crate::memory::{allocate, filled, places, push, reserved};
use crate::methods::block_dense::{
    ChainRow, Coupling, DiagonalBlock, ScaledBlocks, fill_in, subtract_from, subtract_product,
};
use crate::methods::block_stored::BlockElimination;
use crate::methods::dense_lu::Team;
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::rows::BlockRows;
use bandsolve_kernel::spread::{RowsOf, spread};
use dyn_stack::{PodStack, StackReq};

/// Factors of a chain or a ring of block rows.
///
/// # Cost
/// Per block row: 12⅔ block³ flops to factor (14 block³ with inverses), 10 block² flops per right-hand side to solve, and 5 block² words.
#[derive(Debug)]
pub(crate) struct Bcyclic<T> {
    team: Team,
    /// Number of block rows.
    count: usize,
    levels: Vec<BlockLevel<T>>,
    /// The last row; `None` if there are no rows.
    last: Option<DiagonalBlock<T>>,
    /// The block row at each place of the order of elimination.
    order: Vec<usize>,
    /// The place of each block row in the order of elimination.
    place: Vec<usize>,
    singular: bool,
}

/// The factors of one level.
#[derive(Debug)]
struct BlockLevel<T> {
    /// Rows 1, 3, 5, … of the level.
    eliminated: Vec<EliminatedBlockRow<T>>,
    /// Rows 0, 2, 4, …
    remaining: Vec<RemainingBlockRow<T>>,
}

#[derive(Debug)]
struct EliminatedBlockRow<T> {
    pivot: DiagonalBlock<T>,
    /// Â and Ĉ.
    hats: [Coupling<T>; 2],
}

/// The couplings of a row that stays to the eliminated rows on its left and on its right.
#[derive(Debug)]
struct RemainingBlockRow<T> {
    links: [Coupling<T>; 2],
}

impl<T: Scalar> Bcyclic<T> {
    /// Factor a chain of rows, or a ring in which the first and the last row are neighbours.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn factor(mut rows: Vec<ChainRow<T>>, mut ring: bool, team: Team) -> Result<Self> {
        let count = rows.len();
        let (mut levels, mut singular) = (Vec::new(), false);
        while rows.len() > 1 && !singular {
            if ring && rows.len() == 2 {
                let [first, second] = rows.get_disjoint_mut([0, 1]).expect("two rows");
                add(&mut first.right, first.left.take());
                add(&mut second.left, second.right.take());
                ring = false;
            }
            let level;
            (level, rows) = BlockLevel::reduce(rows, ring, team)?;
            singular = level.eliminated.iter().any(|row| row.pivot.is_singular());
            push(&mut levels, level)?;
        }
        let last = rows.pop().filter(|_| !singular).map(|mut row| {
            for corner in [row.left, row.right].into_iter().flatten().filter(|_| ring) {
                row.diag.iter_mut().zip(corner).for_each(|(d, c)| *d += c);
            }
            DiagonalBlock::new(row.diag, team)
        });
        let last = last.transpose()?;
        singular |= last.as_ref().is_some_and(DiagonalBlock::is_singular);
        let order = order(count)?;
        let mut place = allocate(count, 0)?;
        order.iter().enumerate().for_each(|(p, row)| place[*row] = p);
        Ok(Self { team, count, levels, last, order, place, singular })
    }

    /// The number of rows of the level, and the place of the first row that it eliminates.
    fn extent(&self, level: usize) -> (usize, usize) {
        let (mut rows, mut first) = (self.count, 0);
        for _ in 0..level {
            first += rows / 2;
            rows = rows.div_ceil(2);
        }
        (rows, first)
    }

    /// Eliminate the rows of a level from right-hand sides.
    fn down(&self, level: usize, transposed: bool, z: &mut [T], spare: &mut [T]) {
        let (chunk, b) = (z.len() / self.count, self.team.block);
        let (rows, first) = self.extent(level);
        let BlockLevel { eliminated, remaining } = &self.levels[level];
        let (gone, rest) = z[first * chunk..].split_at_mut(eliminated.len() * chunk);
        if !transposed {
            self.divide(level, transposed, gone, spare);
        }
        let stays = first + eliminated.len()..self.count;
        let (tasks, _) = self.team.share(stays.len(), 4 * b * chunk);
        let gone = &*gone;
        spread(tasks, stays, RowsOf(rest, chunk), &|positions, RowsOf(rest, _)| {
            for (p, z) in positions.zip(rest.chunks_exact_mut(chunk)) {
                let k = self.order[p] >> level;
                for (side, e) in neighbours(k, rows).into_iter().enumerate() {
                    let Some(e) = e else { continue };
                    // Seen from the eliminated row, this row is on the opposite side.
                    let hat = &eliminated[e].hats[1 - side];
                    let block = if transposed { hat } else { &remaining[k / 2].links[side] };
                    subtract_from(z, block.as_deref(), transposed, &gone[e * chunk..][..chunk], self.team);
                }
            }
        });
    }

    /// Solve for the rows of a level.
    fn up(&self, level: usize, transposed: bool, z: &mut [T], spare: &mut [T]) {
        let (chunk, b) = (z.len() / self.count, self.team.block);
        let (_, first) = self.extent(level);
        let BlockLevel { eliminated, remaining } = &self.levels[level];
        let (before, rest) = z.split_at_mut((first + eliminated.len()) * chunk);
        let gone = &mut before[first * chunk..];
        let (tasks, _) = self.team.share(eliminated.len(), 4 * b * chunk);
        let (rest, done) = (&*rest, first + eliminated.len());
        spread(tasks, 0..eliminated.len(), RowsOf(&mut *gone, chunk), &|positions, RowsOf(gone, _)| {
            for (e, z) in positions.zip(gone.chunks_exact_mut(chunk)) {
                for side in [0, 1] {
                    let k = (e + side) % remaining.len();
                    let block = if transposed { &remaining[k].links[1 - side] } else { &eliminated[e].hats[side] };
                    let at = self.place[(2 * k) << level] - done;
                    subtract_from(z, block.as_deref(), transposed, &rest[at * chunk..][..chunk], self.team);
                }
            }
        });
        if transposed {
            self.divide(level, transposed, gone, spare);
        }
    }

    /// Divide the rows of a level by their pivots.
    fn divide(&self, level: usize, transposed: bool, gone: &mut [T], spare: &mut [T]) {
        let eliminated = &self.levels[level].eliminated;
        let chunk = gone.len() / eliminated.len();
        let (tasks, _) = self.team.share(eliminated.len(), 2 * self.team.block * chunk);
        let out = (RowsOf(gone, chunk), RowsOf(spare, chunk));
        spread(tasks, 0..eliminated.len(), out, &|positions, (RowsOf(gone, _), RowsOf(spare, _))| {
            for (row, z) in eliminated[positions].iter().zip(gone.chunks_exact_mut(chunk)) {
                row.pivot.solve(transposed, z, &mut spare[..chunk]);
            }
        });
    }

    /// Replace right-hand sides by solutions in the order of elimination. All columns of a block row are stored together.
    pub fn solve_ordered(&self, transposed: bool, z: &mut [T], spare: &mut [T]) {
        let Some(last) = &self.last else { return };
        let chunk = z.len() / self.count;
        for level in 0..self.levels.len() {
            self.down(level, transposed, z, spare);
        }
        last.solve(transposed, &mut z[(self.count - 1) * chunk..], &mut spare[..chunk]);
        for level in (0..self.levels.len()).rev() {
            self.up(level, transposed, z, spare);
        }
    }

    /// Block rows of spare memory for [`solve_ordered`](Self::solve_ordered).
    pub fn spare_rows(&self) -> usize {
        spare_rows(self.count)
    }
}

/// Block rows of spare memory for a solve of `count` block rows.
pub(crate) fn spare_rows(count: usize) -> usize {
    (count / 2).max(1)
}

impl<T: Scalar> BlockElimination<T> for Bcyclic<T> {
    fn spare_rows(block_rows: usize, _periodic: bool, _options: &Options) -> usize {
        spare_rows(block_rows)
    }

    fn new(rows: &BlockRows<'_, T>, scale: &[T::Real], options: &Options) -> Result<Self> {
        let invert = rows.block <= tuning::BCYCLIC_INVERSE_MAX;
        let team = Team { block: rows.block, threads: options.threads, simd: options.simd, invert };
        let (source, count) = (ScaledBlocks::new(rows, scale), rows.block_rows());
        let mut chain = places::<ChainRow<T>>(count)?;
        let (tasks, _) = team.share(count, 8 * team.block * team.block);
        spread(tasks, 0..count, &mut chain[..], &|range, chain| {
            range.zip(chain).for_each(|(i, row)| *row = Some(source.row(i)));
        });
        Self::factor(filled(chain)?, rows.periodic(), team)
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
        let (spare, _) = stack.make_raw::<T>(self.spare_rows() * z.len() / self.count.max(1));
        self.solve_ordered(transposed, z, spare);
    }
}

/// Add a coupling to another one with the same row and column.
fn add<T: Scalar>(to: &mut Coupling<T>, from: Coupling<T>) {
    match (to, from) {
        (Some(to), Some(from)) => to.iter_mut().zip(from).for_each(|(a, b)| *a += b),
        (to, Some(from)) => *to = Some(from),
        (_, None) => {}
    }
}

/// The rows in the order of elimination: those of odd index, then those of odd index among the others, …
fn order(count: usize) -> Result<Vec<usize>> {
    let mut order = reserved(count)?;
    let mut step = 1;
    while step < count {
        order.extend((step..count).step_by(2 * step));
        step *= 2;
    }
    order.extend((0..count).take(1));
    Ok(order)
}

/// The eliminated rows left and right of row k, which stays, in a ring of `rows` rows. In a chain, the couplings between the first and
/// the last row are zero.
fn neighbours(k: usize, rows: usize) -> [Option<usize>; 2] {
    let last = rows.is_multiple_of(2).then_some(rows / 2).and_then(|count| count.checked_sub(1));
    let left = if k > 0 { Some(k / 2 - 1) } else { last };
    [left, (k + 1 < rows).then_some(k / 2)]
}

impl<T: Scalar> BlockLevel<T> {
    /// Eliminate every other row, and return the rows of the next level, too.
    fn reduce(rows: Vec<ChainRow<T>>, ring: bool, team: Team) -> Result<(Self, Vec<ChainRow<T>>)> {
        let (count, flops) = (rows.len(), 6 * team.block.pow(3));
        let (mut even, mut odd) = (reserved(count.div_ceil(2))?, reserved(count / 2)?);
        for (i, row) in rows.into_iter().enumerate() {
            if i % 2 == 0 { even.push((row, None)) } else { odd.push((Some(row), None)) }
        }
        let (tasks, each) = team.share(odd.len(), flops);
        spread(tasks, 0..odd.len(), &mut odd[..], &|_, odd| {
            for (row, done) in odd {
                *done = row.take().map(|row| EliminatedBlockRow::new(row, each));
            }
        });
        let eliminated = filled(odd.into_iter().map(|(_, done)| done))?;
        let (tasks, each) = team.share(even.len(), flops);
        spread(tasks, 0..even.len(), &mut even[..], &|range, even| {
            for (t, (row, done)) in range.zip(even) {
                let mut beside = neighbours(2 * t, count).map(|e| e.map(|e| &eliminated[e]));
                if t == 0 && !ring {
                    beside[0] = None;
                }
                *done = Some(RemainingBlockRow::absorb(row, beside, each));
            }
        });
        let (mut rest, mut remaining) = (reserved(even.len())?, reserved(even.len())?);
        for (row, done) in even {
            rest.push(row);
            remaining.extend(done.transpose()?);
        }
        Ok((Self { eliminated, remaining }, rest))
    }
}

impl<T: Scalar> EliminatedBlockRow<T> {
    fn new(row: ChainRow<T>, team: Team) -> Result<Self> {
        let pivot = DiagonalBlock::new(row.diag, team)?;
        let hats = [pivot.divide(row.left.as_deref(), team)?, pivot.divide(row.right.as_deref(), team)?];
        Ok(Self { pivot, hats })
    }
}

impl<T: Scalar> RemainingBlockRow<T> {
    /// Eliminate the neighbours `beside` from `row`. Couplings to rows that stay do not change.
    fn absorb(row: &mut ChainRow<T>, beside: [Option<&EliminatedBlockRow<T>>; 2], team: Team) -> Result<Self> {
        let mut links = [None, None];
        for (side, coupling) in [&mut row.left, &mut row.right].into_iter().enumerate() {
            let Some(gone) = beside[side] else { continue };
            links[side] = coupling.take();
            let link = links[side].as_deref();
            subtract_product(&mut row.diag, link, gone.hats[1 - side].as_deref(), team);
            *coupling = fill_in(link, gone.hats[side].as_deref(), team)?;
        }
        Ok(Self { links })
    }
}
