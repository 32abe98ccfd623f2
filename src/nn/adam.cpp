#include "nn/adam.h"

#include <cmath>

namespace ovde {

namespace {

// The bias corrections as PyTorch applies them: step size lr / (1 - beta1^t), denominator sqrt(v /
// (1 - beta2^t)) + eps.
struct Corrected {
  Corrected(const AdamOptions& options, std::uint64_t step)
      : step_size(static_cast<float>(options.learning_rate /
                                     (1 - std::pow(double{options.beta1}, double(step))))),
        root(static_cast<float>(1 / std::sqrt(1 - std::pow(double{options.beta2}, double(step))))) {
  }
  float step_size;
  float root;
};

template <bool kTwo>
void run(const AdamOptions& o, Corrected c, const float* __restrict g0, const float* __restrict g1,
         float polyak, std::size_t first, std::size_t last, float* __restrict p,
         float* __restrict m, float* __restrict v, float* __restrict target) {
  for (std::size_t i = first; i < last; ++i) {
    const float g = kTwo ? g0[i] + g1[i] : g0[i];
    m[i] += (1 - o.beta1) * (g - m[i]);
    v[i] += (1 - o.beta2) * (g * g - v[i]);
    p[i] -= c.step_size * m[i] / (std::sqrt(v[i]) * c.root + o.epsilon);
    target[i] += polyak * (p[i] - target[i]);
  }
}

}  // namespace

void adam_step(const AdamOptions& options, std::uint64_t step, std::span<const float> gradient,
               std::span<const float> more_gradient, float polyak, std::size_t first,
               std::size_t last, Trained& net) {
  const Corrected corrected(options, step);
  const auto call = more_gradient.empty() ? run<false> : run<true>;
  call(options, corrected, gradient.data(), more_gradient.data(), polyak, first, last,
       net.parameters.data(), net.first_moment.data(), net.second_moment.data(), net.target.data());
}

void adam_step(const AdamOptions& options, std::uint64_t step, float gradient, float& parameter,
               float& first_moment, float& second_moment) {
  const Corrected corrected(options, step);
  first_moment += (1 - options.beta1) * (gradient - first_moment);
  second_moment += (1 - options.beta2) * (gradient * gradient - second_moment);
  parameter -= corrected.step_size * first_moment /
               (std::sqrt(second_moment) * corrected.root + options.epsilon);
}

}  // namespace ovde
