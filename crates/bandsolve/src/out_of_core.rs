//! Tridiagonal systems that are larger than memory.
//!
//! The arrays of such a system are in files, or wherever the caller can read rows from. [`OutOfCoreSolver`] says which rows it needs next, and the
//! caller passes them. The solver reads the system twice, and x is written once:
//!
//! ```text
//! 1. reduce       each 4096 rows become two equations between their first and last unknowns and those beside them
//! 2. coarse       these equations are a banded system with n/2048 unknowns, which is in memory
//! 3. substitute   the other unknowns of each 4096 rows
//! ```
//!
//! Elimination exchanges rows, and fails only for a singular matrix. The backward error of x is measured in step 3. If it is too large, the three
//! steps are repeated for the residual, which reads the system twice more.
//!
//! # Cost
//!
//! | what | per row |
//! | --- | --- |
//! | read | 8 words in two passes |
//! | written | 1 word |
//! | memory | 1/150 of a word, and the rows of a piece |
//!
//! The arithmetic takes less time than the disk. The result is the same, bit for bit, for any size of the pieces and any number of threads.
//!
//! # Source
//!
//! Reduction to the first and last unknowns of partitions: C. Klein, R. Strzodka, ICPP 2021 (RPTS). Three candidates for each pivot instead of
//! two are necessary for partitions whose inner part is singular.

mod partition;
mod state;

use crate::contract::refine::{StoppingRule, tolerable};
use crate::contract::verify::check_finite;
use crate::contract::{Factor, Report};
use crate::error::{Error, Result, check_len};
use crate::matrix::Banded;
use crate::memory::{allocate, zeroed};
use crate::method::Method;
use crate::plan::Plan;
use crate::tuning::{OUT_OF_CORE_PARTITION_ROWS, tasks};
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::spread::{RowsOf, spread};
use bandsolve_kernel::{RealScalar, Scalar, threads};
use core::ops::Range;
use partition::{CoarseRow, Partition, PartitionRows};

/// Rows of a tridiagonal system that are in memory.
///
/// All arrays have the length of [`OutOfCorePiece::rows`]. `sub[0]` couples the first of these rows to the row before it, and the last entry
/// of `sup` couples the last of these rows to the row after it. The first entry of `sub` and the last one of `sup` of the whole system are ignored.
#[derive(Debug, Clone, Copy)]
pub struct PieceRows<'a, T> {
    /// The entries left of the diagonal.
    pub sub: &'a [T],
    /// The diagonal.
    pub diag: &'a [T],
    /// The entries right of the diagonal.
    pub sup: &'a [T],
    /// The right-hand side.
    pub rhs: &'a [T],
}

impl<'a, T> PieceRows<'a, T> {
    fn part(&self, rows: Range<usize>) -> Self {
        let [sub, diag, sup, rhs] =
            [self.sub, self.diag, self.sup, self.rhs].map(|array: &'a [T]| &array[rows.clone()]);
        Self { sub, diag, sup, rhs }
    }
}

/// The rows that [`OutOfCoreSolver::advance`] needs next.
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
/// The caller's loop, here with arrays in memory instead of files:
/// ```
/// use bandsolve::out_of_core::{OutOfCoreSolver, PieceRows};
/// let n = 100_000;
/// let (sub, diag, sup, rhs) = (vec![-1.0; n], vec![4.0; n], vec![-1.0; n], vec![2.0; n]);
/// let mut x = vec![0.0; n];
/// let mut solver = OutOfCoreSolver::new(n, 20_000)?;
/// while let Some(piece) = solver.next_piece() {
///     let rows = piece.rows.clone();
///     let part = PieceRows { sub: &sub[rows.clone()], diag: &diag[rows.clone()], sup: &sup[rows.clone()], rhs: &rhs[rows.clone()] };
///     solver.advance(part, &mut x[rows])?;
/// }
/// let report = solver.report()?;
/// assert!(report.backward_error < 1e-15);
/// assert!((x[n / 2] - 1.0).abs() < 1e-15);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Interrupted solves
/// [`write_state`](Self::write_state) saves the solver between two pieces, and [`read_state`](Self::read_state) continues from there in another
/// process. What was computed of x must have been stored before the state.
#[derive(Debug)]
pub struct OutOfCoreSolver<T> {
    partitions: Partitions,
    /// Number of partitions of a piece.
    of_piece: usize,
    progress: Progress,
    /// Two rows for each partition.
    coarse: Vec<CoarseRow<T>>,
    rhs: Vec<T>,
    /// x in the first and the last row of each partition, before the correction.
    ends: Vec<T>,
    /// The correction of `ends`.
    correction: Vec<T>,
}

/// The rows of all partitions. The last one also has the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Partitions {
    n: usize,
    count: usize,
}

impl Partitions {
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
    /// The largest backward error of this step so far, and of the step before.
    error: f64,
    error_before: f64,
}

/// The work on a piece.
struct PieceWork<'a, T: Scalar> {
    all: Partitions,
    next: &'a OutOfCorePiece,
    piece: PieceRows<'a, T>,
    ends: &'a [T],
    correction: &'a [T],
    /// The largest coarse unknown, with its correction.
    coarse_norm: T::Real,
}

