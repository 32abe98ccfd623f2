// policy.safetensors: the actor's weights, layer by layer, and the box its actions are scaled to.
#pragma once

#include <filesystem>

#include "nn/mlp.h"
#include "train/config.h"
#include <ovde/env.h>

namespace ovde {

void write_policy(const std::filesystem::path& path, const MlpShape& shape, std::span<const float> parameters,
                  const Box& action_space, const Config& config, std::uint64_t seed);

}  // namespace ovde
