// Training from C++: `ovde train` and `ovde train --resume` without their console output.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ovde {

// The result of one epoch of one agent, as in progress.csv.
struct TrainingProgress {
  std::uint64_t seed = 0;
  int epoch = 0;                            // from 0
  int epochs = 0;                           // in the whole run
  std::int64_t env_steps = 0, updates = 0;  // so far
  double eval_return_mean = 0;
  double eval_success = 0;  // share of evaluation episodes; NaN if the task has no goal
  double seconds = 0;       // since the run began
};

// A request to train, as its user writes it; train() resolves and checks it.
struct Training {
  std::string task;                        // "GridChaos-v0:s", or a task of your own
  std::string algorithm = "dsac";          // see `ovde list algos`
  std::vector<std::uint64_t> seeds = {0};  // below 2^53; one agent each, trained in parallel
  std::vector<std::string> settings = {};  // "explore.alpha=0.1", as after --set (docs/config.md)
  std::string folder = {};                 // output; must not contain a run
  int threads = 0;                         // 0: all cores
  std::string device = "cpu";              // or "cuda"
  // Set it to true, in a signal handler or another thread, to stop: train() saves a checkpoint,
  // from which resume() continues, and returns no results.
  const std::atomic<bool>* stop = nullptr;
  // Called after every epoch of every agent, and with warnings about a resumed run; one call at a
  // time, on any thread. An exception thrown by `progress` ends the training.
  std::function<void(const TrainingProgress&)> progress = {};
  std::function<void(const std::string&)> warning = {};
  // Called at the start with the length of the run and its evaluations; once more with the
  // estimated duration, "about 4 minutes (510 steps a second)", unless the run was resumed or takes
  // seconds.
  std::function<void(const std::string&)> note = {};
  // Length of the run: epochs, or environment steps with the warm-up. For resume() the new length,
  // not shorter than before. Empty: as in `settings`, or as the run has it.
  std::optional<int> epochs = {};
  std::optional<std::int64_t> steps = {};
  std::string command = "ovde::train";  // recorded in config.toml
};

struct TrainingResult {
  std::uint64_t seed = 0;
  double score = 0;                     // mean evaluation return over the last epochs
  std::optional<int> first_goal_epoch;  // first epoch whose evaluation reached the goal
  std::string policy;                   // file of the trained policy, for Policy::load()
};

// Returns one result for each seed, or none if stopped. Throws InputError for wrong input and Error
// if training fails.
std::vector<TrainingResult> train(const Training& training);

// Continues the run in training.folder. Task, algorithm, seeds and settings are those of the run;
// these members of `training` are ignored.
std::vector<TrainingResult> resume(const Training& training);

}  // namespace ovde
