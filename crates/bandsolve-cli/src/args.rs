//! What the user may type.

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
    /// Describe a matrix: bands, dominance, symmetry, condition, the method that would be taken
    Info(InfoArgs),
    /// Draw a matrix: where its entries are, and how large they are along its band
    ///
    /// Without --plot in the terminal. Large matrices are gathered into cells: stronger ones have more entries, or larger ones.
    Spy(SpyArgs),
    /// Write a matrix of a known family
    Generate(GenerateArgs),
    /// Accuracy tables of the literature, beside our own numbers
    Stability(StabilityArgs),
    /// Measure speed beside LAPACK's way and the memory bus
    Bench(BenchArgs),
    /// Measure once what depends on this machine, and keep it in a file
    ///
    /// What an inner partition of a banded system costs beside those at the ends. The file is plain text; delete it, and
    /// built-in numbers hold again. BANDSOLVE_TUNING names another file.
    Tune(TuneArgs),
    /// Look at this machine: what solves will use, what peers are found, and what makes them slow
    Doctor(DoctorArgs),
    /// Print what makes a shell complete commands and options
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
    /// Only say where the file is and what it holds
    #[arg(long)]
    pub show: bool,
    /// Measure a GPU: cuda, cuda:1, …
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
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
    #[arg(long, default_value = "auto", value_parser = method_parser())]
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
#[command(
    after_help = "Examples:\n  bandsolve stability tridiagonal --plot stability.svg\n  bandsolve stability banded nos2.mtx"
)]
pub struct StabilityArgs {
    /// Which table.
    #[command(subcommand)]
    pub table: StabilityTable,
}

/// The stability tables.
#[derive(Debug, Subcommand)]
pub enum StabilityTable {
    /// The tridiagonal test matrices of Chang and Klein, by every method, without and with verification
    Tridiagonal(StabilityTridiagonalArgs),
    /// Klein's pentadiagonal test matrices, by every method for banded systems, beside LAPACK
    Pentadiagonal(StabilityBandsArgs),
    /// Klein's 2 x 2 block test matrices, by every method for block tridiagonal systems, beside LAPACK
    Block(StabilityBandsArgs),
    /// Real banded matrices from files, beside LAPACK and what is published of them
    Banded(StabilityBandedArgs),
}

/// Arguments of `stability pentadiagonal` and `stability block`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve stability pentadiagonal\n  bandsolve stability block --plot block.png")]
pub struct StabilityBandsArgs {
    /// Number of unknowns [default: as published, 512 or 1024]
    #[arg(long, value_parser = clap::value_parser!(u32).range(4..=100_000))]
    pub n: Option<u32>,
    /// Seed of the random matrices and of the known solution
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What else is written.
    #[command(flatten)]
    pub outputs: TableOutputs,
}

