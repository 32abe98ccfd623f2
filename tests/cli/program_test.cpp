// What the program prints when all is well.
#include <gtest/gtest.h>

#include <ovde/env.h>
#include "cli/program.h"

namespace ovde {
namespace {

TEST(Program, EveryCommandExplainsItself) {
  const Program program;
  for (const char* command : {"", "list ", "train ", "eval ", "bench "}) {
    const Outcome outcome = program.run(std::string(command) + "--help");
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_NE(outcome.out.find("Usage: ovde"), std::string::npos) << command;
    EXPECT_EQ(outcome.err, "") << command;
  }
  EXPECT_EQ(program.run("--version").out, "ovde " OVDE_VERSION "\n");
}

TEST(Program, ListsTasksAlgorithmsAndKeys) {
  const Program program;
  const std::string all = program.run("list").out;
  for (const char* words : {"GridChaos-v0", ":s :a", "ovde_g", "[train]", "batch = 256"}) {
    EXPECT_NE(all.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(program.run("list algos").out.find("GridChaos"), std::string::npos);
  EXPECT_EQ(program.files(), std::vector<std::string>{});
}

// docs/config.md is the program's own description of its keys. To bring it up to date:
//   build/ovde list config --markdown > docs/config.md
TEST(Program, ThePageOfTheConfigurationIsUpToDate) {
#ifndef OVDE_MUJOCO
  GTEST_SKIP() << "the page describes the MuJoCo tasks too, which this build does not have";
#endif
  const Outcome outcome = Program().run("list config --markdown");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out == read_file(OVDE_SOURCE_DIR "/docs/config.md"))
      << "run: build/ovde list config --markdown > docs/config.md";
}

}  // namespace
}  // namespace ovde
