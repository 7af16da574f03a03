// RPTS: partitions of a tridiagonal system, one a thread, staged through shared memory.
//
// `reduce` eliminates the inside of each partition from both ends and leaves two equations between first and last unknowns of
// neighbouring partitions; `substitute` eliminates again with known ends and solves for the inside; `finish` does both for a
// system that is one partition. Rows are scaled by powers of two, pivot rows chosen by selection, so that no thread
// takes another way than its neighbours.
//
// Source: Klein 2.5 and 2.6.
#pragma once
#include "element.cuh"

// Threads of a warp, and partitions of a block.
#define LANES 32

// A system and how it is cut: `partitions` of m rows each, the last of 2 to m + 1 rows (of n, if there is but one), none of more
// than 64: one bit of a word for each pivot.
struct Cut {
  u32 n, m, partitions, periodic;
};

__device__ __forceinline__ u32 rows_of(const Cut& cut, u32 partition) {
  return partition + 1 < cut.partitions ? cut.m : cut.n - partition * cut.m;
}

// Elements from one partition to the next in shared memory: odd, so that threads do not meet in a bank.
__device__ __forceinline__ u32 pitch_of(u32 m) { return (m + 1) | 1; }

// Rows a·x₋ + b·x + c·x₊ = d.
template <class T> struct Row {
  T a, b, c, d;
};

template <class T> __device__ __forceinline__ Row<T> backwards(Row<T> r) { return {r.c, r.b, r.a, r.d}; }

// Scales a row; `rows`: each by itself.
template <class T> __device__ __forceinline__ Row<T> scaled(Row<T> r, bool rows) {
  typedef typename Of<T>::Real R;
  const R most = larger(larger(modulus(r.a), modulus(r.b)), modulus(r.c));
  const R by = rows ? equilibrate(most) : R(1);
  return {scale(r.a, by), scale(r.b, by), scale(r.c, by), scale(r.d, by)};
}

// The rows of the partitions of one block in shared memory.
template <class T> struct Tile {
  T *a, *b, *c, *d;
  u32 pitch;

  __device__ __forceinline__ Tile(unsigned char* memory, u32 m, u32 partitions) : pitch(pitch_of(m)) {
    const u32 size = pitch * partitions;
    a = reinterpret_cast<T*>(memory);
    b = a + size;
    c = b + size;
    d = c + size;
  }
  __device__ __forceinline__ T* end() const { return d + (d - c); }
  __device__ __forceinline__ Row<T> row(u32 at) const { return {a[at], b[at], c[at], d[at]}; }
};

// Partitions of a block.
struct Span {
  u32 first, count;
};

__device__ __forceinline__ Span span_of(const Cut& cut) {
  const u32 first = blockIdx.x * LANES;
  return {first, cut.partitions - first < LANES ? cut.partitions - first : LANES};
}

// Loads the rows of the partitions, one after the other, all threads together; what is outside of the matrix is zero.
template <class T>
__device__ __forceinline__ void stage(const Tile<T>& tile, const Cut& cut, Span span, const T* a, const T* b, const T* c,
                                      const T* d, bool scale_rows) {
  const u32 first = span.first * cut.m, last = span.first + span.count - 1;
  const u32 rows = (span.count - 1) * cut.m + rows_of(cut, last);
  for (u32 k = threadIdx.x; k < rows; k += blockDim.x) {
    const u32 i = first + k, p = k / cut.m < span.count ? k / cut.m : span.count - 1;
    Row<T> r = {a[i], b[i], c[i], d[i]};
    if (i == 0 && !cut.periodic) r.a = T{};
    if (i + 1 == cut.n && !cut.periodic) r.c = T{};
    r = scaled(r, scale_rows);
    const u32 at = p * tile.pitch + (k - p * cut.m);
    tile.a[at] = r.a;
    tile.b[at] = r.b;
    tile.c[at] = r.c;
    tile.d[at] = r.d;
  }
}

