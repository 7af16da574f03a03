/*
 * bandsolve: linear systems whose non-zeros lie in a narrow band, solved in parallel, every answer verified.
 *
 * Solvers are called bandsolve<t><operation>, with t = S (float), D (double), C (complex float), Z (complex double). They
 * return a status. All arrays lie in the memory of the CPU and belong to the caller. docs/c-api.md explains the rest.
 * Functions for sparse matrices by rows, with forests, preconditioners and iterative solves, stand at the end, with those for Poisson
 * problems.
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
   * The matrix is singular. The best x found stands in `x`. Of Poisson problems: singular, and without solution for this right-hand side.
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
  /**
   * An iteration ended before the residual was within the tolerance. The best x found stands in `x`.
   */
  BANDSOLVE_TOLERANCE_NOT_REACHED = 12,
  /**
   * The program stopped the call before it ended. Nothing that it has written is valid.
   */
  BANDSOLVE_INTERRUPTED = 13,
} bandsolve_status_t;

/**
 * Why an iteration ended. Numbers are permanent: new ones may come, none changes its meaning.
 */
typedef enum {
  /**
   * The residual, computed from x, is within the tolerance.
   */
  BANDSOLVE_CONVERGED = 0,
  /**
   * As many iterations as allowed.
   */
  BANDSOLVE_ITERATION_LIMIT = 1,
  /**
   * Restarts brought nothing: the residual does not get smaller.
   */
  BANDSOLVE_STAGNATED = 2,
  /**
   * A division by zero, or a product that shows that the matrix is not definite, and a restart did not help.
   */
  BANDSOLVE_BREAKDOWN = 3,
  /**
   * A NaN or an infinity came up.
   */
  BANDSOLVE_ITERATION_NOT_FINITE = 4,
  /**
   * `watch` said so.
   */
  BANDSOLVE_CANCELLED = 5,
} bandsolve_ending_t;

/**
 * What is given at a side of a box.
 */
typedef enum {
  /**
   * The value of u.
   */
  BANDSOLVE_DIRICHLET = 0,
  /**
   * The derivative of u along the outward normal.
   */
  BANDSOLVE_NEUMANN = 1,
  /**
   * Nothing: u goes on at the other side. Both sides of an axis are periodic, or neither.
   */
  BANDSOLVE_PERIODIC = 2,
} bandsolve_boundary_t;

/**
 * Where the unknowns of an axis stand.
 */
typedef enum {
  /**
   * At nodes: a Dirichlet side is one spacing beyond the last unknown, a Neumann side is where the last unknown is.
   */
  BANDSOLVE_NODES = 0,
  /**
   * In the middle of cells: sides are half a spacing beyond the last unknown.
   */
  BANDSOLVE_CELLS = 1,
} bandsolve_grid_t;

/**
 * What is done with a matrix.
 */
typedef enum {
  /**
   * A itself.
   */
  BANDSOLVE_PLAIN = 0,
  /**
   * Its transpose.
   */
  BANDSOLVE_TRANSPOSE = 1,
  /**
   * Its conjugate transpose.
   */
  BANDSOLVE_CONJ_TRANSPOSE = 2,
} bandsolve_operation_t;

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
 * On which side of the matrix a preconditioner stands.
 */
typedef enum {
  /**
   * On the right: the residual that is made small is that of the system itself.
   */
  BANDSOLVE_RIGHT = 0,
  /**
   * On the left.
   */
  BANDSOLVE_LEFT = 1,
} bandsolve_side_t;

/**
 * A sparse matrix by rows, of any number type.
 */
typedef struct bandsolve_csr bandsolve_csr;

/**
 * A linear forest.
 */
typedef struct bandsolve_forest bandsolve_forest;

/**
 * A solver of a problem, in one of two number types.
 */
typedef struct bandsolve_poisson_solver bandsolve_poisson_solver;

/**
 * A preconditioner of any number type.
 */
typedef struct bandsolve_precond bandsolve_precond;

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
  /**
   * Says in words where x may have no correct digit, because x is so large that the matrix must be singular to working precision. Else
   * empty.
   */
  char attention[160];
} bandsolve_report_t;

/**
 * A matrix that `bandsolve<t>csr_create` has made.
 */
typedef bandsolve_csr *bandsolve_csr_t;

/**
 * How factors of graphs, and preconditioners that need them, are made.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_forest_options_t)`, also before `bandsolveForestDefaults`.
   */
  size_t size;
  /**
   * Most edges of a vertex: 1 to 4, of a forest 1 or 2. At first 2.
   */
  int64_t degree;
  /**
   * Most rounds of proposals. At first 5.
   */
  int64_t rounds;
  /**
   * Vertices propose to those of the other charge alone, but in every so many-th round. At first 5.
   */
  int64_t period;
  /**
   * The first round without charges, below `period`. At first 0.
   */
  int64_t uncharged;
  /**
   * Changes the charges. At first 0.
   */
  uint64_t seed;
  /**
   * Of preconditioners with forests that may share edges: by how much the weights of a forest are multiplied before the next
   * is looked for. At first 0.01.
   */
  double omega;
} bandsolve_forest_options_t;

/**
 * A forest that `bandsolve<t>csr_forest` has made.
 */
typedef bandsolve_forest *bandsolve_forest_t;

/**
 * What was found.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_forest_info_t)` before the call. Later versions add fields at the end, and write no more than
   * this.
   */
  size_t size;
  /**
   * Vertices: rows of the matrix.
   */
  int64_t n;
  /**
   * Paths, those of a single vertex included; 0 of a factor.
   */
  int64_t paths;
  /**
   * Cycles that were broken; 0 of a factor.
   */
  int64_t cycles;
  /**
   * Rounds of proposals.
   */
  int64_t rounds;
  /**
   * The share of the graph's weight that the edges have.
   */
  double coverage;
  /**
   * 1 if no edge can be added, as a last round has shown, else 0.
   */
  int32_t maximal;
} bandsolve_forest_info_t;

