// Whole runs: what resuming promises, and the answer where it cannot be done.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "io/crc32c.h"
#include "io/safetensors.h"
#include "io/section_file.h"
#include "run/recording.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "run/run_status.h"
#include "temporary_folder.h"
#include "train/agent_run.h"
#include "train/odd_task.h"
#include "train/trainer.h"
#include "train/whole_runs.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr int kEpochsOfARun = 8;

RunPlan request(const fs::path& out, const std::string& task = "GridChaos-v0:s",
                std::vector<std::uint64_t> seeds = {3}, const std::string& algorithm = "ovde_g") {
  RunPlan request;
  request.config = resolve_config({{"run.task", task, ""},
                                   {"run.algorithm", algorithm, ""},
                                   {"run.seed", 3.0, ""},
                                   {"network.hidden", std::vector<double>{8, 8}, ""},
                                   {"train.batch", 8.0, ""},
                                   {"train.warmup_steps", 20.0, ""},
                                   {"train.steps_per_epoch", 25.0, ""},
                                   {"train.eval_steps", 40.0, ""},
                                   {"train.replay", 60.0, ""},
                                   {"train.epochs", double(kEpochsOfARun), ""},
                                   {"task.horizon", 40.0, ""},
                                   {"checkpoint.epochs", 1.0, ""}});
  request.seeds = std::move(seeds);
  request.folder = out;
  request.command = "test";
  return request;
}

bool train_until(const RunPlan& request, int epochs) {
  Watcher watcher(epochs);
  const RunPlan plan = plan_new_run(request.config, request.seeds, request.folder, request.command);
  return train(plan, {.stop = &watcher.stop}, watcher);
}

std::vector<std::string> resume_to_end(const fs::path& folder, int threads = 1) {
  Watcher watcher;
  EXPECT_TRUE(train(plan_rest_of_run(folder), {.threads = threads}, watcher));
  return watcher.warnings;
}

std::string failure(const fs::path& folder) {
  Watcher watcher;
  try {
    train(plan_rest_of_run(folder), {}, watcher);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is wrong";
}

class SlowResume : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TemporaryFolder folder;
    train_until(request(folder.path() / "run"), -1);
    expected_ = fingerprint(folder.path() / "run");
  }
  fs::path run() const { return folder_.path() / "run"; }
  fs::path checkpoint(int number) const {
    return run() / "checkpoints" / fmt::format("checkpoint-{}.ovde", number);
  }
  std::string log() const { return read_file(run() / "log.txt"); }
  void replace_in(const fs::path& file, const std::string& from, const std::string& to) const {
    std::string text = read_file(file);
    ASSERT_NE(text.find(from), std::string::npos);
    write_file_atomically(file, text.replace(text.find(from), from.size(), to));
  }
  void flip_bit(const fs::path& file) const {
    std::string text = read_file(file);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 4);
    write_file_atomically(file, text);
  }

  TemporaryFolder folder_;
  static std::string expected_;
};
std::string SlowResume::expected_;

TEST_F(SlowResume, IsBitIdenticalWithAnotherNumberOfThreads) {
  EXPECT_FALSE(train_until(request(run()), 3));
  EXPECT_TRUE(resume_to_end(run(), 2).empty());
  EXPECT_EQ(fingerprint(run()), expected_);
}

