//! Arguments of `stability`.

use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// Reproduce published accuracy tables and compare all methods with them
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  bandsolve stability tridiagonal --plot stability.svg\n  bandsolve stability banded nos2.mtx\n  \
    bandsolve stability files matrices"
)]
pub struct StabilityArgs {
    /// The table.
    #[command(subcommand)]
    pub table: StabilityTable,
}

/// The stability tables.
#[derive(Debug, Subcommand)]
pub enum StabilityTable {
    /// Every method on the tridiagonal test matrices of Chang and Klein, without and with verification
    Tridiagonal(StabilityTridiagonalArgs),
    /// Every method for banded systems and LAPACK on Klein's pentadiagonal test matrices
    Pentadiagonal(StabilityBandsArgs),
    /// Every method for block tridiagonal systems and LAPACK on Klein's 2 x 2 block test matrices
    Block(StabilityBandsArgs),
    /// Real banded matrices from files: errors of every method, LAPACK and publications
    Banded(StabilityBandedArgs),
    /// Solve every matrix of a folder with bandsolve and with LAPACK, and count inaccurate results
    Files(StabilityFilesArgs),
}

/// Arguments of `stability pentadiagonal` and `stability block`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve stability pentadiagonal\n  bandsolve stability block --plot block.png")]
pub struct StabilityBandsArgs {
    /// Number of unknowns [default: as in the publication, 512 or 1024]
    #[arg(long, value_parser = clap::value_parser!(u32).range(4..=100_000))]
    pub n: Option<u32>,
    /// Seed of the random matrices and of the known solution
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The output files.
    #[command(flatten)]
    pub outputs: TableOutputs,
}

/// The files that the command writes a table to, in addition to the terminal.
#[derive(Debug, ClapArgs)]
pub struct TableOutputs {
    /// Write a heat map of the errors to this file: .svg or .png (`-`: SVG on standard output)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

impl TableOutputs {
    /// The outputs with their option names.
    pub fn named(&self) -> [(&'static str, &Option<PathBuf>); 2] {
        [("--json", &self.json), ("--plot", &self.plot)]
    }
}

/// Arguments of `stability banded`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  bandsolve stability banded nos2.mtx olm1000.mtx tub1000.mtx --plot banded.png")]
pub struct StabilityBandedArgs {
    /// Matrix Market files. Published errors are known for nos2, olm500, olm1000, olm2000, olm5000, tub1000, linverse, spmsrtls and
    /// LF10000 (SuiteSparse collection)
    #[arg(required = true, value_name = "A.mtx")]
    pub files: Vec<PathBuf>,
    /// Seed of the known solution
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The output files.
    #[command(flatten)]
    pub outputs: TableOutputs,
}

/// Arguments of `stability files`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve stability files matrices\n  \
    bandsolve stability files matrices --band 1024 --json errors.json --plot errors.svg")]
pub struct StabilityFilesArgs {
    /// The folder with .mtx, .npy and .npz files, also gzipped; the command also searches subfolders
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Skip matrices whose band, including fill-in from pivoting, needs more than this many MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub band: u32,
    /// Seed of the known solution
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The output files.
    #[command(flatten)]
    pub outputs: TableOutputs,
}

/// Arguments of `stability tridiagonal`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve stability tridiagonal\n  \
    bandsolve stability tridiagonal --plot stability.svg --csv stability.csv")]
pub struct StabilityTridiagonalArgs {
    /// Number of unknowns; the papers use 512
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub n: u32,
    /// Seed of the random matrices and of the known solution
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a CSV file with one line per matrix and solver (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The output files.
    #[command(flatten)]
    pub outputs: TableOutputs,
}
