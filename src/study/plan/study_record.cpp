#include "study/plan/study_record.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/stored_config.h"
#include "env/registry.h"
#include "io/files.h"
#include "io/toml.h"
#include "run/run_folder.h"

namespace ovde {

namespace {

constexpr const char* kRecord = "record.toml";
constexpr std::size_t kLargestRecord = std::size_t{1} << 28;

struct StudyRecord {
  bool smoke = false;
  std::map<std::string, std::vector<Setting>> cells = {};  // by folder
};

// nullopt: the folder has no record.
std::optional<StudyRecord> read_record(const fs::path& study) {
  const fs::path file = study / kRecord;
  if (!is_there(file)) return std::nullopt;
  const TomlReader in(file.string());
  const toml::table root = parse_toml_table(read_file(file, kLargestRecord), file.string());
  StudyRecord record{.smoke = in.flag(root, "smoke")};
  for (const auto& [key, node] : root) {
    const std::string name = text_of(key);
    if (name == "smoke") continue;
    std::vector<Setting>& settings = record.cells[name];
    for (const auto& [option, value] : in.leaves(in.as_table(node, name)))
      settings.push_back({option, in.option_value(*value, option), file.string()});
  }
  return record;
}

std::string to_toml(const StudyRecord& record) {
  std::string text = toml_comment("the plan of this study; written by ovde study") +
                     toml_entry("smoke", record.smoke);
  for (const auto& [folder, settings] : record.cells) {
    text += fmt::format("\n[\"{}\"]\n", folder);
    for (const Setting& setting : settings) text += toml_entry(setting.key, setting.value);
  }
  return text;
}

// The settings of a cell that its results depend on.
std::vector<Setting> recorded_settings(const Cell& cell) {
  std::vector<Setting> out;
  for (auto& [key, value] : effective_settings(cell)) {
    if (!key.starts_with("checkpoint.") && !key.starts_with("record."))
      out.push_back({key, value, ""});
  }
  return out;
}

// The configuration of a cell in the study: as recorded, otherwise as its runs have it. nullopt if
// there is neither, or a later version of the program no longer reads it.
std::optional<Config> config_there(const StudyRecord& record, const fs::path& study,
                                   const Cell& cell) {
  try {
    if (const auto found = record.cells.find(cell.folder); found != record.cells.end())
      return resolve_config(found->second);
    if (const auto runs = read_runs(study / cell.folder)) return runs->config;
  } catch (const InputError&) {
  }
  return std::nullopt;
}

bool same_values(const std::vector<Setting>& a, const std::vector<Setting>& b) {
  return std::ranges::equal(a, b, [](const Setting& x, const Setting& y) {
    return x.key == y.key && to_string(x.value) == to_string(y.value);
  });
}

// Adds the plan's cells to the record. Whether that changed the record; PlanConflict if the plan
// does not fit.
bool extend(StudyRecord& record, const Plan& plan, const fs::path& study) {
  bool changed = false;
  std::map<std::string, std::vector<std::string>> conflicts;  // cells by difference
  for (const Cell& cell : expand(plan)) {
    if (cell.imported) continue;
    const std::vector<Setting> asked = recorded_settings(cell);
    const auto found = record.cells.find(cell.folder);
    if (found != record.cells.end() && same_values(found->second, asked)) continue;
    if (const auto there = config_there(record, study, cell)) {
      for (const std::string& each : conflicting_settings(resolve_config(cell.settings), *there))
        conflicts[each].push_back(cell.folder);
    }
    record.cells[cell.folder] = asked;
    changed = true;
  }
  if (conflicts.empty()) return changed;

  constexpr std::size_t kMostShown = 3;
  std::vector<std::string> shown;
  for (const auto& [difference, cells] : conflicts) {
    const std::size_t count = std::min(cells.size(), kMostShown);
    const std::string more =
        cells.size() > count ? fmt::format(" and {} more", cells.size() - count) : "";
    shown.push_back(fmt::format("{} in {}{}", difference,
                                fmt::join(std::span(cells).first(count), ", "), more));
  }
  const std::size_t all = shown.size();
  shown.resize(std::min(all, kMostShown));
  if (all > kMostShown) shown.push_back(fmt::format("and {} more differences", all - kMostShown));
  throw PlanConflict(
      fmt::format("the study in {} has another plan: {}. A plan may add rows, columns, seeds and "
                  "epochs; for other changes choose another folder",
                  study.string(), fmt::join(shown, "; ")));
}

}  // namespace

std::vector<std::string> foreign_settings(Config asked, const Config& there) {
  asked.seed = there.seed;
  asked.checkpoint = there.checkpoint;
  asked.record = there.record;
  // the evaluation of other programs' tasks had another default in earlier versions
  const Task* task = registered_task(asked.task);
  const bool given = asked.places.contains("train.eval_steps") ||
                     asked.places.contains("train.eval_epochs") ||
                     asked.places.contains("train.score_eval_epochs");
  if (task != nullptr && !is_built_in(*task) && !given) {
    asked.train.eval_steps = there.train.eval_steps;
    asked.train.eval_epochs = there.train.eval_epochs;
    asked.train.score_eval_epochs = there.train.score_eval_epochs;
  }
  return differences_read(asked, there);
}

std::vector<std::string> conflicting_settings(const Config& asked, const Config& there) {
  const bool longer = asked.train.epochs > there.train.epochs;
  return foreign_settings(asked, longer ? train_longer(there, asked.train.epochs) : there);
}

void check_plan(const Plan& plan, const fs::path& study) {
  StudyRecord record = read_record(study).value_or(StudyRecord{});
  extend(record, plan, study);
}

void record_plan(const Plan& plan, const fs::path& study) {
  // Processes that start at once take turns. Where folders cannot be locked, the last one writes.
  const Descriptor folder(study, O_RDONLY | O_DIRECTORY);
  ::flock(folder.get(), LOCK_EX);
  const auto found = read_record(study);
  StudyRecord record = found.value_or(StudyRecord{});
  record.smoke = plan.smoke;
  if (!extend(record, plan, study) && found) return;
  try {
    write_file_atomically(study / kRecord, to_toml(record));
  } catch (const Error&) {  // another process may be writing the same record
    record = read_record(study).value_or(StudyRecord{});
    if (extend(record, plan, study)) throw;
  }
}

bool is_smoke(const fs::path& study) {
  if (const auto record = read_record(study)) return record->smoke;
  // folders of earlier versions have no record; those of smoke runs have this file
  return is_there(study / "smoke.txt");
}

}  // namespace ovde
