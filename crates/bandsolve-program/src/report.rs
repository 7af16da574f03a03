//! Reports as text and JSON.

use crate::exit::Failure;
use crate::io::output::{self, PictureFormat};
use bandsolve::Complex64;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub use bandsolve_io::sizes;

/// Print text to standard output. A closed pipe is not an error.
///
/// # Errors
/// [`Failure::Other`].
pub fn print(text: &str) -> Result<(), Failure> {
    write_text(Path::new("-"), text)
}

/// Print text to standard output, or to standard error if `stdout_used` says that standard output receives data.
///
/// # Errors
/// [`Failure::Other`].
pub fn print_beside(text: &str, stdout_used: bool) -> Result<(), Failure> {
    if !stdout_used {
        return print(text);
    }
    output::write_stderr(text)
}

/// Whether an output goes to standard output.
pub fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(output::is_stdout)
}

/// Check the outputs with [`output::check_all`], and the format of pictures. Return whether an output goes to standard output.
///
/// # Errors
/// [`Failure::Usage`], [`Failure::Other`].
pub fn check_outputs(options: &[(&str, &Option<PathBuf>)], inputs: &[&Path]) -> Result<bool, Failure> {
    let stdout_used = output::check_all(options, inputs)?;
    if let Some((_, Some(path))) = options.iter().find(|(name, _)| *name == "--plot") {
        PictureFormat::of(path)?;
    }
    Ok(stdout_used)
}

/// Write text to a file, or to standard output for `-`.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    output::write(path, |out| out.write_all(text.as_bytes()))
}

/// The version of the JSON reports. It changes if a field is removed or gets another meaning.
const SCHEMA: u32 = 1;

/// Write a JSON report to a file, or to standard output for `-`. NaN and infinities become `null`.
///
/// Each report begins with its `schema` and its `status`. The status is `done` unless `fields` has another one.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_json(path: &Path, fields: &Value) -> Result<(), Failure> {
    let mut report = json!({ "schema": SCHEMA, "status": "done" });
    for (name, value) in fields.as_object().expect("a report has named fields") {
        report[name] = value.clone();
    }
    output::write(path, |out| {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        out.write_all(b"\n")
    })
}

/// One line per name and value, with all values in one column.
pub fn columns(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(name, value)| format!("  {name:width$}  {value}\n")).collect()
}

/// A count with its noun: `1 step`, `2 steps`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The bandwidths of a matrix: `1 diagonal below and 2 above the main one`.
pub fn bands(lower: usize, upper: usize) -> String {
    format!("{} below and {upper} above the main one", counted(lower, "diagonal"))
}

/// The eigenvalues of a report, one line each with the offset from a target and the residual, and whether counts proved that none is missing.
pub fn eigenvalues(
    values: &[Complex64],
    offsets: Option<&[Complex64]>,
    residuals: &[f64],
    complete: Option<bool>,
) -> String {
    let mut text = String::new();
    for (k, (value, residual)) in values.iter().zip(residuals).enumerate() {
        let offset = offsets.map_or(String::new(), |offsets| format!("  offset {}", complex(offsets[k], SHOWN)));
        text += &format!("  {}{offset}  residual {residual:.1e}\n", complex(*value, SHOWN));
    }
    match complete {
        Some(true) => text + "  proved complete by counts\n",
        Some(false) => text + "  not proved complete by counts\n",
        None => text,
    }
}

/// The `status` of an iteration or a search in JSON.
pub fn status(converged: bool) -> &'static str {
    if converged { "solved" } else { "not converged" }
}

/// Numbers in JSON: as pairs of real and imaginary parts if one of them is not real.
pub fn numbers(values: &[Complex64]) -> Vec<Value> {
    let complex = values.iter().any(|value| value.im != 0.0);
    values.iter().map(|value| if complex { json!([value.re, value.im]) } else { json!(value.re) }).collect()
}

/// The largest of several errors, or NaN if one of them is NaN.
pub fn largest(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |max, error| if error > max || error.is_nan() { error } else { max })
}

/// An error with two digits, `0`, or `-` if there is none.
pub fn error(error: Option<f64>) -> String {
    match error {
        None => "-".into(),
        Some(0.0) => "0".into(),
        Some(error) => format!("{error:.1e}"),
    }
}

/// Number of significant digits of a number in the terminal. Files have all digits.
const SHOWN: usize = 6;

/// A number in the terminal.
pub fn shown(x: f64) -> String {
    number(x, SHOWN)
}

/// A number with this many significant digits, without trailing zeros. Very large and very small numbers have an exponent.
pub fn number(x: f64, digits: usize) -> String {
    if x != 0.0 && !(1e-4..1e6).contains(&x.abs()) {
        return format!("{x:.*e}", digits - 1);
    }
    let before = if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    let decimals = (digits as i32 - 1 - before).max(0) as usize;
    let text = format!("{x:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_string() }
}

/// A complex number. If the imaginary part is 0, only the real part.
pub fn complex(value: Complex64, digits: usize) -> String {
    let sign = if value.im < 0.0 { '-' } else { '+' };
    let re = number(value.re, digits);
    if value.im == 0.0 { re } else { format!("{re} {sign} {}i", number(value.im.abs(), digits)) }
}

/// A number of rows per second with a suitable unit.
pub fn rate(rows_per_second: f64) -> String {
    match rows_per_second {
        r if r < 1e6 => format!("{} thousand rows/s", number(r / 1e3, 3)),
        r => format!("{} million rows/s", number(r / 1e6, 3)),
    }
}

/// A duration with a suitable unit.
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
    fn nan_and_infinity_become_null() {
        let text = json!({ "a": f64::NAN, "b": f64::INFINITY, "c": 1e-300 }).to_string();
        assert_eq!(text, r#"{"a":null,"b":null,"c":1e-300}"#);
    }

    #[test]
    fn numbers_have_readable_formats() {
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
    fn values_are_in_one_column() {
        assert_eq!(columns(&[("a", "1".into()), ("long", "2".into())]), "  a     1\n  long  2\n");
    }
}
