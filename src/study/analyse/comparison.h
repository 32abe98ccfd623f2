// Which differences of a study are real: ours against each baseline, row by row, with one family of
// tests for each measure. The chance that even one of a family is called significant although
// nothing is different stays below the stated level (Holm). docs/statistics.md has the tests.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "stats/bootstrap.h"
#include "study/analyse/results.h"

namespace ovde {

inline constexpr double kLevel = 0.05;

// Two samples to be compared, larger being better.
struct Contest {
  std::string row, ours, baseline;
  std::vector<double> x, y;                     // of ours, of the baseline
  std::optional<PublishedNumber> paper_p = {};  // of the paper's own test of the same
};

// k of n runs against l of m.
struct SuccessContest {
  std::string row, ours, baseline;
  int successes_x, runs_x, successes_y, runs_y;
};

enum class Verdict {
  better,      // ours, significantly
  worse,       // ours, significantly
  not_shown,   // the test does not reject; that is not evidence of equality
  untestable,  // a cell has no runs, or a single one on either side
};

// As reports and tables have it: "not shown".
const char* verdict_name(Verdict verdict);

struct Comparison {
  std::string row, ours, baseline;
  Verdict verdict = Verdict::untestable;
  // Means, or shares of runs that succeeded; NaN without runs.
  double x = std::numeric_limits<double>::quiet_NaN(), y = x;
  // The one that decides: Welch, Mann-Whitney, Fisher, stratified ranks; empty: untestable, and no
  // p means anything.
  std::string test = {};
  double p = 1;                       // of that test
  double adjusted = 1;                // by Holm, over the family
  std::optional<double> rank_p = {};  // of the rank test beside it, adjusted in a family of its own
  // Runs of each that would show a difference as large as this one, if it is real, with power 0.8
  // and without correction; a rough guess.
  std::optional<int> runs_needed = {};
  std::optional<PublishedNumber> paper_p = {};  // the paper's own, not corrected
};

// Welch's test decides; where it does not exist (both samples constant), the rank test.
std::vector<Comparison> compare(const std::vector<Contest>& contests, double level = kLevel);

// Fisher's exact test decides.
std::vector<Comparison> compare(const std::vector<SuccessContest>& contests, double level = kLevel);

// Distinct rows in which every column has runs: only there is a comparison over rows fair.
std::vector<std::string> whole_rows(const StudyResults& results);
// The scores of a column in these rows.
Strata scores_of(const StudyResults& results, const std::vector<std::string>& rows,
                 const std::string& column);

// Ours against each baseline over all whole rows together, if there are two or more: x is the
// probability that a run of ours is above one of the baseline, y its complement; the stratified
// rank test decides.
std::vector<Comparison> compare_all_rows(const StudyResults& results, double level = kLevel);

// All of ours against all baselines, in the order of rows.
std::vector<Contest> score_contests(const StudyResults& results);
std::vector<SuccessContest> success_contests(const StudyResults& results);

}  // namespace ovde
