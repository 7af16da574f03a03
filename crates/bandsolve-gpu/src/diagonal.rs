//! Diagonal matrices that approximate a sparse matrix, on a device.

use crate::csr::DeviceCsr;
use crate::cut::THREADS;
use crate::device::{DeviceScalar, DeviceVec, check_len};
use crate::launch::Arguments;
use bandsolve::{Error, Result};
use bandsolve_sparse::DiagonalRule;

/// Threads that read a row (`diagonal.cuh`).
const ROW_THREADS: usize = 8;

/// The results in the form that the kernel uses. Address 0 stands for an absent array.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct DiagonalArguments {
    rule: u32,
    forests: u32,
    inverse: u64,
    moduli: u64,
    shares: u64,
    bad: u64,
}

/// The number of a rule in the kernel.
fn number(rule: DiagonalRule) -> u32 {
    match rule {
        DiagonalRule::Jacobi => 0,
        DiagonalRule::P1 => 1,
        DiagonalRule::P2 => 2,
        DiagonalRule::L1 => 3,
    }
}

fn launch<T: DeviceScalar>(
    a: &DeviceCsr<T>,
    (rule, forests): (DiagonalRule, usize),
    arrays: [Option<u64>; 3],
) -> Result<()> {
    check_len("columns of a square matrix", a.rows(), a.columns())?;
    if a.rows() == 0 {
        return Ok(());
    }
    let device = a.device();
    let bad = device.zeros::<u32>(1)?;
    let [inverse, moduli, shares] = arrays.map(|address| address.unwrap_or(0));
    let (rule, forests, bad_address) = (number(rule), forests as u32, bad.slice(..).address());
    let arguments = DiagonalArguments { rule, forests, inverse, moduli, shares, bad: bad_address };
    let (arguments, blocks) =
        (Arguments::default().with(a.arguments()).with(arguments), (a.rows() * ROW_THREADS).div_ceil(THREADS as usize));
    // SAFETY: these are the kernel's arguments, and the callers' arrays have one element per row.
    unsafe { arguments.launch(device, &format!("diagonal_{}", T::NAME), blocks, 0) }?;
    match bad.download()?[0] {
        0 => Ok(()),
        row => Err(Error::Singular { row: !row as usize }),
    }
}

/// The inverse D⁻¹ of the diagonal by a rule, as [`DiagonalRule::of`] computes D.
///
/// # Errors
/// [`Error::Shape`] if the matrix is not square; [`Error::Singular`] with the first row whose element is 0, NaN or infinite; [`Error::Device`].
pub(crate) fn inverse_diagonal<T: DeviceScalar>(a: &DeviceCsr<T>, rule: DiagonalRule) -> Result<DeviceVec<T>> {
    let inverse = a.device().zeros(a.rows())?;
    launch(a, (rule, 1), [Some(inverse.slice(..).address()), None, None])?;
    Ok(inverse)
}

/// 1/|dᵢ| with the diagonal d by [`DiagonalRule::P1`].
///
/// # Errors
/// As [`inverse_diagonal`].
pub(crate) fn inverse_moduli<T: DeviceScalar>(a: &DeviceCsr<T>) -> Result<DeviceVec<f64>> {
    let moduli = a.device().zeros(a.rows())?;
    launch(a, (DiagonalRule::P1, 1), [None, Some(moduli.slice(..).address()), None])?;
    Ok(moduli)
}

/// t⁻¹ and jᵢ = 1 + (aᵢᵢ − tᵢ)/(tᵢ·m) for a product of m forests, with the diagonal t by [`DiagonalRule::P1`].
///
/// # Errors
/// As [`inverse_diagonal`].
pub(crate) fn product_diagonals<T: DeviceScalar>(a: &DeviceCsr<T>, forests: usize) -> Result<[DeviceVec<T>; 2]> {
    let [inverse, shares] = [a.device().zeros(a.rows())?, a.device().zeros(a.rows())?];
    let [to_inverse, to_shares] = [&inverse, &shares].map(|array| Some(array.slice(..).address()));
    launch(a, (DiagonalRule::P1, forests), [to_inverse, None, to_shares])?;
    Ok([inverse, shares])
}
