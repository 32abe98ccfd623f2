#include "study/analyse/results.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "config/stored_config.h"
#include "io/files.h"
#include "io/settings.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "study/analyse/csv.h"
#include "study/analyse/imported_run.h"
#include "study/plan/smoke.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

RunResult result_of(std::span<const EpochRow> rows, std::uint64_t seed) {
  RunResult out;
  out.seed = seed;
  const RunSummary summary = summarise(rows);
  out.score = summary.score;
  out.first_goal_epoch = summary.first_goal_epoch_eval;
  out.wall_seconds = summary.wall_seconds;
  for (const EpochRow& row : rows) {
    out.returns.push_back(row.eval_return_mean);
    out.env_steps.push_back(static_cast<double>(row.env_steps));
    out.has_goal |= !std::isnan(row.eval_success);
  }
  return out;
}

// The runs of a cell that count, and how many of them have not ended, with the fewest epochs.
struct CellRuns {
  std::vector<RunResult> runs = {};
  int unfinished = 0, fewest = 0;
};

// Of the first `epochs` of each. InputError if a run is not what the cell asks for.
CellRuns read_cell_runs(const fs::path& study, const Cell& cell, int epochs) {
  std::optional<Config> asked;
  CellRuns out;
  for (const std::uint64_t seed : cell.seeds) {
    if (cell.imported) {
      const fs::path file = imported_file(study / cell.folder, seed);
      if (std::error_code ignored; !fs::exists(file, ignored)) continue;
      if (!asked) asked = resolve_config(cell.settings);
      const auto rows = read_imported(file, asked->train);
      const auto count = std::min(rows.size(), static_cast<std::size_t>(epochs));
      out.runs.push_back(result_of(std::span(rows).first(count), seed));
      continue;
    }
    const auto folder = find_agent(study / cell.folder, seed);
    if (!folder) continue;
    const bool has_ended = is_finished(*folder);
    if (!has_ended && epochs == cell.epochs) continue;
    if (!asked) asked = resolve_config(cell.settings);
    if (const auto foreign = foreign_settings(*asked, read_config(*folder)); !foreign.empty()) {
      throw InputError(
          fmt::format("was run with other settings: the plan has {}", fmt::join(foreign, ", ")));
    }
    if (epochs == cell.epochs) {
      out.runs.push_back(read_run(*folder, seed, epochs));
      continue;
    }
    const auto rows = read_progress_so_far(*folder);
    const int count = static_cast<int>(rows.size());
    if (count < epochs) continue;
    out.runs.push_back(result_of(std::span(rows).first(epochs), seed));
    if (has_ended) continue;
    out.fewest = out.unfinished++ == 0 ? count : std::min(out.fewest, count);
  }
  return out;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

// Of a configuration as it is stored.
std::vector<Setting> asked_of_settings(const std::vector<Setting>& stored) {
  std::vector<Setting> asked = asked_for(stored);
  std::erase_if(asked, [](const Setting& setting) {
    return setting.is_table || setting.key.starts_with("run.") ||
           setting.key.starts_with("checkpoint.") || setting.key.starts_with("record.");
  });
  return asked;
}

}  // namespace

std::vector<Setting> asked_of(const fs::path& run) {
  return asked_of_settings(read_settings(run / "config.toml"));
}

std::vector<std::string> foreign_settings(Config asked, const Config& there) {
  asked.seed = there.seed;
  asked.checkpoint = there.checkpoint;
  asked.record = there.record;
  return differences_read(asked, there);
}

RunResult read_run(const fs::path& folder, std::uint64_t seed, int epochs) {
  const std::vector<EpochRow> rows = read_progress(folder);
  if (std::ssize(rows) != epochs) {
    throw InputError(fmt::format("{} is finished, but its progress.csv has {} of {} epochs",
                                 folder.string(), rows.size(), epochs));
  }
  return result_of(rows, seed);
}

void add_run(const fs::path& folder, const Config& config, CellResult& cell, StudyResults& out) {
  if (cell.runs.empty()) cell.asked = asked_of(folder);
  const int epochs = config.train.epochs;
  if (is_finished(folder)) return cell.runs.push_back(read_run(folder, config.seed, epochs));
  const std::vector<EpochRow> rows = read_progress_so_far(folder);
  const RunResult result = result_of(rows, config.seed);
  const bool counts = std::isfinite(result.score);
  if (counts) cell.runs.push_back(result);
  out.unfinished.push_back(fmt::format("seed {} of {}: epoch {} of {}{}", config.seed,
                                       folder.string(), rows.size(), epochs,
                                       counts ? "" : ", nothing evaluated yet"));
}

