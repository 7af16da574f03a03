// Linear combinations of vectors, inner products, bases and permutations, for Krylov methods and preconditioners.
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

// Add `parts` sums of all pieces in order, at most one per thread. All threads load them into shared memory first, since a load
// takes far longer than an addition.
__device__ __forceinline__ void add_pieces(const double* partial, u32 parts, double* shared, double* sums) {
  const u32 room = PIECE / parts;
  double sum = 0;
  for (u32 piece = 0; piece < gridDim.x; piece += room) {
    const u32 count = smaller(room, gridDim.x - piece) * parts;
    const double* const of_pieces = partial + (size_t)piece * parts;
    for (u32 k = threadIdx.x; k < count; k += blockDim.x) shared[k] = load_relaxed(&of_pieces[k]);
    __syncthreads();
    for (u32 k = threadIdx.x; k < count && threadIdx.x < parts; k += parts) sum += shared[k];
    __syncthreads();
  }
  if (threadIdx.x < parts) sums[threadIdx.x] = sum;
}

// Whether this thread block is the last one that has written its sums. All threads of the block must take part. `is_last` is
// shared memory.
__device__ __forceinline__ bool arrives_last(u32* arrived, u32* is_last) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    *is_last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  const bool last = *is_last;
  __syncthreads();
  return last;
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
  if (!arrives_last(all.arrived, reinterpret_cast<u32*>(memory))) return;
  add_pieces(all.partial, 2 * all.dots, shared, all.sums);
  if (threadIdx.x == 0) store_release(all.arrived, 0);
}

// Threads of a block, elements of a piece per thread, inner products that a block computes at the same time, and inner products
// of a group, whose sums its threads add at the same time.
#define BASIS_THREADS 128
#define BASIS_EACH (PIECE / BASIS_THREADS)
#define BASIS_DOTS (BASIS_THREADS / PARTIAL_SUMS)
#define BASIS_ADDED (BASIS_THREADS / 2)

// A pass of Gram-Schmidt over a basis v₀, v₁, … of `count` vectors, each `stride` elements after the one before:
// w ← w − Σₖ factors[k]·vₖ, unless there are no factors, then sums[d] = uᴴ·w for u = u₀, u₁, …, or for the new w.
template <class T> struct GramSchmidt {
  u32 n, count, dots;
  // The number of thread blocks that have written their sums. It is zero before and after a launch.
  u32* arrived;
  u64 stride;
  const T *basis, *dual;
  T* w;
  // Real and imaginary part of each number. Without `dual`, the only inner product is that of w with itself.
  const double* factors;
  double *partial, *sums;

  // The sums of a group of inner products: their number, and where those of all pieces are, piece by piece.
  __device__ __forceinline__ u32 parts_of(u32 group) const { return 2 * smaller(dots - group * BASIS_ADDED, u32(BASIS_ADDED)); }
  __device__ __forceinline__ double* partial_of(u32 group) const {
    return partial + (size_t)group * 2 * BASIS_ADDED * gridDim.x;
  }
};

__device__ __forceinline__ float narrowed(double re, double, float) { return (float)re; }
__device__ __forceinline__ double narrowed(double re, double, double) { return re; }
template <class R> __device__ __forceinline__ Complex<R> narrowed(double re, double im, Complex<R>) { return {(R)re, (R)im}; }

// The elements of a piece of w, updated, in memory and in shared memory.
template <class T> __device__ __forceinline__ void update_piece(const GramSchmidt<T>& all, u32 first, u32 count, T* shared) {
  T sums[BASIS_EACH];
  UNROLL for (u32 e = 0; e < BASIS_EACH; ++e) {
    const u32 k = threadIdx.x + e * BASIS_THREADS;
    sums[e] = k < count ? all.w[first + k] : T();
  }
  if (all.factors) {
    for (u32 v = 0; v < all.count; ++v) {
      const T factor = narrowed(-all.factors[2 * v], -all.factors[2 * v + 1], T());
      const T* const vector = all.basis + v * all.stride + first;
      UNROLL for (u32 e = 0; e < BASIS_EACH; ++e) {
        const u32 k = threadIdx.x + e * BASIS_THREADS;
        if (k < count) sums[e] = add(sums[e], times_unfused(factor, vector[k]));
      }
    }
  }
  UNROLL for (u32 e = 0; e < BASIS_EACH; ++e) {
    const u32 k = threadIdx.x + e * BASIS_THREADS;
    if (k >= count) break;
    shared[k] = sums[e];
    if (all.factors) all.w[first + k] = sums[e];
  }
}

