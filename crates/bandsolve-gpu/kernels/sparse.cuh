// Sparse right-hand sides by columns, and the largest entries of solutions.
#pragma once
#include "rpts.cuh"

// The columns of a sparse matrix with ascending rows. Column j has the entries pointers[j] … pointers[j + 1] − 1.
template <class T> struct Sparse {
  static constexpr bool CAN_RELOAD = false;
  const T* values;
  const int *rows, *pointers;
};

// The index of the first of the ascending numbers first … last − 1 that is not below a bound.
__device__ __forceinline__ u32 lower_bound(const int* numbers, u32 first, u32 last, u32 bound) {
  while (first < last) {
    const u32 middle = first + (last - first) / 2;
    if ((u32)numbers[middle] < bound) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

// Set the right-hand sides to zero and add their entries. Then load the rows and scale them.
template <class T, int R, class Source>
__device__ __forceinline__ void stage(const Tile<T, 1, R>& tile, const Cut& cut, const Task& task, const Source& source,
                                      const Sparse<T>& rhs, bool scale_rows) {
  const Source own = source.of(cut, task.system);
  const u32 first = task.span.first * cut.m, rows = rows_in(cut, task.span);
  const Places places(cut, task.span, tile.pitch);
  for (u32 k = threadIdx.x; k < rows; k += blockDim.x) {
    const u32 at = places.of(k).at;
    UNROLL for (int c = 0; c < R; ++c) tile.rhs(0, c, at) = T{};
  }
  __syncthreads();
  UNROLL for (int c = 0; c < R; ++c) {
    if (c >= (int)task.columns) break;
    const u32 end = (u32)rhs.pointers[task.column + c + 1];
    const u32 begin = lower_bound(rhs.rows, (u32)rhs.pointers[task.column + c], end, first);
    for (u32 e = begin + threadIdx.x; e < end; e += blockDim.x) {
      const u32 row = (u32)rhs.rows[e];
      if (row >= first + rows) break;
      tile.rhs(0, c, places.of(row - first).at) = rhs.values[e];
    }
  }
  __syncthreads();
  for (u32 k = threadIdx.x; k < rows; k += blockDim.x) {
    const u32 at = places.of(k).at;
    T v[3];
    own.row(cut, first + k, 0, v);
    const typename Of<T>::Real by = row_scale(v, scale_rows);
    UNROLL for (int s = 0; s < 3; ++s) tile.block(s, 0, 0, at) = scale(v[s], by);
    UNROLL for (int c = 0; c < R; ++c) tile.rhs(0, c, at) = scale(tile.rhs(0, c, at), by);
  }
}

// Check the structure, with one thread block per column.
//
// Raises bad[0] to ~j if pointer j decreases or exceeds the number of entries. Raises bad[1] to ~e if the row of entry
// e is outside the matrix, or not after the row of the previous entry in its column.
__device__ __forceinline__ void check(u32 rows, u32 entries, const int* row_indices, const int* pointers, u32* bad) {
  const u32 j = blockIdx.x, begin = (u32)pointers[j], end = (u32)pointers[j + 1];
  if (begin > end || end > entries || (j == 0 && begin != 0) || (j + 1 == gridDim.x && end != entries)) {
    if (threadIdx.x == 0) atomicMax(&bad[0], ~j);
    return;
  }
  for (u32 e = begin + threadIdx.x; e < end; e += blockDim.x) {
    const int row = row_indices[e];
    if (row < 0 || (u32)row >= rows || (e > begin && row <= row_indices[e - 1])) atomicMax(&bad[1], ~e);
  }
}

// Write the columns to a dense array of zeros, with one thread block per column.
template <class T> __device__ __forceinline__ void scatter(const Sparse<T>& rhs, const Columns<T>& out) {
  const u32 j = blockIdx.x;
  for (u32 e = (u32)rhs.pointers[j] + threadIdx.x; e < (u32)rhs.pointers[j + 1]; e += blockDim.x) {
    out.first[j * out.step + (u32)rhs.rows[e]] = rhs.values[e];
  }
}

// The number of previous threads in the block for which a condition is true, and the number of all such threads.
// `counts` is shared memory with one word per warp. All threads of the block must take part.
struct Rank {
  u32 before, all;
};

__device__ __forceinline__ Rank rank_of(bool holds, u32* counts) {
  const u32 votes = warp_votes(holds), lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  if (lane == 0) counts[warp] = __popc(votes);
  __syncthreads();
  Rank rank = {(u32)__popc(votes & ((1u << lane) - 1)), 0};
  for (u32 w = 0; w < blockDim.x / LANES; ++w) {
    rank.before += w < warp ? counts[w] : 0;
    rank.all += counts[w];
  }
  __syncthreads();
  return rank;
}

// Select the entries of largest modulus in columns of x, with one thread block per column.
//
// The pointers of the result determine their number, and their rows ascend. Among entries of equal modulus, those in
// rows with smaller numbers are selected. The bits of the moduli are examined in groups of eight, from the highest. In
// each step, a histogram with 256 bins shows the bin of the last selected entry.
//
// Source: Klein 2.6.12, without the rule for equal moduli.
template <class T>
__device__ __forceinline__ void prune(u32 n, const Columns<const T>& x, const int* pointers, T* values, int* rows) {
  typedef typename Of<T>::Real R;
  typedef typename Bits<R>::Word Word;
  SHARED_BYTES(memory);
  u32* const histogram = reinterpret_cast<u32*>(memory);
  u32* const found = histogram + 256;
  const T* const column = x.first + blockIdx.x * x.step;
  const u32 first = (u32)pointers[blockIdx.x];
  u32 wanted = (u32)pointers[blockIdx.x + 1] - first;
  if (wanted == 0) return;
  // Select all entries whose masked bits exceed the prefix, and as many equal ones as are still needed.
  Word prefix = 0, mask = 0;
  for (int shift = 8 * (int)sizeof(Word) - 8; shift >= 0; shift -= 8) {
    for (u32 b = threadIdx.x; b < 256; b += blockDim.x) histogram[b] = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
      const Word key = bits_of(absolute(column[i]));
      if ((key & mask) == prefix) atomicAdd(&histogram[(u32)(key >> shift) & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      u32 bin = 255, above = 0;
      while (above + histogram[bin] < wanted) above += histogram[bin--];
      found[0] = bin;
      found[1] = wanted - above;
      found[2] = above + histogram[bin] == wanted;
    }
    __syncthreads();
    prefix |= (Word)found[0] << shift;
    mask |= (Word)255 << shift;
    wanted = found[1];
    const bool whole = found[2];
    __syncthreads();
    if (whole) break;
  }
  u32 equal_before = 0, taken_before = 0;
  for (u32 base = 0; base < n; base += blockDim.x) {
    const u32 i = base + threadIdx.x;
    const Word key = i < n ? bits_of(absolute(column[i])) & mask : 0;
    const bool equal = i < n && key == prefix;
    const Rank among_equal = rank_of(equal, found);
    const bool taken = (i < n && key > prefix) || (equal && equal_before + among_equal.before < wanted);
    const Rank rank = rank_of(taken, found);
    if (taken) {
      values[first + taken_before + rank.before] = column[i];
      rows[first + taken_before + rank.before] = (int)i;
    }
    equal_before += among_equal.all;
    taken_before += rank.all;
  }
}
