#include "cuda/residual/learn.h"

#include "agent/critic/support.h"
#include "agent/equations.h"
#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/counters.cuh"
#include "cuda/kernels/critic/uncertainty.cuh"
#include "cuda/kernels/launch.cuh"
#include "cuda/tile/fours.cuh"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda::residual {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kEach = kMostOutputs / 32;

// One warp for each sample of each agent. blockIdx: (samples, agent)
dim3 warp_each(const GroupSpec& spec) { return dim3(parts_of(spec.batch(), kWarps), spec.agents); }
__device__ int sample_of_warp() { return blockIdx.x * kWarps + threadIdx.x / 32; }

// ---- the batch

__global__ void begin_kernel(GroupSpec spec, GroupMemory memory) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < spec.agents) set_step_sizes(spec.train, memory.progress[i]);
}

__global__ void __launch_bounds__(kThreads) draw_kernel(GroupSpec spec, GroupMemory memory) {
  const int i = blockIdx.y, s = sample_of_warp(), lane = threadIdx.x % 32, batch = spec.batch();
  if (s >= batch) return;
  const Progress& progress = memory.progress[i];
  const float* rows = memory.replay[i];
  const int observations = spec.observation_size, width = observations + spec.action_size;
  const auto row_at = [&](std::int64_t row) { return rows + row * memory.replay_stride; };
  const auto end_of = [&](std::int64_t row) {
    return static_cast<EpisodeEnd>(row_at(row)[width + 1 + observations]);
  };
  const std::uint64_t first =
      cuda::replay_index(memory.seeds[i], progress.updates, batch, s, progress.replay_rows);
  const NStepReturn sum = n_step_return(
      first, spec.train.n_step, spec.train.discount,
      static_cast<std::int64_t>((progress.replay_added - 1) % spec.train.replay), spec.train.replay,
      [&](std::int64_t row) { return row_at(row)[width]; }, end_of);
  const float *from = row_at(first), *last = row_at(sum.last);
  const int critic_stride = spec.critic_shape.input.stride,
            actor_stride = spec.actor_shape.input.stride;
  float* state_action = memory.critic_input + (2LL * i * batch + s) * critic_stride;
  float* next = state_action + 1LL * batch * critic_stride;
  float* state_new_action = memory.new_input + (1LL * i * batch + s) * critic_stride;
  float* state = memory.actor_input + (2LL * i * batch + s) * actor_stride;
  float* next_state = state + 1LL * batch * actor_stride;
  float* next_alone = memory.next_input + (1LL * i * batch + s) * actor_stride;
  for (int f = lane; f < width; f += 32) {
    state_action[f] = from[f];
    if (f >= observations) continue;
    const float after = last[width + 1 + f];
    state_new_action[f] = state[f] = from[f];
    next[f] = next_state[f] = next_alone[f] = after;
  }
  if (lane != 0) return;
  memory.reward[i * batch + s] = progress.reward_scale * sum.reward;
  memory.continues[i * batch + s] =
      spec.train.discount * sum.discount * value_counts(end_of(sum.last));
}

// ---- actions

// One warp for each sample, an action in each lane.
__global__ void __launch_bounds__(kThreads)
    sample_kernel(GroupSpec spec, GroupMemory memory, const float* parameters, const float* output,
                  int rows, bool next) {
  const int i = blockIdx.y, s = sample_of_warp(), lane = threadIdx.x % 32, batch = spec.batch(),
            actions = spec.action_size;
  if (s >= batch) return;
  const int stride = spec.actor_shape.output_stride(),
            input_stride = spec.critic_shape.input.stride;
  const float* bias = parameters + 1LL * i * spec.actor_shape.size + spec.actor_shape.bias;
  const float* head = output + (1LL * i * rows + s) * stride;
  float* input = next ? memory.critic_input + ((2LL * i + 1) * batch + s) * input_stride
                      : memory.new_input + (1LL * i * batch + s) * input_stride;
  float log_probability = 0;
  for (int d = lane; d < actions; d += 32) {
    const float noise =
        batch_noise(memory.seeds[i], next ? Stream::target_noise : Stream::actor_noise,
                    memory.progress[i].updates, batch, actions, d, s);
    const float raw = head[actions + d] + bias[actions + d];
    const float log_std = log_std_of(spec.log_std, raw);
    const float spread = expf(log_std) * noise, u = head[d] + bias[d] + spread, action = tanhf(u);
    log_probability -=
        0.5f * noise * noise + log_std + kHalfLogTwoPi + log_squash_slope(spec.log_std, u, action);
    input[spec.observation_size + d] = action;
    if (next) continue;
    const std::size_t at = (1LL * i * batch + s) * actions + d;
    memory.action[at] = action;
    memory.spread[at] = spread;
    memory.raw_log_std[at] = raw;
  }
  log_probability = sum_of_warp(log_probability);
  if (lane == 0)
    (next ? memory.next_log_probability : memory.log_probability)[i * batch + s] = log_probability;
}

