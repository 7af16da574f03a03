//! Batches: many tridiagonal systems of the same size.

use super::banded_batch::BandedBatch;
use super::shape::{Layout, Shape};
use super::tridiagonal::Tridiagonal;
use crate::error::{Error, Result, check_len};
use crate::memory::{collected, copied};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::band_form::BlockStrides;
use bandsolve_kernel::tile::Strides;
use std::borrow::Cow;

/// `count` tridiagonal matrices of size n, open or periodic, over the caller's three arrays, or one matrix for `count` systems.
///
/// Row i of system s is
///
/// ```text
/// sub[s, i]·x[s, i−1] + diag[s, i]·x[s, i] + sup[s, i]·x[s, i+1] = rhs[s, i]
/// ```
///
/// # Shapes
/// Each right-hand side has length `count · n`, in a [`Layout`]. `sub`, `diag` and `sup` have the same length and layout, or length n if
/// all systems have the same matrix ([`shared`](Self::shared)). `sub` of the first row and `sup` of the last row of each system are ignored,
/// unless the batch is [`periodic`](Self::periodic).
///
/// # Cost
/// A solve reads 4 words and writes 1 word per row, with one reciprocal per row. One system is on each SIMD lane, and groups of systems are
/// on each thread. With a [`shared`](Self::shared) matrix, elimination happens once, and each system only costs the substitution. Periodic
/// systems take 1.05 to 1.25 times as long as open ones (f64, n = 50 to 1000, in cache).
///
/// # Errors
/// The constructors return [`Error::Shape`] if the length of an array is wrong. A solve returns the errors of [`Factor`](crate::Factor). In
/// [`Error::Singular`], row i of system s has the number s·n + i.
///
/// # Examples
/// ```
/// use bandsolve::TridiagonalBatch;
/// // Two systems of two unknowns: [2 1; 1 2] and [3 1; 1 3].
/// let a = TridiagonalBatch::contiguous(2, 2, &[0., 1., 0., 1.], &[2., 2., 3., 3.], &[1., 0., 1., 0.])?;
/// let x = a.solve(&[3.0, 3.0, 4.0, 4.0])?;
/// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TridiagonalBatch<'a, T: Scalar> {
    n: usize,
    count: usize,
    layout: Layout,
    /// Whether all systems have the same matrix.
    shared: bool,
    periodic: bool,
    pub(crate) sub: Cow<'a, [T]>,
    pub(crate) diag: Cow<'a, [T]>,
    pub(crate) sup: Cow<'a, [T]>,
}

impl<'a, T: Scalar> TridiagonalBatch<'a, T> {
    /// A batch in layout [`Contiguous`](Layout::Contiguous) that borrows its arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every array has length `count · n`.
    pub fn contiguous(count: usize, n: usize, sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::new(count, n, Layout::Contiguous, sub, diag, sup)
    }

    /// A batch in layout [`Interleaved`](Layout::Interleaved) that borrows its arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every array has length `count · n`.
    pub fn interleaved(count: usize, n: usize, sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::new(count, n, Layout::Interleaved, sub, diag, sup)
    }

