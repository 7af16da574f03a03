//! LU factors of bands with one or two off-diagonals on each side, with the rows of a step in registers.
//!
//! Each entry is read once and each factor written once. Rows are exchanged by selecting values, because a branch on random data
//! would be mispredicted half the time.

use super::{GbLu, GbLuMut};
use crate::Int;
use crate::number::{LapackScalar, divide, select};
use bandsolve::RealScalar;
use bandsolve_kernel::scalar::reciprocal;

/// Evaluate `$call` with `ROWS` = `lower` + 1 rows of a step and `WIDTH` = `upper` + 1 entries of a row of U, or `$otherwise` for other
/// bands.
macro_rules! with_sizes {
    ($band:expr, $function:ident($($argument:expr),*), $otherwise:expr) => {
        match ($band.lower, $band.upper - $band.lower) {
            (1, 1) => $function::<T, 2, 3>($($argument),*),
            (1, 2) => $function::<T, 2, 4>($($argument),*),
            (2, 1) => $function::<T, 3, 4>($($argument),*),
            (2, 2) => $function::<T, 3, 5>($($argument),*),
            _ => $otherwise,
        }
    };
}

/// Factor the first columns. Returns their number, and the first of them whose diagonal entry of U is zero. The entries of U in the
/// next `upper` columns are set.
pub(super) fn factor<T: LapackScalar>(f: &mut GbLuMut<'_, T>) -> (usize, Option<usize>) {
    let band = f.band;
    if band.rows != band.columns || band.rows <= 2 * band.upper {
        return (0, None);
    }
    with_sizes!(band, factor_rows(f), (0, None))
}

fn factor_rows<T: LapackScalar, const ROWS: usize, const WIDTH: usize>(
    f: &mut GbLuMut<'_, T>,
) -> (usize, Option<usize>) {
    let GbLuMut { band, elements, pivot } = f;
    let count = band.rows - ROWS - WIDTH;
    // Rows j to j + ROWS − 1 and columns j to j + WIDTH − 1 of what remains after j steps.
    let mut rows: [[T; WIDTH]; ROWS] = core::array::from_fn(|i| {
        core::array::from_fn(|k| if k <= i + WIDTH - ROWS { elements[band.at(i, k)] } else { T::ZERO })
    });
    let mut singular = None;
    for j in 0..count {
        let (mut q, mut size) = (0, rows[0][0].abs1());
        for i in 1..ROWS {
            let larger = rows[i][0].abs1() > size;
            q = core::hint::select_unpredictable(larger, i, q);
            size = core::hint::select_unpredictable(larger, rows[i][0].abs1(), size);
        }
        let top = rows[0];
        for i in 1..ROWS {
            for k in 0..WIDTH {
                let (a, u) = (rows[i][k], rows[0][k]);
                rows[0][k] = select(q == i, a, u);
                rows[i][k] = select(q == i, top[k], a);
            }
        }
        pivot[j] = (j + q + 1) as Int;
        let u = rows[0];
        if u[0] == T::ZERO && singular.is_none() {
            singular = Some(j);
        }
        // 1/u of a subnormal number would overflow.
        let (inverse, tiny) = (reciprocal(u[0]), u[0] != T::ZERO && size < T::Real::MIN_POSITIVE);
        let l: [T; ROWS] = core::array::from_fn(|i| match (i, tiny) {
            (0, _) => T::ZERO,
            (_, false) => rows[i][0] * inverse,
            (_, true) => divide(rows[i][0], u[0]),
        });
        (0..WIDTH).for_each(|k| elements[band.at(j, j + k)] = u[k]);
        (1..ROWS).for_each(|i| elements[band.at(j + i, j)] = l[i]);
        for i in 1..ROWS {
            let next = core::array::from_fn(|k| if k + 1 < WIDTH { rows[i][k + 1] - l[i] * u[k + 1] } else { T::ZERO });
            rows[i - 1] = next;
        }
        rows[ROWS - 1] = core::array::from_fn(|k| elements[band.at(j + ROWS, j + 1 + k)]);
    }
    for (i, row) in rows.iter().enumerate() {
        for (k, v) in row.iter().enumerate() {
            elements[band.at(count + i, count + k)] = *v;
        }
    }
    (count, singular)
}

/// x ← A⁻¹·x. `false`, and x as it was, if this file does not serve the band.
pub(super) fn solve<T: LapackScalar>(lu: &GbLu<'_, T>, x: &mut [T]) -> bool {
    let band = lu.factors.band;
    if x.len() <= 2 * band.upper {
        return false;
    }
    with_sizes!(band, solve_rows(lu, x), return false);
    true
}

fn solve_rows<T: LapackScalar, const ROWS: usize, const WIDTH: usize>(lu: &GbLu<'_, T>, x: &mut [T]) {
    let (band, elements, n) = (lu.factors.band, lu.factors.elements, x.len());
    // Right-hand sides of rows j to j + ROWS − 1 after j steps.
    let mut next: [T; ROWS] = core::array::from_fn(|i| x[i]);
    for j in 0..n {
        let (top, q) = (next[0], lu.pivot[j] as usize - 1 - j);
        for i in 1..ROWS {
            (next[0], next[i]) = (select(q == i, next[i], next[0]), select(q == i, top, next[i]));
        }
        x[j] = next[0];
        for i in 1..ROWS {
            let l = if j + i < n { elements[band.at(j + i, j)] } else { T::ZERO };
            next[i - 1] = next[i] - l * x[j];
        }
        next[ROWS - 1] = if j + ROWS < n { x[j + ROWS] } else { T::ZERO };
    }
    // Unknowns j + 1 to j + WIDTH − 1. (The place at the end is not used.)
    let mut last = [T::ZERO; WIDTH];
    for j in (0..n).rev() {
        // The newest unknown comes last, because the others are known earlier.
        let mut sum = x[j];
        for k in (1..WIDTH).rev() {
            let u = if j + k < n { elements[band.at(j, j + k)] } else { T::ZERO };
            sum -= u * last[k - 1];
        }
        x[j] = divide(sum, elements[band.at(j, j)]);
        last.copy_within(..WIDTH - 1, 1);
        last[0] = x[j];
    }
}
