#include "study/plot/report_figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stats/bootstrap.h"
#include "stats/statistics.h"
#include "study/plot/panels.h"

namespace ovde {

namespace {

constexpr int kPoints = 80;  // of a curve, at most: smoothed over 2 %, it has no more to show
constexpr BootstrapOptions kProfileBootstrap = {.resamples = 2000};

const std::map<std::string, std::string> kAlgorithmColours = {
    {"sac", "#7F7F7F"},    {"dsac", "#0072B2"},     {"oac", "#F0E442"},
    {"doac", "#009E73"},   {"ovde_g", "#D55E00"},   {"ovde_q", "#CC79A7"},
    {"ovde_m", "#E69F00"}, {"dsac_rnd", "#56B4E9"}, {"ids", "#000000"}};

// Mean of what was evaluated in a centred window, which is cut at the ends of the run; NaN:
// nothing.
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

// What the curves are drawn over: epochs, or environment steps in a unit that keeps numbers short.
struct CurveAxis {
  std::string label = "epoch";
  double unit = 0;  // of environment steps; 0: epochs

  double at(const RunResult& run, std::size_t epoch) const {
    return unit > 0 ? run.env_steps[epoch] / unit : static_cast<double>(epoch);
  }

  double end(const RunResult& run) const {
    return unit > 0 ? run.env_steps.back() / unit : static_cast<double>(run.returns.size());
  }
};

// An axis from 0 to `end` with at most five steps: more labels than that run into each other in a
// narrow panel.
std::string axis_up_to(double end) {
  return fmt::format("set xrange [0:{}]\nset xtics 0,{}\n", end, axis_step(end, 5));
}

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

// The epochs at which all of these have a number.
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
  std::string text;  // lines "x q25 median q75" of a cell
  bool lone;         // a single one, of which no line can be drawn
};

CurveBlock curve_block(const std::string& name, const CellResult& result, const CurveAxis& axis,
                       Extent& y) {
  std::vector<std::vector<double>> returns, curves;
  for (const RunResult& run : result.runs) {
    returns.push_back(run.returns);
    curves.push_back(smoothed(run.returns, smoothing_window(result.cell.epochs)));
  }
  // between evaluations a moving average stands still; runs from elsewhere may share none
  std::vector<std::size_t> points = shared_epochs(returns);
  if (points.empty()) points = shared_epochs(curves);

  std::string out = fmt::format("${} << END\n", name);
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
  return {out + "END\n", points.size() == 1};
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

int smoothing_window(int epochs) { return std::max(1, epochs / 50); }

std::optional<Figure> curves_figure(const StudyResults& results) {
  if (!results.any_runs()) return std::nullopt;
  const auto colours = column_colours(results);
  const CurveAxis axis = curve_axis(results);
  PanelFigure panels("curves", results.row_names());
  for (std::size_t r = 0; r < results.plan.rows.size(); ++r) {
    std::vector<std::string> bands, lines;
    double end = 0;
    Extent y;
    int dash = 0;
    for (const PlanColumn* column : results.columns()) {
      ++dash;
      const CellResult& result = *results.find(results.plan.rows[r].name, column->name);
      if (result.runs.empty()) continue;
      const std::string block = fmt::format("c{}_{}", r, dash);
      const CurveBlock curve = curve_block(block, result, axis, y);
      panels.add_data(curve.text);
      for (const RunResult& run : result.runs) end = std::max(end, axis.end(run));
      bands.push_back(fmt::format(
          "${} using 1:2:4 with filledcurves fillcolor rgb \"{}\" fillstyle transparent solid 0.18 "
          "noborder notitle",
          block, colours.at(column->name)));
      lines.push_back(fmt::format(
          "${} using 1:3 with {} linewidth 1.8 dashtype {} linecolor rgb \"{}\" notitle", block,
          curve.lone ? "points pointtype 7 pointsize 0.6" : "lines", (dash - 1) % 4 + 1,
          colours.at(column->name)));
    }
    bands.insert(bands.end(), lines.begin(), lines.end());
    panels.add_panel(fmt::format("{}set xlabel \"{}\"\nset ylabel \"return\"\n",
                                 end > 0 ? axis_up_to(end) : "", axis.label),
                     bands, y);
  }
  int dash = 0;
  for (const PlanColumn* column : results.columns()) {
    panels.add_key(fmt::format("with lines linewidth 2.5 dashtype {} linecolor rgb \"{}\"",
                               dash++ % 4 + 1, colours.at(column->name)),
                   column->name);
  }
  int longest = 0;
  for (const CellResult& result : results.cells) longest = std::max(longest, result.cell.epochs);
  const int window = smoothing_window(longest);
  return panels.figure(fmt::format(
      "Learning curves: evaluation return, median over the runs and interquartile range{}.",
      window > 1 ? fmt::format("; each run smoothed by a moving average over 2 % of its epochs "
                               "({} of {})",
                               window, longest)
                 : "; not smoothed"));
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
  for (const PlanColumn* column : results.columns()) {
    const auto found = strata.find(column->name);
    if (found == strata.end()) continue;
    const auto profile = performance_profile(found->second, thresholds, kProfileBootstrap);
    const std::string block = fmt::format("f{}", series);
    std::string data = fmt::format("${} << END\n", block);
    for (std::size_t i = 0; i < thresholds.size(); ++i)
      data += fmt::format("{} {} {} {}\n", thresholds[i], profile[i].estimate, profile[i].low,
                          profile[i].high);
    panels.add_data(data + "END\n");
    const std::string& colour = colours.at(column->name);
    bands.push_back(
        fmt::format("${} using 1:3:4 with filledcurves fillcolor rgb \"{}\" fillstyle "
                    "transparent solid 0.15 noborder notitle",
                    block, colour));
    const std::string style =
        fmt::format("linewidth 2 dashtype {} linecolor rgb \"{}\"", series++ % 4 + 1, colour);
    lines.push_back(fmt::format("${} using 1:2 with lines {} notitle", block, style));
    panels.add_key("with lines " + style, column->name);
  }
  bands.insert(bands.end(), lines.begin(), lines.end());
  panels.add_panel(
      "set xrange [0:1]\nset yrange [0:1]\nset xlabel \"normalised score\"\n"
      "set ylabel \"share of runs above\"\n",
      bands);
  return panels.figure(
      "Performance profile: share of runs whose score is above a threshold, every row counting the "
      "same, with pointwise 95 % bootstrap bands. Scores of a row are normalised: 0 is the lowest "
      "of any run, 1 the highest.");
}

}  // namespace ovde
