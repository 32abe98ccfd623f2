// The algorithms by name. Each is a choice of critic and behaviour policy for the one learner; none
// has code of its own.
#pragma once

#include <string>
#include <vector>

namespace ovde {

enum class Behaviour { gaussian, oac, ovd };

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
};

const std::vector<Algorithm>& algorithms();
const Algorithm& find_algorithm(
    const std::string& name);  // InputError with the nearest name otherwise

}  // namespace ovde
