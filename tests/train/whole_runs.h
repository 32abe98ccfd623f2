// For tests of whole runs: a sink that stops them, and a fingerprint of their results.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "io/files.h"
#include "run/metrics.h"
#include "run/progress_csv.h"
#include "train/population_run.h"
#include "words.h"

namespace ovde {

// Asks to stop after a number of epochs, of all agents together; keeps the warnings.
class Watcher final : public ProgressSink {
 public:
  explicit Watcher(int epochs = -1) : left_(epochs) {}
  void epoch_done(int, const EpochRow&) override {
    if (--left_ == 0) stop = true;
  }
  void run_finished(std::span<const RunSummary>) override {}
  void warning(const std::string& text) override { warnings.push_back(text); }

  std::atomic<bool> stop{false};
  std::vector<std::string> warnings;

 private:
  std::atomic<int> left_;
};

// The results of a finished run without its times: they must not depend on how it was run.
inline std::string fingerprint(const std::filesystem::path& folder) {
  std::string text = read_file(folder / "policy.safetensors");
  std::vector<EpochRow> rows = read_progress(folder);
  for (EpochRow& row : rows) {
    row.seconds = row.steps_per_second = 0;
    text += csv_row(row) + "\n";
  }
  return text + fmt::format("{}", summarise(rows).score);
}

}  // namespace ovde
