//! `bandsolve bench tridiagonal`: one tridiagonal system.

use super::machine::Machine;
use super::sweep::Sweep;
use super::system::Own;
use crate::args::BenchTridiagonalArgs;
use crate::exit::Failure;
use crate::peers::Peer;
use crate::report;
use bandsolve::Method;

/// Runs the whole sweep: the partition method with and without verification, and the sequential one.
///
/// # Errors
/// [`Failure::Usage`] for sizes beyond memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchTridiagonalArgs) -> Result<(), Failure> {
    let measure = &args.measure;
    let threads = super::threads(&args.threads)?;
    let rpts = |&threads: &usize| [true, false].map(|verify| Own { method: Method::Rpts, threads, verify });
    let pivoted = Own { method: Method::Pivoted, threads: 1, verify: true };
    let usual: &[u32] = if measure.quick { &[10, 16] } else { &[10, 13, 16, 20, 25] };
    let sweep = Sweep {
        sizes: super::sizes(args.n.as_deref(), usual),
        dtypes: args.dtype.clone(),
        data: args.data.clone(),
        own: threads.iter().flat_map(rpts).chain([pivoted]).collect(),
        yardsticks: threads.clone(),
        budget: super::budget(measure),
        machine: Machine::here(),
        peers: Peer::all(),
    };
    let tables = sweep.run(report::is_stdout(measure.json.as_deref()))?;
    match &measure.json {
        Some(path) => report::write_json(path, &sweep.json("tridiagonal", &tables)),
        None => Ok(()),
    }
}
