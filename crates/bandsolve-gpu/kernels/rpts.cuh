// RPTS: partitions of a block tridiagonal system, one per thread, staged through shared memory.
//
// `reduce` eliminates the inner unknowns of each partition from both ends. The remaining equations couple the first and
// last unknowns of neighboring partitions. `substitute` eliminates again with known ends, and solves for the inner
// unknowns. `finish` does both for systems that fit in one thread block. Rows are scaled by powers of two. Pivot rows
// are chosen by selection, so that threads do not diverge.
//
// Source: Klein 2.5 and 2.6.
#pragma once
#include "system.cuh"

// The carried equations of a partition: spike·x₀ + near·x_j + next·x_{j+1} = rhs.
template <class T, int B, int R> struct Carried {
  T spike[B][B], near[B][B], next[B][B], rhs[B][R];
  // Whether the previous pivot row was the new row. With diagonal pivoting, the current row is then the second one of a
  // 2×2 pivot.
  bool taken = false;
};

// Whether a 2×2 pivot begins. The row (a, b, c) is then the pivot row of the first unknown, and the second has no
// choice. No division by a small `near` occurs. Source: Chang, thesis, chapter 3.
template <class T> __device__ __forceinline__ bool begins_pair(T near, T next, T a, T b, T c, bool taken) {
  typedef typename Of<T>::Real R;
  const R kappa = R(0.618033988749894848);
  const R sigma = larger(larger(modulus(a), modulus(b)), larger(modulus(c), modulus(next)));
  return !taken && modulus(a) * modulus(next) * kappa > modulus(near) * sigma;
}

// The columns of a panel: x_{j−1}, x_j, x_{j+1}, x₀ if spikes are carried, and right-hand sides.
template <int B, int R, bool SPIKE> struct Panel {
  static constexpr int RHS = (SPIKE ? 4 : 3) * B, WIDTH = RHS + R;
};

// Eliminate x_{j−1} between the carried equations (rows 0 … B − 1 of v) and block row j at `place` (the other rows).
// The pivot rows remain in v. Returns whether the last pivot row is from block row j.
template <bool SPIKE, class T, int B, int R, bool KEEPS, class Pivots, class Keep>
__device__ __forceinline__ bool eliminate(Carried<T, B, R>& carried, const Tile<T, B, R, KEEPS>& tile, u32 place, bool down,
                                          const Pivots& rule, T (&v)[2 * B][Panel<B, R, SPIKE>::WIDTH], Keep& record) {
  constexpr int RHS = Panel<B, R, SPIKE>::RHS;
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int s = 0; s < B; ++s) {
      v[r][s] = carried.near[r][s];
      v[r][B + s] = carried.next[r][s];
      v[r][2 * B + s] = T{};
      v[B + r][s] = tile.block(down ? 0 : 2, r, s, place);
      v[B + r][B + s] = tile.block(1, r, s, place);
      v[B + r][2 * B + s] = tile.block(down ? 2 : 0, r, s, place);
      if (SPIKE) {
        v[r][RHS - B + s] = carried.spike[r][s];
        v[B + r][RHS - B + s] = T{};
      }
    }
    UNROLL for (int c = 0; c < R; ++c) {
      v[r][RHS + c] = carried.rhs[r][c];
      v[B + r][RHS + c] = tile.rhs(r, c, place);
    }
  }
  bool swap;
  if constexpr (B == 1 && !Pivots::IS_CONSTANT) {
    Rule chosen = rule;
    if (rule.exchange == DIAGONAL) {
      chosen.exchange = begins_pair(v[0][0], v[0][1], v[1][0], v[1][1], v[1][2], carried.taken) ? FORCED : NEVER;
    }
    swap = eliminate_columns<B, B>(v, chosen, record);
  } else {
    swap = eliminate_columns<B, B>(v, rule, record);
  }
  carried.taken = swap;
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int s = 0; s < B; ++s) {
      carried.near[r][s] = v[B + r][B + s];
      carried.next[r][s] = v[B + r][2 * B + s];
      if (SPIKE) carried.spike[r][s] = v[B + r][RHS - B + s];
    }
    UNROLL for (int c = 0; c < R; ++c) carried.rhs[r][c] = v[B + r][RHS + c];
  }
  return swap;
}

