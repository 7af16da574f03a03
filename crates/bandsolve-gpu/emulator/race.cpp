// A detector of data races between the threads of a launch->
//
// The compiler calls it for every memory access of the kernels (-fsanitize=thread). It takes the place of the compiler's own runtime, which
// knows neither thread blocks nor CUDA's barriers.
//
// Two accesses race if one of them writes, at least one is not atomic, and neither happens before the other. Each thread counts its
// own time, and knows up to which time the accesses of the others happened before its own (its clock). Clocks are joined
// - at __syncthreads and __syncwarp, for all threads that meet;
// - by an atomic read with acquire, or one before a fence, of a word written with release, or after a fence.
// Shuffles exchange values, but do not order accesses to memory.
//
// Source: Flanagan, Freund: FastTrack, PLDI 2009. Here, a word keeps all accesses that a later one could race with, with the bytes that
// they concern.
#include "race.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator.hpp"

namespace race {
namespace {

// The times of the threads of a block, and those of all blocks. They are shared and do not change; null stands for zeros.
typedef std::vector<u32> Times;
typedef std::vector<std::shared_ptr<const Times>> Blocks;
typedef std::shared_ptr<const Blocks> Clock;

struct Thread {
  u32 now = 1;
  /// What happened before; what happened before the last fence, with the time of this thread; and what atomic reads found, which a fence
  /// adds to `known`.
  Clock known, fenced, found;
};

const uintptr_t PAGE = 4096, WORD = 8;

/// An access to some bytes of a word (bits), and the index of the next one of this word.
struct Access {
  u32 thread, time, next;
  unsigned char bytes;
  bool writes, atomic;
  void* where;
};

/// The first access of each word of a page.
struct Shadow {
  u32 first[PAGE / WORD];
};

/// The state of a launch.
struct Launch {
  const char* kernel = "";
  size_t block = 1;
  std::vector<Thread> threads;
  /// What the writes of a word that atomic operations use pass on.
  std::unordered_map<uintptr_t, Clock> released;
  /// All accesses, those that are no longer in use, and the pages. Null stands for a page that does not count.
  std::vector<Access> accesses{1};
  u32 unused = 0;
  std::unordered_map<uintptr_t, std::unique_ptr<Shadow>> pages;
  /// Pages that were used before.
  struct {
    uintptr_t page = 0;
    Shadow* shadow = nullptr;
  } recent[256];
};
/// The launch of this thread of the host, and its memory. (A library has little room for variables of threads.)
thread_local std::unique_ptr<Launch> memory;
OWN Launch* launch;

/// The memory that counts: addresses and bytes. Each begins or ends at a page of its own.
std::map<uintptr_t, size_t> tracked;
std::mutex tracked_lock;

u32 me() { return (u32)emulator::thread_number(); }

/// The later times of both.
Clock join(const Clock& a, const Clock& b) {
  if (a == b || !b) return a;
  if (!a) return b;
  std::shared_ptr<Blocks> both;
  for (size_t k = 0; k < b->size(); ++k) {
    const auto &mine = (*a)[k], &other = (*b)[k];
    if (mine == other || !other) continue;
    auto later = other;
    if (mine) {
      Times times = *mine;
      bool changed = false;
      for (size_t t = 0; t < times.size(); ++t) {
        changed = changed || (*other)[t] > times[t];
        times[t] = std::max(times[t], (*other)[t]);
      }
      if (!changed) continue;
      if (times != *other) later = std::make_shared<const Times>(std::move(times));
    }
    if (!both) both = std::make_shared<Blocks>(*a);
    (*both)[k] = later;
  }
  return both ? Clock(both) : a;
}

/// A clock with the present times of some threads of a block, whose time then goes on.
Clock with_times(const Clock& known, size_t first, size_t count) {
  auto all = known ? std::make_shared<Blocks>(*known) : std::make_shared<Blocks>(launch->threads.size() / launch->block);
  auto& block = (*all)[first / launch->block];
  Times times = block ? *block : Times(launch->block, 0);
  for (size_t t = first; t < first + count; ++t) times[t % launch->block] = launch->threads[t].now++;
  block = std::make_shared<const Times>(std::move(times));
  return all;
}

bool happened_before(const Access& access, u32 thread) {
  if (access.thread == thread) return true;
  const Clock& known = launch->threads[thread].known;
  if (!known) return false;
  const auto& times = (*known)[access.thread / launch->block];
  return times && (*times)[access.thread % launch->block] >= access.time;
}

/// The memory that counts, and has bytes from `first` to `last`.
std::pair<uintptr_t, size_t> array_at(uintptr_t first, uintptr_t last) {
  const std::lock_guard<std::mutex> guard(tracked_lock);
  const auto next = tracked.upper_bound(last);
  if (next == tracked.begin()) return {0, 0};
  const auto [memory, bytes] = *std::prev(next);
  return first < memory + bytes ? std::make_pair(memory, bytes) : std::make_pair<uintptr_t, size_t>(0, 0);
}

Shadow* shadow_of(uintptr_t address) {
  const uintptr_t page = address / PAGE * PAGE;
  auto& recent = launch->recent[address / PAGE % 256];
  if (recent.page == page) return recent.shadow;
  auto [place, is_new] = launch->pages.try_emplace(page);
  if (is_new && array_at(page, page + PAGE - 1).second) place->second = std::make_unique<Shadow>();
  recent = {page, place->second.get()};
  return recent.shadow;
}

/// The places in the source of an instruction, the innermost function first.
std::string lines_of(void* where) {
  Dl_info info;
  char text[512];
  if (!dladdr(where, &info)) return "?";
  // The address is that of the next instruction.
  const size_t offset = (size_t)((char*)where - (char*)info.dli_fbase) - 1;
  snprintf(text, sizeof text, "addr2line -s -i -e '%s' 0x%zx 2>/dev/null", info.dli_fname, offset);
  std::string lines;
  if (FILE* output = popen(text, "r")) {
    while (fgets(text, sizeof text, output)) {
      text[strcspn(text, "\n (")] = 0;
      if (text[0] != '?' && !strstr(text, "emulator.hpp")) lines += (lines.empty() ? "" : " < ") + std::string(text);
    }
    pclose(output);
  }
  if (lines.empty()) snprintf(text, sizeof text, "offset 0x%zx of %s", offset, info.dli_fname);
  return lines.empty() ? text : lines;
}

std::string name(const Access& access) {
  char text[100];
  const char* what = access.writes ? "writes" : "reads";
  snprintf(text, sizeof text, "thread %zu of block %zu %s%s at ", access.thread % launch->block, access.thread / launch->block, what,
           access.atomic ? " atomically" : "");
  return text + lines_of(access.where);
}

[[noreturn]] void report(uintptr_t word, const Access& before, const Access& now) {
  const uintptr_t address = word + (uintptr_t)__builtin_ctz(before.bytes & now.bytes);
  const uintptr_t offset = address - (uintptr_t)emulator::shared_memory();
  const bool shared = offset < emulator::shared_bytes();
  const auto [memory, bytes] = array_at(address, address);
  fprintf(stderr, "kernel %s: data race on %s memory, byte %zu of %zu: %s; %s; nothing orders these accesses\n", launch->kernel,
          shared ? "shared" : "global", (size_t)(address - memory), bytes, name(before).c_str(), name(now).c_str());
  abort();
}

/// Check an access to a word, and keep it. Accesses that race only with what this one races with are dropped.
void access_word(uintptr_t word, u32& first, const Access& now) {
  for (u32* link = &first; *link;) {
    Access& before = launch->accesses[*link];
    const bool all = !(before.bytes & ~now.bytes), as_strong = now.writes >= before.writes && now.atomic <= before.atomic;
    if (before.thread == now.thread && before.time == now.time && before.writes == now.writes && before.atomic == now.atomic &&
        !(now.bytes & ~before.bytes)) {
      return;
    }
    const bool ordered = happened_before(before, now.thread);
    if (!ordered && before.bytes & now.bytes && (before.writes || now.writes) && !(before.atomic && now.atomic)) {
      report(word, before, now);
    }
    if (ordered && all && as_strong) {
      const u32 index = *link;
      *link = before.next;
      before.next = launch->unused;
      launch->unused = index;
    } else {
      link = &before.next;
    }
  }
  u32 index = launch->unused;
  if (index) {
    launch->unused = launch->accesses[index].next;
  } else {
    index = (u32)launch->accesses.size();
    launch->accesses.emplace_back();
  }
  launch->accesses[index] = now;
  launch->accesses[index].next = first;
  first = index;
}

void access(const volatile void* memory, size_t bytes, bool writes, bool atomic, void* where) {
  if (!emulator::current) return;
  const uintptr_t begin = (uintptr_t)memory, end = begin + bytes;
  const u32 thread = me();
  Access now = {thread, launch->threads[thread].now, 0, 0, writes, atomic, where};
  for (uintptr_t word = begin / WORD * WORD; word < end; word += WORD) {
    Shadow* shadow = shadow_of(word);
    if (!shadow) return;
    const uintptr_t first = std::max(begin, word) - word, after = std::min(end, word + WORD) - word;
    now.bytes = (unsigned char)((1u << after) - (1u << first));
    access_word(word, shadow->first[word % PAGE / WORD], now);
  }
}

bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
bool releases(int order) { return order >= __ATOMIC_RELEASE; }

/// What an atomic read finds.
void hear(const volatile void* word, int order) {
  const auto found = launch->released.find((uintptr_t)word);
  if (found == launch->released.end()) return;
  Thread& thread = launch->threads[me()];
  Clock& clock = acquires(order) ? thread.known : thread.found;
  clock = join(clock, found->second);
}

/// What an atomic write passes on. An operation that also reads passes on what it read, too.
void tell(const volatile void* word, int order, bool reads) {
  Thread& thread = launch->threads[me()];
  const Clock clock = releases(order) ? with_times(thread.known, me(), 1) : thread.fenced;
  Clock& released = launch->released[(uintptr_t)word];
  released = reads ? join(released, clock) : clock;
}

template <class Word> Word load(const volatile Word* word, int order, void* where) {
  access(word, sizeof *word, false, true, where);
  hear(word, order);
  return *word;
}

template <class Word> void store(volatile Word* word, Word value, int order, void* where) {
  access(word, sizeof *word, true, true, where);
  tell(word, order, false);
  *word = value;
}

template <class Word, class Change> Word update(volatile Word* word, int order, void* where, Change change) {
  access(word, sizeof *word, true, true, where);
  hear(word, order);
  tell(word, order, true);
  const Word before = *word;
  *word = change(before);
  return before;
}

template <class Word>
int exchange(volatile Word* word, Word* expected, Word value, int order, int failed, void* where) {
  if (*word == *expected) {
    update(word, order, where, [&](Word) { return value; });
    return 1;
  }
  *expected = load(word, failed, where);
  return 0;
}

}  // namespace

void begin(const char* kernel, size_t blocks, size_t threads) {
  memory = std::make_unique<Launch>();
  launch = memory.get();
  launch->kernel = kernel;
  launch->block = threads;
  launch->threads.resize(blocks * threads);
}

void track(void* memory, size_t bytes) {
  const std::lock_guard<std::mutex> guard(tracked_lock);
  tracked[(uintptr_t)memory] = bytes;
}

void untrack(void* memory) {
  const std::lock_guard<std::mutex> guard(tracked_lock);
  tracked.erase((uintptr_t)memory);
}

void begin_block(void* shared, size_t bytes) {
  for (uintptr_t word = (uintptr_t)shared; word < (uintptr_t)shared + bytes; word += WORD) {
    if (Shadow* shadow = shadow_of(word)) shadow->first[word % PAGE / WORD] = 0;
  }
}

void meet(size_t first, size_t count) {
  Clock all;
  for (size_t t = first; t < first + count; ++t) all = join(all, launch->threads[t].known);
  all = with_times(all, first, count);
  for (size_t t = first; t < first + count; ++t) launch->threads[t].known = all;
}

void fence() {
  Thread& thread = launch->threads[me()];
  thread.known = join(thread.known, thread.found);
  thread.found = nullptr;
  thread.fenced = with_times(thread.known, me(), 1);
}

}  // namespace race

