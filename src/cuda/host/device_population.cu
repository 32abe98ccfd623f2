#include "cuda/host/device_population.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <ovde/error.h>
#include "cuda/host/agent_memory.h"
#include "cuda/host/device.h"
#include "cuda/host/handles.h"
#include "cuda/host/update_graph.h"
#include "cuda/kernels/explore/act.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/fraction_rows.cuh"

namespace ovde::cuda {

namespace {

constexpr int kMostTogether = 16;  // samples of an explorer that are computed side by side

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

std::size_t floats_of(std::span<const AgentSpec> specs) {
  Arena counting(nullptr);
  for (const AgentSpec& spec : specs) allocate(spec, counting, nullptr);
  return counting.used();
}

int smallest_batch(std::span<const AgentSpec> specs) {
  const auto batch = [](const AgentSpec& spec) { return spec.train.batch; };
  return batch(std::ranges::min(specs, {}, batch));
}

// Random or embedded fractions that an explorer draws.
int drawn_fractions(const AgentSpec& spec) {
  return spec.iqn && spec.explorer.explores() ? spec.critic.quantiles : 0;
}

// The inputs and outputs of acting, one row for each agent.
struct ActMemory {
  explicit ActMemory(std::span<const AgentSpec> specs)
      : count(specs.size()),
        observations(largest(specs, [](const AgentSpec& s) { return s.observations; })),
        actions(largest(specs, [](const AgentSpec& s) { return s.actions; })),
        samples(largest(specs, [](const AgentSpec& s) { return s.explorer.samples(); })),
        fractions(largest(specs, drawn_fractions)) {}

  PopulationActing on_host() const {
    return {.observations = observations,
            .actions = actions,
            .samples = samples,
            .fractions = fractions,
            .observation = observation.host(),
            .fraction = fraction.host(),
            .explorer_noise = noise.host(),
            .plain = plain.host(),
            .scouts = scouts.host(),
            .mean = mean.host(),
            .std = std.host(),
            .moved = moved.host(),
            .m = m.host(),
            .choice = choice.host()};
  }
  ActExchange on_device(int smallest_batch) const {
    return {static_cast<int>(count),
            observations,
            actions,
            samples,
            fractions,
            std::min({samples, smallest_batch, kMostTogether}),
            fits<IqnTile<true, 1>>() ? 1 : 0,
            observation.device(),
            noise.device(),
            fraction.device(),
            plain.device(),
            mean.device(),
            std.device(),
            moved.device(),
            m.device(),
            choice.device()};
  }

  std::size_t count;
  int observations, actions, samples, fractions;
  MappedArray<float> observation{count * observations}, fraction{count * fractions};
  MappedArray<double> noise{count * samples};
  MappedArray<bool> plain{count}, scouts{count};
  MappedArray<double> mean{count * actions}, std{count * actions}, moved{count * actions}, m{count};
  MappedArray<int> choice{count};
};

}  // namespace

std::size_t bytes_of(const AgentSpec& spec) {
  return floats_of({&spec, 1}) * sizeof(float) + 2 * sizeof(Agent) + sizeof(Progress) +
         sizeof(ValueMeans);
}

struct DevicePopulation::Impl {
  Impl(std::span<const AgentSpec> specs, bool exact);

  // Enqueue copies; `what` names them in errors.
  void to_device(void* to, const void* from, std::size_t bytes, const char* what) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream.get()), what);
  }
  void to_host(void* to, const void* from, std::size_t bytes, const char* what) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()), what);
  }

  int count;                    // agents
  std::vector<Agent> agents;    // as the device has them
  std::vector<int> in_updates;  // each agent's place in the order of updates
  Owned<cudaStream_t> stream = make_stream();
  DeviceArray<float> memory;
  DeviceArray<Progress> progress;
  DeviceArray<ValueMeans> means;
  DeviceArray<Agent> device_agents, update_agents;  // the latter in the order of updates
  std::unique_ptr<UpdateGraph> updates;

  bool has_copies = false;  // the fp16 copies of the networks are up to date
  bool iqn_explorers;
  int choices = 0;  // actions of the largest grid
  ActMemory act_memory;
  PopulationActing acting;
  ActExchange act_exchange;
};

