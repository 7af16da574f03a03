//! The operations that both methods for dense blocks on a device have: BCYCLIC and block SPIKE.

use bandsolve::Result;

/// The places of the arrays of blocks: couplings to the left neighbor, diagonal blocks, couplings to the right neighbor.
pub(crate) const LEFT: usize = 0;
pub(crate) const DIAG: usize = 1;
pub(crate) const RIGHT: usize = 2;

/// The factors of one method for a chain or a ring of scaled block rows, with one array for the right-hand sides and one for the
/// solutions.
pub(crate) trait DeviceElimination<T>: Send + Sync {
    /// The addresses of the arrays of blocks, which the factors replace.
    fn arrays(&self) -> [u64; 3];

    /// The bytes of device memory.
    fn bytes(&self) -> usize;

    /// Factor the blocks of the arrays. If a diagonal block is singular, the flag at `suspects` is set.
    fn factor(&mut self, suspects: u64) -> Result<()>;

    /// Solve with the factors or their transposes. The right-hand sides change.
    fn solve(&mut self, transposed: bool, n_rhs: usize) -> Result<()>;
}
