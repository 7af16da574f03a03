//! One level of cyclic reduction, which keeps every R-th row and eliminates the block of B = R − 1 rows after it.
//!
//! The loops are ordinary ones over arrays of groups of R rows. The compiler vectorizes them for each instruction set. Products and sums
//! are not fused, so that rows at the ends, which are computed one by one, have the same bits as rows in vectors.

use crate::job::kernel;
use crate::rows::Rows;
use crate::scalar::{peak, reciprocal};
use crate::{Job, Lanes, RealScalar, Scalar};
use core::ops::Range;

/// Number of blocks that are inverted before their rows are combined, while both are in cache. The first of these rows is combined
/// alone, which leaves a multiple of all vectors.
const BLOCKS_TOGETHER: usize = 257;

/// A row of a tridiagonal matrix: the entries left of, on and right of the diagonal.
type MatrixRow<T> = [T; 3];

/// The arrays of one level. Each has some entries for every row that stays.
#[derive(Debug)]
pub struct LevelArrays<A> {
    /// D⁻¹ by rows of the block after the row: B² entries.
    pub inverse: A,
    /// The first `sub` and the last `sup` of the block: 1 entry.
    pub sub: A,
    pub sup: A,
    /// `sub` of the row times the last row of the inverse of the block above: B entries.
    pub above: A,
    /// `sup` of the row times the first row of the inverse of the block below: B entries.
    pub below: A,
}

/// The results of the elimination of one level, for some of its rows that stay: the arrays, and the three diagonals of the next level.
pub struct NewLevel<'a, T> {
    pub level: LevelArrays<&'a mut [T]>,
    pub coarse: [&'a mut [T]; 3],
    /// B.
    pub block: usize,
}

/// D⁻¹ of `D = [b₀ c₀; a₁ b₁]`, or zero if D is singular. Rows are scaled by powers of two so that no product overflows.
#[inline(always)]
pub fn inverse_of_pair<T: Scalar>([b0, c0]: [T; 2], [a1, b1]: [T; 2]) -> [[T; 2]; 2] {
    let scale = |u: T, v: T| if peak(u) > peak(v) { peak(u) } else { peak(v) }.equilibrate();
    let (s0, s1) = (scale(b0, c0), scale(a1, b1));
    let (b0, c0, a1, b1) = (b0.scale(s0), c0.scale(s0), a1.scale(s1), b1.scale(s1));
    let recip = reciprocal(b0 * b1 - a1 * c0);
    [[(b1 * recip).scale(s0), -(c0 * recip).scale(s1)], [-(a1 * recip).scale(s0), (b0 * recip).scale(s1)]]
}

/// The inverse of a block of one or two rows.
#[inline(always)]
fn inverse<T: Scalar, const B: usize>(block: &[MatrixRow<T>; B]) -> [[T; B]; B] {
    let mut inverse = [[T::ZERO; B]; B];
    if B == 1 {
        inverse[0][0] = reciprocal(block[0][1]);
    } else {
        let ([_, b0, c0], [a1, b1, _]) = (block[0], block[B - 1]);
        let pair = inverse_of_pair([b0, c0], [a1, b1]);
        (inverse[0][0], inverse[0][B - 1]) = (pair[0][0], pair[0][1]);
        (inverse[B - 1][0], inverse[B - 1][B - 1]) = (pair[1][0], pair[1][1]);
    }
    inverse
}

/// A block after its inversion.
#[derive(Clone, Copy)]
struct InvertedBlock<T, const B: usize> {
    inverse: [[T; B]; B],
    sub: T,
    sup: T,
}

impl<T: Scalar, const B: usize> InvertedBlock<T, B> {
    #[inline(always)]
    fn new(rows: &[MatrixRow<T>; B]) -> Self {
        Self { inverse: inverse(rows), sub: rows[0][0], sup: rows[B - 1][2] }
    }

    /// The block that ends before row k·R: nothing for k = 0.
    #[inline(always)]
    fn before(rows: &Rows<'_, T>, k: usize) -> Self {
        if k > 0 { Self::after(rows, k - 1) } else { Self { inverse: [[T::ZERO; B]; B], sub: T::ZERO, sup: T::ZERO } }
    }

    /// The block after row k·R. Rows beyond the matrix are those of the identity.
    #[inline(always)]
    fn after(rows: &Rows<'_, T>, k: usize) -> Self {
        let mut block = [[T::ZERO, T::ONE, T::ZERO]; B];
        for (j, to) in block.iter_mut().enumerate() {
            let i = k * (B + 1) + 1 + j;
            if i < rows.n() {
                *to = rows.row(i).into();
            }
        }
        Self::new(&block)
    }
}

