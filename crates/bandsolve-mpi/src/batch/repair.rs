//! Fallback to the pivoted solver for single systems, each on the rank that solves its interface system.

use super::interface::by_parts;
use super::measure::BatchAnswer;
use super::rows::BatchRows;
use crate::agreement::{RankError, agree};
use crate::condition;
use crate::ranges::RankRanges;
use crate::ranks::room;
use bandsolve::memory::{collected, reserved};
use bandsolve::{Error, Factor, Inspect, Method, Norm, Plan, RealScalar, Scalar, Tridiagonal, tolerable};
use core::ops::Range;

/// A system whose error is too large, with a column.
type Missed = [usize; 2];

/// The data that ranks exchange about the systems that each rank solves.
#[derive(Debug)]
struct Parcels {
    /// In ascending order, so that the systems of a rank are consecutive.
    missed: Vec<Missed>,
    /// The systems that each rank solves.
    systems: RankRanges,
    /// The rows of each rank.
    rows: RankRanges,
}

impl Parcels {
    fn new(rows: &RankRanges, count: usize, missed: &[usize]) -> bandsolve::Result<Self> {
        let mut missed = collected(missed.iter().map(|at| [at % count, at / count]))?;
        missed.sort_unstable();
        Ok(Self { missed, systems: RankRanges::even(count, rows.ranks()), rows: rows.clone() })
    }

    /// Get the positions in `missed` of the systems of a rank.
    fn places(&self, rank: usize) -> Range<usize> {
        let Range { start, end } = self.systems.range(rank);
        let at = |first: usize| self.missed.partition_point(|[system, _]| *system < first);
        at(start)..at(end)
    }

    /// List the systems that a rank solves, each with its columns.
    fn of(&self, rank: usize) -> impl Iterator<Item = &[Missed]> {
        each_system(&self.missed[self.places(rank)])
    }

    /// Get how many numbers a row has: of the matrices, if `with_matrix` is set, and of the columns.
    fn per_row(&self, part: usize, with_matrix: bool) -> usize {
        let matrix = if with_matrix { 3 } else { 0 };
        self.of(part).map(|columns| columns.len() + matrix).sum()
    }

    /// Get the lengths of the messages to each rank and from each rank, and the maximum length over all pairs of ranks.
    fn lens(&self, me: usize, with_matrix: bool) -> ([Vec<usize>; 2], usize) {
        let ranks = 0..self.rows.ranks();
        let rows_of = |rank: usize| self.rows.range(rank).len();
        let to = ranks.clone().map(|part| rows_of(me) * self.per_row(part, with_matrix)).collect();
        let from = ranks.clone().map(|rank| rows_of(rank) * self.per_row(me, with_matrix)).collect();
        let most = |of: &dyn Fn(usize) -> usize| ranks.clone().map(of).max().unwrap_or(0);
        ([to, from], most(&rows_of) * most(&|part| self.per_row(part, with_matrix)))
    }
}

/// Group the columns by systems.
fn each_system(missed: &[Missed]) -> impl Iterator<Item = &[Missed]> {
    missed.chunk_by(|[one, _], [other, _]| one == other)
}

/// Solve the systems and columns `missed` = column·count + system on their ranks; write x and the errors. Collective.
///
/// # Errors
/// `Singular` with row s·n + i, `NotConverged`, `OutOfMemory`.
pub(super) fn solve_alone<T: Scalar>(
    (rows, transposed): (&BatchRows<T>, bool),
    answer: &mut BatchAnswer<'_, T>,
    (missed, refinement_steps): (&[usize], usize),
    errors: &mut [f64],
) -> Result<(), RankError> {
    let (ranks, count, local_rows) = (&rows.ranks, rows.count, rows.local_rows());
    let (me, parcels) = (ranks.rank(), agree(ranks, Parcels::new(&rows.ranges, count, missed))?);
    let ([to, from], most) = parcels.lens(me, true);
    let ([back_to, back_from], back_most) = parcels.lens(me, false);
    let sum = |lens: &[usize]| lens.iter().sum::<usize>();
    let memory = || {
        let there = (reserved(sum(&to))?, room(sum(&from))?);
        Ok((there, (reserved(sum(&back_from))?, room(sum(&back_to))?), room(missed.len())?))
    };
    let ((mut sent, mut came), (mut sent_back, mut came_back), mut solved_errors) = agree(ranks, memory())?;
    for columns in each_system(&parcels.missed) {
        let [system, _] = columns[0];
        rows.arrays.iter().for_each(|array| sent.extend((0..local_rows).map(|i| array[i * count + system])));
        for [_, k] in columns {
            sent.extend((0..local_rows).map(|i| answer.d[(k * local_rows + i) * count + system]));
        }
    }
    ranks.all_to_all_into(&sent, [&to, &from], most, &mut came);
    let solved = agree(ranks, solve_part(&parcels, me, &came, (rows.periodic(), transposed)))?;
    for range in (0..ranks.size()).map(|rank| rows.ranges.range(rank)) {
        solved.iter().for_each(|(x, _)| sent_back.extend_from_slice(&x[range.clone()]));
    }
    ranks.all_to_all_into(&sent_back, [&back_from, &back_to], back_most, &mut came_back);
    let mut rest = came_back.chunks_exact(local_rows.max(1));
    for [system, k] in parcels.missed.iter().filter(|_| local_rows > 0) {
        let x = rest.next().expect("x of every system");
        x.iter().enumerate().for_each(|(i, x)| answer.x[(k * local_rows + i) * count + system] = *x);
    }
    // The errors are in the order of the parts. Each rank has its own errors.
    solved_errors[parcels.places(me)]
        .iter_mut()
        .zip(&solved)
        .for_each(|(solved_errors, (_, error))| *solved_errors = *error);
    ranks.max(&mut solved_errors);
    parcels.missed.iter().zip(&solved_errors).for_each(|([system, k], error)| errors[k * count + system] = *error);
    let worst = solved_errors.iter().copied().fold(0.0, f64::max_nan);
    let settled = if worst <= tolerable::<T>() {
        Ok(())
    } else {
        Err(Error::NotConverged { backward_error: worst, refinement_steps })
    };
    agree(ranks, settled)
}

