// A population of agents with multi-layer perceptrons.
#include <algorithm>
#include <numeric>
#include <optional>
#include <ranges>
#include <utility>

#include <ovde/error.h>
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/scout.h"
#include "cuda/host/agent_memory.h"
#include "cuda/host/agent_spec.h"
#include "cuda/host/device_population.h"
#include "cuda/host/update_graph.h"
#include "cuda/kernels/explore/act.cuh"

namespace ovde::cuda {

namespace {

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
StateArrays arrays_of(const Agent& agent) {
  StateArrays arrays;
  const std::string prefix = prefix_of(agent.role);
  const auto add = [&](const std::string& name, const Network& net, int size) {
    add_network(name, net, size, arrays);
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

std::size_t bytes_of(std::span<const AgentSpec> specs) {
  Arena counting(nullptr);
  for (const AgentSpec& spec : specs) allocate(spec, counting, nullptr);
  return counting.used();
}

std::vector<AgentSpec> checked_specs(std::span<const AgentOptions> agents, Precision precision) {
  std::vector<AgentSpec> specs = agent_specs(agents);
  for (const AgentSpec& spec : specs) {
    if (const std::string why = why_not(spec, precision == Precision::fp32); !why.empty())
      throw InputError(why);
  }
  std::vector<double> bytes;
  for (const AgentSpec& spec : specs)
    bytes.push_back(static_cast<double>(bytes_of({&spec, 1}) + 2 * sizeof(Agent) +
                                        sizeof(Progress) + sizeof(ValueReport)));
  check_memory(bytes);
  return specs;
}

// The order of updates: first agents with an actor, then those over a grid of actions, then
// optimists in the order of their owners.
std::vector<int> order_of_updates(std::span<const Agent> agents) {
  std::vector<int> order(agents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) {
    return agents[i].role == Role::optimist ? 2 : agents[i].is_grid() ? 1 : 0;
  });
  return order;
}

// The inputs and outputs of acting, for the kernels.
ActExchange make_exchange(const PopulationActing& acting, std::span<const AgentSpec> specs) {
  constexpr int kMostTogether = 16;
  int batch = specs[0].train.batch;
  for (const AgentSpec& spec : specs) batch = std::min(batch, spec.train.batch);
  ActExchange exchange{ActArrays(acting)};
  exchange.agents = static_cast<int>(specs.size());
  exchange.together = std::min({acting.samples, batch, kMostTogether});
  exchange.ascents = largest(specs, [](const AgentSpec& s) { return s.explorer.ascents(); });
  exchange.size = acting_size();
  return exchange;
}

class Population final : public DevicePopulation {
 public:
  Population(std::span<const AgentOptions> agents, std::vector<AgentSpec> specs,
             Precision precision)
      : DevicePopulation(agents, specs.size()),
        specs_(std::move(specs)),
        device_progress_(make_device_array<Progress>(specs_.size())),
        means_(make_device_array<ValueReport>(agents.size())),
        device_agents_(make_device_array<Agent>(specs_.size())),
        update_agents_(make_device_array<Agent>(specs_.size())) {
    allocate_agents();
    start_agents(precision == Precision::fp32);
  }

  void set_optimism(int index, float optimism) override {
    const Blend blend = blend_of(optimism);
    for (Agent* at : {device_agents_.get() + index, update_agents_.get() + place_[index]})
      stream_.write(std::span(&at->blend, 1), std::span(&blend, 1));
    stream_.wait();
  }

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
    begin_updates(n);
    stream_.write(std::span(device_progress_.get(), progress_.size()), std::span(progress_));
    stream_.wait();
    observe_transitions();
    if (!std::exchange(has_copies_, true)) graph_->copy_networks(stream_.get());
    graph_->launch(n, stream_.get());
  }

  bool is_done() override { return stream_.is_done(); }

  std::vector<PopulationReport> finish() override {
    std::vector<ValueReport> means(agents());  // not of their scouts and optimists
    compute_value_means(agents(), device_agents_.get(), means_.get(), stream_.get());
    stream_.read(std::span(means), {means_.get(), means.size()});
    stream_.read(std::span(progress_), {device_progress_.get(), progress_.size()});
    stream_.wait();
    std::vector<PopulationReport> all = reports();
    for (std::size_t i = 0; i < all.size(); ++i) all[i].value = means[i];
    return all;
  }

  double bytes_per_update() const override {
    double floats = 0;
    for (const AgentSpec& spec : specs_) {
      floats += 8.0 * spec.actor_shape.size;
      if (spec.role == Role::optimist) continue;
      floats += 8.0 * 2 * spec.critic_shape.size;
      if (spec.has_bonus()) floats += 7.0 * spec.rnd_shape.size;  // the random network stays
      floats += double(spec.train.batch) * spec.row_floats();
    }
    return floats * sizeof(float);
  }

 private:
  void parameters_changed(int) override { has_copies_ = false; }

  // Lays the learners out in device memory.
  void allocate_agents() {
    const std::size_t bytes = bytes_of(specs_);
    memory_ = make_device_array<char>(bytes);
    check(cudaMemsetAsync(memory_.get(), 0, bytes, stream_.get()), "cudaMemset");
    Arena arena(memory_.get());
    for (std::size_t i = 0; i < specs_.size(); ++i)
      agents_.push_back(allocate(specs_[i], arena, device_progress_.get() + i));
    for (Agent& agent : agents_) {
      if (agent.role != Role::agent) share_with_owner(agents_[agent.owner], agent);
      choices_ = std::max(choices_, agent.choices);
      add_learner({.agent = agent.owner,
                   .prefix = prefix_of(agent.role),
                   .arrays = arrays_of(agent),
                   .statistics = agent.distillation.statistics.next_row,
                   .replay = agent.replay});
    }
  }

  // Copies them to the device, and captures their updates.
  void start_agents(bool exact) {
    std::vector<Agent> in_order;
    place_.resize(agents_.size());
    for (const int i : order_of_updates(agents_)) {
      place_[i] = static_cast<int>(in_order.size());
      in_order.push_back(agents_[i]);
    }
    stream_.write(std::span(device_agents_.get(), agents_.size()), std::span(agents_));
    stream_.write(std::span(update_agents_.get(), in_order.size()), std::span(in_order));
    std::vector<int> owners;
    for (const Agent& agent : in_order) {
      if (agent.role == Role::optimist) owners.push_back(place_[agent.owner]);
    }
    graph_.emplace(update_agents_.get(), std::vector<AgentSpec>(in_order.begin(), in_order.end()),
                   owners, exact);
    stream_.wait();
  }

  // Calls visit(agent, other) where a scout or an optimist acts in its agent's place.
  template <typename Visit>
  void for_each_substitute(Visit&& visit) {
    for (int i = 0; i < agents(); ++i) {
      if (acting_.plain[i]) continue;
      const auto others = learners_of(i) | std::views::drop(1);
      const auto found = std::ranges::find_if(others, [&](int other) {
        return specs_[other].role == Role::optimist || acting_.scouts[i];
      });
      if (found != others.end()) visit(i, *found);
    }
  }

  // The statistics of the bonuses follow the transitions that were added, a batch at a time.
  void observe_transitions() {
    std::int64_t batches = 0;
    bool errors = false;
    for (int i = 0; i < static_cast<int>(specs_.size()); ++i) {
      if (!specs_[i].has_bonus()) continue;
      batches = std::max(batches, unseen_batches(i, specs_[i].train.batch));
      errors |= !specs_[i].rnd.relative;
    }
    UpdatePlan plan{};
    plan.agents = static_cast<int>(specs_.size());
    plan.batch = largest(std::span<const AgentSpec>(specs_),
                         [](const AgentSpec& spec) { return spec.train.batch; });
    plan.exact_size = exact_size();
    for (; batches > 0; --batches)
      observe_unseen(plan, errors, device_agents_.get(), stream_.get());
  }

  std::vector<AgentSpec> specs_;  // agents, then scouts, then optimists
  DeviceArray<char> memory_;
  DeviceArray<Progress> device_progress_;
  DeviceArray<ValueReport> means_;
  std::vector<Agent> agents_;                         // as the device has them
  DeviceArray<Agent> device_agents_, update_agents_;  // the latter in the order of updates
  std::vector<int> place_;                            // each agent's, in that order
  int choices_ = 0;                                   // actions of the largest grid
  const bool iqn_explorers_ = std::ranges::any_of(
      specs_, [](const AgentSpec& s) { return s.iqn && s.explorer.explores(); });
  std::optional<UpdateGraph> graph_;
  bool has_copies_ = false;  // the fp16 copies of the networks are up to date
  ActExchange exchange_ = make_exchange(acting_, specs_);
};

}  // namespace

void check_population(std::span<const AgentOptions> agents, Precision precision) {
  checked_specs(agents, precision);
}

std::unique_ptr<GpuPopulation> make_population(std::span<const AgentOptions> agents,
                                               Precision precision) {
  return std::make_unique<Population>(agents, checked_specs(agents, precision), precision);
}

}  // namespace ovde::cuda
