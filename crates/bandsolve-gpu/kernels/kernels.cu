// The kernels, an instance for each number type.
#include "residual.cuh"

#define INSTANCES(suffix, T, WORD)                                                                                            \
  extern "C" __global__ void reduce_##suffix(Cut cut, const T* a, const T* b, const T* c, const T* d, T* ca, T* cb, T* cc,    \
                                             T* cd, int exchange, int scale_rows) {                                           \
    reduce<T>(cut, a, b, c, d, ca, cb, cc, cd, exchange, scale_rows);                                                         \
  }                                                                                                                           \
  extern "C" __global__ void substitute_##suffix(Cut cut, const T* a, const T* b, const T* c, const T* d, const T* y, T* out, \
                                                 const WORD* coarse_peaks, WORD* peaks, int exchange, int scale_rows) {       \
    substitute<T>(cut, a, b, c, d, y, out, coarse_peaks, peaks, exchange, scale_rows);                                        \
  }                                                                                                                           \
  extern "C" __global__ void finish_##suffix(Cut cut, const T* a, const T* b, const T* c, const T* d, T* out, WORD* peaks,    \
                                             int exchange, int scale_rows) {                                                  \
    finish<T>(cut, a, b, c, d, out, peaks, exchange, scale_rows);                                                             \
  }                                                                                                                           \
  extern "C" __global__ void residual_##suffix(Cut cut, const T* a, const T* b, const T* c, const T* d, const T* x, T* rest,  \
                                               const WORD* sizes, WORD* peaks) {                                              \
    residual<T>(cut, a, b, c, d, x, rest, sizes, peaks);                                                                      \
  }                                                                                                                           \
  extern "C" __global__ void correct_##suffix(Cut cut, const T* dx, T* x, WORD* peaks) { correct<T>(cut, dx, x, peaks); }

INSTANCES(f32, float, u32)
INSTANCES(f64, double, u64)
INSTANCES(c32, Complex<float>, u32)
INSTANCES(c64, Complex<double>, u64)
