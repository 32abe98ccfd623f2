#include "policy/export_c.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/discrete/action_grid.h"
#include "base/text.h"

namespace ovde {

namespace {

// Replaces NAME, which stands for the prefix in the templates below.
std::string named(std::string text, const std::string& name) {
  static const std::string kName = "NAME";
  for (std::size_t at = 0; (at = text.find(kName, at)) != std::string::npos; at += name.size())
    text.replace(at, kName.size(), name);
  return text;
}

constexpr const char* kDeclarations = R"(
#ifdef __cplusplus
extern "C" {
#endif
void NAME_act(const float* observation, float* action);
#ifdef OVDE_SELF_TEST
int NAME_self_test(void);  // number of failed tests of the contract
#endif
#ifdef __cplusplus
}
#endif
)";

// A layer adds the contribution of one input to all outputs, then the next: the order of every sum
// is fixed, and a compiler can still vectorise over the outputs.
constexpr const char* kFunctions = R"(
// y = bias + weights x; the weights are stored input by input
static void NAME_layer(const float* weights, const float* bias, int inputs, int outputs,
    const float* x, float* y) {
  int i, o;
  for (o = 0; o < outputs; ++o) y[o] = bias[o];
  for (i = 0; i < inputs; ++i, weights += outputs) {
    for (o = 0; o < outputs; ++o) y[o] += weights[o] * x[i];
  }
}

// keeps a NaN
static void NAME_relu(float* y, int size) {
  int i;
  for (i = 0; i < size; ++i) y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

// from [-1, 1] to the range of action d; rounding cannot leave the range
static float NAME_scaled(float unit, int d) {
  const float low = NAME_low[d], high = NAME_high[d];
  const float value = (0.5f * low + 0.5f * high) + (0.5f * high - 0.5f * low) * unit;
  return value < low ? low : value > high ? high : value;
}
)";

constexpr const char* kResidualFunctions = R"(
// x += y
static void NAME_add(const float* y, float* x, int size) {
  int i;
  for (i = 0; i < size; ++i) x[i] += y[i];
}

// x / sqrt(mean(x^2) + 1e-6)
static void NAME_rms_norm(float* x, int size) {
  float squares = 0.0f, scale;
  int i;
  for (i = 0; i < size; ++i) squares += x[i] * x[i];
  scale = 1.0f / sqrtf(squares / (float)size + 1e-6f);
  for (i = 0; i < size; ++i) x[i] *= scale;
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
// the best of all combinations of NAME_bins values per action; the first action varies fastest
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

// The tests of the contract, a program unless OVDE_NO_MAIN is defined.
constexpr const char* kSelfTest = R"(
int NAME_self_test(void) {
  float action[NAME_actions];
  int n, d, wrong, failed = 0;
  for (n = 0; n < NAME_tests; ++n) {
    const float* expected = NAME_test_actions + n * NAME_actions;
    NAME_act(NAME_test_observations + n * NAME_observations, action);
    for (d = wrong = 0; d < NAME_actions; ++d) {
      const float low = fabsf(NAME_low[d]), high = fabsf(NAME_high[d]);
      const float allowed = NAME_tolerance[0] * (low > high ? low : high);
      if (!(fabsf(action[d] - expected[d]) <= allowed)) wrong = 1;  // also for NaN
    }
    failed += wrong;
  }
  return failed;
}

#ifndef OVDE_NO_MAIN
#include <stdio.h>
int main(void) {
  const int failed = NAME_self_test();
  printf("NAME: %d of %d tests passed\n", NAME_tests - failed, NAME_tests);
  return failed > 0;
}
#endif
#endif
)";

std::string size(const std::string& name, int value) {
  return fmt::format("enum {{ {} = {} }};\n", name, value);
}

// Nine significant digits read back to the same bits.
std::string array(const std::string& name, std::span<const float> values) {
  constexpr std::size_t kPerLine = 5;
  std::string text = fmt::format("static const float {}[{}] = {{", name, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{:.8e}f,", i % kPerLine == 0 ? "\n  " : " ",
                   values[i]);
  }
  return text + "\n};\n";
}

std::vector<float> weights_by_input(const MlpShape::Layer& layer, const Buffer& parameters) {
  std::vector<float> weights;
  for (int i = 0; i < layer.inputs; ++i) {
    for (int o = 0; o < layer.outputs; ++o)
      weights.push_back(parameters[layer.weights + static_cast<std::size_t>(o) * layer.stride + i]);
  }
  return weights;
}

