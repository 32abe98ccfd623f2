#include "cuda/host/agent_memory.h"

#include <algorithm>
#include <cstdlib>

#include "cuda/tile/fraction_rows.cuh"

namespace ovde::cuda {

namespace {

constexpr int kRowsAlign = 128;  // the rows of a batch fill whole tiles of any size

int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

std::size_t batch_rows(const AgentSpec& spec) { return rounded_up(spec.train.batch, kRowsAlign); }

const NetworkStep* step_of(Progress* progress, NetworkStep Progress::*step) {
  return progress != nullptr ? &(progress->*step) : nullptr;
}

Network take_network(Arena& arena, int size, const NetworkStep* step) {
  return {arena.take(size), arena.take(size), arena.take(size), arena.take(size), step};
}

Trace take_trace(Arena& arena, const NetworkShape& shape, std::size_t rows, const float* input,
                 int input_stride, const __half* half_input = nullptr) {
  Trace trace{};
  trace.input = input;
  trace.half_input = half_input;
  trace.input_stride = input_stride;
  for (int l = 0; l < shape.layers; ++l) {
    const int width = rounded_up(shape.layer[l].outputs, 16);
    if (l < shape.layers - 1) trace.hidden[l] = arena.take(rows * width);
    trace.delta[l] = arena.take(rows * width);
  }
  return trace;
}

NormTrace take_norm_trace(Arena& arena, const NetworkShape& shape, std::size_t rows) {
  NormTrace trace{};
  for (int l = 0; shape.norm && l < shape.layers - 1; ++l) {
    const int width = rounded_up(shape.layer[l].outputs, 16);
    trace.normal[l] = arena.take(rows * width);
    trace.by_gain[l] = arena.take(rows / kSummedRows * width);
    trace.by_shift[l] = arena.take(rows / kSummedRows * width);
  }
  return trace;
}

IqnTrace take_iqn_trace(Arena& arena, const NetworkShape& shape, std::size_t samples,
                        std::size_t rows) {
  IqnTrace trace{};
  const int gate = shape.feature_layers(), merge = gate + 1;
  for (int l = 0; l <= merge; ++l) {
    const auto width = static_cast<std::size_t>(rounded_up(shape.layer[l].outputs, 16));
    trace.by_gain[l] = arena.take(samples * width);
    trace.by_shift[l] = arena.take(samples * width);
    if (l < gate) {
      trace.features[l] = arena.take(samples * width);
      trace.feature_normal[l] = arena.take(samples * width);
      trace.feature_scale[l] = arena.take(samples);
    } else if (l == gate) {
      trace.gated = arena.take(rows * width);
    }
    trace.delta[l] = arena.take((l < gate ? samples : rows) * width);
  }
  trace.gate = trace.delta[gate];
  trace.by_value = arena.take(samples);
  return trace;
}

// Memory for the slabs of a layer with so many terms.
__half* take_slabs(Arena& arena, int terms) {
  return arena.take<__half>(rounded_up(terms, HalfSlab::kTerms) / HalfSlab::kTerms *
                            static_cast<std::size_t>(HalfSlab::kNumbers));
}

// The copies of some layers. The last of them is an output layer if has_output; the gradient of the
// input of layer number `gate` is not needed.
HalfCopies take_half_copies(Arena& arena, const LayerShape* layers, int count, bool has_output,
                            int gate = -1) {
  HalfCopies copies{};
  for (int l = 0; l < count; ++l) {
    for (__half** copy : {&copies.forward[l], &copies.target[l]})
      *copy = has_output && l == count - 1 ? arena.take<__half>(kMostOutputs * kMostWidth)
                                           : take_slabs(arena, layers[l].stride);
    if (l > 0 && l != gate) copies.backward[l] = take_slabs(arena, layers[l].outputs);
  }
  return copies;
}

// The additional memory of critics that take fractions as inputs.
void allocate_iqn(Agent& agent, Arena& arena, std::size_t samples) {
  const auto rows =
      static_cast<std::size_t>(rounded_up(agent.train.batch * agent.critic.quantiles, kRowsAlign));
  agent.next_state_action = arena.take(samples * agent.state_action_stride);
  const int last = agent.critic_shape.layer[agent.critic_shape.feature_layers() - 1].outputs;
  for (float*& features : agent.next_features)
    features = arena.take(samples * rounded_up(last, 16));
  agent.next_weights = arena.take(rows);
  agent.weights_at_new = arena.take(rows);
  for (float*& fractions : agent.fractions) fractions = arena.take(rows);
  agent.cosines = arena.take(rows * kCosines);
  for (IqnTrace& trace : agent.iqn_trace)
    trace = take_iqn_trace(arena, agent.critic_shape, samples, rows);
  const int gate = agent.critic_shape.feature_layers();
  for (HalfCopies& copies : agent.critic_half)
    copies = take_half_copies(arena, agent.critic_shape.layer, gate + 2, false, gate);

  IqnActing& acting = agent.acting;
  const int asked = std::max(agent.explorer.samples(), 1);
  acting.explores = arena.take<int>(1);
  acting.head = arena.take(2 * agent.action_size);
  acting.input = arena.take(agent.state_action_stride);
  acting.weights = arena.take(agent.critic.quantiles);
  acting.m = arena.take<double>(asked);
  acting.by_quantile = arena.take(std::size_t{2} * asked * agent.critic.quantiles);
  for (int k = 0; k < 2; ++k) {
    acting.values[k] = arena.take(agent.critic.quantiles);
    acting.by_action[k] = arena.take(std::size_t{1} * asked * agent.action_size);
  }
}

// The memory of an agent over a grid of actions, for updates and for acting.
void allocate_grid(Agent& agent, Arena& arena, std::size_t rows) {
  const NetworkShape& trunk = agent.trunk_shape;
  const LayerShape& output = agent.critic_shape.layer[trunk.layers];
  const auto choices = static_cast<std::size_t>(agent.choices),
             n = static_cast<std::size_t>(agent.critic.quantiles);
  Grid& grid = agent.grid;
  agent.state_action = arena.take(rows * agent.state_action_stride);
  for (float** p : {&agent.reward, &agent.continues, &agent.actor_loss}) *p = arena.take(rows);
  grid.action = arena.take<int>(rows);
  grid.arms = arena.take<IdsArm>(choices);
  grid.means_stride = rounded_up(agent.choices, 16);
  for (int k = 0; k < 2; ++k) {
    grid.mean_weights[k] = arena.take(choices * output.stride);
    grid.mean_bias[k] = arena.take(choices);
    grid.means[k] = arena.take(rows * grid.means_stride);
    grid.next_hidden[k] = arena.take(rows * output.stride);
    grid.slope[k] = arena.take(rows * n);
    grid.hidden[k] = arena.take(output.stride);
    agent.next_quantiles[k] = arena.take(rows * n);
    agent.quantiles_at_new[k] = agent.next_quantiles[k];  // these are reported
    agent.critic_loss[k] = arena.take(rows);
    Trace& trace = agent.critic_trace[k];
    trace = take_trace(arena, trunk, rows, agent.state_action, agent.state_action_stride);
    trace.hidden[trunk.layers - 1] = arena.take(rows * output.stride);
  }
}

// An actor's trace, and the critics at its actions.
void allocate_actor(Agent& agent, Arena& arena, std::size_t rows) {
  agent.actor_half =
      take_half_copies(arena, agent.actor_shape.layer, agent.actor_shape.layers, true);
  for (float** p : {&agent.log_probability, &agent.actor_loss}) *p = arena.take(rows);
  for (float** p : {&agent.action, &agent.spread, &agent.raw_log_std})
    *p = arena.take(rows * agent.action_size);
  agent.actor_trace = take_trace(arena, agent.actor_shape, rows, agent.state_action,
                                 agent.state_action_stride, agent.half_state_action);
  agent.actor_active = arena.take<std::uint32_t>(rows / 32 * NetworkTile<true, 1>::kActiveWords);
  for (int k = 0; k < 2; ++k) {
    agent.quantiles_at_new[k] = arena.take(rows * agent.critic.quantiles);
    agent.value[k] = arena.take(rows);
    agent.action_gradient[k] = arena.take(rows * agent.action_size);
  }
}

void allocate_optimist(Agent& agent, Arena& arena, std::size_t rows) {
  Optimist& optimist = agent.optimist;
  for (float** p : {&optimist.head, &optimist.policy_head})
    *p = arena.take(rows * 2 * agent.action_size);
  optimist.divergence = arena.take(rows);
  for (float** p : {&optimist.log_optimism, &optimist.log_weight}) *p = arena.take(3);
}

// Bytes of shared memory that a block may use. The environment variable OVDE_GPU_SHARED_MEMORY
// lowers it, to try the tiles of smaller GPUs.
int shared_memory() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
  const char* asked = std::getenv("OVDE_GPU_SHARED_MEMORY");
  return asked != nullptr ? std::min(bytes, std::atoi(asked)) : bytes;
}

template <typename Tile>
bool fits() {
  return static_cast<int>(sizeof(Tile)) <= shared_memory();
}

}  // namespace

