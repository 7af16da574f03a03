//! Tridiagonal systems that are larger than memory.
//!
//! The arrays of such a system are in files, or wherever the caller can read rows from. [`OutOfCoreSolver`] says which rows it needs next, and the
//! caller passes them. The solver needs the whole system twice, and computes x once:
//!
//! 1. *Reduce*: the rows are divided into partitions of 4096. Each partition becomes two equations between its first and its last unknown, the last
//!    unknown of the partition before it and the first unknown of the partition after it.
//! 2. *Solve the coarse system*: these equations are a banded system with n/2048 unknowns. It is in memory.
//! 3. *Substitute*: compute the other unknowns of each partition, and measure the backward error.
//!
//! If the backward error is too large, the solver repeats the three steps for the residual, at most three times, and corrects x.
//!
//! # Cost
//!
//! | what | words per unknown |
//! | --- | --- |
//! | read by the caller | 8, in two passes |
//! | written by the caller | 1 |
//! | memory | 1/150, and the rows of a piece |
//!
//! The result is the same, bit for bit, for any size of the pieces and any number of threads.
//!
//! # Source
//!
//! Reduction to the first and last unknowns of partitions: C. Klein, R. Strzodka, ICPP 2021 (RPTS). `docs/math/out-of-core.md` has the equations.

mod partition;
mod state;

pub use partition::PieceRows;

use crate::contract::refine::{StoppingRule, tolerable};
use crate::contract::verify::{attention, check_finite};
use crate::contract::{Factor, Report};
use crate::error::{Error, Result, check_len};
use crate::interrupt;
use crate::matrix::Banded;
use crate::memory::{allocate, zeroed};
use crate::method::Method;
use crate::plan::Plan;
use crate::tuning::{OUT_OF_CORE_PARTITION_ROWS, tasks};
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::spread::{RowsOf, spread};
use bandsolve_kernel::{RealScalar, Scalar, by_type, threads};
use core::ops::Range;
use partition::{CoarseRow, EliminationKind, StagedPartition, StagedRows};
use std::sync::Arc;

/// The rows that [`OutOfCoreSolver::advance`] needs next.
///
/// # Examples
/// ```
/// use bandsolve::out_of_core::OutOfCoreSolver;
/// let piece = OutOfCoreSolver::<f64>::new(100_000, 16_384)?.next_piece().expect("a piece");
/// assert_eq!((piece.rows, piece.following), (0..16_384, 16_384..32_768));
/// assert_eq!((piece.reads_x, piece.writes_x), (false, false));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfCorePiece {
    /// The rows, counted from 0.
    pub rows: Range<usize>,
    /// The rows of the piece after it, which can be read ahead. Empty if this is the last piece of a pass.
    pub following: Range<usize>,
    /// Whether the call needs x of these rows, as an earlier call computed it.
    pub reads_x: bool,
    /// Whether the call computes x of these rows.
    pub writes_x: bool,
    /// Number of rows that were passed before this piece, in all passes.
    pub done: usize,
    /// Number of rows of all passes that are known to be necessary.
    pub total: usize,
}

