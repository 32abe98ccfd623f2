#include "act/policy_file.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/discrete/action_grid.h"
#include "base/text.h"
#include "base/version.h"
#include "io/safetensors.h"

namespace ovde {

namespace {

std::map<std::string, std::string> metadata_of(const PolicyOrigin& origin) {
  return {{"task", origin.task},
          {"algorithm", origin.algorithm},
          {"seed", std::to_string(origin.seed)}};
}

std::string weight_name(const std::string& network, int layer) {
  return fmt::format("{}.{}.weight", network, layer);
}
std::string bias_name(const std::string& network, int layer) {
  return fmt::format("{}.{}.bias", network, layer);
}

Tensor vector_tensor(std::vector<float> values) {
  return {{static_cast<std::int64_t>(values.size())}, std::move(values)};
}

// Layer by layer, without the rows' padding.
void put_network(const std::string& name, const MlpShape& shape, std::span<const float> parameters,
                 TensorFile& file) {
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    Tensor weight{{layer.outputs, layer.inputs}, {}};
    for (int o = 0; o < layer.outputs; ++o) {
      const float* row =
          parameters.data() + layer.weights + static_cast<std::size_t>(o) * layer.stride;
      weight.values.insert(weight.values.end(), row, row + layer.inputs);
    }
    const float* bias = parameters.data() + layer.bias;
    file.tensors[weight_name(name, l)] = std::move(weight);
    file.tensors[bias_name(name, l)] = vector_tensor({bias, bias + layer.outputs});
  }
}

void put_log_std(LogStdForm form, TensorFile& file) {
  if (form != LogStdForm::clamped) file.metadata[kLogStd] = name(form);
}

// Folds the scaling of observations into the first layer: W (x - mean) * scale + b.
void fold_scaling(std::span<const float> scaling, const std::string& network, TensorFile& file) {
  Tensor& weight = file.tensors[weight_name(network, 0)];
  std::vector<float>& bias = file.tensors[bias_name(network, 0)].values;
  const std::size_t inputs = scaling.size() / 2;
  for (std::size_t o = 0; o < bias.size(); ++o) {
    double sum = bias[o];
    for (std::size_t i = 0; i < inputs; ++i) {
      float& w = weight.values[o * inputs + i];
      w *= scaling[inputs + i];
      sum -= static_cast<double>(w) * scaling[i];
    }
    bias[o] = static_cast<float>(sum);
  }
}

// Reads the parts of a file; InputError where it is not a policy.
class PolicyReader {
 public:
  explicit PolicyReader(const fs::path& path)
      : PolicyReader(read_safetensors(path), path.string()) {}
  PolicyReader(TensorFile file, std::string name)
      : name_(std::move(name)), file_(std::move(file)) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: not a policy: {}", name_, why));
  }
  const Tensor& find(const std::string& name) const {
    const auto found = file_.tensors.find(name);
    if (found == file_.tensors.end()) refuse(fmt::format("it has no tensor '{}'", name));
    return found->second;
  }

  StoredPolicy::Network network(const std::string& name) const {
    StoredPolicy::Network network{shape_of(name), {}};
    network.parameters = Buffer(network.shape.size());
    for (int l = 0; l < network.shape.layers(); ++l) {
      const auto& layer = network.shape.layer(l);
      const Tensor& weight = find(weight_name(name, l));
      const Tensor& bias = find(bias_name(name, l));
      if (static_cast<int>(bias.values.size()) != layer.outputs)
        refuse(fmt::format("'{}' has a wrong size", bias_name(name, l)));
      for (int o = 0; o < layer.outputs; ++o) {
        std::copy_n(weight.values.begin() + static_cast<std::size_t>(o) * layer.inputs,
                    layer.inputs,
                    network.parameters.begin() + layer.weights +
                        static_cast<std::size_t>(o) * layer.stride);
      }
      std::ranges::copy(bias.values, network.parameters.begin() + layer.bias);
    }
    return network;
  }

  // A value of the metadata; "" where there is none.
  std::string metadata(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    return found == file_.metadata.end() ? "" : found->second;
  }

  void check_numbers() const {
    if (metadata("format") != kPolicyFormat && metadata("format") != kNetworksFormat)
      refuse(fmt::format("its format is '{}', and not {}", metadata("format"), kPolicyFormat));
    for (const auto& [name, tensor] : file_.tensors) {
      if (!std::ranges::all_of(tensor.values, [](float x) { return std::isfinite(x); }))
        refuse(fmt::format("'{}' holds numbers that are not finite", name));
    }
  }

  LogStdForm log_std() const {
    const std::string text = metadata(kLogStd);
    if (text.empty()) return LogStdForm::clamped;
    if (text != ovde::name(LogStdForm::squashed))
      refuse(fmt::format("its form of log standard deviations is '{}'", text));
    return LogStdForm::squashed;
  }

  // Bins per action dimension; nullopt where actions are continuous.
  std::optional<int> bins() const {
    const auto found = file_.metadata.find("bins");
    if (found == file_.metadata.end()) return std::nullopt;
    const auto bins = parse_number<int>(found->second);
    if (bins.value_or(0) < 2) refuse(fmt::format("its number of bins is '{}'", found->second));
    return bins;
  }

