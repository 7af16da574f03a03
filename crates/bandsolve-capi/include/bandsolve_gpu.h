
/*
 * bandsolve on NVIDIA GPUs: the solvers of bandsolve.h as bandsolveGpu<t><operation>, with arrays in the memory of a device.
 *
 * For libraries that were built with the feature `gpu`. docs/c-api.md explains the rest.
 *
 * Made by cbindgen from crates/bandsolve-capi: do not edit.
 */

#ifndef BANDSOLVE_GPU_H
#define BANDSOLVE_GPU_H

#include "bandsolve.h"

/**
 * A GPU, the solvers that are kept on it, and the factors that `bgtf` has made.
 */
typedef struct bandsolve_gpu_device bandsolve_gpu_device;

/**
 * A device that `bandsolveGpuOpen` has opened.
 */
typedef bandsolve_gpu_device *bandsolve_gpu_device_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Opens a GPU: "cuda" or "cuda:0" the first, "cuda:1" the second; "emulated", if the library was built with the emulator,
 * whose memory is that of the CPU. `device` is written if it succeeds; `BANDSOLVE_NO_DEVICE` tells that there is no such
 * GPU, no driver, or no NVRTC, which compiles the kernels. Any number of threads may use one device at once.
 */
bandsolve_status_t bandsolveGpuOpen(const char *name,
                                    bandsolve_gpu_device_t *device);

/**
 * Closes a device, and frees the memory and the factors that functions have kept on it; nothing if NULL. Nobody may use it any
 * more.
 */
bandsolve_status_t bandsolveGpuClose(bandsolve_gpu_device_t device);

/**
 * Bytes of buffer for `bandsolveGpuSgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuSgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   size_t *size);

/**
 * Solves as `bandsolveSgtsv`, with arrays in the memory of `device`, in the order of `stream`, a `cudaStream_t`. What was
 * put on the stream before is waited for; the answer is there, and verified, when the function returns. `buffer` is not
 * used.
 */
bandsolve_status_t bandsolveGpuSgtsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     const float *sub,
                                     const float *diag,
                                     const float *sup,
                                     float *x,
                                     const float *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuScgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuScgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    size_t *size);

/**
 * Solves as `bandsolveScgtsv`, otherwise as `bandsolveGpuSgtsv`.
 */
bandsolve_status_t bandsolveGpuScgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
                                      int64_t n,
                                      int64_t n_rhs,
                                      const float *sub,
                                      const float *diag,
                                      const float *sup,
                                      float *x,
                                      const float *rhs,
                                      void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuSbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuSbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    int64_t block,
                                                    size_t *size);

/**
 * Solves as `bandsolveSbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuSgtsv`.
 */
bandsolve_status_t bandsolveGpuSbgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuScbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuScbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveScbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuSgtsv`.
 */
bandsolve_status_t bandsolveGpuScbgtsv(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of factorization buffer for `bandsolveGpuSbgtf`: enough to have an address.
 */
bandsolve_status_t bandsolveGpuSbgtf_factorizationBufferSizeExt(bandsolve_gpu_device_t device,
                                                                bandsolve_pivoting_t p,
                                                                int64_t n,
                                                                int64_t block,
                                                                size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveGpuSbgtsv`, which is kept: it must not be changed or freed
 * before `bandsolveGpuSbgtf_destroy`. The device keeps the factors, about 7 numbers for each of a diagonal block; the
 * address of `factorization_buffer`, whose bytes are neither read nor written, says which are meant. Factors that it
 * stood for before are freed. The settings of the thread count here, for the solves as well.
 */
bandsolve_status_t bandsolveGpuSbgtf(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t block,
                                     const float *sub,
                                     const float *diag,
                                     const float *sup,
                                     void *factorization_buffer);

/**
 * Frees the factors that `bandsolveGpuSbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveGpuSbgtf_destroy(bandsolve_gpu_device_t device, void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveGpuSbgtrfs`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuSbgtrfs_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveGpuSbgtsv` with the factors of `bandsolveGpuSbgtf`, which was called with the same p, n, block, sub,
 * diag and sup. Factors are made anew, once, for more right-hand sides than in any call before, and on another stream.
 * Threads that solve with the same factors take turns.
 */