/**
 * A preconditioner that `bandsolve<t>csr_precond` has made.
 */
typedef bandsolve_precond *bandsolve_precond_t;

/**
 * Is told of every iteration: its number from 1 on, the norm of the residual as the method knows it, what it is to be below, and the
 * caller's `watch_data`. All but 0 ends the iteration. It must return: no exception, no `longjmp`.
 */
typedef int32_t (*bandsolve_watch_t)(int64_t, double, double, void*);

/**
 * When an iteration ends.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_iteration_options_t)`, also before `bandsolveIterationDefaults`.
   */
  size_t size;
  /**
   * The part of the right-hand side's norm that the residual may have. At first 1e-6.
   */
  double rtol;
  /**
   * A residual that is small enough whatever the right-hand side is. At first 0.
   */
  double atol;
  /**
   * Most iterations. At first 0: ten for each unknown, at most 10,000.
   */
  int64_t max_iterations;
  /**
   * Where the preconditioner stands. At first on the right.
   */
  bandsolve_side_t side;
  /**
   * Is called after every iteration, on the caller's thread. At first NULL.
   */
  bandsolve_watch_t watch;
  /**
   * Is handed to `watch`.
   */
  void *watch_data;
} bandsolve_iteration_options_t;

/**
 * A side of a box.
 */
typedef struct {
  /**
   * What is given. At first the value of u.
   */
  bandsolve_boundary_t kind;
  /**
   * It, the same all over the side. At first 0.
   */
  double value;
  /**
   * A number for each point of the side in the place of it, the last axis running fastest; they are copied. At first NULL.
   */
  const double *values;
} bandsolve_poisson_side_t;

/**
 * An axis of a box.
 */
typedef struct {
  /**
   * Unknowns along it. At first 1.
   */
  int64_t n;
  /**
   * Where they stand. At first at nodes.
   */
  bandsolve_grid_t grid;
  /**
   * Their distance. At first 1.
   */
  double spacing;
  /**
   * Increasing coordinates in the place of it; they are copied. Of nodes those of the unknowns and of Dirichlet sides (n to n + 2
   * numbers), and n + 1 where the axis is periodic; of cells their n + 1 faces. At first NULL.
   */
  const double *coordinates;
  /**
   * The side where the index is 0, and the side where it is n - 1.
   */
  bandsolve_poisson_side_t sides[2];
} bandsolve_poisson_axis_t;

/**
 * The problem (-Laplace + shift) u = f on a box.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_poisson_problem_t)`, also before `bandsolvePoissonDefaults`.
   */
  size_t size;
  /**
   * Axes of the box, 1 to 3. At first 2.
   */
  int64_t dimensions;
  /**
   * The axes, of which as many count. The last one that counts is contiguous in memory.
   */
  bandsolve_poisson_axis_t axes[3];
  /**
   * What is added to the diagonal. At first 0.
   */
  double shift;
  /**
   * The mean of u, weighted by volumes, of singular problems. At first 0.
   */
  double mean;
  /**
   * How much may be subtracted from f so that a singular problem has a solution, in parts of the largest entry. At first 0.1.
   */
  double removable;
  /**
   * Name of the method: "auto", "fft", "gemm", "bcr2", "bcr4" or "pscr". At first NULL, which is "auto".
   */
  const char *method;
} bandsolve_poisson_problem_t;

/**
 * Two tridiagonal matrices A and M of an axis, each of n rows. All arrays have n numbers, which are copied; the first of those before the
 * diagonal and the last of those after it are not used.
 */
typedef struct {
  /**
   * Unknowns along the axis. At first 1.
   */
  int64_t n;
  /**
   * Entries of A before the diagonal. At first NULL, which is an error.
   */
  const double *a_sub;
  /**
   * Its diagonal.
   */
  const double *a_diag;
  /**
   * Its entries after the diagonal.
   */
  const double *a_sup;
  /**
   * Entries of M before the diagonal. NULL in all three, as at first, is the identity.
   */
  const double *m_sub;
  /**
   * Its diagonal.
   */
  const double *m_diag;
  /**
   * Its entries after the diagonal.
   */
  const double *m_sup;
} bandsolve_pencil_t;

/**
 * The problem (A1 x M2 + M1 x A2 + shift M1 x M2) u = f on a box, x the Kronecker product; in three dimensions the sum of three products
 * with one A each. Along all axes but one A must be symmetric, and M symmetric and definite.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_pencils_problem_t)`, also before `bandsolvePoissonPencilsDefaults`.
   */
  size_t size;
  /**
   * Axes of the box, 1 to 3. At first 2.
   */
  int64_t dimensions;
  /**
   * The axes, of which as many count. The last one that counts is contiguous in memory.
   */
  bandsolve_pencil_t axes[3];
  /**
   * What the product of all M is multiplied by. At first 0.
   */
  double shift;
  /**
   * Name of the method: "auto", "gemm" or "pscr". At first NULL, which is "auto".
   */
  const char *method;
} bandsolve_pencils_problem_t;

/**
 * A solver that `bandsolve<t>poisson_create` or `bandsolve<t>poisson_create_pencils` has made.
 */
typedef bandsolve_poisson_solver *bandsolve_poisson_solver_t;

/**
 * How an iteration went. Norms are 2-norms.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_iteration_report_t)` before the call. Later versions add fields at the end, and write no
   * more than this.
   */
  size_t size;
  /**
   * Iterations.
   */
  int64_t iterations;
  /**
   * Times that the method began again, from the residual of the x that it had.
   */
  int64_t restarts;
  /**
   * 1 if the residual is within the tolerance, else 0.
   */
  int32_t converged;
  /**
   * Why the iteration ended.
   */
  bandsolve_ending_t ending;
  /**
   * The norm of rhs - A x, computed from x.
   */
  double residual_norm;
  /**
   * The norm of rhs.
   */
  double rhs_norm;
  /**
   * The larger of `rtol` times `rhs_norm` and `atol`: what `residual_norm` was to be below.
   */
  double tolerance;
  /**
   * Says where x is so large beside rhs that the matrix must be singular to working precision, and x may have no correct digit; else
   * empty.
   */
  char attention[160];
} bandsolve_iteration_report_t;

