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
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

class SlowStudyOnAGpu : public testing::Test {
 protected:
  StudyRequest request_of(const Plan& plan = small_plan(), const std::string& name = "gpu") {
    return {.plan = plan, .out = folder_.path() / name, .threads = 2, .gpu = stand_in(faults_)};
  }

  static StudyOutcome run_silently(const StudyRequest& request) {
    StudySink silent;
    return run_study(request, silent);
  }

  // The same study on the CPU has the same returns.
  void expect_results_of_the_cpu(const StudyRequest& request) {
    const auto cpu = folder_.path() / ("cpu_of_" + request.out.filename().string());
    run(request.plan, cpu);
    EXPECT_EQ(all_returns(request.out, request.plan), all_returns(cpu, request.plan));
  }

  const TemporaryFolder folder_;
  StandInFaults faults_;
};

TEST_F(SlowStudyOnAGpu, CellsInStepGiveTheSameResults) {
  const StudyRequest request = request_of();
  CountingSink sink;
  EXPECT_EQ(run_study(request, sink).finished, 4);
  EXPECT_EQ(sink.epochs, 4 * 2 * 4);
  EXPECT_EQ(faults_.populations, 1);
  expect_results_of_the_cpu(request);
}

#ifdef OVDE_MUJOCO
TEST_F(SlowStudyOnAGpu, DisturbedTaskFilesGiveTheSameResults) {
  Plan plan = small_plan();
  plan.rows[0].task = OVDE_SOURCE_DIR "/configs/robots/balancer.toml";
  for (const char* key : {"delay.action", "delay.observation", "sensor.noise", "actuator.lag"})
    plan.rows[0].settings.push_back({key, 1.0, "test"});
  const StudyRequest request = request_of(plan);
  EXPECT_EQ(run_silently(request).finished, 4);
  expect_results_of_the_cpu(request);
}
#endif

// Together they would all have the time of all.
TEST_F(SlowStudyOnAGpu, RuntimeStudiesTrainRunsOneByOne) {
  StudyRequest request = request_of();
  request.plan.measures = {"runtime"};
  EXPECT_EQ(run_silently(request).finished, 4);
  EXPECT_EQ(faults_.populations, 4 * 2);
}

TEST_F(SlowStudyOnAGpu, LargePopulationsAreSplit) {
  StudyRequest request = request_of();
  std::list<StandInFaults> faults;  // one for each half
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
  EXPECT_EQ(run_silently(request).finished, 4);
  EXPECT_EQ(agents, (std::vector<std::size_t>{4, 4}));
  expect_results_of_the_cpu(request);
}

// Epochs of other lengths are populations of their own: each waits here until the other is made.
TEST_F(SlowStudyOnAGpu, CellsOutOfStepGoSideBySide) {
  Plan plan = small_plan();
  plan.rows[1].settings.push_back({"train.steps_per_epoch", 10.0, "test"});
  for (const bool fits : {true, false}) {
    StudyRequest request = request_of(plan, fits ? "gpu" : "in_turn");
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
    EXPECT_EQ(run_silently(request).finished, 4);
    EXPECT_EQ(faults.size(), 2u);
    EXPECT_TRUE(met);
    expect_results_of_the_cpu(request);
  }
}

// A cell counts as finished when its own runs have ended, though others of its population go on.
TEST_F(SlowStudyOnAGpu, AShortCellIsFinishedBeforeALongOne) {
  Plan plan = small_plan();
  plan.rows[0].length = Length::epochs(2);
  class Order final : public StudySink {
   public:
    void epoch_done(const Cell& cell, double) override { last += cell.row; }
    void cell_finished(const Cell& cell) override { last += " " + cell.row + "! "; }
    std::string last;
  } sink;
  EXPECT_EQ(run_study(request_of(plan), sink).finished, 4);
  EXPECT_LT(sink.last.find("a! "), sink.last.rfind("bb"));
  EXPECT_EQ(std::ranges::count(sink.last, '!'), 4);
}

