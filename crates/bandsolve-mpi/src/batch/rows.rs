//! The rows of this rank of all systems of a batch, and the layouts of the caller.

use crate::agreement::{LocalColumns, RankError, agree};
use crate::halo::Halo;
use crate::ranges::RankRanges;
use crate::ranks::Ranks;
use bandsolve::memory::{collected, copied, zeroed};
use bandsolve::{Layout, Op, RealScalar, Scalar};
use std::sync::OnceLock;

/// The rows of this rank of all systems, row by row: row i of system s is at i·count + s.
#[derive(Debug)]
pub(super) struct BatchRows<T: Scalar> {
    pub ranks: Ranks,
    pub ranges: RankRanges,
    pub count: usize,
    pub halos: Halo,
    pub arrays: [Vec<T>; 3],
    /// The arrays of the transposed matrices, after their first use.
    pub transposed: OnceLock<[Vec<T>; 3]>,
}

impl<T: Scalar> BatchRows<T> {
    /// Get the number of rows of a system on this rank.
    pub fn local_rows(&self) -> usize {
        self.ranges.range(self.ranks.rank()).len()
    }

    pub fn periodic(&self) -> bool {
        self.halos.ring
    }

    /// Compute Σⱼ|aᵢⱼ| of the rows of this rank.
    pub fn sums(&self) -> bandsolve::Result<Vec<f64>> {
        let [sub, diag, sup] = &self.arrays;
        let sum = |k: usize| [sub[k], diag[k], sup[k]].map(|v| Scalar::abs(v).to_f64()).iter().sum();
        collected((0..diag.len()).map(sum))
    }

    /// Get sub, diag and sup of the matrices, or of their transposes. The first call for the transposes creates them. Collective.
    pub fn arrays(&self, transposed: bool) -> Result<&[Vec<T>; 3], RankError> {
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
        Ok(self.existing_arrays(transposed))
    }

    /// Get the arrays, which must exist.
    pub fn existing_arrays(&self, transposed: bool) -> &[Vec<T>; 3] {
        if transposed { self.transposed.get().expect("created on all ranks") } else { &self.arrays }
    }
}

/// Copy an array in the layout of the caller to row by row storage.
pub(super) fn by_rows<T: Scalar>(values: &[T], rows: usize, count: usize, layout: Layout) -> bandsolve::Result<Vec<T>> {
    if layout == Layout::Interleaved { copied(values) } else { turned(values, (count, rows)) }
}

/// Transpose consecutive arrays of `outer` rows with `inner` numbers.
fn turned<T: Scalar>(values: &[T], shape: (usize, usize)) -> bandsolve::Result<Vec<T>> {
    let mut turned = zeroed(values.len())?;
    turn_into(values, shape, &mut turned);
    Ok(turned)
}

/// Transpose as [`turned`], to an existing array.
pub(super) fn turn_into<T: Scalar>(values: &[T], (outer, inner): (usize, usize), turned: &mut [T]) {
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

/// Check an array and agree on its number of columns. Return the number with the result of `prepare` for it. Collective.
pub(super) fn agreed_columns<T: Scalar, V>(
    rows: &BatchRows<T>,
    (name, values): (&'static str, &[T]),
    op: Op,
    prepare: impl FnOnce(usize) -> bandsolve::Result<V>,
) -> Result<(usize, V), RankError> {
    let len_of = |rank: usize| rows.ranges.range(rank).len() * rows.count;
    LocalColumns { name, values, len_of: &len_of, finite: true, option: op as u64 }.agree(&rows.ranks, prepare)
}