void allocate_bonus(Agent& agent, Arena& arena) {
  const NetworkShape& shape = agent.rnd_shape;
  const std::size_t rows = batch_rows(agent);
  const int n = agent.observation_size, stride = shape.layer[0].stride;
  Distillation& rnd = agent.distillation;
  rnd.net = take_network(arena, shape.size, step_of(agent.progress, &Progress::rnd_step));
  rnd.input = arena.take(rows * stride);
  rnd.trace = take_trace(arena, shape, rows, rnd.input, stride);
  rnd.error = arena.take(rows);
  rnd.noise = arena.take<double>(rows);
  rnd.center = arena.take(n);
  rnd.scale = arena.take(n);
  rnd.bonus_scale = arena.take(1);
  double* at = arena.take<double>(rnd_statistics_count(n));
  rnd.statistics = {at, at + 1, at + 2, at + 2 + (1 + 2 * n)};
}

Agent allocate(const AgentSpec& spec, Arena& arena, Progress* progress) {
  Agent agent{spec};
  agent.replay_stride = spec.row_floats();
  agent.progress = progress;

  const std::size_t rows = batch_rows(spec);
  agent.actor_net =
      take_network(arena, spec.actor_shape.size, step_of(progress, &Progress::actor_step));
  if (spec.role == Role::optimist) {
    allocate_actor(agent, arena, rows);
    allocate_optimist(agent, arena, rows);
    return agent;
  }
  for (Network& critic : agent.critic_net)
    critic = take_network(arena, spec.critic_shape.size, step_of(progress, &Progress::critic_step));
  if (spec.role == Role::agent)
    agent.replay = arena.take(static_cast<std::size_t>(spec.train.replay) * agent.replay_stride);

  if (spec.is_grid()) {
    allocate_grid(agent, arena, rows);
    return agent;
  }
  const int stride = spec.state_action_stride;
  agent.state_action = arena.take(rows * stride);
  agent.half_state_action = arena.take<__half>(rows * stride);
  allocate_actor(agent, arena, rows);
  for (float** p : {&agent.reward, &agent.continues, &agent.next_log_probability})
    *p = arena.take(rows);
  agent.next_action = arena.take(rows * spec.action_size);
  for (int k = 0; k < 2; ++k) {
    agent.next_quantiles[k] = arena.take(rows * spec.critic.quantiles);
    agent.critic_loss[k] = arena.take(rows);
    if (spec.iqn) continue;
    agent.critic_half[k] =
        take_half_copies(arena, spec.critic_shape.layer, spec.critic_shape.layers, true);
    agent.critic_trace[k] = take_trace(arena, spec.critic_shape, rows, agent.state_action, stride,
                                       agent.half_state_action);
    agent.norm_trace[k] = take_norm_trace(arena, spec.critic_shape, rows);
  }
  if (spec.iqn) allocate_iqn(agent, arena, rows);
  if (spec.has_bonus()) allocate_bonus(agent, arena);
  if (spec.is_deterministic()) agent.before_squash = arena.take(rows * spec.action_size);
  return agent;
}

