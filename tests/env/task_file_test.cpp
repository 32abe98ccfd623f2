#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <ovde/check.h>
#include <ovde/env.h>
#include <ovde/error.h>

#include "env/disturbances/disturbances.h"
#include "env/mujoco/guard.h"
#include "env/mujoco/model.h"
#include "env/mujoco/simulation.h"
#include "env/noise.h"
#include "env/registry.h"
#include "env/rollout_check.h"
#include "env/standard_env.h"
#include "env/task_check.h"
#include "env/task_file/expression.h"
#include "io/files.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;
using namespace std::string_literals;

struct Pair {
  const char *task, *file;  // "Hopper-v4", "hopper"
};

std::string task_file(const Pair& pair) {
  return fmt::format("{}/configs/tasks/{}.toml", OVDE_SOURCE_DIR, pair.file);
}

// The tasks of Gymnasium that are written in C++ and as task files.
class BothForms : public testing::TestWithParam<Pair> {};

TEST_P(BothForms, ReproduceTheRecordedRollouts) {
  const std::string recording =
      fmt::format("{}/tests/data/mujoco/{}.rollouts.json", OVDE_SOURCE_DIR, GetParam().task);
  const ReplayResult built_in = replay(recording), file = replay(recording, task_file(GetParam()));
  EXPECT_EQ(file.task, task_file(GetParam()));
  EXPECT_EQ(file.steps, 50);
  EXPECT_EQ(file.ends, 0);
  EXPECT_EQ(file.first_observation, built_in.first_observation);
  EXPECT_EQ(file.observation, built_in.observation);
  // sums may be contracted differently
  EXPECT_NEAR(file.reward, built_in.reward, 1e-12);
}

// Plays both with the same random actions, some outside the action space.
void expect_equal(Env& a, Env& b, int steps) {
  std::vector<double> action(a.action_space().size()), in_a(a.observation_size()), in_b(in_a);
  ASSERT_EQ(b.observation_size(), a.observation_size());
  Random random(1, Stream::user);
  a.reset(1, in_a);
  b.reset(1, in_b);
  ASSERT_EQ(in_a, in_b);
  for (int i = 0; i < steps; ++i) {
    for (double& x : action) x = random.uniform(-1.2, 1.2) * a.action_space().high[0];
    const Step one = a.step(action, in_a), other = b.step(action, in_b);
    ASSERT_EQ(in_a, in_b) << i;
    ASSERT_NEAR(one.reward, other.reward, 1e-12 * (1 + std::abs(one.reward))) << i;
    ASSERT_EQ(one.terminated, other.terminated) << i;
    if (!one.terminated) continue;
    a.reset(100 + i, in_a);
    b.reset(100 + i, in_b);
    ASSERT_EQ(in_a, in_b) << i;
  }
}

TEST_P(BothForms, StepAlike) {
  const auto a = standard_env(GetParam().task), b = standard_env(task_file(GetParam()));
  EXPECT_EQ(a->action_space().low, b->action_space().low);
  EXPECT_EQ(a->action_space().high, b->action_space().high);
  expect_equal(*a, *b, 200);
}

TEST_P(BothForms, AreDisturbedAlike) {
  const NoiseOptions noise{.transition = true, .scales = {0, 0.01}, .relative = true};
  const Disturbances more{.delay = {},
                          .sensor = {},
                          .actuator = {.lag = {1, 2}},
                          .model = {.mass = {0.5, 1.5}},
                          .push = {.probability = 0.1}};
  const auto disturbed = [&](const std::string& task) {
    return with_disturbances(standard_env(task), noise, more, task);
  };
  expect_equal(*disturbed(GetParam().task), *disturbed(task_file(GetParam())), 60);
}

TEST_P(BothForms, NameTheirNumbersAlike) {
  const Signals a = standard_env(GetParam().task)->signals();
  const Signals b = standard_env(task_file(GetParam()))->signals();
  EXPECT_DOUBLE_EQ(a.rate, b.rate);
  for (const auto& [mine, file] : {std::pair(a.observation, b.observation), {a.action, b.action}}) {
    ASSERT_EQ(mine.size(), file.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      EXPECT_EQ(mine[i].name, file[i].name);
      EXPECT_EQ(mine[i].unit, file[i].unit) << mine[i].name;
    }
  }
}

