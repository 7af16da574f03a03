//! One level of adaptive cyclic reduction: blocks of one or two rows that stay and blocks that are eliminated alternate. The entries
//! determine the blocks.
//!
//! Rows are divided into pieces of [`PIECE_ROWS`] rows, which are independent: the last row of each piece stays, except in the last piece.
//! Right-hand sides d and unknowns x of the rows of a block, with X₋ and X₊ the unknowns that stay above and below, are
//!
//! ```text
//! y = before·d₋ + center·d + after·d₊,   x = y − above·X₋ − below·X₊
//! ```
//!
//! d₋ and d₊ belong to the previous and the next row. `before` and `after` are zero except in blocks of two rows. In a row that stays,
//! `center` is the scale of the row, and `above` and `below` are its scaled entries beside rows that are eliminated. Its right-hand side is
//!
//! ```text
//! d′ = y − above·y₋ − below·y₊
//! ```
//!
//! No branch inside a loop over rows depends on the blocks, because the blocks of random matrices are unpredictable. Products and sums are not fused,
//! so that rows beside vectors have the same bits as rows in vectors.

use crate::job::kernel;
use crate::rows::Rows;
use crate::scalar::{larger, peak, reciprocal};
use crate::{Job, Lanes, RealScalar, Scalar};
use core::ops::Range;

/// Number of rows of a piece.
pub const PIECE_ROWS: usize = 128;
/// Number of rows of a chunk. It has two pieces.
pub const CHUNK_ROWS: usize = 2 * PIECE_ROWS;
// Both outer rows of a piece can stay. Some row between them must be eliminated.
const _: () = assert!(PIECE_ROWS >= 8);

/// Number of rows after which the smallest price is subtracted from the others, so that small differences are not rounded away.
const GROUP: usize = 8;
/// Price of a row that stays. Between 1 and 16, the accuracy depends little on it. From 2 on, there are few levels.
const STAY: f64 = 4.0;
/// Price of a block that cannot be eliminated. It exceeds all others, but is finite, so that all other blocks are still chosen well.
const NEVER: f64 = 1e30;

/// The arrays of some rows: `before`, `center`, `after`, `above`, `below`.
pub type AdaptiveArrays<A> = [A; 5];

/// Choose and eliminate the blocks of one chunk.
pub struct EliminateChunk<'a, T: Scalar> {
    pub rows: &'a Rows<'a, T>,
    /// The first row of the chunk.
    pub first: usize,
    /// For all rows of the chunk. The last row gets its `below` even if the next one stays.
    pub to: AdaptiveArrays<&'a mut [T]>,
    /// Output: 1 for rows that stay, 0 for the others.
    pub stays: &'a mut [u8],
}

/// The result of the elimination of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkFacts {
    /// Number of rows that stay.
    pub stay: usize,
    /// Whether a block is singular.
    pub singular: bool,
}