/// A solver of A·x = d for a tridiagonal A that is larger than memory.
///
/// # Examples
/// The loop of the caller, here with arrays in memory instead of files:
/// ```
/// use bandsolve::out_of_core::{OutOfCoreSolver, PieceRows};
/// let n = 100_000;
/// let (sub, diag, sup, rhs) = (vec![-1.0; n], vec![4.0; n], vec![-1.0; n], vec![2.0; n]);
/// let mut x = vec![0.0_f64; n];
/// let mut solver = OutOfCoreSolver::new(n, 20_000)?;
/// while let Some(piece) = solver.next_piece() {
///     let rows = piece.rows;
///     let [sub, diag, sup, rhs] = [&sub, &diag, &sup, &rhs].map(|array| &array[rows.clone()]);
///     solver.advance(PieceRows { sub, diag, sup, rhs }, &mut x[rows])?;
/// }
/// let report = solver.report()?;
/// assert!(report.backward_error < 1e-15);
/// assert!((x[n / 2] - 1.0).abs() < 1e-15);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Interrupted solves
/// [`write_state`](Self::write_state) saves the solver between two pieces, and [`read_state`](Self::read_state) continues from there in another
/// process. Store x before you store the state.
#[derive(Debug)]
pub struct OutOfCoreSolver<T: Scalar> {
    partitions: RowPartitions,
    partitions_per_piece: usize,
    progress: Progress,
    /// Two rows for each partition.
    coarse: Vec<CoarseRow<T>>,
    rhs: Vec<T>,
    /// How each partition is eliminated.
    eliminations: Vec<EliminationKind>,
    /// x in the first and the last row of each partition, before the correction.
    ends: Vec<T>,
    /// The correction of `ends`.
    correction: Vec<T>,
    /// The largest of the corrected `ends`.
    largest_end: T::Real,
}

/// The rows of all partitions. The last partition also contains the remaining rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowPartitions {
    n: usize,
    count: usize,
}

impl RowPartitions {
    fn new(n: usize) -> Self {
        Self { n, count: (n / OUT_OF_CORE_PARTITION_ROWS).max(n.min(1)) }
    }

    /// The rows of some partitions.
    fn rows(self, of: Range<usize>) -> Range<usize> {
        let border = |k: usize| if k == self.count { self.n } else { k * OUT_OF_CORE_PARTITION_ROWS };
        border(of.start)..border(of.end)
    }
}

/// How far a solve is.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Progress {
    /// Number of refinement steps so far.
    steps: usize,
    /// Whether coarse unknowns are known, and the others are computed.
    substitutes: bool,
    /// The next partition.
    next: usize,
    finished: bool,
    /// What was measured of x in this step so far.
    measured: MeasuredPass,
    /// The backward error of the step before.
    error_before: f64,
}

/// What is measured of x.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MeasuredPass {
    /// The largest backward error of a row.
    error: f64,
    /// The largest |xᵢ|, in a part of the complex numbers.
    largest: f64,
    /// The largest |dᵢ| / Σⱼ|aᵢⱼ|.
    ratio: f64,
}

impl MeasuredPass {
    const NOTHING: Self = Self { error: 0.0, largest: 0.0, ratio: 0.0 };

    fn and(self, other: Self) -> Self {
        Self {
            error: self.error.max_nan(other.error),
            largest: self.largest.max_nan(other.largest),
            ratio: self.ratio.max_nan(other.ratio),
        }
    }
}

/// The work on a piece.
struct PieceWork<'a, T: Scalar> {
    all: RowPartitions,
    next: &'a OutOfCorePiece,
    piece: PieceRows<'a, T>,
    ends: &'a [T],
    correction: &'a [T],
    largest_end: T::Real,
}

impl<T: Scalar> PieceWork<'_, T> {
    /// Compute the coarse equations of partition k or its x.
    fn partition(
        &self,
        k: usize,
        scratch: &mut [T],
        (coarse, rhs, elimination): (&mut [CoarseRow<T>; 2], &mut [T; 2], &mut EliminationKind),
        x: &mut [T],
    ) -> Result<MeasuredPass> {
        let (rows, first) = (self.all.rows(k..k + 1), self.next.rows.start);
        let part = StagedRows {
            system: self.piece.part(rows.start - first..rows.end - first),
            x: self.next.reads_x.then_some(&*x),
            neighbours: neighbours(self.ends, k),
            at_end: [k == 0, k + 1 == self.all.count],
        };
        let mut partition = StagedPartition::stage(scratch, part)?;
        let singular = |i| Error::Singular { row: rows.start + i };
        if !self.next.writes_x {
            let equations = partition.reduce().map_err(singular)?;
            (*coarse, *rhs, *elimination) = (equations.rows, equations.rhs, equations.elimination);
            return Ok(MeasuredPass::NOTHING);
        }
        let [before, after] = neighbours(self.correction, k);
        let known = [before, self.correction[2 * k], self.correction[2 * k + 1], after];
        x.copy_from_slice(&partition.substitute(*elimination, known).map_err(singular)?[..rows.len()]);
        let largest = x.iter().fold(self.largest_end, |most, v| most.max_nan(peak(*v))).to_f64();
        Ok(MeasuredPass { error: partition.error(largest)?, largest, ratio: partition.largest_ratio() })
    }
}

