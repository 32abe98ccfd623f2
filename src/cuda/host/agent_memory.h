// Where an agent's networks, replay buffer and the working memory of an update lie on the GPU, and
// the tiles that fit into a block's shared memory.
#pragma once

#include <cstddef>
#include <string>

#include "cuda/agent.h"
#include "cuda/host/handles.h"

namespace ovde::cuda {

// Number of statistics of a bonus (RndStatistics).
constexpr std::size_t rnd_statistics_count(int observations) {
  return 2 + (1 + 2 * observations) + 3;
}

// Takes an agent's memory from the arena, except the parts that it shares with its owner.
Agent allocate(const AgentSpec& spec, Arena& arena, Progress* progress);

// Takes the memory of an agent's bonus, as allocate() does.
void allocate_bonus(Agent& agent, Arena& arena);

// Points a scout or an optimist at the memory that it shares with its owner.
void share_with_owner(const Agent& owner, Agent& agent);

// The sizes of tiles in fp32 (cuda/tile/product.cuh) that fit: in updates, and for critics that
// take fractions while acting.
int exact_size();
int acting_size();

// Empty if the tiles of an agent fit, with products in fp32 (`exact`) or in fp16; otherwise the
// reason why not.
std::string why_not(const AgentSpec& spec, bool exact);

}  // namespace ovde::cuda
