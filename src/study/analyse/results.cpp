#include "study/analyse/results.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/text.h"
#include "config/stored_config.h"
#include "io/files.h"
#include "io/settings.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_state.h"
#include "study/analyse/csv.h"
#include "study/analyse/imported_run.h"
#include "study/plan/study_record.h"

namespace ovde {

namespace {

// `epochs`: of the whole run, of which `rows` may be the beginning.
RunResult result_of(std::span<const EpochRow> rows, std::uint64_t seed, int epochs) {
  RunResult out;
  out.seed = seed;
  const RunSummary summary = summarise(rows);
  out.score = summary.score;
  out.first_goal_epoch = summary.first_goal_epoch_eval;
  out.first_goal_epoch_explore = summary.first_goal_epoch_explore;
  out.wall_seconds = summary.wall_seconds;
  out.curve = curve_of(rows, static_cast<std::size_t>(epochs), kCurvePoints);
  for (const EpochRow& row : rows) {
    out.returns.push_back(row.eval_return_mean);
    out.env_steps.push_back(static_cast<double>(row.env_steps));
    out.has_goal |= !std::isnan(row.eval_success);
    out.knows_explore |= !std::isnan(row.explore_success);
  }
  return out;
}

// The rows of a finished run. InputError unless there are `epochs`.
std::vector<EpochRow> read_whole(const fs::path& folder, int epochs) {
  std::vector<EpochRow> rows = read_progress(folder);
  if (std::ssize(rows) != epochs) {
    throw InputError(fmt::format("{} is finished, but its progress.csv has {} of {} epochs; {}",
                                 folder.string(), rows.size(), epochs, how_to_mend(folder)));
  }
  return rows;
}

struct CellRuns {
  std::vector<RunResult> runs = {};
  int unfinished = 0;     // runs among them
  int fewest_epochs = 0;  // among the unfinished runs
};

// The first `epochs` of a run. InputError if none of them was evaluated.
RunResult first_epochs_of(std::span<const EpochRow> rows, std::uint64_t seed, int epochs) {
  const auto count = std::min(rows.size(), static_cast<std::size_t>(epochs));
  RunResult out = result_of(rows.first(count), seed, epochs);
  if (std::isfinite(out.score)) return out;
  const auto first = std::ranges::find_if(
      rows, [](const EpochRow& row) { return std::isfinite(row.eval_return_mean); });
  throw InputError(fmt::format(
      "seed {} has no evaluation in the first {}{}", seed, plural(epochs, "epoch"),
      first == rows.end() ? "" : fmt::format("; the first {} have one", first - rows.begin() + 1)));
}

// The first `epochs` of each run that counts. InputError if the plan's settings are invalid or a
// run has others.
CellRuns read_cell_runs(const fs::path& study, const Cell& cell, int epochs) {
  Config asked = resolve_config(cell.settings);
  CellRuns out;
  for (const std::uint64_t seed : cell.seeds) {
    if (cell.imported) {
      const fs::path file = imported_file(study / cell.folder, seed);
      if (!is_there(file)) continue;
      out.runs.push_back(first_epochs_of(read_imported(file, asked.train), seed, epochs));
      continue;
    }
    const auto folder = find_agent(study / cell.folder, seed);
    if (!folder) continue;
    const bool finished = is_finished(*folder);
    if (!finished && epochs == cell.epochs) continue;
    const Config trained = read_config(*folder);
    if (epochs != cell.epochs) asked.train.epochs = trained.train.epochs;
    if (const auto foreign = foreign_settings(asked, trained); !foreign.empty()) {
      throw InputError(
          fmt::format("was run with other settings: the plan has {}", fmt::join(foreign, ", ")));
    }
    const auto rows =
        epochs == cell.epochs ? read_whole(*folder, epochs) : read_progress_so_far(*folder);
    const int count = static_cast<int>(rows.size());
    if (count < epochs) continue;
    out.runs.push_back(first_epochs_of(rows, seed, epochs));
    if (finished) continue;
    out.fewest_epochs = out.unfinished++ == 0 ? count : std::min(out.fewest_epochs, count);
  }
  return out;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

// The settings of a stored configuration that are not defaults, without those that the results do
// not depend on and those that the seed and the cell already say.
std::vector<Setting> settings_asked_for(const std::vector<Setting>& stored) {
  std::vector<Setting> asked = asked_for(stored);
  std::erase_if(asked, [](const Setting& setting) {
    return setting.is_table || setting.key.starts_with("run.") ||
           setting.key.starts_with("checkpoint.") || setting.key.starts_with("record.");
  });
  return asked;
}

// The run of a line of tables/runs.csv. InputError unless it is a run of the cell that the plan
// asks for.
RunResult read_table_row(const CsvReader& in, const CellResult& result) {
  const Cell& cell = result.cell;
  const auto check = [&](std::size_t column, const std::string& planned) {
    if (in.field(column) != planned)
      in.refuse(
          fmt::format("{} is {}, the plan has {}", in.header()[column], in.field(column), planned));
  };
  const auto refuse_value = [&](std::size_t column, const char* valid) {
    in.refuse(
        fmt::format("{} is '{}', which is not {}", in.header()[column], in.field(column), valid));
  };
  check(2, cell.task);
  check(3, cell.algorithm);
  check(5, std::to_string(cell.epochs));
  RunResult run;
  const auto seed = in.number<std::uint64_t>(4);
  if (!seed) refuse_value(4, "a seed");
  if (std::ranges::find(cell.seeds, *seed) == cell.seeds.end())
    in.refuse(fmt::format("the plan has no seed {} in {}", *seed, cell.title()));
  if (std::ranges::find(result.runs, *seed, &RunResult::seed) != result.runs.end())
    in.refuse(fmt::format("seed {} of {} is repeated", *seed, cell.title()));
  run.seed = *seed;
  const auto score = in.number<double>(6), seconds = in.number<double>(8);
  if (!score || !std::isfinite(*score)) refuse_value(6, "a score");
  const bool measured = !in.field(8).empty();
  if (measured && (!seconds || !std::isfinite(*seconds) || *seconds < 0))
    refuse_value(8, "a time in seconds");
  run.score = *score;
  run.wall_seconds = seconds.value_or(0);
  const auto epoch = [&](std::size_t column) {
    const auto number = in.number<int>(column);
    if (!in.field(column).empty() && (!number || *number < 0 || *number >= cell.epochs))
      refuse_value(column, "an epoch of the run");
    return number;
  };
  run.first_goal_epoch = epoch(7);
  if (const auto explore = in.column(kExploreColumn); explore && !cell.imported) {
    run.knows_explore = true;
    run.first_goal_epoch_explore = epoch(*explore);
  }
  if (const auto goal = in.column(kGoalColumn)) {
    if (in.field(*goal) != "0" && in.field(*goal) != "1") refuse_value(*goal, "0 or 1");
    run.has_goal = in.field(*goal) == "1";
  } else {
    run.has_goal = cell.imported ? run.first_goal_epoch.has_value() : find_task(cell.task).has_goal;
  }
  return run;
}

}  // namespace

std::vector<Setting> asked_of(const fs::path& run) {
  return settings_asked_for(read_settings(run / "config.toml"));
}

std::vector<EpochRow> curve_of(std::span<const EpochRow> rows, std::size_t length,
                               std::size_t most) {
  const std::size_t width = (length + most - 1) / most;
  std::vector<EpochRow> out;
  for (std::size_t begin = 0; begin < rows.size(); begin += width) {
    const auto part = rows.subspan(begin, std::min(width, rows.size() - begin));
    EpochRow mean = part.back();
    for (const Column& column : kColumns) {
      if (column.value != &EpochRow::seconds) mean.*column.value = mean_of(part, column.value);
    }
    out.push_back(mean);
  }
  return out;
}

RunResult read_run(const fs::path& folder, std::uint64_t seed, int epochs) {
  return result_of(read_whole(folder, epochs), seed, epochs);
}

void add_run(const fs::path& folder, const Config& config, CellResult& cell, StudyResults& out) {
  if (cell.runs.empty()) cell.asked = asked_of(folder);
  const int epochs = config.train.epochs;
  if (is_finished(folder)) return cell.runs.push_back(read_run(folder, config.seed, epochs));
  const std::vector<EpochRow> rows = read_progress_so_far(folder);
  const RunResult result = result_of(rows, config.seed, epochs);
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

std::optional<int> CellResult::explored_goal() const {
  if (!has_goal() || !std::ranges::all_of(runs, &RunResult::knows_explore)) return std::nullopt;
  return static_cast<int>(std::ranges::count_if(
      runs, [](const RunResult& run) { return run.first_goal_epoch_explore.has_value(); }));
}

bool CellResult::has_goal() const { return std::ranges::any_of(runs, &RunResult::has_goal); }

std::optional<int> CellResult::earliest_goal() const {
  std::optional<int> out;
  for (const RunResult& run : runs) {
    if (run.first_goal_epoch && (!out || *run.first_goal_epoch < *out)) out = run.first_goal_epoch;
  }
  return out;
}

const CellResult& StudyResults::find(const std::string& row, const std::string& column) const {
  const auto found = std::ranges::find_if(cells, [&](const CellResult& result) {
    return result.cell.row == row && result.cell.column == column;
  });
  if (found == cells.end()) throw Error(fmt::format("the study has no cell {} / {}", row, column));
  return *found;
}

std::vector<std::string> StudyResults::row_names() const { return names_of(plan.rows); }

std::vector<std::string> StudyResults::distinct_rows() const {
  std::map<std::string, std::string> row_of;  // first row with the runs of a folder
  std::set<std::string> repeated;
  for (const CellResult& result : cells) {
    const auto& row = result.cell.row;
    const auto& folder = result.cell.folder;
    if (result.runs.empty() || folder.empty()) continue;  // runs outside a study have no folder
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

StudyResults read_results(Plan plan, const fs::path& study, std::optional<int> first_epochs) {
  StudyResults out;
  plan.smoke |= is_smoke(study);
  out.first_epochs = first_epochs;
  std::map<std::string, std::vector<RunResult>> by_folder;  // cells may share a folder
  for (Cell& cell : expand(plan)) {
    const int planned = cell.epochs, epochs = std::min(planned, first_epochs.value_or(planned));
    auto found = by_folder.find(cell.folder);
    if (found == by_folder.end()) {
      CellRuns of_cell;
      try {
        of_cell = read_cell_runs(study, cell, epochs);
      } catch (const Error& error) {
        out.notes.push_back(fmt::format("{}: {}", cell.title(), error.what()));
      }
      if (of_cell.unfinished > 0) {
        out.unfinished.push_back(fmt::format("{} of {}: at least epoch {} of {}",
                                             plural(of_cell.unfinished, "run"), cell.title(),
                                             of_cell.fewest_epochs, planned));
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
  for (Cell& cell : expand(plan)) out.cells.push_back({std::move(cell)});
  out.plan = std::move(plan);
  std::erase_if(out.plan.show,
                [](const std::string& what) { return what == "curves" || what == "maps"; });

  CsvReader in(read_file(runs_csv), runs_csv.string());
  if (!fmt::format("{},", fmt::join(in.header(), ",")).starts_with(kRunsHeader + std::string(",")))
    throw InputError(fmt::format("{}: its first line must be {}", runs_csv.string(), kRunsHeader));
  while (in.next()) {
    const auto found = std::ranges::find_if(out.cells, [&](const CellResult& each) {
      return each.cell.row == in.field(0) && each.cell.column == in.field(1);
    });
    if (found == out.cells.end())
      in.refuse(fmt::format("the plan has no cell {} / {}", in.field(0), in.field(1)));
    found->runs.push_back(read_table_row(in, *found));
  }

  // the table has no settings: those of the plan are shown
  for (CellResult& each : out.cells) {
    if (each.runs.empty() || each.cell.imported) continue;
    const Config config = resolve_config(each.cell.settings);
    each.asked = settings_asked_for(parse_toml(to_toml(config, "", ""), "the plan's settings"));
  }
  return out;
}

StudyResults results_of_run(const fs::path& folder) {
  if (!holds_population(folder)) check_run_folder(folder);
  const Population there = read_runs(folder).value();
  StudyResults out;
  CellResult result;
  std::error_code ignored;  // the current folder may have been removed
  result.cell = {.row = there.config.task,
                 .column = there.config.algorithm,
                 .task = there.config.task,
                 .algorithm = there.config.algorithm,
                 .epochs = there.config.train.epochs,
                 .seeds = there.seeds,
                 // absolute: the report may be written to another folder
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
  out.plan.rows = {{.name = there.config.task, .task = there.config.task}};
  out.plan.columns = {{.name = there.config.algorithm, .algorithm = there.config.algorithm}};
  out.cells.push_back(std::move(result));
  return out;
}

}  // namespace ovde
