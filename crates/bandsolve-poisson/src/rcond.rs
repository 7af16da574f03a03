//! The reciprocal condition number `rcond` of a separable problem.
//!
//! The matrix is L₁ ⊗ 1 ⊗ 1 + 1 ⊗ L₂ ⊗ 1 + 1 ⊗ 1 ⊗ L₃ + c. Weighted by the volumes of the unknowns, each L is symmetric. The eigenvalues of the
//! matrix are therefore the sums λ₁ + λ₂ + λ₃ + c. The indicator is
//!
//! ```text
//! rcond = min |λ₁ + λ₂ + λ₃ + c| / S
//! ```
//!
//! S is the mean of Σⱼ |aᵢⱼ|, weighted by volumes. The backward error measures each row by its own size. The largest Σⱼ |aᵢⱼ| would therefore
//! overstate the condition of grids with a few small cells. If the problem is singular, the eigenvalue 0 of the constant does not count.
//!
//! - With constant spacing, closed formulas give λ.
//! - With variable spacing or Robin sides and c ≥ 0, the estimate of the smallest λ is 1/‖L⁻¹·1‖∞. This lower bound is smaller by a factor of
//!   π²/8 on fine grids.
//! - With a negative α/β at a Robin side, bisection computes the smallest λ of the axis.
//! - With c or λ < 0, all eigenvalues of all axes except one are computed, and the condition of each system along that axis is estimated. If this
//!   axis has a constant spacing and Robin sides, bisection computes the distance to its nearest eigenvalue instead.

use crate::axis::AxisOperator;
use crate::condition::Condition;
use crate::dense::AxisModes;
use crate::long_line::{LineRow, steps, substitute};
use crate::methods::spectrum::{PartialSpectrum, PencilRows, sine};
use crate::separable::SeparableProblem;
use crate::transform::AxisSides;
use bandsolve::memory::{allocate, collected, reserved};
use bandsolve::{Error, Inspect, Method, Norm, Plan, Result, Tridiagonal};

/// The two smallest eigenvalues of an axis, and the size of its rows.
struct AxisRange {
    /// The smallest eigenvalue, or a lower bound of it. Exactly 0 if the operator maps constants to zero.
    first: f64,
    /// The second eigenvalue, or a lower bound of it, if `first` is 0.
    second: f64,
    /// The mean of Σⱼ |aᵢⱼ|, weighted by volumes.
    size: f64,
}

impl AxisRange {
    fn of(axis: &AxisOperator) -> Result<Self> {
        let (n, total) = (axis.len(), axis.volume.iter().sum::<f64>());
        let row = |i: usize| 2.0 * (axis.lower[i] + axis.upper[i]) + axis.gap[i].abs();
        let size = (0..n).map(|i| axis.volume[i] / total * row(i)).sum();
        if let Some((scale, sides)) = axis.uniform {
            let value = |k: usize| if k < n { scale * eigenvalue(k, n, sides) } else { f64::INFINITY };
            return Ok(Self { first: value(0), second: value(1), size });
        }
        if axis.least_gap() < 0.0 {
            let first = bisected(axis);
            return Ok(Self { first, second: first, size });
        }
        if !axis.keeps_constants() {
            let first = least_eigenvalue(rows(axis, 0..n)?)?;
            return Ok(Self { first, second: first, size });
        }
        // With u = 0 at one place, the smallest eigenvalue is at most the second eigenvalue of the axis. Any place is suitable on a periodic axis. On
        // an open axis, the middle gives the best bound.
        let mut below = 0.0;
        let cut = match axis.periodic {
            true => 0,
            false => axis
                .volume
                .iter()
                .position(|volume| {
                    below += volume;
                    below >= 0.5 * total
                })
                .unwrap_or(0),
        };
        let parts = [rows(axis, 0..cut)?, rows(axis, cut + 1..n)?]
            .map(|part| if part.is_empty() { Ok(f64::INFINITY) } else { least_eigenvalue(part) });
        let [one, two] = parts;
        Ok(Self { first: 0.0, second: one?.min(two?), size })
    }
}

