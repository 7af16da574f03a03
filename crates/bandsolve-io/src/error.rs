//! Errors of input files.

use crate::memory::NoMemory;
use std::fmt;
use std::io;

/// The kind of a [`FileError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileErrorKind {
    /// The operating system cannot open or read the file.
    Io(io::ErrorKind),
    /// The content of the file needs more memory than is free.
    Memory,
    /// The file is malformed.
    Malformed,
}

/// An error in an input file. Its text is `file:line: reason`, or `file: reason` if the error belongs to no line.
///
/// # Examples
/// ```
/// use bandsolve_io::{FileErrorKind, read_stream};
/// let text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4,5\n";
/// let error = read_stream("a.mtx", text.as_bytes(), None).unwrap_err();
/// assert_eq!((error.kind(), error.line()), (FileErrorKind::Malformed, Some(3)));
/// assert_eq!(error.to_string(), "a.mtx:3: `4,5` is not a number");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    file: String,
    line: Option<u64>,
    reason: Reason,
}

impl FileError {
    /// An error that belongs to no line.
    pub(crate) fn in_file(file: &str, reason: impl Into<Reason>) -> Self {
        Self { file: file.into(), line: None, reason: reason.into() }
    }

    /// An error in a line of a file.
    pub(crate) fn at_line(file: &str, line: u64, reason: impl Into<Reason>) -> Self {
        Self { file: file.into(), line: Some(line), reason: reason.into() }
    }

    /// The kind of the error.
    pub fn kind(&self) -> FileErrorKind {
        self.reason.kind
    }

    /// The line with the error, counted from 1. `None` if the error belongs to no line.
    pub fn line(&self) -> Option<u64> {
        self.line
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.reason.text),
            None => write!(f, "{}: {}", self.file, self.reason.text),
        }
    }
}

impl std::error::Error for FileError {}

/// The reason of an error in words, and its kind, without the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    kind: FileErrorKind,
    text: String,
}

impl Reason {
    /// The same reason with words before it.
    pub(crate) fn after(self, words: impl fmt::Display) -> Self {
        Self { text: format!("{words}: {}", self.text), ..self }
    }

    /// The same reason with words after it.
    pub(crate) fn before(self, words: impl fmt::Display) -> Self {
        Self { text: format!("{}: {words}", self.text), ..self }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { kind: FileErrorKind::Malformed, text }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        text.to_string().into()
    }
}

impl From<NoMemory> for Reason {
    fn from(error: NoMemory) -> Self {
        Self { kind: FileErrorKind::Memory, text: error.to_string() }
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        // The error of a decoder has no code of the operating system.
        let kind = match error.raw_os_error() {
            Some(_) => FileErrorKind::Io(error.kind()),
            None => FileErrorKind::Malformed,
        };
        Self { kind, text: error.to_string() }
    }
}

impl From<zip::result::ZipError> for Reason {
    fn from(error: zip::result::ZipError) -> Self {
        match error {
            zip::result::ZipError::Io(error) => error.into(),
            other => other.to_string().into(),
        }
    }
}
