// Random network distillation (agent/actor_critic/bonus.h): the errors of an update's batch with
// the predictor's step, the statistics that scale them, and the bonus in the rewards. Always in
// fp32: an error is the small difference of two networks.
#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/critic/uncertainty.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/optimiser.cuh"

namespace ovde::cuda {

namespace {

// At most one batch of the transitions that were added since the last call.
struct Unseen {
  __device__ explicit Unseen(const Agent& agent) : agent(agent) {
    const Progress& progress = *agent.progress;
    const double oldest = static_cast<double>(progress.replay_added - progress.replay_rows);
    first = static_cast<std::int64_t>(fmax(*agent.distillation.statistics.next_row, oldest));
    count = static_cast<int>(min(static_cast<std::int64_t>(progress.replay_added) - first,
                                 std::int64_t{agent.train.batch}));
  }
  __device__ const float* next_observation(int s) const {
    return agent.replay + (first + s) % agent.train.replay * agent.replay_stride +
           agent.observation_size + agent.action_size + 1;
  }
  // Marks them as observed.
  __device__ void end() const {
    *agent.distillation.statistics.next_row = static_cast<double>(first + max(count, 0));
  }
  const Agent& agent;
  std::int64_t first;
  int count;
};

// 1 / standard deviation, from moments in the format of RunningMoments; 0 for a constant.
__device__ double inverse_deviation(const double* moments, int size, int i) {
  const double deviation = moments[0] > 0 ? sqrt(moments[1 + size + i] / moments[0]) : 0;
  return deviation > 0 ? 1 / deviation : 0;
}

// Derives the scales of observations and errors from the moments; a thread for each observation.
__device__ void follow_moments(const Agent& agent) {
  const Distillation& rnd = agent.distillation;
  const int n = agent.observation_size;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    rnd.center[i] = static_cast<float>(rnd.statistics.observations[1 + i]);
    rnd.scale[i] = static_cast<float>(inverse_deviation(rnd.statistics.observations, n, i));
  }
  if (threadIdx.x == 0)
    *rnd.bonus_scale =
        static_cast<float>(agent.rnd.scale * inverse_deviation(rnd.statistics.returns, 1, 0));
}

// The prediction error of each sample, take(s, error), at the observations observation(r): the mean
// squared difference of the two networks. Leaves the gradient of the errors' mean over `count`
// samples in x and in the trace.
template <int kSize, typename Observation, typename Take>
__device__ void predict(NetworkTile<true, kSize>& tile, const Agent& agent, int first_sample,
                        int count, const Observation& observation, const Take& take) {
  constexpr float kLargestInput = 5;  // as in agent/actor_critic/bonus.cpp
  const Distillation& rnd = agent.distillation;
  const NetworkShape& shape = agent.rnd_shape;
  const int observations = agent.observation_size, stride = rnd.trace.input_stride,
            outputs = shape.layer[shape.layers - 1].outputs;
  const auto fill_input = [&] {
    fill(tile, multiple_of_32(stride), [&](int r, int i) {
      if (i >= observations || first_sample + r >= count) return 0.0f;
      const float x = (observation(r)[i] - rnd.center[i]) * rnd.scale[i];
      return x != x ? x : fmaxf(fminf(x, kLargestInput), -kLargestInput);
    });
  };

  // the random network, then the predictor, whose active units the backward pass needs
  float* delta = rnd.trace.delta[shape.layers - 1];
  const int delta_stride = stride_of_deltas(outputs);
  begin_forward(tile, {rnd.net.target}, shape, shape.layers);
  fill_input();
  forward_wide<false>(tile, rnd.net.target, shape, first_sample, nullptr);
  begin_forward(tile, {rnd.net.parameters}, shape, shape.layers);
  for_each_place<kSize>(
      outputs, [&](int r, int i) { delta[(first_sample + r) * delta_stride + i] = tile.x[r][i]; });
  fill_input();
  for_each_place<kSize>(
      stride, [&](int r, int i) { rnd.input[(first_sample + r) * stride + i] = tile.x[r][i]; });
  forward_wide<false>(tile, rnd.net.parameters, shape, first_sample, rnd.trace.hidden);

  const float share = 1.0f / outputs;
  for_each_row<kSize>([&](int r, int lane) {
    const int s = first_sample + r;
    const bool counts = s < count;
    float squares = 0;
    for (int i = lane; i < multiple_of_32(outputs); i += 32) {
      float& aim = delta[s * delta_stride + min(i, delta_stride - 1)];
      const float difference = counts && i < outputs ? tile.x[r][i] - aim : 0.0f;
      squares += difference * difference;
      const float gradient = 2 * share * difference / count;
      tile.x[r][i] = gradient;
      if (i < delta_stride) aim = gradient;
    }
    squares = sum_of_warp(squares);
    if (lane == 0 && counts) take(s, share * squares);
  });
}

// ---- the statistics, a batch at a time; errors and their returns where the bonus is scaled by
// them

// blockIdx: agent

__global__ void __launch_bounds__(kMostInputs) observations_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.x];
  if (!agent.has_bonus()) return;
  const Unseen unseen(agent);
  double* moments = agent.distillation.statistics.observations;
  const double before = moments[0];
  __syncthreads();
  if (const int i = threadIdx.x; i < agent.observation_size) {
    for (int s = 0; s < unseen.count; ++s)
      add_to_moments(moments[1 + i], moments[1 + agent.observation_size + i], before + s + 1,
                     unseen.next_observation(s)[i]);
  }
  if (threadIdx.x == 0) {
    moments[0] = before + max(unseen.count, 0);
    if (agent.rnd.relative) unseen.end();  // without returns_kernel()
  }
  __syncthreads();
  follow_moments(agent);
}

