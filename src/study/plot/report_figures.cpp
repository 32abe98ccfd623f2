#include "study/plot/report_figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stats/bootstrap.h"
#include "stats/statistics.h"
#include "study/analyse/comparison.h"
#include "study/analyse/exploration.h"
#include "study/plot/panels.h"

namespace ovde {

namespace {

constexpr int kPoints = 80;             // at most, in a curve
constexpr std::size_t kMostLabels = 4;  // below bars: more would overlap, and the key has them too
constexpr BootstrapOptions kProfileBootstrap = {.resamples = 2000};
constexpr const char* kPaperStyle =
    "with points pointtype 12 linewidth 1.5 linecolor rgb \"#777777\"";

const std::map<std::string, std::string> kAlgorithmColours = {
    {"sac", "#7F7F7F"},    {"dsac", "#0072B2"},     {"oac", "#F0E442"},
    {"doac", "#009E73"},   {"ovde_g", "#D55E00"},   {"ovde_q", "#CC79A7"},
    {"ovde_m", "#E69F00"}, {"dsac_rnd", "#56B4E9"}, {"ids", "#000000"}};

// ---- learning curves

int smoothing_window(int epochs) { return std::max(1, epochs / 50); }

// Centred moving average of the evaluated epochs; NaN where the window has none.
std::vector<double> smoothed(const std::vector<double>& values, int window) {
  std::vector<double> out;
  const int count = static_cast<int>(values.size()), half = window / 2;
  for (int i = 0; i < count; ++i) {
    const int first = std::max(0, i - half), last = std::min(count - 1, i + half);
    double sum = 0;
    int evaluated = 0;
    for (int j = first; j <= last; ++j) {
      const double value = values[static_cast<std::size_t>(j)];
      if (std::isnan(value)) continue;
      sum += value;
      ++evaluated;
    }
    out.push_back(sum / evaluated);
  }
  return out;
}

// The x axis: epochs, or environment steps in a unit that keeps the labels short.
struct CurveAxis {
  std::string label = "epoch";
  std::optional<double> steps_per_unit = {};  // nullopt: epochs

