// The first things that a new user tries.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "run/progress_csv.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

const std::string kSmall =
    " --set network.hidden=[8,8] --set train.batch=8 --set train.warmup_steps=20"
    " --set train.steps_per_epoch=25 --set task.horizon=40 --set train.eval_steps=40 --threads 1 ";
const std::string kFirstRun = "train --task GridChaos-v0:s --algo dsac" + kSmall;

void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = read_file(file);
  ASSERT_NE(text.find(from), std::string::npos) << text;
  write_file_atomically(file, text.replace(text.find(from), from.size(), to));
}

TEST(FirstHour, RepeatedCommandsGetNumberedFolders) {
  const Program program;
  for (const char* folder :
       {"GridChaos-v0-s-dsac-0", "GridChaos-v0-s-dsac-0_2", "GridChaos-v0-s-dsac-0_3"}) {
    const Outcome outcome = program.run(kFirstRun + "--epochs 1");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(fs::exists(program.folder() / "runs" / folder / "summary.json")) << folder;
  }
}

TEST(FirstHour, ARepeatedCommandIsToldWhatContinuesTheRun) {
  const Program program;
  const std::string command = kFirstRun + "--epochs 2 --out run";
  ASSERT_EQ(program.run(command).code, 0);
  EXPECT_EQ(program.run(command).err,
            "ovde: folder run already holds a run; choose another (--out)\n");
  for (const char* file : {"summary.json", "state.json"})
    fs::remove(program.folder() / "run" / file);
  EXPECT_EQ(program.run(command).err,
            "ovde: folder run already holds a run; choose another (--out); "
            "ovde train --resume run continues it\n");

  const Outcome held = program.shell(
      "('" OVDE_PROGRAM "' " + kFirstRun + "--epochs 10000 --out held >/dev/null 2>&1 & pid=$!; " +
      wait_until("[ -e held/progress.csv ]") + "'" OVDE_PROGRAM "' " + kFirstRun +
      "--out held; code=$?; kill -9 $pid; exit $code)");
  EXPECT_EQ(held.code, 2);
  expect_words(held.err, {"another process (pid ", ") is writing the run in held"});
}

TEST(FirstHour, SeedsMayBeAList) {
  const Program program;
  const Outcome outcome = program.run(kFirstRun + "--epochs 1 --seeds 0,2-3");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* seed : {"seed_0", "seed_2", "seed_3"})
    EXPECT_TRUE(fs::exists(program.folder() / "runs/GridChaos-v0-s-dsac-0_2-3" / seed)) << seed;
  for (const char* bad : {"0,", ",1", "0,0", "1,x", "3-1,4"})
    EXPECT_EQ(program.run(kFirstRun + "--seeds " + bad).code, 2) << bad;
}

