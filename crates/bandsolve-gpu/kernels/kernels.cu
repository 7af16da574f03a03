// The kernels: templates for number types T, blocks of B rows, R right-hand sides on chip, and a form of the matrix in
// memory (Source).
#include "batch.cuh"
#include "card.cuh"
#include "cr.cuh"
#include "factored.cuh"
#include "scan.cuh"
#include "sparse.cuh"
#include "residual.cuh"
#include "product.cuh"
#include "row_reductions.cuh"
#include "vectors.cuh"
#include "graph.cuh"
#include "graph_factor.cuh"
#include "forest.cuh"
#include "diagonal.cuh"
#include "single.cuh"
#include "transform.cuh"
#include "sweep.cuh"
#include "dense.cuh"

#define RPTS(suffix, RULE, T, B, R, RHS, ...)                                                                                 \
  extern "C" __global__ void reduce_##suffix(Cut cut, __VA_ARGS__ source, RHS rhs, Coarse<T> coarse, RULE rule) {             \
    reduce<T, B, R>(cut, source, rhs, coarse, rule);                                                                          \
  }                                                                                                                           \
  extern "C" __global__ void substitute_##suffix(Cut cut, __VA_ARGS__ source, RHS rhs, Columns<const T> y,                    \
                                                 Columns<T> out, Peaks<T> coarse_peaks, Peaks<T> peaks, RULE rule) {          \
    substitute<T, B, R>(cut, source, rhs, y, out, coarse_peaks, peaks, rule);                                                 \
  }                                                                                                                           \
  extern "C" __global__ void finish_##suffix(Cut cut, __VA_ARGS__ source, RHS rhs, Columns<T> out,                            \
                                             Peaks<T> peaks, RULE rule) {                                                     \
    finish<T, B, R>(cut, source, rhs, out, peaks, rule);                                                                      \
  }
#define RESIDUAL(suffix, T, B, ...)                                                                                           \
  extern "C" __global__ void residual_##suffix(Cut cut, __VA_ARGS__ source, Columns<const T> rhs, Columns<const T> x,         \
                                               Columns<T> rest, Peaks<T> peaks) {                                             \
    residual<T, B>(cut, source, rhs, x, rest, peaks);                                                                         \
  }                                                                                                                           \
  extern "C" __global__ void repair_##suffix(Cut cut, __VA_ARGS__ source, Columns<const T> rhs, Columns<T> x,                 \
                                             const u32* windows, Cut window, Peaks<T> peaks, Rule rule) {                     \
    repair<T, B>(cut, source, rhs, x, windows, window, peaks, rule);                                                          \
  }
#define CORRECT(suffix, T)                                                                                                    \
  extern "C" __global__ void correct_##suffix(Cut cut, Columns<const T> dx, Columns<T> x, Peaks<T> peaks) {                   \
    correct<T>(cut, dx, x, peaks);                                                                                            \
  }                                                                                                                           \
  extern "C" __global__ void summarize_##suffix(u32 columns, u32 per_system, Peaks<T> peaks, const u32* suspects,             \
                                                double plausible, double least, Peaks<double>::Word* most, u32* attention) {  \
    summarize<T>(columns, per_system, peaks, suspects, plausible, least, most, attention);                                    \
  }

#define BATCH(suffix, RULE, T)                                                                                                \
  extern "C" __global__ void interleaved_##suffix(Cut cut, Interleaved<T> source, Columns<const T> rhs, Columns<T> out,       \
                                                  T* kept, Peaks<T> peaks, RULE rule) {                                       \
    interleaved<T>(cut, source, rhs, out, kept, peaks, rule);                                                                 \
  }                                                                                                                           \
  extern "C" __global__ void alone_##suffix(Cut cut, Blocks<T, 1> source, Columns<const T> rhs, Columns<T> out,               \
                                            Peaks<T> peaks, RULE rule) {                                                      \
    alone<T>(cut, source, rhs, out, peaks, rule);                                                                             \
  }

