// Cyclic reduction in shared memory, followed by parallel cyclic reduction as soon as there is one thread for every
// remaining row.
//
// It solves systems of a batch, and the inner systems of SPIKE partitions. Rows are not exchanged.
//
// Source: Chang, thesis, 2.1.3 and 3.3.3.
#pragma once
#include "rpts.cuh"

// The rows of a system in shared memory, with R right-hand sides. The solutions replace the right-hand sides.
template <class T, int R> struct Lines {
  T* first;
  u32 size;

  __device__ __forceinline__ T& a(u32 i) const { return first[i]; }
  __device__ __forceinline__ T& b(u32 i) const { return first[size + i]; }
  __device__ __forceinline__ T& c(u32 i) const { return first[2 * size + i]; }
  __device__ __forceinline__ T& d(int r, u32 i) const { return first[(3 + r) * size + i]; }
};

template <class T, int R> struct Line {
  T a, b, c, d[R];

  __device__ __forceinline__ Line(const Lines<T, R>& lines, u32 i) : a(lines.a(i)), b(lines.b(i)), c(lines.c(i)) {
    UNROLL for (int r = 0; r < R; ++r) d[r] = lines.d(r, i);
  }
  __device__ __forceinline__ void put(const Lines<T, R>& lines, u32 i) const {
    lines.a(i) = a;
    lines.b(i) = b;
    lines.c(i) = c;
    UNROLL for (int r = 0; r < R; ++r) lines.d(r, i) = d[r];
  }
  // Eliminate the previous neighbor i and the next neighbor j, if they exist: row ← row − (a/b_i)·row_i − (c/b_j)·row_j.
  __device__ __forceinline__ void reduce(const Lines<T, R>& lines, bool before, u32 i, bool after, u32 j) {
    if (before) {
      const T f = negate(times(a, reciprocal(lines.b(i))));
      b = fma_add(f, lines.c(i), b);
      UNROLL for (int r = 0; r < R; ++r) d[r] = fma_add(f, lines.d(r, i), d[r]);
      a = times(f, lines.a(i));
    }
    if (after) {
      const T f = negate(times(c, reciprocal(lines.b(j))));
      b = fma_add(f, lines.a(j), b);
      UNROLL for (int r = 0; r < R; ++r) d[r] = fma_add(f, lines.d(r, j), d[r]);
      c = times(f, lines.c(j));
    }
  }
};

// Solve with all threads of a block. Returns the smallest rank of the pivots in the rows of this thread.
template <class T, int R> __device__ __forceinline__ u32 solve_lines(const Lines<T, R>& lines, u32 n) {
  u32 least = ~0u;
  // The remaining rows have the distance `stride`. The first of them is row stride − 1.
  u32 stride = 1;
  while (n / stride > blockDim.x) {
    const u32 half = stride;
    stride *= 2;
    for (u32 k = threadIdx.x; k < n / stride; k += blockDim.x) {
      const u32 i = (k + 1) * stride - 1;
      Line<T, R> line(lines, i);
      line.reduce(lines, true, i - half, i + half < n, i + half);
      line.put(lines, i);
      least = smaller(least, rank(line.b));
    }
    __syncthreads();
  }
  const u32 left = n / stride, k = threadIdx.x, i = (k + 1) * stride - 1;
  for (u32 by = 1; by < left; by *= 2) {
    Line<T, R> line(lines, k < left ? i : 0);
    if (k < left) line.reduce(lines, k >= by, i - by * stride, k + by < left, i + by * stride);
    __syncthreads();
    if (k < left) {
      line.put(lines, i);
      least = smaller(least, rank(line.b));
    }
    __syncthreads();
  }
  if (k < left) {
    const T r = reciprocal(lines.b(i));
    UNROLL for (int c = 0; c < R; ++c) lines.d(c, i) = times(lines.d(c, i), r);
  }
  __syncthreads();
  // x_j = (d_j − a_j·x_{j−half} − c_j·x_{j+half}) / b_j
  for (u32 half = stride / 2; half > 0; half /= 2) {
    for (u32 j = half - 1 + threadIdx.x * 2 * half; j < n; j += blockDim.x * 2 * half) {
      const bool before = j >= half, after = j + half < n;
      const T r = reciprocal(lines.b(j));
      UNROLL for (int c = 0; c < R; ++c) {
        T sum = lines.d(c, j);
        if (before) sum = fma_add(negate(lines.a(j)), lines.d(c, j - half), sum);
        if (after) sum = fma_add(negate(lines.c(j)), lines.d(c, j + half), sum);
        lines.d(c, j) = times(sum, r);
      }
    }
    __syncthreads();
  }
  return least;
}

