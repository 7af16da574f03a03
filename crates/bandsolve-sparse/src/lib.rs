//! Krylov solvers and preconditioners for sparse matrices whose entries may lie anywhere.
//!
//! ```
//! use bandsolve_sparse::{KrylovMethod, KrylovSolver, Preconditioner, PreconditionerKind, nine_point};
//! // Anisotropic diffusion on a grid of 50 × 50 points.
//! let a = nine_point([[0.0, -0.01, 0.0], [-1.0, 2.02, -1.0], [0.0, -0.01, 0.0]], (50, 50));
//! let m = Preconditioner::new(&a, PreconditionerKind::Auto, &Default::default())?;
//! let method = m.method().unwrap_or(KrylovMethod::Gmres { restart: 30 });
//! let mut x = vec![0.0; a.rows()];
//! let report = KrylovSolver::new(method).rtol(1e-8).solve(&a, Some(&m), &vec![1.0; 2500], &mut x)?;
//! assert!(report.converged());
//! # Ok::<(), bandsolve::Error>(())
//! ```
//!
//! The solver reports convergence only from a residual that it computed from x ([`KrylovSolver`] has the exact rule). The results are the same for any
//! number of threads. If all entries lie in a narrow band, solve directly with the crate [`bandsolve`].
//!
//! # Types by task
//!
//! | task | type or function |
//! | --- | --- |
//! | make a sparse matrix, or borrow the arrays of one | [`Csr`] |
//! | solve A·x = b iteratively | [`KrylovSolver`] |
//! | let the library choose preconditioner and method | [`Preconditioner`] with [`PreconditionerKind::Auto`] |
//! | use a preconditioner by its name, such as `ilu0` or `amg-lines` | [`Preconditioner`], [`PreconditionerKind`], [`PRECONDITIONERS`] |
//! | set up one preconditioner in detail | [`LineMultigrid`], [`ForestSolver`], [`PairForestSolver`], [`AlternatingInner`], [`AlternatingOuter`], [`ForestProduct`], [`IncompleteLu`], [`IncompleteInverse`], [`DiagonalInverse`] |
//! | precondition or refine in single precision | [`SingleInverse`] |
//! | use an iterative solve as an operator, for eigenvalues | [`KrylovInverse`] |
//! | multiply with a vector, α·A·x + β·y | [`Csr::product`] |
//! | multiply with the same matrix many times | [`PreparedProduct`] |
//! | reduce each row by your own operators (maxima, semirings) | [`reduce_rows`], [`ProductPlan`], [`RowReduction`] |
//! | find the tridiagonal systems with most of the weight | [`Graph`], [`GraphFactor`], [`Forest`] |
//! | find the bandwidths, corners or blocks of a matrix, and convert it for a direct solver | [`Structure`], [`EntryList`] |
//! | ignore small entries | [`Csr::without_small`] |
//! | make the band narrower by renumbering | [`Graph::reverse_cuthill_mckee`] |
//! | make model problems | [`nine_point`], [`seven_point`], [`twenty_seven_point`], [`MODEL_PROBLEMS`] |
//!
//! # Linear forests
//!
//! A linear forest is a set of disjoint paths along large entries of the matrix. In the order of the paths, these entries form a tridiagonal system,
//! which the crate [`bandsolve`] solves directly. The coverage is the share of the paths in the sum of the moduli of all off-diagonal entries.
//!
//! ```
//! use bandsolve::{Factor, Plan};
//! use bandsolve_sparse::{Csr, Forest, Graph, GraphFactorOptions};
//! // A ring of six unknowns. The strong couplings are 0–3, 3–1 and 1–4.
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
//!
//! # Features
//!
//! Both features are off by default.
//!
//! | feature | adds |
//! | --- | --- |
//! | `faer` | conversions of sparse matrices from and to `faer`, and operators of bandsolve in the iterative methods of `faer`: [`interop`] |
//! | `sprs` | conversions of sparse matrices from and to `sprs`: [`interop`] |
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-io`]: matrices from Matrix Market, `.npy` and `.npz` files
//! - [`bandsolve-eigen`]: eigenvalues of tridiagonal, block tridiagonal and banded matrices, of pencils and of operators
//! - [`bandsolve-poisson`]: Poisson and Helmholtz problems on an interval, a rectangle or a box
//! - [`bandsolve-gallery`]: test matrices and reference solutions
//!
//! # Guide
//!
//! The pages `docs/sparse-systems.md`, `docs/math/krylov.md` and `docs/math/preconditioners.md` of the repository explain the methods and the choice.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-io`]: https://docs.rs/bandsolve-io
[`bandsolve-eigen`]: https://docs.rs/bandsolve-eigen
[`bandsolve-poisson`]: https://docs.rs/bandsolve-poisson
[`bandsolve-gallery`]: https://docs.rs/bandsolve-gallery"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-io`]: ../bandsolve_io/index.html
[`bandsolve-eigen`]: ../bandsolve_eigen/index.html
[`bandsolve-poisson`]: ../bandsolve_poisson/index.html
[`bandsolve-gallery`]: ../bandsolve_gallery/index.html"
)]

mod accurate;
mod csr;
mod dissection;
mod factor;
mod forest;
mod graph;
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
mod row_builder;
mod row_maxima;
mod rows;
mod scratch;
mod single;
mod sliced;
mod stencils;
mod structure;
mod tuning;
mod two_largest;

pub use csr::Csr;
pub use dissection::{Dissection, DissectionPart};
pub use factor::{GraphFactor, GraphFactorOptions, greedy};
pub use forest::Forest;
pub use graph::Graph;
pub use krylov::{
    Ending, IterationProgress, IterationReport, KrylovInverse, KrylovMethod, KrylovSolver, PreconditionerSide,
    Preconditioning,
};
pub use precond::*;
pub use prepared::PreparedProduct;
pub use reduce::{ProductPlan, ProductSchedule, RowReduction, reduce_rows};
pub use row_maxima::{RowArgMax, RowArgMax2, RowMax, RowMaxWithColumn};
pub use single::{DoubleScalar, ScaledSingle, SingleInverse};
pub use stencils::{MODEL_PROBLEMS, ModelProblem, nine_point, seven_point, twenty_seven_point};
pub use structure::{EntryList, MatrixForm, Structure};
