#include "env/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include <ovde/env.h>
#include <ovde/error.h>
#include "env/goodness_of_fit.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr int draws = 100000;
constexpr double unlikely = 1e-3;  // seeds are fixed, so tests are deterministic

// A wide GridChaos without noise of its own: without actions only injected noise moves the point.
std::unique_ptr<Env> quiet_grid() {
  const Task& task = find_task("GridChaos-v0");
  OptionValues values(task.options);
  values.set("noise", std::vector<double>{0, 0, 0, 0});
  values.set("half_width", 1e6);
  return task.make(values);
}
const std::vector<double> stand_still = {0, -1};

// Changes of both coordinates in steps without actions.
std::vector<double> moves(Env& env) {
  std::vector<double> now(2), before, all;
  env.reset(11, now);
  while (all.size() < draws) {
    before = now;
    env.step(stand_still, now);
    for (int i = 0; i < 2; ++i) all.push_back(now[i] - before[i]);
  }
  return all;
}

// Returns the action as observation, and reward 0.
class Echo final : public Env {
 public:
  int observation_size() const override { return 2; }
  const Box& action_space() const override { return space_; }
  void reset(std::uint64_t, std::span<double> observation) override {
    observation[0] = observation[1] = 0;
  }
  Step step(std::span<const double> action, std::span<double> observation) override {
    std::ranges::copy(action, observation.begin());
    return {};
  }

 private:
  Box space_ = box(2, -4, 4);
};

TEST(Noise, IsOffByDefault) {
  auto env = std::make_unique<Echo>();
  const Env* const inner = env.get();
  EXPECT_EQ(with_noise(std::move(env), NoiseOptions{}).get(), inner);
  // scales alone do not switch noise on
  env = std::make_unique<Echo>();
  const Env* const other = env.get();
  EXPECT_EQ(with_noise(std::move(env), NoiseOptions{.scales = {5}}).get(), other);
}

TEST(Noise, OfTheTransitionIsTheMixtureOfItsScales) {
  const auto env = with_noise(quiet_grid(), NoiseOptions{.transition = true});
  const auto all = moves(*env);

  // a third of the steps draws scale 0 and does not move
  std::vector<double> moved;
  std::ranges::copy_if(all, std::back_inserter(moved), [](double x) { return x != 0; });
  const double still = draws / 2 - moved.size() / 2.0;  // steps
  const double deviation = std::sqrt(draws / 2 * (1.0 / 3) * (2.0 / 3));
  EXPECT_NEAR(still, draws / 2 / 3.0, 3.3 * deviation);

  const auto mixture = [](double x) { return (normal_cdf(x / 0.01) + normal_cdf(x / 0.02)) / 2; };
  EXPECT_GT(kolmogorov_smirnov(moved, mixture), unlikely);
  // the test has power: one scale alone, or scales a few percent off, are rejected
  EXPECT_LT(kolmogorov_smirnov(moved, [](double x) { return normal_cdf(x / 0.015); }), 1e-6);
  EXPECT_LT(kolmogorov_smirnov(moved, [&](double x) { return mixture(x / 1.05); }), 1e-6);
}

TEST(Noise, OfTheTransitionCanHaveOneScalePerEpisode) {
  const auto env =
      with_noise(quiet_grid(), NoiseOptions{.transition = true, .draw = ScaleDraw::episode});
  int episodes[3] = {};
  for (int episode = 0; episode < 300; ++episode) {
    std::vector<double> now(2), before;
    env->reset(episode, now);
    double squares = 0;
    for (int i = 0; i < 100; ++i) {
      before = now;
      env->step(stand_still, now);
      for (int k = 0; k < 2; ++k) squares += std::pow(now[k] - before[k], 2) / 200;
    }
    const double scale = std::sqrt(squares);
    const int drawn = scale == 0 ? 0 : scale < 0.015 ? 1 : 2;
    EXPECT_NEAR(scale, 0.01 * drawn, 0.0025 * drawn);
    ++episodes[drawn];
  }
  for (const int n : episodes) EXPECT_NEAR(n, 100, 3.3 * std::sqrt(300 * 2 / 9.0));
}

