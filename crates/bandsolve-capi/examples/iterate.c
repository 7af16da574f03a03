/* A sparse matrix that is no band: five points on a grid, strongly coupled along its columns. Its product with a known solution, the
   paths that carry most of its weight, a preconditioner made of them, and GMRES. */

#include <bandsolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 120, ROWS = 90, N = COLUMNS * ROWS };

static double values[5 * N];
static int32_t col_indices[5 * N], row_ptrs[N + 1];
static double known[N], x[N], rhs[N], sub[N], diag[N], sup[N];
static int64_t order[N];
static int checks = 0;

static void require(bandsolve_status_t status, const char *what) {
    if (status != BANDSOLVE_SUCCESS) {
        fprintf(stderr, "%s: %s: %s\n", what, bandsolveStatusName(status), bandsolveLastError());
        exit(1);
    }
}

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
    checks++;
}

/* Writes the arrays of the matrix; returns the number of entries. */
static int64_t assemble(void) {
    const int to[5] = {-COLUMNS, -1, 0, 1, COLUMNS};
    const double weight[5] = {-1.0, -0.05, 2.2, -0.05, -1.0};
    int i, k, nnz = 0;
    for (i = 0; i < N; i++) {
        const int column = i % COLUMNS, row = i / COLUMNS;
        const int there[5] = {row > 0, column > 0, 1, column + 1 < COLUMNS, row + 1 < ROWS};
        for (k = 0; k < 5; k++) {
            if (there[k]) {
                values[nnz] = weight[k];
                col_indices[nnz++] = i + to[k];
            }
        }
        row_ptrs[i + 1] = nnz;
        known[i] = 1.0 + (double)(i % 7);
    }
    return nnz;
}

/* Forgets the weak couplings: the tridiagonal system of the paths, which is solved in their order. */
static void along_paths(bandsolve_csr_t matrix) {
    bandsolve_forest_t forest;
    bandsolve_forest_info_t info;
    int i;
    info.size = sizeof info;
    require(bandsolveDcsr_forest(matrix, NULL, &forest), "forest");
    require(bandsolveForestInfo(forest, &info), "info");
    require(bandsolveForestArrays(forest, NULL, NULL, order, NULL), "order");
    require(bandsolveDcsr_tridiagonal(matrix, forest, sub, diag, sup), "tridiagonal");
    require(bandsolveForestDestroy(forest), "destroy");
    for (i = 0; i < N; i++) {
        x[i] = rhs[order[i]];
    }
    require(bandsolveDgtsv(BANDSOLVE_DEFAULT_PIVOTING, N, 1, sub, diag, sup, x, x, NULL), "paths");
    printf("%d paths carry %.0f%% of the weight\n", (int)info.paths, 100.0 * info.coverage);
    check(info.n == N && info.coverage > 0.8, "the paths miss the strong couplings");
}

/* Prints the residual now and then. */
static int32_t watch(int64_t iteration, double residual, double tolerance, void *count) {
    if (iteration % 5 == 0) printf("  %3d: %.1e, wanted %.1e\n", (int)iteration, residual, tolerance);
    *(int *)count = (int)iteration;
    return 0;
}

static void iterate(bandsolve_csr_t matrix, bandsolve_precond_t precond) {
    bandsolve_iteration_options_t options;
    bandsolve_iteration_report_t report;
    double error = 0.0;
    size_t bytes;
    void *buffer;
    int i, watched = 0;
    options.size = sizeof options;
    report.size = sizeof report;
    require(bandsolveIterationDefaults(&options), "defaults");
    options.rtol = 1e-10;
    options.watch = watch;
    options.watch_data = &watched;
    require(bandsolveDcsr_krylov_bufferSizeExt("gmres:20", matrix, precond, &bytes), "size");
    buffer = malloc(bytes);
    check(buffer != NULL, "out of memory");
    for (i = 0; i < N; i++) {
        x[i] = 0.0;
    }
    require(bandsolveDcsr_krylov("gmres:20", matrix, precond, &options, x, rhs, &report, buffer), "gmres:20");
    for (i = 0; i < N; i++) {
        error = fmax(error, fabs(x[i] - known[i]));
    }
    printf("%d iterations, residual %.1e, error %.1e\n", (int)report.iterations, report.residual_norm, error);
    check(report.converged && report.ending == BANDSOLVE_CONVERGED && error < 1e-7, "x is wrong");
    check(watched == report.iterations, "not every iteration was told of");

    /* Too few iterations: x is the best that was found, and the status says so. */
    options.max_iterations = 2;
    options.watch = NULL;
    x[0] = 1e3;
    check(bandsolveDcsr_krylov("cg", matrix, NULL, &options, x, rhs, &report, NULL) == BANDSOLVE_TOLERANCE_NOT_REACHED,
          "two iterations cannot be enough");
    printf("%s\n", bandsolveLastError());
    free(buffer);
}

int main(void) {
    const double one = 1.0, minus = -1.0, zero = 0.0;
    const int64_t nnz = assemble();
    bandsolve_csr_t matrix;
    bandsolve_precond_t precond;
    require(bandsolveDcsr_create(N, N, values, col_indices, row_ptrs, nnz, &matrix), "create");
    /* There will be many products. */
    require(bandsolveDcsr_prepare(matrix), "prepare");
    require(bandsolveDcsrmv(BANDSOLVE_PLAIN, &one, matrix, known, &zero, rhs), "product");
    along_paths(matrix);
    require(bandsolveDcsr_precond("auto", matrix, NULL, &precond), "preconditioner");
    printf("%s, since %s\n", bandsolvePrecondKind(precond), bandsolvePrecondReason(precond));
    iterate(matrix, precond);
    /* rhs - A known = 0 */
    require(bandsolveDcsrmv(BANDSOLVE_PLAIN, &minus, matrix, known, &one, rhs), "residual");
    check(fabs(rhs[0]) + fabs(rhs[N - 1]) < 1e-12, "the residual of the known solution is not zero");
    require(bandsolvePrecondDestroy(precond), "destroy");
    require(bandsolveCsrDestroy(matrix), "destroy");
    printf("%d passed\n", checks);
    return 0;
}
