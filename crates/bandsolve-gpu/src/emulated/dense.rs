//! The operations on batches of dense blocks of an emulated device.

use super::batch::{BatchOperation, QueuedBatch};
use super::queue::Work;
use super::streams::EmulatedStreams;
use crate::dense::{BlockFactors, BlockProduct, DenseBatch, ListedBlocks};
use bandsolve::Result;
use std::sync::Arc;

/// The operations, which run in the order of their stream.
pub struct EmulatedDense(pub Arc<EmulatedStreams>);

impl EmulatedDense {
    fn push(&self, stream: u64, number: &'static str, operation: BatchOperation) -> Result<()> {
        self.0.queue().push(stream, Work::Batch(QueuedBatch { number, operation }));
        Ok(())
    }
}

impl DenseBatch for EmulatedDense {
    unsafe fn product(&self, stream: u64, number: &'static str, product: &BlockProduct) -> Result<()> {
        self.push(stream, number, BatchOperation::Product(*product))
    }

    unsafe fn factor(&self, stream: u64, number: &'static str, factors: &BlockFactors) -> Result<()> {
        self.push(stream, number, BatchOperation::Factor(*factors))
    }

    unsafe fn solve(
        &self,
        stream: u64,
        number: &'static str,
        factors: &BlockFactors,
        transposed: bool,
        (rhs, columns): (ListedBlocks, usize),
    ) -> Result<()> {
        self.push(stream, number, BatchOperation::Solve { factors: *factors, transposed, rhs, columns })
    }
}
