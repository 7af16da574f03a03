//! The same checks under MPI: this program starts itself by `mpirun` on 1, 2, 3, 4 and 7 ranks.

mod common;

use bandsolve_mpi::{Ranks, abort_on_panic};
use std::process::{Command, ExitCode};

const SIZES: [usize; 5] = [1, 2, 3, 4, 7];

/// Seconds after which a job is ended.
const LIMIT: &str = "100";

/// Says in the children that they are ranks.
const CHILD: &str = "BANDSOLVE_TEST_RANK";

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        return rank();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |name: &str| {
        let mut words = arguments.iter().filter(|word| !word.starts_with('-')).peekable();
        words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
    };
    let tests: Vec<(String, usize)> = SIZES.iter().map(|size| (format!("mpi_on_{size}_ranks"), *size)).collect();
    if arguments.iter().any(|word| word == "--list") {
        let ignored = arguments.iter().any(|word| word == "--ignored");
        tests.iter().filter(|_| !ignored).for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if Command::new("mpirun").arg("--version").output().is_err() {
        bandsolve_testkit::skipped("no mpirun: ranks under MPI");
        return ExitCode::SUCCESS;
    }
    let mut passed = true;
    for (name, size) in tests.iter().filter(|(name, _)| chosen(name)) {
        let ended = mpirun(*size).status().expect("mpirun starts");
        println!("test {name} ... {}", if ended.success() { "ok" } else { "FAILED" });
        passed &= ended.success();
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// This program on so many ranks.
fn mpirun(size: usize) -> Command {
    let this = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new("timeout");
    command.args([LIMIT, "mpirun", "-n", &size.to_string()]).arg(this).env(CHILD, "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("RAYON_NUM_THREADS", "1");
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command
}

/// What each rank does.
fn rank() -> ExitCode {
    abort_on_panic();
    let universe = mpi::initialize().expect("MPI, initialised once");
    let ranks = Ranks::of(&universe.world());
    for (_, check) in common::CHECKS {
        check(&ranks);
    }
    ExitCode::SUCCESS
}
