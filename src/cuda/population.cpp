#include "cuda/population.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/scout.h"
#include "agent/critic/iqn_critic.h"
#include "agent/critic/quantile_critic.h"
#include "agent/discrete/grid_critic.h"
#include "cuda/device_population.h"

namespace ovde {

namespace {

using cuda::AgentSpec;
using cuda::DevicePopulation;

constexpr std::string_view kNetworks[] = {"actor", "critic_1", "critic_2", "rnd"};
constexpr const char* kArrays[] = {"parameters", "first_moment", "second_moment", "target"};
constexpr const char* kMultipliers[] = {"log_optimism", "log_weight"};
constexpr int kMultiplier = std::size(kNetworks);  // in the place of a network

// Empty: this learner has no such array.
std::span<float> array(const LearnerState& state, const std::string& name) {
  for (const auto& [key, values] : state.arrays) {
    if (key == name) return values;
  }
  return {};
}

// Calls visit(network, array, values) for each array of the networks that the learner has whose
// names begin so: "" for the agent's, kScout for its scout's, kOptimist for its optimist's, which
// has multipliers beside its network.
template <typename Visit>
void for_each_array(const LearnerState& state, const std::string& prefix, Visit&& visit) {
  if (prefix == kOptimist) {
    for (int a = 0; a < static_cast<int>(std::size(kArrays)); ++a)
      visit(0, a, array(state, std::string(kOptimist) + kArrays[a]));
    for (int a = 0; a < static_cast<int>(std::size(kMultipliers)); ++a)
      visit(kMultiplier, a, array(state, std::string(kOptimist) + kMultipliers[a]));
    return;
  }
  const auto visit_network = [&](int network, std::string_view name) {
    for (int a = 0; a < static_cast<int>(std::size(kArrays)); ++a) {
      const auto values = array(state, fmt::format("{}{}.{}", prefix, name, kArrays[a]));
      if (!values.empty()) visit(network, a, values);
    }
  };
  for (int network = 0; network < static_cast<int>(std::size(kNetworks)); ++network)
    visit_network(network, kNetworks[network]);
}

// Calls visit(values) for each of the statistics of that learner's bonus, in their order.
template <typename Visit>
void for_each_rnd_statistic(const LearnerState& state, const std::string& prefix, Visit&& visit) {
  for (const auto& [name, values] : state.statistics) {
    if (name.starts_with(prefix + "rnd.")) visit(values);
  }
}

void refuse(const std::string& what, int most, int is) {
  throw InputError(fmt::format("{} must be at most {} on a GPU, not {} (the CPU has no such limit)",
                               what, most, is));
}

void check_fits(const LearnerOptions& learner) {
  const auto check = [](const char* what, int most, int is) {
    if (is > most) refuse(what, most, is);
  };
  check("the number of hidden layers (network.hidden)", cuda::kMostHidden,
        static_cast<int>(learner.network.hidden.size()));
  for (const int width : learner.network.hidden)
    check("a layer of network.hidden", cuda::kMostWidth, width);
  check("critic.quantiles", cuda::kMostOutputs, learner.critic.quantiles);
  check("the number of actions", cuda::kMostActions, learner.action_size);
  check("the number of observations and actions", cuda::kMostInputs,
        learner.observation_size + learner.action_size);
  if (learner.train.adam.clip > 0)
    throw InputError(
        "train.clip_gradient must be 0 on a GPU: gradients are clipped on the CPU only");
}

cuda::LayerShape layer_shape(const MlpShape::Layer& layer) {
  return {layer.inputs,
          layer.outputs,
          layer.stride,
          static_cast<int>(layer.weights),
          static_cast<int>(layer.bias),
          static_cast<int>(layer.gain),
          static_cast<int>(layer.shift)};
}

cuda::NetworkShape network_shape(const MlpShape& shape) {
  cuda::NetworkShape out{};
  out.layers = shape.layers();
  out.norm = shape.norm();
  out.size = static_cast<int>(shape.size());
  for (int l = 0; l < shape.layers(); ++l) out.layer[l] = layer_shape(shape.layer(l));
  return out;
}

cuda::IqnShape iqn_shape(const IqnShape& shape) {
  cuda::IqnShape out{};
  out.feature_layers = shape.feature_layers();
  out.norm = shape.norm();
  out.output = layer_shape(shape.output());
  out.size = static_cast<int>(shape.size());
  for (int l = 0; l < shape.feature_layers() + 2; ++l)
    out.layer[l] = layer_shape(shape.layers()[l]);
  return out;
}

AgentSpec agent_spec(const AgentOptions& options, const LearnerOptions& learner) {
  check_fits(learner);
  AgentSpec spec{};
  spec.is_grid = learner.policy == PolicyKind::greedy;
  spec.deterministic = learner.policy == PolicyKind::deterministic;
  if (!spec.is_grid)
    spec.actor_shape =
        network_shape(MlpShape(learner.observation_size, learner.network.hidden,
                               spec.deterministic ? learner.action_size : 2 * learner.action_size));
  spec.iqn = is_implicit(learner.critic.head) && !spec.is_grid;
  spec.random_fractions = learner.critic.head == CriticHead::iqn;
  if (spec.iqn) {
    spec.iqn_shape = iqn_shape(iqn_critic_shape(learner));
  } else if (spec.is_grid) {
    spec.bins = options.ids.bins;
    spec.choices = ActionGrid::count(learner.action_size, spec.bins);
    spec.ids_lambda = options.ids.lambda;
    spec.critic_shape = network_shape(grid_critic_shape(learner, spec.choices));
    spec.trunk_shape = spec.critic_shape;
    --spec.trunk_shape.layers;
  } else {
    spec.critic_shape = network_shape(quantile_critic_shape(learner));
  }
  spec.critic_size = spec.iqn ? spec.iqn_shape.size : spec.critic_shape.size;
  spec.state_action_stride =
      spec.iqn ? spec.iqn_shape.layer[0].stride : spec.critic_shape.layer[0].stride;
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

// Said before the run starts, not when it has half of its memory.
void check_memory(std::span<const AgentSpec> specs) {
  constexpr double kUsable = 0.95;  // the rest for the driver, the kernels and the graphs
  const double free = kUsable * static_cast<double>(cuda::device_memory().free);
  double needed = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    needed += static_cast<double>(cuda::bytes_of(specs[i]));
    if (needed <= free) continue;
    double all = needed;
    for (std::size_t j = i + 1; j < specs.size(); ++j)
      all += static_cast<double>(cuda::bytes_of(specs[j]));
    throw InputError(
        fmt::format("{} agents need {:.1f} GB of memory on the GPU, {:.1f} GB are free: {} of them "
                    "would fit (a smaller "
                    "train.replay makes room for more)",
                    specs.size(), 1e-9 * all, 1e-9 * free, i));
  }
}

// A scout as an agent of its own, but for the replay buffer.
AgentSpec scout_spec(const AgentOptions& options, int owner) {
  AgentSpec spec = agent_spec(options, scout_learner(options));
  spec.explorer = {};
  spec.replay_owner = owner;
  return spec;
}

// An optimist as an agent of its own, but for the replay buffer, the critics and the batch.
AgentSpec optimist_spec(const AgentOptions& options, int owner) {
  const DacOptions& optimist = options.learner.dac;
  AgentSpec spec = agent_spec(options, own_learner(options));
  spec.replay_owner = spec.policy_owner = owner;
  spec.smaller_by_quantile = false;  // its value is of the critics' means
  spec.has_rnd = false;
  spec.explorer = {};
  spec.optimist_spec = {
      optimist.spread,           optimist.divergence,   std::log(optimist.optimism + 1),
      std::log(optimist.weight), optimist.copy_updates, kMultiplierAdam};
  return spec;
}

// First the agents, then the scouts of those that have one, then the optimists.
std::vector<AgentSpec> checked_specs(std::span<const AgentOptions> agents, Precision precision) {
  check_algorithms(agents);
  if (const std::string why = why_no_gpu(); !why.empty())
    throw InputError("no GPU can be used: " + why);
  std::vector<AgentSpec> specs;
  for (const AgentOptions& options : agents)
    specs.push_back(agent_spec(options, own_learner(options)));
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i].scout.share > 0) specs.push_back(scout_spec(agents[i], static_cast<int>(i)));
  }
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i].learner.optimist) specs.push_back(optimist_spec(agents[i], static_cast<int>(i)));
  }
  for (const AgentSpec& spec : specs) {
    if (const std::string why = cuda::why_not(spec, precision == Precision::fp32); !why.empty())
      throw InputError(why);
  }
  check_memory(specs);
  return specs;
}

