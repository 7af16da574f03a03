//! Residuals of block tridiagonal systems in twice the working precision, column by column.
//!
//! Rows of dense blocks are so long that the rounding of a solve, and of a residual in the working precision, comes near the
//! limit of what is accepted. So the precise residual has to be about as fast as the plain one: here whole columns of
//! blocks are taken, whose entries lie side by side in registers, instead of rows, whose entries lie far apart in memory.

use crate::contract::Op;
use crate::contract::equations::{Equations, Matrix};
use crate::contract::measure::{Largest, Norm, ScaledRow, exponent, ldexp, parts, pow2};
use crate::error::Result;
use crate::matrix::{BlockTridiagonal, Shape};
use bandsolve_kernel::rows::{BlockRows, Orientation};
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{Job, Lanes, RealScalar, Scalar, Simd, dispatch};
use core::ops::Range;

/// Rows that are worked on together.
const ROWS: usize = 256;

/// Writes r = d − A·x for the rows from `first` on; returns the largest row-wise backward error among them.
pub(crate) fn residual<T: Scalar>(
    rows: &BlockRows<'_, T>,
    first: usize,
    (d, x): (&[T], &[T]),
    (norm, r): (&Norm, &mut [T]),
) -> Largest {
    let (b, end, simd) = (rows.block, first + r.len(), Simd::detect());
    let mut worst = Largest::default();
    let mut i = first;
    while i < end {
        let row = i / b;
        let stop = ((row + 1) * b).min(end).min(i + ROWS);
        let blocks = rows.blocks(row).map(|block| block.map(|(column, block)| (block, &x[column * b..][..b])));
        let (within, d) = ((i - row * b, b), &d[i..stop]);
        let r = &mut r[i - first..stop - first];
        let found = match rows.orientation {
            Orientation::Plain => dispatch::<T, _>(simd, Columns { blocks, within, d, norm, r }),
            Orientation::Transposed { conj } => dispatch::<T, _>(simd, Across { blocks, within, conj, d, norm, r }),
        };
        worst = worst.max(found);
        i = stop;
    }
    worst
}

/// As many rows of a block row as `r` is long.
struct Columns<'a, T> {
    /// Blocks and what they are multiplied by.
    blocks: [Option<(&'a [T], &'a [T])>; 3],
    /// First row within the block row, and rows of it.
    within: (usize, usize),
    d: &'a [T],
    norm: &'a Norm,
    r: &'a mut [T],
}

impl<T: Scalar> Job<T> for Columns<'_, T> {
    type Output = Largest;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Largest {
        let Self { blocks, within: (first, b), d, norm, r } = self;
        let len = r.len();
        let mut peaks = [T::Real::ZERO; ROWS];
        for (block, _) in blocks.into_iter().flatten() {
            for column in block.chunks_exact(b) {
                largest(&mut peaks[..len], &column[first..first + len]);
            }
        }
        let mut sums = Sums { scale: [0.0; ROWS], size: [0.0; ROWS], high: [[0.0; ROWS]; 2], low: [[0.0; ROWS]; 2] };
        let mut exponents = [0; ROWS];
        for i in 0..len {
            let row = exponent(peaks[i].to_f64());
            sums.scale[i] = pow2(-row);
            exponents[i] = row + norm.exponent;
            let d = parts(d[i], 1.0);
            sums.high[0][i] = ldexp(d[0], -exponents[i]);
            sums.high[1][i] = ldexp(d[1], -exponents[i]);
        }
        for (block, x) in blocks.into_iter().flatten() {
            for c in 0..b {
                let x = parts(x[c], pow2(-norm.exponent));
                // Wider than the portable vectors: there is a fused multiply-add.
                if const { size_of::<V>() > 16 } {
                    sums.subtract::<T, true>(&block[c * b + first..][..len], x);
                } else {
                    sums.subtract::<T, false>(&block[c * b + first..][..len], x);
                }
            }
        }
        let mut worst = Largest::default();
        for i in 0..len {
            let residual = [sums.high[0][i] + sums.low[0][i], sums.high[1][i] + sums.low[1][i]];
            let row = ScaledRow::sum_up(residual, (sums.size[i], norm), (d[i], exponents[i]));
            worst.add(row.error());
            r[i] = row.unscaled();
        }
        worst
    }
}

