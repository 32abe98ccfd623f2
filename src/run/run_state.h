// The state of one agent's run: state.json, which its process keeps up to date, and summary.json,
// which it writes at the end.
#pragma once

#include <string>

#include "base/file_system.h"
#include "base/names.h"
#include "config/config.h"
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
template <>
inline constexpr Names<RunState> kNames<RunState> = {{RunState::training, "training"},
                                                     {RunState::finished, "finished"},
                                                     {RunState::interrupted, "interrupted"},
                                                     {RunState::failed, "failed"},
                                                     {RunState::unreadable, "unreadable"}};

struct StoredState {
  RunState state = RunState::interrupted;
  std::string error = {};  // why it failed
  Machine machine = {};    // on which it was written; empty: by an earlier version
};

// Stores the machine of this process too.
void write_state(const fs::path& folder, RunState state, const std::string& error = {});

// The state that was stored last. That of a killed run is still `training`; its lock tells whether
// a process is writing it. InputError if the file cannot be read.
StoredState read_state(const Folder& folder);

// The part of a run's summary that follows from its configuration and its rows.
RunSummary summary_of(const Config& config, std::span<const EpochRow> rows);
void write_summary(const fs::path& folder, const RunSummary& summary);
std::string to_json(const RunSummary& summary);

// Whether the run must have a folder for checkpoints: if there is none, it was lost.
bool expects_checkpoints(const fs::path& folder);

// Whether the run has come to its end and has its summary.
bool is_finished(const Folder& folder);

}  // namespace ovde