// config.toml and the checkpoint have the list over many lines.
TEST_F(SlowResume, IsBitIdenticalWithALongListInTheConfiguration) {
  RunPlan with_list = request(run());
  std::vector<int> epochs;
  for (int i = 100; i < 1400; ++i) epochs.push_back(i);
  with_list.config.record.networks = epochs;
  with_list.command = std::string(10'000, 'x');
  EXPECT_FALSE(train_until(with_list, 3));
  EXPECT_TRUE(resume_to_end(run()).empty());
  EXPECT_EQ(fingerprint(run()), expected_);
}

// The fractions of updates are addressed by their number, those of actions by a saved position; an
// agent of a population draws what it would draw alone.
TEST_F(SlowResume, IsBitIdenticalWithRandomFractions) {
  const auto with_iqn = [](RunPlan request) {
    request.config.critic.head = CriticHead::iqn;
    return request;
  };
  train_until(with_iqn(request(folder_.path() / "whole")), -1);
  EXPECT_NE(fingerprint(folder_.path() / "whole"), expected_);
  EXPECT_FALSE(train_until(with_iqn(request(run(), "GridChaos-v0:s", {3, 4})), 7));
  EXPECT_TRUE(resume_to_end(run(), 2).empty());
  EXPECT_EQ(fingerprint(run() / "seed_3"), fingerprint(folder_.path() / "whole"));
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

TEST_F(SlowResume, TheLastTwoCheckpointsAreKept) {
  EXPECT_FALSE(train_until(request(run()), 5));
  int files = 0;
  for (const auto& entry : fs::directory_iterator(run() / "checkpoints"))
    files += entry.path().extension() == ".ovde";
  EXPECT_EQ(files, 2);
  EXPECT_TRUE(fs::exists(checkpoint(4)) && fs::exists(checkpoint(5)));
}

TEST_F(SlowResume, ADamagedCheckpointIsNamedAndTheOlderOneUsed) {
  EXPECT_FALSE(train_until(request(run()), 5));
  flip_bit(checkpoint(5));
  const auto warnings = resume_to_end(run());
  ASSERT_EQ(warnings.size(), 1u);
  expect_words(warnings[0], {checkpoint(5).string(), "damaged"});
  expect_words(log(), {"WARNING " + checkpoint(5).string()});
  EXPECT_EQ(fingerprint(run()), expected_);
}

TEST_F(SlowResume, AForeignOrEmptyFileIsNotACheckpoint) {
  EXPECT_FALSE(train_until(request(run()), 5));
  write_file_atomically(checkpoint(6), std::string("hello"));
  write_file_atomically(checkpoint(7), std::string());
  EXPECT_EQ(resume_to_end(run()).size(), 2u);
  EXPECT_EQ(fingerprint(run()), expected_);
}

TEST_F(SlowResume, DamagedReplayRowsAreFound) {
  EXPECT_FALSE(train_until(request(run()), 5));
  const fs::path rows = run() / "checkpoints/replay-0.rows";
  std::string text = read_file(rows);
  text.back() = static_cast<char>(text.back() ^ 1);  // the newest row: the older one has not got it
  write_file_atomically(rows, text);
  const auto warnings = resume_to_end(run());
  ASSERT_EQ(warnings.size(), 1u);
  expect_words(warnings[0], {checkpoint(5).string(), "replay-0.rows is damaged"});
  EXPECT_EQ(fingerprint(run()), expected_);
}

// Every file below a folder with its contents and when it was written.
std::string everything(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files.push_back(fmt::format("{} {} {}", entry.path().string(),
                                entry.last_write_time().time_since_epoch().count(),
                                read_file(entry.path())));
  }
  std::ranges::sort(files);
  return fmt::format("{}", fmt::join(files, "\n"));
}

TEST_F(SlowResume, WithoutAWholeCheckpointItSaysSoAndTouchesNothing) {
  EXPECT_FALSE(train_until(request(run()), 5));
  // what a process that was killed wrote after its checkpoint
  for (const char* file : {"visits.f32", "progress.csv"})
    std::ofstream(run() / file, std::ios::app) << "12345678";
  flip_bit(run() / "checkpoints/replay-0.rows");  // found when all else has been read
  std::string before = everything(run());
  expect_words(failure(run()), {"no checkpoint of", checkpoint(4).string(), "checkpoint-5"});
  EXPECT_TRUE(everything(run()) == before);

  flip_bit(checkpoint(4));
  flip_bit(checkpoint(5));
  before = everything(run());
  expect_words(failure(run()), {"no checkpoint of", checkpoint(4).string(), "checkpoint-5"});
  EXPECT_TRUE(everything(run()) == before);
}

TEST_F(SlowResume, BeforeTheFirstCheckpointItStartsFromTheBeginning) {
  EXPECT_FALSE(train_until(request(run()), 2));
  fs::remove_all(run() / "checkpoints");
  fs::create_directory(run() / "checkpoints");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), expected_);
  expect_words(log(), {"from the beginning"});
}

