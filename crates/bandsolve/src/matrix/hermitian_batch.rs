//! Check whether the matrices of a batch are Hermitian.

use super::banded_batch::{BandedBatch, EntryStrides};
use super::shape::Layout;
use crate::error::{Error, Result};
use crate::memory::push;
use crate::tuning::HERMITIAN_TASK;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::chunks;
use core::ops::Range;

/// Entries of a matrix whose conjugates are expected at other places: number e is at `from + e·stride` of an array.
#[derive(Debug, Clone, Copy)]
struct ConjugateLines {
    /// The arrays and the indices of the first entries. Entries without a place for their conjugates are expected to be zero.
    entries: (usize, usize),
    conjugates: Option<(usize, usize)>,
    len: usize,
    stride: usize,
}

/// Number of systems that are compared at a time: few with all their rows, or many where those are side by side.
const SYSTEMS: usize = 16;
const SYSTEMS_SIDE_BY_SIDE: usize = 512;

impl<T: Scalar> BandedBatch<'_, T> {
    /// Check that all matrices are Hermitian, on all threads if `parallel`.
    ///
    /// # Cost
    /// One pass over the entries. Batches of which one triangle is stored need none.
    ///
    /// # Errors
    /// `NotDefinite` for the first row that is not the conjugate of its column, `NotFinite`, `OutOfMemory`.
    pub(crate) fn check_hermitian(&self, parallel: bool) -> Result<()> {
        if self.hermitian || self.n() == 0 {
            return Ok(());
        }
        let (lines, count) =
            (self.conjugate_lines()?, if self.is_shared() { self.count().min(1) } else { self.count() });
        let together = if self.layout() == Layout::Interleaved { SYSTEMS_SIDE_BY_SIDE } else { SYSTEMS };
        let first = |group: usize, ()| {
            let systems = group * together..((group + 1) * together).min(count);
            let suspect = self.entries_meet() || lines.iter().any(|line| self.differ(line, systems.clone()));
            let rows = |s: usize| self.difference_in(s).map(|row| s * self.n() + row);
            let row = if suspect { systems.into_iter().find_map(rows) } else { None };
            row.unwrap_or(usize::MAX)
        };
        let least = if parallel { HERMITIAN_TASK.div_ceil(together.saturating_mul(self.n())) } else { 0 };
        match chunks((count.div_ceil(together), least), (), &first, (usize::MAX, &Ord::min)) {
            usize::MAX => Ok(()),
            row => self.check_finite().and(Err(Error::NotDefinite { row })),
        }
    }

    /// All pairs of places in which a Hermitian matrix has a number and its conjugate, unless entries meet.
    fn conjugate_lines(&self) -> Result<Vec<ConjugateLines>> {
        let (mut lines, n) = (Vec::new(), self.places);
        let wraps = |k: usize| self.is_periodic() && k > 0 && k < n;
        match self.strides {
            EntryStrides::Bands(strides) => {
                let ((lower, upper), stride) = (self.widths, strides.column);
                for k in 0..=lower.max(upper) {
                    // Entries (t + k, t) and (t, t + k), without and with wrapping.
                    let below = |t: usize| (k <= lower).then(|| (0, t * stride + (upper + k) * strides.diagonal));
                    let above = |t: usize| (k <= upper).then(|| (0, t * stride + (upper - k) * strides.diagonal));
                    let open = (below(0), above(k), n.saturating_sub(k));
                    let across = if wraps(k) { Some((below(n - k), above(0), k)) } else { None };
                    for (below, above, len) in [Some(open), across].into_iter().flatten() {
                        if let Some(entries) = below.or(above) {
                            let conjugates = if below.is_some() { above } else { None };
                            push(&mut lines, ConjugateLines { entries, conjugates, len, stride })?;
                        }
                    }
                }
            }
            EntryStrides::Blocks(strides) => {
                let (b, stride) = (self.block, strides.block);
                for (r, c) in (0..b).flat_map(|r| (0..b).map(move |c| (r, c))) {
                    let (here, turned) = (r * strides.row + c * strides.column, c * strides.row + r * strides.column);
                    let pair = |entries, conjugates, len| ConjugateLines {
                        entries,
                        conjugates: Some(conjugates),
                        len,
                        stride,
                    };
                    push(&mut lines, pair((1, here), (1, turned), n))?;
                    push(&mut lines, pair((0, stride + here), (2, turned), n - 1))?;
                    if self.is_periodic() {
                        push(&mut lines, pair((0, here), (2, (n - 1) * stride + turned), 1))?;
                    }
                }
            }
        }
        Ok(lines)
    }

    /// Whether entries of some systems differ from what their conjugates show.
    fn differ(&self, line: &ConjugateLines, systems: Range<usize>) -> bool {
        let (arrays, system) = (self.arrays(), self.system_stride());
        let pair = |s: usize, e: usize| {
            let at = |(array, from): (usize, usize)| arrays[array][from + s * system + e * line.stride];
            at(line.entries) != line.conjugates.map_or(T::ZERO, |place| Scalar::conj(at(place)))
        };
        // Neighbors in memory in the inner loop, which has no branch.
        if system < line.stride {
            (0..line.len).any(|e| systems.clone().fold(false, |any, s| any | pair(s, e)))
        } else {
            systems.into_iter().any(|s| (0..line.len).fold(false, |any, e| any | pair(s, e)))
        }
    }

    /// The first row of system `s` that is not the conjugate of its column.
    fn difference_in(&self, s: usize) -> Option<usize> {
        let entry = |transposed: bool, i: usize, j: usize| {
            let mut entry = T::ZERO;
            self.visit_row(transposed, s, i, &mut |column, value| {
                if column == j {
                    entry = value
                }
            });
            entry
        };
        let differs = |i: usize| {
            let mut bad = false;
            for transposed in [false, true] {
                self.visit_row(transposed, s, i, &mut |j, value| {
                    bad |= value != Scalar::conj(entry(!transposed, i, j))
                });
            }
            bad
        };
        (0..self.n()).find(|i| differs(*i))
    }
}
