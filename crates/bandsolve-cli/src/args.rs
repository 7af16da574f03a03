//! Definitions of the commands and their options, from which clap parses arguments and writes `--help`.

mod eig;
mod poisson;
mod sparse;

pub use eig::*;
pub use poisson::*;
pub use sparse::*;

use bandsolve::{Method, Pivoting};
use bandsolve_bench::args::{BenchArgs, StabilityArgs};
use bandsolve_program::io::{Triplets, name};
use bandsolve_program::options::{BANDED, BLOCK_TRIDIAGONAL, Dtype, TRIDIAGONAL, gpu_parser, method_parser};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  an output could not be written, or no GPU was found
  2  wrong usage
  3  an input file is missing, malformed or has the wrong size
  4  the matrix is singular, or the answer is not accurate enough";

const EXAMPLES: &str = "\
Examples:
  bandsolve
  bandsolve solve A.mtx --rhs b.mtx --out x.mtx
  bandsolve spy A.mtx
  bandsolve doctor";

/// Solve tridiagonal and banded linear systems in parallel, and check every answer.
///
/// Without a command, bandsolve runs a short demonstration.
#[derive(Debug, Parser)]
#[command(name = "bandsolve", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Args {
    /// The command; without one, the demonstration runs.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands. Each has its own source file.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve A·x = rhs
    ///
    /// The command detects the bandwidths, and whether the matrix is periodic. Without --rhs, it draws a random solution x_known
    /// (normal distribution, mean 3, standard deviation 1) and computes rhs = A·x_known in twice the precision. It then also reports
    /// the forward error |x - x_known| / |x_known|.
    Solve(SolveArgs),
    /// Solve A·x = rhs for any sparse matrix with a preconditioned Krylov method
    ///
    /// Without --rhs, the command computes rhs = A·x_known with x_known[i] = sin(16 pi i / n). It then also reports the forward error
    /// |x - x_known| / |x_known|. If the iteration does not reach the tolerance, the command writes the best x and returns exit code 4.
    Iterate(IterateArgs),
    /// Find paths of large total weight in the graph of a sparse matrix (a linear forest)
    ///
    /// The unknowns are the vertices of the graph. An edge between i and j has the weight |a_ij| + |a_ji|. If you number the unknowns
    /// along the paths, the edges of the paths are in the tridiagonal part of the matrix. With --degree other than 2, the command finds a
    /// subgraph with at most n edges at each vertex.
    Forest(ForestArgs),
    /// Find some eigenvalues of A·x = λ·x or A·x = λ·B·x
    ///
    /// The command uses the Krylov-Schur method, with shift-and-invert near a target. It uses the Hermitian method if A is Hermitian and
    /// B is Hermitian positive definite. If it finds fewer eigenvalues than requested, or if some may be missing, it returns exit code 4.
    Eig(EigArgs),
    /// Solve a Poisson or Helmholtz problem on a box with a direct method
    ///
    /// The problem is (-Laplace + c) u = f in one, two or three dimensions. With spacing 1 and c = 0, the diagonal of the matrix is 2 in
    /// 1D, 4 in 2D and 6 in 3D, and the off-diagonal entries are -1. Without --rhs, f is pseudo-random in [-1, 1] and the same in every
    /// run.
    Poisson(PoissonArgs),
    /// Describe a matrix: bandwidths, dominance, symmetry, condition number, and the method that auto chooses
    Info(InfoArgs),
    /// Draw the non-zero entries of a matrix and their sizes along the band
    ///
    /// Without --plot, the command draws in the terminal. For a large matrix, each cell shows many entries. A darker cell has more or
    /// larger entries.
    Spy(SpyArgs),
    /// Write a matrix of a known family
    Generate(GenerateArgs),
    /// Reproduce published accuracy tables and compare all methods with them
    Stability(StabilityArgs),
    /// Benchmark against LAPACK and memory bandwidth
    Bench(BenchArgs),
    /// Measure the tuning parameters of this machine and store them in a file
    ///
    /// SPIKE methods divide a banded system into partitions. The command measures the cost of an inner partition relative to the first
    /// and last one. The file is plain text. To return to the built-in values, delete the file. To use another file, set the environment
    /// variable BANDSOLVE_TUNING to its path.
    Tune(TuneArgs),
    /// Report the instruction sets, threads, GPUs and libraries of this machine, and warn about causes of slow runs
    Doctor(DoctorArgs),
    /// Print a completion script for your shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write the manual pages of all commands
    Man(ManArgs),
}

