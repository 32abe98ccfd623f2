#include "cuda/host/agent_spec.h"

#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/scout.h"
#include "agent/critic/iqn_critic.h"
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
  if (learner.critic.head == CriticHead::categorical)
    throw InputError("critic.head = \"categorical\" needs network.kind = \"residual\" on a GPU");
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

NetworkShape network_shape(const IqnShape& shape) {
  NetworkShape out{};
  out.layers = shape.feature_layers() + 2;
  out.norm = shape.norm();
  out.output = layer_shape(shape.output());
  out.size = static_cast<int>(shape.size());
  for (int l = 0; l < out.layers; ++l) out.layer[l] = layer_shape(shape.layers()[l]);
  return out;
}

// The networks of the actor and the critics.
void set_shapes(const LearnerOptions& learner, AgentSpec& spec) {
  spec.iqn = is_implicit(learner.critic.head) && !spec.is_grid();
  if (!spec.is_grid()) {
    const int outputs = spec.is_deterministic() ? spec.action_size : 2 * spec.action_size;
    spec.actor_shape =
        network_shape(MlpShape(spec.observation_size, learner.network.hidden, outputs));
  }
  if (spec.is_grid()) {
    spec.choices = ActionGrid::count(spec.action_size, spec.ids.bins);
    spec.critic_shape = network_shape(grid_critic_shape(learner, spec.choices));
    spec.trunk_shape = spec.critic_shape;
    --spec.trunk_shape.layers;
  } else {
    spec.critic_shape = spec.iqn
                            ? network_shape(iqn_critic_shape(learner))
                            : network_shape(critic_acting_shape(learner, learner.critic.quantiles));
  }
  spec.state_action_stride = spec.critic_shape.layer[0].stride;
}

AgentSpec agent_spec(const AgentOptions& options, const LearnerOptions& learner, int owner) {
  check_limits(learner);
  AgentSpec spec = bonus_spec(learner);
  spec.owner = owner;
  spec.ids = options.ids;
  spec.explorer = device_rule(options);
  spec.blend = blend_of(spec.critic.optimism);
  if (spec.policy != PolicyKind::gaussian) spec.train.tune_temperature = false;
  set_shapes(learner, spec);
  return spec;
}

// A scout is a learner of its own on its owner's replay buffer.
AgentSpec scout_spec(const AgentOptions& options, int owner) {
  AgentSpec spec = agent_spec(options, scout_learner(options), owner);
  spec.role = Role::scout;
  spec.explorer = {};
  return spec;
}

// An optimist has an actor of its own and shares the rest with its owner.
AgentSpec optimist_spec(const AgentOptions& options, int owner) {
  AgentSpec spec = agent_spec(options, own_learner(options), owner);
  spec.role = Role::optimist;
  spec.critic.minimum = Minimum::means;  // its value is a blend of the critics' means
  spec.rnd.bonus = Bonus::none;
  spec.explorer = {};
  spec.multipliers = {std::log(spec.dac.optimism + 1), std::log(spec.dac.weight), kMultiplierAdam};
  return spec;
}

}  // namespace

AgentSpec bonus_spec(const LearnerOptions& learner) {
  AgentSpec spec{};
  static_cast<LearnerNumbers&>(spec) = learner;
  if (spec.has_bonus())
    spec.rnd_shape = network_shape(
        MlpShape(spec.observation_size, learner.rnd_network.hidden, learner.rnd_network.outputs));
  return spec;
}

std::vector<AgentSpec> agent_specs(std::span<const AgentOptions> agents) {
  const int count = static_cast<int>(agents.size());
  std::vector<AgentSpec> specs;
  for (int i = 0; i < count; ++i) specs.push_back(agent_spec(agents[i], own_learner(agents[i]), i));
  for (int i = 0; i < count; ++i) {
    if (agents[i].scout.share > 0) specs.push_back(scout_spec(agents[i], i));
  }
  for (int i = 0; i < count; ++i) {
    if (agents[i].learner.optimist) specs.push_back(optimist_spec(agents[i], i));
  }
  return specs;
}

}  // namespace ovde::cuda
