//! One partition in memory: its two coarse equations, its unknowns for a known coarse solution, and its backward error.
//!
//! A partition has m ≥ 2 rows. The coarse system contains its first and its last unknown. Elimination removes the m − 2 inner unknowns from
//! the m rows. Two equations are left, between the coarse unknowns of this partition and the nearest ones of its neighbours:
//!
//! ```text
//! e·x_before + f·x_first + p·x_last + q·x_after = r
//! ```
//!
//! The m × (m − 2) matrix of the inner unknowns has full column rank if A is not singular, because its columns are columns of A without their zeros.
//! So each step has a pivot. Three rows contain the unknown: two running rows and the next row of the matrix.
//!
//! The entries e and f of the running rows change in each step. With row exchanges they can grow, until the two rows are equal up to rounding. Such
//! a partition is eliminated by rotations, which keep the norm of each column.

use crate::contract::measure::{inner_error_of, residual_of};
use crate::error::Result;
use crate::matrix::Tridiagonal;
use bandsolve_kernel::scalar::{peak, reciprocal};
use bandsolve_kernel::{RealScalar, Scalar};
use core::ops::Range;

/// Rows of a tridiagonal system that are in memory.
///
/// All arrays have the length of [`OutOfCorePiece::rows`](crate::out_of_core::OutOfCorePiece::rows). `sub[0]` couples the first of these rows to the row before it, and the last entry
/// of `sup` couples the last of these rows to the row after it. The first entry of `sub` and the last one of `sup` of the whole system are ignored.
///
/// # Examples
/// ```
/// use bandsolve::out_of_core::{OutOfCoreSolver, PieceRows};
/// // [4 1] x = [5]
/// // [1 4]     [5]
/// let rows = PieceRows { sub: &[0.0, 1.0], diag: &[4.0, 4.0], sup: &[1.0, 0.0], rhs: &[5.0, 5.0] };
/// let (mut solver, mut x) = (OutOfCoreSolver::new(2, 4096)?, [0.0; 2]);
/// while solver.next_piece().is_some() {
///     solver.advance(rows, &mut x)?;
/// }
/// assert!(x.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
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
    pub(super) fn part(&self, rows: Range<usize>) -> Self {
        let [sub, diag, sup, rhs] =
            [self.sub, self.diag, self.sup, self.rhs].map(|array: &'a [T]| &array[rows.clone()]);
        Self { sub, diag, sup, rhs }
    }
}

/// The coefficients of x_before, x_first, x_last and x_after in a coarse equation.
pub(super) type CoarseRow<T> = [T; 4];

/// Arrays of one partition with m rows, and one row of its neighbours on each side, which are rows of the identity matrix here.
#[derive(Debug)]
pub(super) struct StagedPartition<'w, T> {
    m: usize,
    /// The entries before the diagonal, of rows 1 to m + 1 of m + 2.
    sub: &'w mut [T],
    diag: &'w mut [T],
    sup: &'w mut [T],
    rhs: &'w mut [T],
    x: &'w mut [T],
    /// d − A·x, which is the right-hand side of the correction of x.
    r: &'w mut [T],
    /// The rows of U, without x_before and x_first: 1/u and the entries of the next two unknowns.
    upper: &'w mut [[T; 3]],
}

/// The matrix of a partition with the rows of the neighbours, d and x, and r.
type PartitionSystem<'a, T> = (Tridiagonal<'a, T>, [&'a [T]; 2], &'a mut [T]);

/// The two coarse equations of a partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct CoarseEquations<T> {
    pub rows: [CoarseRow<T>; 2],
    pub rhs: [T; 2],
    /// How the partition was eliminated.
    pub elimination: EliminationKind,
}

/// Largest entry e or f of a running row that is accepted after row exchanges. Rows are scaled to a largest entry below 4.
const SPIKE_LIMIT: f64 = 64.0;

