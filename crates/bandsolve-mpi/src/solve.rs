//! `bandsolve-mpi solve`: rank 0 reads and writes, all solve.

use bandsolve::{Complex64, Method, RealScalar, Report, Scalar};
use bandsolve_cli::exit::Failure;
use bandsolve_cli::io::output::{Format, check, write_solution};
use bandsolve_cli::io::{DenseArray, Triplets, read_matrix, read_rhs};
use bandsolve_mpi::{DistributedBanded, DistributedBlocks, DistributedFactors, RankError, RankRanges, Ranks, Traffic};
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;

/// What may be typed.
#[derive(Debug, Args)]
pub struct RankSolveArgs {
    /// The matrix: a Matrix Market file; only rank 0 reads it
    matrix: PathBuf,
    /// Right-hand sides [default: the product of the matrix with ones]
    #[arg(long)]
    rhs: Option<PathBuf>,
    /// Where to write x: .mtx or .npy
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// The matrix is block tridiagonal, with blocks of so many rows
    #[arg(long, value_name = "ROWS")]
    block: Option<usize>,
    /// With --block: the corner blocks count, too
    #[arg(long, requires = "block")]
    periodic: bool,
    /// With --block: bcyclic or block-spike [default: bcyclic, of one row spike]
    #[arg(long, requires = "block")]
    method: Option<String>,
}

/// What rank 0 has read.
struct RankInput {
    matrix: Triplets,
    rhs: Option<DenseArray>,
    /// Numbers of a row (of blocks).
    shape: RowsShape,
}

/// How rows are sent.
#[derive(Clone, Copy)]
enum RowsShape {
    /// Diagonals below and above the main one.
    Bands(usize, usize),
    /// Rows of a block, and whether corners count.
    Blocks(usize, bool),
}

/// Solves as the command line asks. Collective.
///
/// # Errors
/// On rank 0 with the exit codes of [`Failure`]; where rank 0 fails, all others do.
pub fn run(ranks: &Ranks, args: &RankSolveArgs) -> Result<(), Failure> {
    let mut input = Ok(None);
    if ranks.rank() == 0 {
        input = read(args).map(Some);
    }
    // 0: failed, 1: real, 2: complex; then unknowns, columns, the shape of the rows.
    let told = match &input {
        Ok(Some(input)) => {
            let columns = input.rhs.as_ref().map_or(1, |rhs| rhs.n_cols) as u64;
            let (kind, a, b) = match input.shape {
                RowsShape::Bands(lower, upper) => (0, lower as u64, upper as u64),
                RowsShape::Blocks(block, periodic) => (1, block as u64, u64::from(periodic)),
            };
            let complex = input.matrix.values.is_complex() || input.rhs.as_ref().is_some_and(|r| r.values.is_complex());
            [1 + u64::from(complex), input.matrix.n_rows as u64, columns, kind, a, b]
        }
        _ => [0; 6],
    };
    let all = ranks.all_gather(&told);
    let [kind, n, columns, rows, a, b] = [0, 1, 2, 3, 4, 5].map(|k| all[k] as usize);
    let input = match (kind, input) {
        (0, Err(failure)) => return Err(failure),
        (0, Ok(_)) => return Ok(()),
        (_, input) => input?,
    };
    let shape = if rows == 0 { RowsShape::Bands(a, b) } else { RowsShape::Blocks(a, b == 1) };
    let task = RankTask { ranks, args, shape, n, columns };
    if kind == 2 { task.run(input, |v| v) } else { task.run(input, |v: Complex64| v.re) }
}

