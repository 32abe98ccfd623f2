// The study files of the paper's tables and figures: complete, and with the paper's numbers.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <ovde/env.h>
#include <ovde/error.h>

#include "config/config.h"
#include "study/plan/plan.h"

namespace ovde {
namespace OVDE_TEST_FILE {

Plan paper_plan(const std::string& name) {
  return read_plan(std::filesystem::path(OVDE_SOURCE_DIR) / "configs/paper" / (name + ".toml"));
}

double score(const Plan& plan, const std::string& row, const std::string& column) {
  const PublishedNumber* figure = find_published(plan, "score", row, column);
  return figure ? figure->value : std::nan("");
}

// Cells, and how many of them are runs of their own.
struct Size {
  std::size_t rows, columns, folders;
};
const std::map<std::string, Size> kSizes = {
    {"table1", {6, 3, 18}},        {"table2", {4, 4, 16}},
    {"table3", {10, 5, 50}},       {"horizons", {6, 5, 27}},
    {"alpha", {1, 9, 9}},          {"beta", {1, 11, 11}},
    {"runtime", {1, 9, 9}},        {"rnd_ids", {6, 5, 30}},
    {"patterns", {2, 3, 6}},       {"two_actions", {0, 0, 0}},
    {"ours_gradient", {4, 4, 16}}, {"ours_beta", {2, 11, 22}},
    {"ours_noise", {5, 3, 15}},    {"ours_temperature", {4, 3, 12}},
    {"ours_readings", {2, 6, 12}},
};

TEST(PaperPlans, EveryFileParsesAndExpands) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(OVDE_SOURCE_DIR) / "configs/paper")) {
    if (entry.path().extension() != ".toml") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    found.insert(name);
    ASSERT_TRUE(kSizes.contains(name)) << "a study file that this test does not know";
    const Size& size = kSizes.at(name);
    Plan plan = read_plan(entry.path());
    EXPECT_EQ(plan.rows.size(), size.rows);
    EXPECT_EQ(plan.columns.size(), size.columns);

    // as if the algorithms that are still to come were there
    const auto cells = expand(plan);
    std::set<std::string> folders;
    for (const Cell& cell : cells) folders.insert(cell.folder);
    EXPECT_EQ(cells.size(), size.rows * size.columns);
    EXPECT_EQ(folders.size(), size.folders);
    EXPECT_FALSE(plan.title.empty());
    EXPECT_FALSE(plan.show.empty());
  }
  EXPECT_EQ(found.size(), kSizes.size());
}

// Every option of every cell is one that the task and the algorithm know, with a value they take.
TEST(PaperPlans, EveryCellResolves) {
  int without_task = 0;
  for (const auto& [name, size] : kSizes) {
    for (const Cell& cell : expand(paper_plan(name))) {
      try {
        find_task(cell.task);
      } catch (const InputError&) {
        ++without_task;  // built without MuJoCo
        continue;
      }
      const Config config = resolve_config(cell.settings);
      EXPECT_EQ(config.train.epochs, cell.epochs);
    }
  }
  if (without_task > 0) GTEST_SKIP() << without_task << " cells are of tasks that this build lacks";
}

TEST(PaperPlans, FiguresAreThoseOfThePaper) {
  const Plan table1 = paper_plan("table1");
  EXPECT_EQ(score(table1, "s", "OVDE"), 59.30);
  EXPECT_EQ(score(table1, "b", "DSAC"), 39.78);
  EXPECT_EQ(score(table1, "e", "DOAC"), 14.60);
  EXPECT_EQ(find_published(table1, "frg", "s", "DSAC")->bound, PublishedNumber::Bound::at_least);
  EXPECT_EQ(find_published(table1, "frg", "d", "OVDE")->value, 276);
  EXPECT_EQ(table1.published.size(), 36u);

  const Plan table2 = paper_plan("table2");
  EXPECT_EQ(score(table2, "h", "OVDE(m)"), 60.00);
  EXPECT_EQ(find_published(table2, "frg", "i", "DOAC")->value, 296);
  EXPECT_EQ(table2.published.size(), 28u);

  const Plan table3 = paper_plan("table3");
  EXPECT_EQ(score(table3, "HalfCheetah", "OVDE_Q"), 16484.3);
  EXPECT_EQ(find_published(table3, "score", "N-InvDbPendulum", "DOAC")->deviation, 139.36);
  EXPECT_EQ(table3.published.size(), 60u);

  const Plan horizons = paper_plan("horizons");
  EXPECT_EQ(score(horizons, "500, alpha 0.01", "OVDE_Q"), 3006.58);
  EXPECT_EQ(find_published(horizons, "p_value", "1000, alpha 0.001", "DOAC")->value, 0.048);
  EXPECT_EQ(horizons.published.size(), 54u);

  EXPECT_EQ(find_published(paper_plan("runtime"), "runtime", "HalfCheetah", "OVDE_Q")->value, 1.21);
  EXPECT_EQ(score(paper_plan("rnd_ids"), "Ant", "DSAC+RND"), 7308.4);
}

// The averages that the paper prints under Table 3 are those of the numbers above them.
TEST(PaperPlans, AveragesOfTableThreeAddUp) {
  const Plan plan = paper_plan("table3");
  for (const Group& group : plan.groups) {
    for (const PlanColumn& column : plan.columns) {
      double sum = 0;
      for (const std::string& row : group.rows) sum += score(plan, row, column.name);
      EXPECT_NEAR(sum / 5, score(plan, group.name, column.name), 0.0101)
          << group.name << " " << column.name;
    }
  }
}

TEST(PaperPlans, OptionsFollowThePaper) {
  const auto setting = [](const Cell& cell, const std::string& key) {
    std::string out = "default";
    for (const Setting& s : cell.settings) {
      if (s.key == key) out = to_string(s.value);
    }
    return out;
  };
  std::map<std::string, Cell> horizons;
  for (const Cell& cell : expand(paper_plan("horizons")))
    horizons[cell.row + "/" + cell.column] = cell;
  EXPECT_EQ(setting(horizons["250/OVDE_G"], "task.horizon"), "250");
  EXPECT_EQ(setting(horizons["250/OVDE_G"], "explore.alpha"), "default");
  EXPECT_EQ(setting(horizons["1000, alpha 0.001/OVDE_Q"], "explore.alpha"), "0.001");
  EXPECT_EQ(horizons["500, alpha 0.01/SAC"].folder, "500/SAC");

  const auto alphas = expand(paper_plan("alpha"));
  EXPECT_EQ(setting(alphas.front(), "explore.alpha"), "0.0005");
  EXPECT_EQ(setting(alphas.back(), "explore.alpha"), "0.8");
  EXPECT_EQ(alphas.front().seeds.size(), 5u);
  const auto betas = expand(paper_plan("beta"));
  EXPECT_EQ(setting(betas[6], "explore.beta"), "3.2");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
