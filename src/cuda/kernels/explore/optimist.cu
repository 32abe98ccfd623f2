// The optimists of a population (agent/actor_critic/optimist.h): their actions, their gradient and
// their multipliers. They share the critics of their owners.
#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/optimiser.cuh"

namespace ovde::cuda {

namespace {

// Adam's step number in an update (from 0), since the optimist last started from the policy.
__device__ std::uint64_t step_number(const Agent& agent, std::uint64_t update) {
  const int period = agent.dac.copy_updates;
  return 1 + (period > 0 ? update % period : update);
}

// The policy at s, before its step, and the optimist there, with noise of its own.
// blockIdx: (tile of samples; 0 for the policy, 1 for the optimist; optimist)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    actions_kernel(const Agent* agents) {
  using T = NetworkTile<kExact, kSize>;
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (first_sample >= agent.train.batch) return;
  auto& tile = shared_as<T>();
  const bool own = blockIdx.y == 1;
  const Optimist& optimist = agent.optimist;
  const NetworkShape& shape = agent.actor_shape;
  const PassParameters net = own ? online(agent.actor_net, agent.actor_half)
                                 : online(optimist.policy, optimist.policy_half);
  const int actions = agent.action_size, outputs = 2 * actions, batch = agent.train.batch;
  const std::uint64_t update = agent.progress->updates;
  begin_forward(tile, net, shape);
  fill_rows(tile, agent.state_action, agent.state_action_stride, agent.observation_size,
            first_sample);
  forward(tile, net, shape, first_sample, own ? agent.actor_trace.hidden : nullptr);
  float* head = own ? optimist.head : optimist.policy_head;
  for (int e = threadIdx.x; e < T::kRows * outputs; e += T::kThreads)
    head[(first_sample + e / outputs) * outputs + e % outputs] =
        tile.result(e / outputs, e % outputs);
  if (!own) return;

  if (blockIdx.x == 0 && threadIdx.x == 0) {
    agent.progress->moves = true;
    agent.progress->actor_step = {
        AdamCorrection(agent.train.adam.at(update), step_number(agent, update)), 0};
  }
  save_active(tile, agent, first_sample);
  const float wider = agent.dac.spread;
  for (int e = threadIdx.x; e < T::kRows * actions; e += T::kThreads) {
    const int r = e / actions, d = e % actions, s = first_sample + r, at = s * actions + d;
    const float noise =
        wider * batch_noise(agent.seed, Stream::optimist_noise, update, batch, actions, d, s);
    const float raw_log_std = tile.result(r, actions + d);
    const float spread = expf(fmaxf(fminf(raw_log_std, kMaxLogStd), kMinLogStd)) * noise;
    agent.action[at] = tanhf(tile.result(r, d) + spread);
    agent.spread[at] = spread;
  }
}

// KL(optimist || policy) in one dimension of the action, and its gradient.
struct Divergence {
  float value, by_mean, by_log_std;
};
__device__ Divergence divergence(float mean, float raw_log_std, float policy_mean,
                                 float policy_raw_log_std) {
  const auto clamped = [](float raw) { return fmaxf(fminf(raw, kMaxLogStd), kMinLogStd); };
  const float policy_log_std = clamped(policy_raw_log_std),
              log_ratio = clamped(raw_log_std) - policy_log_std;
  const float ratio = expf(2 * log_ratio), precision = expf(-2 * policy_log_std),
              apart = mean - policy_mean;
  return {0.5f * (ratio + apart * apart * precision - 1) - log_ratio, apart * precision, ratio - 1};
}

// Gradient of the sum over the batch of tau KL - Q_o, where Q_o is the critics' optimistic value,
// and the loss of each row. blockIdx: (tile of samples, 0, optimist)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    gradient_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (first_sample >= agent.train.batch) return;
  auto& tile = shared_as<NetworkTile<kExact, kSize>>();
  const int actions = agent.action_size, outputs = 2 * actions, batch = agent.train.batch;
  const NetworkShape& shape = agent.actor_shape;
  const Optimist& optimist = agent.optimist;
  const PassParameters net = online(agent.actor_net, agent.actor_half);
  const float *first = agent.value[0], *second = agent.value[1];
  const float *head = optimist.head, *policy_head = optimist.policy_head;
  const Blend blend = blend_of(expf(optimist.log_optimism[0]) - 1);
  const float tau = fminf(expf(optimist.log_weight[0]), kLargestDivergenceWeight);

  begin_backward(tile, net, shape);
  load_active(tile, agent, first_sample);

