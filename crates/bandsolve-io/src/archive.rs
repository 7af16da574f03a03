//! `.npz` archives of NumPy, with arrays or with a sparse matrix that `scipy.sparse.save_npz` wrote.
//!
//! # Source
//! `scipy/sparse/_matrix_io.py`. The members are `format`, `shape` and `data`. There are also `indptr` and `indices` (csr, csc, bsr), `row` and `col` or
//! `coords` (coo), or `offsets` (dia).

use crate::contents::{FileArray, FileContents, NumberType, Numbers, SparseFormat, Triplets, bytes_of_entry};
use crate::error::{FileError, Reason};
use crate::memory::affordable;
use crate::npy::{read_text, shorten, try_read, try_read_field};
use std::io::{Read, Seek};
use zip::ZipArchive;

/// Read the array `member` of an archive, the only array, or the sparse matrix.
///
/// # Errors
/// [`FileError`] with the file, the member and the reason.
pub fn read(file: impl Read + Seek, name: &str, member: Option<&str>) -> Result<FileContents, FileError> {
    try_read_archive(file, member).map_err(|reason| FileError::in_file(name, reason))
}

fn try_read_archive(file: impl Read + Seek, wanted: Option<&str>) -> Result<FileContents, Reason> {
    let mut archive = ZipArchive::new(file).map_err(|e| Reason::from(e).after("is not a valid .npz archive"))?;
    let names = archive.file_names().map(|n| n.map(String::from)).collect::<Result<Vec<_>, _>>()?;
    let arrays: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".npy")).collect();
    if wanted.is_none() && arrays.contains(&"format") && arrays.contains(&"data") {
        return read_sparse(&mut archive);
    }
    let member = choose_member(&arrays, wanted)?;
    let mut entry = archive.by_name(&format!("{member}.npy"))?;
    let (array, number) = try_read(&mut entry, None).map_err(|why| why.after(format_args!("{member}.npy")))?;
    Ok(FileContents { array: FileArray::DenseArray(array), number, format: None })
}

fn choose_member<'a>(arrays: &[&'a str], wanted: Option<&str>) -> Result<&'a str, String> {
    let listed = || shorten_list(arrays);
    match (wanted, arrays) {
        (_, []) => Err("the archive contains no .npy array".into()),
        (None, [only]) => Ok(only),
        (None, many) => {
            let example = many[0];
            Err(format!("contains {} arrays ({}). Name one, as in file.npz:{example}", many.len(), listed()))
        }
        (Some(wanted), all) => match all.iter().find(|a| **a == wanted) {
            Some(found) => Ok(found),
            None => Err(format!("contains no array `{wanted}`. Its arrays are: {}", listed())),
        },
    }
}

fn shorten_list(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| shorten(n.as_bytes())).collect();
    shown.join(", ") + if names.len() > 12 { ", …" } else { "" }
}

/// One member: its shape, its numbers in row-major order, and their type.
struct Member {
    name: &'static str,
    shape: Vec<usize>,
    values: Numbers,
    number: NumberType,
}

impl Member {
    fn read(archive: &mut ZipArchive<impl Read + Seek>, name: &'static str) -> Result<Self, Reason> {
        let mut entry = match archive.by_name(&format!("{name}.npy")) {
            Ok(entry) => entry,
            Err(zip::result::ZipError::FileNotFound) => return Err(format!("the archive lacks {name}.npy").into()),
            Err(error) => return Err(error.into()),
        };
        let read = try_read_field(&mut entry, None).map_err(|why| why.after(format_args!("{name}.npy")))?;
        let (shape, values, number) = read;
        Ok(Self { name, shape, values, number })
    }

    /// Number `k` as an index, which must be less than `below`.
    fn index(&self, k: usize, below: usize) -> Result<usize, String> {
        let (value, name) = (self.values.re[k], self.name);
        if value.fract() == 0.0 && value >= 0.0 && value < below as f64 && !self.values.is_complex() {
            return Ok(value as usize);
        }
        Err(format!("{name}.npy: {name}[{k}] is {value}, expected a whole number of at least 0 and less than {below}"))
    }

    /// Number `k` as an integer of either sign.
    fn offset(&self, k: usize) -> Result<i64, String> {
        let (value, name) = (self.values.re[k], self.name);
        // Larger offsets are outside of every matrix that can be read.
        if value.fract() == 0.0 && value.abs() <= f64::from(u32::MAX) && !self.values.is_complex() {
            return Ok(value as i64);
        }
        Err(format!("{name}.npy: {name}[{k}] is {value}, expected a whole number"))
    }

