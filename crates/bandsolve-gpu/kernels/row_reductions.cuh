// Reductions of the rows of a sparse matrix, as operations of generalised products: products with a vector, residuals, sums
// of moduli, and largest entries.
#pragma once
#include "product.cuh"
#include "residual.cuh"

// y = A·x
template <class T> struct Multiply {
  typedef T Entry;
  typedef T Term;
  typedef T Sum;
  const T* x;
  T* y;

  __device__ __forceinline__ Term term(u32 column, T value) const { return times_unfused(value, x[column]); }
  __device__ __forceinline__ Sum start(u32) const { return T{}; }
  __device__ __forceinline__ void add(Sum& sum, Term term) const { sum = ::add(sum, term); }
  __device__ __forceinline__ void join(Sum& sum, Sum later) const { sum = ::add(sum, later); }
  __device__ __forceinline__ void finish(u32 row, Sum sum) const { y[row] = sum; }
  __device__ __forceinline__ void end() const {}
};

// yᵢ = Σⱼ |aᵢⱼ|·|xⱼ|
template <class T> struct SumModuli {
  typedef typename Of<T>::Real Real;
  typedef T Entry;
  typedef Real Term;
  typedef Real Sum;
  const T* x;
  Real* y;

  __device__ __forceinline__ Term term(u32 column, T value) const { return absolute(value) * absolute(x[column]); }
  __device__ __forceinline__ Sum start(u32) const { return Real(0); }
  __device__ __forceinline__ void add(Sum& sum, Term term) const { sum = sum + term; }
  __device__ __forceinline__ void join(Sum& sum, Sum later) const { sum = sum + later; }
  __device__ __forceinline__ void finish(u32 row, Sum sum) const { y[row] = sum; }
  __device__ __forceinline__ void end() const {}
};

// −Σⱼ aᵢⱼ·xⱼ in twice the working precision, and Σⱼ |aᵢⱼ|.
template <class T> struct ResidualSum {
  Rest<T> rest;
  typename Of<T>::Real moduli;
};

template <class R> __device__ __forceinline__ Exact<R> shuffle(Exact<R> v, u32 lane) {
  return {shuffle(v.sum, lane), shuffle(v.rest, lane)};
}
template <class T> __device__ __forceinline__ ResidualSum<T> shuffle(const ResidualSum<T>& v, u32 lane) {
  ResidualSum<T> other = v;
  if constexpr (Of<T>::COMPLEX) {
    other.rest.re = shuffle(v.rest.re, lane);
    other.rest.im = shuffle(v.rest.im, lane);
  } else {
    other.rest.sum = shuffle(v.rest.sum, lane);
  }
  other.moduli = shuffle(v.moduli, lane);
  return other;
}

// r = b − A·x in twice the working precision. Raises `peak` to the largest |rᵢ| / (Σⱼ |aᵢⱼ|·‖x‖∞ + |bᵢ|), with ‖x‖∞ from
// `size`.
template <class T> struct SubtractProduct {
  typedef typename Of<T>::Real Real;
  typedef typename Bits<Real>::Word Word;
  typedef T Entry;
  struct Term {
    T value, x;
  };
  typedef ResidualSum<T> Sum;
  const T *x, *rhs;
  T* rest;
  const Word* size;
  Word* peak;
  // The largest error of the rows of this thread: 0 at the launch.
  Real error;

  __device__ __forceinline__ Term term(u32 column, T value) const { return {value, x[column]}; }
  __device__ __forceinline__ Sum start(u32) const { return {Rest<T>(T{}), Real(0)}; }
  __device__ __forceinline__ void add(Sum& sum, const Term& term) const {
    sum.rest.subtract(term.value, term.x);
    sum.moduli = sum.moduli + absolute(term.value);
  }
  __device__ __forceinline__ void join(Sum& sum, const Sum& later) const {
    sum.rest.join(later.rest);
    sum.moduli = sum.moduli + later.moduli;
  }
  __device__ __forceinline__ void finish(u32 row, const Sum& sum) {
    const T d = rhs[row];
    Rest<T> all = sum.rest;
    all.join(Rest<T>(d));
    const T r = all.value();
    rest[row] = r;
    // Scaled by a power of two, the row has a quotient that is reliable at the ends of the exponent range.
    const Real by = equilibrate(sum.moduli), modulus = absolute(r);
    const Real quotient = backward_error(scale(r, by), sum.moduli * by, of_bits(*size), scale(d, by));
    // A residual of zero has no error, and NaN counts as NaN.
    error = larger_bits(error, modulus > Real(0) ? quotient : modulus);
  }
  __device__ __forceinline__ void end() const { Peaks<T>::raise(peak, error); }
};