TEST(Noise, OfTheTransitionIsMultipliedByTheOverallScale) {
  const auto plain = moves(*with_noise(quiet_grid(), {.transition = true}));
  const auto half = moves(*with_noise(quiet_grid(), {.transition = true, .scale = 0.5}));
  // the same draws, up to rounding
  for (int i = 0; i < draws; ++i) ASSERT_NEAR(half[i], plain[i] / 2, 1e-12);
}

TEST(Noise, OfActionsObservationsAndRewardsIsNormal) {
  const double action = 0.05, observation = 0.3, reward = 2;
  std::vector<double> from_actions, from_observations, from_rewards, out(2);

  const auto acting = with_noise(std::make_unique<Echo>(), NoiseOptions{.action = action});
  acting->reset(1, out);
  const auto watching =
      with_noise(std::make_unique<Echo>(), NoiseOptions{.observation = observation});
  watching->reset(2, out);
  const auto paying = with_noise(std::make_unique<Echo>(), NoiseOptions{.reward = reward});
  paying->reset(3, out);
  while (from_rewards.size() < draws) {
    acting->step(std::vector<double>{1, -1}, out);
    from_actions.push_back((out[0] - 1) / (4 * action));  // half the range of actions is 4
    from_actions.push_back((out[1] + 1) / (4 * action));
    watching->step(std::vector<double>{1, -1}, out);
    from_observations.push_back((out[0] - 1) / observation);
    from_observations.push_back((out[1] + 1) / observation);
    from_rewards.push_back(paying->step(std::vector<double>{1, -1}, out).reward / reward);
    EXPECT_EQ(out, (std::vector<double>{1, -1}));
  }
  EXPECT_GT(kolmogorov_smirnov(from_actions, normal_cdf), unlikely);
  EXPECT_GT(kolmogorov_smirnov(from_observations, normal_cdf), unlikely);
  EXPECT_GT(kolmogorov_smirnov(from_rewards, normal_cdf), unlikely);
}

TEST(Noise, KeepsActionsInTheirBox) {
  const auto env = with_noise(std::make_unique<Echo>(), NoiseOptions{.action = 10.0});
  std::vector<double> out(2);
  env->reset(1, out);
  for (int i = 0; i < 1000; ++i) {
    env->step(std::vector<double>{0, 0}, out);
    ASSERT_LE(std::max(std::abs(out[0]), std::abs(out[1])), 4);
  }
}

TEST(Noise, DependsOnTheRegionBeforeTheMove) {
  // nothing below x = -1, doubled above 1
  const auto options = NoiseOptions{.transition = true,
                                    .scales = {0.1},
                                    .coordinate = "x",
                                    .edges = {-1, 1},
                                    .factors = {0, 1, 2}};
  for (const auto& [start, expected] : {std::pair{-2.0, 0.0}, {0.0, 0.1}, {2.0, 0.2}}) {
    const Task& task = find_task("GridChaos-v0");
    OptionValues values(task.options);
    values.set("noise", std::vector<double>{0, 0, 0, 0});
    values.set("start", std::vector<double>{start, 0});
    const auto env = with_noise(task.make(values), options);
    double squares = 0;
    std::vector<double> s(2);
    const int n = 10000;
    for (int i = 0; i < n; ++i) {
      env->reset(i, s);
      env->step(stand_still, s);
      squares += std::pow(s[0] - start, 2);
    }
    EXPECT_NEAR(std::sqrt(squares / n), expected, 0.03 * expected) << start;
  }
}

TEST(Noise, OfOneKindDoesNotChangeTheOthers) {
  const auto one = with_noise(quiet_grid(), NoiseOptions{.transition = true});
  const auto all =
      with_noise(quiet_grid(), NoiseOptions{.transition = true, .observation = 1.0, .reward = 1.0});
  std::vector<double> s(2);
  one->reset(5, s);
  all->reset(5, s);
  for (int i = 0; i < 50; ++i) {
    one->step(stand_still, s);
    all->step(stand_still, s);
    EXPECT_NE(s[0], *all->as<Disturbable>()->coordinate(
                        "x"));  // the observation is noisy, the state is not
    ASSERT_EQ(*one->as<Disturbable>()->coordinate("x"), *all->as<Disturbable>()->coordinate("x"));
  }
}

