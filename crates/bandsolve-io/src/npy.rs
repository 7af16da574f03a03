//! `.npy` files of NumPy. (`archive.rs` reads `.npz` archives.)
//!
//! # Source
//! NumPy Enhancement Proposal 1, format versions 1 to 3: magic, version, header length, a Python dict with `descr`,
//! `fortran_order` and `shape`, then the raw numbers.

use crate::contents::{DenseArray, NumberType, Numbers, bytes_of_number, sizes};
use crate::error::{FileError, Reason};
use crate::memory::{NoMemory, affordable, grow};
use std::io::{Read, Write};

/// Maximum length of a header. The headers that NumPy writes have about 120 bytes.
const MAX_HEADER: usize = 1 << 16;
/// Numbers per decoding step.
const CHUNK: usize = 1 << 13;

/// Make a token printable and short, for messages.
pub fn shorten(token: &[u8]) -> String {
    const LONGEST: usize = 40;
    let shown = token[..token.len().min(LONGEST)].utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.extend(chunk.valid().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
        if !chunk.invalid().is_empty() {
            text.push('\u{fffd}');
        }
        text
    });
    if token.len() > LONGEST { shown + "…" } else { shown }
}

/// Read an array of one or two dimensions. A vector becomes a column.
///
/// `size` is the size of the file in bytes, if it is known.
///
/// # Errors
/// [`FileError`] with the file and the reason. If the array needs more memory than is free, the error comes before the allocation.
pub fn read(name: &str, mut source: impl Read, size: Option<u64>) -> Result<(DenseArray, NumberType), FileError> {
    try_read(&mut source, size).map_err(|reason| FileError::in_file(name, reason))
}

/// The header of an array.
#[derive(Debug, Clone, PartialEq)]
struct NpyHeader {
    kind: NumberType,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl NpyHeader {
    /// Numbers of rows and columns. A vector is a column.
    fn rows_and_columns(&self) -> Result<(usize, usize), String> {
        let (n_rows, n_cols) = match self.shape[..] {
            [n] => (n, 1),
            [rows, cols] => (rows, cols),
            _ => return Err(format!("has {} dimensions, expected 1 or 2", self.shape.len())),
        };
        if n_rows > u32::MAX as usize || n_cols > u32::MAX as usize {
            return Err(format!("has the shape {n_rows} × {n_cols}, but each size must be less than 2^32"));
        }
        Ok((n_rows, n_cols))
    }
}

/// [`read`] without the name of the file.
pub(crate) fn try_read(source: &mut impl Read, size: Option<u64>) -> Result<(DenseArray, NumberType), Reason> {
    let header = read_header(source)?;
    let (n_rows, n_cols) = header.rows_and_columns()?;
    let as_is = header.fortran_order || n_cols <= 1 || n_rows == 0;
    let values = read_numbers(source, size, &header, if as_is { 1 } else { 2 })?;
    let values = if as_is { values } else { values.transposed(n_rows, n_cols)? };
    Ok((DenseArray { n_rows, n_cols, values }, header.kind))
}

/// Read an array of any number of dimensions. Returns its shape, and its numbers in row-major order.
///
/// # Errors
/// As [`read`].
pub fn read_field(name: &str, mut source: impl Read, size: Option<u64>) -> Result<(Vec<usize>, Numbers), FileError> {
    try_read_field(&mut source, size)
        .map(|(shape, values, _)| (shape, values))
        .map_err(|reason| FileError::in_file(name, reason))
}

/// [`read_field`] without the name of the file, with the type of the numbers.
pub(crate) fn try_read_field(
    source: &mut impl Read,
    size: Option<u64>,
) -> Result<(Vec<usize>, Numbers, NumberType), Reason> {
    let header = read_header(source)?;
    let turned = header.fortran_order && header.shape.iter().filter(|n| **n > 1).count() > 1;
    let mut values = read_numbers(source, size, &header, if turned { 2 } else { 1 })?;
    if turned && !values.is_empty() {
        // In column-major order the last axis comes first. Move it behind the axes before it, then do the same with the axis before it.
        for axis in (1..header.shape.len()).rev() {
            let before = header.shape[..axis].iter().product();
            let after = header.shape[axis + 1..].iter().product();
            values = values.transposed_blocks((header.shape[axis], before, after))?;
        }
    }
    Ok((header.shape, values, header.kind))
}

/// Read the text of an array with one fixed-width byte string, such as `b'csr'`.
pub(crate) fn read_text(source: &mut impl Read) -> Result<String, Reason> {
    /// Maximum length of the text.
    const MOST: u64 = 64;
    read_start(source)?;
    let mut text = Vec::new();
    source.take(MOST).read_to_end(&mut text)?;
    Ok(shorten(&text).trim_end_matches(['\0', '\u{fffd}']).to_string())
}

/// Read the numbers after a header, in the order of the file. `copies` is the number of copies that the caller needs in memory.
fn read_numbers(
    source: &mut impl Read,
    size: Option<u64>,
    header: &NpyHeader,
    copies: usize,
) -> Result<Numbers, Reason> {
    let complex = matches!(header.kind, NumberType::Complex(_));
    let bytes = header.kind.bytes();
    let shape = sizes(&header.shape);
    let count = header.shape.iter().try_fold(1_u64, |count, n| count.checked_mul(*n as u64));
    let count = count.ok_or_else(|| format!("{shape} is too large"))?;
    let most = size.map_or(u64::MAX, |size| size / bytes as u64 + 1);
    let total = usize::try_from(count.min(most)).unwrap_or(usize::MAX);
    affordable(&[total, copies], bytes_of_number(complex))
        .map_err(|why| why.after(format_args!("{shape} is too large")))?;
    let mut values = Numbers::new(complex);
    let mut chunk = vec![0; CHUNK * bytes];
    while (values.len() as u64) < count {
        let numbers = (count - values.len() as u64).min(CHUNK as u64) as usize;
        let wanted = numbers * bytes;
        read_exactly(source, &mut chunk[..wanted])
            .map_err(|why| why.before(format_args!("the header declares {count} numbers, but there are fewer")))?;
        values.grow(numbers, total)?;
        decode(&chunk[..wanted], header, &mut values)?;
    }
    if source.read(&mut [0])? != 0 {
        return Err(format!("there is more after the {count} numbers that the header declares").into());
    }
    Ok(values)
}

fn read_exactly(source: &mut impl Read, into: &mut [u8]) -> Result<(), Reason> {
    source.read_exact(into).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => "the file ends too early".into(),
        _ => e.into(),
    })
}

