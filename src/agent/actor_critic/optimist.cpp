#include "agent/actor_critic/optimist.h"

#include <algorithm>
#include <string>

#include "agent/replay_batch.h"

namespace ovde {

Optimist::Optimist(const LearnerOptions& options, const BatchNetwork& policy)
    : options_(options.dac),
      seed_(options.seed),
      adam_(options.train.adam),
      network_(policy.shape(), options.train.batch, false),
      sampled_(options.action_size, options.train.batch) {
  start_from(policy);
}

void Optimist::start_from(const BatchNetwork& policy) {
  Trained& net = network_.trained();
  net.parameters = net.target = policy.trained().parameters;
  std::ranges::fill(net.first_moment, 0.0f);
  std::ranges::fill(net.second_moment, 0.0f);
  log_optimism_ = {std::log(options_.optimism + 1)};
  log_weight_ = {std::log(options_.weight)};
  restored();
}

// The noise is as much wider as its standard deviation is where it acts.
void Optimist::act(const Batch& observation, std::uint64_t update, int half) {
  const Blocks blocks = half_blocks(observation, half);
  fill_batch_noise(seed_, Stream::optimist_noise, update, sampled_.noise, blocks);
  const Vector spread = splat(options_.spread);
  for (int b = blocks.first; b < blocks.last; ++b) {
    float* noise = sampled_.noise.block(b);
    for (int i = 0; i < sampled_.noise.features() * kLanes; i += kVector)
      store(noise + i, spread * load(noise + i));
  }
  sample_actions(network_.forward(observation, half), sampled_, blocks);
}

void Optimist::differentiate(const Batch& observation, const Batch& policy_head,
                             const Batch& q_gradient, const Batch& weight, int half) {
  const Blocks blocks = half_blocks(observation, half);
  const float no_entropy = 0;
  head_gradient(network_.output(), sampled_, q_gradient, no_entropy, weight,
                network_.output_gradient(), blocks);
  const float tau = std::min(std::exp(log_weight_[0]), kLargestDivergenceWeight);
  divergence_[half] = add_divergence(network_.output(), policy_head, tau, weight,
                                     network_.output_gradient(), blocks);
  network_.backward(observation, half);
}

// The two multipliers follow  (beta + 1) (k - k*)  and  -tau (k - k*)  by their logarithms, k being
// the divergence for each dimension of the action and k* that aimed at.
void Optimist::step(std::uint64_t update, Team& team) {
  const std::uint64_t number = step_number(update);
  network_.step(adam_, number, 0, team);
  const double k = (divergence_[0] + divergence_[1]) / sampled_.action.features();
  const auto excess = static_cast<float>(k - options_.divergence);
  for (auto* x : {&log_optimism_, &log_weight_}) {
    auto& [value, first_moment, second_moment] = *x;
    const float sign = x == &log_optimism_ ? 1.0f : -1.0f;
    adam_step(kMultiplierAdam, number, sign * std::exp(value) * excess, value, first_moment,
              second_moment);
  }
}

void Optimist::end_update(std::uint64_t update, const BatchNetwork& policy) {
  if (options_.copy_updates > 0 && (update + 1) % options_.copy_updates == 0) start_from(policy);
}

std::uint64_t Optimist::step_number(std::uint64_t update) const {
  return 1 + (options_.copy_updates > 0 ? update % options_.copy_updates : update);
}

void Optimist::add_state(LearnerState& state) {
  add_network("optimist", network_.trained(), state.arrays);
  state.arrays.emplace_back(std::string(kOptimist) + "log_optimism", log_optimism_);
  state.arrays.emplace_back(std::string(kOptimist) + "log_weight", log_weight_);
}

}  // namespace ovde
