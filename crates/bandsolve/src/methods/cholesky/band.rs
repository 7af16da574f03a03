//! L·D·Lᴴ of a band from both ends.

use crate::contract::determinant::ScaledProduct;
use crate::contract::factors::Factors;
use crate::contract::verify::{Facts, with_refinement};
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::matrix::{BandSize, Banded};
use crate::methods::cholesky::hermitian;
use crate::pivoted::band_lu::{self, BandLu, FactorOptions, HermitianTriangle, RectangleSize, RhsColumns};
use crate::pivoted::banded::{self, BandFactors, OfBand};
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::threads::join;
use bandsolve_kernel::view::ViewMut;
use core::ops::Range;
use dyn_stack::StackReq;
use std::sync::Arc;

/// Factor a Hermitian positive definite band.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major. The matrix must have both triangles. Diagonals of one triangle without a counterpart in the
/// other must be zero.
///
/// # Cost
/// Per row: width² multiplications and as many additions to factor, half as many as LU without exchanges; 4·width flops per right-hand
/// side to solve; width + 1 words.
///
/// # Errors
/// [`NotDefinite`](crate::Error::NotDefinite), [`NotFinite`](crate::Error::NotFinite),
/// [`OutOfMemory`](crate::Error::OutOfMemory).
pub(crate) fn factor<'m, T: Scalar>(decision: &Decision, a: Arc<Banded<'m, T>>) -> Result<Factors<T, Banded<'m, T>>> {
    let factors = BandCholesky::new(decision, &a)?;
    Ok(Factors::new(a, Facts::new(decision), OfBand(factors)).or_else(decision, banded::factor))
}

/// Scratch of solves, from the plan alone: at least as much as the factors need.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, (n, lower, upper): BandSize, n_rhs: usize) -> Option<StackReq> {
    let words = |n_rhs| words(n, (lower, upper), n_rhs);
    Some(with_refinement::<T>(decision, n, n_rhs, words))
}

/// Factors of a Hermitian positive definite band with `width` diagonals on each side.
///
/// A large matrix is divided into two halves, the same for any number of threads. The first half is eliminated downwards, the second one
/// upwards, each up to the `width` rows next to the other half. These 2·`width` rows are a band of the same width, which is eliminated last.
#[derive(Debug)]
pub(crate) struct BandCholesky<T: Scalar> {
    n: usize,
    width: usize,
    /// The whole matrix, or two halves of which the second is reversed.
    parts: Vec<BandLu<T>>,
    /// The rows between the two halves.
    middle: Option<BandLu<T>>,
    parallel: bool,
}

/// Rows of a Hermitian band, counted from one of its ends. The pivots among them are eliminated.
struct HermitianPart<'a, 'm, T: Scalar> {
    a: &'a Banded<'m, T>,
    reversed: bool,
    size: RectangleSize,
}

impl<T: Scalar> HermitianTriangle<T> for HermitianPart<'_, '_, T> {
    fn size(&self) -> RectangleSize {
        self.size
    }

    fn copy(&self, columns: Range<usize>, to: &mut [T], stride: usize) {
        let RectangleSize { rows, lower, .. } = self.size;
        for (j, to) in columns.zip(to.chunks_mut(stride + 1)) {
            let height = (lower + 1).min(rows - j);
            let to = &mut to[..height];
            if self.reversed {
                let (first, column) = self.a.column(self.a.n() - 1 - j);
                let end = self.a.n() - j - first;
                to.iter_mut().zip(column[..end].iter().rev()).for_each(|(to, v)| *to = *v);
            } else {
                let (first, column) = self.a.column(j);
                to.copy_from_slice(&column[j - first..][..height]);
            }
        }
    }
}

/// Number of rows of the first half; `None` if halves do not pay off.
fn cut(n: usize, width: usize) -> Option<usize> {
    (width > 0 && tuning::definite_halves_pay(n, width)).then(|| n.div_ceil(2))
}

/// The size of a square with `rows` rows and columns, of which `pivots` are eliminated.
fn square(rows: usize, pivots: usize, width: usize) -> RectangleSize {
    RectangleSize { rows, columns: rows, pivots, lower: width.min(rows.saturating_sub(1)), upper: 0 }
}

