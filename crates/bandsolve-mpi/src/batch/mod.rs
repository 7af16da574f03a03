//! Many tridiagonal systems of the same size, distributed by rows over ranks.
//!
//! Each rank eliminates its inner rows of every system ([`inner`]). Two rows per system and rank remain: the interface systems. One
//! all-to-all exchange gives each rank whole interface systems of a part of the batch, which it solves with the batch solver
//! ([`interface`]). A second exchange returns the interface unknowns, and each rank substitutes.
//!
//! Source: K.-H. Kim, J.-H. Kang, X. Pan, J.-I. Choi, Comput. Phys. Commun. 260 (2021) (PaScaL_TDMA), with the interface rows as Schur
//! complements. The source does not contain the periodic interface systems, transposes and verification.

mod factors;
mod inner;
mod interface;
mod measure;
mod model;
mod repair;

pub use factors::DistributedBatchFactors;
pub use model::BatchCostModel;

use crate::agreement::{OwnColumns, RankError, agree, alike};
use crate::factors::conjugate_for;
use crate::halo::Halo;
use crate::ranges::RankRanges;
use crate::ranks::Ranks;
use bandsolve::memory::{collected, copied, reserved, zeroed};
use bandsolve::{Error, Layout, Op, RealScalar, Scalar};
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

/// The rows of this rank of all systems, row by row: row i of system s is at i·count + s.
#[derive(Debug)]
struct BatchRows<T: Scalar> {
    ranks: Ranks,
    ranges: RankRanges,
    count: usize,
    halos: Halo,
    arrays: [Vec<T>; 3],
    /// The arrays of the transposed matrices, after their first use.
    transposed: OnceLock<[Vec<T>; 3]>,
}

impl<T: Scalar> BatchRows<T> {
    /// Get the number of rows of a system on this rank.
    fn own(&self) -> usize {
        self.ranges.range(self.ranks.rank()).len()
    }

    fn periodic(&self) -> bool {
        self.halos.ring
    }

    /// Compute Σⱼ|aᵢⱼ| of the rows of this rank.
    fn sums(&self) -> bandsolve::Result<Vec<f64>> {
        let [sub, diag, sup] = &self.arrays;
        let sum = |k: usize| [sub[k], diag[k], sup[k]].map(|v| Scalar::abs(v).to_f64()).iter().sum();
        collected((0..diag.len()).map(sum))
    }

    /// Get sub, diag and sup of the matrices, or of their transposes. The first call for the transposes creates them. Collective.
    fn arrays(&self, transposed: bool) -> Result<&[Vec<T>; 3], RankError> {
        if !transposed {
            return Ok(&self.arrays);
        }
        if self.transposed.get().is_none() {
            let [sub, diag, sup] = &self.arrays;
            let [mut below, mut above] = self.halos.fill_both([sup, sub])?;
            // The entries of Aᵀ come from the rows above and below.
            let first = (2 * self.count).min(above.len());
            above.copy_within(first.., 0);
            below.truncate(diag.len());
            above.truncate(diag.len());
            let diag = agree(&self.ranks, copied(diag))?;
            _ = self.transposed.set([below, diag, above]);
        }
        Ok(self.made_arrays(transposed))
    }

    /// Get the arrays, which must exist.
    fn made_arrays(&self, transposed: bool) -> &[Vec<T>; 3] {
        if transposed { self.transposed.get().expect("created on all ranks") } else { &self.arrays }
    }
}

/// Copy an array in the layout of the caller to row by row storage.
fn by_rows<T: Scalar>(values: &[T], rows: usize, count: usize, layout: Layout) -> bandsolve::Result<Vec<T>> {
    if layout == Layout::Interleaved { copied(values) } else { turned(values, (count, rows)) }
}

/// Transpose consecutive arrays of `outer` rows with `inner` numbers.
fn turned<T: Scalar>(values: &[T], shape: (usize, usize)) -> bandsolve::Result<Vec<T>> {
    let mut turned = zeroed(values.len())?;
    turn_into(values, shape, &mut turned);
    Ok(turned)
}

