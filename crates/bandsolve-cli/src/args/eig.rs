//! Arguments of `eig`.

use bandsolve::Complex64;
use bandsolve_eigen::Which;
use bandsolve_program::options::{finite, named, tolerance};
use clap::Args as ClapArgs;
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use std::path::PathBuf;

const EIG_EXAMPLES: &str = "\
Examples:
  bandsolve eig A.mtx --target 0.75 -k 5
  bandsolve eig K.mtx M.mtx --target 0 -k 3 --json -
  bandsolve eig A.mtx --which largest-real --out lambda.npy --vectors x.npy
  bandsolve generate radiative 64 64 | bandsolve eig - --target 0.75";

/// Arguments of `eig`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EIG_EXAMPLES, after_long_help = format!("{EIG_EXAMPLES}\n\n{}", super::EXIT_CODES))]
pub struct EigArgs {
    /// The matrix A
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// The matrix B [default: the identity]
    #[arg(value_name = "B.mtx")]
    pub mass: Option<PathBuf>,
    /// Find the eigenvalues nearest to this real or complex number, such as 0.5+2i, with shift-and-invert
    #[arg(long, value_name = "SIGMA", allow_hyphen_values = true, value_parser = number)]
    pub target: Option<Complex64>,
    /// Find all eigenvalues λ with LOW <= λ < HIGH of a Hermitian problem; eigenvalue counts prove that none is missing
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_hyphen_values = true, value_parser = finite,
        conflicts_with_all = ["target", "which", "k"])]
    pub interval: Option<Vec<f64>>,
    /// Number of eigenvalues, at most the number of rows [default: 5, or all if there are fewer]
    #[arg(short, value_name = "K")]
    pub k: Option<usize>,
    /// Which eigenvalues: nearest (to --target), largest-magnitude, smallest-magnitude, largest-real, smallest-real,
    /// largest-imaginary, smallest-imaginary, both-ends; or as SciPy names them: LM, SM, LR, SR, LI, SI, LA, SA, BE
    /// [default: nearest with --target, else largest-magnitude]
    #[arg(long, value_name = "NAME", value_parser = named::<WhichName>)]
    pub which: Option<WhichName>,
    /// Maximum dimension of the Krylov space [default: 2 K + 6, at least 16]
    #[arg(long, value_name = "NCV")]
    pub ncv: Option<usize>,
    /// Relative tolerance, 0 <= TOL < 1: each residual in the report is at most TOL, or at the level of rounding errors; 0 means machine precision
    #[arg(long, default_value = "0", value_name = "TOL", allow_negative_numbers = true, value_parser = tolerance)]
    pub tol: f64,
    /// Maximum number of iterations, which end with a restart
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub max_iterations: usize,
    /// Seed of the random start vectors
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write the eigenvalues to this file, with all digits: .mtx, .npy or `-` (standard output, as .mtx)
    #[arg(long, value_name = "lambda.mtx")]
    pub out: Option<PathBuf>,
    /// Write the eigenvectors to this file, one per column, in the order of the eigenvalues: .mtx, .npy or `-`
    #[arg(long, value_name = "x.mtx")]
    pub vectors: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// The value of `--which`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichName {
    /// The eigenvalues nearest to the target.
    Nearest,
    /// The eigenvalues at an end of the spectrum.
    End(Which),
}

impl FromStr for WhichName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "nearest" {
            return Ok(Self::Nearest);
        }
        text.parse().map(Self::End).map_err(|others| format!("{others}, and nearest"))
    }
}

impl Display for WhichName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nearest => f.write_str("nearest"),
            Self::End(which) => which.fmt(f),
        }
    }
}

/// Parse a finite real or complex number.
fn number(text: &str) -> Result<Complex64, String> {
    match text.parse::<Complex64>() {
        Ok(value) if value.re.is_finite() && value.im.is_finite() => Ok(value),
        _ => Err("expected a finite number, such as 0.75 or 0.5+2i".into()),
    }
}
