//! Files of matrices: Matrix Market, NumPy's .npy arrays, and .npz archives with one array or with a matrix of SciPy.
//!
//! [`read`] opens a file and looks at its content, not at its name. A malformed file is a [`FileError`] with its name, the line and the
//! reason. A header is not believed to promise more than the file can hold, and nothing is allocated that does not fit the free memory.

mod archive;
mod error;
pub mod matrix_market;
pub mod memory;
pub mod npy;

pub use error::{FileError, FileErrorKind};

use crate::memory::{NoMemory, affordable, filled, grow};
use bandsolve::Complex64;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// The type of the numbers of a file, with the bytes of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// Real, of 4 or 8 bytes.
    Float(usize),
    /// Complex, of 8 or 16 bytes.
    Complex(usize),
    /// Whole.
    Signed(usize),
    /// Whole and not negative.
    Unsigned(usize),
}

impl NumberType {
    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        let (NumberType::Float(b) | NumberType::Complex(b) | NumberType::Signed(b) | NumberType::Unsigned(b)) = self;
        b
    }

    /// NumPy's name, such as `f8`.
    pub fn name(self) -> String {
        let letter = match self {
            NumberType::Float(_) => 'f',
            NumberType::Complex(_) => 'c',
            NumberType::Signed(_) => 'i',
            NumberType::Unsigned(_) => 'u',
        };
        format!("{letter}{}", self.bytes())
    }
}

/// The formats of sparse matrices that SciPy writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseFormat {
    /// By rows.
    Csr,
    /// By columns.
    Csc,
    /// By rows of blocks.
    Bsr,
    /// As a list of entries.
    Coo,
    /// By diagonals.
    Dia,
}

impl SparseFormat {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Csr, Self::Csc, Self::Bsr, Self::Coo, Self::Dia];

    /// SciPy's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Bsr => "bsr",
            Self::Coo => "coo",
            Self::Dia => "dia",
        }
    }

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What a file held, and how it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct FileContents {
    /// The matrix or array, in double precision.
    pub array: FileArray,
    /// The type of the numbers in the file.
    pub number: NumberType,
    /// The format of a matrix of SciPy.
    pub format: Option<SparseFormat>,
}

/// Numbers as a file holds them: real parts, and imaginary parts if it is complex.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers {
    /// Real parts.
    pub re: Vec<f64>,
    /// Imaginary parts.
    pub im: Option<Vec<f64>>,
}

impl Numbers {
    /// No numbers yet.
    pub fn new(complex: bool) -> Self {
        Numbers { re: Vec::new(), im: complex.then(Vec::new) }
    }

    /// Number `k`.
    pub fn get(&self, k: usize) -> Complex64 {
        Complex64::new(self.re[k], self.im.as_ref().map_or(0.0, |im| im[k]))
    }

    /// Adds a number at the end; its imaginary part is dropped if these numbers are real.
    pub fn push(&mut self, re: f64, im: f64) {
        self.re.push(re);
        if let Some(parts) = &mut self.im {
            parts.push(im);
        }
    }

    /// `count` zeros.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn zeros(count: usize, complex: bool) -> Result<Self, NoMemory> {
        let im = complex.then(|| filled(0.0, count)).transpose()?;
        Ok(Numbers { re: filled(0.0, count)?, im })
    }

    /// Room for `more` numbers, of `total` in the end.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn grow(&mut self, more: usize, total: usize) -> Result<(), NoMemory> {
        grow(&mut self.re, more, total)?;
        self.im.as_mut().map_or(Ok(()), |im| grow(im, more, total))
    }

    /// How many can be added before there must be more room.
    pub fn room(&self) -> usize {
        let room = |part: &Vec<f64>| part.capacity() - part.len();
        self.im.as_ref().map_or(usize::MAX, room).min(room(&self.re))
    }

    /// How many are not zero.
    pub fn count_nonzero(&self) -> usize {
        match &self.im {
            None => self.re.iter().filter(|re| **re != 0.0).count(),
            Some(im) => self.re.iter().zip(im).filter(|(re, im)| **re != 0.0 || **im != 0.0).count(),
        }
    }

    /// Overwrites number `k`.
    pub fn set(&mut self, k: usize, value: Complex64) {
        self.re[k] = value.re;
        if let Some(parts) = &mut self.im {
            parts[k] = value.im;
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.re.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.re.is_empty()
    }

    /// Whether there is an imaginary part.
    pub fn is_complex(&self) -> bool {
        self.im.is_some()
    }
}

