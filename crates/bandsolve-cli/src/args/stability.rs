//! What may be typed behind `bandsolve stability`.

use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// Reproduce published accuracy tables, with our methods beside them
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  bandsolve stability tridiagonal --plot stability.svg\n  bandsolve stability banded nos2.mtx\n  \
    bandsolve stability files matrices"
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
    /// Solve every matrix of a folder with bandsolve and with LAPACK, and count inaccurate answers
    Files(StabilityFilesArgs),
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

/// Arguments of `stability files`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  bandsolve stability files matrices\n  \
    bandsolve stability files matrices --band 1024 --json errors.json --plot errors.svg")]
pub struct StabilityFilesArgs {
    /// The folder: its .mtx, .npy and .npz files, also gzipped ones, and those of the folders in it
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Leave out matrices whose band, with room for what pivoting fills in, takes more than so many MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub band: u32,
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
