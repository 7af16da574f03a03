/* Solve a tridiagonal, a periodic, a block tridiagonal and a banded system, each with a known solution. */

#include <bandsolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bandsolve_pivoting_t pivoting = BANDSOLVE_DEFAULT_PIVOTING;
static int checks = 0;

static void require(bandsolve_status_t status, const char *what) {
    if (status != BANDSOLVE_SUCCESS) {
        fprintf(stderr, "%s: %s: %s\n", what, bandsolveStatusName(status), bandsolveLastError());
        exit(1);
    }
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

/* The known solution of all systems. */
static double known(int64_t i) { return 1.0 + (double)(i % 7); }

static void check(const char *what, const double *x, int64_t n) {
    bandsolve_report_t report;
    double error = 0.0;
    int64_t i;
    report.size = sizeof report;
    require(bandsolveLastReport(&report), "report");
    for (i = 0; i < n; i++) {
        error = fmax(error, fabs(x[i] - known(i)));
    }
    printf("%-18s error %.1e, backward error %.1e, method %s\n", what, error, report.backward_error, report.method);
    if (!(error <= 1e-12) || !(report.backward_error <= 2e-15)) {
        fprintf(stderr, "%s: x is wrong\n", what);
        exit(1);
    }
    checks++;
}

/* -x[i-1] + 4 x[i] - 2 x[i+1], open or periodic; the solution replaces the right-hand side. */
static void tridiagonal(int64_t n, int periodic) {
    double *sub = allocate((size_t)n * sizeof *sub), *diag = allocate((size_t)n * sizeof *diag);
    double *sup = allocate((size_t)n * sizeof *sup), *x = allocate((size_t)n * sizeof *x);
    void *buffer;
    size_t bytes = 0;
    int64_t i;
    for (i = 0; i < n; i++) {
        sub[i] = -1.0;
        diag[i] = 4.0;
        sup[i] = -2.0;
        x[i] = 4.0 * known(i);
        if (i > 0 || periodic) x[i] -= known(i > 0 ? i - 1 : n - 1);
        if (i + 1 < n || periodic) x[i] -= 2.0 * known(i + 1 < n ? i + 1 : 0);
    }
    if (periodic) {
        require(bandsolveDcgtsv_bufferSizeExt(pivoting, n, 1, &bytes), "size");
        buffer = allocate(bytes);
        require(bandsolveDcgtsv(pivoting, n, 1, sub, diag, sup, x, x, buffer), "periodic");
    } else {
        require(bandsolveDgtsv_bufferSizeExt(pivoting, n, 1, &bytes), "size");
        buffer = allocate(bytes);
        require(bandsolveDgtsv(pivoting, n, 1, sub, diag, sup, x, x, buffer), "tridiagonal");
    }
    check(periodic ? "periodic" : "tridiagonal", x, n);
    free(sub), free(diag), free(sup), free(x), free(buffer);
}

/* Blocks of two rows, column-major: sub and sup have -1 on their diagonals, diag = [6 1; 2 6]. */
static void block_tridiagonal(int64_t n) {
    size_t entries = 4 * (size_t)n;
    double *sub = allocate(entries * sizeof *sub), *diag = allocate(entries * sizeof *diag);
    double *sup = allocate(entries * sizeof *sup);
    double *x = allocate(2 * (size_t)n * sizeof *x), *rhs = allocate(2 * (size_t)n * sizeof *rhs);
    void *buffer;
    size_t bytes = 0;
    int64_t i, r;
    for (i = 0; i < n; i++) {
        const double block[4] = {6.0, 2.0, 1.0, 6.0};
        for (r = 0; r < 4; r++) {
            sub[4 * i + r] = sup[4 * i + r] = r == 0 || r == 3 ? -1.0 : 0.0;
            diag[4 * i + r] = block[r];
        }
        for (r = 0; r < 2; r++) {
            rhs[2 * i + r] = block[r] * known(2 * i) + block[r + 2] * known(2 * i + 1);
            if (i > 0) rhs[2 * i + r] -= known(2 * (i - 1) + r);
            if (i + 1 < n) rhs[2 * i + r] -= known(2 * (i + 1) + r);
        }
    }
    require(bandsolveDbgtsv_bufferSizeExt(pivoting, n, 1, 2, &bytes), "size");
    buffer = allocate(bytes);
    require(bandsolveDbgtsv(pivoting, n, 1, 2, sub, diag, sup, x, rhs, buffer), "block tridiagonal");
    check("block tridiagonal", x, 2 * n);
    free(sub), free(diag), free(sup), free(x), free(rhs), free(buffer);
}

/* Two diagonals below the main diagonal and one above, the lowest first. */
static void banded(int64_t n) {
    const double diagonals[4] = {1.0, -2.0, 9.0, 3.0};
    double *bands = allocate(4 * (size_t)n * sizeof *bands);
    double *x = allocate((size_t)n * sizeof *x), *rhs = allocate((size_t)n * sizeof *rhs);
    size_t bytes;
    void *buffer;
    int64_t i, k;
    for (i = 0; i < n; i++) {
        rhs[i] = 0.0;
        for (k = 0; k < 4; k++) {
            const int64_t j = i + k - 2;
            bands[k * n + i] = diagonals[k];
            if (j >= 0 && j < n) rhs[i] += diagonals[k] * known(j);
        }
    }
    require(bandsolveDgbsv_bufferSizeExt(pivoting, n, 1, 2, 1, &bytes), "size");
    buffer = allocate(bytes);
    require(bandsolveDgbsv(pivoting, n, 1, 2, 1, bands, x, rhs, buffer), "banded");
    /* With NULL for the buffer, the library allocates the memory. */
    require(bandsolveDgbsv(pivoting, n, 1, 2, 1, bands, x, rhs, NULL), "banded");
    check("banded", x, n);
    free(bands), free(x), free(rhs), free(buffer);
}

/* A periodic block tridiagonal system with two right-hand sides. Blocks of two rows: diag = [5 1; 0 5], sub and sup = -1 on the
   diagonal. The first block of sub and the last block of sup are the corners. */
static void periodic_blocks(int64_t n) {
    const int64_t rows = 2 * n;
    double *sub = allocate(4 * (size_t)n * sizeof *sub), *diag = allocate(4 * (size_t)n * sizeof *diag);
    double *sup = allocate(4 * (size_t)n * sizeof *sup), *x = allocate(2 * (size_t)rows * sizeof *x);
    size_t bytes;
    void *buffer;
    int64_t i, r;
    for (i = 0; i < n; i++) {
        const double block[4] = {5.0, 0.0, 1.0, 5.0};
        for (r = 0; r < 4; r++) {
            diag[4 * i + r] = block[r];
            sub[4 * i + r] = sup[4 * i + r] = r == 0 || r == 3 ? -1.0 : 0.0;
        }
        for (r = 0; r < 2; r++) {
            double value = block[r] * known(2 * i) + block[r + 2] * known(2 * i + 1);
            value -= known(2 * ((i + n - 1) % n) + r) + known(2 * ((i + 1) % n) + r);
            x[2 * i + r] = x[rows + 2 * i + r] = value;
        }
    }
    require(bandsolveDcbgtsv_bufferSizeExt(pivoting, n, 2, 2, &bytes), "size");
    buffer = allocate(bytes);
    require(bandsolveDcbgtsv(pivoting, n, 2, 2, sub, diag, sup, x, x, buffer), "periodic blocks");
    check("periodic blocks", x, rows);
    check("second solution", x + rows, rows);
    free(sub), free(diag), free(sup), free(x), free(buffer);
}

/* Factor a block tridiagonal matrix once, and solve for two right-hand sides, one after the other. */
static void factor_once(int64_t n) {
    double *off = allocate(4 * (size_t)n * sizeof *off), *diag = allocate(4 * (size_t)n * sizeof *diag);
    double *x = allocate(2 * (size_t)n * sizeof *x), *rhs = allocate(2 * (size_t)n * sizeof *rhs);
    size_t bytes;
    void *factors, *buffer;
    int64_t i, r, solve;
    for (i = 0; i < n; i++) {
        for (r = 0; r < 4; r++) {
            off[4 * i + r] = r == 0 || r == 3 ? -1.0 : 0.0;
            diag[4 * i + r] = r == 0 || r == 3 ? 4.0 : 0.0;
        }
        for (r = 0; r < 2; r++) {
            rhs[2 * i + r] = 4.0 * known(2 * i + r);
            if (i > 0) rhs[2 * i + r] -= known(2 * (i - 1) + r);
            if (i + 1 < n) rhs[2 * i + r] -= known(2 * (i + 1) + r);
        }
    }
    require(bandsolveDbgtf_factorizationBufferSizeExt(pivoting, n, 2, &bytes), "size");
    factors = allocate(bytes);
    memset(factors, 0, bytes);
    require(bandsolveDbgtf(pivoting, n, 2, off, diag, off, factors), "factor");
    require(bandsolveDbgtrfs_bufferSizeExt(pivoting, n, 1, 2, &bytes), "size");
    buffer = allocate(bytes);
    for (solve = 0; solve < 2; solve++) {
        require(bandsolveDbgtrfs(pivoting, n, 1, 2, off, diag, off, x, rhs, factors, buffer), "solve");
        check("factored", x, 2 * n);
    }
    require(bandsolveDbgtf_destroy(factors), "destroy");
    free(off), free(diag), free(x), free(rhs), free(factors), free(buffer);
}

/* One thread, the sequential pivoted method, and no verification; then the defaults again. */
static void settings(void) {
    const double off[3] = {-1, -1, -1}, diag[3] = {2, 2, 2}, rhs[3] = {0, 0, 4};
    double x[3];
    require(bandsolveSetThreads(1), "threads");
    require(bandsolveSetMethod("pivoted"), "method");
    require(bandsolveSetVerify(false), "verify");
    require(bandsolveDgtsv(pivoting, 3, 1, off, diag, off, x, rhs, NULL), "settings");
    printf("%-18s x = %.3g, %.3g, %.3g\n", "settings", x[0], x[1], x[2]);
    if (fabs(x[0] - 1.0) + fabs(x[1] - 2.0) + fabs(x[2] - 3.0) > 1e-14) exit(1);
    require(bandsolveSetThreads(0), "threads");
    require(bandsolveSetMethod(NULL), "method");
    require(bandsolveSetVerify(true), "verify");
    checks++;
}

/* 2 x[i] = d[i], where d has the entry 6 in row 1 and the entry -2 in row 3. */
static void sparse_right_hand_side(void) {
    enum { N = 5, KEPT = 1 };
    const double zeros[N] = {0}, diag[N] = {2, 2, 2, 2, 2}, values[2] = {6, -2};
    const int32_t rows[2] = {1, 3}, columns[2] = {0, 2}, kept[2] = {0, KEPT};
    double x[N], largest[KEPT];
    int32_t row[KEPT];
    size_t bytes;
    require(bandsolveDgtsv_csc2dense_bufferSizeExt(pivoting, N, 1, &bytes), "size");
    require(bandsolveDgtsv_csc2dense(pivoting, N, 1, zeros, diag, zeros, x, values, rows, columns, 2, NULL), "to dense");
    require(bandsolveDgtsv_csc2csc(pivoting, N, zeros, diag, zeros, values, rows, columns, 1, 2, largest, row, kept, KEPT), "to sparse");
    printf("%-18s x[1] = %g, x[3] = %g, largest entry: x[%d] = %g\n", "sparse", x[1], x[3], (int)row[0], largest[0]);
    if (x[0] != 0.0 || x[1] != 3.0 || x[3] != -1.0 || row[0] != 1 || largest[0] != 3.0) exit(1);
    checks++;
}

/* A zero matrix is singular. The error for a missing array names the array. */
static void errors(void) {
    const double zeros[3] = {0.0, 0.0, 0.0}, ones[3] = {1.0, 1.0, 1.0};
    double x[3];
    if (bandsolveDgtsv(pivoting, 3, 1, zeros, zeros, zeros, x, ones, NULL) != BANDSOLVE_SINGULAR) exit(1);
    printf("%-18s %s\n", "zeros", bandsolveLastError());
    if (bandsolveDgtsv(pivoting, 3, 1, ones, NULL, ones, x, ones, NULL) != BANDSOLVE_INVALID_ARGUMENT) exit(1);
    printf("%-18s %s\n", "no diagonal", bandsolveLastError());
    checks += 2;
}

int main(void) {
    printf("bandsolve %s\n", bandsolveVersion());
    tridiagonal(100000, 0);
    tridiagonal(100000, 1);
    block_tridiagonal(20000);
    periodic_blocks(3000);
    factor_once(20000);
    banded(5000);
    settings();
    sparse_right_hand_side();
    errors();
    printf("%d passed\n", checks);
    return 0;
}
