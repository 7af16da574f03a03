//! Dense block operations, done by `faer`: the one place that knows it.

use bandsolve::{Complex32, Complex64, Scalar};
use faer::linalg::{matmul::matmul, triangular_solve as triangular};
use faer::{Accum, MatMut, MatRef, Par};

/// The dense kernels that blocked elimination is built on; sequential, so that results do not depend on threads.
pub trait Dense: Sized {
    /// C ← C − A·B
    fn subtract_product(c: MatMut<'_, Self>, a: MatRef<'_, Self>, b: MatRef<'_, Self>);
    /// X ← L⁻¹·X for lower triangular L with ones on the diagonal, which are not read.
    fn solve_unit_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>);
    /// X ← L⁻¹·X for lower triangular L.
    fn solve_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>);
}

macro_rules! dense {
    ($($t:ty),*) => {$(impl Dense for $t {
        fn subtract_product(c: MatMut<'_, Self>, a: MatRef<'_, Self>, b: MatRef<'_, Self>) {
            matmul(c, Accum::Add, a, b, -<$t as Scalar>::ONE, Par::Seq);
        }
        fn solve_unit_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>) {
            triangular::solve_unit_lower_triangular_in_place(l, x, Par::Seq);
        }
        fn solve_lower(l: MatRef<'_, Self>, x: MatMut<'_, Self>) {
            triangular::solve_lower_triangular_in_place(l, x, Par::Seq);
        }
    })*};
}
dense!(f32, f64, Complex32, Complex64);
