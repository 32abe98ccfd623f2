// The progress of a run on the console: on a terminal a bar that is redrawn, in a pipe plain lines.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "train/progress.h"

namespace ovde {

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
