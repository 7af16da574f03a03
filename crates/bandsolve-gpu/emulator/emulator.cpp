// The emulator: thread blocks as fibers on the CPU, and memory whose borders are protected.
#include "emulator.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

// Store the registers that a function must preserve on the stack, store the stack pointer at `save`, and continue at
// `to`. (The switch is a jump, because processors predict that a function returns to its caller.)
#if defined(__x86_64__)
asm(R"(
.text
.globl emulator_switch
.type emulator_switch, @function
emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
)");
static const size_t KEPT = 6;
static const size_t RETURN = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl emulator_switch
.type emulator_switch, %function
emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
)");
static const size_t KEPT = 20;
static const size_t RETURN = 11;
#else
#error "no context switch for this processor"
#endif

namespace emulator {

// Not a power of two. Otherwise the ends of the stacks, which are the part in use, would share a few cache lines.
static const size_t STACK = (64 << 10) + 17 * 64;

struct Block {
  Dim index, size, grid;
  /// The number of its first thread over all blocks.
  size_t first_thread;
  std::vector<Thread> threads;
  unsigned char* shared;
  size_t shared_bytes;
  void (*entry)(void*);
  void* arguments;
};

OWN Block* block;
OWN Thread* current;
OWN void* scheduler;
static OWN const char* kernel = "";
static OWN int wave = WARP;

Dim block_index() { return block->index; }
Dim block_size() { return block->size; }
Dim grid_size() { return block->grid; }
int wave_size() { return wave; }
unsigned char* shared_memory() { return block->shared; }
size_t shared_bytes() { return block->shared_bytes; }
size_t thread_number() { return block->first_thread + (size_t)(current - block->threads.data()); }

void fail(const char* message) {
  fprintf(stderr, "kernel %s: %s", kernel, message);
  if (block && current) fprintf(stderr, " (block %u, thread %u, line %d)", block->index.x, current->index.x, current->line);
  fprintf(stderr, "\n");
  abort();
}

static void body() {
  block->entry(block->arguments);
  current->returned = true;
  for (;;) yield();
}

static void prepare(Thread& t) {
  void** top = (void**)(((uintptr_t)t.stack + STACK) & ~(uintptr_t)15);
#if defined(__x86_64__)
  *--top = nullptr;
  *--top = (void*)body;
  top -= KEPT;
  memset(top, 0, KEPT * sizeof *top);
#else
  top -= KEPT;
  memset(top, 0, KEPT * sizeof *top);
  top[RETURN] = (void*)body;
#endif
  t.stack_pointer = top;
  t.returned = false;
  t.turn = false;
  t.orders = false;
  t.spins = false;
  t.spinning = 0;
  t.wait = Wait::Nothing;
  t.line = 0;
}

// Memory that ends or begins at a protected page: of the device, unless it is for stacks.
struct Pages {
  unsigned char* all = nullptr;
  size_t length = 0;
  unsigned char* first = nullptr;

  Pages(size_t bytes, bool at_end, bool fill = true, bool stacks = false) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    length = room + 2 * page;
    all = (unsigned char*)mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || (room && mprotect(all + page, room, PROT_READ | PROT_WRITE))) {
      fprintf(stderr, "emulator: cannot allocate %zu bytes\n", bytes);
      abort();
    }
    // Memory that was never written is NaN, in every type.
    if (fill) memset(all + page, 0xff, room);
    first = all + page + (at_end ? (room - bytes) & ~(size_t)15 : 0);
    if (!stacks) race::track(first, bytes);
  }
  Pages(const Pages&) = delete;
  ~Pages() {
    race::untrack(first);
    munmap(all, length);
  }
};

// Shared memory, alternately with a protected page after its end or before its beginning.
struct Shared {
  Pages ending, beginning;
  explicit Shared(size_t bytes) : ending(bytes, true, false), beginning(bytes, false, false) {}
};

// The memory of a resident block. Every host thread keeps this memory for later launches.
struct Room {
  size_t threads = 0;
  std::unique_ptr<Pages> stacks;
  std::map<size_t, Shared> shared;

  unsigned char* stacks_of(size_t count) {
    if (threads < count) {
      stacks = std::make_unique<Pages>(STACK * count, false, false, true);
      threads = count;
    }
    return stacks->first;
  }
};
static thread_local std::vector<Room> rooms;

// Handle a memory access out of bounds, or the trap instruction of -fsanitize=undefined.
static void stopped(int signal, siginfo_t* info, void*) {
  char text[256];
  const char* what = signal == SIGSEGV ? "memory access out of bounds" : "undefined behavior";
  const int n = snprintf(text, sizeof text, "kernel %s: %s at %p (block %u, thread %u)\n", kernel, what, info->si_addr, block ? block->index.x : 0, current ? current->index.x : 0);
  if (write(2, text, (size_t)n) < 0) _exit(2);
  _exit(134);
}

