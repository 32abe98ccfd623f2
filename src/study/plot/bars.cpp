// Bars with intervals: a panel for each row, a bar for each column, the paper's mean beside it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stats/bootstrap.h"
#include "study/plot/panels.h"
#include "study/plot/report_figures.h"

namespace ovde {

namespace {

constexpr std::size_t kMostLabels = 4;  // below bars; more would overlap, and the key has them too

class Bars {
 public:
  explicit Bars(const StudyResults& results)
      : results_(results),
        columns_(results.columns()),
        colours_(column_colours(results)),
        runtime_(!results.measures("score")) {}

  Figure figure() {
    const std::vector<std::string> titles = results_.row_names();
    PanelFigure panels("bars", titles);
    bool has_paper = false;
    for (std::size_t r = 0; r < titles.size(); ++r) {
      std::vector<std::string> plots;
      Extent y{.empty = false};  // bars are lengths: they start at zero
      if (const std::string bars = bar_lines(titles[r], y); !bars.empty()) {
        panels.add_data(fmt::format("$b{} << END\n{}END\n", r, bars));
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
      if (const std::string paper = paper_lines(titles[r], y); !paper.empty()) {
        has_paper = true;
        panels.add_data(fmt::format("$p{} << END\n{}END\n", r, paper));
        plots.push_back(fmt::format("$p{} using 1:2 {} pointsize 1.1 notitle", r, kPaperStyle));
      }
      panels.add_panel(axes(), plots, y);
    }
    for (const PlanColumn* column : columns_) {
      panels.add_key(
          fmt::format("with lines linewidth 8 linecolor rgb \"{}\"", colours_.at(column->name)),
          column->name);
    }
    if (has_paper) panels.add_key(kPaperStyle, "the paper");
    return panels.figure(fmt::format("{}: mean over the runs with its 95 % bootstrap interval{}.",
                                     runtime_ ? "Wall time" : "Scores",
                                     has_paper ? "; grey diamonds: the paper's means" : ""));
  }

 private:
  static constexpr const char* kPaperStyle =
      "with points pointtype 12 linewidth 1.5 linecolor rgb \"#777777\"";

  // Lines "place mean low high colour".
  std::string bar_lines(const std::string& row, Extent& y) const {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const CellResult& result = *results_.find(row, columns_[c]->name);
      if (result.runs.empty()) continue;
      std::vector<double> values;
      for (const RunResult& run : result.runs)
        values.push_back(runtime_ ? run.wall_seconds : run.score);
      const Interval interval = mean_interval(values);
      y.take(interval.low);
      y.take(interval.high);
      out += fmt::format("{} {} {} {} 0x{}\n", c, interval.estimate, interval.low, interval.high,
                         colours_.at(columns_[c]->name).substr(1));
    }
    return out;
  }

  // Lines "place value". Beside a smoke run the paper's figures would only hide the bars, and its
  // runtimes are ratios.
  std::string paper_lines(const std::string& row, Extent& y) const {
    std::string out;
    if (runtime_ || results_.smoke) return out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const PublishedNumber* figure =
          find_published(results_.plan, "score", row, columns_[c]->name);
      if (figure == nullptr) continue;
      y.take(figure->value);
      out += fmt::format("{} {}\n", c, figure->value);
    }
    return out;
  }

  std::string axes() const {
    std::vector<std::string> tics;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool room = columns_.size() <= kMostLabels;
      tics.push_back(fmt::format("\"{}\" {}", room ? gnuplot_tic(columns_[c]->name) : "", c));
    }
    return fmt::format(
        "set xrange [-0.6:{}]\nset yrange [*<0:0<*]\nset xtics ({}) nomirror\nset ylabel \"{}\"\n",
        static_cast<double>(columns_.size()) - 0.4, fmt::join(tics, ", "),
        runtime_ ? "seconds" : "score");
  }

  const StudyResults& results_;
  std::vector<const PlanColumn*> columns_;
  std::map<std::string, std::string> colours_;
  bool runtime_;  // the study's only measure
};

}  // namespace

std::optional<Figure> bars_figure(const StudyResults& results) {
  if (!results.any_runs()) return std::nullopt;
  return Bars(results).figure();
}

}  // namespace ovde
