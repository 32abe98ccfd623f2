// The console output of a study.
#include "cli/console/study_overview.h"

#include <memory>

#include <gtest/gtest.h>

#include "io/files.h"
#include "small_study.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Overview, APipeGetsPlainLines) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "overview.txt";
  std::FILE* out = std::fopen(file.c_str(), "w");
  ConsoleStyle style;
  style.line_seconds = 0;
  const std::string plan = SmallStudy{.epochs = 2, .columns = {"DSAC"}}.text();
  run_study({.plan = parse_plan(plan, "small.toml"), .out = folder.path() / "study"},
            *console_overview(out, style));
  std::fclose(out);
  const std::string text = read_file(file);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  expect_words(text, {"small: 2 cells, 4 runs; 1 job of 1 thread",
                      "cells 0/2 done, 1 running, 0 failed  ", "2 of 2 cells finished, 0 failed"});
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
