// The registered explorers, and the explorer of a rule (agent/explore/rules.h) on a CPU.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ovde/explorer.h>
#include "agent/critic/critic.h"
#include "agent/explore/rules.h"

namespace ovde {

const std::vector<ExplorerType>& explorers();                // built-in ones first
const ExplorerType& find_explorer(const std::string& name);  // Error if there is none

// The keys of table "explore": of all explorers; or, for a run with this explorer ("": none), its
// own and those of the built-in explorers.
std::vector<Option> explorer_options();
std::vector<Option> explorer_options(const std::string& name);
bool is_explorer_option(const std::string& key);

// Whether the explorer is a variant of OVD-Explorer: "ovde_g", "ovde_q" or "ovde_m".
bool is_ovd_explorer(const std::string& explorer);
// The rule of such a variant; Error for any other explorer.
OvdRule ovd_rule(const std::string& explorer, const OptionValues& options);

// The smaller of both critics' quantiles in increasing order.
class SortedQuantiles {
 public:
  explicit SortedQuantiles(int quantiles)
      : order_(quantiles), value_(quantiles), position_(quantiles) {}

  // Valid until the next call.
  SortedReturn sort(const QuantilePair& z);

 private:
  std::vector<int> order_;
  std::vector<double> value_, position_;
};

template <typename Rule>
class RuleExplorer final : public Explorer {
 public:
  RuleExplorer(const Rule& rule, int actions, int quantiles)
      : rule_(rule),
        action_(actions),
        gradient_(actions),
        by_quantile_(quantiles),
        sorted_(quantiles) {}

  double shift(std::span<const float> observation, const ActorHead& head, Critics& critics,
               Random& random, std::span<double> mean) override {
    const Random before = random;
    double m_sum = 0;
    for (int ascent = 0; ascent < rule_.ascents; ++ascent) {
      random = before;  // all ascents climb the same objective
      m_sum += climb(observation, head, critics, random, mean);
    }
    return m_sum / rule_.ascents;
  }

 private:
  // Moves the mean once; returns m.
  double climb(std::span<const float> observation, const ActorHead& head, Critics& critics,
               Random& random, std::span<double> mean) {
    // both critics at the policy's own action (Eq. 12, appendix), or where the last ascent ended
    const int actions = static_cast<int>(action_.size());
    for (int d = 0; d < actions; ++d) action_[d] = static_cast<float>(std::tanh(mean[d]));
    const QuantilePair& z = critics.quantiles(observation, action_, random);
    const OneThread lanes;
    const PairQuantiles quantiles{z};
    const auto belief = rule_.believe(lanes, quantiles);
    const SortedReturn sorted = rule_.sorts() ? sorted_.sort(z) : SortedReturn{};

    double m_sum = 0;
    const int samples = std::max(rule_.samples, 1);
    for (int k = 0; k < samples; ++k) {
      const double noise = rule_.samples > 0 ? random.normal() : 0;
      const double m =
          rule_.weigh(lanes, quantiles, belief, sorted, noise, [&](int i, const ByQuantile& g) {
            by_quantile_.critic[0][i] = g.critic[0];
            by_quantile_.critic[1][i] = g.critic[1];
          });
      m_sum += m;

      // one step before the squash
      critics.action_gradient(by_quantile_, gradient_);
      rule_.move(lanes, actions, action_.data(), head.std.data(), m, gradient_.data(), mean.data());
    }
    return m_sum / samples;
  }

  Rule rule_;
  std::vector<float> action_;
  std::vector<double> gradient_;
  QuantilePair by_quantile_;
  SortedQuantiles sorted_;
};

template <typename Rule>
std::unique_ptr<Explorer> make_rule_explorer(const Rule& rule, int actions, int quantiles) {
  return std::make_unique<RuleExplorer<Rule>>(rule, actions, quantiles);
}

}  // namespace ovde
