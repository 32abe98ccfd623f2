// The page over many studies: claims whose outcome is known, and the project's own page.
#include "study/report/site.h"

#include <fstream>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/files.h"
#include "study/report/browser.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// The paper: ours is better in every row.
const std::string kPlan = R"toml(
title = "Known & <answers>"
measures = ["score"]
epochs = 100
seeds = "0-4"
[[row]]
name = "so"
task = "GridChaos-v0:a"
[[row]]
name = "open"
task = "GridChaos-v0:b"
[[row]]
name = "against"
task = "GridChaos-v0:c"
[[row]]
name = "later"
task = "GridChaos-v0:d"
[[column]]
name = "DSAC"
algorithm = "dsac"
[[column]]
name = "OVDE, ours"
algorithm = "ovde_g"
role = "ours"
[paper]
source = "a table"
[paper.score]
so = { DSAC = 1, "OVDE, ours" = 2 }
open = { DSAC = 1, "OVDE, ours" = 2 }
against = { DSAC = 1, "OVDE, ours" = 2 }
later = { DSAC = 1, "OVDE, ours" = 2 }
)toml";

std::string task_of(const std::string& row) {
  return "GridChaos-v0:" + std::string(row == "so" ? "a" : row == "open" ? "b" : "c");
}

std::string runs() {
  std::string out = std::string(kRunsHeader) + "\n";
  const auto add = [&](const char* row, const char* column, double mean) {
    for (int seed = 0; seed < 5; ++seed)
      out += fmt::format("{},{},{},{},{},100,{},,1\n", row, column, task_of(row),
                         column == std::string("DSAC") ? "dsac" : "ovde_g", seed, mean + seed);
  };
  add("so", "DSAC", 0);
  add("so", "\"OVDE, ours\"", 50);
  add("open", "DSAC", 0);
  add("open", "\"OVDE, ours\"", 0.5);
  add("against", "DSAC", 50);
  add("against", "\"OVDE, ours\"", 0);
  return out;
}

std::vector<Claim> claims_in(const std::string& table) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "runs.csv") << table;
  const StudyResults results =
      results_of_table(parse_plan(kPlan, "plan.toml"), folder.path() / "runs.csv");
  return claims_of(results, compare(score_contests(results)));
}

TEST(SlowSite, ClaimsHaveAnOutcome) {
  const auto claims = claims_in(runs());
  ASSERT_EQ(claims.size(), 4u);
  EXPECT_EQ(claims[0].outcome, Claim::Outcome::reproduced);
  EXPECT_EQ(claims[1].outcome, Claim::Outcome::not_reproduced);
  EXPECT_EQ(claims[2].outcome, Claim::Outcome::opposite);
  EXPECT_EQ(claims[3].outcome, Claim::Outcome::not_run);
  EXPECT_NEAR(claims[0].here_ours - claims[0].here_baseline, 50, 1e-9);
  EXPECT_NEAR(claims[0].difference->difference, 50, 1e-9);
  EXPECT_LT(claims[0].difference->low, 50);
  EXPECT_GT(claims[0].difference->high, 50);
  EXPECT_LT(claims[0].p, 1e-6);
  EXPECT_LT(claims[1].difference->low, 0);
}

// Five runs at 0 are not sure to the last digit that a sixth would be.
TEST(SlowSite, EqualScoresHaveNoInterval) {
  std::string table = std::string(kRunsHeader) + "\n";
  for (const char* column : {"DSAC", "\"OVDE, ours\""}) {
    for (int seed = 0; seed < 5; ++seed)
      table += fmt::format("so,{},GridChaos-v0:a,{},{},100,0,,1\n", column,
                           column == std::string("DSAC") ? "dsac" : "ovde_g", seed);
  }
  const auto claims = claims_in(table);
  EXPECT_EQ(claims[0].outcome, Claim::Outcome::not_reproduced);
  EXPECT_FALSE(claims[0].difference);
}

