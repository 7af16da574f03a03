/*
 * bandsolve: linear systems whose non-zeros lie in a narrow band, solved in parallel, every answer verified.
 *
 * Solvers are called bandsolve<t><operation>, with t = S (float), D (double), C (complex float), Z (complex double). They
 * return a status. All arrays lie in the memory of the CPU and belong to the caller. docs/c-api.md explains the rest.
 *
 * Made by cbindgen from crates/bandsolve-capi: do not edit.
 */

#ifndef BANDSOLVE_H
#define BANDSOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two numbers, real and imaginary part: the same in C and C++. */
#if defined(__cplusplus)
#include <complex>
typedef std::complex<float> bandsolve_c32_t;
typedef std::complex<double> bandsolve_c64_t;
#elif defined(_MSC_VER)
#include <complex.h>
typedef _Fcomplex bandsolve_c32_t;
typedef _Dcomplex bandsolve_c64_t;
#else
typedef float _Complex bandsolve_c32_t;
typedef double _Complex bandsolve_c64_t;
#endif

/**
 * What every function returns. Numbers are permanent: new ones may come, none changes its meaning.
 */
typedef enum {
  /**
   * The system is solved, x is within the accuracy contract.
   */
  BANDSOLVE_SUCCESS = 0,
  /**
   * An argument is null, negative, too large, unknown or not aligned, or arrays overlap. Nothing was written.
   */
  BANDSOLVE_INVALID_ARGUMENT = 1,
  /**
   * The matrix or the right-hand side holds a NaN or an infinity.
   */
  BANDSOLVE_NOT_FINITE = 2,
  /**
   * The matrix is singular. The best x found stands in `x`.
   */
  BANDSOLVE_SINGULAR = 3,
  /**
   * No x within the accuracy contract was found: singular to working precision. The best x found stands in `x`.
   */
  BANDSOLVE_NOT_CONVERGED = 4,
  /**
   * The method that was asked for by name, or a GPU, does not solve systems of this kind.
   */
  BANDSOLVE_UNSUPPORTED = 5,
  /**
   * Memory could not be had.
   */
  BANDSOLVE_OUT_OF_MEMORY = 6,
  /**
   * The buffer overlaps another array, or holds no factors of this type.
   */
  BANDSOLVE_INVALID_BUFFER = 7,
  /**
   * A fault of the library itself, caught at its border. Please report it, with the message.
   */
  BANDSOLVE_INTERNAL_ERROR = 8,
  /**
   * There is no such GPU, or nothing to run it with: the message says what is missing.
   */
  BANDSOLVE_NO_DEVICE = 9,
  /**
   * A call of the GPU's driver failed: the message says which, and why.
   */
  BANDSOLVE_DEVICE_ERROR = 10,
  /**
   * The matrix is not Hermitian positive definite, as the method that was asked for by name needs it.
   */
  BANDSOLVE_NOT_DEFINITE = 11,
} bandsolve_status_t;

/**
 * How pivot rows are chosen.
 */
typedef enum {
  /**
   * Rows are never exchanged: for matrices known not to need it.
   */
  BANDSOLVE_NO_PIVOTING = 0,
  /**
   * The larger of the candidates.
   */
  BANDSOLVE_PARTIAL_PIVOTING = 1,
  /**
   * The larger of the candidates, each relative to its own row.
   */
  BANDSOLVE_SCALED_PARTIAL_PIVOTING = 2,
  /**
   * What the library recommends: scaled partial pivoting.
   */
  BANDSOLVE_DEFAULT_PIVOTING = 3,
} bandsolve_pivoting_t;

/**
 * How a solve went.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_report_t)` before the call. Later versions add fields at the end, and write no more
   * than this.
   */
  size_t size;
  /**
   * Largest row-wise backward error of the right-hand sides, max |rhs - A x|_i / (sum_j |a_ij| max|x| + |rhs_i|). NaN if
   * verification is off, or nothing was solved.
   */
  double backward_error;
  /**
   * Most refinement steps that a right-hand side took.
   */
  int32_t refinement_steps;
  /**
   * 1 if a right-hand side had to be solved again by the sequential pivoted method, else 0.
   */
  int32_t fallback;
  /**
   * Name of the method that was used; empty if nothing was solved.
   */
  char method[32];
} bandsolve_report_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as "0.1.0".
 */
