// Information-directed sampling on a CPU; its equations are ids_rule.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "agent/discrete/ids_rule.h"
#include "agent/discrete/rule.h"

namespace ovde {

namespace {

class Ids final : public DiscreteRule {
 public:
  Ids(const IdsOptions& options, int actions, int quantiles)
      : rule_{options.lambda}, quantiles_(quantiles), arms_(actions) {}

  // The action with the smallest regret^2 / information; of equals the first.
  int choose(const QuantilePair& z, Random& random) override;

 private:
  IdsArm arm(const QuantilePair& z, int action) const;

  IdsRule rule_;
  int quantiles_;
  std::vector<IdsArm> arms_;
};

IdsArm Ids::arm(const QuantilePair& z, int action) const {
  const double* first = z.critic[0].data() + static_cast<std::size_t>(action) * quantiles_;
  const double* second = z.critic[1].data() + static_cast<std::size_t>(action) * quantiles_;
  double first_mean = 0, second_mean = 0;
  for (int i = 0; i < quantiles_; ++i) {
    first_mean += first[i] / quantiles_;
    second_mean += second[i] / quantiles_;
  }
  const double mean = (first_mean + second_mean) / 2;
  double variance = 0;
  for (int i = 0; i < quantiles_; ++i) {
    const double deviation = (first[i] + second[i]) / 2 - mean;
    variance += deviation * deviation / quantiles_;
  }
  return {mean, std::abs(first_mean - second_mean) / 2, variance};
}

int Ids::choose(const QuantilePair& z, Random&) {
  const int actions = static_cast<int>(arms_.size());
  double best_bound = -std::numeric_limits<double>::infinity(), mean_variance = 0;
  for (int a = 0; a < actions; ++a) {
    arms_[a] = arm(z, a);
    best_bound = std::max(best_bound, rule_.upper_bound(arms_[a]));
    mean_variance += arms_[a].variance / actions;
  }

  int chosen = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (int a = 0; a < actions; ++a) {
    const double ratio = rule_.ratio(arms_[a], best_bound, mean_variance);
    if (ratio < smallest) {
      smallest = ratio;
      chosen = a;
    }
  }
  return chosen;
}

}  // namespace

std::unique_ptr<DiscreteRule> make_ids_rule(const IdsOptions& options, int actions, int quantiles) {
  return std::make_unique<Ids>(options, actions, quantiles);
}

}  // namespace ovde