// The sum over a block, the same for every thread and on every run.
__device__ float sum_of_block(float mine) {
  __shared__ float parts[kWarps];
  mine = sum_of_warp(mine);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += parts[w];
  __syncthreads();
  return sum;
}

__global__ void __launch_bounds__(kThreads) temperature_kernel(GroupSpec spec, GroupMemory memory) {
  const int i = blockIdx.x, batch = spec.batch();
  float sum = 0;
  for (int s = threadIdx.x; s < batch; s += kThreads) sum += memory.log_probability[i * batch + s];
  sum = sum_of_block(sum);
  if (threadIdx.x != 0 || !spec.train.tune_temperature) return;
  Progress& progress = memory.progress[i];
  const float gradient = -(sum / batch + target_entropy(spec.action_size, spec.train.target_std));
  adam_update(spec.train.adam, progress.actor_step.adam, gradient, progress.log_alpha[0],
              progress.log_alpha[1], progress.log_alpha[2], AccurateMath{});
}

// ---- categorical critics: one warp for each sample, atom lane + 32 j of it in each lane

// The probabilities of a row of outputs, their mean, and the logarithm of their sum.
struct Distribution {
  float probability[kEach], logit[kEach];
  float log_sum, mean;
};
__device__ Distribution distribution(const GroupSpec& spec, const float* output,
                                     const float* bias) {
  const int lane = threadIdx.x % 32, atoms = spec.critic.atoms;
  Distribution d;
  float most = -INFINITY;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int a = lane + 32 * j;
    d.logit[j] = a < atoms ? output[a] + bias[a] : -INFINITY;
    most = fmaxf(most, d.logit[j]);
  }
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  float sum = 0, weighted = 0;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    d.probability[j] = expf(d.logit[j] - most);
    sum += d.probability[j];
  }
  sum = sum_of_warp(sum);
  d.log_sum = most + logf(sum);
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    d.probability[j] /= sum;
    if (lane + 32 * j < atoms) weighted += d.probability[j] * spec.value(lane + 32 * j);
  }
  d.mean = sum_of_warp(weighted);
  return d;
}

__device__ const float* bias_of(const GroupSpec& spec, const float* parameters, int network) {
  return parameters + 1LL * network * spec.critic_shape.size + spec.critic_shape.bias;
}

__device__ void store(float& to, float x) { to = x; }
__device__ void store(__half& to, float x) { to = __float2half_rn(x); }

template <typename T>
__global__ void __launch_bounds__(kThreads)
    critic_kernel(GroupSpec spec, GroupMemory memory, const float* parameters,
                  const float* target_parameters, const float* output, const float* target,
                  T* gradient) {
  const int i = blockIdx.y, s = sample_of_warp(), lane = threadIdx.x % 32, warp = threadIdx.x / 32,
            batch = spec.batch(), atoms = spec.critic.atoms;
  if (s >= batch) return;
  const int stride = spec.critic_shape.output_stride();
  const auto row = [&](int k, int r) { return ((2LL * i + k) * 2 * batch + r) * stride; };

  // the target critic with the smaller mean gives the distribution
  const Distribution first =
      distribution(spec, target + row(0, batch + s), bias_of(spec, target_parameters, 2 * i));
  const Distribution second =
      distribution(spec, target + row(1, batch + s), bias_of(spec, target_parameters, 2 * i + 1));
  const bool first_smaller = first.mean <= second.mean;
  const float means = first.mean + second.mean;  // NaN if one of them is

  // its values move to r + gamma (1 - terminal) (z - alpha log pi), in units of the atoms' distance
  __shared__ float places[kWarps][kMostOutputs], probabilities[kWarps][kMostOutputs];
  const float alpha = expf(memory.progress[i].log_alpha[0]), reward = memory.reward[i * batch + s],
              continues = memory.continues[i * batch + s],
              entropy = alpha * memory.next_log_probability[i * batch + s],
              distance = (spec.critic.high - spec.critic.low) / (atoms - 1);
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int a = lane + 32 * j;
    if (a >= atoms) continue;
    const float moved = reward + continues * (spec.value(a) - entropy);
    places[warp][a] =
        (fminf(fmaxf(moved, spec.critic.low), spec.critic.high) - spec.critic.low) / distance;
    // the limits and the comparison of the means would hide a NaN
    probabilities[warp][a] = moved != moved || means != means ? nanf("")
                             : first_smaller                  ? first.probability[j]
                                                              : second.probability[j];
  }
  __syncwarp();
  float projected[kEach] = {};
  for (int b = 0; b < atoms; ++b) {
    const float place = places[warp][b], probability = probabilities[warp][b];
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      projected[j] +=
          probability * fmaxf(0.0f, 1 - fabsf(place - static_cast<float>(lane + 32 * j)));
  }
  for (int k = 0; k < 2; ++k) {
    const Distribution own =
        distribution(spec, output + row(k, s), bias_of(spec, parameters, 2 * i + k));
    float loss = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int a = lane + 32 * j;
      if (a < atoms) loss -= projected[j] * (own.logit[j] - own.log_sum);
      if (a >= stride) continue;
      store(gradient[row(k, s) + a], a < atoms ? own.probability[j] - projected[j] : 0.0f);
      store(gradient[row(k, batch + s) + a], 0.0f);
    }
    loss = sum_of_warp(loss);
    if (lane == 0) memory.critic_loss[k][i * batch + s] = loss;
  }
}

