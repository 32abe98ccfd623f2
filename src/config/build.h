// Builds the environment and the options of the agent from a configuration.
#pragma once

#include <memory>

#include <ovde/env.h>
#include "agent/agent.h"
#include "config/config.h"
#include "env/wrappers.h"

namespace ovde {

// The task with its noise and its time limit, and with actions in [-1, 1]. InputError if the task
// or its noise refuses an option.
std::unique_ptr<ScaledActions> make_environment(const Config& config);

AgentOptions agent_options(const Config& config, const Env& env, std::uint64_t seed);

}  // namespace ovde
