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
#include "cuda/lay_out.h"
#include "cuda/row_quantiles.cuh"

namespace ovde::cuda {

namespace {

constexpr int kUpdatesPerGraph = 20;
constexpr int kMostTogether = 16;   // samples of an explorer
constexpr int kSmallestGroup = 12;  // agents that are worth a branch of their own

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
                    const Agent* optimists, cudaStream_t stream) {
  evaluate_policies(plan, agents, stream);
  if (plan.random_agents > 0) evaluate_iqn_targets(plan, agents, stream);
  if (plan.rnd_tiles > 0) distil(plan, agents, stream);
  if (plan.batch_bonus) add_batch_bonus(plan, agents, stream);
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

  void enqueue(const Agent* agents, cudaStream_t stream) const {
    if (is_grid) {
      update_grid_agents(grid, agents + first, stream);
    } else {
      enqueue_update(plan, agents + first, optimist_plan, agents + first_optimist, stream);
    }
  }
};

// Bytes of shared memory that a block may have; fewer, where the environment says so, to see how a
// population does on another GPU.
int shared_memory() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
  const char* asked = std::getenv("OVDE_GPU_SHARED_MEMORY");
  return asked != nullptr ? std::min(bytes, std::atoi(asked)) : bytes;
}
template <typename Tile>
bool has_room() {
  return static_cast<int>(sizeof(Tile)) <= shared_memory();
}
// Of a tile in fp32 (tile.cuh).
int exact_size() { return has_room<NetworkTile<2>>() ? 2 : 0; }

template <typename Value, typename Get>
int largest(std::span<const Value> values, Get&& get) {
  int most = 1;
  for (const Value& value : values) most = std::max(most, get(value));
  return most;
}

// How to cut the work of a group of a population of `agents`: by measurement (docs/performance.md).
UpdatePlan make_plan(std::span<const AgentSpec> specs, int agents, bool exact) {
  UpdatePlan plan{};
  plan.agents = static_cast<int>(specs.size());
  plan.batch = largest(specs, [](const AgentSpec& s) { return s.batch; });
  plan.size = agents <= 24 || !has_room<HalfNetworkTile<2>>() ? 0 : 2;
  plan.exact_size = exact_size();
  plan.iqn_size = has_room<IqnTile<false, 2>>() ? 2 : 3;
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
  plan.batch_bonus = std::ranges::any_of(specs, &AgentSpec::has_batch_bonus);
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

// Of the agents in that order; owners: where the agents of the optimists are in it.
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
  cudaGraphExec_t capture(int updates) const;

  std::vector<Agent> agents;    // as the device has them
  std::vector<Group> groups;    // of the agents in the order of updates
  std::vector<int> in_updates;  // where each agent is in that order
  std::vector<cudaStream_t> branches;
  std::vector<cudaEvent_t> ended;
  cudaEvent_t begun = nullptr;
  cudaStream_t stream = nullptr;
  float* memory = nullptr;
  Agent *device_agents = nullptr, *update_agents = nullptr;  // the latter in the order of updates
  Progress* progress = nullptr;
  ValueMeans* means = nullptr;
  cudaGraphExec_t one = nullptr, many = nullptr;

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
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");

  Arena counting(nullptr);
  for (const AgentSpec& spec : specs) lay_out(spec, counting, nullptr);
  check(cudaMalloc(&memory, counting.used() * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&progress, count * sizeof(Progress)), "cudaMalloc");
  check(cudaMalloc(&means, count * sizeof(ValueMeans)), "cudaMalloc");
  check(cudaMalloc(&device_agents, count * sizeof(Agent)), "cudaMalloc");
  check(cudaMalloc(&update_agents, count * sizeof(Agent)), "cudaMalloc");
  check(cudaMemsetAsync(memory, 0, counting.used() * sizeof(float), stream), "cudaMemset");
  check(cudaMemsetAsync(progress, 0, count * sizeof(Progress), stream), "cudaMemset");
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
    check(cudaMemcpyAsync(to, from->data(), count * sizeof(Agent), cudaMemcpyHostToDevice, stream),
          "cudaMemcpy of the agents");

  tile_size = exact_size();
  std::vector<int> owners;
  for (const Agent& agent : in_order) {
    if (agent.policy_owner >= 0) owners.push_back(in_updates[agent.policy_owner]);
  }
  groups = make_groups(std::vector<AgentSpec>(in_order.begin(), in_order.end()), owners, exact);
  check(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming), "cudaEventCreate");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    check(cudaStreamCreateWithFlags(&branches.emplace_back(), cudaStreamNonBlocking),
          "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&ended.emplace_back(), cudaEventDisableTiming),
          "cudaEventCreate");
  }
  one = capture(1);
  many = capture(kUpdatesPerGraph);

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
  check(cudaStreamSynchronize(stream), "setting up the population");
}

DevicePopulation::Impl::~Impl() {
  if (one != nullptr) cudaGraphExecDestroy(one);
  if (many != nullptr) cudaGraphExecDestroy(many);
  for (const cudaStream_t branch : branches) {
    if (branch != nullptr) cudaStreamDestroy(branch);
  }
  for (const cudaEvent_t event : ended) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  if (begun != nullptr) cudaEventDestroy(begun);
  if (stream != nullptr) cudaStreamDestroy(stream);
  for (void* p :
       {static_cast<void*>(memory), static_cast<void*>(progress), static_cast<void*>(means),
        static_cast<void*>(device_agents), static_cast<void*>(update_agents)})
    cudaFree(p);
}