/// What tables of errors are written to, beside the terminal.
#[derive(Debug, ClapArgs)]
pub struct TableOutputs {
    /// Draw a heat map of the errors here: .svg or .png (`-`: SVG on standard output)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a machine-readable report here (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl TableOutputs {
    /// With their names on the command line.
    pub fn named(&self) -> [(&'static str, &Option<PathBuf>); 2] {
        [("--json", &self.json), ("--plot", &self.plot)]
    }
}

/// Arguments of `stability banded`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  bandsolve stability banded nos2.mtx olm1000.mtx tub1000.mtx --plot banded.png")]
pub struct StabilityBandedArgs {
    /// Matrix Market files; of nos2, olm500, olm1000, olm2000, olm5000, tub1000, linverse, spmsrtls and LF10000 (SuiteSparse
    /// collection) errors are published
    #[arg(required = true, value_name = "A.mtx")]
    pub files: Vec<PathBuf>,
    /// Seed of the known solution
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What else is written.
    #[command(flatten)]
    pub outputs: TableOutputs,
}

/// Arguments of `stability tridiagonal`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve stability tridiagonal\n  \
    bandsolve stability tridiagonal --plot stability.svg --csv stability.csv")]
pub struct StabilityTridiagonalArgs {
    /// Number of unknowns; the papers have 512
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub n: u32,
    /// Seed of the random matrices and of the known solution
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a line for each matrix and solver here, comma-separated (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// What else is written.
    #[command(flatten)]
    pub outputs: TableOutputs,
}

/// Measure speed beside LAPACK's way and the memory bus
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench tridiagonal --quick --plot speed.svg\n  \
    bandsolve bench banded --quick --report banded.html")]
pub struct BenchArgs {
    /// Which measurement.
    #[command(subcommand)]
    pub table: BenchTable,
}

/// The measurements.
#[derive(Debug, Subcommand)]
pub enum BenchTable {
    /// One tridiagonal system
    ///
    /// Solvers take turns in one process: ours, and LAPACK, OpenBLAS and MKL where the machine has them. The yardstick
    /// is the time in which the memory bus moves the 9 words a row that no solver can avoid. Speeds are medians.
    Tridiagonal(BenchTridiagonalArgs),
    /// Every method beside LAPACK, on easy and on hard matrices
    ///
    /// Factoring and solving are timed together, verified and repaired where needed; solvers take turns in one process.
    Methods(BenchMethodsArgs),
    /// Many small tridiagonal systems
    Batch(BenchBatchArgs),
    /// Block tridiagonal systems of dense blocks, beside banded LU
    ///
    /// The matrix is random, one right-hand side. First factoring and solving together, then solving with stored factors,
    /// where the bytes of the factors and of one pass to verify are set against the time, as for the product A·x.
    Block(BenchBlockArgs),
    /// One banded system, by partitions, beside gbsv
    ///
    /// Factoring and solving are timed together; solvers take turns in one process: ours, and LAPACK, OpenBLAS and MKL where
    /// the machine has them, which use one thread.
    Banded(BenchBandedArgs),
    /// Tridiagonal systems with sparse right-hand sides
    ///
    /// Solutions in full (csc2dense) and as many of their largest entries as the right-hand side has (csc2csc), beside the same
    /// right-hand sides written out. Where these take more than 1 GiB only csc2csc is measured.
    Sparse(BenchSparseArgs),
    /// Systems in the memory of a GPU, beside cuSPARSE and a copy
    ///
    /// First every function in four number types, beside the same on the CPU, both measured in doubled precision. Then medians
    /// by the device's clock, of kernels alone: answers that had to be repaired are marked. Matrices are random; what cuSPARSE
    /// overwrites is restored outside of the timed part, and its pentadiagonal systems are batches of as many rows in all. The
    /// yardstick is the bandwidth of a large copy: `of copy` is the share of it at which a solve moves the numbers that it has to.
    Gpu(BenchGpuArgs),
}

/// Arguments of `bench sparse`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench sparse --quick\n  \
    bandsolve bench sparse --n 100000 --matrix D.mtx --threads 2")]
pub struct BenchSparseArgs {
    /// Unknowns [default: 10^6; with --quick 5000]
    #[arg(long, value_name = "N", value_parser = size_parser)]
    pub n: Option<usize>,
    /// Right-hand sides
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = count_parser)]
    pub columns: usize,
    /// Numbers of entries of a right-hand side
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [10])]
    pub entries: Vec<usize>,
    /// The columns of this matrix as right-hand sides, which has at most N rows
    #[arg(long, value_name = "FILE", conflicts_with_all = ["columns", "entries"])]
    pub matrix: Option<PathBuf>,
    /// A dominant diagonal, by which solutions decay fast, instead of random entries
    #[arg(long)]
    pub dominant: bool,
    /// With how many threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// How long, and the report.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench banded`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench banded --quick\n  \
    bandsolve bench banded --n 100000 --half-bandwidths 80 --rhs 1,160 --threads 2 --json banded.json")]
