// The scalars of every agent's update: step sizes, temperature, losses and counters.
#pragma once

#include "cuda/agent.h"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda {

// Sets the step sizes of critics and actor in this update. Called by one thread.
__device__ inline void set_step_sizes(const TrainOptions& train, Progress& progress) {
  const std::uint64_t done = progress.updates, every = train.actor_every;
  progress.critic_step.adam = AdamCorrection(train.adam.at(done), done + 1);
  progress.actor_step.adam = AdamCorrection(train.adam.at(done / every), (done + 1) / every);
}

// Sets which networks this update moves and how far. Called by one thread.
__device__ inline void begin_update(const Agent& agent) {
  Progress& progress = *agent.progress;
  set_step_sizes(agent.train, progress);
  progress.moves = (progress.updates + 1) % agent.train.actor_every == 0;
  // in TD3 the critics' target networks wait for the actor
  const bool targets_move = progress.moves || !agent.is_deterministic();
  progress.critic_step.polyak = targets_move ? agent.train.polyak : 0.0f;
  progress.actor_step.polyak = agent.train.polyak;
}

// The step of the temperature on -log_alpha * (log pi + H), with the target entropy H.
// Every block of an agent computes the same temperature; the one with `write` stores it. The
// log-probabilities are summed in a fixed order.
template <typename Tile>
__device__ float next_temperature(Tile& tile, const Agent& agent, bool write) {
  const Progress& progress = *agent.progress;
  constexpr int kSummands = 256;                          // the same for every size of tile
  float* sums = reinterpret_cast<float*>(&tile.x[0][0]);  // not in use yet
  float sum = 0;
  for (int s = threadIdx.x; s < agent.train.batch && threadIdx.x < kSummands; s += kSummands)
    sum += agent.log_probability[s];
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < kSummands / 32; ++w) sum += sums[w];
  __syncthreads();

  float value = progress.log_alpha[0], first = progress.log_alpha[1],
        second = progress.log_alpha[2];
  if (agent.train.tune_temperature && progress.moves) {
    const float entropy = target_entropy(agent.action_size, agent.train.target_std);
    const float gradient = -(sum / agent.train.batch + entropy);
    adam_update(agent.train.adam, progress.actor_step.adam, gradient, value, first, second,
                AccurateMath{});
  }
  if (write && threadIdx.x == 0) {
    agent.progress->next_log_alpha[0] = value;
    agent.progress->next_log_alpha[1] = first;
    agent.progress->next_log_alpha[2] = second;
    agent.progress->alpha = expf(value);
  }
  return expf(value);
}

// Temperature, losses, counter. For a block of at least 128 threads; `sums` holds 256 floats.
__device__ inline void finish_update(const Agent& agent, float* sums) {
  constexpr int kSummands = 128;
  if (threadIdx.x >= kSummands) return;
  Progress& progress = *agent.progress;
  float critic = 0, actor = 0;
  for (int s = threadIdx.x; s < agent.train.batch; s += kSummands) {
    critic += (agent.critic_loss[0][s] + agent.critic_loss[1][s]) / 2;
    actor += agent.actor_loss[s];
  }
  sums[threadIdx.x] = critic;
  sums[kSummands + threadIdx.x] = actor;
  for (int half = kSummands / 2; half > 0; half /= 2) {
    sync_first_128();
    if (threadIdx.x >= half) continue;
    sums[threadIdx.x] += sums[threadIdx.x + half];
    sums[kSummands + threadIdx.x] += sums[kSummands + threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  progress.critic_loss += sums[0];
  progress.actor_loss += sums[kSummands];
  for (int i = 0; i < 3; ++i) progress.log_alpha[i] = progress.next_log_alpha[i];
  ++progress.updates;
  const bool finite = isfinite(sums[0]) && isfinite(sums[kSummands]) && isfinite(progress.alpha);
  if (!finite && progress.first_bad == 0) progress.first_bad = progress.updates;
}

}  // namespace ovde::cuda