// What is left of the equations of a partition on the way: spike·x₀ + near·x_j + next·x_{j+1} = rhs.
template <class T> struct Carried {
  T spike, near, next, rhs;
};

// Eliminates x_{j−1} between what is carried and row j; returns whether row j was the pivot row.
template <class T> __device__ __forceinline__ bool eliminate(Carried<T>& carried, Row<T> row, int exchange) {
  const bool swap = exchange && modulus(row.a) > modulus(carried.near);
  const T pivot = select(swap, row.a, carried.near), other = select(swap, carried.near, row.a);
  const T f = negate(times(other, reciprocal(pivot)));
  const T zero = T{};
  // Pivot row and the other one, in the unknowns x_j and x_{j+1}.
  const Carried<T> p = {select(swap, zero, carried.spike), select(swap, row.b, carried.next), select(swap, row.c, zero),
                        select(swap, row.d, carried.rhs)};
  const Carried<T> o = {select(swap, carried.spike, zero), select(swap, carried.next, row.b), select(swap, zero, row.c),
                        select(swap, carried.rhs, row.d)};
  carried = {fma_add(f, p.spike, o.spike), fma_add(f, p.near, o.near), fma_add(f, p.next, o.next), fma_add(f, p.rhs, o.rhs)};
  return swap;
}

// Eliminates the inside of a partition of `rows` rows at `at`, downwards or upwards; what is left couples the unknown at the
// end with that at the beginning (spike) and with the neighbouring partition (next).
template <class T>
__device__ __forceinline__ Carried<T> sweep(const Tile<T>& tile, u32 at, u32 rows, bool down, int exchange) {
  const u32 second = rows > 1 ? 1 : 0;
  Row<T> r = tile.row(at + (down ? second : rows - 1 - second));
  if (!down) r = backwards(r);
  Carried<T> carried = {r.a, r.b, r.c, r.d};
  for (u32 j = 2; j < rows; ++j) {
    r = tile.row(at + (down ? j : rows - 1 - j));
    if (!down) r = backwards(r);
    eliminate(carried, r, exchange);
  }
  return carried;
}

// Unknowns beside and at the ends of a partition.
template <class T> struct Ends {
  T before, first, last, after;
};

// Solves for the inside of a partition with known ends. `near`, `next` and `x` take what is carried; in the end x holds the
// solution, ends included.
template <class T>
__device__ __forceinline__ void solve_inside(const Tile<T>& tile, u32 at, u32 rows, Ends<T> ends, int exchange, T* near,
                                             T* next, T* x) {
  x[at] = ends.first;
  x[at + rows - 1] = ends.last;
  if (rows < 3) return;
  Row<T> r = tile.row(at + 1);
  Carried<T> carried = {T{}, r.b, r.c, fma_add(negate(r.a), ends.first, r.d)};
  u64 pivots = 0;
  for (u32 j = 2; j + 1 < rows; ++j) {
    near[at + j - 1] = carried.near;
    next[at + j - 1] = carried.next;
    x[at + j - 1] = carried.rhs;
    pivots |= (u64)eliminate(carried, tile.row(at + j), exchange) << (j - 1);
  }
  // The unknown before the last: what is carried or the last row, whichever has the larger coefficient.
  r = tile.row(at + rows - 1);
  const bool below = exchange && modulus(r.a) > modulus(carried.near);
  const T known = fma_add(negate(r.c), ends.after, fma_add(negate(r.b), ends.last, r.d));
  T coefficient = select(below, r.a, carried.near);
  T later = ends.last;
  T value = times(select(below, known, fma_add(negate(carried.next), ends.last, carried.rhs)), reciprocal(coefficient));
  x[at + rows - 2] = value;
  for (u32 j = rows - 3; j >= 1; --j) {
    const bool swapped = pivots >> j & 1;
    r = tile.row(at + j + 1);
    coefficient = select(swapped, r.a, near[at + j]);
    const T first = select(swapped, r.b, next[at + j]), second = select(swapped, r.c, T{});
    const T rhs = select(swapped, r.d, x[at + j]);
    const T sum = fma_add(negate(second), later, fma_add(negate(first), value, rhs));
    later = value;
    value = times(sum, reciprocal(coefficient));
    x[at + j] = value;
  }
  // The unknown after the first may follow from the first row as well.
  r = tile.row(at);
  if (exchange && modulus(r.c) > modulus(coefficient)) {
    const T rest = fma_add(negate(r.a), ends.before, fma_add(negate(r.b), ends.first, r.d));
    x[at + 1] = times(rest, reciprocal(r.c));
  }
}

