//! The matrices of a batch over ranks: construction, products and factorization.

use super::factors::DistributedBatchFactors;
use super::rows::{BatchRows, agreed_columns, by_rows, turn_into};
use crate::agreement::{RankError, agree, alike};
use crate::factors::conjugate_for;
use crate::halo::Halo;
use crate::ranges::RankRanges;
use crate::ranks::Ranks;
use bandsolve::memory::{reserved, zeroed};
use bandsolve::{Error, Layout, Op, Scalar};
use std::sync::{Arc, OnceLock};

/// Many tridiagonal matrices of the same size, open or periodic, distributed by rows over ranks.
///
/// ```text
/// sub[i]·x[i−1] + diag[i]·x[i] + sup[i]·x[i+1] = rhs[i],   in each system
/// ```
///
/// # Shapes
/// `sub`, `diag`, `sup` and each column of vectors contain the m rows of this rank of all `count` systems. Row i of system s is
/// at i·count + s with [`Layout::Interleaved`], and at s·m + i with [`Layout::Contiguous`]. m may differ between ranks, and may
/// be 0. `count` is the same on all ranks. In open matrices, the solver ignores `sub` of the first row of all ranks, and `sup`
/// of the last row. In periodic matrices they are the corner entries.
///
/// # Examples
/// ```
/// use bandsolve::Layout;
/// use bandsolve_mpi::{DistributedBatch, RankRanges, on_threads};
/// // 1000 systems of 300 rows over three ranks, row by row.
/// let (n, count) = (300, 1000);
/// let errors = on_threads(3, |ranks| {
///     let len = RankRanges::even(n, ranks.size()).range(ranks.rank()).len() * count;
///     let (off, diag) = (vec![-1.0; len], vec![2.5; len]);
///     let a = DistributedBatch::new(ranks, (count, Layout::Interleaved), [&off, &diag, &off])?;
///     let factors = a.factor()?;
///     let mut x = vec![1.0; len];
///     Ok::<f64, bandsolve_mpi::RankError>(factors.solve_in_place(&mut x)?.backward_error)
/// });
/// assert!(errors.into_iter().all(|error| error.unwrap() <= 8.0 * f64::EPSILON));
/// ```
#[derive(Debug, Clone)]
pub struct DistributedBatch<T: Scalar> {
    rows: Arc<BatchRows<T>>,
    layout: Layout,
}

impl<T: Scalar> DistributedBatch<T> {
    /// Create open matrices from `[sub, diag, sup]` of the rows of this rank of all systems. The arrays are copied. Collective.
    ///
    /// `systems` is the number of systems and the memory layout.
    ///
    /// # Errors
    /// `Shape` if the lengths of the arrays differ, or if the number of systems differs between ranks; `NotFinite`.
    pub fn new(ranks: &Ranks, systems: (usize, Layout), arrays: [&[T]; 3]) -> Result<Self, RankError> {
        Self::build(ranks, systems, arrays, false)
    }

