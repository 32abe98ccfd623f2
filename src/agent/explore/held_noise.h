// The noise of a Gaussian behaviour policy: standard normal numbers, one for each action dimension,
// which may be held for several steps, so that exploration moves on in one direction.
#pragma once

#include <span>
#include <vector>

#include <ovde/random.h>

namespace ovde {

// Draws for how many steps noise is held: n of 1 .. longest with a probability proportional to
// n^-2, the zeta distribution with exponent 2, cut off at `longest`.
inline int held_steps(int longest, Random& random) {
  double sum = 0;
  for (int n = 1; n <= longest; ++n) sum += 1.0 / n / n;
  double left = sum * random.uniform();
  int n = 1;
  while (n < longest && (left -= 1.0 / n / n) >= 0) ++n;
  return n;
}

class HeldNoise {
 public:
  // `longest`: the largest number of steps; 1: every step has its own noise.
  HeldNoise(int actions, int longest) : longest_(longest), state_(actions + 1) {}

  // The noise of the next step.
  std::span<const double> next(Random& random) {
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
  // The next episode begins with its own noise.
  void end_episode() { state_.back() = 0; }

  bool holds() const { return longest_ > 1; }
  // For saving: the noise, then the number of further steps for which it is held.
  std::span<double> state() { return state_; }

 private:
  int longest_;
  std::vector<double> state_;
};

}  // namespace ovde
