// Linear recurrences over all rows of a system, in one pass.
//
// Thread blocks process tiles of rows in order. Each tile passes on how it changes the state that goes from row to row
// (its transfer). These recurrences implement LU without pivoting (CF-LU) and parallel diagonal pivoting, whose pivots
// are quotients of leading minors. One kernel computes the pivots and the downward pass, another one the upward pass.
//
// Source: Chang, thesis, chapter 4. There, a tile looks back over a number of tiles that depends on timing. Here, it
// looks back over the tiles of its group of 32, so that results do not depend on timing.
#pragma once
#include "rpts.cuh"

// Tiles per group.
#define GROUP 32

// The sizes of a tile: threads per block, rows per thread (as many as fill 64 bytes with one number each, at most 8),
// and rows.
template <class T> struct Tiling {
  static constexpr u32 THREADS = 128, ROWS = sizeof(T) > 8 ? 64 / sizeof(T) : 8, TILE = THREADS * ROWS;
};

// Several numbers.
template <class T, int N> struct Numbers {
  T v[N];
};
template <class T, int N> __device__ __forceinline__ Numbers<T, N> shuffle(Numbers<T, N> numbers, u32 lane) {
  UNROLL for (int k = 0; k < N; ++k) numbers.v[k] = shuffle(numbers.v[k], lane);
  return numbers;
}

// The messages between tiles about a recurrence.
//
// There are flags for the transfer of every tile, for the state that leaves it, and for the state that enters every
// group. A flag is zero until its numbers are written. The numbers have the same order.
template <class N> struct Messages {
  u32* flags;
  N* numbers;
};

template <class N, int COUNT>
__device__ __forceinline__ void tell(N* place, u32* flag, u32 number, const Numbers<N, COUNT>& what) {
  UNROLL for (int k = 0; k < COUNT; ++k) place[(size_t)number * COUNT + k] = what.v[k];
  store_release(&flag[number], 1u);
}

template <int COUNT, class N> __device__ __forceinline__ Numbers<N, COUNT> hear(const N* place, const u32* flag, u32 number) {
  while (load_acquire(&flag[number]) == 0) spin_pause();
  Numbers<N, COUNT> what;
  UNROLL for (int k = 0; k < COUNT; ++k) what.v[k] = place[(size_t)number * COUNT + k];
  return what;
}

// Shared memory of the threads of a block:
// - the transfers of warps (`totals`),
// - the states that leave threads, and the state that enters the tile (`states`),
// - the minors of the last row of each thread, and the number of the tile.
template <class T> struct Desk {
  static constexpr u32 THREADS = Tiling<T>::THREADS;
  T totals[THREADS / 32 * 4], states[(THREADS + 1) * 2];
  Numbers<T, 2> minors[THREADS];
  u32 tile;

  // Tiles are taken in order, so that all tiles on which this one waits are in progress.
  __device__ __forceinline__ void take(u32* ticket) {
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
  }
};