/// Estimate the minimum reciprocal condition number of the systems by the pivoted method, each on one rank. Collective.
///
/// With row sums of approximately 1, the condition number ‖A‖∞·‖A⁻¹‖∞ differs from the row-wise one by a factor of at most 2.
///
/// # Errors
/// `OutOfMemory`.
pub(super) fn rcond_alone<T: Scalar>(rows: &BatchRows<T>) -> Result<f64, RankError> {
    let (ranks, count, me) = (&rows.ranks, rows.count, rows.ranks.rank());
    let parts = RankRanges::even(count, ranks.size());
    let (local_rows, part, n) = (rows.local_rows(), parts.range(me).len(), rows.ranges.rows());
    let lens = |of: &dyn Fn(usize) -> usize| (0..ranks.size()).map(of).collect::<Vec<usize>>();
    let (to, from) = (lens(&|k| local_rows * parts.range(k).len()), lens(&|k| rows.ranges.range(k).len() * part));
    let longest = |ranges: &RankRanges| (0..ranks.size()).map(|k| ranges.range(k).len()).max().unwrap_or(0);
    let most = longest(&rows.ranges) * longest(&parts);
    let memory = || {
        Ok((
            rows.sums()?,
            reserved(local_rows * count)?,
            reserved(local_rows * count)?,
            [room(n * part)?, room(n * part)?, room(n * part)?],
        ))
    };
    let (sums, mut scaled, mut sent, mut came) = agree(ranks, memory())?;
    for (array, came) in rows.arrays.iter().zip(&mut came) {
        scaled.clear();
        scaled.extend(array.iter().zip(&sums).map(|(entry, sum)| condition::equilibrated(*entry, *sum)));
        by_parts(scaled.chunks_exact(count.max(1)), &parts, &mut sent);
        ranks.all_to_all_into(&sent, [&to, &from], most, came);
    }
    let least = || {
        let mut least = 1.0_f64;
        for system in 0..part {
            let array = |k: usize| collected((0..n).map(|i| came[k][i * part + system]));
            let arrays = [array(0)?, array(1)?, array(2)?];
            let a = matrix_of(&arrays, rows.periodic())?;
            let factors = Plan::new(a.shape()).method(Method::Pivoted).factor(&a);
            let rcond = condition::pivoted(factors.and_then(|factors| factors.rcond(Norm::Infinity)))?;
            least = if rcond < least || rcond.is_nan() { rcond } else { least };
        }
        Ok(least)
    };
    // The maximum of the negative numbers gives the minimum. It is NaN if one of them is NaN.
    let mut least = [-agree(ranks, least())?];
    ranks.max(&mut least);
    Ok(-least[0])
}

/// Create a whole system.
fn matrix_of<T: Scalar>([sub, diag, sup]: &[Vec<T>; 3], periodic: bool) -> bandsolve::Result<Tridiagonal<'_, T>> {
    if periodic { Tridiagonal::periodic(sub, diag, sup) } else { Tridiagonal::new(sub, diag, sup) }
}

/// Compute x and η of every system and column that this rank solves.
fn solve_part<T: Scalar>(
    parcels: &Parcels,
    me: usize,
    came: &[T],
    (periodic, transposed): (bool, bool),
) -> bandsolve::Result<Vec<(Vec<T>, f64)>> {
    let (n, per_row) = (parcels.rows.rows(), parcels.per_row(me, true));
    // Collect column `k`. The received rows are ordered by ranks.
    let whole = |k: usize| -> bandsolve::Result<Vec<T>> {
        let mut values = reserved(n)?;
        for rows in (0..parcels.rows.ranks()).map(|rank| parcels.rows.range(rank)) {
            values.extend_from_slice(&came[rows.start * per_row + k * rows.len()..][..rows.len()]);
        }
        Ok(values)
    };
    let (mut solved, mut first) = (reserved(parcels.per_row(me, false))?, 0);
    for columns in parcels.of(me) {
        let [system, _] = columns[0];
        let named = |error: Error| match error {
            Error::Singular { row } => Error::Singular { row: system * n + row },
            other => other,
        };
        let arrays = [whole(first)?, whole(first + 1)?, whole(first + 2)?];
        let a = matrix_of(&arrays, periodic)?;
        let factors = Plan::new(a.shape()).method(Method::Pivoted).factor(&a)?;
        for k in 0..columns.len() {
            let mut x = whole(first + 3 + k)?;
            let done =
                if transposed { factors.solve_transpose_in_place(&mut x) } else { factors.solve_in_place(&mut x) };
            solved.push((x, done.map_err(named)?.backward_error));
        }
        first += 3 + columns.len();
    }
    Ok(solved)
}
