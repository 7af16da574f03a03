//! Output on terminals: progress bars, and colours unless they are switched off.

use super::{Folder, bandsolve};
use bandsolve_testkit::skipped;
use std::process::Command;

/// Environment variables that affect colours, which the tests remove.
const INHERITED: [&str; 6] = ["CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "NO_COLOR", "TERM"];

/// Output of the program on a terminal; `None` if the machine lacks `script`, which emulates a terminal.
fn on_terminal(variables: &[(&str, &str)], arguments: &str) -> Option<String> {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_bandsolve"));
    let mut script = Command::new("script");
    INHERITED.iter().for_each(|name| _ = script.env_remove(name));
    let run = script.args(["-qec", &command, "/dev/null"]).envs(variables.iter().copied()).output();
    let Ok(run) = run else {
        skipped("no `script` (util-linux) to make a terminal with");
        return None;
    };
    assert!(run.status.success(), "{run:?}");
    Some(String::from_utf8_lossy(&run.stdout).into_owned())
}

#[test]
fn long_work_shows_its_rate_and_the_time_left() {
    let folder = Folder::new();
    let (a, x) = (folder.path("A.mtx"), folder.path("x.mtx"));
    let generate = format!("generate random 1000000 --out {a}");
    let solve = format!("solve {a} --out {x}");
    let terminal = [("TERM", "xterm-256color")];
    let Some(written) = on_terminal(&terminal, &generate) else { return };
    assert!(
        written.contains("writing") && written.contains(" numbers/s, ") && written.contains(" left"),
        "{written:?}"
    );
    let read = on_terminal(&terminal, &solve).unwrap_or_default();
    assert!(read.contains("reading") && read.contains("B/s, ") && read.contains(" left"), "{read:?}");
    // Files and pipes get neither progress bars nor colours.
    let run = bandsolve(&["solve", &a]).exits(0);
    assert!(run.stderr.is_empty() && !run.stdout.contains('\u{1b}'), "{run:?}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let colour = |text: &str| text.contains("\u{1b}[1m") || text.contains("\u{1b}[3") || text.contains("\u{1b}[4m");
    let Some(shown) = on_terminal(&[("TERM", "xterm-256color"), ("NO_COLOR", "")], "--help") else { return };
    assert!(colour(&shown), "{shown:?}");
    for variables in [[("TERM", "xterm-256color"), ("NO_COLOR", "1")], [("TERM", "dumb"), ("NO_COLOR", "")]] {
        for command in ["--help", "solve --help", "doctor", "generate --list"] {
            let shown = on_terminal(&variables, command).unwrap_or_default();
            assert!(!colour(&shown), "{variables:?} {command}: {shown:?}");
        }
    }
    assert!(!colour(&bandsolve(&["--help"]).stdout));
}
