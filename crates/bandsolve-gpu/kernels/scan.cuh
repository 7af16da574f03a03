// Linear recurrences over all rows of a system, in one pass: thread blocks take tiles of rows in order, and tell the tiles after
// theirs what they do to the state that goes from row to row. And by them LU without pivoting (CF-LU), whose pivots are quotients
// of leading minors.
//
// Source: Chang, thesis, chapter 4. There a tile looks back over as many tiles as it has to; here over those of its group of 32,
// so that what is computed does not depend on who was fast.
#pragma once
#include "rpts.cuh"

// Rows of a thread, and tiles of a group.
#define SCAN_ROWS 8
#define GROUP 32

__device__ __forceinline__ u32 shuffle(u32 v, u32 lane) { return __shfl_sync(0xffffffffu, v, lane); }
__device__ __forceinline__ float shuffle(float v, u32 lane) { return __shfl_sync(0xffffffffu, v, lane); }
__device__ __forceinline__ double shuffle(double v, u32 lane) { return __shfl_sync(0xffffffffu, v, lane); }
template <class R> __device__ __forceinline__ Complex<R> shuffle(Complex<R> v, u32 lane) {
  return {shuffle(v.re, lane), shuffle(v.im, lane)};
}

// Some numbers.
template <class T, int N> struct Numbers {
  T v[N];
};
template <class T, int N> __device__ __forceinline__ Numbers<T, N> shuffle(Numbers<T, N> numbers, u32 lane) {
  UNROLL for (int k = 0; k < N; ++k) numbers.v[k] = shuffle(numbers.v[k], lane);
  return numbers;
}

// What tiles tell one another: flags are zero until what they belong to is written. Numbers of a transfer and of a state stand
// one after the other.
template <class T> struct Messages {
  u32* ticket;
  // Of every tile: its transfer is there; what leaves it is there; of every group: the state that enters it is there.
  u32 *told, *left, *entered;
  T *transfers, *leaving, *entering;
};

template <class T, int N>
__device__ __forceinline__ void tell(T* place, u32* flag, u32 number, const Numbers<T, N>& what) {
  UNROLL for (int k = 0; k < N; ++k) place[(size_t)number * N + k] = what.v[k];
  __threadfence();
  store_release(&flag[number], 1u);
}

template <int N, class T> __device__ __forceinline__ Numbers<T, N> hear(const T* place, const u32* flag, u32 number) {
  while (load_acquire(&flag[number]) == 0) spin_pause();
  Numbers<T, N> what;
  UNROLL for (int k = 0; k < N; ++k) what.v[k] = place[(size_t)number * N + k];
  return what;
}

