#include "nn/residual_network.h"

namespace ovde {

ResidualNetwork::ResidualNetwork(const ResidualShape& shape, const NetworkUse& use)
    : shape_(shape),
      acting_shape_(shape.acting()),
      use_(use),
      net_(shape.size()),
      online_(shape, Mlp::Use::forward_and_backward),
      target_(shape, Mlp::Use::forward),
      trace_(shape, use.batch),
      target_trace_(shape, use.batch),
      deltas_(shape, use.batch),
      acting_(acting_shape_, Mlp::Use::forward_and_backward, use.first_input, use.inputs),
      acting_target_(acting_shape_, Mlp::Use::forward),
      acting_parameters_(acting_shape_.size()),
      acting_target_parameters_(acting_shape_.size()),
      activations_(acting_shape_, use.batch),
      second_activations_(acting_shape_, use.batch),
      acting_deltas_(acting_shape_, use.batch),
      input_gradient_(use.inputs, use.batch) {
  net_.statistics = Buffer(shape.statistics());
  initialise_statistics(shape, net_.statistics);
}

const Batch& ResidualNetwork::forward(const BatchPair& input, Team& team) {
  online_.forward(net_.parameters, input, 0, trace_, team);
  return output();
}

void ResidualNetwork::backward(const BatchPair&, Team& team) {
  online_.backward(net_.parameters, trace_, output_gradient(), deltas_, team);
}

void ResidualNetwork::step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team) {
  adam_step(adam, step, deltas_.gradient[0], deltas_.gradient[1], 0, net_, team);
  project(shape_, net_.parameters);
  polyak_step(polyak, net_);
  online_.follow(trace_, net_.statistics);
  team.run(kParts, [&](int part) { renew(part); });
}

const Batch& ResidualNetwork::second_pass(const BatchPair& input, Team& team) {
  if (target_trains()) {
    target_.forward(net_.target, input, 1, target_trace_, team);
    return target_trace_.head_output;
  }
  const bool target = use_.second == NetworkUse::Second::target;
  const Mlp& network = target ? acting_target_ : acting_;
  team.run(2, [&](int half) {
    network.forward(target ? acting_target_parameters_ : acting_parameters_, input.second,
                    second_activations_, half_blocks(input.second, half));
  });
  return second_activations_.output();
}

const Batch& ResidualNetwork::evaluate(const Batch& input, Blocks blocks) {
  acting_.forward(acting_parameters_, input, activations_, blocks);
  return activations_.output();
}

const Batch& ResidualNetwork::input_gradient(Blocks blocks) {
  acting_.backward_to_input(activations_, acting_deltas_, acting_shape_.layers() - 1,
                            input_gradient_, blocks);
  return input_gradient_;
}

const Batch& ResidualNetwork::input_gradient_of_mean(const Batch& share, Blocks blocks) {
  const float equal = 1.0f / static_cast<float>(shape_.outputs());
  over_rows(shape_.outputs(), blocks, [&](int b, int o, int v) {
    store(output_gradient().row(b, o) + v, load(share.row(b, 0) + v) * equal);
  });
  return input_gradient(blocks);
}

void ResidualNetwork::restored() {
  for (int part = 0; part < kParts; ++part) renew(part);
}

// The copies of the parameters for one kind of pass.
void ResidualNetwork::renew(int part) {
  switch (Part(part)) {
    case kNetwork:
      online_.pack(net_.parameters);
      break;
    case kActing:
      fold(shape_, net_.parameters, net_.statistics, acting_shape_, acting_parameters_);
      acting_.pack(acting_parameters_);
      break;
    case kTarget:
      if (target_trains()) {
        target_.pack(net_.target);
      } else if (use_.second == NetworkUse::Second::target) {
        fold(shape_, net_.target, net_.statistics, acting_shape_, acting_target_parameters_);
        acting_target_.pack(acting_target_parameters_);
      }
      break;
    case kParts:
      break;
  }
}

// A pass in training takes two batches, its head one of them.
double ResidualNetwork::forward_flop() const {
  const auto& head = shape_.head();
  return 2.0 * use_.batch * (2 * shape_.products() - double(head.inputs) * head.outputs);
}

double ResidualNetwork::second_flop() const {
  return target_trains() ? forward_flop() : evaluation_flop();
}

double ResidualNetwork::input_gradient_flop(bool) const {
  return 2.0 * use_.batch * (shape_.products(1) + double(use_.inputs) * shape_.width());
}

}  // namespace ovde
