/*
 * LAPACK's Fortran symbols on top of the C functions with LAPACK's names, for LAPACK's test programs.
 *
 * The programs check x, INFO and RCOND of the C functions: `gtsv`, `gttrf`, `gttrs`, `gtcon`, and the same routines of `gb`, `pt` and `pb`.
 * They also check the arrays of factors, which a handle does not give. LAPACK's routine fills these arrays. The wrapper keeps a handle for
 * each array of factors, with a copy of the array. It uses the handle only if the array still has the same contents.
 *
 * LAPACK's routine computes the results in these cases:
 *   - The C function returns BANDSOLVE_INVALID_ARGUMENT. The tests of the error exits expect the message of LAPACK.
 *   - The matrix is rectangular.
 *   - The C function did not factor the matrix, because it is not positive definite, and the program asks for RCOND.
 *   - INFO > 0, if the C function finds that the matrix is singular or not positive definite, and if `gttrf` or `gbtrf` factor a singular
 *     matrix. These two return BANDSOLVE_SUCCESS, and the program checks RCOND = 0.
 *
 * The wrapper prints a line with "***" for any other status that differs from LAPACK's INFO, and for a C function that never computed a
 * result. `lapack-test.sh` fails if it finds such a line. One difference is accepted: BANDSOLVE_NOT_CONVERGED for right-hand sides so small
 * that products are rounded to subnormal numbers.
 *
 * Environment: BANDSOLVE_WRAPPER_METHOD=NAME calls `bandsolveSetMethod`. Matrices that the method does not solve have the default method.
 */

#ifndef T

#define _GNU_SOURCE
#include <bandsolve.h>
#include <dlfcn.h>
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARRAYS = 3, MAX_ENTRIES = 256, WRONG_STATUS = 1000 };

static void stop(const char *reason) {
    fprintf(stderr, "*** wrapper: %s\n", reason);
    abort();
}

__attribute__((constructor)) static void set_method(void) {
    if (bandsolveSetMethod(getenv("BANDSOLVE_WRAPPER_METHOD")))
        stop(bandsolveLastError());
}

/* Call a C function with the default method if the chosen method does not solve systems of this kind. */
#define TRY_DEFAULT_METHOD(status, call)                                                                                                   \
    if (status == BANDSOLVE_UNSUPPORTED) {                                                                                                 \
        bandsolveSetMethod(NULL);                                                                                                          \
        status = call;                                                                                                                     \
        set_method();                                                                                                                      \
    }

/* An array of factors. */
struct array {
    const void *start;
    size_t size;
};
#define ARRAY(start, n)                                                                                                                    \
    { start, (n) > 0 ? (size_t)(n) * sizeof *(start) : 0 }

/* The handle of one factored matrix, and a copy of the factors that LAPACK wrote. */
static struct entry {
    struct array arrays[MAX_ARRAYS];
    unsigned char *copy;
    bandsolve_factor_t handle;
} entries[MAX_ENTRIES];
static int n_entries;

/* Get the entry for factors whose first array starts here, or the next unused one. */
static struct entry *entry_at(const void *start) {
    int k = 0;
    while (k < n_entries && entries[k].arrays[0].start != start)
        k++;
    if (k == MAX_ENTRIES)
        stop("too many arrays of factors");
    return &entries[k];
}

/* Get a handle for new factors, without the copy of the last ones. */
static bandsolve_factor_t new_handle(const void *start) {
    struct entry *entry = entry_at(start);
    if (entry == &entries[n_entries]) {
        n_entries++;
        if (bandsolve_factor_create(&entry->handle))
            stop(bandsolveLastError());
    }
    free(entry->copy);
    entry->copy = NULL;
    entry->arrays[0].start = start;
    return entry->handle;
}

