// Adam and Polyak on the critics with fixed fractions and on the actor; losses and counters; the
// fp16 copies of all weights.
#include <cmath>

#include "cuda/kernels/counters.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/optimiser_fp16.cuh"

namespace ovde::cuda {

namespace {

constexpr int kSlab = 32;  // samples
// A block's shared memory, and the blocks of a multiprocessor.
template <bool kExact>
constexpr int kBytes = kExact ? Step::kBytes : HalfStep<kSlab>::kBytes;
template <bool kExact>
constexpr int kBlocks = kExact ? Step::kBlocks : 6;

// The number of blocks for the units of normalised layer l.
__host__ __device__ int unit_blocks(const NetworkShape& shape, int l) {
  return shape.norm ? (shape.layer[l].outputs + Step::kThreads - 1) / Step::kThreads : 0;
}

// step_layers() from fp16 traces.
__device__ bool step_half_layers(const Agent& agent, const Network& net, const HalfCopies& copies,
                                 const Trace& trace, const NetworkShape& shape, float scale,
                                 int& index, float* memory) {
  int l;
  Corner corner;
  if (!find_tile(shape.layer, shape.layers, index, l, corner)) return false;
  HalfSummands from(summands(trace, shape, l, agent.train.batch, scale), shape.layer[l]);
  if (l == 0) from.input = trace.half_input;
  step_half_tile<kSlab>(agent, net, shape.layer[l], from, corner, memory,
                        CopyLayer{copies, l, l == shape.layers - 1});
  return true;
}

template <bool kExact>
__device__ void step_network(const Agent& agent, const Network& net, const HalfCopies& copies,
                             const Trace& trace, const NetworkShape& shape,
                             const NormTrace* norm = nullptr) {
  OVDE_BLOCK_MEMORY(bytes);
  auto* memory = reinterpret_cast<float*>(bytes);
  const float scale = 1.0f / agent.train.batch;
  int index = blockIdx.x;
  if (kExact ? step_layers(agent, net, trace, shape, scale, index, memory)
             : step_half_layers(agent, net, copies, trace, shape, scale, index, memory))
    return;
  for (int l = 0; l < shape.layers - 1; index -= unit_blocks(shape, l++)) {
    if (index >= unit_blocks(shape, l)) continue;
    step_units(agent, net, shape.layer[l], norm->by_gain[l], norm->by_shift[l],
               (agent.train.batch + kSummedRows - 1) / kSummedRows, scale, index * Step::kThreads);
    return;
  }
}

// blockIdx: (tile of parameters, critic, agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, kBlocks<kExact>)
    critics_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y;
  step_network<kExact>(agent, agent.critic_net[k], agent.critic_half[k], agent.critic_trace[k],
                       agent.critic_shape, &agent.norm_trace[k]);
}

// blockIdx: (tile of parameters, then the end of the update; 0; agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, kBlocks<kExact>)
    actor_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (blockIdx.x == gridDim.x - 1) {
    OVDE_BLOCK_MEMORY(memory);
    finish_update(agent, reinterpret_cast<float*>(memory));
  } else if (agent.progress->moves) {
    step_network<kExact>(agent, agent.actor_net, agent.actor_half, agent.actor_trace,
                         agent.actor_shape);
  }
}

// blockIdx: (part of the weights; critic, or 2: the actor; agent)
__global__ void __launch_bounds__(256) copies_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y;
  if (k == 2) {
    copy_layers(agent.actor_net, agent.actor_half, agent.actor_shape.layer,
                agent.actor_shape.layers, true);
  } else if (agent.iqn) {
    copy_layers(agent.critic_net[k], agent.critic_half[k], agent.iqn_shape.layer,
                agent.iqn_shape.feature_layers + 2, false);
  } else {
    copy_layers(agent.critic_net[k], agent.critic_half[k], agent.critic_shape.layer,
                agent.critic_shape.layers, true);
  }
}

}  // namespace

void copy_networks(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  constexpr int kParts = 16;
  if (plan.agents == 0 || plan.exact) return;
  launch(copies_kernel, dim3(kParts, 3, plan.agents), 256, 0, agents, stream);
}

int parameter_tiles(const NetworkShape& shape) {
  int blocks = count_tiles(shape.layer, shape.layers);
  for (int l = 0; l < shape.layers - 1; ++l) blocks += unit_blocks(shape, l);
  return blocks;
}

void step_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.fixed_agents == 0) return;
  launch(plan.exact ? critics_kernel<true> : critics_kernel<false>,
         dim3(plan.critic_tiles, 2, plan.agents), Step::kThreads,
         plan.exact ? kBytes<true> : kBytes<false>, agents, stream);
}

void step_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(plan.exact ? actor_kernel<true> : actor_kernel<false>,
         dim3(plan.actor_tiles + 1, 1, plan.agents), Step::kThreads,
         plan.exact ? kBytes<true> : kBytes<false>, agents, stream);
}

}  // namespace ovde::cuda
