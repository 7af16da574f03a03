//! Arguments of `bench`.

use bandsolve::Method;
use bandsolve_program::options::{
    Dtype, IterationArgs, RealDtype, TRIDIAGONAL, gpu_parser, method_parser, named, positive,
};
use bandsolve_sparse::{KrylovMethod, PreconditionerKind};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// Benchmark against LAPACK and memory bandwidth
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench tridiagonal --quick --plot speed.svg\n  \
    bandsolve bench banded --quick --report banded.html")]
pub struct BenchArgs {
    /// The benchmark.
    #[command(subcommand)]
    pub table: BenchTable,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub enum BenchTable {
    /// One tridiagonal system
    ///
    /// bandsolve, LAPACK, OpenBLAS and MKL, if installed, run in turn in one process. Times are medians. The yardstick is
    /// the time to move 9 words per row through memory: a solver with partitions reads the four arrays twice, or once if they
    /// are long, and writes x once.
    Tridiagonal(BenchTridiagonalArgs),
    /// Every method and LAPACK, on easy and on hard matrices
    ///
    /// A time includes factoring, solving, verification and, if necessary, repair. The solvers run in turn in one process.
    Methods(BenchMethodsArgs),
    /// Many small systems of several shapes
    ///
    /// A time includes factoring, solving and verification. bandsolve, LAPACK, OpenBLAS and MKL, if installed, run in turn in one process.
    /// The other libraries solve contiguous systems one after the other on one thread. The yardstick is the time to move 5 words per row
    /// through memory: each of four arrays is read once, and x is written once.
    Batch(BenchBatchArgs),
    /// Block tridiagonal systems with dense blocks, compared with banded LU
    ///
    /// The matrix is random, with one right-hand side. The first table shows times for factoring and solving together, the second one
    /// for solving with stored factors. Memory bandwidths count the bytes of the factors and of one verification pass.
    Block(BenchBlockArgs),
    /// One banded system, compared with LAPACK's gbsv
    ///
    /// A time includes factoring and solving. bandsolve, LAPACK, OpenBLAS and MKL, if installed, run in turn in one process. The other
    /// libraries use one thread.
    Banded(BenchBandedArgs),
    /// Tridiagonal systems with sparse right-hand sides
    ///
    /// csc2dense computes full solutions. csc2csc keeps the largest entries of each solution, as many as the right-hand side has. Both
    /// are compared with dense right-hand sides. If dense right-hand sides need more than 1 GiB, only csc2csc is measured.
    Sparse(BenchSparseArgs),
    /// Products of sparse matrices and vectors, compared with MKL
    ///
    /// The benchmark computes y = A x for one vector with every scheduling strategy, and the variants that use the maximum of each row
    /// instead of the sum. Memory bandwidths count 12 bytes per matrix entry. `read` adds up as many numbers as the matrix has entries.
    Spmv(BenchSpmvArgs),
    /// Poisson problems on boxes with every method, compared with MKL's fast Poisson solver
    ///
    /// The problem is -Laplace u = f with spacing 1 and u = 0 on all sides. Times are solve times, without the set-up time, also for MKL.
    Poisson(BenchPoissonArgs),
    /// Every preconditioner for one sparse matrix, with one or several Krylov methods
    ///
    /// The table shows set-up time, solve time, iterations, matrix products and the final residual. The right-hand side is the product of
    /// the matrix with a known solution, as in `iterate`. If an iteration does not converge, the table shows why it stopped.
    Iterate(BenchIterateArgs),
    /// Systems in GPU memory, compared with cuSPARSE and a copy
    ///
    /// The first table compares every function in four number types with the CPU. Both errors are computed in twice the precision. The
    /// second table shows median kernel times by the device's clock and marks repaired results. Matrices are random. The benchmark does
    /// not time the copies that restore inputs which cuSPARSE overwrites. `of copy` is the memory bandwidth of a solve relative to a large
    /// copy.
    Gpu(BenchGpuArgs),
}

/// Arguments of `bench sparse`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench sparse --quick\n  \
    bandsolve bench sparse --n 100000 --matrix D.mtx --threads 2")]
pub struct BenchSparseArgs {
    /// Number of unknowns [default: 10^6; with --quick 5000]
    #[arg(long, value_name = "N", value_parser = size_parser)]
    pub n: Option<usize>,
    /// Number of right-hand sides
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = count_parser)]
    pub n_rhs: usize,
    /// Numbers of entries per right-hand side
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [10])]
    pub entries: Vec<usize>,
    /// Use the columns of this matrix as right-hand sides; it has at most N rows
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n_rhs", "entries"])]
    pub matrix: Option<PathBuf>,
    /// Use a diagonally dominant matrix, whose solutions decay fast, instead of random entries
    #[arg(long)]
    pub dominant: bool,
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench spmv`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench spmv --quick\n  \
    bandsolve bench spmv --kind power-law --n 1500000 --threads 2\n  bandsolve bench spmv --matrix A.mtx --plot spmv.svg")]
pub struct BenchSpmvArgs {
    /// Number of rows [default: 10^6; with --quick 10^4]
    #[arg(long, value_name = "N", value_parser = size_parser)]
    pub n: Option<usize>,
    /// Kinds of matrices
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = ["nine-point", "nine-point-random", "power-law", "dense-row"])]
    pub kind: Vec<SpmvKind>,
    /// Use the matrix in this file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "kind"])]
    pub matrix: Option<PathBuf>,
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench poisson`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench poisson --quick\n  \
    bandsolve bench poisson --shape 1023x1023,1009x1009 --threads 1,2 --plot poisson.svg\n  \
    bandsolve bench poisson --radices                  compare radix 4 with radix 2")]