// Run a recurrence over the rows of all tiles. Returns the state that enters the rows of this thread.
//
// An operation defines the transfer of no rows (`nothing`), of one more row (`extend`), and of two parts (`compose`).
// It also defines the effect of a transfer (`apply`) and of a row (`step`) on a state, and the state before the first
// row (`begin`).
template <class Operation, class T, int ROWS>
__device__ __forceinline__ typename Operation::State scan(const typename Operation::Row (&rows)[ROWS],
                                                          const Messages<typename Operation::Number>& messages, Desk<T>& desk) {
  typedef typename Operation::Number Number;
  typedef typename Operation::Transfer Transfer;
  typedef typename Operation::State State;
  constexpr int TRANSFER = Operation::TRANSFER, STATE = Operation::STATE;
  constexpr u32 THREADS = Tiling<T>::THREADS, WARPS = THREADS / 32;
  static_assert(TRANSFER <= 4 && STATE <= 2 && sizeof(Number) <= sizeof(T), "there is room on the desk");
  const u32 tile = desk.tile, tiles = gridDim.x, t = threadIdx.x, lane = t % 32, warp = t / 32;
  u32 *const told = messages.flags, *const left = told + tiles, *const entered = left + tiles;
  Number *const transfers = messages.numbers, *const leaving = transfers + (size_t)tiles * TRANSFER;
  Number* const entering = leaving + (size_t)tiles * STATE;
  Transfer* const totals = reinterpret_cast<Transfer*>(desk.totals);
  State* const states = reinterpret_cast<State*>(desk.states);
  Transfer own = Operation::nothing();
  UNROLL for (int k = 0; k < ROWS; ++k) own = Operation::extend(own, rows[k]);
  // The transfers of the threads before this one: within the warp, then of the previous warps.
  for (u32 by = 1; by < 32; by *= 2) {
    const Transfer before = shuffle(own, lane >= by ? lane - by : 0);
    if (lane >= by) own = Operation::compose(before, own);
  }
  if (lane == 31) totals[warp] = own;
  Transfer enter = shuffle(own, lane > 0 ? lane - 1 : 0);
  if (lane == 0) enter = Operation::nothing();
  __syncthreads();
  Transfer before = Operation::nothing(), all = Operation::nothing();
  for (u32 w = 0; w < WARPS; ++w) {
    if (w == warp) before = all;
    all = Operation::compose(all, totals[w]);
  }
  enter = Operation::compose(before, enter);
  if (warp == 0) {
    const u32 group = tile / GROUP, place = tile % GROUP;
    if (lane == 0) tell(transfers, told, tile, all);
    State state = group == 0 ? Operation::begin() : hear<STATE>(entering, entered, group);
    Transfer earlier = Operation::nothing();
    if (lane < place) earlier = hear<TRANSFER>(transfers, told, group * GROUP + lane);
    for (u32 k = 0; k < place; ++k) state = Operation::apply(shuffle(earlier, k), state);
    if (lane == 0) {
      states[THREADS] = state;
      if (place + 1 == GROUP) tell(entering, entered, group + 1, Operation::apply(all, state));
    }
  }
  __syncthreads();
  // The state after the rows of each thread enters the next thread. Transfers are not used here, because they are
  // rounded differently.
  State state = Operation::apply(enter, states[THREADS]);
  UNROLL for (int k = 0; k < ROWS; ++k) state = Operation::step(state, rows[k]);
  states[t] = state;
  if (t + 1 == THREADS) tell(leaving, left, tile, state);
  __syncthreads();
  if (t > 0) return states[t - 1];
  return tile == 0 ? Operation::begin() : hear<STATE>(leaving, left, tile - 1);
}

// y_i = by_i·y_{i−1} + plus_i
template <class T> struct Affine {
  static constexpr int TRANSFER = 2, STATE = 1;
  typedef T Number;
  typedef Numbers<T, 2> Transfer;
  typedef Numbers<T, 1> State;
  struct Row {
    T by, plus;
  };
  __device__ __forceinline__ static Transfer nothing() { return {{one<T>(), T{}}}; }
  __device__ __forceinline__ static Transfer extend(Transfer t, Row r) {
    return {{times(r.by, t.v[0]), fma_add(r.by, t.v[1], r.plus)}};
  }
  __device__ __forceinline__ static Transfer compose(Transfer a, Transfer b) {
    return {{times(b.v[0], a.v[0]), fma_add(b.v[0], a.v[1], b.v[1])}};
  }
  __device__ __forceinline__ static State apply(Transfer t, State s) { return {{fma_add(t.v[0], s.v[0], t.v[1])}}; }
  __device__ __forceinline__ static State step(State s, Row r) { return {{fma_add(r.by, s.v[0], r.plus)}}; }
  __device__ __forceinline__ static State begin() { return {{T{}}}; }
};