    /// A batch in layout [`Interleaved`](Layout::Interleaved) that owns its arrays. `arrays` is `[sub, diag, sup]`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every array has length `count · n`.
    pub fn interleaved_from_vecs(count: usize, n: usize, arrays: [Vec<T>; 3]) -> Result<TridiagonalBatch<'static, T>> {
        TridiagonalBatch::from_vecs(count, n, Layout::Interleaved, arrays)
    }

    /// A batch in the given layout that owns its arrays. `arrays` is `[sub, diag, sup]`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every array has length `count · n`.
    pub fn from_vecs(
        count: usize,
        n: usize,
        layout: Layout,
        arrays: [Vec<T>; 3],
    ) -> Result<TridiagonalBatch<'static, T>> {
        let [sub, diag, sup] = &arrays;
        TridiagonalBatch::new(count, n, layout, sub, diag, sup)?;
        let [sub, diag, sup] = arrays.map(Cow::Owned);
        Ok(TridiagonalBatch { n, count, layout, shared: false, periodic: false, sub, diag, sup })
    }

    /// `count` systems with the same matrix, whose three arrays have length n each. The right-hand sides have the given layout.
    ///
    /// The matrix is factored once. A solve takes less time than one with a matrix for each system.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every array has length n.
    ///
    /// # Examples
    /// Two steps of diffusion along the columns of a field of 3 rows and 2 columns:
    /// ```
    /// use bandsolve::{Factor, Layout, Plan, TridiagonalBatch};
    /// let (off, diag) = ([-1.0; 3], [3.0; 3]);
    /// let a = TridiagonalBatch::shared(2, 3, Layout::Interleaved, &off, &diag, &off)?;
    /// let lu = Plan::new(a.shape()).factor(&a)?;
    /// let mut field = vec![7.0, 14.0, 7.0, 14.0, 7.0, 14.0];
    /// for _ in 0..2 {
    ///     field = lu.solve(&field)?.values;
    /// }
    /// let expected = [17.0, 34.0, 23.0, 46.0, 17.0, 34.0].map(|v| v / 7.0);
    /// assert!(field.iter().zip(expected).all(|(x, y): (&f64, f64)| (x - y).abs() < 1e-14));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn shared(count: usize, n: usize, layout: Layout, sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        let one = Self::new(1, n, layout, sub, diag, sup)?;
        Ok(Self { count, shared: true, ..one })
    }

    /// A batch in the given layout that borrows its arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every array has length `count · n`.
    pub fn new(count: usize, n: usize, layout: Layout, sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        let len = count.saturating_mul(n);
        check_len("sub", len, sub.len())?;
        check_len("diag", len, diag.len())?;
        check_len("sup", len, sup.len())?;
        let (sub, diag, sup) = (Cow::Borrowed(sub), Cow::Borrowed(diag), Cow::Borrowed(sup));
        Ok(Self { n, count, layout, shared: false, periodic: false, sub, diag, sup })
    }

    /// The same batch with periodic systems, as [`Tridiagonal::periodic`] defines them.
    ///
    /// `sub` of row 0 multiplies the last unknown of the system in row 0, and `sup` of row n−1 multiplies its first unknown in row n−1. For
    /// n ≤ 2, entries of the same column are added.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::TridiagonalBatch;
    /// // Two systems of three unknowns, whose rows are 1 4 1 and 1 6 1, wrapped around.
    /// let (off, diag) = ([1.0; 6], [4.0, 4.0, 4.0, 6.0, 6.0, 6.0]);
    /// let a = TridiagonalBatch::contiguous(2, 3, &off, &diag, &off)?.periodic();
    /// let x = a.solve(&[6.0, 6.0, 6.0, 8.0, 8.0, 8.0])?;
    /// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn periodic(self) -> Self {
        Self { periodic: true, ..self }
    }

    /// Whether the systems are periodic.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// Number of unknowns per system.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of systems.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The order of the systems in memory.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The shape that a [`Plan`](crate::Plan) needs.
    pub fn shape(&self) -> Shape {
        Shape::Batch { n: self.n, count: self.count, layout: self.layout, periodic: self.periodic }
    }

    /// Whether all systems have the same matrix.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The same batch with a matrix for each system, copied if all systems have the same matrix.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn separate(&self) -> Result<TridiagonalBatch<'_, T>> {
        if !self.shared {
            return Ok(self.view());
        }
        let len = self.count.saturating_mul(self.n);
        let all = |array: &[T]| {
            let of_row = |k: usize| array[if self.layout == Layout::Contiguous { k % self.n } else { k / self.count }];
            collected((0..len).map(of_row)).map(Cow::Owned)
        };
        let (sub, diag, sup) = (all(&self.sub)?, all(&self.diag)?, all(&self.sup)?);
        Ok(TridiagonalBatch { sub, diag, sup, shared: false, ..*self })
    }

    /// The arrays `sub`, `diag` and `sup` as the caller passed them.
    pub fn arrays(&self) -> [&[T]; 3] {
        [&self.sub, &self.diag, &self.sup]
    }

    /// The same batch, which borrows the arrays of `self`.
    pub fn view(&self) -> TridiagonalBatch<'_, T> {
        TridiagonalBatch {
            sub: Cow::Borrowed(&self.sub),
            diag: Cow::Borrowed(&self.diag),
            sup: Cow::Borrowed(&self.sup),
            ..*self
        }
    }

    /// The same batch, which owns its arrays.
    pub fn into_owned(self) -> TridiagonalBatch<'static, T> {
        TridiagonalBatch {
            n: self.n,
            count: self.count,
            layout: self.layout,
            shared: self.shared,
            periodic: self.periodic,
            sub: Cow::Owned(self.sub.into_owned()),
            diag: Cow::Owned(self.diag.into_owned()),
            sup: Cow::Owned(self.sup.into_owned()),
        }
    }

    /// The same as [`into_owned`](Self::into_owned), with an error if there is no memory for a copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_into_owned(self) -> Result<TridiagonalBatch<'static, T>> {
        let owned = |array: Cow<'a, [T]>| match array {
            Cow::Owned(array) => Ok(Cow::Owned(array)),
            Cow::Borrowed(array) => copied(array).map(Cow::Owned),
        };
        let Self { n, count, layout, shared, periodic, .. } = self;
        let (sub, diag, sup) = (owned(self.sub)?, owned(self.diag)?, owned(self.sup)?);
        Ok(TridiagonalBatch { n, count, layout, shared, periodic, sub, diag, sup })
    }

    /// Index of row `i` of system `s` in the arrays of the matrix.
    #[inline]
    pub(crate) fn matrix_index(&self, s: usize, i: usize) -> usize {
        if self.shared { i } else { self.index(s, i) }
    }

    /// Index of row `i` of system `s` in right-hand sides, and in the arrays of the matrix unless all systems have the same.
    #[inline]
    pub fn index(&self, s: usize, i: usize) -> usize {
        self.layout.index((self.count, self.n), s, i)
    }

    /// Whether the systems have corner entries in columns of their own.
    pub(crate) fn has_corners(&self) -> bool {
        self.periodic && self.n > 2
    }

    /// Entry `k` (sub, diag, sup) in row `i` of system `s` of A, or of Aᵀ if `transposed`.
    ///
    /// A periodic system with one or two unknowns becomes an open one. Corner entries that do not exist are zero.
    pub(crate) fn entry(&self, transposed: bool, k: usize, s: usize, i: usize) -> T {
        let n = self.n;
        let (before, after) = (if i == 0 { n - 1 } else { i - 1 }, if i + 1 == n { 0 } else { i + 1 });
        let at = |array: &[T], i: usize| array[self.matrix_index(s, i)];
        let corner = (k == 0 && i == 0) || (k == 2 && i + 1 == n);
        if corner && !self.has_corners() {
            return T::ZERO;
        }
        match (k, transposed) {
            (1, _) if self.periodic && n == 1 => at(&self.diag, 0) + at(&self.sub, 0) + at(&self.sup, 0),
            (1, _) => at(&self.diag, i),
            (_, _) if self.periodic && n == 2 => {
                let row = if transposed { 1 - i } else { i };
                at(&self.sub, row) + at(&self.sup, row)
            }
            (0, false) => at(&self.sub, i),
            (0, true) => at(&self.sup, before),
            (_, false) => at(&self.sup, i),
            (_, true) => at(&self.sub, after),
        }
    }

    /// The same batch with blocks of one row.
    pub(crate) fn into_blocks(self) -> Result<BandedBatch<'a, T>> {
        let Self { n, count, layout, shared, periodic, sub, diag, sup } = self;
        let Strides { lane, row } = layout.strides((count, n));
        let (system, block) = if shared { (0, 1) } else { (lane, row) };
        let strides = BlockStrides { system, block, row: 0, column: 0 };
        let blocks = BandedBatch::of_blocks(count, (n, 1), layout, strides, [sub, diag, sup])?;
        if periodic { blocks.periodic() } else { Ok(blocks) }
    }

    /// A copy of system `s`.
    ///
    /// # Panics
    /// If `s` is not less than the number of systems, or there is no memory for the copy.
    pub fn system(&self, s: usize) -> Tridiagonal<'static, T> {
        assert!(s < self.count, "the batch has {} systems, but system {s} was requested", self.count);
        self.try_system(s).expect("there is memory for a copy of the system")
    }

    /// A copy of system `s`, or `Err(OutOfMemory)`.
    pub(crate) fn try_system(&self, s: usize) -> Result<Tridiagonal<'static, T>> {
        let pick = |a: &[T]| collected((0..self.n).map(|i| a[self.matrix_index(s, i)]));
        Tridiagonal::from_vecs(pick(&self.sub)?, pick(&self.diag)?, pick(&self.sup)?, self.periodic)
    }

    /// Check that all entries are finite. Ignored entries may have any value.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for the first NaN or infinity.
    pub fn check_finite(&self) -> Result<()> {
        for s in 0..if self.shared { self.count.min(1) } else { self.count } {
            for i in 0..self.n {
                let at = self.matrix_index(s, i);
                let (first, last) = (i == 0 && !self.periodic, i + 1 == self.n && !self.periodic);
                let entries = [("sub", &self.sub, !first), ("diag", &self.diag, true), ("sup", &self.sup, !last)];
                for (array, values, used) in entries {
                    if used && !Scalar::is_finite(values[at]) {
                        return Err(Error::NotFinite { array, index: at });
                    }
                }
            }
        }
        Ok(())
    }
}
