//! The C functions for Poisson problems, in two types: numbers are real.

mod d;
mod general;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/poisson/s.rs"));
}

pub use d::*;
pub use general::*;
pub use s::*;

use crate::poisson;
use crate::poisson::{
    bandsolve_pencils_problem_t, bandsolve_poisson_problem_t, bandsolve_poisson_report_t, bandsolve_poisson_solver_t,
};
use crate::status::{bandsolve_status_t, guard};
use core::ffi::{c_char, c_void};
