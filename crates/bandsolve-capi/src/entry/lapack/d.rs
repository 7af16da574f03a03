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

/// Solve `count` tridiagonal systems of n unknowns each.
///
/// Entry i of system s is at index i * row_stride + s * system_stride of each array:
///
///     contiguous     row_stride = 1,      system_stride = n
///     strided        row_stride = 1,      system_stride >= n
///     interleaved    row_stride = count,  system_stride = 1
///
/// The function ignores `sub` of the first row and `sup` of the last row of each system. If `shared` is true, all systems have the same
/// matrix, and `sub`, `diag` and `sup` have n entries, one after the other. The solutions overwrite `rhs`. Contiguous and interleaved
/// batches are solved where they are; all others are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgtsv_batch(
    n: i64,
    count: i64,
    row_stride: i64,
    system_stride: i64,
    shared: BoolArgument,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    rhs: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_batch_once(
            lapack::batch(
                Lifetime::Call,
                BatchSizes { n, count, row_stride, system_stride },
                (shared, false),
                [sub, diag, sup],
            ),
            rhs,
        )
    })
}

/// Factor `count` tridiagonal matrices of n rows each.
///
/// The arguments are those of `bandsolve_dgtsv_batch`, and `factor` is that of `bandsolve_dgttrf`. Only a shared matrix has stored factors.
/// All other matrices are copied and eliminated again at each solve, which reads less memory than factors would.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgttrf_batch(
    n: i64,
    count: i64,
    row_stride: i64,
    system_stride: i64,
    shared: BoolArgument,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::store(factor, || {
            lapack::batch(
                Lifetime::Handle,
                BatchSizes { n, count, row_stride, system_stride },
                (shared, false),
                [sub, diag, sup],
            )
        })
    })
}

/// Solve the systems of `bandsolve_dgttrf_batch` or `bandsolve_dcgttrf_batch`. `rhs` has the strides of that call, and the solutions overwrite it. `trans` is that of
/// `bandsolve_dgttrs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgttrs_batch(
    trans: c_char,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve_batch("gt", lapack::op(trans)?, factor, rhs) })
}

/// Solve `count` periodic tridiagonal systems of n unknowns each.
///
/// The arguments are those of `bandsolve_dgtsv_batch`. `sub` of the first row of each system multiplies the last unknown of this system, and
/// `sup` of the last row multiplies the first unknown. If n is 1 or 2, entries of the same column are added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgtsv_batch(
    n: i64,
    count: i64,
    row_stride: i64,
    system_stride: i64,
    shared: BoolArgument,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    rhs: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_batch_once(
            lapack::batch(
                Lifetime::Call,
                BatchSizes { n, count, row_stride, system_stride },
                (shared, true),
                [sub, diag, sup],
            ),
            rhs,
        )
    })
}

/// Factor `count` periodic tridiagonal matrices of n rows each, for `bandsolve_dgttrs_batch`.
///
/// The matrices are those of `bandsolve_dcgtsv_batch`, and `factor` is that of `bandsolve_dgttrf_batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgttrf_batch(
    n: i64,
    count: i64,
    row_stride: i64,
    system_stride: i64,
    shared: BoolArgument,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::store(factor, || {
            lapack::batch(
                Lifetime::Handle,
                BatchSizes { n, count, row_stride, system_stride },
                (shared, true),
                [sub, diag, sup],
            )
        })
    })
}

/// Solve `count` banded systems of n unknowns each, with `kl` diagonals below and `ku` diagonals above the main diagonal, at most 15 each.
///
/// Entry (i, j) of the matrix of system s, for max(0, j - ku) <= i <= min(n - 1, j + kl), is at
///
///     ab[(ku + i - j) * ab_row_stride + j * ab_column_stride + s * ab_system_stride]
///
///     band storage of LAPACK   ab_row_stride = 1,          ab_column_stride = ldab,   ab_system_stride = n * ldab
///     a row per diagonal       ab_row_stride = n,          ab_column_stride = 1,      ab_system_stride = n * (kl + ku + 1)
///     interleaved              ab_row_stride = n * count,  ab_column_stride = count,  ab_system_stride = 1
///
/// If `ab_system_stride` is 0, all systems have the same matrix. The array of `bandsolve_dgbsv` begins with kl rows for fill-in: pass `ab + kl`.
///
/// Entry i of the right-hand side of system s is at `rhs[i * row_stride + s * system_stride]`, as for `bandsolve_dgtsv_batch`. The solutions
/// overwrite `rhs`. The function reads `ab` where it is. It copies `rhs` unless the batch is contiguous or interleaved.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgbsv_batch(
    n: i64,
    kl: i64,
    ku: i64,
    count: i64,
    ab: *const f64,
    ab_row_stride: i64,
    ab_column_stride: i64,
    ab_system_stride: i64,
    rhs: *mut f64,
    row_stride: i64,
    system_stride: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_batch_once(
            lapack::band_batch(
                Lifetime::Call,
                BatchSizes { n, count, row_stride, system_stride },
                (BandArguments { kl, ku, ab_row_stride, ab_column_stride, ab_system_stride }, false),
                ab,
            ),
            rhs,
        )
    })
}