const char *bandsolveVersion(void);

/**
 * The name of a status, such as "BANDSOLVE_SINGULAR".
 */
const char *bandsolveStatusName(bandsolve_status_t status);

/**
 * What was wrong in the last call on this thread, in words: which argument, and what was expected. Empty if it succeeded;
 * `bandsolveLastReport` does not count. Valid until this thread calls the next function that returns a status. Never NULL.
 */
const char *bandsolveLastError(void);

/**
 * Writes how the last solve on this thread went. Set `report->size` to `sizeof(bandsolve_report_t)` first.
 */
bandsolve_status_t bandsolveLastReport(bandsolve_report_t *report);

/**
 * Number of threads for solves that this thread asks for; 0: all there are, as at the beginning. The answer is the same,
 * bit for bit, for any number. Buffer sizes do not change with it.
 */
bandsolve_status_t bandsolveSetThreads(int64_t threads);

/**
 * Turns verification, and with it refinement and the fallback, off or on (as at the beginning) for this thread. Buffer sizes
 * do not change with it.
 */
bandsolve_status_t bandsolveSetVerify(bool verify);

/**
 * The method for solves that this thread asks for, by name, such as "rpts" or "pivoted"; NULL or "auto": the library
 * chooses, as at the beginning. Buffer sizes do not change with it: a method that needs more allocates it inside.
 */
bandsolve_status_t bandsolveSetMethod(const char *name);

/**
 * Bytes of buffer for `bandsolveSgtsv`.
 */
bandsolve_status_t bandsolveSgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a tridiagonal matrix:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * `sub`, `diag`, `sup` have length n; `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may
 * be the same pointer as `rhs`. `buffer` has the size that `bandsolveSgtsv_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveSgtsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  const float *sub,
                                  const float *diag,
                                  const float *sup,
                                  float *x,
                                  const float *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveScgtsv`.
 */
bandsolve_status_t bandsolveScgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) tridiagonal matrix: as `bandsolveSgtsv`, but `sub[0]` multiplies `x[n-1]` in the
 * first row and `sup[n-1]` multiplies `x[0]` in the last.
 */
bandsolve_status_t bandsolveScgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   const float *sub,
                                   const float *diag,
                                   const float *sup,
                                   float *x,
                                   const float *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveSbgtsv`.
 */
bandsolve_status_t bandsolveSbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                 int64_t n,
                                                 int64_t n_rhs,
                                                 int64_t block,
                                                 size_t *size);

/**
 * Solves A x = rhs with a block tridiagonal matrix of n block rows:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * with blocks of `block` by `block` entries, each column-major, one after the other: `sub`, `diag`, `sup` have length
 * n * block * block; the first block of `sub` and the last of `sup` are ignored. `rhs` and `x` are (n * block) by n_rhs,
 * column-major; `x` may be the same pointer as `rhs`. `buffer` as in `bandsolveSgtsv`.
 */
bandsolve_status_t bandsolveSbgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   int64_t block,
                                   const float *sub,
                                   const float *diag,
                                   const float *sup,
                                   float *x,
                                   const float *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveScbgtsv`.
 */
bandsolve_status_t bandsolveScbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) block tridiagonal matrix: as `bandsolveSbgtsv`, but the first block of `sub`
 * multiplies the last block of x in the first block row, and the last block of `sup` the first one in the last.
 */
bandsolve_status_t bandsolveScbgtsv(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const float *sub,
                                    const float *diag,
                                    const float *sup,
                                    float *x,
                                    const float *rhs,
                                    void *buffer);

/**
 * Bytes of factorization buffer for `bandsolveSbgtf`.
 */
bandsolve_status_t bandsolveSbgtf_factorizationBufferSizeExt(bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t block,
                                                             size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveSbgtsv`, which is kept: it must not be changed or freed before
 * `bandsolveSbgtf_destroy`. `factorization_buffer` has the size that `bandsolveSbgtf_factorizationBufferSizeExt` says, in any
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Where the method is `rpts` there are
 * none: blocks are eliminated anew in cache, which reads less memory than factors would. The settings of the thread count
 * here, for the solves as well.
 */
bandsolve_status_t bandsolveSbgtf(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t block,
                                  const float *sub,
                                  const float *diag,
                                  const float *sup,
                                  void *factorization_buffer);

