// Block tridiagonal matrices with dense blocks of any size: scaling, copies of blocks, and residuals. The products and the
// factorizations of blocks are those of a library.
#pragma once
#include "residual.cuh"

// op(A) of a block tridiagonal matrix: arrays of n blocks of `block` rows in column-major order.
template <class T> struct DenseBlocks {
  Blocks<T, 1> given;
  u32 block, n, periodic;

  // Call `visit` with the column and the value of each entry of row r of block row i.
  template <class Visit> __device__ __forceinline__ void row(u32 i, u32 r, const Visit& visit) const {
    const bool t = given.op != PLAIN;
    const size_t size = (size_t)block * block;
    const u32 columns[3] = {i == 0 ? n - 1 : i - 1, i, i + 1 == n ? 0 : i + 1};
    const T* blocks[3] = {(t ? given.c : given.a) + (t ? columns[0] : i) * size, given.b + i * size,
                          (t ? given.a : given.c) + (t ? columns[2] : i) * size};
    for (int k = 0; k < 3; ++k) {
      if (!periodic && ((k == 0 && i == 0) || (k == 2 && i + 1 == n))) continue;
      for (u32 s = 0; s < block; ++s) {
        const T e = blocks[k][t ? (size_t)r * block + s : (size_t)s * block + r];
        visit(columns[k] * block + s, given.op == CONJ_TRANSPOSE ? conjugate(e) : e);
      }
    }
  }
};

// The larger part of a number.
__device__ __forceinline__ float peak_of(float a) { return absolute(a); }
__device__ __forceinline__ double peak_of(double a) { return absolute(a); }
template <class R> __device__ __forceinline__ R peak_of(Complex<R> a) { return larger(absolute(a.re), absolute(a.im)); }

// The number of a thread of the grid.
__device__ __forceinline__ size_t thread_of_grid() { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }

// The power of two that scales each row of op(A), and the sum of the moduli of the scaled row. One thread per row.
template <class T>
__device__ __forceinline__ void row_sizes(const DenseBlocks<T>& a, typename Of<T>::Real* by, typename Of<T>::Real* sums) {
  typedef typename Of<T>::Real Real;
  const size_t row = thread_of_grid();
  if (row >= (size_t)a.n * a.block) return;
  const u32 i = row / a.block, r = row % a.block;
  Real most = Real(0), sum = Real(0);
  a.row(i, r, [&](u32, T e) { most = larger(most, peak_of(e)); });
  const Real scaled = equilibrate(most);
  a.row(i, r, [&](u32, T e) { sum = sum + absolute(scale(e, scaled)); });
  by[row] = scaled;
  sums[row] = sum;
}

// Copy the blocks of a matrix with scaled rows. Blocks outside an open matrix become zero. One thread per row.
template <class T>
__device__ __forceinline__ void scaled_blocks(const DenseBlocks<T>& a, const typename Of<T>::Real* by, T* left, T* diag, T* right) {
  const size_t row = thread_of_grid(), size = (size_t)a.block * a.block;
  if (row >= (size_t)a.n * a.block) return;
  const u32 i = row / a.block, r = row % a.block;
  const T* const from[3] = {a.given.a, a.given.b, a.given.c};
  T* const to[3] = {left, diag, right};
  for (int k = 0; k < 3; ++k) {
    const bool outside = !a.periodic && ((k == 0 && i == 0) || (k == 2 && i + 1 == a.n));
    for (u32 s = 0; s < a.block; ++s) {
      const size_t at = i * size + (size_t)s * a.block + r;
      to[k][at] = outside ? T{} : scale(from[k][at], by[row]);
    }
  }
}

// Equally spaced blocks in memory: `step` numbers from one to the next, columns with the distance `leading`.
template <class T> struct SpacedBlocks {
  T* first;
  unsigned long long step, leading;

  __device__ __forceinline__ T& at(size_t which, u32 r, u32 column) const {
    return first[which * step + column * leading + r];
  }
};

// to ← from for `count` blocks. One thread per number.
template <class T>
__device__ __forceinline__ void copy_blocks(u32 rows, u32 columns, u32 count, const SpacedBlocks<T>& to,
                                            const SpacedBlocks<const T>& from) {
  const size_t k = thread_of_grid(), size = (size_t)rows * columns;
  if (k >= size * count) return;
  const u32 r = k % size % rows, column = k % size / rows;
  to.at(k / size, r, column) = from.at(k / size, r, column);
}

// to ← to + from, from ← 0. One thread per number.
template <class T> __device__ __forceinline__ void fold_blocks(u32 numbers, T* to, T* from) {
  const size_t k = thread_of_grid();
  if (k >= numbers) return;
  to[k] = add(to[k], from[k]);
  from[k] = T{};
}

// Maximum numbers of a block that one thread looks at alone.
#define FEW_NUMBERS 64

