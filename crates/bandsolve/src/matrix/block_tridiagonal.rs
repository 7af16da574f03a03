//! Block tridiagonal matrices, open or periodic, in three arrays of dense blocks.

use super::shape::Shape;
use super::tridiagonal::Tridiagonal;
use crate::error::{Error, Result, check_len};
use crate::memory::{copied, zeroed};
use crate::tuning::{PRODUCT_TASK, SMALL_BLOCK_MAX};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::rows::{BlockRows, Orientation};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Scalar, Simd};
use core::ops::Range;
use std::borrow::Cow;
use std::sync::Arc;

/// A block tridiagonal matrix, open or periodic, over the caller's three arrays.
///
/// Block row i of A·x = rhs is
///
/// ```text
/// sub[i]·x[i−1] + diag[i]·x[i] + sup[i]·x[i+1] = rhs[i]
/// ```
///
/// with blocks of `block` × `block` entries, and `block` entries in each of `x[i]` and `rhs[i]`.
///
/// # Shapes
/// Blocks are column-major: entry (r, c) of block i is at index `i·block² + r + c·block`. N is the number of block rows.
///
/// - `diag`: N blocks.
/// - `sub`, `sup`: N blocks, indexed by block row. The first block of `sub` and the last one of `sup` are ignored.
/// - `sub`, `sup`: N−1 blocks. Block i of `sub` then belongs to block row i+1.
/// - `sub`, `sup` of a [`periodic`](Self::periodic) matrix: N blocks. The first block of `sub` multiplies `x[N−1]` in block row 0, and the
///   last one of `sup` multiplies `x[0]` in block row N−1. For N ≤ 2, blocks of the same columns are added.
/// - Right-hand sides: column-major with N·`block` rows.
///
/// # Cost
/// Per block row with blocks of b > 8 rows (method `block-spike`): 4⅔·b³ flops to factor, and 6·b² flops to solve for each right-hand side.
/// Verification adds 6·b² flops. Inner partitions, which have spikes, cost 12⅔·b³ flops to factor and 10·b² to solve. For smaller blocks,
/// see `docs/math/block-rpts.md` and `docs/math/spike.md`.
///
/// # Errors
/// The constructors return [`Error::Shape`] if `block` is 0 or the length of an array is wrong. A solve returns the errors of
/// [`Factor`](crate::Factor).
///
/// # Examples
/// ```
/// use bandsolve::BlockTridiagonal;
/// // Two blocks of two rows each:  [4 1 | 1 0]
/// //                               [1 4 | 0 1]
/// //                               [1 0 | 4 1]
/// //                               [0 1 | 1 4]
/// let diag = [4.0, 1.0, 1.0, 4.0, 4.0, 1.0, 1.0, 4.0];
/// let unit = [1.0, 0.0, 0.0, 1.0];
/// let a = BlockTridiagonal::new(2, &unit, &diag, &unit)?;
/// let x = a.solve(&[6.0, 6.0, 6.0, 6.0])?;
/// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BlockTridiagonal<'a, T: Scalar> {
    block: usize,
    sub: Cow<'a, [T]>,
    diag: Cow<'a, [T]>,
    sup: Cow<'a, [T]>,
    periodic: bool,
}

impl<'a, T: Scalar> BlockTridiagonal<'a, T> {
    /// An open matrix that borrows its arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] if `block` is 0, `diag` is not a whole number N of blocks, or `sub` or `sup` holds neither N nor N−1 blocks.
    pub fn new(block: usize, sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::build(block, [sub, diag, sup].map(Cow::Borrowed), false)
    }

    /// A periodic matrix that borrows its arrays. The first block of `sub` and the last one of `sup` are its corner blocks.
    ///
    /// # Errors
    /// [`Error::Shape`] if `block` is 0, or the arrays do not hold the same whole number of blocks.
    pub fn periodic(block: usize, sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::build(block, [sub, diag, sup].map(Cow::Borrowed), true)
    }

