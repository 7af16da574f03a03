// Solves with stored factors of a block tridiagonal matrix.
//
// The steps of the elimination are repeated for the right-hand sides only. The results are the same as those of
// `reduce` and `substitute` with matrix and right-hand sides, bit for bit.
//
// Source: Klein 2.6.10.
#pragma once
#include "rpts.cuh"

// The factors of the partitions of one level.
//
// Numbers of the same kind are adjacent for the partitions of a thread block, so that threads read them directly into
// registers. Number k of partition `lane` in the slot of block row j of a span is at ((span·(m + 1) + j)·count +
// k)·lanes + lane.
template <class T> struct Factors {
  // For each block row, the downward (0) and the upward (1) step: factors and row exchanges.
  T* steps;
  u32* swaps;
  // The pivot rows of each block row's unknowns: upper triangle with reciprocal diagonal, and coefficients of the two
  // next blocks.
  T* pivots;
  // Blocks of the rows at the ends of a partition, in this order: a of the second row, `next` before the last step, b
  // and c of the last row, b and a of the first row.
  T* ends;
  // The power of two that scales each row.
  typename Of<T>::Real* scales;
};

enum End { SECOND_A, LAST_NEXT, LAST_B, LAST_C, FIRST_B, FIRST_A, ENDS };

template <int B> struct Sizes {
  static constexpr int STEPS = steps(B, 2 * B), TRIANGLE = B * (B + 1) / 2, PIVOTS = TRIANGLE + 2 * B * B;
};

// The factors of one partition.
template <class T, int B> struct Own {
  Factors<T> factors;
  u32 span, lane, lanes, slots;

  __device__ __forceinline__ Own(const Factors<T>& factors, const Cut& cut, const Task& task, u32 lane)
      : factors(factors), span(task.system * ((cut.partitions + cut.lanes - 1) / cut.lanes) + task.span.first / cut.lanes),
        lane(lane), lanes(cut.lanes), slots(cut.m + 1) {}
  __device__ __forceinline__ size_t at(u32 slot, int count, int k) const {
    return (((size_t)span * slots + slot) * count + k) * lanes + lane;
  }
  __device__ __forceinline__ T& end(End which, int r, int s) const {
    return factors.ends[((size_t)span * (ENDS * B * B) + (which * B + r) * B + s) * lanes + lane];
  }
  __device__ __forceinline__ T& next(u32 slot, int which, int r, int s) const {
    return factors.pivots[at(slot, Sizes<B>::PIVOTS, Sizes<B>::TRIANGLE + (which * B + r) * B + s)];
  }

  __device__ __forceinline__ void put(u32 slot, int direction, const Record<T, Sizes<B>::STEPS>& record) const {
    UNROLL for (int k = 0; k < Sizes<B>::STEPS; ++k) {
      factors.steps[at(slot, 2 * Sizes<B>::STEPS, direction * Sizes<B>::STEPS + k)] = record.factors[k];
    }
    factors.swaps[at(slot, 2, direction)] = record.swaps;
  }
  __device__ __forceinline__ Record<T, Sizes<B>::STEPS> get(u32 slot, int direction) const {
    Record<T, Sizes<B>::STEPS> record;
    UNROLL for (int k = 0; k < Sizes<B>::STEPS; ++k) {
      record.factors[k] = factors.steps[at(slot, 2 * Sizes<B>::STEPS, direction * Sizes<B>::STEPS + k)];
    }
    record.swaps = factors.swaps[at(slot, 2, direction)];
    return record;
  }
  template <int ROWS, int W> __device__ __forceinline__ void put_triangle(u32 slot, const T (&v)[ROWS][W]) const {
    int k = 0;
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int s = r; s < B; ++s) {
        factors.pivots[at(slot, Sizes<B>::PIVOTS, k++)] = r == s ? reciprocal(v[r][s]) : v[r][s];
      }
    }
  }
  // Solve the triangular system of a slot. The solution replaces the first B rows of v.
  template <int ROWS, int R> __device__ __forceinline__ void solve_triangle(u32 slot, T (&v)[ROWS][R]) const {
    T u[Sizes<B>::TRIANGLE];
    UNROLL for (int k = 0; k < Sizes<B>::TRIANGLE; ++k) u[k] = factors.pivots[at(slot, Sizes<B>::PIVOTS, k)];
    UNROLL for (int r = B - 1; r >= 0; --r) {
      const int row = r * B - r * (r - 1) / 2 - r;
      UNROLL for (int c = 0; c < R; ++c) {
        T sum = v[r][c];
        UNROLL for (int s = r + 1; s < B; ++s) sum = fma_add(negate(u[row + s]), v[s][c], sum);
        v[r][c] = times(sum, u[row + r]);
      }
    }
  }
};

