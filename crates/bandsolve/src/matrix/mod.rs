//! Matrices as views over the caller's memory.

mod banded;
mod banded_batch;
mod batch;
mod block_tridiagonal;
mod column_strides;
mod csc;
mod hermitian_batch;
mod periodic;
mod shape;
mod tridiagonal;

pub use banded::Banded;
pub use banded_batch::BandedBatch;
pub use bandsolve_kernel::band_form::{BandStrides, BlockStrides};
pub use batch::TridiagonalBatch;
pub use block_tridiagonal::BlockTridiagonal;
pub use column_strides::ColumnStrides;
pub(crate) use csc::ColumnGroup;
pub use csc::{Csc, CscMut, Index, IndexWords};
pub use periodic::PeriodicBanded;
pub(crate) use periodic::{RingOrder, RowRuns, block_reach};
pub(crate) use shape::{BandSize, BlockSize};
pub use shape::{Layout, Shape};
pub use tridiagonal::Tridiagonal;
