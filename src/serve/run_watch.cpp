#include "serve/run_watch.h"

#include <algorithm>
#include <set>

#include "run/run_folder.h"

namespace ovde {

namespace {

bool same(const RunStatus& a, const RunStatus& b) {
  return a.state == b.state && a.epochs_done == b.epochs_done && a.epochs == b.epochs &&
         a.message == b.message;
}

}  // namespace

RunWatch::RunWatch(std::vector<fs::path> folders) : folders_(std::move(folders)) {}

std::vector<int> RunWatch::look(bool for_new_runs) {
  std::vector<int> changed;
  if (for_new_runs) find(changed);
  for (int i = 0; i < std::ssize(runs_); ++i) {
    if (runs_[i].there && look_at(runs_[i]) && std::ranges::find(changed, i) == changed.end())
      changed.push_back(i);
  }
  return changed;
}

void RunWatch::find(std::vector<int>& changed) {
  std::set<int> found;
  for (int root = 0; root < std::ssize(folders_); ++root) {
    std::vector<fs::path> folders;
    try {
      folders = run_folders(Folder(folders_[root], folders_[root]));
    } catch (const InputError&) {  // the folder does not exist (yet)
    }
    for (const fs::path& folder : folders) {
      const auto [at, is_new] = numbers_.emplace(folder, static_cast<int>(runs_.size()));
      if (is_new) {
        const fs::path name = folder.lexically_relative(folders_[root]);
        runs_.emplace_back(Folder(folder, folders_[root]), name == "." ? "" : name.string(), root);
      }
      if (WatchedRun& run = runs_[at->second]; is_new || !run.there) {
        run.there = true;
        run.stamps.clear();
        changed.push_back(at->second);
      }
      found.insert(at->second);
    }
  }
  for (int i = 0; i < std::ssize(runs_); ++i) {
    if (!runs_[i].there || found.contains(i)) continue;
    runs_[i].there = false;
    changed.push_back(i);
  }
}

bool RunWatch::look_at(WatchedRun& run) {
  std::vector<fs::file_time_type> stamps;
  for (const char* file :
       {"config.toml", "state.json", "summary.json", "log.txt", "progress.csv"}) {
    std::error_code missing;  // then the time is the earliest possible
    stamps.push_back(fs::last_write_time(run.folder.path() / file, missing));
  }
  const bool touched = stamps != run.stamps;
  // an unchanged run has its old state, unless its process may have died
  if (!touched && run.status.state != RunState::training &&
      run.status.state != RunState::interrupted)
    return false;
  if (run.stamps.empty() || stamps[0] != run.stamps[0]) run.config.reset();
  run.stamps = stamps;

  bool rows_changed = false;
  const RunStatus status = status_of_run(
      run.folder,
      [&] {
        if (!run.config) run.config = read_config(run.folder);
        return *run.config;
      },
      [&]() -> std::span<const EpochRow> {
        rows_changed = run.progress.look();
        return run.progress.rows();
      });
  const bool changed = rows_changed || !same(status, run.status);
  run.status = status;
  return changed;
}

}  // namespace ovde
