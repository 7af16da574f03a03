//! What the programs `bandsolve` and `bandsolve-mpi` share: options, exit codes, files, progress lines and reports.

pub mod csr;
pub mod exit;
pub mod io;
pub mod memory;
pub mod names;
pub mod options;
pub mod progress;
pub mod report;
pub mod structure;