fn read(args: &RankSolveArgs) -> Result<RankInput, Failure> {
    if let Some(out) = &args.out {
        Format::of(out)?;
        check(out)?;
    }
    let matrix = read_matrix(&args.matrix)?;
    let rhs = args.rhs.as_deref().map(|path| read_rhs(path, matrix.n_rows)).transpose()?;
    let (mut lower, mut upper) = (0, 0);
    matrix.for_each(|i, j, _| (lower, upper) = (lower.max(i.saturating_sub(j)), upper.max(j.saturating_sub(i))));
    let Some(block) = args.block else { return Ok(RankInput { matrix, rhs, shape: RowsShape::Bands(lower, upper) }) };
    let n = matrix.n_rows;
    if block == 0 || !n.is_multiple_of(block) {
        return Err(Failure::Usage(format!("--block {block}: {n} rows are no whole number of blocks")));
    }
    let (mut outside, count) = (None, n / block);
    matrix.for_each(|i, j, _| {
        let apart = (i / block).abs_diff(j / block);
        let corner = args.periodic && apart + 1 == count;
        outside = outside.or((apart > 1 && !corner).then_some((i, j)));
    });
    match outside {
        Some((i, j)) => Err(Failure::Usage(format!(
            "--block {block}: the entry in row {}, column {} is in none of the three block diagonals",
            i + 1,
            j + 1
        ))),
        None => Ok(RankInput { matrix, rhs, shape: RowsShape::Blocks(block, args.periodic) }),
    }
}

/// All about the task but its numbers.
struct RankTask<'a> {
    ranks: &'a Ranks,
    args: &'a RankSolveArgs,
    shape: RowsShape,
    n: usize,
    columns: usize,
}

