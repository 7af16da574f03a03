//! Residuals of banded systems, in tiles of rows whose common columns form a dense matrix.

use crate::contract::equations::{Equations, Matrix};
use crate::contract::op::Op;
use crate::error::Result;
use crate::matrix::{Banded, Shape};
use crate::tuning::RESIDUAL_TILE_ROWS;
use bandsolve_kernel::band_rectangle::Rectangle;
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::residual::Residual;
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Scalar, Simd};
use core::ops::Range;

impl<T: Scalar> Matrix<T> for Banded<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn equations(&self, op: Op, simd: Simd) -> impl Equations<T> {
        BandRows { a: self, op, simd }
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}

/// The rows of op(A).
struct BandRows<'a, 'm, T: Scalar> {
    a: &'a Banded<'m, T>,
    op: Op,
    simd: Simd,
}

impl<T: Scalar> Equations<T> for BandRows<'_, '_, T> {
    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
        let (n, rows) = (x.len(), r.len());
        let (lower, upper) = (self.a.lower(), self.a.upper());
        let (transposed, end_row) = (self.op != Op::Plain, first_row + rows);
        let [left, right] = if transposed { [upper, lower] } else { [lower, upper] };
        let first_column = first_row.saturating_sub(left);
        let columns = first_column..(end_row + right).min(n);
        // The first and last rows and columns of this rectangle may lie outside the band.
        let (i, j) =
            if transposed { (columns.clone(), first_row..end_row) } else { (first_row..end_row, columns.clone()) };
        let a = Rectangle::of(self.a.storage(), (self.a.lower(), self.a.upper()), i, j);
        Residual { a, transposed, x: &x[columns], r, sums }.run_on(self.simd);
    }

    fn accumulate_columns(&self, first_row: usize, x: (&[T], usize), (r, rows): (&mut [T], usize), sums: &mut [T]) {
        let columns = r.len() / rows;
        for tile in (0..rows).step_by(RESIDUAL_TILE_ROWS) {
            let height = RESIDUAL_TILE_ROWS.min(rows - tile);
            let r = ViewMut::with_stride(&mut r[tile..], height, columns, rows);
            self.tile(first_row + tile, x, r, &mut sums[tile..tile + height]);
        }
    }

    #[inline(always)]
    fn visit_row(&self, i: usize, mut visit: impl FnMut(usize, T)) {
        if self.op == Op::Plain {
            let (first, row) = self.a.row(i);
            row.enumerate().for_each(|(k, a)| visit(first + k, *a));
            return;
        }
        let (first, column) = self.a.column(i);
        let conj = T::COMPLEX && self.op == Op::ConjTranspose;
        column.iter().enumerate().for_each(|(k, a)| visit(first + k, if conj { Scalar::conj(*a) } else { *a }));
    }
}

impl<T: Scalar> BandRows<'_, '_, T> {
    /// Subtract op(A)·X from R and add Σ|aᵢⱼ| to `sums`, for the rows from `first_row` on. Real numbers only.
    fn tile(&self, first_row: usize, (x, n): (&[T], usize), mut r: ViewMut<'_, T>, sums: &mut [T]) {
        let (height, columns) = (r.nrows(), r.ncols());
        let plain = self.op == Op::Plain;
        let (lower, upper) = (self.a.lower(), self.a.upper());
        let (left, right) = if plain { (lower, upper) } else { (upper, lower) };
        let end_row = first_row + height;
        let reached = first_row.saturating_sub(left)..(end_row + right).min(n);
        // The columns in which all rows have entries; none if the band is narrower than the tile.
        let first = (end_row - 1).saturating_sub(left).max(reached.start);
        let core = first..(first_row + right + 1).min(n).max(first);
        let simd = self.simd;
        let x_rows = |span: &Range<usize>| View::with_stride(&x[span.start..], span.len(), columns, n);
        // Columns in which only some rows have entries are copied and filled up with zeros.
        let mut edge = [T::ZERO; RESIDUAL_TILE_ROWS * RESIDUAL_TILE_ROWS];
        for span in [reached.start..core.start, core.end..reached.end] {
            for start in span.clone().step_by(RESIDUAL_TILE_ROWS) {
                let span = start..(start + RESIDUAL_TILE_ROWS).min(span.end);
                let edge = &mut edge[..height * span.len()];
                self.copy(first_row..end_row, span.clone(), edge);
                let a = View::new(edge, height, span.len());
                add_moduli(a, sums);
                Product::subtract(r.as_mut(), a, x_rows(&span)).run_on(simd);
            }
        }
        if core.is_empty() {
            return;
        }
        let (bands, leading) = self.a.storage();
        let (i, j) = if plain { (first_row, core.start) } else { (core.start, first_row) };
        let bands = &bands[upper + i - j + j * leading..];
        // The stride of a single column is arbitrary.
        let stride = leading - 1;
        let a = if plain {
            let a = View::with_stride(bands, height, core.len(), stride.max(height));
            add_moduli(a, sums);
            a
        } else {
            let a = View::with_stride(bands, core.len(), height, stride.max(core.len()));
            for (sum, column) in sums.iter_mut().zip(columns_of(a)) {
                *sum += sum_of_moduli(column);
            }
            a.transpose()
        };
        Product::subtract(r, a, x_rows(&core)).run_on(simd);
    }
}

impl<T: Scalar> BandRows<'_, '_, T> {
    /// Copy a rectangle of op(A), column-major, with zeros outside the band.
    fn copy(&self, rows: Range<usize>, columns: Range<usize>, to: &mut [T]) {
        let plain = self.op == Op::Plain;
        let (across, along) = if plain { (&columns, &rows) } else { (&rows, &columns) };
        to.fill(T::ZERO);
        for j in across.clone() {
            let (top, column) = self.a.column(j);
            let inside = along.start.max(top)..along.end.min(top + column.len());
            for i in inside {
                let (i, j, v) = (i - along.start, j - across.start, column[i - top]);
                to[if plain { i + j * rows.len() } else { j + i * rows.len() }] = v;
            }
        }
    }
}

/// Add the row sums of moduli to `sums`.
fn add_moduli<T: Scalar>(a: View<'_, T>, sums: &mut [T]) {
    for column in columns_of(a) {
        sums.iter_mut().zip(column).for_each(|(sum, a)| *sum += T::from_real(a.abs1()));
    }
}

/// The columns of a matrix whose columns are contiguous.
fn columns_of<'a, T: Scalar>(a: View<'a, T>) -> impl Iterator<Item = &'a [T]> {
    (0..a.ncols()).map(move |c| a.column(c))
}

/// Σ |aᵢ| of real numbers, in four independent partial sums.
fn sum_of_moduli<T: Scalar>(a: &[T]) -> T {
    let (a4, rest) = a.as_chunks::<4>();
    let mut sum = [T::ZERO; 4];
    for a in a4 {
        for k in 0..4 {
            sum[k] += T::from_real(a[k].abs1());
        }
    }
    let rest = rest.iter().fold(T::ZERO, |s, a| s + T::from_real(a.abs1()));
    (sum[0] + sum[2]) + (sum[1] + sum[3]) + rest
}
