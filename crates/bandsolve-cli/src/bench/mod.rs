//! `bandsolve bench`: speed of our solvers, their peers and memory, all in one process.
//!
//! Solvers take turns, so that a machine that becomes slower becomes slower for all of them; what a repetition
//! overwrote is restored outside the timed part. Medians and minima are reported and nothing is ever asserted.

mod banded;
mod batch;
mod block;
mod contest;
mod dots;
mod gpu;
mod iterate;
mod lines;
mod machine;
mod methods;
mod poisson;
mod results;
mod sheet;
mod spans;
mod sparse;
mod spmv;
mod sweep;
mod system;
mod tridiagonal;
mod yardstick;

use crate::args::{BenchArgs, BenchTable, MeasureArgs, ThreadsArgs};
use crate::exit::Failure;
pub use machine::MachineFacts;
pub use sheet::{Line, Sheet, SheetColumn};
pub use yardstick::bandwidth as memory_bandwidth;

use crate::report;
use contest::Budget;
use indicatif::ProgressBar;
use serde_json::{Value, json};

/// Runs one measurement.
///
/// # Errors
/// [`Failure::Other`] if the report cannot be written, or there is no GPU to measure; [`Failure::Unsolved`] if its answers are
/// not within the contract.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    match &args.table {
        BenchTable::Tridiagonal(args) => tridiagonal::run(args),
        BenchTable::Methods(args) => methods::run(args),
        BenchTable::Batch(args) => batch::run(args),
        BenchTable::Block(args) => block::run(args),
        BenchTable::Banded(args) => banded::run(args),
        BenchTable::Sparse(args) => sparse::run(args),
        BenchTable::Spmv(args) => spmv::run(args),
        BenchTable::Iterate(args) => iterate::run(args),
        BenchTable::Poisson(args) => poisson::run(args),
        BenchTable::Gpu(args) => gpu::run(args),
    }
}

/// The numbers of threads to measure with: those asked for, or 1, 2 and all cores. Starts as many threads as needed.
fn threads(args: &ThreadsArgs) -> Result<Vec<usize>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads: Vec<usize> = match &args.threads {
        Some(list) => list.iter().map(|t| usize::from(*t)).collect(),
        None => [1, 2, cores].into_iter().filter(|t| *t <= cores).collect(),
    };
    threads.sort_unstable();
    threads.dedup();
    let most = threads.last().map_or(1, |t| *t).max(cores);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(most).build_global();
    pool.map_err(|e| Failure::Other(format!("{most} threads: {e}")))?;
    Ok(threads)
}

/// The sizes asked for, or the usual ones: powers of two.
fn sizes(asked: Option<&[usize]>, usual: &[u32]) -> Vec<usize> {
    asked.map_or_else(|| usual.iter().map(|k| 1 << k).collect(), <[usize]>::to_vec)
}

/// How long each system is measured.
fn budget(args: &MeasureArgs) -> Budget {
    let seconds = args.seconds.unwrap_or(if args.quick { 0.05 } else { 1.0 });
    Budget { seconds, min_rounds: if args.quick { 1 } else { 3 } }
}

/// Each once, in the order of their first appearance.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    items.for_each(|item| {
        if !kept.contains(&item) {
            kept.push(item);
        }
    });
    kept
}

/// Prints a table as soon as it is there, around a bar that goes one step on.
fn show(text: &str, taken: bool, bar: &ProgressBar) -> Result<(), Failure> {
    bar.suspend(|| report::print_beside(text, taken))?;
    bar.inc(1);
    Ok(())
}

/// Behind the name of a method whose answers are taken as they are.
const UNVERIFIED: &str = " unverified";

/// Work beyond a plain solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RepairCounts {
    refinement_steps: usize,
    fallback: bool,
}

impl RepairCounts {
    fn of(report: &bandsolve::Report) -> RepairCounts {
        RepairCounts { refinement_steps: report.refinement_steps, fallback: report.fallback }
    }

    /// What stands behind a line of a table.
    fn note(self) -> &'static str {
        match self {
            RepairCounts { fallback: true, .. } => "solved again by the pivoted method",
            RepairCounts { refinement_steps: 1.., .. } => "refined",
            _ => "",
        }
    }
}

