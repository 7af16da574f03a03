//! Truncated coarse systems, which are solved as independent pairs.
//!
//! If spikes decay inside partitions, the last unknown of a partition and the first of the next one depend only on each other. Row 2p of
//! the coarse system belongs to the first unknown of partition p, and row 2p+1 to its last unknown. Dropping the coupling between these
//! two rows, which is the tip of a spike, leaves the pairs
//!
//! ```text
//! b₂ₚ₊₁ x₂ₚ₊₁ + c₂ₚ₊₁ x₂ₚ₊₂ = d₂ₚ₊₁
//! a₂ₚ₊₂ x₂ₚ₊₁ + b₂ₚ₊₂ x₂ₚ₊₂ = d₂ₚ₊₂
//! ```

use crate::partition::repair::is_nothing;
use crate::tuning::TRUNCATION_PAIRS;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::spread::{RowsOf, chunks};
use bandsolve_kernel::{RealScalar, Scalar};

/// Whether truncation changes x by less than ε/2 times its largest entry.
///
/// The tips of spikes must be at most ε/8 times the diagonal entry in their row. The diagonal entries of each pair must be more than twice
/// as large as its off-diagonal entries.
pub(crate) fn is_safe<T: Scalar>(rows: &Rows<T>) -> bool {
    let limit = |of: f64| T::Real::from_f64(of);
    // 0.35 = 0.5/√2, because |re| + |im| is up to √2 times the modulus.
    let (tip, pair) = (T::Real::EPSILON * limit(0.125), limit(0.35));
    let small = |off: T, diag: T, limit: T::Real| Scalar::abs1(off) <= Scalar::abs1(diag) * limit;
    let n = rows.n();
    // Off-diagonals i couple rows i and i+1. They are tips for even i, and belong to pairs for odd i.
    let beside =
        |i: usize, limit| small(rows.sup[i], rows.diag[i], limit) & small(rows.sub[i], rows.diag[i + 1], limit);
    let corners = small(rows.first, rows.diag[0], pair) && small(rows.last, rows.diag[n - 1], pair);
    corners
        && (0..n - 1).step_by(2 * TRUNCATION_PAIRS).all(|first| {
            let last = (first + 2 * TRUNCATION_PAIRS).min(n - 1);
            (first..last).step_by(2).fold(true, |all, i| all & beside(i, tip) & (i + 1 == last || beside(i + 1, pair)))
        })
}

/// Solve all pairs by Cramer's rule and overwrite the right-hand sides. The rows must have a size near 1. Returns whether a pair is
/// singular.
pub(crate) fn solve<T: Scalar>(rows: &Rows<T>, rhs: &mut [T], parallel: bool) -> bool {
    let n = rhs.len();
    let mut singular = false;
    if rows.periodic {
        let ((above, b1, _), (_, b0, below)) = (rows.row(0), rows.row(n - 1));
        ([rhs[n - 1], rhs[0]], singular) = pair([[b0, below, rhs[n - 1]], [above, b1, rhs[0]]]);
    } else {
        singular |= is_nothing(rows.diag[0]) | is_nothing(rows.diag[n - 1]);
        rhs[0] = rhs[0] / rows.diag[0];
        rhs[n - 1] = rhs[n - 1] / rows.diag[n - 1];
    }
    let inner = &mut rhs[1..n - 1];
    let of_chunk = |k: usize, RowsOf(rhs, _): RowsOf<'_, T>| {
        let range = 2 * TRUNCATION_PAIRS * k + 1..2 * TRUNCATION_PAIRS * k + 1 + rhs.len();
        let off = rows.sub[range.clone()].iter().step_by(2).zip(rows.sup[range.clone()].iter().step_by(2));
        let mut singular = false;
        for ((d, b), (a, c)) in rhs.chunks_exact_mut(2).zip(rows.diag[range].chunks_exact(2)).zip(off) {
            let determinant = b[0] * b[1] - *a * *c;
            let by = T::ONE / determinant;
            (d[0], d[1]) = ((d[0] * b[1] - *c * d[1]) * by, (b[0] * d[1] - *a * d[0]) * by);
            singular |= is_nothing(determinant);
        }
        singular
    };
    let count = inner.len().div_ceil(2 * TRUNCATION_PAIRS);
    chunks((count, usize::from(parallel)), RowsOf(inner, 2 * TRUNCATION_PAIRS), &of_chunk, (singular, &|a, b| a | b))
}

/// Solve a periodic system of two unknowns, in which off-diagonal and corner entries are added. Returns whether the system is singular.
pub(crate) fn solve_two<T: Scalar>(rows: &Rows<T>, rhs: &mut [T]) -> bool {
    let ((a0, b0, c0), (a1, b1, c1)) = (rows.row(0), rows.row(1));
    let singular;
    ([rhs[0], rhs[1]], singular) = pair([[b0, a0 + c0, rhs[0]], [a1 + c1, b1, rhs[1]]]);
    singular
}

/// Solve two equations in two unknowns by elimination with scaled pivoting. Also returns whether they are singular; the solution is then
/// not finite.
fn pair<T: Scalar>(rows: [[T; 3]; 2]) -> ([T; 2], bool) {
    let [p, q] = rows.map(|row| {
        let scale = Scalar::abs1(row[0]).max_nan(Scalar::abs1(row[1])).equilibrate();
        row.map(|v| v.scale(scale))
    });
    let [p, q] = if Scalar::abs1(p[0]) >= Scalar::abs1(q[0]) { [p, q] } else { [q, p] };
    let ratio = q[0] / p[0];
    let pivot = q[1] - ratio * p[1];
    let second = (q[2] - ratio * p[2]) / pivot;
    ([(p[2] - p[1] * second) / p[0], second], is_nothing(p[0]) || is_nothing(pivot))
}
