// Training in lockstep, with a stand-in for the GPU that computes as the CPU does: the results of a
// run must be those of training on the CPU, to the byte.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/train.h>
#include "run/run_folder.h"
#include "run/run_status.h"
#include "temporary_folder.h"
#include "train/odd_task.h"
#include "train/stand_in_population.h"
#include "train/trainer.h"
#include "train/whole_runs.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr int kEpochsInStep = 5;

Config small_config(const std::string& algorithm, const std::vector<Setting>& more = {},
                    const std::string& task = "GridChaos-v0:s") {
  std::vector<Setting> settings = {{"run.task", task, ""},
                                   {"run.algorithm", algorithm, ""},
                                   {"network.hidden", std::vector<double>{8, 8}, ""},
                                   {"train.batch", 8.0, ""},
                                   {"train.warmup_steps", 20.0, ""},
                                   {"train.steps_per_epoch", 25.0, ""},
                                   {"train.eval_steps", 130.0, ""},
                                   {"train.replay", 60.0, ""},
                                   {"train.epochs", double(kEpochsInStep), ""},
                                   {"task.horizon", 40.0, ""},
                                   {"checkpoint.epochs", 1.0, ""}};
  settings.insert(settings.end(), more.begin(), more.end());
  return resolve_config(settings);
}

// The sizes of small residual networks.
const std::vector<Setting> kResidual = {
    {"network.width", 8.0, ""}, {"network.actor_width", 8.0, ""}, {"network.blocks", 1.0, ""}};

class SlowLockstepTraining : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  // True: to the end.
  bool train_run(const std::string& name, const Config& config, GpuDevice gpu,
                 const std::vector<std::uint64_t>& seeds, int stop_after = -1, int threads = 2) {
    Watcher watcher(stop_after);
    return train(plan_new_run(config, seeds, path(name), "test"),
                 {.threads = threads, .stop = &watcher.stop, .gpu = std::move(gpu)}, watcher);
  }
  bool resume_run(const std::string& name, GpuDevice gpu, int stop_after = -1) {
    Watcher watcher(stop_after);
    return train(plan_rest_of_run(path(name)),
                 {.threads = 2, .stop = &watcher.stop, .gpu = std::move(gpu)}, watcher);
  }
  void expect_same_population(const std::string& a, const std::string& b,
                              const std::vector<int>& seeds) {
    for (const int seed : seeds) {
      const std::string agent = fmt::format("seed_{}", seed);
      EXPECT_EQ(fingerprint(path(a) / agent), fingerprint(path(b) / agent)) << a << " " << agent;
    }
  }

  // Trains the runs together, and each by itself on the CPU: the results must be the same.
  void expect_together_as_alone(const std::vector<std::pair<std::string, Config>>& configs) {
    std::vector<std::unique_ptr<PopulationRun>> open;
    std::vector<PopulationRun*> runs;
    Watcher watcher;
    for (const auto& [name, config] : configs) {
      EXPECT_TRUE(train_run(name, config, {}, {3, 9}));
      EXPECT_TRUE(in_step(config, configs[0].second));
      open.push_back(std::make_unique<PopulationRun>(
          plan_new_run(config, {3, 9}, path(name + "_together"), "test"), watcher));
      runs.push_back(open.back().get());
    }
    const auto failures = train_in_lockstep(runs, stand_in(faults_), 2, watcher.stop);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      EXPECT_FALSE(failures[r]);
      EXPECT_TRUE(runs[r]->close());
      expect_same_population(configs[r].first + "_together", configs[r].first, {3, 9});
    }
  }

  // Trains two runs together: the first must fail, the second give the results of training alone.
  void expect_failure_of_one(const Config& bad, ProgressSink& its_progress) {
    const Config good = small_config("dsac");
    train_run("good", good, {}, {3, 4});
    Watcher watcher;
    PopulationRun first(plan_new_run(bad, {1, 2}, path("bad"), "test"), its_progress);
    PopulationRun second(plan_new_run(good, {3, 4}, path("together"), "test"), watcher);
    PopulationRun* const runs[] = {&first, &second};
    const auto failures = train_in_lockstep(runs, stand_in(faults_), 2, watcher.stop);
    ASSERT_TRUE(failures[0]);
    EXPECT_THROW(std::rethrow_exception(failures[0]), Error);
    EXPECT_FALSE(failures[1]);
    EXPECT_TRUE(second.close());
    expect_same_population("together", "good", {3, 4});
  }

  TemporaryFolder folder_;
  StandInFaults faults_;
};

