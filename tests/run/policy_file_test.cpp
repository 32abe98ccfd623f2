// policy.safetensors: what comes back acts like the agent that was written, for every algorithm,
// and what does not fit together is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "agent/algorithm.h"
#include "config/build.h"
#include "io/files.h"
#include "io/safetensors.h"
#include "run/policy_file.h"
#include "temporary_folder.h"

namespace ovde {
namespace {

Config tiny_config(const std::string& algorithm) {
  return resolve_config({{"run.task", "GridChaos-v0:s", ""},
                         {"run.algorithm", algorithm, ""},
                         {"network.hidden", std::vector<double>{12, 9}, ""},
                         {"ids.bins", 4.0, ""},
                         {"train.batch", 16.0, ""},
                         {"task.horizon", 30.0, ""}});
}

Box box() { return {{-2, 0}, {2, 5}}; }

class PolicyFile : public testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "policy.safetensors").string(); }

  // An agent that has learnt a little.
  std::unique_ptr<Agent> trained(const std::string& algorithm) const {
    const Config config = tiny_config(algorithm);
    const auto env = make_environment(config);
    auto agent = make_agent(agent_options(config, *env, 1));
    std::vector<double> observation(2), action(2), next(2);
    env->reset(1, observation);
    for (int n = 0; n < 40; ++n) {
      agent->explore(observation, true, action);
      const Step step = env->step(action, next);
      agent->remember(observation, action, step.reward, next, step.terminated);
      observation = next;
    }
    Team team(1);
    for (int n = 0; n < 25; ++n) agent->update(team);
    return agent;
  }
  void write(const std::string& algorithm) const {
    write_policy(path(), trained(algorithm)->policy(), box(), tiny_config(algorithm));
  }

  // What is said of the file after `change`.
  std::string refusal(const std::function<void(TensorFile&)>& change) const {
    TensorFile file = read_safetensors(path());
    change(file);
    const std::string changed = (folder_.path() / "changed.safetensors").string();
    write_safetensors(changed, file);
    try {
      Policy::load(changed);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing is wrong";
  }
  void expect_refusal(const std::string& words,
                      const std::function<void(TensorFile&)>& change) const {
    const std::string text = refusal(change);
    EXPECT_NE(text.find(words), std::string::npos) << "no '" << words << "' in: " << text;
    EXPECT_NE(text.find("changed.safetensors: not a policy"), std::string::npos) << text;
  }

  TemporaryFolder folder_;
};

TEST_F(PolicyFile, ActsAsTheAgentDoes) {
  for (const Algorithm& algorithm : algorithms()) {
    const auto agent = trained(algorithm.name);
    write_policy(path(), agent->policy(), box(), tiny_config(algorithm.name));
    Policy policy = Policy::load(path());
    ASSERT_EQ(policy.observation_size(), 2);
    ASSERT_EQ(policy.action_size(), 2);

    Random random(2, Stream::user);
    std::vector<double> observation(2), expected(2), found(2), scaled(2);
    for (int n = 0; n < 50; ++n) {
      for (double& x : observation) x = 5 * random.normal();
      agent->act(observation, expected);
      policy.act_unit(observation, found);
      EXPECT_EQ(found, expected) << algorithm.name;
      policy.act(observation, scaled);
      EXPECT_NEAR(scaled[0], 2 * expected[0], 1e-12);
      EXPECT_NEAR(scaled[1], 2.5 * (expected[1] + 1), 1e-12);
    }
  }
}

TEST_F(PolicyFile, SpansOfAnotherSizeAreRefused) {
  for (const char* algorithm : {"dsac", "ids"}) {
    write(algorithm);
    Policy policy = Policy::load(path());
    std::vector<double> two(2), three(3), one(1);
    EXPECT_THROW(policy.act(three, two), InputError);
    EXPECT_THROW(policy.act(one, two), InputError);
    EXPECT_THROW(policy.act(two, three), InputError);
    EXPECT_THROW(policy.act_unit(two, one), InputError);
    policy.act(two, two);
  }
}

TEST_F(PolicyFile, ADiscretePolicyThatDoesNotFitTogetherIsRefused) {
  write("ids");
  EXPECT_EQ(refusal([](TensorFile&) {}), "nothing is wrong");
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

// A flipped bit is refused, or leaves a policy that acts.
TEST_F(PolicyFile, SurvivesFlippedBits) {
  for (const char* algorithm : {"ids", "dsac"}) {
    write(algorithm);
    const std::string whole = read_file(path());
    const auto header = static_cast<std::uint32_t>(whole.find("}}") + 8);
    Random random(4, Stream::user);
    int refused = 0;
    for (int n = 0; n < 400; ++n) {
      // mostly in the header, where names, shapes and bins are
      const auto size = n % 4 == 0 ? static_cast<std::uint32_t>(whole.size()) : header;
      const std::uint32_t bit = random.below(8 * size);
      std::string changed = whole;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
      std::ofstream(path(), std::ios::binary) << changed;
      try {
        Policy policy = Policy::load(path());
        std::vector<double> observation(policy.observation_size(), 1), action(policy.action_size());
        policy.act(observation, action);
      } catch (const InputError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 200) << algorithm;
  }
}

TEST_F(PolicyFile, AnActorThatDoesNotFitTogetherIsRefused) {
  for (const char* algorithm : {"dsac", "td3"}) {
    write(algorithm);
    EXPECT_EQ(refusal([](TensorFile&) {}), "nothing is wrong");
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

}  // namespace
}  // namespace ovde