// The block row with which a sweep begins, for a partition of `rows` block rows at `at`.
template <class T, int B, int R>
__device__ __forceinline__ Carried<T, B, R> begin_sweep(const Tile<T, B, R>& tile, u32 at, u32 rows, bool down) {
  const u32 second = rows > 1 ? 1 : 0, begin = at + (down ? second : rows - 1 - second);
  Carried<T, B, R> carried;
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int s = 0; s < B; ++s) {
      carried.spike[r][s] = tile.block(down ? 0 : 2, r, s, begin);
      carried.near[r][s] = tile.block(1, r, s, begin);
      carried.next[r][s] = tile.block(down ? 2 : 0, r, s, begin);
    }
    UNROLL for (int c = 0; c < R; ++c) carried.rhs[r][c] = tile.rhs(r, c, begin);
  }
  return carried;
}

// Eliminate the inner unknowns of a partition, downwards or upwards. The remaining equations couple the unknowns at the
// end with those at the beginning (spike) and with the neighboring partition (next).
template <class T, int B, int R, class Pivots>
__device__ __forceinline__ Carried<T, B, R> sweep(const Tile<T, B, R>& tile, u32 at, u32 rows, bool down, const Pivots& rule) {
  Carried<T, B, R> carried = begin_sweep(tile, at, rows, down);
  T v[2 * B][Panel<B, R, true>::WIDTH];
  Forget nothing;
  for (u32 j = 2; j < rows; ++j) {
    eliminate<true>(carried, tile, at + (down ? j : rows - 1 - j), down, j + 1 == rows ? at_cut(rule) : rule, v, nothing);
  }
  return carried;
}

// The rank up to which pivots and equations of a partition count as vanishing.
template <class T, int B, int R, bool KEEPS, class Pivots>
__device__ __forceinline__ u32 nothing_in(const Tile<T, B, R, KEEPS>& tile, u32 at, u32 rows, const Pivots& rule) {
  typedef typename Of<T>::Real Real;
  if (rule.scale_rows) return NOTHING<Real>;
  u32 most = 0;
  for (u32 j = 0; j < rows; ++j) {
    UNROLL for (int k = 0; k < 3 * B * B; ++k) most = larger(most, rank(tile.at(k, at + j)));
  }
  return nothing_up_to<Real>(most);
}

// The smallest rank of the remaining equations.
template <bool SPIKE, class T, int B, int R> __device__ __forceinline__ u32 least_equation(const Carried<T, B, R>& left) {
  u32 least = ~0u;
  UNROLL for (int r = 0; r < B; ++r) {
    const u32 most = larger(largest_rank(left.near[r]), largest_rank(left.next[r]));
    least = smaller(least, SPIKE ? larger(most, largest_rank(left.spike[r])) : most);
  }
  return least;
}

// Block row `row` of the coarse system: the result of a sweep.
template <class T, int B, int R> struct CoarseRow {
  T v[B][3 * B + R];

  __device__ __forceinline__ CoarseRow(const Carried<T, B, R>& left, bool down) {
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int s = 0; s < B; ++s) {
        v[r][s] = down ? left.spike[r][s] : left.next[r][s];
        v[r][B + s] = left.near[r][s];
        v[r][2 * B + s] = down ? left.next[r][s] : left.spike[r][s];
      }
      UNROLL for (int c = 0; c < R; ++c) v[r][3 * B + c] = left.rhs[r][c];
    }
  }
};

// The unknowns next to a partition and at its ends.
template <class T, int B, int R> struct Ends {
  T before[B][R], first[B][R], last[B][R], after[B][R];
};

// sum − block·x
template <class T, int B, int R, bool KEEPS>
__device__ __forceinline__ T without(const Tile<T, B, R, KEEPS>& tile, int which, int r, u32 place, const T (&x)[B][R], int c, T sum) {
  UNROLL for (int s = 0; s < B; ++s) sum = fma_add(negate(tile.block(which, r, s, place)), x[s][c], sum);
  return sum;
}

// Store the pivot rows of x_j at `place`. If the tile keeps its rows, store the previous carried equation, because the
// other candidate is already stored.
template <class T, int B, int R, bool KEEPS, class Pivots>
__device__ __forceinline__ void keep(const Tile<T, B, R, KEEPS>& tile, u32 place, const Carried<T, B, R>& before,
                                     const T (&v)[2 * B][Panel<B, R, false>::WIDTH], const Pivots& rule) {
  if constexpr (Tile<T, B, R, KEEPS>::HAS_ROWS) {
    tile.at(Tile<T, B, R, KEEPS>::NEAR, place) = denoised(before.near[0][0], rule);
    tile.at(Tile<T, B, R, KEEPS>::NEXT, place) = before.next[0][0];
    UNROLL for (int c = 0; c < R; ++c) tile.x(0, c, place) = before.rhs[0][c];
  } else {
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int s = 0; s < 3 * B; ++s) tile.block(s / B, r, s % B, place) = v[r][s];
      UNROLL for (int c = 0; c < R; ++c) tile.rhs(r, c, place) = v[r][3 * B + c];
    }
  }
}

