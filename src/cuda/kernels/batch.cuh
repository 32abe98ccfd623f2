// The batch of an update: its random numbers, which are those of include/ovde/random.h at the same
// counters, the rows of the replay buffer that it draws, and their returns.
#pragma once

#include <cstdint>

#include <ovde/random.h>
#include "cuda/tile/network.cuh"

namespace ovde::cuda {

// ---- random numbers

// Philox4x32-10 (Salmon et al., 2011).
__device__ inline uint4 random_block(std::uint64_t seed, Stream stream, std::uint64_t index) {
  uint4 c = make_uint4(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                       static_cast<std::uint32_t>(stream), 0);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c.x,
                        p1 = std::uint64_t{0xCD9E8D57u} * c.z;
    c = make_uint4(static_cast<std::uint32_t>(p1 >> 32) ^ c.y ^ k0, static_cast<std::uint32_t>(p1),
                   static_cast<std::uint32_t>(p0 >> 32) ^ c.w ^ k1, static_cast<std::uint32_t>(p0));
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Word number `number` of a stream.
__device__ inline std::uint32_t random_word(std::uint64_t seed, Stream stream,
                                            std::uint64_t number) {
  const uint4 words = random_block(seed, stream, number / 4);
  return number % 4 == 0   ? words.x
         : number % 4 == 1 ? words.y
         : number % 4 == 2 ? words.z
                           : words.w;
}

// The row of the replay buffer that is sample `s` of an update.
__device__ inline std::uint64_t replay_index(std::uint64_t seed, std::uint64_t update, int batch,
                                             int s, std::uint64_t rows) {
  return ovde::replay_index(
      random_word(seed, Stream::replay_batch, noise_begin(update, 1, 0, batch) + s), rows);
}

// Standard normal number `number` of a stream (Box-Muller; a pair of words gives two numbers).
__device__ inline float normal(std::uint64_t seed, Stream stream, std::uint64_t number) {
  const uint4 words = random_block(seed, stream, number / 4);
  const bool second = number % 4 >= 2;
  const float u = (static_cast<float>((second ? words.z : words.x) >> 8) + 1) * 0x1p-24f;
  const float v = static_cast<float>((second ? words.w : words.y) >> 8) * 0x1p-24f;
  const float radius = sqrtf(-2.0f * logf(u));
  const float angle = 6.283185307179586f * v;
  return radius * (number % 2 == 0 ? cosf(angle) : sinf(angle));
}

// The policy's noise for action `d` of sample `s`.
__device__ inline float batch_noise(std::uint64_t seed, Stream stream, std::uint64_t update,
                                    int batch, int actions, int d, int s) {
  return normal(seed, stream, noise_begin(update, actions, d, batch) + s);
}

// The number U(0, 1) of fraction `i` of sample `s`.
__device__ inline float fraction_number(std::uint64_t seed, std::uint64_t update,
                                        FractionsFor purpose, int batch, int fractions, int i,
                                        int s) {
  const std::uint64_t set = fractions_number(update, purpose);
  return static_cast<float>(
             random_word(seed, Stream::fractions, noise_begin(set, fractions, i, batch) + s)) *
         0x1p-32f;
}

// ---- transitions

// Draws the rows of the tile's samples. Ends with a barrier.
template <typename T>
__device__ void choose_rows(T& tile, const Agent& agent, int first_sample) {
  for (int r = threadIdx.x; r < T::kRows; r += T::kThreads) {
    tile.index(r) = static_cast<std::uint32_t>(replay_index(agent.seed, agent.progress->updates,
                                                            agent.train.batch, first_sample + r,
                                                            agent.progress->replay_rows));
  }
  __syncthreads();
}

template <typename T>
__device__ const float* replay_row(T& tile, const Agent& agent, int r) {
  return agent.replay + static_cast<std::size_t>(tile.index(r)) * agent.replay_stride;
}

// The n-step return from row `first` on.
__device__ inline NStepReturn return_from(const Agent& agent, std::uint32_t first) {
  const float* rewards = agent.replay + agent.observation_size + agent.action_size;
  const auto at = [&](std::int64_t row) { return rewards + row * agent.replay_stride; };
  const std::int64_t newest = (agent.progress->replay_added - 1) % agent.train.replay;
  return n_step_return(
      first, agent.train.n_step, agent.train.discount, newest, agent.train.replay,
      [&](std::int64_t row) { return __ldg(at(row)); },
      [&](std::int64_t row) {
        return static_cast<EpisodeEnd>(__ldg(at(row) + 1 + agent.observation_size));
      });
}

// Writes the return of sample s, row r of the tile, and the discount of the value after it.
template <typename T>
__device__ void save_return(T& tile, const Agent& agent, int r, int s) {
  float sum, discount = agent.train.discount;
  const float* row = replay_row(tile, agent, r);
  const int reward = agent.observation_size + agent.action_size;
  if (agent.train.n_step == 1) {
    sum = __ldg(row + reward);
  } else {
    const NStepReturn found = return_from(agent, tile.index(r));
    sum = found.reward;
    discount *= found.discount;
    row = agent.replay + found.last * agent.replay_stride;
  }
  agent.reward[s] = agent.progress->reward_scale * sum;
  const auto end = static_cast<EpisodeEnd>(__ldg(row + reward + 1 + agent.observation_size));
  agent.continues[s] = discount * value_counts(end);
}

// From the first rows of the samples' returns to their last rows. Ends with a barrier.
template <typename T>
__device__ void go_to_last_rows(T& tile, const Agent& agent) {
  if (agent.train.n_step == 1) return;
  __syncthreads();
  for (int r = threadIdx.x; r < T::kRows; r += T::kThreads)
    tile.index(r) = static_cast<std::uint32_t>(return_from(agent, tile.index(r)).last);
  __syncthreads();
}

// ---- inputs of networks, zero beyond them

// x = the first `width` columns of the samples' rows.
template <typename T>
__device__ void fill_rows(T& tile, const float* rows, int stride, int width, int first_sample) {
  fill(tile, multiple_of_32(width), [=](int r, int i) {
    return i < width ? __ldg(rows + (first_sample + r) * stride + i) : 0.0f;
  });
}

// x = (s, a) with the current policy's actions.
template <typename T>
__device__ void fill_new_actions(T& tile, const Agent& agent, int first_sample) {
  const int observations = agent.observation_size, actions = agent.action_size,
            stride = agent.state_action_stride;
  const float *state_action = agent.state_action, *action = agent.action;
  fill(tile, multiple_of_32(stride), [=](int r, int i) {
    const int s = first_sample + r;
    const float* from =
        i < observations ? state_action + s * stride + i : action + s * actions + i - observations;
    return i < observations + actions ? __ldg(from) : 0.0f;
  });
}

// ---- sums

// The sum of term(s) over the samples of a batch, in a fixed order, for every thread of a block of
// kThreads.
template <typename Number, int kThreads, typename Term>
__device__ Number sum_over_batch(Number (&sums)[kThreads], int batch, const Term& term) {
  Number sum = 0;
  for (int s = threadIdx.x; s < batch; s += kThreads) sum += term(s);
  sums[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  sum = sums[0];
  __syncthreads();
  return sum;
}

}  // namespace ovde::cuda
