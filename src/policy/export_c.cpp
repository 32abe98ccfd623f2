#include "policy/export_c.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/discrete/grid_critic.h"
#include "base/version.h"
#include "io/files.h"
#include "run/run_folder.h"
#include "run/run_status.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

// The source's functions are written here with NAME for the name that it is given.
std::string named(std::string text, const std::string& name) {
  static const std::string kName = "NAME";
  for (std::size_t at = 0; (at = text.find(kName, at)) != std::string::npos; at += name.size())
    text.replace(at, kName.size(), name);
  return text;
}

constexpr const char* kDeclarations = R"(
#include <math.h>

#ifdef __cplusplus
extern "C"
#endif
void NAME_act(const float* observation, float* action);
)";

// A layer adds to all outputs what one input contributes, then what the next does: the order of
// every sum is given, and a compiler still works on many outputs at once.
constexpr const char* kFunctions = R"(
// y = bias + weights x; the weights lie input by input
static void NAME_layer(const float* weights, const float* bias, int inputs, int outputs,
    const float* x, float* y) {
  int i, o;
  for (o = 0; o < outputs; ++o) y[o] = bias[o];
  for (i = 0; i < inputs; ++i, weights += outputs) {
    for (o = 0; o < outputs; ++o) y[o] += weights[o] * x[i];
  }
}

// a NaN stays one
static void NAME_relu(float* y, int size) {
  int i;
  for (i = 0; i < size; ++i) y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

// from [-1, 1] to the range of action d, which rounding does not leave
static float NAME_scaled(float unit, int d) {
  const float low = NAME_low[d], high = NAME_high[d];
  const float value = (0.5f * low + 0.5f * high) + (0.5f * high - 0.5f * low) * unit;
  return value < low ? low : value > high ? high : value;
}
)";

constexpr const char* kActor = R"(
void NAME_act(const float* observation, float* action) {
  float mean[NAME_actions];
  int d;
  NAME_actor(observation, mean);
  for (d = 0; d < NAME_actions; ++d) action[d] = NAME_scaled(tanhf(mean[d]), d);
}
)";

constexpr const char* kGreedy = R"(
// the best of all combinations of NAME_bins values for each action, the first running fastest
void NAME_act(const float* observation, float* action) {
  float first[NAME_choices], second[NAME_choices];
  int n, d, best = 0;
  NAME_critic_1(observation, first);
  NAME_critic_2(observation, second);
  for (n = 1; n < NAME_choices; ++n) {
    if (first[n] + second[n] > first[best] + second[best]) best = n;
  }
  for (d = 0; d < NAME_actions; ++d, best /= NAME_bins) {
    action[d] = NAME_scaled(2.0f * (float)(best % NAME_bins) / (float)(NAME_bins - 1) - 1.0f, d);
  }
}
)";

std::string size(const std::string& name, int value) {
  return fmt::format("enum {{ {} = {} }};\n", name, value);
}

// Nine significant digits, which read back to the same bits.
std::string array(const std::string& name, std::span<const float> values) {
  constexpr std::size_t kPerLine = 5;
  std::string text = fmt::format("static const float {}[{}] = {{", name, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{:.8e}f,", i % kPerLine == 0 ? "\n  " : " ",
                   values[i]);
  }
  return text + "\n};\n";
}

// Of a layer's outputs the first `outputs`.
std::vector<float> weights_by_input(const MlpShape::Layer& layer, const Buffer& parameters,
                                    int outputs) {
  std::vector<float> weights;
  for (int i = 0; i < layer.inputs; ++i) {
    for (int o = 0; o < outputs; ++o)
      weights.push_back(parameters[layer.weights + static_cast<std::size_t>(o) * layer.stride + i]);
  }
  return weights;
}

// A network's constants and the function NAME_<which>(observation, output); of its last layer's
// outputs the first `outputs`.
std::string network_source(const std::string& name, const std::string& which,
                           const StoredPolicy::Network& network, int outputs) {
  const auto& [shape, parameters] = network;
  const std::string prefix = name + "_" + which;
  std::string arrays, calls;
  int widest = 0;
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const bool hidden = l + 1 < shape.layers();
    const int count = hidden ? layer.outputs : outputs;
    const std::string weights = fmt::format("{}_weights_{}", prefix, l);
    const std::string bias = fmt::format("{}_bias_{}", prefix, l);
    arrays += array(weights, weights_by_input(layer, parameters, count));
    arrays += array(bias, std::span(parameters).subspan(layer.bias, count));

    // hidden layers write into `a` and `b` in turn
    const char* from = l == 0 ? "observation" : l % 2 == 1 ? "a" : "b";
    const char* to = !hidden ? "output" : l % 2 == 0 ? "a" : "b";
    calls += fmt::format("  {}_layer({}, {}, {}, {}, {}, {});\n", name, weights, bias, layer.inputs,
                         count, from, to);
    if (hidden) calls += fmt::format("  {}_relu({}, {});\n", name, to, count);
    if (hidden) widest = std::max(widest, count);
  }
  const std::string second = shape.layers() > 2 ? fmt::format(", b[{}]", widest) : "";
  return fmt::format(
      "\n{}\nstatic void {}(const float* observation, float* output) {{\n  float a[{}]{};\n{}}}\n",
      arrays, prefix, widest, second, calls);
}

