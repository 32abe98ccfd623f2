// The policies of a group at one observation each, in fp32, with running statistics.
#pragma once

#include <cuda_runtime.h>

#include "cuda/residual/group.h"

namespace ovde::cuda::residual {

// Rows of all agents of a population, in memory that host and device share.
struct ActRows {
  const int* place;  // each agent's row
  const float* observation;
  int observations, actions;  // length of a row
  double *mean, *std, *moved, *m;
};

void act(const GroupSpec& spec, const float* parameters, const float* statistics,
         const ActRows& rows, cudaStream_t stream);

}  // namespace ovde::cuda::residual