// Runs a recurrence over n rows. An operation has: the numbers of a row (`row`); the transfer of no rows, one row longer, of two
// parts (`NOTHING`, `extend`, `compose`); what a transfer makes of a state, and what a row does (`apply`, `step`); the state before
// the first row (`begin`); what is written (`emit`), and what becomes of the largest of what that returns (`finish`).
template <class T, class Operation>
__device__ __forceinline__ void scan(const Operation& op, u32 n, const Messages<T>& messages) {
  typedef typename Operation::Transfer Transfer;
  typedef typename Operation::State State;
  constexpr int TRANSFER = Operation::TRANSFER, STATE = Operation::STATE;
  SHARED_BYTES(memory);
  State* const states = reinterpret_cast<State*>(memory);
  Transfer* const totals = reinterpret_cast<Transfer*>(states + blockDim.x + 1);
  u32* const number = reinterpret_cast<u32*>(totals + blockDim.x / 32);
  const u32 t = threadIdx.x, lane = t % 32, warp = t / 32, warps = blockDim.x / 32;
  // Tiles are taken in order, so that those waited for are at work.
  if (t == 0) *number = atomicAdd(messages.ticket, 1u);
  __syncthreads();
  const u32 tile = *number, first = (tile * blockDim.x + t) * SCAN_ROWS;
  typename Operation::Row rows[SCAN_ROWS];
  Transfer own = Operation::nothing();
  UNROLL for (int k = 0; k < SCAN_ROWS; ++k) {
    if (first + k >= n) continue;
    rows[k] = op.row(first + k);
    own = Operation::extend(own, rows[k]);
  }
  // Transfers of the threads before this one: within the warp, then of the warps before.
  for (u32 by = 1; by < 32; by *= 2) {
    const Transfer before = shuffle(own, lane >= by ? lane - by : 0);
    if (lane >= by) own = Operation::compose(before, own);
  }
  if (lane == 31) totals[warp] = own;
  Transfer enter = shuffle(own, lane > 0 ? lane - 1 : 0);
  if (lane == 0) enter = Operation::nothing();
  __syncthreads();
  Transfer before = Operation::nothing(), all = Operation::nothing();
  for (u32 w = 0; w < warps; ++w) {
    if (w == warp) before = all;
    all = Operation::compose(all, totals[w]);
  }
  enter = Operation::compose(before, enter);
  if (warp == 0) {
    const u32 group = tile / GROUP, place = tile % GROUP;
    if (lane == 0) tell<T>(messages.transfers, messages.told, tile, all);
    State state = group == 0 ? op.begin() : hear<STATE>(messages.entering, messages.entered, group);
    Transfer told = Operation::nothing();
    if (lane < place) told = hear<TRANSFER>(messages.transfers, messages.told, group * GROUP + lane);
    for (u32 k = 0; k < place; ++k) state = Operation::apply(shuffle(told, k), state);
    if (lane == 0) {
      states[blockDim.x] = state;
      if (place + 1 == GROUP) tell<T>(messages.entering, messages.entered, group + 1, Operation::apply(all, state));
    }
  }
  __syncthreads();
  // What leaves the rows of each thread, by the rows themselves, is what enters those of the next: transfers are rounded otherwise.
  State state = Operation::apply(enter, states[blockDim.x]);
  UNROLL for (int k = 0; k < SCAN_ROWS; ++k) {
    if (first + k < n) state = Operation::step(state, rows[k]);
  }
  states[t] = state;
  if (t + 1 == blockDim.x) tell<T>(messages.leaving, messages.left, tile, state);
  __syncthreads();
  if (t > 0) {
    state = states[t - 1];
  } else {
    state = tile == 0 ? op.begin() : hear<STATE>(messages.leaving, messages.left, tile - 1);
  }
  typename Operation::R largest = 0;
  UNROLL for (int k = 0; k < SCAN_ROWS; ++k) {
    if (first + k >= n) continue;
    const State after = Operation::step(state, rows[k]);
    largest = larger_bits(largest, op.emit(first + k, state, after, rows[k]));
    state = after;
  }
  op.finish(largest);
}

// y_i = by_i·y_{i−1} + plus_i
template <class T> struct Affine {
  static constexpr int TRANSFER = 2, STATE = 1;
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
  __device__ __forceinline__ State begin() const { return {{T{}}}; }
};

// Leading minors θ_i = b_i·θ_{i−1} − a_i·c_{i−1}·θ_{i−2} of scaled rows; only quotients of two in a row count. Writes
// 1/f_i = θ_{i−1}/θ_i, f_i the pivot of LU, of rows that are not scaled; or θ_i and θ_{i−1}.
template <class T> struct Minors {
  typedef typename Of<T>::Real R;
  static constexpr int TRANSFER = 4, STATE = 2;
  typedef Numbers<T, 4> Transfer;
  typedef Numbers<T, 2> State;
  struct Row {
    T diag, product;
    R scale;
  };
  Cut cut;
  Blocks<T, 1> source;
  // Where 1/f_i goes, or if that is null both minors, up to a factor.
  T* reciprocals;
  T* minors;

  __device__ __forceinline__ Row row(u32 i) const {
    T r[3], before[3] = {};
    source.row(cut, i, 0, r);
    if (i > 0) source.row(cut, i - 1, 0, before);
    const R by = row_scale(r, true), by_before = row_scale(before, true);
    return {scale(r[1], by), negate(times(scale(r[0], by), scale(before[2], by_before))), by};
  }
  template <int N> __device__ __forceinline__ static Numbers<T, N> powers(Numbers<T, N> m) {
    R most = R(0);
    UNROLL for (int k = 0; k < N; ++k) most = larger(most, modulus(m.v[k]));
    const R by = equilibrate(most);
    UNROLL for (int k = 0; k < N; ++k) m.v[k] = scale(m.v[k], by);
    return m;
  }
  // Divided by the larger of the two, equal quotients are equal bits.
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
  __device__ __forceinline__ State begin() const { return {{one<T>(), T{}}}; }
  __device__ __forceinline__ R emit(u32 i, State, State after, Row r) const {
    if (reciprocals) {
      reciprocals[i] = scale(times(after.v[1], reciprocal(after.v[0])), r.scale);
    } else {
      minors[2 * (size_t)i] = after.v[0];
      minors[2 * (size_t)i + 1] = after.v[1];
    }
    return R(0);
  }
  __device__ __forceinline__ void finish(R) const {}
};

