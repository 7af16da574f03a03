//! `bandsolve-mpi eig`: rank 0 reads the matrix, all ranks find its eigenvalues.

use crate::input::{RankSystem, RowsShape, announce, read};
use crate::solve::{blocks, failure, joined};
use bandsolve::vectors::{narrow, widen};
use bandsolve::{Complex64, Scalar};
use bandsolve_eigen::{EigenReport, EigenSolver};
use bandsolve_mpi::Ranks;
use bandsolve_program::exit::Failure;
use bandsolve_program::io::output::{Format, check_all, write_numbers};
use bandsolve_program::options::{finite, tolerance};
use bandsolve_program::report;
use bandsolve_sparse::Structure;
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `eig`.
#[derive(Debug, Args)]
pub struct RankEigArgs {
    /// Matrix Market file with the matrix; only rank 0 reads it
    matrix: PathBuf,
    /// Find the eigenvalues nearest to this number, by shift-and-invert
    #[arg(long, default_value = "0", allow_hyphen_values = true, value_parser = finite)]
    target: f64,
    /// Number of eigenvalues, from 1 to the number of rows [default: 5, or the number of rows if it is smaller]
    #[arg(short)]
    k: Option<usize>,
    /// Maximum dimension of the Krylov space [default: 2 K + 6, at least 16]
    #[arg(long)]
    ncv: Option<usize>,
    /// Relative tolerance: accept an eigenpair if its residual is at most TOL times the eigenvalue of the shifted and inverted operator, 0 <= TOL < 1; 0 means machine precision
    #[arg(long, default_value = "0", allow_negative_numbers = true, value_parser = tolerance)]
    tol: f64,
    /// Number of rows per block [default: the smallest number for which the matrix is block tridiagonal]
    #[arg(long, value_name = "ROWS")]
    block: Option<usize>,
    /// Write the eigenvalues to this file, with all digits: .mtx, .npy or `-` (standard output, as .mtx)
    #[arg(long, value_name = "lambda.mtx")]
    out: Option<PathBuf>,
    /// Write the eigenvectors to this file, one per column, in the order of the eigenvalues: .mtx, .npy or `-`
    #[arg(long, value_name = "x.mtx")]
    vectors: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

/// The eigenvalues that were found, and their report.
struct RankEigenvalues {
    values: Vec<Complex64>,
    offsets: Vec<Complex64>,
    /// The rows of the eigenvectors on this rank; on rank 0, if they are wanted, all rows.
    vectors: Vec<Complex64>,
    report: EigenReport,
}

/// Find the eigenvalues of the command line. Collective.
///
/// # Errors
/// On rank 0, a [`Failure`] with its exit code. If rank 0 fails, all ranks fail.
pub fn run(ranks: &Ranks, args: &RankEigArgs) -> Result<(), Failure> {
    let mut input = Ok(None);
    if ranks.rank() == 0 {
        let named = [("--out", &args.out), ("--vectors", &args.vectors)];
        let formats = named.iter().filter_map(|(option, path)| path.as_deref().map(|path| Format::of(option, path)));
        let formats: Result<Vec<Format>, Failure> = formats.collect();
        let outputs = formats.and_then(|_| check_all(&[named[0], named[1], ("--json", &args.json)], &[&args.matrix]));
        let read = outputs.and_then(|_| read((&args.matrix, None), (args.block, false))).and_then(|mut input| {
            if args.block.is_none() {
                let structure = Structure::of::<Complex64, _>(&input.matrix)?;
                input.shape = RowsShape::Blocks(structure.smallest_block::<Complex64, _>(&input.matrix), false);
            }
            Ok(input)
        });
        input = read.and_then(|input| {
            let n = input.matrix.n_rows;
            match args.k {
                Some(k) if k == 0 || k > n => {
                    Err(Failure::Usage(format!("-k {k}: the matrix has {n} eigenvalues; pass a number from 1 to {n}")))
                }
                _ => Ok(Some(input)),
            }
        });
    }
    let Some(system) = announce(ranks, input)? else { return Ok(()) };
    if system.complex { find(ranks, args, &system, |v| v) } else { find(ranks, args, &system, |v: Complex64| v.re) }
}

fn find<T: Scalar>(
    ranks: &Ranks,
    args: &RankEigArgs,
    system: &RankSystem,
    of: impl Fn(Complex64) -> T,
) -> Result<(), Failure> {
    let RowsShape::Blocks(block, _) = system.shape else { unreachable!("matrices are read as blocks") };
    let all = system.rows(ranks, &of).map_err(failure)?;
    let hermitian = ranks.all_gather(&[u8::from(is_hermitian(&all, block))])[0] == 1;
    let started = Instant::now();
    let part = system.scatter(ranks, &all).map_err(failure)?;
    drop(all);
    let a = blocks(ranks, (block, false), &part).map_err(failure)?;
    drop(part);
    let k = args.k.unwrap_or(5.min(system.n));
    // The seed differs between the ranks, so that their parts of the random vectors differ.
    let mut solver = EigenSolver::new(k).tol(args.tol).seed(ranks.rank() as u64).communicator(ranks);
    if let Some(ncv) = args.ncv {
        solver = solver.ncv(ncv);
    }
    let wide = |values: Vec<f64>| values.into_iter().map(Complex64::from).collect();
    let mut eigenvalues = if hermitian {
        let below = |shift: f64| a.eigenvalues_below(None, shift).map_err(|error| error.error);
        let eigenvalues = solver.count(&below).hermitian_nearest(&a, None, args.target)?;
        RankEigenvalues {
            values: wide(eigenvalues.values),
            offsets: wide(eigenvalues.offsets),
            vectors: eigenvalues.vectors.iter().copied().map(widen).collect(),
            report: eigenvalues.report,
        }
    } else {
        let target = narrow(Complex64::from(args.target));
        let eigenvalues = solver.general_nearest(&a, None, target)?;
        RankEigenvalues {
            values: eigenvalues.values,
            offsets: eigenvalues.offsets,
            vectors: eigenvalues.vectors,
            report: eigenvalues.report,
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    if args.vectors.is_some() {
        let (columns, ranges) = (eigenvalues.values.len(), system.ranges(ranks));
        let len = |rank: usize| ranges.range(rank).len() * block * columns;
        let parts = ranks.gather(eigenvalues.vectors, len).map_err(failure)?;
        eigenvalues.vectors = joined(&parts, columns)?;
    }
    if ranks.rank() == 0 {
        print(args, (ranks.size(), system.n, block), &eigenvalues, seconds)?;
    }
    if eigenvalues.report.ending == bandsolve_eigen::EigenEnding::Converged {
        return Ok(());
    }
    let (got, wanted) = (eigenvalues.values.len(), eigenvalues.report.wanted);
    Err(Failure::Unsolved(format!(
        "{got} of {wanted} eigenvalues found ({}); try a larger --ncv",
        eigenvalues.report.ending
    )))
}

fn print(
    args: &RankEigArgs,
    (ranks, n, block): (usize, usize, usize),
    eigenvalues: &RankEigenvalues,
    seconds: f64,
) -> Result<(), Failure> {
    let RankEigenvalues { values, offsets, vectors, report: outcome } = eigenvalues;
    if let Some(path) = &args.out {
        write_numbers(("--out", path), values.len(), values)?;
    }
    if let Some(path) = &args.vectors {
        write_numbers(("--vectors", path), n, vectors)?;
    }
    let json = args.json.as_deref();
    if let Some(path) = json {
        let converged = outcome.ending == bandsolve_eigen::EigenEnding::Converged;
        let fields = serde_json::json!({
            "status": report::status(converged), "ranks": ranks, "n": n, "block": block,
            "target": args.target, "eigenvalues": report::numbers(values), "offsets": report::numbers(offsets),
            "residuals": outcome.residuals, "restarts": outcome.restarts, "solves": outcome.solves,
            "complete": outcome.complete, "seconds": seconds,
        });
        report::write_json(path, &fields)?;
    }
    let text = format!(
        "{n} unknowns in blocks of {block} on {ranks} ranks, {} solves, {}\n{}time  {seconds:.3} s\n",
        outcome.solves,
        report::counted(outcome.restarts, "restart"),
        report::eigenvalues(values, Some(offsets), &outcome.residuals, outcome.complete),
    );
    let outputs = [&args.out, &args.vectors, &args.json];
    report::print_beside(&text, outputs.iter().any(|path| report::is_stdout(path.as_deref())))
}

/// Whether the matrix is Hermitian. Each block row has its left, diagonal and right block.
fn is_hermitian<T: Scalar>(rows: &[T], block: usize) -> bool {
    let square = block * block;
    let adjoint = |a: &[T], b: &[T]| (0..square).all(|k| a[k] == Scalar::conj(b[k % block * block + k / block]));
    let below = rows.chunks_exact(3 * square).skip(1).map(Some).chain([None]);
    rows.chunks_exact(3 * square).zip(below).all(|(row, below)| {
        let (diag, right) = (&row[square..2 * square], &row[2 * square..]);
        adjoint(diag, diag) && below.is_none_or(|below| adjoint(right, &below[..square]))
    })
}
