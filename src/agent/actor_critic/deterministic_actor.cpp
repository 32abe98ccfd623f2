#include "agent/actor_critic/deterministic_actor.h"

#include <algorithm>

#include "agent/actor_critic/squashed_gaussian.h"
#include "agent/replay_batch.h"

namespace ovde {

DeterministicActor::DeterministicActor(const LearnerOptions& options)
    : seed_(options.seed),
      adam_(options.adam),
      polyak_(options.polyak),
      options_(options.td3),
      network_({options.observation_size, options.hidden, options.action_size}, options.batch,
               true),
      action_(options.action_size, options.batch),
      next_action_(options.action_size, options.batch),
      noise_(options.action_size, options.batch),
      log_probability_(1, options.batch) {
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

}  // namespace ovde