TEST(FirstHour, NSeedsTrainsThatManyAgents) {
  const Program program;
  const Outcome outcome = program.run(kFirstRun + "--epochs 1 --n-seeds 3 --out run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expect_words(outcome.out, {"3 agents (seeds 0 to 2)"});
  EXPECT_TRUE(fs::exists(program.folder() / "run/seed_2/summary.json"));
  const Outcome one = program.run(kFirstRun + "--epochs 1 --seeds 5 --out one");
  expect_words(one.err, {"--seeds 5 is the one seed 5; --n-seeds N trains N agents"});
}

TEST(FirstHour, AlgorithmNamesIgnoreCase) {
  const Program program;
  const std::string small = "train --task GridChaos-v0:s --epochs 1 " + kSmall;
  ASSERT_EQ(program.run(small + "--algo SAC --out a").code, 0);
  ASSERT_EQ(program.run(small + "--algo OVDE-G --out b").code, 0);
  expect_words(read_file(program.folder() / "a/config.toml"), {"algorithm = \"sac\""});
  expect_words(read_file(program.folder() / "b/config.toml"), {"algorithm = \"ovde_g\""});
}

TEST(FirstHour, TheFirstLinesTellLengthAndEvaluation) {
  const Program program;
  const Outcome outcome = program.run(kFirstRun + "--epochs 3 --out run");
  EXPECT_TRUE(outcome.out.starts_with(
      "dsac on GridChaos-v0:s, seed 0, into run\n"
      "3 epochs of 25 steps: 95 steps with the warm-up; evaluated for 40 steps after every epoch "
      "(1.6 times the training's steps)\n"))
      << outcome.out;
  const Outcome other = program.run(kFirstRun + "--epochs 4 --set train.eval_epochs=2 --out two");
  expect_words(other.out, {"evaluated for 40 steps after every 2 epochs (80 % of the training's"});
}

// A program built on the library has tasks that ovde does not know.
TEST(FirstHour, MessagesNameTheProgramThatRuns) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 2 --out run").code, 0);
  for (const char* file : {"summary.json", "policy.safetensors"})
    fs::remove(program.folder() / "run" / file);
  fs::remove_all(program.folder() / "run/checkpoints");
  const Outcome own = program.shell("ln -s '" OVDE_PROGRAM "' valve && ./valve eval run");
  expect_words(own.err, {"./valve train --resume run continues it"});
  expect_words(program.run("eval run").err, {"; ovde train --resume run continues it"});
}

TEST(FirstHour, APopulationIsEvaluatedAsATable) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 2 --seeds 3-5 --out run").code, 0);
  const Outcome all = program.run("eval run --episodes 2");
  ASSERT_EQ(all.code, 0) << all.err;
  expect_words(all.out, {"2 episodes of each of 3 agents of run", "seed 3", "seed 4", "seed 5",
                         "mean of the agents"});
  const Outcome one = program.run("eval run --agent 4 --episodes 1");
  expect_words(one.out, {"1 episode of run/seed_4\n"});
  EXPECT_EQ(one.out.find("deviation"), std::string::npos) << one.out;
  const Outcome json = program.run("eval run --json");
  EXPECT_EQ(std::ranges::count(json.out, '\n'), 3);
  EXPECT_EQ(nlohmann::json::parse(json.out.substr(0, json.out.find('\n'))).at("agent"), 3);
  expect_words(program.run("eval run --record x.html").err, {"need one agent"});
  EXPECT_EQ(program.run("eval run --agent median --record x.html --episodes 1").code, 0);
}

// Names, logs and notes cannot control the terminal.
TEST(FirstHour, TerminalEscapesAreNotPrinted) {
  const Program program;
  const Outcome trained =
      program.run(kFirstRun + "--epochs 1 --out \"$(printf 'a\\033]0;x\\007b')\"");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const fs::path run = program.folder() / "a\x1b]0;x\ab";
  std::vector<Outcome> outcomes = {trained, program.run("status *"), program.run("eval a*"),
                                   program.run("report a*"), program.run("compare a*")};
  fs::remove(run / "summary.json");
  outcomes.push_back(program.run("export a*"));
  write_file_atomically(
      run / "log.txt",
      read_file(run / "log.txt") + "2026-01-01T00:00:00Z error bad \x1b[31mred\xc2\x9b\n");
  outcomes.push_back(program.run("status *"));
  outcomes.push_back(program.run("$(printf 'x\\033[2J')"));
  for (const Outcome& outcome : outcomes) {
    for (const char* bad : {"\x1b", "\a", "\xc2\x9b"})
      EXPECT_EQ((outcome.out + outcome.err).find(bad), std::string::npos)
          << outcome.out << outcome.err;
  }
  expect_words(outcomes[1].out, {"a\\x1b]0;x\\x07b"});
}

