// An agent at work: stopped anywhere and restored it goes on as if nothing had happened, and what
// goes wrong says where.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "agent/algorithm.h"
#include "config/build.h"
#include "run/progress_csv.h"
#include "stats/statistics.h"
#include "train/epoch_loop.h"
#include "train/odd_task.h"
#include "train/whole_runs.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

Config loop_config(const std::string& task, const std::string& algorithm,
                   const std::vector<Setting>& more = {}) {
  std::vector<Setting> settings = {{"run.task", task, ""},
                                   {"run.algorithm", algorithm, ""},
                                   {"network.hidden", std::vector<double>{16, 16}, ""},
                                   {"network.width", 12.0, ""},
                                   {"network.actor_width", 9.0, ""},
                                   {"train.batch", 16.0, ""},
                                   {"train.warmup_steps", 40.0, ""},
                                   {"train.steps_per_epoch", 25.0, ""},
                                   {"train.eval_steps", 60.0, ""},
                                   {"train.replay", 60.0, ""},
                                   {"train.epochs", 6.0, ""},
                                   {"task.horizon", 30.0, ""}};
  settings.insert(settings.end(), more.begin(), more.end());
  return resolve_config(settings);
}

// What a process that resumes does: a new EpochLoop with the saved state and the rows.
std::unique_ptr<EpochLoop> reborn(const Config& config, EpochLoop& run) {
  const Sections saved = run.save();
  auto next = std::make_unique<EpochLoop>(config, run.seed());
  EXPECT_TRUE(next->restore(saved));
  const Replay& from = run.agent().replay();
  next->agent().replay().restore(0, from.raw(0, from.size()));
  next->agent().replay().set_added(from.added());
  return next;
}

struct Result {
  std::string rows;
  std::vector<float> learnt;
  int interruptions = 0;
  double seconds = 0;  // the length of an epoch, if there was no interruption
  bool operator==(const Result& other) const {
    return rows == other.rows && learnt == other.learnt;
  }
};

void collect(Result& result, EpochLoop& run, const std::optional<EpochRow>& row) {
  if (row) result.rows += csv_row(*row) + "\n";
  result.learnt.clear();
  for (const auto& [name, values] : run.agent().state().arrays)
    result.learnt.insert(result.learnt.end(), values.begin(), values.end());
}

Result whole(const Config& config) {
  Team team(1);
  EpochLoop run(config, 5);
  Result result;
  const auto begin = std::chrono::steady_clock::now();
  while (run.epochs_done() < 6) collect(result, run, run.epoch(team, kNever));
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 6;
  return result;
}

// Stopped again and again, a random time after each start, with another team every time. The
// longest must do for an evaluation, which begins anew each time, however slow the build is.
Result in_pieces(const Config& config, double longest_seconds) {
  Random random(1, Stream::user);
  auto run = std::make_unique<EpochLoop>(config, 5);
  Result result;
  while (run->epochs_done() < 6) {
    std::atomic<bool> stop{false};
    const std::chrono::duration<double> time(random.uniform(0, longest_seconds));
    std::thread clock([&] {
      std::this_thread::sleep_for(time);
      stop = true;
    });
    Team team(1 + result.interruptions % 2);
    const auto row = run->epoch(team, stop);
    clock.join();
    collect(result, *run, row);
    result.interruptions += !row;
    run = reborn(config, *run);
  }
  return result;
}

TEST(SlowEpochLoop, RestoreIsBitIdenticalAtEveryStep) {
  int interruptions = 0;
  for (const Algorithm& algorithm : algorithms()) {
    const Config config =
        loop_config("GridChaos-v0:s", algorithm.name,
                    {{"train.steps_per_epoch", 250.0, ""}, {"task.radius", 12.0, ""}});
    const Result expected = whole(config);
    const Result result = in_pieces(config, std::max(2e-3, expected.seconds));
    EXPECT_TRUE(result == expected) << algorithm.name << "\n" << result.rows << expected.rows;
    interruptions += result.interruptions;
  }
  EXPECT_GT(interruptions, 10);
}

