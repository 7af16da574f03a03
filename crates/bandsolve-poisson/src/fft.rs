//! Transforms along all axes but the first, tridiagonal systems along it.
//!
//! Two rows of the same half, or i and n − i of a folded axis, are the real and the imaginary parts of one complex row, which is transformed line by line; coefficients go
//! back to the two rows, elimination runs from both ends at once, and the way back is the same.
//!
//! # Source
//! R. W. Hockney, J. ACM 12 (1965), 95–113.

mod axes;
mod constant;
mod fused;
mod rows;

use crate::chain::{GROUP, TridiagonalChain, block_of};
use crate::indefinite::IndefiniteModes;
use crate::method::{SeparableSolver, SolveRequest};
use crate::pieces::{ColumnBlocks, Mirrored, RowPairs};
use crate::residual::RowCheck;
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualMeasure, ResidualOperator, SeparableProblem};
pub(crate) use axes::AxisTransform;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Result, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::view::ViewMut;
use bandsolve_kernel::{Job, Lanes, dispatch};
use constant::{Constant, weights};
use num_complex::Complex;
use rows::{COLUMNS, RowJob};

/// Rows that are multiplied by eigenvectors together.
const TOGETHER: usize = 16;
/// Sixteenths of the solution that factors may take: with one array, and scratch of a quarter, all is less than twice the solution.
const KEPT: usize = 11;
/// Unknowns from which on more than one thread works.
const SHARED: usize = 1 << 14;

/// Factors for transforms and tridiagonal systems.
pub(crate) struct TransformSolver<T: PoissonScalar> {
    shape: [usize; 3],
    folded: bool,
    middle: AxisTransform<T>,
    last: AxisTransform<T>,
    chain: TridiagonalChain<T>,
    indefinite: IndefiniteModes<T>,
    constant: Option<Constant>,
    threads: usize,
    simd: Simd,
}

