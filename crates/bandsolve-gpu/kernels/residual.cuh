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

template <class R> __device__ __forceinline__ R rest_of(Row<R> r, R before, R x, R after) {
  Exact<R> e = {r.d, R(0)};
  e.subtract(r.a, before);
  e.subtract(r.b, x);
  e.subtract(r.c, after);
  return e.value();
}

template <class R>
__device__ __forceinline__ Complex<R> rest_of(Row<Complex<R>> r, Complex<R> before, Complex<R> x, Complex<R> after) {
  Exact<R> re = {r.d.re, R(0)}, im = {r.d.im, R(0)};
  const Complex<R> a[3] = {r.a, r.b, r.c}, v[3] = {before, x, after};
  for (int k = 0; k < 3; ++k) {
    re.subtract(a[k].re, v[k].re);
    re.subtract(-a[k].im, v[k].im);
    im.subtract(a[k].re, v[k].im);
    im.subtract(a[k].im, v[k].re);
  }
  return {re.value(), im.value()};
}

// rest ← d − A·x, and the largest |rest| / (Σ|a|·‖x‖ + |d|), with ‖x‖ as bits in `sizes[1]`, in `peaks[0]`.
template <class T>
__device__ __forceinline__ void residual(Cut cut, const T* a, const T* b, const T* c, const T* d, const T* x, T* rest,
                                         const typename Bits<typename Of<T>::Real>::Word* sizes,
                                         typename Bits<typename Of<T>::Real>::Word* peaks) {
  typedef typename Of<T>::Real R;
  const R x_max = of_bits(sizes[1]);
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  R gap = R(0);
  if (i < cut.n) {
    Row<T> r = {a[i], b[i], c[i], d[i]};
    if (i == 0 && !cut.periodic) r.a = T{};
    if (i + 1 == cut.n && !cut.periodic) r.c = T{};
    const R by = equilibrate(larger(larger(modulus(r.a), modulus(r.b)), modulus(r.c)));
    r = {scale(r.a, by), scale(r.b, by), scale(r.c, by), scale(r.d, by)};
    const T v = rest_of(r, x[i == 0 ? cut.n - 1 : i - 1], x[i], x[i + 1 == cut.n ? 0 : i + 1]);
    const R size = fma_add(modulus(r.a) + modulus(r.b) + modulus(r.c), x_max, modulus(r.d));
    gap = size == R(0) ? modulus(v) : modulus(v) / size;
    rest[i] = scale(v, R(1) / by);
  }
  gap = warp_peak(gap);
  if (threadIdx.x % LANES == 0) atomicMax(&peaks[0], bits_of(gap));
}

// x ← x + dx; the largest |x| as bits in `peaks[1]`.
template <class T>
__device__ __forceinline__ void correct(Cut cut, const T* dx, T* x, typename Bits<typename Of<T>::Real>::Word* peaks) {
  typedef typename Of<T>::Real R;
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  R largest = R(0);
  if (i < cut.n) {
    x[i] = add(x[i], dx[i]);
    largest = modulus(x[i]);
  }
  largest = warp_peak(largest);
  if (threadIdx.x % LANES == 0) atomicMax(&peaks[1], bits_of(largest));
}
