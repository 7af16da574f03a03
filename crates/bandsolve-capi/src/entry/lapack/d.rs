//! The C functions with LAPACK's names in `double`.

use super::*;

/// Solve A X = RHS for a tridiagonal matrix.
///
/// `diag` has n entries; `sub` and `sup` have n - 1 entries:
///
///     sub[i-1] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i],   i = 0 ... n-1
///
/// `rhs` is column-major with n_rhs columns and the leading dimension `ld_rhs`. The solutions overwrite `rhs`. The matrix remains
/// unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgtsv(
    n: i64,
    n_rhs: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_once(
            n,
            || lapack::gt(Lifetime::Call, (n, false), [sub, diag, sup]),
            LapackColumns { n_rhs, rhs, leading: ld_rhs },
        )
    })
}

/// Factor a tridiagonal matrix.
///
/// The matrix is stored as for `bandsolve_dgtsv`. `factor` is a handle of `bandsolve_factor_create`. If the handle contains factors, the
/// function frees them first. The handle keeps a copy of the matrix: you may change or free the arrays after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgttrf(
    n: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::store(factor, || lapack::gt(Lifetime::Handle, (n, false), [sub, diag, sup])) })
}

/// Solve op(A) X = RHS with the factors of `bandsolve_dgttrf`.
///
/// op(A) is A if `trans` is 'N', A^T if it is 'T', and A^H if it is 'C'. `rhs` is column-major with n_rhs columns and the leading
/// dimension `ld_rhs`. The solutions overwrite `rhs`. Any number of threads may solve with the same factors at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgttrs(
    trans: c_char,
    n_rhs: i64,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve("gt", lapack::op(trans)?, factor, LapackColumns { n_rhs, rhs, leading: ld_rhs }) })
}

/// Estimate the reciprocal condition number 1 / (||A|| ||A^-1||) of a matrix that `bandsolve_dgttrf` factored.
///
/// The norm is the 1-norm if `norm` is '1' or 'O', and the infinity norm if it is 'I'. The function computes ||A|| itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgtcon(
    norm: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut c_double,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::condition::<f64>("gt", norm, factor, rcond) })
}

/// Solve A X = RHS for a periodic (cyclic) tridiagonal matrix.
///
/// `sub`, `diag` and `sup` have n entries. In the first row, `sub[0]` multiplies `x[n-1]`. In the last row, `sup[n-1]` multiplies `x[0]`.
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i],   i = 0 ... n-1
///
/// `rhs` is column-major with n_rhs columns and the leading dimension `ld_rhs`. The solutions overwrite `rhs`. The matrix remains
/// unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgtsv(
    n: i64,
    n_rhs: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_once(
            n,
            || lapack::gt(Lifetime::Call, (n, true), [sub, diag, sup]),
            LapackColumns { n_rhs, rhs, leading: ld_rhs },
        )
    })
}

/// Factor a periodic (cyclic) tridiagonal matrix.
///
/// The matrix is stored as for `bandsolve_dcgtsv`. `factor` is a handle of `bandsolve_factor_create`. If the handle contains factors, the
/// function frees them first. The handle keeps a copy of the matrix: you may change or free the arrays after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgttrf(
    n: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::store(factor, || lapack::gt(Lifetime::Handle, (n, true), [sub, diag, sup])) })
}

/// Solve op(A) X = RHS with the factors of `bandsolve_dcgttrf`.
///
/// op(A) is A if `trans` is 'N', A^T if it is 'T', and A^H if it is 'C'. `rhs` is column-major with n_rhs columns and the leading
/// dimension `ld_rhs`. The solutions overwrite `rhs`. Any number of threads may solve with the same factors at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgttrs(
    trans: c_char,
    n_rhs: i64,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve("cgt", lapack::op(trans)?, factor, LapackColumns { n_rhs, rhs, leading: ld_rhs }) })
}

/// Estimate the reciprocal condition number 1 / (||A|| ||A^-1||) of a matrix that `bandsolve_dcgttrf` factored.
///
/// The norm is the 1-norm if `norm` is '1' or 'O', and the infinity norm if it is 'I'. The function computes ||A|| itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgtcon(
    norm: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut c_double,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::condition::<f64>("cgt", norm, factor, rcond) })
}

/// Solve A X = RHS for a banded matrix with `kl` diagonals below and `ku` diagonals above the main diagonal.
///
/// `ab` is LAPACK's band storage of `dgbtrf`, column-major with `ldab` >= 2 kl + ku + 1 rows:
///
///     ab[kl + ku + i - j + j * ldab] = A(i, j),   max(0, j - ku) <= i <= min(n - 1, j + kl)
///
/// The function does not read or write the first kl rows, which LAPACK uses for fill-in, nor entries outside of the matrix.
///
/// `rhs` is column-major with n_rhs columns and the leading dimension `ld_rhs`. The solutions overwrite `rhs`. The matrix remains
/// unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgbsv(
    n: i64,
    kl: i64,
    ku: i64,
    n_rhs: i64,
    ab: *const f64,
    ldab: i64,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_once(
            n,
            || lapack::gb(Lifetime::Call, (n, kl, ku), (ab, ldab)),
            LapackColumns { n_rhs, rhs, leading: ld_rhs },
        )
    })
}