  double at(const RunResult& run, std::size_t epoch) const {
    return steps_per_unit ? run.env_steps[epoch] / *steps_per_unit : static_cast<double>(epoch);
  }
  double end(const RunResult& run) const {
    return steps_per_unit ? run.env_steps.back() / *steps_per_unit
                          : static_cast<double>(run.returns.size());
  }
};

CurveAxis curve_axis(const StudyResults& results) {
  if (results.plan.x != "steps") return {};
  double most = 0;
  for (const CellResult& cell : results.cells) {
    for (const RunResult& run : cell.runs) {
      if (!run.env_steps.empty()) most = std::max(most, run.env_steps.back());
    }
  }
  if (most >= 1e7) return {"million environment steps", 1e6};
  if (most >= 1e4) return {"thousand environment steps", 1e3};
  return {"environment steps", 1};
}

// An axis from 0 to `end` with at most five steps: more labels would overlap in a narrow panel.
std::string axis_up_to(double end) {
  return fmt::format("set xrange [0:{}]\nset xtics 0,{}\n", end, axis_step(end, 5));
}

// The epochs at which all series have a number.
std::vector<std::size_t> shared_epochs(const std::vector<std::vector<double>>& series) {
  std::size_t epochs = series.front().size();
  for (const auto& each : series) epochs = std::min(epochs, each.size());
  std::vector<std::size_t> out;
  for (std::size_t e = 0; e < epochs; ++e) {
    if (std::ranges::none_of(series, [e](const auto& each) { return std::isnan(each[e]); }))
      out.push_back(e);
  }
  return out;
}

struct CurveBlock {
  std::string lines;  // "x q25 median q75" of a cell
  bool single_point;
};

CurveBlock curve_block(const CellResult& result, const CurveAxis& axis, YRange& y) {
  std::vector<std::vector<double>> returns, curves;
  for (const RunResult& run : result.runs) {
    returns.push_back(run.returns);
    curves.push_back(smoothed(run.returns, smoothing_window(result.cell.epochs)));
  }
  // points where all runs were evaluated; imported runs may share none
  std::vector<std::size_t> points = shared_epochs(returns);
  if (points.empty()) points = shared_epochs(curves);

  std::string out;
  const std::size_t step = (points.size() + kPoints - 1) / kPoints;
  for (std::size_t p = 0; p < points.size(); p += step) {
    const std::size_t e = points[p];
    std::vector<double> values;
    for (const auto& curve : curves) values.push_back(curve[e]);
    const double low = quantile(values, 0.25), high = quantile(values, 0.75);
    y.take(low);
    y.take(high);
    out += fmt::format("{} {} {} {}\n", axis.at(result.runs.front(), e), low, median(values), high);
  }
  return {out, points.size() == 1};
}

// ---- bars

// Lines "place mean low high colour" of a row's cells: scores, or wall times.
std::string bar_lines(const StudyResults& results, const std::string& row, bool runtime,
                      YRange& y) {
  const auto colours = column_colours(results);
  std::string out;
  for (std::size_t c = 0; c < results.plan.columns.size(); ++c) {
    const std::string& column = results.plan.columns[c].name;
    std::vector<double> values;
    for (const RunResult& run : results.find(row, column).runs)
      values.push_back(runtime ? run.wall_seconds : run.score);
    if (values.empty()) continue;
    const Interval interval = mean_interval(values);
    y.take(interval.low);
    y.take(interval.high);
    out += fmt::format("{} {} {} {} 0x{}\n", c, interval.estimate, interval.low, interval.high,
                       colours.at(column).substr(1));
  }
  return out;
}

// Lines "place value" of the scores that the paper prints.
std::string paper_lines(const StudyResults& results, const std::string& row, YRange& y) {
  std::string out;
  const auto& columns = results.plan.columns;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const PublishedNumber* figure = find_published(results.plan, "score", row, columns[c].name);
    if (figure == nullptr) continue;
    y.take(figure->value);
    out += fmt::format("{} {}\n", c, figure->value);
  }
  return out;
}

// ---- sweeps

// The values of a swept option, in the order of the plan.
struct SweptAxis {
  std::string key;
  std::vector<std::string> names;   // rows or columns
  std::vector<std::string> labels;  // values as text
};

template <typename Entry>
SweptAxis swept_axis(const std::vector<Entry>& entries) {
  SweptAxis axis;
  for (const Entry& entry : entries) {
    if (!entry.swept) continue;
    axis.key = entry.swept->key;
    axis.names.push_back(entry.name);
    axis.labels.push_back(to_string(entry.swept->value));
  }
  return axis;
}

std::string axis_settings(const SweptAxis& axis) {
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

std::map<std::string, std::string> column_colours(const StudyResults& results) {
  std::map<std::string, std::string> out;
  std::set<std::string> taken;
  std::vector<std::string> without;
  for (const PlanColumn& column : results.plan.columns) {
    const auto own = kAlgorithmColours.find(column.algorithm);
    if (own != kAlgorithmColours.end() && taken.insert(own->second).second) {
      out[column.name] = own->second;
    } else {
      without.push_back(column.name);
    }
  }
  // strong colours first; a study with more columns than colours starts again
  const std::vector<std::string> spare = {"#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#0072B2",
                                          "#000000", "#7F7F7F", "#F0E442", "#D55E00"};
  std::size_t next = 0;
  for (const std::string& name : without) {
    for (std::size_t i = 0; i < spare.size() && taken.contains(spare[next % spare.size()]); ++i)
      ++next;
    out[name] = spare[next % spare.size()];
    taken.insert(out[name]);
    if (taken.size() == spare.size()) taken.clear();
  }
  return out;
}

std::optional<Figure> curves_figure(const StudyResults& results) {
  if (!results.any_runs()) return std::nullopt;
  const auto colours = column_colours(results);
  const CurveAxis axis = curve_axis(results);
  const auto& columns = results.plan.columns;
  const auto dash = [](std::size_t column) { return column % 4 + 1; };
  PanelFigure panels("curves", results.row_names());
  for (std::size_t r = 0; r < results.plan.rows.size(); ++r) {
    std::vector<std::string> bands, lines;
    double end = 0;
    YRange y;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const CellResult& result = results.find(results.plan.rows[r].name, columns[c].name);
      if (result.runs.empty()) continue;
      const std::string block = fmt::format("c{}_{}", r, c + 1);
      const std::string& colour = colours.at(columns[c].name);
      const CurveBlock curve = curve_block(result, axis, y);
      panels.add_data(block, curve.lines);
      for (const RunResult& run : result.runs) end = std::max(end, axis.end(run));
      bands.push_back(band(block, "1:2:4", colour, 0.18));
      lines.push_back(fmt::format(
          "${} using 1:3 with {} linewidth 1.8 dashtype {} linecolor rgb \"{}\" notitle", block,
          curve.single_point ? "points pointtype 7 pointsize 0.6" : "lines", dash(c), colour));
    }
    panels.add_panel(fmt::format("{}set xlabel \"{}\"\nset ylabel \"return\"\n",
                                 end > 0 ? axis_up_to(end) : "", axis.label),
                     bands_then_lines(bands, lines), y);
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    panels.add_key(fmt::format("with lines linewidth 2.5 dashtype {} linecolor rgb \"{}\"", dash(c),
                               colours.at(columns[c].name)),
                   columns[c].name);
  }
  int longest = 0;
  bool several = false;
  for (const CellResult& result : results.cells) {
    longest = std::max(longest, result.cell.epochs);
    several |= result.runs.size() > 1;
  }
  const int window = smoothing_window(longest);
  return panels.figure(fmt::format(
      "Learning curves: evaluation return{}{}.",
      several ? ", median over the runs and interquartile range" : "",
      window > 1 ? fmt::format("; each run smoothed by a moving average over 2 % of its epochs "
                               "({} of {})",
                               window, longest)
                 : "; not smoothed"));
}

std::optional<Figure> bars_figure(const StudyResults& results) {
  if (!results.any_runs()) return std::nullopt;
  const bool runtime = !results.measures("score");
  // the paper's runtimes are ratios, and its scores are not comparable with those of a smoke run
  const bool with_paper = !runtime && !results.plan.smoke;
  const std::vector<PlanColumn>& columns = results.plan.columns;
  std::vector<std::string> tics;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool labelled = columns.size() <= kMostLabels;
    tics.push_back(fmt::format("\"{}\" {}", labelled ? gnuplot_tic(columns[c].name) : "", c));
  }
  const std::string axes = fmt::format(
      "set xrange [-0.6:{}]\nset yrange [*<0:0<*]\nset xtics ({}) nomirror\nset ylabel \"{}\"\n",
      static_cast<double>(columns.size()) - 0.4, fmt::join(tics, ", "),
      runtime ? "seconds" : "score");