// Factor the partitions of a level. The coarse matrix is the same as that of `reduce`.
template <class T, int B, class Source>
__device__ __forceinline__ void factor(const Cut& cut, const Source& source, const Coarse<T>& coarse, const Factors<T>& factors,
                                       const Rule& rule) {
  SHARED_BYTES(memory);
  const Task task = task_of<1>(cut, blockIdx.x);
  const Tile<T, B, 1> tile(reinterpret_cast<T*>(memory), cut.m, task.span.count);
  stage(tile, cut, task, source, Columns<const T>{nullptr, 0}, rule.scale_rows);
  const u32 first = task.span.first * cut.m, all = rows_in(cut, task.span) * B;
  for (u32 k = threadIdx.x; k < all; k += blockDim.x) {
    T v[3 * B];
    source.of(cut, task.system).row(cut, first + k / B, k % B, v);
    factors.scales[((size_t)task.system * cut.n + first) * B + k] = row_scale(v, rule.scale_rows);
  }
  __syncthreads();
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  if (warp >= 2 || lane >= task.span.count) return;
  const Own<T, B> own(factors, cut, task, lane);
  const bool down = warp == 0;
  const u32 p = task.span.first + lane, rows = rows_of(cut, p), at = lane * tile.pitch, end = at + rows - 1;
  Carried<T, B, 1> carried = begin_sweep(tile, at, rows, down);
  // The same tests as in `solve_inside` and `reduce`.
  u32 least = least_equation<true>(carried);
  T v[2 * B][Panel<B, 1, true>::WIDTH], second[2 * B][B];
  for (u32 j = 2; j < rows; ++j) {
    Record<T, Sizes<B>::STEPS> record;
    if (down && j + 1 == rows) {
      UNROLL for (int r = 0; r < B; ++r) {
        UNROLL for (int s = 0; s < B; ++s) own.end(LAST_NEXT, r, s) = carried.next[r][s];
      }
    }
    eliminate<true>(carried, tile, at + (down ? j : rows - 1 - j), down, j + 1 == rows ? at_cut(rule) : rule, v, record);
    own.put(down ? j : rows - 1 - j, !down, record);
    if (!down) continue;
    if (j > 2) least = smaller(least, least_pivot<B>(v));
    if (j + 1 < rows) least = smaller(least, least_equation<false>(carried));
    own.put_triangle(j - 1, v);
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int s = 0; s < B; ++s) {
        own.next(j - 1, 0, r, s) = v[r][B + s];
        own.next(j - 1, 1, r, s) = v[r][2 * B + s];
        if (j == 2) second[r][s] = v[r][s];
      }
    }
  }
  if (down) {
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int s = 0; s < B; ++s) {
        if (rows > 1) own.end(SECOND_A, r, s) = tile.block(0, r, s, at + 1);
        own.end(LAST_B, r, s) = tile.block(1, r, s, end);
        own.end(LAST_C, r, s) = tile.block(2, r, s, end);
        own.end(FIRST_B, r, s) = tile.block(1, r, s, at);
        own.end(FIRST_A, r, s) = tile.block(0, r, s, at);
        second[B + r][s] = tile.block(2, r, s, at);
      }
    }
    if (rows > 2) {
      // The unknowns after the first ones also follow from the first row.
      Record<T, Sizes<B>::STEPS> record;
      eliminate_columns<B, B>(second, rule, record);
      least = smaller(least, least_pivot<B>(second));
      own.put(0, 0, record);
      own.put_triangle(0, second);
    }
  }
  least = smaller(least, least_equation<true>(carried));
  if (least <= nothing_in(tile, at, rows, rule)) suspect(rule.suspects, task.system);
  const CoarseRow<T, B, 1> left(carried, down);
  const size_t row = (size_t)task.system * (2 * cut.partitions) + 2 * p + down;
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int s = 0; s < B; ++s) {
      coarse.a[(row * B + s) * B + r] = left.v[r][s];
      coarse.b[(row * B + s) * B + r] = left.v[r][B + s];
      coarse.c[(row * B + s) * B + r] = left.v[r][2 * B + s];
    }
  }
}

