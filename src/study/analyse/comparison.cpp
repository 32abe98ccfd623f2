#include "study/analyse/comparison.h"

#include <algorithm>
#include <functional>

#include "stats/significance.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

constexpr std::size_t kFewestRuns = 2;  // on each side: one run gives no estimate of the scatter

// Holm's correction over the comparisons that were tested, then the verdicts.
void decide(std::vector<Comparison>& family) {
  std::vector<double> p, rank_p;
  for (const Comparison& each : family) {
    if (!each.tested()) continue;
    p.push_back(each.p);
    if (each.rank_p) rank_p.push_back(*each.rank_p);
  }
  const std::vector<double> adjusted = p.empty() ? p : holm(p);
  const std::vector<double> rank_adjusted = rank_p.empty() ? rank_p : holm(rank_p);
  std::size_t next = 0, next_rank = 0;
  for (Comparison& each : family) {
    if (!each.tested()) continue;
    each.adjusted = adjusted[next++];
    if (each.rank_p) each.rank_p = rank_adjusted[next_rank++];
    each.verdict = each.adjusted > kLevel ? Verdict::no_difference
                   : each.x > each.y      ? Verdict::better
                                          : Verdict::worse;
  }
}

Comparison compare_one(const Contest& contest) {
  Comparison out{.row = contest.row, .ours = contest.ours, .baseline = contest.baseline};
  out.paper_p = contest.paper_p;
  if (!contest.x.empty()) out.x = mean(contest.x);
  if (!contest.y.empty()) out.y = mean(contest.y);
  if (contest.x.size() < kFewestRuns || contest.y.size() < kFewestRuns) return out;
  out.rank_p = mann_whitney_test(contest.x, contest.y).p;
  const auto welch = welch_test(contest.x, contest.y);
  out.test = welch ? TestKind::welch : TestKind::mann_whitney;
  out.p = welch ? welch->p : *out.rank_p;

  const Effect effect{out.x - out.y, standard_deviation(contest.x), standard_deviation(contest.y)};
  if (welch && effect.difference != 0) out.runs_needed = runs_needed(effect);
  return out;
}

// In each row the paper compares one algorithm of ours with all others, and prints the p-values
// beside the others.
std::optional<PublishedNumber> paper_p(const Plan& plan, const Cell& ours, const Cell& baseline) {
  if (find_published(plan, "p_value", ours.row, ours.column) != nullptr) return std::nullopt;
  const PublishedNumber* figure = find_published(plan, "p_value", baseline.row, baseline.column);
  return figure != nullptr ? std::optional(*figure) : std::nullopt;
}

// Each column of ours with each baseline.
void for_each_pair(
    const Plan& plan,
    const std::function<void(const std::string& ours, const std::string& baseline)>& body) {
  for (const PlanColumn& ours : plan.columns) {
    if (ours.role != Role::ours) continue;
    for (const PlanColumn& baseline : plan.columns) {
      if (baseline.role == Role::baseline) body(ours.name, baseline.name);
    }
  }
}

void for_each_pair(
    const StudyResults& results,
    const std::function<void(const CellResult& ours, const CellResult& baseline)>& body) {
  for (const PlanRow& row : results.plan.rows) {
    for_each_pair(results.plan, [&](const std::string& ours, const std::string& baseline) {
      body(results.find(row.name, ours), results.find(row.name, baseline));
    });
  }
}

}  // namespace

std::vector<Comparison> compare(const std::vector<Contest>& contests) {
  std::vector<Comparison> family;
  for (const Contest& contest : contests) family.push_back(compare_one(contest));
  decide(family);
  return family;
}

std::vector<Comparison> compare(const std::vector<SuccessContest>& contests) {
  std::vector<Comparison> family;
  for (const SuccessContest& contest : contests) {
    Comparison out{.row = contest.row, .ours = contest.ours, .baseline = contest.baseline};
    if (contest.runs_x > 0 && contest.runs_y > 0) {
      out.x = static_cast<double>(contest.successes_x) / contest.runs_x;
      out.y = static_cast<double>(contest.successes_y) / contest.runs_y;
      out.test = TestKind::fisher;
      out.p = fisher_exact_test(contest.successes_x, contest.runs_x, contest.successes_y,
                                contest.runs_y);
    }
    family.push_back(std::move(out));
  }
  decide(family);
  return family;
}

std::vector<std::string> whole_rows(const StudyResults& results) {
  std::vector<std::string> out = results.distinct_rows();
  std::erase_if(out, [&](const std::string& row) {
    return std::ranges::any_of(results.plan.columns, [&](const PlanColumn& column) {
      return results.find(row, column.name).runs.empty();
    });
  });
  return out;
}

Strata scores_of(const StudyResults& results, const std::vector<std::string>& rows,
                 const std::string& column) {
  Strata out;
  for (const std::string& row : rows) out.push_back(results.find(row, column).scores());
  return out;
}

std::map<std::string, Strata> normalised_scores(const StudyResults& results) {
  std::map<std::string, Strata> out;
  for (const std::string& row : whole_rows(results)) {
    std::vector<double> all;
    for (const PlanColumn& column : results.plan.columns) {
      const auto scores = results.find(row, column.name).scores();
      all.insert(all.end(), scores.begin(), scores.end());
    }
    const auto [low, high] = std::ranges::minmax(all);
    for (const PlanColumn& column : results.plan.columns) {
      auto scores = results.find(row, column.name).scores();
      for (double& score : scores) score = high > low ? (score - low) / (high - low) : 0.5;
      out[column.name].push_back(std::move(scores));
    }
  }
  return out;
}

std::vector<Comparison> compare_all_rows(const StudyResults& results) {
  const std::vector<std::string> rows = whole_rows(results);
  std::vector<Comparison> family;
  if (rows.size() < 2) return family;
  for_each_pair(results.plan, [&](const std::string& ours, const std::string& baseline) {
    const auto test = stratified_rank_test(scores_of(results, rows, ours),
                                           scores_of(results, rows, baseline), results.same_runs);
    family.push_back({.row = "all rows",
                      .ours = ours,
                      .baseline = baseline,
                      .x = test.superiority,
                      .y = 1 - test.superiority,
                      .test = TestKind::stratified_ranks,
                      .p = test.p});
  });
  decide(family);
  return family;
}

std::vector<Comparison> compare_scores(const StudyResults& results) {
  return results.measures("score") ? compare(score_contests(results)) : std::vector<Comparison>{};
}

std::vector<Contest> score_contests(const StudyResults& results) {
  std::vector<Contest> out;
  for_each_pair(results, [&](const CellResult& ours, const CellResult& baseline) {
    out.push_back({ours.cell.row, ours.cell.column, baseline.cell.column, ours.scores(),
                   baseline.scores(), paper_p(results.plan, ours.cell, baseline.cell)});
  });
  return out;
}

std::vector<SuccessContest> success_contests(const StudyResults& results) {
  std::vector<SuccessContest> out;
  for_each_pair(results, [&](const CellResult& ours, const CellResult& baseline) {
    // a task without a goal, or runs that do not record it, are not part of the family
    const bool ran = !ours.runs.empty() && !baseline.runs.empty();
    if (ran && !(ours.has_goal() && baseline.has_goal())) return;
    out.push_back({ours.cell.row, ours.cell.column, baseline.cell.column, ours.reached_goal(),
                   static_cast<int>(ours.runs.size()), baseline.reached_goal(),
                   static_cast<int>(baseline.runs.size())});
  });
  return out;
}

}  // namespace ovde