// y_i = r_i·(d_i − a_i·y_{i−1}), r_i the reciprocals of pivots.
template <class T> struct Forward : Affine<T> {
  typedef typename Of<T>::Real R;
  Cut cut;
  Blocks<T, 1> source;
  const T *reciprocals, *rhs;
  T* y;

  __device__ __forceinline__ typename Affine<T>::Row row(u32 i) const {
    T r[3];
    source.row(cut, i, 0, r);
    return {negate(times(reciprocals[i], r[0])), times(reciprocals[i], rhs[i])};
  }
  __device__ __forceinline__ R emit(u32 i, typename Affine<T>::State, typename Affine<T>::State after,
                                    typename Affine<T>::Row) const {
    y[i] = after.v[0];
    return R(0);
  }
  __device__ __forceinline__ void finish(R) const {}
};

// x_i = y_i − r_i·c_i·x_{i+1}, from the last row to the first; x takes the place of y.
template <class T> struct Backward : Affine<T> {
  typedef typename Of<T>::Real R;
  Cut cut;
  Blocks<T, 1> source;
  const T* reciprocals;
  T* x;
  Peaks<T> peaks;
  u32 column;

  __device__ __forceinline__ typename Affine<T>::Row row(u32 k) const {
    const u32 i = cut.n - 1 - k;
    T r[3];
    source.row(cut, i, 0, r);
    return {negate(times(reciprocals[i], r[2])), x[i]};
  }
  __device__ __forceinline__ R emit(u32 k, typename Affine<T>::State, typename Affine<T>::State after,
                                    typename Affine<T>::Row) const {
    x[cut.n - 1 - k] = after.v[0];
    return absolute(after.v[0]);
  }
  __device__ __forceinline__ void finish(R largest) const {
    if (peaks.size) peaks.raise(&peaks.size[column], largest);
  }
};

// Parallel diagonal pivoting: pivots of one or two rows, found from leading minors.

// A row, scaled, and by how much; zero after the last.
template <class T> struct Scaled {
  T a, b, c;
  typename Of<T>::Real by;

  __device__ __forceinline__ Scaled(const Cut& cut, const Blocks<T, 1>& source, u32 i) {
    T r[3] = {};
    if (i < cut.n) source.row(cut, i, 0, r);
    by = row_scale(r, true);
    a = scale(r[0], by);
    b = scale(r[1], by);
    c = scale(r[2], by);
  }
};

// What row i is: a pivot by itself, or the first or second row of one of two.
enum Kind { SINGLE, FIRST, SECOND };

// Pivots of two rows begin where they would, and not in the row before. States and transfers are bits: whether one begins; and for
// both answers of the row before, the answer of the last row.
template <class T> struct Pairs {
  typedef typename Of<T>::Real R;
  static constexpr int TRANSFER = 1, STATE = 1;
  typedef Numbers<u32, 1> Transfer;
  typedef Numbers<u32, 1> State;
  typedef u32 Row;
  Cut cut;
  Blocks<T, 1> source;
  const T* minors;
  u32* kinds;

  __device__ __forceinline__ u32 row(u32 i) const {
    const Scaled<T> own(cut, source, i), next(cut, source, i + 1), second(cut, source, i + 2);
    const R sigma = larger(larger(larger(modulus(next.a), modulus(second.a)), larger(modulus(next.b), modulus(own.c))), modulus(next.c));
    const R kappa = R(0.618033988749894848) * (modulus(next.a) * modulus(own.c));
    return sigma * modulus(minors[2 * (size_t)i]) < kappa * modulus(minors[2 * (size_t)i + 1]);
  }
  __device__ __forceinline__ static Transfer nothing() { return {{2}}; }
  __device__ __forceinline__ static Transfer extend(Transfer t, u32 would) {
    return {{would ? ~t.v[0] & 3 : 0}};
  }
  __device__ __forceinline__ static Transfer compose(Transfer a, Transfer b) {
    return {{(b.v[0] >> (a.v[0] & 1) & 1) | (b.v[0] >> (a.v[0] >> 1) & 1) << 1}};
  }
  __device__ __forceinline__ static State apply(Transfer t, State s) { return {{t.v[0] >> s.v[0] & 1}}; }
  __device__ __forceinline__ static State step(State s, u32 would) { return {{would & ~s.v[0]}}; }
  __device__ __forceinline__ State begin() const { return {{0}}; }
  __device__ __forceinline__ R emit(u32 i, State before, State after, u32) const {
    kinds[i] = before.v[0] ? SECOND : after.v[0] ? FIRST : SINGLE;
    return R(0);
  }
  __device__ __forceinline__ void finish(R) const {}
};

