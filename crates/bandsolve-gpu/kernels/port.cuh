// The interface between the kernels and the machine. CUDA and HIP (AMD): a thin layer. EMULATOR: thread blocks on the CPU.
//
// A warp has 32 lanes. On AMD GPUs, it is a wave of 32 lanes or one half of a wave of 64. Both halves of a wave may run the
// same instruction or different ones. While a lane waits in a loop, the other lanes of its wave wait, too. A lane must therefore
// wait only for other waves.
#pragma once

#ifdef EMULATOR
#include "../emulator/emulator.hpp"
#define UNROLL
#define ROLL
#else
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#define UNROLL _Pragma("unroll")
// A loop that the compiler must not unroll.
#define ROLL _Pragma("unroll 1")
typedef unsigned int u32;
typedef unsigned long long u64;
// Dynamic shared memory.
#define SHARED_BYTES(name) extern __shared__ __align__(16) unsigned char name[]
__device__ __forceinline__ u32 bits_of(float v) { return __float_as_uint(v); }
__device__ __forceinline__ u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
__device__ __forceinline__ float of_bits(u32 v) { return __uint_as_float(v); }
__device__ __forceinline__ double of_bits(u64 v) { return __longlong_as_double((long long)v); }
#endif

// `load_acquire` reads a word that another thread block wrote with `store_release`, so that all of its earlier writes are
// visible. `load_relaxed` reads a word that other thread blocks change, without an order. `spin_pause` is a pause in a loop
// that waits for another thread block.
#if defined(__HIP__)
__device__ __forceinline__ u32 load_acquire(const u32* p) {
  return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void store_release(u32* p, u32 v) {
  __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
template <class Word> __device__ __forceinline__ Word load_relaxed(const Word* p) {
  return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void spin_pause() { __builtin_amdgcn_s_sleep(1); }
#elif !defined(EMULATOR)
__device__ __forceinline__ u32 load_acquire(const u32* p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_release(u32* p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}
template <class Word> __device__ __forceinline__ Word load_relaxed(const Word* p) { return *(const volatile Word*)p; }
__device__ __forceinline__ void spin_pause() { __nanosleep(20); }
#endif

// The value of another lane of the warp, by its number or by the bits in which the numbers differ, and the lanes for which a
// condition is true. All lanes of the warp must take part.
#if defined(__HIP__) || defined(EMULATOR)
template <class V> __device__ __forceinline__ V from_lane(V v, u32 lane) { return __shfl(v, (int)lane, 32); }
template <class V> __device__ __forceinline__ V from_lane_xor(V v, u32 by) { return __shfl_xor(v, (int)by, 32); }
__device__ __forceinline__ u32 warp_votes(bool condition) {
  // A wave of 64 lanes has 64 votes, and those of its second warp are the upper 32.
  return (u32)(__ballot(condition) >> (threadIdx.x & 32 & (warpSize - 1)));
}
#else
template <class V> __device__ __forceinline__ V from_lane(V v, u32 lane) { return __shfl_sync(0xffffffffu, v, lane); }
template <class V> __device__ __forceinline__ V from_lane_xor(V v, u32 by) { return __shfl_xor_sync(0xffffffffu, v, by); }
__device__ __forceinline__ u32 warp_votes(bool condition) { return __ballot_sync(0xffffffffu, condition); }
#endif
