// Telling a person how a run goes. The trainer reports to a ProgressSink; ConsoleProgress is the
// one that draws a bar on a terminal and prints plain lines elsewhere.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/metrics.h"

namespace ovde {

struct RunStart {
  std::string task, algorithm;
  std::vector<std::uint64_t> seeds;  // one agent each
  int epochs = 0;
  int updates_per_epoch = 0;
  std::int64_t epochs_done = 0;  // of all agents together, where a resumed run continues
  std::filesystem::path folder;
};

// Calls may come from any thread, one agent's in the order of its epochs.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  virtual void run_started(const RunStart& run) = 0;
  virtual void epoch_done(int agent, const EpochRow& row) = 0;  // agent: index into RunStart::seeds
  virtual void run_finished(std::span<const RunSummary> summaries) = 0;  // one for each agent
  virtual void warning(const std::string&) {}  // worth a person's notice; the run goes on
};

struct ConsoleStyle {
  bool bar = false;         // redraw one line; otherwise print lines, and no control codes
  bool colour = false;      // of the bar
  bool unicode = false;     // characters of the bar
  int width = 80;           // of the terminal
  double line_seconds = 5;  // least time between two plain lines
  double draw_seconds = 0.1;
};

// What suits this stream: a bar on a terminal, lines in a pipe. Respects NO_COLOR and TERM=dumb.
ConsoleStyle console_style(std::FILE* out);

// The pieces it draws with: "0:07", "3:00:00"; and a bar of which a share in [0, 1] is done.
std::string format_duration(double seconds);
std::string draw_bar(double share, int width, const ConsoleStyle& style);

std::unique_ptr<ProgressSink> console_progress(std::FILE* out, ConsoleStyle style);

}  // namespace ovde