/// Prepare `count` banded matrices of n rows each, to solve many times with them.
///
/// The arguments are those of `bandsolve_dgbsv_batch`, and `factor` is that of `bandsolve_dgttrf`. The handle keeps a copy of `ab`, and no
/// factors: each solve eliminates again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgbtrf_batch(
    n: i64,
    kl: i64,
    ku: i64,
    count: i64,
    ab: *const f64,
    ab_row_stride: i64,
    ab_column_stride: i64,
    ab_system_stride: i64,
    row_stride: i64,
    system_stride: i64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::store(factor, || {
            lapack::band_batch(
                Lifetime::Handle,
                BatchSizes { n, count, row_stride, system_stride },
                (BandArguments { kl, ku, ab_row_stride, ab_column_stride, ab_system_stride }, false),
                ab,
            )
        })
    })
}

/// Solve the systems of `bandsolve_dgbtrf_batch` or `bandsolve_dcgbtrf_batch`. `rhs` has the strides of that call, and the solutions overwrite
/// it. `trans` is that of `bandsolve_dgbtrs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dgbtrs_batch(
    trans: c_char,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve_batch("gb", lapack::op(trans)?, factor, rhs) })
}

/// Solve `count` periodic banded systems of n unknowns each, with at most 7 diagonals below and above the main diagonal.
///
/// The arguments are those of `bandsolve_dgbsv_batch`. The function reads all entries of `ab`: the entry in row r and column j of `ab` is in row
/// (j + r - ku) mod n of the matrix. If n <= kl + ku, the function adds entries of the same row and column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgbsv_batch(
    n: i64,
    kl: i64,
    ku: i64,
    count: i64,
    ab: *const f64,
    ab_row_stride: i64,
    ab_column_stride: i64,
    ab_system_stride: i64,
    rhs: *mut f64,
    row_stride: i64,
    system_stride: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_batch_once(
            lapack::band_batch(
                Lifetime::Call,
                BatchSizes { n, count, row_stride, system_stride },
                (BandArguments { kl, ku, ab_row_stride, ab_column_stride, ab_system_stride }, true),
                ab,
            ),
            rhs,
        )
    })
}

/// Prepare `count` periodic banded matrices of n rows each, for `bandsolve_dgbtrs_batch`.
///
/// The arguments are those of `bandsolve_dcgbsv_batch`, and `factor` is that of `bandsolve_dgttrf`. The handle keeps a copy of `ab`, and no
/// factors: each solve eliminates again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcgbtrf_batch(
    n: i64,
    kl: i64,
    ku: i64,
    count: i64,
    ab: *const f64,
    ab_row_stride: i64,
    ab_column_stride: i64,
    ab_system_stride: i64,
    row_stride: i64,
    system_stride: i64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::store(factor, || {
            lapack::band_batch(
                Lifetime::Handle,
                BatchSizes { n, count, row_stride, system_stride },
                (BandArguments { kl, ku, ab_row_stride, ab_column_stride, ab_system_stride }, true),
                ab,
            )
        })
    })
}

