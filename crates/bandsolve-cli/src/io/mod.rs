//! Files: what they hold, how they are opened, how they are written.

pub mod matrix_market;
pub mod npy;
pub mod output;
mod temporary;

use crate::exit::Failure;
use crate::memory::{affordable, filled, grow};
use crate::progress;
use crate::report;
use bandsolve::Complex64;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

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
    /// If there is no memory for them, in words.
    pub fn zeros(count: usize, complex: bool) -> Result<Self, String> {
        let im = complex.then(|| filled(0.0, count)).transpose()?;
        Ok(Numbers { re: filled(0.0, count)?, im })
    }

    /// Room for `more` numbers, of `total` in the end.
    ///
    /// # Errors
    /// If there is no memory for them, in words.
    pub fn grow(&mut self, more: usize, total: usize) -> Result<(), String> {
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

impl FileArray {
    fn into_triplets(self, path: &Path) -> Result<Triplets, Failure> {
        match self {
            FileArray::Sparse(a) => Ok(a),
            FileArray::DenseArray(a) => a.into_triplets().map_err(|reason| Failure::in_file(&name(path), reason)),
        }
    }
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
    /// If there is no memory for them, in words.
    pub fn grow(&mut self, more: usize, total: usize) -> Result<(), String> {
        grow(&mut self.rows, more, total)?;
        grow(&mut self.cols, more, total)?;
        self.values.grow(more, total)
    }

    /// How many can be added before there must be more room.
    pub fn room(&self) -> usize {
        let room = |part: &Vec<u32>| part.capacity() - part.len();
        room(&self.rows).min(room(&self.cols)).min(self.values.room())
    }

    /// Refuses positions without numbers.
    fn check_numbers(&self, path: &Path) -> Result<(), Failure> {
        let why = "a `pattern` matrix has no numbers, only positions, which `bandsolve spy` shows";
        if self.pattern { Err(Failure::in_file(&name(path), why)) } else { Ok(()) }
    }

    /// Refuses complex numbers, where only real ones are of use.
    ///
    /// # Errors
    /// [`Failure::Input`].
    pub fn check_real(&self, path: &Path) -> Result<(), Failure> {
        match self.values.is_complex() {
            true => Err(Failure::in_file(&name(path), "the matrix is complex; real ones are measured here")),
            false => Ok(()),
        }
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
    fn into_rows(self) -> Result<(Vec<usize>, Numbers), String> {
        let values = self.values.transposed(self.n_cols, self.n_rows)?;
        Ok((vec![self.n_rows, self.n_cols], values))
    }

    /// The entries that are not zero.
    fn into_triplets(self) -> Result<Triplets, String> {
        let complex = self.values.is_complex();
        let count = self.values.count_nonzero();
        affordable(&[count], bytes_of_entry(complex)).map_err(|why| format!("{count} entries are too many: {why}"))?;
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

/// What to call an input in messages and reports.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() }
}

/// The same for pictures and progress: no longer than 64 characters, the middle gives way, and none that is not for eyes.
pub fn short_name(path: &Path) -> String {
    const MOST: usize = 64;
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let letters: Vec<char> = name(path).chars().map(shown).collect();
    if letters.len() <= MOST {
        return letters.into_iter().collect();
    }
    let (head, tail) = (&letters[..MOST / 2 - 1], &letters[letters.len() - MOST / 2..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// Reads a square matrix.
///
/// # Errors
/// [`Failure::Input`] with file, line and reason.
pub fn read_matrix(path: &Path) -> Result<Triplets, Failure> {
    let matrix = read_positions(path)?;
    matrix.check_numbers(path)?;
    Ok(matrix)
}

/// Reads a square matrix, or the positions of its entries where the file has no more.
///
/// # Errors
/// As [`read_matrix`].
pub fn read_positions(path: &Path) -> Result<Triplets, Failure> {
    let matrix = read(path)?.into_triplets(path)?;
    let Triplets { n_rows, n_cols, .. } = matrix;
    if n_rows != n_cols {
        return Err(Failure::in_file(&name(path), format!("the matrix is {n_rows} × {n_cols}, not square")));
    }
    Ok(matrix)
}

/// Reads a matrix whose columns are right-hand sides.
///
/// # Errors
/// As [`read_matrix`].
pub fn read_columns(path: &Path) -> Result<Triplets, Failure> {
    let matrix = read(path)?.into_triplets(path)?;
    matrix.check_numbers(path)?;
    Ok(matrix)
}

/// Reads right-hand sides for `n` unknowns.
///
/// # Errors
/// [`Failure::Input`] with file, line and reason.
pub fn read_rhs(path: &Path, n: usize) -> Result<DenseArray, Failure> {
    let name = name(path);
    let array = read(path)?;
    let (n_rows, n_cols) = match &array {
        FileArray::Sparse(a) => (a.n_rows, a.n_cols),
        FileArray::DenseArray(a) => (a.n_rows, a.n_cols),
    };
    if n_rows != n {
        let reason = format!("the right-hand side has {n_rows} rows, the matrix has {n}");
        return Err(Failure::in_file(&name, reason));
    }
    if n_cols == 0 {
        return Err(Failure::in_file(&name, "the right-hand side has no columns"));
    }
    match array {
        FileArray::DenseArray(a) => Ok(a),
        FileArray::Sparse(a) => {
            a.check_numbers(path)?;
            densify(&a).map_err(|reason| Failure::in_file(&name, reason))
        }
    }
}

/// Reads real numbers on a box of this shape, by rows: an .npy array of the shape, or of all numbers in one row; a Matrix Market array for one
/// or two dimensions.
///
/// # Errors
/// [`Failure::Input`] with file and reason.
pub fn read_field(path: &Path, shape: &[usize]) -> Result<Vec<f64>, Failure> {
    let (own, values) = read_reals(path)?;
    let total: usize = shape.iter().product();
    // Sides of one unknown may be left out.
    let sides = |shape: &[usize]| shape.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
    if sides(&own) != sides(shape) && own != [total] {
        let reason = format!("the array is {}, the problem {}", report::sizes(&own), report::sizes(shape));
        return Err(Failure::in_file(&name(path), reason));
    }
    Ok(values)
}

/// The shape of an array of real numbers, and its numbers by rows.
///
/// # Errors
/// [`Failure::Input`] with file and reason.
pub fn read_reals(path: &Path) -> Result<(Vec<usize>, Vec<f64>), Failure> {
    let name = name(path);
    let (own, values) = match npy_field(path, &name)? {
        Some(field) => field,
        None => match read(path)? {
            FileArray::DenseArray(array) => array.into_rows().map_err(|why| Failure::in_file(&name, why))?,
            FileArray::Sparse(_) => return Err(Failure::in_file(&name, "holds a sparse matrix, not an array")),
        },
    };
    match values.is_complex() {
        true => Err(Failure::in_file(&name, "is complex; the problem is real")),
        false => Ok((own, values.re)),
    }
}

/// The shape and the numbers of a file or of standard input, if it is .npy.
fn npy_field(path: &Path, name: &str) -> Result<Option<(Vec<usize>, Numbers)>, Failure> {
    if path.as_os_str() == "-" {
        return npy::read_field(name, std::io::stdin().lock(), None).map(Some);
    }
    let Ok(file) = File::open(path) else { return Ok(None) };
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|info| info.len());
    let (magic, rest) = peek(name, progress::reading(path, size).wrap_read(file))?;
    if !magic.starts_with(&[0x93, b'N']) {
        return Ok(None);
    }
    npy::read_field(name, Cursor::new(magic).chain(rest), size).map(Some)
}

/// All entries of a sparse right-hand side, whose row number is known to be sound.
fn densify(a: &Triplets) -> Result<DenseArray, String> {
    let count = affordable(&[a.n_rows, a.n_cols], size_of::<Complex64>())
        .map_err(|why| format!("{} rows and {} columns are too large: {why}", a.n_rows, a.n_cols))?;
    let mut values = Numbers::zeros(count, a.values.is_complex())?;
    let mut overflow = None;
    a.for_each(|i, j, value| {
        let at = i + j * a.n_rows;
        let sum = values.get(at) + value;
        if !(sum.re.is_finite() && sum.im.is_finite()) {
            overflow = Some(format!("the entries at row {}, column {} add up to infinity", i + 1, j + 1));
        }
        values.set(at, sum);
    });
    overflow.map_or(Ok(DenseArray { n_rows: a.n_rows, n_cols: a.n_cols, values }), Err)
}

/// Reads any supported file; the content decides which.
///
/// # Errors
/// [`Failure::Input`] with file, line and reason.
pub fn read(path: &Path) -> Result<FileArray, Failure> {
    let name = name(path);
    if path.as_os_str() == "-" {
        return read_stream(&name, std::io::stdin().lock(), None);
    }
    let (path, member) = split_member(path);
    let file = File::open(&path).map_err(|e| Failure::in_file(&name, e))?;
    let info = file.metadata().map_err(|e| Failure::in_file(&name, e))?;
    if info.is_dir() {
        return Err(Failure::in_file(&name, "is a directory"));
    }
    let size = info.is_file().then_some(info.len());
    if starts_with_zip(&path) || member.is_some() {
        return npy::read_zip(file, &name, member.as_deref());
    }
    read_stream(&name, progress::reading(&path, size).wrap_read(file), size)
}

/// The file that an input is read from: without the name of an array in it.
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
pub fn read_stream(name: &str, source: impl Read, size: Option<u64>) -> Result<FileArray, Failure> {
    let (magic, rest) = peek(name, source)?;
    let source = Cursor::new(magic.clone()).chain(rest);
    if !magic.starts_with(&[0x1f, 0x8b]) {
        return read_plain(name, &magic, source, size);
    }
    let unpacked = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, source));
    let (magic, rest) = peek(name, unpacked)?;
    read_plain(name, &magic.clone(), Cursor::new(magic).chain(rest), size.map(|size| size.saturating_mul(DEFLATE)))
}

fn read_plain(name: &str, magic: &[u8], source: impl Read, size: Option<u64>) -> Result<FileArray, Failure> {
    match magic {
        [] => Err(Failure::in_file(name, "is empty")),
        [0x93, b'N', ..] => Ok(FileArray::DenseArray(npy::read(name, source, size)?)),
        [b'P', b'K', 3, 4, ..] => Err(Failure::in_file(name, "an .npz archive must be a plain file")),
        [0x1f, 0x8b, ..] => Err(Failure::in_file(name, "is gzipped twice: unpack it once")),
        _ => matrix_market::read(name, source, size),
    }
}

/// The first bytes (fewer at the end of the file), and the source that goes on after them.
fn peek<R: Read>(name: &str, mut source: R) -> Result<(Vec<u8>, R), Failure> {
    let mut magic = Vec::new();
    source.by_ref().take(6).read_to_end(&mut magic).map_err(|e| Failure::in_file(name, e))?;
    Ok((magic, source))
}
