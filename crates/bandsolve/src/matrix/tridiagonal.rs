//! Tridiagonal matrices, open or periodic, in three arrays.

use super::shape::Shape;
use crate::error::{Error, Result, check_len};
use crate::memory::{reserved, zeroed};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::rows::Rows;
use std::borrow::Cow;

/// A tridiagonal matrix, open or periodic, over the caller's three arrays.
///
/// Row i of A·x = rhs is
///
/// ```text
/// sub[i]·x[i−1] + diag[i]·x[i] + sup[i]·x[i+1] = rhs[i]
/// ```
///
/// # Shapes
/// - `diag`: n.
/// - `sub`, `sup`: n, indexed by row. `sub[0]` and `sup[n-1]` are ignored.
/// - `sub`, `sup`: n−1, as in LAPACK. `sub[i]` is then the entry of row i+1.
/// - `sub`, `sup` of a [`periodic`](Self::periodic) matrix: n. `sub[0]` multiplies `x[n−1]` in row 0, and `sup[n-1]` multiplies `x[0]`
///   in row n−1. For n ≤ 2, entries of the same column are added.
/// - Right-hand sides: column-major, n × n_rhs.
///
/// # Cost
/// The matrix borrows its arrays, or owns them. It copies nothing. A verified solve with n ≥ 128 costs 54 flops and one reciprocal per row
/// and right-hand side (method `rpts`, real numbers). It reads 8 words and writes 1. The coarse systems add 7 %. Each call of `solve`
/// allocates x and scratch memory. To avoid this, see [`Factor::solve_into_with`](crate::Factor::solve_into_with).
///
/// # Errors
/// The constructors return [`Error::Shape`] if the length of an array is wrong. Entries are checked by the solve, which returns the errors
/// of [`Factor`](crate::Factor).
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// let a = Tridiagonal::new(&[0.0, -1.0, -1.0], &[2.0, 2.0, 2.0], &[-1.0, -1.0, 0.0])?;
/// let x = a.solve(&[1.0, 0.0, 1.0])?;
/// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
/// assert!(x.report.backward_error <= 8.0 * f64::EPSILON);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tridiagonal<'a, T: Scalar> {
    sub: Cow<'a, [T]>,
    diag: Cow<'a, [T]>,
    sup: Cow<'a, [T]>,
    periodic: bool,
    place: EntryPlaces,
}

/// The storage of the entries in the caller's arrays, which errors refer to.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryPlaces {
    /// In the three arrays.
    Arrays,
    /// In band storage with this leading dimension. The main diagonal is in row `upper`.
    Bands { leading: usize, upper: usize },
}

impl<'a, T: Scalar> Tridiagonal<'a, T> {
    /// An open matrix that borrows its arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `sub` and `sup` have length n or n−1.
    pub fn new(sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::build(Cow::Borrowed(sub), Cow::Borrowed(diag), Cow::Borrowed(sup), false)
    }

    /// A periodic matrix that borrows its arrays. `sub[0]` and `sup[n-1]` are its corner entries.
    ///
    /// # Errors
    /// [`Error::Shape`] unless all three arrays have length n.
    pub fn periodic(sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::build(Cow::Borrowed(sub), Cow::Borrowed(diag), Cow::Borrowed(sup), true)
    }