kernel!(EliminateChunkKernel: EliminateChunk<'a> => ChunkFacts);

/// One entry for each row of a chunk, and for the rows before and after it.
type ChunkTile<T> = [T; CHUNK_ROWS + 2];

/// Copy the numbers of rows `first − 1` to `first + count` to a tile of zeros, as far as the array has them. The array begins with row `skipped`.
#[inline(always)]
fn load<T: Scalar>(of: &[T], skipped: usize, (first, count): (usize, usize), tile: &mut ChunkTile<T>) {
    // Row i is number i − skipped of the array, and has the place i + 1 − first in the tile.
    let from = first.max(skipped + 1) - 1;
    let values = &of[from - skipped..(first + count + 1 - skipped).min(of.len())];
    tile[from + 1 - first..][..values.len()].copy_from_slice(values);
}

/// Copy `sub`, `diag` and `sup` of a chunk of an open system to tiles of zeros, as [`load`] does.
#[inline(always)]
fn load_rows<T: Scalar>(rows: &Rows<'_, T>, chunk: (usize, usize), [sub, diag, sup]: [&mut ChunkTile<T>; 3]) {
    // Row 0 has no `sub`.
    load(rows.sub, 1, chunk, sub);
    load(rows.diag, 0, chunk, diag);
    load(rows.sup, 0, chunk, sup);
    if rows.conj {
        for tile in [sub, diag, sup] {
            tile.iter_mut().for_each(|v| *v = Scalar::conj(*v));
        }
    }
}

/// The rows of a chunk, scaled so that their largest entries are in [2, 4).
struct ScaledRows<T: Scalar> {
    sub: ChunkTile<T>,
    diag: ChunkTile<T>,
    sup: ChunkTile<T>,
    scale: ChunkTile<T::Real>,
}

impl<T: Scalar> ScaledRows<T> {
    #[inline(always)]
    fn empty() -> Self {
        let zeros = [T::ZERO; CHUNK_ROWS + 2];
        Self { sub: zeros, diag: zeros, sup: zeros, scale: [T::Real::ONE; CHUNK_ROWS + 2] }
    }

    /// Load and scale a chunk of `count` rows from `first` on.
    #[inline(always)]
    fn fill(&mut self, rows: &Rows<'_, T>, first: usize, count: usize) {
        let Self { sub, diag, sup, scale } = self;
        load_rows(rows, (first, count), [sub, diag, sup]);
        for k in 0..count + 2 {
            let by = larger(larger(peak(sub[k]), peak(diag[k])), peak(sup[k])).equilibrate();
            (sub[k], diag[k], sup[k]) = (sub[k].scale(by), diag[k].scale(by), sup[k].scale(by));
            scale[k] = by;
        }
    }
}

/// The blocks of a chunk that could be eliminated: the row k alone, or the rows k − 1 and k together.
struct Candidates<T> {
    /// The reciprocals of the determinants.
    recips: [[T; CHUNK_ROWS]; 2],
    prices: [[f64; CHUNK_ROWS]; 2],
}

impl<T: Scalar> Candidates<T> {
    #[inline(always)]
    fn empty() -> Self {
        Self { recips: [[T::ZERO; CHUNK_ROWS]; 2], prices: [[NEVER; CHUNK_ROWS]; 2] }
    }

    /// The price of a block D is its growth g(D) = Σ_(j in D) Nⱼ ‖eⱼᵀ D⁻¹‖₁, where Nⱼ is the largest entry of column j.
    #[inline(always)]
    fn fill(&mut self, rows: &ScaledRows<T>, count: usize) {
        let ScaledRows { sub, diag, sup, .. } = rows;
        let size = |v: T| peak(v).to_f64();
        let mut columns = [0.0; CHUNK_ROWS + 1];
        for k in 1..count + 1 {
            columns[k] = larger(larger(size(sup[k - 1]), size(sub[k + 1])), size(diag[k]));
        }
        let ([alone, pairs], [alone_prices, pair_prices]) = (&mut self.recips, &mut self.prices);
        // A price that is not a number is NEVER, too.
        let price = |sum: f64, recip: f64| if (recip > 0.0) & (sum * recip < NEVER) { sum * recip } else { NEVER };
        for k in 0..count {
            let recip = reciprocal(diag[k + 1]);
            alone[k] = recip;
            alone_prices[k] = price(columns[k + 1], size(recip));
        }
        for k in 1..count {
            let (b0, c0, a1, b1) = (diag[k], sup[k], sub[k + 1], diag[k + 1]);
            let recip = reciprocal(b0 * b1 - a1 * c0);
            let sum = columns[k] * (size(b1) + size(c0)) + columns[k + 1] * (size(a1) + size(b0));
            pairs[k] = recip;
            pair_prices[k] = price(sum, size(recip));
        }
    }
}

/// The role of a row.
mod role {
    /// It is eliminated alone.
    pub const ALONE: u8 = 0;
    /// It stays.
    pub const STAYS: u8 = 1;
    /// It is eliminated together with the row before or after it.
    pub const IN_PAIR: u8 = 2;
}

/// The rows of a piece before its border.
struct PricedRows<'a> {
    /// Its first row.
    first: usize,
    /// The prices of each row alone, and of each row together with the one before it.
    alone: &'a mut [f64],
    pairs: &'a [f64],
    /// Whether a row of another piece precedes its rows, and whether one follows them.
    border: [bool; 2],
}

/// The [role] of each row of a piece, after one entry that a piece overwrites when it is finished before the others.
type Roles = [u8; PIECE_ROWS + 1];

/// The first rows of the pairs that are eliminated.
struct ChosenPairs {
    rows: [u16; CHUNK_ROWS],
    count: usize,
}

