//! One partition in memory: its two coarse equations, its unknowns for a known coarse solution, and its backward error.
//!
//! A partition has m ≥ 2 rows. The coarse system contains its first and its last unknown. Elimination removes the m − 2 inner unknowns from
//! the m rows, which leaves two equations between the coarse unknowns of this partition and its neighbours:
//!
//! ```text
//! e·x_before + f·x_first + p·x_last + q·x_after = r        (twice)
//! ```
//!
//! The m × (m − 2) matrix of the inner unknowns has full rank if A is not singular, because its columns are columns of A without their zeros.
//! So elimination with row exchanges always finds a pivot. In each step, three rows contain the unknown: two running rows and the next
//! row of the matrix.

use crate::contract::measure::{inner_error_of, residual_of};
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::out_of_core::PieceRows;
use bandsolve_kernel::scalar::{peak, reciprocal};
use bandsolve_kernel::{RealScalar, Scalar};

/// The coefficients of x_before, x_first, x_last and x_after in a coarse equation.
pub(super) type CoarseRow<T> = [T; 4];

/// Arrays of one partition with m rows, and one row of its neighbours on each side, which are rows of the identity matrix here.
#[derive(Debug)]
pub(super) struct Partition<'w, T> {
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

/// A row during elimination: the coefficients of x_before and x_first, those of the next three unknowns, and the right-hand side.
#[derive(Debug, Clone, Copy)]
struct RunningRow<T> {
    spikes: [T; 2],
    next: [T; 3],
    rhs: T,
}

impl<T: Scalar> RunningRow<T> {
    /// Subtract a multiple of `pivot`, so that the first entry vanishes.
    #[inline(always)]
    fn without(self, pivot: &Self, inverse: T) -> Self {
        let factor = self.next[0] * inverse;
        let [_, q, t] = self.next;
        Self {
            spikes: [self.spikes[0] - factor * pivot.spikes[0], self.spikes[1] - factor * pivot.spikes[1]],
            next: [q - factor * pivot.next[1], t - factor * pivot.next[2], T::ZERO],
            rhs: self.rhs - factor * pivot.rhs,
        }
    }
}

/// Rows of a system in memory, for one partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartitionRows<'a, T> {
    pub system: PieceRows<'a, T>,
    /// x so far, or `None` if x = 0.
    pub x: Option<&'a [T]>,
    /// x before and after these rows.
    pub around: [T; 2],
    /// Whether these are the first rows, or the last rows, of the system.
    pub at_end: [bool; 2],
}

impl<'w, T: Scalar> Partition<'w, T> {
    /// Number of words of memory for a partition with this number of rows.
    pub fn words(rows: usize) -> usize {
        9 * (rows.max(2) + 2)
    }

    /// Copy the rows of a partition to `memory`, and compute d − A·x. A system with a single row gets a second one, for an unknown that is 0.
    ///
    /// # Errors
    /// None for rows of equal lengths.
    pub fn stage(memory: &'w mut [T], from: PartitionRows<'_, T>) -> Result<Self> {
        let rows = from.system.diag.len();
        let m = rows.max(2);
        let mut memory = &mut memory[..Self::words(rows)];
        let [sub, diag, sup, rhs, x, r] =
            core::array::from_fn(|_| memory.split_off_mut(..m + 2).expect("the memory of a partition"));
        let upper = memory.as_chunks_mut().0;
        let copy = |to: &mut [T], first: usize, values: &[T], beside: T| {
            to[..first].fill(beside);
            to[first..first + rows].copy_from_slice(values);
            to[first + rows..].fill(beside);
        };
        copy(sub, 0, from.system.sub, T::ZERO);
        copy(diag, 1, from.system.diag, T::ONE);
        copy(sup, 1, from.system.sup, T::ZERO);
        copy(rhs, 1, from.system.rhs, T::ZERO);
        if from.at_end[0] {
            sub[0] = T::ZERO;
        }
        if from.at_end[1] {
            sup[rows] = T::ZERO;
        }
        match from.x {
            Some(values) => copy(x, 1, values, T::ZERO),
            None => x.fill(T::ZERO),
        }
        [x[0], x[m + 1]] = from.around;
        let mut staged = Self { m, sub, diag, sup, rhs, x, r, upper };
        match from.x {
            Some(_) => {
                let (matrix, [rhs, x], r) = staged.parts()?;
                residual_of(&matrix, (rhs, x), r);
            }
            None => staged.r.copy_from_slice(staged.rhs),
        }
        Ok(staged)
    }

