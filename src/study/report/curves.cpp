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

// Four digits, which is more than a chart shows and keeps the page small.
Json rounded(double value) {
  return std::isfinite(value) ? Json(std::stod(fmt::format("{:.4g}", value))) : Json(nullptr);
}

// The quartiles over the runs at each point that all of them have; null where a run has no value.
// Null if no point has a value.
Json quartiles(const std::vector<RunResult>& runs, std::size_t points, double EpochRow::*column) {
  Json low = Json::array(), middle = Json::array(), high = Json::array();
  bool any = false;
  for (std::size_t i = 0; i < points; ++i) {
    std::vector<double> values;
    for (const RunResult& run : runs) values.push_back(run.curve[i].*column);
    const bool there = std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
    any |= there;
    low.push_back(there ? rounded(quantile(values, 0.25)) : Json(nullptr));
    middle.push_back(there ? rounded(median(values)) : Json(nullptr));
    high.push_back(there ? rounded(quantile(values, 0.75)) : Json(nullptr));
  }
  return any ? Json{low, middle, high} : Json(nullptr);
}

Json cell_json(const CellResult& cell, const std::string& colour) {
  std::size_t points = cell.runs.front().curve.size();
  for (const RunResult& run : cell.runs) points = std::min(points, run.curve.size());
  const std::vector<EpochRow>& first = cell.runs.front().curve;
  Json x = {{"epoch", Json::array()}, {"env_steps", Json::array()}, {"seconds", Json::array()}};
  for (std::size_t i = 0; i < points; ++i) {
    x["epoch"].push_back(first[i].epoch);
    x["env_steps"].push_back(first[i].env_steps);
    x["seconds"].push_back(rounded(first[i].seconds));
  }
  Json values = Json::object();
  for (const Column& column : kColumns) {
    if (column.value == &EpochRow::seconds || column.value == &EpochRow::eval_episodes) continue;
    if (Json found = quartiles(cell.runs, points, column.value); !found.is_null())
      values[column.name] = std::move(found);
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
