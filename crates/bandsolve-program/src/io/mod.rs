//! Input and output files.

pub mod output;
mod temporary;

use crate::exit::Failure;
use crate::progress;
use bandsolve_io::{FileArray, FileContents, npy, sizes};
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use crate::names::{name, short_name, shortened};
pub use bandsolve_io::{DenseArray, Numbers, Symmetry, Triplets, file_of};

fn triplets(array: FileArray, path: &Path) -> Result<Triplets, Failure> {
    match array {
        FileArray::Sparse(a) => Ok(a),
        FileArray::DenseArray(a) => a.into_triplets().map_err(|reason| Failure::in_file(&name(path), reason)),
    }
}

/// Return an error for matrices that have positions but no numbers.
fn check_numbers(a: &Triplets, path: &Path) -> Result<(), Failure> {
    let why = "a `pattern` matrix has positions, but no numbers. `bandsolve spy` can draw the positions";
    if a.pattern { Err(Failure::in_file(&name(path), why)) } else { Ok(()) }
}

/// Return an error for complex matrices.
///
/// # Errors
/// [`Failure::Input`].
pub fn check_real(a: &Triplets, path: &Path) -> Result<(), Failure> {
    match a.values.is_complex() {
        true => Err(Failure::in_file(&name(path), "the matrix is complex. This command needs a real matrix")),
        false => Ok(()),
    }
}

/// Read a square matrix.
///
/// # Errors
/// [`Failure::Input`] with file, line and reason.
pub fn read_matrix(path: &Path) -> Result<Triplets, Failure> {
    let matrix = read_positions(path)?;
    check_numbers(&matrix, path)?;
    Ok(matrix)
}

/// Read a matrix of any shape, also if the file contains only the positions of the entries.
///
/// # Errors
/// [`Failure::Input`] with file, line and reason.
pub fn read_any(path: &Path) -> Result<Triplets, Failure> {
    triplets(read(path)?, path)
}

/// Read a square matrix, also if the file contains only the positions of the entries.
///
/// # Errors
/// The errors of [`read_matrix`].
pub fn read_positions(path: &Path) -> Result<Triplets, Failure> {
    let matrix = read_any(path)?;
    let Triplets { n_rows, n_cols, .. } = matrix;
    if n_rows != n_cols {
        return Err(Failure::in_file(&name(path), format!("the matrix is {n_rows} × {n_cols}. Pass a square matrix")));
    }
    Ok(matrix)
}

/// Read a matrix whose columns are right-hand sides.
///
/// # Errors
/// The errors of [`read_matrix`].
pub fn read_columns(path: &Path) -> Result<Triplets, Failure> {
    let matrix = read_any(path)?;
    check_numbers(&matrix, path)?;
    Ok(matrix)
}

/// Read right-hand sides for `n` unknowns.
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
        let reason = format!("the right-hand side has {n_rows} rows, but the matrix has {n}. Pass one value per row");
        return Err(Failure::in_file(&name, reason));
    }
    if n_cols == 0 {
        return Err(Failure::in_file(&name, "the right-hand side has no columns. Pass at least one column"));
    }
    match array {
        FileArray::DenseArray(a) => Ok(a),
        FileArray::Sparse(a) => {
            check_numbers(&a, path)?;
            a.densify().map_err(|reason| Failure::in_file(&name, reason))
        }
    }
}

/// Read real numbers on a box of this shape, by rows. The file is an .npy array, also with one dimension for all numbers. For one or two
/// dimensions, it can be a Matrix Market array.
///
/// # Errors
/// [`Failure::Input`] with file and reason.
pub fn read_field(path: &Path, shape: &[usize]) -> Result<Vec<f64>, Failure> {
    let (shape_in_file, values) = read_reals(path)?;
    let total: usize = shape.iter().product();
    // Axes of length 1 need not appear in the shape of the array.
    let sides = |shape: &[usize]| shape.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
    if sides(&shape_in_file) != sides(shape) && shape_in_file != [total] {
        let reason = format!("the array is {}, but the problem is {}", sizes(&shape_in_file), sizes(shape));
        return Err(Failure::in_file(&name(path), reason));
    }
    Ok(values)
}

/// Read the shape of an array of real numbers, and its numbers by rows.
///
/// # Errors
/// [`Failure::Input`] with file and reason.
pub fn read_reals(path: &Path) -> Result<(Vec<usize>, Vec<f64>), Failure> {
    let name = name(path);
    let (shape, values) = match npy_field(path, &name)? {
        Some(field) => field,
        None => match read(path)? {
            FileArray::DenseArray(array) => array.into_rows().map_err(|why| Failure::in_file(&name, why))?,
            FileArray::Sparse(_) => {
                return Err(Failure::in_file(&name, "the file contains a sparse matrix. Pass an array"));
            }
        },
    };
    match values.is_complex() {
        true => Err(Failure::in_file(&name, "the array is complex. Pass real numbers")),
        false => Ok((shape, values.re)),
    }
}

/// Read the shape and the numbers of a file or of standard input. `None` if the file is not .npy.
fn npy_field(path: &Path, name: &str) -> Result<Option<(Vec<usize>, Numbers)>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(npy::read_field(name, std::io::stdin().lock(), None).map(Some)?);
    }
    Ok(bandsolve_io::read_npy_field(path, watched)?)
}

/// Add a progress line to a file.
fn watched(path: &Path, size: Option<u64>, file: File) -> impl Read + use<> {
    progress::reading(path, size).wrap_read(file)
}

/// Read any supported file, or standard input. The function detects the format from the content.
///
/// # Errors
/// [`Failure::Input`] with file, line and reason.
pub fn read(path: &Path) -> Result<FileArray, Failure> {
    let FileContents { array, .. } = match path.as_os_str() == "-" {
        true => bandsolve_io::read_stream(&name(path), std::io::stdin().lock(), None)?,
        false => bandsolve_io::read_through(path, watched)?,
    };
    Ok(array)
}