#define FACTORED(suffix, T, B, R, ...)                                                                                        \
  extern "C" __global__ void factor_##suffix(Cut cut, __VA_ARGS__ source, Coarse<T> coarse, Factors<T> factors, Rule rule) {  \
    factor<T, B>(cut, source, coarse, factors, rule);                                                                         \
  }                                                                                                                           \
  extern "C" __global__ void reducefactored_##suffix(Cut cut, Columns<const T> rhs, Columns<T> coarse, Factors<T> factors) {  \
    reduce_factored<T, B, R>(cut, rhs, coarse, factors);                                                                      \
  }                                                                                                                           \
  extern "C" __global__ void substitutefactored_##suffix(Cut cut, __VA_ARGS__ source, Columns<const T> rhs,                   \
                                                         Columns<const T> y, Columns<T> out, Factors<T> factors,              \
                                                         Peaks<T> coarse_peaks, Peaks<T> peaks, Rule rule) {                  \
    substitute_factored<T, B, R>(cut, source, rhs, y, out, factors, coarse_peaks, peaks, rule);                               \
  }

#define SPARSE(suffix, T)                                                                                                     \
  extern "C" __global__ void check_##suffix(u32 rows, u32 entries, const int* row_indices, const int* pointers, u32* bad) {   \
    check(rows, entries, row_indices, pointers, bad);                                                                         \
  }                                                                                                                           \
  extern "C" __global__ void scatter_##suffix(Sparse<T> rhs, Columns<T> out) { scatter<T>(rhs, out); }                        \
  extern "C" __global__ void prune_##suffix(u32 n, Columns<const T> x, const int* pointers, T* values, int* rows) {           \
    prune<T>(n, x, pointers, values, rows);                                                                                   \
  }

#define CARD(suffix, RULE, T, B, ...)                                                                                         \
  extern "C" __global__ void card_##suffix(Card<T> all, __VA_ARGS__ source, Columns<const T> rhs, Columns<T> out, RULE rule) { \
    card<T, B>(all, source, rhs, out, rule);                                                                                  \
  }

#define SCAN(suffix, T)                                                                                                       \
  extern "C" __global__ void ludown_##suffix(Cut cut, Blocks<T, 1> source, Down<T> out) {                                     \
    down<T, false>(cut, source, out);                                                                                         \
  }                                                                                                                           \
  extern "C" __global__ void pairsdown_##suffix(Cut cut, Blocks<T, 1> source, Down<T> out) {                                  \
    down<T, true>(cut, source, out);                                                                                          \
  }                                                                                                                           \
  extern "C" __global__ void up_##suffix(Cut cut, Up<T> in, Peaks<T> peaks, u32 column) {                                     \
    up<T>(cut, in, peaks, column);                                                                                            \
  }

#define CYCLIC(suffix, T)                                                                                                     \
  extern "C" __global__ void cyclic_##suffix(Cut cut, Blocks<T, 1> source, Columns<const T> rhs, Columns<T> out,              \
                                             Peaks<T> peaks, Rule rule) {                                                     \
    cyclic<T>(cut, source, rhs, out, peaks, rule);                                                                            \
  }                                                                                                                           \
  extern "C" __global__ void spikereduce_##suffix(Cut cut, Blocks<T, 1> source, Columns<const T> rhs, Coarse<T> coarse,       \
                                                  Rule rule) {                                                                \
    spike_reduce<T>(cut, source, rhs, coarse, rule);                                                                          \
  }                                                                                                                           \
  extern "C" __global__ void spikesubstitute_##suffix(Cut cut, Blocks<T, 1> source, Columns<const T> rhs, Columns<const T> y, \
                                                      Columns<T> out, Peaks<T> coarse_peaks, Peaks<T> peaks, Rule rule) {     \
    spike_substitute<T>(cut, source, rhs, y, out, coarse_peaks, peaks, rule);                                                 \
  }

