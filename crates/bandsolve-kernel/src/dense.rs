//! Products of small dense blocks in registers.
//!
//! Blocks of a band have a few hundred rows and a few dozen columns. A general product would spend more time on packing
//! and dispatch than on multiplication. Here, a tile of C remains in registers while A and B are read. Every element is
//! summed in the same order wherever tiles are cut. The results therefore depend only on the numbers and the
//! instruction set.

use super::Job;
use crate::job::kernel;
use crate::number::{Lanes, RealScalar, Scalar};
use crate::prefetch::prefetch;
use crate::tuning::{COPIED, COPIED_FROM, PREFETCH_FROM};
use crate::vectors::{ColumnStart, load, multiply, sum_of_lanes};
use crate::view::{View, ViewMut};
use core::mem::MaybeUninit;

/// The operation on C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Into {
    /// C ← C − A·B
    Difference,
    /// C ← C + A·B
    Sum,
    /// C ← A·B
    Product,
}

/// A product of matrices. The columns of B and C are contiguous, and so are the columns or the rows of A.
///
/// # Cost
/// 2 flops for each element of A and column of B, or 8 for complex numbers.
#[derive(Debug)]
pub struct Product<'a, T: Scalar> {
    c: ViewMut<'a, T>,
    a: View<'a, T>,
    b: View<'a, T>,
    into: Into,
}

impl<'a, T: Scalar> Product<'a, T> {
    /// C ← C − A·B
    pub fn subtract(c: ViewMut<'a, T>, a: View<'a, T>, b: View<'a, T>) -> Self {
        Self { c, a, b, into: Into::Difference }
    }

    /// C ← C + A·B
    pub fn add(c: ViewMut<'a, T>, a: View<'a, T>, b: View<'a, T>) -> Self {
        Self { c, a, b, into: Into::Sum }
    }

    /// C ← A·B
    pub fn replace(c: ViewMut<'a, T>, a: View<'a, T>, b: View<'a, T>) -> Self {
        Self { c, a, b, into: Into::Product }
    }
}

/// Memory that is aligned to a cache line.
#[repr(align(64))]
struct Aligned<T>(T);

kernel!(ProductKernel: Product<'a> => ());

impl<T: Scalar> Job<T> for Product<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Product { mut c, a, b, into } = self;
        let (rows, depth, columns) = (c.nrows(), a.ncols(), c.ncols());
        assert!(a.nrows() == rows && b.nrows() == depth && b.ncols() == columns, "the sizes of A and B do not match C");
        assert!(b.row_stride() == 1, "the columns of B must be contiguous");
        let by_columns = a.row_stride() == 1;
        assert!(by_columns || a.column_stride() == 1, "the columns or the rows of A must be contiguous");
        if rows == 0 || columns == 0 {
            return;
        }
        if depth == 0 {
            if into == Into::Product {
                (0..columns).for_each(|j| c.as_mut().column(j).fill(T::ZERO));
            }
            return;
        }
        let parts = if T::COMPLEX { 2 } else { 1 };
        let strides = [c.column_stride(), a.row_stride().max(a.column_stride()), b.column_stride()];
        let view = Views::<V::Real> {
            c: c.as_mut_ptr().cast(),
            a: a.as_ptr().cast(),
            b: b.as_ptr().cast(),
            strides: strides.map(|stride| stride * parts),
            rows,
            depth,
            columns,
            into,
        };
        // SAFETY: scalars are one or two numbers of their real type. The views are those of three matrices of these
        // sizes, and C is borrowed mutably, so it does not overlap the others.
        unsafe {
            // Not a `match` of both, because each type would then be compiled for the other case too.
            if T::COMPLEX {
                if by_columns { view.by_columns::<V, true>() } else { view.by_rows::<V, true>() }
            } else {
                if by_columns { view.by_columns::<V, false>() } else { view.by_rows::<V, false>() }
            }
        }
    }
}

