// Linear combinations of vectors, inner products and permutations, for Krylov methods and preconditioners.
//
// The pieces of vectors and the order of all sums are those of the CPU (`vectors.rs` of crate bandsolve): each piece of 1024
// elements has 8 partial sums in double precision, one for each remainder of the row divided by 8. The sums of the pieces
// are added in order.
#pragma once
#include "element.cuh"

// Elements of a piece, and partial sums per piece.
#define PIECE 1024
#define PARTIAL_SUMS 8
// Maximum number of terms and of inner products in a launch.
#define MOST_TERMS 8
#define MOST_DOTS 8

// out ← Σₖ factors[k]·vectors[k], unless there are no terms, then sums[d] = left[d]ᴴ·right[d]. The vectors can include
// `out`; inner products use its new elements.
template <class T> struct Combine {
  u32 n, terms, dots;
  // The number of thread blocks that have written their sums. It is zero before and after a launch.
  u32* arrived;
  T factors[MOST_TERMS];
  const T* vectors[MOST_TERMS];
  T* out;
  const T *left[MOST_DOTS], *right[MOST_DOTS];
  // Real and imaginary part of each inner product, piece by piece, and of all pieces.
  double *partial, *sums;
};

__device__ __forceinline__ double real_part(float a) { return a; }
__device__ __forceinline__ double real_part(double a) { return a; }
template <class R> __device__ __forceinline__ double real_part(Complex<R> a) { return a.re; }
__device__ __forceinline__ double imaginary_part(float) { return 0; }
__device__ __forceinline__ double imaginary_part(double) { return 0; }
template <class R> __device__ __forceinline__ double imaginary_part(Complex<R> a) { return a.im; }

// The terms of āb: two of the real part, and the imaginary part.
template <class T> struct DotTerms {
  static constexpr int COUNT = Of<T>::COMPLEX ? 3 : 1;
  double v[COUNT];
  __device__ __forceinline__ DotTerms(T left, T right) {
    const double a = real_part(left), b = real_part(right);
    v[0] = a * b;
    if constexpr (Of<T>::COMPLEX) {
      const double c = imaginary_part(left), d = imaginary_part(right);
      v[1] = c * d;
      v[2] = a * d - c * b;
    }
  }
};

// The elements of a piece of the combination.
template <class T> __device__ __forceinline__ void combine_piece(const Combine<T>& all, u32 first, u32 count) {
  for (u32 k = threadIdx.x; k < count && all.terms > 0; k += blockDim.x) {
    T sum = times_unfused(all.factors[0], all.vectors[0][first + k]);
    for (u32 t = 1; t < all.terms; ++t) sum = add(sum, times_unfused(all.factors[t], all.vectors[t][first + k]));
    all.out[first + k] = sum;
  }
}

// Write the sums of an inner product over a piece. Shared memory has room for the terms of a piece.
template <class T>
__device__ __forceinline__ void dot_piece(const T* left, const T* right, u32 count, double* shared, double* sums) {
  constexpr u32 COUNT = DotTerms<T>::COUNT;
  for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
    const DotTerms<T> terms(left[k], right[k]);
    UNROLL for (u32 c = 0; c < COUNT; ++c) shared[c * PIECE + k] = terms.v[c];
  }
  __syncthreads();
  double re = 0, im = 0;
  const u32 remainder = threadIdx.x;
  if (remainder < PARTIAL_SUMS) {
    for (u32 k = remainder; k < count; k += PARTIAL_SUMS) {
      re += shared[k];
      if constexpr (Of<T>::COMPLEX) {
        re += shared[PIECE + k];
        im += shared[2 * PIECE + k];
      }
    }
  }
  __syncthreads();
  if (remainder < PARTIAL_SUMS) {
    shared[remainder] = re;
    shared[PARTIAL_SUMS + remainder] = im;
  }
  __syncthreads();
  if (threadIdx.x < 2) {
    double sum = 0;
    for (u32 k = 0; k < PARTIAL_SUMS; ++k) sum += shared[threadIdx.x * PARTIAL_SUMS + k];
    sums[threadIdx.x] = sum;
  }
  __syncthreads();
}

// Add the sums of all pieces in order. All threads load them into shared memory first, since a load takes far longer than an
// addition.
template <class T> __device__ __forceinline__ void add_pieces(const Combine<T>& all, double* shared) {
  const u32 parts = 2 * all.dots, room = PIECE / parts;
  double sum = 0;
  for (u32 piece = 0; piece < gridDim.x; piece += room) {
    const u32 count = smaller(room, gridDim.x - piece) * parts;
    const double* const sums = all.partial + (size_t)piece * parts;
    for (u32 k = threadIdx.x; k < count; k += blockDim.x) shared[k] = load_relaxed(&sums[k]);
    __syncthreads();
    for (u32 k = threadIdx.x; k < count && threadIdx.x < parts; k += parts) sum += shared[k];
    __syncthreads();
  }
  if (threadIdx.x < parts) all.sums[threadIdx.x] = sum;
}

// Combine vectors and compute inner products, with one thread block per piece. The last thread block adds the sums of the
// pieces.
template <class T> __device__ __forceinline__ void combine(const Combine<T>& all) {
  SHARED_BYTES(memory);
  double* const shared = reinterpret_cast<double*>(memory);
  const u32 first = blockIdx.x * PIECE, count = smaller(u32(PIECE), all.n - first);
  combine_piece(all, first, count);
  if (all.dots == 0) return;
  // The inner products use the new elements of `out` without a barrier, since each thread reads those that it has written.
  for (u32 d = 0; d < all.dots; ++d) {
    dot_piece(all.left[d] + first, all.right[d] + first, count, shared, all.partial + 2 * ((size_t)blockIdx.x * all.dots + d));
  }
  u32* const is_last = reinterpret_cast<u32*>(memory);
  if (threadIdx.x == 0) {
    __threadfence();
    *is_last = atomicAdd(all.arrived, 1u) + 1 == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  const bool last = *is_last;
  __syncthreads();
  if (!last) return;
  add_pieces(all, shared);
  if (threadIdx.x == 0) store_release(all.arrived, 0);
}

// out[k] = plus[k] + from[i]·scale[i] − minus[i] with i = index[k], or i = k without an index. `scale`, `minus` and `plus` can
// be absent. An absent element gives zero.
template <class T> struct Gather {
  u32 n;
  const u32* index;
  const T *from, *scale, *minus, *plus;
  T* out;
};

// One thread block per piece. `out` can be `plus`, and `from` without an index.
template <class T> __device__ __forceinline__ void gather(const Gather<T>& all) {
  const u32 first = blockIdx.x * PIECE, end = first + smaller(u32(PIECE), all.n - first);
  for (u32 k = first + threadIdx.x; k < end; k += blockDim.x) {
    const u32 i = all.index ? all.index[k] : k;
    T v = T();
    if (i != NO_ELEMENT) {
      v = all.from[i];
      if (all.scale) v = times_unfused(v, all.scale[i]);
      if (all.minus) v = add(v, scale(all.minus[i], typename Of<T>::Real(-1)));
    }
    all.out[k] = all.plus ? add(all.plus[k], v) : v;
  }
}