// Leading minors θ_i = b_i·θ_{i−1} − a_i·c_{i−1}·θ_{i−2} of scaled rows. Only quotients of consecutive minors are used.
template <class T> struct Minors {
  typedef typename Of<T>::Real R;
  static constexpr int TRANSFER = 4, STATE = 2;
  typedef T Number;
  typedef Numbers<T, 4> Transfer;
  typedef Numbers<T, 2> State;
  struct Row {
    T diag, product;
  };
  template <int N> __device__ __forceinline__ static Numbers<T, N> powers(Numbers<T, N> m) {
    R most = R(0);
    UNROLL for (int k = 0; k < N; ++k) most = larger(most, modulus(m.v[k]));
    const R by = equilibrate(most);
    UNROLL for (int k = 0; k < N; ++k) m.v[k] = scale(m.v[k], by);
    return m;
  }
  // Division by the larger of the two: equal quotients then have equal bits.
  __device__ __forceinline__ static State normal(T newest, T before) {
    const T r = reciprocal(modulus(before) > modulus(newest) ? before : newest);
    return {{times(newest, r), times(before, r)}};
  }
  __device__ __forceinline__ static Transfer nothing() { return {{one<T>(), T{}, T{}, one<T>()}}; }
  __device__ __forceinline__ static Transfer extend(Transfer t, Row r) {
    return powers<4>({{fma_add(r.diag, t.v[0], times(r.product, t.v[2])), fma_add(r.diag, t.v[1], times(r.product, t.v[3])), t.v[0],
                       t.v[1]}});
  }
  __device__ __forceinline__ static Transfer compose(Transfer a, Transfer b) {
    return powers<4>({{fma_add(b.v[0], a.v[0], times(b.v[1], a.v[2])), fma_add(b.v[0], a.v[1], times(b.v[1], a.v[3])),
                       fma_add(b.v[2], a.v[0], times(b.v[3], a.v[2])), fma_add(b.v[2], a.v[1], times(b.v[3], a.v[3]))}});
  }
  __device__ __forceinline__ static State apply(Transfer t, State s) {
    return normal(fma_add(t.v[0], s.v[0], times(t.v[1], s.v[1])), fma_add(t.v[2], s.v[0], times(t.v[3], s.v[1])));
  }
  __device__ __forceinline__ static State step(State s, Row r) {
    return normal(fma_add(r.diag, s.v[0], times(r.product, s.v[1])), s.v[0]);
  }
  __device__ __forceinline__ static State begin() { return {{one<T>(), T{}}}; }
};

// The rows in which 2×2 pivots begin: where the criterion is met, and no pivot begins in the previous row.
//
// States and transfers are bits. A state tells whether a pivot begins. A transfer contains the answer of the last row
// for both possible answers of the row before the first.
struct Pairs {
  static constexpr int TRANSFER = 1, STATE = 1;
  typedef u32 Number;
  typedef Numbers<u32, 1> Transfer;
  typedef Numbers<u32, 1> State;
  typedef u32 Row;
  __device__ __forceinline__ static Transfer nothing() { return {{2}}; }
  __device__ __forceinline__ static Transfer extend(Transfer t, u32 would) { return {{would ? ~t.v[0] & 3 : 0}}; }
  __device__ __forceinline__ static Transfer compose(Transfer a, Transfer b) {
    return {{(b.v[0] >> (a.v[0] & 1) & 1) | (b.v[0] >> (a.v[0] >> 1) & 1) << 1}};
  }
  __device__ __forceinline__ static State apply(Transfer t, State s) { return {{t.v[0] >> s.v[0] & 1}}; }
  __device__ __forceinline__ static State step(State s, u32 would) { return {{would & ~s.v[0]}}; }
  __device__ __forceinline__ static State begin() { return {{0}}; }
};

// The numbers of the rows of a tile in shared memory, in COUNT arrays. Each array has two rows after the tile, and one
// row before it, which is stored last.
//
// Neighboring threads load and store neighboring rows, but each thread then processes consecutive rows. Two measures
// avoid bank conflicts in both cases. One place is free after each group of as many places as there are banks. Real and
// imaginary parts are separate.
template <class T, int COUNT> struct Staged {
  typedef typename Of<T>::Real R;
  static constexpr u32 TILE = Tiling<T>::TILE, ROWS = Tiling<T>::ROWS, PLACES = TILE + 3, BANKS = 128 / sizeof(R);
  static constexpr u32 SIZE = PLACES + (PLACES - 1) / BANKS;
  R* first;

  __device__ __forceinline__ explicit Staged(Desk<T>& desk) : first(reinterpret_cast<R*>(&desk + 1)) {}
  __device__ __forceinline__ T get(int which, u32 place) const {
    if constexpr (Of<T>::COMPLEX) {
      const R* const re = first + 2 * which * SIZE + place + place / BANKS;
      return {re[0], re[SIZE]};
    } else {
      return first[which * SIZE + place + place / BANKS];
    }
  }
  __device__ __forceinline__ void put(int which, u32 place, T v) const {
    if constexpr (Of<T>::COMPLEX) {
      R* const re = first + 2 * which * SIZE + place + place / BANKS;
      re[0] = v.re;
      re[SIZE] = v.im;
    } else {
      first[which * SIZE + place + place / BANKS] = v;
    }
  }
  // The index of row k of this thread, with k from −1 to ROWS + 1.
  __device__ __forceinline__ static u32 own(int k) { return threadIdx.x == 0 && k < 0 ? PLACES - 1 : threadIdx.x * ROWS + k; }
};

