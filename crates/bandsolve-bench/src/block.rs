//! `bandsolve bench block`: block tridiagonal systems with dense blocks, compared with banded LU of bandsolve and of other libraries.

use crate::args::BenchBlockArgs;
use crate::contest::{self, Budget, Contestant, TimedSolve};
use crate::dots::{DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::peers::{Peer, PeerBandLu};
use crate::results::{self, Results};
use crate::row::{BenchRow, RepairCounts, ratio};
use crate::setup::{self, show};
use crate::sheet::{BACKWARD, Line, SOLVER, Sheet, SheetColumn, THREADS, column};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{BlockTridiagonal, Factor, Method, Op, Plan, Report};
use bandsolve_gallery::Random;
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::{progress, report};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Methods of bandsolve. The last one, `pivoted`, is the baseline if the machine has no other library.
const METHODS: [Method; 5] = [Method::Rpts, Method::Spike, Method::Bcyclic, Method::BlockSpike, Method::Pivoted];

/// Measure every block size.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchBlockArgs) -> Result<(), Failure> {
    let stdout_used = results::stdout_is_used(&args.measure, None)?;
    let threads = setup::threads(&args.threads)?;
    let quick = args.measure.quick;
    let blocks = args.block.clone().unwrap_or_else(|| if quick { vec![16, 32] } else { vec![16, 32, 64, 128, 256] });
    let block_rows = |block: usize| {
        // A factorization takes 16·block² flops per unknown, so systems of larger blocks get fewer unknowns.
        let n = args.n.unwrap_or(if quick { 1 << 10 } else { (1 << 15).min((1 << 22) / block) });
        let rows = n.div_ceil(block).max(2);
        let fits = affordable(&[rows, block, block, 20], 8);
        fits.map_err(|why| Failure::Usage(format!("--block {block}, --n {n}: {why}"))).map(|_| rows)
    };
    // A size that does not fit must fail before the first measurement.
    let block_rows = blocks.iter().map(|block| block_rows(*block)).collect::<Result<Vec<_>, _>>()?;
    let (machine, peers) = (MachineFacts::here(), Peer::all());
    report::print_beside(&machine.text(Some(&peers)), stdout_used)?;
    let (mut lines, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let bar = progress::parts("contest", 2 * blocks.len());
    for (block, rows) in blocks.into_iter().zip(block_rows) {
        let system = RandomBlocks::new(rows, block, args.shift);
        let budget = setup::budget(&args.measure);
        for part in [BlockPart::Both, BlockPart::TimedSolve] {
            let rows = system.contest(part, &threads, budget, &peers);
            let sheet = system.sheet(part, &rows);
            show(&sheet.text(), stdout_used, &bar)?;
            lines.extend(system.json(part, &rows));
            // The plot shows solvers only.
            let solvers: Vec<BenchRow> = rows.into_iter().filter(|row| row.solver != PRODUCT).collect();
            panels.push(DotPanel::of(format!("blocks of {block}, {}", part.words()), &solvers, f64::EPSILON));
            sheets.push(sheet);
        }
    }
    let title = "Time of one block tridiagonal system, one right-hand side, f64 (ns per row)".into();
    let chart = DotChart { title, machine: machine.summary(), across: 2, kinds: vec!["random"], panels };
    Results::here("block", &machine, Some(&peers), lines, sheets).write(&args.measure, || Some(chart.draw()))
}

/// The timed part of the computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockPart {
    /// Factor and solve.
    Both,
    /// Solve with stored factors.
    TimedSolve,
}

impl BlockPart {
    fn words(self) -> &'static str {
        if self == BlockPart::Both { "factor and solve" } else { "solve with stored factors" }
    }
}

/// Name of the matrix product, which reads all blocks once and so measures the memory bandwidth.
const PRODUCT: &str = "A·x";

/// A matrix with entries from U(−1, 1) and one right-hand side.
struct RandomBlocks {
    a: BlockTridiagonal<'static, f64>,
    /// sub, diag and sup of the matrix.
    blocks: [Vec<f64>; 3],
    rhs: Vec<f64>,
}

/// Memory that all solvers share.
struct BlockMemory {
    x: Vec<f64>,
    report: Option<Report>,
}

impl RandomBlocks {
    fn new(rows: usize, block: usize, shift: f64) -> Self {
        let mut random = Random::new(block as u64);
        let mut draw = || random.uniform_vec(rows * block * block, -1.0, 1.0);
        let [sub, mut diag, sup] = [draw(), draw(), draw()];
        for d in diag.chunks_exact_mut(block * block) {
            d.iter_mut().step_by(block + 1).for_each(|v| *v += shift * block as f64);
        }
        let blocks = [sub, diag, sup];
        let a = BlockTridiagonal::from_vecs(block, blocks.clone(), false).expect("three arrays of whole blocks");
        let rhs = random.uniform_vec(a.n(), -1.0, 1.0);
        Self { a, blocks, rhs }
    }