#define PRODUCT(suffix, ...)                                                                                                  \
  extern "C" __global__ void product_##suffix(SparseRows<__VA_ARGS__::Entry> a, __VA_ARGS__ op, __VA_ARGS__::Sum* carries) {  \
    product(a, op, carries);                                                                                                  \
  }                                                                                                                           \
  extern "C" __global__ void join_##suffix(SparseRows<__VA_ARGS__::Entry> a, __VA_ARGS__ op,                                  \
                                           const __VA_ARGS__::Sum* carries) {                                                 \
    join(a, op, carries);                                                                                                     \
  }

#define LARGEST(suffix, T)                                                                                                    \
  extern "C" __global__ void largest_##suffix(u32 n, const T* x, Peaks<T>::Word* peak) { largest<T>(n, x, peak); }

#define VECTORS(suffix, T)                                                                                                    \
  extern "C" __global__ void combine_##suffix(Combine<T> all) { combine<T>(all); }                                            \
  extern "C" __global__ void orthogonalize_##suffix(GramSchmidt<T> all) { orthogonalize<T>(all); }                            \
  extern "C" __global__ void rotate_##suffix(Rotation<T> all) { rotate<T>(all); }                                             \
  extern "C" __global__ void gather_##suffix(Gather<T> all) { gather<T>(all); }

#define GRAPH(suffix, T)                                                                                                      \
  extern "C" __global__ void weights_##suffix(SparseRows<T> a, const double* moduli, double* out, u32* flag) {                \
    weights<T>(a, moduli, out, flag);                                                                                         \
  }

#define CONFIRM(suffix, N)                                                                                                    \
  extern "C" __global__ void confirm_##suffix(u32 n, const u32* proposed, u32* confirmed, unsigned char* states, u64 round,   \
                                              u32 charged) {                                                                  \
    confirm<N>(n, proposed, confirmed, states, round, charged);                                                               \
  }

#define FOREST(suffix, T)                                                                                                     \
  extern "C" __global__ void links_##suffix(u32 n, Partners partners, SparseRows<T> graph, Reach* reach,                      \
                                            WeightedEdge* edges) {                                                            \
    links(n, partners, graph, reach, edges);                                                                                  \
  }                                                                                                                           \
  extern "C" __global__ void weakest_##suffix(u32 n, const Reach* reach, Reach* next_reach, const WeightedEdge* edges,        \
                                              WeightedEdge* next_edges, u32* reports) {                                       \
    doubled<true>(n, reach, next_reach, edges, next_edges, reports);                                                          \
  }                                                                                                                           \
  extern "C" __global__ void farthest_##suffix(u32 n, const Reach* reach, Reach* next_reach, u32* reports) {                  \
    doubled<false>(n, reach, next_reach, nullptr, nullptr, reports);                                                          \
  }                                                                                                                           \
  extern "C" __global__ void breakcycles_##suffix(u32 n, Partners partners, const Reach* reach, const WeightedEdge* edges,    \
                                                  Reach* next_reach, u32* cycles) {                                           \
    break_cycles(n, partners, reach, edges, next_reach, cycles);                                                              \
  }                                                                                                                           \
  extern "C" __global__ void pathlengths_##suffix(u32 n, const Reach* reach, PathTables tables) {                             \
    path_lengths(n, reach, tables);                                                                                           \
  }                                                                                                                           \
  extern "C" __global__ void pathorder_##suffix(u32 n, PathTables tables, u32* order) { path_order(n, tables, order); }       \
  extern "C" __global__ void weaken_##suffix(SparseRows<T> graph, T* weights, PathOrder paths, T by) {                        \
    weaken(graph, weights, paths, by);                                                                                        \
  }                                                                                                                           \
  extern "C" __global__ void neighbors_##suffix(SparseRows<T> graph, u32* partners) { neighbors(graph, partners); }           \
  extern "C" __global__ void composed_##suffix(u32 n, const u32* index, const u32* from, u32* out) {                          \
    composed(n, index, from, out);                                                                                            \
  }

