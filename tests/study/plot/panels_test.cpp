// Panels of figures: round steps of an axis, a complete key.
#include "study/plot/panels.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Panels, StepsOfAnAxisAreRoundAndFew) {
  EXPECT_DOUBLE_EQ(axis_step(1250, 5), 250);
  EXPECT_DOUBLE_EQ(axis_step(1000, 5), 200);
  EXPECT_DOUBLE_EQ(axis_step(1001, 5), 250);
  EXPECT_DOUBLE_EQ(axis_step(0.6, 6), 0.1);
  EXPECT_DOUBLE_EQ(axis_step(7, 6), 2);
  EXPECT_DOUBLE_EQ(axis_step(31, 6), 10);
}

TEST(Panels, LabelsFitTheMargin) {
  PanelFigure panels("p", {"one", "two"});
  YRange y;
  y.take(15.7);
  panels.add_panel("", {"$a"}, y);  // gnuplot's own steps for a single number
  y.take(-12345);
  panels.add_panel("", {"$b"}, y);
  const std::string body = panels.figure("").body;
  expect_words(body, {"set lmargin 11\n", "set ytics 2500\n"});
  EXPECT_FALSE(has(body, "set lmargin 9\n"));
}

TEST(Panels, TheKeyNamesEveryColumn) {
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  for (const int count : {1, 5, 9, 14}) {
    PanelFigure panels("p", {"one", "two"});
    panels.add_panel("", {"sin(x) notitle"});
    panels.add_panel("", {"sin(x) notitle"});
    std::vector<std::string> titles;
    for (int i = 0; i < count; ++i) {
      titles.push_back("DSAC, embedded " + std::to_string(100 + i));
      panels.add_key("with lines", titles.back());
    }
    const TemporaryFolder folder;
    expect_words(draw(panels.figure(""), folder.path()), titles);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
