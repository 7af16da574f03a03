//! Banded Cholesky: copy strips of columns of A, factor them as L·D·Lᴴ, and copy them back as columns of L·√D.
//!
//! In the strip, every column has `block − 1` unused places above its diagonal, and as many zeros below its last entry.
//! Blocks at the edge of the band are therefore rectangles. An upper triangle is transposed and conjugated when it is
//! copied in and out.

use super::{Triangle, narrow};
use crate::number::{LapackScalar, divided};
use crate::settings::{self, Partition};
use crate::strip::Strip;
use bandsolve::{RealScalar, Scalar};
use bandsolve_kernel::Simd;
use bandsolve_kernel::columns::Pieces;
use bandsolve_kernel::definite::{Definite, eliminate_block, padding};
use bandsolve_kernel::memory::zeros;
use core::ops::Range;

/// The sizes of a blocked elimination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PbSizes {
    /// Number of columns of a block. With 1, the elimination proceeds column by column, without dense kernels.
    pub block: usize,
    /// Number of columns of a strip that are eliminated, a multiple of `block`.
    pub columns: usize,
    /// Number of elements of an update from which it uses threads.
    pub parallel_from: usize,
}

impl PbSizes {
    fn of(shape: &Triangle) -> Self {
        let narrow = shape.width.min(shape.n);
        let block = match settings::partition() {
            Partition::Rows(rows) if narrow > 0 => {
                let block = rows.clamp(2, 8);
                let columns = rows.max(block).next_multiple_of(block);
                // Use threads for the largest of small tests only, because starting a task takes longer than the task.
                return Self { block, columns, parallel_from: 1 << 12 };
            }
            _ if narrow < 24 => 1,
            _ => 16,
        };
        Self { block, columns: (2 * narrow).next_multiple_of(block).max(256), parallel_from: 1 << 16 }
    }
}

/// Factor in place. Stops at the first row whose pivot is not positive, and returns this row.
///
/// # Cost
/// width² multiplications per column, and memory for about 3·width columns, at least 256. If there is not enough
/// memory, the elimination proceeds column by column in place.
pub fn factor<T: LapackScalar>(shape: Triangle, elements: &mut [T]) -> Option<usize> {
    let sizes = PbSizes::of(&shape);
    if sizes.block == 1 && narrow::serves(&shape) {
        return factor_narrow(shape, elements);
    }
    factor_by(sizes, shape, elements)
}

/// Factor a band that [`narrow::serves`].
pub(super) fn factor_narrow<T: LapackScalar>(shape: Triangle, elements: &mut [T]) -> Option<usize> {
    narrow::factor(shape, elements).or_else(|| {
        // The last columns are a band of their own.
        let rest = shape.n - shape.width;
        let last = Triangle { n: shape.width, ..shape };
        in_place(last, &mut elements[rest * shape.leading..]).map(|j| rest + j)
    })
}

pub(super) fn factor_by<T: LapackScalar>(layout: PbSizes, shape: Triangle, elements: &mut [T]) -> Option<usize> {
    let (n, lower) = (shape.n, shape.width.min(shape.n.saturating_sub(1)));
    let small = PbSizes { columns: layout.block, ..layout };
    let room = [layout, small].into_iter().find_map(|layout| Some((PbRoom::new(layout, n, lower)?, layout)));
    let Some((PbRoom { mut strip, mut inverse, mut u }, layout)) = room else { return in_place(shape, elements) };
    for start in (0..n).step_by(layout.columns) {
        let count = layout.columns.min(n - start);
        load(&mut strip, start, (&shape, elements));
        let bad = eliminate(&mut strip, &mut inverse[..count], (n, lower), &mut u, layout);
        (start..start + bad.unwrap_or(count)).for_each(|j| {
            let root = strip.elements[strip.diagonal(j)].re().sqrt();
            store(&strip, j, (root, root), (&shape, elements));
        });
        if let Some(bad) = bad {
            // The remaining part of A.
            for j in start + bad..strip.columns.end {
                let diagonal = strip.elements[strip.diagonal(j)].re();
                store(&strip, j, (diagonal, T::Real::ONE), (&shape, elements));
            }
            return Some(start + bad);
        }
    }
    None
}

