//! BCYCLIC over ranks: block cyclic reduction of a matrix that is distributed over ranks.
//!
//! Dₑ is the diagonal block of an eliminated row e, whose neighbours remain. A and C are the blocks left and right of the diagonal.
//!
//! ```text
//! Âₑ = Dₑ⁻¹·Aₑ,   Ĉₑ = Dₑ⁻¹·Cₑ
//! A'ₖ = −Aₖ·Âₖ₋₁,   D'ₖ = Dₖ − Aₖ·Ĉₖ₋₁ − Cₖ·Âₖ₊₁,   C'ₖ = −Cₖ·Ĉₖ₊₁
//! ```
//!
//! At level i, the remaining rows are the rows whose index, from 0, is a multiple of 2ⁱ; p is the position among them. The level
//! eliminates rows at odd positions. It sends Â and Ĉ to the rank of each neighbour in one message, and sends no block twice. In a
//! periodic matrix the first and the last row are neighbours. For a periodic matrix of two rows, the couplings of the two rows add up, and the
//! matrix is treated as open.
//!
//! Solves with Aᵀ use the same blocks, transposed: Â and Ĉ for the elimination of right-hand sides, A and C for the substitution.
//!
//! Source: A. Lamas Daviña, J. E. Roman, Parallel Comput. 74 (2018), equations (6)–(9), Algorithms 1 to 3.
//! Bᵢ → diag, ℓ → block rows, k → block, p → ranks.

use crate::agreement::{RankError, agree_and_tell, agree_on_method};
use crate::factors::RankSolver;
use crate::ranges::RankRanges;
use crate::ranks::{Expected, Ranks, Sent};
use bandsolve::distributed::{ChainRow, Coupling, DiagonalBlock, Team, fill_in, subtract_from, subtract_product};
use bandsolve::memory::reserved;
use bandsolve::{Error, Scalar, Simd};
use bandsolve_kernel::memory::{Array, MemoryPool};
use core::ops::Range;

/// Message tags by direction: to the left, to the right.
const MOVES: i32 = 20;

/// The number of the method that ranks exchange. The numbers of SPIKE's coarse methods are smaller.
const METHOD: u64 = 16;

/// The remaining rows of one level, and their owners.
#[derive(Debug, Clone)]
struct RankLevel {
    /// The indices of the rows are multiples of 2^shift.
    shift: usize,
    /// Number of rows on all ranks.
    rows: usize,
    ring: bool,
    ranges: RankRanges,
    rank: usize,
}

/// A neighbour of a row of this rank.
enum Beside {
    /// A row of this rank: its position among the rows of this rank on the level.
    Local(usize),
    /// A row of another rank.
    Remote(usize),
}

impl RankLevel {
    /// Get the positions of the rows of this rank.
    fn places(&self) -> Range<usize> {
        let rows = self.ranges.range(self.rank);
        let place = |row: usize| row.div_ceil(1 << self.shift);
        place(rows.start)..place(rows.end)
    }

    /// Get the row at a position, counted from the first row of this rank before the elimination.
    fn local_row(&self, place: usize) -> usize {
        (place << self.shift) - self.ranges.range(self.rank).start
    }

    /// Get the neighbour of the row at a position on one side (0: left, 1: right). `None` if it does not exist, or if this level eliminates neither row.
    fn beside(&self, place: usize, side: usize) -> Option<Beside> {
        let next = match side {
            0 => place.checked_sub(1).or(self.ring.then_some(self.rows - 1)),
            _ => Some(place + 1).filter(|next| *next < self.rows).or(self.ring.then_some(0)),
        }?;
        if next % 2 == place % 2 {
            return None;
        }
        let owner = self.ranges.owner(next << self.shift);
        Some(if owner == self.rank { Beside::Local(next - self.places().start) } else { Beside::Remote(owner) })
    }

    /// List the rows of this rank at odd positions, which are eliminated, or at even positions, with neighbours on other ranks: the index among the rows
    /// of this rank, the side, and the rank.
    fn links(&self, odd: bool) -> Vec<(usize, usize, usize)> {
        let places = self.places();
        let rows = places.clone().filter(|place| (place % 2 == 1) == odd);
        rows.flat_map(|place| [(place, 0), (place, 1)])
            .filter_map(|(place, side)| match self.beside(place, side)? {
                Beside::Remote(rank) => Some((place - places.start, side, rank)),
                Beside::Local(_) => None,
            })
            .collect()
    }
}

