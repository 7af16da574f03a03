//! The methods, one per file.

pub(crate) mod adaptive_cr;
pub(crate) mod bcyclic;
pub(crate) mod block_dense;
pub(crate) mod block_spike;
pub(crate) mod block_stored;
pub(crate) mod cf_lu;
pub(crate) mod cholesky;
pub(crate) mod cr;
pub(crate) mod cyclic_reduction;
pub(crate) mod dense_lu;
pub(crate) mod diagonal_pivoting;
pub(crate) mod parallel_diagonal_pivoting;
pub(crate) mod pcr;
pub(crate) mod rpts;
pub(crate) mod spike;
pub(crate) mod spike_cr;
pub(crate) mod spike_diagonal_pivoting;
pub(crate) mod spike_qr;
pub(crate) mod spike_thomas;
pub(crate) mod spike_truncated;
pub(crate) mod stored;
pub(crate) mod theta;
pub(crate) mod thomas;
pub(crate) mod tricr;
