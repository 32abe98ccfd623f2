// The begin and the end of every agent's update: step sizes, losses and counters.
#pragma once

#include "cuda/agent.h"
#include "cuda/tile/instructions.cuh"

namespace ovde::cuda {

// Sets which networks this update moves and how far. Called by one thread.
__device__ inline void begin_update(const Agent& agent) {
  Progress& progress = *agent.progress;
  const std::uint64_t update = progress.updates + 1;  // from 1
  const AdamOptions adam = agent.train.adam.at(progress.updates);
  progress.moves = update % agent.train.actor_every == 0;
  // in TD3 the critics' target networks wait for the actor
  const bool targets_move = progress.moves || !agent.is_deterministic();
  progress.critic_step = {AdamCorrection(adam, update), targets_move ? agent.train.polyak : 0.0f};
  progress.actor_step = {AdamCorrection(adam, update / agent.train.actor_every),
                         agent.train.polyak};
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