impl<T: Scalar> PieceWork<'_, T> {
    /// Compute the coarse equations of partition k or its x. Returns the backward error of x.
    fn partition(
        &self,
        k: usize,
        memory: &mut [T],
        (coarse, rhs): (&mut [CoarseRow<T>; 2], &mut [T; 2]),
        x: &mut [T],
    ) -> Result<f64> {
        let (rows, first) = (self.all.rows(k..k + 1), self.next.rows.start);
        let from = PartitionRows {
            system: self.piece.part(rows.start - first..rows.end - first),
            x: self.next.reads_x.then_some(&*x),
            around: beside(self.ends, k),
            at_end: [k == 0, k + 1 == self.all.count],
        };
        let mut partition = Partition::stage(memory, from)?;
        let singular = |i| Error::Singular { row: rows.start + i };
        if !self.next.writes_x {
            let equations = partition.reduce().map_err(singular)?;
            (*coarse, *rhs) = (equations.map(|equation| equation.0), equations.map(|equation| equation.1));
            return Ok(0.0);
        }
        let [before, after] = beside(self.correction, k);
        let known = [before, self.correction[2 * k], self.correction[2 * k + 1], after];
        x.copy_from_slice(&partition.substitute(known).map_err(singular)?[..rows.len()]);
        let largest = x.iter().fold(self.coarse_norm, |most, v| most.max_nan(peak(*v)));
        partition.error(largest.to_f64())
    }
}

