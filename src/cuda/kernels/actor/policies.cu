// Draws the batch and evaluates the policies: the current one at s, and the target policy with the
// target critics at s'.
#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/counters.cuh"
#include "cuda/kernels/update.cuh"

namespace ovde::cuda {

namespace {

// From the actor's results to actions and log-probabilities: u = mean + std * eps, a = tanh(u).
// Calls visit(s, d, action, spread, raw_log_std) for each action of each sample. Ends with a
// barrier.
template <typename T, typename Visit>
__device__ void sample_actions(T& tile, const Agent& agent, int first_sample, Stream stream,
                               float* log_probability, Visit&& visit) {
  constexpr int kTerms = kMostOutputs;  // first column of the terms in the results
  const int actions = agent.action_size, batch = agent.train.batch;
  const std::uint64_t seed = agent.seed, update = agent.progress->updates;
  for (int e = threadIdx.x; e < T::kRows * actions; e += T::kThreads) {
    const int r = e / actions, d = e % actions, s = first_sample + r;
    const float noise = batch_noise(seed, stream, update, batch, actions, d, s);
    const float raw_log_std = tile.result(r, actions + d);
    const float log_std = fmaxf(fminf(raw_log_std, kMaxLogStd), kMinLogStd);
    const float spread = expf(log_std) * noise;
    const float action = tanhf(tile.result(r, d) + spread);
    tile.result(r, kTerms + d) =
        0.5f * noise * noise + log_std + kHalfLogTwoPi + logf(1 - action * action + kSquashEpsilon);
    visit(s, d, action, spread, raw_log_std);
  }
  __syncthreads();
  for (int r = threadIdx.x; r < T::kRows; r += T::kThreads) {
    float sum = 0;
    for (int d = 0; d < actions; ++d) sum -= tile.result(r, kTerms + d);
    log_probability[first_sample + r] = sum;
  }
  __syncthreads();
}

// The actions of TD3's deterministic policy: a = tanh(u), and for the targets, smoothed, clip(a +
// clip(smoothing * eps, -c, c), -1, 1). Calls visit(s, d, action, u) for each action of each
// sample. Ends with a barrier.
template <typename T, typename Visit>
__device__ void deterministic_actions(T& tile, const Agent& agent, int first_sample, bool smooth,
                                      float* log_probability, Visit&& visit) {
  const int actions = agent.action_size, batch = agent.train.batch;
  const Td3Options& td3 = agent.td3;
  for (int e = threadIdx.x; e < T::kRows * actions; e += T::kThreads) {
    const int r = e / actions, d = e % actions, s = first_sample + r;
    const float u = tile.result(r, d);
    float action = tanhf(u);
    if (smooth) {
      const float noise =
          td3.smoothing * batch_noise(agent.seed, Stream::target_noise, agent.progress->updates,
                                      batch, actions, d, s);
      action = clamp_to_one(action + fmaxf(fminf(noise, td3.clip), -td3.clip));
    }
    visit(s, d, action, u);
  }
  for (int r = threadIdx.x; r < T::kRows; r += T::kThreads) log_probability[first_sample + r] = 0;
  __syncthreads();
}

// Writes the batch for the rest of the update, and evaluates the current policy at s.
template <bool kExact, int kSize>
__device__ void current_policy(NetworkTile<kExact, kSize>& tile, const Agent& agent,
                               int first_sample) {
  const int observations = agent.observation_size, actions = agent.action_size,
            width = observations + actions;
  const PassParameters net = online(agent.actor_net, agent.actor_half);
  begin_forward(tile, net, agent.actor_shape);
  choose_rows(tile, agent, first_sample);

  // (s, a) for the critics, zero beyond it; the actor sees s alone
  const int stride = agent.state_action_stride, batch = agent.train.batch;
  float* state_action = agent.state_action;
  __half* half_state_action = agent.half_state_action;
  fill(tile, multiple_of_32(stride), [&](int r, int i) {
    const int s = first_sample + r;
    const float x = i < width && s < batch ? __ldg(replay_row(tile, agent, r) + i) : 0.0f;
    if (i < stride) {
      state_action[s * stride + i] = x;
      half_state_action[s * stride + i] = to_half(x);
    }
    return i < observations ? x : 0.0f;
  });
  if (threadIdx.x < Tile<kSize>::kRows)
    save_return(tile, agent, threadIdx.x, first_sample + threadIdx.x);

  forward(tile, net, agent.actor_shape, first_sample, agent.actor_trace.hidden);
  save_active(tile, agent, first_sample);
  if (agent.is_deterministic()) {
    deterministic_actions(tile, agent, first_sample, false, agent.log_probability,
                          [&](int s, int d, float action, float u) {
                            agent.action[s * actions + d] = action;
                            agent.before_squash[s * actions + d] = u;
                          });
    return;
  }
  float *action_out = agent.action, *spread_out = agent.spread, *raw_out = agent.raw_log_std;
  sample_actions(tile, agent, first_sample, Stream::actor_noise, agent.log_probability,
                 [=](int s, int d, float action, float spread, float raw_log_std) {
                   action_out[s * actions + d] = action;
                   spread_out[s * actions + d] = spread;
                   raw_out[s * actions + d] = raw_log_std;
                 });
}

// The target policy (SAC: the current one) at s', and target critics first .. last - 1 there.
template <bool kExact, int kSize>
__device__ void targets(NetworkTile<kExact, kSize>& tile, const Agent& agent, int first_sample,
                        int first, int last) {
  const int observations = agent.observation_size, actions = agent.action_size,
            n = agent.critic.quantiles, batch = agent.train.batch;
  const int next = observations + actions + 1;  // where s' begins in a row
  const PassParameters policy = agent.distributional && agent.train.target_policy
                                    ? target(agent.actor_net, agent.actor_half)
                                    : online(agent.actor_net, agent.actor_half);
  float* next_action = agent.next_action;
  const auto next_state = [&](int r) { return replay_row(tile, agent, r) + next; };
  const auto next_observation = [&](int r, int i) {
    return first_sample + r < batch ? __ldg(next_state(r) + i) : 0.0f;
  };
  begin_forward(tile, policy, agent.actor_shape);
  choose_rows(tile, agent, first_sample);
  go_to_last_rows(tile, agent);
  fill(tile, multiple_of_32(observations),
       [&](int r, int i) { return i < observations ? next_observation(r, i) : 0.0f; });
  evaluate<false>(tile, policy, agent.actor_shape);
  const auto keep = [=](int s, int d, float action, auto...) {
    next_action[s * actions + d] = action;
  };
  if (agent.is_deterministic()) {
    deterministic_actions(tile, agent, first_sample, true, agent.next_log_probability, keep);
  } else {
    sample_actions(tile, agent, first_sample, Stream::target_noise, agent.next_log_probability,
                   keep);
  }

  if (agent.iqn) {  // evaluate_iqn_targets() evaluates the critics
    const int stride = agent.state_action_stride;
    float* next_state_action = agent.next_state_action;
    return for_each_place<kSize>(observations + actions, [&](int r, int i) {
      const int s = first_sample + r;
      next_state_action[s * stride + i] =
          i < observations ? next_observation(r, i) : next_action[s * actions + i - observations];
    });
  }
  for (int k = first; k < last; ++k) {
    const PassParameters critic = target(agent.critic_net[k], agent.critic_half[k]);
    begin_forward(tile, critic, agent.critic_shape);
    fill(tile, multiple_of_32(observations + actions), [&](int r, int i) {
      const int s = first_sample + r;
      const float* from =
          i < observations ? next_state(r) + i : next_action + s * actions + i - observations;
      const bool valid = i < observations ? s < batch : i < observations + actions;
      return valid ? *from : 0.0f;
    });
    with_norm(agent.critic_shape,
              [&](auto norm) { evaluate<norm>(tile, critic, agent.critic_shape); });
    keep_quantiles<kSize>(tile, n, agent.next_quantiles[k] + first_sample * n);
    __syncthreads();
  }
}

// blockIdx: (tile of samples; target critics, in one part or two, then the current policy; agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    policies_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (first_sample >= agent.train.batch) return;
  auto& tile = shared_as<NetworkTile<kExact, kSize>>();
  const int part = blockIdx.y, parts = gridDim.y - 1;
  if (part == parts) {
    if (blockIdx.x == 0 && threadIdx.x == 0) begin_update(agent);
    current_policy<kExact, kSize>(tile, agent, first_sample);
  } else if (part == 0 || !agent.iqn) {
    targets<kExact, kSize>(tile, agent, first_sample, part, parts == 1 ? 2 : part + 1);
  }
}

}  // namespace

void evaluate_policies(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_TILED(policies_kernel, plan, plan.split ? 3 : 2, agents, stream);
  evaluate_iqn_targets(plan, agents, stream);
}

}  // namespace ovde::cuda