TEST_F(SlowLockstepTraining, MixedPopulationEqualsSingleRuns) {
  register_odd_task();
  const std::vector<std::pair<std::string, Config>> configs = {
      {"sac", small_config("sac")},
      {"envs", small_config("ovde_g", {{"train.envs", 3.0, ""}, {"explore.hold", 4.0, ""}})},
      {"oac", small_config("oac", {{"network.hidden", std::vector<double>{12}, ""}})},
      {"samples", small_config("ovde_g", {{"explore.samples", 3.0, ""}})},
      {"ascents", small_config("ovde_g", {{"explore.ascents", 3.0, ""},
                                          {"train.warmup_actions", std::string("behaviour"), ""}})},
      {"full", small_config("ovde_q", {{"explore.gradient", std::string("full"), ""}})},
      {"doac", small_config("doac", {}, "GridChaos-v0:d")},
      {"fractions", small_config("ovde_g", {{"critic.head", std::string("iqn"), ""},
                                            {"explore.samples", 2.0, ""}})},
      {"doac_fractions", small_config("doac", {{"critic.head", std::string("iqn"), ""}})},
      {"td3", small_config("td3")},  // with the noise of the step before, which GridChaos asks for
      {"ovde_td3",
       small_config("ovde_td3", {{"explore.samples", 2.0, ""}, {"train.actor_every", 3.0, ""}})},
      {"recipe", small_config("dsac", {{"train.actor_every", 2.0, ""},
                                       {"train.target_std", 0.15, ""},
                                       {"train.learning_rate_end", 1e-4, ""},
                                       {"train.scale_rewards", true, ""},
                                       {"explore.hold", 16.0, ""}})},
      {"dsac_rnd", small_config("dsac_rnd")},
      {"novd", small_config("novd")},
      {"tqc", small_config("tqc")},
      {"top", small_config("top", {{"top.arms", std::vector<double>{-1, 0, 1}, ""}})},
      {"dac", small_config("dac", {{"dac.copy_updates", 7.0, ""}})},
      {"scout", small_config("scout", {{"scout.hidden", std::vector<double>{20, 12}, ""}})},
      {"ovde_scout", small_config("ovde_g", {{"scout.share", 0.5, ""},
                                             {"scout.minimum_share", 0.2, ""},
                                             {"explore.samples", 2.0, ""}})},
      {"ids", small_config("ids", {{"ids.bins", 3.0, ""}})},
      {"line", small_config("ovde_m", {{"explore.samples", 2.0, ""}}, "Odd-v0")},
      // evaluated with the policy alone, which has come back from the GPU
      {"unsaved", small_config("dsac", {{"checkpoint.epochs", 0.0, ""}}, "Odd-v0")},
      {"unsaved_ids",
       small_config("ids", {{"ids.bins", 3.0, ""}, {"checkpoint.epochs", 0.0, ""}}, "Odd-v0")}};
  expect_together_as_alone(configs);
  EXPECT_EQ(faults_.populations, 1);
  EXPECT_EQ(faults_.acts, 20 + 25 * kEpochsInStep);
}

// On a task whose returns show every change of the policy, and without checkpoints until the end,
// which would bring the whole state back and not the policy alone.
TEST_F(SlowLockstepTraining, ResidualPopulationEqualsSingleRuns) {
  register_odd_task();
  const auto residual = [](const std::string& algorithm, std::vector<Setting> more) {
    more.insert(more.begin(), kResidual.begin(), kResidual.end());
    more.push_back({"checkpoint.epochs", 0.0, ""});
    return small_config(algorithm, more, "Odd-v0");
  };
  expect_together_as_alone(
      {{"flashsac", residual("flashsac", {})},
       {"envs", residual("flashsac", {{"train.envs", 3.0, ""}, {"train.actor_every", 3.0, ""}})},
       {"scout", residual("flashsac",
                          {{"scout.share", 0.5, ""}, {"scout.kind", std::string("residual"), ""}})},
       {"ovde_q", residual("ovde_q", {{"network.kind", std::string("residual"), ""}})}});
  EXPECT_EQ(faults_.populations, 1);
}

