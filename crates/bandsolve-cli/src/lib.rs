//! The program `bandsolve`: solve, inspect, generate and measure narrow-band systems.
//!
//! One file per command; `args` holds what the user may type, `exit` what the process returns. A library, so that it is compiled
//! beside the kernels, not after them; `main.rs` is the program.

mod args;
mod bench;
mod cusparse;
mod demo;
mod doctor;
mod eig;
#[doc(hidden)]
pub mod exit;
mod forest;
mod generate;
mod info;
#[doc(hidden)]
pub mod io;
mod iterate;
mod manual;
mod memory;
mod mkl_poisson;
mod mkl_sparse;
mod page;
mod peers;
mod plot;
mod poisson;
mod progress;
mod renumber;
#[doc(hidden)]
pub mod report;
mod solve;
mod spy;
mod stability;
mod structure;
mod tune;

#[doc(hidden)]
pub use args::{finite, tolerance};

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// The program: reads its arguments, and returns what the process does.
pub fn main() -> ExitCode {
    exit::finish(args::Args::try_parse().map_or_else(say, run))
}

/// Prints what clap answers by itself: help and the version, or what is wrong with the arguments.
fn say(answer: clap::Error) -> Result<(), exit::Failure> {
    if answer.use_stderr() {
        answer.exit();
    }
    // `exit` would not notice that nothing was printed.
    let printed = answer.print().and_then(|()| std::io::stdout().flush());
    io::output::forgive_closed_pipe(printed)
        .map_err(|e| exit::Failure::Other(format!("standard output: cannot be written: {e}")))
}

fn run(args: args::Args) -> Result<(), exit::Failure> {
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
        Some(args::Command::Bench(a)) => bench::run(&a),
        Some(args::Command::Tune(a)) => tune::run(&a),
        Some(args::Command::Doctor(a)) => doctor::run(&a),
        Some(args::Command::Completions(a)) => manual::completions(&a),
        Some(args::Command::Man(a)) => manual::man(&a),
    }
}

/// Makes rayon's threads as many as asked for.
fn set_threads(threads: Option<u16>) -> Result<(), exit::Failure> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
    pool.map_err(|e| exit::Failure::Other(format!("--threads {threads}: {e}")))
}
