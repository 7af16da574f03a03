//! Why a file could not be read.

use crate::memory::NoMemory;
use std::fmt;
use std::io;

/// What kind of trouble a [`FileError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileErrorKind {
    /// The operating system does not give the file, or not all of it.
    Io(io::ErrorKind),
    /// The file needs more memory than is free.
    Memory,
    /// The file is malformed.
    Malformed,
}

/// An error in an input file. Its text is `file:line: reason`, or `file: reason` where the file is wrong as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    file: String,
    line: Option<u64>,
    reason: Reason,
}

impl FileError {
    /// A file that is wrong as a whole.
    pub(crate) fn in_file(file: &str, reason: impl Into<Reason>) -> Self {
        Self { file: file.into(), line: None, reason: reason.into() }
    }

    /// A malformed line of a file.
    pub(crate) fn at_line(file: &str, line: u64, reason: impl Into<Reason>) -> Self {
        Self { file: file.into(), line: Some(line), reason: reason.into() }
    }

    /// What kind of trouble it is.
    pub fn kind(&self) -> FileErrorKind {
        self.reason.kind
    }

    /// The line, counted from 1, if one line is wrong.
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

/// What is wrong, in words, and its kind; the place is added where it is known.
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

    /// The same reason with words behind it.
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
        // What a decoder says of damaged bytes has no code of the operating system.
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
