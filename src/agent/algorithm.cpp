#include "agent/algorithm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include <ovde/option.h>

namespace ovde {

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = {
      {"sac", "soft actor-critic", false, Behaviour::policy},
      {"dsac", "SAC with quantile critics", true, Behaviour::policy},
      {"oac", "SAC that explores by the upper bound of two critics", false, Behaviour::oac},
      {"doac", "OAC with quantile critics", true, Behaviour::oac},
      {"ovde_g", "OVD-Explorer, Gaussian current return", true, Behaviour::ovd,
       CurrentReturn::gaussian},
      {"ovde_q", "OVD-Explorer, quantile current return", true, Behaviour::ovd,
       CurrentReturn::quantiles},
      {"ovde_m", "OVD-Explorer, Gaussian current return around the mean", true, Behaviour::ovd,
       CurrentReturn::mean},
      {"dsac_rnd", "DSAC with a bonus for new observations (random network distillation)", true,
       Behaviour::policy, CurrentReturn::gaussian, PolicyKind::gaussian, true},
      {"td3", "TD3 with quantile critics", true, Behaviour::policy, CurrentReturn::gaussian,
       PolicyKind::deterministic},
      {"ovde_td3", "OVD-Explorer on TD3, Gaussian current return", true, Behaviour::ovd,
       CurrentReturn::gaussian, PolicyKind::deterministic},
      {"ids", "information-directed sampling over a grid of actions", true, Behaviour::information,
       CurrentReturn::gaussian, PolicyKind::greedy},
  };
  return all;
}

const Algorithm& find_algorithm(const std::string& name) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    names.push_back(algorithm.name);
  }
  const std::string near = nearest(name, names);
  throw InputError(fmt::format("unknown algorithm '{}'{}; valid: {}", name,
                               near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                               fmt::join(names, ", ")));
}

}  // namespace ovde