/// Factor a banded matrix with `kl` diagonals below and `ku` diagonals above the main diagonal.
///
/// The matrix is stored as for `bandsolve_dgbsv`. `factor` is a handle of `bandsolve_factor_create`. If the handle contains factors, the
/// function frees them first. The handle keeps a copy of the matrix: you may change or free the arrays after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgbtrf(
    n: i64,
    kl: i64,
    ku: i64,
    ab: *const f64,
    ldab: i64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::store(factor, || lapack::gb(Lifetime::Handle, (n, kl, ku), (ab, ldab))) })
}

/// Solve op(A) X = RHS with the factors of `bandsolve_dgbtrf`.
///
/// op(A) is A if `trans` is 'N', A^T if it is 'T', and A^H if it is 'C'. `rhs` is column-major with n_rhs columns and the leading
/// dimension `ld_rhs`. The solutions overwrite `rhs`. Any number of threads may solve with the same factors at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgbtrs(
    trans: c_char,
    n_rhs: i64,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve("gb", lapack::op(trans)?, factor, LapackColumns { n_rhs, rhs, leading: ld_rhs }) })
}

/// Estimate the reciprocal condition number 1 / (||A|| ||A^-1||) of a matrix that `bandsolve_dgbtrf` factored.
///
/// The norm is the 1-norm if `norm` is '1' or 'O', and the infinity norm if it is 'I'. The function computes ||A|| itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgbcon(
    norm: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut c_double,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::condition::<f64>("gb", norm, factor, rcond) })
}

/// Solve A X = RHS for a Hermitian positive definite tridiagonal matrix.
///
/// `diag` has n real entries, and `off` has the n - 1 entries A(i+1, i) below the diagonal. The method is `cholesky`: the status is
/// `BANDSOLVE_NOT_DEFINITE` if the matrix is not positive definite.
///
/// `rhs` is column-major with n_rhs columns and the leading dimension `ld_rhs`. The solutions overwrite `rhs`. The matrix remains
/// unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dptsv(
    n: i64,
    n_rhs: i64,
    diag: *const c_double,
    off: *const f64,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_once(
            n,
            || lapack::pt::<f64>(Lifetime::Call, n, diag, off),
            LapackColumns { n_rhs, rhs, leading: ld_rhs },
        )
    })
}

/// Factor a Hermitian positive definite tridiagonal matrix.
///
/// The matrix is stored as for `bandsolve_dptsv`. `factor` is a handle of `bandsolve_factor_create`. If the handle contains factors, the
/// function frees them first. The handle keeps a copy of the matrix: you may change or free the arrays after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpttrf(
    n: i64,
    diag: *const c_double,
    off: *const f64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::store(factor, || lapack::pt::<f64>(Lifetime::Handle, n, diag, off)) })
}

/// Solve op(A) X = RHS with the factors of `bandsolve_dpttrf`.
///
/// op(A) is A if `trans` is 'N', A^T if it is 'T', and A^H if it is 'C'. `rhs` is column-major with n_rhs columns and the leading
/// dimension `ld_rhs`. The solutions overwrite `rhs`. Any number of threads may solve with the same factors at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpttrs(
    trans: c_char,
    n_rhs: i64,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve("pt", lapack::op(trans)?, factor, LapackColumns { n_rhs, rhs, leading: ld_rhs }) })
}

/// Estimate the reciprocal condition number 1 / (||A|| ||A^-1||) of a matrix that `bandsolve_dpttrf` factored.
///
/// The norm is the 1-norm if `norm` is '1' or 'O', and the infinity norm if it is 'I'. The function computes ||A|| itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dptcon(
    norm: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut c_double,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::condition::<f64>("pt", norm, factor, rcond) })
}

/// Solve A X = RHS for a Hermitian positive definite banded matrix with `kd` diagonals on each side of the main diagonal.
///
/// `ab` is LAPACK's band storage of one triangle, column-major with `ldab` >= kd + 1 rows:
///
///     uplo = 'U':   ab[kd + i - j + j * ldab] = A(i, j),   max(0, j - kd) <= i <= j
///     uplo = 'L':   ab[i - j + j * ldab] = A(i, j),        j <= i <= min(n - 1, j + kd)
///
/// The method is `cholesky`: the status is `BANDSOLVE_NOT_DEFINITE` if the matrix is not positive definite.
///
/// `rhs` is column-major with n_rhs columns and the leading dimension `ld_rhs`. The solutions overwrite `rhs`. The matrix remains
/// unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpbsv(
    uplo: c_char,
    n: i64,
    kd: i64,
    n_rhs: i64,
    ab: *const f64,
    ldab: i64,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_once(
            n,
            || lapack::pb(Lifetime::Call, uplo, (n, kd), (ab, ldab)),
            LapackColumns { n_rhs, rhs, leading: ld_rhs },
        )
    })
}

