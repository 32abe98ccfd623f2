// Executing a plan: what is done once is not done again, what was cut off goes on to the same
// result, and a cell that fails stops nothing else.
#include "study/execute/run_study.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <list>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ovde/error.h>

#include "base/version.h"
#include "io/files.h"
#include "on_cpu_explorer.h"
#include "run/run_lock.h"
#include "study/analyse/results.h"
#include "study/execute/claims.h"
#include "study/plan/smoke.h"
#include "temporary_folder.h"
#include "train/stand_in_population.h"

namespace ovde {
namespace {

namespace fs = std::filesystem;

const std::string kStudy = R"toml(
epochs = 4
seeds = "0-1"
set = { task.horizon = 20, network.hidden = [8], train.steps_per_epoch = 20, train.warmup_steps = 20, train.eval_steps = 20, train.batch = 8, train.replay = 200 }
[[row]]
name = "a"
task = "GridChaos-v0:a"
[[row]]
name = "b"
task = "GridChaos-v0:b"
[[column]]
name = "DSAC"
algorithm = "dsac"
[[column]]
name = "OVDE"
algorithm = "ovde_g"
role = "ours"
)toml";

Plan small_plan() { return parse_plan(kStudy, "small.toml"); }

StudyOutcome run(const Plan& plan, const fs::path& out, int jobs = 1) {
  StudySink silent;
  return run_study({.plan = plan, .out = out, .jobs = jobs, .threads = 2}, silent);
}

// Every return of every run, to the last bit.
std::vector<std::vector<double>> all_returns(const fs::path& out, const Plan& plan = small_plan()) {
  std::vector<std::vector<double>> returns;
  for (const CellResult& cell : read_results(plan, out).cells) {
    for (const RunResult& run : cell.runs) returns.push_back(run.returns);
  }
  return returns;
}

class CountingSink : public StudySink {
 public:
  void cell_started(const Cell&) override { ++started; }
  void epoch_done(const Cell&, double) override { ++epochs; }
  int started = 0, epochs = 0;
};

TEST(RunStudy, RunsEveryCellAndSkipsItTheNextTime) {
  const TemporaryFolder folder;
  CountingSink first, second;
  const StudyRequest request{.plan = small_plan(), .out = folder.path() / "study"};
  const StudyOutcome outcome = run_study(request, first);
  EXPECT_EQ(outcome.cells, 4);
  EXPECT_EQ(outcome.finished, 4);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(first.epochs, 4 * 2 * 4);

  EXPECT_EQ(run_study(request, second).finished, 4);
  EXPECT_EQ(second.started, 0);
}

// The example that docs/studies.md points at, and the plan of docs/results/cast.
TEST(RunStudy, TheStudiesOfTheManualAreSome) {
  for (const char* name : {"small_study", "easy_gridchaos"}) {
    const Plan plan =
        read_plan(fs::path(OVDE_SOURCE_DIR) / "configs" / (std::string(name) + ".toml"));
    const std::vector<Cell> cells = expand(plan);
    EXPECT_EQ(cells.size(), 6u) << name;
    for (const Cell& cell : cells) EXPECT_NO_THROW(resolve_config(cell.settings)) << name;
  }
}

TEST(RunStudy, JobsSideBySideGiveTheSameResults) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "one", 1);
  run(small_plan(), folder.path() / "three", 3);
  const auto returns = all_returns(folder.path() / "one");
  EXPECT_EQ(returns.size(), 8u);
  EXPECT_EQ(returns, all_returns(folder.path() / "three"));
}

// ---- cells as one population on a GPU, with a stand-in that computes as the CPU does

