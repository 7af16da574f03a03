// Sine, cosine and Fourier transforms of real lines in shared memory, for Poisson problems on a box.
//
// A transform has three steps: sums of two values before (LineSums), the complex transform Zₗ = Σⱼ cⱼ exp(2πijl/N), and sums of
// two values after. The host computes the factors of these sums for each kind of boundary (`poisson/lines.rs`). A complex line
// holds two real lines, since a real matrix acts on real and imaginary parts separately. For sines and cosines at nodes, it
// holds the even and odd places of one real line, which is extended to twice its length.
//
// Lines with variable spacing or Robin sides are multiplied by the matrix of their eigenvectors instead.
//
// Complex transforms use the Stockham algorithm with mixed radix: each pass reads one half of the shared memory and writes the
// other half, in order.
#pragma once
#include "box.cuh"

// Maximum number of factors of N.
#define MOST_FACTORS 16
// Number of terms of a partial sum, for factors without a transform in registers.
#define DIRECT_TERMS 16
// Number of coefficients of a line that a thread computes at a time, in products with a matrix.
#define PRODUCT_ROWS 8
// Maximum number of threads of a thread block (`axis.rs`).
#define TRANSFORM_THREADS 512

// Thread blocks that a multiprocessor runs at the same time. A thread then has at most 64 registers in double precision and 40 in
// single precision. With fewer, it would spill. (For AMD GPUs, the number counts the waves of a SIMD unit.)
template <class R> __host__ __device__ constexpr int transform_blocks() { return sizeof(R) == 8 ? 2 : 3; }

// outⱼ = first·x_p + second·x_q, where x and the factors are complex or, for lines that are extended, parts of complex numbers.
template <class R> struct LineSums {
  const R* factors;
  const u32* places;
};

template <class R> struct LineTransform {
  // Unknowns of a line, N, and the number of its factors.
  u32 n, points, steps;
  // Whether a complex line holds one real line. Otherwise, it holds two.
  u32 extended;
  u32 radix[MOST_FACTORS];
  // exp(2πij/N) for j < N
  const R* roots;
  // The sums before and after, of the transform and of its inverse.
  LineSums<R> pairs[4];
  // Instead of these steps: the matrices of the transform and of its inverse, by rows. Otherwise null.
  const R* matrices[2];
};

// The coefficients of u are those of f divided by the eigenvalues.
struct Symbols {
  // Eigenvalues of this axis and of both other axes. Line l has the places l / count and l % count along these.
  const double *along, *first, *second;
  u32 count;
  double shift;
  // For singular problems: the constant that is removed from f. Otherwise null.
  double* removed;
  // The coefficient of f = 1, and that of the mean of u. Whether to add to the constant.
  double of_ones, mean;
  u32 add;
};

// A launch: the transform of all lines along an axis, its inverse, or both with a division between them.
enum PassKind : u32 { FORWARD = 1, INVERSE = 2, SOLVE = 3 };

template <class R> struct TransformPass {
  LineTransform<R> axis;
  BoxRhs<R> from;
  R* to;
  // Whether to add the result to `to`.
  u32 add;
  // Number of lines, distance between the unknowns of a line, log2 of the lines of a thread block, and the kind.
  u32 lines, stride, tile, kind;
  Symbols symbols;
};

template <class R> __device__ __forceinline__ Complex<R> turned(Complex<R> a) { return {-a.im, a.re}; }
template <class R> __device__ __forceinline__ Complex<R> subtract(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }

// The transforms of short lines in registers. `roots[k * step]` is exp(2πik/RADIX). `write(k, value)` receives each coefficient
// when it is computed. So the registers never hold all values and all coefficients.
template <u32 RADIX> struct Radix {
  // RADIX is odd: sums and differences of the values j and RADIX − j.
  template <class R, class Write>
  static __device__ __forceinline__ void run(Complex<R> (&a)[RADIX], const Complex<R>* roots, u32 step, const Write& write) {
    constexpr u32 HALF = RADIX / 2;
    Complex<R> sum[HALF], difference[HALF];
    const Complex<R> start = a[0];
    UNROLL for (u32 j = 0; j < HALF; ++j) {
      sum[j] = add(a[j + 1], a[RADIX - 1 - j]);
      difference[j] = turned(subtract(a[j + 1], a[RADIX - 1 - j]));
      a[0] = add(a[0], sum[j]);
    }
    write(0, a[0]);
    ROLL for (u32 k = 1; k <= HALF; ++k) {
      Complex<R> even = start, odd = {};
      UNROLL for (u32 j = 0; j < HALF; ++j) {
        const Complex<R> root = roots[(j + 1) * k % RADIX * step];
        even = {fma_add(root.re, sum[j].re, even.re), fma_add(root.re, sum[j].im, even.im)};
        odd = {fma_add(root.im, difference[j].re, odd.re), fma_add(root.im, difference[j].im, odd.im)};
      }
      write(k, add(even, odd));
      write(RADIX - k, subtract(even, odd));
    }
  }
};

