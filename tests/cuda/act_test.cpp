// The behaviour policies on a GPU against those on the CPU, and populations that are refused.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <ovde/error.h>
#include "cuda/gpu_fixture.h"
#include "on_cpu_explorer.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Both may be NaN.
void expect_near(double found, double expected, double tolerance, const std::string& what) {
  EXPECT_EQ(std::isnan(found), std::isnan(expected)) << what;
  if (!std::isnan(expected)) {
    EXPECT_NEAR(found, expected, tolerance) << what;
  }
}

// Why the agents are refused; empty: they are not.
std::string refusal(const std::vector<AgentOptions>& options) {
  return message_of([&] { check_gpu_population(options, Precision::fp16); });
}

TEST(Act, EveryBehaviourPolicyAgreesWithTheCpu) {
  NEEDS_GPU();
  std::vector<AgentOptions> options;
  for (const char* name : {"sac",
                           "dsac",
                           "oac",
                           "doac",
                           "ovde_g",
                           "ovde_q",
                           "ovde_m",
                           "dsac_iqn",
                           "doac_iqn",
                           "ovde_g_iqn",
                           "ovde_q_iqn",
                           "ovde_m_iqn",
                           "oac_norm",
                           "doac_norm",
                           "ovde_g_norm",
                           "ovde_q_norm",
                           "ovde_m_norm",
                           "ovde_q_embedded",
                           "ovde_g_bare",
                           "ovde_g_published",
                           "ovde_q_published",
                           "doac_iqn_published",
                           "ovde_g_iqn_published",
                           "ovde_q_iqn_published",
                           "td3",
                           "ovde_td3",
                           "ovde_td3_iqn",
                           "scout",
                           "dac",
                           "ids"}) {
    for (const char* form : {"unit", "raw", "full"}) {
      for (const double samples : {0, 3}) {
        AgentOptions own = options_of(name, options.size());
        const bool ascends = is_ovd_explorer(own.algorithm.explorer);
        if (!ascends && (form != std::string("unit") || samples != 0)) continue;
        options.push_back(std::move(own));
        options.back().explore.set("gradient", std::string(form));
        options.back().explore.set("samples", samples);
        if (form == std::string("raw")) options.back().explore.set("ascents", 2.0);
      }
    }
  }
  const auto population = make_gpu_population(options, Precision::fp16);
  const PopulationActing& acting = population->acting();
  std::vector<std::unique_ptr<Agent>> agents;
  for (std::size_t i = 0; i < options.size(); ++i) {
    agents.push_back(make_agent(options[i]));
    spread_parameters(*agents[i], 7 + i);
    population->upload(i, *agents[i]);
  }
  Random random(1, Stream::user);
  for (int step = kKernelsOnCpu ? 3 : 0; step < 5; ++step) {
    std::vector<std::vector<double>> observations;
    for (std::size_t i = 0; i < agents.size(); ++i) {
      std::vector<double> observation(17);
      for (double& x : observation) x = random.normal();
      std::ranges::copy(observation, acting.observation.begin() + i * acting.observations);
      observations.push_back(observation);
      acting.plain[i] = step == 4;
      acting.scouts[i] = step % 2 == 1;
      agents[i]->host_side().let_scout_act(acting.scouts[i]);
      Random ahead = agents[i]->explorer_noise();
      if (step != 4)
        draw_for_explorer(explorer_draws(options[i]), static_cast<int>(i), ahead, acting);
    }
    population->act();
    for (std::size_t i = 0; i < agents.size(); ++i) {
      const std::string what = options[i].algorithm.name + " " + std::to_string(i);
      const bool plain = step == 4;
      const Random noise = agents[i]->behaviour_noise();
      std::vector<double> action(6), on_gpu(6);
      const Decision decision = agents[i]->explore(observations[i], plain, action);
      agents[i]->behaviour_noise() = noise;
      const auto row = [&](auto all) { return all.subspan(i * acting.actions, 6); };
      const Decision there = agents[i]->host_side().decide({.mean = row(acting.mean),
                                                            .std = row(acting.std),
                                                            .moved = row(acting.moved),
                                                            .m = acting.m[i],
                                                            .choice = acting.choice[i]},
                                                           plain, on_gpu);
      for (int d = 0; d < 6; ++d) EXPECT_NEAR(on_gpu[d], action[d], 1e-4) << what;
      expect_near(there.shift, decision.shift, 1e-4 * (1 + decision.shift), what);
      expect_near(there.m, decision.m, 1e-4 * (1 + std::abs(decision.m)), what);
    }
  }
}

