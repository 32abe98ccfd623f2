// How the run of one agent stands: state.json, which its process writes, and summary.json, which it
// leaves at its end.
#pragma once

#include <filesystem>
#include <string>

#include "io/folder.h"
#include "run/machine.h"
#include "run/metrics.h"

namespace ovde {

enum class RunState {
  training,     // a process is writing it
  finished,     // has its summary
  interrupted,  // stopped or killed; can be resumed
  failed,       // ended by an error
  unreadable,   // its files cannot be read; never stored
};
const char* name(RunState state);

struct StoredState {
  RunState state = RunState::interrupted;
  std::string error = {};  // why it failed
  Machine machine = {};    // on which it was written; empty: by an earlier version
};

// With the machine of this process.
void write_state(const std::filesystem::path& folder, RunState state,
                 const std::string& error = {});

// What was stored last. A run that was killed still says training: whether a process is writing it
// is told by its lock. InputError if the file cannot be read.
StoredState read_state(const Folder& folder);

void write_summary(const std::filesystem::path& folder, const RunSummary& summary);
std::string to_json(const RunSummary& summary);

// Whether a run without a folder for checkpoints has lost it.
bool expects_checkpoints(const std::filesystem::path& folder);

// Whether the run has come to its end and has its summary.
bool is_finished(const Folder& folder);

}  // namespace ovde