    /// An open or periodic matrix that owns its arrays. `blocks` is `[sub, diag, sup]`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and [`periodic`](Self::periodic).
    pub fn from_vecs(block: usize, blocks: [Vec<T>; 3], periodic: bool) -> Result<BlockTridiagonal<'static, T>> {
        BlockTridiagonal::build(block, blocks.map(Cow::Owned), periodic)
    }

    fn build(block: usize, [sub, diag, sup]: [Cow<'a, [T]>; 3], periodic: bool) -> Result<Self> {
        let square = block.saturating_mul(block);
        if square == 0 {
            return Err(Error::Shape { what: "block", expected: 1, got: 0 });
        }
        check_len("diag", diag.len().div_ceil(square).saturating_mul(square), diag.len())?;
        for (what, off) in [("sub", &sub), ("sup", &sup)] {
            if periodic || diag.len().checked_sub(square) != Some(off.len()) {
                check_len(what, diag.len(), off.len())?;
            }
        }
        Ok(Self { block, sub, diag, sup, periodic })
    }

    /// Number of rows per block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Number of block rows.
    pub fn block_rows(&self) -> usize {
        self.diag.len() / (self.block * self.block)
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.diag.len() / self.block
    }

    /// Whether the matrix is periodic.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// The shape that a [`Plan`](crate::Plan) needs.
    pub fn shape(&self) -> Shape {
        Shape::BlockTridiagonal { block_rows: self.block_rows(), block: self.block, periodic: self.periodic }
    }

    /// The arrays `sub`, `diag` and `sup` as the caller passed them.
    pub fn arrays(&self) -> [&[T]; 3] {
        [&self.sub, &self.diag, &self.sup]
    }

    /// The same matrix, which borrows the arrays of `self`.
    pub fn view(&self) -> BlockTridiagonal<'_, T> {
        BlockTridiagonal {
            sub: Cow::Borrowed(&self.sub),
            diag: Cow::Borrowed(&self.diag),
            sup: Cow::Borrowed(&self.sup),
            ..*self
        }
    }

    /// A matrix with blocks of one row as a tridiagonal matrix. The arrays are copied only if others share them.
    pub(crate) fn into_tridiagonal(this: Arc<Self>) -> Result<Tridiagonal<'a, T>> {
        debug_assert!(this.block == 1);
        match Arc::try_unwrap(this) {
            Ok(a) => Tridiagonal::build(a.sub, a.diag, a.sup, a.periodic),
            Err(a) => Tridiagonal::from_vecs(copied(&a.sub)?, copied(&a.diag)?, copied(&a.sup)?, a.periodic),
        }
    }

    /// The same matrix, which owns its arrays.
    pub fn into_owned(self) -> BlockTridiagonal<'static, T> {
        let blocks = [self.sub, self.diag, self.sup].map(|array| Cow::Owned(array.into_owned()));
        let [sub, diag, sup] = blocks;
        BlockTridiagonal { block: self.block, sub, diag, sup, periodic: self.periodic }
    }

    /// The entry (i, j) of A, counted in rows and columns, not in blocks. For N ≤ 2, corner blocks are added to the blocks that they
    /// overlap.
    pub fn get(&self, i: usize, j: usize) -> T {
        let mut entry = T::ZERO;
        self.rows().visit_row(i, |column, a| entry = if column == j { a } else { entry });
        entry
    }

    /// The product A·x.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` has n rows.
    pub fn apply(&self, x: &[T]) -> Result<Vec<T>> {
        let mut y = zeroed(x.len())?;
        self.apply_into(x, &mut y)?;
        Ok(y)
    }

    /// Write the product A·x to y. Large products use all threads.
    ///
    /// # Shapes
    /// `x` and `y`: n × any number of columns, column-major.
    ///
    /// # Cost
    /// Per row and column 6·block flops and 3·block words. Several columns share one pass over the matrix.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` has n rows and `y` is as long.
    pub fn apply_into(&self, x: &[T], y: &mut [T]) -> Result<()> {
        let _mode = Standard::enter();
        let columns = self.shape().n_rhs("x", x.len())?;
        check_len("y", x.len(), y.len())?;
        let (rows, n) = (self.rows(), self.n());
        if n > 0 && columns > 0 {
            let x = View::new(x, n, columns);
            multiply(&rows, 0..rows.block_rows(), x, ViewMut::new(y, n, columns));
        }
        Ok(())
    }

    /// Check that all entries are finite. Ignored blocks may have any values.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for the first NaN or infinity.
    pub fn check_finite(&self) -> Result<()> {
        let square = self.block * self.block;
        let ignored =
            |off: &[T]| usize::from(!self.periodic && off.len() == self.diag.len() && !off.is_empty()) * square;
        let bad = |a: &[T]| a.iter().position(|v| !Scalar::is_finite(*v));
        let skip = ignored(&self.sub);
        let place = bad(&self.sub[skip..])
            .map(|i| ("sub", i + skip))
            .or_else(|| bad(&self.diag).map(|i| ("diag", i)))
            .or_else(|| bad(&self.sup[..self.sup.len() - ignored(&self.sup)]).map(|i| ("sup", i)));
        place.map_or(Ok(()), |(array, index)| Err(Error::NotFinite { array, index }))
    }

    /// The block rows in the form that all methods use.
    pub(crate) fn rows(&self) -> BlockRows<'_, T> {
        let (len, square) = (self.diag.len(), self.block * self.block);
        let beside = len.saturating_sub(square);
        let (mut first, mut last): (&[T], &[T]) = (&[], &[]);
        if self.periodic && len > 0 {
            (first, last) = (&self.sub[..square], &self.sup[beside..]);
        }
        let sub = &self.sub[self.sub.len() - beside.min(self.sub.len())..];
        let sup = &self.sup[..beside.min(self.sup.len())];
        let orientation = Orientation::Plain;
        BlockRows { block: self.block, sub, diag: &self.diag, sup, first, last, orientation }
    }
}