// The rows that determine x_j at `place`, given the next two blocks of unknowns: coefficients and right-hand sides.
template <class T, int B, int R, bool KEEPS>
__device__ __forceinline__ void kept(const Tile<T, B, R, KEEPS>& tile, u32 place, bool below, const T (&value)[B][R],
                                     const T (&later)[B][R], T (&v)[2 * B][B + R]) {
  UNROLL for (int r = 0; r < B; ++r) {
    if constexpr (Tile<T, B, R, KEEPS>::HAS_ROWS) {
      const T next = select(below, tile.block(1, 0, 0, place + 1), tile.at(Tile<T, B, R, KEEPS>::NEXT, place));
      const T second = select(below, tile.block(2, 0, 0, place + 1), T{});
      v[0][0] = select(below, tile.block(0, 0, 0, place + 1), tile.at(Tile<T, B, R, KEEPS>::NEAR, place));
      UNROLL for (int c = 0; c < R; ++c) {
        const T rhs = select(below, tile.rhs(0, c, place + 1), tile.x(0, c, place));
        v[0][1 + c] = fma_add(negate(second), later[0][c], fma_add(negate(next), value[0][c], rhs));
      }
    } else {
      UNROLL for (int s = 0; s < B; ++s) v[r][s] = tile.block(0, r, s, place);
      UNROLL for (int c = 0; c < R; ++c) {
        v[r][B + c] = without(tile, 2, r, place, later, c, without(tile, 1, r, place, value, c, tile.rhs(r, c, place)));
      }
    }
  }
}

// Solve for the inner unknowns of a partition with known ends. At the end, x in the tile contains the solution,
// including the ends. Returns whether a pivot or a carried equation vanished.
template <class T, int B, int R, bool KEEPS, class Pivots>
__device__ __forceinline__ bool solve_inside(const Tile<T, B, R, KEEPS>& tile, u32 at, u32 rows, const Ends<T, B, R>& ends,
                                             const Pivots& rule) {
  const u32 end = at + rows - 1;
  const u32 nothing = nothing_in(tile, at, rows, rule);
  u32 least = ~0u;
  u64 below = 0;
  if (rows > 2) {
    Carried<T, B, R> carried;
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int s = 0; s < B; ++s) {
        carried.spike[r][s] = tile.block(0, r, s, at + 1);
        carried.near[r][s] = tile.block(1, r, s, at + 1);
        carried.next[r][s] = tile.block(2, r, s, at + 1);
      }
      UNROLL for (int c = 0; c < R; ++c) {
        carried.rhs[r][c] = without(tile, 0, r, at + 1, ends.first, c, tile.rhs(r, c, at + 1));
      }
    }
    // The first equation may contain only known unknowns.
    least = least_equation<true>(carried);
    for (u32 j = 2; j + 1 < rows; ++j) {
      const Carried<T, B, R> before = carried;
      T v[2 * B][Panel<B, R, false>::WIDTH];
      Forget nothing;
      below |= (u64)eliminate<false>(carried, tile, at + j, true, rule, v, nothing) << (j - 1);
      keep(tile, at + j - 1, before, v, rule);
      least = smaller(least, least_equation<false>(carried));
    }
    // The unknowns before the last ones follow from the carried equations and from the last row.
    T v[2 * B][B + R], value[B][R], later[B][R];
    UNROLL for (int r = 0; r < B; ++r) {
      UNROLL for (int s = 0; s < B; ++s) {
        v[r][s] = carried.near[r][s];
        v[B + r][s] = tile.block(0, r, s, end);
      }
      UNROLL for (int c = 0; c < R; ++c) {
        T sum = carried.rhs[r][c];
        UNROLL for (int s = 0; s < B; ++s) sum = fma_add(negate(carried.next[r][s]), ends.last[s][c], sum);
        v[r][B + c] = sum;
        v[B + r][B + c] = without(tile, 2, r, end, ends.after, c, without(tile, 1, r, end, ends.last, c, tile.rhs(r, c, end)));
        value[r][c] = ends.last[r][c];
      }
    }
    eliminate_columns<B, B>(v, rule);
    for (u32 j = rows - 2; j >= 1; --j) {
      if (j < rows - 2) kept(tile, at + j, below >> j & 1, value, later, v);
      if (j == 1) {
        // The unknowns after the first ones may also follow from the first row.
        UNROLL for (int r = 0; r < B; ++r) {
          UNROLL for (int s = 0; s < B; ++s) v[B + r][s] = tile.block(2, r, s, at);
          UNROLL for (int c = 0; c < R; ++c) {
            v[B + r][B + c] = without(tile, 0, r, at, ends.before, c, without(tile, 1, r, at, ends.first, c, tile.rhs(r, c, at)));
          }
        }
        eliminate_columns<B, B>(v, rule);
      }
      least = smaller(least, least_pivot<B>(v));
      back_substitute<B, R>(v);
      UNROLL for (int r = 0; r < B; ++r) {
        UNROLL for (int c = 0; c < R; ++c) {
          later[r][c] = value[r][c];
          value[r][c] = v[r][B + c];
          tile.x(r, c, at + j) = value[r][c];
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
  return least <= nothing;
}

// The coarse system in memory.
template <class T> struct Coarse {
  T *a, *b, *c;
  Columns<T> d;
};

// The coarse equations of the partitions of a thread block: block row 2p for the first unknowns, block row 2p + 1 for
// the last ones.
template <class T, int B, int R, class Pivots>
__device__ __forceinline__ void reduce_tile(const Tile<T, B, R>& tile, const Cut& cut, const Task& task, const Coarse<T>& coarse,
                                            const Pivots& rule) {
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  if (warp >= 2 || lane >= task.span.count) return;
  const bool down = warp == 0;
  const u32 p = task.span.first + lane, row = 2 * p + down, at = lane * tile.pitch;
  const Carried<T, B, R> carried = sweep(tile, at, rows_of(cut, p), down, rule);
  if (least_equation<true>(carried) <= nothing_in(tile, at, rows_of(cut, p), rule)) suspect(rule.suspects, task.system);
  const CoarseRow<T, B, R> left(carried, down);
  const size_t rows = (size_t)task.system * (2 * cut.partitions) + row;
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int s = 0; s < B; ++s) {
      if (task.column == 0) {
        coarse.a[(rows * B + s) * B + r] = left.v[r][s];
        coarse.b[(rows * B + s) * B + r] = left.v[r][B + s];
        coarse.c[(rows * B + s) * B + r] = left.v[r][2 * B + s];
      }
    }
    UNROLL for (int c = 0; c < R; ++c) {
      if (c < (int)task.columns) coarse.d.first[(task.column + c) * coarse.d.step + rows * B + r] = left.v[r][3 * B + c];
    }
  }
}

