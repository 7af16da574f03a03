//! The C functions with LAPACK's names and arguments.

mod batches;
mod d;
mod general;
mod symmetric;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/lapack/s.rs"));
}
mod c {
    include!(concat!(env!("OUT_DIR"), "/entry/lapack/c.rs"));
}
mod z {
    include!(concat!(env!("OUT_DIR"), "/entry/lapack/z.rs"));
}

pub use batches::*;
pub use c::*;
pub use d::*;
pub use general::*;
pub use s::*;
pub use symmetric::*;
pub use z::*;

use crate::lapack::{self, LapackColumns, Lifetime, bandsolve_factor_t};
use crate::settings::DoubleArgument;
use crate::status::{bandsolve_status_t, guard};
use bandsolve::{Complex32, Complex64};
use core::ffi::{c_char, c_double, c_float};
