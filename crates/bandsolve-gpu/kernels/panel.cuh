// Gaussian elimination of a few rows in registers.
#pragma once
#include "element.cuh"

// Whether a row is exchanged with the one that was eliminated before: never; if its candidate for the pivot is larger; if a pivot
// of two rows begins (scalars only: else as LARGER); in any case.
enum Exchange { NEVER, LARGER, DIAGONAL, FORCED };

// How pivots are chosen: by exchanges; from rows that are scaled or not; candidates up to `noise` count as zero. And where it is
// noted, a bit a system, that next to nothing was left to choose from; null: nowhere.
struct Rule {
  int exchange, scale_rows;
  double noise;
  u32* suspects;
};

// The rank up to which pivots, and equations, are next to nothing, where `most` is that of the largest entry: they may be zeros that
// were rounded. Rows that are scaled need not be looked at: 2^NO_PIVOT.
template <class R> __device__ __forceinline__ u32 nothing_up_to(u32 most) {
  constexpr u32 ONE = 1u << (Bits<R>::MANTISSA % 32), DOWN = (u32)-Bits<R>::NO_PIVOT * ONE;
  return most > DOWN ? most - DOWN : 0;
}
template <class R> constexpr u32 NOTHING = (u32)(Bits<R>::BIAS + Bits<R>::NO_PIVOT) << (Bits<R>::MANTISSA % 32);

// Notes that next to nothing was left of a pivot or an equation of a system: it may be singular, which the host finds out.
__device__ __forceinline__ void suspect(u32* suspects, u32 system) {
  if (suspects) atomicOr(suspects + system / 32, 1u << (system % 32));
}

// The largest rank of some numbers.
template <int N, class T> __device__ __forceinline__ u32 largest_rank(const T (&v)[N]) {
  u32 most = 0;
  UNROLL for (int k = 0; k < N; ++k) most = larger(most, rank(v[k]));
  return most;
}

// The least rank of the first K pivots of an elimination.
template <int K, int ROWS, int W, class T> __device__ __forceinline__ u32 least_pivot(const T (&v)[ROWS][W]) {
  u32 least = rank(v[0][0]);
  UNROLL for (int k = 1; k < K; ++k) least = smaller(least, rank(v[k][k]));
  return least;
}

// The rule where the equations of both sides of a cut meet, and no pivot of two rows can begin.
__device__ __forceinline__ Rule at_cut(Rule rule) {
  rule.exchange = rule.exchange == DIAGONAL ? LARGER : rule.exchange;
  return rule;
}

// A candidate for a pivot.
template <class T> __device__ __forceinline__ T denoised(T v, const Rule& rule) {
  return select(rule.noise > 0 && modulus(v) <= typename Of<T>::Real(rule.noise), T{}, v);
}

// What an elimination did, to be done again to other columns: which rows were exchanged, a bit a comparison, and what was
// subtracted. `Forget` keeps nothing.
struct Forget {
  template <class T> __device__ __forceinline__ void keep(int, bool, T) {}
};
template <class T, int N> struct Record {
  T factors[N];
  u32 swaps = 0;
  __device__ __forceinline__ void keep(int at, bool swap, T factor) {
    swaps |= (u32)swap << at;
    factors[at] = factor;
  }
};

// Eliminates the first K columns of ROWS rows: row k becomes the pivot row of column k, chosen from all rows that are left, or
// if rows are not exchanged from those of its own block of B. Returns whether the last exchange that was possible took place.
template <int K, int B, int ROWS, int W, class T, class Keep>
__device__ __forceinline__ bool eliminate_columns(T (&v)[ROWS][W], const Rule& rule, Keep& record) {
  bool swap = false;
  int before = 0;
  UNROLL for (int k = 0; k < K; ++k) {
    bool swaps[ROWS];
    UNROLL for (int q = k; q < ROWS; ++q) v[q][k] = denoised(v[q][k], rule);
    UNROLL for (int q = k + 1; q < ROWS; ++q) {
      swap = rule.exchange == FORCED || ((rule.exchange != NEVER || q / B == k / B) && modulus(v[q][k]) > modulus(v[k][k]));
      swaps[q] = swap;
      UNROLL for (int w = k; w < W; ++w) {
        const T upper = v[k][w], lower = v[q][w];
        v[k][w] = select(swap, lower, upper);
        v[q][w] = select(swap, upper, lower);
      }
    }
    if (k + 1 == ROWS) break;
    const T r = reciprocal(v[k][k]);
    UNROLL for (int q = k + 1; q < ROWS; ++q) {
      const T f = negate(times(v[q][k], r));
      record.keep(before + q - k - 1, swaps[q], f);
      v[q][k] = T{};
      UNROLL for (int w = k + 1; w < W; ++w) v[q][w] = fma_add(f, v[k][w], v[q][w]);
    }
    before += ROWS - 1 - k;
  }
  return swap;
}

template <int K, int B, int ROWS, int W, class T>
__device__ __forceinline__ bool eliminate_columns(T (&v)[ROWS][W], const Rule& rule) {
  Forget nothing;
  return eliminate_columns<K, B>(v, rule, nothing);
}

// Comparisons, and factors, of the elimination of K columns of ROWS rows.
__host__ __device__ constexpr int steps(int K, int ROWS) { return K * (ROWS - 1) - K * (K - 1) / 2; }

// Does to R columns what `eliminate_columns` has done.
template <int K, int ROWS, int R, class T>
__device__ __forceinline__ void repeat_elimination(T (&v)[ROWS][R], const Record<T, steps(K, ROWS)>& record) {
  int before = 0;
  UNROLL for (int k = 0; k < K; ++k) {
    UNROLL for (int q = k + 1; q < ROWS; ++q) {
      const bool swap = record.swaps >> (before + q - k - 1) & 1;
      UNROLL for (int c = 0; c < R; ++c) {
        const T upper = v[k][c], lower = v[q][c];
        v[k][c] = select(swap, lower, upper);
        v[q][c] = select(swap, upper, lower);
      }
    }
    UNROLL for (int q = k + 1; q < ROWS; ++q) {
      UNROLL for (int c = 0; c < R; ++c) v[q][c] = fma_add(record.factors[before + q - k - 1], v[k][c], v[q][c]);
    }
    before += ROWS - 1 - k;
  }
}

// Solves the triangular system of the first N columns of the first N rows; the right-hand sides, in the last R columns, become
// the solutions.
template <int N, int R, int ROWS, int W, class T> __device__ __forceinline__ void back_substitute(T (&v)[ROWS][W]) {
  UNROLL for (int k = N - 1; k >= 0; --k) {
    const T r = reciprocal(v[k][k]);
    UNROLL for (int w = W - R; w < W; ++w) {
      T sum = v[k][w];
      UNROLL for (int c = k + 1; c < N; ++c) sum = fma_add(negate(v[k][c]), v[c][w], sum);
      v[k][w] = times(sum, r);
    }
  }
}