    /// An open or periodic matrix that owns its arrays.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and [`periodic`](Self::periodic).
    pub fn from_vecs(sub: Vec<T>, diag: Vec<T>, sup: Vec<T>, periodic: bool) -> Result<Tridiagonal<'static, T>> {
        Tridiagonal::build(Cow::Owned(sub), Cow::Owned(diag), Cow::Owned(sup), periodic)
    }

    pub(super) fn build(sub: Cow<'a, [T]>, diag: Cow<'a, [T]>, sup: Cow<'a, [T]>, periodic: bool) -> Result<Self> {
        let n = diag.len();
        for (what, off) in [("sub", &sub), ("sup", &sup)] {
            if periodic || off.len() + 1 != n {
                check_len(what, n, off.len())?;
            }
        }
        Ok(Self { sub, diag, sup, periodic, place: EntryPlaces::Arrays })
    }

    /// The same matrix, with errors that refer to entries at `place`.
    pub(super) fn at(self, place: EntryPlaces) -> Self {
        Self { place, ..self }
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.diag.len()
    }

    /// Whether the matrix is periodic.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// The shape that a [`Plan`](crate::Plan) needs.
    pub fn shape(&self) -> Shape {
        Shape::Tridiagonal { n: self.n(), periodic: self.periodic }
    }

    /// The arrays `sub`, `diag` and `sup` as the caller passed them.
    pub fn arrays(&self) -> [&[T]; 3] {
        [&self.sub, &self.diag, &self.sup]
    }

    /// The same matrix, which borrows the arrays of `self`.
    pub fn view(&self) -> Tridiagonal<'_, T> {
        Tridiagonal {
            sub: Cow::Borrowed(&self.sub),
            diag: Cow::Borrowed(&self.diag),
            sup: Cow::Borrowed(&self.sup),
            ..*self
        }
    }

    /// The same matrix, which owns its arrays.
    pub fn into_owned(self) -> Tridiagonal<'static, T> {
        Tridiagonal {
            sub: Cow::Owned(self.sub.into_owned()),
            diag: Cow::Owned(self.diag.into_owned()),
            sup: Cow::Owned(self.sup.into_owned()),
            periodic: self.periodic,
            place: self.place,
        }
    }

    /// The entries (sub, diag, sup) of row `i`, zero outside of the matrix.
    pub fn row(&self, i: usize) -> (T, T, T) {
        self.rows().row(i)
    }

    /// The product A·x.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` has length n.
    pub fn apply(&self, x: &[T]) -> Result<Vec<T>> {
        let mut y = zeroed(self.n())?;
        self.apply_into(x, &mut y)?;
        Ok(y)
    }

    /// Write the product A·x to y.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` and `y` have length n.
    pub fn apply_into(&self, x: &[T], y: &mut [T]) -> Result<()> {
        let _mode = Standard::enter();
        check_len("x", self.n(), x.len())?;
        check_len("y", self.n(), y.len())?;
        let rows = self.rows();
        y.iter_mut().enumerate().for_each(|(i, y)| *y = rows.dot(i, x));
        Ok(())
    }

    /// The transposed matrix, or the conjugate transpose if `conj` is true.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn transposed(&self, conj: bool) -> Result<Tridiagonal<'static, T>> {
        let (rows, n) = (self.rows().transposed(conj), self.n());
        let mut all = [reserved(n)?, reserved(n)?, reserved(n)?];
        for i in 0..self.n() {
            let (sub, diag, sup) = rows.row(i);
            all.iter_mut().zip([sub, diag, sup]).for_each(|(array, x)| array.push(x));
        }
        let [sub, diag, sup] = all;
        Tridiagonal::from_vecs(sub, diag, sup, self.periodic)
    }

    /// Check that all entries are finite. Ignored entries may have any value.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for the first NaN or infinity.
    pub fn check_finite(&self) -> Result<()> {
        let n = self.n();
        let skip_first = usize::from(!self.periodic && self.sub.len() == n);
        let skip_last = usize::from(!self.periodic && self.sup.len() == n && n > 0);
        let bad = |a: &[T]| a.iter().position(|v| !Scalar::is_finite(*v));
        let sub = bad(&self.sub[skip_first.min(n)..]).map(|i| ("sub", i + skip_first));
        let diag = || bad(&self.diag).map(|i| ("diag", i));
        let sup = || bad(&self.sup[..self.sup.len() - skip_last]).map(|i| ("sup", i));
        let place = match self.place {
            EntryPlaces::Arrays => sub.or_else(diag).or_else(sup),
            EntryPlaces::Bands { leading, upper } => {
                let at = |array: &'static str, column: usize| match array {
                    "sub" => column * leading + upper + 1,
                    "diag" => column * leading + upper,
                    // Row i, column i+1.
                    _ => (column + 1) * leading + upper - 1,
                };
                let places = [sub, diag(), sup()].into_iter().flatten().map(|(array, i)| at(array, i));
                places.min().map(|index| ("bands", index))
            }
        };
        place.map_or(Ok(()), |(array, index)| Err(Error::NotFinite { array, index }))
    }

    /// The rows in the form that all methods use.
    pub(crate) fn rows(&self) -> Rows<'_, T> {
        let n = self.n();
        let (mut first, mut last) = (T::ZERO, T::ZERO);
        if self.periodic && n > 0 {
            (first, last) = (self.sub[0], self.sup[n - 1]);
        }
        let sub = if self.sub.len() == n { self.sub.get(1..).unwrap_or(&[]) } else { &self.sub };
        let sup = if self.sup.len() == n { &self.sup[..n.saturating_sub(1)] } else { &self.sup };
        Rows { sub, diag: &self.diag, sup, first, last, periodic: self.periodic, conj: false }
    }
}