class Population final : public GpuPopulation {
 public:
  Population(std::vector<AgentSpec> specs, Precision precision)
      : specs_(std::move(specs)),
        scout_(std::ranges::count(specs_, -1, &AgentSpec::replay_owner), -1),
        optimist_(scout_.size(), -1),
        scouts_act_(std::make_unique<bool[]>(scout_.size())),
        device_(specs_, precision == Precision::fp32),
        counters_(specs_.size()),
        uploaded_(scout_.size()),
        observed_(specs_.size()) {
    for (std::size_t i = scout_.size(); i < specs_.size(); ++i)
      (specs_[i].policy_owner >= 0 ? optimist_ : scout_)[specs_[i].replay_owner] =
          static_cast<int>(i);
    const DevicePopulation::Exchange& e = device_.exchange();
    acting_ = {e.observations,
               e.actions,
               e.samples,
               e.fractions,
               e.observation,
               e.fraction,
               e.explorer_noise,
               e.plain,
               {scouts_act_.get(), scout_.size()},
               e.mean,
               e.std,
               e.moved,
               e.m,
               e.choice};
  }

  void upload(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for_each_learner(index, [&](int place, const std::string& prefix) {
      for_each_array(state, prefix, [&](int network, int a, std::span<float> values) {
        device_.write({place, network, a}, values);
      });
      if (specs_[place].has_rnd) {
        std::vector<double> statistics;
        for_each_rnd_statistic(state, prefix, [&](std::span<double> values) {
          statistics.insert(statistics.end(), values.begin(), values.end());
        });
        device_.write_rnd(place, statistics);
        observed_[place] = static_cast<std::int64_t>(statistics[0]);
      }
      counters_[place].updates = *state.updates;
      std::ranges::copy(array(state, prefix + "log_alpha"), counters_[place].log_alpha.begin());
    });
    uploaded_[index] = agent.replay().added() - agent.replay().size();
    add_rows(index, agent.replay());
  }