/// A row of this rank that a level eliminates or keeps.
#[derive(Debug)]
enum LevelRow<T> {
    /// An eliminated row: Dₑ, and Â and Ĉ.
    Eliminated { pivot: Option<DiagonalBlock<T>>, hats: [Coupling<T>; 2] },
    /// A remaining row: its blocks in the columns of the eliminated neighbours.
    Remaining { links: [Coupling<T>; 2] },
}

impl<T> LevelRow<T> {
    fn is_eliminated(&self) -> bool {
        matches!(self, Self::Eliminated { .. })
    }

    /// Get Â and Ĉ, or the blocks of a remaining row.
    fn couplings(&self) -> &[Coupling<T>; 2] {
        match self {
            Self::Eliminated { hats, .. } => hats,
            Self::Remaining { links } => links,
        }
    }
}

/// Scaled block rows, and the scale factors of their rows.
pub(crate) type ScaledChain<T> = (Vec<ChainRow<T>>, Vec<<T as Scalar>::Real>);

/// BCYCLIC factors of the rows of this rank.
#[derive(Debug)]
pub(crate) struct RankBcyclic<T: Scalar> {
    ranks: Ranks,
    team: Team,
    scale: Vec<T::Real>,
    levels: Vec<(RankLevel, Vec<LevelRow<T>>)>,
    /// Memory for solves.
    pool: MemoryPool,
    /// The last row, on the rank that owns row 0.
    last: Option<DiagonalBlock<T>>,
    /// Whether a diagonal block was singular, on any rank.
    singular: bool,
}

/// The rows of this rank during the elimination.
struct ReducedRows<T> {
    chain: Vec<ChainRow<T>>,
    levels: Vec<(RankLevel, LevelMemory<T>)>,
}

/// Memory for the results of a level: all rows, the remaining rows, and the rows that are eliminated during communication.
struct LevelMemory<T> {
    rows: Vec<LevelRow<T>>,
    remaining: Vec<ChainRow<T>>,
    inner: Vec<(usize, ChainRow<T>)>,
}

impl RankLevel {
    /// List this level and all following levels, with memory for the rows of this rank. A ring of two rows becomes a chain.
    fn with_memory<T>(mut self) -> bandsolve::Result<Vec<(Self, LevelMemory<T>)>> {
        let mut levels = Vec::new();
        while self.rows > 1 {
            self.ring &= self.rows > 2;
            let len = self.places().len();
            let memory = LevelMemory { rows: reserved(len)?, remaining: reserved(len)?, inner: reserved(len / 2 + 1)? };
            levels.push((self.clone(), memory));
            self = Self { shift: self.shift + 1, rows: self.rows.div_ceil(2), ..self };
        }
        Ok(levels)
    }
}

/// The error of this rank. The rank continues to send and receive, so that no other rank waits forever.
#[derive(Debug, Default)]
struct Trouble {
    singular: bool,
    error: Option<Error>,
}

impl Trouble {
    fn keep<V>(&mut self, value: bandsolve::Result<V>) -> Option<V> {
        value.map_err(|error| self.error.get_or_insert(error).clone()).ok()
    }

    fn pivot<T: Scalar>(&mut self, diag: Vec<T>, team: Team) -> Option<DiagonalBlock<T>> {
        let pivot = self.keep(DiagonalBlock::new(diag, team))?;
        self.singular |= pivot.is_singular();
        Some(pivot).filter(|pivot| !pivot.is_singular())
    }
}

impl<T: Scalar> RankBcyclic<T> {
    /// Factor a chain of scaled rows. Collective.
    ///
    /// `chain` has the rows of this rank, or the error of this rank. If `invert` is set, the function inverts the diagonal blocks.
    pub fn factor(
        ranks: &Ranks,
        ranges: &RankRanges,
        chain: bandsolve::Result<ScaledChain<T>>,
        (block, ring, invert): (usize, bool, bool),
    ) -> Result<Self, RankError> {
        let team = Team { block, threads: 1, simd: Simd::detect(), invert };
        let first = RankLevel { shift: 0, rows: ranges.rows(), ring, ranges: ranges.clone(), rank: ranks.rank() };
        let planned = chain.and_then(|(chain, scale)| Ok((ReducedRows { chain, levels: first.with_memory()? }, scale)));
        let ((ReducedRows { mut chain, levels: planned }, scale), _) =
            agree_on_method(ranks, planned, (METHOD + u64::from(invert), false))?;
        let (mut levels, mut trouble) = (Vec::with_capacity(planned.len()), Trouble::default());
        for (level, memory) in planned {
            if ring && level.rows == 2 {
                open_ring_of_two(&level, &mut chain);
            }
            let rows;
            (rows, chain) = reduce(ranks, &level, (chain, memory), (team, &mut trouble));
            levels.push((level, rows));
        }
        let last = chain.pop().and_then(|mut row| {
            for corner in [row.left, row.right].into_iter().flatten().filter(|_| ring && ranges.rows() == 1) {
                row.diag.iter_mut().zip(corner).for_each(|(d, c)| *d += c);
            }
            trouble.pivot(row.diag, team)
        });
        let outcome = trouble.error.map_or(Ok(()), Err);
        let ((), singular) = agree_and_tell(ranks, outcome, [u64::from(trouble.singular)])?;
        let (ranks, pool, singular) = (ranks.clone(), MemoryPool::default(), singular.contains(&1));
        Ok(Self { ranks, team, scale, levels, pool, last, singular })
    }

