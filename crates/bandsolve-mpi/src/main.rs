//! The program `bandsolve-mpi`: solve systems and find eigenvalues on the MPI processes that `mpirun` starts, and benchmark them.

/// Print a line on standard output. A closed pipe is no error; a full device is.
macro_rules! say {
    ($($words:tt)*) => {
        bandsolve_program::report::print(&format!("{}\n", format_args!($($words)*)))?
    };
}

mod eig;
mod input;
mod scalapack;
mod scaling;
mod solve;

use bandsolve_mpi::{Ranks, abort_on_panic};
use bandsolve_program::exit::{Failure, finish};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Solve banded linear systems and find eigenvalues on MPI processes (ranks) that mpirun starts.
#[derive(Debug, Parser)]
#[command(name = "bandsolve-mpi", version)]
struct RankArgs {
    #[command(subcommand)]
    command: RankCommand,
}

#[derive(Debug, Subcommand)]
enum RankCommand {
    /// Solve a linear system, for example: mpirun -n 4 bandsolve-mpi solve A.mtx
    Solve(solve::RankSolveArgs),
    /// Find the eigenvalues nearest to a number, for example: mpirun -n 4 bandsolve-mpi eig A.mtx --target 0.75
    Eig(eig::RankEigArgs),
    /// Benchmark: scaling over ranks, and comparison with ScaLAPACK
    #[command(subcommand)]
    Bench(RankBench),
    /// The part of `bench scaling` that each rank runs
    #[command(hide = true)]
    RankTimes(scaling::RankTimesArgs),
    /// The part of `bench scalapack` that each rank runs
    #[command(hide = true)]
    RankScalapack(scalapack::RankScalapackArgs),
}

#[derive(Debug, Subcommand)]
enum RankBench {
    /// Measure weak and strong scaling and compare with a cost model; starts mpirun by itself
    Scaling(scaling::ScalingArgs),
    /// Benchmark against ScaLAPACK (pddttrf, pdgbtrf) on the same ranks; starts mpirun by itself
    Scalapack(scalapack::ScalapackArgs),
}

fn main() -> ExitCode {
    let args = match RankArgs::try_parse() {
        Ok(args) => args,
        // If another rank ended with an error first, mpirun could end rank 0 before it prints.
        Err(_) if announced_rank() != 0 => return ExitCode::SUCCESS,
        Err(answer) => answer.exit(),
    };
    match args.command {
        RankCommand::Solve(args) => finish(on_ranks(|ranks| solve::run(ranks, &args))),
        RankCommand::Eig(args) => finish(on_ranks(|ranks| eig::run(ranks, &args))),
        RankCommand::RankTimes(args) => finish(on_ranks(|ranks| scaling::measure(ranks, &args))),
        RankCommand::RankScalapack(args) => finish(on_ranks(|ranks| scalapack::measure(ranks, &args))),
        RankCommand::Bench(RankBench::Scaling(args)) => finish(scaling::run(&args)),
        RankCommand::Bench(RankBench::Scalapack(args)) => finish(scalapack::run(&args)),
    }
}

/// The rank that the launcher assigned to this process, before MPI starts. 0 if no launcher started the process.
fn announced_rank() -> usize {
    let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok()).unwrap_or(0)
}

/// Run `work` between the start and the end of MPI. Rank 0 reports a failure; the other ranks end without a message.
fn on_ranks(work: impl FnOnce(&Ranks) -> Result<(), Failure>) -> Result<(), Failure> {
    abort_on_panic();
    let Some((universe, _)) = mpi::initialize_with_threading(mpi::Threading::Funneled) else {
        let why = "MPI cannot be started. Start the program with mpirun -n RANKS bandsolve-mpi";
        return if announced_rank() == 0 { Err(Failure::Other(why.into())) } else { Ok(()) };
    };
    let ranks = Ranks::of(&universe.world());
    let done = work(&ranks);
    if ranks.rank() == 0 { done } else { Ok(()) }
}
