//! Exit codes and the errors behind them.

use std::fmt;
use std::process::ExitCode;

/// Why a command failed; every kind has its exit code.
#[derive(Debug)]
pub enum Failure {
    /// 1: an output could not be written, memory could not be had, or there is no GPU.
    Other(String),
    /// 2: options that do not go together or do not fit the matrix.
    Usage(String),
    /// 3: an input that cannot be read, is malformed or does not fit the other inputs.
    Input(String),
    /// 4: the matrix is singular or the accuracy contract was not reached.
    Unsolved(String),
}

impl Failure {
    /// A malformed line of an input file.
    pub fn at_line(file: &str, line: u64, reason: impl fmt::Display) -> Self {
        Failure::Input(format!("{file}:{line}: {reason}"))
    }

    /// An input file that is wrong as a whole.
    pub fn in_file(file: &str, reason: impl fmt::Display) -> Self {
        Failure::Input(format!("{file}: {reason}"))
    }

    fn code(&self) -> u8 {
        match self {
            Failure::Other(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Input(_) => 3,
            Failure::Unsolved(_) => 4,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Other(text) | Failure::Usage(text) | Failure::Input(text) | Failure::Unsolved(text)) = self;
        f.write_str(text)
    }
}

impl From<bandsolve_io::FileError> for Failure {
    fn from(error: bandsolve_io::FileError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<bandsolve::Error> for Failure {
    fn from(error: bandsolve::Error) -> Self {
        use bandsolve::Error::*;
        let text = error.to_string();
        match error.cause() {
            Unsupported { .. } => Failure::Usage(format!("{text}: leave out --method to have one chosen")),
            Singular { row } => {
                Failure::Unsolved(format!("the matrix is singular: elimination found no pivot in row {}", row + 1))
            }
            NotDefinite { row } => Failure::Unsolved(format!(
                "the matrix is not Hermitian positive definite: first seen in row {}",
                row + 1
            )),
            NotConverged { .. } | Incompatible { .. } => Failure::Unsolved(text),
            NotFinite { .. } | Shape { .. } => Failure::Input(text),
            _ => Failure::Other(text),
        }
    }
}

/// Prints the error, if there is one, and returns the exit code.
pub fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Not `eprintln!`, which panics when nobody listens.
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("error: {failure}\n"));
            ExitCode::from(failure.code())
        }
    }
}
