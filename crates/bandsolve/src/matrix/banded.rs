//! Banded matrices in LAPACK band storage.

use super::shape::Shape;
use super::tridiagonal::{EntryPlaces, Tridiagonal};
use crate::error::{Error, Result, check_len};
use crate::memory::zeroed;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::arithmetic::Standard;
use std::borrow::Cow;

/// A square banded matrix in LAPACK band storage, over the caller's array.
///
/// # Shapes
/// `bands` is column-major with `leading ≥ lower + upper + 1` rows and n columns. Its column j holds the entries of column j of A, with
/// the main diagonal in row `upper`:
///
/// ```text
/// A[i, j] = bands[upper + i − j + j·leading]   for   j − upper ≤ i ≤ j + lower
/// ```
///
/// Entries of the array outside of A are ignored. Unlike LAPACK's `gbsv`, `Banded` needs no extra rows for fill-in. Right-hand sides are
/// column-major, n × n_rhs.
///
/// # Cost
/// Per row (methods `spike` and `pivoted`): at most 2·lower·(lower + upper) flops to factor, and 4·lower + 2·upper flops to solve for each
/// right-hand side. The factors take 2·lower + upper + 1 words. Verification reads the band once more.
///
/// # Errors
/// The constructors return [`Error::Shape`] if the leading dimension or the length of the array is wrong. A solve returns the errors of
/// [`Factor`](crate::Factor).
///
/// # Examples
/// ```
/// use bandsolve::Banded;
/// // [4 1 0]      upper:     *  1  1
/// // [2 4 1]      diagonal:  4  4  4
/// // [0 2 4]      lower:     2  2  *
/// let bands = [0.0, 4.0, 2.0, 1.0, 4.0, 2.0, 1.0, 4.0, 0.0];
/// let x = Banded::new(3, 1, 1, &bands)?.solve(&[5.0, 7.0, 6.0])?;
/// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Banded<'a, T: Scalar> {
    n: usize,
    lower: usize,
    upper: usize,
    leading: usize,
    bands: Cow<'a, [T]>,
}

/// The number of diagonals, or `usize::MAX` if it is larger.
fn diagonals(lower: usize, upper: usize) -> usize {
    lower.saturating_add(upper).saturating_add(1)
}

impl<'a, T: Scalar> Banded<'a, T> {
    /// A matrix that borrows `bands`, with leading dimension `lower + upper + 1`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `bands` has length `n·(lower + upper + 1)`.
    pub fn new(n: usize, lower: usize, upper: usize, bands: &'a [T]) -> Result<Self> {
        Self::build(n, lower, upper, diagonals(lower, upper), Cow::Borrowed(bands))
    }

    /// A matrix that borrows `bands`, with leading dimension `leading`.
    ///
    /// # Errors
    /// [`Error::Shape`] if `leading < lower + upper + 1`, or the length of `bands` is not `n·leading`.
    pub fn with_leading(n: usize, lower: usize, upper: usize, leading: usize, bands: &'a [T]) -> Result<Self> {
        Self::build(n, lower, upper, leading, Cow::Borrowed(bands))
    }