// Not the same as none: a run that started over would remove them.
TEST_F(SlowResume, CheckpointsThatCannotBeListedAreNotTakenForNone) {
  EXPECT_FALSE(train_until(request(run()), 3));
  const fs::path folder = run() / "checkpoints", aside = folder_.path() / "aside";
  fs::rename(folder, aside);
  expect_words(failure(run()), {"the checkpoints of", "are missing"});
  fs::create_symlink("nowhere", folder);
  expect_words(failure(run()), {"cannot list the checkpoints in", folder.string()});
  fs::remove(folder);
  write_file_atomically(folder, std::string("a file"));
  expect_words(failure(run()), {"cannot list the checkpoints in", "Not a directory"});
  fs::remove(folder);

  fs::create_directory_symlink(aside, folder);  // elsewhere, but there
  EXPECT_TRUE(resume_to_end(run()).empty());
  EXPECT_EQ(fingerprint(run()), expected_);
}

// Older versions made the folder with the first checkpoint.
TEST_F(SlowResume, ARunThatNeverHadACheckpointNeedsNoFolderForThem) {
  RunPlan unsaved = request(run());
  unsaved.config.checkpoint.epochs = 0;
  EXPECT_FALSE(train_until(unsaved, 1));
  fs::remove_all(run() / "checkpoints");
  std::string log = read_file(run() / "log.txt");
  write_file_atomically(run() / "log.txt", log.substr(0, log.find('\n') + 1));
  fs::remove(run() / "state.json");
  replace_in(run() / "config.toml", "epochs = 0", "epochs = 1");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), expected_);
}

TEST_F(SlowResume, AnAgentOfAPopulationIsRefusedWhicheverWayItsFolderIsCalled) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  const fs::path link = folder_.path() / "link", far = folder_.path() / "far";
  fs::create_directory_symlink(run() / "seed_3", link);
  fs::create_directory_symlink(run(), far);
  for (const fs::path& way : {run() / "seed_3/", run() / "seed_3/.", run() / "seed_4/../seed_3/",
                              link, link / "", far / "seed_3/"})
    expect_words(failure(way), {"one agent of a population"});
}

// So that a second way to an agent's folder, such as a mount, is no way to write it twice.
TEST_F(SlowResume, EveryAgentsFolderIsLockedWithItsPopulation) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  Watcher watcher;
  {
    const PopulationRun open(plan_rest_of_run(run()), watcher);
    for (const char* agent : {"seed_3", "seed_4"}) {
      EXPECT_TRUE(RunLock::is_held(run() / agent));
      EXPECT_THROW(RunLock other(run() / agent), InputError);
    }
  }
  // a copy of the folder has files of its own
  fs::copy(run(), folder_.path() / "copy", fs::copy_options::recursive);
  const RunLock other(folder_.path() / "copy/seed_4");
  expect_words(failure(folder_.path() / "copy"), {"another process", "copy/seed_4"});
  EXPECT_TRUE(resume_to_end(run()).empty());
}

TEST_F(SlowResume, OfAgentsThatCannotGoOnTheFirstIsNamed) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4, 5, 6}), 4));
  const fs::path copy = folder_.path() / "copy";
  fs::copy(run(), copy, fs::copy_options::recursive);
  const RunLock one(copy / "seed_6"), other(copy / "seed_4");
  Watcher watcher;
  for (int i = 0; i < 20; ++i) {
    try {
      PopulationRun open(plan_rest_of_run(copy), watcher, 4);
      ADD_FAILURE() << "nothing is wrong";
    } catch (const Error& error) {
      expect_words(error.what(), {"another process", "copy/seed_4"});
    }
  }
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

