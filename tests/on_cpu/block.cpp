#include "block.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "cuda_runtime.h"

// void on_cpu_switch(void** from, void* to): continues on the stack `to` and stores the current
// stack pointer at `from`. Callee-saved registers are kept on the stacks.
#if defined(__x86_64__)
asm(R"(
.text
.globl on_cpu_switch
on_cpu_switch:
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
  ret
)");
// words that are kept on a stack, and the index of the return address among them
constexpr int kFrame = 8, kReturn = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl on_cpu_switch
on_cpu_switch:
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
  ret
)");
constexpr int kFrame = 20, kReturn = 11;
#else
#error "the kernels run on a CPU where on_cpu_switch() is written for it"
#endif
extern "C" void on_cpu_switch(void** from, void* to);

namespace on_cpu {

namespace {

// Not a multiple of 4096: the tops of stacks would share a few sets of the cache.
constexpr std::size_t kStack = 64 * 1024 + 17 * 64;
constexpr int kMostThreads = 1024;

enum class State { runs, waits, ended };

struct Copy {
  void* to;
  const void* from;  // nullptr: zeros
};

struct Thread {
  State state;
  int barrier_threads;  // how many threads its barrier waits for; 0: all of the block
  std::vector<Copy> copies;
  std::deque<std::size_t> groups;  // number of copies in each unfinished group
  std::size_t begun = 0;           // copies since the last group
};

// Bit i of a mask is lane i.
struct Warp {
  int first = 0;  // thread
  Work work = nullptr;
  unsigned active = 0;   // lanes that have not ended
  unsigned ready = 0;    // lanes that can run
  unsigned arrived = 0;  // lanes that wait for the others to do `work`
  void* given[kLanes];
  void* stack_pointer[kLanes];
};

// One block runs at a time (runtime.cpp).
struct Block {
  std::unique_ptr<std::uint64_t[]> stacks =
      std::make_unique_for_overwrite<std::uint64_t[]>(kMostThreads * kStack / 8);
  Thread threads[kMostThreads];
  Warp warps[kMostThreads / kLanes];
  int count = 0;
  void* scheduler = nullptr;
  const std::function<void()>* work = nullptr;