// Set a block to zero if none of its numbers is larger than `limit`. One thread per block of few numbers, otherwise one thread
// block per block.
template <class T> __device__ __forceinline__ void drop_blocks(u32 numbers, u32 count, double limit, T* blocks) {
  typedef typename Of<T>::Real Real;
  if (numbers <= FEW_NUMBERS) {
    const size_t which = thread_of_grid();
    if (which >= count) return;
    T* const few = blocks + which * numbers;
    bool any = false;
    for (u32 k = 0; k < numbers; ++k) any = any || !(modulus(few[k]) <= Real(limit));
    for (u32 k = 0; k < numbers && !any; ++k) few[k] = T{};
    return;
  }
  SHARED_BYTES(memory);
  u32* const kept = reinterpret_cast<u32*>(memory);
  T* const own = blocks + (size_t)blockIdx.x * numbers;
  bool large = false;
  for (u32 k = threadIdx.x; k < numbers; k += blockDim.x) large = large || !(modulus(own[k]) <= Real(limit));
  const u32 votes = warp_votes(large);
  if (threadIdx.x % LANES == 0) kept[threadIdx.x / LANES] = votes;
  __syncthreads();
  u32 any = 0;
  for (u32 warp = 0; warp < blockDim.x / LANES; ++warp) any |= kept[warp];
  if (any) return;
  for (u32 k = threadIdx.x; k < numbers; k += blockDim.x) own[k] = T{};
}

// Flag the system if a factorization of a block failed, or if a pivot is zero or not finite. One thread per pivot.
template <class T>
__device__ __forceinline__ void check_pivots(u32 block, u32 count, const SpacedBlocks<const T>& factors, const int* status,
                                             u32* suspects) {
  typedef typename Of<T>::Real Real;
  const size_t k = thread_of_grid();
  if (k >= (size_t)block * count) return;
  const u32 which = k / block, r = k % block;
  const Real size = peak_of(factors.at(which, r, r));
  if (status[which] != 0 || !(size > Real(0)) || !(size - size == Real(0))) suspect(suspects, 0);
}

// to ← by·from, or its complex conjugate. Without `by`, rows are not scaled. Raises `peaks.size` to the largest |to|, unless it
// is null.
template <class T>
__device__ __forceinline__ void scale_columns(const Cut& cut, const typename Of<T>::Real* by, int conjugated,
                                              const Columns<const T>& from, const Columns<T>& to, const Peaks<T>& peaks) {
  typedef typename Of<T>::Real Real;
  const Spot spot = spot_of(cut);
  Real size = Real(0);
  if (spot.row < cut.rows) {
    T v = from.first[spot.column * from.step + spot.row];
    if (by) v = scale(v, by[spot.row]);
    if (conjugated) v = conjugate(v);
    to.first[spot.column * to.step + spot.row] = v;
    size = absolute(v);
  }
  if (peaks.size) peaks.raise(peaks.size + spot.column, size);
}

// Raises `peaks.gap` to the largest |rest| / (Σ|a|·‖x‖ + |d|), and `peaks.rhs` to the largest |d| / Σ|a|, for a row with the
// scale `by` and the sum of scaled moduli `sum`.
template <class T>
__device__ __forceinline__ void raise_errors(const Peaks<T>& peaks, const Spot& spot, bool there, typename Of<T>::Real by,
                                             typename Of<T>::Real sum, T rest, T d) {
  typedef typename Of<T>::Real Real;
  const T scaled = scale(d, by);
  Real gap = Real(0), size = Real(0);
  if (there) {
    gap = backward_error(scale(rest, by), sum, of_bits(peaks.size[spot.column]), scaled);
    size = absolute(scaled);
    if (size != Real(0)) size = size / sum;
  }
  peaks.raise(peaks.gap + spot.column, gap);
  peaks.raise(peaks.rhs + spot.column, size);
}

// Measure x by residuals that were computed before. `by` and `sums` are those of `row_sizes`.
template <class T>
__device__ __forceinline__ void block_errors(const Cut& cut, const typename Of<T>::Real* by, const typename Of<T>::Real* sums,
                                             const Columns<const T>& rhs, const Columns<const T>& rest, const Peaks<T>& peaks) {
  typedef typename Of<T>::Real Real;
  const Spot spot = spot_of(cut);
  const bool there = spot.row < cut.rows;
  const Real scaled = there ? by[spot.row] : Real(1), sum = there ? sums[spot.row] : Real(1);
  const T left = there ? rest.first[spot.column * rest.step + spot.row] : T{};
  const T d = there ? rhs.first[spot.column * rhs.step + spot.row] : T{};
  raise_errors(peaks, spot, there, scaled, sum, left, d);
}

// rest ← d − op(A)·x in twice the working precision, and the measurements of x. One thread per row and column.
template <class T>
__device__ __forceinline__ void block_residual(const Cut& cut, const DenseBlocks<T>& a, const Columns<const T>& rhs,
                                               const Columns<const T>& x, const Columns<T>& rest, const Peaks<T>& peaks) {
  typedef typename Of<T>::Real Real;
  const Spot spot = spot_of(cut);
  const bool there = spot.row < cut.rows;
  Real most = Real(0), entries = Real(0), by = Real(1);
  T d = T{}, left = T{};
  if (there) {
    const u32 i = spot.row / a.block, r = spot.row % a.block;
    const T* const values = x.first + spot.column * x.step;
    d = rhs.first[spot.column * rhs.step + spot.row];
    a.row(i, r, [&](u32, T e) { most = larger(most, peak_of(e)); });
    by = equilibrate(most);
    Rest<T> sum(scale(d, by));
    a.row(i, r, [&](u32 column, T e) {
      const T scaled = scale(e, by);
      entries = entries + absolute(scaled);
      sum.subtract(scaled, values[column]);
    });
    left = scale(sum.value(), Real(1) / by);
    rest.first[spot.column * rest.step + spot.row] = left;
  }
  raise_errors(peaks, spot, there, by, entries, left, d);
}
