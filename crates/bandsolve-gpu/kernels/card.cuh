// Solve a system that fits in the shared memory of the whole GPU in one launch. Its rows are read once, and remain in
// shared memory while the coarse system is solved. x is written once.
#pragma once
#include "rpts.cuh"

#define MOST_LEVELS 5

// All levels: their cuts, the coarse systems below them, and the measurements of each level.
template <class T> struct Card {
  u32 levels;
  // Number of values in shared memory before those of the coarse levels.
  u32 before;
  // The number of thread blocks that reached a barrier. It is zero at the launch.
  u32* arrived;
  Cut cuts[MOST_LEVELS];
  Coarse<T> below[MOST_LEVELS];
  Peaks<T> peaks[MOST_LEVELS];
};

// A barrier of all thread blocks, the `number`-th of the launch. All blocks must run at the same time. After the
// barrier, each block sees all earlier writes of the others.
__device__ __forceinline__ void meet(u32* arrived, u32 number) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (load_acquire(arrived) < number * gridDim.x) spin_pause();
    __threadfence();
  }
  __syncthreads();
}

template <class T, int B, class Source, class Pivots>
__device__ __forceinline__ void card(const Card<T>& all, const Source& source, const Columns<const T>& rhs,
                                     const Columns<T>& out, const Pivots& rule) {
  SHARED_BYTES(memory);
  T *const numbers = reinterpret_cast<T*>(memory), *const rest = numbers + all.before;
  const Cut& top = all.cuts[0];
  const Task own = task_of<1>(top, blockIdx.x);
  const Tile<T, B, 1> kept(numbers, top.m, own.span.count);
  stage(kept, top, own, source, rhs, rule.scale_rows);
  __syncthreads();
  reduce_tile(kept, top, own, all.below[0], rule);
  u32 met = 0;
  const u32 last = all.levels - 1;
  for (u32 l = 1; l <= last; ++l) {
    meet(all.arrived, ++met);
    const Cut& cut = all.cuts[l];
    if (blockIdx.x >= cut.spans) continue;
    const Coarse<T>& system = all.below[l - 1];
    const Blocks<T, B> bands = {system.a, system.b, system.c, PLAIN};
    const Columns<const T> d = {system.d.first, system.d.step};
    const Task task = task_of<1>(cut, blockIdx.x);
    if (l == last) {
      finish_in<T, B, 1>(rest, cut, task, bands, d, system.d, all.peaks[l], rule);
    } else {
      const Tile<T, B, 1> tile(rest, cut.m, task.span.count);
      stage(tile, cut, task, bands, d, rule.scale_rows);
      __syncthreads();
      reduce_tile(tile, cut, task, all.below[l], rule);
    }
  }
  for (u32 l = last - 1; l > 0; --l) {
    meet(all.arrived, ++met);
    const Cut& cut = all.cuts[l];
    if (blockIdx.x >= cut.spans) continue;
    const Coarse<T>& system = all.below[l - 1];
    const Blocks<T, B> bands = {system.a, system.b, system.c, PLAIN};
    const Columns<const T> d = {system.d.first, system.d.step}, y = {all.below[l].d.first, all.below[l].d.step};
    const Task task = task_of<1>(cut, blockIdx.x);
    const Tile<T, B, 1> tile(rest, cut.m, task.span.count);
    // The rows of the downward pass may have been overwritten, by pivot rows or by another level. They are then loaded
    // again.
    stage(tile, cut, task, bands, d, rule.scale_rows);
    __syncthreads();
    substitute_tile(tile, cut, task, bands, d, y, system.d, all.peaks[l + 1], all.peaks[l], rule);
  }
  meet(all.arrived, ++met);
  const Columns<const T> y = {all.below[0].d.first, all.below[0].d.step};
  substitute_tile(kept, top, own, source, rhs, y, out, all.peaks[1], all.peaks[0], rule);
}
