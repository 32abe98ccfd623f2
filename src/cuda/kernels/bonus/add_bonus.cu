// Adds the bonus of random network distillation to the rewards: the errors of rnd.cu, scaled or
// relative to their mean over the batch (agent/actor_critic/bonus.h), and discounted where the
// return is noisy (agent/actor_critic/bonus.h).
#include "agent/equations.h"
#include "cuda/kernels/critic/uncertainty.cuh"
#include "cuda/kernels/update.cuh"

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

// blockIdx: agent
__global__ void __launch_bounds__(kThreads) bonus_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.x];
  if (!agent.has_bonus()) return;
  __shared__ double sums[kThreads];
  const float* error = agent.distillation.error;
  const float scale =
      agent.rnd.relative
          ? static_cast<float>(relative_bonus(
                agent.rnd.scale, agent.train.discount,
                sum_over_batch(agent.train.batch, sums, [&](int s) { return double{error[s]}; }),
                agent.train.batch))
          : *agent.distillation.bonus_scale;
  double* noise = agent.distillation.noise;
  // the noise of a sample is the aleatoric uncertainty of the target critics at (s', a')
  const auto noise_of = [&](int s) {
    return noise[s] = uncertainty_at(agent, agent.next_quantiles, agent.next_weights, s).aleatoric;
  };
  const double usual = agent.discounts_bonus()
                           ? sum_over_batch(agent.train.batch, sums, noise_of) / agent.train.batch
                           : 0;
  for (int s = threadIdx.x; s < agent.train.batch; s += kThreads) {
    const double share =
        agent.discounts_bonus() ? noise_discount(noise[s], usual, agent.rnd.tolerance) : 1;
    agent.reward[s] += scale * static_cast<float>(share) * error[s];
  }
}

}  // namespace

void add_bonus(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(bonus_kernel, dim3(plan.agents), kThreads, 0, agents, stream);
}

}  // namespace ovde::cuda
