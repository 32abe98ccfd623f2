// policy.safetensors: the weights of the policy's networks, layer by layer, and the box its actions
// are scaled to.
#pragma once

#include <filesystem>

#include <ovde/env.h>
#include "agent/agent.h"
#include "train/config.h"

namespace ovde {

// `config` names the task, the algorithm and the seed it was trained with.
void write_policy(const std::filesystem::path& path, const PolicyContents& policy,
                  const Box& action_space, const Config& config);

}  // namespace ovde
