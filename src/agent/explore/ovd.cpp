// OVD-Explorer's behaviour policy (Proposition 2, Algorithm 1): the policy's mean, moved up the
// gradient of the optimistic value by a step that shrinks where the return is noisy.
#include <cmath>

#include "agent/explore/current_return.h"
#include "agent/explore/explorer.h"

namespace ovde {

namespace {

class OvdExplorer final : public Explorer {
 public:
  OvdExplorer(CurrentReturn current_return, const ExploreOptions& options, int actions,
              int quantiles)
      : options_(options),
        current_(current_return, options.beta, quantiles),
        action_(actions),
        gradient_(actions),
        upper_gradient_(quantiles),
        cdf_gradient_(quantiles) {}

  double shift(std::span<const float> observation, const ActorHead& head, CriticPair& critics,
               Random& random, std::span<double> mean) override {
    // value distribution and its two uncertainties at the policy's own action (Eq. 12, appendix)
    for (std::size_t d = 0; d < action_.size(); ++d)
      action_[d] = static_cast<float>(std::tanh(head.mean[d]));
    const QuantilePair& z = critics.quantiles(observation, action_, random);
    const Uncertainty u = uncertainty(z);
    current_.set(z, u);

    // the mean of the optimistic value distribution, or K samples of it (Eq. 11, 17)
    const int samples = std::max(options_.samples, 1);
    double m_sum = 0;
    for (int k = 0; k < samples; ++k) {
      const double noise = options_.samples > 0 ? random.normal() : 0;
      const double upper_bound = u.mean + options_.beta * u.epistemic + noise * u.aleatoric;

      // how likely the current return is to stay below it (Proposition 1)
      const double m = std::log(current_.cdf(upper_bound) / options_.normaliser) + 1;
      m_sum += m;

      // one step before the squash (Eq. 15)
      ascent_direction(z, u, upper_bound, noise, critics);
      for (std::size_t d = 0; d < mean.size(); ++d)
        mean[d] += options_.alpha / samples * m * gradient_[d];
    }
    return m_sum / samples;
  }

 private:
  // d zbar / du through the tanh; for the full form the direction in which Phi(zbar) itself grows.
  void ascent_direction(const QuantilePair& z, const Uncertainty& u, double upper_bound,
                        double noise, CriticPair& critics) {
    uncertainty_gradient(z, u, 1, options_.beta, noise, upper_gradient_);
    const bool full = options_.gradient == GradientForm::full &&
                      current_.cdf_gradient(upper_bound, upper_gradient_, cdf_gradient_);
    critics.action_gradient(full ? cdf_gradient_ : upper_gradient_, gradient_);

    double squares = 0;
    for (std::size_t d = 0; d < gradient_.size(); ++d) {
      gradient_[d] *= 1 - double{action_[d]} * action_[d];
      squares += gradient_[d] * gradient_[d];
    }
    if (options_.gradient == GradientForm::raw) return;
    const double length = std::sqrt(squares) + 1e-8;
    for (double& g : gradient_) g /= length;
  }

  ExploreOptions options_;
  ReturnDistribution current_;
  std::vector<float> action_;
  std::vector<double> gradient_;
  QuantilePair upper_gradient_, cdf_gradient_;
};

}  // namespace

std::unique_ptr<Explorer> make_ovd_explorer(CurrentReturn current_return,
                                            const ExploreOptions& options, int actions,
                                            int quantiles) {
  return std::make_unique<OvdExplorer>(current_return, options, actions, quantiles);
}

}  // namespace ovde
