// A population of agents with multi-layer perceptrons on a GPU (cuda/population.h).
#pragma once

#include <memory>
#include <span>

#include "cuda/population.h"

namespace ovde::cuda {

// InputError if an agent cannot be put on a GPU or the agents do not fit into its memory.
void check_population(std::span<const AgentOptions> agents, Precision precision);
std::unique_ptr<GpuPopulation> make_population(std::span<const AgentOptions> agents,
                                               Precision precision);

}  // namespace ovde::cuda
