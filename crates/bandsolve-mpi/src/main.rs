//! The program `bandsolve-mpi`: solves a system, or finds eigenvalues, over the processes that `mpirun` starts, and measures how that scales.

/// A line on standard output; a closed pipe is no error, a full device is.
macro_rules! say {
    ($($words:tt)*) => {
        bandsolve_cli::report::print(&format!("{}\n", format_args!($($words)*)))?
    };
}

mod eig;
mod input;
mod scalapack;
mod scaling;
mod solve;

use bandsolve_cli::exit::{Failure, finish};
use bandsolve_mpi::{Ranks, abort_on_panic};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Linear systems of a narrow band, and eigenvalues, over the processes that mpirun starts.
#[derive(Debug, Parser)]
#[command(name = "bandsolve-mpi", version)]
struct RankArgs {
    #[command(subcommand)]
    command: RankCommand,
}

#[derive(Debug, Subcommand)]
enum RankCommand {
    /// Solve one system: mpirun -n 4 bandsolve-mpi solve A.mtx
    Solve(solve::RankSolveArgs),
    /// Find the eigenvalues nearest to a number: mpirun -n 4 bandsolve-mpi eig A.mtx --target 0.75
    Eig(eig::RankEigArgs),
    /// Measure: scaling over ranks, beside a model; times beside ScaLAPACK
    #[command(subcommand)]
    Bench(RankBench),
    /// What each rank of `bench scaling` runs
    #[command(hide = true)]
    RankTimes(scaling::RankTimesArgs),
    /// What each rank of `bench scalapack` runs
    #[command(hide = true)]
    RankScalapack(scalapack::RankScalapackArgs),
}

#[derive(Debug, Subcommand)]
enum RankBench {
    /// Weak and strong scaling, beside a model of costs; starts mpirun by itself
    Scaling(scaling::ScalingArgs),
    /// ScaLAPACK's pddttrf and pdgbtrf beside ours on the same ranks; starts mpirun by itself
    Scalapack(scalapack::ScalapackArgs),
}

fn main() -> ExitCode {
    match RankArgs::parse().command {
        RankCommand::Solve(args) => finish(on_ranks(|ranks| solve::run(ranks, &args))),
        RankCommand::Eig(args) => finish(on_ranks(|ranks| eig::run(ranks, &args))),
        RankCommand::RankTimes(args) => finish(on_ranks(|ranks| scaling::measure(ranks, &args))),
        RankCommand::RankScalapack(args) => finish(on_ranks(|ranks| scalapack::measure(ranks, &args))),
        RankCommand::Bench(RankBench::Scaling(args)) => finish(scaling::run(&args)),
        RankCommand::Bench(RankBench::Scalapack(args)) => finish(scalapack::run(&args)),
    }
}

/// Runs `work` between the start and the end of MPI. Rank 0 reports a failure; the others end quietly, with it.
fn on_ranks(work: impl FnOnce(&Ranks) -> Result<(), Failure>) -> Result<(), Failure> {
    abort_on_panic();
    let Some((universe, _)) = mpi::initialize_with_threading(mpi::Threading::Funneled) else {
        return Err(Failure::Other("MPI cannot be started".into()));
    };
    let ranks = Ranks::of(&universe.world());
    let done = work(&ranks);
    if ranks.rank() == 0 { done } else { Ok(()) }
}
