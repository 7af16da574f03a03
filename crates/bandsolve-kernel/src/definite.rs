//! LDLᴴ factorization of a few columns of a Hermitian positive definite band, without row exchanges.

use super::Job;
use super::columns::Pieces;
use super::dense::Product;
use super::vectors::subtract_multiple;
use crate::Simd;
use crate::job::kernel;
use crate::number::{Lanes, RealScalar, Scalar};
use crate::view::{View, ViewMut};

/// Columns of the lower triangle. The factorization replaces A by L, with D in place of the unit diagonal:
///
/// A = L·D·Lᴴ, lᵢₖ = aᵢₖ / dₖ, aᵢⱼ ← aᵢⱼ − aᵢₖ · conj(aⱼₖ) / dₖ.
///
/// Element (i, c), counted from the diagonal element of the first column, is `region[i + c·stride]`.
pub struct Definite<'a, T: Scalar> {
    /// The elements of the columns, from the first diagonal element on.
    pub region: &'a mut [T],
    /// Distance between neighboring columns.
    pub stride: usize,
    /// Number of rows of the matrix, from the first column's diagonal on.
    pub rows: usize,
    /// Number of columns that are updated.
    pub columns: usize,
    /// Number of elements below the diagonal.
    pub lower: usize,
    /// Number of zeros after the last element of every column, and beyond the last row. With [`padding`] zeros and real
    /// numbers, all operations use whole vectors.
    pub zeros: usize,
    /// 1/d of the eliminated columns.
    pub inverse: &'a mut [T],
}

/// Number of columns of a panel. Each column of a panel is updated with all previous ones in one pass.
const PANEL: usize = 8;

/// Number of zeros needed after the last element of a column. Vectors, blocks of `block` columns and their panels
/// access these zeros.
pub fn padding<T: Scalar>(simd: Simd, block: usize) -> usize {
    let panel = if block > 1 { PANEL - 1 } else { 0 };
    if T::COMPLEX { block - 1 } else { (T::lanes(simd) - 1 + panel).max(block - 1) }
}

kernel!(DefiniteKernel: Definite<'a> => Option<usize>);

impl<T: Scalar> Job<T> for Definite<'_, T> {
    type Output = Option<usize>;

    /// Returns the first column whose pivot is not a positive number. The elimination ends there.
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> Option<usize> {
        let panel = self.columns == self.inverse.len() && self.columns <= PANEL;
        if !T::COMPLEX && panel && self.zeros >= V::W - 1 + PANEL - 1 {
            return self.panel::<V>();
        }
        let mut k = 0;
        while k < self.inverse.len() && self.eliminate::<V>(k) {
            k += 1;
        }
        (k < self.inverse.len()).then_some(k)
    }
}

