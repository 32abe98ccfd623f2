// ovde study import on the command line. Which runs are imported is tested in tests/study/execute.
#include <fstream>

#include <gtest/gtest.h>

#include "cli/program.h"
#include "small_study.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kTiny = " --task GridChaos-v0:a --algo dsac --epochs 2" + small_flags();

class SlowImportCommand : public testing::Test {
 protected:
  SlowImportCommand() {
    std::ofstream(program_.folder() / "plan.toml")
        << SmallStudy{.epochs = 2,
                      .rows = {"a"},
                      .columns = {"DSAC"},
                      .more = "[[column]]\nname = \"other\"\nimported = true\n"}
               .text();
    std::ofstream(program_.folder() / "run.csv") << "step,return\n40,1\n60,2\n";
  }

  Outcome import_from(const std::string& from) {
    return program_.run("study import plan.toml --out study " + from);
  }

  Program program_;
};

TEST_F(SlowImportCommand, ImportsRuns) {
  ASSERT_EQ(program_.run("train --seeds 0-1 --out there" + kTiny).code, 0);
  ASSERT_EQ(program_.run("train --seed 5 --out fifth" + kTiny).code, 0);
  const Outcome first = import_from("there fifth");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out,
            "a / DSAC: 2 imported, 0 exist already\n"
            "not imported: fifth: the plan has no seed 5 in a / DSAC\n"
            "2 runs imported, 0 exist already, 1 not imported, into study\n");
  EXPECT_NE(import_from("there").out.find("0 runs imported, 2 exist already"), std::string::npos);
  EXPECT_EQ(import_from("fifth").code, 1);

  const Outcome csv = import_from("--as a/other --seed 1 run.csv");
  EXPECT_EQ(csv.code, 0) << csv.err;
  EXPECT_EQ(csv.out, "a/other: seed 1 imported\n");
  const Outcome report = program_.run("study report plan.toml --out study");
  EXPECT_EQ(report.code, 0) << report.err;
  const std::string table = read_file(program_.folder() / "study/tables/runs.csv");
  expect_words(table, {"a,other,GridChaos-v0:a,other,1,2,2,"});
  EXPECT_NE(program_.run("study status plan.toml --out study").out.find("1 of 1 cells finished"),
            std::string::npos);

  const Outcome merged = program_.run("study import plan.toml --out merged study");
  EXPECT_EQ(merged.out,
            "a / DSAC: 2 imported, 0 exist already\n"
            "a / other: 1 imported, 0 exist already\n"
            "3 runs imported, 0 exist already, 0 not imported, into merged\n");
  EXPECT_EQ(program_.run("study report plan.toml --out merged").code, 0);
  EXPECT_TRUE(read_file(program_.folder() / "merged/tables/runs.csv") == table);
}

TEST_F(SlowImportCommand, ImportsCurvesOfManyRuns) {
  std::ofstream(program_.folder() / "curves.csv")
      << "task,algorithm,seed,step,return\nGridChaos-v0:a,other,9,60,2\n";
  const Outcome curves = import_from("curves.csv");
  EXPECT_EQ(curves.code, 0) << curves.err;
  EXPECT_EQ(curves.out,
            "a / other: 1 imported, 0 exist already\n"
            "1 run imported, 0 exist already, 0 not imported, into study\n");
  EXPECT_EQ(import_from("curves.csv run.csv").code, 2);
}

TEST_F(SlowImportCommand, RefusesIncompleteCommands) {
  EXPECT_NE(import_from("run.csv").err.find("--as ROW/COLUMN --seed S"), std::string::npos);
  EXPECT_EQ(import_from("--as a/other run.csv").code, 2);
  EXPECT_EQ(import_from("--seed 0 run.csv").code, 2);
  EXPECT_EQ(import_from("nowhere").code, 2);
  EXPECT_EQ(import_from("").code, 2);
  EXPECT_EQ(import_from("--as a/DSAC --seed 0 run.csv").code, 2);
  EXPECT_EQ(import_from("--as a/other --seed 7 run.csv").code, 2);
  EXPECT_NE(import_from("--as a/othr --seed 0 run.csv").err.find("did you mean a/other?"),
            std::string::npos);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
