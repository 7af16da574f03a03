// The right-hand side, the residuals and the mean of Poisson problems on a box with three axes in C order. A missing axis has
// one unknown.
#pragma once
#include "element.cuh"

// scale·(f + boundary terms)
template <class R> struct BoxRhs {
  const R* f;
  u32 shape[3];
  // Whether the right-hand side is f: no boundary terms, and scale 1.
  u32 plain;
  R scale;
  // The terms at the low and the high side of each axis: a constant, or an array with one number per point of the side.
  R constants[3][2];
  const R* arrays[3][2];

  __device__ __forceinline__ R at(u32 index) const {
    if (plain) return f[index];
    const u32 k = index % shape[2], rest = index / shape[2], j = rest % shape[1], i = rest / shape[1];
    const u32 place[3] = {i, j, k}, point[3] = {j * shape[2] + k, i * shape[2] + k, i * shape[1] + j};
    R sum = scale * f[index];
    UNROLL for (u32 axis = 0; axis < 3; ++axis) {
      UNROLL for (u32 side = 0; side < 2; ++side) {
        if (place[axis] != (side == 0 ? 0 : shape[axis] - 1)) continue;
        const R* const array = arrays[axis][side];
        sum += scale * (array ? array[point[axis]] : constants[axis][side]);
      }
    }
    return sum;
  }
};

// An axis of the matrix. Row i is lowerᵢ·(uᵢ − uᵢ₋₁) + upperᵢ·(uᵢ − uᵢ₊₁) + gapᵢ·uᵢ.
template <class R> struct BoxAxis {
  const R *lower, *upper, *gap;
  // lower + upper
  const double* couplings;
  // The volumes divided by their sum, if the problem is singular.
  const double* weights;
  u32 n, periodic;

  // The neighbors of i. A missing neighbor is i itself; its coupling is zero.
  __device__ __forceinline__ u32 below(u32 i) const { return i > 0 ? i - 1 : periodic ? n - 1 : 0; }
  __device__ __forceinline__ u32 above(u32 i) const { return i + 1 < n ? i + 1 : periodic ? 0 : n - 1; }
};

// The measure of some residuals.
struct BoxMeasure {
  // The largest |rᵢ| / Σⱼ |aᵢⱼ| or the backward error, the largest |uᵢ|, the largest right-hand side and the largest |fᵢ|.
  double largest[4];
  // The sums of weight·u and weight·|u|, each with its rounding error.
  double sums[2][2];
};

template <class R> struct BoxResidual {
  BoxRhs<R> rhs;
  BoxAxis<R> axes[3];
  double shift;
  // The constant to subtract from the right-hand side, or null.
  const double* removed;
  // The largest |uᵢ|, to compute the backward error; otherwise 0.
  double largest;
  const R* u;
  // Receives the residuals, unless it is null.
  R* rest;
  // One measure per thread block.
  BoxMeasure* measures;
  // Unknowns in total and per thread block.
  u32 n, piece;
};

// The larger number, or NaN if one is NaN.
__device__ __forceinline__ double larger_or_nan(double a, double b) { return a != a || a > b ? a : b; }

// Add x to a sum, whose rounding error is the second number.
__device__ __forceinline__ void add_exactly(double (&sum)[2], double x) {
  const double total = sum[0] + x, part = total - sum[0];
  sum[1] += (sum[0] - (total - part)) + (x - part);
  sum[0] = total;
}

__device__ __forceinline__ void join(BoxMeasure& all, const BoxMeasure& other) {
  UNROLL for (u32 k = 0; k < 4; ++k) all.largest[k] = larger_or_nan(all.largest[k], other.largest[k]);
  UNROLL for (u32 k = 0; k < 2; ++k) {
    add_exactly(all.sums[k], other.sums[k][0]);
    all.sums[k][1] += other.sums[k][1];
  }
}

// Measure one unknown.
template <class R> __device__ __forceinline__ void measure(const BoxResidual<R>& all, u32 index, BoxMeasure& sum) {
  const u32 n2 = all.axes[2].n, n1 = all.axes[1].n;
  const u32 k = index % n2, rest = index / n2, j = rest % n1, i = rest / n1;
  const u32 place[3] = {i, j, k}, stride[3] = {n1 * n2, n2, 1};
  const R x = all.u[index], given = all.rhs.at(index);
  const R f = all.removed ? given - (R)*all.removed : given;
  // r = f − Σ (lower·(u − u₋) + upper·(u − u₊) + gap·u) − c·u
  R r = f, gap = (R)all.shift;
  double couplings = 0, gaps = all.shift;
  UNROLL for (u32 axis = 0; axis < 3; ++axis) {
    const BoxAxis<R>& a = all.axes[axis];
    const u32 at = place[axis], line = index - at * stride[axis];
    const R below = all.u[line + a.below(at) * stride[axis]], above = all.u[line + a.above(at) * stride[axis]];
    r -= a.lower[at] * (x - below) + a.upper[at] * (x - above);
    gap += a.gap[at];
    couplings += a.couplings[at];
    gaps += (double)a.gap[at];
  }
  r -= gap * x;
  if (all.rest) all.rest[index] = r;
  const double size = couplings + absolute(couplings + gaps), error = absolute((double)r);
  const double scale = all.largest > 0 ? size * all.largest + absolute((double)f) : size;
  sum.largest[0] = larger_or_nan(sum.largest[0], error == 0 ? 0 : error / scale);
  sum.largest[1] = larger_or_nan(sum.largest[1], absolute((double)x));
  sum.largest[2] = larger_or_nan(sum.largest[2], absolute((double)given));
  sum.largest[3] = larger_or_nan(sum.largest[3], absolute((double)all.rhs.f[index]));
  if (all.axes[0].weights) {
    const double weighted = all.axes[0].weights[i] * all.axes[1].weights[j] * all.axes[2].weights[k] * (double)x;
    add_exactly(sum.sums[0], weighted);
    add_exactly(sum.sums[1], absolute(weighted));
  }
}

// Compute residuals and their measure. Shared memory has room for one measure per thread. The number of threads is a power
// of two.
template <class R> __device__ __forceinline__ void box_residual(const BoxResidual<R>& all) {
  SHARED_BYTES(memory);
  BoxMeasure* const measures = reinterpret_cast<BoxMeasure*>(memory);
  const u32 first = blockIdx.x * all.piece, end = smaller(all.piece, all.n - first) + first;
  BoxMeasure sum = {};
  for (u32 index = first + threadIdx.x; index < end; index += blockDim.x) measure(all, index, sum);
  measures[threadIdx.x] = sum;
  for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) join(measures[threadIdx.x], measures[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) all.measures[blockIdx.x] = measures[0];
}

// u ← factor·u + level
template <class R> __device__ __forceinline__ void box_shift(u32 n, R* u, R factor, R level) {
  const u32 index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < n) u[index] = factor * u[index] + level;
}
