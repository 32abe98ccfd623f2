#include "run/run_state.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/error.h>
#include "io/files.h"
#include "io/json.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestState = 1 << 20;

}  // namespace

// The folder is made before state.json.
bool expects_checkpoints(const fs::path& folder) { return has_file(folder, kStateFile); }

void write_state(const fs::path& folder, RunState state, const std::string& error) {
  Json json = {{"state", name(state)}};
  if (!error.empty()) json["error"] = error;
  json["machine"] = this_machine();
  write_file_atomically(folder / kStateFile, to_line(json) + "\n");
}

StoredState read_state(const Folder& folder) {
  // results that somebody kept, or a new run that was killed
  if (!has_file(folder.path(), kStateFile) && !is_there(folder.path() / kStateFile))
    return {has_file(folder.path(), kSummaryFile) ? RunState::finished : RunState::interrupted};
  const Json json = parse_json(folder.read(kStateFile, kLargestState), /*allow_exceptions=*/false);
  const Json object = json.is_object() ? json : Json::object();
  const auto text = [&](const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  StoredState stored{.state = RunState::unreadable, .error = text("error")};
  for (const auto& [state, name] : kNames<RunState>) {
    if (text("state") == name) stored.state = state;
  }
  if (stored.state == RunState::unreadable)
    throw InputError(fmt::format("{}: not the state of a run; {}",
                                 (folder.path() / kStateFile).string(),
                                 how_to_mend(folder.path())));
  const Json machine = object.value("machine", Json::object());
  for (const auto& [part, value] : machine.items()) {
    if (value.is_string()) stored.machine[part] = value.get<std::string>();
  }
  return stored;
}

RunSummary summary_of(const Config& config, std::span<const EpochRow> rows) {
  RunSummary summary = summarise(rows);
  summary.task = config.task;
  summary.algorithm = config.algorithm;
  summary.seed = config.seed;
  return summary;
}

std::string to_json(const RunSummary& summary) {
  const auto epoch = [](const std::optional<int>& value) { return value ? Json(*value) : Json(); };
  const Json json = {{"task", summary.task},
                     {"algorithm", summary.algorithm},
                     {"seed", summary.seed},
                     {"epochs", summary.epochs},
                     {"score", summary.score},
                     {"first_goal_epoch_eval", epoch(summary.first_goal_epoch_eval)},
                     {"first_goal_epoch_explore", epoch(summary.first_goal_epoch_explore)},
                     {"best_epoch", epoch(summary.best_epoch)},
                     {"best_return", summary.best_return},
                     {"wall_seconds", summary.wall_seconds},
                     {"steps_per_second", summary.steps_per_second},
                     {"version", summary.version}};
  return to_text(json, 2) + "\n";
}

void write_summary(const fs::path& folder, const RunSummary& summary) {
  write_file_atomically(folder / kSummaryFile, to_json(summary));
}

bool is_finished(const Folder& folder) {
  return has_file(folder.path(), kSummaryFile) && read_state(folder).state == RunState::finished;
}

}  // namespace ovde
