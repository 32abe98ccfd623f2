// Runs made elsewhere in a study's report: of this program, by their settings, and another's.
#include "study/execute/import_runs.h"

#include <fstream>
#include <functional>
#include <map>
#include <regex>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <ovde/error.h>

#include "config/config.h"
#include "io/files.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_state.h"
#include "study/analyse/imported_run.h"
#include "study/analyse/results.h"
#include "study/execute/run_small_study.h"
#include "study/plot/gnuplot.h"
#include "study/report/report.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// `more` is added after the column OVDE.
Plan plan_of(const std::string& seeds, const std::string& more = "") {
  return parse_plan(
      SmallStudy{.seeds = seeds,
                 .head = "measures = [\"score\", \"frg\", \"runtime\"]\nshow = [\"curves\"]\n",
                 .rows = {"a"},
                 .more = "set = { explore.alpha = 0.2 }\n" + more}
          .text(),
      "plan.toml");
}

const std::string kOtherProgram = "[[column]]\nname = \"other's SAC\"\nimported = true\n";

// Every file below, by its path, with its bytes and when it was written.
auto snapshot(const fs::path& folder) {
  std::map<std::string, std::pair<std::string, fs::file_time_type>> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      all[fs::relative(entry.path(), folder).string()] = {read_file(entry.path()),
                                                          entry.last_write_time()};
  }
  return all;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// A report's table without wall times, the ninth field of each line.
std::string without_times(const std::string& table) {
  static const std::regex time("((?:[^,\n]*,){8})[^,\n]*");
  return std::regex_replace(table, time, "$1");
}

class SlowImportRuns : public testing::Test {
 protected:
  // A run of the plan's first cell, or of what `more` makes of it, that nobody trained.
  fs::path make_run(const std::string& name, std::uint64_t seed, double returns,
                    const std::vector<Setting>& more = {}, int rows = 4) {
    std::vector<Setting> settings = expand(plan_of("0")).front().settings;
    settings.push_back({"run.seed", static_cast<double>(seed), ""});
    settings.insert(settings.end(), more.begin(), more.end());
    const fs::path folder = folder_.path() / name;
    make_folder(folder);
    write_config(folder, resolve_config(settings), "test");
    std::vector<EpochRow> all(static_cast<std::size_t>(rows));
    for (int i = 0; i < rows; ++i) {
      all[i].epoch = i;
      all[i].eval_return_mean = returns;
      all[i].seconds = i + 1;
    }
    ProgressFile(folder, all);
    if (rows == 4) write_summary(folder, summarise(all));
    return folder;
  }

  fs::path write_csv(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }

  ImportOutcome import_all(const Plan& plan, const std::vector<fs::path>& from) {
    return import_runs(plan, study_, from, "test");
  }

  TemporaryFolder folder_;
  const fs::path study_ = folder_.path() / "study";
};

TEST_F(SlowImportRuns, MergedSeedRangesGiveTheSameTables) {
  const fs::path whole = folder_.path() / "whole", first = folder_.path() / "first",
                 second = folder_.path() / "second";
  const Plan plan = plan_of("0-3");
  run(plan, whole);
  run(plan_of("0-1"), first);
  run(plan_of("2-3"), second);
  const ImportOutcome outcome = import_all(plan, {second, first});
  EXPECT_EQ(outcome.taken(), 8);
  EXPECT_TRUE(outcome.foreign.empty() && outcome.refused.empty());
  EXPECT_EQ(names_in(study_ / "a/OVDE/seed_3"),
            (std::vector<std::string>{"config.toml", "progress.csv", "summary.json"}));

  write_report(read_results(plan, whole), whole);
  write_report(read_results(plan, study_), study_);
  for (const char* table : {"score.md", "score.tex", "frg.md", "cells.csv", "tests.csv"})
    EXPECT_EQ(read_file(study_ / "tables" / table), read_file(whole / "tables" / table)) << table;
  EXPECT_EQ(without_times(read_file(study_ / "tables/runs.csv")),
            without_times(read_file(whole / "tables/runs.csv")));
}

