// Untrained policies of all kinds that are exported.
#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ovde/env.h>
#include <ovde/random.h>
#include "act/policy_file.h"
#include "run/run_folder.h"

namespace ovde {

struct Example {
  std::string name;
  Box box;
  std::optional<int> bins;
  std::vector<std::pair<MlpShape, Buffer>> networks;

  Example(std::string name, MlpShape shape, Box box, std::optional<int> bins = {})
      : name(std::move(name)), box(std::move(box)), bins(bins) {
    Random random(7, Stream::user);
    for (int k = 0; k < (bins ? 2 : 1); ++k) {
      Buffer parameters(shape.size());
      for (int l = 0; l < shape.layers(); ++l) {
        const auto& layer = shape.layer(l);
        const double scale = 1 / std::sqrt(layer.inputs);
        for (int o = 0; o < layer.outputs; ++o) {
          float* row = parameters.data() + layer.weights + std::size_t(o) * layer.stride;
          for (int i = 0; i < layer.inputs; ++i) row[i] = float(scale * random.normal());
          parameters[layer.bias + o] = float(0.2 * random.normal());
        }
      }
      networks.emplace_back(shape, parameters);
    }
  }

  Config config() const {
    return resolve_config({{"run.task", "GridChaos-v0:s", ""},
                           {"run.algorithm", std::string(bins ? "ids" : "sac"), ""},
                           {"run.seed", 3.0, ""},
                           {"train.epochs", 12.0, ""}});
  }
  // Writes it as the policy of a run. Returns the policy file.
  std::filesystem::path write_run(const std::filesystem::path& folder,
                                  const std::string& file = "policy.safetensors",
                                  const std::map<std::string, std::string>& metadata = {}) const {
    const auto path = folder / file;
    std::filesystem::create_directories(folder);
    write_config(folder, config(), "test");
    PolicyContents contents;
    contents.bins = bins;
    for (std::size_t k = 0; k < networks.size(); ++k) {
      const std::string of = bins ? "critic_" + std::to_string(k + 1) : "actor";
      contents.networks.push_back({of, networks[k].first, networks[k].second});
    }
    write_policy(path, contents, box, origin_of(config()), metadata);
    return path;
  }
};

// One to three hidden layers of odd sizes and residual blocks; Gaussian, deterministic and
// discrete.
inline std::vector<Example> examples() {
  return {
      {"one", {3, {7}, 4}, {{-2, 0}, {2, 5}}},
      {"three", {17, {33, 20, 5}, 12}, {std::vector<double>(6, -0.4), std::vector<double>(6, 0.4)}},
      {"lone_mean", {4, {19, 11}, 3}, {{-1, 0.1, -3}, {1, 0.7, -2}}},
      {"grid", {5, {13, 10}, 4 * 4 * 3}, {{-2, 0}, {2, 5}}, 4},
      {"line", {2, {9}, 7 * 2}, {{-0.3}, {0.9}}, 7},
      {"residual", MlpShape::residual(5, 10, 2, 3, 4), {{-2, 0}, {2, 5}}},
      {"one_block", MlpShape::residual(3, 21, 1, 1, 1), {{-1}, {3}}},
  };
}

}  // namespace ovde
