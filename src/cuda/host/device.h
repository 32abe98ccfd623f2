// The memory of the GPU, and what fits into it.
#pragma once

#include <cstddef>
#include <string>

#include "cuda/agent.h"

namespace ovde::cuda {

// Empty if the GPU can train an agent, with products in fp32 (`exact`) or in fp16; otherwise the
// reason why not.
std::string why_not(const AgentSpec& spec, bool exact);

std::size_t free_device_memory();

// The sizes of tiles in fp32 (cuda/tile/product.cuh) that fit: in updates, and for critics that
// take fractions while acting.
int exact_size();
int acting_size();

}  // namespace ovde::cuda