template <class R>
__device__ __forceinline__ void four(Complex<R>& a, Complex<R>& b, Complex<R>& c, Complex<R>& d) {
  const Complex<R> t = add(a, c), u = subtract(a, c), v = add(b, d), w = turned(subtract(b, d));
  a = add(t, v);
  b = add(u, w);
  c = subtract(t, v);
  d = subtract(u, w);
}

template <> struct Radix<2> {
  template <class R, class Write>
  static __device__ __forceinline__ void run(Complex<R> (&a)[2], const Complex<R>*, u32, const Write& write) {
    write(0, add(a[0], a[1]));
    write(1, subtract(a[0], a[1]));
  }
};

template <> struct Radix<4> {
  template <class R, class Write>
  static __device__ __forceinline__ void run(Complex<R> (&a)[4], const Complex<R>*, u32, const Write& write) {
    four(a[0], a[1], a[2], a[3]);
    UNROLL for (u32 k = 0; k < 4; ++k) write(k, a[k]);
  }
};

template <> struct Radix<8> {
  template <class R, class Write>
  static __device__ __forceinline__ void run(Complex<R> (&a)[8], const Complex<R>* roots, u32 step, const Write& write) {
    four(a[0], a[2], a[4], a[6]);
    four(a[1], a[3], a[5], a[7]);
    // √½
    const R half = roots[step].re;
    const Complex<R> odd[4] = {a[1], scale(add(a[3], turned(a[3])), half), turned(a[5]), scale(subtract(turned(a[7]), a[7]), half)};
    const Complex<R> even[4] = {a[0], a[2], a[4], a[6]};
    UNROLL for (u32 k = 0; k < 4; ++k) {
      write(k, add(even[k], odd[k]));
      write(k + 4, subtract(even[k], odd[k]));
    }
  }
};

// The shared memory of a thread block: two halves, which are read and written in turn.
template <class R> struct Halves {
  Complex<R> *from, *to;
  __device__ __forceinline__ void turn() {
    __syncthreads();
    Complex<R>* const other = from;
    from = to;
    to = other;
  }
};

