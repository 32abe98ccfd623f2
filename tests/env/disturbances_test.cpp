// Each disturbance arrives at the agent or at the task as docs/disturbances.md says.
#include "env/disturbances/disturbances.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include <ovde/check.h>
#include <ovde/error.h>
#include "env/goodness_of_fit.h"
#include "env/standard_env.h"
#include "env/wrappers.h"
#include "words.h"

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
    return {.observation = {{"armed_time", "s"}, {"arm_command", ""}, {"arm_velocity", "m/s"}},
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
  EXPECT_EQ(touched("arm"), ".xx");  // a word of two names, not the beginning of "armed"
  EXPECT_EQ(touched("ar"), "xxx");
  EXPECT_EQ(touched("*locity"), "..x");
  EXPECT_EQ(touched("*_time, arm_velocity"), "x.x");
  EXPECT_EQ(touched("*time, arm_"), "xxx");
  EXPECT_EQ(touched("*"), "xxx");
}

TEST(Sensor, GroupThatNamesNothingIsRefused) {
  const auto refusal = [](std::unique_ptr<Env> env, const std::string& group) {
    return message_of<OptionError>([&] {
      with_disturbances(std::move(env), {}, {.sensor = {.noise = 1, .group = group}}, "Log");
    });
  };
  EXPECT_EQ(refusal(std::make_unique<Log>(), "arm, leg"),
            "sensor.group = \"arm, leg\": \"leg\" names no observation; must be a list of "
            "names, their beginnings or their *ends, of armed_time, arm_command, arm_velocity");
  class Nameless final : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    Signals signals() const override { return {}; }
  };
  EXPECT_EQ(refusal(std::make_unique<Nameless>(std::make_unique<Log>()), "arm"),
            "sensor.group = \"arm\": this task does not name its observations; must be \"\"");
}

// Outputs of the actuator, in units of half the range of actions, for a constant command.
std::vector<double> response(const ActuatorOptions& options, double command, int seed, int steps) {
  const auto env = disturbed({.actuator = options});
  std::vector<double> now(3), all;
  env->reset(seed, now);
  for (int i = 0; i < steps; ++i) {
    env->step(std::vector<double>{4 + 2 * command}, now);  // the box is [2, 6]
    all.push_back((now[1] - 4) / 2);
  }
  return all;
}

TEST(Actuator, LagHasItsTimeConstant) {
  const auto all = response({.lag = {5, 5}}, 0.8, 1, 20);
  for (int i = 0; i < 20; ++i) EXPECT_NEAR(all[i], 0.8 * (1 - std::exp(-(i + 1) / 5.0)), 1e-12);
}

TEST(Actuator, DeadZoneGainBiasAndSaturationActInThisOrder) {
  const auto once = [](const ActuatorOptions& options, double command) {
    return response(options, command, 1, 1)[0];
  };
  EXPECT_NEAR(once({.dead_zone = {0.2, 0.2}}, 0.15), 0, 1e-12);
  EXPECT_NEAR(once({.dead_zone = {0.2, 0.2}}, -0.5), -0.3, 1e-12);
  EXPECT_NEAR(once({.gain = {0.5, 0.5}}, -0.5), -0.25, 1e-12);
  EXPECT_NEAR(once({.bias = {0.1, 0.1}}, -0.5), -0.4, 1e-12);
  EXPECT_NEAR(once({.saturation = {0.6, 0.6}}, -0.9), -0.6, 1e-12);
  const ActuatorOptions all = {
      .gain = {2, 2}, .bias = {0.1, 0.1}, .dead_zone = {0.2, 0.2}, .saturation = {0.6, 0.6}};
  EXPECT_NEAR(once(all, 0.4), 2 * (0.4 - 0.2) + 0.1, 1e-12);
  EXPECT_NEAR(once(all, 0.9), 0.6, 1e-12);
  // what leaves the box is clipped
  EXPECT_NEAR(once({.gain = {2, 2}}, 0.9), 1, 1e-12);
}

