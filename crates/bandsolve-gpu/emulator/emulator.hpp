// The CUDA model of a thread block on the CPU: every thread is a fiber, warps and blocks meet at barriers, and what would be
// undefined on a card ends the program with a message: barriers that not all threads reach, shuffles with lanes that are not
// there, threads that wait for ever, and (by pages that nobody may touch) memory out of bounds.
#pragma once
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

typedef unsigned int u32;
typedef unsigned long long u64;

namespace emulator {

struct Dim {
  u32 x, y, z;
};

/// What a fiber waits for.
enum class Wait { Nothing, Warp, Block };

/// A value on its way from lane to lane.
struct Slot {
  unsigned char bytes[32];
};

struct Thread {
  void* stack_pointer;
  unsigned char* stack;
  Dim index;
  /// The first thread of its warp, how many these are, and its own number among them.
  Thread* warp;
  int lanes, lane;
  bool returned;
  Wait wait;
  /// Where in the source it waits.
  int line;
  Slot slot;
  bool predicate;
};

struct Block;

/// The thread that runs. (Not `thread_local`: that would be a call for every use.)
extern __thread Block* block;
extern __thread Thread* current;

Dim block_index();
Dim block_size();
Dim grid_size();
unsigned char* shared_memory();
/// Lets other threads run.
void yield();
void wait(Wait what, int line);
[[noreturn]] void fail(const char* message);

template <class T> T exchange(T value, int source, int line) {
  static_assert(sizeof(T) <= sizeof(Slot) && std::is_trivially_copyable<T>::value, "a value that fits a slot");
  memcpy(current->slot.bytes, &value, sizeof value);
  wait(Wait::Warp, line);
  if (source < 0 || source >= current->lanes) fail("shuffle from a lane that is not there");
  T result;
  memcpy(&result, current->warp[source].slot.bytes, sizeof result);
  wait(Wait::Warp, -line);
  return result;
}

inline u32 ballot(bool predicate, int line) {
  current->predicate = predicate;
  wait(Wait::Warp, line);
  u32 votes = 0;
  for (int l = 0; l < current->lanes; ++l) votes |= (u32)current->warp[l].predicate << l;
  wait(Wait::Warp, -line);
  return votes;
}

}  // namespace emulator

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define threadIdx (emulator::current->index)
#define blockIdx (emulator::block_index())
#define blockDim (emulator::block_size())
#define gridDim (emulator::grid_size())
#define SHARED_BYTES(name) unsigned char* name = emulator::shared_memory()
#define __syncthreads() emulator::wait(emulator::Wait::Block, __LINE__)
#define __syncwarp(...) emulator::wait(emulator::Wait::Warp, __LINE__)
#define __shfl_sync(mask, value, from) emulator::exchange((value), (int)(from), __LINE__)
#define __shfl_xor_sync(mask, value, by) emulator::exchange((value), emulator::current->lane ^ (int)(by), __LINE__)
#define __ballot_sync(mask, predicate) emulator::ballot((predicate), __LINE__)

template <class To, class From> inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline u32 bits_of(float v) { return same_bits<u32>(v); }
inline u64 bits_of(double v) { return same_bits<u64>(v); }
inline float of_bits(u32 bits) { return same_bits<float>(bits); }
inline double of_bits(u64 bits) { return same_bits<double>(bits); }

template <class W> inline W atomic_max(W* p, W v) {
  W old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (old < v && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
inline u32 atomicMax(u32* p, u32 v) { return atomic_max(p, v); }
inline u64 atomicMax(u64* p, u64 v) { return atomic_max(p, v); }
inline u32 atomicAdd(u32* p, u32 v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
inline u32 atomicOr(u32* p, u32 v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }
inline u32 load_acquire(const u32* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
inline void store_release(u32* p, u32 v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
inline void spin_pause() { emulator::yield(); }
inline void __threadfence() {}
inline int __popc(u32 v) { return __builtin_popcount(v); }