std::vector<double> CellResult::scores() const {
  std::vector<double> out;
  for (const RunResult& run : runs) out.push_back(run.score);
  return out;
}

int CellResult::reached_goal() const {
  return static_cast<int>(std::ranges::count_if(
      runs, [](const RunResult& run) { return run.first_goal_epoch.has_value(); }));
}

bool CellResult::has_goal() const { return std::ranges::any_of(runs, &RunResult::has_goal); }

std::optional<int> CellResult::earliest_goal() const {
  std::optional<int> out;
  for (const RunResult& run : runs) {
    if (run.first_goal_epoch && (!out || *run.first_goal_epoch < *out)) out = run.first_goal_epoch;
  }
  return out;
}

const CellResult* StudyResults::find(const std::string& row, const std::string& column) const {
  const auto found = std::ranges::find_if(cells, [&](const CellResult& result) {
    return result.cell.row == row && result.cell.column == column;
  });
  return found == cells.end() ? nullptr : &*found;
}

std::vector<const PlanColumn*> StudyResults::columns() const {
  std::vector<const PlanColumn*> out;
  for (const PlanColumn& column : plan.columns) {
    const bool exists = std::ranges::any_of(
        cells, [&](const CellResult& result) { return result.cell.column == column.name; });
    if (exists) out.push_back(&column);
  }
  return out;
}

std::vector<std::string> StudyResults::row_names() const {
  std::vector<std::string> out;
  for (const PlanRow& row : plan.rows) out.push_back(row.name);
  return out;
}

std::vector<std::string> StudyResults::distinct_rows() const {
  std::map<std::string, std::string> row_of;  // the first that has the runs of a folder
  std::set<std::string> repeated;
  for (const CellResult& result : cells) {
    const auto& row = result.cell.row;
    const auto& folder = result.cell.folder;
    if (result.runs.empty() || folder.empty()) continue;  // compared runs are in no study's
    if (row_of.try_emplace(folder, row).first->second != row) repeated.insert(row);
  }
  std::vector<std::string> out = row_names();
  std::erase_if(out, [&](const std::string& row) { return repeated.contains(row); });
  return out;
}

bool StudyResults::any_runs() const {
  return std::ranges::any_of(cells, [](const CellResult& result) { return !result.runs.empty(); });
}

bool StudyResults::shows(const std::string& what) const { return contains(plan.show, what); }
bool StudyResults::measures(const std::string& what) const { return contains(plan.measures, what); }

std::map<std::string, Strata> normalised_scores(const StudyResults& results) {
  std::map<std::string, Strata> out;
  for (const std::string& row : results.distinct_rows()) {
    std::vector<double> all;
    for (const PlanColumn* column : results.columns()) {
      const auto scores = results.find(row, column->name)->scores();
      all.insert(all.end(), scores.begin(), scores.end());
    }
    if (all.empty()) continue;
    const auto [low, high] = std::ranges::minmax(all);
    for (const PlanColumn* column : results.columns()) {
      auto scores = results.find(row, column->name)->scores();
      if (scores.empty()) continue;
      for (double& score : scores) score = high > low ? (score - low) / (high - low) : 0.5;
      out[column->name].push_back(std::move(scores));
    }
  }
  return out;
}

StudyResults read_results(Plan plan, const fs::path& study, std::optional<int> first_epochs) {
  StudyResults out;
  out.smoke = is_smoke(study);
  out.first_epochs = first_epochs;
  std::map<std::string, std::vector<RunResult>> by_folder;  // cells may share one
  for (Cell& cell : expand(plan)) {
    const int planned = cell.epochs, epochs = std::min(planned, first_epochs.value_or(planned));
    auto found = by_folder.find(cell.folder);
    if (found == by_folder.end()) {
      CellRuns of_cell;
      try {
        of_cell = read_cell_runs(study, cell, epochs);
      } catch (const Error& error) {
        out.notes.push_back(fmt::format("{} / {}: {}", cell.row, cell.column, error.what()));
      }
      if (of_cell.unfinished > 0) {
        out.unfinished.push_back(fmt::format("{} of the runs of {} / {}: at least epoch {} of {}",
                                             of_cell.unfinished, cell.row, cell.column,
                                             of_cell.fewest, planned));
      }
      found = by_folder.emplace(cell.folder, std::move(of_cell.runs)).first;
    }
    cell.epochs = epochs;
    CellResult result{std::move(cell), found->second};
    if (!result.runs.empty()) {
      const auto run = find_agent(study / result.cell.folder, result.runs.front().seed);
      if (run) result.asked = asked_of(*run);
    }
    out.cells.push_back(std::move(result));
  }
  out.plan = std::move(plan);
  return out;
}

