// The steps of an update of a group besides the networks' passes: the batch, actions, losses and
// optimisers. Each function enqueues one kernel.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "cuda/residual/group.h"
#include "cuda/residual/network.h"

namespace ovde::cuda::residual {

// Draws the batch of every agent, without a'.
void draw_batch(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream);

// The policy's actions at s from the actor's outputs (rows of `stride`, `rows` for each agent), or
// the actions at s' from those of the policy that targets use.
void sample_actions(const GroupSpec& spec, const GroupMemory& memory, const float* parameters,
                    const float* output, int rows, bool next, cudaStream_t stream);

void step_temperature(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream);

// Cross-entropy against the projected target distribution, and its gradient by the critics' outputs
// (2 batch rows). `output` and `target` without biases.
template <typename T>
void critic_losses(const GroupSpec& spec, const GroupMemory& memory, const float* parameters,
                   const float* target_parameters, const float* output, const float* target,
                   T* gradient, cudaStream_t stream);

// The target critics' quantiles at (s', a'), from their outputs there.
void target_quantiles(const GroupSpec& spec, const GroupMemory& memory,
                      const float* target_parameters, const float* target, cudaStream_t stream);

// Means of both critics at (s, new a); the gradient of the smaller by the critics' outputs.
template <typename T>
void new_values(const GroupSpec& spec, const GroupMemory& memory, const float* parameters,
                const float* output, T* gradient, cudaStream_t stream);

// Means over the batch of the values at (s, new a) and of their uncertainties, from the critics'
// outputs there; one for each agent.
void value_means(const GroupSpec& spec, const float* parameters, const float* output,
                 ValueReport* means, cudaStream_t stream);

// The gradient of alpha log pi - min_k Q_k by the actor's outputs (2 batch rows, those of s' are
// 0).
template <typename T>
void actor_losses(const GroupSpec& spec, const GroupMemory& memory, const float* by_input,
                  T* gradient, cudaStream_t stream);

// Parameters, Adam's moments and target networks; copies for products, padded (ResidualShape).
template <typename T>
struct Optimised {
  float *parameters, *first_moment, *second_moment, *target;
  T *products, *target_products;
};

// A row of weights, which keeps the length 1; gain and shift of a norm, which together keep the
// length sqrt(width); or biases.
struct Segment {
  enum class Kind { row, norm, free } kind;
  int first, length, second;  // second: where the shift begins; -1: there is none
  int gradient;               // where the gradient of the first number is, in padded buffers
};
std::vector<Segment> segments_of(const ResidualShape& shape);

// A step of Adam with gradients / batch (padded), then lengths, target networks (polyak, 0: they
// stay) and copies. With `gradients` null only the copies are made.
template <typename T>
void step_networks(const GroupSpec& spec, const GroupMemory& memory, const ResidualShape& shape,
                   const Segment* segments, int segment_count, bool critics, float polyak,
                   const float* gradients, const Optimised<T>& nets, cudaStream_t stream);

// Losses, counters and step sizes. begin_update() first, finish_update() last.
void begin_update(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream);
void finish_update(const GroupSpec& spec, const GroupMemory& memory, cudaStream_t stream);

}  // namespace ovde::cuda::residual
