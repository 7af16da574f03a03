//! Check whether a matrix is Hermitian.

use crate::matrix::Banded;
use crate::tuning::{HERMITIAN_COLUMNS, HERMITIAN_TASK};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::chunks;
use core::ops::Range;

/// The first row in which a band is not Hermitian. Diagonals without a counterpart on the other side must be zero.
///
/// # Cost
/// One pass over the band, on all threads if `parallel`.
pub(super) fn first_difference<T: Scalar>(a: &Banded<'_, T>, parallel: bool) -> Option<usize> {
    let first = |t: usize, ()| {
        let tile = t * HERMITIAN_COLUMNS..((t + 1) * HERMITIAN_COLUMNS).min(a.n());
        difference_in(a, tile).unwrap_or(usize::MAX)
    };
    let least = if parallel { HERMITIAN_TASK / HERMITIAN_COLUMNS } else { 0 };
    let row = chunks((a.n().div_ceil(HERMITIAN_COLUMNS), least), (), &first, (usize::MAX, &Ord::min));
    (row < usize::MAX).then_some(row)
}

/// The first row in `tile` that differs, from the diagonal on, from the conjugate of the column with the same index.
fn difference_in<T: Scalar>(a: &Banded<'_, T>, tile: Range<usize>) -> Option<usize> {
    let ((bands, leading), (n, upper)) = (a.storage(), (a.n(), a.upper()));
    let mut bad = usize::MAX;
    for k in 1..=a.lower().max(upper).min(n.saturating_sub(1)) {
        for j in tile.start..tile.end.min(n - k).min(bad) {
            let below = if k <= a.lower() { bands[upper + k + j * leading] } else { T::ZERO };
            let above = if k <= upper { bands[upper - k + (j + k) * leading] } else { T::ZERO };
            if below != Scalar::conj(above) {
                bad = j;
                break;
            }
        }
    }
    let of_diagonal = tile.filter(|j| *j < bad).find(|j| !(bands[upper + j * leading].im() == T::Real::ZERO));
    of_diagonal.or((bad < usize::MAX).then_some(bad))
}
