//! Triangular solves of dense blocks, done by `faer`; products of blocks are [`bandsolve::Scalar`]'s own.

use bandsolve::{Complex32, Complex64};
use faer::linalg::triangular_solve as triangular;
use faer::{MatMut, MatRef, Par};

/// The dense kernels that blocked elimination is built on; sequential, so that results do not depend on threads.
pub trait DenseSolve: Sized {
    /// X ← L⁻¹·X for lower triangular L with ones on the diagonal, which are not read.
    fn solve_unit_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>);
    /// X ← L⁻¹·X for lower triangular L.
    fn solve_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>);
}

macro_rules! dense {
    ($($t:ty),*) => {$(impl DenseSolve for $t {
        fn solve_unit_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>) {
            triangular::solve_unit_lower_triangular_in_place(l, x, Par::Seq);
        }
        fn solve_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>) {
            triangular::solve_lower_triangular_in_place(l, x, Par::Seq);
        }
    })*};
}
dense!(f32, f64, Complex32, Complex64);