// A network's constants and the function NAME_<which>(observation, output).
std::string network_source(const std::string& name, const std::string& which,
                           const StoredPolicy::Network& network) {
  const auto& [shape, parameters] = network;
  const std::string prefix = name + "_" + which;
  std::string arrays, calls;
  int widest = 0;
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const bool hidden = l + 1 < shape.layers();
    const int count = layer.outputs;
    const std::string weights = fmt::format("{}_weights_{}", prefix, l);
    const std::string bias = fmt::format("{}_bias_{}", prefix, l);
    arrays += array(weights, weights_by_input(layer, parameters));
    arrays += array(bias, std::span(parameters).subspan(layer.bias, count));

    // hidden layers write into `a` and `b` in turn; `a` has the sum of residual blocks
    const bool ends_block = shape.ends_block(l);
    const char* from = l == 0 ? "observation" : l % 2 == 1 ? "a" : "b";
    const char* to = !hidden ? "output" : ends_block ? "c" : l % 2 == 0 ? "a" : "b";
    calls += fmt::format("  {}_layer({}, {}, {}, {}, {}, {});\n", name, weights, bias, layer.inputs,
                         count, from, to);
    if (shape.has_relu(l)) calls += fmt::format("  {}_relu({}, {});\n", name, to, count);
    if (ends_block) calls += fmt::format("  {}_add(c, a, {});\n", name, count);
    if (shape.precedes_rms_norm(l)) calls += fmt::format("  {}_rms_norm(a, {});\n", name, count);
    if (hidden) widest = std::max(widest, count);
  }
  std::string second = shape.layers() > 2 ? fmt::format(", b[{}]", widest) : "";
  if (shape.is_residual()) second += fmt::format(", c[{}]", shape.layer(0).outputs);
  return fmt::format(
      "\n{}\nstatic void {}(const float* observation, float* output) {{\n  float a[{}]{};\n{}}}\n",
      arrays, prefix, widest, second, calls);
}

// The best action of the grid, or the actor's squashed mean.
std::string acting_source(const StoredPolicy& part, const std::string& name) {
  std::string text;
  if (part.bins) {
    const ActionGrid grid(part.actions(), *part.bins);
    text += "\n" + size(name + "_bins", grid.bins()) + size(name + "_choices", grid.actions());
  }
  for (std::size_t k = 0; k < part.networks.size(); ++k)
    text += network_source(name, part.network_name(k), part.networks[k]);
  return text + named(part.bins ? kGreedy : kActor, name);
}

std::string self_test_source(const Contract& contract, const std::string& name) {
  std::vector<float> observations, actions;
  for (const auto& [observation, action] : contract.tests) {
    observations.insert(observations.end(), observation.begin(), observation.end());
    actions.insert(actions.end(), action.begin(), action.end());
  }
  return "\n#ifdef OVDE_SELF_TEST\n" +
         size(name + "_tests", static_cast<int>(contract.tests.size())) +
         array(name + "_test_observations", observations) + array(name + "_test_actions", actions) +
         array(name + "_tolerance", std::span(&contract.tolerance, 1)) + named(kSelfTest, name);
}

// A name for a line of a comment, which it must not end.
std::string signal_text(const Signal& signal) {
  std::string text = signal.name + (signal.unit.empty() ? "" : " (" + signal.unit + ")");
  const auto ends_line = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\\'; };
  std::ranges::replace_if(text, ends_line, ' ');
  return text;
}

// The comment at the start of source and header: the trained policy, and the meaning of its
// numbers.
std::string opening(const StoredPolicy& part, const Contract& contract, const std::string& name) {
  const MlpShape& shape = part.networks[0].shape;
  std::vector<int> hidden;
  for (int l = 0; l + 1 < shape.layers(); ++l) hidden.push_back(shape.layer(l).outputs);
  std::string text = fmt::format(
      "// A trained policy in C99, which is also C++. It needs only <math.h>, allocates nothing, "
      "keeps\n"
      "// no state between calls, and several threads may call it at once.\n"
      "//\n"
      "//   task       {}\n"
      "//   algorithm  {}, seed {}, {}\n"
      "//   networks   {}, {}with hidden layers of {}\n"
      "//   source     ovde export, version {}\n"
      "//\n"
      "//   void {}_act(const float* observation, float* action);   // extern \"C\" in C++\n"
      "//\n",
      contract.task, contract.algorithm, contract.seed, plural(contract.epochs, "epoch"),
      part.networks.size(), part.is_residual() ? "residual, " : "", fmt::join(hidden, ", "),
      contract.version, name);
  if (contract.rate) text += fmt::format("// Call it {:g} times per second.\n", *contract.rate);
  text += fmt::format("// observation: {} numbers, as the task gives them",
                      contract.observation.size());
  const bool named = !contract.observation.front().name.empty();
  text += named ? ":\n" : ".\n";
  for (std::size_t i = 0; named && i < contract.observation.size(); ++i)
    text += fmt::format("//   {:<3} {}\n", i, signal_text(contract.observation[i]));
  text += fmt::format("// action: {}, in the task's units:\n", contract.action.size());
  for (std::size_t d = 0; d < contract.action.size(); ++d) {
    const std::string what = signal_text(contract.action[d]);
    text += fmt::format("//   {:<3} from {} to {}{}\n", d, contract.low[d], contract.high[d],
                        what.empty() ? "" : "   " + what);
  }
  return text;
}

