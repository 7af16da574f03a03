//! The conformance suite for all methods of the table and all number types. `dense_blocks.rs` has the suite for blocks.

use bandsolve::{Complex32, Complex64, Method};
use bandsolve_testkit::conformance::DefiniteMatrices;
use bandsolve_testkit::{conformance, conformance_banded, conformance_batch, conformance_definite};

/// The suites of one method, in one module per kind of system and number type.
macro_rules! suites {
    (Tridiagonal Cholesky) => {
        conformance_definite!(tridiagonal_f64, f64, |plan| plan.method(Method::Cholesky));
        conformance_definite!(tridiagonal_f32, f32, |plan| plan.method(Method::Cholesky));
        conformance_definite!(tridiagonal_c64, Complex64, |plan| plan.method(Method::Cholesky));
        conformance_definite!(tridiagonal_c32, Complex32, |plan| plan.method(Method::Cholesky));
    };
    (Band Cholesky) => {
        conformance_banded!(banded_f64, f64, DefiniteMatrices, |plan| plan.method(Method::Cholesky));
        conformance_banded!(banded_f32, f32, DefiniteMatrices, |plan| plan.method(Method::Cholesky));
        conformance_banded!(banded_c64, Complex64, DefiniteMatrices, |plan| plan.method(Method::Cholesky));
        conformance_banded!(banded_c32, Complex32, DefiniteMatrices, |plan| plan.method(Method::Cholesky));
    };
    (Tridiagonal $method:ident) => {
        conformance!(tridiagonal_f64, f64, |plan| plan.method(Method::$method));
        conformance!(tridiagonal_f32, f32, |plan| plan.method(Method::$method));
        conformance!(tridiagonal_c64, Complex64, |plan| plan.method(Method::$method));
        conformance!(tridiagonal_c32, Complex32, |plan| plan.method(Method::$method));
    };
    (Band $method:ident) => {
        conformance_banded!(banded_f64, f64, |plan| plan.method(Method::$method));
        conformance_banded!(banded_f32, f32, |plan| plan.method(Method::$method));
        conformance_banded!(banded_c64, Complex64, |plan| plan.method(Method::$method));
        conformance_banded!(banded_c32, Complex32, |plan| plan.method(Method::$method));
    };
    (NarrowBand $method:ident) => {
        suites!(Band $method);
    };
    ($blocks:ident $method:ident) => {};
}

macro_rules! of_every_method {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { $($kind:ident $page:literal [$($how:tt)+];)* }
    )*) => {$(
        #[allow(non_snake_case, unused_imports)]
        mod $variant {
            use super::*;
            $(suites!($kind $variant);)*
        }
    )*};
}
bandsolve::methods!(of_every_method);

#[allow(non_snake_case)]
mod Auto {
    use super::*;
    suites!(Tridiagonal Auto);
    suites!(Band Auto);
}

conformance_batch!(batch_f64, f64, |plan| plan);
conformance_batch!(batch_f32, f32, |plan| plan);
conformance_batch!(batch_c64, Complex64, |plan| plan);
conformance_batch!(batch_c32, Complex32, |plan| plan);