/// How the entries above the diagonal follow from those below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// They do not: every entry is in the file.
    General,
    /// A = Aᵀ
    Symmetric,
    /// A = −Aᵀ
    Skew,
    /// A = Aᴴ
    Hermitian,
}

impl Symmetry {
    /// The entry at (j, i) when `value` stands at (i, j).
    pub fn mirror(self, value: Complex64) -> Complex64 {
        match self {
            Symmetry::General | Symmetry::Symmetric => value,
            Symmetry::Skew => -value,
            Symmetry::Hermitian => value.conj(),
        }
    }
}

/// A sparse matrix as a list of entries; entries at the same place add up.
#[derive(Debug, Clone, PartialEq)]
pub struct Triplets {
    /// Rows.
    pub n_rows: usize,
    /// Columns.
    pub n_cols: usize,
    /// Row of each stored entry, counted from 0.
    pub rows: Vec<u32>,
    /// Column of each stored entry.
    pub cols: Vec<u32>,
    /// The stored entries.
    pub values: Numbers,
    /// What else the stored entries stand for.
    pub symmetry: Symmetry,
    /// The file has positions alone; entries are 1.
    pub pattern: bool,
}

/// Bytes of an entry of [`Triplets`].
pub fn bytes_of_entry(complex: bool) -> usize {
    2 * size_of::<u32>() + bytes_of_number(complex)
}

/// Bytes of one of [`Numbers`].
pub fn bytes_of_number(complex: bool) -> usize {
    if complex { size_of::<Complex64>() } else { size_of::<f64>() }
}

impl Triplets {
    /// No entries yet.
    pub fn new(n_rows: usize, n_cols: usize, complex: bool) -> Self {
        let (rows, cols, values) = (Vec::new(), Vec::new(), Numbers::new(complex));
        Triplets { n_rows, n_cols, rows, cols, values, symmetry: Symmetry::General, pattern: false }
    }

    /// Room for `more` entries, of `total` in the end.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn grow(&mut self, more: usize, total: usize) -> Result<(), NoMemory> {
        grow(&mut self.rows, more, total)?;
        grow(&mut self.cols, more, total)?;
        self.values.grow(more, total)
    }

    /// How many can be added before there must be more room.
    pub fn room(&self) -> usize {
        let room = |part: &Vec<u32>| part.capacity() - part.len();
        room(&self.rows).min(room(&self.cols)).min(self.values.room())
    }

    /// Calls `f(row, column, value)` for every entry, those implied by symmetry included.
    pub fn for_each(&self, mut f: impl FnMut(usize, usize, Complex64)) {
        for (k, (row, col)) in self.rows.iter().zip(&self.cols).enumerate() {
            let (i, j, value) = (*row as usize, *col as usize, self.values.get(k));
            f(i, j, value);
            if i != j && self.symmetry != Symmetry::General {
                f(j, i, self.symmetry.mirror(value));
            }
        }
    }
}

/// A dense column-major array.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseArray {
    /// Rows.
    pub n_rows: usize,
    /// Columns.
    pub n_cols: usize,
    /// Entry (i, j) at `i + j·n_rows`.
    pub values: Numbers,
}

impl DenseArray {
    /// Its shape, and its numbers by rows.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn into_rows(self) -> Result<(Vec<usize>, Numbers), NoMemory> {
        let values = self.values.transposed(self.n_cols, self.n_rows)?;
        Ok((vec![self.n_rows, self.n_cols], values))
    }

    /// The entries that are not zero.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn into_triplets(self) -> Result<Triplets, NoMemory> {
        let complex = self.values.is_complex();
        let count = self.values.count_nonzero();
        affordable(&[count], bytes_of_entry(complex))
            .map_err(|why| why.after(format_args!("{count} entries are too many")))?;
        let mut a = Triplets::new(self.n_rows, self.n_cols, complex);
        a.grow(count, count)?;
        let entries = (0..self.values.len()).map(|k| (k, self.values.get(k)));
        for (k, value) in entries.filter(|(_, value)| *value != Complex64::ZERO) {
            a.rows.push((k % self.n_rows) as u32);
            a.cols.push((k / self.n_rows) as u32);
            a.values.push(value.re, value.im);
        }
        Ok(a)
    }
}

