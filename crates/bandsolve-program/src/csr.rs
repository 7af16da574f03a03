//! Sparse systems: the matrix of a file by rows, and a known solution with its right-hand side.

use crate::exit::Failure;
use crate::io::{Symmetry, Triplets};
use crate::memory::{affordable, collected, filled, grow};
use crate::structure::out_of_range;
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::narrow;
use bandsolve::{Complex64, LinearOperator, Scalar};
use bandsolve_sparse::Csr;

/// Convert to a sparse matrix by rows. Entries at the same position are added up.
///
/// # Errors
/// [`Failure::Input`] if a number is beyond the range of the type, or too little memory is free.
pub fn csr<T: Scalar>(a: &Triplets) -> Result<Csr<'static, T, u32>, Failure> {
    let count = a.rows.len() * if a.symmetry == Symmetry::General { 1 } else { 2 };
    let too_many = |why: String| Failure::Input(format!("{} rows with {count} entries are too many: {why}", a.n_rows));
    affordable(&[a.n_rows.saturating_add(count)], 3 * size_of::<(usize, T)>()).map_err(too_many)?;
    let mut entries = Vec::new();
    grow(&mut entries, count, count).map_err(too_many)?;
    let mut bad = None;
    a.for_each(|i, j, value| {
        let value: T = narrow(value);
        if !Scalar::is_finite(value) {
            bad = Some((i, j));
        }
        entries.push((i, j, value));
    });
    match bad {
        Some((i, j)) => Err(out_of_range::<T>("the matrix", i, j)),
        None => Ok(Csr::from_triplets(a.n_rows, a.n_cols, &entries)?),
    }
}

/// The known solution sin(16π·i/n), which is smooth like the solutions of differential equations.
///
/// # Errors
/// [`Failure::Input`] if too little memory is free.
pub fn wave<T: Scalar>(n: usize) -> Result<Vec<T>, Failure> {
    let value = |i: usize| (std::f64::consts::TAU * 8.0 * i as f64 / n as f64).sin();
    collected((0..n).map(|i| narrow(Complex64::from(value(i))))).map_err(Failure::Input)
}

/// Compute A·x for a square matrix.
///
/// # Errors
/// [`Failure::Input`] if too little memory is free.
pub fn product<T: Scalar>(a: &Csr<'_, T, u32>, x: &[T]) -> Result<Vec<T>, Failure> {
    let mut y = filled(T::ZERO, a.rows()).map_err(Failure::Input)?;
    a.apply(x, &mut y, PodStack::new(&mut []))?;
    Ok(y)
}