pub struct BenchPoissonArgs {
    /// Box sizes, such as 1023x1023 or 63x63x63 [default: 255² to 2047², 1000², 1009², 63³ and 127³; with --quick 63² and 15³]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = box_parser)]
    pub shape: Option<Vec<BoxShape>>,
    /// Methods, named as in `poisson --method`
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = ["auto", "fft", "bcr2", "bcr4", "pscr"])]
    pub method: Vec<String>,
    /// Instead, compare block cyclic reduction with radix 2 and radix 4: time and number of subproblems
    #[arg(long, conflicts_with = "method")]
    pub radices: bool,
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Unknowns along each axis of a box.
pub type BoxShape = Vec<usize>;

/// Parse the size of a box, such as `63x63x63`.
fn box_parser(text: &str) -> Result<BoxShape, String> {
    let sides: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
    match sides {
        Ok(sides) if (1..=3).contains(&sides.len()) && !sides.contains(&0) => Ok(sides),
        _ => Err("expected one to three sizes separated by x, such as 63x63x63".into()),
    }
}

/// Arguments of `bench iterate`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  bandsolve bench iterate --quick\n  bandsolve bench iterate A.mtx --solver gmres:20,cg --plot precond.svg\n  \
    bandsolve bench iterate --model aniso1 --n 500 --precond jacobi,alt-i:2,amg-lines:2 --report precond.html"
)]
pub struct BenchIterateArgs {
    /// The matrix [default: the model problem of --model]
    #[arg(value_name = "A.mtx")]
    pub matrix: Option<PathBuf>,
    /// A model problem on a grid; `generate --list` shows them
    #[arg(long, value_name = "NAME", default_value = "aniso1", conflicts_with = "matrix")]
    pub model: String,
    /// Number of unknowns along each side of the model's grid [default: 300, in 3D 40; with --quick 30, in 3D 8]
    #[arg(long, value_name = "N", value_parser = size_parser, conflicts_with = "matrix")]
    pub n: Option<usize>,
    /// Krylov methods, named as in `iterate --solver`
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "gmres:30", value_parser = named::<KrylovMethod>)]
    pub solver: Vec<KrylovMethod>,
    /// Preconditioners, named as in `iterate --precond` [default: all; those with a number use 2 and 4, amg-lines also 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named::<PreconditionerKind>)]
    pub precond: Option<Vec<PreconditionerKind>>,
    /// The grid of the unknowns for adi: unknowns per grid row x number of grid rows, such as 100x50
    #[arg(long, value_name = "NXxNY", value_parser = grid_parser)]
    pub grid: Option<(usize, usize)>,
    /// Stop when |b - A x| <= RTOL |b| in the 2-norm
    #[arg(long, visible_alias = "tol", default_value = "1e-6", value_name = "RTOL", allow_negative_numbers = true, value_parser = positive)]
    pub rtol: f64,
    /// The limit of the iterations and the options of forests.
    #[command(flatten)]
    pub iteration: IterationArgs,
    /// Number of threads [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Kinds of sparse matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpmvKind {
    /// Nine entries per row: the neighbors in a square grid, with the same values in every row
    NinePoint,
    /// The same pattern with random values
    NinePointRandom,
    /// Rows of 1 to 5000 entries with a power-law distribution, in random columns
    PowerLaw,
    /// A diagonal matrix with one dense row
    DenseRow,
}

/// Arguments of `bench banded`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench banded --quick\n  \
    bandsolve bench banded --n 100000 --half-bandwidths 80 --n-rhs 1,160 --threads 2 --json banded.json")]
