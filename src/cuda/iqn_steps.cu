// Adam and Polyak on the critics with random fractions, and the fp16 copies of what comes out.
#include "cuda/iqn.cuh"
#include "cuda/kernels.cuh"
#include "cuda/step.cuh"

namespace ovde::cuda {

namespace {

// As Step and Summands, in fp16.
struct HalfStep {
  static constexpr int kSlab = 64, kStages = 3;
  static constexpr int kStride = kSide + 8;
  static constexpr int kHalf = kSlab * kStride;
  static_assert(kStages * 2 * kHalf * sizeof(__half) <= Step::kBytes);
};
struct HalfSummands {
  const __half* delta;
  const __half* input;
  int delta_stride, input_stride, rows;
};

// The slabs one after the other on their way into shared memory: kSide columns of the deltas and of
// the inputs. A thread has the same places in each.
class BatchStream {
 public:
  __device__ BatchStream(__half* memory, const HalfSummands& from, const Corner& corner)
      : stride_{from.delta_stride, from.input_stride},
        row_(threadIdx.x / kParts),
        rows_(from.rows) {
    const int column = threadIdx.x % kParts * 8;
    to_ = memory + row_ * HalfStep::kStride + column;
    const int at[] = {corner.output + column, corner.input + column};
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      valid_[which] = at[which] < stride_[which];
      from_[which] = (which == 0 ? from.delta : from.input) +
                     (valid_[which] ? row_ * stride_[which] + at[which] : 0);
    }
  }

  // The next slab, if there is one, into stage `stage`.
  __device__ void fetch(int stage) {
    using S = HalfStep;
#pragma unroll
    for (int which = 0; which < 2; ++which) {
#pragma unroll
      for (int j = 0; j < S::kSlab / kRows; ++j) {
        const bool valid = valid_[which] && row_ + j * kRows < rows_;
        copy_async(to_ + (stage * 2 + which) * S::kHalf + j * kRows * S::kStride,
                   from_[which] + (valid ? j * kRows * stride_[which] : 0), valid);
      }
      if (row_ + S::kSlab < rows_) from_[which] += S::kSlab * stride_[which];
    }
    row_ += S::kSlab;
    commit_copies();
  }