// Report a system if a pivot vanished. If rows are not scaled, only zero pivots count as vanishing.
template <class T> __device__ __forceinline__ void judge(u32 least, const Rule& rule, u32 system) {
  if (least <= (rule.scale_rows ? NOTHING<typename Of<T>::Real> : 0)) suspect(rule.suspects, system);
}

// A scaled row of a system.
template <class T> struct RowOf {
  T r[3], d;

  __device__ __forceinline__ RowOf(const Cut& cut, const Blocks<T, 1>& source, const T* rhs, u32 i, bool scale_rows) {
    source.row(cut, i, 0, r);
    const typename Of<T>::Real by = row_scale(r, scale_rows);
    UNROLL for (int s = 0; s < 3; ++s) r[s] = scale(r[s], by);
    d = scale(rhs[i], by);
  }
};

// Write x of the rows first … first + count − 1, and raise the peaks. The arguments include the neighboring unknowns
// and a lower bound of ‖x‖∞.
template <class T, class X>
__device__ __forceinline__ void put_rows(const Cut& cut, const Blocks<T, 1>& source, const T* rhs, T* out, u32 first, u32 count,
                                         const X& x, typename Of<T>::Real x_max, const Peaks<T>& peaks, u32 column,
                                         bool scale_rows) {
  typedef typename Of<T>::Real R;
  R gap = R(0), largest = R(0), most = R(0);
  for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
    const T value = x((int)k);
    if (peaks.gap) {
      const RowOf<T> row(cut, source, rhs, first + k, scale_rows);
      gap = larger_bits(gap, gap_of(row.r, row.d, x((int)k - 1), value, x((int)k + 1), x_max));
      largest = larger_bits(largest, absolute(value));
      most = larger_bits(most, absolute(row.d));
    }
    out[first + k] = value;
  }
  if (!peaks.gap) return;
  peaks.raise(peaks.gap + column, gap);
  peaks.raise(peaks.size + column, largest);
  peaks.raise(peaks.rhs + column, most);
}

// Solve the systems of a contiguous batch, with one thread block per system.
template <class T>
__device__ __forceinline__ void cyclic(const Cut& cut, const Blocks<T, 1>& source, const Columns<const T>& rhs,
                                       const Columns<T>& out, const Peaks<T>& peaks, const Rule& rule) {
  typedef typename Of<T>::Real R;
  SHARED_BYTES(memory);
  const Lines<T, 1> lines{reinterpret_cast<T*>(memory), cut.n};
  const u32 system = blockIdx.x % cut.systems, column = blockIdx.x / cut.systems;
  const Blocks<T, 1> own = source.of(cut, system);
  const T* const given = rhs.of(cut, system, column).first;
  u32 least = ~0u;
  for (u32 i = threadIdx.x; i < cut.n; i += blockDim.x) {
    const RowOf<T> row(cut, own, given, i, rule.scale_rows);
    least = smaller(least, rank(row.r[1]));
    lines.a(i) = row.r[0];
    lines.b(i) = row.r[1];
    lines.c(i) = row.r[2];
    lines.d(0, i) = row.d;
  }
  __syncthreads();
  judge<T>(smaller(least, solve_lines(lines, cut.n)), rule, system);
  // The largest |x|: of each thread's rows, then of each warp, then of all.
  R* const of_warps = reinterpret_cast<R*>(lines.first + 4 * cut.n);
  R x_max = R(0);
  for (u32 i = threadIdx.x; i < cut.n; i += blockDim.x) x_max = larger_bits(x_max, absolute(lines.d(0, i)));
  x_max = warp_peak(x_max);
  if (threadIdx.x % LANES == 0) of_warps[threadIdx.x / LANES] = x_max;
  __syncthreads();
  for (u32 w = 0; w < blockDim.x / LANES; ++w) x_max = larger_bits(x_max, of_warps[w]);
  const auto x = [&](int i) { return i < 0 || i >= (int)cut.n ? T{} : lines.d(0, (u32)i); };
  put_rows(cut, own, given, out.of(cut, system, column).first, 0, cut.n, x, x_max, peaks, system * cut.columns + column,
           rule.scale_rows);
}

// Load the inner rows of a partition without their couplings to its ends. Returns the smallest rank of this thread's
// pivots.
template <class T, int R>
__device__ __forceinline__ u32 stage_inside(const Lines<T, R>& lines, const Cut& cut, const Blocks<T, 1>& source, const T* rhs,
                                            u32 first, u32 rows, bool scale_rows) {
  u32 least = ~0u;
  for (u32 k = threadIdx.x; k + 2 < rows; k += blockDim.x) {
    const RowOf<T> row(cut, source, rhs, first + k + 1, scale_rows);
    least = smaller(least, rank(row.r[1]));
    const bool top = k == 0, bottom = k + 3 == rows;
    lines.a(k) = top ? T{} : row.r[0];
    lines.b(k) = row.r[1];
    lines.c(k) = bottom ? T{} : row.r[2];
    lines.d(0, k) = row.d;
    if (R == 3) {
      lines.d(R - 2, k) = top ? row.r[0] : T{};
      lines.d(R - 1, k) = bottom ? row.r[2] : T{};
    }
  }
  __syncthreads();
  return least;
}