impl<T: Scalar> OutOfCoreSolver<T> {
    /// Create a solver for n unknowns that takes about `piece_rows` rows at a time: a multiple of 4096, at least 4096, and at most n.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(n: usize, piece_rows: usize) -> Result<Self> {
        let partitions = Partitions::new(n);
        let progress = Progress {
            steps: 0,
            substitutes: false,
            next: 0,
            finished: n == 0,
            error: 0.0,
            error_before: f64::INFINITY,
        };
        let rows = 2 * partitions.count;
        Ok(Self {
            partitions,
            of_piece: (piece_rows / OUT_OF_CORE_PARTITION_ROWS).max(1),
            progress,
            coarse: allocate(rows, [T::ZERO; 4])?,
            rhs: zeroed(rows)?,
            ends: zeroed(rows)?,
            correction: zeroed(rows)?,
        })
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.partitions.n
    }

    /// The partitions of the piece that begins with partition `first`.
    fn of_piece(&self, first: usize) -> Range<usize> {
        first..first.saturating_add(self.of_piece).min(self.partitions.count)
    }

    /// The rows that the next call of [`advance`](Self::advance) needs, or `None` at the end.
    pub fn next_piece(&self) -> Option<OutOfCorePiece> {
        let Progress { steps, substitutes, finished, .. } = self.progress;
        let of = self.of_piece(self.progress.next);
        let [rows, following] = [of.clone(), self.of_piece(of.end)].map(|of| self.partitions.rows(of));
        let passes = 2 * steps + usize::from(substitutes);
        let done = passes.saturating_mul(self.n()).saturating_add(rows.start);
        let total = (2 * steps + 2).saturating_mul(self.n());
        (!finished).then_some(OutOfCorePiece { rows, following, reads_x: steps > 0, writes_x: substitutes, done, total })
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
    /// `Shape`; `NotFinite` with the row as the index; `Singular` with a row where elimination found only zeros; `OutOfMemory`. The
    /// same piece can be passed again.
    pub fn advance(&mut self, piece: PieceRows<'_, T>, x: &mut [T]) -> Result<()> {
        let Some(next) = self.next_piece() else { return Ok(()) };
        self.check(&next, piece, x)?;
        let error = self.work(&next, piece, x)?;
        let (before, end) = (self.progress, self.of_piece(self.progress.next).end);
        let error = before.error.max_nan(error);
        self.progress = match end == self.partitions.count {
            false => Progress { next: end, error, ..before },
            true if next.writes_x => self.after_step(error),
            true => {
                self.solve_coarse()?;
                Progress { substitutes: true, next: 0, error: 0.0, ..before }
            }
        };
        Ok(())
    }

    /// `Err` if an array has the wrong length or an entry that is not finite.
    fn check(&self, next: &OutOfCorePiece, piece: PieceRows<'_, T>, x: &[T]) -> Result<()> {
        let len = next.rows.len();
        for (name, array) in
            [("sub", piece.sub), ("diag", piece.diag), ("sup", piece.sup), ("rhs", piece.rhs), ("x", x)]
        {
            check_len(name, len, array.len())?;
        }
        let (first, last) = (usize::from(next.rows.start == 0), usize::from(next.rows.end == self.n()));
        check_finite("sub", &piece.sub[first..], next.rows.start + first)?;
        check_finite("diag", piece.diag, next.rows.start)?;
        check_finite("sup", &piece.sup[..len - last], next.rows.start)?;
        check_finite("rhs", piece.rhs, next.rows.start)?;
        if next.reads_x { check_finite("x", x, next.rows.start) } else { Ok(()) }
    }

    /// Reduce or substitute in the partitions of a piece. Returns the largest backward error.
    fn work(&mut self, next: &OutOfCorePiece, piece: PieceRows<'_, T>, x: &mut [T]) -> Result<f64> {
        let (of, all) = (self.of_piece(self.progress.next), self.partitions);
        let mut outcomes = allocate(of.len(), Ok(0.0))?;
        let places = 2 * of.start..2 * of.end;
        let corrected = self.ends.iter().zip(&self.correction).map(|(end, correction)| peak(*end + *correction));
        let coarse_norm = corrected.fold(T::Real::ZERO, RealScalar::max_nan);
        let work = PieceWork {
            all,
            next,
            piece,
            ends: &self.ends,
            correction: &self.correction,
            coarse_norm,
        };
        let out = (
            (RowsOf(&mut self.coarse[places.clone()], 2), RowsOf(&mut self.rhs[places], 2)),
            (RowsOf(x, OUT_OF_CORE_PARTITION_ROWS), RowsOf(&mut outcomes, 1)),
        );
        spread(tasks(threads::count(), next.rows.len()), of, out, &|of, ((coarse, rhs), (mut x, outcomes))| {
            let most = all.rows(of.clone()).len().min(2 * OUT_OF_CORE_PARTITION_ROWS);
            let mut memory = zeroed(Partition::<T>::words(most));
            let coarse = coarse.0.as_chunks_mut().0.iter_mut().zip(rhs.0.as_chunks_mut().0);
            for ((k, coarse), outcome) in of.zip(coarse).zip(outcomes.0) {
                let (x_of, rest) = core::mem::take(&mut x.0).split_at_mut(all.rows(k..k + 1).len());
                x.0 = rest;
                let memory = memory.as_mut().map_err(|error| error.clone());
                *outcome = memory.and_then(|memory| work.partition(k, memory, coarse, x_of));
            }
        });
        outcomes.into_iter().try_fold(0.0_f64, |most, error| Ok(most.max_nan(error?)))
    }

    /// Compute the correction of the coarse unknowns.
    fn solve_coarse(&mut self) -> Result<()> {
        // Row 2k contains unknowns 2k − 1 to 2k + 2, and so does row 2k + 1.
        let (n, wide) = (self.coarse.len(), 5);
        let mut bands = zeroed(n * wide)?;
        for (i, row) in self.coarse.iter().enumerate() {
            for (j, v) in (i / 2 * 2..).zip(row).filter(|(j, _)| (1..=n).contains(j)).map(|(j, v)| (j - 1, v)) {
                bands[j * wide + 2 + i - j] = *v;
            }
        }
        let coarse = Banded::from_vec(n, 2, 2, bands)?;
        let plan = Plan::once(coarse.shape());
        let rows = |row: usize| self.partitions.rows(row / 2..row / 2 + 1);
        let solved = plan.factor_owned(coarse).and_then(|factor| factor.solve_into(&self.rhs, &mut self.correction));
        match solved {
            // The backward error of the whole x decides.
            Ok(_) | Err(Error::NotConverged { .. }) => Ok(()),
            Err(Error::Singular { row }) => {
                Err(Error::Singular { row: if row % 2 == 0 { rows(row).start } else { rows(row).end - 1 } })
            }
            // Coarse equations overflowed.
            Err(Error::NotFinite { .. }) => {
                Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: self.progress.steps })
            }
            Err(other) => Err(other),
        }
    }

    /// The progress after x of all rows is computed.
    fn after_step(&mut self, error: f64) -> Progress {
        let (before, rule) = (self.progress, StoppingRule::contract::<T>());
        self.ends.iter_mut().zip(&self.correction).for_each(|(end, correction)| *end += *correction);
        let good = error <= rule.goal || !error.is_finite();
        let finished = good || before.steps == rule.max_steps || error >= before.error_before;
        let next = Progress { substitutes: false, next: 0, finished, error, ..before };
        if finished { next } else { Progress { steps: before.steps + 1, error_before: error, ..next } }
    }

    /// The report after the last piece.
    ///
    /// `backward_error` is measured with the largest of the coarse unknowns and of the unknowns of a partition instead of ‖x‖∞, so it may be greater than the
    /// backward error.
    ///
    /// # Errors
    /// `NotConverged` if the backward error is too large, also before the last piece.
    pub fn report(&self) -> Result<Report> {
        let Progress { steps, finished, error, .. } = self.progress;
        if !finished || !(error <= tolerable::<T>()) {
            let backward_error = if finished { error } else { f64::NAN };
            return Err(Error::NotConverged { backward_error, refinement_steps: steps });
        }
        let reason = "out of core: the system was read in pieces";
        let report = Report::external(Method::Rpts, reason, Some(&[error]));
        Ok(Report { refinement_steps: steps, ..report })
    }
}

/// The values of two unknowns for each partition that are beside partition k.
fn beside<T: Scalar>(ends: &[T], k: usize) -> [T; 2] {
    let get = |place: Option<usize>| place.and_then(|place| ends.get(place).copied()).unwrap_or(T::ZERO);
    [get((2 * k).checked_sub(1)), get(Some(2 * k + 2))]
}