TEST(StudyOnAGpu, CellsInStepAreOnePopulationAndGiveTheSameResults) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "cpu");
  StandInFaults faults;
  StudyRequest request{.plan = small_plan(), .out = folder.path() / "gpu", .threads = 2};
  request.gpu = stand_in(faults);
  CountingSink sink;
  EXPECT_EQ(run_study(request, sink).finished, 4);
  EXPECT_EQ(sink.epochs, 4 * 2 * 4);
  EXPECT_EQ(faults.populations, 1);
  EXPECT_EQ(all_returns(folder.path() / "gpu"), all_returns(folder.path() / "cpu"));
}

TEST(StudyOnAGpu, ManyAgentsAreTwoHalvesSideBySide) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "cpu");
  StudyRequest request{.plan = small_plan(), .out = folder.path() / "gpu", .threads = 2};
  std::list<StandInFaults> faults;  // of each half
  std::mutex mutex;
  std::vector<std::size_t> agents;
  request.gpu = {.check = [](auto...) {},
                 .make =
                     [&](std::span<const AgentOptions> options, Precision precision) {
                       const std::lock_guard lock(mutex);
                       agents.push_back(options.size());
                       return stand_in(faults.emplace_back()).make(options, precision);
                     },
                 .full = 4};
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_EQ(agents, (std::vector<std::size_t>{4, 4}));
  EXPECT_EQ(all_returns(folder.path() / "gpu"), all_returns(folder.path() / "cpu"));
}

// Nothing is left to the CPU.
TEST(StudyOnAGpu, EveryAlgorithmIsOneOfThePopulation) {
  const TemporaryFolder folder;
  Plan plan = small_plan();
  plan.rows.resize(1);
  const auto column = plan.columns[0];
  plan.columns.clear();
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == "on_cpu") continue;  // of another test
    plan.columns.push_back(column);
    plan.columns.back().name = plan.columns.back().algorithm = algorithm.name;
  }
  run(plan, folder.path() / "cpu");
  StandInFaults faults;
  std::size_t agents = 0;
  StudyRequest request{.plan = plan, .out = folder.path() / "gpu", .threads = 2};
  request.gpu = stand_in(faults);
  request.gpu.make = [&](std::span<const AgentOptions> options, Precision precision) {
    agents = options.size();
    return stand_in(faults).make(options, precision);
  };
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).failures.size(), 0u);
  EXPECT_EQ(agents, 2 * plan.columns.size());
  EXPECT_EQ(faults.populations, 1);
  EXPECT_EQ(all_returns(folder.path() / "gpu", plan), all_returns(folder.path() / "cpu", plan));
}

TEST(StudyOnAGpu, WhatDoesNotFitTogetherIsTrainedInTurn) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "cpu");
  StandInFaults faults;
  StudyRequest request{.plan = small_plan(), .out = folder.path() / "gpu", .threads = 2};
  request.gpu = stand_in(faults);
  request.gpu.check = [](std::span<const AgentOptions> agents, Precision) {
    if (agents.size() > 4) throw InputError("4 of them would fit");
  };
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_EQ(faults.populations, 2);
  EXPECT_EQ(all_returns(folder.path() / "gpu"), all_returns(folder.path() / "cpu"));
}

TEST(StudyOnAGpu, ACellThatCannotRunThereFailsAlone) {
  const TemporaryFolder folder;
  StandInFaults faults;
  Plan plan = small_plan();
  plan.columns[1].settings.push_back({"network.hidden", std::vector<double>{128}, "test"});
  StudyRequest request{.plan = plan, .out = folder.path() / "gpu", .threads = 2};
  request.gpu = stand_in(faults);
  StudySink silent;
  const StudyOutcome outcome = run_study(request, silent);
  EXPECT_EQ(outcome.finished, 2);
  ASSERT_EQ(outcome.failures.size(), 2u);
  for (const CellFailure& failure : outcome.failures) {
    EXPECT_EQ(failure.column, "OVDE");
    EXPECT_NE(failure.why.find("too wide"), std::string::npos) << failure.why;
  }
}

