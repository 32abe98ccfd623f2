// The constants of agents on the device, from their options; checks the limits of the kernels.
#pragma once

#include <span>
#include <vector>

#include "agent/agent.h"
#include "cuda/agent.h"

namespace ovde::cuda {

// First the agents, then the scouts of those that have one, then the optimists. InputError, with
// the valid range, if an agent exceeds a limit of the kernels.
std::vector<AgentSpec> agent_specs(std::span<const AgentOptions> agents);

// The constants that the kernels of a bonus read (cuda/kernels/bonus.cu).
AgentSpec bonus_spec(const LearnerOptions& learner);

}  // namespace ovde::cuda
