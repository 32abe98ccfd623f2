// The behaviour policies of a group at one observation each, in fp32, with running statistics.
#pragma once

#include <cuda_runtime.h>

#include "cuda/residual/group.h"

namespace ovde::cuda::residual {

// Rows of all agents of a population, in memory that host and device share.
struct ActRows {
  const int* place;  // each agent's row
  const float* observation;
  int observations, actions, samples;  // length of a row
  const double* explorer_noise;        // standard normal numbers for an explorer's samples
  const bool* plain;                   // the policy alone, without its explorer
  const bool* scouts;                  // the scout acts
  double *mean, *std, *moved, *m;
};

// The parameters and running statistics of some networks, one after the other.
struct ActNetworks {
  const float *parameters, *statistics;
};

// Each agent has an actor and two critics.
void act(const GroupSpec& spec, const ActNetworks& actors, const ActNetworks& critics,
         const ActRows& rows, cudaStream_t stream);

}  // namespace ovde::cuda::residual
