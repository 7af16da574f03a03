/* Implicit time steps of the heat equation u_t = u_xx with u = 0 at x = 0 and x = 1. The matrix is factored once. A step solves with
   the factors, in place.

       (u_new - u) / dt = second difference of u_new,   u = sin(pi x) at t = 0,   exact: exp(-pi^2 t) sin(pi x) */

#include <bandsolve.h>

#include <math.h>
#include <stdio.h>

enum { n = 1000, steps = 100 };

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, bandsolveLastError());
    return 1;
}

int main(void) {
    const double dt = 1e-4, pi = acos(-1.0), r = dt * (n + 1.0) * (n + 1.0);
    static double off[n - 1], diag[n], u[n];
    double error = 0.0, worst = 0.0;
    bandsolve_factor_t factor = NULL;
    bandsolve_report_t report;
    int i, step;

    for (i = 0; i < n; i++) {
        diag[i] = 1.0 + 2.0 * r;
        u[i] = sin(pi * (i + 1.0) / (n + 1.0));
        if (i < n - 1) off[i] = -r;
    }
    if (bandsolve_factor_create(&factor) != BANDSOLVE_SUCCESS) return failed("create");
    if (bandsolve_dgttrf(n, off, diag, off, factor) != BANDSOLVE_SUCCESS) return failed("factor");

    report.size = sizeof report;
    for (step = 0; step < steps; step++) {
        if (bandsolve_dgttrs('N', 1, factor, u, n) != BANDSOLVE_SUCCESS) return failed("solve");
        bandsolveLastReport(&report);
        worst = fmax(worst, report.backward_error);
    }
    bandsolve_factor_destroy(factor);

    for (i = 0; i < n; i++) {
        double exact = exp(-pi * pi * dt * steps) * sin(pi * (i + 1.0) / (n + 1.0));
        error = fmax(error, fabs(u[i] - exact));
    }
    printf("%d steps of %d unknowns: error %.1e, backward error at most %.1e, method %s\n", steps, n, error, worst, report.method);
    /* The threads of the library would run until the end of the program. */
    bandsolve_shutdown();
    if (!(error < 1e-3) || !(worst <= 2e-15)) {
        fprintf(stderr, "u is wrong\n");
        return 1;
    }
    printf("2 passed\n");
    return 0;
}