    fn check_shape(&self, fits: bool, expected: &str) -> Result<(), String> {
        let name = self.name;
        if fits { Ok(()) } else { Err(format!("{name}.npy has the shape {:?}, expected {expected}", self.shape)) }
    }
}

/// The matrix so far, and the member with the values.
struct ArchiveEntries {
    a: Triplets,
    data: Member,
}

impl ArchiveEntries {
    fn new(archive: &mut ZipArchive<impl Read + Seek>) -> Result<Self, Reason> {
        let shape = Member::read(archive, "shape")?;
        shape.check_shape(shape.values.len() == 2, "(2,)")?;
        let most = u32::MAX as usize + 1;
        let (n_rows, n_cols) = (shape.index(0, most)?, shape.index(1, most)?);
        let data = Member::read(archive, "data")?;
        let (count, complex) = (data.values.len(), data.values.is_complex());
        affordable(&[count], bytes_of_entry(complex))
            .map_err(|why| why.after(format_args!("{count} entries are too many")))?;
        let mut a = Triplets::new(n_rows, n_cols, complex);
        a.grow(count, count)?;
        Ok(Self { a, data })
    }

    /// Append number `k` of the data as the entry at (row, col), which must be inside the matrix.
    fn push(&mut self, row: usize, col: usize, k: usize) {
        self.a.rows.push(row as u32);
        self.a.cols.push(col as u32);
        let value = self.data.values.get(k);
        self.a.values.push(value.re, value.im);
    }
}

fn read_sparse(archive: &mut ZipArchive<impl Read + Seek>) -> Result<FileContents, Reason> {
    let format = {
        let mut entry = archive.by_name("format.npy")?;
        read_text(&mut entry).map_err(|why| why.after("format.npy"))?
    };
    let format = SparseFormat::from_name(&format)
        .ok_or_else(|| format!("format.npy is `{format}`, expected csr, csc, bsr, coo or dia"))?;
    let mut entries = ArchiveEntries::new(archive)?;
    match format {
        SparseFormat::Csr | SparseFormat::Csc | SparseFormat::Bsr => compressed(archive, &mut entries, format)?,
        SparseFormat::Coo => coordinates(archive, &mut entries)?,
        SparseFormat::Dia => diagonals(archive, &mut entries)?,
    }
    let ArchiveEntries { a, data } = entries;
    Ok(FileContents { array: FileArray::Sparse(a), number: data.number, format: Some(format) })
}

/// Read the formats csr, csc and bsr.
fn compressed(
    archive: &mut ZipArchive<impl Read + Seek>,
    entries: &mut ArchiveEntries,
    format: SparseFormat,
) -> Result<(), Reason> {
    let (pointers, indices) = (Member::read(archive, "indptr")?, Member::read(archive, "indices")?);
    let (n_rows, n_cols) = (entries.a.n_rows, entries.a.n_cols);
    let [block_rows, block_cols] = match (format, &entries.data.shape[..]) {
        (SparseFormat::Bsr, [_, rows, cols]) => [*rows, *cols],
        (SparseFormat::Csr | SparseFormat::Csc, [_]) => [1, 1],
        _ => [0, 0],
    };
    let whole =
        block_rows > 0 && block_cols > 0 && n_rows.is_multiple_of(block_rows) && n_cols.is_multiple_of(block_cols);
    let expected = "(entries,), or for bsr (blocks, rows, columns), where the block size divides the matrix size";
    entries.data.check_shape(whole, expected)?;
    let (outer, inner) = match format {
        SparseFormat::Csc => (n_cols, n_rows),
        _ => (n_rows / block_rows, n_cols / block_cols),
    };
    pointers.check_shape(pointers.values.len() == outer + 1, &format!("({},)", outer + 1))?;
    let stored = (entries.data.values.len() / (block_rows * block_cols)).min(indices.values.len());
    let mut from = pointers.index(0, 1)?;
    for i in 0..outer {
        let to = pointers.index(i + 1, stored + 1)?;
        if to < from {
            return Err(format!("indptr.npy: indptr[{}] is {to}, less than indptr[{i}], which is {from}", i + 1).into());
        }
        for k in from..to {
            let j = indices.index(k, inner)?;
            for (r, c) in (0..block_rows).flat_map(|r| (0..block_cols).map(move |c| (r, c))) {
                let (row, col) =
                    if format == SparseFormat::Csc { (j, i) } else { (i * block_rows + r, j * block_cols + c) };
                entries.push(row, col, (k * block_rows + r) * block_cols + c);
            }
        }
        from = to;
    }
    Ok(())
}

