#include "study/plan/plan.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/algorithm.h"
#include "config/unread_keys.h"
#include "io/files.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestFile = 1 << 20;

// Runs of another program have their epochs laid out as those of SAC.
const std::string& algorithm_of(const PlanColumn& column) {
  static const std::string sac = "sac";
  return column.imported ? sac : column.algorithm;
}

bool applies_to(const Override& own, const std::string& row, const std::string& column) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  return has(own.rows, row) && has(own.columns, column);
}

void append(std::vector<Setting>& to, const std::vector<Setting>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Adds the settings of a study or row that the column's algorithm reads. A setting that none of the
// study's algorithms reads is added too, so that it is refused.
void append_concerning(std::vector<Setting>& to, const std::vector<Setting>& from, const Plan& plan,
                       const PlanColumn& column) {
  for (const Setting& setting : from) {
    const auto is_read = [&](const PlanColumn& by) {
      return concerns(find_algorithm(algorithm_of(by)), setting.key);
    };
    if (is_read(column) || std::ranges::none_of(plan.columns, is_read)) to.push_back(setting);
  }
}

// the size of a smoke run
constexpr double kSmokeEpochs = 3, kSmokeEpochSteps = 25, kSmokeWarmup = 50;

// Makes a cell small: episodes a tenth as long and of at most 20 steps, one of which is an
// evaluation.
void make_smoke(Cell& cell) {
  const Config config = resolve_config(cell.settings);
  const double horizon = std::min(20, (config.horizon + 9) / 10);
  const auto set = [&](const char* key, OptionValue value) {
    cell.settings.push_back({key, std::move(value), "the smoke run"});
  };
  if (config.network.kind == NetworkKind::residual) {
    for (const char* key : {"network.width", "network.actor_width"}) set(key, 32.0);
  } else {
    set("network.hidden", std::vector<double>{32, 32});
  }
  set("train.steps_per_epoch", kSmokeEpochSteps);
  set("train.warmup_steps", kSmokeWarmup);
  set("train.batch", 32.0);
  set("train.replay", 1000.0);
  set("task.horizon", horizon);
  set("train.eval_steps", horizon);
  // networks can only be kept of the three epochs
  const bool asked =
      std::ranges::find(cell.settings, "record.networks", &Setting::key) != cell.settings.end();
  if (asked && !config.record.networks.empty())
    set("record.networks", std::vector<double>{0, kSmokeEpochs - 1});
  cell.seeds = {0, 1};
  cell.epochs = static_cast<int>(kSmokeEpochs);
  set("train.epochs", kSmokeEpochs);
}

Cell make_cell(const Plan& plan, const PlanRow& row, const PlanColumn& column) {
  Cell cell{.row = row.name,
            .column = column.name,
            .task = row.task,
            .algorithm = column.algorithm,
            .imported = column.imported,
            .seeds = row.seeds.empty() ? plan.seeds : row.seeds,
            .settings = {{"run.task", row.task, row.where},
                         {"run.algorithm", algorithm_of(column), column.where}},
            .folder = folder_name(row.name) + "/" + folder_name(column.name)};
  std::optional<Length> length = row.length ? row.length : plan.length;
  if (plan.maps && !plan.maps->epochs.empty())
    cell.settings.push_back({"record.networks", plan.maps->epochs, plan.maps->where});
  append_concerning(cell.settings, plan.settings, plan, column);
  append_concerning(cell.settings, row.settings, plan, column);
  append(cell.settings, column.settings);
  for (const Override& own : plan.overrides) {
    if (!applies_to(own, row.name, column.name)) continue;
    if (own.length) length = own.length;
    if (!own.seeds.empty()) cell.seeds = own.seeds;
    append(cell.settings, own.settings);
  }
  cell.epochs = length->unit == Length::Unit::epochs
                    ? static_cast<int>(length->count)
                    : epochs_for_steps(length->count, resolve_config(cell.settings).train,
                                       fmt::format("{}: steps = {}", row.where, length->count));
  cell.settings.push_back({"train.epochs", static_cast<double>(cell.epochs), row.where});
  if (plan.smoke) make_smoke(cell);
  return cell;
}

// The seeds and effective settings of a cell as text; cells with the same text have the same runs.
std::string runs_of(const Cell& cell) {
  std::string out = fmt::format("{}\n", fmt::join(cell.seeds, " "));
  if (cell.imported) out += cell.folder + "\n";  // its settings are unknown
  for (const auto& [key, value] : effective_settings(cell))
    out += key + " = " + to_string(value) + "\n";
  return out;
}

}  // namespace

// ASCII letters, digits, "." and "_" stay; other characters in a row become one dash, none at the
// ends: "OVDE(m)" -> "OVDE-m".
std::string folder_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  const bool only_dots = out.find_first_not_of(".-") == std::string::npos;
  return only_dots ? "" : out;
}

std::map<std::string, OptionValue> effective_settings(const Cell& cell) {
  std::map<std::string, OptionValue> out;
  for (const Setting& setting : cell.settings) out.insert_or_assign(setting.key, setting.value);
  return out;
}

std::vector<Cell> expand(const Plan& plan) {
  std::vector<Cell> cells;
  std::unordered_map<std::string, std::string> folder_of;  // by runs_of()
  std::unordered_set<std::string> folders;
  for (const PlanRow& row : plan.rows) {
    for (const PlanColumn& column : plan.columns) {
      Cell cell = make_cell(plan, row, column);
      const auto [same_runs, is_new] = folder_of.try_emplace(runs_of(cell), cell.folder);
      if (!is_new) {
        cell.folder = same_runs->second;
      } else if (!folders.insert(cell.folder).second) {
        throw InputError(
            fmt::format("{}: row '{}' and column '{}' would share the folder {} with others; "
                        "names must differ in letters or digits",
                        row.where, row.name, column.name, cell.folder));
      }
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

bool measures_only_runtime(const Plan& plan) {
  return plan.measures == std::vector<std::string>{"runtime"};
}

const PublishedNumber* find_published(const Plan& plan, const std::string& measure,
                                      const std::string& row, const std::string& column) {
  const auto found = std::ranges::find_if(plan.published, [&](const Published& p) {
    return p.measure == measure && p.row == row && p.column == column;
  });
  return found == plan.published.end() ? nullptr : &found->figure;
}

Plan read_plan(const fs::path& file) {
  return parse_plan(read_file(file, kLargestFile), file.string());
}

Plan smoke_plan(Plan plan) {
  plan.smoke = true;
  if (plan.maps) {
    plan.maps->steps = {0, kSmokeWarmup + kSmokeEpochs * kSmokeEpochSteps};
    plan.maps->epochs = {0, kSmokeEpochs - 1};
  }
  return plan;
}

}  // namespace ovde
