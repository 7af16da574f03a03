// What the emulator tells the detector of data races (race.cpp). Only the build with RACES has a detector.
#pragma once
#include <cstddef>

namespace race {

#ifdef RACES
/// A launch begins, with this number of threads per block. Earlier accesses no longer matter.
void begin(const char* kernel, size_t blocks, size_t threads);
/// Accesses to this memory of the device count. No other memory is on the same pages.
void track(void* memory, size_t bytes);
void untrack(void* memory);
/// A block begins, with shared memory that other blocks used before.
void begin_block(void* shared, size_t bytes);
/// `count` threads meet: what one of them did before, happens before what another one does later. Threads are numbered over all blocks.
void meet(size_t first, size_t count);
/// The current thread runs `__threadfence`.
void fence();
#else
inline void begin(const char*, size_t, size_t) {}
inline void track(void*, size_t) {}
inline void untrack(void*) {}
inline void begin_block(void*, size_t) {}
inline void meet(size_t, size_t) {}
inline void fence() {}
#endif

}  // namespace race
