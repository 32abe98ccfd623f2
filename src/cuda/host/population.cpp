#include "cuda/host/population.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/scout.h"
#include "cuda/host/agent_memory.h"
#include "cuda/host/agent_spec.h"
#include "cuda/host/transfers.h"
#include "cuda/host/update_graph.h"
#include "cuda/kernels/explore/act.cuh"

namespace ovde {

namespace {

using cuda::AgentSpec, cuda::array, cuda::check, cuda::for_each_rnd_statistic, cuda::DeviceArray,
    cuda::make_device_array, cuda::Progress, cuda::Role;
using DeviceAgent = cuda::Agent;

// The prefix of a learner's names in a LearnerState.
std::string prefix_of(Role role) {
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

// A learner's arrays on the device, with their names in a LearnerState. An optimist has an actor
// alone, and its multipliers.
StateArrays arrays_of(const DeviceAgent& agent) {
  StateArrays arrays;
  const std::string prefix = prefix_of(agent.role);
  const auto add = [&](const std::string& name, const cuda::Network& net, int size) {
    cuda::add_network(name, net, size, arrays);
  };
  if (agent.role == Role::optimist) {
    add("optimist", agent.actor_net, agent.actor_shape.size);
    arrays.push_back({prefix + "log_optimism", {agent.optimist.log_optimism, 3}});
    arrays.push_back({prefix + "log_weight", {agent.optimist.log_weight, 3}});
    return arrays;
  }
  add(prefix + "actor", agent.actor_net, agent.actor_shape.size);
  add(prefix + "critic_1", agent.critic_net[0], agent.critic_shape.size);
  add(prefix + "critic_2", agent.critic_net[1], agent.critic_shape.size);
  add(prefix + "rnd", agent.distillation.net, agent.rnd_shape.size);
  return arrays;
}

// Calls visit(device, values) for each array of a learner that the state has.
template <typename Visit>
void for_each_array(const LearnerState& state, const DeviceAgent& agent, Visit&& visit) {
  for (const auto& [name, device] : arrays_of(agent)) {
    const auto values = array(state, name);
    if (!values.empty()) visit(device, values);
  }
}

std::size_t bytes_of(std::span<const AgentSpec> specs) {
  cuda::Arena counting(nullptr);
  for (const AgentSpec& spec : specs) allocate(spec, counting, nullptr);
  return counting.used();
}

std::vector<AgentSpec> checked_specs(std::span<const AgentOptions> agents, Precision precision) {
  std::vector<AgentSpec> specs = cuda::agent_specs(agents);
  for (const AgentSpec& spec : specs) {
    if (const std::string why = cuda::why_not(spec, precision == Precision::fp32); !why.empty())
      throw InputError(why);
  }
  std::vector<double> bytes;
  for (const AgentSpec& spec : specs)
    bytes.push_back(static_cast<double>(bytes_of({&spec, 1}) + 2 * sizeof(DeviceAgent) +
                                        sizeof(Progress) + sizeof(ValueReport)));
  cuda::check_memory(bytes);
  return specs;
}

// The order of updates: first agents with an actor, then those over a grid of actions, then
// optimists in the order of their owners.
std::vector<int> order_of_updates(std::span<const DeviceAgent> agents) {
  std::vector<int> order(agents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) {
    return agents[i].role == Role::optimist ? 2 : agents[i].is_grid() ? 1 : 0;
  });
  return order;
}

// Random or embedded fractions that an explorer draws.
int drawn_fractions(const AgentSpec& spec) {
  return spec.iqn && spec.explorer.explores() ? spec.critic.quantiles : 0;
}

// The lengths of rows in acting.
PopulationActing row_lengths(std::span<const AgentSpec> specs) {
  using cuda::largest;
  PopulationActing acting{};
  acting.observations = largest(specs, [](const AgentSpec& s) { return s.observation_size; });
  acting.actions = largest(specs, [](const AgentSpec& s) { return s.action_size; });
  acting.samples = largest(specs, [](const AgentSpec& s) { return s.explorer.samples(); });
  acting.fractions = largest(specs, drawn_fractions);
  return acting;
}

// The inputs and outputs of acting, for the kernels.
cuda::ActExchange make_exchange(const PopulationActing& acting, std::span<const AgentSpec> specs) {
  constexpr int kMostTogether = 16;
  int batch = specs[0].train.batch;
  for (const AgentSpec& spec : specs) batch = std::min(batch, spec.train.batch);
  cuda::ActExchange exchange{ActArrays(acting)};
  exchange.agents = static_cast<int>(specs.size());
  exchange.together = std::min({acting.samples, batch, kMostTogether});
  exchange.ascents = cuda::largest(specs, [](const AgentSpec& s) { return s.explorer.ascents(); });
  exchange.size = cuda::acting_size();
  return exchange;
}

// Any call may throw Error, naming the CUDA call that failed.
class Population final : public GpuPopulation {
 public:
  Population(std::vector<AgentSpec> specs, Precision precision)
      : specs_(std::move(specs)),
        companions_(std::ranges::count(specs_, Role::agent, &AgentSpec::role)),
        progress_(specs_.size()),
        uploaded_(companions_.size()),
        observed_(specs_.size()),
        device_progress_(make_device_array<Progress>(specs_.size())),
        means_(make_device_array<ValueReport>(specs_.size())),
        device_agents_(make_device_array<DeviceAgent>(specs_.size())),
        update_agents_(make_device_array<DeviceAgent>(specs_.size())) {
    for (int i = 0; i < static_cast<int>(specs_.size()); ++i) {
      const AgentSpec& spec = specs_[i];
      if (spec.role == Role::scout) companions_[spec.owner].scout = i;
      if (spec.role == Role::optimist) companions_[spec.owner].optimist = i;
    }
    allocate_agents();
    start_agents(precision == Precision::fp32);
  }