// Compute the coarse system of all partitions.
template <class T, int B, int R, class Source, class Rhs, class Pivots>
__device__ __forceinline__ void reduce(const Cut& cut, const Source& source, const Rhs& rhs, const Coarse<T>& coarse,
                                       const Pivots& rule) {
  SHARED_BYTES(memory);
  const Task task = task_of<R>(cut, blockIdx.x);
  const Tile<T, B, R> tile(reinterpret_cast<T*>(memory), cut.m, task.span.count);
  stage(tile, cut, task, source, rhs, rule.scale_rows);
  __syncthreads();
  reduce_tile(tile, cut, task, coarse, rule);
}

// The largest number of a warp, in every lane. The numbers must not be negative, and all lanes must take part. The bits
// of such numbers increase with the numbers, and NaN is larger than all others.
template <class R> __device__ __forceinline__ R warp_peak(R v) {
  for (u32 by = LANES / 2; by > 0; by /= 2) {
    const R other = from_lane_xor(v, by);
    v = bits_of(other) > bits_of(v) ? other : v;
  }
  return v;
}

// The measurements of a solution, for each column of each system: the largest backward error, the largest |x|, and the
// largest |right-hand side| of scaled rows, as bits. In addition, a list of inaccurate rows.
template <class T> struct Peaks {
  typedef typename Of<T>::Real R;
  typedef typename Bits<R>::Word Word;
  Word *gap, *size, *rhs;
  // The number of rows with an error above `limit`, and whether the repair changed the largest |x|. Null: no list.
  u32* bad;
  // The columns and numbers of these rows, as many as there is room for.
  u32* rows;
  double limit;
  u32 room;

  // The backward error of a row as it counts for the column: zero if the row is in the list, because it will be
  // repaired.
  __device__ __forceinline__ R noted(R error, u32 column, u32 row) const {
    if (!bad || !(error > R(limit) && error < R(1))) return error;
    const u32 k = atomicAdd(bad, 1u);
    if (k >= room) return error;
    rows[2 * (size_t)k] = column;
    rows[2 * (size_t)k + 1] = row;
    return R(0);
  }

  // All lanes of a warp must take part. Atomic operations on one word run one after another, and the peak only grows. A
  // warp below the present peak therefore needs no atomic operation.
  __device__ __forceinline__ static void raise(Word* at, R v) {
    v = warp_peak(v);
    if (threadIdx.x % LANES == 0 && bits_of(v) > load_relaxed(at)) atomicMax(at, bits_of(v));
  }
};