  void download(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for_each_learner(index, [&](int place, const std::string& prefix) {
      for_each_array(state, prefix, [&](int network, int a, std::span<float> values) {
        device_.read({place, network, a}, values);
      });
      device_.wait();
      for_each_rnd_statistic(state, prefix, [&, from = 0](std::span<double> values) mutable {
        device_.read_rnd(place, from, values);
        from += static_cast<int>(values.size());
      });
      if (const auto log_alpha = array(state, prefix + "log_alpha"); !log_alpha.empty())
        std::ranges::copy(counters_[place].log_alpha, log_alpha.begin());
    });
    *state.updates = counters_[index].updates;
    agent.restored();
  }

  void download_policies(std::span<Agent* const> agents) override {
    for (std::size_t i = 0; i < agents.size(); ++i) {
      const LearnerState state = agents[i]->state();
      for (const auto& policy : agents[i]->policy().networks) {
        const int network =
            static_cast<int>(std::ranges::find(kNetworks, policy.name) - std::begin(kNetworks));
        device_.read({static_cast<int>(i), network, 0}, array(state, policy.name + ".parameters"));
      }
      *state.updates = counters_[i].updates;
    }
    device_.wait();
  }

  void add_rows(int index, const Replay& replay) override {
    for (std::int64_t& row = uploaded_[index]; row < replay.added();) {
      const std::int64_t at = row % replay.capacity();
      const std::int64_t count = std::min(replay.added() - row, replay.capacity() - at);
      device_.write_rows(index, at, replay.raw(at, count));
      row += count;
    }
    for_each_learner(index, [&](int place, const std::string&) {
      counters_[place].replay_rows = replay.size();
      counters_[place].replay_added = replay.added();
    });
  }

  void set_optimism(int index, float optimism) override {
    device_.set_blend(index, blend_of(optimism));
  }

  const PopulationActing& acting() const override { return acting_; }

  void act() override {
    const auto show_observation = [&](int agent, int other) {
      const auto row = [&](int i) { return acting_.observation.subspan(i * acting_.observations); };
      std::ranges::copy(row(agent).first(acting_.observations), row(other).begin());
    };
    for_each_acting_scout(show_observation);
    for_each_acting_optimist(show_observation);
    device_.act();
    for_each_acting_scout([&](int agent, int scout) {
      const DevicePopulation::Exchange& e = device_.exchange();
      for (const auto& answers : {e.mean, e.std, e.moved})
        std::ranges::copy(answers.subspan(scout * e.actions, e.actions),
                          answers.begin() + agent * e.actions);
      e.m[agent] = e.m[scout];
    });
    for_each_acting_optimist([&](int agent, int optimist) {
      const DevicePopulation::Exchange& e = device_.exchange();
      const double spread = specs_[optimist].optimist_spec.spread;
      for (int d = 0; d < e.actions; ++d) {
        e.moved[agent * e.actions + d] = e.mean[optimist * e.actions + d];
        e.std[agent * e.actions + d] = spread * e.std[optimist * e.actions + d];
      }
    });
  }

  void update(int n) override {
    for (DevicePopulation::Counters& c : counters_) c.critic_loss = c.actor_loss = 0;
    device_.write_counters(counters_);
    device_.observe(batches_to_observe());
    updates_ = n;
    device_.update(n);
  }