TEST_P(BothForms, AreSound) { check(*standard_env(task_file(GetParam())), 3); }

INSTANTIATE_TEST_SUITE_P(All, BothForms,
                         testing::Values(Pair{"Hopper-v4", "hopper"},
                                         Pair{"HalfCheetah-v4", "half_cheetah"},
                                         Pair{"InvertedPendulum-v4", "inverted_pendulum"},
                                         Pair{"Walker2d-v4", "walker2d"},
                                         Pair{"Swimmer-v4", "swimmer"},
                                         Pair{"Reacher-v4", "reacher"}, Pair{"Ant-v4", "ant"}),
                         [](const auto& pair) {
                           const std::string name = pair.param.task;
                           return name.substr(0, name.find('-'));
                         });

// A task file beside a model with a free joint, hinges, a position servo and sensors.
class OneTaskFile : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path() / "robot.xml") << R"(<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="base" pos="0 0 1">
      <freejoint name="base"/>
      <geom name="trunk" type="box" size="0.2 0.1 0.05" mass="2"/>
      <site name="imu" pos="0.1 0 0"/>
      <body name="arm" pos="0.2 0 0">
        <joint name="elbow" type="hinge" axis="0 1 0" range="-1 1" limited="true"/>
        <geom name="hand" type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.5"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="elbow" joint="elbow" kp="20" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
  <sensor>
    <gyro name="gyro" site="imu"/>
    <accelerometer name="acceleration" site="imu"/>
  </sensor>
  <keyframe>
    <key name="home" qpos="0 0 0.5 1 0 0 0 0.3" ctrl="0.3"/>
  </keyframe>
</mujoco>)";
  }

  std::string with(const std::string& text) const {
    const std::string path = folder_.path() / "robot.toml";
    std::ofstream(path) << text;
    return path;
  }

  // A valid file in which `from` is replaced.
  std::string changed(const std::string& from, const std::string& to) const {
    std::string text = R"(model = "robot.xml"
horizon = 40
observation = [
  'joint("elbow").pos',
  'sensor("gyro")',
  'command.speed',
]
reward = [
  { name = "speed", value = 'body("base").vel.x' },
  { name = "effort", value = 'action', weight = [-0.1] },
]
end = ['body("base").pos.z < 0.1']

[control]
rate = 50

[command]
speed = [0.5, 1]

[reset]
keyframe = "home"
)";
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return with(text);
  }

  // `find`: find_task(), or refresh_task_file() for a new run.
  template <typename Find>
  std::string error_of(const std::string& path, Find find) const {
    try {
      find(path);
    } catch (const InputError& error) {
      const std::string text = error.what();
      const auto folder = text.find(folder_.path().string());
      return folder == 0 ? text.substr(folder_.path().string().size() + 1) : text;
    }
    return "no error";
  }
  std::string error_of(const std::string& path) const { return error_of(path, find_task); }

  static bool has_remark(const std::string& path, const std::string& words) {
    return std::ranges::any_of(check_task_file(path, 100, 0).remarks, [&](const auto& remark) {
      return remark.find(words) != std::string::npos;
    });
  }

  TemporaryFolder folder_;
};

