//! Elimination of the tridiagonal systems of the paths of a forest, path by path, without row exchanges.
//!
//! The factors are computed in the number type of the matrix, and stored in that of the smoother, which may have half the precision. The product of the
//! rounded factors of a definite matrix is definite.

use super::strong_edges::LinkedForest;
use crate::csr::{Csr, cast};
use crate::factor::NONE;
use crate::forest::Forest;
use crate::rows::Ragged;
use bandsolve::memory::{allocate, collected, reserved, zeroed};
use bandsolve::vectors::divide;
use bandsolve::{RealScalar, Result, Scalar};
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// T = L·D·U by elimination without exchanges. A solve computes yᵢ = rᵢ − lᵢ·yᵢ₋₁, then xᵢ = yᵢ/pᵢ − uᵢ·xᵢ₊₁, for several paths at the same time.
#[derive(Debug)]
pub(super) struct PathElimination<S> {
    /// lᵢ, or 0 at the beginning of a path.
    lower: Vec<S>,
    /// 1/pᵢ
    inverse: Vec<S>,
    /// uᵢ, or 0 at the end of a path.
    upper: Vec<S>,
    /// The beginnings of the parts, and the number of rows.
    parts: Vec<usize>,
    /// The beginnings of the pieces of [`SIDE`] parts, and the number of rows.
    pieces: Vec<usize>,
}

/// Number of parts of a piece, which are solved at the same time, since each row waits for the previous row of its part.
const SIDE: usize = 4;
/// Minimum and maximum number of rows of a part, if paths are short.
const LEAST: usize = 64;
const MOST: usize = 1 << 12;
/// Number of rows that a part may always have.
const LONG: usize = 1 << 13;
/// Number of rows per task.
const TASK: usize = 1 << 11;
/// Minimum ratio of a pivot to the terms of its difference. A smaller pivot needs row exchanges.
const GROWTH: f64 = 1e-4;

impl<S: Scalar> PathElimination<S> {
    /// Factor the system. `None` if a pivot is too small, or if a path is too long for parallel parts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new<T: Scalar>(rows: &[[T; 3]], forest: &Forest) -> Result<Option<Self>> {
        let n = rows.len();
        let part = (n / 64).clamp(LEAST, MOST);
        // All parts except the last have at least this number of rows. The number of parts is rounded up.
        let mut parts = reserved(n / part + 2 + SIDE)?;
        parts.push(0);
        while parts[parts.len() - 1] < n {
            let mut cut = parts[parts.len() - 1] + part;
            while cut < n && !forest.begins(cut) {
                cut += 1;
            }
            parts.push(cut.min(n));
        }
        let longest = parts.windows(2).map(|part| part[1] - part[0]).max().unwrap_or(0);
        if longest > (n / 8).max(LONG) {
            return Ok(None);
        }
        parts.resize((parts.len() - 1).next_multiple_of(SIDE) + 1, n);
        let pieces = collected(parts.iter().step_by(SIDE).copied())?;
        let mut elimination = Self { lower: zeroed(n)?, inverse: zeroed(n)?, upper: zeroed(n)?, parts, pieces };
        Ok(elimination.eliminate(rows)?.then_some(elimination))
    }

    /// Whether all pivots are large enough.
    fn eliminate<T: Scalar>(&mut self, rows: &[[T; 3]]) -> Result<bool> {
        let (parts, starts) = (&self.parts, &self.pieces);
        let mut stable = allocate(starts.len() - 1, false)?;
        let bands = [&mut self.lower, &mut self.inverse, &mut self.upper];
        let [lower, inverse, upper] = bands.map(|values| Ragged { values, starts });
        let least = tasks_of(rows.len(), stable.len());
        let out = ((lower, inverse, upper), RowsOf(&mut stable, 1));
        each_chunk((starts.len() - 1, least), out, &|piece, ((lower, inverse, upper), stable)| {
            let rows = &rows[starts[piece]..starts[piece + 1]];
            let ends = core::array::from_fn(|k| parts[piece * SIDE + k + 1] - starts[piece]);
            stable.0[0] = eliminate_parts(rows, ends, [lower.values, inverse.values, upper.values]);
        });
        Ok(stable.iter().all(|stable| *stable))
    }

    /// Replace the right-hand side by the solution.
    pub fn solve(&self, x: &mut [S]) {
        let count = self.pieces.len() - 1;
        let out = Ragged { values: &mut *x, starts: &self.pieces };
        each_chunk((count, tasks_of(self.lower.len(), count)), out, &|piece, out| {
            let cuts = &self.parts[piece * SIDE..=(piece + 1) * SIDE];
            let [mut x, mut rest]: [&mut [S]; 2] = [&mut [], out.values];
            let x: [&mut [S]; SIDE] = core::array::from_fn(|k| {
                (x, rest) = core::mem::take(&mut rest).split_at_mut(cuts[k + 1] - cuts[k]);
                core::mem::take(&mut x)
            });
            let ranges = [0, 1, 2, 3].map(|k| cuts[k]..cuts[k + 1]);
            substitute_parts(
                x,
                ranges.map(|rows| [&self.lower[rows.clone()], &self.inverse[rows.clone()], &self.upper[rows]]),
            );
        });
    }
}

