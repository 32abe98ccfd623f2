// The progress of runs, read from their folders without disturbing them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ovde/error.h>
#include "base/file_system.h"
#include "config/config.h"
#include "io/folder.h"
#include "run/metrics.h"
#include "run/run_state.h"

namespace ovde {

struct RunStatus {
  fs::path folder;
  RunState state = RunState::unreadable;
  std::string task, algorithm;
  int epochs_done = 0, epochs = 0;
  double last_return = EpochRow::kNone;       // mean return of the last evaluation
  double steps_per_second = EpochRow::kNone;  // over its last epochs, waiting included
  double seconds_left = EpochRow::kNone;      // at that rate
  std::string message;                        // why it failed or cannot be read
  fs::path population;                        // the folder of its population; empty: none
};

// The run in `folder`, or all the runs below it; InputError if there is no such folder.
std::vector<RunStatus> run_status(const fs::path& folder);

// The run in `folder`, or its population, if the program can resume it. Empty: it is finished or
// cannot be read, its environment is Python's, or it failed and its task file may be the reason.
fs::path run_to_resume(const fs::path& folder);

// The folders of those runs.
std::vector<fs::path> run_folders(const Folder& folder);

// The status of one run, for a caller who has its configuration and rows already: the functions
// return them, or throw an exception that makes the run unreadable.
RunStatus status_of_run(const Folder& run, const std::function<Config()>& read_config,
                        const std::function<std::span<const EpochRow>()>& read_rows);

// The run has no policy yet: it must be resumed first.
class UnfinishedRun : public InputError {
 public:
  UnfinishedRun(const std::string& how_far, fs::path run)
      : InputError(how_far), run(std::move(run)) {}
  fs::path run;  // the folder to be resumed; empty: the message says what to do instead
};

// policy.safetensors of the run of one agent in `folder`. InputError where there is none, or it
// belongs to another run; UnfinishedRun where the run has not ended.
fs::path finished_policy(const fs::path& folder);

struct PolicyOfRun {
  fs::path run, file;
};
// `path`: the folder of a run, for its finished_policy(), or a policy file within one.
PolicyOfRun policy_of_run(const fs::path& path);

}  // namespace ovde
