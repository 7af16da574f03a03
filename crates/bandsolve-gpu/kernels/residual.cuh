// Residuals in twice the working precision, and corrections.
#pragma once
#include "rpts.cuh"

// A sum and what rounding has taken from it.
template <class R> struct Exact {
  R sum, rest;

  // Subtracts a product.
  __device__ __forceinline__ void subtract(R a, R x) {
    const R p = a * x, error = fma_add(a, x, -p);
    const R s = sum - p, back = s - sum;
    rest += (sum - (s - back)) - (p + back) - error;
    sum = s;
  }
  __device__ __forceinline__ R value() const { return sum + rest; }
};

template <class R> struct Rest {
  Exact<R> sum;
  __device__ __forceinline__ explicit Rest(R d) : sum{d, R(0)} {}
  __device__ __forceinline__ void subtract(R a, R x) { sum.subtract(a, x); }
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
  __device__ __forceinline__ Complex<R> value() const { return {re.value(), im.value()}; }
};

// The row, column and system of a thread where a block of threads is for one column: of the columns of all systems, one after
// the other.
struct Spot {
  u32 row, column;
};

__device__ __forceinline__ Spot spot_of(const Cut& cut) {
  const u32 blocks = (cut.rows + blockDim.x - 1) / blockDim.x;
  return {blockIdx.x % blocks * blockDim.x + threadIdx.x, blockIdx.x / blocks};
}

// rest ← d − A·x, if it is wanted, and the largest |rest| / (Σ|a|·‖x‖ + |d|), with ‖x‖ from `peaks.size`, in `peaks.gap`.
template <class T, int B, class Source>
__device__ __forceinline__ void residual(const Cut& cut, const Source& source, const Columns<const T>& rhs,
                                         const Columns<const T>& x, const Columns<T>& rest, const Peaks<T>& peaks) {
  typedef typename Of<T>::Real Real;
  const Spot spot = spot_of(cut);
  const u32 system = spot.column / cut.columns, column = spot.column % cut.columns;
  Real gap = Real(0), most = Real(0);
  if (spot.row < cut.rows) {
    const u32 i = spot.row / B;
    T v[3 * B];
    source.of(cut, system).row(cut, i, spot.row % B, v);
    const Real by = row_scale(v, true);
    const size_t own = (size_t)spot.row * cut.row_step;
    const T d = scale(rhs.of(cut, system, column).first[own], by);
    const u32 blocks[3] = {i == 0 ? cut.n - 1 : i - 1, i, i + 1 == cut.n ? 0 : i + 1};
    const T* const values = x.of(cut, system, column).first;
    Rest<T> sum(d);
    Real entries = Real(0);
    UNROLL for (int s = 0; s < 3 * B; ++s) {
      const size_t at = (size_t)blocks[s / B] * B + s % B;
      const T a = scale(v[s], by);
      entries = entries + absolute(a);
      T value = T{};
      if (at < cut.rows) value = values[at * cut.row_step];
      sum.subtract(a, value);
    }
    const T r = sum.value();
    gap = backward_error(r, entries, of_bits(peaks.size[spot.column]), d);
    most = absolute(d);
    if (rest.first) rest.of(cut, system, column).first[own] = scale(r, Real(1) / by);
  }
  peaks.raise(peaks.gap + spot.column, gap);
  peaks.raise(peaks.rhs + spot.column, most);
}

// x ← x + dx; raises `peaks.size` to the largest |x|.
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
