// Runs a small study and reads its results.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "small_study.h"
#include "study/analyse/results.h"
#include "study/execute/run_study.h"

namespace ovde {

inline Plan small_plan() { return parse_plan(SmallStudy().text(), "small.toml"); }

inline StudyOutcome run(const Plan& plan, const std::filesystem::path& out, int jobs = 1) {
  StudySink silent;
  return run_study({.plan = plan, .out = out, .jobs = jobs, .threads = 2}, silent);
}

// The returns of every run.
inline std::vector<std::vector<double>> all_returns(const std::filesystem::path& out,
                                                    const Plan& plan = small_plan()) {
  std::vector<std::vector<double>> returns;
  for (const CellResult& cell : read_results(plan, out).cells) {
    for (const RunResult& run : cell.runs) returns.push_back(run.returns);
  }
  return returns;
}

// Starts `ovde study` with these arguments in a process of its own; its output goes to `log`.
inline pid_t start_study(std::vector<std::string> arguments, const std::string& log = "/dev/null") {
  arguments.insert(arguments.begin(), {"ovde", "study"});
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDOUT_FILENO);
    ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    ::execv(OVDE_PROGRAM, words.data());
    ::_exit(127);
  }
  return child;
}

class CountingSink : public StudySink {
 public:
  void cell_started(const Cell&) override { ++started; }
  void epoch_done(const Cell&, double) override { ++epochs; }
  int started = 0, epochs = 0;
};

// Asks to stop after a number of epochs, counted over all runs.
class StoppingSink final : public StudySink {
 public:
  explicit StoppingSink(int epochs) : left_(epochs) {}
  void epoch_done(const Cell&, double) override {
    if (--left_ == 0) stop = true;
  }
  std::atomic<bool> stop{false};

 private:
  int left_;
};

}  // namespace ovde