/// The same of a transposed matrix: its rows are the columns of the blocks.
struct Across<'a, T> {
    blocks: [Option<(&'a [T], &'a [T])>; 3],
    within: (usize, usize),
    conj: bool,
    d: &'a [T],
    norm: &'a Norm,
    r: &'a mut [T],
}

impl<T: Scalar> Job<T> for Across<'_, T> {
    type Output = Largest;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Largest {
        let Self { blocks, within: (first, b), conj, d, norm, r } = self;
        let x_scale = pow2(-norm.exponent);
        let mut worst = Largest::default();
        for i in 0..r.len() {
            let mut peaks = [T::Real::ZERO; LANES];
            for (block, _) in blocks.into_iter().flatten() {
                let row = &block[(first + i) * b..][..b];
                row.chunks(LANES).for_each(|row| largest(&mut peaks[..row.len()], row));
            }
            let mut peak = peaks[0];
            for k in 1..LANES {
                peak = if peaks[k] > peak { peaks[k] } else { peak };
            }
            let row_exponent = exponent(peak.to_f64());
            let mut lanes = Lane::default();
            for (block, x) in blocks.into_iter().flatten() {
                let (row, scale) = (&block[(first + i) * b..][..b], [pow2(-row_exponent), x_scale]);
                if const { size_of::<V>() > 16 } {
                    lanes.subtract::<T, true>(row, x, (scale, conj));
                } else {
                    lanes.subtract::<T, false>(row, x, (scale, conj));
                }
            }
            let exponent = row_exponent + norm.exponent;
            let d_scaled = parts(d[i], 1.0).map(|v| ldexp(v, -exponent));
            let row = ScaledRow::sum_up(lanes.total(d_scaled), (lanes.size.iter().sum(), norm), (d[i], exponent));
            worst.add(row.error());
            r[i] = row.unscaled();
        }
        worst
    }
}

/// Entries of a row that are taken together.
const LANES: usize = 8;

/// Sums of every eighth entry of one row, as in [`Sums`].
#[derive(Default)]
struct Lane {
    size: [f64; LANES],
    high: [[f64; LANES]; 2],
    low: [[f64; LANES]; 2],
}

impl Lane {
    /// Subtracts a row, or its conjugate, times x.
    #[inline(always)]
    fn subtract<T: Scalar, const FUSED: bool>(&mut self, row: &[T], x: &[T], (scale, conj): ([f64; 2], bool)) {
        let (whole, rest) = row.as_chunks::<LANES>();
        let (x_whole, x_rest) = x.as_chunks::<LANES>();
        for (row, x) in whole.iter().zip(x_whole) {
            self.subtract_few::<T, FUSED>(row, x, (scale, conj));
        }
        let (mut row, mut x) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        row[..rest.len()].copy_from_slice(rest);
        x[..rest.len()].copy_from_slice(x_rest);
        self.subtract_few::<T, FUSED>(&row, &x, (scale, conj));
    }

    #[inline(always)]
    fn subtract_few<T: Scalar, const FUSED: bool>(
        &mut self,
        row: &[T; LANES],
        x: &[T; LANES],
        (scale, conj): ([f64; 2], bool),
    ) {
        let [high, high_im] = &mut self.high;
        let [low, low_im] = &mut self.low;
        let sign = if conj { -1.0 } else { 1.0 };
        for k in 0..LANES {
            let (re, x_re) = (row[k].re().to_f64() * scale[0], x[k].re().to_f64() * scale[1]);
            add_product::<FUSED>((&mut high[k], &mut low[k]), -re, x_re);
            if !T::COMPLEX {
                self.size[k] += re.abs();
                continue;
            }
            let (im, x_im) = (row[k].im().to_f64() * (sign * scale[0]), x[k].im().to_f64() * scale[1]);
            self.size[k] += (re * re + im * im).sqrt();
            add_product::<FUSED>((&mut high[k], &mut low[k]), im, x_im);
            add_product::<FUSED>((&mut high_im[k], &mut low_im[k]), -re, x_im);
            add_product::<FUSED>((&mut high_im[k], &mut low_im[k]), -im, x_re);
        }
    }

