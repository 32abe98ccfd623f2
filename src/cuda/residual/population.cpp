// A population of agents with residual networks. Agents that differ in more than their seeds are
// computed in groups, side by side.
#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic/scout.h"
#include "agent/critic/loss.h"
#include "cuda/host/agent_spec.h"
#include "cuda/host/device_population.h"
#include "cuda/residual/group_learner.h"
#include "nn/residual.h"

namespace ovde::cuda::residual {

namespace {

LinearPart linear_part(const ovde::ResidualShape::Linear& linear) {
  return {linear.inputs, linear.outputs, linear.stride, static_cast<int>(linear.weights)};
}

NormPart norm_part(const ovde::ResidualShape::Norm& norm) {
  return {norm.width, static_cast<int>(norm.gain), static_cast<int>(norm.shift),
          static_cast<int>(norm.mean), static_cast<int>(norm.variance)};
}

ResidualShape device_shape(const ovde::ResidualShape& shape) {
  if (shape.blocks() > kMostBlocks)
    throw InputError(fmt::format("network.blocks must be at most {} on a GPU, not {}", kMostBlocks,
                                 shape.blocks()));
  ResidualShape out{};
  const auto& linears = shape.linears();
  const auto& norms = shape.norms();
  out.input_norm = norm_part(norms[0]);
  out.input = linear_part(linears[0]);
  out.blocks = shape.blocks();
  for (int b = 0; b < out.blocks; ++b)
    out.block[b] = {linear_part(linears[2 * b + 1]), norm_part(norms[2 * b + 1]),
                    linear_part(linears[2 * b + 2]), norm_part(norms[2 * b + 2])};
  out.output_norm = {shape.width(), static_cast<int>(shape.head_gain()), -1, -1, -1};
  out.head = linear_part(shape.head());
  out.bias = static_cast<int>(shape.head_bias());
  out.size = static_cast<int>(shape.size());
  out.statistics = static_cast<int>(shape.statistics());
  out.padded_bias = out.head.weights + out.output_stride() * out.head.stride;
  out.padded_size = out.padded_bias + out.size - out.bias;
  return out;
}

// A learner of the population: an agent's own, or its scout.
struct Member {
  AgentOptions options;  // with the options of this learner
  int agent;             // number of the agent
  bool scout;

  int group = 0, place = 0;  // where it is computed

  bool explores() const { return !scout && device_rule(options).explores(); }
  const LearnerOptions& learner() const { return options.learner; }
};

// First the agents, then the scouts of those that have one.
std::vector<Member> members_of(std::span<const AgentOptions> agents) {
  std::vector<Member> members;
  const auto add = [&](std::size_t agent, const LearnerOptions& learner, bool scout) {
    members.push_back({agents[agent], static_cast<int>(agent), scout});
    members.back().options.learner = learner;
  };
  for (std::size_t i = 0; i < agents.size(); ++i) add(i, own_learner(agents[i]), false);
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i].scout.share > 0) add(i, scout_learner(agents[i]), true);
  }
  return members;
}

// The group of a learner, for one agent.
GroupSpec group_spec(const Member& member) {
  const LearnerOptions& learner = member.learner();
  GroupSpec spec{learner, 1, member.scout, learner.network.log_std, {}, {}};
  const auto shape = [&](int inputs, int width, int outputs) {
    const NetworkOptions& network = learner.network;
    return device_shape(
        ovde::ResidualShape(inputs, width, network.blocks, network.expansion, outputs));
  };
  spec.actor_shape =
      shape(spec.observation_size, learner.network.actor_width, 2 * spec.action_size);
  spec.critic_shape =
      shape(spec.observation_size + spec.action_size, learner.network.width, learner.critic.atoms);
  return spec;
}

class Population final : public DevicePopulation {
 public:
  Population(std::span<const AgentOptions> agents, bool exact)
      : DevicePopulation(agents, agents.size()),
        members_(members_of(agents)),
        explorers_(make_device_array<DeviceRule>(agents.size())) {
    make_groups(exact);
    for (const Member& member : members_) add_member(member);
    std::vector<DeviceRule> explorers;
    for (const AgentOptions& agent : agents) explorers.push_back(device_rule(agent));
    stream_.write(std::span(explorers_.get(), explorers.size()), explorers);
    stream_.wait();
  }

