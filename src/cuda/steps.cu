// The end of a network's update: gradients of its parameters over the batch, Adam and Polyak.
#include <cmath>

#include "cuda/kernels.cuh"
#include "cuda/tile.cuh"

namespace ovde::cuda {

namespace {

// Gradients of a 64 x 64 tile of one layer's weights over the batch, then Adam and Polyak on it: a
// gradient never leaves the chip.
constexpr int kSide = 64, kStepThreads = 128, kBatchSlab = 32, kStepStages = 3;
constexpr int kStepStride = kSide + 8;  // no two lanes meet in a bank
constexpr int kStepFloats = kStepStages * 2 * kBatchSlab * kStepStride;

// What one step of Adam and Polyak takes, in registers.
struct AdamStep {
  __device__ explicit AdamStep(const Agent& agent)
      : beta1(1 - agent.beta1),
        beta2(1 - agent.beta2),
        step(agent.progress->adam_step),
        root(agent.progress->adam_root),
        epsilon(agent.epsilon),
        polyak(agent.polyak) {}
  __device__ void operator()(float gradient, float& p, float& m, float& v, float& target) const {
    m += beta1 * (gradient - m);
    v += beta2 * (gradient * gradient - v);
    p -= step * m / (sqrtf(v) * root + epsilon);
    target += polyak * (p - target);
  }
  float beta1, beta2, step, root, epsilon, polyak;
};

__device__ void prefetch(const float* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// Rows b0 .. of one slab: 64 columns of the deltas and of the layer's input.
__device__ void fetch_batch(float* to, const float* delta, int delta_stride, const float* input,
                            int input_stride, int first_output, int first_input, int b0) {
#pragma unroll
  for (int c = threadIdx.x; c < 2 * kBatchSlab * (kSide / 4); c += kStepThreads) {
    const bool second = c >= kBatchSlab * (kSide / 4);
    const int row = c / (kSide / 4) % kBatchSlab, column = c % (kSide / 4) * 4;
    const float* from = second ? input : delta;
    const int stride = second ? input_stride : delta_stride;
    const int at = (second ? first_input : first_output) + column;
    copy_async(to + (second ? kBatchSlab * kStepStride : 0) + row * kStepStride + column,
               at < stride ? from + (b0 + row) * stride + at : from, at < stride);
  }
  commit_copies();
}

template <bool kExact>
__device__ void step_tile(const Agent& agent, const Network& net, const Trace& trace,
                          const NetworkShape& shape, int l, int first_output, int first_input,
                          float* memory) {
  const LayerShape layer = shape.layer[l];
  const AdamStep adam(agent);
  const int batch = agent.batch;
  const float* delta = trace.delta[l];
  const int delta_stride = (layer.outputs + 15) & ~15;
  const float* input = l == 0 ? trace.input : trace.hidden[l - 1];
  const int input_stride = l == 0 ? trace.input_stride : layer.stride;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = warp / 2 * 32, column0 = warp % 2 * 32;

  // the parameters will be needed when their gradients are there
  float* const arrays[] = {net.parameters, net.first_moment, net.second_moment, net.target};
#pragma unroll
  for (int c = threadIdx.x; c < 4 * kSide * 2; c += kStepThreads) {  // lines of 32 floats
    const int o = first_output + c / 2 % kSide, i = first_input + c % 2 * 32;
    if (o < layer.outputs && i < layer.stride)
      prefetch(arrays[c / (2 * kSide)] + layer.weights + o * layer.stride + i);
  }

  // dW[o][i] = sum_b delta[b][o] input[b][i]
  float sum[2][4][4] = {};
  float bias = 0;  // gradient of output first_output + threadIdx.x's, where this tile owns it
  const bool has_bias = first_input == 0 && threadIdx.x < kSide;
  const int slabs = (batch + kBatchSlab - 1) / kBatchSlab;
  const auto fetch = [&](int slab) {
    if (slab < slabs) {
      fetch_batch(memory + slab % kStepStages * 2 * kBatchSlab * kStepStride, delta, delta_stride,
                  input, input_stride, first_output, first_input, slab * kBatchSlab);
    } else {
      commit_copies();
    }
  };
  for (int slab = 0; slab < kStepStages - 1; ++slab) fetch(slab);
  for (int slab = 0; slab < slabs; ++slab) {
    wait_for_copies<kStepStages - 2>();
    __syncthreads();
    fetch(slab + kStepStages - 1);
    const float* d = memory + slab % kStepStages * 2 * kBatchSlab * kStepStride;
    const float* x = d + kBatchSlab * kStepStride;
    if (has_bias) {
#pragma unroll
      for (int b = 0; b < kBatchSlab; ++b) bias += d[b * kStepStride + threadIdx.x];
    }
#pragma unroll
    for (int step = 0; step < kBatchSlab; step += 8) {
      Fragment<kExact, 4> a[2];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const float* from = d + (step + lane % 4) * kStepStride + row0 + m * 16 + lane / 4;
        a[m].high[0] = __float_as_uint(from[0]);
        a[m].high[1] = __float_as_uint(from[8]);
        a[m].high[2] = __float_as_uint(from[4 * kStepStride]);
        a[m].high[3] = __float_as_uint(from[4 * kStepStride + 8]);
        a[m].prepare(true);
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const float* from = x + (step + lane % 4) * kStepStride + column0 + n * 8 + lane / 4;
        Fragment<kExact, 2> b;
        b.high[0] = __float_as_uint(from[0]);
        b.high[1] = __float_as_uint(from[4 * kStepStride]);
        b.prepare(true);
#pragma unroll
        for (int m = 0; m < 2; ++m) multiply(sum[m][n], a[m], b, 0, 1);
      }
    }
  }
  wait_for_copies<0>();
  __syncthreads();

  // through shared memory, so that the parameters are touched in whole rows
  constexpr int kStride = kSide + 4;
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = row0 + m * 16 + i / 2 * 8 + lane / 4,
                  column = column0 + n * 8 + lane % 4 * 2 + i % 2;
        memory[row * kStride + column] = sum[m][n][i];
      }
  __syncthreads();
  constexpr int kTogether = 4;  // rows of four numbers in flight
  for (int c0 = threadIdx.x; c0 < kSide * (kSide / 4); c0 += kStepThreads * kTogether) {
    float4 values[kTogether][4];
    int at[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const int c = c0 + j * kStepThreads, o = first_output + c / (kSide / 4),
                i = first_input + c % (kSide / 4) * 4;
      at[j] = o < layer.outputs && i < layer.stride ? layer.weights + o * layer.stride + i : -1;
      if (at[j] < 0) continue;
#pragma unroll
      for (int a = 0; a < 4; ++a)
        values[j][a] = *reinterpret_cast<const float4*>(arrays[a] + at[j]);
    }
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      if (at[j] < 0) continue;
      const int c = c0 + j * kStepThreads, i = first_input + c % (kSide / 4) * 4;
      const float4 g = *reinterpret_cast<const float4*>(memory + c / (kSide / 4) * kStride +
                                                        c % (kSide / 4) * 4);
      auto& [p, m, v, t] = values[j];
      adam(i + 0 < layer.inputs ? g.x : 0.0f, p.x, m.x, v.x, t.x);
      adam(i + 1 < layer.inputs ? g.y : 0.0f, p.y, m.y, v.y, t.y);
      adam(i + 2 < layer.inputs ? g.z : 0.0f, p.z, m.z, v.z, t.z);
      adam(i + 3 < layer.inputs ? g.w : 0.0f, p.w, m.w, v.w, t.w);
#pragma unroll
      for (int a = 0; a < 4; ++a) *reinterpret_cast<float4*>(arrays[a] + at[j]) = values[j][a];
    }
  }
  if (has_bias && first_output + threadIdx.x < layer.outputs) {
    const int at = layer.bias + first_output + threadIdx.x;
    adam(bias, net.parameters[at], net.first_moment[at], net.second_moment[at], net.target[at]);
  }
}

