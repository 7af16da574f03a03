//! `bandsolve bench`: times of bandsolve, of other libraries and of memory, measured in one process.
//!
//! The solvers run alternately, so a slowdown of the machine affects all of them. The inputs that a solver overwrites are restored
//! outside of the timed part. The reports contain medians and minima. No test depends on a time.

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

/// Run one benchmark.
///
/// # Errors
/// [`Failure::Other`] if the report cannot be written or the GPU is missing. [`Failure::Unsolved`] if a solution of the GPU violates the
/// accuracy contract.
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

/// The numbers of threads to measure with, by default 1, 2 and all cores. Starts the global thread pool with the largest of them.
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
    pool.map_err(|e| Failure::Other(format!("cannot start {most} threads: {e}. Pass fewer with --threads")))?;
    Ok(threads)
}

/// The requested sizes, or the default ones, which are given as exponents of two.
fn sizes(asked: Option<&[usize]>, usual: &[u32]) -> Vec<usize> {
    asked.map_or_else(|| usual.iter().map(|k| 1 << k).collect(), <[usize]>::to_vec)
}

/// The time for each system.
fn budget(args: &MeasureArgs) -> Budget {
    let seconds = args.seconds.unwrap_or(if args.quick { 0.05 } else { 1.0 });
    Budget { seconds, min_rounds: if args.quick { 1 } else { 3 } }
}

/// Remove duplicates, and keep the order of first appearance.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    items.for_each(|item| {
        if !kept.contains(&item) {
            kept.push(item);
        }
    });
    kept
}

/// Print a finished table above the progress bar, and advance the bar.
fn show(text: &str, taken: bool, bar: &ProgressBar) -> Result<(), Failure> {
    bar.suspend(|| report::print_beside(text, taken))?;
    bar.inc(1);
    Ok(())
}

/// Suffix of the name of a method that runs without verification.
const UNVERIFIED: &str = " unverified";

/// Repairs that one solve needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RepairCounts {
    refinement_steps: usize,
    fallback: bool,
}

impl RepairCounts {
    fn of(report: &bandsolve::Report) -> RepairCounts {
        RepairCounts { refinement_steps: report.refinement_steps, fallback: report.fallback }
    }

    /// The note at the end of a table line.
    fn note(self) -> &'static str {
        match self {
            RepairCounts { fallback: true, .. } => "fallback to the pivoted solver",
            RepairCounts { refinement_steps: 1.., .. } => "iterative refinement",
            _ => "",
        }
    }
}

/// The result of one solver for one system.
#[derive(Debug, Clone)]
struct BenchRow {
    solver: String,
    threads: usize,
    ns_per_row: f64,
    ns_per_row_min: f64,
    repetitions: usize,
    backward_error: Option<f64>,
    /// `None` for solvers of other libraries.
    repair: Option<RepairCounts>,
    /// Why the solver returned no solution.
    error: Option<String>,
    /// Time of the fastest `gtsv` divided by this time.
    speedup_over_gtsv: Option<f64>,
    /// This time divided by the time of the yardstick with the same number of threads.
    times_yardstick: Option<f64>,
}

impl BenchRow {
    /// Whether this is the LAPACK routine of any library, or the corresponding routine of cuSPARSE.
    fn is_gtsv(&self) -> bool {
        ["gtsv", "gbsv", "gtsv2", "InterleavedBatch"].iter().any(|routine| self.solver.ends_with(routine))
    }

    fn is_yardstick(&self) -> bool {
        self.solver == yardstick::NAME
    }

    /// The name of the solver without the suffix [`UNVERIFIED`].
    fn method(&self) -> &str {
        self.solver.strip_suffix(UNVERIFIED).unwrap_or(&self.solver)
    }

    /// Whether the solution was verified; `None` for solvers of other libraries.
    fn verified(&self) -> Option<bool> {
        self.repair.map(|_| !self.solver.ends_with(UNVERIFIED))
    }

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

/// Compute both ratios: to the fastest `gtsv`, and to the yardstick with the same number of threads.
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
