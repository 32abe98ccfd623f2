// Which differences of a study are significant: ours against each baseline, row by row and over all
// rows. The tests of one measure are one family under Holm's correction, which keeps the chance of
// even one false rejection below the level. docs/statistics.md has the tests.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "stats/bootstrap.h"
#include "study/analyse/results.h"

namespace ovde {

inline constexpr double kLevel = 0.05;  // significant: a corrected p up to this

// Two samples of scores; larger is better.
struct Contest {
  std::string row, ours, baseline;
  std::vector<double> x, y;                     // scores of ours and of the baseline
  std::optional<PublishedNumber> paper_p = {};  // the paper's own p-value
};

// Two counts of successful runs.
struct SuccessContest {
  std::string row, ours, baseline;
  int successes_x, runs_x, successes_y, runs_y;
};

enum class Verdict {
  better,         // ours is significantly better
  worse,          // ours is significantly worse
  no_difference,  // no significant difference, which is not evidence of equality
  untestable,     // fewer runs than the test needs: one on each side, or two
};
template <>
inline constexpr Names<Verdict> kNames<Verdict> = {
    {Verdict::better, "better"},
    {Verdict::worse, "worse"},
    {Verdict::no_difference, "no significant difference"},
    {Verdict::untestable, "too few runs"}};

enum class TestKind { none, welch, mann_whitney, fisher, stratified_ranks };
template <>
inline constexpr Names<TestKind> kNames<TestKind> = {
    {TestKind::none, ""},
    {TestKind::welch, "Welch"},
    {TestKind::mann_whitney, "Mann-Whitney"},
    {TestKind::fisher, "Fisher"},
    {TestKind::stratified_ranks, "stratified ranks"}};

struct Comparison {
  std::string row, ours, baseline;
  Verdict verdict = Verdict::untestable;
  // Means, or shares of successful runs; NaN without runs.
  double x = std::numeric_limits<double>::quiet_NaN(), y = x;
  TestKind test = TestKind::none;     // the test that decides
  double p = 1;                       // its p-value; has no meaning without a test
  double adjusted = 1;                // p after Holm's correction over the family
  std::optional<double> rank_p = {};  // Mann-Whitney's p, with a Holm correction of its own
  // Runs of each algorithm with which Welch's test, without correction, has power 0.8 for a
  // difference and deviations as observed here.
  std::optional<int> runs_needed = {};
  std::optional<PublishedNumber> paper_p = {};  // the paper's own p-value, not corrected

  bool tested() const { return test != TestKind::none; }
};

// Welch's test decides; where both samples are constant, the rank test.
std::vector<Comparison> compare(const std::vector<Contest>& contests);

// Fisher's exact test decides.
std::vector<Comparison> compare(const std::vector<SuccessContest>& contests);

// The distinct rows in which every column has runs; comparisons over rows use these.
std::vector<std::string> whole_rows(const StudyResults& results);
Strata scores_of(const StudyResults& results, const std::vector<std::string>& rows,
                 const std::string& column);

// The scores of the whole rows, by column; each row is scaled so that its lowest run has 0 and its
// highest 1 (Agarwal et al. 2021).
std::map<std::string, Strata> normalised_scores(const StudyResults& results);

// Ours against each baseline over all whole rows together, if there are two or more. x is the
// probability that a run of ours has the higher score, y its complement; the stratified rank test
// decides.
std::vector<Comparison> compare_all_rows(const StudyResults& results);

// The scores of ours against each baseline, row by row; none unless the plan measures scores.
std::vector<Comparison> compare_scores(const StudyResults& results);

// Each of ours against each baseline, in the order of the rows.
std::vector<Contest> score_contests(const StudyResults& results);
std::vector<SuccessContest> success_contests(const StudyResults& results);

}  // namespace ovde
