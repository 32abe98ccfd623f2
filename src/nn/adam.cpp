#include "nn/adam.h"

#include <cmath>

namespace ovde {

namespace {

// The factor of gradient clipping by norm. Summed in a fixed order, so that all threads compute the
// same factor.
float clipping(float largest, std::span<const float> gradient, std::span<const float> more) {
  if (largest <= 0) return 1;
  double squares = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = more.empty() ? gradient[i] : gradient[i] + more[i];
    squares += g * g;
  }
  const double norm = std::sqrt(squares);
  return norm > largest ? static_cast<float>(largest / norm) : 1;
}

template <bool kTwo>
void run(const AdamOptions& o, AdamCorrection c, float factor, const float* __restrict g0,
         const float* __restrict g1, float polyak, std::size_t first, std::size_t last,
         float* __restrict p, float* __restrict m, float* __restrict v, float* __restrict target) {
  for (std::size_t i = first; i < last; ++i) {
    const float g = kTwo ? g0[i] + g1[i] : g0[i];
    adam_update(o, c, factor * g, p[i], m[i], v[i], AccurateMath{});
    polyak_update(polyak, p[i], target[i]);
  }
}

}  // namespace

void adam_step(const AdamOptions& options, std::uint64_t step, std::span<const float> gradient,
               std::span<const float> more_gradient, float polyak, std::size_t first,
               std::size_t last, Trained& net) {
  const AdamCorrection corrected(options, step);
  const float factor = clipping(options.clip, gradient, more_gradient);
  const auto call = more_gradient.empty() ? run<false> : run<true>;
  call(options, corrected, factor, gradient.data(), more_gradient.data(), polyak, first, last,
       net.parameters.data(), net.first_moment.data(), net.second_moment.data(), net.target.data());
}

void adam_step(const AdamOptions& options, std::uint64_t step, std::span<const float> gradient,
               std::span<const float> more_gradient, float polyak, Trained& net, Team& team) {
  const std::size_t middle = net.parameters.size() / 32 * 16;
  team.run(2, [&](int half) {
    adam_step(options, step, gradient, more_gradient, polyak, half == 0 ? 0 : middle,
              half == 0 ? middle : net.parameters.size(), net);
  });
}

void polyak_step(float polyak, Trained& net) {
  for (std::size_t i = 0; i < net.target.size(); ++i)
    polyak_update(polyak, net.parameters[i], net.target[i]);
}

void adam_step(const AdamOptions& options, std::uint64_t step, float gradient, float& parameter,
               float& first_moment, float& second_moment) {
  adam_update(options, AdamCorrection(options, step), gradient, parameter, first_moment,
              second_moment, AccurateMath{});
}

}  // namespace ovde