TEST_F(SlowResume, APopulationWithOtherSeedsIsRefused) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  const fs::path file = run() / "population.toml";
  const std::string text = read_file(file);
  for (const auto& [seeds, says] : std::vector<std::pair<std::string, std::string>>{
           {"3,\n  4,\n  4\n", "seed 4 is given twice"},
           {"3,\n  4,\n  5\n", "population.seeds was changed"},
           {"3,\n  5\n", "population.seeds was changed"},
           {"3\n", "population.seeds was changed"}}) {
    replace_in(file, "3,\n  4\n", seeds);
    expect_words(failure(run()), {"population.toml: ", says});
    write_file_atomically(file, text);
  }
  EXPECT_FALSE(fs::exists(run() / "seed_5"));

  // one of an older version says nothing of what its seeds were
  write_file_atomically(file, text.substr(0, text.find("checksum")));
  EXPECT_TRUE(resume_to_end(run()).empty());
}

TEST_F(SlowResume, ARefusedResumeHasTouchedNothing) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 5));
  // what a process that was killed wrote after its checkpoint
  for (const char* file : {"visits.f32", "progress.csv"})
    std::ofstream(run() / "seed_3" / file, std::ios::app) << "12345678";
  const fs::path checkpoints = run() / "seed_4/checkpoints";
  fs::rename(checkpoints, folder_.path() / "aside");
  std::string before = everything(run());
  expect_words(failure(run()), {"seed_4 are missing"});
  EXPECT_TRUE(everything(run()) == before);
  fs::rename(folder_.path() / "aside", checkpoints);

  replace_in(run() / "seed_4/config.toml", "discount = 0.99", "discount = 0.9");
  before = everything(run());
  expect_words(failure(run()), {"does not fit"});
  EXPECT_TRUE(everything(run()) == before);
  replace_in(run() / "seed_4/config.toml", "discount = 0.9", "discount = 0.99");
  EXPECT_TRUE(resume_to_end(run()).empty());

  fs::remove(run() / "lock");
  before = everything(run());
  expect_words(failure(run()), {"is finished"});
  EXPECT_TRUE(everything(run()) == before);
}

TEST_F(SlowResume, AChangedConfigurationIsRefusedAndNamed) {
  EXPECT_FALSE(train_until(request(run()), 2));
  replace_in(run() / "config.toml", "discount = 0.99", "discount = 0.9");
  expect_words(failure(run()), {"config.toml was changed", "train.discount = 0.9, was 0.99"});
  replace_in(run() / "config.toml", "discount = 0.9", "discount = 0.99");

  // how often it is saved changes nothing
  replace_in(run() / "config.toml", "\nepochs = 1\n", "\nepochs = 2\n");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), expected_);
}

TEST_F(SlowResume, AFinishedRunIsRefused) {
  EXPECT_TRUE(train_until(request(run()), -1));
  expect_words(failure(run()), {"is finished (8 epochs)"});
}

