// Vectors in double precision for operators in single precision. Powers of two scale their rows, and bring the largest element
// near 1.
#pragma once
#include "vectors.cuh"

// The number type in single precision, and conversions.
template <class T> struct SingleOf;
template <> struct SingleOf<double> { typedef float Type; };
template <> struct SingleOf<Complex<double>> { typedef Complex<float> Type; };

__device__ __forceinline__ float to_single(double v) { return (float)v; }
__device__ __forceinline__ Complex<float> to_single(Complex<double> v) { return {(float)v.re, (float)v.im}; }
__device__ __forceinline__ double to_double(float v) { return v; }
__device__ __forceinline__ Complex<double> to_double(Complex<float> v) { return {(double)v.re, (double)v.im}; }

// An offset that makes exponents positive. 0 stands for a vector of zeros.
#define EXPONENT_OFFSET 4096

// The exponent e of a number v ≠ 0 with 2^e ≤ |v| < 2^(e + 1), at least −1087. Infinity and NaN have 1024.
__device__ __forceinline__ int exponent_of(double v) {
  const int least = 1 - Bits<double>::BIAS, up = 64;
  const int field = (int)(bits_of(v) >> Bits<double>::MANTISSA) & Bits<double>::EXPONENT_MAX;
  const int of_small = (int)(bits_of(v * power_of_two<double>(up)) >> Bits<double>::MANTISSA) & Bits<double>::EXPONENT_MAX;
  return field > 0 ? field - Bits<double>::BIAS : larger(of_small - Bits<double>::BIAS - up, least - up);
}
__device__ __forceinline__ double larger_part(double v) { return v; }
__device__ __forceinline__ double larger_part(Complex<double> v) { return modulus(v.re) < modulus(v.im) ? v.im : v.re; }

// A vector x in double precision and a vector v in single precision, with the powers of two of the rows.
template <class T> struct Rounded {
  u32 n;
  const double* scales;
  // The largest exponent of an element of the scaled x, plus EXPONENT_OFFSET.
  u32* exponent;
  T* x;
  typename SingleOf<T>::Type* v;
};

// Raise the largest exponent, with one thread block per piece.
template <class T> __device__ __forceinline__ void find_exponent(const Rounded<T>& all) {
  const u32 first = blockIdx.x * PIECE, end = first + smaller(u32(PIECE), all.n - first);
  u32 most = 0;
  for (u32 k = first + threadIdx.x; k < end; k += blockDim.x) {
    const double x = larger_part(all.x[k]);
    if (x != 0) most = larger(most, (u32)(EXPONENT_OFFSET + exponent_of(x) + exponent_of(all.scales[k])));
  }
  for (u32 by = 1; by < LANES; by *= 2) most = larger(most, shuffle(most, (threadIdx.x + by) % LANES));
  if (threadIdx.x % LANES == 0 && most > load_relaxed(all.exponent)) atomicMax(all.exponent, most);
}

// Two halves of the exponent of the power of two that brings the largest element of the scaled x into [1, 2).
struct PowerPair {
  double first, second;
};
__device__ __forceinline__ PowerPair powers_of(u32 exponent, int sign) {
  const int most = 2000, all = exponent > 0 ? EXPONENT_OFFSET - (int)exponent : 0;
  const int limited = sign * smaller(larger(all, -most), most);
  return {power_of_two<double>(limited / 2), power_of_two<double>(limited - limited / 2)};
}

// v = 2^e·R·x with the powers of two R of the rows, rounded once.
template <class T> __device__ __forceinline__ void round_scaled(const Rounded<T>& all) {
  const PowerPair by = powers_of(*all.exponent, 1);
  const u32 first = blockIdx.x * PIECE, end = first + smaller(u32(PIECE), all.n - first);
  for (u32 k = first + threadIdx.x; k < end; k += blockDim.x) {
    all.v[k] = to_single(scale(scale(scale(all.x[k], by.first), all.scales[k]), by.second));
  }
}

// x = 2^(−e)·v
template <class T> __device__ __forceinline__ void widen_scaled(const Rounded<T>& all) {
  const PowerPair by = powers_of(*all.exponent, -1);
  const u32 first = blockIdx.x * PIECE, end = first + smaller(u32(PIECE), all.n - first);
  for (u32 k = first + threadIdx.x; k < end; k += blockDim.x) {
    all.x[k] = scale(scale(to_double(all.v[k]), by.first), by.second);
  }
}