// θ_{i−1} and θ_i over θ_{i+1}, with θ_i and θ_{i−1} up to a factor: 1/Δ and b̂/Δ of a pivot in rows i and i + 1.
template <class T> struct PairOf {
  T by_determinant, of_first;

  __device__ __forceinline__ PairOf(const T* minors, u32 i, T c, const Scaled<T>& next) {
    const T newest = minors[2 * (size_t)i], before = minors[2 * (size_t)i + 1];
    const T r = reciprocal(fma_add(next.b, newest, times(negate(times(next.a, c)), before)));
    by_determinant = times(before, r);
    of_first = times(newest, r);
  }
};

// What goes down from row to row: y of a completed pivot, or the right-hand side of the first of two rows, from which its y follows
// with that of the second.
template <class T> struct PairsForward : Affine<T> {
  typedef typename Of<T>::Real R;
  Cut cut;
  Blocks<T, 1> source;
  const T *minors, *rhs;
  const u32* kinds;
  T* y;

  __device__ __forceinline__ typename Affine<T>::Row row(u32 i) const {
    const Scaled<T> own(cut, source, i);
    const T d = scale(rhs[i], own.by);
    if (kinds[i] == FIRST) return {negate(own.a), d};
    T factor;
    T of_rhs;
    if (kinds[i] == SINGLE) {
      factor = of_rhs = times(minors[2 * (size_t)i + 1], reciprocal(minors[2 * (size_t)i]));
    } else {
      const PairOf<T> pair(minors, i - 1, Scaled<T>(cut, source, i - 1).c, own);
      factor = pair.by_determinant;
      of_rhs = pair.of_first;
    }
    return {negate(times(factor, own.a)), times(of_rhs, d)};
  }
  __device__ __forceinline__ R emit(u32 i, typename Affine<T>::State, typename Affine<T>::State after,
                                    typename Affine<T>::Row) const {
    T value = after.v[0];
    if (kinds[i] == FIRST) {
      const Scaled<T> own(cut, source, i), next(cut, source, i + 1);
      const T by = PairOf<T>(minors, i, own.c, next).by_determinant;
      value = fma_add(times(by, next.b), value, negate(times(times(by, own.c), scale(rhs[i + 1], next.by))));
    }
    y[i] = value;
    return R(0);
  }
  __device__ __forceinline__ void finish(R) const {}
};

// What goes up: the x in which the pivot below begins, which the second of two rows leaves as it is. x takes the place of y.
template <class T> struct PairsBackward : Affine<T> {
  typedef typename Of<T>::Real R;
  Cut cut;
  Blocks<T, 1> source;
  const T* minors;
  const u32* kinds;
  T* x;
  Peaks<T> peaks;
  u32 column;

  // What multiplies the x below.
  __device__ __forceinline__ T factor(u32 i) const {
    const Scaled<T> own(cut, source, i);
    if (kinds[i] == SINGLE) return negate(times(times(minors[2 * (size_t)i + 1], reciprocal(minors[2 * (size_t)i])), own.c));
    if (kinds[i] == SECOND) {
      return negate(times(PairOf<T>(minors, i - 1, Scaled<T>(cut, source, i - 1).c, own).of_first, own.c));
    }
    const Scaled<T> next(cut, source, i + 1);
    return times(times(PairOf<T>(minors, i, own.c, next).by_determinant, own.c), next.c);
  }
  __device__ __forceinline__ typename Affine<T>::Row row(u32 k) const {
    const u32 i = cut.n - 1 - k;
    if (kinds[i] == SECOND) return {one<T>(), T{}};
    return {factor(i), x[i]};
  }
  __device__ __forceinline__ R emit(u32 k, typename Affine<T>::State before, typename Affine<T>::State after,
                                    typename Affine<T>::Row) const {
    const u32 i = cut.n - 1 - k;
    const T value = kinds[i] == SECOND ? fma_add(factor(i), before.v[0], x[i]) : after.v[0];
    x[i] = value;
    return absolute(value);
  }
  __device__ __forceinline__ void finish(R largest) const {
    if (peaks.size) peaks.raise(&peaks.size[column], largest);
  }
};
