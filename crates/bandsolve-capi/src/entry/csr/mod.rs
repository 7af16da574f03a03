//! The C functions for sparse matrices by rows, with forests, preconditioners and iterative solves.

mod d;
mod general;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/csr/s.rs"));
}
mod c {
    include!(concat!(env!("OUT_DIR"), "/entry/csr/c.rs"));
}
mod z {
    include!(concat!(env!("OUT_DIR"), "/entry/csr/z.rs"));
}

pub use c::*;
pub use d::*;
pub use general::*;
pub use s::*;
pub use z::*;

use crate::csr::{self, IterationCall, OperationArgument, SparseRows};
use crate::csr::{
    bandsolve_csr_t, bandsolve_forest_info_t, bandsolve_forest_options_t, bandsolve_forest_t,
    bandsolve_iteration_options_t, bandsolve_iteration_report_t, bandsolve_precond_t,
};
use crate::status::{bandsolve_status_t, guard};
use bandsolve::{Complex32, Complex64};
use core::ffi::{c_char, c_void};