/// Transpose as [`turned`], to an existing array.
fn turn_into<T: Scalar>(values: &[T], (outer, inner): (usize, usize), turned: &mut [T]) {
    /// Number of rows and columns of a part that stays in the first-level cache.
    const PART: usize = 16;
    let len = (outer * inner).max(1);
    for (to, from) in turned.chunks_exact_mut(len).zip(values.chunks_exact(len)) {
        for first in (0..outer).step_by(PART) {
            let last = (first + PART).min(outer);
            for (i, to) in to.chunks_exact_mut(outer).enumerate() {
                (first..last).for_each(|k| to[k] = from[k * inner + i]);
            }
        }
    }
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
        let own = agree(ranks, checked(count, arrays))?;
        let all = ranks.all_gather(&[count as u64, own as u64 * 2 + u64::from(periodic)]);
        let (all, _) = all.as_chunks::<2>();
        let first = all[0][0] as usize;
        let same =
            if count == first { Ok(()) } else { Err(Error::Shape { what: "systems", expected: first, got: count }) };
        agree(ranks, same)?;
        alike(all.iter().position(|[_, told]| told % 2 != all[0][1] % 2))?;
        let ranges = RankRanges::of_counts(all.iter().map(|[_, told]| *told as usize / 2));
        let rows = ranges.range(ranks.rank());
        let by_rows = |array: &[T]| by_rows(array, own, count, layout);
        let own_rows = || {
            let mut arrays = [by_rows(arrays[0])?, by_rows(arrays[1])?, by_rows(arrays[2])?];
            if !periodic && own > 0 {
                let last = (own - 1) * count;
                if rows.start == 0 {
                    arrays[0][..count].fill(T::ZERO);
                }
                if rows.end == ranges.rows() {
                    arrays[2][last..].fill(T::ZERO);
                }
            }
            finite(&arrays, (own, count), layout).map(|()| arrays)
        };
        let arrays = agree(ranks, own_rows())?;
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
        let (own, column) = (rows.own(), rows.own() * count);
        let (n_columns, (mut x, around, mut y, mut turned)) = agreed_columns(rows, ("x", x), op, |n_columns| {
            let turned = if self.layout == Layout::Interleaved { 0 } else { x.len() };
            let around = zeroed(rows.halos.len(n_columns))?;
            Ok((by_rows(x, own, count, self.layout)?, around, reserved(x.len())?, zeroed(turned)?))
        })?;
        conjugate_for(op, &mut x);
        let [sub, diag, sup] = rows.arrays(op != Op::Plain)?;
        let mut around = if own == 0 { rows.ranks.room(rows.halos.len(n_columns)) } else { around };
        rows.halos.fill_into(&x, &mut around, n_columns);
        for x in around.chunks_exact(column + 3 * count.max(1)).filter(|_| column > 0) {
            let row = |k: usize| sub[k] * x[k] + diag[k] * x[k + count] + sup[k] * x[k + 2 * count];
            y.extend((0..column).map(row));
        }
        conjugate_for(op, &mut y);
        if self.layout == Layout::Interleaved {
            return Ok(y);
        }
        turn_into(&y, (own, count), &mut turned);
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

/// Check an array and agree on its number of columns. Return the number with the result of `prepare` for it. Collective.
fn agreed_columns<T: Scalar, V>(
    rows: &BatchRows<T>,
    (name, values): (&'static str, &[T]),
    op: Op,
    prepare: impl FnOnce(usize) -> bandsolve::Result<V>,
) -> Result<(usize, V), RankError> {
    let len_of = |rank: usize| rows.ranges.range(rank).len() * rows.count;
    OwnColumns { name, values, len_of: &len_of, finite: true, option: op as u64 }.agree(&rows.ranks, prepare)
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
fn finite<T: Scalar>(arrays: &[Vec<T>; 3], (own, count): (usize, usize), layout: Layout) -> bandsolve::Result<()> {
    let place = |k: usize| if layout == Layout::Interleaved { k } else { k % count * own + k / count };
    for (array, values) in ["sub", "diag", "sup"].into_iter().zip(arrays) {
        if let Some(k) = values.iter().position(|v| !Scalar::is_finite(*v)) {
            return Err(Error::NotFinite { array, index: place(k) });
        }
    }
    Ok(())
}