TEST(StudyOnAGpu, AFailureOfTheGpuIsOneOfTheCellsOnIt) {
  const TemporaryFolder folder;
  register_on_cpu_explorer();
  Plan plan = small_plan();
  plan.columns[0].algorithm = "on_cpu";
  StandInFaults faults;
  const auto fail = [](std::span<const AgentOptions>, Precision) -> std::unique_ptr<GpuPopulation> {
    throw Error("CUDA: cudaMalloc: out of memory");
  };
  for (const bool when_checked : {true, false}) {
    StudyRequest request{
        .plan = plan, .out = folder.path() / (when_checked ? "checked" : "made"), .threads = 2};
    request.gpu = stand_in(faults);
    if (when_checked) request.gpu.check = fail;
    request.gpu.make = fail;
    StudySink silent;
    const StudyOutcome outcome = run_study(request, silent);
    EXPECT_EQ(outcome.finished, 2);  // those on the CPU
    ASSERT_EQ(outcome.failures.size(), 2u);
    EXPECT_NE(outcome.failures[0].why.find("out of memory"), std::string::npos);
  }
}

TEST(StudyOnAGpu, AnAlgorithmThatDoesNotRunThereIsTrainedOnTheCpuAfterwards) {
  const TemporaryFolder folder;
  register_on_cpu_explorer();
  Plan plan = small_plan();
  plan.columns[0].algorithm = "on_cpu";
  run(plan, folder.path() / "cpu");
  StandInFaults faults;
  StudyRequest request{.plan = plan, .out = folder.path() / "gpu", .threads = 2};
  request.gpu = stand_in(faults);
  request.gpu.make = [&](std::span<const AgentOptions> agents, Precision precision) {
    for (const AgentOptions& agent : agents) EXPECT_EQ(agent.algorithm.name, "ovde_g");
    return stand_in(faults).make(agents, precision);
  };
  CountingSink sink;
  const StudyOutcome outcome = run_study(request, sink);
  EXPECT_EQ(outcome.finished, 4);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(sink.started, 4);
  EXPECT_GT(faults.acts, 0);
  const auto returns = all_returns(folder.path() / "gpu", plan);
  EXPECT_EQ(returns.size(), 8u);
  EXPECT_EQ(returns, all_returns(folder.path() / "cpu", plan));
}

TEST(StudyOnAGpu, StoppedItGoesOnThereOrOnTheCpu) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "cpu");
  StandInFaults faults;
  class Stopper final : public StudySink {
   public:
    void epoch_done(const Cell&, double) override {
      if (++epochs == 7) stop = true;
    }
    std::atomic<bool> stop{false};
    int epochs = 0;
  };
  StudyRequest request{.plan = small_plan(), .out = folder.path() / "gpu", .threads = 2};
  for (int part = 0; part < 3; ++part) {
    Stopper stopper;
    request.stop = &stopper.stop;
    request.gpu = part == 1 ? GpuDevice() : stand_in(faults);
    EXPECT_TRUE(run_study(request, stopper).stopped) << part;
  }
  request.stop = nullptr;
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_EQ(all_returns(folder.path() / "gpu"), all_returns(folder.path() / "cpu"));
}

TEST(RunStudy, SurvivesAFailedCellAndTriesItAgain) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  fs::create_directories(out / "a");
  std::ofstream(out / "a" / "DSAC") << "a file where a folder should be";
  const StudyOutcome outcome = run(small_plan(), out);
  EXPECT_EQ(outcome.finished, 3);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].row, "a");
  EXPECT_EQ(outcome.failures[0].column, "DSAC");

  fs::remove(out / "a" / "DSAC");
  EXPECT_EQ(run(small_plan(), out).finished, 4);
}

