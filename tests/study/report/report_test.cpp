// Reports of studies whose answer is known, and the page as a browser sees it.
#include "study/report/report.h"

#include <cctype>
#include <limits>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/json.h"
#include "stats/significance.h"
#include "stats/statistics.h"
#include "study/analyse/comparison.h"
#include "study/analyse/results.h"
#include "study/plot/gnuplot.h"
#include "study/plot/heat_maps.h"
#include "study/plot/report_figures.h"
#include "study/report/browser.h"
#include "study/report/curves.h"
#include "study/report/page.h"
#include "study/report/summary.h"
#include "study/report/tables.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

const std::string kStudy = R"toml(
title = "Known & <answers>"
measures = ["score", "frg"]
show = ["table", "curves", "bars", "profile"]
epochs = 100
seeds = "0-9"
[[row]]
name = "clear"
task = "GridChaos-v0:a"
[[row]]
name = "same"
task = "GridChaos-v0:b"
[[row]]
name = "empty"
task = "GridChaos-v0:c"
[[group]]
name = "Average"
rows = ["clear", "same"]
[[column]]
name = "DSAC"
algorithm = "dsac"
[[column]]
name = "OVDE"
algorithm = "ovde_g"
role = "ours"
[paper]
source = "a table"
[paper.score]
clear = { DSAC = [1.5, 0.5], OVDE = 59.3 }
[paper.p_value]
clear = { DSAC = 0.013 }
same = { DSAC = "<0.001" }
[paper.frg]
clear = { DSAC = "1250+", OVDE = 229 }
)toml";

// Ours is better by ten deviations in `clear`, reaches the goal only there, and is the same in
// `same`; `empty` was not run.
StudyResults known_results() {
  StudyResults out;
  out.plan = parse_plan(kStudy, "known.toml");
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 1);
  for (Cell& cell : expand(out.plan)) {
    CellResult result{cell, {}};
    const bool better = cell.row == "clear" && cell.column == "OVDE";
    for (std::uint64_t seed : cell.seeds) {
      if (cell.row == "empty") break;
      RunResult run{.seed = seed, .has_goal = true};
      for (int epoch = 0; epoch < cell.epochs; ++epoch)
        run.returns.push_back((better ? 0.2 : 0.1) * epoch + noise(random));
      run.score = (better ? 20 : 10) + noise(random);
      if (better) run.first_goal_epoch = 7 + static_cast<int>(seed);
      result.runs.push_back(std::move(run));
    }
    out.cells.push_back(std::move(result));
  }
  return out;
}

std::string page_of(const StudyResults& results, const fs::path& folder) {
  return read_file(write_report(results, folder).page);
}

TEST(SlowReport, NamesSignificantDifferencesOnly) {
  const TemporaryFolder folder;
  const std::string page = page_of(known_results(), folder.path());
  const auto at = page.find("Significantly better:");
  ASSERT_NE(at, std::string::npos);
  const std::string claim = page.substr(at, page.find("</p>", at) - at);
  EXPECT_TRUE(has(claim, "OVDE against DSAC in <i>clear</i>")) << claim;
  EXPECT_FALSE(has(claim, "<i>same</i>")) << claim;
  EXPECT_FALSE(has(page, "Significantly worse"));
  EXPECT_FALSE(has(page, "smoke run"));
}

TEST(Report, OneComparisonIsOneSentence) {
  const auto tests = compare(score_contests(known_results()));
  const std::vector<Comparison> only = {tests.front()};
  const std::string html = comparisons_html("Score", only, {});
  EXPECT_TRUE(has(html, "<b>OVDE against DSAC</b> in <i>clear</i>: better (p &lt; 0.001)")) << html;
  EXPECT_FALSE(has(html, "Row by row")) << html;
}

