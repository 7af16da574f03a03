//! The C functions. Each is one line that calls the implementation through the guard.
//!
//! Each number type has a file. `d.rs` is written by hand. The test `header` checks that the other files are the same text with another
//! type, and can regenerate them. (cbindgen cannot see functions inside a macro.)
//!
//! # Safety
//! For all functions: pointers that are not null must point to the number of elements in the header, during the call. No other thread may
//! use the written arrays during the call. Everything else is checked.

// The requirements for callers are above. The bodies pass them on.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]

mod c;
mod csr;
mod d;
mod general;
#[cfg(feature = "cuda")]
mod gpu;
mod poisson;
mod s;
mod z;

pub use c::*;
pub use csr::*;
pub use d::*;
pub use general::*;
#[cfg(feature = "cuda")]
pub use gpu::*;
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
