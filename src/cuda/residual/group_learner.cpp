#include "cuda/residual/group_learner.h"

#include <array>
#include <vector>

#include <ovde/error.h>
#include "cuda/host/agent_memory.h"
#include "cuda/host/device_population.h"
#include "cuda/host/handles.h"
#include "cuda/kernels/update.cuh"
#include "cuda/residual/learn.h"
#include "cuda/residual/network.h"

namespace ovde::cuda::residual {

namespace {

// All networks of one kind: the actors, or the critics, two for each agent. Their target networks
// follow them in memory, so that a pass can take both.
template <typename T>
struct Networks {
  Networks(const ResidualShape& shape, int count, Arena& memory) : shape(shape), count(count) {
    const std::size_t all = 1ULL * count * shape.size;
    optimised.parameters = memory.take<float>(2 * all);
    optimised.target = optimised.parameters + all;
    optimised.first_moment = memory.take<float>(all);
    optimised.second_moment = memory.take<float>(all);
    statistics = memory.take<float>(2ULL * count * shape.statistics);
    const std::size_t padded = 1ULL * count * shape.padded_size;
    gradients = memory.take<float>(padded);
    optimised.products = memory.take<T>(2 * padded);
    optimised.target_products = optimised.products + padded;
    segment_count = static_cast<int>(segments_of(shape).size());
    segments = memory.take<Segment>(segment_count);
  }

  Weights<T> online() const { return {optimised.parameters, optimised.products, statistics}; }
  // The target networks with the running statistics of their networks.
  Weights<T> target() const { return {optimised.target, optimised.target_products, statistics}; }

  // Adds the arrays of one network.
  void add_arrays(const std::string& name, int network, StateArrays& arrays) const {
    const auto add = [&](const std::string& array, float* all, int size) {
      arrays.push_back({array, {all + 1ULL * network * size, static_cast<std::size_t>(size)}});
    };
    for_each_network_array(name, optimised, [&](const std::string& array, float* all) {
      add(array, all, shape.size);
    });
    add(statistics_of(name), statistics, shape.statistics);
  }

  ResidualShape shape;
  int count;
  Optimised<T> optimised;
  float *gradients, *statistics;
  Segment* segments;
  int segment_count;
};

// Everything that lies in the GPU's memory.
template <typename T>
struct Layout {
  Layout(const GroupSpec& spec, const AgentSpec& bonus, Arena& bytes)
      : actors(spec.actor_shape, spec.agents, bytes),
        critics(spec.critic_shape, 2 * spec.agents, bytes),
        acting(spec.actor_shape, spec.agents, 2 * spec.batch(), bytes),
        next_acting(spec.actor_shape, spec.agents, spec.batch(), bytes),
        valued(spec.critic_shape, 4 * spec.agents, 2 * spec.batch(), bytes),
        new_valued(spec.critic_shape, 2 * spec.agents, spec.batch(), bytes),
        actor_gradients(spec.actor_shape, spec.agents, 2 * spec.batch(), bytes),
        critic_gradients(spec.critic_shape, 2 * spec.agents, 2 * spec.batch(), bytes) {
    const std::size_t samples = 1ULL * spec.agents * spec.batch();
    seeds = bytes.take<std::uint64_t>(spec.agents);
    replays = bytes.take<float*>(spec.agents);
    memory.seeds = seeds;
    memory.replay = replays;
    memory.replay_stride = spec.row_floats();
    memory.progress = bytes.take<Progress>(spec.agents);
    memory.critic_input = bytes.take<float>(2 * samples * spec.critic_shape.input.stride);
    memory.new_input = bytes.take<float>(samples * spec.critic_shape.input.stride);
    memory.actor_input = bytes.take<float>(2 * samples * spec.actor_shape.input.stride);
    memory.next_input = bytes.take<float>(samples * spec.actor_shape.input.stride);
    by_input = bytes.take<float>(2 * samples * spec.critic_shape.input.stride);
    for (float** to : {&memory.reward, &memory.continues, &memory.log_probability,
                       &memory.next_log_probability, &memory.mean[0], &memory.mean[1],
                       &memory.critic_loss[0], &memory.critic_loss[1], &memory.actor_loss})
      *to = bytes.take<float>(samples);
    for (float** to : {&memory.action, &memory.spread, &memory.raw_log_std})
      *to = bytes.take<float>(samples * spec.action_size);
    value_means = bytes.take<ValueReport>(spec.agents);
    if (!spec.scouts)
      rows = bytes.take<float>(1ULL * spec.agents * spec.train.replay * memory.replay_stride);
    if (bonus.has_bonus()) take_bonuses(spec, bonus, bytes);
  }

