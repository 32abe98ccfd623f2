// What a learner is made of: sizes, networks and the constants of its update.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/algorithm.h"
#include "nn/adam.h"

namespace ovde {

// TD3's actor (Fujimoto et al., 2018).
struct Td3Options {
  float smoothing = 0.2f;  // standard deviation of the noise on the target policy's actions
  float clip = 0.5f;       // and its largest size
  int delay = 2;           // updates of the critics for each of the actor and the target networks
  float penalty = 0;       // what the actor's loss charges for the squares of its outputs
};

// How a distributional critic represents the return: fixed fractions, an output for each, or random
// fractions that the network is given.
enum class CriticHead { qr, iqn };

// The bonus of random network distillation (rnd.h).
struct RndOptions {
  float scale = 1;  // of the bonus
  std::vector<int> hidden = {128, 128};
  int outputs = 64;
};

struct LearnerOptions {
  int observation_size = 0;
  int action_size = 0;
  std::vector<int> hidden = {256, 256};
  CriticHead head = CriticHead::qr;
  int quantiles = 20;
  bool distributional =
      true;  // quantile loss and a target policy; otherwise squared loss and the online policy
  PolicyKind policy = PolicyKind::gaussian;
  Td3Options td3;                 // for the deterministic policy
  std::optional<RndOptions> rnd;  // with it: the rewards of an update have the bonus
  int batch = 256;
  float discount = 0.99f;
  float polyak = 5e-3f;
  float temperature = 1;  // of a Gaussian policy, before the first update
  AdamOptions adam;
  std::uint64_t seed = 0;
};

}  // namespace ovde
