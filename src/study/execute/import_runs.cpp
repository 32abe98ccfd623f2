#include "study/execute/import_runs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/suggestion.h"
#include "base/text.h"
#include "config/config.h"
#include "io/files.h"
#include "io/folder.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "run/run_status.h"
#include "study/analyse/csv.h"
#include "study/analyse/imported_run.h"
#include "study/analyse/results.h"
#include "study/execute/cell_locks.h"
#include "study/execute/run_study.h"
#include "study/plan/study_record.h"

namespace ovde {

namespace {

// The files by which two runs are compared, and which a report reads.
constexpr const char* kRunFiles[] = {"progress.csv", "summary.json", "config.toml"};
constexpr std::size_t kLargestRunFile = std::size_t{1} << 30;

struct Target {
  Cell cell;
  Config asked;
};

bool asks_for(const Cell& cell, std::uint64_t seed) {
  return std::ranges::find(cell.seeds, seed) != cell.seeds.end();
}

// A run of another program in a study's folder.
struct ImportedFile {
  const Cell* cell;
  std::uint64_t seed;
  Folder folder;  // no link leads out of the folder that is imported
};

// The first line in which two texts differ.
std::string difference(const std::string& there, const std::string& here) {
  std::istringstream old_lines(there), new_lines(here);
  std::string old_line, new_line;
  for (int number = 1;; ++number) {
    const bool old_ends = !std::getline(old_lines, old_line),
               new_ends = !std::getline(new_lines, new_line);
    if (old_ends && new_ends) return "the end of the last line";
    if (old_ends || new_ends)
      return fmt::format("line {} is only in the {} file", number, old_ends ? "new" : "old");
    if (old_line != new_line)
      return fmt::format("line {} is '{}', in the new file '{}'", number, old_line, new_line);
  }
}

// Stores a run of another program, given as the text of its file. False: it is there already.
bool take_csv(const Cell& cell, const fs::path& study, std::uint64_t seed, const std::string& text,
              const std::string& name) {
  parse_imported(text, name, resolve_config(cell.settings).train);
  const fs::path to = imported_file(study / cell.folder, seed);
  if (is_there(to)) {
    const std::string there = read_file(to);
    if (there == text) return false;
    throw InputError(fmt::format("{} exists already and differs: {}; remove it to import this run",
                                 to.string(), difference(there, text)));
  }
  make_folder(to.parent_path());
  write_file_atomically(to, text);
  return true;
}

std::vector<ImportedFile> imported_in(const fs::path& folder, const std::vector<Cell>& cells) {
  std::vector<ImportedFile> found;
  for (const Cell& cell : cells) {
    if (!cell.imported) continue;
    for (const std::uint64_t seed : cell.seeds) {
      const fs::path file = imported_file(folder / cell.folder, seed);
      if (is_there(file)) found.push_back({&cell, seed, Folder(file.parent_path(), folder)});
    }
  }
  return found;
}

bool is_same_run(const fs::path& a, const fs::path& b) {
  return std::ranges::all_of(kRunFiles, [&](const char* name) {
    return is_there(a / name) && is_there(b / name) && read_file(a / name) == read_file(b / name);
  });
}

// Copies a file, or a folder of files. InputError unless they are regular, of bounded size and
// within the folder that is imported.
void copy_part(const Folder& from, const fs::path& name, const fs::path& to) {
  if (!fs::is_directory(from.path() / name))
    return write_file_atomically(to / name, from.read(name, kLargestRunFile));
  make_folder(to / name);
  for (const fs::path& path : paths_in(from.path() / name)) {
    const fs::path inside = name / path.filename();
    write_file_atomically(to / inside, from.read(inside, kLargestRunFile));
  }
}

// Copies under another name, and renames when everything is there.
void copy_run(const Folder& from, const fs::path& to, bool with_maps) {
  const fs::path beside = to.parent_path() / fmt::format(".{}.part", to.filename().string());
  fs::remove_all(beside);
  make_folder(beside);
  std::vector<const char*> more = {"replays"};
  if (with_maps) more.insert(more.end(), {"visits.f32", "networks"});
  for (const char* name : more) {
    if (is_there(from.path() / name)) copy_part(from, name, beside);
  }
  for (const char* name : kRunFiles) copy_part(from, name, beside);
  fs::rename(beside, to);
  sync_folder(to.parent_path());
}

// Why the run belongs to no cell, by the cell with the fewest different settings.
std::string why_foreign(const std::vector<Target>& targets, const Config& run) {
  const Target* nearest = nullptr;
  std::vector<std::string> least;
  for (const Target& target : targets) {
    if (target.asked.task != run.task || target.asked.algorithm != run.algorithm) continue;
    auto foreign = foreign_settings(target.asked, run);
    if (nearest != nullptr && foreign.size() >= least.size()) continue;
    nearest = &target;
    least = std::move(foreign);
  }
  if (nearest == nullptr)
    return fmt::format("the plan has no cell of {} with {}", run.task, run.algorithm);
  if (least.empty())
    return fmt::format("the plan has no seed {} in {}", run.seed, nearest->cell.title());
  return fmt::format("was run with other settings: in {} the plan has {}", nearest->cell.title(),
                     fmt::join(least, ", "));
}

// Adds the run's seed to the population of the cell's folder, so that the study can be completed.
void join_population(const fs::path& folder, const Config& run, const std::string& command) {
  make_population(folder, command);
  Population population = read_population(folder).value_or(Population{.config = run, .seeds = {}});
  if (std::ranges::find(population.seeds, run.seed) != population.seeds.end()) return;
  population.seeds.push_back(run.seed);
  write_population(folder, population, command);
}

// False if the run is there already. InputError if the cell cannot take it.
bool take_run(const Folder& run, const Config& config, const Target& target, const fs::path& study,
              bool with_maps, const std::string& command) {
  const fs::path folder = study / target.cell.folder;
  auto locks = read_cell_locks(study, {target.cell.folder});
  if (const auto& holder = locks[target.cell.folder].holder)
    throw InputError(fmt::format("the cell is running on {}", holder->text()));
  make_folder(folder);
  const RunLock lock(folder);
  if (const auto there = find_agent(folder, config.seed)) {
    if (is_same_run(run.path(), *there)) return false;
    throw InputError(fmt::format("{} has another run of seed {}", there->string(), config.seed));
  }
  if (const auto others = read_runs(folder)) {
    if (const auto foreign = foreign_settings(target.asked, others->config); !foreign.empty())
      throw InputError(fmt::format("{} holds runs with other settings: the plan has {}",
                                   folder.string(), fmt::join(foreign, ", ")));
  }
  join_population(folder, config, command);
  copy_run(run, folder / fmt::format("seed_{}", config.seed), with_maps);
  return true;
}

void check_finished(const fs::path& run, const Config& config) {
  if (is_finished(run)) {
    read_run(run, config.seed, config.train.epochs);
    return;
  }
  throw InputError(fmt::format("not finished: epoch {} of {}", read_progress_so_far(run).size(),
                               config.train.epochs));
}

// Runs of a file of many curves: a line's row (empty: every row), task and algorithm.
struct CurveKind {
  std::string row, task, algorithm;
  auto operator<=>(const CurveKind&) const = default;