TEST(Actuator, GainAndBiasAreDrawnUniformlyForEachEpisode) {
  std::vector<double> gains, biases;
  for (int seed = 0; seed < 3000; ++seed) {
    const auto gain = response({.gain = {0.6, 0.9}}, 1, seed, 2);
    ASSERT_EQ(gain[0], gain[1]);
    gains.push_back(gain[0]);
    biases.push_back(response({.bias = {-0.2, 0.3}}, 0, seed, 1)[0]);
  }
  const auto uniform = [](double low, double high) {
    return [=](double x) { return std::clamp((x - low) / (high - low), 0.0, 1.0); };
  };
  EXPECT_GT(kolmogorov_smirnov(gains, uniform(0.6, 0.9)), unlikely);
  EXPECT_GT(kolmogorov_smirnov(biases, uniform(-0.2, 0.3)), unlikely);
}

TEST(History, AppendsTheLastObservationsAndActions) {
  constexpr int length = 2, steps = 6;
  const Episode plain = play(*disturbed({}), 1, steps);
  const auto env = disturbed({.history = length});
  ASSERT_EQ(env->observation_size(), 3 + length * (3 + 1));
  const Episode all = play(*env, 1, steps);
  for (int i = 0; i <= steps; ++i) {
    std::vector<double> expected = plain.observations[i];
    for (const int age : {1, 2}) {
      const auto& past = plain.observations[std::max(0, i - age)];
      expected.insert(expected.end(), past.begin(), past.end());
    }
    for (const int age : {1, 2}) expected.push_back(i - age < 0 ? 4 : action_at(i - age));
    EXPECT_EQ(all.observations[i], expected) << i;
  }
}

TEST(History, NamesItsSignals) {
  const Signals signals = disturbed({.history = 2})->signals();
  std::string names;
  for (const Signal& signal : signals.observation) names += signal.name + ":" + signal.unit + " ";
  EXPECT_EQ(names,
            "armed_time:s arm_command: arm_velocity:m/s "
            "armed_time[-1]:s arm_command[-1]: arm_velocity[-1]:m/s "
            "armed_time[-2]:s arm_command[-2]: arm_velocity[-2]:m/s "
            "arm_action[-1]:N arm_action[-2]:N ");
}

// With the actions that are still on their way, the state of a delayed task is known.
TEST(History, HasTheActionsOnTheirWay) {
  constexpr int late = 2, steps = 8;
  const Episode all =
      play(*disturbed({.delay = {.action = {late, late}}, .history = late}), 1, steps);
  for (int i = late; i < steps; ++i) EXPECT_EQ(all.observations[i].back(), all.rewards[i]);
}

Disturbances everything() {
  return {.delay = {.action = {0, 3}, .observation = {1, 2}, .draw = DelayDraw::step},
          .sensor = {.noise = 0.1, .bias = 0.1, .drift = 0.1, .dropped = 0.3, .resolution = 0.01},
          .actuator = {.lag = {1, 4},
                       .gain = {0.8, 1.2},
                       .bias = {-0.1, 0.1},
                       .dead_zone = {0, 0.1},
                       .saturation = {0.8, 1}},
          .history = 2};
}

TEST(Physics, TasksWithoutAModelAreRefused) {
  const auto refusal = [](const Disturbances& options) {
    return message_of<OptionError>([&] { disturbed(options); });
  };
  EXPECT_EQ(refusal({.model = {.friction = {0.5, 2}}}),
            "model.friction = [0.5, 2]: this task has no physical model (MuJoCo tasks have one); "
            "must be 1");
  EXPECT_EQ(refusal({.push = {.probability = 0.1}}),
            "push.probability = 0.1: this task has no physical model (MuJoCo tasks have one); "
            "must be 0");
}

#ifdef OVDE_MUJOCO
std::unique_ptr<Env> disturbed_task(const std::string& task, const Disturbances& options) {
  return with_disturbances(standard_env(task), {}, options, task);
}

TEST(Physics, FactorsOfOneAreTheNominalModel) {
  for (const std::string task : {"HalfCheetah-v4", "Ant-v4", "Humanoid-v4"}) {
    const auto plain = standard_env(task), varied = standard_env(task);
    varied->as<Physical>()->vary(
        {.mass = 2, .friction = 3, .damping = 4, .gravity = 5, .motor = 6});
    const Episode other = play(*varied, 1, 20);
    varied->as<Physical>()->vary({});
    const Episode nominal = play(*plain, 1, 20);
    EXPECT_NE(other.observations.back(), nominal.observations.back());
    EXPECT_EQ(play(*varied, 1, 20).observations, nominal.observations) << task;
  }
}

