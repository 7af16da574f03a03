//! Matrix Market files, read line by line out of one buffer.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general      banner: format, field, symmetry
//! % a comment
//! 5 5 8                                              rows, columns, entries
//! 1 1 1.0                                            row, column (from 1), value
//! ```
//!
//! # Source
//! Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935 (1996). The reader also accepts comments and blank lines anywhere
//! after the banner, CRLF, the exponent `D` of Fortran, `unsigned-integer`, and the upper triangle of symmetric matrices instead of the lower one.

use crate::contents::{
    DenseArray, FileArray, NumberType, Numbers, Symmetry, Triplets, bytes_of_entry, bytes_of_number,
};
use crate::error::{FileError, Reason};
use crate::memory::affordable;
use crate::npy::shorten;
use std::io::Read;

/// Size of the buffer, which is the maximum length of a line.
const BUFFER: usize = 1 << 20;
/// Number of entries in the first allocation.
const FIRST: usize = 1 << 16;

/// Bytes of the shortest line of an entry: `1 1` of a pattern.
const SHORTEST_ENTRY: u64 = 4;
/// Bytes of the shortest line of a number.
const SHORTEST_NUMBER: u64 = 2;

/// Read a Matrix Market file. `size` is the size of the file in bytes, if it is known.
///
/// # Cost
/// One pass. 16 bytes of memory per entry, 24 if the matrix is complex.
///
/// # Errors
/// [`FileError`] with the file, the line and the reason. If the matrix needs more memory than is free, the error comes before the allocation.
pub fn read(name: &str, source: impl Read, size: Option<u64>) -> Result<(FileArray, NumberType), FileError> {
    let mut lines = Lines::new(name, source);
    let banner = read_banner(&mut lines)?;
    let header = read_sizes(&mut lines, banner)?;
    let array = if banner.coordinate {
        FileArray::Sparse(read_coordinate(&mut lines, header, size)?)
    } else {
        FileArray::DenseArray(read_array(&mut lines, header, size)?)
    };
    Ok((array, banner.field.number_type()))
}

/// The lines of a source, in one buffer.
struct Lines<'n, R> {
    name: &'n str,
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    line: u64,
}

impl<'n, R: Read> Lines<'n, R> {
    fn new(name: &'n str, source: R) -> Self {
        Lines { name, source, buffer: vec![0; BUFFER], start: 0, end: 0, at_end: false, line: 0 }
    }

    /// Range in the buffer of the next line that is neither blank nor a comment; `None` at the end.
    fn next_content(&mut self) -> Result<Option<(usize, usize)>, FileError> {
        while let Some((start, end)) = self.next_raw()? {
            let line = &self.buffer[start..end];
            let blank = line.iter().position(|b| !is_space(*b));
            match blank {
                Some(k) if line[k] != b'%' => return Ok(Some((start + k, end))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Range in the buffer of the next line, without its end; `None` at the end.
    fn next_raw(&mut self) -> Result<Option<(usize, usize)>, FileError> {
        loop {
            let held = &self.buffer[self.start..self.end];
            if let Some(length) = memchr::memchr(b'\n', held) {
                let start = self.start;
                self.start += length + 1;
                self.line += 1;
                return Ok(Some((start, start + length)));
            }
            if self.at_end {
                let (start, end) = (self.start, self.end);
                self.start = end;
                self.line += u64::from(start < end);
                return Ok((start < end).then_some((start, end)));
            }
            self.refill()?;
        }
    }

    /// Move the unfinished line to the front of the buffer, and read on after it.
    #[cold]
    fn refill(&mut self) -> Result<(), FileError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == BUFFER {
            self.line += 1;
            return Err(self.fail(format!("the line is longer than {BUFFER} bytes")));
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(count) => self.end += count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    let why = Reason::from(e).after("the file could not be read further");
                    return Err(FileError::at_line(self.name, self.line + 1, why));
                }
            }
            return Ok(());
        }
    }

    #[cold]
    fn fail(&self, reason: impl Into<Reason>) -> FileError {
        FileError::at_line(self.name, self.line.max(1), reason)
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Remove the next token from the front of a line. Empty at the end of the line.
#[inline]
fn token<'a>(line: &mut &'a [u8]) -> &'a [u8] {
    let start = line.iter().position(|b| !is_space(*b)).unwrap_or(line.len());
    let rest = &line[start..];
    let length = rest.iter().position(|b| is_space(*b)).unwrap_or(rest.len());
    let (token, rest) = rest.split_at(length);
    *line = rest;
    token
}

/// The type of the numbers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    Complex,
    /// Positions without numbers.
    Pattern,
}

