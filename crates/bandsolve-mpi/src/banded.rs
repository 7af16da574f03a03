//! Banded matrices over ranks.

use crate::agreement::{RankError, agree};
use crate::coarse::RankCoarse;
use crate::factors::DistributedFactors;
use crate::halo::{Halo, extended_len};
use crate::matrix::{DistributedMatrix, OwnRows};
use crate::ranges::RankRanges;
use crate::ranks::{Ranks, collected};
use crate::spike::RankSpike;
use bandsolve::distributed::{error_of, residual_of};
use bandsolve::memory::{copied, zeroed};
use bandsolve::{Banded, Error, Factor, Inspect, Method, Op, Plan, RealScalar, Scalar};
use core::ops::Range;
use std::sync::Arc;

/// A banded matrix, distributed by rows over ranks.
///
/// # Shapes
/// `rows` contains lower + upper + 1 numbers for each of the m rows of this rank, from left to right:
///
/// ```text
/// A(i, j) = rows[(i − first)·(lower + upper + 1) + lower + j − i],   first: the first row of this rank
/// ```
///
/// The solver ignores entries left of the first column and right of the last column. Vectors are column-major with m rows.
///
/// # Examples
/// ```
/// use bandsolve_mpi::{DistributedBanded, Ranks};
/// // [4 1 0]
/// // [2 4 1]
/// // [0 2 4]
/// let a = DistributedBanded::new(&Ranks::alone(), (1, 1), &[0.0, 4.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 0.0])?;
/// let x = a.factor()?.solve(&[5.0, 7.0, 6.0])?;
/// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve_mpi::RankError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DistributedBanded<T: Scalar> {
    matrix: Arc<DistributedMatrix<T>>,
    lower: usize,
    upper: usize,
}

/// The rows of one rank between zero rows.
#[derive(Debug)]
struct LocalBands<T: Scalar> {
    matrix: Banded<'static, T>,
    /// The entries of the rows of this rank in the caller's order, with zeros outside the matrix.
    rows: Vec<T>,
}

impl<T: Scalar> OwnRows<T> for LocalBands<T> {
    fn entry(&self, i: usize, j: usize) -> T {
        self.matrix.get(i, j)
    }

    fn apply(&self, first: usize, x: &[T], y: &mut [T]) {
        let (lower, upper, (bands, leading)) = (self.matrix.lower(), self.matrix.upper(), self.matrix.storage());
        let columns = &bands[first * leading..(first + x.len()) * leading];
        let rows = Banded::with_leading(x.len(), lower, upper, leading, columns);
        rows.and_then(|rows| rows.apply_into(x, y)).expect("arrays of the same length");
    }

    fn error(&self, d: &[T], x: &[T]) -> f64 {
        error_of(&self.matrix, (d, x))
    }

    fn residual(&self, d: &[T], x: &[T], r: &mut [T]) -> f64 {
        residual_of(&self.matrix, (d, x), r)
    }

    fn transposed(&self, halos: &Halo) -> Result<bandsolve::Result<Box<dyn OwnRows<T>>>, RankError> {
        let (lower, upper) = (self.matrix.lower(), self.matrix.upper());
        let (wide, halo) = (lower + upper + 1, lower.max(upper));
        let halos = halos.wider(wide);
        let mut around = agree(halos.ranks(), zeroed(halos.len(1)))?;
        halos.fill_into(&self.rows, &mut around, 1);
        // Entry d of row i of Aᵀ is A(j, i) with j = i + d − upper.
        let entry = |k: usize| around[(halo + k / wide + k % wide - upper) * wide + lower + upper - k % wide];
        let local_rows = self.rows.len() / wide;
        let rows = collected(self.rows.len(), (0..self.rows.len()).map(entry));
        Ok(rows.and_then(|rows| {
            let matrix = from_rows((upper, lower), &[&rows], halo, extended_len(local_rows, halo) - local_rows)?;
            Ok(Box::new(Self { matrix, rows }) as _)
        }))
    }

    fn sum(&self, i: usize) -> f64 {
        let wide = self.matrix.lower() + self.matrix.upper() + 1;
        self.rows[i * wide..(i + 1) * wide].iter().map(|v| Scalar::abs(*v).to_f64()).sum()
    }