/// A row of the next level, and its `above` and `below`.
type CombinedRow<T, const B: usize> = (MatrixRow<T>, [T; B], [T; B]);

/// Compute a row of the next level. `[a, b, c]` is the row that stays, `before` the block above it, and `after` the block below it.
#[inline(always)]
fn combine<T: Scalar, const B: usize>(
    [a, b, c]: MatrixRow<T>,
    before: &InvertedBlock<T, B>,
    after: &InvertedBlock<T, B>,
) -> CombinedRow<T, B> {
    let (mut above, mut below) = ([T::ZERO; B], [T::ZERO; B]);
    for j in 0..B {
        above[j] = a * before.inverse[B - 1][j];
        below[j] = c * after.inverse[0][j];
    }
    let diag = b - (above[B - 1] * before.sup + below[0] * after.sub);
    ([-(above[0] * before.sub), diag, -(below[B - 1] * after.sup)], above, below)
}

/// Eliminate the blocks after the rows k·R, and compute these rows of the next level.
pub struct EliminateBlocks<'a, T: Scalar> {
    pub rows: &'a Rows<'a, T>,
    /// The first k.
    pub first: usize,
    pub to: NewLevel<'a, T>,
}

kernel!(EliminateBlocksKernel: EliminateBlocks<'a> => ());

impl<T: Scalar> Job<T> for EliminateBlocks<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.to.block {
            1 => self.eliminate::<1, 2>(),
            2 => self.eliminate::<2, 3>(),
            other => panic!("blocks of {other} rows"),
        }
    }
}

impl<T: Scalar> EliminateBlocks<'_, T> {
    #[inline(always)]
    fn eliminate<const B: usize, const R: usize>(self) {
        let Self { rows, first, to } = self;
        let mut before = InvertedBlock::<T, B>::before(rows, first);
        let mut to = LevelRows::<T, B>::of(to);
        // Blocks before number `inner` are complete, and a row follows them.
        let (count, inner) = (to.sub.len(), ((rows.n() - 1) / R).saturating_sub(first));
        let mut k = 0;
        while k < count {
            let row = (first + k) * R;
            if row > 0 && k < inner {
                let end = (k + BLOCKS_TOGETHER).min(inner).min(count);
                let rest = (first + end) * R;
                let [sub, diag, sup] = [&rows.sub[row - 1..rest - 1], &rows.diag[row..rest], &rows.sup[row..rest]];
                let [sub, diag, sup] = [sub.as_chunks().0, diag.as_chunks().0, sup.as_chunks().0];
                let mut part = to.part(k..end);
                part.invert::<R>([sub, diag, sup], rows.conj);
                part.combine::<R>([sub, diag, sup], rows.conj, &before);
                (before, k) = (to.block(end - 1), end);
            } else {
                let after = InvertedBlock::after(rows, first + k);
                to.set_block(k, &after);
                to.set_row(k, combine(rows.row(row).into(), &before, &after));
                (before, k) = (after, k + 1);
            }
        }
    }
}

/// The arrays of [`NewLevel`] by rows.
struct LevelRows<'a, T, const B: usize> {
    inverse: &'a mut [[[T; B]; B]],
    sub: &'a mut [T],
    sup: &'a mut [T],
    above: &'a mut [[T; B]],
    below: &'a mut [[T; B]],
    coarse: [&'a mut [T]; 3],
}

impl<'a, T: Scalar, const B: usize> LevelRows<'a, T, B> {
    #[inline(always)]
    fn of(to: NewLevel<'a, T>) -> Self {
        let NewLevel { level: LevelArrays { inverse, sub, sup, above, below }, coarse, .. } = to;
        let inverse = inverse.as_chunks_mut().0.as_chunks_mut().0;
        let (above, below) = (above.as_chunks_mut().0, below.as_chunks_mut().0);
        Self { inverse, sub, sup, above, below, coarse }
    }

