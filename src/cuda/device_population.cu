#include "cuda/device_population.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "cuda/act.cuh"
#include "cuda/check.h"
#include "cuda/iqn_tile.cuh"
#include "cuda/kernels.cuh"
#include "cuda/largest.h"
#include "cuda/lay_out.h"
#include "cuda/own.h"
#include "cuda/room.h"
#include "cuda/row_quantiles.cuh"
#include "cuda/update_graph.h"

namespace ovde::cuda {

namespace {

constexpr int kMostTogether = 16;  // samples of an explorer

// Memory that host and device share, for the small exchanges of acting.
template <typename T>
class Shared {
 public:
  explicit Shared(std::size_t size) : Shared() {
    size_ = size;
    check(cudaHostAlloc(&host_, size * sizeof(T), cudaHostAllocMapped), "cudaHostAlloc");
    check(cudaHostGetDevicePointer(&device_, host_, 0), "cudaHostGetDevicePointer");
    std::memset(host_, 0, size * sizeof(T));
  }
  ~Shared() { cudaFreeHost(host_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::span<T> host() const { return {static_cast<T*>(host_), size_}; }
  T* device() const { return static_cast<T*>(device_); }

 private:
  Shared() = default;  // whatever fails after it is cleaned up

  std::size_t size_ = 0;
  void *host_ = nullptr, *device_ = nullptr;
};

// One block an agent: means over the batch of what uncertainty() of agent/critic/uncertainty.h
// gives for a sample.
__global__ void value_means_kernel(const Agent* agents, ValueMeans* out) {
  const Agent& agent = agents[blockIdx.x];
  const int n = agent.quantiles;
  __shared__ double sums[3][128];
  double total[3] = {};
  for (int s = threadIdx.x; s < agent.batch; s += 128) {
    const float *first = agent.quantiles_at_new[0] + s * n,
                *second = agent.quantiles_at_new[1] + s * n;
    const Uncertainty u = uncertainty(
        OneThread{},
        RowQuantiles{
            {first, second}, row_weights(agent, agent.weights_at_new, s), n, agent.uncertainty});
    total[0] += u.mean;
    total[1] += u.epistemic;
    total[2] += u.aleatoric;
  }
  for (int j = 0; j < 3; ++j) sums[j][threadIdx.x] = total[j];
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < 128; ++t) {
    for (int j = 0; j < 3; ++j) sums[j][0] += sums[j][t];
  }
  out[blockIdx.x] = {sums[0][0] / agent.batch, sums[1][0] / agent.batch, sums[2][0] / agent.batch};
}

// The order of updates: first agents with an actor, then those over a grid of actions, then
// optimists in the order of the agents that they belong to.
std::vector<int> order_of_updates(std::span<const Agent> agents) {
  std::vector<int> order(agents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) {
    return agents[i].policy_owner >= 0 ? 2 : agents[i].is_grid ? 1 : 0;
  });
  return order;
}

}  // namespace

int shared_memory() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
  const char* asked = std::getenv("OVDE_GPU_SHARED_MEMORY");
  return asked != nullptr ? std::min(bytes, std::atoi(asked)) : bytes;
}

int exact_size() { return has_room<NetworkTile<2>>() ? 2 : 0; }

std::string why_no_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || count == 0)
    return "this machine has no NVIDIA GPU, or no driver for one";
  if (status != cudaSuccess) return cudaGetErrorString(status);
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, 0); status != cudaSuccess)
    return cudaGetErrorString(status);
  if (properties.major < 8)
    return std::string(properties.name) + " has compute capability " +
           std::to_string(properties.major) + "." + std::to_string(properties.minor) +
           "; 8.0 or later is needed";
  return "";
}

std::string why_not(const AgentSpec& spec, bool exact) {
  if (exact && spec.iqn && !has_room<IqnTile<true, 2>>())
    return "random or embedded fractions (critic.head) in fp32 (precision) take " +
           std::to_string(sizeof(IqnTile<true, 2>) / 1024 + 1) +
           " KB of shared memory a block; this GPU has " + std::to_string(shared_memory() / 1024) +
           " KB. precision = \"tf32\" fits";
  return "";
}

