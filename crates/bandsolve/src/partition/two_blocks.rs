//! The smallest coarse system of blocks: two block rows, solved as a dense system.

use crate::partition::repair::is_nothing;
use crate::tuning;
use bandsolve_kernel::rows::BlockRows;
use bandsolve_kernel::scalar::{peak, reciprocal};
use bandsolve_kernel::sweep::MAX_RHS;
use bandsolve_kernel::tile_runs::{Columns, ColumnsMut};
use bandsolve_kernel::{RealScalar, Scalar};

/// Maximum number of rows of two blocks.
const TWO: usize = 2 * tuning::SMALL_BLOCK_MAX;

/// Solve a system of two block rows by elimination with scaled partial pivoting. Returns whether a pivot was close to zero.
pub(crate) fn solve_two_block_rows<T: Scalar>(
    rows: &BlockRows<'_, T>,
    rhs: Columns<'_, T>,
    x: ColumnsMut<'_, T>,
    n_rhs: usize,
) -> bool {
    let n = 2 * rows.block;
    let mut a = [[T::ZERO; TWO + MAX_RHS]; TWO];
    for i in 0..n {
        rows.visit_row(i, |j, value| a[i][j] = value);
        (0..n_rhs).for_each(|s| a[i][n + s] = rhs[s][i]);
        let largest = a[i][..n].iter().fold(T::Real::ZERO, |max, v| max.max_nan(peak(*v)));
        a[i].iter_mut().for_each(|v| *v = v.scale(largest.equilibrate()));
    }
    let mut suspect = false;
    for c in 0..n {
        let size = |r: usize| a[r][c].abs1();
        let pivot = (c..n).fold(c, |best, r| if size(r) > size(best) { r } else { best });
        suspect |= is_nothing(a[pivot][c]);
        a.swap(c, pivot);
        let (above, below) = a.split_at_mut(c + 1);
        let (pivot_row, recip) = (&above[c], reciprocal(above[c][c]));
        for row in &mut below[..n - c - 1] {
            let factor = row[c] * recip;
            row[c..n + n_rhs].iter_mut().zip(&pivot_row[c..]).for_each(|(v, p)| *v -= factor * *p);
        }
    }
    for s in 0..n_rhs {
        for i in (0..n).rev() {
            let known = (i + 1..n).fold(a[i][n + s], |sum, j| sum - a[i][j] * x[s][j]);
            x[s][i] = known * reciprocal(a[i][i]);
        }
    }
    suspect
}