    /// Allocate one number for each row of this rank and each column.
    fn memory(&self, n_rhs: usize) -> bandsolve::Result<Array<T>> {
        let len = self.scale.len().saturating_mul(n_rhs);
        Array::new(len, Some(&self.pool)).ok_or(Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })
    }

    /// Eliminate the rows of a level from right-hand sides, or, if `back` is set, compute their unknowns.
    ///
    /// For A, an eliminated row sends its z, and the neighbours multiply it by their blocks. For Aᵀ, the rank of z has the block, and sends the product.
    fn sweep(&self, (level, rows): &(RankLevel, Vec<LevelRow<T>>), way: SweepWay, z: &mut [T], spare: &mut [T]) {
        let (SweepWay { back, transposed }, chunk) = (way, spare.len());
        let sweep = LevelSweep { level, rows, transposed, chunk, team: self.team };
        let (ends, links) = (level.links(!back), level.links(back));
        // Process the rows that other ranks need first, and the rows that need other ranks last. Process the other rows during the communication.
        let [sends, waits] = [&ends, &links].map(|links| move |k: usize| links.iter().any(|(row, ..)| *row == k));
        // zₑ ← Dₑ⁻¹·zₑ before the elimination with A
        if !back && !transposed {
            sweep.divide(&sends, z, spare);
        }
        let value = |(k, side, to): (usize, usize, usize)| {
            let mut values = z[sweep.at(k)].to_vec();
            if transposed {
                values.fill(T::ZERO);
                subtract_from(&mut values, rows[k].couplings()[side].as_deref(), true, &z[sweep.at(k)], self.team);
            }
            Sent { to, tag: MOVES + side as i32, values }
        };
        let sent: Vec<Sent<T>> = ends.iter().copied().map(value).collect();
        let expect = |(_, side, from): &(usize, usize, usize)| Expected {
            from: *from,
            tag: MOVES + 1 - *side as i32,
            len: chunk,
        };
        let expected: Vec<Expected> = links.iter().map(expect).collect();
        let of_sweep = |k: usize| rows[k].is_eliminated() == back;
        let received = self.ranks.exchange_during(&sent, &expected, || {
            if !back && !transposed {
                sweep.divide(&|k| !sends(k), z, spare);
            }
            for k in (0..rows.len()).filter(|k| of_sweep(*k) && !waits(*k)) {
                sweep.subtract_neighbours(k, z, &mut core::iter::empty());
            }
        });
        let mut received = received.into_iter();
        for k in (0..rows.len()).filter(|k| of_sweep(*k) && waits(*k)) {
            sweep.subtract_neighbours(k, z, &mut received);
        }
        // zₑ ← Dₑ⁻ᵀ·zₑ after the substitution with Aᵀ
        if back && transposed {
            sweep.divide(&|_| true, z, spare);
        }
    }
}

/// The direction of a sweep over a level.
#[derive(Debug, Clone, Copy)]
struct SweepWay {
    back: bool,
    transposed: bool,
}

/// A sweep over the rows of a level, whose right-hand sides have `chunk` numbers per block row.
struct LevelSweep<'a, T> {
    level: &'a RankLevel,
    rows: &'a [LevelRow<T>],
    transposed: bool,
    chunk: usize,
    team: Team,
}

