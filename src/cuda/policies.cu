// The policies at a batch: the current one at s, and the target policy with the target critics at
// s'.
#include "cuda/kernels.cuh"
#include "cuda/network.cuh"
#include "cuda/progress.cuh"
#include "cuda/rows.cuh"

namespace ovde::cuda {

namespace {

constexpr float kHalfLogTwoPi = 0.918938533204672742f;

// From the actor's output in x to actions and log-probabilities: u = mean + std * eps, a = tanh(u).
// visit(s, d, action, spread, raw_log_std) for each action of each sample. Ends with every thread
// done.
template <int kSize, typename Visit>
__device__ void sample_actions(Tile<kSize>& tile, const Agent& agent, int first_sample,
                               Stream stream, float* log_probability, Visit&& visit) {
  constexpr int kTerms = kMostOutputs;  // columns of x from here on
  const int actions = agent.actions, batch = agent.batch;
  const std::uint64_t seed = agent.seed, update = agent.progress->updates;
  for (int e = threadIdx.x; e < Tile<kSize>::kRows * actions; e += Tile<kSize>::kThreads) {
    const int r = e / actions, d = e % actions, s = first_sample + r;
    const float noise = batch_noise(seed, stream, update, batch, actions, d, s);
    const float raw_log_std = tile.x[r][actions + d];
    const float log_std = fmaxf(fminf(raw_log_std, kMaxLogStd), kMinLogStd);
    const float spread = expf(log_std) * noise;
    const float action = tanhf(tile.x[r][d] + spread);
    tile.x[r][kTerms + d] =
        0.5f * noise * noise + log_std + kHalfLogTwoPi + logf(1 - action * action + kSquashEpsilon);
    visit(s, d, action, spread, raw_log_std);
  }
  __syncthreads();
  for (int r = threadIdx.x; r < Tile<kSize>::kRows; r += Tile<kSize>::kThreads) {
    float sum = 0;
    for (int d = 0; d < actions; ++d) sum -= tile.x[r][kTerms + d];
    log_probability[first_sample + r] = sum;
  }
  __syncthreads();
}

// The same of a deterministic policy: a = tanh(u), and for the targets, smoothed, clip(a +
// clip(smoothing * eps, -c, c), -1, 1). visit(s, d, action, u).
template <int kSize, typename Visit>
__device__ void deterministic_actions(const Tile<kSize>& tile, const Agent& agent, int first_sample,
                                      bool smooth, float* log_probability, Visit&& visit) {
  const int actions = agent.actions, batch = agent.batch;
  const Td3Policy& td3 = agent.td3;
  for (int e = threadIdx.x; e < Tile<kSize>::kRows * actions; e += Tile<kSize>::kThreads) {
    const int r = e / actions, d = e % actions, s = first_sample + r;
    const float u = tile.x[r][d];
    float action = tanhf(u);
    if (smooth) {
      const float noise =
          td3.smoothing * batch_noise(agent.seed, Stream::target_noise, agent.progress->updates,
                                      batch, actions, d, s);
      action = clamp_to_one(action + fmaxf(fminf(noise, td3.clip), -td3.clip));
    }
    visit(s, d, action, u);
  }
  for (int r = threadIdx.x; r < Tile<kSize>::kRows; r += Tile<kSize>::kThreads)
    log_probability[first_sample + r] = 0;  // nothing is drawn
  __syncthreads();
}

// The current policy at s, and what the rest of the update reads of the batch.
template <bool kExact, int kSize>
__device__ void current_policy(NetworkTile<kSize>& tile, const Agent& agent, int first_sample) {
  const int observations = agent.observations, actions = agent.actions,
            width = observations + actions;
  const float* parameters = agent.actor.parameters;
  begin_forward(tile, parameters, agent.actor_shape);
  choose_rows(tile, agent, first_sample);

  // (s, a) for the critics, zero beyond it; the actor sees s alone
  const int stride = agent.state_action_stride, batch = agent.batch;
  float* state_action = agent.state_action;
  fill<kExact>(tile, multiple_of_32(stride), [&](int r, int i) {
    return i < width && first_sample + r < batch ? __ldg(replay_row(tile, agent, r) + i) : 0.0f;
  });
  for (int i = threadIdx.x % 32; i < stride; i += 32) {
    for_each_row<kSize>([&](int r, int) {
      state_action[(first_sample + r) * stride + i] = tile.x[r][i];
      if (i >= observations) tile.x[r][i] = 0;
    });
  }
  if (threadIdx.x < Tile<kSize>::kRows) {
    const int s = first_sample + threadIdx.x;
    const float* row = replay_row(tile, agent, threadIdx.x);
    const float reward = __ldg(row + width), terminal = __ldg(row + width + 1 + observations);
    agent.reward[s] = reward;
    agent.continues[s] = agent.discount * (1 - terminal);
  }

  forward<kExact>(tile, parameters, agent.actor_shape, first_sample, agent.actor_trace.hidden);
  save_active(
      tile, agent.actor_shape.layers - 1,
      agent.actor_active + first_sample / Tile<kSize>::kRows * NetworkTile<kSize>::kActiveWords);
  if (agent.deterministic) {
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
__device__ void targets(NetworkTile<kSize>& tile, const Agent& agent, int first_sample, int first,
                        int last) {
  const int observations = agent.observations, actions = agent.actions, n = agent.quantiles,
            batch = agent.batch;
  const int next = observations + actions + 1;  // where s' begins in a row
  const float* policy = agent.distributional ? agent.actor.target : agent.actor.parameters;
  float* next_action = agent.next_action;
  // a row's number, then the number's row: both may be far away
  const auto next_observation = [&](int r, int i) {
    return first_sample + r < batch ? __ldg(replay_row(tile, agent, r) + next + i) : 0.0f;
  };
  begin_forward(tile, policy, agent.actor_shape);
  choose_rows(tile, agent, first_sample);
  fill<kExact>(tile, multiple_of_32(observations),
               [&](int r, int i) { return i < observations ? next_observation(r, i) : 0.0f; });
  forward<kExact>(tile, policy, agent.actor_shape, first_sample, nullptr);
  if (agent.deterministic) {
    deterministic_actions(
        tile, agent, first_sample, true, agent.next_log_probability,
        [=](int s, int d, float action, float) { next_action[s * actions + d] = action; });
  } else {
    sample_actions(
        tile, agent, first_sample, Stream::target_noise, agent.next_log_probability,
        [=](int s, int d, float action, float, float) { next_action[s * actions + d] = action; });
  }

  if (agent.iqn) {  // its critics come later (iqn_critics.cu)
    const int stride = agent.state_action_stride;
    float* next_state_action = agent.next_state_action;
    for (int i = threadIdx.x % 32; i < observations + actions; i += 32) {
      for_each_row<kSize>([&](int r, int) {
        const int s = first_sample + r;
        next_state_action[s * stride + i] =
            i < observations ? next_observation(r, i) : next_action[s * actions + i - observations];
      });
    }
    return;
  }
  for (int k = first; k < last; ++k) {
    const float* critic = agent.critic[k].target;
    float* quantiles = agent.next_quantiles[k];
    begin_forward(tile, critic, agent.critic_shape);
    fill<kExact>(tile, multiple_of_32(observations + actions), [&](int r, int i) {
      return i < observations ? next_observation(r, i)
             : i < observations + actions
                 ? next_action[(first_sample + r) * actions + i - observations]
                 : 0.0f;
    });
    with_norm(agent.critic_shape, [&](auto norm) {
      forward<kExact, norm>(tile, critic, agent.critic_shape, first_sample, nullptr, nullptr);
    });
    for_each_row<kSize>([&](int r, int i) {
      if (i < n) quantiles[(first_sample + r) * n + i] = tile.x[r][i];
    });
    __syncthreads();
  }
}

// blockIdx: (tile of samples, part, agent). Parts: the targets, on one block or two, then the
// current policy.
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1) policies_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (first_sample >= agent.batch) return;
  auto& tile = shared_as<NetworkTile<kSize>>();
  const int part = blockIdx.y, parts = gridDim.y - 1;
  if (part == parts) {
    if (blockIdx.x == 0 && threadIdx.x == 0) begin_update(agent);
    current_policy<kExact>(tile, agent, first_sample);
  } else if (part == 0 || !agent.iqn) {
    targets<kExact>(tile, agent, first_sample, part, parts == 1 ? 2 : part + 1);
  }
}

}  // namespace

void evaluate_policies(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_TILED(policies_kernel, plan, plan.split ? 3 : 2, agents, stream);
}

}  // namespace ovde::cuda