TEST_F(OneTaskFile, ErrorsHaveLineAndNearestName) {
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"joint(\"elbow\")", "joint(\"elbo\")",
       "robot.toml:4: unknown joint 'elbo' (did you mean 'elbow'?)"},
      {"sensor(\"gyro\")", "sensor(\"gyra\")",
       "robot.toml:5: unknown sensor 'gyra' (did you mean 'gyro'?)"},
      {"body(\"base\").vel", "body(\"bas\").vel",
       "robot.toml:9: unknown body 'bas' (did you mean 'base'?)"},
      {".vel.x", ".vell.x", "robot.toml:9: unknown quantity 'vell' (did you mean 'vel'?)"},
      {"'body(\"base\").vel.x'", "'norn(qvel)'",
       "robot.toml:9: unknown function 'norn' (did you mean 'norm'?)"},
      {"command.speed", "command.sped",
       "robot.toml:6: unknown name 'command.sped' (did you mean 'command.speed'?)"},
      {"rate = 50", "rate = 50\nactuators = [\"elbow\", \"elbow\"]",
       "robot.toml:16: an actuator is named twice"},
      {"[control]", "[constants]\ndt = 1000.0\n[control]",
       "robot.toml:15: formulas have a dt of their own"},
      {"[-0.1]", "[-0.1, 2]", "robot.toml:10: reward 'effort': 2 weights for a value of size 1"},
      {"'action'", "'action[0'", "robot.toml:10: ']' is missing at the end"},
      {"'action'", "'sqrt(-1 - action)'", "robot.toml:10: reward 'effort' is NaN"},
      {"'action'", "'action[1]'", "robot.toml:10: index 1 of a vector of 1: the last one is 0"},
      {"'action'", "'action[-1]'", "robot.toml:10: an index must not be negative"},
      {"'action'", "'qvel'", "robot.toml:10: reward 'effort': 1 weights for a value of size 7"},
      {"robot.xml", "robo.xml",
       "robot.toml:1: unknown model file 'robo.xml' (did you mean 'robot.xml'?)"},
      {"rate = 50", "rate = 60",
       "robot.toml:15: an action must last a whole number of the model's steps of 0.005 s: rate "
       "may be 66.666667 or 50"},
      {"rate = 50", "rate = 300", "rate may be 200 or 100"},
      {"rate = 50", "rate = 0", "robot.toml:15: rate is the number of actions per second"},
      {"rate = 50", "actuators = []", "robot.toml:15: actuators must name one at least"},
      {"speed = [0.5, 1]", "speed = [0, inf]",
       "robot.toml:18: the range of speed must be a number from -1e12 to 1e12"},
      {"keyframe", "draw = [{ positions = \"all\", normal = -1 }]\nkeyframe",
       "robot.toml:21: normal must not be negative"},
      {"rate = 50", "rat = 50", "robot.toml:15: unknown key 'rat' (did you mean 'rate'?)"},
      {"keyframe = \"home\"", "keyframe = \"hom\"",
       "robot.toml:21: unknown keyframe 'hom' (did you mean 'home'?)"},
      {"< 0.1'", "< qvel'", "robot.toml:12: a condition must be one number, not 7"},
      {"'command.speed'", "'command.speed + 1'", "robot.toml:6: give this observation a name"},
      {"'command.speed'", "'log(-command.speed)'", "robot.toml:6: the observation is "},
  };
  for (const auto& one : cases) {
    const std::string message = error_of(changed(one.from, one.to));
    EXPECT_NE(message.find(one.message), std::string::npos) << message;
  }
  EXPECT_EQ(error_of(changed("40", "50")), "no error");
  EXPECT_EQ(error_of(changed("rate = 50", "rate = 66.666667")), "no error");  // as the error says
}

