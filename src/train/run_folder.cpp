#include "train/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "train/files.h"
#include "train/json.h"
#include "train/version.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfigFile = "config.toml";
constexpr const char* kProgressFile = "progress.csv";
constexpr const char* kSummaryFile = "summary.json";
constexpr const char* kAgentPrefix = "seed_";

bool is_agent_folder(const fs::path& path) {
  return path.filename().string().starts_with(kAgentPrefix);
}

// The agents' folders of a population, as far as they can be listed.
std::vector<std::string> agent_folders(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_agent_folder(at->path())) names.push_back(at->path().filename().string());
  }
  return names;
}

bool holds_run(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {kConfigFile, kProgressFile, kSummaryFile}) {
    if (fs::exists(folder / name, ignored)) return true;
  }
  return !agent_folders(folder).empty();
}

[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& why) {
  throw InputError(fmt::format("cannot write to folder {}: {}", folder.string(), why));
}

// A column of progress.csv: its name, and where its value is.
struct Column {
  const char* name;
  double EpochRow::*value;
};
// The first three are whole numbers; explore_episodes, the other one, stands between kEvaluation
// and kLearning.
constexpr Column kEvaluation[] = {
    {"eval_return_mean", &EpochRow::eval_return_mean},
    {"eval_return_std", &EpochRow::eval_return_std},
    {"eval_length_mean", &EpochRow::eval_length_mean},
    {"explore_return_mean", &EpochRow::explore_return_mean},
};
constexpr Column kLearning[] = {
    {"critic_loss", &EpochRow::critic_loss},
    {"actor_loss", &EpochRow::actor_loss},
    {"temperature", &EpochRow::temperature},
    {"q_mean", &EpochRow::q_mean},
    {"epistemic", &EpochRow::epistemic},
    {"aleatoric", &EpochRow::aleatoric},
    {"m", &EpochRow::m},
    {"shift", &EpochRow::shift},
    {"steps_per_second", &EpochRow::steps_per_second},
    {"eval_success", &EpochRow::eval_success},
    {"explore_success", &EpochRow::explore_success},
    {"seconds", &EpochRow::seconds},
};

std::string cell(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

}  // namespace

void check_new_run_folder(const fs::path& folder) {
  if (holds_run(folder)) {
    throw InputError(
        fmt::format("folder {} already holds a run; choose another --out", folder.string()));
  }

  // the part of the path that exists must be a folder in which files can be made
  fs::path existing = fs::absolute(folder).lexically_normal();
  while (existing != existing.root_path() && ::access(existing.c_str(), F_OK) != 0) {
    if (errno != ENOENT) refuse_folder(folder, std::strerror(errno));
    existing = existing.parent_path();
  }
  if (std::error_code ignored; !fs::is_directory(existing, ignored)) {
    refuse_folder(folder, fmt::format("{} is not a folder", existing.string()));
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0) refuse_folder(folder, std::strerror(errno));
}

void ensure_new_run_folder(const fs::path& folder) {
  check_new_run_folder(folder);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse_folder(folder, error.message());
}

void check_run_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(fmt::format("{} is not a folder; a run's folder is what ovde train --out left",
                                 folder.string()));
  }
  if (fs::exists(folder / kConfigFile, ignored)) return;
  const auto agents = agent_folders(folder);
  if (!agents.empty()) {
    throw InputError(fmt::format("{} holds {} agents; name the folder of one, such as {}",
                                 folder.string(), agents.size(),
                                 (folder / *std::ranges::min_element(agents)).string()));
  }
  throw InputError(fmt::format("{} holds no run: it has no {}", folder.string(), kConfigFile));
}

fs::path agent_folder(const fs::path& run, std::span<const std::uint64_t> seeds,
                      std::size_t agent) {
  return seeds.size() == 1 ? run : run / fmt::format("{}{}", kAgentPrefix, seeds[agent]);
}

void write_config(const fs::path& folder, const Config& config, const std::string& command) {
  write_file_atomically(folder / kConfigFile, to_toml(config, version(), command));
}

Config read_config(const fs::path& folder) {
  return resolve_config(read_settings(folder / kConfigFile));
}

std::string to_json(const RunSummary& summary) {
  return JsonObject()
      .add("task", summary.task)
      .add("algorithm", summary.algorithm)
      .add("seed", summary.seed)
      .add("epochs", summary.epochs)
      .add("score", summary.score)
      .add("first_goal_epoch_eval", summary.first_goal_epoch_eval)
      .add("first_goal_epoch_explore", summary.first_goal_epoch_explore)
      .add("wall_seconds", summary.wall_seconds)
      .add("steps_per_second", summary.steps_per_second)
      .add("version", summary.version)
      .page();
}

void write_summary(const fs::path& folder, const RunSummary& summary) {
  write_file_atomically(folder / kSummaryFile, to_json(summary));
}

std::string csv_header() {
  std::string header = "epoch,env_steps,updates";
  for (const Column& column : kEvaluation) header += fmt::format(",{}", column.name);
  header += ",explore_episodes";
  for (const Column& column : kLearning) header += fmt::format(",{}", column.name);
  return header;
}

std::string csv_row(const EpochRow& row) {
  std::string text = fmt::format("{},{},{}", row.epoch, row.env_steps, row.updates);
  for (const Column& column : kEvaluation) text += "," + cell(row.*column.value);
  text += fmt::format(",{}", row.explore_episodes);
  for (const Column& column : kLearning) text += "," + cell(row.*column.value);
  return text;
}

ProgressFile::ProgressFile(const fs::path& folder)
    : path_(folder / kProgressFile), file_(std::fopen(path_.c_str(), "wxe")) {
  if (!file_) throw Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
  write_line(csv_header());
}

void ProgressFile::append(const EpochRow& row) { write_line(csv_row(row)); }

void ProgressFile::write_line(const std::string& line) {
  if (std::fputs((line + "\n").c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) {
    throw Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
  }
}

}  // namespace ovde