impl Field {
    fn number_type(self) -> NumberType {
        match self {
            Field::Real | Field::Pattern => NumberType::Float(8),
            Field::Integer => NumberType::Signed(8),
            Field::Complex => NumberType::Complex(16),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Banner {
    coordinate: bool,
    field: Field,
    symmetry: Symmetry,
}

#[derive(Debug, Clone, Copy)]
struct MarketHeader {
    banner: Banner,
    n_rows: usize,
    n_cols: usize,
    /// Number of entries in the file.
    entries: u64,
}

fn read_banner<R: Read>(lines: &mut Lines<'_, R>) -> Result<Banner, FileError> {
    let Some((start, end)) = lines.next_raw()? else {
        return Err(lines.fail("is empty"));
    };
    let line = &lines.buffer[start..end];
    parse_banner(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)).map_err(|reason| lines.fail(reason))
}

fn parse_banner(mut line: &[u8]) -> Result<Banner, String> {
    let mut word = || token(&mut line).to_ascii_lowercase();
    let (magic, object, format, field, symmetry) = (word(), word(), word(), word(), word());
    let excess = word();
    let unknown = |what: &str, got: &[u8], known: &str| {
        Err(format!("{what} `{}` in the first line, expected {known}", shorten(got)))
    };
    if magic != b"%%matrixmarket" {
        return Err("is no Matrix Market file: the first line must begin with %%MatrixMarket".into());
    }
    if object != b"matrix" {
        return unknown("object", &object, "`matrix`");
    }
    let coordinate = match &format[..] {
        b"coordinate" => true,
        b"array" => false,
        _ => return unknown("format", &format, "`coordinate` or `array`"),
    };
    let field = match &field[..] {
        b"real" | b"double" => Field::Real,
        b"integer" | b"unsigned-integer" => Field::Integer,
        b"complex" => Field::Complex,
        b"pattern" if coordinate => Field::Pattern,
        _ => return unknown("field", &field, "`real`, `integer` or `complex`"),
    };
    let symmetry = match &symmetry[..] {
        b"general" => Symmetry::General,
        b"symmetric" => Symmetry::Symmetric,
        b"skew-symmetric" => Symmetry::Skew,
        b"hermitian" if field == Field::Complex => Symmetry::Hermitian,
        b"hermitian" => return Err("`hermitian` needs the field `complex`. Write `symmetric` for a real matrix".into()),
        _ => return unknown("symmetry", &symmetry, "`general`, `symmetric`, `skew-symmetric` or `hermitian`"),
    };
    if excess.is_empty() {
        Ok(Banner { coordinate, field, symmetry })
    } else {
        Err("too many words in the first line, expected: %%MatrixMarket matrix FORMAT FIELD SYMMETRY".into())
    }
}

fn read_sizes<R: Read>(lines: &mut Lines<'_, R>, banner: Banner) -> Result<MarketHeader, FileError> {
    let Some((start, end)) = lines.next_content()? else {
        return Err(lines.fail("the file ends before the line with the sizes"));
    };
    parse_sizes(&lines.buffer[start..end], banner).map_err(|reason| lines.fail(reason))
}

fn parse_sizes(mut line: &[u8], banner: Banner) -> Result<MarketHeader, String> {
    let names: &[&str] = if banner.coordinate { &["rows", "columns", "entries"] } else { &["rows", "columns"] };
    let mut sizes = [0; 3];
    for (size, name) in sizes.iter_mut().zip(names) {
        *size = parse_size(token(&mut line), name)?;
    }
    if !token(&mut line).is_empty() {
        return Err(format!("the size line must have {} numbers: {}", names.len(), names.join(", ")));
    }
    let [n_rows, n_cols, stored] = sizes;
    for (size, name) in [(n_rows, "rows"), (n_cols, "columns")] {
        if size > u64::from(u32::MAX) {
            return Err(format!("{size} {name} are more than the maximum, {}", u32::MAX));
        }
    }
    if banner.symmetry != Symmetry::General && n_rows != n_cols {
        return Err(format!(
            "the first line names a symmetry, but the matrix is not square: {n_rows} × {n_cols}. Write `general`"
        ));
    }
    // Below 2^64, because both sizes are below 2^32.
    let entries = match (banner.coordinate, banner.symmetry) {
        (true, _) => stored,
        (false, Symmetry::General) => n_rows * n_cols,
        (false, Symmetry::Skew) => n_rows * n_rows.saturating_sub(1) / 2,
        (false, _) => n_rows * (n_rows + 1) / 2,
    };
    Ok(MarketHeader { banner, n_rows: n_rows as usize, n_cols: n_cols as usize, entries })
}

fn parse_size(token: &[u8], name: &str) -> Result<u64, String> {
    if token.is_empty() {
        return Err(format!("the size line lacks the number of {name}"));
    }
    match digits(token) {
        Digits::Number(number) => Ok(number),
        Digits::Overflow => Err(format!("{} {name} are too many", shorten(token))),
        Digits::Other => Err(format!("`{}` is not a number of {name}", shorten(token))),
    }
}

enum Digits {
    Number(u64),
    Overflow,
    Other,
}

/// Parse a whole number without a sign.
#[inline]
fn digits(token: &[u8]) -> Digits {
    let mut number = 0_u64;
    let mut overflow = false;
    for byte in token {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Digits::Other;
        }
        let (tens, a) = number.overflowing_mul(10);
        let (sum, b) = tens.overflowing_add(u64::from(digit));
        number = sum;
        overflow |= a | b;
    }
    match (token.is_empty(), overflow) {
        (true, _) => Digits::Other,
        (_, true) => Digits::Overflow,
        _ => Digits::Number(number),
    }
}

/// The number of entries in the header, but at most as many as fit the file at `bytes` bytes each.
fn expected(header: MarketHeader, size: Option<u64>, bytes: u64) -> usize {
    let most = size.map_or(u64::MAX, |size| size / bytes + 1);
    usize::try_from(header.entries.min(most)).unwrap_or(usize::MAX)
}

fn read_coordinate<R: Read>(
    lines: &mut Lines<'_, R>,
    header: MarketHeader,
    size: Option<u64>,
) -> Result<Triplets, FileError> {
    let MarketHeader { banner, n_rows, n_cols, entries } = header;
    let complex = banner.field == Field::Complex;
    let total = expected(header, size, SHORTEST_ENTRY);
    affordable(&[total], bytes_of_entry(complex))
        .map_err(|why| lines.fail(why.after(format_args!("{entries} entries are too many"))))?;
    let mut a = Triplets::new(n_rows, n_cols, complex);
    let mut triangle = StoredTriangle::default();
    let mut room = 0;
    while let Some((start, end)) = lines.next_content()? {
        if a.rows.len() as u64 == entries {
            return Err(lines.fail(format!("the header declares {entries} entries, but this line is one more")));
        }
        if room == 0 {
            a.grow(FIRST.min(total), total).map_err(|why| lines.fail(why))?;
            room = a.room();
        }
        room -= 1;
        let parsed = parse_entry(&lines.buffer[start..end], header)
            .and_then(|entry| triangle.check(banner.symmetry, entry, lines.line).map(|()| entry));
        let entry = parsed.map_err(|reason| lines.fail(reason))?;
        a.rows.push(entry.row);
        a.cols.push(entry.col);
        a.values.push(entry.re, entry.im);
    }
    check_complete(lines, a.rows.len() as u64, entries)?;
    Ok(Triplets { symmetry: banner.symmetry, pattern: banner.field == Field::Pattern, ..a })
}

fn check_complete<R: Read>(lines: &Lines<'_, R>, found: u64, promised: u64) -> Result<(), FileError> {
    if found == promised {
        return Ok(());
    }
    Err(lines.fail(format!("the file ends after {found} of the {promised} entries that its header declares")))
}

/// One line of a coordinate file. Indices count from 0.
#[derive(Debug, Clone, Copy)]
struct Entry {
    row: u32,
    col: u32,
    re: f64,
    im: f64,
}

#[inline]
fn parse_entry(line: &[u8], header: MarketHeader) -> Result<Entry, String> {
    quick_entry(line, header).map_or_else(|| careful_entry(line, header), Ok)
}

/// Parse an ordinary line of a real matrix in one pass over its bytes. [`careful_entry`] parses all other lines.
#[inline]
fn quick_entry(mut line: &[u8], header: MarketHeader) -> Option<Entry> {
    let row = quick_index(&mut line, header.n_rows)?;
    let col = quick_index(&mut line, header.n_cols)?;
    let (re, length) = fast_float2::parse_partial::<f64, _>(line).ok()?;
    let ordinary = header.banner.field == Field::Real && re.is_finite() && line[length..].iter().all(|b| is_space(*b));
    ordinary.then_some(Entry { row, col, re, im: 0.0 })
}

/// Remove an index (at most ten digits, from 1 to n) and one separator from the front of a line. Returns the index counted from 0.
#[inline]
fn quick_index(line: &mut &[u8], n: usize) -> Option<u32> {
    let (mut number, mut length) = (0_u64, 0);
    while let Some(digit) = line.get(length).map(|b| b.wrapping_sub(b'0')).filter(|d| *d <= 9 && length < 10) {
        number = 10 * number + u64::from(digit);
        length += 1;
    }
    if !is_space(*line.get(length)?) || number == 0 || number > n as u64 {
        return None;
    }
    *line = &line[length + 1..];
    Some((number - 1) as u32)
}

#[inline(never)]
fn careful_entry(line: &[u8], header: MarketHeader) -> Result<Entry, String> {
    // Count the fields only after an error.
    try_parse_entry(line, header).map_err(|reason| field_count(line, header).unwrap_or(reason))
}

fn try_parse_entry(mut line: &[u8], header: MarketHeader) -> Result<Entry, String> {
    let row = parse_index(token(&mut line), header.n_rows, "row")?;
    let col = parse_index(token(&mut line), header.n_cols, "column")?;
    let (re, im) = parse_number(&mut line, header.banner.field)?;
    if line.is_empty() || token(&mut line).is_empty() { Ok(Entry { row, col, re, im }) } else { Err(String::new()) }
}

/// The message about a wrong number of fields, if it is wrong.
#[cold]
fn field_count(mut line: &[u8], header: MarketHeader) -> Option<String> {
    let (wanted, names) = match header.banner.field {
        Field::Complex => (4, "row, column, real part, imaginary part"),
        Field::Real | Field::Integer => (3, "row, column, value"),
        Field::Pattern => (2, "row, column"),
    };
    let found = std::iter::from_fn(|| Some(token(&mut line)).filter(|t| !t.is_empty())).count();
    (found != wanted).then(|| format!("an entry must have {wanted} fields ({names}), but this line has {found}"))
}

fn parse_index(token: &[u8], n: usize, what: &str) -> Result<u32, String> {
    match digits(token) {
        Digits::Number(index) if index >= 1 && index <= n as u64 => Ok((index - 1) as u32),
        Digits::Other => Err(format!("`{}` is not a {what} number (a whole number from 1)", shorten(token))),
        _ => Err(format!("{what} {} is outside 1 to {n} (indices count from 1)", shorten(token))),
    }
}

/// Parse the value at the front of a line: one number, or two if the matrix is complex.
#[inline]
fn parse_number(line: &mut &[u8], field: Field) -> Result<(f64, f64), String> {
    match field {
        Field::Real => Ok((parse_real(token(line))?, 0.0)),
        Field::Complex => Ok((parse_real(token(line))?, parse_real(token(line))?)),
        Field::Integer => Ok((parse_integer(token(line))?, 0.0)),
        Field::Pattern => Ok((1.0, 0.0)),
    }
}

#[inline]
fn parse_real(token: &[u8]) -> Result<f64, String> {
    match fast_float2::parse::<f64, _>(token) {
        Ok(value) if value.is_finite() => Ok(value),
        _ => parse_odd_real(token),
    }
}

/// Parse a number with the exponent of Fortran, such as `1.5D+3`, or explain why it is not a finite number.
#[cold]
fn parse_odd_real(token: &[u8]) -> Result<f64, String> {
    if token.is_empty() {
        return Err("the line lacks a value".into());
    }
    let shown = shorten(token);
    let letters_ok = token.iter().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'd' | b'D' | b'e' | b'E'));
    let plain: Vec<u8> = token.iter().map(|b| if matches!(b, b'd' | b'D') { b'e' } else { *b }).collect();
    let plain = plain.strip_prefix(b"+").unwrap_or(&plain);
    match fast_float2::parse::<f64, _>(plain) {
        Ok(value) if value.is_finite() && letters_ok => Ok(value),
        Ok(_) if letters_ok => Err(format!("`{shown}` is larger than the largest double-precision number")),
        Ok(_) => Err(format!("`{shown}` is not a finite number. All entries must be finite")),
        Err(_) => Err(format!("`{shown}` is not a number")),
    }
}