// Tile number `index` of a network: which layer and where in it. False: there is none.
__device__ bool find_tile(const NetworkShape& shape, int index, int& l, int& first_output,
                          int& first_input) {
  for (l = 0; l < shape.layers; ++l) {
    const int down = (shape.layer[l].outputs + kSide - 1) / kSide,
              across = (shape.layer[l].stride + kSide - 1) / kSide;
    if (index < down * across) {
      first_output = index / across * kSide;
      first_input = index % across * kSide;
      return true;
    }
    index -= down * across;
  }
  return false;
}

template <bool kExact>
__device__ void step_network(const Agent& agent, const Network& net, const Trace& trace,
                             const NetworkShape& shape) {
  extern __shared__ __align__(128) unsigned char memory[];
  int l, first_output, first_input;
  if (!find_tile(shape, blockIdx.x, l, first_output, first_input)) return;
  step_tile<kExact>(agent, net, trace, shape, l, first_output, first_input,
                    reinterpret_cast<float*>(memory));
}

// blockIdx: (tile of parameters, critic, agent)
template <bool kExact>
__global__ void __launch_bounds__(kStepThreads, 4) critics_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  step_network<kExact>(agent, agent.critic[blockIdx.y], agent.critic_trace[blockIdx.y],
                       agent.critic_shape);
}