// Files of runs of version 1.0.0 may have these.
TEST_F(OneTaskFile, OnlyNewRunsRefuse) {
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"horizon = 40", "summary = \"one\\ntwo\"", "robot.toml:2: summary must be one line"},
      {"horizon = 40", "summary = \"one\\u007F\"", "robot.toml:2: summary must be one line"},
      {"'command.speed'", "{ name = \"a\\nb\", value = 'command.speed' }",
       "robot.toml:6: the name and unit of observation 'a b' must be text of one line"},
      {"'command.speed'", "{ name = \"\", value = 'command.speed' }",
       "robot.toml:6: the name and unit of observation '' must be"},
      {"'command.speed'", "{ name = [1], value = 'command.speed' }",
       "robot.toml:6: the name and unit of observation '' must be"},
      {"'command.speed'", "{ name = \"v\", value = 'command.speed', unit = \"m\\n\" }",
       "robot.toml:6: the name and unit of observation 'v' must be"},
      {"'command.speed'", "'sensor(\"gyro\")'",
       "robot.toml:6: observation 'gyro_x' is there twice: give each a name of its own"},
      {"'command.speed'", "{ name = [\"a\", \"a\", \"b\"], value = 'sensor(\"gyro\")' }",
       "robot.toml:6: observation 'a' is there twice"},
      {"end = [", "end = ['body(\"base\").pos.z < 0.1', ",
       "robot.toml:12: end 'body(\"base\").pos.z < 0.1' is there twice"},
      {"end = [", "end = [{ name = \"\\t\", when = 'time > 1' }, ",
       "robot.toml:12: the name of end ' ' must be text of one line"},
      {"end = [", "end = ['2 > 1', ", "robot.toml:12: '2 > 1' is 1 in every step"},
      {"[control]", "[constants]\n\"a b\" = 1\n[control]",
       "robot.toml:15: formulas cannot read 'a b': a name has letters, digits and _"},
      {"[control]", "[constants]\nand = 1\n[control]", "formulas cannot read 'and'"},
      {"speed = [0.5, 1]", "\"9\" = 1\nspeed = [0.5, 1]", "formulas cannot read '9'"},
      {"speed = [0.5, 1]", "speed = { range = [0.5, 1], every = 0.03 }",
       "robot.toml:18: every must be a whole number of actions, which last 0.02 s"},
      {"rate = 50", "scale = [0]", "robot.toml:15: scale must not be 0"},
      {"keyframe", "pose = { base = 1 }\nkeyframe",
       "robot.toml:21: base must be a list of 7 numbers"},
      {"keyframe", "draw = [{ positions = [], normal = 1 }]\nkeyframe",
       "robot.toml:21: must name one joint at least"},
      {"keyframe", "draw = [{ positions = [\"elbow\", \"elbow\"], normal = 1 }]\nkeyframe",
       "robot.toml:21: a joint is named twice"},
      {"[control]",
       "[spread]\npositions = [-1, 0, 0, 0, 0, 0, 0]\nvelocities = [0, 0, 0, 0, 0, 0, "
       "0]\n[control]",
       "robot.toml:15: positions must not be negative"},
  };
  for (const auto& one : cases) {
    const std::string message = error_of(changed(one.from, one.to), refresh_task_file);
    EXPECT_NE(message.find(one.message), std::string::npos) << message;
  }
  EXPECT_EQ(error_of(changed("'command.speed'", "'sensor(\"gyro\")'")), "no error");
}

TEST_F(OneTaskFile, FormulasOfSeveralLinesAreEnds) {
  refresh_task_file(changed("'body(\"base\").pos.z < 0.1'", "\"\"\"time > 1\nor time > 2\"\"\""));
}

TEST_F(OneTaskFile, BrokenModelsAreErrors) {
  const std::string file = changed("40", "50");
  const auto model = [&](const std::string& text) {
    std::ofstream(folder_.path() / "robot.xml") << text;
    return error_of(file);
  };
  EXPECT_NE(model("<mujoco><worldbody><geom type='bal'/></worldbody></mujoco>")
                .find("robot.toml:1: model"),
            std::string::npos);
  std::ofstream(folder_.path() / "part.xml") << "<mujoco><include file='robot.xml'/></mujoco>";
  const std::string loop = model("<mujoco><include file='part.xml'/></mujoco>");
  EXPECT_NE(loop.find("robot.toml:1: model"), std::string::npos) << loop;
  EXPECT_NE(loop.find("already included"), std::string::npos) << loop;
}