// Nothing is left to the CPU. Residual networks have a population of their own.
TEST_F(SlowStudyOnAGpu, EveryAlgorithmJoinsAPopulation) {
  Plan plan = small_plan();
  plan.rows.resize(1);
  const auto column = plan.columns[0];
  plan.columns.clear();
  std::erase_if(plan.settings, [](const Setting& s) { return s.key == "network.hidden"; });
  std::size_t residual = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == "on_cpu") continue;  // another test registers it
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
  std::mutex mutex;
  std::vector<std::size_t> agents;
  StudyRequest request = request_of(plan);
  request.gpu.make = [&](std::span<const AgentOptions> options, Precision precision) {
    const std::lock_guard lock(mutex);
    agents.push_back(options.size());
    return stand_in(faults_).make(options, precision);
  };
  EXPECT_EQ(run_silently(request).failures.size(), 0u);
  std::ranges::sort(agents);
  EXPECT_EQ(agents, (std::vector{2 * residual, 2 * (plan.columns.size() - residual)}));
  expect_results_of_the_cpu(request);
}

TEST_F(SlowStudyOnAGpu, CellsThatDoNotFitAreTrainedInTurn) {
  StudyRequest request = request_of();
  request.gpu.check = [](std::span<const AgentOptions> agents, Precision) {
    if (agents.size() > 4) throw InputError("4 of them would fit");
  };
  EXPECT_EQ(run_silently(request).finished, 4);
  EXPECT_EQ(faults_.populations, 2);
  expect_results_of_the_cpu(request);
}

TEST_F(SlowStudyOnAGpu, ACellThatCannotRunThereFailsAlone) {
  Plan plan = small_plan();
  plan.columns[1].settings.push_back({"network.hidden", std::vector<double>{128}, "test"});
  const StudyOutcome outcome = run_silently(request_of(plan));
  EXPECT_EQ(outcome.finished, 2);
  ASSERT_EQ(outcome.failures.size(), 2u);
  for (const CellFailure& failure : outcome.failures) {
    EXPECT_EQ(failure.column, "OVDE");
    expect_words(failure.why, {"too wide"});
  }
}

TEST_F(SlowStudyOnAGpu, AGpuFailureFailsItsCells) {
  register_on_cpu_explorer();
  Plan plan = small_plan();
  plan.columns[0].algorithm = "on_cpu";
  const auto fail = [](std::span<const AgentOptions>, Precision) -> std::unique_ptr<GpuPopulation> {
    throw Error("CUDA: cudaMalloc: out of memory");
  };
  for (const bool when_checked : {true, false}) {
    StudyRequest request = request_of(plan, when_checked ? "checked" : "made");
    if (when_checked) request.gpu.check = fail;
    request.gpu.make = fail;
    const StudyOutcome outcome = run_silently(request);
    EXPECT_EQ(outcome.finished, 2);  // those on the CPU
    ASSERT_EQ(outcome.failures.size(), 2u);
    expect_words(outcome.failures[0].why, {"out of memory"});
  }
}

TEST_F(SlowStudyOnAGpu, OtherAlgorithmsFollowOnTheCpu) {
  register_on_cpu_explorer();
  Plan plan = small_plan();
  plan.columns[0].algorithm = "on_cpu";
  StudyRequest request = request_of(plan);
  request.gpu.make = [&](std::span<const AgentOptions> agents, Precision precision) {
    for (const AgentOptions& agent : agents) EXPECT_EQ(agent.algorithm.name, "ovde_g");
    return stand_in(faults_).make(agents, precision);
  };
  CountingSink sink;
  const StudyOutcome outcome = run_study(request, sink);
  EXPECT_EQ(outcome.finished, 4);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(sink.started, 4);
  EXPECT_GT(faults_.acts, 0);
  EXPECT_EQ(all_returns(request.out, plan).size(), 8u);
  expect_results_of_the_cpu(request);
}

TEST_F(SlowStudyOnAGpu, ContinuesOnGpuOrCpu) {
  StudyRequest request = request_of();
  for (int part = 0; part < 3; ++part) {
    StoppingSink stopper(7);
    request.stop = &stopper.stop;
    request.gpu = part == 1 ? GpuDevice() : stand_in(faults_);
    EXPECT_TRUE(run_study(request, stopper).stopped) << part;
  }
  request.stop = nullptr;
  EXPECT_EQ(run_silently(request).finished, 4);
  expect_results_of_the_cpu(request);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
