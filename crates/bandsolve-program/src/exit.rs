//! Errors of commands and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// The error of a command. Each variant has its exit code.
#[derive(Debug)]
pub enum Failure {
    /// 1: an output cannot be written, too little memory is free, or no GPU was found.
    Other(String),
    /// 2: the options contradict each other or do not fit the matrix.
    Usage(String),
    /// 3: an input cannot be read, is malformed or does not fit the other inputs.
    Input(String),
    /// 4: the matrix is singular, or the result is not accurate enough.
    Unsolved(String),
}

impl Failure {
    /// A malformed line of an input file.
    pub fn at_line(file: &str, line: u64, reason: impl fmt::Display) -> Self {
        Failure::Input(format!("{file}:{line}: {reason}"))
    }

    /// An input file with an error that has no line number.
    pub fn in_file(file: &str, reason: impl fmt::Display) -> Self {
        Failure::Input(format!("{file}: {reason}"))
    }

    /// A program without CUDA was asked for a GPU.
    pub fn without_cuda() -> Self {
        Failure::Other(
            "no GPU: this program was built without CUDA. Build it with cargo's option `--features cuda`".into(),
        )
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
            Unsupported { .. } => {
                Failure::Usage(format!("{text}. Leave out --method, so that bandsolve chooses a method"))
            }
            Singular { row } => {
                Failure::Unsolved(format!("the matrix is singular: elimination found no pivot in row {}", row + 1))
            }
            NotDefinite { row } => Failure::Unsolved(format!(
                "the matrix is not Hermitian positive definite (detected in row {})",
                row + 1
            )),
            NotConverged { .. } | Incompatible { .. } => Failure::Unsolved(text),
            InvalidArgument { .. } => Failure::Usage(text),
            NotFinite { .. } | Shape { .. } => Failure::Input(text),
            _ => Failure::Other(text),
        }
    }
}

/// Print the error, if there is one, and return the exit code.
pub fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // `eprintln!` would panic if standard error is closed.
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("error: {failure}\n"));
            ExitCode::from(failure.code())
        }
    }
}