/**
 * Frees the factors that `bandsolveSbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveSbgtf_destroy(void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveSbgtrfs`, under the settings with which `bandsolveSbgtf` was called.
 */
bandsolve_status_t bandsolveSbgtrfs_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves as `bandsolveSbgtsv` with the factors of `bandsolveSbgtf`, which was called with the same p, n, block, sub, diag and
 * sup. Any number of threads may solve with the same factors at once, each with a buffer of its own.
 */
bandsolve_status_t bandsolveSbgtrfs(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const float *sub,
                                    const float *diag,
                                    const float *sup,
                                    float *x,
                                    const float *rhs,
                                    const void *factorization_buffer,
                                    void *buffer);

/**
 * Bytes of buffer for `bandsolveSgbsv`.
 */
bandsolve_status_t bandsolveSgbsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                int64_t n,
                                                int64_t n_rhs,
                                                int64_t lower,
                                                int64_t upper,
                                                size_t *size);

/**
 * Solves A x = rhs with a banded matrix of `lower` diagonals below and `upper` above the main one, each of length n, the
 * lowest first, indexed by row:
 *
 *     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
 *
 * Entries outside of A are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may be the same pointer as `rhs`.
 * `buffer` as in `bandsolveSgtsv`; the matrix is rearranged there.
 */
bandsolve_status_t bandsolveSgbsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  int64_t lower,
                                  int64_t upper,
                                  const float *bands,
                                  float *x,
                                  const float *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveSgtsv_csc2dense`: 0, memory is allocated inside.
 */
bandsolve_status_t bandsolveSgtsv_csc2dense_bufferSizeExt(bandsolve_pivoting_t p,
                                                          int64_t n,
                                                          int64_t n_rhs,
                                                          size_t *size);

/**
 * Solves A X = D with a tridiagonal matrix, as `bandsolveSgtsv`, and sparse right-hand sides: column j of D has the entries
 * `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` says, counted from 0, in
 * any order; entries of one row add up. `rhs_col_ptrs` has length n_rhs + 1, the other two have length rhs_nnz. `x` is n by
 * n_rhs, column-major, and overlaps nothing. `buffer` is not used.
 */
bandsolve_status_t bandsolveSgtsv_csc2dense(bandsolve_pivoting_t p,
                                            int64_t n,
                                            int64_t n_rhs,
                                            const float *sub,
                                            const float *diag,
                                            const float *sup,
                                            float *x,
                                            const float *rhs_values,
                                            const int32_t *rhs_row_indices,
                                            const int32_t *rhs_col_ptrs,
                                            int64_t rhs_nnz,
                                            void *buffer);

/**
 * Solves A X = D as `bandsolveSgtsv_csc2dense`, and keeps of every column of X the entries of largest modulus: as many as
 * `result_col_ptrs`, of length n_rhs + 1, says, in ascending rows. They are written to `result_values` and
 * `result_row_indices`, of length result_nnz. X is never stored as a whole; memory is allocated inside.
 */
bandsolve_status_t bandsolveSgtsv_csc2csc(bandsolve_pivoting_t p,
                                          int64_t n,
                                          const float *sub,
                                          const float *diag,
                                          const float *sup,
                                          const float *rhs_values,
                                          const int32_t *rhs_row_indices,
                                          const int32_t *rhs_col_ptrs,
                                          int64_t n_rhs,
                                          int64_t rhs_nnz,
                                          float *result_values,
                                          int32_t *result_row_indices,
                                          const int32_t *result_col_ptrs,
                                          int64_t result_nnz);

/**
 * Bytes of buffer for `bandsolveDgtsv`.
 */
bandsolve_status_t bandsolveDgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a tridiagonal matrix:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * `sub`, `diag`, `sup` have length n; `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may
 * be the same pointer as `rhs`. `buffer` has the size that `bandsolveDgtsv_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveDgtsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  const double *sub,
                                  const double *diag,
                                  const double *sup,
                                  double *x,
                                  const double *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveDcgtsv`.
 */
bandsolve_status_t bandsolveDcgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) tridiagonal matrix: as `bandsolveDgtsv`, but `sub[0]` multiplies `x[n-1]` in the
 * first row and `sup[n-1]` multiplies `x[0]` in the last.
 */
