// Means over the last batch of the critics' values and uncertainties, for reports.
#include "cuda/kernels/critic/uncertainty.cuh"
#include "cuda/kernels/update.cuh"

namespace ovde::cuda {

namespace {

constexpr int kThreads = 128;

// blockIdx: agent
__global__ void __launch_bounds__(kThreads) means_kernel(const Agent* agents, ValueReport* out) {
  const Agent& agent = agents[blockIdx.x];
  __shared__ double sums[3][kThreads];
  double total[3] = {};
  for (int s = threadIdx.x; s < agent.train.batch; s += kThreads) {
    const Uncertainty u = uncertainty_at(agent, agent.quantiles_at_new, agent.weights_at_new, s);
    total[0] += u.mean;
    total[1] += u.epistemic;
    total[2] += u.aleatoric;
  }
  for (int j = 0; j < 3; ++j) sums[j][threadIdx.x] = total[j];
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < kThreads; ++t) {
    for (int j = 0; j < 3; ++j) sums[j][0] += sums[j][t];
  }
  out[blockIdx.x] = {sums[0][0] / agent.train.batch, sums[1][0] / agent.train.batch,
                     sums[2][0] / agent.train.batch};
}

}  // namespace

void compute_value_means(int agent_count, const Agent* agents, ValueReport* out,
                         cudaStream_t stream) {
  launch(means_kernel, dim3(agent_count), kThreads, 0, stream, agents, out);
}

}  // namespace ovde::cuda
