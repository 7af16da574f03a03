// Kernels with one bug each, which the emulator must detect. Some have no bug if their last argument is 1.
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

extern "C" __global__ void absent_lane(u32* out) { out[threadIdx.x] = from_lane(threadIdx.x, 20); }

// Lanes of one warp reach different operations.
extern "C" __global__ void torn_warp(u32* out) {
  u32 v = threadIdx.x;
  if (v % 32 < 16) {
    v = from_lane_xor(v, 1);
  } else {
    v = from_lane(v, 3);
  }
  out[threadIdx.x] = v;
}

// A thread waits for an event that never occurs.
extern "C" __global__ void waits_for_nobody(u32* out) {
  while (load_acquire(out) == 0) spin_pause();
}

// Thread 0 of the first block passes a number to the second block. Without `fence`, the number may arrive after the flag.
extern "C" __global__ void no_fence(u32* number, u32* flag, u32* out, int fence) {
  if (blockIdx.x == 0) {
    number[threadIdx.x] = 1;
    if (fence) __threadfence();
    atomicAdd(flag, 1u);
  } else {
    while (load_acquire(flag) < blockDim.x) spin_pause();
    out[threadIdx.x] = number[blockDim.x - 1 - threadIdx.x];
  }
}

// As before, with a reader that reads the number before it may have arrived, unless it has a fence.
extern "C" __global__ void no_acquire(u32* number, u32* flag, u32* out, int fence) {
  if (blockIdx.x == 0) {
    number[threadIdx.x] = 1;
    __threadfence();
    atomicAdd(flag, 1u);
  } else {
    while (load_relaxed(flag) < blockDim.x) spin_pause();
    if (fence) __threadfence();
    out[threadIdx.x] = number[blockDim.x - 1 - threadIdx.x];
  }
}

// A shuffle does not order accesses to memory.
extern "C" __global__ void only_a_shuffle(const u32* in, u32* out, int sync) {
  SHARED_BYTES(memory);
  u32* shared = reinterpret_cast<u32*>(memory);
  const u32 t = threadIdx.x;
  shared[t] = in[t];
  if (sync) {
    __syncwarp();
  } else {
    from_lane(t, 0);
  }
  out[t] = shared[t ^ 1];
}

// Blocks write bytes of the same word, or the same bytes unless they are `apart`.
extern "C" __global__ void two_writers(u32* out, int apart) {
  reinterpret_cast<unsigned char*>(out)[apart ? blockIdx.x : 0] = 1;
}

// The largest number is read before all threads have raised it, unless they wait.
extern "C" __global__ void early_read(u32* most, u32* out, int wait) {
  atomicMax(most, threadIdx.x);
  if (wait) __syncthreads();
  if (threadIdx.x == 0) out[0] = *most;
}

// A shuffle over the whole wave: in waves of 64 lanes, the upper half receives a value of the lower half.
extern "C" __global__ void shuffle_of_the_wave(u32* out, int right) {
  out[threadIdx.x] = __shfl(threadIdx.x, 3, right ? 32 : warpSize);
}

// The votes of the whole wave in a word of 32 bits: in waves of 64 lanes, these are the votes of the lower half.
extern "C" __global__ void votes_of_the_wave(u32* out, int right) {
  const bool odd = threadIdx.x % 2 == 1;
  out[threadIdx.x] = right ? warp_votes(odd) : (u32)__ballot(odd);
}

// The number of votes of previous lanes, with a mask of 32 bits for a lane of the wave.
extern "C" __global__ void mask_of_the_wave(u32* out, int right) {
  const u32 lane = threadIdx.x % (u32)(right ? 32 : warpSize);
  out[threadIdx.x] = (u32)__popc(warp_votes(true) & ((1u << lane) - 1));
}

// A warp waits for another one, which in waves of 64 lanes is the other half of its wave, unless it is `far`.
extern "C" __global__ void waits_for_the_other_half(u32* flag, int far) {
  if (threadIdx.x == 0) {
    while (load_acquire(flag) == 0) spin_pause();
  } else if (threadIdx.x == (far ? 64 : 32)) {
    store_release(flag, 1u);
  }
}

// A lane of the other half of the wave writes what this one reads. Also in waves of 64 lanes, a barrier of the warp does not
// order that.
extern "C" __global__ void halves_in_step(const u32* in, u32* out, int wait) {
  SHARED_BYTES(memory);
  u32* shared = reinterpret_cast<u32*>(memory);
  const u32 t = threadIdx.x;
  shared[t] = in[t];
  if (wait) {
    __syncthreads();
  } else {
    __syncwarp();
  }
  out[t] = shared[t ^ 32];
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
  KERNEL(no_fence)
  KERNEL(no_acquire)
  KERNEL(only_a_shuffle)
  KERNEL(two_writers)
  KERNEL(early_read)
  KERNEL(shuffle_of_the_wave)
  KERNEL(votes_of_the_wave)
  KERNEL(mask_of_the_wave)
  KERNEL(waits_for_the_other_half)
  KERNEL(halves_in_step)
  return 1;
}
