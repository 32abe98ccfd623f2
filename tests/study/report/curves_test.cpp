// Curves that answer the pointer.
#include "study/report/curves.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/json.h"
#include "stats/statistics.h"
#include "study/report/browser.h"
#include "study/report/known_results.h"
#include "study/report/report.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Known results with curves: the return, and a loss that is seed + epoch.
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

TEST(Curves, CurvesHaveTheQuartilesOfEveryMeasure) {
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
TEST(SlowCurves, WritesAFewPointsOfTheCurves) {
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
TEST(Curves, CurvesOfAnUnfinishedRunHaveTheEpochsOfTheOthers) {
  StudyResults results = results_with_curves();
  results.cells.front().runs.front().curve.resize(31);
  const Json cell = compact_curve_data(results)["rows"][0]["cells"][0];
  ASSERT_EQ(cell["x"]["epoch"].size(), 15u);  // pairs of epochs that all runs have
  for (int i = 0; i < 15; ++i) EXPECT_EQ(cell["x"]["epoch"][i], 2 * i + 1);
}

// Values under the pointer, a series that is switched off, another measure; the drawn curves are
// hidden.
TEST(SlowCurves, CurvesAnswerThePointer) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  const std::string page = read_file(write_report(results_with_curves(), folder.path()).page);
  const Opened opened = open_page(page, R"(
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
)");
  EXPECT_EQ(opened.title, "2 true true 1 true 0");
  EXPECT_EQ(opened.complaints, "");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