// The scaled rows of a tile with one right-hand side. They are zero outside the matrix.
template <class T> struct ScaledRows : Staged<T, 4> {
  typedef Staged<T, 4> Base;
  enum Which { A, B, C, D };

  __device__ __forceinline__ explicit ScaledRows(Desk<T>& desk) : Base(desk) {}
  __device__ __forceinline__ void load(const Cut& cut, const Blocks<T, 1>& source, const T* rhs, u32 i, u32 place) const {
    // Loads without conditions can be in progress at the same time.
    const bool inside = i < cut.n;
    const u32 near = inside ? i : cut.n - 1;
    T r[3], d = rhs[near];
    source.row(cut, near, 0, r);
    const typename Of<T>::Real by = row_scale(r, true);
    UNROLL for (int k = 0; k < 3; ++k) Base::put(k, place, select(inside, scale(r[k], by), T{}));
    Base::put(D, place, select(inside, scale(d, by), T{}));
  }
  // Load with all threads. `first` is the first row of the tile.
  __device__ __forceinline__ void load(const Cut& cut, const Blocks<T, 1>& source, const T* rhs, u32 first) const {
    const u32 t = threadIdx.x;
    UNROLL for (u32 k = 0; k < Base::ROWS; ++k) {
      const u32 place = t + k * Tiling<T>::THREADS;
      load(cut, source, rhs, first + place, place);
    }
    if (t < 3) load(cut, source, rhs, t == 2 ? first - 1 : first + Base::TILE + t, Base::TILE + t);
  }
  __device__ __forceinline__ T a(int k) const { return Base::get(A, Base::own(k)); }
  __device__ __forceinline__ T b(int k) const { return Base::get(B, Base::own(k)); }
  __device__ __forceinline__ T c(int k) const { return Base::get(C, Base::own(k)); }
  __device__ __forceinline__ T d(int k) const { return Base::get(D, Base::own(k)); }
  // Whether the criterion for a 2×2 pivot that begins in row k is met, given the minors of row k.
  __device__ __forceinline__ u32 would(int k, const Numbers<T, 2>& minors) const {
    typedef typename Of<T>::Real R;
    const R next = modulus(a(k + 1)), own = modulus(c(k));
    const R sigma = larger(larger(larger(next, modulus(a(k + 2))), larger(modulus(b(k + 1)), own)), modulus(c(k + 1)));
    const R kappa = R(0.618033988749894848) * (next * own);
    return sigma * modulus(minors.v[0]) < kappa * modulus(minors.v[1]);
  }
  // θ_{k+1}, up to the common factor of the minors of row k.
  __device__ __forceinline__ T minor_after(int k, const Numbers<T, 2>& minors) const {
    return fma_add(b(k + 1), minors.v[0], times(negate(times(a(k + 1), c(k))), minors.v[1]));
  }
};

// The arguments of the downward pass:
// - a right-hand side,
// - y, the factors of the upward pass, and bits for the second rows of 2×2 pivots (one byte per thread),
// - a ticket, the messages of the recurrences, and the minors of the last row of every tile.
template <class T> struct Down {
  const T* rhs;
  T *y, *factors;
  unsigned char* seconds;
  u32* ticket;
  Messages<T> minors, forward, last;
  Messages<u32> pairs;
  // As in `Rule`.
  u32* suspects;
};

// The minors θ_k and θ_{k−1} of the rows of a thread, up to a common factor.
template <class T, int ROWS>
__device__ __forceinline__ void find_minors(const ScaledRows<T>& row, const Down<T>& out, Desk<T>& desk,
                                            Numbers<T, 2> (&minors)[ROWS]) {
  typename Minors<T>::Row rows[ROWS];
  UNROLL for (int k = 0; k < ROWS; ++k) rows[k] = {row.b(k), negate(times(row.a(k), row.c(k - 1)))};
  Numbers<T, 2> state = scan<Minors<T>>(rows, out.minors, desk);
  UNROLL for (int k = 0; k < ROWS; ++k) minors[k] = state = Minors<T>::step(state, rows[k]);
}

// θ_{k−1} and θ_k divided by θ_{k+1}: 1/Δ and b̂/Δ of a 2×2 pivot that begins in row k. Divided by θ_k, they are the
// reciprocal of a 1×1 pivot, and 1.
template <class T> struct Quotients {
  T older, newer;

  __device__ __forceinline__ Quotients(const Numbers<T, 2>& minors, T over) {
    const T r = reciprocal(over);
    older = times(minors.v[1], r);
    newer = times(minors.v[0], r);
  }
};

