#include "cuda/host/update_graph.h"

#include "cuda/host/agent_memory.h"

namespace ovde::cuda {

namespace {

constexpr int kUpdatesPerGraph = 20;
constexpr int kSmallestGroup = 12;  // agents, for a branch of their own

// The stream of a group's updates, and one for work that the rest of an update does not wait for.
struct Branch {
  Owned<cudaStream_t> stream = make_stream(), side = make_stream();
  Owned<cudaEvent_t> event = make_event(), errors_found = make_event();
};

// The prediction errors of the bonus and the predictors' step, beside the rest of the update.
void begin_bonus(const UpdateGroup& group, const Agent* agents, const Branch& branch) {
  if (!group.has_bonus()) return;
  const cudaStream_t side = branch.side.get();
  wait_for(side, branch.stream.get(), branch.event);
  find_errors(group.plan, agents, side);
  check(cudaEventRecord(branch.errors_found.get(), side), "cudaEventRecord");
  step_predictors(group.plan, agents, side);
}

// Adds the bonus to the rewards, once the target critics are evaluated.
void finish_bonus(const UpdateGroup& group, const Agent* agents, const Branch& branch) {
  if (!group.has_bonus()) return;
  check(cudaStreamWaitEvent(branch.stream.get(), branch.errors_found.get()), "cudaStreamWaitEvent");
  add_bonus(group.plan, agents, branch.stream.get());
}

// One update of all agents of a group (Algorithm 2): the critics, then the actor by the critics
// just updated. Extensions: the bonus in the rewards, the optimists.
void enqueue_update(const UpdateGroup& group, const Agent* all_agents, const Branch& branch) {
  const Agent *agents = all_agents + group.first, *optimists = all_agents + group.first_optimist;
  const UpdatePlan& plan = group.plan;
  const cudaStream_t stream = branch.stream.get();
  begin_bonus(group, agents, branch);

  // the batch; actions of the policy at s and of the target policy at s', with the target critics
  evaluate_policies(plan, agents, stream);
  finish_bonus(group, agents, branch);

  // the temperature, the critics and their target networks
  differentiate_critics(plan, agents, stream);
  step_critics(plan, agents, stream);
  update_optimists(group.optimist_plan, optimists, stream);

  // the actor and its target network
  evaluate_new_actions(plan, agents, stream);
  differentiate_actor(plan, agents, stream);
  step_actor(plan, agents, stream);
  end_optimists(group.optimist_plan, optimists, stream);
}

void enqueue_updates(const UpdateGroup& group, const Agent* agents, int updates,
                     const Branch& branch) {
  for (int i = 0; i < updates; ++i) {
    if (group.grid.agents > 0) {
      update_grid_agents(group.grid, agents + group.first, branch.stream.get());
    } else {
      enqueue_update(group, agents, branch);
    }
  }
  if (group.has_bonus()) wait_for(branch.stream.get(), branch.side.get(), branch.event);
}

// How to cut the work of a group in a population of `agents`; the limits are measured
// (docs/performance.md).
UpdatePlan make_plan(std::span<const AgentSpec> specs, int agents, bool exact) {
  UpdatePlan plan{};
  plan.agents = static_cast<int>(specs.size());
  plan.batch = largest(specs, [](const AgentSpec& s) { return s.train.batch; });
  plan.size = agents <= 24 ? 0 : 2;
  plan.exact_size = exact_size();
  plan.exact = exact;
  plan.split = agents <= 4;
  plan.actor_tiles =
      largest(specs, [](const AgentSpec& s) { return parameter_tiles(s.actor_shape); });
  const auto critic_tiles = [&](bool iqn) {
    return largest(specs, [iqn](const AgentSpec& s) {
      return s.iqn == iqn ? parameter_tiles(s.critic_shape, iqn) : 0;
    });
  };
  plan.critic_tiles = critic_tiles(false);
  plan.iqn_tiles = critic_tiles(true);
  plan.random_agents = static_cast<int>(std::ranges::count_if(specs, &AgentSpec::iqn));
  plan.fixed_agents = plan.agents - plan.random_agents;
  plan.by_quantile = std::ranges::any_of(specs, &AgentSpec::is_by_quantile);
  plan.fractions =
      largest(specs, [](const AgentSpec& s) { return s.iqn ? s.critic.quantiles : 0; });
  for (const AgentSpec& spec : specs) {
    if (spec.has_bonus())
      plan.rnd_tiles = std::max(plan.rnd_tiles, parameter_tiles(spec.rnd_shape));
  }
  return plan;
}

GridPlan make_grid_plan(std::span<const AgentSpec> specs) {
  return {.agents = static_cast<int>(specs.size()),
          .batch = largest(specs, [](const AgentSpec& s) { return s.train.batch; }),
          .choices = largest(specs, [](const AgentSpec& s) { return s.choices; }),
          .trunk_tiles =
              largest(specs, [](const AgentSpec& s) { return parameter_tiles(s.trunk_shape); }),
          .size = exact_size()};
}

// Agents and owners as in UpdateGraph.
std::vector<UpdateGroup> make_groups(std::span<const AgentSpec> all_specs,
                                     std::span<const int> owners, bool exact) {
  const auto count = static_cast<int>(all_specs.size() - owners.size());
  const auto specs = all_specs.first(count), optimists = all_specs.subspan(count);
  const auto actors = static_cast<int>(std::ranges::count(specs, false, &AgentSpec::is_grid));
  std::vector<UpdateGroup> all;
  const int groups = std::clamp(actors / kSmallestGroup, std::min(actors, 1), 4);
  for (int g = 0; g < groups; ++g) {
    const int first = actors * g / groups, last = actors * (g + 1) / groups;
    UpdateGroup& group = all.emplace_back();
    group.plan = make_plan(specs.subspan(first, last - first), count, exact);
    group.first = first;
    const auto from = std::ranges::lower_bound(owners, first) - owners.begin(),
               to = std::ranges::lower_bound(owners, last) - owners.begin();
    if (from == to) continue;
    group.optimist_plan = make_plan(optimists.subspan(from, to - from), count, exact);
    group.first_optimist = count + static_cast<int>(from);
  }
  if (actors < count)
    all.push_back({.grid = make_grid_plan(specs.subspan(actors)), .first = actors});
  return all;
}

}  // namespace

// The device counts updates, so that every launch of a graph is the same. Groups are branches that
// do not wait for each other: one computes while another moves memory.
Owned<cudaGraphExec_t> UpdateGraph::capture(int updates) const {
  const Owned<cudaStream_t> trunk = make_stream();
  const Owned<cudaEvent_t> event = make_event();
  std::vector<Branch> branches(groups_.size());
  check(cudaStreamBeginCapture(trunk.get(), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    wait_for(branches[g].stream.get(), trunk.get(), event);
    enqueue_updates(groups_[g], agents_, updates, branches[g]);
  }
  for (const Branch& branch : branches) wait_for(trunk.get(), branch.stream.get(), event);
  return end_capture(trunk.get());
}

UpdateGraph::UpdateGraph(const Agent* agents, std::span<const AgentSpec> specs,
                         std::span<const int> owners, bool exact)
    : agents_(agents),
      groups_(make_groups(specs, owners, exact)),
      one_(capture(1)),
      many_(capture(kUpdatesPerGraph)) {}

void UpdateGraph::copy_networks(cudaStream_t stream) const {
  for (const UpdateGroup& group : groups_) {
    cuda::copy_networks(group.plan, agents_ + group.first, stream);
    cuda::copy_networks(group.optimist_plan, agents_ + group.first_optimist, stream);
  }
}

void UpdateGraph::launch(int updates, cudaStream_t stream) const {
  for (; updates >= kUpdatesPerGraph; updates -= kUpdatesPerGraph)
    check(cudaGraphLaunch(many_.get(), stream), "cudaGraphLaunch of updates");
  for (; updates > 0; --updates)
    check(cudaGraphLaunch(one_.get(), stream), "cudaGraphLaunch of an update");
}

}  // namespace ovde::cuda
