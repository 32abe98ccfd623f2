// Cells of a study as one population on a GPU, with a stand-in for it that computes as the CPU
// does.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <span>

#include <gtest/gtest.h>

#include <ovde/error.h>
#include "on_cpu_explorer.h"
#include "study/execute/run_small_study.h"
#include "temporary_folder.h"
#include "train/stand_in_population.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(SlowStudyOnAGpu, CellsInStepGiveTheSameResults) {
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

#ifdef OVDE_MUJOCO
TEST(SlowStudyOnAGpu, DisturbedTaskFilesGiveTheSameResults) {
  const TemporaryFolder folder;
  Plan plan = small_plan();
  plan.rows[0].task = OVDE_SOURCE_DIR "/configs/robots/balancer.toml";
  for (const char* key : {"delay.action", "delay.observation", "sensor.noise", "actuator.lag"})
    plan.rows[0].settings.push_back({key, 1.0, "test"});
  run(plan, folder.path() / "cpu");
  StandInFaults faults;
  StudyRequest request{.plan = plan, .out = folder.path() / "gpu", .threads = 2};
  request.gpu = stand_in(faults);
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_EQ(all_returns(folder.path() / "gpu"), all_returns(folder.path() / "cpu"));
}
#endif

// Together they would all have the time of all.
TEST(SlowStudyOnAGpu, RuntimeStudiesTrainRunsOneByOne) {
  const TemporaryFolder folder;
  StandInFaults faults;
  StudyRequest request{.plan = small_plan(), .out = folder.path(), .threads = 2};
  request.plan.measures = {"runtime"};
  request.gpu = stand_in(faults);
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_EQ(faults.populations, 4 * 2);
}

TEST(SlowStudyOnAGpu, LargePopulationsAreSplit) {
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

// Epochs of other lengths are populations of their own: each waits here until the other is made.
TEST(SlowStudyOnAGpu, CellsOutOfStepGoSideBySide) {
  const TemporaryFolder folder;
  Plan plan = small_plan();
  plan.rows[1].settings.push_back({"train.steps_per_epoch", 10.0, "test"});
  run(plan, folder.path() / "cpu");
  for (const bool fits : {true, false}) {
    StudyRequest request{
        .plan = plan, .out = folder.path() / (fits ? "gpu" : "in_turn"), .threads = 2};
    std::list<StandInFaults> faults;
    std::mutex mutex;
    std::condition_variable another;
    bool met = true;
    request.gpu = {.check =
                       [&](std::span<const AgentOptions> agents, Precision) {
                         if (!fits && agents.size() > 4) throw InputError("4 of them would fit");
                       },
                   .make =
                       [&](std::span<const AgentOptions> options, Precision precision) {
                         std::unique_lock lock(mutex);
                         EXPECT_EQ(options.size(), 4u);
                         auto population = stand_in(faults.emplace_back()).make(options, precision);
                         another.notify_all();
                         if (fits)
                           met &= another.wait_for(lock, std::chrono::seconds(20),
                                                   [&] { return faults.size() == 2; });
                         return population;
                       }};
    StudySink silent;
    EXPECT_EQ(run_study(request, silent).finished, 4);
    EXPECT_EQ(faults.size(), 2u);
    EXPECT_TRUE(met);
    EXPECT_EQ(all_returns(request.out, plan), all_returns(folder.path() / "cpu", plan));
  }
}

// A cell counts as finished when its own runs have ended, though others of its population go on.
TEST(SlowStudyOnAGpu, AShortCellIsFinishedBeforeALongOne) {
  const TemporaryFolder folder;
  Plan plan = small_plan();
  plan.rows[0].length = Length::epochs(2);
  class Order final : public StudySink {
   public:
    void epoch_done(const Cell& cell, double) override { last += cell.row; }
    void cell_finished(const Cell& cell) override { last += " " + cell.row + "! "; }
    std::string last;
  } sink;
  StandInFaults faults;
  StudyRequest request{.plan = plan, .out = folder.path(), .threads = 2};
  request.gpu = stand_in(faults);
  EXPECT_EQ(run_study(request, sink).finished, 4);
  EXPECT_LT(sink.last.find("a! "), sink.last.rfind("bb"));
  EXPECT_EQ(std::ranges::count(sink.last, '!'), 4);
}

// Nothing is left to the CPU. Residual networks have a population of their own.
TEST(SlowStudyOnAGpu, EveryAlgorithmJoinsAPopulation) {
  const TemporaryFolder folder;
  Plan plan = small_plan();
  plan.rows.resize(1);
  const auto column = plan.columns[0];
  plan.columns.clear();
  std::erase_if(plan.settings, [](const Setting& s) { return s.key == "network.hidden"; });
  std::size_t residual = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == "on_cpu") continue;  // of another test
    plan.columns.push_back(column);
    auto& own = plan.columns.back();
    own.name = own.algorithm = algorithm.name;
    if (algorithm.presets.network.kind == NetworkKind::residual) {
      ++residual;
      own.settings.push_back({"network.width", 8.0, "test"});
      own.settings.push_back({"network.actor_width", 8.0, "test"});
    } else {
      own.settings.push_back({"network.hidden", std::vector<double>{8}, "test"});
    }
  }
  run(plan, folder.path() / "cpu");
  StandInFaults faults;
  std::mutex mutex;
  std::vector<std::size_t> agents;
  StudyRequest request{.plan = plan, .out = folder.path() / "gpu", .threads = 2};
  request.gpu = stand_in(faults);
  request.gpu.make = [&](std::span<const AgentOptions> options, Precision precision) {
    const std::lock_guard lock(mutex);
    agents.push_back(options.size());
    return stand_in(faults).make(options, precision);
  };
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).failures.size(), 0u);
  std::ranges::sort(agents);
  EXPECT_EQ(agents, (std::vector{2 * residual, 2 * (plan.columns.size() - residual)}));
  EXPECT_EQ(all_returns(folder.path() / "gpu", plan), all_returns(folder.path() / "cpu", plan));
}

TEST(SlowStudyOnAGpu, CellsThatDoNotFitAreTrainedInTurn) {
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

TEST(SlowStudyOnAGpu, ACellThatCannotRunThereFailsAlone) {
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

TEST(SlowStudyOnAGpu, AGpuFailureFailsItsCells) {
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

TEST(SlowStudyOnAGpu, OtherAlgorithmsFollowOnTheCpu) {
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

TEST(SlowStudyOnAGpu, ContinuesOnGpuOrCpu) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "cpu");
  StandInFaults faults;
  StudyRequest request{.plan = small_plan(), .out = folder.path() / "gpu", .threads = 2};
  for (int part = 0; part < 3; ++part) {
    StoppingSink stopper(7);
    request.stop = &stopper.stop;
    request.gpu = part == 1 ? GpuDevice() : stand_in(faults);
    EXPECT_TRUE(run_study(request, stopper).stopped) << part;
  }
  request.stop = nullptr;
  StudySink silent;
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_EQ(all_returns(folder.path() / "gpu"), all_returns(folder.path() / "cpu"));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