static void copy_factors(const struct array *arrays) {
    struct entry *entry = entry_at(arrays[0].start);
    unsigned char *to = entry->copy = malloc(arrays[0].size + arrays[1].size + arrays[2].size + 1);
    if (!to)
        stop("out of memory");
    for (int k = 0; k < MAX_ARRAYS; k++) {
        entry->arrays[k] = arrays[k];
        if (arrays[k].size)
            memcpy(to, arrays[k].start, arrays[k].size);
        to += arrays[k].size;
    }
}

/* Get the handle of factors that did not change, or NULL. */
static bandsolve_factor_t find_handle(const struct array *arrays) {
    const struct entry *entry = entry_at(arrays[0].start);
    const unsigned char *from = entry->copy;
    if (!from)
        return NULL;
    for (int k = 0; k < MAX_ARRAYS; k++) {
        if (entry->arrays[k].start != arrays[k].start || entry->arrays[k].size != arrays[k].size)
            return NULL;
        if (arrays[k].size && memcmp(from, arrays[k].start, arrays[k].size))
            return NULL;
        from += arrays[k].size;
    }
    return entry->handle;
}

/* Get INFO for a status. `lapack` is the INFO of LAPACK's routine. */
static int info_of(const char *name, bandsolve_status_t status, int lapack) {
    if (status == BANDSOLVE_SUCCESS)
        return 0;
    if ((status == BANDSOLVE_SINGULAR || status == BANDSOLVE_NOT_DEFINITE) && lapack > 0)
        return lapack;
    fprintf(stderr, "*** wrapper: bandsolve_%s: INFO of LAPACK is %d, but the status is %s: %s\n", name, lapack,
            bandsolveStatusName(status), bandsolveLastError());
    return WRONG_STATUS + (int)status;
}

/* Get INFO of a solve with factors. */
static int info_of_solve(const char *name, bandsolve_status_t status, bool is_tiny) {
    /* xGBRFS solves with tiny right-hand sides to estimate a norm, and ignores INFO. The C function reports that digits were lost. */
    if (status == BANDSOLVE_NOT_CONVERGED && is_tiny)
        return WRONG_STATUS + (int)status;
    return info_of(name, status, 0);
}

/* How many results the C function of a routine computed. */
static struct count {
    const char *name;
    long results;
} counts[4 * 16 + 1];

/* Count a call. Returns whether LAPACK's routine has to compute the results. */
static bool is_lapacks(const char *name, bandsolve_status_t status) {
    struct count *count = counts;
    while (count->name && strcmp(count->name, name))
        count++;
    count->name = name;
    count->results += status != BANDSOLVE_INVALID_ARGUMENT;
    return status == BANDSOLVE_INVALID_ARGUMENT;
}

static void report_missing_handle(const char *name, bool is_missing) {
    if (is_missing)
        fprintf(stderr, "*** wrapper: %s: no handle for these factors\n", name);
}

__attribute__((destructor)) static void report(void) {
    for (const struct count *count = counts; count->name; count++)
        if (!count->results)
            fprintf(stderr, "*** wrapper: bandsolve_%s computed no result\n", count->name);
}

typedef void (*fortran_t)();

static fortran_t find_lapack(const char *symbol) {
    void *address = dlsym(RTLD_NEXT, symbol);
    if (!address)
        stop("LAPACK's routine is not loaded");
    fortran_t routine;
    memcpy(&routine, &address, sizeof routine);
    return routine;
}

#define JOINED(a, b, c) a##b##c
#define JOIN(a, b, c) JOINED(a, b, c)
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define NAME(routine) TEXT(JOIN(LETTER, routine, ))
#define SYMBOL(routine) JOIN(LETTER, routine, _)
#define C_FUNCTION(routine) JOIN(bandsolve_, LETTER, routine)
/* LAPACK's routine. */
#define LAPACK(routine) find_lapack(TEXT(SYMBOL(routine)))

