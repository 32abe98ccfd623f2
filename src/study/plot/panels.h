// A figure of small panels in a grid, with one key for all of them below the last: what all
// figures of a report are made of.
#pragma once

#include <string>
#include <vector>

#include "study/plot/gnuplot.h"

namespace ovde {

// A round number, 1, 2, 2.5 or 5 times a power of ten, of which so many at most make the span.
double axis_step(double span, int most);

// What a panel's y axis has to hold.
struct Extent {
  double low = 0, high = 0;
  bool empty = true;

  void take(double value);
};

class PanelFigure {
 public:
  // One panel for each title.
  PanelFigure(std::string name, std::vector<std::string> titles);

  void add_data(const std::string& block);  // "$name << END ... END"
  // The next panel: gnuplot's settings, and what follows `plot`, each with its own style. A panel
  // without plots says that nothing was run. With an extent, the y axis has as few labels as do not
  // run into each other, and room for them.
  void add_panel(const std::string& settings, const std::vector<std::string>& plots,
                 const Extent& y = {});
  void add_key(const std::string& style, const std::string& title);  // in as many lines as it takes

  Figure figure(const std::string& caption) const;

 private:
  struct Key {
    std::string entry;
    int length;  // of its title
  };
  int longest_title() const;
  // How many entries fit side by side, and all of them in the strip at the bottom of the figure.
  int keys_in_a_line(int width) const;
  std::string keys(int lines, double strip) const;

  std::string name_;
  std::vector<std::string> titles_;
  std::string data_;
  std::vector<std::string> panels_;
  std::size_t left_margin_ = 9;  // of all panels, in characters: labels of the y axis and its name
  std::vector<Key> keys_;
};

}  // namespace ovde
