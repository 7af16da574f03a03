//! Functions with one instance for each number type.

/// Expands to its argument if the number type exists. (An attribute in [`by_type`](crate::by_type) would ask for a feature of the calling crate.)
#[doc(hidden)]
#[cfg(feature = "single")]
#[macro_export]
macro_rules! if_single {
    ($($code:tt)*) => { $($code)* };
}
/// Expands to nothing, because the number type does not exist.
#[doc(hidden)]
#[cfg(not(feature = "single"))]
#[macro_export]
macro_rules! if_single {
    ($($code:tt)*) => {};
}

/// Expands to its argument if the number type exists. (An attribute in [`by_type`](crate::by_type) would ask for a feature of the calling crate.)
#[doc(hidden)]
#[cfg(feature = "complex")]
#[macro_export]
macro_rules! if_complex {
    ($($code:tt)*) => { $($code)* };
}
/// Expands to nothing, because the number type does not exist.
#[doc(hidden)]
#[cfg(not(feature = "complex"))]
#[macro_export]
macro_rules! if_complex {
    ($($code:tt)*) => {};
}

/// Expands to its argument if the number type exists. (An attribute in [`by_type`](crate::by_type) would ask for a feature of the calling crate.)
#[doc(hidden)]
#[cfg(all(feature = "single", feature = "complex"))]
#[macro_export]
macro_rules! if_single_complex {
    ($($code:tt)*) => { $($code)* };
}
/// Expands to nothing, because the number type does not exist.
#[doc(hidden)]
#[cfg(not(all(feature = "single", feature = "complex")))]
#[macro_export]
macro_rules! if_single_complex {
    ($($code:tt)*) => {};
}

/// Define types with [`ByType`](crate::ByType): `struct Name<'a>: Argument => Output = function;`. The function is generic over the number type `T`.
///
/// # Examples
/// ```
/// use bandsolve_kernel::{Scalar, by_type};
/// fn sum<T: Scalar>(values: &[T]) -> T {
///     values.iter().fold(T::ZERO, |sum, value| sum + *value)
/// }
/// by_type! {
///     /// [`sum`] for each number type.
///     struct Sum<'a>: &'a [T] => T = sum;
/// }
/// assert_eq!(f32::by_type::<Sum<'_>>(&[1.0, 2.0]), 3.0);
/// ```
#[macro_export]
macro_rules! by_type {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident<$($lifetime:lifetime $(: $bound:lifetime)?),*>:
            $argument:ty => $output:ty = $function:expr;
    )*) => {$(
        $(#[$attribute])*
        $visibility struct $name<$($lifetime),*>(core::marker::PhantomData<($(&$lifetime (),)*)>);

        impl<$($lifetime $(: $bound)?),*> $crate::ByType for $name<$($lifetime),*> {
            type Argument<T: $crate::Scalar> = $argument;
            type Output<T: $crate::Scalar> = $output;

            $crate::if_single! {
                fn of_f32(argument: Self::Argument<f32>) -> Self::Output<f32> {
                    let function: fn(Self::Argument<f32>) -> Self::Output<f32> = $function;
                    function(argument)
                }
            }
            fn of_f64(argument: Self::Argument<f64>) -> Self::Output<f64> {
                let function: fn(Self::Argument<f64>) -> Self::Output<f64> = $function;
                function(argument)
            }
            $crate::if_single_complex! {
                fn of_c32(argument: Self::Argument<$crate::Complex32>) -> Self::Output<$crate::Complex32> {
                    let function: fn(Self::Argument<$crate::Complex32>) -> Self::Output<$crate::Complex32> = $function;
                    function(argument)
                }
            }
            $crate::if_complex! {
                fn of_c64(argument: Self::Argument<$crate::Complex64>) -> Self::Output<$crate::Complex64> {
                    let function: fn(Self::Argument<$crate::Complex64>) -> Self::Output<$crate::Complex64> = $function;
                    function(argument)
                }
            }
        }
    )*};
}
