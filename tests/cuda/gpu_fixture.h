// Agents for the tests on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "agent/actor_critic/agent.h"
#include "agent/agent_fixture.h"
#include "agent/discrete/grid_critic.h"
#include "cuda/population.h"

#define NEEDS_GPU() \
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "no GPU: " << why

namespace ovde {

#ifdef OVDE_KERNELS_ON_CPU  // slow: smaller tests
inline constexpr bool kKernelsOnCpu = true;
#else
inline constexpr bool kKernelsOnCpu = false;
#endif

// An algorithm with variants as suffixes. "_iqn": random fractions; "_embedded": fixed fractions in
// the same network; "_bare": iqn without layer norm; "_norm": fixed fractions with layer norm;
// "_published", after any of them: the other keys of the published code; "_fixed": a fixed
// temperature; "_penalty": TD3's penalty on large outputs; "_optimistic": a higher critic.optimism;
// "_residual": residual networks with categorical critics, for a scout too; "_absolute": the bonus
// is not relative to the errors of the batch; "_recipe": the actor moves in every third update, for
// the entropy of a standard deviation, without a target policy, and the learning rate falls.
inline AgentOptions options_of(std::string name, std::uint64_t seed) {
  const auto ends = [&](const std::string& with) {
    const bool so = name.ends_with(with);
    if (so) name.resize(name.size() - with.size());
    return so;
  };
  const bool residual = ends("_residual"), recipe = ends("_recipe"), absolute = ends("_absolute"),
             optimistic = ends("_optimistic"), published = ends("_published"),
             fixed = ends("_fixed"), penalty = ends("_penalty");
  const bool norm = ends("_norm"), iqn = ends("_iqn"), embedded = ends("_embedded"),
             bare = ends("_bare");
  AgentOptions options = options_for(find_algorithm(name));
  if (embedded) options.learner.critic.head = CriticHead::embedded;
  if (iqn || bare) options.learner.critic.head = CriticHead::iqn;
  options.learner.critic.norm = norm || iqn || embedded;
  if (published) {
    options.learner.network.targets = TargetStart::own;
    options.learner.critic.weights = QuantileWeights::equal;
    options.learner.critic.minimum = Minimum::quantiles;
    options.learner.critic.uncertainty = {EpistemicForm::means, VarianceForm::unbiased};
  }
  if (absolute) options.learner.rnd.relative = false;
  if (optimistic) options.learner.critic.optimism = 0.4f;
  if (optimistic) options.learner.dac.optimism = 3;
  options.learner.train.tune_temperature = !fixed;
  if (recipe) {
    options.learner.train.actor_every = 3;
    options.learner.train.target_std = 0.15f;
    if (options.learner.policy == PolicyKind::gaussian) options.learner.train.target_policy = false;
    options.learner.train.adam.learning_rate_end = 1e-4f;
    options.learner.train.adam.decay_updates = 70;
  }
  options.ids.bins = 3;  // 729 actions
  options.learner.td3.penalty = penalty ? 0.05f : 0;
  options.learner.train.replay = 2000;
  options.learner.observation_size = 17;
  options.learner.action_size = 6;
  options.learner.seed = seed;
  if (kKernelsOnCpu) options.learner.train.batch = 64;
  if (residual) {
    options.learner.network.kind = NetworkKind::residual;
    options.learner.critic.head = CriticHead::categorical;
    options.scout.kind = NetworkKind::residual;
  }
  if (options.learner.network.kind == NetworkKind::residual && kKernelsOnCpu) {
    options.learner.train.batch = 24;
    options.learner.network.width = options.learner.network.actor_width = 32;
  }
  return options;
}

inline void spread_parameters(Agent& agent, std::uint64_t seed) {
  if (auto* actor_critic = dynamic_cast<ActorCriticAgent*>(&agent))
    return ovde::spread_parameters(actor_critic->learner(), seed);
  const AgentOptions& options = agent.options();
  const MlpShape shape = grid_critic_shape(
      options.learner, ActionGrid::count(options.learner.action_size, options.ids.bins));
  std::uint32_t network = 0;
  for (auto& [name, values] : agent.state().arrays) {
    if (name.ends_with(".parameters") || name.ends_with(".target"))
      initialise(shape, seed, network++, 0.5f, values);
  }
  agent.restored();
}

}  // namespace ovde