/// Choose the cheapest blocks of L pieces of equal length.
///
/// The total price is the sum of the prices of all eliminated blocks, plus [`STAY`] for each row that stays. An outer row may form a pair with the
/// border, which stays. So an outer row can also stay where an eliminated block would be.
///
/// The work for a row waits for the result of the row before it. Meanwhile, the processor works for the other pieces.
fn choose_blocks<const L: usize>(mut pieces: [PricedRows<'_>; L], roles: [&mut Roles; L], chosen: &mut ChosenPairs) {
    let count = pieces[0].alone.len();
    let outer = if count > 0 { [0, count - 1] } else { return };
    let mut may_stay = [[false; 2]; L];
    for (piece, may_stay) in pieces.iter_mut().zip(&mut may_stay) {
        for (side, k) in outer.into_iter().enumerate() {
            if piece.border[side] && piece.alone[k] > STAY {
                (may_stay[side], piece.alone[k]) = (true, STAY);
            }
        }
    }
    // The number of rows of the best block that ends before a row, for an eliminated block and for one that stays.
    let mut lengths = [[[0u8; 2]; PIECE_ROWS + 1]; L];
    // The lowest prices of all rows except the last two, and except the last one, if the last block is eliminated or stays.
    let (mut before, mut last) = ([[NEVER * NEVER; 2]; L], [[0.0; 2]; L]);
    let smaller = |a: f64, b: f64| if a < b { a } else { b };
    for group in (0..count).step_by(GROUP) {
        for k in group..(group + GROUP).min(count) {
            for l in 0..L {
                let single = [last[l][1] + pieces[l].alone[k], last[l][0] + STAY];
                let double = [before[l][1] + pieces[l].pairs[k], before[l][0] + 2.0 * STAY];
                lengths[l][k + 1] = [1 + u8::from(double[0] < single[0]), 1 + u8::from(double[1] < single[1])];
                before[l] = last[l];
                last[l] = [smaller(double[0], single[0]), smaller(double[1], single[1])];
            }
        }
        for l in 0..L {
            // Only differences matter.
            let least = smaller(last[l][0], last[l][1]);
            (before[l], last[l]) = (before[l].map(|v| v - least), last[l].map(|v| v - least));
        }
    }
    // From the last block to the first one. One of two rows or less is eliminated.
    let mut stays = last.map(|last| usize::from(count > 2 && last[1] < last[0]));
    let mut ends = [count; L];
    while ends != [0; L] {
        for l in 0..L {
            let (end, length) = (ends[l], usize::from(lengths[l][ends[l]][stays[l]]));
            let pair = (length / 2) & (1 - stays[l]);
            let role = if stays[l] == 1 { role::STAYS } else { pair as u8 * role::IN_PAIR };
            (roles[l][end - length / 2], roles[l][end]) = (role, role);
            chosen.rows[chosen.count] = (pieces[l].first + end - length) as u16;
            chosen.count += pair;
            (ends[l], stays[l]) = (end - length, 1 - stays[l]);
        }
    }
    for (roles, may_stay) in roles.into_iter().zip(may_stay) {
        for (side, k) in outer.into_iter().enumerate() {
            if may_stay[side] && roles[k + 1] == role::ALONE {
                roles[k + 1] = role::STAYS;
            }
        }
    }
}

impl<T: Scalar> Job<T> for EliminateChunk<'_, T> {
    type Output = ChunkFacts;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> ChunkFacts {
        let count = self.stays.len();
        assert!(count <= CHUNK_ROWS, "{count} rows in a chunk");
        let (mut rows, mut candidates) = (ScaledRows::empty(), Candidates::empty());
        rows.fill(self.rows, self.first, count);
        candidates.fill(&rows, count);
        let (roles, chosen) = choose_in_chunk(&mut candidates.prices, self.first..self.first + count, self.rows.n());
        let [alone, pairs] = &candidates.recips;
        let ScaledRows { sub, diag, sup, scale } = &rows;
        let (mut before, mut center, mut after) = ([T::ZERO; CHUNK_ROWS], [T::ZERO; CHUNK_ROWS], [T::ZERO; CHUNK_ROWS]);
        let (mut above, mut below) = ([T::ZERO; CHUNK_ROWS], [T::ZERO; CHUNK_ROWS]);
        let (mut stays, mut singular) = ([0; CHUNK_ROWS], false);
        for k in 0..count {
            let only = |condition: bool, v: T| if condition { v } else { T::ZERO };
            let [previous, here, next] = [roles[k], roles[k + 1], roles[k + 2]].map(|role| role == role::STAYS);
            let recip = alone[k];
            let if_alone = [recip.scale(scale[k + 1]), recip * sub[k + 1], recip * sup[k + 1]];
            center[k] = if here { T::from_real(scale[k + 1]) } else { if_alone[0] };
            above[k] = if here { only(!previous, sub[k + 1]) } else { if_alone[1] };
            below[k] = if here { only(!next, sup[k + 1]) } else { if_alone[2] };
            stays[k] = u8::from(here);
            singular |= (roles[k + 1] == role::ALONE) & (recip == T::ZERO);
        }
        for k in chosen.rows[..chosen.count].iter().map(|k| usize::from(*k)) {
            let (recip, first, second) = (pairs[k + 1], scale[k + 1], scale[k + 2]);
            // No product underflowed or overflowed, because the price would be NEVER.
            let (inverse0, inverse1) =
                ([diag[k + 2] * recip, -(sup[k + 1] * recip)], [-(sub[k + 2] * recip), diag[k + 1] * recip]);
            let (a, c) = (sub[k + 1], sup[k + 2]);
            (center[k], after[k]) = (inverse0[0].scale(first), inverse0[1].scale(second));
            (above[k], below[k]) = (inverse0[0] * a, inverse0[1] * c);
            (before[k + 1], center[k + 1]) = (inverse1[0].scale(first), inverse1[1].scale(second));
            (above[k + 1], below[k + 1]) = (inverse1[0] * a, inverse1[1] * c);
            singular |= recip == T::ZERO;
        }
        for (to, from) in self.to.into_iter().zip([&before, &center, &after, &above, &below]) {
            to.copy_from_slice(&from[..count]);
        }
        self.stays.copy_from_slice(&stays[..count]);
        let stay = stays.iter().map(|stays| usize::from(*stays)).sum();
        ChunkFacts { stay, singular }
    }
}

