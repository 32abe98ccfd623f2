#include "cuda/residual/population.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/critic/loss.h"
#include "cuda/host/agent_memory.h"
#include "cuda/host/handles.h"
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
  return out;
}

// The group of an agent, for one agent.
GroupSpec group_spec(const AgentOptions& options) {
  const LearnerOptions& learner = options.learner;
  GroupSpec spec{};
  spec.agents = 1;
  spec.observations = learner.observation_size;
  spec.actions = learner.action_size;
  spec.target_policy = learner.distributional && learner.train.target_policy;
  spec.log_std = learner.network.log_std;
  spec.low = learner.critic.low;
  spec.high = learner.critic.high;
  spec.quantiles = learner.critic.quantiles;
  spec.uncertainty = learner.critic.uncertainty;
  spec.explorer = device_rule(options);
  spec.train = learner.train;
  const auto shape = [&](int inputs, int width, int outputs) {
    const NetworkOptions& network = learner.network;
    return device_shape(
        ovde::ResidualShape(inputs, width, network.blocks, network.expansion, outputs));
  };
  spec.actor = shape(spec.observations, learner.network.actor_width, 2 * spec.actions);
  spec.critic =
      shape(spec.observations + spec.actions, learner.network.width, learner.critic.atoms);
  return spec;
}

std::span<float> array(const LearnerState& state, const std::string& name) {
  for (const auto& [key, values] : state.arrays) {
    if (key == name) return values;
  }
  throw Error("the learner has no array " + name);
}

// The largest of the agents' sizes.
int largest(std::span<const AgentOptions> agents, int LearnerOptions::*size) {
  int most = 1;
  for (const AgentOptions& agent : agents) most = std::max(most, agent.learner.*size);
  return most;
}

class Population final : public GpuPopulation {
 public:
  Population(std::span<const AgentOptions> agents, bool exact)
      : places_(agents.size()), progress_(agents.size()), uploaded_(agents.size()) {
    make_groups(agents, exact);
    PopulationActing lengths{};
    lengths.observations = largest(agents, &LearnerOptions::observation_size);
    lengths.actions = largest(agents, &LearnerOptions::action_size);
    lengths.samples = lengths.fractions = 1;
    for (const Group& group : groups_)
      lengths.samples = std::max(lengths.samples, group.spec.explorer.samples());
    acting_ = make_acting(agents.size(), lengths, mapped_);
  }

  void upload(int index, ovde::Agent& agent) override {
    const LearnerState state = agent.state();
    for (const auto& [name, device] : group_of(index).learner->arrays(places_[index].agent))
      copy(device.data(), array(state, name).data(), device.size(), cudaMemcpyHostToDevice);
    GroupProgress& progress = progress_[index];
    progress.updates = *state.updates;
    std::ranges::copy(array(state, "log_alpha"), progress.log_alpha);
    progress.reward_scale = agent.host_side().reward_scale();
    group_of(index).learner->networks_changed();
    uploaded_[index] = agent.replay().added() - agent.replay().size();
    add_rows(index, agent.replay());
    wait();
  }

  void download(int index, ovde::Agent& agent) override {
    const LearnerState state = agent.state();
    for (const auto& [name, device] : group_of(index).learner->arrays(places_[index].agent))
      copy(array(state, name).data(), device.data(), device.size(), cudaMemcpyDeviceToHost);
    std::ranges::copy(progress_[index].log_alpha, array(state, "log_alpha").begin());
    wait();
    *state.updates = progress_[index].updates;
    agent.restored();
  }

  void download_policies(std::span<ovde::Agent* const> agents) override {
    for (int i = 0; i < static_cast<int>(agents.size()); ++i) {
      const LearnerState state = agents[i]->state();
      for (const auto& [name, device] : group_of(i).learner->arrays(places_[i].agent)) {
        if (name == "actor.parameters" || name == "actor.statistics")
          copy(array(state, name).data(), device.data(), device.size(), cudaMemcpyDeviceToHost);
      }
      *state.updates = progress_[i].updates;
    }
    wait();
    for (ovde::Agent* agent : agents) agent->restored();
  }