/// Three matrices as pointers to real numbers: C (`rows` × `columns`), A (`rows` × `depth`), and B (`depth` ×
/// `columns`).
///
/// With `COMPLEX`, real and imaginary parts alternate. Sizes count numbers, and strides count parts.
#[derive(Clone, Copy)]
struct Views<R> {
    c: *mut R,
    a: *const R,
    b: *const R,
    /// Column distances of C, A and B, or the row distance of A.
    strides: [usize; 3],
    rows: usize,
    depth: usize,
    columns: usize,
    into: Into,
}

impl<R: RealScalar> Views<R> {
    /// # Safety
    /// The pointers are those of matrices of the given sizes, and the columns of A are contiguous.
    #[inline(always)]
    unsafe fn by_columns<V: Lanes<Real = R>, const COMPLEX: bool>(self) {
        let mut copy = Aligned([MaybeUninit::<R>::uninit(); COPIED]);
        let (copy, parts) = (copy.0.as_mut_ptr().cast::<R>(), if COMPLEX { 2 } else { 1 });
        // Copy the rows of A for one or two tiles, and use them for all columns. Long sums are divided into parts. The
        // widest vectors need no copy, because their tiles are so large that A is read rarely.
        let copied = !wide::<V>() && self.columns >= COPIED_FROM && self.rows * parts * self.depth > COPIED;
        let vectors = 4;
        let (height, terms) =
            if copied { (vectors * V::W, COPIED / (vectors * V::W)) } else { (self.rows * parts, self.depth) };
        for k in (0..self.depth).step_by(terms) {
            let depth = terms.min(self.depth - k);
            for at in (0..self.rows * parts).step_by(height) {
                let count = height.min(self.rows * parts - at);
                // SAFETY: these rows and columns exist, and the copy has room for `height` parts of `terms` columns.
                unsafe {
                    let a = self.a.add(k * self.strides[1] + at);
                    if copied {
                        for column in 0..depth {
                            let (from, to) = (a.add(column * self.strides[1]), copy.add(column * height));
                            if count == height {
                                for m in 0..vectors {
                                    V::load(from.add(m * V::W)).store(to.add(m * V::W));
                                }
                            } else {
                                core::ptr::copy_nonoverlapping(from, to, count);
                            }
                        }
                    }
                    let view = Self {
                        c: self.c.add(at),
                        a: if copied { copy } else { a },
                        b: self.b.add(k * parts),
                        strides: [self.strides[0], if copied { height } else { self.strides[1] }, self.strides[2]],
                        rows: count / parts,
                        depth,
                        into: if k > 0 && self.into == Into::Product { Into::Sum } else { self.into },
                        ..self
                    };
                    view.all_columns::<V, COMPLEX>();
                }
            }
        }
    }

    /// # Safety
    /// As [`by_columns`](Self::by_columns).
    #[inline(always)]
    unsafe fn all_columns<V: Lanes<Real = R>, const COMPLEX: bool>(self) {
        let mut column = 0;
        while column < self.columns {
            let remaining = self.columns - column;
            // SAFETY: the columns of C and B from `column` on exist in each case.
            column += unsafe {
                if COMPLEX {
                    // Each sum takes two vectors.
                    match remaining {
                        4.. if wide::<V>() => self.columns_of::<V, 3, 4, COMPLEX>(column),
                        2.. => self.columns_of::<V, 2, 2, COMPLEX>(column),
                        _ => self.columns_of::<V, 4, 1, COMPLEX>(column),
                    }
                } else {
                    match remaining {
                        8.. if wide::<V>() => self.columns_of::<V, 3, 8, COMPLEX>(column),
                        4.. if wide::<V>() => self.columns_of::<V, 3, 4, COMPLEX>(column),
                        6.. => self.columns_of::<V, 2, 6, COMPLEX>(column),
                        4.. => self.columns_of::<V, 2, 4, COMPLEX>(column),
                        2.. => self.columns_of::<V, 4, 2, COMPLEX>(column),
                        _ => self.columns_of::<V, 8, 1, COMPLEX>(column),
                    }
                }
            };
        }
    }

