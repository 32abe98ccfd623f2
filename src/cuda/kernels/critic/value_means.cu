// Means over the last batch of the critics' values and uncertainties, for reports.
#include "cuda/kernels/critic/uncertainty.cuh"
#include "cuda/kernels/update.cuh"

namespace ovde::cuda {

namespace {

constexpr int kMeansThreads = 128;

// blockIdx: agent
__global__ void __launch_bounds__(kMeansThreads)
    means_kernel(const Agent* agents, ValueReport* out) {
  const Agent& agent = agents[blockIdx.x];
  const ValueReport mean = mean_over_batch<kMeansThreads>(agent.train.batch, [&](int s) {
    return uncertainty_at(agent, agent.quantiles_at_new, agent.weights_at_new, s);
  });
  if (threadIdx.x == 0) out[blockIdx.x] = mean;
}

}  // namespace

void compute_value_means(int agent_count, const Agent* agents, ValueReport* out,
                         cudaStream_t stream) {
  launch(means_kernel, dim3(agent_count), kMeansThreads, 0, stream, agents, out);
}

}  // namespace ovde::cuda
