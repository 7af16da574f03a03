// Systems in memory, their division into partitions, and their rows in shared memory.
//
// Block row i has B rows: a_i·x_{i−1} + b_i·x_i + c_i·x_{i+1} = d_i. With B = 1, the system is tridiagonal.
#pragma once
#include "panel.cuh"

// Threads per warp, which is the maximum number of partitions of a thread block.
#define LANES 32

// The size of a system, or of several consecutive systems of the same size, and its division into partitions.
//
// Each of the `partitions` has m block rows, and the last one has 2 to m + 1. (A single partition has n.) A partition
// has at most 64 block rows, because each pivot needs one bit of a word.
struct Cut {
  // Number of block rows, and number of rows. The last block row may be shorter than the others.
  u32 n, rows;
  // Block rows per partition, partitions in total and per thread block, and whether the first and the last row are
  // neighbors.
  u32 m, partitions, lanes, periodic;
  // Number of right-hand sides per system, and number of systems.
  u32 columns, systems;
  // The first group of partitions in this launch, and the number of groups.
  u32 first, spans;
  // Distance in memory from one system to the next, and from one row to the next.
  u32 system_step, row_step;
};

__device__ __forceinline__ u32 rows_of(const Cut& cut, u32 partition) {
  return partition + 1 < cut.partitions ? cut.m : cut.n - partition * cut.m;
}

// Distance between partitions in shared memory. An odd distance avoids bank conflicts between threads.
__device__ __forceinline__ u32 pitch_of(u32 m) { return (m + 1) | 1; }

// The partitions of a thread block.
struct Span {
  u32 first, count;
};

// The task of a thread block: R right-hand sides of a span of a system. Neighboring blocks have the same rows, which
// are then in cache.
struct Task {
  u32 system, column, columns;
  Span span;
};

template <int R> __device__ __forceinline__ Task task_of(const Cut& cut, u32 block) {
  const u32 groups = (cut.columns + R - 1) / R, group = block % groups, rest = block / groups;
  const u32 first = (cut.first + rest % cut.spans) * cut.lanes, column = group * R;
  return {rest / cut.spans, column, cut.columns - column < R ? cut.columns - column : R,
          {first, cut.partitions - first < cut.lanes ? cut.partitions - first : cut.lanes}};
}

// The operator: A, its transpose, or its conjugate transpose.
enum Op { PLAIN, TRANSPOSE, CONJ_TRANSPOSE };

// A block tridiagonal matrix: arrays of B × B blocks in column-major order.
template <class T, int B> struct Blocks {
  const T *a, *b, *c;
  int op;

  __device__ __forceinline__ Blocks of(const Cut& cut, u32 system) const {
    const size_t by = (size_t)system * cut.n * (B * B);
    return {a + by, b + by, c + by, op};
  }
  // Row r of block row i.
  __device__ __forceinline__ void row(const Cut& cut, u32 i, u32 r, T (&v)[3 * B]) const {
    const bool top = i == 0, bottom = i + 1 == cut.n, t = op != PLAIN;
    const u32 before = top ? cut.n - 1 : i - 1, after = bottom ? 0 : i + 1;
    const T* blocks[3] = {(t ? c : a) + (size_t)(t ? before : i) * (B * B), b + (size_t)i * (B * B),
                          (t ? a : c) + (size_t)(t ? after : i) * (B * B)};
    UNROLL for (int k = 0; k < 3; ++k) {
      const bool outside = !cut.periodic && ((k == 0 && top) || (k == 2 && bottom));
      UNROLL for (int s = 0; s < B; ++s) {
        const T e = blocks[k][t ? r * B + s : s * B + r];
        v[k * B + s] = outside ? T{} : op == CONJ_TRANSPOSE ? conjugate(e) : e;
      }
    }
  }
};

