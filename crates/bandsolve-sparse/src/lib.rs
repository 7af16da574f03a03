//! Sparse matrices, the tridiagonal systems that carry most of their weight, and how those are found.
//!
//! ```
//! use bandsolve::{Factor, Plan};
//! use bandsolve_sparse::{Csr, GraphFactorOptions, Forest, Graph};
//! // A ring of six unknowns, given by rows: the strong couplings are 0–3, 3–1 and 1–4.
//! let pointers = [0, 3, 6, 9, 12, 15, 18];
//! let columns = [0, 3, 5, 1, 3, 4, 2, 4, 5, 3, 0, 1, 4, 1, 2, 5, 2, 0];
//! let values = [4.0, -2.0, -0.1, 4.0, -2.0, -1.0, 4.0, -0.2, -0.3, 4.0, -2.0, -2.0, 4.0, -1.0, -0.2, 4.0, -0.3, -0.1];
//! let a = Csr::new(6, &pointers[..], &columns[..], &values[..])?;
//! let graph = Graph::of(&a)?;
//! let forest = Forest::of(&graph, &GraphFactorOptions::default())?;
//! assert!(forest.coverage(&graph) > 0.9);
//! let lines = forest.tridiagonal(&a)?;
//! let x = Plan::once(lines.shape()).factor(&lines)?.solve(&[1.0; 6])?;
//! assert!(x.report.backward_error < 1e-15);
//! # Ok::<(), bandsolve::Error>(())
//! ```

mod accurate;
mod csr;
mod factor;
mod forest;
mod graph;
mod instances;
pub mod interop;
mod krylov;
mod multiply;
mod ordering;
mod precond;
mod prepared;
mod product;
mod random;
mod reduce;
mod rounded;
mod row_maxima;
mod rows;
mod single;
mod sliced;
mod stencils;
mod two_largest;

pub use csr::Csr;
pub use factor::{GraphFactor, GraphFactorOptions, greedy};
pub use forest::Forest;
pub use graph::Graph;
pub use krylov::{
    Ending, IterationProgress, IterationReport, KrylovInverse, KrylovMethod, KrylovSolver, PreconditionerSide,
};
pub use precond::{
    AlternatingInner, AlternatingOuter, DiagonalInverse, DiagonalRule, ForestProduct, ForestSolver, IncompleteInverse,
    IncompleteLu, LineMultigrid, MultigridOptions, PRECONDITIONERS, PairForestSolver, Preconditioner,
    PreconditionerKind, PreconditionerOptions, comparable_graph,
};
pub use prepared::PreparedProduct;
pub use reduce::{ProductPlan, ProductSchedule, RowReduction, reduce_rows};
pub use row_maxima::{RowArgMax, RowArgMax2, RowMax, RowMaxWithColumn};
pub use single::{DoubleScalar, SingleInverse};
pub use stencils::{MODEL_PROBLEMS, ModelProblem, nine_point, seven_point, twenty_seven_point};