    fn entries(&self) -> bandsolve::Result<Vec<T>> {
        copied(&self.rows)
    }

    fn row_of(&self, k: usize) -> usize {
        k / (self.matrix.lower() + self.matrix.upper() + 1)
    }

    fn factor_whole(&self, entries: &[Vec<T>]) -> bandsolve::Result<Box<dyn Inspect<T>>> {
        let whole = from_rows((self.matrix.lower(), self.matrix.upper()), entries, 0, 0)?;
        Ok(Box::new(Plan::new(whole.shape()).method(Method::Pivoted).factor_owned(whole)?))
    }

    fn factor_part(&self, rows: Range<usize>, verify: bool) -> bandsolve::Result<Box<dyn Factor<T>>> {
        let (lower, upper, (bands, leading)) = (self.matrix.lower(), self.matrix.upper(), self.matrix.storage());
        let first = lower.max(upper) + rows.start;
        // These are columns of the extended matrix. The factorization ignores entries outside these rows.
        let bands = copied(&bands[first * leading..(first + rows.len()) * leading])?;
        let part = Banded::from_vec(rows.len(), lower, upper, bands)?;
        Ok(Box::new(Plan::new(part.shape()).verify(verify).factor_owned(part)?))
    }
}

/// Create a square banded matrix from parts with whole rows, after `before` zero rows. `more` is the total number of zero rows. The matrix omits
/// entries outside its columns.
fn from_rows<T: Scalar>(
    (lower, upper): (usize, usize),
    parts: &[impl AsRef<[T]>],
    before: usize,
    more: usize,
) -> bandsolve::Result<Banded<'static, T>> {
    let wide = lower + upper + 1;
    let n = parts.iter().map(|rows| rows.as_ref().len()).sum::<usize>() / wide + more;
    let mut bands = zeroed(n.saturating_mul(wide))?;
    for (i, row) in parts.iter().flat_map(|rows| rows.as_ref().chunks_exact(wide)).enumerate() {
        let i = i + before;
        for (d, v) in row.iter().enumerate().filter(|(d, _)| (lower..n + lower).contains(&(i + d))) {
            let j = i + d - lower;
            bands[j * wide + upper + i - j] = *v;
        }
    }
    Banded::from_vec(n, lower, upper, bands)
}

impl<T: Scalar> DistributedBanded<T> {
    /// Create the matrix with `bandwidths` (lower, upper) from the rows of this rank. The rows are copied. Collective.
    ///
    /// # Errors
    /// `Shape` if the length of `rows` is not a multiple of lower + upper + 1, or if bandwidths differ between ranks;
    /// `NotFinite`.
    pub fn new(ranks: &Ranks, bandwidths: (usize, usize), rows: &[T]) -> Result<Self, RankError> {
        let (lower, upper) = bandwidths;
        let (wide, len) = (lower.saturating_add(upper).saturating_add(1), rows.len());
        let expected = len.div_ceil(wide) * wide;
        let whole = if len == expected { Ok(()) } else { Err(Error::Shape { what: "bands", expected, got: len }) };
        agree(ranks, whole)?;
        let all = ranks.all_gather(&[lower as u64, upper as u64, (len / wide) as u64]);
        let (all, _) = all.as_chunks::<3>();
        let first = (all[0][0] + all[0][1]) as usize + 1;
        let same = all[0][..2] == [lower as u64, upper as u64];
        let same = if same { Ok(()) } else { Err(Error::Shape { what: "bands", expected: first, got: wide }) };
        agree(ranks, same)?;
        let ranges = RankRanges::of_counts(all.iter().map(|[.., count]| *count as usize));
        let (local, n, halo) = (ranges.range(ranks.rank()), ranges.rows(), lower.max(upper));
        let inside = |i: usize, d: usize| (lower..n + lower).contains(&(local.start + i + d));
        let entry = |k: usize| if inside(k / wide, k % wide) { rows[k] } else { T::ZERO };
        let local_bands = || {
            let rows = collected(len, (0..len).map(entry))?;
            if let Some(index) = rows.iter().position(|v| !Scalar::is_finite(*v)) {
                return Err(Error::NotFinite { array: "bands", index });
            }
            let more = extended_len(local.len(), halo) - local.len();
            Ok(LocalBands { matrix: from_rows((lower, upper), &[&rows], halo, more)?, rows })
        };
        let boxed = Box::new(agree(ranks, local_bands())?);
        let matrix = Arc::new(DistributedMatrix::new(ranks.clone(), ranges, (halo, false), boxed));
        Ok(Self { matrix, lower, upper })
    }