  void upload(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for (const int at : learners(index)) {
      const std::string prefix = prefix_of(specs_[at].role);
      const auto write = [&](auto device, auto values) { stream_.write(device, values); };
      for_each_array(state, agents_[at], write);
      for_each_rnd_statistic(state, prefix, agents_[at].distillation.statistics.next_row, write);
      observed_[at] = cuda::observed_rows(state, prefix);
      progress_[at].updates = *state.updates;
      std::ranges::copy(array(state, prefix + "log_alpha"), progress_[at].log_alpha);
    }
    set_reward_scale(index, agent.host_side().reward_scale());
    has_copies_ = false;
    uploaded_[index] = agent.replay().added() - agent.replay().size();
    add_rows(index, agent.replay());
    stream_.wait();
  }

  void download(int index, Agent& agent) override {
    const LearnerState state = agent.state();
    for (const int at : learners(index)) {
      const std::string prefix = prefix_of(specs_[at].role);
      const auto read = [&](auto device, auto values) { stream_.read(values, device); };
      for_each_array(state, agents_[at], read);
      for_each_rnd_statistic(state, prefix, agents_[at].distillation.statistics.next_row, read);
      if (const auto log_alpha = array(state, prefix + "log_alpha"); !log_alpha.empty())
        std::ranges::copy(progress_[at].log_alpha, log_alpha.begin());
    }
    stream_.wait();
    *state.updates = progress_[index].updates;
    agent.restored();
  }

  void download_policies(std::span<Agent* const> agents) override {
    for (std::size_t i = 0; i < agents.size(); ++i) {
      const LearnerState state = agents[i]->state();
      for (const auto& policy : agents[i]->policy().networks) {
        for (const auto& [name, device] : arrays_of(agents_[i])) {
          if (name == parameters_of(policy.name)) stream_.read(array(state, name), device);
        }
      }
      *state.updates = progress_[i].updates;
    }
    stream_.wait();
  }

  void add_rows(int index, const Replay& replay) override {
    replay.for_each_piece(uploaded_[index], replay.added(), [&](auto at, auto count) {
      const auto rows = replay.raw(at, count);
      stream_.write(
          std::span(agents_[index].replay + at * agents_[index].replay_stride, rows.size()), rows);
    });
    uploaded_[index] = replay.added();
    for (const int at : learners(index)) {
      progress_[at].replay_rows = replay.size();
      progress_[at].replay_added = replay.added();
    }
  }