    /// A matrix that owns its array, with leading dimension `lower + upper + 1`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `bands` has length `n·(lower + upper + 1)`.
    pub fn from_vec(n: usize, lower: usize, upper: usize, bands: Vec<T>) -> Result<Banded<'static, T>> {
        Banded::build(n, lower, upper, diagonals(lower, upper), Cow::Owned(bands))
    }

    fn build(n: usize, lower: usize, upper: usize, leading: usize, bands: Cow<'a, [T]>) -> Result<Self> {
        let (least, most) = (diagonals(lower, upper), isize::MAX as usize / size_of::<T>());
        if leading < least {
            return Err(Error::Shape { what: "leading dimension of bands", expected: least, got: leading });
        }
        // Checked also for n = 0, so that no later sum of bandwidths overflows.
        if leading > most {
            return Err(Error::Shape {
                what: "a column of bands, which exceeds the address space,",
                expected: most,
                got: leading,
            });
        }
        check_len("bands", n.saturating_mul(leading), bands.len())?;
        Ok(Self { n, lower, upper, leading, bands })
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of diagonals below the main one.
    pub fn lower(&self) -> usize {
        self.lower
    }

    /// Number of diagonals above the main one.
    pub fn upper(&self) -> usize {
        self.upper
    }

    /// The array and its leading dimension.
    pub fn storage(&self) -> (&[T], usize) {
        (&self.bands, self.leading)
    }

    /// The shape that a [`Plan`](crate::Plan) needs.
    pub fn shape(&self) -> Shape {
        Shape::Banded { n: self.n, lower: self.lower, upper: self.upper }
    }

    /// The same matrix, which borrows the array of `self`.
    pub fn view(&self) -> Banded<'_, T> {
        Banded { bands: Cow::Borrowed(&self.bands), ..*self }
    }

    /// The same matrix, which owns its array.
    pub fn into_owned(self) -> Banded<'static, T> {
        Banded {
            n: self.n,
            lower: self.lower,
            upper: self.upper,
            leading: self.leading,
            bands: Cow::Owned(self.bands.into_owned()),
        }
    }

    /// The first row of column `j` within the band, and the entries of the column from this row on.
    #[inline]
    pub fn column(&self, j: usize) -> (usize, &[T]) {
        let first = j.saturating_sub(self.upper);
        let end = (j + self.lower + 1).min(self.n);
        let base = j * self.leading + self.upper;
        // Row i is at base + i − j, and i − j ≥ −upper.
        (first, &self.bands[base + first - j..base + end - j])
    }

    /// The first column of row `i` within the band, and the entries of the row from this column on.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> (usize, impl Iterator<Item = &T>) {
        let first = i.saturating_sub(self.lower);
        let count = (i + self.upper + 1).min(self.n) - first;
        // A(i, j) is at upper + i − j + j·leading.
        let start = self.upper + (i - first) + first * self.leading;
        (first, self.bands[start..].iter().step_by((self.leading - 1).max(1)).take(count))
    }

    /// The entry (i, j), zero outside the band.
    pub fn get(&self, i: usize, j: usize) -> T {
        let (first, column) = self.column(j);
        i.checked_sub(first).and_then(|k| column.get(k)).copied().unwrap_or(T::ZERO)
    }

    /// The transposed matrix, conjugated if `conj`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn transposed(&self, conj: bool) -> Result<Banded<'static, T>> {
        let (n, lower, upper) = (self.n, self.upper, self.lower);
        let mut bands = zeroed(n * (lower + upper + 1))?;
        for j in 0..n {
            // Column j of Aᵀ is row j of A. Its row i is at upper + i − j of the column.
            let (first, row) = self.row(j);
            let to = j * (lower + upper + 1) + upper + first - j;
            bands[to..].iter_mut().zip(row).for_each(|(to, v)| *to = if conj { Scalar::conj(*v) } else { *v });
        }
        Banded::from_vec(n, lower, upper, bands)
    }

    /// A matrix with at most one diagonal on each side as three arrays. Errors refer to the band array.
    pub(crate) fn to_tridiagonal(&self) -> Result<Tridiagonal<'static, T>> {
        debug_assert!(self.lower <= 1 && self.upper <= 1);
        let (n, beside) = (self.n, self.n.saturating_sub(1));
        let (mut sub, mut diag, mut sup) = (zeroed(beside)?, zeroed(n)?, zeroed(beside)?);
        let columns = || self.bands.chunks_exact(self.leading);
        for (to, column) in diag.iter_mut().zip(columns()) {
            *to = column[self.upper];
        }
        if self.lower == 1 {
            for (to, column) in sub.iter_mut().zip(columns()) {
                *to = column[self.upper + 1];
            }
        }
        if self.upper == 1 {
            for (to, column) in sup.iter_mut().zip(columns().skip(1)) {
                *to = column[0];
            }
        }
        let place = EntryPlaces::Bands { leading: self.leading, upper: self.upper };
        Ok(Tridiagonal::from_vecs(sub, diag, sup, false)?.at(place))
    }

    /// The product A·x.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` has length n.
    pub fn apply(&self, x: &[T]) -> Result<Vec<T>> {
        let mut y = zeroed(self.n)?;
        self.apply_into(x, &mut y)?;
        Ok(y)
    }

    /// Write the product A·x to y.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` and `y` have length n.
    pub fn apply_into(&self, x: &[T], y: &mut [T]) -> Result<()> {
        let _mode = Standard::enter();
        check_len("x", self.n, x.len())?;
        check_len("y", self.n, y.len())?;
        y.fill(T::ZERO);
        for (j, xj) in x.iter().enumerate() {
            let (first, column) = self.column(j);
            for (yi, a) in y[first..].iter_mut().zip(column) {
                *yi += *a * *xj;
            }
        }
        Ok(())
    }

    /// Check that all entries of the band are finite.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for the first NaN or infinity.
    pub fn check_finite(&self) -> Result<()> {
        for j in 0..self.n {
            let (first, column) = self.column(j);
            if let Some(k) = column.iter().position(|v| !Scalar::is_finite(*v)) {
                let index = j * self.leading + self.upper + first + k - j;
                return Err(Error::NotFinite { array: "bands", index });
            }
        }
        Ok(())
    }
}