TEST(FirstHour, StepsIncludeTheWarmUp) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--steps 121 --out run").code, 0);
  const auto rows = read_progress(program.folder() / "run");
  EXPECT_EQ(rows.size(), 5u);  // 20, and the least number of 25 that reaches 121
  EXPECT_EQ(rows.back().env_steps, 145);
  expect_words(program.run(kFirstRun + "--steps 20").err, {"--steps 20", "warm-up alone has 20"});
  EXPECT_EQ(program.run(kFirstRun + "--steps 100 --epochs 3").code, 2);
}

TEST(FirstHour, AFinishedRunCanBeExtended) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 3 --out run").code, 0);
  ASSERT_EQ(program.run(kFirstRun + "--epochs 6 --out whole").code, 0);
  const Outcome more = program.run("train --resume run --epochs 6");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_TRUE(read_file(program.folder() / "run/policy.safetensors") ==
              read_file(program.folder() / "whole/policy.safetensors"));
  // continued from its end, not trained again
  expect_words(read_file(program.folder() / "run/log.txt"), {"resumed after 3 epochs and "});
  EXPECT_EQ(program.run("train --resume run --steps 245").code, 0);  // 9 epochs
  EXPECT_EQ(read_progress(program.folder() / "run").size(), 9u);
  expect_words(program.run("train --resume run --epochs 5").err, {"it can be given more, not 5"});
  expect_words(program.run("train --resume run --epochs 9").err, {"is finished (9 epochs)"});
}

TEST(FirstHour, AnExtendedRunIsUnfinished) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 4 --set checkpoint.epochs=2 --out run").code, 0);
  ASSERT_EQ(program.run("train --resume run --epochs 8").code, 0);
  fs::remove(program.folder() / "run/summary.json");  // as if killed at the last moment
  expect_words(program.run("eval run").out, {"not finished", "of 8"});
  expect_words(program.run("export run").err, {"holds no policy yet"});

  ASSERT_EQ(program.run(kFirstRun + "--epochs 2 --out short").code, 0);
  fs::remove_all(program.folder() / "short/checkpoints");
  fs::create_directory(program.folder() / "short/checkpoints");
  expect_words(program.run("train --resume short --epochs 3").err,
               {"short cannot be trained for longer: it has no checkpoint"});
}

TEST(FirstHour, AnUnfinishedRunCanBeEvaluated) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 5 --set checkpoint.epochs=2 --out run").code, 0);
  const auto run = program.folder() / "run";
  for (const char* file : {"summary.json", "policy.safetensors"}) fs::remove(run / file);
  fs::remove(run / "checkpoints/checkpoint-3.ovde");  // as if killed in the fifth epoch

  const Outcome evaluated = program.run("eval run --episodes 2 --json");
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(nlohmann::json::parse(evaluated.out).at("unfinished_at_epoch"), 4);
  expect_words(program.run("eval run").out, {"not finished", "epoch 4 of 5"});
  const Outcome reported = program.run("report run");
  ASSERT_EQ(reported.code, 0) << reported.err;
  expect_words(reported.out, {"not finished: seed 0 of run: epoch 5 of 5", "report.html"});
  expect_words(read_file(run / "report.html"), {"Not finished"});

  fs::remove_all(run / "checkpoints");
  expect_words(program.run("eval run").err, {"holds no policy yet", "train --resume"});
}

TEST(FirstHour, ACheckpointActsAsThePolicy) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 4 --set checkpoint.epochs=2 --out run").code, 0);
  const auto numbers = [&] {
    auto json = nlohmann::json::parse(program.run("eval run --json").out);
    return std::pair(json.at("return_mean").get<double>(), json.at("length_mean").get<double>());
  };
  const auto finished = numbers();
  for (const char* file : {"summary.json", "policy.safetensors"})
    fs::remove(program.folder() / "run" / file);
  EXPECT_EQ(numbers(), finished);
}

TEST(FirstHour, APolicyFileCanBeEvaluatedAndExported) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 3 --out run").code, 0);
  for (const char* file : {"policy_best.safetensors", "networks/epoch_1.safetensors"}) {
    const std::string path = std::string("run/") + file;
    const Outcome outcome = program.run("eval " + path + " --episodes 1");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(program.run("export " + path).code, 0);
    EXPECT_TRUE(fs::exists(fs::path(program.folder() / path).replace_extension(".c")));
  }
}