TEST(RunStudy, ResultsOfOtherSettingsAreNeverTakenForThisPlans) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  run(small_plan(), out);
  Plan shorter = small_plan();
  shorter.epochs = 3;
  const StudyOutcome outcome = run(shorter, out);
  ASSERT_EQ(outcome.failures.size(), 4u);
  EXPECT_NE(outcome.failures[0].why.find("train.epochs"), std::string::npos)
      << outcome.failures[0].why;
  const auto finished = [&](const Plan& plan) {
    const Cell cell = expand(plan)[0];
    return is_cell_finished(out, cell, resolve_config(cell.settings));
  };
  EXPECT_THROW(finished(shorter), InputError);
  EXPECT_TRUE(finished(small_plan()));
  const StudyResults results = read_results(shorter, out);
  EXPECT_TRUE(results.cells[0].runs.empty());
  EXPECT_EQ(results.notes.size(), 4u);
}

TEST(RunStudy, ARunWhoseRowsAreMissingIsNotCounted) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  run(small_plan(), out);
  const fs::path file = out / "a" / "DSAC" / "seed_1" / "progress.csv";
  std::string text = read_file(file);
  text.resize(text.rfind('\n', text.size() - 2) + 1);  // the last row
  write_file_atomically(file, text);
  const StudyResults results = read_results(small_plan(), out);
  EXPECT_TRUE(results.find("a", "DSAC")->runs.empty());
  EXPECT_EQ(results.find("a", "OVDE")->runs.size(), 2u);
  ASSERT_EQ(results.notes.size(), 1u);
  EXPECT_NE(results.notes[0].find("has 3 of 4 epochs"), std::string::npos) << results.notes[0];
}

TEST(RunStudy, MoreSeedsRunOnlyTheNewOnes) {
  const TemporaryFolder folder;
  const fs::path grown = folder.path() / "grown", whole = folder.path() / "whole";
  run(small_plan(), grown);
  Plan more = small_plan();
  more.seeds = {0, 1, 2};
  CountingSink sink;
  const StudyOutcome outcome = run_study({.plan = more, .out = grown}, sink);
  EXPECT_EQ(outcome.finished, 4);
  EXPECT_EQ(sink.epochs, 4 * 1 * 4);

  run(more, whole);
  const StudyResults a = read_results(more, grown), b = read_results(more, whole);
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    ASSERT_EQ(a.cells[i].runs.size(), 3u);
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_EQ(a.cells[i].runs[j].returns, b.cells[i].runs[j].returns);
  }

  // fewer: nothing is left to do, and those that are asked for count
  Plan fewer = small_plan();
  fewer.seeds = {2, 0};
  CountingSink none;
  EXPECT_EQ(run_study({.plan = fewer, .out = grown}, none).finished, 4);
  EXPECT_EQ(none.started, 0);
  const StudyResults less = read_results(fewer, grown);
  ASSERT_EQ(less.cells[0].runs.size(), 2u);
  EXPECT_EQ(less.cells[0].runs[0].returns, a.cells[0].runs[2].returns);
  // one of them, which alone would have had the folder to itself
  fewer.seeds = {1};
  EXPECT_EQ(run_study({.plan = fewer, .out = grown}, none).finished, 4);
  EXPECT_EQ(read_results(fewer, grown).cells[0].runs.at(0).returns, a.cells[0].runs[1].returns);
}

TEST(RunStudy, AStudyOfOneSeedGrowsToThree) {
  const TemporaryFolder folder;
  const fs::path grown = folder.path() / "grown", whole = folder.path() / "whole";
  Plan one = small_plan(), three = small_plan();
  one.seeds = {1};
  three.seeds = {0, 1, 2};
  run(one, grown);
  ASSERT_TRUE(fs::exists(grown / "a/DSAC/config.toml"));
  CountingSink sink;
  const StudyOutcome outcome = run_study({.plan = three, .out = grown}, sink);
  EXPECT_TRUE(outcome.failures.empty()) << outcome.failures[0].why;
  EXPECT_EQ(sink.epochs, 4 * 2 * 4);  // the one that was there is not run again
  EXPECT_TRUE(fs::exists(grown / "a/DSAC/seed_1/config.toml"));
  EXPECT_FALSE(fs::exists(grown / "a/DSAC/config.toml"));
  run(three, whole);
  EXPECT_EQ(all_returns(grown, three), all_returns(whole, three));
}

