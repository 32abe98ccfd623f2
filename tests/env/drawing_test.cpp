// Solids and poses of the tasks, against positions in closed form.
#ifdef OVDE_MUJOCO

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <ovde/env.h>
#include "env/standard_env.h"

namespace ovde {
namespace OVDE_TEST_FILE {

std::vector<Solid> moving(const Env& env) {
  std::vector<Solid> solids = env.as<Drawable>()->solids();
  std::erase_if(solids, [](const Solid& solid) { return solid.fixed.has_value(); });
  return solids;
}

TEST(Drawing, EveryMujocoTaskHasSolids) {
  int tasks_seen = 0;
  for (const Task& task : tasks()) {
    if (!task.name.ends_with("-v4")) continue;
    const auto env = standard_env(task.name);
    std::vector<double> observation(env->observation_size());
    env->reset(1, observation);
    const std::vector<Pose> poses = env->as<Drawable>()->poses();
    EXPECT_GT(poses.size(), 0U) << task.name;
    EXPECT_EQ(poses.size(), moving(*env).size()) << task.name;
    for (const Pose& pose : poses) {
      double norm = 0;
      for (const double q : pose.orientation) norm += q * q;
      EXPECT_NEAR(norm, 1, 1e-9) << task.name;
    }
    ++tasks_seen;
  }
  EXPECT_GE(tasks_seen, 9);
}

// HalfCheetah's torso is a capsule along x at a height of 0.7.
TEST(Drawing, PosesFollowTheJoints) {
  const auto env = find_task("HalfCheetah-v4").make({});
  std::vector<double> q(9), v(9), observation(env->observation_size());
  q[0] = 1.5;
  q[1] = 0.25;
  q[2] = std::numbers::pi / 2;  // nose down
  env->as<Restorable>()->set_state(q, v, observation);
  const Solid torso = moving(*env).front();
  EXPECT_EQ(torso.kind, Solid::Kind::capsule);
  EXPECT_NEAR(torso.size[1], 0.5, 1e-9);
  const Pose pose = env->as<Drawable>()->poses().front();
  EXPECT_NEAR(pose.position[0], 1.5, 1e-9);
  EXPECT_NEAR(pose.position[1], 0, 1e-9);
  EXPECT_NEAR(pose.position[2], 0.95, 1e-9);
  // the capsule's axis is now vertical
  const auto [w, x, y, z] = pose.orientation;
  EXPECT_NEAR(std::abs(1 - 2 * (x * x + y * y)), 1, 1e-9);
}

TEST(Drawing, DoesNotChangeTheState) {
  for (const char* name : {"Ant-v4", "Reacher-v4", "InvertedDoublePendulum-v4"}) {
    const auto looked_at = find_task(name).make({}), alone = find_task(name).make({});
    std::vector<double> a(looked_at->observation_size()), b(a.size());
    const std::vector<double> action(looked_at->action_space().size(), 0.3);
    looked_at->reset(7, a);
    alone->reset(7, b);
    for (int i = 0; i < 50; ++i) {
      looked_at->as<Drawable>()->poses();
      looked_at->as<Drawable>()->solids();
      const Step with = looked_at->step(action, a), without = alone->step(action, b);
      ASSERT_EQ(a, b) << name;
      ASSERT_EQ(with.reward, without.reward) << name;
      if (with.terminated) break;
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
