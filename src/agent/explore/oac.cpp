// Optimistic actor-critic (Ciosek et al., 2019) and, with quantile critics, DOAC: the policy's mean
// moved up the gradient of an upper bound of the value, by a step of fixed length in the policy's
// own metric.
#include <cmath>

#include "agent/explore/explorer.h"

namespace ovde {

namespace {

class OacExplorer final : public Explorer {
 public:
  OacExplorer(const ExploreOptions& options, int actions, int quantiles)
      : beta_(options.oac_beta),
        step_(std::sqrt(2 * options.oac_delta)),
        action_(actions),
        gradient_(actions),
        by_quantile_(quantiles) {}

  double shift(std::span<const float> observation, const ActorHead& head, CriticPair& critics,
               Random& random, std::span<double> mean) override {
    // both critics' values at the policy's own action
    const std::size_t actions = action_.size();
    for (std::size_t d = 0; d < actions; ++d)
      action_[d] = static_cast<float>(std::tanh(head.mean[d]));
    const QuantilePair& z = critics.quantiles(observation, action_, random);
    const int n = z.size();
    const double difference = mean_difference(z);

    // Q_UB = mean + beta |Q_1 - Q_2| / 2, differentiated
    const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0;
    for (int i = 0; i < n; ++i) {
      by_quantile_.critic[0][i] = z.weight[i] * (1 + beta_ * sign) / (2 * n);
      by_quantile_.critic[1][i] = z.weight[i] * (1 - beta_ * sign) / (2 * n);
    }
    critics.action_gradient(by_quantile_, gradient_);
    for (std::size_t d = 0; d < actions; ++d) gradient_[d] *= 1 - double{action_[d]} * action_[d];

    // mu_E = mu + sqrt(2 delta) Sigma g / sqrt(g' Sigma g)
    double length = 0;
    for (std::size_t d = 0; d < actions; ++d) length += std::pow(head.std[d] * gradient_[d], 2);
    length = std::sqrt(length) + 1e-5;
    for (std::size_t d = 0; d < actions; ++d)
      mean[d] += step_ * std::pow(head.std[d], 2) * gradient_[d] / length;
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
  double beta_, step_;
  std::vector<float> action_;
  std::vector<double> gradient_;
  QuantilePair by_quantile_;
};

}  // namespace

std::unique_ptr<Explorer> make_oac_explorer(const ExploreOptions& options, int actions,
                                            int quantiles) {
  return std::make_unique<OacExplorer>(options, actions, quantiles);
}

}  // namespace ovde
