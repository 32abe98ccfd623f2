// Behaviour policies. Each keeps the policy's standard deviation and moves its mean, before the
// squash: a function (observation, actor head, critics) -> mean.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ovde/random.h>
#include "agent/algorithm.h"
#include "agent/critic/critic.h"

namespace ovde {

// The policy at one observation, before the squash.
struct ActorHead {
  explicit ActorHead(int actions) : mean(actions), std(actions) {}
  std::vector<double> mean, std;
};

enum class GradientForm {
  unit,  // normalised: alpha is the length of the step
  raw,   // as the paper writes it
  full,  // normalised gradient of the exploration ability itself: noise steers the direction too
};

struct ExploreOptions {
  double alpha = 0.05;      // step size
  double beta = 3.2;        // weight of the epistemic uncertainty
  double normaliser = 0.5;  // C
  GradientForm gradient = GradientForm::unit;
  int samples = 0;  // of the optimistic value distribution; 0: its mean
  double oac_beta = 4.66;
  double oac_delta = 23.53;
};

class Explorer {
 public:
  virtual ~Explorer() = default;

  // Moves `mean` (on entry head.mean). Returns m, averaged over the samples, where the method has
  // one; else NaN.
  virtual double shift(std::span<const float> observation, const ActorHead& head,
                       CriticPair& critics, Random& random, std::span<double> mean) = 0;
};

// Null for Behaviour::policy: the policy explores by its own noise alone.
std::unique_ptr<Explorer> make_explorer(const Algorithm& algorithm, const ExploreOptions& options,
                                        int actions, int quantiles);

std::unique_ptr<Explorer> make_oac_explorer(const ExploreOptions& options, int actions,
                                            int quantiles);
std::unique_ptr<Explorer> make_ovd_explorer(CurrentReturn current_return,
                                            const ExploreOptions& options, int actions,
                                            int quantiles);

}  // namespace ovde
