//! A few columns of a Hermitian positive definite band, eliminated one after the other without exchanges.

use super::Job;
use super::columns::Pieces;
use super::dense::Product;
use super::lanes::Lanes;
use super::vectors::subtract_multiple;
use crate::Simd;
use crate::scalar::{RealScalar, Scalar};
use crate::view::{View, ViewMut};

/// Columns of the lower triangle under elimination: what is left of A becomes L, with D in place of its ones.
///
/// $$ A = L\,D\,L^H,\qquad l_{ik} = a_{ik} / d_k,\qquad a_{ij} \leftarrow a_{ij} - a_{ik}\,\overline{a_{jk}} / d_k $$
///
/// Element (i, c), counted from the diagonal element of the first column, is `region[i + c·stride]`.
pub struct Definite<'a, T: Scalar> {
    /// The columns' elements, from the first diagonal one on.
    pub region: &'a mut [T],
    /// From column to column.
    pub stride: usize,
    /// Rows of the matrix from the first column's on.
    pub rows: usize,
    /// Columns that are updated.
    pub columns: usize,
    /// Elements below the diagonal.
    pub lower: usize,
    /// Zeros after the last element of every column, so many that a vector that begins in the column ends there, and the same
    /// beyond the last row: then all is done by whole vectors. Of real numbers.
    pub padded: bool,
    /// 1/d of the columns that are eliminated.
    pub inverse: &'a mut [T],
}

impl<T: Scalar> Job<T> for Definite<'_, T> {
    type Output = Option<usize>;

    /// Returns the first column whose pivot is not a positive number, where elimination ends.
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> Option<usize> {
        let mut k = 0;
        while k < self.inverse.len() && self.eliminate::<V>(k) {
            k += 1;
        }
        (k < self.inverse.len()).then_some(k)
    }
}

impl<T: Scalar> Definite<'_, T> {
    /// Eliminates column k; false if its pivot is not a positive number.
    #[inline(always)]
    fn eliminate<V: Lanes<Real = T::Real>>(&mut self, k: usize) -> bool {
        let (step, height) = (self.stride + 1, (1 + self.lower).min(self.rows - k));
        let column = &mut self.region[k * step..];
        let pivot = column[0].re();
        if !(pivot > T::Real::ZERO && pivot <= T::Real::MAX) {
            return false;
        }
        // 1/d of a number that is not normal would overflow.
        let lift = if pivot < T::Real::MIN_POSITIVE { T::Real::ONE / T::Real::EPSILON } else { T::Real::ONE };
        let inverse = T::Real::ONE / (pivot * lift);
        self.inverse[k] = T::from_real(inverse * lift);
        if self.padded && !T::COMPLEX {
            let count = self.lower.min(self.columns - k - 1);
            assert!(V::W <= step - self.lower && (count + 1) * step <= column.len(), "whole vectors");
            // SAFETY: real scalars are their own real type; the last vector of the last column was looked up.
            unsafe { whole_vectors::<V>(column.as_mut_ptr().cast(), (step, self.lower, count), [lift, inverse]) };
            return true;
        }
        let (column, right) = column.split_at_mut(step.min(column.len()));
        let below = &mut column[1..height];
        for c in 0..below.len().min(self.columns - k - 1) {
            let factor = Scalar::conj(below[c]).scale(lift).scale(inverse);
            subtract_multiple::<V, T>(&mut right[c * step..], factor, &below[c..]);
        }
        below.iter_mut().for_each(|l| *l = l.scale(lift).scale(inverse));
        true
    }
}

/// Subtracts a column from the `count` columns after it, then divides it by its pivot.
///
/// # Safety
/// `step` numbers of every column are readable and writable, and a vector that begins with one of the first `lower` + 1 ends there.
#[inline(always)]
unsafe fn whole_vectors<V: Lanes>(
    column: *mut V::Real,
    (step, lower, count): (usize, usize, usize),
    [lift, inverse]: [V::Real; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        for c in 0..count {
            let factor = V::splat(*column.add(1 + c) * lift * inverse);
            let to = column.add((1 + c) * step);
            for m in (0..lower - c).step_by(V::W) {
                let v = V::load(column.add(1 + c + m));
                factor.neg_mul_add(v, V::load(to.add(m))).store(to.add(m));
            }
        }
        for m in (0..lower).step_by(V::W) {
            let to = column.add(1 + m);
            (V::load(to) * V::splat(lift) * V::splat(inverse)).store(to);
        }
    }
}

