//! `bandsolve bench methods`: every method beside LAPACK, on matrices that pivoting makes easy or hard.

use super::machine::Machine;
use super::sweep::Sweep;
use super::system::Own;
use super::{dot_plot, sizes, threads};
use crate::args::{BenchMethodsArgs, named_methods};
use crate::exit::Failure;
use crate::peers::Peer;
use crate::report;

/// Measures, prints, draws.
///
/// # Errors
/// [`Failure::Usage`] for sizes beyond memory, [`Failure::Other`] if a report cannot be written.
pub fn run(args: &BenchMethodsArgs) -> Result<(), Failure> {
    let measure = &args.measure;
    let taken = report::check_outputs(&[("--json", &measure.json), ("--plot", &args.plot)])?;
    let threads = threads(&args.threads)?;
    let usual: &[u32] = if measure.quick { &[10, 12] } else { &[16, 20] };
    let sweep = Sweep {
        sizes: sizes(args.n.as_deref(), usual),
        dtypes: args.dtype.clone(),
        data: args.data.clone(),
        own: own(args, &threads),
        yardsticks: threads,
        budget: super::budget(measure),
        machine: Machine::here(),
        peers: Peer::all(),
    };
    let tables = sweep.run(taken)?;
    if let Some(path) = &measure.json {
        report::write_json(path, &sweep.json("methods", &tables))?;
    }
    match &args.plot {
        Some(path) => dot_plot::write(path, &sweep.machine, &tables),
        None => Ok(()),
    }
}

/// The methods asked for, or all, at every number of threads.
fn own(args: &BenchMethodsArgs, threads: &[usize]) -> Vec<Own> {
    let verify: &[bool] = if args.raw { &[true, false] } else { &[true] };
    let mut own = Vec::new();
    for method in args.methods.clone().unwrap_or_else(|| named_methods().collect()) {
        for &threads in threads {
            own.extend(verify.iter().map(|&verify| Own { method, threads, verify }));
        }
    }
    own
}
