//! Products of small dense blocks, in registers.
//!
//! Blocks of a band are a few hundred numbers high and some dozen wide: too small for a general product, which would pack
//! and dispatch for longer than it multiplies. A tile of C is kept in registers while A and B pass by. Every element is
//! summed in the same order wherever tiles are cut, so results depend on the numbers and the instruction set only.

use super::Job;
use super::lanes::Lanes;
use crate::view::{View, ViewMut};
use crate::{RealScalar, Scalar};
use core::mem::MaybeUninit;

/// What becomes of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Into {
    /// C ← C − A·B
    Difference,
    /// C ← C + A·B
    Sum,
    /// C ← A·B
    Product,
}

/// A product of matrices. Columns of B and C are contiguous, as are columns or rows of A.
///
/// # Cost
/// 2 flops for each element of A and column of B, 8 of complex numbers.
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

/// Reals of a copy of some rows of A: with a few columns of B it fits the first-level cache, as does an A that is smaller.
const COPIED: usize = 3072;
/// Columns of C from which on rows of A are copied, since they are read so many times.
const COPIED_FROM: usize = 16;

impl<T: Scalar> Job<T> for Product<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Product { mut c, a, b, into } = self;
        let (rows, depth, columns) = (c.nrows(), a.ncols(), c.ncols());
        assert!(a.nrows() == rows && b.nrows() == depth && b.ncols() == columns, "factors fit");
        assert!(b.row_stride() == 1, "contiguous columns");
        let by_columns = a.row_stride() == 1;
        assert!(by_columns || a.column_stride() == 1, "contiguous columns or rows");
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
        // SAFETY: scalars are one or two numbers of their real type; the views are those of three matrices of these sizes, of
        // which C is borrowed mutably and so apart from the others.
        unsafe {
            // Not a `match` of both: then each type would be compiled for the other's case, too.
            if T::COMPLEX {
                if by_columns { view.by_columns::<V, true>() } else { view.by_rows::<V, true>() }
            } else {
                if by_columns { view.by_columns::<V, false>() } else { view.by_rows::<V, false>() }
            }
        }
    }
}

/// Three matrices as pointers to real numbers: C (`rows` × `columns`), A (`rows` × `depth`), and B (`depth` × `columns`). Of complex
/// numbers (`COMPLEX`) real and imaginary parts alternate; sizes count the numbers, strides the parts.
#[derive(Clone, Copy)]
struct Views<R> {
    c: *mut R,
    a: *const R,
    b: *const R,
    /// Of C, A and B from column to column, or from row to row of A.
    strides: [usize; 3],
    rows: usize,
    depth: usize,
    columns: usize,
    into: Into,
}