/// Choose the blocks of the rows `chunk` of a level of n rows. The roles include one row before the chunk and one after it.
fn choose_in_chunk(
    [alone, pairs]: &mut [[f64; CHUNK_ROWS]; 2],
    chunk: Range<usize>,
    n: usize,
) -> ([u8; CHUNK_ROWS + 2], ChosenPairs) {
    let mut chosen = ChosenPairs { rows: [0; CHUNK_ROWS], count: 0 };
    let mut of_pieces = [[role::ALONE; PIECE_ROWS + 1]; 2];
    let (upper, lower) = alone[..chunk.len()].split_at_mut(PIECE_ROWS.min(chunk.len()));
    let [upper, lower] = [(0, upper), (PIECE_ROWS, lower)].map(|(first, alone)| {
        let border = [chunk.start + first > 0, chunk.start + first + PIECE_ROWS < n];
        let inner = alone.len() - usize::from(border[1] && !alone.is_empty());
        PricedRows { first, alone: &mut alone[..inner], pairs: &pairs[first..][..inner], border }
    });
    let [upper_roles, lower_roles] = &mut of_pieces;
    if upper.alone.len() == lower.alone.len() {
        choose_blocks([upper, lower], [upper_roles, lower_roles], &mut chosen);
    } else {
        choose_blocks([upper], [upper_roles], &mut chosen);
        choose_blocks([lower], [lower_roles], &mut chosen);
    }
    let mut roles = [role::ALONE; CHUNK_ROWS + 2];
    for (roles, of_piece) in roles[1..].chunks_exact_mut(PIECE_ROWS).zip(of_pieces) {
        roles.copy_from_slice(&of_piece[1..]);
    }
    for border in (0..=chunk.len()).step_by(PIECE_ROWS) {
        if chunk.start + border < n {
            roles[border] = role::STAYS;
        }
    }
    (roles, chosen)
}