  bool is_done() override { return device_.is_done(); }

  std::vector<PopulationReport> finish() override {
    counters_ = device_.read_counters();
    const auto means = device_.value_means();
    std::vector<PopulationReport> reports(scout_.size());
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const DevicePopulation::Counters& c = counters_[i];
      const bool actor = !specs_[i].is_grid, gaussian = actor && !specs_[i].deterministic;
      UpdateReport& update = reports[i].update;
      update.critic_loss = c.critic_loss / updates_;
      if (actor) update.actor_loss = c.actor_loss / updates_;
      if (gaussian) update.temperature = std::exp(c.log_alpha[0]);
      reports[i].value = {means[i].mean, means[i].epistemic, means[i].aleatoric};
      reports[i].first_bad = c.first_bad;
      for (const int other : {scout_[i], optimist_[i]}) {
        if (reports[i].first_bad == 0 && other >= 0)
          reports[i].first_bad = counters_[other].first_bad;
      }
    }
    return reports;
  }

  double bytes_per_update() const override {
    double floats = 0;
    for (const AgentSpec& spec : specs_) {
      floats += 8.0 * spec.actor_shape.size;
      if (spec.policy_owner >= 0) continue;
      floats += 8.0 * 2 * spec.critic_size;
      if (spec.has_rnd) floats += 7.0 * spec.rnd_shape.size;  // the random network stays
      floats += double(spec.batch) * (2 * spec.observations + spec.actions + 2);
    }
    return floats * sizeof(float);
  }

 private:
  // Calls visit(place, prefix) for the learners of an agent: where it is on the device, and what
  // its names begin with.
  template <typename Visit>
  void for_each_learner(int index, Visit&& visit) {
    visit(index, std::string());
    if (scout_[index] >= 0) visit(scout_[index], std::string(kScout));
    if (optimist_[index] >= 0) visit(optimist_[index], std::string(kOptimist));
  }

  // Calls visit(agent, scout) where the scout acts in its agent's place.
  template <typename Visit>
  void for_each_acting_scout(Visit&& visit) {
    for (int i = 0; i < static_cast<int>(scout_.size()); ++i) {
      if (scout_[i] >= 0 && scouts_act_[i] && !acting_.plain[i]) visit(i, scout_[i]);
    }
  }

  // Calls visit(agent, optimist) where the optimist does.
  template <typename Visit>
  void for_each_acting_optimist(Visit&& visit) {
    for (int i = 0; i < static_cast<int>(optimist_.size()); ++i) {
      const bool scouts = scout_[i] >= 0 && scouts_act_[i];
      if (optimist_[i] >= 0 && !scouts && !acting_.plain[i]) visit(i, optimist_[i]);
    }
  }

  // How many batches of transitions the statistics of the bonuses have yet to follow; at least one,
  // which may be empty, for what follows from statistics that have just been uploaded.
  int batches_to_observe() {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!specs_[i].has_rnd) continue;
      const auto added = static_cast<std::int64_t>(counters_[i].replay_added);
      const auto rows = static_cast<std::int64_t>(counters_[i].replay_rows);
      const std::int64_t unseen = std::min(added - observed_[i], rows), batch = specs_[i].batch;
      most = std::max({most, (unseen + batch - 1) / batch, std::int64_t{1}});
      observed_[i] = added;
    }
    return static_cast<int>(most);
  }

  std::vector<AgentSpec> specs_;        // of the agents, then of the scouts, then of the optimists
  std::vector<int> scout_, optimist_;   // where those of each agent are; -1: it has none
  std::unique_ptr<bool[]> scouts_act_;  // of each agent
  DevicePopulation device_;
  std::vector<DevicePopulation::Counters>
      counters_;                        // as the device had them after the last finish()
  std::vector<std::int64_t> uploaded_;  // number of the first row that the device does not have
  std::vector<std::int64_t> observed_;  // number of the first row that a bonus does not know of
  PopulationActing acting_{};
  int updates_ = 1;
};

}  // namespace

std::string why_no_gpu() { return cuda::why_no_device(); }

std::string gpu_name() { return cuda::device_name(); }

void check_gpu_population(std::span<const AgentOptions> agents, Precision precision) {
  checked_specs(agents, precision);
}

std::unique_ptr<GpuPopulation> make_gpu_population(std::span<const AgentOptions> agents,
                                                   Precision precision) {
  return std::make_unique<Population>(checked_specs(agents, precision), precision);
}

GpuCeilings measure_gpu() {
  const cuda::Ceilings ceilings = cuda::measure_ceilings();
  return {ceilings.flops, ceilings.bytes};
}

}  // namespace ovde
