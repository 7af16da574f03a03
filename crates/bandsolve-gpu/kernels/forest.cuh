// Linear forests: the paths of [0, 2]-factors. Cycles are broken at their weakest edge, the paths are numbered, and the vertices are
// put in the order of the paths. Then the edges along the paths are weighed or weakened, and their matrix is extracted.
//
// A vertex v has two links, 2v and 2v + 1, which leave it in the two directions. A link leads to the link in which its path goes
// on at the next vertex. The last link of a path leads to itself. So the paths need no common direction.
//
// Source: Klein, dissertation, section 4.3.3 and Algorithm 7.
#pragma once
#include "graph.cuh"
#include "row_reductions.cuh"

// The link that a link reaches, and the number of edges to it. The last link of a path reaches itself, at the distance 0.
struct alignas(8) Reach {
  u32 to, distance;
};

// An edge with its smaller and its larger end. Edges have the order (weight, low, high).
struct alignas(16) WeightedEdge {
  double weight;
  u32 low, high;
};

__device__ __forceinline__ bool is_weaker(const WeightedEdge& a, const WeightedEdge& b) {
  if (a.weight != b.weight) return a.weight < b.weight;
  return a.low != b.low ? a.low < b.low : a.high < b.high;
}

// The partners of each vertex, one or two.
struct Partners {
  const u32* partners;
  u32 degree;

  // The partner to which a link leads, or NO_COLUMN.
  __device__ __forceinline__ u32 of(u32 link) const {
    return link % 2 < degree ? partners[(size_t)(link / 2) * degree + link % 2] : NO_COLUMN;
  }
  // The next link after a link to a partner.
  __device__ __forceinline__ u32 next(u32 link, u32 partner) const {
    return 2 * partner + (partners[(size_t)partner * degree] == link / 2);
  }
};

// The first step of each link, and the edge of this step. Links without a partner have the edge with the ends NO_COLUMN.
__device__ __forceinline__ void links(u32 n, const Partners& partners, const SparseRows<double>& graph, Reach* reach,
                                      WeightedEdge* edges) {
  const u32 link = blockIdx.x * blockDim.x + threadIdx.x, v = link / 2;
  if (v >= n) return;
  const u32 u = partners.of(link);
  Reach first = {link, 0};
  WeightedEdge edge = {infinity<double>(), NO_COLUMN, NO_COLUMN};
  if (u != NO_COLUMN) {
    const u32 end = graph.pointers[v + 1], at = offset_of(graph.columns, graph.pointers[v], end, u);
    first = {partners.next(link, u), 1};
    edge = {at < end ? graph.values[at] : 0, smaller(v, u), larger(v, u)};
  }
  reach[link] = first;
  edges[link] = edge;
}

// What the links of a step report: a link that needs a further step, and a link on a cycle.
#define IS_OPEN 1u
#define IS_CYCLE 2u

__device__ __forceinline__ void report(u32* reports, bool is_open, bool is_cycle) {
  u32 all = 0;
  if (warp_votes(is_open) != 0) all |= IS_OPEN;
  if (warp_votes(is_cycle) != 0) all |= IS_CYCLE;
  if (threadIdx.x % LANES == 0 && (all & ~load_relaxed(reports)) != 0) atomicOr(reports, all);
}

// Double the distances: each link reaches what the link reaches that it reached. `edges` are the weakest edges on the way. If
// the weakest edges of both halves of a way are the same edge, the way goes around a cycle.
template <bool EDGES>
__device__ __forceinline__ void doubled(u32 n, const Reach* reach, Reach* next_reach, const WeightedEdge* edges,
                                        WeightedEdge* next_edges, u32* reports) {
  const u32 link = blockIdx.x * blockDim.x + threadIdx.x;
  bool is_open = false, is_cycle = false;
  if (link / 2 < n) {
    const Reach first = reach[link], second = reach[first.to];
    is_open = second.distance > 0;
    next_reach[link] = {second.to, first.distance + second.distance};
    // The edges of links that have reached an end are not kept up. A link that still uses one reaches the same end in this step.
    if (EDGES && is_open) {
      const WeightedEdge a = edges[link], b = edges[first.to];
      is_cycle = a.low == b.low && a.high == b.high;
      next_edges[link] = is_weaker(b, a) ? b : a;
      is_open = !is_cycle;
    }
  }
  report(reports, is_open, is_cycle);
}

