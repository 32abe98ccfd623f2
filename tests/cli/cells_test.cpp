// ovde study cells and ovde study status: the commands of single cells, and the cells that are
// left.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "small_study.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

class SlowStudyCells : public testing::Test {
 protected:
  SlowStudyCells() { write_plan({}); }

  void write_plan(const SmallStudy& study) const {
    std::ofstream(program_.folder() / "my plan.toml") << study.text();
  }

  std::string cells(const std::string& options = "") const {
    const Outcome outcome = program_.run("study cells 'my plan.toml' --out study " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }

  // Runs the lines of `study cells` in a shell.
  int run_lines(const std::string& lines) const {
    write_file_atomically(program_.folder() / "lines.sh", lines);
    return program_.shell("ovde() { '" OVDE_PROGRAM "' \"$@\"; }; set -e; . ./lines.sh").code;
  }

  Outcome status() const { return program_.run("study status 'my plan.toml' --out study"); }

  Program program_;
};

TEST_F(SlowStudyCells, EveryCellHasACommand) {
  EXPECT_EQ(cells(),
            "ovde study work 'my plan.toml' --out study --cells a/DSAC\n"
            "ovde study work 'my plan.toml' --out study --cells a/OVDE\n"
            "ovde study work 'my plan.toml' --out study --cells b/DSAC\n"
            "ovde study work 'my plan.toml' --out study --cells b/OVDE\n");
  EXPECT_EQ(cells("--cells 2 --smoke --threads 3 --jobs 2 --take-over"),
            "ovde study work 'my plan.toml' --out study --cells b/DSAC --smoke --jobs 2 "
            "--threads 3 --take-over\n");
  EXPECT_EQ(cells("--cells 'b/*' --json"),
            R"({"cell":"b/DSAC","row":"b","column":"DSAC","seeds":[0,1],"epochs":4,)"
            R"("command":["ovde","study","work","my plan.toml","--out","study","--cells",)"
            R"("b/DSAC"]})"
            "\n"
            R"({"cell":"b/OVDE","row":"b","column":"OVDE","seeds":[0,1],"epochs":4,)"
            R"("command":["ovde","study","work","my plan.toml","--out","study","--cells",)"
            R"("b/OVDE"]})"
            "\n");
  EXPECT_EQ(program_.files(), std::vector<std::string>{"my plan.toml"});
}

TEST_F(SlowStudyCells, TheCommandsCanBeRepeated) {
  const std::string all = cells();
  const std::string first = all.substr(0, all.find('\n') + 1);
  ASSERT_EQ(run_lines(first), 0);
  EXPECT_EQ(cells(), all.substr(first.size()));  // finished cells are not listed
  ASSERT_EQ(run_lines(all), 0);
  const auto policy = fs::last_write_time(program_.folder() / "study/a/DSAC/seed_0/progress.csv");
  ASSERT_EQ(run_lines(all), 0);
  EXPECT_EQ(fs::last_write_time(program_.folder() / "study/a/DSAC/seed_0/progress.csv"), policy);
  EXPECT_EQ(cells(), "");
  expect_words(status().out, {"4 of 4 cells finished"});
  EXPECT_FALSE(has(status().out, "left"));
}

// Each machine has a folder of its own, and one of them merges the runs.
TEST_F(SlowStudyCells, RunsOfSeveralMachinesAreMerged) {
  for (const char* part : {"--cells 0-1", "--cells 2-3"}) {
    ASSERT_EQ(run_lines(cells(part)), 0);
    fs::rename(program_.folder() / "study", program_.folder() / (std::string("from") + part[8]));
  }
  const Outcome merged = program_.run("study import 'my plan.toml' --out study from0 from2");
  EXPECT_EQ(merged.code, 0) << merged.err;
  expect_words(merged.out, {"8 runs imported"});
  EXPECT_EQ(cells(), "");
  ASSERT_EQ(program_.run("study run 'my plan.toml' --out alone").code, 0);
  EXPECT_EQ(program_
                .shell("for f in $(cd alone && find . -name progress.csv); do "
                       "cut -d, -f1-5 alone/$f >a; cut -d, -f1-5 study/$f | cmp - a; done")
                .err,
            "");
}

TEST_F(SlowStudyCells, StatusShowsFailuresByNodeAndWhatIsLeft) {
  expect_words(status().err, {"study is not a folder"});
  fs::create_directories(program_.folder() / "study/a");
  std::ofstream(program_.folder() / "study/a/DSAC") << "a file where a folder should be";
  EXPECT_EQ(program_
                .shell("SLURMD_NODENAME=n1 '" OVDE_PROGRAM
                       "' study work 'my plan.toml' --out study --cells 'a/*'")
                .code,
            1);
  const Outcome shown = status();
  EXPECT_EQ(shown.code, 0) << shown.err;
  expect_words(shown.out, {"a / DSAC: failed on n1: ", "a / OVDE: finished",
                           "1 of 4 cells finished", "failed on n1: 1 cell\n",
                           "3 cells not running; to run them: ovde study run 'my plan.toml' "
                           "--out study\n"});
}

// A program built on the library, which alone knows its tasks.
TEST_F(SlowStudyCells, CommandsNameTheProgramThatPrintsThem) {
  fs::create_symlink(OVDE_PROGRAM, program_.folder() / "my_robot");
  expect_words(program_.shell("./my_robot study cells 'my plan.toml' --out study").out,
               {"./my_robot study work 'my plan.toml' --out study --cells a/DSAC\n"});
  const Outcome ran = program_.shell("./my_robot study run 'my plan.toml' --out study --cells 0");
  expect_words(ran.out, {"to compare them: ./my_robot study report 'my plan.toml' --out study\n"});
}

TEST_F(SlowStudyCells, StatusOfAnotherPlanSaysWhatDiffers) {
  ASSERT_EQ(program_.run("study run 'my plan.toml' --out study --cells 0").code, 0);
  write_plan({.epochs = 3});
  const Outcome shown = status();
  EXPECT_EQ(shown.code, 2);
  expect_words(shown.out, {"a / DSAC: its runs have other settings than the plan"});
  EXPECT_FALSE(has(shown.out + shown.err, "remove"));
  expect_words(shown.err, {"train.epochs = 3, was 4 in a/DSAC, a/OVDE, b/DSAC and 1 more"});
  for (const char* action : {"run", "work", "cells"}) {
    const Outcome refused =
        program_.run(std::string("study ") + action + " 'my plan.toml' --out study");
    EXPECT_EQ(refused.code, 2) << action;
    expect_words(refused.err, {"has another plan"});
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
