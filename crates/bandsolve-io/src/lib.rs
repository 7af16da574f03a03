//! Read matrices and arrays from Matrix Market, `.npy` and `.npz` files.
//!
//! ```
//! use bandsolve_io::{FileArray, read_stream};
//! let text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 4.5\n2 2 3.0\n";
//! let contents = read_stream("a.mtx", text.as_bytes(), None)?;
//! let FileArray::Sparse(a) = contents.array else { panic!("a dense array") };
//! assert_eq!((a.n_rows, a.n_cols, a.values.re), (2, 2, vec![4.5, 3.0]));
//! # Ok::<(), bandsolve_io::FileError>(())
//! ```
//!
//! The content of a file decides its format, not its name. An `.npz` archive may contain one array, several arrays, or a sparse matrix that SciPy saved.
//! Matrix Market and `.npy` files may be compressed by gzip.
//!
//! | task | function or type |
//! | --- | --- |
//! | read a file of any supported format | [`read`] |
//! | read from memory or a pipe | [`read_stream`] |
//! | show progress while reading | [`read_through`] |
//! | read an `.npy` array with more than two dimensions | [`read_npy_field`] |
//! | know what went wrong, and in which line | [`FileError`] |
//! | use the matrix | [`Triplets`] (sparse), [`DenseArray`] (dense) |
//! | write the header of an `.npy` file | [`npy::write_header`] |
//!
//! A malformed file results in a [`FileError`] with the name of the file, the line and the reason. The memory for an array is allocated only if it is
//! free. A header that declares more entries than the file contains costs no memory.
//!
//! # Features
//!
//! The crate has no cargo features.
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-sparse`]: sparse matrices, Krylov solvers, preconditioners, linear forests
//!
//! # Guide
//!
//! The page `docs/how-to/read-a-matrix-file.md` of the repository shows the same files in Python and on the command line.
//!
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-sparse`]: https://docs.rs/bandsolve-sparse"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-sparse`]: ../bandsolve_sparse/index.html"
)]

mod archive;
mod contents;
mod error;
pub mod matrix_market;
pub mod memory;
pub mod npy;

pub use contents::{
    DenseArray, FileArray, FileContents, NumberType, Numbers, SparseFormat, Symmetry, Triplets, bytes_of_entry,
    bytes_of_number, sizes,
};
pub use error::{FileError, FileErrorKind};

use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// Read a matrix or an array from a file. The content of the file decides its format.
///
/// The path `file.npz:name` selects one array of an archive.
///
/// # Errors
/// [`FileError`] with the file, the line and the reason.
///
/// # Examples
/// ```
/// let error = bandsolve_io::read("no such file".as_ref()).unwrap_err();
/// assert_eq!(error.kind(), bandsolve_io::FileErrorKind::Io(std::io::ErrorKind::NotFound));
/// ```
pub fn read(path: &Path) -> Result<FileContents, FileError> {
    read_through(path, |_, _, file| file)
}

/// Read a file as [`read`] does, through a reader of your own, for example to show progress.
///
/// `wrap` receives the path, the size in bytes if it is known, and the open file. It returns the reader.
///
/// # Errors
/// As [`read`].
pub fn read_through<R: Read>(
    path: &Path,
    wrap: impl FnOnce(&Path, Option<u64>, File) -> R,
) -> Result<FileContents, FileError> {
    let name = path.display().to_string();
    let (path, member) = split_member(path);
    let (file, size) = open(&path, &name)?;
    if starts_with_zip(&path) || member.is_some() {
        return archive::read(file, &name, member.as_deref());
    }
    read_stream(&name, wrap(&path, size, file), size)
}

/// Read an array of any number of dimensions from an `.npy` file. Returns its shape, and its numbers in row-major order.
///
/// For a file of another format, it returns `None`. `wrap` is the same as for [`read_through`].
///
/// # Errors
/// As [`read`].
pub fn read_npy_field<R: Read>(
    path: &Path,
    wrap: impl FnOnce(&Path, Option<u64>, File) -> R,
) -> Result<Option<(Vec<usize>, Numbers)>, FileError> {
    let name = path.display().to_string();
    let Ok((file, size)) = open(path, &name) else { return Ok(None) };
    let (magic, rest) = peek(&name, wrap(path, size, file))?;
    if !magic.starts_with(&[0x93, b'N']) {
        return Ok(None);
    }
    npy::read_field(&name, Cursor::new(magic).chain(rest), size).map(Some)
}

