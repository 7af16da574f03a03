//! Arguments of `iterate` and `forest`.

use super::OperatorArgs;
use bandsolve_program::options::{IterationArgs, RealDtype, named, positive};
use bandsolve_sparse::{KrylovMethod, PreconditionerKind};
use clap::{Args as ClapArgs, ValueEnum};
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use std::path::PathBuf;

const ITERATE_EXAMPLES: &str = "\
Examples:
  bandsolve iterate A.mtx
  bandsolve iterate A.mtx --solver gmres:20 --precond alt-i:2 --rtol 1e-8
  bandsolve iterate A.mtx --rhs b.mtx --out x.mtx --solver cg --precond jacobi --plot history.svg
  bandsolve iterate A.mtx --solver refine:gmres:20 --rtol 1e-14
  bandsolve iterate A.mtx --rhs b.mtx --transpose         solve with the transpose of A
  bandsolve generate aniso1 500 | bandsolve iterate - --solver gmres:20 --precond mos-a:4 --json -";

const SOLVERS: &str = "One of: auto (choose one for the preconditioner); gmres:M or fgmres:M (restart after M iterations; flexible GMRES if the \
                       preconditioner changes); bicgstab; cg (for Hermitian positive definite matrices); idr:S (S shadow vectors); \
                       richardson:OMEGA (damping factor OMEGA); refine:METHOD (iterative refinement: METHOD in single precision \
                       to a relative residual of 1e-4, residuals in double precision)";

/// Arguments of `iterate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = ITERATE_EXAMPLES, after_long_help = format!("{ITERATE_EXAMPLES}\n\n{}", super::EXIT_CODES))]
pub struct IterateArgs {
    /// The matrix A
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Right-hand sides, one per column [default: computed from a known solution]
    #[arg(long, value_name = "b.mtx")]
    pub rhs: Option<PathBuf>,
    /// Write x to this file: .mtx, .npy or `-` (standard output, as .mtx)
    #[arg(long, value_name = "x.mtx")]
    pub out: Option<PathBuf>,
    /// The operator: A or its transpose.
    #[command(flatten)]
    pub operator: OperatorArgs,
    /// The Krylov method; auto chooses one for the preconditioner
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = named::<SolverName>, long_help = SOLVERS)]
    pub solver: SolverName,
    /// The preconditioner; auto chooses one for the matrix
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = named::<PreconditionerKind>)]
    #[arg(long_help = format!("One of: {}", bandsolve_sparse::PRECONDITIONERS))]
    pub precond: PreconditionerKind,
    /// Number type of the preconditioner; f32, also for complex matrices, halves its memory
    #[arg(long, default_value = "f64")]
    pub precond_dtype: RealDtype,
    /// The side of A on which the preconditioner M is applied
    #[arg(long, default_value = "right")]
    pub side: SideName,
    /// Stop when |b - A x| <= max(RTOL |b|, ATOL) in the 2-norm
    #[arg(long, visible_alias = "tol", default_value = "1e-5", value_name = "RTOL", allow_negative_numbers = true, value_parser = positive)]
    pub rtol: f64,
    /// Absolute tolerance, see --rtol
    #[arg(long, default_value = "0", value_name = "ATOL", allow_negative_numbers = true, value_parser = positive)]
    pub atol: f64,
    /// The limit of the iterations and the options of forests.
    #[command(flatten)]
    pub iteration: IterationArgs,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write a plot of the residual after each iteration to this file: .svg or .png
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// The value of `--solver`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SolverName {
    /// The method that `--precond auto` chooses together with the preconditioner, otherwise GMRES(30).
    Auto,
    /// A Krylov method.
    Krylov(KrylovMethod),
    /// Iterative refinement with a Krylov method in single precision.
    Refine(KrylovMethod),
}

impl FromStr for SolverName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("refine:") {
            _ if text == "auto" => Ok(Self::Auto),
            Some(inner) => named(inner).map(Self::Refine),
            None => text.parse().map(Self::Krylov).map_err(|why: String| match why.starts_with("no solver") {
                true => why + ", refine:METHOD, auto",
                false => why,
            }),
        }
    }
}

impl Display for SolverName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Krylov(method) => method.fmt(f),
            Self::Refine(method) => write!(f, "refine:{method}"),
        }
    }
}

/// Sides of a preconditioner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SideName {
    /// Iterate with A M^-1: the method minimizes the residual of A x = b
    Right,
    /// Iterate with M^-1 A: the method minimizes the preconditioned residual
    Left,
}

/// Arguments of `forest`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve forest A.mtx\n  bandsolve forest A.mtx --plot forest.svg\n  \
    bandsolve generate aniso1 2500 | bandsolve forest - --degree 4 --json -")]
pub struct ForestArgs {
    /// The matrix
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Maximum number of edges at each vertex: 1 to 4
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub degree: u8,
    /// Maximum number of rounds; in each round, vertices propose edges to their neighbors
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,
    /// Seed of the random numbers in the algorithm
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draw the forest in the matrix, and for a square grid also in the grid, to this file: .svg or .png
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}