TEST_F(SlowImportRuns, AMergedStudyIsByteIdentical) {
  const fs::path whole = folder_.path() / "whole";
  const Plan plan = plan_of("0-3");
  run(plan, whole);
  EXPECT_EQ(import_all(plan_of("0-1"), {whole}).taken(), 4);
  EXPECT_EQ(import_all(plan_of("2-3"), {whole}).taken(), 4);
  write_report(read_results(plan, whole), whole);
  write_report(read_results(plan, study_), study_);
  for (const auto& entry : fs::directory_iterator(whole / "tables")) {
    const fs::path name = entry.path().filename();
    EXPECT_EQ(read_file(study_ / "tables" / name), read_file(entry.path())) << name;
  }
}

// Imported runs are not trained again; further seeds are.
TEST_F(SlowImportRuns, AStudyContinuesWithImportedRuns) {
  const fs::path elsewhere = folder_.path() / "elsewhere";
  run(plan_of("0-1"), elsewhere);
  import_all(plan_of("0-2"), {elsewhere});
  struct : StudySink {
    void epoch_done(const Cell&, double) override { ++epochs; }
    int epochs = 0;
  } sink;
  const StudyOutcome outcome = run_study({.plan = plan_of("0-2"), .out = study_}, sink);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(sink.epochs, 2 * 4);
  EXPECT_EQ(read_results(plan_of("0-2"), study_).find("a", "OVDE").runs.size(), 3u);
}

TEST_F(SlowImportRuns, OtherRunsAreLeftWithTheReason) {
  make_run("from/discount", 0, 1, {{"train.discount", 0.5, ""}});
  make_run("from/seed", 9, 1);
  make_run("from/task", 0, 1, {{"run.task", "GridChaos-v0:s", ""}, {"task.horizon", 20.0, ""}});
  make_run("from/own", 1, 1);
  const ImportOutcome outcome = import_all(plan_of("0-1"), {folder_.path() / "from"});
  EXPECT_EQ(outcome.taken(), 1);
  ASSERT_EQ(outcome.foreign.size(), 3u);
  expect_words(outcome.foreign[0].why, {"train.discount = 0.99, was 0.5"});
  expect_words(outcome.foreign[1].why, {"no seed 9 in a / DSAC"});
  EXPECT_EQ(names_in(study_ / "a"), std::vector<std::string>{"DSAC"});
  EXPECT_EQ(names_in(study_ / "a/DSAC"), (std::vector<std::string>{"population.toml", "seed_1"}));
}

TEST_F(SlowImportRuns, ImportedTwiceChangesNothing) {
  const std::vector<fs::path> runs = {make_run("r0", 0, 1), make_run("r1", 1, 2)};
  EXPECT_EQ(import_all(plan_of("0-1"), runs).taken(), 2);
  const auto before = snapshot(study_);
  const ImportOutcome again = import_all(plan_of("0-1"), runs);
  EXPECT_EQ(again.taken(), 0);
  EXPECT_EQ(again.already_there(), 2);
  EXPECT_EQ(snapshot(study_), before);
}

TEST_F(SlowImportRuns, ARunThatIsThereIsNeverReplaced) {
  import_all(plan_of("0-1"), {make_run("r0", 0, 1)});
  const auto before = snapshot(study_);
  const ImportOutcome outcome =
      import_all(plan_of("0-1"), {make_run("another", 0, 5), make_run("half", 1, 5, {}, 2)});
  EXPECT_EQ(outcome.taken(), 0);
  ASSERT_EQ(outcome.refused.size(), 2u);
  expect_words(outcome.refused[0].why, {"another run of seed 0"});
  expect_words(outcome.refused[1].why, {"not finished: epoch 2 of 4"});
  EXPECT_EQ(snapshot(study_), before);
}

// A cell of one seed is a run without a population; the second makes it one.
TEST_F(SlowImportRuns, ASingleRunIsJoined) {
  make_folder(study_ / "a");
  fs::rename(make_run("r0", 0, 1), study_ / "a/DSAC");
  EXPECT_EQ(import_all(plan_of("0-1"), {make_run("r1", 1, 3)}).taken(), 1);
  EXPECT_EQ(read_results(plan_of("0-1"), study_).find("a", "DSAC").scores(),
            (std::vector<double>{1, 3}));
}

