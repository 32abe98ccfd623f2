// The folder a run leaves behind: config.toml, progress.csv, summary.json (policy.safetensors and
// checkpoints come from elsewhere). A population has one such folder, seed_<n>, for each agent.
// Decides nothing about training.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/config.h"
#include "train/metrics.h"

namespace ovde {

// InputError if `folder` already holds a run or cannot be written to. Creates nothing.
void check_new_run_folder(const std::filesystem::path& folder);

// The same, then creates the folder.
void ensure_new_run_folder(const std::filesystem::path& folder);

// InputError unless `folder` holds the run of one agent. One that holds a population names its
// agents' folders.
void check_run_folder(const std::filesystem::path& folder);

// Where the agent of each seed writes: the run's own folder for one seed, seed_<n> inside it for
// several.
std::filesystem::path agent_folder(const std::filesystem::path& run,
                                   std::span<const std::uint64_t> seeds, std::size_t agent);

void write_config(const std::filesystem::path& folder, const Config& config,
                  const std::string& command);
Config read_config(const std::filesystem::path& folder);

void write_summary(const std::filesystem::path& folder, const RunSummary& summary);
std::string to_json(const RunSummary& summary);

// progress.csv, one row an epoch, on the disk's side of the program's buffers as soon as append()
// returns.
class ProgressFile {
 public:
  explicit ProgressFile(const std::filesystem::path& folder);  // creates the file with its header

  void append(const EpochRow& row);  // Error if it cannot be written (disk full)

 private:
  void write_line(const std::string& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

std::string csv_header();
std::string csv_row(const EpochRow& row);

}  // namespace ovde
