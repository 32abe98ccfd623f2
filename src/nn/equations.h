// Equations that CPU and GPU share: constants of the layers, and the updates of Adam (Kingma and
// Ba, 2015) and of a target network.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/lanes.h"

namespace ovde {

inline constexpr int kCosines = 64;  // terms of the embedding of a fraction
// Added to the variance by layer and batch normalisation, and to the mean square by RMS norm.
inline constexpr float kNormEpsilon = 1e-5f;
inline constexpr float kRmsNormEpsilon = 1e-6f;

// Propagates NaN.
OVDE_BOTH inline float relu(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
  return y;
#else
  return x < 0 ? 0.0f : x;
#endif
}

// Initialisation of weights. base: hidden layers U(+-1/16) with biases 0.1, the last layer uniform
// in a small range. torch: PyTorch's U(+-1/sqrt(fan-in)) for all layers.
enum class Initialisation { base, torch };

struct AdamOptions {
  float learning_rate = 3e-4f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float clip = 0;  // largest norm of a network's gradient; 0: no clipping
  // the learning rate falls to this value, by half a cosine wave, over this many updates; 0: it is
  // constant
  float learning_rate_end = 0;
  std::int64_t decay_updates = 0;

  // The options with the learning rate of update number `update` (from 0).
  OVDE_BOTH AdamOptions at(std::uint64_t update) const {
    AdamOptions options = *this;
    if (decay_updates == 0) return options;
    const double done = double(update) / double(decay_updates);
    const double left = done < 1 ? (1 + std::cos(3.14159265358979323846 * done)) / 2 : 0;
    options.learning_rate = static_cast<float>(
        double{learning_rate_end} + left * (double{learning_rate} - double{learning_rate_end}));
    return options;
  }
  bool operator==(const AdamOptions&) const = default;
};

// The bias corrections as PyTorch applies them: step size lr / (1 - beta1^t), denominator sqrt(v /
// (1 - beta2^t)) + eps.
struct AdamCorrection {
  AdamCorrection() = default;
  OVDE_BOTH AdamCorrection(const AdamOptions& options, std::uint64_t step)
      : step_size(static_cast<float>(options.learning_rate /
                                     (1 - std::pow(double{options.beta1}, double(step))))),
        root(static_cast<float>(1 / std::sqrt(1 - std::pow(double{options.beta2}, double(step))))) {
  }
  float step_size, root;
};

struct AccurateMath {
  OVDE_BOTH float square_root(float x) const { return std::sqrt(x); }
  OVDE_BOTH float divide(float a, float b) const { return a / b; }
};

// One step for parameter p with its two moments.
template <typename Math>
OVDE_BOTH inline void adam_update(const AdamOptions& o, const AdamCorrection& c, float gradient,
                                  float& p, float& m, float& v, const Math& math) {
  m += (1 - o.beta1) * (gradient - m);
  v += (1 - o.beta2) * (gradient * gradient - v);
  p -= math.divide(c.step_size * m, math.square_root(v) * c.root + o.epsilon);
}

// A running statistic of batch norm moves this part of the way to that of each batch.
inline constexpr float kStatisticsMomentum = 0.01f;

// The factor that brings numbers with this sum of squares to length sqrt(n).
template <typename Math>
OVDE_BOTH inline float projection(int n, float squares, const Math& math) {
  return math.divide(math.square_root(static_cast<float>(n)), math.square_root(squares + 1e-8f));
}

// Target network += polyak * (network - target network).
OVDE_BOTH inline void polyak_update(float polyak, float p, float& target) {
  target += polyak * (p - target);
}

}  // namespace ovde