TEST_F(SlowLockstepTraining, RunsMayDifferInLengthAndEvaluation) {
  const auto with = [](const char* key, double value) {
    return small_config("ovde_g", {{key, value, ""}});
  };
  const std::vector<std::pair<std::string, Config>> configs = {
      {"plain", small_config("ovde_g")},
      {"longer", with("train.epochs", kEpochsInStep + 2)},
      {"shorter", with("train.epochs", 1)},
      {"more", with("train.eval_steps", 90)},
      {"rarely", with("train.eval_epochs", 2)}};
  expect_together_as_alone(configs);
  EXPECT_EQ(faults_.populations, 3);  // all runs, those that continue, the longest
  EXPECT_EQ(faults_.acts, 20 + 25 * (kEpochsInStep + 2));
}

TEST_F(SlowLockstepTraining, ResultDoesNotDependOnThreads) {
  const Config config = small_config("ovde_q");
  train_run("whole", config, {}, {3, 4, 5});
  for (const int threads : {1, 3, 7}) {
    const std::string name = fmt::format("on_{}", threads);
    EXPECT_TRUE(train_run(name, config, stand_in(faults_), {3, 4, 5}, -1, threads));
    expect_same_population(name, "whole", {3, 4, 5});
  }
}

TEST_F(SlowLockstepTraining, ThreadsEvaluateWhileTheGpuActs) {
  register_odd_task();
  bool evaluated = false;
  faults_.while_acting = [&] {
    // the first action of the second epoch: steps can only be those of the first one's evaluation
    if (faults_.acts != 20 + 25 + 1) return;
    const int before = odd_steps;
    for (int i = 0; i < 60000 && !evaluated; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      evaluated = odd_steps > before;
    }
  };
  EXPECT_TRUE(train_run("odd", small_config("dsac", {}, "Odd-v0"), stand_in(faults_), {3, 4}));
  EXPECT_TRUE(evaluated);
}

TEST_F(SlowLockstepTraining, FailedEvaluationEndsItsRun) {
  register_odd_task();
  Config config = small_config("dsac", {}, "Odd-v0");
  config.task_options.set("fault", std::string("throw"));
  // the first evaluation is longer than what is explored until the end of the second epoch
  config.task_options.set("at", 100.0);
  expect_words(message_of<Error>([&] {
                 train_run("bad", config, stand_in(faults_), {3, 4});
               }),
               {"the environment of the evaluation failed", "on fire", "epoch 1"});
  EXPECT_EQ(faults_.acts, 20 + 25 + 25);
}

