//! Run the demo and print its report.

use std::process::ExitCode;

fn main() -> ExitCode {
    match bandsolve_demo::run(|step| eprintln!("{step}")) {
        Ok(report) => {
            print!("\n{report}{NEXT}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

const NEXT: &str = "
Next:
  cargo install --path crates/bandsolve-cli     install the program `bandsolve`
  pip install .                                 install the Python package
  docs/getting-started.md                       first steps in Python, Rust, C and on the command line
";
