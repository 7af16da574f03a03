//! Values of cubic splines: the compiled part of `bandsolve.interpolate.CubicSpline`.
//!
//! Cost: for each point one search for its piece, and four coefficients for each value. In sorted points, the piece is mostly that of the
//! point before. With knots at equal distances, the piece follows from the point without a search. After the first
//! point for which it does not, the search halves the knots.

use crate::arrays::{DtypeKind, Number, array, filled, rows, slice};
use crate::interrupt::detached;
use crate::options::threads_set;
use bandsolve::{Complex64, Scalar};
use bandsolve_kernel::threads::{count, join};
use core::hint::select_unpredictable;
use numpy::{PyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Minimum number of values that a thread computes, about 0.1 ms of work.
const VALUES_PER_THREAD: usize = 1 << 15;
/// Number of coefficients of a piece.
const CUBIC: usize = 4;

/// Evaluate a spline, or a derivative of it, at the points `t`: an array with one row for each point, in C order.
///
/// The coefficients have the shape (4, n − 1, …) for n knots. The result has one dimension if they have two. `outside` says what a value
/// outside the knots is: `"nan"`, the `"polynomial"` of the first or last piece, or `"periodic"`.
///
/// # Errors
/// `ValueError` if `t` is complex, `TypeError` if it holds no numbers, `MemoryError`.
#[pyfunction]
pub fn spline_values<'py>(
    knots: &Bound<'py, PyAny>,
    coefficients: &Bound<'py, PyAny>,
    t: &Bound<'py, PyAny>,
    nu: usize,
    outside: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (t, kind) = array(t)?;
    if kind.complex {
        return Err(PyValueError::new_err("t is complex, expected real numbers"));
    }
    let (t, knots) = (rows::<f64>(&t)?, rows::<f64>(&array(knots)?.0)?);
    let outside = match outside {
        "nan" => Outside::Nan,
        "periodic" => Outside::Periodic,
        _ => Outside::Polynomial,
    };
    let points = EvaluationPoints { knots: slice(&knots), t: slice(&t), outside };
    let (coefficients, DtypeKind { complex, .. }) = array(coefficients)?;
    if complex {
        evaluated::<Complex64>(&coefficients, points, nu).map(Bound::into_any)
    } else {
        evaluated::<f64>(&coefficients, points, nu).map(Bound::into_any)
    }
}

/// The array of values.
fn evaluated<'py, T: Number + Scalar<Real = f64>>(
    coefficients: &Bound<'py, PyUntypedArray>,
    points: EvaluationPoints<'_>,
    nu: usize,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let (py, coefficients) = (coefficients.py(), rows::<T>(coefficients)?);
    let (shape, pieces) = (coefficients.shape(), points.knots.len().wrapping_sub(1));
    if pieces == 0 || shape.len() < 2 || shape[..2] != [CUBIC, pieces] {
        let message =
            format!("c has the shape {shape:?}, expected (4, {pieces}, ...) for {} knots", points.knots.len());
        return Err(PyValueError::new_err(message));
    }
    let values: usize = shape[2..].iter().product();
    let dims = [points.t.len(), values];
    let spline = Spline { pieces, values, coefficients: slice(&coefficients) };
    let fill = |out: &mut [T]| {
        let threads = threads_set().unwrap_or_else(count).min(out.len() / VALUES_PER_THREAD);
        if threads <= 1 && out.len() < VALUES_PER_THREAD {
            spline.derivative(points, nu, out);
            return Ok(());
        }
        detached(py, || spline.in_parallel(points, nu, (out, threads)))
    };
    let (array, result) = filled(py, &dims[..if shape.len() == 2 { 1 } else { 2 }], false, fill)?;
    result.map(|()| array)
}

/// The value outside of the knots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outside {
    Nan,
    Polynomial,
    Periodic,
}

/// Points at which to evaluate, and increasing knots.
#[derive(Clone, Copy)]
struct EvaluationPoints<'a> {
    knots: &'a [f64],
    t: &'a [f64],
    outside: Outside,
}

/// The piece of the last point: its index, and the points that belong to it, `from ≤ t < to`.
#[derive(Clone, Copy)]
struct SplinePiece {
    index: usize,
    from: f64,
    to: f64,
}