std::string device_name() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  return properties.name;
}

DeviceMemory device_memory() {
  DeviceMemory memory{};
  check(cudaMemGetInfo(&memory.free, &memory.total), "cudaMemGetInfo");
  return memory;
}

std::size_t bytes_of(const AgentSpec& spec) {
  Arena counting(nullptr);
  lay_out(spec, counting, nullptr);
  return counting.used() * sizeof(float) + 2 * sizeof(Agent) + sizeof(Progress) +
         sizeof(ValueMeans);
}

struct DevicePopulation::Impl {
  Impl() = default;
  Impl(std::span<const AgentSpec> specs, bool exact);
  ~Impl();

  const float* array(ArrayId id, std::size_t size) const;

  std::vector<Agent> agents;    // as the device has them
  std::vector<int> in_updates;  // where each agent is in the order of updates
  Own<cudaStream_t> stream = make_stream();
  float* memory = nullptr;
  Agent *device_agents = nullptr, *update_agents = nullptr;  // the latter in the order of updates
  Progress* progress = nullptr;
  ValueMeans* means = nullptr;
  std::unique_ptr<UpdateGraph> updates;

  bool written = true;  // networks, since their fp16 copies were made
  bool iqn_explorers = false;
  int choices = 0;    // of the largest grid of actions
  int tile_size = 0;  // of a tile in fp32
  std::unique_ptr<Shared<float>> observation, fraction;
  std::unique_ptr<Shared<double>> noise, mean, std, moved, m;
  std::unique_ptr<Shared<bool>> plain;
  std::unique_ptr<Shared<int>> choice;
  ActExchange act_exchange{};
  Exchange exchange{};
};

// There is an Impl before the body begins: what fails in it leaves nothing behind.
DevicePopulation::Impl::Impl(std::span<const AgentSpec> specs, bool exact) : Impl() {
  const auto count = static_cast<int>(specs.size());
  Arena counting(nullptr);
  for (const AgentSpec& spec : specs) lay_out(spec, counting, nullptr);
  check(cudaMalloc(&memory, counting.used() * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&progress, count * sizeof(Progress)), "cudaMalloc");
  check(cudaMalloc(&means, count * sizeof(ValueMeans)), "cudaMalloc");
  check(cudaMalloc(&device_agents, count * sizeof(Agent)), "cudaMalloc");
  check(cudaMalloc(&update_agents, count * sizeof(Agent)), "cudaMalloc");
  check(cudaMemsetAsync(memory, 0, counting.used() * sizeof(float), stream.get()), "cudaMemset");
  check(cudaMemsetAsync(progress, 0, count * sizeof(Progress), stream.get()), "cudaMemset");
  Arena arena(memory);
  for (int i = 0; i < count; ++i) agents.push_back(lay_out(specs[i], arena, progress + i));
  for (Agent& agent : agents) {
    if (agent.replay_owner >= 0) agent.replay = agents[agent.replay_owner].replay;
    if (agent.policy_owner >= 0) share_with_optimist(agents[agent.policy_owner], agent);
  }
  const std::vector<int> order = order_of_updates(agents);
  std::vector<Agent> in_order;
  in_updates.resize(count);
  for (const int i : order) {
    in_updates[i] = static_cast<int>(in_order.size());
    in_order.push_back(agents[i]);
  }
  for (const auto& [to, from] : {std::pair(device_agents, &agents), {update_agents, &in_order}})
    check(cudaMemcpyAsync(to, from->data(), count * sizeof(Agent), cudaMemcpyHostToDevice,
                          stream.get()),
          "cudaMemcpy of the agents");

  tile_size = exact_size();
  std::vector<int> owners;
  for (const Agent& agent : in_order) {
    if (agent.policy_owner >= 0) owners.push_back(in_updates[agent.policy_owner]);
  }
  updates = std::make_unique<UpdateGraph>(
      update_agents, std::vector<AgentSpec>(in_order.begin(), in_order.end()), owners, exact);

  exchange.observations = largest(specs, [](const AgentSpec& s) { return s.observations; });
  exchange.actions = largest(specs, [](const AgentSpec& s) { return s.actions; });
  exchange.samples = largest(specs, [](const AgentSpec& s) { return s.explorer.samples(); });
  const auto asked = [](const AgentSpec& s) {
    return s.iqn && s.explorer.explores() ? s.quantiles : 0;
  };
  exchange.fractions = largest(specs, asked);
  iqn_explorers = std::ranges::any_of(specs, asked);
  for (const AgentSpec& spec : specs) choices = std::max(choices, spec.choices);
  observation = std::make_unique<Shared<float>>(count * exchange.observations);
  fraction = std::make_unique<Shared<float>>(count * exchange.fractions);
  noise = std::make_unique<Shared<double>>(count * exchange.samples);
  plain = std::make_unique<Shared<bool>>(count);
  mean = std::make_unique<Shared<double>>(count * exchange.actions);
  std = std::make_unique<Shared<double>>(count * exchange.actions);
  moved = std::make_unique<Shared<double>>(count * exchange.actions);
  m = std::make_unique<Shared<double>>(count);
  choice = std::make_unique<Shared<int>>(count);
  exchange.observation = observation->host();
  exchange.explorer_noise = noise->host();
  exchange.fraction = fraction->host();
  exchange.plain = plain->host();
  exchange.mean = mean->host();
  exchange.std = std->host();
  exchange.moved = moved->host();
  exchange.m = m->host();
  exchange.choice = choice->host();
  const int smallest = std::ranges::min(specs, {}, &AgentSpec::batch).batch;
  act_exchange = {count,
                  exchange.observations,
                  exchange.actions,
                  exchange.samples,
                  exchange.fractions,
                  std::min({exchange.samples, smallest, kMostTogether}),
                  has_room<IqnTile<true, 1>>() ? 1 : 0,
                  observation->device(),
                  noise->device(),
                  fraction->device(),
                  plain->device(),
                  mean->device(),
                  std->device(),
                  moved->device(),
                  m->device(),
                  choice->device()};
  check(cudaStreamSynchronize(stream.get()), "setting up the population");
}