bandsolve_status_t bandsolveDcgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   const double *sub,
                                   const double *diag,
                                   const double *sup,
                                   double *x,
                                   const double *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveDbgtsv`.
 */
bandsolve_status_t bandsolveDbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                 int64_t n,
                                                 int64_t n_rhs,
                                                 int64_t block,
                                                 size_t *size);

/**
 * Solves A x = rhs with a block tridiagonal matrix of n block rows:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * with blocks of `block` by `block` entries, each column-major, one after the other: `sub`, `diag`, `sup` have length
 * n * block * block; the first block of `sub` and the last of `sup` are ignored. `rhs` and `x` are (n * block) by n_rhs,
 * column-major; `x` may be the same pointer as `rhs`. `buffer` as in `bandsolveDgtsv`.
 */
bandsolve_status_t bandsolveDbgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   int64_t block,
                                   const double *sub,
                                   const double *diag,
                                   const double *sup,
                                   double *x,
                                   const double *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveDcbgtsv`.
 */
bandsolve_status_t bandsolveDcbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) block tridiagonal matrix: as `bandsolveDbgtsv`, but the first block of `sub`
 * multiplies the last block of x in the first block row, and the last block of `sup` the first one in the last.
 */
bandsolve_status_t bandsolveDcbgtsv(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const double *sub,
                                    const double *diag,
                                    const double *sup,
                                    double *x,
                                    const double *rhs,
                                    void *buffer);

/**
 * Bytes of factorization buffer for `bandsolveDbgtf`.
 */
