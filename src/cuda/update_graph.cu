#include "cuda/update_graph.h"

#include <algorithm>
#include <vector>

#include "cuda/kernels.cuh"
#include "cuda/largest.h"
#include "cuda/own.h"
#include "cuda/room.h"

namespace ovde::cuda {

namespace {

constexpr int kUpdatesPerGraph = 20;
constexpr int kSmallestGroup = 12;  // agents that are worth a branch of their own

// Where the work of a group is enqueued, and beside it what the rest of its update does not wait
// for.
struct Branch {
  // Nothing more will be enqueued.
  void join() const { wait_for(stream.get(), side.get(), event); }

  Own<cudaStream_t> stream = make_stream(), side = make_stream();
  Own<cudaEvent_t> event = make_event(), errors_found = make_event();
};

// Critics at the actions of actors.
void evaluate_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.fixed_agents > 0) evaluate_new_actions(plan, agents, stream);
  if (plan.random_agents > 0) evaluate_iqn_new_actions(plan, agents, stream);
}

// The optimists' part of an update, once the critics have been updated and before the actors are.
void enqueue_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream) {
  choose_optimist_actions(plan, optimists, stream);
  evaluate_actions(plan, optimists, stream);
  differentiate_optimists(plan, optimists, stream);
  step_actor(plan, optimists, stream);
}

// One update of all agents (Algorithm 2): critics first, then the actor by the critics just
// updated.
void enqueue_update(const UpdatePlan& plan, const Agent* agents, const UpdatePlan& optimist_plan,
                    const Agent* optimists, const Branch& branch) {
  const cudaStream_t stream = branch.stream.get(), side = branch.side.get();
  const bool bonus = plan.rnd_tiles > 0;
  if (bonus) {
    wait_for(side, stream, branch.event);
    find_errors(plan, agents, side);
    check(cudaEventRecord(branch.errors_found.get(), side), "cudaEventRecord");
    step_predictors(plan, agents, side);
  }
  evaluate_policies(plan, agents, stream);
  if (plan.random_agents > 0) evaluate_iqn_targets(plan, agents, stream);
  if (bonus) {
    check(cudaStreamWaitEvent(stream, branch.errors_found.get()), "cudaStreamWaitEvent");
    add_bonus(plan, agents, stream);
  }
  if (plan.fixed_agents > 0) {
    differentiate_critics(plan, agents, stream);
    step_critics(plan, agents, stream);
  }
  if (plan.random_agents > 0) {
    differentiate_iqn_critics(plan, agents, stream);
    step_iqn_critics(plan, agents, stream);
  }
  if (optimist_plan.agents > 0) enqueue_optimists(optimist_plan, optimists, stream);
  evaluate_actions(plan, agents, stream);
  differentiate_actor(plan, agents, stream);
  step_actor(plan, agents, stream);
  if (optimist_plan.agents > 0) end_optimists(optimist_plan, optimists, stream);
}

// Agents that are updated together, side by side with other groups.
struct Group {
  bool is_grid;
  UpdatePlan plan;                // of agents with an actor
  GridPlan grid;                  // of agents over a grid of actions
  int first;                      // agent, in the order of updates
  UpdatePlan optimist_plan = {};  // of its agents' optimists, if they have any
  int first_optimist = 0;

  void enqueue(const Agent* agents, int updates, const Branch& branch) const {
    for (int i = 0; i < updates; ++i) {
      if (is_grid) {
        update_grid_agents(grid, agents + first, branch.stream.get());
      } else {
        enqueue_update(plan, agents + first, optimist_plan, agents + first_optimist, branch);
      }
    }
    if (plan.rnd_tiles > 0) branch.join();
  }
};

// How to cut the work of a group of a population of `agents`: by measurement (docs/performance.md).
UpdatePlan make_plan(std::span<const AgentSpec> specs, int agents, bool exact) {
  UpdatePlan plan{};
  plan.agents = static_cast<int>(specs.size());
  plan.batch = largest(specs, [](const AgentSpec& s) { return s.batch; });
  plan.size = agents <= 24 ? 0 : 2;
  plan.exact_size = exact_size();
  plan.exact = exact;
  plan.split = agents <= 4;
  plan.actor_tiles =
      largest(specs, [](const AgentSpec& s) { return parameter_tiles(s.actor_shape); });
  plan.critic_tiles =
      largest(specs, [](const AgentSpec& s) { return parameter_tiles(s.critic_shape); });
  plan.random_agents = static_cast<int>(std::ranges::count_if(specs, &AgentSpec::iqn));
  plan.fixed_agents = plan.agents - plan.random_agents;
  plan.by_quantile = std::ranges::any_of(specs, &AgentSpec::smaller_by_quantile);
  plan.fractions = largest(specs, [](const AgentSpec& s) { return s.iqn ? s.quantiles : 0; });
  plan.iqn_tiles =
      largest(specs, [](const AgentSpec& s) { return s.iqn ? parameter_tiles(s.iqn_shape) : 0; });
  plan.rnd_tiles = 0;
  for (const AgentSpec& spec : specs) {
    if (spec.has_rnd) plan.rnd_tiles = std::max(plan.rnd_tiles, parameter_tiles(spec.rnd_shape));
  }
  return plan;
}