impl<T: Scalar> OutOfCoreSolver<T> {
    /// Create a solver for n unknowns.
    ///
    /// A piece has `piece_rows` rows, rounded down to a multiple of 4096, but at least 4096. The last piece can have up to 4095 rows more. If n is smaller, all
    /// rows are one piece.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(n: usize, piece_rows: usize) -> Result<Self> {
        let partitions = RowPartitions::new(n);
        let progress = Progress {
            steps: 0,
            substitutes: false,
            next: 0,
            finished: n == 0,
            measured: MeasuredPass::NOTHING,
            error_before: f64::INFINITY,
        };
        let rows = 2 * partitions.count;
        Ok(Self {
            partitions,
            partitions_per_piece: (piece_rows / OUT_OF_CORE_PARTITION_ROWS).max(1),
            progress,
            coarse: allocate(rows, [T::ZERO; 4])?,
            rhs: zeroed(rows)?,
            eliminations: allocate(partitions.count, EliminationKind::Exchanges)?,
            ends: zeroed(rows)?,
            correction: zeroed(rows)?,
            largest_end: T::Real::ZERO,
        })
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.partitions.n
    }

    /// The partitions of the piece that begins with partition `first`.
    fn piece_partitions(&self, first: usize) -> Range<usize> {
        first..first.saturating_add(self.partitions_per_piece).min(self.partitions.count)
    }

    /// The rows that the next call of [`advance`](Self::advance) needs, or `None` at the end.
    pub fn next_piece(&self) -> Option<OutOfCorePiece> {
        let Progress { steps, substitutes, finished, next, .. } = self.progress;
        let partitions = self.piece_partitions(next);
        let [rows, following] =
            [partitions.clone(), self.piece_partitions(partitions.end)].map(|of| self.partitions.rows(of));
        let passes = 2 * steps + usize::from(substitutes);
        let done = passes.saturating_mul(self.n()).saturating_add(rows.start);
        let total = (2 * steps + 2).saturating_mul(self.n());
        (!finished).then_some(OutOfCorePiece {
            rows,
            following,
            reads_x: steps > 0,
            writes_x: substitutes,
            done,
            total,
        })
    }

    /// Work on the rows of [`next_piece`](Self::next_piece). At the end of the solve, the call does nothing.
    ///
    /// # Shapes
    /// All arrays have the number of rows of the piece.
    ///
    /// # Cost
    /// All threads work on the piece. The last piece of a pass that reduces also solves the coarse system.
    ///
    /// # Errors
    /// - `Shape`; `NotFinite` with the row as the index; `OutOfMemory`; `Interrupted`. The same rows can be passed again. If the piece reads x, pass the
    ///   earlier x again, too, because the call may have changed it.
    /// - `Singular` with a row where elimination found only zeros.
    /// - `NotConverged` if numbers overflow.
    pub fn advance(&mut self, piece: PieceRows<'_, T>, x: &mut [T]) -> Result<()> {
        T::by_type::<AdvanceSolver<'_>>((self, piece, x))
    }

    /// [`advance`](Self::advance), compiled once for each number type.
    fn advance_here(&mut self, piece: PieceRows<'_, T>, x: &mut [T]) -> Result<()> {
        let Some(next) = self.next_piece() else { return Ok(()) };
        interrupt::check()?;
        check(&next, self.n(), piece, x)?;
        let measured = self.progress.measured.and(self.work(&next, piece, x)?);
        let (before, end) = (self.progress, self.piece_partitions(self.progress.next).end);
        self.progress = match end == self.partitions.count {
            false => Progress { next: end, measured, ..before },
            true if next.writes_x => self.after_step(measured),
            true => {
                self.solve_coarse()?;
                Progress { substitutes: true, next: 0, measured: MeasuredPass::NOTHING, ..before }
            }
        };
        Ok(())
    }

    /// Reduce or substitute in the partitions of a piece.
    fn work(&mut self, next: &OutOfCorePiece, piece: PieceRows<'_, T>, x: &mut [T]) -> Result<MeasuredPass> {
        let (partitions, all) = (self.piece_partitions(self.progress.next), self.partitions);
        let mut outcomes = allocate(partitions.len(), Ok(MeasuredPass::NOTHING))?;
        let coarse_rows = 2 * partitions.start..2 * partitions.end;
        let (ends, correction) = (&self.ends[..], &self.correction[..]);
        let work = PieceWork { all, next, piece, ends, correction, largest_end: self.largest_end };
        let out = (
            (RowsOf(&mut self.coarse[coarse_rows.clone()], 2), RowsOf(&mut self.rhs[coarse_rows], 2)),
            (
                RowsOf(&mut self.eliminations[partitions.clone()], 1),
                (RowsOf(x, OUT_OF_CORE_PARTITION_ROWS), RowsOf(&mut outcomes, 1)),
            ),
        );
        let tasks = tasks(threads::count(), next.rows.len());
        spread(tasks, partitions, out, &|of, ((coarse, rhs), (eliminations, (mut x, outcomes)))| {
            let longest = all.rows(of.clone()).len().min(2 * OUT_OF_CORE_PARTITION_ROWS);
            let mut scratch = zeroed(StagedPartition::<T>::words(longest));
            let coarse = coarse.0.as_chunks_mut().0.iter_mut().zip(rhs.0.as_chunks_mut().0);
            for (((k, (coarse, rhs)), elimination), outcome) in of.zip(coarse).zip(eliminations.0).zip(outcomes.0) {
                let (x_of, rest) = core::mem::take(&mut x.0).split_at_mut(all.rows(k..k + 1).len());
                x.0 = rest;
                let scratch = scratch.as_mut().map_err(|error| error.clone());
                *outcome = scratch.and_then(|scratch| work.partition(k, scratch, (coarse, rhs, elimination), x_of));
            }
        });
        outcomes.into_iter().try_fold(MeasuredPass::NOTHING, |all, measured| Ok(all.and(measured?)))
    }

    /// Compute the correction of the coarse unknowns.
    fn solve_coarse(&mut self) -> Result<()> {
        // Row 2k contains unknowns 2k − 1 to 2k + 2, and so does row 2k + 1.
        let (n, diagonals) = (self.coarse.len(), 5);
        let mut bands = zeroed(n * diagonals)?;
        for (i, row) in self.coarse.iter().enumerate() {
            for (j, v) in (i / 2 * 2..).zip(row).filter(|(j, _)| (1..=n).contains(j)).map(|(j, v)| (j - 1, v)) {
                bands[j * diagonals + 2 + i - j] = *v;
            }
        }
        let coarse = Banded::from_vec(n, 2, 2, bands)?;
        let plan = Plan::once(coarse.shape());
        let solved = plan.factor_owned(coarse).and_then(|factor| factor.solve_into(&self.rhs, &mut self.correction));
        match solved {
            // The backward error of the whole x decides.
            Ok(_) | Err(Error::NotConverged { .. }) => {}
            Err(Error::Singular { row }) => {
                let rows = self.partitions.rows(row / 2..row / 2 + 1);
                return Err(Error::Singular { row: if row % 2 == 0 { rows.start } else { rows.end - 1 } });
            }
            // Coarse equations overflowed.
            Err(Error::NotFinite { .. }) => {
                let refinement_steps = self.progress.steps;
                return Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps });
            }
            Err(other) => return Err(other),
        }
        self.measure_ends();
        Ok(())
    }

    /// Compute `largest_end`.
    fn measure_ends(&mut self) {
        let corrected = self.ends.iter().zip(&self.correction).map(|(end, correction)| peak(*end + *correction));
        self.largest_end = corrected.fold(T::Real::ZERO, RealScalar::max_nan);
    }

    /// The progress after x of all rows is computed.
    fn after_step(&mut self, measured: MeasuredPass) -> Progress {
        let (before, rule, error) = (self.progress, StoppingRule::contract::<T>(), measured.error);
        self.ends.iter_mut().zip(&self.correction).for_each(|(end, correction)| *end += *correction);
        // A step that did not reduce the error cannot be undone, because the previous x is not stored.
        let no_gain = error >= before.error_before && error <= tolerable::<T>();
        let finished = error <= rule.goal || !error.is_finite() || no_gain || before.steps >= rule.max_steps;
        let next = Progress { substitutes: false, next: 0, finished, measured, ..before };
        if finished {
            next
        } else {
            Progress { steps: before.steps + 1, error_before: error, measured: MeasuredPass::NOTHING, ..next }
        }
    }

    /// The report after the last piece.
    ///
    /// `backward_error` is an upper bound: it contains the largest of the unknowns of a partition and of the coarse unknowns instead of ‖x‖∞.
    ///
    /// # Errors
    /// `NotConverged` if the backward error is too large. x is then what the last step computed. Before the last piece, the backward error is NaN.
    pub fn report(&self) -> Result<Report> {
        let Progress { steps, finished, measured: MeasuredPass { error, largest, ratio }, .. } = self.progress;
        if !finished || !(error <= tolerable::<T>()) {
            let backward_error = if finished { error } else { f64::NAN };
            return Err(Error::NotConverged { backward_error, refinement_steps: steps });
        }
        let report = Report::external(Method::Rpts, "partitions of 4096 rows, read in pieces", Some(&[error]));
        // An upper bound of the reciprocal condition number, see `rcond_from_size`. Parts of complex numbers are at least 1/√2 of their modulus.
        let slack = if T::COMPLEX { 2.0 } else { 1.0 };
        let rcond = (largest > 0.0 && ratio > 0.0).then_some(slack * ratio / largest);
        let attention = attention(T::Real::EPSILON.to_f64(), rcond, error, None).map(Arc::from);
        Ok(Report { refinement_steps: steps, attention, ..report })
    }
}

