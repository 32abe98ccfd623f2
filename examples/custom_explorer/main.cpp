// A custom explorer in one file, with the whole `ovde` program around it:
//
//   custom_explorer list algos
//   custom_explorer train --task GridChaos-v0:s --algo cautious --set explore.caution=2 --out
//   careful custom_explorer eval careful
//
// The explorer moves DSAC's mean by a step of fixed length along the gradient of
// mean + beta * epistemic - caution * aleatoric. It is optimistic where the critics disagree, and
// avoids noisy returns.
#include <cmath>
#include <limits>

#include <ovde/explorer.h>
#include <ovde/program.h>

class Cautious final : public ovde::Explorer {
 public:
  Cautious(const ovde::OptionValues& options, int actions, int quantiles)
      : alpha_(options.number("alpha")),
        beta_(options.number("beta")),
        caution_(options.number("caution")),
        action_(actions),
        gradient_(actions),
        by_quantile_(quantiles) {}

  double shift(std::span<const float> observation, const ovde::ActorHead& head,
               ovde::Critics& critics, ovde::Random& random, std::span<double> mean) override {
    // quantiles and uncertainties at the policy's own action
    for (std::size_t d = 0; d < action_.size(); ++d)
      action_[d] = static_cast<float>(std::tanh(head.mean[d]));
    const ovde::QuantilePair& z = critics.quantiles(observation, action_, random);

    // gradient of the objective with respect to quantiles, action, and mean before the squash
    ovde::uncertainty_gradient(z, ovde::uncertainty(z), 1, beta_, -caution_, by_quantile_);
    critics.action_gradient(by_quantile_, gradient_);
    double squares = 0;
    for (std::size_t d = 0; d < action_.size(); ++d) {
      gradient_[d] *= 1 - action_[d] * action_[d];
      squares += gradient_[d] * gradient_[d];
    }
    for (std::size_t d = 0; d < action_.size(); ++d)
      mean[d] += alpha_ * gradient_[d] / (std::sqrt(squares) + 1e-8);
    return std::numeric_limits<double>::quiet_NaN();  // the steps have no weight
  }

 private:
  double alpha_, beta_, caution_;
  std::vector<float> action_;
  std::vector<double> gradient_;
  ovde::QuantilePair by_quantile_;
};

int main(int argc, char** argv) {
  // alpha and beta are OVD-Explorer's own keys, with its defaults
  ovde::register_explorer(
      {.name = "cautious",
       .summary = "DSAC that explores what is unknown and avoids what is noisy",
       .options = {{.name = "caution",
                    .default_value = 1.0,
                    .help = "charge for the aleatoric uncertainty",
                    .low = 0,
                    .high = 1000}},
       .make = [](const ovde::OptionValues& options, int actions, int quantiles) {
         return std::make_unique<Cautious>(options, actions, quantiles);
       }});
  return ovde::run_program(argc, argv);
}
