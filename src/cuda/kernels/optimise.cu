// Adam and Polyak on critics and actors; losses and counters; the fp16 copies of all weights.
#include "cuda/kernels/counters.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/iqn_network.cuh"
#include "cuda/tile/optimiser.cuh"

namespace ovde::cuda {

namespace {

// A block's shared memory, and the blocks of a multiprocessor.
template <bool kExact>
constexpr int kBytes = kExact ? Step::kBytes : HalfStep<kBatchSlab>::kBytes;
template <bool kExact>
constexpr int kStepBlocks = kExact ? Step::kBlocks : 6;

// ---- gain and shift of normalised layers

// The number of blocks for the units of a layer.
__host__ __device__ int unit_blocks(const LayerShape& layer) {
  return (layer.outputs + Step::kThreads - 1) / Step::kThreads;
}

// Finds block number `index` of some layers' units.
__device__ bool find_units(const LayerShape* layers, int count, int& index, int& l) {
  for (l = 0; l < count; index -= unit_blocks(layers[l++])) {
    if (index < unit_blocks(layers[l])) return true;
  }
  return false;
}

__device__ float sum_column(const float* rows, int stride, int column, int count) {
  float sum = 0;
#pragma unroll 16
  for (int r = 0; r < count; ++r) sum += rows[r * stride + column];
  return sum;
}

// Steps gain and shift of kThreads units of a layer, from rows of partial sums of their gradients.
// `output`, unless it is null, has a weight for each of these units, and by_value is the gradient
// of its bias, for each sample.
__device__ void step_units(const Agent& agent, const Network& net, const LayerShape& layer,
                           const float* gain_sums, const float* shift_sums, int rows,
                           int first_unit, const LayerShape* output = nullptr,
                           const float* by_value = nullptr) {
  const AdamStep adam(agent, net);
  const float scale = 1.0f / agent.train.batch;
  const auto step = [&](int at, float gradient) { adam(net, at, gradient * scale); };
  const int f = first_unit + threadIdx.x, stride = stride_of_deltas(layer.outputs);
  if (f < layer.outputs) {
    float by_gain = sum_column(gain_sums, stride, f, rows);
    float by_shift = sum_column(shift_sums, stride, f, rows);
    if (output != nullptr) {
      // the output's weight multiplies relu(normal * gain + shift): the gradients of weight, gain
      // and shift follow from the two sums
      const float weight = net.parameters[output->weights + f];
      step(output->weights + f,
           net.parameters[layer.gain + f] * by_gain + net.parameters[layer.shift + f] * by_shift);
      by_gain *= weight;
      by_shift *= weight;
    }
    step(layer.gain + f, by_gain);
    step(layer.shift + f, by_shift);
  }
  if (output != nullptr && f == 0)
    step(output->bias, sum_column(by_value, 1, 0, agent.train.batch));
}

// ---- critics with fixed fractions, and actors

template <bool kExact>
__device__ void step_network(const Agent& agent, const Network& net, const HalfCopies& copies,
                             const Trace& trace, const NetworkShape& shape,
                             const NormTrace* norm = nullptr) {
  OVDE_BLOCK_MEMORY(memory);
  int index = blockIdx.x, l;
  if (step_layers<kExact>(agent, net, copies, trace, shape, 1.0f / agent.train.batch, index,
                          reinterpret_cast<float*>(memory)))
    return;
  if (shape.norm && find_units(shape.layer, shape.layers - 1, index, l))
    step_units(agent, net, shape.layer[l], norm->by_gain[l], norm->by_shift[l],
               (agent.train.batch + kSummedRows - 1) / kSummedRows, index * Step::kThreads);
}

// blockIdx: (tile of parameters, critic, agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, kStepBlocks<kExact>)
    critics_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y;
  if (agent.iqn) return;
  step_network<kExact>(agent, agent.critic_net[k], agent.critic_half[k], agent.critic_trace[k],
                       agent.critic_shape, &agent.norm_trace[k]);
}

// blockIdx: (tile of parameters, then the end of the update; 0; agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, kStepBlocks<kExact>)
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

// ---- critics that take fractions as inputs

// The number of partial sums of a layer with so many fractions, one for each warp's rows.
__device__ int summed_rows(const Agent& agent, int fractions) {
  const int samples = IqnRows::samples<2>(fractions);
  return (agent.train.batch + samples - 1) / samples * Tile<2>::kWarpRows;
}

// blockIdx: (tile of weights, then units of the layers; critic; agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, Step::kBlocks)
    iqn_critics_kernel(const Agent* agents) {
  OVDE_BLOCK_MEMORY(bytes);
  auto* memory = reinterpret_cast<float*>(bytes);
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const NetworkShape& shape = agent.critic_shape;
  const Network& net = agent.critic_net[blockIdx.y];
  const IqnTrace& trace = agent.iqn_trace[blockIdx.y];
  const int gate = shape.feature_layers(), layers = shape.layers;
  int index = blockIdx.x, l;
  Corner corner;
  if (find_tile(shape.layer, layers, index, l, corner)) {
    const LayerShape layer = shape.layer[l];
    const float scale = 1.0f / agent.train.batch;
    const float* input = l == 0      ? agent.state_action
                         : l < gate  ? trace.features[l - 1]
                         : l == gate ? agent.cosines
                                     : trace.gated;
    const int rows = l < gate ? agent.train.batch : agent.train.batch * agent.critic.quantiles;
    const Summands<float> from = {trace.delta[l], input, layer.stride, rows, scale};
    if constexpr (kExact) {
      step_tile<true>(agent, net, layer, from, corner, memory);
    } else {
      const auto copy = CopyLayer{agent.critic_half[blockIdx.y], l, false};
      if (l < gate) {
        step_tile<false>(agent, net, layer, from, corner, memory, copy);
      } else {
        const auto half = [](const float* x) { return reinterpret_cast<const __half*>(x); };
        step_half_tile<64>(agent, net, layer,
                           {half(from.delta), half(input), layer.stride, rows, scale}, corner,
                           memory, copy);
      }
    }
    return;
  }
  if (find_units(shape.layer, layers, index, l))
    step_units(agent, net, shape.layer[l], trace.by_gain[l], trace.by_shift[l],
               summed_rows(agent, l < gate ? 1 : agent.critic.quantiles), index * Step::kThreads,
               l == layers - 1 ? &shape.output : nullptr, trace.by_value);
}

// ---- fp16 copies

// blockIdx: (part of the weights; critic, or 2: the actor; agent)
__global__ void __launch_bounds__(256) copies_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y;
  if (k == 2) {
    copy_layers(agent.actor_net, agent.actor_half, agent.actor_shape.layer,
                agent.actor_shape.layers, true);
  } else {
    copy_layers(agent.critic_net[k], agent.critic_half[k], agent.critic_shape.layer,
                agent.critic_shape.layers, !agent.iqn);
  }
}

}  // namespace