#[inline]
fn parse_integer(token: &[u8]) -> Result<f64, String> {
    let (sign, unsigned) = match token {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        _ => (1.0, token),
    };
    match digits(unsigned) {
        Digits::Number(number) => Ok(sign * number as f64),
        Digits::Other if token.is_empty() => Err("the line lacks a value".into()),
        Digits::Overflow => Err(format!("`{}` does not fit 64 bits", shorten(token))),
        Digits::Other => Err(format!("`{}` is not a whole number, but the banner says `integer`", shorten(token))),
    }
}

/// The triangle that a symmetric file contains. It must contain only one, or entries would count twice.
#[derive(Debug, Default)]
struct StoredTriangle {
    lower_line: Option<u64>,
    upper_line: Option<u64>,
}

impl StoredTriangle {
    #[inline]
    fn check(&mut self, symmetry: Symmetry, entry: Entry, line: u64) -> Result<(), String> {
        if symmetry == Symmetry::General { Ok(()) } else { self.check_symmetric(symmetry, entry, line) }
    }

    fn check_symmetric(&mut self, symmetry: Symmetry, entry: Entry, line: u64) -> Result<(), String> {
        let Entry { row, col, re, im } = entry;
        if row == col {
            return check_diagonal(symmetry, re, im);
        }
        let (this, other, side) = if row > col {
            (&mut self.lower_line, self.upper_line, "above")
        } else {
            (&mut self.upper_line, self.lower_line, "below")
        };
        this.get_or_insert(line);
        other.map_or(Ok(()), |other| {
            Err(format!(
                "a symmetric file must contain one triangle only, but line {other} lies {side} the diagonal, and this line on \
                 the other side. If the file contains all entries, write `general` in the first line"
            ))
        })
    }
}