TEST_F(SlowImportRuns, RunsOfAnotherPlanAreNotJoined) {
  make_folder(study_ / "a");
  fs::rename(make_run("r0", 0, 1, {{"train.discount", 0.5, ""}}), study_ / "a/DSAC");
  const auto before = snapshot(study_);
  const ImportOutcome outcome = import_all(plan_of("0-1"), {make_run("r1", 1, 3)});
  ASSERT_EQ(outcome.refused.size(), 1u);
  expect_words(outcome.refused[0].why, {"other settings"});
  EXPECT_EQ(snapshot(study_), before);
}

TrainConfig four_epochs() {
  TrainConfig train;
  train.epochs = 4;
  train.steps_per_epoch = train.warmup_steps = 20;
  return train;
}

TEST(ImportedRun, EvaluationsBelongToTheEpochThatTheyEnd) {
  const TrainConfig train = four_epochs();
  const auto rows = parse_imported(
      "wall,step,return,seconds\r\n,20,-9,0\n,30,1,1\n,40,3,2\n,41,5,3\n\n,100,7,4\n,101,99,5\n",
      "file", train);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].eval_return_mean, 2);
  EXPECT_EQ(rows[1].eval_return_mean, 5);
  EXPECT_TRUE(std::isnan(rows[2].eval_return_mean));
  EXPECT_EQ(rows[3].eval_return_mean, 7);
  EXPECT_EQ(rows[3].env_steps, 100);
  EXPECT_EQ(rows[3].seconds, 4);
  EXPECT_TRUE(std::isnan(rows[3].eval_success));
}

TEST(ImportedRun, IncompleteFilesAreRefused) {
  const TrainConfig train = four_epochs();
  const auto refusal = [&](const std::string& text) {
    return message_of([&] { parse_imported(text, "file", train); });
  };
  EXPECT_NE(refusal("time,reward\n1,2\n").find("columns step and return"), std::string::npos);
  EXPECT_NE(refusal("step,return\n40,x\n").find("file:2: return must be a number"),
            std::string::npos);
  EXPECT_NE(refusal("step,return\n40,nan\n").find("must be a number"), std::string::npos);
  EXPECT_EQ(refusal("step,return\n40\n"), "file:2: has 1 field, the first line 2");
  EXPECT_EQ(refusal("step,return\n40,0,5\n"), "file:2: has 3 fields, the first line 2");
  EXPECT_EQ(refusal("step,return,step\n40,1,40\n"), "file:1: the column 'step' appears twice");
  EXPECT_EQ(refusal("step,return,success\n40,1,2\n"),
            "file:2: success must be a share from 0 to 1");
  EXPECT_EQ(refusal("step,return,seconds\n40,1,-2\n"), "file:2: seconds must not be negative");
  EXPECT_EQ(refusal("step,return\n\"40,1\n"), "file:2: a quote is not closed");
  EXPECT_NE(refusal("step,return\n40,1\n30,1\n").find("file:3: step must not decrease"),
            std::string::npos);
  EXPECT_NE(refusal("step,return\n40,1\n60,1\n").find("at step 60"), std::string::npos);
  for (const char* none : {"step,return\n", "step,return\n5,1\n", "step,return\n1e9,1\n"})
    EXPECT_EQ(refusal(none),
              "file: it has no evaluation that counts; a run of this cell has steps 21 to 100");
  EXPECT_NE(refusal("").find("columns step and return; it has ''"), std::string::npos);
  EXPECT_EQ(refusal("step,return\n40,1\n90,1\n"), "");
}