bandsolve_status_t bandsolveDbgtf_factorizationBufferSizeExt(bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t block,
                                                             size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveDbgtsv`, which is kept: it must not be changed or freed before
 * `bandsolveDbgtf_destroy`. `factorization_buffer` has the size that `bandsolveDbgtf_factorizationBufferSizeExt` says, in any
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Where the method is `rpts` there are
 * none: blocks are eliminated anew in cache, which reads less memory than factors would. The settings of the thread count
 * here, for the solves as well.
 */
bandsolve_status_t bandsolveDbgtf(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t block,
                                  const double *sub,
                                  const double *diag,
                                  const double *sup,
                                  void *factorization_buffer);

/**
 * Frees the factors that `bandsolveDbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveDbgtf_destroy(void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveDbgtrfs`, under the settings with which `bandsolveDbgtf` was called.
 */
bandsolve_status_t bandsolveDbgtrfs_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves as `bandsolveDbgtsv` with the factors of `bandsolveDbgtf`, which was called with the same p, n, block, sub, diag and
 * sup. Any number of threads may solve with the same factors at once, each with a buffer of its own.
 */
bandsolve_status_t bandsolveDbgtrfs(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const double *sub,
                                    const double *diag,
                                    const double *sup,
                                    double *x,
                                    const double *rhs,
                                    const void *factorization_buffer,
                                    void *buffer);

/**
 * Bytes of buffer for `bandsolveDgbsv`.
 */
bandsolve_status_t bandsolveDgbsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                int64_t n,
                                                int64_t n_rhs,
                                                int64_t lower,
                                                int64_t upper,
                                                size_t *size);

/**
 * Solves A x = rhs with a banded matrix of `lower` diagonals below and `upper` above the main one, each of length n, the
 * lowest first, indexed by row:
 *
 *     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
 *
 * Entries outside of A are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may be the same pointer as `rhs`.
 * `buffer` as in `bandsolveDgtsv`; the matrix is rearranged there.
 */
bandsolve_status_t bandsolveDgbsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  int64_t lower,
                                  int64_t upper,
                                  const double *bands,
                                  double *x,
                                  const double *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveDgtsv_csc2dense`: 0, memory is allocated inside.
 */
bandsolve_status_t bandsolveDgtsv_csc2dense_bufferSizeExt(bandsolve_pivoting_t p,
                                                          int64_t n,
                                                          int64_t n_rhs,
                                                          size_t *size);

/**
 * Solves A X = D with a tridiagonal matrix, as `bandsolveDgtsv`, and sparse right-hand sides: column j of D has the entries
 * `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` says, counted from 0, in
 * any order; entries of one row add up. `rhs_col_ptrs` has length n_rhs + 1, the other two have length rhs_nnz. `x` is n by
 * n_rhs, column-major, and overlaps nothing. `buffer` is not used.
 */
bandsolve_status_t bandsolveDgtsv_csc2dense(bandsolve_pivoting_t p,
                                            int64_t n,
                                            int64_t n_rhs,
                                            const double *sub,
                                            const double *diag,
                                            const double *sup,
                                            double *x,
                                            const double *rhs_values,
                                            const int32_t *rhs_row_indices,
                                            const int32_t *rhs_col_ptrs,
                                            int64_t rhs_nnz,
                                            void *buffer);

/**
 * Solves A X = D as `bandsolveDgtsv_csc2dense`, and keeps of every column of X the entries of largest modulus: as many as
 * `result_col_ptrs`, of length n_rhs + 1, says, in ascending rows. They are written to `result_values` and
 * `result_row_indices`, of length result_nnz. X is never stored as a whole; memory is allocated inside.
 */
bandsolve_status_t bandsolveDgtsv_csc2csc(bandsolve_pivoting_t p,
                                          int64_t n,
                                          const double *sub,
                                          const double *diag,
                                          const double *sup,
                                          const double *rhs_values,
                                          const int32_t *rhs_row_indices,
                                          const int32_t *rhs_col_ptrs,
                                          int64_t n_rhs,
                                          int64_t rhs_nnz,
                                          double *result_values,
                                          int32_t *result_row_indices,
                                          const int32_t *result_col_ptrs,
                                          int64_t result_nnz);

/**
 * Bytes of buffer for `bandsolveCgtsv`.
 */
bandsolve_status_t bandsolveCgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a tridiagonal matrix:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * `sub`, `diag`, `sup` have length n; `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may
 * be the same pointer as `rhs`. `buffer` has the size that `bandsolveCgtsv_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveCgtsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  const bandsolve_c32_t *sub,
                                  const bandsolve_c32_t *diag,
                                  const bandsolve_c32_t *sup,
                                  bandsolve_c32_t *x,
                                  const bandsolve_c32_t *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveCcgtsv`.
 */
bandsolve_status_t bandsolveCcgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) tridiagonal matrix: as `bandsolveCgtsv`, but `sub[0]` multiplies `x[n-1]` in the
 * first row and `sup[n-1]` multiplies `x[0]` in the last.
 */
bandsolve_status_t bandsolveCcgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   const bandsolve_c32_t *sub,
                                   const bandsolve_c32_t *diag,
                                   const bandsolve_c32_t *sup,
                                   bandsolve_c32_t *x,
                                   const bandsolve_c32_t *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveCbgtsv`.
 */
bandsolve_status_t bandsolveCbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                 int64_t n,
                                                 int64_t n_rhs,
                                                 int64_t block,
                                                 size_t *size);

/**
 * Solves A x = rhs with a block tridiagonal matrix of n block rows:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * with blocks of `block` by `block` entries, each column-major, one after the other: `sub`, `diag`, `sup` have length
 * n * block * block; the first block of `sub` and the last of `sup` are ignored. `rhs` and `x` are (n * block) by n_rhs,
 * column-major; `x` may be the same pointer as `rhs`. `buffer` as in `bandsolveCgtsv`.
 */
bandsolve_status_t bandsolveCbgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   int64_t block,
                                   const bandsolve_c32_t *sub,
                                   const bandsolve_c32_t *diag,
                                   const bandsolve_c32_t *sup,
                                   bandsolve_c32_t *x,
                                   const bandsolve_c32_t *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveCcbgtsv`.
 */
bandsolve_status_t bandsolveCcbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) block tridiagonal matrix: as `bandsolveCbgtsv`, but the first block of `sub`
 * multiplies the last block of x in the first block row, and the last block of `sup` the first one in the last.
 */
bandsolve_status_t bandsolveCcbgtsv(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const bandsolve_c32_t *sub,
                                    const bandsolve_c32_t *diag,
                                    const bandsolve_c32_t *sup,
                                    bandsolve_c32_t *x,
                                    const bandsolve_c32_t *rhs,
                                    void *buffer);

/**
 * Bytes of factorization buffer for `bandsolveCbgtf`.
 */
bandsolve_status_t bandsolveCbgtf_factorizationBufferSizeExt(bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t block,
                                                             size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveCbgtsv`, which is kept: it must not be changed or freed before
 * `bandsolveCbgtf_destroy`. `factorization_buffer` has the size that `bandsolveCbgtf_factorizationBufferSizeExt` says, in any
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Where the method is `rpts` there are
 * none: blocks are eliminated anew in cache, which reads less memory than factors would. The settings of the thread count
 * here, for the solves as well.
 */
bandsolve_status_t bandsolveCbgtf(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t block,
                                  const bandsolve_c32_t *sub,
                                  const bandsolve_c32_t *diag,
                                  const bandsolve_c32_t *sup,
                                  void *factorization_buffer);

/**
 * Frees the factors that `bandsolveCbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveCbgtf_destroy(void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveCbgtrfs`, under the settings with which `bandsolveCbgtf` was called.
 */
bandsolve_status_t bandsolveCbgtrfs_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves as `bandsolveCbgtsv` with the factors of `bandsolveCbgtf`, which was called with the same p, n, block, sub, diag and
 * sup. Any number of threads may solve with the same factors at once, each with a buffer of its own.
 */
bandsolve_status_t bandsolveCbgtrfs(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const bandsolve_c32_t *sub,
                                    const bandsolve_c32_t *diag,
                                    const bandsolve_c32_t *sup,
                                    bandsolve_c32_t *x,
                                    const bandsolve_c32_t *rhs,
                                    const void *factorization_buffer,
                                    void *buffer);

/**
 * Bytes of buffer for `bandsolveCgbsv`.
 */
bandsolve_status_t bandsolveCgbsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                int64_t n,
                                                int64_t n_rhs,
                                                int64_t lower,
                                                int64_t upper,
                                                size_t *size);

