// The model of thread blocks on the CPU. Every thread is a fiber. Warps and blocks wait at barriers.
//
// The lanes of a warp, and the warps of a block, run independently, as in CUDA. In waves of 64 lanes, as on AMD GPUs, two warps
// are the halves of a wave: a lane that spins stops the other lanes of its wave, and a vote also contains those of the other half.
//
// Errors that are undefined on a GPU end the program with a message:
// - barriers that not all threads reach,
// - shuffles with lanes that do not exist, or that are in the other half of a wave,
// - endless waiting,
// - memory accesses out of bounds, which protected pages detect,
// - data races, if the kernels are compiled for their detection (race.cpp).
#pragma once
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "race.hpp"

typedef unsigned int u32;
typedef unsigned long long u64;

namespace emulator {

struct Dim {
  u32 x, y, z;
};

/// The barrier at which a fiber waits.
enum class Wait : unsigned char { Nothing, Warp, Block };

/// A value that a lane passes to other lanes.
struct Slot {
  unsigned char bytes[32];
};

struct alignas(64) Thread {
  void* stack_pointer;
  /// The first thread of the warp, the number of lanes, and the number of this lane.
  Thread* warp;
  int lanes, lane;
  /// The line of the source where the thread waits.
  int line;
  Wait wait;
  bool returned;
  /// Whether the barrier orders the memory accesses of the warp.
  bool orders;
  /// The index of the slot for the next value.
  bool turn;
  /// Whether the thread waits in a loop, and, for the first thread of a wave, the number of threads of the wave that do.
  bool spins;
  unsigned char spinning;
  Dim index;
  unsigned char* stack;
  /// Two slots, used alternately: a lane writes the next value while others still read the last one.
  Slot slots[2];
};

struct Block;

/// Lanes of a warp.
static const int WARP = 32;

/// A variable of the host thread, at an address that is known when the program is loaded.
#define OWN __thread __attribute__((tls_model("initial-exec")))
/// The current block and thread, and the stack of the scheduler that runs them.
extern OWN Block* block;
extern OWN Thread* current;
extern OWN void* scheduler;

Dim block_index();
Dim block_size();
Dim grid_size();
/// Lanes of a wave: 32 or 64.
int wave_size();
unsigned char* shared_memory();
size_t shared_bytes();
/// The number of the current thread over all blocks.
size_t thread_number();
[[noreturn]] void fail(const char* message);
extern "C" void emulator_switch(void** save, void* to);

/// Let other threads run.
inline void yield() { emulator_switch(&current->stack_pointer, scheduler); }

/// Let other threads run, before the next look at what this one waits for.
inline void spin() {
  current->spins = true;
  yield();
}

inline void wait(Wait what, int line) {
  current->wait = what;
  current->line = line;
  yield();
}

inline void sync_warp(int line) {
  current->orders = true;
  wait(Wait::Warp, line);
}

/// Pass a value to the other lanes of the warp. Returns the index of its slot.
template <class T> inline bool hand_out(T value, int line) {
  static_assert(sizeof(T) <= sizeof(Slot) && std::is_trivially_copyable<T>::value, "the value must fit in a slot");
  const bool turn = current->turn;
  current->turn = !turn;
  memcpy(current->slots[turn].bytes, &value, sizeof value);
  wait(Wait::Warp, line);
  return turn;
}

/// The value that a lane passed.
template <class T> inline T handed(int lane, bool turn) {
  T value;
  memcpy(&value, current->warp[lane].slots[turn].bytes, sizeof value);
  return value;
}

/// The value of a lane of a group of `width` lanes. Only lanes of the same warp are sure to be at the same shuffle.
template <class T> inline T shuffle(T value, int from, int width, int line) {
  current->line = line;
  if (from < 0 || from >= width) fail("shuffle from a lane that does not exist");
  const int self = (int)(current->index.x % (u32)wave_size()), source = (self & ~(width - 1)) + from;
  if (source / WARP != self / WARP) fail("shuffle from a lane of the other half of the wave");
  const bool turn = hand_out(value, line);
  if (source % WARP >= current->lanes) fail("shuffle from a lane that does not exist");
  return handed<T>(source % WARP, turn);
}

/// The votes of all lanes of the wave. Those of the other half depend on where it is, so they are the opposite of the right ones.
inline u64 ballot(bool predicate, int line) {
  const bool turn = hand_out(predicate, line);
  u64 votes = 0;
  for (int l = 0; l < current->lanes; ++l) votes |= (u64)handed<bool>(l, turn) << l;
  if (wave_size() == WARP) return votes;
  const u32 first = current->index.x / WARP * WARP, other = first ^ WARP;
  u64 opposite = 0;
  for (u32 l = 0; l < WARP && other + l < block_size().x; ++l) opposite |= (~votes >> l & 1) << l;
  return other < first ? opposite | votes << WARP : votes | opposite << WARP;
}

struct Options {
  // 0 forward, 1 reverse, 2 random.
  int order;
  u64 seed;
  // Number of blocks that run at the same time.
  u32 resident;
  // Lanes of a wave: 32 or 64.
  u32 wave;
  // Number of rounds in which only waiting threads may run, before they count as stuck.
  u64 patience;
};

void launch(const char* name, Dim grid, Dim size, size_t shared, void (*entry)(void*), void* arguments, Options o);

// Arguments in the form of cuLaunchKernel: pointer i points to argument i.
template <class... A> struct Call {
  void (*kernel)(A...);
  void** arguments;
};

template <class... A, size_t... I> static void invoke(const Call<A...>& c, std::index_sequence<I...>) {
  c.kernel(*static_cast<std::remove_reference_t<A>*>(c.arguments[I])...);
}

template <class... A>
static void start(const char* name, void (*kernel)(A...), const u32* grid, const u32* size, size_t shared, void** arguments,
                  Options options) {
  Call<A...> call{kernel, arguments};
  auto entry = [](void* p) { invoke(*static_cast<Call<A...>*>(p), std::index_sequence_for<A...>{}); };
  launch(name, {grid[0], grid[1], grid[2]}, {size[0], size[1], size[2]}, shared, entry, &call, options);
}

}  // namespace emulator