// The backward error of a scalar row, relative to the largest known |x|.
template <class T>
__device__ __forceinline__ typename Of<T>::Real gap_of(const T (&r)[3], T d, T before, T x, T after, typename Of<T>::Real x_max) {
  const T rest = fma_add(negate(r[2]), after, fma_add(negate(r[1]), x, fma_add(negate(r[0]), before, d)));
  return backward_error(rest, absolute(r[0]) + absolute(r[1]) + absolute(r[2]), x_max, d);
}

// Write x, and compute the largest |residual| / (Σ|a|·‖x‖ + |d|) with `x_max`, lower bounds of ‖x‖∞. Without
// `peaks.gap`, only write x.
template <class T, int B, int R, class Source, class Rhs, class Tile>
__device__ __forceinline__ void put(const Tile& tile, const Cut& cut, const Task& task, const Source& source, const Rhs& rhs,
                                    const Columns<T>& out, const typename Of<T>::Real (&x_max)[R],
                                    const Peaks<T>& peaks, bool scale_rows) {
  typedef typename Of<T>::Real Real;
  const Columns<T> x = out.of(cut, task.system, task.column);
  const u32 first = task.span.first * cut.m, rows = rows_in(cut, task.span) * B;
  const Places places(cut, task.span, tile.pitch);
  Real gap[R] = {}, largest[R] = {}, most[R] = {};
  // A thread loads this number of rows again before it needs the first one.
  constexpr int AHEAD = Tile::HAS_ROWS ? 1 : rows_ahead<T>(3 * B + R);
  for (u32 begin = threadIdx.x; begin < rows; begin += AHEAD * blockDim.x) {
    T v[AHEAD][3 * B] = {}, d[AHEAD][R] = {};
    if constexpr (!Tile::HAS_ROWS) {
      const Source own = source.of(cut, task.system);
      const Columns<const T> given = rhs.of(cut, task.system, task.column);
      UNROLL for (int u = 0; u < AHEAD; ++u) {
        const u32 k = begin + u * blockDim.x, r = k % B, i = first + k / B;
        const size_t row = (size_t)i * B + r;
        // x may replace the right-hand side, row by row, so that a thread may load only its own rows.
        if (k >= rows || !peaks.gap) break;
        own.row(cut, i, r, v[u]);
        UNROLL for (int c = 0; c < R; ++c) {
          if (c < (int)task.columns && row < cut.rows) d[u][c] = given.first[c * given.step + row];
        }
      }
    }
    UNROLL for (int u = 0; u < AHEAD; ++u) {
      const u32 k = begin + u * blockDim.x, r = k % B, i = first + k / B;
      if (k >= rows) break;
      const Place place = places.of(k / B);
      const bool top = place.j == 0, bottom = place.j + 1 == rows_of(cut, task.span.first + place.partition);
      const size_t row = (size_t)i * B + r;
      if (row >= cut.rows) continue;
      Real sum = Real(0);
      if constexpr (Tile::HAS_ROWS) {
        UNROLL for (int s = 0; s < 3; ++s) v[u][s] = tile.block(s, 0, 0, place.at);
        UNROLL for (int c = 0; c < R; ++c) d[u][c] = tile.rhs(0, c, place.at);
      } else {
        const Real by = row_scale(v[u], scale_rows);
        UNROLL for (int s = 0; s < 3 * B; ++s) v[u][s] = scale(v[u][s], by);
        UNROLL for (int c = 0; c < R; ++c) d[u][c] = scale(d[u][c], by);
      }
      UNROLL for (int s = 0; s < 3 * B; ++s) sum = sum + absolute(v[u][s]);
      UNROLL for (int c = 0; c < R; ++c) {
        const T value = tile.x((int)r, c, place.at);
        if (c >= (int)task.columns) break;
        x.first[c * x.step + row] = value;
        if (!peaks.gap) continue;
        T rest = d[u][c];
        UNROLL for (int s = 0; s < B; ++s) {
          const T before = top ? tile.end(0, s, c, place.partition) : tile.x(s, c, place.at - 1);
          rest = fma_add(negate(v[u][s]), before, rest);
        }
        UNROLL for (int s = 0; s < B; ++s) rest = fma_add(negate(v[u][B + s]), tile.x(s, c, place.at), rest);
        UNROLL for (int s = 0; s < B; ++s) {
          const T after = bottom ? tile.end(1, s, c, place.partition) : tile.x(s, c, place.at + 1);
          rest = fma_add(negate(v[u][2 * B + s]), after, rest);
        }
        const u32 column = task.system * cut.columns + task.column + c;
        gap[c] = larger_bits(gap[c], peaks.noted(backward_error(rest, sum, x_max[c], d[u][c]), column, (u32)row));
        largest[c] = larger_bits(largest[c], absolute(value));
        most[c] = larger_bits(most[c], absolute(d[u][c]));
      }
    }
  }
  if (!peaks.gap) return;
  UNROLL for (int c = 0; c < R; ++c) {
    if (c >= (int)task.columns) break;
    const u32 column = task.system * cut.columns + task.column + c;
    peaks.raise(peaks.gap + column, gap[c]);
    peaks.raise(peaks.size + column, largest[c]);
    peaks.raise(peaks.rhs + column, most[c]);
  }
}

