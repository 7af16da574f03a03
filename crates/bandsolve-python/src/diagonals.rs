//! How long sub and sup are: the one rule of all functions that take them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Checks the lengths of sub and sup beside a diagonal of n: n − 1; n if the matrix is periodic, or if the call says that the arrays are
/// padded. Arrays of length n are not accepted silently: `ab[2]` and `ab[0]` of SciPy's band storage have that length, and their entries
/// stand elsewhere. `periodic` is None for functions that solve open systems alone. `slices` tells how the diagonals are taken from what they may be in.
///
/// # Errors
/// `ValueError`, with the slices that are right.
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
        let message = "padded and periodic are both True, expected one of them: sub[0] and sup[-1] of a periodic matrix are its \
                       corners. Leave out padded";
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
            message += &format!(", and with {option}=True all three are of one length");
        } else if length == n {
            message += &format!(
                ", and an open system has one coupling fewer. {slices} If sub[0] and sup[-1] are only placeholders, pass \
                 padded=True"
            );
            if may_be_periodic {
                message += ". If they couple the first with the last unknown, pass periodic=True";
            }
        }
        return Err(PyValueError::new_err(message));
    }
    Ok(())
}

/// How the diagonals are taken from band storage.
pub const SLICES: &str = "Of band storage as SciPy has it, pass sub = ab[2, :-1], diag = ab[1], sup = ab[0, 1:].";