// Determine where 2×2 pivots begin: bit k + 1 for row k, bit 0 for the previous row. If a pivot begins in the previous
// row, `before` becomes the minors of that row, because both rows divide by the same determinant.
template <class T, int ROWS>
__device__ __forceinline__ u32 find_pairs(const ScaledRows<T>& row, const Down<T>& out, Desk<T>& desk,
                                          const Numbers<T, 2> (&minors)[ROWS], Numbers<T, 2>& before) {
  const u32 t = threadIdx.x, tile = desk.tile;
  desk.minors[t] = minors[ROWS - 1];
  if (t + 1 == Desk<T>::THREADS) tell(out.last.numbers, out.last.flags, tile, minors[ROWS - 1]);
  u32 would[ROWS];
  UNROLL for (int k = 0; k < ROWS; ++k) would[k] = row.would(k, minors[k]);
  u32 begins = scan<Pairs>(would, out.pairs, desk).v[0];
  if (begins) {
    if (t > 0) {
      before = desk.minors[t - 1];
    } else {
      before = hear<2>(out.last.numbers, out.last.flags, tile - 1);
    }
  }
  UNROLL for (int k = 0; k < ROWS; ++k) begins |= (would[k] & ~(begins >> k) & 1) << (k + 1);
  out.seconds[tile * Desk<T>::THREADS + t] = (unsigned char)(begins & ((1u << ROWS) - 1));
  return begins;
}

// Write the data of the upward pass, through the places of a and b. All threads must have finished with a and b.
template <class T, int ROWS>
__device__ __forceinline__ void store(const Cut& cut, const ScaledRows<T>& row, const Down<T>& out, u32 first,
                                      const T (&factors)[ROWS], const T (&y)[ROWS]) {
  __syncthreads();
  UNROLL for (int k = 0; k < ROWS; ++k) {
    row.put(row.A, row.own(k), factors[k]);
    row.put(row.B, row.own(k), y[k]);
  }
  __syncthreads();
  UNROLL for (int k = 0; k < ROWS; ++k) {
    const u32 place = threadIdx.x + k * Tiling<T>::THREADS;
    if (first + place >= cut.n) continue;
    out.factors[first + place] = row.get(row.A, place);
    out.y[first + place] = row.get(row.B, place);
  }
}

// Compute the pivots, y, and the factors with which the upward pass multiplies the x below. With s = θ_{i−1}/θ_i, a 1×1
// pivot gives
//   y_i = s·(d_i − a_i·y_{i−1}),  x_i = y_i − s·c_i·x_{i+1} .
// The first row of a 2×2 pivot passes on r = d_{i−1} − a_{i−1}·y_{i−2}, and the second row gives
//   y_i = (b̂·d_i − a_i·r)/Δ,  x_i = y_i − b̂·c_i/Δ·x_{i+1} .
// The values y and x of the first row follow from r and the second row: x_{i−1} = (b_i·r − c_{i−1}·d_i)/Δ + c_{i−1}·c_i/Δ·x_{i+1}.
template <class T, bool PAIRS>
__device__ __forceinline__ void down(const Cut& cut, const Blocks<T, 1>& source, const Down<T>& out) {
  constexpr int ROWS = Tiling<T>::ROWS;
  SHARED_BYTES(memory);
  Desk<T>& desk = *reinterpret_cast<Desk<T>*>(memory);
  const ScaledRows<T> row(desk);
  desk.take(out.ticket);
  row.load(cut, source, out.rhs, desk.tile * Tiling<T>::TILE);
  __syncthreads();
  Numbers<T, 2> minors[ROWS], before = {};
  find_minors(row, out, desk, minors);
  u32 begins = 0;
  if constexpr (PAIRS) begins = find_pairs(row, out, desk, minors, before);
  Quotients<T> last(before, begins & 1 ? row.minor_after(-1, before) : one<T>());
  // The factors of right-hand sides. For the first row of a 2×2 pivot, the factor is 1/Δ.
  T factor[ROWS];
  typename Affine<T>::Row rows[ROWS];
  // The larger of two consecutive minors is 1. 1×1 pivots are therefore not smaller than the first minor, and Δ is that
  // of scaled rows.
  u32 least = ~0u;
  const u32 inside = cut.n - desk.tile * Tiling<T>::TILE;
  UNROLL for (int k = 0; k < ROWS; ++k) {
    const bool second = begins >> k & 1, first = begins >> (k + 1) & 1;
    const T over = first ? row.minor_after(k, minors[k]) : minors[k].v[0];
    if (!second && row.own(k) < inside) least = smaller(least, rank(over));
    const Quotients<T> own(minors[k], over);
    factor[k] = second ? last.newer : own.older;
    rows[k].by = negate(first ? row.a(k) : times(second ? last.older : own.older, row.a(k)));
    rows[k].plus = first ? row.d(k) : times(factor[k], row.d(k));
    last = own;
  }
  if (least <= NOTHING<typename Of<T>::Real>) suspect(out.suspects, 0);
  Numbers<T, 1> state = scan<Affine<T>>(rows, out.forward, desk);
  T y[ROWS];
  UNROLL for (int k = 0; k < ROWS; ++k) {
    state = Affine<T>::step(state, rows[k]);
    const T by = factor[k], across = times(by, row.c(k));
    const bool first = begins >> (k + 1) & 1;
    factor[k] = first ? times(across, row.c(k + 1)) : negate(across);
    y[k] = first ? fma_add(times(by, row.b(k + 1)), state.v[0], negate(times(across, row.d(k + 1)))) : state.v[0];
  }
  store(cut, row, out, desk.tile * Tiling<T>::TILE, factor, y);
}