TEST(Noise, OfOneKindIsUncorrelatedWithTheOthers) {
  const auto env = with_noise(std::make_unique<Echo>(), NoiseOptions{.action = 0.1, .reward = 1.0});
  std::vector<double> s(2), actions, rewards;
  env->reset(5, s);
  const int n = 10000;
  for (int i = 0; i < n; ++i) {
    rewards.push_back(env->step(std::vector<double>{0, 0}, s).reward);
    for (const double x : s) actions.push_back(x / (4 * 0.1));
  }
  // in the order of drawing: the correlation would be 1 if both kinds drew the same numbers
  double correlation = 0;
  for (int i = 0; i < n; ++i) correlation += actions[i] * rewards[i] / n;
  EXPECT_NEAR(correlation, 0, 3.5 / std::sqrt(n));
}

TEST(Noise, FollowsFromTheSeedOfTheEpisode) {
  const auto env = with_noise(quiet_grid(), NoiseOptions{.transition = true, .scales = {1}});
  std::vector<double> first(2), again(2), other(2);
  env->reset(1, first);
  env->step(stand_still, first);
  env->reset(2, other);
  env->step(stand_still, other);
  env->reset(1, again);
  env->step(stand_still, again);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST(Noise, RestoredStateContinuesBitIdentically) {
  const auto options =
      NoiseOptions{.transition = true, .action = 0.1, .observation = 0.1, .reward = 0.1};
  const auto a = with_noise(quiet_grid(), options);
  const auto b = with_noise(quiet_grid(), options);
  std::vector<double> sa(2), sb(2);
  a->reset(3, sa);
  for (int i = 0; i < 7; ++i) a->step(std::vector<double>{0.1, 1}, sa);
  b->reset(4, sb);
  ASSERT_TRUE(b->as<Restorable>()->restore(*a->as<Restorable>()->save()));
  for (int i = 0; i < 20; ++i) {
    const Step ra = a->step(std::vector<double>{0.1, 1}, sa);
    const Step rb = b->step(std::vector<double>{0.1, 1}, sb);
    ASSERT_EQ(sa, sb);
    ASSERT_EQ(ra.reward, rb.reward);
  }
}

TEST(Noise, NamesTheOptionThatDoesNotFit) {
  const auto refusal = [](std::unique_ptr<Env> env, const NoiseOptions& options) {
    try {
      with_noise(std::move(env), options);
    } catch (const OptionError& error) {
      return error.key() + " | " + error.what();
    }
    return std::string("none");
  };
  const auto height = NoiseOptions{.coordinate = "height"};
  EXPECT_EQ(refusal(quiet_grid(), height),
            "noise.coordinate | noise.coordinate = \"height\": must be a state coordinate of the "
            "task: x, y");
  EXPECT_EQ(refusal(std::make_unique<Echo>(), height),
            "noise.coordinate | noise.coordinate = \"height\": this task has no state coordinates; "
            "must be \"\"");
}

TEST(Noise, NamesTheFormThatTheTaskCannotHave) {
  const auto refusal = [](const NoiseOptions& options) {
    return message_of<OptionError>([&] { with_noise(quiet_grid(), options); });
  };
  EXPECT_EQ(refusal({.part = NoisePart::velocities}),
            "noise.part = \"velocities\": this task has no velocities; must be \"all\"");
  EXPECT_EQ(refusal({.relative = true}),
            "noise.relative = true: this task has no table of its coordinates' spread; must be "
            "false");
  EXPECT_EQ(refusal({.draw = ScaleDraw::coordinate}),
            "noise.draw = \"coordinate\": this task's coordinates cannot be disturbed one by one; "
            "must be \"step\" or \"episode\"");
}

TEST(Noise, RefusesOptionsThatDoNotFit) {
  const auto refused = [](const NoiseOptions& options) {
    EXPECT_THROW(with_noise(quiet_grid(), options), InputError);
  };
  refused({.transition = true, .coordinate = "height"});
  refused({.transition = true, .coordinate = "x", .factors = {1}});
  refused({.transition = true, .coordinate = "x", .edges = {1, 0}, .factors = {1, 2, 3}});
  // a task that is not Disturbable
  EXPECT_THROW(with_noise(std::make_unique<Echo>(), NoiseOptions{.transition = true}), InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
