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
std::vector<std::vector<double>> quartiles(const std::vector<RunResult>& runs, std::size_t points,
                                           double EpochRow::*column) {
  std::vector<std::vector<double>> out(3, std::vector<double>(points, EpochRow::kNone));
  bool any = false;
  for (std::size_t i = 0; i < points; ++i) {
    std::vector<double> values;
    for (const RunResult& run : runs) values.push_back(run.curve[i].*column);
    if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) continue;
    any = true;
    for (int quarter = 1; quarter <= 3; ++quarter)
      out[quarter - 1][i] = rounded(quantile(values, quarter / 4.0), kDigits);
  }
  return any ? out : std::vector<std::vector<double>>{};
}

Json cell_json(const CellResult& cell, const std::string& colour) {
  std::size_t points = cell.runs.front().curve.size();
  for (const RunResult& run : cell.runs) points = std::min(points, run.curve.size());
  const std::vector<EpochRow>& first = cell.runs.front().curve;
  Json x = {{"epoch", Json::array()}, {"env_steps", Json::array()}, {"seconds", Json::array()}};
  for (std::size_t i = 0; i < points; ++i) {
    x["epoch"].push_back(first[i].epoch);
    x["env_steps"].push_back(first[i].env_steps);
    x["seconds"].push_back(rounded(first[i].seconds, kDigits));
  }
  Json values = Json::object();
  for (const Column& column : kColumns) {
    if (column.value == &EpochRow::seconds || column.value == &EpochRow::eval_episodes) continue;
    if (const auto found = quartiles(cell.runs, points, column.value); !found.empty())
      values[column.name] = found;
  }
  return {{"column", cell.cell.column}, {"colour", colour}, {"x", x}, {"values", values}};
}

}  // namespace

std::string curves_html(const StudyResults& results) {
  const auto colours = column_colours(results);
  Json rows = Json::array();
  for (const std::string& row : results.row_names()) {
    Json cells = Json::array();
    for (const PlanColumn& column : results.plan.columns) {
      const CellResult& cell = results.find(row, column.name);
      if (std::ranges::none_of(cell.runs, [](const RunResult& run) { return run.curve.empty(); }) &&
          !cell.runs.empty())
        cells.push_back(cell_json(cell, colours.at(column.name)));
    }
    if (!cells.empty()) rows.push_back({{"name", row}, {"cells", std::move(cells)}});
  }
  if (rows.empty()) return "";
  const Json data = {{"axis", results.plan.x == "steps" ? "env_steps" : "epoch"}, {"rows", rows}};
  const bool several = std::ranges::any_of(
      results.cells, [](const CellResult& cell) { return cell.runs.size() > 1; });
  return fmt::format(
      "<style>{}</style>\n<div class=\"interactive\"><div id=\"curves\"></div>\n<p "
      "class=\"caption\">Learning curves{}. Drag to zoom, double-click to see everything, click a "
      "name to hide its curve.</p></div>\n"
      "<script type=\"application/json\" id=\"curve-data\">{}</script>\n"
      "<script>{}</script>\n<script>{}</script>\n",
      page_file("chart.css"), several ? ": median over the runs and interquartile range" : "",
      to_line(data), page_file("chart.js"), page_file("curves.js"));
}

}  // namespace ovde