    #[inline(always)]
    fn part(&mut self, k: Range<usize>) -> LevelRows<'_, T, B> {
        let [a, b, c] = &mut self.coarse;
        LevelRows {
            inverse: &mut self.inverse[k.clone()],
            sub: &mut self.sub[k.clone()],
            sup: &mut self.sup[k.clone()],
            above: &mut self.above[k.clone()],
            below: &mut self.below[k.clone()],
            coarse: [&mut a[k.clone()], &mut b[k.clone()], &mut c[k]],
        }
    }

    #[inline(always)]
    fn block(&self, k: usize) -> InvertedBlock<T, B> {
        InvertedBlock { inverse: self.inverse[k], sub: self.sub[k], sup: self.sup[k] }
    }

    #[inline(always)]
    fn set_block(&mut self, k: usize, block: &InvertedBlock<T, B>) {
        (self.inverse[k], self.sub[k], self.sup[k]) = (block.inverse, block.sub, block.sup);
    }

    #[inline(always)]
    fn set_row(&mut self, k: usize, ([a, b, c], above, below): CombinedRow<T, B>) {
        (self.above[k], self.below[k]) = (above, below);
        (self.coarse[0][k], self.coarse[1][k], self.coarse[2][k]) = (a, b, c);
    }

    /// Invert the blocks of these groups of R rows (sub, diag, sup). A group begins with the row that stays.
    #[inline(always)]
    fn invert<const R: usize>(&mut self, [sub, diag, sup]: [&[[T; R]]; 3], conj: bool) {
        let m = self.sub.len();
        let (sub, diag, sup) = (&sub[..m], &diag[..m], &sup[..m]);
        let (inverses, subs, sups) = (&mut self.inverse[..m], &mut self.sub[..m], &mut self.sup[..m]);
        for k in 0..m {
            let mut block = [[T::ZERO; 3]; B];
            for j in 0..B {
                block[j] = row([sub[k][1 + j], diag[k][1 + j], sup[k][1 + j]], conj);
            }
            let block = InvertedBlock::new(&block);
            (inverses[k], subs[k], sups[k]) = (block.inverse, block.sub, block.sup);
        }
    }

    /// Compute the rows of the next level. `before` is the block above the first row.
    #[inline(always)]
    fn combine<const R: usize>(&mut self, [sub, diag, sup]: [&[[T; R]]; 3], conj: bool, before: &InvertedBlock<T, B>) {
        let m = self.sub.len();
        self.set_row(0, combine(row([sub[0][0], diag[0][0], sup[0][0]], conj), before, &self.block(0)));
        let (sub, diag, sup) = (&sub[1..m], &diag[1..m], &sup[1..m]);
        let (inverse, subs, sups) = (&self.inverse[..m], &self.sub[..m], &self.sup[..m]);
        let (above, below) = (&mut self.above[1..m], &mut self.below[1..m]);
        let [a, b, c] = &mut self.coarse;
        let (a, b, c) = (&mut a[1..m], &mut b[1..m], &mut c[1..m]);
        for k in 0..m - 1 {
            let before = InvertedBlock { inverse: inverse[k], sub: subs[k], sup: sups[k] };
            let after = InvertedBlock { inverse: inverse[k + 1], sub: subs[k + 1], sup: sups[k + 1] };
            ([a[k], b[k], c[k]], above[k], below[k]) =
                combine(row([sub[k][0], diag[k][0], sup[k][0]], conj), &before, &after);
        }
    }
}

/// The row, conjugated if `conj`.
#[inline(always)]
fn row<T: Scalar>([a, b, c]: MatrixRow<T>, conj: bool) -> MatrixRow<T> {
    if T::COMPLEX && conj { [Scalar::conj(a), Scalar::conj(b), Scalar::conj(c)] } else { [a, b, c] }
}

/// Σ uⱼ vⱼ
#[inline(always)]
fn dot<T: Scalar, const B: usize>(u: &[T; B], v: &[T]) -> T {
    let mut sum = T::ZERO;
    for j in 0..B {
        sum += u[j] * v[j];
    }
    sum
}

/// Compute the right-hand sides of the next level, for the rows that stay from row `first`·R on.
pub struct ReduceRhs<'a, T: Scalar> {
    /// `above` and `below` of all rows that stay.
    pub above: &'a [T],
    pub below: &'a [T],
    /// All right-hand sides of this level.
    pub d: &'a [T],
    pub first: usize,
    pub coarse: &'a mut [T],
    /// B.
    pub block: usize,
}

kernel!(ReduceRhsKernel: ReduceRhs<'a> => ());

impl<T: Scalar> Job<T> for ReduceRhs<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.block {
            1 => self.reduce::<1, 2>(),
            2 => self.reduce::<2, 3>(),
            other => panic!("blocks of {other} rows"),
        }
    }
}