  // The memory of the bonuses: for each agent a record with the parts that their kernels use.
  void take_bonuses(const GroupSpec& spec, const AgentSpec& bonus, Arena& bytes) {
    const std::size_t batch = spec.batch();
    for (float*& to : memory.next_quantiles)
      to = bytes.take<float>(spec.agents * batch * spec.critic.quantiles);
    for (int i = 0; i < spec.agents; ++i) {
      Agent& agent = bonuses.emplace_back();
      static_cast<AgentSpec&>(agent) = bonus;
      agent.replay_stride = memory.replay_stride;
      agent.progress = memory.progress + i;
      agent.reward = memory.reward + i * batch;
      for (int k = 0; k < 2; ++k)
        agent.next_quantiles[k] = memory.next_quantiles[k] + i * batch * spec.critic.quantiles;
      allocate_bonus(agent, bytes);
    }
    device_bonuses = bytes.take<Agent>(spec.agents);
  }

  Networks<T> actors, critics;
  Activations<T> acting, next_acting;  // actors at s above s', and at s'
  Activations<T> valued, new_valued;   // critics and target critics; critics at (s, new a)
  typename ResidualPasses<T>::Gradients actor_gradients, critic_gradients;
  GroupMemory memory;
  std::uint64_t* seeds;
  float** replays;
  float *by_input, *rows = nullptr;
  ValueReport* value_means;
  std::vector<Agent> bonuses;  // empty: there is no bonus
  Agent* device_bonuses = nullptr;
};

UpdatePlan bonus_plan(const GroupSpec& spec, const AgentSpec& bonus) {
  UpdatePlan plan{};
  plan.agents = spec.agents;
  plan.batch = spec.batch();
  plan.exact_size = exact_size();
  plan.rnd_tiles = parameter_tiles(bonus.rnd_shape);
  return plan;
}

template <typename T>
class Learner final : public GroupLearner {
 public:
  Learner(const GroupSpec& spec, const AgentSpec& bonus, std::span<const std::uint64_t> seeds,
          std::span<float* const> shared_replays)
      : spec_(spec),
        bonus_(bonus),
        bonus_plan_(bonus_plan(spec, bonus)),
        bytes_(make_device_array<char>(size_of(spec, bonus))),
        layout_([&] {
          Arena bytes(bytes_.get());
          return Layout<T>(spec, bonus, bytes);
        }()),
        actor_passes_(spec.actor_shape, spec.agents, 1, spec.agents),
        critic_passes_(spec.critic_shape, 2 * spec.agents, 2, spec.agents),
        pair_passes_(spec.critic_shape, 4 * spec.agents, 2, spec.agents) {
    const Owned<cudaStream_t> stream = make_stream();
    check(cudaMemsetAsync(bytes_.get(), 0, size_of(spec, bonus), stream.get()), "cudaMemset");
    std::vector<float*> replays(shared_replays.begin(), shared_replays.end());
    for (int i = 0; !spec.scouts && i < spec.agents; ++i) replays.push_back(replay(i));
    for (std::size_t i = 0; i < layout_.bonuses.size(); ++i) {
      layout_.bonuses[i].seed = seeds[i];
      layout_.bonuses[i].replay = replays[i];
    }
    const std::vector<Segment> of_actor = segments_of(spec.actor_shape),
                               of_critic = segments_of(spec.critic_shape);
    const auto copy = [&](auto* to, const auto* from, std::size_t count) {
      check(cudaMemcpyAsync(to, from, count * sizeof(*to), cudaMemcpyHostToDevice, stream.get()),
            "cudaMemcpy to the GPU");
    };
    copy(layout_.seeds, seeds.data(), seeds.size());
    copy(layout_.replays, replays.data(), replays.size());
    copy(layout_.actors.segments, of_actor.data(), of_actor.size());
    copy(layout_.critics.segments, of_critic.data(), of_critic.size());
    copy(layout_.device_bonuses, layout_.bonuses.data(), layout_.bonuses.size());
    check(cudaStreamSynchronize(stream.get()), "setting up a group");
    for (const bool moves : {false, true}) graphs_[moves] = capture(moves);
  }