 private:
  // The shape that follows from the weights.
  MlpShape shape_of(const std::string& name) const {
    std::vector<int> sizes;
    int layers = 0;
    for (; file_.tensors.contains(weight_name(name, layers)); ++layers) {
      const auto& shape = find(weight_name(name, layers)).shape;
      if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[0] > 1 << 20 ||
          shape[1] > 1 << 20) {
        refuse(fmt::format("'{}' is not a matrix", weight_name(name, layers)));
      }
      if (layers > 0 && shape[1] != sizes.back()) refuse("its layers do not fit together");
      if (layers == 0) sizes.push_back(static_cast<int>(shape[1]));
      sizes.push_back(static_cast<int>(shape[0]));
    }
    if (layers < 2) refuse("it has too few layers");
    const MlpShape shape(sizes.front(), {sizes.begin() + 1, sizes.end() - 1}, sizes.back());
    return metadata("network").empty() ? shape : residual_shape(shape);
  }

  MlpShape residual_shape(const MlpShape& layers) const {
    if (metadata("network") != kResidual)
      refuse(fmt::format("its kind of network is '{}'", metadata("network")));
    const int width = layers.layer(0).outputs, blocks = layers.layers() / 2 - 1;
    const int inside = layers.layer(1).outputs;
    const MlpShape shape = MlpShape::residual(layers.inputs(), width, blocks,
                                              std::max(1, inside / width), layers.outputs());
    bool fits = blocks >= 1 && layers.layers() == shape.layers();
    for (int l = 0; fits && l < layers.layers(); ++l) fits = shape.layer(l) == layers.layer(l);
    if (!fits) refuse("its layers do not make residual blocks");
    return shape;
  }

  std::string name_;
  TensorFile file_;
};

void check_actor(const PolicyReader& reader, const StoredPolicy& policy) {
  // mean and spread of every action, or the mean alone
  const int outputs = policy.networks[0].shape.outputs(), actions = policy.actions();
  if (outputs != 2 * actions && outputs != actions)
    reader.refuse("its action box has a wrong size");
}

void check_critics(const PolicyReader& reader, const StoredPolicy& policy) {
  const MlpShape& shape = policy.networks[0].shape;
  if (policy.networks[1].shape != shape) reader.refuse("its critics have different shapes");
  const int actions = ActionGrid::count(policy.actions(), *policy.bins);
  if (actions > ActionGrid::most() || shape.outputs() % actions != 0) {
    reader.refuse(
        fmt::format("its critics have {} outputs, which is no number of quantiles for {} "
                    "bins of {} action dimensions",
                    shape.outputs(), *policy.bins, policy.actions()));
  }
}

}  // namespace

TensorFile policy_tensors(const PolicyContents& policy, const Box& action_space,
                          const PolicyOrigin& origin) {
  TensorFile file;
  for (const auto& [name, shape, parameters] : policy.networks) {
    put_network(name, shape, parameters, file);
    if (!policy.scaling.empty()) fold_scaling(policy.scaling, name, file);
  }
  file.tensors["action_low"] = vector_tensor({action_space.low.begin(), action_space.low.end()});
  file.tensors["action_high"] = vector_tensor({action_space.high.begin(), action_space.high.end()});
  file.metadata = metadata_of(origin);
  file.metadata["format"] = kPolicyFormat;
  file.metadata["version"] = version();
  if (policy.bins) file.metadata["bins"] = std::to_string(*policy.bins);
  if (policy.networks.front().shape.is_residual()) file.metadata["network"] = kResidual;
  put_log_std(policy.log_std, file);
  return file;
}

void write_policy(const fs::path& path, const PolicyContents& policy, const Box& action_space,
                  const PolicyOrigin& origin,
                  const std::map<std::string, std::string>& more_metadata) {
  TensorFile file = policy_tensors(policy, action_space, origin);
  file.metadata.insert(more_metadata.begin(), more_metadata.end());
  write_safetensors(path, file);
}

TensorFile policy_tensors(const StoredPolicy& policy) {
  TensorFile file;
  for (std::size_t k = 0; k < policy.networks.size(); ++k) {
    const auto& [shape, parameters] = policy.networks[k];
    put_network(policy.network_name(k), shape, parameters, file);
  }
  file.tensors["action_low"] = vector_tensor(policy.low);
  file.tensors["action_high"] = vector_tensor(policy.high);
  file.metadata["format"] = kPolicyFormat;
  if (policy.bins) file.metadata["bins"] = std::to_string(*policy.bins);
  if (policy.is_residual()) file.metadata["network"] = kResidual;
  put_log_std(policy.log_std, file);
  return file;
}

StoredPolicy read_policy(const fs::path& path) {
  return parse_policy(read_safetensors(path), path.string());
}

std::string StoredPolicy::network_name(std::size_t k) const {
  return bins ? fmt::format("critic_{}", k + 1) : "actor";
}

StoredPolicy parse_policy(TensorFile file, const std::string& name) {
  const PolicyReader reader(std::move(file), name);
  reader.check_numbers();
  StoredPolicy policy;
  policy.low = reader.find("action_low").values;
  policy.high = reader.find("action_high").values;
  if (policy.low.empty() || policy.low.size() != policy.high.size())
    reader.refuse("its action box has a wrong size");

  policy.bins = reader.bins();
  if (policy.bins) {
    if (!reader.metadata("network").empty())
      reader.refuse("residual networks have no discrete actions");
    policy.networks = {reader.network("critic_1"), reader.network("critic_2")};
    check_critics(reader, policy);
  } else {
    policy.networks = {reader.network("actor")};
    policy.log_std = reader.log_std();
    check_actor(reader, policy);
  }
  return policy;
}

void check_policy_of(const fs::path& path, const PolicyOrigin& origin) {
  const PolicyReader reader(path);
  for (const auto& [key, expected] : metadata_of(origin)) {
    if (const std::string found = reader.metadata(key); found != expected)
      throw InputError(fmt::format("{}: not the policy of this run: its {} is '{}', the run's {}",
                                   path.string(), key, found, expected));
  }
}

}  // namespace ovde
