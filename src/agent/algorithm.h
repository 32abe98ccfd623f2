// An algorithm is a choice of critics, policy, behaviour policy and presets for the one learner; it
// has no code of its own.
#pragma once

#include <string>
#include <vector>

#include <ovde/option.h>
#include "agent/options.h"

namespace ovde {

// The algorithm's defaults; a user's settings override them.
struct Presets {
  NetworkOptions network = {};
  LearnerTables learner = {};
  AgentTables agent = {};
  TrainOptions train = {};
};

struct Algorithm {
  std::string name;
  std::string summary;
  // Quantile critics and a target policy; otherwise one value per critic (SAC).
  bool distributional = true;
  PolicyKind policy = PolicyKind::gaussian;
  // Explorer that moves the policy's mean (ovde/explorer.h), or "ids", the rule of discrete
  // actions; empty: the policy's own noise explores.
  std::string explorer = "";
  bool bandit = false;    // the critics' optimism is chosen for each episode (TOP)
  bool optimist = false;  // a second actor on the same critics explores (DAC)
  Presets presets = {};
};

// The built-in algorithms, then DSAC with each further explorer that is registered.
const std::vector<Algorithm>& algorithms();
// Throws InputError that suggests the nearest name.
const Algorithm& find_algorithm(const std::string& name);

// Whether the algorithm can run on a GPU; does not look for one.
bool runs_on_gpu(const Algorithm& algorithm);

struct AgentOptions : AgentTables {
  Algorithm algorithm;
  LearnerOptions learner;
  OptionValues explore;  // options that the explorer declares
};

// The algorithm with its presets, and the defaults of everything else; the caller sets the sizes
// and the seed.
AgentOptions options_for(const Algorithm& algorithm);

}  // namespace ovde