TEST(Report, TestsExplainWhatTheirTableHas) {
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

// gnuplot takes the label of a tic for a format.
TEST(SlowReport, ANameMayHaveAPercentSign) {
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  StudyResults results = known_results();
  const std::string name = "50 %d of %s, %";
  for (PlanColumn& column : results.plan.columns) {
    if (column.name == "OVDE") column.name = name;
  }
  for (CellResult& result : results.cells) {
    if (result.cell.column == "OVDE") result.cell.column = name;
  }
  const TemporaryFolder folder;
  write_report(results, folder.path());
  const std::string svg = read_file(folder.path() / "figures/bars.svg");
  std::size_t count = 0;
  for (auto at = svg.find(name); at != std::string::npos; at = svg.find(name, at + 1)) ++count;
  EXPECT_EQ(count, 3u);  // below the bars of two panels, and in the key
}

// A task without a goal is not reached in none of ten runs: there is nothing to reach, to show or
// to test, and the tests of the other rows are not corrected for it.
TEST(SlowReport, TasksWithoutAGoalAreNotTested) {
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

TEST(SlowReport, UntrainedEpochsAreNotMisses) {
  StudyResults results = known_results();
  results.cells[0].runs[3].returns.resize(40);
  EXPECT_EQ(goal_table(results).rows[0].cells[0].text, "40+ (0/10)");
}

TEST(SlowReport, UntestedComparisonsHaveNoP) {
  StudyResults results = known_results();
  results.cells[0].runs.resize(1);
  const std::string table = tests_csv("score", compare(score_contests(results)));
  expect_words(table, {fmt::format("score,clear,OVDE,DSAC,{},{},,,,,too few runs",
                                   mean(results.cells[1].scores()), results.cells[0].runs[0].score),
                       "score,empty,OVDE,DSAC,,,,,,,too few runs"});
}

// The table of all rows together has a result that no single row has.
TEST(SlowReport, TheSummaryHasTheOverallResult) {
  const TemporaryFolder folder;
  const StudyResults results = known_results();
  const std::string page = page_of(results, folder.path());
  const std::string summary =
      page.substr(page.find("<h2>Summary"), page.find("<h2>Tables") - page.find("<h2>Summary"));
  const Comparison overall = compare_all_rows(results).at(0);
  EXPECT_TRUE(has(summary, fmt::format("OVDE beats DSAC in {:.0f} % of the pairs of runs: {} (p = ",
                                       100 * overall.x, name(overall.verdict))))
      << summary;
}

TEST(SlowReport, CaptionsExplainWhatTheirTableHas) {
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
  EXPECT_EQ(goal_table(results).caption,
            "First epoch whose evaluation reaches the goal (FRG), earliest of all runs, and the "
            "number of runs that reach it.");
}

TEST(SlowReport, SmokeRunsAreMarked) {
  const TemporaryFolder folder;
  StudyResults results = known_results();
  results.plan.smoke = true;
  const Report report = write_report(results, folder.path());
  EXPECT_TRUE(has(read_file(report.page), "This is a smoke run"));
  EXPECT_TRUE(report.text.starts_with("This is a smoke run: ")) << report.text;
}

TEST(SlowReport, ThePageIsSelfContained) {
  const TemporaryFolder folder;
  const std::string page = page_of(known_results(), folder.path());
  const std::regex reference(R"re((?:src|href)\s*=\s*["']([^"']*)["']|url\(([^)]*)\))re");
  for (std::sregex_iterator at(page.begin(), page.end(), reference), end; at != end; ++at) {
    const std::string target = (*at)[1].matched ? (*at)[1].str() : (*at)[2].str();
    if (target.starts_with("data:")) continue;
    const auto hash = target.find('#');
    ASSERT_EQ(hash == 0 || hash == 1, true) << target;
    const auto id = target.substr(hash + 1, target.find_last_not_of("'\"") - hash);
    EXPECT_TRUE(has(page, "id=\"" + id + "\"") || has(page, "id='" + id + "'")) << target;
  }
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "Known &amp; &lt;answers&gt;"));
}

