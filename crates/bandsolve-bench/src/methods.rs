//! `bandsolve bench methods`: every method for tridiagonal systems and LAPACK, on easy and on hard matrices.

use crate::args::BenchMethodsArgs;
use crate::dots::{Dot, DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::peers::Peer;
use crate::plot::Picture;
use crate::results;
use crate::row::distinct;
use crate::setup::{self, sizes, threads};
use crate::sweep::{SizeSweep, Table};
use crate::system::SolverChoice;
use bandsolve_program::exit::Failure;
use bandsolve_program::options::named_methods;

/// Measure the methods, and write the tables and the plot.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Other`] if a report cannot be written.
pub fn run(args: &BenchMethodsArgs) -> Result<(), Failure> {
    let measure = &args.measure;
    let stdout_used = results::stdout_is_used(measure, None)?;
    let threads = threads(&args.threads)?;
    let usual: &[u32] = if measure.quick { &[10, 12] } else { &[16, 20] };
    let sweep = SizeSweep {
        sizes: sizes(args.n.as_deref(), usual),
        dtypes: args.dtype.clone(),
        data: args.data.clone(),
        solvers: solver_choices(args, &threads),
        yardsticks: threads,
        budget: setup::budget(measure),
        machine: MachineFacts::here(),
        peers: Peer::all(),
    };
    let tables = sweep.run(stdout_used)?;
    sweep.results("methods", &tables).write(measure, || Some(picture(&sweep.machine, &tables)))
}

/// Draw one panel per size and number type, and one colour per kind of data.
fn picture(machine: &MachineFacts, tables: &[Table]) -> Picture {
    let kinds = distinct(tables.iter().map(|table| table.data));
    let kind = |table: &Table| kinds.iter().position(|data| *data == table.data).unwrap_or(0);
    let panel = |(n, dtype): &(usize, &'static str)| {
        let of = tables.iter().filter(|table| (table.n, table.dtype) == (*n, *dtype));
        let dots = of.flat_map(|table| table.rows.iter().map(|row| Dot::of(row, kind(table), table.epsilon)));
        DotPanel { title: format!("n = {n}, {dtype}"), dots: dots.collect() }
    };
    let panels = distinct(tables.iter().map(|table| (table.n, table.dtype))).iter().map(panel).collect();
    DotChart {
        title: "Time to factor and solve with each method (ns per row)".into(),
        machine: machine.summary(),
        across: 3,
        kinds: kinds.iter().map(|data| data.name()).collect(),
        panels,
    }
    .draw()
}

/// The requested methods, by default all, with every number of threads.
fn solver_choices(args: &BenchMethodsArgs, threads: &[usize]) -> Vec<SolverChoice> {
    let verify: &[bool] = if args.raw { &[true, false] } else { &[true] };
    let mut solvers = Vec::new();
    for method in args.method.clone().unwrap_or_else(|| named_methods().collect()) {
        for &threads in threads {
            solvers.extend(verify.iter().map(|&verify| SolverChoice { method, threads, verify }));
        }
    }
    solvers
}
