// What an algorithm is: a choice of critics, policy, behaviour policy and bonus for the one
// learner; none has code of its own. Everything that follows from the choice is asked here.
#pragma once

#include <string>
#include <vector>

namespace ovde {

// A squashed Gaussian whose entropy is rewarded (SAC), an action without noise of its own (TD3), or
// the best of finitely many actions (IDS).
enum class PolicyKind { gaussian, deterministic, greedy };

// A bonus for new observations in the rewards of an update (rnd.h): none, as it is, or less of it
// where the return is noisy (noise_discount.h).
enum class Bonus { none, plain, discounted };

struct Algorithm {
  std::string name;
  std::string summary;
  // Quantile critics and a target policy; otherwise one value per critic (SAC).
  bool distributional = true;
  PolicyKind policy = PolicyKind::gaussian;
  // What moves the policy's mean (ovde/explorer.h), or chooses among finitely many actions
  // (agent/discrete/rule.h); "": nothing, the policy's own noise explores.
  std::string explorer = "";
  Bonus bonus = Bonus::none;  // of the scout, where there is one
  bool truncated = false;     // the critics' targets leave out the largest values (TQC)
  bool bandit = false;        // the critics' optimism is chosen for each episode (TOP)
  bool scout = false;         // a second learner that acts in a share of the episodes
  bool optimist = false;      // a second actor on the same critics that explores (DAC)
  float bonus_scale = 1;      // of the bonus, unless its key says otherwise
};

// The table of the program, then DSAC with each registered explorer that it does not name.
const std::vector<Algorithm>& algorithms();
// InputError with the nearest name otherwise.
const Algorithm& find_algorithm(const std::string& name);

// Whether it has been written for a GPU; asks nothing of this machine.
bool runs_on_gpu(const Algorithm& algorithm);

}  // namespace ovde
