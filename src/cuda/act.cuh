// Behaviour actions of every agent of a population in one pass: the policy of each, moved by its
// explorer (agent/explore). In fp32, whatever the precision of updates.
#pragma once

#include <cuda_runtime.h>

#include "cuda/layout.h"

namespace ovde::cuda {

// What the agents see and answer, in memory that host and device share; arrays of `agents` rows.
struct ActExchange {
  int agents;
  int observations, actions, samples;  // length of a row: the largest of any agent
  // in
  const float* observation;
  const double* explorer_noise;  // standard normal numbers for an explorer's samples
  const bool* plain;             // without an explorer
  // out: the policy's Gaussian before the squash, and its mean as the explorer moves it
  double *mean, *std, *moved;
  double* m;  // OVD-Explorer's weight of the step; NaN for other methods
};

void enqueue_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream);

}  // namespace ovde::cuda