/**
 * How a Poisson problem was solved.
 */
typedef struct {
  /**
   * To be set to `sizeof(bandsolve_poisson_report_t)` before the call. Later versions add fields at the end, and write no more than
   * this.
   */
  size_t size;
  /**
   * Largest backward error of the right-hand sides.
   */
  double backward_error;
  /**
   * What was subtracted from f in every place, so that a singular problem has a solution; of several right-hand sides the largest.
   */
  double removed;
  /**
   * The mean of u as it is returned, weighted by volumes, where it was free to choose: of singular problems. Else NaN.
   */
  double mean;
  /**
   * Most refinement steps that a right-hand side took.
   */
  int64_t refinement_steps;
  /**
   * Tridiagonal systems that were solved for each right-hand side.
   */
  int64_t subproblems;
  /**
   * An estimate of the reciprocal condition: the error of u, relative to its largest entry, can be 2 backward_error / rcond. NaN where it
   * is not known.
   */
  double rcond;
  /**
   * Says in words where u may have no correct digit, else empty.
   */
  char attention[160];
} bandsolve_poisson_report_t;

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
 * Frees a matrix; nothing if NULL. Its arrays stay the caller's; what was made of the matrix goes on to need them.
 */
bandsolve_status_t bandsolveCsrDestroy(bandsolve_csr_t matrix);

/**
 * Writes the options that are taken where there are none. Set `options->size` to `sizeof(bandsolve_forest_options_t)` first.
 */
bandsolve_status_t bandsolveForestDefaults(bandsolve_forest_options_t *options);

/**
 * Writes sizes and coverage of a forest. Set `info->size` to `sizeof(bandsolve_forest_info_t)` first.
 */
bandsolve_status_t bandsolveForestInfo(bandsolve_forest_t forest, bandsolve_forest_info_t *info);

/**
 * Writes the paths of a forest. A path is named by the smaller of its two ends, from which its vertices are counted:
 *
 *     paths[v]      the name of the path of vertex v
 *     positions[v]  its place on the path, from 0 on
 *     order[k]      the vertices path by path, in ascending order of names: the permutation
 *     lengths[k]    the vertices of each path, in the same order
 *
 * `lengths` has as many numbers as there are paths, the others have n. Those that are NULL are not written.
 */
bandsolve_status_t bandsolveForestArrays(bandsolve_forest_t forest,
                                         int64_t *paths,
                                         int64_t *positions,
                                         int64_t *order,
                                         int64_t *lengths);

/**
 * Frees a forest; nothing if NULL.
 */
bandsolve_status_t bandsolveForestDestroy(bandsolve_forest_t forest);

/**
 * What a preconditioner is: its name, of "auto" what was chosen, and with the number of forests. Empty for NULL. Valid until the
 * preconditioner is destroyed.
 */
const char *bandsolvePrecondKind(bandsolve_precond_t precond);

/**
 * Why a preconditioner is what it is, in words; empty where it was asked for as it is, and for NULL. Valid until the preconditioner
 * is destroyed.
 */
const char *bandsolvePrecondReason(bandsolve_precond_t precond);

/**
 * Frees a preconditioner; nothing if NULL.
 */
bandsolve_status_t bandsolvePrecondDestroy(bandsolve_precond_t precond);

/**
 * Writes the options that are taken where there are none. Set `options->size` to `sizeof(bandsolve_iteration_options_t)` first.
 */
bandsolve_status_t bandsolveIterationDefaults(bandsolve_iteration_options_t *options);

/**
 * Writes a problem of two dimensions with nothing but usual values. Set `problem->size` to `sizeof(bandsolve_poisson_problem_t)` first,
 * and `problem->axes[k].n` afterwards.
 */
bandsolve_status_t bandsolvePoissonDefaults(bandsolve_poisson_problem_t *problem);

/**
 * Writes a problem of two dimensions whose matrices are not set. Set `problem->size` to `sizeof(bandsolve_pencils_problem_t)` first, and the
 * sizes and the matrices of `problem->axes` afterwards.
 */
bandsolve_status_t bandsolvePoissonPencilsDefaults(bandsolve_pencils_problem_t *problem);

/**
 * The name of the method that a solver works by, of "auto" what was chosen. Empty for NULL. Valid until the solver is destroyed.
 */
const char *bandsolvePoissonMethod(bandsolve_poisson_solver_t solver);

/**
 * Why a solver works by this method, in words; empty for NULL. Valid until the solver is destroyed.
 */
const char *bandsolvePoissonReason(bandsolve_poisson_solver_t solver);

/**
 * Frees a solver; nothing if NULL.
 */
bandsolve_status_t bandsolvePoissonDestroy(bandsolve_poisson_solver_t solver);

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
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Factors that it holds already are freed first.
 * Where the method is `rpts` there are none: blocks are eliminated anew in cache, which reads less memory than factors would. The
 * settings of the thread count here, for the solves as well.
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
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Factors that it holds already are freed first.
 * Where the method is `rpts` there are none: blocks are eliminated anew in cache, which reads less memory than factors would. The
 * settings of the thread count here, for the solves as well.
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
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Factors that it holds already are freed first.
 * Where the method is `rpts` there are none: blocks are eliminated anew in cache, which reads less memory than factors would. The
 * settings of the thread count here, for the solves as well.
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
 * alignment; it comes to hold a reference to the factors, which are allocated inside. Factors that it holds already are freed first.
 * Where the method is `rpts` there are none: blocks are eliminated anew in cache, which reads less memory than factors would. The
 * settings of the thread count here, for the solves as well.
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

