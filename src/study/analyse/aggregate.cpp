#include "study/analyse/aggregate.h"

#include <algorithm>

#include <fmt/format.h>

#include "stats/statistics.h"
#include "study/report/table.h"

namespace ovde {

namespace {

constexpr BootstrapOptions kBootstrap = {.resamples = 2000};

// Rows in which every column has runs: only there is a comparison over rows fair.
std::vector<std::string> whole_rows(const StudyResults& results) {
  std::vector<std::string> out;
  for (const PlanRow& row : results.plan.rows) {
    const bool whole = std::ranges::all_of(results.columns(), [&](const PlanColumn* column) {
      return !results.find(row.name, column->name)->runs.empty();
    });
    if (whole) out.push_back(row.name);
  }
  return out;
}

Strata scores_of(const StudyResults& results, const std::vector<std::string>& rows,
                 const std::string& column) {
  Strata out;
  for (const std::string& row : rows) out.push_back(results.find(row, column)->scores());
  return out;
}

std::string format_interval(const Interval& interval) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", interval.estimate, interval.low, interval.high);
}

}  // namespace

std::map<std::string, Strata> normalised_scores(const StudyResults& results) {
  std::map<std::string, Strata> out;
  for (const PlanRow& row : results.plan.rows) {
    std::vector<double> all;
    for (const PlanColumn* column : results.columns()) {
      const auto scores = results.find(row.name, column->name)->scores();
      all.insert(all.end(), scores.begin(), scores.end());
    }
    if (all.empty()) continue;
    const auto [low, high] = std::ranges::minmax(all);
    for (const PlanColumn* column : results.columns()) {
      auto scores = results.find(row.name, column->name)->scores();
      if (scores.empty()) continue;
      for (double& score : scores) score = high > low ? (score - low) / (high - low) : 0.5;
      out[column->name].push_back(std::move(scores));
    }
  }
  return out;
}

std::string aggregate_html(const StudyResults& results) {
  const std::vector<std::string> rows = whole_rows(results);
  if (rows.size() < 2) return "";
  const auto normalised = normalised_scores(results);
  std::string head = "<th></th><th>interquartile mean</th>", body;
  for (const PlanColumn* baseline : results.columns()) {
    if (baseline->role == Role::baseline)
      head += fmt::format("<th>P(better than {})</th>", escape_html(baseline->name));
  }
  for (const PlanColumn* column : results.columns()) {
    const Interval center = bootstrap_interval(
        normalised.at(column->name),
        [](const Strata& strata) { return interquartile_mean(pooled(strata)); }, kBootstrap);
    body += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td>", escape_html(column->name),
                        format_interval(center));
    for (const PlanColumn* baseline : results.columns()) {
      if (baseline->role != Role::baseline) continue;
      const bool ours = column->role == Role::ours;
      body += fmt::format("<td>{}</td>",
                          ours ? format_interval(probability_of_improvement(
                                     scores_of(results, rows, column->name),
                                     scores_of(results, rows, baseline->name), kBootstrap))
                               : "–");
    }
    body += "</tr>\n";
  }
  return fmt::format(
      "<h3>All rows together</h3>\n<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>\n"
      "{}</tbody></table></div>\n<p class=\"caption\">Interquartile mean of the scores, each row's "
      "normalised from 0 (lowest of any run) to 1 (highest), and the probability that a run of "
      "ours "
      "scores above one of the baseline on the same row, ties half; both with stratified 95 % "
      "bootstrap intervals, the second over the {} rows in which every column was run.</p>\n",
      head, body, rows.size());
}

}  // namespace ovde