  void add_rows(int index, const Replay& replay) override {
    replay.for_each_piece(uploaded_[index], replay.added(), [&](auto at, auto count) {
      const std::span<float> to =
          group_of(index).learner->replay_rows(places_[index].agent, at, count);
      copy(to.data(), replay.raw(at, count).data(), to.size(), cudaMemcpyHostToDevice);
    });
    uploaded_[index] = replay.added();
    progress_[index].replay_rows = replay.size();
    progress_[index].replay_added = replay.added();
  }

  void set_optimism(int, float) override {
    throw Error("critics of residual networks have no optimism");
  }
  void set_reward_scale(int index, float factor) override {
    progress_[index].reward_scale = factor;
  }

  const PopulationActing& acting() const override { return acting_; }

  void act() override {
    for (const Group& group : groups_)
      group.learner->act({.place = group.rows.data(),
                          .observation = acting_.observation.data(),
                          .observations = acting_.observations,
                          .actions = acting_.actions,
                          .samples = acting_.samples,
                          .explorer_noise = acting_.explorer_noise.data(),
                          .plain = acting_.plain.data(),
                          .mean = acting_.mean.data(),
                          .std = acting_.std.data(),
                          .moved = acting_.moved.data(),
                          .m = acting_.m.data()},
                         stream_.get());
    wait();
  }

  void update(int n) override {
    updates_ = n;
    for (Group& group : groups_) {
      std::vector<GroupProgress> progress;
      for (const int row : group.rows) {
        progress_[row].critic_loss = progress_[row].actor_loss = 0;
        progress.push_back(progress_[row]);
      }
      for (const GroupProgress& p : progress) {
        if (p.updates != progress[0].updates)
          throw Error("agents of a group on the GPU have made different numbers of updates");
      }
      copy(group.learner->progress().data(), progress.data(), progress.size(),
           cudaMemcpyHostToDevice);
      wait();
      group.learner->update(n, progress[0].updates, group.stream.get());
    }
  }

  bool is_done() override {
    for (const Group& group : groups_) {
      const cudaError_t state = cudaStreamQuery(group.stream.get());
      if (state == cudaErrorNotReady) return false;
      check(state, "waiting for the GPU");
    }
    return true;
  }

  std::vector<PopulationReport> finish() override {
    std::vector<PopulationReport> reports(places_.size());
    for (const Group& group : groups_) {
      check(cudaStreamSynchronize(group.stream.get()), "waiting for the GPU");
      std::vector<GroupProgress> progress(group.rows.size());
      copy(progress.data(), group.learner->progress().data(), progress.size(),
           cudaMemcpyDeviceToHost);
      wait();
      for (std::size_t k = 0; k < progress.size(); ++k) {
        const GroupProgress& p = progress_[group.rows[k]] = progress[k];
        PopulationReport& report = reports[group.rows[k]];
        report.update.critic_loss = p.critic_loss / updates_;
        report.update.actor_loss = p.actor_loss / updates_;
        report.update.temperature = std::exp(p.log_alpha[0]);
        report.first_bad = p.first_bad;
        report.value = value_report(group, static_cast<int>(k));
      }
    }
    return reports;
  }

  double bytes_per_update() const override {
    double floats = 0;
    for (const Group& group : groups_) {
      const GroupSpec& spec = group.spec;
      floats +=
          spec.agents * (8.0 * (spec.actor.size / spec.train.actor_every + 2 * spec.critic.size) +
                         double(spec.batch()) * (2 * spec.observations + spec.actions + 2));
    }
    return floats * sizeof(float);
  }

 private:
  struct Group {
    GroupSpec spec;
    CriticOptions critic;
    std::unique_ptr<GroupLearner> learner;
    std::span<int> rows;  // the agents' places in the population
    Owned<cudaStream_t> stream = make_stream();
  };
  struct Place {
    int group, agent;
  };

