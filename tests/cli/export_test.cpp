// ovde export, from a run to a program that acts.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include <ovde/policy.h>
#include "cli/program.h"

namespace ovde {
namespace {

const std::string kTrain =
    "train --task GridChaos-v0:e --epochs 2 --set network.hidden=[8,5] --set train.batch=16 "
    "--set train.warmup_steps=50 --set train.steps_per_epoch=20 --set train.eval_steps=100 "
    "--set checkpoint.epochs=1 --threads 1 ";

TEST(Export, ACompilerMakesTheRunsPolicyOfIt) {
  const Program program;
  for (const std::string algorithm : {"ovde_g", "td3", "ids"}) {
    ASSERT_EQ(program.run(kTrain + "--algo " + algorithm + " --out " + algorithm).code, 0);
    const Outcome exported =
        program.run("export " + algorithm + " --name gait --out " + algorithm + ".c");
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_EQ(exported.err, "");
    EXPECT_NE(exported.out.find(algorithm + " on GridChaos-v0:e, as C: " + algorithm + ".c"),
              std::string::npos)
        << exported.out;
    EXPECT_NE(exported.out.find("void gait_act(const float* observation, float* action);"),
              std::string::npos);

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

TEST(Export, WritesIntoTheRunsFolderUnlessToldOtherwise) {
  const Program program;
  ASSERT_EQ(program.run(kTrain + "--algo sac --out run").code, 0);
  const Outcome exported = program.run("export run");
  EXPECT_EQ(exported.code, 0) << exported.err;
  const std::string text = read_file(program.folder() / "run/policy.c");
  EXPECT_NE(text.find("void ovde_policy_act("), std::string::npos);
  EXPECT_NE(text.find("sac, seed 0, 2 epochs"), std::string::npos);
}

TEST(Export, RefusesInOneLineAndWritesNothing) {
  const Program program;
  ASSERT_EQ(program.run(kTrain + "--algo sac --out run").code, 0);
  ASSERT_EQ(program.run(kTrain + "--algo sac --seeds 3-4 --out population").code, 0);
  ASSERT_EQ(
      program
          .shell(
              "cp -r run unfinished && rm unfinished/policy.safetensors unfinished/summary.json && "
              "cp -r run damaged && echo nonsense > damaged/policy.safetensors && "
              "mkdir nothing && echo mine > mine.c")
          .code,
      0);
  const auto before = program.files();

  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {"", 2, "DIR is required"},
      {"nowhere", 2, "nowhere is not a folder"},
      {"nothing", 2, "nothing holds no run"},
      {"population", 2,
       "population holds 2 agents; name the folder of one, such as population/seed_3"},
      {"unfinished", 2, "unfinished holds no policy yet: it is at epoch 2 of 2"},
      {"damaged", 2, "damaged/policy.safetensors"},
      {"run --out mine.c", 2, "mine.c exists already; remove it, or choose another (--out)"},
      {"run --out nothing", 2, "nothing exists already"},
      {"run --out no/such/folder.c", 2, "cannot write to folder no/such: No such file"},
      {"run --out ''", 2, "the source file needs a name (--out)"},
      {"run --name 2nd", 2, "--name 2nd: must be letters, digits and underscores"},
      {"run --name a-b", 2, "--name a-b"},
      {"run --name ''", 2, "--name"},
      {"run --nam x", 2, "did you mean --name?"},
  };
  for (const auto& [arguments, code, words] : cases) {
    const Outcome outcome = program.run("export " + arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << arguments << ": " << outcome.err;
  }
  EXPECT_EQ(program.files(), before);
  EXPECT_EQ(read_file(program.folder() / "mine.c"), "mine\n");

  // evaluation needs the same file, or a checkpoint, and says the same
  program.shell("rm -f unfinished/checkpoints/* population/seed_3/checkpoints/*");
  const Outcome evaluated = program.run("eval unfinished");
  EXPECT_EQ(evaluated.code, 2);
  EXPECT_NE(evaluated.err.find("unfinished holds no policy yet: it is at epoch 2 of 2; ovde train "
                               "--resume unfinished goes on"),
            std::string::npos)
      << evaluated.err;
  // an agent is resumed with its population
  program.shell("rm population/seed_3/policy.safetensors population/seed_3/summary.json");
  const Outcome agent = program.run("eval population/seed_3");
  EXPECT_EQ(agent.code, 2);
  EXPECT_NE(agent.err.find("/population goes on"), std::string::npos) << agent.err;
}

}  // namespace
}  // namespace ovde
