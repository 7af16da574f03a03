//! Batches of dense blocks in device memory: products, factorizations and solves, by a library or by the emulator.

use bandsolve::Result;

/// Equally spaced column-major blocks in device memory.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct SpacedBlocks {
    /// Address of the first block.
    pub first: u64,
    /// Numbers from one block to the next.
    pub step: u64,
    /// Numbers from one column to the next.
    pub leading: u64,
}

/// The result of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProductResult {
    /// C ← op(A)·B
    Replace,
    /// C ← −op(A)·B
    Negate,
    /// C ← C − op(A)·B
    Subtract,
}

/// A batch of products of square blocks A with B. C does not overlap A and B.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockProduct {
    /// Rows of all blocks.
    pub block: usize,
    /// Columns of B and C.
    pub columns: usize,
    /// Number of products.
    pub count: usize,
    pub result: ProductResult,
    /// Whether op(A) is Aᵀ instead of A.
    pub transposed: bool,
    pub a: SpacedBlocks,
    pub b: SpacedBlocks,
    pub c: SpacedBlocks,
}

/// Equally spaced blocks, and the address of an array in device memory that contains the address of each block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedBlocks {
    pub blocks: SpacedBlocks,
    pub list: u64,
}

/// A batch of square blocks with their factors P·A = L·U.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockFactors {
    /// Rows of all blocks.
    pub block: usize,
    /// Number of blocks.
    pub count: usize,
    /// The blocks, which L and U replace.
    pub blocks: ListedBlocks,
    /// Address of `block` 32-bit integers per block for the row exchanges. Their meaning belongs to the implementation.
    pub exchanges: u64,
    /// Address of a 32-bit integer per block: 0, or the number of the first pivot that is zero, counted from one.
    pub status: u64,
}

/// Operations on batches of dense blocks, in the order of a stream.
///
/// `number` is the name of the number type: `f32`, `f64`, `c32` or `c64`.
pub(crate) trait DenseBatch: Send + Sync {
    /// Multiply.
    ///
    /// # Safety
    /// Here and below: the blocks exist, have numbers of this type, and nothing else uses them at the same time.
    unsafe fn product(&self, stream: u64, number: &'static str, product: &BlockProduct) -> Result<()>;

    /// Factor by partial pivoting. A singular block is no error.
    ///
    /// # Safety
    /// See [`product`](Self::product).
    unsafe fn factor(&self, stream: u64, number: &'static str, factors: &BlockFactors) -> Result<()>;

    /// Replace the columns of each block of `rhs` by A⁻¹·rhs, or A⁻ᵀ·rhs if `transposed`.
    ///
    /// # Safety
    /// See [`product`](Self::product). The factors must be those of this implementation.
    unsafe fn solve(
        &self,
        stream: u64,
        number: &'static str,
        factors: &BlockFactors,
        transposed: bool,
        rhs: (ListedBlocks, usize),
    ) -> Result<()>;
}
