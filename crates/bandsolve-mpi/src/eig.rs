//! `bandsolve-mpi eig`: rank 0 reads, all look for eigenvalues.

use crate::input::{RankSystem, RowsShape, announce, read, smallest_block};
use crate::solve::{blocks, failure};
use bandsolve::{Complex64, Scalar};
use bandsolve_cli::exit::Failure;
use bandsolve_cli::{finite, tolerance};
use bandsolve_eigen::{EigenReport, EigenSolver};
use bandsolve_mpi::Ranks;
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;

/// What may be typed.
#[derive(Debug, Args)]
pub struct RankEigArgs {
    /// The matrix: a Matrix Market file; only rank 0 reads it
    matrix: PathBuf,
    /// The eigenvalues nearest to this number are wanted, by shift-and-invert
    #[arg(long, default_value = "0", allow_hyphen_values = true, value_parser = finite)]
    target: f64,
    /// How many eigenvalues, at most as many as there are rows [default: 5, or all if there are fewer]
    #[arg(short)]
    k: Option<usize>,
    /// Most vectors of the Krylov space [default: 2 K + 6, at least 16]
    #[arg(long)]
    ncv: Option<usize>,
    /// A pair counts as found when its residual is at most this share of the operator's eigenvalue; below 1
    #[arg(long, default_value = "1e-8", allow_negative_numbers = true, value_parser = tolerance)]
    tol: f64,
    /// Rows of a block [default: the fewest in which the matrix is block tridiagonal]
    #[arg(long, value_name = "ROWS")]
    block: Option<usize>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
struct RankEigenvalues {
    values: Vec<Complex64>,
    offsets: Vec<Complex64>,
    report: EigenReport,
}

/// Finds the eigenvalues that the command line asks for. Collective.
///
/// # Errors
/// On rank 0 with the exit codes of [`Failure`]; where rank 0 fails, all others do.
pub fn run(ranks: &Ranks, args: &RankEigArgs) -> Result<(), Failure> {
    let mut input = Ok(None);
    if ranks.rank() == 0 {
        input = read((&args.matrix, None), (args.block, false)).map(|mut input| {
            if args.block.is_none() {
                input.shape = RowsShape::Blocks(smallest_block(&input.matrix), false);
            }
            Some(input)
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
    let all = system.rows(&of);
    let hermitian = ranks.all_gather(&[u8::from(is_hermitian(&all, block))])[0] == 1;
    let started = Instant::now();
    let a = blocks(ranks, (block, false), &system.scatter(ranks, &all)).map_err(failure)?;
    drop(all);
    // Random vectors differ from rank to rank.
    let mut solver = EigenSolver::new(args.k.unwrap_or_else(|| system.n.min(5)))
        .tol(args.tol)
        .seed(ranks.rank() as u64)
        .communicator(ranks);
    if let Some(ncv) = args.ncv {
        solver = solver.ncv(ncv);
    }
    let wide = |values: Vec<f64>| values.into_iter().map(Complex64::from).collect();
    let found = if hermitian {
        let below = |shift: f64| a.eigenvalues_below(None, shift).map_err(|error| error.error);
        let found = solver.count(&below).hermitian_nearest(&a, None, args.target)?;
        RankEigenvalues { values: wide(found.values), offsets: wide(found.offsets), report: found.report }
    } else {
        let target = bandsolve::vectors::narrow(Complex64::from(args.target));
        let found = solver.general_nearest(&a, None, target)?;
        RankEigenvalues { values: found.values, offsets: found.offsets, report: found.report }
    };
    let seconds = started.elapsed().as_secs_f64();
    if ranks.rank() == 0 {
        print(args, (ranks.size(), system.n, block), &found, seconds);
    }
    if found.report.ending == bandsolve_eigen::EigenEnding::Converged {
        return Ok(());
    }
    let (got, wanted) = (found.values.len(), found.report.wanted);
    Err(Failure::Unsolved(format!("{got} of {wanted} eigenvalues found ({}); try a larger --ncv", found.report.ending)))
}

fn print(args: &RankEigArgs, (ranks, n, block): (usize, usize, usize), found: &RankEigenvalues, seconds: f64) {
    let RankEigenvalues { values, offsets, report } = found;
    if args.json {
        let complex = values.iter().any(|value| value.im != 0.0);
        let numbers = |values: &[Complex64]| -> Vec<serde_json::Value> {
            let number = |value: &Complex64| {
                if complex { serde_json::json!([value.re, value.im]) } else { serde_json::json!(value.re) }
            };
            values.iter().map(number).collect()
        };
        let json = serde_json::json!({
            "ranks": ranks, "n": n, "block": block, "target": args.target, "eigenvalues": numbers(values),
            "offsets": numbers(offsets), "residuals": report.residuals, "restarts": report.restarts,
            "solves": report.solves, "complete": report.complete, "seconds": seconds,
        });
        say!("{json}");
        return;
    }
    say!("{n} unknowns in blocks of {block} on {ranks} ranks, {} solves, {} restarts", report.solves, report.restarts);
    for ((value, offset), residual) in values.iter().zip(offsets).zip(&report.residuals) {
        if value.im == 0.0 {
            say!("  {:.16}  offset {:.6e}  residual {residual:.1e}", value.re, offset.re);
        } else {
            say!("  {value:.16}  offset {offset:.6e}  residual {residual:.1e}");
        }
    }
    if let Some(complete) = report.complete {
        let what = if complete { "proved complete by counts" } else { "not proved complete by counts" };
        say!("  {what}");
    }
    say!("time  {seconds:.3} s");
}

/// Whether block rows, each with its left, own and right block, are those of a Hermitian matrix.
fn is_hermitian<T: Scalar>(rows: &[T], block: usize) -> bool {
    let (square, rows): (usize, Vec<&[T]>) = (block * block, rows.chunks_exact(3 * block * block).collect());
    let adjoint = |a: &[T], b: &[T]| (0..square).all(|k| a[k] == Scalar::conj(b[k % block * block + k / block]));
    rows.iter().enumerate().all(|(i, row)| {
        let (diag, right) = (&row[square..2 * square], &row[2 * square..]);
        adjoint(diag, diag) && rows.get(i + 1).is_none_or(|below| adjoint(right, &below[..square]))
    })
}
