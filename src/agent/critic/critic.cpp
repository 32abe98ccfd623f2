#include "agent/critic/critic.h"

#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/critic/categorical_critic.h"
#include "agent/critic/iqn_critic.h"
#include "agent/critic/quantile_critic.h"

namespace ovde {

void CriticPair::check_finite(const QuantilePair& quantiles) {
  for (int k = 0; k < 2; ++k) {
    for (const double z : quantiles.critic[k]) {
      if (!std::isfinite(z)) throw Error(fmt::format("a value of critic {} is {}", k + 1, z));
    }
  }
}

std::unique_ptr<Critic> make_critic(const LearnerOptions& options, int k) {
  switch (options.critic.head) {
    case CriticHead::qr:
      return std::make_unique<QuantileCritic>(options, k);
    case CriticHead::iqn:
    case CriticHead::embedded:
      return std::make_unique<IqnCritic>(options, k);
    case CriticHead::categorical:
      return std::make_unique<CategoricalCritic>(options, k);
  }
  throw Error("no such critic head");
}

std::unique_ptr<CriticPair> make_critic_pair(const LearnerOptions& options) {
  switch (options.critic.head) {
    case CriticHead::qr:
      return std::make_unique<QuantileCriticPair>(
          critic_acting_shape(options, options.critic.quantiles), options.observation_size,
          options.critic.uncertainty);
    case CriticHead::iqn:
    case CriticHead::embedded:
      return std::make_unique<IqnCriticPair>(options);
    case CriticHead::categorical:
      return std::make_unique<CategoricalCriticPair>(options);
  }
  throw Error("no such critic head");
}

// ---- the actor's value

ActorValue::ActorValue(const LearnerOptions& options, Minimum minimum, CriticArray& critics)
    : critics_(critics), minimum_(minimum), gradient_(options.action_size, options.train.batch) {
  const int rows = minimum == Minimum::quantiles ? options.critic.quantiles : 1;
  for (Batch& share : share_) share = Batch(rows, options.train.batch);
}

void ActorValue::evaluate(const Batch& state_action, bool differentiates, std::uint64_t update,
                          Team& team) {
  const bool by_mean = minimum_ == Minimum::means;
  team.run(2,
           [&](int k) { critics_[k]->evaluate(state_action, differentiates && by_mean, update); });
}

double ActorValue::loss(double own_loss, const Blend& blend, const Batch& weight, int half) {
  double loss = own_loss;
  const bool by_mean = minimum_ == Minimum::means;
  const Batch& first = by_mean ? critics_[0]->mean() : critics_[0]->values();
  const Batch& second = by_mean ? critics_[1]->mean() : critics_[1]->values();
  const Batch* weights = critics_[0]->value_weights();
  const int n = first.features();
  const float equal = 1.0f / static_cast<float>(n);
  over_samples(half_blocks(weight, half), [&](int b, int v) {
    Vector value{};
    for (int i = 0; i < n; ++i) {
      const Vector z1 = load(first.row(b, i) + v), z2 = load(second.row(b, i) + v);
      note_shares(blend, z1 <= z2, b, i, v);
      if (by_mean) {
        value = blended(blend, z1, z2);
      } else {
        const Vector counts = weights ? load(weights->row(b, i) + v) : splat(1);
        value += counts * equal * blended(blend, z1, z2);
      }
    }
    loss -= sum_lanes(load(weight.row(b, 0) + v) * value);
  });
  return loss;
}

template <typename Mask>
void ActorValue::note_shares(const Blend& blend, Mask first_is_smaller, int block, int row,
                             int lane) {
  const Vector low = splat(blend.smaller), high = splat(blend.larger);
  store(share_[0].row(block, row) + lane, first_is_smaller ? low : high);
  store(share_[1].row(block, row) + lane, first_is_smaller ? high : low);
}

void ActorValue::differentiate(const Batch& state_action, Team& team) {
  if (minimum_ == Minimum::means) return;
  team.run(2, [&](int k) {
    by_value_[k] = &critics_[k]->action_gradient_by_value(state_action, share_[k]);
  });
}

const Batch& ActorValue::gradient(int half) {
  const Blocks blocks = half_blocks(gradient_, half);
  const auto part = [&](int k) -> const Batch& {
    return minimum_ == Minimum::means ? critics_[k]->action_gradient(share_[k], blocks)
                                      : *by_value_[k];
  };
  const Batch &first = part(0), &second = part(1);
  over_rows(gradient_.features(), blocks, [&](int b, int d, int v) {
    store(gradient_.row(b, d) + v, load(first.row(b, d) + v) + load(second.row(b, d) + v));
  });
  return gradient_;
}

// ---- uncertainties

void take_sample(const Batch& first, const Batch& second, const Batch* weights, int s,
                 QuantilePair& z) {
  for (int i = 0; i < z.size(); ++i) {
    z.critic[0][i] = first.at(i, s);
    z.critic[1][i] = second.at(i, s);
    if (weights) z.weight[i] = weights->at(i, s);
  }
}

template Uncertainty uncertainty(const OneThread&, const PairQuantiles&);

Uncertainty uncertainty(const QuantilePair& z) {
  return uncertainty(OneThread{}, PairQuantiles{z});
}

void uncertainty_gradient(const QuantilePair& z, const Uncertainty& u, double by_mean,
                          double by_epistemic, double by_aleatoric, QuantilePair& out) {
  const UncertaintyGradient gradient(u, z.size(), z.form, by_mean, by_epistemic, by_aleatoric);
  for (int i = 0; i < z.size(); ++i) {
    const ByQuantile g = gradient.at(PairQuantiles{z}, i);
    for (int k = 0; k < 2; ++k) out.critic[k][i] = g.critic[k];
  }
}

}  // namespace ovde