/// The couplings and gaps of some rows.
fn rows(axis: &AxisOperator, places: core::ops::Range<usize>) -> Result<Vec<LineRow>> {
    collected(places.map(|i| [axis.lower[i], axis.upper[i], axis.gap[i]]))
}

/// 1/‖L⁻¹·1‖∞ of a line with u = 0 beyond both ends.
fn least_eigenvalue(line: Vec<LineRow>) -> Result<f64> {
    let (steps, mut x) = (steps(&line)?, allocate(line.len(), 1.0)?);
    substitute([&steps], [&mut x], [[0.0; 2]]);
    Ok(1.0 / x.into_iter().fold(0.0, f64::max))
}

/// The number of eigenvalues of an axis that is not periodic up to x: the number of pivots of L − x that are not positive.
///
/// A pivot is Q + upper, see module `chain`.
fn eigenvalues_up_to(axis: &AxisOperator, x: f64) -> usize {
    let (mut count, mut through) = (0, 0.0);
    for i in 0..axis.len() {
        let (upper, q) = (axis.upper[i], (axis.gap[i] - x) + through);
        // A pivot of 0 is replaced by a pivot that is far below the rounding errors.
        let pivot = if q + upper == 0.0 { -upper * f64::EPSILON.powi(3) } else { q + upper };
        count += usize::from(pivot <= 0.0);
        through = axis.lower.get(i + 1).map_or(0.0, |lower| lower * (q / pivot));
    }
    count
}

/// The smallest eigenvalue of an axis that is not periodic, by bisection between the smallest gap and the mean of the gaps, weighted by
/// volumes.
fn bisected(axis: &AxisOperator) -> f64 {
    let total = axis.volume.iter().sum::<f64>();
    let mean = axis.gap.iter().zip(&axis.volume).map(|(gap, volume)| gap * (volume / total)).sum::<f64>();
    let (mut low, mut high) = (axis.least_gap(), mean);
    // The rounding errors of the gaps are larger.
    let close = -low * f64::EPSILON / 8.0;
    while high - low > close {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        *(if eigenvalues_up_to(axis, middle) > 0 { &mut high } else { &mut low }) = middle;
    }
    low
}

/// The distance from a number to the nearest eigenvalue of an axis that is not periodic, to 1 %.
///
/// Below the rounding errors of the largest eigenvalue, the function returns an upper bound.
fn distance_to_axis(axis: &AxisOperator, from: f64) -> f64 {
    let is_near = |d: f64| eigenvalues_up_to(axis, from + d) > eigenvalues_up_to(axis, from - d);
    let row = |i: usize| 2.0 * (axis.lower[i] + axis.upper[i]) + axis.gap[i].abs();
    let largest = (0..axis.len()).map(row).fold(from.abs(), f64::max);
    let mut high = 2.0 * largest;
    while high > largest * f64::EPSILON / 16.0 && is_near(0.5 * high) {
        high *= 0.5;
    }
    let mut low = 0.5 * high;
    for _ in 0..7 {
        let middle = 0.5 * (low + high);
        *(if is_near(middle) { &mut high } else { &mut low }) = middle;
    }
    high
}

/// Eigenvalue k of tridiag(−1, 2, −1) with these sides, in ascending order from k = 0.
fn eigenvalue(k: usize, n: usize, sides: AxisSides) -> f64 {
    let (part, of) = match sides {
        AxisSides::NodeDirichlet => (k + 1, 2 * (n + 1)),
        AxisSides::NodeNeumann if n > 1 => (k, 2 * (n - 1)),
        AxisSides::NodeNeumann | AxisSides::CellNeumann => (k, 2 * n),
        AxisSides::CellDirichlet => (k + 1, 2 * n),
        AxisSides::NodeMixed(_) | AxisSides::CellMixed(_) => (2 * k + 1, 4 * n),
        AxisSides::Periodic => (k.div_ceil(2), n),
    };
    let half = sine(part, of);
    4.0 * half * half
}

/// The condition of −Δ + c.
pub(crate) fn condition_of(problem: &SeparableProblem) -> Result<Condition> {
    Ok(Condition { rcond: rcond(problem)?, cancelling: problem.is_cancelling() })
}