TEST(SlowEpochLoop, RestoreIsBitIdenticalWithEveryProtocolKey) {
  for (const std::string algorithm : {"ovde_g", "dac", "td3", "ids"}) {
    std::vector<Setting> keys = {{"train.steps_per_epoch", 250.0, ""},
                                 {"train.updates_per_step", 0.5, ""},
                                 {"train.n_step", 5.0, ""},
                                 {"train.clip_gradient", 0.5, ""},
                                 {"train.normalise_observations", true, ""}};
    if (algorithm == "ovde_g") keys.push_back({"train.tune_temperature", false, ""});
    if (algorithm == "dac") keys.push_back({"dac.copy_updates", 90.0, ""});
    const Config config = loop_config("GridChaos-v0:s", algorithm, keys);
    const Result expected = whole(config);
    const Result result = in_pieces(config, std::max(2e-3, expected.seconds));
    EXPECT_TRUE(result == expected) << algorithm << "\n" << result.rows << expected.rows;
  }
}

TEST(SlowEpochLoop, RestoreIsBitIdenticalWithSeveralEnvironments) {
  for (const std::string algorithm : {"flashsac", "ovde_g", "td3", "ids"}) {
    std::vector<Setting> keys = {{"train.envs", 7.0, ""}, {"train.steps_per_epoch", 60.0, ""}};
    if (algorithm == "td3") keys.push_back({"td3.correlation", 0.5, ""});
    const Config config = loop_config("GridChaos-v0:s", algorithm, keys);
    const Result expected = whole(config);
    const Result result = in_pieces(config, std::max(2e-3, expected.seconds));
    EXPECT_TRUE(result == expected) << algorithm << "\n" << result.rows << expected.rows;
  }
}

// Episodes of 30 steps in 5 environments end in steps 146 to 150 of the run, and the next ones in
// steps 296 to 300.
TEST(SlowEpochLoop, EnvironmentsAreTakenInTurn) {
  const Config config = loop_config("GridChaos-v0:s", "dsac",
                                    {{"train.envs", 5.0, ""},
                                     {"train.steps_per_epoch", 104.0, ""},
                                     {"train.updates_per_step", 0.25, ""}});
  Team team(1);
  EpochLoop run(config, 5);
  std::vector<std::int64_t> ended;
  for (int i = 0; i < 3; ++i) {
    const auto row = run.epoch(team, kNever);
    ended.push_back(row->explore_episodes);
    EXPECT_EQ(row->env_steps, 40 + 104 * (i + 1));
    EXPECT_EQ(row->updates, 26 * (i + 1));
  }
  EXPECT_EQ(ended, (std::vector<std::int64_t>{0, 5, 5}));  // until steps 144, 248 and 352
  EXPECT_EQ(run.agent().replay().added(), 352);
}

// The positions of a warm-up differ from those of the policy's own actions where there is an
// explorer.
TEST(SlowEpochLoop, TheWarmUpMayExplore) {
  Team team(1);
  for (const std::string algorithm : {"dsac", "ovde_g"}) {
    std::vector<Position> after[2];
    for (const bool explores : {false, true}) {
      EpochLoop run(loop_config("GridChaos-v0:s", algorithm,
                                {{"record.visits", true, ""},
                                 {"train.warmup_actions",
                                  std::string(explores ? "behaviour" : "policy"), ""}}),
                    5);
      run.epoch(team, kNever);
      after[explores] = run.take_visits();
      after[explores].resize(40);
    }
    EXPECT_EQ(after[0] == after[1], algorithm == "dsac") << algorithm;
  }
}

