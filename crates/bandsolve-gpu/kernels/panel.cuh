// Gaussian elimination of a few rows in registers.
#pragma once
#include "element.cuh"

// How pivots are chosen: from all rows or not; from rows that are scaled or not; candidates up to `noise` count as zero.
struct Rule {
  int exchange, scale_rows;
  double noise;
};

// A candidate for a pivot.
template <class T> __device__ __forceinline__ T denoised(T v, const Rule& rule) {
  return select(rule.noise > 0 && modulus(v) <= typename Of<T>::Real(rule.noise), T{}, v);
}

// Eliminates the first K columns of ROWS rows: row k becomes the pivot row of column k, chosen from all rows that are left, or
// if rows are not exchanged from those of its own block of B. Returns whether the last exchange that was possible took place.
template <int K, int B, int ROWS, int W, class T>
__device__ __forceinline__ bool eliminate_columns(T (&v)[ROWS][W], const Rule& rule) {
  bool swap = false;
  UNROLL for (int k = 0; k < K; ++k) {
    UNROLL for (int q = k; q < ROWS; ++q) v[q][k] = denoised(v[q][k], rule);
    UNROLL for (int q = k + 1; q < ROWS; ++q) {
      swap = (rule.exchange || q / B == k / B) && modulus(v[q][k]) > modulus(v[k][k]);
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
      v[q][k] = T{};
      UNROLL for (int w = k + 1; w < W; ++w) v[q][w] = fma_add(f, v[k][w], v[q][w]);
    }
  }
  return swap;
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