/// Eliminates a block of columns, and updates those after it that it reaches:
/// A₂₂ ← A₂₂ − L₂₁·U₁₂ with U₁₂ = D·L₂₁ᴴ, from the diagonal of each piece of columns down. Returns the first column of the block
/// whose pivot is not a positive number, where elimination ends.
///
/// What of a piece stands above the diagonal is written to. `u` is scratch: `lower` numbers for each column of the block.
pub fn eliminate_block<T: Scalar>(simd: Simd, job: Definite<'_, T>, u: &mut [T], pieces: Pieces) -> Option<usize> {
    let Definite { region, stride, rows, lower, padded, inverse, .. } = job;
    let width = inverse.len();
    let block = Definite { region: &mut *region, stride, rows, columns: width, lower, padded, inverse };
    let bad = T::definite(simd, block);
    let count = lower.min(rows - width);
    if bad.is_some() || count == 0 {
        return bad;
    }
    let (left, right) = region.split_at_mut(width * stride);
    let u = &mut u[..width * count];
    for c in 0..width {
        let (pivot, column) = (left[c * (stride + 1)].re(), &left[c * stride + width..][..count]);
        u[c..].iter_mut().step_by(width).zip(column).for_each(|(u, l)| *u = Scalar::conj(*l).scale(pivot));
    }
    let l = View::with_stride(left, width + count, width, stride);
    let (l21, u) = (l.rows(width..width + count), View::new(u, width, count));
    pieces.each(right, stride, (count, count), |piece, own| {
        let first = piece * pieces.columns;
        let end = count.min(first + pieces.columns);
        let c = ViewMut::with_stride(&mut own[width + first..], count - first, end - first, stride);
        T::dense_product(simd, Product::subtract(c, l21.rows(first..count), u.part(0..width, first..end)));
    });
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Complex64, Kernels};

    /// (3 + i, j) of a Hermitian band that is dominant.
    fn entry(i: usize, j: usize) -> Complex64 {
        let wave = |by: f64| ((i * 7 + j * 3) as f64 * by).sin();
        if i == j { Complex64::new(20.0 + wave(0.3), 0.0) } else { Complex64::new(wave(0.7), wave(1.3)) }
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        for (n, lower) in [(1, 0), (5, 2), (12, 11), (40, 8), (40, 17)] {
            for simd in Simd::ALL.map(Simd::or_best) {
                let index = |i: usize, j: usize| i + j * lower.max(1);
                let mut region = vec![Complex64::ZERO; (n + 1) * (lower.max(1) + 1)];
                for (i, j) in (0..n).flat_map(|j| (j..(j + lower + 1).min(n)).map(move |i| (i, j))) {
                    region[index(i, j)] = entry(i, j);
                }
                let mut inverse = vec![Complex64::ZERO; n];
                let job = Definite {
                    region: &mut region,
                    stride: lower.max(1),
                    rows: n,
                    columns: n,
                    lower,
                    padded: false,
                    inverse: &mut inverse,
                };
                assert_eq!(Complex64::definite(simd, job), None);
                let l = |i: usize, k: usize| match i {
                    i if i == k => Complex64::ONE,
                    i if i > k && i - k <= lower => region[index(i, k)],
                    _ => Complex64::ZERO,
                };
                for (i, j) in (0..n).flat_map(|j| (j..(j + lower + 1).min(n)).map(move |i| (i, j))) {
                    let sum: Complex64 = (0..=j).map(|k| l(i, k) * l(j, k).conj() / inverse[k]).sum();
                    // At most 18 terms below 22, rounded some times each.
                    assert!((sum - entry(i, j)).norm() <= 18.0 * 22.0 * 4.0 * f64::EPSILON, "{n} {lower} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn the_first_pivot_that_is_not_positive_is_named() {
        for (bad, value) in [(0, 0.0), (3, -1.0), (6, f64::NAN), (2, f64::INFINITY)] {
            let mut region = vec![0.0; 30];
            (0..8).for_each(|j| region[3 * j] = if j == bad { value } else { 2.0 });
            let mut inverse = [0.0; 8];
            let job = Definite {
                region: &mut region,
                stride: 2,
                rows: 8,
                columns: 8,
                lower: 2,
                padded: false,
                inverse: &mut inverse,
            };
            assert_eq!(f64::definite(Simd::Portable, job), Some(bad));
        }
    }

    #[test]
    fn whole_vectors_do_what_single_numbers_do() {
        for (n, lower) in [(5, 2), (40, 8), (33, 17)] {
            for simd in Simd::ALL.map(Simd::or_best) {
                let [compact, padded] = [(lower, false), (lower + 20, true)].map(|(stride, padded)| {
                    let index = |i: usize, j: usize| i + j * stride;
                    let mut region = vec![0.0; (n + lower + 2) * (stride + 1)];
                    for (i, j) in (0..n).flat_map(|j| (j..(j + lower + 1).min(n)).map(move |i| (i, j))) {
                        region[index(i, j)] = entry(i, j).re;
                    }
                    let mut inverse = vec![0.0; n];
                    let job = Definite {
                        region: &mut region,
                        stride,
                        rows: n,
                        columns: n,
                        lower,
                        padded,
                        inverse: &mut inverse,
                    };
                    assert_eq!(f64::definite(simd, job), None);
                    let column = |j: usize| (j..(j + lower + 1).min(n)).map(move |i| (i, j));
                    (0..n).flat_map(column).map(|(i, j)| region[index(i, j)]).collect::<Vec<_>>()
                });
                // Products are rounded before or after they are subtracted; pivots are above 10.
                assert!(compact.iter().zip(&padded).all(|(a, b)| (a - b).abs() <= 1e-13), "{n} {lower}");
            }
        }
    }
}