    fn contest(&self, part: BlockPart, threads: &[usize], budget: Budget, peers: &[Peer]) -> Vec<BenchRow> {
        let mut contestants = Vec::new();
        for method in METHODS.into_iter().filter(|method| method.solves(self.a.shape())) {
            for &threads in threads {
                let solve = self.ours(method, threads, part);
                contestants.push(Contestant { name: method.name().into(), threads, solve });
            }
        }
        for peer in peers {
            let Some(routine) = peer.band_lu() else { continue };
            let name = format!("{} gb{}", peer.name, if part == BlockPart::Both { "sv" } else { "trs" });
            if let Some(solve) = self.foreign(routine, part) {
                contestants.push(Contestant { name, threads: 1, solve });
            }
        }
        if part == BlockPart::TimedSolve {
            let threads = threads.iter().copied().max().unwrap_or(1);
            contestants.push(Contestant { name: PRODUCT.into(), threads, solve: self.product() });
        }
        let mut work = BlockMemory { x: self.rhs.clone(), report: None };
        let check =
            |work: &BlockMemory| (Some(self.backward_error(&work.x)), work.report.as_ref().map(RepairCounts::of));
        let mut rows = contest::run(&mut contestants, self.a.n(), budget, &mut work, check);
        // y = A·x is no solution, so it has no backward error.
        rows.iter_mut().filter(|row| row.solver == PRODUCT).for_each(|row| row.backward_error = None);
        rows
    }

    /// Factor and solve with bandsolve, or solve with stored factors.
    fn ours(&self, method: Method, threads: usize, part: BlockPart) -> TimedSolve<'_, BlockMemory> {
        let once = part == BlockPart::Both;
        let plan = if once { Plan::once(self.a.shape()) } else { Plan::new(self.a.shape()) };
        let plan = plan.method(method).threads(threads);
        if once {
            return Box::new(move |work| {
                let started = Instant::now();
                let solved = plan.factor(&self.a).and_then(|factor| factor.solve_into(&self.rhs, &mut work.x));
                let time = started.elapsed();
                work.report = Some(solved.map_err(|e| e.to_string())?);
                Ok(time)
            });
        }
        let mut factor = None;
        Box::new(move |work| {
            if factor.is_none() {
                let factored = plan.factor(&self.a).map_err(|e| e.to_string())?;
                let memory = PodBuffer::new(factored.solve_scratch(1));
                factor = Some((factored, memory));
            }
            let (factor, memory) = factor.as_mut().expect("the factors are set above");
            let started = Instant::now();
            let solved = factor.solve_into_with(Op::Plain, &self.rhs, &mut work.x, PodStack::new(memory));
            let time = started.elapsed();
            work.report = Some(solved.map_err(|e| e.to_string())?);
            Ok(time)
        })
    }

    /// Banded LU of another library for the same matrix; `None` if the library lacks the routine.
    fn foreign<'a>(&'a self, routine: PeerBandLu<'a>, part: BlockPart) -> Option<TimedSolve<'a, BlockMemory>> {
        let (mut band, mut factored) = (Vec::new(), false);
        if part == BlockPart::TimedSolve && !routine.can_solve_alone() {
            return None;
        }
        let (n, half) = (self.a.n(), 2 * self.a.block() - 1);
        let mut exchanges = vec![0; n];
        Some(Box::new(move |work| {
            work.x.copy_from_slice(&self.rhs);
            work.report = None;
            if part == BlockPart::Both || !factored {
                band = self.band();
            }
            let started = Instant::now();
            let done = if part == BlockPart::TimedSolve && factored {
                routine.solve(half, &band, &exchanges, &mut work.x)
            } else {
                routine.factor_and_solve(half, &mut band, &mut exchanges, &mut work.x)
            };
            factored = true;
            done.map_err(|info| format!("the routine returned info = {info}"))?;
            Ok(started.elapsed())
        }))
    }

    /// The matrix in the format of LAPACK's `gbsv`: 2·block − 1 diagonals on each side, and the same number of rows for fill-in.
    fn band(&self) -> Vec<f64> {
        let (n, b) = (self.a.n(), self.a.block());
        let half = 2 * b - 1;
        let leading = 3 * half + 1;
        let mut band = vec![0.0; n * leading];
        let [sub, diag, sup] = &self.blocks;
        for (j, column) in band.chunks_exact_mut(leading).enumerate() {
            let (k, c) = (j / b, j % b);
            // The parts of column j in the block rows k − 1, k and k + 1.
            for (row, blocks) in [(k.wrapping_sub(1), sup), (k, diag), (k + 1, sub)] {
                if row < n / b {
                    let place = 2 * half + row * b - j;
                    column[place..place + b].copy_from_slice(&blocks[row * b * b + c * b..][..b]);
                }
            }
        }
        band
    }

    /// The product A·x, which reads all blocks once and so measures the memory bandwidth.
    fn product(&self) -> TimedSolve<'_, BlockMemory> {
        let mut y = self.rhs.clone();
        Box::new(move |work| {
            let started = Instant::now();
            self.a.apply_into(&self.rhs, &mut y).map_err(|e| e.to_string())?;
            let time: Duration = started.elapsed();
            work.report = None;
            Ok(time)
        })
    }

    /// The largest |d − A·x| / (Σ|a|·‖x‖ + |d|) of all rows, in working precision.
    fn backward_error(&self, x: &[f64]) -> f64 {
        let product = self.a.apply(x).expect("n rows");
        let norm = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // A row has 3·block entries from U(−1, 1), so 1.5·block approximates Σ|a|.
        let size = 1.5 * self.a.block() as f64 * norm;
        let errors = product.iter().zip(&self.rhs).map(|(y, d)| (d - y).abs() / (size + d.abs()));
        report::largest(errors)
    }

    /// Words that a solve with stored factors reads at least: its factors, and all blocks once for verification.
    fn words(&self, solver: &str) -> Option<f64> {
        let (b, n) = (self.a.block() as f64, self.a.n() as f64);
        let blocks = match solver {
            "bcyclic" => 8.0,
            "block-spike" => 6.0,
            "pivoted" => 9.0,
            PRODUCT => 3.0,
            _ => 6.0, // rpts reads the blocks twice
        };
        Some(blocks * b * n)
    }

    fn sheet(&self, part: BlockPart, rows: &[BenchRow]) -> Sheet {
        let (b, count) = (self.a.block(), self.a.block_rows());
        let columns = vec![
            SheetColumn { width: 16, ..SOLVER },
            THREADS,
            column("ms", 10, "median time of the whole system, in milliseconds"),
            column("min", 10, "time of the fastest repetition, in milliseconds"),
            column(
                "speedup vs band LU",
                18,
                "time of the fastest banded LU of another library divided by this time. If the machine has no other library, the \
                 baseline is the method pivoted.",
            ),
            column(
                "GB/s",
                7,
                "bytes of the factors and of one verification pass, divided by the time of a solve with stored factors",
            ),
            BACKWARD,
        ];
        Sheet {
            title: format!("{count} block rows of {b}, {}, one right-hand side, f64", part.words()),
            columns,
            lines: rows.iter().map(|row| self.line(part, rows, row)).collect(),
        }
    }

    fn line(&self, part: BlockPart, rows: &[BenchRow], row: &BenchRow) -> Line {
        let ms = |ns_per_row: f64| format!("{:.3}", ns_per_row * self.a.n() as f64 * 1e-6);
        let rate = self.words(&row.solver).filter(|_| part == BlockPart::TimedSolve);
        let rate = rate.map(|words| 8.0 * words / row.ns_per_row / self.a.n() as f64);
        Line {
            cells: vec![
                row.solver.clone(),
                row.threads.to_string(),
                ms(row.ns_per_row),
                ms(row.ns_per_row_min),
                ratio(over_band(rows, row)),
                rate.map_or("-".into(), |rate| format!("{rate:.1}")),
                row.error_text(),
            ],
            note: row.note().into(),
        }
    }

    fn json(&self, part: BlockPart, rows: &[BenchRow]) -> Vec<Value> {
        let part = if part == BlockPart::Both { "factor and solve" } else { "solve" };
        let facts = json!({ "part": part, "n": self.a.n(), "block": self.a.block() });
        let row = |row: &BenchRow| {
            let mut json = row.json(&facts);
            let fields = json.as_object_mut().expect("an object");
            fields.remove("speedup_over_gtsv");
            fields.remove("times_yardstick");
            fields.insert("speedup_over_band".into(), json!(over_band(rows, row)));
            json
        };
        rows.iter().map(row).collect()
    }
}