/**
 * Solves A x = rhs with a banded matrix of `lower` diagonals below and `upper` above the main one, each of length n, the
 * lowest first, indexed by row:
 *
 *     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
 *
 * Entries outside of A are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may be the same pointer as `rhs`.
 * `buffer` as in `bandsolveCgtsv`; the matrix is rearranged there.
 */
bandsolve_status_t bandsolveCgbsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  int64_t lower,
                                  int64_t upper,
                                  const bandsolve_c32_t *bands,
                                  bandsolve_c32_t *x,
                                  const bandsolve_c32_t *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveCgtsv_csc2dense`: 0, memory is allocated inside.
 */
bandsolve_status_t bandsolveCgtsv_csc2dense_bufferSizeExt(bandsolve_pivoting_t p,
                                                          int64_t n,
                                                          int64_t n_rhs,
                                                          size_t *size);

/**
 * Solves A X = D with a tridiagonal matrix, as `bandsolveCgtsv`, and sparse right-hand sides: column j of D has the entries
 * `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` says, counted from 0, in
 * any order; entries of one row add up. `rhs_col_ptrs` has length n_rhs + 1, the other two have length rhs_nnz. `x` is n by
 * n_rhs, column-major, and overlaps nothing. `buffer` is not used.
 */
bandsolve_status_t bandsolveCgtsv_csc2dense(bandsolve_pivoting_t p,
                                            int64_t n,
                                            int64_t n_rhs,
                                            const bandsolve_c32_t *sub,
                                            const bandsolve_c32_t *diag,
                                            const bandsolve_c32_t *sup,
                                            bandsolve_c32_t *x,
                                            const bandsolve_c32_t *rhs_values,
                                            const int32_t *rhs_row_indices,
                                            const int32_t *rhs_col_ptrs,
                                            int64_t rhs_nnz,
                                            void *buffer);

/**
 * Solves A X = D as `bandsolveCgtsv_csc2dense`, and keeps of every column of X the entries of largest modulus: as many as
 * `result_col_ptrs`, of length n_rhs + 1, says, in ascending rows. They are written to `result_values` and
 * `result_row_indices`, of length result_nnz. X is never stored as a whole; memory is allocated inside.
 */
bandsolve_status_t bandsolveCgtsv_csc2csc(bandsolve_pivoting_t p,
                                          int64_t n,
                                          const bandsolve_c32_t *sub,
                                          const bandsolve_c32_t *diag,
                                          const bandsolve_c32_t *sup,
                                          const bandsolve_c32_t *rhs_values,
                                          const int32_t *rhs_row_indices,
                                          const int32_t *rhs_col_ptrs,
                                          int64_t n_rhs,
                                          int64_t rhs_nnz,
                                          bandsolve_c32_t *result_values,
                                          int32_t *result_row_indices,
                                          const int32_t *result_col_ptrs,
                                          int64_t result_nnz);

/**
 * Bytes of buffer for `bandsolveZgtsv`.
 */
bandsolve_status_t bandsolveZgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a tridiagonal matrix:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * `sub`, `diag`, `sup` have length n; `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may
 * be the same pointer as `rhs`. `buffer` has the size that `bandsolveZgtsv_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveZgtsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  const bandsolve_c64_t *sub,
                                  const bandsolve_c64_t *diag,
                                  const bandsolve_c64_t *sup,
                                  bandsolve_c64_t *x,
                                  const bandsolve_c64_t *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveZcgtsv`.
 */
