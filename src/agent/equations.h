// The equations that all learners share on CPU and GPU: returns, targets and losses, for one number
// or a vector of them, running moments, and the addresses of an update's random numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/lanes.h"

namespace ovde {

// The squashed Gaussian: bounds of its log standard deviation, a term that keeps its density
// finite, and log(2 pi) / 2.
inline constexpr float kMinLogStd = -20;
inline constexpr float kMaxLogStd = 2;
inline constexpr float kSquashEpsilon = 1e-6f;
inline constexpr float kHalfLogTwoPi = 0.918938533204672742f;

// How the actor's output gives the log standard deviation: clamped to [-20, 2], or squashed by a
// tanh to [-10, 2]. With the squashed form the density of an action is exact; with the clamped one
// its log(1 - a^2) has kSquashEpsilon added, so that it stays bounded.
enum class LogStdForm { clamped, squashed };
inline constexpr float kMinSquashedLogStd = -10;
inline constexpr float kHalfSquashedRange = (kMaxLogStd - kMinSquashedLogStd) / 2;

// A NaN stays one.
template <typename T>
OVDE_BOTH inline T log_std_of(LogStdForm form, T output) {
  if (form == LogStdForm::squashed)
    return kMinSquashedLogStd + kHalfSquashedRange * (1 + std::tanh(output));
  return output < kMinLogStd ? kMinLogStd : output > kMaxLogStd ? kMaxLogStd : output;
}
// Its derivative by the output.
OVDE_BOTH inline float log_std_slope(LogStdForm form, float output) {
  if (form == LogStdForm::squashed) {
    const float squashed = std::tanh(output);
    return kHalfSquashedRange * (1 - squashed * squashed);
  }
  return output >= kMinLogStd && output <= kMaxLogStd ? 1.0f : 0.0f;
}

// log(da/du) of an action a = tanh(u).
OVDE_BOTH inline float log_squash_slope(LogStdForm form, float u, float action) {
  if (form == LogStdForm::clamped) return std::log(1 - action * action + kSquashEpsilon);
  const float size = std::fabs(u);
  return 2 * (0.693147180559945309f - size - std::log1p(std::exp(-2 * size)));
}
// The derivative of alpha log pi by u at fixed noise: the Gaussian density does not move with the
// mean, so that it comes from the squash alone. `slope` is da/du = 1 - a^2.
OVDE_BOTH inline float entropy_gradient(LogStdForm form, float alpha, float action, float slope) {
  const float gradient = alpha * 2 * action;
  return form == LogStdForm::clamped ? gradient * slope / (slope + kSquashEpsilon) : gradient;
}

// The entropy H that the temperature is tuned for: that of a Gaussian with independent actions of
// this standard deviation, dim(A) / 2 log(2 pi e std^2); -dim(A) where `std` is 0.
OVDE_BOTH inline float target_entropy(int actions, float std) {
  constexpr float kUnitEntropy = 1.41893853320467274f;  // log(2 pi e) / 2
  const auto dimensions = static_cast<float>(actions);
  return std > 0 ? dimensions * (kUnitEntropy + std::log(std)) : -dimensions;
}

// The smaller of two; a NaN stays one.
template <typename T>
OVDE_BOTH inline T smaller(T a, T b) {
#ifdef __CUDA_ARCH__
  T c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
#else
  const auto first = (a < b) | (a != a);
  return first ? a : b;
#endif
}

// The larger of two; a NaN stays one.
template <typename T>
OVDE_BOTH inline T larger(T a, T b) {
#ifdef __CUDA_ARCH__
  T c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
#else
  const auto first = (a > b) | (a != a);
  return first ? a : b;
#endif
}

// Whether an episode ended with a transition, and how: in a terminal state, after which nothing is
// returned, or cut off, by a time limit or because the episode was abandoned. Rows of the replay
// buffer hold its number as a float.
enum class EpisodeEnd : int { none, terminal, cut_off };

// Numbers in a row of the replay buffer: s, a, the reward, s' and the end.
OVDE_BOTH constexpr int replay_row_floats(int observations, int actions) {
  return 2 * observations + actions + 2;
}

// The factor of the next state's value in a target: 1 - terminal.
OVDE_BOTH constexpr float value_counts(EpisodeEnd end) {
  return end == EpisodeEnd::terminal ? 0.0f : 1.0f;
}

// A return over several steps, made of rows of a replay buffer when they are drawn: the rewards
// from one row on until n have come, the episode has ended or there is no newer row. Entropies are
// not counted.
struct NStepReturn {
  float reward;       // the discounted sum
  float discount;     // the discount of its last reward
  std::int64_t last;  // the row of its last reward
};

// From row `first` of a ring of `capacity` rows, the newest of which is `newest`. reward(row) and
// end(row) read a row; end(row) is an EpisodeEnd.
template <typename Reward, typename End>
OVDE_BOTH NStepReturn n_step_return(std::int64_t first, int n, float discount, std::int64_t newest,
                                    std::int64_t capacity, const Reward& reward, const End& end) {
  NStepReturn sum{reward(first), 1, first};
  for (int k = 1; k < n && sum.last != newest && end(sum.last) == EpisodeEnd::none; ++k) {
    sum.last = sum.last + 1 == capacity ? 0 : sum.last + 1;
    sum.discount *= discount;
    sum.reward = std::fma(sum.discount, reward(sum.last), sum.reward);
  }
  return sum;
}

// Two critics as one value: mean + optimism * half their distance, written as shares of the smaller
// and of the larger value. Optimism -1 is the smaller, 0 the mean, 1 the larger.
struct Blend {
  float smaller = 1, larger = 0;
};
OVDE_BOTH constexpr Blend blend_of(float optimism) {
  return {0.5f * (1 - optimism), 0.5f * (1 + optimism)};
}
template <typename T>
OVDE_BOTH inline T blended(const Blend& share, T a, T b) {
  return share.smaller * smaller(a, b) + share.larger * larger(a, b);
}

// x in [-1, 1]; a NaN stays one.
template <typename T>
OVDE_BOTH inline T clamp_to_one(T x) {
#ifdef __CUDA_ARCH__
  T c;
  asm("max.NaN.f32 %0, %1, 0fBF800000;" : "=f"(c) : "f"(x));
  asm("min.NaN.f32 %0, %1, 0f3F800000;" : "=f"(c) : "f"(c));
  return c;
#else
  const T one = 1 - T{};
  const T from_below = x < -one ? -one : x;
  return from_below > one ? one : from_below;
#endif
}

// Largest weight of the divergence in the loss of an optimist (actor_critic/optimist.h).
inline constexpr float kLargestDivergenceWeight = 20;

// y_i = r + gamma (1 - terminal) (min_k zbar_ki(s', a') - alpha log pi(a'|s'))  (Eq. 4); `share`
// is another blend of the critics than their minimum.
// continues: gamma (1 - terminal); entropy: alpha log pi.
template <typename T>
OVDE_BOTH inline T td_target(T reward, T continues, T first, T second, T entropy,
                             const Blend& share = {}) {
  return reward + continues * (blended(share, first, second) - entropy);
}

// |tau - 1{u < 0}| huber(u) * weight with kappa = 1, and its derivative by u = y - z (Eq. 2).
// above: tau, the fraction of the prediction z; below: 1 - tau.
template <typename T>
struct QuantileHuber {
  T slope, value;
};
template <typename T, typename Weight>
OVDE_BOTH inline QuantileHuber<T> quantile_huber(T u, T above, T below, Weight weight) {
  const T zero{}, c = clamp_to_one(u);  // huber'(u); huber(u) = c (u - c / 2)
  const T slope = (u < zero ? below : above) * c * weight;
  return {slope, slope * (u - 0.5f * c)};
}

// A relative bonus for novelty, for each unit of error: scale (1 - discount) / mean error. `sum`:
// the sum of the errors; 0 gives no bonus.
OVDE_BOTH inline double relative_bonus(double scale, double discount, double sum, int count) {
  return sum != 0 ? scale * (1 - discount) * count / sum : 0;
}

// The share of a bonus for novelty that is left where the return is noisy: 1 / (1 + (sigma /
// (tolerance mean(sigma)))^2), `usual` being that mean; 1 where there is no noise anywhere.
OVDE_BOTH inline double noise_discount(double aleatoric, double usual, double tolerance) {
  const double ratio = usual > 0 ? aleatoric / (tolerance * usual) : aleatoric;
  return 1 / (1 + ratio * ratio);
}

// Random numbers of an update are addressed by its number. Each feature has a row of numbers, one
// for each sample, padded so that the addresses do not depend on the width of vectors.
inline constexpr int kNoiseRow = 64;
OVDE_BOTH constexpr int noise_row(int batch) {
  return (batch + kNoiseRow - 1) / kNoiseRow * kNoiseRow;
}
// Address of the first number of a feature.
OVDE_BOTH constexpr std::uint64_t noise_begin(std::uint64_t update, int features, int feature,
                                              int batch) {
  return (update * features + feature) * noise_row(batch);
}

// The row of the replay buffer that a random word selects.
OVDE_BOTH constexpr std::uint64_t replay_index(std::uint32_t word, std::uint64_t rows) {
  return (std::uint64_t{word} * rows) >> 32;
}

// The purpose of a set of random fractions: each is drawn with an update number of its own.
enum class FractionsFor : int { target, prediction, policy };
OVDE_BOTH constexpr std::uint64_t fractions_number(std::uint64_t update, FractionsFor purpose) {
  return update * 3 + static_cast<int>(purpose);
}
// Added to the random widths of intervals, so that none vanishes.
inline constexpr float kNarrowest = 0.1f;
// In place of random widths: equal intervals, with midpoints (i - 0.5) / N.
inline constexpr float kEqualWidths = 0.5f;

// Welford's method: adds number `count` (from 1) to a mean and a sum of squared deviations.
OVDE_BOTH inline void add_to_moments(double& mean, double& squares, double count, double x) {
  const double deviation = x - mean;
  mean += deviation / count;
  squares += deviation * (x - mean);
}

// Mean and variance of vectors that arrive one at a time, in double precision.
class RunningMoments {
 public:
  explicit RunningMoments(int size) : size_(size), values_(1 + 2 * size) {}

  template <typename T>
  void add(std::span<const T> x) {
    const double count = ++values_[0];
    for (int i = 0; i < size_; ++i)
      add_to_moments(values_[1 + i], values_[1 + size_ + i], count, x[i]);
  }

  double mean(int i) const { return values_[1 + i]; }
  // With divisor n; 0 before anything was added.
  double standard_deviation(int i) const { return deviation(i, values_[0]); }
  // With divisor n - 1; 0 for fewer than two.
  double sample_deviation(int i) const { return deviation(i, values_[0] - 1); }

  // For saving: the count, the means and the sums of squared deviations.
  std::span<double> state() { return values_; }

 private:
  double deviation(int i, double divisor) const {
    return divisor > 0 ? std::sqrt(values_[1 + size_ + i] / divisor) : 0;
  }

  int size_;
  std::vector<double> values_;
};

}  // namespace ovde