  const std::vector<std::string> titles = results.row_names();
  PanelFigure panels("bars", titles);
  bool has_paper = false;
  for (std::size_t r = 0; r < titles.size(); ++r) {
    std::vector<std::string> plots;
    YRange y{.empty = false};  // bars start at zero
    if (const std::string bars = bar_lines(results, titles[r], runtime, y); !bars.empty()) {
      panels.add_data(fmt::format("b{}", r), bars);
      plots.push_back(
          fmt::format("$b{} using 1:2:(0.62):5 with boxes fillcolor rgb variable "
                      "fillstyle solid 0.75 noborder notitle",
                      r));
      // gnuplot's own error bars leave a gap around the mean
      plots.push_back(
          fmt::format("$b{} using 1:3:(0):($4-$3) with vectors heads size graph "
                      "0.02,90 linecolor rgb \"#222222\" linewidth 1.4 notitle",
                      r));
    }
    const std::string paper = with_paper ? paper_lines(results, titles[r], y) : "";
    if (!paper.empty()) {
      has_paper = true;
      panels.add_data(fmt::format("p{}", r), paper);
      plots.push_back(fmt::format("$p{} using 1:2 {} pointsize 1.1 notitle", r, kPaperStyle));
    }
    panels.add_panel(axes, plots, y);
  }
  const auto colours = column_colours(results);
  for (const PlanColumn& column : columns) {
    panels.add_key(
        fmt::format("with lines linewidth 8 linecolor rgb \"{}\"", colours.at(column.name)),
        column.name);
  }
  if (has_paper) panels.add_key(kPaperStyle, "the paper");
  return panels.figure(fmt::format("{}: mean over the runs with its 95 % bootstrap interval{}.",
                                   runtime ? "Wall time" : "Scores",
                                   has_paper ? "; grey diamonds: the paper's means" : ""));
}