pub struct BenchBandedArgs {
    /// Unknowns [default: 10^6, or as many as 4 GiB hold; with --quick 2000]
    #[arg(long, value_name = "N", value_parser = size_parser)]
    pub n: Option<usize>,
    /// Diagonals above and below the main one
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [2, 4, 8, 32, 80, 160])]
    pub half_bandwidths: Vec<usize>,
    /// Numbers of right-hand sides
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = count_parser)]
    pub rhs: Vec<usize>,
    /// Number types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RealDtype::F64])]
    pub dtype: Vec<RealDtype>,
    /// A dominant diagonal instead of random entries, with which rows are exchanged at nearly every step
    #[arg(long)]
    pub dominant: bool,
    /// With how many threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// How long, and the report.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench tridiagonal`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench tridiagonal --quick\n  \
    bandsolve bench tridiagonal --n 2^20,2^25 --dtype f64 --data random --json bench.json\n  \
    bandsolve bench tridiagonal --dtype f64 --data random --plot speed.svg --report speed.html")]
pub struct BenchTridiagonalArgs {
    /// Numbers of unknowns, such as 1000,2^20 [default: 2^10,2^13,2^16,2^20,2^25; with --quick 2^10,2^16]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_parser)]
    pub n: Option<Vec<usize>>,
    /// Number types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RealDtype::F64, RealDtype::F32])]
    pub dtype: Vec<RealDtype>,
    /// Kinds of matrices
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = Data::USUAL)]
    pub data: Vec<Data>,
    /// With how many threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// How long, and the report.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench methods`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench methods --quick\n  \
    bandsolve bench methods --n 2^20 --methods thomas,rpts --raw --plot methods.svg")]
pub struct BenchMethodsArgs {
    /// Numbers of unknowns, such as 1000,2^20 [default: 2^16,2^20; with --quick 2^10,2^12]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_parser)]
    pub n: Option<Vec<usize>>,
    /// Number types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RealDtype::F64])]
    pub dtype: Vec<RealDtype>,
    /// Kinds of matrices
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = Data::USUAL)]
    pub data: Vec<Data>,
    /// Methods, by their names in `solve --method` [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method_parser(), hide_possible_values = true)]
    pub methods: Option<Vec<Method>>,
    /// Measure every method without verification too
    #[arg(long)]
    pub raw: bool,
    /// With how many threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// How long, and the report.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench batch`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench batch --quick\n  \
    bandsolve bench batch --count 10000 --n 512 --dtype f32 --threads 1,2 --plot batch.svg")]