// DOAC moves the mean by sqrt(2 delta) standard deviations, delta = 23.53, whatever the critics
// say.
TEST(SlowEpochLoop, MovesOfTheExplorerAreMeasured) {
  Team team(1);
  EpochLoop doac(loop_config("GridChaos-v0:s", "doac"), 5);
  const auto moved = doac.epoch(team, kNever);
  EXPECT_NEAR(moved->shift_std, std::sqrt(2 * 23.53), 0.01);
  EXPECT_NEAR(moved->shift_kl, 23.53, 0.1);
  EXPECT_LE(std::abs(moved->shift_cosine), 1);

  for (const char* algorithm : {"dsac", "dac", "ovde_td3", "ids"}) {
    EpochLoop none(loop_config("GridChaos-v0:s", algorithm), 5);
    const auto row = none.epoch(team, kNever);
    EXPECT_TRUE(std::isnan(row->shift_std)) << algorithm;
    EXPECT_TRUE(std::isnan(row->shift_kl)) << algorithm;
    EXPECT_TRUE(std::isnan(row->shift_cosine)) << algorithm;
  }
}

// Moves the first action dimension half a standard deviation up or down, at random.
class Swaying final : public Explorer {
 public:
  double shift(std::span<const float>, const ActorHead& head, Critics&, Random& random,
               std::span<double> mean) override {
    mean[0] += (random.uniform() < 0.5 ? -0.5 : 0.5) * head.std[0];
    return std::numeric_limits<double>::quiet_NaN();
  }
};

TEST(SlowEpochLoop, CosinesAreThoseOfConsecutiveStepsOfAnEpisode) {
  static const bool registered = [] {
    register_explorer({.name = "swaying", .make = [](const OptionValues&, int, int) {
                         return std::make_unique<Swaying>();
                       }});
    return true;
  }();
  EXPECT_TRUE(registered);
  Team team(1);
  for (const int environments : {1, 3}) {
    EpochLoop run(loop_config("GridChaos-v0:s", "swaying",
                              {{"train.envs", double(environments), ""},
                               {"train.steps_per_epoch", 100.0, ""}}),
                  5);
    const auto row = run.epoch(team, kNever);
    EXPECT_NEAR(row->shift_std, 0.5, 1e-9);
    EXPECT_NEAR(row->shift_kl, 0.125, 1e-9);

    // steps 40 to 139 of the run, episodes of 30 steps in each environment
    Random random(5, Stream::explorer);
    std::vector<double> moves(140);
    double sum = 0;
    int pairs = 0;
    for (int step = 40; step < 140; ++step) {
      moves[step] = random.uniform() < 0.5 ? -1 : 1;
      const int before = step - environments, number = step / environments;
      if (before < 40 || number % 30 == 0) continue;
      sum += moves[step] * moves[before];
      ++pairs;
    }
    EXPECT_NEAR(row->shift_cosine, sum / pairs, 1e-9) << environments;
  }
}

TEST(SlowEpochLoop, UpdatesPerStepAreKept) {
  for (const auto& [each, updates] : {std::pair{0.5, 13}, {0.001, 1}, {3.0, 75}}) {
    const Config config =
        loop_config("GridChaos-v0:s", "dsac", {{"train.updates_per_step", each, ""}});
    Team team(1);
    EpochLoop run(config, 5);
    EXPECT_EQ(run.epoch(team, kNever)->updates, updates);
    const auto row = run.epoch(team, kNever);
    EXPECT_EQ(row->updates, 2 * updates);
    EXPECT_EQ(row->env_steps, 40 + 2 * 25);
  }
}

