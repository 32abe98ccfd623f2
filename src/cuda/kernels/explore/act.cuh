// Behaviour actions of all agents of a population: the policy of each, moved by its explorer
// (agent/explore). Always in fp32.
#pragma once

#include <cuda_runtime.h>

#include "cuda/agent.h"

namespace ovde::cuda {

// Inputs and outputs in memory that host and device share: arrays of `agents` rows.
struct ActExchange {
  int agents;
  int observations, actions, samples, fractions;  // length of a row: the largest of any agent
  int together;  // samples of an explorer that are computed side by side
  int ascents;   // the most of any agent
  int ascent;    // the one that the kernels of enqueue_iqn_act() compute
  int size;      // tile size in fp32: 0 or 1
  // in
  const float* observation;
  const double* explorer_noise;  // standard normal numbers for an explorer's samples
  const float* fraction;         // numbers U(0, 1) for the random fractions of its critics
  const bool* plain;             // the policy alone, without its explorer
  // out: the policy's Gaussian before the squash, and its mean after the explorer's step
  double *mean, *std, *moved;
  double* m;    // OVD-Explorer's weight of the step; NaN for other methods
  int* choice;  // number of an action of the grid
};

void enqueue_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream);
// The explorers whose critics take fractions as inputs, after enqueue_act().
void enqueue_iqn_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream);

// The agents over grids of at most `choices` actions.
void enqueue_grid_act(const Agent* agents, int choices, const ActExchange& exchange,
                      cudaStream_t stream);

}  // namespace ovde::cuda
