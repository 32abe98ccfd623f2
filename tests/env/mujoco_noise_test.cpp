// Injected noise in the MuJoCo tasks: that it has the distribution asked for, in every coordinate,
// and matters.
#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include <ovde/env.h>
#include "env/goodness_of_fit.h"
#include "env/noise.h"

namespace ovde {
namespace {

std::unique_ptr<Env> make(const std::string& name) { return find_task(name).make({}); }

using Quaternion = std::array<double, 4>;

// The rotation vector that leads from one orientation to another, in the body's frame.
std::array<double, 3> rotation(const Quaternion& from, const Quaternion& to) {
  const auto [w, x, y, z] = from;
  const auto [a, b, c, d] = to;
  const double real = w * a + x * b + y * c + z * d;
  const std::array<double, 3> imaginary = {
      w * b - x * a - y * d + z * c, w * c + x * d - y * a - z * b, w * d - x * c + y * b - z * a};
  const double length = std::hypot(imaginary[0], imaginary[1], imaginary[2]);
  const double angle = 2 * std::atan2(length, real);
  return {imaginary[0] / length * angle, imaginary[1] / length * angle,
          imaginary[2] / length * angle};
}

TEST(MujocoNoise, IsNormalInEveryPositionVelocityAndRotation) {
  // Ant's observation holds height, orientation, eight joints and all velocities; the free position
  // has names
  const double scale = 0.02;
  const auto env = make("Ant-v4");
  std::vector<double> before(27), after(27);
  std::vector<double> positions, rotations, velocities;
  Random random(5, Stream::disturbance);
  const int rounds = 8000;  // 14 velocities each: more than 1e5 draws
  for (int i = 0; i < rounds; ++i) {
    env->reset(i, before);
    const double x = *env->coordinate("torso_x"), y = *env->coordinate("torso_y");
    ASSERT_TRUE(env->disturb(scale, random, after));
    positions.push_back((*env->coordinate("torso_x") - x) / scale);
    positions.push_back((*env->coordinate("torso_y") - y) / scale);
    positions.push_back((after[0] - before[0]) / scale);
    for (int k = 5; k < 13; ++k) positions.push_back((after[k] - before[k]) / scale);
    for (int k = 13; k < 27; ++k) velocities.push_back((after[k] - before[k]) / scale);
    for (const double angle : rotation({before[1], before[2], before[3], before[4]},
                                       {after[1], after[2], after[3], after[4]})) {
      rotations.push_back(angle / scale);
    }
  }
  EXPECT_GT(velocities.size(), 100000u);
  EXPECT_GT(kolmogorov_smirnov(positions, normal_cdf), 1e-3);
  EXPECT_GT(kolmogorov_smirnov(rotations, normal_cdf), 1e-3);
  EXPECT_GT(kolmogorov_smirnov(velocities, normal_cdf), 1e-3);
}

TEST(MujocoNoise, KeepsQuaternionsUnit) {
  const auto env = with_noise(make("Ant-v4"), NoiseOptions{.transition = true, .scales = {0.5}});
  std::vector<double> s(27);
  const std::vector<double> action(8, 0.3);
  for (int episode = 0; episode < 20; ++episode) {
    env->reset(episode, s);
    for (int i = 0; i < 20; ++i) {
      env->step(action, s);
      ASSERT_NEAR(std::hypot(std::hypot(s[1], s[2]), std::hypot(s[3], s[4])), 1, 1e-14);
    }
  }
}

TEST(MujocoNoise, ReachesTheDynamics) {
  // one small push, then the same actions: the trajectories must part, and stay those of the
  // disturbed state
  const auto calm = make("HalfCheetah-v4"), pushed = make("HalfCheetah-v4"),
             twin = make("HalfCheetah-v4");
  std::vector<double> a(17), b(17), c(17);
  calm->reset(1, a);
  pushed->reset(1, b);
  Random random(1, Stream::disturbance);
  pushed->disturb(0.01, random, b);
  twin->reset(2, c);
  twin->restore(*pushed->save());
  const std::vector<double> action(6, 0.5);
  for (int i = 0; i < 20; ++i) {
    calm->step(action, a);
    pushed->step(action, b);
    twin->step(action, c);
    EXPECT_EQ(b, c);
  }
  double largest = 0;
  for (int k = 0; k < 17; ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  EXPECT_GT(largest, 1e-3);
}

TEST(MujocoNoise, BringsTheObservationUpToDate) {
  // Reacher observes where its fingertip is, which follows from the disturbed angles
  const auto env = make("Reacher-v4");
  std::vector<double> s(11);
  env->reset(3, s);
  Random random(1, Stream::disturbance);
  env->disturb(0.3, random, s);
  const double shoulder = *env->coordinate("shoulder"), both = shoulder + *env->coordinate("elbow");
  EXPECT_NEAR(s[8], 0.1 * std::cos(shoulder) + 0.11 * std::cos(both) - s[4], 1e-12);
  EXPECT_NEAR(s[9], 0.1 * std::sin(shoulder) + 0.11 * std::sin(both) - s[5], 1e-12);
}

}  // namespace
}  // namespace ovde

#endif