pub struct BenchBandedArgs {
    /// Number of unknowns [default: 10^6, or as many as fit in 4 GiB; with --quick 2000]
    #[arg(long, value_name = "N", value_parser = size_parser)]
    pub n: Option<usize>,
    /// Numbers of diagonals on each side of the main one
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [2, 4, 8, 32, 80, 160])]
    pub half_bandwidths: Vec<usize>,
    /// Numbers of right-hand sides
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = count_parser)]
    pub n_rhs: Vec<usize>,
    /// Number types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RealDtype::F64])]
    pub dtype: Vec<RealDtype>,
    /// Use a diagonally dominant matrix instead of random entries, which need a row exchange at nearly every step
    #[arg(long)]
    pub dominant: bool,
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
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
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench methods`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench methods --quick\n  \
    bandsolve bench methods --n 2^20 --method thomas,rpts --raw --plot methods.svg")]
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
    /// Methods, named as in `solve --method` [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method_parser(&[TRIDIAGONAL]), hide_possible_values = true)]
    pub method: Option<Vec<Method>>,
    /// Also measure every method without verification
    #[arg(long)]
    pub raw: bool,
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// The shape of each system of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BatchShape {
    /// Tridiagonal systems
    Tridiagonal,
    /// One tridiagonal matrix for all right-hand sides
    Shared,
    /// Periodic tridiagonal systems
    Periodic,
    /// Two diagonals on each side
    Band2,
    /// Four diagonals on each side
    Band4,
    /// Eight diagonals on each side
    Band8,
    /// One matrix for all right-hand sides, with four diagonals on each side
    SharedBand4,
    /// Positive definite tridiagonal systems
    Definite,
    /// Positive definite systems with two diagonals on each side
    DefiniteBand2,
    /// Positive definite systems with four diagonals on each side
    DefiniteBand4,
    /// All of these
    All,
}

impl BatchShape {
    /// The shapes of a list, with `all` replaced by all shapes.
    pub fn listed(list: &[BatchShape]) -> Vec<BatchShape> {
        let all = BatchShape::value_variants().iter().copied().filter(|shape| *shape != BatchShape::All);
        if list.contains(&BatchShape::All) { all.collect() } else { list.to_vec() }
    }

    /// Number of diagonals on each side.
    pub fn half_bandwidth(self) -> usize {
        match self {
            BatchShape::Band2 | BatchShape::DefiniteBand2 => 2,
            BatchShape::Band4 | BatchShape::SharedBand4 | BatchShape::DefiniteBand4 => 4,
            BatchShape::Band8 => 8,
            _ => 1,
        }
    }

    /// Whether all right-hand sides have the same matrix.
    pub fn is_shared(self) -> bool {
        matches!(self, BatchShape::Shared | BatchShape::SharedBand4)
    }

    /// Whether the matrices are positive definite, with one triangle in memory.
    pub fn is_definite(self) -> bool {
        matches!(self, BatchShape::Definite | BatchShape::DefiniteBand2 | BatchShape::DefiniteBand4)
    }

    /// Number of diagonals in memory.
    pub fn diagonals(self) -> usize {
        self.half_bandwidth() * if self.is_definite() { 1 } else { 2 } + 1
    }

    /// What a title calls the systems.
    pub fn words(self) -> &'static str {
        match self {
            BatchShape::Shared => "one tridiagonal matrix",
            BatchShape::Periodic => "periodic",
            BatchShape::Band2 => "pentadiagonal",
            BatchShape::Band4 => "nine-diagonal",
            BatchShape::Band8 => "17-diagonal",
            BatchShape::SharedBand4 => "one nine-diagonal matrix",
            BatchShape::Definite => "definite tridiagonal",
            BatchShape::DefiniteBand2 => "definite pentadiagonal",
            BatchShape::DefiniteBand4 => "definite nine-diagonal",
            BatchShape::Tridiagonal | BatchShape::All => "tridiagonal",
        }
    }
}

impl Display for BatchShape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.to_possible_value().expect("no value is hidden").get_name().fmt(f)
    }
}

/// Arguments of `bench batch`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench batch --quick\n  \
    bandsolve bench batch --shapes all --dtype f64 --threads 1,2 --plot batch.svg\n  \
    bandsolve bench batch --shapes periodic,band2 --count 10000 --n 512 --dtype f32")]
pub struct BenchBatchArgs {
    /// Shapes of the systems
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_values_t = [BatchShape::Tridiagonal])]
    pub shapes: Vec<BatchShape>,
    /// Systems with dominant diagonals instead of random ones
    #[arg(long)]
    pub dominant: bool,
    /// Number of systems
    #[arg(long, default_value = "4096", value_parser = size_parser)]
    pub count: usize,
    /// Number of unknowns of each system
    #[arg(long, default_value = "256", value_parser = size_parser)]
    pub n: usize,
    /// Number types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RealDtype::F64, RealDtype::F32])]
    pub dtype: Vec<RealDtype>,
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench block`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench block --quick\n  \
    bandsolve bench block --block 64,512 --n 2^14 --threads 1,2")]