// The functions that the compiler calls.
#define HERE __builtin_return_address(0)
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* p, size_t bytes) { race::access(p, bytes, false, false, HERE); }
void __tsan_write_range(void* p, size_t bytes) { race::access(p, bytes, true, false, HERE); }
void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  race::access(from, bytes, false, false, HERE);
  race::access(to, bytes, true, false, HERE);
  return memcpy(to, from, bytes);
}
void* __tsan_memset(void* to, int value, size_t bytes) {
  race::access(to, bytes, true, false, HERE);
  return memset(to, value, bytes);
}
#define PLAIN(bytes)                                                                             \
  void __tsan_read##bytes(void* p) { race::access(p, bytes, false, false, HERE); }               \
  void __tsan_write##bytes(void* p) { race::access(p, bytes, true, false, HERE); }               \
  void __tsan_unaligned_read##bytes(void* p) { race::access(p, bytes, false, false, HERE); }     \
  void __tsan_unaligned_write##bytes(void* p) { race::access(p, bytes, true, false, HERE); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
#define ATOMIC(bits, Word)                                                                                       \
  Word __tsan_atomic##bits##_load(const volatile Word* p, int order) { return race::load(p, order, HERE); }      \
  void __tsan_atomic##bits##_store(volatile Word* p, Word v, int order) { race::store(p, v, order, HERE); }      \
  Word __tsan_atomic##bits##_fetch_add(volatile Word* p, Word v, int order) {                                    \
    return race::update(p, order, HERE, [=](Word before) { return before + v; });                                \
  }                                                                                                              \
  Word __tsan_atomic##bits##_fetch_or(volatile Word* p, Word v, int order) {                                     \
    return race::update(p, order, HERE, [=](Word before) { return before | v; });                                \
  }                                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile Word* p, Word* e, Word v, int order, int failed) {  \
    return race::exchange(p, e, v, order, failed, HERE);                                                         \
  }                                                                                                              \
  Word __tsan_atomic##bits##_compare_exchange_val(volatile Word* p, Word e, Word v, int order, int failed) {     \
    race::exchange(p, &e, v, order, failed, HERE);                                                               \
    return e;                                                                                                    \
  }
ATOMIC(32, unsigned int)
ATOMIC(64, unsigned long long)
}
