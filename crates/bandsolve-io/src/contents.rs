//! The matrices and arrays that files contain.

use crate::memory::{NoMemory, affordable, filled, grow};
use bandsolve::vectors::narrow;
use bandsolve::{Complex64, Scalar};
use bandsolve_sparse::EntryList;

/// The type of the numbers in a file, with the size of a number in bytes.
///
/// # Examples
/// ```
/// use bandsolve_io::NumberType;
/// assert_eq!(NumberType::Complex(16).name(), "c16");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// Real numbers of 4 or 8 bytes.
    Float(usize),
    /// Complex numbers of 8 or 16 bytes.
    Complex(usize),
    /// Signed integers.
    Signed(usize),
    /// Unsigned integers.
    Unsigned(usize),
}

impl NumberType {
    /// Size of one number in bytes.
    pub fn bytes(self) -> usize {
        let (NumberType::Float(b) | NumberType::Complex(b) | NumberType::Signed(b) | NumberType::Unsigned(b)) = self;
        b
    }

    /// The name in NumPy, such as `f8`.
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
    /// Compressed sparse rows.
    Csr,
    /// Compressed sparse columns.
    Csc,
    /// Block compressed sparse rows.
    Bsr,
    /// A list of coordinates and values.
    Coo,
    /// Diagonals.
    Dia,
}

impl SparseFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Csr, Self::Csc, Self::Bsr, Self::Coo, Self::Dia];

    /// The name in SciPy, such as `csr`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Bsr => "bsr",
            Self::Coo => "coo",
            Self::Dia => "dia",
        }
    }

    /// The format with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// The content of a file, and how it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct FileContents {
    /// The matrix or array, in double precision.
    pub array: FileArray,
    /// The type of the numbers in the file.
    pub number: NumberType,
    /// The sparse format, if the file is a matrix that SciPy saved.
    pub format: Option<SparseFormat>,
}

/// A list of real or complex numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers {
    /// Real parts.
    pub re: Vec<f64>,
    /// Imaginary parts; `None` if the numbers are real.
    pub im: Option<Vec<f64>>,
}

impl Numbers {
    /// An empty list.
    pub fn new(complex: bool) -> Self {
        Numbers { re: Vec::new(), im: complex.then(Vec::new) }
    }

    /// The number at index `k`.
    pub fn get(&self, k: usize) -> Complex64 {
        Complex64::new(self.re[k], self.im.as_ref().map_or(0.0, |im| im[k]))
    }

    /// Append a number. A real list ignores the imaginary part.
    pub fn push(&mut self, re: f64, im: f64) {
        self.re.push(re);
        if let Some(parts) = &mut self.im {
            parts.push(im);
        }
    }

    /// A list of `count` zeros.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn zeros(count: usize, complex: bool) -> Result<Self, NoMemory> {
        let im = complex.then(|| filled(0.0, count)).transpose()?;
        Ok(Numbers { re: filled(0.0, count)?, im })
    }

    /// Reserve memory for `more` numbers. The final length will be `total`.
    ///
    /// # Errors
    /// [`NoMemory`] if the memory does not suffice.
    pub fn grow(&mut self, more: usize, total: usize) -> Result<(), NoMemory> {
        grow(&mut self.re, more, total)?;
        self.im.as_mut().map_or(Ok(()), |im| grow(im, more, total))
    }

    /// How many elements fit the memory that is already reserved.
    pub fn room(&self) -> usize {
        let room = |part: &Vec<f64>| part.capacity() - part.len();
        self.im.as_ref().map_or(usize::MAX, room).min(room(&self.re))
    }

    /// How many numbers are not zero.
    pub fn count_nonzero(&self) -> usize {
        match &self.im {
            None => self.re.iter().filter(|re| **re != 0.0).count(),
            Some(im) => self.re.iter().zip(im).filter(|(re, im)| **re != 0.0 || **im != 0.0).count(),
        }
    }

    /// Overwrite the number at index `k`.
    pub fn set(&mut self, k: usize, value: Complex64) {
        self.re[k] = value.re;
        if let Some(parts) = &mut self.im {
            parts[k] = value.im;
        }
    }

    /// Length of the list.
    pub fn len(&self) -> usize {
        self.re.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.re.is_empty()
    }

    /// Whether the numbers are complex.
    pub fn is_complex(&self) -> bool {
        self.im.is_some()
    }
}

/// The symmetry of a matrix of which a file contains one triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// No symmetry: the file contains every entry.
    General,
    /// A = Aᵀ.
    Symmetric,
    /// A = −Aᵀ.
    Skew,
    /// A = Aᴴ.
    Hermitian,
}

impl Symmetry {
    /// The entry at (j, i) that belongs to the entry `value` at (i, j).
    pub fn mirror(self, value: Complex64) -> Complex64 {
        match self {
            Symmetry::General | Symmetry::Symmetric => value,
            Symmetry::Skew => -value,
            Symmetry::Hermitian => value.conj(),
        }
    }
}