/// The entries of each row along its path, in the order of the forest, divided by `damping`. All other entries of the row with the sign of its
/// diagonal are added to the diagonal.
///
/// With this sum, 2·T − A is definite for a definite A whose rows add up to 0. Without it, T would be too small.
pub(super) fn tridiagonal_rows<T: Scalar>(
    a: &Csr<'_, T, u32>,
    linked: &LinkedForest,
    damping: f64,
) -> Result<Vec<[T; 3]>> {
    let (n, permutation) = (a.rows(), linked.forest.permutation());
    let places = permutation.places();
    let mut rows = zeroed(n)?;
    let (_, columns, values) = a.parts();
    permutation.scatter(&mut rows, &|v| {
        let [one, other] = linked.partners[v];
        let (columns, values) = (&columns[a.range(v)], &values[a.range(v)]);
        let (wanted, mut at) = ([one, v as u32, other], [columns.len(); 3]);
        // Compare the signs of the real parts.
        let (mut positive, mut negative) = (0.0, 0.0);
        for (e, (u, value)) in columns.iter().zip(values).enumerate() {
            // Select instead of branching: the processor cannot predict the places of these entries.
            (0..3).for_each(|k| at[k] = if *u == wanted[k] { e } else { at[k] });
            let re = value.re().to_f64();
            positive += re.max(0.0);
            negative += re.min(0.0);
        }
        let [first, mut diag, second] = at.map(|e| values.get(e).copied().unwrap_or(T::ZERO));
        let real_parts = [first, diag, second].map(|value| value.re().to_f64());
        let like = |re: f64| if real_parts[1] > 0.0 { re.max(0.0) } else { re.min(0.0) };
        let all = if real_parts[1] > 0.0 { positive } else { negative };
        if real_parts[1] != 0.0 {
            diag += T::from_real(T::Real::from_f64(real_parts.iter().fold(all, |sum, re| sum - like(*re))));
        }
        let [first, diag, second] = [first, diag, second].map(|value| value.scale(T::Real::from_f64(1.0 / damping)));
        let before = |u: u32| u != NONE && places[u as usize] < places[v];
        if before(one) || (other != NONE && !before(other)) { [first, diag, second] } else { [second, diag, first] }
    });
    Ok(rows)
}

/// Parts of a task of [`TASK`] rows.
fn tasks_of(rows: usize, parts: usize) -> usize {
    TASK.div_ceil((rows / parts.max(1)).max(1))
}

/// Compute L, D and U of the parts that end at these rows, at the same time. Returns whether every pivot is large enough and representable.
fn eliminate_parts<T: Scalar, S: Scalar>(rows: &[[T; 3]], ends: [usize; SIDE], bands: [&mut [S]; 3]) -> bool {
    let starts: [usize; SIDE] = core::array::from_fn(|k| if k == 0 { 0 } else { ends[k - 1] });
    let common = (0..SIDE).map(|k| ends[k] - starts[k]).min().unwrap_or(0);
    let [lower, inverse, upper] = bands;
    let mut write = |at: usize, [l, d, u]: [S; 3]| (lower[at], inverse[at], upper[at]) = (l, d, u);
    let mut parts = [PartElimination { factor: T::ZERO, coupling: T::ZERO, stable: true }; SIDE];
    for i in 0..common {
        for k in 0..SIDE {
            write(starts[k] + i, parts[k].eliminate(rows[starts[k] + i]));
        }
    }
    for k in 0..SIDE {
        for at in starts[k] + common..ends[k] {
            write(at, parts[k].eliminate(rows[at]));
        }
    }
    parts.iter().all(|part| part.stable)
}