TEST(SlowEpochLoop, FixedTemperatureStays) {
  const Config config =
      loop_config("GridChaos-v0:s", "sac",
                  {{"train.temperature", 0.25, ""}, {"train.tune_temperature", false, ""}});
  Team team(1);
  EpochLoop run(config, 5);
  for (int epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(run.epoch(team, kNever)->temperature, 0.25);
}

// Networks see the small changes of a coordinate far from zero.
TEST(SlowEpochLoop, NormalisedObservationsHaveMeanZeroAndDeviationOne) {
  const Config config = loop_config("GridChaos-v0:s", "dsac",
                                    {{"train.normalise_observations", true, ""},
                                     {"train.warmup_steps", 2000.0, ""},
                                     {"train.replay", 5000.0, ""}});
  Team team(1);
  EpochLoop run(config, 5);
  run.epoch(team, kNever);
  const Replay& replay = run.agent().replay();
  for (int i = 0; i < 2; ++i) {
    std::vector<double> values;
    for (std::int64_t n = 0; n < replay.size(); ++n) values.push_back(replay.row(n).observation[i]);
    EXPECT_NEAR(mean(values), 0, 0.5);  // other episodes than those it was measured on
    EXPECT_NEAR(standard_deviation(values), 1, 0.5);
  }
}

#ifdef OVDE_MUJOCO
TEST(SlowEpochLoop, RestoreIsBitIdenticalOnMujoco) {
  for (const char* task : {"Hopper-v4", "NoisyAnt-v4"}) {
    const Config config = loop_config(task, "ovde_q");
    const Result expected = whole(config);
    const Result result = in_pieces(config, std::max(2e-2, expected.seconds));
    EXPECT_TRUE(result == expected) << task << "\n" << result.rows << expected.rows;
    EXPECT_GT(result.interruptions, 0) << task;
  }
}
#endif

TEST(SlowEpochLoop, UnsavableEpisodeIsAbandoned) {
  register_odd_task();
  const Config config = loop_config("Odd-v0", "sac");
  Team team(1);
  EpochLoop run(config, 5);
  while (run.epochs_done() < 2) run.epoch(team, kNever);  // 90 steps: between two episodes
  EXPECT_TRUE(EpochLoop(config, 5).restore(run.save()));
  run.epoch(team, kNever);  // 115: within one
  EXPECT_FALSE(EpochLoop(config, 5).restore(run.save()));
}

std::string fault_message(const std::string& fault, int at) {
  register_odd_task();
  const Config config =
      loop_config("Odd-v0", "sac", {{"task.fault", fault, ""}, {"task.at", double(at), ""}});
  Team team(1);
  EpochLoop run(config, 7);
  return message_of<Error>([&] {
    for (int epoch = 0; epoch < 6; ++epoch) run.epoch(team, kNever);
  });
}

// The first 40 steps are the warm-up's. An epoch has 25 steps and then, in an environment of its
// own, an evaluation of 60: the second evaluation reaches step 100 first.
TEST(SlowEpochLoop, ErrorsOfTheEnvironmentAreNamed) {
  expect_words(fault_message("throw", 30),
               {"the environment failed", "the motor is on fire",
                "; in the run of Odd-v0 with seed 7: ", "epoch 1, environment step 30, update 0"});
  expect_words(fault_message("throw", 100),
               {"the environment of the evaluation failed", "on fire"});
}

TEST(SlowEpochLoop, NonFiniteNumbersAreNamed) {
  expect_words(
      fault_message("reward", 30),
      {"a reward is nan, in the run of Odd-v0 with seed 7: epoch 1, environment step 30, "});
  expect_words(fault_message("observation", 30), {"an observation is nan", "environment step 30"});
  expect_words(fault_message("reward", 100), {"a return of the evaluation is nan", "seed 7"});
  expect_words(fault_message("observation", 100), {"an observation of the evaluation", "seed 7"});
  expect_words(fault_message("large reward", 30), {"a reward is 1e+300, too large for 32 bits"});
  EXPECT_EQ(fault_message("none", 30), "");
}

// What a row says of the evaluation is of the very policy that the agent has after its updates.
TEST(SlowEpochLoop, RowHasTheEvaluationAfterItsUpdates) {
  const Config config = loop_config("GridChaos-v0:s", "dsac", {{"task.radius", 12.0, ""}});
  Team team(1);
  EpochLoop run(config, 5);
  for (int epoch = 0; epoch < config.train.epochs; ++epoch) {
    const auto row = run.epoch(team, kNever);
    ASSERT_EQ(row->updates, static_cast<std::int64_t>(run.agent().updates()));
    const auto env = make_environment(config);
    Evaluation again(
        *env, [&](auto observation, auto action) { run.agent().act(observation, action); },
        Random(5, Stream::evaluation_seeds, static_cast<std::uint32_t>(epoch + 1)),
        config.train.eval_steps, 1000);
    again.advance(1000, kNever);
    EXPECT_EQ(row->eval_return_mean, mean(again.result().returns)) << epoch;
    EXPECT_EQ(row->eval_episodes, double(again.result().returns.size())) << epoch;
  }
}

TEST(SlowEpochLoop, EvaluatesEveryKthEpochAndTheLast) {
  const auto rows_of = [](double every) {
    const Config config = loop_config("GridChaos-v0:s", "dsac", {{"train.eval_epochs", every, ""}});
    Team team(1);
    EpochLoop run(config, 5);
    std::vector<EpochRow> rows;
    while (run.epochs_done() < config.train.epochs) rows.push_back(*run.epoch(team, kNever));
    return rows;
  };
  const auto all = rows_of(1), some = rows_of(4), last = rows_of(100);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(std::isnan(some[i].eval_return_mean), i != 3 && i != 5) << i;
    EXPECT_EQ(std::isnan(last[i].eval_return_mean), i != 5) << i;
    EXPECT_EQ(some[i].critic_loss, all[i].critic_loss) << i;  // the run is the same
  }
  for (const int i : {3, 5}) EXPECT_EQ(some[i].eval_return_mean, all[i].eval_return_mean);
}

