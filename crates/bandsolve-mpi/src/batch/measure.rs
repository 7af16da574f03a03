//! Backward errors of the systems of a batch, over all ranks.
//!
//! First, each rank computes an upper bound from its own rows, in one pass and without messages. The bound uses the largest entry of x on this
//! rank, which is at most ‖x‖∞ of the system. Only for systems with a bound that is too large, the ranks exchange norms and errors, and compute
//! residuals in twice the working precision.

use super::interface::NeighbourValues;
use super::rows::BatchRows;
use crate::agreement::{RankError, agree};
use crate::ranges::RankRanges;
use crate::ranks::{Ranks, room};
use bandsolve::distributed::residual_of;
use bandsolve::memory::reserved;
use bandsolve::{RealScalar, RefinedSystem, Scalar, Tridiagonal, attention, tolerable};
use bandsolve_kernel::exact::ScaledNorm;
use bandsolve_kernel::scalar::peak;

/// Right-hand sides and solutions of the rows of this rank, column by column, and the unknowns of the neighbouring ranks.
#[derive(Debug)]
pub(super) struct BatchAnswer<'a, T> {
    pub d: &'a [T],
    pub x: &'a mut [T],
    pub beside: NeighbourValues<T>,
}

/// Get the unknowns of rows i − 1, i and i + 1 of a column.
fn around<'a, T>(x: &'a [T], [before, behind]: [&'a [T]; 2], i: usize, count: usize) -> [&'a [T]; 3] {
    let (current, row) = (&x[i * count..][..count], |i: usize| &x[i * count..][..count]);
    let last = (i + 2) * count > x.len();
    [if i == 0 { before } else { row(i - 1) }, current, if last { behind } else { row(i + 1) }]
}

/// Compute upper bounds of η of the rows of this rank, for every column and system.
pub(super) fn bounds<T: Scalar>(
    arrays: &[Vec<T>; 3],
    count: usize,
    answer: &BatchAnswer<'_, T>,
    BoundMemory { all, norms, ratios, large }: &mut BoundMemory<T>,
) {
    let column = arrays[1].len();
    all.fill(0.0);
    *large = false;
    if column == 0 {
        return;
    }
    for (k, worst) in all.chunks_exact_mut(count).enumerate() {
        let (d, x) = (&answer.d[k * column..][..column], &answer.x[k * column..][..column]);
        let ends = answer.beside.sides.each_ref().map(|side| &side[k * count..][..count]);
        norms.fill(T::Real::ZERO);
        ratios.fill(T::Real::ZERO);
        for row in ends.into_iter().chain(x.chunks_exact(count)) {
            norms.iter_mut().zip(row).for_each(|(norm, x)| *norm = norm.max_nan(peak(*x)));
        }
        *large |= !in_proportion(arrays, d, norms, ratios);
        ratios.fill(T::Real::ZERO);
        for i in 0..column / count {
            let rows = arrays.each_ref().map(|array| &array[i * count..][..count]);
            row_bounds(rows, (&d[i * count..][..count], around(x, ends, i, count)), norms, ratios);
        }
        worst.iter_mut().zip(&*ratios).for_each(|(worst, ratio)| *worst = ratio.to_f64());
    }
}

/// Whether x is small enough, compared with d, in every system that no matrix looks singular to working precision.
///
/// `norms` has ‖x‖∞ of this rank. `ratios` is scratch memory with zeros. The rank with the largest x detects every such system.
fn in_proportion<T: Scalar>(
    [sub, diag, sup]: &[Vec<T>; 3],
    d: &[T],
    norms: &[T::Real],
    ratios: &mut [T::Real],
) -> bool {
    let (count, limit) = (norms.len(), T::Real::from_f64(4.0 * tolerable::<T>()));
    let fine = |ratios: &[T::Real]| ratios.iter().zip(norms).all(|(ratio, norm)| *ratio >= *norm * limit);
    for (i, d) in d.chunks_exact(count).enumerate() {
        for (k, d) in d.iter().enumerate() {
            let at = i * count + k;
            // If a sum overflows the number type, the quotient is 0, which is not in proportion.
            ratios[k] = ratios[k].max_nan(peak(*d) / (peak(sub[at]) + peak(diag[at]) + peak(sup[at])));
        }
        if fine(ratios) {
            return true;
        }
    }
    false
}