void share_with_owner(const Agent& owner, Agent& agent) {
  agent.replay = owner.replay;
  if (agent.role != Role::optimist) return;
  agent.optimist.policy = owner.actor_net;
  agent.optimist.policy_half = owner.actor_half;
  agent.state_action = owner.state_action;
  agent.half_state_action = owner.half_state_action;
  agent.actor_trace.input = owner.state_action;
  agent.actor_trace.half_input = owner.half_state_action;
  for (int k = 0; k < 2; ++k) {
    agent.critic_net[k] = owner.critic_net[k];
    agent.critic_half[k] = owner.critic_half[k];
    agent.critic_loss[k] = owner.critic_loss[k];
    // both evaluate these critics, one after the other
    agent.norm_trace[k] = owner.norm_trace[k];
    agent.iqn_trace[k] = owner.iqn_trace[k];
  }
  agent.weights_at_new = owner.weights_at_new;
  std::ranges::copy(owner.fractions, agent.fractions);
}

int exact_size() { return fits<NetworkTile<true, 2>>() ? 2 : 0; }
int acting_size() { return fits<IqnTile<true, 1>>() ? 1 : 0; }

std::string why_not(const AgentSpec& spec, bool exact) {
  if (exact && spec.iqn && !fits<IqnTile<true, 2>>())
    return "random or embedded fractions (critic.head) in fp32 (precision) take " +
           std::to_string(sizeof(IqnTile<true, 2>) / 1024 + 1) +
           " KB of shared memory a block; this GPU has " + std::to_string(shared_memory() / 1024) +
           " KB. train.precision = \"fp16\" fits";
  return "";
}

}  // namespace ovde::cuda
