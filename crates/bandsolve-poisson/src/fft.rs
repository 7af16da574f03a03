//! The methods `fft` and `gemm`: transforms along all axes except the first, and tridiagonal systems along the first axis.
//!
//! Two rows of the same half, or rows i and n − i of a folded axis, are the real and the imaginary part of one complex row. Each vector lane
//! transforms one line of this row. The coefficients go back to the two rows. Elimination runs from both ends at the same time. The inverse transform
//! treats the rows in the same way.
//!
//! # Source
//! R. W. Hockney, J. ACM 12 (1965), 95–113.

mod axes;
mod constant;
mod fused;
mod lines;
mod rows;

use crate::chain::{GROUP, TridiagonalChain, block_of};
use crate::indefinite::IndefiniteModes;
use crate::method::{SeparableSolver, SolveRequest};
use crate::pieces::{ColumnBlocks, Mirrored, RowPairs};
use crate::residual::RowCheck;
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualMeasure, ResidualOperator, RightHandSide, SeparableProblem};
use crate::transform::ALIGNED;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Result, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::view::ViewMut;
use bandsolve_kernel::{Job, Lanes, dispatch};
use constant::Constant;
pub(crate) use rows::{Room, RowJob, RowTransforms};

/// The limit for the factors, in sixteenths of the solution. With one scratch array and a quarter for transforms, the sum is less than twice the solution.
const KEPT: usize = 11;
/// Minimum number of unknowns for several threads.
const SHARED: usize = 1 << 14;

/// The transforms and the factors of the tridiagonal systems.
pub(crate) struct TransformSolver<T: PoissonScalar> {
    shape: [usize; 3],
    folded: bool,
    rows: RowTransforms<T>,
    chain: TridiagonalChain<T>,
    indefinite: IndefiniteModes<T>,
    constant: Option<Constant>,
    threads: usize,
    simd: Simd,
}

impl<T: PoissonScalar> TransformSolver<T> {
    /// `dense`: products with eigenvectors along axes with constant spacing too.
    pub fn new(problem: &SeparableProblem, dense: bool, threads: usize) -> Result<Self> {
        let [first, _, last] = &problem.axes;
        let rows = RowTransforms::new(problem, dense)?;
        let mut lambda = rows.eigenvalues(problem)?;
        let indefinite = IndefiniteModes::new(first, &mut lambda)?;
        let constant = if problem.is_singular() {
            let (at, modes) = (rows.middle.constant()?.zip(rows.last.constant()?), lambda.len());
            at.map(|((j, a), (k, b))| Constant::new(first, (j * last.len() + k, modes), a * b)).transpose()?
        } else {
            None
        };
        let unknowns = first.len() * lambda.len();
        let most = (unknowns * size_of::<T>() / 16 * KEPT).saturating_sub(rows.bytes());
        let chain = TridiagonalChain::new(first, &lambda, most)?;
        let (shape, folded, simd) = (rows.shape, rows.folded, rows.simd);
        Ok(Self { shape, folded, rows, chain, indefinite, constant, threads, simd })
    }

    /// The number of pieces of rows: at most one per thread. The scratch memory of all pieces is at most a quarter of the solution.
    fn pieces(&self) -> usize {
        let [rows, lines, n] = self.shape;
        let affordable = rows * lines * n / (4 * self.rows.scratch());
        if rows * lines * n < SHARED { 1 } else { self.threads.min(affordable).clamp(1, rows.div_ceil(2)) }
    }

    /// Replaces all rows of x by their coefficients.
    fn forward(&self, request: &SolveRequest<'_, T>, x: &mut [T], scratch: &mut [T]) {
        self.each_pair(x, scratch, &|part, piece| self.transform(request.rhs, false, part, piece));
    }

    /// Replaces the coefficients of all rows by the rows.
    fn inverse(&self, x: &mut [T], scratch: &mut [T]) {
        self.each_pair(x, scratch, &|part, piece| self.transform(None, true, part, piece));
    }

    /// Transforms the rows of a part.
    fn transform(&self, rhs: Option<&RightHandSide<'_, T>>, inverse: bool, mut part: RowPairs<'_, T>, piece: &mut [T]) {
        let (pairs, mut room) = (0..part.pairs(), Room::new(piece, self.rows.words()));
        let job = RowJob { transforms: &self.rows, rhs, inverse, part: &mut part, pairs, room: &mut room };
        dispatch(self.simd, job);
    }

    /// Calls `work` for all pairs of rows, in pieces.
    fn each_pair(&self, x: &mut [T], scratch: &mut [T], work: &(impl Fn(RowPairs<'_, T>, &mut [T]) + Sync)) {
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

    /// Calls `work` for `pieces` pieces of `rows`.
    fn each_piece(
        &self,
        (pieces, rows, scratch): (usize, RowPairs<'_, T>, &mut [T]),
        work: &(impl Fn(RowPairs<'_, T>, &mut [T]) + Sync),
    ) {
        let per = self.rows.scratch();
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
        let transforms = StackReq::new_aligned::<T>(self.pieces() * self.rows.scratch(), ALIGNED);
        transforms.and(StackReq::new::<T>(self.indefinite.words())).and(self.indefinite.scratch())
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        let (scratch, stack) = stack.make_aligned_raw::<T>(self.pieces() * self.rows.scratch(), ALIGNED);
        if self.is_fused() {
            self.solve_fused(request, None, x, scratch);
            return 0.0;
        }
        self.forward(request, x, scratch);
        let mut removed = 0.0;
        if let Some(constant) = &self.constant {
            removed = constant.level(x);
            constant.shift_level(x, -removed);
        }
        let (solved, stack) = stack.make_raw::<T>(self.indefinite.words());
        self.indefinite.take(x, solved, stack);
        self.sweep(x);
        self.indefinite.put(x, solved);
        if let Some(constant) = &self.constant {
            let level = request.mean - constant.level(x);
            constant.shift_level(x, level);
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
        let (scratch, _) = stack.make_aligned_raw::<T>(self.pieces() * self.rows.scratch(), ALIGNED);
        (0.0, Some(self.solve_fused(request, Some(RowCheck { operator, rhs }), x, scratch)))
    }

    fn bytes(&self) -> usize {
        self.chain.bytes() + self.rows.bytes()
    }

    fn subproblems(&self) -> usize {
        self.shape[1] * self.shape[2]
    }
}

/// The tridiagonal systems of some columns.
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
