// The figures of a report.
#include "study/plot/report_figures.h"

#include <cctype>
#include <limits>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "io/files.h"
#include "study/plot/gnuplot.h"
#include "study/plot/heat_maps.h"
#include "study/report/known_results.h"
#include "study/report/report.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(ReportFigures, ColumnsHaveDifferentColours) {
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

// A curve has a point for each evaluation, and none where the moving average only repeats it.
TEST(ReportFigures, CurvesHaveTheEpochsThatWereEvaluated) {
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

TEST(ReportFigures, FiguresHaveNoEmptyGroups) {
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

TEST(ReportFigures, MapsOfOneKindMayShareTheirScale) {
  Grid small({0, 0}, {1, 1}, 2), large = small;
  small.values = {1, 2, 2, 2};
  large.values = {3, 9, 3, 3};
  const std::vector<HeatRow> rows = {{"a", {{.title = "epistemic", .grid = small}}},
                                     {"b", {{.title = "epistemic", .grid = large}}}};
  EXPECT_FALSE(has(heat_figure("f", "", {"x", "y"}, rows).body, "cbrange [1:9]"));
  const std::string shared = heat_figure("f", "", {"x", "y"}, rows, Scale::shared).body;
  EXPECT_NE(shared.find("cbrange [1:9]"), shared.rfind("cbrange [1:9]")) << "both, not one";
}

// gnuplot takes the label of a tic for a format.
TEST(SlowReportFigures, ANameMayHaveAPercentSign) {
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

// The last one is centred on the end of the axis.
TEST(SlowReportFigures, LabelsOfAnAxisAreNotCutOff) {
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

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
