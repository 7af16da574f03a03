//! The lengths of sub and sup, and numbers in their place: one rule for all functions that have these arguments.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Check that sub and sup have length n − 1, or length n if `periodic` or `padded` is set.
///
/// Without these options, length n is an error: `ab[2]` and `ab[0]` of SciPy's band storage have length n, but another indexing. `periodic` is None
/// for functions that solve only open systems. `slices` is a sentence of the message that names the slices to pass.
///
/// # Errors
/// `ValueError`, with `slices` in the message if they help.
#[pyfunction]
pub fn check_off_diagonals(
    lengths: (usize, usize),
    n: usize,
    periodic: Option<bool>,
    padded: bool,
    slices: &str,
) -> PyResult<()> {
    let may_be_periodic = periodic.is_some();
    let periodic = periodic.unwrap_or(false);
    if periodic && padded {
        let message = "padded and periodic are both True, expected at most one of them. Omit padded: sub[0] and sup[-1] of a periodic matrix \
                       are its corners.";
        return Err(PyValueError::new_err(message));
    }
    let full = periodic || padded;
    let expected = if full { n } else { n.saturating_sub(1) };
    for (name, length) in [("sub", lengths.0), ("sup", lengths.1)] {
        if length == expected {
            continue;
        }
        let mut message = format!("{name} has length {length}, expected {expected}: diag has length {n}");
        if full {
            let option = if periodic { "periodic" } else { "padded" };
            message += &format!(". With {option}=True, sub, diag and sup have the same length.");
        } else if length == n {
            message += &format!(". {slices} If sub[0] and sup[-1] are placeholders, pass padded=True.");
            if may_be_periodic {
                message += " If sub[0] and sup[-1] are the corners of a periodic matrix, pass periodic=True.";
            }
        }
        return Err(PyValueError::new_err(message));
    }
    Ok(())
}

/// Return sub, diag and sup, where a number, which stands for a constant diagonal, has become an array. `full` means that all have n entries.
///
/// # Errors
/// `ValueError` if neither the diagonal nor the right-hand side has a length.
pub fn without_numbers<'py>(
    diagonals: [&Bound<'py, PyAny>; 3],
    rhs: Option<&Bound<'py, PyAny>>,
    full: bool,
) -> PyResult<[Bound<'py, PyAny>; 3]> {
    // Numbers, and arrays without an axis, have no length.
    if diagonals.iter().all(|diagonal| diagonal.len().is_ok()) {
        return Ok(diagonals.map(Clone::clone));
    }
    let [sub, diag, sup] = diagonals;
    let module = sub.py().import("bandsolve._arguments")?;
    module.call_method1("repeated_for", (sub, diag, sup, rhs, full))?.extract()
}

/// The slices for SciPy's band storage, as a sentence of an error message.
pub const SLICES: &str = "For SciPy's band storage, pass sub = ab[2, :-1], diag = ab[1], sup = ab[0, 1:].";
