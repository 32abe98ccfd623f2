// Where an agent's networks, replay buffer and the working memory of an update lie on the GPU.
#pragma once

#include <cstddef>

#include "cuda/layout.h"

namespace ovde::cuda {

// Memory of the GPU, in one piece, handed out in order. Without memory it only counts.
class Arena {
 public:
  explicit Arena(float* base) : base_(base) {}
  float* take(std::size_t floats) {
    float* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (floats + kAlign - 1) / kAlign * kAlign;
    return at;
  }
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kAlign = 64;  // floats: 256 bytes
  float* base_;
  std::size_t used_ = 0;
};

// How many numbers RndStatistics are.
int rnd_statistics_count(int observations);

// Takes all that an agent needs from the arena.
Agent lay_out(const AgentSpec& spec, Arena& arena, Progress* progress);

// The rest of an optimist, once both are laid out.
void share_with_optimist(const Agent& owner, Agent& optimist);

}  // namespace ovde::cuda
