//! The same checks under MPI. This program starts itself with `mpirun` on 1, 2, 3, 4 and 7 ranks.

mod common;

use bandsolve_mpi::{Ranks, abort_on_panic};
use std::path::Path;
use std::process::{Command, ExitCode};

const SIZES: [usize; 5] = [1, 2, 3, 4, 7];

/// Time limit of a job in seconds.
const LIMIT: &str = "100";

/// Exit code of `timeout` if the time limit ended the job.
const TIME_IS_UP: i32 = 124;

/// Tests in which a job loses a rank.
const LOST: [&str; 2] = ["a_panic_ends_the_job", "a_killed_rank_ends_the_job"];

/// Tests of the program on three ranks.
const PROGRAM: &str = "the_program_solves_a_file";
const ALONE: &str = "rank_0_speaks_alone";
const EIG: &str = "the_program_proves_its_eigenvalues_complete";

/// Environment variable that tells a child process that it is a rank.
const CHILD: &str = "BANDSOLVE_TEST_RANK";

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        return rank();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |name: &str| is_chosen(&arguments, name);
    let mut tests: Vec<(String, usize)> = SIZES.iter().map(|size| (format!("mpi_on_{size}_ranks"), *size)).collect();
    tests.extend(LOST.map(|how| (how.to_owned(), 0)));
    tests.extend([PROGRAM, EIG, ALONE].map(|name| (name.to_owned(), 0)));
    if arguments.iter().any(|word| word == "--list") {
        let ignored = arguments.iter().any(|word| word == "--ignored");
        tests.iter().filter(|_| !ignored).for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if Command::new("mpirun").arg("--version").output().is_err() {
        bandsolve_testkit::skipped("no mpirun: ranks under MPI");
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, size) in tests.iter().filter(|(name, _)| chosen(name)) {
        let well = match size {
            0 if name == PROGRAM => program_solves(),
            0 if name == EIG => program_finds(),
            0 if name == ALONE => rank_0_speaks_alone(),
            0 => ends_the_job(name),
            _ => mpirun(*size).status().expect("mpirun starts").success(),
        };
        println!("test {name} ... {}", if well { "ok" } else { "FAILED" });
        if well { passed += 1 } else { failed += 1 }
    }
    println!("test result: {}. {passed} passed; {failed} failed", if failed == 0 { "ok" } else { "FAILED" });
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether the arguments select a test. As in test programs of cargo, they are parts of names, and parts of names to skip.
fn is_chosen(arguments: &[String], name: &str) -> bool {
    let (mut wanted, mut any) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--skip" {
            if words.next().is_some_and(|skipped| name.contains(skipped.as_str())) {
                return false;
            }
        } else if !word.starts_with('-') {
            any = true;
            wanted |= name.contains(word.as_str());
        }
    }
    wanted || !any
}

