// A policy that is written to a file and read by the library acts as the agent does.
#include <gtest/gtest.h>

#include <vector>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "temporary_folder.h"
#include "train/agent_run.h"
#include "train/policy_file.h"
#include "train/safetensors.h"
#include "train/setup.h"

namespace ovde {
namespace {

class PolicyFile : public testing::TestWithParam<const char*> {
 protected:
  std::string file() const { return (folder_.path() / "policy.safetensors").string(); }

  TemporaryFolder folder_;
  Config config_ = resolve_config({{"run.task", "GridChaos-v0:s", "test"},
                                   {"run.algorithm", GetParam(), "test"},
                                   {"network.hidden", std::vector<double>{16, 16}, "test"}});
  AgentRun run_{config_, 3};
};

TEST_P(PolicyFile, ActsAsTheAgentThatWroteIt) {
  write_policy(file(), run_.agent().policy(), task_action_space(config_), config_);
  Policy policy = Policy::load(file());
  EXPECT_EQ(policy.observation_size(), 2);
  EXPECT_EQ(policy.action_size(), 2);
  for (const double x : {-9.0, 0.0, 4.5}) {
    const std::vector<double> observation = {x, 1 - x};
    std::vector<double> expected(2), found(2);
    run_.agent().act(observation, expected);
    policy.act_unit(observation, found);
    EXPECT_EQ(found, expected);
  }
}

TEST_P(PolicyFile, ABoxOfAnotherSizeIsRefused) {
  const Box box{{-1, -1, -1}, {1, 1, 1}};
  write_policy(file(), run_.agent().policy(), box, config_);
  EXPECT_THROW(Policy::load(file()), InputError);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PolicyFile, testing::Values("dsac", "td3"));

}  // namespace
}  // namespace ovde