// The right-hand sides of the partitions of a thread block in shared memory. The solutions replace them.
template <class T, int B, int R> struct Vectors {
  static constexpr bool HAS_ROWS = false;
  T* first;
  u32 count, pitch, size;

  __device__ __forceinline__ Vectors(T* memory, u32 m, u32 partitions)
      : first(memory), count(partitions), pitch(pitch_of(m)), size(pitch * partitions) {}
  __device__ __forceinline__ T& x(int r, int column, u32 place) const { return first[(column * B + r) * size + place]; }
  __device__ __forceinline__ T& end(int side, int r, int column, u32 lane) const {
    return first[B * R * size + ((side * R + column) * B + r) * count + lane];
  }
};

template <class T, int B, int R>
__device__ __forceinline__ void stage(const Vectors<T, B, R>& tile, const Cut& cut, const Task& task,
                                      const Columns<const T>& rhs, const Factors<T>& factors) {
  const Columns<const T> d = rhs.of(cut, task.system, task.column);
  const u32 first = task.span.first * cut.m, rows = rows_in(cut, task.span) * B;
  const Places places(cut, task.span, tile.pitch);
  for (u32 k = threadIdx.x; k < rows; k += blockDim.x) {
    const size_t row = (size_t)first * B + k;
    const u32 at = places.of(k / B).at;
    const typename Of<T>::Real by = factors.scales[(size_t)task.system * cut.n * B + row];
    UNROLL for (int c = 0; c < R; ++c) {
      const bool there = c < (int)task.columns && row < cut.rows;
      T e = T{};
      if (there) e = d.first[c * d.step + row];
      tile.x((int)(k % B), c, at) = scale(e, by);
    }
  }
}

// Repeat one step of an elimination for right-hand sides: the carried ones, and those of the block row at `place`. v
// receives those of the pivot rows.
template <class T, int B, int R>
__device__ __forceinline__ void repeat_step(const Own<T, B>& own, u32 slot, int direction, const Vectors<T, B, R>& tile,
                                            u32 place, T (&carried)[B][R], T (&v)[2 * B][R]) {
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) {
      v[r][c] = carried[r][c];
      v[B + r][c] = tile.x(r, c, place);
    }
  }
  repeat_elimination<B>(v, own.get(slot, direction));
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) carried[r][c] = v[B + r][c];
  }
}

// Compute the coarse right-hand sides with stored factors.
template <class T, int B, int R>
__device__ __forceinline__ void reduce_factored(const Cut& cut, const Columns<const T>& rhs, const Columns<T>& coarse,
                                                const Factors<T>& factors) {
  SHARED_BYTES(memory);
  const Task task = task_of<R>(cut, blockIdx.x);
  const Vectors<T, B, R> tile(reinterpret_cast<T*>(memory), cut.m, task.span.count);
  stage(tile, cut, task, rhs, factors);
  __syncthreads();
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  if (warp >= 2 || lane >= task.span.count) return;
  const Own<T, B> own(factors, cut, task, lane);
  const bool down = warp == 0;
  const u32 p = task.span.first + lane, rows = rows_of(cut, p), at = lane * tile.pitch;
  const u32 second = rows > 1 ? 1 : 0;
  T carried[B][R], v[2 * B][R];
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) carried[r][c] = tile.x(r, c, at + (down ? second : rows - 1 - second));
  }
  for (u32 j = 2; j < rows; ++j) {
    const u32 slot = down ? j : rows - 1 - j;
    repeat_step(own, slot, !down, tile, at + slot, carried, v);
  }
  const size_t row = ((size_t)task.system * (2 * cut.partitions) + 2 * p + down) * B;
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) {
      if (c < (int)task.columns) coarse.first[(task.column + c) * coarse.step + row + r] = carried[r][c];
    }
  }
}

// sums − block·x, for a block at one of the ends of the partition.
template <class T, int B, int R>
__device__ __forceinline__ void subtract_end(const Own<T, B>& own, End which, const T (&x)[B][R], T* sums) {
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int s = 0; s < B; ++s) {
      const T e = negate(own.end(which, r, s));
      UNROLL for (int c = 0; c < R; ++c) sums[r * R + c] = fma_add(e, x[s][c], sums[r * R + c]);
    }
  }
}

