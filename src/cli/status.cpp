// ovde status: a table of runs. ovde clean: removes checkpoints that are no longer needed.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/console/text.h"
#include "io/columns.h"
#include "run/checkpoint_store.h"
#include "run/run_lock.h"
#include "run/run_status.h"
#include "stats/statistics.h"

namespace ovde::cli {

namespace {

using Line = std::vector<std::string>;
constexpr std::size_t kTextColumns = 4;

std::string formatted(double value, const char* format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

Line line_of(const RunStatus& run) {
  return {printable(run.folder.string()),
          run.task.empty() ? "-" : printable(run.task),
          run.algorithm.empty() ? "-" : printable(run.algorithm),
          name(run.state),
          fmt::format("{}/{}", run.epochs_done, run.epochs),
          formatted(run.last_return, "{:.4g}"),
          formatted(run.steps_per_second, "{:.0f}"),
          std::isnan(run.seconds_left) ? "-" : format_duration(run.seconds_left)};
}

// "7 training, 3 finished", or the state that all agents have.
std::string states_of(std::span<const RunStatus> agents) {
  std::map<std::string, int> counts;
  for (const RunStatus& run : agents) ++counts[name(run.state)];
  if (counts.size() == 1) return counts.begin()->first;
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, state));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The line of a whole population: the least epoch, the mean return, the sum of the rates and the
// longest time left of its agents.
Line line_of_population(std::span<const RunStatus> agents) {
  RunStatus all = agents.front();
  std::vector<double> returns, rates, left;
  for (const RunStatus& run : agents) {
    all.epochs_done = std::min(all.epochs_done, run.epochs_done);
    if (!std::isnan(run.last_return)) returns.push_back(run.last_return);
    if (!std::isnan(run.steps_per_second)) rates.push_back(run.steps_per_second);
    if (!std::isnan(run.seconds_left)) left.push_back(run.seconds_left);
  }
  all.last_return = returns.empty() ? EpochRow::kNone : mean(returns);
  all.steps_per_second =
      rates.empty() ? EpochRow::kNone : mean(rates) * static_cast<double>(rates.size());
  all.seconds_left = left.empty() ? EpochRow::kNone : std::ranges::max(left);
  Line line = line_of(all);
  line[0] = fmt::format("{} ({} agents)", all.population.string(), agents.size());
  line[3] = states_of(agents);
  return line;
}

// A line for each run, and one for each population below its agents.
std::vector<Line> lines_of(std::span<const RunStatus> runs) {
  std::vector<Line> lines;
  while (!runs.empty()) {
    std::size_t count = 1;
    while (!runs[0].population.empty() && count < runs.size() &&
           runs[count].population == runs[0].population)
      ++count;
    for (const RunStatus& run : runs.first(count)) lines.push_back(line_of(run));
    if (count > 1) lines.push_back(line_of_population(runs.first(count)));
    runs = runs.subspan(count);
  }
  return lines;
}

}  // namespace

void run(const StatusCommand& command) {
  std::vector<RunStatus> runs;
  std::vector<std::string> refusals;  // why a folder is not a run
  bool all_there = true;              // runs/* of a shell may contain other files, but none missing
  for (const std::string& folder : command.folders) {
    try {
      const auto found = run_status(folder);
      runs.insert(runs.end(), found.begin(), found.end());
      if (found.empty()) refusals.push_back("there is no run in " + folder);
    } catch (const InputError& error) {
      refusals.push_back(error.what());
      all_there &= is_there(folder);
    }
  }
  const InputError refused(fmt::format("{}", fmt::join(refusals, "; ")));
  if (runs.empty()) throw refused;
  std::vector<Line> lines = {
      {"run", "task", "algorithm", "state", "epoch", "return", "steps/s", "time left"}};
  for (Line& line : lines_of(runs)) lines.push_back(std::move(line));
  print("{}", in_columns(lines, kTextColumns));

  for (const RunStatus& run : runs) {
    if (!run.message.empty())
      print("{}: {}\n", printable(run.folder.string()), printable(run.message));
  }
  if (!all_there) throw refused;
  for (const std::string& why : refusals) print("{}\n", why);
}

void run(const CleanCommand& command) {
  int cleaned = 0, kept = 0;
  std::uintmax_t bytes = 0;
  for (const std::string& folder : command.folders) {
    for (const fs::path& run : run_folders(folder)) {
      if (!is_finished(run)) {
        ++kept;
        continue;
      }
      try {
        const RunLock lock(run);
        const std::uintmax_t removed = remove_checkpoints(run);
        bytes += removed;
        if (removed > 0) ++cleaned;
      } catch (const RunIsHeld&) {
        ++kept;
      }
    }
  }
  if (cleaned > 0) {
    print("removed the checkpoints of {}: {:.1f} MB\n", plural(cleaned, "finished run"),
          static_cast<double>(bytes) / 1e6);
  } else {
    print("no finished run has checkpoints\n");
  }
  if (kept > 0) print("kept those of {}\n", plural(kept, "unfinished run"));
}

}  // namespace ovde::cli