/// Words of scratch for solves with a band of n rows with `lower` and `upper` diagonals.
pub(super) fn words(n: usize, (lower, upper): (usize, usize), n_rhs: usize) -> usize {
    let (width, n_rhs) = (lower.min(upper).min(n.saturating_sub(1)), n_rhs.min(tuning::BAND_RHS));
    let window = band_lu::words_at_most(width, 0, 1);
    // Two halves need a window each, and room for the rows between them, together and by halves.
    let each = window.saturating_add(width.saturating_mul(2)).saturating_mul(2);
    let each = if cut(n, width).is_some() { each } else { window };
    each.saturating_mul(n_rhs)
}

impl<T: Scalar> BandCholesky<T> {
    /// Factor `a`.
    ///
    /// # Errors
    /// - `OutOfMemory`.
    /// - `NotDefinite` with the first row in which `a` is not Hermitian, otherwise the row of the first leading minor that is not positive.
    /// - `NotFinite` instead of `NotDefinite` if an entry is not finite.
    pub fn new(decision: &Decision, a: &Banded<'_, T>) -> Result<Self> {
        let width = a.lower().min(a.upper()).min(a.n().saturating_sub(1));
        if let Some(row) = hermitian::first_difference(a, decision.options.threads > 1) {
            a.check_finite()?;
            return Err(Error::NotDefinite { row });
        }
        let part = |reversed, size| HermitianPart { a, reversed, size };
        Self::of_parts(decision, (a.n(), width), &part, &|| a.check_finite())
    }

    /// Factor a Hermitian matrix of n rows by its parts.
    pub fn of_parts<S: HermitianTriangle<T>>(
        decision: &Decision,
        (n, width): (usize, usize),
        part: &(impl Fn(bool, RectangleSize) -> S + Sync),
        check_finite: &dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        let how = FactorOptions::new(decision);
        let whole = || BandLu::definite(&part(false, square(n, n, width)), how);
        let refused = |row: usize| check_finite().and(Err(Error::NotDefinite { row }));
        let Some(half) = cut(n, width) else {
            let (lu, bad) = whole()?;
            return bad.map_or_else(|| Ok(Self::whole((n, width), lu)), refused);
        };
        let parallel = decision.options.threads > 1;
        let first = || BandLu::definite(&part(false, square(half, half - width, width)), how);
        let second = || BandLu::definite(&part(true, square(n - half, n - half - width, width)), how);
        let (first, second) = if parallel { join(first, second) } else { (first(), second()) };
        let ((first, bad), (second, worse)) = (first?, second?);
        if let Some(row) = bad {
            return refused(row);
        }
        let mut bad_row = worse.map(|k| n - 1 - k);
        let mut middle = None;
        if bad_row.is_none() {
            let (lu, bad) = BandLu::definite(
                &Middle { halves: [&first, &second], whole: part(false, square(n, n, width)), width },
                how,
            )?;
            (middle, bad_row) = (Some(lu), bad.map(|k| half - width + k));
        }
        if let Some(row) = bad_row {
            // Only elimination from the first row on can find the first bad leading minor.
            return refused(whole()?.1.unwrap_or(row));
        }
        Ok(Self { n, width, parts: vec![first, second], middle, parallel })
    }

    fn whole((n, width): (usize, usize), lu: BandLu<T>) -> Self {
        Self { n, width, parts: vec![lu], middle: None, parallel: false }
    }

    fn solve_group(&self, mut x: ViewMut<'_, T>, scratch: &mut [T]) {
        let (count, width) = (x.ncols(), self.width);
        let (Some(middle), [first, second]) = (&self.middle, &self.parts[..]) else {
            reduce(&self.parts[0], false, x.as_mut(), scratch, &mut []);
            return substitute(&self.parts[0], false, x, scratch, &mut []);
        };
        let (y, scratch) = scratch.split_at_mut(2 * width * count);
        let (rest, scratch) = scratch.split_at_mut(width * count);
        let (other, scratch) = scratch.split_at_mut(width * count);
        let (one, two) = scratch.split_at_mut(first.window(count));
        let rows = first.size().rows;
        let (above, below) = x.as_mut().split_at_row(rows);
        self.run_halves(|| reduce(first, false, above, one, rest), || reduce(second, true, below, two, other));
        let columns = || rest.chunks_exact(width).zip(other.chunks_exact(width));
        for (y, (rest, other)) in y.chunks_exact_mut(2 * width).zip(columns()) {
            y[..width].copy_from_slice(rest);
            y[width..].iter_mut().zip(other.iter().rev()).for_each(|(y, v)| *y = *v);
        }
        let mut matrix = ViewMut::new(y, 2 * width, count);
        reduce(middle, false, matrix.as_mut(), one, &mut []);
        substitute(middle, false, matrix, one, &mut []);
        for (y, (rest, other)) in
            y.chunks_exact(2 * width).zip(rest.chunks_exact_mut(width).zip(other.chunks_exact_mut(width)))
        {
            rest.copy_from_slice(&y[..width]);
            other.iter_mut().zip(y[width..].iter().rev()).for_each(|(v, y)| *v = *y);
        }
        let (above, below) = x.split_at_row(rows);
        self.run_halves(|| substitute(first, false, above, one, rest), || substitute(second, true, below, two, other));
    }

