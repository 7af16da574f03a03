//! Tests that run the program: exit codes, messages and files.

mod bench;
mod documentation;
mod eig;
mod files;
mod generate;
mod gpu;
mod info;
mod malformed;
mod manual;
mod options;
mod page;
mod pictures;
mod poisson;
mod reorder;
mod solve;
mod sparse;
mod spy;
mod stability;
mod terminal;
mod usage;

use bandsolve::{Method, Shape};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The methods that solve every tridiagonal system, without `Auto`.
fn tridiagonal_methods() -> impl Iterator<Item = Method> {
    let shape = Shape::Tridiagonal { n: 1, periodic: false };
    let general = move |method: &Method| *method != Method::Auto && !method.needs_definite() && method.solves(shape);
    Method::ALL.into_iter().filter(general)
}

/// Exit code and output of a run of the program.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    /// Check the exit code, and that the program did not panic.
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Check the exit code, that standard output is empty, and that the error message contains `reason`.
    #[track_caller]
    fn fails(self, code: i32, reason: &str) -> Self {
        assert!(self.stderr.contains(reason), "no `{reason}` in {self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        self.exits(code)
    }

    /// Standard output as JSON.
    #[track_caller]
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }
}

/// Run the program without a terminal.
fn bandsolve(args: &[&str]) -> Run {
    bandsolve_with(args, b"")
}

fn bandsolve_with(args: &[&str], stdin: &[u8]) -> Run {
    bandsolve_under(&[], args, stdin)
}

/// Run the program with additional environment variables.
fn bandsolve_under(variables: &[(&str, &str)], args: &[&str], stdin: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bandsolve"))
        .args(args)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A write error is no failure, because the program may stop reading early.
    let _ = child.stdin.take().expect("piped").write_all(stdin);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("messages are UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A temporary folder, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("bandsolve-cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    /// The path of a file in the folder, which need not exist.
    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_string()
    }

    /// Write a file and return its path.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.0.join(name), content).expect("a file in the temporary folder");
        self.path(name)
    }

    /// Names of all files, also hidden ones.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder");
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A Matrix Market coordinate file from triplets (row, column, value) with one-based indices.
fn matrix_market(n: usize, entries: &[(usize, usize, f64)]) -> String {
    let body: String = entries.iter().map(|(i, j, v)| format!("{i} {j} {v:?}\n")).collect();
    format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n{body}", entries.len())
}

/// The triplets of a matrix with `diag` on the diagonal and −1 on the diagonals at the given distances.
fn toeplitz(n: usize, diag: f64, below: &[usize], above: &[usize]) -> Vec<(usize, usize, f64)> {
    let mut entries = Vec::new();
    for i in 1..=n {
        entries.push((i, i, diag));
        entries.extend(below.iter().filter(|d| i > **d).map(|d| (i, i - d, -1.0)));
        entries.extend(above.iter().filter(|d| i + **d <= n).map(|d| (i, i + d, -1.0)));
    }
    entries
}

/// The values of a Matrix Market array file.
fn array_values(path: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(Path::new(path)).expect("an output file");
    let lines = text.lines().filter(|l| !l.starts_with('%')).skip(1);
    lines.flat_map(|l| l.split(' ').map(|v| v.parse().expect("a number")).collect::<Vec<f64>>()).collect()
}

/// Check that every element of an XML text has a matching end tag.
#[track_caller]
fn check_xml(text: &str) {
    let mut open = Vec::new();
    for piece in text.split('<').skip(1) {
        let (tag, words) = piece.split_once('>').unwrap_or_else(|| panic!("<{piece} does not end"));
        assert!(!words.contains('&') || words.contains(';'), "{words}");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "</{name}>"),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap_or_default()),
        }
    }
    assert!(open.is_empty() && text.starts_with("<svg "), "{open:?}");
}
