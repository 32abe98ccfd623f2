// The noise that each preset of GridChaos adds to the position.
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "config/build.h"
#include "config/config.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Standard deviation of each coordinate after a step of length zero from `start`.
double noise_at(const std::string& task, const std::vector<double>& start) {
  const auto env = make_environment(resolve_config({{"run.task", task, ""},
                                                    {"run.algorithm", std::string("sac"), ""},
                                                    {"task.start", start, ""}}));
  constexpr int kSteps = 5000;
  double squares = 0;
  std::vector<double> position(2);
  for (int n = 0; n < kSteps; ++n) {
    env->reset(n, position);
    env->step(std::vector<double>{0, -1}, position);
    for (int i = 0; i < 2; ++i) squares += std::pow(position[i] - start[i], 2);
  }
  return std::sqrt(squares / (2 * kSteps));
}

// Tables 1 and 2 of the paper, quadrants 1 to 4.
TEST(GridChaosPresets, NoiseOfEachQuadrantMatchesThePaper) {
  const std::pair<const char*, std::array<double, 4>> paper[] = {
      {"s", {0.1, 0.5, 0.5, 0.1}},         {"a", {0.0, 0.5, 0.1, 0.1}},
      {"b", {0.0, 0.05, 0.01, 0.01}},      {"c", {0.05, 0.1, 0.1, 0.05}},
      {"d", {0.001, 0.005, 0.005, 0.001}}, {"e", {0.0, 0.0, 0.0, 0.0}},
      {"f", {0.1, 0.05, 0.05, 0.1}},       {"g", {0.05, 0.005, 0.005, 0.05}},
      {"h", {0.01, 0.005, 0.005, 0.01}},   {"i", {0.005, 0.001, 0.001, 0.005}}};
  const std::vector<double> inside[] = {{4, 5}, {-4, 5}, {-4, -5}, {4, -5}};
  for (const auto& [row, noise] : paper) {
    for (int q = 0; q < 4; ++q) {
      // 10,000 numbers: a standard deviation is known to 0.7 %
      EXPECT_NEAR(noise_at(std::string("GridChaos-v0:") + row, inside[q]), noise[q],
                  0.03 * noise[q] + 1e-12)
          << row << ", quadrant " << q + 1;
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
