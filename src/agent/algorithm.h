// What an algorithm is: a choice of critics, policy, behaviour policy and bonus for the one
// learner; none has code of its own. Everything that follows from the choice is asked here.
#pragma once

#include <string>
#include <vector>

#include <ovde/option.h>
#include "agent/options.h"

namespace ovde {

// Values of the algorithm's own for keys that a user did not set.
struct Presets {
  CriticOptions critic = {};
  RndOptions rnd = {};
  ScoutOptions scout = {};
};

struct Algorithm {
  std::string name;
  std::string summary;
  // Quantile critics and a target policy; otherwise one value per critic (SAC).
  bool distributional = true;
  PolicyKind policy = PolicyKind::gaussian;
  // What moves the policy's mean (ovde/explorer.h), or chooses among finitely many actions
  // (agent/discrete/rule.h); "": nothing, the policy's own noise explores.
  std::string explorer = "";
  bool bandit = false;    // the critics' optimism is chosen for each episode (TOP)
  bool optimist = false;  // a second actor on the same critics explores (DAC)
  Presets presets = {};
};

// The table of the program, then DSAC with each registered explorer that it does not name.
const std::vector<Algorithm>& algorithms();
// InputError with the nearest name otherwise.
const Algorithm& find_algorithm(const std::string& name);

// Whether it has been written for a GPU; asks nothing of this machine.
bool runs_on_gpu(const Algorithm& algorithm);

struct AgentOptions {
  Algorithm algorithm;
  LearnerOptions learner;
  ScoutOptions scout;
  TopOptions top;
  IdsOptions ids;
  OptionValues explore;  // of the algorithm's explorer
};

// The algorithm with its presets, and the defaults of everything else; the caller sets the sizes
// and the seed.
AgentOptions options_for(const Algorithm& algorithm);

}  // namespace ovde
