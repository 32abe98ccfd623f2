// Names and units of observations and actions.
#include <gtest/gtest.h>

#include <set>

#include <ovde/env.h>
#include "env/standard_env.h"
#include "env/wrappers.h"

namespace ovde {
namespace OVDE_TEST_FILE {

std::string at(const std::vector<Signal>& signals, std::size_t i) {
  return signals[i].name + ", " + signals[i].unit;
}

TEST(Signals, EveryElementHasAName) {
  for (const Task& task : tasks()) {
    SCOPED_TRACE(task.name);
    const auto env = standard_env(task.name);
    const Signals signals = env->signals();
    EXPECT_EQ(std::ssize(signals.observation), env->observation_size());
    EXPECT_EQ(std::ssize(signals.action), env->action_space().size());
    for (const auto& all : {signals.observation, signals.action}) {
      std::set<std::string> names;
      for (const Signal& signal : all) {
        EXPECT_NE(signal.name, "");
        EXPECT_TRUE(names.insert(signal.name).second) << signal.name << " twice";
      }
    }
  }
}

#ifdef OVDE_MUJOCO
TEST(Signals, MatchTheModel) {
  const Signals cheetah = standard_env("HalfCheetah-v4")->signals();
  EXPECT_EQ(at(cheetah.observation, 0), "torso_z, m");
  EXPECT_EQ(at(cheetah.observation, 1), "torso_pitch, rad");
  EXPECT_EQ(at(cheetah.observation, 8), "torso_x_velocity, m/s");
  EXPECT_EQ(at(cheetah.observation, 16), "front_foot_velocity, rad/s");
  EXPECT_EQ(at(cheetah.action, 0), "back_thigh, 120 N m");
  EXPECT_DOUBLE_EQ(cheetah.rate, 20);

  const Signals ant = standard_env("Ant-v4")->signals();
  EXPECT_EQ(at(ant.observation, 0), "torso_z, m");
  EXPECT_EQ(at(ant.observation, 1), "torso_qw, ");
  EXPECT_EQ(at(ant.observation, 13), "torso_x_velocity, m/s");
  EXPECT_EQ(at(ant.observation, 16), "torso_x_angular_velocity, rad/s");
  EXPECT_EQ(at(ant.action, 0), "hip_4, 150 N m");

  EXPECT_EQ(at(standard_env("InvertedPendulum-v4")->signals().action, 0), "cart, 100 N");
  EXPECT_EQ(at(standard_env("Pusher-v4")->signals().action, 6), "wrist_roll, N m");
  EXPECT_EQ(at(standard_env("Pusher-v4")->signals().observation, 22), "goal_z, m");
}
#endif

TEST(Signals, PassThroughWrappers) {
  const ScaledActions env(std::make_unique<TimeLimit>(standard_env("GridChaos-v0"), 100));
  EXPECT_EQ(env.signals().observation[1].name, "y");
  EXPECT_EQ(at(env.signals().action, 0), "direction, 3.14159 rad");
  EXPECT_EQ(env.signals().rate, 0);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
