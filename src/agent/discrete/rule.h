// Information-directed sampling (Nikolov et al., 2019): which of finitely many actions to try,
// given the quantiles of two critics. Weighs what an action is expected to cost against what trying
// it would tell.
#pragma once

#include <vector>

#include "agent/critic/uncertainty.h"

namespace ovde {

class InformationRule {
 public:
  InformationRule(double lambda, int actions, int quantiles);

  // z: action after action, N quantiles each. The number of the action with the smallest
  // regret^2 / information; of equals the first.
  int choose(const QuantilePair& z);

 private:
  struct Arm {
    double mean;      // over quantiles and critics
    double spread;    // standard deviation of the critics' means
    double variance;  // of the return
  };
  Arm arm(const QuantilePair& z, int action) const;

  double lambda_;
  int quantiles_;
  std::vector<Arm> arms_;
};

}  // namespace ovde