    /// N columns from `column` on, in tiles of M vectors. Returns N.
    ///
    /// # Safety
    /// As [`by_columns`](Self::by_columns), and C has these columns.
    #[inline(always)]
    unsafe fn columns_of<V: Lanes<Real = R>, const M: usize, const N: usize, const COMPLEX: bool>(
        &self,
        column: usize,
    ) -> usize {
        let (mut at, height) = (0, if COMPLEX { 2 * self.rows } else { self.rows });
        // SAFETY: these rows of C and A exist.
        unsafe {
            while at + M * V::W <= height {
                self.tile::<V, M, N, true, COMPLEX>(at, V::W, column);
                at += M * V::W;
            }
            // A single vector does not use the processor fully.
            if const { M > 2 && N > 1 } && at + 2 * V::W <= height {
                self.tile::<V, 2, N, true, COMPLEX>(at, V::W, column);
                at += 2 * V::W;
            }
            while at + V::W <= height {
                self.tile::<V, 1, N, true, COMPLEX>(at, V::W, column);
                at += V::W;
            }
            if at < height {
                self.tile::<V, 1, N, false, COMPLEX>(at, height - at, column);
            }
        }
        N
    }

    /// M vectors of N columns. The first vector begins with part `at` of a column. Unless `FULL`, the only vector has
    /// `count` parts.
    ///
    /// # Safety
    /// As [`by_columns`](Self::by_columns), and C has these rows and columns.
    #[inline(always)]
    unsafe fn tile<V: Lanes<Real = R>, const M: usize, const N: usize, const FULL: bool, const COMPLEX: bool>(
        &self,
        at: usize,
        count: usize,
        column: usize,
    ) {
        let [c_stride, a_stride, b_stride] = self.strides;
        // SAFETY: the caller's promise; a partial vector is loaded and stored with its number of parts.
        unsafe {
            let (a, b) = (self.a.add(at), self.b.add(column * b_stride));
            if self.depth >= PREFETCH_FROM {
                for n in 0..N {
                    let place = self.c.add(at + (column + n) * c_stride);
                    prefetch(place);
                    prefetch(place.add(M * V::W - 1));
                }
            }
            let mut sum = [[V::splat(R::ZERO); M]; N];
            // Products with imaginary parts of B.
            let mut turned = [[V::splat(R::ZERO); M]; N];
            for k in 0..self.depth {
                let mut a_column = [V::splat(R::ZERO); M];
                for m in 0..M {
                    a_column[m] = load::<V, FULL>(a.add(k * a_stride + m * V::W), count);
                }
                for n in 0..N {
                    if COMPLEX {
                        let (re, im) = (b.add(2 * k + n * b_stride), b.add(2 * k + 1 + n * b_stride));
                        let (re, im) = (V::splat(*re), V::splat(*im));
                        for m in 0..M {
                            sum[n][m] = a_column[m].mul_add(re, sum[n][m]);
                            turned[n][m] = a_column[m].mul_add(im, turned[n][m]);
                        }
                    } else {
                        let factor = V::splat(*b.add(k + n * b_stride));
                        for m in 0..M {
                            sum[n][m] = a_column[m].mul_add(factor, sum[n][m]);
                        }
                    }
                }
            }
            let signs = alternating::<V>();
            for n in 0..N {
                for m in 0..M {
                    let sum = if COMPLEX { turned[n][m].swap_pairs().mul_add(signs, sum[n][m]) } else { sum[n][m] };
                    let place = self.c.add(at + m * V::W + (column + n) * c_stride);
                    let value = match self.into {
                        Into::Difference => load::<V, FULL>(place, count) - sum,
                        Into::Sum => load::<V, FULL>(place, count) + sum,
                        Into::Product => sum,
                    };
                    if FULL { value.store(place) } else { value.store_first(place, count) }
                }
            }
        }
    }

