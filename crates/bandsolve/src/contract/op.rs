//! The choice between A, its transpose and its conjugate transpose.

use crate::matrix::{BlockTridiagonal, Tridiagonal};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::rows::{BlockRows, Rows};

/// The system to solve: with A, its transpose or its conjugate transpose. One factorisation serves all three.
///
/// # Examples
/// ```
/// use bandsolve::{prelude::*, dyn_stack::{PodBuffer, PodStack}};
/// let a = Tridiagonal::new(&[1.0], &[1.0, 2.0], &[0.0])?; // rows (1, 0) and (1, 2)
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// let (mut x, mut memory) = ([0.0; 2], PodBuffer::new(lu.solve_scratch(1)));
/// lu.solve_into_with(Op::Transpose, &[2.0, 2.0], &mut x, PodStack::new(&mut memory))?;
/// assert_eq!(x, [1.0, 1.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Op {
    /// A·x = rhs
    Plain,
    /// Aᵀ·x = rhs
    Transpose,
    /// Aᴴ·x = rhs
    ConjTranspose,
}

impl Op {
    /// The rows of op(A), where A is tridiagonal.
    pub(crate) fn rows<'a, T: Scalar>(self, a: &'a Tridiagonal<'_, T>) -> Rows<'a, T> {
        match self {
            Op::Plain => a.rows(),
            Op::Transpose => a.rows().transposed(false),
            Op::ConjTranspose => a.rows().transposed(true),
        }
    }

    /// The block rows of op(A), where A is block tridiagonal.
    pub(crate) fn block_rows<'a, T: Scalar>(self, a: &'a BlockTridiagonal<'_, T>) -> BlockRows<'a, T> {
        match self {
            Op::Plain => a.rows(),
            Op::Transpose => a.rows().transposed(false),
            Op::ConjTranspose => a.rows().transposed(true),
        }
    }
}