/// Compute y = A·x in the block rows `range`, which y holds. Large ranges are halved among threads. A must not be transposed.
fn multiply<T: Scalar>(a: &BlockRows<'_, T>, range: Range<usize>, x: View<'_, T>, mut y: ViewMut<'_, T>) {
    debug_assert_eq!(a.orientation, Orientation::Plain);
    let b = a.block;
    if range.len() > 1 && range.len() * b * b * x.ncols() > PRODUCT_TASK {
        let middle = range.start + range.len() / 2;
        let (top, bottom) = y.split_at_row((middle - range.start) * b);
        join(|| multiply(a, range.start..middle, x, top), || multiply(a, middle..range.end, x, bottom));
        return;
    }
    const { assert!(SMALL_BLOCK_MAX == 8) };
    let small = match b {
        1 => Some(multiply_small::<T, 1> as fn(&BlockRows<'_, T>, usize, View<'_, T>, ViewMut<'_, T>)),
        2 => Some(multiply_small::<T, 2> as _),
        3 => Some(multiply_small::<T, 3> as _),
        4 => Some(multiply_small::<T, 4> as _),
        5 => Some(multiply_small::<T, 5> as _),
        6 => Some(multiply_small::<T, 6> as _),
        7 => Some(multiply_small::<T, 7> as _),
        8 => Some(multiply_small::<T, 8> as _),
        _ => None,
    };
    for (k, row) in range.enumerate() {
        let mut y = y.as_mut().rows(k * b..(k + 1) * b);
        if let Some(small) = small {
            small(a, row, x, y);
            continue;
        }
        for (nth, (column, block)) in a.blocks(row).into_iter().flatten().enumerate() {
            let block = View::new(block, b, b);
            let (y, x) = (y.as_mut(), x.rows(column * b..(column + 1) * b));
            let product = if nth > 0 { Product::add(y, block, x) } else { Product::replace(y, block, x) };
            product.run_on(Simd::detect());
        }
    }
}

/// One block row of [`multiply`] for small blocks: the compiler unrolls loops of constant length.
fn multiply_small<T: Scalar, const B: usize>(a: &BlockRows<'_, T>, row: usize, x: View<'_, T>, mut y: ViewMut<'_, T>) {
    let blocks = a.blocks(row);
    for s in 0..x.ncols() {
        let (mut sums, x) = ([T::ZERO; B], x.column(s));
        for (column, block) in blocks.iter().flatten() {
            let (x, block) = (&x[column * B..][..B], &block[..B * B]);
            for c in 0..B {
                for r in 0..B {
                    sums[r] += block[c * B + r] * x[c];
                }
            }
        }
        y.as_mut().column(s).copy_from_slice(&sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::equations::{Equations, Matrix};
    use crate::{Op, Simd};

    /// A matrix whose entries encode their position: 1000·(array) + 100·(block row) + 10·r + c.
    fn matrix(rows: usize, periodic: bool) -> BlockTridiagonal<'static, f64> {
        let array =
            |k: usize| (0..4 * rows).map(|i| (1000 * k + 100 * (i / 4) + 10 * (i % 2) + i / 2 % 2) as f64).collect();
        BlockTridiagonal::from_vecs(2, [array(1), array(2), array(3)], periodic).unwrap()
    }

    #[test]
    fn entries_stand_where_they_belong() {
        let a = matrix(3, true);
        assert_eq!((a.get(0, 1), a.get(3, 2)), (2001.0, 2110.0));
        assert_eq!((a.get(3, 0), a.get(2, 5), a.get(1, 4), a.get(5, 0)), (1110.0, 3101.0, 1010.0, 3210.0));
        let open = matrix(3, false);
        assert_eq!((open.get(1, 4), open.get(5, 0), open.get(5, 3)), (0.0, 0.0, 1211.0));
        // In small matrices, corner blocks are added to other blocks.
        assert_eq!(matrix(2, true).get(1, 2), 3010.0 + 1010.0);
        assert_eq!(matrix(1, true).get(1, 0), 2010.0 + (1010.0 + 3010.0));
    }

    #[test]
    fn transposes_and_blockwise_products_agree_with_entries() {
        for (rows, periodic) in [(1, true), (2, true), (3, true), (1, false), (2, false), (5, false)] {
            let a = matrix(rows, periodic);
            let n = a.n();
            let x: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
            for op in [Op::Plain, Op::Transpose] {
                let (rows, plain) = (a.equations(op, Simd::detect()), op == Op::Plain);
                for first in 0..n {
                    let (mut r, mut sums) = (vec![0.0; n - first], vec![0.0; n - first]);
                    rows.accumulate(first, &x, &mut r, &mut sums);
                    for i in first..n {
                        let entry = |j: usize| if plain { a.get(i, j) } else { a.get(j, i) };
                        let dot: f64 = (0..n).map(|j| entry(j) * x[j]).sum();
                        assert_eq!((r[i - first], sums[i - first]), (-dot, (0..n).map(entry).sum()), "row {i} of {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn products_of_any_number_of_columns() {
        for (rows, periodic) in [(1, true), (2, true), (3, true), (1, false), (2, false), (40_000, false)] {
            let a = matrix(rows, periodic);
            let n = a.n();
            let x: Vec<f64> = (0..3 * n).map(|i| (i % 17) as f64 - 8.0).collect();
            let y = a.apply(&x).unwrap();
            for i in (0..3 * n).step_by(if rows > 100 { 997 } else { 1 }) {
                // The entries are whole numbers, so there is no rounding.
                let near = (i % n).saturating_sub(4)..(i % n + 4).min(n);
                let dot: f64 = near.map(|j| a.get(i % n, j) * x[i / n * n + j]).sum();
                let corners = rows > 2 && periodic && (i % n < 2 || i % n >= n - 2);
                assert!(corners || y[i] == dot, "row {i} of {n}");
            }
            let mut again = vec![f64::NAN; n];
            a.apply_into(&x[n..2 * n], &mut again).unwrap();
            assert_eq!(again, y[n..2 * n]);
            assert!(n == 1 || a.apply_into(&x[1..n], &mut again[1..]).is_err());
        }
        assert_eq!(BlockTridiagonal::<f64>::new(3, &[], &[], &[]).unwrap().apply(&[]), Ok(vec![]));
    }

    #[test]
    fn wrong_sizes_say_which() {
        let zeros = [0.0; 12];
        let wrong = |block, lens: [usize; 3]| {
            BlockTridiagonal::new(block, &zeros[..lens[0]], &zeros[..lens[1]], &zeros[..lens[2]]).unwrap_err()
        };
        assert_eq!(wrong(0, [4, 4, 4]), Error::Shape { what: "block", expected: 1, got: 0 });
        assert_eq!(wrong(2, [4, 7, 4]), Error::Shape { what: "diag", expected: 8, got: 7 });
        assert_eq!(wrong(2, [12, 8, 4]), Error::Shape { what: "sub", expected: 8, got: 12 });
        assert!(BlockTridiagonal::periodic(2, &zeros[..4], &zeros[..8], &zeros[..8]).is_err());
        assert_eq!(BlockTridiagonal::<f64>::new(3, &[], &[], &[]).unwrap().n(), 0);
    }
}
