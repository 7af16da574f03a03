//! Arguments of `iterate` and `forest`.

use bandsolve_sparse::{KrylovMethod, PreconditionerKind};
use clap::{Args as ClapArgs, ValueEnum};
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use std::path::PathBuf;

const ITERATE_EXAMPLES: &str = "\
Examples:
  bandsolve iterate A.mtx
  bandsolve iterate A.mtx --solver gmres:20 --precond alt-i:2 --tol 1e-8
  bandsolve iterate A.mtx --rhs b.mtx --out x.mtx --solver cg --precond jacobi --plot history.svg
  bandsolve iterate A.mtx --solver refine:gmres:20 --tol 1e-14
  bandsolve generate aniso1 500 | bandsolve iterate - --solver gmres:20 --precond mos-a:4 --json -";

const SOLVERS: &str = "gmres:M, restarted after M iterations, and flexible where the preconditioner changes (fgmres:M is the same); bicgstab; cg, for Hermitian positive definite matrices; idr:S, with S \
                       shadow vectors; richardson:OMEGA; refine:METHOD, iterative refinement: METHOD in single \
                       precision to 1e-4, residuals in double precision";

/// Arguments of `iterate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = ITERATE_EXAMPLES, after_long_help = format!("{ITERATE_EXAMPLES}\n\n{}", super::EXIT_CODES))]
pub struct IterateArgs {
    /// The matrix A
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// One right-hand side [default: made from a known solution]
    #[arg(long, value_name = "b.mtx")]
    pub rhs: Option<PathBuf>,
    /// Write x here: .mtx (or `-`) or .npy
    #[arg(long, value_name = "x.mtx")]
    pub out: Option<PathBuf>,
    /// The method
    #[arg(long, default_value = "auto", value_name = "NAME", long_help = SOLVERS)]
    pub solver: SolverName,
    /// The preconditioner
    #[arg(long, default_value = "auto", value_name = "NAME", long_help = format!("One of: {}", bandsolve_sparse::PRECONDITIONERS))]
    pub precond: PreconditionerKind,
    /// Make and apply the preconditioner in single precision: half the memory
    #[arg(long)]
    pub single: bool,
    /// Which side of A the preconditioner stands on
    #[arg(long, default_value = "right")]
    pub side: SideName,
    /// Stop when |b - A x| <= TOL |b|, in the 2-norm
    #[arg(long, default_value = "1e-6", value_name = "TOL", allow_negative_numbers = true, value_parser = positive)]
    pub tol: f64,
    /// Most iterations [default: 10 n, at most 10000]
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<usize>,
    /// Factor on the weight of couplings that an earlier forest contains, before the next forest is extracted (alt-i, alt-o)
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true, value_parser = positive)]
    pub omega: f64,
    /// Seed of the forests
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Draw the residual after each iteration: .svg or .png
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a machine-readable report here (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// What iterates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SolverName {
    /// The method that `--precond auto` chooses with the preconditioner, else GMRES(30).
    Auto,
    /// A Krylov method.
    Krylov(KrylovMethod),
    /// Iterative refinement around one in single precision.
    Refine(KrylovMethod),
}

impl FromStr for SolverName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("refine:") {
            _ if text == "auto" => Ok(Self::Auto),
            Some(inner) => inner.parse().map(Self::Refine),
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
    /// A M^-1: the residual is that of A x = b
    Right,
    /// M^-1 A
    Left,
}

/// Arguments of `forest`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve forest A.mtx\n  bandsolve forest A.mtx --plot forest.svg\n  \
    bandsolve generate aniso1 2500 | bandsolve forest - --n 4 --json -")]
pub struct ForestArgs {
    /// The matrix
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Most edges of a vertex
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub n: u8,
    /// Most rounds of proposals
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,
    /// Seed of the charges
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draw the forest on the matrix, as .svg or .png; of a square grid also on the grid
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a machine-readable report here (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// A number from 0 on.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..f64::INFINITY).contains(&value) => Ok(value),
        _ => Err("not a number from 0 on".into()),
    }
}
