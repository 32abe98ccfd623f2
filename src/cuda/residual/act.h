// The behaviour policies of a group at one observation each, in fp32, with running statistics.
#pragma once

#include <cuda_runtime.h>

#include "agent/explore/rules.h"
#include "cuda/gpu.h"
#include "cuda/residual/group.h"

namespace ovde::cuda::residual {

// Rows of all agents of a population, in memory that host and device share.
struct ActRows : ActArrays {
  const int* place;            // each agent's row
  const DeviceRule* explorer;  // each row's
};

// The parameters and running statistics of some networks, one after the other.
struct ActNetworks {
  const float *parameters, *statistics;
};

// Each agent has an actor and two critics. explores: some agent has an explorer.
void act(const GroupSpec& spec, const ActNetworks& actors, const ActNetworks& critics,
         const ActRows& rows, bool explores, cudaStream_t stream);

}  // namespace ovde::cuda::residual
