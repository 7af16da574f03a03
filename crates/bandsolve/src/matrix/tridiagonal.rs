//! Three arrays: the tridiagonal matrix, open or periodic.

use super::Shape;
use crate::error::{Error, Result, check_len};
use crate::memory::{reserved, zeroed};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::rows::Rows;
use std::borrow::Cow;

/// A tridiagonal matrix, open or periodic, over the caller's three arrays.
///
/// Row i of A·x = rhs reads
///
/// $$ \mathtt{sub}_i\,x_{i-1} + \mathtt{diag}_i\,x_i + \mathtt{sup}_i\,x_{i+1} = \mathtt{rhs}_i $$
///
/// # Shapes
/// `diag` has length n. `sub` and `sup` have length n, indexed by row, with `sub[0]` and `sup[n-1]` ignored; or length
/// n−1, as LAPACK has them (`sub[i]` then stands in row i+1). In a [`periodic`](Self::periodic) matrix both have length
/// n and `sub[0]`, `sup[n-1]` are the corners: they multiply x_{n-1} in row 0 and x_0 in row n−1. (n = 1: the three
/// entries add up; n = 2: corner and off-diagonal add up.)
///
/// # Example
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

/// Where the caller has the entries: places in errors are the caller's.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryPlaces {
    /// In the three arrays.
    Arrays,
    /// In band storage with this leading dimension, the diagonal in row `upper`.
    Bands { leading: usize, upper: usize },
}

impl<'a, T: Scalar> Tridiagonal<'a, T> {
    /// Open matrix; borrows its arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] unless each off-diagonal has length n or n−1.
    pub fn new(sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::build(Cow::Borrowed(sub), Cow::Borrowed(diag), Cow::Borrowed(sup), false)
    }

    /// Periodic matrix: `sub[0]` and `sup[n-1]` are its corners.
    ///
    /// # Errors
    /// [`Error::Shape`] unless all three arrays have length n.
    pub fn periodic(sub: &'a [T], diag: &'a [T], sup: &'a [T]) -> Result<Self> {
        Self::build(Cow::Borrowed(sub), Cow::Borrowed(diag), Cow::Borrowed(sup), true)
    }

    /// Open or periodic matrix that owns its arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] as in [`new`](Self::new) and [`periodic`](Self::periodic).
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

    /// The same matrix, whose caller has the entries elsewhere.
    pub(super) fn at(self, place: EntryPlaces) -> Self {
        Self { place, ..self }
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.diag.len()
    }

    /// Whether the corners count.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// What a plan is made for.
    pub fn shape(&self) -> Shape {
        Shape::Tridiagonal { n: self.n(), periodic: self.periodic }
    }

    /// The arrays sub, diag and sup as they were handed in.
    pub fn arrays(&self) -> [&[T]; 3] {
        [&self.sub, &self.diag, &self.sup]
    }

    /// The same matrix over the same memory.
    pub fn view(&self) -> Tridiagonal<'_, T> {
        Tridiagonal {
            sub: Cow::Borrowed(&self.sub),
            diag: Cow::Borrowed(&self.diag),
            sup: Cow::Borrowed(&self.sup),
            ..*self
        }
    }

    /// The same matrix with arrays of its own.
    pub fn into_owned(self) -> Tridiagonal<'static, T> {
        Tridiagonal {
            sub: Cow::Owned(self.sub.into_owned()),
            diag: Cow::Owned(self.diag.into_owned()),
            sup: Cow::Owned(self.sup.into_owned()),
            periodic: self.periodic,
            place: self.place,
        }
    }

    /// Entries (sub, diag, sup) of row `i`; zero where the matrix has none.
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

    /// Writes the product A·x to y.
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

    /// The transposed matrix, conjugated too if `conj`.
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

    /// First entry that is NaN or infinite, as an error; ignored ends are not looked at.
    pub fn check_finite(&self) -> Result<()> {
        let n = self.n();
        let skip_first = usize::from(!self.periodic && self.sub.len() == n);
        let skip_last = usize::from(!self.periodic && self.sup.len() == n && n > 0);
        let bad = |a: &[T]| a.iter().position(|v| !Scalar::is_finite(*v));
        let sub = bad(&self.sub[skip_first.min(n)..]).map(|i| ("sub", i + skip_first));
        let diag = || bad(&self.diag).map(|i| ("diag", i));
        let sup = || bad(&self.sup[..self.sup.len() - skip_last]).map(|i| ("sup", i));
        let found = match self.place {
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
        found.map_or(Ok(()), |(array, index)| Err(Error::NotFinite { array, index }))
    }

    /// The normal form that the methods work on.
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