impl RankTask<'_> {
    /// Unknowns of a (block) row, and numbers of it.
    fn row(&self) -> (usize, usize) {
        match self.shape {
            RowsShape::Bands(lower, upper) => (1, lower + upper + 1),
            RowsShape::Blocks(block, _) => (block, 3 * block * block),
        }
    }

    fn run<T: Scalar>(&self, input: Option<RankInput>, of: impl Fn(Complex64) -> T) -> Result<(), Failure> {
        let (unknowns, numbers) = self.row();
        let ranges = RankRanges::even(self.n / unknowns, self.ranks.size());
        let own = ranges.range(self.ranks.rank()).len();
        let (mut rows, mut rhs, mut ones) = (Vec::new(), Vec::new(), true);
        if let Some(input) = &input {
            rows = self.rows(input, &of);
            ones = input.rhs.is_none();
            rhs = input
                .rhs
                .as_ref()
                .map_or(Vec::new(), |rhs| (0..rhs.values.len()).map(|k| of(rhs.values.get(k))).collect());
        }
        drop(input);
        ones = self.ranks.all_gather(&[u8::from(ones)])[0] == 1;
        let cut = |values: &[T], each: usize| -> Vec<Vec<T>> {
            (0..ranges.ranks())
                .map(|rank| values[ranges.range(rank).start * each..ranges.range(rank).end * each].to_vec())
                .collect()
        };
        let first = self.ranks.rank() == 0;
        let rows = self.ranks.scatter(if first { cut(&rows, numbers) } else { Vec::new() }, own * numbers);
        let started = Instant::now();
        let before = self.ranks.traffic();
        let (factors, product) = self.factor(&rows, own).map_err(failure)?;
        let mut x = if ones {
            product
        } else {
            let mut x = Vec::with_capacity(own * unknowns * self.columns);
            for k in 0..self.columns {
                let column = if first { cut(&rhs[k * self.n..(k + 1) * self.n], unknowns) } else { Vec::new() };
                x.extend(self.ranks.scatter(column, own * unknowns));
            }
            x
        };
        let report = factors.solve_in_place(&mut x).map_err(failure)?;
        let (seconds, traffic) = (started.elapsed().as_secs_f64(), self.ranks.traffic() - before);
        let len = |rank: usize| ranges.range(rank).len() * unknowns * self.columns;
        let parts = self.ranks.gather(x, len);
        if first { self.finish(&parts, (&report, seconds, traffic), ones) } else { Ok(()) }
    }

    /// All rows, on rank 0.
    fn rows<T: Scalar>(&self, input: &RankInput, of: &impl Fn(Complex64) -> T) -> Vec<T> {
        let (unknowns, numbers) = self.row();
        let mut rows = vec![T::ZERO; self.n / unknowns * numbers];
        let count = self.n / unknowns;
        input.matrix.for_each(|i, j, v| {
            let place = match self.shape {
                RowsShape::Bands(lower, _) => i * numbers + lower + j - i,
                RowsShape::Blocks(b, periodic) => {
                    let (row, column) = (i / b, j / b);
                    let wraps = periodic && count > 2 && row.abs_diff(column) + 1 == count;
                    let array = if (column > row) != wraps && column != row {
                        2
                    } else if column == row {
                        1
                    } else {
                        0
                    };
                    row * numbers + array * b * b + i % b + j % b * b
                }
            };
            rows[place] += of(v);
        });
        rows
    }

    /// Factors, and the product of the matrix with ones.
    fn factor<T: Scalar>(&self, rows: &[T], own: usize) -> Result<(DistributedFactors<T>, Vec<T>), RankError> {
        match self.shape {
            RowsShape::Bands(lower, upper) => {
                let a = DistributedBanded::new(self.ranks, (lower, upper), rows)?;
                Ok((a.factor()?, a.apply(&vec![T::ONE; own])?))
            }
            RowsShape::Blocks(b, periodic) => {
                let array = |k: usize| rows.chunks_exact(b * b).skip(k).step_by(3).flatten().copied().collect();
                let arrays: [Vec<T>; 3] = [0, 1, 2].map(array);
                let new = if periodic { DistributedBlocks::periodic } else { DistributedBlocks::new };
                let a = new(self.ranks, b, arrays.each_ref().map(Vec::as_slice))?;
                let method = self.args.method.as_deref().and_then(Method::from_name).unwrap_or(Method::Auto);
                Ok((a.factor_by(method)?, a.apply(&vec![T::ONE; own * b])?))
            }
        }
    }

    /// Writes and prints what came of it, on rank 0.
    fn finish<T: Scalar>(
        &self,
        parts: &[Vec<T>],
        (report, seconds, traffic): (&Report, f64, Traffic),
        ones: bool,
    ) -> Result<(), Failure> {
        let mut x = Vec::with_capacity(self.n * self.columns);
        for k in 0..self.columns {
            for part in parts {
                let rows = part.len() / self.columns;
                x.extend_from_slice(&part[k * rows..(k + 1) * rows]);
            }
        }
        let far = x.iter().map(|x| Scalar::abs(*x - T::ONE).to_f64()).fold(0.0, f64::max);
        if let Some(out) = &self.args.out {
            write_solution(out, Format::of(out)?, self.n, &x)?;
        }
        if self.args.json {
            let json = serde_json::json!({
                "ranks": self.ranks.size(), "n": self.n, "n_rhs": self.columns, "method": report.method.name(),
                "backward_error": report.backward_error, "refinement_steps": report.refinement_steps,
                "fallback": report.fallback, "seconds": seconds, "messages": traffic.messages, "bytes": traffic.bytes,
                "forward_error": ones.then_some(far),
            });
            println!("{json}");
        } else {
            println!("{} unknowns on {} ranks by {}", self.n, self.ranks.size(), report.method.name());
            println!("backward error  {:.1e}, {} refinement steps", report.backward_error, report.refinement_steps);
            if ones {
                println!("forward error   {far:.1e} (x = 1)");
            }
            println!(
                "time            {seconds:.3} s; rank 0 sent {} messages, {} bytes",
                traffic.messages, traffic.bytes
            );
        }
        Ok(())
    }
}

fn failure(error: RankError) -> Failure {
    let RankError { rank, error } = error;
    match Failure::from(error) {
        Failure::Other(text) => Failure::Other(format!("rank {rank}: {text}")),
        Failure::Usage(text) => Failure::Usage(text),
        Failure::Input(text) => Failure::Input(format!("rank {rank}: {text}")),
        Failure::Unsolved(text) => Failure::Unsolved(text),
    }
}