// From the checkpoint of its end, or an older one; to the bit what one long run gives.
TEST_F(SlowResume, AFinishedRunIsTrainedForLonger) {
  const auto more = [&](const fs::path& folder, int epochs) {
    Watcher watcher;
    return train(plan_rest_of_run(folder, "test", epochs), {}, watcher);
  };
  for (const int saved_every : {3, 0}) {
    for (const double eval_epochs : {1.0, 5.0}) {
      const std::string name = fmt::format("{}_{}", saved_every, eval_epochs);
      RunPlan plan = request(folder_.path() / name, "GridChaos-v0:s", {3, 4});
      plan.config.checkpoint.epochs = saved_every;
      plan.config.checkpoint.final = saved_every == 0;
      plan.config.train.eval_epochs = static_cast<int>(eval_epochs);
      EXPECT_TRUE(train_until(plan, -1));
      EXPECT_TRUE(more(plan.folder, kEpochsOfARun + 4));

      RunPlan whole = plan;
      whole.folder = folder_.path() / (name + "_whole");
      whole.config.train.epochs = kEpochsOfARun + 4;
      EXPECT_TRUE(train_until(whole, -1));
      for (const char* agent : {"seed_3", "seed_4"}) {
        EXPECT_EQ(read_progress(plan.folder / agent).size(), std::size_t{kEpochsOfARun + 4});
        EXPECT_EQ(fingerprint(plan.folder / agent), fingerprint(whole.folder / agent)) << name;
        EXPECT_EQ(read_file(plan.folder / agent / "policy_best.safetensors"),
                  read_file(whole.folder / agent / "policy_best.safetensors"));
      }
      EXPECT_EQ(run_status(plan.folder)[0].epochs, kEpochsOfARun + 4);
    }
  }
}

// Results stay until those of the new end replace them, whatever interrupts the training.
TEST_F(SlowResume, TrainingForLongerRemovesNothing) {
  RunPlan plan = request(run());
  plan.config.checkpoint.epochs = 0;
  EXPECT_TRUE(train_until(plan, -1));
  const std::string rows = read_file(run() / "progress.csv");
  const std::string summary = read_file(run() / "summary.json");
  const std::string policy = read_file(run() / "policy.safetensors");
  Watcher watcher(2);
  EXPECT_FALSE(
      train(plan_rest_of_run(run(), "test", kEpochsOfARun + 4), {.stop = &watcher.stop}, watcher));
  EXPECT_TRUE(watcher.warnings.empty());
  EXPECT_TRUE(read_file(run() / "progress.csv").starts_with(rows));
  EXPECT_EQ(read_file(run() / "summary.json"), summary);
  EXPECT_EQ(read_file(run() / "policy.safetensors"), policy);
  const RunStatus status = run_status(run()).at(0);
  EXPECT_EQ(status.state, RunState::interrupted);
  EXPECT_EQ(status.epochs_done, kEpochsOfARun + 2);
  EXPECT_FALSE(is_finished(run()));
}

// As one that was imported, or whose checkpoints were removed.
TEST_F(SlowResume, AFinishedRunWithoutCheckpointsStaysAsItIs) {
  EXPECT_TRUE(train_until(request(run()), -1));
  const std::string rows = read_file(run() / "progress.csv");
  const auto expect_refused = [&] {
    Watcher watcher;
    EXPECT_THROW(train(plan_rest_of_run(run(), "test", kEpochsOfARun + 2), {}, watcher), Error);
    EXPECT_EQ(read_file(run() / "progress.csv"), rows);
    EXPECT_TRUE(is_finished(run()));
  };
  fs::remove_all(run() / "checkpoints");
  fs::create_directory(run() / "checkpoints");
  expect_refused();
  fs::remove_all(run() / "checkpoints");
  expect_refused();
  for (const char* file : {"log.txt", "state.json"}) fs::remove(run() / file);
  expect_refused();
}

// Versions before state.json: the summary and the last line of the log say how the run stands.
TEST_F(SlowResume, RunsOfEarlierVersionsHaveAState) {
  EXPECT_FALSE(train_until(request(run()), 3));
  fs::remove(run() / "state.json");
  EXPECT_EQ(run_status(run()).at(0).state, RunState::interrupted);
  std::ofstream(run() / "log.txt", std::ios::app)
      << "2024-01-01T00:00:00Z ERROR   the disk is full\n";
  EXPECT_EQ(run_status(run()).at(0).state, RunState::failed);
  EXPECT_EQ(run_status(run()).at(0).message, "the disk is full");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), expected_);
  fs::remove(run() / "state.json");
  EXPECT_EQ(run_status(run()).at(0).state, RunState::finished);
}

