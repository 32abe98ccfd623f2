// The tasks of the proving ground match docs/tasks.md.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <ovde/env.h>
#include "env/standard_env.h"

namespace ovde {
namespace OVDE_TEST_FILE {

std::unique_ptr<Env> make(const std::string& name, const std::vector<double>& start = {}) {
  const Task& task = find_task(name);
  OptionValues values(task.options);
  if (!start.empty()) values.set("start", start);
  return task.make(values);
}

// The action that walks from one point towards another.
std::vector<double> towards(const std::vector<double>& from, double x, double y) {
  return {std::atan2(y - from[1], x - from[0]) / std::numbers::pi, 1.0};
}

TEST(NoiseTrap, ActionsHaveNoEffectInTheTrap) {
  const auto env = make("NoiseTrap-v0", {-5, 0}), other = make("NoiseTrap-v0", {-5, 0});
  std::vector<double> s(2), t(2);
  double squares = 0;
  const int episodes = 4000;
  for (int seed = 0; seed < episodes; ++seed) {
    env->reset(seed, s);
    other->reset(seed, t);
    env->step(std::vector{0.0, 1.0}, s);
    other->step(std::vector{1.0, 1.0}, t);
    EXPECT_EQ(s, t);
    squares += std::pow(s[0] + 5, 2) + std::pow(s[1], 2);
  }
  EXPECT_NEAR(std::sqrt(squares / (2 * episodes)), 1, 0.03);
}

TEST(NoiseTrap, TheGoalIsReachableOutsideTheTrap) {
  const auto env = make("NoiseTrap-v0");
  std::vector<double> s(2);
  env->reset(1, s);
  Step step;
  int steps = 0;
  for (; steps < 100 && !step.terminated; ++steps) step = env->step(towards(s, 8, 8), s);
  EXPECT_TRUE(step.success);
  EXPECT_EQ(step.reward, 100);
  EXPECT_NEAR(steps, (8 * std::sqrt(2) - 1) / 0.2, 3);
}

struct Crossing {
  int reached = 0, lost = 0, steps = 0;
};

// Plays 200 episodes that walk from point to point.
Crossing walk(const std::vector<std::vector<double>>& way) {
  const auto env = make("NoisyBridge-v0");
  Crossing out;
  std::vector<double> s(2);
  for (int seed = 0; seed < 200; ++seed) {
    env->reset(seed, s);
    Step step;
    std::size_t next = 0;
    for (int n = 0; n < 100 && !step.terminated; ++n, ++out.steps) {
      if (next + 1 < way.size() && std::hypot(s[0] - way[next][0], s[1] - way[next][1]) < 0.3)
        ++next;
      step = env->step(towards(s, way[next][0], way[next][1]), s);
    }
    out.reached += step.success;
    out.lost += step.terminated && !step.success;
    EXPECT_EQ(step.reward, step.success ? 100 : 0);
  }
  return out;
}

TEST(NoisyBridge, TheDirectRouteMostlyFails) {
  const Crossing straight = walk({{5, 0}}), around = walk({{-2, 5.6}, {2, 5.6}, {5, 0}});
  EXPECT_EQ(around.reached, 200);
  EXPECT_LT(around.steps, 200 * 95);
  EXPECT_GT(straight.lost, 120);
  EXPECT_GT(straight.reached, 5);  // often enough to be found
  EXPECT_EQ(straight.lost + straight.reached, 200);
}

#ifdef OVDE_MUJOCO
TEST(SparseTasks, RewardOnlyCrossingTheLine) {
  for (const char* name : {"SparseHalfCheetah-v4", "SparseHopper-v4"}) {
    const Task& task = find_task(name);
    EXPECT_TRUE(task.has_goal);
    OptionValues near(task.options);
    near.set("line", 0.02);
    const auto env = task.make(near);
    const int actions = env->action_space().size();
    Random random(1, Stream::user);
    std::vector<double> s(env->observation_size()), a(actions);
    int passed = 0, others = 0;
    for (int seed = 0; seed < 20; ++seed) {
      env->reset(seed, s);
      Step step;
      for (int n = 0; n < 100 && !step.terminated; ++n) {
        for (double& x : a) x = random.uniform(-1, 1);
        step = env->step(a, s);
        EXPECT_EQ(step.success, *env->as<Disturbable>()->coordinate("torso_x") >= 0.02);
        EXPECT_EQ(step.reward, step.success ? 100 : 0);
        EXPECT_TRUE(!step.success || step.terminated);
        (step.success ? passed : others) += 1;
      }
    }
    EXPECT_GT(passed, 0) << name;
    EXPECT_GT(others, 0) << name;
  }
}

TEST(PatchyTasks, HaveNoiseByACoordinate) {
  for (const char* name : {"PatchyHalfCheetah-v4", "PatchyHopper-v4", "PatchyAnt-v4"}) {
    const Task& task = find_task(name);
    const auto env = standard_env(name);
    std::vector<double> s(env->observation_size());
    env->reset(1, s);
    bool found = false;
    for (const auto& [key, value] : task.brings) {
      if (key != "noise.coordinate") continue;
      found = env->as<Disturbable>()->coordinate(std::get<std::string>(value)).has_value();
    }
    EXPECT_TRUE(found) << name;
  }
}
#endif

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