/// Whether the program solves the system of a file, and reports an error for blocks that are too small.
fn program_solves() -> bool {
    let folder = std::env::temp_dir().join(format!("bandsolve-mpi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let n = 12;
    let near = |i: usize| (1..=n).filter(move |j| i.abs_diff(*j) <= 2);
    let entry = |i: usize, j: usize| if i == j { 7.0 } else { 1.0 / (i + 2 * j) as f64 };
    let lines: Vec<String> = (1..=n).flat_map(|i| near(i).map(move |j| format!("{i} {j} {}\n", entry(i, j)))).collect();
    let text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n{}", lines.len(), lines.concat());
    let (matrix, out) = (folder.join("A.mtx"), folder.join("x.mtx"));
    std::fs::write(&matrix, text).expect("a file");
    let run = |options: &[&str]| {
        let mut command = job(3, Path::new(env!("CARGO_BIN_EXE_bandsolve-mpi")));
        command.arg("solve").arg(&matrix).args(options).arg("--out").arg(&out);
        command.output().expect("mpirun starts")
    };
    let mut well = true;
    for options in
        [&["--json"][..], &["--json", "--block", "3"], &["--json", "--block", "4", "--method", "block-spike"]]
    {
        let output = run(options);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let error = report["backward_error"].as_f64().unwrap_or(f64::NAN);
        let x = std::fs::read_to_string(&out).unwrap_or_default();
        let ones = x.lines().skip(2).filter(|x| x.parse::<f64>().is_ok_and(|x| (x - 1.0).abs() <= 1e-14)).count();
        if !(output.status.success() && error <= 8.0 * f64::EPSILON && ones == n) {
            println!("{options:?}: {report}, {ones} of {n}: {}", String::from_utf8_lossy(&output.stderr));
            well = false;
        }
        _ = std::fs::remove_file(&out);
    }
    let refused = run(&["--block", "1"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    if refused.status.success() || !said.contains("none of the three block diagonals") || out.exists() {
        println!("--block 1: {said}");
        well = false;
    }
    _ = std::fs::remove_dir_all(&folder);
    well
}

/// The numbers of a Matrix Market file with an array.
fn numbers_of(file: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| !line.starts_with('%')).skip(1).filter_map(|line| line.parse().ok()).collect()
}

/// Whether the program finds double eigenvalues, proves that none is missing, and writes
/// eigenvalues and vectors.
fn program_finds() -> bool {
    let folder = std::env::temp_dir().join(format!("bandsolve-mpi-eig-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    // 2 − 2·cos(π·k/31)
    let n = 60;
    let entry = |i: usize, j: usize| format!("{i} {j} {}\n", if i == j { 2.0 } else { -1.0 });
    let lines: Vec<String> = (1..=n)
        .flat_map(|i| [i, i + 2].into_iter().filter(|j| *j <= n).map(move |j| (j, i)))
        .map(|(i, j)| entry(i, j))
        .collect();
    let text = format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n{}", lines.len(), lines.concat());
    let matrix = folder.join("A.mtx");
    std::fs::write(&matrix, text).expect("a file");
    let mut command = job(3, Path::new(env!("CARGO_BIN_EXE_bandsolve-mpi")));
    command.arg("eig").arg(&matrix).args(["--target", "1", "-k", "4", "--json"]);
    let files = ["lambda.mtx", "x.mtx"].map(|name| folder.join(name));
    command.arg("--out").arg(&files[0]).arg("--vectors").arg(&files[1]);
    let output = command.output().expect("mpirun starts");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let exact = |k: f64| 2.0 - 2.0 * (std::f64::consts::PI * k / 31.0).cos();
    let mut nearest: Vec<f64> = (2..62).map(|k| exact(f64::from(k / 2))).collect();
    nearest.sort_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
    let near = |k: usize| report["eigenvalues"][k].as_f64().is_some_and(|value| (value - nearest[k]).abs() <= 1e-12);
    let [values, x] = files.map(|file| numbers_of(&file));
    // |A x − λ x| and |‖x‖ − 1|, over all pairs.
    let pairs = values.iter().zip(x.chunks_exact(n)).map(|(value, x)| {
        let at = |i: usize| x.get(i).copied().unwrap_or_default();
        let rest = (0..n).map(|i| (2.0 * x[i] - at(i.wrapping_sub(2)) - at(i + 2) - value * x[i]).abs());
        rest.fold((x.iter().map(|x| x * x).sum::<f64>() - 1.0).abs(), f64::max)
    });
    let written = values.len() == 4 && x.len() == 4 * n && pairs.fold(0.0, f64::max) < 1e-12;
    let mut well = written && output.status.success() && report["complete"] == true && (0..4).all(near);
    if !well {
        println!("eig: {report}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // More ranks than rows, and an invalid tolerance.
    std::fs::write(&matrix, "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4\n").expect("a file");
    let few = job(3, Path::new(env!("CARGO_BIN_EXE_bandsolve-mpi"))).arg("eig").arg(&matrix).output();
    let wrong =
        job(3, Path::new(env!("CARGO_BIN_EXE_bandsolve-mpi"))).arg("eig").arg(&matrix).args(["--tol", "2"]).output();
    let (few, wrong) = (few.expect("mpirun starts"), wrong.expect("mpirun starts"));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    if !few.status.success()
        || wrong.status.success()
        || !said.contains("expected a number from 0 up to, but not including, 1")
    {
        println!("eig of one row: {}\n--tol 2: {said}", String::from_utf8_lossy(&few.stderr));
        well = false;
    }
    _ = std::fs::remove_dir_all(&folder);
    well
}

/// Whether an error that all ranks share, and the help text, are printed once.
fn rank_0_speaks_alone() -> bool {
    let cases: [(&[&str], &str); 5] = [
        (&["solve", "no-such-file.mtx"], "error: no-such-file.mtx"),
        (&["solve", "A.mtx", "--blok", "2"], "unexpected argument '--blok'"),
        (&["solve", "A.mtx", "--block", "2", "--method", "bcylic"], "Did you mean `bcyclic`?"),
        (&["frobnicate"], "unrecognized subcommand"),
        (&["solve", "--help"], "Usage:"),
    ];
    let mut well = true;
    for (arguments, words) in cases {
        let output = job(3, Path::new(env!("CARGO_BIN_EXE_bandsolve-mpi"))).args(arguments).output();
        let output = output.expect("mpirun starts");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        if said.matches(words).count() != 1 || output.status.success() != (arguments == ["solve", "--help"]) {
            println!("{arguments:?}: {:?}\n{said}", output.status);
            well = false;
        }
    }
    well
}

/// Whether a job that loses a rank ends with a message before the time limit.
fn ends_the_job(how: &str) -> bool {
    let output = mpirun(3).env(CHILD, how).output().expect("mpirun starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let named = if how == LOST[0] { said.contains("a rank panicked") } else { !said.is_empty() };
    let well = !output.status.success() && output.status.code() != Some(TIME_IS_UP) && named;
    if !well {
        println!("{how}: {:?}\n{said}", output.status);
    }
    well
}

/// A command that runs this program on `size` ranks.
fn mpirun(size: usize) -> Command {
    let mut command = job(size, &std::env::current_exe().expect("the path of this program"));
    command.env(CHILD, "1");
    command
}

/// A command that runs a program on `size` ranks.
fn job(size: usize, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args([LIMIT, "mpirun", "-n", &size.to_string()]).arg(program);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("RAYON_NUM_THREADS", "1");
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command
}

/// Run the checks on a rank.
fn rank() -> ExitCode {
    abort_on_panic();
    let universe = mpi::initialize().expect("MPI, initialised once");
    let ranks = Ranks::of(&universe.world());
    let how = std::env::var(CHILD).unwrap_or_default();
    if LOST.contains(&&*how) {
        lose_a_rank(&ranks, &how);
    }
    for (_, check) in common::CHECKS {
        check(&ranks);
    }
    ExitCode::SUCCESS
}

/// End one rank while the others wait for it.
fn lose_a_rank(ranks: &Ranks, how: &str) {
    if ranks.rank() == 1 {
        assert!(how != LOST[0], "lost on purpose");
        std::process::abort();
    }
    ranks.sum(&mut [1.0]);
}
