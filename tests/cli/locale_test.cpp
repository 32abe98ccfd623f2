// Numbers are read and written the same in a locale with decimal commas, which a program built on
// the library may have set.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>

#include "cli/program.h"
#include "io/settings.h"
#include "study/plan/plan.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Locale, NumbersDoNotDependOnIt) {
  const Program program;
  const std::string folder = program.folder().string();
  program.shell("localedef -i de_DE -f UTF-8 '" + folder + "/de_DE.UTF-8'");
  ::setenv("LOCPATH", folder.c_str(), 1);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    ::unsetenv("LOCPATH");
    GTEST_SKIP() << "localedef cannot create de_DE.UTF-8";
  }
  const std::string comma = std::localeconv()->decimal_point;
  const OptionValue half = parse_value("0.5");
  const std::string written = to_string(OptionValue(0.25));
  const Plan plan = parse_plan(R"toml(
epochs = 1
seeds = "0"
row = [{ name = "a", task = "GridChaos-v0", set.task.step = 0.5 }]
column = [{ algorithm = "sac" }]
[paper]
source = "Table 1"
p_value.a = { sac = "<0.125" }
)toml",
                               "p.toml");
  std::setlocale(LC_ALL, "C");
  ::unsetenv("LOCPATH");
  EXPECT_EQ(comma, ",");
  EXPECT_EQ(half, OptionValue(0.5));
  EXPECT_EQ(written, "0.25");
  ASSERT_NE(find_published(plan, "p_value", "a", "sac"), nullptr);
  EXPECT_EQ(find_published(plan, "p_value", "a", "sac")->value, 0.125);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