  static std::size_t size_of(const GroupSpec& spec, const AgentSpec& bonus) {
    Arena counting(nullptr);
    Layout<T>(spec, bonus, counting);
    return counting.used();
  }

  StateArrays arrays(int agent) const override {
    StateArrays all;
    layout_.actors.add_arrays("actor", agent, all);
    layout_.critics.add_arrays("critic_1", 2 * agent, all);
    layout_.critics.add_arrays("critic_2", 2 * agent + 1, all);
    if (bonus_.has_bonus())
      add_network("rnd", layout_.bonuses[agent].distillation.net, bonus_.rnd_shape.size, all);
    return all;
  }
  float* replay(int agent) const override {
    return layout_.rows + 1LL * agent * spec_.train.replay * layout_.memory.replay_stride;
  }
  std::span<Progress> progress() const override {
    return {layout_.memory.progress, static_cast<std::size_t>(spec_.agents)};
  }
  double* bonus_statistics(int agent) const override {
    return bonus_.has_bonus() ? layout_.bonuses[agent].distillation.statistics.next_row : nullptr;
  }
  std::span<const ValueReport> value_means(cudaStream_t stream) const override {
    residual::value_means(spec_, layout_.critics.optimised.parameters, layout_.new_valued.output,
                          layout_.value_means, stream);
    return {layout_.value_means, static_cast<std::size_t>(spec_.agents)};
  }

  void observe(cudaStream_t stream) override {
    observe_unseen(bonus_plan_, !bonus_.rnd.relative, layout_.device_bonuses, stream);
  }
  void networks_changed() override { has_copies_ = false; }

  void update(int n, std::uint64_t done, cudaStream_t stream) override {
    if (!has_copies_) {
      step(layout_.actors, false, stream);
      step(layout_.critics, false, stream);
      has_copies_ = true;
    }
    for (int i = 0; i < n; ++i) {
      const bool moves = (done + i + 1) % spec_.train.actor_every == 0;
      check(cudaGraphLaunch(graphs_[moves].get(), stream), "cudaGraphLaunch of an update");
    }
  }

  void act(const ActRows& rows, bool explores, cudaStream_t stream) const override {
    const auto networks = [](const auto& nets) {
      return ActNetworks{nets.optimised.parameters, nets.statistics};
    };
    residual::act(spec_, networks(layout_.actors), networks(layout_.critics), rows, explores,
                  stream);
  }

 private:
  // A step of the optimiser; without `learns`, the copies for products alone.
  void step(const Networks<T>& nets, bool learns, cudaStream_t stream) const {
    step_networks(spec_, layout_.memory, nets.shape, nets.segments, nets.segment_count,
                  &nets == &layout_.critics, learns ? spec_.train.polyak : 0,
                  learns ? nets.gradients : nullptr, nets.optimised, stream);
  }