// The lines of a thread block. Element j of all lines is consecutive in shared memory.
template <class R> struct TransformTile {
  const LineTransform<R>& axis;
  const Complex<R>* roots;
  // log2 of the number of complex lines and of real lines.
  u32 complex_lines, lines;

  // A pass for the factor RADIX: transforms of RADIX values with the distance N/RADIX, and products with roots of unity.
  // `before` is the product of the factors of the passes before.
  template <u32 RADIX> __device__ __forceinline__ void step(Halves<R> half, u32 before) const {
    const u32 apart = axis.points / RADIX;
    for (u32 work = threadIdx.x; work < apart << complex_lines; work += blockDim.x) {
      const u32 line = work & ((1u << complex_lines) - 1), i = work >> complex_lines, p = i / before;
      Complex<R> a[RADIX];
      UNROLL for (u32 k = 0; k < RADIX; ++k) a[k] = half.from[((i + k * apart) << complex_lines) + line];
      const u32 first = i + (RADIX - 1) * before * p;
      Radix<RADIX>::run(a, roots, apart, [&](u32 k, Complex<R> value) {
        if (p > 0 && k > 0) value = times(roots[p * k * before], value);
        half.to[((first + k * before) << complex_lines) + line] = value;
      });
    }
  }

  // The same for any factor, by direct sums.
  __device__ __forceinline__ void any_step(Halves<R> half, u32 before, u32 radix) const {
    const u32 apart = axis.points / radix;
    for (u32 work = threadIdx.x; work < axis.points << complex_lines; work += blockDim.x) {
      const u32 line = work & ((1u << complex_lines) - 1), out = work >> complex_lines;
      const u32 q = out % before, k = out / before % radix, p = out / before / radix, i = q + before * p;
      // Sums of a few terms are added, so that rounding errors grow slowly with the factor.
      Complex<R> sum = half.from[(i << complex_lines) + line];
      u32 turn = 0;
      for (u32 first = 1; first < radix; first += DIRECT_TERMS) {
        Complex<R> part = {};
        for (u32 j = first; j < smaller(radix, first + DIRECT_TERMS); ++j) {
          turn += k;
          if (turn >= radix) turn -= radix;
          part = fma_add(roots[turn * apart], half.from[((i + j * apart) << complex_lines) + line], part);
        }
        sum = add(sum, part);
      }
      half.to[(out << complex_lines) + line] = p == 0 || k == 0 ? sum : times(roots[p * k * before], sum);
    }
  }

  // The complex transform.
  __device__ __forceinline__ void fourier(Halves<R>& half) const {
    u32 before = 1;
    for (u32 s = 0; s < axis.steps; ++s) {
      const u32 radix = axis.radix[s];
      switch (radix) {
        case 2: step<2>(half, before); break;
        case 3: step<3>(half, before); break;
        case 4: step<4>(half, before); break;
        case 5: step<5>(half, before); break;
        case 7: step<7>(half, before); break;
        case 8: step<8>(half, before); break;
        default: any_step(half, before, radix);
      }
      before *= radix;
      half.turn();
    }
  }

  // outⱼ = first·x_p + second·x_q for complex x.
  __device__ __forceinline__ void sums(Halves<R>& half, LineSums<R> pairs) const {
    for (u32 work = threadIdx.x; work < axis.n << complex_lines; work += blockDim.x) {
      const u32 line = work & ((1u << complex_lines) - 1), j = work >> complex_lines;
      const Complex<R>* const factor = reinterpret_cast<const Complex<R>*>(pairs.factors) + 2 * j;
      const u32 *const place = pairs.places + 2 * j;
      const Complex<R> x = half.from[(place[0] << complex_lines) + line], y = half.from[(place[1] << complex_lines) + line];
      half.to[work] = fma_add(factor[0], x, times(factor[1], y));
    }
    half.turn();
  }

  // Both parts of a complex number from two places of a real line.
  __device__ __forceinline__ void extend(Halves<R>& half, LineSums<R> pairs) const {
    const R* const from = reinterpret_cast<const R*>(half.from);
    for (u32 work = threadIdx.x; work < axis.points << lines; work += blockDim.x) {
      const u32 line = work & ((1u << lines) - 1), j = work >> lines;
      const R* const factor = pairs.factors + 4 * j;
      const u32 *const place = pairs.places + 2 * j;
      half.to[work] = {factor[0] * from[(place[0] << lines) + line], factor[1] * from[(place[1] << lines) + line]};
    }
    half.turn();
  }

  // A real number from the parts of two complex numbers.
  __device__ __forceinline__ void collect(Halves<R>& half, LineSums<R> pairs) const {
    R* const to = reinterpret_cast<R*>(half.to);
    for (u32 work = threadIdx.x; work < axis.n << lines; work += blockDim.x) {
      const u32 line = work & ((1u << lines) - 1), j = work >> lines;
      const R* const factor = pairs.factors + 4 * j;
      const u32 *const place = pairs.places + 2 * j;
      const Complex<R> x = half.from[(place[0] << lines) + line], y = half.from[(place[1] << lines) + line];
      to[work] = fma_add(factor[0], x.re, fma_add(factor[1], x.im, fma_add(factor[2], y.re, factor[3] * y.im)));
    }
    half.turn();
  }

  // outⱼ = Σₖ matrixⱼₖ·xₖ for real lines. A thread reads xₖ once for several j.
  __device__ __forceinline__ void product(Halves<R>& half, const R* matrix) const {
    const R* const from = reinterpret_cast<const R*>(half.from);
    R* const to = reinterpret_cast<R*>(half.to);
    const u32 n = axis.n;
    for (u32 work = threadIdx.x; work < (n + PRODUCT_ROWS - 1) / PRODUCT_ROWS << lines; work += blockDim.x) {
      const u32 line = work & ((1u << lines) - 1), first = (work >> lines) * PRODUCT_ROWS;
      R sum[PRODUCT_ROWS] = {};
      for (u32 k = 0; k < n; ++k) {
        const R x = from[(k << lines) + line];
        // Rows after the last one are the last one.
        UNROLL for (u32 r = 0; r < PRODUCT_ROWS; ++r) sum[r] = fma_add(matrix[smaller(first + r, n - 1) * n + k], x, sum[r]);
      }
      UNROLL for (u32 r = 0; r < PRODUCT_ROWS; ++r) {
        if (first + r < n) to[(first + r << lines) + line] = sum[r];
      }
    }
    half.turn();
  }

  // The coefficients of values, or the values of coefficients.
  __device__ __forceinline__ void run(Halves<R>& half, bool inverse) const {
    if (axis.matrices[0]) return product(half, axis.matrices[inverse]);
    const LineSums<R>* const pairs = axis.pairs + (inverse ? 2 : 0);
    if (axis.extended) {
      extend(half, pairs[0]);
    } else {
      sums(half, pairs[0]);
    }
    fourier(half);
    if (axis.extended) {
      collect(half, pairs[1]);
    } else {
      sums(half, pairs[1]);
    }
  }
};

