// The console output of a study.
#include "cli/console/study_overview.h"

#include <memory>

#include <gtest/gtest.h>

#include "io/files.h"
#include "temporary_folder.h"

namespace ovde {
namespace {

const std::string kShownStudy = R"toml(
epochs = 2
seeds = "0-1"
set = { task.horizon = 20, network.hidden = [8], train.steps_per_epoch = 20, train.warmup_steps = 20, train.eval_steps = 20, train.batch = 8, train.replay = 200 }
[[row]]
name = "a"
task = "GridChaos-v0:a"
[[row]]
name = "b"
task = "GridChaos-v0:b"
[[column]]
name = "DSAC"
algorithm = "dsac"
)toml";

TEST(Overview, APipeGetsPlainLines) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "overview.txt";
  std::FILE* out = std::fopen(file.c_str(), "w");
  ConsoleStyle style;
  style.line_seconds = 0;
  run_study({.plan = parse_plan(kShownStudy, "small.toml"), .out = folder.path() / "study"},
            *console_overview(out, style));
  std::fclose(out);
  const std::string text = read_file(file);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("small: 2 cells, 4 runs; 1 job of 1 thread"), std::string::npos) << text;
  EXPECT_NE(text.find("cells 0/2 done, 1 running, 0 failed  "), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 2 cells finished, 0 failed"), std::string::npos) << text;
}

}  // namespace
}  // namespace ovde