  // One update of all agents (Algorithm 2). `moves`: of the actor and the temperature too.
  void enqueue_update(bool moves) {
    Layout<T>& l = layout_;
    const GroupMemory& memory = l.memory;
    const int batch = spec_.batch();
    const Weights<T> actors = l.actors.online(), critics = l.critics.online();
    const Products &main = products_.main, &side = products_.side;
    const cudaStream_t stream = main.stream();
    draw_batch(spec_, memory, stream);
    products_.fork();
    begin_update(spec_, memory, side.stream());
    if (bonus_.has_bonus()) {
      find_errors(bonus_plan_, l.device_bonuses, side.stream());
      step_predictors(bonus_plan_, l.device_bonuses, side.stream());
    }

    // the actions at s', by statistics of the updates before
    const Weights<T> next_actors = spec_.has_target_policy() ? l.actors.target() : actors;
    actor_passes_.forward(main, next_actors, memory.next_input, batch, Statistics::running, 0,
                          l.next_acting);
    sample_actions(spec_, memory, next_actors.parameters, l.next_acting.output, batch, true,
                   stream);

    // the policy's actions at s, on the side once the running statistics have been read
    if (moves) {
      products_.fork();
      actor_passes_.forward(side, actors, memory.actor_input, 2 * batch, Statistics::batch,
                            kStatisticsMomentum, l.acting);
      sample_actions(spec_, memory, actors.parameters, l.acting.output, 2 * batch, false,
                     side.stream());
      step_temperature(spec_, memory, side.stream());
    }

    // the critics and their target networks
    pair_passes_.forward(main, critics, memory.critic_input, 2 * batch, Statistics::batch,
                         kStatisticsMomentum, l.valued);
    products_.join();
    const float *target_parameters = l.critics.optimised.target,
                *target = l.valued.output +
                          4LL * spec_.agents * batch * spec_.critic_shape.output_stride();
    if (bonus_.discounts_bonus())
      target_quantiles(spec_, memory, target_parameters, target, stream);
    if (bonus_.has_bonus()) add_bonus(bonus_plan_, l.device_bonuses, stream);
    critic_losses(spec_, memory, critics.parameters, target_parameters, l.valued.output, target,
                  l.critic_gradients.output, stream);
    critic_passes_.backward(products_, critics, memory.critic_input, 2 * batch, l.valued,
                            l.critic_gradients, l.critics.gradients, nullptr);
    step(l.critics, true, stream);

    // the actor, by the critics just updated
    if (moves) {
      critic_passes_.forward(main, critics, memory.new_input, batch, Statistics::running, 0,
                             l.new_valued);
      new_values(spec_, memory, critics.parameters, l.new_valued.output, l.critic_gradients.output,
                 stream);
      critic_passes_.backward(products_, critics, memory.new_input, batch, l.new_valued,
                              l.critic_gradients, nullptr, l.by_input);
      actor_losses(spec_, memory, l.by_input, l.actor_gradients.output, stream);
      actor_passes_.backward(products_, actors, memory.actor_input, 2 * batch, l.acting,
                             l.actor_gradients, l.actors.gradients, nullptr);
      step(l.actors, true, stream);
    }
    finish_update(spec_, memory, stream);
  }

  Owned<cudaGraphExec_t> capture(bool moves) {
    const Owned<cudaStream_t> stream = make_stream(), side = make_stream();
    products_.main.use(stream.get());
    products_.side.use(side.get());
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    enqueue_update(moves);
    return end_capture(stream.get());
  }

  GroupSpec spec_;
  AgentSpec bonus_;
  UpdatePlan bonus_plan_;
  DeviceArray<char> bytes_;
  Layout<T> layout_;
  TwoStreams products_;
  ResidualPasses<T> actor_passes_, critic_passes_;
  ResidualPasses<T> pair_passes_;  // critics and target critics in one pass
  std::array<Owned<cudaGraphExec_t>, 2> graphs_;
  bool has_copies_ = false;
};

}  // namespace

std::unique_ptr<GroupLearner> make_group_learner(const GroupSpec& spec, const AgentSpec& bonus,
                                                 std::span<const std::uint64_t> seeds,
                                                 std::span<float* const> replays, bool exact) {
  if (exact) return std::make_unique<Learner<float>>(spec, bonus, seeds, replays);
  return std::make_unique<Learner<__half>>(spec, bonus, seeds, replays);
}

std::size_t group_bytes(const GroupSpec& spec, const AgentSpec& bonus, bool exact) {
  return exact ? Learner<float>::size_of(spec, bonus) : Learner<__half>::size_of(spec, bonus);
}

}  // namespace ovde::cuda::residual