/**
 * Makes a sparse matrix over the caller's arrays: row i has the entries `row_ptrs[i]` to `row_ptrs[i+1] - 1` of `values`, in the
 * columns that `col_indices` says, counted from 0, in any order; entries of one column add up. `row_ptrs` has length rows + 1, the
 * other two have length nnz; what is behind the last entry that `row_ptrs` names is ignored. The arrays are not copied: they must be
 * neither changed nor freed before the matrix, and all that is made of it, is destroyed. The matrix is written to `matrix`, and freed by
 * `bandsolveCsrDestroy`.
 */
bandsolve_status_t bandsolveScsr_create(int64_t rows,
                                        int64_t columns,
                                        const float *values,
                                        const int32_t *col_indices,
                                        const int32_t *row_ptrs,
                                        int64_t nnz,
                                        bandsolve_csr_t *matrix);

/**
 * The same with indices of 64 bits.
 */
bandsolve_status_t bandsolveScsr_create_64(int64_t rows,
                                           int64_t columns,
                                           const float *values,
                                           const int64_t *col_indices,
                                           const int64_t *row_ptrs,
                                           int64_t nnz,
                                           bandsolve_csr_t *matrix);

/**
 * The same with columns of 32 bits and pointers of 64 bits, which are copied. There are at most 2^31 - 1 entries.
 */
bandsolve_status_t bandsolveScsr_create_mixed(int64_t rows,
                                              int64_t columns,
                                              const float *values,
                                              const int32_t *col_indices,
                                              const int64_t *row_ptrs,
                                              int64_t nnz,
                                              bandsolve_csr_t *matrix);

/**
 * Prepares a matrix for many products A x: `bandsolveScsrmv` and `bandsolveScsr_krylov` are faster from then on, where neighboring entries
 * are far from each other in an x that is larger than caches, or most rows have their entries at the same distances from the diagonal as the
 * rows beside them. Such a matrix is kept once more, in another order; in the first case the entries of a row are then added in that order.
 * Nothing is kept of other matrices. Other threads may use the matrix meanwhile. Freed with the matrix.
 */
bandsolve_status_t bandsolveScsr_prepare(bandsolve_csr_t matrix);

/**
 * Computes y = alpha op(A) x + beta y. `x` has a number for each column of op(A), `y` one for each row; they do not overlap. If
 * `*beta` is 0, y need not be initialised.
 */
bandsolve_status_t bandsolveScsrmv(bandsolve_operation_t op,
                                   const float *alpha,
                                   bandsolve_csr_t matrix,
                                   const float *x,
                                   const float *beta,
                                   float *y);

/**
 * Finds edges of the graph of a square matrix, whose weights are |a_ij| + |a_ji|, that have much weight together, at most
 * `options->degree` at each vertex. Those of vertex v are written to `partners[v*degree]` and following, -1 behind the last.
 * `options` and `info` may be NULL.
 */
bandsolve_status_t bandsolveScsr_factor(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        int64_t *partners,
                                        bandsolve_forest_info_t *info);

/**
 * Finds the linear forest of a square matrix: paths through all vertices of its graph that have much weight. `options` may be NULL.
 * The forest is written to `forest`, and freed by `bandsolveForestDestroy`; it needs the matrix no more.
 */
bandsolve_status_t bandsolveScsr_forest(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        bandsolve_forest_t *forest);

/**
 * Writes the tridiagonal system of a forest, in its order: the entries of the matrix on the diagonal, and between vertices that
 * follow each other on a path. `sub`, `diag`, `sup` have length n, as `bandsolveSgtsv` takes them.
 */
bandsolve_status_t bandsolveScsr_tridiagonal(bandsolve_csr_t matrix,
                                             bandsolve_forest_t forest,
                                             float *sub,
                                             float *diag,
                                             float *sup);

/**
 * Makes a preconditioner of a square matrix, by name: "auto", "none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest",
 * "forest-block", "alt-i:M", "alt-o:M", "mos-d:M", "mos-a:M", "mos-a:M:scaled", "ilu0", "ilu-isai:S", "adi:NXxNY", "amg-lines:M".
 * `options` may be NULL. It is written to `precond`, and freed by `bandsolvePrecondDestroy`.
 */
bandsolve_status_t bandsolveScsr_precond(const char *name,
                                         bandsolve_csr_t matrix,
                                         const bandsolve_forest_options_t *options,
                                         bandsolve_precond_t *precond);

/**
 * Bytes of buffer for `bandsolveSprecond_apply`.
 */
bandsolve_status_t bandsolveSprecond_apply_bufferSizeExt(bandsolve_precond_t precond, size_t *size);

/**
 * Computes z = op(M^-1) r with a preconditioner, of two vectors of length n that do not overlap. Any number of threads may do so at
 * once, each with a buffer of its own. `buffer` has the size that `bandsolveSprecond_apply_bufferSizeExt` says, in any alignment, or
 * is NULL: then memory is allocated inside. Not every preconditioner can be transposed.
 */
bandsolve_status_t bandsolveSprecond_apply(bandsolve_operation_t op,
                                           bandsolve_precond_t precond,
                                           const float *r,
                                           float *z,
                                           void *buffer);

/**
 * Bytes of buffer for `bandsolveScsr_krylov` with the same method, matrix and preconditioner.
 */
bandsolve_status_t bandsolveScsr_krylov_bufferSizeExt(const char *method,
                                                      bandsolve_csr_t matrix,
                                                      bandsolve_precond_t precond,
                                                      size_t *size);

