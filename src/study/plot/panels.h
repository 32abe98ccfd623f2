// A figure of small panels in a grid, with one key for all of them below.
#pragma once

#include <string>
#include <vector>

#include "stats/bootstrap.h"
#include "study/plot/gnuplot.h"

namespace ovde {

// A round step (1, 2, 2.5 or 5 times a power of ten) of which at most `most` cover the span.
double axis_step(double span, int most);

// A line of a block: place, estimate and interval.
std::string interval_line(double place, const Interval& interval);

// A shaded band between two columns of a block.
std::string band(const std::string& block, const char* columns, const std::string& colour,
                 double opacity);

// Bands first, so that no band hides a line.
std::vector<std::string> bands_then_lines(std::vector<std::string> bands,
                                          const std::vector<std::string>& lines);

// The range of a panel's y values.
struct YRange {
  double low = 0, high = 0;
  bool empty = true;

  void take(double value);
};

class PanelFigure {
 public:
  // One panel for each title.
  PanelFigure(std::string name, std::vector<std::string> titles);

  void add_data(const std::string& block, const std::string& lines);  // gnuplot's $block
  // Adds the next panel: gnuplot's settings, and the items of its `plot` command. A panel without
  // plots says "not run". With a range, the labels of the y axis do not overlap, and the margin
  // is wide enough for them.
  void add_panel(const std::string& settings, const std::vector<std::string>& plots,
                 const YRange& y = {});
  void add_key(const std::string& style, const std::string& title);

  Figure figure(const std::string& caption) const;

 private:
  struct Key {
    std::string entry;
    int length;  // in characters
  };
  int longest_title() const;
  // The number of entries that fit side by side.
  int keys_in_a_line(int width) const;
  std::string keys(int lines, double strip) const;

  std::string name_;
  std::vector<std::string> titles_;
  std::string data_;
  std::vector<std::string> panels_;
  std::size_t left_margin_ = 9;  // in characters
  std::vector<Key> keys_;
};

}  // namespace ovde
