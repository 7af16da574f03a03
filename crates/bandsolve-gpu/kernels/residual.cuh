// Residuals in twice the working precision, and corrections.
#pragma once
#include "rpts.cuh"

// A sum and its rounding error.
template <class R> struct Exact {
  R sum, rest;

  // Subtract a product.
  __device__ __forceinline__ void subtract(R a, R x) {
    const R p = a * x, error = fma_add(a, x, -p);
    const R s = sum - p, back = s - sum;
    rest += (sum - (s - back)) - (p + back) - error;
    sum = s;
  }
  // Add another sum.
  __device__ __forceinline__ void join(const Exact& later) {
    const R s = sum + later.sum, back = s - sum;
    rest += (sum - (s - back)) + (later.sum - back) + later.rest;
    sum = s;
  }
  __device__ __forceinline__ R value() const { return sum + rest; }
};

template <class R> struct Rest {
  Exact<R> sum;
  __device__ __forceinline__ explicit Rest(R d) : sum{d, R(0)} {}
  __device__ __forceinline__ void subtract(R a, R x) { sum.subtract(a, x); }
  __device__ __forceinline__ void join(const Rest& later) { sum.join(later.sum); }
  __device__ __forceinline__ R value() const { return sum.value(); }
};

template <class R> struct Rest<Complex<R>> {
  Exact<R> re, im;
  __device__ __forceinline__ explicit Rest(Complex<R> d) : re{d.re, R(0)}, im{d.im, R(0)} {}
  __device__ __forceinline__ void subtract(Complex<R> a, Complex<R> x) {
    re.subtract(a.re, x.re);
    re.subtract(-a.im, x.im);
    im.subtract(a.re, x.im);
    im.subtract(a.im, x.re);
  }
  __device__ __forceinline__ void join(const Rest& later) {
    re.join(later.re);
    im.join(later.im);
  }
  __device__ __forceinline__ Complex<R> value() const { return {re.value(), im.value()}; }
};

// The row, column and system of a thread, in kernels whose thread blocks belong to one column each. Columns are counted
// over all systems.
struct Spot {
  u32 row, column;
};

__device__ __forceinline__ Spot spot_of(const Cut& cut) {
  const u32 blocks = (cut.rows + blockDim.x - 1) / blockDim.x;
  return {blockIdx.x % blocks * blockDim.x + threadIdx.x, blockIdx.x / blocks};
}

// A scaled row of a matrix with its right-hand side and its residual.
template <class T, int B> struct Left {
  typedef typename Of<T>::Real Real;
  T v[3 * B], d, rest;
  Real entries = Real(0), by;

  // Row r of block row i. `values` is x and `given` the right-hand side, for one column of one system.
  template <class Source>
  __device__ __forceinline__ Left(const Cut& cut, const Source& source, const T* given, const T* values, u32 i, u32 r) {
    source.row(cut, i, r, v);
    by = row_scale(v, true);
    d = scale(given[((size_t)i * B + r) * cut.row_step], by);
    const u32 blocks[3] = {i == 0 ? cut.n - 1 : i - 1, i, i + 1 == cut.n ? 0 : i + 1};
    Rest<T> sum(d);
    UNROLL for (int s = 0; s < 3 * B; ++s) {
      const size_t at = (size_t)blocks[s / B] * B + s % B;
      // At the ends of an open matrix, no unknown is a neighbor. A thread block may write the one at the other end at this time.
      const bool end = (s < B && i == 0) || (s >= 2 * B && i + 1 == cut.n);
      v[s] = scale(v[s], by);
      entries = entries + absolute(v[s]);
      T value = T{};
      if (at < cut.rows && (cut.periodic || !end)) value = values[at * cut.row_step];
      sum.subtract(v[s], value);
    }
    rest = sum.value();
  }
  __device__ __forceinline__ Real error(Real x_max) const { return backward_error(rest, entries, x_max, d); }
};

// rest ← d − A·x, if `rest` is wanted. Raises `peaks.gap` to the largest |rest| / (Σ|a|·‖x‖ + |d|), with ‖x‖ from
// `peaks.size`.
template <class T, int B, class Source>
__device__ __forceinline__ void residual(const Cut& cut, const Source& source, const Columns<const T>& rhs,
                                         const Columns<const T>& x, const Columns<T>& rest, const Peaks<T>& peaks) {
  typedef typename Of<T>::Real Real;
  const Spot spot = spot_of(cut);
  const u32 system = spot.column / cut.columns, column = spot.column % cut.columns;
  Real gap = Real(0), most = Real(0);
  if (spot.row < cut.rows) {
    const Left<T, B> row(cut, source.of(cut, system), rhs.of(cut, system, column).first, x.of(cut, system, column).first,
                         spot.row / B, spot.row % B);
    gap = peaks.noted(row.error(of_bits(peaks.size[spot.column])), spot.column, spot.row);
    most = absolute(row.d);
    const size_t own = (size_t)spot.row * cut.row_step;
    if (rest.first) rest.of(cut, system, column).first[own] = scale(row.rest, Real(1) / row.by);
  }
  peaks.raise(peaks.gap + spot.column, gap);
  peaks.raise(peaks.rhs + spot.column, most);
}

