//! What the user may type.

use bandsolve::{Method, Pivoting};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  an output could not be written
  2  wrong usage
  3  an input is unreadable, malformed or does not fit the others
  4  the matrix is singular or the answer did not reach the accuracy contract";

/// Linear systems whose non-zeros lie in a narrow band, solved in parallel, every answer verified.
///
/// Without a command: a short demonstration.
#[derive(Debug, Parser)]
#[command(name = "bandsolve", version, after_help = EXIT_CODES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands, one file each.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve A·x = rhs
    ///
    /// Bandwidths and corners are found in the matrix: tridiagonal, periodic tridiagonal or banded. Without --rhs a
    /// solution x (normal numbers, mean 3, deviation 1) is made up, rhs = A·x is computed in doubled precision, and the
    /// forward error |x - x_known| / |x_known| is reported too.
    Solve(SolveArgs),
    /// Describe a matrix: bands, dominance, symmetry, condition, the method that would be taken
    Info(InfoArgs),
    /// Write a matrix of a known family
    Generate(GenerateArgs),
    /// Accuracy tables of the literature, beside our own numbers
    Stability(StabilityArgs),
    /// Measure speed beside LAPACK's way and the memory bus
    Bench(BenchArgs),
}

const SOLVE_HELP: &str = "\
Files:
  Matrix Market (coordinate or array; real, integer or complex; general, symmetric, skew-symmetric or
  hermitian), also gzipped, and NumPy's .npy and .npz (file.npz:name picks one of several arrays).
  The content tells, not the name. `-` reads standard input.

Examples:
  bandsolve solve A.mtx                              a known solution is made up and compared with
  bandsolve solve A.mtx --rhs b.mtx --out x.mtx
  bandsolve solve A.mtx.gz --dtype f32 --method pivoted --json report.json
  bandsolve generate random 1000000 | bandsolve solve -";

/// Arguments of `solve`.
#[derive(Debug, ClapArgs)]
#[command(after_help = SOLVE_HELP, after_long_help = format!("{SOLVE_HELP}\n\n{EXIT_CODES}"))]
pub struct SolveArgs {
    /// The matrix A
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Right-hand sides, one a column [default: made from a known solution]
    #[arg(long, value_name = "b.mtx")]
    pub rhs: Option<PathBuf>,
    /// Write x here: .mtx (or `-`) or .npy
    #[arg(long, value_name = "x.mtx")]
    pub out: Option<PathBuf>,
    /// How to solve
    #[arg(long, default_value = "auto", value_parser = method_parser())]
    pub method: Method,
    /// How pivot rows are chosen
    #[arg(long, default_value = Pivoting::default().name(), value_parser = pivoting_parser())]
    pub pivoting: Pivoting,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Insist on a periodic tridiagonal matrix: entries beside the diagonal and in the two corners
    #[arg(long)]
    pub periodic: bool,
    /// Number type to solve in [default: f64, or c128 if a file is complex]
    #[arg(long)]
    pub dtype: Option<Dtype>,
    /// Write a machine-readable report here (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seed of the known solution
    #[arg(long, default_value_t = 1, conflicts_with = "rhs")]
    pub seed: u64,
}

/// Number types under NumPy's names: the number counts all bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
    /// Complex, two f32
    C64,
    /// Complex, two f64
    C128,
}

impl Dtype {
    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::C64 => "c64",
            Dtype::C128 => "c128",
        }
    }

    /// Whether it has an imaginary part.
    pub fn is_complex(self) -> bool {
        matches!(self, Dtype::C64 | Dtype::C128)
    }
}

/// Describe a matrix: bands, dominance, symmetry, condition, the method that would be taken
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve info A.mtx\n  bandsolve info A.mtx.gz --json - | jq .rcond")]
pub struct InfoArgs {
    /// The matrix
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Write a machine-readable report here (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Write a matrix of a known family, as a Matrix Market file
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  bandsolve generate --list\n  bandsolve generate random 1000 --seed 7 --out A.mtx\n  \
    bandsolve generate random 1000 | bandsolve solve -"
)]
pub struct GenerateArgs {
    /// Name of the family; --list shows them
    #[arg(required_unless_present = "list", value_name = "FAMILY")]
    pub family: Option<String>,
    /// Number of unknowns
    #[arg(required_unless_present = "list")]
    pub n: Option<u32>,
    /// Seed of the random families
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write here instead of to standard output
    #[arg(long, value_name = "A.mtx")]
    pub out: Option<PathBuf>,
    /// List the families
    #[arg(long, conflicts_with_all = ["family", "out"])]
    pub list: bool,
}

/// Accuracy tables of the literature, beside our own numbers
#[derive(Debug, ClapArgs)]
pub struct StabilityArgs {
    /// Which table.
    #[command(subcommand)]
    pub table: StabilityTable,
}

/// The stability tables.
#[derive(Debug, Subcommand)]
pub enum StabilityTable {
    /// The tridiagonal test matrices
    Tridiagonal {
        /// Number of unknowns
        #[arg(long, default_value_t = 512)]
        n: usize,
        /// Write a machine-readable report here (`-`: standard output)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

/// Measure speed beside LAPACK's way and the memory bus
#[derive(Debug, ClapArgs)]
pub struct BenchArgs {
    /// Which measurement.
    #[command(subcommand)]
    pub table: BenchTable,
}

/// The measurements.
#[derive(Debug, Subcommand)]
pub enum BenchTable {
    /// One tridiagonal system
    Tridiagonal {
        /// Write a machine-readable report here (`-`: standard output)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

fn method_parser() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::ALL.map(Method::name)).map(|s| Method::from_name(&s).expect("a listed name"))
}

fn pivoting_parser() -> impl TypedValueParser<Value = Pivoting> {
    PossibleValuesParser::new(Pivoting::ALL.map(Pivoting::name))
        .map(|s| Pivoting::from_name(&s).expect("a listed name"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        super::Args::command().debug_assert();
    }
}
