// Whole training, epoch by epoch: algorithms on the same task, relative to SAC.
#include <atomic>
#include <memory>
#include <vector>

#include "agent/algorithm.h"
#include "base/clock.h"
#include "base/team.h"
#include "bench/bench.h"
#include "bench/bench_agents.h"
#include "stats/statistics.h"
#include "train/epoch_loop.h"

namespace ovde {

namespace {

constexpr int kEpochs = 12;  // timed for each algorithm, after the first, which holds the warm-up

struct Runner {
  std::string algorithm;
  std::unique_ptr<EpochLoop> run;
  std::vector<double> seconds;
};

}  // namespace

std::vector<BenchRow> bench_train(const BenchRequest& request) {
  const std::string task = request.task.empty() ? "GridChaos-v0" : request.task;
  std::vector<Runner> runners;
  for (const Algorithm& algorithm : algorithms()) {
    const bool asked = request.algorithm.empty() || request.algorithm == algorithm.name;
    if (!asked && algorithm.name != "sac") continue;
    BenchRequest one = request;
    one.algorithm = algorithm.name;
    runners.push_back({algorithm.name, std::make_unique<EpochLoop>(bench_config(one), 0), {}});
  }

  // the algorithms take turns, so that a slow moment of the machine hits them alike
  Team team(request.threads);
  const std::atomic<bool> never{false};
  for (int epoch = 0; epoch <= kEpochs; ++epoch) {
    for (Runner& runner : runners) {
      const double passed = seconds_of([&] { runner.run->epoch(team, never); });
      if (epoch > 0) runner.seconds.push_back(passed);
    }
  }

  // each epoch against SAC's of the same turn
  const std::vector<double>& sac = runners.front().seconds;
  std::vector<BenchRow> rows;
  for (const Runner& runner : runners) {
    if (!request.algorithm.empty() && runner.algorithm != request.algorithm) continue;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < sac.size(); ++i) ratios.push_back(runner.seconds[i] / sac[i]);
    const double seconds = median(runner.seconds);
    rows.push_back({.what = "train",
                    .task = task,
                    .algorithm = runner.algorithm,
                    .threads = request.threads,
                    .per_second = 1 / seconds,
                    .seconds = seconds,
                    .more = {{"relative_to_sac", median(ratios)}}});
  }
  return rows;
}

}  // namespace ovde
