// A study of four small cells, run and read back.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "study/analyse/results.h"
#include "study/execute/run_study.h"

namespace ovde {

inline const std::string kStudy = R"toml(
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

inline Plan small_plan() { return parse_plan(kStudy, "small.toml"); }

inline StudyOutcome run(const Plan& plan, const std::filesystem::path& out, int jobs = 1) {
  StudySink silent;
  return run_study({.plan = plan, .out = out, .jobs = jobs, .threads = 2}, silent);
}

// Every return of every run, to the last bit.
inline std::vector<std::vector<double>> all_returns(const std::filesystem::path& out,
                                                    const Plan& plan = small_plan()) {
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

// Wishes to stop after so many epochs of all runs together.
class StoppingSink final : public StudySink {
 public:
  explicit StoppingSink(int epochs) : left_(epochs) {}
  void epoch_done(const Cell&, double) override {
    if (--left_ == 0) stop = true;
  }
  std::atomic<bool> stop{false};

 private:
  int left_;
};

}  // namespace ovde