// The speed of a cart after a step, from rest.
double cart_speed(Env& env, double force) {
  std::vector<double> s(4);
  const std::vector<double> zero(2, 0.0);
  env.as<Restorable>()->set_state(zero, zero, s);
  env.step(std::vector<double>{force}, s);
  return s[2];
}

// Its part that comes from the motor: F t / m for a short time.
double motor_speed(Env& env) { return cart_speed(env, 0.1) - cart_speed(env, 0); }

double motor_speed(const ModelFactors& factors) {
  const auto env = standard_env("InvertedPendulum-v4");
  env->as<Physical>()->vary(factors);
  return motor_speed(*env);
}

TEST(Physics, FactorsAreThoseOfTheModel) {
  const double nominal = motor_speed(ModelFactors{});
  EXPECT_NEAR(motor_speed({.motor = 0.5}) / nominal, 0.5, 1e-3);
  // damping of 1 at the joints of bodies of about 10 kg has little effect in 0.04 s
  EXPECT_NEAR(motor_speed({.mass = 2}) / nominal, 0.5, 0.02);
  // Hopper falls freely from above the floor: x = x0 - g t^2 / 2
  const auto fall = [](double gravity) {
    const auto env = standard_env("Hopper-v4");
    env->as<Physical>()->vary({.gravity = gravity});
    std::vector<double> s(11);
    env->as<Restorable>()->set_state(std::vector<double>{0, 3, 0, 0, 0, 0},
                                     std::vector<double>(6, 0.0), s);
    for (int i = 0; i < 10; ++i) env->step(std::vector<double>{0, 0, 0}, s);
    return s[6];  // vertical speed
  };
  EXPECT_NEAR(fall(1), -9.81 * 0.08, 0.02);
  EXPECT_NEAR(fall(0.5) / fall(1), 0.5, 0.01);
}

TEST(Physics, FactorsAreDrawnForEachEpisode) {
  const auto env = disturbed_task("InvertedPendulum-v4", {.model = {.motor = {0.5, 2}}});
  const double nominal = motor_speed(ModelFactors{});
  std::vector<double> drawn, s(4);
  for (int seed = 0; seed < 1000; ++seed) {
    env->reset(seed, s);
    drawn.push_back(motor_speed(*env) / nominal);
  }
  const auto uniform = [](double x) { return std::clamp((x - 0.5) / 1.5, 0.0, 1.0); };
  EXPECT_GT(kolmogorov_smirnov(drawn, uniform), unlikely);
}

// The motor of the cart has 100 N and a step 0.04 s: an action of 0.1 has an impulse of 0.4 N s.
// Cart and pole are capsules with a density of 1000 kg/m^3.
TEST(Push, HasTheImpulseOfItsVelocity) {
  const auto capsule = [](double radius, double half_length) {
    return 1000 * std::numbers::pi * radius * radius * (2 * half_length + 4 * radius / 3);
  };
  const double velocity = 0.4 / (capsule(0.1, 0.1) + capsule(0.049, std::hypot(0.6, 0.001) / 2));
  const auto env = disturbed_task("InvertedPendulum-v4",
                                  {.push = {.probability = 1, .velocity = {velocity, velocity}}});
  const auto plain = standard_env("InvertedPendulum-v4");
  const double forwards = cart_speed(*plain, 0.1), backwards = cart_speed(*plain, -0.1);
  std::vector<double> s(4);
  for (int seed = 0; seed < 20; ++seed) {
    env->reset(seed, s);
    const double speed = cart_speed(*env, 0);
    EXPECT_NEAR(speed, speed > 0 ? forwards : backwards, 1e-9);
  }
}

// A heavier robot is pushed harder.
TEST(Push, VelocityDoesNotDependOnTheMass) {
  const auto pushed_speed = [](double mass) {
    Disturbances options{.push = {.probability = 1}};
    options.model = {.mass = {mass, mass}, .damping = {0, 0}};
    const auto env = disturbed_task("InvertedPendulum-v4", options);
    std::vector<double> s(4);
    env->reset(1, s);
    return std::abs(cart_speed(*env, 0));
  };
  EXPECT_NEAR(pushed_speed(3), pushed_speed(1), 1e-6 * pushed_speed(1));
}

