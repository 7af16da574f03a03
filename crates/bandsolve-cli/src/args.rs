//! What the user may type.

mod bench;
mod eig;
mod poisson;
mod sparse;
mod stability;

pub use bench::*;
pub use eig::*;
pub use poisson::*;
pub use sparse::*;
pub use stability::*;

use bandsolve::{Method, Pivoting, Shape};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  an output could not be written, or there is no GPU
  2  wrong usage
  3  an input is unreadable, malformed or does not fit the others
  4  the matrix is singular or the answer did not reach the accuracy contract";

const EXAMPLES: &str = "\
Examples:
  bandsolve
  bandsolve solve A.mtx --rhs b.mtx --out x.mtx
  bandsolve spy A.mtx
  bandsolve doctor";

/// Linear systems whose non-zeros lie in a narrow band, solved in parallel, every answer verified.
///
/// Without a command: a short demonstration.
#[derive(Debug, Parser)]
#[command(name = "bandsolve", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
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
    /// Solve A·x = rhs for any sparse matrix, by a preconditioned Krylov method
    ///
    /// Without --rhs, x = sin(16 pi i / n) is the known solution, and the forward error |x - x_known| / |x_known| is reported too.
    /// If the tolerance is not reached, x is the best that was found, and the exit code is 4.
    Iterate(IterateArgs),
    /// Find the tridiagonal system that carries most of a matrix's weight: a linear forest in its graph
    ///
    /// Vertices are unknowns, edges are couplings, with the weight |a_ij| + |a_ji|. With --n other than 2 a factor of the graph is
    /// found, in which every vertex has at most n edges.
    Forest(ForestArgs),
    /// Find some eigenvalues of A·x = λ·x or A·x = λ·B·x
    ///
    /// By the Krylov-Schur method; near a target by shift-and-invert. The program checks whether A is Hermitian and B is positive
    /// definite, and takes the faster method then. If fewer eigenvalues are found than asked for, or some may be missing, the exit code is 4.
    Eig(EigArgs),
    /// Solve a Poisson or Helmholtz problem on a box, directly
    Poisson(PoissonArgs),
    /// Describe a matrix: bands, dominance, symmetry, condition, the method that would be taken
    Info(InfoArgs),
    /// Draw a matrix: where its entries are, and how large they are along its band
    ///
    /// Without --plot in the terminal. Large matrices are gathered into cells: stronger ones have more entries, or larger ones.
    Spy(SpyArgs),
    /// Write a matrix of a known family
    Generate(GenerateArgs),
    /// Reproduce published accuracy tables, with our methods beside them
    Stability(StabilityArgs),
    /// Benchmark against LAPACK and memory bandwidth
    Bench(BenchArgs),
    /// Measure the tuning parameters of this machine and store them in a file
    ///
    /// What an inner partition of a banded system costs beside those at the ends. The file is plain text; delete it, and
    /// built-in numbers hold again. BANDSOLVE_TUNING names another file.
    Tune(TuneArgs),
    /// Report what this machine offers: instruction sets, threads, GPUs, libraries to compare with, and causes of slow runs
    Doctor(DoctorArgs),
    /// Print a script for shell completion
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands
    Man(ManArgs),
}