// The target critics' distributions at (s', a') as quantiles: one warp for each sample, in
// which two lanes work, one for each critic.
__global__ void __launch_bounds__(kThreads)
    quantiles_kernel(GroupSpec spec, GroupMemory memory, const float* target_parameters,
                     const float* target) {
  const int i = blockIdx.y, s = sample_of_warp(), lane = threadIdx.x % 32, warp = threadIdx.x / 32,
            batch = spec.batch();
  if (s >= batch) return;
  __shared__ double probabilities[kWarps][2][kMostOutputs];
  for (int k = 0; k < 2; ++k) {
    const Distribution at = distribution(
        spec, target + ((4LL * i + 2 * k + 1) * batch + s) * spec.critic_shape.output_stride(),
        bias_of(spec, target_parameters, 2 * i + k));
    for (int j = 0; j < kEach; ++j) probabilities[warp][k][lane + 32 * j] = at.probability[j];
  }
  __syncwarp();
  if (lane >= 2) return;
  double quantiles[cuda::kMostOutputs];
  quantiles_of(Support(spec.critic), probabilities[warp][lane], spec.critic.quantiles, quantiles);
  float* to = memory.next_quantiles[lane] + (1LL * i * batch + s) * spec.critic.quantiles;
  for (int q = 0; q < spec.critic.quantiles; ++q) to[q] = static_cast<float>(quantiles[q]);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    values_kernel(GroupSpec spec, GroupMemory memory, const float* parameters, const float* output,
                  T* gradient) {
  const int i = blockIdx.y, s = sample_of_warp(), lane = threadIdx.x % 32, batch = spec.batch(),
            atoms = spec.critic.atoms;
  if (s >= batch) return;
  const int stride = spec.critic_shape.output_stride();
  const auto row = [&](int k) { return ((2LL * i + k) * batch + s) * stride; };
  Distribution at[2];
  for (int k = 0; k < 2; ++k)
    at[k] = distribution(spec, output + row(k), bias_of(spec, parameters, 2 * i + k));
  const int smaller = at[0].mean <= at[1].mean ? 0 : 1;
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int a = lane + 32 * j;
      const float off = a < atoms ? spec.value(a) - at[k].mean : 0.0f;
      if (a < stride) store(gradient[row(k) + a], k == smaller ? at[k].probability[j] * off : 0.0f);
    }
    if (lane == 0) memory.mean[k][i * batch + s] = at[k].mean;
  }
}