// The unknowns next to a partition and at its ends, from the solution y of the coarse system. Those next to it are also
// stored for the residuals.
template <class T, int B, int R, class Tile>
__device__ __forceinline__ Ends<T, B, R> ends_of(const Tile& tile, const Cut& cut, const Task& task, u32 lane,
                                                 const Columns<const T>& y) {
  const u32 p = task.span.first + lane, count = 2 * cut.partitions;
  const bool outside[4] = {p == 0 && !cut.periodic, false, false, p + 1 == cut.partitions && !cut.periodic};
  const u32 rows[4] = {(2 * p + count - 1) % count, 2 * p, 2 * p + 1, (2 * p + 2) % count};
  Ends<T, B, R> ends;
  T(*const sides[4])[R] = {ends.before, ends.first, ends.last, ends.after};
  UNROLL for (int k = 0; k < 4; ++k) {
    UNROLL for (int c = 0; c < R; ++c) {
      const T* column = y.first + (task.column + c) * y.step + (size_t)task.system * count * B;
      UNROLL for (int r = 0; r < B; ++r) {
        T e = T{};
        if (!outside[k] && c < (int)task.columns) e = column[rows[k] * B + r];
        sides[k][r][c] = e;
      }
    }
  }
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) {
      tile.end(0, r, c, lane) = ends.before[r][c];
      tile.end(1, r, c, lane) = ends.after[r][c];
    }
  }
  return ends;
}

// `put` with the largest unknowns of the coarse system as lower bounds of ‖x‖∞.
template <class T, int B, int R, class Source, class Rhs, class Tile, class Pivots>
__device__ __forceinline__ void put_knowing(const Tile& tile, const Cut& cut, const Task& task, const Source& source,
                                            const Rhs& rhs, const Columns<T>& out, const Peaks<T>& coarse_peaks,
                                            const Peaks<T>& peaks, const Pivots& rule) {
  typename Of<T>::Real x_max[R] = {};
  UNROLL for (int c = 0; c < R; ++c) {
    if (peaks.gap && c < (int)task.columns) {
      x_max[c] = of_bits(coarse_peaks.size[task.system * cut.columns + task.column + c]);
    }
  }
  put<T, B>(tile, cut, task, source, rhs, out, x_max, peaks, rule.scale_rows);
}

// Compute x from the solution y of the coarse system, for the staged partitions of a thread block. Raises `peaks`.
// `coarse_peaks.size` must contain the largest |y|.
template <class T, int B, int R, bool KEEPS, class Source, class Rhs, class Pivots>
__device__ __forceinline__ void substitute_tile(const Tile<T, B, R, KEEPS>& tile, const Cut& cut, const Task& task, const Source& source,
                                                const Rhs& rhs, const Columns<const T>& y, const Columns<T>& out,
                                                const Peaks<T>& coarse_peaks, const Peaks<T>& peaks, const Pivots& rule) {
  if (threadIdx.x < task.span.count) {
    const u32 lane = threadIdx.x;
    const Ends<T, B, R> ends = ends_of<T, B, R>(tile, cut, task, lane, y);
    const bool nothing = solve_inside(tile, lane * tile.pitch, rows_of(cut, task.span.first + lane), ends, rule);
    if (nothing) suspect(rule.suspects, task.system);
  }
  __syncthreads();
  put_knowing<T, B, R>(tile, cut, task, source, rhs, out, coarse_peaks, peaks, rule);
}