std::optional<Figure> profile_figure(const StudyResults& results) {
  const auto strata = normalised_scores(results);
  if (strata.empty()) return std::nullopt;
  const auto colours = column_colours(results);
  std::vector<double> thresholds;
  for (int i = 0; i <= 50; ++i) thresholds.push_back(i / 50.0);
  PanelFigure panels("profile", {"all rows"});
  std::vector<std::string> bands, lines;
  int series = 0;
  for (const PlanColumn& column : results.plan.columns) {
    const auto found = strata.find(column.name);
    if (found == strata.end()) continue;
    const auto profile = performance_profile(found->second, thresholds, kProfileBootstrap);
    const std::string block = fmt::format("f{}", series);
    std::string data;
    for (std::size_t i = 0; i < thresholds.size(); ++i)
      data += interval_line(thresholds[i], profile[i]);
    panels.add_data(block, data);
    const std::string& colour = colours.at(column.name);
    bands.push_back(band(block, "1:3:4", colour, 0.15));
    const std::string style =
        fmt::format("linewidth 2 dashtype {} linecolor rgb \"{}\"", series++ % 4 + 1, colour);
    lines.push_back(fmt::format("${} using 1:2 with lines {} notitle", block, style));
    panels.add_key("with lines " + style, column.name);
  }
  panels.add_panel(
      "set xrange [0:1]\nset yrange [0:1]\nset xlabel \"normalised score\"\n"
      "set ylabel \"share of runs above\"\n",
      bands_then_lines(bands, lines));
  return panels.figure(
      "Performance profile: share of runs whose score is above a threshold, with pointwise 95 % "
      "bootstrap bands. Every row has the same weight; its scores are normalised from 0 (lowest of "
      "all runs) to 1 (highest).");
}

std::optional<Figure> sweep_figure(const StudyResults& results) {
  const SweptAxis over_columns = swept_axis(results.plan.columns);
  const SweptAxis over_rows = swept_axis(results.plan.rows);
  const bool by_columns = !over_columns.names.empty();
  const SweptAxis& axis = by_columns ? over_columns : over_rows;
  if (axis.names.empty()) return std::nullopt;

  // a line for each row if columns are swept, for each column if rows are
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
    for (const PlanColumn& column : results.plan.columns)
      lines.push_back({column.name, colours.at(column.name)});
  }

  PanelFigure panels("sweep", {axis.key});
  std::vector<std::string> bands, curves;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    // values of options are rarely spaced evenly: their places are 0, 1, 2 ...
    std::string data;
    for (std::size_t i = 0; i < axis.names.size(); ++i) {
      const CellResult& cell = by_columns ? results.find(lines[l].name, axis.names[i])
                                          : results.find(axis.names[i], lines[l].name);
      if (!cell.runs.empty())
        data += interval_line(static_cast<double>(i), mean_interval(cell.scores()));
    }
    if (data.empty()) continue;
    const std::string block = fmt::format("w{}", l);
    panels.add_data(block, data);
    bands.push_back(band(block, "1:3:4", lines[l].colour, 0.18));
    const std::string style =
        fmt::format("with linespoints pointtype {} pointsize 0.8 linewidth 2 linecolor rgb \"{}\"",
                    2 * (l % 4) + 5, lines[l].colour);
    curves.push_back(fmt::format("${} using 1:2 {} notitle", block, style));
    panels.add_key(style, lines[l].name);
  }
  if (curves.empty()) return std::nullopt;
  panels.add_panel(axis_settings(axis), bands_then_lines(bands, curves));
  return panels.figure(
      fmt::format("Score by {}: mean over the runs with its 95 % bootstrap interval.", axis.key));
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
  PanelFigure panels("example", names);
  std::vector<std::string> in_key;
  for (const std::string& name : names) {
    std::vector<std::string> plots;
    std::string lines;
    for (const WeighedAction& a : actions) {
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
      if (std::ranges::find(in_key, a.given.action) == in_key.end()) {
        in_key.push_back(a.given.action);
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
  return panels.figure(
      "The current return of each action (curve), its optimistic value (dashed line), and the "
      "probability that the current return is below it (shaded).");
}

}  // namespace ovde
