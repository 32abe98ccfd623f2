#include "train/policy_file.h"

#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "agent/policy_pass.h"
#include "train/safetensors.h"
#include "train/version.h"

namespace ovde {

namespace {

std::string weight_name(int layer) { return fmt::format("actor.{}.weight", layer); }
std::string bias_name(int layer) { return fmt::format("actor.{}.bias", layer); }

Tensor vector_tensor(std::vector<float> values) {
  return {{static_cast<std::int64_t>(values.size())}, std::move(values)};
}

}  // namespace

void write_policy(const std::filesystem::path& path, const MlpShape& shape,
                  std::span<const float> parameters, const Box& action_space, const Config& config,
                  std::uint64_t seed) {
  TensorFile file;
  for (int l = 0; l < shape.layers(); ++l) {
    // without the padding of the rows
    const auto& layer = shape.layer(l);
    Tensor weight{{layer.outputs, layer.inputs}, {}};
    for (int o = 0; o < layer.outputs; ++o) {
      const float* row =
          parameters.data() + layer.weights + static_cast<std::size_t>(o) * layer.stride;
      weight.values.insert(weight.values.end(), row, row + layer.inputs);
    }
    const float* bias = parameters.data() + layer.bias;
    file.tensors[weight_name(l)] = std::move(weight);
    file.tensors[bias_name(l)] = vector_tensor({bias, bias + layer.outputs});
  }
  file.tensors["action_low"] = vector_tensor({action_space.low.begin(), action_space.low.end()});
  file.tensors["action_high"] = vector_tensor({action_space.high.begin(), action_space.high.end()});
  file.metadata = {{"format", "ovde-policy-1"},
                   {"task", config.task},
                   {"algorithm", config.algorithm},
                   {"seed", std::to_string(seed)},
                   {"version", version()}};
  write_safetensors(path, file);
}

struct Policy::Inside {
  Inside(const MlpShape& shape, std::span<const float> parameters, Tensor low, Tensor high)
      : pass(shape), low(std::move(low)), high(std::move(high)) {
    pass.load(parameters);
  }
  PolicyPass pass;
  Tensor low, high;
};

Policy::Policy(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;

Policy Policy::load(const std::string& file) {
  const TensorFile stored = read_safetensors(file);
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: not a policy: {}", file, why));
  };
  const auto find = [&](const std::string& name) -> const Tensor& {
    const auto found = stored.tensors.find(name);
    if (found == stored.tensors.end()) refuse(fmt::format("it has no tensor '{}'", name));
    return found->second;
  };

  // the shape follows from the weights
  std::vector<int> sizes;
  int layers = 0;
  for (; stored.tensors.contains(weight_name(layers)); ++layers) {
    const auto& shape = find(weight_name(layers)).shape;
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[0] > 1 << 20 ||
        shape[1] > 1 << 20) {
      refuse(fmt::format("'{}' is not a matrix", weight_name(layers)));
    }
    if (layers > 0 && shape[1] != sizes.back()) refuse("its layers do not fit together");
    if (layers == 0) sizes.push_back(static_cast<int>(shape[1]));
    sizes.push_back(static_cast<int>(shape[0]));
  }
  if (layers < 2 || sizes.back() % 2 != 0) refuse("it has too few layers");

  const MlpShape shape(sizes.front(), {sizes.begin() + 1, sizes.end() - 1}, sizes.back());
  Buffer parameters(shape.size());
  for (int l = 0; l < layers; ++l) {
    const auto& layer = shape.layer(l);
    const Tensor& weight = find(weight_name(l));
    const Tensor& bias = find(bias_name(l));
    if (static_cast<int>(bias.values.size()) != layer.outputs)
      refuse(fmt::format("'{}' has a wrong size", bias_name(l)));
    for (int o = 0; o < layer.outputs; ++o) {
      std::copy_n(weight.values.begin() + static_cast<std::size_t>(o) * layer.inputs, layer.inputs,
                  parameters.begin() + layer.weights + static_cast<std::size_t>(o) * layer.stride);
    }
    std::ranges::copy(bias.values, parameters.begin() + layer.bias);
  }
  const Tensor &low = find("action_low"), &high = find("action_high");
  const auto actions = static_cast<std::size_t>(sizes.back() / 2);
  if (low.values.size() != actions || high.values.size() != actions)
    refuse("its action box has a wrong size");
  return Policy(std::make_unique<Inside>(shape, parameters, low, high));
}

int Policy::observation_size() const { return inside_->pass.observation_size(); }
int Policy::action_size() const { return inside_->pass.action_size(); }

void Policy::act_unit(std::span<const double> observation, std::span<double> action) {
  inside_->pass.act(observation, action);
}

void Policy::act(std::span<const double> observation, std::span<double> action) {
  act_unit(observation, action);
  for (std::size_t d = 0; d < action.size(); ++d) {
    const double low = inside_->low.values[d], high = inside_->high.values[d];
    action[d] = low + (action[d] + 1) / 2 * (high - low);
  }
}

}  // namespace ovde
