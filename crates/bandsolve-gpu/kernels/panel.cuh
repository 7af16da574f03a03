// Gaussian elimination of a few rows in registers.
#pragma once
#include "element.cuh"

// Whether a row is exchanged with the previously eliminated one: never, if its pivot candidate is larger, if a 2×2
// pivot begins (scalars only; blocks use LARGER), or always.
enum Exchange { NEVER, LARGER, DIAGONAL, FORCED };

// The choice of pivots: the exchanges, whether rows are scaled, and `noise`, up to which candidates count as zero.
// `suspects` receives one bit for each system in which all pivot candidates vanished. It can be null.
struct Rule {
  int exchange, scale_rows;
  double noise;
  u32* suspects;

  static constexpr bool IS_CONSTANT = false;
};

// The rule of most solves: the larger candidate, rows that are scaled, no noise. The compiler knows these values, which
// halves the instructions of an elimination. A kernel takes it in place of a `Rule` with the same values.
struct Larger : Rule {
  static constexpr int exchange = LARGER, scale_rows = 1;
  static constexpr double noise = 0;

  static constexpr bool IS_CONSTANT = true;
};

// The rank up to which pivots and equations count as vanishing, because they may be rounded zeros. `most` is the rank
// of the largest entry. Scaled rows use 2^NO_PIVOT without this computation.
template <class R> __device__ __forceinline__ u32 nothing_up_to(u32 most) {
  constexpr u32 ONE = 1u << (Bits<R>::MANTISSA % 32), DOWN = (u32)-Bits<R>::NO_PIVOT * ONE;
  return most > DOWN ? most - DOWN : 0;
}
template <class R> constexpr u32 NOTHING = (u32)(Bits<R>::BIAS + Bits<R>::NO_PIVOT) << (Bits<R>::MANTISSA % 32);

// Report that a pivot or an equation of a system vanished. The host then checks whether the system is singular.
__device__ __forceinline__ void suspect(u32* suspects, u32 system) {
  if (suspects) atomicOr(suspects + system / 32, 1u << (system % 32));
}

// The largest rank of several numbers.
template <int N, class T> __device__ __forceinline__ u32 largest_rank(const T (&v)[N]) {
  u32 most = 0;
  UNROLL for (int k = 0; k < N; ++k) most = larger(most, rank(v[k]));
  return most;
}

// The smallest rank of the first K pivots of an elimination.
template <int K, int ROWS, int W, class T> __device__ __forceinline__ u32 least_pivot(const T (&v)[ROWS][W]) {
  u32 least = rank(v[0][0]);
  UNROLL for (int k = 1; k < K; ++k) least = smaller(least, rank(v[k][k]));
  return least;
}

// The rule where the equations from both sides meet, so that no 2×2 pivot can begin.
__device__ __forceinline__ Rule at_cut(Rule rule) {
  rule.exchange = rule.exchange == DIAGONAL ? LARGER : rule.exchange;
  return rule;
}
__device__ __forceinline__ Larger at_cut(Larger rule) { return rule; }

// A pivot candidate, or zero if it is noise.
template <class T, class Pivots> __device__ __forceinline__ T denoised(T v, const Pivots& rule) {
  return select(rule.noise > 0 && modulus(v) <= typename Of<T>::Real(rule.noise), T{}, v);
}

// The record of an elimination, for its repetition on other columns: one bit per comparison for the row exchanges, and
// the factors. `Forget` stores nothing.
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

// Eliminate the first K columns of ROWS rows. Row k becomes the pivot row of column k. It is chosen from all remaining
// rows, or from its own block of B rows if rows are not exchanged. Returns whether the last possible exchange took
// place.
template <int K, int B, int ROWS, int W, class T, class Pivots, class Keep>
__device__ __forceinline__ bool eliminate_columns(T (&v)[ROWS][W], const Pivots& rule, Keep& record) {
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

template <int K, int B, int ROWS, int W, class T, class Pivots>
__device__ __forceinline__ bool eliminate_columns(T (&v)[ROWS][W], const Pivots& rule) {
  Forget nothing;
  return eliminate_columns<K, B>(v, rule, nothing);
}

// Number of comparisons, and of factors, in the elimination of K columns of ROWS rows.
__host__ __device__ constexpr int steps(int K, int ROWS) { return K * (ROWS - 1) - K * (K - 1) / 2; }

// Apply the recorded steps of `eliminate_columns` to R columns.
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

// Solve the triangular system of the first N columns of the first N rows. The solutions replace the right-hand sides,
// which are the last R columns.
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
