// policy.safetensors: the actor's weights, layer by layer, and the box its actions are scaled to.
#pragma once

#include <filesystem>

#include <ovde/env.h>
#include "nn/mlp.h"
#include "train/config.h"

namespace ovde {

void write_policy(const std::filesystem::path& path, const MlpShape& shape,
                  std::span<const float> parameters, const Box& action_space, const Config& config,
                  std::uint64_t seed);

}  // namespace ovde