// The order in which threads and blocks run.
struct Order {
  int kind;
  u64 seed;
  std::vector<int> numbers;

  Order(int kind, u64 seed) : kind(kind), seed(seed) {}
  const std::vector<int>& of(int n) {
    if (kind != 2 && numbers.size() == (size_t)n) return numbers;
    numbers.resize((size_t)n);
    for (int i = 0; i < n; ++i) numbers[(size_t)i] = kind == 1 ? n - 1 - i : i;
    for (int i = n - 1; kind == 2 && i > 0; --i) {
      seed = seed * 6364136223846793005ull + 1442695040888963407ull;
      std::swap(numbers[(size_t)i], numbers[(seed >> 33) * (u64)(i + 1) >> 31]);
    }
    return numbers;
  }
};

// The first thread of a wave of 64 lanes, which have one program counter: as long as one of them spins, the others wait, unless
// they spin, too. Null for a wave of 32 lanes, because those of CUDA run independently.
static Thread* leader(Block& b, size_t thread) { return wave > WARP ? &b.threads[thread / (size_t)wave * (size_t)wave] : nullptr; }

// Run some threads of a block until each of them waits. Returns whether any thread ran.
static bool run(Block& b, const int* numbers, int count) {
  bool ran = false;
  for (int k = 0; k < count; ++k) {
    Thread& t = b.threads[(size_t)numbers[k]];
    if (t.returned || t.wait != Wait::Nothing) continue;
    Thread* const first = leader(b, (size_t)numbers[k]);
    if (first && first->spinning > 0 && !t.spins) continue;
    if (first) first->spinning -= t.spins;
    t.spins = false;
    current = &t;
    emulator_switch(&scheduler, t.stack_pointer);
    if (first) first->spinning += t.spins;
    ran = true;
  }
  return ran;
}

// Release a warp if all of its lanes wait. Returns false if some do not.
static bool release_warp(Thread* warp) {
  const int lanes = warp->lanes;
  int gone = 0, waiting = 0, line = 0;
  bool same = true;
  for (int i = 0; i < lanes; ++i) {
    const Thread& t = warp[i];
    gone += t.returned;
    if (!t.returned && t.wait == Wait::Warp) {
      same = same && (!waiting || t.line == line);
      line = t.line;
      ++waiting;
    }
  }
  if (!waiting || waiting + gone < lanes) return false;
  current = warp;
  if (gone) fail("an operation of the warp after some of its lanes returned");
  if (!same) fail("lanes of a warp wait at different operations");
  if (warp->orders) race::meet(thread_number(), (size_t)lanes);
  for (int i = 0; i < lanes; ++i) {
    warp[i].wait = Wait::Nothing;
    warp[i].orders = false;
  }
  return true;
}

// The result of a round for a block.
struct Round {
  bool ran, moved, done;
};

// Run the threads of a block until all of them wait for the block, or spin. Warps run one after the other; in random
// order, all threads are mixed. Then release the threads if all of them are at a barrier.
static Round round(Block& b, Order& order) {
  Round result = {};
  const int n = (int)b.threads.size();
  const int group = order.kind == 2 ? n : WARP;
  for (int first = 0; first < n; first += group) {
    const int count = std::min(group, n - first);
    for (bool released = true; released;) {
      const std::vector<int>& numbers = order.of(n);
      result.ran = run(b, &numbers[(size_t)first], count) || result.ran;
      released = false;
      for (int k = 0; k < count; ++k) {
        Thread& t = b.threads[(size_t)numbers[(size_t)(first + k)]];
        if (t.lane == 0) released = release_warp(&t) || released;
      }
      result.moved = result.moved || released;
    }
  }
  int returned = 0, at_barrier = 0, waiting = 0;
  for (const Thread& t : b.threads) {
    returned += t.returned;
    waiting += !t.returned && t.wait != Wait::Nothing;
    at_barrier += !t.returned && t.wait == Wait::Block;
  }
  current = &b.threads[0];
  if (at_barrier && at_barrier + returned == n) {
    if (returned) fail("__syncthreads() after some threads of the block returned");
    for (Thread& t : b.threads) {
      current = &t;
      if (t.line != b.threads[0].line) fail("threads of a block are at different __syncthreads()");
      t.wait = Wait::Nothing;
    }
    race::meet(b.first_thread, (size_t)n);
    result.moved = true;
  } else if (waiting && waiting + returned == n) {
    fail("threads wait for each other at different barriers");
  }
  result.done = returned == n;
  return result;
}