TEST(RunStudy, AStudyIsTrainedForLonger) {
  const TemporaryFolder folder;
  const fs::path grown = folder.path() / "grown", whole = folder.path() / "whole";
  run(small_plan(), grown);
  Plan longer = small_plan();
  longer.epochs = 7;
  const StudyOutcome outcome = run(longer, grown);
  EXPECT_TRUE(outcome.failures.empty()) << outcome.failures[0].why;
  run(longer, whole);
  EXPECT_EQ(all_returns(grown, longer), all_returns(whole, longer));
  EXPECT_EQ(read_results(longer, grown).cells[0].runs.at(1).returns.size(), 7u);
}

TEST(RunStudy, HowOftenARunIsSavedAndWhatItRecordsMakesNoOtherResult) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  run(small_plan(), out);
  Plan plan = small_plan();
  plan.settings.push_back({"checkpoint.minutes", 3.0, "test"});
  plan.settings.push_back({"record.visits", false, "test"});
  CountingSink sink;
  EXPECT_EQ(run_study({.plan = plan, .out = out}, sink).finished, 4);
  EXPECT_EQ(sink.started, 0);
  EXPECT_EQ(read_results(plan, out).cells[0].runs.size(), 2u);
}

// A version that knows no claims locks the whole study.
TEST(RunStudy, BesideAnOlderVersionItIsRefused) {
  const TemporaryFolder folder;
  const RunLock lock(folder.path());
  EXPECT_THROW(run(small_plan(), folder.path()), InputError);
}

TEST(RunStudy, SmokeAndRealRunsDoNotShareAFolder) {
  const TemporaryFolder folder;
  const fs::path smoke = folder.path() / "smoke", real = folder.path() / "real";
  StudySink silent;
  const Plan small = smoke_plan(small_plan());
  EXPECT_EQ(run_study({.plan = small, .out = smoke, .smoke = true}, silent).finished, 4);
  EXPECT_TRUE(is_smoke(smoke));
  EXPECT_THROW(run(small_plan(), smoke), InputError);
  run(small_plan(), real);
  EXPECT_THROW(run_study({.plan = small, .out = real, .smoke = true}, silent), InputError);
  EXPECT_FALSE(is_smoke(real));
}

TEST(RunStudy, StopsWhenAskedAndGoesOnToTheSameResult) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "whole");

  struct StopAfterThree : StudySink {
    void epoch_done(const Cell&, double) override {
      if (++epochs == 3) stop = true;
    }
    int epochs = 0;
    std::atomic<bool> stop{false};
  } sink;
  const StudyRequest request{
      .plan = small_plan(), .out = folder.path() / "cut", .stop = &sink.stop};
  EXPECT_TRUE(run_study(request, sink).stopped);
  EXPECT_EQ(run(small_plan(), folder.path() / "cut").finished, 4);
  EXPECT_EQ(all_returns(folder.path() / "cut"), all_returns(folder.path() / "whole"));
}