// Two runs and one of an algorithm that the plan does not have, the lines of both mixed.
TEST_F(SlowImportRuns, CurvesOfManyRunsComeFromOneFile) {
  const Plan plan = plan_of("0-1", kOtherProgram);
  const fs::path file = write_csv("curves.csv",
                                  "algorithm,task,seed,step,return\n"
                                  "other's SAC,GridChaos-v0:a,3000,40,1\n"
                                  "PPO,GridChaos-v0:a,0,40,9\n"
                                  "other's SAC,GridChaos-v0:a,500,40,3\n"
                                  "other's SAC,GridChaos-v0:a,3000,100,5\n"
                                  "other's SAC,GridChaos-v0:a,500,100,7\n");
  const ImportOutcome outcome = import_curves(plan, study_, file);
  EXPECT_EQ(outcome.taken(), 2);
  ASSERT_EQ(outcome.foreign.size(), 1u);  // PPO
  EXPECT_EQ(outcome.foreign[0].why,
            "GridChaos-v0:a/PPO, 1 run: the plan has no imported column for it");
  EXPECT_EQ(import_curves(plan, study_, file).already_there(), 2);
  EXPECT_EQ(read_file(study_ / "a/other-s-SAC/seed_0/imported.csv"), "step,return\n40,3\n100,7\n");
  EXPECT_EQ(read_file(study_ / "a/other-s-SAC/seed_1/imported.csv"), "step,return\n40,1\n100,5\n");

  const auto refusal = [&](const std::string& run) {
    const std::string text = "algorithm,task,seed," + run;
    return import_curves(plan, study_, write_csv("again.csv", text)).refused.at(0).why;
  };
  const std::string line = "other's SAC,GridChaos-v0:a,500,";
  EXPECT_NE(refusal("step,return,success\n" + line + "40,3,0\n" + line + "100,7,1\n")
                .find("seed_0/imported.csv exists already and differs: line 1 is 'step,return', in "
                      "the new file 'step,return,success'; remove it to import this run"),
            std::string::npos);
  EXPECT_NE(refusal("step,return\n" + line + "40,3\n" + line + "100,8\n")
                .find("line 3 is '100,7', in the new file '100,8'"),
            std::string::npos);
  EXPECT_NE(refusal("step,return\n" + line + "100,7\n").find("line 2 is '40,3', in"),
            std::string::npos);
  EXPECT_NE(refusal("step,return\n" + line + "40,3\n" + line + "100,7\n" + line + "100,7\n")
                .find("line 4 is only in the new file"),
            std::string::npos);

  const ImportOutcome less = import_curves(plan_of("0", kOtherProgram), study_, file);
  EXPECT_EQ(less.already_there(), 1);
  ASSERT_EQ(less.refused.size(), 1u);
  EXPECT_EQ(less.refused[0].why, "a / other's SAC, seed 3000: the plan has no seed left for it");
}

// Two rows have the same task.
TEST_F(SlowImportRuns, CurvesMayNameTheirRow) {
  const Plan plan =
      plan_of("0-1", kOtherProgram + "[[row]]\nname = \"far\"\ntask = \"GridChaos-v0:a\"\n");
  const ImportOutcome outcome =
      import_curves(plan, study_,
                    write_csv("curves.csv",
                              "row,algorithm,task,seed,step,return,success\n"
                              "far,other's SAC,GridChaos-v0:a,1,100,1,0.5\n"
                              "a,other's SAC,GridChaos-v0:a,1,100,2,0\n"
                              ",other's SAC,GridChaos-v0:a,2,100,3,1\n"
                              "near,other's SAC,GridChaos-v0:a,1,100,4,0\n"));
  EXPECT_EQ(outcome.taken(), 4);
  ASSERT_EQ(outcome.foreign.size(), 1u);
  EXPECT_EQ(outcome.foreign[0].why,
            "near: GridChaos-v0:a/other's SAC, 1 run: the plan has no imported column for it");
  const StudyResults results = read_results(plan, study_);
  EXPECT_EQ(results.find("a", "other's SAC").scores(), (std::vector<double>{3, 2}));
  EXPECT_EQ(results.find("far", "other's SAC").scores(), (std::vector<double>{3, 1}));
  EXPECT_EQ(results.find("far", "other's SAC").reached_goal(), 2);
}

TEST_F(SlowImportRuns, AFileOfCurvesIsRefusedWithItsLine) {
  const Plan plan = plan_of("0-1", kOtherProgram);
  const auto refusal = [&](const std::string& text) {
    const std::string what =
        message_of([&] { import_curves(plan, study_, write_csv("bad.csv", text)); });
    EXPECT_TRUE(has(what, "bad.csv")) << what;
    return what.substr(std::min(what.find("bad.csv"), what.size()));
  };
  const std::string header = "algorithm,task,seed,step,return\n",
                    run = "other's SAC,GridChaos-v0:a,";
  EXPECT_TRUE(refusal("step,return\n100,7\n").starts_with("bad.csv: curves of many runs have"));
  EXPECT_EQ(refusal(header), "bad.csv: it has no evaluation");
  EXPECT_EQ(refusal(header + run + "0,100,1\n" + run + "x,1,2\n"),
            "bad.csv:3: seed must be a whole number");
  EXPECT_EQ(refusal(header + run + "0,100,1\n" + run + "1,100,1\n" + run + "0,90,1\n"),
            "bad.csv:4: step must not decrease");
  EXPECT_EQ(refusal(header + run + "0,100,1\n" + run + "1,100,\n"),
            "bad.csv:3: return must be a number");
  EXPECT_FALSE(fs::exists(study_));
}

