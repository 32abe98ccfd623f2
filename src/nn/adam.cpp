#include "nn/adam.h"

namespace ovde {

namespace {

template <bool kTwo>
void run(const AdamOptions& o, AdamCorrection c, const float* __restrict g0,
         const float* __restrict g1, float polyak, std::size_t first, std::size_t last,
         float* __restrict p, float* __restrict m, float* __restrict v, float* __restrict target) {
  for (std::size_t i = first; i < last; ++i) {
    const float g = kTwo ? g0[i] + g1[i] : g0[i];
    adam_update(o, c, g, p[i], m[i], v[i], AccurateMath{});
    polyak_update(polyak, p[i], target[i]);
  }
}

}  // namespace

void adam_step(const AdamOptions& options, std::uint64_t step, std::span<const float> gradient,
               std::span<const float> more_gradient, float polyak, std::size_t first,
               std::size_t last, Trained& net) {
  const AdamCorrection corrected(options, step);
  const auto call = more_gradient.empty() ? run<false> : run<true>;
  call(options, corrected, gradient.data(), more_gradient.data(), polyak, first, last,
       net.parameters.data(), net.first_moment.data(), net.second_moment.data(), net.target.data());
}

void adam_step(const AdamOptions& options, std::uint64_t step, float gradient, float& parameter,
               float& first_moment, float& second_moment) {
  adam_update(options, AdamCorrection(options, step), gradient, parameter, first_moment,
              second_moment, AccurateMath{});
}

}  // namespace ovde
