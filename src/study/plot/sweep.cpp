// Figures that only some studies have: sweeps over an option, and the example of two actions.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stats/bootstrap.h"
#include "study/analyse/example.h"
#include "study/plot/panels.h"
#include "study/plot/report_figures.h"

namespace ovde {

namespace {

// A swept axis: its places from left to right, and how a place is named.
struct Axis {
  std::string key;
  std::vector<std::string> names;   // of rows or columns
  std::vector<std::string> labels;  // of their values
};

template <typename Entry>
Axis swept_axis(const std::vector<Entry>& entries) {
  Axis axis;
  for (const Entry& entry : entries) {
    if (!entry.swept) continue;
    axis.key = entry.swept->key;
    axis.names.push_back(entry.name);
    axis.labels.push_back(to_string(entry.swept->value));
  }
  return axis;
}

// Lines "place mean low high", the places being 0, 1, 2 ...: values of options are rarely spaced
// evenly, and lists have no place on a scale at all.
std::string sweep_block(const std::string& name, const std::vector<const CellResult*>& cells) {
  std::string out = fmt::format("${} << END\n", name);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == nullptr || cells[i]->runs.empty()) continue;
    const Interval interval = mean_interval(cells[i]->scores());
    out += fmt::format("{} {} {} {}\n", i, interval.estimate, interval.low, interval.high);
  }
  return out + "END\n";
}

std::string axis_settings(const Axis& axis) {
  std::vector<std::string> tics;
  for (std::size_t i = 0; i < axis.labels.size(); ++i)
    tics.push_back(fmt::format("\"{}\" {}", gnuplot_tic(axis.labels[i]), i));
  const bool long_labels =
      std::ranges::any_of(axis.labels, [](const std::string& label) { return label.size() > 6; });
  return fmt::format(
      "set xrange [-0.4:{}]\nset xtics ({}){}\nset xlabel \"{}\"\nset ylabel \"score\"\n",
      static_cast<double>(axis.labels.size()) - 0.6, fmt::join(tics, ", "),
      long_labels ? " rotate by 20 right\nset bmargin 5" : "",
      long_labels ? "" : gnuplot_text(axis.key));
}

}  // namespace

std::optional<Figure> sweep_figure(const StudyResults& results) {
  const Axis over_columns = swept_axis(results.plan.columns);
  const Axis over_rows = swept_axis(results.plan.rows);
  const bool by_columns = !over_columns.names.empty();
  const Axis& axis = by_columns ? over_columns : over_rows;
  if (axis.names.empty()) return std::nullopt;

  // the other side of the grid: a line for each
  struct Line {
    std::string name, colour;
  };
  std::vector<Line> lines;
  const auto colours = column_colours(results);
  const std::vector<std::string> palette = {"#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00"};
  if (by_columns) {
    for (const PlanRow& row : results.plan.rows)
      lines.push_back({row.name, palette[lines.size() % palette.size()]});
  } else {
    for (const PlanColumn* column : results.columns())
      lines.push_back({column->name, colours.at(column->name)});
  }

  PanelFigure panels("sweep", {axis.key});
  std::vector<std::string> bands, curves;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::vector<const CellResult*> cells;
    bool any = false;
    for (const std::string& name : axis.names) {
      cells.push_back(by_columns ? results.find(lines[l].name, name)
                                 : results.find(name, lines[l].name));
      any |= cells.back() != nullptr && !cells.back()->runs.empty();
    }
    if (!any) continue;
    panels.add_data(sweep_block(fmt::format("w{}", l), cells));
    bands.push_back(
        fmt::format("$w{} using 1:3:4 with filledcurves fillcolor rgb \"{}\" fillstyle "
                    "transparent solid 0.18 noborder notitle",
                    l, lines[l].colour));
    const std::string style =
        fmt::format("with linespoints pointtype {} pointsize 0.8 linewidth 2 linecolor rgb \"{}\"",
                    2 * (l % 4) + 5, lines[l].colour);
    curves.push_back(fmt::format("$w{} using 1:2 {} notitle", l, style));
    panels.add_key(style, lines[l].name);
  }
  if (curves.empty()) return std::nullopt;
  bands.insert(bands.end(), curves.begin(), curves.end());
  panels.add_panel(axis_settings(axis), bands);
  return panels.figure(
      fmt::format("Score over {}: mean over the runs with its 95 % bootstrap interval.", axis.key));
}

std::optional<Figure> example_figure(const StudyResults& results) {
  const auto actions = weigh_example(results.plan);
  if (actions.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const WeighedAction& action : actions) {
    if (std::ranges::find(names, action.given.panel) == names.end())
      names.push_back(action.given.panel);
  }
  const std::vector<std::string> palette = {"#D55E00", "#0072B2", "#009E73", "#CC79A7"};
  std::string caption =
      "The current return of each action (curve), its optimistic value (dashed line), and the "
      "probability that the current return stays below it (shaded).";

  PanelFigure panels("example", names);
  std::vector<std::string> keyed;
  for (const std::string& name : names) {
    std::vector<std::string> plots;
    std::string lines;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const WeighedAction& a = actions[i];
      if (a.given.panel != name) continue;
      const std::string& colour = palette[(plots.size() / 2) % palette.size()];
      const std::string density =
          fmt::format("exp(-0.5*((x-({0}))/{1})**2)/({1}*sqrt(2*pi))", a.center, a.given.aleatoric);
      plots.push_back(
          fmt::format("(x<{} ? {} : 1/0) with filledcurves y1=0 fillcolor rgb \"{}\" "
                      "fillstyle transparent solid 0.18 noborder notitle",
                      a.upper_bound, density, colour));
      plots.push_back(
          fmt::format("{} with lines linewidth 2 linecolor rgb \"{}\" notitle", density, colour));
      lines += fmt::format(
          "set arrow from {0}, graph 0 to {0}, graph 1 nohead dashtype 2 linewidth 1.6 linecolor "
          "rgb \"{1}\"\n",
          a.upper_bound, colour);
      if (std::ranges::find(keyed, a.given.action) == keyed.end()) {
        keyed.push_back(a.given.action);
        panels.add_key(fmt::format("with lines linewidth 2 linecolor rgb \"{}\"", colour),
                       a.given.action);
      }
    }
    panels.add_panel(
        "unset arrow\nset samples 400\nset xrange [-5:5]\nset xlabel \"return\"\n"
        "set ylabel \"density\"\n" +
            lines,
        plots);
  }
  return panels.figure(caption);
}

}  // namespace ovde