bandsolve_status_t bandsolveGpuSbgtrfs(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuSgbsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuSgbsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   int64_t lower,
                                                   int64_t upper,
                                                   size_t *size);

/**
 * Solves as `bandsolveSgbsv`, with up to 4 diagonals on either side, otherwise as `bandsolveGpuSgtsv`. The matrix is read where
 * it lies.
 */
bandsolve_status_t bandsolveGpuSgbsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     int64_t lower,
                                     int64_t upper,
                                     const float *bands,
                                     float *x,
                                     const float *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuSgtsv_csc2dense`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuSgtsv_csc2dense_bufferSizeExt(bandsolve_gpu_device_t device,
                                                             bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t n_rhs,
                                                             size_t *size);

/**
 * Solves as `bandsolveSgtsv_csc2dense`, otherwise as `bandsolveGpuSgtsv`. Rows of a column ascend, and no row comes twice.
 */
bandsolve_status_t bandsolveGpuSgtsv_csc2dense(bandsolve_gpu_device_t device,
                                               void *stream,
                                               bandsolve_pivoting_t p,
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
 * Solves as `bandsolveSgtsv_csc2csc`, with arrays in the memory of `device`, on its default stream. Rows of a column of the
 * right-hand sides ascend, and no row comes twice. Up to 256 MiB of X are there at a time.
 */
bandsolve_status_t bandsolveGpuSgtsv_csc2csc(bandsolve_gpu_device_t device,
                                             bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuDgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuDgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   size_t *size);

/**
 * Solves as `bandsolveDgtsv`, with arrays in the memory of `device`, in the order of `stream`, a `cudaStream_t`. What was
 * put on the stream before is waited for; the answer is there, and verified, when the function returns. `buffer` is not
 * used.
 */
bandsolve_status_t bandsolveGpuDgtsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     const double *sub,
                                     const double *diag,
                                     const double *sup,
                                     double *x,
                                     const double *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuDcgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuDcgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    size_t *size);

/**
 * Solves as `bandsolveDcgtsv`, otherwise as `bandsolveGpuDgtsv`.
 */
bandsolve_status_t bandsolveGpuDcgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
                                      int64_t n,
                                      int64_t n_rhs,
                                      const double *sub,
                                      const double *diag,
                                      const double *sup,
                                      double *x,
                                      const double *rhs,
                                      void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuDbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuDbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    int64_t block,
                                                    size_t *size);

/**
 * Solves as `bandsolveDbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuDgtsv`.
 */
bandsolve_status_t bandsolveGpuDbgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuDcbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuDcbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveDcbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuDgtsv`.
 */
