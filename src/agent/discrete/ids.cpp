// Information-directed sampling (Nikolov et al., 2019): weighs what an action is expected to cost
// against what trying it would tell.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "agent/discrete/rule.h"

namespace ovde {

namespace {

constexpr double kVarianceFloor = 0.25;  // of the normalised variance
constexpr double kMeanVarianceFloor = 1e-5, kInformationFloor = 1e-5;

class IdsRule final : public DiscreteRule {
 public:
  IdsRule(const IdsOptions& options, int actions, int quantiles)
      : lambda_(options.lambda), quantiles_(quantiles), arms_(actions) {}

  // The action with the smallest regret^2 / information; of equals the first.
  int choose(const QuantilePair& z, Random& random) override;

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

IdsRule::Arm IdsRule::arm(const QuantilePair& z, int action) const {
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

int IdsRule::choose(const QuantilePair& z, Random&) {
  const int actions = static_cast<int>(arms_.size());
  double best_bound = -std::numeric_limits<double>::infinity(), mean_variance = 0;
  for (int a = 0; a < actions; ++a) {
    arms_[a] = arm(z, a);
    best_bound = std::max(best_bound, arms_[a].mean + lambda_ * arms_[a].spread);
    mean_variance += arms_[a].variance / actions;
  }

  int chosen = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (int a = 0; a < actions; ++a) {
    const auto& [mean, spread, variance] = arms_[a];
    const double regret = best_bound - (mean - lambda_ * spread);
    const double normalised =
        std::max(variance / (mean_variance + kMeanVarianceFloor), kVarianceFloor);
    const double information = std::log1p(spread * spread / normalised) + kInformationFloor;
    const double ratio = regret * regret / information;
    if (ratio < smallest) {
      smallest = ratio;
      chosen = a;
    }
  }
  return chosen;
}

}  // namespace

std::unique_ptr<DiscreteRule> make_ids_rule(const IdsOptions& options, int actions, int quantiles) {
  return std::make_unique<IdsRule>(options, actions, quantiles);
}

}  // namespace ovde