    /// Create periodic matrices from `[sub, diag, sup]` of the rows of this rank of all systems. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn periodic(ranks: &Ranks, systems: (usize, Layout), arrays: [&[T]; 3]) -> Result<Self, RankError> {
        Self::build(ranks, systems, arrays, true)
    }

    fn build(
        ranks: &Ranks,
        (count, layout): (usize, Layout),
        arrays: [&[T]; 3],
        periodic: bool,
    ) -> Result<Self, RankError> {
        let local_rows = agree(ranks, checked(count, arrays))?;
        let all = ranks.all_gather(&[count as u64, local_rows as u64 * 2 + u64::from(periodic)]);
        let (all, _) = all.as_chunks::<2>();
        let first = all[0][0] as usize;
        let same =
            if count == first { Ok(()) } else { Err(Error::Shape { what: "systems", expected: first, got: count }) };
        agree(ranks, same)?;
        alike(all.iter().position(|[_, code]| code % 2 != all[0][1] % 2))?;
        let ranges = RankRanges::of_counts(all.iter().map(|[_, code]| *code as usize / 2));
        let rows = ranges.range(ranks.rank());
        let by_rows = |array: &[T]| by_rows(array, local_rows, count, layout);
        let local_arrays = || {
            let mut arrays = [by_rows(arrays[0])?, by_rows(arrays[1])?, by_rows(arrays[2])?];
            if !periodic && local_rows > 0 {
                let last = (local_rows - 1) * count;
                if rows.start == 0 {
                    arrays[0][..count].fill(T::ZERO);
                }
                if rows.end == ranges.rows() {
                    arrays[2][last..].fill(T::ZERO);
                }
            }
            finite(&arrays, (local_rows, count), layout).map(|()| arrays)
        };
        let arrays = agree(ranks, local_arrays())?;
        let numbers = RankRanges::of_counts((0..ranks.size()).map(|rank| ranges.range(rank).len() * count));
        let halos = Halo::new(ranks.clone(), numbers, (count, periodic));
        let rows = BatchRows { ranks: ranks.clone(), ranges, count, halos, arrays, transposed: OnceLock::new() };
        Ok(Self { rows: Arc::new(rows), layout })
    }

    /// Get the number of systems.
    pub fn count(&self) -> usize {
        self.rows.count
    }

    /// Get the memory layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Get the rows of each rank, the same for each system.
    pub fn ranges(&self) -> &RankRanges {
        &self.rows.ranges
    }

    /// Get the ranks.
    pub fn ranks(&self) -> &Ranks {
        &self.rows.ranks
    }

    /// Whether the matrices are periodic.
    pub fn is_periodic(&self) -> bool {
        self.rows.periodic()
    }

    /// Multiply: return the rows of A·x of all systems on this rank. Collective.
    ///
    /// # Shapes
    /// `x`: any number of columns, the same on all ranks, in the layout of the batch. The result has the same shape.
    ///
    /// # Cost
    /// 5 flops per row, system and column. A message of `count` numbers per column to each neighbour.
    ///
    /// # Errors
    /// `Shape`.
    pub fn apply(&self, x: &[T]) -> Result<Vec<T>, RankError> {
        self.apply_op(Op::Plain, x)
    }

    /// Multiply: return the rows of op(A)·x of all systems on this rank. Collective.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_op(&self, op: Op, x: &[T]) -> Result<Vec<T>, RankError> {
        let (rows, count) = (&*self.rows, self.rows.count);
        let (local_rows, column) = (rows.local_rows(), rows.local_rows() * count);
        let (n_columns, (mut x, around, mut y, mut turned)) = agreed_columns(rows, ("x", x), op, |n_columns| {
            let turned = if self.layout == Layout::Interleaved { 0 } else { x.len() };
            let around = zeroed(rows.halos.len(n_columns))?;
            Ok((by_rows(x, local_rows, count, self.layout)?, around, reserved(x.len())?, zeroed(turned)?))
        })?;
        conjugate_for(op, &mut x);
        let [sub, diag, sup] = rows.arrays(op != Op::Plain)?;
        let mut around = if local_rows == 0 { rows.ranks.room(rows.halos.len(n_columns)) } else { around };
        rows.halos.fill_into(&x, &mut around, n_columns);
        for x in around.chunks_exact(column + 3 * count.max(1)).filter(|_| column > 0) {
            let row = |k: usize| sub[k] * x[k] + diag[k] * x[k + count] + sup[k] * x[k + 2 * count];
            y.extend((0..column).map(row));
        }
        conjugate_for(op, &mut y);
        if self.layout == Layout::Interleaved {
            return Ok(y);
        }
        turn_into(&y, (local_rows, count), &mut turned);
        Ok(turned)
    }

    /// Check an array and agree on its number of columns. Return the number with the result of `prepare` for it. Collective.
    pub(crate) fn columns<V>(
        &self,
        array: (&'static str, &[T]),
        prepare: impl FnOnce(usize) -> bandsolve::Result<V>,
    ) -> Result<(usize, V), RankError> {
        agreed_columns(&self.rows, array, Op::Plain, prepare)
    }

    /// Factor all systems. Collective.
    ///
    /// # Cost
    /// Approximately 16 flops per row and system. One all-to-all exchange: a message of 6·count/p numbers to each of the p
    /// ranks. The factors store 4 numbers per row and system, in addition to the matrix.
    ///
    /// # Errors
    /// `OutOfMemory`. Systems that need row exchanges in the inner rows of a rank are no error: solves then use the pivoted
    /// method.
    ///
    /// # Source
    /// Kim et al. (2021); `docs/math/batches-on-ranks.md`.
    pub fn factor(&self) -> Result<DistributedBatchFactors<T>, RankError> {
        DistributedBatchFactors::new(self.rows.clone(), self.layout)
    }
}

/// Check the arrays, and return the number of rows of a system on this rank.
fn checked<T: Scalar>(count: usize, [sub, diag, sup]: [&[T]; 3]) -> bandsolve::Result<usize> {
    let len = diag.len();
    let rows = len.checked_div(count).unwrap_or(0);
    for (what, expected, got) in [("diag", rows * count, len), ("sub", len, sub.len()), ("sup", len, sup.len())] {
        if expected != got {
            return Err(Error::Shape { what, expected, got });
        }
    }
    Ok(rows)
}

/// Return an error if an entry is not finite, with the index in the caller's array.
fn finite<T: Scalar>(
    arrays: &[Vec<T>; 3],
    (local_rows, count): (usize, usize),
    layout: Layout,
) -> bandsolve::Result<()> {
    let place = |k: usize| if layout == Layout::Interleaved { k } else { k % count * local_rows + k / count };
    for (array, values) in ["sub", "diag", "sup"].into_iter().zip(arrays) {
        if let Some(k) = values.iter().position(|v| !Scalar::is_finite(*v)) {
            return Err(Error::NotFinite { array, index: place(k) });
        }
    }
    Ok(())
}