TEST(SlowReport, TablesHaveBestPaperMissingAndGroups) {
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

TEST(SlowReport, DigitsFollowTheSizeOfANumber) {
  EXPECT_EQ(format_spread(59.3, 4.1), "59.30 ± 4.10");
  EXPECT_EQ(format_spread(394.1, 47.73), "394.1 ± 47.7");
  EXPECT_EQ(format_spread(3763.2, 704.83), "3763 ± 705");
  EXPECT_EQ(format_spread(0.004, 1250.6), "0 ± 1251");
  EXPECT_EQ(format_number(-0.0049), "0.00");
  EXPECT_EQ(format_number(-0.4, 2000), "0");
  EXPECT_EQ(format_number(-99.876), "-99.88");
}

TEST(SlowReport, TheConsoleShowsTablesAndTests) {
  EXPECT_EQ(
      to_text({.name = "score",
               .caption = "Bold: best.",
               .columns = {"DSAC", "OVDE"},
               .rows = {{"s", false, {{"0.50 ± 1.12"}, {.text = "59.30 ± 4.10", .best = true}}},
                        {"hard", false, {{"not run"}, {.text = "1", .mark = true}}}}}),
      "             DSAC            OVDE\n"
      "s     0.50 ± 1.12    59.30 ± 4.10*\n"
      "hard      not run               1 ▲\n"
      "*: best.\n");
  const TemporaryFolder folder;
  const std::string text = write_report(known_results(), folder.path()).text;
  expect_words(text, {"clear, OVDE against DSAC: better (p < 0.001)\n",
                      "same, OVDE against DSAC: no significant difference (p = ",
                      "empty, OVDE against DSAC: too few runs for a test\n", "100+ (0/10)",
                      "OVDE beats DSAC in ", " % of the pairs of runs: "});
  EXPECT_FALSE(has(text, "smoke"));
}

TEST(SlowReport, ThePapersPValuesAreBesideOurs) {
  const TemporaryFolder folder;
  const StudyResults results = known_results();
  const std::string page = page_of(results, folder.path());
  EXPECT_TRUE(has(page, "<span class=\"paper\">0.013</span>"));
  EXPECT_TRUE(has(page, "<span class=\"paper\">&lt;0.001</span>"));
  // of the scores, and of nothing else
  const std::string csv = read_file(folder.path() / "tables/tests.csv");
  EXPECT_TRUE(std::regex_search(csv, std::regex("score,clear,OVDE,DSAC,.*,0\\.013\n"))) << csv;
  EXPECT_TRUE(std::regex_search(csv, std::regex("frg,clear,OVDE,DSAC,.*,\n"))) << csv;
}

// In a row where the paper compares with one of ours, the others of ours have a p-value too.
TEST(SlowReport, ThePapersPValuesBelongToTheColumnWithoutOne) {
  StudyResults results = known_results();
  results.plan.published.push_back({"p_value", "clear", "OVDE", PublishedNumber{.value = 0.4}});
  for (const Contest& contest : score_contests(results))
    EXPECT_EQ(contest.paper_p.has_value(), contest.row == "same") << contest.row;
}

// In one of the two rows that were run ours wins every pair, in the other half of them, roughly.
TEST(SlowReport, AggregatesOverTheRowsThatWereRun) {
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
TEST(SlowReport, ARunOfTwoRowsCountsOnce) {
  StudyResults results = known_results();
  const auto before = normalised_scores(results).at("OVDE").size();
  ASSERT_EQ(compare_all_rows(results).size(), 1U);
  for (CellResult& each : results.cells) {
    if (each.cell.column == "DSAC") each.cell.folder = results.cells.front().cell.folder;
  }
  EXPECT_TRUE(compare_all_rows(results).empty());  // a single row is left
  EXPECT_EQ(normalised_scores(results).at("OVDE").size(), before - 1);
}

TEST(SlowReport, AReportWithoutRunsSaysSo) {
  const TemporaryFolder folder;
  StudyResults results = known_results();
  for (CellResult& cell : results.cells) cell.runs.clear();
  EXPECT_TRUE(has(page_of(results, folder.path()), "Nothing has been run yet"));
}

TEST(SlowReport, ColumnsHaveDifferentColours) {
  StudyResults results = known_results();
  const std::string dsac = column_colours(results).at("DSAC");
  for (const char* name : {"raw", "unit", "full"}) {
    PlanColumn column = results.plan.columns[1];
    column.name = name;
    results.plan.columns.push_back(column);
  }
  const auto colours = column_colours(results);
  std::set<std::string> different;
  for (const auto& [name, colour] : colours) different.insert(colour);
  EXPECT_EQ(different.size(), colours.size());
  EXPECT_EQ(colours.at("DSAC"), dsac);
}

// The first table of the paper by the program itself, small.
TEST(SlowReport, SmokeRunOfTable1ReportsEveryCell) {
  const TemporaryFolder folder;
  const std::string plan = std::string(OVDE_SOURCE_DIR) + "/configs/paper/table1.toml";
  const std::string program = std::string("'") + OVDE_PROGRAM + "' study ";
  const std::string out = " '" + plan + "' --out '" + folder.path().string() + "'";
  ASSERT_EQ(quiet_shell(program + "run" + out + " --smoke"), 0);
  ASSERT_EQ(quiet_shell(program + "report" + out), 0);
  const std::string page = read_file(folder.path() / "report.html");
  EXPECT_TRUE(has(page, "36 of 36 runs are finished and reported here"));
  EXPECT_TRUE(has(page, "This is a smoke run"));
  EXPECT_FALSE(has(page, "not run"));

  // and the page of one of its populations
  const fs::path population = folder.path() / "s" / "OVDE";
  EXPECT_TRUE(has(page_of(results_of_run(population), population),
                  "2 of 2 runs are finished and reported here"));
}

// A curve has a point for each evaluation, and none where the moving average only repeats it.
TEST(SlowReport, CurvesHaveTheEpochsThatWereEvaluated) {
  StudyResults results = known_results();
  for (CellResult& cell : results.cells) {
    for (RunResult& run : cell.runs) {
      for (std::size_t e = 0; e < run.returns.size(); ++e)
        if (e % 10 != 9) run.returns[e] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  std::istringstream lines(curves_figure(results).value().data);
  std::set<std::string> epochs;
  for (std::string line; std::getline(lines, line);) {
    if (std::isdigit(static_cast<unsigned char>(line.front())) != 0)
      epochs.insert(line.substr(0, line.find(' ')));
  }
  const std::set<std::string> evaluated = {"9",  "19", "29", "39", "49",
                                           "59", "69", "79", "89", "99"};
  EXPECT_EQ(epochs, evaluated);
}

TEST(SlowReport, AReportOfARunHasSettingsAndCommand) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "population";
  ASSERT_EQ(quiet_shell(fmt::format(
                "'{}' train --task GridChaos-v0:s --algo dsac --seeds 4-5 --epochs 3 --out '{}' "
                "--set network.hidden=[8,8] --set train.batch=8 --set train.warmup_steps=20 "
                "--set train.steps_per_epoch=25 --set train.eval_steps=40 --set task.horizon=40",
                OVDE_PROGRAM, run.string())),
            0);
  const StudyResults results = results_of_run(run);
  const std::string page = page_of(results, run);
  for (const char* text :
       {"4-5", "network.hidden = [8, 8]", "train.batch = 8", "train --task GridChaos-v0:s"})
    EXPECT_TRUE(has(page, text)) << text;
  EXPECT_FALSE(has(page, folder.path().string()));

  // and its command trains them again
  const std::string command = command_to_train(results.cells[0]);
  EXPECT_TRUE(has(page, escape_html(command))) << command;
  const fs::path again = folder.path() / "again";
  ASSERT_EQ(quiet_shell(fmt::format("'{}' {} --out '{}'", OVDE_PROGRAM,
                                    command.substr(command.find("train ")), again.string())),
            0);
  const std::string policy = "seed_5/policy.safetensors";
  EXPECT_EQ(read_file(again / policy), read_file(run / policy));
  EXPECT_FALSE(has(page, "train.gamma"));  // as it is by default
  EXPECT_EQ(results.cells[0].runs[0].env_steps, (std::vector<double>{45, 70, 95}));
  const Figure curves = curves_figure(results).value();
  EXPECT_TRUE(has(curves.data, "\n95 ")) << curves.data;
  EXPECT_TRUE(has(curves.body, "environment steps"));
  EXPECT_TRUE(has(curves.body, "set xrange [0:95]\nset xtics 0,20\n")) << curves.body;
  EXPECT_EQ(has(page, "visits of the exploring agent"), has_gnuplot());
}

TEST(SlowReport, FiguresHaveNoEmptyGroups) {
  EXPECT_EQ(
      svg_element("<?xml?>\n<svg viewBox=\"0 0 90 50\">\n<g id=\"curves_1\" ><title>x</title>\n"
                  "<g fill=\"a\">\n</g>\n<g fill=\"b\">\n<path/></g>\n"
                  "<g fill=\"c\"><path/>\n</g>\n</g>\n</svg>\n",
                  "curves"),
      "<svg role=\"img\" aria-label=\"curves\" class=\"small\" style=\"width:90px\" viewBox=\"0 0 "
      "90 "
      "50\">\n<g>\n"
      "<g fill=\"b\">\n<path/></g>\n<g fill=\"c\"><path/>\n</g>\n</g>\n</svg>\n");
}

// The last one is centred on the end of the axis.
TEST(SlowReport, LabelsOfAnAxisAreNotCutOff) {
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  StudyResults results = known_results();
  results.plan.x = "steps";
  results.plan.rows.resize(1);
  for (CellResult& cell : results.cells) {
    for (RunResult& run : cell.runs) {
      for (std::size_t e = 0; e < run.returns.size(); ++e) run.env_steps.push_back(50.0 * (e + 1));
      for (double& value : run.returns) value *= 1000;
    }
  }
  const TemporaryFolder folder;
  draw(curves_figure(results).value(), folder.path());
  const std::string svg = read_file(folder.path() / "curves.svg");
  const auto number_after = [&](const std::string& word, std::size_t from) {
    return std::stod(svg.substr(svg.rfind(word, from) + word.size()));
  };
  const std::size_t label = svg.find("<text> 5000<");
  ASSERT_NE(label, std::string::npos) << svg;
  const double width = number_after("viewBox=\"0 0 ", label),
               center = number_after("translate(", label),
               size = number_after("font-size=\"", label);
  EXPECT_LT(center + 0.75 * 4 * size / 2, width);
  const std::size_t name = svg.find("<text>return<");  // stands upright, its feet to the right
  ASSERT_NE(name, std::string::npos) << svg;
  EXPECT_GT(number_after("translate(", name), 0.8 * number_after("font-size=\"", name));
}

TEST(SlowReport, MapsOfOneKindMayShareTheirScale) {
  Grid small({0, 0}, {1, 1}, 2), large = small;
  small.values = {1, 2, 2, 2};
  large.values = {3, 9, 3, 3};
  const std::vector<HeatRow> rows = {{"a", {{.title = "epistemic", .grid = small}}},
                                     {"b", {{.title = "epistemic", .grid = large}}}};
  EXPECT_FALSE(has(heat_figure("f", "", {"x", "y"}, rows).body, "cbrange [1:9]"));
  const std::string shared = heat_figure("f", "", {"x", "y"}, rows, Scale::shared).body;
  EXPECT_NE(shared.find("cbrange [1:9]"), shared.rfind("cbrange [1:9]")) << "both, not one";
}

TEST(Report, FootersHaveNoAbsolutePaths) {
  EXPECT_EQ(run_subject("/home/me/runs/hopper"), "run hopper");
  EXPECT_EQ(run_subject("/home/me/runs/hopper/"), "run hopper");
  EXPECT_EQ(run_subject("runs/hopper/seed_3"), "run hopper/seed_3");
}

// The same with curves: the return, and a loss that is seed + epoch.
StudyResults results_with_curves() {
  StudyResults out = known_results();
  for (CellResult& cell : out.cells) {
    for (RunResult& run : cell.runs) {
      for (std::size_t e = 0; e < run.returns.size(); ++e) {
        EpochRow row{.epoch = static_cast<int>(e), .env_steps = 100 * static_cast<int>(e + 1)};
        row.eval_return_mean = run.returns[e];
        row.critic_loss = static_cast<double>(run.seed + e);
        run.curve.push_back(row);
      }
    }
  }
  return out;
}

TEST(Report, CurvesHaveTheQuartilesOfEveryMeasure) {
  EXPECT_TRUE(curve_data(known_results()).is_null());
  const StudyResults results = results_with_curves();
  const Json data = curve_data(results);
  ASSERT_EQ(data["rows"].size(), 2u);  // one of three has no runs
  const Json& cell = data["rows"][0]["cells"][0];
  ASSERT_EQ(cell["values"].size(), 2u) << cell["values"].dump();
  std::vector<double> seeds;
  for (const RunResult& run : results.cells.front().runs)
    seeds.push_back(static_cast<double>(run.seed));
  const auto& [low, middle, high] =
      std::tuple(quantile(seeds, 0.25), median(seeds), quantile(seeds, 0.75));
  for (const std::size_t e : {0u, 5u}) {
    EXPECT_EQ(cell["x"]["env_steps"][e], 100 * (e + 1));
    EXPECT_DOUBLE_EQ(cell["values"]["critic_loss"][0][e], low + static_cast<double>(e));
    EXPECT_DOUBLE_EQ(cell["values"]["critic_loss"][1][e], middle + static_cast<double>(e));
    EXPECT_DOUBLE_EQ(cell["values"]["critic_loss"][2][e], high + static_cast<double>(e));
  }
}

// The report keeps return and success in at most 50 points, each the mean over its epochs.
TEST(Report, WritesAFewPointsOfTheCurves) {
  const TemporaryFolder folder;
  StudyResults results = results_with_curves();
  results.plan.show.clear();  // no figures
  write_report(results, folder.path());
  const Json data = Json::parse(read_file(folder.path() / "figures/curves.json"));
  const Json whole = curve_data(results);
  const Json &cell = data["rows"][0]["cells"][0], &dense = whole["rows"][0]["cells"][0];
  const Json &points = cell["values"]["eval_return_mean"], &x = cell["x"]["epoch"];
  ASSERT_EQ(cell["values"].size(), 1u) << "the task has no goal and the loss is left out";
  EXPECT_EQ(dense["x"]["epoch"].size(), 100u);
  ASSERT_EQ(x.size(), 50u);
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[49], 99);
  ASSERT_EQ(points[1].size(), 50u);
  const auto& runs = results.cells.front().runs;
  std::vector<double> means;
  for (const RunResult& run : runs) means.push_back((run.returns[0] + run.returns[1]) / 2);
  EXPECT_NEAR(points[1][0], median(means), 1e-3);
}

// A run that is not finished is averaged over the same epochs as the others.
TEST(Report, CurvesOfAnUnfinishedRunHaveTheEpochsOfTheOthers) {
  StudyResults results = results_with_curves();
  results.cells.front().runs.front().curve.resize(31);
  const Json cell = compact_curve_data(results)["rows"][0]["cells"][0];
  ASSERT_EQ(cell["x"]["epoch"].size(), 15u);  // pairs of epochs that all runs have
  for (int i = 0; i < 15; ++i) EXPECT_EQ(cell["x"]["epoch"][i], 2 * i + 1);
}

// Values under the pointer, a series that is switched off, another measure; the drawn curves are
// hidden.
TEST(SlowReport, CurvesAnswerThePointer) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  std::string page = page_of(results_with_curves(), folder.path());
  page.insert(page.find("</body>"), R"(<script>
const canvas = document.querySelector("canvas.chart"), legend = canvas.nextElementSibling;
const text = () => [...legend.querySelectorAll("li")].map(line => line.textContent).join("|");
const last = text();
canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: canvas.getBoundingClientRect().left + 52}));
const under = text();
legend.querySelector("button").click();
const off = legend.querySelectorAll(".off").length;
const measure = document.querySelector("select");
measure.value = "critic_loss";
measure.onchange();
const drawn = [...document.querySelectorAll("figure.drawn")].filter(figure => figure.offsetHeight > 0).length;
document.title = [document.querySelectorAll("canvas.chart").length, last !== under, under.includes("epoch 0"), off, text() !== under, drawn].join(" ");
</script>)");
  write_file_atomically(folder.path() / "probe.html", page);
  const Opened opened = open_address("file://" + (folder.path() / "probe.html").string(), 1);
  EXPECT_EQ(opened.title, "2 true true 1 true 0");
  EXPECT_EQ(opened.complaints, "");
}

// The names of rows stay in sight while a table is scrolled.
TEST(SlowReport, LongNamesOfRowsLeaveRoomOnAPhone) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  std::string page = page_of(known_results(), folder.path());
  page.insert(page.find(">clear</th>") + 1, std::string(60, 'x'));
  page.insert(page.find("</body>"),
              "<script>document.title = [...document.querySelectorAll('.scroll tbody th')].every("
              "name => name.offsetWidth < innerWidth / 2);</script>");
  write_file_atomically(folder.path() / "probe.html", page);
  const fs::path probe = folder.path() / "probe.html";
  EXPECT_EQ(open_address("file://" + probe.string(), 1, 390).title, "true");
}

TEST(SlowReport, OpensInABrowserWithoutComplaint) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  const TemporaryFolder folder;
  const Seen seen = open_in_browser(page_of(known_results(), folder.path()));
  EXPECT_EQ(seen.figures, 3);
  EXPECT_EQ(seen.complaints, "");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