bandsolve_status_t bandsolveZcgtsv_bufferSizeExt(bandsolve_pivoting_t p, int64_t n, int64_t n_rhs, size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) tridiagonal matrix: as `bandsolveZgtsv`, but `sub[0]` multiplies `x[n-1]` in the
 * first row and `sup[n-1]` multiplies `x[0]` in the last.
 */
bandsolve_status_t bandsolveZcgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   const bandsolve_c64_t *sub,
                                   const bandsolve_c64_t *diag,
                                   const bandsolve_c64_t *sup,
                                   bandsolve_c64_t *x,
                                   const bandsolve_c64_t *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveZbgtsv`.
 */
bandsolve_status_t bandsolveZbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                 int64_t n,
                                                 int64_t n_rhs,
                                                 int64_t block,
                                                 size_t *size);

/**
 * Solves A x = rhs with a block tridiagonal matrix of n block rows:
 *
 *     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
 *
 * with blocks of `block` by `block` entries, each column-major, one after the other: `sub`, `diag`, `sup` have length
 * n * block * block; the first block of `sub` and the last of `sup` are ignored. `rhs` and `x` are (n * block) by n_rhs,
 * column-major; `x` may be the same pointer as `rhs`. `buffer` as in `bandsolveZgtsv`.
 */
bandsolve_status_t bandsolveZbgtsv(bandsolve_pivoting_t p,
                                   int64_t n,
                                   int64_t n_rhs,
                                   int64_t block,
                                   const bandsolve_c64_t *sub,
                                   const bandsolve_c64_t *diag,
                                   const bandsolve_c64_t *sup,
                                   bandsolve_c64_t *x,
                                   const bandsolve_c64_t *rhs,
                                   void *buffer);

/**
 * Bytes of buffer for `bandsolveZcbgtsv`.
 */
bandsolve_status_t bandsolveZcbgtsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves A x = rhs with a cyclic (periodic) block tridiagonal matrix: as `bandsolveZbgtsv`, but the first block of `sub`
 * multiplies the last block of x in the first block row, and the last block of `sup` the first one in the last.
 */
bandsolve_status_t bandsolveZcbgtsv(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const bandsolve_c64_t *sub,
                                    const bandsolve_c64_t *diag,
                                    const bandsolve_c64_t *sup,
                                    bandsolve_c64_t *x,
                                    const bandsolve_c64_t *rhs,
                                    void *buffer);

/**
 * Bytes of factorization buffer for `bandsolveZbgtf`.
 */
bandsolve_status_t bandsolveZbgtf_factorizationBufferSizeExt(bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t block,
                                                             size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveZbgtsv`, which is kept: it must not be changed or freed before
 * `bandsolveZbgtf_destroy`. `factorization_buffer` has the size that `bandsolveZbgtf_factorizationBufferSizeExt` says, in any
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Where the method is `rpts` there are
 * none: blocks are eliminated anew in cache, which reads less memory than factors would. The settings of the thread count
 * here, for the solves as well.
 */
bandsolve_status_t bandsolveZbgtf(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t block,
                                  const bandsolve_c64_t *sub,
                                  const bandsolve_c64_t *diag,
                                  const bandsolve_c64_t *sup,
                                  void *factorization_buffer);

/**
 * Frees the factors that `bandsolveZbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveZbgtf_destroy(void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveZbgtrfs`, under the settings with which `bandsolveZbgtf` was called.
 */