// One graph of several updates: nothing in it depends on their number, which the device counts.
// Groups of agents are branches of it that do not wait for each other: one computes while another
// moves memory.
cudaGraphExec_t DevicePopulation::Impl::capture(int updates) const {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  check(cudaEventRecord(begun, stream), "cudaEventRecord");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    check(cudaStreamWaitEvent(branches[g], begun), "cudaStreamWaitEvent");
    for (int i = 0; i < updates; ++i) groups[g].enqueue(update_agents, branches[g]);
    check(cudaEventRecord(ended[g], branches[g]), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream, ended[g]), "cudaStreamWaitEvent");
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  return executable;
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
                        impl_->stream),
        "cudaMemcpy of parameters to the GPU");
}

void DevicePopulation::read(ArrayId id, std::span<float> values) {
  check(cudaMemcpyAsync(values.data(), impl_->array(id, values.size()), values.size_bytes(),
                        cudaMemcpyDeviceToHost, impl_->stream),
        "cudaMemcpy of parameters from the GPU");
}

void DevicePopulation::write_rows(int agent, std::int64_t index, std::span<const float> rows) {
  const Agent& a = impl_->agents[agent];
  check(cudaMemcpyAsync(a.replay + index * a.replay_stride, rows.data(), rows.size_bytes(),
                        cudaMemcpyHostToDevice, impl_->stream),
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
                        cudaMemcpyHostToDevice, impl_->stream),
        "cudaMemcpy of counters to the GPU");
  wait();
}

std::vector<DevicePopulation::Counters> DevicePopulation::read_counters() {
  std::vector<Progress> progress(impl_->agents.size());
  check(cudaMemcpyAsync(progress.data(), impl_->progress, progress.size() * sizeof(Progress),
                        cudaMemcpyDeviceToHost, impl_->stream),
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
    check(cudaMemcpyAsync(&at->blend, &blend, sizeof(Blend), cudaMemcpyHostToDevice, impl_->stream),
          "cudaMemcpy of an agent's optimism to the GPU");
  wait();
}

void DevicePopulation::write_rnd(int agent, std::span<const double> statistics) {
  check(cudaMemcpyAsync(impl_->agents[agent].rnd.statistics.next_row, statistics.data(),
                        statistics.size_bytes(), cudaMemcpyHostToDevice, impl_->stream),
        "cudaMemcpy of statistics to the GPU");
  wait();
}

void DevicePopulation::read_rnd(int agent, int from, std::span<double> statistics) {
  check(cudaMemcpyAsync(statistics.data(), impl_->agents[agent].rnd.statistics.next_row + from,
                        statistics.size_bytes(), cudaMemcpyDeviceToHost, impl_->stream),
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
                   impl_->device_agents, impl_->stream);
}

void DevicePopulation::update(int n) {
  if (std::exchange(impl_->written, false)) {
    for (const Group& group : impl_->groups) {
      if (!group.is_grid)
        copy_networks(group.plan, impl_->update_agents + group.first, impl_->stream);
      if (group.optimist_plan.agents > 0)
        copy_networks(group.optimist_plan, impl_->update_agents + group.first_optimist,
                      impl_->stream);
    }
  }
  for (; n >= kUpdatesPerGraph; n -= kUpdatesPerGraph)
    check(cudaGraphLaunch(impl_->many, impl_->stream), "cudaGraphLaunch of updates");
  for (; n > 0; --n)
    check(cudaGraphLaunch(impl_->one, impl_->stream), "cudaGraphLaunch of an update");
}

bool DevicePopulation::is_done() {
  const cudaError_t state = cudaStreamQuery(impl_->stream);
  if (state == cudaErrorNotReady) return false;
  check(state, "waiting for the GPU");
  return true;
}

void DevicePopulation::wait() {
  check(cudaStreamSynchronize(impl_->stream), "waiting for the GPU");
}

std::vector<ValueMeans> DevicePopulation::value_means() {
  std::vector<ValueMeans> means(impl_->agents.size());
  launch_kernel(value_means_kernel, dim3(static_cast<unsigned>(means.size())), 128, 0,
                impl_->stream, impl_->device_agents, impl_->means);
  check(cudaMemcpyAsync(means.data(), impl_->means, means.size() * sizeof(ValueMeans),
                        cudaMemcpyDeviceToHost, impl_->stream),
        "cudaMemcpy of values");
  wait();
  return means;
}

const DevicePopulation::Exchange& DevicePopulation::exchange() const { return impl_->exchange; }

void DevicePopulation::act() {
  enqueue_act(impl_->device_agents, impl_->act_exchange, impl_->stream);
  if (impl_->iqn_explorers)
    enqueue_iqn_act(impl_->device_agents, impl_->act_exchange, impl_->stream);
  if (impl_->choices > 0)
    enqueue_grid_act(impl_->device_agents, impl_->choices, impl_->act_exchange, impl_->stream);
  wait();
}

}  // namespace ovde::cuda
