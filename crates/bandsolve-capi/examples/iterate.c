/* Solve a sparse system with GMRES: a five-point stencil on a grid with strong coupling along the columns. The program computes a
   product with a known solution, the linear forest of the matrix, and a preconditioner from the forest. */

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

/* Write the arrays of the matrix; return the number of entries. */
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

/* Drop the weak couplings: solve the tridiagonal system of the paths, in the order of the forest. */
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

/* Print the residual every 5 iterations. */
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

    /* With too few iterations, x is the best solution that was found, and the status is not BANDSOLVE_SUCCESS. */
    options.max_iterations = 2;
    options.watch = NULL;
    x[0] = 1e3;
    check(bandsolveDcsr_krylov("cg", matrix, NULL, &options, x, rhs, &report, NULL) == BANDSOLVE_TOLERANCE_NOT_REACHED,
          "two iterations cannot be enough");
    printf("%s\n", bandsolveLastError());
    free(buffer);
}

/* The same matrix from 64-bit indices, and with 64-bit row pointers alone. */
static void wide_indices(int64_t nnz) {
    static int64_t wide_columns[5 * N], wide_ptrs[N + 1];
    static double y[N];
    const double one = 1.0, zero = 0.0;
    bandsolve_csr_t wide, mixed;
    int64_t k;
    for (k = 0; k < nnz; k++) wide_columns[k] = col_indices[k];
    for (k = 0; k <= N; k++) wide_ptrs[k] = row_ptrs[k];
    require(bandsolveDcsr_create_64(N, N, values, wide_columns, wide_ptrs, nnz, &wide), "create_64");
    require(bandsolveDcsr_create_mixed(N, N, values, col_indices, wide_ptrs, nnz, &mixed), "create_mixed");
    require(bandsolveDcsrmv(BANDSOLVE_PLAIN, &one, wide, known, &zero, y), "product");
    check(fabs(y[0] - rhs[0]) < 1e-12, "the product with 64-bit indices differs");
    require(bandsolveDcsrmv(BANDSOLVE_PLAIN, &one, mixed, known, &zero, y), "product");
    check(fabs(y[0] - rhs[0]) < 1e-12, "the product with 64-bit row pointers differs");
    require(bandsolveCsrDestroy(wide), "destroy");
    require(bandsolveCsrDestroy(mixed), "destroy");
}

/* Choose one edge at each vertex: a matching of large weight. */
static void matching(bandsolve_csr_t matrix) {
    static int64_t partners[N];
    bandsolve_forest_options_t options;
    bandsolve_forest_info_t info;
    options.size = sizeof options;
    info.size = sizeof info;
    require(bandsolveForestDefaults(&options), "defaults");
    options.degree = 1;
    require(bandsolveDcsr_factor(matrix, &options, partners, &info), "factor");
    check(partners[0] < 0 || partners[partners[0]] == 0, "the partner of a vertex has another partner");
}

/* z = M^-1 rhs, one application of the preconditioner. */
static void apply(bandsolve_precond_t precond) {
    static double z[N];
    size_t bytes;
    void *buffer;
    require(bandsolveDprecond_apply_bufferSizeExt(precond, &bytes), "size");
    buffer = malloc(bytes > 0 ? bytes : 1);
    check(buffer != NULL, "out of memory");
    require(bandsolveDprecond_apply(BANDSOLVE_PLAIN, precond, rhs, z, buffer), "apply");
    check(isfinite(z[0]), "z is not finite");
    free(buffer);
}

int main(void) {
    const double one = 1.0, minus = -1.0, zero = 0.0;
    const int64_t nnz = assemble();
    bandsolve_csr_t matrix;
    bandsolve_precond_t precond;
    require(bandsolveDcsr_create(N, N, values, col_indices, row_ptrs, nnz, &matrix), "create");
    /* Prepare the matrix for many products. */
    require(bandsolveDcsr_prepare(matrix), "prepare");
    require(bandsolveDcsrmv(BANDSOLVE_PLAIN, &one, matrix, known, &zero, rhs), "product");
    wide_indices(nnz);
    along_paths(matrix);
    matching(matrix);
    require(bandsolveDcsr_precond("auto", matrix, NULL, &precond), "preconditioner");
    printf("%s, since %s\n", bandsolvePrecondKind(precond), bandsolvePrecondReason(precond));
    apply(precond);
    iterate(matrix, precond);
    /* rhs - A known = 0 */
    require(bandsolveDcsrmv(BANDSOLVE_PLAIN, &minus, matrix, known, &one, rhs), "residual");
    check(fabs(rhs[0]) + fabs(rhs[N - 1]) < 1e-12, "the residual of the known solution is not zero");
    require(bandsolvePrecondDestroy(precond), "destroy");
    require(bandsolveCsrDestroy(matrix), "destroy");
    printf("%d passed\n", checks);
    return 0;
}