/// How a partition is eliminated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EliminationKind {
    Exchanges,
    Rotations,
}

/// A row during elimination: the coefficients of x_before and x_first, those of the next three unknowns, and the right-hand side.
#[derive(Debug, Clone, Copy)]
struct BorderedRow<T> {
    spikes: [T; 2],
    next: [T; 3],
    rhs: T,
}

impl<T: Scalar> BorderedRow<T> {
    /// Compute a·self + b·other.
    #[inline(always)]
    fn combined(&self, a: T, other: &Self, b: T) -> Self {
        let sum = |v: T, w: T| a * v + b * w;
        Self {
            spikes: [sum(self.spikes[0], other.spikes[0]), sum(self.spikes[1], other.spikes[1])],
            next: [
                sum(self.next[0], other.next[0]),
                sum(self.next[1], other.next[1]),
                sum(self.next[2], other.next[2]),
            ],
            rhs: sum(self.rhs, other.rhs),
        }
    }

    /// Subtract a multiple of `pivot`, so that the first unknown vanishes, and drop it.
    #[inline(always)]
    fn without(&self, pivot: &Self, inverse: T) -> Self {
        let factor = self.next[0] * inverse;
        let [_, q, t] = self.next;
        Self {
            spikes: [self.spikes[0] - factor * pivot.spikes[0], self.spikes[1] - factor * pivot.spikes[1]],
            next: [q - factor * pivot.next[1], t - factor * pivot.next[2], T::ZERO],
            rhs: self.rhs - factor * pivot.rhs,
        }
    }

    /// Rotate two rows, so that the first unknown vanishes from the second one:
    ///
    /// ```text
    /// (ū·self + l̄·other) / h,   (u·other − l·self) / h   with h² = |u|² + |l|²
    /// ```
    #[inline(always)]
    fn rotated(&self, other: &Self) -> (Self, Self) {
        let [u, l] = [self.next[0], other.next[0]];
        let largest = peak(u).max_nan(peak(l));
        if largest == T::Real::ZERO {
            return (*self, *other);
        }
        let scale = largest.equilibrate();
        let [u, l] = [u.scale(scale), l.scale(scale)];
        let square = |v: T| v.re() * v.re() + v.im() * v.im();
        let inverse = T::Real::ONE / (square(u) + square(l)).sqrt();
        let [u, l] = [u.scale(inverse), l.scale(inverse)];
        let mut rest = self.combined(-l, other, u);
        rest.next[0] = T::ZERO;
        (self.combined(Scalar::conj(u), other, Scalar::conj(l)), rest)
    }

    /// The row without its first unknown, whose entry is zero.
    #[inline(always)]
    fn shifted(self) -> Self {
        Self { next: [self.next[1], self.next[2], T::ZERO], ..self }
    }
}

/// Rows of a system in memory, for one partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct StagedRows<'a, T> {
    pub system: PieceRows<'a, T>,
    /// x so far, or `None` if x = 0.
    pub x: Option<&'a [T]>,
    /// x before and after these rows.
    pub neighbours: [T; 2],
    /// Whether these are the first rows, or the last rows, of the system.
    pub at_end: [bool; 2],
}

impl<'w, T: Scalar> StagedPartition<'w, T> {
    /// Number of words of scratch for a partition with this number of rows.
    pub fn words(rows: usize) -> usize {
        9 * (rows.max(2) + 2)
    }

