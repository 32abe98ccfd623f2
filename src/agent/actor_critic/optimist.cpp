#include "agent/actor_critic/optimist.h"

#include <algorithm>
#include <string>

namespace ovde {

Optimist::Optimist(const LearnerOptions& options, Actor& policy, CriticArray& critics)
    : options_(options),
      policy_(policy.network()),
      critics_(critics),
      network_(make_actor_network(options, 2 * options.action_size, NetworkUse::Second::network)),
      sampled_(options.action_size, options.train.batch),
      state_action_(options.observation_size + options.action_size, options.train.batch),
      value_(options, Minimum::means, critics) {
  restart();
}

void Optimist::restart() {
  Trained& net = network_->trained();
  net.parameters = net.target = policy_.trained().parameters;
  net.statistics = policy_.trained().statistics;
  std::ranges::fill(net.first_moment, 0.0f);
  std::ranges::fill(net.second_moment, 0.0f);
  log_optimism_ = {std::log(options_.dac.optimism + 1)};
  log_weight_ = {std::log(options_.dac.weight)};
  restored();
}

// It climbs (Q_1 + Q_2) / 2 + beta |Q_1 - Q_2| / 2.
void Optimist::after_critics(const Update& update) {
  const Batch& head = network_->forward(update.batch.observations(), update.team);
  update.team.run(2, [&](int half) { act(update, head, half); });
  value_.evaluate(state_action_, true, update.number, update.team);
  const Blend blend = blend_of(std::exp(log_optimism_[0]) - 1);
  update.team.run(2, [&](int half) {
    value_.loss(0, blend, update.batch.weight, half);
    differentiate(update, half);
  });
  step(update);
}

// Its actions at s. Their noise is wider by the factor dac.spread, as when it acts.
void Optimist::act(const Update& update, const Batch& head, int half) {
  const Batch& observation = update.batch.observation;
  const Blocks blocks = half_blocks(observation, half);
  fill_batch_noise(options_.seed, Stream::optimist_noise, update.number, sampled_.noise, blocks);
  const Vector spread = splat(options_.dac.spread);
  over_rows(sampled_.noise.features(), blocks, [&](int b, int d, int v) {
    float* noise = sampled_.noise.row(b, d) + v;
    store(noise, spread * load(noise));
  });
  sample_actions(head, log_std_form(options_.network), sampled_, blocks);
  copy_rows(observation, state_action_, 0, blocks);
  copy_rows(sampled_.action, state_action_, options_.observation_size, blocks);
}

// The gradient of  sum over samples of weight * (tau KL(optimist || policy) - value).
void Optimist::differentiate(const Update& update, int half) {
  const Batch& weight = update.batch.weight;
  const Blocks blocks = half_blocks(weight, half);
  const float no_entropy = 0;
  const LogStdForm form = log_std_form(options_.network);
  head_gradient(network_->output(), form, sampled_, value_.gradient(half), no_entropy, weight,
                network_->output_gradient(), blocks);
  const float tau = std::min(std::exp(log_weight_[0]), kLargestDivergenceWeight);
  divergence_[half] = add_divergence(network_->output(), policy_.output(), form, tau, weight,
                                     network_->output_gradient(), blocks);
}

// The two multipliers follow  (beta + 1) (k - k*)  and  -tau (k - k*)  by their logarithms, where k
// is the divergence for each dimension of the action and k* is dac.divergence.
void Optimist::step(const Update& update) {
  const int restarts = options_.dac.copy_updates;
  const std::uint64_t number = 1 + (restarts > 0 ? update.number % restarts : update.number);
  network_->backward(update.batch.observations(), update.team);
  network_->step(options_.train.adam.at(update.number), number, 0, update.team);
  const double k = (divergence_[0] + divergence_[1]) / sampled_.action.features();
  const auto excess = static_cast<float>(k - options_.dac.divergence);
  for (auto* x : {&log_optimism_, &log_weight_}) {
    auto& [value, first_moment, second_moment] = *x;
    const float sign = x == &log_optimism_ ? 1.0f : -1.0f;
    adam_step(kMultiplierAdam, number, sign * std::exp(value) * excess, value, first_moment,
              second_moment);
  }
}

void Optimist::after_actor(const Update& update) {
  const int restarts = options_.dac.copy_updates;
  if (restarts > 0 && (update.number + 1) % restarts == 0) restart();
}

void Optimist::add_state(LearnerState& state) {
  add_network("optimist", network_->trained(), state.arrays);
  state.arrays.emplace_back(std::string(kOptimist) + "log_optimism", log_optimism_);
  state.arrays.emplace_back(std::string(kOptimist) + "log_weight", log_weight_);
}

double Optimist::flop_per_update() const {
  double flop = network_->forward_flop() + network_->backward_flop();
  for (const auto& critic : critics_)
    flop += critic->evaluation_flop() + critic->action_gradient_flop(false);
  return flop;
}

}  // namespace ovde