    pub(crate) fn matrix(&self) -> &DistributedMatrix<T> {
        &self.matrix
    }

    /// Get the number of diagonals below and above the main diagonal.
    pub fn bandwidths(&self) -> (usize, usize) {
        (self.lower, self.upper)
    }

    /// Get the rows of each rank.
    pub fn ranges(&self) -> &RankRanges {
        &self.matrix.ranges
    }

    /// Multiply: return the rows of A·x on this rank. Collective.
    ///
    /// # Shapes
    /// `x`: the rows of this rank × any number of columns. The number of columns is the same on all ranks.
    ///
    /// # Errors
    /// `Shape`, `OutOfMemory`.
    pub fn apply(&self, x: &[T]) -> Result<Vec<T>, RankError> {
        let (n_rhs, mut y) = self.matrix.columns(("x", x), (false, Op::Plain), |_| zeroed(x.len()))?;
        self.matrix.apply_into(x, &mut y, n_rhs);
        Ok(y)
    }

    /// Factor the matrix by SPIKE. Collective.
    ///
    /// # Cost
    /// The factors of the rows of each rank, and 2k solves with them, where k is the larger bandwidth. The coarse system has 2k
    /// unknowns per rank. Up to 1024 unknowns it is gathered: 4k² numbers per rank, and 2k numbers per right-hand side in each
    /// solve. Larger coarse systems are solved by BCYCLIC.
    ///
    /// # Errors
    /// `OutOfMemory`. If the rows of one rank are singular, [`DistributedFactors::solve`] uses the pivoted method.
    pub fn factor(&self) -> Result<DistributedFactors<T>, RankError> {
        self.factor_spike(RankCoarse::Auto)
    }

    /// Factor the matrix by a chosen method over ranks: `Spike` or `SpikeTruncated`. Collective.
    ///
    /// With `SpikeTruncated`, each pair of neighbours solves its part of the coarse system if the spikes decay.
    ///
    /// # Errors
    /// `Unsupported` for other methods; `OutOfMemory`.
    pub fn factor_by(&self, method: Method) -> Result<DistributedFactors<T>, RankError> {
        match method {
            Method::Auto | Method::Spike => self.factor(),
            Method::SpikeTruncated => self.factor_spike(RankCoarse::Truncated),
            _ => {
                agree(&self.matrix.ranks, Err(Error::Unsupported { method: method.name(), what: "systems over ranks" }))
            }
        }
    }

    /// Factor the matrix by SPIKE, with a chosen method for the coarse system. Collective.
    ///
    /// # Errors
    /// As [`factor`](Self::factor).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Method;
    /// use bandsolve_mpi::{DistributedBanded, RankCoarse, on_threads};
    /// let methods = on_threads(3, |ranks| {
    ///     // The spikes of this matrix decay by a factor of approximately 4 per row.
    ///     let a = DistributedBanded::new(ranks, (1, 1), &[1.0, 4.0, 1.0].repeat(100))?;
    ///     Ok::<_, bandsolve_mpi::RankError>(a.factor_spike(RankCoarse::Truncated)?.method())
    /// });
    /// assert_eq!(methods[0], Ok(Method::SpikeTruncated));
    /// ```
    pub fn factor_spike(&self, coarse: RankCoarse) -> Result<DistributedFactors<T>, RankError> {
        let solver = RankSpike::factor(&self.matrix, coarse)?;
        let reasons = [
            "banded matrix over ranks",
            "banded matrix over ranks, coarse system by BCYCLIC",
            "banded matrix over ranks, spikes decay, coarse system in pairs of ranks",
        ];
        let method = solver.method(Method::Spike, reasons);
        Ok(DistributedFactors::new(self.matrix.clone(), Box::new(solver), method))
    }
}
