// The last steps of an update: the critics with fixed fractions, the actor, losses and counters.
#include <cmath>

#include "cuda/kernels.cuh"
#include "cuda/progress.cuh"
#include "cuda/step.cuh"

namespace ovde::cuda {

namespace {

// How many blocks of units of normalised layers there are.
__host__ __device__ int unit_blocks(const NetworkShape& shape, int l) {
  return shape.norm ? (shape.layer[l].outputs + Step::kThreads - 1) / Step::kThreads : 0;
}

template <bool kExact>
__device__ void step_network(const Agent& agent, const Network& net, const Trace& trace,
                             const NetworkShape& shape, const NormTrace* norm = nullptr) {
  extern __shared__ __align__(128) unsigned char memory[];
  int index = blockIdx.x;
  if (step_layers<kExact>(agent, net, trace, shape, index, reinterpret_cast<float*>(memory)))
    return;
  for (int l = 0; l < shape.layers - 1; index -= unit_blocks(shape, l++)) {
    if (index >= unit_blocks(shape, l)) continue;
    step_units(agent, net, shape.layer[l], norm->by_gain[l], norm->by_shift[l],
               (agent.batch + kSummedRows - 1) / kSummedRows, index * Step::kThreads);
    return;
  }
}

// blockIdx: (tile of parameters, critic, agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, Step::kBlocks)
    critics_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y;
  step_network<kExact>(agent, agent.critic[k], agent.critic_trace[k], agent.critic_shape,
                       &agent.norm_trace[k]);
}

// blockIdx: (tile of parameters, then one for the rest; 0; agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, Step::kBlocks) actor_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (blockIdx.x == gridDim.x - 1) {
    extern __shared__ __align__(128) unsigned char memory[];
    finish_update(agent, reinterpret_cast<float*>(memory));
  } else if (agent.progress->moves) {
    step_network<kExact>(agent, agent.actor, agent.actor_trace, agent.actor_shape);
  }
}

}  // namespace

int parameter_tiles(const NetworkShape& shape) {
  int blocks = count_tiles(shape.layer, shape.layers);
  for (int l = 0; l < shape.layers - 1; ++l) blocks += unit_blocks(shape, l);
  return blocks;
}

void step_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(plan.exact ? critics_kernel<true> : critics_kernel<false>,
         dim3(plan.critic_tiles, 2, plan.agents), Step::kThreads, Step::kBytes, agents, stream);
}

void step_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(plan.exact ? actor_kernel<true> : actor_kernel<false>,
         dim3(plan.actor_tiles + 1, 1, plan.agents), Step::kThreads, Step::kBytes, agents, stream);
}

}  // namespace ovde::cuda
