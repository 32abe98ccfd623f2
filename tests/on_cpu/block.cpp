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

constexpr std::size_t kStack = 64 * 1024;
constexpr int kMostThreads = 1024;

enum class State { ready, meets, waits, ended };

struct Copy {
  void* to;
  const void* from;  // nullptr: zeros
};

struct Thread {
  void* stack_pointer;
  State state;
  int barrier_threads;  // of the barrier where it waits; 0: all of the block
  std::vector<Copy> copies;
  std::deque<std::size_t> groups;  // number of copies in each unfinished group
  std::size_t begun = 0;           // copies since the last group
};

struct Warp {
  Work work = nullptr;
  void* given[kLanes];
  int present = 0;
  unsigned active = 0;  // lanes that have not ended

  bool is_whole() const { return present == std::popcount(active); }
};

// One block runs at a time (runtime.cpp).
struct Block {
  std::unique_ptr<std::uint64_t[]> stacks =
      std::make_unique_for_overwrite<std::uint64_t[]>(kMostThreads * kStack / 8);
  std::vector<Thread> threads = std::vector<Thread>(kMostThreads);
  std::vector<Warp> warps = std::vector<Warp>(kMostThreads / kLanes);
  int count = 0, current = 0;
  void* scheduler = nullptr;
  const std::function<void()>* work = nullptr;
};
Block the_block;
Block& block() { return the_block; }

void switch_to(int thread) {
  block().current = thread;
  threadIdx.x = static_cast<unsigned>(thread);
}

// Switches to another lane of the warp that is ready, otherwise to run_ready().
void leave() {
  Block& b = block();
  const int here = b.current, first = here / kLanes * kLanes;
  const int lanes = std::min(kLanes, b.count - first);
  void** const from = &b.threads[here].stack_pointer;
  for (int i = 1; i < lanes; ++i) {
    const int next = first + (here - first + i) % lanes;
    if (b.threads[next].state != State::ready) continue;
    switch_to(next);
    return on_cpu_switch(from, b.threads[next].stack_pointer);
  }
  on_cpu_switch(from, b.scheduler);
}

// Called when all lanes that have not ended have arrived.
void do_work(Warp& warp, int first_lane) {
  warp.work(warp.given, warp.active);
  warp.present = 0;
  for (int i = 0; i < kLanes; ++i) {
    Thread& thread = block().threads[first_lane + i];
    if (warp.active >> i & 1 && thread.state == State::meets) thread.state = State::ready;
  }
}

[[noreturn]] void thread_main() {
  Block& b = block();
  (*b.work)();
  Thread& thread = b.threads[b.current];
  thread.state = State::ended;
  const int lane = b.current % kLanes;
  Warp& warp = b.warps[b.current / kLanes];
  warp.active &= ~(1u << lane);
  if (warp.present > 0 && warp.is_whole()) do_work(warp, b.current - lane);
  leave();
  std::terminate();
}

void begin(Thread& thread, int index) {
  // a frame as on_cpu_switch() leaves it, which returns to thread_main()
  std::uint64_t* top = block().stacks.get() + (index + 1) * kStack / 8 - 2;
  std::uint64_t* frame = top - kFrame;
  std::fill(frame, top + 2, 0);
  frame[kReturn] = reinterpret_cast<std::uint64_t>(&thread_main);
  thread.stack_pointer = frame;
  thread.state = State::ready;
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
    const int thread = backwards ? b.count - 1 - i : i;
    while (b.threads[thread].state == State::ready) {
      switch_to(thread);
      on_cpu_switch(&b.scheduler, b.threads[thread].stack_pointer);
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
    return std::count_if(b.threads.begin(), b.threads.begin() + threads, [&](const Thread& t) {
      return t.state == state && (state != State::waits || t.barrier_threads == at);
    });
  };
  for (int i = 0; i < b.count; ++i) {
    if (b.threads[i].state != State::waits) continue;
    const int at = b.threads[i].barrier_threads, threads = at == 0 ? b.count : at;
    if (count(threads, State::waits, at) + count(threads, State::ended, at) < threads) continue;
    for (int j = i; j < threads; ++j) {
      Thread& thread = b.threads[j];
      if (thread.state == State::waits && thread.barrier_threads == at) thread.state = State::ready;
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

}  // namespace

void run_block(const Place& place, const std::function<void()>& thread) {
  Block& b = block();
  b.count = static_cast<int>(place.threads);
  if (b.count > kMostThreads) throw std::logic_error("a block has too many threads");
  b.work = &thread;
  blockIdx = {place.block[0], place.block[1], place.block[2]};
  gridDim = {place.blocks[0], place.blocks[1], place.blocks[2]};
  blockDim = {place.threads};
  std::memset(block_memory, 0xff, kBlockMemory);
  for (int i = 0; i < b.count; ++i) begin(b.threads[i], i);
  for (int first = 0; first < b.count; first += kLanes) {
    const int lanes = std::min(kLanes, b.count - first);
    Warp& warp = b.warps[first / kLanes];
    warp.present = 0;
    warp.active = lanes == kLanes ? ~0u : (1u << lanes) - 1;
  }
  const bool backwards = (place.block[0] + place.block[1] + place.block[2]) % 2 != 0;
  while (run_ready(backwards) || open_barriers()) {
  }
  const bool ended = std::all_of(b.threads.begin(), b.threads.begin() + b.count,
                                 [](const Thread& t) { return t.state == State::ended; });
  if (!ended)
    throw std::logic_error("threads of a block wait at a barrier that others do not reach");
}

int this_lane() { return block().current % kLanes; }

void wait_for_first(int threads) {
  Block& b = block();
  Thread& thread = b.threads[b.current];
  thread.barrier_threads = threads;
  thread.state = State::waits;
  leave();
}
void wait_for_block() { wait_for_first(0); }

void meet(void* given, Work work) {
  Block& b = block();
  const int lane = b.current % kLanes;
  Warp& warp = b.warps[b.current / kLanes];
  if (warp.present > 0 && warp.work != work) {
    std::fprintf(stderr, "lanes of a warp are in different instructions\n");
    std::abort();
  }
  warp.work = work;
  warp.given[lane] = given;
  b.threads[b.current].state = State::meets;
  ++warp.present;
  if (warp.is_whole()) return do_work(warp, b.current - lane);
  leave();
}

void begin_copy(void* to, const void* from) {
  Thread& thread = block().threads[block().current];
  thread.copies.push_back({to, from});
  ++thread.begun;
}
void end_group_of_copies() {
  Thread& thread = block().threads[block().current];
  thread.groups.push_back(std::exchange(thread.begun, 0));
}
void finish_copies(int groups_left) {
  Thread& thread = block().threads[block().current];
  while (std::ssize(thread.groups) > groups_left) {
    do_copies(thread, thread.groups.front());
    thread.groups.pop_front();
  }
}

}  // namespace on_cpu