GridPlan make_grid_plan(std::span<const AgentSpec> specs) {
  return {.agents = static_cast<int>(specs.size()),
          .batch = largest(specs, [](const AgentSpec& s) { return s.batch; }),
          .choices = largest(specs, [](const AgentSpec& s) { return s.choices; }),
          .trunk_tiles =
              largest(specs, [](const AgentSpec& s) { return parameter_tiles(s.trunk_shape); }),
          .size = exact_size()};
}

// Of agents and owners as UpdateGraph has them.
std::vector<Group> make_groups(std::span<const AgentSpec> all_specs, std::span<const int> owners,
                               bool exact) {
  const auto count = static_cast<int>(all_specs.size() - owners.size());
  const auto specs = all_specs.first(count), optimists = all_specs.subspan(count);
  const auto actors = static_cast<int>(std::ranges::count(specs, false, &AgentSpec::is_grid));
  std::vector<Group> all;
  const int groups = std::clamp(actors / kSmallestGroup, std::min(actors, 1), 4);
  for (int g = 0; g < groups; ++g) {
    const int first = actors * g / groups, last = actors * (g + 1) / groups;
    all.push_back({.is_grid = false,
                   .plan = make_plan(specs.subspan(first, last - first), count, exact),
                   .grid = {},
                   .first = first});
    const auto of_first = std::ranges::lower_bound(owners, first) - owners.begin(),
               of_last = std::ranges::lower_bound(owners, last) - owners.begin();
    if (of_first == of_last) continue;
    all.back().optimist_plan =
        make_plan(optimists.subspan(of_first, of_last - of_first), count, exact);
    all.back().first_optimist = count + static_cast<int>(of_first);
  }
  if (actors < count)
    all.push_back({.is_grid = true,
                   .plan = {},
                   .grid = make_grid_plan(specs.subspan(actors)),
                   .first = actors});
  return all;
}

}  // namespace

struct UpdateGraph::Impl {
  Own<cudaGraphExec_t> capture(int updates) const;

  const Agent* agents;
  std::vector<Group> groups;
  Own<cudaGraphExec_t> one, many;
};

// Nothing in it depends on the number of the update, which the device counts. Groups of agents are
// branches of it that do not wait for each other: one computes while another moves memory.
Own<cudaGraphExec_t> UpdateGraph::Impl::capture(int updates) const {
  const Own<cudaStream_t> trunk = make_stream();
  const Own<cudaEvent_t> event = make_event();
  std::vector<Branch> branches(groups.size());
  check(cudaStreamBeginCapture(trunk.get(), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    wait_for(branches[g].stream.get(), trunk.get(), event);
    groups[g].enqueue(agents, updates, branches[g]);
  }
  for (const Branch& branch : branches) wait_for(trunk.get(), branch.stream.get(), event);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamEndCapture(trunk.get(), &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  return Own<cudaGraphExec_t>(executable);
}

UpdateGraph::UpdateGraph(const Agent* agents, std::span<const AgentSpec> specs,
                         std::span<const int> owners, bool exact)
    : impl_(std::make_unique<Impl>()) {
  impl_->agents = agents;
  impl_->groups = make_groups(specs, owners, exact);
  impl_->one = impl_->capture(1);
  impl_->many = impl_->capture(kUpdatesPerGraph);
}
UpdateGraph::~UpdateGraph() = default;

void UpdateGraph::copy_networks(cudaStream_t stream) const {
  for (const Group& group : impl_->groups) {
    if (!group.is_grid) cuda::copy_networks(group.plan, impl_->agents + group.first, stream);
    if (group.optimist_plan.agents > 0)
      cuda::copy_networks(group.optimist_plan, impl_->agents + group.first_optimist, stream);
  }
}

void UpdateGraph::launch(int updates, cudaStream_t stream) const {
  for (; updates >= kUpdatesPerGraph; updates -= kUpdatesPerGraph)
    check(cudaGraphLaunch(impl_->many.get(), stream), "cudaGraphLaunch of updates");
  for (; updates > 0; --updates)
    check(cudaGraphLaunch(impl_->one.get(), stream), "cudaGraphLaunch of an update");
}

}  // namespace ovde::cuda