fn check_diagonal(symmetry: Symmetry, re: f64, im: f64) -> Result<(), String> {
    match symmetry {
        Symmetry::Skew if re != 0.0 || im != 0.0 => Err("the diagonal of a skew-symmetric matrix must be zero".into()),
        Symmetry::Hermitian if im != 0.0 => Err("the diagonal of a hermitian matrix must be real".into()),
        _ => Ok(()),
    }
}

fn read_array<R: Read>(
    lines: &mut Lines<'_, R>,
    header: MarketHeader,
    size: Option<u64>,
) -> Result<DenseArray, FileError> {
    let MarketHeader { banner, n_rows, n_cols, entries } = header;
    let complex = banner.field == Field::Complex;
    let total = expected(header, size, SHORTEST_NUMBER);
    // The triangle, and the full matrix with about twice as many numbers.
    let copies = if banner.symmetry == Symmetry::General { 1 } else { 3 };
    affordable(&[total, copies], bytes_of_number(complex))
        .map_err(|why| lines.fail(why.after(format_args!("{n_rows} × {n_cols} is too large"))))?;
    let mut values = Numbers::new(complex);
    while let Some((start, end)) = lines.next_content()? {
        if values.len() as u64 == entries {
            return Err(lines
                .fail(format!("an array of {n_rows} × {n_cols} needs {entries} numbers, but this line is one more")));
        }
        if values.room() == 0 {
            values.grow(FIRST.min(total), total).map_err(|why| lines.fail(why))?;
        }
        let mut line = &lines.buffer[start..end];
        let (re, im) = parse_number(&mut line, banner.field).map_err(|reason| lines.fail(reason))?;
        if !token(&mut line).is_empty() {
            let numbers = if complex { "one number (two parts)" } else { "one number" };
            return Err(lines.fail(format!("a line of an array must have {numbers}")));
        }
        values.push(re, im);
    }
    check_complete(lines, values.len() as u64, entries)?;
    let values = unfold(values, n_rows, banner.symmetry).map_err(|reason| lines.fail(reason))?;
    Ok(DenseArray { n_rows, n_cols, values })
}