// Raise `peak` to the largest |xᵢ|.
template <class T> __device__ __forceinline__ void largest(u32 n, const T* x, typename Peaks<T>::Word* peak) {
  typename Of<T>::Real size = 0;
  const u32 first = blockIdx.x * TILE_ENTRIES, end = first + smaller(u32(TILE_ENTRIES), n - first);
  for (u32 i = first + threadIdx.x; i < end; i += blockDim.x) size = larger_bits(size, absolute(x[i]));
  Peaks<T>::raise(peak, size);
}

// A value and its column. The value is NaN if there is none yet.
template <class R> struct BestEntry {
  R value;
  u32 column;
};

template <class R> __device__ __forceinline__ R no_number() {
  typedef typename Bits<R>::Word Word;
  return of_bits((Word)(2 * Bits<R>::EXPONENT_MAX + 1) << (Bits<R>::MANTISSA - 1));
}
// Whether a value replaces the largest so far. NaN never does.
template <class R> __device__ __forceinline__ bool is_larger(R value, R best) { return value > best || best != best; }

// maxⱼ aᵢⱼ, or maxⱼ j·aᵢⱼ if WEIGHTED, without NaN. NaN for a row without a number.
template <class R, bool WEIGHTED> struct RowMaximum {
  typedef R Entry;
  typedef R Term;
  typedef R Sum;
  R* y;

  __device__ __forceinline__ Term term(u32 column, R value) const { return WEIGHTED ? R(column) * value : value; }
  __device__ __forceinline__ Sum start(u32) const { return no_number<R>(); }
  __device__ __forceinline__ void add(Sum& sum, Term term) const { sum = select(is_larger(term, sum), term, sum); }
  __device__ __forceinline__ void join(Sum& sum, Sum later) const { add(sum, later); }
  __device__ __forceinline__ void finish(u32 row, Sum sum) const { y[row] = sum; }
  __device__ __forceinline__ void end() const {}
};

#define NO_COLUMN 0xffffffffu

// The K largest entries of a row, the largest first. Of equal ones, the first in the row comes first.
template <class R, int K> struct BestEntries {
  BestEntry<R> v[K];
};
template <class R, int K> __device__ __forceinline__ BestEntries<R, K> shuffle(BestEntries<R, K> best, u32 lane) {
  UNROLL for (int k = 0; k < K; ++k) best.v[k] = {shuffle(best.v[k].value, lane), shuffle(best.v[k].column, lane)};
  return best;
}

// The columns of the K largest entries of each row. NO_COLUMN if there are fewer.
template <class R, int K> struct RowArgMaximum {
  typedef R Entry;
  typedef BestEntry<R> Term;
  typedef BestEntries<R, K> Sum;
  u32* y;

  __device__ __forceinline__ Term term(u32 column, R value) const { return {value, column}; }
  __device__ __forceinline__ Sum start(u32) const {
    Sum none;
    UNROLL for (int k = 0; k < K; ++k) none.v[k] = {no_number<R>(), NO_COLUMN};
    return none;
  }
  __device__ __forceinline__ void add(Sum& sum, Term term) const {
    bool displaces = false;
    UNROLL for (int k = 0; k < K; ++k) {
      // A displaced entry displaces the next one, which is later in the row if it is equal.
      displaces = displaces || is_larger(term.value, sum.v[k].value);
      const Term other = select(displaces, sum.v[k], term);
      sum.v[k] = select(displaces, term, sum.v[k]);
      term = other;
    }
  }
  __device__ __forceinline__ void join(Sum& sum, const Sum& later) const {
    UNROLL for (int k = 0; k < K; ++k) add(sum, later.v[k]);
  }
  __device__ __forceinline__ void finish(u32 row, const Sum& sum) const {
    UNROLL for (int k = 0; k < K; ++k) {
      const BestEntry<R> best = sum.v[k];
      y[(size_t)row * K + k] = best.value == best.value ? best.column : NO_COLUMN;
    }
  }
  __device__ __forceinline__ void end() const {}
};