/// Arguments of `doctor`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve doctor\n  bandsolve doctor --json -")]
pub struct DoctorArgs {
    /// Write what was found as JSON (`-`: to standard output, instead of the text)
    #[arg(long, value_name = "PATH")]
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
    /// Write a page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Arguments of `tune`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve tune\n  bandsolve tune --show\n  bandsolve tune --device cuda")]
pub struct TuneArgs {
    /// Print the path and the contents of the file, measure nothing
    #[arg(long)]
    pub show: bool,
    /// Measure a GPU: cuda, cuda:1, …
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
}

const SOLVE_HELP: &str = "\
Files:
  Matrix Market (coordinate or array; real, integer or complex; general, symmetric, skew-symmetric or
  hermitian), also gzipped; NumPy's .npy and .npz (file.npz:name picks one of several arrays); and
  the .npz of scipy.sparse.save_npz.
  The content tells, not the name. `-` reads standard input.

Examples:
  bandsolve solve A.mtx                              a known solution is made up and compared with
  bandsolve solve A.mtx --rhs b.mtx --out x.mtx
  bandsolve solve A.mtx.gz --dtype f32 --method pivoted --json report.json
  bandsolve solve A.mtx --reorder rcm                a band that is wide only as the unknowns are numbered
  bandsolve solve A.mtx --device cuda                tridiagonal, or at most 4 diagonals on either side
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
    /// How to solve; `bandsolve bench methods` and `bandsolve stability` compare the methods
    #[arg(long, default_value = "auto", value_parser = method_parser(&[TRIDIAGONAL, BANDED]))]
    pub method: Method,
    /// How pivot rows are chosen
    #[arg(long, default_value = Pivoting::default().name(), value_parser = pivoting_parser())]
    pub pivoting: Pivoting,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Where to solve: cpu, or a GPU: cuda, cuda:1, ...
    #[arg(long, value_name = "NAME", default_value = "cpu", value_parser = place_parser)]
    pub device: Place,
    /// Insist on a periodic tridiagonal matrix: entries beside the diagonal and in the two corners
    #[arg(long)]
    pub periodic: bool,
    /// Renumber the unknowns where that makes the band narrower; x comes back in the given order
    #[arg(long, value_name = "ORDER", conflicts_with = "periodic")]
    pub reorder: Option<OrderName>,
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

/// Where to solve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Here.
    Cpu,
    /// On the device of this name.
    Gpu(String),
}

/// Orders of the unknowns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// Reverse Cuthill-McKee, in the graph of A + Aᵀ
    Rcm,
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
    /// Every one.
    pub const ALL: [Dtype; 4] = [Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];

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

/// Arguments of `spy`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve spy A.mtx\n  bandsolve spy A.mtx.gz --plot A.svg\n  \
    bandsolve generate random 1000 | bandsolve spy -")]
pub struct SpyArgs {
    /// The matrix
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,
    /// Draw here instead of in the terminal: .svg or .png (`-`: SVG on standard output)
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
    /// Number of unknowns; of the families of grids, unknowns along each side; of `radiative`, blocks
    #[arg(required_unless_present = "list", value_name = "N")]
    pub n: Option<u32>,
    /// Of `radiative`: rows of a block
    #[arg(value_name = "K")]
    pub block: Option<u32>,
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

fn place_parser(text: &str) -> Result<Place, String> {
    if text == "cpu" { Ok(Place::Cpu) } else { gpu_parser(text).map(Place::Gpu) }
}

/// A name that [`bandsolve_gpu::Device::open`] may know: `emulated` is there in tests only.
fn gpu_parser(text: &str) -> Result<String, String> {
    let numbered = text.strip_prefix("cuda:").is_some_and(|number| number.parse::<usize>().is_ok());
    match numbered || ["cuda", "emulated"].contains(&text) {
        true => Ok(text.into()),
        false => Err("no such device: GPUs are called cuda, cuda:1, ...".into()),
    }
}

/// Methods for systems of one of these shapes.
fn methods_for(shapes: &'static [Shape]) -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|method| shapes.iter().any(|shape| method.solves(*shape)))
}

const TRIDIAGONAL: Shape = Shape::Tridiagonal { n: 1, periodic: false };
const BANDED: Shape = Shape::Banded { n: 3, lower: 2, upper: 2 };

/// Every method for any tridiagonal systems but `Auto`, which is one of the others.
pub fn named_methods() -> impl Iterator<Item = Method> {
    methods_for(&[TRIDIAGONAL]).filter(|method| *method != Method::Auto && !method.needs_definite())
}

/// The names of methods for systems of one of these shapes.
fn method_parser(shapes: &'static [Shape]) -> impl TypedValueParser<Value = Method> {
    let names: Vec<&str> = methods_for(shapes).map(Method::name).collect();
    PossibleValuesParser::new(names).map(|s| Method::from_name(&s).expect("a listed name"))
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