/// Factor a Hermitian positive definite banded matrix with `kd` diagonals on each side of the main diagonal.
///
/// The matrix is stored as for `bandsolve_dpbsv`. `factor` is a handle of `bandsolve_factor_create`. If the handle contains factors, the
/// function frees them first. The handle keeps a copy of the matrix: you may change or free the arrays after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpbtrf(
    uplo: c_char,
    n: i64,
    kd: i64,
    ab: *const f64,
    ldab: i64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::store(factor, || lapack::pb(Lifetime::Handle, uplo, (n, kd), (ab, ldab))) })
}

/// Solve op(A) X = RHS with the factors of `bandsolve_dpbtrf`.
///
/// op(A) is A if `trans` is 'N', A^T if it is 'T', and A^H if it is 'C'. `rhs` is column-major with n_rhs columns and the leading
/// dimension `ld_rhs`. The solutions overwrite `rhs`. Any number of threads may solve with the same factors at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpbtrs(
    trans: c_char,
    n_rhs: i64,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve("pb", lapack::op(trans)?, factor, LapackColumns { n_rhs, rhs, leading: ld_rhs }) })
}

/// Estimate the reciprocal condition number 1 / (||A|| ||A^-1||) of a matrix that `bandsolve_dpbtrf` factored.
///
/// The norm is the 1-norm if `norm` is '1' or 'O', and the infinity norm if it is 'I'. The function computes ||A|| itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpbcon(
    norm: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut c_double,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::condition::<f64>("pb", norm, factor, rcond) })
}

/// Solve A X = RHS for a block tridiagonal matrix of n block rows.
///
/// Each block has `block` by `block` entries, column-major, and the blocks of an array follow each other. `diag` has n blocks; `sub` and
/// `sup` have n - 1 blocks. x and rhs have n * block rows.
///
/// `rhs` is column-major with n_rhs columns and the leading dimension `ld_rhs`. The solutions overwrite `rhs`. The matrix remains
/// unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dbgtsv(
    n: i64,
    block: i64,
    n_rhs: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_once(
            n.saturating_mul(block),
            || lapack::bgt(Lifetime::Call, (n, block), [sub, diag, sup]),
            LapackColumns { n_rhs, rhs, leading: ld_rhs },
        )
    })
}

/// Factor a block tridiagonal matrix of n block rows.
///
/// The matrix is stored as for `bandsolve_dbgtsv`. `factor` is a handle of `bandsolve_factor_create`. If the handle contains factors, the
/// function frees them first. The handle keeps a copy of the matrix: you may change or free the arrays after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dbgttrf(
    n: i64,
    block: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::store(factor, || lapack::bgt(Lifetime::Handle, (n, block), [sub, diag, sup])) })
}

/// Solve op(A) X = RHS with the factors of `bandsolve_dbgttrf`.
///
/// op(A) is A if `trans` is 'N', A^T if it is 'T', and A^H if it is 'C'. `rhs` is column-major with n_rhs columns and the leading
/// dimension `ld_rhs`. The solutions overwrite `rhs`. Any number of threads may solve with the same factors at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dbgttrs(
    trans: c_char,
    n_rhs: i64,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
    ld_rhs: i64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve("bgt", lapack::op(trans)?, factor, LapackColumns { n_rhs, rhs, leading: ld_rhs }) })
}

/// Estimate the reciprocal condition number 1 / (||A|| ||A^-1||) of a matrix that `bandsolve_dbgttrf` factored.
///
/// The norm is the 1-norm if `norm` is '1' or 'O', and the infinity norm if it is 'I'. The function computes ||A|| itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dbgtcon(
    norm: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut c_double,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::condition::<f64>("bgt", norm, factor, rcond) })
}

/// Get the determinant det A = phase * exp(log_abs) of a factored matrix, for any routine that factors.
///
/// `phase` is 1 or -1, or a number of modulus 1 if the numbers are complex. It is 0 if the matrix is singular. `log_abs` is the natural
/// logarithm of |det A|, so that it neither overflows nor underflows. For a batch, the result is the product over the systems.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dfactor_det(
    factor: bandsolve_factor_t,
    phase: *mut f64,
    log_abs: *mut DoubleArgument,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::determinant(factor, phase, log_abs) })
}
