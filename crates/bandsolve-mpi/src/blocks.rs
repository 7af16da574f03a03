//! Block tridiagonal matrices over ranks. With one row per block, they are tridiagonal.

use crate::agreement::{RankError, agree, agree_alike, alike};
use crate::bcyclic::{RankBcyclic, ScaledChain};
use crate::coarse::RankCoarse;
use crate::factors::DistributedFactors;
use crate::halo::Halo;
use crate::matrix::{DistributedMatrix, OwnRows};
use crate::ranges::RankRanges;
use crate::ranks::{Ranks, collected};
use crate::spike::RankSpike;
use bandsolve::distributed::{ChainRow, error_of, residual_of};
use bandsolve::memory::{copied, reserved, zeroed};
use bandsolve::{BlockTridiagonal, Error, Factor, Inspect, Method, Op, Plan, RealScalar, Scalar, Tridiagonal};
use bandsolve_kernel::scalar::peak;
use core::ops::Range;
use std::sync::Arc;

/// A block tridiagonal matrix, open or periodic, distributed by block rows over ranks. With one row per block, the matrix is
/// tridiagonal.
///
/// ```text
/// sub[i]·x[i−1] + diag[i]·x[i] + sup[i]·x[i+1] = rhs[i]
/// ```
///
/// # Shapes
/// If a rank owns m block rows, its `sub`, `diag` and `sup` contain m blocks each, column-major. In the first
/// block row of all ranks, the block of `sub` is a corner block of a periodic matrix. So is the block of `sup` in the last block
/// row. In an open matrix, the solver ignores these two blocks. Vectors are column-major with m·`block` rows.
///
/// # Examples
/// ```
/// use bandsolve_mpi::{DistributedBlocks, RankRanges, on_threads};
/// // −x[i−1] + 2.5·x[i] − x[i+1] = 1 on two ranks.
/// let errors = on_threads(2, |ranks| {
///     let m = RankRanges::even(101, ranks.size()).range(ranks.rank()).len();
///     let a = DistributedBlocks::new(ranks, 1, [&vec![-1.0; m], &vec![2.5; m], &vec![-1.0; m]])?;
///     Ok::<f64, bandsolve_mpi::RankError>(a.factor()?.solve(&vec![1.0; m])?.report.backward_error)
/// });
/// assert!(errors.into_iter().all(|error| error.unwrap() <= 8.0 * f64::EPSILON));
/// ```
#[derive(Debug, Clone)]
pub struct DistributedBlocks<T: Scalar> {
    matrix: Arc<DistributedMatrix<T>>,
    rows: Arc<BlockTridiagonal<'static, T>>,
    /// The block rows of each rank.
    ranges: RankRanges,
    periodic: bool,
}

/// The rows of one rank between two zero rows, and one more row for the norm.
#[derive(Debug)]
struct LocalBlocks<T: Scalar> {
    rows: Arc<BlockTridiagonal<'static, T>>,
    periodic: bool,
}

