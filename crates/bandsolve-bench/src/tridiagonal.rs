//! `bandsolve bench tridiagonal`: one tridiagonal system.

use crate::args::BenchTridiagonalArgs;
use crate::lines::{LineChart, Pair, Series};
use crate::machine::MachineFacts;
use crate::peers::Peer;
use crate::plot::Picture;
use crate::results;
use crate::row::distinct;
use crate::setup;
use crate::sweep::{SizeSweep, Table};
use crate::system::SolverChoice;
use crate::yardstick::{self, Passes};
use bandsolve::Method;
use bandsolve_program::exit::Failure;

/// Measure `rpts` with and without verification, `pivoted` and the other libraries.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchTridiagonalArgs) -> Result<(), Failure> {
    let measure = &args.measure;
    let stdout_used = results::stdout_is_used(measure, None)?;
    let threads = setup::threads(&args.threads)?;
    let rpts = |&threads: &usize| [true, false].map(|verify| SolverChoice { method: Method::Rpts, threads, verify });
    let pivoted = SolverChoice { method: Method::Pivoted, threads: 1, verify: true };
    let usual: &[u32] = if measure.quick { &[10, 16] } else { &[10, 13, 16, 20, 25] };
    let sweep = SizeSweep {
        sizes: setup::sizes(args.n.as_deref(), usual),
        dtypes: args.dtype.clone(),
        data: args.data.clone(),
        solvers: threads.iter().flat_map(rpts).chain([pivoted]).collect(),
        yardsticks: threads.clone(),
        budget: setup::budget(measure),
        machine: MachineFacts::here(),
        peers: Peer::all(),
    };
    let tables = sweep.run(stdout_used)?;
    sweep.results("tridiagonal", &tables).write(measure, || Some(picture(&sweep, &tables)))
}

/// Draw the speed over n and the memory bandwidth over n, for each number type and kind of data.
fn picture(sweep: &SizeSweep, tables: &[Table]) -> Picture {
    let kinds = distinct(tables.iter().map(|table| (table.dtype, table.data)));
    let roofs = roofs(sweep, tables);
    let pair = |(dtype, data): &(&'static str, _)| {
        let of_pair: Vec<&Table> = tables.iter().filter(|table| (table.dtype, table.data) == (*dtype, *data)).collect();
        Pair {
            title: format!("{dtype}, {} data", data.name()),
            series: series(&of_pair),
            bytes: Passes::Two.words() as f64 * of_pair[0].bytes as f64,
            roofs: roofs.clone(),
            cache: Some(sweep.machine.cache as f64 / (5 * of_pair[0].bytes) as f64),
        }
    };
    LineChart {
        title: "One tridiagonal system: rows per second and memory bandwidth".into(),
        machine: sweep.machine.summary(),
        pairs: kinds.iter().map(pair).collect(),
    }
    .draw()
}

/// One line per solver, over the sizes.
fn series(tables: &[&Table]) -> Vec<Series> {
    let rows = || tables.iter().flat_map(|table| table.rows.iter().map(|row| (table.n, row)));
    let solved = || rows().filter(|(_, row)| row.error.is_none() && !row.is_yardstick());
    let solvers = distinct(solved().map(|(_, row)| (row.solver.as_str(), row.threads)));
    let series = |(solver, threads): (&str, usize)| {
        let measured = || solved().filter(|(_, row)| (row.solver.as_str(), row.threads) == (solver, threads));
        let first = measured().next().expect("a solver of some row").1;
        Series {
            solver: first.method().into(),
            threads: Some(threads),
            unverified: first.verified() == Some(false),
            points: measured().map(|(n, row)| (n as f64, row.ns_per_row)).collect(),
        }
    };
    solvers.into_iter().map(series).collect()
}

/// Memory bandwidth for each number of threads: the highest value of the sweep. If all systems fit in the caches, this function measures it.
fn roofs(sweep: &SizeSweep, tables: &[Table]) -> Vec<(String, f64)> {
    let rate = |threads: usize| {
        let measured = tables.iter().flat_map(|table| {
            let copies = table.rows.iter().filter(move |row| row.is_yardstick() && row.threads == threads);
            copies.map(|row| Passes::Two.words() as f64 * table.bytes as f64 / row.ns_per_row)
        });
        measured.max_by(f64::total_cmp).unwrap_or_else(|| yardstick::bandwidth(threads))
    };
    let name = |threads| format!("memory bandwidth, {}", bandsolve_program::report::counted(threads, "thread"));
    sweep.yardsticks.iter().map(|threads| (name(*threads), rate(*threads))).collect()
}
