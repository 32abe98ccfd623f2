// How a run is getting on, read from its folder without disturbing it.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ovde/error.h>
#include "config/config.h"
#include "run/metrics.h"

namespace ovde {

enum class RunState {
  alive,        // a process is writing it
  finished,     // has its summary
  interrupted,  // stopped or killed; can be resumed
  failed,       // the last thing its log has is an error
  unreadable,   // its files make no sense
};
const char* name(RunState state);

struct RunStatus {
  std::filesystem::path folder;  // of one agent
  RunState state = RunState::unreadable;
  std::string task, algorithm;
  int epochs_done = 0, epochs = 0;
  double last_return = EpochRow::kNone;  // of the evaluation
  double steps_per_second = EpochRow::kNone;
  double seconds_left = EpochRow::kNone;  // at the rate of its last epochs
  std::string message;                    // why it failed or cannot be read
  std::filesystem::path population;       // that it is an agent of; empty: none
};

// The run in `folder`, or all the runs below it; InputError if there is no such folder.
std::vector<RunStatus> run_status(const std::filesystem::path& folder);

// The folders of those runs.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& folder);

// How one run is getting on, for whoever has its configuration and rows already: the functions give
// them, or throw an Error that makes the run unreadable.
RunStatus status_of_run(const std::filesystem::path& folder,
                        const std::function<Config()>& read_config,
                        const std::function<std::span<const EpochRow>()>& read_rows);

// What was asked for is there once the run has been resumed.
class UnfinishedRun : public InputError {
 public:
  UnfinishedRun(const std::string& how_far, std::filesystem::path run)
      : InputError(how_far), run(std::move(run)) {}
  std::filesystem::path run;  // the folder to be resumed; empty: it is being trained
};

// policy.safetensors of the run of one agent in `folder`. InputError where there is none, or that
// of another run; UnfinishedRun where it can still come.
std::filesystem::path finished_policy(const std::filesystem::path& folder);

// A policy and the run that it is of.
struct PolicyOfRun {
  std::filesystem::path run, file;
};
// `path`: the folder of a run, whose finished_policy() is meant, or a policy file within one.
PolicyOfRun policy_of_run(const std::filesystem::path& path);

}  // namespace ovde