TEST(ChosenCells, ByPlaceAndByFolder) {
  const auto folders = [](const std::string& selection) {
    std::vector<std::string> out;
    for (const Cell& cell : chosen_cells(small_plan(), selection)) out.push_back(cell.folder);
    return out;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(folders("").size(), 4u);
  EXPECT_EQ(folders("1-2"), (Words{"a/OVDE", "b/DSAC"}));
  EXPECT_EQ(folders("b/OVDE,0"), (Words{"a/DSAC", "b/OVDE"}));
  EXPECT_EQ(folders("*/OVDE"), (Words{"a/OVDE", "b/OVDE"}));
  for (const char* wrong : {"4", "2-4", "c/*", "a", ",", "0,"})
    EXPECT_THROW(folders(wrong), InputError) << wrong;
}

// ---- several processes in one folder

TEST(Workers, OfOneStudyRunEveryCellOnce) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "alone");
  for (const bool on_gpu : {false, true}) {
    const fs::path out = folder.path() / (on_gpu ? "gpu" : "cpu");
    constexpr int kWorkers = 3;
    CountingSink sinks[kWorkers];
    StandInFaults faults[kWorkers];
    int finished[kWorkers] = {};
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < kWorkers; ++i) {
        workers.emplace_back([&, i] {
          StudyRequest request{.plan = small_plan(), .out = out};
          if (on_gpu) request.gpu = stand_in(faults[i]);
          finished[i] = run_study(request, sinks[i]).finished;
        });
      }
    }
    int started = 0, epochs = 0;
    for (int i = 0; i < kWorkers; ++i) {
      EXPECT_EQ(finished[i], 4);  // each has waited for the others
      started += sinks[i].started;
      epochs += sinks[i].epochs;
    }
    EXPECT_EQ(started, 4);
    EXPECT_EQ(epochs, 4 * 2 * 4);
    EXPECT_EQ(all_returns(out), all_returns(folder.path() / "alone"));
    EXPECT_FALSE(fs::exists(out / "claims"));
  }
}

TEST(Workers, ManyOnTinyCellsRunEachOnce) {
  std::string text = kStudy.substr(0, kStudy.find("[[row]]"));
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    text += "[[row]]\nname = \"r" + number + "\"\ntask = \"GridChaos-v0:a\"\nseeds = [" + number +
            "]\n";
  }
  text += "[[column]]\nalgorithm = \"sac\"\n";
  Plan plan = parse_plan(text, "tiny.toml");
  plan.epochs = 1;
  ASSERT_EQ(distinct_cells(plan).size(), 40u);

  const TemporaryFolder folder;
  constexpr int kWorkers = 16;
  CountingSink sinks[kWorkers];
  {
    std::vector<std::jthread> workers;
    for (CountingSink& sink : sinks) {
      workers.emplace_back(
          [&] { EXPECT_EQ(run_study({.plan = plan, .out = folder.path()}, sink).finished, 40); });
    }
  }
  int started = 0;
  for (const CountingSink& sink : sinks) started += sink.started;
  EXPECT_EQ(started, 40);
}

TEST(Workers, OnAnotherKindOfProcessorAreWarned) {
  struct Listener : StudySink {
    void warning(const std::string& text) override { warnings.push_back(text); }
    std::vector<std::string> warnings;
  } sink;
  const TemporaryFolder folder;
  run_study({.plan = small_plan(), .out = folder.path(), .cells = "0"}, sink);
  run_study({.plan = small_plan(), .out = folder.path(), .cells = "0"}, sink);
  EXPECT_TRUE(sink.warnings.empty());
  write_file_atomically(folder.path() / "processor.txt", std::string("Z80\n"));
  run_study({.plan = small_plan(), .out = folder.path(), .cells = "0"}, sink);
  EXPECT_EQ(sink.warnings.size(), is_native_build() ? 1u : 0u);
}

TEST(Workers, DoNotWaitWhereTheyAreAskedNotTo) {
  const TemporaryFolder folder;
  Claims other(folder.path(), 60, [](const std::string&) {});
  ASSERT_TRUE(other.take("a/DSAC"));
  StudySink silent;
  const StudyOutcome outcome =
      run_study({.plan = small_plan(), .out = folder.path(), .wait = false}, silent);
  EXPECT_EQ(outcome.finished, 3);
  EXPECT_EQ(outcome.elsewhere, 1);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_FALSE(fs::exists(folder.path() / "a/DSAC"));
}

