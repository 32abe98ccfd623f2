// Builds the environment and the options of the agent from a configuration.
#pragma once

#include <memory>

#include <ovde/env.h>
#include "agent/agent.h"
#include "config/config.h"
#include "env/wrappers.h"

namespace ovde {

// The task with its noise, its disturbances and its time limit. InputError if one of them refuses
// an option.
std::unique_ptr<Env> make_task(const Config& config);

// The same with actions in [-1, 1].
std::unique_ptr<ScaledActions> make_environment(const Config& config);

AgentOptions agent_options(const Config& config, const Env& env, std::uint64_t seed);

}  // namespace ovde