/// Solve `count` block tridiagonal systems of n block rows each, with blocks of `block` rows, at most 8.
///
/// Block row i of system s is `sub[i] * x[i-1] + diag[i] * x[i] + sup[i] * x[i+1] = rhs[i]`. Each array has n blocks per system. The first block
/// of `sub` and the last block of `sup` are ignored. Entry (r, c) of block i of `sub`, `diag` and `sup` is at
///
///     i * block_stride + r * entry_row_stride + c * entry_column_stride + s * matrix_stride
///
/// For example:
///
///     blocks by columns   block_stride = block * block,          entry_row_stride = 1,              entry_column_stride = block
///     blocks by rows      block_stride = block * block,          entry_row_stride = block,          entry_column_stride = 1
///     interleaved         block_stride = block * block * count,  entry_row_stride = block * count,  entry_column_stride = count
///
/// For one system after the other, `matrix_stride` is n * block * block, and for interleaved systems 1. If it is 0, all systems have the same
/// matrix.
///
/// Entry i of the right-hand side of system s, for 0 <= i < n * block, is at `rhs[i * row_stride + s * system_stride]`. The solutions
/// overwrite `rhs`. The function reads the matrices where they are. It copies `rhs` unless the batch is contiguous or interleaved.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dbgtsv_batch(
    n: i64,
    block: i64,
    count: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    block_stride: i64,
    entry_row_stride: i64,
    entry_column_stride: i64,
    matrix_stride: i64,
    rhs: *mut f64,
    row_stride: i64,
    system_stride: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_batch_once(
            lapack::block_batch(
                Lifetime::Call,
                BatchSizes { n, count, row_stride, system_stride },
                (BlockArguments { block, block_stride, entry_row_stride, entry_column_stride, matrix_stride }, false),
                [sub, diag, sup],
            ),
            rhs,
        )
    })
}

/// Prepare `count` block tridiagonal matrices of n block rows each, to solve many times with them.
///
/// The arguments are those of `bandsolve_dbgtsv_batch`, and `factor` is that of `bandsolve_dgttrf`. The handle keeps copies of the arrays, and
/// no factors: each solve eliminates again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dbgttrf_batch(
    n: i64,
    block: i64,
    count: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    block_stride: i64,
    entry_row_stride: i64,
    entry_column_stride: i64,
    matrix_stride: i64,
    row_stride: i64,
    system_stride: i64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::store(factor, || {
            lapack::block_batch(
                Lifetime::Handle,
                BatchSizes { n, count, row_stride, system_stride },
                (BlockArguments { block, block_stride, entry_row_stride, entry_column_stride, matrix_stride }, false),
                [sub, diag, sup],
            )
        })
    })
}

/// Solve the systems of `bandsolve_dbgttrf_batch` or `bandsolve_dcbgttrf_batch`. `rhs` has the strides of that call, and the solutions
/// overwrite it. `trans` is that of `bandsolve_dgttrs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dbgttrs_batch(
    trans: c_char,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve_batch("bgt", lapack::op(trans)?, factor, rhs) })
}

/// Solve `count` periodic block tridiagonal systems of n block rows each, with blocks of at most 5 rows.
///
/// The arguments are those of `bandsolve_dbgtsv_batch`. The first block of `sub` of each system multiplies its last block of unknowns, and the
/// last block of `sup` multiplies the first one. If n is 1 or 2, the function adds blocks of the same
/// columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcbgtsv_batch(
    n: i64,
    block: i64,
    count: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    block_stride: i64,
    entry_row_stride: i64,
    entry_column_stride: i64,
    matrix_stride: i64,
    rhs: *mut f64,
    row_stride: i64,
    system_stride: i64,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::solve_batch_once(
            lapack::block_batch(
                Lifetime::Call,
                BatchSizes { n, count, row_stride, system_stride },
                (BlockArguments { block, block_stride, entry_row_stride, entry_column_stride, matrix_stride }, true),
                [sub, diag, sup],
            ),
            rhs,
        )
    })
}

/// Prepare `count` periodic block tridiagonal matrices of n block rows each, for `bandsolve_dbgttrs_batch`.
///
/// The arguments are those of `bandsolve_dcbgtsv_batch`, and `factor` is that of `bandsolve_dgttrf`. The handle keeps copies of the arrays, and
/// no factors: each solve eliminates again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcbgttrf_batch(
    n: i64,
    block: i64,
    count: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    block_stride: i64,
    entry_row_stride: i64,
    entry_column_stride: i64,
    matrix_stride: i64,
    row_stride: i64,
    system_stride: i64,
    factor: bandsolve_factor_t,
) -> bandsolve_status_t {
    guard(|| unsafe {
        lapack::store(factor, || {
            lapack::block_batch(
                Lifetime::Handle,
                BatchSizes { n, count, row_stride, system_stride },
                (BlockArguments { block, block_stride, entry_row_stride, entry_column_stride, matrix_stride }, true),
                [sub, diag, sup],
            )
        })
    })
}
