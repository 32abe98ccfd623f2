// ovde status: the table of runs.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "run/run_status.h"

namespace ovde::cli {

namespace {

constexpr std::size_t kColumnCount = 8;
using Line = std::array<std::string, kColumnCount>;

const char* name_of(RunState state) {
  switch (state) {
    case RunState::alive:
      return "alive";
    case RunState::finished:
      return "finished";
    case RunState::interrupted:
      return "interrupted";
    case RunState::failed:
      return "failed";
    case RunState::unreadable:
      return "unreadable";
  }
  return "";
}

std::string number(double value, const char* format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

// "2 h 05 min", "3 min", "20 s"
std::string duration(double seconds) {
  if (std::isnan(seconds)) return "-";
  const auto whole = static_cast<long long>(std::clamp(seconds, 0.0, 1e9));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return whole >= 60 ? fmt::format("{} min", whole / 60) : fmt::format("{} s", whole);
}

Line line_of(const RunStatus& run) {
  return {run.folder.string(),
          run.task.empty() ? "-" : run.task,
          run.algorithm.empty() ? "-" : run.algorithm,
          name_of(run.state),
          fmt::format("{}/{}", run.epochs_done, run.epochs),
          number(run.last_return, "{:.4g}"),
          number(run.steps_per_second, "{:.0f}"),
          duration(run.seconds_left)};
}

void print_table(const std::vector<Line>& lines) {
  std::array<std::size_t, kColumnCount> width{};
  for (const Line& line : lines) {
    for (std::size_t c = 0; c < kColumnCount; ++c) width[c] = std::max(width[c], line[c].size());
  }
  for (const Line& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < kColumnCount; ++c) {
      const bool is_word = c < 4;
      text += is_word ? fmt::format("{:<{}}  ", line[c], width[c])
                      : fmt::format("{:>{}}  ", line[c], width[c]);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  }
}

}  // namespace

void run(const StatusCommand& command) {
  std::vector<RunStatus> runs;
  std::vector<std::string> others;  // why they are no runs
  for (const std::string& folder : command.folders) {
    try {
      const auto found = run_status(folder);
      runs.insert(runs.end(), found.begin(), found.end());
      if (found.empty()) others.push_back("there is no run in " + folder);
    } catch (const InputError& error) {
      others.push_back(error.what());
    }
  }
  if (runs.empty()) throw InputError(fmt::format("{}", fmt::join(others, "; ")));
  std::vector<Line> lines = {
      {"run", "task", "algorithm", "state", "epoch", "return", "steps/s", "time left"}};
  for (const RunStatus& run : runs) lines.push_back(line_of(run));
  print_table(lines);

  for (const RunStatus& run : runs) {
    if (!run.message.empty()) fmt::print("{}: {}\n", run.folder.string(), run.message);
  }
  for (const std::string& words : others) fmt::print("{}\n", words);
}

}  // namespace ovde::cli
