#include "agent/critic/categorical_critic.h"

#include <algorithm>

#include <ovde/error.h>

namespace ovde {

CategoricalCritic::CategoricalCritic(const LearnerOptions& options, int k)
    : NetworkCritic(options, options.critic.atoms, k),
      support_(options.critic),
      probabilities_(options.critic.atoms, options.train.batch),
      target_probabilities_(probabilities_),
      values_(options.critic.quantiles, options.train.batch),
      target_values_(values_),
      sample_(options.critic.atoms),
      quantiles_(options.critic.quantiles) {}

const Batch& CategoricalCritic::target_values(const BatchPair& transitions, std::uint64_t) {
  softmax(network_->second_pass(transitions, alone_), target_probabilities_, all_blocks(mean_));
  fill_quantiles(target_probabilities_, target_values_);
  return target_values_;
}

void CategoricalCritic::fill_targets(const ReplayBatch& batch, const TargetValues& values,
                                     float alpha, const Batch& log_probability, const Blend& blend,
                                     Batch& targets, Blocks blocks) const {
  for (int b = blocks.first; b < blocks.last; ++b)
    std::fill_n(targets.block(b), targets.features() * kLanes, 0.0f);
  for (int s = blocks.first * kLanes; s < blocks.last * kLanes; ++s) {
    // the entropy moves the values
    const float entropy = alpha * log_probability.at(0, s);
    const auto add = [&](float z, float probability) {
      const float y = batch.reward.at(0, s) + batch.continues.at(0, s) * (z - entropy);
      project(support_, y, probability, [&](int j, float part) { targets.at(j, s) += part; });
    };
    if (values.probabilities[0] == nullptr) {
      const int n = values.first->features();
      for (int i = 0; i < n; ++i)
        add(blended(blend, values.first->at(i, s), values.second->at(i, s)),
            1.0f / static_cast<float>(n));
      continue;
    }
    const Batch &first = *values.probabilities[0], &second = *values.probabilities[1];
    float difference = 0;  // between the two means
    for (int j = 0; j < support_.size; ++j)
      difference += support_.value(j) * (first.at(j, s) - second.at(j, s));
    const float share = difference <= 0 ? blend.smaller : blend.larger,
                other = difference <= 0 ? blend.larger : blend.smaller;
    for (int j = 0; j < support_.size; ++j)
      add(support_.value(j), share * first.at(j, s) + other * second.at(j, s));
  }
}

double CategoricalCritic::learn(const BatchPair& transitions, const Batch& targets,
                                const Batch& weight, float polyak, std::uint64_t update) {
  const Blocks blocks = all_blocks(mean_);
  const Batch& logits = network_->forward(transitions, alone_);
  softmax(logits, probabilities_, blocks);
  const double loss =
      cross_entropy(targets, logits, probabilities_, weight, network_->output_gradient(), blocks);
  step(transitions, polyak, update);
  return loss;
}

void CategoricalCritic::evaluate(const Batch& state_action, bool, std::uint64_t) {
  const Blocks blocks = all_blocks(mean_);
  softmax(network_->evaluate(state_action, blocks), probabilities_, blocks);
  distribution_mean(support_, probabilities_, mean_, blocks);
  fill_quantiles(probabilities_, values_);
}

// d mean / d logit_j = p_j (z_j - mean)
const Batch& CategoricalCritic::action_gradient(const Batch& share, Blocks blocks) {
  Batch& gradient = network_->output_gradient();
  over_samples(blocks, [&](int b, int v) {
    const Vector part = load(share.row(b, 0) + v), mean = load(mean_.row(b, 0) + v);
    for (int j = 0; j < support_.size; ++j)
      store(gradient.row(b, j) + v,
            part * load(probabilities_.row(b, j) + v) * (splat(support_.value(j)) - mean));
  });
  return network_->input_gradient(blocks);
}

const Batch& CategoricalCritic::action_gradient_by_value(const Batch&, const Batch&) {
  throw Error("a categorical critic has no gradient by quantile");  // the configuration refuses it
}

void CategoricalCritic::fill_quantiles(const Batch& probabilities, Batch& quantiles) {
  for (int s = 0; s < quantiles.samples(); ++s) {
    for (int j = 0; j < support_.size; ++j) sample_[j] = probabilities.at(j, s);
    quantiles_of(support_, sample_, quantiles_);
    for (int i = 0; i < quantiles.features(); ++i)
      quantiles.at(i, s) = static_cast<float>(quantiles_[i]);
  }
}

// ---- acting

CategoricalCriticPair::CategoricalCriticPair(const LearnerOptions& options)
    : support_(options.critic),
      logits_(critic_acting_shape(options, options.critic.atoms), options.observation_size),
      quantiles_(options.critic.quantiles),
      by_logit_(options.critic.atoms) {
  quantiles_.form = options.critic.uncertainty;
  for (auto& p : probabilities_) p.resize(options.critic.atoms);
}

const QuantilePair& CategoricalCriticPair::quantiles(std::span<const float> observation,
                                                     std::span<const float> action,
                                                     Random& random) {
  const QuantilePair& logits = logits_.quantiles(observation, action, random);
  for (int k = 0; k < 2; ++k) {
    softmax(logits.critic[k].data(), support_.size, probabilities_[k].data());
    quantiles_of(support_, probabilities_[k], quantiles_.critic[k]);
  }
  return quantiles_;
}

void CategoricalCriticPair::action_gradient(const QuantilePair& by_quantile,
                                            std::span<double> gradient) {
  for (int k = 0; k < 2; ++k)
    quantile_gradient(support_, probabilities_[k], by_quantile.critic[k], by_logit_.critic[k]);
  logits_.action_gradient(by_logit_, gradient);
}

}  // namespace ovde
