// Explorers that a program registers.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <ovde/error.h>
#include "agent/agent.h"
#include "agent/explore/explorer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Adds a constant to the mean.
class Push final : public Explorer {
 public:
  explicit Push(double by) : by_(by) {}
  double shift(std::span<const float>, const ActorHead&, Critics&, Random&,
               std::span<double> mean) override {
    for (double& m : mean) m += by_;
    return 7;
  }

 private:
  double by_;
};

ExplorerType push(const std::string& name, double standard = 0.25) {
  return {.name = name,
          .summary = "adds a constant",
          .options = {{.name = "by", .default_value = standard, .help = "the constant"}},
          .make = [](const OptionValues& options, int, int) {
            return std::make_unique<Push>(options.number("by"));
          }};
}

// Registers once, whichever test asks first.
const Algorithm& pushing() {
  static const bool registered = (register_explorer(push("push")), true);
  EXPECT_TRUE(registered);
  return find_algorithm("push");
}

TEST(ExplorerRegistry, AnExplorerIsAnAlgorithmOfItsOwn) {
  const Algorithm& algorithm = pushing();
  EXPECT_TRUE(algorithm.distributional);
  EXPECT_EQ(algorithm.policy, PolicyKind::gaussian);

  AgentOptions options = options_for(algorithm);
  options.learner.observation_size = 3;
  options.learner.action_size = 2;
  options.learner.network.hidden = {8, 8};
  options.explore.set("by", 0.5);
  const auto agent = make_agent(options);
  const std::vector<double> observation = {1, 2, 3};
  std::vector<double> action(2);
  const Decision moved = agent->explore(observation, false, action);
  EXPECT_EQ(moved.m, 7);
  EXPECT_NEAR(moved.shift, 0.5 * std::sqrt(2.0), 1e-12);
  EXPECT_EQ(agent->explore(observation, true, action).shift, 0);  // the warm-up's
}

TEST(ExplorerRegistry, WithoutADeviceFormItDoesNotRunOnAGpu) {
  EXPECT_FALSE(runs_on_gpu(pushing()));
  for (const char* name : {"sac", "dsac", "oac", "doac", "ovde_g", "ovde_q", "ovde_m", "td3",
                           "ovde_td3", "dsac_rnd", "ids"})
    EXPECT_TRUE(runs_on_gpu(find_algorithm(name))) << name;
}

TEST(ExplorerRegistry, ItsOptionsAreThoseOfItsRunsAlone) {
  const auto has = [](const std::vector<Option>& options, const std::string& name) {
    return std::ranges::find(options, name, &Option::name) != options.end();
  };
  pushing();
  EXPECT_TRUE(has(explorer_options("push"), "by"));
  EXPECT_TRUE(has(explorer_options("push"), "alpha"));
  EXPECT_FALSE(has(explorer_options("ovde_g"), "by"));
  EXPECT_TRUE(has(explorer_options(), "by"));
}

TEST(ExplorerRegistry, RefusesWhatContradictsAnother) {
  pushing();
  EXPECT_THROW(register_explorer(push("push")), Error);
  EXPECT_THROW(register_explorer(push("shove", 0.75)), Error);  // explore.by has another default
  EXPECT_THROW(register_explorer({.name = "nothing"}), Error);
  EXPECT_THROW(find_explorer("shove"), Error);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