// Call act(index in shared memory, index in the box) for all elements of the lines of a thread block. The second index is that of
// no element if the line does not exist.
template <class R, class Act> __device__ __forceinline__ void each_element(const TransformPass<R>& pass, Act act) {
  const u32 first = blockIdx.x << pass.tile, n = pass.axis.n;
  if (pass.stride == 1) {
    // Neighboring threads have neighboring elements of a line.
    for (u32 line = 0; line < 1u << pass.tile; ++line) {
      const bool exists = first + line < pass.lines;
      for (u32 j = threadIdx.x; j < n; j += blockDim.x) act((j << pass.tile) + line, exists ? (first + line) * n + j : NO_ELEMENT);
    }
    return;
  }
  // Neighboring threads have neighboring lines.
  const u32 line = threadIdx.x & ((1u << pass.tile) - 1), number = first + line;
  const u32 start = number / pass.stride * n * pass.stride + number % pass.stride;
  for (u32 j = threadIdx.x >> pass.tile; j < n; j += blockDim.x >> pass.tile) {
    act((j << pass.tile) + line, number < pass.lines ? start + j * pass.stride : NO_ELEMENT);
  }
}

// Divide coefficients by the eigenvalues.
template <class R> __device__ __forceinline__ void divide(const TransformPass<R>& pass, Complex<R>* coefficients) {
  const Symbols& s = pass.symbols;
  R* const x = reinterpret_cast<R*>(coefficients);
  for (u32 work = threadIdx.x; work < pass.axis.n << pass.tile; work += blockDim.x) {
    const u32 j = work >> pass.tile, line = (blockIdx.x << pass.tile) + (work & ((1u << pass.tile) - 1));
    if (line >= pass.lines) continue;
    const double value = (double)x[work];
    if (s.removed && j == 0 && line == 0) {
      // The constant: f has no part of it after the subtraction, and u has the part that gives its mean.
      *s.removed = (s.add ? *s.removed : 0) + value / s.of_ones;
      x[work] = (R)s.mean;
    } else {
      x[work] = (R)(value / (s.along[j] + (s.first[line / s.count] + s.second[line % s.count]) + s.shift));
    }
  }
  __syncthreads();
}

// Transform all lines along an axis. `from` may be `to`, since a thread block reads all its lines before it writes.
template <class R> __device__ __forceinline__ void transform(const TransformPass<R>& pass) {
  SHARED_BYTES(memory);
  const u32 complex_lines = pass.axis.extended ? pass.tile : pass.tile - 1;
  Complex<R>* const start = reinterpret_cast<Complex<R>*>(memory);
  Halves<R> half = {start, start + ((size_t)pass.axis.points << complex_lines)};
  const TransformTile<R> tile = {pass.axis, reinterpret_cast<const Complex<R>*>(pass.axis.roots), complex_lines, pass.tile};
  R* const loaded = reinterpret_cast<R*>(half.from);
  each_element(pass, [&](u32 to, u32 index) { loaded[to] = index == NO_ELEMENT ? R(0) : pass.from.at(index); });
  __syncthreads();
  ROLL for (u32 inverse = 0; inverse < 2; ++inverse) {
    if (inverse == 1 && pass.kind == SOLVE) divide(pass, half.from);
    if (pass.kind >> inverse & 1) tile.run(half, inverse);
  }
  const R* const result = reinterpret_cast<const R*>(half.from);
  each_element(pass, [&](u32 from, u32 index) {
    if (index != NO_ELEMENT) pass.to[index] = pass.add ? pass.to[index] + result[from] : result[from];
  });
}
