// What a learner is made of: sizes, networks and the constants of its update.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/adam.h"

namespace ovde {

struct LearnerOptions {
  int observation_size = 0;
  int action_size = 0;
  std::vector<int> hidden = {256, 256};
  int quantiles = 20;
  bool distributional =
      true;  // quantile loss and a target policy; otherwise squared loss and the online policy
  int batch = 256;
  float discount = 0.99f;
  float polyak = 5e-3f;
  AdamOptions adam;
  std::uint64_t seed = 0;
};

}  // namespace ovde