void launch(const char* name, Dim grid, Dim size, size_t shared, void (*entry)(void*), void* arguments, Options o) {
  struct sigaction act = {}, before, before_ill;
  act.sa_sigaction = stopped;
  act.sa_flags = SA_SIGINFO | SA_ONSTACK;
  std::vector<unsigned char> handler_stack(64 << 10);
  stack_t own = {}, old_stack;
  own.ss_sp = handler_stack.data();
  own.ss_size = handler_stack.size();
  sigaltstack(&own, &old_stack);
  sigaction(SIGSEGV, &act, &before);
  sigaction(SIGILL, &act, &before_ill);
  kernel = name;
  wave = (int)o.wave;

  const u32 total = grid.x * grid.y * grid.z, threads = size.x * size.y * size.z;
  const u32 resident = std::max(1u, std::min(o.resident, total));
  race::begin(name, total, threads);
  std::vector<std::unique_ptr<Block>> blocks;
  if (rooms.size() < resident) rooms.resize(resident);
  Order thread_order(o.order, o.seed), block_order(o.order, o.seed + 2);
  u32 next = 0;
  const std::vector<int> sequence = Order(o.order, o.seed + 1).of((int)total);
  auto start = [&](Block& b, size_t place) {
    const u32 k = (u32)sequence[next++];
    b.index = {k % grid.x, k / grid.x % grid.y, k / grid.x / grid.y};
    b.first_thread = (size_t)k * threads;
    Shared& own = rooms[place].shared.try_emplace(shared, shared).first->second;
    b.shared = (k % 2 == 0 ? own.ending : own.beginning).first;
    memset(b.shared, 0xff, shared);
    b.shared_bytes = shared;
    race::begin_block(b.shared, shared);
    for (u32 i = 0; i < threads; ++i) {
      b.threads[i].index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
      Thread& t = b.threads[i];
      t.warp = &b.threads[i / WARP * WARP];
      t.lane = (int)(i % WARP);
      t.lanes = std::min(WARP, (int)(threads - i / WARP * WARP));
      prepare(t);
    }
  };
  for (u32 r = 0; r < resident; ++r) {
    auto b = std::make_unique<Block>();
    b->size = size;
    b->grid = grid;
    b->entry = entry;
    b->arguments = arguments;
    b->threads.resize(threads);
    for (u32 i = 0; i < threads; ++i) b->threads[i].stack = rooms[r].stacks_of(threads) + STACK * i;
    start(*b, r);
    blocks.push_back(std::move(b));
  }
  u64 idle = 0;
  for (size_t live = blocks.size(); live > 0;) {
    bool moved = false, ran = false;
    for (int r : block_order.of((int)blocks.size())) {
      Block& b = *blocks[(size_t)r];
      if (b.threads.empty()) continue;
      block = &b;
      const Round round = emulator::round(b, thread_order);
      ran = round.ran || ran;
      moved = round.moved || moved;
      if (!round.done) continue;
      moved = true;
      if (next < total) {
        start(b, (size_t)r);
      } else {
        b.threads.clear();
        --live;
      }
    }
    idle = moved ? 0 : idle + ran;
    if (idle > o.patience) fail(wave > WARP ? "threads spin forever, or wait for lanes of their wave" : "threads spin forever");
  }
  block = nullptr;
  current = nullptr;
  sigaction(SIGSEGV, &before, nullptr);
  sigaction(SIGILL, &before_ill, nullptr);
  sigaltstack(&old_stack, nullptr);
}

}  // namespace emulator

#define EXPORT extern "C" __attribute__((visibility("default")))

// Run a kernel. Returns 1 if no kernel has this name.
EXPORT int emulator_launch(const char* name, const u32* grid, const u32* size, size_t shared, void** arguments, int order,
                               u64 seed, u32 resident, u32 wave) {
  const emulator::Options options{order, seed, resident, wave, 1 << 14};
  int (*const families[])(const char*, const u32*, const u32*, size_t, void**, emulator::Options) = {
      emulator_f32, emulator_f64, emulator_c32, emulator_c64, emulator_broken};
  for (auto family : families) {
    if (!family(name, grid, size, shared, arguments, options)) return 0;
  }
  return 1;
}

// Allocate device memory. If `at_end`, a protected page begins at most 15 bytes after its end; otherwise one ends at
// its beginning.
EXPORT void* emulator_allocate(size_t bytes, int at_end, void** first) {
  auto* pages = new emulator::Pages(bytes, at_end != 0);
  *first = pages->first;
  return pages;
}

EXPORT void emulator_free(void* pages) { delete static_cast<emulator::Pages*>(pages); }
