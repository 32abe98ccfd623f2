// Resumed runs give the same bits as runs that were never interrupted.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "io/safetensors.h"
#include "run/run_folder.h"
#include "run/run_state.h"
#include "run/run_status.h"
#include "train/agent_run.h"
#include "train/odd_task.h"
#include "train/resume.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

class SlowResume : public ResumeTest {};

TEST_F(SlowResume, IsBitIdenticalWithAnotherNumberOfThreads) {
  EXPECT_FALSE(train_until(request(run()), 3));
  EXPECT_TRUE(resume_to_end(run(), 2).empty());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

// config.toml and the checkpoint have the list over many lines.
TEST_F(SlowResume, IsBitIdenticalWithALongList) {
  RunPlan with_list = request(run());
  std::vector<int> epochs;
  for (int i = 100; i < 1400; ++i) epochs.push_back(i);
  with_list.config.record.networks = epochs;
  with_list.command = std::string(10'000, 'x');
  EXPECT_FALSE(train_until(with_list, 3));
  EXPECT_TRUE(resume_to_end(run()).empty());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

// The fractions of updates are addressed by their number, those of actions by a saved position; an
// agent of a population draws what it would draw alone.
TEST_F(SlowResume, IsBitIdenticalWithRandomFractions) {
  const auto with_iqn = [](RunPlan request) {
    request.config.critic.head = CriticHead::iqn;
    return request;
  };
  train_until(with_iqn(request(folder_.path() / "whole")), -1);
  EXPECT_NE(fingerprint(folder_.path() / "whole"), uninterrupted());
  EXPECT_FALSE(train_until(with_iqn(request(run(), "GridChaos-v0:s", {3, 4})), 7));
  EXPECT_TRUE(resume_to_end(run(), 2).empty());
  EXPECT_EQ(fingerprint(run() / "seed_3"), fingerprint(folder_.path() / "whole"));
}

// The running statistics of batch norms are part of the state.
TEST_F(SlowResume, IsBitIdenticalWithResidualNetworks) {
  const auto with_blocks = [](RunPlan request) {
    request.config.network.kind = NetworkKind::residual;
    request.config.network.width = 10;
    request.config.network.actor_width = 6;
    return request;
  };
  train_until(with_blocks(request(folder_.path() / "whole")), -1);
  EXPECT_NE(fingerprint(folder_.path() / "whole"), uninterrupted());
  EXPECT_FALSE(train_until(with_blocks(request(run(), "GridChaos-v0:s", {3, 4})), 7));
  EXPECT_TRUE(resume_to_end(run(), 2).empty());
  EXPECT_EQ(fingerprint(run() / "seed_3"), fingerprint(folder_.path() / "whole"));
}

TEST_F(SlowResume, IsBitIdenticalWithCategoricalCritics) {
  const auto with_categorical = [](const fs::path& out) {
    RunPlan plan = request(out);
    plan.config.critic.head = CriticHead::categorical;
    plan.config.network.kind = NetworkKind::residual;
    plan.config.network.width = 10;
    plan.config.network.actor_width = 6;
    return plan;
  };
  train_until(with_categorical(folder_.path() / "whole"), -1);
  EXPECT_NE(fingerprint(folder_.path() / "whole"), uninterrupted());
  EXPECT_FALSE(train_until(with_categorical(run()), 5));
  EXPECT_TRUE(resume_to_end(run(), 2).empty());
  EXPECT_EQ(fingerprint(run()), fingerprint(folder_.path() / "whole"));
}

// The noise of the step before is part of the state.
TEST_F(SlowResume, IsBitIdenticalWithCorrelatedNoise) {
  const auto with_td3 = [](const fs::path& out, double correlation) {
    RunPlan td3 = request(out, "GridChaos-v0:s", {3}, "td3");
    td3.config.td3.correlation = correlation;
    return td3;
  };
  train_until(with_td3(folder_.path() / "white", 0), -1);
  train_until(with_td3(folder_.path() / "whole", 0.9), -1);
  EXPECT_FALSE(train_until(with_td3(run(), 0.9), 5));
  EXPECT_TRUE(resume_to_end(run()).empty());
  EXPECT_EQ(fingerprint(run()), fingerprint(folder_.path() / "whole"));
  EXPECT_NE(fingerprint(run()), fingerprint(folder_.path() / "white"));
}

// The noise that is held and the statistics of the returns are part of the state.
TEST_F(SlowResume, IsBitIdenticalWithHeldNoiseAndScaledRewards) {
  const auto with_keys = [](const fs::path& out, int hold) {
    RunPlan plan = request(out);
    plan.config.behaviour.hold = hold;
    plan.config.train.scale_rewards = true;
    plan.config.train.actor_every = 2;
    plan.config.train.adam.learning_rate_end = 1e-5f;
    plan.config.train.learning_rate_epochs = kEpochsOfARun;
    return plan;
  };
  train_until(with_keys(folder_.path() / "white", 1), -1);
  train_until(with_keys(folder_.path() / "whole", 16), -1);
  EXPECT_FALSE(train_until(with_keys(run(), 16), 5));
  EXPECT_TRUE(resume_to_end(run()).empty());
  EXPECT_EQ(fingerprint(run()), fingerprint(folder_.path() / "whole"));
  EXPECT_NE(fingerprint(run()), fingerprint(folder_.path() / "white"));
}

// Delays on their way, drifts, lags and the history are part of the state.
TEST_F(SlowResume, IsBitIdenticalWithDisturbances) {
  const auto disturbed = [](const fs::path& out, double drift) {
    RunPlan plan = request(out);
    plan.config.record.visits = false;
    plan.config.disturbances = {
        .delay = {.action = {0, 3}, .observation = {0, 2}, .draw = DelayDraw::step},
        .sensor = {.noise = 0.1, .bias = 0.1, .drift = drift, .dropped = 0.1},
        .actuator = {.lag = {1, 3}, .gain = {0.8, 1.2}},
        .history = 2};
    return plan;
  };
  train_until(disturbed(folder_.path() / "other", 0), -1);
  train_until(disturbed(folder_.path() / "whole", 0.01), -1);
  EXPECT_FALSE(train_until(disturbed(run(), 0.01), 5));
  EXPECT_TRUE(resume_to_end(run()).empty());
  EXPECT_EQ(fingerprint(run()), fingerprint(folder_.path() / "whole"));
  EXPECT_NE(fingerprint(run()), fingerprint(folder_.path() / "other"));
}

// Only where the task says that it may.
TEST_F(SlowResume, AgentsAreMadeOnSeveralThreads) {
  struct Makers {
    std::mutex mutex;
    std::set<std::thread::id> threads;
  };
  for (const bool side_by_side : {false, true}) {
    const auto makers = std::make_shared<Makers>();  // the task stays registered
    Task task = find_task("GridChaos-v0");
    task.name = side_by_side ? "SideBySide-v0" : "OneByOne-v0";
    task.makes_side_by_side = side_by_side;
    task.make = [makers, make = task.make](const OptionValues& options) {
      {
        const std::lock_guard lock(makers->mutex);
        makers->threads.insert(std::this_thread::get_id());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return make(options);
    };
    register_task(task);
    const RunPlan asked = request(folder_.path() / task.name, task.name, {0, 1, 2, 3, 4, 5, 6, 7});
    Watcher watcher;
    const PopulationRun open(plan_new_run(asked.config, asked.seeds, asked.folder, asked.command),
                             watcher, 4);
    EXPECT_EQ(makers->threads.size() > 1, side_by_side);
    EXPECT_TRUE(makers->threads.contains(std::this_thread::get_id()));
  }
}

TEST_F(SlowResume, LogCountsEpochsThatAreDone) {
  register_odd_task();
  EXPECT_FALSE(train_until(request(run(), "Odd-v0"), 3));
  resume_to_end(run());
  expect_words(log(), {"checkpoint after 1 epoch and 45 environment steps\n",
                       "resumed after 3 epochs and 95 environment steps\n"});
  EXPECT_TRUE(std::regex_search(
      log(), std::regex(R"(finished: score -[0-9.]{1,8}; the best policy is that after [1-8] )"
                        R"(epochs?: mean return -[0-9.]{1,8}\n$)")))
      << log();
}

// Killed before state.json was there, or results that were copied without it.
TEST_F(SlowResume, WithoutStateTheSummaryDecides) {
  EXPECT_FALSE(train_until(request(run()), 3));
  fs::remove(run() / "state.json");
  EXPECT_EQ(run_status(run()).at(0).state, RunState::interrupted);
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
  fs::remove(run() / "state.json");
  EXPECT_EQ(run_status(run()).at(0).state, RunState::finished);
}

TEST_F(SlowResume, AnotherMachineIsAWarning) {
  EXPECT_FALSE(train_until(request(run()), 3));
  const std::string here = read_file(run() / "state.json");
  replace_in(run() / "state.json", "\"C library\":\"", "\"C library\":\"1.");
  const auto warnings = resume_to_end(run());
  ASSERT_EQ(warnings.size(), 1U);
  expect_words(warnings[0], {"C library: 1.", ", now ", "the last bits of its results may differ"});
  EXPECT_NE(read_file(run() / "log.txt").find(warnings[0]), std::string::npos);
  EXPECT_EQ(fingerprint(run()), uninterrupted());
  for (const char* part : {"C library", "compiled for", "mathematical functions"})
    EXPECT_NE(here.find(part), std::string::npos) << part;
  // the record is now that of this machine
  EXPECT_EQ(read_state(run()).machine, this_machine());
}

TEST_F(SlowResume, UnreadableStateIsNamed) {
  EXPECT_FALSE(train_until(request(run()), 3));
  for (const char* text : {"", "{", "[]", "{\"state\": 1}", "{\"state\": \"unreadable\"}"}) {
    write_file_atomically(run() / "state.json", std::string(text));
    const RunStatus status = run_status(run()).at(0);
    EXPECT_EQ(status.state, RunState::unreadable) << text;
    expect_words(status.message, {"state.json: not the state of a run; resuming the run writes"});
  }
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

// policy_best is the candidate, or the last policy, with the largest return on fresh episodes.
TEST_F(SlowResume, BestPolicyIsTheSameAfterAKill) {
  EXPECT_TRUE(train_until(request(folder_.path() / "whole"), -1));
  const std::string best = read_file(folder_.path() / "whole/policy_best.safetensors");
  EXPECT_FALSE(train_until(request(run()), 5));
  fs::remove(checkpoint(5));  // it continues from before what it has written since
  resume_to_end(run());
  EXPECT_EQ(read_file(run() / "policy_best.safetensors"), best);

  // the three best evaluations are the candidates, the first of equals before the others
  auto rows = read_progress(run());
  std::ranges::stable_sort(rows, std::greater(), &EpochRow::eval_return_mean);
  std::vector<int> candidates = {rows[0].epoch, rows[1].epoch, rows[2].epoch};
  std::ranges::sort(candidates);
  EXPECT_EQ(epoch_files(run() / "candidates"), candidates);

  // none of them plays the episodes that it was chosen by
  const auto loop = read_latest_state(run());
  std::map<double, int> returns;
  const auto play = [&](const fs::path& file, int epoch) {
    Policy policy = Policy::load(file.string());
    const auto act = [&](auto o, auto a) { policy.act_unit(o, a); };
    returns.emplace(loop->play(act, kNever).value(), epoch);
  };
  play(run() / "policy.safetensors", kEpochsOfARun - 1);
  for (const int epoch : candidates) play(epoch_file(run() / "candidates", epoch), epoch);
  const TensorFile file = read_safetensors(run() / "policy_best.safetensors");
  EXPECT_EQ(file.metadata.at("epoch"), std::to_string(returns.rbegin()->second));
  EXPECT_EQ(file.metadata.at("eval_return_mean"), fmt::format("{}", returns.rbegin()->first));
  expect_words(read_file(run() / "summary.json"),
               {fmt::format("\"best_epoch\": {}", returns.rbegin()->second)});
}

TEST_F(SlowResume, StopsWhileTheBestPolicyIsChosen) {
  EXPECT_TRUE(train_until(request(folder_.path() / "whole"), -1));
  EXPECT_FALSE(train_until(request(run()), kEpochsOfARun));
  Watcher stopped;
  stopped.stop = true;
  EXPECT_FALSE(train(plan_rest_of_run(run()), {.stop = &stopped.stop}, stopped));
  EXPECT_EQ(run_status(run()).at(0).state, RunState::interrupted);
  EXPECT_FALSE(fs::exists(run() / "policy_best.safetensors"));
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
  EXPECT_EQ(read_file(run() / "policy_best.safetensors"),
            read_file(folder_.path() / "whole/policy_best.safetensors"));
}

TEST_F(SlowResume, PopulationContinuesWhereEachAgentIs) {
  train_until(request(folder_.path() / "whole", "GridChaos-v0:s", {3, 4, 5}), -1);
  EXPECT_EQ(fingerprint(folder_.path() / "whole/seed_3"), uninterrupted());  // as if it were alone

  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4, 5}), 7));
  fs::remove_all(run() / "seed_5");  // as if killed before it was made
  fs::remove_all(run() / "seed_4/checkpoints");
  fs::create_directory(run() / "seed_4/checkpoints");
  expect_words(failure(run() / "seed_3"), {"one agent of a population", run().string()});
  resume_to_end(run(), 2);
  for (const char* agent : {"seed_3", "seed_4", "seed_5"})
    EXPECT_EQ(fingerprint(run() / agent), fingerprint(folder_.path() / "whole" / agent)) << agent;
  expect_words(failure(run()), {"is finished"});
}

// One agent becomes the first of a population, and whatever is in the way of that, or cuts it
// short, leaves a run that goes on.
TEST_F(SlowResume, AgentJoinedByOthersIsMovedWhole) {
  EXPECT_FALSE(train_until(request(run()), 4));
  const fs::path checkpoints = run() / "checkpoints", kept = folder_.path() / "kept";
  fs::copy(checkpoints, kept, fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(kept)) {
    if (entry.path().extension() == ".ovde") flip_bit(checkpoints / entry.path().filename());
  }
  RunPlan joined = plan_rest_of_run(run());
  joined.seeds = {3, 4};
  Watcher watcher;
  EXPECT_THROW(train(joined, {}, watcher), Error);
  EXPECT_FALSE(fs::exists(run() / "seed_3"));
  EXPECT_FALSE(fs::exists(run() / "population.toml"));
  fs::remove_all(checkpoints);
  fs::rename(kept, checkpoints);

  write_population(run(), {read_config(run()), {3}}, "test");  // killed while it was moved
  fs::create_directory(run() / "seed_3");
  fs::rename(checkpoints, run() / "seed_3/checkpoints");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run() / "seed_3"), uninterrupted());
}

