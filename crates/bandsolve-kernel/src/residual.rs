//! Residuals of tridiagonal, banded and block tridiagonal systems in the working precision, and the sums of moduli for their backward
//! errors.

use super::Job;
use super::band_rectangle::Rectangle;
use super::row_gather::{RowGather, gather_rows};
use super::vectors::{dot, load, subtract_multiple, sum_of_moduli};
use crate::job::kernel;
use crate::number::{Lanes, MAX_LANES, Scalar};
use crate::rows::{BlockRows, Orientation};

/// r ← r − A·x and s ← s + Σ|aᵢⱼ| for the rows of a rectangle of real numbers that is not reversed.
pub struct Residual<'a, T: Scalar> {
    pub a: Rectangle<'a, T>,
    /// Exchange rows and columns: Aᵀ·x, with one row for every column.
    pub transposed: bool,
    pub x: &'a [T],
    pub r: &'a mut [T],
    pub sums: &'a mut [T],
}

kernel!(ResidualKernel: Residual<'a> => ());

impl<T: Scalar> Job<T> for Residual<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        if self.transposed {
            for j in 0..self.r.len() {
                let (first, column) = self.a.column(j);
                self.r[j] -= dot::<V, T>(column, &self.x[first..]);
                self.sums[j] += sum_of_moduli::<V, T>(column);
            }
            return;
        }
        let (mut j, columns) = (0, self.a.columns);
        while j < columns {
            if const { V::PERMUTES && !T::COMPLEX } {
                let rows: [&mut [T::Real]; 2] =
                    [bytemuck::cast_slice_mut(&mut *self.r), bytemuck::cast_slice_mut(&mut *self.sums)];
                let next = gather_rows::<V, T, 2>(rows, &Residuals { x: self.x }, &self.a, j..columns);
                if next > j {
                    j = next;
                    continue;
                }
            }
            let (first, column) = self.a.column(j);
            subtract_multiple::<V, T>(&mut self.r[first..], self.x[j], column);
            for (sum, a) in self.sums[first..].iter_mut().zip(column) {
                *sum += T::from_real(a.abs1());
            }
            j += 1;
        }
    }
}

/// Residuals and sums of moduli.
struct Residuals<'a, T> {
    x: &'a [T],
}

impl<V: Lanes<Real = T::Real>, T: Scalar> RowGather<V, 2> for Residuals<'_, T> {
    #[inline(always)]
    fn gather(&self, j: usize, v: V, [residual, sum]: [V; 2]) -> [V; 2] {
        [V::splat(self.x[j].re()).neg_mul_add(v, residual), sum + v.abs()]
    }
}

/// r ← r − A·x and s ← s + Σ|aᵢⱼ| for whole block rows of a real block tridiagonal matrix that is not transposed.
///
/// A vector holds entries of one column of a block. Its lanes beyond the block hold entries of the next column, which are
/// not used.
pub struct BlockResidual<'a, T: Scalar> {
    pub rows: &'a BlockRows<'a, T>,
    /// The first block row, not the first of the matrix.
    pub first: usize,
    pub x: &'a [T],
    /// The rows of `count` block rows.
    pub r: &'a mut [T],
    pub sums: &'a mut [T],
}

kernel!(BlockResidualKernel: BlockResidual<'a> => usize);

impl<T: Scalar> Job<T> for BlockResidual<'_, T> {
    /// The number of block rows that were done, up to 512 rows, or to the first whose vectors would reach beyond the arrays.
    type Output = usize;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> usize {
        let Self { rows, first, x, r, sums } = self;
        let (b, count) = (rows.block, r.len() / rows.block);
        assert!(!T::COMPLEX && first > 0 && first + count < rows.block_rows() && r.len() == sums.len());
        assert!(rows.orientation == Orientation::Plain && x.len() >= (first + count + 1) * b);
        let (square, beyond) = (b * b, V::W);
        let [sub, diag, sup] = [rows.sub, rows.diag, rows.sup].map(|array| bytemuck::cast_slice::<T, T::Real>(array));
        let x: &[T::Real] = bytemuck::cast_slice(x);
        let [r, sums] = [r, sums].map(|array| bytemuck::cast_slice_mut::<T, T::Real>(array));
        // Vectors are stored in ascending order, so that the next block overwrites the lanes beyond the block before.
        const ROWS: usize = 512;
        let (mut products, mut moduli) = ([T::Real::ZERO; ROWS + MAX_LANES], [T::Real::ZERO; ROWS + MAX_LANES]);
        let count = count.min(ROWS / b);
        let mut done = 0;
        for k in 0..count {
            let row = first + k;
            let blocks = [(sub, row - 1), (diag, row), (sup, row)];
            if blocks.iter().any(|(array, place)| (place + 1) * square + beyond > array.len()) {
                break;
            }
            for top in (0..b).step_by(V::W) {
                let (mut product, mut sum) = (V::splat(T::Real::ZERO), V::splat(T::Real::ZERO));
                for (c, (array, place)) in blocks.iter().enumerate() {
                    let x = &x[(row + c - 1) * b..][..b];
                    for (j, x) in x.iter().enumerate() {
                        // SAFETY: the column begins inside the block, and the array has W entries more than the block.
                        let column = unsafe { V::load(array.as_ptr().add(place * square + j * b + top)) };
                        product = V::splat(*x).mul_add(column, product);
                        sum = sum + column.abs();
                    }
                }
                // SAFETY: both arrays have W entries more than the `count` block rows.
                unsafe {
                    product.store(products.as_mut_ptr().add(k * b + top));
                    sum.store(moduli.as_mut_ptr().add(k * b + top));
                }
            }
            done = k + 1;
        }
        for ((r, sum), (product, of_row)) in r.iter_mut().zip(sums).zip(products.iter().zip(&moduli)).take(done * b) {
            *r -= *product;
            *sum += *of_row;
        }
        done
    }
}