// Evaluates a formula in the first state, where the robot stands as in the keyframe.
TEST_F(OneTaskFile, FormulasHaveTheValuesOfArithmetic) {
  const std::pair<const char*, double> cases[] = {
      {"1 + 2 * 3", 7},
      {"-2^2", -4},
      {"2^-1", 0.5},
      {"(1 + 2) * 3 - 4 / 2", 7},
      {"1 < 2 and not 2 <= 1 or 0", 1},
      {"3 > 2 && 2 != 2 || 1 == 2", 0},
      {"clip(5, -1, 2) + min(3, 4) + max([1, 7, 3])", 12},
      {"sum([1, 2, 3]^2) + mean([2, 4])", 17},
      {"norm([3, 4]) + dot([1, 2], [3, 4]) + abs(-2)", 18},
      {"all([1, 1]) + any([0, 0]) + if(2 > 1, 5, 6)", 6},
      {"sqrt(16) + atan2(0, 1) + floor(2.7) + sign(-3)", 5},
      {"body(\"base\").pos.z", 0.5},
      {"joint(\"elbow\").pos + joint(\"base\").pos[2]", 0.8},
      {"body(\"base\").gravity.z", -1},
      {"geom(\"hand\").pos.x > 0.2", 1},
      {"contact(\"trunk\", \"floor\") + contact(\"hand\")", 0},
      {"actuator(\"elbow\").ctrl", 0},
      {"dt * 50", 1},
      {"before(body(\"base\").pos.z) + rate(qpos[2])", 0.5},
  };
  for (const auto& [formula, expected] : cases) {
    SCOPED_TRACE(formula);
    const std::string file =
        changed("'command.speed'", fmt::format("{{ name = \"x\", value = '{}' }}", formula));
    refresh_task_file(file);
    const auto env = standard_env(file);
    std::vector<double> observation(env->observation_size());
    env->reset(1, observation);
    EXPECT_NEAR(observation.back(), expected, 1e-12);
  }
}

TEST_F(OneTaskFile, EpisodesAreSoundAndResume) {
  const auto env = standard_env(changed(
      "'command.speed'",
      "'command.speed', 'before(action)', 'site(\"imu\").local_vel', 'body(\"base\").gravity'"));
  EXPECT_EQ(env->observation_size(), 1 + 3 + 1 + 1 + 3 + 3);
  check(*env, 5);
  const auto terms = env->as<RewardTerms>()->reward_terms();
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_EQ(terms[0].name, "speed");
}

TEST_F(OneTaskFile, CommandsAreDrawnAgain) {
  const auto env = standard_env(
      changed("speed = [0.5, 1]", "speed = { range = [0.5, 1], unit = \"m/s\", every = 0.1 }"));
  EXPECT_EQ(env->signals().observation.back().unit, "m/s");
  std::vector<double> observation(env->observation_size()), seen;
  env->reset(1, observation);
  for (int i = 0; i < 10; ++i) {
    seen.push_back(observation.back());
    env->step(std::vector<double>{0}, observation);
  }
  for (const double x : seen) EXPECT_TRUE(x >= 0.5 && x <= 1);
  EXPECT_EQ(seen[0], seen[4]);
  EXPECT_NE(seen[4], seen[5]);
  EXPECT_EQ(seen[5], seen[9]);
}

TEST_F(OneTaskFile, ScaledActionsMoveAroundACentre) {
  const auto env = standard_env(changed("rate = 50", "rate = 50\ncentre = \"home\"\nscale = 0.5"));
  EXPECT_EQ(env->action_space().low, std::vector<double>{-1});
  EXPECT_EQ(env->signals().action[0].unit, "0.5 x rad around 0.3");
  EXPECT_DOUBLE_EQ(env->signals().rate, 50);
}

TEST_F(OneTaskFile, ControlsBeyondTheirRangeSaySo) {
  const std::string path = changed("rate = 50", "rate = 50\ncentre = \"home\"\nscale = 0.8");
  EXPECT_EQ(standard_env(path)->signals().action[0].unit,
            "0.8 x rad around 0.3, clipped to -1 to 1");
  EXPECT_TRUE(has_remark(path, "control.scale takes elbow beyond its ctrlrange, -1 to 1"));
  EXPECT_FALSE(
      has_remark(changed("rate = 50", "rate = 50\ncentre = \"home\"\nscale = 0.7"), "ctrlrange"));
}

TEST_F(OneTaskFile, DrawsBeyondTheLimitsOfAJointAreRemarked) {
  const auto with_draw = [&](const std::string& draw) {
    return changed("keyframe = \"home\"",
                   "keyframe = \"home\"\ndraw = [{ positions = [\"elbow\"], " + draw + " }]");
  };
  // one degree each way
  EXPECT_TRUE(has_remark(with_draw("range = [-1, 0]"),
                         "joint elbow to -1 to 0, beyond its range, -0.01745 to 0.01745 (rad)"));
  EXPECT_TRUE(has_remark(with_draw("uniform = 0.1"), "joint elbow to 0.2 to 0.4"));
  EXPECT_FALSE(has_remark(with_draw("range = [-0.01, 0.01]"), "reset.draw"));
}

