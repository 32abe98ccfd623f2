// Small agents for the tests: a filled replay buffer and networks in general position.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <ovde/random.h>
#include "agent/actor_critic/learner.h"
#include "agent/agent.h"
#include "agent/critic/iqn_critic.h"
#include "agent/critic/quantile_critic.h"
#include "agent/learning.h"
#include "agent/replay.h"

namespace ovde {

inline Replay filled_replay(int observations, int actions, int count, std::uint64_t seed = 3) {
  Replay replay(observations, actions, count);
  Random random(seed, Stream::user);
  std::vector<float> s(observations), next(observations), a(actions);
  for (int n = 0; n < count; ++n) {
    for (float& x : s) x = static_cast<float>(random.normal());
    for (float& x : next) x = static_cast<float>(random.normal());
    for (float& x : a) x = static_cast<float>(random.uniform(-1, 1));
    replay.add(s, a, static_cast<float>(2 * random.normal()), next,
               n % 7 == 0 ? EpisodeEnd::terminal : EpisodeEnd::none);
  }
  return replay;
}

// Fills the whole replay buffer.
inline void fill_replay(Agent& agent, std::uint64_t seed = 3) {
  const LearnerOptions& learner = agent.options().learner;
  const Replay rows = filled_replay(learner.observation_size, learner.action_size,
                                    static_cast<int>(agent.replay().capacity()), seed);
  agent.replay().restore(0, rows.raw(0, rows.size()));
  agent.replay().set_added(rows.added());
}

// An agent whose updates are fast.
inline AgentOptions small_agent(const std::string& algorithm) {
  AgentOptions options = options_for(find_algorithm(algorithm));
  options.learner.observation_size = 3;
  options.learner.action_size = 2;
  options.learner.network.hidden = {24, 16};
  options.learner.critic.quantiles = 5;
  options.learner.train.batch = 32;
  options.learner.train.replay = 300;
  options.learner.seed = 4;
  return options;
}

inline const std::vector<double> kObservation = {0.3, -1, 0.5};

// In names of tests, as in those of the GPU: "dsac", "dsac_norm", "dsac_iqn", "dsac_bare".
inline std::string with_head(const std::string& algorithm, CriticHead head, bool norm) {
  if (head == CriticHead::qr) return algorithm + (norm ? "_norm" : "");
  if (head == CriticHead::embedded) return algorithm + "_embedded";
  if (head == CriticHead::categorical) return algorithm + "_categorical";
  return algorithm + (norm ? "_iqn" : "_bare");
}

// An agent whose sizes are no multiples of a vector, with critics of this head.
inline AgentOptions odd_agent(const std::string& algorithm, CriticHead head, bool norm, int batch) {
  AgentOptions options = options_for(find_algorithm(algorithm));
  options.learner.observation_size = 5;
  options.learner.action_size = 3;
  options.learner.network.hidden = {40, 24};
  if (options.algorithm.distributional) options.learner.critic.quantiles = 5;
  options.learner.critic.head = head;
  options.learner.critic.norm = norm;
  options.learner.train.batch = batch;
  options.learner.seed = 1;
  options.learner.train.replay = 500;
  return options;
}

// Small residual networks for the actor and the critics.
inline void make_residual(NetworkOptions& network) {
  network.kind = NetworkKind::residual;
  network.width = 12;
  network.actor_width = 9;
  network.blocks = 2;
  network.expansion = 3;
}

inline std::unique_ptr<Agent> agent_with_rows(const AgentOptions& options, std::uint64_t seed = 3) {
  auto agent = make_agent(options);
  fill_replay(*agent, seed);
  return agent;
}

// Everything that updates read and change, and the number of updates.
inline void copy_state(Agent& from, Agent& to) {
  const LearnerState state = from.state(), copy = to.state();
  for (std::size_t i = 0; i < state.arrays.size(); ++i)
    std::ranges::copy(state.arrays[i].second, copy.arrays[i].second.begin());
  for (std::size_t i = 0; i < state.statistics.size(); ++i)
    std::ranges::copy(state.statistics[i].second, copy.statistics[i].second.begin());
  *copy.updates = *state.updates;
  to.restored();
}

// The networks' outputs at an observation.
inline Proposal propose(Agent& agent, const std::vector<double>& observation, bool plain) {
  std::vector<float> input(observation.size());
  agent.to_input(observation, input);
  return agent.host_side().propose(input, plain);
}

// A fresh learner's values are all near zero and its targets equal its networks: errors would hide.
// Every network here gets values of order one and a target of its own. The standard deviations stay
// near 1/3: where tanh saturates, log(1 - a^2) has few digits in single precision.
inline void spread_parameters(Learner& learner, std::uint64_t seed) {
  std::uint32_t network = 0;
  for (auto& [name, values] : learner.state().arrays) {
    if (!name.ends_with(".parameters") && !name.ends_with(".target")) continue;
    if (name.starts_with("rnd")) continue;  // these begin with values of order one
    const bool actor = name.starts_with("actor") || name.starts_with("optimist");
    if (!actor && is_implicit(learner.options().critic.head)) {
      const IqnShape shape = iqn_critic_shape(learner.options());
      initialise(shape, seed, network, values);
      Random random(seed, Stream::user, network++);
      for (const IqnShape::Layer& layer : shape.layers()) {
        for (int f = 0; &layer != &shape.output() && f < layer.outputs; ++f) {
          values[layer.gain + f] += static_cast<float>(random.uniform(-0.5, 0.5));
          values[layer.shift + f] += static_cast<float>(random.uniform(-0.5, 0.5));
        }
      }
      continue;
    }
    const CriticOptions& critic = learner.options().critic;
    const int outputs = critic.head == CriticHead::categorical ? critic.atoms : critic.quantiles;
    const MlpShape shape =
        actor ? learner.actor_shape() : critic_acting_shape(learner.options(), outputs);
    const auto& last = shape.layer(shape.layers() - 1);
    initialise(shape, seed, network++, actor ? 0.1f : 0.5f, values);
    for (std::size_t i = 0; i < last.weights; ++i) values[i] *= 5;  // fit for a width of 16
    Random random(seed, Stream::user, network);
    for (int l = 0; shape.norm() && l + 1 < shape.layers(); ++l) {
      for (int f = 0; f < shape.layer(l).outputs; ++f) {
        values[shape.layer(l).gain + f] = static_cast<float>(random.uniform(0.5, 1.5));
        values[shape.layer(l).shift + f] = static_cast<float>(random.uniform(-0.5, 0.5));
      }
    }
    if (actor) {
      for (int d = learner.options().action_size; d < shape.outputs(); ++d)
        values[last.bias + d] -= 1;
    }
  }
  learner.restored();
}

}  // namespace ovde