  void make_groups(std::span<const AgentOptions> agents, bool exact) {
    std::vector<bool> placed(agents.size());
    for (std::size_t i = 0; i < agents.size(); ++i) {
      if (placed[i]) continue;
      std::vector<std::uint64_t> seeds;
      std::vector<int> rows;
      for (std::size_t j = i; j < agents.size(); ++j) {
        if (placed[j] || !differ_in_seeds_alone(agents[i], agents[j])) continue;
        placed[j] = true;
        places_[j] = {static_cast<int>(groups_.size()), static_cast<int>(seeds.size())};
        seeds.push_back(agents[j].learner.seed);
        rows.push_back(static_cast<int>(j));
      }
      GroupSpec spec = group_spec(agents[i]);
      spec.agents = static_cast<int>(seeds.size());
      Group& group = groups_.emplace_back();
      group.spec = spec;
      group.critic = agents[i].learner.critic;
      group.learner = make_group_learner(spec, seeds, exact);
      group.rows = mapped_.take<int>(rows.size());
      std::ranges::copy(rows, group.rows.begin());
    }
  }

  static bool differ_in_seeds_alone(const AgentOptions& a, const AgentOptions& b) {
    LearnerOptions other = b.learner;
    other.seed = a.learner.seed;
    return a.learner == other && a.algorithm.explorer == b.algorithm.explorer &&
           a.explore.all() == b.explore.all();
  }

  Group& group_of(int index) { return groups_[places_[index].group]; }

  // Computed on the host from the critics' outputs.
  ValueReport value_report(const Group& group, int agent) {
    const CriticOptions& critic = group.critic;
    const int batch = group.spec.batch(), stride = group.spec.critic.output_stride();
    const Support support(critic);
    std::vector<double> probabilities(critic.atoms), quantiles(critic.quantiles);
    std::array<Batch, 2> values{Batch(critic.quantiles, batch), Batch(critic.quantiles, batch)};
    for (int k = 0; k < 2; ++k) {
      const auto from = group.learner->outputs(agent, k), bias_from = group.learner->bias(agent, k);
      std::vector<float> outputs(from.size()), bias(bias_from.size());
      copy(outputs.data(), from.data(), from.size(), cudaMemcpyDeviceToHost);
      copy(bias.data(), bias_from.data(), bias.size(), cudaMemcpyDeviceToHost);
      wait();
      for (int s = 0; s < batch; ++s) {
        double sum = 0;
        for (int a = 0; a < critic.atoms; ++a)
          sum += probabilities[a] = std::exp(double{outputs[s * stride + a]} + bias[a]);
        for (double& p : probabilities) p /= sum;
        quantiles_of(support, probabilities, quantiles);
        for (int i = 0; i < critic.quantiles; ++i)
          values[k].at(i, s) = static_cast<float>(quantiles[i]);
      }
    }
    return ovde::value_report(values[0], values[1], critic.uncertainty, nullptr);
  }

  template <typename T>
  void copy(T* to, const T* from, std::size_t count, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, count * sizeof(T), kind, stream_.get()), "cudaMemcpy");
  }
  void wait() { check(cudaStreamSynchronize(stream_.get()), "waiting for the GPU"); }

  std::vector<Group> groups_;
  std::vector<Place> places_;
  std::vector<GroupProgress> progress_;  // as of the last finish()
  std::vector<std::int64_t> uploaded_;   // number of the first row that is not on the device
  Owned<cudaStream_t> stream_ = make_stream();
  MappedMemory mapped_;
  PopulationActing acting_;
  int updates_ = 1;
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
  if (options.scout.share > 0 || learner.optimist || learner.rnd.bonus != Bonus::none)
    refuse("have no scout, no second actor and no bonus");
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
  if (learner.observation_size + learner.action_size > kMostInputs)
    refuse("have at most 512 observations and actions");
  if (learner.train.adam.clip > 0) refuse("need train.clip_gradient = 0");
}

}  // namespace

void check_population(std::span<const AgentOptions> agents, Precision precision) {
  std::vector<double> bytes;
  for (const AgentOptions& options : agents) {
    check_options(options);
    bytes.push_back(
        static_cast<double>(group_bytes(group_spec(options), precision == Precision::fp32)));
  }
  check_memory(bytes);
}

std::unique_ptr<GpuPopulation> make_population(std::span<const AgentOptions> agents,
                                               Precision precision) {
  check_population(agents, precision);
  return std::make_unique<Population>(agents, precision == Precision::fp32);
}

}  // namespace ovde::cuda::residual
