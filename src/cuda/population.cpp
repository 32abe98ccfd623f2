#include "cuda/population.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/critic/iqn_critic.h"
#include "agent/critic/quantile_critic.h"
#include "cuda/device_population.h"

namespace ovde {

namespace {

using cuda::AgentSpec;
using cuda::DevicePopulation;

constexpr const char* kNetworks[] = {"actor", "critic_1", "critic_2"};
constexpr const char* kArrays[] = {"parameters", "first_moment", "second_moment", "target"};

std::span<float> array(const LearnerState& state, const std::string& name) {
  for (const auto& [key, values] : state.arrays) {
    if (key == name) return values;
  }
  throw Error("a learner has no array " + name);
}

// Calls visit(network, array, values) for each array of the three networks.
template <typename Visit>
void for_each_array(const LearnerState& state, Visit&& visit) {
  for (int network = 0; network < 3; ++network) {
    for (int a = 0; a < 4; ++a)
      visit(network, a, array(state, fmt::format("{}.{}", kNetworks[network], kArrays[a])));
  }
}

void refuse(const std::string& what, int most, int is) {
  throw InputError(fmt::format("{} must be at most {} on a GPU, not {} (the CPU has no such limit)",
                               what, most, is));
}

void check_fits(const AgentOptions& options) {
  const LearnerOptions& learner = options.learner;
  const auto check = [](const char* what, int most, int is) {
    if (is > most) refuse(what, most, is);
  };
  check("the number of hidden layers (network.hidden)", cuda::kMostHidden,
        static_cast<int>(learner.hidden.size()));
  for (const int width : learner.hidden)
    check("a layer of network.hidden", cuda::kMostWidth, width);
  check("critic.quantiles", cuda::kMostOutputs, learner.quantiles);
  check("the number of actions", cuda::kMostActions, learner.action_size);
  check("the number of observations and actions", cuda::kMostInputs,
        learner.observation_size + learner.action_size);
  if (learner.adam.clip > 0)
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

AgentSpec agent_spec(const AgentOptions& options) {
  check_fits(options);
  const LearnerOptions& learner = options.learner;
  AgentSpec spec{};
  spec.actor_shape =
      network_shape(MlpShape(learner.observation_size, learner.hidden, 2 * learner.action_size));
  spec.iqn = is_implicit(learner.head);
  spec.random_fractions = learner.head == CriticHead::iqn;
  if (spec.iqn) {
    spec.iqn_shape = iqn_shape(iqn_critic_shape(learner));
  } else {
    spec.critic_shape = network_shape(quantile_critic_shape(learner));
  }
  spec.critic_size = spec.iqn ? spec.iqn_shape.size : spec.critic_shape.size;
  spec.state_action_stride =
      spec.iqn ? spec.iqn_shape.layer[0].stride : spec.critic_shape.layer[0].stride;
  spec.observations = learner.observation_size;
  spec.actions = learner.action_size;
  spec.quantiles = learner.quantiles;
  spec.batch = learner.batch;
  spec.distributional = learner.distributional;
  spec.equal_weights = learner.weights == QuantileWeights::equal;
  spec.smaller_by_quantile = learner.minimum == Minimum::quantiles;
  spec.uncertainty = learner.uncertainty;
  spec.discount = learner.discount;
  spec.polyak = learner.polyak;
  spec.tunes_temperature = learner.tunes_temperature;
  spec.adam = learner.adam;
  spec.seed = learner.seed;
  spec.explorer = device_rule(options);
  spec.replay_rows = options.replay;
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

std::vector<AgentSpec> checked_specs(std::span<const AgentOptions> agents) {
  check_algorithms(agents);
  if (const std::string why = why_no_gpu(); !why.empty())
    throw InputError("no GPU can be used: " + why);
  std::vector<AgentSpec> specs;
  for (const AgentOptions& options : agents) specs.push_back(agent_spec(options));
  check_memory(specs);
  return specs;
}

class Population final : public GpuPopulation {
 public:
  Population(std::vector<AgentSpec> specs, Precision precision)
      : specs_(std::move(specs)),
        device_(specs_, precision == Precision::fp32),
        counters_(specs_.size()),
        uploaded_(specs_.size()) {
    const DevicePopulation::Exchange& e = device_.exchange();
    acting_ = {e.observations,   e.actions, e.samples, e.fractions, e.observation, e.fraction,
               e.explorer_noise, e.plain,   e.mean,    e.std,       e.moved,       e.m};
  }

  void upload(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for_each_array(state, [&](int network, int a, std::span<float> values) {
      device_.write({index, network, a}, values);
    });
    counters_[index].updates = *state.updates;
    std::ranges::copy(array(state, "log_alpha"), counters_[index].log_alpha.begin());
    uploaded_[index] = agent.replay().added() - agent.replay().size();
    add_rows(index, agent.replay());
  }

  void download(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for_each_array(state, [&](int network, int a, std::span<float> values) {
      device_.read({index, network, a}, values);
    });
    device_.wait();
    std::ranges::copy(counters_[index].log_alpha, array(state, "log_alpha").begin());
    *state.updates = counters_[index].updates;
    agent.restored();
  }

  void download_policies(std::span<Agent* const> agents) override {
    for (std::size_t i = 0; i < agents.size(); ++i) {
      const LearnerState state = agents[i]->state();
      device_.read({static_cast<int>(i), 0, 0}, array(state, "actor.parameters"));
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
    counters_[index].replay_rows = replay.size();
  }

  const PopulationActing& acting() const override { return acting_; }
  void act() override { device_.act(); }

  void update(int n) override {
    for (DevicePopulation::Counters& c : counters_) c.critic_loss = c.actor_loss = 0;
    device_.write_counters(counters_);
    updates_ = n;
    device_.update(n);
  }

  std::vector<PopulationReport> finish() override {
    counters_ = device_.read_counters();
    const auto means = device_.value_means();
    std::vector<PopulationReport> reports(counters_.size());
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const DevicePopulation::Counters& c = counters_[i];
      reports[i].update = {c.critic_loss / updates_, c.actor_loss / updates_,
                           std::exp(c.log_alpha[0])};
      reports[i].value = {means[i].mean, means[i].epistemic, means[i].aleatoric};
      reports[i].first_bad = c.first_bad;
    }
    return reports;
  }

  double bytes_per_update() const override {
    double floats = 0;
    for (const AgentSpec& spec : specs_) {
      floats += 8.0 * (spec.actor_shape.size + 2 * spec.critic_size);
      floats += double(spec.batch) * (2 * spec.observations + spec.actions + 2);
    }
    return floats * sizeof(float);
  }

 private:
  std::vector<AgentSpec> specs_;
  DevicePopulation device_;
  std::vector<DevicePopulation::Counters>
      counters_;                        // as the device had them after the last finish()
  std::vector<std::int64_t> uploaded_;  // number of the first row that the device does not have
  PopulationActing acting_{};
  int updates_ = 1;
};

}  // namespace

std::string why_no_gpu() { return cuda::why_no_device(); }

std::string gpu_name() { return cuda::device_name(); }

void check_gpu_population(std::span<const AgentOptions> agents, Precision) {
  checked_specs(agents);
}

std::unique_ptr<GpuPopulation> make_gpu_population(std::span<const AgentOptions> agents,
                                                   Precision precision) {
  return std::make_unique<Population>(checked_specs(agents), precision);
}

GpuCeilings measure_gpu() {
  const cuda::Ceilings ceilings = cuda::measure_ceilings();
  return {ceilings.flops, ceilings.bytes};
}

}  // namespace ovde