DevicePopulation::Impl::~Impl() {
  for (void* p :
       {static_cast<void*>(memory), static_cast<void*>(progress), static_cast<void*>(means),
        static_cast<void*>(device_agents), static_cast<void*>(update_agents)})
    cudaFree(p);
}

const float* DevicePopulation::Impl::array(ArrayId id, std::size_t size) const {
  const Agent& agent = agents[id.agent];
  if (id.network == 4) {
    if (size != 3) throw Error("CUDA: an array of the wrong length");
    return id.array == 0 ? agent.optimist.log_optimism : agent.optimist.log_weight;
  }
  const Network& net = id.network == 0   ? agent.actor
                       : id.network == 3 ? agent.rnd.net
                                         : agent.critic[id.network - 1];
  const int length = id.network == 0   ? agent.actor_shape.size
                     : id.network == 3 ? agent.rnd_shape.size
                                       : agent.critic_size;
  if (size != static_cast<std::size_t>(length)) throw Error("CUDA: an array of the wrong length");
  const float* arrays[] = {net.parameters, net.first_moment, net.second_moment, net.target};
  return arrays[id.array];
}

DevicePopulation::DevicePopulation(std::span<const AgentSpec> agents, bool exact)
    : impl_(std::make_unique<Impl>(agents, exact)) {}
DevicePopulation::~DevicePopulation() = default;

void DevicePopulation::write(ArrayId id, std::span<const float> values) {
  auto* to = const_cast<float*>(impl_->array(id, values.size()));
  impl_->written = true;
  check(cudaMemcpyAsync(to, values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                        impl_->stream.get()),
        "cudaMemcpy of parameters to the GPU");
}

void DevicePopulation::read(ArrayId id, std::span<float> values) {
  check(cudaMemcpyAsync(values.data(), impl_->array(id, values.size()), values.size_bytes(),
                        cudaMemcpyDeviceToHost, impl_->stream.get()),
        "cudaMemcpy of parameters from the GPU");
}