    /// # Safety
    /// The pointers are those of matrices of the given sizes, and the rows of A are contiguous.
    #[inline(always)]
    unsafe fn by_rows<V: Lanes<Real = R>, const COMPLEX: bool>(self) {
        let mut column = 0;
        while column < self.columns {
            // SAFETY: the columns of C and B from `column` on exist in each case.
            column += unsafe {
                if COMPLEX {
                    match self.columns - column {
                        2.. if wide::<V>() => self.dots_of::<V, 4, 2, COMPLEX>(column),
                        2.. => self.dots_of::<V, 2, 2, COMPLEX>(column),
                        _ => self.dots_of::<V, 4, 1, COMPLEX>(column),
                    }
                } else {
                    match self.columns - column {
                        4.. if wide::<V>() => self.dots_of::<V, 4, 4, COMPLEX>(column),
                        4.. => self.dots_of::<V, 2, 4, COMPLEX>(column),
                        _ => self.dots_of::<V, 8, 1, COMPLEX>(column),
                    }
                }
            };
        }
    }

    /// N columns from `column` on, M rows at a time. Returns N.
    ///
    /// # Safety
    /// As [`by_rows`](Self::by_rows), and C has these columns.
    #[inline(always)]
    unsafe fn dots_of<V: Lanes<Real = R>, const M: usize, const N: usize, const COMPLEX: bool>(
        &self,
        column: usize,
    ) -> usize {
        let mut row = 0;
        // SAFETY: the rows of C from `row` on exist.
        unsafe {
            while row + M <= self.rows {
                self.dots::<V, M, N, COMPLEX>(row, column);
                row += M;
            }
            while row < self.rows {
                self.dots::<V, 1, N, COMPLEX>(row, column);
                row += 1;
            }
        }
        N
    }

    /// M × N dot products of rows of A and columns of B.
    ///
    /// # Safety
    /// As [`by_rows`](Self::by_rows), and C has these rows and columns.
    #[inline(always)]
    unsafe fn dots<V: Lanes<Real = R>, const M: usize, const N: usize, const COMPLEX: bool>(
        &self,
        row: usize,
        column: usize,
    ) {
        let [c_stride, a_stride, b_stride] = self.strides;
        let mut sum = [[V::splat(R::ZERO); M]; N];
        let mut crossed = [[V::splat(R::ZERO); M]; N];
        let length = if COMPLEX { 2 * self.depth } else { self.depth };
        // SAFETY: the caller's promise; partial vectors are loaded with their number of entries.
        unsafe {
            let a = ColumnStart { first: self.a.add(row * a_stride), stride: a_stride };
            let b = ColumnStart { first: self.b.add(column * b_stride), stride: b_stride };
            let whole = length / V::W * V::W;
            for k in (0..whole).step_by(V::W) {
                multiply::<V, M, N, true, COMPLEX>(a.from(k), b.from(k), V::W, &mut sum, &mut crossed);
            }
            if whole < length {
                multiply::<V, M, N, false, COMPLEX>(
                    a.from(whole),
                    b.from(whole),
                    length - whole,
                    &mut sum,
                    &mut crossed,
                );
            }
            for n in 0..N {
                for m in 0..M {
                    if COMPLEX {
                        let place = self.c.add(2 * (row + m) + (column + n) * c_stride);
                        // −(re re − im im), for each lane.
                        let real = -sum_of_lanes(sum[n][m] * alternating::<V>());
                        self.put(place, real);
                        self.put(place.add(1), sum_of_lanes(crossed[n][m]));
                    } else {
                        self.put(self.c.add(row + m + (column + n) * c_stride), sum_of_lanes(sum[n][m]));
                    }
                }
            }
        }
    }

    /// Combine a sum with an element of C.
    ///
    /// # Safety
    /// The element belongs to C.
    #[inline(always)]
    unsafe fn put(&self, place: *mut R, sum: R) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.into {
                Into::Difference => *place -= sum,
                Into::Sum => *place += sum,
                Into::Product => *place = sum,
            }
        }
    }
}