// The task is registered by another program.
TEST(FirstHour, RunsOfUnknownTasksAreShown) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 2 --out run").code, 0);
  replace_in(program.folder() / "run/config.toml", "task = \"GridChaos-v0:s\"",
             "task = \"MyValve-v0:big\"");
  replace_in(program.folder() / "run/policy.safetensors", "GridChaos-v0:s", "MyValve-v0:big");
  replace_in(program.folder() / "run/config.toml", "radius =", "opening =");
  expect_words(program.run("status run").out, {"MyValve-v0:big", "finished", "2/2"});
  const Outcome exported = program.run("export run");
  EXPECT_EQ(exported.code, 0) << exported.err;
  const Outcome reported = program.run("report run");
  EXPECT_EQ(reported.code, 0) << reported.err;
  const Outcome evaluated = program.run("eval run");
  EXPECT_EQ(evaluated.code, 2);
  expect_words(evaluated.err, {"unknown task 'MyValve-v0'"});
}

TEST(FirstHour, StatusSummarisesAPopulation) {
  const Program program;
  ASSERT_EQ(program.run(kFirstRun + "--epochs 2 --seeds 0-2 --out run").code, 0);
  ASSERT_EQ(program.run(kFirstRun + "--epochs 2 --out alone").code, 0);
  fs::remove(program.folder() / "run/seed_1/summary.json");
  const Outcome outcome = program.run("status run alone");
  expect_words(outcome.out, {"run (3 agents)", "2 finished, 1 interrupted", "2/2"});
  EXPECT_EQ(outcome.out.find("alone ("), std::string::npos) << outcome.out;
}

TEST(FirstHour, UnplannedRunsAreCompared) {
  const Program program;
  for (const char* algorithm : {"sac", "dsac", "ovde_g"}) {
    ASSERT_EQ(program
                  .run(std::string("train --task GridChaos-v0:s --seeds 0-1 --epochs 3 --algo ") +
                       algorithm + " --out " + algorithm + kSmall)
                  .code,
              0);
  }
  const Outcome outcome = program.run("compare sac dsac ovde_g");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expect_words(outcome.out, {"sac  ", "ovde_g",
                             "GridChaos-v0:s, dsac against sac: no significant difference (p = ",
                             "no significant difference", "page: runs/compare/report.html"});
  const std::string page = read_file(program.folder() / "runs/compare/report.html");
  expect_words(page, {"<h1>sac, dsac, ovde_g</h1>", "GridChaos-v0:s", "tested against sac",
                      "First epoch at the goal"});
  EXPECT_TRUE(fs::exists(program.folder() / "runs/compare/tables/runs.csv"));
  expect_words(program.run("compare sac dsac").out, {"runs/compare_2/report.html"});
  ASSERT_EQ(program.run("train --resume dsac --epochs 4").code, 0);
  expect_words(program.run("compare sac dsac").out,
               {"tested against sac", "Numbers of epochs differ: sac 3, dsac 4."});
  expect_words(program.run("compare nowhere").err, {"nowhere is not a folder"});
  EXPECT_EQ(program.run("compare").code, 2);
}

TEST(FirstHour, StudyActionsRefuseUnusedOptions) {
  const Program program;
  expect_words(program.run("study report plan.toml --threads 2").err,
               {"unknown option '--threads'", "ovde study report --help"});
  expect_words(program.run("study status plan.toml --device cuda").err,
               {"unknown option '--device'"});
  expect_words(
      program.run("study").err,
      {"no action given", "run, work, cells, import, leaderboard, status, report, cancel"});
  expect_words(program.run("study rnu plan.toml").err, {"unknown action", "did you mean run?"});
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
