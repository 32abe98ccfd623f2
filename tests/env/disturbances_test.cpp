// Each disturbance arrives at the agent or at the task as docs/disturbances.md says.
#include "env/disturbances/disturbances.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <ovde/check.h>
#include <ovde/error.h>
#include "env/goodness_of_fit.h"
#include "env/standard_env.h"
#include "env/wrappers.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr double unlikely = 1e-3;  // seeds are fixed, so tests are deterministic

// Observes the step's number, the action it got, and a random number of known spread.
class Log final : public Env, public Restorable {
 public:
  int observation_size() const override { return 3; }
  const Box& action_space() const override { return space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override {
    random_ = Random(seed, Stream::environment);
    steps_ = 0;
    observe(middle(space_), observation);
  }
  Step step(std::span<const double> action, std::span<double> observation) override {
    ++steps_;
    observe(action, observation);
    return {.reward = action[0]};
  }
  Signals signals() const override {
    return {.observation = {{"clock_time", "s"}, {"arm_command", ""}, {"arm_velocity", "m/s"}},
            .action = {{"arm", "N"}},
            .rate = 1};
  }
  std::optional<Bytes> save() const override {
    ByteWriter out;
    out.put(steps_);
    out.put(random_);
    return out.take();
  }
  bool restore(std::span<const std::byte> bytes) override {
    ByteReader in(bytes);
    steps_ = in.get<int>();
    random_ = in.get<Random>();
    return true;
  }

 private:
  void observe(std::span<const double> action, std::span<double> observation) {
    observation[0] = steps_;
    observation[1] = action[0];
    observation[2] = random_.uniform(-1, 1);
  }
  Box space_ = box(1, 2, 6);
  Random random_;
  int steps_ = 0;
};

std::unique_ptr<Env> disturbed(const Disturbances& options) {
  return with_disturbances(std::make_unique<Log>(), {}, options, "Log");
}

struct Episode {
  std::vector<std::vector<double>> observations;  // one more than rewards
  std::vector<double> rewards;
};

// Actions are 3, 3.01, 3.02 ...
double action_at(int step) { return 3 + 0.01 * step; }

Episode play(Env& env, std::uint64_t seed, int steps) {
  std::vector<double> now(env.observation_size());
  Episode all;
  env.reset(seed, now);
  all.observations.push_back(now);
  std::vector<double> action(env.action_space().low.size());
  for (int i = 0; i < steps; ++i) {
    std::ranges::fill(action, action_at(i));
    all.rewards.push_back(env.step(action, now).reward);
    all.observations.push_back(now);
  }
  return all;
}

TEST(Disturbances, AreOffByDefault) {
  auto env = std::make_unique<Log>();
  const Env* const inner = env.get();
  EXPECT_EQ(with_disturbances(std::move(env), {}, {}, "Log").get(), inner);
}

TEST(Disturbances, SpreadIsThatOfRandomActions) {
  Log env;
  const auto spread = observation_spread(env);
  EXPECT_EQ(spread, observation_spread(env));
  EXPECT_NEAR(spread[0], 100 / std::sqrt(12), 1);    // 0 to 100
  EXPECT_NEAR(spread[1], 4 / std::sqrt(12), 0.05);   // the box is [2, 6]
  EXPECT_NEAR(spread[2], 2 / std::sqrt(12), 0.025);  // U(-1, 1)
}

TEST(Delay, ShiftsTheTrajectory) {
  constexpr int late = 3, steps = 20;
  const Episode plain = play(*disturbed({}), 1, steps);

  // actions: the same motion, later; the task rests in the middle of its box until then
  const Episode acted = play(*disturbed({.delay = {.action = {late, late}}}), 1, steps);
  for (int i = 0; i < steps; ++i)
    EXPECT_EQ(acted.rewards[i], i < late ? 4 : plain.rewards[i - late]) << i;

  // observations: those of the plain run, later; rewards stay
  const Episode seen = play(*disturbed({.delay = {.observation = {late, late}}}), 1, steps);
  EXPECT_EQ(seen.rewards, plain.rewards);
  for (int i = 0; i <= steps; ++i)
    EXPECT_EQ(seen.observations[i], plain.observations[std::max(0, i - late)]) << i;
}

TEST(Delay, IsDrawnUniformlyForEachEpisode) {
  const auto env = disturbed({.delay = {.action = {1, 4}, .observation = {0, 2}}});
  std::map<int, int> actions, observations;
  constexpr int episodes = 1200;
  for (int seed = 0; seed < episodes; ++seed) {
    const Episode episode = play(*env, seed, 8);
    const auto late = std::ranges::count(episode.rewards, 4.0);
    ++actions[static_cast<int>(late)];
    ++observations[8 - static_cast<int>(episode.observations.back()[0])];
    for (int i = 4; i < 8; ++i)
      ASSERT_EQ(episode.rewards[i], action_at(i - static_cast<int>(late)));
  }
  ASSERT_EQ(actions.size(), 4u);
  ASSERT_EQ(observations.size(), 3u);
  const auto near = [&](int n, double share) {
    EXPECT_NEAR(n, episodes * share, 3.3 * std::sqrt(episodes * share * (1 - share)));
  };
  for (const auto& [late, n] : actions) near(n, 1.0 / 4);
  for (const auto& [late, n] : observations) near(n, 1.0 / 3);
}

TEST(Delay, CanBeDrawnForEachStep) {
  constexpr int steps = 3000;
  const auto env = disturbed({.delay = {.observation = {1, 3}, .draw = DelayDraw::step}});
  const Episode episode = play(*env, 5, steps);
  std::map<int, int> seen;
  for (int i = 3; i <= steps; ++i) ++seen[i - static_cast<int>(episode.observations[i][0])];
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& [late, n] : seen)
    EXPECT_NEAR(n, steps / 3, 3.3 * std::sqrt(steps * 2 / 9.0)) << late;
}