    /// All lanes, added to d.
    #[inline(always)]
    fn total(&self, d: [f64; 2]) -> [f64; 2] {
        let mut total = [0.0; 2];
        for part in 0..2 {
            let (mut high, mut low) = (d[part], 0.0);
            for k in 0..LANES {
                add_product::<false>((&mut high, &mut low), 1.0, self.high[part][k]);
                low += self.low[part][k];
            }
            total[part] = high + low;
        }
        total
    }
}

/// The larger of each two; numbers that are none are left to what follows.
#[inline(always)]
fn largest<T: Scalar>(peaks: &mut [T::Real], column: &[T]) {
    for i in 0..peaks.len() {
        let size = peak(column[i]);
        peaks[i] = if size > peaks[i] { size } else { peaks[i] };
    }
}

/// Sums of rows: of moduli, and residuals as unevaluated pairs, of real and imaginary parts.
struct Sums {
    scale: [f64; ROWS],
    size: [f64; ROWS],
    high: [[f64; ROWS]; 2],
    low: [[f64; ROWS]; 2],
}

impl Sums {
    /// Subtracts a column times x.
    #[inline(always)]
    fn subtract<T: Scalar, const FUSED: bool>(&mut self, column: &[T], x: [f64; 2]) {
        let len = column.len();
        let (scale, size) = (&self.scale[..len], &mut self.size[..len]);
        let [high, high_im] = &mut self.high;
        let [low, low_im] = &mut self.low;
        let (high, low) = (&mut high[..len], &mut low[..len]);
        if !T::COMPLEX {
            for i in 0..len {
                let a = column[i].re().to_f64() * scale[i];
                size[i] += a.abs();
                add_product::<FUSED>((&mut high[i], &mut low[i]), -a, x[0]);
            }
            return;
        }
        let (high_im, low_im) = (&mut high_im[..len], &mut low_im[..len]);
        for i in 0..len {
            let (re, im) = (column[i].re().to_f64() * scale[i], column[i].im().to_f64() * scale[i]);
            // Scaled, so that squares neither overflow nor underflow where it matters.
            size[i] += (re * re + im * im).sqrt();
            add_product::<FUSED>((&mut high[i], &mut low[i]), -re, x[0]);
            add_product::<FUSED>((&mut high[i], &mut low[i]), im, x[1]);
            add_product::<FUSED>((&mut high_im[i], &mut low_im[i]), -re, x[1]);
            add_product::<FUSED>((&mut high_im[i], &mut low_im[i]), -im, x[0]);
        }
    }
}

/// high + low += a·b, with the rounding errors of the product and of the sum.
#[inline(always)]
fn add_product<const FUSED: bool>((high, low): (&mut f64, &mut f64), a: f64, b: f64) {
    let product = a * b;
    let lost_in_product = if FUSED { a.mul_add(b, -product) } else { crate::contract::measure::lost(a, b, product) };
    let sum = *high + product;
    let back = sum - *high;
    let lost_in_sum = (*high - (sum - back)) + (product - back);
    *low += lost_in_product + lost_in_sum;
    *high = sum;
}

/// Rows of a block from which residuals are formed precisely at once.
const PRECISE_FROM: usize = 32;

impl<T: Scalar> Matrix<T> for BlockTridiagonal<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn equations(&self, op: Op) -> impl Equations<T> {
        op.block_rows(self)
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}

impl<T: Scalar> Equations<T> for BlockRows<'_, T> {
    fn entries_in_row(&self) -> usize {
        3 * self.block
    }

    fn prefers_precise(&self) -> bool {
        self.block >= PRECISE_FROM && !self.shares_columns()
    }

    fn precise_residual(&self, first_row: usize, system: (&[T], &[T]), out: (&Norm, &mut [T])) -> Option<Largest> {
        (!self.shares_columns()).then(|| residual(self, first_row, system, out))
    }

    fn visit_row(&self, i: usize, visit: impl FnMut(usize, T)) {
        BlockRows::visit_row(self, i, visit);
    }

    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
        let (b, end) = (self.block, first_row + r.len());
        let shared_columns = self.shares_columns();
        let mut i = first_row;
        while i < end {
            let row = i / b;
            let stop = ((row + 1) * b).min(end);
            let span = i - first_row..stop - first_row;
            if shared_columns {
                for k in span.clone() {
                    self.visit_row(first_row + k, |j, a| {
                        r[k] -= a * x[j];
                        sums[k] += T::from_real(a.abs1());
                    });
                }
            } else {
                for (column, block) in self.blocks(row).into_iter().flatten() {
                    let out = (&mut r[span.clone()], &mut sums[span.clone()]);
                    accumulate_block(self, block, i - row * b..stop - row * b, &x[column * b..][..b], out);
                }
            }
            i = stop;
        }
    }
}