// The largest of the numbers of a warp, none negative, in every lane; all lanes take part. Bits of such numbers grow with
// them, and NaN is larger than all.
template <class R> __device__ __forceinline__ R warp_peak(R v) {
  for (u32 by = LANES / 2; by > 0; by /= 2) {
    const R other = __shfl_xor_sync(0xffffffffu, v, by);
    v = bits_of(other) > bits_of(v) ? other : v;
  }
  return v;
}

// The coarse equations of all partitions: row 2p of the first, row 2p + 1 of the last unknown.
template <class T>
__device__ __forceinline__ void reduce(Cut cut, const T* a, const T* b, const T* c, const T* d, T* ca, T* cb, T* cc, T* cd,
                                       int exchange, int scale_rows) {
  SHARED_BYTES(memory);
  const Span span = span_of(cut);
  const Tile<T> tile(memory, cut.m, span.count);
  stage(tile, cut, span, a, b, c, d, scale_rows);
  __syncthreads();
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  if (warp >= 2 || lane >= span.count) return;
  const bool down = warp == 0;
  const u32 p = span.first + lane;
  const Carried<T> left = sweep(tile, lane * tile.pitch, rows_of(cut, p), down, exchange);
  const u32 row = 2 * p + down;
  ca[row] = down ? left.spike : left.next;
  cb[row] = left.near;
  cc[row] = down ? left.next : left.spike;
  cd[row] = left.rhs;
}

// Writes x and finds the largest |residual| / (Σ|a|·‖x‖ + |d|), with `x_max`, a lower bound of ‖x‖∞.
template <class T>
__device__ __forceinline__ void put(const Tile<T>& tile, const Cut& cut, Span span, const T* ends, const T* x, T* out,
                                    typename Of<T>::Real x_max, typename Bits<typename Of<T>::Real>::Word* peaks) {
  typedef typename Of<T>::Real R;
  const u32 first = span.first * cut.m, last = span.first + span.count - 1;
  const u32 rows = (span.count - 1) * cut.m + rows_of(cut, last);
  R gap = R(0), largest = R(0);
  for (u32 k = threadIdx.x; k < rows; k += blockDim.x) {
    const u32 p = k / cut.m < span.count ? k / cut.m : span.count - 1, j = k - p * cut.m, at = p * tile.pitch + j;
    const T before = j == 0 ? ends[2 * p] : x[at - 1];
    const T after = j + 1 == rows_of(cut, span.first + p) ? ends[2 * p + 1] : x[at + 1];
    const Row<T> r = tile.row(at);
    const T rest = fma_add(negate(r.c), after, fma_add(negate(r.b), x[at], fma_add(negate(r.a), before, r.d)));
    const R sum = modulus(r.a) + modulus(r.b) + modulus(r.c);
    const R size = fma_add(sum, x_max, modulus(r.d));
    const R error = size == R(0) ? modulus(rest) : modulus(rest) / size;
    gap = bits_of(error) > bits_of(gap) ? error : gap;
    largest = bits_of(modulus(x[at])) > bits_of(largest) ? modulus(x[at]) : largest;
    out[first + k] = x[at];
  }
  gap = warp_peak(gap);
  largest = warp_peak(largest);
  if (threadIdx.x % LANES == 0) {
    atomicMax(&peaks[0], bits_of(gap));
    atomicMax(&peaks[1], bits_of(largest));
  }
}

