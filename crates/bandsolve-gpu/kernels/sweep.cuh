// The tridiagonal systems along one axis of a Poisson problem, one for each coefficient of the other axes. A thread solves a
// system; neighboring threads have neighboring systems.
//
// λ is the sum of the eigenvalues of the other axes and the shift. Row i of a system is
//
//   lowerᵢ (uᵢ − uᵢ₋₁) + upperᵢ (uᵢ − uᵢ₊₁) + (gapᵢ + λ) uᵢ = fᵢ
//
// With b = lowerᵢ and a = upperᵢ₋₁, the elimination is that of the CPU (`chain.rs` of crate bandsolve-poisson):
//
//   Qᵢ = gapᵢ + λ + b Qᵢ₋₁/(Qᵢ₋₁ + a)    ρᵢ = upperᵢ/(Qᵢ + upperᵢ)
//   Gᵢ = ρᵢ (fᵢ + (b/a) Gᵢ₋₁)            uᵢ = Gᵢ/upperᵢ + ρᵢ uᵢ₊₁
//
// Q is a sum of positive numbers. A small Q depends on many rows, so it is computed in twice the precision.
#pragma once
#include "transform.cuh"

// Minimum λ/b for double precision.
#define LARGE_SHIFT 1e-3

template <class R> struct SweepFactors {
  const double *lower, *upper, *gap;
  // ρᵢ of all systems, in the order of the unknowns. In the last row: 1/Q, or 0 for the constant of a singular problem.
  R* factors;
  u32 n, lines, stride;
  Symbols symbols;
};

template <class R> struct Sweep {
  BoxRhs<R> from;
  // Receives G. It may be `to` if the result is not added.
  R* work;
  R* to;
  const R* factors;
  // b/a and 1/upper of each row.
  const R *ratios, *inverses;
  // The volumes divided by their sum, if the problem is singular.
  const double* weights;
  u32 add, n, lines, stride;
  Symbols symbols;
};

__device__ __forceinline__ double sum_of_eigenvalues(const Symbols& s, u32 line) {
  return (s.first[line / s.count] + s.second[line % s.count]) + s.shift;
}

// The first unknown of a line.
__device__ __forceinline__ u32 start_of(u32 line, u32 n, u32 stride) { return line / stride * n * stride + line % stride; }

// a + b, and its rounding error.
__device__ __forceinline__ void two_sum(double a, double b, double& sum, double& rest) {
  sum = a + b;
  const double part = sum - a;
  rest = (a - (sum - part)) + (b - part);
}

// Q = high + low
struct PivotGap {
  double high, low;

  __device__ __forceinline__ void advance(double lambda, double gap, double b, double a) {
    double shifted, of_shifted;
    two_sum(gap, lambda, shifted, of_shifted);
    if (b == 0) {
      high = shifted;
      low = of_shifted;
      return;
    }
    if (lambda >= LARGE_SHIFT * b || !(b >= 1e-100 && b < 1e100)) {
      high = gap + lambda + b / (1 + a / high);
      low = 0;
      return;
    }
    // quotient + correction = b·Q/(Q + a)
    double pivot, rest, sum, of_sum;
    two_sum(high, a, pivot, rest);
    rest += low;
    const double product = b * high, below = fma_add(b, high, -product) + b * low;
    const double quotient = product / pivot, back = quotient * pivot;
    const double correction = ((product - back) - fma_add(quotient, pivot, -back) + below - quotient * rest) / pivot;
    two_sum(shifted, quotient, sum, of_sum);
    two_sum(sum, of_sum + of_shifted + correction, high, low);
  }
};

template <class R> __device__ __forceinline__ void sweep_factors(const SweepFactors<R>& all) {
  const u32 line = blockIdx.x * blockDim.x + threadIdx.x, last = all.n - 1;
  if (line >= all.lines) return;
  const double lambda = sum_of_eigenvalues(all.symbols, line);
  u32 index = start_of(line, all.n, all.stride);
  PivotGap gap = {0, 0};
  for (u32 i = 0; i < last; ++i, index += all.stride) {
    gap.advance(lambda, all.gap[i], i > 0 ? all.lower[i] : 0, i > 0 ? all.upper[i - 1] : 0);
    all.factors[index] = (R)(all.upper[i] / (gap.high + all.upper[i]));
  }
  gap.advance(lambda, all.gap[last], last > 0 ? all.lower[last] : 0, last > 0 ? all.upper[last - 1] : 0);
  all.factors[index] = gap.high == 0 ? R(0) : (R)(1 / gap.high);
}

// The mean of the unknowns of a line.
template <class R, class At> __device__ __forceinline__ double mean_of_line(const Sweep<R>& all, At at) {
  double sum[2] = {0, 0};
  for (u32 i = 0; i < all.n; ++i) add_exactly(sum, all.weights[i] * (double)at(i));
  return sum[0] + sum[1];
}

template <class R> __device__ __forceinline__ void sweep(const Sweep<R>& all) {
  const u32 line = blockIdx.x * blockDim.x + threadIdx.x, last = all.n - 1;
  if (line >= all.lines) return;
  const u32 start = start_of(line, all.n, all.stride);
  const Symbols& s = all.symbols;
  // The coefficients of the constant are those of line 0.
  const bool is_constant = all.weights && line == 0;
  R removed = 0;
  if (is_constant) {
    const double level = mean_of_line(all, [&](u32 i) { return all.from.at(start + i * all.stride); });
    *s.removed = (s.add ? *s.removed : 0) + level / s.of_ones;
    removed = (R)level;
  }
  R before = 0;
  for (u32 i = 0; i <= last; ++i) {
    const u32 index = start + i * all.stride;
    const R f = all.from.at(index) - removed;
    before = all.factors[index] * fma_add(all.ratios[i], before, f);
    all.work[index] = before;
  }
  // In the last row, G is u.
  for (u32 i = last; i-- > 0;) {
    const u32 index = start + i * all.stride;
    before = fma_add(all.factors[index], before, all.work[index] * all.inverses[i]);
    all.work[index] = before;
  }
  R level = 0;
  if (is_constant) level = (R)(s.mean - mean_of_line(all, [&](u32 i) { return all.work[start + i * all.stride]; }));
  if (!is_constant && !all.add) return;
  for (u32 i = 0; i <= last; ++i) {
    const u32 index = start + i * all.stride;
    const R u = all.work[index] + level;
    all.to[index] = all.add ? all.to[index] + u : u;
  }
}