TEST_F(SlowImportRuns, TheNearestColumnIsNamed) {
  const std::string text = "algorithm,task,seed,step,return\nothers SAC,GridChaos-v0:a,0,100,1\n";
  const ImportOutcome outcome =
      import_curves(plan_of("0-1", kOtherProgram), study_, write_csv("near.csv", text));
  ASSERT_EQ(outcome.foreign.size(), 1u);
  expect_words(outcome.foreign[0].why, {"no imported column for it (did you mean other's SAC?)"});
}

TEST_F(SlowImportRuns, AnotherProgramsRunsAreInTheTablesAndTheCurves) {
  const Plan plan = plan_of("0-1", kOtherProgram);
  const auto csv = [&](const std::string& last) {
    return write_csv("run.csv", "step,return\n40,1\n60,2\n80,3\n100," + last + "\n");
  };
  EXPECT_TRUE(import_csv(plan, study_, "a/other's SAC", 0, csv("40")));
  EXPECT_FALSE(import_csv(plan, study_, "a/other's SAC", 0, csv("40")));
  EXPECT_THROW(import_csv(plan, study_, "a/other's SAC", 0, csv("41")), InputError);
  EXPECT_TRUE(import_csv(plan, study_, "a/other-s-SAC", 1, csv("60")));
  EXPECT_THROW(import_csv(plan, study_, "a/other's SAC", 2, csv("60")), InputError);
  EXPECT_THROW(import_csv(plan, study_, "a/DSAC", 0, csv("60")), InputError);
  EXPECT_THROW(import_csv(plan, study_, "b/DSAC", 0, csv("60")), InputError);

  StudySink silent;
  EXPECT_EQ(run_study({.plan = plan, .out = study_}, silent).cells, 2);
  const StudyResults results = read_results(plan, study_);
  EXPECT_TRUE(results.notes.empty());
  EXPECT_EQ(results.find("a", "other's SAC").scores(), (std::vector<double>{40, 60}));
  write_report(results, study_);
  EXPECT_NE(read_file(study_ / "tables/score.md").find("50.00 ± 14.14"), std::string::npos);
  EXPECT_NE(read_file(study_ / "tables/runs.csv")
                .find("a,other's SAC,GridChaos-v0:a,other's SAC,1,"
                      "4,60,"),
            std::string::npos);
  EXPECT_NE(read_file(study_ / "tables/runtime.md").find("not measured"), std::string::npos);
  EXPECT_NE(read_file(study_ / "report.html").find("runs of another program"), std::string::npos);
  if (!has_gnuplot()) return;
  EXPECT_NE(read_file(study_ / "figures/curves.svg").find("other's SAC"), std::string::npos);
}

// Its steps 21 to 100 are the four epochs of the plan.
TEST_F(SlowImportRuns, TheFirstEpochsOfARunNeedAnEvaluation) {
  const Plan plan = plan_of("0", kOtherProgram);
  import_csv(plan, study_, "a/other's SAC", 0, write_csv("run.csv", "step,return\n80,1\n100,2\n"));
  EXPECT_EQ(read_results(plan, study_, 2).notes,
            (std::vector<std::string>{"a / other's SAC: seed 0 has no evaluation in the first 2 "
                                      "epochs; the first 3 have one"}));
  const StudyResults three = read_results(plan, study_, 3);
  EXPECT_TRUE(three.notes.empty());
  EXPECT_EQ(three.find("a", "other's SAC").runs.size(), 1u);
}