/// r ← r − A·x and s = Σ|aᵢⱼ| for rows of a tridiagonal matrix of real numbers that have both neighbours.
pub struct TridiagonalResidual<'a, T: Scalar> {
    /// m entries of each diagonal.
    pub sub: &'a [T],
    pub diag: &'a [T],
    pub sup: &'a [T],
    /// m + 2 unknowns, from the left neighbour of the first row on.
    pub x: &'a [T],
    pub r: &'a mut [T],
    pub sums: &'a mut [T],
}

kernel!(TridiagonalResidualKernel: TridiagonalResidual<'a> => ());

impl<T: Scalar> Job<T> for TridiagonalResidual<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
        let m = self.r.len();
        assert!(!T::COMPLEX && self.x.len() == m + 2 && self.sums.len() == m);
        assert!(self.sub.len() == m && self.diag.len() == m && self.sup.len() == m);
        let whole = m / V::W * V::W;
        for i in (0..whole).step_by(V::W) {
            // SAFETY: the arrays have W rows from i on.
            unsafe { self.rows::<V, true>(i, V::W) };
        }
        if whole < m {
            // SAFETY: the arrays have this number of rows from `whole` on.
            unsafe { self.rows::<V, false>(whole, m - whole) };
        }
    }
}

impl<T: Scalar> TridiagonalResidual<'_, T> {
    /// W rows from row i on, or `count` rows unless `FULL`.
    ///
    /// # Safety
    /// The rows exist, and the numbers are real.
    #[inline(always)]
    unsafe fn rows<V: Lanes<Real = T::Real>, const FULL: bool>(&mut self, i: usize, count: usize) {
        let [a, b, c] = [self.sub, self.diag, self.sup].map(|array| array.as_ptr().cast::<V::Real>());
        let x = self.x.as_ptr().cast::<V::Real>();
        let [r, sums] = [&mut *self.r, &mut *self.sums].map(|array| array.as_mut_ptr().cast::<V::Real>());
        // SAFETY: the caller's promise. Real scalars are their own real type.
        unsafe {
            let a = load::<V, FULL>(a.add(i), count);
            let b = load::<V, FULL>(b.add(i), count);
            let c = load::<V, FULL>(c.add(i), count);
            let mut rest = load::<V, FULL>(r.add(i), count);
            rest = a.neg_mul_add(load::<V, FULL>(x.add(i), count), rest);
            rest = b.neg_mul_add(load::<V, FULL>(x.add(i + 1), count), rest);
            rest = c.neg_mul_add(load::<V, FULL>(x.add(i + 2), count), rest);
            let sum = a.abs() + b.abs() + c.abs();
            if FULL {
                rest.store(r.add(i));
                sum.store(sums.add(i));
            } else {
                rest.store_first(r.add(i), count);
                sum.store_first(sums.add(i), count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;

    #[test]
    fn residuals_are_those_of_their_definition() {
        let entry = |k: usize| (k as f64 * 0.7).sin();
        for (lower, upper) in [(0, 0), (1, 1), (2, 5), (8, 8), (11, 12), (12, 12), (3, 40), (33, 30)] {
            for (n, rows) in
                [(1_usize, 0_usize..1), (9, 0..9), (40, 7..40), (200, 0..200), (200, 60..130), (200, 150..200)]
            {
                let leading = lower + upper + 3;
                let bands: Vec<f64> = (0..n * leading).map(entry).collect();
                let get = |i: usize, j: usize| {
                    if i <= j + lower && j <= i + upper { bands[upper + i - j + j * leading] } else { 0.0 }
                };
                let x: Vec<f64> = (0..n).map(|k| entry(3 * k + 1)).collect();
                for (transposed, simd) in
                    [false, true].iter().flat_map(|t| Simd::ALL.iter().map(|simd| (*t, simd.or_best())))
                {
                    let [left, right] = if transposed { [upper, lower] } else { [lower, upper] };
                    let others = rows.start.saturating_sub(left)..(rows.end + right).min(n);
                    let (i, j) =
                        if transposed { (others.clone(), rows.clone()) } else { (rows.clone(), others.clone()) };
                    let (mut r, mut sums) = (vec![0.5; rows.len()], vec![0.25; rows.len()]);
                    let (a_part, x_part) = (Rectangle::of((&bands, leading), (lower, upper), i, j), &x[others]);
                    Residual { a: a_part, transposed, x: x_part, r: &mut r, sums: &mut sums }.run_on(simd);
                    for (k, i) in rows.clone().enumerate() {
                        let a = |j: usize| if transposed { get(j, i) } else { get(i, j) };
                        let product: f64 = (0..n).map(|j| a(j) * x[j]).sum();
                        let sum: f64 = (0..n).map(|j| a(j).abs()).sum();
                        // At most 74 terms below 1, rounded in any order.
                        let bound = 74.0 * 74.0 * f64::EPSILON;
                        let close = (r[k] - 0.5 + product).abs() <= bound && (sums[k] - 0.25 - sum).abs() <= bound;
                        assert!(close, "{lower} {upper} {n} {rows:?} {transposed} {simd:?} row {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn residuals_of_blocks_are_those_of_their_definition() {
        let entry = |k: usize| (k as f64 * 0.7).sin();
        for (block, block_rows) in [(1, 40), (2, 3), (2, 300), (3, 50), (5, 9), (8, 20), (9, 20), (17, 6), (40, 5)] {
            let (square, n) = (block * block, block * block_rows);
            let [sub, sup] = [3, 5].map(|k| (0..(block_rows - 1) * square).map(|i| entry(k * i)).collect::<Vec<_>>());
            let (diag, x): (Vec<_>, Vec<_>) =
                ((0..block_rows * square).map(entry).collect(), (0..n).map(|i| entry(7 * i + 1)).collect());
            let (sub, diag, sup, orientation) = (&sub[..], &diag[..], &sup[..], Orientation::Plain);
            let rows = BlockRows { block, sub, diag, sup, first: &[], last: &[], orientation };
            for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
                for first in [1, block_rows / 2] {
                    let count = block_rows - 1 - first;
                    let (mut r, mut sums) = (vec![0.5; count * block], vec![0.25; count * block]);
                    let done = BlockResidual { rows: &rows, first, x: &x, r: &mut r, sums: &mut sums }.run_on(simd);
                    // Only the last block rows are too close to the ends of the arrays.
                    let most = (512 / block).min(count);
                    assert!(done <= most && done + 16 > most, "{block} {block_rows} {simd:?}: {done} of {most}");
                    for k in 0..count * block {
                        let (mut product, mut sum) = (0.0, 0.0);
                        rows.visit_row(first * block + k, |j, a| (product, sum) = (product + a * x[j], sum + a.abs()));
                        let (of_r, of_sums) = if k < done * block { (product, sum) } else { (0.0, 0.0) };
                        // At most 120 terms below 1, rounded in any order.
                        let bound = 120.0 * 120.0 * f64::EPSILON;
                        let close = (r[k] - 0.5 + of_r).abs() <= bound && (sums[k] - 0.25 - of_sums).abs() <= bound;
                        assert!(close, "{block} {block_rows} {simd:?} row {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn residuals_of_tridiagonal_rows_are_those_of_their_definition() {
        let wave = |n: usize, by: f64| (0..n).map(|k| (k as f64 * by).sin()).collect::<Vec<_>>();
        for m in [1, 7, 8, 9, 40, 63] {
            let ([sub, diag, sup, d], x) = ([0.3, 0.5, 0.7, 0.9].map(|by| wave(m, by)), wave(m + 2, 1.1));
            for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
                let (mut r, mut sums) = (d.clone(), vec![0.0; m]);
                let (sub, diag, sup, x) = (&sub[..], &diag[..], &sup[..], &x[..]);
                TridiagonalResidual { sub, diag, sup, x, r: &mut r, sums: &mut sums }.run_on(simd);
                for k in 0..m {
                    let residual = d[k] - sub[k] * x[k] - diag[k] * x[k + 1] - sup[k] * x[k + 2];
                    // Four terms below 1, rounded in any order.
                    assert!((r[k] - residual).abs() <= 16.0 * f64::EPSILON, "{m}, {k} {simd:?}");
                    let sum: f64 = sub[k].abs() + diag[k].abs() + sup[k].abs();
                    assert!((sums[k] - sum).abs() <= 4.0 * f64::EPSILON, "{m}, {k} {simd:?}");
                }
            }
        }
    }
}