TEST(Push, HasAUniformHorizontalDirection) {
  const auto env = disturbed_task("Ant-v4", {.push = {.probability = 1, .velocity = {0.05, 0.05}}});
  const auto plain = standard_env("Ant-v4");
  std::vector<double> pushed(27), still(27), angles;
  for (int seed = 0; seed < 100; ++seed) {
    env->reset(seed, pushed);
    plain->reset(seed, still);
    env->step(std::vector<double>(8, 0.0), pushed);
    plain->step(std::vector<double>(8, 0.0), still);
    angles.push_back(std::atan2(pushed[14] - still[14], pushed[13] - still[13]));
  }
  const auto uniform = [](double x) { return 0.5 + x / (2 * std::numbers::pi); };
  EXPECT_GT(kolmogorov_smirnov(angles, uniform), unlikely);
}

TEST(Push, MovesAPlanarTaskAlongItsPlane) {
  const auto env =
      disturbed_task("HalfCheetah-v4", {.push = {.probability = 1, .velocity = {0.2, 0.2}}});
  const auto plain = standard_env("HalfCheetah-v4");
  int forward = 0;
  for (int seed = 0; seed < 100; ++seed) {
    std::vector<double> pushed(17), still(17);
    env->reset(seed, pushed);
    plain->reset(seed, still);
    env->step(std::vector<double>(6, 0.0), pushed);
    plain->step(std::vector<double>(6, 0.0), still);
    EXPECT_GT(std::abs(pushed[8] - still[8]), 0.05);
    forward += pushed[8] > still[8];
  }
  EXPECT_NEAR(forward, 50, 17);
}

TEST(Push, ComesWithItsProbability) {
  const auto env =
      disturbed_task("InvertedPendulum-v4", {.push = {.probability = 0.2, .velocity = {1, 1}}});
  int pushes = 0;
  constexpr int episodes = 2000;
  std::vector<double> s(4);
  const double still = cart_speed(*standard_env("InvertedPendulum-v4"), 0);
  for (int seed = 0; seed < episodes; ++seed) {
    env->reset(seed, s);
    pushes += cart_speed(*env, 0) != still;
  }
  EXPECT_NEAR(pushes, 0.2 * episodes, 3.3 * std::sqrt(episodes * 0.2 * 0.8));
}

TEST(Push, UnknownBodyIsRefused) {
  EXPECT_EQ(message_of<OptionError>(
                [] { disturbed_task("Hopper-v4", {.push = {.probability = 1, .body = "arm"}}); }),
            "push.body = \"arm\": must be a body of the task that can move horizontally: "
            "torso, thigh, leg, foot");
  EXPECT_NO_THROW(disturbed_task("Hopper-v4", {.push = {.probability = 1, .body = "foot"}}));
}

TEST(Physics, RestoredStateContinuesBitIdentically) {
  Disturbances all = everything();
  all.model = {.mass = {0.5, 2},
               .friction = {0.5, 2},
               .damping = {0.5, 2},
               .gravity = {0.5, 2},
               .motor = {0.5, 2}};
  all.push = {.probability = 0.3, .velocity = {0, 0.1}};
  for (const std::string task : {"HalfCheetah-v4", "Ant-v4"}) {
    const auto a = disturbed_task(task, all), b = disturbed_task(task, all);
    EXPECT_NO_THROW(check(*a, 7)) << task;
    // also in another environment, which has had another episode
    const std::vector<double> action(a->action_space().low.size(), 0.3);
    std::vector<double> sa(a->observation_size()), sb(sa);
    a->reset(1, sa);
    b->reset(2, sb);
    for (int i = 0; i < 5; ++i) a->step(action, sa);
    ASSERT_TRUE(restore_state(*b, *saved_state(*a)));
    for (int i = 0; i < 30; ++i) {
      a->step(action, sa);
      b->step(action, sb);
      ASSERT_EQ(sa, sb);
    }
  }
}
#endif

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
