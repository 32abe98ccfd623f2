#include "agent/actor_critic/ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "agent/critic/truncation.h"
#include "agent/equations.h"

namespace ovde {

namespace {

constexpr int kFirst = 100;  // of their numbers as critics, for what they are drawn from

}  // namespace

float prior_scale(const LearnerOptions& options) {
  return options.prior / std::sqrt(static_cast<float>(options.quantiles));
}

// ---- learning

Ensemble::Ensemble(const LearnerOptions& options) : scale_(prior_scale(options)) {
  LearnerOptions own = options;
  own.init = Initialisation::torch;  // the others' last layer starts close to zero
  own.targets = TargetStart::own;
  for (int j = 0; j < options.critics - 2; ++j) {
    members_.push_back({std::make_unique<QuantileCritic>(own, kFirst + j),
                        Batch(target_count(options.quantiles, options.dropped), options.batch)});
  }
}

void Ensemble::learn(int j, const Batch& state_action, const Batch& targets, const Batch& weight,
                     std::uint64_t update) {
  auto& [critic, own] = members_[j];
  const Batch& prior = critic->target_values(state_action, update);
  for (int b = 0; b < own.blocks(); ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      Vector sum{};
      for (int i = 0; i < prior.features(); ++i) sum += load(prior.row(b, i) + v);
      for (int i = 0; i < own.features(); ++i)
        store(own.row(b, i) + v, load(targets.row(b, i) + v) - scale_ * sum);
    }
  }
  critic->learn(state_action, own, weight, 0, update);
}

void Ensemble::add_state(LearnerState& state) {
  for (int j = 0; j < size(); ++j)
    add_network(fmt::format("critic_{}", 3 + j), members_[j].critic->network(), state.arrays);
}

void Ensemble::restored() {
  for (Member& member : members_) member.critic->restored();
}

double Ensemble::flop_per_update() const {
  double flop = 0;
  for (const Member& member : members_) flop += member.critic->learning_flop();
  return flop;
}

// ---- acting

EnsemblePair::EnsemblePair(const LearnerOptions& options, const Ensemble& ensemble)
    : ensemble_(ensemble),
      scale_(prior_scale(options)),
      two_(quantile_critic_shape(options), options.observation_size),
      z_(critics(), std::vector<double>(options.quantiles)),
      mean_(options.quantiles),
      deviation_(options.quantiles),
      quantiles_(options.quantiles),
      by_two_(options.quantiles),
      by_prior_(options.quantiles),
      part_(options.action_size) {
  quantiles_.form = options.uncertainty;
  const QuantileCriticPair pair(quantile_critic_shape(options), options.observation_size);
  for (int j = 0; j < ensemble.size(); j += 2) others_.push_back({pair, pair});
}

void EnsemblePair::load(std::span<const float> first, std::span<const float> second) {
  two_.load(first, second);
  for (int j = 0; j < ensemble_.size(); j += 2) {
    const int next = std::min(j + 1, ensemble_.size() - 1);
    others_[j / 2].nets.load(ensemble_.network(j), ensemble_.network(next));
    others_[j / 2].priors.load(ensemble_.prior(j), ensemble_.prior(next));
  }
}

const QuantilePair& EnsemblePair::quantiles(std::span<const float> observation,
                                            std::span<const float> action, Random& random) {
  const int n = quantiles_.size(), count = critics();
  const QuantilePair& two = two_.quantiles(observation, action, random);
  for (int k = 0; k < 2; ++k) z_[k] = two.critic[k];
  for (std::size_t pair = 0; pair < others_.size(); ++pair) {
    const QuantilePair& own = others_[pair].nets.quantiles(observation, action, random);
    const QuantilePair& prior = others_[pair].priors.quantiles(observation, action, random);
    for (int k = 0; k < 2; ++k) {
      const int place = 2 + 2 * static_cast<int>(pair) + k;
      if (place == count) break;
      const auto& p = prior.critic[k];
      const double shift = scale_ * std::accumulate(p.begin(), p.end(), 0.0);
      for (int i = 0; i < n; ++i) z_[place][i] = own.critic[k][i] + shift;
    }
  }
  for (int i = 0; i < n; ++i) {
    double sum = 0, squares = 0;
    for (const auto& z : z_) sum += z[i];
    mean_[i] = sum / count;
    for (const auto& z : z_) squares += (z[i] - mean_[i]) * (z[i] - mean_[i]);
    deviation_[i] = std::sqrt(squares / count);
    quantiles_.critic[0][i] = mean_[i] - deviation_[i];
    quantiles_.critic[1][i] = mean_[i] + deviation_[i];
  }
  return quantiles_;
}

double EnsemblePair::place(int k, int i) const {
  return ensemble_place(z_[k][i], mean_[i], deviation_[i]);
}

// d mean_i / d z_ki = 1 / K, d deviation_i / d z_ki = place / K
void EnsemblePair::action_gradient(const QuantilePair& quantile_gradient,
                                   std::span<double> gradient) {
  const int n = quantiles_.size(), count = critics();
  std::ranges::fill(gradient, 0.0);
  const auto add = [&](QuantileCriticPair& pair, const QuantilePair& by) {
    pair.action_gradient(by, part_);
    for (std::size_t d = 0; d < gradient.size(); ++d) gradient[d] += part_[d];
  };
  for (int first = 0; first < count; first += 2) {
    for (int k = first; k < first + 2; ++k) {
      double sum = 0;
      for (int i = 0; i < n; ++i) {
        const double lower = quantile_gradient.critic[0][i], upper = quantile_gradient.critic[1][i];
        const double by = k < count ? by_member(lower, upper, place(k, i), count) : 0;
        by_two_.critic[k - first][i] = by;
        sum += by;
      }
      std::ranges::fill(by_prior_.critic[k - first], scale_ * sum);
    }
    if (first == 0) {
      add(two_, by_two_);
    } else {
      add(others_[first / 2 - 1].nets, by_two_);
      add(others_[first / 2 - 1].priors, by_prior_);
    }
  }
}

}  // namespace ovde