// blockIdx: agent
__global__ void __launch_bounds__(kThreads)
    means_kernel(GroupSpec spec, const float* parameters, const float* output, ValueReport* means) {
  const int i = blockIdx.x, batch = spec.batch(), atoms = spec.critic.atoms,
            stride = spec.critic_shape.output_stride();
  const ValueReport mean = mean_over_batch<kThreads>(batch, [&](int s) {
    float logits[kMostOutputs];
    double probabilities[kMostOutputs], z[2][cuda::kMostOutputs];
    for (int k = 0; k < 2; ++k) {
      const float *row = output + ((2LL * i + k) * batch + s) * stride,
                  *bias = bias_of(spec, parameters, 2 * i + k);
      for (int j = 0; j < atoms; ++j) logits[j] = row[j] + bias[j];
      softmax(logits, atoms, probabilities);
      quantiles_of(Support(spec.critic), probabilities, spec.critic.quantiles, z[k]);
    }
    return uncertainty(OneThread{},
                       ArrayQuantiles<double>{
                           {z[0], z[1]}, nullptr, spec.critic.quantiles, spec.critic.uncertainty});
  });
  if (threadIdx.x == 0) means[i] = mean;
}

// ---- the actor

// One warp for each sample, an output in each lane.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    actor_kernel(GroupSpec spec, GroupMemory memory, const float* by_input, T* gradient) {
  const int i = blockIdx.y, s = sample_of_warp(), batch = spec.batch(), actions = spec.action_size;
  if (s >= batch) return;
  const int stride = spec.actor_shape.output_stride(),
            input_stride = spec.critic_shape.input.stride;
  const float alpha = expf(memory.progress[i].log_alpha[0]);
  const int at = i * batch + s;
  const int k = memory.mean[0][at] <= memory.mean[1][at] ? 0 : 1;
  const float* q = by_input + ((2LL * i + k) * batch + s) * input_stride + spec.observation_size;
  T* out = gradient + (2LL * i * batch + s) * stride;
  for (int j = threadIdx.x % 32; j < stride; j += 32) {
    const int d = j % actions;
    const float action = memory.action[1LL * at * actions + d], slope = 1 - action * action,
                raw = memory.raw_log_std[1LL * at * actions + d];
    const float du = entropy_gradient(spec.log_std, alpha, action, slope) - q[d] * slope;
    const float by_raw =
        log_std_slope(spec.log_std, raw) * (du * memory.spread[1LL * at * actions + d] - alpha);
    store(out[j], j < actions ? du : j < 2 * actions ? by_raw : 0.0f);
    store(out[1LL * batch * stride + j], 0.0f);
  }
  if (threadIdx.x % 32 == 0)
    memory.actor_loss[at] = alpha * memory.log_probability[at] - memory.mean[k][at];
}

// ---- optimisers

// One step of the optimiser for a network.
template <typename T>
struct Stepper {
  Optimised<T> nets;
  const float* gradients;
  std::size_t first, first_padded;  // where the network begins
  float share, polyak;
  const AdamOptions& adam;
  const AdamCorrection& correction;

  // Adam's step of four parameters.
  __device__ float4 step(float4 p, float4 g, std::size_t at, float4 m, float4 v) const {
    for_each_of_four(
        [&](float& p, float g, float& m, float& v) {
          adam_update(adam, correction, g * share, p, m, v, AccurateMath{});
        },
        p, g, m, v);
    store_four(nets.first_moment + at, m);
    store_four(nets.second_moment + at, v);
    return p;
  }
  __device__ float4 follow(float4 p, float4 target) const {
    for_each_of_four([&](float p, float& target) { polyak_update(polyak, p, target); }, p, target);
    return target;
  }