impl<T: Scalar> OwnRows<T> for LocalBlocks<T> {
    /// With one row per block, products and errors of a tridiagonal matrix are faster.
    fn lines(&self) -> Option<Tridiagonal<'_, T>> {
        let [sub, diag, sup] = self.rows.arrays();
        (self.rows.block() == 1).then(|| Tridiagonal::new(sub, diag, sup).expect("arrays of the same length"))
    }

    fn entry(&self, i: usize, j: usize) -> T {
        let (b, [sub, diag, sup]) = (self.rows.block(), self.rows.arrays());
        let (row, column) = (i / b, j / b);
        let place = row * b * b + i % b + j % b * b;
        match () {
            () if column == row => diag[place],
            () if column + 1 == row => sub[place],
            () if column == row + 1 => sup[place],
            () => T::ZERO,
        }
    }

    fn apply(&self, first: usize, x: &[T], y: &mut [T]) {
        let block = self.rows.block();
        let [sub, diag, sup] = self.rows.arrays().map(|array| &array[first * block..(first + x.len()) * block]);
        let applied = match block {
            1 => Tridiagonal::new(sub, diag, sup).and_then(|rows| rows.apply_into(x, y)),
            _ => BlockTridiagonal::new(block, sub, diag, sup).and_then(|rows| rows.apply_into(x, y)),
        };
        applied.expect("arrays of the same length");
    }

    fn error(&self, d: &[T], x: &[T]) -> f64 {
        error_of(&*self.rows, (d, x))
    }

    fn residual(&self, d: &[T], x: &[T], r: &mut [T]) -> f64 {
        match self.lines() {
            Some(lines) => residual_of(&lines, (d, x), r),
            None => residual_of(&*self.rows, (d, x), r),
        }
    }

    fn transposed(&self, halos: &Halo) -> Result<bandsolve::Result<Box<dyn OwnRows<T>>>, RankError> {
        let (block, square) = (self.rows.block(), self.rows.block().pow(2));
        let (halos, end) = (halos.wider(block), (self.rows.block_rows() - 2) * square);
        let [sub, diag, sup] = self.rows.arrays().map(|array| &array[square..end]);
        let [below, above] = halos.fill_both([sup, sub])?;
        // The blocks of the transposed matrix come from the rows above and below.
        let shifted = [&below[..diag.len()], diag, &above[2 * square..][..diag.len()]];
        let entry = |k: usize| k / square * square + k % block * block + k % square / block;
        let turned = shifted.map(|blocks| move |k: usize| blocks[entry(k)]);
        let rows = extended((block, diag.len()), turned, [false; 2]);
        Ok(rows.map(|rows| Box::new(Self { rows: Arc::new(rows), periodic: self.periodic }) as _))
    }

    fn sum(&self, i: usize) -> f64 {
        let (b, square) = (self.rows.block(), self.rows.block().pow(2));
        let local_abs = |array: &[T]| {
            let row = array[(i / b + 1) * square + i % b..].iter().step_by(b).take(b);
            row.map(|v| Scalar::abs(*v).to_f64()).sum::<f64>()
        };
        self.rows.arrays().map(local_abs).iter().sum()
    }

    fn entries(&self) -> bandsolve::Result<Vec<T>> {
        let (arrays, square) = (self.rows.arrays(), self.rows.block().pow(2));
        let rows = 1..self.rows.block_rows() - 2;
        let len = 3 * square * rows.len();
        collected(len, rows.flat_map(|row| arrays.map(|array| &array[row * square..][..square])).flatten().copied())
    }

    fn factor_part(&self, rows: Range<usize>, verify: bool) -> bandsolve::Result<Box<dyn Factor<T>>> {
        let block = self.rows.block();
        let (first, end) = ((block + rows.start) * block, (block + rows.end) * block);
        let [sub, diag, sup] = self.rows.arrays().map(|array| copied(&array[first..end]));
        let part = BlockTridiagonal::from_vecs(block, [sub?, diag?, sup?], false)?;
        Ok(Box::new(Plan::new(part.shape()).verify(verify).factor_owned(part)?))
    }

    fn row_of(&self, k: usize) -> usize {
        // Three column-major blocks per block row.
        let b = self.rows.block();
        k / (3 * b * b) * b + k % b
    }

    fn factor_whole(&self, entries: &[Vec<T>]) -> bandsolve::Result<Box<dyn Inspect<T>>> {
        let (block, square) = (self.rows.block(), self.rows.block().pow(2));
        let len = entries.iter().map(Vec::len).sum::<usize>() / 3;
        let array = |k: usize| {
            let blocks = entries.iter().flat_map(|entries| entries.chunks_exact(square));
            collected(len, blocks.skip(k).step_by(3).flatten().copied())
        };
        let whole = BlockTridiagonal::from_vecs(block, [array(0)?, array(1)?, array(2)?], self.periodic)?;
        Ok(Box::new(Plan::new(whole.shape()).method(Method::Pivoted).factor_owned(whole)?))
    }
}

impl<T: Scalar> DistributedBlocks<T> {
    /// Create an open matrix from `[sub, diag, sup]` of the block rows of this rank. The arrays are copied. Collective.
    ///
    /// # Errors
    /// `InvalidArgument` if `block` is 0; `Shape` if the lengths of the arrays differ, or if the block size differs between ranks; `NotFinite`.
    pub fn new(ranks: &Ranks, block: usize, arrays: [&[T]; 3]) -> Result<Self, RankError> {
        Self::build(ranks, block, arrays, false)
    }