// A run that never reached the goal is tested, one that recorded no goal is not.
TEST_F(SlowImportRuns, TheTableOfRunsKnowsGoalsThatWereNeverReached) {
  const Plan plan =
      plan_of("0", kOtherProgram + "[[column]]\nname = \"no goal\"\nimported = true\n");
  import_all(plan, {make_run("r0", 0, 1)});
  import_csv(plan, study_, "a/other's SAC", 0,
             write_csv("0.csv", "step,return,success\n100,1,0\n"));
  import_csv(plan, study_, "a/no goal", 0, write_csv("1.csv", "step,return\n100,1\n"));
  StudyResults results = read_results(plan, study_);
  RunResult& own = results.cells.front().runs.front();
  own.has_goal = own.knows_explore = true;
  own.first_goal_epoch_explore = 2;
  write_report(results, study_);
  const StudyResults again = results_of_table(plan, study_ / "tables/runs.csv");
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    EXPECT_EQ(again.cells[i].has_goal(), results.cells[i].has_goal()) << i;
    EXPECT_EQ(again.cells[i].explored_goal(), results.cells[i].explored_goal()) << i;
  }
  EXPECT_EQ(again.cells.front().explored_goal(), 1);
  EXPECT_TRUE(again.find("a", "other's SAC").has_goal());
  EXPECT_FALSE(again.find("a", "no goal").has_goal());
}

TEST(ImportedColumn, HasItsOwnFolderAndNoSettings) {
  const std::string first =
      "[[column]]\nname = \"other's\"\nalgorithm = \"dsac\"\nimported = true\n";
  const std::string second = "[[column]]\nname = \"third\"\nimported = true\n";
  const auto cells = expand(plan_of("0", first + second));
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[2].folder, "a/other-s");
  EXPECT_EQ(cells[3].folder, "a/third");
  EXPECT_TRUE(cells[3].imported);
  EXPECT_THROW(plan_of("0", first + "set = { train.batch = 2 }\n"), InputError);
  EXPECT_THROW(plan_of("0", "[[column]]\nimported = true\n"), InputError);
}

// Files that another program may have put into a run's folder.
TEST_F(SlowImportRuns, LinksThatLeaveTheFolderAndOtherFilesAreRefused) {
  const fs::path outside = make_run("outside", 0, 1);
  const auto refused = [&](const std::string& name, const std::string& why,
                           const std::function<void(const fs::path&)>& spoil) {
    const fs::path run = make_run("from_" + name + "/run", 0, 1);
    make_folder(run / "replays");
    spoil(run);
    const fs::path study = folder_.path() / ("study_" + name);
    const std::vector<fs::path> from = {run.parent_path()};
    const ImportOutcome outcome = import_runs(plan_of("0"), study, from, "test");
    ASSERT_EQ(outcome.refused.size(), 1u) << name;
    EXPECT_NE(outcome.refused[0].why.find(why), std::string::npos) << outcome.refused[0].why;
    EXPECT_FALSE(fs::exists(study / "a/DSAC/seed_0")) << name;
  };
  refused("file", "leads out of", [&](const fs::path& run) {
    fs::remove(run / "progress.csv");
    fs::create_symlink(outside / "progress.csv", run / "progress.csv");
  });
  refused("run", "leads out of", [&](const fs::path& run) {
    fs::remove_all(run);
    fs::create_directory_symlink(outside, run);
  });
  refused("replay", "leads out of",
          [&](const fs::path& run) { fs::create_symlink("/etc/passwd", run / "replays/x.json"); });
  refused("pipe", "not a regular file", [&](const fs::path& run) {
    fs::remove(run / "summary.json");
    ASSERT_EQ(::mkfifo((run / "summary.json").c_str(), 0600), 0);
  });
  refused("large", "larger than", [&](const fs::path& run) {
    std::ofstream(run / "replays/x.json") << "{}";
    fs::resize_file(run / "replays/x.json", std::uintmax_t{3} << 30);  // sparse
  });
  // a link that stays inside is followed
  const fs::path run = make_run("inside/run", 0, 1);
  fs::rename(run / "progress.csv", run.parent_path() / "elsewhere.csv");
  fs::create_symlink("../elsewhere.csv", run / "progress.csv");
  const std::vector<fs::path> from = {run.parent_path()};
  EXPECT_EQ(import_runs(plan_of("0"), folder_.path() / "study", from, "test").taken(), 1);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
