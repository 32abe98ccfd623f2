#include "stats/distributions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ovde {

namespace {

const double kRootTwoPi = std::sqrt(2 * std::numbers::pi);

struct Tail {
  double probability, density;  // P(T > t), and the density of T at t
};

// T = (Z + shift) / S, where degrees * S^2 is chi-squared: the probability is the mean of
// P(Z > t S - shift) over S. With u = log S the integrand is smooth and falls fast on both sides,
// for which the sum over equal steps is nearly exact. The density of u follows e^(degrees g(u)),
// g(u) = u - (e^(2u) - 1) / 2; its integral is taken in the same way.
Tail tail_of_t(double t, double degrees, double shift) {
  const double spread = 1 / std::sqrt(2 * degrees);  // the deviation of u, for many degrees
  const double step = std::min(0.12, 0.5 / std::sqrt(2 * degrees + shift * shift));
  // far in the tail of T most of the probability is at S = 1 / sqrt(1 + t^2 / degrees)
  const double likely = -std::log(std::hypot(1, t / std::sqrt(degrees)));
  double all = 0, above = 0, density = 0;
  for (double u = likely - 8 * spread - 36 / degrees; u < 8 * spread; u += step) {
    const double s = std::exp(u), weight = std::exp(degrees * (u - std::expm1(2 * u) / 2));
    const double z = t * s - shift;
    all += weight;
    above += weight * normal_tail(z);
    density += weight * s * std::exp(-z * z / 2);
  }
  return {above / all, density / all / kRootTwoPi};
}

}  // namespace

double normal_tail(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

double t_tail(double t, double degrees, double shift) {
  return tail_of_t(t, degrees, shift).probability;
}

// Newton's method. From 0 it comes closer without passing the solution, since the tail is convex.
// It starts with the quantile of the normal distribution, which is smaller and takes less time.
double t_quantile(double tail, double degrees) {
  double t = 0, move = 0;
  do {
    move = (normal_tail(t) - tail) / (std::exp(-t * t / 2) / kRootTwoPi);
    t += move;
  } while (move > 1e-3 * t);
  do {
    const Tail at = tail_of_t(t, degrees, 0);
    move = (at.probability - tail) / at.density;
    t += move;
  } while (move > 1e-12 * t);
  return t;
}

}  // namespace ovde