// SPIKE with one thread block per partition.
//
// The inner unknowns are x = y − w·x_first − v·x_last. Inserted into the rows at the ends, they give two equations per
// partition.
template <class T>
__device__ __forceinline__ void spike_reduce(const Cut& cut, const Blocks<T, 1>& source, const Columns<const T>& rhs,
                                             const Coarse<T>& coarse, const Rule& rule) {
  SHARED_BYTES(memory);
  const Lines<T, 3> lines{reinterpret_cast<T*>(memory), cut.m};
  const u32 p = blockIdx.x % cut.partitions, column = blockIdx.x / cut.partitions, first = p * cut.m, rows = rows_of(cut, p);
  const T* const given = rhs.of(cut, 0, column).first;
  u32 least = stage_inside(lines, cut, source, given, first, rows, rule.scale_rows);
  if (rows > 2) least = smaller(least, solve_lines(lines, rows - 2));
  judge<T>(least, rule, 0);
  if (threadIdx.x >= 2) return;
  const bool last = threadIdx.x == 1;
  const RowOf<T> row(cut, source, given, last ? first + rows - 1 : first, rule.scale_rows);
  T a = row.r[0], b = row.r[1], c = row.r[2], d = row.d;
  if (rows > 2) {
    const u32 at = last ? rows - 3 : 0;
    const T f = negate(last ? a : c), y = lines.d(0, at), w = lines.d(1, at), v = lines.d(2, at);
    d = fma_add(f, y, d);
    b = fma_add(f, last ? v : w, b);
    (last ? a : c) = times(f, last ? w : v);
  }
  judge<T>(larger(rank(a), larger(rank(b), rank(c))), rule, 0);
  const u32 at = 2 * p + last;
  if (column == 0) {
    coarse.a[at] = a;
    coarse.b[at] = b;
    coarse.c[at] = c;
  }
  coarse.d.first[column * coarse.d.step + at] = d;
}

template <class T>
__device__ __forceinline__ void spike_substitute(const Cut& cut, const Blocks<T, 1>& source, const Columns<const T>& rhs,
                                                 const Columns<const T>& y, const Columns<T>& out, const Peaks<T>& coarse_peaks,
                                                 const Peaks<T>& peaks, const Rule& rule) {
  typedef typename Of<T>::Real R;
  SHARED_BYTES(memory);
  const Lines<T, 1> lines{reinterpret_cast<T*>(memory), cut.m};
  const u32 p = blockIdx.x % cut.partitions, column = blockIdx.x / cut.partitions, first = p * cut.m, rows = rows_of(cut, p);
  const T* const given = rhs.of(cut, 0, column).first;
  const T* const coarse = y.first + column * y.step;
  const u32 count = 2 * cut.partitions;
  const bool before = p > 0 || cut.periodic, after = p + 1 < cut.partitions || cut.periodic;
  const T ends[4] = {before ? coarse[(2 * p + count - 1) % count] : T{}, coarse[2 * p], coarse[2 * p + 1],
                     after ? coarse[(2 * p + 2) % count] : T{}};
  stage_inside(lines, cut, source, given, first, rows, rule.scale_rows);
  if (rows > 2) {
    // The two ends, which are the same row if there is only one inner unknown.
    if (threadIdx.x < (rows == 3 ? 1 : 2)) {
      const bool last = threadIdx.x == 1;
      const RowOf<T> row(cut, source, given, last ? first + rows - 2 : first + 1, rule.scale_rows);
      T sum = row.d;
      if (!last || rows == 3) sum = fma_add(negate(row.r[0]), ends[1], sum);
      if (last || rows == 3) sum = fma_add(negate(row.r[2]), ends[2], sum);
      lines.d(0, last ? rows - 3 : 0) = sum;
    }
    __syncthreads();
    solve_lines(lines, rows - 2);
  }
  const auto x = [&](int i) {
    if (i < 0) return ends[0];
    if (i == 0) return ends[1];
    if (i + 1 == (int)rows) return ends[2];
    return i >= (int)rows ? ends[3] : lines.d(0, (u32)i - 1);
  };
  const R x_max = peaks.gap ? of_bits(coarse_peaks.size[column]) : R(0);
  put_rows(cut, source, given, out.of(cut, 0, column).first, first, rows, x, x_max, peaks, column, rule.scale_rows);
}