  const auto apart = [=](int s, int d) {
    const float *own = head + s * outputs + d, *policy = policy_head + s * outputs + d;
    return divergence(__ldg(own), __ldg(own + actions), __ldg(policy), __ldg(policy + actions));
  };
  const float *by_first = agent.action_gradient[0], *by_second = agent.action_gradient[1];
  const float *chosen = agent.action, *spreads = agent.spread;
  const auto head_gradient = [=](int r, int j) {
    const int s = first_sample + r, d = j % actions, at = s * actions + d;
    if (j >= outputs || s >= batch) return 0.0f;
    const float q1 = __ldg(by_first + at), q2 = __ldg(by_second + at), action = __ldg(chosen + at);
    const bool first_smaller = __ldg(first + s) <= __ldg(second + s);
    const float q =
        blend.smaller * (first_smaller ? q1 : q2) + blend.larger * (first_smaller ? q2 : q1);
    const float du = -q * (1 - action * action);
    const Divergence from_policy = apart(s, d);
    if (j < actions) return du + tau * from_policy.by_mean;
    // the clamp passes no gradient outside its range
    const float raw = __ldg(head + s * outputs + j);
    return raw >= kMinLogStd && raw <= kMaxLogStd
               ? du * __ldg(spreads + at) + tau * from_policy.by_log_std
               : 0.0f;
  };
  fill_head_gradient(tile, agent, outputs, first_sample, head_gradient);
  if (threadIdx.x < Tile<kSize>::kRows) {
    const int s = first_sample + threadIdx.x;
    float sum = 0;
    for (int d = 0; d < actions; ++d) sum += apart(s, d).value;
    optimist.divergence[s] = s < batch ? sum : 0.0f;
    agent.actor_loss[s] =
        s < batch ? (tau * sum - blended(blend, __ldg(first + s), __ldg(second + s))) / batch
                  : 0.0f;
  }
  backward(tile, net, shape, first_sample, agent.actor_trace.delta);
}

constexpr int kEndThreads = 256;

// Steps the multipliers by the divergence of the batch, or restarts the optimist from the policy.
// Runs after the update has been counted. blockIdx: (part of the parameters, 0, optimist)
__global__ void __launch_bounds__(kEndThreads) end_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const Optimist& optimist = agent.optimist;
  const Multipliers& start = agent.multipliers;
  const std::uint64_t updates = agent.progress->updates;
  if (agent.dac.copy_updates > 0 && updates % agent.dac.copy_updates == 0) {
    const int size = agent.actor_shape.size;
    for (int e = blockIdx.x * kEndThreads + threadIdx.x; e < size; e += gridDim.x * kEndThreads) {
      agent.actor_net.parameters[e] = agent.actor_net.target[e] = optimist.policy.parameters[e];
      agent.actor_net.first_moment[e] = agent.actor_net.second_moment[e] = 0;
    }
    copy_layers(optimist.policy, agent.actor_half, agent.actor_shape.layer,
                agent.actor_shape.layers, true);
    if (blockIdx.x == 0 && threadIdx.x < 3) {
      const int i = threadIdx.x;
      optimist.log_optimism[i] = i == 0 ? start.log_optimism : 0;
      optimist.log_weight[i] = i == 0 ? start.log_weight : 0;
    }
    return;
  }
  if (blockIdx.x != 0) return;

  __shared__ float sums[kEndThreads];
  const float sum =
      sum_over_batch(sums, agent.train.batch, [&](int s) { return optimist.divergence[s]; });
  if (threadIdx.x >= 2) return;
  const float excess = sum / agent.train.batch / agent.action_size - agent.dac.divergence;
  float* x = threadIdx.x == 0 ? optimist.log_optimism : optimist.log_weight;
  const float gradient = (threadIdx.x == 0 ? 1 : -1) * expf(x[0]) * excess;
  const AdamCorrection correction(start.adam, step_number(agent, updates - 1));
  adam_update(start.adam, correction, gradient, x[0], x[1], x[2], AccurateMath{});
}

}  // namespace

void update_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream) {
  if (plan.agents == 0) return;
  OVDE_LAUNCH_TILED(actions_kernel, plan, 2, optimists, stream);
  evaluate_new_actions(plan, optimists, stream);
  OVDE_LAUNCH_TILED(gradient_kernel, plan, 1, optimists, stream);
  step_actor(plan, optimists, stream);
}

void end_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream) {
  constexpr int kParts = 16;
  if (plan.agents == 0) return;
  launch(end_kernel, dim3(kParts, 1, plan.agents), kEndThreads, 0, stream, optimists);
}

}  // namespace ovde::cuda