impl<T: Scalar> LevelSweep<'_, T> {
    /// Get the range of row k of the level in z.
    fn at(&self, k: usize) -> Range<usize> {
        let row = self.level.local_row(self.level.places().start + k);
        row * self.chunk..(row + 1) * self.chunk
    }

    /// Subtract from row k the contributions of its neighbours. Those of other ranks come from messages.
    ///
    /// For A, zₖ ← zₖ − B·z_neighbour with the block B of row k; for Aᵀ, with the transposed block of the neighbour.
    fn subtract_neighbours(&self, k: usize, z: &mut [T], received: &mut dyn Iterator<Item = Vec<T>>) {
        let (rows, transposed) = (self.rows, self.transposed);
        for side in [0, 1] {
            match self.level.beside(self.level.places().start + k, side) {
                Some(Beside::Local(other)) => {
                    let [y, x] = z.get_disjoint_mut([self.at(k), self.at(other)]).expect("two rows");
                    let couplings =
                        if transposed { &rows[other].couplings()[1 - side] } else { &rows[k].couplings()[side] };
                    subtract_from(y, couplings.as_deref(), transposed, x, self.team);
                }
                Some(Beside::Remote(_)) => {
                    let x = received.next().expect("a message for each link");
                    if transposed {
                        z[self.at(k)].iter_mut().zip(&x).for_each(|(z, x)| *z += *x);
                    } else {
                        subtract_from(&mut z[self.at(k)], rows[k].couplings()[side].as_deref(), false, &x, self.team);
                    }
                }
                None => {}
            }
        }
    }

    /// Compute z ← D⁻¹z, or D⁻ᵀz, for the eliminated rows that `which` selects.
    fn divide(&self, which: &dyn Fn(usize) -> bool, z: &mut [T], spare: &mut [T]) {
        for (k, row) in self.rows.iter().enumerate().filter(|(k, _)| which(*k)) {
            if let LevelRow::Eliminated { pivot: Some(pivot), .. } = row {
                pivot.solve(self.transposed, &mut z[self.at(k)], spare);
            }
        }
    }
}

impl<T: Scalar> RankSolver<T> for RankBcyclic<T> {
    fn is_singular(&self) -> bool {
        self.singular
    }

    fn reserve(&self, n_rhs: usize) -> bandsolve::Result<()> {
        self.memory(n_rhs).map(|_| ())
    }

    fn solve(&self, transposed: bool, x: &mut [T], n_rhs: usize) {
        let (n, b) = (self.scale.len(), self.team.block);
        // Store the columns of a block row together.
        let mut z = self.memory(n_rhs).unwrap_or_else(|error| self.ranks.abort(&error.to_string()));
        let mut spare = self.ranks.room(b * n_rhs);
        let place = |row: usize, column: usize| (row / b * n_rhs + column) * b + row % b;
        // The rows of A are scaled. So scale right-hand sides for A, and solutions for Aᵀ.
        for (column, x) in x.chunks_exact(n.max(1)).enumerate() {
            for (row, (x, s)) in x.iter().zip(&self.scale).enumerate() {
                z[place(row, column)] = if transposed { *x } else { x.scale(*s) };
            }
        }
        // Eliminate level by level, solve for the last row, and substitute back.
        for level in &self.levels {
            self.sweep(level, SweepWay { back: false, transposed }, &mut z, &mut spare);
        }
        if let Some(last) = &self.last {
            last.solve(transposed, &mut z[..b * n_rhs], &mut spare);
        }
        for level in self.levels.iter().rev() {
            self.sweep(level, SweepWay { back: true, transposed }, &mut z, &mut spare);
        }
        for (column, x) in x.chunks_exact_mut(n.max(1)).enumerate() {
            for (row, (x, s)) in x.iter_mut().zip(&self.scale).enumerate() {
                let z = z[place(row, column)];
                *x = if transposed { z.scale(*s) } else { z };
            }
        }
    }
}

/// Convert a periodic matrix of two rows to an open one, because each row is the neighbour of the other on both sides.
fn open_ring_of_two<T: Scalar>(level: &RankLevel, chain: &mut [ChainRow<T>]) {
    for (place, row) in level.places().zip(chain) {
        let (to, from) = if place == 0 { (&mut row.right, &mut row.left) } else { (&mut row.left, &mut row.right) };
        match (to, from.take()) {
            (Some(to), Some(from)) => to.iter_mut().zip(from).for_each(|(a, b)| *a += b),
            (to, Some(from)) => *to = Some(from),
            (_, None) => {}
        }
    }
}

