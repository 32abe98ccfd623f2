#include "cuda/population.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/scout.h"
#include "cuda/host/agent_spec.h"
#include "cuda/host/device.h"
#include "cuda/host/device_population.h"

namespace ovde {

namespace {

using cuda::AgentSpec, cuda::DevicePopulation, cuda::Multiplier, cuda::NetworkArray,
    cuda::NetworkId, cuda::Role;

// The names of networks and their arrays in a LearnerState.
constexpr std::pair<NetworkId, std::string_view> kNetworks[] = {{NetworkId::actor, "actor"},
                                                                {NetworkId::critic_1, "critic_1"},
                                                                {NetworkId::critic_2, "critic_2"},
                                                                {NetworkId::predictor, "rnd"}};
constexpr std::pair<NetworkArray, std::string_view> kArrays[] = {
    {NetworkArray::parameters, "parameters"},
    {NetworkArray::first_moment, "first_moment"},
    {NetworkArray::second_moment, "second_moment"},
    {NetworkArray::target, "target"}};

// One learner of an agent: its index on the device and its role.
struct DeviceLearner {
  int index;
  Role role;

  std::string prefix() const {
    switch (role) {
      case Role::agent:
        return "";
      case Role::scout:
        return kScout;
      case Role::optimist:
        return kOptimist;
    }
    throw Error("unknown role of a learner");
  }
};

// Empty if the learner has no such array.
std::span<float> array(const LearnerState& state, const std::string& name) {
  for (const auto& [key, values] : state.arrays) {
    if (key == name) return values;
  }
  return {};
}

// Calls visit(device, values) for each array of a learner on the device and in a state. An optimist
// has an actor alone, which the state does not name, and its multipliers.
template <typename Visit>
void for_each_array(const DevicePopulation& device, const LearnerState& state,
                    const DeviceLearner& learner, Visit&& visit) {
  const std::string prefix = learner.prefix();
  if (learner.role == Role::optimist) {
    for (const auto& [id, name] : kArrays)
      visit(device.array({learner.index, NetworkId::actor, id}),
            array(state, fmt::format("{}{}", prefix, name)));
    visit(device.multiplier(learner.index, Multiplier::optimism),
          array(state, prefix + "log_optimism"));
    visit(device.multiplier(learner.index, Multiplier::weight),
          array(state, prefix + "log_weight"));
    return;
  }
  for (const auto& [network, network_name] : kNetworks) {
    for (const auto& [id, name] : kArrays) {
      const auto values = array(state, fmt::format("{}{}.{}", prefix, network_name, name));
      if (!values.empty()) visit(device.array({learner.index, network, id}), values);
    }
  }
}

// Calls visit(values) for the statistics of a learner's bonus, in their order.
template <typename Visit>
void for_each_rnd_statistic(const LearnerState& state, const DeviceLearner& learner,
                            Visit&& visit) {
  for (const auto& [name, values] : state.statistics) {
    if (name.starts_with(learner.prefix() + "rnd.")) visit(values);
  }
}

void check_memory(std::span<const AgentSpec> specs) {
  constexpr double kUsable = 0.95;  // the driver, the kernels and the graphs take the rest
  const double free = kUsable * static_cast<double>(cuda::free_device_memory());
  double needed = 0;
  std::size_t fit = 0;
  for (const AgentSpec& spec : specs) {
    needed += static_cast<double>(cuda::bytes_of(spec));
    if (needed <= free) ++fit;
  }
  if (fit == specs.size()) return;
  throw InputError(
      fmt::format("{} agents need {:.1f} GB of memory on the GPU, {:.1f} GB are free: {} of them "
                  "would fit (more with a smaller train.replay)",
                  specs.size(), 1e-9 * needed, 1e-9 * free, fit));
}

std::vector<AgentSpec> checked_specs(std::span<const AgentOptions> agents, Precision precision) {
  check_algorithms(agents);
  if (const std::string why = why_no_gpu(); !why.empty())
    throw InputError("no GPU can be used: " + why);
  std::vector<AgentSpec> specs = cuda::agent_specs(agents);
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
        companions_(std::ranges::count(specs_, Role::agent, &AgentSpec::role)),
        device_(specs_, precision == Precision::fp32),
        counters_(specs_.size()),
        uploaded_(companions_.size()),
        observed_(specs_.size()) {
    for (int i = 0; i < static_cast<int>(specs_.size()); ++i) {
      const AgentSpec& spec = specs_[i];
      if (spec.role == Role::scout) companions_[spec.owner].scout = i;
      if (spec.role == Role::optimist) companions_[spec.owner].optimist = i;
    }
  }

  void upload(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for (const DeviceLearner& learner : learners(index)) {
      const int at = learner.index;
      for_each_array(device_, state, learner,
                     [&](auto device, auto values) { device_.write(device, values); });
      if (specs_[at].has_bonus()) {
        std::vector<double> statistics;
        for_each_rnd_statistic(state, learner, [&](std::span<double> values) {
          statistics.insert(statistics.end(), values.begin(), values.end());
        });
        device_.write(device_.rnd_statistics(at), statistics);
        device_.wait();
        observed_[at] = static_cast<std::int64_t>(statistics[0]);
      }
      counters_[at].updates = *state.updates;
      std::ranges::copy(array(state, learner.prefix() + "log_alpha"),
                        counters_[at].log_alpha.begin());
    }
    device_.networks_changed();
    uploaded_[index] = agent.replay().added() - agent.replay().size();
    add_rows(index, agent.replay());
  }

  void download(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for (const DeviceLearner& learner : learners(index)) {
      const int at = learner.index;
      for_each_array(device_, state, learner,
                     [&](auto device, auto values) { device_.read(device, values); });
      for_each_rnd_statistic(state, learner, [&, from = std::size_t{0}](auto values) mutable {
        device_.read(device_.rnd_statistics(at).subspan(from, values.size()), values);
        from += values.size();
      });
      if (const auto log_alpha = array(state, learner.prefix() + "log_alpha"); !log_alpha.empty())
        std::ranges::copy(counters_[at].log_alpha, log_alpha.begin());
    }
    device_.wait();
    *state.updates = counters_[index].updates;
    agent.restored();
  }

  void download_policies(std::span<Agent* const> agents) override {
    for (std::size_t i = 0; i < agents.size(); ++i) {
      const LearnerState state = agents[i]->state();
      for (const auto& policy : agents[i]->policy().networks) {
        for (const auto& [network, name] : kNetworks) {
          if (name == policy.name)
            device_.read(device_.array({static_cast<int>(i), network, NetworkArray::parameters}),
                         array(state, policy.name + ".parameters"));
        }
      }
      *state.updates = counters_[i].updates;
    }
    device_.wait();
  }

  void add_rows(int index, const Replay& replay) override {
    for (std::int64_t& row = uploaded_[index]; row < replay.added();) {
      const std::int64_t at = row % replay.capacity();
      const std::int64_t count = std::min(replay.added() - row, replay.capacity() - at);
      device_.write(device_.replay_rows(index, at, count), replay.raw(at, count));
      row += count;
    }
    for (const DeviceLearner& learner : learners(index)) {
      counters_[learner.index].replay_rows = replay.size();
      counters_[learner.index].replay_added = replay.added();
    }
  }

  void set_optimism(int index, float optimism) override {
    device_.set_blend(index, blend_of(optimism));
  }

  const PopulationActing& acting() const override { return device_.acting(); }

  void act() override {
    const PopulationActing& e = acting();
    for_each_substitute([&](int agent, int other) {
      std::ranges::copy(e.observation.subspan(agent * e.observations, e.observations),
                        e.observation.begin() + other * e.observations);
    });
    device_.act();
    for_each_substitute([&](int agent, int other) {
      if (specs_[other].role == Role::scout) {
        for (const auto& answers : {e.mean, e.std, e.moved})
          std::ranges::copy(answers.subspan(other * e.actions, e.actions),
                            answers.begin() + agent * e.actions);
        e.m[agent] = e.m[other];
        return;
      }
      const double spread = specs_[other].dac.spread;
      for (int d = 0; d < e.actions; ++d) {
        e.moved[agent * e.actions + d] = e.mean[other * e.actions + d];
        e.std[agent * e.actions + d] = spread * e.std[other * e.actions + d];
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
    std::vector<PopulationReport> reports(companions_.size());
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const DevicePopulation::Counters& c = counters_[i];
      const bool actor = !specs_[i].is_grid(), gaussian = actor && !specs_[i].is_deterministic();
      UpdateReport& update = reports[i].update;
      update.critic_loss = c.critic_loss / updates_;
      if (actor) update.actor_loss = c.actor_loss / updates_;
      if (gaussian) update.temperature = std::exp(c.log_alpha[0]);
      reports[i].value = {means[i].mean, means[i].epistemic, means[i].aleatoric};
      for (const DeviceLearner& learner : learners(static_cast<int>(i))) {
        if (reports[i].first_bad == 0) reports[i].first_bad = counters_[learner.index].first_bad;
      }
    }
    return reports;
  }

  double bytes_per_update() const override {
    double floats = 0;
    for (const AgentSpec& spec : specs_) {
      floats += 8.0 * spec.actor_shape.size;
      if (spec.role == Role::optimist) continue;
      floats += 8.0 * 2 * spec.critic_size;
      if (spec.has_bonus()) floats += 7.0 * spec.rnd_shape.size;  // the random network stays
      floats += double(spec.train.batch) * (2 * spec.observations + spec.actions + 2);
    }
    return floats * sizeof(float);
  }

 private:
  // The learners that an agent has besides its own.
  struct Companions {
    std::optional<int> scout, optimist;
  };

  // All learners of an agent, its own first.
  std::vector<DeviceLearner> learners(int index) const {
    std::vector<DeviceLearner> all = {{index, Role::agent}};
    if (const auto& scout = companions_[index].scout) all.push_back({*scout, Role::scout});
    if (const auto& optimist = companions_[index].optimist)
      all.push_back({*optimist, Role::optimist});
    return all;
  }

  // Calls visit(agent, other) where a scout or an optimist acts in its agent's place.
  template <typename Visit>
  void for_each_substitute(Visit&& visit) {
    for (int i = 0; i < static_cast<int>(companions_.size()); ++i) {
      if (acting().plain[i]) continue;
      const auto& [scout, optimist] = companions_[i];
      if (scout && acting().scouts[i]) {
        visit(i, *scout);
      } else if (optimist) {
        visit(i, *optimist);
      }
    }
  }

  // How many batches of transitions the statistics of the bonuses have yet to follow. At least one,
  // which may be empty, for the scales that follow from statistics that have just been uploaded.
  int batches_to_observe() {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!specs_[i].has_bonus()) continue;
      const auto added = static_cast<std::int64_t>(counters_[i].replay_added);
      const auto rows = static_cast<std::int64_t>(counters_[i].replay_rows);
      const std::int64_t unseen = std::min(added - observed_[i], rows),
                         batch = specs_[i].train.batch;
      most = std::max({most, (unseen + batch - 1) / batch, std::int64_t{1}});
      observed_[i] = added;
    }
    return static_cast<int>(most);
  }

  std::vector<AgentSpec> specs_;  // agents, then scouts, then optimists
  std::vector<Companions> companions_;
  DevicePopulation device_;
  std::vector<DevicePopulation::Counters> counters_;  // as of the last finish()
  std::vector<std::int64_t> uploaded_;  // number of the first row that is not on the device
  std::vector<std::int64_t> observed_;  // number of the first row that a bonus has not observed
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
  const cuda::PeakRates peak = cuda::measure_peak_rates();
  return {peak.flops, peak.bytes};
}

}  // namespace ovde