impl<T: Scalar> ReduceRhs<'_, T> {
    #[inline(always)]
    fn reduce<const B: usize, const R: usize>(self) {
        let Self { above, below, d, first, coarse, .. } = self;
        let end = first + coarse.len();
        let (above, below) = (&above.as_chunks::<B>().0[first..end], &below.as_chunks::<B>().0[first..end]);
        // A whole block is above each inner row, and another row that stays is below it.
        let from = usize::from(first == 0).min(coarse.len());
        let to = ((d.len() - 1) / R).saturating_sub(first).min(coarse.len()).max(from);
        for k in (0..from).chain(to..coarse.len()) {
            coarse[k] = reduce_row(&above[k], &below[k], d, (first + k) * R);
        }
        if from == to {
            return;
        }
        let m = to - from;
        let (above, below, coarse) = (&above[from..to], &below[from..to], &mut coarse[from..to]);
        let row = (first + from) * R;
        // The rows of a group are those of the block above and the row that stays.
        let before = &d[row - B..row - B + m * R].as_chunks::<R>().0[..m];
        let here = &d[row..row + m * R].as_chunks::<R>().0[..m];
        for k in 0..m {
            coarse[k] = here[k][0] - (dot(&above[k], &before[k]) + dot(&below[k], &here[k][1..]));
        }
    }
}

/// One row of [`ReduceRhs`], also at the ends.
#[inline(always)]
fn reduce_row<T: Scalar, const B: usize>(above: &[T; B], below: &[T; B], d: &[T], i: usize) -> T {
    let at = |i: usize| d.get(i).copied().unwrap_or(T::ZERO);
    let (mut before, mut after) = ([T::ZERO; B], [T::ZERO; B]);
    for j in 0..B {
        before[j] = at((i + j).wrapping_sub(B));
        after[j] = at(i + 1 + j);
    }
    d[i] - (dot(above, &before) + dot(below, &after))
}

/// Compute x of the rows from row `first`·R on from their right-hand sides and from x of the next level.
pub struct SubstituteBlocks<'a, T: Scalar> {
    /// `inverse`, `sub` and `sup` of all rows that stay.
    pub inverse: &'a [T],
    pub sub: &'a [T],
    pub sup: &'a [T],
    /// x of all rows that stay.
    pub coarse: &'a [T],
    pub first: usize,
    /// Right-hand sides, then x. The last group of rows may be incomplete only if it is the last of the matrix.
    pub x: &'a mut [T],
    /// B.
    pub block: usize,
}

kernel!(SubstituteBlocksKernel: SubstituteBlocks<'a> => ());

impl<T: Scalar> Job<T> for SubstituteBlocks<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.block {
            1 => self.substitute::<1, 2>(),
            2 => self.substitute::<2, 3>(),
            other => panic!("blocks of {other} rows"),
        }
    }
}

impl<T: Scalar> SubstituteBlocks<'_, T> {
    #[inline(always)]
    fn substitute<const B: usize, const R: usize>(self) {
        let Self { inverse, sub, sup, coarse, first, x, .. } = self;
        let end = first + x.len().div_ceil(R);
        // All groups but the last of the matrix.
        let m = end.min(coarse.len() - 1) - first;
        let inverse = &inverse.as_chunks::<B>().0.as_chunks::<B>().0[first..end];
        let (sub, sup) = (&sub[first..end], &sup[first..end]);
        let (here, next) = (&coarse[first..first + m], &coarse[first + 1..first + 1 + m]);
        let (groups, rest) = x.split_at_mut(m * R);
        let groups = &mut groups.as_chunks_mut::<R>().0[..m];
        for k in 0..m {
            substitute_group::<T, B, R>(&inverse[k], [sub[k], sup[k]], [here[k], next[k]], &mut groups[k]);
        }
        if !rest.is_empty() {
            let mut padded = [T::ZERO; R];
            padded[..rest.len()].copy_from_slice(rest);
            substitute_group::<T, B, R>(&inverse[m], [sub[m], sup[m]], [coarse[first + m], T::ZERO], &mut padded);
            rest.copy_from_slice(&padded[..rest.len()]);
        }
    }
}

/// Solve for a row that stays and the block after it, whose right-hand sides are in `x`.
#[inline(always)]
fn substitute_group<T: Scalar, const B: usize, const R: usize>(
    inverse: &[[T; B]; B],
    [sub, sup]: [T; 2],
    [here, next]: [T; 2],
    x: &mut [T; R],
) {
    let mut d = [T::ZERO; B];
    d.copy_from_slice(&x[1..]);
    d[0] -= sub * here;
    d[B - 1] -= sup * next;
    x[0] = here;
    for j in 0..B {
        x[1 + j] = dot(&inverse[j], &d);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_near_the_ends_of_the_range() {
        let d = inverse_of_pair([2e300, 1e300], [1e-300, 1e-300]);
        for (got, expected) in d.as_flattened().iter().zip([1e-300, -1e300, -1e-300, 2e300]) {
            assert!((got / expected - 1.0).abs() < 1e-15, "{d:?}");
        }
        assert_eq!(inverse_of_pair([1.0, 2.0], [2.0, 4.0]), [[0.0; 2]; 2]);
    }
}
