// Diagonal matrices that approximate a sparse matrix, and the factors of a product of forests (MOS-d), which are made with them.
//
// Source: Klein, dissertation, equations (39) to (43) and (57) to (62).
#pragma once
#include "graph.cuh"
#include "vectors.cuh"

// a/b, as the CPU computes it.
__device__ __forceinline__ float quotient(float a, float b) { return a / b; }
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }
template <class R> __device__ __forceinline__ Complex<R> quotient(Complex<R> a, Complex<R> b) {
  if (b.im == R(0)) return {a.re / b.re, a.im / b.re};
  const R by = equilibrate(larger(modulus(b.re), modulus(b.im)));
  const Complex<R> near = scale(b, by);
  const R square = near.re * near.re + near.im * near.im;
  return scale(times_unfused(a, scale(conjugate(near), R(1) / square)), by);
}

// The rules, numbered as in `diagonal.rs`. With dᵢ = aᵢᵢ, sᵢ = Σ |aᵢⱼ| over j ≠ i, and u(d) = d/|d| (1 if d = 0), element i is dᵢ,
// u(dᵢ)·max(|dᵢ|, sᵢ), u(dᵢ)·(|dᵢ| + sᵢ) or dᵢ + u(dᵢ)·sᵢ.
#define RULE_JACOBI 0
#define RULE_P1 1
#define RULE_P2 2
#define RULE_L1 3

// The diagonal t of a matrix by a rule: its inverse, 1/|t|, and jᵢ = 1 + (dᵢ − tᵢ)/(tᵢ·m) for m forests. Each can be absent.
template <class T> struct Diagonal {
  u32 rule, forests;
  T* inverse;
  double* moduli;
  T* shares;
  // Raised to ~i if element i is 0, NaN or infinite.
  u32* bad;
};

template <class T> __device__ __forceinline__ T by_rule(u32 rule, T d, double moduli) {
  typedef typename Of<T>::Real R;
  const double size = weight_of(d), others = moduli - size;
  const T unit = size > 0 ? scale(d, (R)(1 / size)) : one<T>();
  if (rule == RULE_P1) return size >= others ? d : scale(unit, (R)others);
  if (rule == RULE_P2) return scale(unit, (R)(size + others));
  if (rule != RULE_L1) return d;
  // For a positive d, omit u(d) and its rounding error.
  const bool positive = real_part(d) == size && imaginary_part(d) == 0;
  return add(d, scale(positive ? one<T>() : unit, (R)others));
}

// Eight threads read a row. The moduli are added in the order of the CPU: the first entry, and eight partial sums of the
// others, as far as they are groups of eight. The rest is added one by one.
#define ROW_THREADS 8

template <class T> __device__ __forceinline__ void diagonal(const SparseRows<T>& a, const Diagonal<T>& all) {
  const u32 row = blockIdx.x * (blockDim.x / ROW_THREADS) + threadIdx.x / ROW_THREADS, own = threadIdx.x % ROW_THREADS;
  const u32 lane = threadIdx.x % LANES, first_lane = lane - own;
  const u32 from = row < a.rows ? a.pointers[row] : 0, to = row < a.rows ? a.pointers[row + 1] : 0;
  const u32 last = to > from ? from + 1 + (to - from - 1) / ROW_THREADS * ROW_THREADS : to;
  T of_thread = T();
  double partial = 0, rest = 0;
  const double first = to > from ? weight_of(a.values[from]) : 0;
  if (own == 0 && to > from && a.columns[from] == row) of_thread = a.values[from];
  for (u32 e = from + 1 + own; e < to; e += ROW_THREADS) {
    const T value = a.values[e];
    if (a.columns[e] == row) of_thread = add(of_thread, value);
    if (e < last) {
      partial += weight_of(value);
    } else {
      rest = weight_of(value);
    }
  }
  for (u32 by = 1; by < ROW_THREADS; by *= 2) partial += shuffle(partial, lane ^ by);
  T d = T();
  for (u32 k = 0; k < ROW_THREADS; ++k) {
    partial += shuffle(rest, first_lane + k);
    d = add(d, shuffle(of_thread, first_lane + k));
  }
  if (row >= a.rows || own > 0) return;
  const T t = by_rule(all.rule, d, first + partial);
  const double size = weight_of(t);
  if (!(size > 0 && size < infinity<double>())) atomicMax(all.bad, ~row);
  if (all.inverse) all.inverse[row] = quotient(one<T>(), t);
  if (all.moduli) all.moduli[row] = 1 / size;
  if (all.shares) {
    const T m = scale(one<T>(), (typename Of<T>::Real)all.forests);
    all.shares[row] = add(one<T>(), quotient(quotient(add(d, negate(t)), t), m));
  }
}

// The factor Mₗ of a product of m forests, in the order of forest l = 1, …, m: j on the diagonal, and tᵢ⁻¹·jᵢ⁻⁽ᵐ⁻ˡ⁾·aᵢₖ·jₖ⁻⁽ˡ⁻¹⁾
// along the forest, where the entries a are before.
template <class T> struct ProductFactor {
  // m − l and l − 1.
  u32 n, later, earlier;
  const u32* order;
  const T *inverse, *shares;
  T* bands[3];
};

template <class T> __device__ __forceinline__ T inverse_power(T x, u32 exponent) {
  T power = one<T>();
  for (u32 k = 0; k < exponent; ++k) power = times_unfused(power, x);
  return quotient(one<T>(), power);
}

template <class T> __device__ __forceinline__ void product_factor(const ProductFactor<T>& all) {
  const u32 place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= all.n) return;
  const u32 row = all.order[place];
  const T left = inverse_power(all.shares[row], all.later), inverse = all.inverse[row];
  for (u32 k = 0; k < 3; k += 2) {
    // Beyond the ends, the band is zero.
    const u32 other = smaller(place + k - 1, all.n);
    if (other == all.n) continue;
    const T right = inverse_power(all.shares[all.order[other]], all.earlier);
    const T scaled = times_unfused(times_unfused(left, all.bands[k][place]), right);
    all.bands[k][place] = add(T(), times_unfused(inverse, scaled));
  }
  all.bands[1][place] = all.shares[row];
}
