// Injected noise in the MuJoCo tasks: its distribution in every coordinate, and its effect.
#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include "env/goodness_of_fit.h"
#include "env/mujoco/task.h"
#include "env/noise.h"
#include "env/standard_env.h"

namespace ovde {
namespace OVDE_TEST_FILE {

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
  // Ant's observation has height, orientation, eight joints and all velocities; x and y are read by
  // name
  const double scale = 0.02;
  const auto env = standard_env("Ant-v4");
  std::vector<double> before(27), after(27);
  std::vector<double> positions, rotations, velocities;
  Random random(5, Stream::disturbance);
  const int rounds = 8000;  // 14 velocities each: more than 1e5 draws
  for (int i = 0; i < rounds; ++i) {
    env->reset(i, before);
    const double x = *env->as<Disturbable>()->coordinate("torso_x"),
                 y = *env->as<Disturbable>()->coordinate("torso_y");
    ASSERT_TRUE(env->as<Disturbable>()->disturb(scale, random, after));
    positions.push_back((*env->as<Disturbable>()->coordinate("torso_x") - x) / scale);
    positions.push_back((*env->as<Disturbable>()->coordinate("torso_y") - y) / scale);
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
  const auto env =
      with_noise(standard_env("Ant-v4"), NoiseOptions{.transition = true, .scales = {0.5}});
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

// Positions (in their tangent space, from qpos0) and velocities of all states of episodes of at
// most 100 uniformly random actions.
std::vector<double> spread_of_random_actions(const MujocoTask& task, int episodes) {
  Simulation s = task.make_simulation();
  const mjModel& m = s.model();
  std::vector<double> x(2 * m.nv), sum(2 * m.nv), squares(2 * m.nv), action(m.nu);
  int n = 0;
  const auto note = [&] {
    mj_differentiatePos(&m, x.data(), 1, m.qpos0, s.q().data());
    std::ranges::copy(s.v(), x.begin() + m.nv);
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum[i] += x[i];
      squares[i] += x[i] * x[i];
    }
    ++n;
  };
  for (int episode = 0; episode < episodes; ++episode) {
    Random random(episode, Stream::user);
    s.start(
        [&](std::span<double> q, std::span<double> v) { task.make_rules()->start(q, v, random); });
    note();
    bool ended = false;
    for (int i = 0; i < 100 && !ended; ++i) {
      for (int k = 0; k < m.nu; ++k)
        action[k] = random.uniform(m.actuator_ctrlrange[2 * k], m.actuator_ctrlrange[2 * k + 1]);
      ended = task.step(s, action).terminated;
      note();
    }
  }
  std::vector<double> spread;
  for (std::size_t i = 0; i < x.size(); ++i)
    spread.push_back(std::sqrt(std::max(0.0, squares[i] / n - square(sum[i] / n))));
  return spread;
}

TEST(SlowMujocoNoise, SpreadsAreThoseOfRandomActions) {
  // the tables are this measurement, rounded; trajectories differ between machines
  for (const char* const name :
       {"Ant", "HalfCheetah", "Hopper", "InvertedDoublePendulum", "InvertedPendulum", "Pusher",
        "Reacher", "Swimmer", "Walker2d", "Humanoid"}) {
    const MujocoTask task = *find_mujoco_task(std::string(name) + "-v4");
    const auto measured = spread_of_random_actions(task, 300);
    std::vector<double> table = task.position_spread;
    table.insert(table.end(), task.velocity_spread.begin(), task.velocity_spread.end());
    bool same = table.size() == measured.size();
    for (std::size_t i = 0; same && i < table.size(); ++i)
      same = std::abs(table[i] - measured[i]) <= 0.15 * measured[i];
    EXPECT_TRUE(same) << fmt::format("{}: measured {:.2g}", name, fmt::join(measured, ", "));
  }
}

// The change of each element of the observation in one step without action from the same state.
// Ant's joint angles are elements 5 to 12, its velocities 13 to 26.
std::vector<std::vector<double>> pushes(const NoiseOptions& options, int rounds) {
  const auto calm = standard_env("Ant-v4");
  const auto env = with_noise(standard_env("Ant-v4"), options);
  const std::vector<double> action(8);
  std::vector<double> start(27), to(27), from(27), noisy(27);
  std::vector<std::vector<double>> all(27);
  for (int i = 0; i < rounds; ++i) {
    calm->reset(i, from);
    env->reset(i, noisy);
    EXPECT_EQ(from, noisy);
    calm->step(action, to);
    env->step(action, noisy);
    for (int k = 0; k < 27; ++k) all[k].push_back(noisy[k] - to[k]);
  }
  return all;
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double y : x) sum += y / x.size();
  return sum;
}
double deviation(const std::vector<double>& x) {
  double squares = 0;
  for (const double y : x) squares += y * y / x.size();
  return std::sqrt(squares - square(mean(x)));
}

TEST(MujocoNoise, OfVelocitiesLeavesPositionsUnchanged) {
  const double scale = 0.5;
  const auto all =
      pushes({.transition = true, .scales = {scale}, .part = NoisePart::velocities}, 4000);
  for (int k = 0; k < 27; ++k) {
    if (k < 13) {
      // normalising the orientation may change its last bit
      for (const double x : all[k]) ASSERT_NEAR(x, 0, 1 <= k && k <= 4 ? 1e-15 : 0) << k;
      continue;
    }
    EXPECT_NEAR(mean(all[k]), 0, 4 * scale / std::sqrt(4000)) << k;
    EXPECT_NEAR(deviation(all[k]), scale, 0.05 * scale) << k;
    std::vector<double> normal;
    for (const double x : all[k]) normal.push_back(x / scale);
    EXPECT_GT(kolmogorov_smirnov(normal, normal_cdf), 1e-4) << k;
  }
}

TEST(MujocoNoise, RelativeNoiseScalesWithEachSpread) {
  const double scale = 0.01;
  const MujocoTask task = *find_mujoco_task("Ant-v4");
  const auto all = pushes({.transition = true, .scales = {scale}, .relative = true}, 4000);
  for (int k = 5; k < 27; ++k) {
    // the free joint has six positions, then come the angles
    const double spread =
        k < 13 ? task.position_spread.at(6 + k - 5) : task.velocity_spread.at(k - 13);
    ASSERT_GT(spread, 0);
    EXPECT_NEAR(mean(all[k]), 0, 4 * scale * spread / std::sqrt(4000)) << k;
    EXPECT_NEAR(deviation(all[k]), scale * spread, 0.05 * scale * spread) << k;
  }
}

TEST(MujocoNoise, RelativeNoiseLeavesFixedCoordinatesAlone) {
  // Pusher's goal has no spread: relative noise does not move it, absolute noise does
  for (const bool relative : {false, true}) {
    const auto env = with_noise(standard_env("Pusher-v4"),
                                {.transition = true, .scales = {0.01}, .relative = relative});
    std::vector<double> s(23);
    env->reset(1, s);
    const double before = *env->as<Disturbable>()->coordinate("goal_x");
    for (int i = 0; i < 5; ++i) env->step(std::vector<double>(7), s);
    EXPECT_EQ(*env->as<Disturbable>()->coordinate("goal_x") == before, relative);
  }
}

TEST(MujocoNoise, DrawsAScaleForEachCoordinateOrForAll) {
  // half of all scales are zero; with one scale per step either all coordinates rest or none
  NoiseOptions options{.transition = true, .scales = {0, 0.1}};
  const auto resting = [](const std::vector<std::vector<double>>& all, int round) {
    int n = 0;
    for (int k = 13; k < 27; ++k) n += all[k][round] == 0;
    return n;
  };
  const int rounds = 2000;
  const auto together = pushes(options, rounds);
  options.draw = ScaleDraw::coordinate;
  const auto apart = pushes(options, rounds);
  int all_resting = 0, resting_apart = 0;
  for (int i = 0; i < rounds; ++i) {
    ASSERT_EQ(resting(together, i) % 14, 0);
    all_resting += resting(together, i) == 14;
    resting_apart += resting(apart, i);
    EXPECT_LT(resting(apart, i), 14);
  }
  EXPECT_NEAR(all_resting, rounds / 2, 3.3 * std::sqrt(rounds / 4.0));
  EXPECT_NEAR(resting_apart, 7 * rounds, 3.3 * std::sqrt(14 * rounds / 4.0));
}

TEST(MujocoNoise, EveryFormIsRestoredBitIdentically) {
  for (const auto draw : {ScaleDraw::step, ScaleDraw::coordinate, ScaleDraw::episode}) {
    for (const auto part : {NoisePart::all, NoisePart::velocities}) {
      for (const bool relative : {false, true}) {
        const NoiseOptions options{
            .transition = true, .scale = 0.5, .draw = draw, .part = part, .relative = relative};
        const auto a = with_noise(standard_env("Hopper-v4"), options);
        const auto b = with_noise(standard_env("Hopper-v4"), options);
        std::vector<double> sa(11), sb(11);
        const std::vector<double> action = {0.1, -0.2, 0.3};
        a->reset(3, sa);
        for (int i = 0; i < 7; ++i) a->step(action, sa);
        b->reset(4, sb);
        ASSERT_TRUE(b->as<Restorable>()->restore(*a->as<Restorable>()->save()));
        for (int i = 0; i < 20; ++i) {
          a->step(action, sa);
          b->step(action, sb);
          ASSERT_EQ(sa, sb) << name(draw) << ' ' << name(part) << ' ' << relative;
        }
      }
    }
  }
}

TEST(MujocoNoise, ChangesTheDynamics) {
  // one small disturbance, then the same actions: the trajectories must diverge
  const auto calm = standard_env("HalfCheetah-v4"), pushed = standard_env("HalfCheetah-v4"),
             twin = standard_env("HalfCheetah-v4");
  std::vector<double> a(17), b(17), c(17);
  calm->reset(1, a);
  pushed->reset(1, b);
  Random random(1, Stream::disturbance);
  pushed->as<Disturbable>()->disturb(0.01, random, b);
  twin->reset(2, c);
  twin->as<Restorable>()->restore(*pushed->as<Restorable>()->save());
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

TEST(MujocoNoise, UpdatesTheObservation) {
  // Reacher observes the position of its fingertip, which depends on the disturbed angles
  const auto env = standard_env("Reacher-v4");
  std::vector<double> s(11);
  env->reset(3, s);
  Random random(1, Stream::disturbance);
  env->as<Disturbable>()->disturb(0.3, random, s);
  const double shoulder = *env->as<Disturbable>()->coordinate("shoulder"),
               both = shoulder + *env->as<Disturbable>()->coordinate("elbow");
  EXPECT_NEAR(s[8], 0.1 * std::cos(shoulder) + 0.11 * std::cos(both) - s[4], 1e-12);
  EXPECT_NEAR(s[9], 0.1 * std::sin(shoulder) + 0.11 * std::sin(both) - s[5], 1e-12);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
