//! Dense block operations, done by `faer`: the one place that knows it.

/// The dense kernels that blocked methods are built on, one implementation per scalar type.
pub trait Dense: Sized {}

macro_rules! dense {
    ($($t:ty),*) => {$(impl Dense for $t {})*};
}
dense!(f32, f64, crate::Complex32, crate::Complex64);
