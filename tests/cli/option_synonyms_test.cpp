// Option names of Stable-Baselines3, CleanRL and Gymnasium: accepted where the meaning is the same,
// otherwise explained. docs/words.md lists the same names.
#include <gtest/gtest.h>

#include "cli/option_synonyms.h"
#include "cli/program.h"
#include "config/config.h"
#include "config/synonyms.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kShort =
    " --set network.hidden=[8,8] --set train.steps_per_epoch=25 --set task.horizon=40"
    " --set train.eval_steps=40 --threads 1 --out run ";

struct Accepted {
  std::string command, line;  // the expected line of config.toml
};

TEST(OptionSynonyms, EquivalentNamesAreAccepted) {
  const std::string grid = "--task GridChaos-v0:s --algo sac --epochs 1 ";
  for (const Accepted& each : std::vector<Accepted>{
           {"--env GridChaos-v0:s --algo sac --epochs 1", "task = \"GridChaos-v0:s\""},
           {"--env-id GridChaos-v0:s --algo sac --epochs 1", "task = \"GridChaos-v0:s\""},
           {"--task GridChaos-v0 --algorithm sac --epochs 1", "algorithm = \"sac\""},
           {"--task GridChaos-v0 --algo sac --total-timesteps 300 --set train.warmup_steps=256",
            "epochs = 2"},
           {grid + "--batch-size 64", "batch = 64"},
           {grid + "--batch_size=64", "batch = 64"},
           {grid + "--buffer-size 5000", "replay = 5000"},
           {grid + "--gamma 0.98", "discount = 0.98"},
           {grid + "--tau 0.01", "polyak = 0.01"},
           {grid + "--learning-rate 0.001", "learning_rate = 0.001"},
           {grid + "--lr 0.001", "learning_rate = 0.001"},
           {grid + "--learning-starts 300", "warmup_steps = 300"},
           {grid + "--set net_arch=[4,4]", "hidden = [4, 4]"},
           {grid + "--set gamma=0.9", "discount = 0.9"},
           {grid + "--set train.batch_size=32", "batch = 32"},
           {"--task GridChaos-v0 --algo td3 --epochs 1 --exploration-noise 0.3", "noise = 0.3"},
           {"--task GridChaos-v0 --algo sac --epochs 1 --num-envs 8", "envs = 8"},
       }) {
    const Program program;
    const Outcome outcome = program.run("train " + kShort + each.command);
    EXPECT_EQ(outcome.code, 0) << each.command << ": " << outcome.err;
    if (outcome.code != 0) continue;
    const std::string config = read_file(program.folder() / "run/config.toml");
    EXPECT_NE(config.find("\n" + each.line + "\n"), std::string::npos) << each.command << config;
  }
}

TEST(OptionSynonyms, OtherNamesAreExplained) {
  const std::string grid = "--task GridChaos-v0:s --algo sac ";
  expect_refusals(
      {
          {"--task HalfCheetah-v5 --algo sac", {"unknown task 'HalfCheetah-v5'", "HalfCheetah-v4"}},
          {"--task HumanoidStandup-v4 --algo sac",
           {"unknown task 'HumanoidStandup-v4'", "valid: GridChaos-v0"}},
          {grid + "--ent-coef 0.2", {"'--ent-coef'", "train.temperature"}},
          {grid + "--alpha 0.2", {"'--alpha'", "train.temperature", "explore.alpha"}},
          {grid + "--policy-lr 3e-4", {"train.learning_rate"}},
          {grid + "--gama 0.9", {"unknown option '--gama' (did you mean --gamma?)"}},
          {grid + "--cuda", {"--device cuda"}},
          {grid + "--set total_timesteps=1e6", {"--steps"}},
          {grid + "--set eval_freq=1000", {"train.eval_epochs"}},
          {grid + "--set train.gradient_steps=2", {"train.gradient_steps", "updates"}},
          {grid + "--set explor.alpha=1",
           {"unknown key 'explor.alpha' (did you mean explore.alpha?)"}},
          {grid + "--set other.batch_size=1", {"unknown key 'other.batch_size'"}},
      },
      {}, "train ");
}

TEST(OptionSynonyms, ThePageListsAllNames) {
  const std::string page = read_file(OVDE_SOURCE_DIR "/docs/words.md");
  for (const auto* list : {&synonyms(), &cli::option_synonyms()}) {
    for (const Synonym& each : *list) {
      EXPECT_NE(each.key.empty(), each.answer.empty()) << each.word;
      expect_words(page, {"`" + each.word + "`", each.answer});
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
