//! The C functions for eigenvalues of symmetric tridiagonal matrices, in two types: numbers are real.

mod d;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/lapack/symmetric/s.rs"));
}

pub use d::*;
pub use s::*;

use crate::eigen::{self, EigenvalueSelection};
use crate::status::{bandsolve_status_t, guard};
use core::ffi::c_char;
