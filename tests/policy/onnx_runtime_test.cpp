// Exported ONNX models in onnxruntime and in ONNX's own checker. Skipped without node with
// onnxruntime (scripts/onnxruntime), or without Python's onnx.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include <ovde/policy.h>
#include "agent/algorithm.h"
#include "io/files.h"
#include "policy/example_policy.h"
#include "policy/export.h"
#include "run/trained_agent.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kModules = OVDE_SOURCE_DIR "/.cache/onnxruntime/node_modules";

// A model and its policy.
struct Model {
  std::string name;
  std::filesystem::path onnx, policy;
};

class SlowOnnxModels : public testing::Test {
 protected:
  // Every algorithm after a short training, policies of other shapes, and one of default size.
  std::vector<Model> models() const {
    std::vector<Model> all;
    const auto add = [&](const std::string& name, const std::filesystem::path& run) {
      all.push_back({name, run / "policy.onnx", run / "policy.safetensors"});
      export_policy({.run = run, .out = all.back().onnx, .format = ExportFormat::onnx});
    };
    for (const Algorithm& algorithm : algorithms()) {
      const auto run = folder_.path() / algorithm.name;
      const auto agent = trained_agent(algorithm.name);
      std::filesystem::create_directory(run);
      write_config(run, tiny_config(algorithm.name), "test");
      write_policy(run / "policy.safetensors", agent->policy(), {{-2, 0}, {2, 5}},
                   origin_of(tiny_config(algorithm.name)));
      add(algorithm.name, run);
    }
    auto others = examples();
    others.emplace_back("large", MlpShape(17, {256, 256}, 12),
                        Box{std::vector<double>(6, -1), std::vector<double>(6, 1)});
    for (const Example& example : others) {
      const auto run = folder_.path() / example.name;
      example.write_run(run);
      add(example.name, run);
    }
    return all;
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  // Why onnxruntime is not available; empty: it is.
  static std::string why_not_run() {
    if (shell("command -v node >/dev/null") != 0) return "node is not installed";
    if (!std::filesystem::exists(kModules))
      return "onnxruntime is not there: scripts/onnxruntime fetches it";
    return "";
  }
  // Runs run_onnx.mjs, which reads NAME.in and writes NAME.out.
  std::string arguments(const std::filesystem::path& onnx, const std::string& name) const {
    return " '" + onnx.string() + "' '" + file(name + ".in") + "' '" + file(name + ".out") + "'";
  }
  void run_onnx(const std::string& arguments) const {
    ASSERT_EQ(shell("node '" OVDE_SOURCE_DIR "/tests/policy/run_onnx.mjs' '" + kModules + "'" +
                    arguments + " 2>'" + file("said") + "'"),
              0)
        << read_file(file("said"));
    EXPECT_EQ(read_file(file("said")), "");  // such as a warning about constants that nothing uses
  }
  std::vector<float> read_floats(const std::string& name) const {
    const std::string bytes = read_file(file(name));
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  static int shell(const std::string& command) { return std::system(command.c_str()); }

  TemporaryFolder folder_;
};

// Excludes observations where two actions of a grid differ in value only by rounding: then either
// is right.
bool is_decided(Policy& policy, const std::vector<double>& observation) {
  std::vector<double> action(policy.action_size()), other(action);
  policy.act(observation, action);
  for (const double change : {-1e-4, 1e-4}) {
    std::vector<double> near = observation;
    for (double& x : near) x += change;
    policy.act(near, other);
    if (other != action) return false;
  }
  return true;
}

std::vector<float> draw_observations(Policy& policy, bool grid) {
  constexpr int kObservations = 1000;
  Random random(5, Stream::user);
  std::vector<float> all;
  while (std::ssize(all) < kObservations * policy.observation_size()) {
    std::vector<double> observation(policy.observation_size());
    for (double& x : observation) x = static_cast<float>(random.normal());
    if (!grid || is_decided(policy, observation))
      all.insert(all.end(), observation.begin(), observation.end());
  }
  return all;
}

TEST_F(SlowOnnxModels, OnnxruntimeActsAsThePolicy) {
  if (const std::string why = why_not_run(); !why.empty()) GTEST_SKIP() << why;
  const auto all = models();
  std::string files;
  for (const Model& model : all) {
    Policy policy = Policy::load(model.policy.string());
    const bool grid = read_policy(model.policy).bins.has_value();
    const auto input = draw_observations(policy, grid);
    write_file_atomically(file(model.name + ".in"), std::as_bytes(std::span(input)));
    files += arguments(model.onnx, model.name);
  }
  run_onnx(files);

  for (const Model& model : all) {
    SCOPED_TRACE(model.name);
    Policy policy = Policy::load(model.policy.string());
    const StoredPolicy stored = read_policy(model.policy);
    const auto given = read_floats(model.name + ".in"), found = read_floats(model.name + ".out");
    const auto inputs = static_cast<std::size_t>(policy.observation_size());
    std::vector<double> expected(policy.action_size());
    ASSERT_EQ(found.size() / expected.size(), given.size() / inputs);
    ASSERT_EQ(found.size(), 1000 * expected.size());
    double largest = 0;
    for (std::size_t n = 0; n < found.size(); ++n) {
      const std::size_t d = n % expected.size();
      const auto at = given.begin() + static_cast<std::ptrdiff_t>(n / expected.size() * inputs);
      if (d == 0) policy.act(std::vector<double>(at, at + std::ptrdiff_t(inputs)), expected);
      const double size = std::max(std::abs(stored.low[d]), std::abs(stored.high[d]));
      largest = std::max(largest, std::abs(found[n] - expected[d]) / size);
      ASSERT_GE(found[n], stored.low[d]);
      ASSERT_LE(found[n], stored.high[d]);
    }
    EXPECT_LE(largest, 1e-6);
    RecordProperty(model.name + "_difference", fmt::format("{:.1e}", largest));
  }
}

TEST_F(SlowOnnxModels, OnnxruntimeKeepsNaN) {
  if (const std::string why = why_not_run(); !why.empty()) GTEST_SKIP() << why;
  examples().front().write_run(folder_.path() / "run");
  export_policy(
      {.run = folder_.path() / "run", .out = file("model.onnx"), .format = ExportFormat::onnx});
  const std::vector<float> input = {1, NAN, 2};
  write_file_atomically(file("nan.in"), std::as_bytes(std::span(input)));
  run_onnx(arguments(file("model.onnx"), "nan"));
  const auto action = read_floats("nan.out");
  ASSERT_EQ(action.size(), 2u);
  EXPECT_TRUE(std::isnan(action[0]) && std::isnan(action[1])) << action[0] << ' ' << action[1];
}

TEST_F(SlowOnnxModels, OnnxCheckerAcceptsTheModels) {
  std::string python;
  for (const std::string name : {"python3", "/usr/bin/python3"})
    if (shell(name + " -c 'import onnx' 2>/dev/null") == 0) python = name;
  if (python.empty()) GTEST_SKIP() << "Python's onnx is not installed (Debian: python3-onnx)";
  write_file_atomically(file("check.py"), std::string(R"(
import json, sys
import onnx, onnx.shape_inference
for path in sys.argv[1:]:
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)], model.opset_import
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    for value, key in ((model.graph.input, "observations"), (model.graph.output, "actions")):
        assert len(value) == 1
        batch, size = value[0].type.tensor_type.shape.dim
        contract = json.loads({p.key: p.value for p in model.metadata_props}["contract"])
        assert batch.dim_param == "batch" and size.dim_value == contract[key], path
    for test in contract["tests"]:
        assert len(test["observation"]) == contract["observations"]
)"));
  std::string command = python + " '" + file("check.py") + "'";
  for (const Model& model : models()) command += " '" + model.onnx.string() + "'";
  EXPECT_EQ(shell(command), 0);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
