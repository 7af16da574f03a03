//! Reports for people and for programs.

use crate::exit::Failure;
use crate::io::output;
use crate::plot::PictureFormat;
use serde_json::Value;
use std::io::Write;
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
    // A report that nobody reads is no error.
    let _ = std::io::stderr().write_all(text.as_bytes());
    Ok(())
}

/// Whether an output goes to standard output.
pub fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|p| p.as_os_str() == "-")
}

/// Refuses outputs that name the same file as one another or as an input, that cannot be written, and pictures of no known
/// format; returns whether one of them takes standard output.
///
/// # Errors
/// [`Failure::Usage`], [`Failure::Other`].
pub fn check_outputs(options: &[(&str, &Option<PathBuf>)], inputs: &[&Path]) -> Result<bool, Failure> {
    let named: Vec<_> = options.iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect();
    let place = |path: &Path| if is_stdout(Some(path)) { path.into() } else { output::target(path) };
    for (k, (name, path)) in named.iter().enumerate() {
        if let Some((earlier, _)) = named[..k].iter().find(|(_, other)| place(other) == place(path)) {
            return Err(Failure::Usage(format!("{earlier} and {name} name the same file")));
        }
        if is_stdout(Some(path)) {
            continue;
        }
        if inputs.iter().any(|input| place(input) == place(path)) {
            return Err(Failure::Usage(format!("{name} {}: this file is read, not written", path.display())));
        }
        output::check(path)?;
    }
    if let Some((_, path)) = named.iter().find(|(name, _)| **name == "--plot") {
        PictureFormat::of(path)?;
    }
    Ok(named.iter().any(|(_, path)| is_stdout(Some(path))))
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
    fn values_stand_in_one_column() {
        assert_eq!(columns(&[("a", "1".into()), ("long", "2".into())]), "  a     1\n  long  2\n");
    }
}
