// Real and complex numbers. The rounding of every operation is explicit, and only fma_add is fused. A CPU can therefore
// compute the same results, bit for bit.
#pragma once
#include "port.cuh"

template <class R> struct Complex {
  R re, im;
};

template <class T> struct Of {
  typedef T Real;
  static constexpr bool COMPLEX = false;
};
template <class R> struct Of<Complex<R>> {
  typedef R Real;
  static constexpr bool COMPLEX = true;
};

// The bits of a real number: its exponent field, the guard, and the limit for vanishing numbers.
template <class R> struct Bits;
template <> struct Bits<float> {
  typedef u32 Word;
  static constexpr int MANTISSA = 23, EXPONENT_MAX = 255, BIAS = 127, GUARD = -60, NO_PIVOT = -18;
};
template <> struct Bits<double> {
  typedef u64 Word;
  static constexpr int MANTISSA = 52, EXPONENT_MAX = 2047, BIAS = 1023, GUARD = -500, NO_PIVOT = -45;
};

// 2^exponent
template <class R> __device__ __forceinline__ R power_of_two(int exponent) {
  return of_bits((typename Bits<R>::Word)(exponent + Bits<R>::BIAS) << Bits<R>::MANTISSA);
}

// The power of two that brings a number into [1, 2), as far as it exists.
template <class R> __device__ __forceinline__ R equilibrate(R largest) {
  const int field = (int)(bits_of(largest) >> Bits<R>::MANTISSA) & Bits<R>::EXPONENT_MAX;
  const int scale = 2 * Bits<R>::BIAS - field;
  const int most = Bits<R>::EXPONENT_MAX - 1;
  // Zero and non-finite numbers do not change.
  if (largest == R(0)) return R(1);
  return of_bits((typename Bits<R>::Word)(scale < 1 ? 1 : scale > most ? most : scale) << Bits<R>::MANTISSA);
}

// a·b + c, rounded once.
__device__ __forceinline__ float fma_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double fma_add(double a, double b, double c) { return fma(a, b, c); }
template <class R> __device__ __forceinline__ Complex<R> fma_add(Complex<R> a, Complex<R> b, Complex<R> c) {
  return {fma_add(a.re, b.re, fma_add(-a.im, b.im, c.re)), fma_add(a.re, b.im, fma_add(a.im, b.re, c.im))};
}

__device__ __forceinline__ float negate(float a) { return -a; }
__device__ __forceinline__ double negate(double a) { return -a; }
template <class R> __device__ __forceinline__ Complex<R> negate(Complex<R> a) { return {-a.re, -a.im}; }

__device__ __forceinline__ float conjugate(float a) { return a; }
__device__ __forceinline__ double conjugate(double a) { return a; }
template <class R> __device__ __forceinline__ Complex<R> conjugate(Complex<R> a) { return {a.re, -a.im}; }

template <class T> __device__ __forceinline__ T one() {
  if constexpr (Of<T>::COMPLEX) {
    return {1, 0};
  } else {
    return T(1);
  }
}

__device__ __forceinline__ float add(float a, float b) { return a + b; }
__device__ __forceinline__ double add(double a, double b) { return a + b; }
template <class R> __device__ __forceinline__ Complex<R> add(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }

__device__ __forceinline__ float times(float a, float b) { return a * b; }
__device__ __forceinline__ double times(double a, double b) { return a * b; }
template <class R> __device__ __forceinline__ Complex<R> times(Complex<R> a, Complex<R> b) {
  return {fma_add(a.re, b.re, -(a.im * b.im)), fma_add(a.re, b.im, a.im * b.re)};
}

