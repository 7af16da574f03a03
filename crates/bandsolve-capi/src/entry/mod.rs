//! The C functions: each is a line that calls what is behind it through the guard.
//!
//! Those of one type are a file: `d.rs` is written by hand, the others are the same text in another type, kept so by the test
//! `header`, which writes them anew if asked to. (A macro would hide them from cbindgen.)
//!
//! # Safety
//! Of all functions: pointers that are not null point to as many elements as the header says, for the time of the call;
//! what is written is used by nobody else meanwhile. Everything else is checked.

// What callers have to keep is said above, once; the bodies pass it on.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]

mod c;
mod csr;
mod d;
mod general;
#[cfg(feature = "gpu")]
mod gpu;
mod poisson;
mod s;
mod z;

pub use c::*;
pub use csr::*;
pub use d::*;
pub use general::*;
#[cfg(feature = "gpu")]
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