/// The state of the elimination within a part.
#[derive(Clone, Copy)]
struct PartElimination<T> {
    /// 1/pᵢ
    factor: T,
    /// The entry to the right of the diagonal.
    coupling: T,
    stable: bool,
}

impl<T: Scalar> PartElimination<T> {
    /// Compute L, D and U of the next row.
    #[inline(always)]
    fn eliminate<S: Scalar>(&mut self, [sub, diag, sup]: [T; 3]) -> [S; 3] {
        // The stored factor of the previous row is the inverse of its pivot.
        let l = sub * self.factor;
        let update = l * self.coupling;
        let pivot = diag - update;
        let size = Scalar::abs1(diag).to_f64() + Scalar::abs1(update).to_f64();
        self.factor = divide(T::ONE, pivot);
        self.coupling = sup;
        let factors: [S; 3] = [cast(l), cast(self.factor), cast(self.factor * sup)];
        self.stable &= Scalar::abs1(pivot).to_f64() > GROWTH * size && factors.iter().all(|value| value.is_finite());
        factors
    }
}

/// Replace the right-hand sides of several parts by the solutions.
fn substitute_parts<S: Scalar>(x: [&mut [S]; SIDE], factors: [[&[S]; 3]; SIDE]) {
    let common = x.iter().map(|x| x.len()).min().unwrap_or(0);
    let [x0, x1, x2, x3] = x;
    let [f0, f1, f2, f3] = factors;
    let mut y = [S::ZERO; SIDE];
    {
        let (x0, x1, x2, x3) = (&mut x0[..common], &mut x1[..common], &mut x2[..common], &mut x3[..common]);
        let (l0, l1, l2, l3) = (&f0[0][..common], &f1[0][..common], &f2[0][..common], &f3[0][..common]);
        for i in 0..common {
            y = [x0[i] - l0[i] * y[0], x1[i] - l1[i] * y[1], x2[i] - l2[i] * y[2], x3[i] - l3[i] * y[3]];
            (x0[i], x1[i], x2[i], x3[i]) = (y[0], y[1], y[2], y[3]);
        }
    }
    let x = [x0, x1, x2, x3];
    let factors = [f0, f1, f2, f3];
    for k in 0..SIDE {
        for (x, l) in x[k][common..].iter_mut().zip(&factors[k][0][common..]) {
            y[k] = *x - *l * y[k];
            *x = y[k];
        }
    }
    back_substitute(x, factors, common);
}

/// The backward substitution, from the last rows to the first.
fn back_substitute<S: Scalar>(x: [&mut [S]; SIDE], factors: [[&[S]; 3]; SIDE], common: usize) {
    let mut y = [S::ZERO; SIDE];
    let [x0, x1, x2, x3] = x;
    let [f0, f1, f2, f3] = factors;
    {
        let last = |part: &[S]| part.len() - common;
        let [s0, s1, s2, s3] = [last(x0), last(x1), last(x2), last(x3)];
        let (x0, x1) = (&mut x0[s0..][..common], &mut x1[s1..][..common]);
        let (x2, x3) = (&mut x2[s2..][..common], &mut x3[s3..][..common]);
        let (d0, d1) = (&f0[1][s0..][..common], &f1[1][s1..][..common]);
        let (d2, d3) = (&f2[1][s2..][..common], &f3[1][s3..][..common]);
        let (u0, u1) = (&f0[2][s0..][..common], &f1[2][s1..][..common]);
        let (u2, u3) = (&f2[2][s2..][..common], &f3[2][s3..][..common]);
        for i in (0..common).rev() {
            y = [
                x0[i] * d0[i] - u0[i] * y[0],
                x1[i] * d1[i] - u1[i] * y[1],
                x2[i] * d2[i] - u2[i] * y[2],
                x3[i] * d3[i] - u3[i] * y[3],
            ];
            (x0[i], x1[i], x2[i], x3[i]) = (y[0], y[1], y[2], y[3]);
        }
    }
    let x = [x0, x1, x2, x3];
    for (k, (x, [_, inverse, upper])) in x.into_iter().zip([f0, f1, f2, f3]).enumerate() {
        let rest = x.len() - common;
        for ((x, d), u) in x[..rest].iter_mut().zip(&inverse[..rest]).zip(&upper[..rest]).rev() {
            y[k] = *x * *d - *u * y[k];
            *x = y[k];
        }
    }
}
