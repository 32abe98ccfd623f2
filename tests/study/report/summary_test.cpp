// The tests of a study in words and as a table.
#include "study/report/summary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stats/significance.h"
#include "stats/statistics.h"
#include "study/report/known_results.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Summary, OneComparisonIsOneSentence) {
  const auto tests = compare(score_contests(known_results()));
  const std::vector<Comparison> only = {tests.front()};
  const std::string html = comparisons_html("Score", only, {});
  EXPECT_TRUE(has(html, "<b>OVDE against DSAC</b> in <i>clear</i>: better (p &lt; 0.001)")) << html;
  EXPECT_FALSE(has(html, "Row by row")) << html;
}

TEST(Summary, TestsExplainWhatTheirTableHas) {
  const StudyResults results = known_results();
  const auto scores = compare_scores(results), goals = compare(success_contests(results));
  const std::string score_tests = tests_html(scores), goal_tests = tests_html(goals);
  for (const char* words : {"rank test (Holm)", "Mann-Whitney's", "runs needed", "power 0.8"}) {
    EXPECT_TRUE(has(score_tests, words)) << words;
    EXPECT_FALSE(has(goal_tests, words)) << words;
  }
  EXPECT_TRUE(has(goal_tests, "<th>runs at the goal, ours</th>"));
  EXPECT_TRUE(has(comparisons_html("Score", scores, {}), "estimates how many runs"));
  EXPECT_FALSE(has(comparisons_html("Goal", goals, {}), "estimates how many runs"));
  EXPECT_TRUE(has(comparisons_html("Score", scores, {}), "<b>Row by row</b> against DSAC: "));
}

TEST(Summary, UntestedComparisonsHaveNoP) {
  StudyResults results = known_results();
  results.cells[0].runs.resize(1);
  const std::string table = tests_csv("score", compare(score_contests(results)));
  expect_words(table, {fmt::format("score,clear,OVDE,DSAC,{},{},,,,,too few runs",
                                   mean(results.cells[1].scores()), results.cells[0].runs[0].score),
                       "score,empty,OVDE,DSAC,,,,,,,too few runs"});
}

// In a row where the paper compares with one of ours, the others of ours have a p-value too.
TEST(Summary, ThePapersPValuesBelongToTheColumnWithoutOne) {
  StudyResults results = known_results();
  results.plan.published.push_back({"p_value", "clear", "OVDE", PublishedNumber{.value = 0.4}});
  for (const Contest& contest : score_contests(results))
    EXPECT_EQ(contest.paper_p.has_value(), contest.row == "same") << contest.row;
}

// In one of the two rows that were run ours wins every pair, in the other half of them, roughly.
TEST(Summary, AggregatesOverTheRowsThatWereRun) {
  const StudyResults results = known_results();
  const std::string html = aggregate_html(results, compare_all_rows(results));
  EXPECT_TRUE(has(html, "P(better than DSAC)"));
  EXPECT_TRUE(has(html, "over the 2 rows")) << html;
  const double expected = (1 + mann_whitney_test(results.find("same", "OVDE").scores(),
                                                 results.find("same", "DSAC").scores())
                                       .u /
                                   100) /
                          2;
  EXPECT_TRUE(has(html, fmt::format("<td>{:.2f} [", expected))) << html;
}

// One set of a baseline's runs beside two settings of ours is no more evidence than beside one.
TEST(Summary, ARunOfTwoRowsCountsOnce) {
  StudyResults results = known_results();
  const auto before = normalised_scores(results).at("OVDE").size();
  ASSERT_EQ(compare_all_rows(results).size(), 1U);
  for (CellResult& each : results.cells) {
    if (each.cell.column == "DSAC") each.cell.folder = results.cells.front().cell.folder;
  }
  EXPECT_TRUE(compare_all_rows(results).empty());  // a single row is left
  EXPECT_EQ(normalised_scores(results).at("OVDE").size(), before - 1);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