// Compute x from the solution y of the coarse system, for all partitions.
template <class T, int B, int R, class Source, class Rhs, class Pivots>
__device__ __forceinline__ void substitute(const Cut& cut, const Source& source, const Rhs& rhs, const Columns<const T>& y,
                                           const Columns<T>& out, const Peaks<T>& coarse_peaks, const Peaks<T>& peaks,
                                           const Pivots& rule) {
  SHARED_BYTES(memory);
  const Task task = task_of<R>(cut, blockIdx.x);
  // Less shared memory means more thread blocks at the same time, which pays for rows that are loaded again.
  const Tile<T, B, R, !Rhs::CAN_RELOAD> tile(reinterpret_cast<T*>(memory), cut.m, task.span.count);
  stage(tile, cut, task, source, rhs, rule.scale_rows);
  __syncthreads();
  substitute_tile(tile, cut, task, source, rhs, y, out, coarse_peaks, peaks, rule);
}

// Maximum block rows of a system that is one partition on chip, and block rows per partition on the other levels on
// chip.
#define ALONE 16
#define DEEPER_ROWS 8

// The coarse system of a system on chip. The last one has two block rows in one partition.
__device__ __forceinline__ Cut deeper(Cut cut) {
  cut.n = 2 * cut.partitions;
  cut.m = cut.n <= ALONE ? cut.n : DEEPER_ROWS;
  cut.partitions = cut.n <= ALONE ? 1 : cut.n / cut.m + (cut.n % cut.m > 1);
  return cut;
}

// A level of a system on chip. The first level has number 0.
template <class T, int B, int R> struct Level {
  Cut cut;
  Tile<T, B, R> tile;

  __device__ __forceinline__ Level(const Cut& top, T* memory, u32 number) : cut(top), tile(memory, top.m, top.partitions) {
    for (u32 l = 0; l < number; ++l) {
      cut = deeper(cut);
      tile = Tile<T, B, R>(tile.beyond(), cut.m, cut.partitions);
    }
  }
  __device__ __forceinline__ u32 place(u32 row) const { return Places(cut, {0, cut.partitions}, tile.pitch).of(row).at; }
};

// Reduce a level. The two scaled block rows of each partition become rows of the next level.
template <class T, int B, int R, class Pivots>
__device__ __forceinline__ void reduce_on_chip(const Level<T, B, R>& level, const Level<T, B, R>& next, u32 system,
                                               const Pivots& rule) {
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  if (warp >= 2 || lane >= level.cut.partitions) return;
  const bool down = warp == 0;
  const u32 at = lane * level.tile.pitch, rows = rows_of(level.cut, lane);
  const Carried<T, B, R> carried = sweep(level.tile, at, rows, down, rule);
  if (least_equation<true>(carried) <= nothing_in(level.tile, at, rows, rule)) suspect(rule.suspects, system);
  const CoarseRow<T, B, R> left(carried, down);
  const u32 place = next.place(2 * lane + down);
  UNROLL for (int r = 0; r < B; ++r) {
    T v[3 * B];
    UNROLL for (int s = 0; s < 3 * B; ++s) v[s] = left.v[r][s];
    const typename Of<T>::Real by = row_scale(v, rule.scale_rows);
    UNROLL for (int s = 0; s < 3 * B; ++s) next.tile.block(s / B, r, s % B, place) = scale(v[s], by);
    UNROLL for (int c = 0; c < R; ++c) next.tile.rhs(r, c, place) = scale(left.v[r][3 * B + c], by);
  }
}

// Solve the last level: two block rows that are neighbors on both sides. With `single`, both rows belong to the same
// unknowns. Returns whether a pivot vanished.
template <class T, int B, int R, class Pivots>
__device__ __forceinline__ bool solve_pair(const Tile<T, B, R>& tile, bool single, const Pivots& rule) {
  T v[2 * B][2 * B + R];
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int s = 0; s < B; ++s) {
      UNROLL for (int k = 0; k < 2; ++k) {
        const T own = tile.block(1, r, s, k), other = add(tile.block(0, r, s, k), tile.block(2, r, s, k));
        v[k * B + r][k * B + s] = single ? add(own, other) : own;
        v[k * B + r][(1 - k) * B + s] = single ? T{} : other;
      }
    }
    UNROLL for (int c = 0; c < R; ++c) {
      v[r][2 * B + c] = tile.rhs(r, c, 0);
      v[B + r][2 * B + c] = tile.rhs(r, c, 1);
    }
  }
  const u32 nothing = larger(nothing_in(tile, 0, 1, rule), nothing_in(tile, 1, 1, rule));
  eliminate_columns<2 * B, B>(v, rule);
  back_substitute<2 * B, R>(v);
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) {
      tile.x(r, c, 0) = v[r][2 * B + c];
      tile.x(r, c, 1) = v[B + r][2 * B + c];
    }
  }
  return least_pivot<2 * B>(v) <= nothing;
}