impl<R: RealScalar> Views<R> {
    /// # Safety
    /// The pointers are those of matrices of the given sizes, columns of A being contiguous.
    #[inline(always)]
    unsafe fn by_columns<V: Lanes<Real = R>, const COMPLEX: bool>(self) {
        let mut copy = [MaybeUninit::<R>::uninit(); COPIED];
        let (copy, parts) = (copy.as_mut_ptr().cast::<R>(), if COMPLEX { 2 } else { 1 });
        // Rows of A are copied, so many as a tile has, and taken by all columns before the next; if sums are long, in parts.
        let copied = self.columns >= COPIED_FROM && self.rows * parts * self.depth > COPIED;
        let (height, terms) = if copied { (3 * V::W, COPIED / (3 * V::W)) } else { (self.rows * parts, self.depth) };
        for k in (0..self.depth).step_by(terms) {
            let depth = terms.min(self.depth - k);
            for at in (0..self.rows * parts).step_by(height) {
                let count = height.min(self.rows * parts - at);
                // SAFETY: these rows and columns exist; the copy has room for `height` parts of `terms` columns.
                unsafe {
                    let a = self.a.add(k * self.strides[1] + at);
                    if copied {
                        for column in 0..depth {
                            let (from, to) = (a.add(column * self.strides[1]), copy.add(column * height));
                            if count == height {
                                for m in 0..3 {
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
        let wide = size_of::<V>() == 64;
        let mut column = 0;
        while column < self.columns {
            let left = self.columns - column;
            // SAFETY: columns `column` … of C and B exist in these numbers, in all cases.
            column += unsafe {
                if COMPLEX {
                    // Sums take two vectors each.
                    match left {
                        4.. if wide => self.columns_of::<V, 3, 4, COMPLEX>(column),
                        2.. => self.columns_of::<V, 3, 2, COMPLEX>(column),
                        _ => self.columns_of::<V, 3, 1, COMPLEX>(column),
                    }
                } else {
                    match left {
                        8.. if wide => self.columns_of::<V, 3, 8, COMPLEX>(column),
                        4.. => self.columns_of::<V, 3, 4, COMPLEX>(column),
                        2.. => self.columns_of::<V, 4, 2, COMPLEX>(column),
                        _ => self.columns_of::<V, 8, 1, COMPLEX>(column),
                    }
                }
            };
        }
    }

    /// N columns from `column` on, in tiles of M vectors; returns N.
    ///
    /// # Safety
    /// As [`by_columns`](Self::by_columns), and C has these columns.
    #[inline(always)]
    unsafe fn columns_of<V: Lanes<Real = R>, const M: usize, const N: usize, const COMPLEX: bool>(
        &self,
        column: usize,
    ) -> usize {
        let (mut at, height) = (0, if COMPLEX { 2 * self.rows } else { self.rows });
        // SAFETY: rows of C and A exist in these numbers.
        unsafe {
            while at + M * V::W <= height {
                self.tile::<V, M, N, true, COMPLEX>(at, V::W, column);
                at += M * V::W;
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

    /// M vectors of N columns, the first beginning with part `at` of a column; the only vector is shortened to `count` parts
    /// unless `FULL`.
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
        // SAFETY: the caller's promise; a vector that is not full is loaded and stored with as many numbers as there are.
        unsafe {
            let (a, b) = (self.a.add(at), self.b.add(column * b_stride));
            let mut sum = [[V::splat(R::ZERO); M]; N];
            // Products with imaginary parts of B.
            let mut turned = [[V::splat(R::ZERO); M]; N];
            for k in 0..self.depth {
                let mut left = [V::splat(R::ZERO); M];
                for m in 0..M {
                    left[m] = load::<V, FULL>(a.add(k * a_stride + m * V::W), count);
                }
                for n in 0..N {
                    if COMPLEX {
                        let (re, im) = (b.add(2 * k + n * b_stride), b.add(2 * k + 1 + n * b_stride));
                        let (re, im) = (V::splat(*re), V::splat(*im));
                        for m in 0..M {
                            sum[n][m] = left[m].mul_add(re, sum[n][m]);
                            turned[n][m] = left[m].mul_add(im, turned[n][m]);
                        }
                    } else {
                        let factor = V::splat(*b.add(k + n * b_stride));
                        for m in 0..M {
                            sum[n][m] = left[m].mul_add(factor, sum[n][m]);
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
    /// The pointers are those of matrices of the given sizes, rows of A being contiguous.
    #[inline(always)]
    unsafe fn by_rows<V: Lanes<Real = R>, const COMPLEX: bool>(self) {
        let mut column = 0;
        while column < self.columns {
            // SAFETY: columns `column` … of C and B exist in these numbers, in all cases.
            column += unsafe {
                if COMPLEX {
                    match self.columns - column {
                        2.. => self.dots_of::<V, 4, 2, COMPLEX>(column),
                        _ => self.dots_of::<V, 4, 1, COMPLEX>(column),
                    }
                } else {
                    match self.columns - column {
                        4.. => self.dots_of::<V, 4, 4, COMPLEX>(column),
                        _ => self.dots_of::<V, 8, 1, COMPLEX>(column),
                    }
                }
            };
        }
    }

    /// N columns from `column` on, M rows at a time; returns N.
    ///
    /// # Safety
    /// As [`by_rows`](Self::by_rows), and C has these columns.
    #[inline(always)]
    unsafe fn dots_of<V: Lanes<Real = R>, const M: usize, const N: usize, const COMPLEX: bool>(
        &self,
        column: usize,
    ) -> usize {
        let mut row = 0;
        // SAFETY: rows `row` … of C exist in these numbers.
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
        // SAFETY: the caller's promise; the last vectors are loaded with as many numbers as there are.
        unsafe {
            let (a, b) = (self.a.add(row * a_stride), self.b.add(column * b_stride));
            let whole = length / V::W * V::W;
            for k in (0..whole).step_by(V::W) {
                let (a, b) = ((a.add(k), a_stride), (b.add(k), b_stride));
                multiply::<V, M, N, true, COMPLEX>(a, b, V::W, &mut sum, &mut crossed);
            }
            if whole < length {
                let (a, b) = ((a.add(whole), a_stride), (b.add(whole), b_stride));
                multiply::<V, M, N, false, COMPLEX>(a, b, length - whole, &mut sum, &mut crossed);
            }
            for n in 0..N {
                for m in 0..M {
                    if COMPLEX {
                        let place = self.c.add(2 * (row + m) + (column + n) * c_stride);
                        // −(re re − im im), lane by lane
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

    /// Makes a sum part of an element of C.
    ///
    /// # Safety
    /// The element is one of C.
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

/// −1, 1, −1, 1, …
#[inline(always)]
fn alternating<V: Lanes>() -> V {
    let (plus, minus) = (V::splat(<V::Real as Scalar>::ONE), V::splat(-<V::Real as Scalar>::ONE));
    minus.interleave(plus)[0]
}

/// Adds the products of M columns of A with N columns of B, a vector of each; shortened to `count` numbers unless `FULL`. Of complex
/// numbers those of parts that are alike go to `sum`, the others to `crossed`.
///
/// # Safety
/// So many numbers are readable in all columns.
#[inline(always)]
unsafe fn multiply<V: Lanes, const M: usize, const N: usize, const FULL: bool, const COMPLEX: bool>(
    (a, a_stride): (*const V::Real, usize),
    (b, b_stride): (*const V::Real, usize),
    count: usize,
    sum: &mut [[V; M]; N],
    crossed: &mut [[V; M]; N],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut column = [V::splat(<V::Real as Scalar>::ZERO); M];
        for m in 0..M {
            column[m] = load::<V, FULL>(a.add(m * a_stride), count);
        }
        for n in 0..N {
            let b = load::<V, FULL>(b.add(n * b_stride), count);
            for m in 0..M {
                sum[n][m] = column[m].mul_add(b, sum[n][m]);
            }
            if COMPLEX {
                let b = b.swap_pairs();
                for m in 0..M {
                    crossed[n][m] = column[m].mul_add(b, crossed[n][m]);
                }
            }
        }
    }
}

/// W numbers, or the first `count` unless `FULL`. No closure in these kernels handles vectors: it would be compiled without
/// the instruction set.
///
/// # Safety
/// So many numbers are readable.
#[inline(always)]
unsafe fn load<V: Lanes, const FULL: bool>(p: *const V::Real, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { if FULL { V::load(p) } else { V::load_first(p, count) } }
}

/// The sum of all lanes, by halves.
#[inline(always)]
pub(super) fn sum_of_lanes<V: Lanes>(v: V) -> V::Real {
    let mut lanes = [<V::Real as Scalar>::ZERO; MAX_LANES];
    // SAFETY: room for the widest vector.
    unsafe { v.store(lanes.as_mut_ptr()) };
    let mut half = V::W / 2;
    while half > 0 {
        for k in 0..half {
            lanes[k] += lanes[k + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Lanes of the widest vector.
pub const MAX_LANES: usize = 16;

/// y ← y − c·v on their common length.
#[inline(always)]
pub fn subtract_multiple<V: Lanes<Real = T::Real>, T: Scalar>(y: &mut [T], c: T, v: &[T]) {
    let len = y.len().min(v.len()) * if T::COMPLEX { 2 } else { 1 };
    let (y, v) = (y.as_mut_ptr().cast::<V::Real>(), v.as_ptr().cast::<V::Real>());
    let (re, im) = (V::splat(c.re()), V::splat(-c.im()).interleave(V::splat(c.im()))[0]);
    let whole = len / V::W * V::W;
    // SAFETY: scalars are one or two numbers of their real type; both slices have `len` of these.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            minus_multiple::<V, T>(re, im, V::load(v.add(k)), V::load(y.add(k))).store(y.add(k));
        }
        if whole < len {
            let (y, v, rest) = (y.add(whole), v.add(whole), len - whole);
            minus_multiple::<V, T>(re, im, V::load_first(v, rest), V::load_first(y, rest)).store_first(y, rest);
        }
    }
}

/// y − c·v of parts that alternate if they are complex: `re` is Re c in all lanes, `im` −Im c and Im c in turn.
#[inline(always)]
fn minus_multiple<V: Lanes<Real = T::Real>, T: Scalar>(re: V, im: V, v: V, y: V) -> V {
    let y = re.neg_mul_add(v, y);
    if T::COMPLEX { im.neg_mul_add(v.swap_pairs(), y) } else { y }
}

/// Σ a_i·b_i on their common length.
#[inline(always)]
pub fn dot<V: Lanes<Real = T::Real>, T: Scalar>(a: &[T], b: &[T]) -> T {
    if T::COMPLEX {
        return a.iter().zip(b).fold(T::ZERO, |sum, (a, b)| sum + *a * *b);
    }
    let len = a.len().min(b.len());
    let (a, b) = (a.as_ptr().cast::<V::Real>(), b.as_ptr().cast::<V::Real>());
    let ([mut sum, mut none], whole) = ([[[V::splat(T::Real::ZERO)]]; 2], len / V::W * V::W);
    // SAFETY: real scalars are their own real type; both slices have `len` numbers.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            multiply::<V, 1, 1, true, false>((a.add(k), 0), (b.add(k), 0), V::W, &mut sum, &mut none);
        }
        if whole < len {
            multiply::<V, 1, 1, false, false>((a.add(whole), 0), (b.add(whole), 0), len - whole, &mut sum, &mut none);
        }
    }
    T::from_real(sum_of_lanes(sum[0][0]))
}

/// Σ|a_i|, each |re| + |im|.
#[inline(always)]
pub fn sum_of_moduli<V: Lanes<Real = T::Real>, T: Scalar>(a: &[T]) -> T {
    if T::COMPLEX {
        return a.iter().fold(T::ZERO, |sum, a| sum + T::from_real(a.abs1()));
    }
    let (p, whole) = (a.as_ptr().cast::<V::Real>(), a.len() / V::W * V::W);
    let mut sum = V::splat(T::Real::ZERO);
    // SAFETY: real scalars are their own real type; the slice has so many numbers.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            sum = V::load(p.add(k)).abs() + sum;
        }
        sum = V::load_first(p.add(whole), a.len() - whole).abs() + sum;
    }
    T::from_real(sum_of_lanes(sum))
}

/// The largest modulus (|re| + |im|) so far, lane by lane; numbers that are not finite may or may not be noticed.
#[derive(Clone, Copy)]
pub struct Moduli<V>(V);

impl<V: Lanes> Moduli<V> {
    /// 0.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(V::splat(<V::Real as Scalar>::ZERO))
    }

    /// Takes the moduli of these numbers, too.
    #[inline(always)]
    pub fn add<T: Scalar<Real = V::Real>>(&mut self, numbers: &[T]) {
        if T::COMPLEX {
            let largest = self.value();
            let largest = numbers.iter().fold(largest, |best, v| if v.abs1() > best { v.abs1() } else { best });
            self.0 = V::splat(largest);
            return;
        }
        let (p, whole) = (numbers.as_ptr().cast::<V::Real>(), numbers.len() / V::W * V::W);
        // SAFETY: real scalars are their own real type; the slice has so many numbers.
        unsafe {
            for k in (0..whole).step_by(V::W) {
                self.0 = V::load(p.add(k)).abs_max(self.0);
            }
            if whole < numbers.len() {
                self.0 = V::load_first(p.add(whole), numbers.len() - whole).abs_max(self.0);
            }
        }
    }

    /// Their largest.
    #[inline(always)]
    pub fn value(self) -> V::Real {
        self.0.peak().first()
    }
}

/// The largest modulus of a column.
#[inline(always)]
pub fn largest_modulus<V: Lanes<Real = T::Real>, T: Scalar>(column: &[T]) -> T::Real {
    let mut largest = Moduli::<V>::new();
    largest.add(column);
    largest.value()
}

/// The place of the first of the largest moduli, and that modulus.
#[inline(always)]
pub fn place_of_largest<V: Lanes<Real = T::Real>, T: Scalar>(column: &[T]) -> (usize, T::Real) {
    let largest = largest_modulus::<V, T>(column);
    if const { V::PERMUTES && !T::COMPLEX } {
        let (p, v) = (column.as_ptr().cast::<V::Real>(), V::splat(largest));
        for k in (0..column.len()).step_by(V::W) {
            let count = V::W.min(column.len() - k);
            // SAFETY: real scalars are their own real type; so many numbers are there.
            let bits = unsafe { V::load_first(p.add(k), count) }.abs().equal_bits(v) & ((1 << count) - 1);
            if bits != 0 {
                return (k + bits.trailing_zeros() as usize, largest);
            }
        }
        return (0, largest);
    }
    // Eight at a time without a branch, then one by one.
    let mut first = 0;
    for chunk in column.chunks(8) {
        let mut found = false;
        for v in chunk {
            found |= v.abs1() == largest;
        }
        if found {
            break;
        }
        first += chunk.len();
    }
    for (k, v) in column.iter().enumerate().skip(first) {
        if v.abs1() == largest {
            return (k, largest);
        }
    }
    (0, largest)
}

/// A triangular system with at most eight unknowns and many right-hand sides.
pub struct SmallSubstitution<'a, T: Scalar> {
    /// The matrix, of which only one triangle without the diagonal is read: below it if `forward`.
    pub t: View<'a, T>,
    /// Reciprocals of the diagonal; `None`: ones.
    pub inverse: Option<&'a [T]>,
    /// From the first unknown to the last.
    pub forward: bool,
    /// Right-hand sides, which become solutions.
    pub x: ViewMut<'a, T>,
}

/// Unknowns that are solved for in registers.
pub const SMALL: usize = 8;

impl<T: Scalar> Job<T> for SmallSubstitution<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
        let (size, columns) = (self.x.nrows(), self.x.ncols());
        assert!(size <= SMALL && self.t.nrows() == size && self.t.ncols() == size, "a small triangle");
        assert!(self.inverse.is_none_or(|inverse| inverse.len() >= size), "as many reciprocals as rows");
        let triangle = SmallTriangle {
            t: self.t.as_ptr(),
            strides: [self.t.row_stride(), self.t.column_stride()],
            inverse: self.inverse,
            forward: self.forward,
        };
        // SAFETY: T and x are of that size, and columns of x contiguous; the buffer has room for one vector of columns.
        unsafe {
            let contiguous = triangle.strides[0] == 1;
            if const { V::PERMUTES && V::W == SMALL && !T::COMPLEX } && columns == 1 && size == SMALL && contiguous {
                return triangle.solve_vector::<V>(self.x.as_mut_ptr().cast());
            }
            if T::COMPLEX && columns > 1 && size == SMALL {
                for c in (0..columns).step_by(V::W) {
                    triangle.solve_parts::<V>(self.x.as_mut().part(0..SMALL, c..columns.min(c + V::W)));
                }
                return;
            }
            if T::COMPLEX || columns == 1 || size < SMALL {
                for c in 0..columns {
                    triangle.solve_column(self.x.as_mut().column(c));
                }
                return;
            }
            let (x, stride) = (self.x.as_mut_ptr().cast::<V::Real>(), self.x.column_stride());
            let whole = columns / V::W * V::W;
            for c in (0..whole).step_by(V::W) {
                triangle.solve::<V>(x.add(c * stride), stride);
            }
            if whole < columns {
                let mut buffer = [T::Real::ZERO; SMALL * MAX_LANES];
                for k in 0..columns - whole {
                    let column = x.add((whole + k) * stride);
                    core::ptr::copy_nonoverlapping(column, buffer.as_mut_ptr().add(k * SMALL), SMALL);
                }
                triangle.solve::<V>(buffer.as_mut_ptr(), SMALL);
                for k in 0..columns - whole {
                    let column = x.add((whole + k) * stride);
                    core::ptr::copy_nonoverlapping(buffer.as_ptr().add(k * SMALL), column, SMALL);
                }
            }
        }
    }
}

/// y − t·x, real and imaginary parts apart.
#[inline(always)]
fn minus_product<T: Scalar, V: Lanes<Real = T::Real>>(t: T, x: (V, V), y: (V, V)) -> (V, V) {
    let (a, b) = (V::splat(t.re()), V::splat(t.im()));
    (b.mul_add(x.1, a.neg_mul_add(x.0, y.0)), b.neg_mul_add(x.0, a.neg_mul_add(x.1, y.1)))
}

/// A triangle of at most eight rows.
struct SmallTriangle<'a, T> {
    t: *const T,
    /// From row to row, and from column to column.
    strides: [usize; 2],
    inverse: Option<&'a [T]>,
    forward: bool,
}

impl<T: Scalar> SmallTriangle<'_, T> {
    /// # Safety
    /// The element exists.
    #[inline(always)]
    unsafe fn at(&self, i: usize, k: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { *self.t.add(i * self.strides[0] + k * self.strides[1]) }
    }

    /// Solves for one column, number by number.
    ///
    /// # Safety
    /// The triangle has as many rows as the column.
    #[inline(always)]
    unsafe fn solve_column(&self, x: &mut [T]) {
        let size = x.len();
        for step in 0..size {
            let k = if self.forward { step } else { size - 1 - step };
            if let Some(inverse) = self.inverse {
                x[k] *= inverse[k];
            }
            let (first, end) = if self.forward { (k + 1, size) } else { (0, k) };
            for i in first..end {
                // SAFETY: i, k < size.
                let t = unsafe { self.at(i, k) };
                x[i] -= t * x[k];
            }
        }
    }

    /// Solves for one column of eight rows in one vector, of real numbers.
    ///
    /// # Safety
    /// The triangle has eight rows, its columns are contiguous, and `x` is readable and writable.
    #[inline(always)]
    unsafe fn solve_vector<V: Lanes<Real = T::Real>>(&self, x: *mut T::Real) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut lanes = V::load(x);
            for step in 0..SMALL {
                let k = if self.forward { step } else { SMALL - 1 - step };
                let mut unknown = lanes.permute(lanes, V::index(&[k as u32; 16]));
                if let Some(inverse) = self.inverse {
                    unknown = unknown * V::splat(inverse[k].re());
                }
                *x.add(k) = unknown.first();
                let column = self.t.add(k * self.strides[1]).cast::<V::Real>();
                let column = if self.forward {
                    V::load_last(column.add(SMALL), SMALL - 1 - k)
                } else {
                    V::load_first(column, k)
                };
                lanes = unknown.neg_mul_add(column, lanes);
            }
        }
    }

    /// Solves for up to W columns of eight rows of complex numbers, real and imaginary parts apart: a row of either is a vector.
    ///
    /// # Safety
    /// The triangle has eight rows.
    #[inline(always)]
    unsafe fn solve_parts<V: Lanes<Real = T::Real>>(&self, mut x: ViewMut<'_, T>) {
        let mut parts = [[T::Real::ZERO; MAX_LANES]; 2 * SMALL];
        for c in 0..x.ncols() {
            for (i, v) in x.as_mut().column(c).iter().enumerate() {
                (parts[2 * i][c], parts[2 * i + 1][c]) = (v.re(), v.im());
            }
        }
        let (mut re, mut im) = ([V::splat(T::Real::ZERO); SMALL], [V::splat(T::Real::ZERO); SMALL]);
        // SAFETY: room for the widest vector; i, k < 8.
        unsafe {
            for i in 0..SMALL {
                (re[i], im[i]) = (V::load(parts[2 * i].as_ptr()), V::load(parts[2 * i + 1].as_ptr()));
            }
            if self.forward {
                for k in 0..SMALL {
                    (re[k], im[k]) = self.divided(k, re[k], im[k]);
                    for i in k + 1..SMALL {
                        (re[i], im[i]) = minus_product(self.at(i, k), (re[k], im[k]), (re[i], im[i]));
                    }
                }
            } else {
                for k in (0..SMALL).rev() {
                    (re[k], im[k]) = self.divided(k, re[k], im[k]);
                    for i in 0..k {
                        (re[i], im[i]) = minus_product(self.at(i, k), (re[k], im[k]), (re[i], im[i]));
                    }
                }
            }
            for i in 0..SMALL {
                re[i].store(parts[2 * i].as_mut_ptr());
                im[i].store(parts[2 * i + 1].as_mut_ptr());
            }
        }
        for c in 0..x.ncols() {
            for (i, v) in x.as_mut().column(c).iter_mut().enumerate() {
                *v = T::from_parts(parts[2 * i][c], parts[2 * i + 1][c]);
            }
        }
    }

    /// Unknown k, divided by its diagonal element.
    #[inline(always)]
    fn divided<V: Lanes<Real = T::Real>>(&self, k: usize, re: V, im: V) -> (V, V) {
        let Some(inverse) = self.inverse else { return (re, im) };
        let (a, b) = (V::splat(inverse[k].re()), V::splat(inverse[k].im()));
        (b.neg_mul_add(im, a * re), b.mul_add(re, a * im))
    }

    /// Solves for W columns of eight rows, `stride` apart: transposed, so that a row of them is a vector.
    ///
    /// # Safety
    /// The triangle has eight rows, and `x` is readable and writable for the columns.
    #[inline(always)]
    unsafe fn solve<V: Lanes<Real = T::Real>>(&self, x: *mut T::Real, stride: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let [low, high] = [V::load_columns(x, stride), V::load_columns(x.add(4), stride)];
            let mut row = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
            if self.forward {
                for i in 0..SMALL {
                    for k in 0..i {
                        row[i] = V::splat(self.at(i, k).re()).neg_mul_add(row[k], row[i]);
                    }
                    if let Some(inverse) = self.inverse {
                        row[i] = row[i] * V::splat(inverse[i].re());
                    }
                }
            } else {
                for i in (0..SMALL).rev() {
                    for k in i + 1..SMALL {
                        row[i] = V::splat(self.at(i, k).re()).neg_mul_add(row[k], row[i]);
                    }
                    if let Some(inverse) = self.inverse {
                        row[i] = row[i] * V::splat(inverse[i].re());
                    }
                }
            }
            V::store_columns([row[0], row[1], row[2], row[3]], x, stride);
            V::store_columns([row[4], row[5], row[6], row[7]], x.add(4), stride);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Complex32, Complex64, Simd};
    use super::*;

    fn wave(rows: usize, columns: usize, by: f64) -> Vec<f64> {
        (0..rows * columns).map(|i| (i as f64 * by).sin()).collect()
    }

    /// A view of the first `rows` rows of columns that are two rows higher.
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
            T::dense_product(simd.or_best(), into(whole, a, view(&b, depth, columns)));
            for (i, j) in (0..rows + 2).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                let place = i + j * (rows + 2);
                if i >= rows {
                    assert!(result[place] == c[place]);
                    continue;
                }
                let sum = (0..depth).fold(T::ZERO, |sum, k| sum + a[(i, k)] * b[k + j * (depth + 2)]);
                let right = [c[place] - sum, c[place] + sum, sum][kind];
                // Each of `depth` terms has parts below 2 and is rounded at most depth + 1 times, both here and there.
                let limit = 4.0 * ((depth + 1) * (depth + 1)) as f64 * T::Real::EPSILON.to_f64();
                assert!((result[place] - right).abs1().to_f64() <= limit, "{} {rows}×{depth}×{columns}", T::NAME);
            }
        }
    }

    #[test]
    fn products_are_those_of_their_definition_and_touch_nothing_else() {
        let sizes = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 33];
        for (rows, depth) in sizes.iter().flat_map(|rows| sizes.map(|depth| (*rows, depth))) {
            for (columns, simd) in [1, 2, 3, 4, 7, 8, 13].iter().flat_map(|c| Simd::ALL.map(|simd| (*c, simd))) {
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
            for simd in Simd::ALL {
                check_products::<f64>(size, simd);
                check_products::<Complex32>(size, simd);
            }
        }
    }

    #[test]
    fn small_triangles_are_solved_in_both_directions() {
        small_triangles(|re, _| re);
        small_triangles(Complex64::new);
    }

    fn small_triangles<T: Scalar<Real = f64>>(number: impl Fn(f64, f64) -> T) {
        let wave = |rows: usize, columns: usize, by: f64| -> Vec<T> {
            let parts = [by, by + 0.05].map(|by| wave(rows, columns, by));
            parts[0].iter().zip(&parts[1]).map(|(re, im)| number(*re, *im)).collect()
        };
        for (size, columns) in (1..=SMALL).flat_map(|size| [1, 2, 8, 9, 20].map(|columns| (size, columns))) {
            for (forward, simd) in [true, false].iter().flat_map(|f| Simd::ALL.map(|simd| (*f, simd))) {
                let (t, inverse) = (wave(size, size, 0.37), wave(size, 1, 0.11));
                let t = View::new(&t, size, size);
                let x = wave(size, columns, 2.3);
                // T·x with 1/inverse on the diagonal and what is on its other side left out.
                let mut rhs = x.clone();
                let inverse: Vec<T> = inverse.iter().map(|v| T::from_real(1.5) + *v).collect();
                for (i, j) in (0..size).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let others = if forward { 0..i } else { i + 1..size };
                    let sum = others.fold(T::ZERO, |sum, k| sum + t[(i, k)] * x[k + j * size]);
                    rhs[i + j * size] = x[i + j * size] * crate::scalar::reciprocal(inverse[i]) + sum;
                }
                let columns_of_x = ViewMut::new(&mut rhs, size, columns);
                let job = SmallSubstitution { t, inverse: Some(&inverse), forward, x: columns_of_x };
                T::substitute_small(simd.or_best(), job);
                // Parts of entries below 1, real parts of diagonals above 0.4 and below 2.5: errors grow at most by 1 + √2·2.7 at each
                // of eight steps.
                let worst = rhs.iter().zip(&x).map(|(a, b)| Scalar::abs(*a - *b)).fold(0.0, f64::max);
                let growth: f64 = if T::COMPLEX { 4.9 } else { 3.5 };
                assert!(worst <= growth.powi(8) * 8.0 * f64::EPSILON, "{size}: {worst:e}");
            }
        }
    }
}
