/* Every function with LAPACK's name, each for a system with the solution x = 1. */

#include <bandsolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 50 };

static int passed = 0;

/* Stop with the message of the library unless a call succeeded. */
static void check(bandsolve_status_t status) {
    if (status == BANDSOLVE_SUCCESS) return;
    fprintf(stderr, "%s: %s\n", bandsolveStatusName(status), bandsolveLastError());
    exit(1);
}

static void check_that(bool holds, const char *what) {
    if (holds) {
        passed++;
        return;
    }
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

static void check_ones(int64_t count, const double *x, const char *what) {
    double error = 0.0;
    int64_t i;
    for (i = 0; i < count; i++) error = fmax(error, fabs(x[i] - 1.0));
    check_that(error <= 1e-14, what);
}

/* The rows -x[i-1] + 4 x[i] - x[i+1] and their right-hand side for x = 1. */
static double off[n], diag[n], rhs[n];

static void fill_matrix(void) {
    int i;
    for (i = 0; i < n; i++) {
        off[i] = -1.0;
        diag[i] = 4.0;
        rhs[i] = i == 0 || i == n - 1 ? 3.0 : 2.0;
    }
}

static void copy(int64_t count, const double *from, double *to) {
    int64_t i;
    for (i = 0; i < count; i++) to[i] = from[i];
}

/* Off-diagonals have n - 1 entries, as in LAPACK. */
static void tridiagonal(bandsolve_factor_t factor) {
    double x[n], rcond, phase, log_abs;
    copy(n, rhs, x);
    check(bandsolve_dgtsv(n, 1, off, diag, off, x, n));
    check_ones(n, x, "gtsv");
    copy(n, rhs, x);
    check(bandsolve_dgttrf(n, off, diag, off, factor));
    check(bandsolve_dgttrs('T', 1, factor, x, n));
    check_ones(n, x, "gttrs");
    check(bandsolve_dgtcon('1', factor, &rcond));
    check_that(rcond > 0.3 && rcond < 0.4, "gtcon");
    check(bandsolve_factor_rcond('I', factor, &rcond));
    check_that(rcond > 0.3 && rcond < 0.4, "factor_rcond");
    check(bandsolve_dfactor_det(factor, &phase, &log_abs));
    /* det A = U_n(2), a Chebyshev polynomial of the second kind. */
    check_that(phase > 0.0 && fabs(log_abs - log((pow(2.0 + sqrt(3.0), n + 1) - pow(2.0 - sqrt(3.0), n + 1)) / sqrt(12.0))) < 1e-10,
               "factor_det");
}

/* Off-diagonals have n entries: off[0] is in the last column of row 0. */
static void periodic(bandsolve_factor_t factor) {
    double x[n], rcond;
    int i;
    for (i = 0; i < n; i++) x[i] = 2.0;
    check(bandsolve_dcgtsv(n, 1, off, diag, off, x, n));
    check_ones(n, x, "cgtsv");
    for (i = 0; i < n; i++) x[i] = 2.0;
    check(bandsolve_dcgttrf(n, off, diag, off, factor));
    check(bandsolve_dcgttrs('N', 1, factor, x, n));
    check_ones(n, x, "cgttrs");
    check(bandsolve_dcgtcon('1', factor, &rcond));
    check_that(rcond > 0.3 && rcond < 0.4, "cgtcon");
}

/* kl = 2, ku = 1: 8 on the diagonal and -1 beside it, in the storage of LAPACK's dgbtrf, with kl rows that are not used. */
static void banded(bandsolve_factor_t factor) {
    enum { kl = 2, ku = 1, ldab = 2 * kl + ku + 1 };
    double ab[ldab * n], of_ones[n], x[n], rcond;
    int i, j;
    for (j = 0; j < n; j++) {
        of_ones[j] = 0.0;
        for (i = 0; i < ldab; i++) ab[i + j * ldab] = i == kl + ku ? 8.0 : -1.0;
    }
    for (j = 0; j < n; j++) {
        for (i = j > ku ? j - ku : 0; i <= j + kl && i < n; i++) of_ones[i] += ab[kl + ku + i - j + j * ldab];
    }
    copy(n, of_ones, x);
    check(bandsolve_dgbsv(n, kl, ku, 1, ab, ldab, x, n));
    check_ones(n, x, "gbsv");
    copy(n, of_ones, x);
    check(bandsolve_dgbtrf(n, kl, ku, ab, ldab, factor));
    check(bandsolve_dgbtrs('N', 1, factor, x, n));
    check_ones(n, x, "gbtrs");
    check(bandsolve_dgbcon('1', factor, &rcond));
    check_that(rcond > 0.3 && rcond < 0.6, "gbcon");
}

/* The diagonal and the n - 1 entries below it. */
static void positive_definite(bandsolve_factor_t factor) {
    double x[n], indefinite[n], rcond;
    int i;
    copy(n, rhs, x);
    check(bandsolve_dptsv(n, 1, diag, off, x, n));
    check_ones(n, x, "ptsv");
    copy(n, rhs, x);
    check(bandsolve_dpttrf(n, diag, off, factor));
    check(bandsolve_dpttrs('N', 1, factor, x, n));
    check_ones(n, x, "pttrs");
    check(bandsolve_dptcon('1', factor, &rcond));
    check_that(rcond > 0.3 && rcond < 0.4, "ptcon");
    for (i = 0; i < n; i++) indefinite[i] = 0.5;
    check_that(bandsolve_dpttrf(n, indefinite, off, factor) == BANDSOLVE_NOT_DEFINITE, "a matrix that is not definite");
}

/* One triangle of a band, here the lower one: the diagonal is the first row of ab. */
static void positive_definite_band(bandsolve_factor_t factor) {
    double ab[2 * n], x[n], rcond;
    int j;
    for (j = 0; j < n; j++) {
        ab[2 * j] = 4.0;
        ab[2 * j + 1] = -1.0;
    }
    copy(n, rhs, x);
    check(bandsolve_dpbsv('L', n, 1, 1, ab, 2, x, n));
    check_ones(n, x, "pbsv");
    copy(n, rhs, x);
    check(bandsolve_dpbtrf('L', n, 1, ab, 2, factor));
    check(bandsolve_dpbtrs('N', 1, factor, x, n));
    check_ones(n, x, "pbtrs");
    check(bandsolve_dpbcon('1', factor, &rcond));
    check_that(rcond > 0.3 && rcond < 0.4, "pbcon");
}

/* n / 2 block rows of two rows: [8 1; 1 8] on the diagonal, the identity beside it. */
static void blocks(bandsolve_factor_t factor) {
    enum { rows = n / 2 };
    double beside[4 * (rows - 1)], on[4 * rows], of_ones[n], x[n], rcond;
    int i;
    for (i = 0; i < 4 * rows; i++) {
        on[i] = i % 4 == 0 || i % 4 == 3 ? 8.0 : 1.0;
        if (i < 4 * (rows - 1)) beside[i] = i % 4 == 0 || i % 4 == 3 ? 1.0 : 0.0;
    }
    for (i = 0; i < n; i++) of_ones[i] = i < 2 || i >= n - 2 ? 10.0 : 11.0;
    copy(n, of_ones, x);
    check(bandsolve_dbgtsv(rows, 2, 1, beside, on, beside, x, n));
    check_ones(n, x, "bgtsv");
    copy(n, of_ones, x);
    check(bandsolve_dbgttrf(rows, 2, beside, on, beside, factor));
    check(bandsolve_dbgttrs('N', 1, factor, x, n));
    check_ones(n, x, "bgttrs");
    check(bandsolve_dbgtcon('1', factor, &rcond));
    check_that(rcond > 0.3 && rcond < 0.6, "bgtcon");
}

/* Three systems with one matrix, one after the other: row_stride = 1, system_stride = n. */
static void batches(bandsolve_factor_t factor) {
    enum { count = 3 };
    double x[count * n];
    int s;
    for (s = 0; s < count; s++) copy(n, rhs, x + s * n);
    check(bandsolve_dgtsv_batch(n, count, 1, n, true, off, diag, off, x));
    check_ones(count * n, x, "gtsv_batch");
    for (s = 0; s < count; s++) copy(n, rhs, x + s * n);
    check(bandsolve_dgttrf_batch(n, count, 1, n, true, off, diag, off, factor));
    check(bandsolve_dgttrs_batch('N', factor, x));
    check_ones(count * n, x, "gttrs_batch");
    /* Each row of the periodic matrix has the same sum. */
    for (s = 0; s < count * n; s++) x[s] = off[0] + diag[0] + off[0];
    check(bandsolve_dcgtsv_batch(n, count, 1, n, true, off, diag, off, x));
    check_ones(count * n, x, "cgtsv_batch");
    for (s = 0; s < count * n; s++) x[s] = off[0] + diag[0] + off[0];
    check(bandsolve_dcgttrf_batch(n, count, 1, n, true, off, diag, off, factor));
    check(bandsolve_dgttrs_batch('N', factor, x));
    check_ones(count * n, x, "cgttrf_batch");
}

/* Three pentadiagonal systems in LAPACK's band storage, one after the other: 6 on the diagonal and 1 beside it, times 1, 2 and 3. */
static void batches_of_bands(bandsolve_factor_t factor) {
    enum { count = 3, kl = 2, ku = 2, rows = kl + ku + 1 };
    double ab[count * n * rows], sums[count * n], x[count * n];
    int i, j, s;
    for (s = 0; s < count; s++) {
        for (i = 0; i < n; i++) sums[s * n + i] = 0.0;
        for (j = 0; j < n; j++) {
            for (i = j < ku ? 0 : j - ku; i < n && i <= j + kl; i++) {
                double entry = (s + 1) * (i == j ? 6.0 : 1.0);
                ab[(s * n + j) * rows + ku + i - j] = entry;
                sums[s * n + i] += entry;
            }
        }
    }
    copy(count * n, sums, x);
    check(bandsolve_dgbsv_batch(n, kl, ku, count, ab, 1, rows, n * rows, x, 1, n));
    check_ones(count * n, x, "gbsv_batch");
    check(bandsolve_dgbtrf_batch(n, kl, ku, count, ab, 1, rows, n * rows, 1, n, factor));
    copy(count * n, sums, x);
    check(bandsolve_dgbtrs_batch('T', factor, x));
    check_ones(count * n, x, "gbtrs_batch");
    /* The first matrix for all systems: the stride is 0. */
    for (s = 0; s < count; s++) copy(n, sums, x + s * n);
    check(bandsolve_dgbsv_batch(n, kl, ku, count, ab, 1, rows, 0, x, 1, n));
    check_ones(count * n, x, "gbsv_batch, one matrix");
}

/* Three positive definite systems: the diagonals 4 and -1 times 1, 2, 3, open and periodic. */
static void batches_of_definite_bands(bandsolve_factor_t factor) {
    enum { count = 3 };
    double ab[count * n * 2], sums[count * n], x[count * n];
    int i, s;
    for (s = 0; s < count; s++) {
        for (i = 0; i < n; i++) {
            ab[(s * n + i) * 2] = 4.0 * (s + 1);
            ab[(s * n + i) * 2 + 1] = -1.0 * (s + 1);
            sums[s * n + i] = (i == 0 || i == n - 1 ? 3.0 : 2.0) * (s + 1);
        }
    }
    copy(count * n, sums, x);
    check(bandsolve_dpbsv_batch('L', n, 1, count, ab, 1, 2, 2 * n, x, 1, n));
    check_ones(count * n, x, "pbsv_batch");
    check(bandsolve_dpbtrf_batch('L', n, 1, count, ab, 1, 2, 2 * n, 1, n, factor));
    copy(count * n, sums, x);
    check(bandsolve_dpbtrs_batch('N', factor, x));
    check_ones(count * n, x, "pbtrs_batch");
    for (i = 0; i < count * n; i++) x[i] = 2.0 * (i / n + 1);
    check(bandsolve_dcpbsv_batch('L', n, 1, count, ab, 1, 2, 2 * n, x, 1, n));
    check_ones(count * n, x, "cpbsv_batch");
    check(bandsolve_dcpbtrf_batch('L', n, 1, count, ab, 1, 2, 2 * n, 1, n, factor));
    for (i = 0; i < count * n; i++) x[i] = 2.0 * (i / n + 1);
    check(bandsolve_dpbtrs_batch('N', factor, x));
    check_ones(count * n, x, "cpbtrf_batch");
}

/* Three periodic pentadiagonal systems: each row has the sum 10. */
static void batches_of_rings(bandsolve_factor_t factor) {
    enum { count = 3, kl = 2, ku = 2, rows = kl + ku + 1 };
    double ab[count * n * rows], x[count * n];
    int i;
    for (i = 0; i < count * n * rows; i++) ab[i] = i % rows == ku ? 6.0 : 1.0;
    for (i = 0; i < count * n; i++) x[i] = 10.0;
    check(bandsolve_dcgbsv_batch(n, kl, ku, count, ab, 1, rows, n * rows, x, 1, n));
    check_ones(count * n, x, "cgbsv_batch");
    check(bandsolve_dcgbtrf_batch(n, kl, ku, count, ab, 1, rows, n * rows, 1, n, factor));
    for (i = 0; i < count * n; i++) x[i] = 10.0;
    check(bandsolve_dgbtrs_batch('T', factor, x));
    check_ones(count * n, x, "cgbtrf_batch");
}

/* Three periodic systems of n / 2 block rows: [8 1; 1 8] on the diagonal, the identity beside it. Each row has the sum 11. */
static void batches_of_blocks(bandsolve_factor_t factor) {
    enum { count = 3, rows = n / 2, block = 2, size = block * block };
    double beside[rows * size], on[rows * size], sums[count * n], x[count * n];
    int i, s;
    for (i = 0; i < rows * size; i++) {
        on[i] = i % size == 0 || i % size == 3 ? 8.0 : 1.0;
        beside[i] = i % size == 0 || i % size == 3 ? 1.0 : 0.0;
    }
    for (i = 0; i < count * n; i++) x[i] = 11.0;
    check(bandsolve_dcbgtsv_batch(rows, block, count, beside, on, beside, size, 1, block, 0, x, 1, n));
    check_ones(count * n, x, "cbgtsv_batch");
    /* Open systems, and factors of both. */
    for (s = 0; s < count; s++) {
        for (i = 0; i < n; i++) sums[s * n + i] = i < block || i >= n - block ? 10.0 : 11.0;
    }
    copy(count * n, sums, x);
    check(bandsolve_dbgtsv_batch(rows, block, count, beside, on, beside, size, 1, block, 0, x, 1, n));
    check_ones(count * n, x, "bgtsv_batch");
    check(bandsolve_dbgttrf_batch(rows, block, count, beside, on, beside, size, 1, block, 0, 1, n, factor));
    copy(count * n, sums, x);
    check(bandsolve_dbgttrs_batch('T', factor, x));
    check_ones(count * n, x, "bgttrf_batch");
    check(bandsolve_dcbgttrf_batch(rows, block, count, beside, on, beside, size, 1, block, 0, 1, n, factor));
    for (i = 0; i < count * n; i++) x[i] = 11.0;
    check(bandsolve_dbgttrs_batch('N', factor, x));
    check_ones(count * n, x, "cbgttrf_batch");
}

/* The eigenvalues of the matrix are 4 - 2 cos(k pi / (n + 1)). */
static void eigenvalues(void) {
    const double pi = acos(-1.0);
    double w[n], z[2 * n], error = 0.0, product = 0.0;
    int64_t m, below;
    int i;
    check(bandsolve_dsterf(n, diag, off, w));
    for (i = 0; i < n; i++) error = fmax(error, fabs(w[i] - (4.0 - 2.0 * cos((i + 1) * pi / (n + 1)))));
    check_that(error < 1e-13, "sterf");
    /* The second and the third smallest, with their vectors. */
    check(bandsolve_dstevr('V', 'I', n, diag, off, 0.0, 0.0, 2, 3, &m, w, z, n));
    for (i = 0; i < n; i++) product += z[i] * z[n + i];
    check_that(m == 2 && fabs(product) < 1e-12, "stevr");
    check(bandsolve_dstcount(n, diag, off, 4.0, &below));
    check_that(below == n / 2, "stcount");
}

/* A handle is created once, and keeps the factors of one matrix after the other. */
int main(void) {
    bandsolve_factor_t factor;
    fill_matrix();
    check(bandsolve_factor_create(&factor));
    tridiagonal(factor);
    periodic(factor);
    banded(factor);
    positive_definite(factor);
    positive_definite_band(factor);
    blocks(factor);
    batches(factor);
    batches_of_bands(factor);
    batches_of_definite_bands(factor);
    batches_of_rings(factor);
    batches_of_blocks(factor);
    eigenvalues();
    check(bandsolve_factor_destroy(factor));
    check(bandsolve_shutdown());
    printf("%d passed\n", passed);
    return 0;
}
