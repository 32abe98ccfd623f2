// Adam and Polyak on the critics that take fractions as inputs.
#include "cuda/kernels/update.cuh"
#include "cuda/tile/iqn_network.cuh"
#include "cuda/tile/optimiser_fp16.cuh"

namespace ovde::cuda {

namespace {

// The number of partial sums of a layer with so many fractions, one for each warp's rows.
__device__ int summed_rows(const Agent& agent, int fractions) {
  const int samples = IqnRows::samples<2>(fractions);
  return (agent.train.batch + samples - 1) / samples * Tile<2>::kWarpRows;
}

// Steps gain and shift of kThreads units of a layer; with the merging layer also the output's
// weights and bias.
__device__ void step_units(const Agent& agent, const Network& net, const IqnTrace& trace, int l,
                           int first_unit) {
  const IqnShape& shape = agent.iqn_shape;
  const LayerShape layer = shape.layer[l];
  const AdamStep adam(agent, net);
  const float scale = 1.0f / agent.train.batch;
  const auto step = [&](int at, float gradient) { adam(net, at, gradient * scale); };
  const int f = first_unit + threadIdx.x, stride = stride_of_deltas(layer.outputs);
  const bool merge = l == shape.feature_layers + 1;
  if (f < layer.outputs) {
    const int rows = summed_rows(agent, l < shape.feature_layers ? 1 : agent.critic.quantiles);
    float by_gain = sum_column(trace.by_gain[l], stride, f, rows);
    float by_shift = sum_column(trace.by_shift[l], stride, f, rows);
    if (merge) {
      // the output's weight multiplies relu(normal * gain + shift): the gradients of weight, gain
      // and shift follow from the two sums
      const int output = shape.output.weights + f;
      const float weight = net.parameters[output];
      step(output,
           net.parameters[layer.gain + f] * by_gain + net.parameters[layer.shift + f] * by_shift);
      by_gain *= weight;
      by_shift *= weight;
    }
    step(layer.gain + f, by_gain);
    step(layer.shift + f, by_shift);
  }
  if (merge && f == 0) step(shape.output.bias, sum_column(trace.by_value, 1, 0, agent.train.batch));
}

// blockIdx: (tile of weights, then units of the layers; critic; agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, Step::kBlocks)
    critics_kernel(const Agent* agents) {
  OVDE_BLOCK_MEMORY(bytes);
  auto* memory = reinterpret_cast<float*>(bytes);
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnShape& shape = agent.iqn_shape;
  const Network& net = agent.critic_net[blockIdx.y];
  const IqnTrace& trace = agent.iqn_trace[blockIdx.y];
  const int gate = shape.feature_layers, layers = gate + 2;
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
    const Summands from = {trace.delta[l], input, layer.stride, rows, scale};
    if constexpr (kExact) {
      step_tile<true>(agent, net, layer, from, corner, memory);
    } else {
      const auto copy = CopyLayer{agent.critic_half[blockIdx.y], l, false};
      if (l < gate) {
        step_tile<false>(agent, net, layer, from, corner, memory, copy);
      } else {
        step_half_tile<64>(agent, net, layer, HalfSummands(from, layer), corner, memory, copy);
      }
    }
    return;
  }
  for (l = 0; l < layers; ++l) {
    const int blocks = (shape.layer[l].outputs + Step::kThreads - 1) / Step::kThreads;
    if (index < blocks) {
      step_units(agent, net, trace, l, index * Step::kThreads);
      return;
    }
    index -= blocks;
  }
}

}  // namespace

int parameter_tiles(const IqnShape& shape) {
  const int layers = shape.feature_layers + 2;
  int blocks = count_tiles(shape.layer, layers);
  for (int l = 0; l < layers; ++l)
    blocks += (shape.layer[l].outputs + Step::kThreads - 1) / Step::kThreads;
  return blocks;
}

void step_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.random_agents == 0) return;
  launch(plan.exact ? critics_kernel<true> : critics_kernel<false>,
         dim3(plan.iqn_tiles, 2, plan.agents), Step::kThreads, Step::kBytes, agents, stream);
}

}  // namespace ovde::cuda