// A matrix with `lower` diagonals below and `upper` above the main one, at most B each. The entry in column i + k of
// row i is at i·row_step + k·diagonal_step + origin. The last block row is padded with rows of the identity.
template <class T, int B> struct Band {
  const T* entries;
  long long row_step, diagonal_step, origin;
  int lower, upper, conjugated;

  __device__ __forceinline__ Band of(const Cut&, u32) const { return *this; }
  __device__ __forceinline__ void row(const Cut& cut, u32 i, u32 r, T (&v)[3 * B]) const {
    const long long row = (long long)i * B + r;
    UNROLL for (int s = 0; s < 3 * B; ++s) {
      const int k = s - B - (int)r;
      const long long column = row + k;
      const bool there = k >= -lower && k <= upper && column >= 0 && column < (long long)cut.rows && row < (long long)cut.rows;
      T e = T{};
      if (there) e = entries[row * row_step + k * diagonal_step + origin];
      if (row >= (long long)cut.rows && k == 0) e = one<T>();
      v[s] = conjugated ? conjugate(e) : e;
    }
  }
};

// The tridiagonal matrices of an interleaved batch: row i of the first one, of the second one, …
template <class T> struct Interleaved {
  const T *a, *b, *c;
  int op;

  __device__ __forceinline__ Interleaved of(const Cut& cut, u32 system) const {
    const size_t by = (size_t)system * cut.system_step;
    return {a + by, b + by, c + by, op};
  }
  __device__ __forceinline__ void row(const Cut& cut, u32 i, u32, T (&v)[3]) const {
    const bool top = i == 0, bottom = i + 1 == cut.n, t = op != PLAIN;
    const size_t by = cut.row_step, at = i * by;
    v[0] = top ? T{} : t ? c[at - by] : a[at];
    v[1] = b[at];
    v[2] = bottom ? T{} : t ? a[at + by] : c[at];
    UNROLL for (int s = 0; s < 3; ++s) v[s] = op == CONJ_TRANSPOSE ? conjugate(v[s]) : v[s];
  }
};

// Right-hand sides or solutions as columns.
template <class T> struct Columns {
  // Whether they can be loaded again for the residuals.
  static constexpr bool CAN_RELOAD = true;
  T* first;
  unsigned long long step;

  // The columns of a system from a given column on.
  __device__ __forceinline__ Columns of(const Cut& cut, u32 system, u32 column) const {
    return {first ? first + (size_t)system * cut.system_step + column * step : first, step};
  }
};

// The power of two that scales a row.
template <class T, int N> __device__ __forceinline__ typename Of<T>::Real row_scale(const T (&v)[N], bool rows) {
  typedef typename Of<T>::Real R;
  R most = R(0);
  UNROLL for (int s = 0; s < N; ++s) most = larger(most, modulus(v[s]));
  return rows ? equilibrate(most) : R(1);
}

// The rows of the partitions of a thread block in shared memory, and further numbers for their solution. Each plane has
// one number per block row.
//
// Pivot rows replace the rows, and x replaces the right-hand sides. For scalars, the rows can remain (`KEEPS`). The carried
// equations are then stored separately, which takes nearly twice the memory.
template <class T, int B, int R, bool KEEPS = true> struct Tile {
  static constexpr int ROWS = 3 * B * B + B * R;
  static constexpr int NEAR = ROWS, NEXT = NEAR + 1;
  // Whether the rows still exist at the end.
  static constexpr bool HAS_ROWS = B == 1 && KEEPS;
  static constexpr int X = HAS_ROWS ? NEXT + 1 : 3 * B * B;
  static constexpr int PLANES = HAS_ROWS ? X + R : ROWS;

  T* first;
  u32 count, pitch, size;

  __device__ __forceinline__ Tile(T* memory, u32 m, u32 partitions)
      : first(memory), count(partitions), pitch(pitch_of(m)), size(pitch * partitions) {}
  __device__ __forceinline__ T& at(int plane, u32 place) const { return first[plane * size + place]; }
  // Entry (r, s) of block a (which = 0), b (1) or c (2).
  __device__ __forceinline__ T& block(int which, int r, int s, u32 place) const { return at((which * B + s) * B + r, place); }
  __device__ __forceinline__ T& rhs(int r, int column, u32 place) const { return at(3 * B * B + column * B + r, place); }
  __device__ __forceinline__ T& x(int r, int column, u32 place) const { return at(X + column * B + r, place); }
  // The unknowns before (0) and after (1) a partition.
  __device__ __forceinline__ T& end(int side, int r, int column, u32 lane) const {
    return first[PLANES * size + ((side * R + column) * B + r) * count + lane];
  }
  // The first number after the tile.
  __device__ __forceinline__ T* beyond() const { return first + PLANES * size + 2 * B * R * count; }
};

