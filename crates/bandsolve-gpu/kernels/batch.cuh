// Batches of tridiagonal systems with one thread per system: downward elimination with row exchanges, then upward
// substitution.
#pragma once
#include "rpts.cuh"

// Number of rows between two stored carried equations.
#define CHUNK 8

// The rows of a chunk in shared memory, with one column per thread.
template <class T> struct Chunk {
  T* first;

  enum Plane { A, B, C, D, NEAR, NEXT, RHS, PLANES };
  __device__ __forceinline__ T& at(int plane, u32 row) const {
    return first[(plane * CHUNK + row) * blockDim.x + threadIdx.x];
  }
};

// The carried equation: near·x_j + next·x_{j+1} = rhs.
template <class T> struct Equation {
  T near, next, rhs;
};

// Eliminate x_{j−1} between the carried equation and row j. Returns whether row j was the pivot row.
template <class T, class Pivots> __device__ __forceinline__ bool eliminate(Equation<T>& carried, const T (&r)[3], T d, const Pivots& rule) {
  T v[2][4] = {{carried.near, carried.next, T{}, carried.rhs}, {r[0], r[1], r[2], d}};
  const bool swap = eliminate_columns<1, 1>(v, rule);
  carried = {v[1][1], v[1][2], v[1][3]};
  return swap;
}