    /// Create a periodic matrix from `[sub, diag, sup]` of the block rows of this rank. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn periodic(ranks: &Ranks, block: usize, arrays: [&[T]; 3]) -> Result<Self, RankError> {
        Self::build(ranks, block, arrays, true)
    }

    fn build(ranks: &Ranks, block: usize, arrays: [&[T]; 3], periodic: bool) -> Result<Self, RankError> {
        let count = agree(ranks, checked(block, arrays))?;
        // `periodic` must be the same on all ranks.
        let local = [block as u64, count as u64 * 2 + u64::from(periodic)];
        let gathered = ranks.all_gather(&local);
        let first = gathered[0] as usize;
        let same =
            if block == first { Ok(()) } else { Err(Error::Shape { what: "block", expected: first, got: block }) };
        agree(ranks, same)?;
        alike(gathered.iter().skip(1).step_by(2).position(|code| code % 2 != gathered[1] % 2))?;
        let ranges = RankRanges::of_counts(gathered.iter().skip(1).step_by(2).map(|code| *code as usize / 2));
        let (local, last) = (ranges.range(ranks.rank()), ranges.rows());
        let ends = [local.start == 0 && !periodic, local.end == last && !periodic];
        let rows = extended((block, arrays[1].len()), arrays.map(|array| move |k: usize| array[k]), ends);
        let rows = agree(ranks, rows.and_then(|rows| finite(&rows, block).map(|()| rows)))?;
        let rows = Arc::new(rows);
        let unknowns = RankRanges::of_counts((0..ranks.size()).map(|rank| ranges.range(rank).len() * block));
        let boxed = Box::new(LocalBlocks { rows: rows.clone(), periodic });
        let matrix = DistributedMatrix::new(ranks.clone(), unknowns, (block, periodic), boxed);
        Ok(Self { matrix: Arc::new(matrix), rows, ranges, periodic })
    }

    /// Get the number of rows per block.
    pub fn block(&self) -> usize {
        self.rows.block()
    }

    /// Get the block rows of each rank.
    pub fn ranges(&self) -> &RankRanges {
        &self.ranges
    }

    /// Get the ranks.
    pub fn ranks(&self) -> &Ranks {
        &self.matrix.ranks
    }

    /// Whether the matrix is periodic.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// Multiply: return the rows of A·x on this rank. Collective.
    ///
    /// # Shapes
    /// `x`: the rows of this rank × any number of columns. The number of columns is the same on all ranks.
    ///
    /// # Cost
    /// 6·`block` flops per row and column. A message of `block` numbers per column to each neighbour.
    ///
    /// # Errors
    /// `Shape`, `OutOfMemory`.
    pub fn apply(&self, x: &[T]) -> Result<Vec<T>, RankError> {
        let (n_rhs, mut y) = self.matrix.columns(("x", x), (false, Op::Plain), |_| zeroed(x.len()))?;
        self.matrix.apply_into(x, &mut y, n_rhs);
        Ok(y)
    }

    /// Factor the matrix by BCYCLIC, or by SPIKE if blocks have one row. Collective.
    ///
    /// # Errors
    /// As [`factor_by`](Self::factor_by).
    pub fn factor(&self) -> Result<DistributedFactors<T>, RankError> {
        self.factor_by(Method::Auto)
    }

    /// Factor the matrix by a chosen method over ranks. Collective.
    ///
    /// - `Auto`: `Spike` if blocks have one row, otherwise `Bcyclic`.
    /// - `Bcyclic`: block cyclic reduction. Each level eliminates every other block row and sends its Â and Ĉ to the ranks of
    ///   the two neighbouring rows, once.
    /// - `Spike` or `BlockSpike`: each rank factors its own block rows. All ranks solve the coarse system between them.
    /// - `SpikeTruncated`: as SPIKE. If the spikes decay, each pair of neighbours solves its part of the coarse system.
    ///
    /// # Cost
    /// BCYCLIC: 12⅔·block³ flops per block row, and ⌈log₂ N⌉ levels. In each level, a rank sends at most two messages of
    /// 2·block² numbers. SPIKE: the factors of the rows of each rank, and 2·block solves with them; one gather of 4·block²
    /// numbers per rank; a coarse system with 2·block unknowns per rank, which each rank factors.
    ///
    /// # Errors
    /// `Unsupported` for other methods; `OutOfMemory`. Singular diagonal blocks, or singular rows of one rank, are no error:
    /// [`DistributedFactors::solve`] then uses the pivoted method.
    ///
    /// # Source
    /// Lamas Daviña, Román (2018), Algorithms 1 to 3; `docs/math/bcyclic-on-ranks.md`.
    pub fn factor_by(&self, method: Method) -> Result<DistributedFactors<T>, RankError> {
        let method = match method {
            Method::Auto if self.block() == 1 => Method::Spike,
            Method::Auto => Method::Bcyclic,
            other => other,
        };
        match method {
            Method::Bcyclic => self.factor_bcyclic(false),
            Method::Spike | Method::BlockSpike => self.factor_by_spike(method, RankCoarse::Auto),
            Method::SpikeTruncated => self.factor_spike(RankCoarse::Truncated),
            _ => agree(self.ranks(), Err(Error::Unsupported { method: method.name(), what: "systems over ranks" })),
        }
    }

    /// Factor the matrix by SPIKE, with a chosen method for the coarse system. Collective.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn factor_spike(&self, coarse: RankCoarse) -> Result<DistributedFactors<T>, RankError> {
        self.factor_by_spike(if self.block() == 1 { Method::Spike } else { Method::BlockSpike }, coarse)
    }

    fn factor_by_spike(&self, method: Method, coarse: RankCoarse) -> Result<DistributedFactors<T>, RankError> {
        let solver = RankSpike::factor(&self.matrix, coarse)?;
        let reasons = [
            "block tridiagonal matrix over ranks",
            "block tridiagonal matrix over ranks, coarse system by BCYCLIC",
            "block tridiagonal matrix over ranks, spikes decay, coarse system in pairs of ranks",
        ];
        let method = solver.method(method, reasons);
        Ok(DistributedFactors::new(self.matrix.clone(), Box::new(solver), method))
    }

    pub(crate) fn matrix(&self) -> &DistributedMatrix<T> {
        &self.matrix
    }

    /// Factor the matrix by BCYCLIC with inverses of the eliminated diagonal blocks instead of LU factors. Collective.
    ///
    /// ```text
    /// Âₑ = Dₑ⁻¹·Aₑ,   Ĉₑ = Dₑ⁻¹·Cₑ
    /// ```
    ///
    /// # Cost
    /// 14⅔·block³ flops per block row instead of 12⅔·block³. Messages and bytes are the same. Solves multiply by Dₑ⁻¹ and need
    /// no triangular solves.
    ///
    /// # Errors
    /// `OutOfMemory`. A singular diagonal block is no error: [`DistributedFactors::solve`] then uses the pivoted method. A
    /// nearly singular block increases the backward error, which starts refinement or the pivoted method.
    ///
    /// # Source
    /// Lamas Daviña, Román (2018).
    pub fn factor_by_inverses(&self) -> Result<DistributedFactors<T>, RankError> {
        self.factor_bcyclic(true)
    }

    fn factor_bcyclic(&self, invert: bool) -> Result<DistributedFactors<T>, RankError> {
        let how = (self.block(), self.periodic, invert);
        let solver = RankBcyclic::factor(self.ranks(), &self.ranges, self.chain(), how)?;
        let reason = if invert {
            "block tridiagonal matrix over ranks, inverses of diagonal blocks"
        } else {
            "block tridiagonal matrix over ranks"
        };
        Ok(DistributedFactors::new(self.matrix.clone(), Box::new(solver), (Method::Bcyclic, reason)))
    }

    /// Create the matrix A − σB; B = I if `b` is `None`. Collective.
    ///
    /// # Errors
    /// `Shape` if B is not distributed as A; `NotFinite`.
    pub fn shifted(&self, sigma: T, b: Option<&Self>) -> Result<Self, RankError> {
        let spread = |a: &Self| (a.block(), a.periodic, a.ranges.clone());
        let same = b.is_none_or(|b| spread(b) == spread(self));
        let got = b.map_or(0, |b| b.ranges.rows());
        let same = if same { Ok(()) } else { Err(Error::Shape { what: "block", expected: self.ranges.rows(), got }) };
        let options = [sigma.re().to_f64().to_bits(), sigma.im().to_f64().to_bits(), u64::from(b.is_some())];
        let shifted = agree_alike(self.ranks(), same.and_then(|()| self.subtracted(sigma, b)), options)?;
        Self::build(self.ranks(), self.block(), shifted.each_ref().map(Vec::as_slice), self.periodic)
    }

    /// Compute the blocks of A − σB on this rank.
    fn subtracted(&self, sigma: T, b: Option<&Self>) -> bandsolve::Result<[Vec<T>; 3]> {
        let array = |k: usize| match b {
            Some(b) => collected(
                b.local_array(k).len(),
                self.local_array(k).iter().zip(b.local_array(k)).map(|(a, b)| *a - sigma * *b),
            ),
            None => copied(self.local_array(k)),
        };
        let mut shifted = [array(0)?, array(1)?, array(2)?];
        if b.is_none() {
            for block in shifted[1].chunks_exact_mut(self.block().pow(2)) {
                block.iter_mut().step_by(self.block() + 1).for_each(|diag| *diag -= sigma);
            }
        }
        Ok(shifted)
    }

    /// Get the blocks of `sub`, `diag` or `sup` on this rank.
    pub(crate) fn local_array(&self, k: usize) -> &[T] {
        let (square, rows) = (self.block().pow(2), self.ranges.range(self.ranks().rank()).len());
        &self.rows.arrays()[k][square..][..rows * square]
    }

    /// Scale the block rows of this rank: multiply each row by the power of two that brings its largest entry into [2, 4). Return also the powers.
    fn chain(&self) -> bandsolve::Result<ScaledChain<T>> {
        let (b, square) = (self.block(), self.block().pow(2));
        let local = self.ranges.range(self.ranks().rank());
        let (mut all, mut chain) = (reserved(local.len() * b)?, reserved(local.len())?);
        for (i, row) in local.enumerate() {
            let blocks = self.rows.arrays().map(|array| &array[(i + 1) * square..][..square]);
            let mut scale = vec![T::Real::ZERO; b];
            for column in blocks.iter().flat_map(|block| block.chunks_exact(b)) {
                scale.iter_mut().zip(column).for_each(|(s, v)| *s = if peak(*v) > *s { peak(*v) } else { *s });
            }
            scale.iter_mut().for_each(|s| *s = s.equilibrate());
            let scaled = |block: &[T]| {
                let columns = block.chunks_exact(b);
                collected(square, columns.flat_map(|column| column.iter().zip(&scale).map(|(v, s)| v.scale(*s))))
            };
            let [left, diag, right] = blocks.map(scaled);
            all.extend_from_slice(&scale);
            let (first, last) = (row == 0, row + 1 == self.ranges.rows());
            chain.push(ChainRow {
                left: Some(left?).filter(|_| !first || self.periodic),
                diag: diag?,
                right: Some(right?).filter(|_| !last || self.periodic),
            });
        }
        Ok((chain, all))
    }
}

