//! Whether a Hermitian banded matrix is positive definite: `solveh_banded` has to refuse those that are not, as SciPy does, while
//! the solvers here take both.
//!
//! By the pivots d of A = L·D·Lᴴ, which are positive if, and only if, all leading minors are. Nothing but the pivots is kept.

use crate::arrays::{Number, array, rows, slice, with_number};
use crate::errors::exception;
use bandsolve::arithmetic::Standard;
use bandsolve::memory::zeroed;
use bandsolve::{RealScalar, Scalar};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The order of the first leading minor that is not positive; None if the matrix is positive definite. Bands are those of
/// `solveh_banded`.
///
/// # Cost
/// w² flops a row for w diagonals below the main one, sequential.
#[pyfunction]
pub fn indefinite(lower: bool, bands: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let (bands, kind) = array(bands)?;
    if bands.ndim() != 2 || bands.shape()[0] == 0 {
        return Err(PyValueError::new_err("bands are expected to have two dimensions, and one diagonal at least"));
    }
    with_number!(kind, of_bands(&bands, lower))
}

fn of_bands<T: Number>(bands: &Bound<'_, PyUntypedArray>, lower: bool) -> PyResult<Option<usize>> {
    let (width, n) = (bands.shape()[0] - 1, bands.shape()[1]);
    let held = rows::<T>(bands)?;
    let _mode = Standard::enter();
    let a = Hermitian { entries: slice(&held), n, width: width.min(n.saturating_sub(1)), stored: width, lower };
    let found = bands.py().detach(|| match a.width {
        1 if a.twisted() => Ok(None),
        _ => a.first(),
    });
    found.map_err(|error| exception(bands.py(), &error))
}

/// A matrix by the rows of its bands.
struct Hermitian<'a, T> {
    entries: &'a [T],
    n: usize,
    /// Off-diagonals that have entries, and those that are stored.
    width: usize,
    stored: usize,
    lower: bool,
}

impl<T: Scalar> Hermitian<'_, T> {
    /// The real part of entry (j, j), which counts alone.
    fn diag(&self, j: usize) -> T::Real {
        self.entries[if self.lower { j } else { self.stored * self.n + j }].re()
    }

    /// Entry (i, j), i ≥ j.
    fn entry(&self, i: usize, j: usize) -> T {
        if i == j { T::from_real(self.diag(j)) } else { self.below(i - j, j) }
    }

    /// Entry (j + k, j), k ≥ 1.
    fn below(&self, k: usize, j: usize) -> T {
        match self.lower {
            true => self.entries[k * self.n + j],
            false => self.entries[(self.stored - k) * self.n + j + k].conj(),
        }
    }

    /// Whether a tridiagonal matrix is positive definite: pivots from both ends, which are independent of one another, to the row
    /// in the middle.
    fn twisted(&self) -> bool {
        let (n, middle) = (self.n, self.n / 2);
        let step = |a: T::Real, e: T, pivot: T::Real| a - e.abs() / pivot * e.abs();
        let (mut up, mut down) = (self.diag(0), self.diag(n - 1));
        let mut positive = true;
        for k in 1..middle {
            positive &= up > T::Real::ZERO && down > T::Real::ZERO;
            up = step(self.diag(k), self.below(1, k - 1), up);
            down = step(self.diag(n - 1 - k), self.below(1, n - 1 - k), down);
        }
        positive &= up > T::Real::ZERO && down > T::Real::ZERO;
        // `up` is the pivot of row middle − 1, `down` that of row n − middle; the row between them is left, if there is one.
        let last = match n % 2 {
            0 => down,
            _ => step(self.diag(middle), self.below(1, middle), down),
        };
        positive && step(last, self.below(1, middle - 1), up) > T::Real::ZERO
    }

    /// The order of the first leading minor that is not positive.
    fn first(&self) -> bandsolve::Result<Option<usize>> {
        let w = self.width;
        let side = w + 1;
        // The lower triangle of the rows j … j + w, from which the rows before were eliminated.
        let (mut rest, mut column) = (zeroed::<T>(side.saturating_mul(side))?, zeroed(side)?);
        for r in 0..side.min(self.n) {
            for c in 0..=r {
                rest[r * side + c] = self.entry(r, c);
            }
        }
        for j in 0..self.n {
            let pivot = rest[0].re();
            // As LAPACK asks: what is not a number goes through to x.
            if pivot <= T::Real::ZERO {
                return Ok(Some(j + 1));
            }
            let scale = T::from_real(T::Real::ONE / pivot.sqrt());
            column.iter_mut().zip(rest.iter().step_by(side)).for_each(|(to, entry)| *to = *entry);
            for r in 1..=w {
                // In two steps, which no pivot is too small for.
                let l = column[r] * scale * scale;
                // One row up and one column to the left.
                let (to, from) = rest[(r - 1) * side..].split_at_mut(side);
                let entries = to[..r].iter_mut().zip(&from[1..=r]).zip(&column[1..=r]);
                entries.for_each(|((to, from), c)| *to = *from - l * c.conj());
            }
            let (next, row) = (j + 1, j + 1 + w);
            let entry = |c| if row < self.n { self.entry(row, next + c) } else { T::ZERO };
            rest[w * side..].iter_mut().enumerate().for_each(|(c, to)| *to = entry(c));
        }
        Ok(None)
    }
}
