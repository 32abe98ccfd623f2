// The bonus of random network distillation in the rewards of agents that discount it where the
// return is noisy (agent/noise_discount.h), by the target critics at (s', a').
#include "agent/equations.h"
#include "cuda/kernels.cuh"
#include "cuda/row_quantiles.cuh"

namespace ovde::cuda {

namespace {

constexpr int kThreads = 256;

// One block an agent. Sums over the batch in a fixed order.
__global__ void __launch_bounds__(kThreads) discount_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.x];
  if (!agent.discounts_bonus) return;
  const int n = agent.quantiles;
  const auto aleatoric = [&](int s) {
    const float *first = agent.next_quantiles[0] + s * n, *second = agent.next_quantiles[1] + s * n;
    return uncertainty(OneThread{}, RowQuantiles{{first, second},
                                                 row_weights(agent, agent.next_weights, s),
                                                 n,
                                                 agent.uncertainty})
        .aleatoric;
  };
  __shared__ double sums[kThreads];
  double sum = 0;
  for (int s = threadIdx.x; s < agent.batch; s += kThreads) sum += aleatoric(s);
  sums[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  const double usual = sums[0] / agent.batch;
  const float scale = *agent.rnd.bonus_scale;
  for (int s = threadIdx.x; s < agent.batch; s += kThreads) {
    const auto share =
        static_cast<float>(noise_discount(aleatoric(s), usual, agent.noise_tolerance));
    agent.reward[s] += scale * share * agent.rnd.error[s];
  }
}

}  // namespace

void add_discounted_bonus(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(discount_kernel, dim3(plan.agents), kThreads, 0, agents, stream);
}

}  // namespace ovde::cuda
