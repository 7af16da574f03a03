//! `bandsolve-mpi solve`: rank 0 reads and writes the files, all ranks solve.

use crate::input::{RankInput, RankSystem, RowsShape, announce, read};
use bandsolve::memory::{allocate, reserved};
use bandsolve::{Complex64, Method, RealScalar, Report, Scalar};
use bandsolve_mpi::{DistributedBanded, DistributedBlocks, DistributedFactors, METHODS, RankError, Ranks, Traffic};
use bandsolve_program::exit::Failure;
use bandsolve_program::io::output::{Format, check_all, write_solution};
use bandsolve_program::names::suggesting;
use bandsolve_program::report;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `solve`.
#[derive(Debug, Args)]
pub struct RankSolveArgs {
    /// Matrix Market file with the matrix; only rank 0 reads it
    matrix: PathBuf,
    /// File with the right-hand sides [default: the matrix times a vector of ones]
    #[arg(long)]
    rhs: Option<PathBuf>,
    /// Write x to this file, .mtx or .npy
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Treat the matrix as block tridiagonal, with this number of rows per block [default: banded]
    #[arg(long, value_name = "ROWS")]
    block: Option<usize>,
    /// With --block: the matrix is periodic, so the corner blocks may contain entries
    #[arg(long, requires = "block")]
    periodic: bool,
    /// With --block: auto, bcyclic, spike, block-spike or spike-truncated [default: auto, which is bcyclic, or spike for blocks of one row]
    #[arg(long, requires = "block", value_parser = rank_method)]
    method: Option<Method>,
}

/// Get a method over ranks by its name.
fn rank_method(name: &str) -> Result<Method, String> {
    METHODS.into_iter().find(|method| method.name() == name).ok_or_else(|| {
        let known = METHODS.map(Method::name).join(", ");
        suggesting(name, format!("no method over ranks `{name}`. Choose one of: {known}"))
    })
}

/// Solve the system of the command line. Collective.
///
/// # Errors
/// On rank 0, a [`Failure`] with its exit code. If rank 0 fails, all ranks fail.
pub fn run(ranks: &Ranks, args: &RankSolveArgs) -> Result<(), Failure> {
    let mut input = Ok(None);
    if ranks.rank() == 0 {
        input = read_checked(args).map(Some);
    }
    let Some(system) = announce(ranks, input)? else { return Ok(()) };
    if system.complex {
        RankTask { ranks, args, system }.run(|v| v)
    } else {
        RankTask { ranks, args, system }.run(|v: Complex64| v.re)
    }
}

fn read_checked(args: &RankSolveArgs) -> Result<RankInput, Failure> {
    if let Some(out) = &args.out {
        Format::of("--out", out)?;
    }
    let inputs: Vec<&Path> = [&args.matrix].into_iter().chain(&args.rhs).map(PathBuf::as_path).collect();
    check_all(&[("--out", &args.out), ("--json", &args.json)], &inputs)?;
    read((&args.matrix, args.rhs.as_deref()), (args.block, args.periodic))
}

/// The system and the options, without the matrix entries.
struct RankTask<'a> {
    ranks: &'a Ranks,
    args: &'a RankSolveArgs,
    system: RankSystem,
}

/// Join the parts of columns, each with the rows of one rank.
pub fn joined<T: Scalar>(parts: &[Vec<T>], columns: usize) -> bandsolve::Result<Vec<T>> {
    let mut all = reserved(parts.iter().map(Vec::len).sum())?;
    for k in 0..columns {
        for part in parts {
            let rows = part.len() / columns;
            all.extend_from_slice(&part[k * rows..(k + 1) * rows]);
        }
    }
    Ok(all)
}