/// Return a warning if x of a system shows that its matrix is singular to working precision, see [`attention`]. Collective.
///
/// With s = Σⱼ|aᵢⱼ| of each row, the reciprocal condition is at most maxᵢ(|dᵢ|/sᵢ) / ‖x‖∞.
pub(super) fn attention_of<T: Scalar>(
    (rows, transposed): (&BatchRows<T>, bool),
    answer: &BatchAnswer<'_, T>,
    (len, eta): (usize, f64),
) -> Result<Option<String>, RankError> {
    let (count, column) = (rows.count, rows.local_rows() * rows.count);
    let memory = || Ok((ReduceMemory::new(&rows.ranks, count, len)?, room::<f64>(len)?, room::<f64>(len)?));
    let (mut reduce, mut norms, mut ratios) = agree(&rows.ranks, memory())?;
    let [sub, diag, sup] = rows.existing_arrays(transposed);
    for (k, (d, x)) in answer.d.iter().zip(&*answer.x).enumerate() {
        let (at, k) = (k / column * count + k % count, k % column);
        norms[at] = norms[at].max_nan(Scalar::abs(*x).to_f64());
        if *d != T::ZERO {
            let sum: f64 = [sub[k], diag[k], sup[k]].map(|a| Scalar::abs(a).to_f64()).iter().sum();
            ratios[at] = ratios[at].max_nan(Scalar::abs(*d).to_f64() / sum);
        }
    }
    reduce.max(&rows.ranks, &mut norms);
    reduce.max(&rows.ranks, &mut ratios);
    let bounds = ratios.iter().zip(&norms).map(|(ratio, norm)| ratio / norm);
    let least = bounds.filter(|bound| *bound > 0.0).fold(1.0, f64::min);
    Ok(attention(T::Real::EPSILON.to_f64(), Some(least), eta, None))
}

/// The memory for bounds: one for every column and system, and scratch for every system.
#[derive(Debug)]
pub(super) struct BoundMemory<T: Scalar> {
    pub all: Vec<f64>,
    /// Whether x of a system may be so large, compared with the right-hand side, that [`attention`] returns a warning.
    pub large: bool,
    norms: Vec<T::Real>,
    ratios: Vec<T::Real>,
}

impl<T: Scalar> BoundMemory<T> {
    pub fn new(count: usize, n_columns: usize) -> bandsolve::Result<Self> {
        Ok(Self { all: room(count * n_columns)?, large: false, norms: room(count)?, ratios: room(count)? })
    }
}

/// Update `ratios` to the maximum of `ratios` and |r| / (Σ|a|·norm + |d|) of one row, for all systems. The result is infinite on overflow.
fn row_bounds<T: Scalar>(
    [sub, diag, sup]: [&[T]; 3],
    (d, [before, current, behind]): (&[T], [&[T]; 3]),
    norms: &[T::Real],
    ratios: &mut [T::Real],
) {
    let epsilon = T::Real::EPSILON;
    let (low, high) = (T::Real::MIN_POSITIVE / (epsilon * epsilon), T::Real::MAX);
    let zero = T::Real::ZERO;
    for k in 0..ratios.len() {
        let r = d[k] - sub[k] * before[k] - diag[k] * current[k] - sup[k] * behind[k];
        let scale = (peak(sub[k]) + peak(diag[k]) + peak(sup[k])) * norms[k] + peak(d[k]);
        let inside = scale > low && scale < high;
        let nothing = norms[k] == zero && peak(d[k]) == zero;
        let ratio = match (inside, nothing) {
            (true, _) => r.abs1() / scale,
            (false, true) => zero,
            (false, false) => high / epsilon,
        };
        ratios[k] = ratios[k].max_nan(ratio);
    }
}

/// The memory for reductions over the ranks, with numbers for every system.
#[derive(Debug)]
pub(super) struct ReduceMemory {
    /// The systems whose maximum each rank computes.
    parts: RankRanges,
    sent: Vec<f64>,
    came: Vec<f64>,
    largest: Vec<f64>,
}

impl ReduceMemory {
    /// Allocate memory for `len` values, a multiple of `count`.
    pub fn new(ranks: &Ranks, count: usize, len: usize) -> bandsolve::Result<Self> {
        let parts = RankRanges::even(count, ranks.size());
        let received = len.checked_div(count).unwrap_or(0) * parts.range(ranks.rank()).len();
        let most = len.max(received * ranks.size());
        Ok(Self { parts, sent: reserved(most)?, came: room(most)?, largest: room(received)? })
    }