// Break each cycle at its weakest edge, which all of its links know, and count the cycles. The links of cycles begin again with
// their first step.
__device__ __forceinline__ void break_cycles(u32 n, const Partners& partners, const Reach* reach, const WeightedEdge* edges,
                                             Reach* next_reach, u32* cycles) {
  const u32 link = blockIdx.x * blockDim.x + threadIdx.x, v = link / 2;
  bool counts = false;
  if (v < n) {
    Reach own = reach[link];
    if (reach[own.to].distance > 0) {
      const WeightedEdge weakest = edges[link];
      const u32 u = partners.of(link);
      const bool is_weakest = smaller(v, u) == weakest.low && larger(v, u) == weakest.high;
      own = is_weakest ? Reach{link, 0} : Reach{partners.next(link, u), 1};
      counts = link == 2 * weakest.low;
    }
    next_reach[link] = own;
  }
  const u32 votes = warp_votes(counts);
  if (threadIdx.x % LANES == 0 && votes != 0) atomicAdd(cycles, (u32)__popc(votes));
}

// Vertices of a tile, whose path lengths are added.
#define TILE_VERTICES 1024

// The sum of the numbers of previous threads in the block, and of all threads. `totals` is shared memory with one word per warp.
// All threads of the block must take part.
struct SumBefore {
  u32 before, all;
};

__device__ __forceinline__ SumBefore sum_before(u32 number, u32* totals) {
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  u32 sum = number;
  for (u32 by = 1; by < LANES; by *= 2) {
    const u32 other = shuffle(sum, (lane + LANES - by) % LANES);
    if (lane >= by) sum += other;
  }
  if (lane == LANES - 1) totals[warp] = sum;
  __syncthreads();
  SumBefore result = {sum - number, 0};
  for (u32 w = 0; w < blockDim.x / LANES; ++w) {
    result.before += w < warp ? totals[w] : 0;
    result.all += totals[w];
  }
  __syncthreads();
  return result;
}

// The paths of a forest while they are numbered.
struct PathTables {
  // The name of the path of each vertex: its smaller end. The place of each vertex on its path, counted from this end.
  u32 *names, *places;
  // Where the path of each name begins in the order of all vertices, counted from the first name of its tile.
  u32* starts;
  // Where the paths of each tile begin.
  u32* tiles;
  // The number of thread blocks that have written the length of their tile. It is zero before and after a launch.
  u32* arrived;
};

// Name the paths, and add their lengths in ascending order of the names. The last thread block adds those of the tiles.
__device__ __forceinline__ void path_lengths(u32 n, const Reach* reach, const PathTables& tables) {
  SHARED_BYTES(memory);
  u32 *const totals = reinterpret_cast<u32*>(memory), *const is_last = totals + LANES;
  const u32 first = blockIdx.x * TILE_VERTICES;
  u32 sum = 0;
  for (u32 k = 0; k < TILE_VERTICES; k += blockDim.x) {
    const u32 v = first + k + threadIdx.x;
    u32 length = 0;
    if (v < n) {
      const Reach left = reach[2 * v], right = reach[2 * v + 1];
      const u32 name = smaller(left.to / 2, right.to / 2);
      tables.names[v] = name;
      tables.places[v] = left.to / 2 == name ? left.distance : right.distance;
      if (name == v) length = left.distance + right.distance + 1;
    }
    const SumBefore lengths = sum_before(length, totals);
    if (v < n) tables.starts[v] = sum + lengths.before;
    sum += lengths.all;
  }
  if (threadIdx.x == 0) {
    tables.tiles[blockIdx.x] = sum;
    __threadfence();
    *is_last = atomicAdd(tables.arrived, 1u) + 1 == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  if (!*is_last) return;
  sum = 0;
  for (u32 k = 0; k < gridDim.x; k += blockDim.x) {
    const u32 tile = k + threadIdx.x;
    const SumBefore lengths = sum_before(tile < gridDim.x ? load_relaxed(&tables.tiles[tile]) : 0, totals);
    if (tile < gridDim.x) tables.tiles[tile] = sum + lengths.before;
    sum += lengths.all;
  }
  if (threadIdx.x == 0) store_release(tables.arrived, 0);
}

// The places of the vertices in the order of the paths, and this order.
__device__ __forceinline__ void path_order(u32 n, const PathTables& tables, u32* order) {
  const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  const u32 name = tables.names[v], place = tables.places[v] + tables.starts[name] + tables.tiles[name / TILE_VERTICES];
  tables.places[v] = place;
  order[place] = v;
}

// The paths of a forest: the vertices in their order, the place of each vertex, and the name of its path.
struct PathOrder {
  const u32 *order, *places, *names;
  u32 n;

  __device__ __forceinline__ u32 at(u32 place, u32 name) const {
    // The place before the first one is above n.
    const u32 v = place < n ? order[place] : NO_COLUMN;
    return v != NO_COLUMN && names[v] == name ? v : NO_COLUMN;
  }
  // The vertices before and after a vertex on its path, or NO_COLUMN at an end.
  __device__ __forceinline__ u32 before(u32 v) const { return at(places[v] - 1, names[v]); }
  __device__ __forceinline__ u32 after(u32 v) const { return at(places[v] + 1, names[v]); }
};

// Subtract `by` times the weight from the weights of the edges along the paths of a forest.
__device__ __forceinline__ void weaken(const SparseRows<double>& graph, double* weights, const PathOrder& paths, double by) {
  const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= paths.n) return;
  const u32 from = graph.pointers[v], to = graph.pointers[v + 1], linked[2] = {paths.before(v), paths.after(v)};
  for (u32 k = 0; k < 2; ++k) {
    const u32 at = linked[k] != NO_COLUMN ? offset_of(graph.columns, from, to, linked[k]) : to;
    if (at < to) weights[at] = weights[at] - by * weights[at];
  }
}