TEST_F(SlowLockstepTraining, EpochsWithoutEvaluationHaveEmptyCells) {
  const Config config = small_config("ovde_g", {{"train.eval_epochs", 2.0, ""}});
  train_run("whole", config, {}, {3, 4});
  EXPECT_TRUE(train_run("together", config, stand_in(faults_), {3, 4}));
  EXPECT_FALSE(train_run("cut", config, stand_in(faults_), {3, 4}, 5));
  EXPECT_TRUE(resume_run("cut", stand_in(faults_)));
  expect_same_population("together", "whole", {3, 4});
  expect_same_population("cut", "whole", {3, 4});
  const auto rows = read_progress(path("together/seed_3"));
  ASSERT_EQ(rows.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(std::isnan(rows[i].eval_return_mean), i == 0 || i == 2);
}

TEST_F(SlowLockstepTraining, ResumeIsBitIdentical) {
  const Setting samples = {"explore.samples", 2.0, ""};
  for (const Config& config :
       {small_config("ovde_g", {samples}), small_config("ovde_td3", {samples}),
        small_config("dsac_rnd"), small_config("novd"),
        small_config("scout", {{"scout.minimum_share", 0.2, ""}}), small_config("tqc"),
        small_config("top"), small_config("dac"), small_config("ids"),
        small_config("flashsac", kResidual)}) {
    const std::string whole = "whole_" + config.algorithm, cut = "cut_" + config.algorithm;
    train_run(whole, config, {}, {3, 4, 5});
    EXPECT_FALSE(train_run(cut, config, stand_in(faults_), {3, 4, 5}, 4));  // in the second epoch
    for (const RunStatus& run : run_status(path(cut))) {
      EXPECT_EQ(run.state, RunState::interrupted);
      EXPECT_EQ(run.epochs_done, 2);
    }
    EXPECT_FALSE(resume_run(cut, stand_in(faults_), 1));
    EXPECT_TRUE(resume_run(cut, stand_in(faults_)));
    expect_same_population(cut, whole, {3, 4, 5});
  }
}

TEST_F(SlowLockstepTraining, CheckpointMovesToTheGpuAndBack) {
  const Config config = small_config("ovde_q");
  train_run("whole", config, {}, {3, 4, 5});
  // the agents of a CPU are at different epochs when it stops, and one of them in its middle
  EXPECT_FALSE(train_run("moved", config, {}, {3, 4, 5}, 4));
  EXPECT_FALSE(resume_run("moved", stand_in(faults_), 1));
  EXPECT_FALSE(resume_run("moved", {}, 2));
  EXPECT_TRUE(resume_run("moved", stand_in(faults_)));
  expect_same_population("moved", "whole", {3, 4, 5});
}

// The agents' last state is still on the GPU then.
TEST_F(SlowLockstepTraining, StopsWhileTheBestPolicyIsChosen) {
  Config config = small_config("dsac");
  config.checkpoint = {.epochs = 0, .minutes = 0, .final = false};
  train_run("whole", config, {}, {3, 4});
  EXPECT_FALSE(train_run("cut", config, stand_in(faults_), {3, 4}, 2 * kEpochsInStep));
  EXPECT_TRUE(resume_run("cut", {}));
  expect_same_population("cut", "whole", {3, 4});
}

TEST_F(SlowLockstepTraining, AgentsBehindCatchUp) {
  const Config config = small_config("dsac");
  train_run("whole", config, {}, {3, 4, 5});
  EXPECT_FALSE(train_run("behind", config, stand_in(faults_), {3, 4, 5}, 9));
  // as if killed while its first checkpoint was being written, or before its folder was there
  fs::remove_all(path("behind/seed_4/checkpoints"));
  fs::create_directory(path("behind/seed_4/checkpoints"));
  fs::remove_all(path("behind/seed_5"));
  faults_ = {};
  EXPECT_TRUE(resume_run("behind", stand_in(faults_)));
  EXPECT_EQ(faults_.populations, 2);  // to catch up, to go on
  expect_same_population("behind", "whole", {3, 4, 5});
}

TEST_F(SlowLockstepTraining, NonFiniteLossNamesSeedEpochAndUpdate) {
  faults_.bad_agent = 1;
  expect_words(message_of<Error>([&] {
                 train_run("bad", small_config("dsac"), stand_in(faults_), {3, 4});
               }),
               {"a loss is not finite", "seed 4", "epoch 1", "update 7"});
  const auto status = run_status(path("bad"));
  EXPECT_EQ(status[0].epochs_done, 1);  // the other one is saved
  EXPECT_TRUE(fs::exists(path("bad/seed_3/checkpoints/checkpoint-1.ovde")));
  EXPECT_EQ(status[1].state, RunState::failed);
  expect_words(status[1].message, {"update 7"});
  EXPECT_FALSE(fs::exists(path("bad/seed_4/checkpoints/checkpoint-1.ovde")));
}

TEST_F(SlowLockstepTraining, GpuErrorSaysWhereAndKeepsCheckpoints) {
  const Config config = small_config("dsac");
  train_run("whole", config, {}, {3, 4});
  faults_.act_fails_at = 20 + 25 + 25 + 6;  // the warm-up, two epochs, and some
  expect_words(message_of<Error>([&] {
                 train_run("broken", config, stand_in(faults_), {3, 4});
               }),
               {"CUDA: act: the cable is loose", "epoch 2", "acting, step 6"});
  for (const RunStatus& run : run_status(path("broken"))) {
    EXPECT_EQ(run.state, RunState::failed);
    expect_words(run.message, {"the cable is loose"});
  }
  EXPECT_TRUE(resume_run("broken", {}));
  expect_same_population("broken", "whole", {3, 4});
}

TEST_F(SlowLockstepTraining, FailedRunDoesNotStopTheOthers) {
  register_odd_task();
  Config bad = small_config("dsac", {}, "Odd-v0");
  bad.task_options.set("fault", std::string("throw"));
  bad.task_options.set("at", 60.0);  // exploring in the second epoch, after the warm-up and one
  Watcher watcher;
  expect_failure_of_one(bad, watcher);
}

TEST_F(SlowLockstepTraining, ARunThatCannotStartDoesNotStopTheOthers) {
  struct Refusing final : ProgressSink {
    void run_started(const RunPlan&, std::int64_t) override { throw Error("the disk is full"); }
  };
  Refusing refusing;
  expect_failure_of_one(small_config("dsac"), refusing);
}

// While the GPU computes updates, the threads have no other work.
TEST_F(SlowLockstepTraining, ThreadsStealWork) {
  class Other final : public SharedWork {
   public:
    bool do_piece() override { return ++pieces > 0; }
    std::atomic<int> pieces{0};
  } other;
  WorkStealing stealing(2);
  stealing.offer(1, other);
  const Config config = small_config("dsac");
  train_run("alone", config, {}, {3, 4});
  Watcher watcher;
  PopulationRun run(plan_new_run(config, {3, 4}, path("helping"), "test"), watcher);
  PopulationRun* const runs[] = {&run};
  const auto failures = train_in_lockstep(runs, stand_in(faults_), 2, watcher.stop, {&stealing, 0});
  EXPECT_FALSE(failures[0]);
  EXPECT_TRUE(run.close());
  EXPECT_GT(other.pieces, 0);
  expect_same_population("helping", "alone", {3, 4});
}

// The GPU may fail in a call of either population's thread.
TEST_F(SlowLockstepTraining, OthersStealItsWork) {
  const Config config = small_config("dsac");
  train_run("alone", config, {}, {3, 4});
  for (const int fails_at : {-1, 1, 30, 31, 32, 33}) {
    WorkStealing stealing(2);
    std::jthread thief([&](const std::stop_token& end) {
      while (!end.stop_requested()) stealing.steal(1);
    });
    const std::string name = fmt::format("helped_{}", fails_at);
    Watcher watcher;
    StandInFaults faults;
    faults.act_fails_at = fails_at;
    PopulationRun run(plan_new_run(config, {3, 4}, path(name), "test"), watcher);
    PopulationRun* const runs[] = {&run};
    const auto failures =
        train_in_lockstep(runs, stand_in(faults), 1, watcher.stop, {&stealing, 0});
    if (fails_at >= 0) {
      ASSERT_TRUE(failures[0]) << fails_at;
      EXPECT_THROW(std::rethrow_exception(failures[0]), Error);
    } else {
      EXPECT_FALSE(failures[0]);
      EXPECT_TRUE(run.close());
      expect_same_population(name, "alone", {3, 4});
    }
  }
}

TEST_F(SlowLockstepTraining, RefusalWritesNothing) {
  const Config wide = small_config("dsac", {{"network.hidden", std::vector<double>{128}, ""}});
  EXPECT_THROW(train_run("wide", wide, stand_in(faults_), {3}), InputError);
  EXPECT_FALSE(fs::exists(path("wide")));

  EXPECT_FALSE(train_run("cpu", wide, {}, {3}, 2));
  const std::string log = read_file(path("cpu/log.txt"));
  EXPECT_THROW(resume_run("cpu", stand_in(faults_)), InputError);
  EXPECT_EQ(read_file(path("cpu/log.txt")), log);
}

TEST_F(SlowLockstepTraining, RefusesAMissingDevice) {
  Training training;
  training.task = "GridChaos-v0";
  training.folder = path("run").string();
  for (const char* device : {"tpu", "cuda"}) {
    if (device == std::string("cuda") && why_no_gpu().empty()) continue;
    training.device = device;
    expect_words(message_of([&] { train(training); }), {std::string("device ") + device});
    EXPECT_FALSE(fs::exists(path("run")));
  }
}

TEST(InStep, EpochLengthsMustAgree) {
  const Config config = small_config("dsac");
  EXPECT_TRUE(in_step(config, small_config("sac", {}, "GridChaos-v0:i")));
  for (const char* key : {"train.epochs", "train.eval_steps", "train.eval_epochs"})
    EXPECT_TRUE(in_step(config, small_config("dsac", {{key, 44.0, ""}}))) << key;
  for (const char* key : {"train.steps_per_epoch", "train.warmup_steps", "train.batch"})
    EXPECT_FALSE(in_step(config, small_config("dsac", {{key, 44.0, ""}}))) << key;
  EXPECT_FALSE(
      in_step(config, small_config("dsac", {{"train.precision", std::string("fp32"), ""}})));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
