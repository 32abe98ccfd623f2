// Behaviour actions of all agents of a population: the policy of each, moved by its explorer
// (agent/explore). Always in fp32.
#pragma once

#include <cuda_runtime.h>

#include "cuda/agent.h"
#include "cuda/gpu.h"

namespace ovde::cuda {

// Inputs and outputs in memory that host and device share, and how the kernels cut their work.
struct ActExchange : ActArrays {
  int agents = 0;
  int together = 0;  // samples of an explorer that are computed side by side
  int ascents = 0;   // the most of any agent
  int ascent = 0;    // the one that the kernels of enqueue_iqn_act() compute
  int size = 0;      // tile size in fp32: 0 or 1
};

void enqueue_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream);
// The explorers whose critics take fractions as inputs, after enqueue_act().
void enqueue_iqn_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream);

// The agents over grids of at most `choices` actions.
void enqueue_grid_act(const Agent* agents, int choices, const ActExchange& exchange,
                      cudaStream_t stream);

}  // namespace ovde::cuda
