// TD3's actor (Fujimoto et al., 2018): tanh of the network's output, without noise or entropy. The
// target policy's actions are smoothed by clipped noise; the actor and all target networks move
// less often than the critics.
#include <algorithm>

#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/gaussian_actor.h"

namespace ovde {

namespace {

class DeterministicActor final : public Actor {
 public:
  explicit DeterministicActor(const LearnerOptions& options);

  void act(const ReplayBatch& batch, std::uint64_t update, Team& team) override;
  Actions actions() const override { return {action_, log_probability_}; }
  Actions next_actions() const override { return {next_action_, log_probability_}; }

  double own_loss(int half) const override { return penalty_[half]; }
  void differentiate(const Batch& q_gradient, const Batch& weight, int half) override;

 private:
  void smooth(std::uint64_t update, Blocks blocks);

  Td3Options options_;
  Batch action_, next_action_;
  Batch noise_;            // (actions x batch)
  Batch log_probability_;  // (1 x batch): zero
  double penalty_[2] = {};
};

DeterministicActor::DeterministicActor(const LearnerOptions& options)
    : Actor(options, options.action_size, NetworkUse::Second::target),
      options_(options.td3),
      action_(options.action_size, options.train.batch),
      next_action_(options.action_size, options.train.batch),
      noise_(options.action_size, options.train.batch),
      log_probability_(1, options.train.batch) {}

void DeterministicActor::act(const ReplayBatch& batch, std::uint64_t update, Team& team) {
  const BatchPair observations = batch.observations();
  const Batch& output = network_->forward(observations, team);
  const Batch& next_output = network_->second_pass(observations, team);
  team.run(2, [&](int half) {
    const Blocks blocks = half_blocks(batch.weight, half);
    squash(output, action_, blocks);
    squash(next_output, next_action_, blocks);
    smooth(update, blocks);

    Vector sum{};
    over_rows(output.features(), blocks, [&](int b, int d, int v) {
      const Vector u = load(output.row(b, d) + v);
      sum += load(batch.weight.row(b, 0) + v) * (u * u);
    });
    penalty_[half] = options_.penalty * sum_lanes(sum);
  });
}

// a' = clip(tanh(target policy) + clip(smoothing * eps, -c, c), -1, 1)
void DeterministicActor::smooth(std::uint64_t update, Blocks blocks) {
  fill_batch_noise(seed_, Stream::target_noise, update, noise_, blocks);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int i = 0; i < next_action_.features() * kLanes; ++i) {
      const float noise =
          std::clamp(options_.smoothing * noise_.block(b)[i], -options_.clip, options_.clip);
      float& action = next_action_.block(b)[i];
      action = std::clamp(action + noise, -1.0f, 1.0f);
    }
  }
}

void DeterministicActor::differentiate(const Batch& q_gradient, const Batch& weight, int half) {
  over_rows(action_.features(), half_blocks(weight, half), [&](int b, int d, int v) {
    const Vector action = load(action_.row(b, d) + v);
    const Vector gain = load(q_gradient.row(b, d) + v) * (1 - action * action);
    const Vector charge = 2 * options_.penalty * load(network_->output().row(b, d) + v);
    store(network_->output_gradient().row(b, d) + v, load(weight.row(b, 0) + v) * (charge - gain));
  });
}

}  // namespace

std::unique_ptr<Actor> make_deterministic_actor(const LearnerOptions& options) {
  return std::make_unique<DeterministicActor>(options);
}

}  // namespace ovde
