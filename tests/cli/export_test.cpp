// ovde export and ovde verify, from a run to a compiled program.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include <ovde/env.h>
#include <ovde/policy.h>
#include <ovde/train.h>
#include "cli/program.h"
#include "policy/export.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kExportedRun =
    "train --task GridChaos-v0:e --epochs 2 --set network.hidden=[8,5] --set train.batch=16 "
    "--set train.warmup_steps=50 --set train.steps_per_epoch=20 --set train.eval_steps=100 "
    "--set checkpoint.epochs=1 --threads 1 ";

TEST(SlowExport, CompiledSourceActsAsThePolicy) {
  const Program program;
  for (const std::string algorithm : {"ovde_g", "td3", "ids"}) {
    ASSERT_EQ(program.run(kExportedRun + "--algo " + algorithm + " --out " + algorithm).code, 0);
    const Outcome exported =
        program.run("export " + algorithm + " --name gait --out " + algorithm + ".c");
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_EQ(exported.err, "");
    EXPECT_NE(exported.out.find(algorithm + " on GridChaos-v0:e, as C: " + algorithm + ".c"),
              std::string::npos)
        << exported.out;
    expect_words(exported.out, {"void gait_act(const float* observation, float* action);"});

    write_file_atomically(program.folder() / "main.c", std::string(R"(
#include <stdio.h>
void gait_act(const float* observation, float* action);
int main(void) {
  const float observation[2] = {-3.5f, 1.25f};
  float action[2];
  gait_act(observation, action);
  printf("%.9g %.9g\n", action[0], action[1]);
  return 0;
}
)"));
    // -x for each: to g++ it is about one file
    const Outcome built =
        program.shell("'" OVDE_CXX "' -std=c99 -Wall -Wextra -Werror -x c main.c -x c " +
                      algorithm + ".c -o controller -lm && ./controller");
    ASSERT_EQ(built.code, 0) << built.err;

    Policy policy = Policy::load((program.folder() / algorithm / "policy.safetensors").string());
    double expected[2], found[2];
    policy.act(std::vector{-3.5, 1.25}, expected);
    std::istringstream(built.out) >> found[0] >> found[1];
    EXPECT_NEAR(found[0], expected[0], 1e-6) << algorithm;
    EXPECT_NEAR(found[1], expected[1], 1e-6) << algorithm;
  }
}

TEST(SlowExport, WritesIntoTheRunFolderByDefault) {
  const Program program;
  ASSERT_EQ(program.run(kExportedRun + "--algo sac --out run").code, 0);
  const Outcome exported = program.run("export run");
  EXPECT_EQ(exported.code, 0) << exported.err;
  const std::string text = read_file(program.folder() / "run/policy.c");
  expect_words(text, {"void ovde_policy_act(", "sac, seed 0, 2 epochs"});
}

TEST(SlowExport, ThePrintedCommandMakesAProgram) {
  const Program program;
  ASSERT_EQ(program.run(kExportedRun + "--algo sac --out run").code, 0);
  for (const std::string out : {"'my policy.c'", "policy"}) {
    const Outcome exported = program.run("export run --format c --out " + out);
    const auto begin = exported.out.find("cc -D"), end = exported.out.find(" makes a program");
    ASSERT_LT(begin, end) << exported.out << exported.err;
    const Outcome made = program.shell(exported.out.substr(begin, end - begin) + " && ./a.out");
    EXPECT_EQ(made.code, 0) << made.err;
  }
}

TEST(SlowExport, RefusesInOneLineAndWritesNothing) {
  const Program program;
  ASSERT_EQ(program.run(kExportedRun + "--algo sac --out run").code, 0);
  ASSERT_EQ(program.run(kExportedRun + "--algo sac --seeds 3-4 --out population").code, 0);
  ASSERT_EQ(
      program
          .shell(
              "cp -r run unfinished && rm unfinished/policy.safetensors unfinished/summary.json && "
              "cp -r run none && rm none/*.safetensors && "
              "cp -r run best && rm best/policy.safetensors && "
              "cp -r run damaged && echo nonsense > damaged/policy.safetensors && "
              "cp -r population partial && rm -r partial/seed_4 && "
              "mkdir nothing && echo mine > mine.c")
          .code,
      0);
  expect_refusals(
      {
          {"", {"DIR is required"}},
          {"nowhere", {"nowhere is not a folder"}},
          {"nothing", {"nothing holds no run"}},
          {"run/policy_bset.safetensors",
           {"run/policy_bset.safetensors is missing; run has policy.safetensors, "
            "policy_best.safetensors\n"}},
          {"best", {"best/policy.safetensors is missing; best has policy_best.safetensors\n"}},
          {"none/policy_best.safetensors",
           {"none/policy_best.safetensors is missing; none has no policies, which are written at "
            "the end of a run\n"}},
          {"population --agent 7",
           {"--agent 7: must be best, median, all or one of the seeds of population: 3, 4"}},
          {"partial --agent 4", {"or one of the seeds of partial: 3\n"}},
          {"population --agent all --out x.c", {"--out needs one agent"}},
          {"run --agent best", {"--agent: run is not a population"}},
          {"unfinished", {"unfinished holds no policy yet: it is at epoch 2 of 2"}},
          {"damaged", {"damaged/policy.safetensors"}},
          {"run --out mine.c", {"mine.c exists already; remove it or choose another name (--out)"}},
          {"run --format c --out nothing", {"nothing exists already"}},
          {"run --out mine.c/policy.c", {"cannot write to folder mine.c"}},
          {"run --format c --out ''", {"the file name is empty (--out)"}},
          {"run --out policy.pt", {"--out policy.pt: unknown extension '.pt'; valid: .c, .onnx"}},
          {"run --out policy", {"unknown extension ''"}},
          {"run --name 2nd", {"--name 2nd: must be letters, digits and underscores"}},
          {"run --name a-b", {"--name a-b"}},
          {"run --name ''", {"--name"}},
          {"run --nam x", {"did you mean --name?"}},
          {"run --format onx", {"unknown format 'onx' (did you mean onnx?)"}},
          {"run --format c --out policy.h", {"policy.h: the header would have the same name"}},
          {"run --out mine.onnx --format onnx --name 2nd", {"--name 2nd"}},
          {"run --out z.c --format onnx", {"'.c' is the extension of --format c, not of onnx"}},
      },
      program, "export ");
  EXPECT_EQ(read_file(program.folder() / "mine.c"), "mine\n");

  // eval needs the same file or a checkpoint, and gives the same message
  program.shell("rm -f unfinished/checkpoints/* population/seed_3/checkpoints/*");
  const Outcome evaluated = program.run("eval unfinished");
  EXPECT_EQ(evaluated.code, 2);
  expect_words(evaluated.err, {"unfinished holds no policy yet: it is at epoch 2 of 2; ovde train "
                               "--resume unfinished continues it"});
  // an agent is resumed with its population
  program.shell("rm population/seed_3/policy.safetensors population/seed_3/summary.json");
  const Outcome agent = program.run("eval population/seed_3");
  EXPECT_EQ(agent.code, 2);
  expect_words(agent.err, {"/population continues it"});
}

TEST(SlowExport, MissingFoldersAreCreated) {
  const Program program;
  ASSERT_EQ(program.run(kExportedRun + "--algo sac --out run").code, 0);
  const Outcome exported = program.run("export run --out no/such/gait.c");
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_TRUE(std::filesystem::exists(program.folder() / "no/such/gait.h"));
}

TEST(SlowExport, AgentsOfAPopulation) {
  const Program program;
  ASSERT_EQ(program.run(kExportedRun + "--algo sac --seeds 3-5 --out population").code, 0);
  std::vector<std::pair<double, std::string>> scores;
  for (const std::string seed : {"3", "4", "5"}) {
    const std::string summary =
        read_file(program.folder() / "population" / ("seed_" + seed) / "summary.json");
    scores.emplace_back(nlohmann::json::parse(summary).at("score"), seed);
  }
  std::ranges::stable_sort(scores, std::greater(), [](const auto& each) { return each.first; });
  const Outcome best = program.run("export population");
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_NE(best.out.find("seed " + scores[0].second + ": sac on"), std::string::npos) << best.out;
  const Outcome median = program.run("export population --agent median --out m.onnx");
  EXPECT_NE(median.out.find("seed " + scores[1].second + ": sac on"), std::string::npos)
      << median.out << median.err;
  EXPECT_EQ(program.run("verify m.onnx --run population/seed_" + scores[1].second).code, 0);
  const Outcome verified = program.run("verify m.onnx --run population");
  EXPECT_EQ(verified.code, 0) << verified.err;
  expect_words(verified.out,
               {"population/seed_" + scores[1].second + "/policy.safetensors has the"});
  ASSERT_EQ(program.run("export population --agent all --format onnx").code, 0);
  for (const std::string seed : {"3", "4", "5"})
    EXPECT_TRUE(std::filesystem::exists(program.folder() / "population" / ("seed_" + seed) /
                                        "policy.onnx"));
  program.shell("rm -r population/seed_" + scores[1].second);
  expect_words(program.run("verify m.onnx --run population").err,
               {"m.onnx has seed " + scores[1].second + ", and population has no agent with this"});
}

TEST(SlowExport, EveryFormatIsVerifiedAgainstItsRun) {
  const Program program;
  for (const std::string algorithm : {"ovde_q", "ovde_td3", "ids"}) {
    ASSERT_EQ(program.run(kExportedRun + "--algo " + algorithm + " --out " + algorithm).code, 0);
    const std::vector<std::pair<std::string, std::string>> formats = {
        {"c", "policy.c"}, {"onnx", "policy.onnx"}, {"safetensors", "policy_exported.safetensors"}};
    for (const auto& [format, name] : formats) {
      SCOPED_TRACE(algorithm + " " + format);
      const Outcome exported = program.run("export " + algorithm + " --format " + format);
      ASSERT_EQ(exported.code, 0) << exported.err;
      const std::string file = algorithm + "/" + name;
      EXPECT_NE(exported.out.find(file), std::string::npos) << exported.out;

      const Outcome verified = program.run("verify " + file);
      EXPECT_EQ(verified.code, 0) << verified.err;
      EXPECT_NE(verified.out.find(algorithm + " on GridChaos-v0:e, seed 0"), std::string::npos);
      expect_words(verified.out, {"16 tests agree", "policy.safetensors has the same bytes"});

      // elsewhere, it has its contract alone, unless the run is named
      ASSERT_EQ(program.shell("cp " + file + " taken").code, 0);
      EXPECT_NE(program.run("verify taken").out.find("not compared"), std::string::npos);
      EXPECT_EQ(program.run("verify taken --run " + algorithm).code, 0);

      // one bit of one weight
      std::string bytes = read_file(program.folder() / "taken");
      const std::size_t at = format == "c"      ? bytes.find("e-0", bytes.find("_weights_1[")) - 1
                             : format == "onnx" ? bytes.find(".1.weight") + 16
                                                : bytes.size() - 40;
      ASSERT_LT(at, bytes.size());
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
      write_file_atomically(program.folder() / "taken", bytes);
      const Outcome flipped = program.run("verify taken");
      EXPECT_EQ(flipped.code, 1);
      EXPECT_EQ(flipped.out, "");
      EXPECT_EQ(flipped.err,
                "ovde: taken was changed since it was exported: its checksum does not match\n");
    }
    // what comes out of a run can be played by the program itself
    EXPECT_EQ(program.run("eval " + algorithm + "/policy_exported.safetensors --episodes 1").code,
              0);
  }
  const Outcome best = program.run("export ids/policy_best.safetensors --out best.onnx");
  EXPECT_EQ(best.code, 0) << best.err;
  const Outcome verified = program.run("verify best.onnx --run ids");
  EXPECT_NE(verified.out.find("policy_best.safetensors has the same bytes"), std::string::npos)
      << verified.out << verified.err;
  const Outcome other = program.run("verify best.onnx --run ovde_q");
  EXPECT_EQ(other.code, 1);
  expect_words(other.err, {"best.onnx was not exported from ovde_q/config.toml"});
  EXPECT_EQ(program.run("verify").code, 2);
  EXPECT_EQ(program.run("verify nowhere").code, 2);
  EXPECT_EQ(program.run("verify ids/progress.csv").code, 2);
}

// A task that only this program knows.
class Valve final : public Env {
 public:
  int observation_size() const override { return 1; }
  const Box& action_space() const override { return actions_; }
  void reset(std::uint64_t, std::span<double> observation) override { observation[0] = 1; }
  Step step(std::span<const double> action, std::span<double> observation) override {
    observation[0] = action[0];
    return {.reward = -action[0]};
  }
  Signals signals() const override { return {{{"pressure", "bar"}}, {{"opening", ""}}, 50}; }

 private:
  Box actions_ = box(1, -2, 2);
};

TEST(SlowExport, PoliciesForTasksOfOtherProgramsAreVerified) {
  Task task;
  task.name = "Valve-v0";
  task.make = [](const OptionValues&) { return std::make_unique<Valve>(); };
  register_task(task);
  const Program program;
  const auto run = program.folder() / "run";
  train({.task = "Valve-v0",
         .settings = {"train.epochs=1", "train.steps_per_epoch=20", "task.horizon=10",
                      "train.warmup_steps=20", "train.eval_steps=10", "train.batch=8",
                      "network.hidden=[8]"},
         .folder = run,
         .threads = 1});
  for (const auto& [name, format] :
       {std::pair("valve.c", ExportFormat::c), std::pair("valve.onnx", ExportFormat::onnx)}) {
    export_policy({.run = run, .out = program.folder() / name, .format = format});
    const Outcome verified = program.run(std::string("verify ") + name + " --run run");
    EXPECT_EQ(verified.code, 0) << name << ": " << verified.err;
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
