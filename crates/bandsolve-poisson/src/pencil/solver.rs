//! `gemm` for two matrices per axis: generalized eigenvectors along all axes except the first, and tridiagonal systems along the first.
//!
//! Along the second and the third axis, VᵀAV = Λ and VᵀMV = I. The coefficients û of u = V û solve
//!
//! `(A₁ + μM₁) û = Vᵀf`, μ = λ₂ + λ₃ + c.
//!
//! The solver keeps no factors of these systems. Each solve eliminates them again.

use super::axis::AxisPencil;
use super::condition::{Stability, rcond, size};
use super::eigen::{eigenvectors, has_eigenvectors};
use crate::chain::{BLOCK, block_of};
use crate::condition::Condition;
use crate::dense::DenseTransform;
use crate::indefinite::IndefiniteModes;
use crate::method::{SeparableSolver, SolveRequest};
use crate::pieces::ColumnBlocks;
use crate::scalar::{PoissonScalar, by_real_type, real};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::{collected, copied, reserved};
use bandsolve::{Result, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::view::ViewMut;
use bandsolve_kernel::{Job, Lanes, dispatch};

/// Number of rows that one matrix product covers in two dimensions.
const ROWS: usize = 32;
/// Minimum number of unknowns for more than one thread.
const SHARED: usize = 1 << 14;

by_real_type! {
    /// [`PencilSolver::boxed`] for each number type, with the matrices, the shift and the number of threads.
    pub struct FactorPencils<'a>: (&'a [AxisPencil; 3], f64, usize) => Result<Box<dyn SeparableSolver<T>>> =
        |(axes, shift, threads)| PencilSolver::boxed(axes, shift, threads);
}

/// Eigenvectors of the second and the third axis, and the matrices of the first axis.
struct PencilSolver<T: PoissonScalar> {
    shape: [usize; 3],
    middle: Option<DenseTransform<T>>,
    last: Option<DenseTransform<T>>,
    /// μ of each system.
    mu: Vec<T>,
    /// For each row of the first axis, the entries `[a, m]` on sub, diag and sup.
    rows: Vec<[[T; 2]; 3]>,
    indefinite: IndefiniteModes<T>,
    condition: Condition,
    /// Whether the solver negates f.
    negative: bool,
    threads: usize,
    simd: Simd,
}

impl<T: PoissonScalar> PencilSolver<T> {
    /// Compute the eigenvectors, and factor the systems that need pivoting.
    fn boxed(given: &[AxisPencil; 3], shift: f64, threads: usize) -> Result<Box<dyn SeparableSolver<T>>> {
        // If M is negative definite, negate A, M and f.
        let mut negative = false;
        let mut turned = |axis: &AxisPencil| {
            let other = axis.negated()?;
            let turn = !has_eigenvectors(axis) && has_eigenvectors(&other);
            negative ^= turn;
            if turn { Ok(other) } else { axis.copied() }
        };
        let axes: [AxisPencil; 3] = [turned(&given[0])?, turned(&given[1])?, turned(&given[2])?];
        let shape = axes.each_ref().map(AxisPencil::len);
        // A missing axis has A = 0 and M = 1.
        let none = |axis: &AxisPencil| axis.len() == 1 && axis.a[1][0] == 0.0 && axis.m[1][0] == 1.0;
        let dense = |axis: &AxisPencil, lines: bool| -> Result<_> {
            if none(axis) {
                return Ok((vec![0.0], None));
            }
            let (values, vectors) = eigenvectors(axis)?;
            Ok((copied(&values)?, Some(DenseTransform::of_vectors(values, &vectors, lines)?)))
        };
        let ((a, middle), (b, last)) = (dense(&axes[1], false)?, dense(&axes[2], true)?);
        let mut mu: Vec<f64> = reserved(a.len().saturating_mul(b.len()))?;
        a.iter().for_each(|a| mu.extend(b.iter().map(|b| (a + b) + shift)));
        let first = &axes[0];
        let stabilities = collected(mu.iter().map(|mu| Stability::of(first, *mu)))?;
        let weak = mu.iter().zip(&stabilities).enumerate().filter(|(_, (_, stability))| **stability == Stability::Weak);
        let systems = weak.map(|(mode, (mu, _))| Ok((mode, system(first, *mu)?)));
        let indefinite = IndefiniteModes::of_systems((shape[0], mu.len()), systems)?;
        let rest = size(&axes[1]) + size(&axes[2]) + shift.abs();
        let condition = Condition { rcond: rcond(first, (&mu, &stabilities), rest)?, cancelling: true };
        let row = |i: usize| core::array::from_fn(|q| [real(first.a[q][i]), real(first.m[q][i])]);
        let (rows, mu) = (collected((0..shape[0]).map(row))?, collected(mu.into_iter().map(real))?);
        let simd = Simd::detect();
        Ok(Box::new(Self { shape, middle, last, mu, rows, indefinite, condition, negative, threads, simd }))
    }

    /// The number of tasks: at most one per thread, and so few that their scratch takes at most half the memory of u.
    fn pieces(&self) -> usize {
        let all = self.shape.iter().product::<usize>();
        if all < SHARED { 1 } else { self.threads.min(all / (2 * self.words())).max(1) }
    }

    /// Number of rows that one matrix product covers.
    fn rows_at_once(&self) -> usize {
        if self.shape[1] == 1 { ROWS.min(self.shape[0]) } else { 1 }
    }

    /// Number of scratch elements per task.
    fn words(&self) -> usize {
        let [rows, lines, n] = self.shape;
        (self.rows_at_once() * lines * n).max(rows * block_of::<T>(rows))
    }

