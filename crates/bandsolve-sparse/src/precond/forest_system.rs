//! The tridiagonal system of a linear forest, before it is factored.

use crate::csr::Csr;
use crate::forest::Forest;
use bandsolve::matrix::Index;
use bandsolve::{Result, Scalar, Tridiagonal};

/// The tridiagonal system of a linear forest: M = Pᵀ·T·P.
///
/// The permutation P puts the paths of the forest one after the other. Row k of T belongs to the vertex k of [`Forest::order`].
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Forest, ForestSystem};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, -1.0), (1, 0, -2.0), (1, 1, 5.0)])?;
/// let system = ForestSystem::new(&a, Forest::in_order(2)?)?;
/// assert_eq!(system.tridiagonal().arrays(), [&[0.0, -2.0][..], &[4.0, 5.0], &[-1.0, 0.0]]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct ForestSystem<T: Scalar> {
    pub(super) forest: Forest,
    pub(super) tridiagonal: Tridiagonal<'static, T>,
}

impl<T: Scalar> ForestSystem<T> {
    /// Take the diagonal of a matrix and its entries along the paths of a forest.
    ///
    /// # Errors
    /// [`Shape`](bandsolve::Error::Shape) if the sizes of matrix and forest differ; [`OutOfMemory`](bandsolve::Error::OutOfMemory).
    pub fn new<I: Index>(a: &Csr<'_, T, I>, forest: Forest) -> Result<Self> {
        let tridiagonal = forest.tridiagonal(a)?;
        Ok(Self { forest, tridiagonal })
    }

    /// The forest.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// The matrix T, in the order of the forest.
    pub fn tridiagonal(&self) -> &Tridiagonal<'static, T> {
        &self.tridiagonal
    }
}
