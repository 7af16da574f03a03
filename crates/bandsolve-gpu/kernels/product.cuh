// Generalised products of sparse matrices and vectors: each row is reduced to one result, yᵢ = ⊕ⱼ aᵢⱼ ⊗ xⱼ.
//
// A thread block takes a tile of consecutive entries, forms their terms aᵢⱼ ⊗ xⱼ in shared memory, and reduces the rows
// that begin in the tile. One thread reduces a short row, from left to right. A short row that begins in the tile is
// reduced there to its end, so that it has the same result wherever it is. A warp reduces a longer row. If such a row
// continues in other tiles, each tile leaves the sum of its part (a carry). A second kernel joins the carries of a row in
// order.
//
// The order of all operations depends on the row offsets alone.
//
// An operation defines:
// - the types of an entry, of a term and of a sum; a sum is passed between lanes by `shuffle`,
// - `term`, the operator ⊗ for an entry in a column,
// - `start`, the sum of no terms of a row, `add`, which adds a term to a sum, and `join`, which adds the sum of later terms,
// - `finish`, which writes the result of a row,
// - `end`, which all threads call after the last row. Each thread has its own copy of the operation.
//
// Source: Klein, dissertation, chapter 3 (SRCSR-balanced). There, every row that crosses a border of tiles leaves carries.
#pragma once
#include "system.cuh"

// Number of entries of a tile, maximum number of entries of a short row, and threads of a block.
#define TILE_ENTRIES 1024
#define SHORT_ROW 32
#define TILE_THREADS 128

// A sparse matrix by rows. Row i has the entries pointers[i] … pointers[i + 1] − 1.
template <class T> struct SparseRows {
  u32 rows, entries;
  const u32 *pointers, *columns;
  const T* values;
};

// The number of offsets below a bound, of ascending ones. All lanes of a warp must take part. Each round divides the
// range by 33.
__device__ __forceinline__ u32 offsets_below(const u32* offsets, u32 count, u32 bound) {
  const u32 lane = threadIdx.x % LANES;
  u32 first = 0, last = count;
  while (first < last) {
    const u32 step = (last - first + LANES) / (LANES + 1), probe = first + lane * step + step - 1;
    const u32 below = __popc(warp_votes(probe < last && offsets[probe] < bound));
    first += below * step;
    last = smaller(last, below < LANES ? first + step - 1 : last);
  }
  return first;
}