/**
 * Solves A x = rhs iteratively, from the x that it is given, by "gmres:M" (or "fgmres:M", the same), "bicgstab", "cg", "idr:S" or "richardson:OMEGA". Success
 * means that the 2-norm of rhs - A x, computed from x, is within the tolerance; otherwise the status is
 * `BANDSOLVE_TOLERANCE_NOT_REACHED`, and x is the best that was found. `x` and `rhs` have length n and overlap nothing. `precond`,
 * `options` and `report` may be NULL. `buffer` has the size that `bandsolveScsr_krylov_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveScsr_krylov(const char *method,
                                        bandsolve_csr_t matrix,
                                        bandsolve_precond_t precond,
                                        const bandsolve_iteration_options_t *options,
                                        float *x,
                                        const float *rhs,
                                        bandsolve_iteration_report_t *report,
                                        void *buffer);

/**
 * Makes a sparse matrix over the caller's arrays: row i has the entries `row_ptrs[i]` to `row_ptrs[i+1] - 1` of `values`, in the
 * columns that `col_indices` says, counted from 0, in any order; entries of one column add up. `row_ptrs` has length rows + 1, the
 * other two have length nnz; what is behind the last entry that `row_ptrs` names is ignored. The arrays are not copied: they must be
 * neither changed nor freed before the matrix, and all that is made of it, is destroyed. The matrix is written to `matrix`, and freed by
 * `bandsolveCsrDestroy`.
 */
bandsolve_status_t bandsolveDcsr_create(int64_t rows,
                                        int64_t columns,
                                        const double *values,
                                        const int32_t *col_indices,
                                        const int32_t *row_ptrs,
                                        int64_t nnz,
                                        bandsolve_csr_t *matrix);

/**
 * The same with indices of 64 bits.
 */
bandsolve_status_t bandsolveDcsr_create_64(int64_t rows,
                                           int64_t columns,
                                           const double *values,
                                           const int64_t *col_indices,
                                           const int64_t *row_ptrs,
                                           int64_t nnz,
                                           bandsolve_csr_t *matrix);

/**
 * The same with columns of 32 bits and pointers of 64 bits, which are copied. There are at most 2^31 - 1 entries.
 */
bandsolve_status_t bandsolveDcsr_create_mixed(int64_t rows,
                                              int64_t columns,
                                              const double *values,
                                              const int32_t *col_indices,
                                              const int64_t *row_ptrs,
                                              int64_t nnz,
                                              bandsolve_csr_t *matrix);

/**
 * Prepares a matrix for many products A x: `bandsolveDcsrmv` and `bandsolveDcsr_krylov` are faster from then on, where neighboring entries
 * are far from each other in an x that is larger than caches, or most rows have their entries at the same distances from the diagonal as the
 * rows beside them. Such a matrix is kept once more, in another order; in the first case the entries of a row are then added in that order.
 * Nothing is kept of other matrices. Other threads may use the matrix meanwhile. Freed with the matrix.
 */
bandsolve_status_t bandsolveDcsr_prepare(bandsolve_csr_t matrix);

/**
 * Computes y = alpha op(A) x + beta y. `x` has a number for each column of op(A), `y` one for each row; they do not overlap. If
 * `*beta` is 0, y need not be initialised.
 */
bandsolve_status_t bandsolveDcsrmv(bandsolve_operation_t op,
                                   const double *alpha,
                                   bandsolve_csr_t matrix,
                                   const double *x,
                                   const double *beta,
                                   double *y);

/**
 * Finds edges of the graph of a square matrix, whose weights are |a_ij| + |a_ji|, that have much weight together, at most
 * `options->degree` at each vertex. Those of vertex v are written to `partners[v*degree]` and following, -1 behind the last.
 * `options` and `info` may be NULL.
 */
bandsolve_status_t bandsolveDcsr_factor(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        int64_t *partners,
                                        bandsolve_forest_info_t *info);

/**
 * Finds the linear forest of a square matrix: paths through all vertices of its graph that have much weight. `options` may be NULL.
 * The forest is written to `forest`, and freed by `bandsolveForestDestroy`; it needs the matrix no more.
 */
bandsolve_status_t bandsolveDcsr_forest(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        bandsolve_forest_t *forest);

/**
 * Writes the tridiagonal system of a forest, in its order: the entries of the matrix on the diagonal, and between vertices that
 * follow each other on a path. `sub`, `diag`, `sup` have length n, as `bandsolveDgtsv` takes them.
 */
bandsolve_status_t bandsolveDcsr_tridiagonal(bandsolve_csr_t matrix,
                                             bandsolve_forest_t forest,
                                             double *sub,
                                             double *diag,
                                             double *sup);

/**
 * Makes a preconditioner of a square matrix, by name: "auto", "none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest",
 * "forest-block", "alt-i:M", "alt-o:M", "mos-d:M", "mos-a:M", "mos-a:M:scaled", "ilu0", "ilu-isai:S", "adi:NXxNY", "amg-lines:M".
 * `options` may be NULL. It is written to `precond`, and freed by `bandsolvePrecondDestroy`.
 */
bandsolve_status_t bandsolveDcsr_precond(const char *name,
                                         bandsolve_csr_t matrix,
                                         const bandsolve_forest_options_t *options,
                                         bandsolve_precond_t *precond);

/**
 * Bytes of buffer for `bandsolveDprecond_apply`.
 */
bandsolve_status_t bandsolveDprecond_apply_bufferSizeExt(bandsolve_precond_t precond, size_t *size);

/**
 * Computes z = op(M^-1) r with a preconditioner, of two vectors of length n that do not overlap. Any number of threads may do so at
 * once, each with a buffer of its own. `buffer` has the size that `bandsolveDprecond_apply_bufferSizeExt` says, in any alignment, or
 * is NULL: then memory is allocated inside. Not every preconditioner can be transposed.
 */
bandsolve_status_t bandsolveDprecond_apply(bandsolve_operation_t op,
                                           bandsolve_precond_t precond,
                                           const double *r,
                                           double *z,
                                           void *buffer);

/**
 * Bytes of buffer for `bandsolveDcsr_krylov` with the same method, matrix and preconditioner.
 */
bandsolve_status_t bandsolveDcsr_krylov_bufferSizeExt(const char *method,
                                                      bandsolve_csr_t matrix,
                                                      bandsolve_precond_t precond,
                                                      size_t *size);

