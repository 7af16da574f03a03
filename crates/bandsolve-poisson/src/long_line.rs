//! The solver of one long tridiagonal system, for one axis with constant spacing.
//!
//! Single unknowns divide the line into partitions, so threads can work on the partitions at the same time. With b, a, g ≥ 0, row i is
//!
//! ```text
//! bᵢ (uᵢ − uᵢ₋₁) + aᵢ (uᵢ − uᵢ₊₁) + gᵢ uᵢ = fᵢ
//! ```
//!
//! In a partition between the unknowns u_L and u_R,
//!
//! ```text
//! Qᵢ = gᵢ + bᵢ Qᵢ₋₁/(Qᵢ₋₁ + aᵢ₋₁)    Q₀ = g₀ + b₀
//! hᵢ = (fᵢ + bᵢ hᵢ₋₁)/(Qᵢ + aᵢ)        h₋₁ = u_L
//! uᵢ = hᵢ + aᵢ/(Qᵢ + aᵢ) uᵢ₊₁          uₘ = u_R
//! ```
//!
//! α and β are the first and the last row of the inverse of a partition. The unknowns between partitions have a system of the same form:
//!
//! - the couplings b·φ and a·ψ with φ = β₀ b₀ and ψ = αₘ₋₁ aₘ₋₁,
//! - the gap g + b·χ + a·χ′ with χ = Σ βᵢ gᵢ and χ′ = Σ αᵢ gᵢ,
//! - the right-hand side f + b·βᵀf + a·αᵀf.
//!
//! In each row of the inverse, the weights of u_L, u_R and the gaps have the sum 1. The formulas contain no subtraction, so there is no cancellation.
//!
//! # Source
//! - Partitions: H. H. Wang, ACM Trans. Math. Softw. 7 (1981), 170–183.
//! - Elimination: W. K. Grassmann, M. I. Taksar, D. P. Heyman, Oper. Res. 33 (1985), 1107–1116.

