// The interface between the kernels and the machine. CUDA: a thin layer. EMULATOR: thread blocks on the CPU.
#pragma once

#ifdef EMULATOR
#include "../emulator/emulator.hpp"
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
typedef unsigned int u32;
typedef unsigned long long u64;
// Dynamic shared memory.
#define SHARED_BYTES(name) extern __shared__ __align__(16) unsigned char name[]
__device__ __forceinline__ u32 bits_of(float v) { return __float_as_uint(v); }
__device__ __forceinline__ u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
__device__ __forceinline__ float of_bits(u32 v) { return __uint_as_float(v); }
__device__ __forceinline__ double of_bits(u64 v) { return __longlong_as_double((long long)v); }
// Read a word that another thread block wrote with release, so that all of its earlier writes are visible.
__device__ __forceinline__ u32 load_acquire(const u32* p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_release(u32* p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}
// Read a word that other thread blocks change, without an order.
template <class Word> __device__ __forceinline__ Word load_relaxed(const Word* p) { return *(const volatile Word*)p; }
// Pause in a loop that waits for another thread block.
__device__ __forceinline__ void spin_pause() { __nanosleep(20); }
#endif
