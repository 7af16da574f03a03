//! Methods with partitions: reduce each partition to equations between its ends, solve these coarse equations, substitute back.

pub(crate) mod block_repair;
pub(crate) mod blocks;
mod confirm;
pub(crate) mod cut;
pub(crate) mod driver;
pub(crate) mod level;
pub(crate) mod level_matrix;
mod one_pass;
pub(crate) mod partitioned;
pub(crate) mod repair;
mod scalars;
pub(crate) mod settings;
pub(crate) mod sparse_sweep;
pub(crate) mod stored;
pub(crate) mod truncation;
pub(crate) mod two_blocks;
