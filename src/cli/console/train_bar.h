// Shows the progress of a training: on a terminal as a bar, in a pipe as plain lines.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "train/population_run.h"

namespace ovde {

struct ConsoleStyle {
  bool bar = false;           // redraw one line; otherwise print lines without control codes
  bool colour = false;        // colour the bar
  bool unicode = false;       // draw the bar with Unicode characters
  int width = 80;             // columns of the terminal
  double line_seconds = 5;    // least time between two plain lines
  double draw_seconds = 0.1;  // least time between two drawings of the bar

  double interval() const { return bar ? draw_seconds : line_seconds; }
};

// A bar on a terminal, lines in a pipe. Respects NO_COLOR and TERM=dumb.
ConsoleStyle console_style(std::FILE* out);

// `share`: the part that is done, in [0, 1].
std::string draw_bar(double share, int width, const ConsoleStyle& style);

std::unique_ptr<ProgressSink> console_progress(std::FILE* out, ConsoleStyle style);

}  // namespace ovde