TEST_F(SlowResume, AStateThatCannotBeReadIsNamed) {
  EXPECT_FALSE(train_until(request(run()), 3));
  for (const char* text : {"", "{", "[]", "{\"state\": 1}", "{\"state\": \"unreadable\"}"}) {
    write_file_atomically(run() / "state.json", std::string(text));
    const RunStatus status = run_status(run()).at(0);
    EXPECT_EQ(status.state, RunState::unreadable) << text;
    expect_words(status.message, {"state.json: not the state of a run"});
  }
}

TEST_F(SlowResume, ARunCannotBeShortened) {
  EXPECT_TRUE(train_until(request(run()), -1));
  EXPECT_THROW(plan_rest_of_run(run(), "test", kEpochsOfARun - 1), InputError);
}

// Killed when the population knew of its new length and only some of its agents did.
TEST_F(SlowResume, ALongerRunThatWasKilledAtItsStartCanBeResumed) {
  const RunPlan plan = request(run(), "GridChaos-v0:s", {3, 4});
  EXPECT_TRUE(train_until(plan, -1));
  RunPlan longer = plan_rest_of_run(run(), "test", kEpochsOfARun + 2);
  write_population(run(), {longer.config, longer.seeds}, "test");
  EXPECT_TRUE(resume_to_end(run()).empty());
  for (const RunStatus& agent : run_status(run())) {
    EXPECT_EQ(agent.state, RunState::finished);
    EXPECT_EQ(agent.epochs_done, kEpochsOfARun + 2);
  }
}

// policy_best is the candidate, or the last policy, with the largest return on fresh episodes.
TEST_F(SlowResume, TheBestPolicyIsTheSameAfterAKill) {
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
    returns.emplace(loop->play([&](auto o, auto a) { policy.act_unit(o, a); }), epoch);
  };
  play(run() / "policy.safetensors", kEpochsOfARun - 1);
  for (const int epoch : candidates) play(epoch_file(run() / "candidates", epoch), epoch);
  const TensorFile file = read_safetensors(run() / "policy_best.safetensors");
  EXPECT_EQ(file.metadata.at("epoch"), std::to_string(returns.rbegin()->second));
  EXPECT_EQ(file.metadata.at("eval_return_mean"), fmt::format("{}", returns.rbegin()->first));
  expect_words(read_file(run() / "summary.json"),
               {fmt::format("\"best_epoch\": {}", returns.rbegin()->second)});
}

TEST_F(SlowResume, ANewerFormatIsRefusedEvenIfThereIsAnOlderCheckpoint) {
  EXPECT_FALSE(train_until(request(run()), 3));
  std::string text = read_file(checkpoint(3));
  text[8] = 9;  // the version
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(text)).first(16));
  std::memcpy(text.data() + 16, &crc, sizeof crc);
  write_file_atomically(checkpoint(3), text);
  expect_words(failure(run()), {"has format 9", "newer ovde"});
}

TEST_F(SlowResume, ARunThatIsBeingWrittenIsRefused) {
  EXPECT_FALSE(train_until(request(run()), 3));
  EXPECT_EQ(run_status(run()).at(0).state, RunState::interrupted);
  {
    const RunLock other(run());
    EXPECT_EQ(run_status(run()).at(0).state, RunState::training);
    expect_words(failure(run()), {"another process (pid", "is writing the run"});
  }
  resume_to_end(run());
  EXPECT_EQ(run_status(run()).at(0).state, RunState::finished);
}

TEST_F(SlowResume, WhatIsNotARunIsRefused) {
  expect_words(failure(folder_.path() / "none"), {"is not a folder"});
  expect_words(failure(folder_.path()), {"holds no run"});
}