  void set_optimism(int, float) override {
    throw Error("critics of residual networks have no optimism");
  }

  // All agents at the same time; then the scouts, which write over the rows of their agents.
  void act() override {
    for (const bool scouts : {false, true}) {
      auto groups = groups_ | std::views::filter([scouts](const Group& group) {
                      return group.spec.scouts == scouts;
                    });
      for (const Group& group : groups)
        group.learner->act(rows_of(group), group.explores, group.stream.get());
      for (const Group& group : groups) group.stream.wait();
    }
  }

  void update(int n) override {
    begin_updates(n);
    for (Group& group : groups_) {
      std::vector<Progress> progress;
      std::int64_t unseen = 0;  // batches of transitions
      for (const int number : group.members) {
        progress.push_back(progress_[number]);
        unseen = std::max(unseen, unseen_batches(number, group.spec.batch()));
      }
      for (const Progress& p : progress) {
        if (p.updates != progress[0].updates)
          throw Error("agents of a group on the GPU have made different numbers of updates");
      }
      stream_.write(group.learner->progress(), progress);
      stream_.wait();
      if (group.bonus.has_bonus()) {
        for (; unseen > 0; --unseen) group.learner->observe(group.stream.get());
      }
      group.learner->update(n, progress[0].updates, group.stream.get());
    }
  }

  bool is_done() override {
    return std::ranges::all_of(groups_, [](const Group& group) { return group.stream.is_done(); });
  }

  std::vector<PopulationReport> finish() override {
    for (Group& group : groups_) {
      std::vector<Progress> progress(group.members.size());
      group.stream.read(std::span(progress), group.learner->progress());
      group.stream.wait();
      for (std::size_t k = 0; k < progress.size(); ++k) progress_[group.members[k]] = progress[k];
    }
    std::vector<PopulationReport> all = reports();
    for (Group& group : groups_) {
      if (group.spec.scouts) continue;
      std::vector<ValueReport> means(group.members.size());
      group.stream.read(std::span(means), group.learner->value_means(group.stream.get()));
      group.stream.wait();
      for (std::size_t k = 0; k < means.size(); ++k) all[group.members[k]].value = means[k];
    }
    return all;
  }

  double bytes_per_update() const override {
    double floats = 0;
    for (const Group& group : groups_) {
      const GroupSpec& spec = group.spec;
      floats +=
          spec.agents *
          (8.0 * (spec.actor_shape.size / spec.train.actor_every + 2 * spec.critic_shape.size) +
           7.0 * group.bonus.rnd_shape.size +  // the random network stays
           double(spec.batch()) * spec.row_floats());
    }
    return floats * sizeof(float);
  }

 private:
  struct Group {
    GroupSpec spec;
    AgentSpec bonus;
    bool explores = false;          // some member does
    std::vector<int> members = {};  // their numbers
    std::span<int> agents = {};     // the members' agents
    std::unique_ptr<GroupLearner> learner = nullptr;
    DeviceStream stream = {};
  };

  ActRows rows_of(const Group& group) const {
    return {ActArrays(acting_), group.agents.data(), explorers_.get()};
  }