    /// Run the work on the two halves, on two threads if the plan has more than one.
    fn run_halves(&self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        if self.parallel {
            join(a, b);
        } else {
            a();
            b();
        }
    }
}

/// Compute x ← L⁻¹·x for the pivots of a part. Writes the remaining rows to `rest`.
fn reduce<T: Scalar>(lu: &BandLu<T>, reversed: bool, x: ViewMut<'_, T>, window: &mut [T], rest: &mut [T]) {
    lu.lower(&mut RhsColumns { x, reversed, offset: [0, 0], scale: [None, None] }, window, rest);
}

/// Compute x ← L⁻ᴴ·D⁻¹·x for the pivots of a part. `rest` holds the other unknowns.
fn substitute<T: Scalar>(lu: &BandLu<T>, reversed: bool, mut x: ViewMut<'_, T>, window: &mut [T], rest: &mut [T]) {
    conjugate(x.as_mut());
    rest.iter_mut().for_each(|v| *v = Scalar::conj(*v));
    let scale = [Some(lu.scale()), None];
    lu.lower_transposed(&mut RhsColumns { x: x.as_mut(), reversed, offset: [0, 0], scale }, window, rest);
    conjugate(x);
}

fn conjugate<T: Scalar>(mut x: ViewMut<'_, T>) {
    if T::COMPLEX {
        for c in 0..x.ncols() {
            x.as_mut().column(c).iter_mut().for_each(|v| *v = Scalar::conj(*v));
        }
    }
}

/// The rows between the two halves after the elimination of both: a band of the same width.
struct Middle<'a, T: Scalar, S> {
    halves: [&'a BandLu<T>; 2],
    /// The whole matrix.
    whole: S,
    width: usize,
}

impl<T: Scalar, S: HermitianTriangle<T>> HermitianTriangle<T> for Middle<'_, T, S> {
    fn size(&self) -> RectangleSize {
        square(2 * self.width, 2 * self.width, self.width)
    }

    fn copy(&self, columns: Range<usize>, to: &mut [T], stride: usize) {
        let ([first, second], width) = (self.halves, self.width);
        let before = first.size().pivots;
        // Below the rows of the first half, the entries are those of the matrix.
        let inside = columns.start..columns.end.min(width).max(columns.start);
        self.whole.copy(before + inside.start..before + inside.end, to, stride);
        for (j, to) in columns.zip(to.chunks_mut(stride + 1)) {
            if j < width {
                (j..width).for_each(|i| to[i - j] = first.rest(i, j));
            } else {
                let end = 2 * width - 1;
                (j..=end).for_each(|i| to[i - j] = Scalar::conj(second.rest(end - j, end - i)));
            }
        }
    }
}

impl<T: Scalar> BandFactors<T> for BandCholesky<T> {
    fn words(&self, n_rhs: usize) -> usize {
        words(self.n, (self.width, self.width), n_rhs)
    }

    /// Compute x ← L⁻ᴴ·D⁻¹·L⁻¹·x.
    fn solve(&self, transposed: bool, x: &mut [T], scratch: &mut [T]) {
        for x in x.chunks_mut((self.n * tuning::BAND_RHS).max(1)) {
            let columns = x.len() / self.n;
            let mut x = ViewMut::new(x, self.n, columns);
            // Aᵀ is the conjugate of A.
            if transposed {
                conjugate(x.as_mut());
            }
            self.solve_group(x.as_mut(), scratch);
            if transposed {
                conjugate(x);
            }
        }
    }

    fn product(&self) -> Option<ScaledProduct> {
        let all = self.parts.iter().chain(&self.middle);
        Some(ScaledProduct::of_factors(all.flat_map(BandLu::inverse).copied(), &[], 0))
    }
}
