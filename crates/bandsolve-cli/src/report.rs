//! Reports for people and for programs.

use crate::exit::Failure;
use crate::io::output;
use crate::plot::PictureFormat;
use bandsolve::Complex64;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub use bandsolve_io::sizes;

/// Prints text on standard output; a closed pipe is no error.
///
/// # Errors
/// [`Failure::Other`].
pub fn print(text: &str) -> Result<(), Failure> {
    write_text(Path::new("-"), text)
}

/// Prints text on standard output, or on standard error if `taken` says that the output belongs to data.
///
/// # Errors
/// [`Failure::Other`].
pub fn print_beside(text: &str, taken: bool) -> Result<(), Failure> {
    if !taken {
        return print(text);
    }
    output::write_stderr(text)
}

/// Whether an output goes to standard output.
pub fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(output::is_stdout)
}

/// Refuses outputs as [`output::check_all`] does, and pictures of no known format; returns whether one of them takes standard
/// output.
///
/// # Errors
/// [`Failure::Usage`], [`Failure::Other`].
pub fn check_outputs(options: &[(&str, &Option<PathBuf>)], inputs: &[&Path]) -> Result<bool, Failure> {
    let taken = output::check_all(options, inputs)?;
    if let Some((_, Some(path))) = options.iter().find(|(name, _)| *name == "--plot") {
        PictureFormat::of(path)?;
    }
    Ok(taken)
}

/// Writes text to a file, or to standard output for `-`.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    output::write(path, |out| out.write_all(text.as_bytes()))
}

/// Writes JSON to a file, or to standard output for `-`. NaN and infinities are `null`.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_json(path: &Path, value: &Value) -> Result<(), Failure> {
    output::write(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Lines of a name and its value, the values in one column.
pub fn columns(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(name, value)| format!("  {name:width$}  {value}\n")).collect()
}

/// `1 step`, `2 steps`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The largest of some errors, NaN if one is.
pub fn largest(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |max, error| if error > max || error.is_nan() { error } else { max })
}

/// An error in two digits, where there is one.
pub fn error(error: Option<f64>) -> String {
    error.map_or("-".into(), |error| format!("{error:.1e}"))
}

/// A number to so many significant digits, without zeros at the end. It has an exponent where it would be long.
pub fn number(x: f64, digits: usize) -> String {
    if x != 0.0 && !(1e-4..1e6).contains(&x.abs()) {
        return format!("{x:.*e}", digits - 1);
    }
    let before = if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    let decimals = (digits as i32 - 1 - before).max(0) as usize;
    let text = format!("{x:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_string() }
}

/// A complex number, or a real one.
pub fn complex(value: Complex64, digits: usize) -> String {
    let sign = if value.im < 0.0 { '-' } else { '+' };
    let re = number(value.re, digits);
    if value.im == 0.0 { re } else { format!("{re} {sign} {}i", number(value.im.abs(), digits)) }
}

/// Rows per second, in words.
pub fn rate(rows_per_second: f64) -> String {
    match rows_per_second {
        r if r < 1e6 => format!("{} thousand rows/s", number(r / 1e3, 3)),
        r => format!("{} million rows/s", number(r / 1e6, 3)),
    }
}

/// A duration in a unit that suits it.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_becomes_null() {
        let text = serde_json::json!({ "a": f64::NAN, "b": f64::INFINITY, "c": 1e-300 }).to_string();
        assert_eq!(text, r#"{"a":null,"b":null,"c":1e-300}"#);
    }

    #[test]
    fn numbers_are_as_people_read_them() {
        let numbers = [0.0, 1.0, -7.019, 0.1 + 0.2, 123456.0, 12345678.0, 1.5e-9, 0.00012, f64::INFINITY];
        let texts = ["0", "1", "-7.019", "0.3", "123456", "1.234568e7", "1.500000e-9", "0.00012", "inf"];
        assert_eq!(numbers.map(|x| number(x, 7)), texts);
        assert_eq!(complex(Complex64::new(1.0, -0.5), 3), "1 - 0.5i");
        assert_eq!(
            [rate(1.88e6), rate(1.014e8), rate(9e3)],
            ["1.88 million rows/s", "101 million rows/s", "9 thousand rows/s"]
        );
    }

    #[test]
    fn values_stand_in_one_column() {
        assert_eq!(columns(&[("a", "1".into()), ("long", "2".into())]), "  a     1\n  long  2\n");
    }
}
