#include <gtest/gtest.h>

#include <cmath>

#include <ovde/env.h>
#include <ovde/error.h>
#include "env/wrappers.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

OptionValues options(std::vector<double> noise = {0, 0, 0, 0}) {
  OptionValues values(find_task("GridChaos-v0").options);
  values.set("noise", noise);
  return values;
}

TEST(GridChaos, MovesByAngleAndDistance) {
  auto env = find_task("GridChaos-v0").make(options());
  std::vector<double> s(2);
  env->reset(1, s);
  EXPECT_EQ(s, (std::vector<double>{0, 0}));

  // a0 = 0.5 is 90 degrees, a1 = 0 is half the longest step
  env->step(std::vector<double>{0.5, 0.0}, s);
  EXPECT_NEAR(s[0], 0, 1e-12);
  EXPECT_NEAR(s[1], 0.1, 1e-12);
}

TEST(GridChaos, RewardsAndEndsInsideTheGoalOnly) {
  auto values = options();
  values.set("step", 1.0);
  auto env = find_task("GridChaos-v0").make(values);
  std::vector<double> s(2);
  env->reset(1, s);
  int steps = 0;
  Step result;
  do {
    result = env->step(std::vector<double>{0.25, 1.0}, s);  // 45 degrees, full step
    ++steps;
    EXPECT_EQ(result.reward, result.terminated ? 100 : 0);
    EXPECT_EQ(result.terminated, std::hypot(s[0] - 9, s[1] - 9) <= 1);
  } while (!result.terminated && steps < 50);
  EXPECT_EQ(steps, 12);  // ceil(9 sqrt(2) - 1)
  EXPECT_TRUE(result.success);
}

TEST(GridChaos, StaysInsideTheSquare) {
  auto values = options({3, 3, 3, 3});
  auto env = find_task("GridChaos-v0").make(values);
  std::vector<double> s(2);
  env->reset(7, s);
  for (int i = 0; i < 2000; ++i) {
    env->step(std::vector<double>{-1, 1}, s);
    ASSERT_LE(std::abs(s[0]), 10);
    ASSERT_LE(std::abs(s[1]), 10);
  }
}

TEST(GridChaos, NoiseDependsOnTheQuadrantBeforeTheMove) {
  const std::vector<double> noise = {0.1, 0.2, 0.3, 0.4};
  const double starts[4][2] = {{5, 5}, {-5, 5}, {-5, -5}, {5, -5}};
  for (int q = 0; q < 4; ++q) {
    auto values = options(noise);
    values.set("start", std::vector<double>{starts[q][0], starts[q][1]});
    auto env = find_task("GridChaos-v0").make(values);
    double sum = 0, squares = 0;
    const int n = 20000;
    std::vector<double> s(2);
    for (int i = 0; i < n; ++i) {
      env->reset(i, s);
      env->step(std::vector<double>{0, -1}, s);  // the action does not move it
      sum += s[0] - starts[q][0];
      squares += std::pow(s[0] - starts[q][0], 2);
    }
    EXPECT_NEAR(sum / n, 0, 4 * noise[q] / std::sqrt(n));
    EXPECT_NEAR(std::sqrt(squares / n), noise[q], 0.02 * noise[q]);
  }
}

// The columns "Noise setup" of Tables 1 and 2 of the paper.
TEST(GridChaos, PresetsAreTheRowsOfThePaper) {
  const std::vector<std::pair<std::string, std::vector<double>>> paper = {
      {"s", {0.1, 0.5, 0.5, 0.1}},         {"a", {0.0, 0.5, 0.1, 0.1}},
      {"b", {0.0, 0.05, 0.01, 0.01}},      {"c", {0.05, 0.1, 0.1, 0.05}},
      {"d", {0.001, 0.005, 0.005, 0.001}}, {"e", {0.0, 0.0, 0.0, 0.0}},
      {"f", {0.1, 0.05, 0.05, 0.1}},       {"g", {0.05, 0.005, 0.005, 0.05}},
      {"h", {0.01, 0.005, 0.005, 0.01}},   {"i", {0.005, 0.001, 0.001, 0.005}}};
  const Task& task = find_task("GridChaos-v0");
  ASSERT_EQ(task.presets.size(), paper.size());
  for (std::size_t row = 0; row < paper.size(); ++row) {
    const auto& [name, noise] = paper[row];
    const TaskPreset& preset = task.presets[row];
    EXPECT_EQ(preset.name, name);
    EXPECT_EQ(&find_task("GridChaos-v0:" + name), &task);
    ASSERT_EQ(preset.values.size(), 1u) << name;
    EXPECT_EQ(preset.values[0].first, "noise") << name;
    EXPECT_EQ(std::get<std::vector<double>>(preset.values[0].second), noise) << name;
  }
  EXPECT_EQ(OptionValues(task.options).list("noise"), paper[0].second);  // s is the default
}

TEST(GridChaos, RestoredStateContinuesBitIdentically) {
  auto a = std::make_unique<TimeLimit>(find_task("GridChaos-v0").make(options({1, 1, 1, 1})), 100);
  auto b = std::make_unique<TimeLimit>(find_task("GridChaos-v0").make(options({1, 1, 1, 1})), 100);
  std::vector<double> sa(2), sb(2);
  a->reset(3, sa);
  for (int i = 0; i < 95; ++i) a->step(std::vector<double>{0.1, 1}, sa);
  ASSERT_TRUE(b->as<Restorable>()->restore(*a->as<Restorable>()->save()));
  for (int i = 0; i < 5; ++i) {
    const Step ra = a->step(std::vector<double>{0.1, 1}, sa);
    const Step rb = b->step(std::vector<double>{0.1, 1}, sb);
    EXPECT_EQ(sa, sb);
    EXPECT_EQ(ra.truncated, rb.truncated);
    EXPECT_EQ(ra.truncated, i == 4);
  }
}

// Checkpoints hold these bytes.
TEST(GridChaos, StateHasTheFormatOfVersion1) {
  const auto env = find_task("GridChaos-v0").make(options({1, 1, 1, 1}));
  std::vector<double> s(2);
  env->reset(3, s);
  env->step(std::vector<double>{0.1, 1}, s);
  ByteWriter expected;
  expected.put(std::uint64_t{3});
  expected.put(std::uint64_t{4});  // words of the stream: two for each normal number
  expected.put(s[0]);
  expected.put(s[1]);
  EXPECT_EQ(env->as<Restorable>()->save(), expected.bytes());
}

TEST(Registry, SuggestsTheMostSimilarTask) {
  expect_words(message_of([] { find_task("GridChoas-v0"); }), {"did you mean GridChaos-v0?"});
  EXPECT_THROW(find_task("GridChaos-v0:z"), InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
