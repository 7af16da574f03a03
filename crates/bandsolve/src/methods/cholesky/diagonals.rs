//! Hermitian bands with one stored triangle, diagonal by diagonal.

use crate::contract::equations::{Equations, Matrix};
use crate::contract::factors::Factors;
use crate::contract::verify::Facts;
use crate::contract::{Factor, Op};
use crate::decision::{Decision, Options};
use crate::error::{Error, Result, check_len};
use crate::matrix::{Banded, Shape, Tridiagonal};
use crate::memory::zeroed;
use crate::method::Method;
use crate::methods::cholesky::band::BandCholesky;
use crate::methods::cholesky::tridiagonal::check_minors;
use crate::methods::spike_thomas;
use crate::partition::partitioned;
use crate::pivoted::band_lu::{BandLu, HermitianTriangle, RectangleSize};
use crate::pivoted::banded::OfBand;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::{Scalar, Simd, prefetch};
use core::ops::Range;
use std::sync::Arc;

/// A Hermitian band in the storage of `scipy.linalg.solveh_banded`: an array of diagonals with n contiguous entries each.
///
/// ```text
/// A[j + k, j] = ab[k·n + j]              (lower)
/// A[j − k, j] = ab[(width − k)·n + j]    (upper)
/// ```
///
/// Imaginary parts of the main diagonal and entries outside of A are ignored.
#[derive(Debug, Clone, Copy)]
pub struct Diagonals<'a, T> {
    n: usize,
    /// Number of stored off-diagonals.
    width: usize,
    lower: bool,
    ab: &'a [T],
}

impl<'a, T: Scalar> Diagonals<'a, T> {
    /// A matrix that borrows `width + 1` diagonals.
    ///
    /// # Errors
    /// `Shape` if `ab` has the wrong length.
    pub fn new(n: usize, width: usize, lower: bool, ab: &'a [T]) -> Result<Self> {
        check_len("ab", n.saturating_mul(width.saturating_add(1)), ab.len())?;
        Ok(Self { n, width, lower, ab })
    }

    /// Factor the matrix for one solve, on the given number of threads or on all.
    ///
    /// # Errors
    /// `NotDefinite`, `NotFinite`, `OutOfMemory`.
    pub fn factor(self, (verify, threads): (bool, Option<usize>)) -> Result<Box<dyn Factor<T> + 'a>> {
        let _mode = Standard::enter();
        let mut options = Options { verify, ..Options::new(true) };
        options.threads = threads.unwrap_or(options.threads);
        let reason = "chosen by the caller".into();
        let decision = Decision { reason, ..Decision::new(self.shape(), Method::Cholesky, options) };
        if self.inside() > 1 {
            return Ok(Box::new(self.factor_band(&decision)?));
        }
        let a = self.to_tridiagonal()?;
        check_minors(&a, options.threads > 1)?;
        Ok(Box::new(partitioned::factor(spike_thomas::scheme(&decision), &decision, Arc::new(a))?))
    }

    fn factor_band(self, decision: &Decision) -> Result<Factors<T, Self>> {
        let part = |reversed, size| DiagonalPart { a: self, reversed, size };
        let factors =
            BandCholesky::of_parts(decision, (self.n, self.inside()), &part, &|| Matrix::check_finite(&self))?;
        Ok(Factors::new(Arc::new(self), Facts::new(decision), OfBand(factors)).or_else(decision, pivoted))
    }

    /// Number of off-diagonals with entries in the matrix.
    fn inside(&self) -> usize {
        self.width.min(self.n.saturating_sub(1))
    }

    /// The stored entries (j + k, j), or their conjugates, for j from 0 to n − 1 − k.
    #[inline(always)]
    fn diagonal(&self, k: usize) -> &'a [T] {
        let (row, skipped) = if self.lower { (k, 0) } else { (self.width - k, k) };
        &self.ab[row * self.n + skipped..][..self.n - k]
    }

    /// An entry of diagonal k of the lower triangle from its stored value.
    #[inline(always)]
    fn below(&self, k: usize, stored: T) -> T {
        match k {
            0 => T::from_real(stored.re()),
            _ if T::COMPLEX && !self.lower => Scalar::conj(stored),
            _ => stored,
        }
    }

    /// Both triangles, column by column.
    fn to_banded(self) -> Result<Banded<'static, T>> {
        let (n, width) = (self.n, self.inside());
        let leading = 2 * width + 1;
        let mut bands = zeroed(n.saturating_mul(leading))?;
        for k in 0..=width {
            for (j, v) in self.diagonal(k).iter().enumerate() {
                let v = self.below(k, *v);
                bands[width + k + j * leading] = v;
                bands[width - k + (j + k) * leading] = Scalar::conj(v);
            }
        }
        Banded::from_vec(n, width, width, bands)
    }

    /// Whether all stored numbers outside of the matrix are finite.
    pub fn rest_is_finite(&self) -> bool {
        let finite = |v: &[T]| v.iter().all(|v| Scalar::is_finite(*v));
        let row = |k: usize| &self.ab[if self.lower { k } else { self.width - k } * self.n..][..self.n];
        let outside = |k: usize| if self.lower { &row(k)[self.n - k.min(self.n)..] } else { &row(k)[..k.min(self.n)] };
        (1..=self.width).all(|k| finite(outside(k))) && (!T::COMPLEX || finite(row(0)))
    }

    /// The matrix as a tridiagonal one. Arrays are copied only if they differ from the stored ones.
    fn to_tridiagonal(self) -> Result<Tridiagonal<'a, T>> {
        if !T::COMPLEX && self.inside() == 1 {
            let beside = self.diagonal(1);
            return Tridiagonal::new(beside, self.diagonal(0), beside);
        }
        let (mut diag, mut sub) = (zeroed(self.n)?, zeroed(self.n.saturating_sub(1))?);
        if self.n > 0 {
            diag.iter_mut().zip(self.diagonal(0)).for_each(|(to, v)| *to = self.below(0, *v));
        }
        if self.inside() == 1 {
            sub.iter_mut().zip(self.diagonal(1)).for_each(|(to, v)| *to = self.below(1, *v));
        }
        let mut sup = zeroed(sub.len())?;
        sup.iter_mut().zip(&sub).for_each(|(to, v)| *to = Scalar::conj(*v));
        Tridiagonal::from_vecs(sub, diag, sup, false)
    }
}

