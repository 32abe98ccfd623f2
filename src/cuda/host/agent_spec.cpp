#include "cuda/host/agent_spec.h"

#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/scout.h"
#include "agent/critic/iqn_critic.h"
#include "agent/critic/quantile_critic.h"
#include "agent/discrete/grid_critic.h"
#include "cuda/population.h"

namespace ovde::cuda {

namespace {

void check_at_most(const char* what, int largest, int value) {
  if (value <= largest) return;
  throw InputError(fmt::format("{} must be at most {} on a GPU, not {} (the CPU has no such limit)",
                               what, largest, value));
}

void check_limits(const LearnerOptions& learner) {
  check_at_most("the number of hidden layers (network.hidden)", kMostHidden,
                static_cast<int>(learner.network.hidden.size()));
  for (const int width : learner.network.hidden)
    check_at_most("a layer of network.hidden", kMostWidth, width);
  check_at_most("critic.quantiles", kMostOutputs, learner.critic.quantiles);
  check_at_most("the number of actions", kMostActions, learner.action_size);
  check_at_most("the number of observations and actions", kMostInputs,
                learner.observation_size + learner.action_size);
  if (learner.train.adam.clip > 0)
    throw InputError(
        "train.clip_gradient must be 0 on a GPU: gradients are clipped on the CPU only");
}

LayerShape layer_shape(const MlpShape::Layer& layer) {
  return {layer.inputs,
          layer.outputs,
          layer.stride,
          static_cast<int>(layer.weights),
          static_cast<int>(layer.bias),
          static_cast<int>(layer.gain),
          static_cast<int>(layer.shift)};
}

NetworkShape network_shape(const MlpShape& shape) {
  NetworkShape out{};
  out.layers = shape.layers();
  out.norm = shape.norm();
  out.size = static_cast<int>(shape.size());
  for (int l = 0; l < shape.layers(); ++l) out.layer[l] = layer_shape(shape.layer(l));
  return out;
}

IqnShape iqn_shape(const ovde::IqnShape& shape) {
  IqnShape out{};
  out.feature_layers = shape.feature_layers();
  out.norm = shape.norm();
  out.output = layer_shape(shape.output());
  out.size = static_cast<int>(shape.size());
  for (int l = 0; l < shape.feature_layers() + 2; ++l)
    out.layer[l] = layer_shape(shape.layers()[l]);
  return out;
}

// The networks of the actor and the critics.
void set_shapes(const AgentOptions& options, const LearnerOptions& learner, AgentSpec& spec) {
  spec.iqn = is_implicit(learner.critic.head) && !spec.is_grid;
  if (!spec.is_grid) {
    const int outputs = spec.deterministic ? learner.action_size : 2 * learner.action_size;
    spec.actor_shape =
        network_shape(MlpShape(learner.observation_size, learner.network.hidden, outputs));
  }
  if (spec.iqn) {
    spec.iqn_shape = iqn_shape(iqn_critic_shape(learner));
    spec.critic_size = spec.iqn_shape.size;
    spec.state_action_stride = spec.iqn_shape.layer[0].stride;
    return;
  }
  if (spec.is_grid) {
    spec.bins = options.ids.bins;
    spec.choices = ActionGrid::count(learner.action_size, spec.bins);
    spec.ids_lambda = options.ids.lambda;
    spec.critic_shape = network_shape(grid_critic_shape(learner, spec.choices));
    spec.trunk_shape = spec.critic_shape;
    --spec.trunk_shape.layers;
  } else {
    spec.critic_shape = network_shape(quantile_critic_shape(learner));
  }
  spec.critic_size = spec.critic_shape.size;
  spec.state_action_stride = spec.critic_shape.layer[0].stride;
}

AgentSpec agent_spec(const AgentOptions& options, const LearnerOptions& learner) {
  check_limits(learner);
  AgentSpec spec{};
  spec.is_grid = learner.policy == PolicyKind::greedy;
  spec.deterministic = learner.policy == PolicyKind::deterministic;
  set_shapes(options, learner, spec);
  spec.random_fractions = learner.critic.head == CriticHead::iqn;
  spec.observations = learner.observation_size;
  spec.actions = learner.action_size;
  spec.quantiles = learner.critic.quantiles;
  spec.batch = learner.train.batch;
  spec.distributional = learner.distributional;
  spec.equal_weights = learner.critic.weights == QuantileWeights::equal;
  spec.smaller_by_quantile = learner.critic.minimum == Minimum::quantiles;
  spec.blend = blend_of(learner.critic.optimism);
  spec.dropped = learner.critic.dropped;
  spec.uncertainty = learner.critic.uncertainty;
  spec.discount = learner.train.discount;
  spec.polyak = learner.train.polyak;
  spec.tunes_temperature = learner.policy == PolicyKind::gaussian && learner.train.tune_temperature;
  spec.td3 = {learner.td3.smoothing, learner.td3.clip, learner.td3.penalty,
              spec.deterministic ? learner.td3.delay : 1};
  spec.has_rnd = learner.rnd.bonus != Bonus::none;
  if (spec.has_rnd) {
    spec.rnd_shape = network_shape(MlpShape(learner.observation_size, learner.rnd_network.hidden,
                                            learner.rnd_network.outputs));
    spec.rnd_scale = learner.rnd.scale;
    spec.relative_bonus = learner.rnd.relative;
    spec.discounts_bonus = learner.rnd.bonus == Bonus::discounted;
    spec.noise_tolerance = learner.rnd.tolerance;
  }
  spec.adam = learner.train.adam;
  spec.seed = learner.seed;
  spec.explorer = device_rule(options);
  spec.n_step = learner.train.n_step;
  spec.replay_rows = learner.train.replay;
  return spec;
}

// A scout is a learner of its own on its owner's replay buffer.
AgentSpec scout_spec(const AgentOptions& options, int owner) {
  AgentSpec spec = agent_spec(options, scout_learner(options));
  spec.role = Role::scout;
  spec.owner = owner;
  spec.explorer = {};
  return spec;
}

// An optimist has an actor of its own and shares the rest with its owner.
AgentSpec optimist_spec(const AgentOptions& options, int owner) {
  const DacOptions& dac = options.learner.dac;
  AgentSpec spec = agent_spec(options, own_learner(options));
  spec.role = Role::optimist;
  spec.owner = owner;
  spec.smaller_by_quantile = false;  // its value is a blend of the critics' means
  spec.has_rnd = false;
  spec.explorer = {};
  spec.optimist_spec = {dac.spread,           dac.divergence,   std::log(dac.optimism + 1),
                        std::log(dac.weight), dac.copy_updates, kMultiplierAdam};
  return spec;
}

}  // namespace

std::vector<AgentSpec> agent_specs(std::span<const AgentOptions> agents) {
  std::vector<AgentSpec> specs;
  for (const AgentOptions& options : agents)
    specs.push_back(agent_spec(options, own_learner(options)));
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i].scout.share > 0) specs.push_back(scout_spec(agents[i], static_cast<int>(i)));
  }
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i].learner.optimist) specs.push_back(optimist_spec(agents[i], static_cast<int>(i)));
  }
  return specs;
}

}  // namespace ovde::cuda