/// One solver on one system.
#[derive(Debug, Clone)]
struct BenchRow {
    solver: String,
    threads: usize,
    ns_per_row: f64,
    ns_per_row_min: f64,
    repetitions: usize,
    backward_error: Option<f64>,
    /// What a solver of ours did to reach it.
    repair: Option<RepairCounts>,
    /// Why there is no answer.
    error: Option<String>,
    /// How many times faster than the fastest `gtsv`.
    speedup_over_gtsv: Option<f64>,
    /// Time in units of the yardstick, at the same number of threads.
    times_yardstick: Option<f64>,
}

impl BenchRow {
    /// Whether this is LAPACK's routine, in whatever library, or what takes its place on a GPU.
    fn is_gtsv(&self) -> bool {
        ["gtsv", "gbsv", "gtsv2", "InterleavedBatch"].iter().any(|routine| self.solver.ends_with(routine))
    }

    fn is_yardstick(&self) -> bool {
        self.solver == yardstick::NAME
    }

    /// The solver, verified or not.
    fn method(&self) -> &str {
        self.solver.strip_suffix(UNVERIFIED).unwrap_or(&self.solver)
    }

    /// Whether the answer was checked; `None` for solvers that are not ours.
    fn verified(&self) -> Option<bool> {
        self.repair.map(|_| !self.solver.ends_with(UNVERIFIED))
    }

    /// Whether the answer was refined or solved again.
    fn repaired(&self) -> bool {
        self.repair.is_some_and(|r| r.fallback || r.refinement_steps > 0)
    }

    fn json(&self, system: &Value) -> Value {
        let mut row = json!({ "solver": self.solver });
        let fields = row.as_object_mut().expect("an object");
        fields.extend(system.as_object().cloned().into_iter().flatten());
        let rest = json!({
            "threads": self.threads,
            "ns_per_row": self.ns_per_row,
            "ns_per_row_min": self.ns_per_row_min,
            "repetitions": self.repetitions,
            "backward_error": self.backward_error,
            "verified": self.verified(),
            "refinement_steps": self.repair.map(|r| r.refinement_steps),
            "fallback": self.repair.map(|r| r.fallback),
            "error": self.error,
            "speedup_over_gtsv": self.speedup_over_gtsv,
            "times_yardstick": self.times_yardstick,
        });
        fields.extend(rest.as_object().cloned().into_iter().flatten());
        row
    }
}

fn ratio(r: Option<f64>) -> String {
    r.map_or("-".to_string(), |r| format!("{r:.2}"))
}

/// Fills in the ratios: to the fastest `gtsv`, and to the yardstick at the same number of threads.
fn compare(rows: &mut [BenchRow]) {
    let solved = rows.iter().filter(|r| r.error.is_none());
    let gtsv = solved.filter(|r| r.is_gtsv()).map(|r| r.ns_per_row).min_by(f64::total_cmp);
    let bus: Vec<(usize, f64)> = rows.iter().filter(|r| r.is_yardstick()).map(|r| (r.threads, r.ns_per_row)).collect();
    for row in rows.iter_mut().filter(|r| r.error.is_none()) {
        let yardstick = bus.iter().find(|(threads, _)| *threads == row.threads);
        row.times_yardstick = yardstick.map(|(_, ns)| row.ns_per_row / ns);
        row.speedup_over_gtsv = gtsv.filter(|_| !row.is_yardstick()).map(|ns| ns / row.ns_per_row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(solver: &str, threads: usize, ns_per_row: f64) -> BenchRow {
        BenchRow {
            solver: solver.into(),
            threads,
            ns_per_row,
            ns_per_row_min: ns_per_row,
            repetitions: 1,
            backward_error: None,
            repair: None,
            error: None,
            speedup_over_gtsv: None,
            times_yardstick: None,
        }
    }

    #[test]
    fn ratios_are_to_the_fastest_gtsv_and_the_bus_at_the_same_threads() {
        let mut rows = [
            row("rpts", 1, 4.0),
            row("rpts", 2, 3.0),
            row("lapack gtsv", 1, 20.0),
            row("mkl gtsv", 1, 16.0),
            row(yardstick::NAME, 1, 2.0),
        ];
        compare(&mut rows);
        assert_eq!(rows[0].speedup_over_gtsv, Some(4.0));
        assert_eq!(rows[0].times_yardstick, Some(2.0));
        assert_eq!(rows[1].times_yardstick, None);
        assert_eq!(rows[2].speedup_over_gtsv, Some(0.8));
        assert_eq!(rows[4].speedup_over_gtsv, None);
    }
}