impl EvaluationPoints<'_> {
    /// Call `visit` for each point with its number, its piece, and its distance from the left knot of the piece. The piece is `None` where the
    /// value is NaN.
    #[inline(always)]
    fn for_each(&self, mut visit: impl FnMut(usize, Option<(usize, f64)>)) {
        let (begin, end) = (self.knots[0], self.knots[self.knots.len() - 1]);
        let per_length = (self.knots.len() - 1) as f64 / (end - begin);
        let (mut piece, mut equal) = (SplinePiece { index: 0, from: f64::NAN, to: f64::NAN }, true);
        for (i, t) in self.t.iter().enumerate() {
            let t = if self.outside == Outside::Periodic { begin + modulo(t - begin, end - begin) } else { *t };
            if t.is_nan() || (self.outside == Outside::Nan && !(begin <= t && t <= end)) {
                visit(i, None);
                continue;
            }
            if !(piece.from <= t && t < piece.to) {
                let mut index = None;
                if equal {
                    index = self.piece_near(t, (t - begin) * per_length);
                    equal = index.is_some();
                }
                piece = self.piece(index.unwrap_or_else(|| self.search(t)));
            }
            visit(i, Some((piece.index, t - self.knots[piece.index])));
        }
    }

    /// The index of the piece that contains `t`, if this is piece `guess` or one of its two neighbors.
    #[inline(always)]
    fn piece_near(&self, t: f64, guess: f64) -> Option<usize> {
        let (x, last) = (self.knots, self.knots.len() - 2);
        // The conversion gives the nearest number in range, and 0 for NaN.
        let guess = (guess as usize).min(last);
        // Rounding can give the piece beside.
        let index = (guess + usize::from(x[guess + 1] <= t)).saturating_sub(usize::from(t < x[guess])).min(last);
        let SplinePiece { from, to, .. } = self.piece(index);
        (from <= t && t < to).then_some(index)
    }

    /// The index of the piece of `t`.
    #[inline(always)]
    fn search(&self, t: f64) -> usize {
        // The index is in index..index + size.
        let (mut index, mut size) = (0, self.knots.len() - 1);
        while size > 1 {
            let half = size / 2;
            index = select_unpredictable(self.knots[index + half] <= t, index + half, index);
            size -= half;
        }
        index
    }

    /// A piece. The first one contains all t before the knots, and the last one all t after the knots.
    #[inline(always)]
    fn piece(&self, index: usize) -> SplinePiece {
        let (x, last) = (self.knots, self.knots.len() - 2);
        let from = if index == 0 { f64::NEG_INFINITY } else { x[index] };
        // t = ∞ belongs to no half-open interval, and is searched for again.
        let to = if index == last { f64::INFINITY } else { x[index + 1] };
        SplinePiece { index, from, to }
    }
}

/// The remainder of a division, with the sign of the divisor: Python's `a % b` for b > 0.
#[inline(always)]
fn modulo(a: f64, b: f64) -> f64 {
    if (0.0..b).contains(&a) {
        return a;
    }
    let rest = a % b;
    if rest < 0.0 { rest + b } else { rest }
}

/// The coefficients of the pieces of a spline with several values.
#[derive(Clone, Copy)]
struct Spline<'a, T> {
    pieces: usize,
    values: usize,
    /// For each power, from the third to the zeroth, for each piece: `values` numbers.
    coefficients: &'a [T],
}

impl<T: Scalar<Real = f64>> Spline<'_, T> {
    /// Evaluate a derivative on several threads.
    fn in_parallel(&self, points: EvaluationPoints<'_>, nu: usize, (out, threads): (&mut [T], usize)) {
        if threads <= 1 || points.t.len() < 2 {
            return self.derivative(points, nu, out);
        }
        let (left, right) = points.t.split_at(points.t.len() / threads * (threads / 2));
        let (first, second) = out.split_at_mut(left.len() * self.values);
        join(
            || self.in_parallel(EvaluationPoints { t: left, ..points }, nu, (first, threads / 2)),
            || self.in_parallel(EvaluationPoints { t: right, ..points }, nu, (second, threads - threads / 2)),
        );
    }

    /// Evaluate derivative `nu`.
    fn derivative(&self, points: EvaluationPoints<'_>, nu: usize, out: &mut [T]) {
        match nu {
            0 => self.evaluate(points, [1.0, 1.0, 1.0, 1.0], out),
            1 => self.evaluate(points, [3.0, 2.0, 1.0], out),
            2 => self.evaluate(points, [6.0, 2.0], out),
            3 => self.evaluate(points, [6.0], out),
            _ => self.evaluate(points, [0.0], out),
        }
    }

    /// Evaluate the polynomials Σₖ fₖ·cₖ·dᴺ⁻¹⁻ᵏ, k < N.
    fn evaluate<const N: usize>(&self, points: EvaluationPoints<'_>, factors: [f64; N], out: &mut [T]) {
        let nan = T::from_real(f64::NAN);
        let power = |k: usize| &self.coefficients[k * self.pieces * self.values..(k + 1) * self.pieces * self.values];
        let powers: [&[T]; N] = core::array::from_fn(power);
        if self.values == 1 {
            return points.for_each(|i, place| {
                out[i] = place.map_or(nan, |(piece, d)| {
                    let term = |k: usize| powers[k][piece].scale(factors[k]);
                    (1..N).fold(term(0), |value, k| value.scale(d) + term(k))
                });
            });
        }
        points.for_each(|i, place| {
            let out = &mut out[i * self.values..(i + 1) * self.values];
            let Some((piece, d)) = place else { return out.fill(nan) };
            let of_piece: [&[T]; N] =
                core::array::from_fn(|k| &powers[k][piece * self.values..(piece + 1) * self.values]);
            for (j, out) in out.iter_mut().enumerate() {
                let term = |k: usize| of_piece[k][j].scale(factors[k]);
                *out = (1..N).fold(term(0), |value, k| value.scale(d) + term(k));
            }
        });
    }
}