// Solve systems of an interleaved batch.
//
// The carried equation is stored in `kept` every CHUNK rows (three numbers). The upward pass eliminates each chunk
// again from this equation. Rows are therefore read twice, and only `kept` and x are written.
template <class T, class Pivots>
__device__ __forceinline__ void interleaved(const Cut& cut, const Interleaved<T>& source, const Columns<const T>& rhs,
                                            const Columns<T>& out, T* kept, const Peaks<T>& peaks, const Pivots& rule) {
  typedef typename Of<T>::Real R;
  SHARED_BYTES(memory);
  const Chunk<T> chunk{reinterpret_cast<T*>(memory)};
  const u32 t = blockIdx.x * blockDim.x + threadIdx.x, system = t % cut.systems, column = t / cut.systems;
  if (column >= cut.columns) return;
  const Interleaved<T> own = source.of(cut, system);
  const T* const given = rhs.of(cut, system, column).first;
  T* const x = out.of(cut, system, column).first;
  // The number of rows that are loaded before the first of them is needed.
  constexpr int AHEAD = sizeof(T) <= 8 ? 4 : 2;
  const size_t step = cut.row_step, all = (size_t)cut.systems * cut.columns;
  // The rank of the largest entry, for rows that are not scaled.
  u32 entry = 0;
  // Loads row j, or the last one before `end`. Later rows are loaded before earlier ones are eliminated.
  const auto fetch = [&](u32 j, u32 end, T(&r)[3], T& d) {
    const u32 row = j < end ? j : end - 1;
    own.row(cut, row, 0, r);
    d = given[row * step];
  };
  const auto scale_row = [&](T(&r)[3], T& d) {
    if (!rule.scale_rows) entry = larger(entry, largest_rank(r));
    const R by = row_scale(r, rule.scale_rows);
    UNROLL for (int s = 0; s < 3; ++s) r[s] = scale(r[s], by);
    d = scale(d, by);
  };
  T r[3], d, next[AHEAD][3], next_d[AHEAD];
  const auto fetch_all = [&](u32 j, u32 end) {
    UNROLL for (int u = 0; u < AHEAD; ++u) fetch(j + u, end, next[u], next_d[u]);
  };
  const auto take = [&](int u, T(&r)[3], T& d) {
    UNROLL for (int s = 0; s < 3; ++s) r[s] = next[u][s];
    d = next_d[u];
  };
  fetch(0, cut.n, r, d);
  fetch_all(1, cut.n);
  scale_row(r, d);
  T first[3] = {r[0], r[1], r[2]}, first_d = d;
  Equation<T> carried = {r[1], r[2], d};
  u32 least = larger(rank(carried.near), rank(carried.next));
  for (u32 j = 1; j < cut.n; j += AHEAD) {
    T now[AHEAD][3], now_d[AHEAD];
    UNROLL for (int u = 0; u < AHEAD; ++u) take(u, now[u], now_d[u]);
    fetch_all(j + AHEAD, cut.n);
    UNROLL for (int u = 0; u < AHEAD; ++u) {
      if (j + u >= cut.n) break;
      if ((j + u - 1) % CHUNK == 0) {
        T* const place = kept + (size_t)((j + u - 1) / CHUNK) * 3 * all + t;
        place[0] = carried.near;
        place[all] = carried.next;
        place[2 * all] = carried.rhs;
      }
      scale_row(now[u], now_d[u]);
      eliminate(carried, now[u], now_d[u], rule);
      least = smaller(least, larger(rank(carried.near), rank(carried.next)));
    }
  }
  const T last = denoised(carried.near, rule);
  least = smaller(least, rank(last));
  T value = times(carried.rhs, reciprocal(last)), later = T{};
  R x_max = absolute(value), gap = R(0), most = absolute(first_d);
  x[(cut.n - 1) * step] = value;
  for (u32 k = (cut.n + CHUNK - 2) / CHUNK; k > 0; --k) {
    const u32 begin = (k - 1) * CHUNK, rows = cut.n - 1 - begin < CHUNK ? cut.n - 1 - begin : CHUNK;
    const T* const place = kept + (size_t)(k - 1) * 3 * all + t;
    carried = {place[0], place[all], place[2 * all]};
    u32 below = 0;
    fetch_all(begin + 1, begin + rows + 1);
    for (u32 s0 = 0; s0 < rows; s0 += AHEAD) {
      T now[AHEAD][3], now_d[AHEAD];
      UNROLL for (int u = 0; u < AHEAD; ++u) take(u, now[u], now_d[u]);
      fetch_all(begin + s0 + 1 + AHEAD, begin + rows + 1);
      UNROLL for (int u = 0; u < AHEAD; ++u) {
        const u32 s = s0 + u;
        if (s >= rows) break;
        scale_row(now[u], now_d[u]);
        chunk.at(Chunk<T>::A, s) = now[u][0];
        chunk.at(Chunk<T>::B, s) = now[u][1];
        chunk.at(Chunk<T>::C, s) = now[u][2];
        chunk.at(Chunk<T>::D, s) = now_d[u];
        chunk.at(Chunk<T>::NEAR, s) = carried.near;
        chunk.at(Chunk<T>::NEXT, s) = carried.next;
        chunk.at(Chunk<T>::RHS, s) = carried.rhs;
        below |= (u32)eliminate(carried, now[u], now_d[u], rule) << s;
      }
    }
    // x_j = (rhs − next·x_{j+1} − second·x_{j+2}) / near, from the pivot row of x_j
    for (u32 s = rows; s > 0; --s) {
      const u32 at = s - 1;
      const bool swapped = below >> at & 1;
      const T row[3] = {chunk.at(Chunk<T>::A, at), chunk.at(Chunk<T>::B, at), chunk.at(Chunk<T>::C, at)};
      const T row_d = chunk.at(Chunk<T>::D, at);
      const T near = select(swapped, row[0], denoised(chunk.at(Chunk<T>::NEAR, at), rule));
      const T next = select(swapped, row[1], chunk.at(Chunk<T>::NEXT, at)), second = select(swapped, row[2], T{});
      const T sum = fma_add(negate(second), later, fma_add(negate(next), value, select(swapped, row_d, chunk.at(Chunk<T>::RHS, at))));
      const T before = times(sum, reciprocal(near));
      least = smaller(least, rank(near));
      x_max = larger_bits(x_max, absolute(before));
      most = larger_bits(most, absolute(row_d));
      gap = larger_bits(gap, gap_of(row, row_d, before, value, later, x_max));
      later = value;
      value = before;
      x[(begin + at) * step] = value;
    }
  }
  gap = larger_bits(gap, gap_of(first, first_d, T{}, value, later, x_max));
  if (least <= (rule.scale_rows ? NOTHING<R> : nothing_up_to<R>(entry))) suspect(rule.suspects, system);
  if (peaks.gap) {
    peaks.gap[system * cut.columns + column] = bits_of(gap);
    peaks.size[system * cut.columns + column] = bits_of(x_max);
    peaks.rhs[system * cut.columns + column] = bits_of(most);
  }
}