TEST_F(OneTaskFile, SuccessesAreCounted) {
  const std::string end = "end = ['body(\"base\").pos.z < 0.1']";
  EXPECT_FALSE(check_task_file(changed("40", "40"), 100, 0).has_success);
  const TaskCheck never = check_task_file(changed(end, "success = 'action > 2'"), 100, 0);
  EXPECT_TRUE(never.has_success);
  EXPECT_EQ(never.random.successes, 0);
  // episodes of 40, 40 and 20 steps
  const TaskCheck always = check_task_file(changed(end, "success = 'action < 2'"), 100, 0);
  EXPECT_EQ(always.random.episodes, 3);
  EXPECT_EQ(always.random.successes, 3);
}

TEST_F(OneTaskFile, ScaledObservationsSaySo) {
  const auto env =
      standard_env(changed("'sensor(\"gyro\")'", "'0.05 * sensor(\"gyro\")', 'qvel[6:] / 10'"));
  EXPECT_EQ(env->signals().observation[1].name, "gyro_x");
  EXPECT_EQ(env->signals().observation[1].unit, "20 rad/s");
  EXPECT_EQ(env->signals().observation[4].name, "elbow_velocity");
  EXPECT_EQ(env->signals().observation[4].unit, "10 rad/s");
}

TEST_F(OneTaskFile, ChangesAreTakenByANewTaskOnly) {
  const std::string file = changed("40", "50");
  const Task& first = find_task(file);
  const OptionValues options(first.options);
  EXPECT_EQ(task_file_changes(file, options), "");
  changed("40", "60");
  EXPECT_EQ(find_task(file).horizon, 50);
  EXPECT_EQ(task_file_changes(file, options), file + " has changed since the run began");
  refresh_task_file(file);
  EXPECT_EQ(find_task(file).horizon, 60);
  EXPECT_EQ(first.horizon, 50);
  EXPECT_NE(first.make(options), nullptr);
}

TEST_F(OneTaskFile, CopiesHaveAllFilesOfTheModel) {
  std::filesystem::create_directory(folder_.path() / "parts");
  std::ifstream in(folder_.path() / "robot.xml");
  std::ofstream(folder_.path() / "parts" / "arm.xml") << in.rdbuf();
  std::ofstream(folder_.path() / "robot.xml")
      << "<mujoco><!-- <include file='no.xml'/> --><include file='parts/arm.xml'/></mujoco>";
  const std::string file = changed("40", "50");
  TemporaryFolder run;
  save_task_copy(file, OptionValues(find_task(file).options), run.path() / "task");
  EXPECT_EQ(run.names(), (std::vector<std::string>{"task", "task/parts", "task/parts/arm.xml",
                                                   "task/robot.toml", "task/robot.xml"}));
}

TEST_F(OneTaskFile, ACopyHasTheNamesOfAllItsRuns) {
  const std::string file = changed("40", "50");
  const std::string digest = OptionValues(find_task(file).options).text("sha256");
  for (const char* name : {"nowhere/robot.toml", "elsewhere/robot.toml"}) {
    use_task_copy(name, digest, folder_.path());
    EXPECT_EQ(find_task(name).horizon, 50);
  }
}