fn read_header(source: &mut impl Read) -> Result<NpyHeader, Reason> {
    Ok(parse_header(&read_start(source)?)?)
}

/// Read the part before the numbers. Returns the Python dict of the header as text.
fn read_start(source: &mut impl Read) -> Result<String, Reason> {
    let mut start = [0; 8];
    read_exactly(source, &mut start)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err("is not an .npy array: the first bytes must be \\x93NUMPY".into());
    }
    let mut length = [0; 4];
    match start[6] {
        1 => read_exactly(source, &mut length[..2])?,
        2 | 3 => read_exactly(source, &mut length)?,
        version => return Err(format!("has .npy format version {version}, expected 1 to 3").into()),
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(format!("has a header of {length} bytes, expected at most {MAX_HEADER}").into());
    }
    let mut text = vec![0; length];
    read_exactly(source, &mut text)?;
    String::from_utf8(text).map_err(|_| "has a header that is not valid UTF-8 text".into())
}

fn parse_header(text: &str) -> Result<NpyHeader, String> {
    let lacks = |what| format!("the header lacks a valid `{what}`: {}", shorten(text.as_bytes()));
    let descr = value_of(text, "descr").ok_or_else(|| lacks("descr"))?;
    if descr.starts_with('[') {
        return Err("contains records, expected numbers. Save one field as an array".into());
    }
    let descr = descr.get(1..).and_then(|d| d.split(['\'', '"']).next()).ok_or_else(|| lacks("descr"))?;
    let (big_endian, kind) = parse_descr(descr)?;
    let order = value_of(text, "fortran_order").ok_or_else(|| lacks("fortran_order"))?;
    let fortran_order = match order {
        o if o.starts_with("True") => true,
        o if o.starts_with("False") => false,
        _ => return Err(lacks("fortran_order")),
    };
    let shape = value_of(text, "shape").and_then(parse_shape).ok_or_else(|| lacks("shape"))?;
    Ok(NpyHeader { kind, big_endian, fortran_order, shape })
}

/// The text after `'key':` in the dict.
fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let after = ["'", "\""].iter().find_map(|q| text.split_once(&format!("{q}{key}{q}")))?.1;
    after.trim_start().strip_prefix(':').map(str::trim_start)
}

fn parse_shape(text: &str) -> Option<Vec<usize>> {
    let inside = text.strip_prefix('(')?.split_once(')')?.0.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Some(Vec::new());
    }
    inside.split(',').map(|part| part.trim().trim_end_matches('L').parse().ok()).collect()
}

