//! Dense block operations, done by `faer`: the one place that knows it.

use faer::linalg::{matmul::matmul, triangular_solve as triangular};
use faer::{Accum, MatMut, MatRef, Par};

/// The triangular matrix of a solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triangle {
    /// Lower, with ones on the diagonal, which are not read.
    UnitLower,
    /// Lower.
    Lower,
    /// Upper, with ones on the diagonal, which are not read.
    UnitUpper,
    /// Upper.
    Upper,
}

/// The dense kernels that blocked methods are built on, one implementation per scalar type.
///
/// Sequential, so that results do not depend on the number of threads: callers split the columns themselves.
pub trait Dense: Sized {
    /// C ← C − A·B
    fn subtract_product(c: MatMut<'_, Self>, a: MatRef<'_, Self>, b: MatRef<'_, Self>);
    /// C ← A·B
    fn product(c: MatMut<'_, Self>, a: MatRef<'_, Self>, b: MatRef<'_, Self>) {
        Self::accumulate_product(false, c, a, b);
    }
    /// Y ← A·X, or Y + A·X if `add`
    fn accumulate_product(add: bool, y: MatMut<'_, Self>, a: MatRef<'_, Self>, x: MatRef<'_, Self>);
    /// X ← T⁻¹·X
    fn solve_triangular(shape: Triangle, t: MatRef<'_, Self>, x: MatMut<'_, Self>);
}

macro_rules! dense {
    ($($t:ty),*) => {$(impl Dense for $t {
        fn subtract_product(c: MatMut<'_, Self>, a: MatRef<'_, Self>, b: MatRef<'_, Self>) {
            matmul(c, Accum::Add, a, b, -<$t as crate::Scalar>::ONE, Par::Seq);
        }

        fn accumulate_product(add: bool, y: MatMut<'_, Self>, a: MatRef<'_, Self>, x: MatRef<'_, Self>) {
            let accumulate = if add { Accum::Add } else { Accum::Replace };
            matmul(y, accumulate, a, x, <$t as crate::Scalar>::ONE, Par::Seq);
        }

        fn solve_triangular(shape: Triangle, t: MatRef<'_, Self>, x: MatMut<'_, Self>) {
            match shape {
                Triangle::UnitLower => triangular::solve_unit_lower_triangular_in_place(t, x, Par::Seq),
                Triangle::Lower => triangular::solve_lower_triangular_in_place(t, x, Par::Seq),
                Triangle::UnitUpper => triangular::solve_unit_upper_triangular_in_place(t, x, Par::Seq),
                Triangle::Upper => triangular::solve_upper_triangular_in_place(t, x, Par::Seq),
            }
        }
    })*};
}
dense!(f32, f64, crate::Complex32, crate::Complex64);