  // A row of weights of at most 128 kSteps numbers: a lane keeps its own in registers, and reads
  // all that it needs before it writes.
  template <int kSteps>
  __device__ void row(const Segment& segment) const {
    constexpr int kAtOnce = kSteps < 2 ? 1 : 2;
    const int lane = threadIdx.x % 32, fours = segment.length / 4;
    const auto place = [&](int k) { return segment.first + 4 * (lane + 32 * k); };
    const auto inside = [&](int k) { return lane + 32 * k < fours; };
    float4 p[kSteps], target[kSteps];
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      p[k] = target[k] = all_four(0);
      if (!inside(k)) continue;
      p[k] = load_four(nets.parameters + first + place(k));
      target[k] = load_four(nets.target + first + place(k));
    }
    if (gradients) {
      float squares = 0;
#pragma unroll
      for (int k = 0; k < kSteps; k += kAtOnce) {
        float4 g[kAtOnce], m[kAtOnce], v[kAtOnce];
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          if (!inside(k + j)) continue;
          g[j] = load_four(gradients + first_padded + place(k + j));
          m[j] = load_four(nets.first_moment + first + place(k + j));
          v[j] = load_four(nets.second_moment + first + place(k + j));
        }
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          if (!inside(k + j)) continue;
          p[k + j] = step(p[k + j], g[j], first + place(k + j), m[j], v[j]);
          squares += sum_of_four(p[k + j] * p[k + j]);
        }
      }
      const float factor = projection(1, sum_of_warp(squares), AccurateMath{});
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        if (!inside(k)) continue;
        p[k] = factor * p[k];
        target[k] = follow(p[k], target[k]);
        store_four(nets.parameters + first + place(k), p[k]);
        store_four(nets.target + first + place(k), target[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      if (!inside(k)) continue;
      store_four(nets.products + first_padded + place(k), p[k]);
      store_four(nets.target_products + first_padded + place(k), target[k]);
    }
  }

  // A norm or biases, which products do not use: few numbers, read twice.
  __device__ void other(const Segment& segment) const {
    if (!gradients) return;
    const int lane = threadIdx.x % 32, half = (segment.length + 3) / 4,
              fours = segment.second < 0 ? half : 2 * half;
    const auto place = [&](int n) {
      return n < half ? 4 * n : segment.second - segment.first + 4 * (n - half);
    };
    float squares = 0;
    for (int n = lane; n < fours; n += 32) {
      const std::size_t at = first + segment.first + place(n);
      const float4 p = step(load_four(nets.parameters + at),
                            load_four(gradients + first_padded + segment.gradient + place(n)), at,
                            load_four(nets.first_moment + at), load_four(nets.second_moment + at));
      store_four(nets.parameters + at, p);
      squares += sum_of_four(p * p);
    }
    const float factor = segment.kind == Segment::Kind::free
                             ? 1
                             : projection(segment.length, sum_of_warp(squares), AccurateMath{});
    for (int n = lane; n < fours; n += 32) {
      const std::size_t at = first + segment.first + place(n);
      const float4 p = factor * load_four(nets.parameters + at);
      store_four(nets.parameters + at, p);
      store_four(nets.target + at, follow(p, load_four(nets.target + at)));
    }
  }
};

// blockIdx: (segments, network); one warp for each segment
template <typename T>
__global__ void __launch_bounds__(kThreads, 2)
    step_kernel(GroupSpec spec, GroupMemory memory, int size, int padded_size,
                const Segment* segments, int count, int networks_per_agent, bool critics,
                float polyak, const float* gradients, Optimised<T> nets) {
  const int index = blockIdx.x * kWarps + threadIdx.x / 32, network = blockIdx.y;
  if (index >= count) return;
  const Segment segment = segments[index];
  const Progress& progress = memory.progress[network / networks_per_agent];
  const Stepper<T> step{nets,
                        gradients,
                        1ULL * network * size,
                        1ULL * network * padded_size,
                        1.0f / spec.batch(),
                        polyak,
                        spec.train.adam,
                        critics ? progress.critic_step.adam : progress.actor_step.adam};
  if (segment.kind != Segment::Kind::row) return step.other(segment);
  if (segment.length <= 256) return step.template row<2>(segment);
  step.template row<kMostExpanded / 128>(segment);
}

__global__ void __launch_bounds__(kThreads) finish_kernel(GroupSpec spec, GroupMemory memory) {
  const int i = blockIdx.x, batch = spec.batch();
  float critic = 0, actor = 0;
  for (int s = threadIdx.x; s < batch; s += kThreads) {
    critic += (memory.critic_loss[0][i * batch + s] + memory.critic_loss[1][i * batch + s]) / 2;
    actor += memory.actor_loss[i * batch + s];
  }
  critic = sum_of_block(critic) / batch;
  actor = sum_of_block(actor) / batch;
  if (threadIdx.x != 0) return;
  Progress& progress = memory.progress[i];
  progress.critic_loss += critic;
  progress.actor_loss += actor;
  ++progress.updates;
  const bool finite = isfinite(critic) && isfinite(actor) && isfinite(progress.log_alpha[0]);
  if (!finite && progress.first_bad == 0) progress.first_bad = progress.updates;
}

}  // namespace

void begin_update(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream) {
  launch(begin_kernel, dim3(parts_of(spec.agents, 128)), 128, 0, stream, spec, memory);
}

void draw_batch(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream) {
  launch(draw_kernel, warp_each(spec), kThreads, 0, stream, spec, memory);
}

void sample_actions(const GroupSpec& spec, const GroupMemory& memory, const float* parameters,
                    const float* output, int rows, bool next, cudaStream_t stream) {
  launch(sample_kernel, warp_each(spec), kThreads, 0, stream, spec, memory, parameters, output,
         rows, next);
}