// The partners of each vertex among its neighbors in the order of all vertices.
__device__ __forceinline__ void neighbors(const SparseRows<double>& graph, u32* partners) {
  const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= graph.rows) return;
  const u32 from = graph.pointers[v], to = graph.pointers[v + 1];
  // The column before the first one is none of a graph.
  const u32 before = offset_of(graph.columns, from, to, v - 1), after = offset_of(graph.columns, from, to, v + 1);
  const bool has_before = before < to && graph.values[before] > 0, has_after = after < to && graph.values[after] > 0;
  const u32 last = has_after ? v + 1 : NO_COLUMN;
  partners[2 * v] = has_before ? v - 1 : last;
  partners[2 * v + 1] = has_before ? last : NO_COLUMN;
}

// out[k] = from[index[k]]
__device__ __forceinline__ void composed(u32 n, const u32* index, const u32* from, u32* out) {
  const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) out[k] = from[index[k]];
}

// The weights of all edges of a vertex, and of those along its path.
struct Covered {
  double all, covered;
  u32 linked[2];
};
__device__ __forceinline__ Covered shuffle(const Covered& sum, u32 lane) {
  return {shuffle(sum.all, lane), shuffle(sum.covered, lane), {sum.linked[0], sum.linked[1]}};
}

// The sums of the weights of each vertex, for the coverage of a forest.
struct Coverage {
  typedef double Entry;
  struct Term {
    double weight;
    u32 column;
  };
  typedef Covered Sum;
  PathOrder paths;
  double *all, *covered;

  __device__ __forceinline__ Term term(u32 column, double weight) const { return {weight, column}; }
  __device__ __forceinline__ Sum start(u32 row) const { return {0, 0, {paths.before(row), paths.after(row)}}; }
  __device__ __forceinline__ void add(Sum& sum, const Term& term) const {
    sum.all = sum.all + term.weight;
    if (term.column == sum.linked[0] || term.column == sum.linked[1]) sum.covered = sum.covered + term.weight;
  }
  __device__ __forceinline__ void join(Sum& sum, const Sum& later) const {
    sum.all = sum.all + later.all;
    sum.covered = sum.covered + later.covered;
  }
  __device__ __forceinline__ void finish(u32 row, const Sum& sum) const {
    all[row] = sum.all;
    covered[row] = sum.covered;
  }
  __device__ __forceinline__ void end() const {}
};

// The entries of a row on the diagonal and to the neighbors on the path of the row: before, on the diagonal, after.
template <class T> struct PathEntries {
  T v[3];
  // The columns of these entries.
  u32 columns[3];
};
template <class T> __device__ __forceinline__ PathEntries<T> shuffle(const PathEntries<T>& entries, u32 lane) {
  PathEntries<T> other = entries;
  UNROLL for (int k = 0; k < 3; ++k) other.v[k] = shuffle(entries.v[k], lane);
  return other;
}

// The tridiagonal matrix of a forest, in the order of its paths.
template <class T> struct TakePaths {
  typedef T Entry;
  struct Term {
    T value;
    u32 column;
  };
  typedef PathEntries<T> Sum;
  PathOrder paths;
  T* bands[3];

  __device__ __forceinline__ Term term(u32 column, T value) const { return {value, column}; }
  __device__ __forceinline__ Sum start(u32 row) const {
    return {{T{}, T{}, T{}}, {paths.before(row), row, paths.after(row)}};
  }
  __device__ __forceinline__ void add(Sum& sum, const Term& term) const {
    UNROLL for (int k = 0; k < 3; ++k) {
      if (term.column == sum.columns[k]) sum.v[k] = ::add(sum.v[k], term.value);
    }
  }
  __device__ __forceinline__ void join(Sum& sum, const Sum& later) const {
    UNROLL for (int k = 0; k < 3; ++k) sum.v[k] = ::add(sum.v[k], later.v[k]);
  }
  __device__ __forceinline__ void finish(u32 row, const Sum& sum) const {
    const u32 place = paths.places[row];
    UNROLL for (int k = 0; k < 3; ++k) bands[k][place] = sum.v[k];
  }
  __device__ __forceinline__ void end() const {}
};
