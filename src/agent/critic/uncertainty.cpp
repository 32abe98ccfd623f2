#include "agent/critic/uncertainty.h"

#include <algorithm>
#include <cmath>

namespace ovde {

Uncertainty uncertainty(const QuantilePair& z) {
  const int n = z.size();
  double mean = 0, disagreement = 0;
  for (int i = 0; i < n; ++i) {
    const double difference = (z.critic[0][i] - z.critic[1][i]) / 2;
    mean += z.weight[i] * ((z.critic[0][i] + z.critic[1][i]) / 2);
    disagreement += z.weight[i] * difference * difference;
  }
  mean /= n;
  double spread = 0;
  for (int i = 0; i < n; ++i) {
    const double deviation = (z.critic[0][i] + z.critic[1][i]) / 2 - mean;
    spread += z.weight[i] * deviation * deviation;
  }
  return {mean, std::sqrt(disagreement / n), std::sqrt(spread / n)};
}

double mean_difference(const QuantilePair& z) {
  double sum = 0;
  for (int i = 0; i < z.size(); ++i) sum += z.weight[i] * (z.critic[0][i] - z.critic[1][i]);
  return sum / z.size();
}

void uncertainty_gradient(const QuantilePair& z, const Uncertainty& u, double by_mean,
                          double by_epistemic, double by_aleatoric, QuantilePair& out) {
  const int n = z.size();
  const double epistemic = by_epistemic / (4 * n * std::max(u.epistemic, kEpistemicFloor));
  const double aleatoric = by_aleatoric / (2 * n * std::max(u.aleatoric, kAleatoricFloor));
  for (int i = 0; i < n; ++i) {
    const double difference = z.critic[0][i] - z.critic[1][i];
    const double deviation = (z.critic[0][i] + z.critic[1][i]) / 2 - u.mean;
    const double shared = by_mean / (2 * n) + aleatoric * deviation;
    out.critic[0][i] = z.weight[i] * (shared + epistemic * difference);
    out.critic[1][i] = z.weight[i] * (shared - epistemic * difference);
  }
}

}  // namespace ovde