StudyResults results_of_table(Plan plan, const fs::path& runs_csv) {
  StudyResults out;
  for (Cell& cell : expand(plan)) out.cells.push_back({std::move(cell), {}});
  out.plan = std::move(plan);
  std::erase_if(out.plan.show,
                [](const std::string& what) { return what == "curves" || what == "maps"; });

  std::istringstream lines(read_file(runs_csv));
  std::string line;
  std::getline(lines, line);
  if (line != kRunsHeader) {
    throw InputError(fmt::format("{}: its first line must be {}", runs_csv.string(), kRunsHeader));
  }
  for (int number = 2; std::getline(lines, line); ++number) {
    const auto refuse = [&](const std::string& why) {
      throw InputError(fmt::format("{}:{}: {}", runs_csv.string(), number, why));
    };
    const std::vector<std::string> fields = split_csv(line);
    if (fields.size() != 9) refuse("must have nine fields");
    const auto cell = std::ranges::find_if(out.cells, [&](const CellResult& each) {
      return each.cell.row == fields[0] && each.cell.column == fields[1];
    });
    if (cell == out.cells.end())
      refuse(fmt::format("the plan has no cell {} / {}", fields[0], fields[1]));
    RunResult run;
    run.seed = parse_field<std::uint64_t>(fields[4]).value_or(0);
    const auto score = parse_field<double>(fields[6]);
    if (!score || !std::isfinite(*score)) refuse(fmt::format("'{}' is no score", fields[6]));
    run.score = *score;
    run.first_goal_epoch = parse_field<int>(fields[7]);
    run.has_goal = cell->cell.imported ? run.first_goal_epoch.has_value()
                                       : find_task(cell->cell.task).has_goal;
    run.wall_seconds = parse_field<double>(fields[8]).value_or(0);
    cell->runs.push_back(run);
  }
  return out;
}

void add_asked_by_plan(StudyResults& results) {
  for (CellResult& each : results.cells) {
    if (each.runs.empty() || each.cell.imported) continue;
    const Config config = resolve_config(each.cell.settings);
    each.asked = asked_of_settings(parse_toml(to_toml(config, "", ""), "the plan's settings"));
  }
}

StudyResults results_of_run(const fs::path& folder) {
  if (!holds_population(folder)) check_run_folder(folder);
  const Population there = read_runs(folder).value();
  StudyResults out;
  CellResult result;
  std::error_code ignored;  // a current folder that is gone has no name
  result.cell = {.row = there.config.task,
                 .column = there.config.algorithm,
                 .task = there.config.task,
                 .algorithm = there.config.algorithm,
                 .epochs = there.config.train.epochs,
                 .seeds = there.seeds,
                 .settings = {},
                 // wherever the report is written
                 .folder = fs::absolute(folder, ignored).string()};
  for (const std::uint64_t seed : there.seeds) {
    if (const auto run = find_agent(folder, seed)) add_run(*run, read_config(*run), result, out);
  }
  if (result.runs.empty()) {
    throw InputError(fmt::format("{} has no epoch to report on yet", folder.string()));
  }

  out.plan.name = fs::weakly_canonical(folder, ignored).filename().string();
  out.plan.title = fmt::format("{} on {}", there.config.algorithm, there.config.task);
  out.plan.measures = {"score"};
  if (result.has_goal()) out.plan.measures.push_back("frg");
  out.plan.show = {"table", "curves"};
  if (there.config.record.visits) out.plan.show.push_back("maps");
  out.plan.x = "steps";
  PlanRow row;
  row.name = row.task = there.config.task;
  PlanColumn column;
  column.name = column.algorithm = there.config.algorithm;
  out.plan.rows.push_back(std::move(row));
  out.plan.columns.push_back(std::move(column));
  out.cells.push_back(std::move(result));
  return out;
}

}  // namespace ovde
