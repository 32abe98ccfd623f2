#include "agent/explore/held_noise.h"

namespace ovde {

int held_steps(int longest, Random& random) {
  double sum = 0;
  for (int n = 1; n <= longest; ++n) sum += 1.0 / n / n;
  double left = sum * random.uniform();
  int n = 1;
  while (n < longest && (left -= 1.0 / n / n) >= 0) ++n;
  return n;
}

std::span<const double> HeldNoise::next(Random& random) {
  const std::span<double> noise(state_.data(), state_.size() - 1);
  double& left = state_.back();
  if (left > 0) {
    --left;
    return noise;
  }
  for (double& x : noise) x = random.normal();
  if (holds()) left = held_steps(longest_, random) - 1;
  return noise;
}

}  // namespace ovde
