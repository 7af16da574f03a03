//! Dense block operations, done by `faer`: the one place that knows it.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

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
    })*};
}
dense!(f32, f64, crate::Complex32, crate::Complex64);