/// Compute the rows of the next level that come from a chunk.
pub struct CombineChunk<'a, T: Scalar> {
    pub rows: &'a Rows<'a, T>,
    /// The first row of the chunk.
    pub first: usize,
    /// `center` of the rows of the chunk. That of a row that stays is its scale.
    pub center: &'a [T],
    pub stays: &'a [u8],
    /// `above` and `below` of all rows of the level.
    pub beside: [&'a [T]; 2],
    pub coarse: [&'a mut [T]; 3],
}

kernel!(CombineChunkKernel: CombineChunk<'a> => ());

impl<T: Scalar> Job<T> for CombineChunk<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let count = self.stays.len();
        assert!(count <= CHUNK_ROWS, "{count} rows in a chunk");
        let none = [T::ZERO; CHUNK_ROWS + 2];
        let (mut sub, mut diag, mut sup, mut above, mut below) = (none, none, none, none, none);
        let chunk = (self.first, count);
        load_rows(self.rows, chunk, [&mut sub, &mut diag, &mut sup]);
        load(self.beside[0], 0, chunk, &mut above);
        load(self.beside[1], 0, chunk, &mut below);
        let mut scale = [T::Real::ONE; CHUNK_ROWS];
        scale.iter_mut().zip(self.center).for_each(|(scale, center)| *scale = center.re());
        let (mut subs, mut diags, mut sups) = ([T::ZERO; CHUNK_ROWS], [T::ZERO; CHUNK_ROWS], [T::ZERO; CHUNK_ROWS]);
        // All rows as if each stayed. If the row beside an entry stays, `above` or `below` is zero and the entry does not change. Otherwise both are
        // equal, and the entry vanishes exactly.
        for k in 0..count {
            let [a, b, c] = [sub[k + 1], diag[k + 1], sup[k + 1]].map(|entry| entry.scale(scale[k]));
            let (p, q) = (above[k + 1], below[k + 1]);
            subs[k] = (a - p) - p * above[k];
            diags[k] = b - (p * below[k] + q * above[k + 2]);
            sups[k] = (c - q) - q * below[k + 2];
        }
        for (coarse, all) in self.coarse.into_iter().zip([&subs, &diags, &sups]) {
            keep_staying(&all[..count], self.stays, coarse);
        }
    }
}

/// Copy the numbers of rows that stay.
#[inline(always)]
fn keep_staying<T: Scalar>(all: &[T], stays: &[u8], to: &mut [T]) {
    // The number of each row is written where the next one belongs that stays.
    let (mut staying, mut next) = ([T::ZERO; CHUNK_ROWS], 0);
    for (v, stays) in all.iter().zip(stays) {
        staying[next] = *v;
        next += usize::from(*stays);
    }
    to.copy_from_slice(&staying[..next]);
}

/// Compute y of a chunk, and the right-hand sides of its rows that stay, without y₊ of the next chunk.
pub struct ReduceChunk<'a, T: Scalar> {
    /// The arrays of the rows of the chunk.
    pub arrays: AdaptiveArrays<&'a [T]>,
    pub stays: &'a [u8],
    /// The right-hand sides, to be replaced by y.
    pub d: &'a mut [T],
    pub coarse: &'a mut [T],
}

kernel!(ReduceChunkKernel: ReduceChunk<'a> => ());

impl<T: Scalar> Job<T> for ReduceChunk<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let count = self.d.len();
        let [before, center, after, above, below] = self.arrays.map(|from| &from[..count]);
        let (mut d, mut y) = ([T::ZERO; CHUNK_ROWS + 2], [T::ZERO; CHUNK_ROWS + 2]);
        d[1..=count].copy_from_slice(self.d);
        for k in 0..count {
            y[k + 1] = before[k] * d[k] + center[k] * d[k + 1] + after[k] * d[k + 2];
        }
        self.d.copy_from_slice(&y[1..=count]);
        // The right-hand sides of all rows as if each stayed.
        for k in 0..count {
            d[k] = y[k + 1] - (above[k] * y[k] + below[k] * y[k + 2]);
        }
        keep_staying(&d[..count], self.stays, self.coarse);
    }
}

/// Compute x of a chunk.
pub struct SubstituteChunk<'a, T: Scalar> {
    /// `above` and `below` of the rows of the chunk.
    pub arrays: [&'a [T]; 2],
    pub stays: &'a [u8],
    /// The unknowns that stay, from the last one before the chunk to the first one after it.
    pub coarse: &'a [T],
    /// y, to be replaced by x.
    pub x: &'a mut [T],
}

kernel!(SubstituteChunkKernel: SubstituteChunk<'a> => ());

impl<T: Scalar> Job<T> for SubstituteChunk<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let count = self.x.len();
        let (x, stays) = (self.x, &self.stays[..count]);
        let [above, below] = self.arrays.map(|from| &from[..count]);
        let (mut upper, mut lower) = ([T::ZERO; CHUNK_ROWS], [T::ZERO; CHUNK_ROWS]);
        let mut next = 0;
        for k in 0..count {
            (upper[k], lower[k]) = (self.coarse[next], self.coarse[next + 1]);
            next += usize::from(stays[k]);
        }
        for k in 0..count {
            let inner = x[k] - (above[k] * upper[k] + below[k] * lower[k]);
            x[k] = if stays[k] == 1 { lower[k] } else { inner };
        }
    }
}
