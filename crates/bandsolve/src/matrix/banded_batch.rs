//! Batches of banded systems of the same size.

use super::banded::Banded;
use super::shape::{Layout, Shape};
use crate::error::{Error, Result, check_len};
use crate::memory::{copied, zeroed};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::band_lockstep::{BandShape, BandStrides};
use std::borrow::Cow;

/// `count` banded matrices of size n, over the caller's array.
///
/// Each system has `lower` diagonals below the main one and `upper` above it, at most 15 on each side.
///
/// # Shapes
/// With the three [`BandStrides`], entry (i, j) of system s is
///
/// ```text
/// bands[s·system + j·column + (upper + i − j)·diagonal]   for   j − upper ≤ i ≤ j + lower
/// ```
///
/// Entries of the array outside of the matrices are ignored. Right-hand sides have length `count · n`, in a [`Layout`].
///
/// | arrays | constructor |
/// | --- | --- |
/// | one [`Banded`] after the other | [`contiguous`](Self::contiguous) |
/// | the same entry of all systems side by side | [`interleaved`](Self::interleaved) |
/// | any other order, such as one array for each diagonal | [`with_strides`](Self::with_strides) |
///
/// # Cost
/// One system is on each SIMD lane, and groups of systems are on each thread. With q = lower + upper, a solve takes per row about lower·q
/// multiplications and additions, as many selections of pivot rows, and one reciprocal. It reads q + 2 words and writes one. No factors are
/// stored.
///
/// # Errors
/// The constructors return [`Error::Shape`] if the length of the array is wrong or a side has more than 15 diagonals. A solve returns the
/// errors of [`Factor`](crate::Factor). In [`Error::Singular`], row i of system s has the number s·n + i.
///
/// # Examples
/// ```
/// use bandsolve::BandedBatch;
/// // Two systems of three unknowns: [2 1 1; 1 4 1; 1 1 2] and the same matrix times 2.
/// let one = [0., 0., 2., 1., 1., 0., 1., 4., 1., 0., 1., 1., 2., 0., 0.];
/// let bands: Vec<f64> = one.iter().chain(&one.map(|v| 2.0 * v)).copied().collect();
/// let a = BandedBatch::contiguous(2, 3, (2, 2), &bands)?;
/// let x = a.solve(&[4., 6., 4., 8., 12., 8.])?;
/// assert!(x.values.iter().all(|v| (v - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BandedBatch<'a, T: Scalar> {
    count: usize,
    layout: Layout,
    band: BandShape,
    bands: Cow<'a, [T]>,
}

impl<'a, T: Scalar> BandedBatch<'a, T> {
    /// The largest number of diagonals on each side.
    pub const MAX_DIAGONALS: usize = bandsolve_kernel::tuning::BATCH_DIAGONALS;

    /// A batch in layout [`Contiguous`](Layout::Contiguous) that borrows `bands`: the arrays of `count` matrices
    /// [`Banded::new`]`(n, lower, upper, …)`, one after the other.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `bands` has length `count · n · (lower + upper + 1)` and each side has at most 15 diagonals.
    pub fn contiguous(count: usize, n: usize, (lower, upper): (usize, usize), bands: &'a [T]) -> Result<Self> {
        let diagonals = lower.saturating_add(upper).saturating_add(1);
        check_len("bands", count.saturating_mul(n).saturating_mul(diagonals), bands.len())?;
        let strides = BandStrides { system: n * diagonals, column: diagonals, diagonal: 1 };
        Self::with_strides(count, n, (lower, upper), Layout::Contiguous, strides, bands)
    }

    /// A batch in layout [`Interleaved`](Layout::Interleaved) that borrows `bands`: entry e of the array of [`Banded::new`] is at
    /// `e·count + s` for system s.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `bands` has length `count · n · (lower + upper + 1)` and each side has at most 15 diagonals.
    pub fn interleaved(count: usize, n: usize, (lower, upper): (usize, usize), bands: &'a [T]) -> Result<Self> {
        let diagonals = lower.saturating_add(upper).saturating_add(1);
        check_len("bands", count.saturating_mul(n).saturating_mul(diagonals), bands.len())?;
        let strides = BandStrides { system: 1, column: diagonals * count, diagonal: count };
        Self::with_strides(count, n, (lower, upper), Layout::Interleaved, strides, bands)
    }

