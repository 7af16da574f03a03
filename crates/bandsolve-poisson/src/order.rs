//! The solving order of the axes, and the conversion of arrays to this order and back.

use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// The three axes in solving order. Missing axes have one unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisOrder {
    /// The index of each axis in the caller's array; `None` for a missing axis.
    pub axes: [Option<usize>; 3],
    shape: [usize; 3],
    /// The strides of the caller's array.
    strides: [usize; 3],
}

/// Number of rows and columns of a tile: 8 numbers of double precision fill a cache line.
const TILE: usize = 8;

impl AxisOrder {
    pub fn new(axes: [Option<usize>; 3], shape: &[usize]) -> Self {
        let stride = |axis: usize| shape[axis + 1..].iter().product();
        let strides = axes.map(|axis| axis.map_or(0, stride));
        Self { axes, shape: axes.map(|axis| axis.map_or(1, |axis| shape[axis])), strides }
    }

    /// Whether the caller's order is the solving order. Axes with one unknown do not matter.
    pub fn is_given(&self) -> bool {
        let coupled = self.axes.iter().zip(self.shape).filter(|(_, n)| *n > 1);
        coupled.filter_map(|(axis, _)| *axis).is_sorted()
    }

    /// The strides of the caller's array along the axes in solving order.
    pub fn strides(&self) -> [usize; 3] {
        self.strides
    }

    /// Copies the caller's array `from` to `to`, in solving order.
    pub fn take<T: Scalar>(&self, from: &[T], to: &mut [T], threads: usize) {
        let strides = [self.shape[1] * self.shape[2], self.shape[2], 1];
        permute((from, self.strides), (to, strides), self.shape, threads);
    }

    /// Copies `from`, in solving order, to the caller's array `to`.
    pub fn give<T: Scalar>(&self, from: &[T], to: &mut [T], threads: usize) {
        // The axes in the order of the caller's strides.
        let mut order = [0, 1, 2];
        order.sort_by_key(|k| core::cmp::Reverse((self.strides[*k], self.shape[*k])));
        let strides = [self.shape[1] * self.shape[2], self.shape[2], 1];
        permute(
            (from, order.map(|k| strides[k])),
            (to, order.map(|k| self.strides[k])),
            order.map(|k| self.shape[k]),
            threads,
        );
    }
}

/// Computes to[i·t₀ + j·t₁ + k·t₂] = from[i·s₀ + j·s₁ + k·s₂]. i is the outermost axis of `to`.
fn permute<T: Scalar>(
    (from, s): (&[T], [usize; 3]),
    (to, t): (&mut [T], [usize; 3]),
    shape: [usize; 3],
    threads: usize,
) {
    let row = shape[1] * shape[2];
    let chunks = shape[0].div_ceil(TILE);
    let least = if threads > 1 { chunks.div_ceil(4 * threads).max(1) } else { 0 };
    each_chunk((chunks, least), RowsOf(to, row * TILE), &|chunk, out| {
        let first = chunk * TILE;
        let rows = TILE.min(shape[0] - first);
        for j in 0..shape[1] {
            for k in (0..shape[2]).step_by(TILE) {
                for i in 0..rows {
                    for k in k..shape[2].min(k + TILE) {
                        out.0[i * row + j * t[1] + k * t[2]] = from[(first + i) * s[0] + j * s[1] + k * s[2]];
                    }
                }
            }
        }
    });
}