// The number of block rows of the partitions of a span.
__device__ __forceinline__ u32 rows_in(const Cut& cut, Span span) {
  return (span.count - 1) * cut.m + rows_of(cut, span.first + span.count - 1);
}

// The position of a row of a span: its partition, its number in the partition, and its index in the tile.
struct Place {
  u32 partition, j, at;
};

// The places of the rows of a span. A product replaces the division of every row by m: ⌊k·⌈2²⁰/m⌉ / 2²⁰⌋ = ⌊k/m⌋ as
// long as k·m < 2²⁰. A span has at most 32·63 + 1 block rows.
struct Places {
  u32 m, last, pitch, by;

  __device__ __forceinline__ Places(const Cut& cut, Span span, u32 pitch)
      : m(cut.m), last(span.count - 1), pitch(pitch), by(((1u << 20) + cut.m - 1) / cut.m) {}
  __device__ __forceinline__ Place of(u32 k) const {
    const u32 q = k * by >> 20, p = q < last ? q : last, j = k - p * m;
    return {p, j, p * pitch + j};
  }
};

// The number of rows of `numbers` numbers that a thread loads before it needs the first one. More rows hide more of the
// latency of memory, and take more registers.
template <class T> __host__ __device__ constexpr int rows_ahead(int numbers) {
  return numbers * sizeof(T) <= 64 ? 4 : numbers * sizeof(T) <= 128 ? 2 : 1;
}

// Load the rows of the partitions, one partition after the other, with all threads. Without right-hand sides, they are
// set to zero.
template <class T, int B, int R, bool KEEPS, class Source>
__device__ __forceinline__ void stage(const Tile<T, B, R, KEEPS>& tile, const Cut& cut, const Task& task, const Source& source,
                                      const Columns<const T>& rhs, bool scale_rows) {
  const Source own = source.of(cut, task.system);
  const Columns<const T> d = rhs.of(cut, task.system, task.column);
  const u32 first = task.span.first * cut.m, rows = rows_in(cut, task.span) * B;
  const Places places(cut, task.span, tile.pitch);
  constexpr int AHEAD = rows_ahead<T>(3 * B + R);
  for (u32 begin = threadIdx.x; begin < rows; begin += AHEAD * blockDim.x) {
    T v[AHEAD][3 * B], e[AHEAD][R];
    UNROLL for (int u = 0; u < AHEAD; ++u) {
      const u32 k = smaller(begin + u * blockDim.x, rows - 1), i = first + k / B, r = k % B;
      own.row(cut, i, r, v[u]);
      UNROLL for (int column = 0; column < R; ++column) {
        e[u][column] = T{};
        const bool there = d.first && column < (int)task.columns && i * B + r < cut.rows;
        if (there) e[u][column] = d.first[column * d.step + (size_t)i * B + r];
      }
    }
    UNROLL for (int u = 0; u < AHEAD; ++u) {
      const u32 k = begin + u * blockDim.x, r = k % B;
      if (k >= rows) break;
      const u32 at = places.of(k / B).at;
      const typename Of<T>::Real by = row_scale(v[u], scale_rows);
      UNROLL for (int s = 0; s < 3 * B; ++s) tile.block(s / B, r, s % B, at) = scale(v[u][s], by);
      UNROLL for (int column = 0; column < R; ++column) tile.rhs(r, column, at) = scale(e[u][column], by);
    }
  }
}
