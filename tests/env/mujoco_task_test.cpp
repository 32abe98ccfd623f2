#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <array>
#include <barrier>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <ovde/env.h>
#include <ovde/error.h>

#include "env/engine_loop.h"
#include "env/mujoco/guard.h"
#include "env/noise.h"
#include "env/standard_env.h"
#include "env/wrappers.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const char* const names[] = {"Ant-v4",
                             "HalfCheetah-v4",
                             "Hopper-v4",
                             "Pusher-v4",
                             "InvertedDoublePendulum-v4",
                             "InvertedPendulum-v4",
                             "Reacher-v4",
                             "Swimmer-v4",
                             "Walker2d-v4",
                             "Humanoid-v4"};

std::unique_ptr<Env> make_noisy(const std::string& name) {
  return with_noise(standard_env(name), NoiseOptions{.transition = true});
}

struct Trace {
  std::vector<double> numbers;  // observations, rewards and ends in order
  bool operator==(const Trace&) const = default;
};

// Plays random actions, some outside the action space, over several episodes.
Trace run(Env& env, int steps, std::uint64_t seed, bool start = true) {
  Random random(seed, Stream::user);
  const Box& box = env.action_space();
  std::vector<double> action(box.size()), observation(env.observation_size());
  Trace trace;
  if (start) env.reset(seed, observation);
  for (int i = 0; i < steps; ++i) {
    for (int k = 0; k < box.size(); ++k) action[k] = 1.2 * random.uniform(box.low[k], box.high[k]);
    const Step step = env.step(action, observation);
    trace.numbers.insert(trace.numbers.end(), observation.begin(), observation.end());
    trace.numbers.push_back(step.reward);
    trace.numbers.push_back(step.terminated);
    if (step.terminated) env.reset(seed + i, observation);
  }
  return trace;
}

class MujocoTasks : public testing::TestWithParam<const char*> {};

TEST_P(MujocoTasks, AreRegisteredPlainAndNoisy) {
  const Task& plain = find_task(GetParam());
  const Task& noisy = find_task(std::string("Noisy") + GetParam());
  EXPECT_EQ(plain.steps_per_epoch, 1000);
  EXPECT_TRUE(plain.brings.empty());
  EXPECT_EQ(noisy.horizon, 100);
  EXPECT_EQ(noisy.steps_per_epoch, 100);
  const std::vector<std::pair<std::string, OptionValue>> noise = {
      {"noise.transition", true},
      {"noise.scales", std::vector<double>{0, 0.01, 0.02}},
      {"noise.part", "velocities"}};
  EXPECT_EQ(noisy.brings, noise);
}

TEST_P(MujocoTasks, HaveAnEngineLoop) {
  const auto engine = make_engine_loop(GetParam());
  ASSERT_NE(engine, nullptr);
  const std::uint64_t seeds[] = {1, 2};
  engine->prepare(seeds);
  engine->next_episode();
  engine->step(std::vector<double>(standard_env(GetParam())->action_space().size(), 0.1));
  engine->next_episode();
  EXPECT_EQ(make_engine_loop("GridChaos-v0"), nullptr);
}

TEST_P(MujocoTasks, RestoredStateContinuesBitIdentically) {
  for (auto* maker : {standard_env, make_noisy}) {
    for (const int steps : {0, 1, 37}) {
      const auto a = maker(GetParam());
      const auto b = maker(GetParam());
      run(*a, steps, 3);
      run(*b, 5, 4);  // another episode before
      ASSERT_TRUE(b->as<Restorable>()->restore(*a->as<Restorable>()->save()));
      EXPECT_EQ(run(*a, 60, 5, false), run(*b, 60, 5, false)) << steps;
    }
  }
}

TEST_P(MujocoTasks, EpisodesDependOnTheSeedAlone) {
  const auto used = standard_env(GetParam());
  run(*used, 100, 1);
  const auto fresh = standard_env(GetParam());
  EXPECT_EQ(run(*used, 50, 2), run(*fresh, 50, 2));
  EXPECT_NE(run(*used, 50, 2), run(*fresh, 50, 3));
}

TEST_P(MujocoTasks, StepIdenticallyOnManyThreads) {
  std::array<Trace, 4> alone, together;
  for (int i = 0; i < 4; ++i) alone[i] = run(*standard_env(GetParam()), 50, i);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] { together[i] = run(*standard_env(GetParam()), 50, i); });
    }
  }
  EXPECT_EQ(alone, together);
}

TEST_P(MujocoTasks, ClipActions) {
  const auto a = standard_env(GetParam()), b = standard_env(GetParam());
  std::vector<double> oa(a->observation_size()), ob(oa);
  a->reset(1, oa);
  b->reset(1, ob);
  const Step ra = a->step(a->action_space().high, oa);
  const Step rb = b->step(std::vector<double>(b->action_space().size(), 100), ob);
  EXPECT_EQ(ra.reward, rb.reward);
  EXPECT_EQ(oa, ob);
}

