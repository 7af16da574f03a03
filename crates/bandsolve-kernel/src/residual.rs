//! Residuals of banded systems in the working precision, and the sums of moduli for their backward errors.

use super::Job;
use super::band_rectangle::Rectangle;
use super::row_gather::{RowGather, gather_rows};
use super::vectors::{dot, subtract_multiple, sum_of_moduli};
use crate::job::kernel;
use crate::number::{Lanes, Scalar};

/// r ← r − A·x and s ← s + Σ|a_ij| for the rows of a rectangle of real numbers that is not reversed.
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
                for (transposed, simd) in [false, true].iter().flat_map(|t| Simd::ALL.map(|simd| (*t, simd.or_best())))
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
}