    /// A batch that borrows `bands`, with any strides. The right-hand sides have the given layout.
    ///
    /// # Errors
    /// [`Error::Shape`] if an entry would lie outside of `bands`, or a side has more than 15 diagonals.
    ///
    /// # Examples
    /// Each diagonal of a system in a row of its own, as in SciPy's `ab`:
    /// ```
    /// use bandsolve::{BandStrides, BandedBatch, Layout};
    /// let (count, n, lower, upper) = (1, 3, 1, 1);
    /// let ab = [0.0, 1.0, 1.0, 4.0, 4.0, 4.0, 1.0, 1.0, 0.0]; // upper, main and lower diagonal
    /// let strides = BandStrides { system: 3 * n, column: 1, diagonal: n };
    /// let a = BandedBatch::with_strides(count, n, (lower, upper), Layout::Contiguous, strides, &ab)?;
    /// let x = a.solve(&[5.0, 6.0, 5.0])?;
    /// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn with_strides(
        count: usize,
        n: usize,
        (lower, upper): (usize, usize),
        layout: Layout,
        strides: BandStrides,
        bands: &'a [T],
    ) -> Result<Self> {
        Self::build(count, n, (lower, upper), layout, strides, Cow::Borrowed(bands))
    }

    pub(super) fn build(
        count: usize,
        n: usize,
        (lower, upper): (usize, usize),
        layout: Layout,
        strides: BandStrides,
        bands: Cow<'a, [T]>,
    ) -> Result<Self> {
        if lower.max(upper) > Self::MAX_DIAGONALS {
            let what = "the number of diagonals on one side of a batch of bands";
            return Err(Error::Shape { what, expected: Self::MAX_DIAGONALS, got: lower.max(upper) });
        }
        let band = BandShape { n, lower, upper, strides };
        let last = band.last(count).and_then(|last| last.checked_add(1)).unwrap_or(usize::MAX);
        if n > 0 && count > 0 && last > bands.len() {
            return Err(Error::Shape { what: "bands", expected: last, got: bands.len() });
        }
        Ok(Self { count, layout, band, bands })
    }

    /// Number of unknowns per system.
    pub fn n(&self) -> usize {
        self.band.n
    }

    /// Number of systems.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of diagonals below the main one.
    pub fn lower(&self) -> usize {
        self.band.lower
    }

    /// Number of diagonals above the main one.
    pub fn upper(&self) -> usize {
        self.band.upper
    }

    /// The order of the right-hand sides in memory.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The array, and the distances between its entries.
    pub fn storage(&self) -> (&[T], BandStrides) {
        (&self.bands, self.band.strides)
    }

    /// The shape that a [`Plan`](crate::Plan) needs.
    pub fn shape(&self) -> Shape {
        let BandShape { n, lower, upper, .. } = self.band;
        Shape::BandedBatch { n, count: self.count, layout: self.layout, lower, upper }
    }

    /// The form in which the kernels take the matrices.
    pub(crate) fn band(&self) -> BandShape {
        self.band
    }

    /// Index of row `i` of system `s` in right-hand sides.
    #[inline]
    pub fn index(&self, s: usize, i: usize) -> usize {
        self.layout.index((self.count, self.band.n), s, i)
    }

    /// Index of the entry (i, j) of system `s`, which is inside the band, in the array.
    #[inline]
    pub(crate) fn matrix_index(&self, s: usize, (i, j): (usize, usize)) -> usize {
        let BandStrides { system, column, diagonal } = self.band.strides;
        s * system + j * column + (self.band.upper + i - j) * diagonal
    }

    /// The entries of row `i` of system `s` of A, or of Aᵀ if `transposed`.
    pub(crate) fn visit_row(&self, transposed: bool, s: usize, i: usize, visit: &mut dyn FnMut(usize, T)) {
        let BandShape { n, lower, upper, .. } = self.band;
        let (before, after) = if transposed { (upper, lower) } else { (lower, upper) };
        for j in i.saturating_sub(before)..n.min(i + after + 1) {
            visit(j, self.bands[self.matrix_index(s, if transposed { (j, i) } else { (i, j) })]);
        }
    }

    /// The same batch, which borrows the array of `self`.
    pub fn view(&self) -> BandedBatch<'_, T> {
        BandedBatch { bands: Cow::Borrowed(&self.bands), ..*self }
    }

    /// The same batch, which owns its array.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_into_owned(self) -> Result<BandedBatch<'static, T>> {
        let bands = match self.bands {
            Cow::Owned(bands) => bands,
            Cow::Borrowed(bands) => copied(bands)?,
        };
        Ok(BandedBatch { count: self.count, layout: self.layout, band: self.band, bands: Cow::Owned(bands) })
    }

    /// A copy of system `s`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If `s` is not less than the number of systems.
    pub fn system(&self, s: usize) -> Result<Banded<'static, T>> {
        assert!(s < self.count, "the batch has {} systems, but system {s} was requested", self.count);
        let BandShape { n, lower, upper, .. } = self.band;
        let diagonals = lower + upper + 1;
        let mut bands = zeroed(n * diagonals)?;
        for i in 0..n {
            self.visit_row(false, s, i, &mut |j, v| bands[j * diagonals + upper + i - j] = v);
        }
        Banded::from_vec(n, lower, upper, bands)
    }

    /// Check that all entries are finite. Ignored entries may have any value.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for the first NaN or infinity.
    pub fn check_finite(&self) -> Result<()> {
        for (s, i) in (0..self.count).flat_map(|s| (0..self.band.n).map(move |i| (s, i))) {
            let mut bad = None;
            self.visit_row(false, s, i, &mut |j, v| {
                if !Scalar::is_finite(v) {
                    bad = bad.or(Some(self.matrix_index(s, (i, j))));
                }
            });
            if let Some(index) = bad {
                return Err(Error::NotFinite { array: "bands", index });
            }
        }
        Ok(())
    }
}
