// The algorithms by name. Each is a choice of critic, policy and behaviour policy for the one
// learner; none has code of its own.
#pragma once

#include <string>
#include <vector>

namespace ovde {

// A squashed Gaussian whose entropy is rewarded (SAC), an action without noise of its own (TD3), or
// the best of finitely many actions (IDS).
enum class PolicyKind { gaussian, deterministic, greedy };

// How actions are chosen while exploring: by the policy alone, with its mean moved, or, of finitely
// many, by what trying them costs and tells.
enum class Behaviour { policy, oac, ovd, information };

// How OVD-Explorer models the current return: Gaussian with pessimistic mean (Eq. 13), quantiles of
// the pessimistic critic (Eq. 14), or Gaussian with the expected mean ("OVDE(m)", Table 2).
enum class CurrentReturn { gaussian, quantiles, mean };

struct Algorithm {
  std::string name;
  std::string summary;
  bool
      distributional;  // quantile critics and a target policy; otherwise one value per critic (SAC)
  Behaviour behaviour;
  CurrentReturn current_return = CurrentReturn::gaussian;  // used by Behaviour::ovd only
  PolicyKind policy = PolicyKind::gaussian;
  bool rnd = false;  // a bonus for new observations
};

const std::vector<Algorithm>& algorithms();
const Algorithm& find_algorithm(
    const std::string& name);  // InputError with the nearest name otherwise

}  // namespace ovde