/// A sparse matrix as a list of entries. Entries at the same place add up.
///
/// # Examples
/// ```
/// use bandsolve_io::{FileArray, Symmetry, read_stream};
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 -1\n";
/// let FileArray::Sparse(a) = read_stream("a.mtx", text.as_bytes(), None)?.array else { panic!("a dense array") };
/// assert_eq!((a.symmetry, a.rows.len()), (Symmetry::Symmetric, 2));
/// let mut entries = vec![];
/// a.for_each(|i, j, value| entries.push((i, j, value.re)));
/// assert_eq!(entries, [(0, 0, 4.0), (1, 0, -1.0), (0, 1, -1.0)]);
/// # Ok::<(), bandsolve_io::FileError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Triplets {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of columns.
    pub n_cols: usize,
    /// Row of each stored entry, counted from 0.
    pub rows: Vec<u32>,
    /// Column of each stored entry, counted from 0.
    pub cols: Vec<u32>,
    /// Value of each stored entry.
    pub values: Numbers,
    /// The symmetry that implies the entries that are not stored.
    pub symmetry: Symmetry,
    /// Whether the file contains positions without values. All values are then 1.
    pub pattern: bool,
}

/// Size of one entry of [`Triplets`] in bytes.
pub fn bytes_of_entry(complex: bool) -> usize {
    2 * size_of::<u32>() + bytes_of_number(complex)
}

/// Size of one number of [`Numbers`] in bytes.
pub fn bytes_of_number(complex: bool) -> usize {
    if complex { size_of::<Complex64>() } else { size_of::<f64>() }
}

impl Triplets {
    /// A matrix without entries.
    pub fn new(n_rows: usize, n_cols: usize, complex: bool) -> Self {
        let (rows, cols, values) = (Vec::new(), Vec::new(), Numbers::new(complex));
        Triplets { n_rows, n_cols, rows, cols, values, symmetry: Symmetry::General, pattern: false }
    }

    /// Reserve memory for `more` entries. The final number of entries will be `total`.
    ///
    /// # Errors
    /// [`NoMemory`] if the memory does not suffice.
    pub fn grow(&mut self, more: usize, total: usize) -> Result<(), NoMemory> {
        grow(&mut self.rows, more, total)?;
        grow(&mut self.cols, more, total)?;
        self.values.grow(more, total)
    }

    /// How many elements fit the memory that is already reserved.
    pub fn room(&self) -> usize {
        let room = |part: &Vec<u32>| part.capacity() - part.len();
        room(&self.rows).min(room(&self.cols)).min(self.values.room())
    }

    /// The transpose Aᵀ, or Aᴴ if `conj`.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_io::{FileArray, read_stream};
    /// let text = "%%MatrixMarket matrix coordinate complex general\n1 2 1\n1 2 4 3\n";
    /// let FileArray::Sparse(a) = read_stream("a.mtx", text.as_bytes(), None)?.array else { panic!("a dense array") };
    /// let a = a.transposed(true);
    /// assert_eq!((a.n_rows, a.rows, a.cols, a.values.im), (2, vec![1], vec![0], Some(vec![-3.0])));
    /// # Ok::<(), bandsolve_io::FileError>(())
    /// ```
    #[must_use]
    pub fn transposed(mut self, conj: bool) -> Self {
        if let Some(parts) = self.values.im.as_mut().filter(|_| conj) {
            parts.iter_mut().for_each(|part| *part = -*part);
        }
        Self { n_rows: self.n_cols, n_cols: self.n_rows, rows: self.cols, cols: self.rows, ..self }
    }

    /// Call `f(row, column, value)` for every entry, including those that the symmetry implies.
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

/// The entries, including those that the symmetry implies, rounded to the number type. For a real type, imaginary parts are lost.
impl<T: Scalar> EntryList<T> for Triplets {
    fn size(&self) -> (usize, usize) {
        (self.n_rows, self.n_cols)
    }

    fn capacity(&self) -> usize {
        2 * self.rows.len()
    }

    fn for_each(&self, mut f: impl FnMut(usize, usize, T)) {
        Self::for_each(self, |i, j, value| f(i, j, narrow(value)));
    }
}

/// A dense array of one or two dimensions in column-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseArray {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of columns; 1 for a vector.
    pub n_cols: usize,
    /// Entry (i, j) is at `i + j·n_rows`.
    pub values: Numbers,
}

impl DenseArray {
    /// Convert to row-major order. Returns the shape and the numbers.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn into_rows(self) -> Result<(Vec<usize>, Numbers), NoMemory> {
        let values = self.values.transposed(self.n_cols, self.n_rows)?;
        Ok((vec![self.n_rows, self.n_cols], values))
    }

    /// Convert to a list of the entries that are not zero.
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

/// The matrix or array in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileArray {
    /// A sparse matrix.
    Sparse(Triplets),
    /// A dense array.
    DenseArray(DenseArray),
}

impl Triplets {
    /// Convert to a dense array.
    ///
    /// # Errors
    /// A message, if the memory does not suffice, or if entries at the same place add up to infinity.
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

/// A shape in words, such as `20 × 30`.
pub fn sizes(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    sizes.join(" × ")
}