TEST(SlowSite, ShowsOnlyTheMeasuresOfThePlan) {
  const TemporaryFolder folder;
  std::string plan = kPlan;
  plan.replace(plan.find("\"score\""), 7, "\"frg\", \"runtime\"");
  std::ofstream(folder.path() / "plan.toml") << plan;
  std::ofstream(folder.path() / "runs.csv")
      << kRunsHeader << "\nso,DSAC,GridChaos-v0:a,dsac,0,100,0,,60\n"
      << "so,\"OVDE, ours\",GridChaos-v0:a,ovde_g,0,100,0,25,90\n";
  std::ofstream(folder.path() / "site.toml")
      << "title = \"All\"\npage = \"article.md\"\n[[study]]\nplan = \"plan.toml\"\nruns = "
         "\"runs.csv\"\n";
  const std::string page = site_html(folder.path() / "site.toml");
  EXPECT_TRUE(has(page, "<a href=\"article.md\">"));
  EXPECT_TRUE(has(page, "25 (1/1)"));
  EXPECT_TRUE(has(page, "90.0 s"));
  EXPECT_FALSE(has(page, "Score: "));
  EXPECT_FALSE(has(page, "claims, one by one"));
}

// Curves are drawn by the page where their data is beside the figure, which is then for print.
TEST(SlowSite, CurvesWithDataAnswerThePointer) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "plan.toml") << kPlan;
  std::ofstream(folder.path() / "runs.csv") << runs();
  std::ofstream(folder.path() / "curves.svg") << "<svg viewBox=\"0 0 9 9\"></svg>";
  const std::string study =
      "[[study]]\nplan = \"plan.toml\"\nruns = \"runs.csv\"\ncurves = \"curves.svg\"\n";
  std::ofstream(folder.path() / "site.toml") << "title = \"All\"\n" + study + study;
  const std::string still = site_html(folder.path() / "site.toml");
  EXPECT_TRUE(has(still, "<figure><svg"));
  EXPECT_FALSE(has(still, "<script"));

  std::ofstream(folder.path() / "curves.json")
      << R"({"axis":"epoch","rows":[{"name":"so","cells":[{"column":"DSAC","colour":"#0072B2",)"
      << R"("runs":5,"x":{"epoch":[0,9]},"values":{"eval_return_mean":[[1,2],[2,3],[3,4]]}}]}]})";
  std::string page = site_html(folder.path() / "site.toml");
  EXPECT_FALSE(has(page, "<figure><svg"));
  EXPECT_TRUE(has(page, "<figure class=\"drawn\"><svg"));
  EXPECT_EQ(page.find("const Chart = "), page.rfind("const Chart = ")) << "once for both studies";
  const auto refusal = [&](const std::string& curves) {
    std::ofstream(folder.path() / "curves.json") << curves;
    return message_of([&] { site_html(folder.path() / "site.toml"); });
  };
  for (const char* damaged : {"{", "{\"axis\": 1}"})
    EXPECT_TRUE(has(refusal(damaged), "curves.json: not the curves of a report")) << damaged;
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const Opened opened =
      open_page(page,
                "document.title = [...document.querySelectorAll('.legend')].map(legend => "
                "legend.textContent).join(' ');");
  EXPECT_EQ(opened.title, "DSAC3 DSAC3");
  EXPECT_EQ(opened.complaints, "");
}