/**
 * Solves A x = rhs iteratively, from the x that it is given, by "gmres:M" (or "fgmres:M", the same), "bicgstab", "cg", "idr:S" or "richardson:OMEGA". Success
 * means that the 2-norm of rhs - A x, computed from x, is within the tolerance; otherwise the status is
 * `BANDSOLVE_TOLERANCE_NOT_REACHED`, and x is the best that was found. `x` and `rhs` have length n and overlap nothing. `precond`,
 * `options` and `report` may be NULL. `buffer` has the size that `bandsolveDcsr_krylov_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveDcsr_krylov(const char *method,
                                        bandsolve_csr_t matrix,
                                        bandsolve_precond_t precond,
                                        const bandsolve_iteration_options_t *options,
                                        double *x,
                                        const double *rhs,
                                        bandsolve_iteration_report_t *report,
                                        void *buffer);

/**
 * Makes a sparse matrix over the caller's arrays: row i has the entries `row_ptrs[i]` to `row_ptrs[i+1] - 1` of `values`, in the
 * columns that `col_indices` says, counted from 0, in any order; entries of one column add up. `row_ptrs` has length rows + 1, the
 * other two have length nnz; what is behind the last entry that `row_ptrs` names is ignored. The arrays are not copied: they must be
 * neither changed nor freed before the matrix, and all that is made of it, is destroyed. The matrix is written to `matrix`, and freed by
 * `bandsolveCsrDestroy`.
 */
bandsolve_status_t bandsolveCcsr_create(int64_t rows,
                                        int64_t columns,
                                        const bandsolve_c32_t *values,
                                        const int32_t *col_indices,
                                        const int32_t *row_ptrs,
                                        int64_t nnz,
                                        bandsolve_csr_t *matrix);

/**
 * The same with indices of 64 bits.
 */
bandsolve_status_t bandsolveCcsr_create_64(int64_t rows,
                                           int64_t columns,
                                           const bandsolve_c32_t *values,
                                           const int64_t *col_indices,
                                           const int64_t *row_ptrs,
                                           int64_t nnz,
                                           bandsolve_csr_t *matrix);

/**
 * The same with columns of 32 bits and pointers of 64 bits, which are copied. There are at most 2^31 - 1 entries.
 */
bandsolve_status_t bandsolveCcsr_create_mixed(int64_t rows,
                                              int64_t columns,
                                              const bandsolve_c32_t *values,
                                              const int32_t *col_indices,
                                              const int64_t *row_ptrs,
                                              int64_t nnz,
                                              bandsolve_csr_t *matrix);

/**
 * Prepares a matrix for many products A x: `bandsolveCcsrmv` and `bandsolveCcsr_krylov` are faster from then on, where neighboring entries
 * are far from each other in an x that is larger than caches, or most rows have their entries at the same distances from the diagonal as the
 * rows beside them. Such a matrix is kept once more, in another order; in the first case the entries of a row are then added in that order.
 * Nothing is kept of other matrices. Other threads may use the matrix meanwhile. Freed with the matrix.
 */
bandsolve_status_t bandsolveCcsr_prepare(bandsolve_csr_t matrix);

/**
 * Computes y = alpha op(A) x + beta y. `x` has a number for each column of op(A), `y` one for each row; they do not overlap. If
 * `*beta` is 0, y need not be initialised.
 */
bandsolve_status_t bandsolveCcsrmv(bandsolve_operation_t op,
                                   const bandsolve_c32_t *alpha,
                                   bandsolve_csr_t matrix,
                                   const bandsolve_c32_t *x,
                                   const bandsolve_c32_t *beta,
                                   bandsolve_c32_t *y);

/**
 * Finds edges of the graph of a square matrix, whose weights are |a_ij| + |a_ji|, that have much weight together, at most
 * `options->degree` at each vertex. Those of vertex v are written to `partners[v*degree]` and following, -1 behind the last.
 * `options` and `info` may be NULL.
 */
bandsolve_status_t bandsolveCcsr_factor(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        int64_t *partners,
                                        bandsolve_forest_info_t *info);

/**
 * Finds the linear forest of a square matrix: paths through all vertices of its graph that have much weight. `options` may be NULL.
 * The forest is written to `forest`, and freed by `bandsolveForestDestroy`; it needs the matrix no more.
 */
bandsolve_status_t bandsolveCcsr_forest(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        bandsolve_forest_t *forest);

/**
 * Writes the tridiagonal system of a forest, in its order: the entries of the matrix on the diagonal, and between vertices that
 * follow each other on a path. `sub`, `diag`, `sup` have length n, as `bandsolveCgtsv` takes them.
 */
bandsolve_status_t bandsolveCcsr_tridiagonal(bandsolve_csr_t matrix,
                                             bandsolve_forest_t forest,
                                             bandsolve_c32_t *sub,
                                             bandsolve_c32_t *diag,
                                             bandsolve_c32_t *sup);

/**
 * Makes a preconditioner of a square matrix, by name: "auto", "none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest",
 * "forest-block", "alt-i:M", "alt-o:M", "mos-d:M", "mos-a:M", "mos-a:M:scaled", "ilu0", "ilu-isai:S", "adi:NXxNY", "amg-lines:M".
 * `options` may be NULL. It is written to `precond`, and freed by `bandsolvePrecondDestroy`.
 */
bandsolve_status_t bandsolveCcsr_precond(const char *name,
                                         bandsolve_csr_t matrix,
                                         const bandsolve_forest_options_t *options,
                                         bandsolve_precond_t *precond);

/**
 * Bytes of buffer for `bandsolveCprecond_apply`.
 */
bandsolve_status_t bandsolveCprecond_apply_bufferSizeExt(bandsolve_precond_t precond, size_t *size);

/**
 * Computes z = op(M^-1) r with a preconditioner, of two vectors of length n that do not overlap. Any number of threads may do so at
 * once, each with a buffer of its own. `buffer` has the size that `bandsolveCprecond_apply_bufferSizeExt` says, in any alignment, or
 * is NULL: then memory is allocated inside. Not every preconditioner can be transposed.
 */
bandsolve_status_t bandsolveCprecond_apply(bandsolve_operation_t op,
                                           bandsolve_precond_t precond,
                                           const bandsolve_c32_t *r,
                                           bandsolve_c32_t *z,
                                           void *buffer);