  void set_optimism(int index, float optimism) override {
    const Blend blend = blend_of(optimism);
    for (DeviceAgent* at : {device_agents_.get() + index, update_agents_.get() + place_[index]})
      stream_.write(std::span(&at->blend, 1), std::span(&blend, 1));
    stream_.wait();
  }

  void set_reward_scale(int index, float factor) override {
    for (const int at : learners(index)) progress_[at].reward_scale = factor;
  }

  const PopulationActing& acting() const override { return acting_; }

  void act() override {
    const PopulationActing& e = acting_;
    for_each_substitute([&](int agent, int other) {
      std::ranges::copy(e.observation.subspan(agent * e.observations, e.observations),
                        e.observation.begin() + other * e.observations);
    });
    enqueue_act(device_agents_.get(), exchange_, stream_.get());
    if (iqn_explorers_) enqueue_iqn_act(device_agents_.get(), exchange_, stream_.get());
    if (choices_ > 0) enqueue_grid_act(device_agents_.get(), choices_, exchange_, stream_.get());
    stream_.wait();
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
    for (Progress& progress : progress_) {
      progress.critic_loss = progress.actor_loss = 0;
      progress.alpha = std::exp(progress.log_alpha[0]);
    }
    stream_.write(std::span(device_progress_.get(), progress_.size()), std::span(progress_));
    stream_.wait();
    observe_transitions();
    updates_ = n;
    if (!std::exchange(has_copies_, true)) graph_->copy_networks(stream_.get());
    graph_->launch(n, stream_.get());
  }

  bool is_done() override { return stream_.is_done(); }

  std::vector<PopulationReport> finish() override {
    std::vector<ValueReport> means(specs_.size());
    compute_value_means(static_cast<int>(means.size()), device_agents_.get(), means_.get(),
                        stream_.get());
    stream_.read(std::span(means), {means_.get(), means.size()});
    stream_.read(std::span(progress_), {device_progress_.get(), progress_.size()});
    stream_.wait();
    std::vector<PopulationReport> reports(companions_.size());
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const Progress& c = progress_[i];
      const bool actor = !specs_[i].is_grid(), gaussian = actor && !specs_[i].is_deterministic();
      UpdateReport& update = reports[i].update;
      update.critic_loss = c.critic_loss / updates_;
      if (actor) update.actor_loss = c.actor_loss / updates_;
      if (gaussian) update.temperature = std::exp(c.log_alpha[0]);
      reports[i].value = means[i];
      for (const int at : learners(static_cast<int>(i))) {
        if (reports[i].first_bad == 0) reports[i].first_bad = progress_[at].first_bad;
      }
    }
    return reports;
  }

  double bytes_per_update() const override {
    double floats = 0;
    for (const AgentSpec& spec : specs_) {
      floats += 8.0 * spec.actor_shape.size;
      if (spec.role == Role::optimist) continue;
      floats += 8.0 * 2 * spec.critic_shape.size;
      if (spec.has_bonus()) floats += 7.0 * spec.rnd_shape.size;  // the random network stays
      floats += double(spec.train.batch) * (2 * spec.observation_size + spec.action_size + 2);
    }
    return floats * sizeof(float);
  }

 private:
  // The learners that an agent has besides its own.
  struct Companions {
    std::optional<int> scout, optimist;
  };

  // The numbers of all learners of an agent, its own first.
  std::vector<int> learners(int index) const {
    std::vector<int> all = {index};
    for (const auto& other : {companions_[index].scout, companions_[index].optimist}) {
      if (other) all.push_back(*other);
    }
    return all;
  }

  // Lays the learners out in device memory.
  void allocate_agents() {
    const std::size_t bytes = bytes_of(specs_);
    memory_ = make_device_array<char>(bytes);
    check(cudaMemsetAsync(memory_.get(), 0, bytes, stream_.get()), "cudaMemset");
    cuda::Arena arena(memory_.get());
    for (std::size_t i = 0; i < specs_.size(); ++i)
      agents_.push_back(allocate(specs_[i], arena, device_progress_.get() + i));
    for (DeviceAgent& agent : agents_) {
      if (agent.role != Role::agent) share_with_owner(agents_[agent.owner], agent);
      choices_ = std::max(choices_, agent.choices);
    }
  }

