//! Counts of eigenvalues over ranks, by the inertia of A − σB.
//!
//! Each rank eliminates its block rows except the last. One of two neighbours joins the remaining rows of both and eliminates the block
//! between them, and so on in pairs, as a tree. By Haynsworth's formula, the negative pivots add up.

use crate::agreement::{RankError, agree, agree_alike, agree_and_tell};
use crate::blocks::DistributedBlocks;
use crate::ranges::RankRanges;
use crate::ranks::{Expected, Ranks, Sent, collected};
use bandsolve::{Error, RealScalar, Result, Scalar};
use bandsolve_eigen::distributed::{InertiaPart, InertiaRows};
use bandsolve_kernel::exact::ScaledNorm;
use core::ops::Range;

/// Message tags: the sizes of a part, and its matrix.
const TAGS: [i32; 2] = [50, 51];

/// Minimum number of rows to eliminate at the same time, because fronts with few rows are slow.
const LEAST_STEP: usize = 8;

impl<T: Scalar> DistributedBlocks<T> {
    /// Count the eigenvalues of A·x = λ·x, or of A·x = λ·B·x with a definite B, below a shift σ. Collective.
    ///
    /// The count is the number of negative pivots of A − σB = L·D·Lᴴ, and is the same on all ranks. Each rank eliminates its
    /// block rows except the last, by dense fronts with pivots of one and two columns. The last block of the rank before
    /// remains in these fronts. Pairs of ranks, in a tree, eliminate the columns without a pivot and the blocks between the
    /// ranks:
    ///
    /// ```text
    /// In(A − σB) = Σᵣ In(Dᵣ) + In(S)
    /// ```
    ///
    /// The count is exact for a matrix that differs from A − σB by rounding errors.
    ///
    /// # Shapes
    /// A and B are distributed in the same way. The function reads `sub` and `diag`.
    ///
    /// # Cost
    /// 19/3·K² flops per row for blocks of K ≥ 8 rows, then 19/3·K³ flops for each of at most ⌈log₂ p⌉ pairs. Two messages per
    /// rank, of 32 bytes and of (2K)² numbers, four gathers, and the gathers of [`shifted`](Self::shifted).
    ///
    /// # Errors
    /// `Shape` if B is not distributed as A; `NotFinite`; `Unsupported` for periodic matrices; `NotConverged` if numbers
    /// overflow.
    ///
    /// # Source
    /// E. V. Haynsworth, Linear Algebra Appl. 1 (1968); I. S. Duff, J. K. Reid, ACM Trans. Math. Softw. 9 (1983).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_mpi::{DistributedBlocks, RankRanges, on_threads};
    /// // λ = 2 − 2·cos(π·k/101)
    /// let counts = on_threads(3, |ranks| {
    ///     let rows = RankRanges::even(100, ranks.size()).range(ranks.rank()).len();
    ///     let a = DistributedBlocks::new(ranks, 1, [&vec![-1.0; rows], &vec![2.0; rows], &vec![-1.0; rows]])?;
    ///     a.eigenvalues_below(None, 2.0)
    /// });
    /// assert_eq!(counts, [Ok(50), Ok(50), Ok(50)]);
    /// ```
    pub fn eigenvalues_below(&self, b: Option<&Self>, shift: f64) -> Result<usize, RankError> {
        let refused = Error::Unsupported { method: "eigenvalues_below", what: "periodic matrices" };
        let possible = match () {
            () if self.is_periodic() => Err(refused),
            () if !shift.is_finite() => Err(Error::NotFinite { array: "shift", index: 0 }),
            () => Ok(()),
        };
        agree_alike(self.ranks(), possible, [shift.to_bits(), u64::from(b.is_some())])?;
        let shifted = self.shifted(T::from_real(T::Real::from_f64(shift)), b)?;
        // Scale the largest entry to approximately 1, so that no product overflows.
        let mut largest = [0, 1].map(|k| ScaledNorm::of(shifted.local_array(k)).plain);
        self.ranks().max(&mut largest);
        let largest = largest[0].max(largest[1]);
        let part = shifted.inertia(T::Real::from_f64(if largest > 0.0 { largest } else { 1.0 }).equilibrate());
        let ranks = self.ranks();
        let failed = Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 };
        let counted = joined(ranks, part).and_then(|whole| match whole {
            Some(whole) => whole.count()?.ok_or(failed),
            None => Ok(0),
        });
        let local_count = *counted.as_ref().unwrap_or(&0) as u64;
        let (_, counts) = agree_and_tell(ranks, counted, [local_count])?;
        Ok(counts[0] as usize)
    }

    /// Check that a Hermitian matrix is positive definite, by its count of eigenvalues below 0. Collective.
    ///
    /// A singular matrix without negative eigenvalues passes the check.
    ///
    /// # Cost
    /// One count; if the matrix is not definite, log₂ n more counts.
    ///
    /// # Errors
    /// `NotDefinite` with the row of the first leading minor that is not positive, counted from the first row of all ranks; the
    /// errors of [`eigenvalues_below`](Self::eigenvalues_below).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Error;
    /// use bandsolve_mpi::{DistributedBlocks, Ranks};
    /// let off = vec![0.0; 3];
    /// let a = DistributedBlocks::new(&Ranks::alone(), 1, [&off, &[2.0, -1.0, 2.0], &off])?;
    /// assert_eq!(a.check_definite().unwrap_err().error, Error::NotDefinite { row: 1 });
    /// # Ok::<(), bandsolve_mpi::RankError>(())
    /// ```
    pub fn check_definite(&self) -> Result<(), RankError> {
        if self.eigenvalues_below(None, 0.0)? == 0 {
            return Ok(());
        }
        // The leading matrix of `bad` rows has a negative eigenvalue, that of `good` rows has none.
        let (mut good, mut bad) = (0, self.ranges().rows() * self.block());
        while bad - good > 1 {
            let middle = good.midpoint(bad);
            let definite = self.leading(middle)?.eigenvalues_below(None, 0.0)? == 0;
            (good, bad) = if definite { (middle, bad) } else { (good, middle) };
        }
        agree(self.ranks(), Err(Error::NotDefinite { row: good }))
    }

    /// Create a matrix with the leading `rows` rows and columns of A, and with the identity in the other rows. Collective.
    fn leading(&self, rows: usize) -> Result<Self, RankError> {
        let (b, square) = (self.block(), self.block().pow(2));
        let first = self.ranges().range(self.ranks().rank()).start;
        let array = |k: usize| {
            let entry = |(at, v): (usize, &T)| {
                // The column is counted from the first column of the left block in row 0.
                let (row, column) = ((first + at / square) * b + at % b, (first + at / square + k) * b + at / b % b);
                match row < rows && column < rows + b {
                    true => *v,
                    false if k == 1 && row + b == column => T::ONE,
                    false => T::ZERO,
                }
            };
            collected(self.local_array(k).len(), self.local_array(k).iter().enumerate().map(entry))
        };
        let arrays = array(0).and_then(|sub| Ok([sub, array(1)?, array(2)?]));
        let arrays = agree(self.ranks(), arrays)?;
        Self::new(self.ranks(), b, arrays.each_ref().map(Vec::as_slice))
    }

    /// Get the numbers of block rows, 0 or 1, that remain: the last row of a rank, and the last row of the rank before.
    fn beside(&self, rank: usize) -> [usize; 2] {
        between(self.ranges(), self.ranges().range(rank))
    }

    /// Eliminate the inner rows of this rank, multiplied by `scale`, and return the remaining part. `scale` is the same power of two on all ranks.
    fn inertia(&self, scale: T::Real) -> Result<InertiaPart<T>> {
        let (b, square, me) = (self.block(), self.block().pow(2), self.ranks().rank());
        let [behind, before] = self.beside(me);
        let inner = self.ranges().range(me).len() - behind;
        let (sub, diag) = (self.local_array(0), self.local_array(1));
        let lower = |i: usize, j: usize| {
            // Block row 0 is the row before the first row of this rank.
            let [i, j] = [i, j].map(|i| i + (1 - before) * b);
            let (row, inside) = (i / b, i % b + j % b * b);
            match row - j / b {
                0 if row > 0 => diag[(row - 1) * square + inside].scale(scale),
                1 => sub[(row - 1) * square + inside].scale(scale),
                _ => T::ZERO,
            }
        };
        let entry = |i: usize, j: usize| if i < j { Scalar::conj(lower(j, i)) } else { lower(i, j) };
        let step = b * LEAST_STEP.div_ceil(b);
        InertiaPart::of_rows(InertiaRows { before: before * b, inner: inner * b, behind: behind * b, step }, &entry)
    }
}

