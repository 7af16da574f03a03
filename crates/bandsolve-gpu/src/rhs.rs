//! Right-hand sides in the form that the kernels use.

use crate::launch::{Arguments, DeviceColumns};

/// Sparse columns in the form that the kernels use (`sparse.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Sparse {
    pub values: u64,
    pub rows: u64,
    pub pointers: u64,
}

/// Right-hand sides in the form that the kernels use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rhs {
    Dense(DeviceColumns),
    Sparse(Sparse),
}

impl Rhs {
    /// Add these right-hand sides to the arguments of a kernel. Also returns the suffix of the kernel's name.
    pub fn with(self, arguments: Arguments) -> (Arguments, &'static str) {
        match self {
            Self::Dense(columns) => (arguments.with(columns), ""),
            Self::Sparse(sparse) => (arguments.with(sparse), "_sparse"),
        }
    }
}
