#include "run/run_status.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <sys/stat.h>

#include <fmt/format.h>

#include "env/registry.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_lock.h"

namespace ovde {

namespace {

constexpr std::size_t kRecent = 20;  // epochs over which rates are taken
constexpr int kDeepest = 4;  // levels below the folder that was asked for: study, run, agent

// Folders that cannot be read are skipped.
bool is_run(const fs::path& folder) {
  try {
    return holds_config(folder);
  } catch (const InputError&) {
    return false;
  }
}

// The folder to lock and to resume: the population's, where the run is one of its agents.
fs::path whole_run(const fs::path& folder) { return population_above(folder).value_or(folder); }

// By the program. A task file may be the reason of a failure, and a run keeps its copy of it.
bool can_be_resumed(const RunStatus& run) {
  if (run.task.starts_with(kPythonTask)) return false;
  return run.state == RunState::interrupted ||
         (run.state == RunState::failed && !is_task_file(run.task));
}

bool is_training(const fs::path& folder) {
  return RunLock::is_held(folder) || RunLock::is_held(whole_run(folder));
}

void add_rows(std::span<const EpochRow> rows, RunStatus& status) {
  if (rows.empty()) return;
  const EpochRow& last = rows.back();
  status.epochs_done = last.epoch + 1;
  for (const EpochRow& row : rows) {
    if (!std::isnan(row.eval_return_mean)) status.last_return = row.eval_return_mean;
  }

  // an agent of a population also waits for its turn: the time between epochs counts, not the time
  // of an epoch
  const std::size_t recent = std::min(kRecent, rows.size() - 1);
  const EpochRow before = recent == 0 ? EpochRow() : rows[rows.size() - 1 - recent];
  const double seconds = last.seconds - before.seconds;
  if (seconds > 0)
    status.steps_per_second = static_cast<double>(last.env_steps - before.env_steps) / seconds;
  status.seconds_left = seconds / static_cast<double>(std::max<std::size_t>(1, recent)) *
                        (status.epochs - status.epochs_done);
}

RunStatus status_of(const fs::path& folder) {
  std::vector<EpochRow> rows;
  return status_of_run(
      folder, [&] { return read_config(folder); },
      [&]() -> std::span<const EpochRow> { return rows = read_progress(folder); });
}

// Folders by device and inode: links may form circles.
using Seen = std::set<std::pair<dev_t, ino_t>>;

void find_runs(const Folder& top, const fs::path& folder, int depth, Seen& seen,
               std::vector<fs::path>& found) {
  struct stat is = {};
  if (::stat(folder.c_str(), &is) != 0 || !seen.emplace(is.st_dev, is.st_ino).second) return;
  if (is_run(folder)) return found.push_back(folder);
  if (depth == 0) return;
  std::vector<fs::path> inside;
  std::error_code ignored;  // another user's folder below, such as lost+found, is skipped
  for (const fs::path& path : depth == kDeepest ? paths_in(folder) : paths_in(folder, ignored)) {
    if (is_folder(path) && (!fs::is_symlink(path, ignored) || top.allows(path)))
      inside.push_back(path);
  }
  // seed_2 before seed_10
  std::ranges::sort(inside, {}, [](const fs::path& path) {
    const std::string name = path.filename().string();
    const auto digits = name.find_last_not_of("0123456789") + 1;
    return std::tuple(name.substr(0, digits), name.size(), name);
  });
  for (const fs::path& path : inside) find_runs(top, path, depth - 1, seen, found);
}

}  // namespace

std::vector<fs::path> run_folders(const Folder& folder) {
  check_folder(folder.path());
  holds_config(folder.path());  // InputError if it cannot be read
  std::vector<fs::path> found;
  Seen seen;
  find_runs(folder, folder.path(), kDeepest, seen, found);
  return found;
}

std::vector<RunStatus> run_status(const fs::path& folder) {
  std::vector<RunStatus> all;
  for (const fs::path& path : run_folders(folder)) all.push_back(status_of(path));
  return all;
}

RunStatus status_of_run(const Folder& run, const std::function<Config()>& read_config,
                        const std::function<std::span<const EpochRow>()>& read_rows) {
  const fs::path& folder = run.path();
  RunStatus status;
  status.folder = folder;
  if (population_above(folder)) status.population = folder.parent_path();
  try {
    const Config config = read_config();
    status.task = config.task;
    status.algorithm = config.algorithm;
    status.epochs = config.train.epochs;
    const bool training = is_training(folder);  // first: the files read after it are not older
    add_rows(read_rows(), status);

    const StoredState stored = read_state(run);
    status.state = is_finished(run)                   ? RunState::finished
                   : training                         ? RunState::training
                   : stored.state == RunState::failed ? RunState::failed
                                                      : RunState::interrupted;
    if (status.state == RunState::failed) status.message = stored.error;
  } catch (const std::exception& error) {
    status.state = RunState::unreadable;
    status.message = error.what();
  }
  if (status.state != RunState::training && status.state != RunState::interrupted)
    status.seconds_left = EpochRow::kNone;
  return status;
}

fs::path run_to_resume(const fs::path& folder) {
  if (!holds_config(folder) && !holds_population(folder)) return {};
  const std::vector<RunStatus> agents = run_status(folder);
  return agents.empty() || std::ranges::any_of(agents, can_be_resumed) ? whole_run(folder)
                                                                       : fs::path();
}

fs::path finished_policy(const fs::path& folder) {
  check_run_folder(folder);
  const fs::path policy = folder / kPolicyFile;
  // a run that is being trained for longer still has the policy of its earlier end; a folder with a
  // policy and config.toml alone is a policy that somebody kept
  const bool unfinished = !is_finished(folder) && is_there(folder / kProgressFile);
  if (is_there(policy) && !unfinished) {
    check_policy_of(policy, origin_of(read_config(folder)));
    return policy;
  }

  const RunStatus status = status_of(folder);
  if (status.state == RunState::unreadable) throw InputError(status.message);
  if (status.state == RunState::finished) refuse_missing_policy(policy, folder);
  const bool failed = status.state == RunState::failed;
  std::string how_far =
      fmt::format("{} holds no policy yet: it {} epoch {} of {}", folder.string(),
                  failed ? "failed at" : "is at", status.epochs_done, status.epochs);
  if (failed) how_far += ": " + status.message;
  const fs::path run = whole_run(folder);
  if (status.state == RunState::training) {
    how_far += "; another process is training it";
  } else if (failed && is_task_file(status.task)) {
    how_far +=
        "; a resumed run keeps the task that it began with: after a change of the task, begin a "
        "new run";
  } else if (status.task.starts_with(kPythonTask)) {
    how_far +=
        fmt::format("; in Python, ovde.resume(\"{}\", env_factory) continues it", run.string());
  }
  throw UnfinishedRun(how_far, can_be_resumed(status) ? run : fs::path());
}

PolicyOfRun policy_of_run(const fs::path& path) {
  if (!is_file(path)) return {path, finished_policy(path)};
  fs::path run = fs::absolute(path).lexically_normal().parent_path();
  while (!is_run(run) && run.has_relative_path()) run = run.parent_path();
  if (!is_run(run)) {
    throw InputError(
        fmt::format("{}: a policy is used with its run, and no folder above it has a config.toml",
                    path.string()));
  }
  check_policy_of(path, origin_of(read_config(run)));
  return {run, path};
}

}  // namespace ovde