    /// The matrix with the rows of the neighbours, d and x, and r.
    fn parts(&mut self) -> Result<(Tridiagonal<'_, T>, [&[T]; 2], &mut [T])> {
        let matrix = Tridiagonal::new(&self.sub[..self.m + 1], self.diag, &self.sup[..self.m + 1])?;
        Ok((matrix, [self.rhs, self.x], self.r))
    }

    /// The backward error of x for ‖x‖∞ = `norm`.
    ///
    /// # Errors
    /// None after [`stage`](Self::stage).
    pub fn error(&mut self, norm: f64) -> Result<f64> {
        let (matrix, [rhs, x], _) = self.parts()?;
        Ok(inner_error_of(&matrix, (rhs, x), norm))
    }

    /// Row i, scaled by a power of two to a largest entry near 1: `sub`, `diag`, `sup`, `rhs`.
    #[inline(always)]
    fn row(&self, i: usize) -> [T; 4] {
        let row = [self.sub[i], self.diag[i + 1], self.sup[i + 1], self.r[i + 1]];
        let largest = peak(row[0]).max_nan(peak(row[1])).max_nan(peak(row[2]));
        // A row of zeros is singular, so its scale does not matter, but its right-hand side must not overflow.
        let scale = if largest == T::Real::ZERO { T::Real::ONE } else { largest.equilibrate() };
        row.map(|v| v.scale(scale))
    }

    /// The two rows that contain unknown 1 first.
    fn begin(&self) -> [RunningRow<T>; 2] {
        let ([a0, b0, c0, d0], [a1, b1, c1, d1]) = (self.row(0), self.row(1));
        [
            RunningRow { spikes: [a0, b0], next: [c0, T::ZERO, T::ZERO], rhs: d0 },
            RunningRow { spikes: [T::ZERO, a1], next: [b1, c1, T::ZERO], rhs: d1 },
        ]
    }

    /// Eliminate unknown j from the running rows and row j + 1. Returns the row of U, with 1/u.
    #[inline(always)]
    fn eliminate(&self, j: usize, running: &mut [RunningRow<T>; 2]) -> Option<(RunningRow<T>, T)> {
        let [a, b, c, d] = self.row(j + 1);
        let mut others = *running;
        let mut pivot = RunningRow { spikes: [T::ZERO; 2], next: [a, b, c], rhs: d };
        for other in &mut others {
            if other.next[0].abs1() > pivot.next[0].abs1() {
                core::mem::swap(other, &mut pivot);
            }
        }
        if pivot.next[0] == T::ZERO {
            return None;
        }
        let inverse = reciprocal(pivot.next[0]);
        *running = others.map(|row| row.without(&pivot, inverse));
        Some((pivot, inverse))
    }

    /// Compute the two coarse equations. `Err(i)` if no row contains unknown i.
    pub fn reduce(&self) -> core::result::Result<[(CoarseRow<T>, T); 2], usize> {
        let mut running = self.begin();
        for j in 1..self.m - 1 {
            self.eliminate(j, &mut running).ok_or(j)?;
        }
        Ok(running.map(|row| ([row.spikes[0], row.spikes[1], row.next[0], row.next[1]], row.rhs)))
    }

    /// Correct x by the solution of A·c = r, given c at the first and the last row and beside them. Returns x.
    ///
    /// # Errors
    /// `Err(i)` if no row contains unknown i.
    pub fn substitute(&mut self, [before, first, last, after]: [T; 4]) -> core::result::Result<&[T], usize> {
        let m = self.m;
        let mut running = self.begin();
        for row in &mut running {
            row.rhs -= row.spikes[0] * before + row.spikes[1] * first;
            row.spikes = [T::ZERO; 2];
        }
        for j in 1..m - 1 {
            let (pivot, inverse) = self.eliminate(j, &mut running).ok_or(j)?;
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
