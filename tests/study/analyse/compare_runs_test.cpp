// Runs that were never planned as a study, put side by side.
#include "study/analyse/results.h"

#include <gtest/gtest.h>

#include <ovde/error.h>
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_state.h"
#include "study/analyse/comparison.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

class CompareRuns : public testing::Test {
 protected:
  // A finished run, or one that has only begun, whose returns are all the same.
  fs::path make_run(const std::string& name, const std::string& task, const std::string& algorithm,
                    std::uint64_t seed, double returns, const std::vector<Setting>& more = {},
                    int rows = 5) {
    std::vector<Setting> settings = {{"run.task", task, ""},
                                     {"run.algorithm", algorithm, ""},
                                     {"run.seed", static_cast<double>(seed), ""},
                                     {"train.epochs", 5.0, ""}};
    settings.insert(settings.end(), more.begin(), more.end());
    const fs::path folder = folder_.path() / name;
    fs::create_directories(folder);
    const Config config = resolve_config(settings);
    write_config(folder, config, "test");
    std::vector<EpochRow> all(static_cast<std::size_t>(rows));
    for (int i = 0; i < rows; ++i) {
      all[i].epoch = i;
      all[i].eval_return_mean = returns;
      all[i].eval_success = returns > 50 ? 1 : 0;
      all[i].seconds = i + 1;
    }
    ProgressFile(folder, all);
    if (rows == 5) write_summary(folder, summarise(all));
    return folder;
  }

  TemporaryFolder folder_;
};

TEST_F(CompareRuns, TasksAreRowsAndAlgorithmsAreColumns) {
  std::vector<fs::path> runs;
  for (const std::uint64_t seed : {0, 1, 2}) {
    const std::string number = std::to_string(seed);
    const double scatter = static_cast<double>(seed);
    runs.push_back(make_run("dsac" + number, "GridChaos-v0:s", "dsac", seed, 10 + scatter));
    runs.push_back(make_run("ovde" + number, "GridChaos-v0:s", "ovde_g", seed, 90 + scatter));
  }
  runs.push_back(make_run("other", "GridChaos-v0:a", "ovde_g", 0, 3));
  const StudyResults results = compare_runs(runs);
  EXPECT_EQ(results.row_names(), (std::vector<std::string>{"GridChaos-v0:s", "GridChaos-v0:a"}));
  ASSERT_EQ(results.plan.columns.size(), 2u);
  expect_words(results.plan.text, {"7 runs", "Differences are tested against dsac, the first"});
  EXPECT_EQ(results.find("GridChaos-v0:s", "dsac").scores(), (std::vector<double>{10, 11, 12}));
  EXPECT_TRUE(results.find("GridChaos-v0:a", "dsac").runs.empty());
  EXPECT_TRUE(results.measures("frg"));
  EXPECT_TRUE(results.unfinished.empty());

  const auto tests = compare(score_contests(results));
  EXPECT_EQ(tests[0].ours, "ovde_g");
  EXPECT_EQ(tests[0].baseline, "dsac");
  EXPECT_EQ(tests[0].verdict, Verdict::better);
}

// Settings that follow from the task do not make another column; settings of a user do.
TEST_F(CompareRuns, SettingsMakeTheirOwnColumn) {
  const std::vector<fs::path> runs = {
      make_run("plain", "GridChaos-v0:s", "ovde_g", 0, 1),
      make_run("far", "GridChaos-v0:s", "ovde_g", 0, 2,
               {{"explore.alpha", 0.2, ""}, {"train.batch", 64.0, ""}}),
      make_run("farther", "GridChaos-v0:s", "ovde_g", 0, 3,
               {{"explore.alpha", 0.4, ""}, {"train.batch", 64.0, ""}}),
      make_run("again", "GridChaos-v0:s", "ovde_g", 1, 4, {{"checkpoint.minutes", 1.0, ""}}),
      make_run("wide", "GridChaos-v0:s", "ovde_g", 1, 4, {{"task.radius", 2.0, ""}})};
  const StudyResults results = compare_runs(runs);
  EXPECT_EQ(results.row_names(),
            (std::vector<std::string>{"GridChaos-v0:s", "GridChaos-v0:s task.radius = 2"}));
  std::vector<std::string> columns;
  for (const PlanColumn& column : results.plan.columns) columns.push_back(column.name);
  EXPECT_EQ(columns,
            (std::vector<std::string>{"ovde_g", "ovde_g explore.alpha = 0.2 train.batch = 64",
                                      "ovde_g explore.alpha = 0.4 train.batch = 64"}));
  EXPECT_EQ(results.find("GridChaos-v0:s", "ovde_g").scores(), (std::vector<double>{1, 4}));
}

TEST_F(CompareRuns, UnfinishedRunsCountAndAreNamed) {
  const std::vector<fs::path> runs = {make_run("a", "GridChaos-v0:s", "sac", 0, 1, {}, 2),
                                      make_run("b", "GridChaos-v0:s", "dsac", 0, 2, {}, 0)};
  const StudyResults results = compare_runs(runs);
  EXPECT_EQ(results.find("GridChaos-v0:s", "sac").scores(), (std::vector<double>{1}));
  ASSERT_EQ(results.unfinished.size(), 2u);
  expect_words(results.unfinished[0], {"epoch 2 of 5"});
  EXPECT_THROW(compare_runs(std::vector<fs::path>{runs[1]}), InputError);
}

TEST_F(CompareRuns, FoldersWithoutRunsAreSkipped) {
  const fs::path run = make_run("a", "GridChaos-v0:s", "sac", 0, 1), page = folder_.path() / "page";
  fs::create_directories(page);
  const StudyResults results = compare_runs(std::vector<fs::path>{page, run});
  EXPECT_EQ(results.notes, std::vector<std::string>{"there is no run in " + page.string()});
  EXPECT_THROW(compare_runs(std::vector<fs::path>{page}), InputError);
}

TEST_F(CompareRuns, TheSameRunTwiceCountsOnce) {
  const fs::path run = make_run("a", "GridChaos-v0:s", "sac", 0, 1);
  make_run("b", "GridChaos-v0:s", "sac", 0, 1);
  const StudyResults alone = compare_runs(std::vector<fs::path>{run, run});
  EXPECT_EQ(alone.notes.size(), 0u);
  EXPECT_EQ(alone.plan.text, "A run that was not planned as a study.");  // and no test
  const StudyResults all = compare_runs(std::vector<fs::path>{folder_.path()});
  EXPECT_EQ(all.find("GridChaos-v0:s", "sac").runs.size(), 1u);
  ASSERT_EQ(all.notes.size(), 1u);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