/// Compute all n × n entries from the columns of the lower triangle.
fn unfold(triangle: Numbers, n: usize, symmetry: Symmetry) -> Result<Numbers, Reason> {
    if symmetry == Symmetry::General {
        return Ok(triangle);
    }
    // About twice as many numbers as the file contains, so that a wrong header costs no memory.
    let mut full = Numbers::zeros(n * n, triangle.is_complex())?;
    let mut next = 0;
    for j in 0..n {
        let first = if symmetry == Symmetry::Skew { j + 1 } else { j };
        for i in first..n {
            let value = triangle.get(next);
            next += 1;
            full.set(i + j * n, value);
            if i == j {
                check_diagonal(symmetry, value.re, value.im)?;
            } else {
                full.set(j + i * n, symmetry.mirror(value));
            }
        }
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve_gallery::Random;

    const REAL: &str = "%%MatrixMarket matrix coordinate real general\n";

    fn parse(bytes: &[u8]) -> Result<FileArray, String> {
        read("A.mtx", bytes, Some(bytes.len() as u64)).map(|(array, _)| array).map_err(|e| e.to_string())
    }

    fn sparse(text: &str) -> Triplets {
        match parse(text.as_bytes()) {
            Ok(FileArray::Sparse(a)) => a,
            other => panic!("{text}\n{other:?}"),
        }
    }

    fn dense(text: &str) -> DenseArray {
        match parse(text.as_bytes()) {
            Ok(FileArray::DenseArray(a)) => a,
            other => panic!("{text}\n{other:?}"),
        }
    }

    /// All entries, including those that the symmetry implies, as (row, column, re, im).
    fn entries(text: &str) -> Vec<(usize, usize, f64, f64)> {
        let mut all = Vec::new();
        sparse(text).for_each(|i, j, v| all.push((i, j, v.re, v.im)));
        all
    }

    #[track_caller]
    fn refused(text: &str, line: u64, reason: &str) {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.starts_with(&format!("A.mtx:{line}: ")), "{error}");
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn comments_blank_lines_and_line_ends_do_not_matter() {
        let expected = [(0, 0, 1.5, 0.0), (1, 0, -2.0, 0.0)];
        assert_eq!(entries(&format!("{REAL}2 2 2\n1 1 1.5\n2 1 -2\n")), expected);
        assert_eq!(entries(&format!("{REAL}%c\n\n  % c\n2 2 2\n\n1 1 1.5\n%c\n\t2\t1  -2 ")), expected);
        assert_eq!(entries(&format!("{REAL}2 2 2\n1 1 1.5\n2 1 -2\n").replace('\n', "\r\n")), expected);
        assert_eq!(entries(&format!("\u{feff}{REAL}2 2 2\n1 1 1.5\n2 1 -2\n")), expected);
        assert_eq!(entries(&(REAL.to_uppercase() + "0 0 0")), []);
    }

    #[test]
    fn numbers_are_read_in_every_spelling() {
        let value = |text: &str| entries(&format!("{REAL}1 1 1\n1 1 {text}\n"))[0].2;
        let spellings =
            [("1", 1.0), ("+1", 1.0), ("-.5", -0.5), ("5.", 5.0), ("1e3", 1e3), ("1.5D+2", 150.0), ("2d0", 2.0)];
        for (text, number) in spellings {
            assert_eq!(value(text), number, "{text}");
        }
        assert_eq!(value("4.9e-324"), f64::from_bits(1));
        assert_eq!(value("1.7976931348623157e308"), f64::MAX);
        assert_eq!(value("0.1000000000000000055511151231257827021181583404541015625"), 0.1);
    }

    #[test]
    fn fields_other_than_real_are_read() {
        let integer = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -7\n";
        assert_eq!(entries(integer), [(0, 0, -7.0, 0.0)]);
        let complex = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.5 -2\n";
        assert_eq!(entries(complex), [(0, 0, 1.5, -2.0)]);
        assert!(sparse(complex).values.is_complex());
    }

    #[test]
    fn symmetries_imply_the_other_triangle() {
        let file = |field: &str, symmetry: &str, body: &str| {
            entries(&format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n2 2 {body}"))
        };
        let (below, above) = ((1, 0, 3.0, 0.0), (0, 1, 3.0, 0.0));
        assert_eq!(file("real", "symmetric", "2\n1 1 5\n2 1 3"), [(0, 0, 5.0, 0.0), below, above]);
        assert_eq!(file("real", "symmetric", "1\n1 2 3"), [above, below], "the upper triangle alone is accepted");
        assert_eq!(file("real", "skew-symmetric", "1\n2 1 3"), [below, (0, 1, -3.0, 0.0)]);
        assert_eq!(file("complex", "hermitian", "1\n2 1 3 4"), [(1, 0, 3.0, 4.0), (0, 1, 3.0, -4.0)]);
        assert_eq!(file("complex", "symmetric", "1\n2 1 3 4"), [(1, 0, 3.0, 4.0), (0, 1, 3.0, 4.0)]);
    }

    #[test]
    fn arrays_are_read_by_columns() {
        let a = dense("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n");
        assert_eq!((a.n_rows, a.n_cols, a.values.re), (2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let s = dense("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
        assert_eq!(s.values.re, [1.0, 2.0, 2.0, 3.0]);
        let k = dense("%%MatrixMarket matrix array real skew-symmetric\n2 2\n7\n");
        assert_eq!(k.values.re, [0.0, 7.0, -7.0, 0.0]);
        let h = dense("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 5\n3 0\n");
        assert_eq!(h.values.im.unwrap(), [0.0, 5.0, -5.0, 0.0]);
        assert_eq!(dense("%%MatrixMarket matrix array real general\n3 0\n").values.len(), 0);
    }

    #[test]
    fn bad_banners_are_refused() {
        refused("", 1, "empty");
        refused("1 2 3\n", 1, "no Matrix Market file");
        refused("%%MatrixMarket\n", 1, "object");
        refused("%%MatrixMarket vector coordinate real general\n", 1, "object `vector`");
        refused("%%MatrixMarket matrix sparse real general\n", 1, "format `sparse`");
        refused("%%MatrixMarket matrix coordinate quaternion general\n", 1, "field `quaternion`");
        refused("%%MatrixMarket matrix array pattern general\n", 1, "field `pattern`");
        refused("%%MatrixMarket matrix coordinate real odd\n", 1, "symmetry `odd`");
        refused("%%MatrixMarket matrix coordinate real hermitian\n", 1, "hermitian");
        refused("%%MatrixMarket matrix coordinate real general yes\n", 1, "too many words");
    }

    #[test]
    fn bad_sizes_are_refused() {
        refused(REAL, 1, "sizes");
        refused(&format!("{REAL}% only\n\n"), 3, "sizes");
        refused(&format!("{REAL}2 2\n"), 2, "lacks the number of entries");
        refused(&format!("{REAL}2 2 1 1\n"), 2, "3 numbers");
        refused(&format!("{REAL}2 x 1\n"), 2, "`x` is not a number of columns");
        refused(&format!("{REAL}-2 2 1\n"), 2, "`-2` is not");
        refused(&format!("{REAL}2.0 2 1\n"), 2, "`2.0` is not");
        refused(&format!("{REAL}99999999999999999999 2 1\n"), 2, "too many");
        refused(&format!("{REAL}5000000000 2 1\n"), 2, "more than");
        refused("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n", 2, "symmetry");
    }

    #[test]
    fn bad_entries_are_refused() {
        let entry = |line: &str, reason: &str| refused(&format!("{REAL}3 3 1\n{line}\n"), 3, reason);
        entry("0 1 1.0", "row 0 is outside 1 to 3");
        entry("1 4 1.0", "column 4 is outside 1 to 3");
        entry("99999999999999999999999 1 1.0", "outside 1 to 3");
        entry("-1 1 1.0", "`-1` is not a row number");
        entry("1.5 1 1.0", "`1.5` is not a row number");
        entry("1 1", "3 fields");
        entry("1", "3 fields");
        entry("1 1 1.0 2.0", "this line has 4");
        entry("1 1 abc", "`abc` is not a number");
        entry("1 1 1.0x", "`1.0x` is not a number");
        entry("1 1 1e", "not a number");
        entry("1 1 --1", "not a number");
        entry("1 1 nan", "not a finite number");
        entry("1 1 -Inf", "not a finite number");
        entry("1 1 infinity", "not a finite number");
        entry("1 1 1e400", "larger than");
        entry("1 1 \u{1b}[31m", "`\u{fffd}[31m`");
        refused("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.0\n", 3, "4 fields");
        refused("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 2.5\n", 3, "whole number");
        refused("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 99999999999999999999\n", 3, "64 bits");
        refused("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -\n", 3, "whole number");
    }

    #[test]
    fn wrong_numbers_of_entries_are_refused() {
        refused(&format!("{REAL}2 2 2\n1 1 1\n"), 3, "after 1 of the 2 entries");
        refused(&format!("{REAL}2 2 1\n1 1 1\n2 2 1\n"), 4, "one more");
        refused(&format!("{REAL}2000000000 2000000000 2000000000\n1 1 1\n"), 3, "after 1 of");
        refused(&format!("{REAL}2 2 18446744073709551615\n1 1 1\n"), 3, "after 1 of");
        refused("%%MatrixMarket matrix array real general\n2 1\n1\n", 3, "after 1 of the 2");
        refused("%%MatrixMarket matrix array real general\n1 1\n1\n2\n", 4, "one more");
        refused("%%MatrixMarket matrix array real general\n2 1\n1 2\n", 3, "one number");
        refused("%%MatrixMarket matrix array real symmetric\n4294967295 4294967295\n1\n", 3, "after 1 of");
    }

    #[test]
    fn entries_that_contradict_the_symmetry_are_refused() {
        let both = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n";
        refused(both, 4, "line 3 lies below the diagonal");
        refused("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n", 3, "diagonal");
        refused("%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n1 1 1 1\n", 3, "real");
        refused("%%MatrixMarket matrix array complex hermitian\n1 1\n1 1\n", 3, "real");
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut text = REAL.as_bytes().to_vec();
        text.resize(BUFFER + 100, b' ');
        assert!(parse(&text).unwrap_err().starts_with("A.mtx:2: the line is longer"));
        text[1000] = b'\n';
        assert!(parse(&text).unwrap_err().contains("sizes"), "spaces up to the end of the buffer are a line");
    }

    /// A source that returns one byte at a time.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(into.len()).min(1);
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn lines_may_arrive_in_pieces() {
        let text = format!("{REAL}2 2 2\r\n1 1 1.5\n\n2 2 2.5");
        assert_eq!(read("A.mtx", Drip(text.as_bytes()), None).unwrap().0, FileArray::Sparse(sparse(&text)));
    }

    #[test]
    fn a_file_larger_than_the_buffer_is_read() {
        let n = 100_000;
        let body: String = (1..=n).map(|i| format!("{i} {i} {}\n", i as f64 / 3.0)).collect();
        let a = sparse(&format!("{REAL}{n} {n} {n}\n{body}"));
        assert!((0..n).all(|k| a.rows[k] as usize == k && a.values.re[k] == (k + 1) as f64 / 3.0));
    }

    /// Damaged files are read or result in an error; they never panic.
    #[test]
    fn mutated_files_never_panic() {
        let seeds = [
            format!("{REAL}% c\n3 3 4\n1 1 1.0\n2 2 -2e5\n3 3 .5\n3 1 7\n"),
            "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 3 4\n".into(),
            "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n".into(),
            "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n".into(),
        ];
        let pieces =
            ["\n", " ", "%", "-", "0", "9", "999999999", "1e308", "e", ".", "nan", "\r", "\0", "\u{fffd}", "symmetric"];
        let mut random = Random::new(17);
        for round in 0..20_000 {
            let mut bytes = seeds[round % seeds.len()].clone().into_bytes();
            for _ in 0..1 + random.bits() % 4 {
                let (at, what) = (random.bits() as usize % (bytes.len() + 1), random.bits() as usize);
                match what % 5 {
                    0 => bytes.truncate(at),
                    1 => bytes.splice(at..at, pieces[what / 5 % pieces.len()].bytes()).for_each(drop),
                    2 if at < bytes.len() => bytes[at] = (what >> 8) as u8,
                    3 if at < bytes.len() => drop(bytes.remove(at)),
                    _ => {
                        let copy = bytes[at..].to_vec();
                        bytes.extend(copy);
                    }
                }
            }
            if let Err(reason) = parse(&bytes) {
                assert!(reason.starts_with("A.mtx:"), "{reason}");
            }
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut random = Random::new(23);
        for _ in 0..2_000 {
            let length = random.bits() % 200;
            let mut bytes = if random.bits().is_multiple_of(2) { REAL.as_bytes().to_vec() } else { Vec::new() };
            bytes.extend((0..length).map(|_| random.bits() as u8));
            let _ = parse(&bytes);
            let _ = crate::read_stream("A", &bytes[..], None);
        }
    }
}