// Raises `most` to the largest backward error of all columns, and `attention` to 1 if a system may be singular, if x is larger than `plausible` times the right-hand side, or if the right-hand side is smaller than `least`
// times x.
template <class T>
__device__ __forceinline__ void summarize(u32 columns, u32 per_system, const Peaks<T>& peaks, const u32* suspects,
                                          double plausible, double least, Peaks<double>::Word* most, u32* attention) {
  typedef typename Of<T>::Real Real;
  Real error = Real(0);
  bool odd = false;
  for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < columns; k += gridDim.x * blockDim.x) {
    const u32 system = k / per_system;
    const Real size = of_bits(peaks.size[k]), rhs = of_bits(peaks.rhs[k]);
    error = larger_bits(error, of_bits(peaks.gap[k]));
    odd = odd || (suspects[system / 32] >> (system % 32) & 1) || !(size <= rhs * Real(plausible)) || !(rhs >= size * Real(least));
  }
  Peaks<double>::raise(most, double(error));
  if (odd) atomicMax(attention, 1u);
}

// x ← x + dx. Raises `peaks.size` to the largest |x|.
template <class T>
__device__ __forceinline__ void correct(const Cut& cut, const Columns<const T>& dx, const Columns<T>& x, const Peaks<T>& peaks) {
  typedef typename Of<T>::Real Real;
  const Spot spot = spot_of(cut);
  const u32 system = spot.column / cut.columns, column = spot.column % cut.columns;
  Real largest = Real(0);
  if (spot.row < cut.rows) {
    const size_t own = (size_t)spot.row * cut.row_step;
    T& value = x.of(cut, system, column).first[own];
    value = add(value, dx.of(cut, system, column).first[own]);
    largest = absolute(value);
  }
  peaks.raise(peaks.size + spot.column, largest);
}

// Repair windows of block rows, with one thread block per window.
//
// Each window is solved for its residual, with all unknowns outside fixed and with pivots from the whole window. The
// solution is added to x. `windows` contains columns (counted over all systems) and first block rows; `window` is the
// cut of every window. The errors of its rows and of the neighboring rows are measured again.
template <class T, int B, class Source>
__device__ __forceinline__ void repair(const Cut& cut, const Source& source, const Columns<const T>& rhs, const Columns<T>& x,
                                       const u32* windows, const Cut& window, const Peaks<T>& peaks, const Rule& rule) {
  typedef typename Of<T>::Real Real;
  SHARED_BYTES(memory);
  T* const numbers = reinterpret_cast<T*>(memory);
  const u32 number = windows[2 * blockIdx.x], first = windows[2 * blockIdx.x + 1];
  const u32 system = number / cut.columns, column = number % cut.columns;
  const Source own = source.of(cut, system);
  const T* const given = rhs.of(cut, system, column).first;
  T* const values = x.of(cut, system, column).first;
  const Real x_max = of_bits(peaks.size[number]);
  const Level<T, B, 1> top(window, numbers, 0);
  for (u32 k = threadIdx.x; k < window.rows; k += blockDim.x) {
    const u32 j = k / B, r = k % B, place = top.place(j);
    const bool there = (size_t)first * B + k < cut.rows;
    T v[3 * B] = {}, rest = T{};
    if (there) {
      const Left<T, B> row(cut, own, given, values, first + j, r);
      UNROLL for (int s = 0; s < 3 * B; ++s) v[s] = row.v[s];
      rest = row.rest;
    }
    UNROLL for (int s = 0; s < 3 * B; ++s) {
      const bool outside = (s < B && j == 0) || (s >= 2 * B && j + 1 == window.n);
      v[s] = select(outside, T{}, select(!there && s == B + (int)r, one<T>(), v[s]));
    }
    const Real by = row_scale(v, true);
    UNROLL for (int s = 0; s < 3 * B; ++s) top.tile.block(s / B, (int)r, s % B, place) = scale(v[s], by);
    top.tile.rhs((int)r, 0, place) = scale(rest, by);
  }
  __syncthreads();
  solve_on_chip<T, B, 1>(numbers, window, 0, rule);
  bool changed = false;
  for (u32 k = threadIdx.x; k < window.rows; k += blockDim.x) {
    const size_t row = (size_t)first * B + k;
    if (row >= cut.rows) continue;
    const T dx = top.tile.x((int)(k % B), 0, top.place(k / B));
    // A singular window has no solution.
    if (!(modulus(dx) < power_of_two<Real>(Bits<Real>::BIAS))) continue;
    T& value = values[row * cut.row_step];
    const Real half = scale(x_max, Real(0.5));
    changed = changed || (absolute(value) > half && modulus(dx) > scale(half, Real(1) / Real(1024)));
    value = add(value, dx);
  }
  if (changed) atomicMax(peaks.bad + 1, 1u);
  __syncthreads();
  // The equations of the neighboring block rows contain unknowns of the window. In a periodic matrix, the first and
  // last rows are neighbors.
  Real gap = Real(0);
  for (u32 k = threadIdx.x; k < (window.n + 2) * B; k += blockDim.x) {
    const bool before = first == 0 && k < B, after = first + window.n == cut.n && k >= (window.n + 1) * B;
    if ((before || after) && !cut.periodic) continue;
    const u32 i = before ? cut.n - 1 : after ? 0 : first + k / B - 1, row = i * B + k % B;
    if (row >= cut.rows) continue;
    const Left<T, B> now(cut, own, given, values, i, k % B);
    gap = larger_bits(gap, peaks.noted(now.error(x_max), number, row));
  }
  peaks.raise(peaks.gap + number, gap);
}