// The number of the entry of a row that is in a column, or `to` if there is none. The row has the entries from … to − 1 with
// ascending columns.
__device__ __forceinline__ u32 offset_of(const u32* columns, u32 from, u32 to, u32 column) {
  u32 first = from, last = to;
  while (first < last) {
    const u32 middle = first + (last - first) / 2;
    if (columns[middle] < column) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first < to && columns[first] == column ? first : to;
}

// Shared memory of a thread block.
template <class Term> struct TileDesk {
  // The last short row can end after the tile. One place is free after every 32, for chunks of 2, 4, … 32 terms.
  static constexpr u32 TERMS = TILE_ENTRIES + SHORT_ROW - 1, PLACES = TERMS + TERMS / LANES;
  Term terms[PLACES];
  // The first row that begins in the tile, and the first one that begins after the tile.
  u32 rows[2];
  // The number of long rows in the tile, and these rows in any order.
  u32 long_rows, list[TILE_ENTRIES / SHORT_ROW];

  __device__ __forceinline__ Term& term(u32 k) { return terms[k + k / LANES]; }
  __device__ __forceinline__ void note(u32 row) { list[atomicAdd(&long_rows, 1u)] = row; }
};

// Load entries and store their terms. No load depends on a condition, so that the compiler can start several loads before it
// needs the first of them. After the last entry, threads load this entry again.
template <class Op>
__device__ __forceinline__ void stage_terms(const SparseRows<typename Op::Entry>& a, const Op& op, u32 begin,
                                            TileDesk<typename Op::Term>& desk) {
  typedef TileDesk<typename Op::Term> Desk;
  constexpr u32 EACH = (Desk::TERMS + TILE_THREADS - 1) / TILE_THREADS;
  const u32 count = smaller(Desk::TERMS, a.entries - begin);
  if (count == 0) return;
  typename Op::Entry values[EACH];
  typename Op::Term terms[EACH];
  u32 columns[EACH];
  UNROLL for (u32 u = 0; u < EACH; ++u) {
    const u32 entry = begin + smaller(threadIdx.x + u * TILE_THREADS, count - 1);
    columns[u] = a.columns[entry];
    values[u] = a.values[entry];
  }
  UNROLL for (u32 u = 0; u < EACH; ++u) terms[u] = op.term(columns[u], values[u]);
  UNROLL for (u32 u = 0; u < EACH; ++u) {
    const u32 k = threadIdx.x + u * TILE_THREADS;
    if (k < count) desk.term(k) = terms[u];
  }
}

// Reduce `count` terms or sums of a row, which `add` adds to a sum by their number. Each lane of a warp reduces as many
// consecutive ones. Then neighboring lanes are joined. Lane 0 returns the result.
template <class Op, class Add>
__device__ __forceinline__ typename Op::Sum reduce_by_warp(const Op& op, u32 row, u32 count, const Add& add) {
  const u32 lane = threadIdx.x % LANES, each = (count + LANES - 1) / LANES;
  typename Op::Sum sum = op.start(row);
  for (u32 k = lane * each; k < smaller((lane + 1) * each, count); ++k) add(sum, k);
  for (u32 by = 1; by < LANES; by *= 2) op.join(sum, shuffle(sum, (lane + by) % LANES));
  return sum;
}

// Reduce the rows of a tile. A tile has two carries: of the row that began before it, and of the row that continues
// after it.
template <class Op>
__device__ __forceinline__ void product(const SparseRows<typename Op::Entry>& a, Op op, typename Op::Sum* carries) {
  SHARED_BYTES(memory);
  TileDesk<typename Op::Term>& desk = *reinterpret_cast<TileDesk<typename Op::Term>*>(memory);
  const u32 begin = blockIdx.x * TILE_ENTRIES, end = smaller(begin + TILE_ENTRIES, a.entries);
  const u32 warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  if (threadIdx.x == 0) desk.long_rows = 0;
  stage_terms(a, op, begin, desk);
  if (warp < 2) {
    // All remaining rows begin in the last tile, also if they have no entries.
    const bool all = warp == 1 && blockIdx.x + 1 == gridDim.x;
    const u32 row = all ? a.rows : offsets_below(a.pointers, a.rows, warp == 0 ? begin : end);
    if (lane == 0) desk.rows[warp] = row;
  }
  __syncthreads();
  const u32 first = desk.rows[0], last = desk.rows[1];
  for (u32 row = first + threadIdx.x; row < last; row += blockDim.x) {
    const u32 from = a.pointers[row], to = a.pointers[row + 1];
    if (to - from > SHORT_ROW) {
      desk.note(row);
      continue;
    }
    typename Op::Sum sum = op.start(row);
    for (u32 k = from; k < to; ++k) op.add(sum, desk.term(k - begin));
    op.finish(row, sum);
  }
  if (threadIdx.x == 0 && first > 0 && a.pointers[first] > begin) {
    if (a.pointers[first] - a.pointers[first - 1] > SHORT_ROW) desk.note(first - 1);
  }
  __syncthreads();
  for (u32 k = warp; k < desk.long_rows; k += TILE_THREADS / LANES) {
    const u32 row = desk.list[k], row_begin = a.pointers[row], row_end = a.pointers[row + 1];
    const u32 from = larger(row_begin, begin), to = smaller(row_end, end);
    const auto add = [&](typename Op::Sum& part, u32 e) { op.add(part, desk.term(from - begin + e)); };
    const typename Op::Sum sum = reduce_by_warp(op, row, to - from, add);
    if (lane > 0) continue;
    if (from == row_begin && to == row_end) {
      op.finish(row, sum);
    } else {
      carries[2 * (size_t)blockIdx.x + (from == row_begin)] = sum;
    }
  }
  op.end();
}

// Join the carries of the long row that began before a tile, if it ends in the tile. Each warp takes a tile.
template <class Op>
__device__ __forceinline__ void join(const SparseRows<typename Op::Entry>& a, Op op, const typename Op::Sum* carries) {
  const u32 tile = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, tiles = (a.entries + TILE_ENTRIES - 1) / TILE_ENTRIES;
  const u32 begin = tile * TILE_ENTRIES, first = tile < tiles ? offsets_below(a.pointers, a.rows, begin) : 0;
  const u32 from = first > 0 ? a.pointers[first - 1] : 0, to = first > 0 ? a.pointers[first] : 0;
  if (to > begin && to - begin <= TILE_ENTRIES && to - from > SHORT_ROW) {
    const u32 from_tile = from / TILE_ENTRIES;
    const auto add = [&](typename Op::Sum& part, u32 k) { op.join(part, carries[2 * (size_t)(from_tile + k) + (k == 0)]); };
    const typename Op::Sum sum = reduce_by_warp(op, first - 1, tile - from_tile + 1, add);
    if (threadIdx.x % LANES == 0) op.finish(first - 1, sum);
  }
  op.end();
}