// Differences to the undisturbed readings, in units of the spread.
std::vector<double> errors(const SensorOptions& options, int reading, int seed, int steps) {
  Log bare;
  const double unit = observation_spread(bare)[reading];
  const Episode plain = play(bare, seed, steps);
  const Episode read = play(*disturbed({.sensor = options}), seed, steps);
  EXPECT_EQ(read.rewards, plain.rewards);
  std::vector<double> all;
  for (int i = 0; i <= steps; ++i)
    all.push_back((read.observations[i][reading] - plain.observations[i][reading]) / unit);
  return all;
}

TEST(Sensor, NoiseIsNormalInUnitsOfTheSpread) {
  for (const int reading : {0, 1, 2}) {
    auto all = errors({.noise = 0.3}, reading, 4, 20000);
    for (double& x : all) x /= 0.3;
    EXPECT_GT(kolmogorov_smirnov(all, normal_cdf), unlikely);
  }
}

TEST(Sensor, BiasIsConstantInAnEpisodeAndNormalOverEpisodes) {
  std::vector<double> biases;
  for (int seed = 0; seed < 2000; ++seed) {
    const auto all = errors({.bias = 0.5}, 2, seed, 3);
    for (const double x : all) ASSERT_NEAR(x, all[0], 1e-12);
    biases.push_back(all[0] / 0.5);
  }
  EXPECT_GT(kolmogorov_smirnov(biases, normal_cdf), unlikely);
}

TEST(Sensor, DriftIsARandomWalk) {
  const auto all = errors({.drift = 0.1}, 2, 4, 20000);
  EXPECT_EQ(all[0], 0);
  std::vector<double> moves;
  for (std::size_t i = 1; i < all.size(); ++i) moves.push_back((all[i] - all[i - 1]) / 0.1);
  EXPECT_GT(kolmogorov_smirnov(moves, normal_cdf), unlikely);
}