// x from the solution y of the coarse system. `peaks[0]` becomes the largest gap, `peaks[1]` the largest |x|, as bits; before
// this, `coarse_peaks[1]` is the largest |y|.
template <class T>
__device__ __forceinline__ void substitute(Cut cut, const T* a, const T* b, const T* c, const T* d, const T* y, T* out,
                                           const typename Bits<typename Of<T>::Real>::Word* coarse_peaks,
                                           typename Bits<typename Of<T>::Real>::Word* peaks, int exchange, int scale_rows) {
  SHARED_BYTES(memory);
  const Span span = span_of(cut);
  const Tile<T> tile(memory, cut.m, span.count);
  const u32 size = tile.pitch * span.count;
  T *near = tile.end(), *next = near + size, *x = next + size, *ends = x + size;
  stage(tile, cut, span, a, b, c, d, scale_rows);
  __syncthreads();
  if (threadIdx.x < span.count) {
    const u32 lane = threadIdx.x, p = span.first + lane, count = 2 * cut.partitions;
    const bool outside_before = p == 0 && !cut.periodic, outside_after = p + 1 == cut.partitions && !cut.periodic;
    const Ends<T> own = {outside_before ? T{} : y[(2 * p + count - 1) % count], y[2 * p], y[2 * p + 1],
                         outside_after ? T{} : y[(2 * p + 2) % count]};
    ends[2 * lane] = own.before;
    ends[2 * lane + 1] = own.after;
    solve_inside(tile, lane * tile.pitch, rows_of(cut, p), own, exchange, near, next, x);
  }
  __syncthreads();
  put(tile, cut, span, ends, x, out, of_bits(coarse_peaks[1]), peaks);
}

// Solves a system that is one partition: one block.
template <class T>
__device__ __forceinline__ void finish(Cut cut, const T* a, const T* b, const T* c, const T* d, T* out,
                                       typename Bits<typename Of<T>::Real>::Word* peaks, int exchange, int scale_rows) {
  SHARED_BYTES(memory);
  const Span span = {0, 1};
  const Tile<T> tile(memory, cut.m, 1);
  T *near = tile.end(), *next = near + tile.pitch, *x = next + tile.pitch, *ends = x + tile.pitch;
  stage(tile, cut, span, a, b, c, d, scale_rows);
  __syncthreads();
  if (threadIdx.x == 0) {
    const Carried<T> up = sweep(tile, 0, cut.n, false, exchange), down = sweep(tile, 0, cut.n, true, exchange);
    // The first and the last unknown are each other's neighbours in a ring.
    Row<T> first = {T{}, up.near, add(up.spike, up.next), up.rhs}, last = {add(down.spike, down.next), down.near, T{}, down.rhs};
    Ends<T> own;
    if (cut.n == 1) {
      own.first = times(first.d, reciprocal(add(first.b, add(up.spike, up.next))));
      own.last = own.first;
    } else {
      first = scaled(first, true);
      last = scaled(last, true);
      const bool swap = exchange && modulus(last.a) > modulus(first.b);
      const T pivot = select(swap, last.a, first.b), other = select(swap, first.b, last.a);
      const T f = negate(times(other, reciprocal(pivot)));
      const T p = select(swap, last.b, first.c), pd = select(swap, last.d, first.d);
      const T o = select(swap, first.c, last.b), od = select(swap, first.d, last.d);
      own.last = times(fma_add(f, pd, od), reciprocal(fma_add(f, p, o)));
      own.first = times(fma_add(negate(p), own.last, pd), reciprocal(pivot));
    }
    own.before = cut.periodic ? own.last : T{};
    own.after = cut.periodic ? own.first : T{};
    ends[0] = own.before;
    ends[1] = own.after;
    solve_inside(tile, 0, cut.n, own, exchange, near, next, x);
  }
  __syncthreads();
  put(tile, cut, span, ends, x, out, larger(modulus(x[0]), modulus(x[cut.n - 1])), peaks);
}