// The arguments of the upward pass: the results of the downward pass (`seconds` only for 2×2 pivots). x replaces y.
template <class T> struct Up {
  const T* factors;
  T* x;
  const unsigned char* seconds;
  u32* ticket;
  Messages<T> backward;
};

// x_i = y_i + factor_i·(the x in which the pivot below begins), from the last row to the first. The second row of a 2×2
// pivot passes this x on. Raises the largest |x|.
template <class T> __device__ __forceinline__ void up(const Cut& cut, const Up<T>& in, const Peaks<T>& peaks, u32 column) {
  constexpr u32 THREADS = Tiling<T>::THREADS, ROWS = Tiling<T>::ROWS;
  SHARED_BYTES(memory);
  Desk<T>& desk = *reinterpret_cast<Desk<T>*>(memory);
  const Staged<T, 2> staged(desk);
  enum { FACTOR, Y };
  desk.take(in.ticket);
  // Rows before the first one have numbers beyond the last one.
  const u32 t = threadIdx.x, last = cut.n - 1 - desk.tile * Tiling<T>::TILE;
  UNROLL for (u32 k = 0; k < ROWS; ++k) {
    const u32 place = t + k * THREADS, i = last - place;
    const bool inside = i < cut.n;
    const T factor = in.factors[inside ? i : 0], y = in.x[inside ? i : 0];
    staged.put(FACTOR, place, select(inside, factor, T{}));
    staged.put(Y, place, select(inside, y, T{}));
  }
  u32 seconds = 0;
  UNROLL for (int k = 0; k < (int)ROWS; ++k) {
    const u32 i = last - staged.own(k);
    if (in.seconds && i < cut.n) seconds |= (in.seconds[i / ROWS] >> (i % ROWS) & 1) << k;
  }
  __syncthreads();
  typename Affine<T>::Row rows[ROWS];
  UNROLL for (int k = 0; k < (int)ROWS; ++k) {
    rows[k] = {staged.get(FACTOR, staged.own(k)), staged.get(Y, staged.own(k))};
    if (seconds >> k & 1) rows[k] = {one<T>(), T{}};
  }
  Numbers<T, 1> state = scan<Affine<T>>(rows, in.backward, desk);
  typename Of<T>::Real largest = 0;
  UNROLL for (int k = 0; k < (int)ROWS; ++k) {
    const u32 place = staged.own(k);
    const T below = state.v[0];
    state = Affine<T>::step(state, rows[k]);
    const T x = seconds >> k & 1 ? fma_add(staged.get(FACTOR, place), below, staged.get(Y, place)) : state.v[0];
    if (last - place < cut.n) largest = larger_bits(largest, absolute(x));
    staged.put(Y, place, x);
  }
  __syncthreads();
  UNROLL for (u32 k = 0; k < ROWS; ++k) {
    const u32 place = t + k * THREADS, i = last - place;
    if (i < cut.n) in.x[i] = staged.get(Y, place);
  }
  if (peaks.size) peaks.raise(&peaks.size[column], largest);
}