// Solve for the inner unknowns of a partition with known ends and stored factors.
template <class T, int B, int R>
__device__ __forceinline__ void solve_inside_factored(const Own<T, B>& own, const Vectors<T, B, R>& tile, u32 at, u32 rows,
                                                      const Ends<T, B, R>& ends) {
  const u32 end = at + rows - 1;
  if (rows > 2) {
    T carried[B][R], v[2 * B][R], value[B][R], later[B][R] = {};
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int c = 0; c < R; ++c) carried[r][c] = tile.x(r, c, at + 1);
    }
    subtract_end(own, SECOND_A, ends.first, &carried[0][0]);
    for (u32 j = 2; j + 1 < rows; ++j) {
      repeat_step(own, j, 0, tile, at + j, carried, v);
      UNROLL for (int r = 0; r < B; ++r) {
        UNROLL for (int c = 0; c < R; ++c) tile.x(r, c, at + j - 1) = v[r][c];
      }
    }
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int c = 0; c < R; ++c) {
        v[r][c] = carried[r][c];
        v[B + r][c] = tile.x(r, c, end);
        value[r][c] = ends.last[r][c];
      }
    }
    subtract_end(own, LAST_NEXT, ends.last, &v[0][0]);
    subtract_end(own, LAST_B, ends.last, &v[B][0]);
    subtract_end(own, LAST_C, ends.after, &v[B][0]);
    repeat_elimination<B>(v, own.get(rows - 1, 0));
    for (u32 j = rows - 2; j >= 1; --j) {
      if (j < rows - 2) {
        UNROLL for (int r = 0; r < B; ++r) {
          UNROLL for (int c = 0; c < R; ++c) v[r][c] = tile.x(r, c, at + j);
          UNROLL for (int s = 0; s < B; ++s) {
            const T e = negate(own.next(j, 0, r, s));
            UNROLL for (int c = 0; c < R; ++c) v[r][c] = fma_add(e, value[s][c], v[r][c]);
          }
          UNROLL for (int s = 0; s < B; ++s) {
            const T e = negate(own.next(j, 1, r, s));
            UNROLL for (int c = 0; c < R; ++c) v[r][c] = fma_add(e, later[s][c], v[r][c]);
          }
        }
      }
      if (j == 1) {
        UNROLL for (int r = 0; r < B; ++r) {
          UNROLL for (int c = 0; c < R; ++c) v[B + r][c] = tile.x(r, c, at);
        }
        subtract_end(own, FIRST_B, ends.first, &v[B][0]);
        subtract_end(own, FIRST_A, ends.before, &v[B][0]);
        repeat_elimination<B>(v, own.get(0, 0));
      }
      own.solve_triangle(j == 1 ? 0 : j, v);
      UNROLL for (int r = 0; r < B; ++r) {
        UNROLL for (int c = 0; c < R; ++c) {
          later[r][c] = value[r][c];
          value[r][c] = v[r][c];
          tile.x(r, c, at + j) = v[r][c];
        }
      }
    }
  }
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) {
      tile.x(r, c, at) = ends.first[r][c];
      tile.x(r, c, end) = ends.last[r][c];
    }
  }
}

// Compute x from the solution y of the coarse system with stored factors. `source` is used for the residuals.
template <class T, int B, int R, class Source>
__device__ __forceinline__ void substitute_factored(const Cut& cut, const Source& source, const Columns<const T>& rhs,
                                                    const Columns<const T>& y, const Columns<T>& out,
                                                    const Factors<T>& factors, const Peaks<T>& coarse_peaks,
                                                    const Peaks<T>& peaks, const Rule& rule) {
  SHARED_BYTES(memory);
  const Task task = task_of<R>(cut, blockIdx.x);
  const Vectors<T, B, R> tile(reinterpret_cast<T*>(memory), cut.m, task.span.count);
  stage(tile, cut, task, rhs, factors);
  __syncthreads();
  if (threadIdx.x < task.span.count) {
    const u32 lane = threadIdx.x;
    const Ends<T, B, R> ends = ends_of<T, B, R>(tile, cut, task, lane, y);
    const Own<T, B> own(factors, cut, task, lane);
    solve_inside_factored(own, tile, lane * tile.pitch, rows_of(cut, task.span.first + lane), ends);
  }
  __syncthreads();
  put_knowing<T, B, R>(tile, cut, task, source, rhs, out, coarse_peaks, peaks, rule);
}