// A run must be able to continue with its copy alone.
TEST_F(OneTaskFile, ModelsThatCannotBeCopiedAreRefused) {
  const std::string text = read_file(folder_.path() / "robot.xml");
  TemporaryFolder elsewhere;
  for (const fs::path& folder : {folder_.path() / "ground", elsewhere.path()}) {
    fs::create_directories(folder);
    std::ofstream(folder / "flat.bin") << "\2\0\0\0\2\0\0\0"s + std::string(16, '\0');
  }
  const auto with_field = [&](const std::string& compiler, const fs::path& file) {
    std::string model = text;
    model.replace(model.find("<worldbody>"), 0,
                  fmt::format("<compiler {}/><asset><hfield name='f' size='1 1 1 1' file='{}'/>"
                              "</asset>",
                              compiler, file.string()));
    std::ofstream(folder_.path() / "robot.xml") << model;
    return error_of(changed("40", "50"), refresh_task_file);
  };
  const std::string refused = "runs keep a copy of the model: the path of ";
  EXPECT_NE(with_field("", elsewhere.path() / "flat.bin").find(refused), std::string::npos);
  EXPECT_NE(
      with_field(fmt::format("meshdir='{}'", elsewhere.path().string()), "flat.bin").find(refused),
      std::string::npos);
  EXPECT_EQ(with_field("meshdir='ground' strippath='true'", "/of/another/machine/flat.bin"),
            "no error");
  const std::string file = changed("40", "50");
  TemporaryFolder run;
  save_task_copy(file, OptionValues(find_task(file).options), run.path() / "task");
  EXPECT_TRUE(fs::exists(run.path() / "task/ground/flat.bin"));

  const std::string model = (folder_.path() / "robot.xml").string();
  EXPECT_EQ(error_of(changed("robot.xml", model), refresh_task_file),
            "robot.toml:1: runs keep a copy of the model: its path must be relative to this file");
}

TEST_F(OneTaskFile, TimeRunsForwards) {
  std::string text = read_file(folder_.path() / "robot.xml");
  text.replace(text.find("0.005"), 5, "-0.01");
  std::ofstream(folder_.path() / "robot.xml") << text;
  EXPECT_EQ(error_of(changed("40", "50")),
            "robot.toml:1: the model's timestep is -0.01 s; must be above 0");
}

TEST_F(OneTaskFile, MeshesAreDrawnAsBoxes) {
  const fs::path model = folder_.path() / "robot.xml";
  std::string text = read_file(model);
  text.replace(text.find("<worldbody>"), 0,
               "<asset><mesh name='wedge' vertex='0 0 0 2 0 0 0 1 0 0 0 0.5'/></asset>");
  const std::string box = "<geom name=\"trunk\" type=\"box\" size=\"0.2 0.1 0.05\" mass=\"2\"/>";
  text.replace(text.find(box), box.size(),
               "<geom name='trunk' type='mesh' mesh='wedge' mass='2'/>");
  std::ofstream(model) << text;
  const auto env = standard_env(changed("40", "50"));
  const auto solids = env->as<Drawable>()->solids();
  ASSERT_EQ(solids.size(), 3u);
  EXPECT_EQ(solids[1].kind, Solid::Kind::box);
  EXPECT_GT(std::ranges::max(solids[1].size), 0.5);
}

TEST(Formulas, AnyTextIsAValueOrAnError) {
  const char* const pieces[] = {"(",
                                ")",
                                "[",
                                "]",
                                ",",
                                ".",
                                "+",
                                "-",
                                "*",
                                "/",
                                "^",
                                "<",
                                ">=",
                                "and",
                                "not",
                                "qpos",
                                "1",
                                "2.5",
                                ":",
                                "norm(",
                                "clip(",
                                "min(",
                                "if(",
                                "sum(",
                                "before(",
                                "rate(",
                                "x",
                                "joint(\"leg\")",
                                ".pos",
                                "vel",
                                "\"",
                                "sensor(",
                                "body(\"foot\").vel"};
  const auto model = shared_model("hopper");
  const DataPointer data = make_data(*model);
  guarded([&] { mj_forward(model.get(), data.get()); });
  Random random(1, Stream::user);
  int values = 0;
  for (int n = 0; n < 4000; ++n) {
    std::string text;
    for (auto left = random.below(12) + 1; left > 0; --left)
      text += pieces[random.below(std::size(pieces))];
    FormulaCompiler compiler(*model, *data);
    compiler.define("dt", compiler.constant(0.01));
    Program program;
    try {
      compiler.compile(text, program);
    } catch (const InputError&) {
      continue;
    }
    std::vector<double> cells = compiler.cells();
    program.run(*model, *data, cells);
    ++values;
  }
  EXPECT_GT(values, 20);
  FormulaCompiler compiler(*model, *data);
  Program program;
  EXPECT_THROW(compiler.compile(std::string(100000, '('), program), InputError);
  EXPECT_THROW(compiler.compile("2" + std::string(100000, '^'), program), InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