bandsolve_status_t bandsolveZbgtrfs_bufferSizeExt(bandsolve_pivoting_t p,
                                                  int64_t n,
                                                  int64_t n_rhs,
                                                  int64_t block,
                                                  size_t *size);

/**
 * Solves as `bandsolveZbgtsv` with the factors of `bandsolveZbgtf`, which was called with the same p, n, block, sub, diag and
 * sup. Any number of threads may solve with the same factors at once, each with a buffer of its own.
 */
bandsolve_status_t bandsolveZbgtrfs(bandsolve_pivoting_t p,
                                    int64_t n,
                                    int64_t n_rhs,
                                    int64_t block,
                                    const bandsolve_c64_t *sub,
                                    const bandsolve_c64_t *diag,
                                    const bandsolve_c64_t *sup,
                                    bandsolve_c64_t *x,
                                    const bandsolve_c64_t *rhs,
                                    const void *factorization_buffer,
                                    void *buffer);

/**
 * Bytes of buffer for `bandsolveZgbsv`.
 */
bandsolve_status_t bandsolveZgbsv_bufferSizeExt(bandsolve_pivoting_t p,
                                                int64_t n,
                                                int64_t n_rhs,
                                                int64_t lower,
                                                int64_t upper,
                                                size_t *size);

/**
 * Solves A x = rhs with a banded matrix of `lower` diagonals below and `upper` above the main one, each of length n, the
 * lowest first, indexed by row:
 *
 *     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
 *
 * Entries outside of A are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may be the same pointer as `rhs`.
 * `buffer` as in `bandsolveZgtsv`; the matrix is rearranged there.
 */
bandsolve_status_t bandsolveZgbsv(bandsolve_pivoting_t p,
                                  int64_t n,
                                  int64_t n_rhs,
                                  int64_t lower,
                                  int64_t upper,
                                  const bandsolve_c64_t *bands,
                                  bandsolve_c64_t *x,
                                  const bandsolve_c64_t *rhs,
                                  void *buffer);

/**
 * Bytes of buffer for `bandsolveZgtsv_csc2dense`: 0, memory is allocated inside.
 */
bandsolve_status_t bandsolveZgtsv_csc2dense_bufferSizeExt(bandsolve_pivoting_t p,
                                                          int64_t n,
                                                          int64_t n_rhs,
                                                          size_t *size);

/**
 * Solves A X = D with a tridiagonal matrix, as `bandsolveZgtsv`, and sparse right-hand sides: column j of D has the entries
 * `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` says, counted from 0, in
 * any order; entries of one row add up. `rhs_col_ptrs` has length n_rhs + 1, the other two have length rhs_nnz. `x` is n by
 * n_rhs, column-major, and overlaps nothing. `buffer` is not used.
 */
bandsolve_status_t bandsolveZgtsv_csc2dense(bandsolve_pivoting_t p,
                                            int64_t n,
                                            int64_t n_rhs,
                                            const bandsolve_c64_t *sub,
                                            const bandsolve_c64_t *diag,
                                            const bandsolve_c64_t *sup,
                                            bandsolve_c64_t *x,
                                            const bandsolve_c64_t *rhs_values,
                                            const int32_t *rhs_row_indices,
                                            const int32_t *rhs_col_ptrs,
                                            int64_t rhs_nnz,
                                            void *buffer);

/**
 * Solves A X = D as `bandsolveZgtsv_csc2dense`, and keeps of every column of X the entries of largest modulus: as many as
 * `result_col_ptrs`, of length n_rhs + 1, says, in ascending rows. They are written to `result_values` and
 * `result_row_indices`, of length result_nnz. X is never stored as a whole; memory is allocated inside.
 */
bandsolve_status_t bandsolveZgtsv_csc2csc(bandsolve_pivoting_t p,
                                          int64_t n,
                                          const bandsolve_c64_t *sub,
                                          const bandsolve_c64_t *diag,
                                          const bandsolve_c64_t *sup,
                                          const bandsolve_c64_t *rhs_values,
                                          const int32_t *rhs_row_indices,
                                          const int32_t *rhs_col_ptrs,
                                          int64_t n_rhs,
                                          int64_t rhs_nnz,
                                          bandsolve_c64_t *result_values,
                                          int32_t *result_row_indices,
                                          const int32_t *result_col_ptrs,
                                          int64_t result_nnz);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BANDSOLVE_H */