DevicePopulation::Impl::Impl(std::span<const AgentSpec> specs, bool exact)
    : count(static_cast<int>(specs.size())),
      in_updates(count),
      progress(make_device_array<Progress>(count)),
      means(make_device_array<ValueMeans>(count)),
      device_agents(make_device_array<Agent>(count)),
      update_agents(make_device_array<Agent>(count)),
      iqn_explorers(std::ranges::any_of(specs, drawn_fractions)),
      act_memory(specs),
      acting(act_memory.on_host()),
      act_exchange(act_memory.on_device(smallest_batch(specs))) {
  const std::size_t floats = floats_of(specs);
  memory = make_device_array<float>(floats);
  check(cudaMemsetAsync(memory.get(), 0, floats * sizeof(float), stream.get()), "cudaMemset");
  check(cudaMemsetAsync(progress.get(), 0, count * sizeof(Progress), stream.get()), "cudaMemset");
  Arena arena(memory.get());
  for (int i = 0; i < count; ++i) agents.push_back(allocate(specs[i], arena, progress.get() + i));
  for (Agent& agent : agents) {
    if (agent.role != Role::agent) share_with_owner(agents[agent.owner], agent);
    choices = std::max(choices, agent.choices);
  }
  std::vector<Agent> in_order;
  for (const int i : order_of_updates(agents)) {
    in_updates[i] = static_cast<int>(in_order.size());
    in_order.push_back(agents[i]);
  }
  to_device(device_agents.get(), agents.data(), count * sizeof(Agent), "cudaMemcpy of the agents");
  to_device(update_agents.get(), in_order.data(), count * sizeof(Agent),
            "cudaMemcpy of the agents");

  std::vector<int> owners;
  for (const Agent& agent : in_order) {
    if (agent.role == Role::optimist) owners.push_back(in_updates[agent.owner]);
  }
  updates = std::make_unique<UpdateGraph>(
      update_agents.get(), std::vector<AgentSpec>(in_order.begin(), in_order.end()), owners, exact);
  check(cudaStreamSynchronize(stream.get()), "setting up the population");
}

DevicePopulation::DevicePopulation(std::span<const AgentSpec> agents, bool exact)
    : impl_(std::make_unique<Impl>(agents, exact)) {}
DevicePopulation::~DevicePopulation() = default;

std::span<float> DevicePopulation::array(ArrayId id) const {
  const Agent& agent = impl_->agents[id.agent];
  const auto array_of = [&](const Network& net, int size) -> std::span<float> {
    const auto length = static_cast<std::size_t>(size);
    switch (id.array) {
      case NetworkArray::parameters:
        return {net.parameters, length};
      case NetworkArray::first_moment:
        return {net.first_moment, length};
      case NetworkArray::second_moment:
        return {net.second_moment, length};
      case NetworkArray::target:
        return {net.target, length};
    }
    throw Error("CUDA: an unknown array");
  };
  switch (id.network) {
    case NetworkId::actor:
      return array_of(agent.actor_net, agent.actor_shape.size);
    case NetworkId::critic_1:
      return array_of(agent.critic_net[0], agent.critic_size);
    case NetworkId::critic_2:
      return array_of(agent.critic_net[1], agent.critic_size);
    case NetworkId::predictor:
      return array_of(agent.distillation.net, agent.rnd_shape.size);
  }
  throw Error("CUDA: an unknown network");
}

std::span<float> DevicePopulation::multiplier(int agent, Multiplier multiplier) const {
  const Optimist& optimist = impl_->agents[agent].optimist;
  return {multiplier == Multiplier::optimism ? optimist.log_optimism : optimist.log_weight, 3};
}

std::span<double> DevicePopulation::rnd_statistics(int agent) const {
  const Agent& a = impl_->agents[agent];
  return {a.distillation.statistics.next_row, rnd_statistics_count(a.observations)};
}

std::span<float> DevicePopulation::replay_rows(int agent, std::int64_t first,
                                               std::int64_t count) const {
  const Agent& a = impl_->agents[agent];
  return {a.replay + first * a.replay_stride, static_cast<std::size_t>(count * a.replay_stride)};
}

void DevicePopulation::networks_changed() { impl_->has_copies = false; }

void DevicePopulation::write_bytes(std::span<std::byte> device, std::span<const std::byte> values) {
  if (device.size() != values.size()) throw Error("CUDA: an array of the wrong length");
  impl_->to_device(device.data(), values.data(), values.size(), "cudaMemcpy to the GPU");
}

