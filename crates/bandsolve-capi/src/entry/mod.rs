//! The C functions. Each is one line that calls the implementation through the guard.
//!
//! `d.rs` has the functions in `double`. `build.rs` writes those of the other number types from it, as `number_types.rs` says.
//!
//! # Safety
//! For all functions: pointers that are not null must point to the number of elements in the header, during the call. No other thread may
//! use the written arrays during the call. Everything else is checked.

// The requirements for callers are above. The bodies pass them on.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]

mod csr;
mod d;
mod general;
#[cfg(feature = "cuda")]
mod gpu;
mod lapack;
mod poisson;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/s.rs"));
}
mod c {
    include!(concat!(env!("OUT_DIR"), "/entry/c.rs"));
}
mod z {
    include!(concat!(env!("OUT_DIR"), "/entry/z.rs"));
}

pub use c::*;
pub use csr::*;
pub use d::*;
pub use general::*;
#[cfg(feature = "cuda")]
pub use gpu::*;
pub use lapack::*;
pub use poisson::*;
pub use s::*;
pub use z::*;

use crate::factored;
use crate::settings::PivotingArgument;
use crate::solve::{Sides, SystemKind, banded, blocks, buffer_size, fixed_size, tridiagonal};
use crate::sparse::{SparseColumns, SparseColumnsMut, to_dense, to_sparse};
use crate::status::{bandsolve_status_t, guard};
use bandsolve::{Complex32, Complex64};
use core::ffi::c_void;