  // Copies them to the device, and captures their updates.
  void start_agents(bool exact) {
    std::vector<DeviceAgent> in_order;
    place_.resize(agents_.size());
    for (const int i : order_of_updates(agents_)) {
      place_[i] = static_cast<int>(in_order.size());
      in_order.push_back(agents_[i]);
    }
    stream_.write(std::span(device_agents_.get(), agents_.size()), std::span(agents_));
    stream_.write(std::span(update_agents_.get(), in_order.size()), std::span(in_order));
    std::vector<int> owners;
    for (const DeviceAgent& agent : in_order) {
      if (agent.role == Role::optimist) owners.push_back(place_[agent.owner]);
    }
    graph_.emplace(update_agents_.get(), std::vector<AgentSpec>(in_order.begin(), in_order.end()),
                   owners, exact);
    stream_.wait();
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

  // The statistics of the bonuses follow the transitions that were added, a batch at a time.
  void observe_transitions() {
    std::int64_t batches = 0;
    bool errors = false;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!specs_[i].has_bonus()) continue;
      batches = std::max(batches,
                         cuda::unseen_batches(progress_[i], specs_[i].train.batch, observed_[i]));
      errors |= !specs_[i].rnd.relative;
    }
    cuda::UpdatePlan plan{};
    plan.agents = static_cast<int>(specs_.size());
    plan.batch = cuda::largest(std::span<const AgentSpec>(specs_),
                               [](const AgentSpec& spec) { return spec.train.batch; });
    plan.exact_size = cuda::exact_size();
    for (; batches > 0; --batches)
      observe_unseen(plan, errors, device_agents_.get(), stream_.get());
  }

  std::vector<AgentSpec> specs_;  // agents, then scouts, then optimists
  std::vector<Companions> companions_;
  std::vector<Progress> progress_;      // as of the last finish()
  std::vector<std::int64_t> uploaded_;  // number of the first row that is not on the device
  std::vector<std::int64_t> observed_;  // number of the first row that a bonus has not observed
  int updates_ = 1;

  cuda::DeviceStream stream_;
  DeviceArray<char> memory_;
  DeviceArray<Progress> device_progress_;
  DeviceArray<ValueReport> means_;
  std::vector<DeviceAgent> agents_;                         // as the device has them
  DeviceArray<DeviceAgent> device_agents_, update_agents_;  // the latter in the order of updates
  std::vector<int> place_;                                  // each agent's, in that order
  int choices_ = 0;                                         // actions of the largest grid
  const bool iqn_explorers_ = std::ranges::any_of(specs_, drawn_fractions);
  std::optional<cuda::UpdateGraph> graph_;
  bool has_copies_ = false;  // the fp16 copies of the networks are up to date
  cuda::MappedMemory act_memory_;
  PopulationActing acting_ = cuda::make_acting(specs_.size(), row_lengths(specs_), act_memory_);
  cuda::ActExchange exchange_ = make_exchange(acting_, specs_);
};

}  // namespace

void cuda::check_memory(std::span<const double> bytes) {
  constexpr double kUsable = 0.95;  // the driver, the kernels and the graphs take the rest
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  const double free = kUsable * static_cast<double>(available);
  double needed = 0;
  std::size_t fit = 0;
  for (const double of_one : bytes) {
    needed += of_one;
    if (needed <= free) ++fit;
  }
  if (fit == bytes.size()) return;
  throw InputError(
      fmt::format("{} agents need {:.1f} GB of memory on the GPU, {:.1f} GB are free: {} of them "
                  "would fit (more with a smaller train.replay)",
                  bytes.size(), 1e-9 * needed, 1e-9 * free, fit));
}

void cuda::check_population(std::span<const AgentOptions> agents, Precision precision) {
  checked_specs(agents, precision);
}

std::unique_ptr<GpuPopulation> cuda::make_population(std::span<const AgentOptions> agents,
                                                     Precision precision) {
  return std::make_unique<Population>(checked_specs(agents, precision), precision);
}

}  // namespace ovde
