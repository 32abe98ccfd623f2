#include "study/report/curves.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/json.h"
#include "stats/statistics.h"
#include "study/plot/report_figures.h"
#include "study/report/page.h"

namespace ovde {

namespace {

// Four digits are more than a chart shows and keep the page small.
constexpr int kDigits = 4;

// The quartiles over the runs at each point that all of them have; NaN where a run has no value.
// Empty if no point has a value.
std::vector<std::vector<double>> quartiles(const std::vector<std::vector<EpochRow>>& curves,
                                           std::size_t points, double EpochRow::*column) {
  std::vector<std::vector<double>> out(3, std::vector<double>(points, EpochRow::kNone));
  bool any = false;
  for (std::size_t i = 0; i < points; ++i) {
    std::vector<double> values;
    for (const auto& curve : curves) values.push_back(curve[i].*column);
    if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) continue;
    any = true;
    for (int quarter = 1; quarter <= 3; ++quarter)
      out[quarter - 1][i] = rounded(quantile(values, quarter / 4.0), kDigits);
  }
  return any ? out : std::vector<std::vector<double>>{};
}

using Measures = std::vector<Column>;

Json cell_json(const CellResult& cell, const std::string& colour, const Measures& measures,
               std::size_t most) {
  std::size_t longest = 0;
  for (const RunResult& run : cell.runs) longest = std::max(longest, run.curve.size());
  std::vector<std::vector<EpochRow>> curves;
  for (const RunResult& run : cell.runs) curves.push_back(curve_of(run.curve, longest, most));
  // the points of all runs; they differ where an unfinished run ends, or where runs have other
  // lengths
  std::size_t points = 0;
  const auto is_common = [&](const std::vector<EpochRow>& curve) {
    return points < curve.size() && curve[points].epoch == curves.front()[points].epoch;
  };
  while (std::ranges::all_of(curves, is_common)) ++points;
  Json x = {{"epoch", Json::array()}, {"env_steps", Json::array()}, {"seconds", Json::array()}};
  for (std::size_t i = 0; i < points; ++i) {
    const EpochRow& row = curves.front()[i];
    x["epoch"].push_back(row.epoch);
    x["env_steps"].push_back(row.env_steps);
    x["seconds"].push_back(rounded(row.seconds, kDigits));
  }
  Json values = Json::object();
  for (const Column& column : measures) {
    if (const auto found = quartiles(curves, points, column.value); !found.empty())
      values[column.name] = found;
  }
  return {{"column", cell.cell.column},
          {"colour", colour},
          {"runs", cell.runs.size()},
          {"x", x},
          {"values", values}};
}

Json data_of(const StudyResults& results, const Measures& measures, std::size_t most) {
  const auto colours = column_colours(results);
  Json rows = Json::array();
  for (const std::string& row : results.row_names()) {
    Json cells = Json::array();
    for (const PlanColumn& column : results.plan.columns) {
      const CellResult& cell = results.find(row, column.name);
      if (std::ranges::none_of(cell.runs, [](const RunResult& run) { return run.curve.empty(); }) &&
          !cell.runs.empty())
        cells.push_back(cell_json(cell, colours.at(column.name), measures, most));
    }
    if (!cells.empty()) rows.push_back({{"name", row}, {"cells", std::move(cells)}});
  }
  if (rows.empty()) return nullptr;
  return {{"axis", results.plan.x == "steps" ? "env_steps" : "epoch"}, {"rows", rows}};
}

}  // namespace

Json curve_data(const StudyResults& results) {
  Measures measures;
  for (const Column& column : kColumns) {
    if (column.value != &EpochRow::seconds && column.value != &EpochRow::eval_episodes)
      measures.push_back(column);
  }
  return data_of(results, measures, kCurvePoints);
}

Json compact_curve_data(const StudyResults& results) {
  Measures measures;
  for (const Column& column : kColumns) {
    if (column.value == &EpochRow::eval_return_mean || column.value == &EpochRow::eval_success)
      measures.push_back(column);
  }
  return data_of(results, measures, 50);
}

std::string curves_html(const Json& data) {
  bool several = false;
  for (const Json& row : data.at("rows"))
    for (const Json& cell : row.at("cells")) several |= cell.at("runs") > 1;
  return fmt::format(
      "<div class=\"interactive\"><script type=\"application/json\">{}</script>\n<p "
      "class=\"caption\">Learning curves{}. Drag to zoom, double-click to see everything, click a "
      "name to hide its curve.</p></div>\n",
      to_line(data), several ? ": median over the runs and interquartile range" : "");
}

std::string curve_scripts() {
  return fmt::format("<style>{}</style>\n<script>{}</script>\n<script>{}</script>\n",
                     page_file("chart.css"), page_file("chart.js"), page_file("curves.js"));
}

}  // namespace ovde