 private:
  static constexpr int kParts = kSide / 8, kRows = Step::kThreads / kParts;
  __half* to_;
  const __half* from_[2];
  int stride_[2];
  bool valid_[2];
  int row_, rows_;
};

__device__ TileGradient sum_tile(const HalfSummands& from, const Corner& corner, float scale,
                                 float* memory) {
  using S = HalfStep;
  auto* slabs_memory = reinterpret_cast<__half*>(memory);
  const int lane = threadIdx.x % 32;
  const int row0 = TileGradient::first_row(), column0 = TileGradient::first_column();
  const int slabs = (from.rows + S::kSlab - 1) / S::kSlab;
  BatchStream stream(slabs_memory, from, corner);
#pragma unroll
  for (int stage = 0; stage < S::kStages - 1; ++stage) stream.fetch(stage);

  TileGradient sum;
  sum.scale = scale;
  float2 bias = {0, 0};  // of two outputs, over a quarter of each slab
  int stage = 0;
#pragma unroll 1
  for (int slab = 0; slab < slabs; ++slab) {
    wait_for_copies<S::kStages - 2>();
    __syncthreads();
    stream.fetch(stage == 0 ? S::kStages - 1 : stage - 1);
    const __half* d = slabs_memory + stage * 2 * S::kHalf;
    stage = stage == S::kStages - 1 ? 0 : stage + 1;
    const __half* x = d + S::kHalf;
    if (corner.input == 0) {
      const __half* from = d + threadIdx.x / 32 * (S::kSlab / 4) * S::kStride + lane * 2;
#pragma unroll
      for (int b = 0; b < S::kSlab / 4; ++b) {
        const float2 both =
            __half22float2(*reinterpret_cast<const __half2*>(from + b * S::kStride));
        bias.x += both.x;
        bias.y += both.y;
      }
    }
#pragma unroll
    for (int step = 0; step < S::kSlab; step += 16) {
      std::uint32_t a[2][4], b[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m)
        load_transposed(a[m], d + (step + lane % 8 + lane / 16 * 8) * S::kStride + row0 + m * 16 +
                                  lane / 8 % 2 * 8);
#pragma unroll
      for (int n = 0; n < 2; ++n)
        load_transposed(b[n], x + (step + lane % 8 + lane / 8 % 2 * 8) * S::kStride + column0 +
                                  n * 16 + lane / 16 * 8);
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int n = 0; n < TileGradient::kColumnTiles; ++n)
          multiply_half(sum.weights[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
    }
  }
  wait_for_copies<0>();
  __syncthreads();
  if (corner.input == 0) {
    *reinterpret_cast<float2*>(memory + threadIdx.x / 32 * kSide + lane * 2) = bias;
    __syncthreads();
    if (threadIdx.x < kSide) {
      for (int part = 0; part < 4; ++part) sum.bias += memory[part * kSide + threadIdx.x];
    }
    __syncthreads();
  }
  return sum;
}

// Rows of the sums over the rows of a warp that gate and merge have.
__device__ int summed_rows(const Agent& agent) {
  const int samples = IqnRows::samples<2>(agent.quantiles);
  return (agent.batch + samples - 1) / samples * Tile<2>::kWarpRows;
}

// Gain and shift of kThreads units of a layer; with those of the merging layer, the output's
// weights and bias.
__device__ void step_units(const Agent& agent, const Network& net, const IqnTrace& trace, int l,
                           int first_unit) {
  const IqnShape& shape = agent.iqn_shape;
  const LayerShape layer = shape.layer[l];
  const AdamStep adam(agent, net);
  const float scale = 1.0f / agent.batch;
  const auto step = [&](int at, float gradient) { adam(net, at, gradient * scale); };
  const int f = first_unit + threadIdx.x, stride = stride_of_deltas(layer.outputs);
  const bool merge = l == shape.feature_layers + 1;
  if (f < layer.outputs) {
    const int rows = l < shape.feature_layers ? agent.batch : summed_rows(agent);
    float by_gain = sum_column(trace.by_gain[l], stride, f, rows);
    float by_shift = sum_column(trace.by_shift[l], stride, f, rows);
    if (merge) {
      // the output's weight is the factor between the gradient of the value and that of a merged
      // unit relu(normal * gain + shift): the two sums give the gradients of all three
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
  if (merge && f == 0) step(shape.output.bias, sum_column(trace.by_value, 1, 0, agent.batch));
}

// blockIdx: (tile of weights, then kThreads units of the layers; critic; agent)
template <bool kExact>
__global__ void __launch_bounds__(Step::kThreads, Step::kBlocks)
    critics_kernel(const Agent* agents) {
  extern __shared__ __align__(128) unsigned char bytes[];
  auto* memory = reinterpret_cast<float*>(bytes);
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnShape& shape = agent.iqn_shape;
  const Network& net = agent.critic[blockIdx.y];
  const IqnTrace& trace = agent.iqn_trace[blockIdx.y];
  const int gate = shape.feature_layers, layers = gate + 2;
  int index = blockIdx.x, l;
  Corner corner;
  if (find_tile(shape.layer, layers, index, l, corner)) {
    const LayerShape layer = shape.layer[l];
    const float scale = 1.0f / agent.batch;
    const float* input = l == 0      ? agent.state_action
                         : l < gate  ? trace.features[l - 1]
                         : l == gate ? agent.cosines
                                     : trace.gated;
    if (kExact || l < gate) {
      const int rows = l < gate ? agent.batch : agent.batch * agent.quantiles;
      step_tile<kExact>(agent, net, layer, {trace.delta[l], input, layer.stride, rows, scale},
                        corner, memory);
    } else {
      const HalfSummands from = {
          reinterpret_cast<const __half*>(trace.delta[l]), reinterpret_cast<const __half*>(input),
          stride_of_deltas(layer.outputs), layer.stride, agent.batch * agent.quantiles};
      prefetch_tile(net, layer, corner);
      apply_gradient(agent, net, layer, sum_tile(from, corner, scale, memory), corner, memory);
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

// The fp16 copies of the weights. blockIdx: (part of the weights, critic, agent)
__global__ void __launch_bounds__(256) copies_kernel(const Agent* agents) {
  using S = HalfSlab;
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnShape& shape = agent.iqn_shape;
  const Network& net = agent.critic[blockIdx.y];
  const HalfCopies& copies = agent.half[blockIdx.y];
  for (int l = 0; l < shape.feature_layers + 2; ++l) {
    const LayerShape layer = shape.layer[l];
    const int parts = layer.stride / 8;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < layer.outputs * parts;
         e += gridDim.x * blockDim.x) {
      const int o = e / parts, i = e % parts * 8, from = layer.weights + o * layer.stride + i;
      const int to = i / S::kTerms * S::kNumbers + slab_row(o) * S::kTerms + i % S::kTerms;
      float v[8];
      load8(v, net.target + from);
      store8(copies.target[l] + to, v);
      load8(v, net.parameters + from);
      store8(copies.forward[l] + to, v);
      if (copies.backward[l] == nullptr) continue;
      __half* row = copies.backward[l] + o / S::kTerms * S::kNumbers + o % S::kTerms * kMostWidth;
#pragma unroll
      for (int c = 0; c < 4; ++c)  // slab_row(): columns c and c + 4 are neighbours
        *reinterpret_cast<std::uint32_t*>(row + slab_row(i + c)) = pack(v[c], v[c + 4]);
    }
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
  launch(plan.exact ? critics_kernel<true> : critics_kernel<false>,
         dim3(plan.iqn_tiles, 2, plan.agents), Step::kThreads, Step::kBytes, agents, stream);
  copy_iqn_critics(plan, agents, stream);
}

void copy_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  constexpr int kParts = 16;
  if (!plan.exact) launch(copies_kernel, dim3(kParts, 2, plan.agents), 256, 0, agents, stream);
}

}  // namespace ovde::cuda