void step_temperature(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream) {
  launch(temperature_kernel, dim3(spec.agents), kThreads, 0, stream, spec, memory);
}

template <typename T>
void critic_losses(const GroupSpec& spec, const GroupMemory& memory, const float* parameters,
                   const float* target_parameters, const float* output, const float* target,
                   T* gradient, cudaStream_t stream) {
  launch(critic_kernel<T>, warp_each(spec), kThreads, 0, stream, spec, memory, parameters,
         target_parameters, output, target, gradient);
}

void target_quantiles(const GroupSpec& spec, const GroupMemory& memory,
                      const float* target_parameters, const float* target, cudaStream_t stream) {
  launch(quantiles_kernel, warp_each(spec), kThreads, 0, stream, spec, memory, target_parameters,
         target);
}

template <typename T>
void new_values(const GroupSpec& spec, const GroupMemory& memory, const float* parameters,
                const float* output, T* gradient, cudaStream_t stream) {
  launch(values_kernel<T>, warp_each(spec), kThreads, 0, stream, spec, memory, parameters, output,
         gradient);
}

void value_means(const GroupSpec& spec, const float* parameters, const float* output,
                 ValueReport* means, cudaStream_t stream) {
  launch(means_kernel, dim3(spec.agents), kThreads, 0, stream, spec, parameters, output, means);
}

template <typename T>
void actor_losses(const GroupSpec& spec, const GroupMemory& memory, const float* by_input,
                  T* gradient, cudaStream_t stream) {
  launch(actor_kernel<T>, warp_each(spec), kThreads, 0, stream, spec, memory, by_input, gradient);
}

std::vector<Segment> segments_of(const ResidualShape& shape) {
  std::vector<Segment> all;
  const auto add = [&](Segment::Kind kind, int first, int length, int second) {
    all.push_back({kind, first, length, second, first});
  };
  const auto add_rows = [&](const LinearPart& part) {
    for (int o = 0; o < part.outputs; ++o)
      add(Segment::Kind::row, part.weights + o * part.stride, part.stride, -1);
  };
  const auto add_norm = [&](const NormPart& part) {
    add(Segment::Kind::norm, part.gain, part.width, part.shift);
  };
  add_norm(shape.input_norm);
  for (int b = 0; b < shape.blocks; ++b) {
    add_norm(shape.block[b].up_norm);
    add_norm(shape.block[b].down_norm);
  }
  add(Segment::Kind::norm, shape.output_norm.gain, shape.output_norm.width, -1);
  all.push_back({Segment::Kind::free, shape.bias, shape.head.outputs, -1, shape.padded_bias});
  add_rows(shape.input);
  for (int b = 0; b < shape.blocks; ++b) {
    add_rows(shape.block[b].up);
    add_rows(shape.block[b].down);
  }
  add_rows(shape.head);
  return all;
}

template <typename T>
void step_networks(const GroupSpec& spec, const GroupMemory& memory, const ResidualShape& shape,
                   const Segment* segments, int segment_count, bool critics, float polyak,
                   const float* gradients, const Optimised<T>& nets, cudaStream_t stream) {
  const int per_agent = critics ? 2 : 1;
  launch(step_kernel<T>, dim3(parts_of(segment_count, kWarps), spec.agents * per_agent), kThreads,
         0, stream, spec, memory, shape.size, shape.padded_size, segments, segment_count, per_agent,
         critics, polyak, gradients, nets);
}

void finish_update(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream) {
  launch(finish_kernel, dim3(spec.agents), kThreads, 0, stream, spec, memory);
}

#define OVDE_INSTANTIATE(T)                                                                        \
  template void critic_losses(const GroupSpec&, const GroupMemory&, const float*, const float*,    \
                              const float*, const float*, T*, cudaStream_t);                       \
  template void new_values(const GroupSpec&, const GroupMemory&, const float*, const float*, T*,   \
                           cudaStream_t);                                                          \
  template void actor_losses(const GroupSpec&, const GroupMemory&, const float*, T*,               \
                             cudaStream_t);                                                        \
  template void step_networks(const GroupSpec&, const GroupMemory&, const ResidualShape&,          \
                              const Segment*, int, bool, float, const float*, const Optimised<T>&, \
                              cudaStream_t);
OVDE_INSTANTIATE(float)
OVDE_INSTANTIATE(__half)
#undef OVDE_INSTANTIATE

}  // namespace ovde::cuda::residual
