//! What all benchmarks do with their arguments: threads, sizes, measuring time; and the output of a table.

use crate::args::{MeasureArgs, ThreadsArgs};
use crate::contest::Budget;
use bandsolve_program::exit::Failure;
use bandsolve_program::report;
use indicatif::ProgressBar;

/// The numbers of threads to measure with, by default 1, 2 and all cores. Starts the global thread pool with the largest of them.
pub fn threads(args: &ThreadsArgs) -> Result<Vec<usize>, Failure> {
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
pub fn sizes(asked: Option<&[usize]>, usual: &[u32]) -> Vec<usize> {
    asked.map_or_else(|| usual.iter().map(|k| 1 << k).collect(), <[usize]>::to_vec)
}

/// The time for each system.
pub fn budget(args: &MeasureArgs) -> Budget {
    let seconds = args.seconds.unwrap_or(if args.quick { 0.05 } else { 1.0 });
    Budget { seconds, min_rounds: if args.quick { 1 } else { 3 } }
}

/// Print a finished table above the progress bar, and advance the bar.
pub fn show(text: &str, stdout_used: bool, bar: &ProgressBar) -> Result<(), Failure> {
    bar.suspend(|| report::print_beside(text, stdout_used))?;
    bar.inc(1);
    Ok(())
}