// The run itself is locked too, for whoever knows nothing of claims.
TEST(Workers, LeaveARunAloneThatIsWrittenByWhateverWay) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a/DSAC");
  const RunLock lock(folder.path() / "a/DSAC");
  StudySink silent;
  const StudyOutcome outcome =
      run_study({.plan = small_plan(), .out = folder.path(), .wait = false}, silent);
  EXPECT_EQ(outcome.finished, 3);
  EXPECT_EQ(outcome.elsewhere, 1);
  EXPECT_TRUE(outcome.failures.empty());
}

// Of a process that is killed, the claim can go a moment before the lock of the run.
TEST(Workers, DoNotWaitLongForARunThatIsLetGo) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a/DSAC");
  std::optional<RunLock> lock(folder.path() / "a/DSAC");
  const std::jthread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    lock.reset();
  });
  StudySink silent;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(run_study({.plan = small_plan(), .out = folder.path()}, silent).finished, 4);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

// What a worker says goes to `log`.
pid_t start_worker(const std::string& file, const std::string& out, const std::string& log) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDOUT_FILENO);
    ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    ::execl(OVDE_PROGRAM, "ovde", "study", "work", file.c_str(), "--out", out.c_str(), "--threads",
            "1", nullptr);
    ::_exit(127);
  }
  return child;
}

int count(const std::string& text, const std::string& words) {
  int found = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

// Two at once, one of which is killed at an instant that wanders through the study: the other one
// takes over what it had, and nothing is done to its end twice.
TEST(Workers, AKilledOnesCellsAreFinishedByTheOther) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "whole");
  const auto whole = all_returns(folder.path() / "whole");
  const std::string file = folder.path() / "small.toml";
  write_file_atomically(file, kStudy);

  int kills = 0;
  for (int round = 0; round < 60 && kills < 25; ++round) {
    const fs::path out = folder.path() / std::to_string(round);
    const std::string log = out.string() + ".log";
    const pid_t killed = start_worker(file, out, log), survivor = start_worker(file, out, log);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 7 * (round * 11 % 25)));
    ::kill(killed, SIGKILL);
    int status = 0;
    ::waitpid(killed, &status, 0);
    kills += WIFSIGNALED(status);
    ::waitpid(survivor, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(all_returns(out), whole);
    // one that was killed between the last byte of a cell and its own word about it is silent
    const std::string said = read_file(log);
    const int ended = count(said, ": finished in "), told = count(said, ": finished by another");
    EXPECT_LE(ended, 4) << said;
    EXPECT_GE(ended + told, 4) << said;
    // where the survivor was gone before the other was killed, the next one removes what is left
    if (fs::exists(out / "claims")) ::waitpid(start_worker(file, out, log), &status, 0);
    EXPECT_FALSE(fs::exists(out / "claims"));
  }
  EXPECT_GE(kills, 25);
}

// Starts the real program on a study and ends it after a while; whether it was still at work.
bool start_and_kill(const std::string& file, const std::string& out,
                    std::chrono::milliseconds after) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDOUT_FILENO);
    ::open("/dev/null", O_WRONLY);
    ::execl(OVDE_PROGRAM, "ovde", "study", "run", file.c_str(), "--out", out.c_str(), "--jobs", "2",
            nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

// Killed again and again, at instants that wander through the study, however fast the machine is.
TEST(RunStudy, KilledAtAnyInstantEndsAsIfNeverStopped) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "whole");
  const auto whole = all_returns(folder.path() / "whole");
  const std::string file = folder.path() / "small.toml";
  write_file_atomically(file, kStudy);

  int kills = 0;
  for (int round = 0; round < 40 && kills < 15; ++round) {
    const fs::path out = folder.path() / std::to_string(round);
    for (int i = 0; i < 4; ++i)
      kills += start_and_kill(file, out, std::chrono::milliseconds(2 + 5 * i + 3 * round));
    EXPECT_EQ(run(small_plan(), out, 2).finished, 4);
    EXPECT_EQ(all_returns(out), whole);
  }
  EXPECT_GE(kills, 15);
}

}  // namespace
}  // namespace ovde