TEST(Sensor, ADroppedReadingRepeatsTheLastOne) {
  constexpr int steps = 10000;
  const Episode plain = play(*disturbed({}), 4, steps);
  const Episode read = play(*disturbed({.sensor = {.dropped = 0.2}}), 4, steps);
  int dropped = 0, both = 0;
  for (int i = 1; i <= steps; ++i) {
    bool held[3];
    for (int k = 0; k < 3; ++k) {
      held[k] = read.observations[i][k] != plain.observations[i][k];
      if (held[k]) {
        ASSERT_EQ(read.observations[i][k], read.observations[i - 1][k]);
      }
      dropped += held[k];
    }
    both += held[0] && held[2];
  }
  EXPECT_NEAR(dropped, 3 * steps * 0.2, 3.3 * std::sqrt(3 * steps * 0.2 * 0.8));
  EXPECT_NEAR(both, steps * 0.04, 3.3 * std::sqrt(steps * 0.04 * 0.96));  // independent readings
}

TEST(Sensor, ResolutionRoundsToMultiples) {
  Log bare;
  const double quantum = 0.25 * observation_spread(bare)[2];
  const Episode plain = play(bare, 4, 1000);
  const Episode read = play(*disturbed({.sensor = {.resolution = 0.25}}), 4, 1000);
  std::set<double> values;
  for (std::size_t i = 0; i < plain.observations.size(); ++i) {
    const double x = read.observations[i][2];
    EXPECT_LE(std::abs(x - plain.observations[i][2]), quantum / 2 * (1 + 1e-12));
    EXPECT_NEAR(x / quantum, std::round(x / quantum), 1e-12);
    values.insert(x);
  }
  EXPECT_EQ(values.size(), 15u);  // 2 / (0.25 * 0.577) = 13.9 quanta
}

TEST(Sensor, GroupLimitsWhatIsDisturbed) {
  const auto touched = [](const std::string& group) {
    const Episode plain = play(*disturbed({}), 4, 1);
    const Episode read = play(*disturbed({.sensor = {.noise = 1, .group = group}}), 4, 1);
    std::string all;
    for (int i = 0; i < 3; ++i)
      all += read.observations[1][i] == plain.observations[1][i] ? "." : "x";
    return all;
  };
  EXPECT_EQ(touched(""), "xxx");
  EXPECT_EQ(touched("arm_velocity"), "..x");
  EXPECT_EQ(touched("arm"), ".xx");
  EXPECT_EQ(touched("*_time, arm_velocity"), "x.x");
}

TEST(Sensor, GroupThatNamesNothingIsRefused) {
  const auto refusal = [](std::unique_ptr<Env> env, const std::string& group) {
    try {
      with_disturbances(std::move(env), {}, {.sensor = {.noise = 1, .group = group}}, "Log");
    } catch (const OptionError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal(std::make_unique<Log>(), "arm, leg"),
            "sensor.group = \"arm, leg\": \"leg\" names no observation; must be a list of names, "
            "prefixes or *suffixes of clock_time, arm_command, arm_velocity");
  class Nameless final : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    Signals signals() const override { return {}; }
  };
  EXPECT_EQ(refusal(std::make_unique<Nameless>(std::make_unique<Log>()), "arm"),
            "sensor.group = \"arm\": this task does not name its observations; must be \"\"");
}

Disturbances everything() {
  return {.delay = {.action = {0, 3}, .observation = {1, 2}, .draw = DelayDraw::step},
          .sensor = {.noise = 0.1, .bias = 0.1, .drift = 0.1, .dropped = 0.3, .resolution = 0.01}};
}

TEST(Disturbances, RestoredStateContinuesBitIdentically) {
  EXPECT_NO_THROW(check(*disturbed(everything()), 7));
}

TEST(Disturbances, SwitchingOneOnChangesNoOther) {
  const Disturbances all = everything();
  Disturbances without_dropped = all;
  without_dropped.sensor.dropped = 0;
  const Episode a = play(*disturbed(all), 3, 50), b = play(*disturbed(without_dropped), 3, 50);
  EXPECT_EQ(a.rewards, b.rewards);
  int equal = 0;
  for (std::size_t i = 0; i < a.observations.size(); ++i)
    equal += a.observations[i][2] == b.observations[i][2];
  EXPECT_NEAR(equal, 0.7 * 51, 12);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