// Run a kernel of one number type, or a broken one. Returns 1 if no kernel has this name.
#define EMULATOR_LAUNCH(family) EMULATOR_FAMILY(family)
#define EMULATOR_FAMILY(family)                                                                                         \
  extern "C" int emulator_##family(const char* name, const u32* grid, const u32* size, size_t shared, void** arguments, \
                                   emulator::Options options)
EMULATOR_LAUNCH(f32);
EMULATOR_LAUNCH(f64);
EMULATOR_LAUNCH(c32);
EMULATOR_LAUNCH(c64);
EMULATOR_LAUNCH(broken);
#define KERNEL(kernel)                                                     \
  if (!strcmp(name, #kernel)) {                                            \
    emulator::start(name, kernel, grid, size, shared, arguments, options); \
    return 0;                                                              \
  }

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
#define __syncwarp(...) emulator::sync_warp(__LINE__)
#define warpSize (emulator::wave_size())
#define __shfl(value, from, width) emulator::shuffle((value), (from), (width), __LINE__)
#define __shfl_xor(value, by, width) emulator::shuffle((value), (int)(threadIdx.x % (u32)(width)) ^ (by), (width), __LINE__)
#define __ballot(predicate) emulator::ballot((predicate), __LINE__)

template <class To, class From> inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "both types must have the same size");
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
template <class Word> inline Word load_relaxed(const Word* p) {
  Word v;
  __atomic_load(p, &v, __ATOMIC_RELAXED);
  return v;
}
inline u32 load_acquire(const u32* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
inline void store_release(u32* p, u32 v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
inline void spin_pause() { emulator::spin(); }
inline void __threadfence() { race::fence(); }
inline int __popc(u32 v) { return __builtin_popcount(v); }
