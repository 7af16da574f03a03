//! Folding of a periodic axis with constant spacing: one periodic system becomes two tridiagonal systems.
//!
//! The unknowns of the even system are (xᵢ + xₙ₋ᵢ)/2 for i = 0 … n/2, at places 0 … n/2. The unknowns of the odd system are (xᵢ − xₙ₋ᵢ)/2
//! for i = 1 … (n − 1)/2, at places n − i. They are zero for i = 0, and for i = n/2 if n is even.

use crate::axis::AxisOperator;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::collected;

/// A row: its couplings to the previous and the next row in the direction of elimination, and its gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChainStep {
    pub behind: f64,
    pub ahead: f64,
    pub gap: f64,
}

/// Row i of the even system.
pub(crate) fn even_step(axis: &AxisOperator, i: usize) -> ChainStep {
    let (n, coupling) = (axis.len(), axis.upper[0]);
    let last = i == n / 2;
    // Row 0 couples twice to row 1. For even n, row n/2 couples twice to the previous row. For odd n, the other neighbor of the last row is its own
    // image, so this difference is zero.
    let ahead = if i == 0 && !last {
        2.0 * coupling
    } else if last {
        0.0
    } else {
        coupling
    };
    let behind = match i {
        0 => 0.0,
        _ if last && n % 2 == 0 => 2.0 * coupling,
        _ => coupling,
    };
    ChainStep { behind, ahead, gap: 0.0 }
}

/// Row i ≥ 1 of the odd system.
pub(crate) fn odd_step(axis: &AxisOperator, i: usize) -> ChainStep {
    let (n, coupling) = (axis.len(), axis.upper[0]);
    let (first, last) = (i == 1, i == (n - 1) / 2);
    let beyond = if n % 2 == 0 { coupling } else { 2.0 * coupling };
    let gap = if first { coupling } else { 0.0 } + if last { beyond } else { 0.0 };
    ChainStep { behind: if first { 0.0 } else { coupling }, ahead: if last { 0.0 } else { coupling }, gap }
}

/// Both systems as one tridiagonal system: couplings to the previous and the next place, and gaps.
pub(crate) fn folded_rows(axis: &AxisOperator) -> Result<[Vec<f64>; 3]> {
    let n = axis.len();
    let row = |place: usize| match place {
        _ if place <= n / 2 => even_step(axis, place),
        _ => {
            let ChainStep { behind, ahead, gap } = odd_step(axis, n - place);
            ChainStep { behind: ahead, ahead: behind, gap }
        }
    };
    let each = |of: &dyn Fn(ChainStep) -> f64| collected((0..n).map(row).map(of));
    Ok([each(&|row| row.behind)?, each(&|row| row.ahead)?, each(&|row| row.gap)?])
}

/// Replaces half sums and half differences by the original numbers: the inverse of [`fold`].
#[inline(always)]
pub(crate) fn unfold<T: PoissonScalar>(line: &mut [T]) {
    let n = line.len();
    for i in 1..n.div_ceil(2) {
        (line[i], line[n - i]) = (line[i] + line[n - i], line[i] - line[n - i]);
    }
}

/// Replaces mirrored numbers by half their sums and half their differences.
#[inline(always)]
pub(crate) fn fold<T: PoissonScalar>(line: &mut [T]) {
    let (n, half) = (line.len(), real::<T>(0.5));
    for i in 1..n.div_ceil(2) {
        (line[i], line[n - i]) = ((line[i] + line[n - i]) * half, (line[i] - line[n - i]) * half);
    }
}
