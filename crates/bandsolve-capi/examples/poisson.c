/* Poisson problems on a box: second differences, and linear finite elements. */

#include <bandsolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* -u'' = 1 on 99 by 49 interior points of the unit square, with u = 0 on the boundary. */
static void second_differences(void) {
    enum { ROWS = 99, COLUMNS = 49 };
    static double u[ROWS * COLUMNS];
    bandsolve_poisson_problem_t problem;
    bandsolve_poisson_solver_t solver;
    bandsolve_poisson_report_t report;
    size_t bytes;
    void *buffer;
    int i;
    problem.size = sizeof problem;
    report.size = sizeof report;
    require(bandsolvePoissonDefaults(&problem), "defaults");
    problem.axes[0].n = ROWS;
    problem.axes[0].spacing = 1.0 / (ROWS + 1);
    problem.axes[1].n = COLUMNS;
    problem.axes[1].spacing = 1.0 / (COLUMNS + 1);
    require(bandsolveDpoisson_create(&problem, &solver), "create");
    printf("method %s, because %s\n", bandsolvePoissonMethod(solver), bandsolvePoissonReason(solver));
    require(bandsolveDpoisson_solve_bufferSizeExt(solver, &bytes), "size");
    buffer = malloc(bytes > 0 ? bytes : 1);
    check(buffer != NULL, "out of memory");
    for (i = 0; i < ROWS * COLUMNS; i++) u[i] = 1.0;
    require(bandsolveDpoisson_solve(solver, 1, u, u, &report, buffer), "solve");
    /* The exact value in the centre is 0.07367. */
    printf("u in the centre: %.4f\n", u[ROWS / 2 * COLUMNS + COLUMNS / 2]);
    check(fabs(u[ROWS / 2 * COLUMNS + COLUMNS / 2] - 0.0737) < 1e-4, "u is wrong");
    check(report.backward_error < 1e-14, "the backward error is too large");
    require(bandsolvePoissonDestroy(solver), "destroy");
    free(buffer);
}

/* Linear elements of width 1 along both axes, u = 0 on the boundary: 2 by 3 unknowns, f = 1. */
static void finite_elements(void) {
    const double off[3] = {-1, -1, -1}, on[3] = {2, 2, 2};
    const double mass_off[3] = {1. / 6, 1. / 6, 1. / 6}, mass_on[3] = {2. / 3, 2. / 3, 2. / 3};
    double u[6] = {1, 1, 1, 1, 1, 1};
    bandsolve_pencils_problem_t problem;
    bandsolve_poisson_solver_t solver;
    int axis;
    problem.size = sizeof problem;
    require(bandsolvePoissonPencilsDefaults(&problem), "defaults");
    for (axis = 0; axis < 2; axis++) {
        bandsolve_pencil_t *pencil = &problem.axes[axis];
        pencil->n = 2 + axis;
        pencil->a_sub = pencil->a_sup = off;
        pencil->a_diag = on;
        pencil->m_sub = pencil->m_sup = mass_off;
        pencil->m_diag = mass_on;
    }
    require(bandsolveDpoisson_create_pencils(&problem, &solver), "create");
    require(bandsolveDpoisson_solve(solver, 1, u, u, NULL, NULL), "solve");
    check(fabs(u[0] - u[5]) < 1e-12 && u[0] > 0.0, "u is not symmetric");
    require(bandsolvePoissonDestroy(solver), "destroy");
}

int main(void) {
    second_differences();
    finite_elements();
    printf("%d passed\n", checks);
    return 0;
}
