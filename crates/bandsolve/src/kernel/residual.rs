//! Residuals of banded systems, in the working precision, and the sums of moduli that they are measured by.

use super::Job;
use super::dense::{dot, subtract_multiple, sum_of_moduli};
use super::lanes::Lanes;
use super::take::{Rectangle, rows_of};
use crate::scalar::Scalar;
use core::ops::Range;

/// r ← r − A·x and s ← s + Σ|a_ij| for the rows of a rectangle that is not reversed; of real numbers.
pub struct Residual<'a, T: Scalar> {
    pub a: Rectangle<'a, T>,
    /// Rows and columns change places: Aᵀ·x, one row of it for every column.
    pub transposed: bool,
    pub x: &'a [T],
    pub r: &'a mut [T],
    pub sums: &'a mut [T],
}

impl<T: Scalar> Job<T> for Residual<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
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
                let next = match (self.a.lower + self.a.upper + 1).div_ceil(V::W) {
                    1 => self.slide::<V, 1>(j..columns),
                    2 => self.slide::<V, 2>(j..columns),
                    3 => self.slide::<V, 3>(j..columns),
                    _ => self.together::<V>(j..columns),
                };
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

impl<T: Scalar> Residual<'_, T> {
    /// Takes W columns that all reach as far up and down, if there are so many; returns the first left out.
    #[inline(always)]
    fn together<V: Lanes<Real = T::Real>>(&mut self, columns: Range<usize>) -> usize {
        let (a, j) = (self.a, columns.start);
        let Some((first, height)) = a.alike(&columns, V::W) else { return j };
        let rows = height + V::W - 1;
        let r = self.r[first..first + rows].as_mut_ptr().cast::<V::Real>();
        let s = self.sums[first..first + rows].as_mut_ptr().cast::<V::Real>();
        let x = &self.x[j..j + V::W];
        // SAFETY: real scalars are their own real type; of rows and columns only what is there is touched.
        unsafe {
            for row in (0..rows).step_by(V::W) {
                a.ask_for_next::<V>(j, row);
                let count = V::W.min(rows - row);
                let (mut residual, mut sum) = (V::load_first(r.add(row), count), V::load_first(s.add(row), count));
                if row > 0 && row + V::W <= height {
                    for c in 0..V::W {
                        let v = a.rows_at::<V>(first + row, j + c);
                        residual = V::splat(x[c].re()).neg_mul_add(v, residual);
                        sum = sum + v.abs();
                    }
                } else {
                    for c in 0..V::W {
                        if let Some(v) = rows_of::<V, T>((c, a.column(j + c).1), row, false) {
                            residual = V::splat(x[c].re()).neg_mul_add(v, residual);
                            sum = sum + v.abs();
                        }
                    }
                }
                residual.store_first(r.add(row), count);
                sum.store_first(s.add(row), count);
            }
        }
        j + V::W
    }

    /// Takes as many of the columns, from the first on, as all reach as far up and down; returns the first left out.
    ///
    /// As in [`take`](super::take), M vectors of rows stay in registers.
    #[inline(always)]
    fn slide<V: Lanes<Real = T::Real>, const M: usize>(&mut self, columns: Range<usize>) -> usize {
        let (a, height) = (self.a, self.a.lower + self.a.upper + 1);
        let end = columns.end.min(a.rows.saturating_sub(a.lower + 1));
        if columns.start < a.upper || columns.start >= end {
            return columns.start;
        }
        let (first, rest) = (columns.start - a.upper, height - (M - 1) * V::W);
        let last = end - 1 - a.upper + height;
        assert!(last < self.r.len() && last < self.sums.len() && end <= self.x.len(), "rows and columns");
        let [down, down_last] = super::take::down::<V>(rest);
        let [mut r, mut s]: [*mut V::Real; 2] =
            [self.r[first..].as_mut_ptr().cast(), self.sums[first..].as_mut_ptr().cast()];
        let zero = V::splat(<V::Real as Scalar>::ZERO);
        let (mut residual, mut sum) = ([zero; M], [zero; M]);
        // SAFETY: real scalars are their own real type; the rows of the last column and one more were looked up.
        unsafe {
            for m in 0..M - 1 {
                (residual[m], sum[m]) = (V::load(r.add(m * V::W)), V::load(s.add(m * V::W)));
            }
            let (m, at) = (M - 1, (M - 1) * V::W);
            (residual[m], sum[m]) = (V::load_first(r.add(at), rest), V::load_first(s.add(at), rest));
            for j in columns.start..end {
                let column = a.column(j).1.as_ptr().cast::<V::Real>();
                let x = V::splat(self.x[j].re());
                for m in 0..M {
                    let at = column.add(m * V::W);
                    let v = if m + 1 < M { V::load(at) } else { V::load_first(at, rest) };
                    residual[m] = x.neg_mul_add(v, residual[m]);
                    sum[m] = sum[m] + v.abs();
                }
                (*r, *s) = (residual[0].first(), sum[0].first());
                for m in 0..M - 1 {
                    residual[m] = residual[m].permute(residual[m + 1], down);
                    sum[m] = sum[m].permute(sum[m + 1], down);
                }
                residual[M - 1] = residual[M - 1].permute(V::splat(*r.add(height)), down_last);
                sum[M - 1] = sum[M - 1].permute(V::splat(*s.add(height)), down_last);
                (r, s) = (r.add(1), s.add(1));
            }
            for m in 0..M - 1 {
                residual[m].store(r.add(m * V::W));
                sum[m].store(s.add(m * V::W));
            }
            residual[M - 1].store_first(r.add(at), rest);
            sum[M - 1].store_first(s.add(at), rest);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernels, Simd};
    use crate::matrix::Banded;

    #[test]
    fn residuals_are_those_of_their_definition() {
        let entry = |k: usize| (k as f64 * 0.7).sin();
        for (lower, upper) in [(0, 0), (1, 1), (2, 5), (8, 8), (11, 12), (12, 12), (3, 40), (33, 30)] {
            for (n, rows) in
                [(1_usize, 0_usize..1), (9, 0..9), (40, 7..40), (200, 0..200), (200, 60..130), (200, 150..200)]
            {
                let bands: Vec<f64> = (0..n * (lower + upper + 3)).map(entry).collect();
                let a = Banded::with_leading(n, lower, upper, lower + upper + 3, &bands).unwrap();
                let x: Vec<f64> = (0..n).map(|k| entry(3 * k + 1)).collect();
                for (transposed, simd) in [false, true].iter().flat_map(|t| Simd::ALL.map(|simd| (*t, simd.or_best())))
                {
                    let [left, right] = if transposed { [upper, lower] } else { [lower, upper] };
                    let others = rows.start.saturating_sub(left)..(rows.end + right).min(n);
                    let (i, j) =
                        if transposed { (others.clone(), rows.clone()) } else { (rows.clone(), others.clone()) };
                    let (mut r, mut sums) = (vec![0.5; rows.len()], vec![0.25; rows.len()]);
                    let (a_part, x_part) = (Rectangle::of(&a, i, j), &x[others]);
                    f64::residual(simd, Residual { a: a_part, transposed, x: x_part, r: &mut r, sums: &mut sums });
                    for (k, i) in rows.clone().enumerate() {
                        let a = |j: usize| if transposed { a.get(j, i) } else { a.get(i, j) };
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
}
