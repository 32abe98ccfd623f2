// Reports of studies whose answer is known, and the page as a browser sees it.
#include "study/report/report.h"

#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/files.h"
#include "study/analyse/comparison.h"
#include "study/plot/gnuplot.h"
#include "study/plot/report_figures.h"
#include "study/report/browser.h"
#include "study/report/known_results.h"
#include "study/report/page.h"
#include "study/report/summary.h"
#include "study/report/tables.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

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
  // the paper's p-value is that of the score alone
  const std::string csv = read_file(folder.path() / "tables/tests.csv");
  EXPECT_TRUE(std::regex_search(csv, std::regex("score,clear,OVDE,DSAC,.*,0\\.013\n"))) << csv;
  EXPECT_TRUE(std::regex_search(csv, std::regex("frg,clear,OVDE,DSAC,.*,\n"))) << csv;
}

TEST(SlowReport, SmokeRunsAreMarked) {
  const TemporaryFolder folder;
  StudyResults results = known_results();
  results.plan.smoke = true;
  const Report report = write_report(results, folder.path());
  EXPECT_TRUE(has(read_file(report.page), "This is a smoke run"));
  EXPECT_TRUE(report.text.starts_with("This is a smoke run: ")) << report.text;
}

TEST(SlowReport, AReportWithoutRunsSaysSo) {
  const TemporaryFolder folder;
  StudyResults results = known_results();
  for (CellResult& cell : results.cells) cell.runs.clear();
  EXPECT_TRUE(has(page_of(results, folder.path()), "Nothing has been run yet"));
}

TEST(Report, FootersHaveNoAbsolutePaths) {
  EXPECT_EQ(run_subject("/home/me/runs/hopper"), "run hopper");
  EXPECT_EQ(run_subject("/home/me/runs/hopper/"), "run hopper");
  EXPECT_EQ(run_subject("runs/hopper/seed_3"), "run hopper/seed_3");
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

// The names of rows stay in sight while a table is scrolled.
TEST(SlowReport, LongNamesOfRowsLeaveRoomOnAPhone) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  std::string page = page_of(known_results(), folder.path());
  page.insert(page.find(">clear</th>") + 1, std::string(60, 'x'));
  const Opened opened =
      open_page(page,
                "document.title = [...document.querySelectorAll('.scroll tbody th')].every("
                "name => name.offsetWidth < innerWidth / 2);",
                1, 390);
  EXPECT_EQ(opened.title, "true");
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