impl<T: Scalar> Matrix<T> for Diagonals<'_, T> {
    fn shape(&self) -> Shape {
        Shape::Banded { n: self.n, lower: self.inside(), upper: self.inside() }
    }

    fn equations(&self, op: Op, _simd: Simd) -> impl Equations<T> {
        DiagonalRows { a: *self, conj: op == Op::Transpose }
    }

    fn check_finite(&self) -> Result<()> {
        for k in 0..=self.inside().min(self.n) {
            if self.n == 0 {
                break;
            }
            let finite = |v: &T| Scalar::is_finite(self.below(k, *v));
            if let Some(j) = self.diagonal(k).iter().position(|v| !finite(v)) {
                let start = if self.lower { k * self.n } else { (self.width - k) * self.n + k };
                return Err(Error::NotFinite { array: "ab", index: start + j });
            }
        }
        Ok(())
    }
}

/// Factor by the sequential pivoted method.
fn pivoted<'a, T: Scalar>(decision: &Decision, a: Arc<Diagonals<'a, T>>) -> Result<Factors<T, Diagonals<'a, T>>> {
    let mut facts = Facts::pivoted(decision);
    let lu = BandLu::under_plan(decision, &a.to_banded()?, &mut facts)?;
    Ok(Factors::new(a, facts, OfBand(Arc::new(lu))))
}

/// The rows of A or of its conjugate.
struct DiagonalRows<'a, T> {
    a: Diagonals<'a, T>,
    conj: bool,
}

