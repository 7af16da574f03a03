//! Distributed matrices and factors as operators for iterative methods. Each rank holds its own part of every vector.

use crate::agreement::agree;
use crate::banded::DistributedBanded;
use crate::blocks::DistributedBlocks;
use crate::factors::{DistributedFactors, conjugate_for};
use crate::matrix::DistributedMatrix;
use crate::ranks::Ranks;
use bandsolve::dyn_stack::PodStack;
use bandsolve::{Communicator, LinearOperator, Op, Result, Scalar};

impl Communicator for Ranks {
    fn sum(&self, values: &mut [f64]) {
        Ranks::sum(self, values);
    }

    fn rows_before(&self, local_rows: usize) -> usize {
        let mut held = vec![0.0; self.size()];
        held[self.rank()] = local_rows as f64;
        Ranks::sum(self, &mut held);
        held[..self.rank()].iter().sum::<f64>() as usize
    }
}

/// Compute the rows of y = op(A)·x of this rank. A plain product cannot fail, so the ranks need not agree on an error.
fn apply<T: Scalar>(matrix: &DistributedMatrix<T>, op: Op, x: &[T], y: &mut [T]) -> Result<()> {
    if op == Op::Plain {
        matrix.apply_into(x, y, 1);
        return Ok(());
    }
    let transposed = matrix.transposed().map_err(|error| error.error)?;
    if !T::COMPLEX || op == Op::Transpose {
        transposed.apply_into(x, y, 1);
        return Ok(());
    }
    let mut conjugate = agree(&matrix.ranks, matrix.try_memory(x.len())).map_err(|error| error.error)?;
    conjugate.copy_from_slice(x);
    conjugate_for(op, &mut conjugate);
    transposed.apply_into(&conjugate, y, 1);
    conjugate_for(op, y);
    Ok(())
}

impl<T: Scalar> LinearOperator<T> for DistributedBlocks<T> {
    fn rows(&self) -> usize {
        self.matrix().local_rows()
    }

    fn columns(&self) -> usize {
        self.matrix().local_rows()
    }

    fn apply(&self, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        apply(self.matrix(), Op::Plain, x, y)
    }

    /// Compute y = op(A)·x. The first use of Aᵀ creates its rows, and the matrix keeps them.
    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        apply(self.matrix(), op, x, y)
    }
}

impl<T: Scalar> LinearOperator<T> for DistributedBanded<T> {
    fn rows(&self) -> usize {
        self.matrix().local_rows()
    }

    fn columns(&self) -> usize {
        self.matrix().local_rows()
    }

    fn apply(&self, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        apply(self.matrix(), Op::Plain, x, y)
    }

    /// Compute y = op(A)·x. The first use of Aᵀ creates its rows, and the matrix keeps them.
    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        apply(self.matrix(), op, x, y)
    }
}

/// y = A⁻¹·x, with verification.
impl<T: Scalar> LinearOperator<T> for DistributedFactors<T> {
    fn rows(&self) -> usize {
        self.matrix().local_rows()
    }

    fn columns(&self) -> usize {
        self.matrix().local_rows()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        y.copy_from_slice(x);
        self.solve_in_place_with(op, y).map(|_| ()).map_err(|error| error.error)
    }
}
