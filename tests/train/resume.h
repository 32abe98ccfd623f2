// For tests of interrupted runs: a small run, and ways to interrupt, damage and resume it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "config/config.h"
#include "io/files.h"
#include "temporary_folder.h"
#include "train/trainer.h"
#include "train/whole_runs.h"
#include "words.h"

namespace ovde {

inline constexpr int kEpochsOfARun = 8;

inline RunPlan request(const std::filesystem::path& out, const std::string& task = "GridChaos-v0:s",
                       std::vector<std::uint64_t> seeds = {3},
                       const std::string& algorithm = "ovde_g") {
  RunPlan request;
  request.config = resolve_config({{"run.task", task, ""},
                                   {"run.algorithm", algorithm, ""},
                                   {"run.seed", 3.0, ""},
                                   {"network.hidden", std::vector<double>{8, 8}, ""},
                                   {"train.batch", 8.0, ""},
                                   {"train.warmup_steps", 20.0, ""},
                                   {"train.steps_per_epoch", 25.0, ""},
                                   {"train.eval_steps", 40.0, ""},
                                   {"train.replay", 60.0, ""},
                                   {"train.epochs", double(kEpochsOfARun), ""},
                                   {"task.horizon", 40.0, ""},
                                   {"checkpoint.epochs", 1.0, ""}});
  request.seeds = std::move(seeds);
  request.folder = out;
  request.command = "test";
  return request;
}

inline bool train_until(const RunPlan& request, int epochs) {
  Watcher watcher(epochs);
  const RunPlan plan = plan_new_run(request.config, request.seeds, request.folder, request.command);
  return train(plan, {.stop = &watcher.stop}, watcher);
}

inline std::vector<std::string> resume_to_end(const std::filesystem::path& folder,
                                              int threads = 1) {
  Watcher watcher;
  EXPECT_TRUE(train(plan_rest_of_run(folder), {.threads = threads}, watcher));
  return watcher.warnings;
}

inline std::string failure(const std::filesystem::path& folder) {
  Watcher watcher;
  return message_of<Error>([&] { train(plan_rest_of_run(folder), {}, watcher); });
}

// The fingerprint of a run that was never interrupted.
inline const std::string& uninterrupted() {
  static const std::string expected = [] {
    const TemporaryFolder folder;
    train_until(request(folder.path() / "run"), -1);
    return fingerprint(folder.path() / "run");
  }();
  return expected;
}

// Every file below a folder with its contents and when it was written.
inline std::string everything(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files.push_back(fmt::format("{} {} {}", entry.path().string(),
                                entry.last_write_time().time_since_epoch().count(),
                                read_file(entry.path())));
  }
  std::ranges::sort(files);
  return fmt::format("{}", fmt::join(files, "\n"));
}

// A run in a folder of its own.
class ResumeTest : public testing::Test {
 protected:
  std::filesystem::path run() const { return folder_.path() / "run"; }
  std::filesystem::path checkpoint(int number) const {
    return run() / "checkpoints" / fmt::format("checkpoint-{}.ovde", number);
  }
  std::string log() const { return read_file(run() / "log.txt"); }
  void replace_in(const std::filesystem::path& file, const std::string& from,
                  const std::string& to) const {
    std::string text = read_file(file);
    ASSERT_NE(text.find(from), std::string::npos);
    write_file_atomically(file, text.replace(text.find(from), from.size(), to));
  }
  void flip_bit(const std::filesystem::path& file) const {
    std::string text = read_file(file);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 4);
    write_file_atomically(file, text);
  }

  TemporaryFolder folder_;
};

}  // namespace ovde