fn parse_descr(descr: &str) -> Result<(bool, NumberType), String> {
    let big_endian = descr.starts_with('>');
    let kind = match descr.trim_start_matches(['<', '>', '|', '=']) {
        "f4" => NumberType::Float(4),
        "f8" => NumberType::Float(8),
        "c8" => NumberType::Complex(8),
        "c16" => NumberType::Complex(16),
        "i1" => NumberType::Signed(1),
        "i2" => NumberType::Signed(2),
        "i4" => NumberType::Signed(4),
        "i8" => NumberType::Signed(8),
        "u1" | "b1" => NumberType::Unsigned(1),
        "u2" => NumberType::Unsigned(2),
        "u4" => NumberType::Unsigned(4),
        "u8" => NumberType::Unsigned(8),
        _ => {
            let shown = shorten(descr.as_bytes());
            return Err(format!(
                "has numbers of type `{shown}`, expected f4, f8, c8, c16, or integers of at most 64 bits"
            ));
        }
    };
    Ok((big_endian, kind))
}

fn decode(bytes: &[u8], header: &NpyHeader, values: &mut Numbers) -> Result<(), String> {
    let big = header.big_endian;
    for number in bytes.chunks_exact(header.kind.bytes()) {
        let (re, im) = match header.kind {
            NumberType::Float(_) => (float(number, big), 0.0),
            NumberType::Complex(size) => (float(&number[..size / 2], big), float(&number[size / 2..], big)),
            NumberType::Unsigned(_) => (unsigned(number, big) as f64, 0.0),
            NumberType::Signed(size) => {
                let unused = 64 - 8 * size as u32;
                ((((unsigned(number, big) << unused) as i64) >> unused) as f64, 0.0)
            }
        };
        if !(re.is_finite() && im.is_finite()) {
            return Err(format!("number {} (counted from 0 in the file) is not finite", values.len()));
        }
        values.push(re, im);
    }
    Ok(())
}

/// Convert up to eight bytes to an unsigned integer.
fn unsigned(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

fn float(bytes: &[u8], big_endian: bool) -> f64 {
    let bits = unsigned(bytes, big_endian);
    if bytes.len() == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

impl Numbers {
    /// Convert from row-major to column-major order.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn transposed(&self, n_rows: usize, n_cols: usize) -> Result<Self, NoMemory> {
        self.transposed_blocks((n_rows, n_cols, 1))
    }

    /// Convert a row-major array from the shape (a, b, c) to (b, a, c).
    fn transposed_blocks(&self, (a, b, c): (usize, usize, usize)) -> Result<Self, NoMemory> {
        let turn = |part: &Vec<f64>| {
            let mut turned = Vec::new();
            grow(&mut turned, part.len(), part.len())?;
            for j in 0..b {
                (0..a).for_each(|i| turned.extend_from_slice(&part[(i * b + j) * c..][..c]));
            }
            Ok(turned)
        };
        Ok(Numbers { re: turn(&self.re)?, im: self.im.as_ref().map(turn).transpose()? })
    }
}

/// The order of the numbers in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NpyOrder {
    /// Row-major order: the last index varies fastest.
    Rows,
    /// Column-major order: the first index varies fastest.
    Columns,
}

