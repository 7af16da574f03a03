//! L·D·Lᴴ of a Hermitian positive definite band, or of its leading columns. U = D·Lᴴ is not stored.

use super::{BandLu, FactorOptions, RectangleSize};
use crate::error::Result;
use crate::memory::zeroed;
use crate::pivoted::Rule;
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::columns::Pieces;
use bandsolve_kernel::definite::{Definite, eliminate_block, padding};
use core::ops::Range;

/// The leading rows and columns of a Hermitian band, whose lower triangle is copied into the factors.
pub(crate) trait HermitianTriangle<T: Scalar>: Sync {
    /// The size: as many rows as columns, and `upper` = 0.
    fn size(&self) -> RectangleSize;

    /// Copy columns from the diagonal down. Element (i, j), counted from the diagonal element of the first column, is copied to index
    /// i + j·`stride`.
    fn copy(&self, columns: Range<usize>, to: &mut [T], stride: usize);
}

/// Number of elements above the diagonal that products write to.
fn above(block: usize) -> usize {
    if block == 1 { 0 } else { tuning::DEFINITE_COLUMNS - 1 }
}

impl<T: Scalar> BandLu<T> {
    /// The reciprocals 1/d of all pivots.
    pub fn inverse(&self) -> &[T] {
        &self.inverse
    }

    /// Eliminate the pivots of a Hermitian rectangle while they are positive, and return the first one that is not.
    ///
    /// # Cost
    /// Per column lower² multiplications and as many additions. The factors need lower + 1 words per row, and padding.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn definite(
        source: &impl HermitianTriangle<T>,
        how: FactorOptions<'_, T::Real>,
    ) -> Result<(Self, Option<usize>)> {
        let size = source.size();
        // Vectors and blocks read zeros after a column. Products write above the diagonal, before a column.
        let block = tuning::definite_block(size.lower);
        let pad = Some(padding::<T>(how.simd, block) + above(block));
        let how = FactorOptions { rule: Rule { scaled: false, ..how.rule }, ..how };
        let mut lu = Self::with_layout(size, how, (0, None, block, pad))?;
        lu.exchange.fill(0);
        let mut u = zeroed(lu.block * size.lower)?;
        let mut done = 0;
        let step = lu.step();
        for j in (0..size.pivots).step_by(step) {
            let width = step.min(size.pivots - j);
            if done < size.columns.min(j + width + size.lower) {
                lu.copy_triangle(source, j + width + size.lower + tuning::DEFINITE_COPIED, &mut done);
            }
            if let Some(k) = lu.eliminate_definite(j, width, &mut u) {
                return Ok((lu, Some(j + k)));
            }
        }
        lu.copy_triangle(source, size.columns, &mut done);
        for (scale, inverse) in lu.scale.iter_mut().zip(lu.inverse.iter()) {
            *scale = inverse.re();
        }
        Ok((lu, None))
    }

    /// Copy the columns from `done` to `columns`, or to the last one, and fill the elements around them with zeros.
    fn copy_triangle(&mut self, source: &impl HermitianTriangle<T>, columns: usize, done: &mut usize) {
        let columns = columns.min(self.size.columns);
        let place = |lu: &Self, j: usize| lu.index(j, j) - above(lu.block);
        let from = if *done == 0 { 0 } else { place(self, *done) };
        let to = if columns == self.size.columns { self.elements.len() } else { place(self, columns) };
        self.elements[from..to].fill(T::ZERO);
        let first = self.index(*done, *done);
        source.copy(*done..columns, &mut self.elements[first..], self.stride);
        *done = columns;
    }

    /// Eliminate columns j … j + width − 1, update the columns to their right, and return the first column without a positive pivot.
    fn eliminate_definite(&mut self, j: usize, width: usize, u: &mut [T]) -> Option<usize> {
        let alone = self.block == 1;
        let start = self.index(j, j);
        let job = Definite {
            region: &mut self.elements[start..],
            stride: self.stride,
            rows: self.size.rows - j,
            columns: if alone { self.size.columns - j } else { width },
            lower: self.size.lower,
            zeros: padding::<T>(self.simd, self.block),
            inverse: &mut self.inverse[j..j + width],
        };
        let pieces = Pieces { columns: tuning::DEFINITE_COLUMNS, parallel_from: usize::MAX };
        if alone { job.run_on(self.simd) } else { eliminate_block(self.simd, job, u, pieces) }
    }
}