  bool belongs_to(const Cell& cell) const {
    return cell.imported && cell.task == task && cell.column == algorithm &&
           (row.empty() || cell.row == row);
  }
  std::string text() const {
    return fmt::format("{}{}/{}", row.empty() ? "" : row + ": ", task, algorithm);
  }
};

// " (did you mean TD3?)"; empty if the plan has the column, and it is the task or row that it
// lacks.
std::string nearest_column(const Plan& plan, const std::string& algorithm) {
  std::vector<std::string> names;
  for (const PlanColumn& column : plan.columns)
    if (column.imported) names.push_back(column.name);
  return std::ranges::find(names, algorithm) != names.end() ? "" : did_you_mean(algorithm, names);
}

struct Curve {
  std::string text;  // the file of this run alone
  double last_step = -std::numeric_limits<double>::infinity();
};

// The curves of a file, by seed. InputError if a line is not valid.
std::map<CurveKind, std::map<std::uint64_t, Curve>> read_curves(const fs::path& file) {
  const std::string text = read_file(file, kLargestRunFile);
  CsvReader in(text, file.string());
  const auto row = in.column("row"), task = in.column("task"), algorithm = in.column("algorithm"),
             seed = in.column("seed");
  if (!task || !algorithm || !seed || !in.column("step") || !in.column("return")) {
    throw NotCurves(fmt::format(
        "{}: curves of many runs have the columns task, algorithm, seed, step and return; it has "
        "{}",
        file.string(), fmt::join(in.header(), ", ")));
  }
  std::vector<std::string> header;
  for (const char* name : kCurveColumns) {
    if (in.column(name)) header.push_back(name);
  }
  std::map<CurveKind, std::map<std::uint64_t, Curve>> curves;
  while (in.next()) {
    const auto number = in.number<std::uint64_t>(*seed);
    if (!number) in.refuse("seed must be a whole number");
    const CurveKind kind{row ? in.field(*row) : "", in.field(*task), in.field(*algorithm)};
    Curve& curve = curves[kind][*number];
    curve.last_step = read_curve_point(in, curve.last_step).step;
    if (curve.text.empty()) curve.text = fmt::format("{}\n", fmt::join(header, ","));
    std::vector<std::string> fields;
    for (const std::string& name : header) fields.push_back(in.field(*in.column(name)));
    curve.text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  if (curves.empty()) throw InputError(file.string() + ": it has no evaluation");
  return curves;
}

}  // namespace

int ImportOutcome::sum(int Count::*member) const {
  int sum = 0;
  for (const auto& [cell, count] : cells) sum += count.*member;
  return sum;
}

void ImportOutcome::add(const Cell& cell, bool is_new) {
  Count& count = cells[cell.title()];
  ++(is_new ? count.taken : count.already_there);
}

ImportOutcome import_runs(const Plan& plan, const fs::path& study, std::span<const fs::path> from,
                          const std::string& command) {
  std::vector<Target> targets;
  for (Cell& cell : distinct_cells(plan)) {
    Config asked = resolve_config(cell.settings);
    targets.push_back({std::move(cell), std::move(asked)});
  }
  const std::vector<Cell> cells = expand(plan);
  std::vector<Folder> runs;
  std::vector<ImportedFile> files;
  for (const fs::path& folder : from) {
    const auto found = run_folders(folder);
    const auto imported = imported_in(folder, cells);
    if (found.empty() && imported.empty())
      throw InputError(fmt::format("there is no run in {}", folder.string()));
    for (const fs::path& run : found) runs.emplace_back(run, folder);
    files.insert(files.end(), imported.begin(), imported.end());
  }

  const bool with_maps = std::ranges::find(plan.show, "maps") != plan.show.end();
  ImportOutcome outcome;
  for (const ImportedFile& each : files) {
    try {
      const fs::path file = imported_file(each.folder.path().parent_path(), each.seed);
      each.folder.open(file.filename());
      outcome.add(*each.cell, import_csv(plan, study, each.cell->folder, each.seed, file));
    } catch (const std::exception& error) {
      outcome.refused.push_back({each.folder.path(), error.what()});
    }
  }
  for (const Folder& run : runs) {
    try {
      // the files are checked once, before the first of them is used
      for (const char* name : kRunFiles) {
        if (is_there(run.path() / name)) run.read(name, kLargestRunFile);
      }
      const Config config = read_config(run);
      std::vector<const Target*> its;
      for (const Target& target : targets) {
        if (asks_for(target.cell, config.seed) && foreign_settings(target.asked, config).empty())
          its.push_back(&target);
      }
      if (its.empty()) {
        outcome.foreign.push_back({run.path(), why_foreign(targets, config)});
        continue;
      }
      check_finished(run.path(), config);
      for (const Target* target : its)
        outcome.add(target->cell, take_run(run, config, *target, study, with_maps, command));
    } catch (const std::exception& error) {
      outcome.refused.push_back({run.path(), error.what()});
    }
  }
  return outcome;
}

bool import_csv(const Plan& plan, const fs::path& study, const std::string& name,
                std::uint64_t seed, const fs::path& file) {
  const std::vector<Cell> cells = expand(plan);
  const auto cell = std::ranges::find_if(cells, [&](const Cell& each) {
    return each.row + "/" + each.column == name || each.folder == name;
  });
  if (cell == cells.end()) {
    std::vector<std::string> names;
    for (const Cell& each : cells)
      if (each.imported) names.push_back(each.row + "/" + each.column);
    throw InputError(fmt::format("the plan has no cell {}{}", name, did_you_mean(name, names)));
  }
  if (!cell->imported) {
    throw InputError(fmt::format(
        "the runs of {} are made by this program; runs of another program need a column "
        "with imported = true",
        cell->title()));
  }
  if (!asks_for(*cell, seed))
    throw InputError(fmt::format("the plan has no seed {} in {}", seed, cell->title()));

  return take_csv(*cell, study, seed, read_file(file, kLargestRunFile), file.string());
}

ImportOutcome import_curves(const Plan& plan, const fs::path& study, const fs::path& file) {
  ImportOutcome outcome;
  const std::vector<Cell> cells = expand(plan);
  std::map<std::string, std::size_t> used;  // number of seeds, by the cell's folder
  for (const auto& [kind, runs] : read_curves(file)) {
    bool any = false;
    for (const Cell& cell : cells) {
      if (!kind.belongs_to(cell)) continue;
      any = true;
      std::size_t& place = used[cell.folder];
      for (const auto& [seed, curve] : runs) {
        const std::string name = fmt::format("{}, seed {}", cell.title(), seed);
        try {
          if (place == cell.seeds.size())
            throw InputError(name + ": the plan has no seed left for it");
          outcome.add(cell, take_csv(cell, study, cell.seeds[place], curve.text, name));
          ++place;
        } catch (const InputError& error) {
          outcome.refused.push_back({file, error.what()});
        }
      }
    }
    if (any) continue;
    outcome.foreign.push_back(
        {file, fmt::format("{}, {}: the plan has no imported column for it{}", kind.text(),
                           plural(std::ssize(runs), "run"), nearest_column(plan, kind.algorithm))});
  }
  return outcome;
}

}  // namespace ovde
