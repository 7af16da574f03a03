//! The number types of Poisson problems.

use bandsolve::RealScalar;

/// A function with one instance for each number type.
///
/// Each instance is compiled once, in this crate. Generic code that other crates compile uses [`PoissonScalar::by_real_type`] to call the
/// instance for its `T`.
pub trait ByRealType {
    /// The argument of the function.
    type Argument<T: PoissonScalar>;
    /// The result of the function.
    type Output<T: PoissonScalar>;
    /// The instance for `f32`.
    fn of_f32(argument: Self::Argument<f32>) -> Self::Output<f32>;
    /// The instance for `f64`.
    fn of_f64(argument: Self::Argument<f64>) -> Self::Output<f64>;
}

/// Defines types with [`ByRealType`]: `struct Name<'a>: Argument => Output = function;`. The function is generic over the number type `T`.
macro_rules! by_real_type {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident<$lifetime:lifetime>: $argument:ty => $output:ty = $function:expr;
    )*) => {$(
        $(#[$attribute])*
        $visibility struct $name<$lifetime>(core::marker::PhantomData<&$lifetime ()>);

        impl<$lifetime> $crate::scalar::ByRealType for $name<$lifetime> {
            type Argument<T: $crate::scalar::PoissonScalar> = $argument;
            type Output<T: $crate::scalar::PoissonScalar> = $output;

            fn of_f32(argument: Self::Argument<f32>) -> Self::Output<f32> {
                let function: fn(Self::Argument<f32>) -> Self::Output<f32> = $function;
                function(argument)
            }
            fn of_f64(argument: Self::Argument<f64>) -> Self::Output<f64> {
                let function: fn(Self::Argument<f64>) -> Self::Output<f64> = $function;
                function(argument)
            }
        }
    )*};
}
pub(crate) use by_real_type;

/// A number type of Poisson problems: `f32` or `f64`.
///
/// # Examples
/// ```
/// use bandsolve::RealScalar;
/// use bandsolve_poisson::{Poisson, PoissonScalar};
/// /// u in the middle of three nodes, where −u″ = 1.
/// fn middle<T: PoissonScalar>() -> bandsolve::Result<f64> {
///     let u = Poisson::new(&[3]).plan::<T>()?.solve(&[T::from_f64(1.0); 3])?.values;
///     Ok(RealScalar::to_f64(u[1]))
/// }
/// assert!((middle::<f32>()? - 2.0).abs() < 1e-5 && (middle::<f64>()? - 2.0).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait PoissonScalar: RealScalar {
    /// Calls the instance of a function for this type.
    #[doc(hidden)]
    fn by_real_type<B: ByRealType>(argument: B::Argument<Self>) -> B::Output<Self>;
}

impl PoissonScalar for f32 {
    fn by_real_type<B: ByRealType>(argument: B::Argument<f32>) -> B::Output<f32> {
        B::of_f32(argument)
    }
}

impl PoissonScalar for f64 {
    fn by_real_type<B: ByRealType>(argument: B::Argument<f64>) -> B::Output<f64> {
        B::of_f64(argument)
    }
}

/// x, rounded to the number type `T`.
#[inline(always)]
pub(crate) fn real<T: PoissonScalar>(x: f64) -> T {
    <T as RealScalar>::from_f64(x)
}
