// policy.safetensors: what does not fit together is refused. That what comes back acts like the
// agent that was written is tested in tests/policy.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "act/policy_file.h"
#include "io/safetensors.h"
#include "run/run_folder.h"
#include "run/trained_agent.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

class PolicyFile : public testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "policy.safetensors").string(); }

  void write(const std::string& algorithm) const {
    write_policy(path(), trained_agent(algorithm)->policy(), {{-2, 0}, {2, 5}},
                 origin_of(tiny_config(algorithm)));
  }

  // What is said of the file after `change`.
  std::string refusal(const std::function<void(TensorFile&)>& change) const {
    TensorFile file = read_safetensors(path());
    change(file);
    const std::string changed = (folder_.path() / "changed.safetensors").string();
    write_safetensors(changed, file);
    return message_of([&] { read_policy(changed); });
  }
  void expect_refusal(const std::string& words,
                      const std::function<void(TensorFile&)>& change) const {
    const std::string text = refusal(change);
    EXPECT_NE(text.find(words), std::string::npos) << "no '" << words << "' in: " << text;
    EXPECT_NE(text.find("changed.safetensors: not a policy"), std::string::npos) << text;
  }

  TemporaryFolder folder_;
};

TEST_F(PolicyFile, RefusesInconsistentDiscretePolicies) {
  write("ids");
  EXPECT_EQ(refusal([](TensorFile&) {}), "");
  for (const char* bins : {"", "x", "4x", "1", "0", "-4", "4.0", "99999999999"}) {
    expect_refusal("number of bins", [&](TensorFile& file) { file.metadata["bins"] = bins; });
  }
  // 4^2 actions of 20 quantiles: 320 outputs are no multiple of 3^2, nor of what overflows
  for (const char* bins : {"3", "2000000000"}) {
    expect_refusal("320 outputs", [&](TensorFile& file) { file.metadata["bins"] = bins; });
  }
  expect_refusal("too few layers", [](TensorFile& file) { file.metadata.erase("bins"); });
  expect_refusal("too few layers",
                 [](TensorFile& file) { file.tensors.erase("critic_2.0.weight"); });
  expect_refusal("no tensor 'critic_1.1.bias'",
                 [](TensorFile& file) { file.tensors.erase("critic_1.1.bias"); });
  expect_refusal("different shapes", [](TensorFile& file) {
    file.tensors["critic_2.2.weight"] = {{319, 9}, std::vector<float>(319 * 9)};
    file.tensors["critic_2.2.bias"] = {{319}, std::vector<float>(319)};
  });
  expect_refusal("'critic_1.2.bias' has a wrong size", [](TensorFile& file) {
    file.tensors["critic_1.2.bias"] = {{319}, std::vector<float>(319)};
  });
  expect_refusal("do not fit together", [](TensorFile& file) {
    file.tensors["critic_1.1.weight"] = {{9, 11}, std::vector<float>(99)};
  });
  expect_refusal("action box", [](TensorFile& file) { file.tensors["action_low"] = {{1}, {0}}; });
  expect_refusal("action box", [](TensorFile& file) {
    file.tensors["action_low"] = file.tensors["action_high"] = {{0}, {}};
  });
  expect_refusal("320 outputs", [](TensorFile& file) {
    file.tensors["action_low"] = file.tensors["action_high"] = {{30}, std::vector<float>(30)};
  });
}

TEST_F(PolicyFile, RefusesInconsistentActors) {
  for (const char* algorithm : {"dsac", "td3"}) {
    write(algorithm);
    EXPECT_EQ(refusal([](TensorFile&) {}), "");
    expect_refusal("too few layers",
                   [](TensorFile& file) { file.tensors.erase("actor.0.weight"); });
    expect_refusal("'actor.0.weight' is not a matrix",
                   [](TensorFile& file) { file.tensors["actor.0.weight"].shape = {24}; });
    expect_refusal("no tensor 'action_high'",
                   [](TensorFile& file) { file.tensors.erase("action_high"); });
    expect_refusal("action box", [](TensorFile& file) {
      file.tensors["action_low"] = file.tensors["action_high"] = {{3}, {0, 0, 0}};
    });
    expect_refusal("too few layers", [](TensorFile& file) { file.metadata["bins"] = "4"; });
  }
}

TEST_F(PolicyFile, RefusesFilesWithoutAPolicy) {
  write("sac");
  EXPECT_EQ(refusal([](TensorFile&) {}), "");
  expect_refusal("its format is 'ovde-policy-2'",
                 [](TensorFile& file) { file.metadata["format"] = "ovde-policy-2"; });
  expect_refusal("its format is ''", [](TensorFile& file) { file.metadata.clear(); });
  for (const char* name : {"actor.0.weight", "actor.2.bias", "action_high"}) {
    expect_refusal("not finite", [&](TensorFile& file) {
      file.tensors.at(name).values.back() = std::numeric_limits<float>::quiet_NaN();
    });
  }
}

TEST_F(PolicyFile, RefusesThePolicyOfAnotherRun) {
  write("sac");
  const Config config = tiny_config("sac");
  EXPECT_NO_THROW(check_policy_of(path(), origin_of(config)));
  Config seed = config, task = config;
  seed.seed = 7;
  task.task = "GridChaos-v0:a";
  for (const auto& [other, says] : std::vector<std::pair<Config, std::string>>{
           {seed, "its seed is '0', the run's 7"},
           {task, "its task is 'GridChaos-v0:s', the run's GridChaos-v0:a"},
           {tiny_config("oac"), "its algorithm is 'sac', the run's oac"}}) {
    expect_words(message_of([&] { check_policy_of(path(), origin_of(other)); }), {says});
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