pub struct BenchBatchArgs {
    /// Number of systems
    #[arg(long, default_value = "4096", value_parser = size_parser)]
    pub count: usize,
    /// Unknowns of each
    #[arg(long, default_value = "256", value_parser = size_parser)]
    pub n: usize,
    /// Number types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RealDtype::F64, RealDtype::F32])]
    pub dtype: Vec<RealDtype>,
    /// With how many threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// How long, and the report.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench block`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench block --quick\n  \
    bandsolve bench block --blocks 64,512 --n 2^14 --threads 1,2")]
pub struct BenchBlockArgs {
    /// Rows of a block [default: 16,32,64,128,256; with --quick 16,32]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_parser)]
    pub blocks: Option<Vec<usize>>,
    /// Unknowns, rounded up to whole blocks [default: 2^15, fewer for large blocks; with --quick 2^10]
    #[arg(long, value_parser = size_parser)]
    pub n: Option<usize>,
    /// Added to the diagonal, in units of the block size: 4 makes the matrix dominant, 0 leaves it random
    #[arg(long, value_name = "X", default_value = "1", allow_negative_numbers = true)]
    pub shift: f64,
    /// With how many threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// How long, and the report.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench gpu`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench gpu --quick\n  \
    bandsolve bench gpu --device cuda:1 --only speed --n 2^20,2^28 --dtype f64 --json gpu.json")]
pub struct BenchGpuArgs {
    /// Which GPU: cuda, cuda:1, ...
    #[arg(long, value_name = "NAME", default_value = "cuda", value_parser = gpu_parser)]
    pub device: String,
    /// One of the two parts [default: both]
    #[arg(long)]
    pub only: Option<GpuPart>,
    /// Numbers of unknowns of one tridiagonal system [default: 2^14,2^16,...,2^28; with --quick 2^14,2^18]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_parser)]
    pub n: Option<Vec<usize>>,
    /// Number types; speed is measured of the real ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_values_t = Dtype::ALL)]
    pub dtype: Vec<Dtype>,
    /// How long, and the report.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// The parts of `bench gpu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GpuPart {
    /// Every function in four number types, beside the CPU
    Accuracy,
    /// Times, beside cuSPARSE and a copy
    Speed,
}

/// With how many threads to measure.
#[derive(Debug, ClapArgs)]
pub struct ThreadsArgs {
    /// Numbers of threads for our solvers; the peers have one [default: 1, 2 and all cores]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<Vec<u16>>,
}

/// What all measurements have.
#[derive(Debug, ClapArgs)]
pub struct MeasureArgs {
    /// Seconds for each system or batch, all solvers together [default: 1; with --quick 0.05]
    #[arg(long, value_name = "S", value_parser = seconds_parser)]
    pub seconds: Option<f64>,
    /// One round, and small sizes where none are given: to see that it works
    #[arg(long)]
    pub quick: bool,
    /// Draw the times here: .svg or .png (`-`: SVG on standard output)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write tables, picture, machine and command here, as one HTML page (`-`: standard output)
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write a machine-readable report here (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The real number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RealDtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

impl RealDtype {
    /// Size of a number.
    pub fn bytes(self) -> usize {
        match self {
            RealDtype::F32 => 4,
            RealDtype::F64 => 8,
        }
    }
}

impl std::fmt::Display for RealDtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "f{}", 8 * self.bytes())
    }
}

/// Matrices to measure with: pivoting has much, nothing or everything to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Data {
    /// Entries from U(-1,1)
    Random,
    /// The same, 4 added to the diagonal
    Dominant,
    /// Zero diagonal between ones: rows are exchanged all the way, partitions of odd size are singular
    Chang17,
    /// Entries from U(-1,1), rows times random powers of ten up to 1e±150 (f32: 1e±15)
    Scaled,
}

impl Data {
    /// Measured unless others are named.
    pub const USUAL: [Data; 3] = [Data::Random, Data::Dominant, Data::Chang17];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Data::Random => "random",
            Data::Dominant => "dominant",
            Data::Chang17 => "chang17",
            Data::Scaled => "scaled",
        }
    }
}

impl std::fmt::Display for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A number of unknowns, at least 2: `1000`, `2^20`.
fn size_parser(text: &str) -> Result<usize, String> {
    let n = match text.split_once('^') {
        None => text.parse().ok(),
        Some((base, power)) => {
            base.parse::<usize>().ok().zip(power.parse().ok()).and_then(|(base, power)| base.checked_pow(power))
        }
    };
    n.filter(|n| *n >= 2).ok_or("not a number of at least 2, such as 1000 or 2^20".into())
}

/// A number of things, at least 1.
fn count_parser(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count >= 1).ok_or("not a number of at least 1".into())
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

fn seconds_parser(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (0.0..=86400.0).contains(s));
    seconds.ok_or("not a number of seconds, at most a day".into())
}

/// Every method for tridiagonal systems but `Auto`, which is one of the others.
pub fn named_methods() -> impl Iterator<Item = Method> {
    let shape = Shape::Tridiagonal { n: 1, periodic: false };
    Method::ALL.into_iter().filter(move |method| *method != Method::Auto && method.solves(shape))
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