/* A driver routine. `overwrite` calls LAPACK's routine, which overwrites the matrix as the driver does. */
#define DRIVER(routine, parameters, call, lapack_call, overwrite)                                                                          \
    void SYMBOL(routine) parameters {                                                                                                      \
        bandsolve_status_t status = C_FUNCTION(routine) call;                                                                              \
        TRY_DEFAULT_METHOD(status, C_FUNCTION(routine) call)                                                                               \
        if (is_lapacks(NAME(routine), status)) {                                                                                           \
            LAPACK(routine) lapack_call;                                                                                                   \
            return;                                                                                                                        \
        }                                                                                                                                  \
        overwrite;                                                                                                                         \
        *info = info_of(NAME(routine), status, *info);                                                                                     \
    }

/* A routine that factors. `info_of_success` is the INFO if the status is BANDSOLVE_SUCCESS. */
#define FACTOR(routine, parameters, arrays, call, lapack_call, info_of_success)                                                            \
    void SYMBOL(routine) parameters {                                                                                                      \
        bandsolve_status_t status = C_FUNCTION(routine) call;                                                                              \
        TRY_DEFAULT_METHOD(status, C_FUNCTION(routine) call)                                                                               \
        LAPACK(routine) lapack_call;                                                                                                       \
        if (is_lapacks(NAME(routine), status))                                                                                             \
            return;                                                                                                                        \
        if (status == BANDSOLVE_SUCCESS)                                                                                                   \
            copy_factors((const struct array[MAX_ARRAYS])arrays);                                                                          \
        *info = status == BANDSOLVE_SUCCESS ? (info_of_success) : info_of(NAME(routine), status, *info);                                   \
    }

/* A solve with factors. */
#define SOLVE(routine, parameters, arrays, trans, lapack_call)                                                                             \
    void SYMBOL(routine) parameters {                                                                                                      \
        bandsolve_factor_t factor = find_handle((const struct array[MAX_ARRAYS])arrays);                                                   \
        bool is_tiny = factor && JOIN(is_, LETTER, tiny)(*n, *n_rhs, b, *ldb);                                                             \
        bandsolve_status_t status = factor ? C_FUNCTION(routine)(trans, *n_rhs, factor, b, *ldb) : BANDSOLVE_INVALID_ARGUMENT;             \
        if (is_lapacks(NAME(routine), status)) {                                                                                           \
            LAPACK(routine) lapack_call;                                                                                                   \
            report_missing_handle(NAME(routine), *info == 0);                                                                              \
            return;                                                                                                                        \
        }                                                                                                                                  \
        *info = info_of_solve(NAME(routine), status, is_tiny);                                                                             \
    }

/* A condition number. The C function computes the norm of the matrix itself. */
#define CONDITION(routine, parameters, arrays, norm, lapack_call)                                                                          \
    void SYMBOL(routine) parameters {                                                                                                      \
        bandsolve_factor_t factor = *anorm >= 0 ? find_handle((const struct array[MAX_ARRAYS])arrays) : NULL;                              \
        bandsolve_status_t status = factor ? C_FUNCTION(routine)(norm, factor, rcond) : BANDSOLVE_INVALID_ARGUMENT;                        \
        if (is_lapacks(NAME(routine), status)) {                                                                                           \
            LAPACK(routine) lapack_call;                                                                                                   \
            report_missing_handle(NAME(routine), *info == 0 && *rcond != 0);                                                               \
            return;                                                                                                                        \
        }                                                                                                                                  \
        *info = info_of(NAME(routine), status, 0);                                                                                         \
    }

#define LIST(...) {__VA_ARGS__}
#define GT_ARRAYS LIST(ARRAY(d, *n), ARRAY(dl, *n - 1), ARRAY(du, *n - 1))
#define GB_ARRAYS LIST(ARRAY(ab, (*n - 1) * *ldab + 2 * *kl + *ku + 1))
#define PT_ARRAYS LIST(ARRAY(d, *n), ARRAY(e, *n - 1))
#define PB_ARRAYS LIST(ARRAY(ab, (*n - 1) * *ldab + *kd + 1))

#define T float
#define REAL float
#define LETTER s
#define IS_COMPLEX 0
#include __FILE__