/// Check the arrays, and return the number of block rows.
fn checked<T: Scalar>(block: usize, [sub, diag, sup]: [&[T]; 3]) -> bandsolve::Result<usize> {
    if block == 0 {
        return Err(Error::invalid("block", "is 0", "the number of rows of a block, at least 1"));
    }
    let (square, len) = (block.saturating_mul(block), diag.len());
    for (what, expected, got) in
        [("diag", len.div_ceil(square) * square, len), ("sub", len, sub.len()), ("sup", len, sup.len())]
    {
        if expected != got {
            return Err(Error::Shape { what, expected, got });
        }
    }
    Ok(len / square)
}

/// Copy the rows of this rank between zero rows, from arrays of `len` numbers each. `ends` says whether to ignore the first block of `sub`, and the
/// last block of `sup`.
fn extended<T: Scalar>(
    (block, len): (usize, usize),
    [sub, diag, sup]: [impl Fn(usize) -> T; 3],
    ends: [bool; 2],
) -> bandsolve::Result<BlockTridiagonal<'static, T>> {
    let square = block.saturating_mul(block);
    let padded = |array: &dyn Fn(usize) -> T| {
        let mut padded = zeroed(len.saturating_add(square.saturating_mul(3)))?;
        padded[square..square + len].iter_mut().enumerate().for_each(|(k, v)| *v = array(k));
        Ok(padded)
    };
    let mut padded = [padded(&sub)?, padded(&diag)?, padded(&sup)?];
    if len > 0 && ends[0] {
        padded[0][square..2 * square].fill(T::ZERO);
    }
    if len > 0 && ends[1] {
        padded[2][len..len + square].fill(T::ZERO);
    }
    BlockTridiagonal::from_vecs(block, padded, false)
}

/// Return an error if an entry is not finite, with the index in the caller's array.
fn finite<T: Scalar>(rows: &BlockTridiagonal<'_, T>, block: usize) -> bandsolve::Result<()> {
    rows.check_finite().map_err(|error| match error {
        Error::NotFinite { array, index } => Error::NotFinite { array, index: index - block * block },
        other => other,
    })
}
