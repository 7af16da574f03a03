// [0, N]-factors of graphs: each vertex has at most N edges. In each round, the vertices propose their heaviest possible
// edges, and edges that both ends propose are confirmed. The choice is that of the CPU (`factor.rs` of crate bandsolve-sparse).
//
// Source: Klein, dissertation, Algorithm 8.
#pragma once
#include "row_reductions.cuh"

// The state of a vertex that has N edges. The state of others is their charge, 0 or 1.
#define SATURATED 2
// The state that a vertex with N edges wants of other vertices: none has it.
#define NO_STATE 3

// What the vertices of a round report.
#define HAS_PROPOSAL 1u
#define CAN_GROW 2u

// The heaviest edges of a vertex so far, in descending order of their weights. The bits of positive numbers have the order of the
// numbers; 0 stands for no edge.
template <int N> struct Heaviest {
  u64 weights[N];
  u32 ends[N];
  // The confirmed partners of the vertex, and the state that others must have. All lanes of a warp have the same.
  u32 known[N], wanted;
  // Whether the vertex has another edge to a vertex that may get more edges.
  u32 can_grow;
};
template <int N> __device__ __forceinline__ Heaviest<N> shuffle(const Heaviest<N>& v, u32 lane) {
  Heaviest<N> other = v;
  UNROLL for (int k = 0; k < N; ++k) {
    other.weights[k] = shuffle(v.weights[k], lane);
    other.ends[k] = shuffle(v.ends[k], lane);
  }
  other.can_grow = shuffle(v.can_grow, lane);
  return other;
}

// Propose the heaviest possible edges of each vertex, after those that it has.
template <int N> struct Propose {
  typedef double Entry;
  struct Term {
    u64 weight;
    u32 end, state;
  };
  typedef Heaviest<N> Sum;
  const u32* confirmed;
  u32* proposed;
  const unsigned char* states;
  u32* reports;
  // Whether vertices propose only to vertices with the other charge.
  u32 charged;
  // What the vertices of this thread report: 0 at the launch.
  u32 report;

  __device__ __forceinline__ Term term(u32 column, double weight) const { return {bits_of(weight), column, states[column]}; }
  __device__ __forceinline__ Sum start(u32 row) const {
    Sum none;
    UNROLL for (int k = 0; k < N; ++k) {
      none.weights[k] = 0;
      none.ends[k] = NO_COLUMN;
      none.known[k] = confirmed[(size_t)row * N + k];
    }
    const u32 state = states[row];
    none.wanted = state == SATURATED ? NO_STATE : charged ? 1 ^ state : 0;
    none.can_grow = 0;
    return none;
  }
  // Insert an edge if it is one of the heaviest. Among equal weights, the first stays in front.
  __device__ __forceinline__ void insert(Sum& sum, u64 weight, u32 end) const {
    UNROLL for (int k = N - 1; k >= 0; --k) {
      const u64 before = k > 0 ? sum.weights[k - 1] : ~0ull;
      const u32 before_end = k > 0 ? sum.ends[k - 1] : NO_COLUMN;
      // An edge that is displaced stays in front of edges with the same weight.
      sum.ends[k] = weight > before ? before_end : weight > sum.weights[k] ? end : sum.ends[k];
      sum.weights[k] = larger(sum.weights[k], smaller(weight, before));
    }
  }
  __device__ __forceinline__ void add(Sum& sum, const Term& term) const {
    bool is_known = false;
    UNROLL for (int k = 0; k < N; ++k) is_known = is_known || sum.known[k] == term.end;
    const bool is_other = !is_known && term.weight > 0;
    if (is_other && term.state != SATURATED && sum.wanted != NO_STATE) sum.can_grow = 1;
    insert(sum, select(is_other && term.state == sum.wanted, term.weight, u64(0)), term.end);
  }
  __device__ __forceinline__ void join(Sum& sum, const Sum& later) const {
    UNROLL for (int k = 0; k < N; ++k) insert(sum, later.weights[k], later.ends[k]);
    sum.can_grow |= later.can_grow;
  }
  __device__ __forceinline__ void finish(u32 row, const Sum& sum) {
    u32 ends[N];
    UNROLL for (int k = 0; k < N; ++k) ends[k] = sum.ends[k];
    UNROLL for (int k = 0; k < N; ++k) {
      // The known partners are the first ones.
      if (sum.known[k] == NO_COLUMN) break;
      UNROLL for (int j = N - 1; j > 0; --j) ends[j] = ends[j - 1];
    }
    UNROLL for (int k = 0; k < N; ++k) {
      const u32 end = sum.known[k] == NO_COLUMN ? ends[k] : sum.known[k];
      if (end != sum.known[k]) report |= HAS_PROPOSAL;
      proposed[(size_t)row * N + k] = end;
    }
    if (sum.can_grow) report |= CAN_GROW;
  }
  __device__ __forceinline__ void end() const {
    u32 all = 0;
    if (warp_votes((report & HAS_PROPOSAL) != 0) != 0) all |= HAS_PROPOSAL;
    if (warp_votes((report & CAN_GROW) != 0) != 0) all |= CAN_GROW;
    if (threadIdx.x % LANES == 0 && (all & ~load_relaxed(reports)) != 0) atomicOr(reports, all);
  }
};

// The charge of a vertex: the lowest bit of SplitMix64. `round` is 2³² times the round, plus the seed.
__device__ __forceinline__ unsigned char charge(u32 v, u64 round) {
  u64 z = v + round + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (unsigned char)((z ^ (z >> 31)) & 1);
}

// Confirm the proposed edges that their other end proposes, in order, and set the states for the next round. If `proposed` is
// null, no vertex has an edge.
template <int N>
__device__ __forceinline__ void confirm(u32 n, const u32* proposed, u32* confirmed, unsigned char* states, u64 round, u32 charged) {
  const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  u32 ends[N];
  UNROLL for (int k = 0; k < N; ++k) ends[k] = proposed ? proposed[(size_t)v * N + k] : NO_COLUMN;
  UNROLL for (int k = N - 1; k >= 0; --k) {
    bool is_mutual = false;
    if (ends[k] != NO_COLUMN) {
      UNROLL for (int j = 0; j < N; ++j) is_mutual = is_mutual || proposed[(size_t)ends[k] * N + j] == v;
    }
    if (is_mutual) continue;
    UNROLL for (int j = k; j < N; ++j) ends[j] = j + 1 < N ? ends[j + 1] : NO_COLUMN;
  }
  UNROLL for (int k = 0; k < N; ++k) confirmed[(size_t)v * N + k] = ends[k];
  states[v] = ends[N - 1] != NO_COLUMN ? SATURATED : charged ? charge(v, round) : 0;
}