pub struct BenchBlockArgs {
    /// Rows per block [default: 16,32,64,128,256; with --quick 16,32]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_parser)]
    pub block: Option<Vec<usize>>,
    /// Number of unknowns, rounded up to whole blocks [default: 2^15, fewer for large blocks; with --quick 2^10]
    #[arg(long, value_parser = size_parser)]
    pub n: Option<usize>,
    /// Add X times the block size to the diagonal: 4 makes the matrix diagonally dominant, 0 leaves it random
    #[arg(long, value_name = "X", default_value = "1", allow_negative_numbers = true, value_parser = shift_parser)]
    pub shift: f64,
    /// The numbers of threads.
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bench gpu`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve bench gpu --quick\n  \
    bandsolve bench gpu --device cuda:1 --only speed --n 2^20,2^28 --dtype f64 --json gpu.json")]
pub struct BenchGpuArgs {
    /// The GPU: cuda, cuda:1, ...
    #[arg(long, value_name = "NAME", default_value = "cuda", value_parser = gpu_parser)]
    pub device: String,
    /// Run only this part of the benchmark [default: both]
    #[arg(long)]
    pub only: Option<GpuPart>,
    /// Numbers of unknowns of one tridiagonal system [default: 2^14,2^16,...,2^28; with --quick 2^14,2^18]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_parser)]
    pub n: Option<Vec<usize>>,
    /// Number types; only the real ones are timed
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_values_t = Dtype::ALL)]
    pub dtype: Vec<Dtype>,
    /// The measuring time and the outputs.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// The parts of `bench gpu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GpuPart {
    /// Every function in four number types, compared with the CPU
    Accuracy,
    /// Times, compared with cuSPARSE and a copy
    Speed,
}

/// The numbers of threads to measure with.
#[derive(Debug, ClapArgs)]
pub struct ThreadsArgs {
    /// Numbers of threads for bandsolve; the other libraries use one thread [default: 1, 2 and all cores]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<Vec<u16>>,
}

/// Arguments that all benchmarks have in common.
#[derive(Debug, ClapArgs)]
pub struct MeasureArgs {
    /// Measuring time in seconds per system or batch, shared by all solvers [default: 1; with --quick 0.05]
    #[arg(long, value_name = "S", value_parser = seconds_parser)]
    pub seconds: Option<f64>,
    /// Run one round with small sizes, to test the benchmark itself
    #[arg(long)]
    pub quick: bool,
    /// Write a plot of the times to this file: .svg or .png (`-`: SVG on standard output)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write one HTML page with tables, plot, machine and command to this file (`-`: standard output)
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Kinds of matrices. They need row exchanges often, never, or in every row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Data {
    /// Entries uniform in (-1, 1)
    Random,
    /// Entries uniform in (-1, 1), plus 4 on the diagonal
    Dominant,
    /// Diagonal 0, off-diagonal entries 1: every row needs an exchange, and partitions of odd size are singular
    Chang17,
    /// Entries uniform in (-1, 1), rows times random powers of ten from 1e-150 to 1e150 (f32: 1e-15 to 1e15)
    Scaled,
}

impl Data {
    /// The default of `--data`.
    pub const USUAL: [Data; 3] = [Data::Random, Data::Dominant, Data::Chang17];

    /// The name on the command line.
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

/// Parse a number of at least 2, such as `1000` or `2^20`.
fn size_parser(text: &str) -> Result<usize, String> {
    let n = match text.split_once('^') {
        None => text.parse().ok(),
        Some((base, power)) => {
            base.parse::<usize>().ok().zip(power.parse().ok()).and_then(|(base, power)| base.checked_pow(power))
        }
    };
    n.filter(|n| *n >= 2).ok_or("expected a whole number of at least 2, such as 1000 or 2^20".into())
}

/// Parse the unknowns per row and the number of rows of a grid, such as `100x50`.
fn grid_parser(text: &str) -> Result<(usize, usize), String> {
    let sides = text.split_once('x').map(|(columns, rows)| (columns.parse(), rows.parse()));
    match sides {
        Some((Ok(columns), Ok(rows))) => Ok((columns, rows)),
        _ => Err("expected unknowns per grid row x number of grid rows, such as 100x50".into()),
    }
}

/// Parse a number of at least 1.
fn count_parser(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count >= 1).ok_or("expected a whole number of at least 1".into())
}

fn shift_parser(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x: &f64| x.abs() <= 1e6).ok_or("expected a number from -1e6 to 1e6".into())
}

fn seconds_parser(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (0.0..=86400.0).contains(s));
    seconds.ok_or("expected a number of seconds from 0 to 86400".into())
}