TEST_F(SlowResume, APopulationGoesOnWhereverItsAgentsAre) {
  train_until(request(folder_.path() / "whole", "GridChaos-v0:s", {3, 4, 5}), -1);
  EXPECT_EQ(fingerprint(folder_.path() / "whole/seed_3"), expected_);  // as if it were alone

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
TEST_F(SlowResume, AnAgentThatIsJoinedByOthersIsMovedWhole) {
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
  EXPECT_EQ(fingerprint(run() / "seed_3"), expected_);
}

// An agent without actor and temperature, too: alone, of a population, and resumed.
TEST_F(SlowResume, DiscreteActionsGiveTheSameBitsAsWell) {
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

TEST_F(SlowResume, AnEnvironmentThatCannotBeSavedStartsANewEpisodeAndSaysSo) {
  register_odd_task();
  EXPECT_FALSE(train_until(request(run(), "Odd-v0"), 3));
  const auto warnings = resume_to_end(run());
  ASSERT_EQ(warnings.size(), 1u);
  expect_words(warnings[0], {"Odd-v0 cannot save an episode"});
  expect_words(log(), {"WARNING task Odd-v0 cannot save an episode"});
  EXPECT_EQ(read_progress(run()).size(), std::size_t{kEpochsOfARun});
}

// A return of several steps must not run on into the next episode, now or after another resume.
TEST_F(SlowResume, AnEpisodeThatIsGivenUpEndsInTheReplayBuffer) {
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

TEST_F(SlowResume, AFailedRunKeepsItsLastGoodStateAndItsLogSaysWhy) {
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

// Whichever of the files was changed, and nothing is written before that is known.
TEST_F(SlowResume, APopulationAndItsAgentsMustSayTheSame) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  const std::string log = read_file(run() / "seed_3" / "log.txt");
  for (const fs::path& file : {run() / "population.toml", run() / "seed_4" / "config.toml"}) {
    const std::string text = read_file(file);
    // an agent that has fewer than its population is trained for longer
    const bool fewer = file.filename() == "population.toml";
    replace_in(file, "epochs = 8", fewer ? "epochs = 7" : "epochs = 9");
    expect_words(failure(run()),
                 {"does not fit", "config.toml", "train.epochs", fewer ? "7" : "9", "8"});
    write_file_atomically(file, text);
  }
  EXPECT_EQ(read_file(run() / "seed_3" / "log.txt"), log);
  EXPECT_TRUE(resume_to_end(run()).empty());
}

TEST_F(SlowResume, AnAgentThatCannotBeSavedDoesNotKeepTheOthersFromIt) {
  RunPlan population = request(run(), "GridChaos-v0:s", {3, 4, 5});
  population.config.checkpoint.epochs = 0;
  class Blocker final : public ProgressSink {
   public:
    explicit Blocker(fs::path folder) : folder_(std::move(folder)) {}
    void run_started(const RunStart&) override {}
    void epoch_done(int, const EpochRow&) override {
      if (++epochs_ == 3) stop = true;  // one of each agent
      if (epochs_ > 1) return;
      fs::remove_all(folder_);
      write_file_atomically(folder_, "a file where a folder should be");
    }
    void run_finished(std::span<const RunSummary>) override {}
    std::atomic<bool> stop{false};

   private:
    fs::path folder_;
    int epochs_ = 0;
  } blocker(run() / "seed_3" / "checkpoints");
  EXPECT_THROW(train(population, {.stop = &blocker.stop}, blocker), Error);
  for (const char* agent : {"seed_4", "seed_5"})
    EXPECT_FALSE(fs::is_empty(run() / agent / "checkpoints")) << agent;
}

// The n-th write of a checkpoint finds no space.
TEST_F(SlowResume, AFullDiskStopsTrainingAndKeepsTheLastCheckpoint) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  fs::create_directories(run() / "checkpoints");
  const fs::path beside = checkpoint(4).string() + ".tmp";
  fs::create_symlink("/dev/full", beside);
  try {
    train_until(request(run()), -1);
    FAIL();
  } catch (const Error& error) {
    expect_words(error.what(), {checkpoint(4).string(), "No space left"});
  }
  expect_words(log(), {"ERROR", "No space left"});
  EXPECT_TRUE(fs::exists(checkpoint(3)));
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), expected_);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
