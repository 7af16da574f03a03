//! The C functions for eigenvalues in `double`.

use super::*;

/// Compute all eigenvalues of a symmetric tridiagonal matrix, in ascending order.
///
/// `diag` has n entries, `off` has n - 1 entries, and `w` has n entries. Unlike LAPACK's `dsterf`, the function does not change the matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dsterf(
    n: i64,
    diag: *const f64,
    off: *const f64,
    w: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe { eigen::all(n, [diag, off], w) })
}

/// Compute selected eigenvalues of a symmetric tridiagonal matrix, and their eigenvectors if requested.
///
/// The arguments are those of LAPACK's `dstevr`. `range` selects the eigenvalues. 'A' means all eigenvalues. 'V' means those in the
/// half-open interval from `vl` to `vu`, without `vl`. 'I' means those with the numbers `il` to `iu` in ascending order, where the smallest
/// eigenvalue has the number 1.
///
/// `diag` has n entries and `off` has n - 1 entries, which remain unchanged. The function writes the number of eigenvalues to `m`, and
/// the eigenvalues in ascending order to the first m of the n entries of `w`.
///
/// If `jobz` is 'V', column k of `z` is the eigenvector of `w[k]` with the 2-norm 1. `z` is column-major with the leading dimension `ldz`,
/// and has n columns, or iu - il + 1 columns if `range` is 'I'. If `jobz` is 'N', the function does not use `z`.
///
/// If the status is `BANDSOLVE_SUCCESS`, the set of eigenvalues is complete: Sturm counts prove it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dstevr(
    jobz: c_char,
    range: c_char,
    n: i64,
    diag: *const f64,
    off: *const f64,
    vl: f64,
    vu: f64,
    il: i64,
    iu: i64,
    m: *mut i64,
    w: *mut f64,
    z: *mut f64,
    ldz: i64,
) -> bandsolve_status_t {
    let selection = EigenvalueSelection { range, interval: (vl, vu), indices: (il, iu) };
    guard(|| unsafe { eigen::selected((jobz, selection), n, [diag, off], (m, w), (z, ldz)) })
}

/// Count the eigenvalues of a symmetric tridiagonal matrix that are at most `shift`.
///
/// `diag` has n entries, and `off` has n - 1 entries. The count is exact, also if an eigenvalue is within rounding errors of `shift`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dstcount(
    n: i64,
    diag: *const f64,
    off: *const f64,
    shift: f64,
    count: *mut i64,
) -> bandsolve_status_t {
    guard(|| unsafe { eigen::count(n, [diag, off], shift, count) })
}