// blockIdx: (tile of samples, 0, agent)
template <int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1) errors_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.has_bonus() || agent.rnd.relative) return;
  const Unseen unseen(agent);
  const int first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (first_sample >= unseen.count) return;
  predict(
      shared_as<NetworkTile<true, kSize>>(), agent, first_sample, unseen.count,
      [&](int r) { return unseen.next_observation(first_sample + r); },
      [&](int s, float error) { agent.distillation.error[s] = error; });
}

// blockIdx: agent
__global__ void __launch_bounds__(kMostInputs) returns_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.x];
  if (!agent.has_bonus() || agent.rnd.relative) return;
  const Unseen unseen(agent);
  __syncthreads();
  if (threadIdx.x == 0) {
    const RndStatistics& statistics = agent.distillation.statistics;
    for (int s = 0; s < unseen.count; ++s) {
      double& so_far = *statistics.intrinsic_return;
      so_far = double{agent.train.discount} * so_far + agent.distillation.error[s];
      const double count = ++statistics.returns[0];
      add_to_moments(statistics.returns[1], statistics.returns[2], count, so_far);
    }
    unseen.end();
  }
  __syncthreads();
  follow_moments(agent);
}

// ---- an update

// blockIdx: (tile of samples, 0, agent)
template <int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1) predict_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (!agent.has_bonus() || first_sample >= agent.train.batch) return;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    agent.progress->rnd_step = {
        AdamCorrection(agent.train.adam.at(agent.progress->updates), agent.progress->updates + 1),
        0};
  auto& tile = shared_as<NetworkTile<true, kSize>>();
  choose_rows(tile, agent, first_sample);
  go_to_last_rows(tile, agent);
  const int next = agent.observation_size + agent.action_size + 1;  // offset of s' in a row
  predict(
      tile, agent, first_sample, agent.train.batch,
      [&](int r) { return replay_row(tile, agent, r) + next; },
      [&](int s, float error) { agent.distillation.error[s] = error; });
  __syncthreads();
  const float* parameters = agent.distillation.net.parameters;
  begin_backward(tile, {parameters}, agent.rnd_shape);
  backward(tile, {parameters}, agent.rnd_shape, first_sample, agent.distillation.trace.delta);
}

// blockIdx: (tile of parameters, 0, agent)
__global__ void __launch_bounds__(Step::kThreads, Step::kBlocks) step_kernel(const Agent* agents) {
  OVDE_BLOCK_MEMORY(memory);
  const Agent& agent = agents[blockIdx.z];
  if (!agent.has_bonus()) return;
  int index = blockIdx.x;
  step_layers<true>(agent, agent.distillation.net, {}, agent.distillation.trace, agent.rnd_shape, 1,
                    index, reinterpret_cast<float*>(memory));
}

// ---- the bonus of a batch: its errors, scaled or relative to their mean, and discounted where the
// return is noisy

constexpr int kBonusThreads = 256;

// blockIdx: agent
__global__ void __launch_bounds__(kBonusThreads) bonus_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.x];
  if (!agent.has_bonus()) return;
  __shared__ double sums[kBonusThreads];
  const float* error = agent.distillation.error;
  const float scale =
      agent.rnd.relative
          ? static_cast<float>(relative_bonus(
                agent.rnd.scale, agent.train.discount,
                sum_over_batch(sums, agent.train.batch, [&](int s) { return double{error[s]}; }),
                agent.train.batch))
          : *agent.distillation.bonus_scale;
  double* noise = agent.distillation.noise;
  // the noise of a sample is the aleatoric uncertainty of the target critics at (s', a')
  const auto noise_of = [&](int s) {
    return noise[s] = uncertainty_at(agent, agent.next_quantiles, agent.next_weights, s).aleatoric;
  };
  const double usual = agent.discounts_bonus()
                           ? sum_over_batch(sums, agent.train.batch, noise_of) / agent.train.batch
                           : 0;
  for (int s = threadIdx.x; s < agent.train.batch; s += kBonusThreads) {
    const double share =
        agent.discounts_bonus() ? noise_discount(noise[s], usual, agent.rnd.tolerance) : 1;
    agent.reward[s] += scale * static_cast<float>(share) * error[s];
  }
}

}  // namespace

void observe_unseen(const UpdatePlan& plan, bool errors, const Agent* agents, cudaStream_t stream) {
  launch(observations_kernel, dim3(plan.agents), kMostInputs, 0, stream, agents);
  if (!errors) return;
  plan.exact_size == 0
      ? launch_tiles<NetworkTile<true, 0>>(errors_kernel<0>, plan, 1, agents, stream)
      : launch_tiles<NetworkTile<true, 2>>(errors_kernel<2>, plan, 1, agents, stream);
  launch(returns_kernel, dim3(plan.agents), kMostInputs, 0, stream, agents);
}

void find_errors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  plan.exact_size == 0
      ? launch_tiles<NetworkTile<true, 0>>(predict_kernel<0>, plan, 1, agents, stream)
  : plan.size == 0 ? launch_tiles<NetworkTile<true, 1>>(predict_kernel<1>, plan, 1, agents, stream)
                   : launch_tiles<NetworkTile<true, 2>>(predict_kernel<2>, plan, 1, agents, stream);
}

void step_predictors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(step_kernel, dim3(plan.rnd_tiles, 1, plan.agents), Step::kThreads, Step::kBytes, stream,
         agents);
}

void add_bonus(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(bonus_kernel, dim3(plan.agents), kBonusThreads, 0, stream, agents);
}

}  // namespace ovde::cuda
