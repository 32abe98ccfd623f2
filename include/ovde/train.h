// Training from within a program: the same as `ovde train` and `ovde train --resume`, without their
// display.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ovde {

// An agent's epoch that has ended: the numbers of its row of progress.csv that a display needs.
struct TrainingProgress {
  std::uint64_t seed = 0;
  int epoch = 0;                            // from 0
  int epochs = 0;                           // of the run
  std::int64_t env_steps = 0, updates = 0;  // so far
  double eval_return_mean = 0;
  double eval_success = 0;  // share of the evaluation episodes; NaN: the task has no goal
  double seconds = 0;       // since the run began
};

struct Training {
  std::string task;                        // "GridChaos-v0:s", or one of your own
  std::string algorithm = "ovde_g";        // see `ovde list algos`
  std::vector<std::uint64_t> seeds = {0};  // below 2^53; several: a population, one agent each
  std::vector<std::string> settings = {};  // "explore.alpha=0.1", as after --set (docs/config.md)
  std::string folder = {};                 // must not hold a run yet
  int threads = 0;                         // 0: all cores
  std::string device = "cpu";              // or "cuda"
  // Becomes true, in a signal handler or another thread: what was learnt is saved, and train()
  // returns nothing. resume() goes on from there.
  const std::atomic<bool>* stop = nullptr;
  // Called after every epoch of every agent, and with what a person should know of a resumed run.
  // One call at a time, from any thread. What `progress` throws ends the training like any failure.
  std::function<void(const TrainingProgress&)> progress = {};
  std::function<void(const std::string&)> warning = {};
  std::string command = "ovde::train";  // what config.toml says the run was started with
};

struct TrainingResult {
  std::uint64_t seed = 0;
  double score = 0;                     // mean evaluation return over the last epochs
  std::optional<int> first_goal_epoch;  // first epoch whose policy reached it when evaluated
  std::string policy;                   // file of the trained policy, for Policy::load()
};

// One result for each seed; none where it was asked to stop before the end. InputError for what
// cannot be trained, Error where training fails.
std::vector<TrainingResult> train(const Training& training);

// What is left of the run in training.folder. The folder holds the task, the algorithm, the seeds
// and the settings; those of `training` are not looked at.
std::vector<TrainingResult> resume(const Training& training);

}  // namespace ovde
