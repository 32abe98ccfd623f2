#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/text.h"
#include "config/config_keys.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "study/analyse/results.h"

namespace ovde {

namespace {

FoundRun describe(const fs::path& folder) {
  FoundRun run{folder, read_config(folder), {}, {}};
  run.row.base = run.config.task;
  run.column.base = run.config.algorithm;
  for (const Setting& setting : asked_of(folder)) {
    (is_of_task(setting.key) ? run.row : run.column).asked[setting.key] = to_string(setting.value);
  }
  return run;
}

std::vector<RunKind> kinds_of(const std::vector<FoundRun>& runs, RunKind FoundRun::*kind) {
  std::vector<RunKind> all;
  for (const FoundRun& run : runs) {
    if (std::ranges::find(all, run.*kind) == all.end()) all.push_back(run.*kind);
  }
  return all;
}

// " Numbers of epochs differ: dsac 7, ovde_g 3 to 5." Empty where they are equal.
std::string different_lengths(const std::vector<FoundRun>& runs,
                              const std::vector<RunKind>& columns,
                              const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  std::set<int> all;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::set<int> own;
    for (const FoundRun& run : runs) {
      if (run.column == columns[c]) own.insert(run.config.train.epochs);
    }
    all.insert(own.begin(), own.end());
    parts.push_back(own.size() == 1
                        ? fmt::format("{} {}", names[c], *own.begin())
                        : fmt::format("{} {} to {}", names[c], *own.begin(), *own.rbegin()));
  }
  if (all.size() == 1) return "";
  return fmt::format(" Numbers of epochs differ: {}.", fmt::join(parts, ", "));
}

}  // namespace

std::vector<FoundRun> find_runs(std::span<const fs::path> folders,
                                std::vector<std::string>& notes) {
  std::vector<FoundRun> runs;
  std::set<fs::path> seen;
  for (const fs::path& folder : folders) {
    const auto found = run_status(folder);
    if (found.empty()) notes.push_back(fmt::format("there is no run in {}", folder.string()));
    for (const RunStatus& status : found) {
      if (status.state == RunState::unreadable)
        throw InputError(fmt::format("{}: {}", status.folder.string(), status.message));
      if (seen.insert(fs::weakly_canonical(status.folder)).second)
        runs.push_back(describe(status.folder));
    }
  }
  return runs;
}

std::string name_of(const RunKind& kind, const std::vector<RunKind>& all) {
  std::set<std::string> differing;
  for (const RunKind& other : all) {
    if (other.base != kind.base) continue;
    for (const auto* values : {&kind.asked, &other.asked}) {
      for (const auto& [key, value] : *values) {
        const auto a = kind.asked.find(key), b = other.asked.find(key);
        const bool same = a != kind.asked.end() && b != other.asked.end() && a->second == b->second;
        if (!same) differing.insert(key);
      }
    }
  }
  std::vector<std::string> parts = {kind.base};
  for (const std::string& key : differing) {
    if (const auto own = kind.asked.find(key); own != kind.asked.end())
      parts.push_back(fmt::format("{} = {}", key, own->second));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

StudyResults compare_runs(std::span<const fs::path> folders) {
  StudyResults out;
  const std::vector<FoundRun> runs = find_runs(folders, out.notes);
  if (runs.empty()) throw InputError(fmt::format("{}", fmt::join(out.notes, "; ")));
  const auto rows = kinds_of(runs, &FoundRun::row), columns = kinds_of(runs, &FoundRun::column);
  out.plan.name = "compare";
  out.plan.measures = {"score"};
  out.plan.show = {"table", "curves", "bars"};
  out.plan.x = "steps";
  for (const RunKind& kind : rows)
    out.plan.rows.push_back({.name = name_of(kind, rows), .task = kind.base});
  for (const RunKind& kind : columns)
    out.plan.columns.push_back({.name = name_of(kind, columns),
                                .algorithm = kind.base,
                                .role = out.plan.columns.empty() ? Role::baseline : Role::ours});
  const std::vector<std::string> names = names_of(out.plan.columns);
  out.plan.title = fmt::format("{}", fmt::join(names, ", "));
  out.plan.text = fmt::format(
      "{} not planned as a study.",
      runs.size() == 1 ? "A run that was" : fmt::format("{} runs that were", runs.size()));
  if (names.size() > 1)
    out.plan.text +=
        fmt::format(" Differences are tested against {}, the first one.", names.front());
  out.plan.text += different_lengths(runs, columns, names);

  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      CellResult result{{.row = out.plan.rows[r].name,
                         .column = out.plan.columns[c].name,
                         .task = rows[r].base,
                         .algorithm = columns[c].base}};
      for (const FoundRun& run : runs) {
        if (run.row != rows[r] || run.column != columns[c]) continue;
        auto& seeds = result.cell.seeds;
        if (std::ranges::find(seeds, run.config.seed) != seeds.end()) {
          out.notes.push_back(fmt::format("{}: a second run of the same settings and seed {}",
                                          run.folder.string(), run.config.seed));
          continue;
        }
        seeds.push_back(run.config.seed);
        result.cell.epochs = std::max(result.cell.epochs, run.config.train.epochs);
        add_run(run.folder, run.config, result, out);
      }
      out.cells.push_back(std::move(result));
    }
  }
  if (!out.any_runs()) throw InputError("none of these runs has finished an epoch yet");
  if (std::ranges::any_of(out.cells, &CellResult::has_goal)) out.plan.measures.push_back("frg");
  return out;
}

}  // namespace ovde
