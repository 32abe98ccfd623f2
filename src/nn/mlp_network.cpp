#include "nn/mlp_network.h"

#include <algorithm>

namespace ovde {

MlpNetwork::MlpNetwork(const MlpShape& shape, const NetworkUse& use)
    : shape_(shape),
      use_(use),
      net_(shape_.size()),
      online_(shape_, Mlp::Use::forward_and_backward, use.first_input, use.inputs),
      target_(shape_, Mlp::Use::forward),
      activations_(shape_, use.batch),
      second_activations_(shape_, use.batch),
      deltas_(shape_, use.batch),
      input_gradient_(use.inputs, use.batch),
      mean_weights_(shape_.layer(shape_.layers() - 1).stride) {
  for (int p = 0; p < use.pieces; ++p) {
    pieces_[p].gradient = Buffer(shape_.size());
    pieces_[p].scratch = GradientScratch(shape_.widest(), use.batch);
  }
}

Blocks MlpNetwork::blocks_of(int piece) const {
  return use_.pieces == 1 ? all_blocks(output()) : half_blocks(output(), piece);
}

const Batch& MlpNetwork::forward(const Batch& input, int piece) {
  return evaluate(input, blocks_of(piece));
}

const Batch& MlpNetwork::forward(const BatchPair& input, Team& team) {
  team.run(use_.pieces, [&](int piece) { forward(input.first, piece); });
  return output();
}

const Batch& MlpNetwork::second_pass(const Batch& input, int piece) {
  const Mlp& network = has_target() ? target_ : online_;
  network.forward(has_target() ? net_.target : net_.parameters, input, second_activations_,
                  blocks_of(piece));
  return second_activations_.output();
}

const Batch& MlpNetwork::second_pass(const BatchPair& input, Team& team) {
  team.run(use_.pieces, [&](int piece) { second_pass(input.second, piece); });
  return second_activations_.output();
}

void MlpNetwork::backward(const Batch& input, int piece) {
  online_.backward(input, activations_, deltas_, blocks_of(piece), pieces_[piece].gradient,
                   pieces_[piece].scratch);
}

void MlpNetwork::backward(const BatchPair& input, Team& team) {
  team.run(use_.pieces, [&](int piece) { backward(input.first, piece); });
}

void MlpNetwork::step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team) {
  adam_step(adam, step, pieces_[0].gradient, pieces_[1].gradient, polyak, net_, team);
  team.run(2, [&](int which) {
    if (which == 0) pack_online();
    if (which == 1 && has_target()) target_.pack(net_.target);
  });
}

const Batch& MlpNetwork::evaluate(const Batch& input, Blocks blocks) {
  online_.forward(net_.parameters, input, activations_, blocks);
  return output();
}

const Batch& MlpNetwork::input_gradient(Blocks blocks) {
  online_.backward_to_input(activations_, deltas_, shape_.layers() - 1, input_gradient_, blocks);
  return input_gradient_;
}

// The gradient of the last hidden layer depends on the sample by its ReLU alone, so the backward
// pass starts there.
const Batch& MlpNetwork::input_gradient_of_mean(const Batch& share, Blocks blocks) {
  const int last_hidden = shape_.layers() - 2;
  const Batch& hidden = activations_.layer[last_hidden];
  Batch& delta = deltas_.layer[last_hidden];
  over_samples(blocks, [&](int b, int v) {
    const Vector part = load(share.row(b, 0) + v);
    const auto counts = part != 0;
    for (int f = 0; f < hidden.features(); ++f) {
      const Vector weight = part * mean_weights_[f];
      store(delta.row(b, f) + v, (counts & (load(hidden.row(b, f) + v) > 0)) ? weight : Vector{});
    }
  });
  online_.backward_to_input(activations_, deltas_, last_hidden, input_gradient_, blocks);
  return input_gradient_;
}

void MlpNetwork::restored() {
  pack_online();
  if (has_target()) target_.pack(net_.target);
}

void MlpNetwork::pack_online() {
  online_.pack(net_.parameters);
  if (use_.inputs == 0) return;
  const auto& last = shape_.layer(shape_.layers() - 1);
  std::ranges::fill(mean_weights_, 0.0f);
  for (int o = 0; o < last.outputs; ++o) {
    const float* row =
        net_.parameters.data() + last.weights + static_cast<std::size_t>(o) * last.stride;
    for (int f = 0; f < last.stride; ++f)
      mean_weights_[f] += row[f] / static_cast<float>(last.outputs);
  }
}

double MlpNetwork::forward_flop() const { return 2.0 * use_.batch * shape_.products(); }

double MlpNetwork::backward_flop() const {
  return 2.0 * use_.batch * (shape_.products() + shape_.products(1));
}

double MlpNetwork::input_gradient_flop(bool of_mean) const {
  const auto &first = shape_.layer(0), &last = shape_.layer(shape_.layers() - 1);
  return 2.0 * use_.batch *
         (shape_.products(1) - (of_mean ? double(last.inputs) * last.outputs : 0) +
          double(use_.inputs) * first.outputs);
}

}  // namespace ovde