    /// Multiply by Vᵀ (or by V if `inverse`) along all axes except the first.
    fn transform(&self, x: &mut [T], scratch: &mut [T], inverse: bool) {
        let (row, rows_at_once) = (self.shape[1] * self.shape[2], self.rows_at_once());
        let blocks = self.shape[0].div_ceil(rows_at_once);
        let pieces = self.pieces().min(blocks);
        let each = blocks.div_ceil(pieces) * rows_at_once * row;
        let all = (RowsOf(&mut *x, each), RowsOf(scratch, self.words()));
        let count = (self.shape[0] * row).div_ceil(each);
        each_chunk((count, usize::from(count > 1)), all, &|_, (x, scratch)| {
            for block in x.0.chunks_mut(rows_at_once * row) {
                let length = block.len();
                self.multiply(block, &mut scratch.0[..length], inverse);
            }
        });
    }

    /// Multiply some rows in place. `other` is scratch of the same size.
    fn multiply(&self, x: &mut [T], other: &mut [T], inverse: bool) {
        let n = self.shape[2];
        if let Some(last) = &self.last {
            last.multiply_lines(x, other, x.len() / n, inverse);
            x.copy_from_slice(other);
        }
        if let Some(middle) = &self.middle {
            middle.multiply(x, other, n, inverse);
            x.copy_from_slice(other);
        }
    }

    /// Solve the tridiagonal systems along the first axis.
    fn sweep(&self, x: &mut [T], scratch: &mut [T]) {
        let (rows, modes) = (self.shape[0], self.mu.len());
        let block = block_of::<T>(rows);
        let each = modes.div_ceil(block).div_ceil(self.pieces()) * block;
        let count = modes.div_ceil(each);
        let all = (ColumnBlocks::new(ViewMut::new(x, modes, rows), each), RowsOf(scratch, self.words()));
        each_chunk((count, usize::from(count > 1)), all, &|piece, (columns, scratch)| {
            let (mut rest, mut first) = (columns.view, piece * each);
            while rest.nrows() > 0 {
                let width = block.min(rest.nrows());
                let (x, others) = rest.split_at_row(width);
                dispatch(self.simd, PencilSweepJob { solver: self, first, x, inverses: scratch.0 });
                (rest, first) = (others, first + width);
            }
        });
    }
}

impl<T: PoissonScalar> SeparableSolver<T> for PencilSolver<T> {
    fn scratch(&self) -> StackReq {
        let of_solver =
            StackReq::new::<T>(self.pieces() * self.words()).and(StackReq::new::<T>(self.indefinite.words()));
        of_solver.and(self.indefinite.scratch())
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        let (scratch, stack) = stack.make_raw::<T>(self.pieces() * self.words());
        let (solved, stack) = stack.make_raw::<T>(self.indefinite.words());
        if let Some(rhs) = request.rhs {
            rhs.copy_to(x, self.threads);
        }
        if self.negative {
            x.iter_mut().for_each(|x| *x = -*x);
        }
        self.transform(x, scratch, false);
        self.indefinite.take(x, solved, stack);
        self.sweep(x, scratch);
        self.indefinite.put(x, solved);
        self.transform(x, scratch, true);
        0.0
    }

    fn bytes(&self) -> usize {
        let matrices = self.middle.iter().chain(&self.last).map(DenseTransform::bytes).sum::<usize>();
        matrices + size_of_val(&self.mu[..])
    }

    fn subproblems(&self) -> usize {
        self.mu.len()
    }

    fn condition(&self) -> Option<Condition> {
        Some(self.condition)
    }
}

/// Diagonals `[sub, diag, sup]` of A₁ + μM₁.
fn system<T: PoissonScalar>(axis: &AxisPencil, mu: f64) -> Result<[Vec<T>; 3]> {
    let diagonal = |q: usize| collected(axis.a[q].iter().zip(&axis.m[q]).map(|(a, m)| real(a + mu * m)));
    Ok([diagonal(0)?, diagonal(1)?, diagonal(2)?])
}

/// Solves up to [`BLOCK`] systems at the same time with the Thomas algorithm. `inverses` is scratch for the reciprocals of the pivots.
struct PencilSweepJob<'a, T: PoissonScalar> {
    solver: &'a PencilSolver<T>,
    first: usize,
    x: ViewMut<'a, T>,
    inverses: &'a mut [T],
}

impl<T: PoissonScalar> Job<T> for PencilSweepJob<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Self { solver, first, mut x, inverses } = self;
        let (width, rows) = (x.nrows(), &solver.rows);
        let mu = &solver.mu[first..first + width];
        let (mut carried, mut reciprocals) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK]);
        let (y, p) = (&mut carried[..width], &mut reciprocals[..width]);
        let mut before = [T::ZERO; 2];
        for (i, ([sub, diag, sup], inverse)) in rows.iter().zip(inverses.chunks_exact_mut(width)).enumerate() {
            let row = x.as_mut().column(i);
            for k in 0..width {
                let factor = (sub[0] + mu[k] * sub[1]) * p[k];
                let pivot = (diag[0] + mu[k] * diag[1]) - factor * (before[0] + mu[k] * before[1]);
                y[k] = row[k] - factor * y[k];
                row[k] = y[k];
                p[k] = T::ONE / pivot;
                inverse[k] = p[k];
            }
            before = *sup;
        }
        y.fill(T::ZERO);
        for (i, ([_, _, sup], inverse)) in rows.iter().zip(inverses.chunks_exact(width)).enumerate().rev() {
            let row = x.as_mut().column(i);
            for k in 0..width {
                y[k] = (row[k] - (sup[0] + mu[k] * sup[1]) * y[k]) * inverse[k];
                row[k] = y[k];
            }
        }
    }
}
