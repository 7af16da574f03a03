//! Banded LU of wide bands: copy strips of columns, eliminate them in blocks, and copy them back.
//!
//! In the strip, the band has `block − 1` diagonals of zeros on each side, so that exchanges extend over a whole block.
//! LAPACK stores each Lⱼ as it was in step j. The exchanges of later steps in the block are therefore undone when the
//! block is copied back.

use super::{GbLayout, GbLuMut};
use crate::number::LapackScalar;
use crate::settings::{self, Partition};
use crate::strip::Strip;
use bandsolve::{RealScalar, Scalar};
use bandsolve_kernel::Simd;
use bandsolve_kernel::columns::{Block, Pieces};
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::panel::PivotRule;

/// The pivot of a column is its largest entry by |Re| + |Im|.
pub(super) fn largest<R: RealScalar>() -> PivotRule<R> {
    PivotRule { exchange: true, boost: false, noise: R::ZERO }
}

/// The sizes of a blocked elimination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GbSizes {
    /// Number of columns of a block.
    pub block: usize,
    /// Number of columns of a strip that are eliminated, a multiple of `block`. The strip has `lower + upper` more
    /// columns to their right.
    pub columns: usize,
    /// How updates are divided.
    pub pieces: Pieces,
}

impl GbSizes {
    /// The sizes for a band. `None` if the band is too narrow.
    pub fn of<T: Scalar>(band: &GbLayout) -> Option<Self> {
        let narrow = band.lower.min(band.upper).min(band.rows).min(band.columns);
        let block = match settings::partition() {
            Partition::Rows(rows) if narrow > 0 => {
                let block = rows.clamp(2, 8);
                let columns = rows.max(block).next_multiple_of(block);
                // Use threads for the largest of small tests only, because starting a task takes longer than the task.
                return Some(Self { block, columns, pieces: Pieces { columns: 32, parallel_from: 1 << 12 } });
            }
            _ if narrow < if T::COMPLEX { 20 } else { 28 } => return None,
            _ => 16,
        };
        let columns = (2 * band.upper).next_multiple_of(block).max(256);
        Some(Self { block, columns, pieces: Pieces { columns: 128, parallel_from: 1 << 16 } })
    }
}

/// Factor in place as [`factor`](super::factor()) does. Returns `None` if there is not enough memory; nothing has
/// changed then.
pub(super) fn factor<T: LapackScalar>(f: &mut GbLuMut<'_, T>, layout: GbSizes) -> Option<Option<usize>> {
    let (band, edge) = (f.band, layout.block - 1);
    let (lower, fill) = (band.lower.min(band.rows - 1), band.upper.min(band.columns - 1));
    let mut strip = Strip::new(fill + edge, lower + edge, (layout.columns + fill).min(band.columns))?;
    let (mut inverse, mut exchange) = (zeros(layout.block)?, zeros(layout.columns)?);
    let steps = band.rows.min(band.columns);
    let mut singular = None;
    for start in (0..steps).step_by(layout.columns) {
        let count = layout.columns.min(steps - start);
        load(&mut strip, start, f);
        for j in (0..count).step_by(layout.block) {
            let (here, width) = (start + j, layout.block.min(count - j));
            let first = strip.diagonal(here);
            let mut block = Block {
                region: &mut strip.elements[first..],
                stride: strip.stride,
                rows: band.rows - here,
                lower,
                inverse: &mut inverse[..width],
                exchange: &mut exchange[j..j + width],
                rule: largest(),
                simd: Simd::detect(),
            };
            let result = block.eliminate(fill.min(band.columns - here - width), layout.pieces);
            singular = singular.or(result.singular.map(|k| here + k));
        }
        for (j, exchange) in exchange[..count].chunks(layout.block).enumerate() {
            store_block(&mut strip, start + j * layout.block, exchange, f);
        }
    }
    (steps..strip.columns.end).for_each(|j| store(&strip, j, f));
    Some(singular)
}

/// Move the strip to the columns from `start` on.
fn load<T: LapackScalar>(strip: &mut Strip<T>, start: usize, from: &GbLuMut<'_, T>) {
    let band = &from.band;
    for j in strip.move_on(start, band.columns) {
        let rows = band.rows_of(j);
        let rows = rows.start.max((j + band.lower).saturating_sub(band.upper)).min(rows.end)..rows.end;
        let to = strip.part(rows.clone(), j);
        strip.elements[to].copy_from_slice(&from.elements[band.part(rows, j)]);
    }
}

/// Write back the block that begins at column `start`, with L in LAPACK's form, and its pivots.
fn store_block<T: LapackScalar>(strip: &mut Strip<T>, start: usize, exchange: &[u32], to: &mut GbLuMut<'_, T>) {
    for (j, q) in exchange.iter().enumerate() {
        to.pivot[start + j] = (start + j + *q as usize + 1) as crate::Int;
        let diagonal = strip.diagonal(start + j);
        for (k, q) in exchange.iter().enumerate().skip(j + 1).rev() {
            strip.elements.swap(diagonal + k - j, diagonal + k - j + *q as usize);
        }
        store(strip, start + j, to);
    }
}

fn store<T: LapackScalar>(strip: &Strip<T>, j: usize, to: &mut GbLuMut<'_, T>) {
    let rows = to.band.rows_of(j);
    to.elements[to.band.part(rows.clone(), j)].copy_from_slice(&strip.elements[strip.part(rows, j)]);
}