TEST(Act, ResidualPoliciesAgreeWithTheCpu) {
  NEEDS_GPU();
  std::vector<AgentOptions> options;
  for (const char* name : {"dsac_residual", "flashsac", "doac_residual", "scout_residual",
                           "ovde_g_residual", "ovde_q_residual", "ovde_m_residual"}) {
    options.push_back(options_of(name, options.size()));
    if (options.back().scout.share > 0)
      options.back().learner.network.log_std = LogStdForm::squashed;
    if (!options.back().algorithm.explorer.starts_with("ovde")) continue;
    for (const char* form : {"raw", "full"}) {
      options.push_back(options_of(name, options.size()));
      options.back().explore.set("gradient", std::string(form));
      options.back().explore.set("samples", 3.0);
      options.back().explore.set("ascents", 2.0);
      options.back().learner.rnd = options_of("scout", 0).learner.rnd;
      options.back().scout.share = 0.5;
    }
  }
  const auto population = make_gpu_population(options, Precision::fp16);
  const PopulationActing& acting = population->acting();
  Team team(2);
  Random random(1, Stream::user);
  std::vector<std::unique_ptr<Agent>> agents;
  for (std::size_t i = 0; i < options.size(); ++i) {
    agents.push_back(agent_with_rows(options[i]));
    for (int n = 0; n < 4; ++n) agents[i]->update(team);
    population->upload(i, *agents[i]);
  }
  for (const auto& [plain, scouts] : {std::pair(false, false), {false, true}, {true, true}}) {
    std::vector<std::vector<double>> observations;
    for (std::size_t i = 0; i < options.size(); ++i) {
      std::vector<double>& observation = observations.emplace_back(17);
      for (double& x : observation) x = random.normal();
      std::ranges::copy(observation, acting.observation.begin() + i * acting.observations);
      acting.plain[i] = plain;
      acting.scouts[i] = scouts;  // agents without a scout ignore it
      agents[i]->host_side().let_scout_act(scouts);
      Random ahead = agents[i]->explorer_noise();
      if (!plain) draw_for_explorer(explorer_draws(options[i]), static_cast<int>(i), ahead, acting);
    }
    population->act();
    for (std::size_t i = 0; i < options.size(); ++i) {
      const std::string what = options[i].algorithm.name + " " + std::to_string(i);
      if (plain && options[i].algorithm.name == "flashsac") continue;  // its warm-up is uniform
      const Proposal expected = propose(*agents[i], observations[i], plain);
      double moved = 0;
      for (int d = 0; d < 6; ++d) {
        const std::size_t at = i * acting.actions + d;
        EXPECT_NEAR(acting.mean[at], expected.mean[d], 1e-5) << what;
        EXPECT_NEAR(acting.std[at], expected.std[d], 1e-5 * expected.std[d]) << what;
        const double step = expected.moved[d] - expected.mean[d];
        EXPECT_NEAR(acting.moved[at] - acting.mean[at], step, 1e-4 * (1 + std::abs(step))) << what;
        moved += std::abs(step);
      }
      const bool scouted = scouts && options[i].scout.share > 0;
      EXPECT_EQ(moved > 0, !plain && !scouted && !options[i].algorithm.explorer.empty()) << what;
      expect_near(acting.m[i], expected.m, 1e-4, what);
    }
  }
}

TEST(Population, TooLargeOnesAreRefused) {
  NEEDS_GPU();
  std::vector<AgentOptions> options(3, options_of("dsac", 1));
  for (AgentOptions& o : options) o.learner.train.replay = 400'000'000;
  expect_words(refusal(options), {"would fit"});
  for (const char* name : {"dsac", "dsac_iqn"}) {
    AgentOptions wide = options_of(name, 1);
    wide.learner.network.hidden = {512, 512};
    EXPECT_NE(refusal({wide}), "");
    EXPECT_THROW(make_gpu_population(std::vector{wide}, Precision::fp16), InputError);
  }
}

TEST(Population, CategoricalCriticsAreRefused) {
  NEEDS_GPU();
  AgentOptions options = options_of("dsac", 1);
  options.learner.critic.head = CriticHead::categorical;
  EXPECT_NE(refusal({options}), "");
}

// With and without a GPU.
TEST(Population, AnExplorerWithoutADeviceRuleIsRefused) {
  register_on_cpu_explorer();
  expect_words(refusal({options_of("on_cpu", 1)}), {"on_cpu runs on the CPU only"});
}

TEST(Population, ResidualNetworksNeedCategoricalCritics) {
  NEEDS_GPU();
  AgentOptions options = options_of("dsac", 1);
  options.learner.network.kind = NetworkKind::residual;
  expect_words(refusal({options}), {"need critic.head = \"categorical\""});
}

TEST(Population, ResidualNetworksTakeTheSmallerCritic) {
  NEEDS_GPU();
  for (const std::string name : {"dsac_optimistic_residual", "tqc_residual", "top_residual"})
    expect_words(refusal({options_of(name, 1)}), {"take the smaller critic"});
}

// An actor has two outputs for each action.
TEST(Population, ResidualNetworksHaveAtMost64Actions) {
  NEEDS_GPU();
  AgentOptions options = options_of("dsac_residual", 1);
  options.learner.action_size = 64;
  EXPECT_EQ(refusal({options}), "");
  options.learner.action_size = 65;
  EXPECT_NE(refusal({options}), "");
}

TEST(Population, AScoutOfResidualNetworksHasThemToo) {
  NEEDS_GPU();
  AgentOptions options = options_of("scout_residual", 1);
  EXPECT_EQ(refusal({options}), "");
  options.scout.kind = NetworkKind::mlp;
  expect_words(refusal({options}), {"scout.kind = \"residual\""});
}

TEST(Population, AMissingGpuIsExplained) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU: " << gpu_name();
  EXPECT_THROW(make_gpu_population(std::vector{options_of("dsac", 1)}, Precision::fp16),
               InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
