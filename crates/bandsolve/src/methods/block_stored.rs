//! The common part of methods that store factors of a block tridiagonal matrix: scaling, order of the right-hand sides, verification.

use crate::contract::factors::{Factors, Solver};
use crate::contract::verify::{Facts, with_refinement};
use crate::decision::{Decision, Options};
use crate::error::Result;
use crate::matrix::{BlockSize, BlockTridiagonal};
use crate::methods::block_dense::scales;
use crate::pivoted::block_band;
use bandsolve_kernel::rows::BlockRows;
use bandsolve_kernel::{RealScalar, Scalar};
use core::fmt::Debug;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// The factors of one method for a chain or a ring of block rows.
pub(crate) trait BlockElimination<T: Scalar>: Sized + Send + Sync + Debug {
    /// Factor the matrix with each row multiplied by its `scale`. A singular matrix is no error.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn new(rows: &BlockRows<'_, T>, scale: &[T::Real], options: &Options) -> Result<Self>;

    /// Number of block rows in [`scratch`](Self::scratch).
    fn spare_rows(block_rows: usize, periodic: bool, options: &Options) -> usize;

    /// Whether a diagonal block is singular, so that the factors are useless.
    fn is_singular(&self) -> bool;

    /// The place of block row `row` in the order of elimination.
    fn place(&self, row: usize) -> usize;

    /// Scratch of [`solve`](Self::solve).
    fn scratch(&self, n_rhs: usize) -> StackReq;

    /// Replace right-hand sides by solutions with the scaled matrix or its transpose. Block rows are in the order of elimination. All
    /// columns of a block row are stored together.
    fn solve(&self, transposed: bool, z: &mut [T], stack: &mut PodStack);
}

/// Factors of a block tridiagonal matrix by `E`.
#[derive(Debug)]
struct StoredBlocks<T: Scalar, E> {
    scale: Vec<T::Real>,
    inner: E,
}

/// Factor `a` by `E`.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn factor<'m, T: Scalar, E: BlockElimination<T> + 'static>(
    decision: &Decision,
    a: Arc<BlockTridiagonal<'m, T>>,
) -> Result<Factors<T, BlockTridiagonal<'m, T>>> {
    let scale = scales(&a.rows())?;
    let inner = E::new(&a.rows(), &scale, &decision.options)?;
    let stored = StoredBlocks { scale, inner };
    Ok(Factors::new(a, Facts::new(decision), stored).or_else(decision, block_band::factor))
}

/// Scratch of solves, from the plan alone: a copy of the right-hand sides and some additional block rows.
pub(crate) fn scratch<T: Scalar, E: BlockElimination<T>>(
    decision: &Decision,
    (block_rows, block, periodic): BlockSize,
    n_rhs: usize,
) -> Option<StackReq> {
    let n = decision.shape.n();
    let rows = n.saturating_add(E::spare_rows(block_rows, periodic, &decision.options).saturating_mul(block));
    Some(with_refinement::<T>(decision, n, n_rhs, |n_rhs| rows.saturating_mul(n_rhs)))
}

impl<T: Scalar, E: BlockElimination<T>> StoredBlocks<T, E> {
    /// Copy block rows of `x` in the order of elimination. If `scaled`, rows are multiplied by their scales.
    fn gather(&self, block: usize, x: &[T], z: &mut [T], scaled: bool) {
        let n = self.scale.len();
        let chunk = x.len() / n * block;
        for (column, x) in x.chunks_exact(n).enumerate() {
            for (row, (x, scale)) in x.chunks_exact(block).zip(self.scale.chunks_exact(block)).enumerate() {
                let z = &mut z[self.inner.place(row) * chunk + column * block..][..block];
                let by = |s: &T::Real| if scaled { *s } else { T::Real::ONE };
                z.iter_mut().zip(x.iter().zip(scale)).for_each(|(z, (x, s))| *z = x.scale(by(s)));
            }
        }
    }

    /// Copy block rows back to `x`. If `scaled`, rows are multiplied by their scales.
    fn scatter(&self, block: usize, z: &[T], x: &mut [T], scaled: bool) {
        let n = self.scale.len();
        let chunk = x.len() / n * block;
        for (column, x) in x.chunks_exact_mut(n).enumerate() {
            for (row, (x, scale)) in x.chunks_exact_mut(block).zip(self.scale.chunks_exact(block)).enumerate() {
                let z = &z[self.inner.place(row) * chunk + column * block..][..block];
                let by = |s: &T::Real| if scaled { *s } else { T::Real::ONE };
                x.iter_mut().zip(z.iter().zip(scale)).for_each(|(x, (z, s))| *x = z.scale(by(s)));
            }
        }
    }
}

impl<'m, T: Scalar, E: BlockElimination<T>> Solver<T, BlockTridiagonal<'m, T>> for StoredBlocks<T, E> {
    fn scratch(&self, a: &BlockTridiagonal<'m, T>, n_rhs: usize) -> StackReq {
        StackReq::new::<T>(a.n().saturating_mul(n_rhs)).and(self.inner.scratch(n_rhs))
    }

    fn solve(&self, a: &BlockTridiagonal<'m, T>, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        if self.inner.is_singular() {
            // NaN marks that x was not computed.
            return x.fill(T::from_real(T::Real::NAN));
        }
        if x.is_empty() {
            return;
        }
        let (z, stack) = stack.make_raw::<T>(x.len());
        // (S·A)·x = S·d; (S·A)ᵀ·y = d, x = S·y.
        self.gather(a.block(), x, z, !transposed);
        self.inner.solve(transposed, z, stack);
        self.scatter(a.block(), z, x, transposed);
    }

    fn is_singular(&self, _transposed: bool) -> bool {
        self.inner.is_singular()
    }
}