/// Read the format coo.
fn coordinates(archive: &mut ZipArchive<impl Read + Seek>, entries: &mut ArchiveEntries) -> Result<(), Reason> {
    let count = entries.data.values.len();
    let (n_rows, n_cols) = (entries.a.n_rows, entries.a.n_cols);
    entries.data.check_shape(entries.data.shape.len() == 1, "(entries,)")?;
    // SciPy writes two members, or one member with two rows.
    let (rows, cols, behind) = if archive.index_for_name("coords.npy").is_some() {
        let coords = Member::read(archive, "coords")?;
        coords.check_shape(coords.shape == [2, count], &format!("(2, {count})"))?;
        (coords, None, count)
    } else {
        let (rows, cols) = (Member::read(archive, "row")?, Member::read(archive, "col")?);
        rows.check_shape(rows.values.len() == count, &format!("({count},) as data.npy"))?;
        cols.check_shape(cols.values.len() == count, &format!("({count},) as data.npy"))?;
        (rows, Some(cols), 0)
    };
    for k in 0..count {
        let (row, col) = (rows.index(k, n_rows)?, cols.as_ref().unwrap_or(&rows).index(behind + k, n_cols)?);
        entries.push(row, col, k);
    }
    Ok(())
}

/// Read the format dia: one row of `data` per diagonal, with each entry in its own column. Skips zeros, and places outside the matrix.
fn diagonals(archive: &mut ZipArchive<impl Read + Seek>, entries: &mut ArchiveEntries) -> Result<(), Reason> {
    let offsets = Member::read(archive, "offsets")?;
    let count = offsets.values.len();
    let length = match entries.data.shape[..] {
        [rows, length] if rows == count => length,
        _ => {
            let expected = format!("({count}, length), with one row for each of the {count} offsets");
            entries.data.check_shape(false, &expected)?;
            0
        }
    };
    let (n_rows, n_cols) = (entries.a.n_rows as i64, entries.a.n_cols);
    for d in 0..count {
        let offset = offsets.offset(d)?;
        for j in 0..length.min(n_cols) {
            let row = j as i64 - offset;
            if (0..n_rows).contains(&row) && entries.data.values.get(d * length + j) != bandsolve::Complex64::ZERO {
                entries.push(row as usize, j, d * length + j);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of little-endian numbers.
    fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), bytes].concat()
    }

    fn floats(shape: &str, values: &[f64]) -> Vec<u8> {
        npy("<f8", shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
    }

    fn integers(values: &[i32]) -> Vec<u8> {
        npy("<i4", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
    }

    /// The entries of an archive with this format, the shape 2 × 3 and these members.
    fn sparse(format: &str, members: &[(&str, Vec<u8>)]) -> Result<Vec<(usize, usize, f64)>, String> {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let shape = ("shape", npy("<i8", "(2,)", &[2_i64.to_le_bytes(), 3_i64.to_le_bytes()].concat()));
        let format = ("format", npy(&format!("|S{}", format.len()), "()", format.as_bytes()));
        for (name, bytes) in [shape, format].iter().chain(members) {
            archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut archive, bytes).unwrap();
        }
        let bytes = archive.finish().unwrap();
        let contents = read(bytes, "a.npz", None).map_err(|error| error.to_string())?;
        let FileArray::Sparse(a) = contents.array else { panic!("a dense array") };
        let mut entries = Vec::new();
        a.for_each(|i, j, value| entries.push((i, j, value.re)));
        Ok(entries)
    }

    /// [1 0 2; 0 3 0] in every format of SciPy.
    #[test]
    fn sparse_matrices_of_every_format_are_read() {
        let data = || ("data", floats("(3,)", &[1.0, 2.0, 3.0]));
        let expected = [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)];
        let sorted = |mut entries: Vec<(usize, usize, f64)>| {
            entries.sort_by(|a, b| a.partial_cmp(b).unwrap());
            entries.retain(|entry| entry.2 != 0.0);
            entries
        };
        let read = |format: &str, members: &[_]| sorted(sparse(format, members).unwrap());
        assert_eq!(
            read("csr", &[("indptr", integers(&[0, 2, 3])), ("indices", integers(&[0, 2, 1])), data()]),
            expected
        );
        assert_eq!(read("coo", &[("row", integers(&[0, 0, 1])), ("col", integers(&[0, 2, 1])), data()]), expected);
        let coords = [0, 0, 1, 0, 2, 1].iter().flat_map(|v: &i32| v.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(read("coo", &[("coords", npy("<i4", "(2, 3)", &coords)), data()]), expected);
        let columns = ("data", floats("(3,)", &[1.0, 3.0, 2.0]));
        let members = [("indptr", integers(&[0, 1, 2, 3])), ("indices", integers(&[0, 1, 0])), columns];
        assert_eq!(read("csc", &members), expected);
        let blocks = ("data", floats("(3, 2, 1)", &[1.0, 0.0, 0.0, 3.0, 2.0, 0.0]));
        let members = [("indptr", integers(&[0, 3])), ("indices", integers(&[0, 1, 2])), blocks];
        assert_eq!(read("bsr", &members), expected);
        // Each entry is in its own column; 9 and 8 are outside the matrix.
        let rows = ("data", floats("(2, 3)", &[1.0, 3.0, 9.0, 8.0, 0.0, 2.0]));
        assert_eq!(read("dia", &[("offsets", integers(&[0, 2])), rows]), expected);
    }

    #[test]
    fn malformed_sparse_matrices_are_refused() {
        let data = |count: usize| ("data", floats(&format!("({count},)"), &vec![1.0; count]));
        let csr = |pointers: &[i32], indices: &[i32], count: usize| {
            let members = [("indptr", integers(pointers)), ("indices", integers(indices)), data(count)];
            sparse("csr", &members).unwrap_err()
        };
        assert!(csr(&[0, 2], &[0, 1, 2], 3).contains("indptr.npy has the shape [2], expected (3,)"));
        assert!(csr(&[0, 2, 1], &[0, 1, 2], 3).contains("indptr[2] is 1, less than indptr[1], which is 2"));
        assert!(
            csr(&[0, 2, 4], &[0, 1, 2], 3)
                .contains("indptr[2] is 4, expected a whole number of at least 0 and less than 4")
        );
        assert!(csr(&[1, 2, 3], &[0, 1, 2], 3).contains("indptr[0] is 1"));
        assert!(
            csr(&[0, 2, 3], &[0, 3, 2], 3)
                .contains("indices[1] is 3, expected a whole number of at least 0 and less than 3")
        );
        assert!(csr(&[0, 2, 3], &[0, -1, 2], 3).contains("indices[1] is -1"));
        assert!(csr(&[0, 2, 3], &[0, 1], 3).contains("indptr[2] is 3"));
        assert!(sparse("csr", &[data(3)]).unwrap_err().contains("the archive lacks indptr.npy"));
        assert!(sparse("lil", &[data(3)]).unwrap_err().contains("format.npy is `lil`, expected csr"));
        assert!(sparse("dia", &[("offsets", integers(&[0])), data(3)]).unwrap_err().contains("one row for each"));
        let nan = ("data", floats("(1,)", &[f64::NAN]));
        let members = [("row", integers(&[0])), ("col", integers(&[0])), nan];
        assert!(
            sparse("coo", &members)
                .unwrap_err()
                .contains("data.npy: number 0 (counted from 0 in the file) is not finite")
        );
        let spare = [("indptr", integers(&[0, 1, 1])), ("indices", integers(&[2, 9])), data(2)];
        assert_eq!(sparse("csr", &spare).unwrap(), [(0, 2, 1.0)], "spare capacity is not read");
    }

    #[test]
    fn the_only_member_or_the_named_one_is_taken() {
        assert_eq!(choose_member(&["a"], None).unwrap(), "a");
        assert_eq!(choose_member(&["a", "b"], Some("b")).unwrap(), "b");
        assert!(choose_member(&["a", "b"], None).unwrap_err().contains("file.npz:a"));
        assert!(choose_member(&["a"], Some("c")).unwrap_err().contains("no array `c`"));
        assert!(choose_member(&[], None).is_err());
    }
}
