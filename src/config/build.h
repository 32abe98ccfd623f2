// From a resolved configuration to the objects it describes.
#pragma once

#include <memory>

#include <ovde/env.h>
#include "agent/agent.h"
#include "config/config.h"
#include "env/wrappers.h"

namespace ovde {

// The task as an agent sees it: with its noise and time limit, actions in [-1, 1].
std::unique_ptr<ScaledActions> make_environment(const Config& config);

AgentOptions agent_options(const Config& config, const Env& env, std::uint64_t seed);

}  // namespace ovde