/// Open a file. Returns its size, too, if it is a regular file.
fn open(path: &Path, name: &str) -> Result<(File, Option<u64>), FileError> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|info| (file, info)));
    let (file, info) = opened.map_err(|e| FileError::in_file(name, e))?;
    if info.is_dir() {
        return Err(FileError::in_file(name, "is a directory, but a file is expected"));
    }
    Ok((file, info.is_file().then_some(info.len())))
}

/// The path of a file, without the name of an array in the archive.
///
/// # Examples
/// ```
/// assert_eq!(bandsolve_io::file_of("a.npz:diag".as_ref()), std::path::Path::new("a.npz"));
/// ```
pub fn file_of(path: &Path) -> PathBuf {
    split_member(path).0
}

/// Split `file.npz:name` into the file and the array, unless a file with the whole name exists.
fn split_member(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rsplit_once(".npz:") {
        Some((stem, member)) if !path.exists() => (format!("{stem}.npz").into(), Some(member.to_string())),
        _ => (path.to_path_buf(), None),
    }
}

fn starts_with_zip(path: &Path) -> bool {
    let mut magic = [0; 4];
    let regular = path.metadata().is_ok_and(|m| m.is_file());
    regular && File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && magic == *b"PK\x03\x04"
}

/// Maximum ratio of decompressed to compressed bytes of gzip: 258 bytes from 2 bits.
const DEFLATE: u64 = 1032;

/// Read a Matrix Market or `.npy` file from a stream, plain or compressed by gzip.
///
/// `name` is for messages. `size` is the number of bytes of the stream, if it is known. The function allocates no memory for entries that do not fit
/// this size.
///
/// # Examples
/// ```
/// use bandsolve_io::read_stream;
/// let text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 4.5\n";
/// let error = read_stream("a.mtx", text.as_bytes(), None).unwrap_err();
/// assert_eq!(error.to_string(), "a.mtx:3: row 3 is outside 1 to 2 (indices count from 1)");
/// ```
///
/// # Errors
/// As [`read`].
pub fn read_stream(name: &str, source: impl Read, size: Option<u64>) -> Result<FileContents, FileError> {
    let (magic, rest) = peek(name, source)?;
    let source = Cursor::new(magic.clone()).chain(rest);
    if !magic.starts_with(&[0x1f, 0x8b]) {
        return read_plain(name, &magic, source, size);
    }
    let unpacked = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, source));
    let (magic, rest) = peek(name, unpacked)?;
    read_plain(name, &magic.clone(), Cursor::new(magic).chain(rest), size.map(|size| size.saturating_mul(DEFLATE)))
}

fn read_plain(name: &str, magic: &[u8], source: impl Read, size: Option<u64>) -> Result<FileContents, FileError> {
    let (array, number) = match magic {
        [] => return Err(FileError::in_file(name, "is empty")),
        [0x93, b'N', ..] => npy::read(name, source, size).map(|(a, number)| (FileArray::DenseArray(a), number))?,
        [b'P', b'K', 3, 4, ..] => {
            return Err(FileError::in_file(
                name,
                "an .npz archive cannot be read from a pipe or a compressed file. Save it as a plain file",
            ));
        }
        [0x1f, 0x8b, ..] => return Err(FileError::in_file(name, "is compressed by gzip twice. Decompress it once")),
        _ => matrix_market::read(name, source, size)?,
    };
    Ok(FileContents { array, number, format: None })
}

/// The first six bytes, or fewer at the end of the file, and the rest of the source.
fn peek<R: Read>(name: &str, mut source: R) -> Result<(Vec<u8>, R), FileError> {
    let mut magic = Vec::new();
    source.by_ref().take(6).read_to_end(&mut magic).map_err(|e| FileError::in_file(name, e))?;
    Ok((magic, source))
}