bandsolve_status_t bandsolveGpuDcbgtsv(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of factorization buffer for `bandsolveGpuDbgtf`: enough to have an address.
 */
bandsolve_status_t bandsolveGpuDbgtf_factorizationBufferSizeExt(bandsolve_gpu_device_t device,
                                                                bandsolve_pivoting_t p,
                                                                int64_t n,
                                                                int64_t block,
                                                                size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveGpuDbgtsv`, which is kept: it must not be changed or freed
 * before `bandsolveGpuDbgtf_destroy`. The device keeps the factors, about 7 numbers for each of a diagonal block; the
 * address of `factorization_buffer`, whose bytes are neither read nor written, says which are meant. Factors that it
 * stood for before are freed. The settings of the thread count here, for the solves as well.
 */
bandsolve_status_t bandsolveGpuDbgtf(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t block,
                                     const double *sub,
                                     const double *diag,
                                     const double *sup,
                                     void *factorization_buffer);

/**
 * Frees the factors that `bandsolveGpuDbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveGpuDbgtf_destroy(bandsolve_gpu_device_t device, void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveGpuDbgtrfs`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuDbgtrfs_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveGpuDbgtsv` with the factors of `bandsolveGpuDbgtf`, which was called with the same p, n, block, sub,
 * diag and sup. Factors are made anew, once, for more right-hand sides than in any call before, and on another stream.
 * Threads that solve with the same factors take turns.
 */
bandsolve_status_t bandsolveGpuDbgtrfs(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuDgbsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuDgbsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   int64_t lower,
                                                   int64_t upper,
                                                   size_t *size);

/**
 * Solves as `bandsolveDgbsv`, with up to 4 diagonals on either side, otherwise as `bandsolveGpuDgtsv`. The matrix is read where
 * it lies.
 */
bandsolve_status_t bandsolveGpuDgbsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     int64_t lower,
                                     int64_t upper,
                                     const double *bands,
                                     double *x,
                                     const double *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuDgtsv_csc2dense`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuDgtsv_csc2dense_bufferSizeExt(bandsolve_gpu_device_t device,
                                                             bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t n_rhs,
                                                             size_t *size);

/**
 * Solves as `bandsolveDgtsv_csc2dense`, otherwise as `bandsolveGpuDgtsv`. Rows of a column ascend, and no row comes twice.
 */
bandsolve_status_t bandsolveGpuDgtsv_csc2dense(bandsolve_gpu_device_t device,
                                               void *stream,
                                               bandsolve_pivoting_t p,
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
 * Solves as `bandsolveDgtsv_csc2csc`, with arrays in the memory of `device`, on its default stream. Rows of a column of the
 * right-hand sides ascend, and no row comes twice. Up to 256 MiB of X are there at a time.
 */
bandsolve_status_t bandsolveGpuDgtsv_csc2csc(bandsolve_gpu_device_t device,
                                             bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuCgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuCgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   size_t *size);

/**
 * Solves as `bandsolveCgtsv`, with arrays in the memory of `device`, in the order of `stream`, a `cudaStream_t`. What was
 * put on the stream before is waited for; the answer is there, and verified, when the function returns. `buffer` is not
 * used.
 */
bandsolve_status_t bandsolveGpuCgtsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     const bandsolve_c32_t *sub,
                                     const bandsolve_c32_t *diag,
                                     const bandsolve_c32_t *sup,
                                     bandsolve_c32_t *x,
                                     const bandsolve_c32_t *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuCcgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuCcgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    size_t *size);

/**
 * Solves as `bandsolveCcgtsv`, otherwise as `bandsolveGpuCgtsv`.
 */
bandsolve_status_t bandsolveGpuCcgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
                                      int64_t n,
                                      int64_t n_rhs,
                                      const bandsolve_c32_t *sub,
                                      const bandsolve_c32_t *diag,
                                      const bandsolve_c32_t *sup,
                                      bandsolve_c32_t *x,
                                      const bandsolve_c32_t *rhs,
                                      void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuCbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuCbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    int64_t block,
                                                    size_t *size);

/**
 * Solves as `bandsolveCbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuCgtsv`.
 */
bandsolve_status_t bandsolveGpuCbgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuCcbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuCcbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveCcbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuCgtsv`.
 */
bandsolve_status_t bandsolveGpuCcbgtsv(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of factorization buffer for `bandsolveGpuCbgtf`: enough to have an address.
 */
bandsolve_status_t bandsolveGpuCbgtf_factorizationBufferSizeExt(bandsolve_gpu_device_t device,
                                                                bandsolve_pivoting_t p,
                                                                int64_t n,
                                                                int64_t block,
                                                                size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveGpuCbgtsv`, which is kept: it must not be changed or freed
 * before `bandsolveGpuCbgtf_destroy`. The device keeps the factors, about 7 numbers for each of a diagonal block; the
 * address of `factorization_buffer`, whose bytes are neither read nor written, says which are meant. Factors that it
 * stood for before are freed. The settings of the thread count here, for the solves as well.
 */
bandsolve_status_t bandsolveGpuCbgtf(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t block,
                                     const bandsolve_c32_t *sub,
                                     const bandsolve_c32_t *diag,
                                     const bandsolve_c32_t *sup,
                                     void *factorization_buffer);

/**
 * Frees the factors that `bandsolveGpuCbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveGpuCbgtf_destroy(bandsolve_gpu_device_t device, void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveGpuCbgtrfs`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuCbgtrfs_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveGpuCbgtsv` with the factors of `bandsolveGpuCbgtf`, which was called with the same p, n, block, sub,
 * diag and sup. Factors are made anew, once, for more right-hand sides than in any call before, and on another stream.
 * Threads that solve with the same factors take turns.
 */
bandsolve_status_t bandsolveGpuCbgtrfs(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuCgbsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuCgbsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   int64_t lower,
                                                   int64_t upper,
                                                   size_t *size);

/**
 * Solves as `bandsolveCgbsv`, with up to 4 diagonals on either side, otherwise as `bandsolveGpuCgtsv`. The matrix is read where
 * it lies.
 */
bandsolve_status_t bandsolveGpuCgbsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     int64_t lower,
                                     int64_t upper,
                                     const bandsolve_c32_t *bands,
                                     bandsolve_c32_t *x,
                                     const bandsolve_c32_t *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuCgtsv_csc2dense`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuCgtsv_csc2dense_bufferSizeExt(bandsolve_gpu_device_t device,
                                                             bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t n_rhs,
                                                             size_t *size);

/**
 * Solves as `bandsolveCgtsv_csc2dense`, otherwise as `bandsolveGpuCgtsv`. Rows of a column ascend, and no row comes twice.
 */
bandsolve_status_t bandsolveGpuCgtsv_csc2dense(bandsolve_gpu_device_t device,
                                               void *stream,
                                               bandsolve_pivoting_t p,
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
 * Solves as `bandsolveCgtsv_csc2csc`, with arrays in the memory of `device`, on its default stream. Rows of a column of the
 * right-hand sides ascend, and no row comes twice. Up to 256 MiB of X are there at a time.
 */
bandsolve_status_t bandsolveGpuCgtsv_csc2csc(bandsolve_gpu_device_t device,
                                             bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuZgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuZgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   size_t *size);

/**
 * Solves as `bandsolveZgtsv`, with arrays in the memory of `device`, in the order of `stream`, a `cudaStream_t`. What was
 * put on the stream before is waited for; the answer is there, and verified, when the function returns. `buffer` is not
 * used.
 */
bandsolve_status_t bandsolveGpuZgtsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     const bandsolve_c64_t *sub,
                                     const bandsolve_c64_t *diag,
                                     const bandsolve_c64_t *sup,
                                     bandsolve_c64_t *x,
                                     const bandsolve_c64_t *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuZcgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuZcgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    size_t *size);

/**
 * Solves as `bandsolveZcgtsv`, otherwise as `bandsolveGpuZgtsv`.
 */
bandsolve_status_t bandsolveGpuZcgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
                                      int64_t n,
                                      int64_t n_rhs,
                                      const bandsolve_c64_t *sub,
                                      const bandsolve_c64_t *diag,
                                      const bandsolve_c64_t *sup,
                                      bandsolve_c64_t *x,
                                      const bandsolve_c64_t *rhs,
                                      void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuZbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuZbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                    bandsolve_pivoting_t p,
                                                    int64_t n,
                                                    int64_t n_rhs,
                                                    int64_t block,
                                                    size_t *size);

/**
 * Solves as `bandsolveZbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuZgtsv`.
 */
bandsolve_status_t bandsolveGpuZbgtsv(bandsolve_gpu_device_t device,
                                      void *stream,
                                      bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuZcbgtsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuZcbgtsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveZcbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuZgtsv`.
 */
bandsolve_status_t bandsolveGpuZcbgtsv(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of factorization buffer for `bandsolveGpuZbgtf`: enough to have an address.
 */
bandsolve_status_t bandsolveGpuZbgtf_factorizationBufferSizeExt(bandsolve_gpu_device_t device,
                                                                bandsolve_pivoting_t p,
                                                                int64_t n,
                                                                int64_t block,
                                                                size_t *size);

/**
 * Factors a block tridiagonal matrix, stored as for `bandsolveGpuZbgtsv`, which is kept: it must not be changed or freed
 * before `bandsolveGpuZbgtf_destroy`. The device keeps the factors, about 7 numbers for each of a diagonal block; the
 * address of `factorization_buffer`, whose bytes are neither read nor written, says which are meant. Factors that it
 * stood for before are freed. The settings of the thread count here, for the solves as well.
 */
bandsolve_status_t bandsolveGpuZbgtf(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t block,
                                     const bandsolve_c64_t *sub,
                                     const bandsolve_c64_t *diag,
                                     const bandsolve_c64_t *sup,
                                     void *factorization_buffer);

/**
 * Frees the factors that `bandsolveGpuZbgtf` has made; nothing if NULL.
 */
bandsolve_status_t bandsolveGpuZbgtf_destroy(bandsolve_gpu_device_t device, void *factorization_buffer);

/**
 * Bytes of buffer for `bandsolveGpuZbgtrfs`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuZbgtrfs_bufferSizeExt(bandsolve_gpu_device_t device,
                                                     bandsolve_pivoting_t p,
                                                     int64_t n,
                                                     int64_t n_rhs,
                                                     int64_t block,
                                                     size_t *size);

/**
 * Solves as `bandsolveGpuZbgtsv` with the factors of `bandsolveGpuZbgtf`, which was called with the same p, n, block, sub,
 * diag and sup. Factors are made anew, once, for more right-hand sides than in any call before, and on another stream.
 * Threads that solve with the same factors take turns.
 */
bandsolve_status_t bandsolveGpuZbgtrfs(bandsolve_gpu_device_t device,
                                       void *stream,
                                       bandsolve_pivoting_t p,
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
 * Bytes of buffer for `bandsolveGpuZgbsv`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuZgbsv_bufferSizeExt(bandsolve_gpu_device_t device,
                                                   bandsolve_pivoting_t p,
                                                   int64_t n,
                                                   int64_t n_rhs,
                                                   int64_t lower,
                                                   int64_t upper,
                                                   size_t *size);

/**
 * Solves as `bandsolveZgbsv`, with up to 4 diagonals on either side, otherwise as `bandsolveGpuZgtsv`. The matrix is read where
 * it lies.
 */
bandsolve_status_t bandsolveGpuZgbsv(bandsolve_gpu_device_t device,
                                     void *stream,
                                     bandsolve_pivoting_t p,
                                     int64_t n,
                                     int64_t n_rhs,
                                     int64_t lower,
                                     int64_t upper,
                                     const bandsolve_c64_t *bands,
                                     bandsolve_c64_t *x,
                                     const bandsolve_c64_t *rhs,
                                     void *buffer);

/**
 * Bytes of buffer for `bandsolveGpuZgtsv_csc2dense`: 0, the device keeps what is needed.
 */
bandsolve_status_t bandsolveGpuZgtsv_csc2dense_bufferSizeExt(bandsolve_gpu_device_t device,
                                                             bandsolve_pivoting_t p,
                                                             int64_t n,
                                                             int64_t n_rhs,
                                                             size_t *size);

/**
 * Solves as `bandsolveZgtsv_csc2dense`, otherwise as `bandsolveGpuZgtsv`. Rows of a column ascend, and no row comes twice.
 */
bandsolve_status_t bandsolveGpuZgtsv_csc2dense(bandsolve_gpu_device_t device,
                                               void *stream,
                                               bandsolve_pivoting_t p,
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
 * Solves as `bandsolveZgtsv_csc2csc`, with arrays in the memory of `device`, on its default stream. Rows of a column of the
 * right-hand sides ascend, and no row comes twice. Up to 256 MiB of X are there at a time.
 */
bandsolve_status_t bandsolveGpuZgtsv_csc2csc(bandsolve_gpu_device_t device,
                                             bandsolve_pivoting_t p,
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

#endif  /* BANDSOLVE_GPU_H */