#define T double
#define REAL double
#define LETTER d
#define IS_COMPLEX 0
#include __FILE__

#define T bandsolve_c32_t
#define REAL float
#define LETTER c
#define IS_COMPLEX 1
#include __FILE__

#define T bandsolve_c64_t
#define REAL double
#define LETTER z
#define IS_COMPLEX 1
#include __FILE__

#else /* The routines of one type. `len` is the length that Fortran passes for each CHARACTER. */

/* Whether rounding to subnormal numbers can change the sum of n products in the last digits. */
static bool JOIN(is_, LETTER, tiny)(int n, int n_rhs, const T *b, int ldb) {
    const REAL *parts = (const REAL *)b, limit = n * (sizeof(REAL) == sizeof(float) ? FLT_MIN : (REAL)DBL_MIN);
    const int per_entry = sizeof(T) / sizeof(REAL);
    for (int j = 0; j < n_rhs; j++)
        for (int k = 0; k < n * per_entry; k++) {
            REAL part = parts[(size_t)j * ldb * per_entry + k];
            if (part <= -limit || part >= limit)
                return false;
        }
    return true;
}

/* LAPACK's routine overwrites the matrix for any right-hand sides. */
static void JOIN(overwrite_, LETTER, gt)(const int *n, T *dl, T *d, T *du, int *info) {
    T *zeros = calloc((size_t)*n + 1, sizeof(T));
    if (!zeros)
        stop("out of memory");
    LAPACK(gtsv)(n, &(int){1}, dl, d, du, zeros, &(int){*n + 1}, info);
    free(zeros);
}

DRIVER(gtsv, (const int *n, const int *n_rhs, T *dl, T *d, T *du, T *b, const int *ldb, int *info),
       (*n, *n_rhs, dl, d, du, b, *ldb), (n, n_rhs, dl, d, du, b, ldb, info), JOIN(overwrite_, LETTER, gt)(n, dl, d, du, info))
FACTOR(gttrf, (const int *n, T *dl, T *d, T *du, T *du2, int *ipiv, int *info), GT_ARRAYS, (*n, dl, d, du, new_handle(d)),
       (n, dl, d, du, du2, ipiv, info), *info)
SOLVE(gttrs,
      (const char *trans, const int *n, const int *n_rhs, const T *dl, const T *d, const T *du, const T *du2, const int *ipiv, T *b,
       const int *ldb, int *info, size_t len),
      GT_ARRAYS, *trans, (trans, n, n_rhs, dl, d, du, du2, ipiv, b, ldb, info, len))
#if IS_COMPLEX
CONDITION(gtcon,
          (const char *norm, const int *n, const T *dl, const T *d, const T *du, const T *du2, const int *ipiv, const REAL *anorm,
           REAL *rcond, T *work, int *info, size_t len),
          GT_ARRAYS, *norm, (norm, n, dl, d, du, du2, ipiv, anorm, rcond, work, info, len))
#else
CONDITION(gtcon,
          (const char *norm, const int *n, const T *dl, const T *d, const T *du, const T *du2, const int *ipiv, const REAL *anorm,
           REAL *rcond, T *work, int *iwork, int *info, size_t len),
          GT_ARRAYS, *norm, (norm, n, dl, d, du, du2, ipiv, anorm, rcond, work, iwork, info, len))
#endif

DRIVER(gbsv,
       (const int *n, const int *kl, const int *ku, const int *n_rhs, T *ab, const int *ldab, int *ipiv, T *b, const int *ldb, int *info),
       (*n, *kl, *ku, *n_rhs, ab, *ldab, b, *ldb), (n, kl, ku, n_rhs, ab, ldab, ipiv, b, ldb, info),
       LAPACK(gbtrf)(n, n, kl, ku, ab, ldab, ipiv, info))
/* The C function factors square matrices only: for a rectangular one, pass a size that it rejects. */
FACTOR(gbtrf, (const int *m, const int *n, const int *kl, const int *ku, T *ab, const int *ldab, int *ipiv, int *info), GB_ARRAYS,
       (*m == *n ? *n : -1, *kl, *ku, ab, *ldab, new_handle(ab)), (m, n, kl, ku, ab, ldab, ipiv, info), *info)