// Solve for the inner unknowns of the partitions of a level whose coarse system is solved.
template <class T, int B, int R, class Pivots>
__device__ __forceinline__ void substitute_on_chip(const Level<T, B, R>& level, const Level<T, B, R>& next, u32 system,
                                                   const Pivots& rule) {
  const u32 lane = threadIdx.x, count = 2 * level.cut.partitions;
  if (lane >= level.cut.partitions) return;
  const bool before = lane > 0 || level.cut.periodic, after = lane + 1 < level.cut.partitions || level.cut.periodic;
  const u32 places[4] = {next.place((2 * lane + count - 1) % count), next.place(2 * lane), next.place(2 * lane + 1),
                         next.place((2 * lane + 2) % count)};
  Ends<T, B, R> ends;
  UNROLL for (int r = 0; r < B; ++r) {
    UNROLL for (int c = 0; c < R; ++c) {
      ends.before[r][c] = before ? next.tile.x(r, c, places[0]) : T{};
      ends.first[r][c] = next.tile.x(r, c, places[1]);
      ends.last[r][c] = next.tile.x(r, c, places[2]);
      ends.after[r][c] = after ? next.tile.x(r, c, places[3]) : T{};
      // These unknowns are needed for the residuals.
      level.tile.end(0, r, c, lane) = ends.before[r][c];
      level.tile.end(1, r, c, lane) = ends.after[r][c];
    }
  }
  const bool nothing = solve_inside(level.tile, lane * level.tile.pitch, rows_of(level.cut, lane), ends, rule);
  if (nothing) suspect(rule.suspects, system);
}

// Solve a system of up to 32 partitions on chip with one thread block. The rows must be staged. Source: Klein 2.6.8.
template <class T, int B, int R, class Pivots>
__device__ __forceinline__ void solve_on_chip(T* numbers, const Cut& cut, u32 system, const Pivots& rule) {
  u32 levels = 1;
  for (Cut c = cut; c.partitions > 1; c = deeper(c)) ++levels;
  for (u32 l = 0; l < levels; ++l) {
    reduce_on_chip(Level<T, B, R>(cut, numbers, l), Level<T, B, R>(cut, numbers, l + 1), system, rule);
    __syncthreads();
  }
  // No barrier follows. The level before has one partition, so thread 0 alone reads what it writes here.
  if (threadIdx.x == 0 && solve_pair(Level<T, B, R>(cut, numbers, levels).tile, cut.n == 1, rule)) {
    suspect(rule.suspects, system);
  }
  for (u32 l = levels; l > 0; --l) {
    substitute_on_chip(Level<T, B, R>(cut, numbers, l - 1), Level<T, B, R>(cut, numbers, l), system, rule);
    __syncthreads();
  }
}

// Solve a system on chip, and write x.
template <class T, int B, int R, class Source, class Rhs, class Pivots>
__device__ __forceinline__ void finish_in(T* numbers, const Cut& cut, const Task& task, const Source& source, const Rhs& rhs,
                                          const Columns<T>& out, const Peaks<T>& peaks, const Pivots& rule) {
  const Level<T, B, R> top(cut, numbers, 0);
  stage(top.tile, cut, task, source, rhs, rule.scale_rows);
  __syncthreads();
  solve_on_chip<T, B, R>(numbers, cut, task.system, rule);
  // The unknowns of the coarse system are unknowns of the system.
  typename Of<T>::Real x_max[R] = {};
  const Level<T, B, R> next(cut, numbers, 1);
  for (u32 i = 0; i < next.cut.n; ++i) {
    const u32 place = next.place(i);
    UNROLL for (int c = 0; c < R; ++c) {
      UNROLL for (int r = 0; r < B; ++r) x_max[c] = larger_bits(x_max[c], absolute(next.tile.x(r, c, place)));
    }
  }
  put<T, B>(top.tile, cut, task, source, rhs, out, x_max, peaks, rule.scale_rows);
}

// Solve systems on chip, with one thread block per system.
template <class T, int B, int R, class Source, class Rhs, class Pivots>
__device__ __forceinline__ void finish(const Cut& cut, const Source& source, const Rhs& rhs, const Columns<T>& out,
                                       const Peaks<T>& peaks, const Pivots& rule) {
  SHARED_BYTES(memory);
  finish_in<T, B, R>(reinterpret_cast<T*>(memory), cut, task_of<R>(cut, blockIdx.x), source, rhs, out, peaks, rule);
}
