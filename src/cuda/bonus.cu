// The bonus of random network distillation in the rewards: by the errors of rnd.cu, absolute or
// relative to their mean over the batch (agent/rnd.h), discounted where the return is noisy
// (agent/noise_discount.h), by the target critics at (s', a').
#include "agent/equations.h"
#include "cuda/kernels.cuh"
#include "cuda/row_quantiles.cuh"

namespace ovde::cuda {

namespace {

constexpr int kThreads = 256;

// The sum of term(s) over the batch, in a fixed order, for every thread of the block.
template <typename Term>
__device__ double sum_over_batch(int batch, double* sums, const Term& term) {
  double sum = 0;
  for (int s = threadIdx.x; s < batch; s += kThreads) sum += term(s);
  sums[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  sum = sums[0];
  __syncthreads();
  return sum;
}

// The noise that a sample's bonus is discounted by: the aleatoric uncertainty of the target critics
// at (s', a').
__device__ double noise_of(const Agent& agent, int s) {
  const int n = agent.quantiles;
  const RowQuantiles quantiles = {
      {agent.next_quantiles[0] + s * n, agent.next_quantiles[1] + s * n},
      row_weights(agent, agent.next_weights, s),
      n,
      agent.uncertainty};
  return uncertainty(OneThread{}, quantiles).aleatoric;
}

// One block an agent.
__global__ void __launch_bounds__(kThreads) bonus_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.x];
  if (!agent.has_rnd) return;
  __shared__ double sums[kThreads];
  const float* error = agent.rnd.error;
  const float scale =
      agent.relative_bonus
          ? static_cast<float>(relative_bonus(
                agent.rnd_scale, agent.discount,
                sum_over_batch(agent.batch, sums, [&](int s) { return double{error[s]}; }),
                agent.batch))
          : *agent.rnd.bonus_scale;
  double* noise = agent.rnd.noise;
  const double usual = agent.discounts_bonus
                           ? sum_over_batch(agent.batch, sums,
                                            [&](int s) { return noise[s] = noise_of(agent, s); }) /
                                 agent.batch
                           : 0;
  for (int s = threadIdx.x; s < agent.batch; s += kThreads) {
    const double share =
        agent.discounts_bonus ? noise_discount(noise[s], usual, agent.noise_tolerance) : 1;
    agent.reward[s] += scale * static_cast<float>(share) * error[s];
  }
}

}  // namespace

void add_bonus(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(bonus_kernel, dim3(plan.agents), kThreads, 0, agents, stream);
}

}  // namespace ovde::cuda
