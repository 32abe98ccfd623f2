// Training from within a program: the same as `ovde train`, without its display.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ovde {

struct Training {
  std::string task;                        // "GridChaos-v0:s", or one of your own
  std::string algorithm = "ovde_g";        // see `ovde list algos`
  std::vector<std::uint64_t> seeds = {0};  // below 2^53; several: a population, one agent each
  std::vector<std::string> settings;       // "explore.alpha=0.1", as after --set (docs/config.md)
  std::string folder;                      // must not hold a run yet
  int threads = 0;                         // 0: all cores
  std::string device = "cpu";              // or "cuda"
};

struct TrainingResult {
  std::uint64_t seed = 0;
  double score = 0;                     // mean evaluation return over the last epochs
  std::optional<int> first_goal_epoch;  // first epoch whose evaluation reached the goal
  std::string policy;                   // file of the trained policy, for Policy::load()
};

// One result for each seed. InputError for what cannot be trained, Error where training fails.
std::vector<TrainingResult> train(const Training& training);

}  // namespace ovde
