//! Residuals of block tridiagonal systems in twice the working precision, column by column.
//!
//! Rows of dense blocks are long. Rounding errors of a solve, and of a residual in the working precision, therefore
//! come near the accepted limit. The precise residual must be approximately as fast as the plain one. It is computed by
//! columns of blocks, whose entries are adjacent in registers. The entries of rows are far apart in memory.

use super::{Job, Simd};
use crate::exact::{NormalizedRow, RunningMaximum, ScaledNorm, exponent, ldexp, lost, parts, pow2};
use crate::job::kernel;
use crate::number::{Lanes, RealScalar, Scalar};
use crate::rows::{BlockRows, Orientation};
use crate::scalar::peak;

/// Number of rows that are processed as a group.
const ROWS: usize = 256;

/// The residual r = d − A·x of as many rows as `r` has, from row `first` on.
pub struct PreciseResidual<'a, T: Scalar> {
    pub rows: &'a BlockRows<'a, T>,
    pub first: usize,
    pub d: &'a [T],
    pub x: &'a [T],
    /// ‖x‖∞
    pub norm: &'a ScaledNorm,
    pub r: &'a mut [T],
}

/// Write r. Returns the largest row-wise backward error of its rows.
pub fn residual<T: Scalar>(simd: Simd, job: PreciseResidual<'_, T>) -> RunningMaximum {
    let PreciseResidual { rows, first, d, x, norm, r } = job;
    let (b, end) = (rows.block, first + r.len());
    let mut worst = RunningMaximum::default();
    let mut i = first;
    while i < end {
        let row = i / b;
        let stop = ((row + 1) * b).min(end).min(i + ROWS);
        let blocks = rows.blocks(row).map(|block| block.map(|(column, block)| (block, &x[column * b..][..b])));
        let (within, d) = ((i - row * b, b), &d[i..stop]);
        let r = &mut r[i - first..stop - first];
        let orientation = rows.orientation;
        worst = worst.max(BlockRow { blocks, within, orientation, d, norm, r }.run_on(simd));
        i = stop;
    }
    worst
}

/// A part of a block row with as many rows as `r`.
pub struct BlockRow<'a, T> {
    /// The blocks and the vectors by which they are multiplied.
    blocks: [Option<(&'a [T], &'a [T])>; 3],
    /// The first row within the block row, and the number of rows.
    within: (usize, usize),
    orientation: Orientation,
    d: &'a [T],
    norm: &'a ScaledNorm,
    r: &'a mut [T],
}

kernel!(BlockRowKernel: BlockRow<'a> => RunningMaximum);

impl<T: Scalar> Job<T> for BlockRow<'_, T> {
    type Output = RunningMaximum;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> RunningMaximum {
        match self.orientation {
            Orientation::Plain => self.by_columns::<V>(),
            Orientation::Transposed { conj } => self.across::<V>(conj),
        }
    }
}

impl<T: Scalar> BlockRow<'_, T> {
    /// Use whole columns of the blocks, whose entries are adjacent.
    #[inline(always)]
    fn by_columns<V: Lanes<Real = T::Real>>(self) -> RunningMaximum {
        let Self { blocks, within: (first, b), d, norm, r, .. } = self;
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
                if const { V::FUSED } {
                    sums.subtract::<T, true>(&block[c * b + first..][..len], x);
                } else {
                    sums.subtract::<T, false>(&block[c * b + first..][..len], x);
                }
            }
        }
        let mut worst = RunningMaximum::default();
        for i in 0..len {
            let residual = [sums.high[0][i] + sums.low[0][i], sums.high[1][i] + sums.low[1][i]];
            let row = NormalizedRow::sum_up(residual, (sums.size[i], norm), (d[i], exponents[i]));
            worst.add(row.error());
            r[i] = row.unscaled();
        }
        worst
    }

    /// The rows of a transposed matrix are the columns of the blocks.
    #[inline(always)]
    fn across<V: Lanes<Real = T::Real>>(self, conj: bool) -> RunningMaximum {
        let Self { blocks, within: (first, b), d, norm, r, .. } = self;
        let x_scale = pow2(-norm.exponent);
        let mut worst = RunningMaximum::default();
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
                if const { V::FUSED } {
                    lanes.subtract::<T, true>(row, x, (scale, conj));
                } else {
                    lanes.subtract::<T, false>(row, x, (scale, conj));
                }
            }
            let exponent = row_exponent + norm.exponent;
            let d_scaled = parts(d[i], 1.0).map(|v| ldexp(v, -exponent));
            let row = NormalizedRow::sum_up(lanes.total(d_scaled), (lanes.size.iter().sum(), norm), (d[i], exponent));
            worst.add(row.error());
            r[i] = row.unscaled();
        }
        worst
    }
}

/// Number of entries of a row that are processed as a group.
const LANES: usize = 8;

/// Sums of every eighth entry of one row, as in [`Sums`].
#[derive(Default)]
struct Lane {
    size: [f64; LANES],
    high: [[f64; LANES]; 2],
    low: [[f64; LANES]; 2],
}

impl Lane {
    /// Subtract a row, or its conjugate, times x.
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

    /// The sum of all lanes and d.
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

/// The larger of each pair. NaN is left to later steps.
#[inline(always)]
fn largest<T: Scalar>(peaks: &mut [T::Real], column: &[T]) {
    for i in 0..peaks.len() {
        let size = peak(column[i]);
        peaks[i] = if size > peaks[i] { size } else { peaks[i] };
    }
}

/// Sums of rows: of moduli, and of residuals as unevaluated pairs, for real and imaginary parts.
struct Sums {
    scale: [f64; ROWS],
    size: [f64; ROWS],
    high: [[f64; ROWS]; 2],
    low: [[f64; ROWS]; 2],
}

impl Sums {
    /// Subtract a column times x.
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
            // The values are scaled, so that squares neither overflow nor underflow where it matters.
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
    let lost_in_product = if FUSED { a.mul_add(b, -product) } else { lost(a, b, product) };
    let sum = *high + product;
    let back = sum - *high;
    let lost_in_sum = (*high - (sum - back)) + (product - back);
    *low += lost_in_product + lost_in_sum;
    *high = sum;
}
