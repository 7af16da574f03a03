// Kernels with one bug each, which the emulator must detect.
#include "emulator.hpp"

#include "../kernels/port.cuh"

// Every thread passes a number to its neighbor, without a barrier unless `wait` is set.
extern "C" __global__ void no_barrier(const u32* in, u32* out, int wait) {
  SHARED_BYTES(memory);
  u32* shared = reinterpret_cast<u32*>(memory);
  const u32 t = threadIdx.x, n = blockDim.x;
  shared[t] = in[t];
  if (wait) __syncthreads();
  out[t] = shared[(t + 1) % n];
}

// Not all threads reach the barrier.
extern "C" __global__ void divergent_barrier(u32* out) {
  if (threadIdx.x < 7) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

// Threads reach different barriers.
extern "C" __global__ void two_barriers(u32* out) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

extern "C" __global__ void beyond_the_end(u32* out, u32 n) { out[n] = 1; }

extern "C" __global__ void beyond_shared_memory(u32* out, u32 words) {
  SHARED_BYTES(memory);
  out[0] = reinterpret_cast<u32*>(memory)[words];
}

extern "C" __global__ void absent_lane(u32* out) { out[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x, 20); }

// Lanes of one warp reach different operations.
extern "C" __global__ void torn_warp(u32* out) {
  u32 v = threadIdx.x;
  if (v % 32 < 16) {
    v = __shfl_xor_sync(0xffffffffu, v, 1);
  } else {
    v = __shfl_sync(0xffffffffu, v, 3);
  }
  out[threadIdx.x] = v;
}

// A thread waits for an event that never occurs.
extern "C" __global__ void waits_for_nobody(u32* out) {
  while (load_acquire(out) == 0) spin_pause();
}

EMULATOR_LAUNCH(broken) {
  KERNEL(no_barrier)
  KERNEL(divergent_barrier)
  KERNEL(two_barriers)
  KERNEL(beyond_the_end)
  KERNEL(beyond_shared_memory)
  KERNEL(absent_lane)
  KERNEL(torn_warp)
  KERNEL(waits_for_nobody)
  return 1;
}
