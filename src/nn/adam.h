// Adam (Kingma and Ba, 2015) and Polyak averaging, fused into one pass over flat buffers.
#pragma once

#include <cstdint>
#include <span>

#include "base/team.h"
#include "nn/equations.h"
#include "nn/simd.h"

namespace ovde {

// Parameters with the moments of Adam and the parameters of the target network.
struct Trained {
  explicit Trained(std::size_t size)
      : parameters(size), first_moment(size), second_moment(size), target(size) {}
  Buffer parameters, first_moment, second_moment, target;
  Buffer statistics;  // running means and variances of batch norms; empty: there are none
};

// Step number `step` (from 1) for elements first .. last-1, with the sum of the two gradients; then
// target += polyak * (parameters - target). The gradient's norm over all elements is clipped to
// options.clip.
void adam_step(const AdamOptions& options, std::uint64_t step, std::span<const float> gradient,
               std::span<const float> more_gradient, float polyak, std::size_t first,
               std::size_t last, Trained& net);

// The same for all elements, in two fixed halves side by side.
void adam_step(const AdamOptions& options, std::uint64_t step, std::span<const float> gradient,
               std::span<const float> more_gradient, float polyak, Trained& net, Team& team);

// target += polyak * (parameters - target), alone.
void polyak_step(float polyak, Trained& net);

// A step of Adam for one number (the temperature).
void adam_step(const AdamOptions& options, std::uint64_t step, float gradient, float& parameter,
               float& first_moment, float& second_moment);

}  // namespace ovde