/**
 * Bytes of buffer for `bandsolveCcsr_krylov` with the same method, matrix and preconditioner.
 */
bandsolve_status_t bandsolveCcsr_krylov_bufferSizeExt(const char *method,
                                                      bandsolve_csr_t matrix,
                                                      bandsolve_precond_t precond,
                                                      size_t *size);

/**
 * Solves A x = rhs iteratively, from the x that it is given, by "gmres:M" (or "fgmres:M", the same), "bicgstab", "cg", "idr:S" or "richardson:OMEGA". Success
 * means that the 2-norm of rhs - A x, computed from x, is within the tolerance; otherwise the status is
 * `BANDSOLVE_TOLERANCE_NOT_REACHED`, and x is the best that was found. `x` and `rhs` have length n and overlap nothing. `precond`,
 * `options` and `report` may be NULL. `buffer` has the size that `bandsolveCcsr_krylov_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveCcsr_krylov(const char *method,
                                        bandsolve_csr_t matrix,
                                        bandsolve_precond_t precond,
                                        const bandsolve_iteration_options_t *options,
                                        bandsolve_c32_t *x,
                                        const bandsolve_c32_t *rhs,
                                        bandsolve_iteration_report_t *report,
                                        void *buffer);

/**
 * Makes a sparse matrix over the caller's arrays: row i has the entries `row_ptrs[i]` to `row_ptrs[i+1] - 1` of `values`, in the
 * columns that `col_indices` says, counted from 0, in any order; entries of one column add up. `row_ptrs` has length rows + 1, the
 * other two have length nnz; what is behind the last entry that `row_ptrs` names is ignored. The arrays are not copied: they must be
 * neither changed nor freed before the matrix, and all that is made of it, is destroyed. The matrix is written to `matrix`, and freed by
 * `bandsolveCsrDestroy`.
 */
bandsolve_status_t bandsolveZcsr_create(int64_t rows,
                                        int64_t columns,
                                        const bandsolve_c64_t *values,
                                        const int32_t *col_indices,
                                        const int32_t *row_ptrs,
                                        int64_t nnz,
                                        bandsolve_csr_t *matrix);

/**
 * The same with indices of 64 bits.
 */
bandsolve_status_t bandsolveZcsr_create_64(int64_t rows,
                                           int64_t columns,
                                           const bandsolve_c64_t *values,
                                           const int64_t *col_indices,
                                           const int64_t *row_ptrs,
                                           int64_t nnz,
                                           bandsolve_csr_t *matrix);

/**
 * The same with columns of 32 bits and pointers of 64 bits, which are copied. There are at most 2^31 - 1 entries.
 */
bandsolve_status_t bandsolveZcsr_create_mixed(int64_t rows,
                                              int64_t columns,
                                              const bandsolve_c64_t *values,
                                              const int32_t *col_indices,
                                              const int64_t *row_ptrs,
                                              int64_t nnz,
                                              bandsolve_csr_t *matrix);

/**
 * Prepares a matrix for many products A x: `bandsolveZcsrmv` and `bandsolveZcsr_krylov` are faster from then on, where neighboring entries
 * are far from each other in an x that is larger than caches, or most rows have their entries at the same distances from the diagonal as the
 * rows beside them. Such a matrix is kept once more, in another order; in the first case the entries of a row are then added in that order.
 * Nothing is kept of other matrices. Other threads may use the matrix meanwhile. Freed with the matrix.
 */
bandsolve_status_t bandsolveZcsr_prepare(bandsolve_csr_t matrix);

/**
 * Computes y = alpha op(A) x + beta y. `x` has a number for each column of op(A), `y` one for each row; they do not overlap. If
 * `*beta` is 0, y need not be initialised.
 */
bandsolve_status_t bandsolveZcsrmv(bandsolve_operation_t op,
                                   const bandsolve_c64_t *alpha,
                                   bandsolve_csr_t matrix,
                                   const bandsolve_c64_t *x,
                                   const bandsolve_c64_t *beta,
                                   bandsolve_c64_t *y);

/**
 * Finds edges of the graph of a square matrix, whose weights are |a_ij| + |a_ji|, that have much weight together, at most
 * `options->degree` at each vertex. Those of vertex v are written to `partners[v*degree]` and following, -1 behind the last.
 * `options` and `info` may be NULL.
 */
bandsolve_status_t bandsolveZcsr_factor(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        int64_t *partners,
                                        bandsolve_forest_info_t *info);

/**
 * Finds the linear forest of a square matrix: paths through all vertices of its graph that have much weight. `options` may be NULL.
 * The forest is written to `forest`, and freed by `bandsolveForestDestroy`; it needs the matrix no more.
 */
bandsolve_status_t bandsolveZcsr_forest(bandsolve_csr_t matrix,
                                        const bandsolve_forest_options_t *options,
                                        bandsolve_forest_t *forest);

/**
 * Writes the tridiagonal system of a forest, in its order: the entries of the matrix on the diagonal, and between vertices that
 * follow each other on a path. `sub`, `diag`, `sup` have length n, as `bandsolveZgtsv` takes them.
 */
bandsolve_status_t bandsolveZcsr_tridiagonal(bandsolve_csr_t matrix,
                                             bandsolve_forest_t forest,
                                             bandsolve_c64_t *sub,
                                             bandsolve_c64_t *diag,
                                             bandsolve_c64_t *sup);

/**
 * Makes a preconditioner of a square matrix, by name: "auto", "none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest",
 * "forest-block", "alt-i:M", "alt-o:M", "mos-d:M", "mos-a:M", "mos-a:M:scaled", "ilu0", "ilu-isai:S", "adi:NXxNY", "amg-lines:M".
 * `options` may be NULL. It is written to `precond`, and freed by `bandsolvePrecondDestroy`.
 */
