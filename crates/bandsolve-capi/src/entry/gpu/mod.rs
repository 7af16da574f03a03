//! The C functions for the memory of devices.
//!
//! `d.rs` is written by hand, the other types are made of it, as those for the memory of the CPU.
//!
//! # Safety
//! As in `entry`, with pointers into the memory of the device: to arrays of matrices, right-hand sides and solutions.

mod c;
mod d;
mod general;
mod s;
mod z;

pub use c::*;
pub use d::*;
pub use general::*;
pub use s::*;
pub use z::*;

use crate::gpu::{self, At, bandsolve_gpu_device_t};
use crate::settings::PivotingArgument;
use crate::solve::{Sides, SystemKind};
use crate::sparse::{SparseColumns, SparseColumnsMut};
use crate::status::{bandsolve_status_t, guard};
use bandsolve::{Complex32, Complex64};
use core::ffi::c_void;
use core::ptr::null_mut;