TEST_P(MujocoTasks, EngineWarningsAreErrorsWithContext) {
  const auto env = standard_env(GetParam());
  const auto expected = run(*env, 20, 7);
  std::vector<double> observation(env->observation_size());
  std::vector<double> action(env->action_space().size(), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int round = 0; round < 2; ++round) {  // MuJoCo itself reports each warning only once
    env->reset(77, observation);
    action[0] = 0;
    env->step(action, observation);
    action[0] = nan;
    const std::string message = message_of<Error>([&] { env->step(action, observation); });
    EXPECT_NE(message.find(GetParam()), std::string::npos) << message;
    EXPECT_NE(message.find("step 2 of the episode with seed 77"), std::string::npos) << message;
    EXPECT_NE(message.find("CTRL"), std::string::npos) << message;
  }

  // the environment works again after a reset
  EXPECT_EQ(run(*env, 20, 7), expected);
}

TEST_P(MujocoTasks, AreDocumented) {
  std::ifstream file(OVDE_SOURCE_DIR "/docs/tasks.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto row = text.find(
      fmt::format("| `{}` | {}: ", GetParam(), standard_env(GetParam())->observation_size()));
  ASSERT_NE(row, std::string::npos);
  const std::string line = text.substr(row, text.find('\n', row) - row);
  EXPECT_TRUE(line.ends_with(fmt::format("| {} |", find_task(GetParam()).horizon))) << line;
}

INSTANTIATE_TEST_SUITE_P(All, MujocoTasks, testing::ValuesIn(names), [](const auto& task) {
  const std::string name = task.param;
  return name.substr(0, name.find('-'));
});

TEST(Mujoco, DivergenceIsAnError) {
  const auto env = standard_env("HalfCheetah-v4");
  std::vector<double> observation(env->observation_size());
  const std::vector<double> action(6, 0.0), q(9, 0.0), v(9, 1e9);
  env->as<Restorable>()->set_state(q, v, observation);
  std::string message;
  for (int i = 0; i < 100 && message.empty(); ++i)
    message = message_of<Error>([&] { env->step(action, observation); });
  EXPECT_NE(message.find("unstable"), std::string::npos) << message;
}

TEST(Mujoco, EngineErrorsAreThrown) {
  const std::array<const char*, 4> texts = {"a", "b", "c", "d"};
  std::array<int, 4> right{};
  std::barrier start(4);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        for (int n = 0; n < 20000; ++n) {
          right[i] += message_of<Error>([&] { guarded([&] { mju_error(texts[i]); }); }) == texts[i];
        }
      });
    }
  }
  EXPECT_EQ(right, (std::array{20000, 20000, 20000, 20000}));
}

TEST(Mujoco, CoordinatesHaveTheNamesOfJoints) {
  const auto ant = standard_env("Ant-v4");
  std::vector<double> observation(27);
  ant->reset(1, observation);
  EXPECT_EQ(ant->as<Disturbable>()->coordinate("torso_z"), observation[0]);
  EXPECT_EQ(ant->as<Disturbable>()->coordinate("hip_1"), observation[5]);
  EXPECT_EQ(ant->as<Disturbable>()->coordinate("hip_1_velocity"), observation[19]);
  EXPECT_EQ(ant->as<Disturbable>()->coordinate("no_such"), std::nullopt);
}

TEST(Mujoco, StartStatesHaveTheirDistribution) {
  const auto reacher = standard_env("Reacher-v4"), pusher = standard_env("Pusher-v4");
  std::vector<double> r(11), p(23);
  double farthest = 0, nearest = 1;
  for (int seed = 0; seed < 2000; ++seed) {
    reacher->reset(seed, r);
    const double radius = std::hypot(r[4], r[5]);
    ASSERT_LT(radius, 0.2);
    farthest = std::max(farthest, radius);
    EXPECT_EQ(reacher->as<Disturbable>()->coordinate("target_x_velocity"), 0);

    pusher->reset(seed, p);
    const double y = *pusher->as<Disturbable>()->coordinate("puck_y"),
                 x = *pusher->as<Disturbable>()->coordinate("puck_x");
    ASSERT_GT(std::hypot(x, y), 0.17);
    ASSERT_TRUE(-0.3 <= y && y <= 0 && std::abs(x) <= 0.2);
    nearest = std::min(nearest, std::hypot(x, y));
    for (int i = 0; i < 7; ++i) ASSERT_EQ(p[i], 0);
  }
  EXPECT_GT(farthest, 0.19);
  EXPECT_LT(nearest, 0.175);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