by_type! {
    /// The work on a piece for each number type, so that no other place compiles it.
    struct AdvanceSolver<'s>: (&'s mut OutOfCoreSolver<T>, PieceRows<'s, T>, &'s mut [T]) => Result<()> =
        |(solver, piece, x)| solver.advance_here(piece, x);
}

/// `Err` if an array has the wrong length or an entry that is not finite.
fn check<T: Scalar>(next: &OutOfCorePiece, n: usize, piece: PieceRows<'_, T>, x: &[T]) -> Result<()> {
    let (Range { start, end }, len) = (next.rows.clone(), next.rows.len());
    for (name, array) in [("sub", piece.sub), ("diag", piece.diag), ("sup", piece.sup), ("rhs", piece.rhs), ("x", x)] {
        check_len(name, len, array.len())?;
    }
    // The first entry of `sub` and the last one of `sup` are outside of the matrix.
    let (first, last) = (usize::from(start == 0), usize::from(end == n));
    check_finite("sub", &piece.sub[first..], start + first)?;
    check_finite("diag", piece.diag, start)?;
    check_finite("sup", &piece.sup[..len - last], start)?;
    check_finite("rhs", piece.rhs, start)?;
    if next.reads_x { check_finite("x", x, start) } else { Ok(()) }
}

/// The last coarse unknown of the partition before partition k, and the first one of the partition after it.
fn neighbours<T: Scalar>(coarse: &[T], k: usize) -> [T; 2] {
    let get = |place: Option<usize>| place.and_then(|place| coarse.get(place).copied()).unwrap_or(T::ZERO);
    [get((2 * k).checked_sub(1)), get(Some(2 * k + 2))]
}
