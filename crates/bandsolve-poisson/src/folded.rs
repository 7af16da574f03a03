//! A ring with one spacing, folded: (x_i + x_{n−i})/2 and (x_i − x_{n−i})/2 are the numbers of two lines with ends.
//!
//! The even line has the rows 0 … n/2, in the places 0 … n/2. The odd line, which is zero in row 0 and, of an even n, in row n/2, has the
//! rows 1 … (n − 1)/2, row i in place n − i.

use crate::axis::AxisOperator;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::collected;

/// Couplings of a row to the one behind and the one ahead, in the direction of elimination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChainStep {
    pub behind: f64,
    pub ahead: f64,
    pub gap: f64,
}

/// Row i of the even line of a ring.
pub(crate) fn even_step(axis: &AxisOperator, i: usize) -> ChainStep {
    let (n, coupling) = (axis.len(), axis.upper[0]);
    let last = i == n / 2;
    // Row 0 couples twice to row 1, row n/2 twice to the one before; if n is odd, the last row's other neighbour is its own image.
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

/// Row i ≥ 1 of the odd line.
pub(crate) fn odd_step(axis: &AxisOperator, i: usize) -> ChainStep {
    let (n, coupling) = (axis.len(), axis.upper[0]);
    let (first, last) = (i == 1, i == (n - 1) / 2);
    let beyond = if n % 2 == 0 { coupling } else { 2.0 * coupling };
    let gap = if first { coupling } else { 0.0 } + if last { beyond } else { 0.0 };
    ChainStep { behind: if first { 0.0 } else { coupling }, ahead: if last { 0.0 } else { coupling }, gap }
}

/// Both lines as one, place by place: couplings to the place before and to the place after, and gaps.
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

/// Numbers from half their sums and differences.
#[inline(always)]
pub(crate) fn unfold<T: PoissonScalar>(line: &mut [T]) {
    let n = line.len();
    for i in 1..n.div_ceil(2) {
        (line[i], line[n - i]) = (line[i] + line[n - i], line[i] - line[n - i]);
    }
}

/// The inverse of it.
#[inline(always)]
pub(crate) fn fold<T: PoissonScalar>(line: &mut [T]) {
    let (n, half) = (line.len(), real::<T>(0.5));
    for i in 1..n.div_ceil(2) {
        (line[i], line[n - i]) = ((line[i] + line[n - i]) * half, (line[i] - line[n - i]) * half);
    }
}