impl RankTask<'_> {
    fn run<T: Scalar>(&self, of: impl Fn(Complex64) -> T) -> Result<(), Failure> {
        let (system, ranks) = (&self.system, self.ranks);
        let (ranges, (unknowns, _)) = (system.ranges(ranks), system.shape.row());
        let (local_rows, first) = (ranges.range(ranks.rank()).len(), ranks.rank() == 0);
        let given = system.input.as_ref().and_then(|input| input.rhs.as_ref());
        let rhs = given.map_or(Ok(Vec::new()), |rhs| {
            let mut values = reserved(rhs.values.len())?;
            values.extend((0..rhs.values.len()).map(|k| of(rhs.values.get(k))));
            Ok(values)
        });
        let rhs: Vec<T> = ranks.agree(rhs).map_err(failure)?;
        let ones = ranks.all_gather(&[u8::from(given.is_none())])[0] == 1;
        let rows = system.rows(ranks, &of).and_then(|rows| system.scatter(ranks, &rows)).map_err(failure)?;
        let started = Instant::now();
        let before = ranks.traffic();
        let (factors, product) = self.factor(&rows, local_rows).map_err(failure)?;
        let mut x = if ones {
            product
        } else {
            let mut x = ranks.agree(reserved(local_rows * unknowns * system.columns)).map_err(failure)?;
            for k in 0..system.columns {
                let column = if first { &rhs[k * system.n..][..system.n] } else { &[] };
                x.extend(system.deal(ranks, column, unknowns).map_err(failure)?);
            }
            x
        };
        let report = factors.solve_in_place(&mut x).map_err(failure)?;
        let (seconds, traffic) = (started.elapsed().as_secs_f64(), ranks.traffic() - before);
        let rcond = factors.rcond().map_err(failure)?;
        let len = |rank: usize| ranges.range(rank).len() * unknowns * system.columns;
        let parts = ranks.gather(x, len).map_err(failure)?;
        if first { self.finish(&parts, (&report, rcond), (seconds, traffic), ones) } else { Ok(()) }
    }

    /// Factor the matrix, and compute its product with a vector of ones.
    fn factor<T: Scalar>(&self, rows: &[T], local_rows: usize) -> Result<(DistributedFactors<T>, Vec<T>), RankError> {
        match self.system.shape {
            RowsShape::Bands(lower, upper) => {
                let a = DistributedBanded::new(self.ranks, (lower, upper), rows)?;
                Ok((a.factor()?, a.apply(&ones(self.ranks, local_rows)?)?))
            }
            RowsShape::Blocks(b, periodic) => {
                let a = blocks(self.ranks, (b, periodic), rows)?;
                let method = self.args.method.unwrap_or(Method::Auto);
                Ok((a.factor_by(method)?, a.apply(&ones(self.ranks, local_rows * b)?)?))
            }
        }
    }

    /// Write x and print the report, on rank 0.
    fn finish<T: Scalar>(
        &self,
        parts: &[Vec<T>],
        (solved, rcond): (&Report, f64),
        (seconds, traffic): (f64, Traffic),
        ones: bool,
    ) -> Result<(), Failure> {
        let x = joined(parts, self.system.columns)?;
        let far = x.iter().map(|x| Scalar::abs(*x - T::ONE).to_f64()).fold(0.0, f64::max);
        let forward_error = ones.then_some(far);
        let epsilon = T::Real::EPSILON.to_f64();
        let attention = bandsolve::attention(epsilon, Some(rcond), solved.backward_error, forward_error);
        if let Some(out) = &self.args.out {
            write_solution(out, Format::of("--out", out)?, self.system.n, &x)?;
        }
        let json = self.args.json.as_deref();
        if let Some(path) = json {
            let fields = serde_json::json!({
                "status": "solved", "ranks": self.ranks.size(), "n": self.system.n, "n_rhs": self.system.columns, "method": solved.method.name(),
                "backward_error": solved.backward_error, "refinement_steps": solved.refinement_steps,
                "fallback": solved.fallback, "seconds": seconds, "messages": traffic.messages, "bytes": traffic.bytes,
                "forward_error": forward_error, "rcond": rcond, "attention": attention,
            });
            report::write_json(path, &fields)?;
        }
        let mut lines = vec![
            ("backward error", format!("{:.1e}, {} refinement steps", solved.backward_error, solved.refinement_steps)),
            ("rcond", format!("{rcond:.1e}")),
        ];
        lines.extend(ones.then(|| ("forward error", format!("{far:.1e} (x = 1)"))));
        lines.extend(attention.map(|attention| ("attention", attention)));
        let sent = format!("{seconds:.3} s; rank 0 sent {} messages, {} bytes", traffic.messages, traffic.bytes);
        lines.push(("time", sent));
        let (n, ranks, method) = (self.system.n, self.ranks.size(), solved.method.name());
        let text = format!("{n} unknowns on {ranks} ranks by {method}\n{}", report::columns(&lines));
        report::print_beside(
            &text,
            [&self.args.out, &self.args.json].iter().any(|path| report::is_stdout(path.as_deref())),
        )
    }
}

/// Create a vector of `len` ones on each rank. Collective.
fn ones<T: Scalar>(ranks: &Ranks, len: usize) -> Result<Vec<T>, RankError> {
    ranks.agree(allocate(len, T::ONE))
}

/// Create the matrix from the block rows of this rank. Collective.
pub fn blocks<T: Scalar>(
    ranks: &Ranks,
    (block, periodic): (usize, bool),
    rows: &[T],
) -> Result<DistributedBlocks<T>, RankError> {
    let array = |k: usize| {
        let mut array = reserved(rows.len() / 3)?;
        array.extend(rows.chunks_exact(block * block).skip(k).step_by(3).flatten());
        Ok(array)
    };
    let arrays = array(0).and_then(|sub| Ok([sub, array(1)?, array(2)?]));
    let arrays: [Vec<T>; 3] = ranks.agree(arrays)?;
    let new = if periodic { DistributedBlocks::periodic } else { DistributedBlocks::new };
    new(ranks, block, arrays.each_ref().map(Vec::as_slice))
}

/// Convert an error that all ranks agreed on to a failure with its exit code.
pub fn failure(error: RankError) -> Failure {
    let RankError { rank, error } = error;
    match Failure::from(error) {
        Failure::Other(text) => Failure::Other(format!("rank {rank}: {text}")),
        Failure::Usage(text) => Failure::Usage(text),
        Failure::Input(text) => Failure::Input(format!("rank {rank}: {text}")),
        Failure::Unsolved(text) => Failure::Unsolved(text),
    }
}