// Guarded, so that a file may include both the header and the source.
std::string declarations(const Contract& contract, const std::string& name) {
  return fmt::format("\n#ifndef {0}_declared\n#define {0}_declared\n", name) +
         size(name + "_observations", static_cast<int>(contract.observation.size())) +
         size(name + "_actions", static_cast<int>(contract.action.size())) +
         named(kDeclarations, name) + "#endif\n";
}

std::string commented(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    out += "// " + text.substr(begin, end - begin + 1);
  }
  return out;
}

// ---- reading

// All float arrays by name.
std::map<std::string, std::vector<float>> parse_arrays(std::string_view source) {
  constexpr std::string_view kBegin = "\nstatic const float ";
  std::map<std::string, std::vector<float>> all;
  for (std::size_t at = 0; (at = source.find(kBegin, at)) != std::string_view::npos;) {
    at += kBegin.size();
    const auto open = std::min(source.find('{', at), source.size());
    const auto close = std::min(source.find('}', open), source.size());
    std::vector<float>& values = all[std::string(source.substr(at, source.find('[', at) - at))];
    for (const char *p = source.data() + open, *end = source.data() + close; p < end;) {
      float value = 0;
      const auto [after, error] = std::from_chars(p, end, value);
      if (error == std::errc() && *after == 'f') values.push_back(value);
      p = std::max(after, p + 1);
    }
    at = close;
  }
  return all;
}

// The lines of the contract's comment, from "// {" to "// }".
std::string parse_comment(std::string_view source) {
  std::string text;
  auto at = source.find("\n// {\n");
  while (at != std::string_view::npos && source.substr(at + 1, 3) == "// ") {
    const auto end = source.find('\n', at + 1);
    const std::string_view line = source.substr(at + 4, end - at - 4);
    text.append(line).append("\n");
    if (line == "}") return text;
    at = end;
  }
  return "";
}

// From input-major to output-major order.
Tensor transposed(std::span<const float> weights, std::size_t outputs) {
  const std::size_t inputs = weights.size() / outputs;
  Tensor tensor{{static_cast<std::int64_t>(outputs), static_cast<std::int64_t>(inputs)}, {}};
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < inputs; ++i) tensor.values.push_back(weights[i * outputs + o]);
  return tensor;
}

}  // namespace

std::string to_c(const StoredPolicy& part, const Contract& contract, const std::string& name) {
  return opening(part, contract, name) + "//\n// Its contract, which ovde verify checks:\n" +
         commented(to_json(contract)) + declarations(contract, name) + "\n#include <math.h>\n\n" +
         array(name + "_low", part.low) + array(name + "_high", part.high) +
         named(kFunctions, name) + named(part.is_residual() ? kResidualFunctions : "", name) +
         acting_source(part, name) + self_test_source(contract, name);
}

std::string to_c_header(const StoredPolicy& part, const Contract& contract,
                        const std::string& name) {
  return opening(part, contract, name) + declarations(contract, name);
}

TensorFile parse_c(std::string_view source, const std::string& file) {
  TensorFile read;
  read.metadata[kContract] = parse_comment(source);
  constexpr std::string_view kAct = "_act(const float* observation, float* action) {";
  const std::size_t end = source.find(kAct), begin = source.rfind(' ', end) + 1;
  if (end == std::string_view::npos)
    throw InputError(fmt::format("{}: not a policy: it has no function NAME_act", file));
  read.metadata["name"] = source.substr(begin, end - begin);
  auto arrays = parse_arrays(source);
  const auto vector = [](std::vector<float>& values) -> Tensor {
    return {{static_cast<std::int64_t>(values.size())}, std::move(values)};
  };
  for (auto& [name, values] : arrays) {
    const auto ends_with = [&, &name = name](std::string_view end) { return name.ends_with(end); };
    if (ends_with("_low")) read.tensors["action_low"] = vector(values);
    if (ends_with("_high")) read.tensors["action_high"] = vector(values);
  }
  for (const std::string network : {"actor", "critic_1", "critic_2"}) {
    for (auto& [name, values] : arrays) {
      // <prefix>_<network>_bias_<layer>, and its weights
      const std::string middle = "_" + network + "_bias_";
      const auto found = name.rfind(middle);
      if (found == std::string::npos || values.empty()) continue;
      const std::string layer = name.substr(found + middle.size());
      const auto weights = arrays.find(name.substr(0, found) + "_" + network + "_weights_" + layer);
      if (weights == arrays.end() || weights->second.size() % values.size() != 0)
        throw InputError(fmt::format("{}: not a policy: '{}' has no weights", file, name));
      read.tensors[fmt::format("{}.{}.weight", network, layer)] =
          transposed(weights->second, values.size());
      read.tensors[fmt::format("{}.{}.bias", network, layer)] = vector(values);
    }
  }
  return read;
}

void check_c_name(const std::string& name, const std::string& asked_by) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inside = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (!name.empty() && letter(name.front()) && std::ranges::all_of(name, inside)) return;
  throw InputError(
      fmt::format("{} {}: must be letters, digits and underscores, a letter first, such as gait",
                  asked_by, name));
}

}  // namespace ovde