// An agent without actor and temperature, too: alone, of a population, and resumed.
TEST_F(SlowResume, IsBitIdenticalWithDiscreteActions) {
  const auto ids = [](const fs::path& out, std::vector<std::uint64_t> seeds) {
    return request(out, "GridChaos-v0:s", std::move(seeds), "ids");
  };
  train_until(ids(folder_.path() / "alone", {3}), -1);
  EXPECT_FALSE(train_until(ids(run(), {3, 4}), 7));
  resume_to_end(run(), 2);
  EXPECT_EQ(fingerprint(run() / "seed_3"), fingerprint(folder_.path() / "alone"));
  const EpochRow last = read_progress(run() / "seed_3").back();
  EXPECT_TRUE(std::isnan(last.actor_loss) && std::isnan(last.temperature) && last.critic_loss > 0);
}

TEST_F(SlowResume, UnsavableEnvironmentStartsANewEpisode) {
  register_odd_task();
  EXPECT_FALSE(train_until(request(run(), "Odd-v0"), 3));
  const auto warnings = resume_to_end(run());
  ASSERT_EQ(warnings.size(), 1u);
  expect_words(warnings[0], {"Odd-v0 cannot save an episode"});
  expect_words(log(), {"WARNING task Odd-v0 cannot save an episode"});
  EXPECT_EQ(read_progress(run()).size(), std::size_t{kEpochsOfARun});
}

