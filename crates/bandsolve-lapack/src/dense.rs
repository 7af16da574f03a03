//! Operations on dense blocks, done by `faer`; plain products of blocks are [`bandsolve::Scalar`]'s own.

use bandsolve::{Complex32, Complex64, Scalar};
use faer::linalg::{matmul::matmul, triangular_solve as triangular};
use faer::{Accum, MatMut, MatRef, Par};

/// The dense kernels that blocked elimination is built on; sequential, so that results do not depend on threads.
pub trait DenseSolve: Sized {
    /// X ← L⁻¹·X for lower triangular L with ones on the diagonal, which are not read.
    fn solve_unit_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>);
    /// X ← X·L⁻ᴴ for lower triangular L.
    fn solve_adjoint_from_right(x: MatMut<'_, Self>, l: MatRef<'_, Self>);
    /// C ← C − A·Bᴴ
    fn subtract_adjoint_product(c: MatMut<'_, Self>, a: MatRef<'_, Self>, b: MatRef<'_, Self>);
}

macro_rules! dense {
    ($($t:ty),*) => {$(impl DenseSolve for $t {
        fn solve_unit_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>) {
            triangular::solve_unit_lower_triangular_in_place(l, x, Par::Seq);
        }
        fn solve_adjoint_from_right(x: MatMut<'_, Self>, l: MatRef<'_, Self>) {
            // Transposed: conj(L)⁻¹·Xᵀ
            triangular::solve_lower_triangular_in_place(l.conjugate(), x.transpose_mut(), Par::Seq);
        }
        fn subtract_adjoint_product(c: MatMut<'_, Self>, a: MatRef<'_, Self>, b: MatRef<'_, Self>) {
            matmul(c, Accum::Add, a, b.adjoint(), -<$t as Scalar>::ONE, Par::Seq);
        }
    })*};
}
dense!(f32, f64, Complex32, Complex64);