impl<T: PoissonScalar> TransformSolver<T> {
    /// `dense`: products also along axes with one spacing.
    pub fn new(problem: &SeparableProblem, dense: bool, threads: usize) -> Result<Self> {
        let [first, middle, last] = &problem.axes;
        let (of_middle, of_last) = (
            AxisTransform::new(middle, dense && middle.len() > 1)?,
            AxisTransform::new(last, dense && last.len() > 1)?,
        );
        let (a, b) = (of_middle.eigenvalues(middle), of_last.eigenvalues(last));
        let mut lambda: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| (a + b) + problem.shift)).collect();
        let indefinite = IndefiniteModes::new(first, &mut lambda)?;
        let constant = if problem.is_singular() {
            let at = of_middle.constant().zip(of_last.constant());
            at.map(|((j, a), (k, b))| Constant { mode: j * last.len() + k, of_ones: a * b, weights: weights(first) })
        } else {
            None
        };
        let unknowns = first.len() * lambda.len();
        let most = (unknowns * size_of::<T>() / 16 * KEPT).saturating_sub(of_middle.bytes() + of_last.bytes());
        let chain = TridiagonalChain::new(first, &lambda, most);
        let (shape, folded) = (problem.shape(), first.is_folded());
        Ok(Self {
            shape,
            folded,
            middle: of_middle,
            last: of_last,
            chain,
            indefinite,
            constant,
            threads,
            simd: Simd::detect(),
        })
    }

    /// Pieces that the rows are cut into: as many as threads, and as have scratch of no more than a quarter of the solution.
    fn pieces(&self) -> usize {
        let [rows, lines, n] = self.shape;
        let affordable = rows * lines * n / (8 * self.words().iter().sum::<usize>());
        if rows * lines * n < SHARED { 1 } else { self.threads.min(affordable).clamp(1, rows.div_ceil(2)) }
    }

    /// Pairs of rows that are taken together.
    fn together(&self) -> usize {
        if self.shape[1] == 1 && self.last.is_dense() { TOGETHER } else { 1 }
    }

    /// Complex numbers of scratch of a piece: lines, slabs, and what transforms need.
    fn words(&self) -> [usize; 3] {
        let [_, lines, n] = self.shape;
        let line = if lines == 1 { 2 * n } else { 2 * n.max(COLUMNS * lines) };
        let slab = self.together() * lines * n;
        let slabs = if self.middle.is_dense() || self.last.is_dense() { 2 * slab } else { slab };
        [line, slabs, self.middle.scratch().max(self.last.scratch())]
    }

    /// Coefficients of all rows, in x.
    fn forward(&self, request: &SolveRequest<'_, T>, x: &mut [T], scratch: &mut [Complex<T>]) {
        self.each_pair(x, scratch, &|part, piece| {
            dispatch(self.simd, RowJob { solver: self, rhs: request.rhs, inverse: false, part, scratch: piece });
        });
    }

    /// Numbers of all rows from their coefficients.
    fn inverse(&self, x: &mut [T], scratch: &mut [Complex<T>]) {
        self.each_pair(x, scratch, &|part, piece| {
            dispatch(self.simd, RowJob { solver: self, rhs: None, inverse: true, part, scratch: piece });
        });
    }

    /// Calls `work` for pieces of pairs of rows.
    fn each_pair(
        &self,
        x: &mut [T],
        scratch: &mut [Complex<T>],
        work: &(impl Fn(RowPairs<'_, T>, &mut [Complex<T>]) + Sync),
    ) {
        let (row, pieces) = (self.shape[1] * self.shape[2], self.pieces());
        if self.folded {
            let (first, x) = x.split_at_mut(row);
            work(RowPairs::Mirrored(Mirrored::single(first, row)), &mut *scratch);
            let all = RowPairs::Mirrored(Mirrored::new(x, (row, 1), pieces));
            return self.each_piece((pieces, all, scratch), work);
        }
        let [top, inner, bottom] = self.halves(x);
        for lane in [top, bottom] {
            self.each_piece((pieces, RowPairs::Adjacent(lane.in_pieces(pieces)), &mut *scratch), work);
        }
        if let Some(inner) = inner.mirrored(1) {
            work(inner, scratch);
        }
    }

    /// Calls `work` for so many pieces.
    fn each_piece(
        &self,
        (pieces, rows, scratch): (usize, RowPairs<'_, T>, &mut [Complex<T>]),
        work: &(impl Fn(RowPairs<'_, T>, &mut [Complex<T>]) + Sync),
    ) {
        let per = self.words().iter().sum();
        if self.pieces() == 1 {
            return work(rows, &mut scratch[..per]);
        }
        each_chunk((pieces, usize::from(pieces > 1)), (rows, RowsOf(scratch, per)), &|_, (part, scratch)| {
            work(part, scratch.0);
        });
    }

    /// Solves the tridiagonal systems.
    fn sweep(&self, x: &mut [T]) {
        let [rows, lines, n] = self.shape;
        let modes = lines * n;
        let block = block_of::<T>(rows);
        let chunks = modes.div_ceil(block);
        let all = ColumnBlocks::new(ViewMut::new(x, modes, rows), block);
        let least = if self.pieces() > 1 { chunks.div_ceil(4 * self.threads).max(1) } else { 0 };
        each_chunk((chunks, least), all, &|chunk, columns| {
            dispatch(self.simd, SweepJob { chain: &self.chain, first: chunk * block, x: columns.view });
        });
    }
}

impl<T: PoissonScalar> SeparableSolver<T> for TransformSolver<T> {
    fn scratch(&self) -> StackReq {
        let transforms = StackReq::new::<Complex<T>>(self.pieces() * self.words().iter().sum::<usize>());
        transforms.and(StackReq::new::<T>(self.indefinite.words())).and(self.indefinite.scratch())
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        let (scratch, stack) = stack.make_raw::<Complex<T>>(self.pieces() * self.words().iter().sum::<usize>());
        if self.is_fused() {
            self.solve_fused(request, None, x, scratch);
            return 0.0;
        }
        self.forward(request, x, scratch);
        let mut removed = 0.0;
        if let Some(constant) = &self.constant {
            removed = self.level(constant, x);
            self.shift_level(constant, x, -removed);
        }
        let (kept, stack) = stack.make_raw::<T>(self.indefinite.words());
        self.indefinite.take(x, kept, stack);
        self.sweep(x);
        self.indefinite.put(x, kept);
        if let Some(constant) = &self.constant {
            let level = request.mean - self.level(constant, x);
            self.shift_level(constant, x, level);
        }
        self.inverse(x, scratch);
        removed
    }

    fn solve_measured(
        &self,
        request: &SolveRequest<'_, T>,
        operator: &ResidualOperator<T>,
        x: &mut [T],
        stack: &mut PodStack,
    ) -> (f64, Option<ResidualMeasure>) {
        let Some(rhs) = request.rhs.filter(|_| self.is_fused()) else {
            return (self.solve(request, x, stack), None);
        };
        let (scratch, _) = stack.make_raw::<Complex<T>>(self.pieces() * self.words().iter().sum::<usize>());
        (0.0, Some(self.solve_fused(request, Some(RowCheck { operator, rhs }), x, scratch)))
    }

    fn bytes(&self) -> usize {
        self.chain.bytes() + self.middle.bytes() + self.last.bytes()
    }

    fn subproblems(&self) -> usize {
        self.shape[1] * self.shape[2]
    }
}

/// Tridiagonal systems of some columns.
struct SweepJob<'a, T> {
    chain: &'a TridiagonalChain<T>,
    first: usize,
    x: ViewMut<'a, T>,
}

impl<T: PoissonScalar> Job<T> for SweepJob<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        debug_assert!(self.first.is_multiple_of(GROUP));
        self.chain.solve(self.first, self.x);
    }
}
