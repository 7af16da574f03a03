//! Methods that keep factors of a block tridiagonal matrix: what they share. Each says how block rows are eliminated; here
//! stand scaling, the order of the right-hand sides and the accuracy contract.

use crate::contract::inspect::Probe;
use crate::contract::verify::{
    Factored, Facts, KeepsFactors, Lazy, Report, check_scratch, solve_verified, verified_scratch,
};
use crate::contract::{Factor, Op};
use crate::decision::{Decision, Options};
use crate::error::{Result, check_len};
use crate::matrix::{BlockTridiagonal, Shape};
use crate::methods::block_dense::scales;
use crate::pivoted::around_transpose;
use crate::pivoted::block_band::BlockBand;
use bandsolve_kernel::rows::BlockRows;
use bandsolve_kernel::{RealScalar, Scalar};
use core::fmt::Debug;
use dyn_stack::{PodStack, StackReq};

/// One method's factors of a chain or a ring of block rows.
pub(crate) trait BlockElimination<T: Scalar>: Sized + Send + Sync + Debug {
    /// Factors the matrix with each row multiplied by its `scale`; never fails on numbers.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn new(rows: &BlockRows<'_, T>, scale: &[T::Real], options: &Options) -> Result<Self>;

    /// Whether a diagonal block was singular: then there is nothing to solve with.
    fn is_singular(&self) -> bool;

    /// Where block row `row` stands in the order of elimination.
    fn place(&self, row: usize) -> usize;

    /// Scratch of [`solve`](Self::solve).
    fn scratch(&self, n_rhs: usize) -> StackReq;

    /// Replaces right-hand sides by solutions with the scaled matrix or its transpose. Block rows are in the order of
    /// elimination, the columns of each together.
    fn solve(&self, transposed: bool, z: &mut [T], stack: &mut PodStack);
}

/// A block tridiagonal matrix factored by `E`.
#[derive(Debug)]
pub(crate) struct StoredBlocks<'m, T: Scalar, E> {
    a: BlockTridiagonal<'m, T>,
    decision: Decision,
    facts: Facts,
    scale: Vec<T::Real>,
    inner: E,
    fallback: Lazy<BlockBand<'m, T>>,
}

impl<'m, T: Scalar, E: BlockElimination<T>> StoredBlocks<'m, T, E> {
    /// Factors `a`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Result<Self> {
        let scale = scales(&a.rows())?;
        let inner = E::new(&a.rows(), &scale, &decision.options)?;
        Ok(Self { a, decision: decision.clone(), facts: Facts::new(decision), scale, inner, fallback: Lazy::new() })
    }

    /// Scratch of [`solve_unchecked`](Factored::solve_unchecked).
    fn scratch(&self, n_rhs: usize) -> StackReq {
        StackReq::new::<T>(self.a.n().saturating_mul(n_rhs)).and(self.inner.scratch(n_rhs))
    }

    /// Copies block rows of `x` into the order of elimination, multiplied by the scales of the rows if so.
    fn gather(&self, x: &[T], z: &mut [T], scaled: bool) {
        let (b, chunk) = (self.a.block(), self.chunk(x));
        for (column, x) in x.chunks_exact(self.a.n()).enumerate() {
            for (row, (x, scale)) in x.chunks_exact(b).zip(self.scale.chunks_exact(b)).enumerate() {
                let z = &mut z[self.inner.place(row) * chunk + column * b..][..b];
                let by = |s: &T::Real| if scaled { *s } else { T::Real::ONE };
                z.iter_mut().zip(x.iter().zip(scale)).for_each(|(z, (x, s))| *z = x.scale(by(s)));
            }
        }
    }

    /// The way back.
    fn scatter(&self, z: &[T], x: &mut [T], scaled: bool) {
        let (b, chunk) = (self.a.block(), self.chunk(x));
        for (column, x) in x.chunks_exact_mut(self.a.n()).enumerate() {
            for (row, (x, scale)) in x.chunks_exact_mut(b).zip(self.scale.chunks_exact(b)).enumerate() {
                let z = &z[self.inner.place(row) * chunk + column * b..][..b];
                let by = |s: &T::Real| if scaled { *s } else { T::Real::ONE };
                x.iter_mut().zip(z.iter().zip(scale)).for_each(|(x, (z, s))| *x = z.scale(by(s)));
            }
        }
    }

    /// Entries of a block row of all columns of x.
    fn chunk(&self, x: &[T]) -> usize {
        x.len() / self.a.n() * self.a.block()
    }
}

impl<T: Scalar, E> KeepsFactors for StoredBlocks<'_, T, E> {}

impl<'m, T: Scalar, E: BlockElimination<T>> Factored<T> for StoredBlocks<'m, T, E> {
    type Matrix = BlockTridiagonal<'m, T>;

    fn matrix(&self) -> &BlockTridiagonal<'m, T> {
        &self.a
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack) {
        if self.inner.is_singular() {
            // Nobody is to take the right-hand side for an answer.
            return x.fill(T::from_real(T::Real::NAN));
        }
        if x.is_empty() {
            return;
        }
        let (z, stack) = stack.make_raw::<T>(x.len());
        let transposed = op != Op::Plain;
        // (S·A)·x = S·d; (S·A)ᵀ·y = d, x = S·y.
        around_transpose(op, x, |x| {
            self.gather(x, z, !transposed);
            self.inner.solve(transposed, z, stack);
            self.scatter(z, x, transposed);
        });
    }

    fn is_singular(&self, _op: Op) -> bool {
        self.inner.is_singular()
    }

    fn fallback(&self) -> Option<Result<&dyn Probe<T>>> {
        let make = || BlockBand::pivoted(&self.decision.with_best_pivots(), self.a.clone());
        Some(self.fallback.get(make).map(|factor| factor as &dyn Probe<T>))
    }
}

impl<T: Scalar, E: BlockElimination<T>> Factor<T> for StoredBlocks<'_, T, E> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        self.scratch(n_rhs).or(verified_scratch(self).and(self.scratch(1)))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.a.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        check_scratch(self.solve_scratch(n_rhs), stack)?;
        solve_verified(self, op, rhs, x, stack)
    }
}
