// The leaderboard of a suite, and configs/suites.
#include "stress/leaderboard.h"

#include <set>

#include <gtest/gtest.h>

#include "io/files.h"
#include "stress/axes.h"
#include "stress/episodes.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {

namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr const char* kPlan = R"(
epochs = 1
seeds = "0-1"
[[row]]
name = "Grid"
task = "GridChaos-v0:s"
[[row]]
name = "Grid late"
task = "GridChaos-v0:s"
set = { delay.action = 2 }
[[row]]
name = "Grid shaky"
task = "GridChaos-v0:s"
set = { noise.action = 0.5, noise.observation = 0.25 }
[[column]]
name = "DSAC"
algorithm = "dsac"
[[column]]
name = "OVDE"
algorithm = "ovde_g"
)";

// Episodes of a stress test as its file has them.
class Episodes {
 public:
  explicit Episodes(const fs::path& folder) : folder_(folder) { fs::create_directories(folder); }

  void add(const std::string& run, const std::string& disturbance, const std::string& settings,
           const std::vector<double>& returns) {
    for (std::size_t e = 0; e < returns.size(); ++e)
      text_ += run + "-id," + run + "," + disturbance + "," + (settings.empty() ? "0" : "0.4") +
               "," + settings + "," + std::to_string(e) + "," + std::to_string(e) + "," +
               std::to_string(returns[e]) + ",20,0\n";
  }
  const fs::path& write() const {
    write_file_atomically(folder_ / "episodes.csv",
                          "policy,run,disturbance,severity,settings,episode,seed,return,length,"
                          "success\n" +
                              text_);
    return folder_;
  }

 private:
  fs::path folder_;
  std::string text_;
};

// A plan with three rows, and episodes of most of its runs.
class LeaderboardOfAPlan : public ::testing::Test {
 protected:
  LeaderboardOfAPlan() : a_(folder_.path() / "a"), b_(folder_.path() / "b") {
    const std::string late = "delay.action=2", shaky = "noise.observation=0.25 noise.action=0.5";
    for (Episodes* part : {&a_, &b_}) part->add(kRandomRun, "", "", {0, 20});  // mean 10
    a_.add("x/Grid/DSAC/seed_0", "", "", {100, 110, 110, 120});                // reference 110
    a_.add("x/Grid/DSAC/seed_0", "delay", late, {0, 60, 60, 60});
    a_.add("x/Grid/DSAC/seed_0", "shaky", shaky, {30, 30, 30, 30});
    a_.add("x/Grid-late/DSAC/seed_0", "", "", {90, 90, 90, 90});
    a_.add("x/Grid-late/DSAC/seed_0", "delay", late, {70, 80, 80, 90});
    a_.add("x/Grid-late/DSAC/seed_0", "shaky", shaky, {0, 0, 0, 0});  // not what it trained under
    b_.add("y/Grid-late/DSAC/seed_1", "", "", {90, 90, 90, 90});
    b_.add("y/Grid-late/DSAC/seed_1", "delay", late, {70, 80, 80, 90});
    b_.add("y/Grid-shaky/DSAC/seed_0", "", "", {50, 50, 50, 50});
    b_.add("y/Grid-shaky/DSAC/seed_0", "shaky", shaky, {50, 50, 50, 50});
    b_.add("y/Grid/OVDE/seed_0", "", "", {60, 60, 60, 60});
    b_.add("y/Grid/OVDE/seed_0", "friction", "model.friction=0.5", {1, 1, 1, 1});  // in no row
  }

  Leaderboard make() const {
    const std::vector<fs::path> tests = {a_.write(), b_.write()};
    return make_leaderboard(parse_plan(kPlan, "plan.toml"), tests);
  }

  TemporaryFolder folder_;
  Episodes a_, b_;
};

std::vector<std::string> texts(const TableRow& row) {
  std::vector<std::string> out = {row.name};
  for (const TableCell& cell : row.cells) out.push_back(cell.text);
  return out;
}