// Solve consecutive systems of up to 61 rows. Each system is a partition between two zero unknowns. `cut` contains the
// systems as partitions.
template <class T, class Pivots>
__device__ __forceinline__ void alone(const Cut& cut, const Blocks<T, 1>& source, const Columns<const T>& rhs,
                                      const Columns<T>& out, const Peaks<T>& peaks, const Pivots& rule) {
  typedef typename Of<T>::Real R;
  SHARED_BYTES(memory);
  const u32 spans = (cut.systems + cut.lanes - 1) / cut.lanes, column = blockIdx.x / spans;
  const u32 begin = blockIdx.x % spans * cut.lanes, count = cut.systems - begin < cut.lanes ? cut.systems - begin : cut.lanes;
  const Tile<T, 1, 1> tile(reinterpret_cast<T*>(memory), cut.n + 2, count);
  for (u32 k = threadIdx.x; k < count * (cut.n + 2); k += blockDim.x) {
    const u32 p = k / (cut.n + 2), j = k % (cut.n + 2), at = p * tile.pitch + j;
    T r[3] = {T{}, T{}, T{}}, d = T{};
    if (j > 0 && j <= cut.n) {
      source.of(cut, begin + p).row(cut, j - 1, 0, r);
      const R by = row_scale(r, rule.scale_rows);
      UNROLL for (int s = 0; s < 3; ++s) r[s] = scale(r[s], by);
      d = scale(rhs.of(cut, begin + p, column).first[j - 1], by);
    }
    UNROLL for (int s = 0; s < 3; ++s) tile.block(s, 0, 0, at) = r[s];
    tile.rhs(0, 0, at) = d;
  }
  __syncthreads();
  if (threadIdx.x < count) {
    const u32 at = threadIdx.x * tile.pitch;
    const Ends<T, 1, 1> zero = {};
    if (solve_inside(tile, at, cut.n + 2, zero, rule)) suspect(rule.suspects, begin + threadIdx.x);
    R x_max = R(0), gap = R(0), most = R(0);
    for (u32 j = 1; j <= cut.n; ++j) x_max = larger_bits(x_max, absolute(tile.x(0, 0, at + j)));
    for (u32 j = 1; j <= cut.n; ++j) {
      const T row[3] = {tile.block(0, 0, 0, at + j), tile.block(1, 0, 0, at + j), tile.block(2, 0, 0, at + j)};
      gap = larger_bits(gap, gap_of(row, tile.rhs(0, 0, at + j), tile.x(0, 0, at + j - 1), tile.x(0, 0, at + j),
                                    tile.x(0, 0, at + j + 1), x_max));
      most = larger_bits(most, absolute(tile.rhs(0, 0, at + j)));
    }
    if (peaks.gap) {
      peaks.gap[(begin + threadIdx.x) * cut.columns + column] = bits_of(gap);
      peaks.size[(begin + threadIdx.x) * cut.columns + column] = bits_of(x_max);
      peaks.rhs[(begin + threadIdx.x) * cut.columns + column] = bits_of(most);
    }
  }
  __syncthreads();
  for (u32 k = threadIdx.x; k < count * cut.n; k += blockDim.x) {
    const u32 p = k / cut.n, j = k % cut.n;
    out.of(cut, begin + p, column).first[j] = tile.x(0, 0, p * tile.pitch + j + 1);
  }
}
