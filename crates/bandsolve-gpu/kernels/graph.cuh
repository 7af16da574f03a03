// The graph of a sparse matrix: the weights of its edges, w(i, j) = |aᵢⱼ|·mᵢ + |aⱼᵢ|·mⱼ with factors m of the rows.
#pragma once
#include "product.cuh"

template <class R> __device__ __forceinline__ R infinity() {
  return of_bits((typename Bits<R>::Word)Bits<R>::EXPONENT_MAX << Bits<R>::MANTISSA);
}

// |a|. The result for a complex number does not depend on the order of its parts, so that edges with equal weights remain
// equal. It is rounded as on the CPU, or differs in the last bit.
__device__ __forceinline__ double weight_of(float a) { return absolute(a); }
__device__ __forceinline__ double weight_of(double a) { return absolute(a); }
__device__ __forceinline__ double weight_of(Complex<float> a) {
  const double re = a.re, im = a.im;
  if (absolute(re) == infinity<double>() || absolute(im) == infinity<double>()) return infinity<double>();
  // The squares are exact in double precision.
  return (float)root(re * re + im * im);
}
__device__ __forceinline__ double weight_of(Complex<double> a) {
  const double re = absolute(a.re), im = absolute(a.im);
  if (re == infinity<double>() || im == infinity<double>()) return infinity<double>();
  const double by = equilibrate(larger(re, im)), x = larger(re, im) * by, y = smaller(re, im) * by;
  const double h = root(fma_add(x, x, y * y));
  if (!(h > 0)) return h;
  // One step of Newton's method. x² + y² − h² is computed from exact products.
  const double hh = h * h, xx = x * x, yy = y * y;
  const double errors = fma_add(x, x, -xx) + fma_add(y, y, -yy) - fma_add(h, h, -hh);
  return (h + ((xx - hh + yy) + errors) / (2 * h)) * (1 / by);
}

// Compute the weight of each entry: 0 for an entry on the diagonal, and for a weight that is NaN. Raises the flag if the
// columns of a row do not ascend, or if an entry has no mirrored one. Each thread block takes a tile of entries. `moduli`
// has the factors of the rows; null stands for ones.
template <class T>
__device__ __forceinline__ void weights(const SparseRows<T>& a, const double* moduli, double* out, u32* flag) {
  SHARED_BYTES(memory);
  u32* const rows = reinterpret_cast<u32*>(memory);
  const u32 begin = blockIdx.x * TILE_ENTRIES, end = smaller(begin + TILE_ENTRIES, a.entries), warp = threadIdx.x / LANES;
  if (warp < 2) {
    // The rows of the first and the last entry: the last rows that begin at or before them.
    const u32 row = offsets_below(a.pointers, a.rows, warp == 0 ? begin + 1 : end) - 1;
    if (threadIdx.x % LANES == 0) rows[warp] = row;
  }
  __syncthreads();
  bool bad = false;
  for (u32 e = begin + threadIdx.x; e < end; e += blockDim.x) {
    u32 i = rows[0], last = rows[1];
    while (i < last) {
      const u32 middle = last - (last - i) / 2;
      if (a.pointers[middle] <= e) {
        i = middle;
      } else {
        last = middle - 1;
      }
    }
    const u32 j = a.columns[e], k = e - a.pointers[i];
    if (k > 0 && a.columns[e - 1] >= j) bad = true;
    double weight = 0;
    if (j != i) {
      const u32 from = a.pointers[j], to = a.pointers[j + 1];
      // In a stencil, the mirrored entry is as far from the end of its row as this entry is from the beginning.
      u32 at = k < to - from ? to - k - 1 : to;
      if (at == to || a.columns[at] != i) at = offset_of(a.columns, from, to, i);
      if (at < to) {
        weight = weight_of(a.values[e]) * (moduli ? moduli[i] : 1) + weight_of(a.values[at]) * (moduli ? moduli[j] : 1);
      } else {
        bad = true;
      }
    }
    out[e] = weight > 0 ? weight : 0;
  }
  if (bad && load_relaxed(flag) == 0) atomicOr(flag, 1u);
}