/// `rcond` of a problem.
fn rcond(problem: &SeparableProblem) -> Result<f64> {
    let [one, two, three] = &problem.axes;
    let ranges = [AxisRange::of(one)?, AxisRange::of(two)?, AxisRange::of(three)?];
    let (shift, sum) = (problem.shift, |of: fn(&AxisRange) -> f64| ranges.iter().map(of).sum::<f64>());
    let (first, size) = (sum(|range| range.first), sum(|range| range.size) + shift.abs());
    if size == 0.0 {
        return Ok(1.0);
    }
    // Lower bounds of eigenvalues are good enough unless c cancels them.
    let smallest = if problem.is_singular() {
        ranges.iter().map(|range| range.second).fold(f64::INFINITY, f64::min)
    } else if is_clear([ranges[0].first, ranges[1].first, ranges[2].first, shift]) {
        first + shift
    } else {
        return indefinite(problem, &ranges, size);
    };
    Ok(if size.is_finite() { (smallest / size).min(1.0) } else { f64::NAN })
}

/// Whether negative numbers cancel at most half of the positive ones. A lower bound of their sum is then good enough.
fn is_clear<const N: usize>(parts: [f64; N]) -> bool {
    let sum = |of: fn(f64) -> f64| parts.into_iter().map(of).sum::<f64>();
    sum(|x| x.max(0.0)) >= -2.0 * sum(|x| x.min(0.0))
}

/// `rcond` if −c is near the smallest eigenvalue of −Δ or above it.
fn indefinite(problem: &SeparableProblem, ranges: &[AxisRange; 3], size: f64) -> Result<f64> {
    // The longest axis with variable spacing needs no eigenvalues, because computing them takes O(n²) operations.
    let length = |k: &usize| (problem.axes[*k].uniform.is_none(), problem.axes[*k].len());
    let longest = (0..3).max_by_key(length).unwrap_or(0);
    let [a, b] = [(longest + 1) % 3, (longest + 2) % 3].map(|k| eigenvalues(&problem.axes[k]));
    let (Some(a), Some(b)) = (a?, b?) else { return Ok(f64::NAN) };
    let (axis, first) = (&problem.axes[longest], ranges[longest].first);
    let closed = if axis.uniform.is_some() { eigenvalues(axis)? } else { None };
    let mut ratio = 1.0f64;
    for mu in a.iter().flat_map(|a| b.iter().map(move |b| (a + b) + problem.shift)) {
        ratio = ratio.min(match &closed {
            None if is_clear([first, mu]) => (first + mu) / size,
            // The estimate of the condition of a system can miss an odd eigenvector of an axis with equal sides.
            None if axis.is_even() && !axis.periodic => distance_to_axis(axis, -mu) / size,
            None => of_system(axis, mu, size - ranges[longest].size)?,
            Some(values) => distance(values, -mu) / size,
        });
    }
    Ok(ratio)
}

/// The distance from a number to the nearest of the ascending `values`.
fn distance(values: &[f64], from: f64) -> f64 {
    let above = values.partition_point(|value| *value < from);
    let near = &values[above.saturating_sub(1)..values.len().min(above + 1)];
    near.iter().map(|value| (value - from).abs()).fold(f64::INFINITY, f64::min)
}

/// The eigenvalues of an axis, in ascending order if the spacing is constant. `None` if the iteration fails.
fn eigenvalues(axis: &AxisOperator) -> Result<Option<Vec<f64>>> {
    if let Some((scale, sides)) = axis.uniform {
        let n = axis.len();
        return collected((0..n).map(|k| scale * eigenvalue(k, n, sides))).map(Some);
    }
    if axis.periodic {
        return Ok(Some(AxisModes::new(axis)?.values));
    }
    let rows = PencilRows { sub: &axis.lower, sup: &axis.upper, gap: &axis.gap };
    Ok(PartialSpectrum::of(rows, &[])?.map(|spectrum| spectrum.eigenvalues))
}

