//! The implementation of LAPACK's symbols: check the arguments, convert them to slices, and call the safe modules.
//!
//! Every routine returns INFO as `Err`, or `Ok` for 0. Scalars are passed by reference, as in Fortran.
//!
//! # Safety
//! For every routine: LAPACK's documentation of its arguments must be met; see [`crate::raw`].
// Fortran's argument lists are long. The safety conditions are stated once, here and in `raw`.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

pub mod gb;
pub mod gt;
pub mod norm;
pub mod pb;
pub mod pt;

use crate::Int;
use crate::number::{LapackScalar, rounding};
use crate::pt::TriangleSide;
use crate::raw::{RawColumns, extent, read, size, write};
use crate::refine::{FactoredMatrix, FactoredSystem, MatrixEntries, RefineScratch, refine};
use crate::xerbla::xerbla;
use bandsolve::{Op, Scalar};

/// The result of a routine: `Err(INFO)` unless INFO is 0.
pub type Info = Result<(), Int>;

/// Report the first invalid argument to `xerbla_`. INFO is then minus its index.
fn require<T: LapackScalar>(routine: &str, wrong: &[(Int, bool)]) -> Info {
    let Some((index, _)) = wrong.iter().find(|(_, wrong)| *wrong) else { return Ok(()) };
    let mut name = [b' '; 6];
    name[0] = T::LETTER;
    name[1..][..routine.len()].copy_from_slice(routine.as_bytes());
    xerbla(str::from_utf8(&name).expect("routine names are ASCII letters"), *index);
    Err(-index)
}

/// Whether a leading dimension is too small for `n` rows.
fn short(leading: &Int, n: &Int) -> bool {
    *leading < (*n).max(1)
}

/// INFO for a zero pivot in row `row` (from 0).
fn pivot(row: Option<usize>) -> Info {
    row.map_or(Ok(()), |row| Err(row as Int + 1))
}

/// LAPACK's TRANS.
fn op(trans: &u8) -> Option<Op> {
    Some(match trans.to_ascii_uppercase() {
        b'N' => Op::Plain,
        b'T' => Op::Transpose,
        b'C' => Op::ConjTranspose,
        _ => return None,
    })
}

/// LAPACK's UPLO.
fn side(uplo: &u8) -> Option<TriangleSide> {
    Some(match uplo.to_ascii_uppercase() {
        b'L' => TriangleSide::Lower,
        b'U' => TriangleSide::Upper,
        _ => return None,
    })
}

/// LAPACK's NORM of the condition estimators: `Some(true)` for ‖·‖∞.
fn infinity(norm: &u8) -> Option<bool> {
    Some(match norm.to_ascii_uppercase() {
        b'O' | b'1' => false,
        b'I' => true,
        _ => return None,
    })
}

/// Columns for reading.
#[derive(Debug, Clone, Copy)]
struct ColumnsRef<'a, T> {
    elements: &'a [T],
    rows: usize,
    leading: usize,
}

impl<'a, T> ColumnsRef<'a, T> {
    unsafe fn new(p: *const T, rows: usize, count: usize, leading: &Int) -> Self {
        let leading = size(leading).max(1);
        // SAFETY: the module's contract.
        Self { elements: unsafe { read(p, extent(rows, count, leading)) }, rows, leading }
    }

    fn each(&self) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        let rows = self.rows;
        self.elements.chunks(self.leading).map(move |c| &c[..rows])
    }
}

fn copy<T: LapackScalar>(from: ColumnsRef<'_, T>, to: &mut RawColumns<'_, T>) {
    to.each().zip(from.each()).for_each(|(to, from)| to.copy_from_slice(from));
}

/// FERR and BERR: one bound per column.
struct ColumnBounds<'a, R> {
    forward: &'a mut [R],
    backward: &'a mut [R],
}

impl<R> ColumnBounds<'_, R> {
    unsafe fn new(ferr: *mut R, berr: *mut R, count: usize) -> Self {
        // SAFETY: the module's contract.
        unsafe { Self { forward: write(ferr, count), backward: write(berr, count) } }
    }
}

/// Refine every column of `x`, and write its bounds.
fn refine_all<T: LapackScalar>(
    system: &FactoredSystem<impl MatrixEntries<T>, impl FactoredMatrix<T>>,
    b: ColumnsRef<'_, T>,
    mut x: RawColumns<'_, T>,
    bounds: ColumnBounds<'_, T::Real>,
    (weights, vectors): (&mut [T::Real], &mut [T]),
) {
    if x.rows() == 0 {
        bounds.forward.fill(T::Real::ZERO);
        bounds.backward.fill(T::Real::ZERO);
        return;
    }
    // Routines for positive definite tridiagonal matrices have one vector.
    let (first, second) = vectors.split_at_mut(weights.len());
    for ((x, b), (forward, backward)) in x.each().zip(b.each()).zip(bounds.forward.iter_mut().zip(bounds.backward)) {
        let of_column = refine(system, b, x, RefineScratch { weights, first, second });
        (*forward, *backward) = (of_column.forward, of_column.backward);
    }
}

/// Multiply row i of all columns by `scales[i]`.
fn scale_rows<T: LapackScalar>(columns: &mut RawColumns<'_, T>, scales: &[T::Real]) {
    for column in columns.each() {
        column.iter_mut().zip(scales).for_each(|(x, s)| *x = x.scale(*s));
    }
}

/// INFO of the expert drivers: N + 1 if the matrix is singular to working precision.
fn verdict<T: LapackScalar>(n: &Int, rcond: T::Real) -> Info {
    if rcond < rounding::<T::Real>() { Err(n + 1) } else { Ok(()) }
}