use crate::method::{SeparableSolver, SolveRequest};
use crate::scalar::{PoissonScalar, real};
use crate::separable::SeparableProblem;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::{collected, push, reserved};
use bandsolve::{Result, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::vectors::dot;
use bandsolve_kernel::{Job, Lanes, dispatch};

/// Number of rows of a partition and the unknown after it.
const LENGTH: usize = 256;
/// Number of partitions that are solved at the same time, row by row. Their independent operations hide the latency of the recurrence.
const TURNS: usize = 4;
/// Minimum number of unknowns for this solver.
const LEAST: usize = 4 * LENGTH;
/// Minimum number of unknowns for several threads.
const SHARED: usize = 1 << 14;

/// b, a and g of a row.
pub(crate) type LineRow = [f64; 3];

/// Factors of the rows of a partition.
struct LineTable<T> {
    /// 1/(Q + a), b/(Q + a) and a/(Q + a) of each row.
    steps: [Vec<T>; 3],
    /// α and β.
    weights: [Vec<T>; 2],
    /// β₀ b₀, αₘ₋₁ aₘ₋₁, Σ αᵢ gᵢ and Σ βᵢ gᵢ.
    influence: [f64; 4],
}

/// Factors of a line that is not periodic.
pub(crate) struct LongLine<T> {
    n: usize,
    /// Tables of different partitions.
    tables: Vec<LineTable<T>>,
    /// The index of the table of each partition.
    kinds: Vec<usize>,
    /// b and a of the unknowns between partitions.
    couplings: Vec<[T; 2]>,
    /// The factors of the system of these unknowns.
    coarse: [Vec<T>; 3],
    threads: usize,
    simd: Simd,
}

impl<T: PoissonScalar> LongLine<T> {
    /// Whether this solver can solve the problem: one long axis with constant spacing, not periodic, and a definite matrix.
    ///
    /// With variable spacing, partitions could not share their factors.
    pub fn takes(problem: &SeparableProblem) -> bool {
        let [first, middle, last] = &problem.axes;
        let line = first.len() >= LEAST && middle.len() * last.len() == 1 && !first.periodic && first.is_even();
        line && !problem.is_cancelling() && !problem.is_singular()
    }

    pub fn new(problem: &SeparableProblem, threads: usize) -> Result<Self> {
        let axis = &problem.axes[0];
        let shift = problem.axes[1].gap[0] + problem.axes[2].gap[0] + problem.shift;
        let rows = collected((0..axis.len()).map(|i| [axis.lower[i], axis.upper[i], axis.gap[i] + shift]))?;
        let between = (rows.len() - 1) / LENGTH;
        let (mut tables, mut kinds): (Vec<LineTable<T>>, Vec<usize>) = (Vec::new(), reserved(between + 1)?);
        let mut before: &[LineRow] = &[];
        for p in 0..=between {
            let end = if p == between { rows.len() } else { (p + 1) * LENGTH - 1 };
            let part = &rows[p * LENGTH..end];
            if part != before {
                push(&mut tables, LineTable::new(part)?)?;
            }
            before = part;
            kinds.push(tables.len() - 1);
        }
        let coarse: Vec<LineRow> = collected((0..between).map(|s| {
            let [b, a, g] = rows[(s + 1) * LENGTH - 1];
            let [left, right] = [s, s + 1].map(|p| &tables[kinds[p]].influence);
            [b * left[0], a * right[1], g + b * left[3] + a * right[2]]
        }))?;
        let coarse = rounded(steps(&coarse)?)?;
        let ends = (0..between).map(|s| rows[(s + 1) * LENGTH - 1]);
        let couplings = collected(ends.map(|[b, a, _]| [real(b), real(a)]))?;
        Ok(Self { n: rows.len(), tables, kinds, couplings, coarse, threads, simd: Simd::detect() })
    }

    /// Length of the scratch memory in numbers: two sums per partition, and the unknowns between partitions.
    fn words(&self) -> usize {
        3 * self.kinds.len()
    }

    /// The number of chunks of partitions, and the minimum number of chunks per thread.
    fn chunks(&self) -> (usize, usize) {
        let chunks = self.kinds.len().div_ceil(TURNS);
        let shared = self.threads > 1 && self.n >= SHARED;
        (chunks, if shared { chunks.div_ceil(4 * self.threads).max(1) } else { 0 })
    }

    /// Copies f, with boundary terms, to x.
    fn load(&self, request: &SolveRequest<'_, T>, x: &mut [T]) {
        let Some(rhs) = request.rhs else { return };
        each_chunk(self.chunks(), RowsOf(&mut *x, TURNS * LENGTH), &|chunk, x| {
            let f = &rhs.f[chunk * TURNS * LENGTH..][..x.0.len()];
            x.0.iter_mut().zip(f).for_each(|(x, f)| *x = *f * rhs.scale);
        });
        for i in [0, self.n - 1] {
            rhs.copy_line((i, 0), &mut x[i..=i]);
        }
    }

    /// αᵀf and βᵀf of all partitions.
    fn reduce(&self, x: &[T], sums: &mut [T]) {
        each_chunk(self.chunks(), RowsOf(sums, 2 * TURNS), &|chunk, sums| {
            let first = chunk * TURNS;
            let kinds = &self.kinds[first..][..sums.0.len() / 2];
            dispatch(self.simd, WeightJob { tables: &self.tables, kinds, x: &x[first * LENGTH..], sums: sums.0 });
        });
    }

    /// Writes the unknowns between partitions to `between`.
    fn solve_coarse(&self, x: &[T], sums: &[T], between: &mut [T]) {
        for (s, (h, [b, a])) in between.iter_mut().zip(&self.couplings).enumerate() {
            *h = x[(s + 1) * LENGTH - 1] + *b * sums[2 * s + 1] + *a * sums[2 * s + 2];
        }
        substitute([&self.coarse], [between], [[T::ZERO; 2]]);
    }

    /// Computes all other unknowns.
    fn substitute(&self, x: &mut [T], between: &[T]) {
        let ends = |p: usize| {
            let left = if p > 0 { between[p - 1] } else { T::ZERO };
            [left, between.get(p).copied().unwrap_or(T::ZERO)]
        };
        let steps = |p: usize| &self.tables[self.kinds[p]].steps;
        each_chunk(self.chunks(), RowsOf(x, TURNS * LENGTH), &|chunk, x| {
            let first = chunk * TURNS;
            if first + TURNS < self.kinds.len() {
                let turns = [first, first + 1, first + 2, first + 3];
                let (ab, cd) = x.0.split_at_mut(2 * LENGTH);
                let ((a, b), (c, d)) = (ab.split_at_mut(LENGTH), cd.split_at_mut(LENGTH));
                for (p, part) in turns.into_iter().zip([&mut *a, &mut *b, &mut *c, &mut *d]) {
                    part[LENGTH - 1] = between[p];
                }
                let inner = [a, b, c, d].map(|part| &mut part[..LENGTH - 1]);
                return substitute(turns.map(steps), inner, turns.map(ends));
            }
            for (p, part) in (first..).zip(x.0.chunks_mut(LENGTH)) {
                let mut inner = part;
                if let Some(after) = between.get(p) {
                    let (last, rest) = inner.split_last_mut().expect("a row after the partition");
                    (*last, inner) = (*after, rest);
                }
                substitute([steps(p)], [inner], [ends(p)]);
            }
        });
    }
}

impl<T: PoissonScalar> SeparableSolver<T> for LongLine<T> {
    fn scratch(&self) -> StackReq {
        StackReq::new::<T>(self.words())
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        let (scratch, _) = stack.make_raw::<T>(self.words());
        let (sums, between) = scratch.split_at_mut(2 * self.kinds.len());
        let between = &mut between[..self.couplings.len()];
        self.load(request, x);
        self.reduce(x, sums);
        self.solve_coarse(x, sums, between);
        self.substitute(x, between);
        0.0
    }

    fn bytes(&self) -> usize {
        let of_table =
            |table: &LineTable<T>| table.steps.iter().chain(&table.weights).map(|x| size_of_val(&x[..])).sum::<usize>();
        self.tables.iter().map(of_table).sum()
    }

    fn subproblems(&self) -> usize {
        1
    }
}

impl<T: PoissonScalar> LineTable<T> {
    fn new(rows: &[LineRow]) -> Result<Self> {
        let forwards = steps(rows)?;
        let mirrored: Vec<LineRow> = collected(rows.iter().rev().map(|[b, a, g]| [*a, *b, *g]))?;
        let last = last_row(&forwards)?;
        let mut first = last_row(&steps(&mirrored)?)?;
        first.reverse();
        let ends = [rows[0], rows[rows.len() - 1]];
        let of_gaps = |weights: &[f64]| weights.iter().zip(rows).map(|(w, row)| w * row[2]).sum();
        let influence = [last[0] * ends[0][0], first[first.len() - 1] * ends[1][1], of_gaps(&first), of_gaps(&last)];
        Ok(Self { steps: rounded(forwards)?, weights: rounded([first, last])?, influence })
    }
}

/// The arrays, rounded to the number type of the solver.
fn rounded<T: PoissonScalar, const N: usize>(arrays: [Vec<f64>; N]) -> Result<[Vec<T>; N]> {
    let mut rounded = [const { Vec::new() }; N];
    for (place, array) in rounded.iter_mut().zip(arrays) {
        *place = collected(array.into_iter().map(real))?;
    }
    Ok(rounded)
}

/// 1/(Q + a), b/(Q + a) and a/(Q + a) of all rows.
pub(crate) fn steps(rows: &[LineRow]) -> Result<[Vec<f64>; 3]> {
    let mut columns = [reserved(rows.len())?, reserved(rows.len())?, reserved(rows.len())?];
    let mut before = None;
    for [b, a, g] in rows {
        let q = match before {
            None => g + b,
            Some((q, ahead)) => g + b / (1.0 + ahead / q),
        };
        before = Some((q, *a));
        for (column, x) in columns.iter_mut().zip([1.0, *b, *a]) {
            column.push(x / (q + a));
        }
    }
    Ok(columns)
}

/// The last row of the inverse of a partition, from its steps.
fn last_row([pivots, behind, _]: &[Vec<f64>; 3]) -> Result<Vec<f64>> {
    let mut product = 1.0;
    let mut row = reserved(pivots.len())?;
    for (pivot, behind) in pivots.iter().zip(behind).rev() {
        row.push(pivot * product);
        product *= behind;
    }
    row.reverse();
    Ok(row)
}

/// Replaces f by u in partitions of the same length, row by row in turn. `ends` are the unknowns before and after each partition.
#[inline(always)]
pub(crate) fn substitute<T: PoissonScalar, const N: usize>(
    steps: [&[Vec<T>; 3]; N],
    x: [&mut [T]; N],
    ends: [[T; 2]; N],
) {
    let m = x[0].len();
    let [pivots, behind, ahead] = [0, 1, 2].map(|column| steps.map(|steps| &steps[column][..m]));
    let [mut h, mut u] = [0, 1].map(|side| ends.map(|ends| ends[side]));
    for i in 0..m {
        for p in 0..N {
            h[p] = pivots[p][i] * x[p][i] + behind[p][i] * h[p];
            x[p][i] = h[p];
        }
    }
    for i in (0..m).rev() {
        for p in 0..N {
            u[p] = x[p][i] + ahead[p][i] * u[p];
            x[p][i] = u[p];
        }
    }
}

/// αᵀf and βᵀf of some partitions.
struct WeightJob<'a, 'b, T> {
    tables: &'a [LineTable<T>],
    kinds: &'a [usize],
    /// The right-hand side, from the first of these partitions on.
    x: &'a [T],
    sums: &'b mut [T],
}

impl<T: PoissonScalar> Job<T> for WeightJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        for ((kind, x), sums) in self.kinds.iter().zip(self.x.chunks(LENGTH)).zip(self.sums.chunks_exact_mut(2)) {
            let [first, last] = &self.tables[*kind].weights;
            (sums[0], sums[1]) = (dot::<V, T>(first, x), dot::<V, T>(last, x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundary, Poisson};

    /// A wave with noise, and a parabola, for which f is 1. The values have few bits, so f = A·u is exact.
    fn known(n: usize) -> [Vec<f64>; 2] {
        let noise = |i: usize| 0.1 * ((i * 7919 % 1013) as f64 / 1013.0 - 0.5);
        let scale = f64::from(1 << 30);
        let wave = |i: usize| (((3.0 * i as f64 / n as f64).sin() + noise(i)) * scale).round() / scale;
        [(0..n).map(wave).collect(), (0..n).map(|i| ((i + 1) * (n - i)) as f64 / 2.0).collect()]
    }

    /// Without subtractions, the error relative to |A⁻¹||f| is at most ε times the longest chain of operations.
    #[test]
    fn long_lines_are_accurate_and_do_not_depend_on_the_number_of_threads() {
        for n in [LEAST, LEAST + 1, LEAST + LENGTH - 1, 5 * LENGTH, 7 * LENGTH + 3, 100_003] {
            let bound = (4 * LENGTH + 4 * n / LENGTH) as f64 * f64::EPSILON * (n + 1).pow(2) as f64 / 8.0;
            for u in known(n) {
                let at = |i: Option<usize>| i.and_then(|i| u.get(i)).copied().unwrap_or(0.0);
                let f: Vec<f64> = (0..n).map(|i| 2.0 * u[i] - at(i.checked_sub(1)) - at(Some(i + 1))).collect();
                let solve = |threads| Poisson::new(&[n]).threads(threads).plan::<f64>().unwrap().solve(&f).unwrap();
                let one = solve(1);
                let largest = f.iter().fold(0.0f64, |a, b| a.max(b.abs()));
                let error = u.iter().zip(&one.values).fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()));
                assert!(error <= bound * largest, "{n}: {error:e}");
                assert!(one.report.backward_error <= 8.0 * f64::EPSILON && one.report.refinement_steps == 0, "{n}");
                for threads in [2, 3, 7] {
                    let other = solve(threads);
                    assert!(one.values.iter().zip(&other.values).all(|(a, b)| a.to_bits() == b.to_bits()));
                    assert_eq!(one.report, other.report);
                }
            }
        }
    }

    /// −u″ + u = 1 with u = 0 at the left and u′ = 0 at the right, with variable spacing.
    #[test]
    fn variable_spacing_and_mixed_sides() {
        let n = 3000;
        let points: Vec<f64> = (0..=n).map(|i| (i as f64 / n as f64).powf(1.25)).collect();
        let problem = Poisson::new(&[n]).coordinates(0, &points).shift(1.0);
        let problem = problem.axis_boundary(0, Boundary::dirichlet(0.0), Boundary::neumann(0.0));
        let u = problem.plan::<f64>().unwrap().solve(&vec![1.0; n]).unwrap();
        assert!(u.report.backward_error <= 8.0 * f64::EPSILON);
        for (x, u) in points[1..].iter().zip(&u.values) {
            let exact = 1.0 - (1.0 - x).cosh() / 1.0f64.cosh();
            assert!((u - exact).abs() < 1e-6, "{x}: {u} {exact}");
        }
        let single = problem.plan::<f32>().unwrap().solve(&vec![1.0; n]).unwrap();
        assert!(single.values.iter().zip(&u.values).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-3));
    }
}
