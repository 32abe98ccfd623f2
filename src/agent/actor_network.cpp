#include "agent/actor_network.h"

namespace ovde {

ActorNetwork::ActorNetwork(const LearnerOptions& options, int outputs, bool target_policy)
    : shape_(options.observation_size, options.hidden, outputs),
      adam_(options.adam),
      polyak_(options.polyak),
      target_policy_(target_policy),
      net_(shape_.size()),
      online_(shape_, Mlp::Use::forward_and_backward),
      target_(shape_, Mlp::Use::forward),
      activations_(shape_, options.batch),
      next_activations_(shape_, options.batch),
      deltas_(shape_, options.batch) {
  for (Half& half : halves_) {
    half.gradient = Buffer(shape_.size());
    half.scratch = GradientScratch(shape_.widest(), options.batch);
  }
  initialise(shape_, options.seed, 0, 1e-3f, net_.parameters);
  net_.target = net_.parameters;
  restored();
}

const Batch& ActorNetwork::forward(const Batch& observation, int half) {
  online_.forward(net_.parameters, observation, activations_, half_blocks(observation, half));
  return output();
}

const Batch& ActorNetwork::forward_next(const Batch& next_observation, int half) {
  const Blocks blocks = half_blocks(next_observation, half);
  if (target_policy_) {
    target_.forward(net_.target, next_observation, next_activations_, blocks);
  } else {
    online_.forward(net_.parameters, next_observation, next_activations_, blocks);
  }
  return next_output();
}

void ActorNetwork::backward(const Batch& observation, int half) {
  online_.backward(observation, activations_, deltas_, half_blocks(observation, half),
                   halves_[half].gradient, halves_[half].scratch);
}

void ActorNetwork::step(std::uint64_t step, Team& team) {
  const std::size_t middle = net_.parameters.size() / 32 * 16;
  team.run(2, [&](int half) {
    adam_step(adam_, step, halves_[0].gradient, halves_[1].gradient, polyak_,
              half == 0 ? 0 : middle, half == 0 ? middle : net_.parameters.size(), net_);
  });
  team.run(2, [&](int which) {
    if (which == 0) online_.pack(net_.parameters);
    if (which == 1 && target_policy_) target_.pack(net_.target);
  });
}

void ActorNetwork::restored() {
  online_.pack(net_.parameters);
  target_.pack(net_.target);
}

double ActorNetwork::forward_flop() const { return 2.0 * output().samples() * shape_.products(); }

double ActorNetwork::backward_flop() const {
  return 2.0 * output().samples() * (shape_.products() + shape_.products(1));
}

}  // namespace ovde
