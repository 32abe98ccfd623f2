#include "agent/actor_critic/gaussian_actor.h"

#include <cmath>

#include "agent/replay_batch.h"

namespace ovde {

namespace {

double weighted_sum(const Batch& weight, const Batch& values, Blocks blocks) {
  Vector sum{};
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector)
      sum += load(weight.row(b, 0) + v) * load(values.row(b, 0) + v);
  }
  return sum_lanes(sum);
}

}  // namespace

// The quantile algorithms draw a' from a target policy, SAC from the current one.
GaussianActor::GaussianActor(const LearnerOptions& options)
    : seed_(options.seed),
      adam_(options.adam),
      polyak_(options.polyak),
      network_({options.observation_size, options.hidden, 2 * options.action_size}, options.batch,
               options.distributional),
      log_alpha_{std::log(options.temperature)},
      sampled_(options.action_size, options.batch),
      next_(options.action_size, options.batch) {
  initialise_actor(options, network_);
  restored();
}

void GaussianActor::act(const Batch& observation, const Batch& weight, std::uint64_t update,
                        int half) {
  const Blocks blocks = half_blocks(observation, half);
  fill_batch_noise(seed_, Stream::actor_noise, update, sampled_.noise, blocks);
  sample_actions(network_.forward(observation, half), sampled_, blocks);
  log_probability_[half] = weighted_sum(weight, sampled_.log_probability, blocks);
}

void GaussianActor::act_next(const Batch& next_observation, std::uint64_t update, int half) {
  const Blocks blocks = half_blocks(next_observation, half);
  fill_batch_noise(seed_, Stream::target_noise, update, next_.noise, blocks);
  sample_actions(network_.second_pass(next_observation, half), next_, blocks);
}

// One step on -log_alpha * (log pi + H), with the target entropy H = -dim(A).
void GaussianActor::update_temperature(std::uint64_t update) {
  const double log_probability = log_probability_[0] + log_probability_[1];
  const auto gradient = static_cast<float>(-(log_probability - sampled_.action.features()));
  adam_step(adam_, update + 1, gradient, log_alpha_[0], log_alpha_[1], log_alpha_[2]);
  alpha_ = std::exp(log_alpha_[0]);
}

void GaussianActor::differentiate(const Batch& observation, const Batch& q_gradient,
                                  const Batch& weight, int half) {
  head_gradient(network_.output(), sampled_, q_gradient, alpha_, weight, network_.output_gradient(),
                half_blocks(observation, half));
  network_.backward(observation, half);
}

void GaussianActor::restored() {
  network_.restored();
  alpha_ = std::exp(log_alpha_[0]);
}

}  // namespace ovde