/// Write the header of an `.npy` file. Write the numbers after it, in little-endian order.
///
/// `descr` is the number type in NumPy, such as `<f8`.
///
/// # Examples
/// ```
/// use bandsolve_io::npy::{NpyOrder, write_header};
/// let mut file = vec![];
/// write_header(&mut file, "<f8", NpyOrder::Rows, &[2])?;
/// [1.0_f64, 2.0].iter().for_each(|value| file.extend(value.to_le_bytes()));
/// assert_eq!(file.len(), 128 + 16);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of the writer.
pub fn write_header(out: &mut impl Write, descr: &str, order: NpyOrder, shape: &[usize]) -> std::io::Result<()> {
    let fortran = if order == NpyOrder::Columns { "True" } else { "False" };
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let shape = if sizes.len() == 1 { format!("({},)", sizes[0]) } else { format!("({})", sizes.join(", ")) };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    // Magic bytes, version and length take 10 bytes. The numbers must begin at a multiple of 64.
    let padding = 63 - (10 + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(text.len() as u16).to_le_bytes())?;
    out.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<DenseArray, String> {
        let read = read("f", &mut &*bytes, Some(bytes.len() as u64));
        read.map(|(array, _)| array).map_err(|error| error.to_string())
    }

    #[test]
    fn every_number_type_is_read() {
        let one = |descr: &str, data: &[u8]| parse(&file(descr, "False", "(1,)", data)).unwrap().values.get(0);
        assert_eq!(one("<f8", &(-1.5f64).to_le_bytes()).re, -1.5);
        assert_eq!(one(">f8", &(-1.5f64).to_be_bytes()).re, -1.5);
        assert_eq!(one("<f4", &(0.25f32).to_le_bytes()).re, 0.25);
        assert_eq!(one("<i2", &(-7i16).to_le_bytes()).re, -7.0);
        assert_eq!(one(">i4", &(-7i32).to_be_bytes()).re, -7.0);
        assert_eq!(one("|i1", &[0xff]).re, -1.0);
        assert_eq!(one("|u1", &[0xff]).re, 255.0);
        assert_eq!(one("<i8", &i64::MIN.to_le_bytes()).re, i64::MIN as f64);
        let complex = [1.0f32.to_le_bytes(), 2.0f32.to_le_bytes()].concat();
        assert_eq!((one("<c8", &complex).re, one("<c8", &complex).im), (1.0, 2.0));
    }

    #[test]
    fn both_orders_become_column_major() {
        let bytes = [0u8, 1, 2, 3, 4, 5];
        let c = parse(&file("|u1", "False", "(2, 3)", &bytes)).unwrap();
        assert_eq!(c.values.re, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        let f = parse(&file("|u1", "True", "(2, 3)", &bytes)).unwrap();
        assert_eq!(f.values.re, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn fields_are_read_by_rows() {
        let bytes: Vec<u8> = (0..24).collect();
        let field = |order: &str| {
            let file = file("|u1", order, "(2, 3, 4)", &bytes);
            let (shape, values) = read_field("f", &*file, None).unwrap();
            assert_eq!(shape, [2, 3, 4]);
            values.re
        };
        assert_eq!(field("False"), (0..24).map(f64::from).collect::<Vec<_>>());
        let expected =
            (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| f64::from(i + 2 * (j + 3 * k)))));
        assert_eq!(field("True"), expected.collect::<Vec<_>>());
        let (shape, values) = read_field("f", &*file("<f8", "True", "(2, 0, 3)", &[]), None).unwrap();
        assert_eq!((shape, values.len()), (vec![2, 0, 3], 0));
    }

    #[test]
    fn malformed_arrays_are_refused() {
        let good = file("|u1", "False", "(3,)", &[1, 2, 3]);
        for length in 0..good.len() {
            assert!(parse(&good[..length]).is_err(), "cut to {length}");
        }
        let reason = |bytes: &[u8]| parse(bytes).unwrap_err();
        assert!(reason(&file("|u1", "False", "(2,)", &[1, 2, 3])).contains("more after"));
        assert!(reason(&file("|u1", "False", "(4000000000, 4000000000)", &[1])).contains("ends too early"));
        assert!(reason(&file("|u1", "False", "(99999999999999999999,)", &[1])).contains("shape"));
        assert!(reason(&file("|u1", "False", "(1, 1, 1)", &[1])).contains("3 dimensions"));
        assert!(reason(&file("|u1", "False", "()", &[1])).contains("0 dimensions"));
        assert!(reason(&file("<U5", "False", "(1,)", &[1])).contains("type"));
        assert!(reason(&file("|u1", "Maybe", "(1,)", &[1])).contains("fortran_order"));
        assert!(reason(&file("<f8", "False", "(1,)", &f64::NAN.to_le_bytes())).contains("not finite"));
    }

    #[test]
    fn a_written_header_is_read_back() {
        for (n, columns) in [(0, 1), (5, 1), (5, 3), (123_456, 1)] {
            let mut bytes = Vec::new();
            write_header(&mut bytes, "<f8", NpyOrder::Columns, &[n, columns]).unwrap();
            assert_eq!(bytes.len() % 64, 0);
            let header = read_header(&mut &*bytes).unwrap();
            assert_eq!((header.rows_and_columns().unwrap(), header.fortran_order), ((n, columns), true));
        }
    }

    #[test]
    fn shown_tokens_are_printable_and_short() {
        assert_eq!(shorten(b"a\x1b[31m\xff"), "a\u{fffd}[31m\u{fffd}");
        assert!(shorten(&[b'x'; 1000]).chars().count() <= 41);
    }
}