TEST(SlowSite, RefusesATableThatIsNotOfThePlan) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    std::ofstream(folder.path() / "runs.csv") << text;
    return message_of(
        [&] { results_of_table(parse_plan(kPlan, "plan.toml"), folder.path() / "runs.csv"); });
  };
  const std::string header = std::string(kRunsHeader) + "\n";
  EXPECT_EQ(refusal(runs()), "");
  EXPECT_NE(refusal("a,b\n").find("runs.csv: its first line"), std::string::npos);
  const auto refused = [&](const std::string& rest, const std::string& why) {
    const std::string said = refusal(header + "so,DSAC,GridChaos-v0:a,dsac,0,100,1,,1\n" + rest);
    EXPECT_TRUE(has(said, "runs.csv:3: " + why)) << rest << ": " << said;
  };
  refused("x,DSAC,GridChaos-v0:a,dsac,1,100,1,,1\n", "the plan has no cell x / DSAC");
  refused("so,DSAC,GridChaos-v0:b,dsac,1,100,1,,1\n",
          "task is GridChaos-v0:b, the plan has GridChaos-v0:a");
  refused("so,DSAC,GridChaos-v0:a,sac,1,100,1,,1\n", "algorithm is sac, the plan has dsac");
  refused("so,DSAC,GridChaos-v0:a,dsac,1,10,1,,1\n", "epochs is 10, the plan has 100");
  refused("so,DSAC,GridChaos-v0:a,dsac,x,100,1,,1\n", "seed is 'x', which is not a seed");
  refused("so,DSAC,GridChaos-v0:a,dsac,7,100,1,,1\n", "the plan has no seed 7 in so / DSAC");
  refused("so,DSAC,GridChaos-v0:a,dsac,0,100,1,,1\n", "seed 0 of so / DSAC is repeated");
  refused("so,DSAC,GridChaos-v0:a,dsac,1,100,nan,,1\n", "score is 'nan', which is not a score");
  refused("so,DSAC,GridChaos-v0:a,dsac,1,100,1,-12,1\n",
          "first_goal_epoch is '-12', which is not an epoch of the run");
  refused("so,DSAC,GridChaos-v0:a,dsac,1,100,1,100,1\n",
          "first_goal_epoch is '100', which is not an epoch of the run");
  refused("so,DSAC,GridChaos-v0:a,dsac,1,100,1,,-1\n", "wall_seconds is '-1', which is not a time");
  refused("so,DSAC\n", "has 2 fields, the first line 9");
  refused("so,DSAC,GridChaos-v0:a,dsac,1,100,0,5,,1\n", "has 10 fields, the first line 9");
  const std::string longer = std::string(kRunsHeader) + "," + kExploreColumn + "\n";
  EXPECT_EQ(refusal(longer + "so,DSAC,GridChaos-v0:a,dsac,0,100,1,,1,\n"), "");
  EXPECT_TRUE(has(refusal(longer + "so,DSAC,GridChaos-v0:a,dsac,0,100,1,5,1,100\n"),
                  "first_goal_epoch_explore is '100', which is not an epoch of the run"));
  const std::string with_goal = std::string(kRunsHeader) + "," + kGoalColumn + "\n";
  EXPECT_TRUE(has(refusal(with_goal + "so,DSAC,GridChaos-v0:a,dsac,0,100,1,,1,no\n"),
                  "has_goal is 'no', which is not 0 or 1"));
}

#ifdef OVDE_MUJOCO
// docs/results/index.html matches the tables beside it, and its links are valid.
TEST(SlowSite, TheResultsPageIsUpToDate) {
  const fs::path results = fs::path(OVDE_SOURCE_DIR) / "docs/results";
  const fs::path before = fs::current_path();
  fs::current_path(OVDE_SOURCE_DIR);  // the page names plans as one would type them
  const std::string page = site_html("docs/results/site.toml");
  fs::current_path(before);
  EXPECT_TRUE(page == read_file(results / "index.html"))
      << "ovde site docs/results/site.toml writes it anew";
  const std::regex link("<a href=\"([^\"#]+)\"");
  int links = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), link), end; at != end; ++at, ++links)
    EXPECT_TRUE(fs::exists(results / (*at)[1].str())) << (*at)[1];
  EXPECT_GT(links, 3);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const Seen seen = open_in_browser(page);
  EXPECT_GE(seen.figures, 3);
  EXPECT_EQ(seen.complaints, "");
  EXPECT_EQ(open_in_browser(page, 390).beyond, 0) << "on a phone";
}
#endif

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
