//! The C functions for arrays in the memory of devices.
//!
//! # Safety
//! As in `entry`. Pointers to matrices, right-hand sides and solutions point to the memory of the device.

mod d;
mod enqueue;
mod general;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/gpu/s.rs"));
}
mod c {
    include!(concat!(env!("OUT_DIR"), "/entry/gpu/c.rs"));
}
mod z {
    include!(concat!(env!("OUT_DIR"), "/entry/gpu/z.rs"));
}

pub use c::*;
pub use d::*;
pub use enqueue::*;
pub use general::*;
pub use s::*;
pub use z::*;

use crate::gpu::{self, CallSettings, bandsolve_gpu_device_t, bandsolve_gpu_status_t};
use crate::settings::PivotingArgument;
use crate::solve::{Sides, SystemKind};
use crate::sparse::{SparseColumns, SparseColumnsMut};
use crate::status::{bandsolve_status_t, guard};
use bandsolve::{Complex32, Complex64};
use core::ffi::c_void;
use core::ptr::null_mut;