/// `rcond` of L + μ. The size of a row is Σⱼ |aᵢⱼ| plus `rest`, the size of the rows of the other axes.
fn of_system(axis: &AxisOperator, mu: f64, rest: f64) -> Result<f64> {
    let n = axis.len();
    let (mut sub, mut diag, mut sup) = (reserved(n)?, reserved(n)?, reserved(n)?);
    for i in 0..n {
        let (lower, upper, gap) = (axis.lower[i], axis.upper[i], axis.gap[i]);
        let size = 2.0 * (lower + upper) + gap.abs() + rest;
        sub.push(-lower / size);
        diag.push((lower + upper + gap + mu) / size);
        sup.push(-upper / size);
    }
    of_scaled_system([sub, diag, sup], axis.periodic)
}

/// 1/‖B⁻¹‖∞ of a matrix B whose rows were divided by their sizes. This is the reciprocal of the row-wise condition number.
pub(crate) fn of_scaled_system([sub, diag, sup]: [Vec<f64>; 3], periodic: bool) -> Result<f64> {
    let a = Tridiagonal::from_vecs(sub, diag, sup, periodic)?;
    match Plan::new(a.shape()).method(Method::Pivoted).threads(1).factor_owned(a) {
        Ok(factor) => Ok(factor.rcond(Norm::Infinity)? * factor.norm(Norm::Infinity)),
        Err(Error::Singular { .. }) => Ok(0.0),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::AxisSpec;
    use crate::{Boundary, BoundaryKind, Grid};

    const KINDS: [BoundaryKind; 3] =
        [BoundaryKind::Dirichlet, BoundaryKind::Neumann, BoundaryKind::Robin { alpha: 1.5, beta: 0.8 }];

    /// All kinds of axes without negative gaps, with constant or `varying` spacing.
    fn axes(n: usize, varying: bool) -> Vec<AxisOperator> {
        let mut all = Vec::new();
        for grid in [Grid::Node, Grid::Cell] {
            let pairs = KINDS.iter().flat_map(|low| KINDS.iter().map(move |high| [*low, *high]));
            for kinds in pairs.chain([[BoundaryKind::Periodic; 2]]) {
                let beyond = kinds.iter().filter(|kind| **kind == BoundaryKind::Dirichlet).count();
                let node = grid == Grid::Node && kinds[0] != BoundaryKind::Periodic;
                let points = if node { n + beyond } else { n + 1 };
                let at = |i: usize| i as f64 + if varying { 0.4 * (i as f64 * 0.9).sin() } else { 0.0 };
                let coordinates = if varying { (0..points).map(at).collect() } else { Vec::new() };
                let spec = AxisSpec { grid, sides: kinds.map(Boundary::from), spacing: 0.5, coordinates };
                all.push(AxisOperator::new(0, n, &spec).unwrap());
            }
        }
        all
    }

    /// All eigenvalues in ascending order, from QL.
    fn known(axis: &AxisOperator) -> Vec<f64> {
        let mut values = AxisModes::new(axis).unwrap().values;
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn closed_formulas_give_the_eigenvalues() {
        for n in [1, 2, 3, 8, 13] {
            for axis in axes(n, false) {
                let (values, most) = (eigenvalues(&axis).unwrap().unwrap(), known(&axis)[n - 1].max(1.0));
                let apart = values.iter().zip(known(&axis)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(apart <= 1e-14 * n as f64 * most, "{axis:?}: {apart:e}");
            }
        }
    }

    /// Lower bounds are too small by π²/8 on fine grids, and by π²/2 on periodic axes. The factor 10 of the test includes grids of a few cells.
    #[test]
    fn lower_bounds_are_near_the_smallest_eigenvalues() {
        for n in [2, 3, 8, 40] {
            for axis in axes(n, true) {
                let (range, values) = (AxisRange::of(&axis).unwrap(), known(&axis));
                let constant = axis.keeps_constants();
                let (bound, value) = if constant { (range.second, values[1]) } else { (range.first, values[0]) };
                assert!(bound <= value * (1.0 + 1e-12) && value <= 10.0 * bound, "{axis:?}: {bound:e} {value:e}");
                assert_eq!(range.first == 0.0, constant);
            }
        }
    }

    /// Compares `rcond` with all sums of eigenvalues. The shifts lie between the eigenvalues and on one of them.
    #[test]
    fn rcond_is_the_smallest_eigenvalue_divided_by_the_size_of_the_rows() {
        for varying in [false, true] {
            for one in axes(9, varying) {
                for two in axes(6, false) {
                    let (a, b) = (known(&one), known(&two));
                    for shift in [0.7, 0.0, -0.31, -2.2, -(a[2] + b[3])] {
                        let problem =
                            SeparableProblem { axes: [one.clone(), AxisOperator::trivial(), two.clone()], shift };
                        let sums = a.iter().flat_map(|a| b.iter().map(move |b| (a + b + shift).abs()));
                        let mut sums: Vec<f64> = sums.collect();
                        sums.sort_by(f64::total_cmp);
                        let least = sums[usize::from(problem.is_singular())];
                        let size = AxisRange::of(&one).unwrap().size + AxisRange::of(&two).unwrap().size + shift.abs();
                        let (estimate, expected) = (rcond(&problem).unwrap(), least / size);
                        let closed = one.uniform.is_some() && two.uniform.is_some();
                        // Lower bounds have the factor 10 as above. The norm of an inverse exceeds the reciprocal of the smallest eigenvalue by
                        // a factor of at most ‖q‖₁‖q‖∞ ≤ √54 with the eigenvector q.
                        let close = 8.0 * f64::EPSILON;
                        let fits = estimate <= 7.4 * expected + close && expected <= 10.0 * estimate + close;
                        assert!(fits, "{one:?} {two:?} {shift}: {estimate:e} {expected:e}");
                        let on_it = shift == -(a[2] + b[3]);
                        assert_eq!(estimate <= close, on_it, "{one:?} {two:?} {shift}: {estimate:e}");
                        let hopeless = condition_of(&problem).unwrap().is_hopeless::<f64>();
                        assert!(hopeless == on_it || !closed && on_it, "{one:?} {two:?} {shift}: {estimate:e}");
                    }
                }
            }
        }
    }

    /// Axes with a negative α/β at one or two sides.
    fn negative(n: usize) -> Vec<AxisOperator> {
        let all =
            [(-1.0, BoundaryKind::Dirichlet), (-3.0, KINDS[2]), (-0.2, BoundaryKind::Robin { alpha: -2.0, beta: 1.0 })];
        let axis = |grid, (alpha, other): (f64, BoundaryKind)| {
            let sides = [BoundaryKind::Robin { alpha, beta: 1.0 }, other].map(Boundary::from);
            AxisOperator::new(0, n, &AxisSpec { grid, sides, spacing: 0.25, coordinates: Vec::new() }).unwrap()
        };
        [Grid::Node, Grid::Cell].into_iter().flat_map(|grid| all.map(|sides| axis(grid, sides))).collect()
    }

    #[test]
    fn bisection_gives_the_smallest_eigenvalue() {
        for n in [1, 2, 3, 9, 40] {
            for axis in negative(n) {
                let (values, least) = (known(&axis), bisected(&axis));
                let close = 1e-14 * n as f64 * values[n - 1].abs().max(1.0);
                assert!((values[0] - least).abs() <= close, "{axis:?}: {least:e} {values:?}");
            }
        }
    }

    /// Compares `rcond` with all sums of eigenvalues, as above, with negative eigenvalues of the axes.
    #[test]
    fn rcond_with_negative_coefficients() {
        for one in negative(9) {
            for two in axes(6, false).into_iter().chain(negative(5)) {
                let (a, b) = (known(&one), known(&two));
                for shift in [1.1, 0.0, -0.31, -(a[0] + b[0]), -(a[2] + b[3])] {
                    let problem = SeparableProblem { axes: [one.clone(), AxisOperator::trivial(), two.clone()], shift };
                    let sums = a.iter().flat_map(|a| b.iter().map(move |b| (a + b + shift).abs()));
                    let least = sums.fold(f64::INFINITY, f64::min);
                    let size = AxisRange::of(&one).unwrap().size + AxisRange::of(&two).unwrap().size + shift.abs();
                    let (estimate, expected) = (rcond(&problem).unwrap(), least / size);
                    let close = 8.0 * f64::EPSILON;
                    let fits = estimate <= 7.4 * expected + close && expected <= 10.0 * estimate + close;
                    assert!(fits, "{one:?} {two:?} {shift}: {estimate:e} {expected:e}");
                }
            }
        }
    }
}
