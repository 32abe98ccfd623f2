#include "nn/batch_network.h"

namespace ovde {

BatchNetwork::BatchNetwork(const MlpShape& shape, int batch, bool by_target)
    : shape_(shape),
      by_target_(by_target),
      net_(shape_.size()),
      online_(shape_, Mlp::Use::forward_and_backward),
      target_(shape_, Mlp::Use::forward),
      activations_(shape_, batch),
      second_activations_(shape_, batch),
      deltas_(shape_, batch) {
  for (Half& half : halves_) {
    half.gradient = Buffer(shape_.size());
    half.scratch = GradientScratch(shape_.widest(), batch);
  }
}

const Batch& BatchNetwork::forward(const Batch& input, int half) {
  online_.forward(net_.parameters, input, activations_, half_blocks(input, half));
  return output();
}

const Batch& BatchNetwork::second_pass(const Batch& input, int half) {
  const Mlp& network = by_target_ ? target_ : online_;
  network.forward(by_target_ ? net_.target : net_.parameters, input, second_activations_,
                  half_blocks(input, half));
  return second_activations_.output();
}

void BatchNetwork::backward(const Batch& input, int half) {
  online_.backward(input, activations_, deltas_, half_blocks(input, half), halves_[half].gradient,
                   halves_[half].scratch);
}

void BatchNetwork::step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team) {
  const std::size_t middle = net_.parameters.size() / 32 * 16;
  team.run(2, [&](int half) {
    adam_step(adam, step, halves_[0].gradient, halves_[1].gradient, polyak, half == 0 ? 0 : middle,
              half == 0 ? middle : net_.parameters.size(), net_);
  });
  team.run(2, [&](int which) {
    if (which == 0) online_.pack(net_.parameters);
    if (which == 1 && by_target_) target_.pack(net_.target);
  });
}

void BatchNetwork::restored() {
  online_.pack(net_.parameters);
  if (by_target_) target_.pack(net_.target);
}

double BatchNetwork::forward_flop() const { return 2.0 * output().samples() * shape_.products(); }

double BatchNetwork::backward_flop() const {
  return 2.0 * output().samples() * (shape_.products() + shape_.products(1));
}

}  // namespace ovde