impl<T: Scalar> Definite<'_, T> {
    /// Eliminate a panel without columns after it.
    #[inline(always)]
    fn panel<V: Lanes<Real = T::Real>>(&mut self) -> Option<usize> {
        let (step, width, lower) = (self.stride + 1, self.inverse.len(), self.lower);
        assert!(
            V::W + lower <= step && width * step <= self.region.len(),
            "a vector reaches beyond the band's elements"
        );
        let first = self.region.as_mut_ptr().cast::<V::Real>();
        let mut pivots = [T::Real::ZERO; PANEL];
        for c in 0..width {
            // SAFETY: real scalars are their own real type, and the assertion checked the last vector of the last
            // column.
            let inverse = unsafe {
                match c {
                    0 => column::<V, 0>(first, (step, lower), &mut pivots),
                    1 => column::<V, 1>(first, (step, lower), &mut pivots),
                    2 => column::<V, 2>(first, (step, lower), &mut pivots),
                    3 => column::<V, 3>(first, (step, lower), &mut pivots),
                    4 => column::<V, 4>(first, (step, lower), &mut pivots),
                    5 => column::<V, 5>(first, (step, lower), &mut pivots),
                    6 => column::<V, 6>(first, (step, lower), &mut pivots),
                    _ => column::<V, 7>(first, (step, lower), &mut pivots),
                }
            };
            match inverse {
                Some(inverse) => self.inverse[c] = T::from_real(inverse),
                None => return Some(c),
            }
        }
        None
    }

    /// Eliminate column k. Returns false if its pivot is not a positive number.
    #[inline(always)]
    fn eliminate<V: Lanes<Real = T::Real>>(&mut self, k: usize) -> bool {
        let (step, height) = (self.stride + 1, (1 + self.lower).min(self.rows - k));
        let column = &mut self.region[k * step..];
        let Some([lift, inverse]) = reciprocal(column[0].re()) else { return false };
        self.inverse[k] = T::from_real(inverse * lift);
        if !T::COMPLEX && self.zeros >= V::W - 1 {
            let count = self.lower.min(self.columns - k - 1);
            assert!(
                V::W <= step - self.lower && (count + 1) * step <= column.len(),
                "a vector reaches beyond the band's elements"
            );
            // SAFETY: real scalars are their own real type, and the assertion checked the last vector of the last
            // column.
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

/// For a positive number, a factor and the reciprocal of its product with this factor. 1/d of a subnormal number would
/// overflow.
#[inline(always)]
fn reciprocal<R: RealScalar>(pivot: R) -> Option<[R; 2]> {
    let lift = if pivot < R::MIN_POSITIVE { R::ONE / R::EPSILON } else { R::ONE };
    (pivot > R::ZERO && pivot <= R::MAX).then(|| [lift, R::ONE / (pivot * lift)])
}

/// Update column C of a panel with the previous ones, whose `pivots` are known, and divide it by its own pivot.
///
/// Returns 1/d, or `None` if d is not positive.
///
/// # Safety
/// `step` numbers of every column are readable and writable. They contain each vector that begins with one of the first
/// `lower` + 1 numbers of column C.
#[inline(always)]
unsafe fn column<V: Lanes, const C: usize>(
    first: *mut V::Real,
    (step, lower): (usize, usize),
    pivots: &mut [V::Real; PANEL],
) -> Option<V::Real> {
    // SAFETY: the caller's promise; row r of column k is r − k elements after its diagonal element.
    unsafe {
        let diagonal = first.add(C * step);
        let (mut pivot, mut factors, mut columns) = (*diagonal, [V::splat(V::Real::ZERO); C], [first.cast_const(); C]);
        for k in 0..C {
            columns[k] = first.add(k * step + C - k);
            let factor = *columns[k] * pivots[k];
            pivot -= factor * *columns[k];
            factors[k] = V::splat(factor);
        }
        let [lift, inverse] = reciprocal(pivot)?;
        (*diagonal, pivots[C]) = (pivot, pivot);
        let by = [V::splat(lift), V::splat(inverse)];
        for m in (1..=lower).step_by(V::W) {
            let mut v = V::load(diagonal.add(m));
            for k in 0..C {
                v = factors[k].neg_mul_add(V::load(columns[k].add(m)), v);
            }
            (v * by[0] * by[1]).store(diagonal.add(m));
        }
        Some(inverse * lift)
    }
}

/// Subtract a column from the `count` columns after it, then divide it by its pivot.
///
/// # Safety
/// `step` numbers of every column are readable and writable. They contain each vector that begins with one of the first
/// `lower` + 1.
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

/// Eliminate a block of columns panel by panel, and update the columns after it within its reach.
///
/// Returns the first column of the block whose pivot is not a positive number. The elimination ends there.
///
/// The elements of each piece above the diagonal are overwritten. `u` is scratch memory: `lower` numbers for each
/// column of the block.
pub fn eliminate_block<T: Scalar>(simd: Simd, job: Definite<'_, T>, u: &mut [T], pieces: Pieces) -> Option<usize> {
    let Definite { region, stride, rows, lower, zeros, inverse, .. } = job;
    let width = inverse.len();
    for p in (0..width).step_by(PANEL) {
        let columns = PANEL.min(width - p);
        let (region, rows) = (&mut region[p * (stride + 1)..], rows - p);
        let inverse = &mut inverse[p..p + columns];
        let panel = Definite { region: &mut *region, stride, rows, columns, lower, zeros, inverse };
        if let Some(k) = panel.run_on(simd) {
            return Some(p + k);
        }
        let (below, count) = (lower.min(rows - columns), width - p - columns);
        let pieces = Pieces { parallel_from: usize::MAX, ..pieces };
        TrailingUpdate { stride, width: columns, count, below, pieces }.apply(simd, region, u);
    }
    let below = lower.min(rows - width);
    TrailingUpdate { stride, width, count: below, below, pieces }.apply(simd, region, u);
    None
}

/// A₂₂ ← A₂₂ − L₂₁·U₁₂ with U₁₂ = D·L₂₁ᴴ, for `count` columns after `width` eliminated ones.
///
/// The columns reach `below` rows below their own. Each piece of columns is updated from its diagonal down.
struct TrailingUpdate {
    stride: usize,
    width: usize,
    count: usize,
    below: usize,
    pieces: Pieces,
}

impl TrailingUpdate {
    fn apply<T: Scalar>(self, simd: Simd, region: &mut [T], u: &mut [T]) {
        let Self { stride, width, count, below, pieces } = self;
        let count = count.min(below);
        if count == 0 {
            return;
        }
        let (left, right) = region.split_at_mut(width * stride);
        let u = &mut u[..width * count];
        for c in 0..width {
            let (pivot, column) = (left[c * (stride + 1)].re(), &left[c * stride + width..][..count]);
            u[c..].iter_mut().step_by(width).zip(column).for_each(|(u, l)| *u = Scalar::conj(*l).scale(pivot));
        }
        let l = View::with_stride(left, width + below, width, stride);
        let (l21, u) = (l.rows(width..width + below), View::new(u, width, count));
        pieces.each(right, stride, (below, count), |piece, columns| {
            let first = piece * pieces.columns;
            let end = count.min(first + pieces.columns);
            let c = ViewMut::with_stride(&mut columns[width + first..], below - first, end - first, stride);
            Product::subtract(c, l21.rows(first..below), u.part(0..width, first..end)).run_on(simd);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex64;

    /// Entry (3 + i, j) of a diagonally dominant Hermitian band.
    fn entry(i: usize, j: usize) -> Complex64 {
        let wave = |by: f64| ((i * 7 + j * 3) as f64 * by).sin();
        if i == j { Complex64::new(20.0 + wave(0.3), 0.0) } else { Complex64::new(wave(0.7), wave(1.3)) }
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        for (n, lower) in [(1, 0), (5, 2), (12, 11), (40, 8), (40, 17)] {
            for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
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
                    zeros: 0,
                    inverse: &mut inverse,
                };
                assert_eq!(job.run_on(simd), None);
                let l = |i: usize, k: usize| match i {
                    i if i == k => Complex64::ONE,
                    i if i > k && i - k <= lower => region[index(i, k)],
                    _ => Complex64::ZERO,
                };
                for (i, j) in (0..n).flat_map(|j| (j..(j + lower + 1).min(n)).map(move |i| (i, j))) {
                    let sum: Complex64 = (0..=j).map(|k| l(i, k) * l(j, k).conj() / inverse[k]).sum();
                    // At most 18 terms below 22, each rounded several times.
                    assert!((sum - entry(i, j)).norm() <= 18.0 * 22.0 * 4.0 * f64::EPSILON, "{n} {lower} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn blocks_do_what_columns_do() {
        for (n, lower, block) in [(40, 8, 2), (40, 17, 16), (61, 30, 16), (33, 32, 20), (70, 9, 16)] {
            for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
                let column = |j: usize| (j..(j + lower + 1).min(n)).map(move |i| (i, j));
                let [columns, blocks] = [1, block].map(|block| {
                    // The products also write above the diagonal, so there is room before it.
                    let (above, stride) = (block, lower + padding::<f64>(simd, block) + block);
                    let index = |i: usize, j: usize| above + i + j * stride;
                    let mut region = vec![0.0; above + (n + 2) * stride + n];
                    for (i, j) in (0..n).flat_map(column) {
                        region[index(i, j)] = entry(i, j).re;
                    }
                    let (mut inverse, mut u) = (vec![0.0; n], vec![0.0; block * lower]);
                    for j in (0..n).step_by(block) {
                        let width = block.min(n - j);
                        let job = Definite {
                            region: &mut region[index(j, j)..],
                            stride,
                            rows: n - j,
                            columns: n - j,
                            lower,
                            zeros: padding::<f64>(simd, block),
                            inverse: &mut inverse[j..j + width],
                        };
                        let pieces = Pieces { columns: block.min(8), parallel_from: usize::MAX };
                        let bad =
                            if block == 1 { job.run_on(simd) } else { eliminate_block(simd, job, &mut u, pieces) };
                        assert_eq!(bad, None);
                    }
                    (0..n).flat_map(column).map(|(i, j)| region[index(i, j)]).chain(inverse).collect::<Vec<_>>()
                });
                // At most 32 terms of at most 22, rounded in a different order. Pivots are above 10.
                assert!(columns.iter().zip(&blocks).all(|(a, b)| (a - b).abs() <= 1e-12), "{n} {lower} {block}");
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
                zeros: 0,
                inverse: &mut inverse,
            };
            assert_eq!(job.run_on(Simd::Portable), Some(bad));
        }
    }

    #[test]
    fn whole_vectors_do_what_single_numbers_do() {
        for (n, lower) in [(5, 2), (40, 8), (33, 17)] {
            for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
                let [compact, padded] = [0, 20].map(|zeros| {
                    let stride = lower + zeros;
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
                        zeros,
                        inverse: &mut inverse,
                    };
                    assert_eq!(job.run_on(simd), None);
                    let column = |j: usize| (j..(j + lower + 1).min(n)).map(move |i| (i, j));
                    (0..n).flat_map(column).map(|(i, j)| region[index(i, j)]).collect::<Vec<_>>()
                });
                // Products are rounded before or after the subtraction. Pivots are above 10.
                assert!(compact.iter().zip(&padded).all(|(a, b)| (a - b).abs() <= 1e-13), "{n} {lower}");
            }
        }
    }
}