// The end of an update: temperature, losses, counter.
__device__ void finish_update(const Agent& agent, float* sums) {
  Progress& progress = *agent.progress;
  float critic = 0, actor = 0;
  for (int s = threadIdx.x; s < agent.batch; s += kStepThreads) {
    critic += (agent.critic_loss[0][s] + agent.critic_loss[1][s]) / 2;
    actor += agent.actor_loss[s];
  }
  sums[threadIdx.x] = critic;
  sums[kStepThreads + threadIdx.x] = actor;
  for (int half = kStepThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    sums[threadIdx.x] += sums[threadIdx.x + half];
    sums[kStepThreads + threadIdx.x] += sums[kStepThreads + threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  progress.critic_loss += sums[0];
  progress.actor_loss += sums[kStepThreads];
  for (int i = 0; i < 3; ++i) progress.log_alpha[i] = progress.next_log_alpha[i];
  ++progress.updates;
  const bool finite = isfinite(sums[0]) && isfinite(sums[kStepThreads]) && isfinite(progress.alpha);
  if (!finite && progress.first_bad == 0) progress.first_bad = progress.updates;
}

// blockIdx: (tile of parameters, then one for the rest; 0; agent)
template <bool kExact>
__global__ void __launch_bounds__(kStepThreads, 4) actor_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (blockIdx.x == gridDim.x - 1) {
    extern __shared__ __align__(128) unsigned char memory[];
    finish_update(agent, reinterpret_cast<float*>(memory));
  } else {
    step_network<kExact>(agent, agent.actor, agent.actor_trace, agent.actor_shape);
  }
}

}  // namespace

int parameter_tiles(const NetworkShape& shape) {
  int tiles = 0;
  for (int l = 0; l < shape.layers; ++l) {
    tiles += (shape.layer[l].outputs + kSide - 1) / kSide *
             ((shape.layer[l].stride + kSide - 1) / kSide);
  }
  return tiles;
}

void step_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(plan.exact ? critics_kernel<true> : critics_kernel<false>,
         dim3(plan.critic_tiles, 2, plan.agents), kStepThreads, kStepFloats * sizeof(float), agents,
         stream);
}

void step_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  launch(plan.exact ? actor_kernel<true> : actor_kernel<false>,
         dim3(plan.actor_tiles + 1, 1, plan.agents), kStepThreads, kStepFloats * sizeof(float),
         agents, stream);
}

}  // namespace ovde::cuda