/// What a file held.
#[derive(Debug, Clone, PartialEq)]
pub enum FileArray {
    /// A list of entries.
    Sparse(Triplets),
    /// All entries.
    DenseArray(DenseArray),
}

impl Triplets {
    /// All entries, zeros included.
    ///
    /// # Errors
    /// In words, if there is no memory for them, or entries at one place add up to infinity.
    pub fn densify(&self) -> Result<DenseArray, String> {
        let count = affordable(&[self.n_rows, self.n_cols], size_of::<Complex64>())
            .map_err(|why| format!("{} rows and {} columns are too large: {why}", self.n_rows, self.n_cols))?;
        let mut values = Numbers::zeros(count, self.values.is_complex())?;
        let mut overflow = None;
        self.for_each(|i, j, value| {
            let at = i + j * self.n_rows;
            let sum = values.get(at) + value;
            if !(sum.re.is_finite() && sum.im.is_finite()) {
                overflow = Some(format!("the entries at row {}, column {} add up to infinity", i + 1, j + 1));
            }
            values.set(at, sum);
        });
        overflow.map_or(Ok(DenseArray { n_rows: self.n_rows, n_cols: self.n_cols, values }), Err)
    }
}

/// `20 × 30`: a shape.
pub fn sizes(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    sizes.join(" × ")
}

/// Reads any supported file; the content decides which. `file.npz:name` is one array of an archive.
///
/// # Errors
/// [`FileError`] with file, line and reason.
///
/// # Example
/// ```
/// let error = bandsolve_io::read("no such file".as_ref()).unwrap_err();
/// assert_eq!(error.kind(), bandsolve_io::FileErrorKind::Io(std::io::ErrorKind::NotFound));
/// ```
pub fn read(path: &Path) -> Result<FileContents, FileError> {
    read_through(path, |_, _, file| file)
}

/// [`read`] through what `wrap` makes of the open file, which is told the path and the size: to show progress.
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

/// Reads an array of any number of dimensions from an .npy file: its shape and its numbers by rows; `None` for other files. `wrap` as for
/// [`read_through`].
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

/// An open file, and its size if it has one.
fn open(path: &Path, name: &str) -> Result<(File, Option<u64>), FileError> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|info| (file, info)));
    let (file, info) = opened.map_err(|e| FileError::in_file(name, e))?;
    if info.is_dir() {
        return Err(FileError::in_file(name, "is a directory"));
    }
    Ok((file, info.is_file().then_some(info.len())))
}

/// The file that a path names: without the name of an array in it.
///
/// # Example
/// ```
/// assert_eq!(bandsolve_io::file_of("a.npz:diag".as_ref()), std::path::Path::new("a.npz"));
/// ```
pub fn file_of(path: &Path) -> PathBuf {
    split_member(path).0
}

/// Splits `file.npz:name` into file and member, unless a file of the whole name exists.
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

/// As many bytes at most come of one of a gzip file: 258 of two bits.
const DEFLATE: u64 = 1032;

/// Reads Matrix Market or .npy, plain or gzipped.
///
/// `size` is the number of bytes to come, where known; a header that promises more is not believed.
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
        [b'P', b'K', 3, 4, ..] => return Err(FileError::in_file(name, "an .npz archive must be a plain file")),
        [0x1f, 0x8b, ..] => return Err(FileError::in_file(name, "is gzipped twice: unpack it once")),
        _ => matrix_market::read(name, source, size)?,
    };
    Ok(FileContents { array, number, format: None })
}

/// The first bytes (fewer at the end of the file), and the source that goes on after them.
fn peek<R: Read>(name: &str, mut source: R) -> Result<(Vec<u8>, R), FileError> {
    let mut magic = Vec::new();
    source.by_ref().take(6).read_to_end(&mut magic).map_err(|e| FileError::in_file(name, e))?;
    Ok((magic, source))
}