  // The agents' groups come before those of scouts, which share their replay buffers.
  void make_groups(bool exact) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& member = members_[i];
      auto group = std::ranges::find_if(
          groups_, [&](const Group& g) { return learn_together(members_[g.members[0]], member); });
      if (group == groups_.end()) {
        groups_.push_back({.spec = group_spec(member), .bonus = bonus_spec(member.learner())});
        group = groups_.end() - 1;
      }
      member.group = static_cast<int>(group - groups_.begin());
      member.place = static_cast<int>(group->members.size());
      group->members.push_back(static_cast<int>(i));
      group->explores |= member.explores();
    }
    for (Group& group : groups_) {
      group.spec.agents = static_cast<int>(group.members.size());
      group.agents = mapped_.take<int>(group.members.size());
      std::vector<std::uint64_t> seeds;
      std::vector<float*> replays;
      for (const int number : group.members) {
        const Member &member = members_[number], &own = members_[member.agent];
        group.agents[member.place] = member.agent;
        seeds.push_back(member.learner().seed);
        if (member.scout) replays.push_back(learner_of(own).replay(own.place));
      }
      group.learner = make_group_learner(group.spec, group.bonus, seeds, replays, exact);
    }
  }

  // Whether two learners differ in their seeds alone.
  static bool learn_together(const Member& a, const Member& b) {
    LearnerOptions other = b.learner();
    other.seed = a.learner().seed;
    return a.scout == b.scout && a.learner() == other;
  }

  GroupLearner& learner_of(const Member& member) { return *groups_[member.group].learner; }

  void add_member(const Member& member) {
    const GroupLearner& group = learner_of(member);
    const std::string prefix = member.scout ? kScout : "";
    StateArrays arrays;
    for (const auto& [name, device] : group.arrays(member.place))
      arrays.emplace_back(prefix + name, device);
    add_learner({.agent = member.agent,
                 .prefix = prefix,
                 .arrays = std::move(arrays),
                 .statistics = group.bonus_statistics(member.place),
                 .replay = member.scout ? nullptr : group.replay(member.place)});
  }
  void parameters_changed(int number) override { learner_of(members_[number]).networks_changed(); }

  std::vector<Member> members_;  // agents, then scouts
  std::vector<Group> groups_;
  DeviceArray<DeviceRule> explorers_;  // each agent's
};

// Throws where an agent has what the kernels do not.
void check_options(const AgentOptions& options) {
  const LearnerOptions& learner = options.learner;
  const auto refuse = [](const char* why) {
    throw InputError(
        fmt::format("on a GPU, residual networks {} (the CPU has no such limit)", why));
  };
  if (learner.critic.head != CriticHead::categorical) refuse("need critic.head = \"categorical\"");
  if (learner.policy != PolicyKind::gaussian) refuse("need a Gaussian policy");
  if (learner.optimist) refuse("have no second actor");
  if (options.scout.share > 0 && options.scout.kind != NetworkKind::residual)
    refuse("have a scout with residual networks too, scout.kind = \"residual\"");
  if (learner.rnd.bonus != Bonus::none && (learner.observation_size > cuda::kMostInputs ||
                                           learner.critic.quantiles > cuda::kMostOutputs))
    refuse("with a bonus have at most 256 observations and critic.quantiles of at most 32");
  if (device_rule(options).explores() &&
      (learner.action_size > kMostExplorerActions || learner.critic.quantiles > cuda::kMostOutputs))
    refuse("with an explorer have at most 32 actions and critic.quantiles of at most 32");
  if (learner.critic.optimism != -1 || learner.critic.dropped > 0 || options.algorithm.bandit)
    refuse("take the smaller critic: critic.optimism = -1, critic.dropped = 0, no bandit");
  if (learner.critic.atoms > kMostOutputs) refuse("have at most 128 values of a critic");
  for (const int width : {learner.network.width, learner.network.actor_width}) {
    if (width > kMostWidth || width * learner.network.expansion > kMostExpanded || width % 16 != 0)
      refuse("have widths of at most 512, multiples of 16, and at most 1024 units inside a block");
  }
  if (2 * learner.action_size > kMostOutputs) refuse("have at most 64 actions");
  if (learner.observation_size + learner.action_size > kMostInputs)
    refuse("have at most 512 observations and actions");
  if (learner.train.adam.clip > 0) refuse("need train.clip_gradient = 0");
}

}  // namespace

void check_population(std::span<const AgentOptions> agents, Precision precision) {
  for (const AgentOptions& options : agents) check_options(options);
  std::vector<double> bytes(agents.size());
  for (const Member& member : members_of(agents))
    bytes[member.agent] += static_cast<double>(group_bytes(
        group_spec(member), bonus_spec(member.learner()), precision == Precision::fp32));
  check_memory(bytes);
}

std::unique_ptr<GpuPopulation> make_population(std::span<const AgentOptions> agents,
                                               Precision precision) {
  check_population(agents, precision);
  return std::make_unique<Population>(agents, precision == Precision::fp32);
}

}  // namespace ovde::cuda::residual