/// Get the numbers of block rows, 0 or 1, that remain for a range of block rows: its last row, unless it is the last row of all ranks, and the row
/// before the range.
pub(crate) fn between(ranges: &RankRanges, rows: Range<usize>) -> [usize; 2] {
    let inside = |row: usize| usize::from(!rows.is_empty() && row > 0 && row < ranges.rows());
    [inside(rows.end), inside(rows.start)]
}

/// Join the parts of all ranks on rank 0, in pairs as a tree. Other ranks get `None`.
///
/// A rank that fails continues with the part of no rows, so that no rank waits forever, and returns its error at the end.
fn joined<T: Scalar>(ranks: &Ranks, part: Result<InertiaPart<T>>) -> Result<Option<InertiaPart<T>>> {
    let mut failure = Ok(());
    let mut or_nothing = |part: Result<InertiaPart<T>>| {
        part.unwrap_or_else(|error| {
            failure = Err(error);
            InertiaPart::nothing()
        })
    };
    let mut part = or_nothing(part);
    let (me, size) = (ranks.rank(), ranks.size());
    let mut step = 1;
    while step < size {
        if me % (2 * step) == step {
            let to = me - step;
            let header = [part.negatives, part.columns[0], part.columns[1], part.columns[2]].map(|count| count as u64);
            ranks.exchange(&[Sent { to, tag: TAGS[0], values: header.to_vec() }], &[]);
            ranks.exchange(&[Sent { to, tag: TAGS[1], values: part.matrix }], &[]);
            return failure.map(|()| None);
        }
        if me + step < size {
            let from = me + step;
            let header = ranks.exchange::<u64>(&[], &[Expected { from, tag: TAGS[0], len: 4 }]).remove(0);
            let [negatives, waiting, behind, before] = [0, 1, 2, 3].map(|k| header[k] as usize);
            let len = (waiting + behind + before).pow(2);
            let matrix = ranks.exchange(&[], &[Expected { from, tag: TAGS[1], len }]).remove(0);
            part = or_nothing(part.merge(InertiaPart { negatives, columns: [waiting, behind, before], matrix }));
        }
        step *= 2;
    }
    failure.map(|()| Some(part))
}
