// The threads of one block, each on a stack of its own: one runs until it has to wait for others,
// then the next. What a block may not do is found here and not on a GPU: to wait where others do
// not come, to meet in different instructions, to read what nobody has written (shared memory
// begins full of NaNs) or what is still on its way.
#pragma once

#include <cstddef>
#include <functional>

namespace on_cpu {

inline constexpr int kLanes = 32;
inline constexpr std::size_t kBlockMemory = 227 * 1024;
alignas(128) inline unsigned char block_memory[kBlockMemory];

struct Place {
  unsigned block[3], blocks[3], threads;
};
// Runs all threads of a block; std::logic_error if they come to a standstill.
void run_block(const Place& place, const std::function<void()>& thread);

int this_lane();

// Until all threads of the block, or the first so many, are here or have ended.
void wait_for_block();
void wait_for_first(int threads);

// Until all lanes of the warp are here; the last to come does `work` for all of them. It gets what
// each has given, and which lanes have not ended.
using Work = void (*)(void* const* given, unsigned active);
void meet(void* given, Work work);

// The same; `Do` is a function without a state.
struct Nothing {};
template <typename Given, typename Do>
void together(Given& mine, Do) {
  meet(&mine, [](void* const* given, unsigned active) {
    Given* each[kLanes];
    for (int i = 0; i < kLanes; ++i) each[i] = static_cast<Given*>(given[i]);
    Do{}(each, active);
  });
}

// 16 bytes, or zeros; in groups.
void begin_copy(void* to, const void* from);
void end_group_of_copies();
void finish_copies(int groups_left);

}  // namespace on_cpu