/// The working memory of a blocked elimination.
struct PbRoom<T> {
    strip: Strip<T>,
    inverse: Vec<T>,
    u: Vec<T>,
}

impl<T: LapackScalar> PbRoom<T> {
    /// Allocate the memory. `None` if there is not enough.
    fn new(layout: PbSizes, n: usize, lower: usize) -> Option<Self> {
        // Zeros after each column, for vectors and blocks that reach beyond the column.
        let (edge, padding) = (layout.block - 1, padding::<T>(Simd::detect(), layout.block));
        Some(Self {
            strip: Strip::new(edge, lower + padding, (layout.columns + lower).min(n))?,
            inverse: zeros(layout.columns)?,
            u: zeros(lower * edge.min(1) * layout.block)?,
        })
    }
}

/// Factor column by column, without additional memory:
/// ```text
/// l(j,j) = √a(j,j),   l(i,j) = a(i,j) / l(j,j),   a(i,k) ← a(i,k) − l(i,j)·conj(l(k,j))
/// ```
pub(super) fn in_place<T: LapackScalar>(shape: Triangle, elements: &mut [T]) -> Option<usize> {
    for j in 0..shape.n {
        let pivot = elements[shape.below(j, j)].re();
        if !(pivot > T::Real::ZERO && pivot.is_finite()) {
            return Some(j);
        }
        let root = pivot.sqrt();
        elements[shape.below(j, j)] = T::from_real(root);
        for i in j + 1..shape.end(j) {
            let a = &mut elements[shape.below(i, j)];
            *a = divided(*a, root);
        }
        for k in j + 1..shape.end(j) {
            let factor = Scalar::conj(shape.side.below(elements[shape.below(k, j)]));
            for i in k..shape.end(j) {
                let l = shape.side.below(elements[shape.below(i, j)]);
                let a = &mut elements[shape.below(i, k)];
                *a -= shape.side.below(l * factor);
            }
        }
    }
    None
}

/// Move the strip to the columns from `start` on.
fn load<T: LapackScalar>(strip: &mut Strip<T>, start: usize, (shape, from): (&Triangle, &[T])) {
    for j in strip.move_on(start, shape.n) {
        let to = strip.part(j..shape.end(j), j);
        for (i, to) in (j..).zip(&mut strip.elements[to]) {
            *to = shape.side.below(from[shape.below(i, j)]);
        }
    }
}

/// Write column j back: the given diagonal entry, and the other entries times a factor.
fn store<T: LapackScalar>(
    strip: &Strip<T>,
    j: usize,
    (diagonal, by): (T::Real, T::Real),
    (shape, to): (&Triangle, &mut [T]),
) {
    to[shape.below(j, j)] = T::from_real(diagonal);
    for (i, from) in (j + 1..).zip(&strip.elements[strip.part(j + 1..shape.end(j), j)]) {
        to[shape.below(i, j)] = shape.side.below(from.scale(by));
    }
}

/// Eliminate columns from the first one on, and write the reciprocals of their pivots. Stops at the first pivot that is
/// not positive, and returns its column.
fn eliminate<T: LapackScalar>(
    strip: &mut Strip<T>,
    inverse: &mut [T],
    (n, lower): (usize, usize),
    u: &mut [T],
    layout: PbSizes,
) -> Option<usize> {
    let (stride, simd) = (strip.stride, Simd::detect());
    let step = if layout.block == 1 { inverse.len() } else { layout.block };
    let Range { start, end } = strip.columns;
    for (j, inverse) in inverse.chunks_mut(step).enumerate() {
        let here = start + j * step;
        let region = strip.diagonal(here);
        let region = &mut strip.elements[region..];
        let zeros = padding::<T>(simd, layout.block);
        let job = Definite { region, stride, rows: n - here, columns: end - here, lower, zeros, inverse };
        let pieces = Pieces { columns: layout.block, parallel_from: layout.parallel_from };
        let bad = if layout.block == 1 { job.run_on(simd) } else { eliminate_block(simd, job, u, pieces) };
        if let Some(bad) = bad {
            return Some(j * step + bad);
        }
    }
    None
}