/// Whether the registers hold 32 vectors.
///
/// With 16 registers, tiles leave one of them free. Without a free one, compilers move sums between registers.
#[inline(always)]
const fn wide<V: Lanes>() -> bool {
    V::REGISTERS >= 32
}

/// −1, 1, −1, 1, …
#[inline(always)]
fn alternating<V: Lanes>() -> V {
    let (plus, minus) = (V::splat(<V::Real as Scalar>::ONE), V::splat(-<V::Real as Scalar>::ONE));
    minus.interleave(plus)[0]
}

#[cfg(test)]
mod tests {
    use super::super::{Complex32, Complex64, Simd};
    use super::*;

    /// A view of the first `rows` rows of columns with two more rows.
    fn view<T>(values: &[T], rows: usize, columns: usize) -> View<'_, T> {
        View::new(values, rows + 2, columns).rows(0..rows)
    }

    fn check_products<T: Scalar>((rows, depth, columns): (usize, usize, usize), simd: Simd) {
        let wave = |rows: usize, columns: usize, by: f64| -> Vec<T> {
            let part = |i: usize| T::Real::from_f64((i as f64 * by).sin());
            (0..rows * columns).map(|i| T::from_parts(part(i), part(3 * i + 1))).collect()
        };
        let (by_columns, by_rows) = (wave(rows + 2, depth, 0.7), wave(depth + 2, rows, 0.9));
        let (b, c) = (wave(depth + 2, columns, 1.3), wave(rows + 2, columns, 1.9));
        let turned = view(&by_rows, depth, rows).transpose();
        for (a, kind) in [view(&by_columns, rows, depth), turned].into_iter().flat_map(|a| [0, 1, 2].map(|k| (a, k))) {
            let mut result = c.clone();
            let whole = ViewMut::new(&mut result, rows + 2, columns).rows(0..rows);
            let into = [Product::subtract, Product::add, Product::replace][kind];
            into(whole, a, view(&b, depth, columns)).run_on(simd.or_best());
            for (i, j) in (0..rows + 2).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                let place = i + j * (rows + 2);
                if i >= rows {
                    assert!(result[place] == c[place]);
                    continue;
                }
                let sum = (0..depth).fold(T::ZERO, |sum, k| sum + a[(i, k)] * b[k + j * (depth + 2)]);
                let right = [c[place] - sum, c[place] + sum, sum][kind];
                // Each of `depth` terms has parts below 2, and is rounded at most depth + 1 times, in both
                // computations.
                let limit = 4.0 * ((depth + 1) * (depth + 1)) as f64 * T::Real::EPSILON.to_f64();
                assert!((result[place] - right).abs1().to_f64() <= limit, "{} {rows}×{depth}×{columns}", T::NAME);
            }
        }
    }

    #[test]
    fn products_are_those_of_their_definition_and_touch_nothing_else() {
        let sizes = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 33];
        for (rows, depth) in sizes.iter().flat_map(|rows| sizes.map(|depth| (*rows, depth))) {
            for (columns, simd) in [1, 2, 3, 4, 7, 8, 13].iter().flat_map(|c| Simd::ALL.iter().map(|simd| (*c, *simd)))
            {
                check_products::<f64>((rows, depth, columns), simd);
                check_products::<f32>((rows, depth, columns), simd);
                check_products::<Complex64>((rows, depth, columns), simd);
                check_products::<Complex32>((rows, depth, columns), simd);
            }
        }
    }

    #[test]
    fn large_products_are_cut() {
        for size in [(205, COPIED / 6 + 3, COPIED_FROM + 1), (3, 513, 2), (70, COPIED / 6 * 2, COPIED_FROM)] {
            for &simd in Simd::ALL {
                check_products::<f64>(size, simd);
                check_products::<Complex32>(size, simd);
            }
        }
    }
}