/// Subtracts block·x from `r` and adds the moduli of its rows to `sums`, for the rows `rows` of the block.
fn accumulate_block<T: Scalar>(
    matrix: &BlockRows<'_, T>,
    block: &[T],
    rows: Range<usize>,
    x: &[T],
    (r, sums): (&mut [T], &mut [T]),
) {
    let b = matrix.block;
    if matrix.orientation == Orientation::Plain {
        for (column, x) in block.chunks_exact(b).zip(x) {
            for ((r, sum), a) in r.iter_mut().zip(&mut *sums).zip(&column[rows.clone()]) {
                *r -= *a * *x;
                *sum += T::from_real(a.abs1());
            }
        }
        return;
    }
    for ((r, sum), i) in r.iter_mut().zip(sums).zip(rows) {
        for (c, x) in x.iter().enumerate() {
            let a = matrix.entry(block, i, c);
            *r -= a * *x;
            *sum += T::from_real(a.abs1());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::measure::residual;
    use crate::{BlockTridiagonal, Complex32, Complex64};

    /// Equations that are only read row by row.
    struct Slow<'a, T>(BlockRows<'a, T>);

    impl<T: Scalar> Equations<T> for Slow<'_, T> {
        fn visit_row(&self, i: usize, visit: impl FnMut(usize, T)) {
            self.0.visit_row(i, visit);
        }

        fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
            self.0.accumulate(first_row, x, r, sums);
        }
    }

    fn check<T: Scalar>(rows: usize, block: usize, periodic: bool) {
        let wave = |i: usize, by: f64| T::Real::from_f64(((i * i) as f64 * by).sin());
        let array = |k: usize| {
            let power = |i: usize| T::Real::from_f64(2f64.powi((i % block * 7 % 60) as i32 - 30));
            let entry = |i: usize| T::from_parts(wave(i + k, 0.37), wave(i + k, 0.71)).scale(power(i));
            (0..rows * block * block).map(entry).collect::<Vec<_>>()
        };
        let a = BlockTridiagonal::from_vecs(block, [1, 2, 3].map(array), periodic).unwrap();
        let x: Vec<T> = (0..a.n()).map(|i| T::from_parts(wave(i, 0.3), wave(i, 0.9))).collect();
        // Nearly the right-hand side of x: what is left is rounding, with few digits in the working precision.
        let d = a.apply(&x).unwrap();
        let rows = a.rows();
        check_rows(rows, (&d, &x));
        for conj in [false, true] {
            let rows = rows.transposed(conj);
            let mut d = vec![T::ZERO; x.len()];
            for (i, d) in d.iter_mut().enumerate() {
                rows.visit_row(i, |j, a| *d += a * x[j]);
            }
            check_rows(rows, (&d, &x));
        }
    }

    fn check_rows<T: Scalar>(rows: BlockRows<'_, T>, (d, x): (&[T], &[T])) {
        let (mut fast, mut slow) = (d.to_vec(), d.to_vec());
        let eta = residual(&rows, (d, x), &mut fast, false);
        let expected = residual(&Slow(rows), (d, x), &mut slow, false);
        let (rows, block) = (rows.block_rows(), rows.block);
        assert!((eta - expected).abs() <= 1e-6 * expected, "{} {rows} × {block}: {eta:e}, {expected:e}", T::NAME);
        for (i, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
            let size = slow.abs1().to_f64();
            let limit = 1e-6 * size + 1e-27 * (block as f64) * d[i].abs1().to_f64();
            assert!((*fast - *slow).abs1().to_f64() <= limit, "{} row {i}: {fast:?}, {slow:?}", T::NAME);
        }
    }

    #[test]
    fn the_same_as_row_by_row() {
        for (rows, block) in [(1, 3), (4, 1), (3, 40), (9, 64), (3, 300)] {
            for periodic in [false, rows > 2] {
                check::<f64>(rows, block, periodic);
                check::<f32>(rows, block, periodic);
                check::<Complex64>(rows, block, periodic);
                check::<Complex32>(rows, block, periodic);
            }
        }
    }
}
