//! The program `bandsolve`: solve, inspect, generate and benchmark systems with a narrow band.
//!
//! Each command has its own file. `args` defines the arguments, and `exit` the exit codes. The program is a library with a thin
//! `main.rs`, so that cargo compiles it in parallel with the kernels.

mod args;
mod demo;
mod doctor;
mod eig;
mod forest;
mod generate;
mod gpu;
mod info;
mod iterate;
mod manual;
mod poisson;
mod renumber;
mod solve;
mod spy;
mod tune;

use bandsolve_bench::stability;
use bandsolve_program::exit::{self, Failure};
use bandsolve_program::io::output::forgive_closed_pipe;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// Run the program with the arguments of the process, and return its exit code.
pub fn main() -> ExitCode {
    exit::finish(args::Args::try_parse().map_or_else(say, run))
}

/// Print clap's own output: the help, the version or an error in the arguments.
fn say(answer: clap::Error) -> Result<(), Failure> {
    if answer.use_stderr() {
        answer.exit();
    }
    // `answer.exit()` would ignore that writing failed.
    let printed = answer.print().and_then(|()| std::io::stdout().flush());
    forgive_closed_pipe(printed).map_err(|e| Failure::Other(format!("standard output: cannot be written: {e}")))
}

fn run(args: args::Args) -> Result<(), Failure> {
    match args.command {
        None => demo::run(),
        Some(args::Command::Solve(a)) => solve::run(&a),
        Some(args::Command::Iterate(a)) => iterate::run(&a),
        Some(args::Command::Forest(a)) => forest::run(&a),
        Some(args::Command::Eig(a)) => eig::run(&a),
        Some(args::Command::Poisson(a)) => poisson::run(&a),
        Some(args::Command::Info(a)) => info::run(&a),
        Some(args::Command::Spy(a)) => spy::run(&a),
        Some(args::Command::Generate(a)) => generate::run(&a),
        Some(args::Command::Stability(a)) => stability::run(&a),
        Some(args::Command::Bench(a)) => bandsolve_bench::run(&a),
        Some(args::Command::Tune(a)) => tune::run(&a),
        Some(args::Command::Doctor(a)) => doctor::run(&a),
        Some(args::Command::Completions(a)) => manual::completions(&a),
        Some(args::Command::Man(a)) => manual::man(&a),
    }
}