// The squashed mean; a Gaussian's spread is left out.
std::string actor_source(const StoredPolicy& policy, const std::string& name) {
  return network_source(name, "actor", policy.networks[0], policy.actions()) + named(kActor, name);
}

// The action whose mean over quantiles and critics is largest. The mean over the quantiles is in
// the weights already.
std::string greedy_source(const StoredPolicy& policy, const std::string& name) {
  const ActionGrid grid(policy.actions(), *policy.bins);
  std::string text =
      "\n" + size(name + "_bins", grid.bins()) + size(name + "_choices", grid.actions());
  for (std::size_t k = 0; k < policy.networks.size(); ++k) {
    const auto& [shape, parameters] = policy.networks[k];
    StoredPolicy::Network mean{mean_shape(shape, shape.outputs() / grid.actions()), {}};
    mean.parameters = Buffer(mean.shape.size());
    mean_network(shape, parameters, mean.shape, mean.parameters);
    text += network_source(name, fmt::format("critic_{}", k + 1), mean, grid.actions());
  }
  return text + named(kGreedy, name);
}

// Of a task that this program has.
std::string summary_of(const std::string& task_id) {
  const auto found = std::ranges::find(tasks(), task_id.substr(0, task_id.find(':')), &Task::name);
  return found == tasks().end() ? "a task of its own" : found->summary;
}

// What a person who finds the file a year later wants to know.
std::string opening(const StoredPolicy& policy, const Config& config, const std::string& name) {
  const MlpShape& shape = policy.networks[0].shape;
  std::vector<int> hidden;
  for (int l = 0; l + 1 < shape.layers(); ++l) hidden.push_back(shape.layer(l).outputs);
  std::string text = fmt::format(
      "// A trained policy, as C99 that is C++ too. It needs <math.h> alone, allocates nothing,\n"
      "// keeps nothing between calls, and may be called by several threads at once.\n"
      "//\n"
      "//   task       {}: {}\n"
      "//   algorithm  {}, seed {}, {} epochs\n"
      "//   networks   {}, with hidden layers of {}\n"
      "//   source     ovde export, version {}\n"
      "//\n"
      "//   void {}_act(const float* observation, float* action);   // extern \"C\" in C++\n"
      "//\n"
      "// observation: {} numbers, as the task gives them. action: {}, in the task's units:\n",
      config.task, summary_of(config.task), config.algorithm, config.seed, config.train.epochs,
      policy.networks.size(), fmt::join(hidden, ", "), version(), name, shape.inputs(),
      policy.actions());
  for (int d = 0; d < policy.actions(); ++d) {
    text += fmt::format("//   {:<3} from {} to {}\n", d, policy.low[d], policy.high[d]);
  }
  return text;
}

}  // namespace

std::string to_c(const StoredPolicy& policy, const Config& config, const std::string& name) {
  return opening(policy, config, name) + named(kDeclarations, name) + "\n" +
         size(name + "_observations", policy.networks[0].shape.inputs()) +
         size(name + "_actions", policy.actions()) + "\n" + array(name + "_low", policy.low) +
         array(name + "_high", policy.high) + named(kFunctions, name) +
         (policy.bins ? greedy_source(policy, name) : actor_source(policy, name));
}

void check_c_name(const std::string& name, const std::string& asked_by) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inside = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (!name.empty() && letter(name.front()) && std::ranges::all_of(name, inside)) return;
  throw InputError(
      fmt::format("{} {}: must be letters, digits and underscores, a letter first, such as gait",
                  asked_by, name));
}

ExportedPolicy export_c(const ExportRequest& request) {
  check_c_name(request.name, "name");
  const auto [run, file] = policy_of_run(request.run);
  if (std::error_code ignored; fs::exists(request.out, ignored)) {
    throw OutputPathError(
        fmt::format("{} exists already; remove it, or choose another", request.out.string()));
  }
  if (request.out.empty()) throw OutputPathError("the source file needs a name");
  const fs::path beside = request.out.parent_path();
  check_writable_folder(beside.empty() ? fs::path(".") : beside);
  const Config config = read_config(run);
  const StoredPolicy policy = read_policy(file);
  write_file_atomically(request.out, to_c(policy, config, request.name));
  return {config.task, config.algorithm, policy.networks[0].shape.inputs(), policy.actions()};
}

}  // namespace ovde
