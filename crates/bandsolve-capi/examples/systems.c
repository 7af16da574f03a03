/* A tridiagonal, a periodic, a block tridiagonal and a banded system, each solved for a solution that is known. */

#include <bandsolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The solution that every right-hand side is made for. */
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

/* Blocks of two rows, columns one after the other: sub = -1, sup = -1 on their diagonals, diag = [6 1; 2 6]. */
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

/* Two diagonals below and one above the main one, the lowest first; memory is left to the library. */
static void banded(int64_t n) {
    const double diagonals[4] = {1.0, -2.0, 9.0, 3.0};
    double *bands = allocate(4 * (size_t)n * sizeof *bands);
    double *x = allocate((size_t)n * sizeof *x), *rhs = allocate((size_t)n * sizeof *rhs);
    int64_t i, k;
    for (i = 0; i < n; i++) {
        rhs[i] = 0.0;
        for (k = 0; k < 4; k++) {
            const int64_t j = i + k - 2;
            bands[k * n + i] = diagonals[k];
            if (j >= 0 && j < n) rhs[i] += diagonals[k] * known(j);
        }
    }
    require(bandsolveDgbsv(pivoting, n, 1, 2, 1, bands, x, rhs, NULL), "banded");
    check("banded", x, n);
    free(bands), free(x), free(rhs);
}

/* A matrix of zeros is said to be singular, a missing array is named. */
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
    banded(5000);
    errors();
    printf("%d passed\n", checks);
    return 0;
}
