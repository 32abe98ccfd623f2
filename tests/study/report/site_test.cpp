// The page over many studies: claims whose outcome is known, and the project's own page.
#include "study/report/site.h"

#include <fstream>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ovde/error.h>
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

std::string runs() {
  std::string out = std::string(kRunsHeader) + "\n";
  const auto add = [&](const char* row, const char* column, double mean) {
    for (int seed = 0; seed < 5; ++seed)
      out += fmt::format("{},{},t,a,{},100,{},,1\n", row, column, seed, mean + seed);
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

TEST(SlowSite, SaysWhatCameOfEachClaim) {
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
TEST(SlowSite, RunsThatAllEndAlikeHaveNoInterval) {
  std::string table = std::string(kRunsHeader) + "\n";
  for (const char* column : {"DSAC", "\"OVDE, ours\""}) {
    for (int seed = 0; seed < 5; ++seed)
      table += fmt::format("so,{},t,a,{},100,0,,1\n", column, seed);
  }
  const auto claims = claims_in(table);
  EXPECT_EQ(claims[0].outcome, Claim::Outcome::not_reproduced);
  EXPECT_FALSE(claims[0].difference);
}

TEST(SlowSite, ShowsTheMeasuresOfThePlanAlone) {
  const TemporaryFolder folder;
  std::string plan = kPlan;
  plan.replace(plan.find("\"score\""), 7, "\"frg\", \"runtime\"");
  std::ofstream(folder.path() / "plan.toml") << plan;
  std::ofstream(folder.path() / "runs.csv")
      << kRunsHeader << "\nso,DSAC,t,a,0,100,0,,60\nso,\"OVDE, ours\",t,a,0,100,0,25,90\n";
  std::ofstream(folder.path() / "site.toml")
      << "title = \"All\"\n[[study]]\nplan = \"plan.toml\"\nruns = \"runs.csv\"\n";
  const std::string page = site_html(folder.path() / "site.toml");
  EXPECT_TRUE(has(page, "25 (1/1)"));
  EXPECT_TRUE(has(page, "90.0 s"));
  EXPECT_FALSE(has(page, "Score: "));
  EXPECT_FALSE(has(page, "claims, one by one"));
}

TEST(SlowSite, RefusesATableThatIsNotOfThePlan) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) -> std::string {
    std::ofstream(folder.path() / "runs.csv") << text;
    try {
      results_of_table(parse_plan(kPlan, "plan.toml"), folder.path() / "runs.csv");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string header = std::string(kRunsHeader) + "\n";
  EXPECT_EQ(refusal(runs()), "");
  EXPECT_NE(refusal("a,b\n").find("runs.csv: its first line"), std::string::npos);
  EXPECT_NE(refusal(header + "x,DSAC,t,a,0,100,1,,1\n").find("runs.csv:2: the plan has no cell"),
            std::string::npos);
  EXPECT_NE(refusal(header + "so,DSAC,t,a,0,100,nan,,1\n").find("no score"), std::string::npos);
  EXPECT_NE(refusal(header + "so,DSAC\n").find("nine fields"), std::string::npos);
}

#ifdef OVDE_MUJOCO
// docs/results/index.html is what the tables beside it say; its links lead somewhere.
TEST(SlowSite, OfThisProjectIsUpToDateAndWhole) {
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