void DevicePopulation::write_rows(int agent, std::int64_t index, std::span<const float> rows) {
  const Agent& a = impl_->agents[agent];
  check(cudaMemcpyAsync(a.replay + index * a.replay_stride, rows.data(), rows.size_bytes(),
                        cudaMemcpyHostToDevice, impl_->stream.get()),
        "cudaMemcpy of transitions to the GPU");
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
  check(cudaMemcpyAsync(impl_->progress, progress.data(), progress.size() * sizeof(Progress),
                        cudaMemcpyHostToDevice, impl_->stream.get()),
        "cudaMemcpy of counters to the GPU");
  wait();
}

std::vector<DevicePopulation::Counters> DevicePopulation::read_counters() {
  std::vector<Progress> progress(impl_->agents.size());
  check(cudaMemcpyAsync(progress.data(), impl_->progress, progress.size() * sizeof(Progress),
                        cudaMemcpyDeviceToHost, impl_->stream.get()),
        "cudaMemcpy of counters from the GPU");
  wait();
  std::vector<Counters> counters(progress.size());
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const Progress& p = progress[i];
    counters[i] = {.updates = p.updates,
                   .replay_rows = p.replay_rows,
                   .replay_added = p.replay_added,
                   .log_alpha = {p.log_alpha[0], p.log_alpha[1], p.log_alpha[2]},
                   .critic_loss = p.critic_loss,
                   .actor_loss = p.actor_loss,
                   .first_bad = p.first_bad};
  }
  return counters;
}

void DevicePopulation::set_blend(int agent, const Blend& blend) {
  for (Agent* at : {impl_->device_agents + agent, impl_->update_agents + impl_->in_updates[agent]})
    check(cudaMemcpyAsync(&at->blend, &blend, sizeof(Blend), cudaMemcpyHostToDevice,
                          impl_->stream.get()),
          "cudaMemcpy of an agent's optimism to the GPU");
  wait();
}

void DevicePopulation::write_rnd(int agent, std::span<const double> statistics) {
  check(cudaMemcpyAsync(impl_->agents[agent].rnd.statistics.next_row, statistics.data(),
                        statistics.size_bytes(), cudaMemcpyHostToDevice, impl_->stream.get()),
        "cudaMemcpy of statistics to the GPU");
  wait();
}

void DevicePopulation::read_rnd(int agent, int from, std::span<double> statistics) {
  check(cudaMemcpyAsync(statistics.data(), impl_->agents[agent].rnd.statistics.next_row + from,
                        statistics.size_bytes(), cudaMemcpyDeviceToHost, impl_->stream.get()),
        "cudaMemcpy of statistics from the GPU");
  wait();
}

void DevicePopulation::observe(int batches) {
  const int batch =
      largest(std::span<const Agent>(impl_->agents), [](const Agent& a) { return a.batch; });
  const bool errors = std::ranges::any_of(
      impl_->agents, [](const Agent& a) { return a.has_rnd && !a.relative_bonus; });
  for (; batches > 0; --batches)
    observe_unseen(static_cast<int>(impl_->agents.size()), batch, impl_->tile_size, errors,
                   impl_->device_agents, impl_->stream.get());
}

void DevicePopulation::update(int n) {
  if (std::exchange(impl_->written, false)) impl_->updates->copy_networks(impl_->stream.get());
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
  std::vector<ValueMeans> means(impl_->agents.size());
  launch_kernel(value_means_kernel, dim3(static_cast<unsigned>(means.size())), 128, 0,
                impl_->stream.get(), impl_->device_agents, impl_->means);
  check(cudaMemcpyAsync(means.data(), impl_->means, means.size() * sizeof(ValueMeans),
                        cudaMemcpyDeviceToHost, impl_->stream.get()),
        "cudaMemcpy of values");
  wait();
  return means;
}

const DevicePopulation::Exchange& DevicePopulation::exchange() const { return impl_->exchange; }

void DevicePopulation::act() {
  enqueue_act(impl_->device_agents, impl_->act_exchange, impl_->stream.get());
  if (impl_->iqn_explorers)
    enqueue_iqn_act(impl_->device_agents, impl_->act_exchange, impl_->stream.get());
  if (impl_->choices > 0)
    enqueue_grid_act(impl_->device_agents, impl_->choices, impl_->act_exchange,
                     impl_->stream.get());
  wait();
}

}  // namespace ovde::cuda