SOLVE(gbtrs,
      (const char *trans, const int *n, const int *kl, const int *ku, const int *n_rhs, const T *ab, const int *ldab, const int *ipiv, T *b,
       const int *ldb, int *info, size_t len),
      GB_ARRAYS, *trans, (trans, n, kl, ku, n_rhs, ab, ldab, ipiv, b, ldb, info, len))
/* The type of `iwork` is REAL in complex routines. */
CONDITION(gbcon,
          (const char *norm, const int *n, const int *kl, const int *ku, const T *ab, const int *ldab, const int *ipiv, const REAL *anorm,
           REAL *rcond, T *work, void *iwork, int *info, size_t len),
          GB_ARRAYS, *norm, (norm, n, kl, ku, ab, ldab, ipiv, anorm, rcond, work, iwork, info, len))

DRIVER(ptsv, (const int *n, const int *n_rhs, REAL *d, T *e, T *b, const int *ldb, int *info), (*n, *n_rhs, d, e, b, *ldb),
       (n, n_rhs, d, e, b, ldb, info), LAPACK(pttrf)(n, d, e, info))
FACTOR(pttrf, (const int *n, REAL *d, T *e, int *info), PT_ARRAYS, (*n, d, e, new_handle(d)), (n, d, e, info), 0)
#if IS_COMPLEX
/* With UPLO = 'U', the array that LAPACK factored is above the diagonal: the matrix is the transpose. */
SOLVE(pttrs,
      (const char *uplo, const int *n, const int *n_rhs, const REAL *d, const T *e, T *b, const int *ldb, int *info, size_t len),
      PT_ARRAYS, (*uplo == 'U' ? 'T' : *uplo == 'L' ? 'N' : '?'), (uplo, n, n_rhs, d, e, b, ldb, info, len))
#else
SOLVE(pttrs, (const int *n, const int *n_rhs, const REAL *d, const T *e, T *b, const int *ldb, int *info), PT_ARRAYS, 'N',
      (n, n_rhs, d, e, b, ldb, info))
#endif
CONDITION(ptcon, (const int *n, const REAL *d, const T *e, const REAL *anorm, REAL *rcond, REAL *work, int *info), PT_ARRAYS, '1',
          (n, d, e, anorm, rcond, work, info))

DRIVER(pbsv,
       (const char *uplo, const int *n, const int *kd, const int *n_rhs, T *ab, const int *ldab, T *b, const int *ldb, int *info,
        size_t len),
       (*uplo, *n, *kd, *n_rhs, ab, *ldab, b, *ldb), (uplo, n, kd, n_rhs, ab, ldab, b, ldb, info, len),
       LAPACK(pbtrf)(uplo, n, kd, ab, ldab, info, len))
FACTOR(pbtrf, (const char *uplo, const int *n, const int *kd, T *ab, const int *ldab, int *info, size_t len), PB_ARRAYS,
       (*uplo, *n, *kd, ab, *ldab, new_handle(ab)), (uplo, n, kd, ab, ldab, info, len), 0)
SOLVE(pbtrs,
      (const char *uplo, const int *n, const int *kd, const int *n_rhs, const T *ab, const int *ldab, T *b, const int *ldb, int *info,
       size_t len),
      PB_ARRAYS, 'N', (uplo, n, kd, n_rhs, ab, ldab, b, ldb, info, len))
CONDITION(pbcon,
          (const char *uplo, const int *n, const int *kd, const T *ab, const int *ldab, const REAL *anorm, REAL *rcond, T *work,
           void *iwork, int *info, size_t len),
          PB_ARRAYS, '1', (uplo, n, kd, ab, ldab, anorm, rcond, work, iwork, info, len))

#undef T
#undef REAL
#undef LETTER
#undef IS_COMPLEX

#endif