/// Arguments of `doctor`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve doctor\n  bandsolve doctor --json -")]
pub struct DoctorArgs {
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Arguments of `completions`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  bandsolve completions bash > ~/.local/share/bash-completion/completions/bandsolve\n  \
    bandsolve completions fish > ~/.config/fish/completions/bandsolve.fish"
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve man | man -l -\n  bandsolve man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write one page per command to this folder
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Arguments of `tune`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve tune\n  bandsolve tune --show\n  bandsolve tune --device cuda")]
pub struct TuneArgs {
    /// Print the path and the contents of the file without measuring
    #[arg(long)]
    pub show: bool,
    /// Measure this GPU instead: cuda, cuda:1, ...
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
}

const SOLVE_HELP: &str = "\
Files:
  Matrix Market (coordinate or array; real, integer or complex; general, symmetric, skew-symmetric or
  hermitian), also gzipped; NumPy's .npy and .npz (file.npz:name picks one of several arrays); and
  the .npz of scipy.sparse.save_npz.
  The format is detected from the content of the file. `-` reads standard input.

Examples:
  bandsolve solve A.mtx                              choose a solution, compute rhs, and report the forward error
  bandsolve solve A.mtx --rhs b.mtx --out x.mtx
  bandsolve solve A.mtx.gz --dtype f32 --method pivoted --json report.json
  bandsolve solve A.mtx --reorder rcm                renumber the unknowns to make the band narrow
  bandsolve solve A.npz --block 8                    a block tridiagonal matrix with 8 rows per block
  bandsolve solve A.mtx --rhs b.mtx --transpose      solve with the transpose of A
  bandsolve solve A.mtx --device cuda                on a GPU: at most 4 diagonals on each side of the main one
  bandsolve generate random 1000000 | bandsolve solve -";

/// Arguments of `solve`.
#[derive(Debug, ClapArgs)]
#[command(after_help = SOLVE_HELP, after_long_help = format!("{SOLVE_HELP}\n\n{EXIT_CODES}"))]
pub struct SolveArgs {
    /// The matrix A
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Right-hand sides, one per column [default: computed from a known solution]
    #[arg(long, value_name = "b.mtx")]
    pub rhs: Option<PathBuf>,
    /// Write x to this file: .mtx, .npy or `-` (standard output, as .mtx)
    #[arg(long, value_name = "x.mtx")]
    pub out: Option<PathBuf>,
    /// The method; `bandsolve bench methods` and `bandsolve stability` compare all methods
    #[arg(long, default_value = "auto", value_parser = method_parser(&[TRIDIAGONAL, BANDED, BLOCK_TRIDIAGONAL]))]
    pub method: Method,
    /// The pivoting strategy
    #[arg(long, default_value = Pivoting::default().name(), value_parser = pivoting_parser())]
    pub pivoting: Pivoting,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The device: cpu, or a GPU: cuda, cuda:1, ...
    #[arg(long, value_name = "NAME", default_value = "cpu", value_parser = place_parser)]
    pub device: Place,
    /// Solve as a block tridiagonal matrix with this number of rows per block [default: tridiagonal or banded]
    #[arg(long, value_name = "ROWS")]
    pub block: Option<usize>,
    /// Solve as a periodic matrix: entries outside the three diagonals, or block diagonals, are in the two corners
    #[arg(long)]
    pub periodic: bool,
    /// The operator: A or its transpose.
    #[command(flatten)]
    pub operator: OperatorArgs,
    /// Renumber the unknowns if the new order makes the band narrower; x is written in input order
    #[arg(long, value_name = "ORDER", conflicts_with_all = ["periodic", "block"])]
    pub reorder: Option<OrderName>,
    /// Number type to solve in [default: f64; c128 if a file is complex]
    #[arg(long)]
    pub dtype: Option<Dtype>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Seed of the random solution x_known
    #[arg(long, default_value_t = 0, conflicts_with = "rhs")]
    pub seed: u64,
}

/// The matrix to solve with: A, its transpose, or its conjugate transpose.
#[derive(Debug, ClapArgs)]
pub struct OperatorArgs {
    /// Solve with the transpose of A, or with its conjugate transpose: `--transpose conj`
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "plain")]
    transpose: Option<TransposeKind>,
}