TEST_F(LeaderboardOfAPlan, ScoresGoFromRandomToTheBestUndisturbed) {
  const Leaderboard made = make();
  EXPECT_EQ(made.typical.columns, (std::vector<std::string>{"none", "delay", "shaky", "mean"}));
  ASSERT_EQ(made.typical.rows.size(), 3u);  // without those that were not run
  using Texts = std::vector<std::string>;
  // undisturbed: the mean of the policies of both trainings, 80 and 40
  EXPECT_EQ(texts(made.typical.rows[0]), (Texts{"DSAC, trained under it", "60", "70", "40", "55"}));
  EXPECT_EQ(texts(made.typical.rows[1]), (Texts{"DSAC", "100", "50", "20", "35"}));
  EXPECT_EQ(texts(made.typical.rows[2]), (Texts{"OVDE", "50", "-", "-", "-"}));
  EXPECT_EQ(texts(made.worst.rows[1]), (Texts{"DSAC", "90", "-10", "20", "5"}));
  EXPECT_TRUE(made.typical.rows[0].cells[1].best);
  EXPECT_FALSE(made.typical.rows[1].cells[1].best);
  ASSERT_EQ(made.tasks.size(), 1u);
  EXPECT_EQ(made.tasks[0].name, "Grid");
  EXPECT_EQ(texts(made.tasks[0].rows[1]), (Texts{"delay 0.4", "60.00 / 80.00", "- / -"}));
  expect_words(made.csv, {"Grid,delay,0.4,DSAC,delay.action=2,2,8,80,70,70,60\n",
                          "Grid,delay,0.4,DSAC,,1,4,60,0,50,-10\n",
                          "Grid,none,0,DSAC,delay.action=2,2,8,90,90,80,80\n"});
}

// With two runs, the ends of the interval are the scores of each.
TEST_F(LeaderboardOfAPlan, MeanHasAnIntervalOverTheRuns) {
  b_.add("y/Grid/DSAC/seed_1", "", "", {110, 110, 110, 110});
  b_.add("y/Grid/DSAC/seed_1", "delay", "delay.action=2", {100, 100, 100, 100});
  b_.add("y/Grid/DSAC/seed_1", "shaky", "noise.action=0.5 noise.observation=0.25",
         {30, 30, 30, 30});
  EXPECT_EQ(make().typical.rows[1].cells.back().text, "45 [35, 55]");
}

TEST_F(LeaderboardOfAPlan, EpisodesCountOnce) {
  const Leaderboard once = make();
  const std::vector<fs::path> again = {a_.write(), b_.write(), a_.write()};
  EXPECT_EQ(make_leaderboard(parse_plan(kPlan, "plan.toml"), again).csv, once.csv);
}

TEST_F(LeaderboardOfAPlan, IsWrittenAsPageTextAndCsv) {
  const Leaderboard made = make();
  const Plan plan = parse_plan(kPlan, "plan.toml");
  const fs::path page = write_leaderboard(plan, made, folder_.path() / "out");
  expect_words(read_file(page), {"DSAC, trained under it", "Worst tenth of the episodes"});
  expect_words(read_file(folder_.path() / "out/leaderboard.md"), {"| **70** |"});
  EXPECT_EQ(read_file(folder_.path() / "out/leaderboard.csv"), made.csv);
}

TEST_F(LeaderboardOfAPlan, RunsOfAnotherPlanAreRefused) {
  b_.add("y/Ant/SAC/seed_0", "", "", {1});
  expect_words(message_of([&] { make(); }),
               {"b/episodes.csv:", "y/Ant/SAC/seed_0 is a run of no cell"});
}

#ifdef OVDE_MUJOCO
// The name of a row says which disturbance it trains under: "Hopper delay 0.2".
TEST(Suite, RowsTrainUnderTheDisturbancesOfStress) {
  const Plan plan = read_plan(OVDE_SOURCE_DIR "/configs/suites/real.toml");
  EXPECT_EQ(plan.rows.size(), 4u * (1 + 5 * 2 + 1));
  EXPECT_EQ(expand(plan).size(), 8 * plan.rows.size());
  std::set<std::string> conditions;
  for (const PlanRow& row : plan.rows) {
    const auto first = row.name.find(' '), second = row.name.rfind(' ');
    std::set<std::string> trained, tested;
    for (const Setting& setting : row.settings) trained.insert(to_text({setting}));
    if (first != std::string::npos) {
      conditions.insert(row.name.substr(first));
      const StressAxis axis = find_axis(row.name.substr(first + 1, second - first - 1));
      for (const Setting& setting : axis.settings(std::stod(row.name.substr(second))))
        tested.insert(to_text({setting}));
    }
    EXPECT_EQ(trained, tested) << row.name;
  }
  EXPECT_EQ(conditions.size(), 11u);
}
#endif

}  // namespace OVDE_TEST_FILE

}  // namespace ovde