// a·b without fused operations, as sums and products of vectors on the CPU are computed.
__device__ __forceinline__ float times_unfused(float a, float b) { return a * b; }
__device__ __forceinline__ double times_unfused(double a, double b) { return a * b; }
template <class R> __device__ __forceinline__ Complex<R> times_unfused(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ __forceinline__ float scale(float a, float by) { return a * by; }
__device__ __forceinline__ double scale(double a, double by) { return a * by; }
template <class R> __device__ __forceinline__ Complex<R> scale(Complex<R> a, R by) { return {a.re * by, a.im * by}; }

// |re| + |im|
__device__ __forceinline__ float modulus(float a) { return fabsf(a); }
__device__ __forceinline__ double modulus(double a) { return fabs(a); }
template <class R> __device__ __forceinline__ R modulus(Complex<R> a) { return modulus(a.re) + modulus(a.im); }

// |a|, rounded.
__device__ __forceinline__ float absolute(float a) { return fabsf(a); }
__device__ __forceinline__ double absolute(double a) { return fabs(a); }
__device__ __forceinline__ float root(float a) { return sqrtf(a); }
__device__ __forceinline__ double root(double a) { return sqrt(a); }
template <class R> __device__ __forceinline__ R absolute(Complex<R> a) {
  const R by = equilibrate(modulus(a.re) > modulus(a.im) ? modulus(a.re) : modulus(a.im));
  const R re = a.re * by, im = a.im * by;
  return root(fma_add(re, re, im * im)) * (R(1) / by);
}

// 1/a. For a = 0, the result is very large, but finite.
template <class R> __device__ __forceinline__ R reciprocal_of_real(R a) {
  return R(1) / (a == R(0) ? power_of_two<R>(Bits<R>::GUARD) : a);
}
__device__ __forceinline__ float reciprocal(float a) { return reciprocal_of_real(a); }
__device__ __forceinline__ double reciprocal(double a) { return reciprocal_of_real(a); }
template <class R> __device__ __forceinline__ Complex<R> reciprocal(Complex<R> a) {
  // Scale the larger part to approximately 1 first, because its square could overflow or underflow.
  const R by = equilibrate(modulus(a.re) > modulus(a.im) ? modulus(a.re) : modulus(a.im));
  const Complex<R> near = scale(a, by);
  const R norm = fma_add(near.re, near.re, near.im * near.im);
  const R factor = by * reciprocal_of_real(norm);
  return {near.re * factor, -near.im * factor};
}

// The upper bits of a modulus, which increase with the modulus. Sizes are compared by rank, with one operation for
// every number type.
__device__ __forceinline__ u32 rank(float a) { return bits_of(a) & 0x7fffffffu; }
__device__ __forceinline__ u32 rank(double a) { return (u32)(bits_of(a) >> 32) & 0x7fffffffu; }
// The rank of the larger part.
template <class R> __device__ __forceinline__ u32 rank(Complex<R> a) { return rank(a.re) > rank(a.im) ? rank(a.re) : rank(a.im); }

template <class T> __device__ __forceinline__ T select(bool condition, T a, T b) { return condition ? a : b; }

template <class T> __device__ __forceinline__ T larger(T a, T b) { return b > a ? b : a; }
template <class T> __device__ __forceinline__ T smaller(T a, T b) { return b < a ? b : a; }

template <class R> __device__ __forceinline__ R larger_bits(R a, R b) { return bits_of(b) > bits_of(a) ? b : a; }

// |rest| / (sum·‖x‖ + |d|), with a residual, a row's sum of moduli, a lower bound of ‖x‖∞ and a right-hand side. The
// error is the largest possible one if the row is empty, or if the quotient is not reliable at the ends of the exponent
// range.
template <class T, class R> __device__ __forceinline__ R backward_error(T rest, R sum, R x_max, T d) {
  constexpr int TINY = 2 * Bits<R>::MANTISSA - Bits<R>::BIAS;
  const R size = fma_add(sum, x_max, absolute(d));
  if (size == R(0) && sum > R(0)) return absolute(rest);
  if (!(size >= power_of_two<R>(TINY) && size <= power_of_two<R>(Bits<R>::BIAS))) return R(1);
  return absolute(rest) / size;
}

// An index that stands for an absent element.
#define NO_ELEMENT 0xffffffffu

// The value of another lane. All lanes of a warp must take part.
__device__ __forceinline__ u32 shuffle(u32 v, u32 lane) { return from_lane(v, lane); }
__device__ __forceinline__ u64 shuffle(u64 v, u32 lane) { return from_lane(v, lane); }
__device__ __forceinline__ float shuffle(float v, u32 lane) { return from_lane(v, lane); }
__device__ __forceinline__ double shuffle(double v, u32 lane) { return from_lane(v, lane); }
template <class R> __device__ __forceinline__ Complex<R> shuffle(Complex<R> v, u32 lane) {
  return {shuffle(v.re, lane), shuffle(v.im, lane)};
}