// A return of several steps must not run on into the next episode, now or after another resume.
TEST_F(SlowResume, AbandonedEpisodeEndsInTheReplayBuffer) {
  register_odd_task();
  EXPECT_FALSE(train_until(request(run(), "Odd-v0"), 3));
  const auto ends_at = [&](std::int64_t row) {
    const auto resumed = AgentRun::resume(run());
    return resumed->loop().agent().replay().row(row).end == EpisodeEnd::cut_off;
  };
  const auto added = [&] { return AgentRun::resume(run())->loop().agent().replay().added(); };
  const std::int64_t before = added(),
                     first = AgentRun::resume(run())->loop().agent().replay().newest();
  EXPECT_TRUE(ends_at(first));
  EXPECT_FALSE(ends_at(first - 1));
  Watcher watcher(2);
  EXPECT_FALSE(train(plan_rest_of_run(run()), {.stop = &watcher.stop}, watcher));
  EXPECT_TRUE(ends_at(first));
  EXPECT_GT(added(), before);
}

TEST_F(SlowResume, FailedRunKeepsItsLastState) {
  register_odd_task();
  RunPlan odd = request(run(), "Odd-v0");
  odd.config.task_options.set("fault", std::string("throw"));
  odd.config.task_options.set("at", 130.0);
  EXPECT_THROW(train_until(odd, -1), Error);
  const RunStatus status = run_status(run()).at(0);
  EXPECT_EQ(status.state, RunState::failed);
  expect_words(status.message, {"the motor is on fire", "seed 3"});
  EXPECT_GT(status.epochs_done, 0);
  EXPECT_TRUE(fs::exists(checkpoint(status.epochs_done)));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
