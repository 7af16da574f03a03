//! The C functions for batches in `double`.

use super::*;

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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Both { kl, ku },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    false,
                ),
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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Both { kl, ku },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    false,
                ),
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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Both { kl, ku },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    true,
                ),
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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Both { kl, ku },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    true,
                ),
                ab,
            )
        })
    })
}

/// Solve `count` symmetric (or Hermitian) positive definite banded systems of n unknowns each, with `kd` diagonals on each side, at most 15.
///
/// `ab` has one triangle of each matrix. The entry of the matrix of system s in row i and column j is at
///
///     uplo = 'U', i <= j   ab[(kd + i - j) * ab_row_stride + j * ab_column_stride + s * ab_system_stride]
///     uplo = 'L', i >= j   ab[(i - j) * ab_row_stride + j * ab_column_stride + s * ab_system_stride]
///
/// The strides are those of `bandsolve_dgbsv_batch`, with kd + 1 in place of kl + ku + 1. With kd = 1, the systems are tridiagonal. If a matrix is
/// not positive definite, the status is `BANDSOLVE_NOT_DEFINITE`, and the message counts row i of system s as s * n + i.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpbsv_batch(
    uplo: c_char,
    n: i64,
    kd: i64,
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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Triangle { uplo, kd },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    false,
                ),
                ab,
            ),
            rhs,
        )
    })
}

/// Prepare `count` positive definite banded matrices of n rows each, for `bandsolve_dpbtrs_batch`.
///
/// The arguments are those of `bandsolve_dpbsv_batch`, and `factor` is that of `bandsolve_dgttrf`. The handle keeps a copy of `ab`. Factors are kept of
/// at most 4 systems, of large ones, and of a matrix that all systems have; all others are eliminated again by each solve. If a matrix is not positive
/// definite, this function or `bandsolve_dpbtrs_batch` returns `BANDSOLVE_NOT_DEFINITE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpbtrf_batch(
    uplo: c_char,
    n: i64,
    kd: i64,
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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Triangle { uplo, kd },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    false,
                ),
                ab,
            )
        })
    })
}

/// Solve the systems of `bandsolve_dpbtrf_batch` or `bandsolve_dcpbtrf_batch`. `rhs` has the strides of that call, and the solutions overwrite
/// it. `trans` is that of `bandsolve_dpbtrs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dpbtrs_batch(
    trans: c_char,
    factor: bandsolve_factor_t,
    rhs: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::solve_batch("pb", lapack::op(trans)?, factor, rhs) })
}

/// Solve `count` periodic positive definite banded systems of n unknowns each, with `kd` diagonals on each side, at most 7.
///
/// The arguments are those of `bandsolve_dpbsv_batch`. The function reads all entries of `ab`: indices of the matrix are taken modulo n. If n <= 2 * kd,
/// the function adds entries of the same row and column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcpbsv_batch(
    uplo: c_char,
    n: i64,
    kd: i64,
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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Triangle { uplo, kd },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    true,
                ),
                ab,
            ),
            rhs,
        )
    })
}

/// Prepare `count` periodic positive definite banded matrices of n rows each, for `bandsolve_dpbtrs_batch`.
///
/// The arguments are those of `bandsolve_dcpbsv_batch`, and `factor` is that of `bandsolve_dgttrf`. The handle keeps a copy of `ab`. Factors are kept of
/// at most 4 systems, of large ones, and of a matrix that all systems have; all others are eliminated again by each solve. If a matrix is not positive
/// definite, this function or `bandsolve_dpbtrs_batch` returns `BANDSOLVE_NOT_DEFINITE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_dcpbtrf_batch(
    uplo: c_char,
    n: i64,
    kd: i64,
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
                (
                    BandArguments {
                        diagonals: StoredDiagonals::Triangle { uplo, kd },
                        ab_row_stride,
                        ab_column_stride,
                        ab_system_stride,
                    },
                    true,
                ),
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