    /// Replace `values` by the maximum over the ranks, for each system. Collective.
    pub fn max(&mut self, ranks: &Ranks, values: &mut [f64]) {
        let Self { parts, sent, came, largest } = self;
        let (me, count) = (ranks.rank(), parts.rows());
        let times = values.len().checked_div(count).unwrap_or(0);
        let lens: Vec<usize> = (0..ranks.size()).map(|rank| times * parts.range(rank).len()).collect();
        let (equal_lens, most) = (vec![lens[me]; ranks.size()], lens.iter().copied().max().unwrap_or(0));
        super::interface::by_parts(values.chunks_exact(count.max(1)), parts, sent);
        let got = &mut came[..lens[me] * ranks.size()];
        ranks.all_to_all_into(sent, [&lens, &equal_lens], most, got);
        largest.fill(0.0);
        for values in got.chunks_exact(lens[me].max(1)) {
            largest.iter_mut().zip(values).for_each(|(largest, value)| *largest = largest.max_nan(*value));
        }
        sent.clear();
        (0..ranks.size()).for_each(|_| sent.extend_from_slice(largest));
        let got = &mut came[..values.len()];
        ranks.all_to_all_into(sent, [&equal_lens, &lens], most, got);
        let mut rest = &got[..];
        for part in (0..ranks.size()).map(|rank| parts.range(rank)) {
            for values in values.chunks_exact_mut(count.max(1)) {
                let (of_part, others) = rest.split_at(part.len());
                values[part.clone()].copy_from_slice(of_part);
                rest = others;
            }
        }
    }
}

/// The memory for residuals.
#[derive(Debug)]
pub(super) struct ResidualMemory<T> {
    pub reduce: ReduceMemory,
    /// η of every column and system.
    pub errors: Vec<f64>,
    norms: Vec<f64>,
    /// sub, diag, sup, x, d and the residual of one system, with one row before and two rows after.
    lines: [Vec<T>; 6],
}

impl<T: Scalar> ResidualMemory<T> {
    /// Allocate memory for `len` systems, counted in all columns.
    pub fn new(rows: &BatchRows<T>, len: usize) -> bandsolve::Result<Self> {
        let line = || room(rows.local_rows() + 3);
        Ok(Self {
            reduce: ReduceMemory::new(&rows.ranks, rows.count, len)?,
            errors: room(len)?,
            norms: room(len)?,
            lines: [line()?, line()?, line()?, line()?, line()?, line()?],
        })
    }
}

/// Write the residuals of the open systems to `r`, zeros for the other systems, and η over all ranks to `memory.errors`. Collective.
pub(super) fn residuals<T: Scalar>(
    (rows, transposed): (&BatchRows<T>, bool),
    answer: &BatchAnswer<'_, T>,
    systems: &[RefinedSystem],
    (r, memory): (&mut [T], &mut ResidualMemory<T>),
) {
    let (count, local_rows) = (rows.count, rows.local_rows());
    let (column, arrays) = (local_rows * count, rows.existing_arrays(transposed));
    let ResidualMemory { reduce, errors, norms, lines: [sub, diag, sup, x, d, residual] } = memory;
    let each = || (0..systems.len()).filter(|at| systems[*at].open);
    // Copy a system between zeros: one row before, two rows after.
    let system = |values: &[T], at: usize, to: &mut [T]| {
        to.fill(T::ZERO);
        (0..local_rows).for_each(|i| to[i + 1] = values[at / count * column + i * count + at % count]);
    };
    norms.fill(0.0);
    for at in each() {
        system(answer.x, at, x);
        let finite = x.iter().all(|x| Scalar::is_finite(*x));
        norms[at] = if finite { ScaledNorm::of(&x[1..=local_rows]).plain } else { f64::NAN };
    }
    reduce.max(&rows.ranks, norms);
    r.fill(T::ZERO);
    errors.fill(0.0);
    for at in each().filter(|_| local_rows > 0) {
        for (array, to) in arrays.iter().zip([&mut *sub, &mut *diag, &mut *sup]) {
            system(array, at % count, to);
        }
        system(answer.x, at, x);
        (x[0], x[local_rows + 1]) = (answer.beside.sides[0][at], answer.beside.sides[1][at]);
        // ‖x‖∞ over all ranks is in a row whose column has no entries.
        x[local_rows + 2] = T::from_real(T::Real::from_f64(norms[at]));
        system(answer.d, at, d);
        residual.fill(T::ZERO);
        let matrix = Tridiagonal::new(sub, diag, sup).expect("arrays of the same length");
        errors[at] = residual_of(&matrix, (d, x), residual);
        for i in 0..local_rows {
            r[at / count * column + i * count + at % count] = residual[i + 1];
        }
    }
    reduce.max(&rows.ranks, errors);
}
