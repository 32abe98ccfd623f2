#include "study/analyse/aggregate.h"

#include <algorithm>

namespace ovde {

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

}  // namespace ovde
