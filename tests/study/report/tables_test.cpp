// The tables of a report and their captions.
#include "study/report/tables.h"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "study/analyse/comparison.h"
#include "study/report/known_results.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Tables, TablesHaveBestPaperMissingAndGroups) {
  const StudyResults results = known_results();
  const Table score = score_table(results, compare(score_contests(results)));
  ASSERT_EQ(score.rows.size(), 4u);
  EXPECT_FALSE(score.rows[0].cells[0].best);
  EXPECT_TRUE(score.rows[0].cells[1].best);
  EXPECT_TRUE(score.rows[0].cells[1].mark);
  EXPECT_FALSE(score.rows[1].cells[1].mark);
  EXPECT_EQ(score.rows[0].cells[0].paper, "1.50 ± 0.50");
  EXPECT_EQ(score.rows[2].cells[0].text, "not run");
  EXPECT_TRUE(score.rows[3].group);

  const Table goal = goal_table(results);
  EXPECT_EQ(goal.rows[0].cells[0].text, "100+ (0/10)");
  EXPECT_EQ(goal.rows[0].cells[1].text, "7 (10/10)");
  EXPECT_EQ(goal.rows[0].cells[0].paper, "1250+");

  EXPECT_TRUE(has(to_markdown(score), "(paper: 1.50 ± 0.50)"));
  EXPECT_TRUE(has(to_latex(score), "\\textcolor{gray}{1.50 $\\pm$ 0.50}"));
  EXPECT_TRUE(has(to_html(score), "<span class=\"paper\">1.50 ± 0.50</span>"));
}

TEST(Tables, LatexHasTheCharactersOfNames) {
  EXPECT_TRUE(has(to_latex({"t", "", {"a<b>|c_d"}, {}}), " & a$<$b$>$$|$c\\_d "));
}

TEST(Tables, DigitsFollowTheSizeOfANumber) {
  EXPECT_EQ(format_spread(59.3, 4.1), "59.30 ± 4.10");
  EXPECT_EQ(format_spread(394.1, 47.73), "394.1 ± 47.7");
  EXPECT_EQ(format_spread(3763.2, 704.83), "3763 ± 705");
  EXPECT_EQ(format_spread(0.004, 1250.6), "0 ± 1251");
  EXPECT_EQ(format_number(-0.0049), "0.00");
  EXPECT_EQ(format_number(-0.4, 2000), "0");
  EXPECT_EQ(format_number(-99.876), "-99.88");
}

TEST(Tables, CaptionsExplainWhatTheirTableHas) {
  StudyResults results = known_results();
  const auto score_caption = [&] {
    return score_table(results, compare(score_contests(results))).caption;
  };
  EXPECT_EQ(
      score_caption(),
      "Score: mean evaluation return over the last 8 epochs; mean ± standard deviation over the "
      "runs. Bold: best mean of the row. ▲: significantly better than every baseline.");
  EXPECT_TRUE(has(goal_table(results).caption, "that reach it; 100+: no run in 100 epochs."));
  EXPECT_FALSE(has(runs_csv(results), "explore"));
  for (CellResult& cell : results.cells) {
    for (RunResult& run : cell.runs) {
      run.knows_explore = true;
      if (run.seed == 1) run.first_goal_epoch_explore = run.first_goal_epoch;
    }
  }
  EXPECT_TRUE(has(goal_table(results).caption, "; explored: while exploring, without which"));
  EXPECT_EQ(goal_table(results).rows[0].cells[1].text, "7 (10/10, explored 1/10)");
  EXPECT_TRUE(has(runs_csv(results), ",wall_seconds,first_goal_epoch_explore\n"));
  for (CellResult& cell : results.cells) {
    cell.runs.resize(std::min<std::size_t>(cell.runs.size(), 1));
    for (RunResult& run : cell.runs) {
      run.knows_explore = false;
      run.returns.resize(12);
      run.score = 3;
      run.first_goal_epoch = 7;
    }
  }
  EXPECT_EQ(score_caption(), "Score: mean evaluation return over the last epoch.");
  EXPECT_EQ(
      goal_table(results).caption,
      "First epoch whose evaluation reaches the goal (FRG, from 0), earliest of all runs, and the "
      "number of runs that reach it.");
}

// The last epochs of a run may not be evaluated: the score is that of earlier ones.
TEST(Tables, CaptionsNameTheEpochsThatAreScored) {
  StudyResults results = known_results();
  const auto forget = [&](std::size_t from) {
    for (RunResult& run : results.cells[0].runs)
      std::fill(run.returns.begin() + from, run.returns.end(), EpochRow::kNone);
  };
  const auto caption = [&] {
    const std::string text = score_table(results, {}).caption;
    return text.substr(0, text.find(';'));
  };
  forget(95);
  EXPECT_EQ(caption(),
            "Score: mean evaluation return over the 8 epochs up to the last evaluated one (epochs "
            "94 to 99)");
  EXPECT_EQ(goal_table(results).rows[0].cells[0].text, "95+ (0/10)");
  results.cells.resize(1);
  results.plan.rows.resize(1);
  results.plan.columns.resize(1);
  results.plan.groups.clear();
  forget(50);
  EXPECT_EQ(caption(),
            "Score: mean evaluation return over the 4 epochs up to the last evaluated one (epoch "
            "49)");
  forget(10);
  EXPECT_EQ(caption(), "Score: mean evaluation return over the last evaluated epoch (epoch 9)");
}

TEST(Tables, NumbersOfAnIntervalHaveTheSameDecimals) {
  EXPECT_EQ(format_interval({99.5, 98, 101}), "99.5 [98.0, 101.0]");
  EXPECT_EQ(format_interval({-1000, -1020, 4}), "-1000 [-1020, 4]");
  EXPECT_EQ(format_interval({-2.5e300, -1e301, 4}), "-2.5e+300 [-1e+301, 4]");
}

TEST(Tables, UntrainedEpochsAreNotMisses) {
  StudyResults results = known_results();
  results.cells[0].runs[3].returns.resize(40);
  EXPECT_EQ(goal_table(results).rows[0].cells[0].text, "40+ (0/10)");
}

// A task without a goal is not reached in none of ten runs: there is nothing to reach, to show or
// to test, and the tests of the other rows are not corrected for it.
TEST(Tables, TasksWithoutAGoalAreNotTested) {
  StudyResults results = known_results();
  const auto p_of = [](const StudyResults& of, const std::string& row) {
    std::optional<double> p;
    for (const Comparison& each : compare(success_contests(of))) {
      if (each.row == row) p = each.adjusted;
    }
    return p;
  };
  ASSERT_TRUE(p_of(results, "same"));
  const double before = *p_of(results, "clear");
  for (CellResult& cell : results.cells) {
    if (cell.cell.row != "same") continue;
    for (RunResult& run : cell.runs) run.has_goal = false;
  }
  EXPECT_FALSE(p_of(results, "same"));
  EXPECT_LT(*p_of(results, "clear"), before);
  const Table goal = goal_table(results);
  EXPECT_EQ(goal.rows[0].cells[0].text, "100+ (0/10)");
  EXPECT_EQ(goal.rows[1].cells[0].text, "no goal");

  // one that does not say whether it reached the goal has not missed it
  for (CellResult& cell : results.cells) {
    if (cell.cell.row != "clear" || cell.cell.column != "DSAC") continue;
    for (RunResult& run : cell.runs) run.has_goal = false;
  }
  EXPECT_FALSE(p_of(results, "clear"));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
