//! The C functions that enqueue solves on devices. They exist only for devices.
//!
//! # Safety
//! As in `entry::gpu`.

mod d;
mod general;

mod s {
    include!(concat!(env!("OUT_DIR"), "/entry/gpu/enqueue/s.rs"));
}
mod c {
    include!(concat!(env!("OUT_DIR"), "/entry/gpu/enqueue/c.rs"));
}
mod z {
    include!(concat!(env!("OUT_DIR"), "/entry/gpu/enqueue/z.rs"));
}

pub use c::*;
pub use d::*;
pub use general::*;
pub use s::*;
pub use z::*;

use super::*;