void DevicePopulation::read_bytes(std::span<const std::byte> device, std::span<std::byte> values) {
  if (device.size() != values.size()) throw Error("CUDA: an array of the wrong length");
  impl_->to_host(values.data(), device.data(), values.size(), "cudaMemcpy from the GPU");
}

void DevicePopulation::write_counters(std::span<const Counters> counters) {
  std::vector<Progress> progress(counters.size());
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const Counters& c = counters[i];
    progress[i].updates = c.updates;
    progress[i].replay_rows = c.replay_rows;
    progress[i].replay_added = c.replay_added;
    std::ranges::copy(c.log_alpha, progress[i].log_alpha);
    progress[i].alpha = std::exp(c.log_alpha[0]);
    progress[i].critic_loss = c.critic_loss;
    progress[i].actor_loss = c.actor_loss;
    progress[i].first_bad = c.first_bad;
  }
  impl_->to_device(impl_->progress.get(), progress.data(), progress.size() * sizeof(Progress),
                   "cudaMemcpy of counters to the GPU");
  wait();
}

std::vector<DevicePopulation::Counters> DevicePopulation::read_counters() {
  std::vector<Progress> progress(impl_->count);
  impl_->to_host(progress.data(), impl_->progress.get(), progress.size() * sizeof(Progress),
                 "cudaMemcpy of counters from the GPU");
  wait();
  std::vector<Counters> counters;
  for (const Progress& p : progress)
    counters.push_back({.updates = p.updates,
                        .replay_rows = p.replay_rows,
                        .replay_added = p.replay_added,
                        .log_alpha = {p.log_alpha[0], p.log_alpha[1], p.log_alpha[2]},
                        .critic_loss = p.critic_loss,
                        .actor_loss = p.actor_loss,
                        .first_bad = p.first_bad});
  return counters;
}

void DevicePopulation::set_blend(int agent, const Blend& blend) {
  for (Agent* at :
       {impl_->device_agents.get() + agent, impl_->update_agents.get() + impl_->in_updates[agent]})
    impl_->to_device(&at->blend, &blend, sizeof(Blend),
                     "cudaMemcpy of an agent's optimism to the GPU");
  wait();
}

void DevicePopulation::observe(int batches) {
  const std::span<const Agent> agents = impl_->agents;
  const int batch = largest(agents, [](const Agent& a) { return a.train.batch; });
  const bool errors =
      std::ranges::any_of(agents, [](const Agent& a) { return a.has_bonus() && !a.rnd.relative; });
  const int size = exact_size();
  for (; batches > 0; --batches)
    observe_unseen(impl_->count, batch, size, errors, impl_->device_agents.get(),
                   impl_->stream.get());
}

void DevicePopulation::update(int n) {
  if (!std::exchange(impl_->has_copies, true)) impl_->updates->copy_networks(impl_->stream.get());
  impl_->updates->launch(n, impl_->stream.get());
}

bool DevicePopulation::is_done() {
  const cudaError_t state = cudaStreamQuery(impl_->stream.get());
  if (state == cudaErrorNotReady) return false;
  check(state, "waiting for the GPU");
  return true;
}

void DevicePopulation::wait() {
  check(cudaStreamSynchronize(impl_->stream.get()), "waiting for the GPU");
}

std::vector<ValueMeans> DevicePopulation::value_means() {
  std::vector<ValueMeans> means(impl_->count);
  compute_value_means(impl_->count, impl_->device_agents.get(), impl_->means.get(),
                      impl_->stream.get());
  impl_->to_host(means.data(), impl_->means.get(), means.size() * sizeof(ValueMeans),
                 "cudaMemcpy of values");
  wait();
  return means;
}

const PopulationActing& DevicePopulation::acting() const { return impl_->acting; }

void DevicePopulation::act() {
  const Agent* agents = impl_->device_agents.get();
  const cudaStream_t stream = impl_->stream.get();
  enqueue_act(agents, impl_->act_exchange, stream);
  if (impl_->iqn_explorers) enqueue_iqn_act(agents, impl_->act_exchange, stream);
  if (impl_->choices > 0) enqueue_grid_act(agents, impl_->choices, impl_->act_exchange, stream);
  wait();
}

}  // namespace ovde::cuda