// The sums of all inner products over a piece of w in shared memory. Eight threads have the partial sums of an inner product.
template <class T>
__device__ __forceinline__ void basis_dots(const GramSchmidt<T>& all, u32 first, u32 count, const T* w) {
  const u32 remainder = threadIdx.x % PARTIAL_SUMS, lane = threadIdx.x % LANES - remainder;
  for (u32 round = 0; round < all.dots; round += BASIS_DOTS) {
    const u32 d = round + threadIdx.x / PARTIAL_SUMS;
    double re = 0, im = 0;
    if (d < all.dots) {
      const T* const left = all.dual ? all.dual + d * all.stride + first : w;
      UNROLL for (u32 k = remainder; k < count; k += PARTIAL_SUMS) {
        const DotTerms<T> terms(left[k], w[k]);
        re += terms.v[0];
        if constexpr (Of<T>::COMPLEX) {
          re += terms.v[1];
          im += terms.v[2];
        }
      }
    }
    double all_re = 0, all_im = 0;
    for (u32 k = 0; k < PARTIAL_SUMS; ++k) {
      all_re += shuffle(re, lane + k);
      all_im += shuffle(im, lane + k);
    }
    if (d < all.dots && remainder == 0) {
      double* const sums = all.partial_of(d / BASIS_ADDED) + (size_t)blockIdx.x * all.parts_of(d / BASIS_ADDED);
      sums[2 * (d % BASIS_ADDED)] = all_re;
      sums[2 * (d % BASIS_ADDED) + 1] = all_im;
    }
  }
}

// One thread block per piece. The last thread block adds the sums of the pieces.
template <class T> __device__ __forceinline__ void orthogonalize(const GramSchmidt<T>& all) {
  SHARED_BYTES(memory);
  const u32 first = blockIdx.x * PIECE, count = smaller(u32(PIECE), all.n - first);
  T* const w = reinterpret_cast<T*>(memory);
  update_piece(all, first, count, w);
  if (all.dots == 0) return;
  __syncthreads();
  basis_dots(all, first, count, w);
  if (!arrives_last(all.arrived, reinterpret_cast<u32*>(memory))) return;
  for (u32 group = 0; group * BASIS_ADDED < all.dots; ++group) {
    add_pieces(all.partial_of(group), all.parts_of(group), reinterpret_cast<double*>(memory), all.sums + 2 * BASIS_ADDED * group);
  }
  if (threadIdx.x == 0) store_release(all.arrived, 0);
}

// V ← V·Q for a basis V of `before` vectors, each `stride` elements after the one before, and a matrix Q with `after` columns.
template <class T> struct Rotation {
  // `rows` is the number of rows of a tile, a power of two.
  u32 n, before, after, rows;
  u64 stride;
  T* basis;
  const T* q;
};

// One thread block per tile of rows, which it keeps in shared memory. Each thread computes elements of one row.
template <class T> __device__ __forceinline__ void rotate(const Rotation<T>& all) {
  SHARED_BYTES(memory);
  const u32 row = threadIdx.x % all.rows, group = threadIdx.x / all.rows, groups = blockDim.x / all.rows;
  T* const tile = reinterpret_cast<T*>(memory) + row;
  const size_t at = (size_t)blockIdx.x * all.rows + row;
  const bool inside = at < all.n;
  for (u32 v = group; v < all.before && inside; v += groups) tile[v * all.rows] = all.basis[v * all.stride + at];
  __syncthreads();
  for (u32 j = group; j < all.after && inside; j += groups) {
    const T* const column = all.q + (size_t)j * all.before;
    T sum = T();
    for (u32 v = 0; v < all.before; ++v) sum = add(sum, times_unfused(column[v], tile[v * all.rows]));
    all.basis[j * all.stride + at] = sum;
  }
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