bandsolve_status_t bandsolveZcsr_precond(const char *name,
                                         bandsolve_csr_t matrix,
                                         const bandsolve_forest_options_t *options,
                                         bandsolve_precond_t *precond);

/**
 * Bytes of buffer for `bandsolveZprecond_apply`.
 */
bandsolve_status_t bandsolveZprecond_apply_bufferSizeExt(bandsolve_precond_t precond, size_t *size);

/**
 * Computes z = op(M^-1) r with a preconditioner, of two vectors of length n that do not overlap. Any number of threads may do so at
 * once, each with a buffer of its own. `buffer` has the size that `bandsolveZprecond_apply_bufferSizeExt` says, in any alignment, or
 * is NULL: then memory is allocated inside. Not every preconditioner can be transposed.
 */
bandsolve_status_t bandsolveZprecond_apply(bandsolve_operation_t op,
                                           bandsolve_precond_t precond,
                                           const bandsolve_c64_t *r,
                                           bandsolve_c64_t *z,
                                           void *buffer);

/**
 * Bytes of buffer for `bandsolveZcsr_krylov` with the same method, matrix and preconditioner.
 */
bandsolve_status_t bandsolveZcsr_krylov_bufferSizeExt(const char *method,
                                                      bandsolve_csr_t matrix,
                                                      bandsolve_precond_t precond,
                                                      size_t *size);

/**
 * Solves A x = rhs iteratively, from the x that it is given, by "gmres:M" (or "fgmres:M", the same), "bicgstab", "cg", "idr:S" or "richardson:OMEGA". Success
 * means that the 2-norm of rhs - A x, computed from x, is within the tolerance; otherwise the status is
 * `BANDSOLVE_TOLERANCE_NOT_REACHED`, and x is the best that was found. `x` and `rhs` have length n and overlap nothing. `precond`,
 * `options` and `report` may be NULL. `buffer` has the size that `bandsolveZcsr_krylov_bufferSizeExt` says, in any alignment, or is
 * NULL: then memory is allocated inside.
 */
bandsolve_status_t bandsolveZcsr_krylov(const char *method,
                                        bandsolve_csr_t matrix,
                                        bandsolve_precond_t precond,
                                        const bandsolve_iteration_options_t *options,
                                        bandsolve_c64_t *x,
                                        const bandsolve_c64_t *rhs,
                                        bandsolve_iteration_report_t *report,
                                        void *buffer);

/**
 * Makes a solver of (-Laplace + shift) u = f on a box, with second differences along each axis. Nothing of the problem is needed
 * afterwards. The solver is written to `solver`, and freed by `bandsolvePoissonDestroy`. It works on as many threads as
 * `bandsolveSetThreads` has said on this thread.
 */
bandsolve_status_t bandsolveSpoisson_create(const bandsolve_poisson_problem_t *problem,
                                            bandsolve_poisson_solver_t *solver);

/**
 * Makes a solver of a problem with two tridiagonal matrices for each axis, as finite elements on a grid of boxes have it. Nothing of the
 * problem is needed afterwards. The solver is used, and freed, as one of `bandsolveSpoisson_create`.
 */
bandsolve_status_t bandsolveSpoisson_create_pencils(const bandsolve_pencils_problem_t *problem,
                                                    bandsolve_poisson_solver_t *solver);

/**
 * Writes the size of the buffer of `bandsolveSpoisson_solve` in bytes, for any number of right-hand sides.
 */
bandsolve_status_t bandsolveSpoisson_solve_bufferSizeExt(bandsolve_poisson_solver_t solver, size_t *size);

/**
 * Solves for `n_rhs` right-hand sides, one after the other in `f`, each with a number for every unknown, the last axis running fastest.
 * The solutions are written to `u`, which may be the same pointer as `f`. `report` may be NULL, and so may `buffer`: memory is then
 * allocated inside. Of a singular problem the status is BANDSOLVE_SINGULAR where more would have to be subtracted from `f` than
 * `problem->removable` allows.
 */
bandsolve_status_t bandsolveSpoisson_solve(bandsolve_poisson_solver_t solver,
                                           int64_t n_rhs,
                                           float *u,
                                           const float *f,
                                           bandsolve_poisson_report_t *report,
                                           void *buffer);

/**
 * Makes a solver of (-Laplace + shift) u = f on a box, with second differences along each axis. Nothing of the problem is needed
 * afterwards. The solver is written to `solver`, and freed by `bandsolvePoissonDestroy`. It works on as many threads as
 * `bandsolveSetThreads` has said on this thread.
 */
bandsolve_status_t bandsolveDpoisson_create(const bandsolve_poisson_problem_t *problem,
                                            bandsolve_poisson_solver_t *solver);

/**
 * Makes a solver of a problem with two tridiagonal matrices for each axis, as finite elements on a grid of boxes have it. Nothing of the
 * problem is needed afterwards. The solver is used, and freed, as one of `bandsolveDpoisson_create`.
 */
bandsolve_status_t bandsolveDpoisson_create_pencils(const bandsolve_pencils_problem_t *problem,
                                                    bandsolve_poisson_solver_t *solver);

/**
 * Writes the size of the buffer of `bandsolveDpoisson_solve` in bytes, for any number of right-hand sides.
 */
bandsolve_status_t bandsolveDpoisson_solve_bufferSizeExt(bandsolve_poisson_solver_t solver, size_t *size);

/**
 * Solves for `n_rhs` right-hand sides, one after the other in `f`, each with a number for every unknown, the last axis running fastest.
 * The solutions are written to `u`, which may be the same pointer as `f`. `report` may be NULL, and so may `buffer`: memory is then
 * allocated inside. Of a singular problem the status is BANDSOLVE_SINGULAR where more would have to be subtracted from `f` than
 * `problem->removable` allows.
 */
bandsolve_status_t bandsolveDpoisson_solve(bandsolve_poisson_solver_t solver,
                                           int64_t n_rhs,
                                           double *u,
                                           const double *f,
                                           bandsolve_poisson_report_t *report,
                                           void *buffer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BANDSOLVE_H */
