// TD3's actor (Fujimoto et al., 2018): tanh of the network's output, without noise or entropy. The
// target policy's actions are smoothed by clipped noise; the actor and all target networks move
// less often than the critics.
#include <algorithm>

#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/gaussian_actor.h"
#include "agent/replay.h"

namespace ovde {

namespace {

class DeterministicActor final : public Actor {
 public:
  explicit DeterministicActor(const LearnerOptions& options);

  void act(const Batch& observation, const Batch& weight, std::uint64_t update, int half) override;
  Actions actions() const override { return {action_, log_probability_}; }
  void act_next(const Batch& next_observation, std::uint64_t update, int half) override;
  Actions next_actions() const override { return {next_action_, log_probability_}; }

  void update_temperature(std::uint64_t) override {}
  std::optional<float> temperature() const override { return {}; }

  double own_loss(int half) const override { return penalty_[half]; }
  void differentiate(const Batch& observation, const Batch& q_gradient, const Batch& weight,
                     int half) override;
  void step(std::uint64_t step, Team& team) override { network_.step(adam_, step, polyak_, team); }
  int delay() const override { return options_.delay; }

  BatchNetwork& network() override { return network_; }
  StateArrays more_state() override { return {}; }
  void restored() override { network_.restored(); }

 private:
  std::uint64_t seed_;
  AdamOptions adam_;
  float polyak_;
  Td3Options options_;
  BatchNetwork network_;

  Batch action_, next_action_;
  Batch noise_;            // (actions x batch)
  Batch log_probability_;  // (1 x batch): zero
  double penalty_[2] = {};
};

DeterministicActor::DeterministicActor(const LearnerOptions& options)
    : seed_(options.seed),
      adam_(options.train.adam),
      polyak_(options.train.polyak),
      options_(options.td3),
      network_({options.observation_size, options.network.hidden, options.action_size},
               options.train.batch, true),
      action_(options.action_size, options.train.batch),
      next_action_(options.action_size, options.train.batch),
      noise_(options.action_size, options.train.batch),
      log_probability_(1, options.train.batch) {
  initialise_actor(options, network_);
  restored();
}

void DeterministicActor::act(const Batch& observation, const Batch& weight, std::uint64_t,
                             int half) {
  const Blocks blocks = half_blocks(observation, half);
  const Batch& output = network_.forward(observation, half);
  squash(output, action_, blocks);

  Vector sum{};
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < output.features(); ++d) {
      for (int v = 0; v < kLanes; v += kVector) {
        const Vector u = load(output.row(b, d) + v);
        sum += load(weight.row(b, 0) + v) * (u * u);
      }
    }
  }
  penalty_[half] = options_.penalty * sum_lanes(sum);
}

// a' = clip(tanh(target policy) + clip(smoothing * eps, -c, c), -1, 1)
void DeterministicActor::act_next(const Batch& next_observation, std::uint64_t update, int half) {
  const Blocks blocks = half_blocks(next_observation, half);
  squash(network_.second_pass(next_observation, half), next_action_, blocks);
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

void DeterministicActor::differentiate(const Batch& observation, const Batch& q_gradient,
                                       const Batch& weight, int half) {
  const Blocks blocks = half_blocks(observation, half);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < action_.features(); ++d) {
      for (int v = 0; v < kLanes; v += kVector) {
        const Vector action = load(action_.row(b, d) + v);
        const Vector gain = load(q_gradient.row(b, d) + v) * (1 - action * action);
        const Vector charge = 2 * options_.penalty * load(network_.output().row(b, d) + v);
        store(network_.output_gradient().row(b, d) + v,
              load(weight.row(b, 0) + v) * (charge - gain));
      }
    }
  }
  network_.backward(observation, half);
}

}  // namespace

std::unique_ptr<Actor> make_deterministic_actor(const LearnerOptions& options) {
  return std::make_unique<DeterministicActor>(options);
}

}  // namespace ovde