/// Time of the fastest banded LU divided by the time of `row`. The banded LU of bandsolve is the baseline if no other library has one.
fn over_band(rows: &[BenchRow], row: &BenchRow) -> Option<f64> {
    let fastest = |band: fn(&&BenchRow) -> bool| {
        let solved = rows.iter().filter(|row| row.error.is_none());
        solved.filter(band).map(|row| row.ns_per_row).min_by(f64::total_cmp)
    };
    let band = fastest(|row| row.solver.contains(" gb")).or_else(|| fastest(|row| row.solver == "pivoted"));
    band.filter(|_| row.error.is_none()).map(|ns| ns / row.ns_per_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_is_the_matrix() {
        let system = RandomBlocks::new(4, 3, 2.0);
        let (n, half, band) = (12, 5, system.band());
        for j in 0..n {
            for i in 0..n {
                let inside = i + half >= j && j + half >= i;
                let entry = if inside { band[2 * half + i - j + j * (3 * half + 1)] } else { 0.0 };
                assert_eq!(entry, system.a.get(i, j), "({i}, {j})");
            }
        }
    }

    #[test]
    fn peers_and_we_solve_the_same_system() {
        let system = RandomBlocks::new(5, 4, 2.0);
        for part in [BlockPart::Both, BlockPart::TimedSolve] {
            let rows = system.contest(part, &[1, 2], Budget { seconds: 0.0, min_rounds: 1 }, &Peer::all());
            for row in rows.iter().filter(|row| row.solver != PRODUCT) {
                assert!(row.error.is_none() && row.backward_error.unwrap() < 1e-14, "{row:?}");
            }
            assert!(system.sheet(part, &rows).text().contains("block-spike"));
        }
    }
}
