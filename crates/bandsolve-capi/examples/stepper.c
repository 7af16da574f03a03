/* Implicit time steps of the heat equation u_t = u_xx with u = 0 at x = 0 and x = 1. The matrix is factored once. A step solves with
   the factors, in place.

       (u_new - u) / dt = second difference of u_new,   u = sin(pi x) at t = 0,   exact: exp(-pi^2 t) sin(pi x) */

#include <bandsolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const bandsolve_pivoting_t pivoting = BANDSOLVE_DEFAULT_PIVOTING;

/* Everything that the steps need: the matrix, its factors, scratch memory and the state. */
typedef struct {
    int64_t n;
    double *sub, *diag, *sup; /* the factors refer to these arrays */
    double *u;
    void *factors, *scratch;
} stepper_t;

static void stepper_free(stepper_t *stepper) {
    if (stepper == NULL) return;
    bandsolveDbgtf_destroy(stepper->factors);
    free(stepper->sub), free(stepper->diag), free(stepper->sup), free(stepper->u);
    free(stepper->factors), free(stepper->scratch), free(stepper);
}

/* NULL if there is no memory, or if a call fails: see bandsolveLastError(). */
static stepper_t *stepper_create(int64_t n, double dt) {
    stepper_t *stepper = calloc(1, sizeof *stepper);
    size_t of_factors = 0, of_scratch = 0, bytes = (size_t)n * sizeof(double);
    double r = dt * ((double)n + 1.0) * ((double)n + 1.0);
    int64_t i;
    if (stepper == NULL) return NULL;
    stepper->n = n;
    if (bandsolveDbgtf_factorizationBufferSizeExt(pivoting, n, 1, &of_factors) != BANDSOLVE_SUCCESS ||
        bandsolveDbgtrfs_bufferSizeExt(pivoting, n, 1, 1, &of_scratch) != BANDSOLVE_SUCCESS) {
        stepper_free(stepper);
        return NULL;
    }
    stepper->sub = malloc(bytes), stepper->diag = malloc(bytes), stepper->sup = malloc(bytes);
    stepper->u = malloc(bytes), stepper->factors = calloc(1, of_factors), stepper->scratch = malloc(of_scratch);
    if (!stepper->sub || !stepper->diag || !stepper->sup || !stepper->u || !stepper->factors || !stepper->scratch) {
        stepper_free(stepper);
        return NULL;
    }
    for (i = 0; i < n; i++) {
        stepper->sub[i] = stepper->sup[i] = -r;
        stepper->diag[i] = 1.0 + 2.0 * r;
        stepper->u[i] = sin(acos(-1.0) * ((double)i + 1.0) / ((double)n + 1.0));
    }
    /* A tridiagonal matrix has blocks of one row. */
    if (bandsolveDbgtf(pivoting, n, 1, stepper->sub, stepper->diag, stepper->sup, stepper->factors) != BANDSOLVE_SUCCESS) {
        stepper_free(stepper);
        return NULL;
    }
    return stepper;
}

/* One step, in place. */
static bandsolve_status_t stepper_step(stepper_t *stepper) {
    return bandsolveDbgtrfs(pivoting, stepper->n, 1, 1, stepper->sub, stepper->diag, stepper->sup, stepper->u, stepper->u,
                             stepper->factors, stepper->scratch);
}

int main(void) {
    const int64_t n = 1000;
    const int steps = 100;
    const double dt = 1e-4, pi = acos(-1.0);
    stepper_t *stepper = stepper_create(n, dt);
    bandsolve_report_t report;
    double error = 0.0, worst = 0.0;
    int step;
    int64_t i;
    if (stepper == NULL) {
        fprintf(stderr, "%s\n", bandsolveLastError());
        return 1;
    }
    report.size = sizeof report;
    for (step = 0; step < steps; step++) {
        if (stepper_step(stepper) != BANDSOLVE_SUCCESS || bandsolveLastReport(&report) != BANDSOLVE_SUCCESS) {
            fprintf(stderr, "step %d: %s\n", step, bandsolveLastError());
            stepper_free(stepper);
            return 1;
        }
        worst = fmax(worst, report.backward_error);
    }
    for (i = 0; i < n; i++) {
        double exact = exp(-pi * pi * dt * steps) * sin(pi * ((double)i + 1.0) / ((double)n + 1.0));
        error = fmax(error, fabs(stepper->u[i] - exact));
    }
    printf("%d steps of %d unknowns: error %.1e, backward error at most %.1e, method %s\n", steps, (int)n, error, worst,
           report.method);
    stepper_free(stepper);
    if (!(error < 1e-3) || !(worst <= 2e-15)) {
        fprintf(stderr, "u is wrong\n");
        return 1;
    }
    printf("2 passed\n");
    return 0;
}
