//! The general separable form: two tridiagonal matrices per axis.

mod axis;
mod condition;
mod eigen;
mod lumped;
mod residual;
mod solver;

pub use axis::AxisPencil;
pub(crate) use eigen::has_eigenvectors;
pub(crate) use lumped::LumpedSolver;
pub(crate) use residual::{PencilOperator, PencilResidual};
pub(crate) use solver::FactorPencils;