/// Eliminate the rows at odd positions of a level; return the factors of the level, and the remaining rows.
fn reduce<T: Scalar>(
    ranks: &Ranks,
    level: &RankLevel,
    (chain, memory): (Vec<ChainRow<T>>, LevelMemory<T>),
    (team, trouble): (Team, &mut Trouble),
) -> (Vec<LevelRow<T>>, Vec<ChainRow<T>>) {
    let (places, ends) = (level.places(), level.links(true));
    let LevelMemory { mut rows, mut remaining, mut inner } = memory;
    for (k, (place, row)) in places.clone().zip(chain).enumerate() {
        rows.push(LevelRow::Remaining { links: [None, None] });
        match place % 2 == 0 {
            true => remaining.push(row),
            false if ends.iter().any(|(end, ..)| *end == k) => rows[k] = eliminated(row, team, trouble),
            false => inner.push((k, row)),
        }
    }
    // Eliminate the rows that other ranks need first, and the other rows during the communication.
    let hats_received = exchange_hats(ranks, level, (&mut rows, team.block), |rows| {
        inner.into_iter().for_each(|(k, row)| rows[k] = eliminated(row, team, trouble));
    });
    let mut hats_received = hats_received.into_iter();
    for place in places.clone().filter(|place| place % 2 == 0) {
        let k = place - places.start;
        let row = &mut remaining[(place - places.start.next_multiple_of(2)) / 2];
        for side in [0, 1] {
            let remote;
            let hats = match level.beside(place, side) {
                None => continue,
                Some(Beside::Local(other)) => match &rows[other] {
                    LevelRow::Eliminated { hats, .. } => hats,
                    LevelRow::Remaining { .. } => unreachable!("neighbours of rows that remain are eliminated"),
                },
                Some(Beside::Remote(_)) => {
                    remote = hats_received.next().expect("a message for each link");
                    &remote
                }
            };
            // D'ₖ = Dₖ − B·Ĉ or B·Â, and the new coupling −B·Â or −B·Ĉ, with the block B of row k in the column of the neighbour
            let coupling = if side == 0 { &mut row.left } else { &mut row.right };
            let link = coupling.take();
            subtract_product(&mut row.diag, link.as_deref(), hats[1 - side].as_deref(), team);
            *coupling = trouble.keep(fill_in(link.as_deref(), hats[side].as_deref(), team)).flatten();
            if let LevelRow::Remaining { links } = &mut rows[k] {
                links[side] = link;
            }
        }
    }
    (rows, remaining)
}

/// Compute the factors of Dₑ, and Â and Ĉ, of an eliminated row.
fn eliminated<T: Scalar>(row: ChainRow<T>, team: Team, trouble: &mut Trouble) -> LevelRow<T> {
    let pivot = trouble.pivot(row.diag, team);
    let hats = [row.left, row.right].map(|block| {
        let divided = pivot.as_ref().map(|pivot| pivot.divide(block.as_deref(), team));
        divided.and_then(|divided| trouble.keep(divided)).flatten()
    });
    LevelRow::Eliminated { pivot, hats }
}

/// Send Â and Ĉ of eliminated rows to the ranks of their neighbours, and run `work` during the communication. Return the received blocks, in the
/// order of [`RankLevel::links`].
///
/// The function sends zero blocks, too, so that the messages do not depend on the entries.
fn exchange_hats<T: Scalar>(
    ranks: &Ranks,
    level: &RankLevel,
    (rows, block): (&mut [LevelRow<T>], usize),
    work: impl FnOnce(&mut [LevelRow<T>]),
) -> Vec<[Coupling<T>; 2]> {
    let square = block * block;
    let mut sent = Vec::new();
    for (k, side, to) in level.links(true) {
        let LevelRow::Eliminated { hats, .. } = &rows[k] else { unreachable!("a row at an odd position") };
        let mut values = Vec::with_capacity(2 * square);
        for hat in hats {
            match hat {
                Some(hat) => values.extend_from_slice(hat),
                None => values.resize(values.len() + square, T::ZERO),
            }
        }
        sent.push(Sent { to, tag: MOVES + side as i32, values });
    }
    let expected: Vec<Expected> = level
        .links(false)
        .into_iter()
        .map(|(_, side, from)| Expected { from, tag: MOVES + 1 - side as i32, len: 2 * square })
        .collect();
    let received = ranks.exchange_during(&sent, &expected, || work(rows));
    let block_of = |values: &[T]| values.iter().any(|v| *v != T::ZERO).then(|| values.to_vec());
    received.iter().map(|values| [block_of(&values[..square]), block_of(&values[square..])]).collect()
}
