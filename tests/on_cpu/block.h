// The threads of one CUDA block on a CPU, each on a stack of its own: one runs until it has to wait
// for others, then the next. Finds faults that a GPU may hide: threads that wait at a barrier which
// others do not reach, lanes of a warp in different instructions, and reads of shared memory before
// it is written (it starts as NaNs) or before an asynchronous copy has finished.
#pragma once

#include <cstddef>
#include <functional>

namespace on_cpu {

inline constexpr int kLanes = 32;
inline constexpr std::size_t kBlockMemory = 227 * 1024;
alignas(128) inline unsigned char block_memory[kBlockMemory];

struct Place {
  unsigned block[3], blocks[3], threads;
  std::size_t bytes;  // size of the shared memory
};
// Runs all threads of a block; std::logic_error if they deadlock or write beyond the shared memory.
void run_block(const Place& place, const std::function<void()>& thread);

int this_lane();

// Barriers of all threads of the block, or of the first so many, that have not ended.
void wait_for_block();
void wait_for_first(int threads);

// A barrier of the lanes of a warp. The last to arrive calls `work` with the pointers that each
// lane has passed and the mask of lanes that have not ended.
using Work = void (*)(void* const* given, unsigned active);
void meet(void* given, Work work);

// The same with types; `Do` is a lambda without captures.
struct Nothing {};
template <typename Given, typename Do>
void together(Given& mine, Do) {
  meet(&mine, [](void* const* given, unsigned active) {
    Given* each[kLanes];
    for (int i = 0; i < kLanes; ++i) each[i] = static_cast<Given*>(given[i]);
    Do{}(each, active);
  });
}

// Asynchronous copies of 16 bytes, or of zeros if `from` is null, in groups.
void begin_copy(void* to, const void* from);
void end_group_of_copies();
void finish_copies(int groups_left);

}  // namespace on_cpu
