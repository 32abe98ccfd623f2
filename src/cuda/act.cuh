// Behaviour actions of every agent of a population in one pass: the policy of each, moved by its
// explorer (agent/explore). In fp32, whatever the precision of updates.
#pragma once

#include <cuda_runtime.h>

#include "cuda/layout.h"

namespace ovde::cuda {

// What the agents see and answer, in memory that host and device share; arrays of `agents` rows.
struct ActExchange {
  int agents;
  int observations, actions, samples, fractions;  // length of a row: the largest of any agent
  int together;  // samples of an explorer that are worked on side by side
  int size;      // of a tile in fp32: 0 or 1
  // in
  const float* observation;
  const double* explorer_noise;  // standard normal numbers for an explorer's samples
  const float* fraction;         // numbers U(0, 1) for the random fractions of its critics
  const bool* plain;             // without an explorer
  // out: the policy's Gaussian before the squash, and its mean as the explorer moves it
  double *mean, *std, *moved;
  double* m;    // OVD-Explorer's weight of the step; NaN for other methods
  int* choice;  // of an agent over a grid of actions
};

void enqueue_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream);
// What follows where an explorer's critics have random fractions.
void enqueue_iqn_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream);

// The choice of agents over grids of at most so many actions.
void enqueue_grid_act(const Agent* agents, int choices, const ActExchange& exchange,
                      cudaStream_t stream);

}  // namespace ovde::cuda
