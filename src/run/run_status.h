// How a run is getting on, read from its folder without disturbing it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/metrics.h"

namespace ovde {

enum class RunState {
  alive,        // a process is writing it
  finished,     // has its summary
  interrupted,  // stopped or killed; can be resumed
  failed,       // the last thing its log has is an error
  unreadable,   // its files make no sense
};

struct RunStatus {
  std::filesystem::path folder;  // of one agent
  RunState state = RunState::unreadable;
  std::string task, algorithm;
  int epochs_done = 0, epochs = 0;
  double last_return = EpochRow::kNone;  // of the evaluation
  double steps_per_second = EpochRow::kNone;
  double seconds_left = EpochRow::kNone;  // at the rate of its last epochs
  std::string message;                    // why it failed or cannot be read
};

// The run in `folder`, or all the runs below it; InputError if there is no such folder.
std::vector<RunStatus> run_status(const std::filesystem::path& folder);

// policy.safetensors of the run of one agent in `folder`. InputError where there is none: one that
// has not come to its end says how far it is and how it goes on.
std::filesystem::path finished_policy(const std::filesystem::path& folder);

}  // namespace ovde