void copy_networks(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  constexpr int kParts = 16;
  if (plan.agents == 0 || plan.exact) return;
  launch(copies_kernel, dim3(kParts, 3, plan.agents), 256, 0, stream, agents);
}

int parameter_tiles(const NetworkShape& shape, bool iqn) {
  int blocks = 0;
  for (int l = 0; l < shape.layers; ++l) {
    const LayerShape& layer = shape.layer[l];
    blocks += parts_of(layer.outputs, kSide) * parts_of(layer.stride, kSide);
    if (iqn || (shape.norm && l < shape.layers - 1)) blocks += unit_blocks(layer);
  }
  return blocks;
}

void step_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.fixed_agents > 0)
    launch(plan.exact ? critics_kernel<true> : critics_kernel<false>,
           dim3(plan.critic_tiles, 2, plan.agents), Step::kThreads,
           plan.exact ? kBytes<true> : kBytes<false>, stream, agents);
  if (plan.random_agents > 0)
    launch(plan.exact ? iqn_critics_kernel<true> : iqn_critics_kernel<false>,
           dim3(plan.iqn_tiles, 2, plan.agents), Step::kThreads, Step::kBytes, stream, agents);
}

void step_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(plan.exact ? actor_kernel<true> : actor_kernel<false>,
         dim3(plan.actor_tiles + 1, 1, plan.agents), Step::kThreads,
         plan.exact ? kBytes<true> : kBytes<false>, stream, agents);
}

}  // namespace ovde::cuda