impl OperatorArgs {
    /// Apply to A.
    pub fn of(&self, a: Triplets) -> Triplets {
        match self.transpose {
            Some(kind) => a.transposed(kind == TransposeKind::Conj),
            None => a,
        }
    }

    /// The name of the matrix in messages.
    pub fn name_of(&self, path: &Path) -> String {
        let transposed = match self.transpose {
            None => "",
            Some(TransposeKind::Plain) => ", transposed",
            Some(TransposeKind::Conj) => ", conjugate transposed",
        };
        name(path) + transposed
    }

    /// The value in JSON reports.
    pub fn json(&self) -> Option<&'static str> {
        self.transpose.map(|kind| if kind == TransposeKind::Conj { "conj" } else { "plain" })
    }
}

/// The value of `--transpose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransposeKind {
    /// The transpose
    Plain,
    /// The conjugate transpose, which is the transpose of a real matrix
    Conj,
}

/// The device to solve on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The CPU.
    Cpu,
    /// The GPU with this name.
    Gpu(String),
}

/// Methods that renumber the unknowns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// Reverse Cuthill-McKee on the graph of A + Aᵀ
    Rcm,
}

/// Describe a matrix: bandwidths, dominance, symmetry, condition number, and the method that auto chooses
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve info A.mtx\n  bandsolve info A.mtx.gz --json - | jq .rcond")]
pub struct InfoArgs {
    /// The matrix
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Arguments of `spy`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve spy A.mtx\n  bandsolve spy A.mtx.gz --plot A.svg\n  \
    bandsolve generate random 1000 | bandsolve spy -")]
pub struct SpyArgs {
    /// The matrix
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Write the drawing to this file instead of the terminal: .svg or .png (`-`: SVG on standard output)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Write a matrix of a known family, as a Matrix Market file
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  bandsolve generate --list\n  bandsolve generate random 1000 --seed 7 --out A.mtx\n  \
    bandsolve generate random 1000 | bandsolve solve -\n  bandsolve generate radiative 64 64 --out A.mtx"
)]
pub struct GenerateArgs {
    /// Name of the family; --list shows them
    #[arg(required_unless_present = "list", value_name = "FAMILY")]
    pub family: Option<String>,
    /// Number of unknowns; for grids, the number along each side; for `radiative`, the number of blocks
    #[arg(required_unless_present = "list", value_name = "N")]
    pub n: Option<u32>,
    /// Number of rows per block, for `radiative` only
    #[arg(value_name = "K")]
    pub block: Option<u32>,
    /// Seed of the random families
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write the matrix to this .mtx file instead of standard output
    #[arg(long, value_name = "A.mtx")]
    pub out: Option<PathBuf>,
    /// List the families
    #[arg(long, conflicts_with_all = ["family", "out"])]
    pub list: bool,
}

fn place_parser(text: &str) -> Result<Place, String> {
    if text == "cpu" { Ok(Place::Cpu) } else { gpu_parser(text).map(Place::Gpu) }
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