    /// Copy the rows of a partition to `scratch`, and compute d − A·x. A system with a single row gets a second one, for an unknown that is 0.
    ///
    /// # Errors
    /// `Shape` if the arrays have different lengths.
    pub fn stage(scratch: &'w mut [T], part: StagedRows<'_, T>) -> Result<Self> {
        let rows = part.system.diag.len();
        let m = rows.max(2);
        let mut scratch = &mut scratch[..Self::words(rows)];
        let [sub, diag, sup, rhs, x, r] =
            core::array::from_fn(|_| scratch.split_off_mut(..m + 2).expect("the scratch of a partition"));
        let upper = scratch.as_chunks_mut().0;
        let copy = |to: &mut [T], first: usize, values: &[T], beside: T| {
            to[..first].fill(beside);
            to[first..first + rows].copy_from_slice(values);
            to[first + rows..].fill(beside);
        };
        copy(sub, 0, part.system.sub, T::ZERO);
        copy(diag, 1, part.system.diag, T::ONE);
        copy(sup, 1, part.system.sup, T::ZERO);
        copy(rhs, 1, part.system.rhs, T::ZERO);
        if part.at_end[0] {
            sub[0] = T::ZERO;
        }
        if part.at_end[1] {
            sup[rows] = T::ZERO;
        }
        match part.x {
            Some(values) => copy(x, 1, values, T::ZERO),
            None => x.fill(T::ZERO),
        }
        [x[0], x[m + 1]] = part.neighbours;
        let mut staged = Self { m, sub, diag, sup, rhs, x, r, upper };
        match part.x {
            Some(_) => {
                let (matrix, [rhs, x], r) = staged.parts()?;
                residual_of(&matrix, (rhs, x), r);
            }
            None => staged.r.copy_from_slice(staged.rhs),
        }
        Ok(staged)
    }

