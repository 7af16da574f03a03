//! Backward errors of the systems of a batch, over all ranks.
//!
//! A bound first, which costs one pass and no message: ‖x‖∞ of a system is at least the largest number that a rank knows. Only where a
//! bound is too large are norms and errors of systems reduced over the ranks, and residuals formed in twice the working precision.

use super::BatchRows;
use super::interface::NeighbourValues;
use crate::ranges::RankRanges;
use crate::ranks::{Ranks, room};
use bandsolve::distributed::residual_of;
use bandsolve::{RealScalar, Scalar, Tridiagonal};
use bandsolve_kernel::exact::ScaledNorm;
use bandsolve_kernel::scalar::peak;

/// Right-hand sides and solutions of own rows, column by column, and the unknowns beside them.
#[derive(Debug)]
pub(super) struct BatchAnswer<'a, T> {
    pub d: &'a [T],
    pub x: &'a mut [T],
    pub beside: NeighbourValues<T>,
}

/// The neighbours of row i of a column.
fn around<'a, T>(x: &'a [T], [before, behind]: [&'a [T]; 2], i: usize, count: usize) -> [&'a [T]; 3] {
    let (own, row) = (&x[i * count..][..count], |i: usize| &x[i * count..][..count]);
    let last = (i + 2) * count > x.len();
    [if i == 0 { before } else { row(i - 1) }, own, if last { behind } else { row(i + 1) }]
}

/// Bounds of η of own rows: of every column and system.
pub(super) fn bounds<T: Scalar>(
    arrays: &[Vec<T>; 3],
    count: usize,
    answer: &BatchAnswer<'_, T>,
    BoundMemory { all, norms, ratios }: &mut BoundMemory<T>,
) {
    let column = arrays[1].len();
    all.fill(0.0);
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
        for i in 0..column / count {
            let rows = arrays.each_ref().map(|array| &array[i * count..][..count]);
            row_bounds(rows, (&d[i * count..][..count], around(x, ends, i, count)), norms, ratios);
        }
        worst.iter_mut().zip(&*ratios).for_each(|(worst, ratio)| *worst = ratio.to_f64());
    }
}

/// Memory of bounds: those of every column and system, and numbers of every system.
#[derive(Debug)]
pub(super) struct BoundMemory<T: Scalar> {
    pub all: Vec<f64>,
    norms: Vec<T::Real>,
    ratios: Vec<T::Real>,
}

impl<T: Scalar> BoundMemory<T> {
    pub fn new(count: usize, n_columns: usize) -> bandsolve::Result<Self> {
        Ok(Self { all: room(count * n_columns)?, norms: room(count)?, ratios: room(count)? })
    }
}

/// The larger of `ratios` and |r| / (Σ|a|·norm + |d|) of one row of all systems; infinity where that leaves the range of the type.
fn row_bounds<T: Scalar>(
    [sub, diag, sup]: [&[T]; 3],
    (d, [before, own, behind]): (&[T], [&[T]; 3]),
    norms: &[T::Real],
    ratios: &mut [T::Real],
) {
    let epsilon = T::Real::EPSILON;
    let (low, high) = (T::Real::MIN_POSITIVE / (epsilon * epsilon), T::Real::MAX);
    let zero = T::Real::ZERO;
    for k in 0..ratios.len() {
        let r = d[k] - sub[k] * before[k] - diag[k] * own[k] - sup[k] * behind[k];
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

/// The largest of what ranks hold for each system; `values`: `count` numbers, several times. Collective.
pub(super) fn reduce_max(ranks: &Ranks, parts: &RankRanges, values: &[f64]) -> Vec<f64> {
    let (me, count) = (ranks.rank(), parts.rows());
    let times = values.len().checked_div(count).unwrap_or(0);
    let lens: Vec<usize> = (0..ranks.size()).map(|rank| times * parts.range(rank).len()).collect();
    let (own, most) = (vec![lens[me]; ranks.size()], lens.iter().copied().max().unwrap_or(0));
    let mut sent = Vec::with_capacity(values.len());
    super::interface::by_parts(values.chunks_exact(count.max(1)), parts, &mut sent);
    let came = ranks.all_to_all(&sent, [&lens, &own], most);
    let mut largest = vec![0.0f64; lens[me]];
    for values in came.chunks_exact(lens[me].max(1)) {
        largest.iter_mut().zip(values).for_each(|(largest, value)| *largest = largest.max_nan(*value));
    }
    let came = ranks.all_to_all(&largest.repeat(ranks.size()), [&own, &lens], most);
    let (mut all, mut rest) = (vec![0.0; values.len()], &came[..]);
    for part in (0..ranks.size()).map(|rank| parts.range(rank)) {
        for all in all.chunks_exact_mut(count.max(1)) {
            let (values, others) = rest.split_at(part.len());
            all[part.clone()].copy_from_slice(values);
            rest = others;
        }
    }
    all
}

/// Residuals of the systems that are `open`, to `r`, zeros elsewhere, and their η of all ranks. Collective.
pub(super) fn residuals<T: Scalar>(
    (rows, transposed): (&BatchRows<T>, bool),
    answer: &BatchAnswer<'_, T>,
    open: &[bool],
    r: &mut [T],
) -> Vec<f64> {
    let (count, own) = (rows.count, rows.own());
    let (parts, column) = (RankRanges::even(count, rows.ranks.size()), own * count);
    let arrays = rows.made_arrays(transposed);
    let each = || open.iter().enumerate().filter(|(_, open)| **open).map(|(at, _)| at);
    let of_system = |values: &[T], at: usize| -> Vec<T> {
        (0..own).map(|i| values[at / count * column + i * count + at % count]).collect()
    };
    let mut norms = vec![0.0; open.len()];
    for at in each() {
        let x = of_system(answer.x, at);
        let finite = x.iter().all(|x| Scalar::is_finite(*x));
        norms[at] = if finite { ScaledNorm::of(&x).plain } else { f64::NAN };
    }
    let norms = reduce_max(&rows.ranks, &parts, &norms);
    r.fill(T::ZERO);
    let mut errors = vec![0.0; open.len()];
    for at in each().filter(|_| own > 0) {
        let [sub, diag, sup] = arrays.each_ref().map(|array| between_zeros(&of_system(array, at % count)));
        let mut x = between_zeros(&of_system(answer.x, at));
        (x[0], x[own + 1]) = (answer.beside.sides[0][at], answer.beside.sides[1][at]);
        // ‖x‖∞ of all ranks stands where no row has an entry.
        x[own + 2] = T::from_real(T::Real::from_f64(norms[at]));
        let (d, mut residual) = (between_zeros(&of_system(answer.d, at)), vec![T::ZERO; own + 3]);
        let matrix = Tridiagonal::new(&sub, &diag, &sup).expect("arrays of one length");
        errors[at] = residual_of(&matrix, (&d, &x), &mut residual);
        for i in 0..own {
            r[at / count * column + i * count + at % count] = residual[i + 1];
        }
    }
    reduce_max(&rows.ranks, &parts, &errors)
}

/// One zero before, two behind.
fn between_zeros<T: Scalar>(values: &[T]) -> Vec<T> {
    let mut all = vec![T::ZERO; values.len() + 3];
    all[1..=values.len()].copy_from_slice(values);
    all
}