impl<T: Scalar> Equations<T> for DiagonalRows<'_, T> {
    fn entries_in_row(&self) -> usize {
        2 * self.a.inside() + 1
    }

    fn visit_row(&self, i: usize, mut visit: impl FnMut(usize, T)) {
        let (a, width) = (&self.a, self.a.inside());
        let conj = |v: T, yes: bool| if T::COMPLEX && yes { Scalar::conj(v) } else { v };
        for k in (1..=width.min(i)).rev() {
            visit(i - k, conj(a.below(k, a.diagonal(k)[i - k]), self.conj));
        }
        for k in 0..=width.min(a.n - 1 - i) {
            visit(i + k, conj(a.below(k, a.diagonal(k)[i]), !self.conj));
        }
    }

    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
        let (n, end) = (self.a.n, first_row + r.len());
        let mut subtract = |k: usize, rows: Range<usize>, entries: usize, unknowns: usize| {
            let count = rows.len();
            let (r, sums) = (&mut r[rows.start - first_row..][..count], &mut sums[rows.start - first_row..][..count]);
            subtract_products(r, sums, &self.a.diagonal(k)[entries..][..count], &x[unknowns..][..count]);
        };
        for k in 0..=self.a.inside() {
            // Each diagonal is in another page, so the entries for the next rows are prefetched.
            let next = &self.a.diagonal(k)[end.min(n - k)..(end + (end - first_row)).min(n - k)];
            next.iter().step_by(64 / size_of::<T>()).for_each(|v| prefetch::prefetch(v));
            let start = first_row.max(k);
            if k > 0 && start < end {
                subtract(k, start..end, start - k, start - k);
            }
            let stop = end.min(n - k);
            if first_row < stop {
                subtract(k, first_row..stop, first_row, first_row + k);
            }
        }
    }
}

/// Subtract products from `r` and add moduli to `sums`. As a function, not a closure, because the compiler knows that arguments do not overlap.
#[inline(never)]
fn subtract_products<T: Scalar>(r: &mut [T], sums: &mut [T], a: &[T], x: &[T]) {
    let (r, sums, x) = (&mut r[..a.len()], &mut sums[..a.len()], &x[..a.len()]);
    for i in 0..a.len() {
        r[i] -= a[i] * x[i];
        sums[i] += T::from_real(a[i].abs1());
    }
}

/// Rows of the matrix, counted from one of its ends. The pivots among them are eliminated.
struct DiagonalPart<'a, T> {
    a: Diagonals<'a, T>,
    reversed: bool,
    size: RectangleSize,
}

impl<T: Scalar> HermitianTriangle<T> for DiagonalPart<'_, T> {
    fn size(&self) -> RectangleSize {
        self.size
    }

    fn copy(&self, columns: Range<usize>, to: &mut [T], stride: usize) {
        if self.reversed {
            self.copy_in::<true>(columns, to, stride)
        } else {
            self.copy_in::<false>(columns, to, stride)
        }
    }
}

/// Number of diagonals that are copied together.
const COPIED_DIAGONALS: usize = 8;

impl<'a, T: Scalar> DiagonalPart<'a, T> {
    #[inline(always)]
    fn copy_in<const REVERSED: bool>(&self, columns: Range<usize>, to: &mut [T], stride: usize) {
        let (RectangleSize { rows, lower, .. }, step) = (self.size, stride + 1);
        let count = |k: usize| columns.len().min((rows - k).saturating_sub(columns.start));
        let entries = |k: usize, count: usize| self.stored(k, columns.start, count, REVERSED);
        let entry = |k: usize, from: &[T], c: usize| {
            let v = if REVERSED { Scalar::conj(from[from.len() - 1 - c]) } else { from[c] };
            self.a.below(k, v)
        };
        for first in (0..=lower).step_by(COPIED_DIAGONALS) {
            // Several diagonals are copied together, so that the writes to a column are contiguous.
            let last = (first + COPIED_DIAGONALS).min(lower + 1);
            let mut done = 0;
            if last - first == COPIED_DIAGONALS {
                done = count(last - 1);
                let from: [&[T]; COPIED_DIAGONALS] = core::array::from_fn(|q| entries(first + q, done));
                for c in 0..done {
                    let to = &mut to[c * step + first..][..COPIED_DIAGONALS];
                    for q in 0..COPIED_DIAGONALS {
                        to[q] = entry(first + q, from[q], c);
                    }
                }
            }
            for k in first..last {
                let from = entries(k, count(k));
                (done..from.len()).for_each(|c| to[c * step + k] = entry(k, from, c));
            }
        }
    }

    /// The stored values of `count` entries of diagonal k below the main one, from column `first` on.
    #[inline(always)]
    fn stored(&self, k: usize, first: usize, count: usize, reversed: bool) -> &'a [T] {
        if count == 0 {
            return &[];
        }
        // Element (j + k, j) from the end is the conjugate of (i + k, i) with i + k = n − 1 − j.
        let start = if reversed { self.a.n - k - first - count } else { first };
        &self.a.diagonal(k)[start..start + count]
    }
}