    /// The matrix with the rows of the neighbours, d and x, and r.
    fn parts(&mut self) -> Result<PartitionSystem<'_, T>> {
        let matrix = Tridiagonal::new(&self.sub[..self.m + 1], self.diag, &self.sup[..self.m + 1])?;
        Ok((matrix, [self.rhs, self.x], self.r))
    }

    /// The backward error of x for ‖x‖∞ = `norm`.
    ///
    /// # Errors
    /// As [`stage`](Self::stage).
    pub fn error(&mut self, norm: f64) -> Result<f64> {
        let (matrix, [rhs, x], _) = self.parts()?;
        Ok(inner_error_of(&matrix, (rhs, x), norm))
    }

    /// The largest |dᵢ| / Σⱼ|aᵢⱼ|.
    pub fn largest_ratio(&self) -> f64 {
        let ratio = |i: usize| {
            let [a, b, c, d] = self.scaled(i, self.rhs[i + 1]);
            let sum = (peak(a) + peak(b) + peak(c)).to_f64();
            if sum > 0.0 { peak(d).to_f64() / sum } else { 0.0 }
        };
        (0..self.m).map(ratio).fold(0.0, f64::max)
    }

    /// Row i with a right-hand side, scaled by a power of two to a largest entry in \[2, 4).
    #[inline(always)]
    fn scaled(&self, i: usize, rhs: T) -> [T; 4] {
        let row = [self.sub[i], self.diag[i + 1], self.sup[i + 1], rhs];
        let largest = peak(row[0]).max_nan(peak(row[1])).max_nan(peak(row[2]));
        // A row of zeros is singular, so its scale does not matter, but its right-hand side must not overflow.
        let scale = if largest == T::Real::ZERO { T::Real::ONE } else { largest.equilibrate() };
        row.map(|v| v.scale(scale))
    }

    /// Row i of A·c = r.
    #[inline(always)]
    fn row(&self, i: usize) -> [T; 4] {
        self.scaled(i, self.r[i + 1])
    }

    /// The two rows that contain unknown 1 first.
    fn begin(&self) -> [BorderedRow<T>; 2] {
        let ([a0, b0, c0, d0], [a1, b1, c1, d1]) = (self.row(0), self.row(1));
        [
            BorderedRow { spikes: [a0, b0], next: [c0, T::ZERO, T::ZERO], rhs: d0 },
            BorderedRow { spikes: [T::ZERO, a1], next: [b1, c1, T::ZERO], rhs: d1 },
        ]
    }

    /// Eliminate unknown j from the running rows and row j + 1. Returns the row of U, with 1/u.
    #[inline(always)]
    fn eliminate(
        &self,
        by: EliminationKind,
        j: usize,
        running: &mut [BorderedRow<T>; 2],
    ) -> Option<(BorderedRow<T>, T)> {
        let [a, b, c, d] = self.row(j + 1);
        let mut pivot = BorderedRow { spikes: [T::ZERO; 2], next: [a, b, c], rhs: d };
        let mut others = *running;
        for other in &mut others {
            match by {
                EliminationKind::Exchanges if other.next[0].abs1() > pivot.next[0].abs1() => {
                    core::mem::swap(other, &mut pivot);
                }
                EliminationKind::Exchanges => {}
                EliminationKind::Rotations => (pivot, *other) = pivot.rotated(other),
            }
        }
        if pivot.next[0] == T::ZERO {
            return None;
        }
        let inverse = reciprocal(pivot.next[0]);
        *running = match by {
            EliminationKind::Exchanges => others.map(|row| row.without(&pivot, inverse)),
            EliminationKind::Rotations => others.map(BorderedRow::shifted),
        };
        Some((pivot, inverse))
    }

    /// Compute the two coarse equations, and how [`substitute`](Self::substitute) must eliminate.
    ///
    /// # Errors
    /// `Err(i)` if no row contains unknown i.
    pub fn reduce(&self) -> core::result::Result<CoarseEquations<T>, usize> {
        let equations = |running: [BorderedRow<T>; 2], elimination| CoarseEquations {
            rows: running.map(|row| [row.spikes[0], row.spikes[1], row.next[0], row.next[1]]),
            rhs: running.map(|row| row.rhs),
            elimination,
        };
        let (mut running, mut largest) = (self.begin(), T::Real::ZERO);
        for j in 1..self.m - 1 {
            self.eliminate(EliminationKind::Exchanges, j, &mut running).ok_or(j)?;
            for spike in running.iter().flat_map(|row| row.spikes) {
                largest = largest.max_nan(peak(spike));
            }
        }
        if largest.to_f64() <= SPIKE_LIMIT {
            return Ok(equations(running, EliminationKind::Exchanges));
        }
        let mut running = self.begin();
        for j in 1..self.m - 1 {
            self.eliminate(EliminationKind::Rotations, j, &mut running).ok_or(j)?;
        }
        Ok(equations(running, EliminationKind::Rotations))
    }

    /// Solve A·c = r for the inner unknowns, and add c to x. Returns the corrected x.
    ///
    /// The argument has the coarse unknowns of c: the last one of the partition before, the first and the last one of this partition, and the first one of
    /// the partition after.
    ///
    /// # Errors
    /// `Err(i)` if no row contains unknown i.
    pub fn substitute(
        &mut self,
        by: EliminationKind,
        [before, first, last, after]: [T; 4],
    ) -> core::result::Result<&[T], usize> {
        let m = self.m;
        let mut running = self.begin();
        for row in &mut running {
            row.rhs -= row.spikes[0] * before + row.spikes[1] * first;
            row.spikes = [T::ZERO; 2];
        }
        for j in 1..m - 1 {
            let (pivot, inverse) = self.eliminate(by, j, &mut running).ok_or(j)?;
            self.upper[j] = [inverse, pivot.next[1], pivot.next[2]];
            // The rows before row j + 1 are no longer needed.
            self.r[j] = pivot.rhs;
        }
        self.x[0] += before;
        self.x[1] += first;
        self.x[m] += last;
        self.x[m + 1] += after;
        let (mut c1, mut c2) = (last, after);
        for j in (1..m - 1).rev() {
            let [inverse, q, t] = self.upper[j];
            (c1, c2) = ((self.r[j] - q * c1 - t * c2) * inverse, c1);
            self.x[j + 1] += c1;
        }
        Ok(&self.x[1..=m])
    }
}