#define DIAGONAL(suffix, T)                                                                                                   \
  extern "C" __global__ void diagonal_##suffix(SparseRows<T> a, Diagonal<T> all) { diagonal<T>(a, all); }                     \
  extern "C" __global__ void productfactor_##suffix(ProductFactor<T> all) { product_factor<T>(all); }

#define ROUNDED(suffix, T)                                                                                                    \
  extern "C" __global__ void exponent_##suffix(Rounded<T> all) { find_exponent<T>(all); }                                     \
  extern "C" __global__ void rounded_##suffix(Rounded<T> all) { round_scaled<T>(all); }                                       \
  extern "C" __global__ void widened_##suffix(Rounded<T> all) { widen_scaled<T>(all); }

#define TRANSFORM(suffix, R)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(TRANSFORM_THREADS, transform_blocks<R>())                                      \
      transform_##suffix(TransformPass<R> pass) {                                                                             \
    transform<R>(pass);                                                                                                       \
  }

#define SWEEP(suffix, R)                                                                                                      \
  extern "C" __global__ void sweepfactors_##suffix(SweepFactors<R> all) { sweep_factors<R>(all); }                            \
  extern "C" __global__ void sweep_##suffix(Sweep<R> all) { sweep<R>(all); }

#define BOX(suffix, R)                                                                                                        \
  extern "C" __global__ void boxresidual_##suffix(BoxResidual<R> all) { box_residual<R>(all); }                               \
  extern "C" __global__ void boxshift_##suffix(u32 n, R* u, R factor, R level) { box_shift<R>(n, u, factor, level); }

#define DENSE(suffix, T, REAL)                                                                                                \
  extern "C" __global__ void rowsizes_##suffix(DenseBlocks<T> a, REAL* by, REAL* sums) { row_sizes<T>(a, by, sums); }         \
  extern "C" __global__ void scaledblocks_##suffix(DenseBlocks<T> a, const REAL* by, T* left, T* diag, T* right) {            \
    scaled_blocks<T>(a, by, left, diag, right);                                                                               \
  }                                                                                                                           \
  extern "C" __global__ void copyblocks_##suffix(u32 rows, u32 columns, u32 count, SpacedBlocks<T> to,                        \
                                                 SpacedBlocks<const T> from) {                                                \
    copy_blocks<T>(rows, columns, count, to, from);                                                                           \
  }                                                                                                                           \
  extern "C" __global__ void foldblocks_##suffix(u32 numbers, T* to, T* from) { fold_blocks<T>(numbers, to, from); }          \
  extern "C" __global__ void dropblocks_##suffix(u32 numbers, u32 count, double limit, T* blocks) {                           \
    drop_blocks<T>(numbers, count, limit, blocks);                                                                            \
  }                                                                                                                           \
  extern "C" __global__ void checkpivots_##suffix(u32 block, u32 count, SpacedBlocks<const T> factors, const int* status,     \
                                                  u32* suspects) {                                                            \
    check_pivots<T>(block, count, factors, status, suspects);                                                                 \
  }                                                                                                                           \
  extern "C" __global__ void scalecolumns_##suffix(Cut cut, const REAL* by, int conjugated, Columns<const T> from,            \
                                                   Columns<T> to, Peaks<T> peaks) {                                           \
    scale_columns<T>(cut, by, conjugated, from, to, peaks);                                                                   \
  }                                                                                                                           \
  extern "C" __global__ void blockerrors_##suffix(Cut cut, const REAL* by, const REAL* sums, Columns<const T> rhs,            \
                                                  Columns<const T> rest, Peaks<T> peaks) {                                    \
    block_errors<T>(cut, by, sums, rhs, rest, peaks);                                                                         \
  }                                                                                                                           \
  extern "C" __global__ void blockresidual_##suffix(Cut cut, DenseBlocks<T> a, Columns<const T> rhs, Columns<const T> x,      \
                                                    Columns<T> rest, Peaks<T> peaks) {                                        \
    block_residual<T>(cut, a, rhs, x, rest, peaks);                                                                           \
  }

#ifdef INSTANCES
#include INSTANCES
#endif
