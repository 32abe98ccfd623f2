// A figure of small panels in a grid, with one key for all of them below the last: what all
// figures of a report are made of.
#pragma once

#include <string>
#include <vector>

#include "study/plot/gnuplot.h"

namespace ovde {

class PanelFigure {
 public:
  // One panel for each title.
  PanelFigure(std::string name, std::vector<std::string> titles);

  void add_data(const std::string& block);  // "$name << END ... END"
  // The next panel: gnuplot's settings, and what follows `plot`, each with its own style. A panel
  // without plots says that nothing was run.
  void add_panel(const std::string& settings, const std::vector<std::string>& plots);
  void add_key(const std::string& style, const std::string& title);

  Figure figure(const std::string& caption) const;

 private:
  std::string name_;
  std::vector<std::string> titles_;
  std::string data_;
  std::vector<std::string> panels_, keys_;
};

}  // namespace ovde