TEST(SlowEpochLoop, ScoreEpochsHaveTheirOwnInterval) {
  TrainConfig train;
  train.epochs = 100;
  train.eval_epochs = 30;
  const auto evaluated = [&](int score_eval_epochs) {
    train.score_eval_epochs = score_eval_epochs;
    std::vector<int> epochs;
    for (int i = 0; i < train.epochs; ++i) {
      if (is_evaluated(i, train)) epochs.push_back(i);
    }
    EXPECT_EQ(evaluation_count(train), std::ssize(epochs));
    return epochs;
  };
  EXPECT_EQ(evaluated(30), (std::vector{29, 59, 89, 99}));
  // every third of the last eight too
  EXPECT_EQ(evaluated(3), (std::vector{29, 59, 89, 92, 95, 98, 99}));
  EXPECT_EQ(evaluated(200), (std::vector{29, 59, 89, 99}));
}

TEST(SlowEpochLoop, NonFiniteNumbersAreNotSaved) {
  EpochLoop run(loop_config("GridChaos-v0:s", "dsac"), 5);
  for (auto& [name, values] : run.agent().state().arrays) {
    EXPECT_NO_THROW(run.save());
    const float before = std::exchange(values[0], std::numeric_limits<float>::infinity());
    EXPECT_THROW(run.save(), Error) << name;
    values[0] = before;
  }
}

TEST(SlowEpochLoop, NonFiniteLossStopsTheRun) {
  EpochLoop run(loop_config("GridChaos-v0:s", "dsac"), 5);
  Team team(1);
  run.epoch(team, kNever);
  for (auto& [name, values] : run.agent().state().arrays) {
    if (name == "critic_1.parameters") values[0] = std::numeric_limits<float>::quiet_NaN();
  }
  run.agent().restored();
  expect_words(message_of<Error>([&] { run.epoch(team, kNever); }),
               {"loss is nan", "seed 5", "epoch 2", "update 26"});
}

TEST(SlowEpochLoop, RefusesTheStateOfAnotherRun) {
  const Config config = loop_config("GridChaos-v0:s", "dsac");
  EpochLoop run(config, 5);
  const Sections saved = run.save();
  EXPECT_THROW(EpochLoop(config, 6).restore(saved), Error);  // another seed
  EXPECT_THROW(EpochLoop(loop_config("GridChaos-v0:s", "sac"), 5).restore(saved), Error);
  EXPECT_THROW(EpochLoop(config, 5).restore({}), Error);
  for (const auto& [name, contents] : saved) {
    for (const std::size_t size : {std::size_t{0}, contents.size() / 2, contents.size() - 1}) {
      Sections cut = saved;
      cut[name].resize(size);
      EXPECT_THROW(EpochLoop(config, 5).restore(cut), Error) << name << " " << size;
    }
    Sections longer = saved;
    longer[name].push_back({});
    EXPECT_THROW(EpochLoop(config, 5).restore(longer), Error) << name;
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
