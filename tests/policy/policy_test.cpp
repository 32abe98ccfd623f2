// A stored and loaded policy acts as its agent, for every algorithm.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "act/policy_file.h"
#include "agent/algorithm.h"
#include "io/files.h"
#include "run/run_folder.h"
#include "run/trained_agent.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

class LoadedPolicy : public testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "policy.safetensors").string(); }

  // The agent whose policy is in the file.
  std::unique_ptr<Agent> write(const std::string& algorithm, bool normalise = false,
                               const std::string& network = "") const {
    auto agent = trained_agent(algorithm, normalise, network);
    write_policy(path(), agent->policy(), {{-2, 0}, {2, 5}}, origin_of(tiny_config(algorithm)));
    return agent;
  }

  TemporaryFolder folder_;
};

TEST_F(LoadedPolicy, ActsAsTheAgent) {
  std::vector<std::pair<std::string, std::string>> cases = {{"dsac", "residual"},
                                                            {"td3", "residual"}};
  for (const Algorithm& algorithm : algorithms()) cases.emplace_back(algorithm.name, "");
  for (const auto& [algorithm, network] : cases) {
    const auto agent = write(algorithm, false, network);
    Policy policy = Policy::load(path());
    ASSERT_EQ(policy.observation_size(), 2);
    ASSERT_EQ(policy.action_size(), 2);

    Random random(2, Stream::user);
    std::vector<double> observation(2), expected(2), found(2), scaled(2);
    for (int n = 0; n < 50; ++n) {
      for (double& x : observation) x = 5 * random.normal();
      agent->act(observation, expected);
      policy.act_unit(observation, found);
      EXPECT_EQ(found, expected) << algorithm << " " << network;
      policy.act(observation, scaled);
      EXPECT_NEAR(scaled[0], 2 * expected[0], 1e-12);
      EXPECT_NEAR(scaled[1], 2.5 * (expected[1] + 1), 1e-12);
    }
  }
}

TEST_F(LoadedPolicy, NormalisesObservationsAsTheAgentDoes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"dsac", "mlp"}, {"td3", "mlp"}, {"ids", "mlp"}, {"dsac", "residual"}};
  for (const auto& [algorithm, network] : cases) {
    const auto agent = write(algorithm, true, network);
    const auto plain = trained_agent(algorithm, false, network);
    Policy policy = Policy::load(path());
    Random random(2, Stream::user);
    std::vector<double> observation(2), expected(2), found(2), other(2);
    int differ = 0;
    for (int n = 0; n < 50; ++n) {
      for (double& x : observation) x = 5 * random.normal();
      agent->act(observation, expected);
      policy.act_unit(observation, found);
      plain->act(observation, other);
      for (int d = 0; d < 2; ++d) EXPECT_NEAR(found[d], expected[d], 2e-6) << algorithm;
      differ += other != expected;
    }
    EXPECT_GT(differ, 0) << algorithm;
  }
}

TEST_F(LoadedPolicy, BatchedActionsEqualSingleOnes) {
  for (const auto& [algorithm, network] :
       {std::pair("dsac", "mlp"), {"ovde_td3", "mlp"}, {"ids", "mlp"}, {"sac", "residual"}}) {
    write(algorithm, false, network);
    Policy policy = Policy::load(path());
    Random random(3, Stream::user);
    // less than is worth a product, less than a block, blocks that are not full, more than are
    // worked on at a time
    for (const int samples : {1, 3, 12, 100, 1000, 5000}) {
      std::vector<double> observations(2 * samples), one(2 * samples), two(2 * samples);
      for (double& x : observations) x = random.normal();
      policy.act_all(observations, one);
      for (const int threads : {2, 0, 3}) {
        policy.act_all(observations, two, threads);
        EXPECT_EQ(one, two) << algorithm << ' ' << samples << ' ' << threads;
      }
      for (int i = 0; i < samples; ++i) {
        double action[2];
        policy.act(std::span(observations).subspan(2 * i, 2), action);
        ASSERT_NEAR(one[2 * i], action[0], 1e-5) << algorithm << ' ' << samples << ' ' << i;
        ASSERT_NEAR(one[2 * i + 1], action[1], 1e-5) << algorithm << ' ' << samples << ' ' << i;
      }
    }
    // what is not a number stays that, for its own observation alone
    std::vector<double> observations(60, 0.1), found(60), action(2);
    observations[2] = NAN;
    policy.act_all(observations, found);
    for (int i = 0; i < 30; ++i) {
      policy.act(std::span(observations).subspan(2 * i, 2), action);
      for (int d = 0; d < 2; ++d) {
        EXPECT_EQ(std::isnan(found[2 * i + d]), i == 1) << algorithm;
        EXPECT_EQ(std::isnan(action[d]), i == 1) << algorithm;
      }
    }
    policy.act_all({}, {});
    std::vector<double> three(3), four(4), two(2);
    EXPECT_THROW(policy.act_all(three, two), InputError);
    EXPECT_THROW(policy.act_all(four, two), InputError);
  }
}

TEST_F(LoadedPolicy, TheFileSaysHowLogStandardDeviationsAreMeant) {
  write("dsac", false, "residual");
  EXPECT_FALSE(read_safetensors(path()).metadata.contains("log_std"));
  EXPECT_EQ(read_policy(path()).log_std, LogStdForm::clamped);
  write("flashsac");
  EXPECT_EQ(read_policy(path()).log_std, LogStdForm::squashed);
  TensorFile file = policy_tensors(read_policy(path()));
  EXPECT_EQ(file.metadata.at("log_std"), "squashed");
  file.metadata["log_std"] = "bent";
  EXPECT_THROW(parse_policy(file, "x"), InputError);
}

TEST_F(LoadedPolicy, WrongSizesAreRefused) {
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

// A flipped bit is refused, or the policy still acts.
TEST_F(LoadedPolicy, SurvivesFlippedBits) {
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

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
