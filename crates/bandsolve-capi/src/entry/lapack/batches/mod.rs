//! The C functions for many systems of the same size.

mod d;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/lapack/batches/s.rs"));
}
mod c {
    include!(concat!(env!("OUT_DIR"), "/entry/lapack/batches/c.rs"));
}
mod z {
    include!(concat!(env!("OUT_DIR"), "/entry/lapack/batches/z.rs"));
}

pub use c::*;
pub use d::*;
pub use s::*;
pub use z::*;

use crate::lapack::{self, BandArguments, BatchSizes, BlockArguments, Lifetime, StoredDiagonals, bandsolve_factor_t};
use crate::settings::BoolArgument;
use crate::status::{bandsolve_status_t, guard};
use bandsolve::{Complex32, Complex64};
use core::ffi::c_char;