  // the thread that runs
  Warp* warp = nullptr;
  unsigned lane = 0;
  Thread& thread() { return threads[warp->first + lane]; }
  unsigned bit() const { return 1u << lane; }
};
Block the_block;
Block& block() { return the_block; }

void switch_to(Warp& warp, unsigned lane, void** from) {
  Block& b = block();
  b.warp = &warp;
  b.lane = lane;
  threadIdx.x = warp.first + lane;
  on_cpu_switch(from, warp.stack_pointer[lane]);
}

// Switches to the next lane of the warp that is ready, otherwise to run_ready().
void leave() {
  Block& b = block();
  Warp& warp = *b.warp;
  void** const from = &warp.stack_pointer[b.lane];
  if (warp.ready == 0) return on_cpu_switch(from, b.scheduler);
  unsigned next = b.lane + 1;
  while ((warp.ready >> next % kLanes & 1) == 0) ++next;
  switch_to(warp, next % kLanes, from);
}

// Called when all lanes that have not ended have arrived.
void do_work(Warp& warp) {
  warp.work(warp.given, warp.active);
  warp.arrived = 0;
  warp.ready = warp.active;
}

[[noreturn]] void thread_main() {
  Block& b = block();
  (*b.work)();
  b.thread().state = State::ended;
  Warp& warp = *b.warp;
  warp.active &= ~b.bit();
  warp.ready &= ~b.bit();
  if (warp.arrived != 0 && warp.arrived == warp.active) do_work(warp);
  leave();
  std::terminate();
}

void begin(Block& b, int index) {
  // a frame as on_cpu_switch() leaves it, which returns to thread_main()
  std::uint64_t* top = b.stacks.get() + (index + 1) * kStack / 8 - 2;
  std::uint64_t* frame = top - kFrame;
  std::fill(frame, top + 2, 0);
  frame[kReturn] = reinterpret_cast<std::uint64_t>(&thread_main);
  b.warps[index / kLanes].stack_pointer[index % kLanes] = frame;
  Thread& thread = b.threads[index];
  thread.state = State::runs;
  thread.copies.clear();
  thread.groups.clear();
  thread.begun = 0;
}

// Runs the ready threads, warp by warp. Every second block begins with its last thread, to find
// results that depend on the order.
bool run_ready(bool backwards) {
  Block& b = block();
  bool any = false;
  for (int i = 0; i < b.count; ++i) {
    const int thread = backwards ? b.count - 1 - i : i, lane = thread % kLanes;
    Warp& warp = b.warps[thread / kLanes];
    while (warp.ready >> lane & 1) {
      switch_to(warp, lane, &b.scheduler);
      any = true;
    }
  }
  return any;
}

// Releases the threads at barriers that all have reached.
bool open_barriers() {
  Block& b = block();
  bool any = false;
  const auto count = [&](int threads, State state, int at) {
    return std::count_if(b.threads, b.threads + threads, [&](const Thread& t) {
      return t.state == state && (state != State::waits || t.barrier_threads == at);
    });
  };
  for (int i = 0; i < b.count; ++i) {
    if (b.threads[i].state != State::waits) continue;
    const int at = b.threads[i].barrier_threads, threads = at == 0 ? b.count : at;
    if (count(threads, State::waits, at) + count(threads, State::ended, at) < threads) continue;
    for (int j = i; j < threads; ++j) {
      Thread& thread = b.threads[j];
      if (thread.state != State::waits || thread.barrier_threads != at) continue;
      thread.state = State::runs;
      b.warps[j / kLanes].ready |= 1u << j % kLanes;
    }
    any = true;
  }
  return any;
}

void do_copies(Thread& thread, std::size_t copies) {
  for (std::size_t i = 0; i < copies; ++i) {
    const Copy& copy = thread.copies[i];
    if (copy.from != nullptr) {
      std::memcpy(copy.to, copy.from, 16);
    } else {
      std::memset(copy.to, 0, 16);
    }
  }
  thread.copies.erase(thread.copies.begin(),
                      thread.copies.begin() + static_cast<std::ptrdiff_t>(copies));
}

// Fills the shared memory of a block with NaNs, also what the block before could write.
void clear_memory(std::size_t bytes) {
  static std::size_t written = kBlockMemory;
  std::memset(block_memory, 0xff, std::max(written, bytes));
  written = bytes;
}

// Whether the bytes after the shared memory of a block are unchanged.
bool is_end_clear(std::size_t bytes) {
  const auto end = std::span(block_memory).subspan(bytes);
  return std::ranges::all_of(end.first(std::min<std::size_t>(end.size(), 256)),
                             [](unsigned char x) { return x == 0xff; });
}

}  // namespace

void run_block(const Place& place, const std::function<void()>& thread) {
  Block& b = block();
  b.count = static_cast<int>(place.threads);
  if (b.count > kMostThreads) throw std::logic_error("a block has too many threads");
  b.work = &thread;
  blockIdx = {place.block[0], place.block[1], place.block[2]};
  gridDim = {place.blocks[0], place.blocks[1], place.blocks[2]};
  blockDim = {place.threads};
  clear_memory(place.bytes);
  for (int i = 0; i < b.count; ++i) begin(b, i);
  for (int first = 0; first < b.count; first += kLanes) {
    const int lanes = std::min(kLanes, b.count - first);
    Warp& warp = b.warps[first / kLanes];
    warp.first = first;
    warp.arrived = 0;
    warp.ready = warp.active = lanes == kLanes ? ~0u : (1u << lanes) - 1;
  }
  const bool backwards = (place.block[0] + place.block[1] + place.block[2]) % 2 != 0;
  while (run_ready(backwards) || open_barriers()) {
  }
  const bool ended = std::all_of(b.threads, b.threads + b.count,
                                 [](const Thread& t) { return t.state == State::ended; });
  if (!ended)
    throw std::logic_error("threads of a block wait at a barrier that others do not reach");
  if (!is_end_clear(place.bytes)) throw std::logic_error("a block writes beyond its shared memory");
}

int this_lane() { return static_cast<int>(block().lane); }

void wait_for_first(int threads) {
  Block& b = block();
  b.thread().barrier_threads = threads;
  b.thread().state = State::waits;
  b.warp->ready &= ~b.bit();
  leave();
}
void wait_for_block() { wait_for_first(0); }

void meet(void* given, Work work) {
  Block& b = block();
  Warp& warp = *b.warp;
  if (warp.arrived != 0 && warp.work != work) {
    std::fprintf(stderr, "lanes of a warp are in different instructions\n");
    std::abort();
  }
  warp.work = work;
  warp.given[b.lane] = given;
  warp.arrived |= b.bit();
  if (warp.arrived == warp.active) return do_work(warp);
  warp.ready &= ~b.bit();
  leave();
}

void begin_copy(void* to, const void* from) {
  Thread& thread = block().thread();
  thread.copies.push_back({to, from});
  ++thread.begun;
}
void end_group_of_copies() {
  Thread& thread = block().thread();
  thread.groups.push_back(std::exchange(thread.begun, 0));
}
void finish_copies(int groups_left) {
  Thread& thread = block().thread();
  while (std::ssize(thread.groups) > groups_left) {
    do_copies(thread, thread.groups.front());
    thread.groups.pop_front();
  }
}

}  // namespace on_cpu
