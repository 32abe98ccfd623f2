// Trains a population of agents, one for each seed, in lockstep epochs, and leaves a run folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "train/config.h"
#include "train/progress.h"

namespace ovde {

struct TrainRequest {
  Config config;
  std::vector<std::uint64_t> seeds;  // one agent each; config.seed is not looked at
  std::filesystem::path out;         // the run folder; must not hold a run yet
  int threads = 1;
  std::string command;  // written into config.toml
};

void train(const TrainRequest& request, ProgressSink& progress);

}  // namespace ovde
